//! The argument of stability against the search: small random kernels, right and broken. What one run calls
//! stable must be clean when all schedules are explored; what is called violated must repeat.

mod support;

use std::fmt::Write as _;

use mbar::launch::Random;
use mbar::machine::choice::{Recording, Replay};
use mbar::verify::{Settings, Verdict, trial};
use support::Failures;
use support::execute::Prepared;
use support::judge::{judge, settings};

/// What a thread does, one after the other; barriers and words of memory by number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive(u32),
    ArriveExpect(u32, u32),
    Expect(u32, u32),
    /// A bulk copy of so many 16 bytes to a word, counted by a barrier.
    Copy(u32, u32, u32),
    /// A small copy to a word, and an arrival when it is complete: counted in, or part of the count.
    Track(u32, u32, bool),
    Drop(u32),
    Wait(u32, u32),
    Write(u32),
    Read(u32),
    /// A round at a named barrier.
    Named,
}

/// Threads, each in a warp of its own, and the initial counts of the barriers.
struct Kernel {
    threads: Vec<Vec<Step>>,
    counts: Vec<u32>,
}

/// A number below `n`.
fn below(random: &mut Random, n: u32) -> u32 {
    random.below(n)
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len() as u32) as usize]
}

/// Any steps in any order.
fn anything(random: &mut Random) -> Kernel {
    let barriers = pick(random, &[1, 1, 2]);
    let counts = (0..barriers).map(|_| pick(random, &[1, 1, 2, 2, 3])).collect();
    let step = |random: &mut Random| {
        let b = below(random, barriers);
        match below(random, 100) {
            0..33 => Step::Wait(b, below(random, 2)),
            33..60 => Step::Arrive(b),
            60..68 => Step::ArriveExpect(b, 1 + below(random, 2)),
            68..75 => Step::Copy(b, 1 + below(random, 2), below(random, 2)),
            75..79 => Step::Expect(b, 1 + below(random, 2)),
            79..83 => Step::Track(b, below(random, 2), below(random, 2) == 0),
            83..86 => Step::Drop(b),
            86..89 => Step::Named,
            _ if below(random, 2) == 0 => Step::Write(below(random, 2)),
            _ => Step::Read(below(random, 2)),
        }
    };
    let threads = (0..pick(random, &[2, 2, 3]))
        .map(|_| (0..1 + below(random, 6)).map(|_| step(random)).collect())
        .collect();
    Kernel { threads, counts }
}

/// A producer and its consumers around a ring, with up to two mistakes.
fn ring(random: &mut Random) -> Kernel {
    let (slots, rounds, consumers) = (1 + below(random, 2), 2 + below(random, 3), 1 + below(random, 2));
    let how = below(random, 4);
    let mut counts: Vec<u32> = vec![1; slots as usize];
    counts.extend(vec![consumers; slots as usize]);
    let mut threads = vec![Vec::new(); 1 + consumers as usize];
    for round in 0..rounds {
        let (slot, parity) = (round % slots, (round / slots) & 1);
        threads[0].push(Step::Wait(slots + slot, parity ^ 1));
        match how {
            0 => threads[0].extend([Step::Write(slot), Step::Arrive(slot)]),
            1 => threads[0].extend([Step::ArriveExpect(slot, 2), Step::Copy(slot, 2, slot)]),
            2 => threads[0].extend([Step::Expect(slot, 2), Step::Copy(slot, 2, slot), Step::Arrive(slot)]),
            _ => threads[0].extend([Step::Track(slot, slot, true), Step::Arrive(slot)]),
        }
        for thread in &mut threads[1..] {
            thread.extend([Step::Wait(slot, parity), Step::Read(slot), Step::Arrive(slots + slot)]);
        }
    }
    for _ in 0..pick(random, &[0, 0, 1, 1, 2]) {
        let thread = below(random, threads.len() as u32) as usize;
        let steps = &mut threads[thread];
        let at = below(random, steps.len() as u32) as usize;
        match below(random, 5) {
            0 if steps.len() > 1 => drop(steps.remove(at)),
            1 if at + 1 < steps.len() => steps.swap(at, at + 1),
            2 => steps.insert(at, steps[below(random, steps.len() as u32) as usize]),
            3 => {
                if let Step::Wait(_, parity) = &mut steps[at] {
                    *parity ^= 1;
                }
            }
            _ => {
                let barrier = below(random, counts.len() as u32) as usize;
                counts[barrier] = 1 + below(random, 2);
            }
        }
    }
    Kernel { threads, counts }
}

impl Kernel {
    /// As PTX.
    fn text(&self) -> String {
        let block = 32 * self.threads.len();
        let mut text = format!(
            "// mbar: launch block={block}\n// mbar: arg p_in = u32[64] iota\n.version 8.0\n.target sm_90\n\
             .address_size 64\n.visible .entry k(.param .u64 p_in)\n{{\n.shared .align 8 .b64 bar[8];\n\
             .shared .align 16 .b8 buf[256];\n.reg .pred p; .reg .b32 tid, role, x; .reg .b64 in;\n\
             ld.param.u64 in, [p_in];\nmov.u32 tid, %tid.x;\nshr.u32 role, tid, 5;\nand.b32 x, tid, 31;\n\
             setp.ne.u32 p, tid, 0;\n@p bra READY;\n"
        );
        for (index, count) in self.counts.iter().enumerate() {
            let _ = writeln!(text, "mbarrier.init.shared::cta.b64 [bar+{}], {count};", 8 * index);
        }
        for word in 0..2 {
            let _ = writeln!(text, "st.shared.u32 [buf+{}], tid;", 64 * word);
        }
        text.push_str("fence.proxy.async;\nREADY: bar.sync 0;\nsetp.ne.u32 p, x, 0;\n@p bra END;\n");
        for thread in 1..self.threads.len() {
            let _ = writeln!(text, "setp.eq.u32 p, role, {thread};\n@p bra T{thread};");
        }
        for (thread, steps) in self.threads.iter().enumerate() {
            let _ = writeln!(text, "T{thread}:");
            for (at, step) in steps.iter().enumerate() {
                step.write(&mut text, &format!("W{thread}_{at}"));
            }
            text.push_str("bra END;\n");
        }
        text.push_str("END: ret;\n}\n");
        text
    }
}

impl Step {
    fn write(self, text: &mut String, label: &str) {
        let bar = |b: u32| format!("[bar+{}]", 8 * b);
        let word = |w: u32| format!("[buf+{}]", 64 * w);
        let _ = match self {
            Step::Arrive(b) => writeln!(text, "mbarrier.arrive.shared::cta.b64 _, {};", bar(b)),
            Step::ArriveExpect(b, n) => {
                writeln!(text, "mbarrier.arrive.expect_tx.shared::cta.b64 _, {}, {};", bar(b), 16 * n)
            }
            Step::Expect(b, n) => {
                writeln!(text, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 {}, {};", bar(b), 16 * n)
            }
            // Reads of the ring are ordered before the copy; the fence makes that so for the other proxy, too.
            Step::Copy(b, n, w) => writeln!(
                text,
                "fence.proxy.async;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes {}, [in], {}, {};",
                word(w),
                16 * n,
                bar(b)
            ),
            Step::Track(b, w, counted) => writeln!(
                text,
                "cp.async.ca.shared.global {}, [in], 4;\ncp.async.mbarrier.arrive{}.shared.b64 {};",
                word(w),
                if counted { "" } else { ".noinc" },
                bar(b)
            ),
            Step::Drop(b) => writeln!(text, "mbarrier.arrive_drop.shared::cta.b64 _, {};", bar(b)),
            Step::Wait(b, parity) => writeln!(
                text,
                "{label}: mbarrier.try_wait.parity.shared::cta.b64 p, {}, {parity};\n@!p bra {label};",
                bar(b)
            ),
            Step::Write(w) => writeln!(text, "st.shared.u32 {}, role;", word(w)),
            Step::Read(w) => writeln!(text, "ld.shared.u32 x, {};", word(w)),
            Step::Named => writeln!(text, "barrier.sync 1, 64;"),
        };
    }
}

/// So many kernels.
const KERNELS: u64 = 400;

#[test]
fn stability_and_the_search_agree() {
    let mut failures = Failures::default();
    let (mut stable, mut violated, mut explored, mut open) = (0, 0, 0, 0);
    for seed in 0..KERNELS {
        let random = &mut Random::new(seed);
        let kernel = if seed % 2 == 0 { ring(random) } else { anything(random) };
        let text = kernel.text();
        let prepared = Prepared::text(&format!("kernel{seed}.ptx"), &text);
        let judged = judge(&prepared, &settings(20_000));
        match judged.verdict {
            Verdict::Holds if judged.grounds.iter().any(|ground| ground.starts_with("one run")) => {
                stable += 1;
                let all = judge(&prepared, &Settings { explore: true, ..settings(100_000) });
                if all.verdict != Verdict::Holds
                    || all.grounds.iter().any(|why| why.contains("other contents"))
                {
                    failures.push(format!("{text}\nstable, but {}", all.in_words()));
                }
            }
            Verdict::Holds => explored += 1,
            Verdict::Violated => {
                violated += 1;
                let answers = judged.replay.clone().unwrap_or_default();
                let recording = Recording { program: 0, reconverge: "postdominator".into(), answers };
                let options = settings(0).options;
                let again = trial::run(
                    &prepared.program,
                    &prepared.launch,
                    options,
                    Replay::new(recording),
                    &mut |_| {},
                );
                let again = again.ok().and_then(|trial| trial.failure(false));
                let same = judged.findings.iter().any(|found| Some(found.name) == again);
                if !same {
                    failures.push(format!("{text}\nrepeats as {again:?}: {}", judged.in_words()));
                }
            }
            Verdict::Inconclusive => open += 1,
        }
    }
    println!("{KERNELS} kernels: {stable} stable, {explored} explored, {violated} violated, {open} open");
    assert!(stable >= 60 && violated >= 100 && explored >= 1, "{stable} {violated} {explored}");
    assert!(open <= 8, "{open} of {KERNELS} are inconclusive");
    failures.report("A hole in the argument, or in the tool.");
}
