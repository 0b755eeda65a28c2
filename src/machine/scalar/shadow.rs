//! Which bits of a result depend on undefined bits of the sources.

use super::integer::{bfi_field, funnel_amount, permutation};
use super::op::{CompareOp, Int, IntOp, Lanes, LogicOp, Permutation, ScalarOp};
use super::{eval, low, pack};

/// The undefined bits of `eval(op, s)` (1: undefined), given those of the sources.
///
/// Precise to the bit for moves, bitwise operations, shifts by defined amounts, extensions and packing;
/// sums and products are undefined from the lowest undefined bit up; else one undefined bit makes the whole
/// result undefined.
pub fn shadow(op: ScalarOp, s: [u64; 4], undefined: [u64; 4]) -> u64 {
    let relevant = relevant(op, undefined);
    if relevant == [0; 4] {
        return 0;
    }
    let [a, b, c, _] = relevant;
    let all = low(op.result_bits());
    let result = match op {
        ScalarOp::Mov(_) | ScalarOp::Extract(..) => eval(op, relevant),
        ScalarOp::Logic(logic, _) => bitwise(logic, s, relevant),
        ScalarOp::Lop3 => lop3(s, relevant),
        ScalarOp::Int(int, ty) => integer(int, ty, s, relevant),
        ScalarOp::IntPacked(int, ty) => packed(int, ty, s, relevant),
        ScalarOp::Shf(_, wrap) if c == 0 => eval(op, [a, b, funnel_amount(wrap, s[2]).into(), 0]),
        ScalarOp::Prmt(mode) if permuted(mode, c) => prmt(mode, s[2], a, b),
        ScalarOp::Selp(_) if c == 0 => {
            if s[2] & 1 == 1 {
                a
            } else {
                b
            }
        }
        ScalarOp::Selp(_) => (s[0] ^ s[1]) | a | b,
        ScalarOp::SlctInt(_) if c == 0 => eval(op, [a, b, s[2], 0]),
        ScalarOp::SlctFloat(..) if c == 0 => eval(op, [a, b, s[2], 0]),
        ScalarOp::SlctInt(_) | ScalarOp::SlctFloat(..) => (s[0] ^ s[1]) | a | b,
        ScalarOp::CvtInt(_, from, false) => from.extend(a),
        ScalarOp::Pack(bits, parts) => pack(bits.into(), parts.into(), relevant),
        ScalarOp::Float(_, ty, lanes, ..) => lanewise(ty.bits(), lanes.count(), relevant),
        ScalarOp::Dp4a(..) | ScalarOp::Dp2a(..) if a | b == 0 => smear(c),
        _ => all,
    };
    result & all
}

/// Whether no selector bit that counts is undefined.
fn permuted(mode: Permutation, undefined: u64) -> bool {
    let counts = if mode == Permutation::Index { 0xffff } else { 3 };
    undefined & counts == 0
}

/// The undefined bits within the widths of the sources.
fn relevant(op: ScalarOp, undefined: [u64; 4]) -> [u64; 4] {
    let widths = widths(op);
    let mut relevant = [0; 4];
    for n in 0..op.sources().min(4) {
        relevant[n] = undefined[n] & if widths[n] == 0 { 0 } else { low(widths[n]) };
    }
    relevant
}

/// The width of each source in bits.
fn widths(op: ScalarOp) -> [u32; 4] {
    match op {
        ScalarOp::Mov(bits) | ScalarOp::Logic(_, bits) => [bits.into(); 4],
        ScalarOp::Selp(bits) => [bits.into(), bits.into(), 1, 0],
        ScalarOp::SlctInt(bits) | ScalarOp::SlctFloat(bits, _) => [bits.into(), bits.into(), 32, 0],
        ScalarOp::Int(int, ty) => int_widths(int, ty.bits()),
        ScalarOp::CvtInt(_, from, _) | ScalarOp::CvtIntToFloat(_, from, ..) => [from.bits(), 0, 0, 0],
        ScalarOp::CvtFloatToInt(_, from, ..) | ScalarOp::CvtFloat(_, from, ..) => [from.bits(), 0, 0, 0],
        ScalarOp::CvtIntegral(ty, ..) | ScalarOp::Testp(_, ty) => [ty.bits(), 0, 0, 0],
        ScalarOp::Float(_, ty, lanes, ..) | ScalarOp::Approx(_, ty, lanes, _) => {
            [ty.bits() * lanes.count(); 4]
        }
        ScalarOp::Pack(bits, _) => [bits.into(); 4],
        ScalarOp::Lop3 => [32, 32, 32, 8],
        ScalarOp::Set(op, ..) => [compared_bits(op), compared_bits(op), 1, 0],
        ScalarOp::Extract(at, bits) => [(u32::from(at) + u32::from(bits)).min(64), 0, 0, 0],
        ScalarOp::CvtPack(_, Lanes::Four, ..) => [64; 4],
        ScalarOp::CvtRepack(_, from, ..) => [from.lane_bits() * 2, 16, 0, 0],
        _ => [32; 4],
    }
}

fn compared_bits(op: CompareOp) -> u32 {
    match op {
        CompareOp::Int(_, ty) => ty.bits(),
        CompareOp::Float(_, ty, _) => ty.bits(),
        CompareOp::Packed(..) => 32,
    }
}

fn int_widths(op: IntOp, bits: u32) -> [u32; 4] {
    match op {
        IntOp::Shl | IntOp::Shr => [bits, 32, 0, 0],
        IntOp::SzextClamp | IntOp::SzextWrap => [bits, 32, 0, 0],
        IntOp::MadWide => [bits, bits, bits * 2, 0],
        IntOp::Bfe => [bits, 32, 32, 0],
        IntOp::Bfi => [bits, bits, 32, 32],
        _ => [bits; 4],
    }
}

/// Everything from the lowest set bit up.
fn smear(undefined: u64) -> u64 {
    undefined | undefined.wrapping_neg()
}

/// A bit is defined if it comes out the same whatever the undefined bits are.
fn bitwise(op: LogicOp, s: [u64; 4], [a, b, ..]: [u64; 4]) -> u64 {
    match op {
        LogicOp::And => (a | b) & (a | s[0]) & (b | s[1]),
        LogicOp::Or => (a | b) & (a | !s[0]) & (b | !s[1]),
        LogicOp::Xor => a | b,
        LogicOp::Not => a,
        LogicOp::Cnot => 1,
    }
}

/// Tries both values of every undefined bit, all positions at once.
fn lop3(s: [u64; 4], [a, b, c, lut]: [u64; 4]) -> u64 {
    if lut != 0 {
        return u64::MAX;
    }
    let flip = |n: usize, undefined: u64, on: bool| if on { s[n] ^ undefined } else { s[n] };
    let base = eval(ScalarOp::Lop3, s);
    (1..8).fold(0, |changed, choice| {
        let tried =
            [flip(0, a, choice & 1 != 0), flip(1, b, choice & 2 != 0), flip(2, c, choice & 4 != 0), s[3]];
        changed | (eval(ScalarOp::Lop3, tried) ^ base)
    })
}

fn integer(op: IntOp, ty: Int, s: [u64; 4], [a, b, c, d]: [u64; 4]) -> u64 {
    match op {
        IntOp::Add | IntOp::Sub | IntOp::Neg | IntOp::MulLo | IntOp::Mul24Lo => smear(a | b),
        IntOp::MadLo | IntOp::Mad24Lo | IntOp::MulWide | IntOp::MadWide => smear(a | b | c),
        IntOp::Shl if b == 0 => super::integer::eval(op, ty, [a, s[1], 0, 0]),
        // A sign that is undefined is undefined in every copy.
        IntOp::Shr if b == 0 => super::integer::eval(op, ty, [a, s[1], 0, 0]),
        IntOp::Brev => super::integer::eval(op, ty, [a, 0, 0, 0]),
        IntOp::Bfe if b | c == 0 => super::integer::eval(op, ty, [a, s[1], s[2], 0]),
        IntOp::SzextClamp | IntOp::SzextWrap if b == 0 => super::integer::eval(op, ty, [a, s[1], 0, 0]),
        IntOp::Bfi if c | d == 0 => {
            let field = bfi_field(ty, s[2], s[3]);
            super::integer::eval(op, ty, [a, b & !field, s[2], s[3]])
        }
        _ => u64::MAX,
    }
}

/// Lane by lane.
fn packed(op: IntOp, ty: Int, s: [u64; 4], undefined: [u64; 4]) -> u64 {
    let bits = ty.bits();
    (0..32 / bits).fold(0, |result, lane| {
        let at = lane * bits;
        let lane_undefined = undefined.map(|x| x >> at & ty.mask());
        if lane_undefined == [0; 4] {
            return result;
        }
        result | (integer(op, ty, s.map(|x| x >> at), lane_undefined) & ty.mask()) << at
    })
}

/// All bits of the lanes in which any source has an undefined bit.
fn lanewise(bits: u32, lanes: u32, undefined: [u64; 4]) -> u64 {
    let any = undefined.iter().fold(0, |all, x| all | x);
    (0..lanes).fold(0, |result, lane| {
        let mask = low(bits) << (lane * bits);
        if any & mask != 0 { result | mask } else { result }
    })
}

fn prmt(mode: Permutation, selector: u64, a: u64, b: u64) -> u64 {
    let both = b << 32 | a & 0xffff_ffff;
    let bytes = permutation(mode, selector).map(|(from, sign)| {
        let byte = (both >> (8 * from)) as u8;
        if sign { (byte as i8 >> 7) as u8 } else { byte }
    });
    u32::from_le_bytes(bytes).into()
}
