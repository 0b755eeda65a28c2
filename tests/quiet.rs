//! Programs about which nothing is to be said (`tests/data/quiet`): each was once taken for faulty, and
//! its first line says why it is not.

mod support;

use mbar::check::Settings;
use support::{Failures, all_in_words, check_text, files, read, short_name, without_comments};

#[test]
fn nothing_is_found_in_what_is_right() {
    let mut failures = Failures::default();
    let files = files("quiet", "ptx");
    assert!(files.len() >= 15, "only {} files", files.len());
    for path in files {
        let (name, text) = (short_name(&path), read(&path));
        assert!(text.starts_with("// "), "{name} does not say why it is right");
        for text in [without_comments(&text), text] {
            let checked = check_text(&name, &text, &Settings::default());
            if !checked.diagnostics.is_empty() {
                let ours = all_in_words(&checked.program.module.source, &checked.diagnostics);
                failures.push(format!("{name}: {ours}"));
            }
        }
    }
    failures.report("The first line of each file says why it is right.");
}

/// The names of the rules that find something in a kernel of this body.
fn found(body: &str) -> Vec<&'static str> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 8 .b64 bar;\n.entry k() {{\n{body}\n}}\n"
    );
    let checked = check_text("t", &text, &Settings::default());
    checked.diagnostics.iter().map(|diagnostic| diagnostic.rule.name).collect()
}

#[test]
fn a_guard_that_is_not_declared_is_a_guard() {
    assert_eq!(found("@%p mbarrier.init.shared.b64 [bar], 1;\nret;"), ["unknown-name"]);
    let skipped = "@%p bra L;\nmbarrier.init.shared.b64 [bar], 1;\nL: ret;";
    assert_eq!(found(skipped), ["unknown-name"]);
}
