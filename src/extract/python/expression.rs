//! Expressions of Python that are made of string literals.

use super::literal;
use crate::extract::template::Piece;
use crate::extract::words::{Kind, Word, behind_bracket};

/// The text of an expression of string literals, and whatever is added to them; `None` for any other.
pub fn text(source: &str, words: &[Word]) -> Option<Vec<Piece>> {
    let (pieces, end, literals) = Reader { source, words }.sum(0, 0)?;
    (end == words.len() && literals).then_some(pieces)
}

/// So deep may brackets stand in each other.
const DEEPEST: u32 = 64;

struct Reader<'a> {
    source: &'a str,
    words: &'a [Word],
}

impl<'a> Reader<'a> {
    fn at(&self, index: usize) -> Option<Word> {
        self.words.get(index).copied()
    }

    fn is(&self, index: usize, mark: u8) -> bool {
        self.at(index).is_some_and(|word| word.is(mark))
    }

    fn name(&self, index: usize) -> Option<&'a str> {
        self.at(index).filter(|word| word.kind == Kind::Name).map(|word| word.of(self.source))
    }

    /// Terms with `+` between them: their text, where they end, and whether there is a literal.
    fn sum(&self, start: usize, depth: u32) -> Option<(Vec<Piece>, usize, bool)> {
        if depth > DEEPEST {
            return None;
        }
        let (mut pieces, mut at, mut literals) = (Vec::new(), start, false);
        loop {
            match self.term(at, depth) {
                Some((term, end)) => {
                    pieces.extend(term);
                    (at, literals) = (end, true);
                }
                None => {
                    let end = self.end_of_term(at);
                    let place = self.words.get(at..end)?;
                    pieces.push(Piece::Splice(place.first()?.span.to(place.last()?.span)));
                    at = end;
                }
            }
            if !self.is(at, b'+') {
                return Some((pieces, at, literals));
            }
            at += 1;
        }
    }

    /// Where something ends that is no literal: at a `+`, or a bracket that it did not open.
    fn end_of_term(&self, start: usize) -> usize {
        let mut at = start;
        while let Some(word) = self.at(at) {
            match word.kind {
                Kind::Mark(b'+' | b')' | b']' | b'}' | b',') => break,
                Kind::Mark(b'(' | b'[' | b'{') => {
                    at = behind_bracket(self.words, at).unwrap_or(self.words.len());
                }
                // A choice, or several strings.
                Kind::Text => return start,
                Kind::Name if matches!(word.of(self.source), "if" | "else" | "for") => return start,
                _ => at += 1,
            }
        }
        at
    }

    /// Literals and what is done to them.
    fn term(&self, start: usize, depth: u32) -> Option<(Vec<Piece>, usize)> {
        let (mut pieces, mut at) = self.plain_term(start, depth)?;
        loop {
            if self.is(at, b'.') && self.is(at + 2, b'(') {
                pieces = match self.name(at + 1)? {
                    "format" => literal::formatted(pieces),
                    "strip" | "lstrip" | "rstrip" | "encode" => pieces,
                    _ => return None,
                };
                at = behind_bracket(self.words, at + 2)?;
            } else if self.is(at, b'%') {
                pieces = literal::interpolated(pieces);
                at = self.end_of_operand(at + 1);
            } else {
                return Some((pieces, at));
            }
        }
    }

    /// Where the right side of a `%` ends.
    fn end_of_operand(&self, start: usize) -> usize {
        let mut at = start;
        while let Some(word) = self.at(at) {
            match word.kind {
                Kind::Name | Kind::Number | Kind::Text | Kind::Mark(b'.') => at += 1,
                Kind::Mark(b'(' | b'[' | b'{') => {
                    at = behind_bracket(self.words, at).unwrap_or(self.words.len());
                }
                _ => break,
            }
        }
        at
    }

    fn plain_term(&self, start: usize, depth: u32) -> Option<(Vec<Piece>, usize)> {
        let mut at = start;
        let mut pieces = Vec::new();
        while let Some(word) = self.at(at).filter(|word| word.kind == Kind::Text) {
            pieces.extend(literal::pieces(self.source, word.span));
            at += 1;
        }
        if at > start {
            return Some((pieces, at));
        }
        // `dedent("…")` changes blanks only.
        while self.name(at).is_some() && self.is(at + 1, b'.') {
            at += 2;
        }
        let dedented = matches!(self.name(at), Some("dedent" | "cleandoc")) && self.is(at + 1, b'(');
        at += usize::from(dedented);
        if at > start && !dedented || !self.is(at, b'(') {
            return None;
        }
        let (pieces, end, literals) = self.sum(at + 1, depth + 1)?;
        (literals && self.is(end, b')')).then_some((pieces, end + 1))
    }
}
