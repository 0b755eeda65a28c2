//! Arithmetic on floating-point values.

use super::op::{Cmp, CompareOp, Flags, Float, FloatOp, Lanes, Property, Rounding};
use super::soft::{Format, Number, Parts};

/// `op` on each of the values side by side.
pub fn eval(op: FloatOp, ty: Float, lanes: Lanes, rounding: Rounding, flags: Flags, s: [u64; 3]) -> u64 {
    if matches!(lanes, Lanes::One) {
        return single(op, ty, rounding, flags, s);
    }
    let bits = ty.bits();
    let mask = u64::MAX >> (64 - bits);
    (0..lanes.count()).fold(0, |result, lane| {
        let at = lane * bits;
        result | (single(op, ty, rounding, flags, s.map(|x| x >> at & mask)) & mask) << at
    })
}

fn single(op: FloatOp, ty: Float, rounding: Rounding, flags: Flags, s: [u64; 3]) -> u64 {
    let format = Format::of(ty);
    let s = prepare(format, flags, s.map(|x| x & (format.sign() | (format.sign() - 1))));
    match op {
        FloatOp::Copysign => format.magnitude(s[1]) | s[0] & format.sign(),
        FloatOp::Abs => unary(ty, s[0], format.magnitude(s[0])),
        FloatOp::Neg => unary(ty, s[0], s[0] ^ format.sign()),
        FloatOp::Min | FloatOp::Max | FloatOp::Min3 | FloatOp::Max3 => extreme(op, ty, flags, s),
        _ => finish(format, flags, rounded(op, ty, rounding, flags.has(Flags::FTZ), s)),
    }
}

/// The result of an arithmetic operation; with `flush` one that is too small for a normal number is zero.
fn rounded(op: FloatOp, ty: Float, rounding: Rounding, flush: bool, s: [u64; 3]) -> u64 {
    let format = Format::of(ty);
    let native = match (ty, rounding) {
        (Float::F32, Rounding::Nearest) => f32_nearest(op, s.map(|x| x as u32)),
        (Float::F64, Rounding::Nearest) => f64_nearest(op, s),
        _ => return soft(op, ty, rounding, flush, s),
    };
    // The least normal number may have been rounded up from below.
    let doubtful = flush && format.magnitude(native) == format.least_normal();
    if doubtful { soft(op, ty, rounding, flush, s) } else { native }
}

/// Flushes the sources if asked to.
fn prepare(format: Format, flags: Flags, s: [u64; 3]) -> [u64; 3] {
    if flags.has(Flags::FTZ) { s.map(|x| format.flush(x)) } else { s }
}

/// Flushes and clamps a result as asked to.
pub fn finish(format: Format, flags: Flags, result: u64) -> u64 {
    if flags.0 == 0 {
        return result;
    }
    let result = if flags.has(Flags::FTZ) { format.flush(result) } else { result };
    let negative = result & format.sign() != 0;
    let nan = format.is_nan(result);
    if flags.has(Flags::SAT) {
        return if nan || negative { 0 } else { result.min(format.one()) };
    }
    if flags.has(Flags::RELU) && negative && !nan { 0 } else { result }
}

/// |a| and -a: a NaN is made quiet in binary64 and keeps its sign, elsewhere it becomes the usual one.
fn unary(ty: Float, source: u64, result: u64) -> u64 {
    let format = Format::of(ty);
    match format.is_nan(source) {
        true if ty == Float::F64 => source | QUIET,
        true => format.nan(),
        false => result,
    }
}

/// The bit that tells a quiet binary64 NaN from a signalling one.
pub const QUIET: u64 = 1 << 51;

fn f32_nearest(op: FloatOp, s: [u32; 3]) -> u64 {
    let [a, b, c] = s.map(f32::from_bits);
    let result = match op {
        FloatOp::Add => a + b,
        FloatOp::Sub => a - b,
        FloatOp::Mul => a * b,
        FloatOp::Fma => fused(a, b, c),
        FloatOp::Div => a / b,
        FloatOp::Rcp => 1.0 / a,
        _ => a.sqrt(),
    };
    if result.is_nan() { Format::of(Float::F32).nan() } else { result.to_bits().into() }
}

/// `a·b + c`, rounded once: the product is exact in binary64, and a sum rounded to odd there can be
/// rounded again without harm.
fn fused(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let virtual_c = sum - product;
    let error = (product - (sum - virtual_c)) + (c - virtual_c);
    if error == 0.0 || !error.is_finite() || sum.to_bits() & 1 == 1 {
        return sum as f32;
    }
    // The exact sum lies next to `sum`, on the side that `error` tells.
    let outwards = (error > 0.0) == (sum > 0.0);
    let bits = if outwards { sum.to_bits() + 1 } else { sum.to_bits() - 1 };
    f64::from_bits(bits) as f32
}

fn f64_nearest(op: FloatOp, s: [u64; 3]) -> u64 {
    let [a, b, c] = s.map(f64::from_bits);
    let result = match op {
        FloatOp::Add => a + b,
        FloatOp::Sub => a - b,
        FloatOp::Mul => a * b,
        FloatOp::Fma => a.mul_add(b, c),
        FloatOp::Div => a / b,
        FloatOp::Rcp => 1.0 / a,
        _ => a.sqrt(),
    };
    if result.is_nan() { propagated(op, s) } else { result.to_bits() }
}

/// The NaN that a binary64 operation gives, made quiet: that of b before those of c and a (a division takes
/// a's first), or the one for invalid operations.
fn propagated(op: FloatOp, [a, b, c]: [u64; 3]) -> u64 {
    let format = Format::of(Float::F64);
    let order = match op {
        FloatOp::Div => [a, b, b],
        FloatOp::Fma => [b, c, a],
        FloatOp::Rcp | FloatOp::Sqrt => [a, a, a],
        _ => [b, a, a],
    };
    order.into_iter().find(|&x| format.is_nan(x)).map_or(format.nan(), |x| x | QUIET)
}

/// Any operation, format and rounding.
pub fn soft(op: FloatOp, ty: Float, rounding: Rounding, flush: bool, s: [u64; 3]) -> u64 {
    let format = Format::of(ty);
    match exact(op, s.map(|x| format.parts(x)), rounding) {
        None if ty == Float::F64 => propagated(op, s),
        None => format.nan(),
        Some(Parts::Finite(number)) if flush && number.below(format, rounding) => {
            if number.negative {
                format.sign()
            } else {
                0
            }
        }
        Some(parts) => assemble(format, parts, rounding),
    }
}

/// The bits for `parts`.
pub fn assemble(format: Format, parts: Parts, rounding: Rounding) -> u64 {
    match parts {
        Parts::Nan => format.nan(),
        Parts::Infinite(negative) => format.infinity() | if negative { format.sign() } else { 0 },
        Parts::Finite(number) => format.round(number, rounding),
    }
}

/// The result before rounding; `None`: NaN.
fn exact(op: FloatOp, [a, b, c]: [Parts; 3], rounding: Rounding) -> Option<Parts> {
    let one = Parts::Finite(Number::integer(1));
    match op {
        FloatOp::Add => sum(a, b, rounding),
        FloatOp::Sub => sum(a, negated(b), rounding),
        FloatOp::Mul => product(a, b),
        FloatOp::Fma => sum(product(a, b)?, c, rounding),
        FloatOp::Div => quotient(a, b),
        FloatOp::Rcp => quotient(one, a),
        FloatOp::Sqrt => root(a),
        _ => None,
    }
}

fn negated(x: Parts) -> Parts {
    match x {
        Parts::Nan => Parts::Nan,
        Parts::Infinite(negative) => Parts::Infinite(!negative),
        Parts::Finite(number) => Parts::Finite(Number { negative: !number.negative, ..number }),
    }
}

fn negative(x: Parts) -> bool {
    matches!(x, Parts::Infinite(true) | Parts::Finite(Number { negative: true, .. }))
}

fn sum(a: Parts, b: Parts, rounding: Rounding) -> Option<Parts> {
    match (a, b) {
        (Parts::Nan, _) | (_, Parts::Nan) => None,
        (Parts::Infinite(x), Parts::Infinite(y)) if x != y => None,
        (Parts::Infinite(_), _) => Some(a),
        (_, Parts::Infinite(_)) => Some(b),
        (Parts::Finite(x), Parts::Finite(y)) => Some(Parts::Finite(x.plus(y, rounding))),
    }
}

fn product(a: Parts, b: Parts) -> Option<Parts> {
    match (a, b) {
        (Parts::Nan, _) | (_, Parts::Nan) => None,
        (Parts::Finite(x), Parts::Finite(y)) => Some(Parts::Finite(x.times(y))),
        (Parts::Finite(x), _) | (_, Parts::Finite(x)) if x.significand == 0 => None,
        _ => Some(Parts::Infinite(negative(a) != negative(b))),
    }
}

fn quotient(a: Parts, b: Parts) -> Option<Parts> {
    let sign = negative(a) != negative(b);
    match (a, b) {
        (Parts::Nan, _) | (_, Parts::Nan) | (Parts::Infinite(_), Parts::Infinite(_)) => None,
        (Parts::Infinite(_), _) => Some(Parts::Infinite(sign)),
        (_, Parts::Infinite(_)) => Some(Parts::Finite(Number::zero(sign))),
        (Parts::Finite(x), Parts::Finite(y)) => match (x.significand, y.significand) {
            (0, 0) => None,
            (_, 0) => Some(Parts::Infinite(sign)),
            _ => Some(Parts::Finite(x.over(y))),
        },
    }
}

fn root(a: Parts) -> Option<Parts> {
    match a {
        Parts::Finite(x) if x.significand == 0 || !x.negative => Some(Parts::Finite(x.root())),
        Parts::Infinite(false) => Some(a),
        _ => None,
    }
}

/// The smallest or largest of two or three values.
fn extreme(op: FloatOp, ty: Float, flags: Flags, s: [u64; 3]) -> u64 {
    let smallest = matches!(op, FloatOp::Min | FloatOp::Min3);
    let format = Format::of(ty);
    let magnitudes = flags.has(Flags::ABS) || flags.has(Flags::XORSIGN_ABS);
    let key = |x: u64| if magnitudes { format.magnitude(x) } else { x };
    let two = |a, b| extreme_of_two(format, smallest, flags.has(Flags::NAN), a, b);
    let result = two(key(s[0]), key(s[1]));
    let result = if op.sources() == 3 { two(result, key(s[2])) } else { result };
    if flags.has(Flags::XORSIGN_ABS) && !format.is_nan(result) {
        return result | (s[0] ^ s[1]) & format.sign();
    }
    result
}

fn extreme_of_two(format: Format, smallest: bool, nan_wins: bool, a: u64, b: u64) -> u64 {
    match (format.is_nan(a), format.is_nan(b)) {
        (true, true) if format.nan() & format.sign() != 0 => b | QUIET,
        (true, true) => format.nan(),
        (true, false) | (false, true) if nan_wins => format.nan(),
        (true, false) => b,
        (false, true) => a,
        (false, false) if (order(format, a) < order(format, b)) == smallest => a,
        (false, false) => b,
    }
}

/// Numbers in their order as integers; -0 comes before +0.
fn order(format: Format, bits: u64) -> i64 {
    let magnitude = format.magnitude(bits) as i64;
    if bits & format.sign() == 0 { magnitude } else { -1 - magnitude }
}

/// Sum, difference or fused product of 16-bit values with binary32, in binary32.
pub fn mixed(op: FloatOp, ty: Float, rounding: Rounding, flags: Flags, s: [u64; 3]) -> u64 {
    let narrow = if op == FloatOp::Fma { 2 } else { 1 };
    let mut wide = s;
    for x in &mut wide[..narrow] {
        *x = assemble(Format::of(Float::F32), Format::of(ty).parts(*x), Rounding::Nearest);
    }
    single(op, Float::F32, rounding, flags, wide)
}

/// Whether `x` has the property.
pub fn test(property: Property, ty: Float, x: u64) -> bool {
    let format = Format::of(ty);
    let magnitude = format.magnitude(x);
    match property {
        Property::Finite => magnitude < format.infinity(),
        Property::Infinite => magnitude == format.infinity(),
        Property::Number => !format.is_nan(x),
        Property::NotANumber => format.is_nan(x),
        Property::Normal => magnitude == 0 || (format.least_normal()..format.infinity()).contains(&magnitude),
        Property::Subnormal => magnitude != 0 && magnitude < format.least_normal(),
    }
}

/// Whether the comparison of floating-point values holds.
pub fn compare(cmp: Cmp, ty: Float, ftz: bool, a: u64, b: u64) -> bool {
    let format = Format::of(ty);
    let [a, b] = [a, b].map(|x| if ftz { format.flush(x) } else { x });
    if format.is_nan(a) || format.is_nan(b) {
        return matches!(cmp, Cmp::Equ | Cmp::Neu | Cmp::Ltu | Cmp::Leu | Cmp::Gtu | Cmp::Geu | Cmp::Nan);
    }
    // Both zeros count as +0.
    let [a, b] = [a, b].map(|x| order(format, if format.magnitude(x) == 0 { 0 } else { x }));
    match cmp {
        Cmp::Eq | Cmp::Equ => a == b,
        Cmp::Ne | Cmp::Neu => a != b,
        Cmp::Lt | Cmp::Ltu => a < b,
        Cmp::Le | Cmp::Leu => a <= b,
        Cmp::Gt | Cmp::Gtu => a > b,
        Cmp::Ge | Cmp::Geu => a >= b,
        Cmp::Num => true,
        Cmp::Nan => false,
    }
}

/// The raw comparison; for packed values of the lower and the upper half, else twice the same.
pub fn compare_op(op: CompareOp, a: u64, b: u64) -> (bool, bool) {
    match op {
        CompareOp::Int(cmp, ty) => {
            let holds = super::integer::compare(cmp, ty, a, b);
            (holds, holds)
        }
        CompareOp::Float(cmp, ty, ftz) => {
            let holds = compare(cmp, ty, ftz, a, b);
            (holds, holds)
        }
        CompareOp::Packed(cmp, ty, ftz) => {
            (compare(cmp, ty, ftz, a, b), compare(cmp, ty, ftz, a >> 16, b >> 16))
        }
    }
}
