//! Findings and their fixes stand in the right place, and comments allow what they should.

mod support;

use mbar::check::{Checked, Settings};
use pretty_assertions::assert_eq;
use support::check_text;

/// Checks a kernel around `body`.
fn checked(body: &str) -> Checked {
    let header = support::header("8.0", "sm_90");
    let text = format!(
        "{header}.shared .align 4 .b32 x;\n.entry k() {{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n{body}\nret;\n}}\n"
    );
    check_text("places.ptx", &text, &Settings::default())
}

/// Each finding's rule and the text it stands at.
fn findings(body: &str) -> Vec<(&'static str, String)> {
    let checked = checked(body);
    let text = |d: &mbar::diagnostic::Diagnostic| checked.program.module.source.slice(d.span).to_string();
    checked.diagnostics.iter().map(|d| (d.rule.name, text(d))).collect()
}

/// The text after the first fix of the first finding, from the place of the fix to the end of its line.
fn mended(body: &str) -> String {
    let checked = checked(body);
    let edit = &checked.diagnostics[0].fixes[0].edits[0];
    let rest = &checked.program.module.source.text()[edit.span.end as usize..];
    format!("{}{}", edit.replacement, rest.lines().next().unwrap_or(""))
}

#[test]
fn a_directive_that_is_part_of_the_mark_is_found_behind_it() {
    assert_eq!(findings("// mbar: ar"), [("unknown-directive", "ar".to_string())]);
    assert_eq!(mended("// mbar: ar p = u32 1"), "arg p = u32 1");
}

#[test]
fn several_allows_may_stand_above_one_line() {
    let load = "ld.shared.b32 %r1, [x+8]; mov.b32 %r0, %r1, %r2;";
    let both = findings(load);
    assert_eq!(both.len(), 2, "{both:?}");
    let allow: Vec<String> = both.iter().map(|(rule, _)| format!("// mbar: allow({rule}) why\n")).collect();
    let all = allow.concat();
    assert_eq!(findings(&format!("{all}{load}")), []);
    assert_eq!(findings(&format!("{all}\n/* more\n lines */\n# 1 \"file\"\n{load}")), []);
    assert_eq!(findings(&format!("{}{load}", allow[0])), [both[1].clone()]);
    // The first line of code takes them all.
    assert_eq!(findings(&format!("{all}mov.b32 %r2, 0;\n{load}")), both);
    // Behind code on the same line: for that line only.
    assert_eq!(findings(&format!("mov.b32 %r2, 0; {}{load}", allow[0])), both);
}

#[test]
fn operands_are_counted_without_wrapping_around() {
    for count in [3, 256, 258, 514] {
        let found = findings(&format!("mov.b32 %r0{};", ", %r1".repeat(count - 1)));
        assert_eq!(found.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), ["operand-mismatch"], "{count}");
    }
}

#[test]
fn a_special_register_is_not_read_where_it_would_be_written() {
    let message = |body| checked(body).diagnostics[0].message.clone();
    assert_eq!(message("mov.u32 %tid.x, 1;"), "the special register `%tid.x` cannot be written");
    assert!(message("add.u32 %r0, %tid.x, 1;").contains("cannot read"));
}
