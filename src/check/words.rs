//! The words of an opcode and their places in the text: blanks and comments may stand between them.

use crate::program::Program;
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
