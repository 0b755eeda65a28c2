//! Running a program as `mbar run` does, without the command line.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use mbar::check::{self, Settings};
use mbar::diagnostic::{Diagnostic, Ptxas, Severity};
use mbar::launch::{self, ArgumentKind, Launch, Overrides};
use mbar::machine::choice::{Choose, Landing, Schedule, Strategy};
use mbar::machine::event::Event;
use mbar::machine::finding::{Fault, Finding, Outcome};
use mbar::machine::{Machine, Options, Reconverge, Statistics};
use mbar::program::Program;
use mbar::source::SourceFile;

/// What a finding says, with the lines of its other sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub number: &'static str,
    pub name: &'static str,
    pub kind: &'static str,
    pub severity: Severity,
    pub line: u32,
    pub related: Vec<u32>,
    pub message: String,
    /// The notes and helps, joined.
    pub more: String,
}

/// A finding with lines in place of spans.
pub fn found(source: &SourceFile, finding: &Finding) -> Found {
    let Diagnostic { severity, span, labels, message, notes, helps, .. } = &finding.diagnostic;
    Found {
        number: finding.rule.number,
        name: finding.rule.rule.name,
        kind: finding.rule.kind.as_str(),
        severity: *severity,
        line: source.line(span.start),
        related: labels.iter().map(|label| source.line(label.span.start)).collect(),
        message: message.clone(),
        more: [notes.join("\n"), helps.join("\n")].join("\n"),
    }
}

/// Whether one finding of a tagged kind names every line with that kind: `KIND` is an error, `KIND:warning` a
/// warning.
pub fn meets(tags: &[(u32, Vec<String>)], findings: &[Found]) -> bool {
    let kinds = tags.iter().flat_map(|(_, kinds)| kinds);
    kinds.into_iter().any(|tag| {
        let lines = tags.iter().filter(|(_, kinds)| kinds.contains(tag)).map(|(line, _)| *line);
        let lines: Vec<u32> = lines.collect();
        let (kind, severity) = match tag.split_once(':') {
            Some((kind, _)) => (kind, Severity::Warning),
            None => (tag.as_str(), Severity::Error),
        };
        findings.iter().any(|found| {
            let names = |line: &u32| found.line == *line || found.related.contains(line);
            found.kind == kind && found.severity == severity && lines.iter().all(names)
        })
    })
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    pub outcome: Outcome,
    pub fault: Option<Fault>,
    pub findings: Vec<Found>,
    pub memory: BTreeMap<String, Vec<u8>>,
    pub output: String,
    pub events: Vec<Event>,
    pub statistics: Statistics,
}

impl Ran {
    /// `violation; 12 error B1: …`
    pub fn in_words(&self) -> String {
        let found = self.findings.iter().map(|found| {
            format!("{} {} {}: {}", found.line, found.severity.as_str(), found.number, found.message)
        });
        let all: Vec<String> = std::iter::once(self.outcome.as_str().to_string()).chain(found).collect();
        all.join("; ")
    }

    /// Whether it completed, and nothing of severity error or warning was found.
    pub fn is_clean(&self) -> bool {
        self.outcome == Outcome::Completed && self.findings.iter().all(|f| f.severity == Severity::Note)
    }
}

/// A program and its launch.
pub struct Prepared {
    pub program: Program,
    pub launch: Launch,
}

impl Prepared {
    /// Reads a file.
    pub fn read(path: &Path) -> Prepared {
        let folder = path.parent().expect("a folder");
        let mut files = |name: &str| std::fs::read(folder.join(name));
        Prepared::with_files(&super::short_name(path), &super::read(path), &mut files)
    }

    /// Takes a text that names no files.
    pub fn text(name: &str, text: &str) -> Prepared {
        Prepared::with_files(name, text, &mut |_| Err(io::Error::other("no files here")))
    }

    /// Takes a text; `files` reads what it names.
    pub fn with_files(
        name: &str,
        text: &str,
        files: &mut dyn FnMut(&str) -> io::Result<Vec<u8>>,
    ) -> Prepared {
        let checked = check::check(SourceFile::new(name, text), &Settings::default());
        let refused = checked.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        let refused: Vec<_> = refused.filter(|d| d.ptxas == Ptxas::Rejects).collect();
        assert!(
            refused.is_empty(),
            "{name}: {}",
            super::all_in_words(&checked.program.module.source, refused)
        );
        let launch = launch::read(&checked.program, &Overrides::default(), files).unwrap_or_else(|refusal| {
            panic!("{name}: {}", super::all_in_words(&checked.program.module.source, &refusal.file))
        });
        Prepared { program: checked.program, launch }
    }

    /// Runs it.
    pub fn run(&self, options: Options, choose: &mut dyn Choose) -> Ran {
        let mut machine = match Machine::new(&self.program, &self.launch, options) {
            Ok(machine) => machine,
            Err(_) => panic!("{}: no machine", self.program.module.source.name()),
        };
        let outcome = machine.run(choose, &mut |_| {});
        if outcome == Outcome::Completed {
            machine.compare(&self.launch);
        }
        let source = &self.program.module.source;
        let findings = machine.findings.iter().map(|finding| found(source, finding));
        let buffers = self.launch.arguments.iter().enumerate();
        let memory = buffers.filter(|(_, argument)| matches!(argument.kind, ArgumentKind::Buffer { .. }));
        let memory = memory.map(|(index, argument)| {
            (argument.name.clone(), machine.argument(index).unwrap_or_default().to_vec())
        });
        Ran {
            outcome,
            fault: machine.fault(),
            findings: findings.collect(),
            memory: memory.collect(),
            output: std::mem::take(&mut machine.output),
            events: std::mem::take(&mut machine.events),
            statistics: machine.statistics,
        }
    }

    /// Runs it as `mbar run` without flags does.
    pub fn run_default(&self) -> Ran {
        self.run(Options::default(), &mut Strategy::new(Schedule::default(), Landing::default(), 0))
    }

    /// Runs it with random schedule, reconvergence and copies.
    pub fn run_random(&self, seed: u64) -> Ran {
        let options = Options { reconverge: Reconverge::Random, ..Options::default() };
        self.run(options, &mut Strategy::new(Schedule::Random, Landing::Random, seed))
    }
}

/// A case that can be launched: its name, its program, its tagged lines with their kinds.
pub struct Case {
    pub name: String,
    pub prepared: Prepared,
    pub tags: Vec<(u32, Vec<String>)>,
}

/// The cases with a launch that run at all: those for `check` may be refused, and are not for here.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for path in super::files("cases", "ptx") {
        let text = super::read(&path);
        let tags = super::tags(&text);
        let for_check = tags.iter().any(|(_, kinds)| kinds.iter().any(|kind| kind.starts_with("check")));
        if text.contains("// mbar: launch") && !for_check {
            cases.push(Case { name: super::short_name(&path), prepared: Prepared::read(&path), tags });
        }
    }
    cases
}
