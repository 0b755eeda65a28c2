//! `mbar`: a static checker and assembler for the asynchronous-barrier subset of NVIDIA PTX
//! (mbarrier, cp.async, bulk and tensor copies, and the fences, barriers and cluster instructions
//! that synchronise them).
//!
//! Data flows one way, and each module knows only those above it:
//!
//! ```text
//! bytes ─ source ─ syntax ─┐
//! grammar/*.isa ─ isa ─────┴─ program ─ check ─ report ─ cli
//! ```

#![warn(missing_docs)]

pub mod asm;
pub mod check;
pub mod cli;
pub mod diagnostic;
pub mod isa;
pub mod needs;
pub mod program;
pub mod report;
pub mod source;
pub mod syntax;
pub mod types;
