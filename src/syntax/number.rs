//! Number literals (PTX ISA §4.5.1, §4.5.2): where they end, what they are worth, and what is wrong
//! with those of other languages.

use super::ast::ConstValue;
use super::rules::BAD_LITERAL;
use super::token::Kind;
use crate::diagnostic::{Applicability, Diagnostic};
use crate::source::Span;

/// What begins at a digit (or at `.5`).
pub(super) struct Scanned {
    pub kind: Kind,
    pub length: usize,
}

/// The longest literal at the start of `bytes`, which begins with a digit or `.` and a digit.
pub(super) fn scan(bytes: &[u8]) -> Scanned {
    let run = |from: usize, test: fn(&u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or(&[]);
        from + rest.iter().position(|b| !test(b)).unwrap_or(rest.len())
    };
    let suffixed = |end: usize| Scanned {
        kind: Kind::Int,
        length: if bytes.get(end) == Some(&b'U') { end + 1 } else { end },
    };
    if bytes[0] == b'0' {
        let hex_end = || run(2, u8::is_ascii_hexdigit);
        match bytes.get(1) {
            Some(b'x' | b'X') if hex_end() > 2 => return suffixed(hex_end()),
            Some(b'f' | b'F') if hex_end() == 10 => {
                return Scanned { kind: Kind::F32, length: 10 };
            }
            Some(b'd' | b'D') if hex_end() == 18 => {
                return Scanned { kind: Kind::F64, length: 18 };
            }
            Some(b'b' | b'B') => {
                let end = run(2, |b| matches!(b, b'0' | b'1'));
                if end > 2 {
                    return suffixed(end);
                }
            }
            _ => {}
        }
    }
    let whole = run(0, u8::is_ascii_digit);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        end = run(end + 1, u8::is_ascii_digit);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = run(end + 1 + sign, u8::is_ascii_digit);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    if end == whole { suffixed(end) } else { Scanned { kind: Kind::Float, length: end } }
}

/// Whether the digits read as octal, but hold an 8 or 9.
pub(super) fn bad_octal(literal: &[u8]) -> bool {
    matches!(literal, [b'0', rest @ ..] if !matches!(rest.first(), Some(b'x' | b'X' | b'b' | b'B'))
        && rest.iter().any(|b| matches!(b, b'8' | b'9')))
}

/// The value of a well-formed literal.
pub(super) fn value(kind: Kind, text: &str) -> ConstValue {
    match kind {
        Kind::Float => ConstValue::F64(text.parse().unwrap_or(f64::NAN)),
        Kind::F32 => ConstValue::F32(digits(&text[2..], 16) as u32),
        Kind::F64 => ConstValue::F64(f64::from_bits(digits(&text[2..], 16))),
        _ => integer(text),
    }
}

fn integer(text: &str) -> ConstValue {
    let (text, suffix) = match text.strip_suffix('U') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let bits = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => digits(&text[2..], 16),
        [b'0', b'b' | b'B', ..] => digits(&text[2..], 2),
        [b'0', ..] => digits(text, 8),
        _ => digits(text, 10),
    };
    ConstValue::Int { bits, unsigned: suffix || bits > i64::MAX as u64 }
}

/// What does not fit loses its upper bits, as the assembler has it.
fn digits(text: &str, radix: u64) -> u64 {
    text.bytes().fold(0u64, |value, byte| {
        let digit = (byte as char).to_digit(16).unwrap_or(0);
        value.wrapping_mul(radix).wrapping_add(digit.into())
    })
}

/// Says what is wrong with `text`, which begins with a digit.
#[cold]
pub(super) fn complain(text: &str, span: Span) -> Diagnostic {
    let (message, note, replacement) = reason(text);
    let diagnostic = Diagnostic::new(&BAD_LITERAL, span, message);
    let diagnostic = if note.is_empty() { diagnostic } else { diagnostic.note(note) };
    match replacement {
        Some(text) => {
            let title = format!("write `{text}`");
            diagnostic.fix(Applicability::Unsafe, title, span, text)
        }
        None => diagnostic.help("write a decimal number, `0x…`, `0b…`, an octal number `0…`, a double `1.5`, or `0f` and 8 hexadecimal digits"),
    }
}

/// Message, reason, and the text that was probably meant.
fn reason(text: &str) -> (String, &'static str, Option<String>) {
    let quoted = super::lexer::shorten(text);
    let fails = |what: &str| format!("`{quoted}` {what}");
    let lower = text.to_ascii_lowercase();
    if text.contains('_') {
        let joined = text.replace('_', "");
        let good = is_literal(&joined).then_some(joined);
        return (fails("has `_` between its digits"), "digits cannot be grouped in PTX", good);
    }
    for (prefix, count, name) in [("0f", 8, "single"), ("0d", 16, "double")] {
        if lower.starts_with(prefix) {
            let what = format!("is no {name}-precision constant");
            let note = if count == 8 {
                "`0f` takes exactly 8 hexadecimal digits"
            } else {
                "`0d` takes exactly 16 hexadecimal digits"
            };
            return (fails(&what), note, None);
        }
    }
    let stem = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if stem.len() < text.len() && is_literal(stem) {
        let suffix = &text[stem.len()..];
        let unsigned = suffix.contains(['u', 'U']);
        let good = if unsigned { format!("{stem}U") } else { stem.to_string() };
        return (
            fails(&format!("has the suffix `{suffix}`")),
            "the only suffix of an integer is an upper-case `U`",
            Some(good),
        );
    }
    if let Some(stem) = lower.strip_suffix('f')
        && text.contains(['.', 'e', 'E'])
        && is_literal(stem)
    {
        let good = text[..text.len() - 1].to_string();
        return (fails("has the suffix `f`"), "a floating-point constant has no suffix", Some(good));
    }
    if bad_octal(text.as_bytes()) && text.bytes().all(|b| b.is_ascii_digit()) {
        let decimal = text.trim_start_matches('0').to_string();
        return (
            fails("is no octal number"),
            "a leading 0 makes a number octal, and octal digits end at 7",
            Some(decimal),
        );
    }
    (fails("is no number"), "", None)
}

fn is_literal(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && scan(text.as_bytes()).length == text.len()
        && !(bad_octal(text.as_bytes()) && text.bytes().all(|b| b.is_ascii_digit()))
}
