//! The matrix instructions of a warp (PTX ISA §9.7.16.5), as pure functions on columns of lanes: loads,
//! stores and transposition of matrices ([`transfer`]) and the dense multiply-accumulate ([`mod@mma`]).
//!
//! All lanes of a warp take part in these instructions; who is there and what memory holds is the
//! business of the caller.

mod decode;
mod element;
mod fragment;
pub mod mma;
mod round;
mod sum;
#[cfg(test)]
mod tests;
pub mod transfer;

pub use mma::{Mma, decode_mma, mma, shadow_mma};
pub use transfer::{Layout, MatrixMove, Packing, decode_move, gather, movmatrix, scatter};

/// One register of a warp, lane by lane. The low bits hold the value; a 32-bit register is zero-extended.
pub type Column = [u64; LANES];

/// Lanes of a warp.
pub const LANES: usize = 32;
