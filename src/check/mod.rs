//! The rules. Each stands in a file of its own with a page that is documentation, `mbar explain` and
//! test at once.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::isa::Opcode;
use crate::isa::target::Toolkit;
use crate::levels::Levels;
use crate::program::flow::Flow;
use crate::program::{Fit, Inst, Options, Program, Routine};
use crate::source::SourceFile;
use crate::syntax::{self, ast::OpcodeId};

mod address;
mod allow;
mod call;
mod declaration;
mod flow;
mod gate;
mod header;
mod instruction;
mod names;
mod operand;
mod order;
mod targets;
mod text;
mod value;
mod words;

pub use allow::Allowed;
pub use gate::describe_requirements;
pub use targets::for_each_target;
pub(crate) use text::count;

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default)]
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
    diagnostics.sort_by_key(|d| (d.span.start, d.span.end, d.rule.name));
    diagnostics.dedup_by(|a, b| a.span == b.span && a.rule == b.rule && a.message == b.message);
    Checked { program, diagnostics, allowed }
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
