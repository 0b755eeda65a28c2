//! What the integration tests share: the data folder, the frame around a snippet, findings in words.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod command;
pub mod execute;
pub mod judge;
pub mod page;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mbar::check::{self, Checked, Settings};
use mbar::diagnostic::{Diagnostic, Ptxas, Severity};
use mbar::source::SourceFile;

/// `tests/data/NAME`
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The text of a file; the panic names it.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path below `tests/data`, with `/`.
pub fn short_name(path: &Path) -> String {
    let short = path.strip_prefix(data("")).unwrap_or(path);
    short.to_string_lossy().replace('\\', "/")
}

/// Every file below `tests/data/FOLDER` whose name ends in `.EXTENSION`, sorted.
pub fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    files_below(&data(folder), extension)
}

/// Every file below `folder` whose name ends in `.EXTENSION`, sorted.
pub fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The rows of a tab-separated table, without its header line and empty lines.
pub fn rows(name: &str) -> Vec<Vec<String>> {
    read(&data(name))
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| line.split('\t').map(str::to_string).collect())
        .collect()
}

/// Checks a text under a name.
pub fn check_text(name: &str, text: &str, settings: &Settings) -> Checked {
    check::check(SourceFile::new(name, text), settings)
}

/// A text as a source file.
pub fn source(name: &str, text: &str) -> Arc<SourceFile> {
    SourceFile::new(name, text)
}

/// Variables that every snippet may use.
const MODULE_DECLARATIONS: &str = "\
.shared .align 8 .b64 bar;
.shared .align 8 .b64 bars[8];
.shared .align 128 .b8 smem[4096];
.shared .align 4 .b32 sw;
.global .align 128 .b8 gmem[4096];
.global .align 8 .b64 gbar;
.const .align 8 .b64 cbar;
";

/// Registers that every snippet may use.
const ENTRY_DECLARATIONS: &str = "\
.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .f64 %fd<8>;
.reg .u32 %u<4>; .reg .s32 %s<4>; .reg .u64 %ud<4>; .reg .s64 %sd<4>; .reg .u16 %hu<4>; .local .align 8 .b64 lbar;
";

/// The three lines at the head of a file.
pub fn header(version: &str, target: &str) -> String {
    format!(".version {version}\n.target {target}\n.address_size 64\n")
}

/// `snippet` in the frame that ptxas was asked with: a kernel of its own, its parameter `prm`, and
/// the declarations above. The snippet is what the lines after the first result hold.
pub fn frame(snippet: &str, version: &str, target: &str) -> (String, String) {
    let before = format!(
        "{}{MODULE_DECLARATIONS}.visible .entry k(.param .b64 prm) {{\n{ENTRY_DECLARATIONS}",
        header(version, target)
    );
    let text = format!("{before}{snippet}\n ret;\n}}\n");
    (before, text)
}

/// [`frame`] with the snippet in a block of its own, so that it may declare what the frame declares.
pub fn frame_block(snippet: &str, version: &str, target: &str) -> (String, String) {
    let (before, _) = frame("", version, target);
    let before = format!("{before}{{\n");
    let text = format!("{before}{snippet}\n}}\n ret;\n}}\n");
    (before, text)
}

/// Whether the newest ptxas shares the finding, so that recorded verdicts can be held against it.
pub fn shared_with_ptxas(diagnostic: &Diagnostic) -> bool {
    match diagnostic.ptxas {
        Ptxas::Rejects => true,
        Ptxas::Accepts => false,
    }
}

/// The errors for which ptxas, too, would refuse the file.
pub fn rejections(checked: &Checked) -> Vec<&Diagnostic> {
    let refused = |d: &&Diagnostic| d.severity == Severity::Error && shared_with_ptxas(d);
    checked.diagnostics.iter().filter(refused).collect()
}

/// The findings of severity error.
pub fn errors(checked: &Checked) -> Vec<&Diagnostic> {
    checked.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect()
}

/// `12:5 error[unknown-modifier] there is no …`
pub fn in_words(file: &SourceFile, diagnostic: &Diagnostic) -> String {
    let at = file.line_column(diagnostic.span.start);
    let severity = diagnostic.severity.as_str();
    format!("{}:{} {severity}[{}] {}", at.line, at.column, diagnostic.rule.name, diagnostic.message)
}

/// Findings in words, joined.
pub fn all_in_words<'a>(file: &SourceFile, findings: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    let words: Vec<String> = findings.into_iter().map(|d| in_words(file, d)).collect();
    if words.is_empty() { "no finding".into() } else { words.join("; ") }
}

/// Every line on which the finding stands: its own and those of its labels.
pub fn lines_of(file: &SourceFile, diagnostic: &Diagnostic) -> Vec<u32> {
    let labels = diagnostic.labels.iter().map(|label| label.span);
    std::iter::once(diagnostic.span).chain(labels).map(|span| file.line(span.start)).collect()
}

/// `text` without comments; every line keeps its number and what stands before a comment its column.
pub fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let comment = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            0
        };
        out.extend(rest[..comment].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        if comment == 0 {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            rest = &rest[comment..];
        }
    }
    out
}

/// The lines of a program that end in `//~ A|B`, each with its alternatives.
pub fn tags(text: &str) -> Vec<(u32, Vec<String>)> {
    let tagged = text.lines().enumerate().filter_map(|(index, line)| {
        let kinds = line.split_once("//~")?.1.trim();
        Some((index as u32 + 1, kinds.split('|').map(str::to_string).collect()))
    });
    tagged.collect()
}

/// Collects what is wrong and fails once, with a list that stays readable.
#[derive(Default)]
pub struct Failures {
    entries: Vec<String>,
}

impl Failures {
    /// From ready lines.
    pub fn new(entries: Vec<String>) -> Self {
        Failures { entries }
    }

    /// Notes a failure.
    pub fn push(&mut self, entry: impl Into<String>) {
        self.entries.push(entry.into());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Panics with the list, if there is one. `advice` says what to do about it.
    #[track_caller]
    pub fn report(self, advice: &str) {
        if self.entries.is_empty() {
            return;
        }
        let shown = if std::env::var_os("MBAR_SHOW_ALL").is_some() { usize::MAX } else { 40 };
        let mut text = format!("{} failures. {advice}\n", self.entries.len());
        for entry in self.entries.iter().take(shown) {
            let _ = writeln!(text, "  {entry}");
        }
        if self.entries.len() > shown {
            let _ =
                writeln!(text, "  … and {} more (MBAR_SHOW_ALL=1 shows them)", self.entries.len() - shown);
        }
        panic!("{text}");
    }
}

/// A small generator of random numbers (xorshift64*): a seed means the same for ever.
pub struct Random(u64);

impl Random {
    /// From a seed; neighbouring seeds give unlike streams.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        random.next();
        random
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound` (0 if there is none).
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { ((self.next() >> 32) % bound as u64) as usize }
    }

    /// One of `items`.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}
