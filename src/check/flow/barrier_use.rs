//! The life of barrier objects: initialised, by one thread, once, and not used after their end.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::{Arg, Form};
use crate::program::comment::Comment;
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;
use crate::program::value::{Known, Place};
use crate::program::{Program, VariableId};
use crate::source::{SourceFile, Span};
use crate::types::Space;

/// See the page.
pub static UNINITIALISED_BARRIER: Rule = Rule {
    name: "uninitialised-barrier",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a barrier that is used but initialised nowhere in the file",
    page: include_str!("uninitialised-barrier.md"),
};

/// See the page.
pub static INIT_BY_EVERY_THREAD: Rule = Rule {
    name: "init-by-every-thread",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a barrier initialised by all threads of the CTA",
    page: include_str!("init-by-every-thread.md"),
};

/// See the page.
pub static REPEATED_INIT: Rule = Rule {
    name: "repeated-init",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a barrier initialised again while it is alive",
    page: include_str!("repeated-init.md"),
};

/// See the page.
pub static USE_AFTER_INVAL: Rule = Rule {
    name: "use-after-inval",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a barrier used after it was invalidated",
    page: include_str!("use-after-inval.md"),
};

/// Runs the rules.
pub fn check(program: &Program, flows: &[Flow], out: &mut Vec<Diagnostic>) {
    flows.iter().for_each(Flow::renew_steps);
    uninitialised(program, flows, out);
    let launched_alone = launched_alone(program);
    for flow in flows {
        flow.renew_steps();
        if !launched_alone {
            every_thread(flow, out);
        }
        flow.renew_steps();
        lifetimes(flow, out);
    }
}

/// Variables that hold barriers which no init of the file can have made.
fn uninitialised(program: &Program, flows: &[Flow], out: &mut Vec<Diagnostic>) {
    let mut made: FxHashSet<VariableId> = FxHashSet::default();
    for flow in flows {
        for init in flow.all(|meaning| meaning == Meaning::BarrierInit) {
            match flow.barrier(init) {
                Some(place) => {
                    made.insert(place.variable);
                }
                // It may be any of them.
                None => return,
            }
        }
        // What a called function or unknown instruction does with an address cannot be seen.
        if flow.may_do_more(|meaning| meaning == Meaning::BarrierInit) {
            return;
        }
    }
    let mut reported: FxHashSet<VariableId> = FxHashSet::default();
    for flow in flows {
        for at in flow.all(Meaning::uses_barrier) {
            let Some(place) = flow.barrier(at).filter(|place| !place.remote) else { continue };
            let variable = &program.variables[place.variable.0 as usize];
            let judged =
                variable.space == Space::Shared && !variable.external && !made.contains(&place.variable);
            if !judged || !reported.insert(place.variable) {
                continue;
            }
            let name = program.module.name(variable.symbol);
            let message = format!("no `{}` of this file initialises `{name}`", Form::MbarrierInit.op_name());
            out.push(
                Diagnostic::new(&UNINITIALISED_BARRIER, flow.operand_span(at, Arg::Bar), message)
                    .label("used here")
                    .also(variable.span, "declared here")
                    .help(format!(
                        "let one thread initialise `{name}` and publish that with a barrier before this use"
                    )),
            );
        }
    }
}

/// An init that nothing keeps any thread from.
fn every_thread(flow: &Flow, out: &mut Vec<Diagnostic>) {
    let mut inits = flow.all(|meaning| meaning == Meaning::BarrierInit).peekable();
    if inits.peek().is_none() || !flow.is_kernel() || flow.threads().count == 1 {
        return;
    }
    let always_run = flow.inevitable_from(0);
    let left_before = flow.before(|at| u8::from(matches!(flow.meanings[at], Some(Meaning::End) | None)));
    for init in inits {
        let block = flow.block_of(init);
        let unconditional = !flow.is_guarded(init) && always_run.contains(&block);
        // A thread may have left before; each thread may have a barrier of its own.
        let known =
            matches!(flow.operand(init, Arg::Bar).map(|b| flow.address(init, b)), Some(Known::Place(_)));
        if !unconditional || !known || left_before[init] != 0 {
            continue;
        }
        let spelled = flow.spelled(init);
        out.push(
            Diagnostic::new(&INIT_BY_EVERY_THREAD, flow.opcode_span(init), "every thread of the CTA initialises this barrier")
                .label("executed by all threads")
                .note("the second init finds a live object, which is undefined, and races with the first")
                .help(format!("let one thread do it, with a guard as in `@%p {spelled} …`, and put a CTA barrier before the first use")),
        );
    }
}

/// The file's launch has CTAs of one thread.
fn launched_alone(program: &Program) -> bool {
    let mut comments = program.module.comments.iter().filter_map(|&place| Comment::at(program, place));
    comments.any(|comment| comment.launches_one_thread())
}

#[derive(Clone, Copy, PartialEq)]
enum Life {
    Alive(At),
    Ended(At),
}

/// Follows barriers through each block: a second init of a live one, a use of one that has ended.
fn lifetimes(flow: &Flow, out: &mut Vec<Diagnostic>) {
    for block in &flow.blocks {
        let mut lives: FxHashMap<Place, Life> = FxHashMap::default();
        for at in block.start..block.end {
            let Some(meaning) = flow.meanings[at] else {
                lives.clear();
                continue;
            };
            if meaning == Meaning::Call {
                lives.clear();
            }
            if meaning != Meaning::BarrierInit && !meaning.uses_barrier() {
                continue;
            }
            let Some(place) = flow.barrier(at).filter(|place| !place.remote) else {
                // It may be any of them.
                if matches!(meaning, Meaning::BarrierInit | Meaning::BarrierInval) {
                    lives.clear();
                }
                continue;
            };
            // A guarded init or inval may not have happened, unless this one has the same guard.
            let before = lives.get(&place).copied().filter(|life| {
                let (Life::Alive(then) | Life::Ended(then)) = *life;
                !flow.is_guarded(then) || flow.run_together(then, at)
            });
            out.extend(judge(flow, at, place, meaning, before));
            match meaning {
                Meaning::BarrierInit => {
                    lives.insert(place, Life::Alive(at));
                }
                Meaning::BarrierInval => {
                    lives.insert(place, Life::Ended(at));
                }
                _ => {}
            }
        }
    }
}

fn judge(flow: &Flow, at: At, place: Place, meaning: Meaning, before: Option<Life>) -> Option<Diagnostic> {
    let span = flow.opcode_span(at);
    match (meaning, before?) {
        (Meaning::BarrierInit, Life::Alive(first)) => {
            let name = flow.place_name(place);
            let message = format!("`{name}` is initialised again while it is a live barrier");
            let diagnostic = Diagnostic::new(&REPEATED_INIT, span, message)
                .label("second init")
                .also(flow.opcode_span(first), "first init");
            let inval = Form::MbarrierInval.op_name();
            Some(match end_before(flow, first, at) {
                Some((span, text)) => {
                    let title = format!("end it with `{inval}` first (or remove one of the two)");
                    diagnostic.fix(Applicability::Safe, title, span, text)
                }
                None => diagnostic.help(format!("end it with `{inval}` first, or remove one of the two")),
            })
        }
        (Meaning::BarrierInit, Life::Ended(_)) | (_, Life::Alive(_)) => None,
        (_, Life::Ended(end)) => {
            let message = format!("`{}` is no barrier any more", flow.place_name(place));
            Some(
                Diagnostic::new(&USE_AFTER_INVAL, span, message)
                    .label("used after its end")
                    .also(flow.opcode_span(end), "ended here")
                    .help(format!(
                        "move the `{}` behind the last use, or initialise the barrier again",
                        Form::MbarrierInval.op_name()
                    )),
            )
        }
    }
}

/// So many instructions are looked through between two inits.
const FAR: At = 1000;

/// The `inval` to insert before the init at `at`, where nobody can have used the barrier since its init at
/// `first`: between the two there are only inits and computation on registers.
fn end_before(flow: &Flow, first: At, at: At) -> Option<(Span, String)> {
    let is_private = |at: At| {
        flow.meanings[at].is_some_and(|meaning| meaning == Meaning::BarrierInit || meaning.is_computation())
    };
    if at - first > FAR || !(first + 1..at).all(is_private) {
        return None;
    }
    let (program, routine, inst) = (flow.program, flow.routine, flow.inst(at));
    let syntax = program.syntax(routine, inst);
    let init = Form::MbarrierInit.op_name();
    let modifiers = program.module.opcode(syntax).text.strip_prefix(init)?;
    let inval = format!("{}{modifiers}", Form::MbarrierInval.op_name());
    let start = program.span(routine, inst).start;
    let guard = program.module.text(Span::new(start, syntax.opcode_span.start));
    let bar = flow.operand_text(at, Arg::Bar);
    let gap = gap(&program.module.source, start);
    Some((Span::empty(start), format!("{guard}{inval} {bar};{gap}")))
}

/// What stands between a statement that is inserted before byte `at` and the one there: a new line, if that
/// one has a line of its own.
fn gap(source: &SourceFile, at: u32) -> String {
    let line = source.line_span(source.line(at));
    let before = source.slice(Span::new(line.start, at));
    let end = if source.slice(line).ends_with('\r') { "\r\n" } else { "\n" };
    if before.trim().is_empty() { format!("{end}{before}") } else { " ".to_string() }
}
