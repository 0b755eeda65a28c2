//! `mbar`: a checker, assembler and executor for the asynchronous-barrier subset of NVIDIA PTX
//! (mbarrier, cp.async, bulk and tensor copies, and the fences, barriers and cluster instructions
//! that synchronise them).
//!
//! Data flows one way, and each module knows only those before it:
//!
//! ```text
//! bytes ─ source ─ syntax ─┐           ┌─ check ─────────────────────┐
//! grammar/*.isa ─ isa ─────┴─ program ─┼─ asm ───────────────────────┼─ report ─ cli
//!                                      └─ launch ─ machine ─ verify ─┘
//! ```

#![warn(missing_docs)]

pub mod asm;
pub mod baseline;
pub mod check;
pub mod cli;
pub mod config;
pub mod diagnostic;
pub mod extract;
pub mod fix;
pub mod isa;
pub mod launch;
pub mod levels;
pub mod machine;
pub mod needs;
pub mod program;
pub mod report;
pub mod source;
pub mod syntax;
pub mod types;
pub mod verify;
