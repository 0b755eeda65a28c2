//! The command line: one file a subcommand. Nothing imports it but `main`.

mod asm;
mod baseline;
mod check;
mod config;
mod explain;
mod findings;
mod fix;
mod forms;
mod input;
mod job;
mod language;
mod launch;
mod levels;
mod place;
mod progress;
mod run;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use crate::check::Settings;
use crate::config::words;
use crate::isa::target::Toolkit;
use crate::isa::{TargetId, Version};
use crate::program::Options;

/// Exit codes, a documented contract (highest first: 2, 1, 3, 0).
pub mod exit {
    /// Nothing to complain about.
    pub const CLEAN: u8 = 0;
    /// Findings of severity error.
    pub const FINDINGS: u8 = 1;
    /// The answer is not known: a limit was reached, or something is not supported.
    pub const INCONCLUSIVE: u8 = 3;
    /// Wrong usage, a file that could not be read, or output that could not be written.
    pub const USAGE: u8 = 2;
}

/// Checks, assembles and explains the asynchronous part of NVIDIA PTX, without a GPU.
#[derive(Parser, Debug)]
#[command(name = "mbar", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    /// When to use colour.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Tell what is wrong with PTX files, and why
    #[command(after_long_help = EXIT_CODES)]
    Check(check::Arguments),
    /// Print a program fully spelled out: defaults, canonical order, alignments; with its layout
    #[command(after_long_help = ASM_NOTES)]
    Asm(asm::Arguments),
    /// Execute a kernel without a GPU; tell what it computed, or where it faulted or hung
    #[command(after_long_help = RUN_NOTES)]
    Run(Box<run::Arguments>),
    /// Tell whether a kernel is right under every schedule: races, phases, deadlock
    #[command(after_long_help = VERIFY_NOTES)]
    Verify(Box<verify::Arguments>),
    /// Show the instruction reference: forms, operands, what they need
    Forms(forms::Arguments),
    /// Show a rule's page
    Explain(explain::Arguments),
}

const EXIT_CODES: &str = "The nearest mbar.toml in the folder of a file or above it says how seriously rules \
are taken, what is left out, and more (see the README). Flags win over it, `// mbar: allow(RULE)` comments over flags.\n\n\
Exit codes: 0 nothing of severity error; 1 errors (with --deny warnings also warnings; with --fix --diff \
changes); 2 wrong usage, a configuration with a mistake, a file that could not be read or fixed (the others \
are checked all the same), a baseline that is none, or output that could not be written.";

const ASM_NOTES: &str = "ptxas takes the output exactly when it takes the input, and assembling the output \
again changes nothing. A file with errors gives no output (but see --force): they go to standard error. \
Line numbers of the listing are those of the input.\n\n\
Exit codes: 0 assembled; 1 the file has errors; 2 wrong usage, or a file that could not be read or written.";

const RUN_NOTES: &str = "The launch stands in the file, in comments; flags override it:\n\n  \
// mbar: launch kernel=NAME grid=2 block=64 cluster=2 smem=1024\n  \
// mbar: arg p_in = u32[64] iota*3+1\n  \
// mbar: arg p_n = u32 63\n  \
// mbar: tensormap p_map = f16[64,128] strides=[128] box=[64,16] swizzle=128B data=p_in\n  \
// mbar: expect p_out = u32[64] iota*2\n\n\
Findings and buffers go to standard output, the summary to standard error.\n\n\
Exit codes: 0 completed; 1 undefined behaviour, deadlock, trap, memory that is not as expected (with \
--deny warnings also warnings), or a file that the assembler would refuse; 2 wrong usage, a launch that cannot be made out, or a file that could not be \
read or written; 3 unsupported, or a limit was reached.";

const VERIFY_NOTES: &str = "The launch stands in the file as for `mbar run`; the verdict is about that launch \
and its input.\n\n\
holds: right under every schedule, because one run speaks for all, or because all were explored. \
violated: some schedule goes wrong; --record keeps it for `mbar run --replay`. \
inconclusive: the bounds of the search were reached, or something decides that no schedule does.\n\n\
Exit codes: 0 holds; 1 violated (with --deny warnings also warnings), or a file that the assembler would refuse; \
2 wrong usage, a launch that cannot be made out, or a file that could not be read or written; 3 inconclusive.";

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// For people: the source with the places marked
    Human,
    /// For programs: one JSON document
    Json,
}

/// What replaces the file's own words about itself.
#[derive(Args, Debug, Clone, Copy, Default)]
struct TargetArguments {
    /// Check for this target in place of the file's own, e.g. sm_90a
    #[arg(long, value_name = "SM", value_parser = words::target)]
    target: Option<TargetId>,
    /// Check for this PTX version in place of the file's own, e.g. 8.0
    #[arg(long, value_name = "VERSION", value_parser = words::version)]
    ptx: Option<Version>,
}

impl TargetArguments {
    fn options(self) -> Options {
        Options { target: self.target, version: self.ptx }
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { exit::CLEAN };
            return finish(error.print().or_else(gone).map(|()| code));
        }
    };
    let color = Color(cli.color);
    let result = match cli.command {
        Command::Check(arguments) => check::run(arguments, color),
        Command::Asm(arguments) => asm::run(&arguments, color),
        Command::Run(arguments) => run::run(&arguments, color),
        Command::Verify(arguments) => verify::run(&arguments, color),
        Command::Forms(arguments) => forms::run(&arguments, color),
        Command::Explain(arguments) => explain::run(&arguments),
    };
    finish(result)
}

/// The exit code. Output that could not be written is no success.
fn finish(result: io::Result<u8>) -> ExitCode {
    ExitCode::from(result.unwrap_or_else(|error| {
        complain(&format!("mbar: standard output: {error}"));
        exit::USAGE
    }))
}

/// Whether to use colour on standard output.
#[derive(Clone, Copy)]
struct Color(ColorChoice);

impl Color {
    fn enabled(self) -> bool {
        let choice = match self.0 {
            ColorChoice::Always => return true,
            ColorChoice::Never => return false,
            ColorChoice::Auto => anstream::AutoStream::choice(&std::io::stdout()),
        };
        choice != anstream::ColorChoice::Never
    }

    /// The same for standard error.
    fn on_stderr(self) -> bool {
        match self.0 {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
            }
        }
    }
}

/// Writes to standard output; a reader that went away ends the output in silence.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).or_else(gone)
}

/// A reader that went away is no error.
fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

/// Writes a line to standard error. Where that fails nobody can be told.
fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

fn settings(target: TargetArguments, toolkit: Option<Toolkit>, verbose: bool) -> Settings {
    let other_rule = |name: &str| {
        let found = crate::machine::rule::find(name).or_else(|| crate::verify::rule::find(name));
        found.map(|found| &found.rule)
    };
    Settings {
        options: target.options(),
        toolkit,
        verbose,
        other_rule: Some(other_rule),
        ..Settings::default()
    }
}
