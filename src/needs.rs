//! What instructions need of the PTX version and the target.

use crate::isa::table::{Operand, Shape};
use crate::isa::{Needs, RowMatch};
use crate::program::{Fit, Inst, Program, Routine};

/// What an instruction that the table knows needs, operands included (unless they do not fit).
pub fn of(program: &Program, routine: &Routine, inst: &Inst) -> Option<Needs> {
    if let Fit::Operand(row, _) = inst.fit {
        return program.candidate(routine, inst, row).map(|row| row.needs);
    }
    let row = program.row(routine, inst)?;
    Some(match has_gated_operand(row) {
        true => program.fit(routine, inst, row).unwrap_or(row.needs),
        false => row.needs,
    })
}

/// What the instructions of a function need together.
pub fn of_routine(program: &Program, routine: &Routine) -> Needs {
    let each = routine.instructions.iter().filter_map(|inst| of(program, routine, inst));
    each.fold(Needs::NONE, Needs::with)
}

/// What all instructions of the program need together.
pub fn of_all(program: &Program) -> Needs {
    program.routines.iter().map(|routine| of_routine(program, routine)).fold(Needs::NONE, Needs::with)
}

/// Whether operands may need more than the row: most rows need no look at them.
fn has_gated_operand(row: &RowMatch) -> bool {
    let mut operands = row.row.operands.iter();
    operands.any(is_gated)
}

fn is_gated(operand: &Operand) -> bool {
    let inner = match &operand.shape {
        Shape::Sink(gate) => !gate.is_always(),
        Shape::Value(value) | Shape::Vector(value, _) => value.sink.is_some_and(|gate| !gate.is_always()),
        Shape::Pair(first, second, _) => is_gated(first) || is_gated(second),
        Shape::Compound(_, parts) => parts.iter().any(is_gated),
        Shape::Address(_) | Shape::Label | Shape::Function | Shape::Any | Shape::Rest => false,
    };
    !operand.gate.is_always() || inner
}
