//! Opcodes that are none: unknown names and modifiers, and missing ones.

use rustc_hash::FxHashMap;

use super::{Settings, operand, text, words};
use crate::diagnostic::{Applicability, Diagnostic, Edit, Ptxas, Rule, Severity};
use crate::isa::opcode::{Misplaced, RowMiss, edit_distance, is_slip, nearest, suggest_op};
use crate::isa::table::{Op, Row, Slot};
use crate::isa::{self, Mod, Needs, OPS};
use crate::program::{Fit, Inst, Program, Routine};
use crate::source::Span;
use crate::syntax::ast::{Instruction, OpcodeId, OperandKind};

/// The rules of this file.
pub const RULES: &[&Rule] = &[&UNKNOWN_INSTRUCTION, &UNKNOWN_MODIFIER, &MISSING_MODIFIER, &NOT_CHECKED];

pub(super) static UNKNOWN_INSTRUCTION: Rule = Rule {
    name: "unknown-instruction",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a name that is no PTX instruction",
    page: include_str!("unknown-instruction.md"),
};

pub(super) static UNKNOWN_MODIFIER: Rule = Rule {
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

pub(super) static NOT_CHECKED: Rule = Rule {
    name: "not-checked",
    severity: Severity::Note,
    ptxas: Ptxas::Accepts,
    summary: "an instruction that this program knows only by name (with --verbose)",
    page: include_str!("not-checked.md"),
};

/// Runs the rules.
pub fn check(program: &Program, settings: &Settings, out: &mut Vec<Diagnostic>) {
    let mut suggestions = Suggestions::default();
    for routine in &program.routines {
        for inst in &routine.instructions {
            out.extend(blank_in_name(program, routine, inst));
            match inst.fit {
                Fit::Row(_) | Fit::Gated(_) => {}
                Fit::Operand(row, _) => out.extend(operand::explain(program, routine, inst, row)),
                Fit::Unknown => {
                    opcode(&Site::new(program, routine, inst), settings, &mut suggestions, out);
                }
            }
        }
    }
}

/// `mbarrier .init`: blanks may stand before modifiers, but not inside the fixed words of the name.
fn blank_in_name(program: &Program, routine: &Routine, inst: &Inst) -> Option<Diagnostic> {
    let syntax = program.syntax(routine, inst);
    let written = syntax.opcode_span.end - syntax.opcode_span.start;
    if written as usize == program.module.opcode(syntax).text.len() {
        return None;
    }
    let site = Site::new(program, routine, inst);
    let op = match site.opcode() {
        isa::Opcode::Known { op, .. } | isa::Opcode::Misfit { op, .. } => op,
        isa::Opcode::Opaque | isa::Opcode::Unknown => return None,
    };
    let head = site.head(op.words().count());
    if (head.end - head.start) as usize == op.name.len() {
        return None;
    }
    Some(
        Diagnostic::new(&UNKNOWN_INSTRUCTION, head, format!("`{}` must be written without blanks", op.name))
            .label("a blank inside the name")
            .fix(Applicability::Safe, format!("write `{}`", op.name), head, op.name),
    )
}

/// An instruction of the module with the spans of its words.
struct Site<'a> {
    program: &'a Program,
    routine: &'a Routine,
    inst: &'a Inst,
    syntax: &'a Instruction,
    words: Vec<&'a str>,
    spans: Vec<Span>,
}

impl<'a> Site<'a> {
    fn new(program: &'a Program, routine: &'a Routine, inst: &'a Inst) -> Site<'a> {
        let syntax = program.syntax(routine, inst);
        let (words, spans) = words::of(program, syntax).into_iter().unzip();
        Site { program, routine, inst, syntax, words, spans }
    }

    fn opcode(&self) -> &'a isa::Opcode {
        let OpcodeId(id) = self.syntax.opcode;
        &self.program.opcodes[id as usize]
    }

    /// How safe it is to write `new` in place of `count` words from number `first` on, if it is `certain`
    /// that this is meant: the instruction must be right with it.
    fn safety(&self, certain: bool, first: usize, count: usize, new: &str) -> Applicability {
        let fits = || {
            let (head, tail) = (self.words[..first].concat(), self.words[first + count..].concat());
            self.fits(&format!("{head}{new}{tail}"))
        };
        words::safe_if(certain && self.is_short() && fits())
    }

    fn fits(&self, opcode: &str) -> bool {
        words::fit(self.program, self.routine, self.inst, opcode)
    }

    /// Whether the opcode is no longer than any that is right; others are not worth the time.
    fn is_short(&self) -> bool {
        self.words.len() <= 32
    }

    /// The span of the first `count` words.
    fn head(&self, count: usize) -> Span {
        self.spans[0].to(self.spans[count.clamp(1, self.spans.len()) - 1])
    }
}

/// So many distinct unknown opcodes get suggestions: each is compared with the whole table.
const SUGGESTIONS: usize = 20;

/// What may have been meant by unknown opcodes.
#[derive(Default)]
struct Suggestions {
    found: FxHashMap<OpcodeId, Vec<&'static str>>,
}

impl Suggestions {
    fn of(&mut self, site: &Site) -> &[&'static str] {
        let id = site.syntax.opcode;
        if self.found.len() < SUGGESTIONS {
            self.found.entry(id).or_insert_with(|| suggest_op(&site.words));
        }
        self.found.get(&id).map_or(&[], Vec::as_slice)
    }
}

fn opcode(site: &Site, settings: &Settings, suggestions: &mut Suggestions, out: &mut Vec<Diagnostic>) {
    match site.opcode() {
        isa::Opcode::Known { .. } => {}
        isa::Opcode::Opaque if settings.verbose => {
            let message = format!("`{}` is not checked", site.words.concat());
            out.push(
                Diagnostic::new(&NOT_CHECKED, site.syntax.opcode_span, message)
                    .label("known by name only")
                    .note("this program does not know its modifiers and operands; ptxas does"),
            );
        }
        isa::Opcode::Opaque => {}
        isa::Opcode::Unknown => out.push(unknown(site, suggestions.of(site))),
        isa::Opcode::Misfit { op, miss } => misfit(site, op, miss, out),
    }
}

fn unknown(site: &Site, suggestions: &[&'static str]) -> Diagnostic {
    let first = site.words[0];
    let family: Vec<&str> =
        OPS.iter().filter(|op| op.words().next() == Some(first)).map(|op| op.name).collect();
    let count = if family.is_empty() { 1 } else { 2 };
    let name = site.words[..count.min(site.words.len())].concat();
    let diagnostic =
        Diagnostic::new(&UNKNOWN_INSTRUCTION, site.head(count), format!("there is no instruction `{name}`"))
            .label("not a PTX instruction");
    match suggestions {
        [best, ..] => {
            let count = (best.matches('.').count() + 1).min(site.words.len());
            let given = site.words[..count].concat();
            let certain = is_slip(&given, best, suggestions.iter().copied());
            let safety = site.safety(certain, 0, count, best);
            diagnostic.fix(safety, format!("did you mean `{best}`?"), site.head(count), *best)
        }
        [] if family.is_empty() => diagnostic,
        [] if family.len() <= FEW => {
            diagnostic.help(format!("instructions that begin with `{first}` are {}", text::all_of(&family)))
        }
        [] => diagnostic.help(format!("`mbar forms {first}` lists the instructions of this family")),
    }
}

/// So many things are listed in a message; more would hide the rest of it.
const FEW: usize = 8;

/// Explains what keeps the opcode from the nearest row.
fn misfit(site: &Site, op: &'static Op, miss: &RowMiss, out: &mut Vec<Diagnostic>) {
    let mut explained = false;
    for problem in &miss.problems {
        let diagnostic = match *problem {
            // Behind one word out of place, another that the instruction has may be in place after all.
            Misplaced::NotAllowed(word) if explained && site.belongs_to(op, word) => continue,
            Misplaced::NotAllowed(word) if let Some(family) = site.longer_name(op, word) => {
                out.push(no_such_member(site, &family, word));
                return;
            }
            Misplaced::NotAllowed(word) => not_allowed(site, op, miss, word),
            Misplaced::Second(word) => second(site, miss, word),
            // What is missing is only worth saying when nothing is superfluous, or unreadable.
            Misplaced::Missing(_) | Misplaced::Alone(..) if explained || site.is_unreadable() => continue,
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

fn has_place(slots: &[Slot], modifier: Mod) -> bool {
    slots.iter().any(|slot| slot.alternatives.iter().any(|a| a.modifier == modifier))
}

/// The words behind `.cluster` of `barrier.cluster.sync` make no instruction.
fn no_such_member(site: &Site, family: &str, word: usize) -> Diagnostic {
    let members: Vec<&str> =
        OPS.iter().map(|op| op.name).filter(|name| name.starts_with(&format!("{family}."))).collect();
    let words = (word + 2).min(site.words.len());
    let name = site.words[..words].concat();
    let diagnostic =
        Diagnostic::new(&UNKNOWN_INSTRUCTION, site.head(words), format!("there is no instruction `{name}`"))
            .label("not a PTX instruction");
    match nearest(&name, members.iter().copied()) {
        Some(near) => {
            let title = format!("did you mean `{near}`?");
            diagnostic.fix(Applicability::Unsafe, title, site.head(words), near)
        }
        None => {
            diagnostic.help(format!("instructions that begin with `{family}` are {}", text::all_of(&members)))
        }
    }
}

impl Site<'_> {
    /// Whether operands could not be read, so that a word of the opcode may be missing.
    fn is_unreadable(&self) -> bool {
        let operands = self.program.module.operands(self.syntax);
        operands.iter().any(|operand| matches!(operand.kind, OperandKind::Error))
    }

    /// The beginning of other instructions' names that the words up to `word` spell, behind those of `op`.
    fn longer_name(&self, op: &Op, word: usize) -> Option<String> {
        let begins = word == op.words().count() && word + 1 < self.words.len();
        let family = format!("{}{}", op.name, self.words[word]);
        let is_family = OPS
            .iter()
            .any(|other| other.name.strip_prefix(family.as_str()).is_some_and(|rest| rest.starts_with('.')));
        (begins && is_family && !self.belongs_to(op, word)).then_some(family)
    }

    /// Whether some form of `op` has the modifier that is word number `word`.
    fn belongs_to(&self, op: &Op, word: usize) -> bool {
        Mod::from_text(self.words[word]).is_some_and(|m| op.rows.iter().any(|row| has_place(row.slots, m)))
    }

    /// The alternatives of `slot` that the file's version and target have, or else all of them.
    fn available(&self, slot: &Slot) -> Vec<&'static str> {
        let meets = |gate| self.program.meets(Needs::NONE.and(slot.gate).and(gate));
        let fitting = slot.alternatives.iter().filter(|a| meets(a.gate)).map(|a| a.modifier.text());
        let fitting: Vec<&str> = fitting.collect();
        if fitting.is_empty() { alternatives(slot) } else { fitting }
    }

    /// Whether the file's version and target have anything for `slot`.
    fn reachable(&self, slot: &Slot) -> bool {
        let meets = |gate| self.program.meets(Needs::NONE.and(slot.gate).and(gate));
        slot.alternatives.iter().any(|a| meets(a.gate))
    }

    /// The places of the row that are still empty.
    fn open_slots(&self, row: &'static Row) -> impl Iterator<Item = &'static Slot> {
        row.slots.iter().filter(|slot| !alternatives(slot).iter().any(|text| self.words.contains(text)))
    }
}

fn not_allowed(site: &Site, op: &'static Op, miss: &RowMiss, word: usize) -> Diagnostic {
    let spelled = site.words[word];
    let span = site.spans[word];
    let name = op.name;
    let diagnostic = if site.belongs_to(op, word) {
        let message = format!("`{spelled}` cannot stand in this form of `{name}`");
        Diagnostic::new(&UNKNOWN_MODIFIER, span, message).label("not together with the other modifiers")
    } else {
        Diagnostic::new(&UNKNOWN_MODIFIER, span, format!("`{name}` has no `{spelled}`"))
            .label("not a modifier of this instruction")
    };
    if let Some(hint) = op.hint(spelled) {
        return diagnostic.help(hint);
    }
    if let Some(longer) = OPS.iter().find(|other| other.name == format!("{name}{spelled}")) {
        return part_of_name(site, op, word, longer, diagnostic);
    }
    if let Some((extended, certain)) = name_beginning_with(site, op, word) {
        let title = format!("did you mean `{name}{extended}`?");
        return diagnostic.fix(site.safety(certain, word, 1, extended), title, span, extended);
    }
    in_its_place(site, op, miss, word, diagnostic)
}

/// Says that word number `word` belongs behind the words of `op`, with which it names `longer`.
fn part_of_name(site: &Site, op: &Op, word: usize, longer: &Op, diagnostic: Diagnostic) -> Diagnostic {
    let spelled = site.words[word];
    let count = op.words().count();
    let diagnostic = diagnostic.note(format!(
        "`{spelled}` is part of the name of another instruction and follows `{}` at once",
        op.name
    ));
    let title = format!("write `{}…`", longer.name);
    let moved =
        || [&site.words[..count], &[spelled], &site.words[count..word], &site.words[word + 1..]].concat();
    if !(site.is_short() && site.fits(&moved().concat())) {
        return diagnostic.help(title);
    }
    let inserted = Edit { span: Span::empty(site.spans[count - 1].end), replacement: spelled.to_string() };
    let removed = Edit { span: site.spans[word], replacement: String::new() };
    diagnostic.fix_all(Applicability::Safe, title, vec![inserted, removed])
}

/// `.wait` of `cp.async.wait`: the next word of an instruction whose name begins with that of `op`, and
/// whether no other can be meant.
fn name_beginning_with(site: &Site, op: &Op, word: usize) -> Option<(&'static str, bool)> {
    if word != op.words().count() {
        return None;
    }
    let next = |other: &'static Op| {
        let rest = other.name.strip_prefix(op.name)?;
        (rest.starts_with('.') && rest[1..].find('.').is_none()).then_some(rest)
    };
    let spelled = site.words[word];
    let nexts: Vec<&str> = OPS.iter().filter_map(next).collect();
    let longer: Vec<&str> =
        nexts.iter().copied().filter(|next| spelled.len() > 3 && next.starts_with(spelled)).collect();
    match longer.as_slice() {
        [] => nearest(spelled, nexts.iter().copied())
            .map(|near| (near, is_slip(spelled, near, nexts.iter().copied()))),
        [first, others @ ..] => Some((first, others.is_empty())),
    }
}

/// Adds what could stand where `spelled` does.
fn in_its_place(
    site: &Site,
    op: &'static Op,
    miss: &RowMiss,
    word: usize,
    diagnostic: Diagnostic,
) -> Diagnostic {
    let (spelled, span) = (site.words[word], site.spans[word]);
    let open: Vec<Vec<&str>> = site
        .open_slots(miss.row)
        .filter(|slot| site.reachable(slot))
        .map(|slot| site.available(slot))
        .collect();
    let all = open.concat();
    let list = |diagnostic: Diagnostic, choices: &[&str]| match choices.len() {
        0 | 1 => diagnostic,
        n if n <= 2 * FEW => diagnostic.note(format!("{} can stand here", text::one_of(choices))),
        _ => diagnostic.help(format!("`mbar forms {}` lists the forms of this instruction", op.name)),
    };
    let elsewhere: Vec<&str> = op.rows.iter().flat_map(|row| row.slots).flat_map(alternatives).collect();
    let near = nearest(spelled, all.iter().copied())
        .or_else(|| nearest(spelled, elsewhere.iter().copied()))
        .filter(|near| *near != spelled && !site.words.contains(near))
        .or_else(|| all.iter().copied().find(|text| is_half(spelled, text)));
    let Some(near) = near else { return list(diagnostic, &all) };
    let others = || all.iter().chain(&elsewhere).copied().filter(|other| *other != spelled);
    let certain = match is_half(spelled, near) {
        true => others().all(|other| other == near || !is_half(spelled, other)),
        false => is_slip(spelled, near, others()),
    };
    let slot = open.iter().find(|slot| slot.contains(&near));
    let rivals = |slot: &Vec<&str>| {
        let least = edit_distance(spelled, near);
        slot.iter().filter(|other| edit_distance(spelled, other) == least).count() > 1
    };
    let diagnostic = match slot {
        Some(slot) if rivals(slot) => diagnostic,
        _ => {
            let safety = site.safety(certain, word, 1, near);
            diagnostic.fix(safety, format!("did you mean `{near}`?"), span, near)
        }
    };
    match slot {
        Some(slot) => list(diagnostic, slot),
        None => diagnostic,
    }
}

/// `.shared` of `.shared::cta`
fn is_half(word: &str, whole: &str) -> bool {
    whole.strip_prefix(word).is_some_and(|rest| rest.starts_with("::"))
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
    let twice = other.is_some_and(|other| site.words[other] == spelled);
    match other {
        Some(other) => diagnostic.also(site.spans[other], "the first one"),
        None => diagnostic,
    }
    .fix(site.safety(twice, word, 1, ""), format!("leave out this `{spelled}`"), span, "")
}

fn missing(site: &Site, op: &'static Op, slot: &Slot) -> Diagnostic {
    let mut choices = completions(site, op);
    if choices.is_empty() {
        choices = site.available(slot);
    }
    let shown = if choices.len() <= FEW { text::one_of(&choices) } else { format!("a `{}`", slot.name) };
    let message = format!("`{}` needs {shown}", op.name);
    let end = site.syntax.opcode_span.end;
    let diagnostic = Diagnostic::new(&MISSING_MODIFIER, site.syntax.opcode_span, message);
    match choices.as_slice() {
        [only] => diagnostic.label(format!("`{only}` is missing")).fix(
            site.safety(true, site.words.len(), 0, only),
            format!("append `{only}`"),
            Span::empty(end),
            *only,
        ),
        _ => diagnostic.label("one modifier is missing").help(format!("append {}", text::one_of(&choices))),
    }
}

/// The modifiers of which one completes the opcode with the least further ones, over all forms.
fn completions(site: &Site, op: &'static Op) -> Vec<&'static str> {
    let given: Vec<Mod> =
        site.words[op.words().count()..].iter().filter_map(|word| Mod::from_text(word)).collect();
    let fitting = op.rows.iter().filter(|row| {
        !row.undocumented
            && site.program.meets(Needs::NONE.and(row.gate))
            && given.iter().all(|m| has_place(row.slots, *m))
    });
    let lacking = |row: &'static Row| -> Vec<&'static Slot> {
        site.open_slots(row).filter(|slot| !slot.optional).collect()
    };
    let lists: Vec<Vec<&Slot>> = fitting.map(lacking).filter(|slots| !slots.is_empty()).collect();
    let least = lists.iter().map(Vec::len).min().unwrap_or(0);
    let mut choices = Vec::new();
    for slots in lists.iter().filter(|slots| slots.len() == least) {
        let new = site.available(slots[0]);
        choices.extend(new.into_iter().filter(|text| !choices.contains(text)).collect::<Vec<_>>());
    }
    choices
}

fn alone(site: &Site, op: &Op, miss: &RowMiss, slot: usize, partner: usize) -> Diagnostic {
    let choices = site.available(&miss.row.slots[slot]);
    let given = alternatives(&miss.row.slots[partner]);
    let word = site.words.iter().position(|word| given.contains(word)).unwrap_or(0);
    let (lone, partners) = (site.words[word], text::one_of(&choices));
    let message = format!("`{lone}` of `{}` must come with {partners}", op.name);
    Diagnostic::new(&MISSING_MODIFIER, site.spans[word], message)
        .label(format!("{partners} is missing"))
        .help(format!("add {partners}, or leave `{lone}` out"))
}
