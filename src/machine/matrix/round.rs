//! Rounding: to half precision, and the fused multiply-add of doubles in each direction.

/// A rounding direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

/// 2 to the power of `exponent`, which lies within -1022..=1023.
pub(super) fn exp2(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The exponent of `value`, a normal number: 0 for 1.0.
pub(super) fn exponent(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// `value`, a number, cut off towards zero; from 2^128 on, infinity.
pub(super) fn truncated_single(value: f64) -> f32 {
    let nearest = value as f32;
    if value.abs() >= exp2(128) || f64::from(nearest).abs() <= value.abs() {
        nearest
    } else if value > 0.0 {
        nearest.next_down()
    } else {
        nearest.next_up()
    }
}

/// The bits of the half nearest to `value`, ties to even; every NaN is 0x7fff.
pub(super) fn f16_bits(value: f64) -> u64 {
    if value.is_nan() {
        return 0x7fff;
    }
    let sign = u64::from(value.is_sign_negative()) << 15;
    let magnitude = value.abs();
    if magnitude >= 65536.0 {
        return sign | 0x7c00;
    }
    let exponent = exponent(magnitude).max(-14);
    let units = (magnitude / exp2(exponent - 10)).round_ties_even() as u64;
    // A normal number's implicit one adds 1 to the exponent field, and so does a carry.
    sign | ((((exponent + 14) as u64) << 10) + units)
}

/// `a * b + c`, rounded once.
pub(super) fn fma(rounding: Rounding, a: f64, b: f64, c: f64) -> f64 {
    let nearest = a.mul_add(b, c);
    if nearest.is_nan() {
        return nan(a, b, c);
    }
    let finite = a.is_finite() && b.is_finite() && c.is_finite();
    if rounding == Rounding::Nearest || !finite {
        return nearest;
    }
    if nearest.is_infinite() {
        return overflow(rounding, nearest);
    }
    let error = fma_error(a, b, c, nearest);
    if nearest == 0.0 && error == 0.0 {
        // Unequal zeros, and a difference of equal numbers, are -0 when rounding down.
        let same_sign = (a * b).is_sign_negative() == c.is_sign_negative();
        return if rounding == Rounding::Down && !same_sign { -0.0 } else { nearest };
    }
    // `error` is what `nearest` lacks.
    match rounding {
        Rounding::Down if error < 0.0 => nearest.next_down(),
        Rounding::Up if error > 0.0 => nearest.next_up(),
        Rounding::Zero if nearest > 0.0 && error < 0.0 => nearest.next_down(),
        Rounding::Zero if nearest < 0.0 && error > 0.0 => nearest.next_up(),
        _ => nearest,
    }
}

/// The NaN that comes of these: the first of them, made quiet, or the hardware's own.
fn nan(a: f64, b: f64, c: f64) -> f64 {
    let given = [a, b, c].into_iter().find(|value| value.is_nan());
    f64::from_bits(given.map_or(0xfff8_0000_0000_0000, |value| value.to_bits() | 1 << 51))
}

/// What an overflow to `infinity` gives.
fn overflow(rounding: Rounding, infinity: f64) -> f64 {
    let keeps = match rounding {
        Rounding::Nearest => true,
        Rounding::Zero => false,
        Rounding::Down => infinity < 0.0,
        Rounding::Up => infinity > 0.0,
    };
    if keeps { infinity } else { f64::MAX.copysign(infinity) }
}

/// The leading part of `a * b + c - nearest`, or a multiple of it: at least its sign.
fn fma_error(a: f64, b: f64, c: f64, nearest: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        return 0.0;
    }
    let (a, a_exponent) = normalized(a);
    let (b, b_exponent) = normalized(b);
    let of_product = a_exponent + b_exponent;
    let (c, of_c) = if c == 0.0 { (c, of_product) } else { normalized(c) };
    // Relative to the larger of product and C; of one far below the other's last bit only the sign matters.
    let largest = of_product.max(of_c);
    let relative = |exponent: i32| exp2((exponent - largest).max(-200));
    error_of_large(a * relative(of_product), b, c * relative(of_c), scaled(nearest, -largest))
}

/// A number but 0 as one of magnitude 1 to 2 and an exponent.
fn normalized(value: f64) -> (f64, i32) {
    let (value, shift) = if value.abs() < f64::MIN_POSITIVE { (value * exp2(64), 64) } else { (value, 0) };
    let exponent = exponent(value);
    (scaled(value, -exponent), exponent - shift)
}

/// `value` times a power of two of any size.
fn scaled(value: f64, exponent: i32) -> f64 {
    let step = exponent.clamp(-1000, 1000);
    if step == exponent { value * exp2(step) } else { scaled(value * exp2(step), exponent - step) }
}

/// The leading part of `a * b + c - nearest` where the low part of the product is a double, too (Boldo and
/// Muller, "Exact and approximated error of the FMA", 2011).
fn error_of_large(a: f64, b: f64, c: f64, nearest: f64) -> f64 {
    let product = a * b;
    let product_low = a.mul_add(b, -product);
    let (low, lowest) = two_sum(c, product_low);
    let (high, middle) = two_sum(product, low);
    let rest = (high - nearest) + middle;
    rest + lowest
}

/// A sum and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}
