//! Findings that a repository has put up with so far: which they are, and how to know them again.
//!
//! A finding is known by its file, its rule and the text of its line, blanks squeezed. Not by its place, for lines
//! move; nor by its message, which changes with the lines around it and with versions of this program. Equal
//! ones are counted, so that one more of them is new.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::diagnostic::Diagnostic;
use crate::source::SourceFile;

/// The name and version of the format.
const SCHEMA: &str = "mbar.baseline/1";

/// A hash of the text of a line that does not depend on how it is indented or spaced. It is part of the
/// formats: it must never change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineText(u64);

impl LineText {
    /// That of the line that `diagnostic` stands on.
    pub fn of(source: &SourceFile, diagnostic: &Diagnostic) -> LineText {
        let line = source.line(source.clamp(diagnostic.span).start);
        LineText::of_text(source.slice(source.line_span(line)))
    }

    /// FNV-1a, 64 bits, over the words with one blank between two.
    fn of_text(line: &str) -> LineText {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        for (index, word) in line.split_whitespace().enumerate() {
            if index > 0 {
                add(b' ');
            }
            word.bytes().for_each(&mut add);
        }
        LineText(hash)
    }

    fn from_hex(text: &str) -> Option<LineText> {
        let hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex.then(|| u64::from_str_radix(text, 16).ok()).flatten().map(LineText)
    }
}

impl fmt::Display for LineText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Why a text is no baseline.
#[derive(Error, Debug, PartialEq, Eq)]
pub enum BaselineError {
    /// No JSON, or not of the shape that is wanted.
    #[error("is no baseline, or damaged: {0}")]
    Damaged(String),
    /// JSON, but not by this program.
    #[error("is no baseline: it has no \"schema\":\"{SCHEMA}\"")]
    Foreign,
    /// Of another version.
    #[error("has the schema {0:?}; this version of mbar reads \"{SCHEMA}\"")]
    OtherVersion(String),
}

/// What makes two findings of one file the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Identity {
    rule: String,
    line: LineText,
}

impl Identity {
    fn of(source: &SourceFile, diagnostic: &Diagnostic) -> Identity {
        Identity { rule: diagnostic.rule.name.to_string(), line: LineText::of(source, diagnostic) }
    }
}

/// Equal findings.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Known {
    count: usize,
    /// For those who read the file. It identifies nothing.
    message: String,
}

/// The findings that are put up with, by file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Baseline {
    files: BTreeMap<String, BTreeMap<Identity, Known>>,
}

/// What a baseline had to say to one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Findings that it knows.
    pub left_out: usize,
    /// Findings that it knows and that there are no more.
    pub gone: usize,
}

impl Baseline {
    /// Records the findings of a file in place of what was known of it.
    pub fn record(&mut self, file: &str, source: &SourceFile, diagnostics: &[Diagnostic]) {
        let mut all: BTreeMap<Identity, Known> = BTreeMap::new();
        for diagnostic in diagnostics {
            let message = &diagnostic.message;
            let known = all
                .entry(Identity::of(source, diagnostic))
                .or_insert_with(|| Known { count: 0, message: message.clone() });
            known.count += 1;
        }
        if all.is_empty() {
            self.files.remove(file);
        } else {
            self.files.insert(file.to_string(), all);
        }
    }

    /// Removes from `diagnostics` those that are known. Of equal ones the last are new.
    pub fn leave_out(&self, file: &str, source: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Compared {
        let Some(known) = self.files.get(file) else { return Compared::default() };
        let mut left: BTreeMap<&Identity, usize> =
            known.iter().map(|(identity, known)| (identity, known.count)).collect();
        let before = diagnostics.len();
        diagnostics.retain(|diagnostic| match left.get_mut(&Identity::of(source, diagnostic)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
        Compared { left_out: before - diagnostics.len(), gone: left.values().sum() }
    }

    /// The files of which findings are known.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// How many findings are known of `file`.
    pub fn count_of(&self, file: &str) -> usize {
        self.files.get(file).map_or(0, |known| known.values().map(|known| known.count).sum())
    }

    /// How many findings are known.
    pub fn count(&self) -> usize {
        self.files().map(|file| self.count_of(file)).sum()
    }

    /// As text: JSON, sorted, a line for each entry, so that changes of it are easy to read and to merge.
    pub fn to_text(&self) -> String {
        let entries = self.files.iter().flat_map(|(file, known)| {
            known.iter().map(move |(identity, known)| Entry {
                file: file.clone(),
                rule: identity.rule.clone(),
                line: identity.line.to_string(),
                count: known.count,
                message: known.message.clone(),
            })
        });
        let lines: Vec<String> =
            entries.map(|entry| serde_json::to_string(&entry).unwrap_or_default()).collect();
        let gap = if lines.is_empty() { "" } else { "\n" };
        format!("{{\"schema\":\"{SCHEMA}\",\"findings\":[{gap}{}{gap}]}}\n", lines.join(",\n"))
    }

    /// From the text of [`Baseline::to_text`].
    ///
    /// # Errors
    /// If it is none.
    pub fn from_text(text: &str) -> Result<Baseline, BaselineError> {
        let damaged = |error: serde_json::Error| BaselineError::Damaged(error.to_string());
        let value: serde_json::Value = serde_json::from_str(text).map_err(damaged)?;
        match value.get("schema").and_then(serde_json::Value::as_str) {
            Some(SCHEMA) => {}
            Some(other) if other.starts_with("mbar.baseline/") => {
                return Err(BaselineError::OtherVersion(other.to_string()));
            }
            _ => return Err(BaselineError::Foreign),
        }
        // From the text and not from the value: then errors name the line.
        let document: Document = serde_json::from_str(text).map_err(damaged)?;
        let mut baseline = Baseline::default();
        for entry in document.findings {
            baseline.add(entry)?;
        }
        Ok(baseline)
    }

    /// Whether `text` was meant to be a baseline, though it may be damaged (by a merge, say).
    pub fn may_replace(text: &str) -> bool {
        text.trim().is_empty() || text.contains("\"mbar.baseline/")
    }

    /// Two entries of one identity, as a merge may leave them, count together.
    fn add(&mut self, entry: Entry) -> Result<(), BaselineError> {
        let Some(line) = LineText::from_hex(&entry.line) else {
            return Err(BaselineError::Damaged(format!("{:?} is no hash of a line", entry.line)));
        };
        let identity = Identity { rule: entry.rule, line };
        let known = self.files.entry(entry.file).or_default().entry(identity);
        let known = known.or_insert(Known { count: 0, message: entry.message });
        known.count = known.count.saturating_add(entry.count);
        Ok(())
    }
}

#[derive(Deserialize)]
struct Document {
    findings: Vec<Entry>,
}

/// An entry of the file.
#[derive(Serialize, Deserialize)]
struct Entry {
    file: String,
    rule: String,
    line: String,
    count: usize,
    #[serde(default)]
    message: String,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::diagnostic::{Ptxas, Rule, Severity};
    use crate::source::Span;

    static RULE: Rule =
        Rule { name: "bad", severity: Severity::Error, ptxas: Ptxas::Accepts, summary: "", page: "" };
    static OTHER: Rule =
        Rule { name: "worse", severity: Severity::Error, ptxas: Ptxas::Accepts, summary: "", page: "" };

    /// A finding of `rule` for each `!` in the text.
    fn found(rule: &'static Rule, text: &str) -> (std::sync::Arc<SourceFile>, Vec<Diagnostic>) {
        let marks = text.match_indices('!').map(|(at, _)| at as u32);
        let diagnostics = marks.map(|at| Diagnostic::new(rule, Span::new(at, at + 1), format!("at {at}")));
        (SourceFile::new("any", text), diagnostics.collect())
    }

    fn baseline(text: &str) -> Baseline {
        let (source, diagnostics) = found(&RULE, text);
        let mut baseline = Baseline::default();
        baseline.record("a.ptx", &source, &diagnostics);
        baseline
    }

    /// What is new in `text`, and the comparison.
    fn compare(baseline: &Baseline, text: &str) -> (Vec<u32>, Compared) {
        let (source, mut diagnostics) = found(&RULE, text);
        let compared = baseline.leave_out("a.ptx", &source, &mut diagnostics);
        (diagnostics.iter().map(|diagnostic| source.line(diagnostic.span.start)).collect(), compared)
    }

    #[test]
    fn moved_and_reindented_lines_are_known() {
        let baseline = baseline("one !\ntwo\nthree  !\n");
        let all = Compared { left_out: 2, gone: 0 };
        assert_eq!(compare(&baseline, "one !\ntwo\nthree  !\n"), (vec![], all));
        assert_eq!(compare(&baseline, "new\r\n\tthree !\r\n\r\n  one\t!  \r\n"), (vec![], all));
    }

    #[test]
    fn one_more_of_the_same_is_new() {
        let baseline = baseline("ret !\nret !\n");
        assert_eq!(compare(&baseline, "ret !\nret !\nret !\n"), (vec![3], Compared { left_out: 2, gone: 0 }));
        assert_eq!(compare(&baseline, "ret !\n"), (vec![], Compared { left_out: 1, gone: 1 }));
        assert_eq!(compare(&baseline, "ret ! !\n"), (vec![1, 1], Compared { left_out: 0, gone: 2 }));
    }

    #[test]
    fn another_rule_or_file_is_new() {
        let baseline = baseline("one !\n");
        let (source, mut diagnostics) = found(&OTHER, "one !\n");
        assert_eq!(baseline.leave_out("a.ptx", &source, &mut diagnostics), Compared { left_out: 0, gone: 1 });
        assert_eq!(baseline.leave_out("b.ptx", &source, &mut diagnostics), Compared::default());
        assert_eq!(diagnostics.len(), 1);
    }

    #[test]
    fn the_text_has_a_sorted_line_for_each_entry_and_can_be_read() {
        let mut baseline = baseline("one !\none !\n");
        let (source, diagnostics) = found(&OTHER, "\u{e4} \"!\"\n");
        baseline.record("a, b.ptx", &source, &diagnostics);
        let text = baseline.to_text();
        assert_eq!(
            text,
            "{\"schema\":\"mbar.baseline/1\",\"findings\":[\n\
             {\"file\":\"a, b.ptx\",\"rule\":\"worse\",\"line\":\"99359325dde7c1cf\",\"count\":1,\"message\":\"at 4\"},\n\
             {\"file\":\"a.ptx\",\"rule\":\"bad\",\"line\":\"e4f7a391929967d4\",\"count\":2,\"message\":\"at 4\"}\n\
             ]}\n"
        );
        assert_eq!(Baseline::from_text(&text), Ok(baseline));
        let nothing = Baseline::default();
        assert_eq!(nothing.to_text(), "{\"schema\":\"mbar.baseline/1\",\"findings\":[]}\n");
        assert_eq!(Baseline::from_text(&nothing.to_text()), Ok(nothing));
    }

    #[test]
    fn entries_that_a_merge_has_doubled_count_together() {
        let text = baseline("one !\n").to_text();
        let entry = text.lines().nth(1).expect("an entry").to_string();
        let doubled = text.replace(&entry, &format!("{entry},\n{entry}"));
        let doubled = Baseline::from_text(&doubled).expect("a baseline");
        assert_eq!((doubled.count(), doubled.count_of("a.ptx")), (2, 2));
    }

    #[test]
    fn what_is_no_baseline_is_told_apart() {
        let error = |text: &str| Baseline::from_text(text).expect_err("no baseline");
        assert!(matches!(error(""), BaselineError::Damaged(_)));
        assert!(matches!(error("<<<<<<< HEAD\n"), BaselineError::Damaged(_)));
        assert_eq!(error("{}"), BaselineError::Foreign);
        assert_eq!(error("[1]"), BaselineError::Foreign);
        assert_eq!(error("{\"schema\":\"mbar.check/1\"}"), BaselineError::Foreign);
        assert_eq!(
            error("{\"schema\":\"mbar.baseline/2\"}"),
            BaselineError::OtherVersion("mbar.baseline/2".to_string())
        );
        let text = baseline("one !\n").to_text();
        assert!(error(&text.replace("\"rule\"", "\"role\"")).to_string().contains("line 2"));
        assert!(error(&text.replace("\"line\":\"", "\"line\":\"+")).to_string().contains("hash"));
        assert!(Baseline::may_replace(&text.replace("},\n", "")) && Baseline::may_replace("\n"));
        assert!(!Baseline::may_replace("{\"schema\":\"mbar.check/1\"}"));
    }
}
