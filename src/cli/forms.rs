//! `mbar forms`

use clap::Args;

use super::{Color, exit, print};
use crate::isa::OPS;
use crate::isa::opcode::nearest;
use crate::isa::table::{GateId, Op, Row, Version};
use crate::isa::table::TargetSet;

/// The arguments of `mbar forms`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Part of an instruction's name, e.g. `mbarrier.arrive` or `tensor`; without one, all are listed
    pattern: Option<String>,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments, _color: Color) -> u8 {
    let pattern = arguments.pattern.as_deref().unwrap_or("");
    let exact: Vec<&Op> = OPS.iter().filter(|op| op.name == pattern).collect();
    let matching: Vec<&Op> = OPS.iter().filter(|op| op.name.contains(pattern)).collect();
    if matching.is_empty() {
        let near = nearest(pattern, OPS.iter().map(|op| op.name));
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        eprintln!("mbar: no instruction has `{pattern}` in its name{hint}");
        return exit::USAGE;
    }
    let mut text = String::new();
    if arguments.pattern.is_none() {
        for op in matching {
            text.push_str(&format!("{:<44} {}\n", op.name, op.text));
        }
    } else {
        let shown = if exact.is_empty() { matching } else { exact };
        for (index, op) in shown.into_iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            describe(op, &mut text);
        }
    }
    print(&text);
    exit::CLEAN
}

fn describe(op: &Op, text: &mut String) {
    text.push_str(&format!("{}\n    {}\n", op.name, op.text));
    if !op.section.is_empty() {
        text.push_str(&format!("    PTX ISA §{}\n", op.section));
    }
    for row in op.rows {
        describe_row(op, row, text);
    }
}

fn describe_row(op: &Op, row: &Row, text: &mut String) {
    let syntax = row.syntax.replacen(' ', "  ", 1);
    text.push_str(&format!("\n  {}{}{syntax}\n", op.name, if syntax.starts_with(' ') { "" } else { "" }));
    text.push_str(&format!("      needs {}", gate(row.gate)));
    if row.undocumented {
        text.push_str(" (not in the manual)");
    }
    text.push('\n');
    for slot in row.slots.iter().filter(|slot| slot.alternatives.len() > 1) {
        let words: Vec<String> = slot
            .alternatives
            .iter()
            .map(|alternative| {
                let gates = gate(alternative.gate);
                let note = if alternative.gate.is_always() { String::new() } else { format!(" ({gates})") };
                format!("{}{note}", alternative.modifier.text())
            })
            .collect();
        let default = slot.default.map_or(String::new(), |index| {
            format!("; left out: {}", slot.alternatives[index as usize].modifier.text())
        });
        text.push_str(&format!("      {}: {}{default}\n", slot.name, words.join(" | ")));
    }
}

fn gate(id: GateId) -> String {
    let gate = id.gate();
    let mut parts = Vec::new();
    if gate.version != Version::NONE {
        parts.push(format!("PTX {}", gate.version));
    }
    if gate.targets != TargetSet::ALL {
        parts.push(gate.targets.describe());
    }
    if parts.is_empty() { "nothing".into() } else { parts.join(", ") }
}
