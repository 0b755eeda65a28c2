//! Bytes that are expected, against bytes that are copied, where both are constant.

use super::Flow;
use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::{Arg, Form, Mod};
use crate::program::flow::At;
use crate::program::meaning::Meaning;
use crate::program::value::Place;

/// See the page.
pub static RULE: Rule = Rule {
    name: "transaction-bytes",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "an expect_tx of other bytes than the copies on the same barrier bring",
    page: include_str!("transaction-bytes.md"),
};

/// Runs the rule: for a barrier with one expect_tx and copies of constant sizes, all in one block.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    let expects: Vec<At> =
        flow.all(|m| matches!(m, Meaning::ExpectTx | Meaning::ArriveExpectTx)).collect();
    if expects.is_empty() {
        return;
    }
    // Anything that may signal a barrier that cannot be told makes all sums uncertain.
    let signals: Vec<At> = flow
        .all(|m| {
            matches!(m, Meaning::BulkLoad | Meaning::AsyncStore | Meaning::AsyncOther | Meaning::CompleteTx)
        })
        .filter(|&at| flow.operand(at, Arg::Bar).is_some())
        .collect();
    if flow.has_calls() || signals.iter().any(|&at| flow.barrier(at).is_none()) {
        return;
    }
    for &expect in &expects {
        let Some(barrier) = flow.barrier(expect).filter(|place| !place.remote) else { continue };
        let alone = expects.iter().filter(|&&at| flow.barrier(at).is_none_or(|b| b == barrier)).count() == 1;
        if alone {
            out.extend(compare(flow, expect, barrier, &signals));
        }
    }
}

fn compare(flow: &Flow, expect: At, barrier: Place, signals: &[At]) -> Option<Diagnostic> {
    let expected = flow.number(expect, Arg::TxCount)?;
    let guard = flow.inst(expect).guard;
    let mut copied = 0;
    let mut copies = Vec::new();
    for &at in signals.iter().filter(|&&at| flow.barrier(at) == Some(barrier)) {
        let same_path = flow.block_of(at) == flow.block_of(expect) && flow.inst(at).guard == guard;
        let plain = flow.row(at)?.form() == Form::CpAsyncBulkGlobalToShared && !is_multicast(flow, at);
        if !same_path || !plain {
            return None;
        }
        copied += flow.number(at, Arg::Size)?;
        copies.push(at);
    }
    // No copy here: another function or CTA brings the bytes.
    let first = *copies.first()?;
    if copied == expected {
        return None;
    }
    let text = |n: usize| if n == 1 { "the copy".to_string() } else { format!("the {n} copies") };
    let message = format!(
        "`{}` is told to expect {expected} bytes; {} on it bring{} {copied}",
        flow.place_name(barrier),
        text(copies.len()),
        if copies.len() == 1 { "s" } else { "" }
    );
    Some(
        Diagnostic::new(&RULE, flow.operand_span(expect, Arg::TxCount), message)
            .label(format!("should be {copied}"))
            .also(flow.operand_span(first, Arg::Size), "copied here")
            .note(match copied < expected {
                true => "the phase never completes: bytes are missing",
                false => "the phase completes too early, and the surplus falls into the next one",
            })
            .help(format!("expect {copied} bytes, or mend the sizes of the copies")),
    )
}

fn is_multicast(flow: &Flow, at: At) -> bool {
    [Mod::MulticastCluster, Mod::MulticastCluster16b, Mod::MulticastCluster32b].iter().any(|&m| flow.has(at, m))
}
