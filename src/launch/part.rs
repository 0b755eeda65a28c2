//! Pieces of text that know where they stand: in the file or among the flags.

use crate::diagnostic::{Applicability, Diagnostic, Rule};
use crate::isa::opcode::nearest;
use crate::source::Span;

/// Where something is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the PTX file.
    File(Span),
    /// Among the flags: in the text of [`super::Overrides::source`].
    Flags(Span),
}

impl Place {
    /// The bytes, in whichever text it is.
    pub fn span(self) -> Span {
        match self {
            Place::File(span) | Place::Flags(span) => span,
        }
    }

    /// Whether it stands among the flags.
    pub fn in_flags(self) -> bool {
        matches!(self, Place::Flags(_))
    }

    fn with(self, span: Span) -> Place {
        match self {
            Place::File(_) => Place::File(span),
            Place::Flags(_) => Place::Flags(span),
        }
    }
}

/// Text and its place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Part<'a> {
    pub text: &'a str,
    pub place: Place,
}

impl<'a> Part<'a> {
    /// `text`, which stands at `place`.
    pub fn new(text: &'a str, place: Place) -> Part<'a> {
        Part { text, place }
    }

    /// The bytes `start..end` of the text.
    fn sub(self, start: usize, end: usize) -> Part<'a> {
        let first = self.place.span().start;
        let span = Span::new(first + start as u32, first + end as u32);
        Part { text: &self.text[start..end], place: self.place.with(span) }
    }

    /// The first `n` bytes and the rest.
    pub fn split_at(self, n: usize) -> (Part<'a>, Part<'a>) {
        (self.sub(0, n), self.sub(n, self.text.len()))
    }

    /// Without blanks at both ends.
    pub fn trim(self) -> Part<'a> {
        let start = self.text.len() - self.text.trim_start().len();
        self.sub(start, start + self.text.trim().len())
    }

    /// What stands before and after the first `mark`, blanks taken off.
    pub fn split_once(self, mark: char) -> Option<(Part<'a>, Part<'a>)> {
        let at = self.text.find(mark)?;
        let behind = self.sub(at + mark.len_utf8(), self.text.len());
        Some((self.sub(0, at).trim(), behind.trim()))
    }

    /// What stands between the `mark`s, blanks taken off.
    pub fn split(self, mark: char) -> impl Iterator<Item = Part<'a>> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let now = rest?;
            match now.split_once(mark) {
                Some((piece, behind)) => {
                    rest = Some(behind);
                    Some(piece)
                }
                None => {
                    rest = None;
                    Some(now.trim())
                }
            }
        })
    }

    /// The text behind `prefix`, blanks taken off.
    pub fn strip_prefix(self, prefix: &str) -> Option<Part<'a>> {
        self.text.starts_with(prefix).then(|| self.split_at(prefix.len()).1.trim())
    }

    /// The text between `open` at the start and `close` at the end, blanks taken off.
    pub fn inside(self, open: char, close: char) -> Option<Part<'a>> {
        let inner = self.text.strip_prefix(open)?.strip_suffix(close)?;
        let start = open.len_utf8();
        Some(self.sub(start, start + inner.len()).trim())
    }

    /// The first word as far as `inside` holds for its characters, and the rest without blanks.
    pub fn word(self, inside: impl Fn(char) -> bool) -> (Part<'a>, Part<'a>) {
        let end = self.text.find(|c: char| !inside(c)).unwrap_or(self.text.len());
        let (word, rest) = self.split_at(end);
        (word, rest.trim())
    }

    /// The words of a list `key=value key=[1, 2]`: blanks within brackets do not separate.
    pub fn fields(self) -> impl Iterator<Item = Part<'a>> {
        let mut rest = self.trim();
        std::iter::from_fn(move || {
            if rest.text.is_empty() {
                return None;
            }
            let (field, behind) = rest.split_at(field_length(rest.text));
            rest = behind.trim();
            Some(field)
        })
    }

    /// The empty place behind the text.
    pub fn end(self) -> Place {
        self.place.with(Span::empty(self.place.span().end))
    }

    /// "`text`", cut to what can be read in a message.
    pub fn quoted(self) -> String {
        quoted(self.text)
    }
}

/// "`text`", cut to what can be read in a message.
pub(super) fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

fn field_length(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 && c.is_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

/// So many names are looked through for the one that was meant.
const MOST_COMPARED: usize = 64;

/// So many names are listed when none is near.
const MOST_LISTED: usize = 16;

/// A finding on its way out, with the text that it is about.
#[derive(Debug)]
pub(super) struct Fault(Box<(bool, Diagnostic)>);

/// A value, or why there is none.
pub(super) type Result<T> = std::result::Result<T, Fault>;

impl Fault {
    /// A finding of `rule` at `place`.
    pub fn new(rule: &'static Rule, place: Place, message: impl Into<String>) -> Fault {
        Fault(Box::new((place.in_flags(), Diagnostic::new(rule, place.span(), message))))
    }

    fn map(self, change: impl FnOnce(Diagnostic) -> Diagnostic) -> Fault {
        let (in_flags, diagnostic) = *self.0;
        Fault(Box::new((in_flags, change(diagnostic))))
    }

    /// Sets the text beside the place itself.
    pub fn label(self, text: impl Into<String>) -> Fault {
        self.map(|diagnostic| diagnostic.label(text))
    }

    /// Adds a reason.
    pub fn note(self, text: impl Into<String>) -> Fault {
        self.map(|diagnostic| diagnostic.note(text))
    }

    /// Adds an advice.
    pub fn help(self, text: impl Into<String>) -> Fault {
        self.map(|diagnostic| diagnostic.help(text))
    }

    /// Adds a further place; one in the other text cannot be shown beside this and is left out.
    pub fn also(self, place: Place, text: impl Into<String>) -> Fault {
        match place.in_flags() == self.0.0 {
            true => self.map(|diagnostic| diagnostic.also(place.span(), text)),
            false => self,
        }
    }

    /// Proposes the one of `candidates` that `part` was meant to be, if one is near.
    pub fn near<'c>(self, part: Part, candidates: impl Iterator<Item = &'c str>) -> Fault {
        // Of very many, looking at the first is enough; each comparison costs time.
        match nearest(part.text, candidates.take(MOST_COMPARED)) {
            Some(near) => {
                let title = format!("did you mean `{near}`?");
                self.map(|d| d.fix(Applicability::Unsafe, title, part.place.span(), near))
            }
            None => self,
        }
    }

    /// The same; when none is near, lists the candidates.
    pub fn meant<'c>(self, part: Part, candidates: impl Iterator<Item = &'c str> + Clone) -> Fault {
        let listed: Vec<String> = candidates.clone().take(MOST_LISTED).map(quoted).collect();
        let fault = self.near(part, candidates);
        match fault.0.1.fixes.is_empty() && !listed.is_empty() {
            true => fault.help(format!("there is {}", listed.join(", "))),
            false => fault,
        }
    }
}

/// Why a launch is refused.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Refusal {
    /// Findings in the PTX file.
    pub file: Vec<Diagnostic>,
    /// Findings in the flags; their places are in [`super::Overrides::source`].
    pub flags: Vec<Diagnostic>,
}

impl Refusal {
    pub(super) fn push(&mut self, fault: Fault) {
        let (in_flags, diagnostic) = *fault.0;
        if in_flags { self.flags.push(diagnostic) } else { self.file.push(diagnostic) }
    }

    /// The value, if there is one; else its fault is kept.
    pub(super) fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|fault| self.push(fault)).ok()
    }

    /// Whether there is no finding at all.
    pub fn is_empty(&self) -> bool {
        self.file.is_empty() && self.flags.is_empty()
    }
}
