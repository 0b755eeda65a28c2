//! The rules. Each stands in a file of its own with a page that is documentation, `mbar explain` and
//! test at once.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::extract::Language;
use crate::isa::target::Toolkit;
use crate::isa::{Needs, Opcode, Version};
use crate::levels::Levels;
use crate::needs;
use crate::program::flow::Flow;
use crate::program::{Fit, Inst, Options, Program, Routine};
use crate::source::{SourceFile, Span};
use crate::syntax::{self, ast::OpcodeId};

mod address;
mod allow;
mod call;
mod declaration;
mod flow;
mod gate;
mod header;
pub mod inline;
mod instruction;
mod names;
mod operand;
mod order;
mod targets;
mod text;
mod value;
mod words;

pub use allow::Allowed;
pub use gate::{describe_requirements, needs_in_words};
use instruction::NOT_CHECKED;
pub use targets::for_each_target;
pub(crate) use text::count;

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// In place of what the file says of itself.
    pub options: Options,
    /// The CUDA release that the file is meant for.
    pub toolkit: Option<Toolkit>,
    /// Say what is not checked.
    pub verbose: bool,
    /// Say where modifiers stand in another order than the manual's.
    pub unusual_order: bool,
    /// Finds rules that are not of this module, by their names: comments may allow them, too.
    pub other_rule: Option<fn(&str) -> Option<&'static Rule>>,
    /// Macros of C++ texts that are defined for certain targets only.
    pub guards: Arc<inline::target::Guards>,
}

impl Settings {
    /// The PTX version to check statements for, which say none of their own.
    fn version(&self) -> Option<Version> {
        self.options.version.or(self.toolkit.map(|toolkit| toolkit.ptx))
    }
}

/// What was found in one file, whatever its language.
#[derive(Debug)]
pub struct Report {
    /// The file.
    pub source: Arc<SourceFile>,
    /// The findings, in order of their place.
    pub diagnostics: Vec<Diagnostic>,
    /// What each function needs.
    pub requirements: Vec<Requirement>,
    /// How many instructions have not been checked.
    pub unchecked: usize,
}

/// What a function needs of PTX version and target.
#[derive(Clone, PartialEq, Debug)]
pub struct Requirement {
    /// The function's name; empty for what stands in none.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// What it needs.
    pub needs: Needs,
}

impl Settings {
    /// The same, and those rules speak that only do so on demand and that `levels` ask for.
    #[must_use]
    pub fn asking(self, levels: &Levels) -> Settings {
        Settings {
            verbose: self.verbose || levels.ask_for(&instruction::NOT_CHECKED),
            unusual_order: self.unusual_order || levels.ask_for(&order::UNUSUAL_ORDER),
            ..self
        }
    }
}

/// A file, checked.
#[derive(Debug)]
pub struct Checked {
    /// The program as far as it was understood.
    pub program: Program,
    /// The findings, in order of their place.
    pub diagnostics: Vec<Diagnostic>,
    /// What its comments allow.
    pub allowed: Allowed,
}

/// Parses and checks one file.
pub fn check(source: Arc<SourceFile>, settings: &Settings) -> Checked {
    let parsed = syntax::parse(source);
    let program = Program::new(parsed.module, settings.options);
    let mut diagnostics = parsed.diagnostics;
    program_rules(&program, settings, &mut diagnostics);
    let allowed = allow::apply(&program, settings, &mut diagnostics);
    sort(&mut diagnostics);
    Checked { program, diagnostics, allowed }
}

/// Checks one file of any language.
pub fn file(source: Arc<SourceFile>, language: Language, settings: &Settings) -> Report {
    match language {
        Language::Ptx => check(source, settings).into(),
        _ => {
            let host = language.find(source.text());
            inline::check(source, &host, settings)
        }
    }
}

impl From<Checked> for Report {
    fn from(checked: Checked) -> Report {
        let unchecked = checked.unchecked();
        let Checked { program, diagnostics, .. } = checked;
        let requirement = |routine: &Routine| {
            let name = program.function(routine).name;
            let needs = needs::of_routine(&program, routine);
            Requirement { name: program.module.name(name.symbol).to_string(), span: name.span, needs }
        };
        let requirements = program.routines.iter().map(requirement).collect();
        Report { source: program.module.source, diagnostics, requirements, unchecked }
    }
}

/// By place; equal findings once.
fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        let place = |d: &Diagnostic| (d.span.start, d.span.end, d.rule.name);
        place(a).cmp(&place(b)).then_with(|| a.message.cmp(&b.message))
    });
    diagnostics.dedup_by(|a, b| a.span == b.span && a.rule == b.rule && a.message == b.message);
}

/// The rules for statements that stand alone: what the rest of the function does is not known. Targets
/// are left to the caller.
fn statement_rules(program: &Program, settings: &Settings, out: &mut Vec<Diagnostic>) {
    declaration::check(program, out);
    names::check(program, out);
    instruction::check(program, settings, out);
    order::check(program, settings, out);
    let flows = flow::flows(program);
    value::check(program, &flows, out);
    address::check(program, &flows, out);
    flow::check_statements(&flows, out);
}

fn program_rules(program: &Program, settings: &Settings, out: &mut Vec<Diagnostic>) {
    header::check(program, settings, out);
    declaration::check(program, out);
    names::check(program, out);
    instruction::check(program, settings, out);
    order::check(program, settings, out);
    gate::check(program, out);
    call::check(program, out);
    let flows = flow::flows(program);
    value::check(program, &flows, out);
    address::check(program, &flows, out);
    flow::check(program, &flows, out);
}

/// The functions, each with its flow if it has one: both lists are in the order of the file.
fn with_flows<'a>(
    program: &'a Program,
    flows: &'a [Flow<'a>],
) -> impl Iterator<Item = (&'a Routine, Option<&'a Flow<'a>>)> {
    let mut flows = flows.iter().peekable();
    program
        .routines
        .iter()
        .map(move |routine| (routine, flows.next_if(|flow| std::ptr::eq(flow.routine, routine))))
}

/// Every rule of the program, sorted by name.
pub fn rules() -> Vec<&'static Rule> {
    let mut rules: Vec<&'static Rule> = [
        syntax::RULES,
        header::RULES,
        inline::RULES,
        declaration::RULES,
        names::RULES,
        instruction::RULES,
        operand::RULES,
        order::RULES,
        gate::RULES,
        call::RULES,
        value::RULES,
        address::RULES,
        flow::RULES,
        allow::RULES,
    ]
    .concat();
    rules.sort_by_key(|rule| rule.name);
    rules
}

/// The rule called `name`.
pub fn rule(name: &str) -> Option<&'static Rule> {
    rules().into_iter().find(|rule| rule.name == name)
}

/// Whether a rule keeps silent unless it is asked for.
pub fn is_on_demand(rule: &Rule) -> bool {
    *rule == instruction::NOT_CHECKED || *rule == order::UNUSUAL_ORDER
}

impl Checked {
    /// How many findings have `severity`.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|d| d.severity == severity).count()
    }

    /// How many instructions are known by name only, so that they have not been checked.
    pub fn unchecked(&self) -> usize {
        let program = &self.program;
        let opaque = |routine: &Routine, inst: &Inst| {
            let OpcodeId(opcode) = program.syntax(routine, inst).opcode;
            inst.fit == Fit::Unknown && matches!(program.opcodes[opcode as usize], Opcode::Opaque)
        };
        let count =
            |routine: &Routine| routine.instructions.iter().filter(|inst| opaque(routine, inst)).count();
        program.routines.iter().map(count).sum()
    }
}
