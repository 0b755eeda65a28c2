//! The words of an opcode and their places in the text: blanks and comments may stand between them.

use crate::diagnostic::Applicability;
use crate::isa::{self, Mod, RowMatch};
use crate::program::{Inst, Program, Routine};
use crate::source::Span;
use crate::syntax::ast::Instruction;

/// The words of an instruction's opcode in order, each with its place.
pub fn of<'a>(program: &'a Program, syntax: &'a Instruction) -> Vec<(&'a str, Span)> {
    let slice = program.module.text(syntax.opcode_span);
    let mut at = 0;
    let place = |word: &'a str| {
        let found = slice[at..].find(word).map_or(at, |offset| at + offset);
        at = found + word.len();
        let start = syntax.opcode_span.start + found as u32;
        (word, Span::new(start, start + word.len() as u32))
    };
    program.module.opcode(syntax).words().map(place).collect()
}

/// The place of the modifier spelled `modifier`: a whole word, not the beginning of another.
pub fn place(program: &Program, syntax: &Instruction, modifier: &str) -> Option<Span> {
    of(program, syntax).into_iter().skip(1).find(|(word, _)| *word == modifier).map(|(_, span)| span)
}

/// Whether `inst` would be right with `opcode` for its opcode: it fits a documented row with its operands,
/// and version and target suffice.
pub fn fit(program: &Program, routine: &Routine, inst: &Inst, opcode: &str) -> bool {
    let isa::Opcode::Known { rows, .. } = isa::lookup(&split(opcode)) else { return false };
    rows.iter().filter(|row| !row.row.undocumented).any(|row| {
        program.meets(row.needs) && program.fit(routine, inst, row).is_ok_and(|needs| program.meets(needs))
    })
}

/// Where `modifier` can be inserted to fill slot `slot` of `found`, so that the instruction is right with it.
pub fn insertion(
    program: &Program,
    routine: &Routine,
    inst: &Inst,
    found: &RowMatch,
    slot: usize,
    modifier: &str,
) -> Option<Span> {
    let words = of(program, program.syntax(routine, inst));
    let before: Vec<&str> = (0..slot).filter_map(|slot| found.modifier(slot)).map(Mod::text).collect();
    let skip = found.form().op_name().matches('.').count();
    // Behind all that stand before it in the manual's order.
    let last = words.iter().skip(skip + 1).rposition(|(word, _)| before.contains(word));
    let index = skip + last.map_or(0, |last| last + 1);
    let text = |words: &[(&str, Span)]| words.iter().map(|(word, _)| *word).collect::<String>();
    let opcode = format!("{}{modifier}{}", text(&words[..=index]), text(&words[index + 1..]));
    fit(program, routine, inst, &opcode).then(|| Span::empty(words[index].1.end))
}

/// The words of an opcode; those after the first with their dot.
pub fn split(opcode: &str) -> Vec<&str> {
    let dots = opcode.match_indices('.').map(|(at, _)| at).filter(|&at| at > 0);
    let ends: Vec<usize> = dots.chain([opcode.len()]).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, &end)| &opcode[start..end]).collect()
}

/// A fix is safe if it is certain that it restores what was meant.
pub fn safe_if(certain: bool) -> Applicability {
    if certain { Applicability::Safe } else { Applicability::Unsafe }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::program::Options;
    use crate::source::SourceFile;
    use crate::syntax::parse;

    /// The text from the place of `modifier` on.
    fn from(instruction: &str, modifier: &str) -> Option<String> {
        let text = format!(".version 8.0 .target sm_90 .entry k() {{ {instruction}; }}");
        let program = Program::new(parse(SourceFile::new("t", text)).module, Options::default());
        let routine = &program.routines[0];
        let syntax = program.syntax(routine, &routine.instructions[0]);
        let span = place(&program, syntax, modifier)?;
        assert_eq!(program.module.text(span), modifier);
        Some(program.module.text(Span::new(span.start, syntax.opcode_span.end)).to_string())
    }

    #[test]
    fn a_modifier_is_a_whole_word() {
        assert_eq!(from("st.shared::cluster.shared.b32 x", ".shared").as_deref(), Some(".shared.b32"));
        assert_eq!(from("foo.cta_group .cta", ".cta").as_deref(), Some(".cta"));
        assert_eq!(from("foo.cta_group", ".cta"), None);
    }
}
