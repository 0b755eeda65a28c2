//! Constants: inside the range that the assembler checks, inside the one that the manual promises
//! anything for, and within the width of their operand.

use super::instruction::NOT_CHECKED;
use super::{text, with_flows};
use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::operand::resolve_type;
use crate::isa::table::{Arg, Operand, Shape, ValueRange};
use crate::isa::{self, RowMatch};
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;
use crate::program::value::{Known, wrapped};
use crate::program::{Fit, Inst, Program, Routine, Value, operand_index};
use crate::source::Span;
use crate::syntax::ast::{Operand as Syntax, OperandKind};
use crate::types::{Type, TypeClass};

/// The rules of this file.
pub const RULES: &[&Rule] = &[&OUT_OF_RANGE, &UNDEFINED_VALUE, &TRUNCATED_CONSTANT];

static OUT_OF_RANGE: Rule = Rule {
    name: "constant-out-of-range",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a constant operand outside of what the instruction takes",
    page: include_str!("constant-out-of-range.md"),
};

static UNDEFINED_VALUE: Rule = Rule {
    name: "undefined-value",
    severity: Severity::Error,
    ptxas: Ptxas::Accepts,
    summary: "a constant operand for which the manual promises nothing, though ptxas takes it",
    page: include_str!("undefined-value.md"),
};

static TRUNCATED_CONSTANT: Rule = Rule {
    name: "truncated-constant",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a constant with more bits than its operand",
    page: include_str!("truncated-constant.md"),
};

/// Runs the rules. Registers are followed in the functions that have a flow.
pub fn check(program: &Program, flows: &[Flow], out: &mut Vec<Diagnostic>) {
    let ranges: Vec<bool> = program.opcodes.iter().map(has_ranges).collect();
    for (routine, flow) in with_flows(program, flows) {
        for (at, inst) in routine.instructions.iter().enumerate() {
            let (Fit::Row(row) | Fit::Gated(row)) = inst.fit else {
                continue;
            };
            let has_ranges = ranges[program.syntax(routine, inst).opcode.0 as usize];
            let asynchronous = |flow: &&Flow| flow.meanings[at].is_some_and(Meaning::is_asynchronous);
            let flow = flow.filter(|flow| has_ranges && asynchronous(flow));
            let constants = |value: &Value| matters(routine, *value, has_ranges);
            if (flow.is_some() || routine.operands(inst).iter().any(constants))
                && let Some(found) = program.candidate(routine, inst, row)
            {
                Site { program, routine, inst, found, flow, at }.check(out);
            }
        }
    }
}

/// Says of constants that the text leaves open what they must be.
pub(super) fn open_constants(program: &Program, out: &mut Vec<Diagnostic>) {
    for routine in &program.routines {
        for (at, inst) in routine.instructions.iter().enumerate() {
            let (Fit::Row(row) | Fit::Gated(row)) = inst.fit else { continue };
            let Some(found) = program.candidate(routine, inst, row) else { continue };
            let site = Site { program, routine, inst, found, flow: None, at };
            let operands = program.module.operands(program.syntax(routine, inst));
            let values = routine.operands(inst).iter().zip(operands);
            for (spec, (_, syntax)) in
                found.row.operands.iter().zip(values).filter(|(_, (value, _))| **value == Value::UnknownConst)
            {
                out.extend(site.open_constant(spec, syntax.span));
            }
        }
    }
}

fn has_ranges(opcode: &isa::Opcode) -> bool {
    fn is_limited(operand: &Operand) -> bool {
        let parts: &[Operand] = match &operand.shape {
            Shape::Compound(_, parts) => parts,
            _ => &[],
        };
        operand.range.is_some() || operand.should.is_some() || parts.iter().any(is_limited)
    }
    let isa::Opcode::Known { rows, .. } = opcode else {
        return false;
    };
    rows.iter().any(|row| row.row.operands.iter().any(is_limited))
}

/// Whether `value` is or holds a constant that may be outside of something: small ones fit every type.
fn matters(routine: &Routine, value: Value, has_ranges: bool) -> bool {
    match value {
        Value::Const(value) => value.int().is_some_and(|n| has_ranges || !(0..128).contains(&n)),
        Value::Vector(..) | Value::Compound(..) => {
            routine.parts(value).iter().any(|part| matters(routine, *part, has_ranges))
        }
        _ => false,
    }
}

struct Site<'a> {
    program: &'a Program,
    routine: &'a Routine,
    inst: &'a Inst,
    found: &'a RowMatch,
    /// For following registers; none where that is not worth the time.
    flow: Option<&'a Flow<'a>>,
    at: At,
}

impl Site<'_> {
    fn check(&self, out: &mut Vec<Diagnostic>) {
        let syntax = self.program.syntax(self.routine, self.inst);
        let operands = self.program.module.operands(syntax);
        let values = self.routine.operands(self.inst);
        for ((spec, value), syntax) in self.found.row.operands.iter().zip(values).zip(operands) {
            self.operand(spec, *value, syntax, out);
        }
    }

    fn operand(&self, spec: &Operand, value: Value, syntax: &Syntax, out: &mut Vec<Diagnostic>) {
        match (&spec.shape, value) {
            (Shape::Value(_), Value::Const(_)) => self.constant(spec, value, syntax.span, out),
            (Shape::Value(_), Value::Register(_)) => self.register(spec, value, syntax.span, out),
            (Shape::Vector(..), Value::Vector(..)) => {
                let OperandKind::Vector(parts) = &syntax.kind else {
                    return;
                };
                for (part, value) in parts.iter().zip(self.routine.parts(value)) {
                    self.constant(spec, *value, part.span, out);
                }
            }
            (Shape::Compound(_, specs), Value::Compound(..)) => {
                let OperandKind::Compound(compound) = &syntax.kind else {
                    return;
                };
                let parts = self.routine.parts(value);
                for ((spec, value), part) in specs.iter().zip(parts).zip(&compound.parts) {
                    self.operand(spec, *value, part, out);
                }
            }
            _ => {}
        }
    }

    fn constant(&self, spec: &Operand, value: Value, span: Span, out: &mut Vec<Diagnostic>) {
        let Value::Const(constant) = value else {
            return;
        };
        let Some(number) = constant.int() else { return };
        let other = |arg: Arg| self.other(arg);
        if let Some(range) = spec.range.filter(|range| !range.contains(number, other)) {
            out.push(self.report(&OUT_OF_RANGE, spec, number, range, span));
        } else if let Some(range) = spec.should.filter(|range| !range.contains(number, other)) {
            out.push(self.report(&UNDEFINED_VALUE, spec, number, range, span));
        } else if let Shape::Value(value) | Shape::Vector(value, _) = &spec.shape {
            let ty = resolve_type(self.found, value.ty);
            if !fits(number, ty) {
                let message =
                    format!("{number} does not fit into the {} bits of `{}`", ty.bits(), spec.arg.text());
                let kept = number.rem_euclid(1i128 << ty.bits());
                out.push(
                    Diagnostic::new(&TRUNCATED_CONSTANT, span, message)
                        .label(format!("reads as {kept}"))
                        .note("ptxas drops the upper bits without a word")
                        .help("write the number that is meant, or use a wider type"),
                );
            }
        }
    }

    /// What a constant must be whose value is not known.
    fn open_constant(&self, spec: &Operand, span: Span) -> Option<Diagnostic> {
        let range = spec.range.or(spec.should)?;
        let spelled = self.program.module.text(span);
        // Below every range, so that all of it is told.
        let wanted = self.describe(range, i128::MIN);
        let arg = spec.arg.text();
        let message = format!("`{arg}` must be {wanted}; what `{spelled}` stands for is not known here");
        Some(Diagnostic::new(&NOT_CHECKED, span, message).label("known to the compiler only"))
    }

    /// A register that always has the same value there is judged by it.
    fn register(&self, spec: &Operand, value: Value, span: Span, out: &mut Vec<Diagnostic>) {
        let (Some(flow), Shape::Value(shape)) = (self.flow, &spec.shape) else { return };
        if spec.range.is_none() && spec.should.is_none() {
            return;
        }
        let Known::Number(number) = flow.known(self.at, value) else { return };
        let ty = resolve_type(self.found, shape.ty);
        let number = wrapped(number, ty);
        let bad = |range: &ValueRange| !range.contains(number, |arg| self.other(arg));
        if let Some(range) = [spec.range, spec.should].into_iter().flatten().find(bad) {
            let diagnostic = self.report(&UNDEFINED_VALUE, spec, number, range, span);
            out.push(
                diagnostic
                    .severity(Severity::Warning)
                    .note(format!("the register always has the value {number} there")),
            );
        }
    }

    /// The constant in the operand called `arg`.
    fn other(&self, arg: Arg) -> Option<i128> {
        let index = operand_index(self.found, arg)?;
        match self.routine.operands(self.inst).get(index)? {
            Value::Const(value) => value.int(),
            _ => None,
        }
    }

    fn report(
        &self,
        rule: &'static Rule,
        spec: &Operand,
        number: i128,
        range: ValueRange,
        span: Span,
    ) -> Diagnostic {
        let syntax = self.program.syntax(self.routine, self.inst);
        let isa::Opcode::Known { op, .. } = &self.program.opcodes[syntax.opcode.0 as usize] else {
            unreachable!("only an instruction of the table has ranges")
        };
        let arg = spec.arg.text();
        let wanted = self.describe(range, number);
        let message = format!("`{arg}` of `{}` must be {wanted}; it is {number}", text::name(op, self.found));
        let mut diagnostic = Diagnostic::new(rule, span, message).label(self.reproach(range, number));
        if rule == &UNDEFINED_VALUE {
            diagnostic = diagnostic.note("ptxas takes it, but the manual promises nothing for it");
            // Without an upper limit a negative number may be meant as a huge one.
            if matches!(range, ValueRange::Span { high: i64::MAX, .. }) {
                diagnostic = diagnostic.severity(Severity::Warning);
            }
        }
        match op.hint(arg) {
            Some(hint) => diagnostic.help(hint),
            None => diagnostic,
        }
    }

    /// The part of the range that `number` violates, in words.
    fn describe(&self, range: ValueRange, number: i128) -> String {
        match range {
            ValueRange::NonZero => "anything but 0".to_string(),
            ValueRange::OneOf(values) => text::numbers(values),
            ValueRange::UpTo(low, arg) => match self.other(arg) {
                Some(high) => format!("from {low} to {high} (`{}`)", arg.text()),
                None => format!("at least {low}"),
            },
            ValueRange::Span { low, high, step } => {
                let inside = number >= low.into() && number <= high.into();
                let bounds = match (low, high) {
                    (i64::MIN, high) => format!("at most {high}"),
                    (low, i64::MAX) => format!("at least {low}"),
                    (low, high) if high - low == 1 => format!("{low} or {high}"),
                    (low, high) => format!("from {low} to {high}"),
                };
                match (step, inside) {
                    (0 | 1, _) => bounds,
                    (step, true) => format!("a multiple of {step}"),
                    (step, false) => format!("a multiple of {step} {bounds}"),
                }
            }
        }
    }

    /// What is wrong with `number`, for the place itself.
    fn reproach(&self, range: ValueRange, number: i128) -> String {
        let (low, high) = match range {
            ValueRange::OneOf(values) => return format!("not {}", text::numbers(values)),
            ValueRange::NonZero => return "must not be 0".into(),
            ValueRange::UpTo(low, arg) => (low.into(), self.other(arg).unwrap_or(i128::MAX)),
            ValueRange::Span { low, high, .. } => (i128::from(low), i128::from(high)),
        };
        match range {
            _ if number < 0 && low >= 0 => "negative".into(),
            _ if number < low => "too small".into(),
            _ if number > high => "too large".into(),
            ValueRange::Span { step, .. } => format!("not a multiple of {step}"),
            _ => "out of range".into(),
        }
    }
}

/// Whether `number` can be written in `ty`, signed or not.
fn fits(number: i128, ty: Type) -> bool {
    let bits = ty.bits();
    if !matches!(ty.class(), TypeClass::Integer | TypeClass::Bits) || bits >= 64 {
        return true;
    }
    number >= -(1i128 << (bits - 1)) && number < 1i128 << bits
}
