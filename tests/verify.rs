//! The verdict on whole programs: faults after public bug reports, the programs of the programming guide, rings
//! and loops that ran on an H200.

mod support;

use mbar::verify::Verdict;
use support::execute::{Prepared, cases, meets};
use support::judge::{Judged, judge, settings};
use support::{Failures, files, read, short_name};

/// The right ones among the cases need no more states than this.
const ENOUGH: u64 = 20_000;

#[test]
fn faulty_cases_are_violated_on_their_lines() {
    let mut failures = Failures::default();
    let mut found = 0;
    for case in cases().iter().filter(|case| !case.tags.is_empty()) {
        found += 1;
        let judged = judge(&case.prepared, &settings(ENOUGH));
        let repeats = judged.replay.is_some();
        if judged.verdict != Verdict::Violated || !meets(&case.tags, &judged.findings) || !repeats {
            failures.push(format!("{}: {:?}: {}", case.name, case.tags, judged.in_words()));
        }
    }
    assert_eq!(found, 26);
    failures.report("The case's header tells what a right report says.");
}

/// The case for `check` whose fault a run shows, too.
#[test]
fn a_wait_before_the_commit_is_a_race() {
    let path = support::data("cases/b50.ptx");
    let judged = judge(&Prepared::read(&path), &settings(ENOUGH));
    assert_eq!(judged.verdict, Verdict::Violated, "{}", judged.in_words());
    assert!(
        judged.findings.iter().any(|found| found.kind == "race" && found.line == 36 && found.related == [30])
    );
}

/// Neither an error nor a doubt; some warnings are deserved.
fn complain_unless_it_holds(failures: &mut Failures, name: &str, judged: &Judged) {
    if judged.verdict != Verdict::Holds || judged.has_errors() {
        failures.push(format!("{name}: {}", judged.in_words()));
    }
}

#[test]
fn right_cases_hold() {
    let mut failures = Failures::default();
    let mut right = 0;
    for case in cases().iter().filter(|case| case.tags.is_empty()) {
        right += 1;
        complain_unless_it_holds(&mut failures, &case.name, &judge(&case.prepared, &settings(ENOUGH)));
    }
    assert!(right >= 40, "only {right} right programs");
    failures.report("A false error is the worst defect.");
}

/// What is stable by one run is clean when all schedules are explored.
#[test]
fn right_cases_explore_clean() {
    let mut failures = Failures::default();
    for case in cases().iter().filter(|case| case.tags.is_empty()) {
        let settings = mbar::verify::Settings { explore: true, ..settings(ENOUGH) };
        let judged = judge(&case.prepared, &settings);
        let explored = judged.grounds.iter().any(|ground| ground.contains("explored"));
        assert!(explored, "{} was not explored", case.name);
        complain_unless_it_holds(&mut failures, &case.name, &judged);
    }
    failures.report("The argument of stability and the search must agree.");
}

/// It executes a `trap`: the primitives that it calls have no other body for this target.
const TRAPS: &[&str] = &["guide/02_phase_prim.sm_80.ptx"];

/// Control flow that depends on an atomic's old value (a barrier with a completion function, the destructor
/// of a pipeline, for which the lanes that are active count themselves), or on who takes over a cluster.
const DEPENDS: &[&str] = &[
    "guide/04_completion_barrier.",
    "guide/04_completion_barrier_assert.",
    "guide/09_pipeline_single.",
    "guide/10_pipeline_multi.",
    "guide/10_pipeline_partitioned.",
    "guide/18_clc.",
];

#[test]
fn programs_of_the_guide_hold() {
    let mut failures = Failures::default();
    for path in files("guide", "ptx") {
        let name = short_name(&path);
        let judged = judge(&Prepared::read(&path), &settings(500));
        if TRAPS.contains(&name.as_str()) {
            assert_eq!(judged.verdict, Verdict::Violated, "{name}: {}", judged.in_words());
        } else if DEPENDS.iter().any(|start| name.starts_with(start)) {
            let names_the_line = judged.grounds.iter().any(|ground| ground.contains("depends on"));
            if judged.verdict != Verdict::Inconclusive || judged.has_errors() || !names_the_line {
                failures.push(format!("{name}: {}", judged.in_words()));
            }
        } else {
            complain_unless_it_holds(&mut failures, &name, &judged);
        }
    }
    failures.report("These are right programs.");
}

/// Where an elected lane acts for its warp, the lanes may separate; where a bulk copy overwrites what loads
/// have read, most shipped code leaves the fence out.
#[test]
fn rings_and_loops_of_the_chip_hold() {
    let mut failures = Failures::default();
    let mut count = 0;
    for path in files("hw/random", "ptx") {
        let name = short_name(&path);
        if !name.contains("pipe11") && !name.contains("loop11") {
            continue;
        }
        count += 1;
        let judged = judge(&Prepared::read(&path), &settings(0));
        complain_unless_it_holds(&mut failures, &name, &judged);
        let expected = ["lanes-may-separate", "proxy-order-of-reads", "few-phases"];
        let others = judged.findings.iter().filter(|found| !expected.contains(&found.name));
        if others.count() > 0 {
            failures.push(format!("{name}: {}", judged.in_words()));
        }
        let elected = name.contains("_bulk");
        if elected != judged.findings.iter().any(|found| found.name == "lanes-may-separate") {
            failures.push(format!("{name}: elected lanes: {}", judged.in_words()));
        }
    }
    assert_eq!(count, 80);
    failures.report("These ran on the chip with the right results.");
}

/// A matrix product as a compiler makes it, with four CTAs; every barrier, commit and wait on the way counts.
#[test]
fn a_pipeline_of_a_compiler_holds_and_none_of_its_steps_can_go() {
    const LAUNCH: &str = "// mbar: launch grid=4 smem=98304
// mbar: arg matmul_param_0 = f16[16384] random 1
// mbar: arg matmul_param_1 = f16[16384] random 2
// mbar: arg matmul_param_2 = f16[65536] fill 0
// mbar: arg matmul_param_3 = s32 128
// mbar: arg matmul_param_4 = s32 128
// mbar: arg matmul_param_5 = s32 128
// mbar: arg matmul_param_6 = s32 128
// mbar: arg matmul_param_7 = s32 128
// mbar: arg matmul_param_8 = s32 128
// mbar: arg matmul_param_9 = u64 0
// mbar: arg matmul_param_10 = u64 0
";
    /// In a loop that this size does not enter, or directly behind or before the same.
    const IDLE: [usize; 5] = [158, 722, 723, 1023, 1024];
    let text = read(&support::data("real/triton_matmul_sm80.ptx"));
    let lines: Vec<&str> = text.lines().collect();
    let verdict = |without: Option<usize>| {
        let line =
            |(n, line): (usize, &&str)| if Some(n + 1) == without { String::new() } else { line.to_string() };
        let rest: Vec<String> = lines.iter().enumerate().map(line).collect();
        judge(&Prepared::text("matmul.ptx", &format!("{LAUNCH}{}", rest.join("\n"))), &settings(0))
    };
    let mut failures = Failures::default();
    complain_unless_it_holds(&mut failures, "as it is", &verdict(None));
    let orders = |line: &str| {
        ["bar.sync", "cp.async.commit_group", "cp.async.wait_group"].iter().any(|it| line.contains(it))
    };
    let steps = (1..=lines.len()).filter(|&n| orders(lines[n - 1]) && !IDLE.contains(&n));
    let mut count = 0;
    for n in steps {
        count += 1;
        let judged = verdict(Some(n));
        if judged.verdict != Verdict::Violated {
            failures.push(format!("without line {n}: {}: {}", lines[n - 1].trim(), judged.in_words()));
        }
    }
    assert_eq!(count, 16);
    failures.report("Each of these deletions lets a copy and its reader meet without order.");
}

/// One lane waits for its warp, and all of them read a flag that was written before.
const ONE_WAITS: &str = "\
// mbar: launch grid=1 block=64
// mbar: arg p_out = u32[64] fill 0
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p_out)
{
.reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<2>;
.shared .align 8 .b64 bar; .shared .align 4 .b32 word;
ld.param.u64 %rd0, [p_out]; cvta.to.global.u64 %rd0, %rd0;
mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1;
setp.ne.u32 %p0, %r0, 0; @%p0 bra READY;
mbarrier.init.shared.b64 [bar], 1; st.shared.u32 [word], 0;
READY: bar.sync 0;
setp.ge.u32 %p1, %r0, 32; @%p1 bra OTHER;
red.shared.add.u32 [word], 1;
bar.warp.sync -1;
@!%p0 mbarrier.arrive.shared.b64 _, [bar];
bra END;
OTHER: setp.ne.u32 %p2, %r0, 32; @%p2 bra JOINED;
WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra WAIT;
JOINED: ld.volatile.shared.u32 %r1, [word];
st.global.u32 [%rd1], %r1;
END: ret;
}
";

#[test]
fn strong_accesses_that_lanes_keep_in_order_together_are_named() {
    let separate = |text: &str| {
        let judged = judge(&Prepared::text("one_waits.ptx", text), &settings(0));
        assert_eq!(judged.verdict, Verdict::Holds, "{}", judged.in_words());
        let mut found = judged.findings.iter().filter(|found| found.name == "lanes-may-separate");
        found.any(|found| found.line == 22 && found.related == [16])
    };
    assert!(separate(ONE_WAITS));
    let meets = ONE_WAITS.replace("JOINED: ld", "JOINED: bar.warp.sync -1; ld");
    assert!(!separate(&meets));
}
