//! Functions that the chip approximates: computed in binary64 and rounded once.

use super::float::finish;
use super::op::{Approximation, Flags, Float, Lanes, Rounding};
use super::soft::{Format, Parts};

/// The function of each of the values side by side.
pub fn eval(function: Approximation, ty: Float, lanes: Lanes, flags: Flags, s: [u64; 2]) -> u64 {
    let bits = ty.bits();
    let mask = u64::MAX >> (64 - bits);
    (0..lanes.count()).fold(0, |result, lane| {
        let at = lane * bits % 64;
        result | single(function, ty, flags, s.map(|x| x >> at & mask)) << at
    })
}

fn single(function: Approximation, ty: Float, flags: Flags, s: [u64; 2]) -> u64 {
    let format = Format::of(ty);
    let [a, b] = s.map(|x| widen(format, if flags.has(Flags::FTZ) { format.flush(x) } else { x }));
    let result = function_of(function, a, b);
    if result.is_nan() {
        return if ty == Float::F64 { 0x7fff_ffff_0000_0000 } else { format.nan() };
    }
    let rounded = match Format::of(Float::F64).parts(result.to_bits()) {
        Parts::Finite(number) => format.round(number, Rounding::Nearest),
        _ => format.infinity() | if result < 0.0 { format.sign() } else { 0 },
    };
    let rounded = finish(format, flags, rounded);
    // The binary64 forms work on the upper word alone.
    if ty == Float::F64 { rounded & 0xffff_ffff_0000_0000 } else { rounded }
}

/// The exact value in binary64.
fn widen(format: Format, bits: u64) -> f64 {
    let sign = if bits & format.sign() != 0 { -1.0 } else { 1.0 };
    match format.parts(bits) {
        Parts::Nan => f64::NAN,
        Parts::Infinite(_) => sign * f64::INFINITY,
        Parts::Finite(number) => f64::from_bits(Format::of(Float::F64).round(number, Rounding::Nearest)),
    }
}

fn function_of(function: Approximation, a: f64, b: f64) -> f64 {
    match function {
        Approximation::Div => a / b,
        Approximation::Rcp | Approximation::Rcp64 => 1.0 / a,
        Approximation::Sqrt => a.sqrt(),
        Approximation::Rsqrt | Approximation::Rsqrt64 => 1.0 / a.sqrt(),
        Approximation::Sin => a.sin(),
        Approximation::Cos => a.cos(),
        Approximation::Sin2Pi => (a.rem_euclid(1.0) * std::f64::consts::TAU).sin(),
        Approximation::Cos2Pi => (a.rem_euclid(1.0) * std::f64::consts::TAU).cos(),
        Approximation::Lg2 => a.log2(),
        Approximation::Ex2 => a.exp2(),
        Approximation::Tanh => a.tanh(),
    }
}
