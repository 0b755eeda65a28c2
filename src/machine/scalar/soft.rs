//! Floating point in software: any format, any rounding, rounded once.

use super::op::{Float, Rounding};

/// A binary floating-point format with subnormals.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Bits of exponent.
    exponent: u32,
    /// Bits of fraction.
    fraction: u32,
    /// The greatest finite magnitude, as bits.
    top: u64,
    /// Whether infinity follows the greatest finite magnitude.
    infinity: bool,
    /// The NaN that operations make, if there is one.
    nan: Option<u64>,
}

/// A value taken apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Parts {
    /// NaN.
    Nan,
    /// Infinite; the flag: negative.
    Infinite(bool),
    /// Zero or finite.
    Finite(Number),
}

/// (-1)^negative · significand · 2^exponent
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Number {
    /// The sign, also of zero.
    pub negative: bool,
    /// The significand, not normalised. Its lowest bit may be sticky: "and something below".
    pub significand: u128,
    /// The exponent of the significand's lowest bit.
    pub exponent: i32,
}

const fn ieee(exponent: u32, fraction: u32, nan: u64) -> Format {
    let top = (((1 << exponent) - 1) << fraction) - 1;
    Format { exponent, fraction, top, infinity: true, nan: Some(nan) }
}

const fn finite(exponent: u32, fraction: u32) -> Format {
    let top = (1 << (exponent + fraction)) - 1;
    Format { exponent, fraction, top, infinity: false, nan: None }
}

impl Format {
    /// The format of `ty` (that of binary32 for `.tf32`, whose values are stored so; `S2f6` and `Ue8m0`
    /// have rules of their own and are not described by what is given here).
    pub const fn of(ty: Float) -> Format {
        match ty {
            Float::F16 => ieee(5, 10, 0x7fff),
            Float::Bf16 => ieee(8, 7, 0x7fff),
            Float::F32 | Float::Tf32 => ieee(8, 23, 0x7fff_ffff),
            Float::F64 => ieee(11, 52, 0xfff8_0000_0000_0000),
            Float::E5m2 => ieee(5, 2, 0x7f),
            Float::E4m3 => Format { exponent: 4, fraction: 3, top: 0x7e, infinity: false, nan: Some(0x7f) },
            Float::E2m3 => finite(2, 3),
            Float::E3m2 => finite(3, 2),
            Float::E2m1 | Float::Ue8m0 | Float::S2f6 => finite(2, 1),
        }
    }

    /// The format of a `.tf32` value, less the 13 bits that its storage keeps at zero.
    pub const TF32: Format = ieee(8, 10, 0x3ffff);

    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The sign bit.
    pub const fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    /// The greatest finite magnitude.
    pub const fn top(self) -> u64 {
        self.top
    }

    /// Bits of fraction.
    pub const fn fraction(self) -> u32 {
        self.fraction
    }

    /// The least normal magnitude.
    pub const fn least_normal(self) -> u64 {
        1 << self.fraction
    }

    /// 1.0
    pub const fn one(self) -> u64 {
        (self.bias() as u64) << self.fraction
    }

    /// Infinity, or the greatest finite magnitude where there is none.
    pub const fn infinity(self) -> u64 {
        if self.infinity { self.top + 1 } else { self.top }
    }

    /// The NaN of invalid operations (the greatest finite value where there is none).
    pub fn nan(self) -> u64 {
        self.nan.unwrap_or(self.top)
    }

    /// The magnitude.
    pub const fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign() - 1)
    }

    /// Whether `bits` is a NaN.
    pub const fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    /// Whether `bits` is a subnormal number or zero.
    pub const fn is_tiny(self, bits: u64) -> bool {
        self.magnitude(bits) < self.least_normal()
    }

    /// A subnormal becomes a zero of its sign.
    pub const fn flush(self, bits: u64) -> u64 {
        if self.is_tiny(bits) { bits & self.sign() } else { bits }
    }

    /// Takes `bits` apart.
    pub const fn parts(self, bits: u64) -> Parts {
        let negative = bits & self.sign() != 0;
        let magnitude = self.magnitude(bits);
        if magnitude > self.infinity() {
            return Parts::Nan;
        }
        if magnitude > self.top {
            return Parts::Infinite(negative);
        }
        let fraction = magnitude & (self.least_normal() - 1);
        let biased = (magnitude >> self.fraction) as i32;
        let (hidden, biased) = if biased == 0 { (0, 1) } else { (self.least_normal(), biased) };
        let exponent = biased - self.bias() - self.fraction as i32;
        Parts::Finite(Number { negative, significand: (hidden | fraction) as u128, exponent })
    }

    /// The value of the format for `number`, rounded.
    pub fn round(self, number: Number, rounding: Rounding) -> u64 {
        let Number { negative, significand, exponent } = number;
        let sign = if negative { self.sign() } else { 0 };
        if significand == 0 {
            return sign;
        }
        let least = 1 - self.bias();
        let leading = exponent + 127 - significand.leading_zeros() as i32;
        if leading > self.bias() + 1 {
            return sign | self.overflow(negative, rounding);
        }
        let quantum = leading.max(least) - self.fraction as i32;
        let rounded = shift_round(significand, quantum - exponent, negative, rounding);
        // A carry out of the fraction runs into the exponent, where it belongs.
        let magnitude = (((leading.max(least) - least) as u64) << self.fraction) + rounded;
        if magnitude > self.top { sign | self.overflow(negative, rounding) } else { sign | magnitude }
    }

    fn overflow(self, negative: bool, rounding: Rounding) -> u64 {
        let away = match rounding {
            Rounding::Nearest | Rounding::Away | Rounding::Stochastic => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        if away { self.infinity() } else { self.top }
    }
}

/// `significand / 2^shift`, rounded to an integer. The quotient must fit in 64 bits.
pub fn shift_round(significand: u128, shift: i32, negative: bool, rounding: Rounding) -> u64 {
    if shift <= 0 {
        return (significand << (-shift).min(127)) as u64;
    }
    let shift = shift as u32;
    let whole = significand.checked_shr(shift).unwrap_or(0) as u64;
    let half = significand.checked_shr(shift - 1).unwrap_or(0) & 1 == 1;
    let rest = u8::from(half) * 2 + u8::from(significand != 0 && significand.trailing_zeros() < shift - 1);
    let up = match rounding {
        Rounding::Nearest => rest == 3 || rest == 2 && whole & 1 == 1,
        Rounding::Away => rest >= 2,
        Rounding::Zero | Rounding::Stochastic => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    whole + u64::from(up)
}

/// `x / 2^shift`, the lowest bit set if anything was cut off.
pub fn shift_right_sticky(x: u128, shift: u32) -> u128 {
    match shift {
        0 => x,
        1..=127 => x >> shift | u128::from(x << (128 - shift) != 0),
        _ => u128::from(x != 0),
    }
}

impl Number {
    /// Zero.
    pub const fn zero(negative: bool) -> Number {
        Number { negative, significand: 0, exponent: 0 }
    }

    /// An integer.
    pub const fn integer(x: i128) -> Number {
        Number { negative: x < 0, significand: x.unsigned_abs(), exponent: 0 }
    }

    /// The top bit of the significand moved to bit `top` (0 to 127); bits that fall out are sticky.
    fn normalised(self, top: u32) -> Number {
        if self.significand == 0 {
            return self;
        }
        let at = 127 - self.significand.leading_zeros();
        let significand = if at <= top {
            self.significand << (top - at)
        } else {
            shift_right_sticky(self.significand, at - top)
        };
        Number { significand, exponent: self.exponent + at as i32 - top as i32, ..self }
    }

    /// Whether it is nearer to zero than the normal numbers of `format` once it is rounded to the format's
    /// precision, the exponent being without limit.
    pub fn below(self, format: Format, rounding: Rounding) -> bool {
        if self.significand == 0 {
            return true;
        }
        let leading = self.exponent + 127 - self.significand.leading_zeros() as i32;
        let below_least = leading - (1 - format.bias());
        if below_least != -1 {
            return below_least < 0;
        }
        let shift = leading - format.fraction as i32 - self.exponent;
        shift_round(self.significand, shift, self.negative, rounding) < 2 * format.least_normal()
    }

    /// The product, exact for significands of at most 64 bits.
    pub fn times(self, other: Number) -> Number {
        Number {
            negative: self.negative != other.negative,
            significand: self.significand.wrapping_mul(other.significand),
            exponent: self.exponent + other.exponent,
        }
    }

    /// The sum, with a sticky lowest bit; exact for significands of at most 106 bits. An exact zero of
    /// different signs is negative when rounding down.
    pub fn plus(self, other: Number, rounding: Rounding) -> Number {
        if self.significand == 0 && other.significand == 0 {
            let down = rounding == Rounding::Down;
            let negative = if self.negative == other.negative { self.negative } else { down };
            return Number::zero(negative);
        }
        if self.significand == 0 {
            return other;
        }
        if other.significand == 0 {
            return self;
        }
        let (a, b) = (self.normalised(125), other.normalised(125));
        let (large, small) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
        let aligned = shift_right_sticky(small.significand, (large.exponent - small.exponent) as u32);
        if large.negative == small.negative {
            return Number { significand: large.significand + aligned, ..large };
        }
        match large.significand.cmp(&aligned) {
            std::cmp::Ordering::Equal => Number::zero(rounding == Rounding::Down),
            std::cmp::Ordering::Greater => Number { significand: large.significand - aligned, ..large },
            std::cmp::Ordering::Less => {
                Number { negative: small.negative, significand: aligned - large.significand, ..large }
            }
        }
    }

    /// The quotient with a sticky lowest bit. The divisor must not be zero (else the result is zero).
    pub fn over(self, other: Number) -> Number {
        let negative = self.negative != other.negative;
        let (a, b) = (self.normalised(126), other.normalised(62));
        let Some(quotient) = a.significand.checked_div(b.significand) else { return Number::zero(negative) };
        let sticky = u128::from(a.significand % b.significand != 0);
        Number { negative, significand: quotient | sticky, exponent: a.exponent - b.exponent }
    }

    /// The square root of the magnitude, with a sticky lowest bit.
    pub fn root(self) -> Number {
        if self.significand == 0 {
            return self;
        }
        let top = self.normalised(126);
        let even = if top.exponent % 2 == 0 { top } else { self.normalised(125) };
        let root = even.significand.isqrt();
        let sticky = u128::from(root * root != even.significand);
        Number { significand: root | sticky, exponent: even.exponent / 2, ..self }
    }
}

impl Format {
    /// The value for `number`, rounded in magnitude by `random`, whose low `bits` bits are added to as many
    /// bits below the last that is kept.
    pub fn round_stochastic(self, number: Number, random: u64, bits: u32) -> u64 {
        if number.significand == 0 {
            return self.round(number, Rounding::Zero);
        }
        let leading = number.exponent + 127 - number.significand.leading_zeros() as i32;
        let quantum = leading.max(1 - self.bias()) - self.fraction as i32 - bits as i32;
        let kept = shift_round(number.significand, quantum - number.exponent, false, Rounding::Zero);
        let random = random & ((1 << bits) - 1);
        let significand = u128::from(kept) + u128::from(random);
        self.round(Number { significand, exponent: quantum, ..number }, Rounding::Stochastic)
    }
}
