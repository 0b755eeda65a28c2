//! `mbar check --fix`: applies safe fixes to files, or shows what they would change.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use thiserror::Error;

use super::input::Input;
use super::{complain, print};
use crate::check::count;
use crate::diagnostic::Diagnostic;
use crate::fix::{self, Fixed};
use crate::report::diff;
use crate::source::SourceFile;

/// Whether findings are mended.
#[derive(Args, Debug, Default, Clone, Copy)]
pub struct FixArguments {
    /// Apply the safe fixes of what is found to the files
    #[arg(long)]
    pub fix: bool,
    /// With --fix: write no file but print the changes as a unified diff; the exit code is 1 if there are any
    #[arg(long, requires = "fix")]
    pub diff: bool,
}

/// Why a file is not mended.
#[derive(Error, Debug)]
pub enum FixError {
    /// Decoding has lost bytes, or somebody has written to it.
    #[error(
        "{0}: has bytes that are no UTF-8, which must not get lost: nothing is fixed (convert it first, e.g. with iconv)"
    )]
    NotText(String),
    /// Between reading and writing.
    #[error("{0}: has changed while it was checked: nothing is fixed")]
    Changed(String),
    /// The system refuses.
    #[error("{0}: cannot be written: {1}")]
    Unwritable(String, io::Error),
}

/// A file with its fixes, not written yet.
#[derive(Debug)]
pub struct Mended {
    before: Arc<SourceFile>,
    fixed: Fixed,
}

/// Mends what was read from `input`, if there is something. `check` gives all findings, `is_wanted` says
/// which may be mended.
pub fn mend(
    input: &Input,
    source: &Arc<SourceFile>,
    check: &dyn Fn(Arc<SourceFile>) -> Vec<Diagnostic>,
    is_wanted: &dyn Fn(&Diagnostic) -> bool,
) -> Option<Result<Mended, FixError>> {
    let fixed = fix::fix(source.clone(), check, is_wanted);
    if fixed.count == 0 {
        return None;
    }
    // A character that may stand for bytes which could not be read.
    if source.text().contains(char::REPLACEMENT_CHARACTER) && !is_whole(input, source) {
        return Some(Err(FixError::NotText(source.name().to_string())));
    }
    Some(Ok(Mended { before: source.clone(), fixed }))
}

/// Whether the text is what stands in the file, byte by byte.
fn is_whole(input: &Input, source: &SourceFile) -> bool {
    match input {
        Input::File(path) => fs::read(path).is_ok_and(|bytes| bytes == source.text().as_bytes()),
        Input::Stdin => false,
    }
}

impl Mended {
    /// The text after the fixes.
    pub fn source(&self) -> &Arc<SourceFile> {
        &self.fixed.source
    }

    fn diff(&self) -> String {
        diff::unified(self.before.name(), self.before.text(), self.fixed.source.text())
    }

    /// Writes the new text into the file, which keeps its permissions.
    fn write(&self, path: &Path) -> Result<(), FixError> {
        let name = || self.before.name().to_string();
        let unwritable = |error| FixError::Unwritable(name(), error);
        let bytes = fs::read(path).map_err(unwritable)?;
        let new = self.fixed.source.text().as_bytes();
        // The same file may have been named twice.
        if bytes == new {
            return Ok(());
        }
        if bytes != self.before.text().as_bytes() {
            return Err(FixError::Changed(name()));
        }
        fs::write(path, new).map_err(unwritable)
    }
}

/// What was mended in all files.
pub struct Tally {
    diff: bool,
    findings: usize,
    files: usize,
}

impl Tally {
    /// Nothing yet.
    pub fn new(arguments: FixArguments) -> Tally {
        Tally { diff: arguments.diff, findings: 0, files: 0 }
    }

    /// Writes a file that was mended, or prints the difference. False: complained, nothing is written.
    pub fn take(&mut self, mended: &Result<Mended, FixError>, input: &Input) -> io::Result<bool> {
        let written = match (mended, input) {
            (Err(error), _) => Err(error.to_string()),
            (Ok(mended), Input::File(path)) if !self.diff => {
                mended.write(path).map(|()| mended).map_err(|error| error.to_string())
            }
            (Ok(mended), _) => {
                print(&mended.diff())?;
                Ok(mended)
            }
        };
        match &written {
            Ok(mended) => {
                self.findings += mended.fixed.count;
                self.files += 1;
            }
            Err(message) => complain(&format!("mbar: {message}")),
        }
        Ok(written.is_ok())
    }

    /// Whether nothing was mended.
    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// "3 findings in 2 files"
    pub fn describe(&self) -> String {
        match self.findings {
            0 => "nothing".to_string(),
            _ => format!("{} in {}", count(self.findings, "finding"), count(self.files, "file")),
        }
    }
}
