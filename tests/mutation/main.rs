//! Mutants of right programs: without one of the instructions that synchronise, or with one exchanged with its
//! neighbour. The check or the verifier has to find each of them, but for reasons from a closed list.

mod facts;
mod mutant;
mod reason;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::ptr;

use mbar::check::{self, Settings as CheckSettings};
use mbar::diagnostic::Severity;
use mbar::launch::{self, Launch, Overrides};
use mbar::machine::choice::{Landing, Schedule, Strategy};
use mbar::machine::finding::{Finding, Outcome};
use mbar::machine::{Machine, Options, Reconverge};
use mbar::program::Program;
use mbar::source::SourceFile;
use mbar::verify::{self, Verdict};
use mutant::{Change, Mutant, Original, settings, warnings};
use rayon::prelude::*;
use reason::Reason;
use support::{Failures, files, read, short_name};

/// Families of programs, and how many of a hundred mutants may survive for a reason.
const FAMILIES: [(&str, usize); 3] = [
    ("guide", 10),
    // Each of them has the same fence, barrier of the CTA and barrier of warps that it could do without.
    ("rings", 27),
    ("rings without what they can do without", 10),
];

/// Programs in which values decide that depend on the schedule, with too many schedules for so small a search.
const UNDECIDED: [&str; 5] = [
    "guide/04_completion_barrier",
    "guide/09_pipeline_single",
    "guide/10_pipeline_multi",
    "guide/10_pipeline_partitioned",
    "guide/18_clc",
];

/// It executes a `trap`, as `tests/execution.rs` says.
const NOT_RIGHT: &str = "guide/02_phase_prim.sm_80.ptx";

/// So many schedules are tried where the verifier finds nothing.
const SCHEDULES: u64 = 8;

/// What became of a mutant.
#[derive(Clone, PartialEq, Debug)]
enum Fate {
    /// The check finds it, by this rule.
    Checked(&'static str),
    /// The verifier finds it, by these rules.
    Violated(String),
    /// Some loop does not end within the bounds.
    Endless,
    /// It survived for a reason.
    Excused(Reason),
    /// The verifier does not know.
    Inconclusive(String),
    /// The verifier says that it holds, and a schedule goes wrong.
    Missed(String),
    /// The verifier says that it holds, for no known reason.
    Survived,
    /// Something panicked, or the launch could not be read.
    Broken(&'static str),
}

impl Fate {
    /// The heading of its column.
    fn heading(&self) -> String {
        match self {
            Fate::Checked(_) => "found by the check".into(),
            Fate::Violated(_) => "violated".into(),
            Fate::Endless => "a loop without an end".into(),
            Fate::Excused(reason) => format!("survives: {reason:?}"),
            Fate::Inconclusive(_) => "inconclusive".into(),
            Fate::Missed(_) => "missed".into(),
            Fate::Survived => "survives without a reason".into(),
            Fate::Broken(_) => "broken".into(),
        }
    }
}

fn fate(mutant: &Mutant) -> Fate {
    let original = mutant.original;
    let source = SourceFile::new(original.name.as_str(), mutant.text());
    let checked = check::check(source, &CheckSettings::default());
    if let [first, ..] = support::errors(&checked)[original.errors..] {
        return Fate::Checked(first.rule.name);
    }
    let program = &checked.program;
    let mut files = |name: &str| std::fs::read(original.folder.join(name));
    let Ok(mut launch) = launch::read(program, &Overrides::default(), &mut files) else {
        return Fate::Broken("the launch cannot be read");
    };
    if launch.expects.is_empty() {
        launch.expects.clone_from(&original.result);
    }
    let Ok(verification) = verify::verify(program, &launch, &settings(original.steps), &|_| {}) else {
        return Fate::Broken("it cannot be launched");
    };
    let findings = &verification.findings;
    match verification.verdict {
        Verdict::Violated => Fate::Violated(rules(program, findings, Severity::Error)),
        Verdict::Inconclusive if verification.base.outcome == Outcome::Limit => Fate::Endless,
        Verdict::Inconclusive if original.verdict == Verdict::Holds => {
            Fate::Inconclusive(rules(program, findings, Severity::Warning))
        }
        // What is not known of the original cannot be known of the mutant.
        Verdict::Inconclusive | Verdict::Holds => {
            let before = |rule: &str| original.warnings.get(rule).copied().unwrap_or_default();
            let is_warned = warnings(findings).iter().any(|(rule, count)| *count > before(rule));
            let wrong = if is_warned { None } else { goes_wrong(program, &launch, original.steps) };
            match wrong {
                Some(how) => Fate::Missed(how),
                None => Reason::of(mutant, is_warned).map_or(Fate::Survived, Fate::Excused),
            }
        }
    }
}

/// How one of a few schedules goes wrong in which lanes and copies go any way they like.
fn goes_wrong(program: &Program, launch: &Launch, steps: u64) -> Option<String> {
    (0..SCHEDULES).find_map(|seed| {
        let reconverge = if seed % 3 == 0 { Reconverge::Never } else { Reconverge::Random };
        let landing = [Landing::Random, Landing::Eager, Landing::Lazy][seed as usize % 3];
        let options = Options { reconverge, max_steps: 200 * steps + 100_000, ..Options::default() };
        let mut machine = Machine::new(program, launch, options).ok()?;
        let outcome = machine.run(&mut Strategy::new(Schedule::Random, landing, seed), &mut |_| {});
        machine.compare(launch);
        let errors = rules(program, &machine.findings, Severity::Error);
        let is_right = outcome == Outcome::Completed && errors.is_empty();
        (!is_right).then(|| format!("with seed {seed}: {} {errors}", outcome.as_str()))
    })
}

/// `S1@12 race@17`
fn rules(program: &Program, findings: &[Finding], severity: Severity) -> String {
    let found = findings.iter().filter(|finding| finding.diagnostic.severity == severity);
    let line = |finding: &Finding| program.module.source.line(finding.diagnostic.span.start);
    let words = found.map(|finding| format!("{}@{}", finding.rule.number, line(finding)));
    words.collect::<Vec<_>>().join(" ")
}

fn fates(mutants: &[Mutant]) -> Vec<Fate> {
    let safely =
        |mutant: &Mutant| catch_unwind(AssertUnwindSafe(|| fate(mutant))).unwrap_or(Fate::Broken("a panic"));
    mutants.par_iter().map(safely).collect()
}

/// Programs with their texts: the rings, those of the guide, and a ring of the examples and one of the benchmarks.
fn originals() -> Vec<Original> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_ring = |path: &PathBuf| short_name(path).contains("/pipe11_");
    let rings = files("hw/random", "ptx").into_iter().filter(is_ring).map(|path| (path, "rings"));
    let guide = files("guide", "ptx").into_iter().filter(|path| short_name(path) != NOT_RIGHT);
    let more = ["examples/ring.ptx", "benches/inputs/ring4_1024.ptx"].map(|path| root.join(path));
    let paths: Vec<(PathBuf, &str)> = rings.chain(guide.chain(more).map(|path| (path, "guide"))).collect();
    let original = |(path, family): &(PathBuf, &'static str)| {
        let mut text = read(path);
        if path.ends_with("ring4_1024.ptx") {
            // A few rounds will do.
            text = text.replace(", 1024;", ", 12;").replace("[131072]", "[1536]");
        }
        Original::new(short_name(path), family, path.parent().expect("a folder"), text)
    };
    paths.par_iter().map(original).collect()
}

/// A ring without the instructions that it can do without, as far as they only order others.
fn trimmed(original: &Original, mutants: &[(Mutant, Fate)]) -> Option<Original> {
    if original.family != "rings" {
        return None;
    }
    let mut text = original.text.clone();
    let mut superfluous: Vec<Mutant> = Vec::new();
    for (mutant, fate) in mutants {
        if is_superfluous(original, mutant, fate) {
            superfluous.push(Mutant { original, ..*mutant });
        }
    }
    // From the last to the first: the others stay where they are.
    for mutant in superfluous.iter().rev() {
        let Change::Without(at) = mutant.change else { continue };
        let program = &original.prepared.program;
        let span = program.span(mutant.flow().routine, mutant.flow().inst(at));
        text.replace_range(span.start as usize..span.end as usize, "");
    }
    let name = format!("{} without what it can do without", original.name);
    Some(Original::new(name, FAMILIES[2].0, &original.folder, text))
}

/// Whether the mutant shows an instruction of `original` that could as well be missing.
fn is_superfluous(original: &Original, mutant: &Mutant, fate: &Fate) -> bool {
    let is_excused = matches!(fate, Fate::Excused(reason) if *reason != Reason::Warned);
    ptr::eq(mutant.original, original) && is_excused && mutant.only_orders().is_some()
}

/// All mutants of the programs: those without an instruction, then those with two exchanged.
fn mutants(originals: &[Original]) -> Vec<(Mutant<'_>, Fate)> {
    let deletions: Vec<Mutant> = originals.iter().flat_map(Original::deletions).collect();
    let found = fates(&deletions);
    let mut all: Vec<(Mutant, Fate)> = deletions.into_iter().zip(found).collect();
    let exchanges = originals.iter().flat_map(|original| {
        let idle = all.iter().filter(|(mutant, fate)| is_superfluous(original, mutant, fate));
        original.exchanges(&idle.filter_map(|(mutant, _)| mutant.only_orders()).collect())
    });
    let exchanges: Vec<Mutant> = exchanges.collect();
    let found = fates(&exchanges);
    all.extend(exchanges.into_iter().zip(found));
    all
}

#[test]
fn mutants_are_found() {
    let mut failures = Failures::default();
    let originals = originals();
    let mut all = mutants(&originals);
    let trimmed: Vec<Original> =
        originals.par_iter().filter_map(|original| trimmed(original, &all)).collect();
    for original in originals.iter().chain(&trimmed) {
        let is_undecided = UNDECIDED.iter().any(|name| original.name.starts_with(name));
        if original.verdict != Verdict::Holds && !(is_undecided && original.verdict == Verdict::Inconclusive)
        {
            failures.push(format!("{}: {}", original.name, original.verdict.as_str()));
        }
    }
    all.extend(mutants(&trimmed));
    let mut table: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    for (mutant, fate) in &all {
        *table.entry(mutant.original.family).or_default().entry(fate.heading()).or_default() += 1;
        let words = mutant.in_words();
        if std::env::var_os("MBAR_SHOW_MUTANTS").is_some() {
            println!("{words}: {fate:?}");
        }
        match fate {
            Fate::Checked(_) | Fate::Violated(_) | Fate::Endless | Fate::Excused(_) => {}
            _ => failures.push(format!("{words}: {fate:?}")),
        }
    }
    for (family, most) in FAMILIES {
        let row = &table[family];
        let count = |heading: &str| -> usize {
            row.iter().filter(|(name, _)| name.starts_with(heading)).map(|(_, count)| count).sum()
        };
        let (total, excused, endless) = (count(""), count("survives: "), count("a loop"));
        let mut text = format!("{family}: {total} mutants");
        for (heading, count) in row {
            let _ = write!(text, "\n  {count:5} {heading}");
        }
        println!("{text}");
        if excused * 100 > most * total || endless * 100 > total {
            failures.push(format!("{excused} of {total} survive, {endless} do not end: {text}"));
        }
    }
    failures.report("A mutant must be found, or survive for a reason from the list.");
}
