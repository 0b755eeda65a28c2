//! Judges whether a kernel is right under every schedule, from what one run of it shows.
//!
//! A [`watch::Watch`] rides along a run and keeps, for each lane, what it knows: by causality for races
//! (`causality`, `shadow`, `race`), and by what cannot happen before what for phases of barriers (`phase`).
//! Where a condition fails, the schedule that it names is tried ([`trial`]); where that shows nothing, all
//! schedules are explored within bounds.

pub mod agent;
pub mod causality;
pub mod clock;
pub mod depend;
pub mod explain;
pub mod explore;
mod graph;
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

use crate::diagnostic::Severity;
use crate::launch::Launch;
use crate::machine::choice::{Landing, Schedule, Strategy};
use crate::machine::finding::{Finding, Outcome};
use crate::machine::{LaunchError, Machine, Options};
use crate::program::Program;
use explain::Explain;
use phase::{Condition, Doubt};
use trial::{HoldBack, Trial};
use watch::Scrutiny;

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
    /// Why, and how far it reaches, a sentence each.
    pub grounds: Vec<String>,
    /// What was found, errors first.
    pub findings: Vec<Finding>,
    /// The schedule that goes wrong.
    pub replay: Option<Vec<u32>>,
    /// The first run.
    pub base: Trial<'p>,
}

/// Verifies a launch.
///
/// # Errors
/// The launch is impossible.
pub fn verify<'p>(
    program: &'p Program,
    launch: &Launch,
    settings: &Settings,
    progress: &mut dyn FnMut(&Machine),
) -> Result<Verification<'p>, LaunchError> {
    let strategy = Strategy::new(Schedule::RoundRobin, Landing::Lazy, 0);
    let base = trial::run(program, launch, settings.options, Scrutiny { phases: true }, strategy, progress)?;
    let mut case = Case { program, launch, settings, base, tried: 0 };
    let mut findings = case.base.findings(settings.strict);
    if case.base.has_failed(settings.strict) {
        let answers = case.base.answers.clone();
        findings.extend(case.doubts(|_| true));
        return Ok(case.violated(findings, answers, "the first run that was tried goes wrong"));
    }
    if let Outcome::Limit | Outcome::Unsupported = case.base.outcome {
        let why = match case.base.outcome {
            Outcome::Unsupported => "the run came to an instruction that cannot be executed here".to_string(),
            _ => case.base.machine.limit().unwrap_or_default(),
        };
        return Ok(case.inconclusive(findings, why));
    }
    let open: Vec<Doubt> = case.open_doubts();
    for doubt in &open {
        if let Some((failed, found)) = case.swap(doubt)? {
            findings = found;
            findings.extend(case.doubts(|other| other == doubt));
            return Ok(case.violated(findings, failed, "a schedule that swaps two events goes wrong"));
        }
    }
    findings.extend(case.doubts(|_| true));
    if !open.is_empty() {
        return Ok(case.inconclusive(findings, "conditions of stability fail".into()));
    }
    Ok(case.holds(findings, "every phase, wait and access of the run is in an order that no schedule can change".into()))
}

/// A launch in hand.
struct Case<'a, 'p> {
    program: &'p Program,
    launch: &'a Launch,
    settings: &'a Settings,
    base: Trial<'p>,
    /// Schedules that were tried besides the first.
    tried: u32,
}

impl<'p> Case<'_, 'p> {
    /// The conditions that fail even as long as lanes stay together.
    fn open_doubts(&self) -> Vec<Doubt> {
        let doubts = self.base.watch.phases.doubts.iter().copied();
        doubts.filter(|doubt| !doubt.only_lanes && !doubt.only_relaxed).collect()
    }

    fn doubts(&self, wanted: impl Fn(&Doubt) -> bool) -> Vec<Finding> {
        let (machine, watch) = (&self.base.machine, &self.base.watch);
        let explain = Explain { machine, watch, strict: self.settings.strict };
        let doubts = self.base.watch.phases.doubts.iter().filter(|doubt| wanted(doubt));
        doubts.map(|doubt| explain.doubt(doubt)).collect()
    }

    /// Tries the schedule that a condition names: its first event held back. The answers and the findings, if
    /// that goes wrong.
    fn swap(&mut self, doubt: &Doubt) -> Result<Option<(Vec<u32>, Vec<Finding>)>, LaunchError> {
        let held = (doubt.first.by.warp, doubt.first.time);
        let landings: &[Landing] = match doubt.condition {
            Condition::EarlyBytes => &[Landing::Eager, Landing::Lazy],
            _ => &[Landing::Lazy, Landing::Eager],
        };
        for &landing in landings {
            self.tried += 1;
            let hold = HoldBack::new(vec![held], landing);
            let scrutiny = Scrutiny { phases: true };
            let trial = trial::run_held(self.program, self.launch, self.settings.options, scrutiny, hold)?;
            if trial.has_failed(self.settings.strict) {
                let findings = trial.findings(self.settings.strict);
                return Ok(Some((trial.answers, findings)));
            }
        }
        Ok(None)
    }

    fn violated(self, findings: Vec<Finding>, answers: Vec<u32>, why: &str) -> Verification<'p> {
        self.end(Verdict::Violated, findings, vec![why.to_string()], Some(answers))
    }

    fn inconclusive(self, findings: Vec<Finding>, why: String) -> Verification<'p> {
        self.end(Verdict::Inconclusive, findings, vec![why], None)
    }

    fn holds(self, findings: Vec<Finding>, why: String) -> Verification<'p> {
        self.end(Verdict::Holds, findings, vec![why], None)
    }

    fn end(
        self,
        verdict: Verdict,
        mut findings: Vec<Finding>,
        grounds: Vec<String>,
        replay: Option<Vec<u32>>,
    ) -> Verification<'p> {
        findings.sort_by_key(|finding| {
            (finding.diagnostic.severity != Severity::Error, finding.diagnostic.span.start)
        });
        Verification { verdict, grounds, findings, replay, base: self.base }
    }
}
