//! Addresses in other CTAs: used as such, and published widely enough.

use crate::check::words;
use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::table::{Shape, SpaceSpec};
use crate::isa::{Arg, Mod};
use crate::program::Value;
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;
use crate::program::value::{Known, Place};

/// See the page.
pub static REMOTE_AS_LOCAL: Rule = Rule {
    name: "remote-as-local",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a `.shared` or `.shared::cta` access through an address that mapa made",
    page: include_str!("remote-as-local.md"),
};

/// See the page.
pub static REMOTE_CTA_SCOPE: Rule = Rule {
    name: "remote-cta-scope",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "an arrive on another CTA's barrier that releases only to its own CTA",
    page: include_str!("remote-cta-scope.md"),
};

/// Runs the rules.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    if !flow.meanings.contains(&Some(Meaning::Mapa)) {
        return;
    }
    for at in 0..flow.meanings.len() {
        let Some(row) = flow.row(at) else { continue };
        let values = flow.routine.operands(flow.inst(at));
        for (spec, value) in row.row.operands.iter().zip(values) {
            let (Shape::Address(address) | Shape::Compound(address, _)) = &spec.shape else { continue };
            if !is_remote(flow, at, *value) {
                continue;
            }
            let space = match address.space {
                SpaceSpec::Slot(slot) => row.modifier(slot as usize),
                SpaceSpec::Fixed(modifier) => Some(modifier),
                SpaceSpec::Generic | SpaceSpec::Any | SpaceSpec::Tensor => None,
            };
            if matches!(space, Some(Mod::Shared | Mod::SharedCta)) {
                out.push(as_local(flow, at, spec.arg, space.map_or("", Mod::text)));
            } else if spec.arg == Arg::Bar {
                out.extend(narrow_scope(flow, at));
            }
        }
    }
}

fn is_remote(flow: &Flow, at: At, value: Value) -> bool {
    match flow.address(at, value) {
        Known::Remote => true,
        Known::Place(Place { remote, .. }) | Known::Within { remote, .. } => remote,
        Known::No | Known::Number(_) => false,
    }
}

fn as_local(flow: &Flow, at: At, arg: Arg, space: &str) -> Diagnostic {
    let spelled = flow.operand_text(at, arg);
    let message =
        format!("`{spelled}` is an address in another CTA (from `mapa`); `{space}` means the own one");
    let diagnostic =
        Diagnostic::new(&REMOTE_AS_LOCAL, flow.operand_span(at, arg), message).label("address from `mapa`");
    let syntax = flow.program.syntax(flow.routine, flow.inst(at));
    match words::place(flow.program, syntax, space) {
        Some(span) => {
            let right = ".shared::cluster";
            diagnostic.fix(Applicability::Unsafe, format!("write `{right}`"), span, right)
        }
        None => diagnostic,
    }
}

/// A remote arrive whose release does not reach the CTA that waits.
fn narrow_scope(flow: &Flow, at: At) -> Option<Diagnostic> {
    let arrives = matches!(flow.meanings[at], Some(Meaning::Arrive | Meaning::ArriveExpectTx));
    let row = flow.row(at)?;
    let slot = row.row.slots.iter().position(|slot| slot.name == ".scope")?;
    if !arrives || row.meaning(slot) != Some(Mod::Cta) || row.has(Mod::Relaxed) {
        return None;
    }
    let written = row.modifier(slot).is_some();
    let message = format!(
        "`{}` arrives on a barrier of another CTA, but {}",
        flow.spelled(at),
        if written {
            "releases with `.cta` scope only"
        } else {
            "without a scope it releases to its own CTA only"
        }
    );
    let diagnostic = Diagnostic::new(&REMOTE_CTA_SCOPE, flow.opcode_span(at), message)
        .label("`.cta` does not reach the waiting CTA")
        .help("write `.release.cluster`, and wait with `.acquire.cluster`");
    Some(match published(flow, at) {
        Some(store) => diagnostic
            .also(flow.opcode_span(store), "written here")
            .note("what this thread wrote is not promised to be visible there (PTX ISA §8.8)"),
        // The arrival of a consumer that gives a buffer back: shipped code leaves it like this.
        None => diagnostic
            .severity(Severity::Note)
            .note("no store comes before it since the last wait; to be safe by the manual, reads need the order, too (PTX ISA §8.8)"),
    })
}

/// A store that the arrive is to publish: one that no wait separates from it.
fn published(flow: &Flow, arrive: At) -> Option<At> {
    let mut store = None;
    let _ = flow.backward(arrive, |at| match flow.meanings[at] {
        Some(Meaning::Store | Meaning::Atomic) => {
            store.get_or_insert(at);
            false
        }
        Some(
            Meaning::WaitParity
            | Meaning::WaitState
            | Meaning::CtaBarrier
            | Meaning::AlignedBarrier
            | Meaning::ClusterWait,
        )
        | None => false,
        _ => store.is_none(),
    });
    store
}
