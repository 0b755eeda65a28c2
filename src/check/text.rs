//! Pieces of prose that several rules use.

use crate::isa::RowMatch;
use crate::isa::table::{Operand, Row, Shape};
use crate::types::{Type, TypeClass};

/// `a`, `b` or `c`
pub fn one_of<T: AsRef<str>>(items: &[T]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| format!("`{}`", item.as_ref())).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// `1`, `2` or `3` without quotes.
pub fn numbers(items: &[u8]) -> String {
    let words: Vec<String> = items.iter().map(u8::to_string).collect();
    match words.as_slice() {
        [] => "no".into(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
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

/// "a 32-bit register or integer constant"
pub fn type_in_words(ty: Type, constants: bool, only: bool) -> String {
    let register = match ty.class() {
        TypeClass::Predicate => "a predicate register".to_string(),
        TypeClass::Float => format!("a `{ty}` (or `.b{}`) register", ty.bits()),
        TypeClass::Integer | TypeClass::Bits => format!("a {}-bit register", ty.bits()),
        TypeClass::Opaque => format!("a `{ty}` reference"),
    };
    let constant = match ty.class() {
        TypeClass::Float => "floating-point constant",
        TypeClass::Bits => "constant",
        _ => "integer constant",
    };
    match (constants, only) {
        (_, true) => format!("{} {constant}", if constant.starts_with('i') { "an" } else { "a" }),
        (true, false) => format!("{register} or {constant}"),
        (false, false) => register,
    }
}

/// The operands of a row as the manual writes them: `state, [bar]{, count}`.
pub fn operands(row: &Row) -> String {
    let mut text = String::new();
    let mut open = 0;
    for (index, operand) in row.operands.iter().enumerate() {
        let optional = row.counts.contains(&(index as u8));
        if optional {
            text.push('{');
            open += 1;
        }
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(&operand_text(operand));
    }
    text.push_str(&"}".repeat(open));
    text
}

fn operand_text(operand: &Operand) -> String {
    let name = operand.arg.text();
    match &operand.shape {
        Shape::Sink(_) => "_".into(),
        Shape::Vector(..) => format!("{{{name}, …}}"),
        Shape::Pair(a, b, false) => format!("{}|{}", operand_text(a), operand_text(b)),
        Shape::Pair(a, b, true) => format!("{}{{|{}}}", operand_text(a), operand_text(b)),
        Shape::Address(_) => format!("[{name}]"),
        Shape::Compound(_, parts) => {
            let parts: Vec<String> = parts.iter().map(operand_text).collect();
            format!("[{name}, {}]", parts.join(", "))
        }
        Shape::Rest => "…".into(),
        _ => name.into(),
    }
}

/// An instruction's whole canonical spelling with the operands of the row.
pub fn signature(op: &str, found: &RowMatch) -> String {
    let mods: String =
        (0..found.chosen.len()).filter_map(|s| found.modifier(s)).map(|m| m.text()).collect();
    let operands = operands(found.row);
    if operands.is_empty() { format!("{op}{mods}") } else { format!("{op}{mods} {operands}") }
}
