//! Assembly within the text of other languages: each `asm` statement is checked as the inside of a function whose operands
//! are typed by their constraints. What cannot be known there is taken for right.

mod constraint;
mod excerpt;
mod gates;
mod holes;
mod module;
mod place;
mod recognise;
mod rules;
mod scope;
mod statement;
pub mod target;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use statement::Outcome;
use target::Targets;

use super::{NOT_CHECKED, Report, Requirement, Settings, allow};
use crate::diagnostic::{Diagnostic, Severity};
use crate::extract::{Asm, Guard, Host, Variant};
use crate::isa::{Needs, TargetSet, Version};
use crate::source::{SourceFile, Span};

pub(super) use constraint::letter;
pub(super) use rules::CONSTRAINT_MISMATCH;
pub use rules::RULES;

/// Checks the PTX that a text holds.
pub fn check(source: Arc<SourceFile>, host: &Host, settings: &Settings) -> Report {
    let mut file = File {
        source: &source,
        host,
        settings,
        targets: Targets::new(host, &settings.guards),
        possible: FxHashMap::default(),
        elsewhere: scope::Elsewhere::default(),
        scopes: scope::Scopes::default(),
        diagnostics: Vec::new(),
        needs: Vec::new(),
        unchecked: host.unread,
    };
    for asm in &host.statements {
        file.statement(asm);
    }
    let modules: Vec<Report> =
        host.modules.iter().map(|module| module::check_module(module, settings)).collect();
    let File { mut diagnostics, scopes, needs, mut unchecked, .. } = file;
    diagnostics.extend(scopes.finish());
    let spans = host.statements.iter().map(|asm| asm.span);
    let mut statements: Vec<Span> = spans.chain(host.modules.iter().map(|module| module.span)).collect();
    statements.sort_by_key(|span| span.start);
    let mut requirements = requirements(&source, &needs);
    for module in modules {
        diagnostics.extend(module.diagnostics);
        requirements.extend(module.requirements);
        unchecked += module.unchecked;
    }
    allow::apply_around(&source, &host.comments, &statements, settings, &mut diagnostics);
    super::sort(&mut diagnostics);
    Report { source, diagnostics, requirements, unchecked }
}

/// The statements of one file while they are checked.
struct File<'a> {
    source: &'a SourceFile,
    host: &'a Host,
    settings: &'a Settings,
    targets: Targets<'a>,
    /// The targets that conditions leave, once they have been asked for.
    possible: FxHashMap<(Vec<Guard>, Vec<String>), TargetSet>,
    elsewhere: scope::Elsewhere,
    scopes: scope::Scopes,
    diagnostics: Vec<Diagnostic>,
    needs: Vec<Need>,
    unchecked: usize,
}

/// What a statement needs, and where.
struct Need {
    /// The name of the function that it stands in, else the statement.
    place: Span,
    in_function: bool,
    needs: Needs,
    /// The targets that it is compiled for.
    possible: TargetSet,
}

impl File<'_> {
    fn statement(&mut self, asm: &Asm) {
        let mut unchecked = usize::from(!asm.complete);
        if !asm.complete && self.settings.verbose {
            let message = "some ways in which the preprocessor may leave this statement are not checked";
            self.diagnostics
                .push(Diagnostic::new(&NOT_CHECKED, asm.span, message).label("too many conditions"));
        }
        let mut outcomes: Vec<(&Variant, Outcome)> = Vec::new();
        for variant in &asm.variants {
            let guards: Vec<Guard> = asm.guards.iter().chain(&variant.guards).copied().collect();
            let asked = self.settings.options.target;
            let certain = asked.is_none_or(|target| self.targets.is_certain(target, &guards));
            let possible = self.possible(guards, &asm.arguments);
            // Not for a GPU of NVIDIA, or `#if 0`.
            if possible != TargetSet(0) {
                let outcome = self.variant(asm, variant, possible, certain);
                outcomes.extend(outcome.map(|outcome| (variant, outcome)));
            }
        }
        let kept: Vec<bool> = outcomes.iter().map(|(variant, _)| is_certain(variant, &outcomes)).collect();
        for ((_, outcome), certain) in outcomes.into_iter().zip(kept) {
            unchecked = unchecked.max(outcome.unchecked);
            if certain {
                self.diagnostics.extend(outcome.diagnostics);
            } else {
                let notes = outcome.diagnostics.into_iter().filter(|d| d.severity == Severity::Note);
                self.diagnostics.extend(notes);
            }
            self.scopes.add(outcome.scope);
        }
        self.unchecked += unchecked;
    }

    fn possible(&mut self, guards: Vec<Guard>, arguments: &[String]) -> TargetSet {
        if guards.is_empty() && arguments.is_empty() {
            return TargetSet::every();
        }
        let key = (guards, arguments.to_vec());
        if let Some(known) = self.possible.get(&key) {
            return *known;
        }
        let found = self.targets.possible(&key.0, arguments);
        self.possible.insert(key, found);
        found
    }

    fn variant(
        &mut self,
        asm: &Asm,
        variant: &Variant,
        possible: TargetSet,
        certain: bool,
    ) -> Option<Outcome> {
        let context = statement::Context {
            asm,
            variant,
            possible,
            certain,
            host: self.host,
            source: self.source,
            settings: self.settings,
            elsewhere: &self.elsewhere,
        };
        let outcome = statement::check(&context)?;
        self.needs.push(Need {
            place: asm.function.unwrap_or(asm.span),
            in_function: asm.function.is_some(),
            needs: outcome.needs,
            possible,
        });
        Some(outcome)
    }
}

/// Whether the findings of a variant count. Where several conditions choose, some of their combinations may never
/// come; then an arm must be wrong whatever the other conditions choose.
fn is_certain(variant: &Variant, all: &[(&Variant, Outcome)]) -> bool {
    let is_wrong = |outcome: &Outcome| outcome.diagnostics.iter().any(|d| d.severity > Severity::Note);
    let always_wrong = |guard: &Guard| {
        let mut with_it = all.iter().filter(|(other, _)| other.guards.contains(guard));
        with_it.all(|(_, outcome)| is_wrong(outcome))
    };
    variant.guards.is_empty() || variant.guards.iter().any(always_wrong)
}

/// What each function needs, in order of their place. Statements of a function stand one behind the other.
fn requirements(source: &SourceFile, needs: &[Need]) -> Vec<Requirement> {
    let functions = needs.chunk_by(|one, next| one.place == next.place);
    let requirement = |of: &[Need]| {
        let name = if of[0].in_function { source.slice(of[0].place).to_string() } else { String::new() };
        Requirement { name, span: of[0].place, needs: needs_together(of) }
    };
    functions.map(requirement).collect()
}

/// What statements need together that may be compiled for different targets: a target will do if each
/// statement that is compiled for it has what it needs there.
fn needs_together(statements: &[Need]) -> Needs {
    let (mut compiled, mut suiting) = (TargetSet(0), TargetSet::every());
    let mut version = Version::NONE;
    for Need { needs, possible, .. } in statements {
        version = version.max(needs.version);
        compiled = TargetSet(compiled.0 | possible.0);
        suiting = TargetSet(suiting.0 & (needs.targets.0 | !possible.0));
    }
    let targets = suiting.and(compiled);
    Needs { version, targets: if targets == TargetSet::every() { TargetSet::ALL } else { targets } }
}
