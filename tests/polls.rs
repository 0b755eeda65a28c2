//! Which polls only spin (`verify::poll`).

mod support;

use mbar::check::Settings;
use mbar::machine::code::{Code, Pc};
use mbar::machine::code_of;
use mbar::program::Program;
use mbar::verify::poll::{Poll, Polls, Why};
use pretty_assertions::assert_eq;
use support::{Failures, check_text, files, read, short_name};

/// The line of an instruction.
fn line(program: &Program, code: &Code, pc: Pc) -> u32 {
    let routine = &program.routines[code.routine_of(pc).routine as usize];
    let inst = &routine.instructions[code.insts[pc as usize].at as usize];
    program.module.source.line(program.span(routine, inst).start)
}

/// A kernel whose instructions are those lines, the first of them in line 1; and its code.
fn kernel(body: &str) -> (Program, Code) {
    let head = ".version 8.6 .target sm_90a .address_size 64 .shared .align 8 .b64 bar; \
                .shared .align 8 .b64 other; .visible .entry k(.param .u64 out, .param .u32 n) \
                { .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; ";
    let text = format!("{head}{}\nret; }}\n", body.trim());
    let checked = check_text("poll.ptx", &text, &Settings::default());
    let code = code_of(&checked.program, 0).expect("small variables");
    (checked.program, code)
}

/// What is said of the poll in a line, as `spins`, `spins, residue 3 4` or `GoesOn 5`: with lines.
fn poll_at(body: &str, wanted: u32) -> String {
    let (program, code) = kernel(body);
    let polls = Polls::new(&code);
    let in_line = |pc: &Pc| line(&program, &code, *pc) == wanted;
    let judged = (0..code.insts.len() as Pc).filter(in_line).map(|pc| polls.at(pc));
    let judged = judged.into_iter().find(|poll| !matches!(poll, Poll::Answers { why: Why::NoPoll, .. }));
    match judged.expect("a poll in that line") {
        Poll::Spins { residue, .. } if residue.is_empty() => "spins".to_string(),
        Poll::Spins { residue, .. } => {
            let mut lines: Vec<String> =
                residue.iter().map(|&pc| line(&program, &code, pc).to_string()).collect();
            lines.dedup();
            format!("spins, residue {}", lines.join(" "))
        }
        Poll::Answers { why, at } => format!("{why:?} {}", line(&program, &code, at)),
    }
}

#[test]
fn a_branch_back_spins() {
    let body = "
L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra L;";
    assert_eq!(poll_at(body, 1), "spins");
}

#[test]
fn the_region_is_what_happens_between_two_questions() {
    let (_, code) = kernel(
        "L: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
@%p1 bra D;
nanosleep.u32 20;
bra L;
D: st.shared.b32 [other], 1;",
    );
    let poll = Polls::waits(&code).next().expect("a wait");
    let region = vec![poll, poll + 1, poll + 2, poll + 3];
    assert_eq!(Polls::new(&code).at(poll), Poll::Spins { region, residue: Vec::new() });
}

#[test]
fn what_a_compiler_makes_of_the_answer_is_followed() {
    let body = "
L: mov.b32 %r4, bar;
mbarrier.try_wait.parity.shared.b64 %p1, [%r4], 0;
selp.b32 %r1, 1, 0, %p1;
setp.eq.s32 %p2, %r1, 0;
@%p2 bra L;
st.shared.b32 [other], %r4;";
    assert_eq!(poll_at(body, 2), "spins");
    let body = "
L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
not.pred %p2, %p1;
selp.u32 %r1, 1, 0, %p2;
and.b32 %r2, %r1, 255;
setp.ne.s16 %p3, 0, 0;
setp.ne.and.u32 %p3, %r2, 0, %p2;
@%p3 bra L;";
    assert_eq!(poll_at(body, 1), "spins");
}

#[test]
fn one_try_and_then_a_loop_spin() {
    let body = "
mov.b32 %r2, bar;
mbarrier.try_wait.parity.shared.b64 %p1, [%r2], %r5;
selp.b32 %r1, 1, 0, %p1;
setp.ne.s32 %p2, %r1, 0;
@%p2 bra D;
mov.b32 %r8, 0;
L: mov.b32 %r3, bar;
mbarrier.try_wait.parity.shared.b64 %p1, [%r3], %r5;
selp.b32 %r4, 1, 0, %p1;
add.u32 %r8, %r8, 1;
setp.eq.s32 %p3, %r4, 0;
@%p3 bra L;
D: st.shared.b32 [other], 1;";
    assert_eq!(poll_at(body, 2), "spins");
    assert_eq!(poll_at(body, 8), "spins");
    assert_eq!(poll_at(&body.replace("[other], 1", "[other], %r8"), 2), "spins, residue 10");
    // The loop looks at another barrier, or for another phase.
    assert_eq!(poll_at(&body.replace("%r3, bar", "%r3, other"), 2), "GoesOn 8");
    assert_eq!(poll_at(&body.replace("[%r3], %r5", "[%r3], %r6"), 2), "GoesOn 8");
}

#[test]
fn tries_that_are_counted_are_residue_where_somebody_reads_them() {
    let body = "
mov.u32 %r1, 0;
L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
add.u32 %r1, %r1, 1;
@!%p1 bra L;
mov.u32 %r2, 7;
st.shared.b32 [other], %r2;";
    assert_eq!(poll_at(body, 2), "spins");
    assert_eq!(poll_at(&body.replace("[other], %r2", "[other], %r1"), 2), "spins, residue 3");
}

#[test]
fn giving_up_is_an_answer() {
    let body = "
mov.u32 %r1, 0;
L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@%p1 bra D;
add.u32 %r1, %r1, 1;
setp.lt.u32 %p2, %r1, 100;
@%p2 bra L;
trap;
D: st.shared.b32 [other], 1;";
    assert_eq!(poll_at(body, 2), "GoesOn 7");
}

#[test]
fn tries_in_a_row_are_an_answer() {
    let body = "
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
st.shared.b32 [other], 1;";
    assert_eq!(poll_at(body, 1), "GoesOn 4");
    let body = body.replace("st.shared", "@!%p1 trap;\nst.shared");
    assert_eq!(poll_at(&body, 1), "GoesOn 4");
    // With a loop behind them they are none.
    let body = body.replace("trap", "bra L").replace("mbarrier.try_wait", "L: mbarrier.try_wait");
    let body = body.replacen("@!%p1 L:", "@!%p1", 2);
    assert_eq!(poll_at(&body, 1), "spins");
}

#[test]
fn a_hint_is_an_answer() {
    let body = "
mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
@%p1 bra E;
st.shared.b32 [other], 1;
E: ret;";
    assert_eq!(poll_at(body, 1), "GoesOn 3");
    // Whoever is early does more than who waits.
    let body = "
mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
@%p1 bra E;
L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra L;
ret;
E: st.shared.b32 [other], 1;";
    assert_eq!(poll_at(body, 1), "Differs 6");
    assert_eq!(poll_at(body, 3), "spins");
    // It is kept whether the wait was short.
    let body = "
mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
@%p1 bra E;
L: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
@!%p2 bra L;
E: selp.u32 %r1, 1, 0, %p1;
st.shared.b32 [other], %r1;";
    assert_eq!(poll_at(body, 1), "spins, residue 1");
}

#[test]
fn what_others_can_see_ends_a_spin() {
    let spin = |inside: &str| {
        let body = format!(
            "L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n{inside}\n@!%p1 bra L;\n\
             st.shared.b32 [other], 1;"
        );
        poll_at(&body, 1)
    };
    for harmless in [
        "nanosleep.u32 32;",
        "mov.u64 %rd1, %clock64;",
        "ld.param.u32 %r1, [n];",
        "@%p1 st.shared.b32 [other], 1;",
        "@%p1 bra D; @!%p1 bra L; D:",
        "prefetch.global.L2 [%rd2];",
    ] {
        assert_eq!(spin(harmless), "spins", "{harmless}");
    }
    for visible in [
        "ld.shared.b32 %r1, [other];",
        "st.shared.b32 [other], 1;",
        "@!%p1 st.shared.b32 [other], 1;",
        "@%p3 st.shared.b32 [other], 1;",
        "atom.shared.add.u32 %r1, [other], 1;",
        "mbarrier.arrive.shared.b64 _, [bar];",
        "mbarrier.test_wait.parity.shared.b64 %p2, [other], 0;",
        "fence.acq_rel.cta;",
        "bar.warp.sync -1;",
        "cp.async.commit_group;",
        "@%p4 ret;",
    ] {
        assert_eq!(spin(visible), "GoesOn 2", "{visible}");
    }
}

#[test]
fn the_phase_and_the_place_must_stay() {
    let body = "
L: mbarrier.try_wait.parity.shared.b64 %p1, [%r3], %r1;
@%p1 bra D;
xor.b32 %r1, %r1, 1;
bra L;
D: ret;";
    assert_eq!(poll_at(body, 1), "GoesOn 1");
    assert_eq!(poll_at(&body.replace("xor.b32 %r1", "xor.b32 %r2"), 1), "spins");
    assert_eq!(poll_at(&body.replace("xor.b32 %r1, %r1, 1", "add.u32 %r3, %r3, 8"), 1), "GoesOn 1");
    // The same value once more is the same.
    let body = "
L: and.b32 %r1, %r2, 1;
shl.b32 %r3, %r4, 3;
add.u32 %r3, %r3, %r5;
mbarrier.try_wait.parity.shared.b64 %p1, [%r3], %r1;
@!%p1 bra L;";
    assert_eq!(poll_at(body, 4), "spins");
}

#[test]
fn a_timeout_is_an_answer_and_a_backoff_is_none() {
    let body = "
mov.u64 %rd1, %globaltimer;
L: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
@%p1 bra D;
mov.u64 %rd2, %globaltimer;
sub.s64 %rd3, %rd2, %rd1;
setp.gt.s64 %p2, %rd3, 1000;
@%p2 bra T;
bra L;
T: nanosleep.u32 40;
bra L;
D: st.shared.b32 [other], 1;";
    assert_eq!(poll_at(body, 2), "spins");
    assert_eq!(poll_at(&body.replace("nanosleep.u32 40", "trap"), 2), "GoesOn 9");
}

#[test]
fn a_flag_spins_until_its_value_changes() {
    for load in ["ld.acquire.gpu.global.b32", "ld.volatile.global.b32", "ld.relaxed.sys.global.b32"] {
        let body = format!(
            "ld.param.u64 %rd1, [out];
L: {load} %r1, [%rd1];
setp.ne.u32 %p1, %r1, %r2;
@%p1 bra L;
st.shared.b32 [other], 1;"
        );
        assert_eq!(poll_at(&body, 2), "spins");
        assert_eq!(poll_at(&body.replace("[other], 1", "[other], %r1"), 2), "spins");
        assert_eq!(poll_at(&body.replace("@%p1 bra L", "@%p1 st.shared.b32 [other], 1"), 2), "Once 2");
    }
}

#[test]
fn a_flag_with_more_in_its_loop() {
    let body = "
L: ld.acquire.gpu.global.b32 %r1, [%rd1];
setp.eq.u32 %p1, %r1, 0;
add.u32 %r3, %r3, 1;
@%p1 bra L;
st.shared.b32 [other], %r1;";
    assert_eq!(poll_at(body, 1), "spins");
    // The count is read.
    assert_eq!(poll_at(&body.replace("[other], %r1", "[other], %r3"), 1), "spins, residue 3");
    // The count decides.
    let counted = body.replace("@%p1 bra", "setp.lt.and.u32 %p1, %r3, 9, %p1;\n@%p1 bra");
    assert_eq!(poll_at(&counted, 1), "Counts 5");
    // The clock decides, be it by a detour.
    let late = "
L: ld.acquire.gpu.global.b32 %r1, [%rd1];
setp.ne.u32 %p1, %r1, 0;
@%p1 bra X;
mov.u32 %r6, 0;
mov.u32 %r5, %clock;
setp.lt.u32 %p2, %r5, 900;
@%p2 bra J;
mov.u32 %r6, 1;
J: setp.ne.u32 %p3, %r6, 0;
@%p3 bra X;
bra L;
X: st.shared.b32 [other], %r1;";
    assert_eq!(poll_at(late, 1), "Counts 10");
    assert_eq!(poll_at(&late.replace("@%p3 bra X", "@%p3 nanosleep.u32 9"), 1), "spins");
    // The last value but one is read.
    let old = body.replace("L: ld", "L: mov.b32 %r4, %r1;\nld").replace("[other], %r1", "[other], %r4");
    assert_eq!(poll_at(&old, 2), "spins, residue 1");
    // It waits for two equal values.
    let stable = body.replace("L: ld", "L: mov.b32 %r4, %r1;\nld").replace("%r1, 0", "%r1, %r4");
    assert_eq!(poll_at(&stable, 2), "Counts 5");
    // It goes from place to place.
    assert_eq!(poll_at(&body.replace("add.u32 %r3, %r3, 1", "add.s64 %rd1, %rd1, 4"), 1), "Once 1");
    // Others see more.
    assert_eq!(poll_at(&body.replace("add.u32 %r3, %r3, 1", "fence.acq_rel.gpu"), 1), "Once 1");
}

#[test]
fn one_look_and_then_a_loop_spin() {
    let body = "
A: ld.acquire.gpu.global.b32 %r1, [%rd1];
setp.ne.u32 %p1, %r1, %r2;
@%p1 bra D;
mov.u32 %r3, 0;
bra B;
N: add.u32 %r3, %r3, 1;
B: ld.acquire.gpu.global.b32 %r4, [%rd1];
setp.ne.u32 %p2, %r4, %r2;
@%p2 bra A;
setp.lt.s32 %p3, %r3, 16;
@%p3 bra N;
nanosleep.u32 20;
bra B;
D: st.shared.b32 [other], %r1;";
    assert_eq!(poll_at(body, 1), "spins");
    assert_eq!(poll_at(body, 7), "spins");
    assert_eq!(poll_at(&body.replace("[other], %r1", "[other], %r3"), 1), "spins, residue 4 6");
    let detour = body.replace("@%p1 bra D;", "@!%p1 bra C;\nbra D;\nC:");
    assert_eq!(poll_at(&detour, 1), "spins");
    // What lets it out of the loop does not end it, and the other way around.
    assert_eq!(poll_at(&body.replace("setp.ne.u32 %p2", "setp.gt.u32 %p2"), 1), "Differs 3");
    let out = body.replace("bra A", "bra D");
    assert_eq!(poll_at(&out, 1), "spins, residue 1");
    assert_eq!(poll_at(&out.replace("%r4", "%r1"), 1), "spins");
}

/// What compilers make of waits is a spin; `17_observe` stores the answers.
#[test]
fn waits_of_compilers_spin() {
    let mut failures = Failures::default();
    let mut counts = [0; 2];
    for path in files("guide", "ptx").into_iter().chain(files("cases", "ptx")).chain(files("real", "ptx")) {
        let name = short_name(&path);
        let checked = check_text(&name, &read(&path), &Settings::default());
        for routine in 0..checked.program.routines.len() {
            let Some(code) = code_of(&checked.program, routine) else { continue };
            let polls = Polls::new(&code);
            let own = &code.routines[code.kernel];
            for pc in Polls::waits(&code).filter(|pc| (own.entry..own.end).contains(pc)) {
                let spins = matches!(polls.at(pc), Poll::Spins { residue, .. } if residue.is_empty());
                counts[usize::from(spins)] += 1;
                if spins == name.contains("17_observe") {
                    let line = line(&checked.program, &code, pc);
                    failures.push(format!("{name}:{line}: {:?}", polls.at(pc)));
                }
            }
        }
    }
    failures.report("A wait is judged otherwise than before.");
    assert_eq!(counts, [27, 214]);
}

/// The flags that compiled kernels wait for; `grid` also looks back from tile to tile.
#[test]
fn flags_of_compilers_spin() {
    let mut spins = 0;
    for path in files("guide", "ptx").into_iter().chain(files("kernels", "ptx")) {
        let text = read(&path);
        let checked = check_text(&short_name(&path), &text, &Settings::default());
        for routine in 0..checked.program.routines.len() {
            let Some(code) = code_of(&checked.program, routine) else { continue };
            let polls = Polls::new(&code);
            let own = &code.routines[code.kernel];
            for pc in own.entry..own.end {
                let line = line(&checked.program, &code, pc) as usize;
                let is_flag = text.lines().nth(line - 1).is_some_and(|line| {
                    line.trim().starts_with("ld.acquire") || line.trim().starts_with("ld.volatile")
                });
                spins += usize::from(
                    is_flag && matches!(polls.at(pc), Poll::Spins { residue, .. } if residue.is_empty()),
                );
            }
        }
    }
    assert_eq!(spins, 112);
}
