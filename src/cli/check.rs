//! `mbar check`

use std::io;
use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;

use super::config::{ConfigArguments, Configs};
use super::fix::{self, FixArguments, FixError, Mended};
use super::input::{self, Input, InputError};
use super::levels::{self, RuleArguments};
use super::{Color, Format, TargetArguments, complain, exit, print, settings};
use crate::check::{self, Settings, count};
use crate::config::{FileSettings, words};
use crate::diagnostic::{Diagnostic, Severity};
use crate::isa::target::Toolkit;
use crate::levels::Levels;
use crate::needs;
use crate::report::human;
use crate::report::json::{Document, Summary};

/// The arguments of `mbar check`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// PTX files, directories to search for .ptx files, or `-` for standard input
    #[arg(required_unless_present = "list_rules", value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    target: TargetArguments,
    /// Also check against the ptxas of this CUDA release, e.g. 12.4
    #[arg(long, value_name = "RELEASE", value_parser = words::toolkit)]
    cuda: Option<Toolkit>,
    #[command(flatten)]
    rules: RuleArguments,
    #[command(flatten)]
    fixes: FixArguments,
    #[command(flatten)]
    config: ConfigArguments,
    /// How to print findings
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Also say what is not checked, and what each file needs
    #[arg(long, short)]
    verbose: bool,
}

/// What one file gave: its part of the output, counted.
#[derive(Default)]
struct Outcome {
    human: String,
    checked: Option<check::Checked>,
    mended: Option<Result<Mended, FixError>>,
    error: Option<InputError>,
}

/// What is done with each file.
struct Task {
    settings: Settings,
    fixes: FixArguments,
    human: bool,
    color: bool,
}

/// Runs the subcommand.
pub fn run(arguments: Arguments, color: Color) -> io::Result<u8> {
    let flags = match arguments.levels() {
        Ok(levels) => levels,
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
    let settings = settings(arguments.target, arguments.cuda, arguments.verbose);
    let human = arguments.format == Format::Human;
    let color = human && color.enabled();
    let task = Task { settings, fixes: arguments.fixes, human, color };
    let with_settings: Vec<_> = inputs.iter().map(|input| (input, configs.under(input, &flags))).collect();
    let one = |(input, file): &(&Result<Input, InputError>, Option<FileSettings>)| match (input, file) {
        (Ok(input), Some(file)) => check_one(input, file, &task),
        _ => Outcome::default(),
    };
    // One file needs no thread pool: its start would cost more than the check.
    let outcomes: Vec<Outcome> = if inputs.len() == 1 {
        with_settings.iter().map(one).collect()
    } else {
        with_settings.par_iter().map(one).collect()
    };

    let mut document = Document::new();
    let mut summary = Summary::default();
    let mut tally = fix::Tally::new(arguments.fixes);
    let mut unusable = configs.broken();
    let mut unchecked = 0;
    for (input, outcome) in inputs.iter().zip(&outcomes) {
        if let Some(error) = input.as_ref().err().or(outcome.error.as_ref()) {
            unusable = true;
            complain(&format!("mbar: {error}"));
        }
        if let (Some(mended), Ok(input)) = (&outcome.mended, input) {
            unusable |= !tally.take(mended, input)?;
        }
        let Some(checked) = &outcome.checked else { continue };
        summary.add(&checked.diagnostics);
        unchecked += checked.unchecked();
        if arguments.fixes.diff {
            continue;
        }
        if human {
            print(&outcome.human)?;
        } else {
            document.add(&checked.program.module.source, &checked.diagnostics);
        }
    }
    if arguments.fixes.diff {
        complain(&format!("would fix {}", tally.describe()));
        return Ok(exit_code(unusable, !tally.is_empty()));
    }
    if human {
        let unchecked = if arguments.verbose { 0 } else { unchecked };
        let fixed = if arguments.fixes.fix { format!("; fixed {}", tally.describe()) } else { String::new() };
        complain(&format!("{}{}{fixed}", summary_line(summary), unchecked_text(unchecked)));
    } else {
        print(&format!("{}\n", document.to_text()))?;
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

impl Arguments {
    /// The levels that the flags ask for, or how flags contradict each other.
    fn levels(&self) -> Result<Levels, String> {
        if self.fixes.diff && self.format != Format::Human {
            return Err("--diff prints a diff: leave out --format".to_string());
        }
        if self.fixes.fix && !self.fixes.diff && self.paths.iter().any(|path| path.as_os_str() == "-") {
            let message = "--fix cannot write to standard input: add --diff to see what it would change";
            return Err(message.to_string());
        }
        self.rules.levels()
    }
}

fn check_one(input: &Input, file: &FileSettings, task: &Task) -> Outcome {
    let mut source = match input::read(input) {
        Ok(source) => source,
        Err(error) => return Outcome { error: Some(error), ..Outcome::default() },
    };
    let toolkit = task.settings.toolkit.or(file.toolkit);
    let settings = Settings { toolkit, ..task.settings }.asking(&file.levels);
    let mut outcome = Outcome::default();
    if task.fixes.fix {
        let check = |source| check::check(source, &settings).diagnostics;
        let is_wanted = |finding: &Diagnostic| file.levels.of(finding.rule, Some(finding.severity)).is_some();
        outcome.mended = fix::mend(input, &source, &check, &is_wanted);
        if let Some(Ok(mended)) = &outcome.mended {
            source = mended.source().clone();
        }
    }
    let mut checked = check::check(source.clone(), &settings);
    file.levels.apply(&mut checked.diagnostics);
    if task.human {
        let diagnostics: Vec<&Diagnostic> = checked.diagnostics.iter().collect();
        outcome.human = human::findings(&source, &diagnostics, task.color);
        if task.settings.verbose {
            let needs = needs::of_all(&checked.program);
            let line = format!("{}: {}\n", source.name(), check::describe_requirements(needs));
            outcome.human.push_str(&line);
        }
    }
    outcome.checked = Some(checked);
    outcome
}

/// "2 files checked: 1 error, no warnings"
fn summary_line(summary: Summary) -> String {
    let files = count(summary.files, "file");
    let mut text = format!(
        "{files} checked: {}, {}",
        count(summary.errors, Severity::Error.as_str()),
        count(summary.warnings, Severity::Warning.as_str())
    );
    if summary.notes > 0 {
        text.push_str(&format!(", {}", count(summary.notes, Severity::Note.as_str())));
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
