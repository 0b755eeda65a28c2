//! Real programs: what compilers made and what ran on a GPU checks without an error, and every file
//! survives the way through the tree and back.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use mbar::check::Settings;
use mbar::syntax::{self, ast::Module, print};
use rayon::prelude::*;
use support::{Failures, data, errors, files, in_words, read, rows, short_name, source};

/// The programs that must be clean: all but the faulty cases.
fn programs() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["guide", "real", "hw"].iter().flat_map(|folder| files(folder, "ptx")).collect();
    found.extend(files("cases", "ptx").into_iter().filter(|path| !read(path).contains("//~")));
    assert!(found.len() > 500, "only {} programs in {}", found.len(), data("").display());
    found
}

/// Every PTX file of the data folder, faulty ones too.
fn all_files() -> Vec<PathBuf> {
    ["guide", "real", "hw", "cases"].iter().flat_map(|folder| files(folder, "ptx")).collect()
}

#[test]
fn programs_that_run_have_no_error() {
    let found: Vec<(String, String, String)> = programs()
        .par_iter()
        .flat_map_iter(|path| {
            let name = short_name(path);
            let checked = support::check_text(&name, &read(path), &Settings::default());
            let file = checked.program.module.source.clone();
            let found: Vec<_> = errors(&checked)
                .into_iter()
                .map(|d| (name.clone(), d.rule.name.to_string(), in_words(&file, d)))
                .collect();
            found
        })
        .collect();

    // What is wrong on purpose: file, rule, reason.
    let mut expected: BTreeMap<(String, String), bool> = rows("wrong_on_purpose.tsv")
        .into_iter()
        .map(|row| ((row[0].clone(), row[1].clone()), false))
        .collect();
    let mut failures = Failures::default();
    for (name, rule, words) in found {
        match expected.get_mut(&(name.clone(), rule)) {
            Some(seen) => *seen = true,
            None => failures.push(format!("{name}: {words}")),
        }
    }
    for ((name, rule), _) in expected.iter().filter(|(_, seen)| !**seen) {
        failures.push(format!("{name}: no error[{rule}] any more; take it off the list"));
    }
    failures.report("A false error is the worst defect. Only a fault that a program has on purpose is listed in tests/data/wrong_on_purpose.tsv.");
}

#[test]
fn wrong_on_purpose_gives_reasons() {
    let mut seen = BTreeSet::new();
    for row in rows("wrong_on_purpose.tsv") {
        assert!(seen.insert((row[0].clone(), row[1].clone())), "twice: {row:?}");
        assert!(row.len() == 3 && row[2].len() > 10, "file, rule and reason: {row:?}");
        assert!(row[0].starts_with("hw/"), "only the experiments have faults on purpose: {}", row[0]);
    }
}

#[test]
fn printing_keeps_every_token_and_is_stable() {
    let failures: Vec<String> = all_files()
        .par_iter()
        .filter_map(|path| {
            let text = read(path);
            let parsed = syntax::parse(source("a.ptx", &text));
            if !parsed.diagnostics.is_empty() {
                // Only a tree without syntax errors is promised to be complete.
                return None;
            }
            let complaint = round_trip(&text, &parsed.module)?;
            Some(format!("{}: {complaint}", short_name(path)))
        })
        .collect();
    Failures::new(failures).report("See the laws of syntax::print.");
}

/// How printing `module` and reading it again goes wrong.
fn round_trip(text: &str, module: &Module) -> Option<String> {
    let printed = print::print(module);
    let (before, after) = (print::token_texts(text), print::token_texts(&printed));
    if before != after {
        let at = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        return Some(format!("token {at} is {:?}, printed as {:?}", before.get(at), after.get(at)));
    }
    let again = syntax::parse(source("b.ptx", &printed));
    if let Some(diagnostic) = again.diagnostics.first() {
        let words = in_words(&again.module.source, diagnostic);
        return Some(format!("the printed text has an error: {words}"));
    }
    if print::print(&again.module) != printed {
        return Some("printed twice, it differs".into());
    }
    let (before, after) = (shape(module), shape(&again.module));
    let at = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    (before != after).then(|| format!("item {at}: the printed text has another tree"))
}

/// The tree in words, one entry an item, without the places in the text.
fn shape(module: &Module) -> Vec<String> {
    let mut shape: Vec<String> =
        module.items.iter().map(|item| without_ranges(&format!("{item:?}"))).collect();
    shape.push(without_ranges(&format!("{:?}", module.operands)));
    shape.push(format!("{:?}", module.opcodes));
    shape
}

/// Takes every `12..34` out.
fn without_ranges(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("..") {
        let is_digit = |c: char| c.is_ascii_digit();
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let start = before.trim_end_matches(is_digit);
        let tail = after.trim_start_matches(is_digit);
        let is_range = start.len() < before.len() && tail.len() < after.len();
        out.push_str(if is_range { start } else { before });
        out.push_str("..");
        rest = if is_range { tail } else { after };
    }
    out.push_str(rest);
    out
}

#[test]
fn ranges_are_taken_out_and_nothing_else() {
    assert_eq!(without_ranges("A { span: 12..345, n: 6, s: \"..\" }"), "A { span: .., n: 6, s: \"..\" }");
}
