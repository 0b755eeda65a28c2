//! What a run found, and how it ended.

use super::rule::{Kind, RunRule};
use crate::diagnostic::Diagnostic;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Outcome {
    /// All threads have ended.
    Completed,
    /// It stopped where nothing is defined.
    Violation,
    /// Nothing could go on.
    Deadlock,
    /// The chip, or the program itself, stopped it with an error.
    Trap,
    /// It took too many steps or too much memory.
    Limit,
    /// It came to an instruction that cannot be executed here.
    Unsupported,
}

impl Outcome {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Violation => "violation",
            Outcome::Deadlock => "deadlock",
            Outcome::Trap => "trap",
            Outcome::Limit => "limit",
            Outcome::Unsupported => "unsupported",
        }
    }
}

/// What CUDA would report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Fault {
    /// `CUDA_ERROR_LAUNCH_FAILED`
    LaunchFailed,
    /// `CUDA_ERROR_MISALIGNED_ADDRESS`
    MisalignedAddress,
    /// `CUDA_ERROR_ILLEGAL_ADDRESS`
    IllegalAddress,
    /// `CUDA_ERROR_ILLEGAL_INSTRUCTION`
    IllegalInstruction,
}

impl Fault {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Fault::LaunchFailed => "launch-failed",
            Fault::MisalignedAddress => "misaligned-address",
            Fault::IllegalAddress => "illegal-address",
            Fault::IllegalInstruction => "illegal-instruction",
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which rule speaks.
    pub rule: &'static RunRule,
    /// What it says.
    pub diagnostic: Diagnostic,
    /// How often it was found at this instruction.
    pub count: u64,
}

impl Finding {
    /// Whether it is about memory that differs from what the file expects.
    pub fn is_expectation(&self) -> bool {
        self.rule.kind == Kind::Expectation
    }
}
