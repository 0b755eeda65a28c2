//! PTX in Rust: `asm!` with registers of NVIDIA GPUs, and what string literals hold.

use std::cell::Cell;

use super::literal;
use super::template::{Dialect, Piece, Template};
use super::words::{self, Kind, Syntax, Word, behind_bracket};
use super::{Asm, Host, Operand, Variant, condition, embedded};
use crate::source::Span;

const SYNTAX: Syntax = Syntax {
    comment: "//",
    nested_comments: true,
    line_ends: false,
    string: literal_length,
    other: character_length,
};

/// The classes of registers, with the constraint that each stands for.
const CLASSES: &[(&str, &str)] = &[("reg16", "h"), ("reg32", "r"), ("reg64", "l")];

/// Finds the PTX in a text of Rust.
pub fn scan(text: &str) -> Host {
    if !["asm", ".version"].iter().any(|word| text.contains(word)) {
        return Host::default();
    }
    let (words, comments) = words::words(text, &SYNTAX);
    let mut scanner = Scanner {
        text,
        words: &words,
        for_gpu: is_for_gpu(text),
        host: Host { comments, ..Host::default() },
    };
    scanner.run();
    scanner.host
}

/// Whether the text has to do with GPUs of NVIDIA, so that statements without operands are meant for them.
fn is_for_gpu(text: &str) -> bool {
    CLASSES.iter().any(|(class, _)| text.contains(class)) || text.contains("nvptx") || text.contains("cuda")
}

struct Scanner<'a> {
    text: &'a str,
    words: &'a [Word],
    for_gpu: bool,
    host: Host,
}

impl<'a> Scanner<'a> {
    fn run(&mut self) {
        let (mut at, mut function) = (0, None);
        while let Some(word) = self.words.get(at) {
            let next = self.words.get(at + 1);
            match word.kind {
                Kind::Name if word.of(self.text) == "fn" => function = next.map(|name| name.span),
                Kind::Name if word.of(self.text) == "asm" && next.is_some_and(|next| next.is(b'!')) => {
                    if let Some(end) = behind_bracket(self.words, at + 2) {
                        let span = word.span.to(self.words[end - 1].span);
                        let variant = self.statement(&self.words[at + 3..end - 1]);
                        self.host
                            .statements
                            .extend(variant.map(|variant| Asm::ordered(span, function, vec![variant])));
                        at = end;
                        continue;
                    }
                }
                Kind::Text => embedded::add(&mut self.host, word.span, &[literal(self.text, *word)]),
                _ => {}
            }
            at += 1;
        }
    }

    /// What stands between the brackets of `asm!`; `None`: it is for another processor.
    fn statement(&self, words: &'a [Word]) -> Option<Variant> {
        let (mut pieces, mut operands, mut known) = (Vec::new(), Vec::new(), true);
        let mut in_template = true;
        for argument in words::arguments(words) {
            match self.argument(argument) {
                Argument::Operand(operand) => operands.push(*operand),
                Argument::Option => {}
                Argument::Text(literal) if in_template => self.line(&mut pieces, literal),
                Argument::Other if in_template => {
                    self.line(
                        &mut pieces,
                        Piece::Splice(argument[0].span.to(argument[argument.len() - 1].span)),
                    );
                    continue;
                }
                Argument::Text(_) | Argument::Other => known = false,
            }
            in_template = matches!(argument, [only] if only.kind == Kind::Text) && in_template;
        }
        if operands.is_empty() && !self.for_gpu {
            return None;
        }
        let counted = Cell::new(0);
        let number = |name: &str| {
            if name.is_empty() {
                counted.set(counted.get() + 1);
                return Some(counted.get() - 1);
            }
            operands.iter().position(|operand: &Operand| operand.name.as_deref() == Some(name))
        };
        let template = Template::new(&pieces, Dialect::Brace, &number);
        Some(Variant::ordered(template, known.then_some(operands)))
    }

    /// Adds a part of the template: each is a line.
    fn line(&self, pieces: &mut Vec<Piece>, piece: Piece) {
        if let Some(before) = pieces.last_mut() {
            match before {
                Piece::Literal(characters) => {
                    let end = characters.last().map_or(0, |(_, span)| span.end);
                    characters.push(('\n', Span::empty(end)));
                }
                Piece::Splice(span) => {
                    let end = span.end;
                    pieces.push(Piece::Literal(vec![('\n', Span::empty(end))]));
                }
            }
        }
        pieces.push(piece);
    }

    fn argument(&self, words: &[Word]) -> Argument {
        let (name, rest) = match words {
            [name, equals, rest @ ..] if name.kind == Kind::Name && equals.is(b'=') => (Some(*name), rest),
            words => (None, words),
        };
        let Some(first) = rest.first() else { return Argument::Other };
        let has_bracket = rest.get(1).is_some_and(|next| next.is(b'('));
        let operand = |constraint: Option<String>, place: Word, value, is_output| {
            Argument::Operand(Box::new(Operand {
                span: words[0].span.to(words[words.len() - 1].span),
                name: name.map(|name| name.of(self.text).to_string()),
                constraint,
                constraint_span: place.span,
                value,
                is_output,
            }))
        };
        let direction = match first.of(self.text) {
            "in" => "",
            "out" | "lateout" => "=",
            "inout" | "inlateout" => "+",
            "const" => return operand(Some("n".into()), *first, self.value(&rest[1..]), false),
            "sym" => return operand(None, *first, None, false),
            "options" | "clobber_abi" if has_bracket => return Argument::Option,
            _ if first.kind == Kind::Text && rest.len() == 1 => {
                return Argument::Text(literal(self.text, *first));
            }
            _ => return Argument::Other,
        };
        let Some(class) = rest.get(2).filter(|_| has_bracket) else { return Argument::Other };
        let known = CLASSES.iter().find(|(name, _)| *name == class.of(self.text));
        // A letter that no GPU has.
        let letter = known.map_or("?", |(_, letter)| letter);
        operand(Some(format!("{direction}{letter}")), *class, None, !direction.is_empty())
    }

    fn value(&self, words: &[Word]) -> Option<i64> {
        match words {
            [only] if only.kind == Kind::Number => condition::number(only.of(self.text)),
            _ => None,
        }
    }
}

/// An argument of `asm!`.
enum Argument {
    Operand(Box<Operand>),
    /// A literal.
    Text(Piece),
    /// It makes no difference.
    Option,
    /// Something that is known to the compiler only.
    Other,
}

/// The length of the string literal at the start of `text`; 0 where there is none.
fn literal_length(text: &str) -> usize {
    let prefix = text.len() - text.trim_start_matches(['b', 'c', 'r']).len();
    let rest = &text[prefix..];
    if prefix > 2 || prefix > 0 && !matches!(&text[..prefix], "b" | "c" | "r" | "br" | "cr") {
        return 0;
    }
    if !text[..prefix].ends_with('r') {
        return if rest.starts_with('"') { words::quoted(text, prefix + 1, "\"", false) } else { 0 };
    }
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    if !rest[hashes..].starts_with('"') {
        return 0;
    }
    let close = format!("\"{}", &rest[..hashes]);
    let open = prefix + hashes + 1;
    text[open..].find(&close).map_or(text.len(), |end| open + end + close.len())
}

/// The length of the character literal at the start of `text`; 0 where there is none, as at a lifetime.
fn character_length(text: &str) -> usize {
    let Some(inner) = text.strip_prefix('\'') else { return 0 };
    match inner.chars().next() {
        Some('\\') => inner[1..].find('\'').map_or(0, |_| words::quoted(text, 1, "'", true)),
        Some(c) if inner[c.len_utf8()..].starts_with('\'') => c.len_utf8() + 2,
        _ => 0,
    }
}

/// The characters of the literal at `word`.
fn literal(text: &str, word: Word) -> Piece {
    let literal = word.of(text);
    let Some(quote) = literal.find('"') else { return Piece::Literal(Vec::new()) };
    let (prefix, open) = (&literal[..quote], quote + 1);
    let hashes = prefix.matches('#').count();
    let end = literal.len().saturating_sub(1 + hashes).max(open).min(literal.len());
    let end = if literal.is_char_boundary(end) { end } else { literal.len() };
    let body = literal.get(open..end).unwrap_or_default();
    let start = word.span.start + open as u32;
    Piece::Literal(match prefix.contains('r') {
        true => literal::plain(body, start),
        false => literal::decoded(body, start, escape),
    })
}

/// The escape at the start of `text`: its character (none for a line that goes on) and its length.
fn escape(text: &str) -> (Option<char>, usize) {
    let code = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).or(Some('?'));
    match text[1..].chars().next() {
        Some('\n' | '\r') => (None, text.len() - text[1..].trim_start().len()),
        Some('n') => (Some('\n'), 2),
        Some('t') => (Some('\t'), 2),
        Some('r') => (Some('\r'), 2),
        Some('0') => (Some('\0'), 2),
        Some('x') => match text.get(2..4) {
            Some(digits) => (code(digits), 4),
            None => (Some('?'), 2),
        },
        Some('u') => match text.find('}') {
            Some(close) => (code(text.get(3..close).unwrap_or_default()), close + 1),
            None => (Some('?'), 2),
        },
        Some(other) => (Some(other), 1 + other.len_utf8()),
        None => (Some('\\'), 1),
    }
}
