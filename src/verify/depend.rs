//! Where values go that depend on the schedule: from their sources through registers and memory to the first
//! place where they decide something or get out.
//!
//! A fact is a register that depends on the source, before an instruction, in some lane. Facts spread over
//! the instructions of all routines until a sink is found. What a branch decides needs no following: the branch
//! is a sink itself.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::uses::{self, Effect, Reg, Role, Uses};
use super::walk::{Ways, holds};
use crate::machine::code::{
    AccessKind, BarrierOp, Call, Callee, Code, ConvertKind, Op, Own, Passed, Pc, Slot, Source, Space, Src,
    System,
};

/// Why the result of an instruction depends on the schedule by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The old value of an atomic.
    Atomic,
    /// A clock.
    Clock,
    /// Which lanes are together.
    Lanes,
    /// Which multiprocessor, or which warp of it.
    Place,
    /// The pending count in a state.
    Pending,
    /// Whether a request to take over a cluster was granted.
    Cancel,
    /// Where memory was allocated.
    Allocation,
}

/// What a value decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Where lanes go on.
    Branch,
    /// Whether something happens that others can see.
    Guard,
    /// Where in memory, or which barrier.
    Address,
    /// A count of arrivals, threads or bytes, or which lanes take part.
    Count,
    /// How many bytes.
    Size,
    /// Which phase is waited for.
    Parity,
    /// What the kernel leaves behind.
    Output,
}

/// Where a value that depends on the schedule decides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sink {
    /// The instruction whose result it is, or is computed from.
    pub source: Pc,
    /// The instruction that it decides something for.
    pub sink: Pc,
    /// What.
    pub kind: Kind,
}

/// What is asked about a run.
pub struct Question<'q> {
    /// Instructions whose results depend on the schedule.
    pub sources: &'q [Pc],
    /// Pairs of an instruction that wrote memory and one that read what it wrote.
    pub pairs: &'q [(Pc, Pc)],
    /// Instructions whose branches and guards do not count: those of spins.
    pub ignored: &'q FxHashSet<Pc>,
    /// Whether what an instruction puts into memory, or prints, is output.
    pub is_output: &'q dyn Fn(Pc) -> bool,
}

/// Follows values through a code.
pub struct Depends<'c> {
    code: &'c Code,
    ways: Ways<'c>,
    /// The calls of each routine.
    callers: Vec<Vec<Pc>>,
    /// Barriers of the CTA that reduce something.
    reductions: Vec<Pc>,
    /// Whether generic addresses may lead to local memory.
    local_is_generic: bool,
}

/// What depends on the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fact {
    Register(Reg),
    /// Something in the thread's local memory.
    Local,
}

/// The search from one source.
struct Search<'s, 'c> {
    depends: &'s Depends<'c>,
    question: &'s Question<'s>,
    loads: &'s FxHashMap<Pc, Vec<Pc>>,
    seen: FxHashSet<(Pc, Fact)>,
    stored: FxHashSet<Pc>,
    left: VecDeque<(Pc, Fact)>,
    found: Option<(Pc, Kind)>,
}

impl<'c> Depends<'c> {
    /// Through `code`.
    pub fn new(code: &'c Code) -> Depends<'c> {
        let mut callers = vec![Vec::new(); code.routines.len()];
        let mut reductions = Vec::new();
        let mut local_is_generic = false;
        for (pc, inst) in code.insts.iter().enumerate() {
            if let Op::Call(call) = &inst.op {
                callees(code, call).for_each(|routine| callers[routine].push(pc as Pc));
            } else if let Op::Cta(_) = inst.op {
                reductions.push(pc as Pc);
            } else if let Op::Convert(convert) = &inst.op {
                local_is_generic |= convert.kind == ConvertKind::ToGeneric(Space::Local);
            }
        }
        Depends { code, ways: Ways::new(code), callers, reductions, local_is_generic }
    }

    /// The instructions whose results depend on the schedule by themselves, and are read.
    pub fn static_sources(&self) -> Vec<(Pc, Why)> {
        let all = (0..self.code.insts.len() as Pc).filter_map(|pc| {
            let uses = uses::uses(self.code, pc);
            let why = self.why(pc, &uses)?;
            let at_once = why == Why::Place && uses.effect != Effect::Registers;
            (at_once || self.is_read(pc, &uses)).then_some((pc, why))
        });
        all.collect()
    }

    fn is_read(&self, pc: Pc, uses: &Uses) -> bool {
        let next = uses::successors(self.code, pc);
        let live = |register: &Reg| next.iter().any(|&next| self.ways.is_live(next, *register));
        self.returns_memory(pc) || uses.writes.iter().any(live)
    }

    /// Whether a call puts its result into local memory.
    fn returns_memory(&self, pc: Pc) -> bool {
        let op = &self.code.insts[pc as usize].op;
        matches!(op, Op::Call(call) if call.results.iter().any(|r| matches!(r, Passed::Memory(..))))
    }

    fn why(&self, pc: Pc, uses: &Uses) -> Option<Why> {
        let written = !uses.writes.is_empty();
        let by_place = || uses.reads.iter().any(|&(source, _)| self.is_place(source)).then_some(Why::Place);
        match &self.code.insts[pc as usize].op {
            Op::Clock { .. } => written.then_some(Why::Clock),
            Op::ActiveMask(_) => written.then_some(Why::Lanes),
            Op::Warp(warp) if warp.mask.is_none() && written => Some(Why::Lanes),
            Op::Memory(access) => match access.kind {
                AccessKind::Update(_) if written => Some(Why::Atomic),
                AccessKind::Update(_) | AccessKind::Load | AccessKind::Store | AccessKind::Fill => by_place(),
            },
            Op::Barrier(barrier) if barrier.op == BarrierOp::PendingCount => written.then_some(Why::Pending),
            Op::Cancel(_) => written.then_some(Why::Cancel),
            Op::Call(call) if call.callee == Callee::System(System::Allocate) => Some(Why::Allocation),
            Op::Scalar { .. }
            | Op::Compare(_)
            | Op::Carry { .. }
            | Op::Logic { .. }
            | Op::Test { .. }
            | Op::LocalAddress(..)
            | Op::Convert(_)
            | Op::Branch { .. }
            | Op::Switch { .. }
            | Op::Call(_)
            | Op::Return { .. }
            | Op::Exit
            | Op::Trap
            | Op::Sleep(_)
            | Op::Stack(_)
            | Op::Nothing
            | Op::Fence(_)
            | Op::Warp(_)
            | Op::Matrix(_)
            | Op::Cta(_)
            | Op::Cluster(_)
            | Op::Barrier(_)
            | Op::Copy(_)
            | Op::Commit(_)
            | Op::Wait { .. }
            | Op::TensorMap(_)
            | Op::Together
            | Op::Unsupported => by_place(),
        }
    }

    /// Whether a column of the warp depends on where it runs.
    fn is_place(&self, source: Src) -> bool {
        let Source::Own(index) = source.source() else { return false };
        matches!(self.code.own.get(index as usize), Some(Own::SmId | Own::WarpId))
    }

    /// For each source the first sink that it reaches, if it does.
    pub fn sinks(&self, question: &Question) -> Vec<Sink> {
        let mut loads: FxHashMap<Pc, Vec<Pc>> = FxHashMap::default();
        question.pairs.iter().for_each(|&(store, load)| loads.entry(store).or_default().push(load));
        let sinks = question.sources.iter().filter_map(|&source| {
            let mut search = Search {
                depends: self,
                question,
                loads: &loads,
                seen: FxHashSet::default(),
                stored: FxHashSet::default(),
                left: VecDeque::new(),
                found: None,
            };
            let (sink, kind) = search.run(source)?;
            Some(Sink { source, sink, kind })
        });
        sinks.collect()
    }
}

/// Whether an instruction writes global memory, or may do so through a generic address; or prints.
pub fn writes_global(code: &Code, pc: Pc) -> bool {
    let Some(inst) = code.insts.get(pc as usize) else { return false };
    let prints = matches!(&inst.op, Op::Call(call) if call.callee == Callee::System(System::Vprintf));
    prints || matches!(uses::uses(code, pc).stores, Some(Space::Global | Space::Generic))
}

/// The routines that a call may lead to.
fn callees<'a>(code: &'a Code, call: &'a Call) -> impl Iterator<Item = usize> + use<'a> {
    (0..code.routines.len()).filter(move |&index| match call.callee {
        Callee::Routine(routine) => routine as usize == index,
        Callee::Indirect(_) => index != code.kernel,
        Callee::System(_) | Callee::Missing(_) => false,
    })
}

impl Search<'_, '_> {
    fn run(&mut self, source: Pc) -> Option<(Pc, Kind)> {
        if source as usize >= self.code().insts.len() {
            return None;
        }
        let uses = uses::uses(self.code(), source);
        // What depends on the place may be read at once.
        for &(read, role) in uses.reads.iter().filter(|&&(read, _)| self.depends.is_place(read)) {
            self.is_read(source, &uses, read, role);
        }
        self.comes_out(source);
        while let Some((pc, fact)) = self.left.pop_front() {
            if self.found.is_some() {
                break;
            }
            self.reach(pc, fact);
        }
        self.found
    }

    fn code(&self) -> &Code {
        self.depends.code
    }

    fn decides(&mut self, pc: Pc, kind: Kind) {
        let control = matches!(kind, Kind::Branch | Kind::Guard);
        if !(control && self.question.ignored.contains(&pc)) {
            self.found.get_or_insert((pc, kind));
        }
    }

    fn add(&mut self, pc: Pc, fact: Fact) {
        if self.seen.insert((pc, fact)) {
            self.left.push_back((pc, fact));
        }
    }

    fn add_behind(&mut self, pc: Pc, fact: Fact) {
        for next in uses::successors(self.code(), pc) {
            self.add(next, fact);
        }
    }

    /// All results of an instruction depend on the source.
    fn comes_out(&mut self, pc: Pc) {
        for register in uses::uses(self.code(), pc).writes {
            self.add_behind(pc, Fact::Register(register));
        }
        if self.depends.returns_memory(pc) {
            self.add_behind(pc, Fact::Local);
        }
        // What moves memory hands over what it reads.
        if matches!(self.code().insts[pc as usize].op, Op::Copy(_) | Op::TensorMap(_)) {
            self.enters_memory(pc);
        }
    }

    /// A fact before an instruction: what it decides there, and where it holds afterwards.
    fn reach(&mut self, pc: Pc, fact: Fact) {
        let uses = uses::uses(self.code(), pc);
        let guard = uses::guard(self.code().insts[pc as usize].guard);
        match fact {
            Fact::Register(register) => {
                if guard.is_some_and(|(predicate, _)| Reg::Predicate(predicate) == register) {
                    self.is_guard(pc, &uses);
                }
                for &(read, role) in uses.reads.iter().filter(|&&(read, _)| Reg::of(read) == Some(register)) {
                    self.is_read(pc, &uses, read, role);
                }
                if guard.is_some() || !uses.writes.contains(&register) {
                    self.add_behind(pc, fact);
                }
            }
            Fact::Local => {
                self.local(pc);
                self.add_behind(pc, fact);
            }
        }
        self.returns(pc, fact);
    }

    fn is_guard(&mut self, pc: Pc, uses: &Uses) {
        match uses.effect {
            Effect::Idle => {}
            Effect::Registers => self.comes_out(pc),
            Effect::Jump => self.decides(pc, Kind::Branch),
            Effect::Ends | Effect::Visible => self.decides(pc, Kind::Guard),
        }
    }

    fn is_read(&mut self, pc: Pc, uses: &Uses, read: Src, role: Role) {
        match role {
            Role::Time => {}
            Role::Data => self.comes_out(pc),
            Role::Stored => self.enters_memory(pc),
            Role::Address => self.decides(pc, Kind::Address),
            Role::Count => self.decides(pc, Kind::Count),
            Role::Size => self.decides(pc, Kind::Size),
            Role::Parity => self.decides(pc, Kind::Parity),
            Role::Target => self.decides(pc, Kind::Branch),
            Role::Reduced => {
                // Whoever takes part gets the result, at whatever instruction.
                if !uses.writes.is_empty() {
                    let depends = self.depends;
                    depends.reductions.iter().for_each(|&other| self.comes_out(other));
                }
            }
            Role::Passed => {
                self.is_passed(pc, &|passed| matches!(passed, Passed::Value(value) if *value == read))
            }
        }
    }

    /// An instruction puts the value into memory.
    fn enters_memory(&mut self, pc: Pc) {
        if !self.stored.insert(pc) {
            return;
        }
        if (self.question.is_output)(pc) {
            self.decides(pc, Kind::Output);
        }
        if self.is_local(pc) {
            self.add_behind(pc, Fact::Local);
        }
        let loads = self.loads;
        for &load in loads.get(&pc).into_iter().flatten() {
            if (load as usize) < self.code().insts.len() {
                self.comes_out(load);
            }
        }
    }

    /// Whether the instruction may access local memory.
    fn is_local(&self, pc: Pc) -> bool {
        let Op::Memory(access) = &self.code().insts[pc as usize].op else { return false };
        match access.address.space {
            Space::Local => true,
            Space::Generic => self.depends.local_is_generic,
            Space::Global | Space::Const | Space::Param | Space::Shared | Space::Cluster => false,
        }
    }

    /// Local memory depends on the source.
    fn local(&mut self, pc: Pc) {
        if self.is_local(pc) {
            self.comes_out(pc);
        }
        let depends = self.depends;
        if let Op::Call(call) = &depends.code.insts[pc as usize].op {
            self.is_passed(pc, &|passed| matches!(passed, Passed::Memory(..)));
            callees(depends.code, call)
                .for_each(|routine| self.add(depends.code.routines[routine].entry, Fact::Local));
            // What is printed lies in local memory.
            if call.callee == Callee::System(System::Vprintf) {
                self.enters_memory(pc);
            }
        }
    }

    /// Some arguments of a call depend on the source.
    fn is_passed(&mut self, pc: Pc, is_wanted: &dyn Fn(&Passed) -> bool) {
        let depends = self.depends;
        let Op::Call(call) = &depends.code.insts[pc as usize].op else { return };
        if !call.arguments.iter().any(is_wanted) {
            return;
        }
        match &call.callee {
            Callee::Routine(_) | Callee::Indirect(_) => {}
            Callee::System(System::Vprintf | System::AssertFail) => self.enters_memory(pc),
            Callee::System(System::Allocate) => self.decides(pc, Kind::Size),
            Callee::System(System::Free) => self.decides(pc, Kind::Address),
            Callee::Missing(_) => self.comes_out(pc),
        }
        for routine in callees(depends.code, call) {
            let routine = &depends.code.routines[routine];
            let inputs = routine.formals.iter().skip(routine.results);
            for (_, slot) in call.arguments.iter().zip(inputs).filter(|(argument, _)| is_wanted(argument)) {
                facts_of(*slot).into_iter().for_each(|fact| self.add(routine.entry, fact));
            }
        }
    }

    /// What a routine returns, at the places where it is called.
    fn returns(&mut self, pc: Pc, fact: Fact) {
        let depends = self.depends;
        if !matches!(depends.code.insts[pc as usize].op, Op::Return { .. }) {
            return;
        }
        let routine = depends.code.routine_of(pc);
        let index = depends.code.routines.iter().position(|other| other.entry == routine.entry);
        for &caller in index.into_iter().flat_map(|index| &depends.callers[index]) {
            if fact == Fact::Local {
                self.add_behind(caller, Fact::Local);
            }
            let Op::Call(call) = &depends.code.insts[caller as usize].op else { continue };
            for (slot, result) in routine.formals.iter().take(routine.results).zip(&call.results) {
                let returned = match fact {
                    Fact::Register(register) => holds(*slot, register),
                    Fact::Local => matches!(slot, Slot::Memory(..)),
                };
                if returned {
                    facts_of_result(result).into_iter().for_each(|fact| self.add_behind(caller, fact));
                }
            }
        }
    }
}

/// What depends on the source when a parameter does.
fn facts_of(slot: Slot) -> Vec<Fact> {
    match slot {
        Slot::Memory(..) => vec![Fact::Local],
        Slot::Columns(first, count) => {
            (first..first + count).map(|column| Fact::Register(Reg::Column(column))).collect()
        }
        Slot::Predicate(predicate) => vec![Fact::Register(Reg::Predicate(predicate))],
    }
}

/// The same for a result where the call is.
fn facts_of_result(result: &Passed) -> Option<Fact> {
    match result {
        Passed::Memory(..) => Some(Fact::Local),
        Passed::Register(d) => Some(Fact::Register(Reg::Column(d.column))),
        Passed::Predicate(predicate) => Some(Fact::Register(Reg::Predicate(*predicate))),
        Passed::Value(_) | Passed::Nothing => None,
    }
}
