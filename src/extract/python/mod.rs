//! PTX in Python: the strings that are handed to functions of inline assembly, with LLVM's constraints, and
//! what other strings hold.

mod expression;
mod literal;

use super::template::{Dialect, Piece, Template};
use super::words::{self, Kind, Syntax, Word, behind_bracket};
use super::{Asm, Host, Operand, Variant, embedded, llvm};
use crate::source::Span;

const SYNTAX: Syntax =
    Syntax { comment: "#", nested_comments: false, line_ends: true, string: literal::length, other: |_| 0 };

/// Finds the PTX in a text of Python.
pub fn scan(text: &str) -> Host {
    if !["asm", "inline_ptx", ".version"].iter().any(|word| text.contains(word)) {
        return Host::default();
    }
    let (words, comments) = words::words(text, &SYNTAX);
    let mut scanner =
        Scanner { text, words: &words, host: Host { comments, ..Host::default() }, used: Vec::new() };
    scanner.calls();
    scanner.strings();
    let mut host = scanner.host;
    host.statements.sort_by_key(|asm| asm.span.start);
    host
}

struct Scanner<'a> {
    text: &'a str,
    words: &'a [Word],
    host: Host,
    /// Strings that have been read.
    used: Vec<Span>,
}

/// An argument of a call.
struct Argument<'a> {
    keyword: Option<&'a str>,
    words: &'a [Word],
}

impl<'a> Scanner<'a> {
    /// Reads the calls of functions with a telling name.
    fn calls(&mut self) {
        let mut function = None;
        for (index, pair) in self.words.windows(2).enumerate() {
            let [name, next] = [pair[0], pair[1]];
            if name.kind != Kind::Name {
                continue;
            }
            let is_definition = |word: &Word| matches!(word.of(self.text), "def" | "class");
            if index.checked_sub(1).is_some_and(|before| is_definition(&self.words[before])) {
                function = Some(name.span);
            } else if next.is(b'(') && is_assembly(name.of(self.text)) {
                self.call(index, function);
            }
        }
    }

    fn call(&mut self, name: usize, function: Option<Span>) {
        let Some(end) = behind_bracket(self.words, name + 1) else { return };
        let span = self.words[name].span.to(self.words[end - 1].span);
        let arguments: Vec<Argument> = words::arguments(&self.words[name + 2..end - 1])
            .into_iter()
            .map(|part| self.argument(part))
            .collect();
        let Some((at, texts)) = self.template(&arguments, name) else { return };
        let constraints =
            arguments.iter().find(|a| a.keyword.is_some_and(|word| word.contains("constraint")));
        let list = constraints.or_else(|| arguments.get(at + 1).filter(|next| next.keyword.is_none()));
        let operands = match list.and_then(|list| self.constraints(list.words)) {
            Some(llvm::List::Foreign) => return,
            Some(llvm::List::Operands(operands)) => Some(operands),
            None => None,
        };
        let variants = texts.iter().map(|pieces| variant(pieces, operands.clone())).collect();
        self.host.statements.push(Asm::ordered(span, function, variants));
    }

    fn argument(&self, words: &'a [Word]) -> Argument<'a> {
        match words {
            [name, equals, rest @ ..]
                if name.kind == Kind::Name
                    && equals.is(b'=')
                    && rest.first().is_some_and(|next| !next.is(b'=')) =>
            {
                Argument { keyword: Some(name.of(self.text)), words: rest }
            }
            words => Argument { keyword: None, words },
        }
    }

    /// The argument that is the text, with what it may be: the first one that is a string, or a variable that
    /// has been set to one, before the call at `name`.
    fn template(&mut self, arguments: &[Argument<'a>], name: usize) -> Option<(usize, Vec<Vec<Piece>>)> {
        let is_text =
            |word: &str| ["asm", "ptx", "code", "template", "instr"].iter().any(|w| word.contains(w));
        for (index, argument) in arguments.iter().enumerate() {
            if !argument.keyword.is_none_or(is_text) {
                continue;
            }
            let whole = [argument.words];
            let values = match argument.words {
                [only] if only.kind == Kind::Name => self.values(only.of(self.text), name),
                _ => whole.to_vec(),
            };
            let texts = values.iter().map(|words| expression::text(self.text, words));
            if let Some(texts) = texts.collect::<Option<Vec<_>>>().filter(|texts| !texts.is_empty()) {
                self.used.extend(values.iter().map(|words| place(words)));
                return Some((index, texts));
            }
        }
        None
    }

    /// What the variable `name` is set to within the function, before the word `end`. Nothing, where that
    /// is not all of it.
    fn values(&self, name: &str, end: usize) -> Vec<&'a [Word]> {
        let is = |word: &Word, text: &str| word.kind == Kind::Name && word.of(self.text) == text;
        let start = self.words[..end].iter().rposition(|word| is(word, "def")).unwrap_or(0);
        let mut values = Vec::new();
        for (at, pair) in self.words[..end].windows(2).enumerate().skip(start) {
            let begins_line = at == 0 || self.words[at - 1].kind == Kind::LineEnd;
            if !is(&pair[0], name) || !begins_line {
                continue;
            }
            let value = &self.words[(at + 2).min(end)..end];
            let length = value.iter().position(|word| word.kind == Kind::LineEnd).unwrap_or(value.len());
            match pair[1].is(b'=') {
                true => values.push(&value[..length]),
                // It grows.
                false if pair[1].is(b'+') => return Vec::new(),
                false => {}
            }
        }
        values
    }

    fn constraints(&self, words: &[Word]) -> Option<llvm::List> {
        let pieces = expression::text(self.text, words)?;
        let characters = pieces.into_iter().map(|piece| match piece {
            Piece::Literal(characters) => Some(characters),
            Piece::Splice(_) => None,
        });
        llvm::read(&characters.collect::<Option<Vec<_>>>()?.concat())
    }

    /// Reads all other strings.
    fn strings(&mut self) {
        let mut at = 0;
        while at < self.words.len() {
            let run = self.words[at..].iter().take_while(|word| word.kind == Kind::Text).count();
            let group = &self.words[at..at + run];
            let is_code = self.is_whole(at, at + run) && !self.is_statement(at, at + run);
            if run > 0 && is_code && !self.is_used(group) {
                let pieces: Vec<Piece> =
                    group.iter().flat_map(|word| literal::pieces(self.text, word.span)).collect();
                embedded::add(&mut self.host, place(group), &pieces);
            }
            at += run.max(1);
        }
    }

    /// Whether nothing is added to the strings from `start` to `end`, or put into them.
    fn is_whole(&self, start: usize, end: usize) -> bool {
        let is = |index: usize, marks: &[u8]| {
            self.words.get(index).is_some_and(|word| marks.iter().any(|mark| word.is(*mark)))
        };
        let before = start.checked_sub(1).is_some_and(|before| is(before, b"+"));
        let method = self.words.get(end + 1).map(|word| word.of(self.text));
        let harmless = matches!(method, Some("strip" | "lstrip" | "rstrip" | "encode"));
        !before && !is(end, b"+%") && (!is(end, b".") || harmless)
    }

    /// Whether the strings from `start` to `end` are for readers.
    fn is_statement(&self, start: usize, end: usize) -> bool {
        let ends = |word: Option<&Word>| word.is_none_or(|word| word.kind == Kind::LineEnd);
        ends(start.checked_sub(1).and_then(|before| self.words.get(before))) && ends(self.words.get(end))
    }

    fn is_used(&self, group: &[Word]) -> bool {
        self.used.iter().any(|used| used.contains(group[0].span))
    }
}

fn place(words: &[Word]) -> Span {
    words.iter().map(|word| word.span).reduce(Span::to).unwrap_or_default()
}

/// Whether a function of this name takes assembly.
fn is_assembly(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("asm") || name.contains("inline_ptx")
}

/// The statement with this text. Without constraints the text tells how it names its operands; where it names
/// none as LLVM does, it may be meant for anything.
fn variant(pieces: &[Piece], operands: Option<Vec<Operand>>) -> Variant {
    let dollar = operands.is_some() || pieces.iter().any(has_dollar);
    let dialect = if dollar { Dialect::Dollar } else { Dialect::Percent };
    let template = Template::new(pieces, dialect, llvm::roles(&operands));
    Variant { excerpt: !dollar, ..Variant::ordered(template, operands) }
}

/// Whether an operand such as `$0`, `${0}` or `{$r0}` may stand in the literal.
fn has_dollar(piece: &Piece) -> bool {
    let Piece::Literal(characters) = piece else { return false };
    let pairs = characters.windows(2).map(|pair| (pair[0].0, pair[1].0));
    pairs
        .into_iter()
        .any(|(c, next)| c == '$' && (next == '{' || next.is_ascii_digit()) || (c, next) == ('{', '$'))
}
