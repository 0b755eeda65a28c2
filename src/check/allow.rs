//! `// mbar:` comments: which ones there are, and the findings they allow.

use rustc_hash::FxHashSet;

use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::opcode::nearest;
use crate::program::Program;
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

const DIRECTIVES: &[&str] =
    &["launch", "arg", "tensormap", "expect", "expect~", "flags", "allow", "allow-file"];

/// Drops the findings that the file allows, and reports directives that are not understood.
pub fn apply(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    let mut allowed = Allowed::default();
    for &comment in &program.module.comments {
        directive(program, comment, &mut allowed, diagnostics);
    }
    if allowed.file.is_empty() && allowed.lines.is_empty() {
        return;
    }
    let source = &program.module.source;
    diagnostics.retain(|diagnostic| {
        let line = source.line(diagnostic.span.start);
        let name = diagnostic.rule.name;
        !allowed.file.contains(name) && !allowed.lines.contains(&(line, name.to_string()))
    });
}

#[derive(Default)]
struct Allowed {
    file: FxHashSet<String>,
    lines: FxHashSet<(u32, String)>,
}

fn directive(program: &Program, comment: Span, allowed: &mut Allowed, out: &mut Vec<Diagnostic>) {
    let source = &program.module.source;
    let text = source.slice(comment);
    let Some(body) = text.strip_prefix("//").map(str::trim_start).and_then(|t| t.strip_prefix("mbar:"))
    else {
        return;
    };
    let body = body.trim();
    let start = comment.start + (text.find(body).unwrap_or(0)) as u32;
    let end = body.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(body.len());
    let word = &body[..end];
    let span = Span::new(start, start + end as u32);
    if !DIRECTIVES.contains(&word) {
        let mut diagnostic =
            Diagnostic::new(&UNKNOWN_DIRECTIVE, span, format!("`mbar: {word}` is not a directive"))
                .label("not known")
                .note(format!("directives are {}", super::text::all_of(DIRECTIVES)));
        if let Some(near) = nearest(word, DIRECTIVES.iter().copied()) {
            let title = format!("write `{near}`");
            diagnostic = diagnostic.fix(Applicability::Unsafe, title, span, near);
        }
        out.push(diagnostic);
        return;
    }
    if !word.starts_with("allow") {
        return;
    }
    let listed = body[end..].strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((names, _)) = listed else {
        let message = format!("`mbar: {word}` names no rule");
        let help = format!("write `// mbar: {word}(rule-name) reason`");
        out.push(
            Diagnostic::new(&UNKNOWN_DIRECTIVE, span, message).label("no rule in parentheses").help(help),
        );
        return;
    };
    let line = source.line(comment.start);
    let line_start = source.line_span(line).start;
    let alone = source.slice(Span::new(line_start, comment.start)).trim().is_empty();
    for name in names.split(',').map(str::trim) {
        if super::rule(name).is_none() {
            let message = format!("`{name}` is not a rule");
            let mut diagnostic = Diagnostic::new(&UNKNOWN_DIRECTIVE, span, message).label("allows nothing");
            let rules = super::rules();
            if let Some(near) = nearest(name, rules.iter().map(|rule| rule.name)) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            } else {
                diagnostic = diagnostic.help("`mbar explain` lists the rules");
            }
            out.push(diagnostic);
        } else if word == "allow-file" {
            allowed.file.insert(name.to_string());
        } else {
            allowed.lines.insert((if alone { line + 1 } else { line }, name.to_string()));
        }
    }
}
