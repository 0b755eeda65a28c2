//! The 128 bytes of a tensor map in memory, and the instruction that replaces one field.
//!
//! NVIDIA's layout is not public, so this is one of our own; only its size and its fields are the same. A
//! magic number and a check sum tell maps from other bytes and from maps that a program half overwrote.

use std::fmt;

use super::{Atomicity, Element, Fill, Im2col, Interleave, MAP_BYTES, MAX_RANK, Swizzle, TensorMap};

/// The first bytes of each map: "TMAP", version 1.
const MAGIC: u64 = 0x0001_5041_4d54;
/// The bytes of the magic number, and of the check sum at the end.
const MAGIC_BYTES: usize = 5;
const SUM_BYTES: usize = 4;

/// A field that an instruction can replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The address of the tensor, in bytes.
    GlobalAddress,
    /// The number of dimensions less one.
    Rank,
    /// The extent of the box in a dimension.
    BoxDim,
    /// The size of the tensor in a dimension.
    GlobalDim,
    /// The stride of a dimension, in bytes; ordinal 0 stands for dimension 1.
    GlobalStride,
    /// The step along a dimension.
    ElementStride,
    /// The type of the elements.
    ElementType,
    /// The interleave.
    InterleaveLayout,
    /// The swizzle.
    SwizzleMode,
    /// The atomicity of the swizzle.
    SwizzleAtomicity,
    /// What fills the parts out of bounds.
    FillMode,
}

impl Field {
    /// The name of the field in PTX.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Field::GlobalAddress => "global_address",
            Field::Rank => "rank",
            Field::BoxDim => "box_dim",
            Field::GlobalDim => "global_dim",
            Field::GlobalStride => "global_stride",
            Field::ElementStride => "element_stride",
            Field::ElementType => "elemtype",
            Field::InterleaveLayout => "interleave_layout",
            Field::SwizzleMode => "swizzle_mode",
            Field::SwizzleAtomicity => "swizzle_atomicity",
            Field::FillMode => "fill_mode",
        }
    }
}

/// Why a field could not be replaced. The bytes are unchanged then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceError {
    /// The bytes are no tensor map.
    NotAMap,
    /// The map is no tiled one.
    NotTiled,
    /// The field has no entry of this ordinal.
    Ordinal {
        /// The field.
        field: Field,
        /// The ordinal.
        ordinal: u32,
    },
    /// The field cannot hold the value.
    Value {
        /// The field.
        field: Field,
        /// The value.
        value: u64,
    },
}

impl fmt::Display for ReplaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplaceError::NotAMap => write!(f, "these 128 bytes are no tensor map"),
            ReplaceError::NotTiled => write!(f, "the tensor map is an im2col map, not a tiled one"),
            ReplaceError::Ordinal { field, ordinal } => {
                write!(f, "a tensor map has no {} {ordinal}", field.name())
            }
            ReplaceError::Value { field, value } => write!(f, "{value} is no {}", field.name()),
        }
    }
}

impl std::error::Error for ReplaceError {}

impl TensorMap {
    /// The map as it stands in memory. A number that has no room there becomes the greatest that has, which
    /// no rule allows; so a map that [`TensorMap::validate`] refuses is refused still when it is read back.
    #[must_use]
    pub fn encode(&self) -> [u8; MAP_BYTES] {
        let mut out = Writer { bytes: [0; MAP_BYTES], at: 0 };
        out.put(MAGIC, MAGIC_BYTES);
        for kind in [
            self.element as u64,
            u64::from(self.rank),
            self.interleave as u64,
            self.swizzle as u64,
            self.atomicity as u64,
            self.fill as u64,
            u64::from(self.im2col.is_some()),
        ] {
            out.put(kind, 1);
        }
        out.put(self.address, 8);
        self.dims.iter().for_each(|&size| out.put(size, 5));
        self.strides.iter().skip(1).for_each(|&stride| out.put(stride, 5));
        self.box_dims.iter().for_each(|&size| out.put(u64::from(size), 2));
        self.element_strides.iter().for_each(|&step| out.put(u64::from(step), 1));
        if let Some(im2col) = self.im2col {
            let corners = im2col.lower.into_iter().chain(im2col.upper);
            corners.for_each(|corner| out.put(u64::from(corner.cast_unsigned()), 4));
            out.put(u64::from(im2col.channels), 2);
            out.put(u64::from(im2col.pixels), 2);
        }
        out.seal()
    }

    /// The map that these bytes are, if they are one.
    #[must_use]
    pub fn decode(bytes: &[u8; MAP_BYTES]) -> Option<TensorMap> {
        let mut input = Reader { bytes, at: 0 };
        let sum = (Reader { bytes, at: SUM_AT }).take(SUM_BYTES);
        if input.take(MAGIC_BYTES) != MAGIC || sum != check_sum(bytes) {
            return None;
        }
        let element = input.one_of(&Element::ALL)?;
        let rank = u8::try_from(input.take(1)).ok()?;
        let interleave = input.one_of(&Interleave::ALL)?;
        let swizzle = input.one_of(&Swizzle::ALL)?;
        let atomicity = input.one_of(&Atomicity::ALL)?;
        let fill = input.one_of(&Fill::ALL)?;
        let is_im2col = input.one_of(&[false, true])?;
        let address = input.take(8);
        let dims = input.array(5);
        let [s1, s2, s3, s4] = input.array(5);
        let box_dims = input.array(2).map(low_half);
        let element_strides = input.array(1).map(low_half);
        let im2col = is_im2col.then(|| Im2col {
            lower: input.array(4).map(|corner| low_half(corner).cast_signed()),
            upper: input.array(4).map(|corner| low_half(corner).cast_signed()),
            channels: low_half(input.take(2)),
            pixels: low_half(input.take(2)),
        });
        let strides = [0, s1, s2, s3, s4];
        Some(TensorMap {
            element,
            rank,
            address,
            dims,
            strides,
            box_dims,
            element_strides,
            interleave,
            swizzle,
            atomicity,
            fill,
            im2col,
        })
    }

    /// Replaces a field of the map that `bytes` are. `ordinal` is the dimension where the field has several
    /// entries (see [`Field`]), else it means nothing; `value` has the numbers of PTX. The rules for the
    /// whole map are not checked: it may be unfinished.
    ///
    /// # Errors
    /// If the bytes are no tiled map, or the field cannot be `value`; they stay as they are then.
    pub fn replace(
        bytes: &mut [u8; MAP_BYTES],
        field: Field,
        ordinal: u32,
        value: u64,
    ) -> Result<(), ReplaceError> {
        let mut map = TensorMap::decode(bytes).ok_or(ReplaceError::NotAMap)?;
        if map.im2col.is_some() {
            return Err(ReplaceError::NotTiled);
        }
        map.set(field, ordinal, value)?;
        *bytes = map.encode();
        Ok(())
    }

    fn set(&mut self, field: Field, ordinal: u32, value: u64) -> Result<(), ReplaceError> {
        let wrong = ReplaceError::Value { field, value };
        let no_entry = ReplaceError::Ordinal { field, ordinal };
        let dimension = ordinal as usize;
        let in_range = |least: u64, greatest: u64| {
            if (least..=greatest).contains(&value) { Ok(value) } else { Err(wrong) }
        };
        match field {
            Field::GlobalAddress => self.address = value,
            Field::Rank => self.rank = low_byte(in_range(0, 4)?) + 1,
            Field::BoxDim => *self.box_dims.get_mut(dimension).ok_or(no_entry)? = low_half(in_range(1, 256)?),
            Field::GlobalDim => *self.dims.get_mut(dimension).ok_or(no_entry)? = in_range(1, 1 << 32)?,
            Field::GlobalStride => {
                let stride = self.strides.get_mut(dimension.saturating_add(1)).ok_or(no_entry)?;
                *stride = in_range(0, (1 << 40) - 1)?;
            }
            Field::ElementStride => {
                *self.element_strides.get_mut(dimension).ok_or(no_entry)? = low_half(in_range(1, 8)?);
            }
            Field::ElementType => self.element = numbered(&Element::ALL, value).ok_or(wrong)?,
            Field::InterleaveLayout => self.interleave = numbered(&Interleave::ALL, value).ok_or(wrong)?,
            Field::SwizzleMode => self.swizzle = numbered(&Swizzle::ALL, value).ok_or(wrong)?,
            Field::SwizzleAtomicity => self.atomicity = numbered(&Atomicity::ALL, value).ok_or(wrong)?,
            Field::FillMode => self.fill = numbered(&Fill::ALL, value).ok_or(wrong)?,
        }
        Ok(())
    }
}

/// Where the check sum stands.
const SUM_AT: usize = MAP_BYTES - SUM_BYTES;

/// FNV-1a over the bytes before the check sum.
fn check_sum(bytes: &[u8; MAP_BYTES]) -> u64 {
    let sum = bytes
        .iter()
        .take(SUM_AT)
        .fold(0x811c_9dc5_u32, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    u64::from(sum)
}

/// The variant with a number in PTX, which is its position.
fn numbered<T: Copy>(all: &[T], number: u64) -> Option<T> {
    all.get(usize::try_from(number).ok()?).copied()
}

/// The lowest 8 bits.
fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

/// The lowest 32 bits.
fn low_half(value: u64) -> u32 {
    (value & u64::from(u32::MAX)) as u32
}

/// Puts little-endian numbers one after the other.
struct Writer {
    bytes: [u8; MAP_BYTES],
    at: usize,
}

impl Writer {
    /// Puts a number of `width` bytes, 1 to 8; the greatest one if it has no room.
    fn put(&mut self, value: u64, width: usize) {
        let greatest = u64::MAX >> (64 - 8 * width);
        let room = self.bytes.iter_mut().skip(self.at).take(width);
        for (byte, value) in room.zip(value.min(greatest).to_le_bytes()) {
            *byte = value;
        }
        self.at += width;
    }

    fn seal(mut self) -> [u8; MAP_BYTES] {
        self.at = SUM_AT;
        self.put(check_sum(&self.bytes), SUM_BYTES);
        self.bytes
    }
}

/// Takes little-endian numbers one after the other.
struct Reader<'a> {
    bytes: &'a [u8; MAP_BYTES],
    at: usize,
}

impl Reader<'_> {
    /// Takes a number of `width` bytes, 1 to 8.
    fn take(&mut self, width: usize) -> u64 {
        let bytes = self.bytes.iter().skip(self.at).take(width);
        let value = bytes.rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        self.at += width;
        value
    }

    fn array<const N: usize>(&mut self, width: usize) -> [u64; N] {
        std::array::from_fn(|_| self.take(width))
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        numbered(all, self.take(1))
    }
}

// All numbers of an im2col map, the largest, have room before the check sum.
const _: () =
    assert!(MAGIC_BYTES + 7 + 8 + 5 * MAX_RANK + 5 * 4 + 2 * MAX_RANK + MAX_RANK + 6 * 4 + 4 <= SUM_AT);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::model_tests::plain_map;
    use super::*;

    fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
        (0..all.len()).prop_map(|number| all[number])
    }

    fn im2cols() -> impl Strategy<Value = Option<Im2col>> {
        let parts = (any::<[i32; 3]>(), any::<[i32; 3]>(), any::<u16>(), any::<u16>());
        let im2col = parts.prop_map(|(lower, upper, channels, pixels)| Im2col {
            lower,
            upper,
            channels: channels.into(),
            pixels: pixels.into(),
        });
        prop::option::of(im2col)
    }

    fn maps() -> impl Strategy<Value = TensorMap> {
        let kinds = (
            one_of(&Element::ALL),
            one_of(&Interleave::ALL),
            one_of(&Swizzle::ALL),
            one_of(&Atomicity::ALL),
            one_of(&Fill::ALL),
        );
        let numbers = (
            any::<u8>(),
            any::<u64>(),
            any::<[u64; 5]>(),
            any::<[u64; 5]>(),
            any::<[u16; 5]>(),
            any::<[u8; 5]>(),
        );
        (kinds, numbers, im2cols()).prop_map(|(kinds, numbers, im2col)| {
            let (element, interleave, swizzle, atomicity, fill) = kinds;
            let (rank, address, dims, mut strides, box_dims, element_strides) = numbers;
            strides[0] = 0;
            TensorMap {
                element,
                rank,
                address,
                dims: dims.map(|size| size >> 24),
                strides: strides.map(|stride| stride >> 24),
                box_dims: box_dims.map(u32::from),
                element_strides: element_strides.map(u32::from),
                interleave,
                swizzle,
                atomicity,
                fill,
                im2col,
            }
        })
    }

    proptest! {
        #[test]
        fn a_map_comes_back_from_its_bytes(map in maps()) {
            prop_assert_eq!(TensorMap::decode(&map.encode()), Some(map));
        }

        #[test]
        fn a_changed_byte_is_noticed(map in maps(), at in 0..MAP_BYTES, change in 1..=255_u8) {
            let mut bytes = map.encode();
            bytes[at] ^= change;
            prop_assert_eq!(TensorMap::decode(&bytes), None);
        }

        #[test]
        fn a_replacement_gives_a_map_or_an_error(
            map in maps(), field in 0..11_usize, ordinal in 0..6_u32, value: u64,
        ) {
            let mut bytes = map.encode();
            let before = bytes;
            match TensorMap::replace(&mut bytes, FIELDS[field], ordinal, value) {
                Ok(()) => prop_assert!(TensorMap::decode(&bytes).is_some()),
                Err(_) => prop_assert_eq!(bytes, before),
            }
        }
    }

    const FIELDS: [Field; 11] = [
        Field::GlobalAddress,
        Field::Rank,
        Field::BoxDim,
        Field::GlobalDim,
        Field::GlobalStride,
        Field::ElementStride,
        Field::ElementType,
        Field::InterleaveLayout,
        Field::SwizzleMode,
        Field::SwizzleAtomicity,
        Field::FillMode,
    ];

    #[test]
    fn other_bytes_are_no_map() {
        for bytes in [[0; MAP_BYTES], [0xff; MAP_BYTES], [0xcd; MAP_BYTES]] {
            assert_eq!(TensorMap::decode(&bytes), None);
            assert_eq!(TensorMap::replace(&mut bytes.clone(), Field::Rank, 0, 1), Err(ReplaceError::NotAMap));
        }
    }

    #[test]
    fn what_has_no_room_stays_forbidden() {
        let map = TensorMap { box_dims: [1 << 20, 1, 1, 1, 1], ..plain_map() };
        let read = TensorMap::decode(&map.encode()).unwrap();
        assert!(map.validate().is_err() && read.validate().is_err());
    }

    #[test]
    fn fields_are_replaced() {
        let mut bytes = plain_map().encode();
        for (field, ordinal, value) in [
            (Field::GlobalAddress, 0, 0x1234_5678_9ab0),
            (Field::Rank, 0, 2),
            (Field::BoxDim, 2, 256),
            (Field::GlobalDim, 1, 77),
            (Field::GlobalStride, 1, 4096),
            (Field::ElementStride, 1, 8),
            (Field::ElementType, 0, 11),
            (Field::InterleaveLayout, 0, 1),
            (Field::SwizzleMode, 0, 3),
            (Field::SwizzleAtomicity, 0, 1),
            (Field::FillMode, 0, 1),
        ] {
            assert_eq!(TensorMap::replace(&mut bytes, field, ordinal, value), Ok(()), "{field:?}");
        }
        let map = TensorMap::decode(&bytes).unwrap();
        assert_eq!((map.address, map.rank, map.box_dims[2], map.dims[1]), (0x1234_5678_9ab0, 3, 256, 77));
        assert_eq!((map.strides[2], map.element_strides[1], map.element), (4096, 8, Element::Tf32));
        assert_eq!((map.interleave, map.swizzle), (Interleave::B16, Swizzle::B128));
        assert_eq!((map.atomicity, map.fill), (Atomicity::B32, Fill::Nan));
    }

    #[test]
    fn what_no_field_holds_is_reported() {
        let mut bytes = plain_map().encode();
        let mut try_it = |field, ordinal, value| TensorMap::replace(&mut bytes, field, ordinal, value);
        for (field, ordinal) in [(Field::BoxDim, 5), (Field::GlobalStride, 4), (Field::GlobalDim, u32::MAX)] {
            assert_eq!(try_it(field, ordinal, 16), Err(ReplaceError::Ordinal { field, ordinal }));
        }
        for (field, value) in [
            (Field::Rank, 5),
            (Field::BoxDim, 0),
            (Field::BoxDim, 257),
            (Field::SwizzleMode, 5),
            (Field::FillMode, 2),
        ] {
            assert_eq!(try_it(field, 0, value), Err(ReplaceError::Value { field, value }));
        }
    }
}
