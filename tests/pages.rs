//! The rules' pages are tests: each fenced `ptx` or `cuda` block is checked.
//!
//! A line that ends in `//~ error`, `//~ warning` or `//~ note` gets a finding of the page's rule with
//! that severity; every other line gets no error at all and no finding of that rule. A block without
//! tags shows the corrected program. A block that is only a piece of a kernel is put into one that has
//! the usual declarations; the fence may say for what: ```` ```ptx ptx=7.0 target=sm_80 cuda=12.2 ````

mod support;

use mbar::check::{self, Settings, rules};
use mbar::diagnostic::Diagnostic;
use mbar::source::SourceFile;
use support::page::{Block, blocks};
use support::{Failures, in_words, lines_of};

/// Holds a block to its tags.
fn hold(block: &Block, failures: &mut Failures) {
    let (text, before) = block.file();
    // What is not checked is said only on demand.
    let verbose = block.rule.name == "not-checked";
    let unusual_order = block.rule.name == "unusual-order";
    let settings = Settings { toolkit: block.toolkit, verbose, unusual_order, ..Settings::default() };
    let checked = check::file(SourceFile::new("page", text), block.language, &settings);
    let file = &checked.source;
    let tags = block.tags();
    let place = |line: u32| format!("{}.md:{}", block.rule.name, block.line as u32 + line - 1);
    let is_ours = |d: &&Diagnostic| d.rule == block.rule;
    for (line, wanted) in &tags {
        let mut here = checked.diagnostics.iter().filter(|d| lines_of(file, d).contains(&(line + before)));
        if !here.clone().filter(is_ours).any(|d| d.severity.as_str() == *wanted) {
            let words: Vec<String> = here.by_ref().map(|d| in_words(file, d)).collect();
            failures.push(format!("{} wants {wanted}; here: {}", place(*line), words.join("; ")));
        }
    }
    for finding in &checked.diagnostics {
        let lines = lines_of(file, finding);
        let tagged = tags.iter().any(|(line, _)| lines.contains(&(line + before)));
        if !tagged && (finding.severity.as_str() == "error" || is_ours(&finding)) {
            let line = file.line(finding.span.start).saturating_sub(before);
            failures.push(format!("{} wants nothing; here: {}", place(line.max(1)), in_words(file, finding)));
        }
    }
}

#[test]
fn examples_of_pages_do_what_the_page_says() {
    let mut failures = Failures::default();
    for rule in rules() {
        for block in blocks(rule) {
            hold(&block, &mut failures);
        }
    }
    failures.report("The page of a rule and the rule say different things (lines are lines of the page).");
}

#[test]
fn every_page_shows_the_fault_and_its_correction() {
    // They speak of the file as a whole; what is wrong depends on how the program is called.
    const WITHOUT_PAIR: &[&str] = &["not-checked", "toolkit-too-old"];
    let mut failures = Failures::default();
    for rule in rules() {
        let blocks = blocks(rule);
        let tagged = blocks.iter().filter(|block| !block.tags().is_empty()).count();
        if WITHOUT_PAIR.contains(&rule.name) {
            continue;
        }
        if tagged == 0 || tagged == blocks.len() {
            failures.push(format!("{}: {tagged} of {} blocks have a tag", rule.name, blocks.len()));
        }
    }
    failures.report("A page has a block with a tag (the fault) and one without (the correction).");
}

#[test]
fn every_page_starts_with_the_name_of_its_rule() {
    let mut failures = Failures::default();
    for rule in rules() {
        let mut lines = rule.page.lines();
        if lines.next() != Some(&format!("# {}", rule.name)) {
            failures.push(format!("{}: the first line is the rule's name", rule.name));
        }
        if !lines.any(|line| line.len() > 40 && !line.starts_with('#')) {
            failures.push(format!("{}: no sentence says what is wrong and why", rule.name));
        }
    }
    failures.report("See the page of unknown-modifier for the shape.");
}

#[test]
fn rules_are_well_named() {
    let rules = rules();
    for rule in &rules {
        let kebab = rule.name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(kebab && rule.name.len() > 3, "{}: a name is lower-case words joined by `-`", rule.name);
        assert!(
            !rule.summary.is_empty() && !rule.summary.ends_with('.'),
            "{}: one line, no full stop",
            rule.name
        );
        assert!(!rule.summary.contains('\n'), "{}: one line", rule.name);
    }
    for pair in rules.windows(2) {
        assert!(pair[0].name < pair[1].name, "{} is there twice or out of order", pair[1].name);
    }
}
