//! `mbar run`

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::launch::{
    LaunchArguments, Prepared, ReconvergeArgument, Shown, fingerprint, prepare, read_recording,
    refuse_launch, save,
};
use super::progress::Progress;
use super::{Color, Format, TargetArguments, complain, exit, gone, print};
use crate::diagnostic::{Diagnostic, Severity};
use crate::launch::{ArgumentKind, Launch, render};
use crate::machine::choice::{Choose, Landing, Recorder, Recording, Replay, Schedule, Strategy};
use crate::machine::finding::{Finding, Outcome};
use crate::machine::rule::Kind;
use crate::machine::{DEFAULT_MAX_STEPS, Machine, Options, Reconverge, Undefined};
use crate::report::human;
use crate::report::run::{Document, barrier_table, counted, summary};
use crate::verify::explain::Explain;
use crate::verify::watch::Watch;

/// The arguments of `mbar run`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A PTX file, or `-` for standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    launch: LaunchArguments,
    /// What to do where the manual defines nothing
    #[arg(long = "ub", value_name = "WHAT", value_enum, default_value = "stop")]
    undefined: UndefinedArgument,
    /// Where lanes that parted come together again
    #[arg(long, value_name = "WHERE", value_enum, default_value = "postdominator")]
    reconverge: ReconvergeArgument,
    /// In which order warps run
    #[arg(long, value_name = "ORDER", value_enum, default_value = "round-robin")]
    schedule: ScheduleArgument,
    /// When asynchronous copies land
    #[arg(long = "async", value_name = "WHEN", value_enum, default_value = "lazy")]
    landing: LandingArgument,
    /// The seed of random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write the choices of the run to a file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Make the choices that a recording holds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "schedule", "seed", "landing", "reconverge"])]
    replay: Option<PathBuf>,
    /// Look for races, too: accesses that nothing orders
    #[arg(long)]
    races: bool,
    /// Stop after so many instructions of warps
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_STEPS)]
    max_steps: u64,
    /// Print the buffer of an argument after the run (repeatable)
    #[arg(long, value_name = "ARG")]
    dump: Vec<String>,
    /// Write the buffer of an argument to a file after the run (repeatable)
    #[arg(long, value_name = "ARG=FILE")]
    out: Vec<String>,
    /// Count warnings as errors for the exit code
    #[arg(long, value_name = "WHAT", value_parser = ["warnings"])]
    deny: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UndefinedArgument {
    /// Stop there
    Stop,
    /// Report it, and go on as an H200 does
    Warn,
    /// Go on in silence
    Ignore,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScheduleArgument {
    /// In turn
    RoundRobin,
    /// At random
    Random,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LandingArgument {
    /// At once
    Eager,
    /// As late as possible
    Lazy,
    /// At random, in any order
    Random,
}

impl Arguments {
    fn options(&self) -> Options {
        Options {
            undefined: match self.undefined {
                UndefinedArgument::Stop => Undefined::Stop,
                UndefinedArgument::Warn => Undefined::Warn,
                UndefinedArgument::Ignore => Undefined::Ignore,
            },
            reconverge: self.reconverge.strategy(),
            max_steps: self.max_steps,
            events: false,
        }
    }

    fn strategy(&self) -> Strategy {
        let schedule = match self.schedule {
            ScheduleArgument::RoundRobin => Schedule::RoundRobin,
            ScheduleArgument::Random => Schedule::Random,
        };
        let landing = match self.landing {
            LandingArgument::Eager => Landing::Eager,
            LandingArgument::Lazy => Landing::Lazy,
            LandingArgument::Random => Landing::Random,
        };
        Strategy::new(schedule, landing, self.seed)
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments, color: Color) -> io::Result<u8> {
    let human = arguments.format == Format::Human;
    let shown = Shown { human, color: human && color.enabled() };
    match prepare(&arguments.path, arguments.target, &arguments.launch, shown)? {
        Ok(prepared) => execute(arguments, &prepared, shown),
        Err(code) => Ok(code),
    }
}

fn execute(arguments: &Arguments, prepared: &Prepared, shown: Shown) -> io::Result<u8> {
    let Prepared { checked, launch, overrides } = prepared;
    let program = &checked.program;
    let mut options = arguments.options();
    let recording = match arguments.replay.as_deref().map(read_recording).transpose() {
        Ok(recording) => recording,
        Err(message) => {
            complain(&format!("mbar: {message}"));
            return Ok(exit::USAGE);
        }
    };
    let Some(outs) = wanted(arguments, launch) else { return Ok(exit::USAGE) };
    let print_of = fingerprint(program, launch, overrides);
    if let Some(recording) = &recording {
        if recording.program != print_of {
            complain("mbar: note: the recording was made with another program or launch; it may not fit");
        }
        let of_recording = ReconvergeArgument::from_str(&recording.reconverge, false);
        options.reconverge = of_recording.map_or(Reconverge::PostDominator, ReconvergeArgument::strategy);
    }
    let mut machine = match Machine::new(program, launch, options) {
        Ok(machine) => machine,
        Err(error) => return refuse_launch(program, launch, overrides, &error, shown),
    };
    if shown.human {
        launch.notes.iter().for_each(|note| complain(&format!("mbar: note: {note}")));
    }
    let (mut outcome, recorded) = drive(arguments, &mut machine, recording, print_of);
    if outcome == Outcome::Completed {
        machine.compare(launch);
        let raced = |finding: &Finding| {
            finding.rule.kind == Kind::Race && finding.diagnostic.severity == Severity::Error
        };
        if options.undefined == Undefined::Stop && machine.findings.iter().any(raced) {
            outcome = Outcome::Violation;
        }
    }
    // An error has ended the run; that cannot be allowed.
    machine.findings.retain(|finding| {
        let found = &finding.diagnostic;
        found.severity == Severity::Error || !checked.allowed.covers(&program.module.source, found)
    });
    let written = write_buffers(&outs, &machine) && recorded;
    report(arguments, &machine, launch, outcome, shown)?;
    if !written {
        return Ok(exit::USAGE);
    }
    Ok(exit_code(arguments, &machine, outcome))
}

/// Runs by a recording or by the flags; writes a recording, and says whether that went well.
fn drive(
    arguments: &Arguments,
    machine: &mut Machine,
    recording: Option<Recording>,
    fingerprint: u64,
) -> (Outcome, bool) {
    let races = arguments.races;
    if let Some(recording) = recording {
        return (watch(machine, &mut Replay::new(recording), races), true);
    }
    let Some(path) = &arguments.record else {
        return (watch(machine, &mut arguments.strategy(), races), true);
    };
    let mut recorder = Recorder::new(arguments.strategy());
    let outcome = watch(machine, &mut recorder, races);
    if recorder.is_full {
        complain("mbar: note: the run took more choices than a recording can hold");
    }
    let reconverge = machine.options.reconverge.as_str().to_string();
    let recording = Recording { program: fingerprint, reconverge, answers: recorder.answers };
    (outcome, save(path, recording.to_text().as_bytes()))
}

/// Runs, looks for races where that is asked for, and tells on standard error how far it is when that takes
/// long.
fn watch(machine: &mut Machine, choose: &mut dyn Choose, races: bool) -> Outcome {
    let mut progress = Progress::new("million warp instructions");
    let mut tell = |machine: &Machine| progress.tell(machine.statistics.steps / 1_000_000);
    if !races {
        return machine.run(choose, &mut tell);
    }
    machine.options.events = true;
    let mut watch = Watch::new();
    let outcome = machine.run_watched(choose, &mut |machine| watch.observe(machine), &mut tell);
    let found = Explain { machine, watch: &watch, strict: false }.races();
    machine.findings.splice(0..0, found);
    outcome
}

/// The index of a buffer argument; complains when there is none of the name.
fn buffer(launch: &Launch, name: &str) -> Option<usize> {
    let is_buffer = |kind: &ArgumentKind| matches!(kind, ArgumentKind::Buffer { .. });
    let found = launch.arguments.iter().position(|a| a.name == name && is_buffer(&a.kind));
    if found.is_none() {
        let names = launch.arguments.iter().filter(|a| is_buffer(&a.kind)).map(|a| a.name.as_str());
        let hint = crate::isa::opcode::nearest(name, names)
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        complain(&format!("mbar: no argument with a buffer is called `{name}`{hint}"));
    }
    found
}

/// The buffers to write: index and file. `None`: a name of `--out` or `--dump` is wrong, which has been said.
fn wanted<'a>(arguments: &'a Arguments, launch: &Launch) -> Option<Vec<(usize, &'a Path)>> {
    let outs = arguments.out.iter().map(|request| match request.split_once('=') {
        Some((name, path)) if !path.is_empty() => Some((buffer(launch, name)?, Path::new(path))),
        _ => {
            complain(&format!("mbar: --out {request}: write ARG=FILE"));
            None
        }
    });
    let outs: Vec<_> = outs.collect();
    let unknown = arguments.dump.iter().filter(|name| buffer(launch, name).is_none()).count();
    outs.into_iter().collect::<Option<Vec<_>>>().filter(|_| unknown == 0)
}

fn write_buffers(outs: &[(usize, &Path)], machine: &Machine) -> bool {
    let saved = outs.iter().map(|(index, path)| save(path, machine.argument(*index).unwrap_or_default()));
    saved.filter(|saved| !saved).count() == 0
}

/// A buffer of so many elements at most is shown without being asked for.
const SHOWN: u64 = 64;

fn report(
    arguments: &Arguments,
    machine: &Machine,
    launch: &Launch,
    outcome: Outcome,
    shown: Shown,
) -> io::Result<()> {
    if !shown.human {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = Document::new(machine, launch, outcome).write(&mut out);
        return written.and_then(|()| out.flush()).or_else(gone);
    }
    let mut text = machine.output.clone();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let found: Vec<Diagnostic> = machine.findings.iter().map(counted).collect();
    let found: Vec<&Diagnostic> = found.iter().collect();
    text.push_str(&human::findings(&machine.program.module.source, &found, shown.color));
    for (index, argument) in launch.arguments.iter().enumerate() {
        let ArgumentKind::Buffer { element, count, bytes } = &argument.kind else { continue };
        let now = machine.argument(index).unwrap_or_default();
        let asked = arguments.dump.contains(&argument.name);
        let expected = launch.expects.iter().any(|expect| expect.argument == index);
        let changed = now != bytes.as_slice() && *count <= SHOWN && !expected && arguments.dump.is_empty();
        if asked || changed {
            let word = element.text().trim_start_matches('.');
            text.push_str(&format!("{} = {word}[{count}]\n{}\n", argument.name, render(*element, now)));
        }
    }
    let table = barrier_table(machine);
    if !table.is_empty() {
        text.push_str(&table);
    }
    print(&text)?;
    complain(&summary(machine, outcome));
    if outcome == Outcome::Completed && !launch.expects.is_empty() {
        let failed = machine.findings.iter().any(Finding::is_expectation);
        let n = launch.expects.len();
        let what = if n == 1 { "1 buffer".to_string() } else { format!("{n} buffers") };
        complain(&if failed {
            format!("of {what} not all are as expected")
        } else {
            format!("{what} as expected")
        });
    }
    Ok(())
}

fn exit_code(arguments: &Arguments, machine: &Machine, outcome: Outcome) -> u8 {
    let failed = machine.findings.iter().any(Finding::is_expectation);
    let warned = machine.findings.iter().any(|finding| finding.diagnostic.severity == Severity::Warning);
    match outcome {
        Outcome::Violation | Outcome::Deadlock | Outcome::Trap => exit::FINDINGS,
        _ if failed || (arguments.deny.is_some() && warned) => exit::FINDINGS,
        Outcome::Limit | Outcome::Unsupported => exit::INCONCLUSIVE,
        Outcome::Completed => exit::CLEAN,
    }
}
