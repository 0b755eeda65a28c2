//! Small programs about the memory model: what is a race and what is none.
//!
//! `//~ KIND` ends the lines that one finding of that kind and severity has to name; a file without tags has
//! to be accepted. A line `// warns: RULE` lists the rules that may warn.

mod support;

use std::path::Path;

use mbar::diagnostic::Severity;
use mbar::machine::Options;
use mbar::verify::{self, Settings, Verdict};
use support::execute::Prepared;
use support::{Failures, files, lines_of, read, short_name, tags};

/// A finding: its kind, rule, severity and lines.
struct Found {
    kind: &'static str,
    rule: &'static str,
    severity: Severity,
    lines: Vec<u32>,
    message: String,
}

/// The verdict of a file, and what was found in it.
fn verified(path: &Path) -> (Verdict, Vec<Found>) {
    let prepared = Prepared::read(path);
    let settings = Settings { options: Options::default(), strict: false, explore: false, jobs: 1, bounds: Default::default() };
    let done = verify::verify(&prepared.program, &prepared.launch, &settings, &mut |_| {});
    let Ok(done) = done else { panic!("{}: no machine", path.display()) };
    let source = &prepared.program.module.source;
    let found = done.findings.iter().map(|finding| Found {
        kind: finding.rule.kind.as_str(),
        rule: finding.rule.rule.name,
        severity: finding.diagnostic.severity,
        lines: lines_of(source, &finding.diagnostic),
        message: finding.diagnostic.message.clone(),
    });
    (done.verdict, found.collect())
}

fn words(verdict: Verdict, found: &[Found]) -> String {
    let all = found.iter().filter(|found| found.severity != Severity::Note);
    let all = all.map(|f| format!("{} {} {:?}: {}", f.severity.as_str(), f.rule, f.lines, f.message));
    std::iter::once(verdict.as_str().to_string()).chain(all).collect::<Vec<_>>().join("; ")
}

/// What is wrong with the answer to a file.
fn complaint(text: &str, verdict: Verdict, found: &[Found]) -> Option<String> {
    let tags = tags(text);
    let mut kinds: Vec<&str> = tags.iter().flat_map(|(_, kinds)| kinds).map(String::as_str).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let allowed = text.lines().find_map(|line| line.strip_prefix("// warns: ")).unwrap_or_default();
    let mut loud = found.iter().filter(|f| f.severity != Severity::Note);
    if kinds.is_empty() {
        let quiet =
            |f: &Found| f.severity == Severity::Warning && allowed.split(' ').any(|rule| rule == f.rule);
        let right = verdict != Verdict::Violated && loud.all(quiet);
        return (!right).then(|| "it is right".to_string());
    }
    let only_warns = kinds.iter().all(|kind| kind.ends_with(":warning"));
    if only_warns == (verdict == Verdict::Violated) {
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
            f.kind == name && f.severity == severity && lines.iter().all(|line| f.lines.contains(line))
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
        let (verdict, found) = verified(&path);
        if let Some(complaint) = complaint(&read(&path), verdict, &found) {
            failures.push(format!("{}: {complaint}: {}", short_name(&path), words(verdict, &found)));
        }
    }
    failures.report("Read the specification, then mend the program or the rules.");
}
