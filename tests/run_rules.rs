//! Every rule of `mbar run` (`tests/data/run`): a program that breaks it, and one beside it that does not.
//!
//! `//~ RULE` ends the line on which the finding stands, `//~^ RULE` stands below it; `//~ related` ends a
//! line that the finding names as the other side.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mbar::diagnostic::Severity;
use mbar::machine::rule::{self, RULES, RunRule};
use rayon::prelude::*;
use serde_json::Value;
use support::{Failures, files, read, short_name};

/// Rules that no program can break, each with the reason.
const WITHOUT_PROGRAM: [(&str, &str); 0] = [];

/// Findings whose message has nothing of the program to name, by the file.
const NAMELESS: [&str; 6] = [
    "run/trap.ptx",
    "run/unsupported.ptx",
    "run/read-only-memory.ptx",
    "run/cancel-after-failure.ptx",
    "run/place-of-failed-request.ptx",
    "run/tensor-map.ptx",
];

/// What `mbar run` answered.
struct Answer {
    code: Option<i32>,
    document: Value,
    took: Duration,
}

impl Answer {
    fn outcome(&self) -> &str {
        self.document["outcome"].as_str().unwrap_or("none")
    }

    fn findings(&self) -> &[Value] {
        self.document["findings"].as_array().map_or(&[], Vec::as_slice)
    }

    /// `12 over-arrival: …`, for the list of failures.
    fn in_words(&self) -> String {
        let words = |f: &Value| format!("{} {}: {}", line(f), text(&f["name"]), text(&f["message"]));
        let findings: Vec<String> = self.findings().iter().map(words).collect();
        format!("exit code {:?}, {}, [{}]", self.code, self.outcome(), findings.join("; "))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn line(value: &Value) -> u64 {
    value["line"].as_u64().unwrap_or(0)
}

fn run(path: &Path, flags: &[&str]) -> Answer {
    let start = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_mbar"))
        .args(["run", "--format", "json"])
        .args(flags)
        .arg(path)
        .output()
        .expect("the program starts");
    let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    Answer { code: output.status.code(), document, took: start.elapsed() }
}

/// Where a rule is said to be broken.
struct Tags {
    rule: &'static RunRule,
    line: u64,
    related: Vec<u64>,
}

impl Tags {
    fn read(path: &Path, text: &str) -> Tags {
        let (mut main, mut related) = (Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            let Some((_, tag)) = line.split_once("//~") else { continue };
            let (number, name) = match tag.strip_prefix('^') {
                Some(name) => (number - 1, name.trim()),
                None => (number, tag.trim()),
            };
            if name == "related" { related.push(number) } else { main.push((number, name)) }
        }
        let [(line, name)] = main.as_slice() else { panic!("{}: one rule", path.display()) };
        let rule = rule::find(name).unwrap_or_else(|| panic!("{}: no rule {name}", path.display()));
        Tags { rule, line: *line, related }
    }
}

/// The programs that break a rule: `NAME.ptx` and `NAME.VARIANT.ptx`.
fn faulty() -> Vec<PathBuf> {
    let files = files("run", "ptx");
    files.into_iter().filter(|path| !short_name(path).ends_with(".fixed.ptx")).collect()
}

fn twins() -> Vec<PathBuf> {
    faulty().iter().map(|path| path.with_extension("fixed.ptx")).collect()
}

/// Each file in turn, several at once.
fn for_all(files: &[PathBuf], advice: &str, judge: impl Fn(&Path) -> Vec<String> + Sync) {
    let found: Vec<String> = files
        .par_iter()
        .flat_map_iter(|path| {
            let name = short_name(path);
            judge(path).into_iter().map(move |what| format!("{name}: {what}"))
        })
        .collect();
    let mut failures = Failures::default();
    found.into_iter().for_each(|failure| failures.push(failure));
    failures.report(advice);
}

#[test]
fn each_fault_is_found_where_it_is() {
    for_all(&faulty(), "One finding, of this rule, on the tagged line.", |path| {
        let tags = Tags::read(path, &read(path));
        let answer = run(path, &[]);
        let [finding] = answer.findings() else { return vec![answer.in_words()] };
        let severity = tags.rule.rule.severity;
        let right = text(&finding["name"]) == tags.rule.rule.name
            && text(&finding["rule"]) == tags.rule.number
            && text(&finding["kind"]) == tags.rule.kind.as_str()
            && text(&finding["severity"]) == severity.as_str()
            && line(finding) == tags.line;
        let mut wrong = Vec::new();
        if !right {
            wrong.push(format!("wants {} {}: {}", tags.line, tags.rule.rule.name, answer.in_words()));
        }
        let code = match (severity, answer.outcome()) {
            (Severity::Error, _) => 1,
            (_, "unsupported") => 3,
            _ => 0,
        };
        if answer.code != Some(code) {
            wrong.push(format!("wants exit code {code}: {}", answer.in_words()));
        }
        let sides: Vec<u64> = finding["related"].as_array().into_iter().flatten().map(line).collect();
        for side in tags.related.iter().filter(|side| !sides.contains(side)) {
            wrong.push(format!("line {side} is not named: {sides:?}"));
        }
        wrong
    });
}

/// Words that the author of the program has chosen, and numbers that stand on the line.
fn own_words(text: &str) -> BTreeSet<&str> {
    let code = text.lines().filter(|line| !line.starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && !"_%".contains(c)))
        .filter(|word| {
            let name = word.strip_prefix('%').unwrap_or(word);
            name != *word || word.starts_with("p_") || is_declared(text, word)
        })
        .filter(|word| !word.is_empty())
        .collect()
}

fn is_declared(text: &str, word: &str) -> bool {
    let declares = |line: &str| line.trim_start().starts_with(".shared") || line.starts_with(".const");
    text.lines().filter(|line| declares(line)).any(|line| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
            && word.chars().any(|c| c.is_alphabetic())
            && !["shared", "const", "align", "b8", "b32", "b64"].contains(&word)
    })
}

/// A finding can be read without the program beside it: it names what it is about, and what to do.
#[test]
fn messages_name_things_and_help() {
    for_all(&faulty(), "Names of the program in the message or a note, and a help.", |path| {
        let program = read(path);
        let answer = run(path, &[]);
        let [finding] = answer.findings() else { return vec![answer.in_words()] };
        let all =
            |key: &str| -> Vec<&str> { finding[key].as_array().into_iter().flatten().map(text).collect() };
        let (notes, helps) = (all("notes"), all("helps"));
        let words = [&[text(&finding["message"])], notes.as_slice()].concat().join("\n");
        let name = short_name(path);
        let mut wrong = Vec::new();
        let named = own_words(&program).iter().any(|word| words.contains(&format!("`{word}")));
        let counted =
            ["barrier ", "CTA ", "cluster", "thread ", "threads ", "lanes", "size", "bytes", "targets"]
                .iter()
                .any(|word| words.contains(word));
        if !named && !counted && !NAMELESS.contains(&name.as_str()) {
            wrong.push(format!("names nothing: {words}"));
        }
        let explains = !helps.is_empty() || !notes.is_empty();
        if !explains && name != "run/trap.ptx" {
            wrong.push(format!("does not help: {words}"));
        }
        wrong
    });
}

#[test]
fn nothing_is_found_in_the_twins() {
    let advice = "It is right: nothing is to be said, whatever the schedule.";
    for_all(&twins(), advice, |path| found_in_right(path, &[]));
}

/// Variations of right code at the edge of the rules (`tests/data/run_right`), compact.
#[test]
fn nothing_is_found_at_the_edge() {
    let files = files("run_right", "ptx");
    assert!(files.len() > 60, "only {} files", files.len());
    for_all(&files, "It is right: nothing is to be said, whatever the schedule.", |path| {
        let text = read(path);
        let flags = text.lines().next().and_then(|line| line.strip_prefix("// flags: ")).unwrap_or("");
        found_in_right(path, &flags.split_whitespace().collect::<Vec<_>>())
    });
}

/// What is said about a right program under some schedule or other.
fn found_in_right(path: &Path, launch: &[&str]) -> Vec<String> {
    assert!(read(path).contains("// mbar: expect"), "{}: what comes out?", path.display());
    let eager = |reconverge: &str| {
        ["--async", "eager", "--reconverge", reconverge].iter().map(|flag| flag.to_string()).collect()
    };
    let orders: Vec<Vec<String>> = std::iter::once(Vec::new())
        .chain(["postdominator", "never"].map(eager))
        .chain((0..5).map(random_order))
        .collect();
    let mut wrong = Vec::new();
    for order in orders {
        let flags: Vec<&str> = order.iter().map(String::as_str).chain(launch.iter().copied()).collect();
        let answer = run(path, &flags);
        if answer.code != Some(0) || answer.outcome() != "completed" || !answer.findings().is_empty() {
            wrong.push(format!("{}: {}", flags.join(" "), answer.in_words()));
        }
    }
    wrong
}

fn random_order(seed: u32) -> Vec<String> {
    let flags = ["--schedule", "random", "--async", "random", "--reconverge", "random", "--seed"];
    flags.iter().map(|flag| flag.to_string()).chain([seed.to_string()]).collect()
}

/// Beyond a fault anything may come, but it comes to an end.
#[test]
fn a_run_goes_on_beyond_a_fault() {
    for_all(&faulty(), "It reports the fault (or not), and ends.", |path| {
        let mut wrong = Vec::new();
        for (undefined, seed) in [("warn", 0), ("ignore", 0), ("warn", 1), ("ignore", 1)] {
            let order = if seed == 0 { Vec::new() } else { random_order(seed) };
            let mut flags = vec!["--ub", undefined, "--max-steps", "2000000"];
            flags.extend(order.iter().map(String::as_str));
            let answer = run(path, &flags);
            let known = ["completed", "violation", "deadlock", "trap", "limit", "unsupported"];
            let ended = answer.code.is_some_and(|code| code <= 3) && known.contains(&answer.outcome());
            if !ended || answer.took > Duration::from_secs(20) {
                wrong.push(format!("--ub={undefined}, {:?}: {}", answer.took, answer.in_words()));
            }
        }
        wrong
    });
}

#[test]
fn every_rule_has_a_program() {
    let broken: BTreeSet<&str> =
        faulty().iter().map(|path| Tags::read(path, &read(path)).rule.rule.name).collect();
    for rule in RULES {
        let name = rule.rule.name;
        let excused = WITHOUT_PROGRAM.iter().any(|(without, _)| *without == name);
        assert_ne!(broken.contains(name), excused, "a program for {name}, or a reason why there is none");
    }
    for path in faulty() {
        let name = short_name(&path);
        let rule = Tags::read(&path, &read(&path)).rule.rule.name;
        let stem = name.strip_prefix("run/").unwrap_or(&name).split('.').next();
        assert_eq!(stem, Some(rule), "{name} is called after its rule");
    }
}
