//! `mbar explain`

use std::io;

use clap::Args;

use super::{complain, exit, print};
use crate::diagnostic::{Ptxas, Rule};
use crate::isa::opcode::nearest;
use crate::machine::rule::RunRule;
use crate::{check, launch, machine, verify};

/// The arguments of `mbar explain`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A rule's name or number, as findings show it, or a part of the name; without one, all rules are listed
    rule: Option<String>,
}

/// A rule, and its number if it is one for runs.
#[derive(Clone, Copy)]
struct Entry {
    rule: &'static Rule,
    run: Option<&'static RunRule>,
}

/// The rules of the checks, of launches, and of runs, each with a heading.
fn sections() -> [(&'static str, Vec<Entry>); 4] {
    let of_check = |rule| Entry { rule, run: None };
    let of_run = |rule: &&'static RunRule| Entry { rule: &rule.rule, run: Some(*rule) };
    [
        ("Found in the text (`mbar check`)", check::rules().into_iter().map(of_check).collect()),
        ("Found in launch information", launch::RULES.iter().copied().map(of_check).collect()),
        ("Found while it runs (`mbar run`)", machine::rule::RULES.iter().map(of_run).collect()),
        (
            "Found by looking at all schedules (`mbar verify`)",
            verify::rule::RULES.iter().map(of_run).collect(),
        ),
    ]
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> io::Result<u8> {
    let Some(name) = &arguments.rule else {
        print(&list())?;
        return Ok(exit::CLEAN);
    };
    let entries = match find(name) {
        Ok(entries) => entries,
        Err(hint) => {
            complain(&format!("mbar: there is no rule `{name}`{hint} (`mbar explain` lists them)"));
            return Ok(exit::USAGE);
        }
    };
    let pages: Vec<String> = entries
        .iter()
        .map(|entry| format!("{}\n\n{}\n", entry.rule.page.trim_end(), entry.remark()))
        .collect();
    print(&pages.join("\n"))?;
    Ok(exit::CLEAN)
}

fn list() -> String {
    let mut text = String::new();
    for (heading, entries) in sections() {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{heading}\n"));
        for Entry { rule, .. } in entries {
            let summary = rule.summary.trim_end_matches('.');
            text.push_str(&format!("{:<26} {:<8} {}\n", rule.name, rule.severity.as_str(), summary));
        }
    }
    text
}

impl Entry {
    /// The last line of a page. Single findings may differ in severity; the page says which.
    fn remark(self) -> String {
        let severity = self.rule.severity.as_str();
        match (self.run, self.rule.ptxas) {
            (Some(run), _) if run.number != self.rule.name => {
                format!("Found by `mbar run`; severity: {severity}; in reports for programs: {}.", run.number)
            }
            (Some(_), _) => format!("Found by `mbar run`; severity: {severity}."),
            (None, Ptxas::Rejects) => format!("Usual severity: {severity}; ptxas reports it, too."),
            (None, Ptxas::Accepts) => format!("Usual severity: {severity}; ptxas accepts it."),
        }
    }
}

/// The rules of that name or number (a text and a run may show the same fault), or the only one whose name
/// has it as a part; else a hint at what was meant.
fn find(name: &str) -> Result<Vec<Entry>, String> {
    let entries: Vec<Entry> = sections().into_iter().flat_map(|(_, entries)| entries).collect();
    let those = |is_meant: &dyn Fn(&Entry) -> bool| -> Vec<Entry> {
        entries.iter().filter(|entry| is_meant(entry)).copied().collect()
    };
    let exact = those(&|entry| {
        let number = entry.run.map(|run| run.number);
        entry.rule.name == name || number.is_some_and(|number| number.eq_ignore_ascii_case(name))
    });
    if !exact.is_empty() {
        return Ok(exact);
    }
    let parts = those(&|entry| entry.rule.name.contains(name));
    let mut names: Vec<String> = parts.iter().map(|entry| format!("`{}`", entry.rule.name)).collect();
    names.dedup();
    match names.as_slice() {
        [] => {
            let near = nearest(name, entries.iter().map(|entry| entry.rule.name));
            Err(near.map_or(String::new(), |near| format!("; did you mean `{near}`?")))
        }
        [_] => Ok(parts),
        several => Err(format!("; there are {}", several.join(", "))),
    }
}
