//! The rules of launch information.

use crate::diagnostic::{Ptxas, Rule, Severity};

/// The rules of this module, sorted by name.
pub const RULES: &[&Rule] = &[&BAD_ARGUMENT, &BAD_LAUNCH, &BAD_VALUE];

/// See the page.
pub static BAD_ARGUMENT: Rule = Rule {
    name: "bad-argument",
    severity: Severity::Error,
    ptxas: Ptxas::Accepts,
    summary: "an argument or expectation that does not fit the kernel's parameters",
    page: include_str!("bad-argument.md"),
};

/// See the page.
pub static BAD_LAUNCH: Rule = Rule {
    name: "bad-launch",
    severity: Severity::Error,
    ptxas: Ptxas::Accepts,
    summary: "a launch that the kernel or the hardware does not allow",
    page: include_str!("bad-launch.md"),
};

/// See the page.
pub static BAD_VALUE: Rule = Rule {
    name: "bad-value",
    severity: Severity::Error,
    ptxas: Ptxas::Accepts,
    summary: "a value in launch information that cannot be read or does not fit its type",
    page: include_str!("bad-value.md"),
};
