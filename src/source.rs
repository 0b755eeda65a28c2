//! Source files, byte spans, and the way from a byte to a line and a column.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A half-open range of bytes in one source file. Files are limited to 4 GiB, so `u32` is enough.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// The empty span at `at`.
    pub const fn empty(at: u32) -> Self {
        Span { start: at, end: at }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether `other` lies within this span.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// As a range of `usize`, for indexing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A place as people count it: both from 1, the column in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters (not bytes), from 1.
    pub column: u32,
}

/// One file's name (as given by the user) and text.
pub struct SourceFile {
    name: String,
    text: Arc<str>,
    line_starts: OnceLock<Vec<u32>>,
}

impl SourceFile {
    /// Wraps `text`. Text of 4 GiB or more cannot be addressed by [`Span`] and is cut by the caller
    /// (`cli::input` refuses such files).
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Arc<Self> {
        Arc::new(SourceFile { name: name.into(), text: text.into(), line_starts: OnceLock::new() })
    }

    /// The name the file was opened under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under `span`, clamped to the file and to character boundaries.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[self.clamp(span).range()]
    }

    /// The one place that clamps: brings `span` inside the text and widens it to character
    /// boundaries, so that slicing and rendering never panic.
    pub fn clamp(&self, span: Span) -> Span {
        let len = self.text.len() as u32;
        let mut start = span.start.min(len);
        let mut end = span.end.min(len).max(start);
        while !self.text.is_char_boundary(start as usize) {
            start -= 1;
        }
        while !self.text.is_char_boundary(end as usize) {
            end += 1;
        }
        Span { start, end }
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
            std::iter::once(0).chain(newlines.map(|(i, _)| i as u32 + 1)).collect()
        })
    }

    /// The line and column of byte `at` (clamped to the file).
    pub fn line_column(&self, at: u32) -> LineColumn {
        let at = self.clamp(Span::empty(at)).start;
        let starts = self.line_starts();
        let line = starts.partition_point(|&start| start <= at);
        let line_start = starts[line - 1];
        let column = self.text[line_start as usize..at as usize].chars().count() as u32 + 1;
        LineColumn { line: line as u32, column }
    }

    /// The line (from 1) that holds byte `at`.
    pub fn line(&self, at: u32) -> u32 {
        self.line_starts().partition_point(|&start| start <= at) as u32
    }

    /// The bytes of line `line` (from 1), without its newline.
    pub fn line_span(&self, line: u32) -> Span {
        let starts = self.line_starts();
        let start = starts[line as usize - 1];
        let end = starts.get(line as usize).map_or(self.text.len() as u32, |&next| next - 1);
        Span { start, end: end.max(start) }
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceFile({}, {} bytes)", self.name, self.text.len())
    }
}
