//! From the modifiers of an instruction to what it multiplies.

use super::element::{Accumulator, Factor, Format};
use super::fragment::{Order, Shape};
use super::mma::{Arithmetic, Mma};
use super::round::Rounding;
use crate::isa::{Mod, RowMatch};

/// The multiplication that `found` spells; none if it is another instruction, or one with scaled blocks or a
/// sparse matrix.
pub(super) fn decode(found: &RowMatch) -> Option<Mma> {
    if [Mod::BlockScale, Mod::Sp, Mod::SpOrderedMetadata].iter().any(|other| found.has(*other)) {
        return None;
    }
    let (m, k) = found.meanings().find_map(extent)?;
    let mut orders = found.meanings().filter_map(order);
    let (a_order, b_order) = (orders.next()?, orders.next()?);
    // Four types, in the order d, a, b, c.
    let mut types = found.meanings().filter(|m| factor(*m).is_some() || accumulator(*m).is_some());
    let d = accumulator(types.next()?)?;
    let a = factor(types.next()?)?;
    let b = factor(types.next()?)?;
    let c = accumulator(types.next()?)?;
    let on_quads = (m, k) == (8, 4) && a != Factor::F64;
    let quads = on_quads.then_some((a_order, b_order));
    let arithmetic = arithmetic(found, a, b, on_quads)?;
    Some(Mma { shape: Shape { m, k, quads }, a, b, c, d, arithmetic })
}

/// Rows and summands of a shape with 8 columns.
fn extent(shape: Mod) -> Option<(usize, usize)> {
    Some(match shape {
        Mod::M8n8k4 => (8, 4),
        Mod::M8n8k16 => (8, 16),
        Mod::M8n8k32 => (8, 32),
        Mod::M8n8k128 => (8, 128),
        Mod::M16n8k4 => (16, 4),
        Mod::M16n8k8 => (16, 8),
        Mod::M16n8k16 => (16, 16),
        Mod::M16n8k32 => (16, 32),
        Mod::M16n8k64 => (16, 64),
        Mod::M16n8k128 => (16, 128),
        Mod::M16n8k256 => (16, 256),
        _ => return None,
    })
}

fn order(modifier: Mod) -> Option<Order> {
    match modifier {
        Mod::Row => Some(Order::Row),
        Mod::Col => Some(Order::Col),
        _ => None,
    }
}

fn factor(ty: Mod) -> Option<Factor> {
    Some(match ty {
        Mod::F16 => Factor::Float(Format::F16),
        Mod::Bf16 => Factor::Float(Format::BF16),
        Mod::Tf32 => Factor::Float(Format::TF32),
        Mod::E4m3 => Factor::Float(Format::E4M3),
        Mod::E5m2 => Factor::Float(Format::E5M2),
        Mod::E3m2 => Factor::Float(Format::E3M2),
        Mod::E2m3 => Factor::Float(Format::E2M3),
        Mod::E2m1 => Factor::Float(Format::E2M1),
        Mod::F64 => Factor::F64,
        Mod::U8 => Factor::Int(8, false),
        Mod::S8 => Factor::Int(8, true),
        Mod::U4 => Factor::Int(4, false),
        Mod::S4 => Factor::Int(4, true),
        Mod::B1 => Factor::Bit,
        _ => return None,
    })
}

fn accumulator(ty: Mod) -> Option<Accumulator> {
    Some(match ty {
        Mod::F16 => Accumulator::F16,
        Mod::F32 => Accumulator::F32,
        Mod::F64 => Accumulator::F64,
        Mod::S32 => Accumulator::S32,
        _ => return None,
    })
}

/// How factors of these types are combined; none for types that do not go together.
fn arithmetic(found: &RowMatch, a: Factor, b: Factor, on_quads: bool) -> Option<Arithmetic> {
    Some(match (a, b) {
        (Factor::Float(_), Factor::Float(_)) if on_quads => Arithmetic::Quads,
        (Factor::Float(_), Factor::Float(_)) if a.bits() <= 8 => Arithmetic::Narrow,
        (Factor::Float(_), Factor::Float(_)) => Arithmetic::Wide,
        (Factor::F64, Factor::F64) => Arithmetic::Double(rounding(found)),
        (Factor::Int(..), Factor::Int(..)) => Arithmetic::Integer { saturate: found.has(Mod::Satfinite) },
        (Factor::Bit, Factor::Bit) if found.has(Mod::And) => Arithmetic::And,
        (Factor::Bit, Factor::Bit) if found.has(Mod::Xor) => Arithmetic::Xor,
        _ => return None,
    })
}

fn rounding(found: &RowMatch) -> Rounding {
    if found.has(Mod::Rz) {
        Rounding::Zero
    } else if found.has(Mod::Rm) {
        Rounding::Down
    } else if found.has(Mod::Rp) {
        Rounding::Up
    } else {
        Rounding::Nearest
    }
}
