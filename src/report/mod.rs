//! Findings as text: one file a format. The only part of the program that knows how things look.

pub mod diff;
pub mod human;
pub mod json;
pub mod run;
pub mod verify;
