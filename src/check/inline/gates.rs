//! Whether a statement can be compiled for the targets that are meant.

use super::rules::NO_COMMON_TARGET;
use super::target;
use crate::check::gate;
use crate::diagnostic::{Diagnostic, Severity};
use crate::isa::{Needs, TargetId, TargetSet};
use crate::needs;
use crate::program::{Fit, Options, Program};

/// What the surroundings say of the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meant {
    /// The one that was asked for.
    Asked(TargetId),
    /// Those that conditions leave: the statement should suit the lowest of them.
    Among(TargetSet),
    /// Nothing.
    Any,
}

impl Meant {
    /// From the target that was asked for and those that the conditions leave. `None`: the statement is not
    /// compiled for what was asked for.
    pub fn new(asked: Option<TargetId>, possible: TargetSet) -> Option<Meant> {
        match asked {
            Some(asked) => possible.contains(asked).then_some(Meant::Asked(asked)),
            None if possible == TargetSet::every() => Some(Meant::Any),
            None => Some(Meant::Among(possible)),
        }
    }

    /// The target to resolve the statement for.
    pub fn target(self) -> Option<TargetId> {
        match self {
            Meant::Asked(target) => Some(target),
            Meant::Among(_) | Meant::Any => None,
        }
    }
}

/// The findings about targets, for a statement that `resolve` makes a program of.
pub fn check(
    program: &Program,
    meant: Meant,
    options: Options,
    resolve: &dyn Fn(Options) -> Program,
    out: &mut Vec<Diagnostic>,
) {
    let needs = needs::of_all(program);
    let resolve_for = |target| resolve(Options { target: Some(target), ..options });
    let suits = |target: TargetId| needs.targets.contains(target) || !is_gated(&resolve_for(target));
    match meant {
        Meant::Asked(_) => gate::check(program, out),
        Meant::Any => {
            gate::check(program, out);
            if needs.targets.and(TargetSet::every()) == TargetSet(0) && !TargetSet::every().iter().any(suits)
            {
                out.extend(no_common_target(program));
            }
        }
        Meant::Among(possible) => {
            let lowest = target::lowest(possible);
            if needs.targets.and(lowest) != TargetSet(0) || lowest.iter().any(suits) {
                return gate::check(program, out);
            }
            let before = out.len();
            let suits_some = possible.iter().any(suits);
            let without_lowest =
                TargetSet::every().iter().next().is_some_and(|oldest| possible.contains(oldest));
            // Of an upper bound the newest target below it is worth a word.
            let best = if without_lowest { possible.iter().last() } else { lowest.iter().last() };
            let Some(best) = best else { return };
            // A condition that only sets an upper bound means no target by it.
            if suits_some && without_lowest {
                return gate::check(program, out);
            }
            gate::check(&resolve_for(best), out);
            if suits_some {
                for diagnostic in &mut out[before..] {
                    diagnostic.severity = diagnostic.severity.min(Severity::Warning);
                    diagnostic.notes.push(format!("the condition around it also admits {}", best.name()));
                }
            }
        }
    }
}

/// Where a condition that is not known may exclude the target, its gates are worth a warning only.
pub fn soften(findings: &mut [Diagnostic]) {
    for finding in findings.iter_mut().filter(|finding| finding.severity == Severity::Error) {
        finding.severity = Severity::Warning;
        finding
            .notes
            .push("a condition around it may exclude this target (mbar.toml can name its macro)".into());
    }
}

fn is_gated(program: &Program) -> bool {
    program.routines.iter().flat_map(|routine| &routine.instructions).any(|i| matches!(i.fit, Fit::Gated(_)))
}

/// The instruction behind which no target is left, and one before it that excludes those it has.
fn no_common_target(program: &Program) -> Option<Diagnostic> {
    let routine = program.routines.first()?;
    let each: Vec<(Needs, crate::source::Span)> = routine
        .instructions
        .iter()
        .filter_map(|inst| {
            Some((needs::of(program, routine, inst)?, program.syntax(routine, inst).opcode_span))
        })
        .collect();
    let mut left = TargetSet::every();
    for (index, (needs, span)) in each.iter().enumerate() {
        let both = left.and(needs.targets);
        if both != TargetSet(0) {
            left = both;
            continue;
        }
        let own = needs.targets.describe();
        let message = format!("no target has everything that this statement needs: this is for {own}");
        let diagnostic = Diagnostic::new(&NO_COMMON_TARGET, *span, message)
            .label(format!("only {own}"))
            .help("put the two into statements of their own, each behind a condition on its target");
        let other = each[..index].iter().find(|(other, _)| other.targets.and(needs.targets) == TargetSet(0));
        return Some(match other {
            Some((other, place)) => diagnostic.also(*place, format!("only {}", other.targets.describe())),
            None => diagnostic,
        });
    }
    None
}
