//! The semantics of scalar instructions: pure functions on bits, exact to the hardware.

mod approx;
mod convert;
mod decode;
mod float;
mod integer;
pub mod op;
mod shadow;
mod soft;
#[cfg(test)]
mod tests;
mod video;

pub use decode::decode;
pub use op::{
    BoolOp, CarryKind, CarryOp, Cmp, CompareOp, Decoded, Float, Int, IntOp, LogicOp, ScalarOp, Signs,
};
pub use shadow::shadow;

use op::SetType;

/// The result of `op`, zero-extended from [`ScalarOp::result_bits`]. Sources are raw register contents:
/// the bits above an operand's width are ignored.
#[inline]
pub fn eval(op: ScalarOp, s: [u64; 4]) -> u64 {
    match op {
        ScalarOp::Mov(bits) => s[0] & low(bits.into()),
        ScalarOp::Int(op, ty) => integer::eval(op, ty, s),
        ScalarOp::Logic(op, bits) => integer::logic(op, bits.into(), s[0], s[1]),
        ScalarOp::Selp(bits) => (if s[2] & 1 == 1 { s[0] } else { s[1] }) & low(bits.into()),
        ScalarOp::Extract(at, bits) => s[0].checked_shr(at.into()).unwrap_or(0) & low(bits.into()),
        ScalarOp::CvtInt(to, from, saturate) => convert::int(to, from, saturate, s[0]),
        ScalarOp::Float(op, ty, lanes, rounding, flags) => {
            float::eval(op, ty, lanes, rounding, flags, [s[0], s[1], s[2]])
        }
        _ => eval_rare(op, s),
    }
}

fn eval_rare(op: ScalarOp, s: [u64; 4]) -> u64 {
    let [a, b, c, d] = s;
    match op {
        ScalarOp::IntPacked(op, ty) => packed(op, ty, s),
        ScalarOp::Lop3 => integer::lop3(a, b, c, d),
        ScalarOp::Fns => integer::fns(a, b, c),
        ScalarOp::Bmsk(wrap) => integer::bmsk(wrap, a, b),
        ScalarOp::Dp4a(x, y) => integer::dp4a(x, y, a, b, c),
        ScalarOp::Dp2a(upper, x, y) => integer::dp2a(upper, x, y, a, b, c),
        ScalarOp::Shf(left, wrap) => integer::funnel(left, wrap, a, b, c),
        ScalarOp::Prmt(mode) => integer::prmt(mode, a, b, c),
        ScalarOp::SlctInt(bits) => (if c as i32 >= 0 { a } else { b }) & low(bits.into()),
        ScalarOp::SlctFloat(bits, ftz) => {
            let chosen = float::compare(op::Cmp::Ge, Float::F32, ftz, c, 0);
            (if chosen { a } else { b }) & low(bits.into())
        }
        ScalarOp::Set(op, ty, bool) => set(op, ty, bool, s),
        ScalarOp::Mixed(op, ty, rounding, flags) => float::mixed(op, ty, rounding, flags, [a, b, c]),
        ScalarOp::Approx(function, ty, lanes, flags) => approx::eval(function, ty, lanes, flags, [a, b]),
        ScalarOp::Testp(property, ty) => float::test(property, ty, a).into(),
        ScalarOp::Pack(bits, parts) => pack(bits.into(), parts.into(), s),
        ScalarOp::Video(op, signs, second) => video::single(op, signs, second, s),
        ScalarOp::VideoMad(signs, scale) => video::multiply_add(signs, scale, s),
        ScalarOp::VideoPacked(op, signs, second, bits) => video::packed(op, signs, second, bits.into(), s),
        _ => eval_conversion(op, s),
    }
}

fn eval_conversion(op: ScalarOp, s: [u64; 4]) -> u64 {
    match op {
        ScalarOp::CvtIntToFloat(to, from, rounding, flags) => {
            convert::int_to_float(to, from, rounding, flags, s[0])
        }
        ScalarOp::CvtFloatToInt(to, from, rounding, flags) => {
            convert::float_to_int(to, from, rounding, flags, s[0])
        }
        ScalarOp::CvtFloat(to, from, rounding, flags) => convert::float(to, from, rounding, flags, s[0]),
        ScalarOp::CvtIntegral(ty, rounding, flags) => convert::to_integral(ty, rounding, flags, s[0]),
        ScalarOp::CvtPack(to, lanes, rounding, flags, scaled) => {
            convert::pack(to, lanes, rounding, flags, scaled, s)
        }
        ScalarOp::CvtRepack(to, from, rounding, flags, scaled) => {
            convert::repack(to, from, rounding, flags, scaled, s)
        }
        ScalarOp::CvtPackInt(to, merge) => convert::pack_int(to, merge, s),
        _ => 0,
    }
}

/// The low `bits` bits set (1 to 64).
const fn low(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn packed(op: IntOp, ty: Int, s: [u64; 4]) -> u64 {
    let bits = ty.bits();
    (0..32 / bits).fold(0, |result, lane| {
        let at = lane * bits;
        result | integer::eval(op, ty, s.map(|x| x >> at)) << at
    })
}

fn pack(bits: u32, parts: u32, s: [u64; 4]) -> u64 {
    let parts = s.iter().zip(0..parts);
    parts.fold(0, |all, (part, n)| all | (part & low(bits)).checked_shl(n * bits).unwrap_or(0))
}

/// The raw comparison, and for packed operands that of the upper halves (else the same once more).
#[inline]
pub fn compare(op: CompareOp, a: u64, b: u64) -> (bool, bool) {
    float::compare_op(op, a, b)
}

/// What a comparison writes to its two predicates: `p = bool(compared, c)`, `q = bool(!compared, c)`; for
/// packed operands `p` and `q` come from the two halves. Without a combination `c` is ignored.
pub fn compared(op: CompareOp, bool: Option<BoolOp>, a: u64, b: u64, c: bool) -> (bool, bool) {
    let (first, second) = compare(op, a, b);
    let second = if matches!(op, CompareOp::Packed(..)) { second } else { !first };
    let combined = |holds| bool.map_or(holds, |bool| bool.apply(holds, c));
    (combined(first), combined(second))
}

fn set(op: CompareOp, ty: SetType, bool: Option<BoolOp>, s: [u64; 4]) -> u64 {
    let (lower, upper) = compare(op, s[0], s[1]);
    let combined = |holds| bool.map_or(holds, |bool| bool.apply(holds, s[2] & 1 == 1));
    let packed = matches!(op, CompareOp::Packed(..));
    let ones = match ty {
        SetType::U16 | SetType::S16 => 0xffff,
        SetType::U32 | SetType::S32 => {
            if packed {
                0xffff
            } else {
                0xffff_ffff
            }
        }
        SetType::F16 => 0x3c00,
        SetType::Bf16 => 0x3f80,
        SetType::F32 => 0x3f80_0000,
    };
    let value = |holds| if combined(holds) { ones } else { 0 };
    if packed { value(upper) << 16 | value(lower) } else { value(lower) }
}

/// Arithmetic with the carry flag: the result, and the flag that a `.cc` form writes (the borrow for
/// differences). `carry_in` counts where the operation reads the flag.
#[inline]
pub fn carry(op: CarryOp, s: [u64; 3], carry_in: bool) -> (u64, bool) {
    integer::carry(op, s, carry_in)
}
