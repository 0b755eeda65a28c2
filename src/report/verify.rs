//! The answer of a verification: `mbar.verify/1` for programs, a few lines for people.

use std::fmt::Write as _;
use std::io;

use serde::Serialize;

use super::run::{Found, found};
use crate::machine::Machine;
use crate::machine::code::Pc;
use crate::verify::Verification;
use crate::verify::ledger::Page;

/// The document.
#[derive(Serialize, Debug)]
pub struct Document<'v> {
    schema: &'static str,
    verdict: &'static str,
    reach: &'v str,
    grounds: &'v [String],
    findings: Vec<Found>,
    replay: Option<&'v str>,
    schedules: u64,
    states: u64,
    ledger: Vec<Barrier>,
}

#[derive(Serialize, Debug)]
struct Barrier {
    name: String,
    completed: u64,
    phases: Vec<Phase>,
}

#[derive(Serialize, Debug)]
struct Phase {
    phase: usize,
    complete: bool,
    arrivals: Vec<Line>,
    announced_bytes: u64,
    delivered_bytes: u64,
    waited: Vec<Line>,
}

#[derive(Serialize, Debug)]
struct Line {
    line: u32,
    count: u64,
}

impl<'v> Document<'v> {
    /// The document; `replay` is the recorded schedule that goes wrong.
    pub fn new(verification: &'v Verification, replay: Option<&'v str>) -> Document<'v> {
        let machine = &verification.base.machine;
        let file = &machine.program.module.source;
        Document {
            schema: "mbar.verify/1",
            verdict: verification.verdict.as_str(),
            reach: &verification.reach,
            grounds: &verification.grounds,
            findings: verification.findings.iter().map(|finding| found(file, finding)).collect(),
            replay,
            schedules: verification.schedules,
            states: verification.states,
            ledger: pages(verification).map(|page| barrier(machine, page)).collect(),
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

fn pages<'v>(verification: &'v Verification) -> impl Iterator<Item = &'v Page> {
    verification.base.watch.ledger.pages.values()
}

fn barrier(machine: &Machine, page: &Page) -> Barrier {
    let lines = |list: &[(Pc, u64)]| -> Vec<Line> {
        list.iter().map(|&(pc, count)| Line { line: machine.line(pc), count }).collect()
    };
    let phases = page.rows.iter().enumerate().map(|(phase, row)| Phase {
        phase,
        complete: row.complete,
        arrivals: lines(&row.arrivals),
        announced_bytes: row.announced,
        delivered_bytes: row.delivered,
        waited: lines(&row.waited),
    });
    Barrier {
        name: machine.barrier_name(page.cta, page.address).replace('`', ""),
        completed: page.completed,
        phases: phases.collect(),
    }
}

/// The verdict with its grounds and its reach.
pub fn summary(verification: &Verification) -> String {
    let mut text = format!("{}: {}\n", verification.verdict.as_str(), verification.grounds.join("; "));
    let _ = writeln!(text, "reach: {}", verification.reach);
    text
}

/// So many barriers are listed.
const MOST_BARRIERS: usize = 40;

/// The ledger: a table for each barrier.
pub fn ledger(verification: &Verification) -> String {
    let machine = &verification.base.machine;
    let mut text = String::new();
    let all: Vec<&Page> = pages(verification).collect();
    for page in all.iter().take(MOST_BARRIERS) {
        let barrier = barrier(machine, page);
        let _ = writeln!(text, "{}: {} phases completed", barrier.name, barrier.completed);
        for phase in &barrier.phases {
            let what = |lines: &[Line], word: &str| match lines {
                [] => String::new(),
                lines => {
                    let each = lines.iter().map(|line| format!("{} at line {}", line.count, line.line));
                    format!("; {word} {}", each.collect::<Vec<_>>().join(", "))
                }
            };
            let bytes = match (phase.announced_bytes, phase.delivered_bytes) {
                (0, 0) => String::new(),
                (announced, delivered) => format!("; bytes {delivered} of {announced}"),
            };
            let _ = writeln!(
                text,
                "  phase {}{}{}{bytes}{}",
                phase.phase,
                if phase.complete { "" } else { " (not complete)" },
                what(&phase.arrivals, "arrivals"),
                what(&phase.waited, "waits passed")
            );
        }
        let more = barrier.completed.saturating_sub(barrier.phases.len() as u64);
        if more > 0 {
            let _ = writeln!(text, "  … and {more} more phases");
        }
    }
    if all.len() > MOST_BARRIERS {
        let _ = writeln!(text, "… and {} more barriers", all.len() - MOST_BARRIERS);
    }
    text
}
