//! Compares memory with what was expected.

use super::Expect;
use super::float;
use super::render::{bits_of, text};
use crate::types::TypeClass;

/// So many differences are told one by one.
const MOST_TOLD: usize = 5;

/// How memory differs from an expectation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Differences {
    /// How many elements differ.
    pub count: u64,
    /// How many were compared.
    pub total: u64,
    /// The first few.
    pub first: Vec<Difference>,
}

/// One element that is not what was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its index in the buffer.
    pub index: u64,
    /// What was expected, as in `7 (0x00000007)`.
    pub expected: String,
    /// What is there, likewise; `nothing` behind the end of memory.
    pub actual: String,
}

impl Differences {
    /// Whether memory is as expected.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Expect {
    /// How `actual`, the bytes of the buffer, differs from what is expected.
    pub fn differences(&self, actual: &[u8]) -> Differences {
        let size = self.element.bytes() as usize;
        let mut found = Differences { total: (self.bytes.len() / size) as u64, ..Differences::default() };
        if self.bytes == actual {
            return found;
        }
        let mut there = actual.chunks_exact(size);
        for (index, expected) in self.bytes.chunks_exact(size).enumerate() {
            let (expected, actual) = (bits_of(expected), there.next().map(bits_of));
            if actual.is_some_and(|actual| self.agree(expected, actual)) {
                continue;
            }
            found.count += 1;
            if found.first.len() < MOST_TOLD {
                found.first.push(Difference {
                    index: index as u64,
                    expected: self.both(expected),
                    actual: actual.map_or("nothing".into(), |actual| self.both(actual)),
                });
            }
        }
        found
    }

    fn agree(&self, expected: u64, actual: u64) -> bool {
        let Some(tolerance) = self.tolerance.filter(|_| self.element.class() == TypeClass::Float) else {
            return expected == actual;
        };
        let (expected, actual) =
            (float::from_bits(expected, self.element), float::from_bits(actual, self.element));
        if expected.is_nan() || actual.is_nan() {
            return expected.is_nan() && actual.is_nan();
        }
        // Infinities are equal or infinitely far from everything else.
        let apart = (expected - actual).abs();
        expected == actual
            || (apart.is_finite() && (apart <= tolerance || apart <= tolerance * expected.abs()))
    }

    fn both(&self, bits: u64) -> String {
        let digits = self.element.bytes() as usize * 2;
        format!("{} (0x{bits:0digits$x})", text(bits, self.element))
    }
}
