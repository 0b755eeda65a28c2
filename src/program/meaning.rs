//! What each form of the table means to someone who follows asynchronous work and addresses. The
//! match has no wildcard arm: a new form does not build until it has a meaning.

use crate::isa::Form;

/// What an instruction does, as far as the checks care.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Meaning {
    /// Makes an mbarrier object.
    BarrierInit,
    /// Ends an mbarrier object.
    BarrierInval,
    /// Adds to a transaction count.
    ExpectTx,
    /// Takes from a transaction count.
    CompleteTx,
    /// Arrives (perhaps dropping out).
    Arrive,
    /// Arrives with the promise not to complete the phase.
    ArriveNoComplete,
    /// Expects transactions, then arrives.
    ArriveExpectTx,
    /// Tests or waits for a phase named by a state.
    WaitState,
    /// Tests or waits for a phase named by its parity.
    WaitParity,
    /// Reads something of a state or barrier without changing it.
    BarrierQuery,
    /// A non-bulk asynchronous copy.
    CpAsync,
    /// Closes a group of them.
    CpAsyncCommit,
    /// Waits for groups of them.
    CpAsyncWaitGroup,
    /// Waits for all of them.
    CpAsyncWaitAll,
    /// Lets an mbarrier track them; counts an arrival on its own.
    CpAsyncArrive,
    /// The same, its arrival being part of the barrier's count.
    CpAsyncArriveNoInc,
    /// A bulk or tensor copy into shared memory that signals an mbarrier.
    BulkLoad,
    /// A bulk or tensor copy or reduction out of shared memory, tracked by bulk groups.
    BulkStore,
    /// Closes a bulk group.
    BulkCommit,
    /// Waits for bulk groups.
    BulkWait,
    /// A store or reduction into another CTA's shared memory that signals an mbarrier.
    AsyncStore,
    /// Another asynchronous operation that may signal an mbarrier.
    AsyncOther,
    /// Lets an mbarrier track other asynchronous operations.
    Track,
    /// A fence between threads.
    Fence,
    /// A fence that publishes mbarrier inits to the cluster.
    FenceMbarrierInit,
    /// A fence between the generic and the async proxy.
    FenceProxyAsync,
    /// Any other proxy fence.
    FenceProxy,
    /// Waits at a CTA barrier, aligned only if a modifier says so.
    CtaBarrier,
    /// Arrives at a CTA barrier without waiting, aligned only if a modifier says so.
    CtaBarrierArrive,
    /// Waits at a CTA barrier; whole warps do so together.
    AlignedBarrier,
    /// Arrives at a CTA barrier without waiting; whole warps do so together.
    AlignedBarrierArrive,
    /// Waits at a warp barrier.
    WarpBarrier,
    /// Arrives at the cluster barrier.
    ClusterArrive,
    /// Waits at the cluster barrier.
    ClusterWait,
    /// Maps a shared address to another CTA's.
    Mapa,
    /// Tells the CTA that a shared address belongs to.
    RankOf,
    /// Elects one lane.
    Elect,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads and writes memory at once.
    Atomic,
    /// Moves a value or address.
    Move,
    /// Converts between address windows; the place stays the same.
    ConvertAddress,
    /// Converts between integer types.
    ConvertInt,
    /// Integer sum.
    Add,
    /// Integer difference.
    Sub,
    /// Integer product.
    Mul,
    /// Integer product plus a third operand.
    Mad,
    /// Shift to the left.
    Shl,
    /// Shift to the right.
    Shr,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise or logical complement.
    Not,
    /// Logical and of predicates.
    AndPred,
    /// Logical or of predicates.
    OrPred,
    /// Compares and sets a predicate.
    Compare,
    /// Selects one of two values.
    Select,
    /// Any other computation on registers.
    Compute,
    /// Jumps.
    Branch,
    /// Jumps to one of several labels.
    BranchIndexed,
    /// Calls a function.
    Call,
    /// Returns or ends the thread.
    End,
    /// Something without influence on registers, memory or barriers that the checks follow.
    Other,
}

/// What an instruction does that code around it depends on; the later, the more depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Effect {
    /// Starts a copy, or closes a group of copies.
    Copies,
    /// Makes or ends a barrier, or arrives at one.
    Arrives,
    /// Orders memory accesses.
    Fences,
    /// Waits for other threads or for copies.
    Waits,
}

impl Effect {
    /// The effect of an instruction that means `meaning`, if it has one.
    pub const fn of(meaning: Meaning) -> Option<Effect> {
        Some(match meaning {
            Meaning::WaitState
            | Meaning::WaitParity
            | Meaning::CpAsyncWaitGroup
            | Meaning::CpAsyncWaitAll
            | Meaning::BulkWait
            | Meaning::CtaBarrier
            | Meaning::AlignedBarrier
            | Meaning::WarpBarrier
            | Meaning::ClusterWait => Effect::Waits,
            Meaning::Fence | Meaning::FenceMbarrierInit | Meaning::FenceProxyAsync | Meaning::FenceProxy => {
                Effect::Fences
            }
            Meaning::BarrierInit
            | Meaning::BarrierInval
            | Meaning::ExpectTx
            | Meaning::CompleteTx
            | Meaning::Arrive
            | Meaning::ArriveNoComplete
            | Meaning::ArriveExpectTx
            | Meaning::CpAsyncArrive
            | Meaning::CpAsyncArriveNoInc
            | Meaning::CtaBarrierArrive
            | Meaning::AlignedBarrierArrive
            | Meaning::ClusterArrive
            | Meaning::Track => Effect::Arrives,
            Meaning::CpAsync
            | Meaning::CpAsyncCommit
            | Meaning::BulkLoad
            | Meaning::BulkStore
            | Meaning::BulkCommit
            | Meaning::AsyncStore
            | Meaning::AsyncOther => Effect::Copies,
            _ => return None,
        })
    }

    /// As a verb: "waits".
    pub const fn verb(self) -> &'static str {
        match self {
            Effect::Copies => "copies",
            Effect::Arrives => "arrives",
            Effect::Fences => "fences",
            Effect::Waits => "waits",
        }
    }
}

impl Meaning {
    /// Whether it computes on registers and does nothing else.
    pub fn is_computation(self) -> bool {
        use Meaning::*;
        matches!(
            self,
            Move | ConvertAddress
                | ConvertInt
                | Add
                | Sub
                | Mul
                | Mad
                | Shl
                | Shr
                | And
                | Or
                | Xor
                | Not
                | AndPred
                | OrPred
                | Compare
                | Select
                | Compute
        )
    }

    /// The meaning of `form`.
    pub const fn of(form: Form) -> Meaning {
        use Form as F;
        match form {
            F::MbarrierInit => Meaning::BarrierInit,
            F::MbarrierInval => Meaning::BarrierInval,
            F::MbarrierExpectTx => Meaning::ExpectTx,
            F::MbarrierCompleteTx => Meaning::CompleteTx,
            F::MbarrierArrive | F::MbarrierArriveDrop => Meaning::Arrive,
            F::MbarrierArriveNoComplete | F::MbarrierArriveDropNoComplete => Meaning::ArriveNoComplete,
            F::MbarrierArriveExpectTx | F::MbarrierArriveDropExpectTx => Meaning::ArriveExpectTx,
            F::MbarrierTestWait | F::MbarrierTryWait => Meaning::WaitState,
            F::MbarrierTestWaitParity | F::MbarrierTryWaitParity => Meaning::WaitParity,
            F::MbarrierPendingCount | F::MbarrierCheckLayout => Meaning::BarrierQuery,
            F::CpAsync => Meaning::CpAsync,
            F::CpAsyncCommitGroup => Meaning::CpAsyncCommit,
            F::CpAsyncWaitGroup => Meaning::CpAsyncWaitGroup,
            F::CpAsyncWaitAll => Meaning::CpAsyncWaitAll,
            F::CpAsyncMbarrierArrive => Meaning::CpAsyncArrive,
            F::CpAsyncMbarrierArriveNoInc => Meaning::CpAsyncArriveNoInc,
            F::CpAsyncBulkGlobalToShared | F::CpAsyncBulkTensorLoad => Meaning::BulkLoad,
            F::CpAsyncBulkSharedToShared | F::CpReduceAsyncBulkSharedToShared => Meaning::AsyncOther,
            F::CpAsyncBulkSharedToGlobal
            | F::CpReduceAsyncBulkSharedToGlobal
            | F::MultimemCpAsyncBulk
            | F::MultimemCpReduceAsyncBulk
            | F::CpAsyncBulkTensorStore
            | F::CpReduceAsyncBulkTensor => Meaning::BulkStore,
            F::CpAsyncBulkCommitGroup => Meaning::BulkCommit,
            F::CpAsyncBulkWaitGroup => Meaning::BulkWait,
            F::StAsyncShared | F::RedAsyncShared => Meaning::AsyncStore,
            F::StAsyncGlobal
            | F::StAsyncUnsignaled
            | F::MultimemStAsync
            | F::RedAsyncGlobal
            | F::RedAsyncUnsignaled
            | F::MultimemRedAsync
            | F::ClusterlaunchcontrolTryCancelAsync
            | F::FabricTryGetAsync
            | F::FabricTryPutAsync
            | F::FabricTryPutAsyncCounted
            | F::FabricTryPutAsyncMasked
            | F::FabricTryRedAsync
            | F::FabricTryRedAsyncCounted
            | F::FabricTryPullredAsync
            | F::FabricTryAtomAsync
            | F::FabricTryGetAsyncTensor
            | F::FabricTryPutAsyncTensor
            | F::FabricTryPutAsyncTensorCounted
            | F::FabricTryRedAsyncTensor
            | F::FabricTryRedAsyncTensorCounted => Meaning::AsyncOther,
            F::Tcgen05Commit => Meaning::Track,
            F::Fence | F::FenceSharedAcquire | F::FenceSharedRelease | F::FenceAliasRead | F::Membar => {
                Meaning::Fence
            }
            F::FenceMbarrierInit => Meaning::FenceMbarrierInit,
            F::FenceProxyAsync
            | F::FenceProxyAsyncAcquire
            | F::FenceProxyAsyncRelease
            | F::FenceProxyAsyncReleaseRead
            | F::MembarProxy => Meaning::FenceProxyAsync,
            F::FenceProxyAlias
            | F::FenceProxyTensormapRelease
            | F::FenceProxyTensormapAcquire
            | F::FenceProxyAcqRel
            | F::FenceProxyFabric
            | F::TensormapCpFenceproxy => Meaning::FenceProxy,
            F::BarSync
            | F::BarCtaSync
            | F::BarRedPopc
            | F::BarRedPred
            | F::BarCtaRedPopc
            | F::BarCtaRedPred => Meaning::AlignedBarrier,
            F::BarArrive | F::BarCtaArrive => Meaning::AlignedBarrierArrive,
            F::BarrierSync
            | F::BarrierCtaSync
            | F::BarrierRedPopc
            | F::BarrierRedPred
            | F::BarrierCtaRedPopc
            | F::BarrierCtaRedPred => Meaning::CtaBarrier,
            F::BarrierArrive | F::BarrierCtaArrive => Meaning::CtaBarrierArrive,
            F::BarWarpSync => Meaning::WarpBarrier,
            F::BarrierClusterArrive => Meaning::ClusterArrive,
            F::BarrierClusterWait => Meaning::ClusterWait,
            F::Mapa => Meaning::Mapa,
            F::Getctarank => Meaning::RankOf,
            F::ElectSync => Meaning::Elect,
            F::Ld | F::LdVec | F::LdNc | F::LdNcVec | F::Ldu | F::LduVec => Meaning::Load,
            F::Ldmatrix | F::LdmatrixUnpack | F::LdmatrixB8 => Meaning::Load,
            F::MultimemLdReduceInt
            | F::MultimemLdReduceBits
            | F::MultimemLdReduceFloat
            | F::MultimemLdReduceVec => Meaning::Load,
            F::St | F::StVec | F::StBulk | F::Stmatrix | F::StmatrixB8 => Meaning::Store,
            F::MultimemSt | F::MultimemStVec => Meaning::Store,
            F::AtomInt
            | F::AtomBits
            | F::AtomExch
            | F::AtomCas
            | F::AtomFloat
            | F::AtomVec
            | F::RedInt
            | F::RedBits
            | F::RedFloat
            | F::RedVec
            | F::MultimemRedInt
            | F::MultimemRedBits
            | F::MultimemRedFloat
            | F::MultimemRedVec => Meaning::Atomic,
            F::Mov | F::MovPred => Meaning::Move,
            F::Cvta | F::CvtaTo => Meaning::ConvertAddress,
            F::CvtInt => Meaning::ConvertInt,
            F::AddInt => Meaning::Add,
            F::SubInt => Meaning::Sub,
            F::MulInt | F::MulWide => Meaning::Mul,
            F::MadInt | F::MadWide => Meaning::Mad,
            F::Shl => Meaning::Shl,
            F::Shr => Meaning::Shr,
            F::And => Meaning::And,
            F::Or => Meaning::Or,
            F::Xor | F::XorPred => Meaning::Xor,
            F::Not | F::NotPred => Meaning::Not,
            F::AndPred => Meaning::AndPred,
            F::OrPred => Meaning::OrPred,
            F::SetpBits | F::SetpInt => Meaning::Compare,
            F::Selp => Meaning::Select,
            F::Bra => Meaning::Branch,
            F::BrxIdx => Meaning::BranchIndexed,
            F::Call => Meaning::Call,
            F::Ret | F::Exit | F::Trap => Meaning::End,
            F::Mul24
            | F::Mad24
            | F::AddCarry
            | F::AddFloat
            | F::AddMixed
            | F::SubCarry
            | F::SubFloat
            | F::SubMixed
            | F::MulFloat
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
            | F::SetpFloat
            | F::SetpPacked
            | F::SetBits
            | F::SetInt
            | F::SetFloat
            | F::SetPacked
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
            | F::Cnot
            | F::Lop3
            | F::Lop3Bool
            | F::Shf
            | F::Prmt
            | F::Movmatrix
            | F::MmaF16
            | F::MmaBf16
            | F::MmaTf32
            | F::MmaF64
            | F::MmaInt
            | F::MmaBit
            | F::MmaF8
            | F::MmaScaled
            | F::MmaSparse
            | F::MmaSparseScaled
            | F::WgmmaMmaAsyncF16
            | F::WgmmaMmaAsyncF32
            | F::WgmmaMmaAsyncTf32
            | F::WgmmaMmaAsyncF8
            | F::WgmmaMmaAsyncInt
            | F::WgmmaMmaAsyncBit
            | F::Tcgen05Ld
            | F::Tcgen05St
            | F::MovFloat
            | F::MovPack
            | F::MovUnpack
            | F::MovVec
            | F::ShflSync
            | F::Shfl
            | F::Isspacep
            | F::Istypep
            | F::CvtIntToFloat
            | F::CvtFloatToInt
            | F::CvtFloat
            | F::CvtTf32
            | F::CvtPack
            | F::CvtPack4
            | F::CvtRepack
            | F::CvtPackMerge
            | F::CreatepolicyFractional
            | F::CreatepolicyRange
            | F::CreatepolicyCvt
            | F::ClusterlaunchcontrolQueryCancelIsCanceled
            | F::ClusterlaunchcontrolQueryCancelGetFirstCtaid
            | F::ClusterlaunchcontrolQueryCancelGetFirstCtaidDim
            | F::TensormapQueryAllocClassLarge
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
            | F::Vset4
            | F::VoteSync
            | F::VoteSyncBallot
            | F::Vote
            | F::VoteBallot
            | F::MatchAnySync
            | F::MatchAllSync
            | F::Activemask
            | F::ReduxSyncInt
            | F::ReduxSyncBits
            | F::ReduxSyncFloat
            | F::Stacksave
            | F::Alloca => Meaning::Compute,
            F::Brkpt
            | F::Nanosleep
            | F::Pmevent
            | F::PmeventMask
            | F::Stackrestore
            | F::CpAsyncBulkPrefetch
            | F::CpAsyncBulkPrefetchTensor
            | F::ApplypriorityAsyncBulk
            | F::GriddepcontrolLaunchDependents
            | F::GriddepcontrolWait
            | F::SetmaxnregInc
            | F::SetmaxnregDec
            | F::Tcgen05FenceBeforeThreadSync
            | F::Tcgen05FenceAfterThreadSync
            | F::Tcgen05Alloc
            | F::Tcgen05Dealloc
            | F::Tcgen05RelinquishAllocPermit
            | F::Tcgen05Cp
            | F::Tcgen05Mma
            | F::Tcgen05Shift
            | F::Tcgen05WaitLd
            | F::Tcgen05WaitSt
            | F::WgmmaFence
            | F::WgmmaCommitGroup
            | F::WgmmaWaitGroup
            | F::FabricSubmit
            | F::FabricSubmitCommitGroup
            | F::FabricWait
            | F::Prefetch
            | F::PrefetchEvict
            | F::PrefetchValid
            | F::PrefetchTensormap
            | F::Prefetchu
            | F::Applypriority
            | F::Discard
            | F::TensormapReplaceAddress
            | F::TensormapReplaceRank
            | F::TensormapReplaceDimension
            | F::TensormapReplaceStride
            | F::TensormapReplaceElemtype
            | F::TensormapReplaceInterleaveLayout
            | F::TensormapReplaceSwizzleMode
            | F::TensormapReplaceSwizzleAtomicity
            | F::TensormapReplaceFillMode => Meaning::Other,
        }
    }

    /// Whether the flow rules have anything to say in a function that holds this.
    pub const fn is_asynchronous(self) -> bool {
        match self {
            Meaning::BarrierInit
            | Meaning::BarrierInval
            | Meaning::ExpectTx
            | Meaning::CompleteTx
            | Meaning::Arrive
            | Meaning::ArriveNoComplete
            | Meaning::ArriveExpectTx
            | Meaning::WaitState
            | Meaning::WaitParity
            | Meaning::BarrierQuery
            | Meaning::CpAsync
            | Meaning::CpAsyncCommit
            | Meaning::CpAsyncWaitGroup
            | Meaning::CpAsyncWaitAll
            | Meaning::CpAsyncArrive
            | Meaning::CpAsyncArriveNoInc
            | Meaning::BulkLoad
            | Meaning::BulkStore
            | Meaning::BulkCommit
            | Meaning::BulkWait
            | Meaning::AsyncStore
            | Meaning::AsyncOther
            | Meaning::Track
            | Meaning::CtaBarrier
            | Meaning::CtaBarrierArrive
            | Meaning::AlignedBarrier
            | Meaning::AlignedBarrierArrive
            | Meaning::WarpBarrier
            | Meaning::ClusterArrive
            | Meaning::ClusterWait
            | Meaning::Mapa => true,
            Meaning::Fence
            | Meaning::FenceMbarrierInit
            | Meaning::FenceProxyAsync
            | Meaning::FenceProxy
            | Meaning::RankOf
            | Meaning::Elect
            | Meaning::Load
            | Meaning::Store
            | Meaning::Atomic
            | Meaning::Move
            | Meaning::ConvertAddress
            | Meaning::ConvertInt
            | Meaning::Add
            | Meaning::Sub
            | Meaning::Mul
            | Meaning::Mad
            | Meaning::Shl
            | Meaning::Shr
            | Meaning::And
            | Meaning::Or
            | Meaning::Xor
            | Meaning::Not
            | Meaning::AndPred
            | Meaning::OrPred
            | Meaning::Compare
            | Meaning::Select
            | Meaning::Compute
            | Meaning::Branch
            | Meaning::BranchIndexed
            | Meaning::Call
            | Meaning::End
            | Meaning::Other => false,
        }
    }

    /// Whether it uses an mbarrier object in any way but making it.
    pub const fn uses_barrier(self) -> bool {
        matches!(
            self,
            Meaning::BarrierInval
                | Meaning::ExpectTx
                | Meaning::CompleteTx
                | Meaning::Arrive
                | Meaning::ArriveNoComplete
                | Meaning::ArriveExpectTx
                | Meaning::WaitState
                | Meaning::WaitParity
                | Meaning::BarrierQuery
                | Meaning::CpAsyncArrive
                | Meaning::CpAsyncArriveNoInc
                | Meaning::BulkLoad
                | Meaning::AsyncStore
                | Meaning::AsyncOther
                | Meaning::Track
        )
    }

    /// Whether it takes an address as a plain value, not in brackets.
    pub const fn takes_address_as_value(self) -> bool {
        matches!(self, Meaning::Mapa | Meaning::RankOf)
    }

    /// Whether the threads of a CTA or cluster wait or arrive there for one another.
    pub const fn is_meeting(self) -> bool {
        matches!(
            self,
            Meaning::CtaBarrier
                | Meaning::CtaBarrierArrive
                | Meaning::AlignedBarrier
                | Meaning::AlignedBarrierArrive
                | Meaning::ClusterArrive
                | Meaning::ClusterWait
        )
    }
}
