//! Instructions with every default written, in canonical order and spelling.

use smallvec::SmallVec;

use crate::isa::opcode::Opcode;
use crate::isa::table::{Alternative, GateId, Shape, Slot};
use crate::isa::{self, Mod, Needs, RowMatch};
use crate::program::{Fit, Inst, Program, Routine, Value};
use crate::source::Span;
use crate::syntax::ast::Instruction;
use crate::syntax::print::{one_line, print_with};

/// Prints the whole program.
pub fn print(program: &Program) -> String {
    // Instructions come in the order of the routines.
    let mut all = program
        .routines
        .iter()
        .flat_map(|routine| routine.instructions.iter().map(move |inst| (routine, inst)));
    print_with(&program.module, &mut |_, statement, instruction| {
        let (routine, inst) = all.next()?;
        debug_assert_eq!(program.span(routine, inst), statement.span);
        instruction_text(program, routine, inst, instruction)
    })
}

/// Opcode and operands, where they differ from what is written.
fn instruction_text(
    program: &Program,
    routine: &Routine,
    inst: &Inst,
    instruction: &Instruction,
) -> Option<String> {
    let Fit::Row(row) = inst.fit else { return None };
    let written = program.module.opcode(instruction);
    let full = full_spelling(program, routine, inst);
    let opcode = full.map_or_else(|| written.text.clone(), |found| found.text);
    let sink = missing_sink(program, routine, inst, row);
    if opcode == written.text && sink.is_none() {
        return None;
    }
    let operands = program.module.operands(instruction);
    let (Some(first), Some(last)) = (operands.first(), operands.last()) else { return Some(opcode) };
    let whole = Span::new(instruction.opcode_span.end, last.span.end.max(first.span.end));
    let rest = match sink {
        None => one_line(program.module.text(whole)),
        Some(()) => {
            let head = one_line(program.module.text(Span::new(whole.start, first.span.end)));
            let tail = one_line(program.module.text(Span::new(first.span.end, whole.end)));
            format!("{head}|_{tail}")
        }
    };
    Some(format!("{opcode} {rest}"))
}

/// A first operand `d` that may also be written `d|_`, when version and target take that.
fn missing_sink(program: &Program, routine: &Routine, inst: &Inst, row: u8) -> Option<()> {
    let found = program.candidate(routine, inst, row)?;
    let Shape::Pair(_, second, true) = &found.row.operands.first()?.shape else { return None };
    let gate = match &second.shape {
        Shape::Sink(gate) => *gate,
        Shape::Value(value) => value.sink?,
        _ => return None,
    };
    let alone = matches!(routine.operands(inst).first()?, Value::Register(_) | Value::Component(..));
    (alone && open(program, second.gate) && open(program, gate)).then_some(())
}

/// An opcode, spelled out.
#[derive(Debug)]
pub struct Spelling {
    /// The opcode with all its modifiers.
    pub text: String,
    /// How it fits the row that the instruction fitted before.
    pub found: RowMatch,
}

/// The full spelling of an instruction that fits the table: what it means does not change, and it
/// fits the same row. `None` when it does not fit, or when another spelling would not.
pub fn full_spelling(program: &Program, routine: &Routine, inst: &Inst) -> Option<Spelling> {
    let found = program.row(routine, inst)?;
    let mut chosen = found.chosen.clone();
    let mut best = attempt(program, routine, inst, found, &chosen)?;
    // One group or spelling after the other, until none is accepted any more: what the first makes
    // possible must not be left to a second run.
    loop {
        let mut progress = false;
        for slot in 0..chosen.len() {
            let Some(next) = improved(program, found.row.slots, &chosen, slot) else { continue };
            if let Some(spelling) = attempt(program, routine, inst, found, &next) {
                chosen = next;
                best = spelling;
                progress = true;
            }
        }
        if !progress {
            return Some(best);
        }
    }
}

type Chosen = SmallVec<[u8; 16]>;

/// `chosen` with slot `slot` (and its group) filled with the default, or with its canonical spelling.
fn improved(program: &Program, slots: &[Slot], chosen: &Chosen, slot: usize) -> Option<Chosen> {
    let mut next = chosen.clone();
    if let Some(written) = chosen[slot].checked_sub(1) {
        let canonical = slots[slot].alternatives[written as usize].canonical?;
        let index = slots[slot].alternatives.iter().position(|a| a.modifier == canonical)?;
        usable(program, &slots[slot], &slots[slot].alternatives[index])?;
        next[slot] = index as u8 + 1;
        return Some(next);
    }
    for (index, member) in slots.iter().enumerate() {
        let together = index == slot || (member.group != 0 && member.group == slots[slot].group);
        if together {
            let default = member.default?;
            usable(program, member, &member.alternatives[default as usize])?;
            next[index] = default + 1;
        }
    }
    Some(next)
}

fn usable(program: &Program, slot: &Slot, alternative: &Alternative) -> Option<()> {
    (open(program, slot.gate) && open(program, alternative.gate)).then_some(())
}

/// Whether the file's version and target are known and pass `gate`, the manual's demands and ptxas's
/// advice included: a spelling that nobody asked for must not bring a warning.
fn open(program: &Program, gate: GateId) -> bool {
    let header = &program.header;
    let passes = |gate: GateId| header.meets(Needs::NONE.and(gate));
    let known = header.version.is_some() && header.target.is_some();
    known && passes(gate) && passes(gate.gate().manual) && passes(gate.gate().advise)
}

/// The spelling for `chosen`, if with these operands it fits the same row.
fn attempt(
    program: &Program,
    routine: &Routine,
    inst: &Inst,
    found: &RowMatch,
    chosen: &Chosen,
) -> Option<Spelling> {
    let opcode = program.syntax(routine, inst).opcode;
    let Opcode::Known { op, .. } = &program.opcodes[opcode.0 as usize] else { return None };
    let modifiers = chosen.iter().zip(found.row.slots).filter_map(|(&chosen, slot)| {
        let index = chosen.checked_sub(1)?;
        Some(slot.alternatives[index as usize].modifier)
    });
    let words: SmallVec<[&str; 16]> = op.words().chain(modifiers.map(Mod::text)).collect();
    let Opcode::Known { rows, .. } = isa::lookup(&words) else { return None };
    let same = chosen_row(program, routine, inst, rows)?;
    let same = std::ptr::eq(same.row, found.row).then_some(same)?;
    Some(Spelling { text: words.concat(), found: same })
}

/// The row among `rows` that the resolver would take.
fn chosen_row(
    program: &Program,
    routine: &Routine,
    inst: &Inst,
    rows: impl IntoIterator<Item = RowMatch>,
) -> Option<RowMatch> {
    let mut undocumented = None;
    for row in rows {
        let fits = program.fit(routine, inst, &row).is_ok_and(|needs| program.meets(needs));
        if fits && !row.row.undocumented {
            return Some(row);
        }
        if fits && undocumented.is_none() {
            undocumented = Some(row);
        }
    }
    undocumented
}
