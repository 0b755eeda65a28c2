//! `--baseline`: reading and writing the file of findings that a repository puts up with.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use clap::Args;

use super::input::Input;
use super::{complain, exit, place};
use crate::baseline::{Baseline, Compared};
use crate::check::count;
use crate::diagnostic::Diagnostic;
use crate::source::SourceFile;

/// Why a file is not overwritten.
const TAKEN: &str = "is something else than a baseline; remove it or name another file";

/// The options about baselines.
#[derive(Args, Debug)]
pub struct BaselineArguments {
    /// Leave out the findings that this file knows; --write-baseline writes it
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write all present findings to the file of --baseline in place of printing them
    #[arg(long, requires = "baseline", conflicts_with = "format")]
    write_baseline: bool,
}

/// What is to be done about a baseline.
pub enum Mode {
    /// Nothing.
    Off,
    /// Leave out what it knows.
    Read(Known),
    /// Write it.
    Write(Recorder),
}

impl BaselineArguments {
    /// Whether findings are recorded in place of being told.
    pub fn writes(&self) -> bool {
        self.write_baseline
    }

    /// Reads the baseline, or makes sure that it may be written.
    ///
    /// # Errors
    /// In words, if there is none, or something else.
    pub fn mode(&self) -> Result<Mode, String> {
        let Some(path) = &self.baseline else { return Ok(Mode::Off) };
        let named = |what: String| format!("{}: {what}", path.display());
        let folder = place::folder_of(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => named("its folder does not exist".to_string()),
            _ => named(error.to_string()),
        })?;
        let text = std::fs::read_to_string(path);
        if self.write_baseline {
            match text {
                Ok(text) if Baseline::may_replace(&text) => {}
                Ok(_) => return Err(named(TAKEN.to_string())),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(named(reason(&error))),
            }
            return Ok(Mode::Write(Recorder { path: path.clone(), folder, baseline: Baseline::default() }));
        }
        let text = text.map_err(|error| named(reason(&error)))?;
        let baseline = Baseline::from_text(&text).map_err(|error| {
            let advice =
                if Baseline::may_replace(&text) { "; --write-baseline writes a new one" } else { "" };
            named(format!("{error}{advice}"))
        })?;
        Ok(Mode::Read(Known { folder, baseline }))
    }
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such baseline; --write-baseline writes it".to_string(),
        ErrorKind::IsADirectory => "is a folder; a file is wanted".to_string(),
        ErrorKind::InvalidData => "is no baseline: it is not text".to_string(),
        _ => error.to_string(),
    }
}

/// A baseline that was read.
pub struct Known {
    /// Its paths start here.
    folder: PathBuf,
    baseline: Baseline,
}

impl Known {
    /// Removes what is known of a file; tells under which name it is known, and what was found of it.
    pub fn leave_out(
        &self,
        input: &Input,
        source: &SourceFile,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> (String, Compared) {
        let file = place::seen_from(&self.folder, input);
        let compared = self.baseline.leave_out(&file, source, diagnostics);
        (file, compared)
    }

    /// All files together. Findings of files that were not looked at count as gone only if the file is.
    pub fn total<'a>(&self, files: impl Iterator<Item = &'a (String, Compared)>) -> Compared {
        let mut total = Compared::default();
        // A file that was named twice has its recorded findings once.
        let mut gone: BTreeMap<&str, usize> = BTreeMap::new();
        for (file, compared) in files {
            total.left_out += compared.left_out;
            gone.insert(file, compared.gone);
        }
        for file in self.baseline.files().filter(|file| !self.folder.join(file).exists()) {
            gone.entry(file).or_insert_with(|| self.baseline.count_of(file));
        }
        total.gone = gone.values().sum();
        total
    }
}

/// A baseline that is to be written.
pub struct Recorder {
    path: PathBuf,
    folder: PathBuf,
    baseline: Baseline,
}

impl Recorder {
    /// Takes the findings of a file.
    pub fn record(&mut self, input: &Input, source: &SourceFile, diagnostics: &[Diagnostic]) {
        self.baseline.record(&place::seen_from(&self.folder, input), source, diagnostics);
    }

    /// Writes it and says so; gives the exit code. Without what is in a file that could not be read it would be wrong.
    pub fn finish(&self, unreadable: bool) -> u8 {
        let result = if unreadable {
            Err("the baseline is not written, because not all files could be read".to_string())
        } else {
            self.write()
        };
        match result {
            Ok(line) => {
                complain(&line);
                exit::CLEAN
            }
            Err(message) => {
                complain(&format!("mbar: {message}"));
                exit::USAGE
            }
        }
    }

    fn write(&self) -> Result<String, String> {
        let path = self.path.display();
        std::fs::write(&self.path, self.baseline.to_text()).map_err(|error| format!("{path}: {error}"))?;
        let findings = count(self.baseline.count(), "finding");
        let files = count(self.baseline.files().count(), "file");
        Ok(format!("{path}: {findings} of {files} written"))
    }
}

/// A baseline that knows too much would let old mistakes come back.
pub fn gone_line(compared: Compared) -> Option<String> {
    let (findings, are) = match compared.gone {
        0 => return None,
        1 => ("1 finding".to_string(), "is"),
        n => (format!("{n} findings"), "are"),
    };
    Some(format!("{findings} of the baseline {are} gone: write it again with --write-baseline"))
}
