//! The verdicts of NVIDIA's assembler, recorded, against ours.
//!
//! Each row of `tests/data/oracle/*.tsv` is one question that ptxas 13.5 was asked. A row counts as
//! rejected here when there is an error of a rule that ptxas shares. Where we differ on purpose, the
//! row stands in `tests/data/differences.tsv` with the reason; that list is exact in both directions.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use mbar::check::{self, Settings};
use mbar::diagnostic::{Diagnostic, Severity};
use rayon::prelude::*;
use support::{Failures, all_in_words, check_text, frame, rejections, rows, shared_with_ptxas};

/// One question: may this stand in a file of that version and target?
struct Question {
    snippet: String,
    version: String,
    target: String,
    accepted: bool,
}

impl Question {
    fn key(&self) -> Key {
        (self.snippet.clone(), format!("{} {}", self.version, self.target))
    }
}

/// The snippet and where it stands: what identifies a row in `differences.tsv`.
type Key = (String, String);

/// An answer other than the recorded one.
struct Difference {
    key: Key,
    text: String,
}

fn ask(question: &Question) -> Option<Difference> {
    let (before, text) = frame(&question.snippet, &question.version, &question.target);
    let inside = snippet_in(&before, &question.snippet);
    answer(&text, inside, question.accepted, question.key(), &question.snippet)
}

/// Where the snippet stands, its end included: what is missing is missed there.
fn snippet_in(before: &str, snippet: &str) -> RangeInclusive<u32> {
    before.len() as u32..=(before.len() + snippet.len()) as u32
}

/// Compares with the verdict: of an accepted text nothing may be refused, of a rejected one something
/// that starts `inside`.
fn answer(
    text: &str,
    inside: RangeInclusive<u32>,
    accepted: bool,
    key: Key,
    shown: &str,
) -> Option<Difference> {
    let checked = check_text("snippet.ptx", text, &Settings::default());
    let rejections = rejections(&checked);
    let agrees = match accepted {
        true => rejections.is_empty(),
        false => rejections.iter().any(|d| inside.contains(&d.span.start)),
    };
    if agrees {
        return None;
    }
    let verdict = if accepted { "accepts" } else { "rejects" };
    let file = &checked.program.module.source;
    let ours = all_in_words(file, rejections.iter().copied());
    let text = format!("{shown}   [{}] ptxas {verdict}; here: {ours}", key.1);
    Some(Difference { key, text })
}

/// The reviewed differences of one table.
fn reviewed(table: &str) -> BTreeMap<Key, String> {
    let rows = rows("differences.tsv").into_iter().filter(|row| row[0] == table);
    let mut found = BTreeMap::new();
    for row in rows {
        let [_, snippet, place, reason] = &row[..] else {
            panic!("differences.tsv: a row has table, snippet, place and reason: {row:?}");
        };
        assert!(!reason.trim().is_empty(), "differences.tsv: no reason given for {snippet}");
        let old = found.insert((snippet.clone(), place.clone()), reason.clone());
        assert!(old.is_none(), "differences.tsv: twice: {snippet}");
    }
    found
}

/// Fails unless the differences are exactly the reviewed ones, and few enough.
fn compare(table: &str, asked: usize, differences: Vec<Difference>, least_percent: f64) {
    let reviewed = reviewed(table);
    let found: BTreeSet<Key> = differences.iter().map(|d| d.key.clone()).collect();
    let percent = 100.0 * (asked - differences.len()) as f64 / asked as f64;
    println!("{table}: {asked} questions, {} differences, {percent:.2} % agree", differences.len());

    let mut failures = Failures::default();
    for key in reviewed.keys().filter(|key| !found.contains(*key)) {
        failures.push(format!("no difference any more, take it off the list: {}   [{}]", key.0, key.1));
    }
    for difference in differences.iter().filter(|d| !reviewed.contains_key(&d.key)) {
        failures.push(&difference.text);
    }
    failures.report(&format!(
        "{table}: {percent:.2} % of {asked} questions agree. Where ptxas is right, correct grammar/*.isa or the rule; \
         where we differ on purpose, add the row with its reason to tests/data/differences.tsv."
    ));
    assert!(percent >= least_percent, "{table}: only {percent:.2} % agree, {least_percent} % are demanded");
}

/// Asks in parallel and compares.
fn compare_questions(table: &str, questions: &[Question], least_percent: f64) {
    let differences = questions.par_iter().filter_map(ask).collect();
    compare(table, questions.len(), differences, least_percent);
}

/// The PTX versions that ptxas was asked about, in order, as (major, minor). There were earlier ones, but
/// a form whose recorded minimum is 7.0 may be older than that.
#[rustfmt::skip]
const VERSIONS: &[(u32, u32)] = &[
    (7, 0), (7, 1), (7, 2), (7, 3), (7, 4), (7, 5), (7, 6), (7, 7), (7, 8),
    (8, 0), (8, 1), (8, 2), (8, 3), (8, 4), (8, 5), (8, 6), (8, 7), (8, 8),
    (9, 0), (9, 1), (9, 2), (9, 3), (9, 4), (9, 5),
];

fn version(text: &str) -> (u32, u32) {
    let (major, minor) = text.split_once('.').unwrap_or_else(|| panic!("`{text}` is no version"));
    (major.parse().expect("a number"), minor.parse().expect("a number"))
}

fn in_text((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}

/// A target that ptxas 13.5 knows.
struct Target {
    name: String,
    number: u32,
    since: (u32, u32),
}

fn targets() -> Vec<Target> {
    let known = rows("oracle/targets.tsv").into_iter().filter(|row| row[0] == "13.5");
    let targets: Vec<Target> = known
        .map(|row| {
            let digits = row[1].trim_start_matches("sm_").trim_end_matches(['a', 'f']);
            Target {
                name: row[1].clone(),
                number: digits.parse().expect("sm_NUMBER"),
                since: version(&row[2]),
            }
        })
        .collect();
    assert_eq!(targets.len(), 26, "targets of ptxas 13.5");
    targets
}

/// Whether `target` is in `sm_90+` or in `sm_90a,sm_100a`.
fn listed(list: &str, target: &Target) -> bool {
    match list.strip_suffix('+') {
        Some(least) => target.number >= least.trim_start_matches("sm_").parse().expect("sm_NUMBER+"),
        None => list.split(',').any(|name| name == target.name),
    }
}

/// What a row of forms.tsv says: accepted from its version on, on its targets, and nowhere else.
fn form_questions(form: &str, least: (u32, u32), list: &str, targets: &[Target]) -> Vec<Question> {
    const NEWEST: (u32, u32) = (9, 5);
    let below = VERSIONS.iter().copied().rfind(|version| *version < least);
    let mut questions = Vec::new();
    for target in targets {
        let mut ask = |version: (u32, u32), accepted: bool| {
            let (snippet, target) = (form.to_string(), target.name.clone());
            questions.push(Question { snippet, version: in_text(version), target, accepted });
        };
        if !listed(list, target) {
            ask(NEWEST, false);
            continue;
        }
        ask(least.max(target.since), true);
        if least.max(target.since) != NEWEST {
            ask(NEWEST, true);
        }
        if let Some(below) = below.filter(|below| *below >= target.since) {
            ask(below, false);
        }
    }
    questions
}

#[test]
fn forms_are_accepted_exactly_where_ptxas_accepts_them() {
    let targets = targets();
    let questions: Vec<Question> = rows("oracle/forms.tsv")
        .iter()
        .flat_map(|row| {
            assert!(row[4].is_empty(), "per-target minima are not written anywhere yet");
            form_questions(&row[1], version(&row[2]), &row[3], &targets)
        })
        .collect();
    compare_questions("forms", &questions, 100.0);
}

#[test]
fn rejected_forms_are_rejected() {
    let questions: Vec<Question> = rows("oracle/rejected.tsv")
        .into_iter()
        .map(|row| Question {
            snippet: row[1].clone(),
            version: row[2].clone(),
            target: row[3].clone(),
            accepted: false,
        })
        .collect();
    compare_questions("rejected", &questions, 99.5);
}

#[test]
fn operands_are_judged_as_ptxas_judges_them() {
    let questions: Vec<Question> = rows("oracle/operands.tsv")
        .into_iter()
        .map(|row| Question {
            snippet: unescape(&row[2]),
            version: row[3].clone(),
            target: row[4].clone(),
            accepted: verdict(&row[5]),
        })
        .collect();
    compare_questions("operands", &questions, 99.0);
}

/// Modifiers moved, dropped and doubled; on sm_107a, which has every instruction of the list.
#[test]
fn modifier_orders_are_judged_as_ptxas_judges_them() {
    let questions: Vec<Question> = rows("oracle/orders.tsv")
        .into_iter()
        .map(|row| Question {
            snippet: row[2].clone(),
            version: "9.5".into(),
            target: "sm_107a".into(),
            accepted: verdict(&row[3]),
        })
        .collect();
    compare_questions("orders", &questions, 99.0);
}

#[test]
fn whole_modules_are_judged_as_ptxas_judges_them() {
    let rows = rows("oracle/modules.tsv");
    let differences = rows
        .iter()
        .filter_map(|row| {
            let key = (row[0].clone(), "whole file".to_string());
            answer(&unescape(&row[5]), 0..=u32::MAX, verdict(&row[1]), key, &row[0])
        })
        .collect();
    compare("modules", rows.len(), differences, 99.0);
}

/// The rule that must find each fault that ptxas lets pass.
fn rules_of_faults() -> BTreeMap<Key, String> {
    let mut rules = BTreeMap::new();
    for row in rows("accepted_but_wrong_rules.tsv") {
        let [snippet, place, rule] = &row[..] else {
            panic!("accepted_but_wrong_rules.tsv: a row has snippet, place and rule: {row:?}");
        };
        assert!(check::rules().iter().any(|known| known.name == rule), "there is no rule {rule}");
        let old = rules.insert((unescape(snippet), place.clone()), rule.clone());
        assert!(old.is_none(), "accepted_but_wrong_rules.tsv: twice: {snippet}");
    }
    rules
}

/// What ptxas lets pass though it is undefined gets a warning or an error of ours, by the rule that is
/// about it and within the snippet: what the frame lacks does not count. Rows of the table
/// `not_a_fault` in differences.tsv are left out: the manual does not call them undefined.
#[test]
fn accepted_faults_are_found() {
    let no_faults = reviewed("not_a_fault");
    let rules = rules_of_faults();
    let rows = rows("oracle/accepted_but_wrong.tsv");
    let key = |row: &[String]| -> Key { (unescape(&row[2]), format!("{} {}", row[3], row[4])) };
    let known: BTreeSet<Key> = rows.iter().map(|row| key(row)).collect();
    let judged: BTreeSet<&Key> = no_faults.keys().chain(rules.keys()).collect();
    assert_eq!(judged.len(), no_faults.len() + rules.len(), "a row is a fault or none, not both");
    let strangers = judged.iter().filter(|key| !known.contains(**key)).map(|key| key.0.clone());
    Failures::new(strangers.collect()).report("A row is named that accepted_but_wrong.tsv does not have.");
    let unnamed = known.iter().filter(|key| !judged.contains(key)).map(|key| format!("{}\t{}", key.0, key.1));
    Failures::new(unnamed.collect()).report("Name the rule in tests/data/accepted_but_wrong_rules.tsv.");

    let missed = rules
        .par_iter()
        .filter_map(|((snippet, place), rule)| {
            let (version, target) = place.split_once(' ').expect("version and target");
            let (before, text) = frame(snippet, version, target);
            let inside = snippet_in(&before, snippet);
            let checked = check_text("snippet.ptx", &text, &Settings::default());
            let right = |d: &Diagnostic| {
                d.rule.name == rule
                    && d.severity >= Severity::Warning
                    && !shared_with_ptxas(d)
                    && inside.contains(&d.span.start)
            };
            if checked.diagnostics.iter().any(right) {
                return None;
            }
            let all = all_in_words(&checked.program.module.source, &checked.diagnostics);
            let text = format!("{snippet}   [{place}] should be {rule}; here: {all}");
            Some(Difference { key: (snippet.clone(), place.clone()), text })
        })
        .collect();
    compare("accepted_but_wrong", rules.len(), missed, 95.0);
}

/// A 32-bit register as a generic or global address: an error where ptxas makes no code, a warning where
/// it does. One row for each instruction and operand that is such an address.
#[test]
fn narrow_addresses_are_errors_exactly_where_ptxas_makes_no_code() {
    let mut failures = Failures::default();
    for row in rows("oracle/narrow.tsv") {
        let (_, text) = frame(&row[1], &row[2], &row[3]);
        let checked = check_text("snippet.ptx", &text, &Settings::default());
        let narrow = |d: &&Diagnostic| d.rule.name == "narrow-address";
        let found: Vec<Severity> = checked.diagnostics.iter().filter(narrow).map(|d| d.severity).collect();
        let wanted = if verdict(&row[4]) { Severity::Warning } else { Severity::Error };
        if found != [wanted] {
            failures.push(format!("{}   [{} {}] wants {wanted:?}: {found:?}", row[1], row[2], row[3]));
        }
    }
    failures
        .report("Say `wide` in grammar/*.isa where ptxas makes no code with a narrow address, only there.");
}

fn verdict(text: &str) -> bool {
    match text.split(' ').next() {
        Some("accept") => true,
        Some("reject") => false,
        _ => panic!("`{text}` is no verdict"),
    }
}

/// Undoes the escapes of the tables: `\n`, `\t`, `\\`, `\xNN` and `\uNNNN`.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let kind = chars.next().expect("a character after the backslash");
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            _ => 0,
        };
        let hex: String = chars.by_ref().take(digits).collect();
        out.push(match kind {
            'n' => '\n',
            't' => '\t',
            '\\' => '\\',
            'x' | 'u' => {
                u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32).expect("a character's number")
            }
            other => panic!("unknown escape \\{other} in {text}"),
        });
    }
    out
}
