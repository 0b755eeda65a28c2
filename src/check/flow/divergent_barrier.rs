//! Aligned barriers that only some lanes of a warp reach.

use std::cell::{OnceCell, RefCell};

use rustc_hash::FxHashMap;

use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::Mod;
use crate::program::flow::{At, BlockId, Flow};
use crate::program::lanes::Variation;
use crate::program::meaning::Meaning;
use crate::source::Span;

/// See the page.
pub static RULE: Rule = Rule {
    name: "divergent-barrier",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "an aligned barrier under a branch that splits a warp",
    page: include_str!("divergent-barrier.md"),
};

/// Runs the rule.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    let barriers: Vec<At> = flow.all(Meaning::is_meeting).filter(|&at| is_aligned(flow, at)).collect();
    if barriers.is_empty() {
        return;
    }
    let known: RefCell<FxHashMap<BlockId, bool>> = RefCell::default();
    let splits = |branch: BlockId| {
        let find = || varying_guard(flow, flow.blocks[branch].end - 1);
        *known.borrow_mut().entry(branch).or_insert_with(find)
    };
    let met_later: OnceCell<Vec<u8>> = OnceCell::new();
    let met_later = || met_later.get_or_init(|| flow.after(|at| u8::from(is_met(flow, at))));
    for barrier in barriers {
        if varying_guard(flow, barrier) && met_later()[barrier] != 0 {
            let guard = flow.program.syntax(flow.routine, flow.inst(barrier)).guard.map(|guard| guard.span);
            let (span, label) =
                (guard.unwrap_or(flow.opcode_span(barrier)), "differs between the lanes of a warp");
            out.push(report(flow, barrier, span, label));
            continue;
        }
        let block = flow.block_of(barrier);
        let split = flow.controlling(block, splits);
        let Some((branch, towards)) = split else { continue };
        if !others_just_end(flow, met_later(), branch, towards) {
            let branch = flow.opcode_span(flow.blocks[branch].end - 1);
            out.push(report(flow, barrier, branch, "the lanes of a warp part here"));
        }
    }
}

fn report(flow: &Flow, barrier: At, cause: Span, why: &str) -> Diagnostic {
    let message = format!("`{}` is aligned, but only some lanes of a warp come here", flow.spelled(barrier));
    Diagnostic::new(&RULE, flow.opcode_span(barrier), message)
        .label("all lanes of the warp must execute this together")
        .also(cause, why)
        .help("take away the guard or branch, or let whole warps take it (decide by `%tid.x` divided by 32), or use `barrier` without `.aligned`")
}

/// Whether the guard surely differs within a warp.
fn varying_guard(flow: &Flow, at: At) -> bool {
    flow.inst(at).guard.is_some_and(|(p, _)| flow.variation(at, p) == Variation::Varies)
}

/// `bar.*` is always aligned; `barrier.*` when it says so.
fn is_aligned(flow: &Flow, at: At) -> bool {
    let always = matches!(flow.meanings[at], Some(Meaning::AlignedBarrier | Meaning::AlignedBarrierArrive));
    always || flow.has(at, Mod::Aligned)
}

/// Lanes that leave the kernel without meeting anybody do not hold up the others; nor do those of
/// which that is not known.
fn others_just_end(flow: &Flow, met_later: &[u8], branch: BlockId, towards: BlockId) -> bool {
    let others = flow.blocks[branch].successors.iter().filter(|&&s| s != towards);
    others.copied().all(|successor| {
        let start = flow.blocks[successor].start;
        !is_met(flow, start) && met_later[start] == 0
    })
}

fn is_met(flow: &Flow, at: At) -> bool {
    flow.meanings[at].is_some_and(Meaning::is_meeting)
}
