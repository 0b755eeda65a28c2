//! Atomics and reductions: what becomes of the old value.

use super::access::Extent;
use super::{Doing, Place, local};
use crate::machine::Machine;
use crate::machine::code::{Access, Number, Update, UpdateOp};
use crate::machine::column::{Column, Mask, lanes};
use crate::machine::scalar::op::{Flags, FloatOp, Lanes, Rounding};
use crate::machine::scalar::{self, Float, Int, ScalarOp};

/// What an update makes of the old value and the operand.
pub fn combine(update: Update, old: u64, operand: u64) -> u64 {
    let bits = u32::from(update.bytes) * 8;
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    let ty = Int::unsigned(bits);
    let signed = |value: u64| -> i64 { ((value << (64 - bits)) as i64) >> (64 - bits) };
    let less = |a: u64, b: u64| match update.ty {
        Number::Signed => signed(a) < signed(b),
        _ => a & ty.mask() < b & ty.mask(),
    };
    let value = match (update.op, update.ty) {
        (UpdateOp::Exchange | UpdateOp::CompareSwap, _) => operand,
        (UpdateOp::And, _) => old & operand,
        (UpdateOp::Or, _) => old | operand,
        (UpdateOp::Xor, _) => old ^ operand,
        (UpdateOp::Inc, _) => {
            if old & mask >= operand & mask {
                0
            } else {
                old + 1
            }
        }
        (UpdateOp::Dec, _) => {
            if old & mask == 0 || old & mask > operand & mask {
                operand
            } else {
                old - 1
            }
        }
        (UpdateOp::Add, Number::Unsigned | Number::Signed) => old.wrapping_add(operand),
        (UpdateOp::Min, Number::Unsigned | Number::Signed) => {
            if less(operand, old) {
                operand
            } else {
                old
            }
        }
        (UpdateOp::Max, Number::Unsigned | Number::Signed) => {
            if less(old, operand) {
                operand
            } else {
                old
            }
        }
        (op, number) => float(op, number, old, operand),
    };
    value & mask
}

fn float(op: UpdateOp, number: Number, old: u64, operand: u64) -> u64 {
    let op = match op {
        UpdateOp::Min => FloatOp::Min,
        UpdateOp::Max => FloatOp::Max,
        _ => FloatOp::Add,
    };
    let (ty, lanes) = match number {
        Number::F16 => (Float::F16, Lanes::One),
        Number::F16x2 => (Float::F16, Lanes::Two),
        Number::Bf16 => (Float::Bf16, Lanes::One),
        Number::Bf16x2 => (Float::Bf16, Lanes::Two),
        Number::F64 => (Float::F64, Lanes::One),
        _ => (Float::F32, Lanes::One),
    };
    let op = ScalarOp::Float(op, ty, lanes, Rounding::Nearest, Flags::default());
    scalar::eval(op, [old, operand, 0, 0])
}

impl Machine<'_> {
    /// Each lane updates its location in turn. Sums of f32 in global memory flush subnormals, as on the chip.
    pub(super) fn update(&mut self, doing: &Doing, access: &Access, update: Update) {
        let bases = self.bases(doing, &access.address);
        let size = usize::from(access.bytes);
        let total = (size * access.from.len()) as u64;
        let column = |machine: &Self, sources: &[crate::machine::code::Src]| -> Vec<Column> {
            sources.iter().map(|&source| machine.values(doing, source)).collect()
        };
        let (from, swap) = (column(self, &access.from), column(self, &access.swap));
        let mut changed = false;
        let mut in_vain: Mask = 0;
        for lane in lanes(doing.lanes) {
            let place = self.checked(doing, &access.address, lane, Extent::natural(bases[lane], total), true);
            if self.stopped.is_some() {
                return;
            }
            let Some(place) = place else { continue };
            let old: Vec<(u64, u64)> = (0..from.len())
                .map(|index| self.read(doing.warp, lane, place.moved(index * size), size))
                .collect();
            let mask = u64::MAX >> (64 - 8 * size);
            let matches = old.iter().zip(&from).all(|((old, _), from)| *old == from[lane] & mask);
            if update.op == UpdateOp::CompareSwap && !matches {
                in_vain |= 1 << lane;
            }
            for (index, &(value, undefined)) in old.iter().enumerate() {
                let at = place.moved(index * size);
                let operand = from[index][lane];
                let unknown = self.undefined_bits(doing, access.from[index], lane) & mask;
                let (new, new_undefined) = match update.op {
                    UpdateOp::CompareSwap if !matches => (value, undefined),
                    UpdateOp::CompareSwap => {
                        let undefined = self.undefined_bits(doing, access.swap[index], lane) & mask;
                        (swap[index][lane] & mask, undefined)
                    }
                    UpdateOp::Exchange => (operand & mask, unknown),
                    _ => {
                        let any = if undefined | unknown == 0 { 0 } else { mask };
                        let flushes = matches!(
                            (at, update.op, update.ty),
                            (Place::Global(..), UpdateOp::Add, Number::F32)
                        );
                        let flush = |bits: u64| {
                            if flushes && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
                        };
                        (flush(combine(update, flush(value), flush(operand))), any)
                    }
                };
                changed |= (new, new_undefined) != (value, undefined);
                self.write(doing.warp, lane, at, size, new, new_undefined);
                if let Some(&to) = access.to.get(index) {
                    let registers = &mut self.warps[doing.warp].registers;
                    local::set_lane(registers, &doing.frame, lane, to, value, undefined);
                }
            }
        }
        if in_vain != 0 {
            self.note_in_vain(doing, access.order, in_vain);
        }
        // Who tries in vain, for a lock say, changes nothing that others could wait for.
        if changed {
            self.memory_changed(doing);
        }
    }
}
