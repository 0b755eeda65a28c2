//! `mbar explain`

use std::io;

use clap::Args;

use super::{complain, exit, print};
use crate::check;
use crate::diagnostic::{Ptxas, Rule};
use crate::isa::opcode::nearest;

/// The arguments of `mbar explain`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A rule's name, as findings show it, or a part of it; without one, all rules are listed
    rule: Option<String>,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> io::Result<u8> {
    let Some(name) = &arguments.rule else {
        let mut text = String::new();
        for rule in check::rules() {
            text.push_str(&format!("{:<26} {:<8} {}\n", rule.name, rule.severity.as_str(), rule.summary));
        }
        print(&text)?;
        return Ok(exit::CLEAN);
    };
    let rule = match find(name) {
        Ok(rule) => rule,
        Err(hint) => {
            complain(&format!("mbar: there is no rule `{name}`{hint} (`mbar explain` lists them)"));
            return Ok(exit::USAGE);
        }
    };
    let ptxas = match rule.ptxas {
        Ptxas::Rejects => "ptxas reports it, too",
        Ptxas::Accepts => "ptxas accepts it",
    };
    // Single findings may differ; the page says which.
    let severity = rule.severity.as_str();
    print(&format!("{}\n\nUsual severity: {severity}; {ptxas}.\n", rule.page.trim_end()))?;
    Ok(exit::CLEAN)
}

/// The rule of that name, or the only one whose name has it as a part; else a hint at what was meant.
fn find(name: &str) -> Result<&'static Rule, String> {
    let rules = check::rules();
    let parts: Vec<&'static Rule> = rules.iter().filter(|rule| rule.name.contains(name)).copied().collect();
    match (check::rule(name), parts.as_slice()) {
        (Some(rule), _) => Ok(rule),
        (None, [rule]) => Ok(rule),
        (None, []) => {
            let near = nearest(name, rules.iter().map(|rule| rule.name));
            Err(near.map_or(String::new(), |near| format!("; did you mean `{near}`?")))
        }
        (None, several) => {
            let names: Vec<String> = several.iter().map(|rule| format!("`{}`", rule.name)).collect();
            Err(format!("; there are {}", names.join(", ")))
        }
    }
}
