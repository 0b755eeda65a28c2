//! Constraint lists of LLVM, such as `=r,=&r,l,0,~{memory}`.

use super::Operand;
use crate::source::Span;

/// What a constraint list says.
pub enum List {
    /// The operands, outputs first.
    Operands(Vec<Operand>),
    /// It is meant for a processor.
    Foreign,
}

/// Reads a constraint list; `None`: the text is no such list.
pub fn read(characters: &[(char, Span)]) -> Option<List> {
    let mut operands = Vec::new();
    let blank = characters.iter().all(|(c, _)| c.is_whitespace());
    let entries = characters.split(|(c, _)| *c == ',').filter(|_| !blank);
    for entry in entries {
        let start = entry.iter().position(|(c, _)| !c.is_whitespace())?;
        let end = entry.iter().rposition(|(c, _)| !c.is_whitespace())? + 1;
        let entry = &entry[start..end];
        let text: String = entry.iter().map(|(c, _)| *c).collect();
        match text.strip_prefix('~') {
            Some("{memory}") => {}
            // Flags and registers of a processor.
            Some(name) if name.starts_with('{') => return Some(List::Foreign),
            Some(_) => return None,
            None => operands.push(operand(&text, entry[0].1.to(entry[entry.len() - 1].1))?),
        }
    }
    Some(List::Operands(operands))
}

fn operand(text: &str, span: Span) -> Option<Operand> {
    let letters = text.trim_start_matches(['=', '&', '*', '+', '%']);
    let is_code = !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphanumeric());
    let is_register = letters.starts_with('{') && letters.ends_with('}');
    if !is_register && (!is_code || letters.len() > 3) {
        return None;
    }
    // Registers whose width the letter does not tell everywhere, and what LLVM itself does not know.
    let is_vague = matches!(letters, "c" | "N") || text.contains(['*', '+', '%']);
    Some(Operand {
        span,
        name: None,
        constraint: (!is_vague).then(|| text.to_string()),
        constraint_span: span,
        value: None,
        is_output: text.starts_with('='),
    })
}

/// The names of operands that have no constraints: by their roles.
pub fn roles(operands: &Option<Vec<Operand>>) -> &'static dyn Fn(&str) -> Option<usize> {
    if operands.is_some() { &|_| None } else { &role }
}

/// A number for an operand that is named by its role, as in `{$r0}`, `{$rw0}` and `{$w0}`.
fn role(name: &str) -> Option<usize> {
    let name = name.strip_prefix('$')?;
    let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let number: usize = digits.parse().ok().filter(|number| *number < 64)?;
    let role = ["w", "rw", "r"].iter().position(|role| *role == &name[..name.len() - digits.len()])?;
    Some(number * 3 + role)
}
