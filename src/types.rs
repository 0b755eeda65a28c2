//! The words that declarations and instructions share: fundamental types, state spaces, linkage.

use std::fmt;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* #[doc = concat!("`", $text, "`")] $variant),* }

        impl $name {
            /// Every value, in order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The PTX spelling, with its dot.
            pub const fn text(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            /// The value spelled `text` (with its dot).
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text())
            }
        }
    };
}

words! {
    /// A fundamental type (PTX ISA §5.2).
    Type {
        B8 = ".b8", B16 = ".b16", B32 = ".b32", B64 = ".b64", B128 = ".b128",
        U8 = ".u8", U16 = ".u16", U32 = ".u32", U64 = ".u64",
        S8 = ".s8", S16 = ".s16", S32 = ".s32", S64 = ".s64",
        F16 = ".f16", F16x2 = ".f16x2", Bf16 = ".bf16", Bf16x2 = ".bf16x2",
        F32 = ".f32", F64 = ".f64", Pred = ".pred",
        TexRef = ".texref", SamplerRef = ".samplerref", SurfRef = ".surfref",
    }
}

/// What kind of bits a [`Type`] promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeClass {
    /// `.bN`: any bits.
    Bits,
    /// `.uN`, `.sN`.
    Integer,
    /// `.f16` … `.f64`, packed forms included.
    Float,
    /// `.pred`.
    Predicate,
    /// `.texref`, `.samplerref`, `.surfref`.
    Opaque,
}

impl Type {
    /// Size in bits; 1 for a predicate, 64 for the opaque texture types.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::B8 | Type::U8 | Type::S8 => 8,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 => 16,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::F16x2 | Type::Bf16x2 => 32,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 64,
            Type::TexRef | Type::SamplerRef | Type::SurfRef => 64,
            Type::B128 => 128,
        }
    }

    /// Size in memory, in bytes (a predicate has none and counts 1).
    pub const fn bytes(self) -> u32 {
        if self.bits() < 8 { 1 } else { self.bits() / 8 }
    }

    /// The kind of bits.
    pub const fn class(self) -> TypeClass {
        match self {
            Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128 => TypeClass::Bits,
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => TypeClass::Integer,
            Type::S8 | Type::S16 | Type::S32 | Type::S64 => TypeClass::Integer,
            Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 | Type::F32 | Type::F64 => TypeClass::Float,
            Type::Pred => TypeClass::Predicate,
            Type::TexRef | Type::SamplerRef | Type::SurfRef => TypeClass::Opaque,
        }
    }

    /// Whether the type is a signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }
}

words! {
    /// A state space (PTX ISA §5.1), as declarations name it. The window qualifiers `::cta` and
    /// `::cluster` belong to instructions, not to declarations.
    Space {
        Reg = ".reg", Sreg = ".sreg", Const = ".const", Global = ".global", Local = ".local",
        Param = ".param", Shared = ".shared", Tex = ".tex",
    }
}

words! {
    /// A linkage word (PTX ISA §11.6).
    Linkage { Extern = ".extern", Visible = ".visible", Weak = ".weak", Common = ".common" }
}
