//! The flags that say how seriously rules are taken, and the list of the rules.

use std::io;

use clap::Args;

use super::print;
use crate::check;
use crate::config::words;
use crate::diagnostic::{Rule, Severity};
use crate::levels::{Level, Levels};

/// How seriously rules are taken.
#[derive(Args, Debug, Default)]
pub struct RuleArguments {
    /// Report only these rules (several: separated by commas)
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = words::rule)]
    select: Vec<&'static Rule>,
    /// Do not report these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = words::rule)]
    ignore: Vec<&'static Rule>,
    /// Report these rules as errors; `warnings`: count warnings as errors for the exit code
    #[arg(long, value_name = "RULE|warnings", value_delimiter = ',', value_parser = denied)]
    deny: Vec<Denied>,
    /// Report these rules as warnings
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = words::rule)]
    warn: Vec<&'static Rule>,
    /// List the rules with the severity that they have here
    #[arg(long)]
    pub list_rules: bool,
}

#[derive(Clone, Copy, Debug)]
enum Denied {
    Warnings,
    Rule(&'static Rule),
}

fn denied(text: &str) -> Result<Denied, String> {
    if text == "warnings" { Ok(Denied::Warnings) } else { words::rule(text).map(Denied::Rule) }
}

impl RuleArguments {
    /// Whether warnings make the exit code that of errors.
    pub fn deny_warnings(&self) -> bool {
        self.deny.iter().any(|denied| matches!(denied, Denied::Warnings))
    }

    /// The levels that the flags ask for, or how they contradict each other.
    pub fn levels(&self) -> Result<Levels, String> {
        let rules = self.deny.iter().filter_map(|denied| match denied {
            Denied::Rule(rule) => Some(*rule),
            Denied::Warnings => None,
        });
        let denied = rules.map(|rule| ("--deny", rule, Level::At(Severity::Error)));
        let warned = self.warn.iter().map(|&rule| ("--warn", rule, Level::At(Severity::Warning)));
        let ignored = self.ignore.iter().map(|&rule| ("--ignore", rule, Level::Allow));
        let mut levels = Levels::default();
        self.select.iter().for_each(|rule| levels.select(rule));
        let mut given: Vec<(&str, &Rule, Level)> = Vec::new();
        for (flag, rule, level) in denied.chain(warned).chain(ignored) {
            if let Some((other, ..)) = given.iter().find(|(_, r, other)| *r == rule && *other != level) {
                return Err(format!("{other} and {flag} both name `{}`: leave out one of them", rule.name));
            }
            levels.set(rule, level);
            given.push((flag, rule, level));
        }
        Ok(levels)
    }
}

/// Prints the rules: name, severity with these levels, what ptxas does, summary.
pub fn list(levels: &Levels) -> io::Result<()> {
    let mut text = String::new();
    for rule in check::rules() {
        let own = (!check::is_on_demand(rule)).then_some(rule.severity);
        let level = levels.of(rule, own).map_or("allow", Severity::as_str);
        let ptxas = rule.ptxas.as_str();
        text.push_str(&format!("{:<26} {level:<8} ptxas {ptxas}  {}\n", rule.name, rule.summary));
    }
    print(&text)
}
