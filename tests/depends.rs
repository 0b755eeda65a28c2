//! Where values go that depend on the schedule (`verify::depend`).

mod support;

use mbar::check::Settings;
use mbar::machine::code::{Code, Pc};
use mbar::machine::code_of;
use mbar::program::Program;
use mbar::verify::depend::{Depends, Question, writes_global};
use pretty_assertions::assert_eq;
use rustc_hash::FxHashSet;
use support::check_text;

fn line(program: &Program, code: &Code, pc: Pc) -> u32 {
    let routine = &program.routines[code.routine_of(pc).routine as usize];
    let inst = &routine.instructions[code.insts[pc as usize].at as usize];
    program.module.source.line(program.span(routine, inst).start)
}

/// The code of a kernel whose instructions are those lines, the first of them in line 1.
fn kernel(functions: &str, body: &str) -> (Program, Code) {
    let head = ".version 8.6 .target sm_90a .address_size 64 .shared .align 8 .b64 bar; \
                .shared .align 8 .b32 cell[4]; ";
    let entry = ".visible .entry k(.param .u64 out, .param .u32 n) \
                 { .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .local .b32 mine[4]; ";
    let text = format!("{head}{functions}{entry}{}\nret; }}\n", body.trim());
    let checked = check_text("depend.ptx", &text, &Settings::default());
    let kernel = checked.program.routines.len() - 1;
    let code = code_of(&checked.program, kernel).expect("small variables");
    (checked.program, code)
}

/// What the static sources reach, as `Atomic 1: Address 3`: with lines.
fn sinks_of(functions: &str, body: &str, pairs: &[(u32, u32)], ignored: &[u32]) -> Vec<String> {
    let (program, code) = kernel(functions, body);
    let line = |pc: Pc| line(&program, &code, pc);
    let last_in = |wanted: u32| (0..code.insts.len() as Pc).rfind(|&pc| line(pc) == wanted).expect("a line");
    let depends = Depends::new(&code);
    let sources = depends.static_sources();
    let pcs: Vec<Pc> = sources.iter().map(|&(pc, _)| pc).collect();
    let pairs: Vec<(Pc, Pc)> = pairs.iter().map(|&(store, load)| (last_in(store), last_in(load))).collect();
    let sinks = depends.sinks(&Question {
        sources: &pcs,
        pairs: &pairs,
        ignored: &ignored.iter().map(|&line| last_in(line)).collect::<FxHashSet<Pc>>(),
        is_output: &|pc| writes_global(&code, pc),
    });
    let reached = |source: Pc| {
        let sink = sinks.iter().find(|sink| sink.source == source);
        sink.map_or("nothing".to_string(), |sink| format!("{:?} {}", sink.kind, line(sink.sink)))
    };
    sources.iter().map(|&(pc, why)| format!("{why:?} {}: {}", line(pc), reached(pc))).collect()
}

fn sinks(body: &str) -> Vec<String> {
    sinks_of("", body, &[], &[])
}

#[test]
fn a_ticket_is_an_address() {
    let body = "
atom.shared.add.u32 %r1, [cell], 1;
mul.wide.u32 %rd1, %r1, 4;
add.s64 %rd2, %rd2, %rd1;
st.global.b32 [%rd2], 1;";
    assert_eq!(sinks(body), ["Atomic 1: Address 4"]);
}

#[test]
fn a_ticket_is_output() {
    let body = "
atom.shared.add.u32 %r1, [cell], 1;
add.u32 %r1, %r1, 1;
st.global.b32 [%rd2], %r1;";
    assert_eq!(sinks(body), ["Atomic 1: Output 3"]);
    assert_eq!(
        sinks(&body.replace("st.global", "red.global.add").replace("add.b32", "add.u32")),
        ["Atomic 1: Output 3"]
    );
    assert_eq!(sinks(&body.replace("st.global.b32 [%rd2]", "st.shared.b32 [cell]")), ["Atomic 1: nothing"]);
}

#[test]
fn a_ticket_that_nobody_reads_is_no_source() {
    assert!(sinks("atom.shared.add.u32 %r1, [cell], 1;").is_empty());
    assert!(sinks("red.shared.add.u32 [cell], 1;").is_empty());
    let overwritten = "
atom.shared.add.u32 %r1, [cell], 1;
mov.b32 %r1, 5;
st.global.b32 [%rd2], %r1;";
    assert!(sinks(overwritten).is_empty());
    // Some lanes keep the old value.
    assert_eq!(sinks(&overwritten.replace("mov", "@%p1 mov")), ["Atomic 1: Output 3"]);
}

#[test]
fn clocks_and_places_decide() {
    let body = "
mov.u64 %rd1, %clock64;
setp.gt.u64 %p1, %rd1, 1000;
@%p1 bra D;
st.shared.b32 [cell], 1;
D: ret;";
    assert_eq!(sinks(body), ["Clock 1: Branch 3"]);
    assert_eq!(sinks_of("", body, &[], &[3]), ["Clock 1: nothing"]);
    assert_eq!(sinks(&body.replace("bra D", "nanosleep.u32 9")), ["Clock 1: nothing"]);
    assert_eq!(sinks(&body.replace("bra D", "ret")), ["Clock 1: Guard 3"]);
    let place = "mov.u32 %r1, %smid;\nst.global.b32 [%rd1], %r1;";
    assert_eq!(sinks(place), ["Place 1: Output 2"]);
    assert!(sinks(&place.replace("%smid", "%tid.x")).is_empty());
    let lanes = "activemask.b32 %r1;\nvote.sync.any.pred %p1, %p2, %r1;";
    assert_eq!(sinks(lanes), ["Lanes 1: Count 2"]);
}

#[test]
fn values_go_around_loops_and_through_predicates() {
    let body = "
mov.u32 %r2, 0;
L: st.global.b32 [%rd1], %r2;
selp.u32 %r2, 1, 0, %p1;
atom.shared.exch.b32 %r1, [cell], 1;
setp.eq.u32 %p1, %r1, 0;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p2, %r3, 8;
@%p2 bra L;";
    assert_eq!(sinks(body), ["Atomic 4: Output 2"]);
    // A guard that depends makes what it guards depend.
    let guarded = "
atom.shared.exch.b32 %r1, [cell], 1;
setp.eq.u32 %p1, %r1, 0;
@%p1 mov.u32 %r2, 5;
mbarrier.test_wait.parity.shared.b64 %p2, [bar], %r2;";
    assert_eq!(sinks(guarded), ["Atomic 1: Parity 4"]);
    assert_eq!(
        sinks(&guarded.replace("@%p1 mov.u32 %r2, 5", "@%p1 mbarrier.arrive.shared.b64 _, [bar], 2")),
        ["Atomic 1: Guard 3"]
    );
    assert_eq!(
        sinks(&guarded.replace("@%p1 mov.u32 %r2, 5", "mbarrier.arrive.shared.b64 _, [bar], %r1")),
        ["Atomic 1: Count 3"]
    );
    let size = "
atom.shared.exch.b32 %r1, [cell], 1;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], %r1, [bar];";
    assert_eq!(sinks(size), ["Atomic 1: Size 2"]);
}

#[test]
fn values_go_through_memory_that_was_seen_to_carry_them() {
    let body = "
atom.shared.add.u32 %r1, [cell], 1;
st.shared.b32 [cell+4], %r1;
bar.sync 0;
ld.shared.b32 %r2, [cell+4];
st.global.b32 [%rd1], %r2;";
    assert_eq!(sinks(body), ["Atomic 1: nothing"]);
    assert_eq!(sinks_of("", body, &[(2, 4)], &[]), ["Atomic 1: Output 5"]);
    let copied = "
atom.shared.add.u32 %r1, [cell], 1;
st.shared.b32 [cell+4], %r1;
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 16;";
    assert_eq!(sinks_of("", copied, &[(2, 3)], &[]), ["Atomic 1: Output 3"]);
    let local = "
atom.shared.add.u32 %r1, [cell], 1;
st.local.b32 [mine], %r1;
ld.local.b32 %r2, [mine];
@%p1 bra D;
D: st.global.b32 [%rd1], %r2;";
    assert_eq!(sinks(local), ["Atomic 1: Output 5"]);
}

#[test]
fn values_go_through_calls() {
    let by_register = ".func (.reg .b32 %o) f(.reg .b32 %i) { add.u32 %o, %i, 1; ret; } ";
    let body = "
atom.shared.add.u32 %r1, [cell], 1;
call (%r2), f, (%r1);
st.global.b32 [%rd1], %r2;";
    assert_eq!(sinks_of(by_register, body, &[], &[]), ["Atomic 1: Output 3"]);
    assert!(sinks_of(by_register, &body.replace("(%r1)", "(%r3)"), &[], &[]).is_empty());
    let by_memory = ".func (.param .b32 o) f(.param .b32 i) \
                     { .reg .b32 %x; ld.param.b32 %x, [i]; st.param.b32 [o], %x; ret; } ";
    let body = "
atom.shared.add.u32 %r1, [cell], 1;
{ .param .b32 a; .param .b32 b;
st.param.b32 [a], %r1;
call (b), f, (a);
ld.param.b32 %r2, [b]; }
st.global.b32 [%rd1], %r2;";
    assert_eq!(sinks_of(by_memory, body, &[], &[]), ["Atomic 1: Output 6"]);
    let source_inside = ".func (.reg .b32 %o) f() { atom.shared.add.u32 %o, [cell], 1; ret; } ";
    let body = "call (%r2), f;\nst.global.b32 [%rd1], %r2;";
    assert_eq!(sinks_of(source_inside, body, &[], &[]), ["Atomic 1: Output 2"]);
}

#[test]
fn reductions_give_what_one_thread_knows_to_all() {
    let body = "
atom.shared.add.u32 %r1, [cell], 1;
setp.eq.u32 %p1, %r1, 0;
@%p8 bra O;
barrier.red.or.pred %p2, 0, %p1;
ret;
O: barrier.red.or.pred %p3, 0, %p4;
@%p3 bra D;
D: ret;";
    assert_eq!(sinks(body), ["Atomic 1: Branch 7"]);
}
