//! Whether a text is PTX, and not the assembly of some processor or the name of a symbol.

use super::constraint;
use crate::extract::Variant;
use crate::isa::opcode::suggest_op;
use crate::isa::{Mod, Opcode};
use crate::program::{Program, Routine};
use crate::syntax::ast::{Opcode as Spelling, StatementKind};

/// What an instruction tells of the language that it belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// An instruction, spelled as nowhere else.
    Exact,
    /// The name of one, with something wrong behind it.
    Sure,
    /// PTX has such a word; others may, too.
    Likely,
    /// It has the looks of PTX.
    Perhaps,
    /// PTX has no such word.
    Against,
    /// Nothing.
    None,
}

/// Whether the statement is PTX; `cut`: instructions that hold something unknown are not in its program.
///
/// `cuda`: the text around it is that of device code.
pub fn is_ptx(program: &Program, variant: &Variant, cut: bool, cuda: bool) -> bool {
    let opcodes = program.module.opcodes.iter().zip(&program.opcodes);
    let each: Vec<Evidence> = opcodes.map(|(spelling, meaning)| evidence(spelling, meaning, cuda)).collect();
    let has = |wanted: Evidence| each.contains(&wanted);
    let foreign = variant.clobbers_registers || !variant.operands.iter().all(constraint::is_known);
    // Processors end an instruction with the line.
    let ended = program.module.source.text().contains(';');
    if foreign {
        return has(Evidence::Exact) && ended;
    }
    if has(Evidence::Exact) || has(Evidence::Sure) {
        return true;
    }
    if has(Evidence::Against) {
        return false;
    }
    (has(Evidence::Likely) && (ended || cuda))
        || (has(Evidence::Perhaps) && ended)
        || (cut && has_modifier(&variant.template.text))
        || program.routines.iter().any(|routine| declares(program, routine))
}

fn evidence(spelling: &Spelling, meaning: &Opcode, cuda: bool) -> Evidence {
    let dotted = spelling.text.contains('.');
    match meaning {
        Opcode::Known { .. } if dotted => Evidence::Exact,
        Opcode::Misfit { op, .. } if op.name.contains('.') => Evidence::Sure,
        Opcode::Known { .. } => Evidence::Likely,
        _ if has_modifier(&spelling.text) => Evidence::Perhaps,
        Opcode::Misfit { .. } if dotted && cuda => Evidence::Perhaps,
        Opcode::Unknown if is_slip(spelling) => Evidence::Perhaps,
        Opcode::Unknown if !dotted => Evidence::Against,
        Opcode::Misfit { .. } | Opcode::Opaque | Opcode::Unknown => Evidence::None,
    }
}

/// Whether three words or more are nearly those of an instruction.
fn is_slip(spelling: &Spelling) -> bool {
    let words: Vec<&str> = spelling.words().collect();
    words.len() > 2 && !suggest_op(&words).is_empty()
}

/// Whether a word of the text is a modifier of PTX.
fn has_modifier(text: &str) -> bool {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let mut words = text.match_indices('.').map(|(at, _)| {
        let rest = &text[at + 1..];
        &text[at..at + 1 + rest.find(|c: char| !in_word(c)).unwrap_or(rest.len())]
    });
    words.any(|word| Mod::from_text(word).is_some())
}

/// Whether a variable is declared, or there is nothing but the ends of blocks.
fn declares(program: &Program, routine: &Routine) -> bool {
    let statements = program.function(routine).body.iter().flat_map(|body| &body.statements);
    let mut kinds = statements.map(|statement| &statement.kind);
    let is_end = |kind| matches!(kind, &StatementKind::Open { .. } | &StatementKind::Close { .. });
    kinds.clone().all(is_end) || kinds.any(|kind| matches!(kind, StatementKind::Variable(_)))
}
