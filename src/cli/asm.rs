//! `mbar asm`

use std::io;
use std::path::PathBuf;

use clap::Args;

use super::{self as cli, Color, Format, TargetArguments, exit, input, print, settings};
use crate::asm::{self, document, listing};
use crate::check::{self, Checked};
use crate::diagnostic::{Diagnostic, Ptxas, Severity};
use crate::program::Program;
use crate::report::human;
use crate::syntax;

/// The arguments of `mbar asm`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A PTX file, or `-` for standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Write the program there; standard output then has only the listing, if one is asked for
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also show memory layout, barriers, and each instruction's form and needs
    #[arg(long)]
    listing: bool,
    /// Assemble a file with errors, too, if its text can be read: what does not fit stays as it is
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    target: TargetArguments,
    /// PTX text for people, or one JSON document (schema mbar.asm/1) that holds everything
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments, color: Color) -> io::Result<u8> {
    let path = &arguments.path;
    let stdin = path.as_os_str() == "-";
    let source = if stdin { input::Input::Stdin } else { input::Input::File(path.clone()) };
    let source = match input::read(&source) {
        Ok(source) => source,
        Err(error) => {
            cli::complain(&format!("mbar: {error}"));
            return Ok(exit::USAGE);
        }
    };
    let settings = settings(arguments.target, None, false);
    let checked = check::check(source, &settings);
    let wrong = checked.count(Severity::Error) > 0;
    if wrong {
        // What could not be read could be lost, so nothing forces that.
        let unreadable = checked.diagnostics.iter().any(|d| syntax::RULES.contains(&d.rule));
        // What ptxas takes is assembled, however wrong it is: its output is taken exactly when it is.
        let refused = checked.diagnostics.iter().any(refused_by_ptxas);
        let go_on = !unreadable && (arguments.force || !refused);
        complain(&checked, color, go_on, !unreadable);
        if !go_on {
            return Ok(exit::FINDINGS);
        }
    }
    let text = asm::assemble(&checked.program, settings.options);
    let result = output(arguments, &checked.program, text)?;
    Ok(if wrong { result.max(exit::FINDINGS) } else { result })
}

fn refused_by_ptxas(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error && diagnostic.ptxas != Ptxas::Accepts
}

/// Shows the errors of a file.
fn complain(checked: &Checked, color: Color, go_on: bool, could: bool) {
    let source = &checked.program.module.source;
    let diagnostics: Vec<&Diagnostic> =
        checked.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    let text = human::findings(source, &diagnostics, color.on_stderr());
    let errors = match checked.count(Severity::Error) {
        1 => "1 error".to_string(),
        n => format!("{n} errors"),
    };
    let outcome = match (go_on, could) {
        (true, _) => "assembled all the same",
        (false, true) => "nothing assembled (--force does it all the same)",
        (false, false) => "nothing assembled",
    };
    cli::complain(&format!("{text}mbar: {}: {errors}, {outcome}", source.name()));
}

fn output(arguments: &Arguments, program: &Program, text: String) -> io::Result<u8> {
    let json = arguments.format == Format::Json;
    let document = (json || arguments.listing).then(|| document::document(program, text.clone()));
    let main = match &document {
        Some(document) if json => format!("{}\n", document.to_text()),
        _ => text,
    };
    if let Some(path) = &arguments.output {
        if let Err(error) = std::fs::write(path, &main) {
            cli::complain(&format!("mbar: {}: {error}", path.display()));
            return Ok(exit::USAGE);
        }
    } else {
        print(&main)?;
    }
    if let Some(document) = document.filter(|_| arguments.listing && !json) {
        let gap = if arguments.output.is_none() { "\n" } else { "" };
        print(&format!("{gap}{}", listing::listing(&document)))?;
    }
    Ok(exit::CLEAN)
}
