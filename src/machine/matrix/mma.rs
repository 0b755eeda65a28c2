//! Dense matrix multiply-accumulate of a warp: D = A·B + C.

use super::Column;
use super::decode;
use super::element::{Accumulator, Factor};
use super::fragment::{Fragment, Matrix, Role, Shape};
use super::round::{Rounding, fma};
use super::sum;
use crate::isa::RowMatch;

/// A multiplication: shape, types and arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mma {
    pub(super) shape: Shape,
    pub(super) a: Factor,
    pub(super) b: Factor,
    pub(super) c: Accumulator,
    pub(super) d: Accumulator,
    pub(super) arithmetic: Arithmetic,
}

/// How elements are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arithmetic {
    /// Sums of small floats, one function a way of summing.
    Wide,
    Narrow,
    Quads,
    /// A chain of fused multiply-adds.
    Double(Rounding),
    /// Exact, then reduced to 32 bits: wrapped, or clamped.
    Integer {
        saturate: bool,
    },
    /// The number of ones in the exclusive or.
    Xor,
    /// The number of ones in the conjunction.
    And,
}

/// Registers of a lane in each operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers {
    /// Of A: 1 to 8.
    pub a: usize,
    /// Of B: 1 to 4.
    pub b: usize,
    /// Of C: 2, 4 or 8.
    pub c: usize,
    /// Of D: 2, 4 or 8.
    pub d: usize,
}

impl Mma {
    /// How many registers each operand has. Those of `f64` elements have 64 bits, all others 32.
    pub fn registers(self) -> Registers {
        Registers {
            a: self.fragment_a().registers(),
            b: self.fragment_b().registers(),
            c: self.fragment_c().registers(),
            d: self.fragment_d().registers(),
        }
    }

    fn fragment_a(self) -> Fragment {
        Fragment { shape: self.shape, role: Role::A, bits: self.a.bits() }
    }

    fn fragment_b(self) -> Fragment {
        Fragment { shape: self.shape, role: Role::B, bits: self.b.bits() }
    }

    fn fragment_c(self) -> Fragment {
        Fragment { shape: self.shape, role: Role::Accumulator, bits: self.c.bits() }
    }

    fn fragment_d(self) -> Fragment {
        Fragment { shape: self.shape, role: Role::Accumulator, bits: self.d.bits() }
    }
}

/// The multiplication that `found` spells; none if it is another instruction, or one with scaled blocks,
/// which is not supported.
pub fn decode_mma(found: &RowMatch) -> Option<Mma> {
    decode::decode(found)
}

/// Computes the registers of D from those of A, B and C ([`Mma::registers`] says how many; missing ones
/// read as zeros and are not written).
///
/// Integer and bit products are exact. Doubles are a chain of fused multiply-adds in order of the summation
/// index, from C on. PTX leaves the rounding of other floats open; they are summed as an H200 does it
/// (sm_90), which is exact wherever neither the sum nor its parts need rounding.
pub fn mma(op: Mma, a: &[Column], b: &[Column], c: &[Column], d: &mut [Column]) {
    match op.arithmetic {
        Arithmetic::Wide => floats(op, sum::wide, a, b, c, d),
        Arithmetic::Narrow => floats(op, sum::narrow, a, b, c, d),
        Arithmetic::Quads => floats(op, sum::quads, a, b, c, d),
        Arithmetic::Double(rounding) => {
            let sum = |a: &[f64], b: &[f64], c| double(rounding, a, b, f64::from_bits(c)).to_bits();
            product(op, (a, f64::from_bits), (b, f64::from_bits), c, d, sum);
        }
        Arithmetic::Integer { .. } | Arithmetic::Xor | Arithmetic::And => {
            let read = |factor: Factor| move |bits| factor.integer(bits);
            let sum = |a: &[i64], b: &[i64], c| integer(op.arithmetic, a, b, c);
            product(op, (a, read(op.a)), (b, read(op.b)), c, d, sum);
        }
    }
}

/// Which bits of the registers of D are undefined when these of A, B and C are: all of an element as soon
/// as one bit is that matters in the row of A, the column of B or the element of C that it depends on.
pub fn shadow_mma(op: Mma, a: &[Column], b: &[Column], c: &[Column], d: &mut [Column]) {
    let read = |factor: Factor| move |bits| bits & factor.used() != 0;
    let undefined = |a: &[bool], b: &[bool], c| {
        let any = c != 0 || a.contains(&true) || b.contains(&true);
        if any { u64::MAX } else { 0 }
    };
    product(op, (a, read(op.a)), (b, read(op.b)), c, d, undefined);
}

/// Fills D with what `sum` makes of a row of A, a column of B and an element of C.
fn product<T: Copy>(
    op: Mma,
    (a, read_a): (&[Column], impl Fn(u64) -> T),
    (b, read_b): (&[Column], impl Fn(u64) -> T),
    c: &[Column],
    d: &mut [Column],
    sum: impl Fn(&[T], &[T], u64) -> u64,
) {
    let a: Matrix<T> = op.fragment_a().read(a, read_a);
    let b: Matrix<T> = op.fragment_b().read(b, read_b);
    let c: Matrix<u64> = op.fragment_c().read(c, |bits| bits);
    op.fragment_d().write(d, |problem, row, column| {
        sum(a.line(problem, row), b.line(problem, column), c.line(problem, row)[column])
    });
}

/// A way of summing: the type of D, a row of A, a column of B, an element of C; the element of D.
type Sum = fn(Accumulator, &[f64], &[f64], f64) -> u64;

fn floats(op: Mma, sum: Sum, a: &[Column], b: &[Column], c: &[Column], d: &mut [Column]) {
    let read = |factor: Factor| move |bits| factor.float(bits);
    product(op, (a, read(op.a)), (b, read(op.b)), c, d, |a, b, c| sum(op.d, a, b, op.c.value(c)));
}

fn double(rounding: Rounding, a: &[f64], b: &[f64], c: f64) -> f64 {
    a.iter().zip(b).fold(c, |sum, (&a, &b)| fma(rounding, a, b, sum))
}

fn integer(arithmetic: Arithmetic, a: &[i64], b: &[i64], c: u64) -> u64 {
    let term = |(a, b): (&i64, &i64)| match arithmetic {
        Arithmetic::Xor => a ^ b,
        Arithmetic::And => a & b,
        _ => a * b,
    };
    let sum = i64::from(c as u32 as i32) + a.iter().zip(b).map(term).sum::<i64>();
    let clamp = arithmetic == Arithmetic::Integer { saturate: true };
    let sum = if clamp { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) } else { sum };
    u64::from(sum as u32)
}
