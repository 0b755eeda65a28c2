//! PTX in MLIR: `llvm.inline_asm` and operations like it.

use super::literal;
use super::template::{Dialect, Piece, Template};
use super::words::{self, Kind, Syntax, Word, behind_bracket};
use super::{Asm, Host, Variant, embedded, llvm};
use crate::source::Span;

const SYNTAX: Syntax = Syntax {
    comment: "//",
    nested_comments: false,
    line_ends: false,
    string: |text| if text.starts_with('"') { words::quoted(text, 1, "\"", true) } else { 0 },
    other: |_| 0,
};

/// The operations.
const OPERATIONS: &[&str] = &["inline_asm", "elementwise_inline_asm", "inline_ptx"];

/// Finds the PTX in a text of MLIR.
pub fn scan(text: &str) -> Host {
    if !["inline_", ".version"].iter().any(|word| text.contains(word)) {
        return Host::default();
    }
    let (words, comments) = words::words(text, &SYNTAX);
    let mut host = Host { comments, ..Host::default() };
    for (index, word) in words.iter().enumerate() {
        let statement = match word.kind {
            Kind::Name if OPERATIONS.contains(&word.of(text)) => operation(text, &words, index),
            Kind::Text if OPERATIONS.iter().any(|name| is_generic(word.of(text), name)) => {
                generic(text, &words, index)
            }
            Kind::Text => {
                embedded::add(&mut host, word.span, &[literal(text, *word)]);
                None
            }
            _ => None,
        };
        host.statements.extend(statement);
    }
    host
}

/// Whether `word` is `"dialect.name"`.
fn is_generic(word: &str, name: &str) -> bool {
    let inner = word.trim_matches('"').split_once('.');
    inner.is_some_and(|(_, operation)| operation == name)
}

/// `llvm.inline_asm attributes "text", "constraints" …`, or with the constraints in a dictionary behind.
fn operation(text: &str, words: &[Word], name: usize) -> Option<Asm> {
    let mut at = name + 1;
    loop {
        let word = words.get(at)?;
        match word.kind {
            Kind::Text => break,
            Kind::Mark(b'[' | b'{' | b'<') if word.is(b'<') => at += 1,
            Kind::Mark(b'[' | b'{') => at = behind_bracket(words, at)?,
            Kind::Name | Kind::Number | Kind::Mark(b'=' | b'.' | b'>' | b',' | b'#') => at += 1,
            _ => return None,
        }
    }
    let list = match words.get(at + 1..)? {
        [comma, list, ..] if comma.is(b',') && list.kind == Kind::Text => Some(*list),
        [open, rest @ ..] if open.is(b'{') => attribute(text, rest, "constraints"),
        _ => None,
    };
    statement(text, words[name].span, words[at], list)
}

/// `"llvm.inline_asm"(operands) <{asm_string = "text", constraints = "…"}>`
fn generic(text: &str, words: &[Word], name: usize) -> Option<Asm> {
    let rest = words.get(behind_bracket(words, name + 1)?..)?;
    let open = rest.iter().take(2).position(|word| word.is(b'{'))?;
    let attributes = rest.get(open + 1..)?;
    let template =
        attribute(text, attributes, "asm_string").or_else(|| attribute(text, attributes, "ptxCode"))?;
    statement(text, words[name].span, template, attribute(text, attributes, "constraints"))
}

/// The string that `name` is set to in the dictionary that `words` is the rest of.
fn attribute(text: &str, words: &[Word], name: &str) -> Option<Word> {
    let end = words.iter().position(|word| word.is(b'}')).unwrap_or(words.len());
    let found = words[..end]
        .windows(3)
        .find(|three| three[0].of(text) == name && three[1].is(b'=') && three[2].kind == Kind::Text);
    found.map(|three| three[2])
}

fn statement(text: &str, name: Span, template: Word, list: Option<Word>) -> Option<Asm> {
    let characters = |word: Word| match literal(text, word) {
        Piece::Literal(characters) => characters,
        Piece::Splice(_) => Vec::new(),
    };
    let operands = match list.and_then(|list| llvm::read(&characters(list))) {
        Some(llvm::List::Foreign) => return None,
        Some(llvm::List::Operands(operands)) => Some(operands),
        None => None,
    };
    let pieces = [literal(text, template)];
    let decoded = Template::new(&pieces, Dialect::Dollar, llvm::roles(&operands));
    let variant = Variant::ordered(decoded, operands);
    let span = name.to(list.unwrap_or(template).span);
    Some(Asm::ordered(span, None, vec![variant]))
}

/// The characters of a literal.
fn literal(text: &str, word: Word) -> Piece {
    let literal = word.of(text);
    let end = if literal.len() > 1 && literal.ends_with('"') { literal.len() - 1 } else { literal.len() };
    let body = literal.get(1..end).unwrap_or_default();
    Piece::Literal(literal::decoded(body, word.span.start + 1, |text| {
        let (character, length) = escape(text);
        (Some(character), length)
    }))
}

/// The escape at the start of `text`, and its length: `\0A`, `\n`, `\\`.
fn escape(text: &str) -> (char, usize) {
    let digits = text.get(1..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if let Some(value) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
        return (char::from(value), 3);
    }
    match text[1..].chars().next() {
        Some('n') => ('\n', 2),
        Some('t') => ('\t', 2),
        Some(other) if other.is_ascii() => (other, 2),
        _ => ('\\', 1),
    }
}
