//! Modifiers in another order than usual. ptxas does not mind.

use rustc_hash::FxHashMap;

use super::{Settings, words};
use crate::diagnostic::{Applicability, Diagnostic, Edit, Ptxas, Rule, Severity};
use crate::isa::{self, Mod, RowMatch};
use crate::program::{Fit, Inst, Program, Routine};
use crate::syntax::ast::OpcodeId;

/// The rules of this file.
pub const RULES: &[&Rule] = &[&UNUSUAL_ORDER];

pub(super) static UNUSUAL_ORDER: Rule = Rule {
    name: "unusual-order",
    severity: Severity::Note,
    ptxas: Ptxas::Accepts,
    summary: "modifiers in another order than usual (on demand)",
    page: include_str!("unusual-order.md"),
};

/// Runs the rule, if somebody asked for it.
pub fn check(program: &Program, settings: &Settings, out: &mut Vec<Diagnostic>) {
    if !settings.unusual_order {
        return;
    }
    let mut known: FxHashMap<(OpcodeId, u8), Option<Vec<&'static str>>> = FxHashMap::default();
    for routine in &program.routines {
        for inst in &routine.instructions {
            let Fit::Row(row) = inst.fit else { continue };
            let opcode = program.syntax(routine, inst).opcode;
            let usual = known.entry((opcode, row)).or_insert_with(|| usual(program, routine, inst));
            out.extend(usual.as_ref().map(|usual| complain(program, routine, inst, usual)));
        }
    }
}

/// The words of the opcode in canonical order, if they stand in another.
fn usual(program: &Program, routine: &Routine, inst: &Inst) -> Option<Vec<&'static str>> {
    let OpcodeId(id) = program.syntax(routine, inst).opcode;
    let isa::Opcode::Known { op, .. } = &program.opcodes[id as usize] else { return None };
    let found = program.row(routine, inst)?;
    let modifiers = (0..found.chosen.len()).filter_map(|slot| found.modifier(slot)).map(Mod::text);
    let usual: Vec<&str> = op.words().chain(modifiers).collect();
    let given: Vec<&str> = program.module.opcode(program.syntax(routine, inst)).words().collect();
    // A word that is repeated is another matter; and the other order must mean the same.
    let permuted = given != usual && given.len() == usual.len();
    (permuted && means(&usual, found)).then_some(usual)
}

/// Whether `words` fit the row of `found` in the same way, and no row before that.
fn means(words: &[&str], found: &RowMatch) -> bool {
    let isa::Opcode::Known { rows, .. } = isa::lookup(words) else { return false };
    let same = |row: &RowMatch| std::ptr::eq(row.row, found.row);
    rows.iter().find(|row| same(row)).is_some_and(|row| row.chosen == found.chosen)
}

fn complain(program: &Program, routine: &Routine, inst: &Inst, usual: &[&'static str]) -> Diagnostic {
    let syntax = program.syntax(routine, inst);
    let given = words::of(program, syntax);
    let moved = given.iter().zip(usual).filter(|((given, _), usual)| given != *usual);
    let edits: Vec<Edit> =
        moved.map(|((_, span), usual)| Edit { span: *span, replacement: usual.to_string() }).collect();
    let span = edits.first().zip(edits.last()).map_or(syntax.opcode_span, |(a, b)| a.span.to(b.span));
    let title = format!("write `{}`", usual.concat());
    Diagnostic::new(&UNUSUAL_ORDER, span, "these modifiers stand in an unusual order")
        .label("`mbar forms` shows the usual one")
        .note("ptxas takes modifiers in any order; what is written in one order can be searched for")
        .fix_all(Applicability::Safe, title, edits)
}
