//! Addresses that are known: aligned as the instruction needs it, and inside their variable.

use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::operand::{resolve_extent, resolve_space};
use crate::isa::table::{AddressSpec, Arg, Operand, Shape, SpaceSpec};
use crate::isa::{self, RowMatch};
use crate::program::{Base, Fit, Inst, Program, Routine, Value, operand_index};
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
            let (Fit::Row(row) | Fit::Gated(row)) = inst.fit else { continue };
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
    let isa::Opcode::Known { rows, .. } = opcode else { return false };
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

    /// A generic or global address needs 64 bits in a 64-bit module, any address at least 32.
    fn width(&self, address: &AddressSpec, base: Base, span: Span, out: &mut Vec<Diagnostic>) {
        let Base::Register(id) = base else { return };
        let register = self.routine.register(id);
        let generic = resolve_space(self.found, address.space).is_none();
        let name = self.program.module.name(register.symbol);
        let bits = register.ty.bits();
        if bits >= 32 && !(generic && bits < 64 && self.program.header.address_size == 64) {
            return;
        }
        let message = if generic {
            format!("a generic address has 64 bits, `{name}` is a `{}` register", register.ty)
        } else {
            format!("`{name}` is a `{}` register, too narrow for an address", register.ty)
        };
        let mut diagnostic = Diagnostic::new(&NARROW_ADDRESS, span, message)
            .label(format!("{bits} bits"))
            .also(register.span, "declared here");
        if generic {
            diagnostic = diagnostic
                .note("ptxas accepts it while it parses and refuses it when it generates code for sm_90 and later");
            if matches!(address.space, SpaceSpec::Slot(_)) {
                diagnostic = diagnostic
                    .help("if it is a shared-memory address, spell the state space: `.shared::cta`");
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
        let constant = |arg: Arg| self.constant(arg);
        let align = resolve_extent(self.found, address.align, constant).unwrap_or(1);
        let bytes = resolve_extent(self.found, address.bytes, constant);
        let Base::Variable(id) = base else { return };
        let variable = &self.program.variables[id.0 as usize];
        let name = self.program.module.name(variable.symbol);
        let object = if address.mbar { "an mbarrier object" } else { spec.arg.text() };
        let remainder = offset.rem_euclid(i64::from(align.max(1)));
        let known = variable.align.min(align);
        if offset.rem_euclid(i64::from(known.max(1))) != 0 || (variable.align >= align && remainder != 0) {
            let at = place_text(name, offset);
            let message = format!(
                "{object} must be {align}-byte aligned; `{at}` is {}-byte aligned",
                alignment_of(offset, variable.align)
            );
            out.push(
                Diagnostic::new(&MISALIGNED_ADDRESS, span, message)
                    .label(format!("not a multiple of {align}"))
                    .also(variable.span, format!("`{name}` is declared here"))
                    .help(format!("use an offset that is a multiple of {align}")),
            );
        } else if variable.align < align {
            let message = format!(
                "{object} must be {align}-byte aligned; `{name}` is only declared {}-byte aligned",
                variable.align
            );
            out.push(
                Diagnostic::new(&MISALIGNED_ADDRESS, span, message)
                    .severity(Severity::Warning)
                    .label("may not be aligned")
                    .also(variable.span, "declared here")
                    .help(format!("declare it `.align {align}`")),
            );
        }
        self.bounds(variable.size.filter(|_| !variable.external), name, variable.span, offset, bytes, span, out);
    }

    #[expect(clippy::too_many_arguments)]
    fn bounds(
        &self,
        size: Option<u64>,
        name: &str,
        declaration: Span,
        offset: i64,
        bytes: Option<u32>,
        span: Span,
        out: &mut Vec<Diagnostic>,
    ) {
        let Some(size) = size else { return };
        let end = offset + i64::from(bytes.unwrap_or(1));
        if offset >= 0 && end <= size as i64 {
            return;
        }
        let at = place_text(name, offset);
        let message = match bytes {
            Some(bytes) => format!("the {bytes} bytes at `{at}` are not all within `{name}`, which has {size}"),
            None => format!("`{at}` is not within `{name}`, which has {size} bytes"),
        };
        out.push(
            Diagnostic::new(&OUT_OF_BOUNDS, span, message)
                .label("outside of the variable")
                .also(declaration, format!("`{name}` is declared here")),
        );
    }

    fn constant(&self, arg: Arg) -> Option<u32> {
        let index = operand_index(self.found, arg)?;
        match self.routine.operands(self.inst).get(index)? {
            Value::Const(value) => value.int()?.try_into().ok(),
            _ => None,
        }
    }
}

fn place_text(name: &str, offset: i64) -> String {
    match offset {
        0 => name.to_string(),
        n if n < 0 => format!("{name}+{n}"),
        n => format!("{name}+{n}"),
    }
}

/// The alignment that is certain at `offset` from something aligned to `base`.
fn alignment_of(offset: i64, base: u32) -> u32 {
    match offset {
        0 => base,
        n => base.min(1 << n.trailing_zeros().min(31)),
    }
}
