//! With a language in which each small letter that stands behind the same letter is an error, and `!` a
//! warning; every finding comes with the fix that the test wants.

use pretty_assertions::assert_eq;

use super::*;
use crate::diagnostic::{Ptxas, Rule};

static DOUBLE: Rule =
    Rule { name: "double", severity: Severity::Error, ptxas: Ptxas::Rejects, summary: "", page: "" };
static LOUD: Rule =
    Rule { name: "loud", severity: Severity::Warning, ptxas: Ptxas::Accepts, summary: "", page: "" };

/// Doubles, each with a fix that writes what `instead` gives for the letter; `!` with a fix that removes it.
fn findings(source: &SourceFile, instead: fn(char) -> &'static str) -> Vec<Diagnostic> {
    let text: Vec<char> = source.text().chars().collect();
    let mut found = Vec::new();
    for (at, &c) in text.iter().enumerate() {
        let span = Span::new(at as u32, at as u32 + 1);
        if c == '!' {
            found.push(Diagnostic::new(&LOUD, span, "").fix(Applicability::Safe, "", span, ""));
        }
        if at > 0 && text[at - 1] == c && c.is_ascii_lowercase() {
            found.push(Diagnostic::new(&DOUBLE, span, "").fix(Applicability::Safe, "", span, instead(c)));
        }
    }
    found
}

fn fixed(text: &str, instead: fn(char) -> &'static str) -> (String, usize) {
    let check = |source: Arc<SourceFile>| findings(&source, instead);
    let fixed = fix(SourceFile::new("t", text), &check, &|_| true);
    (fixed.source.text().to_string(), fixed.count)
}

#[test]
fn all_fixes_are_applied() {
    assert_eq!(fixed("abc", |_| ""), ("abc".into(), 0));
    assert_eq!(fixed("aabccd!", |_| "-"), ("a-bc-d".into(), 3));
}

/// Those that meet have to wait for the next round.
#[test]
fn neighbours_take_turns() {
    assert_eq!(fixed("aaaa!!", |_| ""), ("a".into(), 5));
}

#[test]
fn a_fix_that_does_not_help_is_taken_back() {
    // `b` stays a double; `a` and `c` do not.
    let instead = |c: char| if c == 'b' { "b" } else { "-" };
    assert_eq!(fixed("aabbccbb", instead), ("a-bbc-bb".into(), 2));
}

#[test]
fn a_fix_that_brings_another_error_is_taken_back() {
    let instead = |c: char| if c == 'b' { "-zz" } else { "" };
    assert_eq!(fixed("bb!aa!cc", instead), ("bbac".into(), 4));
}

#[test]
fn only_what_is_wanted_is_fixed() {
    let check = |source: Arc<SourceFile>| findings(&source, |_| "");
    let fixed = fix(SourceFile::new("t", "aa!"), &check, &|finding| finding.rule == &LOUD);
    assert_eq!((fixed.source.text(), fixed.count), ("aa", 1));
}

#[test]
fn an_unsafe_fix_is_left_to_people() {
    let check = |_: Arc<SourceFile>| {
        let span = Span::new(0, 1);
        vec![Diagnostic::new(&LOUD, span, "").fix(Applicability::Unsafe, "", span, "")]
    };
    let fixed = fix(SourceFile::new("t", "aa"), &check, &|_| true);
    assert_eq!((fixed.source.text(), fixed.count), ("aa", 0));
}

/// A fix that would go on for ever ends.
#[test]
fn there_is_an_end() {
    let check = |source: Arc<SourceFile>| {
        let end = Span::empty(source.text().len() as u32);
        vec![Diagnostic::new(&LOUD, end, "").fix(Applicability::Safe, "", Span::empty(0), "x")]
    };
    let fixed = fix(SourceFile::new("t", ""), &check, &|_| true);
    assert!(fixed.source.text().len() <= CHECKS);
}

#[test]
fn places_move_with_the_text() {
    let edit = |start, end, text: &str| Edit { span: Span::new(start, end), replacement: text.into() };
    let change = Change::new([edit(2, 4, "xyz"), edit(6, 6, "!"), edit(8, 9, "")].into_iter());
    assert_eq!(change.apply("0123456789"), "01xyz45!679");
    let moved: Vec<u32> = (0..10).map(|at| change.moved(at)).collect();
    assert_eq!(moved, [0, 1, 2, 2, 5, 6, 7, 9, 10, 10]);
    assert_eq!(change.both(6), [7, 8]);
    assert_eq!(change.both(7), [9, 9]);
}
