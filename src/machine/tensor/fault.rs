//! Why a box cannot be copied.

use std::fmt;

use super::Rule;

/// Why a box cannot be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxFault {
    /// The map itself is not allowed (a program replaced its fields).
    Map(Rule),
    /// The innermost start coordinate is no multiple of 16 bytes.
    MisalignedStart {
        /// The coordinate, in elements.
        coordinate: i32,
        /// The size of an element, in bits.
        bits: u32,
    },
    /// A store or reduction starts below 0.
    NegativeStart {
        /// The dimension.
        dimension: usize,
        /// The coordinate, in elements.
        coordinate: i32,
    },
    /// A store or reduction with a map whose bounding box reaches over the tensor.
    StoreOutside {
        /// The dimension.
        dimension: usize,
    },
    /// A tiled mode with an im2col map, or the other way round.
    OtherKind {
        /// Whether the map is one for im2col.
        is_im2col: bool,
    },
    /// A mode that goes in the other direction.
    OtherDirection,
    /// The number of coordinates is not that of the map's dimensions, or of the mode.
    Coordinates {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// Rows are gathered or scattered with a box of more than one row, or not from a matrix.
    NotARow,
    /// The base of the filter lies outside the bounding box.
    OutsideBoundingBox {
        /// The dimension.
        dimension: usize,
        /// The coordinate, in pixels.
        coordinate: i32,
        /// The lowest one within.
        lower: i64,
        /// The highest one within.
        upper: i64,
    },
    /// An offset of im2col is too large.
    Offset {
        /// The offset, in pixels.
        offset: u16,
        /// The largest that is allowed.
        greatest: u16,
    },
    /// Pixels along one line need a swizzle.
    NoSwizzle,
    /// The box is larger than shared memory.
    TooLarge {
        /// Its size, in bytes.
        bytes: u64,
    },
    /// The layout is not known.
    Unsupported(Unsupported),
}

/// A layout that neither the manual nor a measurement tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// Interleaved channels.
    Interleave,
    /// Exchanged halves of chunks.
    FlippedHalves,
    /// Several rows that are shorter than the swizzle.
    NarrowRows,
    /// Types that are padded in shared memory.
    PaddedElements,
    /// Halo pixels.
    Halo,
    /// Pixels that are no whole chunks of 16 bytes.
    PartialChunk,
}

impl BoxFault {
    /// Whether the chip was seen to stop at it, with an illegal instruction.
    #[must_use]
    pub fn is_illegal_instruction(&self) -> bool {
        matches!(self, BoxFault::MisalignedStart { .. } | BoxFault::NegativeStart { .. })
    }
}

impl From<Rule> for BoxFault {
    fn from(rule: Rule) -> BoxFault {
        BoxFault::Map(rule)
    }
}

impl From<Unsupported> for BoxFault {
    fn from(what: Unsupported) -> BoxFault {
        BoxFault::Unsupported(what)
    }
}

impl fmt::Display for BoxFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoxFault::Map(rule) => write!(f, "the tensor map is invalid: {rule}"),
            BoxFault::MisalignedStart { coordinate, bits } => {
                let bits = i64::from(*coordinate) * i64::from(*bits);
                write!(f, "coordinate {coordinate} of dimension 0 is at bit {bits}, no multiple of 16 bytes")
            }
            BoxFault::NegativeStart { dimension, coordinate } => {
                write!(f, "a store starts at coordinate {coordinate} of dimension {dimension}, below 0")
            }
            BoxFault::StoreOutside { dimension } => write!(
                f,
                "a store with a tensor map whose bounding box reaches over the tensor in dimension {dimension}"
            ),
            BoxFault::OtherKind { is_im2col: true } => write!(f, "a tiled copy with an im2col tensor map"),
            BoxFault::OtherKind { .. } => write!(f, "an im2col copy with a tiled tensor map"),
            BoxFault::OtherDirection => write!(f, "the mode is for copies in the other direction"),
            BoxFault::Coordinates { found, expected } => {
                write!(f, "{found} coordinates, where tensor map and mode have {expected}")
            }
            BoxFault::NotARow => {
                write!(f, "rows are gathered and scattered with a map of 2 dimensions whose box is one row")
            }
            BoxFault::OutsideBoundingBox { dimension, coordinate, lower, upper } => write!(
                f,
                "coordinate {coordinate} of dimension {dimension} lies outside the bounding box, {lower} to {upper}"
            ),
            BoxFault::Offset { offset, greatest } => {
                write!(f, "an offset of {offset} pixels, where {greatest} is the largest")
            }
            BoxFault::NoSwizzle => write!(f, "this mode needs a tensor map with a swizzle"),
            BoxFault::TooLarge { bytes } => write!(f, "a box of {bytes} bytes, more than shared memory has"),
            BoxFault::Unsupported(what) => write!(f, "{what}"),
        }
    }
}

impl std::error::Error for BoxFault {}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Unsupported::Interleave => "interleaved tensors",
            Unsupported::FlippedHalves => "the swizzle that exchanges halves of 16 bytes",
            Unsupported::NarrowRows => "boxes of several rows that are shorter than the swizzle",
            Unsupported::PaddedElements => "elements that are padded in shared memory",
            Unsupported::Halo => "halo pixels",
            Unsupported::PartialChunk => "pixels whose channels are no multiple of 16 bytes",
        };
        write!(f, "{what}: the layout is not documented, so copies of them are not supported")
    }
}

impl std::error::Error for Unsupported {}
