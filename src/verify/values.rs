//! Values that another schedule could change, and what they decide (S5, S6).

use rustc_hash::FxHashSet;

use super::depend::{Depends, Kind, Question, Sink, Why, writes_global};
use super::poll::{Poll, Polls};
use super::watch::Watch;
use crate::machine::Machine;
use crate::machine::code::Pc;

/// What decides something although it depends on the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Where the value comes from.
    pub source: Pc,
    /// Why it depends on the schedule.
    pub cause: Cause,
    /// What it decides.
    pub sink: Pc,
    /// How.
    pub kind: Decides,
}

/// Why a value depends on the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A strong load, or an atomic's old value, with a write that is in no order with it.
    Unordered,
    /// The answer of a poll that does more than ask again.
    Poll,
    /// How often a wait has asked.
    Tries,
    /// Strong writes in no order.
    Writes,
    /// Something else, by itself.
    Itself(Why),
}

impl Cause {
    /// Whether the search tries all values.
    pub fn is_explored(self) -> bool {
        match self {
            Cause::Unordered | Cause::Poll | Cause::Tries | Cause::Writes => true,
            Cause::Itself(why) => match why {
                Why::Atomic | Why::Pending | Why::Cancel => true,
                Why::Clock | Why::Lanes | Why::Place | Why::Allocation => false,
            },
        }
    }
}

/// What a value decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decides {
    /// As found in the code.
    Sink(Kind),
    /// What is in memory in the end.
    Memory,
    /// What is ordered behind what.
    Order,
}

/// The first decision for each value of the run that depends on the schedule.
pub fn decisions(machine: &Machine, watch: &Watch) -> Vec<Decision> {
    let code = &machine.code;
    let polls = Polls::new(code);
    let depends = Depends::new(code);
    let mut causes: Vec<(Pc, Cause)> = Vec::new();
    let mut ignored: FxHashSet<Pc> = FxHashSet::default();
    let mut found = Vec::new();
    for (pc, why) in depends.static_sources() {
        // Atomics count where the run shows them unordered.
        if why != Why::Atomic {
            causes.push((pc, Cause::Itself(why)));
        }
    }
    let waits: Vec<Pc> = Polls::waits(code).collect();
    for pc in waits {
        match polls.at(pc) {
            Poll::Spins { region, residue } => {
                ignored.extend(region);
                causes.extend(residue.into_iter().map(|pc| (pc, Cause::Tries)));
            }
            Poll::Answers { .. } if watch.phases.unforced.contains(&pc) => causes.push((pc, Cause::Poll)),
            Poll::Answers { .. } => {}
        }
    }
    let mut unordered: Vec<(Pc, Pc, bool)> = watch.races.unordered.iter().copied().collect();
    unordered.sort_unstable();
    for (first, second, same_result) in unordered {
        if !same_result {
            let kind = Decides::Memory;
            found.push(Decision { source: first, cause: Cause::Writes, sink: second, kind });
        }
        for pc in [first, second].into_iter().filter(|&pc| reads(machine, pc)) {
            match polls.at(pc) {
                // A flag that is written once ends the spin with one value.
                Poll::Spins { region, residue } if watch.is_written_once(pc) => {
                    ignored.extend(region);
                    causes.extend(residue.into_iter().map(|pc| (pc, Cause::Tries)));
                }
                _ => {
                    if watch.lucky.contains(&pc) {
                        let kind = Decides::Order;
                        found.push(Decision { source: pc, cause: Cause::Unordered, sink: pc, kind });
                    }
                    causes.push((pc, Cause::Unordered));
                }
            }
        }
    }
    causes.sort_unstable_by_key(|(pc, _)| *pc);
    causes.dedup_by_key(|(pc, _)| *pc);
    let sources: Vec<Pc> = causes.iter().map(|(pc, _)| *pc).collect();
    let mut pairs: Vec<(Pc, Pc)> = watch.flows.iter().copied().collect();
    pairs.sort_unstable();
    let is_output = |pc| writes_global(code, pc);
    let question = Question { sources: &sources, pairs: &pairs, ignored: &ignored, is_output: &is_output };
    found.extend(depends.sinks(&question).into_iter().map(|Sink { source, sink, kind }| {
        let cause = causes.iter().find(|(pc, _)| *pc == source).map_or(Cause::Unordered, |(_, cause)| *cause);
        Decision { source, cause, sink, kind: Decides::Sink(kind) }
    }));
    found
}

/// Whether an instruction reads memory into registers.
fn reads(machine: &Machine, pc: Pc) -> bool {
    use crate::machine::code::{AccessKind, NONE, Op};
    match &machine.code.insts[pc as usize].op {
        Op::Memory(access) => match access.kind {
            AccessKind::Load => true,
            AccessKind::Update(_) => access.to.iter().any(|to| to.column != NONE),
            AccessKind::Store | AccessKind::Fill => false,
        },
        _ => false,
    }
}
