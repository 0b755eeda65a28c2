//! Groups of non-bulk copies: committed, waited for, in that order.

use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::Form;
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;

/// See the page.
pub static UNCOMMITTED_COPY: Rule = Rule {
    name: "uncommitted-copy",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "an asynchronous copy whose thread goes on to wait for groups without having committed it",
    page: include_str!("uncommitted-copy.md"),
};

/// See the page.
pub static UNAWAITED_COPY: Rule = Rule {
    name: "unawaited-copy",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "an asynchronous copy that nothing ever waits for",
    page: include_str!("unawaited-copy.md"),
};

/// See the page.
pub static WAIT_WITHOUT_GROUP: Rule = Rule {
    name: "wait-without-group",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a wait_group before which the thread cannot have committed a group",
    page: include_str!("wait-without-group.md"),
};

const COMMIT: u8 = 1;
const WAIT_GROUP: u8 = 2;
/// wait_all, or an mbarrier that tracks copies without a group.
const END: u8 = 4;
const UNCLEAR: u8 = 8;
const BULK_COMMIT: u8 = 16;
const COPY: u8 = 32;

/// Runs the rules. In a device function the caller may do the rest; only kernels are judged.
pub fn check(flow: &Flow, out: &mut Vec<Diagnostic>) {
    let waits = |m| matches!(m, Meaning::CpAsyncWaitGroup | Meaning::BulkWait);
    let concerned = flow.all(|m| m == Meaning::CpAsync || waits(m)).next().is_some();
    if !flow.is_kernel() || !concerned {
        return;
    }
    let classify = |at: At| match flow.meanings[at] {
        None | Some(Meaning::Call) => UNCLEAR,
        Some(Meaning::CpAsync) => COPY,
        Some(Meaning::CpAsyncCommit) => COMMIT,
        Some(Meaning::BulkCommit) => BULK_COMMIT,
        Some(Meaning::CpAsyncWaitGroup) => WAIT_GROUP,
        Some(Meaning::CpAsyncWaitAll | Meaning::CpAsyncArrive | Meaning::CpAsyncArriveNoInc) => END,
        _ => 0,
    };
    let after = flow.after(classify);
    for copy in flow.all(|meaning| meaning == Meaning::CpAsync) {
        out.extend(copy_without_end(flow, copy, after[copy]));
    }
    let before = flow.before(classify);
    for wait in flow.all(waits) {
        out.extend(wait_without_group(flow, wait, before[wait]));
    }
}

fn copy_without_end(flow: &Flow, copy: At, after: u8) -> Option<Diagnostic> {
    let awaited = after & COMMIT != 0 && after & WAIT_GROUP != 0;
    if after & (UNCLEAR | END) != 0 || awaited {
        return None;
    }
    let span = flow.opcode_span(copy);
    if after & WAIT_GROUP != 0 {
        let mut wait = None;
        let is_wait = |at: &At| flow.meanings[*at] == Some(Meaning::CpAsyncWaitGroup);
        let _ = flow.forward(copy, |at| {
            wait = wait.or(Some(at).filter(is_wait));
            wait.is_none()
        });
        let diagnostic = Diagnostic::new(&UNCOMMITTED_COPY, span, "this copy is never committed to a group")
            .label("in no group")
            .help(format!(
                "put `{}` between the copies and the wait, or wait with `{}`",
                Form::CpAsyncCommitGroup.op_name(),
                Form::CpAsyncWaitAll.op_name()
            ));
        return Some(match wait {
            Some(wait) => diagnostic.also(flow.opcode_span(wait), "waits for committed groups only"),
            None => diagnostic,
        });
    }
    Some(
        Diagnostic::new(&UNAWAITED_COPY, span, "nothing waits for this copy")
            .label("still under way when the thread ends")
            .note(format!("the destination may only be read after `{}`, `{}`, or a wait on a barrier that tracks the copy", Form::CpAsyncWaitGroup.op_name(), Form::CpAsyncWaitAll.op_name()))
            .help("commit it to a group and wait for the group before the data is used"),
    )
}

fn wait_without_group(flow: &Flow, wait: At, before: u8) -> Option<Diagnostic> {
    let bulk = flow.meanings[wait] == Some(Meaning::BulkWait);
    let commit = if bulk { BULK_COMMIT } else { COMMIT };
    if before & (UNCLEAR | commit) != 0 {
        return None;
    }
    let mut copy = None;
    if !bulk && before & COPY != 0 {
        let is_copy = |at: &At| flow.meanings[*at] == Some(Meaning::CpAsync);
        let _ = flow.backward(wait, |at| {
            copy = copy.or(Some(at).filter(is_copy));
            copy.is_none()
        });
    }
    let spelled = flow.spelled(wait);
    let span = flow.opcode_span(wait);
    let message = format!("`{spelled}` waits for nothing: no group can have been committed before it");
    let diagnostic = Diagnostic::new(&WAIT_WITHOUT_GROUP, span, message).label("no group to wait for");
    Some(match copy {
        Some(copy) => diagnostic
            .also(flow.opcode_span(copy), "this copy is not committed yet")
            .note("the wait covers committed groups only, so the copy may still be under way behind it")
            .help(format!("put `{}` before the wait", Form::CpAsyncCommitGroup.op_name())),
        None => diagnostic.help("remove it, or commit a group before it"),
    })
}
