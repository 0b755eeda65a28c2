//! How the hardware sums the products of small floats. PTX leaves order and rounding open; this is what an
//! H200 (sm_90) does, bit for bit in all that was measured.

use super::element::Accumulator;
use super::round::{exp2, exponent};

/// Bits below the leading bit of the largest term that tensor cores keep of every term.
const KEPT: i32 = 25;

/// The sum of `c` and the products of `a` and `b` as tensor cores form it: each term is cut off (towards
/// zero) at a multiple of one unit, then the terms are summed exactly. Exact wherever no term has bits
/// below 2^-25 of the largest.
pub(super) fn tensor(terms: impl Iterator<Item = (f64, f64)> + Clone, c: f64) -> f64 {
    let products = || terms.clone().map(|(a, b)| a * b);
    let plain = products().fold(c, |sum, product| sum + product);
    if !plain.is_finite() {
        return plain;
    }
    // A product counts as large as the exponents of its factors say, 1.5·1.5 like 1.
    let of_products = terms.clone().filter(|(a, b)| a * b != 0.0).map(|(a, b)| exponent(a) + exponent(b));
    // C counts with its exponent field, so a subnormal single like the smallest normal one.
    let of_c = (c != 0.0).then(|| exponent(c).max(-126));
    let Some(largest) = of_products.chain(of_c).max() else { return 0.0 };
    let scale = exp2(KEPT - largest);
    let cut = |term: f64| (term * scale).trunc();
    products().fold(cut(c) + 0.0, |sum, product| sum + cut(product)) / scale
}

/// One element of D from a row of A, a column of B and an element of C, types of 16 bits or more.
pub(super) fn wide(d: Accumulator, a: &[f64], b: &[f64], c: f64) -> u64 {
    d.stored(tensor(a.iter().copied().zip(b.iter().copied()), c))
}

/// The same for types of at most 8 bits, which sm_90 widens to halves: the first two of each four products
/// are summed, then the last two onto them, then C is added and rounded to nearest.
pub(super) fn narrow(d: Accumulator, a: &[f64], b: &[f64], c: f64) -> u64 {
    let terms = a.iter().copied().zip(b.iter().copied()).enumerate();
    let part = |first: bool| {
        let chosen = terms.clone().filter(move |(i, _)| (i % 4 < 2) == first);
        chosen.map(|(_, term)| term)
    };
    let first = d.value(d.stored(tensor(part(true), 0.0)));
    let both = d.value(d.stored(tensor(part(false), first)));
    d.nearest(both + c)
}

/// The same for products on quad pairs, which sm_90 computes without tensor cores: a chain of fused
/// multiply-adds of singles, to which C is added last where D is single.
pub(super) fn quads(d: Accumulator, a: &[f64], b: &[f64], c: f64) -> u64 {
    let c = c as f32;
    let chain = |start: f32| a.iter().zip(b).fold(start, |sum, (&a, &b)| (a as f32).mul_add(b as f32, sum));
    let sum = if d == Accumulator::F16 { chain(c) } else { chain(0.0) + c };
    d.nearest(f64::from(sum))
}
