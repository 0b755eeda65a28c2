//! What `mbar run` and `mbar verify` share: from the file and the flags to a launch.

use std::io::{self, Read};
use std::path::Path;

use clap::{Args, ValueEnum};

use super::input::{self, Input};
use super::{TargetArguments, complain, exit, print, settings};
use crate::check::{self, Checked};
use crate::diagnostic::{Diagnostic, Ptxas, Severity};
use crate::launch::{self, ArgumentKind, Flag, Launch, Overrides, Place};
use crate::machine::choice::Recording;
use crate::machine::{LaunchError, Reconverge};
use crate::program::Program;
use crate::report::{human, json};
use crate::source::SourceFile;

/// How the kernel is launched, where the file does not say so or should be overruled.
#[derive(Args, Debug)]
pub(super) struct LaunchArguments {
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
pub(super) enum ReconvergeArgument {
    /// At the nearest instruction that all paths lead to
    Postdominator,
    /// Only where an instruction demands it
    Never,
    /// At the nearest instruction that all paths lead to, or not, at random
    Random,
}

impl LaunchArguments {
    pub(super) fn overrides(&self) -> Overrides {
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

impl ReconvergeArgument {
    /// The strategy.
    pub(super) fn strategy(self) -> Reconverge {
        match self {
            ReconvergeArgument::Postdominator => Reconverge::PostDominator,
            ReconvergeArgument::Never => Reconverge::Never,
            ReconvergeArgument::Random => Reconverge::Random,
        }
    }
}

/// A file that can be launched.
pub(super) struct Prepared {
    /// The program and what the checks say of it.
    pub(super) checked: Checked,
    /// The launch.
    pub(super) launch: Launch,
    /// The flags as a text.
    pub(super) overrides: Overrides,
}

/// How findings are shown.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// For people.
    pub(super) human: bool,
    /// In colour.
    pub(super) color: bool,
}

/// Reads a file and its launch. Otherwise says what is wrong and gives the exit code.
pub(super) fn prepare(
    path: &Path,
    target: TargetArguments,
    arguments: &LaunchArguments,
    shown: Shown,
) -> io::Result<Result<Prepared, u8>> {
    let input = if path.as_os_str() == "-" { Input::Stdin } else { Input::File(path.to_path_buf()) };
    let source = match input::read(&input) {
        Ok(source) => source,
        Err(error) => {
            complain(&format!("mbar: {error}"));
            return Ok(Err(exit::USAGE));
        }
    };
    let checked = check::check(source, &settings(target, None, false));
    // What the assembler refuses cannot run; what is merely undefined shows when it happens.
    let refuses = |d: &&Diagnostic| d.severity == Severity::Error && d.ptxas == Ptxas::Rejects;
    let refused: Vec<&Diagnostic> = checked.diagnostics.iter().filter(refuses).collect();
    if !refused.is_empty() {
        return refuse(&checked.program, &refused, shown).map(Err);
    }
    let overrides = arguments.overrides();
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut files = |name: &str| read_file(&folder.join(name));
    match launch::read(&checked.program, &overrides, &mut files) {
        Ok(launch) => Ok(Ok(Prepared { checked, launch, overrides })),
        Err(refusal) => {
            let flags: Vec<&Diagnostic> = refusal.flags.iter().collect();
            let file: Vec<&Diagnostic> = refusal.file.iter().collect();
            show(&[(&overrides.source(), flags), (&checked.program.module.source, file)], shown)?;
            complain(&format!("mbar: {}: the launch cannot be made out", path.display()));
            Ok(Err(exit::USAGE))
        }
    }
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
fn show(texts: &[(&SourceFile, Vec<&Diagnostic>)], shown: Shown) -> io::Result<()> {
    let texts = texts.iter().filter(|(_, found)| !found.is_empty());
    if shown.human {
        return print(
            &texts.map(|(source, found)| human::findings(source, found, shown.color)).collect::<String>(),
        );
    }
    let mut document = json::Document::new();
    for (source, found) in texts {
        let owned: Vec<Diagnostic> = found.iter().map(|&d| d.clone()).collect();
        document.add(source, &owned);
    }
    print(&format!("{}\n", document.to_text()))
}

fn refuse(program: &Program, refused: &[&Diagnostic], shown: Shown) -> io::Result<u8> {
    show(&[(&program.module.source, refused.to_vec())], shown)?;
    complain("mbar: the assembler would refuse this file, so it cannot run");
    Ok(exit::FINDINGS)
}

/// Reads a recording.
pub(super) fn read_recording(path: &Path) -> Result<Recording, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Recording::from_text(&text).map_err(|what| format!("{}: {what}", path.display()))
}

/// Tells programs and launches apart: the FNV-1a hash of what decides a run, the same on every platform.
pub(super) fn fingerprint(program: &Program, launch: &Launch, overrides: &Overrides) -> u64 {
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

/// Says why a launch is impossible.
pub(super) fn refuse_launch(
    program: &Program,
    launch: &Launch,
    overrides: &Overrides,
    error: &LaunchError,
    shown: Shown,
) -> io::Result<u8> {
    let refuse_size = |message: String| {
        let span = program.function(&program.routines[launch.kernel]).name.span;
        let diagnostic = Diagnostic::new(&launch::BAD_LAUNCH, span, message);
        show(&[(&program.module.source, vec![&diagnostic])], shown)
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
            show(&[(&source, vec![&diagnostic])], shown)?;
            complain("mbar: the driver would refuse this tensor map");
        }
    }
    Ok(exit::USAGE)
}

/// Writes a file; says when that fails.
pub(super) fn save(path: &Path, bytes: &[u8]) -> bool {
    match std::fs::write(path, bytes) {
        Ok(()) => true,
        Err(error) => {
            complain(&format!("mbar: {}: {error}", path.display()));
            false
        }
    }
}
