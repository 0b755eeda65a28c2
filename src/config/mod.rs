//! What a project says of its files in `mbar.toml`: what they are checked for, and how seriously. No file
//! is read here.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use globset::GlobSet;

use crate::isa::target::Toolkit;
use crate::isa::{TargetId, Version, table::TargetSet};
use crate::levels::Levels;
use crate::source::Span;

mod read;
pub mod words;

pub use read::read;

/// The name of the file.
pub const FILE_NAME: &str = "mbar.toml";

/// Preprocessor macros, each with the targets that code under it is compiled for.
pub type Guards = Arc<[(String, TargetSet)]>;

/// The contents of an `mbar.toml`. Paths are relative to its folder.
#[derive(Clone, Debug, Default)]
pub struct Config {
    exclude: GlobSet,
    all: Part,
    paths: Vec<(GlobSet, Part)>,
    guards: Guards,
}

/// Settings of all files, or of some.
#[derive(Clone, Debug, Default)]
struct Part {
    targets: Option<Vec<TargetId>>,
    version: Option<Version>,
    toolkit: Option<Toolkit>,
    levels: Levels,
}

/// What holds for one file.
#[derive(Clone, Debug, Default)]
pub struct FileSettings {
    /// What it is checked for if it does not say that itself. Of several targets it must be right for each.
    pub targets: Vec<TargetId>,
    /// The PTX version if it does not say that itself.
    pub version: Option<Version>,
    /// The CUDA release that it is meant for.
    pub toolkit: Option<Toolkit>,
    /// How seriously the rules are taken.
    pub levels: Levels,
    /// What macros around its code guarantee.
    pub guards: Guards,
}

/// Something wrong with the text of a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where.
    pub span: Span,
    /// What, and what to write instead.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Config {
    /// Whether a file is left out when its folder is searched.
    pub fn excludes(&self, path: &Path) -> bool {
        self.exclude.is_match(path)
    }

    /// What holds for a file: of `[[paths]]` that match, later ones win.
    pub fn for_path(&self, path: &Path) -> FileSettings {
        let matching = self.paths.iter().filter(|(globs, _)| globs.is_match(path)).map(|(_, part)| part);
        let mut settings = FileSettings { guards: self.guards.clone(), ..FileSettings::default() };
        for part in std::iter::once(&self.all).chain(matching) {
            settings.targets = part.targets.clone().unwrap_or(settings.targets);
            settings.version = part.version.or(settings.version);
            settings.toolkit = part.toolkit.or(settings.toolkit);
            settings.levels = settings.levels.under(&part.levels);
        }
        settings
    }
}

#[cfg(test)]
mod tests;
