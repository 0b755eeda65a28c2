//! Operands that are missing, superfluous, or of the wrong kind or type.

use super::{inline, text};
use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::operand::{Mismatch, Reason, resolve_type};
use crate::isa::table::{Access, Constants, Op, Operand, SPECIALS, Shape, SpaceSpec};
use crate::isa::{self, RowMatch, describe};
use crate::program::{Base, Inst, Program, Routine, Value};
use crate::source::Span;
use crate::syntax::ast::{Operand as Syntax, OperandKind};
use crate::types::Type;

/// The rules of this file.
pub const RULES: &[&Rule] = &[&OPERAND_MISMATCH];

pub(super) static OPERAND_MISMATCH: Rule = Rule {
    name: "operand-mismatch",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "operands that are missing, superfluous or of the wrong kind or type",
    page: include_str!("operand-mismatch.md"),
};

/// Explains why the operands of `inst` do not fit its opcode's candidate `row`.
pub fn explain(program: &Program, routine: &Routine, inst: &Inst, row: u8) -> Option<Diagnostic> {
    let isa::Opcode::Known { op, .. } = &program.opcodes[program.syntax(routine, inst).opcode.0 as usize]
    else {
        return None;
    };
    let found = program.candidate(routine, inst, row)?;
    let mismatch = program.fit(routine, inst, found).err()?;
    let name = text::name(op, found);
    let site = Site { program, routine, inst, op, found, name };
    let diagnostic = match (site.missing_destination(), mismatch.reason) {
        (Some(diagnostic), _) => diagnostic,
        (None, Reason::Count) => site.wrong_count(),
        (None, _) => site.wrong_operand(mismatch)?,
    };
    Some(diagnostic.note(format!("the form is `{}`", text::signature(op.name, found))))
}

struct Site<'a> {
    program: &'a Program,
    routine: &'a Routine,
    inst: &'a Inst,
    op: &'static Op,
    found: &'a RowMatch,
    name: String,
}

/// One operand, or a part of one: what the table wants and what the file has.
struct Place<'a> {
    spec: &'static Operand,
    syntax: &'a Syntax,
    value: Value,
}

impl<'a> Site<'a> {
    fn operands(&self) -> &'a [Syntax] {
        self.program.module.operands(self.program.syntax(self.routine, self.inst))
    }

    /// `mbarrier.arrive.b64 [bar];`: the address stands where the result should.
    fn missing_destination(&self) -> Option<Diagnostic> {
        let first = self.found.row.operands.first()?;
        let takes_sink = match &first.shape {
            Shape::Value(value) => value.sink.is_some(),
            Shape::Sink(_) => true,
            _ => false,
        };
        let written = first.access == Access::Write || matches!(first.shape, Shape::Sink(_));
        let second_is_address = matches!(self.found.row.operands.get(1)?.shape, Shape::Address(_));
        let given = self.routine.operands(self.inst).first()?;
        if !(takes_sink && written && second_is_address && matches!(given, Value::Address(..))) {
            return None;
        }
        let span = self.operands().first()?.span;
        let message = format!("`{}` needs a destination before the address", self.name);
        let title = match first.shape {
            Shape::Sink(_) => "write `_` as the destination".to_string(),
            _ => format!("write `_` when the {} is not needed", first.arg.text()),
        };
        Some(
            Diagnostic::new(&OPERAND_MISMATCH, span, message)
                .label("the destination is missing before this")
                .fix(Applicability::Safe, title, Span::empty(span.start), "_, "),
        )
    }

    fn wrong_count(&self) -> Diagnostic {
        let given = self.inst.operands as usize;
        let counts = self.found.row.counts;
        let most = counts.last().copied().unwrap_or(0) as usize;
        let operands = self.operands();
        let takes = match counts {
            [0] => "no operands".to_string(),
            [1] => "1 operand".to_string(),
            _ => format!("{} operands", text::numbers(counts)),
        };
        let message = format!("`{}` takes {takes}; {} given", self.name, text::are(given));
        if given > most {
            let span = operands[most].span.to(operands[given - 1].span);
            let label = if given == most + 1 { "one too many" } else { "too many" };
            return Diagnostic::new(&OPERAND_MISMATCH, span, message).label(label);
        }
        let opcode = self.program.syntax(self.routine, self.inst).opcode_span;
        let span = operands.last().map_or(opcode, |operand| operand.span);
        let diagnostic = Diagnostic::new(&OPERAND_MISMATCH, span, message);
        match self.found.row.operands.get(given) {
            Some(next) => diagnostic.label(format!("`{}` is missing after this", next.arg.text())),
            None => diagnostic.label("an operand is missing after this"),
        }
    }

    /// The operand that `mismatch` speaks of, or the part of it.
    fn place(&self, mismatch: Mismatch) -> Option<Place<'a>> {
        let spec = self.found.row.operands.get(mismatch.index)?;
        let syntax = self.operands().get(mismatch.index)?;
        let value = *self.routine.operands(self.inst).get(mismatch.index)?;
        let whole = Place { spec, syntax, value };
        let Some(part) = mismatch.part else {
            return Some(whole);
        };
        let inner = |n: usize| self.routine.parts(value).get(n).copied();
        Some(match (&spec.shape, &syntax.kind) {
            (Shape::Pair(first, second, _), OperandKind::Pair(halves)) => Place {
                spec: if part == 0 { first } else { second },
                syntax: halves.get(part)?,
                value: inner(part)?,
            },
            (Shape::Compound(_, parts), OperandKind::Compound(compound)) => {
                let part = part.checked_sub(1)?;
                let place =
                    Place { spec: parts.get(part)?, syntax: compound.parts.get(part)?, value: inner(part)? };
                match (mismatch.element, &place.syntax.kind) {
                    (Some(element), OperandKind::Vector(elements)) => Place {
                        syntax: elements.get(element)?,
                        value: *self.routine.parts(place.value).get(element)?,
                        ..place
                    },
                    _ => place,
                }
            }
            (Shape::Vector(..), OperandKind::Vector(elements)) => {
                Place { spec, syntax: elements.get(part)?, value: inner(part)? }
            }
            _ => whole,
        })
    }

    fn wrong_operand(&self, mismatch: Mismatch) -> Option<Diagnostic> {
        let place = self.place(mismatch)?;
        let (message, label) = self.complaint(&place, mismatch.reason);
        let bound = self.bound_otherwise(&place, mismatch.reason);
        let rule = if bound.is_some() { &inline::CONSTRAINT_MISMATCH } else { &OPERAND_MISMATCH };
        let diagnostic = Diagnostic::new(rule, place.syntax.span, message).label(label);
        let diagnostic = self.advise(diagnostic, &place, mismatch.reason);
        Some(match (bound, place.value) {
            (Some(advice), Value::Register(id) | Value::Address(Base::Register(id), _)) => {
                diagnostic.also(self.routine.register(id).span, "bound here").help(advice)
            }
            (Some(advice), _) => diagnostic.help(advice),
            (None, _) => diagnostic,
        })
    }

    /// How to bind an operand of an `asm` statement whose constraint is what is wrong.
    fn bound_otherwise(&self, place: &Place, reason: Reason) -> Option<String> {
        let is_outside = match place.value {
            Value::Register(id)
            | Value::Address(Base::Register(id), _)
            | Value::Compound(Base::Register(id), ..) => self.routine.outside(id).is_some(),
            Value::UnknownConst => true,
            // A number that the text does not spell.
            Value::Const(_) => matches!(place.syntax.kind, OperandKind::Name { .. }),
            _ => false,
        };
        let sign = match place.spec.access {
            Access::Read => "",
            Access::Write => "=",
            Access::ReadWrite => "+",
        };
        let with = |letter| format!("bind it with `\"{sign}{letter}\"`");
        let ty = match (reason, &place.spec.shape) {
            (Reason::Type(ty), _) => ty,
            (Reason::NeedsConstant, _) => return is_outside.then(|| with('n')),
            (Reason::NeedsRegister, Shape::Value(value) | Shape::Vector(value, _)) => {
                resolve_type(self.found, value.ty)
            }
            (Reason::AddressType, Shape::Address(address)) if address.space == SpaceSpec::Tensor => Type::B32,
            (Reason::AddressType, _) => Type::B64,
            _ => return None,
        };
        let advice = || match inline::letter(ty) {
            Some(letter) => with(letter),
            None => {
                "declare a register of that type in the statement, and convert to or from it there".into()
            }
        };
        is_outside.then(advice)
    }

    /// Headline and label.
    fn complaint(&self, place: &Place, reason: Reason) -> (String, String) {
        let spelled = self.program.module.text(place.syntax.span);
        let have = self.describe(place.value);
        let operand = format!("`{}` of `{}`", place.spec.arg.text(), self.name);
        let must_be = |want: &str| (format!("{operand} must be {want}; `{spelled}` is {have}"), have.clone());
        match reason {
            Reason::Type(ty) => must_be(&self.wanted_type(ty, place)),
            Reason::NeedsRegister => must_be("a register"),
            Reason::NeedsConstant => must_be("a constant"),
            Reason::Length(n) => must_be(&format!("a vector of {}", text::count(n as usize, "element"))),
            Reason::Space(None) => must_be("an address in memory"),
            Reason::Space(Some(space)) => {
                let space = format!("must be an address in `{space}` memory");
                (format!("{operand} {space}; `{spelled}` is {have}"), have)
            }
            Reason::NoSink if place.spec.access == Access::Read => {
                (format!("{operand} cannot be `_`: it is read"), "must have a value".into())
            }
            Reason::NoSink => (
                format!("the result of `{}` cannot be thrown away with `_`", self.name),
                "needs a register".into(),
            ),
            Reason::OnlySink => {
                let message =
                    format!("this form of `{}` returns nothing: its destination must be `_`", self.name);
                (message, "must be `_`".into())
            }
            Reason::Special => {
                let message = match place.spec.access {
                    Access::Read => {
                        format!("`{}` cannot read the special register `{spelled}` itself", self.name)
                    }
                    Access::Write | Access::ReadWrite => {
                        format!("the special register `{spelled}` cannot be written")
                    }
                };
                (message, have)
            }
            Reason::Negation => (format!("{operand} cannot be negated with `!`"), "no `!` here".into()),
            Reason::NoSecond => {
                let message = format!(
                    "`{}` has two results, written `{}`",
                    self.name,
                    describe::operand_text(place.spec)
                );
                (message, "only one of the two".into())
            }
            Reason::AddressType => (
                format!("the register of the address `{spelled}` must be an integer"),
                "not an address".into(),
            ),
            Reason::ConstantAddress => (
                format!("`{spelled}`: only local memory is addressed by a plain constant"),
                "a constant address".into(),
            ),
            Reason::Shape | Reason::Count => {
                let want = wanted_shape(place.spec);
                (format!("`{}` takes {want} here; `{spelled}` is {have}", self.name), have)
            }
        }
    }

    /// What the operand must be, as far as it is not.
    fn wanted_type(&self, ty: Type, place: &Place) -> String {
        let constant = match &place.spec.shape {
            Shape::Value(value) | Shape::Vector(value, _) => value.constants == Constants::Only,
            _ => false,
        };
        let given = match place.value {
            Value::Register(id) | Value::Component(id, _) => Some(self.routine.register(id).ty),
            _ => None,
        };
        match given {
            _ if constant => text::constant_of(ty).into(),
            Some(given) if given.bits() == ty.bits() => text::register_of(ty),
            None if matches!(place.value, Value::Const(_)) => text::number_of(ty),
            _ => text::sized_register_of(ty),
        }
    }

    /// What to write instead.
    fn advise(&self, diagnostic: Diagnostic, place: &Place, reason: Reason) -> Diagnostic {
        let diagnostic = self.standard_advice(diagnostic, place, reason);
        match self.op.hint(place.spec.arg.text()) {
            Some(hint) if reason != Reason::OnlySink => diagnostic.help(hint),
            _ => diagnostic,
        }
    }

    fn standard_advice(&self, diagnostic: Diagnostic, place: &Place, reason: Reason) -> Diagnostic {
        let span = place.syntax.span;
        let spelled = self.program.module.text(span);
        match reason {
            Reason::OnlySink => {
                let diagnostic = diagnostic.fix(Applicability::Safe, "write `_`", span, "_");
                match self.op.hint("_") {
                    Some(hint) => diagnostic.note(hint),
                    None => diagnostic,
                }
            }
            Reason::Special if place.spec.access == Access::Read => {
                let ty = if let Value::Special(id, _) = place.value {
                    SPECIALS[id as usize].ty
                } else {
                    Type::U32
                };
                diagnostic.help(format!("move it into a register first: `mov{ty} %r, {spelled};`"))
            }
            Reason::Type(_) if matches!(place.value, Value::Special(..)) && self.is_vector(place.value) => {
                diagnostic.help(format!("take one component, such as `{spelled}.x`"))
            }
            Reason::ConstantAddress => diagnostic.help("put the address into a register"),
            Reason::NoSecond => {
                diagnostic.help(format!("write `_|{spelled}` if only the second one is needed"))
            }
            Reason::Shape if is_bare_address(place) => {
                let title = format!("write `[{spelled}]`");
                diagnostic.fix(Applicability::Safe, title, span, format!("[{spelled}]"))
            }
            _ => diagnostic,
        }
    }

    fn is_vector(&self, value: Value) -> bool {
        match value {
            Value::Special(id, None) => SPECIALS[id as usize].vector > 1,
            _ => false,
        }
    }

    /// What an operand is, in words.
    fn describe(&self, value: Value) -> String {
        let space = |id: crate::program::VariableId| self.program.variables[id.0 as usize].space;
        let elements = |n: usize| format!("a vector of {}", text::count(n, "element"));
        match value {
            Value::Register(id) => {
                let register = self.routine.register(id);
                match register.vector {
                    1 => format!("a `{}` register", register.ty),
                    n => format!("a vector register of {n} `{}` elements", register.ty),
                }
            }
            Value::Component(id, _) => format!("a `{}` element", self.routine.register(id).ty),
            Value::Not(_) => "a negated predicate".into(),
            Value::Negated(_) => "a register with a minus sign".into(),
            Value::Special(id, None) if self.is_vector(value) => {
                elements(SPECIALS[id as usize].vector.into())
            }
            Value::Special(id, _) => format!("a `{}` special register", SPECIALS[id as usize].ty),
            Value::Const(value) if value.int().is_some() => "an integer constant".into(),
            Value::Const(_) => "a floating-point constant".into(),
            Value::UnknownConst => "a constant".into(),
            Value::Variable(id, _) | Value::Element(id) => {
                format!("a variable in `{}` memory", space(id))
            }
            Value::Label(_) => "a label".into(),
            Value::Function(_) => "a function".into(),
            Value::Sink => "the sink `_`".into(),
            Value::Vector(_, n) => elements(n.into()),
            Value::Pair(_) => "a pair".into(),
            Value::Address(Base::Variable(id), _) => format!("in `{}` memory", space(id)),
            Value::Address(..) => "an address".into(),
            Value::Compound(..) => "an address with coordinates".into(),
            Value::Group(..) => "a list in parentheses".into(),
            Value::Unknown => "not understood".into(),
        }
    }
}

fn wanted_shape(spec: &Operand) -> String {
    match &spec.shape {
        Shape::Address(_) => "an address in brackets".into(),
        Shape::Compound(..) => format!("an address of the form `{}`", describe::operand_text(spec)),
        Shape::Sink(_) => "`_`".into(),
        Shape::Label => "a label".into(),
        Shape::Function => "a function".into(),
        Shape::Vector(..) | Shape::Pair(..) => format!("`{}`", describe::operand_text(spec)),
        _ => format!("`{}`", spec.arg.text()),
    }
}

/// `bar` where `[bar]` is meant.
fn is_bare_address(place: &Place) -> bool {
    matches!(place.spec.shape, Shape::Address(_))
        && matches!(place.value, Value::Variable(..) | Value::Element(_) | Value::Register(_))
}
