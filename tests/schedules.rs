//! Laws that hold whatever the schedule: race-free kernels compute the same, a recording replays, and no
//! program makes the machine panic.

mod support;

use std::fmt::Write as _;

use mbar::check::{self, Settings};
use mbar::launch::{self, Overrides};
use mbar::machine::choice::{Landing, Recorder, Recording, Replay, Schedule, Strategy};
use mbar::machine::{Machine, Options, Reconverge, Undefined};
use mbar::source::SourceFile;
use support::execute::{Prepared, Ran};
use support::{Failures, Random, files, read, short_name};

/// How a producer fills a stage of a ring.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fill {
    Store,
    SmallCopies,
    BulkCopy,
}

/// A ring of stages between a producer warp and some consumer warps.
#[derive(Debug)]
struct Ring {
    fill: Fill,
    stages: u32,
    rounds: u32,
    consumers: u32,
    /// Whether one lane arrives for its warp.
    elected: bool,
    /// Whether waits poll.
    polls: bool,
    /// Lanes whose number has these bits set go another way now and then.
    odd_lanes: u32,
}

impl Ring {
    fn random(random: &mut Random) -> Ring {
        Ring {
            fill: [Fill::Store, Fill::SmallCopies, Fill::BulkCopy][random.below(3)],
            stages: 1 + random.below(4) as u32,
            rounds: 1 + random.below(9) as u32,
            consumers: 1 + random.below(3) as u32,
            elected: random.below(2) == 0,
            polls: random.below(2) == 0,
            odd_lanes: random.below(32) as u32,
        }
    }

    fn wait(&self, label: &str, barriers: &str, parity: &str) -> String {
        let wait = if self.polls {
            "nanosleep.u32 20;\n mbarrier.test_wait.parity"
        } else {
            "mbarrier.try_wait.parity"
        };
        format!(
            " add.u32 %r8, {barriers}, %r9;\n{label}:\n {wait}.shared::cta.b64 %p2, [%r8], {parity};\n \
             @!%p2 bra {label};\n"
        )
    }

    fn text(&self) -> String {
        let Ring { stages, rounds, consumers, odd_lanes, .. } = self;
        let (threads, words) = (32 + 32 * consumers, 32 * rounds);
        let full = if self.fill == Fill::BulkCopy { 1 } else { 32 };
        let empty = if self.elected { *consumers } else { 32 * consumers };
        let mut text = format!(
            "// mbar: launch block={threads}\n// mbar: arg p_in = u32[{words}] iota*7+3\n\
             // mbar: arg p_out = u32[{outs}] fill 0\n.version 8.6\n.target sm_90\n.address_size 64\n\
             .visible .entry ring(.param .u64 p_in, .param .u64 p_out)\n{{\n \
             .reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %rd<8>;\n \
             .shared .align 128 .b8 tile[{tile}];\n .shared .align 8 .b64 full[{stages}];\n \
             .shared .align 8 .b64 empty[{stages}];\n \
             mov.u32 %r0, %tid.x;\n and.b32 %r10, %r0, 31;\n ld.param.u64 %rd0, [p_in];\n \
             cvta.to.global.u64 %rd0, %rd0;\n ld.param.u64 %rd1, [p_out];\n cvta.to.global.u64 %rd1, %rd1;\n \
             mov.u32 %r1, full;\n mov.u32 %r2, empty;\n mov.u32 %r3, tile;\n setp.ne.u32 %p0, %r0, 0;\n \
             @%p0 bra READY;\n",
            outs = 64 * consumers,
            tile = 128 * stages,
        );
        for stage in 0..*stages {
            let at = 8 * stage;
            let _ = writeln!(text, " mbarrier.init.shared::cta.b64 [full+{at}], {full};");
            let _ = writeln!(text, " mbarrier.init.shared::cta.b64 [empty+{at}], {empty};");
        }
        text.push_str(
            " fence.proxy.async;\nREADY:\n bar.sync 0;\n mov.u32 %r4, 0;\n mov.u32 %r5, 0;\n mov.u32 %r6, 0;\n \
             mov.u32 %r11, 0;\n mov.u32 %r12, %r0;\n setp.lt.u32 %p1, %r0, 32;\n @!%p1 bra CONSUME;\nPRODUCE:\n \
             shl.b32 %r9, %r5, 3;\n xor.b32 %r7, %r6, 1;\n",
        );
        text.push_str(&self.wait("W0", "%r2", "%r7"));
        text.push_str(&self.fill());
        text.push_str(&self.next("PRODUCE"));
        text.push_str(" bra DONE;\nCONSUME:\n shl.b32 %r9, %r5, 3;\n");
        text.push_str(&self.wait("W1", "%r1", "%r6"));
        text.push_str(
            " shl.b32 %r13, %r5, 7;\n add.u32 %r13, %r13, %r3;\n shl.b32 %r14, %r10, 2;\n \
             add.u32 %r13, %r13, %r14;\n ld.shared.u32 %r15, [%r13];\n mad.lo.u32 %r11, %r11, 3, %r15;\n",
        );
        let _ = write!(
            text,
            " and.b32 %r16, %r10, {odd_lanes};\n setp.eq.u32 %p3, %r16, {odd_lanes};\n @%p3 bra ODD;\n \
             mad.lo.u32 %r12, %r12, 5, 1;\n bra JOINED;\nODD:\n xor.b32 %r12, %r12, %r15;\n @%p3 bra JOINED;\n \
             mov.u32 %r12, 0;\nJOINED:\n add.u32 %r8, %r2, %r9;\n",
        );
        text.push_str(if self.elected {
            " bar.warp.sync -1;\n setp.eq.u32 %p4, %r10, 0;\n @%p4 mbarrier.arrive.shared::cta.b64 _, [%r8];\n"
        } else {
            " mbarrier.arrive.shared::cta.b64 _, [%r8];\n"
        });
        text.push_str(&self.next("CONSUME"));
        text.push_str(
            " sub.u32 %r17, %r0, 32;\n mul.wide.u32 %rd2, %r17, 8;\n add.u64 %rd2, %rd2, %rd1;\n \
             st.global.v2.u32 [%rd2], {%r11, %r12};\nDONE:\n ret;\n}\n",
        );
        text
    }

    fn fill(&self) -> String {
        let mut text = " add.u32 %r8, %r1, %r9;\n shl.b32 %r13, %r5, 7;\n add.u32 %r13, %r13, %r3;\n \
                        mul.wide.u32 %rd2, %r4, 128;\n add.u64 %rd2, %rd2, %rd0;\n"
            .to_string();
        if self.fill != Fill::BulkCopy {
            text.push_str(
                " shl.b32 %r14, %r10, 2;\n add.u32 %r13, %r13, %r14;\n mul.wide.u32 %rd3, %r10, 4;\n \
                 add.u64 %rd2, %rd2, %rd3;\n",
            );
        }
        text.push_str(match self.fill {
            Fill::Store => {
                " ld.global.u32 %r15, [%rd2];\n st.shared.u32 [%r13], %r15;\n \
                 mbarrier.arrive.shared::cta.b64 _, [%r8];\n"
            }
            Fill::SmallCopies => {
                " cp.async.ca.shared.global [%r13], [%rd2], 4;\n \
                 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r8];\n"
            }
            Fill::BulkCopy => {
                " setp.ne.u32 %p5, %r10, 0;\n @%p5 bra COPIED;\n \
                 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], 128;\n \
                 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r13], [%rd2], 128, [%r8];\n\
                 COPIED:\n"
            }
        });
        text
    }

    /// The end of a round.
    fn next(&self, top: &str) -> String {
        format!(
            " add.u32 %r4, %r4, 1;\n add.u32 %r5, %r5, 1;\n setp.eq.u32 %p6, %r5, {};\n \
             @%p6 xor.b32 %r6, %r6, 1;\n @%p6 mov.u32 %r5, 0;\n setp.lt.u32 %p7, %r4, {};\n @%p7 bra {top};\n",
            self.stages, self.rounds
        )
    }

    /// What thread `thread` of the consumers computes.
    fn sum(&self, thread: u32) -> u32 {
        let element = |round: u32| (32 * round + thread % 32).wrapping_mul(7).wrapping_add(3);
        (0..self.rounds).fold(0, |sum: u32, round| sum.wrapping_mul(3).wrapping_add(element(round)))
    }
}

fn word(bytes: &[u8], index: u32) -> u32 {
    let at = 4 * index as usize;
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

const STRATEGIES: [(Schedule, Landing, Reconverge); 7] = [
    (Schedule::RoundRobin, Landing::Lazy, Reconverge::PostDominator),
    (Schedule::RoundRobin, Landing::Eager, Reconverge::PostDominator),
    (Schedule::RoundRobin, Landing::Random, Reconverge::Never),
    (Schedule::Random, Landing::Lazy, Reconverge::Random),
    (Schedule::Random, Landing::Eager, Reconverge::Never),
    (Schedule::Random, Landing::Random, Reconverge::PostDominator),
    (Schedule::Random, Landing::Random, Reconverge::Random),
];

#[test]
fn race_free_kernels_compute_the_same_under_every_strategy() {
    let mut random = Random::new(20);
    let mut failures = Failures::default();
    for _ in 0..60 {
        let ring = Ring::random(&mut random);
        let prepared = Prepared::text("ring.ptx", &ring.text());
        let mut first: Option<Ran> = None;
        for (index, (schedule, landing, reconverge)) in STRATEGIES.into_iter().enumerate() {
            let options = Options { reconverge, ..Options::default() };
            let ran = prepared.run(options, &mut Strategy::new(schedule, landing, random.next()));
            let how = format!("{ring:?} under strategy {index}");
            if !ran.is_clean() {
                failures.push(format!("{how}: {}", ran.in_words()));
                continue;
            }
            let out = &ran.memory["p_out"];
            if let Some(thread) = (0..32 * ring.consumers).find(|&t| word(out, 2 * t) != ring.sum(t)) {
                failures.push(format!("{how}: thread {thread} has {}", word(out, 2 * thread)));
            }
            if first.as_ref().is_some_and(|first| first.memory != ran.memory) {
                failures.push(format!("{how}: differs from strategy 0"));
            }
            first.get_or_insert(ran);
        }
    }
    failures.report("No schedule may change what a race-free kernel computes.");
}

#[test]
fn a_recording_replays_to_the_same_events() {
    let mut random = Random::new(21);
    let rings = (0..20).map(|_| Prepared::text("ring.ptx", &Ring::random(&mut random).text()));
    let mut programs: Vec<Prepared> = rings.collect();
    let launched = |path: &&std::path::PathBuf| {
        let text = read(path);
        text.contains("// mbar: launch") && !text.contains("//~ check")
    };
    programs.extend(files("cases", "ptx").iter().filter(launched).map(|path| Prepared::read(path)));
    for (index, prepared) in programs.iter().enumerate() {
        let options = Options { reconverge: Reconverge::Random, events: true, ..Options::default() };
        let mut recorder = Recorder::new(Strategy::new(Schedule::Random, Landing::Random, index as u64));
        let ran = prepared.run(options, &mut recorder);
        let recording = Recording {
            program: 1,
            reconverge: options.reconverge.as_str().into(),
            answers: recorder.answers,
        };
        let recording = Recording::from_text(&recording.to_text()).expect("a recording");
        let replayed = prepared.run(options, &mut Replay::new(recording));
        assert!(ran == replayed, "program {index}: {} / {}", ran.in_words(), replayed.in_words());
        assert!(!ran.events.is_empty(), "program {index} has no events");
    }
}

/// Changes a line of a program: drops it, doubles it, swaps it with another, or puts in another number.
fn mutate(lines: &mut Vec<String>, random: &mut Random) {
    const NUMBERS: [&str; 9] =
        ["0", "1", "-1", "7", "31", "1048576", "2147483648", "4294967295", "9223372036854775807"];
    let at = random.below(lines.len());
    match random.below(4) {
        0 => {
            lines.remove(at);
        }
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = random.below(lines.len());
            lines.swap(at, other);
        }
        _ => {
            let line = lines[at].clone();
            let starts: Vec<usize> = line
                .char_indices()
                .filter(|&(i, c)| c.is_ascii_digit() && line[..i].ends_with([' ', ',', '+', '=', '[', '(']))
                .map(|(i, _)| i)
                .collect();
            if let Some(&start) = starts.get(random.below(starts.len())) {
                let rest = line[start..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
                lines[at] = format!("{}{}{rest}", &line[..start], random.pick(&NUMBERS));
            }
        }
    }
}

#[test]
fn no_program_makes_the_machine_panic() {
    let mut random = Random::new(22);
    let mut texts: Vec<(String, String)> = Vec::new();
    for folder in ["guide", "cases", "hw/state", "hw/probe", "hw/random", "hw/scalar", "hw/warp"] {
        texts.extend(files(folder, "ptx").iter().map(|path| (short_name(path), read(path))));
    }
    let (mut ran, mut round) = (0, 0);
    while ran < 2500 {
        round += 1;
        assert!(round < 60_000, "hardly any mutant runs");
        let (name, text) = &texts[random.below(texts.len())];
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        for _ in 0..1 + random.below(3) {
            if !lines.is_empty() {
                mutate(&mut lines, &mut random);
            }
        }
        let checked = check::check(SourceFile::new(name.as_str(), lines.join("\n")), &Settings::default());
        let nothing = &mut |_: &str| Ok((0..=255).cycle().take(1 << 16).collect());
        let Ok(launch) = launch::read(&checked.program, &Overrides::default(), nothing) else { continue };
        let undefined = [Undefined::Stop, Undefined::Warn, Undefined::Ignore][random.below(3)];
        let reconverge = [Reconverge::PostDominator, Reconverge::Never, Reconverge::Random][random.below(3)];
        let options = Options { undefined, reconverge, max_steps: 20_000, events: false };
        let Ok(mut machine) = Machine::new(&checked.program, &launch, options) else { continue };
        let landing = [Landing::Eager, Landing::Lazy, Landing::Random][random.below(3)];
        let schedule = [Schedule::RoundRobin, Schedule::Random][random.below(2)];
        machine.run(&mut Strategy::new(schedule, landing, random.next()), &mut |_| {});
        machine.compare(&launch);
        ran += 1;
    }
}
