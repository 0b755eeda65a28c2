//! `mbar check`

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use rayon::prelude::*;

use super::baseline::{BaselineArguments, Mode, gone_line};
use super::config::{ConfigArguments, Configs};
use super::findings::{Format, Printer};
use super::fix::{self, FixArguments};
use super::input::{self, Input, InputError};
use super::job::{Job, Outcome};
use super::language::Lang;
use super::levels::{self, RuleArguments};
use super::progress::Progress;
use super::{Color, TargetArguments, complain, exit, settings};
use crate::baseline::Compared;
use crate::check::count;
use crate::config::{FileSettings, words};
use crate::diagnostic::Severity;
use crate::isa::target::Toolkit;
use crate::levels::Levels;
use crate::report::json::Summary;

/// The arguments of `mbar check`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Files of PTX, or of languages that hold some, directories to search for them, or `-` for standard input
    #[arg(required_unless_present = "list_rules", value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    target: TargetArguments,
    /// Also check against the ptxas of this CUDA release, e.g. 12.4
    #[arg(long, value_name = "RELEASE", value_parser = words::toolkit)]
    cuda: Option<Toolkit>,
    /// The language of all files, and of standard input; else their endings tell
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    lang: Option<Lang>,
    #[command(flatten)]
    rules: RuleArguments,
    #[command(flatten)]
    fixes: FixArguments,
    #[command(flatten)]
    config: ConfigArguments,
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

impl Arguments {
    /// The levels that the flags ask for, or how flags contradict each other.
    fn levels(&self) -> Result<Levels, String> {
        if self.fixes.diff && self.format != Format::Human {
            return Err("--diff prints a diff: leave out --format".to_string());
        }
        if self.fixes.fix && self.baseline.writes() {
            return Err("--fix and --write-baseline exclude each other: fix first, then record".to_string());
        }
        if self.fixes.fix && !self.fixes.diff && self.paths.iter().any(|path| path.as_os_str() == "-") {
            let message = "--fix cannot write to standard input: add --diff to see what it would change";
            return Err(message.to_string());
        }
        if self.requirements && !self.format.shows_requirements() {
            return Err("--requirements is shown in the formats human, concise and json".to_string());
        }
        self.rules.levels()
    }

    fn job(&self, mode: Mode, color: Color) -> Job {
        Job {
            settings: settings(self.target, self.cuda, self.verbose),
            language: self.lang.map(Into::into),
            format: self.format,
            fixes: self.fixes,
            requirements: self.requirements,
            color: self.format == Format::Human && color.enabled(),
            mode,
        }
    }
}

/// Runs the subcommand.
pub fn run(arguments: Arguments, color: Color) -> io::Result<u8> {
    let flags = arguments.levels().and_then(|levels| Ok((levels, arguments.baseline.mode()?)));
    let (flags, mode) = match flags {
        Ok(flags) => flags,
        Err(message) => {
            complain(&format!("mbar: {message}"));
            return Ok(exit::USAGE);
        }
    };
    let mut configs = Configs::new(&arguments.config);
    if configs.all_broken() {
        return Ok(exit::USAGE);
    }
    if arguments.rules.list_rules {
        let Some(file) = configs.here() else { return Ok(exit::USAGE) };
        levels::list(&file.levels.under(&flags))?;
        return Ok(exit::CLEAN);
    }
    let inputs = configs.keep(input::expand(&arguments.paths), &arguments.paths);
    let files: Vec<Option<FileSettings>> = inputs.iter().map(|input| configs.under(input, &flags)).collect();
    let job = arguments.job(mode, color);
    let outcomes = check_all(&inputs, &files, &job);
    tell(&arguments, job, &inputs, &outcomes, configs.broken())
}

fn check_all(
    inputs: &[Result<Input, InputError>],
    files: &[Option<FileSettings>],
    job: &Job,
) -> Vec<Outcome> {
    let progress = Progress::shared();
    let done = AtomicUsize::new(0);
    let one = |(input, file): (&Result<Input, InputError>, &Option<FileSettings>)| {
        let outcome = match (input, file) {
            (Ok(input), Some(file)) => job.one(input, file),
            _ => Outcome::default(),
        };
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress.show(format_args!("{count} of {} files", inputs.len()));
        outcome
    };
    // One file needs no thread pool: its start would cost more than the check.
    match inputs.len() {
        1 => inputs.iter().zip(files).map(one).collect(),
        _ => inputs.par_iter().zip(files).map(one).collect(),
    }
}

/// Prints what was found, file after file, and the summary; the exit code.
fn tell(
    arguments: &Arguments,
    mut job: Job,
    inputs: &[Result<Input, InputError>],
    outcomes: &[Outcome],
    mut unusable: bool,
) -> io::Result<u8> {
    let mut printer = Printer::new(job.format);
    let mut summary = Summary::default();
    let mut tally = fix::Tally::new(job.fixes);
    let mut unchecked = 0;
    for (input, outcome) in inputs.iter().zip(outcomes) {
        if let Some(error) = input.as_ref().err().or(outcome.error.as_ref()) {
            unusable = true;
            complain(&format!("mbar: {error}"));
            printer.fail(&error.to_string());
        }
        if let (Some(mended), Ok(input)) = (&outcome.mended, input) {
            unusable |= !tally.take(mended, input)?;
        }
        let (Ok(input), Some(report)) = (input, &outcome.report) else { continue };
        summary.add(&report.diagnostics);
        unchecked += report.unchecked;
        match &mut job.mode {
            Mode::Write(recorder) => recorder.record(input, &report.source, &report.diagnostics),
            Mode::Off | Mode::Read(_) if job.fixes.diff => {}
            Mode::Off | Mode::Read(_) => {
                printer.add(input, &report.source, &report.diagnostics, &outcome.text)?;
            }
        }
    }
    if job.fixes.diff {
        complain(&format!("would fix {}", tally.describe()));
        return Ok(exit_code(unusable, !tally.is_empty()));
    }
    if job.requirements {
        printer.require(outcomes.iter().filter_map(|outcome| outcome.report.as_ref()));
    }
    let compared = match &job.mode {
        Mode::Write(recorder) => return Ok(recorder.finish(unusable)),
        Mode::Read(known) => Some(known.total(outcomes.iter().filter_map(|o| o.compared.as_ref()))),
        Mode::Off => None,
    };
    printer.finish(compared)?;
    if !job.format.holds_summary() {
        let unchecked = if arguments.verbose { 0 } else { unchecked };
        let fixed = if job.fixes.fix { format!("; fixed {}", tally.describe()) } else { String::new() };
        complain(&format!("{}{}{fixed}", summary_line(summary, compared), unchecked_text(unchecked)));
        compared.and_then(gone_line).iter().for_each(|line| complain(line));
    }
    let denied = arguments.rules.deny_warnings() && summary.warnings > 0;
    Ok(exit_code(unusable, summary.errors > 0 || denied))
}

fn exit_code(unusable: bool, found: bool) -> u8 {
    match (unusable, found) {
        (true, _) => exit::USAGE,
        (false, true) => exit::FINDINGS,
        (false, false) => exit::CLEAN,
    }
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
