//! The compact form that the machine executes. `lower` makes it from a program, once.
//!
//! An instruction of PTX becomes one or a few [`Inst`]s, which remember where they come from.

use super::barrier::{Layout, PhaseType};
use super::column::{Column, LANES};
use super::matrix::{MatrixMove, Mma};
use super::order::{Fence, Order};
use super::scalar::{BoolOp, CarryOp, CompareOp, ScalarOp};
use super::tensor;
use crate::program::layout::Region;

/// Index of an instruction in [`Code::insts`].
pub type Pc = u32;

/// No instruction, no column.
pub const NONE: u32 = u32::MAX;

/// A whole kernel with all that it may call.
#[derive(Debug, Default)]
pub struct Code {
    /// All instructions; those of a routine stand together.
    pub insts: Vec<Inst>,
    /// The routines, in the order of the instructions.
    pub routines: Vec<RoutineCode>,
    /// Constants, the same value in all lanes.
    pub constants: Vec<Column>,
    /// What the columns at the bottom of each warp's registers hold.
    pub own: Vec<Own>,
    /// Targets of indexed branches.
    pub tables: Vec<Vec<Pc>>,
    /// Which routine is the kernel.
    pub kernel: usize,
    /// The kernel's shared memory, dynamic memory not counted.
    pub shared: Option<Region>,
    /// Bytes of the kernel's parameters.
    pub parameters: u32,
    /// Whether threads arrive at barriers of the CTA and go on.
    pub splits_barriers: bool,
    /// Whether threads take transactions off mbarriers.
    pub completes_by_hand: bool,
}

/// One routine.
#[derive(Debug, Clone, Default)]
pub struct RoutineCode {
    /// Index into the program's routines.
    pub routine: u32,
    /// Its first instruction.
    pub entry: Pc,
    /// One past its last instruction.
    pub end: Pc,
    /// Columns that a frame takes.
    pub columns: u32,
    /// Predicates that a frame takes; the last one is the carry flag.
    pub predicates: u32,
    /// Bytes of local memory that a frame takes: parameters and local variables.
    pub local: u32,
    /// Where its formal parameters are, results first.
    pub formals: Vec<Slot>,
    /// How many of them are results.
    pub results: usize,
}

/// Where a parameter of a device function is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// In the frame's local memory: offset and bytes.
    Memory(u32, u32),
    /// In columns of the frame: the first, and how many.
    Columns(u32, u32),
    /// In a predicate of the frame.
    Predicate(u32),
}

/// One instruction.
#[derive(Debug, Clone)]
pub struct Inst {
    /// The lanes that execute it.
    pub guard: Guard,
    /// Index into the instructions of its routine.
    pub at: u32,
    /// What it does.
    pub op: Op,
}

/// `@p`, `@!p` or nothing: a predicate of the frame, its sign in the low bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard(pub u32);

impl Guard {
    /// Always.
    pub const ALWAYS: Guard = Guard(NONE);

    /// `@p` or `@!p`
    pub fn new(predicate: u32, negated: bool) -> Guard {
        Guard(predicate << 1 | u32::from(negated))
    }
}

/// A value that is read: a column of the frame, a constant, a column of the warp, or a predicate as 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Src(pub u32);

/// What a [`Src`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A column of the frame.
    Register(u32),
    /// A constant.
    Constant(u32),
    /// A column at the bottom of the warp's registers.
    Own(u32),
    /// A predicate of the frame, perhaps negated.
    Predicate(u32, bool),
}

const KIND: u32 = 30;

impl Src {
    /// A column of the frame.
    pub fn register(column: u32) -> Src {
        Src(column)
    }

    /// A constant of the pool.
    pub fn constant(index: u32) -> Src {
        Src(1 << KIND | index)
    }

    /// A column of the warp.
    pub fn own(index: u32) -> Src {
        Src(2 << KIND | index)
    }

    /// A predicate of the frame.
    pub fn predicate(predicate: Pred) -> Src {
        Src(3 << KIND | predicate.0)
    }

    /// Which it is.
    #[inline]
    pub fn source(self) -> Source {
        let index = self.0 & ((1 << KIND) - 1);
        match self.0 >> KIND {
            0 => Source::Register(index),
            1 => Source::Constant(index),
            2 => Source::Own(index),
            _ => Source::Predicate(index >> 1, index & 1 == 1),
        }
    }
}

/// A predicate that is read: its index in the frame and its sign in the low bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pred(pub u32);

/// Stands for a constant predicate; its sign tells which.
const CONSTANT_PREDICATE: u32 = (1 << 28) - 1;

impl Pred {
    /// Always true.
    pub const TRUE: Pred = Pred(CONSTANT_PREDICATE << 1);
    /// Always false.
    pub const FALSE: Pred = Pred(CONSTANT_PREDICATE << 1 | 1);

    /// A predicate of the frame.
    pub fn new(index: u32, negated: bool) -> Pred {
        Pred(index << 1 | u32::from(negated))
    }

    /// Its index in the frame, if it is no constant.
    #[inline]
    pub fn index(self) -> Option<u32> {
        (self.0 >> 1 != CONSTANT_PREDICATE).then_some(self.0 >> 1)
    }

    /// Whether it is negated.
    #[inline]
    pub fn negated(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A register that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dst {
    /// The column of the frame; [`NONE`] for `_`.
    pub column: u32,
    /// The bits of the value, if the register is wider and the value signed; else 0.
    pub sign_from: u8,
    /// The bits of the register.
    pub bits: u8,
}

impl Dst {
    /// `_`
    pub const SINK: Dst = Dst { column: NONE, sign_from: 0, bits: 64 };

    /// A value as the register keeps it.
    #[inline]
    pub fn extended(self, value: u64) -> u64 {
        if self.sign_from == 0 {
            return value;
        }
        let shift = 64 - u32::from(self.sign_from);
        let value = ((value << shift) as i64 >> shift) as u64;
        value & (u64::MAX >> (64 - u32::from(self.bits)))
    }
}

/// What a column at the bottom of a warp's registers holds; it never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// Zero: registers of that kind have no meaning here.
    Zero,
    /// A component of the thread's place in its CTA.
    Tid(u8),
    /// A component of the CTA's size.
    Ntid(u8),
    /// A component of the CTA's place in the grid.
    Ctaid(u8),
    /// A component of the grid's size.
    Nctaid(u8),
    /// The lane.
    LaneId,
    /// The warp in its CTA.
    WarpId,
    /// Warps of a CTA.
    NwarpId,
    /// The multiprocessor: CTAs go to them in turn.
    SmId,
    /// Multiprocessors.
    NsmId,
    /// A component of the cluster's place.
    ClusterId(u8),
    /// A component of the number of clusters.
    NclusterId(u8),
    /// A component of the CTA's place in its cluster.
    ClusterCtaid(u8),
    /// A component of the cluster's size.
    ClusterNctaid(u8),
    /// The CTA's rank in its cluster.
    ClusterCtarank,
    /// CTAs of a cluster.
    ClusterNctarank,
    /// Whether the kernel was launched with clusters.
    IsExplicitCluster,
    /// Masks of lanes: this one; those up to it, below, from it, above.
    LanemaskEq,
    /// See [`Own::LanemaskEq`].
    LanemaskLe,
    /// See [`Own::LanemaskEq`].
    LanemaskLt,
    /// See [`Own::LanemaskEq`].
    LanemaskGe,
    /// See [`Own::LanemaskEq`].
    LanemaskGt,
    /// Bytes of shared memory, all together.
    TotalSmemSize,
    /// The same with what the system keeps.
    AggregateSmemSize,
    /// Bytes of dynamic shared memory.
    DynamicSmemSize,
    /// Where shared memory of the own CTA starts in the cluster's window.
    SharedBase,
    /// The first byte of shared memory that the system lends.
    ReservedSmemBegin,
    /// One past the last of them.
    ReservedSmemEnd,
    /// One past the last that the system keeps.
    ReservedSmemCap,
}

/// What an instruction does.
#[derive(Debug, Clone)]
pub enum Op {
    /// A computation on registers.
    Scalar {
        /// Which.
        op: ScalarOp,
        /// Its result.
        d: Dst,
        /// Its operands; unused ones repeat the first.
        s: [Src; 4],
    },
    /// A comparison that sets predicates.
    Compare(Box<Compare>),
    /// An operation with the carry flag.
    Carry {
        /// Which.
        op: CarryOp,
        /// Its result.
        d: Dst,
        /// Its operands.
        s: [Src; 3],
    },
    /// A predicate from up to three predicates: bit `4a + 2b + c` of the table.
    Logic {
        /// The truth table.
        table: u8,
        /// The predicate that is set.
        d: u32,
        /// The operands.
        s: [Pred; 3],
    },
    /// A predicate: whether a value is not 0.
    Test {
        /// The predicate that is set.
        d: u32,
        /// The value.
        s: Src,
    },
    /// The value of a clock.
    Clock {
        /// Its result.
        d: Dst,
        /// Which.
        clock: Clock,
    },
    /// The lanes that execute together.
    ActiveMask(Dst),
    /// The address of a local variable of the frame.
    LocalAddress(Dst, u32),
    /// Converts an address between windows.
    Convert(Box<Convert>),
    /// Goes on elsewhere.
    Branch {
        /// Where.
        target: Pc,
        /// Where lanes that part here meet again.
        join: Pc,
        /// A promise that they do not part.
        uniform: bool,
    },
    /// Goes on at an entry of a table.
    Switch {
        /// Index into the table.
        index: Src,
        /// Index into [`Code::tables`].
        table: u32,
        /// Where lanes that part here meet again.
        join: Pc,
        /// A promise that they do not part.
        uniform: bool,
    },
    /// Calls a routine.
    Call(Box<Call>),
    /// Returns from a routine, or ends the thread when it is the kernel.
    Return {
        /// A promise that the lanes do not part.
        uniform: bool,
    },
    /// Ends the thread.
    Exit,
    /// Stops the kernel with an error.
    Trap,
    /// Sleeps for nanoseconds.
    Sleep(Src),
    /// Takes the stack pointer, puts it back, or takes bytes from the stack.
    Stack(Stack),
    /// Does nothing that can be seen here: hints, prefetches, performance events.
    Nothing,
    /// Orders memory accesses; nothing to do where there is one order of all.
    Fence(Fence),
    /// Reads, writes or updates memory.
    Memory(Box<Access>),
    /// Exchanges values between lanes.
    Warp(Box<Warp>),
    /// Moves matrices between shared memory and registers, or multiplies them.
    Matrix(Box<Matrix>),
    /// A barrier of the CTA.
    Cta(Box<CtaBarrier>),
    /// The barrier of the cluster.
    Cluster(ClusterBarrier),
    /// An mbarrier.
    Barrier(Box<Barrier>),
    /// Starts an asynchronous copy.
    Copy(Box<Copy>),
    /// Closes a group of the lane's copies.
    Commit(Family),
    /// Waits for groups of the lane's copies.
    Wait {
        /// Of which kind.
        family: Family,
        /// All but so many of the newest groups; none: every copy, in a group or not.
        but: Option<u32>,
        /// Only until they have read their sources.
        read: bool,
    },
    /// A field of a tensor map.
    TensorMap(Box<TensorMapOp>),
    /// Reads the answer to a request to take over a cluster.
    Cancel(Box<CancelQuery>),
    /// All lanes do it together; nothing else is to be seen.
    Together,
    /// Not known how.
    Unsupported,
}

/// A comparison.
#[derive(Debug, Clone)]
pub struct Compare {
    /// Which.
    pub op: CompareOp,
    /// How the result is combined with `c`.
    pub combine: Option<BoolOp>,
    /// The predicate that is set, or [`NONE`].
    pub p: u32,
    /// The one that gets the complement (or the upper half), or [`NONE`].
    pub q: u32,
    /// The operands.
    pub s: [Src; 2],
    /// The predicate operand.
    pub c: Pred,
}

/// A clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// 64 bits.
    Whole,
    /// The upper 32.
    High,
}

/// A conversion between address windows.
#[derive(Debug, Clone)]
pub struct Convert {
    /// Which.
    pub kind: ConvertKind,
    /// The result, if it is a register.
    pub d: Dst,
    /// The result, if it is a predicate, or [`NONE`].
    pub p: u32,
    /// The address.
    pub a: Src,
    /// The rank, for a mapping.
    pub b: Src,
}

/// Kinds of [`Convert`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConvertKind {
    /// From a window to a generic address.
    ToGeneric(Space),
    /// From a generic address to a window.
    FromGeneric(Space),
    /// Whether a generic address lies in a window.
    Is(Space),
    /// The same place in another CTA; whether the address is generic.
    Map(bool),
    /// The CTA that an address lies in; whether the address is generic.
    Rank(bool),
}

/// An address window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// All of them.
    Generic,
    /// Global memory.
    Global,
    /// Constant memory.
    Const,
    /// The thread's own memory.
    Local,
    /// The kernel's parameters.
    Param,
    /// Shared memory of the own CTA.
    Shared,
    /// Shared memory of the CTAs of the cluster.
    Cluster,
}

/// An address operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The window that the instruction names.
    pub space: Space,
    /// What the address starts with.
    pub base: Base,
    /// What is added.
    pub offset: i64,
}

/// What an address starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Nothing.
    Zero,
    /// A value.
    Source(Src),
    /// The local memory of the frame.
    Frame,
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// What is passed.
    pub arguments: Vec<Passed>,
    /// Where the results go.
    pub results: Vec<Passed>,
    /// A promise that the lanes do not part.
    pub uniform: bool,
}

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Callee {
    /// A routine of the code.
    Routine(u32),
    /// The routine whose address a register holds.
    Indirect(Src),
    /// A function of the system.
    System(System),
    /// A function without a body.
    Missing(String),
}

/// Functions that the CUDA runtime provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Prints.
    Vprintf,
    /// A failed assertion.
    AssertFail,
    /// Allocates global memory.
    Allocate,
    /// Frees it.
    Free,
}

/// An argument or a result at the place of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// A variable in the frame's local memory: offset and bytes.
    Memory(u32, u32),
    /// A value.
    Value(Src),
    /// A register that is written.
    Register(Dst),
    /// A predicate that is written.
    Predicate(u32),
    /// Nothing.
    Nothing,
}

/// Operations on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// Reads the stack pointer.
    Save(Dst),
    /// Puts it back.
    Restore(Src),
    /// Takes bytes at an alignment.
    Allocate(Dst, Src, u32),
}

/// A synchronous access to memory.
#[derive(Debug, Clone)]
pub struct Access {
    /// What is done.
    pub kind: AccessKind,
    /// Where.
    pub address: Address,
    /// Bytes of an element.
    pub bytes: u8,
    /// Where the elements go.
    pub to: Vec<Dst>,
    /// Where they come from.
    pub from: Vec<Src>,
    /// The value to store when a comparison succeeds.
    pub swap: Vec<Src>,
    /// Its order, if it is strong.
    pub order: Option<Order>,
}

/// Kinds of [`Access`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes at once.
    Update(Update),
    /// Writes zeros: the number of bytes is `from[0]`.
    Fill,
}

/// What an atomic update makes of the old value and the operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Update {
    /// Which.
    pub op: UpdateOp,
    /// Of what.
    pub ty: Number,
    /// Bytes of an element.
    pub bytes: u8,
}

/// Operations of atomics and reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpdateOp {
    /// The sum.
    Add,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// One more, 0 above the operand.
    Inc,
    /// One less, the operand below 0 or above it.
    Dec,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The operand.
    Exchange,
    /// The second operand, if the old value is the first.
    CompareSwap,
}

/// Types of atomics and reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Number {
    /// Unsigned, or bits.
    Unsigned,
    /// Signed.
    Signed,
    /// Half precision.
    F16,
    /// Two of them.
    F16x2,
    /// The other half precision.
    Bf16,
    /// Two of them.
    Bf16x2,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// An exchange between lanes.
#[derive(Debug, Clone)]
pub struct Warp {
    /// Which.
    pub op: WarpOp,
    /// The register that is written.
    pub d: Dst,
    /// The predicate that is written, or [`NONE`].
    pub p: u32,
    /// The operands.
    pub s: [Src; 3],
    /// The mask of the lanes that take part; none: the active ones.
    pub mask: Option<Src>,
}

/// Kinds of [`Warp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WarpOp {
    /// Reads from a lower lane.
    ShuffleUp,
    /// Reads from a higher lane.
    ShuffleDown,
    /// Reads from the lane whose number differs in some bits.
    ShuffleButterfly,
    /// Reads from a lane.
    ShuffleIndex,
    /// Whether all are true.
    VoteAll,
    /// Whether any is true.
    VoteAny,
    /// Whether all are the same.
    VoteUniform,
    /// The mask of those that are true.
    Ballot,
    /// The mask of those with the same value; bits of the value.
    MatchAny(u8),
    /// The mask of all if they have the same value; bits of the value.
    MatchAll(u8),
    /// A reduction of integers.
    Reduce(UpdateOp, bool),
    /// A reduction of floats: the larger rather than the smaller, of absolute values, propagating NaN.
    ReduceFloat(bool, bool, bool),
    /// Chooses a lane.
    Elect,
    /// Only meets.
    Meet,
}

/// Matrices.
#[derive(Debug, Clone)]
pub enum Matrix {
    /// From shared memory.
    Load(MatrixMove, Address, Vec<Dst>),
    /// To shared memory.
    Store(MatrixMove, Address, Vec<Src>),
    /// A transposition between lanes.
    Transpose(Dst, Src),
    /// A product: d, a, b, c.
    Multiply(Mma, Vec<Dst>, Vec<Src>, Vec<Src>, Vec<Src>),
}

/// A barrier of the CTA.
#[derive(Debug, Clone)]
pub struct CtaBarrier {
    /// What is done.
    pub kind: CtaBarrierKind,
    /// Whether whole warps do it together.
    pub aligned: bool,
    /// Its number.
    pub id: Src,
    /// How many threads take part; none: all.
    pub threads: Option<Src>,
    /// The predicate that is reduced.
    pub predicate: Pred,
    /// The count that is written.
    pub d: Dst,
    /// The predicate that is written, or [`NONE`].
    pub p: u32,
}

/// Kinds of [`CtaBarrier`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CtaBarrierKind {
    /// Arrives and waits.
    Sync,
    /// Only arrives.
    Arrive,
    /// Arrives, waits, and counts.
    Count,
    /// Arrives, waits, and tells whether all are true.
    And,
    /// Arrives, waits, and tells whether any is true.
    Or,
}

/// The barrier of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterBarrier {
    /// Whether it waits rather than arrives.
    pub waits: bool,
    /// Whether whole warps do it together.
    pub aligned: bool,
    /// Whether it orders memory.
    pub orders: bool,
}

/// An operation on an mbarrier.
#[derive(Debug, Clone)]
pub struct Barrier {
    /// Which.
    pub op: BarrierOp,
    /// Where it is.
    pub address: Address,
    /// The state that is written.
    pub state: Dst,
    /// The count, transaction count, state or parity.
    pub value: Option<Src>,
    /// The predicates that are written: the answer, and whether there was a report; or [`NONE`].
    pub p: [u32; 2],
    /// The report that is written.
    pub report: Dst,
    /// The CTAs of a multicast.
    pub mask: Option<Src>,
    /// Its order.
    pub order: Order,
}

/// Kinds of [`Barrier`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierOp {
    /// Makes it.
    Init(Layout),
    /// Ends it.
    Inval,
    /// Announces transactions.
    ExpectTx,
    /// Takes transactions off.
    CompleteTx,
    /// Arrives.
    Arrive {
        /// Later phases expect it no more.
        drop: bool,
        /// A promise that the phase goes on.
        no_complete: bool,
        /// Announces transactions before.
        expect_tx: bool,
    },
    /// Asks for a phase.
    Wait {
        /// By parity rather than by state.
        parity: bool,
        /// Perhaps after waiting.
        blocks: bool,
        /// Which phase number counts.
        phase_type: PhaseType,
    },
    /// The pending count in a state.
    PendingCount,
    /// Whether it has that layout.
    CheckLayout(Layout),
    /// Arrives when the earlier copies of the lane are complete; whether it counts itself.
    Track {
        /// The arrival is not part of the barrier's count.
        increments: bool,
    },
}

/// Which groups an asynchronous copy belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Those of the small copies.
    Small,
    /// Those of bulk copies.
    Bulk,
}

/// An asynchronous copy or reduction.
#[derive(Debug, Clone)]
pub struct Copy {
    /// What is moved.
    pub what: What,
    /// Where to.
    pub to: Address,
    /// Where from.
    pub from: Address,
    /// How many bytes.
    pub size: Option<Src>,
    /// The barrier that counts the bytes; none: a group tracks it.
    pub barrier: Option<Address>,
    /// The CTAs of a multicast.
    pub mask: Option<Src>,
    /// Reduces rather than copies.
    pub update: Option<Update>,
    /// Which groups it belongs to, if a group tracks it.
    pub family: Family,
    /// Required alignment of both addresses in bytes.
    pub align: u8,
    /// The order of what it writes, if it is strong.
    pub order: Option<Order>,
}

/// What is moved.
#[derive(Debug, Clone)]
pub enum What {
    /// Bytes; for small copies how many of them come from the source, and whether none do.
    Bytes {
        /// How many come from the source; the rest are zeros.
        source_size: Option<Src>,
        /// Whether none do.
        ignore: Pred,
    },
    /// Bytes, a few of which at either end may be out of bounds.
    Within(Src, Src),
    /// Bytes that a mask chooses of every 16.
    Masked(Src),
    /// Values of registers; bytes of one of them.
    Values(Vec<Src>, u8),
    /// A box of a tensor.
    Tensor {
        /// The tensor map.
        map: Address,
        /// The coordinates.
        coords: Vec<Src>,
        /// Offsets of the im2col modes.
        offsets: Vec<Src>,
        /// The mode.
        mode: TensorMode,
    },
    /// An answer to a request to take over a cluster; whether all CTAs of the cluster get it.
    Cancel(bool),
}

/// How a tensor copy takes its coordinates; offsets are operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorMode {
    /// A box.
    Tile,
    /// Four rows, loaded.
    Gather4,
    /// Four rows, stored.
    Scatter4,
    /// Pixels of a bounding box, loaded.
    Im2col,
    /// Pixels along W, loaded.
    Im2colW,
    /// 128 pixels along W, loaded.
    Im2colW128,
    /// Pixels of a bounding box, stored.
    Im2colNoOffsets,
    /// Pixels along W, stored.
    Im2colNoOffsetsW,
}

/// Changes a tensor map.
#[derive(Debug, Clone)]
pub enum TensorMapOp {
    /// Replaces a field: where, which, the dimension, the value.
    Replace(Address, tensor::Field, u32, Src),
    /// Copies the map, all lanes together: to, from.
    Copy(Address, Address),
}

/// Reads an answer.
#[derive(Debug, Clone)]
pub struct CancelQuery {
    /// The predicate that is set, or [`NONE`].
    pub p: u32,
    /// The components that are written.
    pub d: [Dst; 4],
    /// The halves of the answer.
    pub response: [Src; 2],
}

impl Code {
    /// The routine that an instruction belongs to.
    pub fn routine_of(&self, pc: Pc) -> &RoutineCode {
        let index = self.routines.partition_point(|routine| routine.end <= pc);
        &self.routines[index.min(self.routines.len() - 1)]
    }

    /// A constant of the pool, the same value in all lanes.
    pub fn intern(&mut self, value: u64) -> Src {
        let found = self.constants.iter().rposition(|column| column[0] == value);
        let index = found.unwrap_or_else(|| {
            self.constants.push([value; LANES]);
            self.constants.len() - 1
        });
        Src::constant(index as u32)
    }
}
