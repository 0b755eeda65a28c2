//! Safe fixes: each of them, applied alone, makes its finding go away and brings no error.

mod support;

use std::sync::Arc;

use mbar::check::{self, Settings, rules};
use mbar::diagnostic::{Applicability, Diagnostic, Fix};
use mbar::extract::Language;
use mbar::fix::fix;
use mbar::isa::target::Toolkit;
use mbar::source::SourceFile;
use pretty_assertions::assert_eq;
use support::page::blocks;
use support::{Failures, files, frame, frame_block, in_words, read, rows, short_name};

fn settings(toolkit: Option<Toolkit>) -> Settings {
    Settings { toolkit, unusual_order: true, ..Settings::default() }
}

fn findings(source: Arc<SourceFile>, settings: &Settings) -> Vec<Diagnostic> {
    findings_in(Language::Ptx, source, settings)
}

fn findings_in(language: Language, source: Arc<SourceFile>, settings: &Settings) -> Vec<Diagnostic> {
    check::file(source, language, settings).diagnostics
}

fn safe_fix(finding: &Diagnostic) -> Option<&Fix> {
    finding.fixes.iter().find(|fix| fix.applicability == Applicability::Safe)
}

/// What goes wrong with the safe fixes of a file; how many there are.
fn try_each(
    name: &str,
    text: &str,
    language: Language,
    settings: &Settings,
    failures: &mut Failures,
) -> usize {
    let source = SourceFile::new(name, text);
    let all = findings_in(language, source.clone(), settings);
    let with_fix: Vec<&Diagnostic> = all.iter().filter(|finding| safe_fix(finding).is_some()).collect();
    for &finding in &with_fix {
        let is_it = |other: &Diagnostic| other.span == finding.span && other.message == finding.message;
        let check = |source: Arc<SourceFile>| findings_in(language, source, settings);
        // Where it is applied again, because the same is wrong at the same place, that is a fault, too.
        let fixed = fix(source.clone(), &check, &is_it);
        if fixed.count == 0 {
            failures.push(format!("{name}: {}: {:?}", in_words(&source, finding), safe_fix(finding)));
        }
    }
    with_fix.len()
}

#[test]
fn every_safe_fix_of_the_pages_helps() {
    let (mut failures, mut count) = (Failures::default(), 0);
    for rule in rules() {
        for block in blocks(rule) {
            let name = format!("{}.md:{}", rule.name, block.line);
            count +=
                try_each(&name, &block.file().0, block.language, &settings(block.toolkit), &mut failures);
        }
    }
    assert!(count > 20, "only {count} fixes");
    failures.report("Applied alone, a safe fix makes its finding go away and brings no error.");
}

#[test]
fn every_safe_fix_of_the_cases_helps() {
    let (mut failures, mut count) = (Failures::default(), 0);
    for folder in ["cases", "spelling"] {
        for path in files(folder, "ptx") {
            let text = read(&path);
            count += try_each(&short_name(&path), &text, Language::Ptx, &settings(None), &mut failures);
        }
    }
    assert!(count > 5, "only {count} fixes");
    failures.report("Applied alone, a safe fix makes its finding go away and brings no error.");
}

#[test]
fn every_safe_fix_of_asm_statements_helps() {
    let (mut failures, mut count) = (Failures::default(), 0);
    for path in ["cu", "cuh"].iter().flat_map(|ending| files("inline", ending)) {
        count += try_each(&short_name(&path), &read(&path), Language::Cxx, &settings(None), &mut failures);
    }
    assert!(count > 5, "only {count} fixes");
    failures.report("Applied alone, a safe fix makes its finding go away and brings no error.");
}

/// A fix changes the text within the literals.
#[test]
fn literals_are_mended_where_they_stand() {
    let before = r#"
__device__ void f(unsigned bar, unsigned long long x) {
    asm volatile("{\n\t" /* é */ "mbarier.inval.shared::cta.b64 [%0];\n\t}" :: "r"(bar) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1"
                 "fence.mbarrier_init.release.cluster;" :: "r"(bar) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.b64 _, [%0], 16;" :: "r"(bar) : "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 [%0];" :: "r"(bar) : "memory");
    asm volatile("mov.u64 %0, 1;;" : "=l"(x));
    asm volatile("add.u64 %0, %0, 1" : "+l"(x));
}
"#;
    let pairs = [
        ("mbarier", "mbarrier"),
        (r#"[%0], 1""#, r#"[%0], 1;""#),
        ("expect_tx.b64", "expect_tx.shared::cta.b64"),
        ("arrive.shared::cta.b64 [%0]", "arrive.shared::cta.b64 _, [%0]"),
        ("1;;", "1;"),
        (r#"%0, 1" : "+l"#, r#"%0, 1;" : "+l"#),
    ];
    let after = pairs.iter().fold(before.to_string(), |text, (old, new)| text.replace(old, new));
    let check = |source: Arc<SourceFile>| findings_in(Language::Cxx, source, &settings(None));
    let fixed = fix(SourceFile::new("t.cu", before), &check, &|_| true);
    assert_eq!(fixed.source.text(), after);
}

/// Whole files: what is left after all rounds is not worse than before, and a second run changes nothing.
#[test]
fn fixing_twice_is_fixing_once() {
    let mut failures = Failures::default();
    for path in files("cases", "ptx") {
        let name = short_name(&path);
        let settings = settings(None);
        let check = |source: Arc<SourceFile>| findings(source, &settings);
        let once = fix(SourceFile::new(name.as_str(), read(&path)), &check, &|_| true);
        let twice = fix(once.source.clone(), &check, &|_| true);
        if twice.count > 0 {
            failures.push(format!("{name}: {} more", twice.count));
        }
    }
    failures.report("Rounds go on until nothing changes.");
}

/// A snippet, and what it is after all safe fixes.
#[track_caller]
fn becomes(before: &str, after: &str) {
    let file = |snippet: &str| frame_block(snippet, "9.5", "sm_90a").1;
    let check = |source: Arc<SourceFile>| findings(source, &settings(None));
    let fixed = fix(SourceFile::new("t", file(before)), &check, &|_| true);
    assert_eq!(fixed.source.text(), file(after), "from {before:?}");
}

#[test]
fn misspelt_instructions_and_modifiers() {
    becomes("mbarrier.ini.shared.b64 [bar], 1;", "mbarrier.init.shared.b64 [bar], 1;");
    becomes("mbarier.inval.shared.b64 [bar];", "mbarrier.inval.shared.b64 [bar];");
    becomes("cp.async.comit_group;", "cp.async.commit_group;");
    becomes("cp.async.commit;", "cp.async.commit_group;");
    becomes("ld.volatle.shared.u32 %r1, [sw];", "ld.volatile.shared.u32 %r1, [sw];");
    becomes("ld.shared.shared.u32 %r1, [sw];", "ld.shared.u32 %r1, [sw];");
    // Two could be meant, or it would not fit.
    becomes("ad.u32 %r1, %r2, %r3;", "ad.u32 %r1, %r2, %r3;");
    becomes("mbarrier.ini.shared.b64 [bar];", "mbarrier.ini.shared.b64 [bar];");
    becomes("cp.async.wait 0;", "cp.async.wait 0;");
}

#[test]
fn misspelt_names() {
    let text = |name: &str| {
        format!(
            ".reg .u32 %count; mov.u32 %count, 1;\nadd.u32 %{name}, %{name}, 1;\nadd.u32 %r1, %{name}, %count;"
        )
    };
    becomes(&text("cuont"), &text("count"));
    let text = |label: &str| format!("LOOP_ONE: add.u32 %r1, %r1, 1;\n bra {label};");
    becomes(&text("LOOP_ON"), &text("LOOP_ONE"));
    // A number is no slip; of two names it is not known which.
    becomes("bra LOOP_2; LOOP_1: add.u32 %r1, %r1, 1;", "bra LOOP_2; LOOP_1: add.u32 %r1, %r1, 1;");
    becomes("bra LOOK; LOOP: LOOM: add.u32 %r1, %r1, 1;", "bra LOOK; LOOP: LOOM: add.u32 %r1, %r1, 1;");
}

#[test]
fn a_narrow_address_gets_its_space() {
    let known = "mov.u32 %r1, bar;\n";
    for (before, after) in [
        ("mbarrier.init.b64 [%r1], 1;", "mbarrier.init.shared::cta.b64 [%r1], 1;"),
        ("mbarrier.arrive.b64 _, [%r1];", "mbarrier.arrive.shared::cta.b64 _, [%r1];"),
        (
            "mbarrier.arrive.expect_tx.b64 %rd1, [%r1], 16;",
            "mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r1], 16;",
        ),
        (
            "mbarrier.try_wait.parity.b64 %p1, [%r1], 0;",
            "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;",
        ),
    ] {
        let init = "mbarrier.init.shared::cta.b64 [bar], 1;\n";
        becomes(&format!("{known}{init}{before}"), &format!("{known}{init}{after}"));
    }
    // Nothing says that it is not the barrier of another CTA, or what it is.
    for text in ["mbarrier.arrive.b64 _, [%r1];", "ld.u32 %r2, [%r1];"] {
        becomes(text, text);
    }
    becomes("mbarrier.inval.b64 [%r1];", "mbarrier.inval.shared::cta.b64 [%r1];");
}

#[test]
fn what_is_missing_or_out_of_place() {
    becomes(
        "mbarrier.init.shared.b64 [bar], 1\nmov.u32 %r1, 1;",
        "mbarrier.init.shared.b64 [bar], 1;\nmov.u32 %r1, 1;",
    );
    becomes("mbarrier.arrive.shared.b64 [bar];", "mbarrier.arrive.shared.b64 _, [bar];");
    becomes(
        "mbarrier.try_wait.shared.parity.b64 %p1, [bar], 0;",
        "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;",
    );
    becomes("fence.cta.acq_rel;", "fence.acq_rel.cta;");
    becomes("fence/* scope */.cta /* order */.acq_rel;", "fence/* scope */.acq_rel /* order */.cta;");
}

#[test]
fn a_second_init_gets_an_end_before_it() {
    let init = "mbarrier.init.shared.b64 [bar], 1;";
    let inval = "mbarrier.inval.shared.b64 [bar];";
    let guard = "setp.eq.u32 %p1, %r1, 0;\n";
    becomes(
        &format!("{guard}  @%p1 {init}\n  @%p1 {init}"),
        &format!("{guard}  @%p1 {init}\n  @%p1 {inval}\n  @%p1 {init}"),
    );
    becomes(
        &format!("{guard}@%p1 {init} @%p1 {init}\r\n"),
        &format!("{guard}@%p1 {init} @%p1 {inval} @%p1 {init}\r\n"),
    );
    // Others may use the barrier in between.
    let text = format!("{guard}@%p1 {init}\nbar.sync 0;\n@%p1 {init}");
    becomes(&text, &text);
}

/// All orders of an instruction that ptxas was asked for and takes become one, which `mbar asm` prints.
#[test]
fn unusual_orders_become_the_usual_one() {
    // The recorded order is not the manual's.
    const OTHER: &str = "mbarrier.try_wait.parity.phase_type::primary.acquire.cta.shared::cta.b64";
    let mut failures = Failures::default();
    let rows = rows("oracle/orders.tsv");
    let moved: Vec<_> = rows.iter().filter(|row| row[1].starts_with("move") && row[3] == "accept").collect();
    assert!(moved.len() > 100, "only {} orders", moved.len());
    for row in moved.into_iter().filter(|row| row[0] != OTHER) {
        let (before, text) = frame(&row[2], "9.5", "sm_107a");
        let check = |source: Arc<SourceFile>| findings(source, &settings(None));
        let is_order = |finding: &Diagnostic| finding.rule.name == "unusual-order";
        let fixed = fix(SourceFile::new("t", text), &check, &is_order);
        let opcode = fixed.source.text()[before.len()..].split_whitespace().next().unwrap_or("").to_string();
        if fixed.count != 1 || opcode.trim_end_matches(';') != row[0] {
            failures.push(format!("{} of {}: {opcode}", row[2], row[0]));
        }
    }
    failures.report("What is written is the order of the table.");
}
