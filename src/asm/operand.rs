//! The operands of an instruction as data.

use serde::Serialize;

use crate::isa::RowMatch;
use crate::isa::operand::resolve_type;
use crate::isa::table::{Access, Operand as Spec, SPECIALS, Shape};
use crate::program::{Base, Inst, Program, Routine, Value};
use crate::syntax::ast::ConstValue;
use crate::syntax::print::one_line;

/// An operand.
#[derive(Serialize, Debug)]
pub struct Operand {
    /// Its name in the table; none where the table does not know it.
    pub name: Option<&'static str>,
    /// `register`, `constant`, `address`, `vector` …
    pub kind: &'static str,
    /// `read`, `write` or `read-write` (an address: the memory behind it).
    pub access: Option<&'static str>,
    /// The type that the instruction wants, or that a register has.
    #[serde(rename = "type")]
    pub ty: Option<&'static str>,
    /// As written.
    pub text: String,
    /// A constant's value, in decimal or as the bits of a float.
    pub value: Option<String>,
    /// What an address starts with: a register or variable.
    pub base: Option<String>,
    /// The byte offset of an address.
    pub offset: Option<i64>,
}

/// The operands of `inst`.
pub fn operands(program: &Program, routine: &Routine, inst: &Inst) -> Vec<Operand> {
    let row = program.row(routine, inst);
    let values = routine.operands(inst).iter().enumerate();
    values
        .map(|(index, value)| {
            let spec = row.and_then(|row| row.row.operands.get(index));
            let text = one_line(program.module.text(program.operand_span(routine, inst, index)));
            operand(program, routine, row, spec, *value, text)
        })
        .collect()
}

fn operand(
    program: &Program,
    routine: &Routine,
    row: Option<&RowMatch>,
    spec: Option<&Spec>,
    value: Value,
    text: String,
) -> Operand {
    let (base, offset) = match value {
        Value::Address(base, offset) | Value::Compound(base, offset, ..) => {
            (base_name(program, routine, base), Some(offset))
        }
        Value::Variable(id, offset) => (base_name(program, routine, Base::Variable(id)), Some(offset)),
        _ => (None, None),
    };
    Operand {
        name: spec.map(|spec| spec.arg.text()),
        kind: kind(value),
        access: spec.map(|spec| match spec.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::ReadWrite => "read-write",
        }),
        ty: row.zip(spec).and_then(|(row, spec)| wanted_type(row, spec)).or_else(|| own_type(routine, value)),
        text,
        value: match value {
            Value::Const(value) => Some(constant(value)),
            _ => None,
        },
        base,
        offset,
    }
}

fn kind(value: Value) -> &'static str {
    match value {
        Value::Register(_) | Value::Component(..) => "register",
        Value::Not(_) => "inverted-register",
        Value::Negated(_) => "negated-register",
        Value::Special(..) => "special-register",
        Value::Const(_) | Value::UnknownConst => "constant",
        Value::Variable(..) => "variable",
        Value::Element(_) => "element",
        Value::Label(_) => "label",
        Value::Function(_) => "function",
        Value::Sink => "sink",
        Value::Vector(..) => "vector",
        Value::Pair(_) => "pair",
        Value::Address(..) => "address",
        Value::Compound(..) => "compound-address",
        Value::Group(..) => "group",
        Value::Unknown => "unknown",
    }
}

fn wanted_type(row: &RowMatch, spec: &Spec) -> Option<&'static str> {
    match &spec.shape {
        Shape::Value(value) | Shape::Vector(value, _) => Some(resolve_type(row, value.ty).text()),
        Shape::Pair(first, ..) => wanted_type(row, first),
        _ => None,
    }
}

fn own_type(routine: &Routine, value: Value) -> Option<&'static str> {
    match value {
        Value::Register(id) | Value::Component(id, _) | Value::Not(id) | Value::Negated(id) => {
            Some(routine.register(id).ty.text())
        }
        Value::Special(index, _) => Some(SPECIALS[index as usize].ty.text()),
        _ => None,
    }
}

fn base_name(program: &Program, routine: &Routine, base: Base) -> Option<String> {
    let symbol = match base {
        Base::Register(id) => routine.register(id).symbol,
        Base::Variable(id) => program.variables[id.0 as usize].symbol,
        Base::Constant | Base::Unknown => return None,
    };
    Some(program.module.name(symbol).to_string())
}

fn constant(value: ConstValue) -> String {
    match value {
        ConstValue::F32(bits) => format!("0f{bits:08X}"),
        ConstValue::F64(value) => format!("0d{:016X}", value.to_bits()),
        ConstValue::Int { .. } => value.int().map_or(String::new(), |value| value.to_string()),
    }
}
