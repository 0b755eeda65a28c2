//! The search through all schedules: small kernels of which it is known what can happen to them.

mod support;

use std::path::Path;

use mbar::machine::choice::{Landing, Recording, Replay, Schedule, Strategy};
use mbar::machine::finding::Outcome;
use mbar::machine::{Machine, Options, Reconverge};
use mbar::verify::explore::{Bound, Bounds, Explored, Observer, explore};
use mbar::verify::minimise::minimise;
use pretty_assertions::assert_eq;
use support::execute::Prepared;
use support::{Failures, files, read, short_name};

/// Knows nothing.
#[derive(Clone)]
struct Blind;

impl Observer for Blind {
    fn observe(&mut self, machine: &mut Machine) {
        machine.events.clear();
    }

    fn fingerprint(&self) -> u64 {
        0
    }

    fn has_failed(&self) -> bool {
        false
    }
}

fn search(prepared: &Prepared, jobs: usize) -> Explored<Blind> {
    search_with(prepared, Options::default(), &Bounds::default(), jobs)
}

fn search_with(prepared: &Prepared, options: Options, bounds: &Bounds, jobs: usize) -> Explored<Blind> {
    let machine = Machine::new(&prepared.program, &prepared.launch, options).expect("a machine");
    explore(&machine, &Blind, bounds, jobs, &|_| {})
}

fn replay(prepared: &Prepared, answers: &[u32]) -> mbar::machine::finding::Outcome {
    let recording = Recording { program: 0, reconverge: String::new(), answers: answers.to_vec() };
    prepared.run(Options::default(), &mut Replay::new(recording)).outcome
}

/// Expects a failure of that kind, which replays, also when it was made shorter.
#[track_caller]
fn fails(prepared: &Prepared, outcome: Outcome) -> Explored<Blind> {
    let explored = search(prepared, 1);
    let failure = explored.failure.as_ref().expect("a failure");
    assert_eq!(failure.outcome, Some(outcome));
    assert_eq!(replay(prepared, &failure.answers), outcome);
    let small = minimise(&failure.answers, &mut |answers| replay(prepared, answers) == outcome);
    assert_eq!(replay(prepared, &small), outcome);
    assert!(small.len() <= failure.answers.len());
    explored
}

#[track_caller]
fn holds(explored: &Explored<Blind>) {
    let failure =
        explored.failure.as_ref().map(|failure| (failure.outcome, &failure.answers, &failure.findings));
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!((explored.complete, explored.finals), (Ok(()), 1));
}

fn kernel(launch: &str, text: &str) -> Prepared {
    Prepared::text(
        "kernel.ptx",
        &format!(
            "// mbar: launch {launch}\n// mbar: arg p_out = u32[64] fill 0\n.version 8.6\n.target sm_90\n\
             .address_size 64\n.visible .entry k(.param .u64 p_out)\n{{\n.reg .pred p, q, s; .reg .b32 t, w, i, x, y, par; \
             .reg .b64 o, u, tok;\n.shared .align 16 .b8 tile[64];\n.shared .align 8 .b64 full;\n\
             .shared .align 8 .b64 empty;\nmov.u32 t, %tid.x;\nshr.u32 w, t, 5;\nld.param.u64 o, [p_out];\n\
             mul.wide.u32 u, t, 4;\nadd.u64 u, u, o;\nmov.u32 i, 0;\nsetp.eq.u32 p, t, 0;\n{text}\nret;\n}}\n"
        ),
    )
}

/// A producer and a consumer warp, one stage.
fn ring(rounds: u32, first_parity: u32, wait: &str) -> Prepared {
    kernel(
        "block=64",
        &format!(
            "@!p bra READY;\nmbarrier.init.shared::cta.b64 [full], 1;\nmbarrier.init.shared::cta.b64 [empty], 1;\n\
             READY: bar.sync 0;\nmov.u32 y, 0;\nsetp.eq.u32 q, w, 0;\nand.b32 x, t, 31;\nsetp.eq.u32 s, x, 0;\n@!q bra CONSUME;\n\
             PRODUCE: and.b32 par, i, 1;\nxor.b32 par, par, {first_parity};\n\
             PW: mbarrier.{wait}.parity.shared::cta.b64 q, [empty], par;\n@!q bra PW;\n\
             @s st.shared.u32 [tile], i;\n@s mbarrier.arrive.shared::cta.b64 tok, [full];\nadd.u32 i, i, 1;\n\
             setp.lt.u32 q, i, {rounds};\n@q bra PRODUCE;\nret;\n\
             CONSUME: and.b32 par, i, 1;\n\
             CW: mbarrier.{wait}.parity.shared::cta.b64 q, [full], par;\n@!q bra CW;\n\
             ld.shared.u32 x, [tile];\nmad.lo.u32 y, y, 3, x;\nbar.warp.sync -1;\n\
             @s mbarrier.arrive.shared::cta.b64 tok, [empty];\nadd.u32 i, i, 1;\nsetp.lt.u32 q, i, {rounds};\n\
             @q bra CONSUME;\nst.global.u32 [o], y;\n"
        ),
    )
}

#[test]
fn a_right_ring_holds_under_all_schedules() {
    for wait in ["try_wait", "test_wait"] {
        let explored = search(&ring(5, 1, wait), 1);
        holds(&explored);
        assert!(explored.states > 20 && explored.states < 400, "{}", explored.states);
    }
}

#[test]
fn a_producer_that_waits_for_the_wrong_phase_deadlocks() {
    for wait in ["try_wait", "test_wait"] {
        fails(&ring(3, 0, wait), Outcome::Deadlock);
    }
}

#[test]
fn a_deadlock_of_some_schedules_is_found() {
    let prepared =
        Prepared::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cases/b32.ptx")));
    fails(&prepared, Outcome::Deadlock);
}

/// Two warps arrive on a barrier for one, unless the second one comes after the phase.
#[test]
fn an_arrival_too_many_is_found() {
    let prepared = kernel(
        "block=96",
        "@!p bra READY;\nmbarrier.init.shared::cta.b64 [full], 3;\nREADY: bar.sync 0;\n\
         and.b32 x, t, 31;\nsetp.ne.u32 q, x, 0;\n@q bra DONE;\n\
         mbarrier.arrive.shared::cta.b64 tok, [full];\nsetp.ne.u32 q, w, 0;\n@q bra DONE;\n\
         mbarrier.arrive.noComplete.shared::cta.b64 tok, [full], 1;\nDONE:\n",
    );
    fails(&prepared, Outcome::Violation);
}

/// The flag is set whether or not anybody waits yet; but the second warp may have cleared it.
#[test]
fn a_lost_signal_is_found() {
    let prepared = kernel(
        "block=64",
        ".shared .align 4 .u32 flag;\n@p st.shared.u32 [flag], 0;\nbar.sync 0;\n\
         and.b32 x, t, 31;\nsetp.ne.u32 q, x, 0;\n@q bra DONE;\nsetp.eq.u32 q, w, 0;\n@q bra SIGNAL;\n\
         atom.shared.exch.b32 x, [flag], 0;\n\
         SPIN: atom.shared.cas.b32 x, [flag], 1, 2;\nsetp.ne.u32 q, x, 1;\n@q bra SPIN;\nbra DONE;\n\
         SIGNAL: atom.shared.exch.b32 x, [flag], 1;\nDONE:\n",
    );
    fails(&prepared, Outcome::Deadlock);
}

/// Two copies to the same place.
#[test]
fn the_last_copy_to_land_counts() {
    let prepared = kernel(
        "block=32",
        ".global .align 16 .b32 one[4] = {1, 1, 1, 1};\n.global .align 16 .b32 two[4] = {2, 2, 2, 2};\n\
         mov.u64 u, one;\n@!p bra DONE;\n\
         cp.async.ca.shared.global [tile], [one], 16;\ncp.async.ca.shared.global [tile], [two], 16;\n\
         cp.async.wait_all;\nld.shared.u32 x, [tile];\nst.global.u32 [o], x;\nDONE:\n",
    );
    let explored = search(&prepared, 1);
    assert!(explored.failure.is_none());
    assert_eq!((explored.complete, explored.finals), (Ok(()), 2));
    let runs = explored.differing.expect("two runs");
    let results = runs.map(|run| {
        let recording = Recording { program: 0, reconverge: String::new(), answers: run.answers };
        prepared.run(Options::default(), &mut Replay::new(recording)).memory["p_out"][0]
    });
    assert_eq!(results.iter().sum::<u8>(), 3);
}

/// A wait that gives up and then does something else.
#[test]
fn a_wait_that_gives_up_is_tried() {
    let prepared = kernel(
        "block=64",
        "@!p bra READY;\nmbarrier.init.shared::cta.b64 [full], 32;\nREADY: bar.sync 0;\n\
         setp.eq.u32 q, w, 0;\n@!q bra WAIT;\nmbarrier.arrive.shared::cta.b64 tok, [full];\nret;\n\
         WAIT: mbarrier.try_wait.parity.shared::cta.b64 q, [full], 0;\nselp.b32 x, 1, 2, q;\n\
         setp.eq.u32 p, t, 32;\n@p st.global.u32 [o], x;\n",
    );
    let explored = search(&prepared, 1);
    assert_eq!((explored.complete, explored.finals), (Ok(()), 2));
}

#[test]
fn private_work_is_not_interleaved() {
    let work = |block: u32| {
        kernel(
            &format!("block={block}"),
            "W: mad.lo.u32 y, i, 7, t;\nst.global.u32 [u], y;\nadd.u32 i, i, 1;\nsetp.lt.u32 q, i, 40;\n@q bra W;\n",
        )
    };
    let states = [32, 64].map(|block| {
        let explored = search(&work(block), 1);
        holds(&explored);
        explored.states
    });
    assert_eq!(states, [0, 0]);
}

/// CTAs that have nothing to do with each other.
#[test]
fn clusters_that_see_nothing_of_each_other_run_in_turn() {
    let grid = |ctas: u32| {
        kernel(
            &format!("grid={ctas} block=64"),
            "@!p bra READY;\nmbarrier.init.shared::cta.b64 [full], 32;\nREADY: bar.sync 0;\nsetp.eq.u32 q, w, 0;\n\
             L: @!q bra WAIT;\nmbarrier.arrive.shared::cta.b64 tok, [full];\nbra NEXT;\n\
             WAIT: and.b32 par, i, 1;\nmbarrier.try_wait.parity.shared::cta.b64 s, [full], par;\n@!s bra WAIT;\n\
             NEXT: bar.sync 0;\nadd.u32 i, i, 1;\nsetp.lt.u32 s, i, 3;\n@s bra L;\n",
        )
    };
    let states = [1, 4].map(|ctas| {
        let explored = search(&grid(ctas), 1);
        holds(&explored);
        explored.states
    });
    assert!(states[1] <= 4 * states[0] + 4, "{states:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for prepared in [ring(4, 1, "try_wait"), ring(3, 0, "test_wait")] {
        let [one, two] = [1, 2].map(|jobs| search(&prepared, jobs));
        let figures = |explored: &Explored<Blind>| {
            let failure = explored.failure.as_ref().map(|failure| failure.answers.clone());
            (explored.states, explored.transitions, explored.finals, failure)
        };
        assert_eq!(figures(&one), figures(&two));
    }
}

#[test]
fn bounds_are_told() {
    let bounds = Bounds { states: 10, ..Bounds::default() };
    let explored = search_with(&ring(50, 1, "try_wait"), Options::default(), &bounds, 1);
    assert_eq!((explored.complete, explored.failure.is_none()), (Err(Bound::States), true));
    let bounds = Bounds { steps_of_a_run: 60, ..Bounds::default() };
    let explored = search_with(&ring(50, 1, "try_wait"), Options::default(), &bounds, 1);
    assert_eq!((explored.complete, explored.failure.is_none()), (Err(Bound::Steps), true));
}

#[test]
fn lanes_part_as_they_like() {
    let options = Options { reconverge: Reconverge::Random, ..Options::default() };
    let prepared =
        kernel("block=32", "setp.lt.u32 q, t, 16;\n@q bra A;\nadd.u32 i, i, 1;\nA: st.global.u32 [u], i;\n");
    let explored = search_with(&prepared, options, &Bounds::default(), 1);
    holds(&explored);
}

/// A program that `mbar run` takes; cases for `check` are not.
fn runnable(path: &Path) -> Option<Prepared> {
    let text = read(path);
    let is_for_check =
        text.lines().any(|line| line.split("//~").nth(1).is_some_and(|tag| tag.contains("check")));
    (text.contains("// mbar: launch") && !is_for_check).then(|| Prepared::read(path))
}

/// What a search that has seen everything says of a program holds for its runs; and what it finds, replays.
#[test]
fn no_run_does_what_the_search_has_not_seen() {
    let mut failures = Failures::default();
    let mut complete = 0;
    for folder in ["cases", "run", "run_right"] {
        for path in files(folder, "ptx") {
            let Some(prepared) = runnable(&path) else { continue };
            let name = short_name(&path);
            let bounds = Bounds { states: 2000, ..Bounds::default() };
            let explored = search_with(&prepared, Options::default(), &bounds, 1);
            if let Some(failure) = &explored.failure {
                let replayed = replay(&prepared, &failure.answers);
                if failure.outcome != Some(replayed) {
                    failures.push(format!("{name}: {:?} replays to {replayed:?}", failure.outcome));
                }
            } else if explored.complete.is_ok() {
                complete += 1;
                for seed in 0..16 {
                    let mut choose = Strategy::new(Schedule::Random, Landing::Random, seed);
                    let outcome = prepared.run(Options::default(), &mut choose).outcome;
                    if outcome != Outcome::Completed {
                        failures.push(format!("{name}: {outcome:?} with seed {seed}"));
                    }
                }
            }
        }
    }
    failures.report("The search must see what a run can do.");
    assert!(complete > 100, "{complete}");
}

/// Each lane adds to a word and tells a barrier, which expects all of them.
#[test]
fn copies_that_a_phase_needs_all_of_are_not_permuted() {
    let prepared = kernel(
        "grid=2 block=32 cluster=2",
        "@p st.shared.u32 [tile], 0;\n@!p bra READY;\nmbarrier.init.shared::cta.b64 [full], 1;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 tok, [full], 128;\n\
         READY: barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
         mov.u32 w, %cluster_ctarank;\nxor.b32 w, w, 1;\nmov.u32 x, tile;\nmapa.shared::cluster.u32 x, x, w;\n\
         mov.u32 y, full;\nmapa.shared::cluster.u32 y, y, w;\n\
         red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [x], 1, [y];\n\
         W: mbarrier.try_wait.parity.shared::cta.b64 q, [full], 0;\n@!q bra W;\n\
         barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n",
    );
    let explored = search(&prepared, 1);
    holds(&explored);
    assert!(explored.states < 100, "{}", explored.states);
}
