//! The languages that `--lang` names.

use clap::ValueEnum;

use crate::extract::Language;

/// A language of files.
#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum Lang {
    /// PTX itself
    Ptx,
    /// C, C++ or CUDA with `asm` statements
    Cxx,
    /// Python with strings of inline assembly, code, or modules
    Python,
    /// Rust with `asm!`, or modules in strings
    Rust,
    /// MLIR with inline assembly
    Mlir,
    /// Markdown with blocks of PTX
    Markdown,
}

impl From<Lang> for Language {
    fn from(lang: Lang) -> Language {
        match lang {
            Lang::Ptx => Language::Ptx,
            Lang::Cxx => Language::Cxx,
            Lang::Python => Language::Python,
            Lang::Rust => Language::Rust,
            Lang::Mlir => Language::Mlir,
            Lang::Markdown => Language::Markdown,
        }
    }
}
