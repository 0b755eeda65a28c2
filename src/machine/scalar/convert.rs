//! Conversions between integers and floating-point formats.

use super::float::{assemble, finish};
use super::op::{Flags, Float, Int, Lanes, Rounding};
use super::soft::{Format, Number, Parts, shift_round};

/// Integer to integer.
#[inline]
pub fn int(to: Int, from: Int, saturate: bool, x: u64) -> u64 {
    if saturate { to.saturate(from.value(x)) } else { from.extend(x) & to.mask() }
}

/// Integer to floating point.
pub fn int_to_float(to: Float, from: Int, rounding: Rounding, flags: Flags, x: u64) -> u64 {
    let format = Format::of(to);
    finish(format, flags, format.round(Number::integer(from.value(x)), rounding))
}

/// Floating point to integer, clamped to the type.
pub fn float_to_int(to: Int, from: Float, rounding: Rounding, flags: Flags, x: u64) -> u64 {
    let format = Format::of(from);
    let x = if flags.has(Flags::FTZ) { format.flush(x) } else { x };
    match format.parts(x) {
        Parts::Nan => not_a_number(to, from),
        Parts::Infinite(negative) => to.saturate(if negative { to.min() } else { to.max() }),
        Parts::Finite(number) => to.saturate(integral(number, rounding)),
    }
}

/// What NaN becomes: 0, but the top bit where binary64 or a 64-bit integer takes part.
fn not_a_number(to: Int, from: Float) -> u64 {
    let top = to.bits() == 64 || from == Float::F64;
    if top { 1 << (to.bits() - 1) } else { 0 }
}

/// The integer next to `number`; beyond the range of 64 bits something beyond it.
fn integral(number: Number, rounding: Rounding) -> i128 {
    let magnitude = match number.exponent {
        exponent if exponent > 64 && number.significand != 0 => 1 << 100,
        exponent if exponent >= 0 => (number.significand << exponent.min(64)) as i128,
        exponent => i128::from(shift_round(number.significand, -exponent, number.negative, rounding)),
    };
    if number.negative { -magnitude } else { magnitude }
}

/// The next integral value of the same type.
pub fn to_integral(ty: Float, rounding: Rounding, flags: Flags, x: u64) -> u64 {
    let format = Format::of(ty);
    let x = if flags.has(Flags::FTZ) { format.flush(x) } else { x };
    let result = match format.parts(x) {
        Parts::Nan => nan_between(ty, ty, x),
        Parts::Finite(number) if number.exponent < 0 => {
            let significand = shift_round(number.significand, -number.exponent, number.negative, rounding);
            format.round(Number { significand: significand.into(), exponent: 0, ..number }, rounding)
        }
        _ => x & (format.sign() | (format.sign() - 1)),
    };
    finish(format, flags, result)
}

/// Floating point to floating point.
pub fn float(to: Float, from: Float, rounding: Rounding, flags: Flags, x: u64) -> u64 {
    let (source, target) = (Format::of(from), Format::of(to));
    if flags == Flags::default() && is_move(to, from) {
        return (x << (target.fraction() - source.fraction())) & 0xffff_ffff;
    }
    // Only binary32 has a flush mode; a narrow source is never subnormal in it.
    let flush = flags.has(Flags::FTZ);
    let x = if flush && from == Float::F32 { source.flush(x) } else { x };
    let flags = if to == Float::F32 { flags } else { Flags(flags.0 & !Flags::FTZ.0) };
    let result = match source.parts(x) {
        Parts::Nan if to == Float::Tf32 && rounding == Rounding::Away => tf32_nan(x, flags),
        // Flushing goes through an operation of binary32, which makes its own NaN.
        Parts::Nan if from == Float::F32 && flush => nan_between(to, from, source.nan()),
        Parts::Nan => nan_between(to, from, x),
        Parts::Finite(number) if flush && to == Float::F32 && number.below(target, rounding) => {
            if number.negative { target.sign() } else { 0 }
        }
        parts => narrow(to, parts, rounding, flags, None),
    };
    finish(target, flags, result)
}

/// Conversions that copy bits, NaN and all.
fn is_move(to: Float, from: Float) -> bool {
    to == Float::F32 && matches!(from, Float::F32 | Float::Bf16)
}

/// `.rna` cuts a NaN off; `.satfinite` then takes one unit off, as from infinity.
fn tf32_nan(x: u64, flags: Flags) -> u64 {
    let rounded = x & 0xffff_e000;
    if flags.has(Flags::SATFINITE) { rounded.saturating_sub(0x2000) } else { rounded }
}

/// The NaN that a conversion gives: binary64 keeps what it can of sign and payload.
fn nan_between(to: Float, from: Float, x: u64) -> u64 {
    let (target, source) = (Format::of(to), Format::of(from));
    if to == Float::Tf32 {
        return 0x7fff_e000;
    }
    if to != Float::F64 && from != Float::F64 {
        return target.nan();
    }
    let sign = if x & source.sign() != 0 { target.sign() } else { 0 };
    let (have, want) = (source.fraction(), target.fraction());
    let payload = x & (source.least_normal() - 1);
    let payload = if want >= have { payload << (want - have) } else { payload >> (have - want) };
    sign | target.infinity() | target.least_normal() >> 1 | payload
}

/// Random bits for stochastic rounding, and how many of them count.
type Random = Option<(u64, u32)>;

/// The value of the format next to `parts`.
fn narrow(to: Float, parts: Parts, rounding: Rounding, flags: Flags, random: Random) -> u64 {
    let format = Format::of(to);
    let result = match to {
        Float::Ue8m0 => return power_of_two(parts, rounding, flags),
        Float::S2f6 => return fixed(parts, rounding),
        Float::Tf32 => round(Format::TF32, parts, rounding, random) << 13,
        _ => round(format, parts, rounding, random),
    };
    let saturate = flags.has(Flags::SATFINITE) && !format.is_nan(result);
    let top = if to == Float::Tf32 { Format::TF32.top() << 13 } else { format.top() };
    if saturate && format.magnitude(result) > top { result & format.sign() | top } else { result }
}

fn round(format: Format, parts: Parts, rounding: Rounding, random: Random) -> u64 {
    match (parts, random) {
        (Parts::Finite(number), Some((random, bits))) => format.round_stochastic(number, random, bits),
        _ => assemble(format, parts, rounding),
    }
}

/// `.ue8m0`: the exponent of the magnitude.
fn power_of_two(parts: Parts, rounding: Rounding, flags: Flags) -> u64 {
    let top: u8 = if flags.has(Flags::SATFINITE) { 0xfe } else { 0xff };
    match parts {
        Parts::Nan => 0xff,
        Parts::Infinite(_) => top.into(),
        Parts::Finite(number) => {
            let leading = number.exponent + 127 - number.significand.leading_zeros() as i32;
            let exact = number.significand.is_power_of_two();
            let up = i32::from(rounding == Rounding::Up && !exact);
            let biased = leading.saturating_add(up + 127);
            if number.significand == 0 { 0 } else { biased.clamp(0, top.into()) as u64 }
        }
    }
}

/// `.s2f6`: sixty-fourths, clamped.
fn fixed(parts: Parts, rounding: Rounding) -> u64 {
    match parts {
        Parts::Nan => 0x80,
        Parts::Infinite(negative) => {
            if negative {
                0x80
            } else {
                0x7f
            }
        }
        Parts::Finite(number) => {
            let scaled = Number { exponent: number.exponent + 6, ..number };
            Int::S8.saturate(integral(scaled, rounding))
        }
    }
}

/// What a narrow value stands for.
fn widen(from: Float, x: u64) -> Parts {
    match from {
        Float::Ue8m0 if x & 0xff == 0xff => Parts::Nan,
        Float::Ue8m0 => {
            Parts::Finite(Number { negative: false, significand: 1, exponent: (x & 0xff) as i32 - 127 })
        }
        Float::S2f6 => Parts::Finite(Number { exponent: -6, ..Number::integer(Int::S8.value(x)) }),
        Float::E2m3 | Float::E3m2 => Format::of(from).parts(x & 0x3f),
        Float::E2m1 => Format::of(from).parts(x & 0xf),
        _ => Format::of(from).parts(x),
    }
}

/// One value to a narrow format, with `.relu` and `.satfinite`.
fn one(to: Float, parts: Parts, rounding: Rounding, flags: Flags, random: Random) -> u64 {
    let relu = flags.has(Flags::RELU);
    let parts = match parts {
        Parts::Infinite(true) if relu => Parts::Finite(Number::zero(false)),
        Parts::Finite(number) if relu && number.negative => Parts::Finite(Number::zero(false)),
        parts => parts,
    };
    narrow(to, parts, rounding, flags, random)
}

/// Two or four binary32 values to narrow ones side by side (see `ScalarOp::CvtPack`).
pub fn pack(to: Float, lanes: Lanes, rounding: Rounding, flags: Flags, scaled: bool, s: [u64; 4]) -> u64 {
    let scale = if scaled { s[2] } else { 0 };
    let sources = match lanes {
        Lanes::Four => [s[1] >> 32, s[1], s[0] >> 32, s[0]],
        _ => [s[1], s[0], 0, 0],
    };
    let random_bits = match (lanes, to) {
        (Lanes::Four, _) => 8,
        (_, Float::F16) => 13,
        _ => 16,
    };
    let step = 32 / lanes.count();
    (0..lanes.count()).fold(0, |result, lane| {
        let random = (rounding == Rounding::Stochastic).then_some((s[2] >> (lane * step), random_bits));
        let parts = Format::of(Float::F32).parts(sources[lane as usize]);
        let parts = if scaled { scale_by(parts, scale >> (8 * lane), -1) } else { parts };
        result | one(to, parts, rounding, flags, random) << (lane * to.lane_bits())
    })
}

/// Two narrow values side by side to two others.
pub fn repack(to: Float, from: Float, rounding: Rounding, flags: Flags, scaled: bool, s: [u64; 4]) -> u64 {
    (0..2).fold(0, |result, lane| {
        let parts = widen(from, s[0] >> (lane * from.lane_bits()));
        let direction = if matches!(to, Float::S2f6) { -1 } else { 1 };
        let parts = if scaled { scale_by(parts, s[1] >> (8 * lane), direction) } else { parts };
        result | one(to, parts, rounding, flags, None) << (lane * to.lane_bits())
    })
}

/// Times or (direction -1) divided by the power of two in a `.ue8m0`.
fn scale_by(parts: Parts, scale: u64, direction: i32) -> Parts {
    let scale = scale & 0xff;
    match parts {
        _ if scale == 0xff => Parts::Nan,
        Parts::Finite(number) => {
            let exponent = number.exponent + direction * (scale as i32 - 127);
            Parts::Finite(Number { exponent, ..number })
        }
        parts => parts,
    }
}

/// Two integers clamped and packed, a above b; with `merge` above the low bits of c.
pub fn pack_int(to: Int, merge: bool, s: [u64; 4]) -> u64 {
    let bits = to.bits();
    let packed = to.saturate(Int::S32.value(s[0])) << bits | to.saturate(Int::S32.value(s[1]));
    let rest = if merge { s[2] << (2 * bits) } else { 0 };
    (rest | packed) & 0xffff_ffff
}
