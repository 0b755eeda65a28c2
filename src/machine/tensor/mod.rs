//! Tensor maps: what one describes, which descriptions are allowed, its 128 bytes in memory, and which
//! bytes a tensor copy moves.
//!
//! Dimensions are counted as in PTX, the innermost first. What the chip does was measured on an H200
//! (`tests/data/hw/tma`); what was not measured follows PTX ISA §5.5 and the CUDA driver API. A layout
//! that neither tells is [`Unsupported`], never guessed.

mod element;
mod encoding;
mod fault;
mod im2col;
mod layout;
mod rule;
mod rules;
mod tile;

#[cfg(test)]
mod im2col_tests;
#[cfg(test)]
mod model_tests;

pub use element::Element;
pub use encoding::{Field, ReplaceError};
pub use fault::{BoxFault, Unsupported};
pub use layout::{Atomicity, Fill, Interleave, Swizzle};
pub use rule::{Key, Rule};
pub use tile::{Direction, Mode, Piece, Tile};

/// The largest number of dimensions.
pub const MAX_RANK: usize = 5;

/// The size of a tensor map in memory, in bytes.
pub const MAP_BYTES: usize = 128;

/// The unit of swizzling and alignment in shared memory, in bytes.
const CHUNK: u32 = 16;

/// The description of a tensor in global memory and of the box that one copy moves.
///
/// Entries of dimensions from `rank` on mean nothing; leave them 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The type of the elements.
    pub element: Element,
    /// The number of dimensions, 1 to 5.
    pub rank: u8,
    /// The address of the first element in global memory, in bytes.
    pub address: u64,
    /// The size of each dimension, in elements.
    pub dims: [u64; MAX_RANK],
    /// The distance of neighbours along each dimension, in bytes; entry 0 means nothing, neighbours along
    /// dimension 0 are adjacent.
    pub strides: [u64; MAX_RANK],
    /// The extent of the box along each dimension, in elements of the tensor; nothing for im2col.
    pub box_dims: [u32; MAX_RANK],
    /// The step through the tensor along each dimension, in elements; entry 0 counts only with interleave.
    pub element_strides: [u32; MAX_RANK],
    /// How channels are grouped in global memory.
    pub interleave: Interleave,
    /// How chunks are exchanged in shared memory.
    pub swizzle: Swizzle,
    /// What the swizzle keeps together.
    pub atomicity: Atomicity,
    /// What a load puts where the box leaves the tensor.
    pub fill: Fill,
    /// The bounds and amounts of the im2col modes; a tiled map has none.
    pub im2col: Option<Im2col>,
}

/// What an im2col map has instead of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Im2col {
    /// The lowest pixel that the filter's base visits, relative to pixel 0: of dimensions 1, 2, 3 (W, H, D).
    pub lower: [i32; 3],
    /// The highest one, relative to the last pixel of the dimension.
    pub upper: [i32; 3],
    /// Elements of dimension 0 that are copied of each pixel.
    pub channels: u32,
    /// Pixels that one copy moves.
    pub pixels: u32,
}

impl TensorMap {
    /// The innermost extent of the box, in elements.
    fn inner(&self) -> u32 {
        self.im2col.map_or(self.box_dims[0], |im2col| im2col.channels)
    }

    /// The innermost extent of the box in shared memory, in bytes.
    fn row_bytes(&self) -> u64 {
        u64::from(self.inner()) * u64::from(self.element.bits()) / 8
    }

    /// The dimensions that the map has.
    fn dimensions(&self) -> std::ops::Range<usize> {
        0..usize::from(self.rank).min(MAX_RANK)
    }
}
