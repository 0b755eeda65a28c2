//! What a run came to: `mbar.run/1` for programs, tables for people.

use std::collections::BTreeMap;
use std::io;

use serde::{Serialize, Serializer};

use super::json::{Related, related};
use crate::diagnostic::Diagnostic;
use crate::launch::{ArgumentKind, Launch, hex_words};
use crate::machine::Machine;
use crate::machine::cta::Used;
use crate::machine::finding::{Finding, Outcome};
use crate::machine::rule::Kind;
use crate::source::SourceFile;
use crate::types::Type;

/// The document.
#[derive(Serialize, Debug)]
pub struct Document<'m> {
    schema: &'static str,
    outcome: &'static str,
    fault: Option<&'static str>,
    findings: Vec<Found>,
    memory: BTreeMap<&'m str, Words<'m>>,
    statistics: Statistics,
    barriers: Vec<Barrier>,
    output: &'m str,
}

/// The elements of a buffer. They are written one by one: a buffer can be large.
#[derive(Debug)]
struct Words<'m> {
    element: Type,
    bytes: &'m [u8],
}

impl Serialize for Words<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(hex_words(self.element, self.bytes))
    }
}

/// A finding.
#[derive(Serialize, Debug)]
pub(super) struct Found {
    kind: &'static str,
    severity: &'static str,
    rule: &'static str,
    name: &'static str,
    message: String,
    file: String,
    line: u32,
    column: u32,
    label: String,
    related: Vec<Related>,
    notes: Vec<String>,
    helps: Vec<String>,
    count: u64,
}

#[derive(Serialize, Debug)]
struct Statistics {
    ctas: u64,
    threads: u64,
    warp_instructions: u64,
    lane_instructions: u64,
    divergences: u64,
    barrier_updates: u64,
    copy_batches: u64,
    copies: u64,
    copied_bytes: u64,
}

#[derive(Serialize, Debug)]
struct Barrier {
    name: String,
    line: u32,
    phases: u64,
    arrivals: u64,
    updates: u64,
    expected_bytes: u64,
    completed_bytes: u64,
}

impl<'m> Document<'m> {
    /// The document of a run that has ended.
    pub fn new(machine: &'m Machine, launch: &'m Launch, outcome: Outcome) -> Document<'m> {
        let file = &machine.program.module.source;
        Document {
            schema: "mbar.run/1",
            outcome: outcome.as_str(),
            fault: machine.fault().map(|fault| fault.as_str()),
            findings: machine.findings.iter().map(|finding| found(file, finding)).collect(),
            memory: memory(machine, launch),
            statistics: statistics(machine),
            barriers: barriers(machine),
            output: &machine.output,
        }
    }

    /// Writes the document as one line.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")
    }
}

pub(super) fn found(file: &SourceFile, finding: &Finding) -> Found {
    let Diagnostic { span, severity, message, label, labels, notes, helps, .. } = &finding.diagnostic;
    let at = file.line_column(span.start);
    Found {
        kind: finding.rule.kind.as_str(),
        severity: severity.as_str(),
        rule: finding.rule.number,
        name: finding.rule.rule.name,
        message: message.clone(),
        file: file.name().to_string(),
        line: at.line,
        column: at.column,
        label: label.clone(),
        related: related(file, labels),
        notes: notes.clone(),
        helps: helps.clone(),
        count: finding.count,
    }
}

fn memory<'m>(machine: &'m Machine, launch: &'m Launch) -> BTreeMap<&'m str, Words<'m>> {
    let buffers = launch.arguments.iter().enumerate().filter_map(|(index, argument)| match argument.kind {
        ArgumentKind::Buffer { element, .. } => {
            let bytes = machine.argument(index).unwrap_or_default();
            Some((argument.name.as_str(), Words { element, bytes }))
        }
        ArgumentKind::Scalar { .. } | ArgumentKind::TensorMap { .. } => None,
    });
    buffers.collect()
}

fn statistics(machine: &Machine) -> Statistics {
    let counts = machine.statistics;
    Statistics {
        ctas: machine.shape.ctas(),
        threads: machine.shape.ctas().saturating_mul(machine.shape.threads().into()),
        warp_instructions: counts.steps,
        lane_instructions: counts.lane_instructions,
        divergences: counts.divergences,
        barrier_updates: counts.barrier_updates,
        copy_batches: counts.batches,
        copies: counts.copies,
        copied_bytes: counts.copied_bytes,
    }
}

fn barriers(machine: &Machine) -> Vec<Barrier> {
    let row = |Used { init, name, counts, .. }: &Used| Barrier {
        name: name.replace('`', ""),
        line: machine.line(init.pc),
        phases: counts.phases,
        arrivals: counts.arrivals,
        updates: counts.updates,
        expected_bytes: counts.expected,
        completed_bytes: counts.completed,
    };
    machine.history.iter().map(row).collect()
}

/// The table of barriers; nothing where there is none.
pub fn barrier_table(machine: &Machine) -> String {
    const MOST: usize = 40;
    let rows = barriers(machine);
    if rows.is_empty() {
        return String::new();
    }
    let head = ["barrier", "line", "phases", "arrivals", "updates", "bytes announced", "bytes delivered"];
    let cells: Vec<[String; 7]> = rows
        .iter()
        .take(MOST)
        .map(|row| {
            let numbers = [row.phases, row.arrivals, row.updates, row.expected_bytes, row.completed_bytes]
                .map(|n| n.to_string());
            let [phases, arrivals, updates, expected, completed] = numbers;
            [row.name.clone(), row.line.to_string(), phases, arrivals, updates, expected, completed]
        })
        .collect();
    let width = |column: usize| {
        let cells = cells.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let mut text = format!("{:<width$}", cells[0], width = widths[0]);
        for (cell, width) in cells[1..].iter().zip(&widths[1..]) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text.trim_end().to_string() + "\n"
    };
    let mut text = line(&head);
    for row in &cells {
        text.push_str(&line(&row.each_ref().map(String::as_str)));
    }
    if rows.len() > MOST {
        text.push_str(&format!("… and {} more\n", rows.len() - MOST));
    }
    text
}

/// A finding with how often it was found.
pub fn counted(finding: &Finding) -> Diagnostic {
    let diagnostic = finding.diagnostic.clone();
    match finding.count {
        0 | 1 => diagnostic,
        _ if finding.is_expectation() => diagnostic,
        n if finding.rule.kind == Kind::Race => diagnostic.note(format!("found {n} times")),
        n => diagnostic.note(format!("found {n} times at this instruction")),
    }
}

/// "completed: 2 CTAs of 64 threads, 1234 warp instructions, 39488 lane instructions"
pub fn summary(machine: &Machine, outcome: Outcome) -> String {
    let counts = statistics(machine);
    let fault = machine.fault().map_or(String::new(), |fault| format!(" ({})", fault.as_str()));
    let ctas = if counts.ctas == 1 { "1 CTA".to_string() } else { format!("{} CTAs", counts.ctas) };
    let threads = match machine.shape.threads() {
        1 => "1 thread".to_string(),
        n => format!("{n} threads"),
    };
    let batches = match counts.copy_batches {
        0 => String::new(),
        n => format!(", {n} batches of copies"),
    };
    let limit = machine.limit().map_or(String::new(), |limit| format!("; {limit}"));
    format!(
        "{}{fault}: {ctas} of {threads}, {} warp instructions, {} lane instructions{batches}{limit}",
        outcome.as_str(),
        counts.warp_instructions,
        counts.lane_instructions
    )
}
