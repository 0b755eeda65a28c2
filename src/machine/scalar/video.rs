//! Video instructions: arithmetic in 34 bits, saturation, and a second operation. The byte and half
//! selectors of operands are applied before.

use super::integer::compare;
use super::op::{Int, Second, Signs, VideoOp};

fn word(signed: bool) -> Int {
    if signed { Int::S32 } else { Int::U32 }
}

/// On one value each.
pub fn single(op: VideoOp, signs: Signs, second: Second, s: [u64; 4]) -> u64 {
    let a = word(signs.has(Signs::A)).value(s[0]);
    let b = word(signs.has(Signs::B)).value(s[1]);
    let result = word(signs.has(Signs::D));
    let value = wrapped(primary(op, a, b));
    let shifts = matches!(op, VideoOp::ShlClamp | VideoOp::ShlWrap | VideoOp::ShrClamp | VideoOp::ShrWrap);
    // An unsigned result wraps at the top even with saturation, except that of a shift.
    let value =
        if result == Int::U32 && !shifts && value > result.max() { value & result.max() } else { value };
    let first = clamp(signs, result, value);
    let c_signed = match op {
        VideoOp::Set(_) => signs.has(Signs::A),
        _ => signs.has(Signs::D),
    };
    combine(second, result.value(first), word(c_signed).value(s[2]))
}

/// `a·b + c`, scaled. All sources count as signed; an unsigned result is scaled by a logical shift.
pub fn multiply_add(signs: Signs, scale: u8, s: [u64; 4]) -> u64 {
    let [a, b, c, _] = s.map(|x| Int::S32.value(x));
    let sum = a * b + c + i128::from(signs.has(Signs::PLUS_ONE));
    let scale = scale.min(63);
    let logical = !signs.has(Signs::D) && scale > 0;
    let scaled = if logical { i128::from(sum as u64 >> scale) } else { sum >> scale };
    clamp(signs, word(signs.has(Signs::D)), scaled)
}

/// On `32 / bits` values of `bits` bits each (8 or 16).
pub fn packed(op: VideoOp, signs: Signs, second: Second, bits: u32, s: [u64; 4]) -> u64 {
    let (lane, mask) = match bits {
        8 => ([Int::U8, Int::S8], 0xff),
        _ => ([Int::U16, Int::S16], 0xffff),
    };
    let ty = |sign| lane[usize::from(signs.has(sign))];
    let count = if bits == 8 { 4 } else { 2 };
    let lanes = (0..count).map(|n| {
        let at = n * bits;
        let (a, b) = (ty(Signs::A).value(s[0] >> at), ty(Signs::B).value(s[1] >> at));
        (at, primary(op, a, b))
    });
    let d = ty(Signs::D);
    if second == Second::Add {
        let sum: i128 = lanes.map(|(_, value)| value).sum();
        return (word(true).value(s[2]) + sum) as u64 & 0xffff_ffff;
    }
    lanes.fold(0, |result, (at, value)| result | (clamp(signs, d, value) & mask) << at)
}

fn primary(op: VideoOp, a: i128, b: i128) -> i128 {
    let amount = |clamp: bool| if clamp { (b & 0xffff_ffff).min(32) } else { b & 31 } as u32;
    match op {
        VideoOp::Add => a + b,
        VideoOp::Sub => a - b,
        VideoOp::AbsDiff => (a - b).abs(),
        VideoOp::Average => {
            let sum = a + b;
            if sum >= 0 { (sum + 1) >> 1 } else { sum >> 1 }
        }
        VideoOp::Min => a.min(b),
        VideoOp::Max => a.max(b),
        VideoOp::ShlClamp => a << amount(true),
        VideoOp::ShlWrap => a << amount(false),
        VideoOp::ShrClamp => a >> amount(true),
        VideoOp::ShrWrap => a >> amount(false),
        VideoOp::Set(cmp) => i128::from(compare(cmp, Int::S64, a as u64, b as u64)),
    }
}

/// Intermediate results have 34 bits.
fn wrapped(value: i128) -> i128 {
    value << 94 >> 94
}

/// Cut or clamped to the result type.
fn clamp(signs: Signs, ty: Int, value: i128) -> u64 {
    if signs.has(Signs::SAT) { ty.saturate(value) } else { value as u64 & ty.mask() }
}

fn combine(second: Second, x: i128, y: i128) -> u64 {
    let value = match second {
        Second::None => x,
        Second::Add => x + y,
        Second::Min => x.min(y),
        Second::Max => x.max(y),
    };
    value as u64 & 0xffff_ffff
}
