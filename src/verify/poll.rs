//! Which polls only spin: those whose answer no decides nothing but to ask again.
//!
//! A lane that is told no must do nothing that others can see until it asks the same again; and a lane that
//! is told yes must go on alike, however often it has asked. Registers that tell the one from the other
//! afterwards are the poll's *residue*.
//!
//! By induction over the number of noes one round is enough: the state in which a lane asks is left open.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::symbol::{Node, State, Symbols, Value};
use super::uses::{self, Reg};
use super::walk::{Explored, Fork, Going, TooMany, Ways};
use crate::machine::code::{Access, AccessKind, Barrier, BarrierOp, Code, Op, Pc};

/// A spin comes back to its poll in so many ways at most.
const MOST_WAYS: usize = 64;

/// What the answer of a poll decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Only whether to ask again.
    Spins {
        /// The instructions of a round: the polls, and what happens between them. Sorted.
        region: Vec<Pc>,
        /// Those that write what is still read when the spin is over, and tells how often it asked. Sorted.
        residue: Vec<Pc>,
    },
    /// More.
    Answers {
        /// What.
        why: Why,
        /// Where.
        at: Pc,
    },
}

/// What else the answer of a poll decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Without a yes a lane gets to an instruction that others can see, or leaves the routine.
    GoesOn,
    /// A yes leads elsewhere when it comes later.
    Differs,
    /// How often a lane asks, or when it does, decides whether it asks again.
    Counts,
    /// A load that no loop of its own asks again.
    Once,
    /// There are too many ways to tell.
    TooMany,
    /// The instruction is no poll.
    NoPoll,
}

/// Finds out about the polls of a code.
pub struct Polls<'c> {
    ways: Ways<'c>,
}

type Judged<T = ()> = Result<T, (Why, Pc)>;

/// What is known of a spin so far.
#[derive(Default)]
struct Spin {
    region: BTreeSet<Pc>,
    residue: BTreeSet<Pc>,
}

/// A round of a load that is asked again.
struct Round {
    pc: Pc,
    symbols: Symbols,
    /// What registers hold before it.
    start: State,
    place: Option<(Value, i64)>,
    /// So many values unlike any other there were before it.
    before: u32,
    explored: Explored,
    /// The instructions that lead to the next load.
    inside: FxHashSet<Pc>,
}

impl Spin {
    fn poll(judged: Judged<Spin>) -> Poll {
        match judged {
            Ok(Spin { region, residue }) => {
                Poll::Spins { region: region.into_iter().collect(), residue: residue.into_iter().collect() }
            }
            Err((why, at)) => Poll::Answers { why, at },
        }
    }
}

impl<'c> Polls<'c> {
    /// Those of `code`.
    pub fn new(code: &'c Code) -> Polls<'c> {
        Polls { ways: Ways::new(code) }
    }

    /// The poll at `pc`: a wait for a barrier's phase, or a load that is used as a flag.
    pub fn at(&self, pc: Pc) -> Poll {
        let code = self.ways.code;
        let judged = if wait_at(code, pc).is_some() {
            self.wait(pc)
        } else if load_at(code, pc).is_some() {
            self.load(pc)
        } else {
            Err((Why::NoPoll, pc))
        };
        Spin::poll(judged)
    }

    /// The waits for phases of barriers.
    pub fn waits(code: &Code) -> impl Iterator<Item = Pc> {
        (0..code.insts.len() as Pc).filter(|&pc| wait_at(code, pc).is_some())
    }

    fn wait(&self, pc: Pc) -> Judged<Spin> {
        let mut spin = Spin::default();
        let mut polls = vec![pc];
        let mut next = 0;
        while let Some(&poll) = polls.get(next) {
            next += 1;
            for back in self.round(poll, &mut spin)? {
                if !polls.contains(&back) {
                    polls.push(back);
                }
            }
        }
        spin.region.extend(polls);
        Ok(spin)
    }

    /// One round of a wait that is told no: the polls to which it leads.
    fn round(&self, poll: Pc, spin: &mut Spin) -> Judged<Vec<Pc>> {
        let mut symbols = Symbols::default();
        let start = self.ways.start(&mut symbols, poll);
        let mut told_no = start.clone();
        self.answer(&mut symbols, &mut told_no, poll, false);
        let mut going = |symbols: &mut Symbols, state: &mut State, pc: Pc| {
            if self.asks_the_same(symbols, (poll, &start), (pc, state)) { Going::Stop } else { Going::On }
        };
        let explored = self.ways.explore(&mut symbols, told_no, poll + 1, true, &mut going);
        let explored = explored.map_err(|TooMany| (Why::TooMany, poll))?;
        if let Some(&end) = explored.ends.first() {
            return Err((Why::GoesOn, end));
        }
        if explored.goals.len() > MOST_WAYS {
            return Err((Why::TooMany, poll));
        }
        spin.region.extend(explored.steps.iter().map(|&(from, _)| from));
        let at_once = self.told_yes(&mut symbols, start, poll);
        let mut polls = Vec::new();
        for (other, state) in explored.goals {
            let later = self.told_yes(&mut symbols, state, other);
            self.meet(&mut symbols, &at_once, &later, spin).ok_or((Why::Differs, last(&at_once, poll)))?;
            polls.push(other);
        }
        Ok(polls)
    }

    /// The way behind a poll that says yes.
    fn told_yes(&self, symbols: &mut Symbols, mut state: State, poll: Pc) -> Vec<(Pc, State)> {
        self.answer(symbols, &mut state, poll, true);
        self.ways.follow(symbols, state, poll + 1)
    }

    /// Lets a wait give its answer. A report says the same whenever it comes with a yes.
    fn answer(&self, symbols: &mut Symbols, state: &mut State, pc: Pc, yes: bool) {
        let Some(barrier) = wait_at(self.ways.code, pc) else { return };
        let told = Reg::Predicate(barrier.p[0]);
        symbols.find(self.ways.code, state, pc, |index, register| match register == told {
            true => Some(Node::Constant(yes.into())),
            false => yes.then_some(Node::Found(1, index as u32)),
        });
    }

    /// Whether two polls ask for the same phase of the same barrier.
    fn asks_the_same(&self, symbols: &mut Symbols, one: (Pc, &State), other: (Pc, &State)) -> bool {
        let code = self.ways.code;
        let (Some(a), Some(b)) = (wait_at(code, one.0), wait_at(code, other.0)) else { return false };
        let same_kind = asks_by(a) == asks_by(b) && a.address.space == b.address.space;
        let mut value = |barrier: &Barrier, state: &State| {
            let value = barrier.value.map(|value| symbols.source(code, state, value));
            (symbols.place(code, state, &barrier.address), value)
        };
        same_kind && value(a, one.1) == value(b, other.1)
    }

    /// Where two ways meet: notes what differs there and is read. `None`: they do not.
    fn meet(
        &self,
        symbols: &mut Symbols,
        one: &[(Pc, State)],
        other: &[(Pc, State)],
        spin: &mut Spin,
    ) -> Option<()> {
        let (pc, a, b) = one.iter().find_map(|(pc, a)| {
            let (_, b) = other.iter().find(|(at, _)| at == pc)?;
            Some((*pc, a, b))
        })?;
        self.compare(symbols, pc, a, b, spin);
        Some(())
    }

    /// Notes who wrote what differs and is read from `pc` on.
    fn compare(&self, symbols: &mut Symbols, pc: Pc, a: &State, b: &State, spin: &mut Spin) {
        let registers: BTreeSet<Reg> = a.known().chain(b.known()).collect();
        for register in registers {
            let differs = symbols.held(a, register) != symbols.held(b, register);
            if differs && self.ways.is_live(pc, register) {
                spin.residue.extend(a.writer(register));
                spin.residue.extend(b.writer(register));
            }
        }
    }

    /// A load that a loop asks again until its value changes.
    fn load(&self, pc: Pc) -> Judged<Spin> {
        let mut loads = vec![self.first_round(pc)?];
        let mut next = 0;
        while let Some(round) = loads.get(next) {
            next += 1;
            let found: BTreeSet<Pc> = round.explored.goals.iter().map(|&(pc, _)| pc).collect();
            for pc in found {
                if !loads.iter().any(|round| round.pc == pc) {
                    loads.push(self.first_round(pc)?);
                }
            }
        }
        let inside: FxHashSet<Pc> = loads.iter().flat_map(|round| round.inside.iter().copied()).collect();
        let mut spin = Spin::default();
        for round in &mut loads {
            self.leaves_alike(round, &inside, &mut spin)?;
        }
        spin.region.extend(inside);
        Ok(spin)
    }

    /// All ways from a load to the next one of the same place.
    fn first_round(&self, pc: Pc) -> Judged<Round> {
        let mut symbols = Symbols::default();
        let start = self.ways.start(&mut symbols, pc);
        let place = self.place(&mut symbols, &start, pc);
        let before = symbols.freshest();
        let mut state = start.clone();
        find(self.ways.code, &mut symbols, &mut state, pc, 0);
        let mut going = |symbols: &mut Symbols, state: &mut State, at: Pc| {
            if self.loads_from(symbols, state, at, pc, place) { Going::Stop } else { Going::On }
        };
        let explored = self.ways.explore(&mut symbols, state, pc + 1, false, &mut going);
        let explored = explored.map_err(|TooMany| (Why::TooMany, pc))?;
        let inside = leads_to(&explored, pc);
        if explored.goals.is_empty() {
            return Err((Why::Once, pc));
        }
        if explored.goals.len() > MOST_WAYS {
            return Err((Why::TooMany, pc));
        }
        match explored.ends.iter().find(|end| inside.contains(end)) {
            // It may look at another place the next time.
            Some(&end) if end == pc => Err((Why::Counts, pc)),
            Some(&end) => Err((Why::GoesOn, end)),
            None => Ok(Round { pc, symbols, start, place, before, explored, inside }),
        }
    }

    /// The place that the load at `pc` reads.
    fn place(&self, symbols: &mut Symbols, state: &State, pc: Pc) -> Option<(Value, i64)> {
        let access = load_at(self.ways.code, pc)?;
        Some(symbols.place(self.ways.code, state, &access.address))
    }

    /// Whether the instruction at `at` loads what the one at `pc` loads, from that place.
    fn loads_from(
        &self,
        symbols: &mut Symbols,
        state: &State,
        at: Pc,
        pc: Pc,
        place: Option<(Value, i64)>,
    ) -> bool {
        let code = self.ways.code;
        let (Some(a), Some(b)) = (load_at(code, at), load_at(code, pc)) else { return false };
        let shape = |access: &Access| (access.address.space, access.bytes, access.to.len());
        shape(a) == shape(b) && self.place(symbols, state, at) == place
    }

    /// A value that ends the spin must end it alike, whether it is found at once or a round later.
    fn leaves_alike(&self, round: &mut Round, inside: &FxHashSet<Pc>, spin: &mut Spin) -> Judged {
        let Round { pc, symbols, start, place, before, explored, .. } = round;
        for fork in exits(explored, inside) {
            if self.counts(symbols, *before, explored, fork) {
                return Err((Why::Counts, fork.from));
            }
        }
        let at_once = self.keeps_finding(symbols, start.clone(), *pc, *place, None)?;
        for exit in exits(&at_once, inside) {
            for (other, state) in &explored.goals {
                let mut state = state.clone();
                let known = exit.values.iter().filter_map(|&(value, holds)| Some((value, holds?)));
                known.for_each(|(value, holds)| symbols.assume(&mut state, value, holds));
                let to = self.ways.settled(exit.to);
                let later = self.keeps_finding(symbols, state, *other, *place, Some(to))?;
                if !later.ends.is_empty() || later.goals.iter().any(|&(at, _)| at != to) {
                    return Err((Why::Differs, exit.from));
                }
                later
                    .goals
                    .iter()
                    .for_each(|(_, state)| self.compare(symbols, exit.to, &exit.state, state, spin));
            }
        }
        Ok(())
    }

    /// All ways behind a load at whose place the same is found from now on: up to `until`, or up to a load that
    /// has been there before.
    fn keeps_finding(
        &self,
        symbols: &mut Symbols,
        mut state: State,
        pc: Pc,
        place: Option<(Value, i64)>,
        until: Option<Pc>,
    ) -> Judged<Explored> {
        let code = self.ways.code;
        find(code, symbols, &mut state, pc, 1);
        let mut going = |symbols: &mut Symbols, state: &mut State, at: Pc| {
            if until == Some(at) {
                return Going::Stop;
            }
            if !self.loads_from(symbols, state, at, pc, place) {
                return Going::On;
            }
            // The load that was the first, or whose result is there: nothing new would come of it.
            let found = |index: usize| Node::Found(1, index as u32);
            let again = at == pc
                || uses::uses(code, at).writes.iter().enumerate().all(|(index, &register)| {
                    let held = symbols.held(state, register);
                    state.writer(register) == Some(at) && symbols.node(held) == found(index)
                });
            if again {
                return Going::Stop;
            }
            find(code, symbols, state, at, 1);
            Going::Done
        };
        let explored = self.ways.explore(symbols, state, pc + 1, until.is_some(), &mut going);
        explored.map_err(|TooMany| (Why::TooMany, pc))
    }

    /// Whether a way out of the loop depends on more than the value and what the loop leaves alone.
    fn counts(&self, symbols: &mut Symbols, before: u32, explored: &Explored, fork: &Fork) -> bool {
        let mut kept = Vec::new();
        let mut varies = |node: Node| {
            kept.extend(if let Node::Start(register) = node { Some(register) } else { None });
            matches!(node, Node::Fresh(number) if number > before)
        };
        fork.values.iter().any(|&(value, _)| symbols.any(value, &mut varies))
            || kept.into_iter().any(|register| {
                let before = symbols.value(Node::Start(register));
                explored.goals.iter().any(|(_, state)| symbols.held(state, register) != before)
            })
    }
}

/// The instructions from which a goal is reached, goals and `start` included.
fn leads_to(explored: &Explored, start: Pc) -> FxHashSet<Pc> {
    let mut left = vec![start];
    left.extend(explored.goals.iter().map(|&(pc, _)| pc));
    let mut inside = FxHashSet::from_iter(left.iter().copied());
    while let Some(to) = left.pop() {
        let before = explored.steps.iter().filter(|(_, next)| *next == to);
        left.extend(before.map(|&(from, _)| from).filter(|&from| inside.insert(from)));
    }
    inside
}

/// The results of a load: those that are found in round `number`.
fn find(code: &Code, symbols: &mut Symbols, state: &mut State, pc: Pc, number: u32) {
    symbols.find(code, state, pc, |index, _| Some(Node::Found(number, index as u32)));
}

/// The load at `pc`.
fn load_at(code: &Code, pc: Pc) -> Option<&Access> {
    match code.insts.get(pc as usize).map(|inst| &inst.op) {
        Some(Op::Memory(access)) if access.kind == AccessKind::Load => Some(access),
        _ => None,
    }
}

/// The steps that leave the loop.
fn exits<'e>(explored: &'e Explored, inside: &FxHashSet<Pc>) -> Vec<&'e Fork> {
    let leaves = |fork: &&Fork| inside.contains(&fork.from) && !inside.contains(&fork.to);
    explored.forks.iter().filter(leaves).collect()
}

fn last(way: &[(Pc, State)], otherwise: Pc) -> Pc {
    way.last().map_or(otherwise, |(pc, _)| *pc)
}

/// The wait for a phase at `pc`.
fn wait_at(code: &Code, pc: Pc) -> Option<&Barrier> {
    match code.insts.get(pc as usize).map(|inst| &inst.op) {
        Some(Op::Barrier(barrier)) if matches!(barrier.op, BarrierOp::Wait { .. }) => Some(barrier),
        _ => None,
    }
}

/// How a wait asks; whether it blocks does not matter.
fn asks_by(barrier: &Barrier) -> Option<(bool, crate::machine::barrier::PhaseType)> {
    match barrier.op {
        BarrierOp::Wait { parity, phase_type, .. } => Some((parity, phase_type)),
        _ => None,
    }
}
