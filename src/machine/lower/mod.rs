//! From a program to the code of the machine, once for each kernel.
//!
//! [`Lowerer::operation`] matches every form of the table without a wildcard: a new row does not build
//! until somebody says how it is executed, or that it is not.

mod asynchronous;
mod control;
mod memory;
mod operand;
mod order;
mod warp;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::code::{BarrierOp, Code, CtaBarrierKind, Dst, Guard, Inst, NONE, Op, Pc, Pred, Slot, Src};
use super::image::Image;
use super::scalar::{self, BoolOp, Decoded, ScalarOp, Signs};
use crate::isa::{Form, RowMatch};
use crate::program::flow::Flow;
use crate::program::{self, Program, Routine, Value};
use crate::types::{Space, Type};

pub(super) use operand::Frame;
pub use operand::constant_bits;

/// An instruction that cannot be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unsupported;

type Lowered<T = ()> = Result<T, Unsupported>;

/// Truth tables of two predicates a and b: bit 4a + 2b + c.
const AND: u8 = 0b1100_0000;
const OR: u8 = 0b1111_1100;
const XOR: u8 = 0b0011_1100;

/// The code of a kernel: routine number `kernel` of the program, and every routine that it may call.
pub fn lower(program: &Program, kernel: usize, image: &Image) -> Code {
    let order = control::reachable(program, kernel);
    let mut code = Code { parameters: image.parameter_bytes, ..Code::default() };
    code.shared = Some(image.shared.clone());
    let mut shared =
        Shared { program, image, items: FxHashMap::default(), constants: FxHashMap::default(), code };
    for (index, &routine) in order.iter().enumerate() {
        shared.items.insert(program.routines[routine].item, index as u32);
        let frame = operand::Frame::new(program, &program.routines[routine], routine == kernel);
        shared.code.routines.push(frame.code(routine));
    }
    for (index, &routine) in order.iter().enumerate() {
        Lowerer::new(&mut shared, &program.routines[routine], index, routine == kernel).routine();
    }
    shared.code.kernel = 0;
    let splits = |inst: &Inst| matches!(&inst.op, Op::Cta(barrier) if barrier.kind == CtaBarrierKind::Arrive);
    shared.code.splits_barriers = shared.code.insts.iter().any(splits);
    let completes =
        |inst: &Inst| matches!(&inst.op, Op::Barrier(barrier) if barrier.op == BarrierOp::CompleteTx);
    shared.code.completes_by_hand = shared.code.insts.iter().any(completes);
    shared.code
}

/// What the routines of a kernel have in common.
struct Shared<'a> {
    program: &'a Program,
    image: &'a Image,
    /// From functions (items of the module) to routines of the code.
    items: FxHashMap<u32, u32>,
    constants: FxHashMap<u64, Src>,
    code: Code,
}

/// What one routine is lowered with.
struct Lowerer<'a, 'b> {
    shared: &'b mut Shared<'a>,
    routine: &'a Routine,
    flow: Flow<'a>,
    frame: operand::Frame,
    index: usize,
    /// The instruction in hand.
    at: usize,
    guard: Guard,
    /// Where each instruction of the routine starts in the code.
    starts: Vec<Pc>,
    /// Columns for intermediate values, from here on; reused by each instruction.
    scratch: u32,
    most_scratch: u32,
}

impl<'a, 'b> Lowerer<'a, 'b> {
    fn new(shared: &'b mut Shared<'a>, routine: &'a Routine, index: usize, kernel: bool) -> Self {
        let program = shared.program;
        let frame = operand::Frame::new(program, routine, kernel);
        Lowerer {
            flow: Flow::new(program, routine),
            scratch: frame.columns,
            most_scratch: frame.columns,
            frame,
            shared,
            routine,
            index,
            at: 0,
            guard: Guard::ALWAYS,
            starts: Vec::new(),
        }
    }

    fn routine(mut self) {
        let entry = self.shared.code.insts.len() as Pc;
        for at in 0..self.routine.instructions.len() {
            self.at = at;
            self.starts.push(self.shared.code.insts.len() as Pc);
            self.scratch = self.frame.columns;
            self.instruction();
        }
        // Whoever runs past the last instruction returns.
        self.at = self.routine.instructions.len().saturating_sub(1);
        self.starts.push(self.shared.code.insts.len() as Pc);
        self.guard = Guard::ALWAYS;
        self.emit(Op::Return { uniform: false });
        self.link(entry);
        let end = self.shared.code.insts.len() as Pc;
        let code = &mut self.shared.code.routines[self.index];
        (code.entry, code.end, code.columns) = (entry, end, self.most_scratch);
    }

    /// One instruction; what it cannot be made into stays behind as unsupported.
    fn instruction(&mut self) {
        let first = self.shared.code.insts.len();
        let done = self.guard().and_then(|guard| {
            self.guard = guard;
            let row = self.flow.row(self.at).ok_or(Unsupported)?;
            self.operation(row)
        });
        if done.is_err() {
            self.shared.code.insts.truncate(first);
            // Whatever its guard says: nobody knows what would happen.
            self.emit(Op::Unsupported);
        }
    }

    fn guard(&self) -> Lowered<Guard> {
        let inst = &self.routine.instructions[self.at];
        match inst.guard {
            Some((register, negated)) => {
                Ok(Guard::new(self.frame.predicate(register).ok_or(Unsupported)?, negated))
            }
            None if self.flow.is_guarded(self.at) => Err(Unsupported),
            None => Ok(Guard::ALWAYS),
        }
    }

    fn emit(&mut self, op: Op) {
        self.shared.code.insts.push(Inst { guard: self.guard, at: self.at as u32, op });
    }

    /// A column for an intermediate value.
    fn temporary(&mut self) -> u32 {
        let column = self.scratch;
        self.scratch += 1;
        self.most_scratch = self.most_scratch.max(self.scratch);
        column
    }

    fn constant(&mut self, value: u64) -> Src {
        let code = &mut self.shared.code;
        *self.shared.constants.entry(value).or_insert_with(|| code.intern(value))
    }

    fn program(&self) -> &'a Program {
        self.shared.program
    }

    fn operation(&mut self, row: &'a RowMatch) -> Lowered {
        use Form as F;
        match row.form() {
            F::AddInt
            | F::AddCarry
            | F::AddFloat
            | F::AddMixed
            | F::SubInt
            | F::SubCarry
            | F::SubFloat
            | F::SubMixed
            | F::MulInt
            | F::MulWide
            | F::MulFloat
            | F::MadInt
            | F::MadWide
            | F::MadCarry
            | F::MadFloat
            | F::FmaFloat
            | F::FmaMixed
            | F::DivInt
            | F::DivFloat
            | F::AbsInt
            | F::AbsFloat
            | F::NegInt
            | F::NegFloat
            | F::MinInt
            | F::MinFloat
            | F::MinFloat3
            | F::MaxInt
            | F::MaxFloat
            | F::MaxFloat3
            | F::SetpBits
            | F::SetpInt
            | F::SetpFloat
            | F::SetpPacked
            | F::SetBits
            | F::SetInt
            | F::SetFloat
            | F::SetPacked
            | F::Selp
            | F::SlctInt
            | F::SlctFloat
            | F::Testp
            | F::Copysign
            | F::Rcp
            | F::Sqrt
            | F::Rsqrt
            | F::Sin
            | F::Cos
            | F::Lg2
            | F::Ex2
            | F::Tanh
            | F::Mul24
            | F::Mad24
            | F::Sad
            | F::Rem
            | F::Popc
            | F::Clz
            | F::Bfind
            | F::Fns
            | F::Brev
            | F::Bfe
            | F::Bfi
            | F::Szext
            | F::Bmsk
            | F::Dp4a
            | F::Dp2a
            | F::Addc
            | F::Subc
            | F::Madc
            | F::And
            | F::Or
            | F::Xor
            | F::Not
            | F::Cnot
            | F::Lop3
            | F::Lop3Bool
            | F::Shf
            | F::Shl
            | F::Shr
            | F::Prmt
            | F::Mov
            | F::MovFloat
            | F::CvtInt
            | F::CvtIntToFloat
            | F::CvtFloatToInt
            | F::CvtFloat
            | F::CvtTf32
            | F::CvtPack
            | F::CvtPack4
            | F::CvtRepack
            | F::CvtPackMerge
            | F::Vadd
            | F::Vsub
            | F::Vabsdiff
            | F::Vmin
            | F::Vmax
            | F::Vshl
            | F::Vshr
            | F::Vmad
            | F::Vset
            | F::Vadd2
            | F::Vsub2
            | F::Vavrg2
            | F::Vabsdiff2
            | F::Vmin2
            | F::Vmax2
            | F::Vset2
            | F::Vadd4
            | F::Vsub4
            | F::Vavrg4
            | F::Vabsdiff4
            | F::Vmin4
            | F::Vmax4
            | F::Vset4 => self.scalar(row),
            F::AndPred | F::OrPred | F::XorPred | F::NotPred | F::MovPred => self.predicates(row),
            F::MovPack => self.pack(row),
            F::MovUnpack => self.unpack(row),
            F::MovVec => self.move_vector(row),
            F::Isspacep | F::Cvta | F::CvtaTo | F::Mapa | F::Getctarank => self.convert(row),
            F::Bra => self.branch(row),
            F::BrxIdx => self.switch(row),
            F::Call => self.call(row),
            F::Ret => self.leave(row),
            F::Exit => self.simple(Op::Exit),
            F::Trap => self.simple(Op::Trap),
            F::Nanosleep => self.sleep(),
            F::Stacksave | F::Stackrestore | F::Alloca => self.stack(row),
            F::Ld | F::LdVec | F::LdNc | F::LdNcVec | F::Ldu | F::LduVec => self.load(row),
            F::St | F::StVec => self.store(row),
            F::StBulk => self.fill(row),
            F::AtomInt
            | F::AtomBits
            | F::AtomExch
            | F::AtomCas
            | F::AtomFloat
            | F::AtomVec
            | F::RedInt
            | F::RedBits
            | F::RedFloat
            | F::RedVec => self.update(row),
            F::ShflSync
            | F::Shfl
            | F::VoteSync
            | F::VoteSyncBallot
            | F::Vote
            | F::VoteBallot
            | F::MatchAnySync
            | F::MatchAllSync
            | F::ReduxSyncInt
            | F::ReduxSyncBits
            | F::ReduxSyncFloat
            | F::ElectSync
            | F::BarWarpSync
            | F::Activemask => self.warp(row),
            F::Ldmatrix | F::LdmatrixUnpack | F::LdmatrixB8 => self.load_matrix(row),
            F::Stmatrix | F::StmatrixB8 => self.store_matrix(row),
            F::Movmatrix => self.transpose(row),
            F::MmaF16 | F::MmaBf16 | F::MmaTf32 | F::MmaF64 | F::MmaInt | F::MmaBit | F::MmaF8 => {
                self.multiply(row)
            }
            F::BarSync
            | F::BarCtaSync
            | F::BarArrive
            | F::BarCtaArrive
            | F::BarRedPopc
            | F::BarRedPred
            | F::BarCtaRedPopc
            | F::BarCtaRedPred => self.cta_barrier(row, true),
            F::BarrierSync
            | F::BarrierCtaSync
            | F::BarrierArrive
            | F::BarrierCtaArrive
            | F::BarrierRedPopc
            | F::BarrierRedPred
            | F::BarrierCtaRedPopc
            | F::BarrierCtaRedPred => self.cta_barrier(row, row.has(crate::isa::Mod::Aligned)),
            F::BarrierClusterArrive => self.cluster_barrier(row, false),
            F::BarrierClusterWait => self.cluster_barrier(row, true),
            F::MbarrierInit
            | F::MbarrierInval
            | F::MbarrierExpectTx
            | F::MbarrierCompleteTx
            | F::MbarrierArrive
            | F::MbarrierArriveNoComplete
            | F::MbarrierArriveExpectTx
            | F::MbarrierArriveDrop
            | F::MbarrierArriveDropNoComplete
            | F::MbarrierArriveDropExpectTx
            | F::MbarrierTestWait
            | F::MbarrierTestWaitParity
            | F::MbarrierTryWait
            | F::MbarrierTryWaitParity
            | F::MbarrierPendingCount
            | F::MbarrierCheckLayout
            | F::CpAsyncMbarrierArrive
            | F::CpAsyncMbarrierArriveNoInc => self.barrier(row),
            F::CpAsync => self.small_copy(row),
            F::CpAsyncCommitGroup
            | F::CpAsyncWaitGroup
            | F::CpAsyncWaitAll
            | F::CpAsyncBulkCommitGroup
            | F::CpAsyncBulkWaitGroup => self.group(row),
            F::CpAsyncBulkGlobalToShared
            | F::CpAsyncBulkSharedToShared
            | F::CpAsyncBulkSharedToGlobal
            | F::CpReduceAsyncBulkSharedToShared
            | F::CpReduceAsyncBulkSharedToGlobal => self.bulk_copy(row),
            F::CpAsyncBulkTensorLoad | F::CpAsyncBulkTensorStore | F::CpReduceAsyncBulkTensor => {
                self.tensor_copy(row)
            }
            F::StAsyncShared
            | F::StAsyncGlobal
            | F::StAsyncUnsignaled
            | F::RedAsyncShared
            | F::RedAsyncGlobal
            | F::RedAsyncUnsignaled => self.asynchronous_store(row),
            F::ClusterlaunchcontrolTryCancelAsync => self.try_cancel(row),
            F::ClusterlaunchcontrolQueryCancelIsCanceled
            | F::ClusterlaunchcontrolQueryCancelGetFirstCtaid
            | F::ClusterlaunchcontrolQueryCancelGetFirstCtaidDim => self.cancel_query(row),
            F::TensormapReplaceAddress
            | F::TensormapReplaceRank
            | F::TensormapReplaceDimension
            | F::TensormapReplaceStride
            | F::TensormapReplaceElemtype
            | F::TensormapReplaceInterleaveLayout
            | F::TensormapReplaceSwizzleMode
            | F::TensormapReplaceSwizzleAtomicity
            | F::TensormapReplaceFillMode => self.replace_field(row),
            F::TensormapCpFenceproxy => self.copy_map(row),
            F::Fence
            | F::FenceSharedAcquire
            | F::FenceSharedRelease
            | F::FenceMbarrierInit
            | F::FenceAliasRead
            | F::FenceProxyAlias
            | F::FenceProxyAsync
            | F::FenceProxyTensormapRelease
            | F::FenceProxyTensormapAcquire
            | F::FenceProxyAsyncAcquire
            | F::FenceProxyAsyncRelease
            | F::FenceProxyAsyncReleaseRead
            | F::FenceProxyAcqRel
            | F::FenceProxyFabric
            | F::Membar
            | F::MembarProxy => self.simple(Op::Fence(order::of_fence(row))),
            F::SetmaxnregInc | F::SetmaxnregDec => self.simple(Op::Together),
            // Hints, and what nothing in this launch depends on: no grid ran before, none waits for this one.
            F::Brkpt
            | F::Pmevent
            | F::PmeventMask
            | F::Prefetch
            | F::PrefetchEvict
            | F::PrefetchValid
            | F::PrefetchTensormap
            | F::Prefetchu
            | F::Applypriority
            | F::ApplypriorityAsyncBulk
            | F::CpAsyncBulkPrefetch
            | F::CpAsyncBulkPrefetchTensor
            | F::GriddepcontrolLaunchDependents
            | F::GriddepcontrolWait => self.simple(Op::Nothing),
            // A policy says how to cache, not what to compute.
            F::CreatepolicyFractional | F::CreatepolicyRange | F::CreatepolicyCvt => self.policy(row),
            F::Istypep
            | F::Discard
            | F::MmaScaled
            | F::MmaSparse
            | F::MmaSparseScaled
            | F::TensormapQueryAllocClassLarge
            | F::MultimemStAsync
            | F::MultimemRedAsync
            | F::MultimemCpAsyncBulk
            | F::MultimemCpReduceAsyncBulk
            | F::MultimemLdReduceInt
            | F::MultimemLdReduceBits
            | F::MultimemLdReduceFloat
            | F::MultimemLdReduceVec
            | F::MultimemSt
            | F::MultimemStVec
            | F::MultimemRedInt
            | F::MultimemRedBits
            | F::MultimemRedFloat
            | F::MultimemRedVec
            | F::Tcgen05Commit
            | F::Tcgen05FenceBeforeThreadSync
            | F::Tcgen05FenceAfterThreadSync
            | F::Tcgen05WaitLd
            | F::Tcgen05WaitSt
            | F::Tcgen05Alloc
            | F::Tcgen05Dealloc
            | F::Tcgen05RelinquishAllocPermit
            | F::Tcgen05Ld
            | F::Tcgen05St
            | F::Tcgen05Cp
            | F::Tcgen05Shift
            | F::Tcgen05Mma
            | F::WgmmaFence
            | F::WgmmaCommitGroup
            | F::WgmmaWaitGroup
            | F::WgmmaMmaAsyncF16
            | F::WgmmaMmaAsyncF32
            | F::WgmmaMmaAsyncTf32
            | F::WgmmaMmaAsyncF8
            | F::WgmmaMmaAsyncInt
            | F::WgmmaMmaAsyncBit
            | F::FabricTryGetAsync
            | F::FabricTryPutAsync
            | F::FabricTryPutAsyncCounted
            | F::FabricTryPutAsyncMasked
            | F::FabricTryRedAsync
            | F::FabricTryRedAsyncCounted
            | F::FabricTryPullredAsync
            | F::FabricTryAtomAsync
            | F::FabricSubmit
            | F::FabricSubmitCommitGroup
            | F::FabricWait
            | F::FabricTryGetAsyncTensor
            | F::FabricTryPutAsyncTensor
            | F::FabricTryPutAsyncTensorCounted
            | F::FabricTryRedAsyncTensor
            | F::FabricTryRedAsyncTensorCounted => Err(Unsupported),
        }
    }

    fn simple(&mut self, op: Op) -> Lowered {
        self.emit(op);
        Ok(())
    }

    /// A computation on registers: destinations first, then sources.
    fn scalar(&mut self, row: &'a RowMatch) -> Lowered {
        let decoded = scalar::decode(row).ok_or(Unsupported)?;
        let operands = self.split(row)?;
        let written = operands.written[0];
        match decoded {
            Decoded::Value(op) if op.result_bits() == 1 => {
                let s = self.sources(&operands.read)?;
                let d = self.predicate_dst(written.0)?;
                let column = self.temporary();
                self.emit(Op::Scalar { op, d: Dst { column, sign_from: 0, bits: 64 }, s });
                self.emit(Op::Test { d, s: Src::register(column) });
            }
            Decoded::Value(op) => {
                let d = self.register_dst(written, op.result_bits(), op.signed_result())?;
                let s = self.scalar_sources(op, &operands.read)?;
                self.emit(Op::Scalar { op, d, s });
            }
            Decoded::Compare(op, combine) => {
                let (p, q) = self.predicate_pair(written)?;
                let a = self.source(operands.read[0])?;
                let b = self.source(*operands.read.get(1).ok_or(Unsupported)?)?;
                let c = match operands.read.get(2) {
                    Some(&(value, _)) => self.pred(value)?,
                    None => Pred::TRUE,
                };
                let compare = super::code::Compare { op, combine, p, q, s: [a, b], c };
                self.emit(Op::Compare(Box::new(compare)));
            }
            Decoded::Carry(op) => {
                let d = self.register_dst(written, op.ty.bits(), false)?;
                let s = self.sources(&operands.read)?;
                self.emit(Op::Carry { op, d, s: [s[0], s[1], s[2]] });
            }
            Decoded::Lop3(combine) => self.logic_and_test(&operands, combine)?,
        }
        Ok(())
    }

    /// The sources of an operation; four values of 32 bits come in two of 64.
    fn scalar_sources(&mut self, op: ScalarOp, read: &[operand::Typed]) -> Lowered<[Src; 4]> {
        if let ScalarOp::Video(_, signs, _) | ScalarOp::VideoMad(signs, _) = op {
            // A byte or half of a register is extended by the sign of its type.
            let mut read: SmallVec<[operand::Typed; 4]> = read.iter().copied().collect();
            for (source, sign) in read.iter_mut().zip([Signs::A, Signs::B]) {
                source.1 = if signs.has(sign) { Type::S32 } else { Type::U32 };
            }
            return self.sources(&read);
        }
        if read.len() <= op.sources().max(4) && !(read.len() == 5 && op.sources() == 3) {
            return self.sources(read);
        }
        let mut pair = |first: usize| -> Lowered<Src> {
            let s = self.sources(&read[first..first + 2])?;
            let column = self.temporary();
            let d = Dst { column, sign_from: 0, bits: 64 };
            self.emit(Op::Scalar { op: ScalarOp::Pack(32, 2), d, s });
            Ok(Src::register(column))
        };
        let (low, high) = (pair(0)?, pair(2)?);
        let bits = self.source(read[4])?;
        Ok([low, high, bits, bits])
    }

    /// `lop3` that combines "the result is not 0" with a predicate.
    fn logic_and_test(&mut self, operands: &operand::Operands, combine: BoolOp) -> Lowered {
        let pair = operands.written[0].0;
        let [d, p] = *self.routine.parts(pair) else { return Err(Unsupported) };
        let (&(q, _), values) = operands.read.split_last().ok_or(Unsupported)?;
        let q = self.pred(q)?;
        let s = self.sources(values)?;
        // The result is needed even when nobody keeps it.
        let d = match self.register_dst((d, Type::B32), 32, false)? {
            Dst { column: NONE, .. } => Dst { column: self.temporary(), sign_from: 0, bits: 32 },
            d => d,
        };
        let p = self.predicate_dst(p)?;
        self.emit(Op::Scalar { op: ScalarOp::Lop3, d, s });
        // The test may be into q itself: combine in one go.
        let test = self.test_predicate();
        self.emit(Op::Test { d: test, s: Src::register(d.column) });
        let table = match combine {
            BoolOp::And => AND,
            BoolOp::Or => OR,
            BoolOp::Xor => XOR,
        };
        self.emit(Op::Logic { table, d: p, s: [Pred::new(test, false), q, Pred::TRUE] });
        Ok(())
    }

    /// A predicate for an intermediate value: the frame has one besides the carry flag.
    fn test_predicate(&self) -> u32 {
        self.frame.predicates() - 2
    }

    /// Predicates from predicates.
    fn predicates(&mut self, row: &'a RowMatch) -> Lowered {
        let operands = self.split(row)?;
        let d = self.predicate_dst(operands.written[0].0)?;
        if let &[(value @ Value::Special(..), ty)] = operands.read.as_slice() {
            let s = self.source((value, ty))?;
            return self.simple(Op::Test { d, s });
        }
        let mut s = [Pred::TRUE; 3];
        for (slot, &(value, _)) in s.iter_mut().zip(&operands.read) {
            *slot = self.pred(value)?;
        }
        // Bit 4a + 2b + c.
        let table = match row.form() {
            Form::AndPred => AND,
            Form::OrPred => OR,
            Form::XorPred => XOR,
            Form::NotPred => 0b0000_1111,
            _ => 0b1111_0000,
        };
        self.emit(Op::Logic { table, d, s });
        Ok(())
    }

    fn sleep(&mut self) -> Lowered {
        let value = self.routine.operands(self.inst()).first().copied().ok_or(Unsupported)?;
        let source = self.source((value, Type::U32))?;
        self.simple(Op::Sleep(source))
    }

    fn policy(&mut self, row: &'a RowMatch) -> Lowered {
        let operands = self.split(row)?;
        let d = self.register_dst(operands.written[0], 64, false)?;
        let zero = self.constant(0);
        self.emit(Op::Scalar { op: ScalarOp::Mov(64), d, s: [zero; 4] });
        Ok(())
    }

    fn inst(&self) -> &'a program::Inst {
        &self.routine.instructions[self.at]
    }
}

/// The parameters of a device function.
fn formals(program: &Program, frame: &operand::Frame, routine: &Routine) -> (Vec<Slot>, usize) {
    let function = program.function(routine);
    let declared = function.returns.iter().chain(&function.parameters);
    let names = declared.flat_map(|p| p.declarators.iter().map(move |d| (p.space, d.name)));
    let slots = names.filter_map(|(space, name)| {
        if space == Space::Reg {
            frame.slot_of_register(routine, name.symbol)
        } else {
            frame.slot_of_variable(program, routine.item, name)
        }
    });
    (slots.collect(), function.returns.iter().map(|p| p.declarators.len()).sum())
}
