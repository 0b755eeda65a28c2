//! Pieces of prose that several rules use.

use crate::isa::table::{Op, Slot};
use crate::isa::{RowMatch, describe};
use crate::types::{Type, TypeClass};

/// `a`, `b` or `c`
pub fn one_of<T: AsRef<str>>(items: &[T]) -> String {
    list(items.iter().map(|item| format!("`{}`", item.as_ref())), "or")
}

/// `a`, `b` and `c`
pub fn all_of<T: AsRef<str>>(items: &[T]) -> String {
    list(items.iter().map(|item| format!("`{}`", item.as_ref())), "and")
}

/// 1, 2 or 3
pub fn numbers<T: ToString>(items: &[T]) -> String {
    list(items.iter().map(T::to_string), "or")
}

fn list(items: impl Iterator<Item = String>, last_word: &str) -> String {
    let items: Vec<String> = items.collect();
    match items.as_slice() {
        [] => "nothing".into(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} {last_word} {last}", init.join(", ")),
    }
}

/// "1 operand", "2 operands"
pub fn count(n: usize, noun: &str) -> String {
    match n {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

/// "none is", "1 is", "2 are"
pub fn are(n: usize) -> String {
    match n {
        0 => "none is".into(),
        1 => "1 is".into(),
        n => format!("{n} are"),
    }
}

/// "a 64-bit register": for someone whose operand has another size.
pub fn sized_register_of(ty: Type) -> String {
    match ty.class() {
        TypeClass::Integer | TypeClass::Bits => format!("{} {}-bit register", article(ty.bits()), ty.bits()),
        _ => register_of(ty),
    }
}

/// "an integer register": for someone whose operand has the size, but another kind.
pub fn register_of(ty: Type) -> String {
    match ty.class() {
        TypeClass::Predicate => "a predicate register".into(),
        TypeClass::Float => format!("a `{ty}` or `.b{}` register", ty.bits()),
        TypeClass::Integer => format!("an integer or `.b{}` register", ty.bits()),
        TypeClass::Bits => format!("{} {}-bit register", article(ty.bits()), ty.bits()),
        TypeClass::Opaque => format!("a `{ty}` reference"),
    }
}

/// "an integer": for someone whose operand is a constant of another kind.
pub fn number_of(ty: Type) -> String {
    match ty.class() {
        TypeClass::Float => "a floating-point number".into(),
        TypeClass::Integer | TypeClass::Bits => "an integer".into(),
        _ => register_of(ty),
    }
}

/// "an integer constant"
pub fn constant_of(ty: Type) -> &'static str {
    match ty.class() {
        TypeClass::Float => "a floating-point constant",
        _ => "an integer constant",
    }
}

/// The article before a number of bits or bytes.
pub fn article(n: u32) -> &'static str {
    if n.to_string().starts_with('8') { "an" } else { "a" }
}

/// The first words of an opcode, for messages in which the rest does not matter.
pub fn short_name(opcode: &str) -> String {
    let end = opcode.find("::").map_or(opcode.len(), |at| opcode[..at].rfind('.').unwrap_or(at));
    opcode[..end].split('.').take(3).collect::<Vec<_>>().join(".")
}

/// An instruction's name as people say it: with the word that all spellings of the form go on with,
/// as in `bar.sync` or `cp.async.cg`.
pub fn name(op: &Op, found: &RowMatch) -> String {
    let fixed = |slot: &&Slot| !slot.optional && slot.alternatives.len() == 1;
    let next = found.row.slots.first().filter(fixed).map(|slot| slot.alternatives[0].modifier);
    match next.filter(|m| m.class() == 0 && !m.text().contains("::")) {
        Some(next) => format!("{}{}", op.name, next.text()),
        None => op.name.to_string(),
    }
}

/// An instruction's whole canonical spelling with the operands of the row.
pub fn signature(op: &str, found: &RowMatch) -> String {
    let mods: String = (0..found.chosen.len()).filter_map(|s| found.modifier(s)).map(|m| m.text()).collect();
    let operands = describe::operands(found.row);
    if operands.is_empty() { format!("{op}{mods}") } else { format!("{op}{mods} {operands}") }
}
