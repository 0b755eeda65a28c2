//! Addresses that are known: aligned as the instruction needs it, and inside their variable.

use super::text;
use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::operand::{resolve_extent, resolve_space};
use crate::isa::table::{AddressSpec, Arg, Operand, Shape, SpaceSpec};
use crate::isa::{self, RowMatch};
use crate::program::{Base, Fit, Inst, Program, Routine, Value, Variable, operand_index};
use crate::source::Span;

/// The rules of this file.
pub const RULES: &[&Rule] = &[&MISALIGNED_ADDRESS, &OUT_OF_BOUNDS, &NARROW_ADDRESS];

static MISALIGNED_ADDRESS: Rule = Rule {
    name: "misaligned-address",
    severity: Severity::Error,
    ptxas: Ptxas::Accepts,
    summary: "an address that is not, or may not be, aligned as the instruction needs it",
    page: include_str!("misaligned-address.md"),
};

static OUT_OF_BOUNDS: Rule = Rule {
    name: "out-of-bounds",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "an access outside of the variable that it names",
    page: include_str!("out-of-bounds.md"),
};

static NARROW_ADDRESS: Rule = Rule {
    name: "narrow-address",
    severity: Severity::Error,
    ptxas: Ptxas::Accepts,
    summary: "an address in a register that is too narrow for it",
    page: include_str!("narrow-address.md"),
};

/// Runs the rules.
pub fn check(program: &Program, out: &mut Vec<Diagnostic>) {
    let interesting: Vec<bool> = program.opcodes.iter().map(has_demands).collect();
    for routine in &program.routines {
        for inst in &routine.instructions {
            let (Fit::Row(row) | Fit::Gated(row)) = inst.fit else {
                continue;
            };
            let opcode = program.syntax(routine, inst).opcode.0 as usize;
            if interesting[opcode]
                && let Some(found) = program.candidate(routine, inst, row)
            {
                Site { program, routine, inst, found }.check(out);
            }
        }
    }
}

fn has_demands(opcode: &isa::Opcode) -> bool {
    let isa::Opcode::Known { rows, .. } = opcode else {
        return false;
    };
    rows.iter().any(|row| {
        row.row.operands.iter().any(|o| matches!(o.shape, Shape::Address(_) | Shape::Compound(..)))
    })
}

struct Site<'a> {
    program: &'a Program,
    routine: &'a Routine,
    inst: &'a Inst,
    found: &'a RowMatch,
}

impl Site<'_> {
    fn check(&self, out: &mut Vec<Diagnostic>) {
        let values = self.routine.operands(self.inst);
        for (index, (spec, value)) in self.found.row.operands.iter().zip(values).enumerate() {
            let (address, base, offset) = match (&spec.shape, value) {
                (Shape::Address(address), Value::Address(base, offset)) => (address, *base, *offset),
                (Shape::Compound(address, _), Value::Compound(base, offset, ..)) => (address, *base, *offset),
                _ => continue,
            };
            let span = self.program.operand_span(self.routine, self.inst, index);
            self.width(address, base, span, out);
            self.place(spec, address, base, offset, span, out);
        }
    }

    /// A generic address needs 64 bits in a 64-bit module, any address at least 32.
    fn width(&self, address: &AddressSpec, base: Base, span: Span, out: &mut Vec<Diagnostic>) {
        let Base::Register(id) = base else { return };
        let register = self.routine.register(id);
        let generic = resolve_space(self.found, address.space).is_none();
        let name = self.program.module.name(register.symbol);
        let bits = register.ty.bits();
        if bits >= 32 && !(generic && bits < 64 && self.program.header.address_size == 64) {
            return;
        }
        let message = if generic && bits >= 32 {
            format!("a generic address has 64 bits; `{name}` is a `{}` register", register.ty)
        } else {
            format!("`{name}` is a `{}` register, too narrow for an address", register.ty)
        };
        let mut diagnostic = Diagnostic::new(&NARROW_ADDRESS, span, message)
            .label(format!("{bits} bits"))
            .also(register.span, "declared here");
        if generic && bits >= 32 {
            diagnostic = diagnostic.note(
                "ptxas accepts it while it parses and refuses it when it generates code for sm_90 and later",
            );
            if matches!(address.space, SpaceSpec::Slot(_)) {
                diagnostic =
                    diagnostic.help("if it is a shared-memory address, spell the state space: `.shared`");
            }
        }
        out.push(diagnostic);
    }

    fn place(
        &self,
        spec: &Operand,
        address: &AddressSpec,
        base: Base,
        offset: i64,
        span: Span,
        out: &mut Vec<Diagnostic>,
    ) {
        let Base::Variable(id) = base else { return };
        let variable = &self.program.variables[id.0 as usize];
        let name = self.program.module.name(variable.symbol);
        let align = resolve_extent(self.found, address.align, |arg| self.constant(arg)).unwrap_or(1).max(1);
        let bytes = resolve_extent(self.found, address.bytes, |arg| self.constant(arg));
        let object = if address.mbar { "a barrier".into() } else { self.operand_name(spec) };
        let here = Access { name, variable, offset, span };
        // An address that is surely misaligned is put right first.
        match here.misaligned(&object, align) {
            Some(diagnostic) if diagnostic.severity == Severity::Error => out.push(diagnostic),
            maybe => out.extend(maybe.into_iter().chain(here.outside(bytes))),
        }
    }

    /// "`dst` of `cp.async.ca`"
    fn operand_name(&self, spec: &Operand) -> String {
        let syntax = self.program.syntax(self.routine, self.inst);
        match &self.program.opcodes[syntax.opcode.0 as usize] {
            isa::Opcode::Known { op, .. } => {
                format!("`{}` of `{}`", spec.arg.text(), text::name(op, self.found))
            }
            _ => format!("`{}`", spec.arg.text()),
        }
    }

    fn constant(&self, arg: Arg) -> Option<u32> {
        let index = operand_index(self.found, arg)?;
        match self.routine.operands(self.inst).get(index)? {
            Value::Const(value) => value.int()?.try_into().ok(),
            _ => None,
        }
    }
}

/// An address `name+offset` in a variable.
struct Access<'a> {
    name: &'a str,
    variable: &'a Variable,
    offset: i64,
    span: Span,
}

impl Access<'_> {
    /// `bars+8`
    fn text(&self) -> String {
        match self.offset {
            0 => self.name.to_string(),
            n => format!("{}+{n}", self.name),
        }
    }

    fn misaligned(&self, object: &str, align: u32) -> Option<Diagnostic> {
        let known = i64::from(self.variable.align.min(align).max(1));
        if self.offset.rem_euclid(known) != 0 || self.variable.align >= align {
            let surely = self.offset.rem_euclid(align.into()) != 0;
            return surely.then(|| self.surely_misaligned(object, align));
        }
        let message = format!(
            "{object} must be {align}-byte aligned; `{}` is only declared {}-byte aligned",
            self.name, self.variable.align
        );
        Some(
            Diagnostic::new(&MISALIGNED_ADDRESS, self.span, message)
                .severity(Severity::Warning)
                .label("may not be aligned")
                .also(self.variable.span, "declared here")
                .help(format!("declare `{}` with `.align {align}`", self.name)),
        )
    }

    fn surely_misaligned(&self, object: &str, align: u32) -> Diagnostic {
        let at = self.text();
        let have = match alignment_of(self.offset, self.variable.align) {
            1 => "is not aligned at all".to_string(),
            n => format!("is only {n}-byte aligned"),
        };
        let message = format!("{object} must be {align}-byte aligned; `{at}` {have}");
        Diagnostic::new(&MISALIGNED_ADDRESS, self.span, message)
            .label(format!("not a multiple of {align}"))
            .also(self.variable.span, format!("`{}` is declared here", self.name))
            .help(format!("use an offset that is a multiple of {align}"))
    }

    fn outside(&self, bytes: Option<u32>) -> Option<Diagnostic> {
        let size = self.variable.size.filter(|_| !self.variable.external)?;
        let end = i128::from(self.offset) + i128::from(bytes.unwrap_or(1));
        if self.offset >= 0 && end <= i128::from(size) {
            return None;
        }
        let at = self.text();
        let extent = format!("`{}`, which has {}", self.name, text::count(size as usize, "byte"));
        let message = match bytes {
            _ if self.offset < 0 => format!("`{at}` lies before `{}`", self.name),
            Some(bytes) if i128::from(self.offset) < i128::from(size) => {
                format!("{} at `{at}` reach beyond the end of {extent}", text::count(bytes as usize, "byte"))
            }
            _ => format!("`{at}` lies behind the end of {extent}"),
        };
        Some(
            Diagnostic::new(&OUT_OF_BOUNDS, self.span, message)
                .label("outside of the variable")
                .also(self.variable.span, format!("`{}` is declared here", self.name)),
        )
    }
}

/// The alignment that is certain at `offset` from something aligned to `base`.
fn alignment_of(offset: i64, base: u32) -> u32 {
    match offset {
        0 => base,
        n => base.min(1 << n.trailing_zeros().min(31)),
    }
}
