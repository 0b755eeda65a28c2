//! What a scalar instruction computes: operation, types and modes, in a few bytes.

/// An integer type. The types below 8 bits exist for packing only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Int {
    /// 2 bits, unsigned.
    U2,
    /// 2 bits, signed.
    S2,
    /// 4 bits, unsigned.
    U4,
    /// 4 bits, signed.
    S4,
    /// 8 bits, unsigned.
    U8,
    /// 8 bits, signed.
    S8,
    /// 16 bits, unsigned.
    U16,
    /// 16 bits, signed.
    S16,
    /// 32 bits, unsigned.
    U32,
    /// 32 bits, signed.
    S32,
    /// 64 bits, unsigned.
    U64,
    /// 64 bits, signed.
    S64,
}

impl Int {
    /// Width in bits: 2 to 64.
    pub const fn bits(self) -> u32 {
        match self {
            Int::U2 | Int::S2 => 2,
            Int::U4 | Int::S4 => 4,
            Int::U8 | Int::S8 => 8,
            Int::U16 | Int::S16 => 16,
            Int::U32 | Int::S32 => 32,
            Int::U64 | Int::S64 => 64,
        }
    }

    /// Whether it is signed.
    pub const fn signed(self) -> bool {
        matches!(self, Int::S2 | Int::S4 | Int::S8 | Int::S16 | Int::S32 | Int::S64)
    }

    /// The unsigned type of `bits` bits: 8, 16, 32, else 64.
    pub const fn unsigned(bits: u32) -> Int {
        match bits {
            8 => Int::U8,
            16 => Int::U16,
            32 => Int::U32,
            _ => Int::U64,
        }
    }

    /// The bits that belong to the type.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// `x` cut to the type and extended by its sign or by zeros.
    pub const fn extend(self, x: u64) -> u64 {
        let up = 64 - self.bits();
        if self.signed() { ((x << up) as i64 >> up) as u64 } else { x << up >> up }
    }

    /// The number that the low bits of `x` stand for.
    pub const fn value(self, x: u64) -> i128 {
        if self.signed() { self.extend(x) as i64 as i128 } else { self.extend(x) as i128 }
    }

    /// The least number of the type.
    pub const fn min(self) -> i128 {
        if self.signed() { -1 << (self.bits() - 1) } else { 0 }
    }

    /// The greatest number of the type.
    pub const fn max(self) -> i128 {
        if self.signed() { (1 << (self.bits() - 1)) - 1 } else { (1 << self.bits()) - 1 }
    }

    /// The number of the type nearest to `x`, as bits.
    pub const fn saturate(self, x: i128) -> u64 {
        let clamped = if x < self.min() {
            self.min()
        } else if x > self.max() {
            self.max()
        } else {
            x
        };
        clamped as u64 & self.mask()
    }
}

/// A floating-point type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Float {
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// Binary32 with 10 bits of fraction.
    Tf32,
    /// 8 bits, no infinity.
    E4m3,
    /// 8 bits, IEEE.
    E5m2,
    /// 6 bits, neither infinity nor NaN.
    E2m3,
    /// 6 bits, neither infinity nor NaN.
    E3m2,
    /// 4 bits, neither infinity nor NaN.
    E2m1,
    /// 8 bits of exponent: a power of two.
    Ue8m0,
    /// Fixed point: a sign, one bit before and six behind the point, as two's complement.
    S2f6,
}

impl Float {
    /// Width in bits: 4 to 64.
    pub const fn bits(self) -> u32 {
        match self {
            Float::F64 => 64,
            Float::F32 | Float::Tf32 => 32,
            Float::F16 | Float::Bf16 => 16,
            Float::E2m1 => 4,
            Float::E2m3 | Float::E3m2 => 6,
            Float::E4m3 | Float::E5m2 | Float::Ue8m0 | Float::S2f6 => 8,
        }
    }

    /// The distance of two packed values in bits: 4, 8, 16 or 32.
    pub const fn lane_bits(self) -> u32 {
        match self.bits() {
            6 => 8,
            bits => bits,
        }
    }
}

/// How many values lie side by side in an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lanes {
    /// One.
    One,
    /// Two.
    Two,
    /// Four.
    Four,
}

impl Lanes {
    /// The number: 1, 2 or 4.
    pub const fn count(self) -> u32 {
        match self {
            Lanes::One => 1,
            Lanes::Two => 2,
            Lanes::Four => 4,
        }
    }
}

/// Rounding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties away from zero.
    Away,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// Up in magnitude with the probability of what is cut off, by random bits.
    Stochastic,
}

/// Modifiers of floating-point operations, a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Subnormal sources and results become zero.
    pub const FTZ: Flags = Flags(1);
    /// The result is clamped to [0, 1], NaN gives 0.
    pub const SAT: Flags = Flags(2);
    /// A negative result becomes 0.
    pub const RELU: Flags = Flags(4);
    /// NaN wins.
    pub const NAN: Flags = Flags(8);
    /// Magnitudes are compared, the sign is the exclusive or of the sources'.
    pub const XORSIGN_ABS: Flags = Flags(16);
    /// The result is 0 where a source is the NaN of out-of-bounds reads. No NaN of the usual patterns is
    /// that one on the chip, so it changes nothing here.
    pub const OOB: Flags = Flags(32);
    /// A result beyond the range becomes the greatest finite value.
    pub const SATFINITE: Flags = Flags(64);
    /// Magnitudes are compared.
    pub const ABS: Flags = Flags(128);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// An operation on integers of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntOp {
    /// a + b
    Add,
    /// a + b, clamped to the type.
    AddSat,
    /// a - b
    Sub,
    /// a - b, clamped to the type.
    SubSat,
    /// Low half of a · b.
    MulLo,
    /// High half of a · b.
    MulHi,
    /// a · b, twice as wide.
    MulWide,
    /// Low half of a · b, + c.
    MadLo,
    /// High half of a · b, + c.
    MadHi,
    /// The same, clamped.
    MadHiSat,
    /// a · b + c, c and the result twice as wide.
    MadWide,
    /// Low 32 bits of the product of the low 24 bits.
    Mul24Lo,
    /// Upper 32 of the 48 bits of that product.
    Mul24Hi,
    /// The low 32 bits + c.
    Mad24Lo,
    /// The upper 32 bits + c.
    Mad24Hi,
    /// The same, clamped.
    Mad24HiSat,
    /// a / b towards zero; by zero: all ones.
    Div,
    /// Remainder with the sign of a; by zero: all ones.
    Rem,
    /// |a|
    Abs,
    /// -a
    Neg,
    /// The smaller.
    Min,
    /// The smaller, at least 0.
    MinRelu,
    /// The larger.
    Max,
    /// The larger, at least 0.
    MaxRelu,
    /// |a - b| + c
    Sad,
    /// Number of ones, in 32 bits.
    Popc,
    /// Number of leading zeros, in 32 bits.
    Clz,
    /// Position of the most significant bit that is not the sign, in 32 bits.
    Bfind,
    /// How far to shift it to the top, in 32 bits.
    BfindShift,
    /// The bits in reverse order.
    Brev,
    /// c bits of a from bit b on.
    Bfe,
    /// b with d bits of a at bit c.
    Bfi,
    /// The low b bits, extended; from 32 on: a.
    SzextClamp,
    /// The low b & 31 bits, extended.
    SzextWrap,
    /// a shifted left by b (32 bits).
    Shl,
    /// a shifted right by b (32 bits).
    Shr,
}

impl IntOp {
    /// The number of sources: 1 to 4.
    pub const fn sources(self) -> usize {
        use IntOp::*;
        match self {
            Abs | Neg | Popc | Clz | Bfind | BfindShift | Brev => 1,
            MadLo | MadHi | MadHiSat | MadWide | Mad24Lo | Mad24Hi | Mad24HiSat | Sad | Bfe => 3,
            Bfi => 4,
            _ => 2,
        }
    }
}

/// A bitwise operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LogicOp {
    /// And.
    And,
    /// Or.
    Or,
    /// Exclusive or.
    Xor,
    /// Complement.
    Not,
    /// 1 where a is 0, else 0.
    Cnot,
}

/// How a permutation of bytes reads its selector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Permutation {
    /// Four selectors of four bits; the top bit replicates the sign of the byte.
    Index,
    /// Four bytes from the selected one upwards.
    Forward,
    /// Four bytes from the selected one downwards.
    Backward,
    /// One byte four times.
    Replicate8,
    /// Clamped at the left.
    EdgeLeft,
    /// Clamped at the right.
    EdgeRight,
    /// One half twice.
    Replicate16,
}

/// An operation on floating-point values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatOp {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a · b
    Mul,
    /// a · b + c, rounded once.
    Fma,
    /// a / b
    Div,
    /// 1 / a
    Rcp,
    /// √a
    Sqrt,
    /// |a|
    Abs,
    /// -a
    Neg,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// The smallest of three.
    Min3,
    /// The largest of three.
    Max3,
    /// b with the sign of a.
    Copysign,
}

impl FloatOp {
    /// The number of sources: 1 to 3.
    pub const fn sources(self) -> usize {
        match self {
            FloatOp::Rcp | FloatOp::Sqrt | FloatOp::Abs | FloatOp::Neg => 1,
            FloatOp::Fma | FloatOp::Min3 | FloatOp::Max3 => 3,
            _ => 2,
        }
    }
}

/// A function that the chip approximates; its last bits are not promised here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Approximation {
    /// a / b
    Div,
    /// 1 / a
    Rcp,
    /// 1 / a with the low word of the result zero.
    Rcp64,
    /// √a
    Sqrt,
    /// 1 / √a
    Rsqrt,
    /// 1 / √a with the low word of the result zero.
    Rsqrt64,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Sine of 2π·a.
    Sin2Pi,
    /// Cosine of 2π·a.
    Cos2Pi,
    /// Logarithm to base 2.
    Lg2,
    /// 2 to the power of a.
    Ex2,
    /// Hyperbolic tangent.
    Tanh,
}

/// A property of a floating-point value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Property {
    /// Neither infinite nor NaN.
    Finite,
    /// Infinite.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Neither NaN nor infinite nor subnormal; zero is normal.
    Normal,
    /// Subnormal.
    Subnormal,
}

/// A comparison. Integers know the first six only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cmp {
    /// a = b
    Eq,
    /// a ≠ b, both numbers
    Ne,
    /// a < b
    Lt,
    /// a ≤ b
    Le,
    /// a > b
    Gt,
    /// a ≥ b
    Ge,
    /// a = b or NaN
    Equ,
    /// a ≠ b or NaN
    Neu,
    /// a < b or NaN
    Ltu,
    /// a ≤ b or NaN
    Leu,
    /// a > b or NaN
    Gtu,
    /// a ≥ b or NaN
    Geu,
    /// Neither is NaN.
    Num,
    /// One is NaN.
    Nan,
}

/// What is compared, and how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareOp {
    /// Integers or bits.
    Int(Cmp, Int),
    /// Floating-point values; the flag: subnormals count as zero.
    Float(Cmp, Float, bool),
    /// Two pairs of 16-bit floating-point values.
    Packed(Cmp, Float, bool),
}

/// How a comparison is combined with a predicate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BoolOp {
    /// And.
    And,
    /// Or.
    Or,
    /// Exclusive or.
    Xor,
}

impl BoolOp {
    /// The value.
    pub const fn apply(self, a: bool, b: bool) -> bool {
        match self {
            BoolOp::And => a && b,
            BoolOp::Or => a || b,
            BoolOp::Xor => a != b,
        }
    }
}

/// The result type of a comparison that writes a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SetType {
    /// 16 ones.
    U16,
    /// 16 ones.
    S16,
    /// 32 ones; for a packed comparison 16 for each half.
    U32,
    /// The same, signed.
    S32,
    /// 1.0
    F16,
    /// 1.0
    Bf16,
    /// 1.0
    F32,
}

/// The operation of a video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VideoOp {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// |a - b|
    AbsDiff,
    /// The average, rounded away from zero.
    Average,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// a shifted left by b, at most 32.
    ShlClamp,
    /// a shifted left by b & 31.
    ShlWrap,
    /// a shifted right by b, at most 32.
    ShrClamp,
    /// a shifted right by b & 31.
    ShrWrap,
    /// 1 where the comparison holds.
    Set(Cmp),
}

/// What a video instruction does with its third source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Second {
    /// Nothing; for packed values: lanes that the mask leaves out come from it.
    None,
    /// Adds.
    Add,
    /// Takes the smaller.
    Min,
    /// Takes the larger.
    Max,
}

/// The signs of a video instruction's types and its saturation, a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Signs(pub u8);

impl Signs {
    /// The result is signed.
    pub const D: Signs = Signs(1);
    /// The first source is signed.
    pub const A: Signs = Signs(2);
    /// The second source is signed.
    pub const B: Signs = Signs(4);
    /// The result is clamped to its type.
    pub const SAT: Signs = Signs(8);
    /// One is added to a product (`a·b + c + 1`).
    pub const PLUS_ONE: Signs = Signs(16);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Signs) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a scalar instruction computes from up to four sources.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarOp {
    /// The source itself, of 1 to 64 bits.
    Mov(u8),
    /// On integers.
    Int(IntOp, Int),
    /// On two 16-bit or four 8-bit integers in 32 bits.
    IntPacked(IntOp, Int),
    /// Bitwise, on 1 to 64 bits.
    Logic(LogicOp, u8),
    /// Any function of three bits; the truth table is the fourth source.
    Lop3,
    /// Position of the n-th one bit.
    Fns,
    /// A mask of ones; the flag: amounts wrap (else clamp).
    Bmsk(bool),
    /// Four products of bytes, + c; whether a and b are signed.
    Dp4a(bool, bool),
    /// Two products of halves with bytes, + c; whether the upper bytes, and whether a and b are signed.
    Dp2a(bool, bool, bool),
    /// Funnel shift: whether to the left, and whether the amount wraps.
    Shf(bool, bool),
    /// Bytes of two registers.
    Prmt(Permutation),
    /// a if the third source is true, else b; of that many bits.
    Selp(u8),
    /// a if the third source (`.s32`) is at least 0, else b; of that many bits.
    SlctInt(u8),
    /// a if the third source (`.f32`) is at least 0, else b; the flag: subnormals count as 0.
    SlctFloat(u8, bool),
    /// Ones or 1.0 if the comparison holds, maybe combined with the third source, a predicate.
    Set(CompareOp, SetType, Option<BoolOp>),
    /// On floating-point values side by side.
    Float(FloatOp, Float, Lanes, Rounding, Flags),
    /// Add, Sub or Fma where the sources a (Fma: and b) are 16 bits wide and the rest is binary32.
    Mixed(FloatOp, Float, Rounding, Flags),
    /// An approximated function.
    Approx(Approximation, Float, Lanes, Flags),
    /// A property, as 0 or 1.
    Testp(Property, Float),
    /// Integer to integer (to, from); the flag: clamped to the type.
    CvtInt(Int, Int, bool),
    /// Integer to floating point (to, from).
    CvtIntToFloat(Float, Int, Rounding, Flags),
    /// Floating point to integer (to, from), clamped to the type.
    CvtFloatToInt(Int, Float, Rounding, Flags),
    /// Floating point to floating point (to, from).
    CvtFloat(Float, Float, Rounding, Flags),
    /// Floating point to an integral value of the same type.
    CvtIntegral(Float, Rounding, Flags),
    /// Two (first source above) or four binary32 to narrow values side by side; for `Stochastic` the
    /// last source holds the random bits, for S2f6 it may hold a scale (the flag). Four values of
    /// 32 bits come as two sources of 64 bits: the first two elements in the first, low word first.
    CvtPack(Float, Lanes, Rounding, Flags, bool),
    /// Two narrow values side by side to two others (to, from); the flag: scaled by the second source.
    CvtRepack(Float, Float, Rounding, Flags, bool),
    /// Two integers clamped and packed; the flag: above the low bits of the third source.
    CvtPackInt(Int, bool),
    /// Parts side by side: their width, their number (at most 4), lowest first.
    Pack(u8, u8),
    /// So many bits (the second number) from a bit (the first) on.
    Extract(u8, u8),
    /// Video instruction on one value.
    Video(VideoOp, Signs, Second),
    /// Video instruction: a·b + c, shifted right.
    VideoMad(Signs, u8),
    /// Video instruction on two or four values, all lanes selected; their width.
    VideoPacked(VideoOp, Signs, Second, u8),
}

/// Arithmetic with the carry flag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CarryOp {
    /// What.
    pub op: CarryKind,
    /// On what.
    pub ty: Int,
    /// Whether the flag comes in.
    pub carry_in: bool,
    /// Whether the flag is written.
    pub carry_out: bool,
    /// Whether the result is clamped (`.sat.s32`).
    pub sat: bool,
}

/// The operation of a [`CarryOp`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CarryKind {
    /// a + b
    Add,
    /// a - b; the flag is the borrow.
    Sub,
    /// Low half of a · b, + c.
    MadLo,
    /// High half of a · b, + c.
    MadHi,
}

impl CarryOp {
    /// The number of sources: 2 or 3.
    pub const fn sources(self) -> usize {
        match self.op {
            CarryKind::Add | CarryKind::Sub => 2,
            CarryKind::MadLo | CarryKind::MadHi => 3,
        }
    }
}

/// What a matched row of a scalar form computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Decoded {
    /// A value; a predicate destination takes its lowest bit.
    Value(ScalarOp),
    /// A comparison that writes predicates, and how it is combined with the predicate source.
    Compare(CompareOp, Option<BoolOp>),
    /// Arithmetic with the carry flag.
    Carry(CarryOp),
    /// [`ScalarOp::Lop3`] of the first four sources, and a predicate `BoolOp(result ≠ 0, q)`.
    Lop3(BoolOp),
}

impl ScalarOp {
    /// Width of the result in bits: 1 (a predicate) to 64.
    pub const fn result_bits(self) -> u32 {
        use ScalarOp::*;
        match self {
            Mov(bits)
            | Logic(_, bits)
            | Selp(bits)
            | SlctInt(bits)
            | SlctFloat(bits, _)
            | Extract(_, bits) => bits as u32,
            Int(op, ty) => int_result(op, ty),
            Set(CompareOp::Packed(..), _, _) => 32,
            Set(_, SetType::U16 | SetType::S16 | SetType::F16 | SetType::Bf16, _) => 16,
            Float(_, ty, lanes, _, _) | Approx(_, ty, lanes, _) => ty.bits() * lanes.count(),
            Testp(..) => 1,
            CvtInt(to, ..) | CvtFloatToInt(to, ..) => to.bits(),
            CvtIntToFloat(to, ..) | CvtFloat(to, ..) | CvtIntegral(to, ..) => to.bits(),
            CvtPack(to, lanes, ..) => to.lane_bits() * lanes.count(),
            CvtRepack(to, ..) => to.lane_bits() * 2,
            Pack(bits, parts) => {
                let all = bits as u32 * parts as u32;
                if all > 64 { 64 } else { all }
            }
            _ => 32,
        }
    }

    /// Whether the result is a signed integer, by whose sign a wider destination is extended.
    pub const fn signed_result(self) -> bool {
        use ScalarOp::*;
        match self {
            Int(op, ty) => {
                ty.signed() && !matches!(op, IntOp::Popc | IntOp::Clz | IntOp::Bfind | IntOp::BfindShift)
            }
            CvtInt(to, ..) | CvtFloatToInt(to, ..) => to.signed(),
            Set(_, ty, _) => matches!(ty, SetType::S16 | SetType::S32),
            Video(_, signs, _) | VideoMad(signs, _) => signs.has(Signs::D),
            _ => false,
        }
    }

    /// The number of sources: 1 to 4.
    pub const fn sources(self) -> usize {
        use ScalarOp::*;
        match self {
            Int(op, _) | IntPacked(op, _) => op.sources(),
            Logic(LogicOp::And | LogicOp::Or | LogicOp::Xor, _) => 2,
            Lop3 => 4,
            Fns | Dp4a(..) | Dp2a(..) | Shf(..) | Prmt(_) | Selp(_) | SlctInt(_) | SlctFloat(..) => 3,
            Set(_, _, bool) => 2 + bool.is_some() as usize,
            Bmsk(_) => 2,
            Float(op, ..) | Mixed(op, ..) => op.sources(),
            Approx(Approximation::Div, ..) => 2,
            CvtPack(_, _, rounding, _, scaled) => {
                2 + (matches!(rounding, Rounding::Stochastic) || scaled) as usize
            }
            CvtRepack(_, _, _, _, scaled) => 1 + scaled as usize,
            CvtPackInt(_, merge) => 2 + merge as usize,
            Pack(_, parts) => parts as usize,
            Video(_, _, second) => 2 + !matches!(second, Second::None) as usize,
            VideoMad(..) | VideoPacked(..) => 3,
            _ => 1,
        }
    }
}

const fn int_result(op: IntOp, ty: Int) -> u32 {
    match op {
        IntOp::Popc | IntOp::Clz | IntOp::Bfind | IntOp::BfindShift => 32,
        IntOp::MulWide | IntOp::MadWide => ty.bits() * 2,
        _ => ty.bits(),
    }
}
