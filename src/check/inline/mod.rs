//! Assembly within the text of other languages: each `asm` statement is checked as the inside of a function whose operands
//! are typed by their constraints. What cannot be known there is taken for right.

mod constraint;
mod excerpt;
mod gates;
mod holes;
mod module;
mod place;
mod rules;
mod scope;
mod statement;
pub mod target;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use target::Targets;

use super::{Report, Requirement, Settings, allow};
use crate::diagnostic::Diagnostic;
use crate::extract::{Asm, Guard, Host, Variant};
use crate::isa::{Needs, TargetSet};
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
        unchecked: 0,
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
    let mut requirements = requirements(&source, needs);
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
    /// What each statement needs, with the function that it stands in.
    needs: Vec<(Option<Span>, Span, Needs)>,
    unchecked: usize,
}

impl File<'_> {
    fn statement(&mut self, asm: &Asm) {
        for variant in &asm.variants {
            let guards: Vec<Guard> = asm.guards.iter().chain(&variant.guards).copied().collect();
            let possible = self.possible(guards, &asm.arguments);
            // Not for a GPU of NVIDIA, or `#if 0`.
            if possible != TargetSet(0) {
                self.variant(asm, variant, possible);
            }
        }
    }

    fn possible(&mut self, guards: Vec<Guard>, arguments: &[String]) -> TargetSet {
        if guards.is_empty() && arguments.is_empty() {
            return target::every();
        }
        let key = (guards, arguments.to_vec());
        if let Some(known) = self.possible.get(&key) {
            return *known;
        }
        let found = self.targets.possible(&key.0, arguments);
        self.possible.insert(key, found);
        found
    }

    fn variant(&mut self, asm: &Asm, variant: &Variant, possible: TargetSet) {
        let context = statement::Context {
            asm,
            variant,
            possible,
            host: self.host,
            source: self.source,
            settings: self.settings,
            elsewhere: &self.elsewhere,
        };
        let Some(outcome) = statement::check(&context) else { return };
        self.diagnostics.extend(outcome.diagnostics);
        self.unchecked += outcome.unchecked;
        self.needs.extend(outcome.needs.map(|needs| (asm.function, asm.span, needs)));
        self.scopes.add(outcome.scope);
    }
}

/// What each function needs, in order of their place.
fn requirements(source: &SourceFile, needs: Vec<(Option<Span>, Span, Needs)>) -> Vec<Requirement> {
    let mut functions: Vec<Requirement> = Vec::new();
    for (function, statement, needs) in needs {
        let span = function.unwrap_or(statement);
        // Statements stand in the order of the text.
        match functions.last_mut().filter(|last| last.span == span) {
            Some(known) => known.needs = known.needs.with(needs),
            None => {
                let name = function.map_or_else(String::new, |name| source.slice(name).to_string());
                functions.push(Requirement { name, span, needs });
            }
        }
    }
    functions
}
