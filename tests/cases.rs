//! Faults from public bug reports (`tests/data/cases`): each is found, on its line, and nothing else is.
//!
//! A line that a right report names ends in `//~ KIND`. The kind `check` (an error), `check:warning` or
//! `check|check:warning` is for `mbar check`; `check[RULE]` also names the rule that must find it. Other
//! kinds are for running and verifying a program.

mod support;

use std::path::Path;

use mbar::check::{self, Checked, Settings};
use mbar::diagnostic::{Diagnostic, Severity};
use mbar::extract::Language;
use mbar::isa::TargetId;
use mbar::isa::target::Toolkit;
use mbar::source::SourceFile;
use support::{Failures, check_text, files, in_words, lines_of, read, short_name, tags, without_comments};

/// A case file, read.
struct Case {
    name: String,
    text: String,
    stage: String,
    /// `// mbar: flags check --cuda RELEASE`
    toolkit: Option<Toolkit>,
    /// Lines with the tag's alternatives.
    tags: Vec<(u32, Vec<String>)>,
}

impl Case {
    fn read(path: &Path) -> Case {
        let text = read(path);
        let after = |mark: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(mark));
            line.map(|rest| rest.trim().to_string())
        };
        let toolkit = after("// mbar: flags").map(|flags| {
            let release =
                flags.strip_prefix("check --cuda ").unwrap_or_else(|| panic!("unknown flags: {flags}"));
            Toolkit::from_name(release).unwrap_or_else(|| panic!("unknown release: {release}"))
        });
        Case {
            name: short_name(path),
            stage: after("// stage:").unwrap_or_else(|| panic!("{}: no stage", path.display())),
            toolkit,
            tags: tags(&text),
            text,
        }
    }

    fn is_tagged(&self, line: u32) -> bool {
        self.tags.iter().any(|(tagged, _)| *tagged == line)
    }

    fn check(&self, text: &str, toolkit: Option<Toolkit>) -> Checked {
        check_text(&self.name, text, &Settings { toolkit, ..Settings::default() })
    }

    /// The text as it stands and with its comments blanked out: a finding must not hang on a comment.
    fn texts(&self) -> [(&'static str, String); 2] {
        [("", self.text.clone()), (" (without comments)", without_comments(&self.text))]
    }
}

fn cases() -> Vec<Case> {
    let cases: Vec<Case> = files("cases", "ptx").iter().map(|path| Case::read(path)).collect();
    assert!(cases.len() > 80, "only {} cases", cases.len());
    cases
}

/// Whether the finding is what a tag for `check` asks for.
fn satisfies(kinds: &[String], finding: &Diagnostic) -> bool {
    kinds.iter().any(|kind| {
        let (kind, rule) = parts(kind);
        let wanted = match kind {
            "check" => Severity::Error,
            "check:warning" => Severity::Warning,
            _ => return false,
        };
        finding.severity == wanted && rule.is_none_or(|rule| rule == finding.rule.name)
    })
}

/// A tag's kind, and the rule that it names.
fn parts(tag: &str) -> (&str, Option<&str>) {
    let named = tag.strip_suffix(']').and_then(|tag| tag.split_once('['));
    named.map_or((tag, None), |(kind, rule)| (kind, Some(rule)))
}

#[test]
fn faults_are_found_on_their_lines() {
    let mut failures = Failures::default();
    let mut tags = 0;
    for case in cases().iter().filter(|case| matches!(case.stage.as_str(), "parse" | "static")) {
        for (variant, text) in case.texts() {
            let checked = case.check(&text, case.toolkit);
            let file = &checked.program.module.source;
            for (line, kinds) in &case.tags {
                tags += 1;
                let here: Vec<&Diagnostic> =
                    checked.diagnostics.iter().filter(|d| lines_of(file, d).contains(line)).collect();
                let found = here.iter().any(|d| satisfies(kinds, d));
                let false_error = here
                    .iter()
                    .find(|d| d.severity == Severity::Error && !kinds.iter().any(|k| parts(k).0 == "check"));
                if !found || false_error.is_some() {
                    let ours = support::all_in_words(file, here);
                    failures.push(format!(
                        "{}:{line}{variant} wants {}; here: {ours}",
                        case.name,
                        kinds.join("|")
                    ));
                }
            }
        }
    }
    assert!(tags >= 20, "only {tags} tags for check");
    failures.report("The case's header tells what a right report says.");
}

#[test]
fn no_error_stands_outside_tagged_lines() {
    let mut failures = Failures::default();
    for case in cases() {
        for (variant, text) in case.texts() {
            let checked = case.check(&text, case.toolkit);
            let file = &checked.program.module.source;
            for error in support::errors(&checked) {
                if !lines_of(file, error).iter().any(|line| case.is_tagged(*line)) {
                    failures.push(format!("{}{variant}: {}", case.name, in_words(file, error)));
                }
            }
        }
    }
    failures.report("A false error is the worst defect.");
}

/// A file that is only wrong for an old release is clean otherwise.
#[test]
fn without_its_flags_such_a_case_is_clean() {
    let mut flagged = 0;
    for case in cases().iter().filter(|case| case.toolkit.is_some()) {
        flagged += 1;
        let checked = case.check(&case.text, None);
        let ours = support::all_in_words(&checked.program.module.source, support::errors(&checked));
        assert_eq!(ours, "no finding", "{}", case.name);
    }
    assert_eq!(flagged, 2, "cases with flags");
}

/// A finding points at the words it is about, and says what to do.
#[test]
fn findings_are_exact_and_helpful() {
    let mut failures = Failures::default();
    for case in cases().iter().filter(|case| matches!(case.stage.as_str(), "parse" | "static")) {
        let checked = case.check(&case.text, case.toolkit);
        let file = &checked.program.module.source;
        for finding in &checked.diagnostics {
            if finding.severity == Severity::Note || !case.is_tagged(file.line(finding.span.start)) {
                continue;
            }
            let words = in_words(file, finding);
            let marked = file.slice(finding.span);
            // Where something is missing there is nothing to mark; then the column must say it.
            let empty = marked.is_empty() && file.line_column(finding.span.start).column == 1;
            if empty || marked.starts_with(char::is_whitespace) || marked.contains("//") {
                failures.push(format!("{}: marks {marked:?}: {words}", case.name));
            }
            if finding.helps.is_empty() {
                failures.push(format!("{}: no help: {words}", case.name));
            }
        }
    }
    failures
        .report("Each finding marks the words it is about and has a help that says what to write instead.");
}

/// In C++ texts a statement may be reported on any of its lines; these have one line each.
#[test]
fn statements_in_cxx_texts_are_judged_likewise() {
    let paths = files("cases", "cu");
    assert!(paths.len() >= 4, "only {} texts", paths.len());
    let mut failures = Failures::default();
    for path in paths {
        let case = Case::read(&path);
        for target in [None, Some("sm_80"), Some("sm_90")] {
            let mut settings = Settings::default();
            settings.options.target = target.and_then(TargetId::from_name);
            let report = check::file(SourceFile::new(&*case.name, &*case.text), Language::Cxx, &settings);
            for (line, kinds) in &case.tags {
                let mut here =
                    report.diagnostics.iter().filter(|d| lines_of(&report.source, d).contains(line));
                if !here.any(|d| satisfies(kinds, d)) {
                    failures.push(format!("{}:{line} wants {}", case.name, kinds.join("|")));
                }
            }
            let outside =
                |d: &&Diagnostic| !lines_of(&report.source, d).iter().any(|line| case.is_tagged(*line));
            for finding in report.diagnostics.iter().filter(outside) {
                failures.push(format!("{}: {}", case.name, in_words(&report.source, finding)));
            }
        }
    }
    failures.report("The tagged lines and nothing else.");
}
