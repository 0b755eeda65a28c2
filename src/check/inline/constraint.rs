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

/// What the operand stands for in the text.
pub fn meaning(operand: &Operand, others: &[Operand]) -> Meaning {
    let Some(constraint) = &operand.constraint else { return Meaning::Anything };
    let letters = constraint.trim_start_matches(['=', '+', '&', '%']);
    let mut rest = letters.chars();
    match (rest.next(), rest.next()) {
        (Some('n'), None) => Meaning::Constant(operand.value.map(ConstValue::from)),
        (Some(letter), None) => match REGISTERS.iter().find(|(known, _)| *known == letter) {
            Some((_, ty)) => Meaning::Register(*ty),
            // "0": the same register as that operand.
            None => match letter.to_digit(10).and_then(|number| others.get(number as usize)) {
                Some(other) if other.is_output && !operand.is_output => meaning(other, &[]),
                _ => Meaning::Anything,
            },
        },
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
    let letters = operand.constraint.as_deref().unwrap_or_default().trim_start_matches(['=', '+', '&']);
    letters.len() == 1 && REGISTERS.iter().any(|(letter, _)| letters.starts_with(*letter))
}

/// Whether every letter of the constraint exists in CUDA.
pub fn is_known(operand: &Operand) -> bool {
    let Some(constraint) = &operand.constraint else { return true };
    let letters = constraint.trim_start_matches(['=', '+', '&', '%']);
    let known = |letter: char| {
        matches!(letter, 'n' | 'C' | '0'..='9') || REGISTERS.iter().any(|(other, _)| *other == letter)
    };
    letters.chars().all(known)
}
