//! For people: the source with the places marked. The only file that uses ariadne.

use std::io::{self, Write};
use std::ops::Range;

use ariadne::{Config, IndexType, Label, Report, ReportKind, Source};

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{SourceFile, Span};

/// Lines longer than this (in bytes) are not shown whole.
const LONG_LINE: u32 = 400;

/// So many findings of one file are shown; what follows more of them is hardly ever read.
const MOST: usize = 200;

/// The findings of one file as text.
pub fn findings(file: &SourceFile, diagnostics: &[&Diagnostic], color: bool) -> String {
    let mut renderer = Renderer::new(file, color);
    let mut text = Vec::new();
    for diagnostic in diagnostics.iter().take(MOST) {
        // Writing to memory cannot fail.
        let _ = renderer.write(diagnostic, &mut text);
    }
    let mut text = String::from_utf8_lossy(&text).into_owned();
    match diagnostics.len().saturating_sub(MOST) {
        0 => {}
        more => text.push_str(&format!("{}: {more} more (--format json lists all)\n\n", file.name())),
    }
    text
}

/// Writes findings of one file. The file is split into lines once, however many findings follow.
pub struct Renderer<'a> {
    file: &'a SourceFile,
    source: Option<Source<&'a str>>,
    color: bool,
}

impl<'a> Renderer<'a> {
    /// A renderer for findings in `file`.
    pub fn new(file: &'a SourceFile, color: bool) -> Self {
        Renderer { file, source: None, color }
    }

    /// Writes one finding.
    pub fn write(&mut self, diagnostic: &Diagnostic, out: &mut dyn Write) -> io::Result<()> {
        let spans = std::iter::once(diagnostic.span).chain(diagnostic.labels.iter().map(|l| l.span));
        let long = spans.clone().any(|span| {
            let line = self.file.line(span.start);
            let bytes = self.file.line_span(line);
            bytes.end - bytes.start > LONG_LINE
        });
        if long { self.write_plain(diagnostic, out) } else { self.write_marked(diagnostic, out) }
    }

    fn write_marked(&mut self, diagnostic: &Diagnostic, out: &mut dyn Write) -> io::Result<()> {
        let file = self.file;
        let source = self.source.get_or_insert_with(|| Source::from(file.text()));
        let kind = match diagnostic.severity {
            Severity::Error => ReportKind::Error,
            Severity::Warning => ReportKind::Warning,
            Severity::Note => ReportKind::Advice,
        };
        let id = file.name();
        let at = |span: Span| -> (&str, Range<usize>) { (id, visible(file, span)) };
        let config = Config::default().with_color(self.color).with_index_type(IndexType::Byte);
        let mut report = Report::build(kind, at(diagnostic.span))
            .with_config(config)
            .with_code(diagnostic.rule.name)
            .with_message(&diagnostic.message);
        // In the order of the file: out of order, each label would be drawn as an excerpt of its own.
        let mut marks = vec![(diagnostic.span, diagnostic.label.as_str())];
        marks.extend(diagnostic.labels.iter().map(|label| (label.span, label.message.as_str())));
        marks.sort_by_key(|(span, _)| span.start);
        for (span, message) in marks {
            let label = Label::new(at(span));
            // Without a message nothing would be drawn.
            let message = if message.is_empty() { "here" } else { message };
            report = report.with_label(label.with_message(message));
        }
        for note in &diagnostic.notes {
            report.add_note(note);
        }
        for help in &diagnostic.helps {
            report.add_help(help);
        }
        let mut text = Vec::new();
        report.finish().write((id, &*source), &mut text)?;
        // The renderer pads lines with blanks at the end.
        for line in String::from_utf8_lossy(&text).lines() {
            writeln!(out, "{}", merge_colors(line.trim_end()))?;
        }
        writeln!(out)
    }

    /// Without the marked source, for lines that are too long to show.
    fn write_plain(&self, diagnostic: &Diagnostic, out: &mut dyn Write) -> io::Result<()> {
        let place = |span: Span| {
            let at = self.file.line_column(span.start);
            format!("{}:{}:{}", self.file.name(), at.line, at.column)
        };
        let excerpt = |span: Span| {
            let text = self.file.slice(span);
            let short: String = text.chars().take(60).collect();
            if short.len() < text.len() { format!("{short}…") } else { short }
        };
        let kind = match diagnostic.severity {
            Severity::Error => "Error",
            Severity::Warning => "Warning",
            Severity::Note => "Advice",
        };
        writeln!(out, "[{}] {kind}: {}", diagnostic.rule.name, diagnostic.message)?;
        writeln!(
            out,
            "   at {}: `{}` {}",
            place(diagnostic.span),
            excerpt(diagnostic.span),
            diagnostic.label
        )?;
        for label in &diagnostic.labels {
            writeln!(out, "   at {}: {}", place(label.span), label.message)?;
        }
        for note in &diagnostic.notes {
            writeln!(out, "   Note: {note}")?;
        }
        for help in &diagnostic.helps {
            writeln!(out, "   Help: {help}")?;
        }
        writeln!(out)
    }
}

/// A span that can be drawn: within the file, on character boundaries, one line if possible, not empty.
fn visible(file: &SourceFile, span: Span) -> Range<usize> {
    let span = file.clamp(span);
    let line = file.line_span(file.line(span.start));
    let mut end = if span.end > line.end && span.start < line.end { line.end } else { span.end };
    if end == span.start {
        end = file.clamp(Span::new(span.start, (span.start + 1).min(line.end.max(span.start)))).end;
    }
    // A byte order mark has no width of its own.
    if file.slice(Span::new(span.start, end)) == "\u{feff}" {
        end = file.clamp(Span::new(span.start, end + 1)).end;
    }
    // At the end of a line there is nothing to underline: mark its last character.
    let start = if end == span.start && span.start > line.start {
        file.clamp(Span::empty(span.start - 1)).start
    } else {
        span.start
    };
    start as usize..end as usize
}

/// The same line without the resets and repeated colours between characters of one colour: the renderer
/// colours each character on its own.
fn merge_colors(line: &str) -> String {
    const RESET: &str = "\x1b[0m";
    let mut out = String::with_capacity(line.len());
    let mut active = "";
    let mut wanted = "";
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if let Some(end) = rest.find('m').filter(|_| first == '\x1b') {
            let (code, behind) = rest.split_at(end + 1);
            wanted = if code == RESET { "" } else { code };
            rest = behind;
            continue;
        }
        if wanted != active {
            out.push_str(if active.is_empty() { "" } else { RESET });
            out.push_str(wanted);
            active = wanted;
        }
        out.push(first);
        rest = &rest[first.len_utf8()..];
    }
    out.push_str(if active.is_empty() { "" } else { RESET });
    out
}
