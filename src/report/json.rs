//! For programs: `mbar.check/1`. Fields are only ever added.

use serde::Serialize;

use crate::baseline::Compared;
use crate::diagnostic::{Diagnostic, Label, Severity};
use crate::isa::{Needs, TargetId, Version};
use crate::source::{SourceFile, Span};

/// The document.
#[derive(Serialize, Debug, Default)]
pub struct Document {
    schema: &'static str,
    diagnostics: Vec<Finding>,
    summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<Known>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requirements: Option<Vec<Requirement>>,
}

/// What a baseline knew.
#[derive(Serialize, Debug)]
struct Known {
    left_out: usize,
    gone: usize,
}

#[derive(Serialize, Debug)]
struct Finding {
    rule: &'static str,
    severity: &'static str,
    ptxas: &'static str,
    message: String,
    file: String,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    label: String,
    related: Vec<Related>,
    notes: Vec<String>,
    helps: Vec<String>,
    fixes: Vec<Fix>,
}

#[derive(Serialize, Debug)]
pub(super) struct Related {
    message: String,
    line: u32,
    column: u32,
}

#[derive(Serialize, Debug)]
struct Fix {
    title: String,
    safe: bool,
    edits: Vec<Edit>,
}

#[derive(Serialize, Debug)]
struct Edit {
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    replacement: String,
}

/// What a function needs; no PTX version: any will do.
#[derive(Serialize, Debug)]
struct Requirement {
    file: String,
    line: u32,
    function: String,
    ptx: Option<String>,
    targets: Vec<&'static str>,
}

/// What was found in all files together.
#[derive(Serialize, Debug, Default, Clone, Copy)]
pub struct Summary {
    /// Files looked at.
    pub files: usize,
    /// Errors in them.
    pub errors: usize,
    /// Warnings in them.
    pub warnings: usize,
    /// Notes in them.
    pub notes: usize,
}

impl Summary {
    /// Counts one file with its findings.
    pub fn add(&mut self, diagnostics: &[Diagnostic]) {
        self.files += 1;
        for diagnostic in diagnostics {
            match diagnostic.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
                Severity::Note => self.notes += 1,
            }
        }
    }
}

impl Document {
    /// An empty document.
    pub fn new() -> Self {
        Document { schema: "mbar.check/1", ..Document::default() }
    }

    /// Adds the findings of one file.
    pub fn add(&mut self, file: &SourceFile, diagnostics: &[Diagnostic]) {
        self.summary.add(diagnostics);
        self.diagnostics.extend(diagnostics.iter().map(|diagnostic| finding(file, diagnostic)));
    }

    /// Adds what functions need: each with its file, the place of its name, and its name.
    pub fn set_requirements<'a>(
        &mut self,
        requirements: impl Iterator<Item = (&'a SourceFile, Span, &'a str, Needs)>,
    ) {
        let one = |(file, span, function, needs): (&SourceFile, Span, &str, Needs)| Requirement {
            file: file.name().to_string(),
            line: file.line_column(span.start).line,
            function: function.to_string(),
            ptx: (needs.version != Version::NONE).then(|| needs.version.to_string()),
            targets: needs.targets.iter().map(TargetId::name).collect(),
        };
        self.requirements = Some(requirements.map(one).collect());
    }

    /// Adds what a baseline knew, if there is one.
    pub fn set_baseline(&mut self, compared: Option<Compared>) {
        self.baseline = compared.map(|Compared { left_out, gone }| Known { left_out, gone });
    }

    /// The document as text, one line.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The other places that a finding names.
pub(super) fn related(file: &SourceFile, labels: &[Label]) -> Vec<Related> {
    let related = labels.iter().map(|label| {
        let at = file.line_column(label.span.start);
        Related { message: label.message.clone(), line: at.line, column: at.column }
    });
    related.collect()
}

fn finding(file: &SourceFile, diagnostic: &Diagnostic) -> Finding {
    let start = file.line_column(diagnostic.span.start);
    let end = file.line_column(diagnostic.span.end);
    let fixes = diagnostic.fixes.iter().map(|fix| Fix {
        title: fix.title.clone(),
        safe: fix.applicability == crate::diagnostic::Applicability::Safe,
        edits: fix
            .edits
            .iter()
            .map(|edit| {
                let (start, end) = (file.line_column(edit.span.start), file.line_column(edit.span.end));
                Edit {
                    line: start.line,
                    column: start.column,
                    end_line: end.line,
                    end_column: end.column,
                    replacement: edit.replacement.clone(),
                }
            })
            .collect(),
    });
    Finding {
        rule: diagnostic.rule.name,
        severity: diagnostic.severity.as_str(),
        ptxas: diagnostic.ptxas.as_str(),
        message: diagnostic.message.clone(),
        file: file.name().to_string(),
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        label: diagnostic.label.clone(),
        related: related(file, &diagnostic.labels),
        notes: diagnostic.notes.clone(),
        helps: diagnostic.helps.clone(),
        fixes: fixes.collect(),
    }
}
