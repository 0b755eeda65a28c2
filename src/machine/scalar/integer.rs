//! Integers, bit fields, permutations.

use super::op::{CarryKind, CarryOp, Cmp, Int, IntOp, LogicOp, Permutation};

/// `op` on integers of type `ty`, zero-extended from the result's width.
#[inline]
pub fn eval(op: IntOp, ty: Int, s: [u64; 4]) -> u64 {
    let [a, b, c, _] = s;
    let mask = ty.mask();
    match op {
        IntOp::Add => a.wrapping_add(b) & mask,
        IntOp::Sub => a.wrapping_sub(b) & mask,
        IntOp::MulLo => a.wrapping_mul(b) & mask,
        IntOp::MadLo => a.wrapping_mul(b).wrapping_add(c) & mask,
        IntOp::Shl => shift(a << (b as u32 & 63), b, ty) & mask,
        IntOp::Shr => shift_right(a, b, ty),
        IntOp::Neg => a.wrapping_neg() & mask,
        IntOp::Abs => (ty.extend(a) as i64).unsigned_abs() & mask,
        IntOp::Min | IntOp::MinRelu | IntOp::Max | IntOp::MaxRelu => extreme(op, ty, a, b),
        IntOp::MulWide | IntOp::MadWide => wide(op, ty, a, b, c),
        IntOp::Div | IntOp::Rem => divide(op, ty, a, b),
        IntOp::Sad => ty.value(a).abs_diff(ty.value(b)).wrapping_add(c.into()) as u64 & mask,
        IntOp::Popc => (a & mask).count_ones().into(),
        IntOp::Clz => u64::from((a & mask).leading_zeros() - (64 - ty.bits())),
        IntOp::Bfind | IntOp::BfindShift => bfind(op == IntOp::BfindShift, ty, a),
        IntOp::Brev => a.reverse_bits() >> (64 - ty.bits()),
        IntOp::Bfe => bfe(ty, a, b, c),
        IntOp::Bfi => bfi(ty, s),
        IntOp::SzextClamp | IntOp::SzextWrap => szext(op == IntOp::SzextClamp, ty, a, b),
        _ => rare(op, ty, a, b, c),
    }
}

/// High halves, 24-bit products and saturation.
fn rare(op: IntOp, ty: Int, a: u64, b: u64, c: u64) -> u64 {
    let (x, y, z) = (ty.value(a), ty.value(b), ty.value(c));
    let high = || high(ty, a, b);
    let high24 = || product24(ty, a, b) >> 16;
    match op {
        IntOp::AddSat => ty.saturate(x + y),
        IntOp::SubSat => ty.saturate(x - y),
        IntOp::MulHi => high() as u64 & ty.mask(),
        IntOp::MadHi => (high() + z) as u64 & ty.mask(),
        IntOp::MadHiSat => ty.saturate(high() + z),
        IntOp::Mul24Lo => product24(ty, a, b) as u64 & ty.mask(),
        IntOp::Mul24Hi => high24() as u64 & ty.mask(),
        IntOp::Mad24Lo => (product24(ty, a, b) + z) as u64 & ty.mask(),
        IntOp::Mad24Hi => (high24() + z) as u64 & ty.mask(),
        _ => ty.saturate(Int::S32.value(high24() as u64) + z),
    }
}

fn high(ty: Int, a: u64, b: u64) -> i128 {
    if ty == Int::U64 {
        return ((u128::from(a) * u128::from(b)) >> 64) as i128;
    }
    (ty.value(a) * ty.value(b)) >> ty.bits()
}

fn product24(ty: Int, a: u64, b: u64) -> i128 {
    let part =
        |x: u64| if ty.signed() { i128::from((x << 40) as i64 >> 40) } else { i128::from(x & 0xff_ffff) };
    part(a) * part(b)
}

fn wide(op: IntOp, ty: Int, a: u64, b: u64, c: u64) -> u64 {
    let product = ty.extend(a).wrapping_mul(ty.extend(b));
    let sum = if op == IntOp::MadWide { product.wrapping_add(c) } else { product };
    sum & (u64::MAX >> (64 - ty.bits() * 2).min(63))
}

/// `shifted`, or 0 where the amount reaches the width.
fn shift(shifted: u64, amount: u64, ty: Int) -> u64 {
    if amount as u32 >= ty.bits() { 0 } else { shifted }
}

fn shift_right(a: u64, amount: u64, ty: Int) -> u64 {
    let amount = amount as u32;
    let a = ty.extend(a);
    if ty.signed() {
        return (a as i64 >> amount.min(63)) as u64 & ty.mask();
    }
    a.checked_shr(amount).unwrap_or(0)
}

fn extreme(op: IntOp, ty: Int, a: u64, b: u64) -> u64 {
    let less = compare(Cmp::Lt, ty, a, b);
    let smallest = matches!(op, IntOp::Min | IntOp::MinRelu);
    let chosen = if less == smallest { a } else { b };
    let relu = matches!(op, IntOp::MinRelu | IntOp::MaxRelu);
    if relu && ty.value(chosen) < 0 { 0 } else { chosen & ty.mask() }
}

/// Division by zero gives all ones, as quotient and as remainder.
fn divide(op: IntOp, ty: Int, a: u64, b: u64) -> u64 {
    let (a, b) = (ty.extend(a), ty.extend(b));
    let rem = op == IntOp::Rem;
    let result = match (b, ty.signed()) {
        (0, _) => u64::MAX,
        (_, false) => {
            if rem {
                a % b
            } else {
                a / b
            }
        }
        (_, true) if rem => (a as i64).wrapping_rem(b as i64) as u64,
        (_, true) => (a as i64).wrapping_div(b as i64) as u64,
    };
    result & ty.mask()
}

fn bfind(shift_amount: bool, ty: Int, a: u64) -> u64 {
    let x = ty.extend(a);
    let x = if (x as i64) < 0 && ty.signed() { !x } else { x };
    match x.checked_ilog2() {
        None => u32::MAX.into(),
        Some(at) if shift_amount => u64::from(ty.bits() - 1 - at),
        Some(at) => at.into(),
    }
}

/// A position or length of a bit field. For 32-bit values eight bits of it count, for 64-bit values all.
fn field_amount(ty: Int, amount: u64) -> u32 {
    if ty.bits() == 64 { (amount as u32).min(64) } else { amount as u32 & 0xff }
}

fn bfe(ty: Int, a: u64, at: u64, length: u64) -> u64 {
    let (at, length) = (field_amount(ty, at), field_amount(ty, length));
    let a = ty.extend(a);
    if length == 0 {
        return 0;
    }
    let sign = ty.signed() && a >> (at + length - 1).min(ty.bits() - 1) & 1 == 1;
    let kept = ones(length);
    let field = (a & ty.mask()).checked_shr(at).unwrap_or(0) & kept;
    // Above the type's top bit there is nothing but sign.
    let available = ones(ty.bits().saturating_sub(at)) & kept;
    (if sign { field & available | !available } else { field & available }) & ty.mask()
}

/// The low `count` bits set; all from 64 on.
fn ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Where [`IntOp::Bfi`] takes the bits of its first source.
pub fn bfi_field(ty: Int, at: u64, length: u64) -> u64 {
    ones(field_amount(ty, length)).checked_shl(field_amount(ty, at)).unwrap_or(0) & ty.mask()
}

fn bfi(ty: Int, [a, b, at, length]: [u64; 4]) -> u64 {
    let field = bfi_field(ty, at, length);
    let inserted = a.checked_shl(field_amount(ty, at)).unwrap_or(0);
    (b & !field | inserted & field) & ty.mask()
}

fn szext(clamp: bool, ty: Int, a: u64, b: u64) -> u64 {
    let b = b as u32;
    let length = b & 31;
    if clamp && b >= 32 {
        return a & ty.mask();
    }
    let kept = ones(length);
    let sign = length != 0 && ty.signed() && a >> (length - 1) & 1 == 1;
    (if sign { a | !kept } else { a & kept }) & ty.mask()
}

/// A bitwise operation on `bits` bits.
#[inline]
pub fn logic(op: LogicOp, bits: u32, a: u64, b: u64) -> u64 {
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    mask & match op {
        LogicOp::And => a & b,
        LogicOp::Or => a | b,
        LogicOp::Xor => a ^ b,
        LogicOp::Not => !a,
        LogicOp::Cnot => u64::from(a & mask == 0),
    }
}

/// The function of three bits whose truth table is `lut`, for all 32 bits.
pub fn lop3(a: u64, b: u64, c: u64, lut: u64) -> u64 {
    let term = |x: u64, set: u32| if set != 0 { x } else { !x };
    let terms = (0..8u32).filter(|row| lut >> row & 1 == 1);
    terms.fold(0, |all, row| all | term(a, row & 4) & term(b, row & 2) & term(c, row & 1)) & 0xffff_ffff
}

/// Position of the bit that is `offset` one bits from `base`; all ones if there is none.
pub fn fns(mask: u64, base: u64, offset: u64) -> u64 {
    let (mask, offset) = (mask as u32, offset as u32 as i32);
    let mut at = i64::from(base as u32);
    let set = |at: i64| (0..32).contains(&at) && mask >> at & 1 == 1;
    if offset == 0 {
        return if set(at) { at as u64 } else { u32::MAX.into() };
    }
    if offset == i32::MIN {
        // So says the chip; elsewhere it finds nothing.
        return 0;
    }
    let mut left = offset.unsigned_abs();
    while (0..32).contains(&at) {
        left -= u32::from(set(at));
        if left == 0 {
            return at as u64;
        }
        at += i64::from(offset.signum());
    }
    u32::MAX.into()
}

/// A mask of `length` ones from bit `at` on.
pub fn bmsk(wrap: bool, at: u64, length: u64) -> u64 {
    let (at, length) = (at as u32, length as u32);
    let (at, length) = if wrap { (at & 31, length & 31) } else { (at.min(32), length.min(32)) };
    ones(length).checked_shl(at).unwrap_or(0) & 0xffff_ffff
}

fn part(signed: bool, bits: u32, x: u64, at: u32) -> i64 {
    let up = 64 - bits;
    let x = x >> (at * bits) << up;
    if signed { x as i64 >> up } else { (x >> up) as i64 }
}

/// c + Σ of four products of bytes.
pub fn dp4a(a_signed: bool, b_signed: bool, a: u64, b: u64, c: u64) -> u64 {
    let sum: i64 = (0..4).map(|at| part(a_signed, 8, a, at) * part(b_signed, 8, b, at)).sum();
    (c as i64).wrapping_add(sum) as u32 as u64
}

/// c + Σ of two products of halves of a with the upper or lower bytes of b.
pub fn dp2a(upper: bool, a_signed: bool, b_signed: bool, a: u64, b: u64, c: u64) -> u64 {
    let b = if upper { b >> 16 } else { b };
    let sum: i64 = (0..2).map(|at| part(a_signed, 16, a, at) * part(b_signed, 8, b, at)).sum();
    (c as i64).wrapping_add(sum) as u32 as u64
}

/// How far a funnel shift goes: 0 to 32.
pub fn funnel_amount(wrap: bool, amount: u64) -> u32 {
    if wrap { amount as u32 & 31 } else { (amount as u32).min(32) }
}

/// Half of `b:a`, shifted.
pub fn funnel(left: bool, wrap: bool, a: u64, b: u64, amount: u64) -> u64 {
    let both = b << 32 | a & 0xffff_ffff;
    let amount = funnel_amount(wrap, amount);
    if left { both << amount >> 32 } else { both >> amount & 0xffff_ffff }
}

/// For each byte of the result, which byte of `b:a` it is (0 to 7) and whether only its sign counts.
pub fn permutation(mode: Permutation, selector: u64) -> [(u32, bool); 4] {
    let s = selector as u32 & 3;
    [0, 1, 2, 3].map(|i: u32| match mode {
        Permutation::Index => {
            let nibble = (selector >> (4 * i)) as u32;
            (nibble & 7, nibble & 8 != 0)
        }
        Permutation::Forward => ((s + i) & 7, false),
        Permutation::Backward => (s.wrapping_sub(i) & 7, false),
        Permutation::Replicate8 => (s, false),
        Permutation::EdgeLeft => (s.max(i), false),
        Permutation::EdgeRight => (s.min(i), false),
        Permutation::Replicate16 => ((s & 1) * 2 + (i & 1), false),
    })
}

/// The four bytes that `selector` picks out of `b:a`.
pub fn prmt(mode: Permutation, a: u64, b: u64, selector: u64) -> u64 {
    let both = b << 32 | a & 0xffff_ffff;
    let bytes = permutation(mode, selector).map(|(from, sign)| {
        let byte = (both >> (8 * from)) as u8;
        if sign { (byte as i8 >> 7) as u8 } else { byte }
    });
    u32::from_le_bytes(bytes).into()
}

/// Whether the comparison of integers holds.
#[inline]
pub fn compare(cmp: Cmp, ty: Int, a: u64, b: u64) -> bool {
    let (a, b) = (ty.extend(a), ty.extend(b));
    let less = if ty.signed() { (a as i64) < (b as i64) } else { a < b };
    match cmp {
        Cmp::Eq | Cmp::Equ => a == b,
        Cmp::Ne | Cmp::Neu => a != b,
        Cmp::Lt | Cmp::Ltu => less,
        Cmp::Le | Cmp::Leu => less || a == b,
        Cmp::Gt | Cmp::Gtu => !less && a != b,
        Cmp::Ge | Cmp::Geu => !less,
        Cmp::Num => true,
        Cmp::Nan => false,
    }
}

/// Arithmetic with the carry flag: the value, and the flag it leaves.
pub fn carry(op: CarryOp, [a, b, c]: [u64; 3], flag: bool) -> (u64, bool) {
    let ty = op.ty;
    let mask = ty.mask();
    let subtract = op.op == CarryKind::Sub;
    let (x, y) = match op.op {
        CarryKind::Add => (a, b),
        CarryKind::Sub => (a, !b),
        CarryKind::MadLo => (a.wrapping_mul(b), c),
        CarryKind::MadHi => (high(ty, a, b) as u64, c),
    };
    // a - b - borrow = a + !b + (1 - borrow). The flag is the carry of that sum, so a borrow clears it:
    // the divisions that the compiler inlines read the flag of a subtraction with an addition.
    let flag = if op.carry_in { flag } else { subtract };
    let sum = u128::from(x & mask) + u128::from(y & mask) + u128::from(flag);
    let carried = sum >> ty.bits() != 0;
    if op.sat {
        let step = i128::from(flag != subtract);
        let exact =
            if subtract { ty.value(a) - ty.value(b) - step } else { ty.value(a) + ty.value(b) + step };
        return (ty.saturate(exact), carried);
    }
    (sum as u64 & mask, carried)
}
