//! String literals of Python, read character by character.

use crate::extract::literal::Escapes;
use crate::extract::template::Piece;
use crate::extract::words;
use crate::source::Span;

/// The length of the string literal at the start of `text`; 0 where there is none.
pub fn length(text: &str) -> usize {
    let prefix = text.len() - text.trim_start_matches(|c: char| "rRbBuUfFtT".contains(c)).len();
    match quote(&text[prefix.min(3)..]) {
        Some(quote) if prefix < 3 => words::quoted(text, prefix + quote.len(), quote, quote.len() == 1),
        _ => 0,
    }
}

/// The quote at the start of `text`.
fn quote(text: &str) -> Option<&'static str> {
    ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| text.starts_with(quote))
}

/// The text of the literal at `span`.
pub fn pieces(text: &str, span: Span) -> Vec<Piece> {
    let literal = &text[span.range()];
    let Some(start) = literal.find(['"', '\'']) else { return Vec::new() };
    let Some(quote) = quote(&literal[start..]) else { return Vec::new() };
    let open = start + quote.len();
    let end = literal.len() - if literal[open..].ends_with(quote) { quote.len() } else { 0 };
    let prefix = literal[..start].to_ascii_lowercase();
    let reader = Reader {
        body: &literal[open..end],
        start: span.start + open as u32,
        raw: prefix.contains('r'),
        characters: Vec::new(),
        pieces: Vec::new(),
    };
    reader.read(prefix.contains(['f', 't']))
}

struct Reader<'a> {
    body: &'a str,
    /// Where that stands.
    start: u32,
    raw: bool,
    characters: Vec<(char, Span)>,
    pieces: Vec<Piece>,
}

impl Reader<'_> {
    fn span(&self, at: usize, length: usize) -> Span {
        Span::new(self.start + at as u32, self.start + (at + length) as u32)
    }

    fn read(mut self, formatted: bool) -> Vec<Piece> {
        let mut at = 0;
        while let Some(first) = self.body[at..].chars().next() {
            let rest = &self.body[at..];
            let length = match first {
                '{' if formatted && !rest.starts_with("{{") => {
                    let length = expression_length(rest);
                    self.splice(self.span(at, length));
                    length
                }
                '{' | '}' if formatted => {
                    let length = if rest[1..].starts_with(first) { 2 } else { 1 };
                    self.characters.push((first, self.span(at, length)));
                    length
                }
                '\\' if !self.raw => {
                    let (character, length) = Escapes::Python.read(rest);
                    let span = self.span(at, length);
                    self.characters.extend(character.map(|character| (character, span)));
                    length
                }
                other => {
                    self.characters.push((other, self.span(at, other.len_utf8())));
                    other.len_utf8()
                }
            };
            at += length;
        }
        self.end_literal();
        self.pieces
    }

    fn splice(&mut self, span: Span) {
        self.end_literal();
        self.pieces.push(Piece::Splice(span));
    }

    fn end_literal(&mut self) {
        if !self.characters.is_empty() {
            self.pieces.push(Piece::Literal(std::mem::take(&mut self.characters)));
        }
    }
}

/// The length of `{expression}` at the start of `text`.
fn expression_length(text: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// The pieces after `.format(…)`.
pub fn formatted(pieces: Vec<Piece>) -> Vec<Piece> {
    rewritten(pieces, &|rest| match rest[0].0 {
        brace @ ('{' | '}') if rest.get(1).is_some_and(|(c, _)| *c == brace) => Some((Some(brace), 2)),
        '{' => {
            let text: String = rest.iter().map(|(c, _)| *c).collect();
            let bytes = expression_length(&text);
            Some((None, text[..bytes].chars().count()))
        }
        _ => None,
    })
}

/// The pieces after `% …`.
pub fn interpolated(pieces: Vec<Piece>) -> Vec<Piece> {
    rewritten(pieces, &|rest| {
        let at = |index: usize| rest.get(index).map(|(c, _)| *c);
        match (rest[0].0, at(1)) {
            ('%', Some('%')) => Some((Some('%'), 2)),
            ('%', Some('(')) => {
                let close = rest.iter().position(|(c, _)| *c == ')')?;
                Some((None, (close + 2).min(rest.len())))
            }
            ('%', _) => {
                let flags =
                    (1..).take_while(|&n| at(n).is_some_and(|c| "-+ #.*".contains(c) || c.is_ascii_digit()));
                let end = 1 + flags.count();
                at(end).is_some_and(|c| c.is_ascii_alphabetic()).then_some((None, end + 1))
            }
            _ => None,
        }
    })
}

/// What stands for some characters at the start of a text: one character, or something unknown; and how
/// many they are.
type Rule<'a> = &'a dyn Fn(&[(char, Span)]) -> Option<(Option<char>, usize)>;

fn rewritten(pieces: Vec<Piece>, rule: Rule) -> Vec<Piece> {
    let mut out = Vec::new();
    for piece in pieces {
        let Piece::Literal(characters) = piece else {
            out.push(piece);
            continue;
        };
        let (mut kept, mut at) = (Vec::new(), 0);
        while at < characters.len() {
            let (with, taken) = rule(&characters[at..]).unwrap_or((Some(characters[at].0), 1));
            let span = characters[at].1.to(characters[at + taken - 1].1);
            match with {
                Some(c) => kept.push((c, span)),
                None => {
                    out.extend((!kept.is_empty()).then(|| Piece::Literal(std::mem::take(&mut kept))));
                    out.push(Piece::Splice(span));
                }
            }
            at += taken;
        }
        out.extend((!kept.is_empty()).then_some(Piece::Literal(kept)));
    }
    out
}
