//! Assembly that stands in the text of other languages, with a map back to that text.
//!
//! Nothing in here knows an instruction: what is found is text, operands and conditions.

mod branch;
pub mod condition;
mod embedded;
pub mod lex;
mod literal;
mod llvm;
mod markdown;
mod mlir;
mod python;
mod rust;
mod scan;
mod statement;
pub mod template;
mod words;

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
    /// Python, with strings of Triton, CuTe DSL and others.
    Python,
    /// Rust, with `asm!`.
    Rust,
    /// MLIR, with `llvm.inline_asm` and its like.
    Mlir,
    /// Markdown, with blocks of PTX.
    Markdown,
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
    ("py", Language::Python),
    ("rs", Language::Rust),
    ("mlir", Language::Mlir),
    ("md", Language::Markdown),
    ("markdown", Language::Markdown),
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

    /// Finds the PTX in `text`; in PTX itself nothing is found.
    pub fn find(self, text: &str) -> Host {
        match self {
            Language::Ptx => Host::default(),
            Language::Cxx => scan(text),
            Language::Python => python::scan(text),
            Language::Rust => rust::scan(text),
            Language::Mlir => mlir::scan(text),
            Language::Markdown => markdown::scan(text),
        }
    }
}

/// What the text of a language around PTX holds.
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
    /// Whole modules.
    pub modules: Vec<Module>,
    /// How many statements could not be read.
    pub unread: usize,
    /// The text has code for a GPU.
    pub is_cuda: bool,
}

/// A whole module within a text.
#[derive(Clone, PartialEq, Debug)]
pub struct Module {
    /// The literal or block that holds it.
    pub span: Span,
    /// Its text.
    pub template: Template,
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
    /// A number, or something that a condition can ask for.
    Value(Expression),
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
    /// It stands behind what may be a declarator, so that it may name a symbol.
    pub declarator: bool,
    /// The function, or else the macro, that it stands in: its name.
    pub function: Option<Span>,
    /// What must hold for it to be compiled.
    pub guards: Vec<Guard>,
    /// Macros that are called around it, whose earlier argument is this name.
    pub arguments: Vec<String>,
    /// The statement; several where `#if` stands within it.
    pub variants: Vec<Variant>,
    /// These are all; else there are more than are looked at.
    pub complete: bool,
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
    /// `"memory"` is among the clobbers, or may be.
    pub memory: bool,
    /// A register of some processor is among them.
    pub clobbers_registers: bool,
    /// It is a part of some text: names may be declared outside of it.
    pub excerpt: bool,
}

impl Asm {
    /// A statement of a language in which its order against other code is no matter of the statement.
    fn ordered(span: Span, function: Option<Span>, variants: Vec<Variant>) -> Asm {
        Asm {
            span,
            volatile: true,
            declarator: false,
            function,
            guards: Vec::new(),
            arguments: Vec::new(),
            variants,
            complete: true,
        }
    }
}

impl Variant {
    /// A statement of such a language; of unknown operands the numbers mean nothing.
    fn ordered(template: Template, operands: Option<Vec<Operand>>) -> Variant {
        Variant {
            guards: Vec::new(),
            template,
            operands_known: if operands.is_some() { usize::MAX } else { 0 },
            operands: operands.unwrap_or_default(),
            memory: true,
            clobbers_registers: false,
            excerpt: false,
        }
    }
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
