//! Judges whether a kernel is right under every schedule, from what one run of it shows.
//!
//! A [`watch::Watch`] rides along a run and keeps, for each lane, what it knows: by causality for races
//! (`causality`, `shadow`, `race`), and by what cannot happen before what for phases of barriers (`phase`).
//! Where a condition fails, the schedule that it names is tried ([`trial`]); where that shows nothing, or
//! values depend on the schedule ([`values`]), all schedules are explored within bounds ([`explore`]).

pub mod agent;
pub mod causality;
pub mod clock;
pub mod depend;
pub mod explain;
pub mod explore;
mod graph;
pub mod laps;
pub mod ledger;
pub mod minimise;
pub mod order;
pub mod phase;
pub mod poll;
pub mod race;
pub mod rule;
pub mod shadow;
mod symbol;
mod transition;
pub mod trial;
pub mod uses;
pub mod values;
mod walk;
pub mod watch;

use std::fmt;

use crate::diagnostic::Severity;
use crate::launch::Launch;
use crate::machine::choice::{Landing, Recording, Replay, Schedule, Strategy};
use crate::machine::finding::{Finding, Outcome};
use crate::machine::words::count;
use crate::machine::{LaunchError, Machine, Options, Reconverge};
use crate::program::Program;
use explain::Explain;
use explore::{Bound, Bounds, Explored};
use phase::{Condition, Doubt};
use trial::{HoldBack, Trial};
use values::{Decides, Decision};
use watch::Watch;

/// The search ends after so many states, unless told otherwise.
pub const DEFAULT_STATES: u64 = 200_000;
/// The search ends after so many seconds, unless told otherwise.
pub const DEFAULT_SECONDS: u64 = 20;
/// So many failed conditions are tried one by one.
const MOST_SWAPS: usize = 32;
/// So many random schedules are tried before the search.
const RANDOM_TRIES: u64 = 12;

/// How a launch is verified.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How it is run.
    pub options: Options,
    /// What shipped code often does against the manual is an error.
    pub strict: bool,
    /// Explore all schedules even where one run speaks for them.
    pub explore: bool,
    /// Threads of the search.
    pub jobs: usize,
    /// How much is searched.
    pub bounds: Bounds,
}

/// What the answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Right under every schedule within the reach.
    Holds,
    /// Some schedule goes wrong.
    Violated,
    /// Not known.
    Inconclusive,
}

impl Verdict {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// The answer, and what it rests on.
pub struct Verification<'p> {
    /// The answer.
    pub verdict: Verdict,
    /// Why, a clause each.
    pub grounds: Vec<String>,
    /// What it is about: the launch, and what schedules may do.
    pub reach: String,
    /// What was found, errors first.
    pub findings: Vec<Finding>,
    /// The schedule that goes wrong.
    pub replay: Option<Vec<u32>>,
    /// Schedules that were run or followed to their end.
    pub schedules: u64,
    /// States of the search; 0: there was none.
    pub states: u64,
    /// The first run.
    pub base: Trial<'p>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// In the first run: millions of warp instructions.
    Running(u64),
    /// Other schedules have been tried.
    Trying(u64),
    /// In the search: states, and those that are left.
    Exploring(u64, u64),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            At::Running(steps) => write!(f, "{steps} million warp instructions"),
            At::Trying(schedules) => write!(f, "{schedules} schedules tried"),
            At::Exploring(states, open) => write!(f, "{states} states explored, {open} to go on from"),
        }
    }
}

/// Verifies a launch. `progress` is told now and then how far it is.
///
/// # Errors
/// The launch is impossible.
pub fn verify<'p>(
    program: &'p Program,
    launch: &Launch,
    settings: &Settings,
    progress: &(dyn Fn(At) + Sync),
) -> Result<Verification<'p>, LaunchError> {
    let strategy = Strategy::new(Schedule::RoundRobin, Landing::Lazy, 0);
    let tell = &mut |machine: &Machine| progress(At::Running(machine.statistics.steps / 1_000_000));
    let base = trial::run(program, launch, settings.options, strategy.clone(), tell)?;
    let case = Case { program, launch, settings, progress, base, schedules: 1, states: 0 };
    if case.base.has_failed(settings.strict) {
        let answers = trial::answers(program, launch, settings.options, strategy)?;
        let findings = case.base.findings(settings.strict);
        return Ok(case.violated(answers, findings, None, "the first schedule that was tried goes wrong"));
    }
    if let Outcome::Limit | Outcome::Unsupported = case.base.outcome {
        let why = match case.base.outcome {
            Outcome::Unsupported => "an instruction cannot be executed here".to_string(),
            _ => case.base.machine.limit().unwrap_or_default(),
        };
        let findings = case.findings();
        return Ok(case.end(Verdict::Inconclusive, findings, vec![why], None));
    }
    case.judge()
}

/// A schedule that goes wrong: its answers, and what it shows.
type Failed = (Vec<u32>, Vec<Finding>);

/// A launch in hand, whose first run went well.
struct Case<'a, 'p> {
    program: &'p Program,
    launch: &'a Launch,
    settings: &'a Settings,
    progress: &'a (dyn Fn(At) + Sync),
    base: Trial<'p>,
    schedules: u64,
    states: u64,
}

impl<'p> Case<'_, 'p> {
    /// What the first run says of all others, and if that is not enough, what others show.
    fn judge(mut self) -> Result<Verification<'p>, LaunchError> {
        let open = self.open_doubts();
        for doubt in open.iter().take(MOST_SWAPS) {
            if let Some((answers, findings)) = self.swap(doubt)? {
                let why = "a schedule that swaps two events goes wrong";
                return Ok(self.violated(answers, findings, Some(doubt), why));
            }
        }
        let decisions = values::decisions(&self.base.machine, &self.base.watch);
        if open.is_empty() && decisions.is_empty() && !self.settings.explore {
            return Ok(self.stable());
        }
        if let Some((answers, findings)) = self.random()? {
            return Ok(self.violated(answers, findings, None, "a random schedule goes wrong"));
        }
        self.explore(&open, &decisions)
    }

    /// One run speaks for all schedules.
    fn stable(self) -> Verification<'p> {
        let why = "one run speaks for every schedule: no race, and no arrival, wait, announcement or byte can \
                   land in another phase";
        let findings = self.findings();
        self.end(Verdict::Holds, findings, vec![why.to_string()], None)
    }

    /// The conditions that fail even as long as lanes stay together.
    fn open_doubts(&self) -> Vec<Doubt> {
        let doubts = self.base.watch.phases.doubts.iter().copied();
        doubts.filter(|doubt| !doubt.only_lanes && !doubt.only_relaxed).collect()
    }

    fn explain(&self) -> Explain<'_, 'p> {
        self.base.explain(self.settings.strict)
    }

    /// What the first run shows, and what is said of all conditions that fail.
    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.base.findings(self.settings.strict);
        findings.extend(self.doubts(None));
        findings
    }

    /// What is said of conditions that fail: of all, or of one, which then is an error.
    fn doubts(&self, only: Option<&Doubt>) -> Vec<Finding> {
        let explain = self.explain();
        let all = &self.base.watch.phases.doubts;
        // What fails anyway need not be said of lanes that separate.
        let fails_anyway = |doubt: &Doubt| {
            doubt.only_lanes && all.iter().any(|other| !other.only_lanes && other.is_about_the_same(doubt))
        };
        let doubts =
            all.iter().filter(|doubt| only.is_none_or(|only| only == *doubt) && !fails_anyway(doubt));
        let ranges = if only.is_some() { Vec::new() } else { explain.ranges() };
        let doubts = doubts.map(|doubt| {
            let mut finding = explain.doubt(doubt);
            if only.is_some() {
                finding.diagnostic = finding.diagnostic.severity(Severity::Error);
            }
            finding
        });
        doubts.chain(ranges).collect()
    }

    /// Tries the schedule that a condition names: its first event held back for as long as can be. The answers
    /// and the findings, if that goes wrong.
    fn swap(&mut self, doubt: &Doubt) -> Result<Option<Failed>, LaunchError> {
        let held = (doubt.first.by.warp, doubt.first.time);
        let landings = match doubt.condition {
            Condition::EarlyBytes => [Landing::Eager, Landing::Lazy],
            _ => [Landing::Lazy, Landing::Eager],
        };
        for landing in landings {
            let hold = HoldBack::new(vec![held], landing);
            let (trial, answers) = trial::run_held(self.program, self.launch, self.settings.options, hold)?;
            if let Some(findings) = self.tried(&trial) {
                return Ok(Some((answers, findings)));
            }
        }
        Ok(None)
    }

    fn random(&mut self) -> Result<Option<Failed>, LaunchError> {
        for seed in 0..RANDOM_TRIES {
            let strategy = Strategy::new(Schedule::Random, Landing::Random, seed);
            let options = self.settings.options;
            let trial = trial::run(self.program, self.launch, options, strategy.clone(), &mut |_| {})?;
            if let Some(findings) = self.tried(&trial) {
                let answers = trial::answers(self.program, self.launch, options, strategy)?;
                return Ok(Some((answers, findings)));
            }
        }
        Ok(None)
    }

    /// A schedule has been tried: the findings, if it goes wrong.
    fn tried(&mut self, trial: &Trial) -> Option<Vec<Finding>> {
        self.schedules += 1;
        (self.progress)(At::Trying(self.schedules));
        trial.has_failed(self.settings.strict).then(|| trial.findings(self.settings.strict))
    }

    fn explore(mut self, open: &[Doubt], decisions: &[Decision]) -> Result<Verification<'p>, LaunchError> {
        let options = Options { events: true, ..self.settings.options };
        let start = Machine::new(self.program, self.launch, options)?;
        let tell = |at: &explore::Progress| (self.progress)(At::Exploring(at.states, at.open));
        let explored =
            explore::explore(&start, &Watch::new(), &self.settings.bounds, self.settings.jobs, &tell);
        self.states = explored.states;
        self.schedules += explored.schedules;
        if let Some(failure) = &explored.failure {
            if failure.outcome == Some(Outcome::Limit) {
                let findings = self.findings();
                let why = "a schedule was found that does not seem to end".to_string();
                let answers = failure.answers.clone();
                return Ok(self.end(Verdict::Inconclusive, findings, vec![why], Some(answers)));
            }
            let (answers, findings) = self.shortest(&failure.answers)?;
            return Ok(self.violated(
                answers,
                findings,
                open.first(),
                "the search found a schedule that goes wrong",
            ));
        }
        self.explored(explored, open, decisions)
    }

    /// The shortest schedule found that goes wrong like the one given, and what it shows.
    fn shortest(&mut self, answers: &[u32]) -> Result<(Vec<u32>, Vec<Finding>), LaunchError> {
        let strict = self.settings.strict;
        let wanted = self.repeat(answers)?.failure(strict);
        let short = minimise::minimise(answers, &mut |answers| {
            self.repeat(answers).is_ok_and(|trial| trial.failure(strict) == wanted)
        });
        let trial = self.repeat(&short)?;
        let findings = trial.findings(strict);
        Ok((short, findings))
    }

    fn repeat(&self, answers: &[u32]) -> Result<Trial<'p>, LaunchError> {
        let reconverge = self.settings.options.reconverge.as_str().to_string();
        let recording = Recording { program: 0, reconverge, answers: answers.to_vec() };
        trial::run(self.program, self.launch, self.settings.options, Replay::new(recording), &mut |_| {})
    }

    /// Nothing went wrong as far as the search went.
    fn explored(
        self,
        explored: Explored<Watch>,
        open: &[Doubt],
        decisions: &[Decision],
    ) -> Result<Verification<'p>, LaunchError> {
        let explain = self.explain();
        let mut findings = self.findings();
        findings.extend(decisions.iter().map(|decision| explain.decision(decision)));
        let searched = format!(
            "{} and {} explored",
            count(explored.states, "state"),
            count(explored.schedules, "schedule")
        );
        if let Err(bound) = explored.complete {
            let mut grounds = vec![format!("{searched}, then {}", bound_words(bound, &self.settings.bounds))];
            grounds.extend(self.because(open, decisions));
            return Ok(self.end(Verdict::Inconclusive, findings, grounds, None));
        }
        if let Some(decision) = decisions.iter().find(|decision| !decision.cause.is_explored()) {
            let line = self.base.machine.line(decision.source);
            let why =
                format!("{searched} without a fault, but line {line} takes a value that no schedule decides");
            return Ok(self.end(Verdict::Inconclusive, findings, vec![why], None));
        }
        if let Some([_, other]) = &explored.differing {
            let rule = &rule::DIFFERENT_RESULTS;
            findings.push(explain.differing(explored.finals));
            if !open.is_empty() {
                let answers = other.answers.clone();
                let why = format!("{searched}: {} end with other contents of memory", rule.rule.name);
                return Ok(self.end(Verdict::Violated, findings, vec![why], Some(answers)));
            }
        }
        let why = format!("all schedules explored: {searched}");
        Ok(self.end(Verdict::Holds, findings, vec![why], None))
    }

    /// Why one run does not speak for all.
    fn because(&self, open: &[Doubt], decisions: &[Decision]) -> Vec<String> {
        let machine = &self.base.machine;
        let doubts = open.iter().map(|doubt| {
            let (first, second) = (machine.line(doubt.first.by.pc), machine.line(doubt.second.by.pc));
            format!("lines {first} and {second} could be swapped")
        });
        let values = decisions.iter().map(|decision| {
            let (source, sink) = (machine.line(decision.source), machine.line(decision.sink));
            if decision.kind == Decides::Order {
                return format!("what comes behind line {source} depends on whose write it sees");
            }
            format!("line {sink} depends on what line {source} gets, which depends on the schedule")
        });
        doubts.chain(values).take(3).collect()
    }

    fn violated(
        self,
        answers: Vec<u32>,
        mut findings: Vec<Finding>,
        doubt: Option<&Doubt>,
        why: &str,
    ) -> Verification<'p> {
        findings.extend(self.doubts(doubt));
        self.end(Verdict::Violated, findings, vec![why.to_string()], Some(answers))
    }

    fn end(
        self,
        verdict: Verdict,
        mut findings: Vec<Finding>,
        grounds: Vec<String>,
        replay: Option<Vec<u32>>,
    ) -> Verification<'p> {
        if verdict == Verdict::Holds {
            findings.extend(self.explain().few_laps());
        }
        findings.sort_by_key(|finding| {
            (std::cmp::Reverse(finding.diagnostic.severity), finding.diagnostic.span.start)
        });
        let (schedules, states) = (self.schedules, self.states);
        let reach = reach(&self.base.machine, self.settings);
        Verification { verdict, grounds, reach, findings, replay, schedules, states, base: self.base }
    }
}

fn bound_words(bound: Bound, bounds: &Bounds) -> String {
    match bound {
        Bound::States => format!("the bound of {} was reached", count(bounds.states, "state")),
        Bound::Steps => "a run took too many instructions".to_string(),
        Bound::Bytes => "the bound of memory was reached".to_string(),
        Bound::Time => {
            let seconds = bounds.time.map_or(0, |time| time.as_secs());
            format!("the bound of {} was reached", count(seconds, "second"))
        }
    }
}

/// What the answer is about.
fn reach(machine: &Machine, settings: &Settings) -> String {
    let ctas = machine.shape.ctas();
    let resident = if machine.shape.resident >= ctas {
        "all resident".to_string()
    } else {
        format!("{} resident at once", machine.shape.resident)
    };
    let lanes = match settings.options.reconverge {
        Reconverge::PostDominator => "lanes that part meet again where all paths lead",
        Reconverge::Never => "lanes that part meet again only where an instruction demands it",
        Reconverge::Random => "lanes that part meet again or not",
    };
    format!(
        "this launch and input: {} of {}, {resident}; {lanes}",
        count(ctas, "CTA"),
        count(machine.shape.threads().into(), "thread")
    )
}
