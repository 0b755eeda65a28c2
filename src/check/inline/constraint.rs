//! What the constraint of an operand makes of it (CUDA, "Inline PTX Assembly").

use crate::extract::Operand;
use crate::program::outside::Meaning;
use crate::syntax::ast::ConstValue;
use crate::types::{Type, TypeClass};

/// The letters of registers, with the type that each gives.
const REGISTERS: &[(char, Type)] = &[
    ('h', Type::B16),
    ('r', Type::B32),
    ('l', Type::B64),
    ('q', Type::B128),
    ('f', Type::F32),
    ('d', Type::F64),
    // Predicates exist for compilers only.
    ('b', Type::Pred),
];

/// The letters of a constraint, without the signs before them.
fn letters(operand: &Operand) -> &str {
    operand.constraint.as_deref().unwrap_or_default().trim_start_matches(['=', '+', '&', '%'])
}

/// The type of register that stands behind the constraint, if one does.
fn register(operand: &Operand) -> Option<Type> {
    let mut letters = letters(operand).chars();
    let (letter, None) = (letters.next()?, letters.next()) else { return None };
    REGISTERS.iter().find(|(known, _)| *known == letter).map(|(_, ty)| *ty)
}

/// The number of the output whose register an input shares: "0".
pub fn tied_to(operand: &Operand) -> Option<usize> {
    letters(operand).parse().ok().filter(|_| !operand.is_output)
}

/// What the operand stands for in the text.
pub fn meaning(operand: &Operand, others: &[Operand]) -> Meaning {
    if let Some(ty) = register(operand) {
        return Meaning::Register(ty);
    }
    if letters(operand) == "n" {
        return Meaning::Constant(operand.value.map(ConstValue::from));
    }
    match tied_to(operand).and_then(|number| others.get(number)) {
        Some(other) if other.is_output => meaning(other, &[]),
        _ => Meaning::Anything,
    }
}

/// The letter that gives a register for a value of `ty`; `None`: no operand can.
pub fn letter(ty: Type) -> Option<char> {
    let float = ty.class() == TypeClass::Float && ty.bits() >= 32 && ty != Type::F16x2 && ty != Type::Bf16x2;
    let found = REGISTERS.iter().find(|(_, other)| {
        other.bits() == ty.bits() && (other.class() == TypeClass::Float) == float && *other != Type::Pred
    });
    found.map(|(letter, _)| *letter)
}

/// Whether a register stands behind the constraint.
pub fn is_register(operand: &Operand) -> bool {
    register(operand).is_some()
}

/// Whether every letter of the constraint exists in CUDA.
pub fn is_known(operand: &Operand) -> bool {
    let known = |letter: char| {
        matches!(letter, 'n' | 'C' | '0'..='9') || REGISTERS.iter().any(|(other, _)| *other == letter)
    };
    letters(operand).chars().all(known)
}
