//! The arms of an `#if`.

use super::Guard;

/// An `#if` that is open: which of its arms is being read.
pub struct Branch {
    /// What holds in the arms before this one, and in this one (but for `#else`).
    conditions: Vec<Guard>,
    is_else: bool,
}

impl Branch {
    /// So many nested `#if`, and so many arms of one, are told apart; of more only the last count, which leaves
    /// more possible than there is.
    pub const DEEPEST: usize = 64;

    /// The first arm.
    pub fn new(condition: Guard) -> Branch {
        Branch { conditions: vec![condition], is_else: false }
    }

    /// The next arm: `#elif` with its condition, or `#else`.
    pub fn next(&mut self, condition: Option<Guard>) {
        self.conditions.extend(condition);
        self.is_else = condition.is_none();
    }

    /// Whether `#else` has come.
    pub fn is_else(&self) -> bool {
        self.is_else
    }

    /// What holds in the arm.
    pub fn guards(&self) -> Vec<Guard> {
        let last = self.conditions.len() - 1;
        let first = self.conditions.len().saturating_sub(Branch::DEEPEST);
        let guard = |index: usize| match self.conditions[index] {
            own if index == last && !self.is_else => own,
            other => Guard { holds: !other.holds, ..other },
        };
        (first..=last).map(guard).collect()
    }
}
