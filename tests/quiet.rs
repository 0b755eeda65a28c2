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
