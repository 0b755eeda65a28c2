//! Bytes that are expected, against bytes that are copied, where both are constant; and copies whose
//! bytes nothing expects.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Flow;
use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::{Arg, Form, Mod};
use crate::program::VariableId;
use crate::program::flow::At;
use crate::program::meaning::Meaning;
use crate::program::value::Place;

/// See the page.
pub static RULE: Rule = Rule {
    name: "transaction-bytes",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "an expect_tx of other bytes than the copies on the same barrier bring, or none",
    page: include_str!("transaction-bytes.md"),
};

/// What one function does to one barrier's transaction count.
#[derive(Default)]
struct Traffic {
    expects: Vec<At>,
    signals: Vec<At>,
}

/// Runs the rule: for a barrier with one expect_tx and copies of constant sizes, all run together, or
/// with copies and no expect_tx at all. In a device function the caller may do the rest; only kernels are judged.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    let mut traffic: FxHashMap<Place, Traffic> = FxHashMap::default();
    let mut unclear: FxHashSet<VariableId> = FxHashSet::default();
    let expects = |m| matches!(m, Meaning::ExpectTx | Meaning::ArriveExpectTx);
    let concerned = |m| expects(m) || may_signal(m);
    if !flow.is_kernel() || flow.all(concerned).next().is_none() || flow.may_do_more(concerned) {
        return;
    }
    for at in flow.all(concerned) {
        let expecting = flow.meanings[at].is_some_and(expects);
        match flow.barrier(at) {
            // Perhaps the own barrier after all.
            Some(place) if place.remote => {
                unclear.insert(place.variable);
            }
            Some(place) if expecting => traffic.entry(place).or_default().expects.push(at),
            Some(place) => traffic.entry(place).or_default().signals.push(at),
            // It may be any barrier: all sums are uncertain.
            None if flow.operand(at, Arg::Bar).is_some() => return,
            None => {}
        }
    }
    let mut found: Vec<Diagnostic> = traffic
        .iter()
        .filter(|(place, _)| !unclear.contains(&place.variable))
        .filter_map(|(place, traffic)| match traffic.expects.as_slice() {
            [expect] => compare(flow, *expect, *place, &traffic.signals),
            [] => unexpected(flow, *place, &traffic.signals),
            _ => None,
        })
        .collect();
    found.sort_by_key(|diagnostic| diagnostic.span);
    out.append(&mut found);
}

fn may_signal(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::BulkLoad | Meaning::AsyncStore | Meaning::AsyncOther | Meaning::CompleteTx)
}

fn compare(flow: &Flow, expect: At, barrier: Place, signals: &[At]) -> Option<Diagnostic> {
    let expected = flow.number(expect, Arg::TxCount)?;
    let mut copied: i64 = 0;
    for &at in signals {
        let plain = flow.row(at)?.form() == Form::CpAsyncBulkGlobalToShared && !is_multicast(flow, at);
        if !flow.run_together(at, expect) || !plain {
            return None;
        }
        copied = copied.checked_add(flow.number(at, Arg::Size)?)?;
    }
    // No copy here: another function or CTA brings the bytes.
    let first = *signals.first()?;
    if copied == expected {
        return None;
    }
    let text = |n: usize| if n == 1 { "the copy".to_string() } else { format!("the {n} copies") };
    let message = format!(
        "`{}` is told to expect {expected} bytes; {} on it bring{} {copied}",
        flow.place_name(barrier),
        text(signals.len()),
        if signals.len() == 1 { "s" } else { "" }
    );
    Some(
        Diagnostic::new(&RULE, flow.operand_span(expect, Arg::TxCount), message)
            .label(format!("should be {copied}"))
            .also(flow.operand_span(first, Arg::Size), "copied here")
            .note(match copied < expected {
                true => "the phase never completes: bytes are missing",
                false => "the phase never completes, or completes before all bytes are there: the count does not end at 0",
            })
            .help(format!("expect {copied} bytes, or mend the sizes of the copies")),
    )
}

/// Copies on a barrier that nothing in the kernel tells to expect any bytes.
fn unexpected(flow: &Flow, barrier: Place, signals: &[At]) -> Option<Diagnostic> {
    let copy = *signals.iter().find(|&&at| flow.meanings[at] == Some(Meaning::BulkLoad))?;
    let name = flow.place_name(barrier);
    let message = format!("nothing tells `{name}` to expect the bytes that this copy brings");
    Some(
        Diagnostic::new(&RULE, flow.operand_span(copy, Arg::Bar), message)
            .label("this kernel has no expect_tx for it")
            .note("a phase completes when all arrivals are there and as many bytes came as were expected")
            .help(format!(
                "let one thread execute `{}` on `{name}` with the bytes of all copies of a phase",
                Form::MbarrierArriveExpectTx.spelling()
            )),
    )
}

fn is_multicast(flow: &Flow, at: At) -> bool {
    [Mod::MulticastCluster, Mod::MulticastCluster16b, Mod::MulticastCluster32b]
        .iter()
        .any(|&m| flow.has(at, m))
}
