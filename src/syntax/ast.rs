//! The syntax tree of a PTX module.
//!
//! Everything is kept flat: a function's statements are one list in which `{` and `}` are statements
//! that know their partner, and all operands of a module stand in one vector. So no input, however
//! deeply nested, can overflow the stack, and a tree costs a few bytes for each byte of text.
//! Nothing here knows any instruction by name.

use std::ops::Range;
use std::sync::Arc;

use super::names::{Names, Symbol};
use crate::source::{SourceFile, Span};
use crate::types::{Linkage, Space, Type};

/// A whole file.
#[derive(Debug)]
pub struct Module {
    /// The text that was parsed.
    pub source: Arc<SourceFile>,
    /// Every identifier of the file.
    pub names: Names,
    /// Every distinct spelling of an opcode with its modifiers.
    pub opcodes: Vec<Opcode>,
    /// The operands of all instructions, one after the other.
    pub operands: Vec<Operand>,
    /// Module-level items in order.
    pub items: Vec<Item>,
    /// Every comment, in order, delimiters included; also a preprocessor's line markers
    /// (`# 1 "file"`), which may stand anywhere and mean nothing.
    pub comments: Vec<Span>,
}

impl Module {
    /// The text under `span`.
    pub fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }

    /// The spelling of `symbol`.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.text(symbol)
    }

    /// The operands of `instruction`.
    pub fn operands(&self, instruction: &Instruction) -> &[Operand] {
        &self.operands[instruction.operands.start as usize..instruction.operands.end as usize]
    }

    /// The opcode of `instruction`.
    pub fn opcode(&self, instruction: &Instruction) -> &Opcode {
        &self.opcodes[instruction.opcode.0 as usize]
    }

    /// The functions in order.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(&**function),
            _ => None,
        })
    }
}

/// An identifier and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Which.
    pub symbol: Symbol,
    /// Where.
    pub span: Span,
}

/// A module-level item.
#[derive(Debug)]
pub enum Item {
    /// `.version M.m`
    Version(VersionDirective),
    /// `.target a, b`
    Target(TargetDirective),
    /// `.address_size 64`
    AddressSize(AddressSize),
    /// A variable declaration.
    Variable(Box<Variable>),
    /// A function or kernel, declared or defined.
    Function(Box<Function>),
    /// `.file`, `.pragma`, `.alias`, `.language` … : a directive that ends at `;` or the line.
    Directive(Box<Directive>),
    /// `.section name { … }`
    Section(Section),
    /// Text that could not be read; a diagnostic says why.
    Error(Span),
}

/// `.version M.m`
#[derive(Clone, Debug)]
pub struct VersionDirective {
    /// The whole directive.
    pub span: Span,
    /// The number's text, e.g. `8.0`.
    pub number: Span,
    /// Major and minor number, where the text is of the form `M.m` (`9.05` reads as 9.5, as ptxas reads it).
    pub version: Option<(u32, u32)>,
}

/// `.target sm_90a, debug`
#[derive(Clone, Debug)]
pub struct TargetDirective {
    /// The whole directive.
    pub span: Span,
    /// The listed words.
    pub words: Vec<Name>,
}

/// `.address_size 64`
#[derive(Clone, Debug)]
pub struct AddressSize {
    /// The whole directive.
    pub span: Span,
    /// The number.
    pub size: Const,
}

/// A directive with loosely typed arguments: `.maxntid 128, 1, 1`, `.pragma "nounroll";`,
/// `.file 1 "a.cu"`, `.loc 1 5 0`, `.alias a, b;`.
#[derive(Clone, Debug)]
pub struct Directive {
    /// The whole directive.
    pub span: Span,
    /// Its word, dot included.
    pub name: Name,
    /// Its arguments.
    pub arguments: Vec<DirectiveArgument>,
}

/// An argument of a [`Directive`].
#[derive(Clone, Debug)]
pub enum DirectiveArgument {
    /// A number or constant expression.
    Const(Const),
    /// A string literal, quotes included.
    String(Span),
    /// An identifier.
    Name(Name),
}

/// `.section name { … }`: debug data, kept as text.
#[derive(Clone, Debug)]
pub struct Section {
    /// The whole section.
    pub span: Span,
    /// Its name (may start with a dot).
    pub name: Name,
    /// What stands between the braces.
    pub body: Span,
}

/// A declaration of one or more variables or registers.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The whole declaration, `;` included.
    pub span: Span,
    /// `.extern` and so on.
    pub linkage: Option<(Linkage, Span)>,
    /// The state space.
    pub space: Space,
    /// Where the state space stands.
    pub space_span: Span,
    /// `.align N`, in bytes.
    pub align: Option<Const>,
    /// `.ptr .global .align 16` of a kernel parameter.
    pub pointer: Option<PointerAttribute>,
    /// `.attribute(…)` clauses.
    pub attributes: Vec<Span>,
    /// `.v2`, `.v4` (or `.v8`): elements of a vector; 1 for a scalar.
    pub vector: u8,
    /// The element type.
    pub ty: Type,
    /// Where the type stands.
    pub type_span: Span,
    /// The declared names.
    pub declarators: Vec<Declarator>,
}

/// What `.ptr` says of a kernel parameter.
#[derive(Clone, Copy, Debug)]
pub struct PointerAttribute {
    /// The state space it points to, generic if none.
    pub space: Option<Space>,
    /// The alignment of the object pointed to, in bytes.
    pub align: Option<Const>,
}

/// One name of a [`Variable`].
#[derive(Clone, Debug)]
pub struct Declarator {
    /// The name (for `%r<8>`: `%r`). `_` for an unnamed parameter of a prototype.
    pub name: Name,
    /// The `8` of `%r<8>`.
    pub count: Option<Const>,
    /// Array dimensions; `None` for `[]`.
    pub dimensions: Vec<Option<Const>>,
    /// The initialiser.
    pub initializer: Option<Initializer>,
}

/// An initialiser.
#[derive(Clone, Debug)]
pub enum Initializer {
    /// A constant.
    Const(Const),
    /// `sym`, `sym+4`, `generic(sym)+4`, `0xff(sym)`.
    Address {
        /// The whole.
        span: Span,
        /// The named variable or function.
        symbol: Name,
        /// Whether it stands in `generic(…)`.
        generic: bool,
        /// The byte offset.
        offset: i64,
        /// The byte mask of `0xFF00(…)`.
        mask: Option<u64>,
    },
    /// `{ a, b, … }`
    List(Span, Vec<Initializer>),
}

/// A kernel or function.
#[derive(Debug)]
pub struct Function {
    /// From the linkage word to `}` or `;`.
    pub span: Span,
    /// `.visible` and so on.
    pub linkage: Option<(Linkage, Span)>,
    /// `.entry` (a kernel) rather than `.func`.
    pub is_entry: bool,
    /// Its name.
    pub name: Name,
    /// Return parameters of a `.func`.
    pub returns: Vec<Variable>,
    /// Parameters.
    pub parameters: Vec<Variable>,
    /// `.maxntid` and so on, between header and body.
    pub directives: Vec<Directive>,
    /// The body, if this is a definition.
    pub body: Option<Body>,
}

/// A function's body.
#[derive(Debug)]
pub struct Body {
    /// Its `{`.
    pub open: Span,
    /// Its `}` (empty at the end of the file when it is missing).
    pub close: Span,
    /// Everything between, in order.
    pub statements: Vec<Statement>,
}

/// One statement of a body.
#[derive(Debug)]
pub struct Statement {
    /// The whole statement, `;` included.
    pub span: Span,
    /// Which.
    pub kind: StatementKind,
}

/// The kinds of [`Statement`].
#[derive(Debug)]
pub enum StatementKind {
    /// `name:`
    Label(Name),
    /// An instruction.
    Instruction(Instruction),
    /// A declaration.
    Variable(Box<Variable>),
    /// `{`; the index of its `}` in the same list (of the list's end when it is missing).
    Open {
        /// Index of the partner.
        close: u32,
    },
    /// `}`; the index of its `{`.
    Close {
        /// Index of the partner; beyond the list where there is none.
        open: u32,
    },
    /// `.pragma`, `.loc`, `.loc_intermediate`.
    Directive(Box<Directive>),
    /// `name: .callprototype …;`
    Prototype(Box<Prototype>),
    /// `name: .calltargets f, g;` or `name: .branchtargets L1, L2;`
    Targets(Box<Targets>),
    /// A stray `;` or text that could not be read; a diagnostic says why.
    Error,
}

/// `proto: .callprototype (.param .b32 _) _ (.param .b64 _);`
#[derive(Debug)]
pub struct Prototype {
    /// The label.
    pub name: Name,
    /// Return parameters.
    pub returns: Vec<Variable>,
    /// Parameters.
    pub parameters: Vec<Variable>,
    /// `.noreturn`, `.abi_preserve N` …
    pub directives: Vec<Directive>,
}

/// `ts: .branchtargets L1, L2;`
#[derive(Debug)]
pub struct Targets {
    /// The label.
    pub name: Name,
    /// `.calltargets` rather than `.branchtargets`.
    pub is_call: bool,
    /// The listed names (`L<5>` stands as its base name with a count).
    pub targets: Vec<(Name, Option<Const>)>,
}

/// Index into [`Module::opcodes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct OpcodeId(pub u32);

/// One distinct spelling: the first word and the modifiers as written, blanks taken out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opcode {
    /// For example `mbarrier.init.shared::cta.b64`.
    pub text: String,
}

impl Opcode {
    /// The first word and each modifier, modifiers with their dot.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let bytes = self.text.as_bytes();
        let mut start = 0;
        std::iter::from_fn(move || {
            if start >= bytes.len() {
                return None;
            }
            let end = (start + 1..bytes.len()).find(|&i| bytes[i] == b'.').unwrap_or(bytes.len());
            let word = &self.text[start..end];
            start = end;
            Some(word)
        })
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The opcode's spelling.
    pub opcode: OpcodeId,
    /// From the first word to the last modifier (blanks between them included).
    pub opcode_span: Span,
    /// Into [`Module::operands`].
    pub operands: Range<u32>,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// From `@` to the name.
    pub span: Span,
    /// Whether there is a `!`.
    pub negated: bool,
    /// The predicate.
    pub name: Name,
}

/// An operand.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Where.
    pub span: Span,
    /// What.
    pub kind: OperandKind,
}

/// The shapes an operand can have. What a name means (register, variable, label, function, special
/// register) is not known here.
#[derive(Clone, Debug)]
pub enum OperandKind {
    /// `name` or, with a component, `v.x`, `%tid.x`.
    Name {
        /// The name (without the component).
        name: Name,
        /// The part after the dot: `.x`, `.y`, `.z`, `.w`, `.r`, `.g`, `.b`, `.a` …
        component: Option<Component>,
    },
    /// `!name`
    Not(Name),
    /// `-name`, `-name.b0` (video instructions).
    Negated(Box<Operand>),
    /// `_`
    Sink,
    /// A literal or constant expression.
    Const(ConstValue),
    /// `sym+4` (as in `mov` and `mapa`).
    NameOffset {
        /// The variable.
        name: Name,
        /// The byte offset.
        offset: Const,
    },
    /// `s[2]`, `s[%r1]`
    Element {
        /// The array.
        name: Name,
        /// The index.
        index: Box<Operand>,
    },
    /// `{a, b}`
    Vector(Box<[Operand]>),
    /// `p|q`
    Pair(Box<[Operand; 2]>),
    /// `[base+offset]`
    Address(Address),
    /// `[base, {…}, …]`: the address and what follows it.
    Compound(Box<CompoundAddress>),
    /// `(a, b)` in a call.
    Group(Box<[Operand]>),
    /// An operand that could not be read; a diagnostic says why.
    Error,
}

/// A vector component, or the part of a register that a video instruction selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Component {
    /// `.x` or `.r`
    X,
    /// `.y` or `.g`
    Y,
    /// `.z` or `.b`
    Z,
    /// `.w` or `.a`
    W,
    /// `.b0`: a byte of a register (video instructions).
    B0,
    /// `.b1`
    B1,
    /// `.b2`
    B2,
    /// `.b3`
    B3,
    /// `.h0`: a half of a register (video instructions).
    H0,
    /// `.h1`
    H1,
    /// `.b3210`, `.h10`: several bytes or halves (video instructions).
    Several,
}

impl Component {
    /// A byte or half of a scalar register, as video instructions select it.
    pub fn is_part(self) -> bool {
        !matches!(self, Component::X | Component::Y | Component::Z | Component::W)
    }
}

/// What stands in brackets.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// Register or variable; none for `[16]`.
    pub base: Option<Name>,
    /// The byte offset; 0 when none is written.
    pub offset: i64,
    /// Where the offset stands, if one is written.
    pub offset_span: Option<Span>,
}

/// `[map, {c0, c1}]` and the longer forms.
#[derive(Clone, Debug)]
pub struct CompoundAddress {
    /// The first part.
    pub address: Address,
    /// Where the first part stands.
    pub address_span: Span,
    /// The others.
    pub parts: Box<[Operand]>,
}

/// A constant expression's value and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Const {
    /// Where.
    pub span: Span,
    /// Its value.
    pub value: ConstValue,
}

/// The value of a literal or constant expression (PTX ISA §4.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConstValue {
    /// A 64-bit integer: `.s64`, or `.u64` when it carries `U` or does not fit.
    Int {
        /// The bits.
        bits: u64,
        /// Whether it is of type `.u64`.
        unsigned: bool,
    },
    /// `0f3F800000`: these very bits.
    F32(u32),
    /// A double: `1.5`, `0d3FF0…`.
    F64(f64),
}

impl From<i64> for ConstValue {
    fn from(value: i64) -> Self {
        ConstValue::Int { bits: value as u64, unsigned: false }
    }
}

impl ConstValue {
    /// The value of an integer, as a mathematical number.
    pub fn int(self) -> Option<i128> {
        match self {
            ConstValue::Int { bits, unsigned: true } => Some(bits.into()),
            ConstValue::Int { bits, unsigned: false } => Some((bits as i64).into()),
            ConstValue::F32(_) | ConstValue::F64(_) => None,
        }
    }
}
