//! What cannot be known of a template: operands and macros within words, and literals that meet without
//! anything between them.

use smallvec::SmallVec;

use super::rules::MISSING_SEPARATOR;
use crate::check::words;
use crate::diagnostic::{Applicability, Diagnostic};
use crate::extract::template::{Hole, Template};
use crate::isa::{self, Mod, Opcode};
use crate::source::Span;

/// So many texts that a template may stand for are tried.
const MOST: usize = 64;

/// A template whose holes are filled or cut out.
pub struct Filled {
    /// The texts that it may stand for; at least one.
    pub candidates: Vec<Template>,
    /// What was cut out because it holds something unknown: where that stands in the host.
    pub cut: Vec<Span>,
    /// It may have declared names.
    pub may_declare: bool,
}

/// Writes constants into the offsets of addresses, where only a number can stand: their values, or 0 for
/// those that are not known. `constant` tells of an operand whether it is one.
pub fn fill_offsets(template: &Template, constant: &dyn Fn(usize) -> Option<Option<i64>>) -> Template {
    let mut filled = template.clone();
    let is_offset =
        |template: &Template, at: u32| template.text[..at as usize].trim_end().ends_with(['+', '-']);
    while let Some((span, value)) = filled.references.iter().find_map(|reference| {
        let value = constant(reference.operand)?;
        is_offset(&filled, reference.span.start).then_some((reference.span, value))
    }) {
        filled = filled.replaced(span, &value.unwrap_or(0).to_string());
    }
    filled
}

/// Fills the operands in words with every modifier that there is, and cuts out the instructions that hold
/// anything else.
pub fn fill(template: &Template) -> Filled {
    let mut template = template.clone();
    let mut cut = Vec::new();
    let may_declare = template.holes.iter().any(|hole| hole.operand.is_none());
    for hole in template.holes.clone() {
        if hole.operand.is_none() || modifiers(&template, &hole).is_empty() {
            cut.push(hole.host);
            cut_statement(&mut template, hole.span);
        }
    }
    let mut candidates = vec![template];
    while let Some(hole) = candidates[0].holes.first().copied() {
        let filled: Vec<Template> = candidates.iter().flat_map(fill_first).take(MOST + 1).collect();
        if filled.is_empty() || filled.len() > MOST {
            cut.push(hole.host);
            candidates.iter_mut().for_each(cut_first);
        } else {
            candidates = filled;
        }
    }
    Filled { candidates, cut, may_declare }
}

/// The template with the operand of its first hole, wherever that stands in a word, replaced by each text that
/// makes a modifier there.
fn fill_first(template: &Template) -> Vec<Template> {
    let Some(first) = template.holes.first().copied() else { return vec![template.clone()] };
    let fill = |text: &&str| {
        let mut filled = template.clone();
        while let Some(hole) = filled.holes.iter().find(|hole| hole.operand == first.operand).copied() {
            filled = filled.replaced(hole.span, text);
        }
        filled
    };
    modifiers(template, &first).iter().map(fill).collect()
}

fn cut_first(template: &mut Template) {
    if let Some(hole) = template.holes.first().copied() {
        cut_statement(template, hole.span);
    }
}

/// The texts that make a modifier of the word around `hole`.
fn modifiers(template: &Template, hole: &Hole) -> SmallVec<[&'static str; 8]> {
    let text = template.text.as_str();
    let (before, after) = (&text[..hole.span.start as usize], &text[hole.span.end as usize..]);
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let Some(start) = before.rfind(|c: char| !in_word(c)).filter(|at| before[*at..].starts_with('.')) else {
        return SmallVec::new();
    };
    let prefix = &before[start..];
    let suffix = &after[..after.find(|c: char| !in_word(c)).unwrap_or(after.len())];
    let inner = |modifier: &Mod| {
        let inner = modifier.text().strip_prefix(prefix)?.strip_suffix(suffix)?;
        (!inner.is_empty()).then_some(inner)
    };
    let all: SmallVec<[&str; 8]> = Mod::all().filter_map(|modifier| inner(&modifier)).collect();
    // Where nearly everything fits nothing is known.
    if all.len() <= MOST { all } else { SmallVec::new() }
}

/// Blanks out the instruction around `span`, and drops the holes in it.
fn cut_statement(template: &mut Template, span: Span) {
    let cut = statement_around(&template.text, span);
    template.blank(cut);
    template.holes.retain(|hole| !(cut.start <= hole.span.start && hole.span.end <= cut.end));
}

/// The statement that `place` stands in, its `;` included, labels before it left out.
fn statement_around(text: &str, place: Span) -> Span {
    let bytes = text.as_bytes();
    let (mut start, mut vectors, mut at) = (0, 0u32, 0);
    while at < bytes.len() {
        let inside = at >= place.start as usize;
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = text[at..].find('\n').map_or(bytes.len(), |end| at + end);
                continue;
            }
            b';' if at >= place.end as usize => return Span::new(start, at as u32 + 1),
            b'{' if text[start as usize..at].trim().is_empty() && !inside => start = at as u32 + 1,
            b'{' => vectors += 1,
            b'}' if vectors > 0 => vectors -= 1,
            b'}' if inside => return Span::new(start, at as u32),
            b':' if !inside && is_label(&text[start as usize..at], bytes.get(at + 1)) => {
                start = at as u32 + 1
            }
            b';' | b'}' if !inside => (start, vectors) = (at as u32 + 1, 0),
            _ => {}
        }
        at += 1;
    }
    Span::new(start, text.len() as u32)
}

/// Whether a `:` behind `before` ends a label.
fn is_label(before: &str, next: Option<&u8>) -> bool {
    let name = before.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    !name.is_empty() && name.chars().all(is_name) && next != Some(&b':')
}

/// So many missing `;` of one statement are told.
const MOST_MISSING: usize = 16;

/// So far back, in characters, the beginning of an instruction is looked for.
const LOOK_BACK: usize = 512;

/// Puts a `;` where one literal ends an instruction and the next begins another without anything between,
/// and says so.
pub fn separate(template: &Template, out: &mut Vec<(Diagnostic, Template)>) -> Template {
    let mut separated = template.clone();
    let missing =
        |template: &Template| template.joints.iter().copied().find(|&at| is_missing_at(&template.text, at));
    while let Some(at) = missing(&separated).filter(|_| out.len() < MOST_MISSING) {
        let place = Span::empty(at);
        let next = first_word(&separated.text[at as usize..]).to_string();
        let message =
            format!("`;` is missing before `{next}`: the two literals are joined without anything between");
        let diagnostic = Diagnostic::new(&MISSING_SEPARATOR, place, message)
            .label("the instruction ends here")
            .fix(Applicability::Safe, "insert `;`", place, ";");
        out.push((diagnostic, separated.clone()));
        separated = separated.replaced(place, ";");
    }
    separated
}

fn is_missing_at(text: &str, at: u32) -> bool {
    let (before, after) = text.split_at(at as usize);
    // A blank or an end of the line is seen by everyone; there the parser speaks.
    let Some(last) = before.chars().next_back().filter(|c| !c.is_whitespace()) else { return false };
    let ends_operand = last.is_ascii_alphanumeric() || matches!(last, '_' | ']' | '}' | ')' | '$');
    let start = before.char_indices().rev().take(LOOK_BACK).last().map_or(0, |(at, _)| at);
    let line = before[start..].rsplit('\n').next().unwrap_or_default();
    let statement = line.rsplit([';', '{', '}', ':']).next().unwrap_or_default();
    let complete = statement.contains([' ', '\t']) || line.ends_with(']') || is_opcode(statement.trim());
    ends_operand && !line.contains("//") && complete && is_opcode(first_word(after.trim_start()))
}

/// The dotted word at the start of `text`, its guard left out.
fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':')));
    &text[..end.unwrap_or(text.len())]
}

/// Whether `text` is the spelling of an instruction.
fn is_opcode(text: &str) -> bool {
    if !text.contains('.') {
        return false;
    }
    matches!(isa::lookup(&words::split(text)), Opcode::Known { .. } | Opcode::Misfit { .. } | Opcode::Opaque)
}
