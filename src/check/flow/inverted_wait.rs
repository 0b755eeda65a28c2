//! A wait loop that goes round while the wait succeeds.

use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::{Arg, Mod};
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;
use crate::program::{RegisterId, Value};
use crate::source::Span;

/// See the page.
pub static RULE: Rule = Rule {
    name: "inverted-wait",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a wait loop that repeats when the phase is complete and leaves when it is not",
    page: include_str!("inverted-wait.md"),
};

/// Runs the rule.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    let branches = flow.all(|meaning| meaning == Meaning::Branch);
    out.extend(branches.filter_map(|branch| inspect(flow, branch)));
}

fn inspect(flow: &Flow, branch: At) -> Option<Diagnostic> {
    let (guard, negated) = flow.inst(branch).guard?;
    let Some(Value::Label(label)) = flow.operand(branch, Arg::Target) else { return None };
    let target = flow.routine.labels[label.0 as usize].target as At;
    let (wait, positive) = origin(flow, branch, guard, 8)?;
    // The loop: from the target straight to the wait, and from the wait to this branch.
    let tight = flow.block_of(wait) == flow.block_of(branch) && target <= wait;
    let straight = flow.block_of(target.min(wait)) == flow.block_of(wait);
    if !tight || !straight || positive == negated {
        return None;
    }
    let syntax = flow.program.syntax(flow.routine, flow.inst(branch));
    let guard_span = syntax.guard?.span;
    let text = flow.program.module.text(guard_span);
    let flipped = if negated { text.replace('!', "") } else { text.replace('@', "@!") };
    let message = format!("this loop repeats while `{}` succeeds", flow.spelled(wait));
    Some(
        Diagnostic::new(&RULE, guard_span, message)
            .label("goes back when the phase is complete")
            .also(flow.opcode_span(wait), "true when the phase is complete")
            .note("once the phase is complete the loop spins until the barrier has moved on, and it leaves before that")
            .fix(Applicability::Unsafe, format!("write `{flipped}`"), span_of_guard(guard_span), flipped),
    )
}

fn span_of_guard(span: Span) -> Span {
    span
}

/// The wait that a predicate comes from, and whether the predicate is true when the wait is; followed
/// through `selp 1, 0` and comparisons with zero, as compilers write it.
fn origin(flow: &Flow, at: At, register: RegisterId, depth: u32) -> Option<(At, bool)> {
    let definitions = flow.reaching(at, register)?;
    let [only] = definitions.as_slice() else { return None };
    let source = only.at;
    let follow = |value: Option<Value>| match value {
        Some(Value::Register(id)) if depth > 0 => origin(flow, source, id, depth - 1),
        _ => None,
    };
    match flow.meanings[source]? {
        Meaning::WaitParity | Meaning::WaitState => {
            (flow.result(source) == Some(Value::Register(register))).then_some((source, true))
        }
        Meaning::Select => {
            let (wait, positive) = follow(flow.operand(source, Arg::C))?;
            match (flow.number(source, Arg::A)?, flow.number(source, Arg::B)?) {
                (0, 0) => None,
                (_, 0) => Some((wait, positive)),
                (0, _) => Some((wait, !positive)),
                _ => None,
            }
        }
        Meaning::Compare if flow.number(source, Arg::B) == Some(0) => {
            let (wait, positive) = follow(flow.operand(source, Arg::A))?;
            if flow.has(source, Mod::Ne) {
                Some((wait, positive))
            } else if flow.has(source, Mod::Eq) {
                Some((wait, !positive))
            } else {
                None
            }
        }
        Meaning::Not => follow(flow.operand(source, Arg::A)).map(|(wait, positive)| (wait, !positive)),
        Meaning::Move => follow(flow.operand(source, Arg::A)),
        _ => None,
    }
}
