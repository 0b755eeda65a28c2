//! For GitHub: workflow commands, which mark findings in the change that a workflow runs for.
//!
//! The runner reads them line by line from the output of a step: `::error file=…,line=…::message`. What would
//! end a property or the message early is escaped.

use super::remarks;
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::SourceFile;

/// The findings of one file, which the repository knows as `path`.
pub fn findings(path: &str, file: &SourceFile, diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| command(path, file, diagnostic)).collect()
}

fn command(path: &str, file: &SourceFile, diagnostic: &Diagnostic) -> String {
    let name = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let title = format!("mbar {}", diagnostic.rule.name);
    format!(
        "::{name} file={},{},title={}::{}\n",
        property(path),
        place(file, diagnostic),
        property(&title),
        data(&message(file, diagnostic))
    )
}

/// Lines and columns. The runner refuses columns of a place that ends on another line.
fn place(file: &SourceFile, diagnostic: &Diagnostic) -> String {
    let start = file.line_column(diagnostic.span.start);
    let end = file.line_column(diagnostic.span.end);
    let lines = format!("line={},endLine={}", start.line, end.line);
    if start.line == end.line {
        format!("{lines},col={},endColumn={}", start.column, end.column)
    } else {
        lines
    }
}

/// All that there is to say: GitHub shows one place only, so the others are named in the text.
fn message(file: &SourceFile, diagnostic: &Diagnostic) -> String {
    let labels = diagnostic.labels.iter().map(|label| {
        let line = file.line(label.span.start);
        format!("Line {line}: {}", label.message)
    });
    let lines: Vec<String> =
        std::iter::once(diagnostic.message.clone()).chain(labels).chain(remarks(diagnostic)).collect();
    lines.join("\n")
}

/// Escapes a message.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::diagnostic::{Ptxas, Rule};
    use crate::source::Span;

    static RULE: Rule =
        Rule { name: "bad", severity: Severity::Note, ptxas: Ptxas::Accepts, summary: "", page: "" };

    #[test]
    fn what_would_end_a_command_early_is_escaped() {
        let file = SourceFile::new("any", "first\nsecond\n");
        let diagnostic = Diagnostic::new(&RULE, Span::new(6, 12), "100% `%r1`: a, b\r\nc")
            .label("not shown")
            .also(Span::new(0, 5), "there")
            .note("why")
            .help("what");
        assert_eq!(
            findings("50%, a:b.ptx", &file, &[diagnostic]),
            "::notice file=50%25%2C a%3Ab.ptx,line=2,endLine=2,col=1,endColumn=7,title=mbar bad::\
             100%25 `%25r1`: a, b%0D%0Ac%0ALine 1: there%0ANote: why%0AHelp: what\n"
        );
    }

    #[test]
    fn a_place_on_two_lines_has_no_columns() {
        let file = SourceFile::new("any", "first\nsecond\n");
        let diagnostic = Diagnostic::new(&RULE, Span::new(2, 8), "text").severity(Severity::Error);
        assert_eq!(
            findings("a.ptx", &file, &[diagnostic]),
            "::error file=a.ptx,line=1,endLine=2,title=mbar bad::text\n"
        );
    }
}
