//! Names: declared, once, before they are used, and of the right kind.

use rustc_hash::FxHashMap;

use super::{operand, words};
use crate::diagnostic::{Diagnostic, Edit, Ptxas, Rule, Severity};
use crate::isa::opcode::{edit_distance, is_slip, nearest};
use crate::program::{Problem, ProblemKind, Program, Routine};
use crate::syntax::names::Symbol;
use crate::types::{Type, TypeClass};

/// The rules of this file.
pub const RULES: &[&Rule] = &[
    &UNKNOWN_NAME,
    &DUPLICATE_NAME,
    &UNKNOWN_LABEL,
    &GUARD_TYPE,
    &NOT_A_VECTOR,
    &NOT_AN_ADDRESS,
    &BAD_INITIALIZER,
];

static UNKNOWN_NAME: Rule = Rule {
    name: "unknown-name",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a register, variable or function that is not declared before its use",
    page: include_str!("unknown-name.md"),
};

pub(super) static DUPLICATE_NAME: Rule = Rule {
    name: "duplicate-name",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a name, label or function that is declared twice in one scope",
    page: include_str!("duplicate-name.md"),
};

static UNKNOWN_LABEL: Rule = Rule {
    name: "unknown-label",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a branch to a label that is not there or not visible",
    page: include_str!("unknown-label.md"),
};

static GUARD_TYPE: Rule = Rule {
    name: "guard-type",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a guard `@r` whose register is no predicate",
    page: include_str!("guard-type.md"),
};

static NOT_AN_ADDRESS: Rule = Rule {
    name: "not-an-address",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a label, function or special register inside the brackets of an address",
    page: include_str!("not-an-address.md"),
};

static NOT_A_VECTOR: Rule = Rule {
    name: "not-a-vector",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a component `.x` of a scalar register",
    page: include_str!("not-a-vector.md"),
};

pub(super) static BAD_INITIALIZER: Rule = Rule {
    name: "bad-initializer",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "an initialiser where none can be, or one that does not fit the variable",
    page: include_str!("bad-initializer.md"),
};

/// Runs the rules.
pub fn check(program: &Program, out: &mut Vec<Diagnostic>) {
    let mut first: FxHashMap<Symbol, (&Problem, usize)> = FxHashMap::default();
    let mut uses: Vec<(Diagnostic, u32)> = Vec::new();
    for problem in &program.problems {
        // A missing declaration is one fault, however often the name is used.
        let is_use = matches!(
            problem.kind,
            ProblemKind::UnknownName | ProblemKind::DeclaredLater(_) | ProblemKind::OutsideGroup(..)
        );
        if is_use
            && let Some((before, index)) = first.get(&problem.symbol)
            && before.kind == problem.kind
        {
            uses[*index].1 += 1;
            continue;
        }
        first.insert(problem.symbol, (problem, uses.len()));
        uses.push((explain(program, problem, uses.len() < SUGGESTIONS), 0));
    }
    out.extend(uses.into_iter().map(|(diagnostic, more)| match more {
        0 => diagnostic,
        1 => diagnostic.note("it is used once more"),
        more => diagnostic.note(format!("it is used {more} more times")),
    }));
}

/// So many findings of a file get a "did you mean": each looks through all of its names.
const SUGGESTIONS: usize = 20;

fn explain(program: &Program, problem: &Problem, may_suggest: bool) -> Diagnostic {
    let name = program.module.name(problem.symbol);
    let span = problem.span;
    match &problem.kind {
        ProblemKind::UnknownName => {
            let diagnostic = Diagnostic::new(&UNKNOWN_NAME, span, format!("`{name}` is not declared"))
                .label("not declared");
            let number = name.strip_prefix('%').filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
            if number.is_some() {
                return diagnostic
                    .note(format!(
                        "`{name}` is how inline assembly in C++ writes an operand; PTX has only names"
                    ))
                    .help("check the PTX that the compiler makes of it (`nvcc -ptx`), or write a register");
            }
            if may_suggest { suggest(program, problem.symbol, diagnostic) } else { diagnostic }
        }
        ProblemKind::DeclaredLater(declaration) => {
            let message = format!("`{name}` is used before its declaration");
            Diagnostic::new(&UNKNOWN_NAME, span, message)
                .label("used here")
                .also(*declaration, "declared only here")
                .help("move the declaration before the first use")
        }
        ProblemKind::DeclaredInside(declaration) => {
            let message = format!("`{name}` is not declared here, only inside of a `{{ }}` block");
            Diagnostic::new(&UNKNOWN_NAME, span, message)
                .label("not declared here")
                .also(*declaration, "declared here, for its block")
                .help("move the declaration before the `{`")
        }
        ProblemKind::TooManyOperands => {
            Diagnostic::new(&operand::OPERAND_MISMATCH, span, "this instruction has more than 4096 operands")
                .label("no instruction takes so many")
        }
        ProblemKind::OutsideGroup(declaration, count) => {
            let base = program.module.source.slice(*declaration);
            let last = count.saturating_sub(1);
            let message = format!("`{name}` is not declared: `{base}<{count}>` ends at `{base}{last}`");
            let diagnostic = Diagnostic::new(&UNKNOWN_NAME, span, message)
                .label("not declared")
                .also(*declaration, "declared here");
            match name.strip_prefix(base).and_then(|number| number.parse::<u32>().ok()) {
                Some(number) => {
                    let enough = number.saturating_add(1);
                    diagnostic.help(format!("declare `{base}<{enough}>`, or use one of the {count} names"))
                }
                None => diagnostic,
            }
        }
        ProblemKind::Duplicate(first) => {
            Diagnostic::new(&DUPLICATE_NAME, span, format!("`{name}` is declared twice in one scope"))
                .label("again here")
                .also(*first, "first here")
                .help("rename one, or put it into a `{ }` scope of its own")
        }
        ProblemKind::DuplicateLabel(first) => {
            Diagnostic::new(&DUPLICATE_NAME, span, format!("label `{name}` stands twice in one scope"))
                .label("again here")
                .also(*first, "first here")
                .help("rename one; inside its own `{ }` a label may have the same name as another outside")
        }
        ProblemKind::DuplicateFunction(first) => {
            Diagnostic::new(&DUPLICATE_NAME, span, format!("function `{name}` is defined twice"))
                .label("again here")
                .also(*first, "first here")
                .help("rename or remove one")
        }
        ProblemKind::UnknownLabel(elsewhere) => {
            let message = match elsewhere {
                Some(_) => format!("label `{name}` cannot be reached from here"),
                None => format!("there is no label `{name}` in this function"),
            };
            let diagnostic = Diagnostic::new(&UNKNOWN_LABEL, span, message).label(match elsewhere {
                Some(_) => "out of reach",
                None => "no such label",
            });
            match elsewhere {
                Some(place) => diagnostic
                    .also(*place, "it stands inside another `{ }` scope")
                    .note("a branch reaches labels of its own scope and of the scopes around it, not of inner ones")
                    .help("move the label out of the inner `{ }`"),
                None if may_suggest => suggest(program, problem.symbol, diagnostic),
                None => diagnostic,
            }
        }
        ProblemKind::GuardType(ty) => {
            let message = format!("the guard `{name}` is `{ty}`, not a predicate");
            Diagnostic::new(&GUARD_TYPE, span, message).label("must be a `.pred` register").help(format!(
                "compare first: `setp.ne{ty} %p, {name}, {};`, and guard with `@%p`",
                zero(*ty)
            ))
        }
        ProblemKind::GuardNotRegister => {
            Diagnostic::new(&GUARD_TYPE, span, format!("the guard `{name}` is not a register"))
                .label("must be a `.pred` register")
                .help("compute the condition into a predicate with `setp` and guard with that")
        }
        ProblemKind::NotAnAddress => {
            Diagnostic::new(&NOT_AN_ADDRESS, span, format!("`{name}` is neither a register nor a variable"))
                .label("cannot be an address")
                .help("write a register or a variable inside the brackets")
        }
        ProblemKind::NoComponents => {
            Diagnostic::new(&NOT_A_VECTOR, span, format!("`{name}` is not a register and has no components"))
                .help("load it into a vector register first, or leave the component out")
        }
        ProblemKind::NotAVector(ty) => {
            let message = format!("`{name}` is a scalar `{ty}` register and has no components");
            Diagnostic::new(&NOT_A_VECTOR, span, message)
                .label("no components")
                .help(format!("leave the component out, or declare a vector: `.reg .v2 {ty} {name};`"))
        }
        ProblemKind::InitializerSpace => {
            let message = format!("`{name}` cannot have an initialiser");
            Diagnostic::new(&BAD_INITIALIZER, span, message)
                .label("no initial value possible")
                .note("only `.global` and `.const` variables are initialised before the kernel runs (PTX ISA §5.4.4)")
                .help("store the value at the start of the kernel, or leave the initialiser out")
        }
        ProblemKind::InitializerAddress => {
            let message =
                format!("the address of `{name}` is not constant: it is neither `.global` nor `.const`");
            Diagnostic::new(&BAD_INITIALIZER, span, message)
                .label("not constant")
                .help("take the address at run time with `mov` (and `cvta`)")
        }
    }
}

/// A zero to compare a register of the type with.
fn zero(ty: Type) -> &'static str {
    if ty.class() == TypeClass::Float { "0.0" } else { "0" }
}

/// Adds "did you mean" with a name of the file that is near.
fn suggest(program: &Program, symbol: Symbol, diagnostic: Diagnostic) -> Diagnostic {
    let names = &program.module.names;
    let name = names.text(symbol);
    let unknown = |s: Symbol| program.problems.iter().any(|p| p.symbol == s);
    let candidates = (0..names.len() as u32).map(Symbol).filter(|&s| s != symbol);
    let likely: Vec<&str> =
        candidates.map(|s| names.text(s)).filter(|text| !text.starts_with('.') && text.len() > 1).collect();
    let near = nearest(name, likely.iter().copied());
    let declared = near.and_then(|near| Some((near, names.get(near).filter(|&s| !unknown(s))?)));
    let Some((near, meant)) = declared.filter(|(near, _)| near.len() > 2) else { return diagnostic };
    // Every use is misspelt; the finding stands at the first.
    let uses: Vec<&Problem> = program.problems.iter().filter(|problem| problem.symbol == symbol).collect();
    let certain = edit_distance(name, near) == 1
        && name.len() > 3
        && digits(name).eq(digits(near))
        && uses.len() <= SLIPS
        && is_slip(name, near, likely.iter().copied())
        && uses.iter().all(|problem| is_visible(program, problem, meant));
    let edit = |problem: &&Problem| Edit { span: problem.span, replacement: near.to_string() };
    let edits = if certain {
        uses.iter().map(edit).collect()
    } else {
        vec![Edit { span: diagnostic.span, replacement: near.to_string() }]
    };
    diagnostic.fix_all(words::safe_if(certain), format!("did you mean `{near}`?"), edits)
}

/// Who writes a name in another way more often than this means it.
const SLIPS: usize = 100;

/// Names that differ in a number are different things rather than the same one misspelt.
fn digits(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(char::is_ascii_digit)
}

/// Whether `meant` is something of the kind wanted in the function where the problem is. A label is never
/// a register's name misspelt, nor the other way round.
fn is_visible(program: &Program, problem: &Problem, meant: Symbol) -> bool {
    let inside = |routine: &&Routine| program.function(routine).span.contains(problem.span);
    let Some(routine) = program.routines.iter().find(inside) else { return false };
    let is_label = routine.labels.iter().any(|label| label.symbol == meant);
    match problem.kind {
        ProblemKind::UnknownLabel(_) => is_label,
        ProblemKind::UnknownName => {
            let register = routine.registers.iter().any(|register| register.symbol == meant);
            let variable = program.variables.iter().any(|variable| variable.symbol == meant);
            !is_label && (register || variable)
        }
        _ => false,
    }
}
