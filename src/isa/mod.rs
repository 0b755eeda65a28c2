//! The instruction table: what instructions there are, how they may be spelled, what their operands
//! are, and which PTX version and target each part needs. Knows nothing of files or machines.

pub mod describe;
pub mod opcode;
pub mod operand;
pub mod table;
pub mod target;

pub use opcode::{Needs, Opcode, RowMatch, lookup};
pub use table::{Arg, Form, Mod, OPS, TargetId, TargetSet, Version};
