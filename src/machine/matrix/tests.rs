//! The matrix instructions against the index formulas of the manual, a plain matrix product, and results
//! of an H200.

mod hardware;
mod manual;
mod product;
mod rounding;
mod transfer;

use smallvec::SmallVec;

use crate::isa::table::{Length, Shape};
use crate::isa::{Needs, OPS, RowMatch};

/// Every spelling of every row of the instruction `name`.
fn spellings(name: &str) -> Vec<RowMatch> {
    let op = OPS.iter().find(|op| op.name == name).expect("an instruction of the table");
    op.rows
        .iter()
        .flat_map(|row| {
            let mut all: Vec<SmallVec<[u8; 16]>> = vec![SmallVec::new()];
            for slot in row.slots {
                let first = if slot.optional { 0 } else { 1 };
                let choices = first..=slot.alternatives.len() as u8;
                let longer = |chosen: SmallVec<[u8; 16]>| {
                    choices.clone().map(move |choice| chosen.iter().copied().chain([choice]).collect())
                };
                all = all.into_iter().flat_map(longer).collect();
            }
            all.into_iter().map(move |chosen| RowMatch { row, chosen, needs: Needs::NONE })
        })
        .collect()
}

/// The modifiers of a spelling, joined.
fn text(found: &RowMatch) -> String {
    found.meanings().map(|modifier| modifier.text()).collect()
}

/// The number of registers in each vector operand of a row, as it is spelled.
fn vector_lengths(found: &RowMatch) -> Vec<usize> {
    let lengths = found.row.operands.iter().filter_map(|operand| match operand.shape {
        Shape::Vector(_, Length::Fixed(n)) => Some(usize::from(n)),
        Shape::Vector(_, Length::Slot(slot, less)) => {
            let number = found.meaning(usize::from(slot)).and_then(|m| m.number());
            number.map(|n| n as usize - usize::from(less))
        }
        _ => None,
    });
    lengths.collect()
}

/// A small generator of test data (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// One of `low..=high`.
    fn within(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() >> 16) as i64 % (high - low + 1)
    }
}
