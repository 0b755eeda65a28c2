//! `mbar explain`

use clap::Args;

use super::{exit, print};
use crate::check;
use crate::diagnostic::Ptxas;
use crate::isa::opcode::nearest;

/// The arguments of `mbar explain`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A rule's name, as findings show it; without one, all rules are listed
    rule: Option<String>,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> u8 {
    let Some(name) = &arguments.rule else {
        let mut text = String::new();
        for rule in check::rules() {
            text.push_str(&format!("{:<26} {:<8} {}\n", rule.name, rule.severity.as_str(), rule.summary));
        }
        print(&text);
        return exit::CLEAN;
    };
    let Some(rule) = check::rule(name) else {
        let rules = check::rules();
        let near = nearest(name, rules.iter().map(|rule| rule.name));
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        eprintln!("mbar: there is no rule `{name}`{hint} (`mbar explain` lists them)");
        return exit::USAGE;
    };
    let ptxas = match rule.ptxas {
        Ptxas::Rejects => "ptxas reports it, too",
        Ptxas::Accepts => "ptxas accepts it",
    };
    print(&format!("{}\n\nSeverity: {}; {ptxas}.\n", rule.page.trim_end(), rule.severity.as_str()));
    exit::CLEAN
}
