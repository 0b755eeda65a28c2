//! One run of a launch, watched.

use super::clock::Time;
use super::explain::Explain;
use super::watch::Watch;
use crate::diagnostic::Severity;
use crate::launch::Launch;
use crate::machine::choice::{Choose, Landing, Question, Recorder, Schedule, Strategy};
use crate::machine::finding::{Finding, Outcome};
use crate::machine::{LaunchError, Machine, Options};
use crate::program::Program;

/// A watched run that has ended.
pub struct Trial<'p> {
    /// The machine at its end.
    pub machine: Machine<'p>,
    /// What was seen.
    pub watch: Watch,
    /// How it ended.
    pub outcome: Outcome,
}

/// Runs a launch by a schedule, and watches it.
///
/// # Errors
/// The launch is impossible.
pub fn run<'p>(
    program: &'p Program,
    launch: &Launch,
    options: Options,
    mut choose: impl Choose,
    progress: &mut dyn FnMut(&Machine),
) -> Result<Trial<'p>, LaunchError> {
    let options = Options { events: true, ..options };
    let mut machine = Machine::new(program, launch, options)?;
    let mut watch = Watch::new();
    let outcome = machine.run_watched(&mut choose, &mut |machine| watch.observe(machine), progress);
    Ok(Trial::ended(machine, watch, outcome, launch))
}

/// The answers of a schedule. Few runs go wrong: the answers of others need not be kept.
///
/// # Errors
/// The launch is impossible.
pub fn answers(
    program: &Program,
    launch: &Launch,
    options: Options,
    choose: impl Choose,
) -> Result<Vec<u32>, LaunchError> {
    let mut recorder = Recorder::new(choose);
    Machine::new(program, launch, options)?.run(&mut recorder, &mut |_| {});
    Ok(recorder.answers)
}

impl<'p> Trial<'p> {
    /// A run has ended like this.
    fn ended(mut machine: Machine<'p>, mut watch: Watch, outcome: Outcome, launch: &Launch) -> Trial<'p> {
        watch.end();
        if outcome == Outcome::Completed {
            machine.compare(launch);
        }
        Trial { machine, watch, outcome }
    }

    /// Puts what was seen into words.
    pub fn explain(&self, strict: bool) -> Explain<'_, 'p> {
        Explain { machine: &self.machine, watch: &self.watch, strict }
    }

    /// Findings of the machine and of those who watched it, races first.
    pub fn findings(&self, strict: bool) -> Vec<Finding> {
        let explain = self.explain(strict);
        explain.races().into_iter().chain(self.machine.findings.iter().cloned()).collect()
    }

    /// Whether something of severity error was found.
    pub fn has_failed(&self, strict: bool) -> bool {
        self.failure(strict).is_some()
    }

    /// How it went wrong: the rule of the first error, or the outcome.
    pub fn failure(&self, strict: bool) -> Option<&'static str> {
        let findings = self.findings(strict);
        let error = findings.iter().find(|finding| finding.diagnostic.severity == Severity::Error);
        let outcome = matches!(self.outcome, Outcome::Violation | Outcome::Deadlock | Outcome::Trap);
        error.map(|finding| finding.rule.rule.name).or(outcome.then(|| self.outcome.as_str()))
    }
}

/// Holds warps back before one of their events for as long as anybody else can go on.
pub struct HoldBack {
    /// Warps, and the event that they are not to come to.
    pub held: Vec<(u32, Time)>,
    /// How many events each warp has had.
    pub times: Vec<Time>,
    rest: Strategy,
}

impl HoldBack {
    /// Holds these warps back; copies land as `landing` says.
    pub fn new(held: Vec<(u32, Time)>, landing: Landing) -> HoldBack {
        HoldBack { held, times: Vec::new(), rest: Strategy::new(Schedule::RoundRobin, landing, 0) }
    }

    fn is_held(&self, warp: usize) -> bool {
        let next = self.times.get(warp).copied().unwrap_or(0) + 1;
        self.held.iter().any(|&(held, time)| held as usize == warp && next >= time)
    }
}

impl Choose for HoldBack {
    fn choose(&mut self, question: Question, options: u32) -> u32 {
        self.rest.choose(question, options)
    }

    fn decide(&mut self, machine: &Machine, question: Question, options: u32) -> u32 {
        match question {
            Question::Copy { or_none: true, late } => {
                let idle = machine.ready_warps().all(|warp| self.is_held(warp));
                if idle || late { 1 } else { self.choose(question, options) }
            }
            Question::Warp { next } => {
                let mut free: Vec<usize> = Vec::new();
                for (rank, warp) in machine.ready_warps().enumerate() {
                    if !self.is_held(warp) {
                        free.push(rank);
                    }
                }
                match free.iter().find(|&&rank| rank >= next as usize).or(free.first()) {
                    Some(&rank) => rank as u32,
                    None => {
                        // Nobody else can go on.
                        self.held.clear();
                        next
                    }
                }
            }
            _ => self.choose(question, options),
        }
    }
}

/// Runs a launch with warps held back; the run, and the answers of its schedule.
///
/// # Errors
/// The launch is impossible.
pub fn run_held<'p>(
    program: &'p Program,
    launch: &Launch,
    options: Options,
    held: HoldBack,
) -> Result<(Trial<'p>, Vec<u32>), LaunchError> {
    let options = Options { events: true, ..options };
    let mut machine = Machine::new(program, launch, options)?;
    let mut watch = Watch::new();
    let mut recorder = Recorder::new(held);
    while machine.outcome().is_none() {
        recorder.inner.times.clear();
        recorder.inner.times.extend_from_slice(watch.times());
        machine.step(&mut recorder);
        watch.observe(&mut machine);
    }
    let outcome = machine.run(&mut recorder, &mut |_| {});
    Ok((Trial::ended(machine, watch, outcome, launch), recorder.answers))
}
