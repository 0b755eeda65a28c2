//! For code scanning: SARIF 2.1.0, one run a document. The names of the fields are the standard's.
//!
//! The standard wants `{` doubled in messages, for the sake of placeholders. No consumer that we know undoes that where a
//! message has no arguments, so braces stand as they are.

mod document;

use std::collections::BTreeMap;

use self::document::{
    Artifact, ArtifactChange, Configuration, Content, Correction, Description, Descriptor, Document, Driver,
    FixProperties, Help, Invocation, Location, Message, Notification, PhysicalLocation, Region, Replacement,
    Result, ResultProperties, RuleProperties, Run, Tool,
};
use super::remarks;
use crate::baseline::LineText;
use crate::diagnostic::{Applicability, Diagnostic, Fix, Rule, Severity};
use crate::source::{LineColumn, SourceFile, Span};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Paths in the document start from here.
const ROOT: &str = "%SRCROOT%";

/// The findings of a run, as they come.
#[derive(Default)]
pub struct Log {
    rules: BTreeMap<&'static str, &'static Rule>,
    results: Vec<Result>,
    failures: Vec<Notification>,
}

impl Log {
    /// An empty one.
    pub fn new() -> Log {
        Log::default()
    }

    /// Adds the findings of one file, which the repository knows as `path`.
    pub fn add(&mut self, path: &str, file: &SourceFile, diagnostics: &[Diagnostic]) {
        let place = Place { artifact: artifact(path), file };
        let mut equal: BTreeMap<(&str, LineText), usize> = BTreeMap::new();
        for diagnostic in diagnostics {
            self.rules.insert(diagnostic.rule.name, diagnostic.rule);
            let line = LineText::of(file, diagnostic);
            let count = equal.entry((diagnostic.rule.name, line)).or_default();
            *count += 1;
            self.results.push(result(&place, diagnostic, format!("{line}:{count}")));
        }
    }

    /// Adds why something could not be checked.
    pub fn fail(&mut self, message: &str) {
        self.failures.push(Notification { level: "error", message: plain(message) });
    }

    /// The document, on one line.
    pub fn into_text(mut self) -> String {
        let names: Vec<&str> = self.rules.keys().copied().collect();
        for result in &mut self.results {
            result.rule_index = names.binary_search(&result.rule_id).unwrap_or_default();
        }
        let root = Description { description: plain("the root of the repository") };
        let run = Run {
            tool: Tool { driver: driver(self.rules.into_values()) },
            invocations: [Invocation {
                execution_successful: self.failures.is_empty(),
                tool_execution_notifications: self.failures,
            }],
            original_uri_base_ids: BTreeMap::from([(ROOT, root)]),
            column_kind: "unicodeCodePoints",
            results: self.results,
        };
        let document = Document { schema: SCHEMA, version: "2.1.0", runs: [run] };
        serde_json::to_string(&document).unwrap_or_default()
    }
}

/// A file, and how the document calls it.
struct Place<'a> {
    artifact: Artifact,
    file: &'a SourceFile,
}

impl Place<'_> {
    fn region(&self, span: Span) -> Region {
        let (start, end) = (self.line_column(span.start), self.line_column(span.end));
        Region {
            start_line: start.line,
            start_column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }

    /// A byte order mark counts as nothing here.
    fn line_column(&self, at: u32) -> LineColumn {
        let mut at = self.file.line_column(at);
        if at.line == 1 && self.file.text().starts_with('\u{feff}') {
            at.column = at.column.saturating_sub(1).max(1);
        }
        at
    }

    fn location(&self, span: Span, message: &str) -> Location {
        Location {
            id: None,
            physical_location: PhysicalLocation {
                artifact_location: self.artifact.clone(),
                region: self.region(span),
            },
            message: (!message.is_empty()).then(|| plain(message)),
        }
    }
}

fn result(place: &Place<'_>, diagnostic: &Diagnostic, fingerprint: String) -> Result {
    let related = diagnostic
        .labels
        .iter()
        .zip(1..)
        .map(|(label, id)| Location { id: Some(id), ..place.location(label.span, &label.message) });
    Result {
        rule_id: diagnostic.rule.name,
        rule_index: 0,
        level: diagnostic.severity.as_str(),
        message: message(place, diagnostic),
        locations: [place.location(diagnostic.span, &diagnostic.label)],
        related_locations: related.collect(),
        fixes: diagnostic.fixes.iter().map(|fix| correction(place, fix)).collect(),
        partial_fingerprints: BTreeMap::from([("mbarLineText/v1", fingerprint)]),
        properties: ResultProperties { ptxas: diagnostic.ptxas.as_str() },
    }
}

/// The headline, links to the other places (code scanning shows only those that the text links to), and remarks.
fn message(place: &Place<'_>, diagnostic: &Diagnostic) -> Message {
    let links = diagnostic.labels.iter().zip(1..).map(|(label, id)| {
        let line = place.line_column(label.span.start).line;
        format!("[Line {line}]({id}): {}", literal(&label.message))
    });
    let headline = std::iter::once(literal(&diagnostic.message));
    let text: Vec<String> =
        headline.chain(links).chain(remarks(diagnostic).map(|remark| literal(&remark))).collect();
    Message { text: text.join("\n") }
}

/// A message without links.
fn plain(text: &str) -> Message {
    Message { text: literal(text) }
}

/// What looks like a link would be one, so its brackets are escaped.
fn literal(text: &str) -> String {
    if text.contains("](") { text.replace('[', "\\[").replace(']', "\\]") } else { text.to_string() }
}

/// The name of a file in the document.
fn artifact(path: &str) -> Artifact {
    let uri = uri(path);
    let uri_base_id = (!uri.starts_with("file:")).then_some(ROOT);
    Artifact { uri, uri_base_id }
}

fn correction(place: &Place<'_>, fix: &Fix) -> Correction {
    let replacements = fix.edits.iter().map(|edit| Replacement {
        deleted_region: place.region(edit.span),
        inserted_content: Content { text: edit.replacement.clone() },
    });
    Correction {
        description: plain(&fix.title),
        artifact_changes: [ArtifactChange {
            artifact_location: place.artifact.clone(),
            replacements: replacements.collect(),
        }],
        properties: FixProperties { safe: fix.applicability == Applicability::Safe },
    }
}

fn driver(rules: impl Iterator<Item = &'static Rule>) -> Driver {
    let home = env!("CARGO_PKG_HOMEPAGE");
    Driver {
        name: "mbar",
        version: env!("CARGO_PKG_VERSION"),
        semantic_version: env!("CARGO_PKG_VERSION"),
        information_uri: (!home.is_empty()).then_some(home),
        rules: rules.map(descriptor).collect(),
    }
}

fn descriptor(rule: &'static Rule) -> Descriptor {
    Descriptor {
        id: rule.name,
        short_description: plain(rule.summary),
        full_description: plain(opening(rule.page).unwrap_or(rule.summary)),
        help: Help { text: rule.page, markdown: rule.page },
        default_configuration: Configuration { level: rule.severity.as_str() },
        properties: RuleProperties { severity: problem_severity(rule.severity) },
    }
}

/// The first paragraph of a page, below its title.
fn opening(page: &str) -> Option<&str> {
    let mut paragraphs = page.split("\n\n").map(str::trim);
    paragraphs.find(|paragraph| !paragraph.is_empty() && !paragraph.starts_with('#'))
}

/// What code scanning sorts by.
fn problem_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "recommendation",
    }
}

/// A path as a relative reference; one that is absolute, because no repository has it, as a `file` URI.
fn uri(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut uri = String::from(if absolute { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte.into())
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("a/b_c-d.ptx"), "a/b_c-d.ptx");
        assert_eq!(uri("50% a:b,c#?.ptx"), "50%25%20a%3Ab%2Cc%23%3F.ptx");
        assert_eq!(uri("gr\u{fc}n.ptx"), "gr%C3%BCn.ptx");
        assert_eq!(uri("/a b/c.ptx"), "file:///a%20b/c.ptx");
    }

    #[test]
    fn only_what_looks_like_a_link_is_escaped() {
        assert_eq!(literal("`[bar], {a}`"), "`[bar], {a}`");
        assert_eq!(literal("`[bar](x)`"), "`\\[bar\\](x)`");
    }

    #[test]
    fn a_rule_is_introduced_by_the_first_paragraph_of_its_page() {
        assert_eq!(opening("# name\n\nWhat it is.\n\n## Why\n"), Some("What it is."));
        assert_eq!(opening("# name\n"), None);
    }

    #[test]
    fn a_byte_order_mark_has_no_column() {
        let file = SourceFile::new("any", "\u{feff}ab\nab\n");
        let place = Place { artifact: artifact("any"), file: &file };
        assert_eq!(place.line_column(0).column, 1);
        assert_eq!(place.line_column(4).column, 2);
        assert_eq!(place.line_column(7), LineColumn { line: 2, column: 2 });
    }
}
