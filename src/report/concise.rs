//! For editors and pipes: one line a finding, `path:line:column: severity[rule] message`.

use super::one_line;
use crate::diagnostic::Diagnostic;
use crate::source::SourceFile;

/// The findings of one file as text.
pub fn findings(file: &SourceFile, diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| line(file, diagnostic)).collect()
}

fn line(file: &SourceFile, diagnostic: &Diagnostic) -> String {
    let at = file.line_column(diagnostic.span.start);
    format!(
        "{}:{}:{}: {}[{}] {}\n",
        file.name(),
        at.line,
        at.column,
        diagnostic.severity.as_str(),
        diagnostic.rule.name,
        one_line(&diagnostic.message)
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::diagnostic::{Ptxas, Rule, Severity};
    use crate::source::Span;

    static RULE: Rule =
        Rule { name: "bad", severity: Severity::Warning, ptxas: Ptxas::Accepts, summary: "", page: "" };

    #[test]
    fn a_finding_is_one_line_and_columns_are_characters() {
        let file = SourceFile::new("a.ptx", "x\n// äö bad\n");
        let diagnostic = Diagnostic::new(&RULE, Span::new(10, 13), "two\nlines");
        assert_eq!(findings(&file, &[diagnostic]), "a.ptx:2:7: warning[bad] two lines\n");
    }
}
