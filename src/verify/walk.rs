//! All ways that a lane can take from an instruction on, as long as nobody else can see what it does.

use rustc_hash::{FxHashMap, FxHashSet};

use super::symbol::{State, Symbols, Value};
use super::uses::{self, Effect, Reg};
use crate::machine::code::{Code, Op, Pc, Slot};

/// A walk takes so many steps at most.
const MOST_STEPS: usize = 10_000;
/// So many instructions before the start are looked at.
const MOST_BEFORE: usize = 256;

/// The ways through a code.
pub struct Ways<'c> {
    /// The code.
    pub code: &'c Code,
    /// The only instruction that leads to this one; `None` also when there are several.
    before: FxHashMap<Pc, Option<Pc>>,
}

/// What a walk came to.
#[derive(Debug, Default)]
pub struct Explored {
    /// Where it came to a goal, with what registers hold there.
    pub goals: Vec<(Pc, State)>,
    /// Instructions that it does not go beyond, because others could see them.
    pub ends: Vec<Pc>,
    /// Steps from one instruction to another.
    pub steps: FxHashSet<(Pc, Pc)>,
    /// Steps that a condition decides.
    pub forks: Vec<Fork>,
}

/// A step that a condition decides.
#[derive(Debug)]
pub struct Fork {
    /// From where.
    pub from: Pc,
    /// To where.
    pub to: Pc,
    /// The values that are not known and led here, this step's last; of predicates, whether they hold.
    pub values: Vec<(Value, Option<bool>)>,
    /// What registers hold then.
    pub state: State,
}

/// A lane on its way.
#[derive(Clone)]
struct Lane {
    pc: Pc,
    state: State,
    /// The values that are not known and led here.
    values: Vec<(Value, Option<bool>)>,
}

/// How a walk goes on at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Going {
    /// As the instruction says.
    On,
    /// Behind it: it has been executed.
    Done,
    /// No further: it is a goal.
    Stop,
}

/// There are too many ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// What is known of a guard.
enum Guarded {
    Open,
    Shut,
    /// It depends on that register, and is open when it holds this.
    Unknown(Reg, Value, bool),
}

impl<'c> Ways<'c> {
    /// Those through `code`.
    pub fn new(code: &'c Code) -> Ways<'c> {
        let mut before: FxHashMap<Pc, Option<Pc>> = FxHashMap::default();
        for pc in 0..code.insts.len() as Pc {
            for next in uses::successors(code, pc) {
                before.entry(next).and_modify(|before| *before = None).or_insert(Some(pc));
            }
        }
        // Calls lead to the entries.
        code.routines.iter().for_each(|routine| {
            before.insert(routine.entry, None);
        });
        Ways { code, before }
    }

    /// What registers hold at `pc`, over what they held where different ways to it met last.
    pub fn start(&self, symbols: &mut Symbols, pc: Pc) -> State {
        let mut way = Vec::new();
        let mut at = pc;
        while let Some(&Some(before)) = self.before.get(&at) {
            if before == pc || way.len() == MOST_BEFORE || way.contains(&before) {
                break;
            }
            way.push(before);
            at = before;
        }
        let mut state = State::default();
        for &at in way.iter().rev() {
            match self.guarded(symbols, &state, at) {
                Guarded::Open => symbols.execute(self.code, &mut state, at),
                Guarded::Shut => {}
                Guarded::Unknown(_, value, _) => symbols.execute_perhaps(self.code, &mut state, at, value),
            }
        }
        if let Guarded::Unknown(register, _, open) = self.guarded(symbols, &state, pc) {
            let open = symbols.constant(open.into());
            state.learn(register, open);
        }
        state.forget_writers();
        state
    }

    fn guarded(&self, symbols: &mut Symbols, state: &State, pc: Pc) -> Guarded {
        let Some((predicate, negated)) = uses::guard(self.code.insts[pc as usize].guard) else {
            return Guarded::Open;
        };
        let register = Reg::Predicate(predicate);
        let value = symbols.held(state, register);
        match symbols.truth(state, value) {
            Some(holds) if holds != negated => Guarded::Open,
            Some(_) => Guarded::Shut,
            None => Guarded::Unknown(register, value, !negated),
        }
    }

    /// Follows all ways from `pc` on, up to goals and to what others can see. Ends at once when it meets
    /// the latter and `all` ways must lead to goals. `going` may execute an instruction in its own way.
    pub fn explore(
        &self,
        symbols: &mut Symbols,
        state: State,
        pc: Pc,
        all: bool,
        going: &mut dyn FnMut(&mut Symbols, &mut State, Pc) -> Going,
    ) -> Result<Explored, TooMany> {
        let mut explored = Explored::default();
        let mut left = vec![Lane { pc, state, values: Vec::new() }];
        for _ in 0..MOST_STEPS {
            let Some(mut lane) = left.pop() else { return Ok(explored) };
            match self.guarded(symbols, &lane.state, lane.pc) {
                Guarded::Open => {}
                Guarded::Shut => {
                    left.push(explored.go(lane, |pc| pc + 1, true));
                    continue;
                }
                Guarded::Unknown(_, value, _) if self.is_quiet(lane.pc) => {
                    symbols.execute_perhaps(self.code, &mut lane.state, lane.pc, value);
                    left.push(explored.go(lane, |pc| pc + 1, false));
                    continue;
                }
                Guarded::Unknown(register, value, open) => {
                    let mut passing = lane.clone();
                    lane.values.push((value, Some(open)));
                    passing.values.push((value, Some(!open)));
                    let (opened, shut) = (symbols.constant(open.into()), symbols.constant((!open).into()));
                    lane.state.learn(register, opened);
                    symbols.assume(&mut lane.state, value, open);
                    passing.state.learn(register, shut);
                    symbols.assume(&mut passing.state, value, !open);
                    left.push(explored.go(passing, |pc| pc + 1, true));
                }
            }
            match going(symbols, &mut lane.state, lane.pc) {
                Going::On => self.step(symbols, &mut explored, &mut left, lane),
                Going::Done => left.push(explored.go(lane, |pc| pc + 1, false)),
                Going::Stop => explored.goals.push((lane.pc, lane.state)),
            }
            if all && !explored.ends.is_empty() {
                return Ok(explored);
            }
        }
        Err(TooMany)
    }

    fn effect(&self, pc: Pc) -> Effect {
        uses::uses(self.code, pc).effect
    }

    /// Whether the instruction does nothing but to write registers.
    fn is_quiet(&self, pc: Pc) -> bool {
        matches!(self.effect(pc), Effect::Registers | Effect::Idle)
    }

    /// One instruction, whose guard is open.
    fn step(&self, symbols: &mut Symbols, explored: &mut Explored, left: &mut Vec<Lane>, mut lane: Lane) {
        match self.effect(lane.pc) {
            Effect::Idle | Effect::Registers => {
                symbols.execute(self.code, &mut lane.state, lane.pc);
                left.push(explored.go(lane, |pc| pc + 1, false));
            }
            Effect::Jump => match self.target(symbols, &lane.state, lane.pc) {
                Ok(target) => left.push(explored.go(lane, |_| target, true)),
                Err(value) => {
                    lane.values.push((value, None));
                    for target in uses::successors(self.code, lane.pc) {
                        left.push(explored.go(lane.clone(), |_| target, true));
                    }
                }
            },
            Effect::Ends | Effect::Visible => explored.ends.push(lane.pc),
        }
    }

    /// Where a branch whose guard is open leads to; else the value that it depends on.
    fn target(&self, symbols: &mut Symbols, state: &State, pc: Pc) -> Result<Pc, Value> {
        let op = &self.code.insts[pc as usize].op;
        if let Op::Branch { target, .. } = *op {
            return Ok(target);
        }
        let Op::Switch { index, table, .. } = *op else { return Ok(pc + 1) };
        let value = symbols.source(self.code, state, index);
        let number = symbols.number(value).ok_or(value)?;
        let targets = &self.code.tables[table as usize];
        Ok(targets.get(number as u32 as usize).copied().unwrap_or(pc + 1))
    }

    /// The way from `pc` on as far as it is known, from the last decision on: each instruction, and what
    /// registers hold before it.
    pub fn follow(&self, symbols: &mut Symbols, mut state: State, mut pc: Pc) -> Vec<(Pc, State)> {
        let mut way = vec![(pc, state.clone())];
        for _ in 0..MOST_BEFORE {
            let effect = self.effect(pc);
            let quiet = self.is_quiet(pc);
            let mut decided = uses::guard(self.code.insts[pc as usize].guard).is_some();
            let mut next = pc + 1;
            match self.guarded(symbols, &state, pc) {
                Guarded::Shut => {}
                Guarded::Unknown(_, value, _) if quiet => {
                    symbols.execute_perhaps(self.code, &mut state, pc, value);
                    decided = false;
                }
                Guarded::Open if quiet => symbols.execute(self.code, &mut state, pc),
                Guarded::Open if effect == Effect::Jump => match self.target(symbols, &state, pc) {
                    Ok(target) => next = target,
                    Err(_) => break,
                },
                Guarded::Open | Guarded::Unknown(..) => break,
            }
            if decided {
                way.clear();
            }
            pc = next;
            way.push((pc, state.clone()));
        }
        way
    }

    /// Where branches without a condition lead from `pc`.
    pub fn settled(&self, mut pc: Pc) -> Pc {
        for _ in 0..MOST_BEFORE {
            let inst = &self.code.insts[pc as usize];
            let Op::Branch { target, .. } = inst.op else { break };
            if uses::guard(inst.guard).is_some() {
                break;
            }
            pc = target;
        }
        pc
    }

    /// Whether something may read what a register holds before `pc`.
    pub fn is_live(&self, pc: Pc, register: Reg) -> bool {
        let mut seen = FxHashSet::from_iter([pc]);
        let mut left = vec![pc];
        while let Some(pc) = left.pop() {
            let uses = uses::uses(self.code, pc);
            let guard = uses::guard(self.code.insts[pc as usize].guard);
            let read = uses.reads.iter().any(|&(source, _)| Reg::of(source) == Some(register));
            let guards = guard.is_some_and(|(predicate, _)| Reg::Predicate(predicate) == register);
            if read || guards || self.is_returned(pc, register) {
                return true;
            }
            if guard.is_some() || !uses.writes.contains(&register) {
                left.extend(uses::successors(self.code, pc).into_iter().filter(|&next| seen.insert(next)));
            }
        }
        false
    }

    /// Whether the instruction returns what the register holds.
    fn is_returned(&self, pc: Pc, register: Reg) -> bool {
        matches!(self.code.insts[pc as usize].op, Op::Return { .. })
            && results(self.code, pc).any(|slot| holds(slot, register))
    }
}

impl Explored {
    /// A step, which a condition decides or not.
    fn go(&mut self, mut lane: Lane, to: impl Fn(Pc) -> Pc, decided: bool) -> Lane {
        let (from, to) = (lane.pc, to(lane.pc));
        self.steps.insert((from, to));
        if decided {
            self.forks.push(Fork { from, to, values: lane.values.clone(), state: lane.state.clone() });
        }
        lane.pc = to;
        lane
    }
}

/// Where the results of the routine of an instruction are.
pub fn results(code: &Code, pc: Pc) -> impl Iterator<Item = Slot> {
    let routine = code.routine_of(pc);
    routine.formals.iter().take(routine.results).copied()
}

/// Whether a slot holds a register.
pub fn holds(slot: Slot, register: Reg) -> bool {
    match (slot, register) {
        (Slot::Columns(first, count), Reg::Column(column)) => (first..first + count).contains(&column),
        (Slot::Predicate(predicate), Reg::Predicate(other)) => predicate == other,
        (Slot::Memory(..) | Slot::Columns(..) | Slot::Predicate(_), _) => false,
    }
}
