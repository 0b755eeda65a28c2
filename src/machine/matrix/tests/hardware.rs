//! Results of an H200.

use super::super::transfer::Row;
use super::super::{Column, LANES, decode_mma, decode_move, gather, mma, movmatrix, scatter};
use super::product::{Case, cases};
use super::{Random, spellings, text};
use crate::isa::RowMatch;

/// The spelling of the multiplication whose modifiers are `modifiers`.
fn found(modifiers: &str) -> RowMatch {
    let mut all = spellings("mma").into_iter();
    all.find(|found| text(found) == modifiers).expect("a spelling")
}

/// A register of each lane.
fn column(value: impl Fn(u64) -> u64) -> Column {
    std::array::from_fn(|lane| value(lane as u64))
}

/// The registers of A or B with small numbers that `number` makes of a lane's small integers.
fn small(count: u64, number: impl Fn(u64) -> u64) -> Vec<Column> {
    (0..count).map(|r| column(|lane| number((lane * (7 + 3 * r) + 1 + 5 * r) & 7))).collect()
}

/// The same with two halves in a register.
fn halves(count: u64) -> Vec<Column> {
    let half = |value: u64| [0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700][value as usize];
    let register = |r: u64| {
        column(|lane| {
            let low = (lane * (7 + 3 * r) + 1 + 5 * r) & 7;
            let high = (lane * (5 + 2 * r) + 2 + r) & 3;
            half(low) | half(high) << 16
        })
    };
    (0..count).map(register).collect()
}

/// The same with four bytes in a register.
fn bytes(count: u64) -> Vec<Column> {
    let steps = [16974341, 33817350, 50660359, 67503368];
    let register = |r: u64| {
        let first = 67174915 + r;
        column(|lane| (lane * steps[r as usize] + first) & 0x0707_0707)
    };
    (0..count).map(register).collect()
}

fn all_lanes(values: &[u64]) -> Vec<Column> {
    values.iter().map(|&value| [value; LANES]).collect()
}

/// The slots of the recorded program `warp_09`: small integers made from the lane number, the result of
/// each lane combined as digits to base 1000003.
#[test]
fn products_of_small_integers_are_as_recorded() {
    let single = |value: u64| u64::from((value as f32).to_bits());
    let singles = all_lanes(&[1, 2, 3, 4].map(single));
    let integers = all_lanes(&[1, 2, 3, 4]);
    let two_halves = all_lanes(&[0x3c00_3c00, 0x4000_4000]);
    let slots = [
        (".m16n8k8.row.col.f32.tf32.tf32.f32", small(4, single), small(2, single), singles.clone()),
        (".m16n8k4.row.col.f32.tf32.tf32.f32", small(2, single), small(1, single), singles),
        (".m16n8k16.row.col.f16.f16.f16.f16", halves(4), halves(2), two_halves),
        (".m16n8k32.row.col.s32.s8.s8.s32", bytes(4), bytes(2), integers.clone()),
        (".m16n8k32.row.col.s32.u8.u8.s32", bytes(4), bytes(2), integers.clone()),
        (".m16n8k16.row.col.s32.s8.s8.s32", bytes(2), bytes(1), integers),
    ];
    let recorded: Vec<Vec<u64>> = include_str!("warp_09.txt")
        .lines()
        .map(|line| line.split(' ').map(|word| u64::from_str_radix(word, 16).expect("hexadecimal")).collect())
        .collect();
    assert_eq!(recorded.len(), slots.len());
    for ((modifiers, a, b, c), recorded) in slots.into_iter().zip(recorded) {
        let op = decode_mma(&found(&format!(".sync.aligned{modifiers}"))).expect("a dense spelling");
        let mut d = vec![[0; LANES]; op.registers().d];
        mma(op, &a, &b, &c, &mut d);
        let digits = |lane: usize| {
            d.iter().fold(0_u64, |all, column| all.wrapping_mul(1_000_003).wrapping_add(column[lane]))
        };
        assert_eq!((0..LANES).map(digits).collect::<Vec<_>>(), recorded, "{modifiers}");
    }
}

/// Exponent and fraction bits, and bits of the container, of a float type.
fn float_format(ty: &str) -> Option<(u32, u32, u32)> {
    Some(match ty {
        ".f16" => (5, 10, 16),
        ".bf16" => (8, 7, 16),
        ".tf32" => (8, 10, 32),
        ".f32" => (8, 23, 32),
        ".f64" => (11, 52, 64),
        ".e4m3" => (4, 3, 8),
        ".e5m2" => (5, 2, 8),
        _ => return None,
    })
}

/// What the floats of a trial are like.
const KINDS: [&str; 6] =
    ["near one", "any", "subnormal or zero", "with subnormal products", "near the largest", "zero"];

/// A float of a kind.
fn float(random: &mut Random, (exponent, fraction): (u32, u32), kind: usize, accumulator: bool) -> u64 {
    let bits = random.next();
    let (sign, pick) = (bits >> 63, bits >> 32 & 0xffff);
    let bias = (1_u64 << (exponent - 1)) - 1;
    let low = bits & ((1 << fraction) - 1);
    let (field, low) = match kind {
        0 => (bias - 3 + pick % 7, low),
        1 => (pick % (1 << exponent), low),
        2 if (pick >> 8).is_multiple_of(4) => (0, 0),
        2 => (pick % 3, low),
        3 if accumulator => (pick % 5, low),
        3 => ((bias / 2).saturating_sub(6) + pick % 9, low),
        4 => ((1 << exponent) - 2 - pick % 2, low),
        _ => (0, 0),
    };
    sign << (exponent + fraction) | field << fraction | low
}

/// A register of elements of a type.
fn register(random: &mut Random, ty: &str, kind: usize, accumulator: bool) -> u64 {
    let Some((exponent, fraction, container)) = float_format(ty) else {
        return random.next() & 0xffff_ffff;
    };
    let format = (exponent, fraction);
    if ty == ".tf32" {
        return float(random, format, kind, accumulator) << 13 | random.next() & 0x1fff;
    }
    let elements = 0..(32 / container).max(1);
    elements.fold(0, |word, i| word | float(random, format, kind, accumulator) << (i * container))
}

fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The results of twelve multiplications, two of each kind.
fn trials(found: &RowMatch, case: &Case) -> Vec<Vec<Column>> {
    let op = decode_mma(found).expect("a dense spelling");
    let mut random = Random(hash("mma".bytes().chain(case.spelling.bytes())) | 1);
    let trial = |trial: usize| {
        let operands: Vec<Vec<Column>> = (1..4)
            .map(|operand| {
                let mut word = || register(&mut random, case.types[operand], trial % 6, operand == 3);
                (0..case.lengths[operand]).map(|_| std::array::from_fn(|_| word())).collect()
            })
            .collect();
        let mut d = vec![[0; LANES]; case.lengths[0]];
        mma(op, &operands[0], &operands[1], &operands[2], &mut d);
        d
    };
    (0..12).map(trial).collect()
}

/// Every spelling that an H200 takes, with floats of all kinds: `h200.txt` has a hash of its results for
/// each kind.
#[test]
fn sums_are_rounded_as_by_an_h200() {
    let cases = cases();
    let lines = include_str!("h200.txt").lines();
    let mut failures = Vec::new();
    for line in lines {
        let (spelling, hashes) = line.split_once(' ').expect("a spelling and hashes");
        let (found, case) = cases.iter().find(|(_, case)| case.spelling == spelling).expect(spelling);
        let results = trials(found, case);
        for (kind, expected) in hashes.split(' ').enumerate() {
            let values = results[kind].iter().chain(&results[kind + 6]).flatten();
            let got = hash(values.flat_map(|value| value.to_le_bytes()));
            if format!("{got:016x}") != expected {
                failures.push(format!("{spelling}: {}", KINDS[kind]));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

fn columns(words: &str) -> Vec<Column> {
    let words: Vec<u64> =
        words.split(' ').map(|word| u64::from_str_radix(word, 16).expect("hexadecimal")).collect();
    words.chunks(LANES).map(|chunk| chunk.try_into().expect("a word for each lane")).collect()
}

/// The 16 bytes that each lane has in four registers.
fn rows(columns: &[Column]) -> Vec<Row> {
    let byte = |lane: usize, at: usize| columns.get(at / 4).map_or(0, |c| (c[lane] >> (8 * (at % 4))) as u8);
    (0..LANES).map(|lane| std::array::from_fn(|at| byte(lane, at))).collect()
}

/// Loads, stores and transpositions: `matrices.txt` has instruction, modifiers, what it read and what it
/// wrote. Lane `i` has row `i` of memory in four registers; rows that a store left alone are zero.
#[test]
fn matrices_move_as_recorded() {
    for line in include_str!("matrices.txt").lines() {
        let (before, after) = line.split_once(" | ").expect("a result");
        let mut words = before.splitn(3, ' ');
        let name = words.next().expect("an instruction");
        let modifiers = words.next().expect("modifiers");
        let before = columns(words.next().expect("operands"));
        let after = columns(after);
        // The state space may stand anywhere.
        let is_it = |found: &RowMatch| found.meanings().all(|m| modifiers.contains(m.text()));
        let found = spellings(name)
            .into_iter()
            .find(|found| is_it(found) && found.meanings().count() == modifiers.matches('.').count());
        let found = found.expect(modifiers);
        match decode_move(&found) {
            None => assert_eq!(movmatrix(&before[0]), after[0], "{modifiers}"),
            Some(op) if name.starts_with("ld") => {
                assert_eq!(gather(op, &rows(&before)).as_slice(), after, "{modifiers}");
            }
            Some(op) => {
                let mut written = scatter(op, &before).to_vec();
                written.resize(LANES, Row::default());
                assert_eq!(written, rows(&after), "{modifiers}");
            }
        }
    }
}
