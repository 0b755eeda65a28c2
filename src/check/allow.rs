//! The findings that `// mbar:` comments allow, and such comments that say nothing.

use rustc_hash::FxHashSet;

use super::Settings;
use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::opcode::nearest;
use crate::program::Program;
use crate::program::comment::{Comment, DIRECTIVES};
use crate::source::Span;

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
    let mut allowed = Allowed::default();
    let comments = &program.module.comments;
    let mut next_code = None;
    for (index, &place) in comments.iter().enumerate().rev() {
        next_code = Some(code_after(program, place, comments.get(index + 1).copied().zip(next_code)));
        if let Some(comment) = Comment::at(program, place) {
            let find = |name: &str| {
                super::rule(name).or_else(|| settings.other_rule.and_then(|other_rule| other_rule(name)))
            };
            directive(program, place, comment, next_code, &find, &mut allowed, diagnostics);
        }
    }
    if !allowed.file.is_empty() || !allowed.lines.is_empty() {
        diagnostics.retain(|diagnostic| !allowed.covers(program, diagnostic));
    }
    allowed
}

/// The line of the first code behind the comment at `place`; `next` is the comment after it, with the
/// first code behind that.
fn code_after(program: &Program, place: Span, next: Option<(Span, u32)>) -> u32 {
    let source = &program.module.source;
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
    /// Whether the comments of `program`, which they were taken from, allow a finding in it.
    pub fn covers(&self, program: &Program, diagnostic: &Diagnostic) -> bool {
        let line = program.module.source.line(diagnostic.span.start);
        let name = diagnostic.rule.name;
        self.file.contains(name) || self.lines.contains(&(line, name))
    }
}

fn directive(
    program: &Program,
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
                let lines = lines_meant(program, place, next_code);
                allowed.lines.extend(lines.into_iter().map(|line| (line, rule.name)));
            }
        }
    }
}

/// The lines that an `allow` at `place` speaks for: its own; or, alone on a line, the next one and the next
/// one with code, so that several may stand above one line.
fn lines_meant(program: &Program, place: Span, next_code: Option<u32>) -> Vec<u32> {
    let source = &program.module.source;
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
