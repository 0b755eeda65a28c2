//! Barrier inits that a relaxed cluster barrier does not publish.

use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::{Form, Mod};
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;

/// See the page.
pub static RULE: Rule = Rule {
    name: "unpublished-init",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "barriers initialised, then a relaxed cluster arrive, with no fence that publishes the inits between",
    page: include_str!("unpublished-init.md"),
};

/// Runs the rule.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    let relaxed = |at: At| flow.meanings[at] == Some(Meaning::ClusterArrive) && flow.has(at, Mod::Relaxed);
    if !(0..flow.meanings.len()).any(relaxed) {
        return;
    }
    let mut reported = Vec::new();
    for init in flow.all(|meaning| meaning == Meaning::BarrierInit) {
        let mut arrive = None;
        let complete = flow.forward(init, |at| {
            if relaxed(at) {
                arrive.get_or_insert(at);
            }
            !(relaxed(at) || publishes(flow, at) || flow.is_opaque(at))
        });
        let Some(arrive) = arrive.filter(|at| complete && !reported.contains(at)) else { continue };
        reported.push(arrive);
        out.push(
            Diagnostic::new(&RULE, flow.opcode_span(arrive), "this relaxed arrive publishes nothing")
                .label("orders no memory")
                .also(flow.opcode_span(init), "the other CTAs may not see this init")
                .help(format!(
                    "execute `{}` after the inits, or arrive without `.relaxed`",
                    Form::FenceMbarrierInit.spelling()
                )),
        );
    }
}

fn publishes(flow: &Flow, at: At) -> bool {
    match flow.meanings[at] {
        Some(Meaning::FenceMbarrierInit | Meaning::ClusterArrive) => true,
        Some(Meaning::Fence) => {
            [Mod::Cluster, Mod::Gpu, Mod::Sys, Mod::Gl].iter().any(|&scope| flow.has(at, scope))
        }
        _ => false,
    }
}
