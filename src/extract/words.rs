//! The words of languages other than C++, as far as they matter for finding strings and what stands around
//! them.

use crate::source::Span;

/// What a word is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An identifier or keyword.
    Name,
    /// A number.
    Number,
    /// A string literal, prefix and quotes included.
    Text,
    /// Any other character.
    Mark(u8),
    /// The end of a line outside of all brackets, where the language has statements that end with it.
    LineEnd,
}

/// A word and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// What.
    pub kind: Kind,
    /// Where.
    pub span: Span,
}

impl Word {
    /// Whether it is the character `byte`.
    pub fn is(self, byte: u8) -> bool {
        self.kind == Kind::Mark(byte)
    }

    /// Its text.
    pub fn of(self, text: &str) -> &str {
        &text[self.span.range()]
    }
}

/// How a language writes what is no code.
pub struct Syntax {
    /// What begins a comment that ends with its line.
    pub comment: &'static str,
    /// `/* /* */ */` is a comment.
    pub nested_comments: bool,
    /// The end of a line ends a statement.
    pub line_ends: bool,
    /// The length of the string literal at the start of a text; 0 where there is none.
    pub string: fn(&str) -> usize,
    /// The length of something else that holds quotes, such as a character literal.
    pub other: fn(&str) -> usize,
}

/// The words of `text`, and the comments that speak to this program.
pub fn words(text: &str, syntax: &Syntax) -> (Vec<Word>, Vec<Span>) {
    let (mut words, mut comments) = (Vec::new(), Vec::new());
    let (mut at, mut depth) = (0usize, 0usize);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = if rest.starts_with(syntax.comment) {
            let length = rest.find('\n').unwrap_or(rest.len());
            if rest[..length].contains("mbar:") {
                comments.push(Span::new(at as u32, (at + length) as u32));
            }
            (None, length)
        } else if syntax.nested_comments && rest.starts_with("/*") {
            (None, nested_comment(rest))
        } else if first == '\n' {
            ((syntax.line_ends && depth == 0).then_some(Kind::LineEnd), 1)
        } else {
            word(rest, first, syntax)
        };
        match kind {
            Some(Kind::Mark(b'(' | b'[' | b'{')) => depth += 1,
            Some(Kind::Mark(b')' | b']' | b'}')) => depth = depth.saturating_sub(1),
            _ => {}
        }
        let span = Span::new(at as u32, (at + length) as u32);
        words.extend(kind.map(|kind| Word { kind, span }));
        at += length;
    }
    (words, comments)
}

/// The word at the start of `rest` and its length; `None`: something without a meaning.
fn word(rest: &str, first: char, syntax: &Syntax) -> (Option<Kind>, usize) {
    match ((syntax.string)(rest), (syntax.other)(rest)) {
        (0, 0) => {}
        (0, length) => return (None, length),
        (length, _) => return (Some(Kind::Text), length),
    }
    let run = |more: &str| {
        let in_word = |c: char| c.is_alphanumeric() || c == '_' || more.contains(c);
        rest.find(|c: char| !in_word(c)).unwrap_or(rest.len())
    };
    match first {
        _ if first.is_whitespace() => (None, first.len_utf8()),
        '0'..='9' => (Some(Kind::Number), run("")),
        _ if first.is_alphanumeric() || first == '_' => (Some(Kind::Name), run("")),
        _ if first.is_ascii() => (Some(Kind::Mark(first as u8)), 1),
        _ => (None, first.len_utf8()),
    }
}

fn nested_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a literal that begins with `open` bytes and ends with `quote`; `\` takes the next
/// character along. One that must stand on a line ends with it.
pub fn quoted(rest: &str, open: usize, quote: &str, one_line: bool) -> usize {
    let bytes = rest.as_bytes();
    let mut at = open;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                let next = rest[at + 1..].chars().next().map_or(0, char::len_utf8);
                at += 1 + next;
            }
            b'\n' if one_line => return at,
            _ if bytes[at..].starts_with(quote.as_bytes()) => return at + quote.len(),
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The place behind the bracket that closes the one at `open`, as an index of `words`.
pub fn behind_bracket(words: &[Word], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, word) in words.iter().enumerate().skip(open) {
        match word.kind {
            Kind::Mark(b'(' | b'[' | b'{') => depth += 1,
            Kind::Mark(b')' | b']' | b'}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts between commas that stand in no bracket, without empty ones.
pub fn arguments(words: &[Word]) -> Vec<&[Word]> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0i32);
    for (index, word) in words.iter().enumerate() {
        match word.kind {
            Kind::Mark(b'(' | b'[' | b'{') => depth += 1,
            Kind::Mark(b')' | b']' | b'}') => depth -= 1,
            Kind::Mark(b',') if depth == 0 => {
                parts.push(&words[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&words[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}
