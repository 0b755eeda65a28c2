//! String literals of C and C++, read character by character.

use crate::source::Span;

/// The characters of the literal at `span`, prefix and quotes included there, each with the bytes that it
/// stands for.
pub fn characters(text: &str, span: Span) -> Vec<(char, Span)> {
    let literal = &text[span.range()];
    let Some(quote) = literal.find('"') else { return Vec::new() };
    if literal[..quote].ends_with('R') {
        return raw(literal, quote, span.start);
    }
    let end =
        if literal.len() > quote + 1 && literal.ends_with('"') { literal.len() - 1 } else { literal.len() };
    let body = literal.get(quote + 1..end).unwrap_or_default();
    escaped(body, span.start + quote as u32 + 1)
}

fn raw(literal: &str, quote: usize, start: u32) -> Vec<(char, Span)> {
    let Some(open) = literal.find('(') else { return Vec::new() };
    let delimiter = open - quote - 1;
    let body = literal.get(open + 1..literal.len().saturating_sub(delimiter + 2)).unwrap_or_default();
    plain(body, start + open as u32 + 1)
}

/// Characters that stand for themselves, from byte `start` of the host on.
pub fn plain(body: &str, start: u32) -> Vec<(char, Span)> {
    let place = |(at, c): (usize, char)| {
        let at = start + at as u32;
        (c, Span::new(at, at + c.len_utf8() as u32))
    };
    body.char_indices().map(place).collect()
}

/// Characters with the escapes of C, from byte `start` of the host on.
pub fn escaped(body: &str, start: u32) -> Vec<(char, Span)> {
    decoded(body, start, |text| Escapes::C.read(text))
}

/// Characters from byte `start` of the host on; `escape` reads the escape at the start of a text: its
/// character, if it stands for one, and its length.
pub fn decoded(body: &str, start: u32, escape: impl Fn(&str) -> (Option<char>, usize)) -> Vec<(char, Span)> {
    let mut characters = Vec::with_capacity(body.len());
    let mut at = 0;
    while let Some(first) = body[at..].chars().next() {
        let (character, length) = match first {
            '\\' => escape(&body[at..]),
            other => (Some(other), other.len_utf8()),
        };
        let host = Span::new(start + at as u32, start + (at + length) as u32);
        characters.extend(character.map(|character| (character, host)));
        at += length;
    }
    characters
}

/// What a language makes of a `\` in a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Escapes {
    /// C and C++: `\x` takes all digits, and an unknown escape is its character.
    C,
    /// Python: `\x` takes two digits, and an unknown escape keeps its `\`.
    Python,
}

impl Escapes {
    /// The escape at the start of `text`: its character (none for a line that goes on) and its length.
    pub fn read(self, text: &str) -> (Option<char>, usize) {
        let number = |from: usize, most: usize, radix: u32| {
            let digits = text[from..].chars().take(most).take_while(|c| c.is_digit(radix)).count();
            let value = u32::from_str_radix(&text[from..from + digits], radix).ok();
            (value.and_then(char::from_u32).or(Some('?')), from + digits)
        };
        match (text[1..].chars().next(), self) {
            (Some('\n'), _) => (None, 2),
            (Some('\r'), _) if text[2..].starts_with('\n') => (None, 3),
            (Some('n'), _) => (Some('\n'), 2),
            (Some('t'), _) => (Some('\t'), 2),
            (Some('r'), _) => (Some('\r'), 2),
            (Some('v' | 'f' | 'a' | 'b'), _) => (Some(' '), 2),
            (Some('x'), Escapes::C) => number(2, usize::MAX, 16),
            (Some('x'), Escapes::Python) => number(2, 2, 16),
            (Some('u'), _) => number(2, 4, 16),
            (Some('U'), _) => number(2, 8, 16),
            (Some('0'..='7'), _) => number(1, 3, 8),
            (Some(other), Escapes::C) => (Some(other), 1 + other.len_utf8()),
            (Some(quoted @ ('\\' | '\'' | '"')), Escapes::Python) => (Some(quoted), 2),
            (Some(_), Escapes::Python) | (None, _) => (Some('\\'), 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(literal: &str) -> String {
        let span = Span::new(0, literal.len() as u32);
        characters(literal, span).into_iter().map(|(character, _)| character).collect()
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(read(r#""a\n\tb\"\\""#), "a\n\tb\"\\");
        assert_eq!(read(r#"u8"\x41\101\0""#), "AA\0");
        assert_eq!(read("\"a\\\nb\""), "ab");
        assert_eq!(read("R\"x(a\\n\"b)x\""), "a\\n\"b");
        assert_eq!(read("\"no end"), "no end");
        assert_eq!(read("\""), "");
        assert_eq!(read("\"\\é\""), "é");
    }

    #[test]
    fn each_character_knows_its_bytes() {
        let of = characters(r#""é\n""#, Span::new(0, 6));
        assert_eq!(of, [('é', Span::new(1, 3)), ('\n', Span::new(3, 5))]);
    }
}
