//! One `asm` statement, as one choice of the preprocessor leaves it.

use std::sync::Arc;

use super::gates::{self, Meant};
use super::place::{self, Places};
use super::rules::{
    MISSING_MEMORY_CLOBBER, NO_SUCH_OPERAND, NOT_VOLATILE, UNEXPANDED_ESCAPE, UNWRITTEN_OUTPUT, WRITTEN_INPUT,
};
use super::scope::{Elsewhere, Outer};
use super::{constraint, excerpt, holes, recognise};
use crate::check::{NOT_CHECKED, Settings, statement_rules, text, value};
use crate::diagnostic::{Diagnostic, Severity};
use crate::extract::template::{Dialect, Template};
use crate::extract::{Asm, Host, Variant};
use crate::isa::{Needs, Opcode, TargetSet};
use crate::needs;
use crate::program::flow::Flow;
use crate::program::meaning::{Effect, Meaning as FormMeaning};
use crate::program::outside::{Meaning, Outside};
use crate::program::{Inst, Options, ProblemKind, Program, Surroundings};
use crate::source::{SourceFile, Span};
use crate::syntax;
use crate::syntax::ast::OpcodeId;

/// A statement and what is around it.
pub struct Context<'a> {
    pub asm: &'a Asm,
    pub variant: &'a Variant,
    /// The targets that the conditions around it leave.
    pub possible: TargetSet,
    /// No condition around it is open for the target that was asked for.
    pub certain: bool,
    pub host: &'a Host,
    pub source: &'a SourceFile,
    pub settings: &'a Settings,
    pub elsewhere: &'a Elsewhere,
}

/// What a statement gave; places are those of the file.
pub struct Outcome {
    pub diagnostics: Vec<Diagnostic>,
    pub scope: Outer,
    pub needs: Needs,
    pub unchecked: usize,
}

/// Checks the statement; `None`: it is no PTX.
pub fn check(context: &Context) -> Option<Outcome> {
    let Context { asm, variant, .. } = context;
    if variant.template.text.trim().is_empty() && variant.template.holes.is_empty() {
        return None;
    }
    if names_a_symbol(asm, variant) {
        return None;
    }
    let mut early = Vec::new();
    let template = holes::separate(&variant.template, &mut early);
    let filled = holes::fill(&holes::fill_offsets(&template, &|index| constant(variant, index)));
    let (judged, template) = best(context, &filled)?;
    let early = early.into_iter().map(|(diagnostic, template)| {
        Places { template: &template, operands: &variant.operands, statement: asm.span }.to_host(diagnostic)
    });
    let places = Places { template, operands: &variant.operands, statement: asm.span };
    let to_host = |diagnostic| places.to_host(diagnostic);
    let mut diagnostics: Vec<Diagnostic> = early.chain(judged.diagnostics.into_iter().map(to_host)).collect();
    if context.settings.verbose {
        diagnostics.extend(filled.cut.iter().map(|span| not_checked(context, *span)));
    }
    // A macro may open or close a scope, too.
    let outer = if filled.may_declare || variant.excerpt { Outer::default() } else { judged.outer };
    let scope = outer.placed(|span| places.span(span), to_host);
    let unchecked = filled.cut.len() + judged.opaque;
    Some(Outcome { diagnostics, scope, needs: judged.needs, unchecked })
}

/// Whether the statement is no statement: `int f(int) asm("name");`
fn names_a_symbol(asm: &Asm, variant: &Variant) -> bool {
    let text = variant.template.text.as_str();
    let is_word = !text.contains(|c: char| c.is_whitespace() || c == ';');
    asm.declarator && !asm.volatile && is_word && variant.operands.is_empty() && !variant.memory
}

/// Of the texts that the template may stand for, the one with the fewest errors.
fn best<'a>(context: &Context, filled: &'a holes::Filled) -> Option<(Judged, &'a Template)> {
    let mut best: Option<(usize, Judged, &Template)> = None;
    for candidate in &filled.candidates {
        let judged = Judged::new(context, candidate, filled)?;
        let errors = judged.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        if best.as_ref().is_none_or(|(least, ..)| errors < *least) {
            best = Some((errors, judged, candidate));
        }
        if errors == 0 {
            break;
        }
    }
    best.map(|(_, judged, candidate)| (judged, candidate))
}

/// The value of a constant operand, if it is one.
fn constant(variant: &Variant, index: usize) -> Option<Option<i64>> {
    let operand = variant.operands.get(index).filter(|_| index < variant.operands_known)?;
    matches!(constraint::meaning(operand, &[]), Meaning::Constant(_)).then_some(operand.value)
}

fn not_checked(context: &Context, span: Span) -> Diagnostic {
    let spelled = context.source.slice(span);
    Diagnostic::new(&NOT_CHECKED, span, format!("the instruction with `{spelled}` is not checked"))
        .label("known to the compiler only")
}

/// A text that the template may stand for, with what is wrong in it; places are those of the text.
struct Judged {
    diagnostics: Vec<Diagnostic>,
    outer: Outer,
    needs: Needs,
    /// Instructions that are known by name only.
    opaque: usize,
}

impl Judged {
    fn new(context: &Context, template: &Template, filled: &holes::Filled) -> Option<Judged> {
        let Context { asm, variant, settings, .. } = context;
        // Parts of a text may be for different targets.
        let meant = Meant::new(settings.options.target, context.possible)
            .filter(|meant| !variant.excerpt || meant.target().is_some());
        let options = Options { target: meant.and_then(Meant::target), version: settings.version() };
        let names = names(template, variant);
        let surroundings = Surroundings { names: &names, more: filled.may_declare || variant.excerpt };
        let text: Arc<str> = template.text.as_str().into();
        let parse = || syntax::parse_statements(SourceFile::new("", text.clone()));
        let resolve = |options| Program::of_statements(parse().module, options, surroundings);
        let parsed = parse();
        let mut program = Program::of_statements(parsed.module, options, surroundings);
        let is_named = template.dialect == Dialect::Plain;
        if !is_named && !recognise::is_ptx(&program, variant, !filled.cut.is_empty(), context.host.is_cuda) {
            return None;
        }
        let mut diagnostics = parsed.diagnostics;
        names_from_elsewhere(&mut program, context, &mut diagnostics);
        statement_rules(&program, settings, &mut diagnostics);
        if let Some(meant) = meant {
            let before = diagnostics.len();
            gates::check(&program, meant, options, &resolve, &mut diagnostics);
            if !context.certain {
                gates::soften(&mut diagnostics[before..]);
            }
        }
        if settings.verbose {
            value::open_constants(&program, &mut diagnostics);
        }
        diagnostics.extend(unexpanded(template, variant));
        effects(&program, asm, variant, &mut diagnostics);
        if variant.excerpt && excerpt::is_sketch(&program, &mut diagnostics) {
            return None;
        }
        let complete = filled.cut.is_empty() && !diagnostics.iter().any(|d| d.severity == Severity::Error);
        directions(&program, template, variant, complete, &mut diagnostics);
        let outer = Outer::of(&program, template.dialect, |span| template.is_unique(span));
        let opaque = opaque(&program);
        Some(Judged { diagnostics, outer, needs: needs::of_all(&program), opaque })
    }
}

fn opaque(program: &Program) -> usize {
    let is_opaque = |id: OpcodeId| matches!(program.opcodes[id.0 as usize], Opcode::Opaque);
    let routines = program.routines.iter();
    routines
        .map(|r| r.instructions.iter().filter(|inst| is_opaque(program.syntax(r, inst).opcode)).count())
        .sum()
}

/// The operands that the text names.
fn names(template: &Template, variant: &Variant) -> Vec<Outside> {
    let (known, count) = (variant.operands_known, variant.operands.len());
    let mut numbers: Vec<usize> = template.references.iter().map(|reference| reference.operand).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let outside = |index: usize| Outside {
        name: format!("%{index}"),
        meaning: match variant.operands.get(index).filter(|_| index < known) {
            Some(operand) => constraint::meaning(operand, &variant.operands),
            None => Meaning::Anything,
        },
        span: place::operand_span(template, index),
    };
    numbers.into_iter().filter(|index| *index < count || known != usize::MAX).map(outside).collect()
}

/// Speaks of operand numbers that do not exist, and forgets about names that something outside of the
/// statement may declare.
fn names_from_elsewhere(program: &mut Program, context: &Context, out: &mut Vec<Diagnostic>) {
    let count = context.variant.operands.len();
    let dialect = context.variant.template.dialect;
    let problems = std::mem::take(&mut program.problems);
    let mut missing = Vec::new();
    for problem in problems {
        let name = program.module.name(problem.symbol);
        let unknown = matches!(problem.kind, ProblemKind::UnknownName | ProblemKind::UnknownLabel(None));
        let number = name.strip_prefix('%').and_then(|digits| digits.parse::<usize>().ok());
        match number.filter(|_| unknown) {
            Some(number) => missing.push((problem.span, number)),
            None if unknown
                && (context.elsewhere.contains(context.source, context.host, name)
                    || is_called(program, problem.span)) => {}
            None => program.problems.push(problem),
        }
    }
    out.extend(missing.into_iter().map(|(span, number)| no_such_operand(span, number, count, dialect)));
}

/// Whether `span` stands in a call: functions are declared wherever the compiler puts them.
fn is_called(program: &Program, span: Span) -> bool {
    program.routines.iter().any(|routine| {
        let is_call =
            |inst: &Inst| program.form(routine, inst).map(FormMeaning::of) == Some(FormMeaning::Call);
        routine.instructions.iter().any(|inst| program.span(routine, inst).contains(span) && is_call(inst))
    })
}

fn no_such_operand(span: Span, number: usize, count: usize, dialect: Dialect) -> Diagnostic {
    let spelled = |index| dialect.operand(index);
    let have = match count {
        0 => "the statement has no operands".to_string(),
        1 => format!("the statement has one operand, `{}`", spelled(0)),
        n => format!("the statement has {n} operands, `{}` to `{}`", spelled(0), spelled(n - 1)),
    };
    let diagnostic = Diagnostic::new(&NO_SUCH_OPERAND, span, format!("there is no operand `%{number}`"))
        .label("beyond the last operand")
        .note(have);
    match (count, dialect.mark()) {
        (0, Some(mark)) => {
            diagnostic.help(format!("add the operand, or write `{mark}{mark}` for a `{mark}` of the text"))
        }
        (0, None) => diagnostic.help("add the operand"),
        (n, _) => diagnostic.help(format!(
            "the last operand is `{}`; outputs and inputs count together from 0",
            spelled(n - 1)
        )),
    }
}

/// `%%` and `%=` where there are no operands.
fn unexpanded(template: &Template, variant: &Variant) -> Option<Diagnostic> {
    let is_read = !variant.operands.is_empty() || variant.operands_known != usize::MAX;
    if is_read || template.dialect != Dialect::Percent {
        return None;
    }
    let (doubled, unique) = (template.doubled.first(), template.unique.first());
    let (at, spelled, help) = match (doubled, unique) {
        (Some(at), _) => (at, "%%", "write a single `%`"),
        (None, Some(at)) => (at, "%=", "put the label into braces, where it needs no number"),
        (None, None) => return None,
    };
    let message = format!("`{spelled}` stays as it is in a statement without operands");
    Some(
        Diagnostic::new(&UNEXPANDED_ESCAPE, Span::new(*at, at + 1), message)
            .label("goes to ptxas like this")
            .note("the compiler reads escapes only where there is an output or an input")
            .help(help),
    )
}

/// Statements that other threads or copies depend on must stay where they are.
fn effects(program: &Program, asm: &Asm, variant: &Variant, out: &mut Vec<Diagnostic>) {
    let Some(routine) = program.routines.first() else { return };
    let effects = routine.instructions.iter().filter_map(|inst| {
        let effect = Effect::of(FormMeaning::of(program.form(routine, inst)?))?;
        Some((effect, program.syntax(routine, inst).opcode_span))
    });
    // What waits or fences matters most.
    let Some((effect, span)) = effects.max_by_key(|(effect, _)| *effect) else { return };
    let name = text::short_name(program.module.text(span));
    let verb = effect.verb();
    if variant.memory {
        return;
    }
    if !asm.volatile {
        out.push(
            Diagnostic::new(
                &NOT_VOLATILE,
                span,
                format!(
                    "`{name}` {verb}, but the statement is neither `volatile` nor does it clobber memory"
                ),
            )
            .label(verb)
            .note("the compiler may leave the statement out, move it, or merge it with another one")
            .help("write `asm volatile(\"…\" : … : … : \"memory\")`"),
        );
        return;
    }
    let why = match effect {
        Effect::Copies => "the compiler may move loads and stores of the C++ code across it",
        _ => "the compiler may move loads and stores of the C++ code across it, to where they race",
    };
    let message = format!("`{name}` {verb}, but the statement does not say that it touches memory");
    let diagnostic = Diagnostic::new(&MISSING_MEMORY_CLOBBER, span, message).label(verb).note(why);
    let severity = if effect == Effect::Copies { Severity::Note } else { Severity::Warning };
    out.push(
        diagnostic.severity(severity).help("add the clobber: `asm volatile(\"…\" : … : … : \"memory\")`"),
    );
}

/// Outputs that are not written, inputs that are.
fn directions(
    program: &Program,
    template: &Template,
    variant: &Variant,
    complete: bool,
    out: &mut Vec<Diagnostic>,
) {
    let Some(routine) = program.routines.first() else { return };
    let flow = Flow::new(program, routine);
    let mut written = vec![false; variant.operands.len()];
    let mut touched = written.clone();
    // "0": the same register as output 0.
    let twin = |index: usize| constraint::tied_to(&variant.operands[index]).filter(|twin| *twin < index);
    for at in 0..routine.instructions.len() {
        // What a call writes cannot be seen here.
        let surely = !flow.is_opaque(at);
        let guarded = flow.is_guarded(at);
        flow.written(at, &mut |register, partly| {
            let index = place::operand_index(template, routine.register(register).span);
            if let Some(index) = index.filter(|index| *index < touched.len()) {
                touched[index] = true;
                twin(index).into_iter().for_each(|twin| touched[twin] = true);
                written[index] |= surely && (guarded || !partly);
            }
        });
    }
    let dialect = template.dialect;
    let spelled = |index: usize| {
        let found = template.references.iter().find(|reference| reference.operand == index);
        found.map_or_else(|| dialect.operand(index), |reference| reference.spelled.clone())
    };
    let readable = variant.operands.iter().take(variant.operands_known).enumerate();
    for (index, operand) in readable.filter(|(_, operand)| constraint::is_register(operand)) {
        let place = place::operand_span(template, index);
        let name = spelled(index);
        let is_plain_output = operand.constraint.as_deref().is_some_and(|c| c.starts_with('='));
        // Some functions want an output even where there is nothing to tell.
        let is_dummy = dialect == Dialect::Dollar && !is_named_in_code(template, index);
        if is_plain_output && !touched[index] && complete && !is_dummy {
            let message = format!("the output `{name}` is never written");
            out.push(
                Diagnostic::new(&UNWRITTEN_OUTPUT, place, message)
                    .label("has no value behind the statement")
                    .help(match dialect {
                        Dialect::Dollar => "write it, or tie an input to it if it keeps its value",
                        Dialect::Brace => "write it, or bind it with `inout` if it keeps its value",
                        _ => "write it, or bind it with `\"+…\"` if it keeps its value",
                    }),
            );
        } else if !operand.is_output && written[index] {
            let message = format!("the input `{name}` is written");
            out.push(
                Diagnostic::new(&WRITTEN_INPUT, place, message)
                    .label("bound as an input")
                    .note("the compiler takes an input for unchanged: it may use the register for another variable")
                    .help(match dialect {
                        Dialect::Dollar => "copy it into a register of the statement, or tie it to an output",
                        Dialect::Brace => "bind it with `inout`, or copy it into a register of the statement",
                        _ => "bind it among the outputs with `\"+…\"`, or copy it into a register of the statement",
                    }),
            );
        }
    }
}

/// Whether operand `index` is named outside of comments.
fn is_named_in_code(template: &Template, index: usize) -> bool {
    template.references.iter().filter(|reference| reference.operand == index).any(|reference| {
        let before = &template.text[..reference.span.start as usize];
        !before.rsplit('\n').next().unwrap_or_default().contains("//")
    })
}
