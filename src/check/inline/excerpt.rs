//! Parts of a text for readers: whether they are meant to be assembled.

use crate::check::instruction::{UNKNOWN_INSTRUCTION, UNKNOWN_MODIFIER};
use crate::check::names::DUPLICATE_NAME;
use crate::diagnostic::{Diagnostic, Rule};
use crate::isa::Mod;
use crate::program::Program;
use crate::syntax;

/// Words of a text that are so long may be misspelled; shorter ones resemble too much.
const LONG: usize = 7;

/// Whether the text only shows how something is written; else forgets about findings that an excerpt may
/// have, such as two examples that declare the same name.
pub fn is_sketch(program: &Program, findings: &mut Vec<Diagnostic>) -> bool {
    let is = |finding: &Diagnostic, rule: &'static Rule| finding.rule.name == rule.name;
    let is_placeholder = |finding: &Diagnostic| {
        let word = program.module.text(finding.span);
        let misspelled = word.len() >= LONG && !finding.fixes.is_empty();
        Mod::from_text(word).is_none() && !misspelled
    };
    let is_sketch = findings.iter().any(|finding| {
        let is_text = syntax::RULES.iter().any(|rule| rule.name == finding.rule.name);
        let is_unknown = is(finding, &UNKNOWN_MODIFIER) || is(finding, &UNKNOWN_INSTRUCTION);
        is_text || is_unknown && is_placeholder(finding)
    });
    findings.retain(|finding| !is(finding, &DUPLICATE_NAME));
    is_sketch
}
