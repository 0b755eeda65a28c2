//! Loads, stores, atomics, moves of parts, address conversions, matrices.

use super::operand::{columns_of, window_of};
use super::{Lowered, Lowerer, Unsupported, order};
use crate::isa::operand::{resolve_length, resolve_type};
use crate::isa::table::{Shape, Value as Spec};
use crate::isa::{Arg, Form, Mod, RowMatch};
use crate::machine::code::{
    Access, AccessKind, Convert, ConvertKind, Dst, Matrix, NONE, Number, Op, Space, Src, Stack, Update,
    UpdateOp,
};
use crate::machine::matrix;
use crate::machine::scalar::ScalarOp;
use crate::program::{Value, operand_index};
use crate::types::{Type, TypeClass};

impl<'a> Lowerer<'a, '_> {
    pub(super) fn load(&mut self, row: &'a RowMatch) -> Lowered {
        let address = self.address(row, Arg::Addr)?;
        let (values, ty) = self.data(row, Arg::D)?;
        let mut to = Vec::new();
        for value in values {
            match ty {
                Type::B128 => to.extend(self.halves_dst(value)?),
                _ => to.push(self.register_dst((value, ty), ty.bits(), ty.is_signed())?),
            }
        }
        self.access(row, AccessKind::Load, address, ty, (to, Vec::new()))
    }

    pub(super) fn store(&mut self, row: &'a RowMatch) -> Lowered {
        let address = self.address(row, Arg::Addr)?;
        let (values, ty) = self.data(row, Arg::A)?;
        let from = self.all_sources(values, ty)?;
        self.access(row, AccessKind::Store, address, ty, (Vec::new(), from))
    }

    fn access(
        &mut self,
        row: &RowMatch,
        kind: AccessKind,
        address: crate::machine::code::Address,
        ty: Type,
        (to, from): (Vec<Dst>, Vec<Src>),
    ) -> Lowered {
        let bytes = ty.bytes().min(8) as u8;
        let order = order::of_access(row);
        let access = Access { kind, address, bytes, to, from, swap: Vec::new(), order };
        self.simple(Op::Memory(Box::new(access)))
    }

    /// The elements of the operand called `arg`, and their type.
    fn data(&self, row: &RowMatch, arg: Arg) -> Lowered<(Vec<Value>, Type)> {
        let index = operand_index(row, arg).ok_or(Unsupported)?;
        let value = *self.routine.operands(self.inst()).get(index).ok_or(Unsupported)?;
        match &row.row.operands[index].shape {
            Shape::Vector(Spec { ty, .. }, length) => {
                let ty = resolve_type(row, *ty);
                let mut values = self.elements(value);
                let length = resolve_length(row, *length) as usize;
                // One register, or the sink, for all elements.
                if values.len() == 1 && length > 1 {
                    values = vec![values[0]; length];
                }
                Ok((values, ty))
            }
            Shape::Value(Spec { ty, .. }) => Ok((vec![value], resolve_type(row, *ty))),
            Shape::Sink(_) => Ok((vec![Value::Sink], Type::B32)),
            _ => Err(Unsupported),
        }
    }

    fn all_sources(&mut self, values: Vec<Value>, ty: Type) -> Lowered<Vec<Src>> {
        let mut from = Vec::new();
        for value in values {
            match ty {
                Type::B128 => from.extend(self.halves(value)?),
                _ => from.push(self.source((value, ty))?),
            }
        }
        Ok(from)
    }

    /// `st.bulk`
    pub(super) fn fill(&mut self, row: &'a RowMatch) -> Lowered {
        let address = self.address(row, Arg::Dst)?;
        let size = self.required(row, Arg::Size)?;
        let access = Access {
            kind: AccessKind::Fill,
            address,
            bytes: 8,
            to: Vec::new(),
            from: vec![size],
            swap: Vec::new(),
            order: None,
        };
        self.simple(Op::Memory(Box::new(access)))
    }

    /// Atomics and reductions.
    pub(super) fn update(&mut self, row: &'a RowMatch) -> Lowered {
        let address = self.address(row, Arg::Addr)?;
        let (values, ty) = self.data(row, Arg::B)?;
        let from = self.all_sources(values, ty)?;
        let swap = match self.operand(row, Arg::C) {
            Some((value, ty)) => self.all_sources(vec![value], ty)?,
            None => Vec::new(),
        };
        let mut to = Vec::new();
        if operand_index(row, Arg::D).is_some() {
            for value in self.data(row, Arg::D)?.0 {
                match ty {
                    Type::B128 => to.extend(self.halves_dst(value)?),
                    _ => to.push(self.register_dst((value, ty), ty.bits(), ty.is_signed())?),
                }
            }
        }
        let kind = AccessKind::Update(update(row, ty)?);
        let bytes = ty.bytes().min(8) as u8;
        let order = Some(order::of_update(row));
        let access = Access { kind, address, bytes, to, from, swap, order };
        self.simple(Op::Memory(Box::new(access)))
    }

    /// `mov` of parts into a whole.
    pub(super) fn pack(&mut self, row: &'a RowMatch) -> Lowered {
        let operands = self.split(row)?;
        let (whole, parts) = (operands.written[0].0, &operands.read);
        let bits = parts.first().ok_or(Unsupported)?.1.bits();
        if row.has(Mod::B128) && bits < 128 {
            let halves = self.halves_dst(whole)?;
            let half = parts.len() / 2;
            for (d, parts) in halves.into_iter().zip([&parts[..half], &parts[half..]]) {
                self.pack_into(d, parts, bits)?;
            }
            return Ok(());
        }
        let total = bits * parts.len() as u32;
        let d = self.register_dst((whole, Type::B64), total, false)?;
        self.pack_into(d, parts, bits)
    }

    fn pack_into(&mut self, d: Dst, parts: &[super::operand::Typed], bits: u32) -> Lowered {
        let s = self.sources(parts)?;
        let op = ScalarOp::Pack(bits as u8, parts.len() as u8);
        self.simple(Op::Scalar { op, d, s })
    }

    /// `mov` of a whole into its parts. The whole is read before any part is written.
    pub(super) fn unpack(&mut self, row: &'a RowMatch) -> Lowered {
        let operands = self.split(row)?;
        let (whole, ty) = operands.read[0];
        let bits = operands.written[0].1.bits();
        let sources =
            if ty == Type::B128 { self.halves(whole)?.to_vec() } else { vec![self.source((whole, ty))?] };
        let each = operands.written.len() / sources.len();
        let mut moves = Vec::new();
        for (index, &(part, part_type)) in operands.written.iter().enumerate() {
            let d = self.register_dst((part, part_type), bits, false)?;
            let offset = (index % each.max(1)) as u32 * bits;
            let s = self.extract(sources[index / each.max(1)], offset as u8, bits as u8);
            moves.push((d, s));
        }
        for (d, s) in moves.into_iter().filter(|(d, _)| d.column != NONE) {
            self.emit(Op::Scalar { op: ScalarOp::Mov(64), d, s: [s; 4] });
        }
        Ok(())
    }

    /// `mov` of a vector.
    pub(super) fn move_vector(&mut self, row: &'a RowMatch) -> Lowered {
        let operands = self.split(row)?;
        let mut moves = Vec::new();
        for (&d, &s) in operands.written.iter().zip(&operands.read) {
            let bits = s.1.bits();
            let d = self.register_dst(d, bits, false)?;
            let s = self.source(s)?;
            let copy = self.extract(s, 0, bits as u8);
            moves.push((d, copy));
        }
        for (d, s) in moves.into_iter().filter(|(d, _)| d.column != NONE) {
            self.emit(Op::Scalar { op: ScalarOp::Mov(64), d, s: [s; 4] });
        }
        Ok(())
    }

    /// Conversions between address windows.
    pub(super) fn convert(&mut self, row: &'a RowMatch) -> Lowered {
        let operands = self.split(row)?;
        let a = self.source(*operands.read.first().ok_or(Unsupported)?)?;
        let b = operands.read.get(1).map(|&value| self.source(value)).transpose()?.unwrap_or(a);
        let space = row.meanings().map(window_of).find(|&space| space != Space::Generic);
        let kind = match row.form() {
            Form::Cvta => ConvertKind::ToGeneric(space.ok_or(Unsupported)?),
            Form::CvtaTo => ConvertKind::FromGeneric(space.ok_or(Unsupported)?),
            Form::Isspacep => ConvertKind::Is(space.ok_or(Unsupported)?),
            // Without a space the address is generic; a variable's own address is not.
            Form::Mapa => {
                ConvertKind::Map(space.is_none() && !matches!(operands.read[0].0, Value::Variable(..)))
            }
            _ => ConvertKind::Rank(space.is_none() && !matches!(operands.read[0].0, Value::Variable(..))),
        };
        let (d, p) = match kind {
            ConvertKind::Is(_) => (Dst::SINK, self.predicate_dst(operands.written[0].0)?),
            _ => (self.register_dst(operands.written[0], operands.written[0].1.bits(), false)?, NONE),
        };
        self.simple(Op::Convert(Box::new(Convert { kind, d, p, a, b })))
    }

    pub(super) fn stack(&mut self, row: &'a RowMatch) -> Lowered {
        let values = self.routine.operands(self.inst());
        let first = (*values.first().ok_or(Unsupported)?, Type::U64);
        let op = match row.form() {
            Form::Stacksave => Stack::Save(self.register_dst(first, 64, false)?),
            Form::Stackrestore => Stack::Restore(self.source(first)?),
            _ => {
                let size = self.required(row, Arg::Size)?;
                let align = match self.operand(row, Arg::Align) {
                    Some((Value::Const(align), _)) => align.int().and_then(|n| u32::try_from(n).ok()),
                    _ => Some(8),
                };
                let align = align.filter(|n| n.is_power_of_two() && *n <= 1 << 16).ok_or(Unsupported)?;
                Stack::Allocate(self.register_dst(first, 64, false)?, size, align)
            }
        };
        self.simple(Op::Stack(op))
    }

    pub(super) fn load_matrix(&mut self, row: &'a RowMatch) -> Lowered {
        let op = matrix::decode_move(row).ok_or(Unsupported)?;
        let address = self.address(row, Arg::Addr)?;
        let (values, ty) = self.data(row, Arg::D)?;
        let to = self.all_dsts(values, ty)?;
        self.simple(Op::Matrix(Box::new(Matrix::Load(op, address, to))))
    }

    pub(super) fn store_matrix(&mut self, row: &'a RowMatch) -> Lowered {
        let op = matrix::decode_move(row).ok_or(Unsupported)?;
        let address = self.address(row, Arg::Addr)?;
        let (values, ty) = self.data(row, Arg::A)?;
        let from = self.all_sources(values, ty)?;
        self.simple(Op::Matrix(Box::new(Matrix::Store(op, address, from))))
    }

    pub(super) fn transpose(&mut self, row: &'a RowMatch) -> Lowered {
        let operands = self.split(row)?;
        let d = self.register_dst(operands.written[0], 32, false)?;
        let s = self.source(operands.read[0])?;
        self.simple(Op::Matrix(Box::new(Matrix::Transpose(d, s))))
    }

    pub(super) fn multiply(&mut self, row: &'a RowMatch) -> Lowered {
        let op = matrix::decode_mma(row).ok_or(Unsupported)?;
        let mut parts = Vec::new();
        for arg in [Arg::A, Arg::B, Arg::C] {
            let (values, ty) = self.data(row, arg)?;
            parts.push(self.all_sources(values, ty)?);
        }
        let (values, ty) = self.data(row, Arg::D)?;
        let d = self.all_dsts(values, ty)?;
        let [a, b, c] = <[Vec<Src>; 3]>::try_from(parts).map_err(|_| Unsupported)?;
        self.simple(Op::Matrix(Box::new(Matrix::Multiply(op, d, a, b, c))))
    }

    fn all_dsts(&self, values: Vec<Value>, ty: Type) -> Lowered<Vec<Dst>> {
        values.into_iter().map(|value| self.register_dst((value, ty), ty.bits(), false)).collect()
    }

    /// The columns of the operand called `arg`, as bytes of values.
    pub(super) fn values(&mut self, row: &RowMatch, arg: Arg) -> Lowered<(Vec<Src>, u8)> {
        let (values, ty) = self.data(row, arg)?;
        let from = self.all_sources(values, ty)?;
        debug_assert!(columns_of(ty) <= 2);
        Ok((from, ty.bytes().min(8) as u8))
    }
}

/// What an atomic, a reduction or an asynchronous reduction does, of elements of type `ty`.
pub(super) fn update(row: &RowMatch, ty: Type) -> Lowered<Update> {
    let op = row.meanings().find_map(|modifier| match modifier {
        Mod::Add => Some(UpdateOp::Add),
        Mod::Min => Some(UpdateOp::Min),
        Mod::Max => Some(UpdateOp::Max),
        Mod::Inc => Some(UpdateOp::Inc),
        Mod::Dec => Some(UpdateOp::Dec),
        Mod::And => Some(UpdateOp::And),
        Mod::Or => Some(UpdateOp::Or),
        Mod::Xor => Some(UpdateOp::Xor),
        Mod::Exch => Some(UpdateOp::Exchange),
        Mod::Cas => Some(UpdateOp::CompareSwap),
        _ => None,
    });
    let bytes = ty.bytes() as u8;
    let ty = match ty {
        Type::F16 => Number::F16,
        Type::F16x2 => Number::F16x2,
        Type::Bf16 => Number::Bf16,
        Type::Bf16x2 => Number::Bf16x2,
        Type::F32 => Number::F32,
        Type::F64 => Number::F64,
        ty if ty.is_signed() => Number::Signed,
        ty if matches!(ty.class(), TypeClass::Integer | TypeClass::Bits) => Number::Unsigned,
        _ => return Err(Unsupported),
    };
    Ok(Update { op: op.ok_or(Unsupported)?, ty, bytes })
}
