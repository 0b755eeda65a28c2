//! From a matched row to what it computes.

use super::op::{
    Approximation, BoolOp, CarryKind, CarryOp, Cmp, CompareOp, Decoded, Flags, Float, FloatOp, Int, IntOp,
    Lanes, LogicOp, Permutation, Property, Rounding, ScalarOp, Second, SetType, Signs, VideoOp,
};
use crate::isa::operand::{resolve_length, resolve_type};
use crate::isa::table::Shape;
use crate::isa::{Form, Mod, RowMatch};

/// What a row of a scalar form computes; `None` for a form that is not scalar, and for values of 128 bits.
///
/// Sources stand in the order of the table. For unpacking moves the operation gives the first part; part `n`
/// is [`ScalarOp::Extract`] at `n` times its width.
pub fn decode(found: &RowMatch) -> Option<Decoded> {
    carry(found)
        .or_else(|| comparison(found))
        .or_else(|| {
            let op = integer(found)
                .or_else(|| bits(found))
                .or_else(|| float(found))
                .or_else(|| conversion(found))
                .or_else(|| movement(found))
                .or_else(|| video(found))?;
            Some(Decoded::Value(op))
        })
        .or_else(|| (found.form() == Form::Lop3Bool).then(|| boolean(found).map(Decoded::Lop3))?)
}

/// What a type modifier says.
#[derive(Clone, Copy)]
enum Kind {
    Int(Int),
    /// Two halves or four bytes.
    Packed(Int),
    Float(Float, Lanes),
}

impl Kind {
    fn bits(self) -> u8 {
        match self {
            Kind::Int(ty) => ty.bits() as u8,
            Kind::Packed(_) => 32,
            Kind::Float(ty, lanes) => (ty.lane_bits() * lanes.count()) as u8,
        }
    }

    fn int(self) -> Option<Int> {
        if let Kind::Int(ty) = self { Some(ty) } else { None }
    }

    fn float(self) -> Option<(Float, Lanes)> {
        if let Kind::Float(ty, lanes) = self { Some((ty, lanes)) } else { None }
    }
}

fn kind(modifier: Mod) -> Option<Kind> {
    let int = match modifier {
        Mod::U2 => Int::U2,
        Mod::S2 => Int::S2,
        Mod::U4 => Int::U4,
        Mod::S4 => Int::S4,
        Mod::B8 | Mod::U8 => Int::U8,
        Mod::S8 => Int::S8,
        Mod::B16 | Mod::U16 => Int::U16,
        Mod::S16 => Int::S16,
        Mod::B32 | Mod::U32 => Int::U32,
        Mod::S32 => Int::S32,
        Mod::B64 | Mod::U64 => Int::U64,
        Mod::S64 => Int::S64,
        Mod::U16x2 => return Some(Kind::Packed(Int::U16)),
        Mod::S16x2 => return Some(Kind::Packed(Int::S16)),
        Mod::U8x4 => return Some(Kind::Packed(Int::U8)),
        Mod::S8x4 => return Some(Kind::Packed(Int::S8)),
        _ => return float_kind(modifier),
    };
    Some(Kind::Int(int))
}

fn float_kind(modifier: Mod) -> Option<Kind> {
    let (ty, lanes) = match modifier {
        Mod::F16 => (Float::F16, Lanes::One),
        Mod::F16x2 => (Float::F16, Lanes::Two),
        Mod::Bf16 => (Float::Bf16, Lanes::One),
        Mod::Bf16x2 => (Float::Bf16, Lanes::Two),
        Mod::F32 => (Float::F32, Lanes::One),
        Mod::F32x2 => (Float::F32, Lanes::Two),
        Mod::F64 => (Float::F64, Lanes::One),
        Mod::Tf32 => (Float::Tf32, Lanes::One),
        Mod::E4m3x2 => (Float::E4m3, Lanes::Two),
        Mod::E4m3x4 => (Float::E4m3, Lanes::Four),
        Mod::E5m2x2 => (Float::E5m2, Lanes::Two),
        Mod::E5m2x4 => (Float::E5m2, Lanes::Four),
        Mod::E2m3x2 => (Float::E2m3, Lanes::Two),
        Mod::E2m3x4 => (Float::E2m3, Lanes::Four),
        Mod::E3m2x2 => (Float::E3m2, Lanes::Two),
        Mod::E3m2x4 => (Float::E3m2, Lanes::Four),
        Mod::E2m1x2 => (Float::E2m1, Lanes::Two),
        Mod::E2m1x4 => (Float::E2m1, Lanes::Four),
        Mod::Ue8m0x2 => (Float::Ue8m0, Lanes::Two),
        Mod::S2f6x2 => (Float::S2f6, Lanes::Two),
        _ => return None,
    };
    Some(Kind::Float(ty, lanes))
}

/// The type modifiers, in order.
fn kinds(found: &RowMatch) -> impl Iterator<Item = Kind> {
    found.meanings().filter_map(kind)
}

fn first_kind(found: &RowMatch) -> Option<Kind> {
    kinds(found).next()
}

fn first_int(found: &RowMatch) -> Option<Int> {
    first_kind(found)?.int()
}

fn rounding(found: &RowMatch) -> Rounding {
    let one = |modifier| match modifier {
        Mod::Rn | Mod::Rni => Some(Rounding::Nearest),
        Mod::Rna => Some(Rounding::Away),
        Mod::Rz | Mod::Rzi => Some(Rounding::Zero),
        Mod::Rm | Mod::Rmi => Some(Rounding::Down),
        Mod::Rp | Mod::Rpi => Some(Rounding::Up),
        Mod::Rs => Some(Rounding::Stochastic),
        _ => None,
    };
    found.meanings().find_map(one).unwrap_or(Rounding::Nearest)
}

fn flags(found: &RowMatch) -> Flags {
    let xorsign = found.has(Mod::Xorsign);
    found.meanings().fold(Flags::default(), |flags, modifier| {
        flags.with(match modifier {
            Mod::Ftz => Flags::FTZ,
            Mod::Sat => Flags::SAT,
            Mod::Relu => Flags::RELU,
            Mod::NaN => Flags::NAN,
            Mod::Xorsign => Flags::XORSIGN_ABS,
            Mod::Abs if !xorsign => Flags::ABS,
            Mod::Oob => Flags::OOB,
            Mod::Satfinite => Flags::SATFINITE,
            _ => Flags::default(),
        })
    })
}

fn boolean(found: &RowMatch) -> Option<BoolOp> {
    found.meanings().find_map(|modifier| match modifier {
        Mod::And => Some(BoolOp::And),
        Mod::Or => Some(BoolOp::Or),
        Mod::Xor => Some(BoolOp::Xor),
        _ => None,
    })
}

fn cmp(found: &RowMatch) -> Option<Cmp> {
    found.meanings().find_map(|modifier| match modifier {
        Mod::Eq => Some(Cmp::Eq),
        Mod::Ne => Some(Cmp::Ne),
        Mod::Lt | Mod::Lo => Some(Cmp::Lt),
        Mod::Le | Mod::Ls => Some(Cmp::Le),
        Mod::Gt | Mod::Hi => Some(Cmp::Gt),
        Mod::Ge | Mod::Hs => Some(Cmp::Ge),
        Mod::Equ => Some(Cmp::Equ),
        Mod::Neu => Some(Cmp::Neu),
        Mod::Ltu => Some(Cmp::Ltu),
        Mod::Leu => Some(Cmp::Leu),
        Mod::Gtu => Some(Cmp::Gtu),
        Mod::Geu => Some(Cmp::Geu),
        Mod::Num => Some(Cmp::Num),
        Mod::Nan => Some(Cmp::Nan),
        _ => None,
    })
}

fn carry(found: &RowMatch) -> Option<Decoded> {
    let mad = if found.has(Mod::Hi) { CarryKind::MadHi } else { CarryKind::MadLo };
    let (op, carry_in) = match found.form() {
        Form::AddCarry => (CarryKind::Add, false),
        Form::SubCarry => (CarryKind::Sub, false),
        Form::MadCarry => (mad, false),
        Form::Addc => (CarryKind::Add, true),
        Form::Subc => (CarryKind::Sub, true),
        Form::Madc => (mad, true),
        _ => return None,
    };
    let (carry_out, sat) = (found.has(Mod::Cc), found.has(Mod::Sat));
    Some(Decoded::Carry(CarryOp { op, ty: first_int(found)?, carry_in, carry_out, sat }))
}

fn compare_op(found: &RowMatch, kind: Kind) -> Option<CompareOp> {
    let (cmp, ftz) = (cmp(found)?, found.has(Mod::Ftz));
    match kind {
        Kind::Int(ty) => Some(CompareOp::Int(cmp, ty)),
        Kind::Float(ty, Lanes::One) => Some(CompareOp::Float(cmp, ty, ftz)),
        Kind::Float(ty, _) => Some(CompareOp::Packed(cmp, ty, ftz)),
        Kind::Packed(_) => None,
    }
}

fn comparison(found: &RowMatch) -> Option<Decoded> {
    match found.form() {
        Form::SetpBits | Form::SetpInt | Form::SetpFloat | Form::SetpPacked => {
            Some(Decoded::Compare(compare_op(found, first_kind(found)?)?, boolean(found)))
        }
        Form::SetBits | Form::SetInt | Form::SetFloat | Form::SetPacked => {
            let mut kinds = kinds(found);
            let ty = set_type(kinds.next()?)?;
            let op = compare_op(found, kinds.next()?)?;
            Some(Decoded::Value(ScalarOp::Set(op, ty, boolean(found))))
        }
        _ => None,
    }
}

fn set_type(kind: Kind) -> Option<SetType> {
    Some(match kind {
        Kind::Int(Int::U16) => SetType::U16,
        Kind::Int(Int::S16) => SetType::S16,
        Kind::Int(Int::U32) => SetType::U32,
        Kind::Int(Int::S32) => SetType::S32,
        Kind::Float(Float::F16, _) => SetType::F16,
        Kind::Float(Float::Bf16, _) => SetType::Bf16,
        Kind::Float(Float::F32, _) => SetType::F32,
        _ => return None,
    })
}

fn integer(found: &RowMatch) -> Option<ScalarOp> {
    let op = int_op(found)?;
    match first_kind(found)? {
        Kind::Int(ty) => Some(ScalarOp::Int(op, ty)),
        Kind::Packed(ty) => Some(ScalarOp::IntPacked(op, ty)),
        Kind::Float(..) => None,
    }
}

fn int_op(found: &RowMatch) -> Option<IntOp> {
    let pick = |modifier, with, without| if found.has(modifier) { with } else { without };
    Some(match found.form() {
        Form::AddInt => pick(Mod::Sat, IntOp::AddSat, IntOp::Add),
        Form::SubInt => pick(Mod::Sat, IntOp::SubSat, IntOp::Sub),
        Form::MulInt => pick(Mod::Hi, IntOp::MulHi, IntOp::MulLo),
        Form::MulWide => IntOp::MulWide,
        Form::MadInt if found.has(Mod::Sat) => IntOp::MadHiSat,
        Form::MadInt => pick(Mod::Hi, IntOp::MadHi, IntOp::MadLo),
        Form::MadWide => IntOp::MadWide,
        Form::Mul24 => pick(Mod::Hi, IntOp::Mul24Hi, IntOp::Mul24Lo),
        Form::Mad24 if found.has(Mod::Sat) => IntOp::Mad24HiSat,
        Form::Mad24 => pick(Mod::Hi, IntOp::Mad24Hi, IntOp::Mad24Lo),
        Form::DivInt => IntOp::Div,
        Form::Rem => IntOp::Rem,
        Form::AbsInt => IntOp::Abs,
        Form::NegInt => IntOp::Neg,
        Form::MinInt => pick(Mod::Relu, IntOp::MinRelu, IntOp::Min),
        Form::MaxInt => pick(Mod::Relu, IntOp::MaxRelu, IntOp::Max),
        Form::Sad => IntOp::Sad,
        Form::Popc => IntOp::Popc,
        Form::Clz => IntOp::Clz,
        Form::Bfind => pick(Mod::Shiftamt, IntOp::BfindShift, IntOp::Bfind),
        Form::Brev => IntOp::Brev,
        Form::Bfe => IntOp::Bfe,
        Form::Bfi => IntOp::Bfi,
        Form::Szext => pick(Mod::Wrap, IntOp::SzextWrap, IntOp::SzextClamp),
        Form::Shl => IntOp::Shl,
        Form::Shr => IntOp::Shr,
        _ => return None,
    })
}

fn bits(found: &RowMatch) -> Option<ScalarOp> {
    let wide = |op| Some(ScalarOp::Logic(op, first_kind(found)?.bits()));
    let signed = |n| kinds(found).nth(n).and_then(Kind::int).is_some_and(Int::signed);
    match found.form() {
        Form::And => wide(LogicOp::And),
        Form::Or => wide(LogicOp::Or),
        Form::Xor => wide(LogicOp::Xor),
        Form::Not => wide(LogicOp::Not),
        Form::Cnot => wide(LogicOp::Cnot),
        Form::AndPred => Some(ScalarOp::Logic(LogicOp::And, 1)),
        Form::OrPred => Some(ScalarOp::Logic(LogicOp::Or, 1)),
        Form::XorPred => Some(ScalarOp::Logic(LogicOp::Xor, 1)),
        Form::NotPred => Some(ScalarOp::Logic(LogicOp::Not, 1)),
        Form::Lop3 => Some(ScalarOp::Lop3),
        Form::Fns => Some(ScalarOp::Fns),
        Form::Bmsk => Some(ScalarOp::Bmsk(found.has(Mod::Wrap))),
        Form::Dp4a => Some(ScalarOp::Dp4a(signed(0), signed(1))),
        Form::Dp2a => Some(ScalarOp::Dp2a(found.has(Mod::Hi), signed(0), signed(1))),
        Form::Shf => Some(ScalarOp::Shf(found.has(Mod::L), found.has(Mod::Wrap))),
        Form::Prmt => Some(ScalarOp::Prmt(permutation(found))),
        Form::Selp => Some(ScalarOp::Selp(first_kind(found)?.bits())),
        Form::SlctInt => Some(ScalarOp::SlctInt(first_kind(found)?.bits())),
        Form::SlctFloat => Some(ScalarOp::SlctFloat(first_kind(found)?.bits(), found.has(Mod::Ftz))),
        _ => None,
    }
}

fn permutation(found: &RowMatch) -> Permutation {
    let one = |modifier| match modifier {
        Mod::F4e => Some(Permutation::Forward),
        Mod::B4e => Some(Permutation::Backward),
        Mod::Rc8 => Some(Permutation::Replicate8),
        Mod::Ecl => Some(Permutation::EdgeLeft),
        Mod::Ecr => Some(Permutation::EdgeRight),
        Mod::Rc16 => Some(Permutation::Replicate16),
        _ => None,
    };
    found.meanings().find_map(one).unwrap_or(Permutation::Index)
}

fn float(found: &RowMatch) -> Option<ScalarOp> {
    if let Some(op) = mixed_op(found.form()) {
        let (ty, _) = kinds(found).nth(1)?.float()?;
        return Some(ScalarOp::Mixed(op, ty, rounding(found), flags(found)));
    }
    let approximation = approximation(found);
    let property = property(found);
    let op = float_op(found.form());
    if op.is_none() && approximation.is_none() && property.is_none() {
        return None;
    }
    let (ty, lanes) = first_kind(found)?.float()?;
    match (approximation, property) {
        (Some(function), _) => Some(ScalarOp::Approx(of_type(function, ty), ty, lanes, flags(found))),
        (_, Some(property)) => Some(ScalarOp::Testp(property, ty)),
        _ => Some(ScalarOp::Float(op?, ty, lanes, rounding(found), flags(found))),
    }
}

fn mixed_op(form: Form) -> Option<FloatOp> {
    match form {
        Form::AddMixed => Some(FloatOp::Add),
        Form::SubMixed => Some(FloatOp::Sub),
        Form::FmaMixed => Some(FloatOp::Fma),
        _ => None,
    }
}

fn float_op(form: Form) -> Option<FloatOp> {
    Some(match form {
        Form::AddFloat => FloatOp::Add,
        Form::SubFloat => FloatOp::Sub,
        Form::MulFloat => FloatOp::Mul,
        Form::MadFloat | Form::FmaFloat => FloatOp::Fma,
        Form::DivFloat => FloatOp::Div,
        Form::AbsFloat => FloatOp::Abs,
        Form::NegFloat => FloatOp::Neg,
        Form::MinFloat => FloatOp::Min,
        Form::MaxFloat => FloatOp::Max,
        Form::MinFloat3 => FloatOp::Min3,
        Form::MaxFloat3 => FloatOp::Max3,
        Form::Copysign => FloatOp::Copysign,
        Form::Rcp => FloatOp::Rcp,
        Form::Sqrt => FloatOp::Sqrt,
        _ => return None,
    })
}

fn approximation(found: &RowMatch) -> Option<Approximation> {
    if !found.has(Mod::Approx) && !found.has(Mod::Full) {
        return None;
    }
    let turns = found.has(Mod::N2pi);
    Some(match found.form() {
        Form::DivFloat => Approximation::Div,
        Form::Rcp => Approximation::Rcp,
        Form::Sqrt => Approximation::Sqrt,
        Form::Rsqrt => Approximation::Rsqrt,
        Form::Sin if turns => Approximation::Sin2Pi,
        Form::Sin => Approximation::Sin,
        Form::Cos if turns => Approximation::Cos2Pi,
        Form::Cos => Approximation::Cos,
        Form::Lg2 => Approximation::Lg2,
        Form::Ex2 => Approximation::Ex2,
        Form::Tanh => Approximation::Tanh,
        _ => return None,
    })
}

fn of_type(function: Approximation, ty: Float) -> Approximation {
    match (function, ty) {
        (Approximation::Rcp, Float::F64) => Approximation::Rcp64,
        (Approximation::Rsqrt, Float::F64) => Approximation::Rsqrt64,
        _ => function,
    }
}

fn property(found: &RowMatch) -> Option<Property> {
    if found.form() != Form::Testp {
        return None;
    }
    found.meanings().find_map(|modifier| match modifier {
        Mod::Finite => Some(Property::Finite),
        Mod::Infinite => Some(Property::Infinite),
        Mod::Number => Some(Property::Number),
        Mod::Notanumber => Some(Property::NotANumber),
        Mod::Normal => Some(Property::Normal),
        Mod::Subnormal => Some(Property::Subnormal),
        _ => None,
    })
}

fn conversion(found: &RowMatch) -> Option<ScalarOp> {
    let form = found.form();
    if !matches!(
        form,
        Form::CvtInt
            | Form::CvtIntToFloat
            | Form::CvtFloatToInt
            | Form::CvtFloat
            | Form::CvtTf32
            | Form::CvtPack
            | Form::CvtPack4
            | Form::CvtRepack
            | Form::CvtPackMerge
    ) {
        return None;
    }
    let mut kinds = kinds(found);
    let (to, from) = (kinds.next()?, kinds.next()?);
    let (rounding, flags, scaled) = (rounding(found), flags(found), found.has(Mod::ScaledN2Ue8m0));
    Some(match (form, to, from) {
        // One form name serves the packing of integers and that of floating-point values.
        (Form::CvtPack | Form::CvtPackMerge, Kind::Int(to), _) => {
            ScalarOp::CvtPackInt(to, form == Form::CvtPackMerge)
        }
        (Form::CvtPack | Form::CvtPack4, Kind::Float(to, lanes), _) => {
            ScalarOp::CvtPack(to, lanes, rounding, flags, scaled)
        }
        (Form::CvtRepack, Kind::Float(to, _), Kind::Float(from, _)) => {
            ScalarOp::CvtRepack(to, from, rounding, flags, scaled)
        }
        (_, Kind::Int(to), Kind::Int(from)) => ScalarOp::CvtInt(to, from, found.has(Mod::Sat)),
        (_, Kind::Float(to, _), Kind::Int(from)) => ScalarOp::CvtIntToFloat(to, from, rounding, flags),
        (_, Kind::Int(to), Kind::Float(from, _)) => ScalarOp::CvtFloatToInt(to, from, rounding, flags),
        (_, Kind::Float(to, _), Kind::Float(from, _)) if to == from && integral(found) => {
            ScalarOp::CvtIntegral(to, rounding, flags)
        }
        (_, Kind::Float(to, _), Kind::Float(from, _)) => ScalarOp::CvtFloat(to, from, rounding, flags),
        _ => return None,
    })
}

fn integral(found: &RowMatch) -> bool {
    found.meanings().any(|modifier| matches!(modifier, Mod::Rni | Mod::Rzi | Mod::Rmi | Mod::Rpi))
}

fn movement(found: &RowMatch) -> Option<ScalarOp> {
    match found.form() {
        Form::Mov | Form::MovFloat | Form::MovVec => Some(ScalarOp::Mov(first_kind(found)?.bits())),
        Form::MovPred => Some(ScalarOp::Mov(1)),
        Form::MovPack => {
            let (bits, parts) = parts(found)?;
            (bits.checked_mul(parts)? <= 64 && parts <= 4).then_some(ScalarOp::Pack(bits, parts))
        }
        Form::MovUnpack => {
            first_kind(found)?;
            Some(ScalarOp::Extract(0, parts(found)?.0))
        }
        _ => None,
    }
}

/// Width and number of the parts of a packing or unpacking move.
fn parts(found: &RowMatch) -> Option<(u8, u8)> {
    found.row.operands.iter().find_map(|operand| match &operand.shape {
        Shape::Vector(value, length) => {
            let bits = u8::try_from(resolve_type(found, value.ty).bits()).ok()?;
            Some((bits, u8::try_from(resolve_length(found, *length)).ok()?))
        }
        _ => None,
    })
}

fn video(found: &RowMatch) -> Option<ScalarOp> {
    if found.form() == Form::Vmad {
        let scale = match (found.has(Mod::Shr7), found.has(Mod::Shr15)) {
            (true, _) => 7,
            (_, true) => 15,
            _ => 0,
        };
        return Some(ScalarOp::VideoMad(signs(found, true), scale));
    }
    let (op, bits) = video_op(found)?;
    let second = found.meanings().find_map(|modifier| match modifier {
        Mod::Add => Some(Second::Add),
        Mod::Min => Some(Second::Min),
        Mod::Max => Some(Second::Max),
        _ => None,
    });
    let second = second.unwrap_or(Second::None);
    let signs = signs(found, !matches!(op, VideoOp::Set(_)));
    Some(match bits {
        32 => ScalarOp::Video(op, signs, second),
        _ => ScalarOp::VideoPacked(op, signs, second, bits),
    })
}

/// The signs of the types, the first of them the result's or not there.
fn signs(found: &RowMatch, with_result: bool) -> Signs {
    let order = if with_result { [Signs::D, Signs::A, Signs::B] } else { [Signs::A, Signs::B, Signs(0)] };
    let signed = kinds(found).zip(order).filter(|(kind, _)| kind.int().is_some_and(Int::signed));
    let signs = signed.fold(0, |all, (_, sign)| all | sign.0);
    let sat = if found.has(Mod::Sat) { Signs::SAT.0 } else { 0 };
    let plus_one = if found.has(Mod::Po) { Signs::PLUS_ONE.0 } else { 0 };
    Signs(signs | sat | plus_one)
}

fn video_op(found: &RowMatch) -> Option<(VideoOp, u8)> {
    let wrap = found.has(Mod::Wrap);
    let set = || cmp(found).map(VideoOp::Set);
    Some(match found.form() {
        Form::Vadd => (VideoOp::Add, 32),
        Form::Vsub => (VideoOp::Sub, 32),
        Form::Vabsdiff => (VideoOp::AbsDiff, 32),
        Form::Vmin => (VideoOp::Min, 32),
        Form::Vmax => (VideoOp::Max, 32),
        Form::Vshl => (if wrap { VideoOp::ShlWrap } else { VideoOp::ShlClamp }, 32),
        Form::Vshr => (if wrap { VideoOp::ShrWrap } else { VideoOp::ShrClamp }, 32),
        Form::Vset => (set()?, 32),
        Form::Vadd2 => (VideoOp::Add, 16),
        Form::Vsub2 => (VideoOp::Sub, 16),
        Form::Vavrg2 => (VideoOp::Average, 16),
        Form::Vabsdiff2 => (VideoOp::AbsDiff, 16),
        Form::Vmin2 => (VideoOp::Min, 16),
        Form::Vmax2 => (VideoOp::Max, 16),
        Form::Vset2 => (set()?, 16),
        Form::Vadd4 => (VideoOp::Add, 8),
        Form::Vsub4 => (VideoOp::Sub, 8),
        Form::Vavrg4 => (VideoOp::Average, 8),
        Form::Vabsdiff4 => (VideoOp::AbsDiff, 8),
        Form::Vmin4 => (VideoOp::Min, 8),
        Form::Vmax4 => (VideoOp::Max, 8),
        Form::Vset4 => (set()?, 8),
        _ => return None,
    })
}
