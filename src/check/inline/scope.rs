//! Scopes and names that reach from one `asm` statement of a file into others.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use super::rules::{FIXED_LABEL, UNBALANCED_SCOPE, UNSCOPED_REGISTER};
use crate::diagnostic::Diagnostic;
use crate::extract::Host;
use crate::extract::template::Dialect;
use crate::program::Program;
use crate::source::{SourceFile, Span};
use crate::syntax::ast::StatementKind;
use crate::types::Space;

/// The names that something else in the file may declare: statements, outside of a block that they close
/// themselves; and the C++ text, for the linker.
#[derive(Default)]
pub struct Elsewhere {
    names: OnceCell<FxHashSet<String>>,
}

impl Elsewhere {
    /// Whether `name` may be one of them.
    pub fn contains(&self, source: &SourceFile, host: &Host, name: &str) -> bool {
        self.names.get_or_init(|| names(source, host)).contains(name)
    }
}

fn names(source: &SourceFile, host: &Host) -> FxHashSet<String> {
    let templates = host.statements.iter().flat_map(|asm| &asm.variants).map(|variant| &variant.template);
    let leaked = templates.flat_map(|template| leaked(&template.text));
    let lines = source.text().lines().filter(|line| is_external(line));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let external = lines.flat_map(|line| line.split(move |c: char| !is_word(c)));
    leaked.chain(external.map(str::to_string)).collect()
}

/// Whether a line may declare what PTX knows by the same name. Functions are not meant: they are only called.
fn is_external(line: &str) -> bool {
    let has = |word: &str| line.contains(word);
    let is_variable = has("__shared__") || has("__constant__") || has("__managed__");
    is_variable || has("extern \"C\"") || (has("__device__") && !has("("))
}

/// The names in declarations and labels of `text` that are in force at its end.
fn leaked(text: &str) -> Vec<String> {
    let mut scopes: Vec<Vec<String>> = vec![Vec::new()];
    let mut statement = String::new();
    for c in text.chars() {
        match c {
            '{' => {
                // A number in `<…>` or a vector makes no difference: what it holds is no declaration.
                scopes.push(Vec::new());
                statement.clear();
            }
            '}' => {
                if scopes.len() > 1 {
                    scopes.pop();
                }
                statement.clear();
            }
            ';' | ':' => {
                let declares = statement.trim_start().starts_with('.') || c == ':';
                let words = statement.split(|c: char| !(c.is_alphanumeric() || "_$%.".contains(c)));
                let names = words.filter(|word| !word.is_empty() && !word.starts_with('.'));
                if declares && let Some(scope) = scopes.last_mut() {
                    scope.extend(names.map(str::to_string));
                }
                statement.clear();
            }
            c => statement.push(c),
        }
    }
    scopes.concat()
}

/// What a statement opens, closes and declares at its outermost level.
#[derive(Default)]
pub struct Outer {
    /// `{` without `}`.
    pub opened: Vec<Span>,
    /// `}` without `{`.
    pub closed: Vec<Span>,
    /// Findings about names outside of braces, which only count where no other statement opens a scope.
    pub unscoped: Vec<Diagnostic>,
}

impl Outer {
    /// The same with other places.
    pub fn placed(self, span: impl Fn(Span) -> Span, finding: impl Fn(Diagnostic) -> Diagnostic) -> Outer {
        Outer {
            opened: self.opened.into_iter().map(&span).collect(),
            closed: self.closed.into_iter().map(&span).collect(),
            unscoped: self.unscoped.into_iter().map(finding).collect(),
        }
    }

    /// Of a statement's program; places are those of its text.
    pub fn of(program: &Program, dialect: Dialect, is_unique: impl Fn(Span) -> bool) -> Outer {
        let mut outer = Outer::default();
        let Some(routine) = program.routines.first() else { return outer };
        let Some(body) = &program.function(routine).body else { return outer };
        let mut depth = 0u32;
        for statement in &body.statements {
            match &statement.kind {
                StatementKind::Open { close } => {
                    depth += 1;
                    if *close as usize >= body.statements.len() {
                        outer.opened.push(statement.span);
                    }
                }
                StatementKind::Close { open } => {
                    depth = depth.saturating_sub(1);
                    if *open as usize >= body.statements.len() {
                        outer.closed.push(statement.span);
                    }
                }
                StatementKind::Label(name) if depth == 0 && !is_unique(name.span) => {
                    let label = program.module.name(name.symbol);
                    outer.unscoped.push(fixed_label(label, name.span, dialect));
                }
                StatementKind::Variable(variable) if depth == 0 && variable.space == Space::Reg => {
                    let names: Vec<&str> =
                        variable.declarators.iter().map(|d| program.module.name(d.name.symbol)).collect();
                    let unique = variable.declarators.iter().all(|d| is_unique(d.name.span));
                    outer
                        .unscoped
                        .extend((!unique).then(|| unscoped_register(&names, variable.span, dialect)));
                }
                _ => {}
            }
        }
        outer
    }
}

fn fixed_label(name: &str, span: Span, dialect: Dialect) -> Diagnostic {
    let braces = braces(dialect);
    Diagnostic::new(&FIXED_LABEL, span, format!("the label `{name}` stands outside of braces"))
        .label("declared again by each copy of the statement")
        .note("a function that is inlined or unrolled twice holds the statement twice; ptxas then refuses the second label")
        .help(match dialect.unique() {
            Some(unique) => format!("put the statement into `{braces}`, or write `{name}_{unique}`"),
            None => format!("put the statement into `{braces}`"),
        })
}

/// A block as the host writes it.
fn braces(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Brace { "{{ … }}" } else { "{ … }" }
}

fn unscoped_register(names: &[&str], span: Span, dialect: Dialect) -> Diagnostic {
    let list = super::super::text::all_of(names);
    let (noun, verb) = if names.len() == 1 { ("register", "is") } else { ("registers", "are") };
    Diagnostic::new(&UNSCOPED_REGISTER, span, format!("the {noun} {list} {verb} declared outside of braces"))
        .label("declared again by each copy of the statement")
        .note("a function that is inlined or unrolled twice holds the statement twice; ptxas then refuses the second declaration")
        .help(format!("put the statement into `{}`", braces(dialect)))
}

/// The scopes of all statements of a file.
#[derive(Default)]
pub struct Scopes {
    opened: Vec<Span>,
    closed: Vec<Span>,
    unscoped: Vec<Diagnostic>,
}

impl Scopes {
    /// Adds a statement; its places are those of the file.
    pub fn add(&mut self, outer: Outer) {
        self.opened.extend(outer.opened);
        self.closed.extend(outer.closed);
        self.unscoped.extend(outer.unscoped);
    }

    /// The findings, once all statements are known.
    pub fn finish(self) -> Vec<Diagnostic> {
        match (self.opened.is_empty(), self.closed.is_empty()) {
            (true, true) => self.unscoped,
            // One statement opens what another closes.
            (false, false) => Vec::new(),
            (false, true) => self.opened.iter().map(|span| unbalanced(*span, "{", "}", "closes")).collect(),
            (true, false) => self.closed.iter().map(|span| unbalanced(*span, "}", "{", "opens")).collect(),
        }
    }
}

fn unbalanced(span: Span, found: &str, missing: &str, verb: &str) -> Diagnostic {
    Diagnostic::new(&UNBALANCED_SCOPE, span, format!("this `{found}` has no `{missing}`"))
        .label("without a partner")
        .note(format!("no `asm` statement of the file {verb} this scope"))
        .help(format!("write the `{missing}`, or leave this `{found}` out"))
}
