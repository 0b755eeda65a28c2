//! `mbar check`

use std::io;
use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;

use super::input::{self, InputError};
use super::{Color, Format, TargetArguments, complain, exit, parse_toolkit, print, settings};
use crate::check::{self, Settings, count};
use crate::diagnostic::{Diagnostic, Severity};
use crate::isa::Needs;
use crate::isa::target::Toolkit;
use crate::report::human;
use crate::report::json::{Document, Summary};

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
    /// Also say what is not checked, and what each file needs
    #[arg(long, short)]
    verbose: bool,
}

/// What one file gave: its part of the output, counted.
struct Outcome {
    human: String,
    checked: Option<check::Report>,
    error: Option<InputError>,
}

/// Runs the subcommand.
pub fn run(arguments: Arguments, color: Color) -> io::Result<u8> {
    let inputs = input::expand(&arguments.paths);
    let settings = settings(arguments.target, arguments.cuda, arguments.verbose);
    let human = arguments.format == Format::Human;
    let color = human && color.enabled();
    let one = |input: &Result<input::Input, InputError>| match input {
        Ok(input) => check_one(input, &settings, human, color),
        Err(_) => Outcome { human: String::new(), checked: None, error: None },
    };
    // One file needs no thread pool: its start would cost more than the check.
    let outcomes: Vec<Outcome> = if inputs.len() == 1 {
        inputs.iter().map(one).collect()
    } else {
        inputs.par_iter().map(one).collect()
    };

    let mut document = Document::new();
    let mut summary = Summary::default();
    let mut unreadable = false;
    let mut unchecked = 0;
    for (input, outcome) in inputs.iter().zip(&outcomes) {
        if let Some(error) = input.as_ref().err().or(outcome.error.as_ref()) {
            unreadable = true;
            complain(&format!("mbar: {error}"));
        }
        let Some(checked) = &outcome.checked else { continue };
        summary.add(&checked.diagnostics);
        unchecked += checked.unchecked;
        if human {
            print(&outcome.human)?;
        } else {
            document.add(&checked.source, &checked.diagnostics);
        }
    }
    if human {
        let unchecked = if arguments.verbose { 0 } else { unchecked };
        complain(&format!("{}{}", summary_line(summary), unchecked_text(unchecked)));
    } else {
        print(&format!("{}\n", document.to_text()))?;
    }
    let denied = arguments.deny.is_some() && summary.warnings > 0;
    Ok(match (unreadable, summary.errors > 0 || denied) {
        (true, _) => exit::USAGE,
        (false, true) => exit::FINDINGS,
        (false, false) => exit::CLEAN,
    })
}

fn check_one(input: &input::Input, settings: &Settings, human: bool, color: bool) -> Outcome {
    let source = match input::read(input) {
        Ok(source) => source,
        Err(error) => return Outcome { human: String::new(), checked: None, error: Some(error) },
    };
    let checked = check::file(source.clone(), input.language(), settings);
    let mut text = String::new();
    if human {
        let diagnostics: Vec<&Diagnostic> = checked.diagnostics.iter().collect();
        text = human::findings(&source, &diagnostics, color);
        if settings.verbose && !checked.requirements.is_empty() {
            let needs = checked.requirements.iter().fold(Needs::NONE, |all, one| all.with(one.needs));
            let line = format!("{}: {}\n", source.name(), check::describe_requirements(needs));
            text.push_str(&line);
        }
    }
    Outcome { human: text, checked: Some(checked), error: None }
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
