//! The rules of the syntax module.

use crate::diagnostic::{Ptxas, Rule, Severity};

/// Text that is no PTX.
pub static SYNTAX_ERROR: Rule = Rule {
    name: "syntax-error",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "text that does not follow the grammar of PTX",
    page: include_str!("syntax-error.md"),
};

/// A brace, bracket or parenthesis without its partner.
pub static UNBALANCED_BRACES: Rule = Rule {
    name: "unbalanced-braces",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a brace, bracket or parenthesis without its partner",
    page: include_str!("unbalanced-braces.md"),
};

/// A number or string that is spelt as in another language.
pub static BAD_LITERAL: Rule = Rule {
    name: "bad-literal",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a number or string that PTX does not spell like this",
    page: include_str!("bad-literal.md"),
};

/// Every rule of this module.
pub const RULES: &[&Rule] = &[&SYNTAX_ERROR, &UNBALANCED_BRACES, &BAD_LITERAL];
