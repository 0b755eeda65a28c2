//! Findings as text: one file a format. The only part of the program that knows how things look.

pub mod concise;
pub mod diff;
pub mod github;
pub mod human;
pub mod json;
pub mod run;
pub mod sarif;
pub mod verify;

use crate::diagnostic::Diagnostic;

/// What a finding says beside its headline, where there are no marks in the source: why, then what to do.
fn remarks(diagnostic: &Diagnostic) -> impl Iterator<Item = String> {
    let notes = diagnostic.notes.iter().map(|note| format!("Note: {note}"));
    notes.chain(diagnostic.helps.iter().map(|help| format!("Help: {help}")))
}

/// The same text without ends of lines.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).filter(|part| !part.is_empty()).collect::<Vec<&str>>().join(" ")
}
