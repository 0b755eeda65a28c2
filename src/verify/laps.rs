//! Whether a run went round its rings often enough to show faults of phases.

use rustc_hash::FxHashSet;

use super::poll::{Poll, Polls};
use super::uses::successors;
use super::watch::Watch;
use crate::machine::Machine;
use crate::machine::code::{Code, Pc};

/// Two phases of each parity: with fewer, a wait for a wrong phase may pass for a right one.
const ENOUGH: u64 = 4;

/// Waits in loops on barriers that completed few phases, each with the barrier (CTA, address) and how many.
pub fn few(machine: &Machine, watch: &Watch) -> Vec<(Pc, (u32, u32), u64)> {
    let polls = Polls::new(&machine.code);
    let mut found: Vec<(Pc, (u32, u32), u64)> = Vec::new();
    for page in watch.ledger.pages.values().filter(|page| page.completed < ENOUGH) {
        for &(pc, _) in page.rows.iter().flat_map(|row| &row.waited) {
            let is_new = found.iter().all(|(other, ..)| *other != pc);
            if is_new && comes_back(&machine.code, &polls, pc) {
                found.push((pc, (page.cta, page.address), page.completed));
            }
        }
    }
    found.sort_unstable();
    found
}

/// Whether a wait is executed again after it has passed.
fn comes_back(code: &Code, polls: &Polls, pc: Pc) -> bool {
    let Poll::Spins { region, .. } = polls.at(pc) else { return false };
    let spin: FxHashSet<Pc> = region.into_iter().chain([pc]).collect();
    let mut seen: FxHashSet<Pc> = FxHashSet::default();
    let mut left: Vec<Pc> = spin.iter().flat_map(|&pc| successors(code, pc)).collect();
    left.retain(|next| !spin.contains(next));
    while let Some(at) = left.pop() {
        if at == pc {
            return true;
        }
        if seen.insert(at) {
            left.extend(successors(code, at));
        }
    }
    false
}
