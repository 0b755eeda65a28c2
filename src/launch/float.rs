//! Floats of every width as numbers and as bits.

use crate::types::Type;

/// Widths of a binary format: exponent and mantissa (without the hidden bit) in bits.
#[derive(Clone, Copy)]
struct Format {
    exponent: u32,
    mantissa: u32,
}

const HALF: Format = Format { exponent: 5, mantissa: 10 };
const BRAIN: Format = Format { exponent: 8, mantissa: 7 };

/// The bits of `value` in the float type `ty`, rounded to nearest even; beyond the largest number that is
/// infinity. A NaN becomes the one that the hardware makes: 0x7fff, 0x7fffffff, 0xfff8000000000000.
pub fn to_bits(value: f64, ty: Type) -> u64 {
    match ty {
        Type::F16 => HALF.narrow(value),
        Type::Bf16 => BRAIN.narrow(value),
        Type::F32 if value.is_nan() => 0x7fff_ffff,
        Type::F32 => u64::from((value as f32).to_bits()),
        _ if value.is_nan() => 0xfff8_0000_0000_0000,
        _ => value.to_bits(),
    }
}

/// The number that `bits` are in the float type `ty`.
pub fn from_bits(bits: u64, ty: Type) -> f64 {
    match ty {
        Type::F16 => HALF.widen(bits),
        Type::Bf16 => BRAIN.widen(bits),
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// The bits of precision of `ty`, the hidden one included.
pub fn precision(ty: Type) -> u32 {
    match ty {
        Type::F16 => HALF.mantissa + 1,
        Type::Bf16 => BRAIN.mantissa + 1,
        Type::F32 => f32::MANTISSA_DIGITS,
        _ => f64::MANTISSA_DIGITS,
    }
}

/// The shortest decimal that reads as these bits again.
pub fn text(bits: u64, ty: Type) -> String {
    match ty {
        Type::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        Type::F64 => format!("{:?}", f64::from_bits(bits)),
        _ => shortest(from_bits(bits, ty), ty),
    }
}

/// Tries more and more digits; five are enough for every 16-bit format.
fn shortest(value: f64, ty: Type) -> String {
    let rounded = |digits: usize| format!("{value:.digits$e}").parse::<f64>().ok();
    let mut tries = (0..5).filter_map(rounded);
    let found = tries.find(|&short| to_bits(short, ty) == to_bits(value, ty));
    format!("{:?}", found.unwrap_or(value))
}

/// 2 to the power `n`, for every `n` that occurs with the small formats.
fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023).clamp(0, 2046) as u64) << 52)
}

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn narrow(self, value: f64) -> u64 {
        let sign = u64::from(value.is_sign_negative()) << (self.exponent + self.mantissa);
        let infinity = ((1u64 << self.exponent) - 1) << self.mantissa;
        if value.is_nan() {
            return infinity | ((1 << self.mantissa) - 1);
        }
        let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        if exponent > self.bias() {
            return sign | infinity;
        }
        // In units of the last place the number is an integer; a carry runs into the exponent by itself.
        let exponent = exponent.max(1 - self.bias());
        let units = (value.abs() / power(exponent - self.mantissa as i32)).round_ties_even() as u64;
        let hidden = 1u64 << self.mantissa;
        match units.checked_sub(hidden) {
            Some(rest) => sign | ((((exponent + self.bias()) as u64) << self.mantissa) + rest),
            None => sign | units,
        }
    }

    fn widen(self, bits: u64) -> f64 {
        let mantissa = bits & ((1 << self.mantissa) - 1);
        let exponent = ((bits >> self.mantissa) & ((1 << self.exponent) - 1)) as i32;
        let negative = bits >> (self.exponent + self.mantissa) & 1 != 0;
        let unit = power(exponent.max(1) - self.bias() - self.mantissa as i32);
        let magnitude = match exponent {
            0 => mantissa as f64 * unit,
            e if e == (1 << self.exponent) - 1 && mantissa != 0 => f64::NAN,
            e if e == (1 << self.exponent) - 1 => f64::INFINITY,
            _ => (mantissa | 1 << self.mantissa) as f64 * unit,
        };
        if negative { -magnitude } else { magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_16_bit_float_comes_back() {
        for ty in [Type::F16, Type::Bf16] {
            for bits in 0..=0xffff {
                let value = from_bits(bits, ty);
                if value.is_nan() {
                    assert_eq!(to_bits(value, ty) & 0x7fff, 0x7fff);
                } else {
                    assert_eq!(to_bits(value, ty), bits, "{ty} {value}");
                    let text = text(bits, ty);
                    assert_eq!(to_bits(text.parse().expect("a number"), ty), bits, "{ty} {text}");
                }
            }
        }
    }

    #[test]
    fn brain_floats_are_the_upper_half_of_singles() {
        for bits in (0..=0xffff).filter(|bits| bits & 0x7fff <= 0x7f80) {
            assert_eq!(from_bits(bits, Type::Bf16), f64::from(f32::from_bits((bits as u32) << 16)));
        }
    }

    #[test]
    fn ties_go_to_even() {
        let half = |value| to_bits(value, Type::F16);
        assert_eq!(half(1.0 + 1.0 / 2048.0), 0x3c00);
        assert_eq!(half(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(half(1.0 + 1.0 / 2048.0 + 1e-12), 0x3c01);
        assert_eq!(half(65519.0), 0x7bff);
        assert_eq!(half(65520.0), 0x7c00);
        assert_eq!(half(-1e300), 0xfc00);
        assert_eq!(half(0.5f64.powi(25)), 0);
        assert_eq!(half(1.5 * 0.5f64.powi(25)), 1);
        assert_eq!(half(-0.0), 0x8000);
        assert_eq!(half(5e-324), 0);
        assert_eq!(to_bits(1.0 + 1.0 / 256.0, Type::Bf16), 0x3f80);
        assert_eq!(to_bits(1.0 + 3.0 / 256.0, Type::Bf16), 0x3f82);
        assert_eq!(to_bits(f64::NAN, Type::F32), 0x7fff_ffff);
    }

    #[test]
    fn the_text_is_the_shortest() {
        assert_eq!(text(to_bits(0.1, Type::F16), Type::F16), "0.1");
        assert_eq!(text(to_bits(3.0, Type::Bf16), Type::Bf16), "3.0");
        assert_eq!(text(0x7c00, Type::F16), "inf");
        assert_eq!(text(0x7fff_ffff, Type::F32), "NaN");
        assert_eq!(text(to_bits(0.1, Type::F32), Type::F32), "0.1");
    }
}
