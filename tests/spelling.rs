//! Spellings at the edge of the language, with what ptxas says of them: `tests/data/spelling`.

mod support;

use mbar::check::Settings;
use mbar::diagnostic::Severity;

use support::{Failures, check_text, files, in_words, read, short_name};

/// The rule that a line's tag `//~ error RULE` names.
fn tag(line: &str) -> Option<&str> {
    line.split_once("//~ error ").map(|(_, rule)| rule.trim())
}

#[test]
fn errors_are_exactly_where_ptxas_has_them() {
    let mut failures = Failures::default();
    for path in files("spelling", "ptx") {
        let text = read(&path);
        let checked = check_text(&short_name(&path), &text, &Settings::default());
        let file = &checked.program.module.source;
        let errors = checked.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        let found: Vec<_> = errors.map(|d| (file.line(d.span.start), d)).collect();
        for (line, number) in text.lines().zip(1u32..) {
            let here: Vec<_> = found.iter().filter(|(at, _)| *at == number).map(|(_, d)| *d).collect();
            match (tag(line), here.as_slice()) {
                (None, []) => {}
                (Some(rule), [only]) if only.rule.name == rule => {}
                (wanted, here) => {
                    let words: Vec<String> = here.iter().map(|d| in_words(file, d)).collect();
                    let wanted = wanted.unwrap_or("nothing");
                    failures.push(format!("{}:{number} wants {wanted}: {words:?}", short_name(&path)));
                }
            }
        }
    }
    failures.report("One error for each tag, none elsewhere.");
}
