//! All schedules of a launch, one state at a time.
//!
//! States are told apart by a fingerprint of what decides their future ([`Machine::fingerprint`]) and of what
//! the observer knows. They are searched level by level, so that the first failure has a shortest way to it,
//! and the same one however many threads share the work.
//!
//! Not every order is tried:
//! * Instructions whose place among what others do cannot matter, or only in a race, are executed at once
//!   ([`Sight`](crate::machine::sight::Sight)): races are the observer's business.
//! * Copies land whole. Those that read first do so in one transition, and write in another.
//! * Clusters that cannot see what others do run one after the other.
//! * A wait that gives up does so when it asks: giving up later is asking later.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::graph::Graph;
use super::transition::{Driven, Transition};
use crate::machine::Machine;
use crate::machine::finding::{Finding, Outcome};
use crate::machine::print::Mix;

/// What rides along a run and judges its events.
pub trait Observer: Clone + Send + Sync {
    /// Takes the events that the machine has put down since the last call.
    fn observe(&mut self, machine: &mut Machine);

    /// A number that is the same for the same knowledge: part of a state's identity.
    fn fingerprint(&self) -> u64;

    /// Whether something was found that ends the search.
    fn has_failed(&self) -> bool;
}

/// How much is searched at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// States.
    pub states: u64,
    /// Instructions of warps in one run.
    pub steps_of_a_run: u64,
    /// Bytes of memory, about.
    pub bytes: u64,
    /// Time.
    pub time: Option<Duration>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { states: 1_000_000, steps_of_a_run: 10_000_000, bytes: 4 << 30, time: None }
    }
}

/// A bound that was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// [`Bounds::states`]
    States,
    /// [`Bounds::steps_of_a_run`]
    Steps,
    /// [`Bounds::bytes`]
    Bytes,
    /// [`Bounds::time`]
    Time,
}

/// What a search has seen so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// States.
    pub states: u64,
    /// Transitions between them.
    pub transitions: u64,
    /// States from which no transition was tried yet.
    pub open: u64,
    /// The time that it took.
    pub time: Duration,
}

/// What a search has found.
#[derive(Clone, Debug)]
pub struct Explored<O> {
    /// Whether all was searched, or which bound was reached first. After a failure that is not asked any more.
    pub complete: Result<(), Bound>,
    /// States.
    pub states: u64,
    /// Transitions between them.
    pub transitions: u64,
    /// Runs that were followed to their end.
    pub schedules: u64,
    /// A run that went wrong.
    pub failure: Option<Failure<O>>,
    /// Different contents of global memory after a run that completed.
    pub finals: usize,
    /// A run that completed, and one that left something else in global memory.
    pub differing: Option<[Failure<O>; 2]>,
}

/// A run, and what came of it.
#[derive(Clone, Debug)]
pub struct Failure<O> {
    /// The answers that lead there: a [`Recording`](crate::machine::choice::Recording) holds them.
    pub answers: Vec<u32>,
    /// How it ended; [`Outcome::Limit`]: it never does; none when the observer stopped it.
    pub outcome: Option<Outcome>,
    /// What the observer knows.
    pub observer: O,
    /// What the machine found.
    pub findings: Vec<Finding>,
}

/// A state whose transitions are to be tried.
struct Node<'p, O> {
    number: u32,
    machine: Machine<'p>,
    observer: O,
    bytes: u64,
}

/// What a transition leads to.
enum Reached<'p, O> {
    Known(u32),
    New(u64, Box<Node<'p, O>>),
    /// The run is complete; what global memory holds.
    Completed(u64),
    Failed,
}

struct Search<'s, 'p, O> {
    start: &'s Machine<'p>,
    observer: &'s O,
    bounds: &'s Bounds,
    progress: &'s (dyn Fn(&Progress) + Sync),
    /// Whether clusters cannot see what others do.
    apart: bool,
    graph: Graph,
    began: Instant,
    transitions: u64,
    schedules: u64,
    reached: Option<Bound>,
    failure: Option<Failure<O>>,
    /// The contents of global memory after runs, each with the way to the first.
    finals: Vec<(u64, u32, Transition)>,
    /// Whether a state's transitions were not all made, for want of time.
    cut: AtomicBool,
}

/// So many states are shared out at once.
const CHUNK: usize = 64;

/// Tries all schedules of a launch from `start` on. `jobs` threads share the work.
pub fn explore<'p, O: Observer>(
    start: &Machine<'p>,
    observer: &O,
    bounds: &Bounds,
    jobs: usize,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Explored<O> {
    let mut start = start.clone();
    start.compare_live();
    start.share();
    let apart =
        start.shape.ctas() > start.shape.cluster_size().into() && !start.code.clusters_see_each_other();
    let mut search = Search {
        start: &start,
        observer,
        bounds,
        progress,
        apart,
        graph: Graph::default(),
        began: Instant::now(),
        transitions: 0,
        schedules: 0,
        reached: None,
        failure: None,
        finals: Vec::new(),
        cut: AtomicBool::new(false),
    };
    match rayon::ThreadPoolBuilder::new().num_threads(jobs).build() {
        Ok(pool) if jobs > 1 => pool.install(|| search.run(true)),
        _ => search.run(false),
    }
    search.explored()
}

impl<'p, O: Observer> Search<'_, 'p, O> {
    fn run(&mut self, parallel: bool) {
        let mut level: Vec<Node<'p, O>> = self.first().into_iter().collect();
        loop {
            while !level.is_empty() && self.goes_on() {
                level = self.next_level(level, parallel);
            }
            if self.cut.load(Ordering::Relaxed) {
                self.reached.get_or_insert(Bound::Time);
            }
            if !self.goes_on() || self.reached.is_some() {
                return;
            }
            // All states are known. Are there some from which no run ends?
            let Some(stuck) = self.graph.stuck() else { return };
            level = self.unstick(stuck).into_iter().collect();
        }
    }

    fn goes_on(&self) -> bool {
        self.failure.is_none() && matches!(self.reached, None | Some(Bound::Steps))
    }

    /// The state in which everybody has come to the first instruction whose place matters.
    fn first(&mut self) -> Option<Node<'p, O>> {
        let (mut machine, mut observer) = (self.start.clone(), self.observer.clone());
        Driven::new(&mut machine, &mut observer).make(Transition::Start);
        let reached = self.arrive(machine, observer);
        let mut level = Vec::new();
        // State 0 leads to itself.
        self.merge(0, vec![(Transition::Start, reached)], &mut level);
        level.pop()
    }

    fn next_level(&mut self, level: Vec<Node<'p, O>>, parallel: bool) -> Vec<Node<'p, O>> {
        let mut next: Vec<Node<'p, O>> = Vec::new();
        let mut bytes: u64 = level.iter().map(|node| node.bytes).sum();
        let mut open = level.len();
        let mut level = level.into_iter();
        loop {
            let chunk: Vec<Node<'p, O>> = level.by_ref().take(CHUNK).collect();
            if chunk.is_empty() || !self.within_bounds(bytes) {
                return next;
            }
            open -= chunk.len();
            let expand = |node: Node<'p, O>| (node.number, node.bytes, self.expand(&node));
            let found: Vec<_> = match parallel && chunk.len() > 1 {
                true => chunk.into_par_iter().map(expand).collect(),
                false => chunk.into_iter().map(expand).collect(),
            };
            for (number, freed, successors) in found {
                let before = next.len();
                self.merge(number, successors, &mut next);
                bytes += next[before..].iter().map(|node| node.bytes).sum::<u64>();
                bytes -= freed;
                if self.failure.is_some() {
                    return next;
                }
            }
            (self.progress)(&Progress {
                states: self.graph.len() as u64,
                transitions: self.transitions,
                open: (open + next.len()) as u64,
                time: self.began.elapsed(),
            });
        }
    }

    fn is_late(&self) -> bool {
        self.bounds.time.is_some_and(|time| self.began.elapsed() >= time)
    }

    /// Whether no bound is reached; notes which is.
    fn within_bounds(&mut self, open_bytes: u64) -> bool {
        let bound = if self.graph.len() as u64 >= self.bounds.states {
            Bound::States
        } else if open_bytes + self.graph.bytes() >= self.bounds.bytes {
            Bound::Bytes
        } else if self.is_late() {
            Bound::Time
        } else {
            return true;
        };
        self.reached = Some(bound);
        false
    }

    /// Makes every transition of a state.
    fn expand(&self, node: &Node<'p, O>) -> Vec<(Transition, Reached<'p, O>)> {
        let mut found = Vec::new();
        let mut open = Driven::<O>::possible(&node.machine, self.apart);
        open.reverse();
        while let Some(transition) = open.pop() {
            if self.is_late() {
                self.cut.store(true, Ordering::Relaxed);
                return found;
            }
            let (mut machine, mut observer) = (node.machine.clone(), node.observer.clone());
            let mut driven = Driven::new(&mut machine, &mut observer);
            driven.make(transition);
            let asked = driven.recorder.inner().asked;
            found.push((transition, self.arrive(machine, observer)));
            if let Transition::Turn { warp, group, other: false } = transition
                && asked
            {
                open.push(Transition::Turn { warp, group, other: true });
            }
        }
        found
    }

    /// What a machine has come to.
    fn arrive(&self, mut machine: Machine<'p>, observer: O) -> Reached<'p, O> {
        if observer.has_failed() {
            return Reached::Failed;
        }
        match machine.outcome() {
            None => {}
            Some(Outcome::Completed) => return Reached::Completed(machine.memory_fingerprint()),
            Some(_) => return Reached::Failed,
        }
        let bytes = machine.share() as u64;
        let print = both(machine.fingerprint(), observer.fingerprint());
        match self.graph.find(print) {
            Some(number) => Reached::Known(number),
            None => Reached::New(print, Box::new(Node { number: 0, machine, observer, bytes })),
        }
    }

    /// Takes in what the transitions of a state lead to.
    fn merge(&mut self, from: u32, found: Vec<(Transition, Reached<'p, O>)>, next: &mut Vec<Node<'p, O>>) {
        for (transition, reached) in found {
            self.transitions += 1;
            match reached {
                Reached::Known(number) => self.graph.link(from, number),
                Reached::New(print, mut node) => match self.graph.find(print) {
                    // Another state of this chunk was faster.
                    Some(number) => self.graph.link(from, number),
                    None => {
                        node.number = self.graph.add(print, from, transition);
                        self.graph.link(from, node.number);
                        if node.machine.statistics.steps > self.bounds.steps_of_a_run {
                            self.reached.get_or_insert(Bound::Steps);
                        } else {
                            next.push(*node);
                        }
                    }
                },
                Reached::Completed(memory) => {
                    self.schedules += 1;
                    self.graph.ends(from);
                    if self.finals.iter().all(|(other, ..)| *other != memory) {
                        self.finals.push((memory, from, transition));
                    }
                }
                Reached::Failed => {
                    self.schedules += 1;
                    self.failure = Some(self.along(from, transition, false));
                    return;
                }
            }
        }
    }

    /// The run that leads to a state and on by a transition; with `never_ends`, that is what it does.
    fn along(&self, from: u32, transition: Transition, never_ends: bool) -> Failure<O> {
        let (mut machine, mut observer) = (self.start.clone(), self.observer.clone());
        let mut driven = Driven::new(&mut machine, &mut observer);
        self.graph.path(from).into_iter().for_each(|transition| driven.make(transition));
        driven.make(transition);
        let answers = driven.recorder.answers;
        let outcome = machine.outcome().or(never_ends.then_some(Outcome::Limit));
        Failure { answers, outcome, observer, findings: machine.findings }
    }

    /// From a state from which no run was seen to end, goes on as the default strategy does: the machine may
    /// notice that nothing will ever happen, or let lanes go on that wait for others.
    fn unstick(&mut self, state: u32) -> Option<Node<'p, O>> {
        let (mut machine, mut observer) = (self.start.clone(), self.observer.clone());
        let mut driven = Driven::new(&mut machine, &mut observer);
        self.graph.path(state).into_iter().for_each(|transition| driven.make(transition));
        for steps in 1..=MOST_STEPS {
            driven.step();
            if !driven.is_over() && steps % LOOK != 0 {
                continue;
            }
            let (mut there, mut observer) = (driven.machine.clone(), driven.observer.clone());
            Driven::new(&mut there, &mut observer).make(Transition::Start);
            let reached = self.arrive(there, observer);
            if !matches!(reached, Reached::Known(_)) {
                let mut next = Vec::new();
                self.merge(state, vec![(Transition::Default(steps), reached)], &mut next);
                return next.pop();
            }
        }
        self.failure = Some(self.along(state, Transition::Default(MOST_STEPS), true));
        None
    }

    fn explored(mut self) -> Explored<O> {
        let differing = match self.finals[..] {
            [(_, one, by), (_, other, with), ..] => {
                Some([self.along(one, by, false), self.along(other, with, false)])
            }
            _ => None,
        };
        Explored {
            complete: self.reached.map_or(Ok(()), Err),
            states: self.graph.len() as u64,
            transitions: self.transitions,
            schedules: self.schedules,
            failure: self.failure.take(),
            finals: self.finals.len(),
            differing,
        }
    }
}

/// A run that seems not to end is followed for so many steps, and looked at after each few.
const MOST_STEPS: u32 = 400_000;
const LOOK: u32 = 64;

/// The fingerprints of a machine and of its observer as one.
fn both(machine: u64, observer: u64) -> u64 {
    let mut mix = Mix::default();
    mix.add(machine);
    mix.add(observer);
    std::hash::Hasher::finish(&mix)
}
