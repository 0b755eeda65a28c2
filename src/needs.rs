//! What instructions need of the PTX version and the target.

use crate::isa::table::{Operand, Shape};
use crate::isa::{Needs, RowMatch};
use crate::program::{Inst, Program, Routine};

/// What an instruction that the table knows needs, operands included.
pub fn of(program: &Program, routine: &Routine, inst: &Inst) -> Option<Needs> {
    let row = program.row(routine, inst)?;
    Some(match has_gated_operand(row) {
        true => program.fit(routine, inst, row).unwrap_or(row.needs),
        false => row.needs,
    })
}

/// What all instructions of the program need together.
pub fn of_all(program: &Program) -> Needs {
    let one = |routine| move |inst| of(program, routine, inst);
    let each =
        program.routines.iter().flat_map(|routine| routine.instructions.iter().filter_map(one(routine)));
    each.fold(Needs::NONE, |all, needs| Needs {
        version: all.version.max(needs.version),
        targets: all.targets.and(needs.targets),
    })
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
