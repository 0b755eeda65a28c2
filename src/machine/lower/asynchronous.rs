//! Barriers of shared memory, asynchronous copies, tensor maps.

use super::memory::update;
use super::operand::window_of;
use super::{Lowered, Lowerer, Unsupported, order};
use crate::isa::table::Shape;
use crate::isa::{Arg, Form, Mod, RowMatch};
use crate::machine::barrier::{Layout, PhaseType};
use crate::machine::code::{
    Address, Barrier, BarrierOp, Base, CancelQuery, Copy, Dst, Family, NONE, Op, Pred, Space, Src,
    TensorMapOp, TensorMode, What,
};
use crate::machine::tensor;
use crate::program::{Value, operand_index};
use crate::types::Type;

/// Whether a copy reports on its data to the barrier.
fn reports(row: &RowMatch) -> bool {
    row.meanings().any(|modifier| {
        modifier.text().starts_with(".mbarrier::report") && modifier != Mod::MbarrierReportDisabled
    })
}

impl<'a> Lowerer<'a, '_> {
    pub(super) fn barrier(&mut self, row: &'a RowMatch) -> Lowered {
        let op = barrier_op(row)?;
        // A state is no address.
        let address = match op {
            BarrierOp::PendingCount => Address { space: Space::Shared, base: Base::Zero, offset: 0 },
            _ => self.address(row, Arg::Bar)?,
        };
        let mut barrier = Barrier {
            op,
            address,
            state: Dst::SINK,
            value: None,
            p: [NONE; 2],
            report: Dst::SINK,
            mask: self.optional(row, Arg::Mask)?,
            order: order::of_barrier(row),
        };
        match op {
            BarrierOp::Init(_) | BarrierOp::CompleteTx | BarrierOp::ExpectTx => {
                barrier.value = self.counted(row)?;
            }
            BarrierOp::Arrive { .. } => {
                barrier.value = self.counted(row)?;
                if let Some(value) = self.operand(row, Arg::State) {
                    barrier.state = self.register_dst(value, 64, false)?;
                }
            }
            BarrierOp::Wait { .. } => self.wait(row, &mut barrier)?,
            BarrierOp::PendingCount => {
                barrier.value = Some(self.required(row, Arg::State)?);
                let count = self.operand(row, Arg::Count).ok_or(Unsupported)?;
                barrier.state = self.register_dst(count, 32, false)?;
            }
            BarrierOp::CheckLayout(_) => {
                let (value, _) = self.operand(row, Arg::Match).ok_or(Unsupported)?;
                barrier.p[0] = self.predicate_dst(value)?;
            }
            BarrierOp::Inval | BarrierOp::Track { .. } => {}
        }
        self.simple(Op::Barrier(Box::new(barrier)))
    }

    fn counted(&mut self, row: &RowMatch) -> Lowered<Option<Src>> {
        match self.optional(row, Arg::TxCount)? {
            Some(count) => Ok(Some(count)),
            None => self.optional(row, Arg::Count),
        }
    }

    fn wait(&mut self, row: &RowMatch, barrier: &mut Barrier) -> Lowered {
        barrier.value = match self.optional(row, Arg::Parity)? {
            Some(parity) => Some(parity),
            None => Some(self.required(row, Arg::State)?),
        };
        let first = *self.routine.operands(self.inst()).first().ok_or(Unsupported)?;
        barrier.p = match first {
            Value::Pair(_) => {
                let [done, report] = *self.routine.parts(first) else { return Err(Unsupported) };
                [self.predicate_dst(done)?, self.predicate_dst(report)?]
            }
            done => [self.predicate_dst(done)?, NONE],
        };
        if let Some(value) = self.operand(row, Arg::ReportValue) {
            barrier.report = self.register_dst(value, 8, false)?;
        }
        Ok(())
    }

    pub(super) fn group(&mut self, row: &'a RowMatch) -> Lowered {
        let but = match self.operand(row, Arg::Groups) {
            // A negative number waits for nothing: it counts as a very large one.
            Some((Value::Const(value), _)) => value.int().map(|n| n as u32),
            _ => None,
        };
        let read = row.has(Mod::Read);
        let op = match row.form() {
            Form::CpAsyncCommitGroup => Op::Commit(Family::Small),
            Form::CpAsyncBulkCommitGroup => Op::Commit(Family::Bulk),
            Form::CpAsyncWaitAll => Op::Wait { family: Family::Small, but: None, read: false },
            Form::CpAsyncWaitGroup => {
                Op::Wait { family: Family::Small, but: Some(but.ok_or(Unsupported)?), read: false }
            }
            _ => Op::Wait { family: Family::Bulk, but: Some(but.ok_or(Unsupported)?), read },
        };
        self.simple(op)
    }

    pub(super) fn small_copy(&mut self, row: &'a RowMatch) -> Lowered {
        let source_size = self.optional(row, Arg::SrcSize)?;
        let ignore = match self.operand(row, Arg::IgnoreSrc) {
            Some((value, _)) => self.pred(value)?,
            None => Pred::FALSE,
        };
        let size = self.operand(row, Arg::Size).ok_or(Unsupported)?;
        let align = match size.0 {
            Value::Const(value) => value.int().and_then(|n| u8::try_from(n).ok()).ok_or(Unsupported)?,
            _ => return Err(Unsupported),
        };
        let what = What::Bytes { source_size, ignore };
        let mut copy = self.between(row, what)?;
        (copy.align, copy.family) = (align, Family::Small);
        self.simple(Op::Copy(Box::new(copy)))
    }

    /// A copy between two addresses.
    fn between(&mut self, row: &RowMatch, what: What) -> Lowered<Copy> {
        let barrier = match operand_index(row, Arg::Bar) {
            Some(_) => Some(self.address(row, Arg::Bar)?),
            None => None,
        };
        Ok(Copy {
            what,
            to: self.address(row, Arg::Dst)?,
            from: self.address(row, Arg::Src)?,
            size: self.optional(row, Arg::Size)?,
            barrier,
            mask: self.optional(row, Arg::Mask)?,
            update: None,
            family: Family::Bulk,
            align: 16,
            order: None,
        })
    }

    pub(super) fn bulk_copy(&mut self, row: &'a RowMatch) -> Lowered {
        if reports(row) {
            return Err(Unsupported);
        }
        let what = match (self.optional(row, Arg::IgnoreLeft)?, self.optional(row, Arg::ByteMask)?) {
            (Some(left), _) => What::Within(left, self.required(row, Arg::IgnoreRight)?),
            (None, Some(mask)) => What::Masked(mask),
            (None, None) => What::Bytes { source_size: None, ignore: Pred::FALSE },
        };
        let mut copy = self.between(row, what)?;
        if matches!(row.form(), Form::CpReduceAsyncBulkSharedToShared | Form::CpReduceAsyncBulkSharedToGlobal)
        {
            let ty = element_type(row).ok_or(Unsupported)?;
            copy.update = Some(update(row, ty)?);
        }
        self.simple(Op::Copy(Box::new(copy)))
    }

    pub(super) fn tensor_copy(&mut self, row: &'a RowMatch) -> Lowered {
        let overridden = [Mod::OverrideGlobalAddress, Mod::OverrideGlobalDim, Mod::OverrideGlobalDimStride];
        let any_overridden = overridden.into_iter().any(|modifier| row.has(modifier));
        if any_overridden || row.has(Mod::CtaGroup2) || reports(row) {
            return Err(Unsupported);
        }
        let mode = row.meanings().find_map(|modifier| match modifier {
            Mod::Tile => Some(TensorMode::Tile),
            Mod::TileGather4 => Some(TensorMode::Gather4),
            Mod::TileScatter4 => Some(TensorMode::Scatter4),
            Mod::Im2col => Some(TensorMode::Im2col),
            Mod::Im2colW => Some(TensorMode::Im2colW),
            Mod::Im2colW128 => Some(TensorMode::Im2colW128),
            Mod::Im2colNoOffs => Some(TensorMode::Im2colNoOffsets),
            Mod::Im2colNoOffsW => Some(TensorMode::Im2colNoOffsetsW),
            _ => None,
        });
        let map = operand_index(row, Arg::Map).ok_or(Unsupported)?;
        let value = self.routine.operands(self.inst())[map];
        let Shape::Compound(_, parts) = &row.row.operands[map].shape else { return Err(Unsupported) };
        let map = self.address_of(value, Space::Generic)?;
        let coords = match (parts, self.routine.parts(value)) {
            ([_], &[coords]) => self.elements(coords),
            _ => return Err(Unsupported),
        };
        let coords = coords.into_iter().map(|c| self.source((c, Type::S32))).collect::<Lowered<_>>()?;
        let offsets = match self.operand(row, Arg::Offsets) {
            Some((value, _)) => self.elements(value),
            None => Vec::new(),
        };
        let offsets = offsets.into_iter().map(|o| self.source((o, Type::U16))).collect::<Lowered<_>>()?;
        let shared = if operand_index(row, Arg::Dst).is_some() { Arg::Dst } else { Arg::Src };
        let shared = self.address(row, shared)?;
        let barrier = match operand_index(row, Arg::Bar) {
            Some(_) => Some(self.address(row, Arg::Bar)?),
            None => None,
        };
        // The elements of a tensor have the type that its map says; a reduction names only the operation.
        let update = match row.form() {
            Form::CpReduceAsyncBulkTensor => Some(update(row, Type::U32)?),
            _ => None,
        };
        let what = What::Tensor { map, coords, offsets, mode: mode.unwrap_or(TensorMode::Tile) };
        let copy = Copy {
            what,
            to: shared,
            from: shared,
            size: None,
            barrier,
            mask: self.optional(row, Arg::Mask)?,
            update,
            family: Family::Bulk,
            align: 128,
            order: None,
        };
        self.simple(Op::Copy(Box::new(copy)))
    }

    /// Stores and reductions of registers into memory, in the background.
    pub(super) fn asynchronous_store(&mut self, row: &'a RowMatch) -> Lowered {
        let to = self.address(row, Arg::Dst)?;
        let barrier = match operand_index(row, Arg::Bar) {
            Some(_) => Some(self.address(row, Arg::Bar)?),
            None => None,
        };
        let (values, bytes) = self.values(row, Arg::Value)?;
        let total = u32::from(bytes) * values.len() as u32;
        let update = match row.form() {
            Form::RedAsyncShared | Form::RedAsyncGlobal | Form::RedAsyncUnsignaled => {
                Some(update(row, element_type(row).ok_or(Unsupported)?)?)
            }
            _ => None,
        };
        let copy = Copy {
            what: What::Values(values, bytes),
            to,
            from: to,
            size: None,
            barrier,
            mask: None,
            update,
            family: Family::Bulk,
            align: total.min(16) as u8,
            order: order::of_access(row),
        };
        self.simple(Op::Copy(Box::new(copy)))
    }

    pub(super) fn try_cancel(&mut self, row: &'a RowMatch) -> Lowered {
        let to = self.address(row, Arg::Dst)?;
        let barrier = Some(self.address(row, Arg::Bar)?);
        let copy = Copy {
            what: What::Cancel(row.has(Mod::MulticastClusterAll)),
            to,
            from: to,
            size: None,
            barrier,
            mask: None,
            update: None,
            family: Family::Bulk,
            align: 16,
            order: None,
        };
        self.simple(Op::Copy(Box::new(copy)))
    }

    pub(super) fn cancel_query(&mut self, row: &'a RowMatch) -> Lowered {
        let (response, _) = self.operand(row, Arg::Response).ok_or(Unsupported)?;
        let response = self.halves(response)?;
        let mut query = CancelQuery { p: NONE, d: [Dst::SINK; 4], response };
        match row.form() {
            Form::ClusterlaunchcontrolQueryCancelIsCanceled => {
                let (value, _) = self.operand(row, Arg::Canceled).ok_or(Unsupported)?;
                query.p = self.predicate_dst(value)?;
            }
            Form::ClusterlaunchcontrolQueryCancelGetFirstCtaid => {
                let value = self.routine.operands(self.inst())[0];
                for (slot, value) in query.d.iter_mut().zip(self.elements(value)) {
                    *slot = self.register_dst((value, Type::B32), 32, false)?;
                }
            }
            _ => {
                let dimension = match () {
                    () if row.has(Mod::GetFirstCtaidY) => 1,
                    () if row.has(Mod::GetFirstCtaidZ) => 2,
                    () => 0,
                };
                let value = self.operand(row, Arg::Ctaid).ok_or(Unsupported)?;
                query.d[dimension] = self.register_dst(value, 32, false)?;
            }
        }
        self.simple(Op::Cancel(Box::new(query)))
    }

    pub(super) fn replace_field(&mut self, row: &'a RowMatch) -> Lowered {
        use tensor::Field;
        let field = match row.form() {
            Form::TensormapReplaceAddress => Field::GlobalAddress,
            Form::TensormapReplaceRank => Field::Rank,
            Form::TensormapReplaceStride => Field::GlobalStride,
            Form::TensormapReplaceDimension if row.has(Mod::BoxDim) => Field::BoxDim,
            Form::TensormapReplaceDimension if row.has(Mod::GlobalDim) => Field::GlobalDim,
            Form::TensormapReplaceDimension => Field::ElementStride,
            Form::TensormapReplaceElemtype => Field::ElementType,
            Form::TensormapReplaceInterleaveLayout => Field::InterleaveLayout,
            Form::TensormapReplaceSwizzleMode => Field::SwizzleMode,
            Form::TensormapReplaceSwizzleAtomicity => Field::SwizzleAtomicity,
            _ => Field::FillMode,
        };
        let address = self.address(row, Arg::Map)?;
        let dimension = match self.operand(row, Arg::Ord) {
            Some((Value::Const(value), _)) => {
                value.int().and_then(|n| u32::try_from(n).ok()).ok_or(Unsupported)?
            }
            _ => 0,
        };
        let value = self.required(row, Arg::Value)?;
        self.simple(Op::TensorMap(Box::new(TensorMapOp::Replace(address, field, dimension, value))))
    }

    pub(super) fn copy_map(&mut self, row: &'a RowMatch) -> Lowered {
        let (to, from) = (self.address(row, Arg::Dst)?, self.address(row, Arg::Src)?);
        self.simple(Op::TensorMap(Box::new(TensorMapOp::Copy(to, from))))
    }
}

fn barrier_op(row: &RowMatch) -> Lowered<BarrierOp> {
    let layout = if row.has(Mod::LayoutV1) { Layout::V1 } else { Layout::V0 };
    let arrive = |drop, no_complete, expect_tx| BarrierOp::Arrive { drop, no_complete, expect_tx };
    let phase_type =
        if row.has(Mod::PhaseTypeConditional) { PhaseType::Conditional } else { PhaseType::Primary };
    let wait = |parity, blocks| BarrierOp::Wait { parity, blocks, phase_type };
    Ok(match row.form() {
        Form::MbarrierInit => BarrierOp::Init(layout),
        Form::MbarrierInval => BarrierOp::Inval,
        Form::MbarrierExpectTx => BarrierOp::ExpectTx,
        Form::MbarrierCompleteTx => BarrierOp::CompleteTx,
        Form::MbarrierArrive => arrive(false, false, false),
        Form::MbarrierArriveNoComplete => arrive(false, true, false),
        Form::MbarrierArriveExpectTx => arrive(false, false, true),
        Form::MbarrierArriveDrop => arrive(true, false, false),
        Form::MbarrierArriveDropNoComplete => arrive(true, true, false),
        Form::MbarrierArriveDropExpectTx => arrive(true, false, true),
        Form::MbarrierTestWait => wait(false, false),
        Form::MbarrierTestWaitParity => wait(true, false),
        Form::MbarrierTryWait => wait(false, true),
        Form::MbarrierTryWaitParity => wait(true, true),
        Form::MbarrierPendingCount => BarrierOp::PendingCount,
        Form::MbarrierCheckLayout => BarrierOp::CheckLayout(layout),
        Form::CpAsyncMbarrierArrive => BarrierOp::Track { increments: true },
        Form::CpAsyncMbarrierArriveNoInc => BarrierOp::Track { increments: false },
        _ => return Err(Unsupported),
    })
}

/// The type of the elements that a reduction combines: that of its only modifier with one.
fn element_type(row: &RowMatch) -> Option<Type> {
    row.meanings().filter(|&modifier| window_of(modifier) == Space::Generic).find_map(Mod::carrier)
}
