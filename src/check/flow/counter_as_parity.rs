//! A loop counter where a phase parity is wanted.

use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::Arg;
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;
use crate::program::{RegisterId, Value};

/// See the page.
pub static RULE: Rule = Rule {
    name: "counter-as-parity",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a counter used as the phase parity of a wait",
    page: include_str!("counter-as-parity.md"),
};

/// Runs the rule.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    for wait in flow.all(|meaning| meaning == Meaning::WaitParity) {
        let Some(Value::Register(parity)) = flow.operand(wait, Arg::Parity) else { continue };
        let Some(count) = counting(flow, wait, parity, 4) else { continue };
        if stays_below_two(flow, parity) {
            continue;
        }
        let name = flow.operand_text(wait, Arg::Parity);
        let (way, does) = match counts_down(flow, count) {
            true => ("down", "counts down"),
            false => ("up", "grows"),
        };
        let message = format!("`{name}` counts {way}, but a phase parity is 0 or 1");
        out.push(
            Diagnostic::new(&RULE, flow.operand_span(wait, Arg::Parity), message)
                .label("not a parity from the third round on")
                .also(flow.opcode_span(count), format!("{does} here"))
                .help(format!("use its lowest bit: `and.b32 %parity, {name}, 1;`"))
                .note("if one barrier serves several stages, the parity is the lowest bit of the round, not of the step"),
        );
    }
}

/// A loop of at most two rounds counts 0, 1: parities after all.
fn stays_below_two(flow: &Flow, register: RegisterId) -> bool {
    flow.all(|meaning| meaning == Meaning::Compare).any(|at| {
        let compares = |register_side, bound_side| {
            flow.operand(at, register_side) == Some(Value::Register(register))
                && flow.number(at, bound_side).is_some_and(|n| n <= 2)
        };
        compares(Arg::A, Arg::B) || compares(Arg::B, Arg::A)
    })
}

/// Whether the sum adds a constant that is negative, perhaps written without a sign.
fn counts_down(flow: &Flow, sum: At) -> bool {
    [Arg::A, Arg::B].iter().any(|&arg| flow.number(sum, arg).is_some_and(|step| (step as i32).is_negative()))
}

/// The instruction by which `register` grows from its own former value.
fn counting(flow: &Flow, at: At, register: RegisterId, depth: u32) -> Option<At> {
    for definition in flow.reaching(at, register)? {
        let source = definition.at;
        match flow.meanings[source] {
            Some(Meaning::Add) => {
                let operands = [flow.operand(source, Arg::A)?, flow.operand(source, Arg::B)?];
                if operands.contains(&Value::Register(register))
                    || grows_in_loop(flow, source, operands, register)
                {
                    return Some(source);
                }
            }
            Some(Meaning::Move) if depth > 0 => {
                if let Some(Value::Register(inner)) = flow.operand(source, Arg::A)
                    && let Some(found) = counting(flow, source, inner, depth - 1)
                {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// `n = i + 1` with `i = n` further round the loop.
fn grows_in_loop(flow: &Flow, at: At, operands: [Value; 2], register: RegisterId) -> bool {
    operands.iter().any(|operand| {
        let Value::Register(inner) = operand else { return false };
        let definitions = flow.reaching(at, *inner);
        definitions.into_iter().flatten().any(|definition| {
            flow.meanings[definition.at] == Some(Meaning::Move)
                && flow.operand(definition.at, Arg::A) == Some(Value::Register(register))
        })
    })
}
