//! What an instruction reads and writes, and what others can see of it: the one place of the verifier that
//! knows every operation.

use smallvec::SmallVec;

use crate::machine::code::{
    Access, AccessKind, Address, Barrier, BarrierOp, Base, Call, Callee, Code, Copy, Dst, Guard, Matrix,
    NONE, Op, Passed, Pc, Pred, Source, Space, Src, Stack, TensorMapOp, What,
};

/// A register of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reg {
    /// A column.
    Column(u32),
    /// A predicate.
    Predicate(u32),
}

impl Reg {
    /// The register that a source is, if it is one.
    pub fn of(source: Src) -> Option<Reg> {
        match source.source() {
            Source::Register(column) => Some(Reg::Column(column)),
            Source::Predicate(index, _) => Some(Reg::Predicate(index)),
            Source::Constant(_) | Source::Own(_) => None,
        }
    }
}

/// What a value is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The results are computed from it.
    Data,
    /// It is put into memory.
    Stored,
    /// It says where, or which.
    Address,
    /// It is a count.
    Count,
    /// It says how many bytes.
    Size,
    /// It names a phase.
    Parity,
    /// It says where to go on.
    Target,
    /// It is handed over to a function.
    Passed,
    /// Threads of the CTA reduce it together.
    Reduced,
    /// Nothing depends on it but time.
    Time,
}

/// What others can see of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does nothing, perhaps for a while.
    Idle,
    /// It only writes registers.
    Registers,
    /// It goes on elsewhere in the routine.
    Jump,
    /// Nothing comes behind it.
    Ends,
    /// Anything else.
    Visible,
}

/// What an instruction does to the registers of its frame, its guard not counted.
#[derive(Clone, Debug)]
pub struct Uses {
    /// What it reads, and what for.
    pub reads: SmallVec<[(Src, Role); 6]>,
    /// The registers that it writes.
    pub writes: SmallVec<[Reg; 4]>,
    /// What others can see of it.
    pub effect: Effect,
    /// Where it writes memory, now or later.
    pub stores: Option<Space>,
}

impl Uses {
    fn new(effect: Effect) -> Uses {
        Uses { reads: SmallVec::new(), writes: SmallVec::new(), effect, stores: None }
    }

    fn store(self, address: &Address) -> Uses {
        Uses { stores: Some(address.space), ..self.at(address) }
    }

    fn read(mut self, sources: &[Src], role: Role) -> Uses {
        self.reads.extend(sources.iter().map(|&source| (source, role)));
        self
    }

    fn maybe(self, source: Option<Src>, role: Role) -> Uses {
        self.read(source.as_slice(), role)
    }

    fn predicates(mut self, predicates: &[Pred], role: Role) -> Uses {
        let registers = predicates.iter().filter(|predicate| predicate.index().is_some());
        self.reads.extend(registers.map(|&predicate| (Src::predicate(predicate), role)));
        self
    }

    fn at(self, address: &Address) -> Uses {
        match address.base {
            Base::Source(source) => self.read(&[source], Role::Address),
            Base::Zero | Base::Frame => self,
        }
    }

    fn write(mut self, registers: &[Dst]) -> Uses {
        let kept = registers.iter().filter(|d| d.column != NONE);
        self.writes.extend(kept.map(|d| Reg::Column(d.column)));
        self
    }

    fn set(mut self, predicates: &[u32]) -> Uses {
        let kept = predicates.iter().filter(|&&predicate| predicate != NONE);
        self.writes.extend(kept.map(|&predicate| Reg::Predicate(predicate)));
        self
    }
}

/// The predicate of a guard, and whether it is negated; `None`: always.
pub fn guard(guard: Guard) -> Option<(u32, bool)> {
    (guard != Guard::ALWAYS).then_some((guard.0 >> 1, guard.0 & 1 == 1))
}

/// What the instruction at `pc` does to the registers of its frame.
pub fn uses(code: &Code, pc: Pc) -> Uses {
    let (registers, visible) = (Uses::new(Effect::Registers), Uses::new(Effect::Visible));
    match &code.insts[pc as usize].op {
        Op::Scalar { op, d, s } => registers.read(&s[..op.sources().min(4)], Role::Data).write(&[*d]),
        Op::Compare(compare) => {
            let combined = if compare.combine.is_some() { &[compare.c][..] } else { &[] };
            registers
                .read(&compare.s, Role::Data)
                .predicates(combined, Role::Data)
                .set(&[compare.p, compare.q])
        }
        Op::Carry { op, d, s } => {
            let flag = code.routine_of(pc).predicates.saturating_sub(1);
            let carried = if op.carry_in { &[Pred::new(flag, false)][..] } else { &[] };
            let carries = if op.carry_out { flag } else { NONE };
            registers
                .read(&s[..op.sources()], Role::Data)
                .predicates(carried, Role::Data)
                .write(&[*d])
                .set(&[carries])
        }
        Op::Logic { d, s, .. } => registers.predicates(s, Role::Data).set(&[*d]),
        Op::Test { d, s } => registers.read(&[*s], Role::Data).set(&[*d]),
        Op::Clock { d, .. } | Op::ActiveMask(d) | Op::LocalAddress(d, _) => registers.write(&[*d]),
        Op::Convert(convert) => {
            registers.read(&[convert.a, convert.b], Role::Data).write(&[convert.d]).set(&[convert.p])
        }
        Op::Branch { .. } => Uses::new(Effect::Jump),
        Op::Switch { index, .. } => Uses::new(Effect::Jump).read(&[*index], Role::Target),
        Op::Call(call) => passed(visible, call),
        Op::Sleep(time) => Uses::new(Effect::Idle).read(&[*time], Role::Time),
        Op::Nothing => Uses::new(Effect::Idle),
        Op::Return { .. } | Op::Exit | Op::Trap | Op::Unsupported => Uses::new(Effect::Ends),
        Op::Fence(_) | Op::Cluster(_) | Op::Commit(_) | Op::Wait { .. } | Op::Together => visible,
        Op::Stack(Stack::Save(d)) => registers.write(&[*d]),
        Op::Stack(Stack::Restore(s)) => visible.read(&[*s], Role::Address),
        Op::Stack(Stack::Allocate(d, size, _)) => visible.read(&[*size], Role::Size).write(&[*d]),
        Op::Memory(access) => accessed(access),
        Op::Warp(warp) => {
            let with_mask = visible.read(&warp.s, Role::Data).maybe(warp.mask, Role::Count);
            with_mask.write(&[warp.d]).set(&[warp.p])
        }
        Op::Matrix(matrix) => multiplied(visible, matrix),
        Op::Cta(barrier) => visible
            .read(&[barrier.id], Role::Address)
            .maybe(barrier.threads, Role::Count)
            .predicates(&[barrier.predicate], Role::Reduced)
            .write(&[barrier.d])
            .set(&[barrier.p]),
        Op::Barrier(barrier) => arrived(visible, barrier),
        Op::Copy(copy) => copied(visible, copy),
        Op::TensorMap(op) => match &**op {
            TensorMapOp::Replace(address, _, _, value) => {
                visible.store(address).read(&[*value], Role::Address)
            }
            TensorMapOp::Copy(to, from) => visible.store(to).at(from),
        },
        Op::Cancel(query) => visible.read(&query.response, Role::Data).write(&query.d).set(&[query.p]),
    }
}

fn passed(uses: Uses, call: &Call) -> Uses {
    let uses = match &call.callee {
        Callee::Indirect(target) => uses.read(&[*target], Role::Target),
        Callee::Routine(_) | Callee::System(_) | Callee::Missing(_) => uses,
    };
    let uses = call.arguments.iter().fold(uses, |uses, argument| match argument {
        Passed::Value(value) => uses.read(&[*value], Role::Passed),
        Passed::Memory(..) | Passed::Register(_) | Passed::Predicate(_) | Passed::Nothing => uses,
    });
    call.results.iter().fold(uses, |uses, result| match result {
        Passed::Register(d) => uses.write(&[*d]),
        Passed::Predicate(p) => uses.set(&[*p]),
        Passed::Memory(..) | Passed::Value(_) | Passed::Nothing => uses,
    })
}

/// Whether nobody else writes that memory.
pub fn is_private(space: Space) -> bool {
    match space {
        Space::Param | Space::Const | Space::Local => true,
        Space::Generic | Space::Global | Space::Shared | Space::Cluster => false,
    }
}

fn accessed(access: &Access) -> Uses {
    let (role, effect) = match access.kind {
        AccessKind::Load if is_private(access.address.space) => (Role::Stored, Effect::Registers),
        AccessKind::Load | AccessKind::Store | AccessKind::Update(_) => (Role::Stored, Effect::Visible),
        AccessKind::Fill => (Role::Size, Effect::Visible),
    };
    let uses = match access.kind {
        AccessKind::Load => Uses::new(effect).at(&access.address),
        AccessKind::Store | AccessKind::Update(_) | AccessKind::Fill => {
            Uses::new(effect).store(&access.address)
        }
    };
    uses.read(&access.from, role).read(&access.swap, Role::Stored).write(&access.to)
}

fn multiplied(uses: Uses, matrix: &Matrix) -> Uses {
    match matrix {
        Matrix::Load(_, address, to) => uses.at(address).write(to),
        Matrix::Store(_, address, from) => uses.store(address).read(from, Role::Stored),
        Matrix::Transpose(d, s) => uses.read(&[*s], Role::Data).write(&[*d]),
        Matrix::Multiply(_, d, a, b, c) => {
            uses.read(a, Role::Data).read(b, Role::Data).read(c, Role::Data).write(d)
        }
    }
}

fn arrived(uses: Uses, barrier: &Barrier) -> Uses {
    let role = match barrier.op {
        BarrierOp::Wait { .. } => Role::Parity,
        BarrierOp::PendingCount => Role::Data,
        BarrierOp::Init(_)
        | BarrierOp::Inval
        | BarrierOp::ExpectTx
        | BarrierOp::CompleteTx
        | BarrierOp::Arrive { .. }
        | BarrierOp::CheckLayout(_)
        | BarrierOp::Track { .. } => Role::Count,
    };
    let uses = uses.at(&barrier.address).maybe(barrier.value, role).maybe(barrier.mask, Role::Address);
    uses.write(&[barrier.state, barrier.report]).set(&barrier.p)
}

fn copied(uses: Uses, copy: &Copy) -> Uses {
    let uses =
        uses.store(&copy.to).at(&copy.from).maybe(copy.size, Role::Size).maybe(copy.mask, Role::Address);
    let uses = copy.barrier.iter().fold(uses, |uses, barrier| uses.at(barrier));
    match &copy.what {
        What::Bytes { source_size, ignore } => {
            uses.maybe(*source_size, Role::Size).predicates(&[*ignore], Role::Size)
        }
        What::Within(left, right) => uses.read(&[*left, *right], Role::Size),
        What::Masked(mask) => uses.read(&[*mask], Role::Size),
        What::Values(values, _) => uses.read(values, Role::Stored),
        What::Tensor { map, coords, offsets, .. } => {
            // A tensor is loaded with a barrier, and stored without.
            let stores = if copy.barrier.is_some() { uses.stores } else { Some(Space::Global) };
            let uses = Uses { stores, ..uses };
            uses.at(map).read(coords, Role::Address).read(offsets, Role::Address)
        }
        What::Cancel(_) => uses,
    }
}

/// Where a lane may go on behind the instruction at `pc`, in its routine.
pub fn successors(code: &Code, pc: Pc) -> SmallVec<[Pc; 2]> {
    let inst = &code.insts[pc as usize];
    let mut next: SmallVec<[Pc; 2]> = SmallVec::new();
    let mut passes = uses(code, pc).effect != Effect::Ends;
    if let Op::Branch { target, .. } = inst.op {
        next.push(target);
        passes = false;
    } else if let Op::Switch { table, .. } = inst.op {
        // An index beyond the table goes on behind it.
        next.extend(code.tables[table as usize].iter().copied());
    }
    if passes || inst.guard != Guard::ALWAYS {
        next.push(pc + 1);
    }
    let end = code.routine_of(pc).end;
    next.retain(|to| *to < end);
    next.sort_unstable();
    next.dedup();
    next
}
