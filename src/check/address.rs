//! Addresses that are known: aligned as the instruction needs it, and inside their variable.

use super::{text, with_flows, words};
use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::operand::{resolve_extent, resolve_space, resolve_type};
use crate::isa::table::{AddressSpec, Alternative, Arg, Operand, Shape, SpaceSpec};
use crate::isa::{self, Mod, Needs, RowMatch};
use crate::program::flow::Flow;
use crate::program::meaning::Meaning;
use crate::program::value::Place;
use crate::program::{Base, Fit, Inst, Program, Routine, Value, Variable, operand_index};
use crate::source::Span;
use crate::types::Space;

/// The rules of this file.
pub const RULES: &[&Rule] = &[&MISALIGNED_ADDRESS, &OUT_OF_BOUNDS, &NARROW_ADDRESS, &WRONG_SPACE];

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

static WRONG_SPACE: Rule = Rule {
    name: "wrong-space",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a variable in another state space than the manual asks for",
    page: include_str!("wrong-space.md"),
};

/// Runs the rules. Addresses in registers are followed in the functions that have a flow.
pub fn check(program: &Program, flows: &[Flow], out: &mut Vec<Diagnostic>) {
    let interesting: Vec<bool> = program.opcodes.iter().map(has_demands).collect();
    for (routine, flow) in with_flows(program, flows) {
        flow.into_iter().for_each(|flow| flow.renew_steps());
        for (at, inst) in routine.instructions.iter().enumerate() {
            let (Fit::Row(row) | Fit::Gated(row)) = inst.fit else { continue };
            let opcode = program.syntax(routine, inst).opcode.0 as usize;
            if interesting[opcode]
                && let Some(found) = program.candidate(routine, inst, row)
            {
                let asynchronous = Meaning::of(found.form()).is_asynchronous();
                let flow = flow.filter(|_| asynchronous);
                Site { program, routine, inst, found, flow, at }.check(out);
            }
        }
    }
}

fn has_demands(opcode: &isa::Opcode) -> bool {
    let isa::Opcode::Known { rows, .. } = opcode else { return false };
    rows.iter().any(|row| {
        let is_address = |o: &Operand| matches!(o.shape, Shape::Address(_) | Shape::Compound(..));
        Meaning::of(row.form()).takes_address_as_value() || row.row.operands.iter().any(is_address)
    })
}

struct Site<'a> {
    program: &'a Program,
    routine: &'a Routine,
    inst: &'a Inst,
    found: &'a RowMatch,
    /// For following registers; none where that is not worth the time.
    flow: Option<&'a Flow<'a>>,
    at: usize,
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
            match spec.arg {
                Arg::Map => self.map_width(address, base, span, out),
                _ => self.width(address, base, span, out),
            }
            self.offset(base, offset, span, out);
            let demand = Demand {
                spec,
                mbar: address.mbar,
                should: address.should,
                align: resolve_extent(self.found, address.align, |arg| self.constant(arg)).unwrap_or(1),
                bytes: resolve_extent(self.found, address.bytes, |arg| self.constant(arg)),
                span,
            };
            match self.place(base, offset, *value) {
                Some(place) => self.known_place(&demand, place, out),
                None => self.unknown_base(&demand, base, offset, out),
            }
        }
        self.generic_value(out);
    }

    /// The address as messages call it.
    fn object(&self, demand: &Demand) -> String {
        if demand.mbar { "a barrier".into() } else { self.operand_name(demand.spec) }
    }

    /// An offset is added in 32 bits for the windows of a CTA, in 64 for others; more is never right.
    fn offset(&self, base: Base, offset: i64, span: Span, out: &mut Vec<Diagnostic>) {
        let fits = (-(1i64 << 31)..1i64 << 32).contains(&offset);
        if fits || !matches!(base, Base::Register(_)) {
            return;
        }
        let message = format!("the offset {offset} does not fit into 32 bits");
        out.push(
            Diagnostic::new(&OUT_OF_BOUNDS, span, message)
                .label("too large for an offset")
                .help("add it to the register first"),
        );
    }

    fn generic_value(&self, out: &mut Vec<Diagnostic>) {
        if !Meaning::of(self.found.form()).takes_address_as_value()
            || self.found.has(Mod::SharedCluster)
            || self.program.header.address_size != 64
        {
            return;
        }
        let Some(index) = operand_index(self.found, Arg::Src) else { return };
        let Shape::Value(value) = &self.found.row.operands[index].shape else { return };
        let ty = resolve_type(self.found, value.ty);
        if ty.bits() < 64 {
            let span = self.program.operand_span(self.routine, self.inst, index);
            let message = format!("a generic address has 64 bits, `{ty}` has {}", ty.bits());
            out.push(
                Diagnostic::new(&NARROW_ADDRESS, span, message)
                    .severity(Severity::Warning)
                    .label("taken as a generic address")
                    .help("write `.u64`, or `.shared::cluster` if it is an address in shared memory"),
            );
        }
    }

    /// "`dst` of `cp.async.ca`"
    fn operand_name(&self, spec: &Operand) -> String {
        match self.op() {
            Some(op) => format!("`{}` of `{}`", spec.arg.text(), text::name(op, self.found)),
            None => format!("`{}`", spec.arg.text()),
        }
    }

    fn place(&self, base: Base, offset: i64, value: Value) -> Option<Place> {
        match base {
            Base::Variable(variable) => Some(Place { variable, offset, remote: false }),
            _ => self.flow?.place(self.at, value),
        }
    }

    /// A generic address needs 64 bits in a 64-bit module, any address at least 32.
    fn width(&self, address: &AddressSpec, base: Base, span: Span, out: &mut Vec<Diagnostic>) {
        let Base::Register(id) = base else { return };
        let register = self.routine.register(id);
        if address.space == SpaceSpec::Tensor {
            return;
        }
        let space = resolve_space(self.found, address.space);
        // The other spaces are windows of less than 4 GiB.
        let wide = matches!(space, None | Some(Space::Global));
        let name = self.program.module.name(register.symbol);
        let bits = register.ty.bits();
        if bits >= 32 && !(wide && bits < 64 && self.program.header.address_size == 64) {
            return;
        }
        let message = if wide && bits >= 32 {
            let kind = if space.is_none() { "generic" } else { "`.global`" };
            format!("a {kind} address has 64 bits; `{name}` is a `{}` register", register.ty)
        } else {
            format!("`{name}` is a `{}` register, too narrow for an address", register.ty)
        };
        // Where ptxas makes code, an offset in the window of a CTA may well fit.
        let refused = self.refuses_narrow(address);
        let severity = match wide {
            true if refused || bits < 32 => Severity::Error,
            _ => Severity::Warning,
        };
        let mut diagnostic = Diagnostic::new(&NARROW_ADDRESS, span, message)
            .severity(severity)
            .label(format!("{bits} bits"))
            .also(register.span, "declared here");
        if wide && bits >= 32 {
            diagnostic = diagnostic.note(match refused {
                true => "ptxas accepts it while it parses, and refuses to generate code",
                false => "ptxas accepts it with this instruction; the upper half of the address is lost",
            });
            if let (None, SpaceSpec::Slot(slot)) = (space, address.space) {
                diagnostic = self.spell_space(diagnostic, slot.into(), base);
            }
        }
        out.push(diagnostic);
    }

    /// Advises to spell the state space in slot `slot`, which is left out. It is certain which one where the
    /// address is known to be in a variable, or where narrow addresses have only one.
    fn spell_space(&self, diagnostic: Diagnostic, slot: usize, base: Base) -> Diagnostic {
        let place = self.flow.and_then(|flow| flow.place(self.at, Value::Address(base, 0)));
        let insertion = |modifier: Mod| {
            words::insertion(self.program, self.routine, self.inst, self.found, slot, modifier.text())
        };
        // Another form of the instruction may reach the barriers of other CTAs. A narrow operand of an `asm`
        // statement is what C++ makes of the address of a variable of its own CTA.
        let bound = matches!(base, Base::Register(id) if self.routine.outside(id).is_some());
        let certain = place.is_some() || bound || insertion(Mod::SharedCluster).is_none();
        let space = self.narrow_space(slot, place, bound).filter(|_| certain);
        match space.and_then(|space| Some((space.text(), insertion(space)?))) {
            Some((space, at)) => {
                let title = format!("spell the state space: `{space}`");
                diagnostic.fix(Applicability::Safe, title, at, space)
            }
            None => diagnostic.help("if it is a shared-memory address, spell the state space: `.shared`"),
        }
    }

    /// The only state space in slot `slot` whose addresses are narrow and that an address of `place` has; `own`: one
    /// of the CTA itself.
    fn narrow_space(&self, slot: usize, place: Option<Place>, own: bool) -> Option<Mod> {
        let in_place = |modifier: Mod| {
            if own && modifier == Mod::SharedCluster {
                return false;
            }
            place.is_none_or(|place| {
                let variable = &self.program.variables[place.variable.0 as usize];
                modifier.space() == Some(variable.space) && !place.remote && modifier != Mod::SharedCluster
            })
        };
        let alternatives = self.found.row.slots[slot].alternatives.iter().filter(|alternative| {
            let narrow = alternative.modifier.space().is_some_and(|space| space != Space::Global);
            narrow && in_place(alternative.modifier) && self.program.meets(Needs::NONE.and(alternative.gate))
        });
        let fitting: Vec<&Alternative> = alternatives.collect();
        // `.shared` beside `.shared::cta` is the same, spelled otherwise.
        let is_alias = |canonical: Mod| fitting.iter().any(|other| other.modifier == canonical);
        let mut spaces = fitting.iter().filter(|alternative| !alternative.canonical.is_some_and(is_alias));
        let only = spaces.next()?;
        spaces.next().is_none().then_some(only.modifier)
    }

    /// Whether ptxas makes no code with a generic or global address in 32 bits.
    fn refuses_narrow(&self, address: &AddressSpec) -> bool {
        !address.narrow && self.op().is_some_and(|op| op.wide)
    }

    fn op(&self) -> Option<&'static isa::table::Op> {
        let syntax = self.program.syntax(self.routine, self.inst);
        match &self.program.opcodes[syntax.opcode.0 as usize] {
            isa::Opcode::Known { op, .. } => Some(op),
            _ => None,
        }
    }

    /// The address of a tensor map is generic, whatever variable may stand there. ptxas takes a narrow
    /// register with most instructions, and extends it with zeros.
    fn map_width(&self, address: &AddressSpec, base: Base, span: Span, out: &mut Vec<Diagnostic>) {
        let Base::Register(id) = base else { return };
        let register = self.routine.register(id);
        let bits = register.ty.bits();
        if !(16..64).contains(&bits) || self.program.header.address_size != 64 {
            return;
        }
        let severity = if self.refuses_narrow(address) { Severity::Error } else { Severity::Warning };
        let name = self.program.module.name(register.symbol);
        let message = format!(
            "a tensor map has a generic address of 64 bits; `{name}` is a `{}` register",
            register.ty
        );
        out.push(
            Diagnostic::new(&NARROW_ADDRESS, span, message)
                .severity(severity)
                .label(format!("{bits} bits"))
                .also(register.span, "declared here")
                .help("use a 64-bit register"),
        );
    }

    fn known_place(&self, demand: &Demand, place: Place, out: &mut Vec<Diagnostic>) {
        let variable = &self.program.variables[place.variable.0 as usize];
        let name = self.program.module.name(variable.symbol);
        if let Some(space) = demand.should.filter(|space| *space != variable.space) {
            let message = format!(
                "`{name}` lies in `{}`, {} must lie in `{space}`",
                variable.space,
                self.object(demand)
            );
            out.push(
                Diagnostic::new(&WRONG_SPACE, demand.span, message)
                    .label("in another state space")
                    .also(variable.span, "declared here"),
            );
        }
        let here = Here { site: self, name, variable, offset: place.offset, demand };
        // An address that is surely misaligned is put right first.
        match here.misaligned() {
            Some(diagnostic) if diagnostic.severity == Severity::Error => out.push(diagnostic),
            maybe => out.extend(maybe.into_iter().chain(here.outside())),
        }
    }

    /// Of an address that was given or read from memory only what is added to it can be judged.
    fn unknown_base(&self, demand: &Demand, base: Base, offset: i64, out: &mut Vec<Diagnostic>) {
        let (Base::Register(id), Some(flow)) = (base, self.flow) else { return };
        let align = i64::from(demand.align.max(1));
        let Some(before) = flow.behind_given(self.at, id) else { return };
        let offset = before.wrapping_add(offset);
        if offset.rem_euclid(align) == 0 {
            return;
        }
        let name = self.program.module.name(self.routine.register(id).symbol);
        let message = format!(
            "{} must be {align}-byte aligned; the offset {offset} is not a multiple of {align}",
            self.object(demand)
        );
        out.push(
            Diagnostic::new(&MISALIGNED_ADDRESS, demand.span, message)
                .severity(Severity::Warning)
                .label(match before {
                    0 => format!("aligned only if `{name}` is misaligned by just as much"),
                    _ => format!(
                        "aligned only if what `{name}` is computed from is misaligned by just as much"
                    ),
                })
                .help(format!("use an offset that is a multiple of {align}")),
        );
    }

    fn constant(&self, arg: Arg) -> Option<u32> {
        let index = operand_index(self.found, arg)?;
        match self.routine.operands(self.inst).get(index)? {
            Value::Const(value) => value.int()?.try_into().ok(),
            _ => self.flow?.number(self.at, arg)?.try_into().ok(),
        }
    }
}

/// What an instruction asks of an address.
struct Demand {
    spec: &'static Operand,
    mbar: bool,
    /// The state space that the manual asks for.
    should: Option<Space>,
    align: u32,
    bytes: Option<u32>,
    span: Span,
}

/// The alignment that the CUDA programming guide asks of tensor boxes in shared memory.
const TENSOR_BOX: u32 = 128;

/// An address `name+offset` in a variable, and what is asked of it.
struct Here<'a> {
    site: &'a Site<'a>,
    name: &'a str,
    variable: &'a Variable,
    offset: i64,
    demand: &'a Demand,
}

impl Here<'_> {
    /// `bars+8`
    fn text(&self) -> String {
        match self.offset {
            0 => self.name.to_string(),
            n => format!("{}{n:+}", self.name),
        }
    }

    fn misaligned(&self) -> Option<Diagnostic> {
        let align = self.demand.align.max(1);
        let known = self.variable.align.min(align).max(1);
        let multiple = |of: u32| self.offset.rem_euclid(of.into()) == 0;
        if !multiple(known) || (self.variable.align >= align && !multiple(align)) {
            return Some(self.surely_misaligned(align));
        }
        if self.variable.align >= align || self.variable.external {
            return None;
        }
        let message = format!(
            "{} must be {align}-byte aligned; `{}` is only declared {}-byte aligned",
            self.site.object(self.demand),
            self.name,
            self.variable.align
        );
        Some(
            Diagnostic::new(&MISALIGNED_ADDRESS, self.demand.span, message)
                .severity(Severity::Warning)
                .label("may not be aligned")
                .also(self.variable.span, "declared here")
                .help(format!("declare `{}` with `.align {align}`", self.name)),
        )
    }

    fn surely_misaligned(&self, align: u32) -> Diagnostic {
        let at = self.text();
        let is = alignment_of(self.offset, self.variable.align);
        let have = match is {
            1 => "is not aligned at all".to_string(),
            n => format!("is only {n}-byte aligned"),
        };
        let message =
            format!("{} must be {align}-byte aligned; `{at}` {have}", self.site.object(self.demand));
        // The manual asks for 16 bytes where the programming guide asks for 128.
        let severity = if align == TENSOR_BOX && is >= 16 { Severity::Warning } else { Severity::Error };
        Diagnostic::new(&MISALIGNED_ADDRESS, self.demand.span, message)
            .severity(severity)
            .label(format!("not a multiple of {align}"))
            .also(self.variable.span, format!("`{}` is declared here", self.name))
            .help(format!("use an offset that is a multiple of {align}"))
    }

    fn outside(&self) -> Option<Diagnostic> {
        let size = self.variable.size.filter(|_| !self.variable.external)?;
        let bytes = self.demand.bytes;
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
            Diagnostic::new(&OUT_OF_BOUNDS, self.demand.span, message)
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
