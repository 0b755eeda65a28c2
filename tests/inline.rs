//! PTX in the texts of other languages (`tests/data/inline`): what is found, and where.
//!
//! A line that ends in `//~ RULE …`, or `#~ RULE …`, has a finding of each rule there, of the severity that the rule
//! usually has or that stands behind a `:`, at the column behind an `@`. No other line has one. A line
//! `// check: WORD=VALUE …` sets `target`, `ptx`, and `guards`.

mod support;

use std::sync::Arc;

use mbar::check::{self, Report, Settings};
use mbar::diagnostic::Diagnostic;
use mbar::extract::Language;
use mbar::isa::table::TARGETS;
use mbar::isa::{TargetId, Version};
use mbar::source::SourceFile;
use support::{Failures, data, files_below, in_words, read, short_name};

/// A finding that a tag asks for.
struct Tag<'a> {
    line: u32,
    rule: &'a str,
    severity: Option<&'a str>,
    column: Option<u32>,
}

impl<'a> Tag<'a> {
    fn new(line: u32, text: &'a str) -> Tag<'a> {
        let (text, column) = text
            .split_once('@')
            .map_or((text, None), |(text, at)| (text, Some(at.parse().expect("a column"))));
        let (rule, severity) = text.split_once(':').map_or((text, None), |(rule, s)| (rule, Some(s)));
        Tag { line, rule, severity, column }
    }

    fn is_met_by(&self, file: &SourceFile, finding: &Diagnostic) -> bool {
        let at = file.line_column(finding.span.start);
        let usual = finding.rule.severity.as_str();
        self.line == at.line
            && self.rule == finding.rule.name
            && self.severity.unwrap_or(usual) == finding.severity.as_str()
            && self.column.is_none_or(|column| column == at.column)
    }
}

fn tags(text: &str) -> Vec<Tag<'_>> {
    let behind = |line| ["//~", "#~"].iter().find_map(|mark| Some(str::split_once(line, mark)?.1));
    let lines =
        text.lines().zip(1..).filter_map(|(line, n)| Some((behind(line)?.trim_end_matches("-->"), n)));
    lines.flat_map(|(words, n)| words.split_whitespace().map(move |word| Tag::new(n, word))).collect()
}

fn settings(text: &str) -> Settings {
    let mut settings = Settings::default();
    let line = text.lines().find_map(|line| line.strip_prefix("// check:")).unwrap_or_default();
    for word in line.split_whitespace() {
        match word.split_once('=').expect("WORD=VALUE") {
            ("target", name) => settings.options.target = TargetId::from_name(name),
            ("ptx", version) => settings.options.version = Version::from_text(version),
            ("guards", list) => {
                let guard = |guard: &str| {
                    let (name, target) = guard.split_once('=').expect("NAME=TARGET");
                    let target = TargetId::from_name(target).expect("a target");
                    (name.to_string(), TARGETS[usize::from(target.0)].covers)
                };
                settings.guards = list.split(',').map(guard).collect::<Vec<_>>().into();
            }
            (other, _) => panic!("unknown word: {other}"),
        }
    }
    settings
}

fn check_text(name: &str, text: &str, settings: &Settings) -> Report {
    let ending = name.rsplit('.').next().unwrap_or_default();
    let language = Language::of_ending(ending).expect("a known ending");
    check::file(SourceFile::new(name, text), language, settings)
}

/// The endings of the texts.
const ENDINGS: &[&str] = &["cu", "cuh", "h", "py", "rs", "mlir", "md"];

#[test]
fn findings_stand_on_their_lines_and_nowhere_else() {
    let mut failures = Failures::default();
    let mut wanted = 0;
    let files: Vec<_> = ENDINGS.iter().flat_map(|ending| files_below(&data("inline"), ending)).collect();
    for path in files {
        let (name, text) = (short_name(&path), read(&path));
        let report = check_text(&name, &text, &settings(&text));
        let tags = tags(&text);
        wanted += tags.len();
        for tag in &tags {
            let met = report.diagnostics.iter().any(|finding| tag.is_met_by(&report.source, finding));
            if !met {
                let here = report.diagnostics.iter().filter(|d| report.source.line(d.span.start) == tag.line);
                let ours = support::all_in_words(&report.source, here);
                failures.push(format!("{name}:{} wants {}; here: {ours}", tag.line, tag.rule));
            }
        }
        for finding in &report.diagnostics {
            if !tags.iter().any(|tag| tag.is_met_by(&report.source, finding)) {
                failures.push(format!("{name}: {}", in_words(&report.source, finding)));
            }
        }
    }
    assert!(wanted > 120, "only {wanted} tags");
    failures.report("Tags and findings differ.");
}

/// A finding says what to do.
#[test]
fn findings_have_a_help_or_a_reason() {
    let mut failures = Failures::default();
    let files =
        ["cu", "py", "rs", "mlir", "md"].iter().flat_map(|ending| files_below(&data("inline"), ending));
    for path in files {
        let (name, text) = (short_name(&path), read(&path));
        let report = check_text(&name, &text, &settings(&text));
        for finding in &report.diagnostics {
            let ours = check::inline::RULES.contains(&finding.rule);
            if ours && finding.helps.is_empty() && finding.notes.is_empty() {
                failures.push(format!("{name}: {}", in_words(&report.source, finding)));
            }
            if report.source.slice(finding.span).starts_with(char::is_whitespace) {
                failures.push(format!("{name}: marks a blank: {}", in_words(&report.source, finding)));
            }
        }
    }
    failures.report("A finding says why, or what to write instead, and marks the words it is about.");
}

/// What cannot be checked is said on demand, and counted.
#[test]
fn what_is_not_checked_is_counted() {
    let text = read(&data("inline/macros.cuh"));
    let quiet = check_text("macros.cuh", &text, &Settings::default());
    assert!(quiet.unchecked >= 4, "{} unchecked", quiet.unchecked);
    let verbose = check_text("macros.cuh", &text, &Settings { verbose: true, ..Settings::default() });
    let notes = verbose.diagnostics.iter().filter(|d| d.rule.name == "not-checked").count();
    assert!(notes >= 4, "{notes} notes");
}

/// So is what a constant of unknown value must be.
#[test]
fn open_constants_are_told_on_demand() {
    let text = read(&data("cases/b83.cu"));
    let verbose = check_text("b83.cu", &text, &Settings { verbose: true, ..Settings::default() });
    let ours: Vec<String> = verbose.diagnostics.iter().map(|d| in_words(&verbose.source, d)).collect();
    let note = "note[not-checked] `size` must be 16; what `%2` stands for is not known here";
    assert_eq!(ours, [format!("9:57 {note}"), format!("14:57 {note}")]);
}

/// No prefix of a text, and no text with a part cut out, makes the reader panic.
#[test]
fn broken_texts_do_no_harm() {
    for name in [
        "inline/shapes.cu",
        "inline/macros.cuh",
        "inline/hard.cu",
        "inline/places.cu",
        "inline/context.cu",
        "inline/shapes.py",
        "inline/strings.py",
        "inline/shapes.rs",
        "inline/shapes.mlir",
        "inline/blocks.md",
    ] {
        let text = read(&data(name));
        let cuts: Vec<usize> = (0..text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        for (n, &cut) in cuts.iter().enumerate().step_by(7) {
            check_text(name, &text[..cut], &Settings::default());
            let behind = cuts[(n + 5 + n % 60).min(cuts.len() - 1)];
            check_text(name, &format!("{}{}", &text[..cut], &text[behind..]), &Settings::default());
        }
    }
}

/// Brackets that never end, as deep as a file may have them.
#[test]
fn deep_texts_do_no_harm() {
    let settings = Settings::default();
    for (name, open) in [("a.py", "asm("), ("a.py", "("), ("a.rs", "asm!("), ("a.mlir", "inline_asm {")] {
        check_text(name, &format!("asm(\"\", {}", open.repeat(3000)), &settings);
        check_text(
            name,
            &format!("asm({}\"mov.b32 $0, 0;\"{}", open.repeat(3000), ")".repeat(3000)),
            &settings,
        );
    }
}

/// The same for C++, where a text may nest and repeat what it likes.
#[test]
fn deep_cxx_texts_do_no_harm() {
    let (settings, n) = (Settings::default(), 100_000);
    let texts = [
        format!("asm({}\"x\"{});", "\n#if A\n".repeat(n), "\n#endif\n".repeat(n)),
        format!("{}asm(\"trap;\");{}", "#if A\n".repeat(n), "\n#endif".repeat(n)),
        format!("#if {}1\nasm(\"trap;\");\n#endif", "1||".repeat(n)),
        format!("#if 0\n{}asm(\"trap;\");\n#endif", "#elif K\n#define M\n".repeat(n / 10)),
        "asm(".repeat(n),
        format!("asm({}{});", "(".repeat(n), ")".repeat(n)),
        format!("asm(\"{}\");", "{".repeat(n)),
        format!("asm({}: : );", "\"add.u32 %0, %0, 1\"".repeat(n / 50)),
        "asm(\"é.x\" \"y\"); asm(\"é\" \"add.u32 %0, %0, 1;\");".to_string(),
        "asm(\"mov.u32 %18446744073709551615, %9999999;\" : \"=r\"(x));".to_string(),
    ];
    for text in texts {
        let start = std::time::Instant::now();
        check_text("a.cu", &text, &settings);
        assert!(start.elapsed().as_secs() < 20, "{}", &text[..60.min(text.len())]);
    }
}

/// Statements in arms that exclude each other are not needed together.
#[test]
fn exclusive_arms_need_nothing_together() {
    let text = "void f() {\n#if __CUDA_ARCH__ >= 900\nasm volatile(\"barrier.cluster.arrive;\" ::: \"memory\");\n\
                #else\nasm volatile(\"bar.sync 0;\" ::: \"memory\");\n#endif\n}\n\
                #if __CUDA_ARCH__ >= 900\nvoid g() { asm volatile(\"barrier.cluster.arrive;\" ::: \"memory\"); }\n#endif\n";
    let report = check_text("a.cu", text, &Settings::default());
    let needs: Vec<String> = report.requirements.iter().map(|one| check::needs_in_words(one.needs)).collect();
    assert_eq!(needs, ["PTX 7.8", "PTX 7.8 and sm_90"]);
}

#[test]
fn functions_are_told_with_what_they_need() {
    let text = read(&data("inline/context.cu"));
    let report = check_text("context.cu", &text, &settings(&text));
    let needs = |name: &str| {
        let found = report.requirements.iter().find(|requirement| requirement.name == name);
        found.map(|requirement| (requirement.needs.version, requirement.needs.targets.describe()))
    };
    assert_eq!(needs("unguarded"), Some((Version::new(7, 8), "sm_90".into())));
    assert_eq!(needs("all"), Some((Version::new(8, 0), "sm_90a".into())));
    assert_eq!(needs("never"), None);
}

/// Reports can be kept by several threads.
#[test]
fn texts_are_shared() {
    let source: Arc<SourceFile> = SourceFile::new("a.cu", "");
    let report = check::file(source.clone(), Language::Cxx, &Settings::default());
    assert!(Arc::ptr_eq(&report.source, &source));
}
