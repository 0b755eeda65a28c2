//! Ordinary stores to shared memory that a bulk store then reads through the async proxy.

use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::operand::resolve_space;
use crate::isa::table::Shape;
use crate::isa::{Arg, Form, Mod};
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;
use crate::program::operand_index;
use crate::types::Space;

/// See the page.
pub static RULE: Rule = Rule {
    name: "missing-proxy-fence",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "shared memory written by ordinary stores, then read by a bulk store, with no proxy fence between",
    page: include_str!("missing-proxy-fence.md"),
};

const FENCE: u8 = 1;
const UNCLEAR: u8 = 2;
const STORE: u8 = 4;

/// Runs the rule. Low on false alarms: whoever fences on one path knows about proxies.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    let is_copy = |meaning| meaning == Meaning::BulkStore;
    if flow.all(is_copy).next().is_none() {
        return;
    }
    let is_store = |at: At| {
        matches!(flow.meanings[at], Some(Meaning::Store | Meaning::Atomic)) && writes_shared(flow, at)
    };
    let before = flow.before(|at| match flow.meanings[at] {
        Some(Meaning::FenceProxyAsync) => FENCE,
        None | Some(Meaning::Call) => UNCLEAR,
        _ if is_store(at) => STORE,
        _ => 0,
    });
    for copy in flow.all(is_copy).filter(|&copy| before[copy] == STORE) {
        let mut store = None;
        let _ = flow.backward(copy, |at| {
            store = store.or(Some(at).filter(|&at| is_store(at) && !are_apart(flow, at, copy)));
            store.is_none()
        });
        let Some(store) = store else { continue };
        let message = format!(
            "`{}` reads shared memory through the async proxy, but the stores before it are not fenced",
            flow.spelled(copy)
        );
        out.push(
            Diagnostic::new(&RULE, flow.opcode_span(copy), message)
                .label("may read stale data")
                .also(flow.opcode_span(store), "written through the generic proxy here")
                .note("a barrier orders the threads, not the proxies (PTX ISA §9.7.10.28.2)")
                .help(format!(
                    "let every thread that stores execute `{}{}` after its stores and before the barrier",
                    Form::FenceProxyAsync.spelling(),
                    Mod::SharedCta.text()
                )),
        );
    }
}

/// Whether the store writes one variable and the copy reads another.
fn are_apart(flow: &Flow, store: At, copy: At) -> bool {
    let variable = |at: At, arg: Arg| flow.address(at, flow.operand(at, arg)?).variable();
    let written = variable(store, Arg::Addr).or(variable(store, Arg::Dst));
    matches!((written, variable(copy, Arg::Src)), (Some(written), Some(read)) if written != read)
}

fn writes_shared(flow: &Flow, at: At) -> bool {
    let Some(row) = flow.row(at) else { return false };
    let index = operand_index(row, Arg::Addr).or(operand_index(row, Arg::Dst));
    let Some(Shape::Address(spec)) = index.map(|i| &row.row.operands[i].shape) else { return false };
    match resolve_space(row, spec.space) {
        Some(space) => space == Space::Shared,
        None => {
            let place = index.and_then(|i| flow.place(at, flow.routine.operands(flow.inst(at))[i]));
            place.is_some_and(|p| flow.program.variables[p.variable.0 as usize].space == Space::Shared)
        }
    }
}
