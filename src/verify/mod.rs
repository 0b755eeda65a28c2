//! What one run says of all schedules.
//!
//! The analyses here work on the lowered code, whose program counters a run names.

pub mod depend;
pub mod poll;
mod symbol;
mod uses;
mod walk;
