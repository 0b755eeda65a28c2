//! The findings that `// mbar:` comments allow, and such comments that say nothing.

use std::ops::RangeInclusive;

use rustc_hash::FxHashSet;

use super::Settings;
use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::opcode::nearest;
use crate::program::Program;
use crate::program::comment::{Comment, DIRECTIVES};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::Module;

/// The rules of this file.
pub const RULES: &[&Rule] = &[&UNKNOWN_DIRECTIVE];

static UNKNOWN_DIRECTIVE: Rule = Rule {
    name: "unknown-directive",
    severity: Severity::Error,
    ptxas: Ptxas::Accepts,
    summary: "a `// mbar:` comment that says nothing this program knows",
    page: include_str!("unknown-directive.md"),
};

/// Drops the findings that the file allows, and reports directives that are not understood.
pub fn apply(program: &Program, settings: &Settings, diagnostics: &mut Vec<Diagnostic>) -> Allowed {
    let Module { source, comments, .. } = &program.module;
    let allowed = read(source, comments, settings, diagnostics);
    if !allowed.is_empty() {
        diagnostics.retain(|diagnostic| !allowed.covers(source, diagnostic));
    }
    allowed
}

/// The same for a text around statements: what is allowed on one line of a statement is so on all.
pub fn apply_around(
    source: &SourceFile,
    comments: &[Span],
    statements: &[Span],
    settings: &Settings,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let allowed = read(source, comments, settings, diagnostics);
    if allowed.is_empty() {
        return;
    }
    let lines = |at: Span| {
        let index = statements.partition_point(|statement| statement.start <= at.start);
        let statement = index.checked_sub(1).map(|index| statements[index]);
        let whole = statement.filter(|statement| at.start < statement.end).unwrap_or(at);
        source.line(whole.start)..=source.line(whole.end.max(whole.start + 1) - 1)
    };
    diagnostics.retain(|diagnostic| !allowed.covers_one_of(lines(diagnostic.span), diagnostic.rule.name));
}

fn read(
    source: &SourceFile,
    comments: &[Span],
    settings: &Settings,
    diagnostics: &mut Vec<Diagnostic>,
) -> Allowed {
    let mut allowed = Allowed::default();
    let mut next_code = None;
    for (index, &place) in comments.iter().enumerate().rev() {
        next_code = Some(code_after(source, place, comments.get(index + 1).copied().zip(next_code)));
        if let Some(comment) = Comment::new(source.slice(place), place) {
            let find = |name: &str| {
                super::rule(name).or_else(|| settings.other_rule.and_then(|other_rule| other_rule(name)))
            };
            directive(source, place, comment, next_code, &find, &mut allowed, diagnostics);
        }
    }
    allowed
}

/// The line of the first code behind the comment at `place`; `next` is the comment after it, with the
/// first code behind that.
fn code_after(source: &SourceFile, place: Span, next: Option<(Span, u32)>) -> u32 {
    let rest = &source.text()[source.clamp(place).end as usize..];
    let blank = (rest.len() - rest.trim_start().len()) as u32;
    match next {
        Some((comment, line)) if comment.start == place.end + blank => line,
        _ => source.line(place.end + blank),
    }
}

/// What a file's comments allow.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    file: FxHashSet<&'static str>,
    lines: FxHashSet<(u32, &'static str)>,
}

impl Allowed {
    /// Whether the comments of `source`, which they were taken from, allow a finding in it.
    pub fn covers(&self, source: &SourceFile, diagnostic: &Diagnostic) -> bool {
        let line = source.line(diagnostic.span.start);
        self.covers_one_of(line..=line, diagnostic.rule.name)
    }

    fn covers_one_of(&self, mut lines: RangeInclusive<u32>, name: &'static str) -> bool {
        self.file.contains(name) || lines.any(|line| self.lines.contains(&(line, name)))
    }

    fn is_empty(&self) -> bool {
        self.file.is_empty() && self.lines.is_empty()
    }
}

fn directive(
    source: &SourceFile,
    place: Span,
    comment: Comment,
    next_code: Option<u32>,
    find: &dyn Fn(&str) -> Option<&'static Rule>,
    allowed: &mut Allowed,
    out: &mut Vec<Diagnostic>,
) {
    if !DIRECTIVES.contains(&comment.word) {
        out.push(unknown(comment));
        return;
    }
    if !comment.word.starts_with("allow") {
        return;
    }
    let listed = comment.arguments.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((names, _)) = listed else {
        out.push(no_rule(comment));
        return;
    };
    for name in names.split(',').map(str::trim) {
        match find(name) {
            None => out.push(unknown_rule(comment, name)),
            Some(rule) if comment.word == "allow-file" => {
                allowed.file.insert(rule.name);
            }
            Some(rule) => {
                let lines = lines_meant(source, place, next_code);
                allowed.lines.extend(lines.into_iter().map(|line| (line, rule.name)));
            }
        }
    }
}

/// The lines that an `allow` at `place` speaks for: its own; or, alone on a line, the next one and the next
/// one with code, so that several may stand above one line.
fn lines_meant(source: &SourceFile, place: Span, next_code: Option<u32>) -> Vec<u32> {
    let line = source.line(place.start);
    let before = Span::new(source.line_span(line).start, place.start);
    match source.slice(before).trim().is_empty() {
        true => [line + 1].into_iter().chain(next_code).collect(),
        false => vec![line],
    }
}

fn unknown(comment: Comment) -> Diagnostic {
    let Comment { word, span, .. } = comment;
    let diagnostic = Diagnostic::new(&UNKNOWN_DIRECTIVE, span, format!("`mbar: {word}` is not a directive"))
        .label("not known")
        .note(format!("directives are {}", super::text::all_of(DIRECTIVES)));
    match nearest(word, DIRECTIVES.iter().copied()) {
        Some(near) => diagnostic.fix(Applicability::Unsafe, format!("write `{near}`"), span, near),
        None => diagnostic,
    }
}

fn no_rule(comment: Comment) -> Diagnostic {
    let word = comment.word;
    Diagnostic::new(&UNKNOWN_DIRECTIVE, comment.span, format!("`mbar: {word}` names no rule"))
        .label("no rule in parentheses")
        .help(format!("write `// mbar: {word}(rule-name) reason`"))
}

fn unknown_rule(comment: Comment, name: &str) -> Diagnostic {
    let rules = super::rules();
    let help = match nearest(name, rules.iter().map(|rule| rule.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`mbar explain` lists the rules".to_string(),
    };
    Diagnostic::new(&UNKNOWN_DIRECTIVE, comment.span, format!("`{name}` is not a rule"))
        .label("allows nothing")
        .help(help)
}
