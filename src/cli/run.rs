//! `mbar run`

use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::input::{self, Input};
use super::{Color, Format, TargetArguments, complain, exit, gone, print, settings};
use crate::check::{self, Checked};
use crate::diagnostic::{Diagnostic, Ptxas, Severity};
use crate::launch::{self, ArgumentKind, Flag, Launch, Overrides, Place};
use crate::machine::choice::{Choose, Landing, Recorder, Recording, Replay, Schedule, Strategy};
use crate::machine::finding::{Finding, Outcome};
use crate::machine::{DEFAULT_MAX_STEPS, LaunchError, Machine, Options, Reconverge, Undefined};
use crate::program::Program;
use crate::report::run::{Document, barrier_table, summary};
use crate::report::{human, json};
use crate::source::SourceFile;

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

/// How the kernel is launched, where the file does not say so or should be overruled.
#[derive(Args, Debug)]
struct LaunchArguments {
    /// Which kernel of the file
    #[arg(long, value_name = "NAME", help_heading = "Launch")]
    kernel: Option<String>,
    /// CTAs: x or x,y,z
    #[arg(long, value_name = "X,Y,Z", help_heading = "Launch")]
    grid: Option<String>,
    /// Threads of a CTA: x or x,y,z
    #[arg(long, value_name = "X,Y,Z", help_heading = "Launch")]
    block: Option<String>,
    /// CTAs of a cluster: x or x,y,z
    #[arg(long, value_name = "X,Y,Z", help_heading = "Launch")]
    cluster: Option<String>,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", help_heading = "Launch")]
    smem: Option<String>,
    /// CTAs that are resident at once [default: all]
    #[arg(long, value_name = "N", help_heading = "Launch")]
    resident: Option<String>,
    /// An argument, as in the file: `--arg 'p_in=u32[64] iota*3'` (repeatable)
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Launch")]
    arg: Vec<String>,
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
enum ReconvergeArgument {
    /// At the nearest instruction that all paths lead to
    Postdominator,
    /// Only where an instruction demands it
    Never,
    /// At the nearest instruction that all paths lead to, or not, at random
    Random,
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
            reconverge: match self.reconverge {
                ReconvergeArgument::Postdominator => Reconverge::PostDominator,
                ReconvergeArgument::Never => Reconverge::Never,
                ReconvergeArgument::Random => Reconverge::Random,
            },
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

impl LaunchArguments {
    fn overrides(&self) -> Overrides {
        let mut overrides = Overrides::default();
        let single = [
            (Flag::Kernel, &self.kernel),
            (Flag::Grid, &self.grid),
            (Flag::Block, &self.block),
            (Flag::Cluster, &self.cluster),
            (Flag::Smem, &self.smem),
            (Flag::Resident, &self.resident),
        ];
        for (flag, value) in single {
            value.iter().for_each(|value| overrides.push(flag, value));
        }
        self.arg.iter().for_each(|value| overrides.push(Flag::Arg, value));
        overrides
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments, color: Color) -> io::Result<u8> {
    let input =
        if arguments.path.as_os_str() == "-" { Input::Stdin } else { Input::File(arguments.path.clone()) };
    let source = match input::read(&input) {
        Ok(source) => source,
        Err(error) => {
            complain(&format!("mbar: {error}"));
            return Ok(exit::USAGE);
        }
    };
    let human = arguments.format == Format::Human;
    let color = human && color.enabled();
    let checked = check::check(source, &settings(arguments.target, None, false));
    // What the assembler refuses cannot run; what is merely undefined shows when it happens.
    let refuses = |d: &&Diagnostic| d.severity == Severity::Error && d.ptxas == Ptxas::Rejects;
    let refused: Vec<&Diagnostic> = checked.diagnostics.iter().filter(refuses).collect();
    if !refused.is_empty() {
        return refuse(&checked.program, &refused, human, color);
    }
    let overrides = arguments.launch.overrides();
    let folder = arguments.path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut files = |name: &str| read_file(&folder.join(name));
    let launch = match launch::read(&checked.program, &overrides, &mut files) {
        Ok(launch) => launch,
        Err(refusal) => {
            let flags: Vec<&Diagnostic> = refusal.flags.iter().collect();
            let file: Vec<&Diagnostic> = refusal.file.iter().collect();
            show(&[(&overrides.source(), flags), (&checked.program.module.source, file)], human, color)?;
            complain(&format!("mbar: {}: the launch cannot be made out", arguments.path.display()));
            return Ok(exit::USAGE);
        }
    };
    execute(arguments, &checked, &launch, &overrides, human, color)
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Not by the length that the file claims to have: a device has none.
    std::fs::File::open(path)?.take(launch::MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > launch::MOST_BYTES {
        return Err(io::Error::other("the file is larger than 1 GiB"));
    }
    Ok(bytes)
}

/// Shows findings about texts.
fn show(texts: &[(&SourceFile, Vec<&Diagnostic>)], human: bool, color: bool) -> io::Result<()> {
    let texts = texts.iter().filter(|(_, found)| !found.is_empty());
    if human {
        return print(
            &texts.map(|(source, found)| human::findings(source, found, color)).collect::<String>(),
        );
    }
    let mut document = json::Document::new();
    for (source, found) in texts {
        let owned: Vec<Diagnostic> = found.iter().map(|&d| d.clone()).collect();
        document.add(source, &owned);
    }
    print(&format!("{}\n", document.to_text()))
}

fn refuse(program: &Program, refused: &[&Diagnostic], human: bool, color: bool) -> io::Result<u8> {
    show(&[(&program.module.source, refused.to_vec())], human, color)?;
    complain("mbar: the assembler would refuse this file, so it cannot run");
    Ok(exit::FINDINGS)
}

fn execute(
    arguments: &Arguments,
    checked: &Checked,
    launch: &Launch,
    overrides: &Overrides,
    human: bool,
    color: bool,
) -> io::Result<u8> {
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
        match ReconvergeArgument::from_str(&recording.reconverge, false) {
            Ok(ReconvergeArgument::Never) => options.reconverge = Reconverge::Never,
            Ok(ReconvergeArgument::Random) => options.reconverge = Reconverge::Random,
            _ => options.reconverge = Reconverge::PostDominator,
        }
    }
    let mut machine = match Machine::new(program, launch, options) {
        Ok(machine) => machine,
        Err(error) => return refuse_launch(program, launch, overrides, &error, human, color),
    };
    if human {
        launch.notes.iter().for_each(|note| complain(&format!("mbar: note: {note}")));
    }
    let (outcome, recorded) = drive(arguments, &mut machine, recording, print_of);
    if outcome == Outcome::Completed {
        machine.compare(launch);
    }
    // An error has ended the run; that cannot be allowed.
    machine.findings.retain(|finding| {
        let found = &finding.diagnostic;
        found.severity == Severity::Error || !checked.allowed.covers(program, found)
    });
    let written = write_buffers(&outs, &machine) && recorded;
    report(arguments, &machine, launch, outcome, human, color)?;
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
    if let Some(recording) = recording {
        return (watch(machine, &mut Replay::new(recording)), true);
    }
    let Some(path) = &arguments.record else { return (watch(machine, &mut arguments.strategy()), true) };
    let mut recorder = Recorder::new(arguments.strategy());
    let outcome = watch(machine, &mut recorder);
    if recorder.is_full {
        complain("mbar: note: the run took more choices than a recording can hold");
    }
    let reconverge = machine.options.reconverge.as_str().to_string();
    let recording = Recording { program: fingerprint, reconverge, answers: recorder.answers };
    (outcome, save(path, recording.to_text().as_bytes()))
}

/// Runs, and tells on standard error how far it is when that takes long.
fn watch(machine: &mut Machine, choose: &mut dyn Choose) -> Outcome {
    let start = Instant::now();
    let mut last = start;
    let terminal = io::stderr().is_terminal();
    let mut shown = false;
    let outcome = machine.run(choose, &mut |machine| {
        if last.elapsed() < Duration::from_millis(500) || start.elapsed() < Duration::from_secs(1) {
            return;
        }
        last = Instant::now();
        if terminal {
            shown = true;
            eprint!("\r{} million warp instructions …", machine.statistics.steps / 1_000_000);
        }
    });
    if shown {
        eprint!("\r\x1b[K");
    }
    outcome
}

fn read_recording(path: &Path) -> Result<Recording, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Recording::from_text(&text).map_err(|what| format!("{}: {what}", path.display()))
}

/// Tells programs and launches apart: the FNV-1a hash of what decides a run, the same on every platform.
fn fingerprint(program: &Program, launch: &Launch, overrides: &Overrides) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    add(program.module.source.text().as_bytes());
    let numbers = [launch.kernel as u64, launch.smem.into(), launch.resident.unwrap_or(0).into()];
    numbers.iter().for_each(|number| add(&number.to_le_bytes()));
    let extents = launch.grid.iter().chain(&launch.block).chain(&launch.cluster);
    extents.for_each(|extent| add(&extent.to_le_bytes()));
    for argument in &launch.arguments {
        match (&argument.kind, argument.place) {
            (ArgumentKind::Buffer { bytes, .. } | ArgumentKind::Scalar { bytes, .. }, _) => add(bytes),
            (ArgumentKind::TensorMap { .. }, Place::Flags(_)) => add(overrides.source().text().as_bytes()),
            // It stands in the text.
            (ArgumentKind::TensorMap { .. }, Place::File(_)) => {}
        }
    }
    hash
}

fn refuse_launch(
    program: &Program,
    launch: &Launch,
    overrides: &Overrides,
    error: &LaunchError,
    human: bool,
    color: bool,
) -> io::Result<u8> {
    let refuse_size = |message: String| {
        let span = program.function(&program.routines[launch.kernel]).name.span;
        let diagnostic = Diagnostic::new(&launch::BAD_LAUNCH, span, message);
        show(&[(&program.module.source, vec![&diagnostic])], human, color)
    };
    match error {
        LaunchError::TooLarge => {
            refuse_size("the variables or parameters of the file are too large to run it".into())?;
        }
        LaunchError::Grid { ctas, most } => {
            refuse_size(format!(
                "the grid has {ctas} CTAs; a run takes at most {most}: make the grid smaller"
            ))?;
        }
        LaunchError::SharedMemory { bytes, most } => refuse_size(format!(
            "the kernel needs {bytes} bytes of shared memory; a CTA of this target has at most {most}"
        ))?,
        LaunchError::TensorMap(error) => {
            let (place, _, rule) = &**error;
            let source = match place {
                Place::File(_) => program.module.source.clone(),
                Place::Flags(_) => overrides.source(),
            };
            let diagnostic = Diagnostic::new(&launch::BAD_ARGUMENT, place.span(), rule.what())
                .severity(Severity::Error)
                .note(rule.why())
                .help(rule.advice());
            show(&[(&source, vec![&diagnostic])], human, color)?;
            complain("mbar: the driver would refuse this tensor map");
        }
    }
    Ok(exit::USAGE)
}

fn save(path: &Path, bytes: &[u8]) -> bool {
    match std::fs::write(path, bytes) {
        Ok(()) => true,
        Err(error) => {
            complain(&format!("mbar: {}: {error}", path.display()));
            false
        }
    }
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
    human: bool,
    color: bool,
) -> io::Result<()> {
    if !human {
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
    text.push_str(&human::findings(&machine.program.module.source, &found, color));
    for (index, argument) in launch.arguments.iter().enumerate() {
        let ArgumentKind::Buffer { element, count, bytes } = &argument.kind else { continue };
        let now = machine.argument(index).unwrap_or_default();
        let asked = arguments.dump.contains(&argument.name);
        let expected = launch.expects.iter().any(|expect| expect.argument == index);
        let changed = now != bytes.as_slice() && *count <= SHOWN && !expected && arguments.dump.is_empty();
        if asked || changed {
            let word = element.text().trim_start_matches('.');
            text.push_str(&format!(
                "{} = {word}[{count}]\n{}\n",
                argument.name,
                launch::render(*element, now)
            ));
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

/// A finding with how often it was found.
fn counted(finding: &Finding) -> Diagnostic {
    let diagnostic = finding.diagnostic.clone();
    match finding.count {
        0 | 1 => diagnostic,
        _ if finding.is_expectation() => diagnostic,
        n => diagnostic.note(format!("found {n} times at this instruction")),
    }
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
