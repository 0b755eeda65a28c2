//! What can be wrong with a tensor map, in data and in words.

use std::fmt;

use super::rules::{PADDED_BOX, ROW_ALIGN, bits};
use super::{Atomicity, Element, Interleave, Swizzle};

/// The part of a map's description that a rule is about, as users write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The address of the tensor.
    Data,
    /// The sizes of the dimensions.
    Dims,
    /// The distances along the dimensions.
    Strides,
    /// The extent of the box.
    Box,
    /// The steps through the tensor.
    ElementStrides,
    /// The kind of swizzle.
    Swizzle,
    /// What a swizzle keeps together.
    SwizzleAtomicity,
    /// The kind of interleave.
    Interleave,
    /// The value out of bounds.
    Oob,
    /// The lower corner of the bounding box of im2col.
    Lower,
    /// Its upper corner.
    Upper,
    /// The channels of a pixel that im2col copies.
    Channels,
    /// The pixels that im2col copies.
    Pixels,
}

impl Key {
    /// The key in a launch directive.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Key::Data => "data",
            Key::Dims => "dims",
            Key::Strides => "strides",
            Key::Box => "box",
            Key::ElementStrides => "element_strides",
            Key::Swizzle => "swizzle",
            Key::SwizzleAtomicity => "swizzle_atomicity",
            Key::Interleave => "interleave",
            Key::Oob => "oob",
            Key::Lower => "lower",
            Key::Upper => "upper",
            Key::Channels => "channels",
            Key::Pixels => "pixels",
        }
    }
}

/// What is wrong with a tensor map. [`Rule::what`], [`Rule::why`] and [`Rule::advice`] say it in words; the
/// text of `Display` is the three together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The number of dimensions must lie in `least..=5`.
    Rank {
        /// The number of dimensions.
        rank: u8,
        /// The smallest number allowed.
        least: u8,
    },
    /// A value must lie in `least..=greatest`.
    Range {
        /// Where the value stands.
        key: Key,
        /// The dimension that it is for, if it is one of several.
        dimension: Option<usize>,
        /// The value.
        value: i64,
        /// The smallest value allowed.
        least: i64,
        /// The greatest value allowed.
        greatest: i64,
    },
    /// A value must be a multiple of another.
    Multiple {
        /// Where the value stands.
        key: Key,
        /// The dimension that it is for, if it is one of several.
        dimension: Option<usize>,
        /// The value.
        value: u64,
        /// What it must be a multiple of.
        of: u64,
    },
    /// The innermost extent of the box must be a multiple of 16 bytes.
    BoxBytes {
        /// The extent, in elements.
        size: u32,
        /// The type of the elements.
        element: Element,
    },
    /// The innermost extent of the box must be that of the padded types.
    PaddedBox {
        /// The key of the extent.
        key: Key,
        /// The extent, in elements.
        size: u32,
        /// The type of the elements.
        element: Element,
    },
    /// The box must not be wider than the swizzle.
    SwizzleSpan {
        /// The innermost extent of the box, in bytes.
        bytes: u64,
        /// The swizzle.
        swizzle: Swizzle,
    },
    /// Interleave by 32 bytes needs the swizzle of 32 bytes.
    InterleaveNeedsSwizzle {
        /// The swizzle that the map has.
        swizzle: Swizzle,
    },
    /// The interleave does not go together with the type or the swizzle.
    Interleave {
        /// The interleave that the map has.
        interleave: Interleave,
    },
    /// The swizzle does not go together with the type.
    SwizzleOfElement {
        /// The swizzle that the map has.
        swizzle: Swizzle,
        /// The type of the elements.
        element: Element,
    },
    /// Only the swizzle of 128 bytes has other atoms than 16 bytes.
    Atomicity {
        /// The atomicity that the map has.
        atomicity: Atomicity,
        /// The swizzle that the map has.
        swizzle: Swizzle,
    },
    /// Only floating-point elements can be filled with NaN.
    Fill {
        /// The type of the elements.
        element: Element,
    },
    /// The bounding box of im2col holds no pixel.
    EmptyBoundingBox {
        /// The dimension in which it has no extent.
        dimension: usize,
        /// The number of pixels in that dimension, at most 0.
        pixels: i64,
    },
}

impl Rule {
    /// The part of the description that is wrong.
    #[must_use]
    pub fn key(&self) -> Key {
        match self {
            Rule::Rank { .. } => Key::Dims,
            Rule::Range { key, .. } | Rule::Multiple { key, .. } | Rule::PaddedBox { key, .. } => *key,
            Rule::BoxBytes { .. } => Key::Box,
            Rule::SwizzleSpan { .. }
            | Rule::InterleaveNeedsSwizzle { .. }
            | Rule::SwizzleOfElement { .. } => Key::Swizzle,
            Rule::Interleave { .. } => Key::Interleave,
            Rule::Atomicity { .. } => Key::SwizzleAtomicity,
            Rule::Fill { .. } => Key::Oob,
            Rule::EmptyBoundingBox { .. } => Key::Upper,
        }
    }

    /// Which value is wrong, in one clause without a full stop.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Rule::Rank { rank, .. } => format!("`dims` has {rank} entries"),
            Rule::Range { key, dimension, value, .. } => format!("{} is {value}", place(*key, *dimension)),
            Rule::Multiple { key, dimension, value, .. } => {
                format!("{} is {value}", place(*key, *dimension))
            }
            Rule::BoxBytes { size, element } => {
                format!(
                    "`box[0]` is {size} elements of type {}, {} bits",
                    element.name(),
                    bits(*size, *element)
                )
            }
            Rule::PaddedBox { key, size, element } => {
                format!("{} is {size} with elements of type {}", place(*key, None), element.name())
            }
            Rule::SwizzleSpan { bytes, swizzle } => {
                format!("`swizzle={}` with a box whose rows have {bytes} bytes", swizzle.name())
            }
            Rule::InterleaveNeedsSwizzle { swizzle } => {
                format!("`interleave=32B` with `swizzle={}`", swizzle.name())
            }
            Rule::Interleave { interleave } => format!("`interleave={}`", interleave.name()),
            Rule::SwizzleOfElement { swizzle, element } => {
                format!("`swizzle={}` with elements of type {}", swizzle.name(), element.name())
            }
            Rule::Atomicity { atomicity, swizzle } => {
                format!("`swizzle_atomicity={}` with `swizzle={}`", atomicity.name(), swizzle.name())
            }
            Rule::Fill { element } => format!("`oob=nan` with elements of type {}", element.name()),
            Rule::EmptyBoundingBox { dimension, pixels } => {
                format!("the bounding box has {pixels} pixels in dimension {dimension}")
            }
        }
    }

    /// Why that is not allowed, in one clause without a full stop.
    #[must_use]
    pub fn why(&self) -> &'static str {
        match self {
            Rule::Rank { least: 3, .. } => "interleaved and im2col maps have 3 to 5 dimensions",
            Rule::Rank { .. } => "a tensor map has 1 to 5 dimensions",
            Rule::Range { key, .. } => why_range(*key),
            Rule::Multiple { key: Key::Data, .. } => "the copy engine reads aligned rows",
            Rule::Multiple { key: Key::Strides, .. } => "each row has to start as aligned as the first one",
            Rule::Multiple { .. } => "elements of this type are packed in groups",
            Rule::BoxBytes { .. } => "the rows of a box have whole chunks of 16 bytes",
            Rule::PaddedBox { .. } => "elements that are padded in shared memory move by 128",
            Rule::SwizzleSpan { .. } => "a swizzle exchanges chunks only within its width",
            Rule::InterleaveNeedsSwizzle { .. } => "slices of 32 bytes are always swizzled within 32 bytes",
            Rule::Interleave { .. } => {
                "neither elements of type b6x16_p32 nor `swizzle=96B` can be interleaved"
            }
            Rule::SwizzleOfElement { .. } => "padded elements fill 16 bytes at a time",
            Rule::Atomicity { .. } => "only the swizzle of 128 bytes keeps more than 16 bytes together",
            Rule::Fill { .. } => "only floating-point types have a NaN",
            Rule::EmptyBoundingBox { .. } => "a copy would find no pixel",
        }
    }

    /// What to write instead, as a sentence without a full stop.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Rule::Rank { least, .. } => format!("give {least} to 5 sizes, the innermost first"),
            Rule::Range { key, dimension, least, greatest, .. } => {
                format!("write {least} to {greatest} for {}", place(*key, *dimension))
            }
            Rule::Multiple { key: Key::Data, of, .. } => {
                format!("start the tensor at a multiple of {of} bytes")
            }
            Rule::Multiple { key, dimension, of, value } => {
                let next = u128::from(*value).next_multiple_of(u128::from(*of).max(1));
                format!("write a multiple of {of}, such as {next}, for {}", place(*key, *dimension))
            }
            Rule::BoxBytes { size, element } => {
                let step = 8 * ROW_ALIGN / u64::from(element.bits());
                let next = u64::from(*size).next_multiple_of(step);
                format!("make `box[0]` a multiple of {step}, such as {next}")
            }
            Rule::PaddedBox { key, .. } => format!("write {PADDED_BOX} for {}", place(*key, None)),
            Rule::SwizzleSpan { .. } => "take a wider swizzle, or a narrower box and more copies".to_string(),
            Rule::InterleaveNeedsSwizzle { .. } => "write `swizzle=32B`".to_string(),
            Rule::Interleave { .. } => "write `interleave=none`".to_string(),
            Rule::SwizzleOfElement { .. } => "write `swizzle=none` or `swizzle=128B`".to_string(),
            Rule::Atomicity { .. } => "write `swizzle=128B` or `swizzle_atomicity=16B`".to_string(),
            Rule::Fill { .. } => "write `oob=zero`".to_string(),
            Rule::EmptyBoundingBox { dimension, .. } => {
                format!("raise {} or lower {}", outer(Key::Upper, *dimension), outer(Key::Lower, *dimension))
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.what(), self.why(), self.advice())
    }
}

impl std::error::Error for Rule {}

fn why_range(key: Key) -> &'static str {
    match key {
        Key::Dims => "a dimension has at least one element and at most 2^32",
        Key::Strides => "a stride has 40 bits",
        Key::Box => "a box has 1 to 256 elements in each dimension",
        Key::ElementStrides => "steps go from 1 to 8 elements",
        Key::Lower | Key::Upper => "corners have 16 bits in 3 dimensions, 8 in 4 and 5 in 5",
        Key::Channels => "at most 256 channels of a pixel are copied",
        Key::Pixels => "at most 1024 pixels are copied",
        _ => "the tensor map has no room for it",
    }
}

/// The entry of a key, as users count it: strides start with that of dimension 1, corners too.
fn place(key: Key, dimension: Option<usize>) -> String {
    match (key, dimension) {
        (Key::Strides | Key::Lower | Key::Upper, Some(dimension)) => outer(key, dimension),
        (Key::Box, None) => "`box[0]`".to_string(),
        (_, None) => format!("`{}`", key.name()),
        (_, Some(dimension)) => format!("`{}[{dimension}]`", key.name()),
    }
}

/// The entry for a dimension in a list that starts with dimension 1.
fn outer(key: Key, dimension: usize) -> String {
    format!("`{}[{}]`", key.name(), dimension.saturating_sub(1))
}
