//! The index formulas of PTX ISA §9.7.16.5.1 to .13, case by case as they stand there: row and column of
//! element `i` of a fragment (counted through the registers) in lane `lane`.

/// A matrix that is spread over the warp.
#[derive(Clone, Copy)]
pub struct Spread {
    pub m: usize,
    pub k: usize,
    /// Bits of an element.
    pub bits: usize,
}

pub fn a(s: Spread, lane: usize, i: usize) -> (usize, usize) {
    let (group, member) = (lane >> 2, lane % 4);
    let below = |upper: bool| if upper { group } else { group + 8 };
    match (s.m, s.k, s.bits) {
        (8, 4, 64) => (group, member),
        (8, 16, 8) => (group, member * 4 + i),
        (8, 32, 4) => (group, member * 8 + i),
        (8, 128, 1) => (group, member * 32 + i),
        (16, 4, 32 | 64) => (below(i == 0), member),
        (16, 8, 32 | 64) => (below(i == 0 || i == 2), if i < 2 { member } else { member + 4 }),
        (16, 8, 16) => (below(i < 2), member * 2 + (i & 1)),
        (16, 16, 16) => {
            (below(i < 2 || (4..6).contains(&i)), member * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
        }
        (16, 16, 64) => (below(i & 1 == 0), if i & 1 == 0 { i * 2 + member } else { i * 2 - 2 + member }),
        (16, 16, 8) => (below(i < 4), member * 4 + (i & 3)),
        (16, 32, 8) => {
            (below(i < 4 || (8..12).contains(&i)), member * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
        }
        (16, 32, 4) => (below(i < 8), member * 8 + (i & 7)),
        (16, 64, 4) => {
            (below(i < 8 || (16..24).contains(&i)), member * 8 + (i & 7) + if i < 16 { 0 } else { 32 })
        }
        (16, 128, 1) => (below(i < 32), member * 32 + (i & 31)),
        (16, 256, 1) => {
            (below(i < 32 || (64..96).contains(&i)), member * 32 + (i & 31) + if i < 64 { 0 } else { 128 })
        }
        other => panic!("no formula for {other:?}"),
    }
}

pub fn b(s: Spread, lane: usize, i: usize) -> (usize, usize) {
    let (group, member) = (lane >> 2, lane % 4);
    let row = match (s.k, s.bits) {
        (4, 32 | 64) => member,
        (8, 32 | 64) => member + if i == 0 { 0 } else { 4 },
        (8, 16) => member * 2 + i,
        (16, 16) => member * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
        (16, 64) => member + i * 4,
        (16, 8) => member * 4 + i,
        (32, 8) => member * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
        (32, 4) => member * 8 + i,
        (64, 4) => member * 8 + (i & 7) + if i < 8 { 0 } else { 32 },
        (128, 1) => member * 32 + i,
        (256, 1) => member * 32 + (i & 31) + if i < 32 { 0 } else { 128 },
        other => panic!("no formula for {other:?}"),
    };
    (row, group)
}

pub fn c(lane: usize, i: usize) -> (usize, usize) {
    let (group, member) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, member * 2 + (i & 1))
}

/// A on quad pairs.
pub fn quad_a(row_major: bool, lane: usize, i: usize) -> (usize, usize) {
    match (row_major, lane < 16) {
        (true, true) => (lane % 4, i),
        (true, false) => (lane % 4 + 4, i),
        (false, true) => (i % 4, lane % 4),
        (false, false) => (i % 4 + 4, lane % 4),
    }
}

/// B on quad pairs.
pub fn quad_b(row_major: bool, lane: usize, i: usize) -> (usize, usize) {
    match (row_major, lane < 16) {
        (true, true) => (lane % 4, i),
        (true, false) => (lane % 4, i + 4),
        (false, true) => (i, lane % 4),
        (false, false) => (i, lane % 4 + 4),
    }
}

/// C and D on quad pairs, of 16 or 32 bits.
pub fn quad_c(bits: usize, lane: usize, i: usize) -> (usize, usize) {
    if bits == 16 {
        return (if lane < 16 { lane % 4 } else { lane % 4 + 4 }, i);
    }
    let x = (lane & 0b1) + (i & 0b10);
    (if lane < 16 { x } else { x + 4 }, (i & 0b100) + (lane & 0b10) + (i & 0b1))
}

/// The product that a lane works on.
pub fn quad(lane: usize) -> usize {
    match lane {
        0..=3 | 16..=19 => 0,
        4..=7 | 20..=23 => 1,
        8..=11 | 24..=27 => 2,
        _ => 3,
    }
}
