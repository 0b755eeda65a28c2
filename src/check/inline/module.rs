//! A whole module that stands in the text of another language.

use super::place::Places;
use crate::check::{Report, Settings, check};
use crate::extract::Module;
use crate::source::SourceFile;

/// Checks the module; places are those of the file around it.
pub fn check_module(module: &Module, settings: &Settings) -> Report {
    let text = module.template.text.as_str();
    let mut report: Report = check(SourceFile::new("", text), settings).into();
    let places = Places { template: &module.template, operands: &[], statement: module.span };
    report.diagnostics =
        report.diagnostics.into_iter().map(|diagnostic| places.to_host(diagnostic)).collect();
    for requirement in &mut report.requirements {
        requirement.span = module.template.to_host(requirement.span);
    }
    report
}
