//! The findings of checked files, printed in the format that was asked for.

use std::io;

use clap::ValueEnum;

use super::input::Input;
use super::{place, print};
use crate::baseline::Compared;
use crate::check::Report;
use crate::diagnostic::Diagnostic;
use crate::report::json::Document;
use crate::report::sarif::Log;
use crate::report::{concise, github, human};
use crate::source::SourceFile;

/// How to print findings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For people: the source with the places marked
    Human,
    /// For editors and pipes: one line a finding, `path:line:column: severity[rule] message`
    Concise,
    /// For programs: one JSON document
    Json,
    /// For code scanning: one SARIF 2.1.0 document, paths from the root of the repository
    Sarif,
    /// For GitHub workflows: commands that annotate the change
    Github,
}

impl Format {
    /// The part of the output that is about one file, where the output is text, file after file.
    pub fn text(self, input: &Input, file: &SourceFile, diagnostics: &[Diagnostic], color: bool) -> String {
        match self {
            Format::Human => human::findings(file, &diagnostics.iter().collect::<Vec<_>>(), color),
            Format::Concise => concise::findings(file, diagnostics),
            Format::Github => github::findings(&place::in_repository(input), file, diagnostics),
            Format::Json | Format::Sarif => String::new(),
        }
    }

    /// Whether the output can hold what functions need.
    pub fn shows_requirements(self) -> bool {
        matches!(self, Format::Human | Format::Concise | Format::Json)
    }

    /// Whether the output has the summary in it.
    pub fn holds_summary(self) -> bool {
        self == Format::Json
    }
}

/// Prints file after file, or collects what becomes one document.
pub enum Printer {
    /// What [`Format::text`] gives.
    Text,
    /// JSON.
    Json(Document),
    /// SARIF.
    Sarif(Log),
}

impl Printer {
    /// For a format.
    pub fn new(format: Format) -> Printer {
        match format {
            Format::Human | Format::Concise | Format::Github => Printer::Text,
            Format::Json => Printer::Json(Document::new()),
            Format::Sarif => Printer::Sarif(Log::new()),
        }
    }

    /// Takes one file's findings, and their text.
    ///
    /// # Errors
    /// If it cannot be printed.
    pub fn add(
        &mut self,
        input: &Input,
        file: &SourceFile,
        diagnostics: &[Diagnostic],
        text: &str,
    ) -> io::Result<()> {
        match self {
            Printer::Text => return print(text),
            Printer::Json(document) => document.add(file, diagnostics),
            Printer::Sarif(log) => log.add(&place::in_repository(input), file, diagnostics),
        }
        Ok(())
    }

    /// Takes what the functions of all files need, where that is not part of their text.
    pub fn require<'a>(&mut self, reports: impl Iterator<Item = &'a Report>) {
        let Printer::Json(document) = self else { return };
        let of_file = |report: &'a Report| {
            report.requirements.iter().map(|one| (&*report.source, one.span, one.name.as_str(), one.needs))
        };
        document.set_requirements(reports.flat_map(of_file));
    }

    /// Takes why something could not be checked. Standard error has it in any case.
    pub fn fail(&mut self, message: &str) {
        if let Printer::Sarif(log) = self {
            log.fail(message);
        }
    }

    /// Prints the document, if it is one.
    ///
    /// # Errors
    /// If it cannot be printed.
    pub fn finish(self, compared: Option<Compared>) -> io::Result<()> {
        match self {
            Printer::Text => Ok(()),
            Printer::Json(mut document) => {
                document.set_baseline(compared);
                print(&format!("{}\n", document.to_text()))
            }
            Printer::Sarif(log) => print(&format!("{}\n", log.into_text())),
        }
    }
}
