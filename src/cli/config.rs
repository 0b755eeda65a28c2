//! Finds and reads `mbar.toml` for the files that are checked.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::input::{self, Input, InputError};
use super::{complain, place};
use crate::config::{self, Config, FILE_NAME, FileSettings};
use crate::levels::Levels;

/// Which configuration counts.
#[derive(Args, Debug, Default)]
pub struct ConfigArguments {
    /// Use this configuration in place of the nearest mbar.toml above each file
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Use no mbar.toml
    #[arg(long)]
    no_config: bool,
}

/// A configuration in its place.
struct Placed {
    /// The folder, as the system calls it.
    folder: PathBuf,
    config: Config,
}

/// What is known of a folder: the configuration that holds for files in it.
#[derive(Clone)]
enum Found {
    Nothing,
    One(Arc<Placed>),
    /// It is broken, which has been told.
    Broken,
}

/// The configurations of all files; each is read, and complained of, once.
pub struct Configs {
    /// The current folder, as the system calls it.
    here: PathBuf,
    /// The one that counts for all.
    only: Option<Found>,
    /// By the name that the system has for a folder.
    by_folder: HashMap<PathBuf, Found>,
    /// From folders as given to what the system calls them.
    real: HashMap<PathBuf, Option<PathBuf>>,
    broken: bool,
}

impl Configs {
    /// As the arguments want it; a configuration that they name is read now.
    pub fn new(arguments: &ConfigArguments) -> Configs {
        let mut configs = Configs {
            here: Path::new(".").canonicalize().unwrap_or_default(),
            only: arguments.no_config.then_some(Found::Nothing),
            by_folder: HashMap::new(),
            real: HashMap::new(),
            broken: false,
        };
        if let Some(file) = &arguments.config {
            let folder = configs.real_folder(file).unwrap_or_default();
            configs.only = Some(configs.read(folder, file));
        }
        configs
    }

    /// Whether a configuration could not be read or understood.
    pub fn broken(&self) -> bool {
        self.broken
    }

    /// Whether none can be used because the one that was named is broken.
    pub fn all_broken(&self) -> bool {
        matches!(self.only, Some(Found::Broken))
    }

    /// What holds for the files of the current folder in general.
    pub fn here(&mut self) -> Option<FileSettings> {
        self.settings(Path::new("-"))
    }

    /// What holds for an input, with the levels of flags above. None: it is none, or its configuration is
    /// broken.
    pub fn under(&mut self, input: &Result<Input, InputError>, flags: &Levels) -> Option<FileSettings> {
        let mut settings = match input {
            Ok(Input::File(path)) => self.settings(path)?,
            Ok(Input::Stdin) => self.here()?,
            Err(_) => return None,
        };
        settings.levels = settings.levels.under(flags);
        Some(settings)
    }

    /// Leaves out what the configurations exclude, but for what `named` names itself.
    pub fn keep(
        &mut self,
        inputs: Vec<Result<Input, InputError>>,
        named: &[PathBuf],
    ) -> Vec<Result<Input, InputError>> {
        let mut kept = inputs;
        kept.retain(|input| match input {
            Ok(Input::File(path)) => named.contains(path) || !self.excludes(path),
            Ok(Input::Stdin) | Err(_) => true,
        });
        kept
    }

    fn excludes(&mut self, path: &Path) -> bool {
        match self.find(path) {
            (Found::One(placed), relative) => placed.config.excludes(&relative),
            _ => false,
        }
    }

    fn settings(&mut self, path: &Path) -> Option<FileSettings> {
        match self.find(path) {
            (Found::Nothing, _) => Some(FileSettings::default()),
            (Found::One(placed), relative) => Some(placed.config.for_path(&relative)),
            (Found::Broken, _) => None,
        }
    }

    /// The configuration of a file, and the path of the file from the folder of that.
    fn find(&mut self, path: &Path) -> (Found, PathBuf) {
        // Of a folder that is not there, reading the file will complain.
        let Some(folder) = self.real_folder(path) else { return (Found::Nothing, PathBuf::new()) };
        let found = match &self.only {
            Some(only) => only.clone(),
            None => self.above(&folder),
        };
        let relative = match &found {
            Found::One(placed) => way(&placed.folder, &folder).join(path.file_name().unwrap_or_default()),
            Found::Nothing | Found::Broken => PathBuf::new(),
        };
        (found, relative)
    }

    /// The folder of a file, as the system calls it.
    fn real_folder(&mut self, file: &Path) -> Option<PathBuf> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Some(known) = self.real.get(folder) {
            return known.clone();
        }
        let real = folder.canonicalize().ok();
        self.real.insert(folder.to_path_buf(), real.clone());
        real
    }

    /// The nearest configuration in a folder or above it.
    fn above(&mut self, folder: &Path) -> Found {
        let mut below = Vec::new();
        let mut found = Found::Nothing;
        for ancestor in folder.ancestors() {
            if let Some(known) = self.by_folder.get(ancestor) {
                found = known.clone();
                break;
            }
            below.push(ancestor.to_path_buf());
            if ancestor.join(FILE_NAME).is_file() {
                let name = way(&self.here, ancestor).join(FILE_NAME);
                found = self.read(ancestor.to_path_buf(), &name);
                break;
            }
        }
        self.by_folder.extend(below.into_iter().map(|folder| (folder, found.clone())));
        found
    }

    fn read(&mut self, folder: PathBuf, file: &Path) -> Found {
        match read(file) {
            Ok(config) => Found::One(Arc::new(Placed { folder, config })),
            Err(messages) => {
                messages.iter().for_each(|message| complain(&format!("mbar: {message}")));
                self.broken = true;
                Found::Broken
            }
        }
    }
}

/// Reads a configuration, or says what is wrong, one line each.
fn read(file: &Path) -> Result<Config, Vec<String>> {
    let source = input::read(&Input::File(file.to_path_buf())).map_err(|error| vec![error.to_string()])?;
    config::read(source.text()).map_err(|problems| {
        let line = |problem: config::Problem| {
            let at = source.line_column(problem.span.start);
            format!("{}:{}:{}: {problem}", source.name(), at.line, at.column)
        };
        problems.into_iter().map(line).collect()
    })
}

/// The way from one folder to another; both as the system calls them.
fn way(from: &Path, to: &Path) -> PathBuf {
    place::relative(from, to).unwrap_or_else(|| to.to_path_buf())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_way_goes_up_and_down() {
        for (from, to, expected) in [("/a/b", "/a/b/c", "c"), ("/a/b", "/a", ".."), ("/a/b", "/a/c", "../c")]
        {
            assert_eq!(way(Path::new(from), Path::new(to)), Path::new(expected));
        }
        assert_eq!(way(Path::new("/a"), Path::new("/a")), PathBuf::new());
    }
}
