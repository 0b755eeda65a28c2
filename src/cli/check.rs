//! `mbar check`

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use rayon::prelude::*;

use super::baseline::{BaselineArguments, Mode, gone_line};
use super::findings::{Format, Printer};
use super::input::{self, Input, InputError};
use super::progress::Progress;
use super::{Color, TargetArguments, complain, exit, parse_toolkit, settings};
use crate::baseline::Compared;
use crate::check::{self, Requirement, Settings, count};
use crate::diagnostic::Severity;
use crate::isa::Needs;
use crate::isa::target::Toolkit;
use crate::report::json::Summary;

/// The arguments of `mbar check`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Files of PTX or C++ (`asm` statements), directories to search for them, or `-` for PTX on standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    target: TargetArguments,
    /// Also check against the ptxas of this CUDA release, e.g. 12.4
    #[arg(long, value_name = "RELEASE", value_parser = parse_toolkit)]
    cuda: Option<Toolkit>,
    /// Count warnings as errors for the exit code
    #[arg(long, value_name = "WHAT", value_parser = ["warnings"])]
    deny: Option<String>,
    /// How to print findings
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    #[command(flatten)]
    baseline: BaselineArguments,
    /// Also print what each function needs of PTX version and target (formats human, concise, json)
    #[arg(long)]
    requirements: bool,
    /// Also say what is not checked, and what each file needs
    #[arg(long, short)]
    verbose: bool,
}

/// What one file gave: its part of the output, counted.
#[derive(Default)]
struct Outcome {
    text: String,
    checked: Option<check::Report>,
    /// The file's name in the baseline, and what that knew.
    compared: Option<(String, Compared)>,
    error: Option<InputError>,
}

/// How to check, and what to do with the findings.
struct Job {
    settings: Settings,
    format: Format,
    requirements: bool,
    color: bool,
    mode: Mode,
}

/// Runs the subcommand.
pub fn run(arguments: Arguments, color: Color) -> io::Result<u8> {
    let mode = match arguments.baseline.mode() {
        Ok(mode) => mode,
        Err(message) => {
            complain(&format!("mbar: {message}"));
            return Ok(exit::USAGE);
        }
    };
    let format = arguments.format;
    let mut job = Job {
        settings: settings(arguments.target, arguments.cuda, arguments.verbose),
        format,
        requirements: arguments.requirements,
        color: format == Format::Human && color.enabled(),
        mode,
    };
    if job.requirements && !format.shows_requirements() {
        complain("mbar: --requirements is shown in the formats human, concise and json");
        return Ok(exit::USAGE);
    }
    let inputs = input::expand(&arguments.paths);
    let outcomes = check_all(&inputs, &job);

    let mut printer = Printer::new(format);
    let mut summary = Summary::default();
    let mut unreadable = false;
    let mut unchecked = 0;
    for (input, outcome) in inputs.iter().zip(&outcomes) {
        if let Some(error) = input.as_ref().err().or(outcome.error.as_ref()) {
            unreadable = true;
            complain(&format!("mbar: {error}"));
            printer.fail(&error.to_string());
        }
        let (Ok(input), Some(checked)) = (input, &outcome.checked) else { continue };
        summary.add(&checked.diagnostics);
        unchecked += checked.unchecked;
        match &mut job.mode {
            Mode::Write(recorder) => recorder.record(input, &checked.source, &checked.diagnostics),
            Mode::Off | Mode::Read(_) => {
                printer.add(input, &checked.source, &checked.diagnostics, &outcome.text)?
            }
        }
    }
    if job.requirements {
        printer.require(outcomes.iter().filter_map(|outcome| outcome.checked.as_ref()));
    }
    let compared = match &job.mode {
        Mode::Write(recorder) => return Ok(recorder.finish(unreadable)),
        Mode::Read(known) => Some(known.total(outcomes.iter().filter_map(|o| o.compared.as_ref()))),
        Mode::Off => None,
    };
    printer.finish(compared)?;
    if !format.holds_summary() {
        let unchecked = if arguments.verbose { 0 } else { unchecked };
        complain(&format!("{}{}", summary_line(summary, compared), unchecked_text(unchecked)));
        compared.and_then(gone_line).iter().for_each(|line| complain(line));
    }
    let denied = arguments.deny.is_some() && summary.warnings > 0;
    Ok(match (unreadable, summary.errors > 0 || denied) {
        (true, _) => exit::USAGE,
        (false, true) => exit::FINDINGS,
        (false, false) => exit::CLEAN,
    })
}

fn check_all(inputs: &[Result<Input, InputError>], job: &Job) -> Vec<Outcome> {
    let progress = Progress::shared();
    let done = AtomicUsize::new(0);
    let one = |input: &Result<Input, InputError>| {
        let outcome = input.as_ref().map_or_else(|_| Outcome::default(), |input| check_one(input, job));
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress.show(format_args!("{count} of {} files", inputs.len()));
        outcome
    };
    // One file needs no thread pool: its start would cost more than the check.
    if inputs.len() == 1 { inputs.iter().map(one).collect() } else { inputs.par_iter().map(one).collect() }
}

fn check_one(input: &Input, job: &Job) -> Outcome {
    let source = match input::read(input) {
        Ok(source) => source,
        Err(error) => return Outcome { error: Some(error), ..Outcome::default() },
    };
    let mut checked = check::file(source.clone(), input.language(), &job.settings);
    let compared = match &job.mode {
        Mode::Write(_) => return Outcome { checked: Some(checked), ..Outcome::default() },
        Mode::Read(known) => Some(known.leave_out(input, &source, &mut checked.diagnostics)),
        Mode::Off => None,
    };
    let mut text = job.format.text(input, &source, &checked.diagnostics, job.color);
    if job.requirements && job.format != Format::Json {
        text.push_str(&requirements(&checked));
    } else if job.settings.verbose && job.format == Format::Human && !checked.requirements.is_empty() {
        let needs = checked.requirements.iter().fold(Needs::NONE, |all, one| all.with(one.needs));
        text.push_str(&format!("{}: {}\n", source.name(), check::describe_requirements(needs)));
    }
    Outcome { text, checked: Some(checked), compared, error: None }
}

/// What each function needs, a line each: `a.cu:7: wait: PTX 8.0 and sm_90`
fn requirements(checked: &check::Report) -> String {
    let line = |one: &Requirement| {
        let name = if one.name.is_empty() { "outside of functions" } else { &one.name };
        let line = checked.source.line(one.span.start);
        format!("{}:{line}: {name}: {}\n", checked.source.name(), check::needs_in_words(one.needs))
    };
    checked.requirements.iter().map(line).collect()
}

/// "2 files checked: 1 error, no warnings; 3 known findings left out"
fn summary_line(summary: Summary, compared: Option<Compared>) -> String {
    let files = count(summary.files, "file");
    let mut text = format!(
        "{files} checked: {}, {}",
        count(summary.errors, Severity::Error.as_str()),
        count(summary.warnings, Severity::Warning.as_str())
    );
    if summary.notes > 0 {
        text.push_str(&format!(", {}", count(summary.notes, Severity::Note.as_str())));
    }
    if let Some(Compared { left_out, .. }) = compared.filter(|compared| compared.left_out > 0) {
        text.push_str(&format!("; {} left out", count(left_out, "known finding")));
    }
    text
}

/// What of the files has not been looked at; `--verbose` has told it.
fn unchecked_text(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 instruction not checked (--verbose shows it)".to_string(),
        n => format!("; {n} instructions not checked (--verbose lists them)"),
    }
}
