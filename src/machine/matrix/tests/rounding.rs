//! The roundings against integers.

use super::super::element::Format;
use super::super::round::{Rounding, f16_bits, fma};
use super::Random;

const ALL: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];

#[test]
fn every_half_survives_and_halfway_goes_to_even() {
    for bits in (0..0x7c00_u64).flat_map(|bits| [bits, bits | 0x8000]) {
        let value = Format::F16.value(bits);
        assert_eq!(f16_bits(value), bits, "{bits:x}");
        let next =
            if bits & 0x7fff == 0x7bff { 65536_f64.copysign(value) } else { Format::F16.value(bits + 1) };
        let even = bits + (bits & 1);
        let halfway = value + (next - value) / 2.0;
        assert_eq!(f16_bits(halfway), even, "{bits:x}");
        assert_eq!(f16_bits(halfway - halfway * 1e-9), bits, "{bits:x}");
        assert_eq!(f16_bits(halfway + halfway * 1e-9), bits + 1, "{bits:x}");
    }
    assert_eq!(f16_bits(f64::NAN), 0x7fff);
    assert_eq!(f16_bits(f64::NEG_INFINITY), 0xfc00);
    assert_eq!(f16_bits(1e300), 0x7c00);
    assert_eq!(f16_bits(-1e-300), 0x8000);
}

/// `value` as a double, rounded by integer arithmetic.
fn rounded(rounding: Rounding, value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let excess = (128 - magnitude.leading_zeros()).saturating_sub(53);
    let (kept, rest) = (magnitude >> excess, magnitude & ((1 << excess) - 1));
    let half = (1_u128 << excess) / 2;
    let up = match rounding {
        Rounding::Nearest => rest > half || (rest == half && excess > 0 && kept & 1 == 1),
        Rounding::Zero => false,
        Rounding::Down => rest != 0 && value < 0,
        Rounding::Up => rest != 0 && value > 0,
    };
    let result = (kept + u128::from(up)) as f64 * 2_f64.powi(excess as i32);
    if value < 0 { -result } else { result }
}

#[test]
fn fused_multiply_add_rounds_in_each_direction() {
    let mut random = Random(4242);
    for _ in 0..200_000 {
        let mut number = |most: i64| {
            let width = random.within(1, most);
            let value = (random.next() >> (64 - width)) as i64;
            if random.next() >> 63 == 1 { -value } else { value }
        };
        let (a, b, c) = (number(53), number(53), number(53));
        let shift = random.within(0, 60);
        let exact = i128::from(a) * i128::from(b) + (i128::from(c) << shift);
        for rounding in ALL {
            let c = c as f64 * 2_f64.powi(shift as i32);
            let expected = rounded(rounding, exact);
            if exact != 0 {
                assert_eq!(fma(rounding, a as f64, b as f64, c), expected, "{rounding:?} {a} {b} {c}");
            }
        }
    }
}

#[test]
fn zeros_and_overflows_follow_the_direction() {
    let bits = |rounding, a: f64, b: f64, c: f64| fma(rounding, a, b, c).to_bits();
    for rounding in ALL {
        let difference = if rounding == Rounding::Down { -0.0_f64 } else { 0.0 };
        assert_eq!(bits(rounding, 2.0, 3.0, -6.0), difference.to_bits(), "{rounding:?}");
        assert_eq!(bits(rounding, -0.0, 3.0, 0.0), difference.to_bits(), "{rounding:?}");
        assert_eq!(bits(rounding, -0.0, 3.0, -0.0), (-0.0_f64).to_bits(), "{rounding:?}");
        assert_eq!(bits(rounding, 0.0, 3.0, 0.0), 0, "{rounding:?}");
        assert_eq!(bits(rounding, f64::INFINITY, 1.0, 1.0), f64::INFINITY.to_bits(), "{rounding:?}");
    }
    let signalling = f64::from_bits(0x7ff0_0000_0000_0001);
    assert_eq!(bits(Rounding::Nearest, 1.0, 1.0, signalling), 0x7ff8_0000_0000_0001);
    assert_eq!(bits(Rounding::Up, f64::INFINITY, 0.0, 1.0), 0xfff8_0000_0000_0000);
    let (largest, infinity) = (f64::MAX, f64::INFINITY);
    let high = [infinity, largest, largest, infinity];
    let low = [-infinity, -largest, -infinity, -largest];
    for (index, rounding) in ALL.into_iter().enumerate() {
        assert_eq!(fma(rounding, largest, 2.0, 0.0), high[index], "{rounding:?}");
        assert_eq!(fma(rounding, -largest, 2.0, 0.0), low[index], "{rounding:?}");
    }
}

#[test]
fn small_formats_have_their_limits() {
    let value = |format: Format, bits| format.value(bits);
    assert_eq!(value(Format::E4M3, 0x7e), 448.0);
    assert!(value(Format::E4M3, 0x7f).is_nan() && value(Format::E4M3, 0xff).is_nan());
    assert_eq!(value(Format::E4M3, 0x01), 2_f64.powi(-9));
    assert_eq!(value(Format::E5M2, 0x7b), 57344.0);
    assert_eq!(value(Format::E5M2, 0xfc), f64::NEG_INFINITY);
    assert!(value(Format::E5M2, 0x7d).is_nan());
    assert_eq!(value(Format::E3M2, 0x1f), 28.0);
    assert_eq!(value(Format::E3M2, 0x21), -0.0625);
    assert_eq!(value(Format::E2M3, 0x1f), 7.5);
    assert_eq!(value(Format::E2M3, 0x01), 0.125);
    assert_eq!(value(Format::E2M1, 0x1c), 6.0);
    assert_eq!(value(Format::E2M1, 0x04), 0.5);
    assert_eq!(value(Format::TF32, 0x3f80_1fff), 1.0);
    assert_eq!(value(Format::TF32, 0x3f80_2000), 1.0 + 2_f64.powi(-10));
    assert_eq!(value(Format::BF16, 0x0001), 2_f64.powi(-133));
    assert_eq!(value(Format::F16, 0x7bff), 65504.0);
}
