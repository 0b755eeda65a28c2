//! `mbar verify`

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::launch::{
    LaunchArguments, Prepared, ReconvergeArgument, Shown, fingerprint, prepare, refuse_launch, save,
};
use super::progress::Progress;
use super::{Color, Format, TargetArguments, complain, exit, gone, print};
use crate::diagnostic::{Diagnostic, Severity};
use crate::machine::choice::Recording;
use crate::machine::finding::Finding;
use crate::machine::rule::Kind;
use crate::machine::{DEFAULT_MAX_STEPS, Options};
use crate::report::human;
use crate::report::run::counted;
use crate::report::verify::{Document, ledger, summary};
use crate::verify::explore::Bounds;
use crate::verify::{self, Settings, Verdict, Verification};

/// The arguments of `mbar verify`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A PTX file, or `-` for standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    launch: LaunchArguments,
    /// Where lanes that parted come together again
    #[arg(long, value_name = "WHERE", value_enum, default_value = "postdominator")]
    reconverge: ReconvergeArgument,
    /// Count as errors what shipped code often does against the manual
    #[arg(long)]
    strict: bool,
    /// Explore all schedules, even where one run speaks for them
    #[arg(long)]
    explore: bool,
    /// The search ends after so many states
    #[arg(long, value_name = "N", default_value_t = verify::DEFAULT_STATES)]
    max_states: u64,
    /// The search ends after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = verify::DEFAULT_SECONDS)]
    max_time: u64,
    /// Threads of the search [default: one for each core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// A run ends after so many instructions of warps
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_STEPS)]
    max_steps: u64,
    /// Write the schedule that goes wrong to a file, for `mbar run --replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print for each barrier and phase who arrived, which bytes came, and who waited
    #[arg(long)]
    ledger: bool,
    /// Count warnings as errors for the exit code
    #[arg(long, value_name = "WHAT", value_parser = ["warnings"])]
    deny: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Arguments {
    fn settings(&self) -> Settings {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Settings {
            options: Options {
                reconverge: self.reconverge.strategy(),
                max_steps: self.max_steps,
                ..Options::default()
            },
            strict: self.strict,
            explore: self.explore,
            jobs: self.jobs.map_or(cores, NonZeroUsize::get),
            bounds: Bounds {
                states: self.max_states,
                steps_of_a_run: self.max_steps,
                time: Some(Duration::from_secs(self.max_time)),
                ..Bounds::default()
            },
        }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments, color: Color) -> io::Result<u8> {
    let human = arguments.format == Format::Human;
    let shown = Shown { human, color: human && color.enabled() };
    let prepared = match prepare(&arguments.path, arguments.target, &arguments.launch, shown)? {
        Ok(prepared) => prepared,
        Err(code) => return Ok(code),
    };
    let Prepared { checked, launch, overrides } = &prepared;
    let program = &checked.program;
    if human {
        launch.notes.iter().for_each(|note| complain(&format!("mbar: note: {note}")));
    }
    let verified = {
        let progress = Progress::shared();
        verify::verify(program, launch, &arguments.settings(), &|at| progress.show(at))
    };
    let mut verification = match verified {
        Ok(verification) => verification,
        Err(error) => return refuse_launch(program, launch, overrides, &error, shown),
    };
    verification.findings.retain(|finding| {
        let found = &finding.diagnostic;
        found.severity == Severity::Error || !checked.allowed.covers(&program.module.source, found)
    });
    let recording = verification.replay.take().map(|answers| {
        let program = fingerprint(program, launch, overrides);
        let reconverge = arguments.reconverge.strategy().as_str().to_string();
        Recording { program, reconverge, answers }.to_text()
    });
    let written = match (&arguments.record, &recording) {
        (Some(path), Some(text)) => save(path, text.as_bytes()),
        _ => true,
    };
    if human {
        print(&text(arguments, &verification, shown.color))?;
        hint(arguments, &verification);
    } else {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = Document::new(&verification, recording.as_deref()).write(&mut out);
        written.and_then(|()| out.flush()).or_else(gone)?;
    }
    if !written {
        return Ok(exit::USAGE);
    }
    Ok(exit_code(arguments, &verification))
}

fn text(arguments: &Arguments, verification: &Verification, color: bool) -> String {
    let found: Vec<Diagnostic> = verification.findings.iter().map(counted).collect();
    let found: Vec<&Diagnostic> = found.iter().collect();
    let source = &verification.base.machine.program.module.source;
    let mut text = human::findings(source, &found, color);
    if arguments.ledger {
        text.push_str(&ledger(verification));
    }
    text.push_str(&summary(verification));
    text
}

/// How to see the schedule that goes wrong.
fn hint(arguments: &Arguments, verification: &Verification) {
    if verification.verdict != Verdict::Violated {
        return;
    }
    let races =
        |finding: &Finding| finding.rule.kind == Kind::Race && finding.diagnostic.severity == Severity::Error;
    let flag = if verification.findings.iter().any(races) { " --races" } else { "" };
    let file = arguments.path.display();
    match &arguments.record {
        Some(path) => complain(&format!(
            "the schedule is in {}: `mbar run {file} --replay {}{flag}` repeats it",
            path.display(),
            path.display()
        )),
        None => complain(&format!(
            "`mbar verify {file} --record FILE` keeps the schedule for `mbar run {file} --replay FILE{flag}`"
        )),
    }
}

fn exit_code(arguments: &Arguments, verification: &Verification) -> u8 {
    let warned = verification.findings.iter().any(|f| f.diagnostic.severity == Severity::Warning);
    match verification.verdict {
        Verdict::Violated => exit::FINDINGS,
        _ if arguments.deny.is_some() && warned => exit::FINDINGS,
        Verdict::Inconclusive => exit::INCONCLUSIVE,
        Verdict::Holds => exit::CLEAN,
    }
}
