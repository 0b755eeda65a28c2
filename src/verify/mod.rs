//! Whether a launch is right under every schedule, and the schedule under which it is not.

pub mod explore;
mod graph;
pub mod minimise;
mod transition;
