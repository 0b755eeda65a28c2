//! Small programs about the memory model: what is a race and what is none.
//!
//! `//~ KIND` ends the lines that one finding of that kind and severity has to name; a file without tags has
//! to be accepted. A line `// warns: RULE` lists the rules that may warn.

mod support;

use mbar::diagnostic::Severity;
use mbar::verify::Verdict;
use support::execute::{Found, Prepared};
use support::judge::{Judged, judge, settings};
use support::{Failures, files, read, short_name, tags};

/// More states than any of the programs needs.
const ENOUGH: u64 = 20_000;

/// What is wrong with the answer to a file.
fn complaint(text: &str, judged: &Judged) -> Option<String> {
    let Judged { verdict, findings: found, .. } = judged;
    let tags = tags(text);
    let mut kinds: Vec<&str> = tags.iter().flat_map(|(_, kinds)| kinds).map(String::as_str).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let allowed = text.lines().find_map(|line| line.strip_prefix("// warns: ")).unwrap_or_default();
    let mut loud = found.iter().filter(|f| f.severity != Severity::Note);
    if kinds.is_empty() {
        let quiet =
            |f: &Found| f.severity == Severity::Warning && allowed.split(' ').any(|rule| rule == f.name);
        let right = *verdict != Verdict::Violated && loud.all(quiet);
        return (!right).then(|| "it is right".to_string());
    }
    let only_warns = kinds.iter().all(|kind| kind.ends_with(":warning"));
    if only_warns == (*verdict == Verdict::Violated) {
        return Some(format!("tagged {}", kinds.join(", ")));
    }
    if only_warns && loud.any(|f| f.severity == Severity::Error) {
        return Some("an error where a warning is due".to_string());
    }
    let is_told = |kind: &str| {
        let lines: Vec<u32> =
            tags.iter().filter(|(_, of)| of.iter().any(|k| k == kind)).map(|(line, _)| *line).collect();
        let (name, severity) = match kind.strip_suffix(":warning") {
            Some(name) => (name, Severity::Warning),
            None => (kind, Severity::Error),
        };
        found.iter().any(|f| {
            f.kind == name
                && f.severity == severity
                && lines.iter().all(|line| f.line == *line || f.related.contains(line))
        })
    };
    (!kinds.iter().any(|kind| is_told(kind))).then(|| "no finding names all tagged lines".to_string())
}

#[test]
fn races_are_found_and_nothing_else() {
    let mut failures = Failures::default();
    let files = files("verify", "ptx");
    assert!(files.len() > 90, "{} programs", files.len());
    for path in files {
        let judged = judge(&Prepared::read(&path), &settings(ENOUGH));
        if let Some(complaint) = complaint(&read(&path), &judged) {
            failures.push(format!("{}: {complaint}: {}", short_name(&path), judged.in_words()));
        }
    }
    failures.report("Read the specification, then mend the program or the rules.");
}
