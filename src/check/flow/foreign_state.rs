//! Phase states that no arrive on this barrier gave.

use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::Arg;
use crate::program::Value;
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;

/// See the page.
pub static RULE: Rule = Rule {
    name: "foreign-state",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a phase state that did not come from an arrive on the same barrier",
    page: include_str!("foreign-state.md"),
};

/// Runs the rule.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    for at in flow.all(|meaning| matches!(meaning, Meaning::WaitState | Meaning::BarrierQuery)) {
        match flow.operand(at, Arg::State) {
            Some(Value::Const(_)) => out.push(constant(flow, at)),
            Some(Value::Register(state)) => out.extend(of_another_barrier(flow, at, state)),
            _ => {}
        }
    }
}

fn constant(flow: &Flow, at: At) -> Diagnostic {
    let text = flow.operand_text(at, Arg::State);
    let message = format!("the constant `{text}` is no phase state");
    Diagnostic::new(&RULE, flow.operand_span(at, Arg::State), message)
        .label("must come from an arrive")
        .note("a state is opaque: only the result of an arrive on the same barrier is one (PTX ISA §9.7.15.16.19)")
        .help("pass the register that the arrive wrote, or wait for a parity")
}

fn of_another_barrier(flow: &Flow, at: At, state: crate::program::RegisterId) -> Option<Diagnostic> {
    // An address that mapa made may be that of the own barrier after all.
    let local = |at| flow.barrier(at).filter(|place| !place.remote);
    let barrier = local(at)?;
    let definitions = flow.reaching(at, state)?;
    // All writers must be arrives on known other barriers: one doubtful writer excuses the wait.
    let mut other = None;
    for definition in definitions {
        let arrives = matches!(
            flow.meanings[definition.at],
            Some(Meaning::Arrive | Meaning::ArriveExpectTx | Meaning::ArriveNoComplete)
        );
        let place = local(definition.at).filter(|place| arrives && *place != barrier)?;
        other = Some((definition.at, place));
    }
    let (arrive, place) = other?;
    let message = format!(
        "this state comes from an arrive on `{}`, not on `{}`",
        flow.place_name(place),
        flow.place_name(barrier)
    );
    Some(
        Diagnostic::new(&RULE, flow.operand_span(at, Arg::State), message)
            .label("state of another barrier")
            .also(flow.opcode_span(arrive), format!("arrives on `{}`", flow.place_name(place)))
            .help("wait with the state of an arrive on the same barrier"),
    )
}
