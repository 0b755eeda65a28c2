//! `mbar check`

use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;

use super::input::{self, InputError};
use super::{Color, Format, TargetArguments, exit, parse_toolkit, print, settings};
use crate::check::{self, Settings, count};
use crate::diagnostic::Severity;
use crate::isa::target::Toolkit;
use crate::needs;
use crate::report::human::Renderer;
use crate::report::json::{Document, Summary};

/// The arguments of `mbar check`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// PTX files, directories to search for .ptx files, or `-` for standard input
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
    human: Vec<u8>,
    checked: Option<check::Checked>,
    error: Option<InputError>,
}

/// Runs the subcommand.
pub fn run(arguments: Arguments, color: Color) -> u8 {
    let inputs = input::expand(&arguments.paths);
    let settings = settings(arguments.target, arguments.cuda, arguments.verbose);
    let human = arguments.format == Format::Human;
    let color = human && color.enabled();
    let one = |input: &Result<input::Input, InputError>| match input {
        Ok(input) => check_one(input, &settings, human, color),
        Err(_) => Outcome { human: Vec::new(), checked: None, error: None },
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
    for (input, outcome) in inputs.iter().zip(&outcomes) {
        if let Some(error) = input.as_ref().err().or(outcome.error.as_ref()) {
            unreadable = true;
            eprintln!("mbar: {error}");
        }
        let Some(checked) = &outcome.checked else { continue };
        summary.add(&checked.diagnostics);
        if human {
            print(&String::from_utf8_lossy(&outcome.human));
        } else {
            document.add(&checked.program.module.source, &checked.diagnostics);
        }
    }
    if human {
        eprintln!("{}", summary_line(summary));
    } else {
        print(&format!("{}\n", document.to_text()));
    }
    let denied = arguments.deny.is_some() && summary.warnings > 0;
    match (unreadable, summary.errors > 0 || denied) {
        (true, _) => exit::USAGE,
        (false, true) => exit::FINDINGS,
        (false, false) => exit::CLEAN,
    }
}

fn check_one(input: &input::Input, settings: &Settings, human: bool, color: bool) -> Outcome {
    let source = match input::read(input) {
        Ok(source) => source,
        Err(error) => return Outcome { human: Vec::new(), checked: None, error: Some(error) },
    };
    let checked = check::check(source.clone(), settings);
    let mut text = Vec::new();
    if human {
        let mut renderer = Renderer::new(&source, color);
        for diagnostic in &checked.diagnostics {
            // Writing to memory cannot fail.
            let _ = renderer.write(diagnostic, &mut text);
        }
        if settings.verbose {
            let needs = needs::of_all(&checked.program);
            let line = format!("{}: {}\n", source.name(), check::describe_requirements(needs));
            text.extend_from_slice(line.as_bytes());
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
