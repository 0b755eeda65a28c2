//! What string literals of any language may hold: C++ code with `asm` statements, and whole modules.

use super::condition::Expression;
use super::template::{Dialect, HOLE, Piece, Template};
use super::{Asm, Guard, Host, Module, scan};
use crate::source::Span;

/// Adds what the string `pieces`, which stands at `span`, holds.
pub fn add(host: &mut Host, span: Span, pieces: &[Piece]) {
    let characters = without_splices(pieces);
    let known = pieces.iter().all(|piece| matches!(piece, Piece::Literal(_)));
    let template = plain(characters.clone());
    if is_module(&template.text) {
        if known && !is_pattern(&template.text) {
            host.modules.push(Module { span, template });
        }
    } else if template.text.contains("asm") {
        cxx(host, &if known { plain(without_placeholders(&characters)) } else { template });
    }
}

fn plain(characters: Vec<(char, Span)>) -> Template {
    Template::new(&[Piece::Literal(characters)], Dialect::Plain, &|_| None)
}

/// The characters, with one in place of what is not known.
fn without_splices(pieces: &[Piece]) -> Vec<(char, Span)> {
    let piece = |piece: &Piece| match piece {
        Piece::Splice(span) => vec![(HOLE, *span)],
        Piece::Literal(characters) => characters.clone(),
    };
    pieces.iter().flat_map(piece).collect()
}

/// The characters of a text that may be formatted somewhere else: `{name}`, `{{ name }}` and `%s` are not known,
/// `{{` is a brace where each has its `}}`, and `%%` is a `%` where `%%0` stands somewhere.
fn without_placeholders(characters: &[(char, Span)]) -> Vec<(char, Span)> {
    let text: String = characters.iter().map(|(c, _)| *c).collect();
    let doubled = text.contains("{{") && text.matches("{{").count() == text.matches("}}").count();
    let number = |(at, _): (usize, &str)| text[at + 2..].starts_with(|c: char| c.is_ascii_digit());
    let percents = text.match_indices("%%").any(number);
    let (mut out, mut at, mut index) = (Vec::with_capacity(characters.len()), 0, 0);
    while let Some(&(c, span)) = characters.get(index) {
        let rest = &text[at..];
        let hole = templated_length(rest).max(placeholder_length(rest)).max(conversion_length(rest));
        let taken = match c {
            '{' | '%' if hole > 0 => {
                out.push((HOLE, span.to(characters[index + hole - 1].1)));
                hole
            }
            '{' | '}' if doubled && rest[1..].starts_with(c) => {
                out.push((c, span.to(characters[index + 1].1)));
                2
            }
            '%' if percents && rest[1..].starts_with('%') => {
                out.push((c, span.to(characters[index + 1].1)));
                2
            }
            _ => {
                out.push((c, span));
                1
            }
        };
        let characters = &characters[index..index + taken];
        at += characters.iter().map(|(c, _)| c.len_utf8()).sum::<usize>();
        index += taken;
    }
    out
}

/// The length of `{{ name }}` at the start of `text`; 0 where there is none.
fn templated_length(text: &str) -> usize {
    let Some((name, _)) = text.strip_prefix("{{").and_then(|rest| rest.split_once("}}")) else { return 0 };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ' ');
    if !name.trim().is_empty() && name.trim().chars().all(is_name) && !name.trim().contains(' ') {
        name.len() + 4
    } else {
        0
    }
}

/// Whether `text` begins as a module does and holds code.
pub fn is_module(text: &str) -> bool {
    let mut rest = text.trim_start();
    while let Some(comment) = rest.strip_prefix("//") {
        rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    rest.starts_with(".version") && text.contains(".target") && text.contains('{')
}

/// Whether `text` looks as if something were still to be written into it, or is only a part.
pub fn is_pattern(text: &str) -> bool {
    let count = |c| text.matches(c).count();
    let signs = ["{{", "}}", "...", "…", "%("];
    count('{') != count('}')
        || signs.iter().any(|sign| text.contains(sign))
        || has_placeholder(text)
        || text.match_indices('%').any(|(at, _)| conversion_length(&text[at..]) > 0)
}

/// The length of `%s`, `%d` or `%(name)s` at the start of `text`; 0 where there is none.
fn conversion_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix('%') else { return 0 };
    let name = if rest.starts_with('(') { rest.find(')').map_or(0, |close| close + 1) } else { 0 };
    let mut rest = rest[name..].chars();
    let is_letter = matches!(rest.next(), Some('s' | 'd' | 'i' | 'x'));
    // A register may have such a name, and a `<` declares several.
    let goes_on = rest.next().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '<' | '.'));
    if is_letter && !goes_on { name + 2 } else { 0 }
}

/// Whether `{}`, `{name}` or the like stands in the text.
fn has_placeholder(text: &str) -> bool {
    text.match_indices('{').any(|(at, _)| placeholder_length(&text[at..]) > 0)
}

/// The length of `{}`, `{name}` or `{name:…}` at the start of `text`; 0 where there is none. A vector
/// has blanks or several elements, or registers whose names begin with `%`.
pub fn placeholder_length(text: &str) -> usize {
    let Some(end) = text.find('}').filter(|_| text.starts_with('{')) else { return 0 };
    let inner = &text[1..end];
    let name = inner.split([':', '!', '.', '[']).next().unwrap_or_default();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_short = inner.is_ascii() && !inner.contains(char::is_whitespace);
    if is_short && is_name && !(name.is_empty() && end > 1) { end + 1 } else { 0 }
}

/// Adds the `asm` statements of C++ code; its places lead through the string to the host's text.
fn cxx(host: &mut Host, outer: &Template) {
    let inner = scan(&outer.text);
    let first = host.conditions.len() as u32;
    let guards = |guards: Vec<Guard>| -> Vec<Guard> {
        guards.into_iter().map(|guard| Guard { condition: guard.condition + first, ..guard }).collect()
    };
    let place = |span: Span| outer.to_host(span);
    let conditions: Vec<Expression> = inner.conditions;
    host.conditions.extend(conditions);
    host.comments.extend(inner.comments.into_iter().map(place));
    for (name, definitions) in inner.macros {
        let moved = definitions
            .into_iter()
            .map(|definition| super::Definition { guards: guards(definition.guards), ..definition });
        host.macros.entry(name).or_default().extend(moved);
    }
    for asm in inner.statements {
        let mut asm = Asm {
            span: place(asm.span),
            function: asm.function.map(place),
            guards: guards(asm.guards),
            ..asm
        };
        for variant in &mut asm.variants {
            variant.guards = guards(std::mem::take(&mut variant.guards));
            variant.template = variant.template.through(outer);
            for operand in &mut variant.operands {
                operand.span = place(operand.span);
                operand.constraint_span = place(operand.constraint_span);
            }
        }
        host.statements.push(asm);
    }
}
