//! The assembler without the machine code: a program with everything spelled out, its memory layout,
//! and what each barrier is used for.
//!
//! [`assemble`] writes what a program leaves open: defaults, canonical spellings and order of
//! modifiers, sinks, alignments. Assembling the result again changes nothing, and ptxas takes the
//! result exactly when it takes the program.

pub mod barrier;
mod directive;
pub mod document;
pub mod listing;
pub mod operand;
pub mod reference;
mod spell;

use std::sync::Arc;

use crate::program::{Options, Program};
use crate::source::SourceFile;
use crate::syntax;

pub use spell::full_spelling;

/// The text of `program` with everything explicit. What the table does not know, or what does not
/// fit it, stays as it is. `options` must be those that `program` was made with.
pub fn assemble(program: &Program, options: Options) -> String {
    match directive::explicit(program) {
        None => spell::print(program),
        Some(text) => {
            let source = SourceFile::new(program.module.source.name(), text);
            spell::print(&parse(source, options))
        }
    }
}

fn parse(source: Arc<SourceFile>, options: Options) -> Program {
    Program::new(syntax::parse(source).module, options)
}
