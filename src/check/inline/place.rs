//! From a finding in the text of an `asm` statement to the same finding in the file around it.

use crate::diagnostic::{Diagnostic, Edit, Fix};
use crate::extract::Operand;
use crate::extract::template::{Dialect, Template};
use crate::source::Span;

/// Where operand `index` is said to be declared: behind the end of the text.
pub fn operand_span(template: &Template, index: usize) -> Span {
    let at = template.text.len() as u32 + 1 + index as u32;
    Span::new(at, at + 1)
}

/// The operand that is declared there.
pub fn operand_index(template: &Template, span: Span) -> Option<usize> {
    span.start.checked_sub(template.text.len() as u32 + 1).map(|index| index as usize)
}

/// The way back from a text to its file.
pub struct Places<'a> {
    pub template: &'a Template,
    /// The operands of the statement.
    pub operands: &'a [Operand],
    /// The whole statement, for texts without a place of their own.
    pub statement: Span,
}

impl Places<'_> {
    /// The operand that `span` stands for.
    fn operand(&self, span: Span) -> Option<&Operand> {
        self.operands.get(operand_index(self.template, span)?)
    }

    /// A place of the text in the file.
    pub fn span(&self, span: Span) -> Span {
        match self.operand(span) {
            Some(operand) => operand.span,
            None if self.template.text.is_empty() => self.statement,
            None => self.template.to_host(span),
        }
    }

    /// The finding as the file's reader sees it.
    pub fn to_host(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        for label in &mut diagnostic.labels {
            if let Some(constraint) = self.operand(label.span).and_then(|o| o.constraint.as_ref()) {
                label.message = format!("bound with \"{constraint}\" here");
            }
            label.span = self.span(label.span);
        }
        diagnostic.span = self.span(diagnostic.span);
        diagnostic.fixes = diagnostic.fixes.into_iter().filter_map(|fix| self.fix(fix)).collect();
        self.respell(&mut diagnostic);
        diagnostic
    }

    fn fix(&self, fix: Fix) -> Option<Fix> {
        let edit = |edit: &Edit| {
            // What would need an escape of its own in a literal.
            let plain = !edit.replacement.contains(['"', '\\', '\n', '%', '$', '{', '}']);
            let span = self.template.to_host_exactly(edit.span).filter(|_| plain)?;
            Some(Edit { span, replacement: edit.replacement.clone() })
        };
        let edits = fix.edits.iter().map(edit).collect::<Option<Vec<_>>>()?;
        Some(Fix { edits, ..fix })
    }

    /// Names operands as the file does.
    fn respell(&self, diagnostic: &mut Diagnostic) {
        let other = |r: &&crate::extract::template::Reference| r.spelled != format!("%{}", r.operand);
        for reference in self.template.references.iter().filter(other) {
            let (ours, theirs) = (format!("%{}", reference.operand), &reference.spelled);
            let texts = std::iter::once(&mut diagnostic.message)
                .chain(std::iter::once(&mut diagnostic.label))
                .chain(&mut diagnostic.notes)
                .chain(&mut diagnostic.helps);
            texts.for_each(|text| *text = replace_word(text, &ours, theirs));
        }
        if self.template.dialect == Dialect::Brace {
            let labels = diagnostic.labels.iter_mut().map(|label| &mut label.message);
            labels.chain(&mut diagnostic.helps).for_each(|text| *text = with_classes(text));
        }
    }
}

/// The classes of registers that Rust has in place of constraints.
const CLASSES: &[(char, &str)] =
    &[('h', "reg16"), ('r', "reg32"), ('f', "reg32"), ('l', "reg64"), ('d', "reg64"), ('n', "const")];

/// `text` with classes in place of constraints.
fn with_classes(text: &str) -> String {
    let mut text = text.to_string();
    for (letter, class) in CLASSES {
        for sign in ["", "=", "+"] {
            text = text.replace(&format!("\"{sign}{letter}\""), class);
        }
    }
    text
}

/// `text` with `word` replaced where no digit follows.
fn replace_word(text: &str, word: &str, with: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, behind) = rest.split_at(at);
        let behind = &behind[word.len()..];
        out.push_str(before);
        out.push_str(if behind.starts_with(|c: char| c.is_ascii_digit()) { word } else { with });
        rest = behind;
    }
    out.push_str(rest);
    out
}
