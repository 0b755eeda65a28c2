//! From the paths of the command line to source files.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::extract::Language;
use crate::source::SourceFile;

/// Why a path gives no source file.
#[derive(Error, Debug)]
pub enum InputError {
    /// Opening or reading failed.
    #[error("{path}: {reason}")]
    Unreadable {
        /// As given.
        path: String,
        /// In the system's words, plus what to do.
        reason: String,
    },
    /// No file of interest below a directory.
    #[error("{0}: holds no file that may hold PTX ({endings})", endings = endings())]
    Empty(String),
    /// Not text.
    #[error("{0}: is not text but binary data{1}")]
    Binary(String, &'static str),
    /// 4 GiB or more.
    #[error("{0}: is too large (files are limited to 4 GiB)")]
    TooLarge(String),
}

/// Files to read, in the order they are reported in.
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

/// Expands directories; `-` is standard input. Errors stand where the path stands.
pub fn expand(paths: &[PathBuf]) -> Vec<Result<Input, InputError>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Ok(Input::Stdin));
        } else if path.is_dir() {
            let files = files_below(path);
            if files.is_empty() {
                inputs.push(Err(InputError::Empty(display(path))));
            }
            inputs.extend(files.into_iter().map(|file| Ok(Input::File(file))));
        } else {
            inputs.push(Ok(Input::File(path.clone())));
        }
    }
    // A file that is named twice, or named and in a folder, is one file.
    let mut seen = HashSet::new();
    if paths.len() > 1 {
        inputs.retain(|input| match input {
            Ok(Input::File(path)) => path.canonicalize().map_or(true, |path| seen.insert(path)),
            _ => true,
        });
    }
    inputs
}

/// ".ptx, .cu and so on"
fn endings() -> String {
    let all: Vec<String> = Language::endings().map(|ending| format!(".{ending}")).collect();
    all.join(" ")
}

/// The files below `directory` that may hold PTX, sorted; what .gitignore excludes is left out.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    // Of a folder that is no repository, too.
    let walk = ignore::WalkBuilder::new(directory).require_git(false).build();
    let mut files: Vec<PathBuf> = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(ignore::DirEntry::into_path)
        .filter(|path| language(path).is_some())
        .collect();
    files.sort();
    files
}

/// The language that the name of a file tells.
fn language(path: &Path) -> Option<Language> {
    Language::of_ending(path.extension()?.to_str()?)
}

impl Input {
    /// Its language: the one that was asked for, what its name tells, or PTX.
    pub fn language(&self, asked: Option<Language>) -> Language {
        let own = match self {
            Input::File(path) => language(path),
            Input::Stdin => None,
        };
        asked.or(own).unwrap_or(Language::Ptx)
    }
}

/// Reads one input.
pub fn read(input: &Input) -> Result<Arc<SourceFile>, InputError> {
    let (name, bytes) = match input {
        Input::Stdin => {
            let mut bytes = Vec::new();
            let result = std::io::stdin().lock().read_to_end(&mut bytes);
            ("<stdin>".to_string(), result.map(|_| bytes))
        }
        Input::File(path) => (display(path), std::fs::read(path)),
    };
    let bytes = bytes.map_err(|error| {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file or directory".to_string(),
            std::io::ErrorKind::IsADirectory => "is a folder; a file is wanted".to_string(),
            std::io::ErrorKind::PermissionDenied => "may not be read (permission denied)".to_string(),
            _ => error.to_string(),
        };
        InputError::Unreadable { path: name.clone(), reason }
    })?;
    if bytes.len() >= u32::MAX as usize {
        return Err(InputError::TooLarge(name));
    }
    if let Some(what) = binary(&bytes) {
        return Err(InputError::Binary(name, what));
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| lossy(error.as_bytes()));
    if text.len() >= u32::MAX as usize {
        return Err(InputError::TooLarge(name));
    }
    Ok(SourceFile::new(name, text))
}

/// Text of which some bytes are no UTF-8, such as comments in Latin-1: each of these bytes becomes one
/// character, so that columns stay right.
fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// Recognises binary data by NUL bytes near the start (the one that ends a string for the driver is
/// none), and says what it probably is.
fn binary(bytes: &[u8]) -> Option<&'static str> {
    let start = &bytes[..bytes.len().min(8192)];
    let text = start.strip_suffix(&[0]).unwrap_or(start);
    if bytes.starts_with(b"\x7fELF") {
        return Some(" (an ELF object or cubin; extract the PTX with `cuobjdump -ptx`)");
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Some(" (UTF-16? convert it to UTF-8, e.g. with iconv)");
    }
    text.contains(&0).then_some("")
}

fn display(path: &Path) -> String {
    path.display().to_string()
}
