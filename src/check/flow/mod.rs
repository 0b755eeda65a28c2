//! Rules that follow the control flow of one function. All of them speak of what is surely or almost
//! surely wrong; what depends on schedules is left to `run` and `verify`.

use crate::diagnostic::{Diagnostic, Rule};
use crate::isa::Arg;
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;
use crate::program::value::Place;
use crate::program::{Fit, Program, Value};
use crate::source::Span;

mod barrier_use;
mod copy_groups;
mod counter_as_parity;
mod divergent_barrier;
mod excess_arrivals;
mod foreign_state;
mod inverted_wait;
mod missing_proxy_fence;
mod remote;
mod transaction_bytes;
mod unpublished_init;

/// The rules of this folder.
pub const RULES: &[&Rule] = &[
    &barrier_use::UNINITIALISED_BARRIER,
    &barrier_use::INIT_BY_EVERY_THREAD,
    &barrier_use::REPEATED_INIT,
    &barrier_use::USE_AFTER_INVAL,
    &copy_groups::UNCOMMITTED_COPY,
    &copy_groups::UNAWAITED_COPY,
    &copy_groups::WAIT_WITHOUT_GROUP,
    &counter_as_parity::RULE,
    &divergent_barrier::RULE,
    &excess_arrivals::RULE,
    &foreign_state::RULE,
    &inverted_wait::RULE,
    &missing_proxy_fence::RULE,
    &remote::REMOTE_AS_LOCAL,
    &remote::REMOTE_CTA_SCOPE,
    &transaction_bytes::RULE,
    &unpublished_init::RULE,
];

/// Runs the rules.
pub fn check(program: &Program, flows: &[Flow], out: &mut Vec<Diagnostic>) {
    barrier_use::check(program, flows, out);
    excess_arrivals::check(flows, out);
    let rules: [fn(&Flow, &mut Vec<Diagnostic>); _] = [
        copy_groups::check,
        counter_as_parity::check,
        divergent_barrier::check,
        foreign_state::check,
        inverted_wait::check,
        missing_proxy_fence::check,
        remote::check,
        transaction_bytes::check,
        unpublished_init::check,
    ];
    for flow in flows {
        for rule in rules {
            flow.renew_steps();
            rule(flow, out);
        }
    }
}

/// Runs the rules that need no more than the statements that they speak of.
pub fn check_statements(flows: &[Flow], out: &mut Vec<Diagnostic>) {
    for flow in flows {
        flow.renew_steps();
        inverted_wait::check(flow, out);
        remote::check(flow, out);
    }
}

/// The flows of the functions in which there is something to follow.
pub fn flows(program: &Program) -> Vec<Flow<'_>> {
    program
        .routines
        .iter()
        .map(|routine| Flow::new(program, routine))
        .filter(|flow| flow.meanings.iter().flatten().any(|meaning| meaning.is_asynchronous()))
        .collect()
}

/// Questions that several rules ask.
impl Flow<'_> {
    /// The span of the opcode.
    fn opcode_span(&self, at: At) -> Span {
        self.program.syntax(self.routine, self.inst(at)).opcode_span
    }

    /// The opcode as written.
    fn spelled(&self, at: At) -> &str {
        self.program.module.text(self.opcode_span(at))
    }

    /// The span of the operand called `arg`, else of the opcode.
    fn operand_span(&self, at: At, arg: Arg) -> Span {
        let index = self.row(at).and_then(|row| crate::program::operand_index(row, arg));
        index.map_or(self.opcode_span(at), |i| self.program.operand_span(self.routine, self.inst(at), i))
    }

    /// The text of the operand called `arg`.
    fn operand_text(&self, at: At, arg: Arg) -> &str {
        self.program.module.text(self.operand_span(at, arg))
    }

    /// The barrier that an instruction uses, if its address is known.
    fn barrier(&self, at: At) -> Option<Place> {
        self.place(at, self.operand(at, Arg::Bar)?)
    }

    /// `name` or `name+8`
    fn place_name(&self, place: Place) -> String {
        let variable = &self.program.variables[place.variable.0 as usize];
        let name = self.program.module.name(variable.symbol);
        match place.offset {
            0 => name.to_string(),
            offset => format!("{name}{offset:+}"),
        }
    }

    /// Whether the function is a kernel, so that nothing before or after it is part of the same thread.
    fn is_kernel(&self) -> bool {
        self.program.function(self.routine).is_entry
    }

    /// Whether the function calls others, holds instructions that the table does not know, or such
    /// that would be `wanted` if their operands were right: what it does is then not known.
    fn may_do_more(&self, wanted: impl Fn(Meaning) -> bool) -> bool {
        self.routine.instructions.iter().enumerate().any(|(at, inst)| match (self.meanings[at], inst.fit) {
            (Some(meaning), _) => meaning == Meaning::Call,
            (None, Fit::Operand(row, _)) => {
                let candidate = self.program.candidate(self.routine, inst, row);
                candidate.is_none_or(|row| wanted(Meaning::of(row.form())))
            }
            (None, _) => true,
        })
    }

    /// The predicate that an instruction writes first.
    fn result(&self, at: At) -> Option<Value> {
        match self.routine.operands(self.inst(at)).first()? {
            pair @ Value::Pair(_) => self.routine.parts(*pair).first().copied(),
            value => Some(*value),
        }
    }
}
