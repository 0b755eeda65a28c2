//! Assembly that stands in the text of other languages, with a map back to that text.
//!
//! Nothing in here knows an instruction: what is found is text, operands and conditions.

pub mod condition;
pub mod lex;
mod literal;
mod scan;
mod statement;
pub mod template;

use rustc_hash::FxHashMap;

use crate::source::Span;
use condition::Expression;
use template::Template;

pub use scan::scan;

/// The language of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// PTX itself.
    Ptx,
    /// C, C++ or CUDA, with `asm` statements.
    Cxx,
}

/// The endings of files that may hold PTX.
const ENDINGS: &[(&str, Language)] = &[
    ("ptx", Language::Ptx),
    ("cu", Language::Cxx),
    ("cuh", Language::Cxx),
    ("h", Language::Cxx),
    ("hpp", Language::Cxx),
    ("cpp", Language::Cxx),
    ("cc", Language::Cxx),
    ("inl", Language::Cxx),
    ("inc", Language::Cxx),
];

impl Language {
    /// The language of files that end in `.ending`.
    pub fn of_ending(ending: &str) -> Option<Language> {
        let known = ENDINGS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
        known.map(|(_, language)| *language)
    }

    /// The endings of files that may hold PTX.
    pub fn endings() -> impl Iterator<Item = &'static str> {
        ENDINGS.iter().map(|(ending, _)| *ending)
    }
}

/// What a text of C, C++ or CUDA holds.
#[derive(Debug, Default)]
pub struct Host {
    /// The `asm` statements, in order.
    pub statements: Vec<Asm>,
    /// Comments that speak to this program.
    pub comments: Vec<Span>,
    /// The distinct conditions of `#if` and its like.
    pub conditions: Vec<Expression>,
    /// Macros that the text defines, with the conditions around each definition.
    pub macros: FxHashMap<String, Vec<Definition>>,
}

/// A condition that must hold, or must not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Guard {
    /// Index into [`Host::conditions`].
    pub condition: u32,
    /// Whether it must hold.
    pub holds: bool,
}

/// A definition of a macro without parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    /// Where it stands.
    pub at: u32,
    /// What must hold for it.
    pub guards: Vec<Guard>,
    /// Its replacement.
    pub body: Body,
}

/// What a macro stands for, as far as it matters.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// String literals and nothing else (perhaps none at all).
    Text(Vec<lex::Token>),
    /// A number.
    Number(i64),
    /// Anything else.
    Other,
    /// It is no macro any more.
    Undefined,
}

/// An `asm` statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Asm {
    /// From `asm` to its `)`.
    pub span: Span,
    /// `volatile` stands behind `asm`.
    pub volatile: bool,
    /// The function, or else the macro, that it stands in: its name.
    pub function: Option<Span>,
    /// What must hold for it to be compiled.
    pub guards: Vec<Guard>,
    /// Macros that are called around it, whose earlier argument is this name.
    pub arguments: Vec<String>,
    /// The statement; several where `#if` stands within it.
    pub variants: Vec<Variant>,
}

/// An `asm` statement as the preprocessor may leave it.
#[derive(Clone, PartialEq, Debug)]
pub struct Variant {
    /// What else must hold for it.
    pub guards: Vec<Guard>,
    /// Its text.
    pub template: Template,
    /// Its operands, outputs first.
    pub operands: Vec<Operand>,
    /// The operand list holds something that cannot be read: numbers from here on mean nothing.
    pub operands_known: usize,
    /// It has a list of operands, be it empty (else `%` is no escape to every compiler).
    pub has_operands: bool,
    /// `"memory"` is among the clobbers, or may be.
    pub memory: bool,
}

/// An operand of an `asm` statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// The whole operand.
    pub span: Span,
    /// The name in brackets.
    pub name: Option<String>,
    /// The constraint's letters; none where they are not known.
    pub constraint: Option<String>,
    /// Where the constraint stands.
    pub constraint_span: Span,
    /// Its value, if it is one number.
    pub value: Option<i64>,
    /// It stands among the outputs.
    pub is_output: bool,
}
