//! Instructions that are none: unknown names and modifiers, missing ones, operands that do not fit.

use super::{Settings, text};
use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::opcode::{Misplaced, RowMiss, nearest};
use crate::isa::operand::{Mismatch, Reason};
use crate::isa::table::{Access, Constants, Op, Shape, Slot};
use crate::isa::{self, Mod, OPS, RowMatch};
use crate::program::{Fit, Inst, Program, Routine, Value};
use crate::source::Span;
use crate::syntax::ast::{Instruction, OpcodeId};
use crate::types::Space;

/// The rules of this file.
pub const RULES: &[&Rule] =
    &[&UNKNOWN_INSTRUCTION, &UNKNOWN_MODIFIER, &MISSING_MODIFIER, &OPERAND_MISMATCH, &NOT_CHECKED];

static UNKNOWN_INSTRUCTION: Rule = Rule {
    name: "unknown-instruction",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a name that is no PTX instruction",
    page: include_str!("unknown-instruction.md"),
};

static UNKNOWN_MODIFIER: Rule = Rule {
    name: "unknown-modifier",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a modifier that the instruction does not have, or not together with the others",
    page: include_str!("unknown-modifier.md"),
};

static MISSING_MODIFIER: Rule = Rule {
    name: "missing-modifier",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "an instruction without a modifier that it must have",
    page: include_str!("missing-modifier.md"),
};

static OPERAND_MISMATCH: Rule = Rule {
    name: "operand-mismatch",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "operands that are missing, superfluous or of the wrong kind or type",
    page: include_str!("operand-mismatch.md"),
};

static NOT_CHECKED: Rule = Rule {
    name: "not-checked",
    severity: Severity::Note,
    ptxas: Ptxas::Accepts,
    summary: "an instruction that this program knows only by name (with --verbose)",
    page: include_str!("not-checked.md"),
};

/// Runs the rules.
pub fn check(program: &Program, settings: &Settings, out: &mut Vec<Diagnostic>) {
    // One explanation for each distinct opcode; every place gets its own finding.
    for routine in &program.routines {
        for inst in &routine.instructions {
            match inst.fit {
                Fit::Row(_) | Fit::Gated(_) => {}
                Fit::Operand(row, _) => out.extend(operand(program, routine, inst, row)),
                Fit::Unknown => opcode(program, routine, inst, settings, out),
            }
        }
    }
}

/// An instruction of the module with the spans of its words.
struct Site<'a> {
    program: &'a Program,
    syntax: &'a Instruction,
    words: Vec<&'a str>,
    spans: Vec<Span>,
}

impl<'a> Site<'a> {
    fn new(program: &'a Program, routine: &'a Routine, inst: &Inst) -> Site<'a> {
        let syntax = program.syntax(routine, inst);
        let words: Vec<&str> = program.module.opcode(syntax).words().collect();
        let slice = program.module.text(syntax.opcode_span);
        let mut at = 0;
        let spans = words.iter().map(|word| {
            let found = slice[at..].find(word).map_or(at, |offset| at + offset);
            at = found + word.len();
            let start = syntax.opcode_span.start + found as u32;
            Span::new(start, start + word.len() as u32)
        });
        Site { program, syntax, spans: spans.collect(), words }
    }

    fn opcode(&self) -> &'a isa::Opcode {
        let OpcodeId(id) = self.syntax.opcode;
        &self.program.opcodes[id as usize]
    }

    /// The span of the first `count` words.
    fn head(&self, count: usize) -> Span {
        self.spans[0].to(self.spans[count.clamp(1, self.spans.len()) - 1])
    }
}

fn opcode(program: &Program, routine: &Routine, inst: &Inst, settings: &Settings, out: &mut Vec<Diagnostic>) {
    let site = Site::new(program, routine, inst);
    match site.opcode() {
        isa::Opcode::Known { .. } => {}
        isa::Opcode::Opaque if settings.verbose => {
            let message = format!("`{}` is not checked", site.words.concat());
            out.push(
                Diagnostic::new(&NOT_CHECKED, site.syntax.opcode_span, message)
                    .note("the instruction table does not describe it (completely)"),
            );
        }
        isa::Opcode::Opaque => {}
        isa::Opcode::Unknown { suggestions } => out.push(unknown(&site, suggestions)),
        isa::Opcode::Misfit { op, miss } => misfit(&site, op, miss, out),
    }
}

fn unknown(site: &Site, suggestions: &[&'static str]) -> Diagnostic {
    let first = site.words[0];
    let family: Vec<&Op> = OPS.iter().filter(|op| op.words().next() == Some(first)).collect();
    let count = if family.is_empty() { 1 } else { 2 };
    let head = site.head(count);
    let name = site.words[..count.min(site.words.len())].concat();
    let mut diagnostic =
        Diagnostic::new(&UNKNOWN_INSTRUCTION, head, format!("there is no instruction `{name}`"))
            .label("not an instruction of PTX");
    if !family.is_empty() {
        let mut names: Vec<&str> = family.iter().map(|op| op.name).collect();
        names.truncate(12);
        diagnostic = diagnostic.note(format!("instructions of that family: {}", text::one_of(&names)));
    }
    match suggestions {
        [] => diagnostic,
        [best, ..] => {
            let words = best.matches('.').count() + 1;
            let span = site.head(words);
            diagnostic.fix(Applicability::Unsafe, format!("did you mean `{best}`?"), span, *best)
        }
    }
}

/// Explains what keeps the opcode from the nearest row.
fn misfit(site: &Site, op: &'static Op, miss: &RowMiss, out: &mut Vec<Diagnostic>) {
    let mut explained = false;
    for problem in &miss.problems {
        let diagnostic = match *problem {
            Misplaced::NotAllowed(word) => not_allowed(site, op, miss, word),
            Misplaced::Second(word) => second(site, miss, word),
            // What is missing is only worth saying when nothing is superfluous.
            Misplaced::Missing(_) | Misplaced::Alone(..) if explained => continue,
            Misplaced::Missing(slot) => missing(site, op, &miss.row.slots[slot]),
            Misplaced::Alone(slot, partner) => alone(site, op, miss, slot, partner),
        };
        explained = true;
        out.push(diagnostic);
    }
}

fn alternatives(slot: &Slot) -> Vec<&'static str> {
    slot.alternatives.iter().map(|a| a.modifier.text()).collect()
}

fn not_allowed(site: &Site, op: &'static Op, miss: &RowMiss, word: usize) -> Diagnostic {
    let spelled = site.words[word];
    let span = site.spans[word];
    let modifier = Mod::from_text(spelled);
    let of_op = |m: Mod| op.rows.iter().any(|row| has_place(row.slots, m));
    let longer = OPS.iter().find(|other| other.name == format!("{}{spelled}", op.name));
    let name = op.name;
    let mut diagnostic = match modifier {
        Some(m) if of_op(m) => {
            let message = format!("`{spelled}` cannot stand in this form of `{name}`");
            Diagnostic::new(&UNKNOWN_MODIFIER, span, message).label("not with the other modifiers")
        }
        _ => Diagnostic::new(&UNKNOWN_MODIFIER, span, format!("`{name}` has no `{spelled}`"))
            .label("not a modifier of this instruction"),
    };
    let used = |m: &str| site.words.contains(&m);
    let open: Vec<&str> = miss
        .row
        .slots
        .iter()
        .filter(|slot| !alternatives(slot).iter().any(|m| used(m)))
        .flat_map(alternatives)
        .collect();
    let near = nearest(spelled, open.iter().copied())
        .or_else(|| nearest(spelled, op.rows.iter().flat_map(|row| row.slots).flat_map(|s| alternatives(s))));
    if let Some(longer) = longer {
        diagnostic = diagnostic
            .note(format!("`{spelled}` belongs to the name of the instruction: it follows `{name}` directly"))
            .help(format!("write `{}…`", longer.name));
    } else if let Some(near) = near.filter(|near| *near != spelled && !used(near)) {
        let title = format!("did you mean `{near}`?");
        diagnostic = diagnostic.fix(Applicability::Unsafe, title, span, near);
    }
    if let Some(hint) = op.hint(spelled) {
        diagnostic = diagnostic.help(hint);
    } else if !open.is_empty() {
        diagnostic = diagnostic.note(format!("allowed here: {}", text::one_of(&open)));
    }
    diagnostic
}

fn has_place(slots: &[Slot], modifier: Mod) -> bool {
    slots.iter().any(|slot| slot.alternatives.iter().any(|a| a.modifier == modifier))
}

fn second(site: &Site, miss: &RowMiss, word: usize) -> Diagnostic {
    let spelled = site.words[word];
    let span = site.spans[word];
    let slot = Mod::from_text(spelled)
        .and_then(|m| miss.row.slots.iter().find(|slot| has_place(std::slice::from_ref(slot), m)));
    let other = slot.and_then(|slot| {
        let texts = alternatives(slot);
        (0..word).rev().find(|&i| texts.contains(&site.words[i]))
    });
    let message = match other {
        Some(other) if site.words[other] != spelled => {
            format!("`{spelled}` contradicts `{}`", site.words[other])
        }
        _ => format!("`{spelled}` is given twice"),
    };
    let diagnostic = Diagnostic::new(&UNKNOWN_MODIFIER, span, message).label("one too many");
    match other {
        Some(other) => diagnostic.also(site.spans[other], "the first one"),
        None => diagnostic,
    }
    .fix(Applicability::Unsafe, format!("leave out this `{spelled}`"), span, "")
}

fn missing(site: &Site, op: &Op, slot: &Slot) -> Diagnostic {
    let choices = alternatives(slot);
    let message = format!("`{}` needs {}", op.name, text::one_of(&choices));
    let end = site.syntax.opcode_span.end;
    let diagnostic = Diagnostic::new(&MISSING_MODIFIER, site.syntax.opcode_span, message);
    match choices.as_slice() {
        [only] => {
            let title = format!("append `{only}`");
            diagnostic.fix(Applicability::Safe, title, Span::empty(end), *only)
        }
        _ => diagnostic.help(format!("append {}", text::one_of(&choices))),
    }
}

fn alone(site: &Site, op: &Op, miss: &RowMiss, slot: usize, partner: usize) -> Diagnostic {
    let choices = alternatives(&miss.row.slots[slot]);
    let given = alternatives(&miss.row.slots[partner]);
    let word = site.words.iter().position(|word| given.contains(word)).unwrap_or(0);
    let message = format!("`{}` of `{}` must come with {}", site.words[word], op.name, text::one_of(&choices));
    Diagnostic::new(&MISSING_MODIFIER, site.spans[word], message)
        .label("not alone")
        .help(format!("add {}, or leave `{}` out", text::one_of(&choices), site.words[word]))
}

/// Explains an operand that does not fit.
fn operand(program: &Program, routine: &Routine, inst: &Inst, row: u8) -> Option<Diagnostic> {
    let site = Site::new(program, routine, inst);
    let isa::Opcode::Known { op, .. } = site.opcode() else { return None };
    let found = program.candidate(routine, inst, row)?;
    let mismatch = program.fit(routine, inst, found).err()?;
    let expected = format!("expected: `{}`", text::signature(op.name, found));
    if let Some(diagnostic) = missing_destination(&site, op, found, routine, inst) {
        return Some(diagnostic.note(expected));
    }
    let diagnostic = match mismatch.reason {
        Reason::Count => wrong_count(&site, op, found, inst),
        _ => wrong_operand(&site, op, found, routine, inst, mismatch),
    };
    Some(diagnostic.note(expected))
}

/// `mbarrier.arrive.b64 [bar];`: the address stands where the result should.
fn missing_destination(
    site: &Site,
    op: &Op,
    found: &RowMatch,
    routine: &Routine,
    inst: &Inst,
) -> Option<Diagnostic> {
    let first = found.row.operands.first()?;
    let takes_sink = match &first.shape {
        Shape::Value(value) => value.sink.is_some(),
        Shape::Sink(_) => true,
        _ => false,
    };
    let second_is_address = matches!(found.row.operands.get(1)?.shape, Shape::Address(_));
    let given = routine.operands(inst).first()?;
    let written = first.access == Access::Write || matches!(first.shape, Shape::Sink(_));
    if !(takes_sink && written && second_is_address && matches!(given, Value::Address(..))) {
        return None;
    }
    let span = site.program.module.operands(site.syntax).first()?.span;
    let name = op.name;
    Some(
        Diagnostic::new(&OPERAND_MISMATCH, span, format!("`{name}` needs a destination before the address"))
            .label("the destination is missing before this")
            .fix(
                Applicability::Safe,
                format!("write `_` when the {} is not needed", first_name(found)),
                Span::empty(span.start),
                "_, ",
            ),
    )
}

fn first_name(found: &RowMatch) -> &'static str {
    match found.row.operands.first() {
        Some(operand) if !matches!(operand.shape, Shape::Sink(_)) => operand.arg.text(),
        _ => "result",
    }
}

fn wrong_count(site: &Site, op: &Op, found: &RowMatch, inst: &Inst) -> Diagnostic {
    let given = inst.operands as usize;
    let counts = found.row.counts;
    let most = counts.last().copied().unwrap_or(0) as usize;
    let operands = site.program.module.operands(site.syntax);
    let takes = match counts {
        [0] => "no operands".to_string(),
        [1] => "1 operand".to_string(),
        _ => format!("{} operands", text::numbers(counts)),
    };
    let message = format!("`{}` takes {takes}, not {given}", op.name);
    if given > most {
        let span = operands[most].span.to(operands[given - 1].span);
        return Diagnostic::new(&OPERAND_MISMATCH, span, message).label("superfluous");
    }
    let missing: Vec<&str> =
        found.row.operands[given..].iter().map(|operand| operand.arg.text()).collect();
    let span = operands.last().map_or(site.syntax.opcode_span, |operand| operand.span);
    let diagnostic = Diagnostic::new(&OPERAND_MISMATCH, span, message);
    match missing.first() {
        Some(name) => diagnostic.label(format!("`{name}` is missing after this")),
        None => diagnostic,
    }
}

fn wrong_operand(
    site: &Site,
    op: &Op,
    found: &RowMatch,
    routine: &Routine,
    inst: &Inst,
    mismatch: Mismatch,
) -> Diagnostic {
    let operand = &site.program.module.operands(site.syntax)[mismatch.index];
    let spec = &found.row.operands[mismatch.index];
    let spelled = site.program.module.text(operand.span);
    let name = spec.arg.text();
    let have = describe(site.program, routine, routine.operands(inst)[mismatch.index]);
    let constants = match &spec.shape {
        Shape::Value(value) | Shape::Vector(value, _) => value.constants,
        _ => Constants::Allowed,
    };
    let written = spec.access != Access::Read;
    let (message, label, help) = match mismatch.reason {
        Reason::Type(ty) => {
            let want = text::type_in_words(ty, constants == Constants::Allowed && !written, constants == Constants::Only);
            (format!("`{name}` of `{}` must be {want}; `{spelled}` is {have}", op.name), format!("not {want}"), None)
        }
        Reason::NeedsRegister => {
            (format!("`{name}` of `{}` must be a register; `{spelled}` is {have}", op.name), "not a register".into(), None)
        }
        Reason::NeedsConstant => {
            (format!("`{name}` of `{}` must be a constant; `{spelled}` is {have}", op.name), "not a constant".into(), None)
        }
        Reason::NoSink => (
            format!("the result of `{}` cannot be thrown away with `_`", op.name),
            "needs a register".into(),
            None,
        ),
        Reason::OnlySink => (
            format!("this form of `{}` returns nothing: its destination must be `_`", op.name),
            "must be `_`".into(),
            None,
        ),
        Reason::Special => (
            format!("a special register cannot be an operand of `{}`", op.name),
            "special register".into(),
            Some(format!("move it first: `mov.u32 r, {spelled};`")),
        ),
        Reason::Negation => {
            (format!("`{name}` of `{}` cannot be negated with `!`", op.name), "no `!` here".into(), None)
        }
        Reason::NoSecond => (
            format!("`{}` has two destinations, written `{}`", op.name, text::operands(found.row).split(", ").next().unwrap_or("d|p")),
            "the second half is missing".into(),
            None,
        ),
        Reason::Length(n) => (
            format!("`{name}` of `{}` must be a vector of {}; `{spelled}` is {have}", op.name, text::count(n as usize, "element")),
            format!("needs {}", text::count(n as usize, "element")),
            None,
        ),
        Reason::AddressType => (
            format!("`{spelled}`: an address register is an integer of 16 to 64 bits"),
            "not an address".into(),
            None,
        ),
        Reason::Space(space) => {
            let want = space.map_or("memory".into(), |space: Space| format!("`{space}` memory"));
            (format!("`{spelled}` does not lie in {want}, where `{}` looks for `{name}`", op.name), have, None)
        }
        Reason::ConstantAddress => (
            format!("`{spelled}`: only local memory is addressed by a plain constant"),
            "needs a register or a variable".into(),
            Some("put the address into a register".into()),
        ),
        Reason::Shape | Reason::Count => {
            let want = match &spec.shape {
                Shape::Address(_) => "an address in brackets".to_string(),
                Shape::Compound(..) => format!("an address of the form `{}`", text::operands(found.row).split("], ").find(|o| o.contains(", ")).map_or(String::new(), |o| format!("{}]", o.trim_end_matches(']')))),
                Shape::Sink(_) => "`_`".to_string(),
                Shape::Label => "a label".to_string(),
                Shape::Function => "a function".to_string(),
                _ => format!("`{name}`"),
            };
            let help = matches!(spec.shape, Shape::Address(_)).then(|| format!("write `[{spelled}]`"));
            (format!("`{}` expects {want} here; `{spelled}` is {have}", op.name), format!("expected {want}"), help.filter(|_| !spelled.starts_with(['[', '{'])))
        }
    };
    let mut diagnostic = Diagnostic::new(&OPERAND_MISMATCH, operand.span, message).label(label);
    if mismatch.reason == Reason::OnlySink {
        diagnostic = diagnostic.fix(Applicability::Safe, "write `_`", operand.span, "_");
        if let Some(hint) = op.hint("_") {
            diagnostic = diagnostic.note(hint);
        }
    }
    match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// What an operand is, in words.
fn describe(program: &Program, routine: &Routine, value: Value) -> String {
    let article = |ty: &str| if ty.starts_with(".u8") { "a" } else { "a" }.to_string() + &format!(" `{ty}` register");
    match value {
        Value::Register(id) => {
            let register = routine.register(id);
            match register.vector {
                1 => article(register.ty.text()),
                n => format!("a vector register of {n} `{}`", register.ty),
            }
        }
        Value::Component(id, _) => format!("a `{}` element", routine.register(id).ty),
        Value::Not(_) => "a negated predicate".into(),
        Value::Negated(_) => "a register with a minus sign".into(),
        Value::Special(..) => "a special register".into(),
        Value::Const(value) if value.int().is_some() => "an integer constant".into(),
        Value::Const(_) => "a floating-point constant".into(),
        Value::Variable(id, _) | Value::Element(id) => {
            format!("a variable in `{}` memory", program.variables[id.0 as usize].space)
        }
        Value::Label(_) => "a label".into(),
        Value::Function(_) => "a function".into(),
        Value::Sink => "the sink".into(),
        Value::Vector(_, n) => format!("a vector of {}", text::count(n as usize, "element")),
        Value::Pair(_) => "a pair".into(),
        Value::Address(crate::program::Base::Variable(id), _) => {
            format!("in `{}` memory", program.variables[id.0 as usize].space)
        }
        Value::Address(..) => "an address".into(),
        Value::Compound(..) => "an address with coordinates".into(),
        Value::Group(..) => "a list in parentheses".into(),
        Value::Unknown => "not understood".into(),
    }
}
