//! Whole programs, executed: the programs of the programming guide, and those after public bug reports.

mod support;

use mbar::diagnostic::Severity;
use support::execute::{Found, Prepared, Ran, cases, meets};
use support::{Failures, files, short_name};

/// It executes a `trap`: the primitives that it calls have no other body for this target.
const TRAPS: &[&str] = &["guide/02_phase_prim.sm_80.ptx"];

/// Faults that one run does not show: they lie in the order of accesses, or in another schedule.
const NOT_IN_ONE_RUN: &[&str] =
    &["b32", "b40", "b43", "b44", "b45", "b47", "b48", "b49", "b52", "b53", "b58", "b64", "b65"];

fn complain_unless_clean(failures: &mut Failures, name: &str, how: &str, ran: &Ran) {
    if ran.is_clean() == TRAPS.contains(&name) {
        failures.push(format!("{name} ({how}): {}", ran.in_words()));
    }
}

#[test]
fn programs_of_the_guide_meet_their_expectations() {
    let mut failures = Failures::default();
    let paths = files("guide", "ptx");
    assert_eq!(paths.len(), 92);
    for path in paths {
        let name = short_name(&path);
        let prepared = Prepared::read(&path);
        complain_unless_clean(&mut failures, &name, "in turn", &prepared.run_default());
        for seed in 0..20 {
            complain_unless_clean(&mut failures, &name, &format!("seed {seed}"), &prepared.run_random(seed));
        }
    }
    failures.report("No schedule may change what a right program does.");
}

#[test]
fn faults_that_one_run_shows_are_found_with_both_sides() {
    let mut failures = Failures::default();
    let mut found = 0;
    for case in cases().iter().filter(|case| !case.tags.is_empty()) {
        let ran = case.prepared.run_default();
        let met = meets(&case.tags, &ran.findings);
        found += u32::from(met);
        let later = NOT_IN_ONE_RUN.iter().any(|name| case.name == format!("cases/{name}.ptx"));
        if met == later {
            failures.push(format!("{}: {:?}: {}", case.name, case.tags, ran.in_words()));
        }
    }
    assert_eq!(found, 13);
    failures.report("The case's header tells what a right report says.");
}

#[test]
fn repaired_programs_are_clean() {
    let mut failures = Failures::default();
    let mut clean = 0;
    for case in cases().iter().filter(|case| case.tags.is_empty()) {
        clean += 1;
        for (how, ran) in std::iter::once(("in turn".to_string(), case.prepared.run_default()))
            .chain((0..5).map(|seed| (format!("seed {seed}"), case.prepared.run_random(seed))))
        {
            if !ran.findings.iter().all(|found| found.severity != Severity::Error)
                || ran.outcome != mbar::machine::finding::Outcome::Completed
            {
                failures.push(format!("{} ({how}): {}", case.name, ran.in_words()));
            }
        }
    }
    assert!(clean >= 40, "only {clean} clean programs");
    failures.report("A false error is the worst defect.");
}

/// Every finding of severity error says what to do, or names the other side.
#[test]
fn findings_explain_themselves() {
    let mut failures = Failures::default();
    for case in cases() {
        for found in case.prepared.run_default().findings {
            if found.severity == Severity::Error && found.more.trim().is_empty() && found.related.is_empty() {
                failures.push(format!("{}: {} {}", case.name, found.number, found.message));
            }
        }
    }
    failures.report("Add a note, a help or a label.");
}

/// Runs a body in a kernel with some registers and the barrier `bar`, and gives the report of its deadlock.
fn deadlock(launch: &str, functions: &str, body: &str) -> Found {
    let text = format!(
        "// mbar: launch {launch}\n// mbar: arg p_flag = u32[1] fill 0\n.version 8.0\n.target sm_90\n\
         .address_size 64\n{functions}.visible .entry k(.param .u64 p_flag)\n{{\n.shared .align 8 .b64 bar;\n\
         .reg .pred p, q; .reg .b32 r<8>; .reg .b64 flag, state;\nld.param.u64 flag, [p_flag];\n\
         mov.u32 r1, %tid.x;\nmov.u32 r2, bar;\nsetp.ne.u32 q, r1, 0;\n\
         @!q mbarrier.init.shared.b64 [bar], 1;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n{body}ret;\n}}\n"
    );
    let ran = Prepared::text("deadlock.ptx", &text).run_default();
    assert_eq!(ran.outcome.as_str(), "deadlock", "{}", ran.in_words());
    ran.findings.into_iter().next().expect("a report")
}

/// A deadlock report claims no more than the program says before it runs.
#[test]
fn a_deadlock_report_does_not_guess() {
    const NOBODY: &str = "no thread can get to";
    const WAIT: &str = "L: mbarrier.try_wait.parity.shared.b64 p, [bar], 0;\n@!p bra L;\n";
    // The arrival is in a function, where the other warp stands.
    let function = ".func arrive(.reg .b32 a)\n{\nbar.sync 1;\nmbarrier.arrive.shared.b64 _, [a];\nret;\n}\n";
    let body = format!("setp.ge.u32 p, r1, 32;\n@p bra OTHER;\n{WAIT}ret;\nOTHER: call arrive, (r2);\n");
    let found = deadlock("block=64", function, &body);
    assert!(!found.more.contains(NOBODY), "{}", found.more);
    // Its address is computed.
    let body = format!(
        "setp.ge.u32 p, r1, 32;\n@p bra OTHER;\n{WAIT}ret;\n\
         OTHER: ld.global.u32 r3, [flag];\nxor.b32 r3, r3, r2;\nbar.sync 1;\nmbarrier.arrive.shared.b64 _, [r3];\n"
    );
    let found = deadlock("block=64", "", &body);
    assert!(!found.more.contains(NOBODY), "{}", found.more);
    // Nobody arrives at all.
    let found = deadlock("block=64", "", WAIT);
    assert!(found.more.contains(NOBODY), "{}", found.more);
    // A remote arrival is for the other CTA.
    let body = format!(
        "mov.u32 r5, %cluster_ctarank;\nxor.b32 r6, r5, 1;\nmapa.shared::cluster.u32 r7, r2, r6;\n{WAIT}\
         @!q mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r7];\n\
         barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
    );
    let found = deadlock("grid=2 block=32 cluster=2", "", &body);
    assert!(
        found.more.contains("a cycle: threads 0..31 of CTA 0 wait for threads 0..31 of CTA 1"),
        "{}",
        found.more
    );
    assert!(!found.more.contains("only behind this wait"), "{}", found.more);
}

/// The barrier that is blamed is the one that was asked last, and in vain.
#[test]
fn a_loop_on_memory_blames_no_barrier() {
    let body = "mbarrier.arrive.shared.b64 state, [bar];\nL: mbarrier.try_wait.parity.shared.b64 p, [bar], 0;\n\
                @!p bra L;\nM: ld.volatile.global.u32 r4, [flag];\nsetp.eq.u32 p, r4, 0;\n@p bra M;\n";
    let found = deadlock("block=1", "", body);
    assert!(!found.message.contains("bar"), "{}", found.message);
    assert!(found.message.contains("loop"), "{}", found.message);
}

/// However a program waits for what never comes, the run ends by itself, and soon.
#[test]
fn a_hanging_kernel_ends_soon() {
    for wait in ["mbarrier.try_wait", "mbarrier.test_wait", "nanosleep.u32 100;\nmbarrier.try_wait"] {
        for count in ["", "add.u32 r4, r4, 1;\n"] {
            for block in ["block=1", "block=1024"] {
                let body =
                    format!("mov.u32 r4, 0;\nL: {wait}.parity.shared.b64 p, [bar], 0;\n{count}@!p bra L;\n");
                let start = std::time::Instant::now();
                let found = deadlock(block, "", &body);
                assert!(found.message.contains("`bar` phase 0"), "{}", found.message);
                assert!(start.elapsed().as_secs() < 10, "{body} took {:?}", start.elapsed());
            }
        }
    }
}

/// Of many groups that are stuck the report keeps the one that could release the others.
#[test]
fn a_long_report_keeps_the_culprit() {
    let mut body = String::from(
        "shr.u32 r3, r1, 5;\nsetp.eq.u32 p, r3, 20;\n@p bra LAST;\nshl.b32 r3, r3, 3;\nmov.u32 r4, many;\nadd.u32 r4, r4, r3;\n",
    );
    let inits: String =
        (0..20).map(|n| format!("@!q mbarrier.init.shared.b64 [many+{}], 1;\n", 8 * n)).collect();
    let arrives: String =
        (0..20).map(|n| format!("mbarrier.arrive.shared.b64 _, [many+{}];\n", 8 * n)).collect();
    body = format!(
        ".shared .align 8 .b64 many[20];\n{inits}bar.sync 0;\n{body}L: mbarrier.try_wait.parity.shared.b64 p, [r4], 0;\n\
         @!p bra L;\nret;\nLAST: bar.sync 1, 64;\n{arrives}"
    );
    let found = deadlock("block=672", "", &body);
    assert!(found.more.contains("threads 640..671 could provide it"), "{}", found.more);
    assert!(!found.more.contains("no thread can get to"), "{}", found.more);
    assert!(found.more.contains("more groups of threads wait in the same way"), "{}", found.more);
}
