//! What others can see of an instruction: whether its order among theirs can matter.

use super::code::{Access, AccessKind, BarrierOp, Callee, Code, Op, Space, System, What};

/// What others can see of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// Nothing.
    Nothing,
    /// Data: where its order among the accesses of others matters, there is a race.
    Data,
    /// Its place among what others do matters.
    Order,
}

impl Op {
    /// What others can see of it. `in_kernel`: the routine in hand is the kernel.
    pub fn sight(&self, in_kernel: bool) -> Sight {
        match self {
            Op::Scalar { .. }
            | Op::Compare(_)
            | Op::Carry { .. }
            | Op::Logic { .. }
            | Op::Test { .. }
            | Op::Clock { .. }
            | Op::ActiveMask(_)
            | Op::LocalAddress(..)
            | Op::Convert(_)
            | Op::Branch { .. }
            | Op::Switch { .. }
            | Op::Stack(_)
            | Op::Nothing
            | Op::Fence(_)
            | Op::Cancel(_)
            | Op::Commit(_)
            // Lanes of one warp meet in any order.
            | Op::Warp(_)
            | Op::Together
            | Op::Sleep(_) => Sight::Nothing,
            // What has landed stays so.
            Op::Wait { .. } => Sight::Nothing,
            Op::Matrix(_) | Op::TensorMap(_) => Sight::Data,
            Op::Memory(access) => access.sight(),
            Op::Copy(copy) => match copy.what {
                // Who asks first gets the next cluster.
                What::Cancel(_) => Sight::Order,
                // It is its landing that has a place.
                What::Bytes { .. } | What::Within(..) | What::Masked(_) | What::Values(..) | What::Tensor { .. } => {
                    Sight::Data
                }
            },
            Op::Call(call) => match call.callee {
                Callee::Routine(_) | Callee::Indirect(_) | Callee::System(System::Vprintf) => Sight::Nothing,
                Callee::System(System::AssertFail | System::Allocate | System::Free) | Callee::Missing(_) => {
                    Sight::Order
                }
            },
            Op::Return { .. } => if in_kernel { Sight::Order } else { Sight::Nothing },
            Op::Barrier(barrier) => match barrier.op {
                BarrierOp::PendingCount => Sight::Nothing,
                BarrierOp::Init(_)
                | BarrierOp::Inval
                | BarrierOp::ExpectTx
                | BarrierOp::CompleteTx
                | BarrierOp::Arrive { .. }
                | BarrierOp::Wait { .. }
                | BarrierOp::CheckLayout(_)
                | BarrierOp::Track { .. } => Sight::Order,
            },
            Op::Cta(_) | Op::Cluster(_) | Op::Exit | Op::Trap | Op::Unsupported => Sight::Order,
        }
    }
}

impl Access {
    /// The same of an access to memory.
    fn sight(&self) -> Sight {
        if matches!(self.address.space, Space::Param | Space::Local | Space::Const) {
            return Sight::Nothing;
        }
        match self.kind {
            // A strong access is made to be seen.
            AccessKind::Load | AccessKind::Store if self.order.is_some() => Sight::Order,
            AccessKind::Load | AccessKind::Store | AccessKind::Fill => Sight::Data,
            AccessKind::Update(_) => Sight::Order,
        }
    }
}

impl Code {
    /// Whether clusters can see the order of what others do: through global memory, or because they take
    /// work from each other.
    pub fn clusters_see_each_other(&self) -> bool {
        let wide = |space: Space| matches!(space, Space::Global | Space::Generic);
        self.insts.iter().any(|inst| match &inst.op {
            Op::Memory(access) => wide(access.address.space) && access.sight() == Sight::Order,
            Op::Copy(copy) => {
                matches!(copy.what, What::Cancel(_)) || copy.update.is_some() && wide(copy.to.space)
            }
            Op::Call(call) => call.callee == Callee::System(System::Allocate),
            _ => false,
        })
    }
}
