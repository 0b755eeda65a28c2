//! Every spelling of the multiplication against a plain product of matrices of small integers.

use super::super::{Column, LANES, decode_mma, mma, shadow_mma};
use super::manual::{self, Spread};
use super::{Random, spellings, text, vector_lengths};
use crate::isa::RowMatch;

/// What the words of a spelling say, read without the code under test.
pub(super) struct Case {
    pub(super) spelling: String,
    spread: Spread,
    row_major: Option<(bool, bool)>,
    pub(super) types: [&'static str; 4],
    pub(super) lengths: Vec<usize>,
}

const TYPES: &[(&str, usize)] = &[
    (".f16", 16),
    (".bf16", 16),
    (".tf32", 32),
    (".f32", 32),
    (".f64", 64),
    (".s32", 32),
    (".u8", 8),
    (".s8", 8),
    (".u4", 4),
    (".s4", 4),
    (".b1", 1),
    (".e4m3", 8),
    (".e5m2", 8),
    (".e3m2", 8),
    (".e2m3", 8),
    (".e2m1", 8),
];

fn bits(ty: &str) -> usize {
    TYPES.iter().find(|(name, _)| *name == ty).expect("a type").1
}

impl Case {
    fn new(found: &RowMatch) -> Case {
        let words: Vec<&'static str> = found.meanings().map(|m| m.text()).collect();
        let known = |word: &&'static str| TYPES.iter().any(|(name, _)| name == word);
        let types: Vec<&'static str> = words.iter().copied().filter(known).collect();
        let types: [&str; 4] = types.try_into().expect("four types");
        let shape = words.iter().find(|word| word.starts_with(".m")).expect("a shape");
        let (m, k) = shape[2..].split_once("n8k").expect("8 columns");
        let (m, k) = (m.parse().expect("rows"), k.parse().expect("summands"));
        let orders: Vec<bool> =
            words.iter().filter(|w| [".row", ".col"].contains(w)).map(|w| *w == ".row").collect();
        let quads = (m, k) == (8, 4) && types[1] == ".f16";
        Case {
            spelling: text(found),
            spread: Spread { m, k, bits: bits(types[1]) },
            row_major: quads.then_some((orders[0], orders[1])),
            types,
            lengths: vector_lengths(found),
        }
    }

    fn problems(&self) -> usize {
        if self.row_major.is_some() { 4 } else { 1 }
    }

    fn place(&self, operand: usize, lane: usize, i: usize) -> (usize, usize, usize) {
        let (row, column) = match (operand, self.row_major) {
            (1, None) => manual::a(self.spread, lane, i),
            (2, None) => manual::b(self.spread, lane, i),
            (_, None) => manual::c(lane, i),
            (1, Some((order, _))) => manual::quad_a(order, lane, i),
            (2, Some((_, order))) => manual::quad_b(order, lane, i),
            (_, Some(_)) => manual::quad_c(bits(self.types[operand]), lane, i),
        };
        (if self.row_major.is_some() { manual::quad(lane) } else { 0 }, row, column)
    }

    /// The registers of an operand (in the order of the types: d, a, b, c) whose elements are given.
    fn fragment(&self, operand: usize, element: impl Fn(usize, usize, usize) -> u64) -> Vec<Column> {
        let bits = bits(self.types[operand]);
        let per_register = (32 / bits).max(1);
        let register = |r: usize| {
            std::array::from_fn(|lane| {
                (0..per_register).fold(0, |value, slot| {
                    let (problem, row, column) = self.place(operand, lane, r * per_register + slot);
                    value | element(problem, row, column) << (slot * bits)
                })
            })
        };
        (0..self.lengths[operand]).map(register).collect()
    }

    fn term(&self, a: i64, b: i64) -> i64 {
        match self.types[1] {
            ".b1" if self.spelling.contains(".and") => a & b,
            ".b1" => a ^ b,
            _ => a * b,
        }
    }
}

/// Integers in `low..=high` for a type.
fn range(ty: &str) -> (i64, i64) {
    match ty {
        ".b1" => (0, 1),
        ".u8" => (0, 255),
        ".u4" => (0, 15),
        ".s8" => (-128, 127),
        ".s4" => (-8, 7),
        _ => (-3, 3),
    }
}

/// The float of `exponent` and `fraction` bits that is the integer `value`.
fn small_float(value: i64, exponent: u32, fraction: u32) -> u64 {
    let magnitude = value.unsigned_abs();
    let sign = u64::from(value < 0) << (exponent + fraction);
    if magnitude == 0 {
        return 0;
    }
    let top = magnitude.ilog2();
    let bias = (1 << (exponent - 1)) - 1;
    assert!(magnitude << fraction >> top << top == magnitude << fraction, "{value} has too many bits");
    sign | u64::from(top + bias) << fraction | ((magnitude << fraction >> top) - (1 << fraction))
}

fn encode(ty: &str, value: i64) -> u64 {
    match ty {
        ".f16" => small_float(value, 5, 10),
        ".bf16" => small_float(value, 8, 7),
        ".tf32" | ".f32" => u64::from((value as f32).to_bits()),
        ".f64" => (value as f64).to_bits(),
        ".e4m3" => small_float(value, 4, 3),
        ".e5m2" => small_float(value, 5, 2),
        ".e3m2" => small_float(value, 3, 2),
        ".e2m3" => small_float(value, 2, 3),
        ".e2m1" => small_float(value, 2, 1) << 2,
        _ => value as u64 & (u64::MAX >> (64 - bits(ty))),
    }
}

/// Neither scaled blocks nor a sparse matrix.
fn is_plain(found: &RowMatch) -> bool {
    !text(found).contains("block_scale") && !text(found).contains(".sp")
}

/// Every dense spelling that has a meaning here.
pub(super) fn cases() -> Vec<(RowMatch, Case)> {
    let all = spellings("mma").into_iter().filter(is_plain);
    all.map(|found| (found.clone(), Case::new(&found))).collect()
}

#[test]
fn every_dense_spelling_decodes_with_the_registers_of_its_row() {
    let cases = cases();
    assert!(cases.len() > 150, "only {} spellings", cases.len());
    for (found, case) in cases {
        let registers = decode_mma(&found).unwrap_or_else(|| panic!("{}", case.spelling)).registers();
        let counts = [registers.d, registers.a, registers.b, registers.c];
        assert_eq!(counts.as_slice(), case.lengths, "{}", case.spelling);
    }
}

#[test]
fn scaled_blocks_and_other_instructions_do_not_decode() {
    let scaled = spellings("mma").into_iter().filter(|found| !is_plain(found));
    let others = ["ldmatrix", "stmatrix", "movmatrix"].into_iter().flat_map(spellings);
    for found in scaled.chain(others) {
        assert_eq!(decode_mma(&found), None, "{}", text(&found));
    }
}

#[test]
fn every_shape_and_type_gives_the_product() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (found, case) in cases() {
        let op = decode_mma(&found).expect("a dense spelling");
        let Spread { m, k, .. } = case.spread;
        let mut matrix = |ty: &str, rows: usize, columns: usize| -> Vec<Vec<Vec<i64>>> {
            let (low, high) = range(ty);
            let mut line = || (0..columns).map(|_| random.within(low, high)).collect();
            let mut one = || (0..rows).map(|_| line()).collect();
            (0..case.problems()).map(|_| one()).collect()
        };
        let a = matrix(case.types[1], m, k);
        let b = matrix(case.types[2], k, 8);
        let c = matrix(".c", m, 8);
        let registers_a = case.fragment(1, |p, row, column| encode(case.types[1], a[p][row][column]));
        let registers_b = case.fragment(2, |p, row, column| encode(case.types[2], b[p][row][column]));
        let registers_c = case.fragment(3, |p, row, column| encode(case.types[3], c[p][row][column]));
        let expected = case.fragment(0, |p, row, column| {
            let terms = (0..k).map(|i| case.term(a[p][row][i], b[p][i][column]));
            encode(case.types[0], c[p][row][column] + terms.sum::<i64>())
        });
        let mut d = vec![[u64::MAX; LANES]; case.lengths[0]];
        mma(op, &registers_a, &registers_b, &registers_c, &mut d);
        if case.spelling.contains(".rm") {
            // Sums that cancel are -0 when rounding down.
            d.iter_mut().flatten().filter(|bits| **bits == 1 << 63).for_each(|bits| *bits = 0);
        }
        assert!(d == expected, "{}: {d:x?}\nexpected {expected:x?}", case.spelling);
    }
}

#[test]
fn an_undefined_element_spoils_its_row_column_or_element() {
    let mut random = Random(77);
    for (found, case) in cases() {
        let op = decode_mma(&found).expect("a dense spelling");
        let Spread { m, k, .. } = case.spread;
        let problem = random.within(0, case.problems() as i64 - 1) as usize;
        let (row, column) = (random.within(0, m as i64 - 1) as usize, random.within(0, 7) as usize);
        let summand = random.within(0, k as i64 - 1) as usize;
        // The highest bit of an element that counts in every type: in a byte with padding, bit 5.
        let mark = |ty: &str| match ty {
            ".e3m2" | ".e2m3" | ".e2m1" => 1 << 5,
            _ => 1 << (bits(ty) - 1),
        };
        let none = |operand: usize| case.fragment(operand, |_, _, _| 0);
        let one = |operand: usize, at: (usize, usize, usize)| {
            case.fragment(operand, |p, r, c| if (p, r, c) == at { mark(case.types[operand]) } else { 0 })
        };
        let all = u64::MAX >> (64 - bits(case.types[0]));
        let check = |a: &[Column], b: &[Column], c: &[Column], hit: &dyn Fn(usize, usize) -> bool| {
            let mut d = vec![[u64::MAX; LANES]; case.lengths[0]];
            shadow_mma(op, a, b, c, &mut d);
            let expected = case.fragment(0, |p, r, c| if p == problem && hit(r, c) { all } else { 0 });
            assert!(d == expected, "{}", case.spelling);
        };
        check(&none(1), &none(2), &none(3), &|_, _| false);
        check(&one(1, (problem, row, summand)), &none(2), &none(3), &|r, _| r == row);
        check(&none(1), &one(2, (problem, summand, column)), &none(3), &|_, c| c == column);
        check(&none(1), &none(2), &one(3, (problem, row, column)), &|r, c| (r, c) == (row, column));
    }
}

#[test]
fn bits_that_hardware_does_not_read_may_be_undefined() {
    for (found, case) in cases() {
        let unread = match case.types[1] {
            ".tf32" => 0x1fff,
            ".e3m2" | ".e2m3" => 0xc0c0_c0c0,
            ".e2m1" => 0xc3c3_c3c3,
            _ => continue,
        };
        let op = decode_mma(&found).expect("a dense spelling");
        let a = vec![[unread; LANES]; case.lengths[1]];
        let zeros = vec![[0; LANES]; 8];
        let mut d = vec![[1; LANES]; case.lengths[0]];
        shadow_mma(op, &a, &zeros, &zeros, &mut d);
        assert!(d.iter().flatten().all(|&undefined| undefined == 0), "{}", case.spelling);
    }
}

#[test]
fn integers_wrap_or_saturate() {
    for (found, case) in cases() {
        if !matches!(case.types[1], ".u8" | ".u4") || case.types[2] != case.types[1] {
            continue;
        }
        let op = decode_mma(&found).expect("a dense spelling");
        let ones = vec![[0xffff_ffff; LANES]; 4];
        let c = vec![[0x7fff_fff0; LANES]; 4];
        let mut d = vec![[0; LANES]; case.lengths[0]];
        mma(op, &ones, &ones, &c, &mut d);
        let unit: u64 = if case.types[1] == ".u8" { 255 * 255 } else { 15 * 15 };
        let wrapped = 0x7fff_fff0 + unit * case.spread.k as u64;
        let expected = if case.spelling.contains(".satfinite") { 0x7fff_ffff } else { wrapped };
        assert!(d.iter().flatten().all(|&sum| sum == expected), "{}", case.spelling);
    }
}

#[test]
fn missing_registers_read_as_zeros() {
    for (found, case) in cases() {
        let op = decode_mma(&found).expect("a dense spelling");
        let mut d = vec![[7; LANES]; 1];
        mma(op, &[], &[], &[], &mut d);
        assert_eq!(d, [[0; LANES]], "{}", case.spelling);
        shadow_mma(op, &[], &[], &[], &mut []);
    }
}
