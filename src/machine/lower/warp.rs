//! Exchanges between lanes, barriers of the CTA and of the cluster.

use super::{Lowered, Lowerer, Unsupported};
use crate::isa::{Arg, Form, Mod, RowMatch};
use crate::machine::code::{
    ClusterBarrier, CtaBarrier, CtaBarrierKind, Dst, NONE, Op, Pred, Src, UpdateOp, Warp, WarpOp,
};
use crate::program::Value;
use crate::types::Type;

impl<'a> Lowerer<'a, '_> {
    pub(super) fn warp(&mut self, row: &'a RowMatch) -> Lowered {
        if row.form() == Form::Activemask {
            let operands = self.split(row)?;
            let d = self.register_dst(operands.written[0], 32, false)?;
            return self.simple(Op::ActiveMask(d));
        }
        let zero = self.constant(0);
        let mut warp =
            Warp { op: warp_op(row)?, d: Dst::SINK, p: NONE, s: [zero; 3], mask: self.member_mask(row)? };
        let values = self.routine.operands(self.inst());
        let (written, read) = if row.form() == Form::BarWarpSync { (None, 0) } else { (values.first(), 1) };
        if let Some(&written) = written {
            (warp.d, warp.p) = self.warp_results(written)?;
        }
        let last = values.len() - usize::from(warp.mask.is_some());
        let types = row.row.operands[read..].iter().map(|spec| self.operand(row, spec.arg));
        let read: Vec<_> = types.flatten().take(last.saturating_sub(read)).collect();
        for (slot, value) in warp.s.iter_mut().zip(read) {
            *slot = self.source(value)?;
        }
        self.simple(Op::Warp(Box::new(warp)))
    }

    /// The lanes that take part; none for the old forms without a mask.
    fn member_mask(&mut self, row: &RowMatch) -> Lowered<Option<Src>> {
        match self.optional(row, Arg::Mask)? {
            Some(mask) => Ok(Some(mask)),
            None => self.optional(row, Arg::Membermask),
        }
    }

    /// `d`, `p` or `d|p`
    fn warp_results(&self, value: Value) -> Lowered<(Dst, u32)> {
        match value {
            Value::Pair(_) => {
                let [d, p] = *self.routine.parts(value) else { return Err(Unsupported) };
                Ok((self.register_dst((d, Type::B32), 32, false)?, self.predicate_dst(p)?))
            }
            Value::Register(register) if self.routine.register(register).ty == Type::Pred => {
                Ok((Dst::SINK, self.predicate_dst(value)?))
            }
            _ => Ok((self.register_dst((value, Type::B32), 32, false)?, NONE)),
        }
    }

    pub(super) fn cta_barrier(&mut self, row: &'a RowMatch, aligned: bool) -> Lowered {
        let kind = match row.form() {
            Form::BarArrive | Form::BarCtaArrive | Form::BarrierArrive | Form::BarrierCtaArrive => {
                CtaBarrierKind::Arrive
            }
            _ if row.has(Mod::Popc) => CtaBarrierKind::Count,
            _ if row.has(Mod::And) => CtaBarrierKind::And,
            _ if row.has(Mod::Or) => CtaBarrierKind::Or,
            _ => CtaBarrierKind::Sync,
        };
        let (d, p) = match self.operand(row, Arg::Dst) {
            Some((value, _)) => self.warp_results(value)?,
            None => (Dst::SINK, NONE),
        };
        let predicate = match self.operand(row, Arg::Src) {
            Some((value, _)) => self.pred(value)?,
            None => Pred::TRUE,
        };
        let id = self.required(row, Arg::Barrier)?;
        let threads = self.optional(row, Arg::Threads)?;
        self.simple(Op::Cta(Box::new(CtaBarrier { kind, aligned, id, threads, predicate, d, p })))
    }

    pub(super) fn cluster_barrier(&mut self, row: &'a RowMatch, waits: bool) -> Lowered {
        self.simple({
            let (aligned, orders) = (row.has(Mod::Aligned), super::order::of_cluster_barrier(row));
            Op::Cluster(ClusterBarrier { waits, aligned, orders })
        })
    }
}

fn warp_op(row: &RowMatch) -> Lowered<WarpOp> {
    let has = |modifier| row.has(modifier);
    let bits = if has(Mod::B64) { 64 } else { 32 };
    Ok(match row.form() {
        Form::ShflSync | Form::Shfl if has(Mod::Up) => WarpOp::ShuffleUp,
        Form::ShflSync | Form::Shfl if has(Mod::Down) => WarpOp::ShuffleDown,
        Form::ShflSync | Form::Shfl if has(Mod::Bfly) => WarpOp::ShuffleButterfly,
        Form::ShflSync | Form::Shfl => WarpOp::ShuffleIndex,
        Form::VoteSync | Form::Vote if has(Mod::All) => WarpOp::VoteAll,
        Form::VoteSync | Form::Vote if has(Mod::Any) => WarpOp::VoteAny,
        Form::VoteSync | Form::Vote => WarpOp::VoteUniform,
        Form::VoteSyncBallot | Form::VoteBallot => WarpOp::Ballot,
        Form::MatchAnySync => WarpOp::MatchAny(bits),
        Form::MatchAllSync => WarpOp::MatchAll(bits),
        Form::ReduxSyncInt | Form::ReduxSyncBits => {
            let op = row.meanings().find_map(|modifier| match modifier {
                Mod::Add => Some(UpdateOp::Add),
                Mod::Min => Some(UpdateOp::Min),
                Mod::Max => Some(UpdateOp::Max),
                Mod::And => Some(UpdateOp::And),
                Mod::Or => Some(UpdateOp::Or),
                Mod::Xor => Some(UpdateOp::Xor),
                _ => None,
            });
            WarpOp::Reduce(op.ok_or(Unsupported)?, has(Mod::S32))
        }
        Form::ReduxSyncFloat => WarpOp::ReduceFloat(has(Mod::Max), has(Mod::Abs), has(Mod::NaN)),
        Form::ElectSync => WarpOp::Elect,
        Form::BarWarpSync => WarpOp::Meet,
        _ => return Err(Unsupported),
    })
}
