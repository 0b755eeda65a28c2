//! The element types of the factors and accumulators, as numbers.

use super::round::{exp2, f16_bits, truncated_single};

/// The type of a factor's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Factor {
    /// A float of at most 19 bits.
    Float(Format),
    /// IEEE double.
    F64,
    /// An integer of so many bits, signed or not.
    Int(u8, bool),
    /// A bit.
    Bit,
}

/// The type of an accumulator's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Accumulator {
    /// IEEE half.
    F16,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
    /// 32-bit integer.
    S32,
}

/// A small binary float: sign, exponent and fraction from the top, in a container of `container` bits
/// with `padding` unused bits below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Format {
    exponent: u8,
    fraction: u8,
    container: u8,
    padding: u8,
    specials: Specials,
}

/// Which codes of a [`Format`] are no numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Specials {
    /// The highest exponent: infinity, and NaN.
    Ieee,
    /// NaN where exponent and fraction are all ones; no infinity.
    NanOnly,
    /// None.
    None,
}

impl Format {
    /// IEEE half.
    pub const F16: Format = Format::new(5, 10, 16, 0, Specials::Ieee);
    /// The upper half of a single.
    pub const BF16: Format = Format::new(8, 7, 16, 0, Specials::Ieee);
    /// The upper 19 bits of a single; hardware does not look at the others.
    pub const TF32: Format = Format::new(8, 10, 32, 13, Specials::Ieee);
    /// 8 bits.
    pub const E4M3: Format = Format::new(4, 3, 8, 0, Specials::NanOnly);
    /// 8 bits.
    pub const E5M2: Format = Format::new(5, 2, 8, 0, Specials::Ieee);
    /// 6 bits, the low ones of a byte.
    pub const E3M2: Format = Format::new(3, 2, 8, 0, Specials::None);
    /// 6 bits, the low ones of a byte.
    pub const E2M3: Format = Format::new(2, 3, 8, 0, Specials::None);
    /// 4 bits, the middle ones of a byte.
    pub const E2M1: Format = Format::new(2, 1, 8, 2, Specials::None);

    const fn new(exponent: u8, fraction: u8, container: u8, padding: u8, specials: Specials) -> Format {
        Format { exponent, fraction, container, padding, specials }
    }

    /// The bits of the container that count.
    fn used(self) -> u64 {
        ((1 << (1 + self.exponent + self.fraction)) - 1) << self.padding
    }

    /// The value of `bits`.
    pub fn value(self, bits: u64) -> f64 {
        let bits = (bits & self.used()) >> self.padding;
        let (low, high) = ((1 << self.fraction) - 1, (1 << self.exponent) - 1);
        let fraction = bits & low;
        let exponent = bits >> self.fraction & high;
        let magnitude = match self.specials {
            Specials::Ieee if exponent == high && fraction != 0 => f64::NAN,
            Specials::Ieee if exponent == high => f64::INFINITY,
            Specials::NanOnly if exponent == high && fraction == low => f64::NAN,
            _ => self.finite(exponent, fraction),
        };
        let negative = bits >> (self.fraction + self.exponent) & 1 == 1;
        if negative { -magnitude } else { magnitude }
    }

    fn finite(self, exponent: u64, fraction: u64) -> f64 {
        let bias = (1 << (self.exponent - 1)) - 1;
        let implicit = if exponent == 0 { 0 } else { 1 << self.fraction };
        let unit = exp2(exponent.max(1) as i32 - bias - i32::from(self.fraction));
        (implicit + fraction) as f64 * unit
    }
}

impl Factor {
    /// Bits of an element in a register, unused ones included.
    pub fn bits(self) -> usize {
        match self {
            Factor::Float(format) => usize::from(format.container),
            Factor::F64 => 64,
            Factor::Int(bits, _) => usize::from(bits),
            Factor::Bit => 1,
        }
    }

    /// Those bits of an element that count.
    pub fn used(self) -> u64 {
        match self {
            Factor::Float(format) => format.used(),
            Factor::F64 | Factor::Int(..) | Factor::Bit => u64::MAX >> (64 - self.bits()),
        }
    }

    /// The element as a float. Exact; integers and bits are unsigned here.
    pub fn float(self, bits: u64) -> f64 {
        match self {
            Factor::Float(format) => format.value(bits),
            Factor::F64 => f64::from_bits(bits),
            Factor::Int(..) | Factor::Bit => bits as f64,
        }
    }

    /// The element as an integer; a float's bits.
    pub fn integer(self, bits: u64) -> i64 {
        match self {
            Factor::Int(width, true) => ((bits << (64 - width)) as i64) >> (64 - width),
            Factor::Int(..) | Factor::Bit | Factor::Float(_) | Factor::F64 => bits as i64,
        }
    }
}

impl Accumulator {
    /// Bits of an element.
    pub fn bits(self) -> usize {
        match self {
            Accumulator::F16 => 16,
            Accumulator::F32 | Accumulator::S32 => 32,
            Accumulator::F64 => 64,
        }
    }

    /// The value of `bits`; exact.
    pub fn value(self, bits: u64) -> f64 {
        match self {
            Accumulator::F16 => Format::F16.value(bits),
            Accumulator::F32 => f64::from(f32::from_bits(bits as u32)),
            Accumulator::F64 => f64::from_bits(bits),
            Accumulator::S32 => f64::from(bits as u32 as i32),
        }
    }

    /// The element nearest to `value`, ties to even. A NaN is the one that tensor cores give.
    pub fn nearest(self, value: f64) -> u64 {
        match self {
            Accumulator::F16 => f16_bits(value),
            Accumulator::F32 if value.is_nan() => 0x7fff_ffff,
            Accumulator::F32 => u64::from((value as f32).to_bits()),
            Accumulator::F64 => value.to_bits(),
            Accumulator::S32 => u64::from(value as i32 as u32),
        }
    }

    /// `value` as tensor cores store a sum: a single cut off towards zero, anything else to nearest, and
    /// no zero negative.
    pub fn stored(self, value: f64) -> u64 {
        let bits = match self {
            Accumulator::F32 if !value.is_nan() => u64::from(truncated_single(value).to_bits()),
            _ => self.nearest(value),
        };
        let sign = 1 << (self.bits() - 1);
        if bits == sign { 0 } else { bits }
    }
}
