//! Single arrivals that count more than a phase of the barrier has.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::Flow;
use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::Arg;
use crate::program::flow::At;
use crate::program::meaning::Meaning;
use crate::program::value::Place;
use crate::source::Span;

/// See the page.
pub static RULE: Rule = Rule {
    name: "excess-arrivals",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "an arrival that counts more than the barrier expects, or completes it against a promise",
    page: include_str!("excess-arrivals.md"),
};

/// The counts of a barrier (PTX ISA §9.7.15.16.3); others are reported where they stand.
const COUNTS: Range<i64> = 1..1 << 20;

/// The largest count that an init gives a barrier, and where it stands.
type Expected = FxHashMap<Place, (i64, Span)>;

/// Runs the rule.
pub fn check(flows: &[Flow], out: &mut Vec<Diagnostic>) {
    let Some(expected) = expected(flows) else { return };
    for flow in flows {
        let arrivals = flow.all(|m| matches!(m, Meaning::Arrive | Meaning::ArriveNoComplete));
        out.extend(arrivals.filter_map(|at| judge(flow, at, &expected)));
    }
}

/// What the barriers of the file expect at most; `None` when something that cannot be seen may give one
/// more: an init of an unknown barrier, a call, or copies, whose arrival raises the pending count first.
fn expected(flows: &[Flow]) -> Option<Expected> {
    let mut expected = Expected::default();
    for flow in flows {
        let raises = flow.meanings.contains(&Some(Meaning::CpAsyncArrive));
        if raises || flow.may_do_more(|_| true) {
            return None;
        }
        for init in flow.all(|meaning| meaning == Meaning::BarrierInit) {
            let place = flow.barrier(init).filter(|place| !place.remote)?;
            let count = flow.number(init, Arg::Count).filter(|count| COUNTS.contains(count))?;
            let most = expected.entry(place).or_insert((0, Span::default()));
            if count > most.0 {
                *most = (count, flow.operand_span(init, Arg::Count));
            }
        }
    }
    Some(expected)
}

fn judge(flow: &Flow, at: At, expected: &Expected) -> Option<Diagnostic> {
    let place = flow.barrier(at).filter(|place| !place.remote)?;
    let variable = &flow.program.variables[place.variable.0 as usize];
    let &(most, init) = expected.get(&place).filter(|_| !variable.external)?;
    let count = flow.number(at, Arg::Count).filter(|count| COUNTS.contains(count))?;
    let promises = flow.meanings[at] == Some(Meaning::ArriveNoComplete);
    let name = flow.place_name(place);
    let message = match promises {
        _ if count > most => format!("`{name}` expects {most} in a phase; this arrival alone counts {count}"),
        true if count == most => format!("this arrival completes the phase of `{name}`, and promises not to"),
        _ => return None,
    };
    let help = match promises {
        true => "count less, or arrive without the promise".to_string(),
        false => format!("count {most} or less, or initialise `{name}` with a larger count"),
    };
    Some(
        Diagnostic::new(&RULE, flow.operand_span(at, Arg::Count), message)
            .label(format!("the phase has {most} at most"))
            .also(init, "expected by this init")
            .note("what the barrier holds afterwards is undefined")
            .help(help),
    )
}
