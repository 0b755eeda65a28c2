//! What `mbar check` does with one file: reading, mending, checking, and its part of the output.

use std::sync::Arc;

use super::baseline::Mode;
use super::findings::Format;
use super::fix::{self, FixArguments, FixError, Mended};
use super::input::{self, Input, InputError};
use crate::baseline::Compared;
use crate::check::{self, Report, Requirement, Settings};
use crate::config::FileSettings;
use crate::diagnostic::Diagnostic;
use crate::extract::Language;
use crate::isa::Needs;
use crate::program::Options;
use crate::source::SourceFile;

/// How to check, and what to do with the findings.
pub struct Job {
    /// What the flags say of the checks.
    pub settings: Settings,
    /// The language of every file; none: their endings tell.
    pub language: Option<Language>,
    /// How to print findings.
    pub format: Format,
    /// Whether to mend.
    pub fixes: FixArguments,
    /// Whether to tell what functions need.
    pub requirements: bool,
    /// Whether to use colour.
    pub color: bool,
    /// What to do about a baseline.
    pub mode: Mode,
}

/// What one file gave.
#[derive(Default)]
pub struct Outcome {
    /// Its part of the output.
    pub text: String,
    /// Its findings.
    pub report: Option<Report>,
    /// What was mended.
    pub mended: Option<Result<Mended, FixError>>,
    /// The file's name in the baseline, and what that knew.
    pub compared: Option<(String, Compared)>,
    /// Why there is nothing else.
    pub error: Option<InputError>,
}

impl Job {
    /// Does all of it, under what the configuration says of the file.
    pub fn one(&self, input: &Input, file: &FileSettings) -> Outcome {
        let mut source = match input::read(input) {
            Ok(source) => source,
            Err(error) => return Outcome { error: Some(error), ..Outcome::default() },
        };
        let checker = Checker::new(self, input.language(self.language), file);
        let mut outcome = Outcome::default();
        if self.fixes.fix {
            let check = |source| checker.report(source).diagnostics;
            let is_wanted =
                |finding: &Diagnostic| file.levels.of(finding.rule, Some(finding.severity)).is_some();
            outcome.mended = fix::mend(input, &source, &check, &is_wanted);
            if let Some(Ok(mended)) = &outcome.mended {
                source = mended.source().clone();
            }
        }
        let mut report = checker.report(source);
        file.levels.apply(&mut report.diagnostics);
        match &self.mode {
            Mode::Write(_) => {}
            Mode::Read(known) => {
                outcome.compared = Some(known.leave_out(input, &report.source, &mut report.diagnostics));
                outcome.text = self.text(input, &report);
            }
            Mode::Off => outcome.text = self.text(input, &report),
        }
        outcome.report = Some(report);
        outcome
    }

    fn text(&self, input: &Input, report: &Report) -> String {
        let mut text = self.format.text(input, &report.source, &report.diagnostics, self.color);
        if self.requirements && self.format != Format::Json {
            text.push_str(&requirements(report));
        } else if self.settings.verbose && self.format == Format::Human && !report.requirements.is_empty() {
            let needs = report.requirements.iter().fold(Needs::NONE, |all, one| all.with(one.needs));
            text.push_str(&format!("{}: {}\n", report.source.name(), check::describe_requirements(needs)));
        }
        text
    }
}

/// Checks texts of one file: as it stands, and as fixes would leave it.
struct Checker<'a> {
    settings: Settings,
    language: Language,
    file: &'a FileSettings,
}

impl Checker<'_> {
    fn new<'a>(job: &Job, language: Language, file: &'a FileSettings) -> Checker<'a> {
        let settings = job.settings.clone();
        let toolkit = settings.toolkit.or(file.toolkit);
        // What a file says of itself, the configuration does not say for it.
        let version = match language {
            Language::Ptx => settings.options.version,
            _ => settings.options.version.or(file.version),
        };
        let options = Options { version, ..settings.options };
        let guards = file.guards.clone();
        let settings = Settings { options, toolkit, guards, ..settings }.asking(&file.levels);
        Checker { settings, language, file }
    }

    fn report(&self, source: Arc<SourceFile>) -> Report {
        if self.language == Language::Ptx || self.settings.options.target.is_some() {
            return check::file(source, self.language, &self.settings);
        }
        let mut first: Option<Report> = None;
        let diagnostics = check::for_each_target(&self.file.targets, |target| {
            let options = Options { target, ..self.settings.options };
            let settings = Settings { options, ..self.settings.clone() };
            let report = check::file(source.clone(), self.language, &settings);
            let diagnostics = report.diagnostics.clone();
            first.get_or_insert(report);
            diagnostics
        });
        match first {
            Some(report) => Report { diagnostics, ..report },
            None => check::file(source, self.language, &self.settings),
        }
    }
}

/// What each function needs, a line each: `a.cu:7: wait: PTX 8.0 and sm_90`
fn requirements(report: &Report) -> String {
    let line = |one: &Requirement| {
        let name = if one.name.is_empty() { "outside of functions" } else { &one.name };
        let line = report.source.line(one.span.start);
        format!("{}:{line}: {name}: {}\n", report.source.name(), check::needs_in_words(one.needs))
    };
    report.requirements.iter().map(line).collect()
}
