//! What is known of a register's value at a place without running the program.

use super::flow::{At, Flow};
use super::meaning::Meaning;
use super::{Base, RegisterId, Value, VariableId, operand_index};
use crate::isa::operand::resolve_type;
use crate::isa::table::{Shape, TypeSpec, special};
use crate::isa::{Arg, Mod, RowMatch};
use crate::types::{Space, Type, TypeClass};

/// A value, as far as it is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Known {
    /// Nothing.
    No,
    /// This number.
    Number(i64),
    /// An address within a variable.
    Place(Place),
    /// An address within a variable, at an offset that is not known.
    Within {
        /// The variable.
        variable: VariableId,
        /// Mapped to another CTA of the cluster.
        remote: bool,
    },
    /// The address of something in another CTA's shared memory, not known of what.
    Remote,
}

/// An address within a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Place {
    /// The variable.
    pub variable: VariableId,
    /// Bytes from its start.
    pub offset: i64,
    /// Mapped to another CTA of the cluster.
    pub remote: bool,
}

/// Which CTA of the cluster a rank means.
enum Rank {
    /// The thread's own.
    Own,
    /// Not known; perhaps its own.
    Unclear,
    /// Taken to be another one.
    Other,
}

/// How far chains of instructions are followed.
pub(super) const DEPTH: u32 = 24;

impl Known {
    /// The variable that an address lies in.
    pub fn variable(self) -> Option<VariableId> {
        match self {
            Known::Place(Place { variable, .. }) | Known::Within { variable, .. } => Some(variable),
            Known::No | Known::Number(_) | Known::Remote => None,
        }
    }

    /// The value as a register or operand of type `ty` holds it.
    fn in_type(self, ty: Type) -> Known {
        if !matches!(ty.class(), TypeClass::Integer | TypeClass::Bits) || ty.bits() > 64 {
            return Known::No;
        }
        match self {
            Known::Number(number) => Known::Number(wrapped(number, ty) as i64),
            // Half an address says nothing.
            _ if ty.bits() < 32 => Known::No,
            Known::Place(place) if ty.bits() == 32 => {
                Known::Place(Place { offset: i64::from(place.offset as i32), ..place })
            }
            other => other,
        }
    }

    /// What is known of a value that is one of the two.
    fn or(self, other: Known) -> Known {
        match (self, other) {
            (one, other) if one == other => one,
            (
                Known::Place(Place { variable, remote, .. }) | Known::Within { variable, remote },
                Known::Place(Place { variable: v, remote: r, .. }) | Known::Within { variable: v, remote: r },
            ) if variable == v && remote == r => Known::Within { variable, remote },
            _ => Known::No,
        }
    }
}

impl Flow<'_> {
    /// The value of an operand of the instruction at `at`.
    pub fn known(&self, at: At, value: Value) -> Known {
        self.known_within(at, value, DEPTH)
    }

    /// The number in the operand called `arg`, as the operand's type reads it.
    pub fn number(&self, at: At, arg: Arg) -> Option<i64> {
        self.number_within(at, arg, DEPTH)
    }

    pub(super) fn number_within(&self, at: At, arg: Arg, depth: u32) -> Option<i64> {
        match self.operand_within(at, arg, depth) {
            Known::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The place that an address operand names.
    pub fn place(&self, at: At, value: Value) -> Option<Place> {
        match self.address(at, value) {
            Known::Place(place) => Some(place),
            _ => None,
        }
    }

    /// What is known of an address operand, its offset included.
    pub fn address(&self, at: At, value: Value) -> Known {
        let (base, offset) = match value {
            Value::Address(base, offset) | Value::Compound(base, offset, ..) => (base, offset),
            _ => return Known::No,
        };
        match base {
            Base::Variable(variable) => Known::Place(Place { variable, offset, remote: false }),
            Base::Register(id) => {
                let ty = if self.routine.register(id).ty.bits() > 32 { Type::B64 } else { Type::B32 };
                sum(self.register(at, id, DEPTH), Known::Number(offset)).in_type(ty)
            }
            Base::Constant | Base::Unknown => Known::No,
        }
    }

    /// How many bytes `register` lies behind a value that the function was given or has read from
    /// memory, which compilers and people take to be aligned.
    pub fn behind_given(&self, at: At, register: RegisterId) -> Option<i64> {
        self.behind_given_within(at, register, DEPTH)
    }

    fn behind_given_within(&self, at: At, register: RegisterId, depth: u32) -> Option<i64> {
        if self.is_never_written(register) {
            return Some(0);
        }
        let definitions = self.reaching(at, register)?;
        let [only] = definitions.as_slice() else { return None };
        let follow = |arg| match self.operand(only.at, arg)? {
            Value::Register(id) => self.behind_given_within(only.at, id, depth.checked_sub(1)?),
            _ => None,
        };
        match self.meanings[only.at]? {
            Meaning::Load => Some(0),
            Meaning::Move | Meaning::ConvertAddress | Meaning::ConvertInt => follow(Arg::A),
            Meaning::Mapa => follow(Arg::Src),
            Meaning::Add => match self.number(only.at, Arg::B) {
                Some(number) => Some(follow(Arg::A)?.wrapping_add(number)),
                None => Some(follow(Arg::B)?.wrapping_add(self.number(only.at, Arg::A)?)),
            },
            Meaning::Sub => Some(follow(Arg::A)?.wrapping_sub(self.number(only.at, Arg::B)?)),
            _ => None,
        }
    }

    fn known_within(&self, at: At, value: Value, depth: u32) -> Known {
        match value {
            Value::Register(id) => self.register(at, id, depth),
            Value::Const(value) => match value.int() {
                // Numbers beyond the positive ones of 64 bits are kept as their bits.
                Some(n) if n >= i64::MIN.into() && n <= u64::MAX.into() => Known::Number(n as i64),
                _ => Known::No,
            },
            Value::Variable(variable, offset) => {
                let memory = self.program.variables[variable.0 as usize].space;
                match memory {
                    Space::Reg | Space::Sreg => Known::No,
                    _ => Known::Place(Place { variable, offset, remote: false }),
                }
            }
            _ => Known::No,
        }
    }

    /// The operand called `arg`, as its type reads it.
    fn operand_within(&self, at: At, arg: Arg, depth: u32) -> Known {
        match (self.operand(at, arg), self.operand_type(at, arg)) {
            (Some(value), Some(ty)) => self.known_within(at, value, depth).in_type(ty),
            _ => Known::No,
        }
    }

    /// The type of the operand called `arg`; none for packed types and what is no plain value.
    pub(super) fn operand_type(&self, at: At, arg: Arg) -> Option<Type> {
        let row = self.row(at)?;
        plain_type(row, operand_index(row, arg)?)
    }

    /// The type of what the instruction writes, if it is one plain value.
    pub(super) fn result_type(&self, at: At) -> Option<Type> {
        plain_type(self.row(at)?, 0)
    }

    /// The value of `register` just before `at`.
    pub(crate) fn register(&self, at: At, register: RegisterId, depth: u32) -> Known {
        if depth == 0 {
            return Known::No;
        }
        let Some(definitions) = self.reaching(at, register) else { return Known::No };
        let mut result: Option<Known> = None;
        for definition in definitions {
            let value = self.written_value(definition.at, register, depth - 1);
            let value = result.map_or(value, |known| known.or(value));
            if value == Known::No {
                return Known::No;
            }
            result = Some(value);
        }
        result.unwrap_or(Known::No)
    }

    /// The value that the instruction at `at` writes to `register`.
    fn written_value(&self, at: At, register: RegisterId, depth: u32) -> Known {
        if let Some(known) = self.memo.borrow().get(&(at, register)) {
            return *known;
        }
        if !self.has_steps_left() {
            return Known::No;
        }
        // Against cycles: a value that depends on itself is not known.
        self.memo.borrow_mut().insert((at, register), Known::No);
        let value = self.compute(at, depth);
        if self.has_steps_left() {
            self.memo.borrow_mut().insert((at, register), value);
        } else {
            // Another rule may have the time to find out.
            self.memo.borrow_mut().remove(&(at, register));
        }
        value
    }

    fn compute(&self, at: At, depth: u32) -> Known {
        let (Some(meaning), Some(ty)) = (self.meanings[at], self.result_type(at)) else { return Known::No };
        if !self.keeps_low_bits(at) {
            return Known::No;
        }
        let operand = |arg| self.operand_within(at, arg, depth);
        let value = match meaning {
            Meaning::Move | Meaning::ConvertAddress | Meaning::ConvertInt => operand(Arg::A),
            Meaning::Mapa => self.mapped(at, operand(Arg::Src)),
            Meaning::Mad => sum(numbers(Meaning::Mul, ty, operand(Arg::A), operand(Arg::B)), operand(Arg::C)),
            Meaning::Add => sum(operand(Arg::A), operand(Arg::B)),
            Meaning::Sub => match (operand(Arg::A), operand(Arg::B)) {
                (a @ (Known::Place(_) | Known::Within { .. }), Known::Number(b)) => {
                    sum(a, Known::Number(b.wrapping_neg()))
                }
                (a, b) => numbers(meaning, ty, a, b),
            },
            other => numbers(other, ty, operand(Arg::A), operand(Arg::B)),
        };
        value.in_type(ty)
    }

    /// Whether the result is cut to its low bits: neither the upper half of a product nor saturated.
    pub(super) fn keeps_low_bits(&self, at: At) -> bool {
        !self.has(at, Mod::Hi) && !self.has(at, Mod::Sat)
    }

    /// The result of `mapa`: the CTA's own rank gives the same place.
    fn mapped(&self, at: At, source: Known) -> Known {
        match (self.rank(at), source) {
            (Rank::Own, source) => source,
            (Rank::Unclear, _) => Known::No,
            (Rank::Other, Known::Place(place)) => Known::Place(Place { remote: true, ..place }),
            (Rank::Other, Known::Within { variable, .. }) => Known::Within { variable, remote: true },
            (Rank::Other, _) => Known::Remote,
        }
    }

    fn rank(&self, at: At) -> Rank {
        match self.operand(at, Arg::Rank).and_then(|rank| self.special_behind(at, rank, DEPTH)) {
            Some(special::CLUSTER_CTARANK) => Rank::Own,
            // In a cluster of one dimension it is the rank.
            Some(special::CLUSTER_CTAID) => Rank::Unclear,
            _ => Rank::Other,
        }
    }

    /// The index of the special register that `value` is a plain copy of.
    fn special_behind(&self, at: At, value: Value, depth: u32) -> Option<u16> {
        match value {
            Value::Special(index, _) => Some(index),
            Value::Register(id) if depth > 0 => {
                let definitions = self.reaching(at, id)?;
                let [only] = definitions.as_slice() else { return None };
                let copies = matches!(self.meanings[only.at]?, Meaning::Move | Meaning::ConvertInt);
                let source = self.operand(only.at, Arg::A).filter(|_| copies)?;
                self.special_behind(only.at, source, depth - 1)
            }
            _ => None,
        }
    }
}

/// The type of operand `index` of a row; none for packed types and what is no plain value.
fn plain_type(row: &RowMatch, index: usize) -> Option<Type> {
    let Shape::Value(value) = &row.row.operands.get(index)?.shape else { return None };
    match value.ty {
        TypeSpec::Slot(slot) => Type::from_text(row.meaning(slot.into())?.text()),
        TypeSpec::Fixed(_) | TypeSpec::Double(_) => Some(resolve_type(row, value.ty)),
    }
}

/// `number` as a register of `ty` holds it: cut to its bits, extended by sign or by zeros.
pub fn wrapped(number: i64, ty: Type) -> i128 {
    match (ty.class(), ty.bits()) {
        (TypeClass::Integer | TypeClass::Bits, bits @ 1..=64) => {
            let above = 64 - bits;
            match ty.is_signed() {
                true => (number << above >> above).into(),
                false => ((number as u64) << above >> above).into(),
            }
        }
        _ => number.into(),
    }
}

/// The result of an operation on two numbers in `ty`, before it is cut to its bits.
pub(super) fn binary(meaning: Meaning, ty: Type, a: i64, b: i64) -> Option<i64> {
    Some(match meaning {
        Meaning::Add => a.wrapping_add(b),
        Meaning::Sub => a.wrapping_sub(b),
        Meaning::Mul => a.wrapping_mul(b),
        Meaning::And => a & b,
        Meaning::Or => a | b,
        Meaning::Xor => a ^ b,
        // An amount beyond the width counts as the width (PTX ISA §9.7.8.8, §9.7.8.9).
        Meaning::Shl => match u32::try_from(b) {
            Ok(amount) if amount < ty.bits() => a.wrapping_shl(amount),
            _ => 0,
        },
        Meaning::Shr => {
            let amount = u32::try_from(b).unwrap_or(u32::MAX).min(ty.bits());
            (wrapped(a, ty) >> amount) as i64
        }
        _ => return None,
    })
}

fn sum(a: Known, b: Known) -> Known {
    match (a, b) {
        (Known::Number(a), Known::Number(b)) => Known::Number(a.wrapping_add(b)),
        (Known::Place(place), Known::Number(n)) | (Known::Number(n), Known::Place(place)) => {
            Known::Place(Place { offset: place.offset.wrapping_add(n), ..place })
        }
        (Known::Remote, _) | (_, Known::Remote) => Known::Remote,
        (
            Known::Place(Place { variable, remote, .. }) | Known::Within { variable, remote },
            Known::Number(_) | Known::No,
        )
        | (
            Known::Number(_) | Known::No,
            Known::Place(Place { variable, remote, .. }) | Known::Within { variable, remote },
        ) => Known::Within { variable, remote },
        _ => Known::No,
    }
}

fn numbers(meaning: Meaning, ty: Type, a: Known, b: Known) -> Known {
    match (a, b) {
        (Known::Number(a), Known::Number(b)) => binary(meaning, ty, a, b).map_or(Known::No, Known::Number),
        _ => Known::No,
    }
}
