//! The types of a tensor's elements, and what a load does to their values.

/// The type of a tensor's elements, in the order of the numbers in PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 32-bit signed integer.
    S32,
    /// 64-bit unsigned integer.
    U64,
    /// 64-bit signed integer.
    S64,
    /// IEEE half precision.
    F16,
    /// IEEE single precision.
    F32,
    /// Single precision, loaded with subnormal numbers flushed to zero.
    F32Ftz,
    /// IEEE double precision.
    F64,
    /// The upper half of single precision.
    Bf16,
    /// Single precision, loaded with the mantissa rounded to 10 bits.
    Tf32,
    /// As [`Element::Tf32`], with subnormal numbers flushed to zero.
    Tf32Ftz,
    /// 4-bit values, 16 of them in 8 bytes.
    B4x16,
    /// 4-bit values, 16 of them in 8 bytes, padded to 16 bytes in shared memory.
    B4x16P64,
    /// 6-bit values, 16 of them in 12 bytes, padded to 16 bytes in shared memory.
    B6x16P32,
}

impl Element {
    /// All types; the position of each is its number in PTX.
    pub const ALL: [Element; 16] = [
        Element::U8,
        Element::U16,
        Element::U32,
        Element::S32,
        Element::U64,
        Element::S64,
        Element::F16,
        Element::F32,
        Element::F32Ftz,
        Element::F64,
        Element::Bf16,
        Element::Tf32,
        Element::Tf32Ftz,
        Element::B4x16,
        Element::B4x16P64,
        Element::B6x16P32,
    ];

    /// The name that a launch directive has for the type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Element::U8 => "u8",
            Element::U16 => "u16",
            Element::U32 => "u32",
            Element::S32 => "s32",
            Element::U64 => "u64",
            Element::S64 => "s64",
            Element::F16 => "f16",
            Element::F32 => "f32",
            Element::F32Ftz => "f32_ftz",
            Element::F64 => "f64",
            Element::Bf16 => "bf16",
            Element::Tf32 => "tf32",
            Element::Tf32Ftz => "tf32_ftz",
            Element::B4x16 => "b4x16",
            Element::B4x16P64 => "b4x16_p64",
            Element::B6x16P32 => "b6x16_p32",
        }
    }

    /// The type of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Element> {
        Element::ALL.into_iter().find(|element| element.name() == name)
    }

    /// The size of an element in global memory, in bits: 4 to 64.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Element::B4x16 | Element::B4x16P64 => 4,
            Element::B6x16P32 => 6,
            Element::U8 => 8,
            Element::U16 | Element::F16 | Element::Bf16 => 16,
            Element::U32 | Element::S32 => 32,
            Element::F32 | Element::F32Ftz | Element::Tf32 | Element::Tf32Ftz => 32,
            Element::U64 | Element::S64 | Element::F64 => 64,
        }
    }

    /// Whether values of the type can be NaN, so that `oob=nan` makes sense.
    #[must_use]
    pub fn is_float(self) -> bool {
        use Element::{Bf16, F16, F32, F32Ftz, F64, Tf32, Tf32Ftz};
        matches!(self, F16 | F32 | F32Ftz | F64 | Bf16 | Tf32 | Tf32Ftz)
    }

    /// Whether each group of 16 elements is padded to 16 bytes in shared memory.
    #[must_use]
    pub fn is_padded(self) -> bool {
        matches!(self, Element::B4x16P64 | Element::B6x16P32)
    }

    /// Does to elements on their way into shared memory what a load does: rounds those of type tf32 and
    /// flushes subnormal ones of the `ftz` types. `bytes` are whole elements, little-endian; a remainder
    /// stays as it is. Elements of other types, and fill values, are not touched by the chip.
    pub fn convert_loaded(self, bytes: &mut [u8]) {
        let (flush, round) = match self {
            Element::F32Ftz => (true, false),
            Element::Tf32 => (false, true),
            Element::Tf32Ftz => (true, true),
            _ => return,
        };
        for word in bytes.as_chunks_mut::<4>().0 {
            let mut value = u32::from_le_bytes(*word);
            if flush {
                value = flush_subnormal(value);
            }
            if round {
                value = round_to_tf32(value);
            }
            *word = value.to_le_bytes();
        }
    }
}

const EXPONENT: u32 = 0x7f80_0000;
const MANTISSA: u32 = 0x007f_ffff;

/// Zero of the same sign for a subnormal number, other numbers unchanged.
fn flush_subnormal(value: u32) -> u32 {
    if value & EXPONENT == 0 { value & !(EXPONENT | MANTISSA) } else { value }
}

/// The nearest number with a mantissa of 10 bits, the even one of two; a NaN stays a NaN.
fn round_to_tf32(value: u32) -> u32 {
    /// The bits of the mantissa that tf32 lacks.
    const LOST: u32 = (1 << 13) - 1;
    if value & EXPONENT == EXPONENT {
        let is_nan = value & MANTISSA != 0;
        return if is_nan { value & !LOST | 1 << 22 } else { value };
    }
    let is_odd = value >> 13 & 1;
    value.wrapping_add(LOST / 2 + is_odd) & !LOST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(element: Element, value: u32) -> u32 {
        let mut bytes = value.to_le_bytes();
        element.convert_loaded(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn numbers_are_positions() {
        for (number, element) in Element::ALL.into_iter().enumerate() {
            assert_eq!(element as usize, number);
            assert_eq!(Element::from_name(element.name()), Some(element));
        }
        assert_eq!(Element::from_name("f8"), None);
    }

    #[test]
    fn every_type_of_a_launch_is_known() {
        use crate::launch::TensorElement as T;
        let all = [
            T::U8,
            T::U16,
            T::U32,
            T::S32,
            T::U64,
            T::S64,
            T::F16,
            T::F32,
            T::F64,
            T::Bf16,
            T::F32Ftz,
            T::Tf32,
            T::Tf32Ftz,
        ];
        for element in all {
            let known = Element::from_name(element.text()).map(Element::name);
            assert_eq!(known, Some(element.text()));
        }
    }

    #[test]
    fn tf32_is_rounded_to_nearest() {
        for (value, rounded) in [
            (0x8c85_7e77, 0x8c85_8000), // Measured.
            (0x3f80_0000, 0x3f80_0000),
            (0x3f80_0fff, 0x3f80_0000),
            (0x3f80_1000, 0x3f80_0000),
            (0x3f80_1001, 0x3f80_2000),
            (0x3f80_3000, 0x3f80_4000),
            (0x7f7f_ffff, 0x7f80_0000), // The largest number becomes infinity.
            (0x7f80_0000, 0x7f80_0000),
            (0xff80_0000, 0xff80_0000),
            (0x7f80_0001, 0x7fc0_0000),
            (0x0000_1001, 0x0000_2000),
        ] {
            assert_eq!(loaded(Element::Tf32, value), rounded, "{value:#x}");
        }
    }

    #[test]
    fn ftz_flushes_subnormal_numbers() {
        for (value, flushed) in
            [(0x807f_ffff, 0x8000_0000), (1, 0), (0x0080_0001, 0x0080_0001), (0x7fc0_1234, 0x7fc0_1234)]
        {
            assert_eq!(loaded(Element::F32Ftz, value), flushed, "{value:#x}");
        }
        assert_eq!(loaded(Element::Tf32Ftz, 0x807f_ffff), 0x8000_0000);
        assert_eq!(loaded(Element::F32, 1), 1);
        assert_eq!(loaded(Element::U32, 1), 1);
    }
}
