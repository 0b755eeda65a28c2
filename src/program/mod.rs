//! A module with its names resolved, its operands typed and its instructions matched against the
//! table. This layer holds facts and problems, no prose: [`crate::check`] explains them.

pub mod comment;
pub mod flow;
pub mod header;
mod label;
pub mod lanes;
pub mod layout;
pub mod meaning;
pub mod outside;
mod resolve;
mod scope;
pub mod value;
#[cfg(test)]
mod value_tests;
pub mod variable;

use std::ops::Range;

use crate::isa::operand::Mismatch;
use crate::isa::{self, Arg, Form, Needs, RowMatch, TargetId, TargetSet, Version};
use crate::source::Span;
use crate::syntax::ast::{Component, ConstValue, Function, Instruction, Item, Module, StatementKind};
use crate::syntax::names::Symbol;
use crate::types::Type;

pub use header::Header;
pub use outside::Surroundings;
pub use variable::Variable;

/// Overrides of what the file says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// In place of `.target`.
    pub target: Option<TargetId>,
    /// In place of `.version`.
    pub version: Option<Version>,
}

/// A module, understood.
#[derive(Debug)]
pub struct Program {
    /// The tree it was made from.
    pub module: Module,
    /// Version, target and address size.
    pub header: Header,
    /// Variables of all spaces but registers, parameters included.
    pub variables: Vec<Variable>,
    /// What each distinct opcode of the module means, in the order of [`Module::opcodes`].
    pub opcodes: Vec<isa::Opcode>,
    /// One for each function with a body, in order.
    pub routines: Vec<Routine>,
    /// What could not be resolved.
    pub problems: Vec<Problem>,
}

/// Index of a register within its routine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct RegisterId(pub u32);

/// Index into [`Program::variables`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct VariableId(pub u32);

/// Index of a label within its routine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// A register.
#[derive(Clone, Debug)]
pub struct Register {
    /// Its name.
    pub symbol: Symbol,
    /// The (element) type.
    pub ty: Type,
    /// Number of elements; 1 for a scalar.
    pub vector: u8,
    /// Where it is declared.
    pub span: Span,
}

/// A label and the instruction that it stands before.
#[derive(Clone, Debug)]
pub struct Label {
    /// Its name.
    pub symbol: Symbol,
    /// Where it stands.
    pub span: Span,
    /// Index of the next instruction (the number of instructions at the end of the body).
    pub target: u32,
    /// The labels that a `.branchtargets` lists, or the functions of `.calltargets`; for a prototype
    /// nothing. `None` for an ordinary label.
    pub targets: Option<Vec<Value>>,
}

/// The body of a function.
#[derive(Debug)]
pub struct Routine {
    /// Index into [`Module::items`].
    pub item: u32,
    /// Its registers, in order of first use.
    pub registers: Vec<Register>,
    /// Its labels, target lists and prototypes, in order.
    pub labels: Vec<Label>,
    /// Its instructions, in order.
    pub instructions: Vec<Inst>,
    /// The operands of its instructions.
    pub values: Vec<Value>,
    /// The registers that come from outside, by their place among [`outside::Surroundings::names`].
    pub outside: Vec<(RegisterId, u16)>,
}

/// An instruction, matched.
#[derive(Clone, Debug)]
pub struct Inst {
    /// Index of its statement in the function's body.
    pub statement: u32,
    /// Number of operands.
    pub operands: u16,
    /// How it fits the table.
    pub fit: Fit,
    /// First of its operands in [`Routine::values`]; parts of operands follow the operands.
    pub first: u32,
    /// The guard: the predicate, and whether it is negated.
    pub guard: Option<(RegisterId, bool)>,
}

/// How an instruction fits the table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fit {
    /// Row number `.0` of its opcode's rows, and its gates are met.
    Row(u8),
    /// Row number `.0`, but version or target do not suffice.
    Gated(u8),
    /// Modifiers fit row number `.0`, operand `.1` does not.
    Operand(u8, u8),
    /// Nothing is known of it: unknown, opaque, or its operands could not be read.
    Unknown,
}

/// An operand, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A register.
    Register(RegisterId),
    /// An element of a vector register.
    Component(RegisterId, Component),
    /// `!p`
    Not(RegisterId),
    /// `-r` (video instructions)
    Negated(RegisterId),
    /// A special register, by its index in the table.
    Special(u16, Option<Component>),
    /// A constant.
    Const(ConstValue),
    /// A constant whose value is not known here.
    UnknownConst,
    /// The address of a variable, plus bytes.
    Variable(VariableId, i64),
    /// An element of an array: the variable.
    Element(VariableId),
    /// A label, target list or prototype.
    Label(LabelId),
    /// A function: its item.
    Function(u32),
    /// `_`
    Sink,
    /// `{…}`: index of the first part, number of parts.
    Vector(u32, u16),
    /// `a|b`: index of the first of two parts.
    Pair(u32),
    /// `[base + offset]`
    Address(Base, i64),
    /// `[base + offset, …]`: index of the first further part, number of parts.
    Compound(Base, i64, u32, u16),
    /// `(…)`: index of the first part, number of parts.
    Group(u32, u16),
    /// Something a [`Problem`] or a syntax error speaks of.
    Unknown,
}

/// What an address starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A register.
    Register(RegisterId),
    /// A variable.
    Variable(VariableId),
    /// Nothing: `[16]`.
    Constant,
    /// Something that a [`Problem`] speaks of.
    Unknown,
}

/// Something that could not be resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where.
    pub span: Span,
    /// The name in question.
    pub symbol: Symbol,
    /// What.
    pub kind: ProblemKind,
}

/// The kinds of [`Problem`].
#[derive(Clone, Debug, PartialEq)]
pub enum ProblemKind {
    /// Nothing of that name is declared.
    UnknownName,
    /// It is declared only later.
    DeclaredLater(Span),
    /// It is declared only inside of a scope that is not open here.
    DeclaredInside(Span),
    /// More operands than any instruction has.
    TooManyOperands,
    /// `%r8` of `%r<8>`: the base name in its declaration, and how many there are.
    OutsideGroup(Span, u32),
    /// The name is declared a second time in one scope.
    Duplicate(Span),
    /// The label stands a second time in one scope.
    DuplicateLabel(Span),
    /// No such label can be reached; elsewhere one of the name may stand.
    UnknownLabel(Option<Span>),
    /// The guard is no predicate register.
    GuardType(Type),
    /// The guard is no register at all.
    GuardNotRegister,
    /// A label, function or special register where an address is wanted.
    NotAnAddress,
    /// A component of something that is no register.
    NoComponents,
    /// A component of a scalar register.
    NotAVector(Type),
    /// A function is defined twice.
    DuplicateFunction(Span),
    /// `.shared`, `.local` or another space with an initialiser.
    InitializerSpace,
    /// The initialiser names a variable that is neither global nor constant.
    InitializerAddress,
}

impl Program {
    /// Resolves `module`.
    pub fn new(module: Module, options: Options) -> Program {
        resolve::program(module, Header::new, options, Surroundings::default())
    }

    /// Resolves statements that stand in something else, such as an `asm` statement of a 64-bit program.
    pub fn of_statements(module: Module, options: Options, surroundings: Surroundings) -> Program {
        let header = |module: &Module, options| Header {
            address_size: 64,
            is_statement: true,
            ..Header::new(module, options)
        };
        resolve::program(module, header, options, surroundings)
    }

    /// The function of `routine`.
    pub fn function(&self, routine: &Routine) -> &Function {
        match &self.module.items[routine.item as usize] {
            Item::Function(function) => function,
            _ => unreachable!("a routine is made from a function"),
        }
    }

    /// The syntax of `inst`.
    pub fn syntax(&self, routine: &Routine, inst: &Inst) -> &Instruction {
        let body = self.function(routine).body.as_ref();
        match body.map(|body| &body.statements[inst.statement as usize].kind) {
            Some(StatementKind::Instruction(instruction)) => instruction,
            _ => unreachable!("an instruction is made from an instruction statement"),
        }
    }

    /// The whole span of `inst`, guard and `;` included.
    pub fn span(&self, routine: &Routine, inst: &Inst) -> Span {
        let body = self.function(routine).body.as_ref();
        body.map_or(Span::empty(0), |body| body.statements[inst.statement as usize].span)
    }

    /// The span of operand `index` of `inst` (of the opcode when there is none).
    pub fn operand_span(&self, routine: &Routine, inst: &Inst, index: usize) -> Span {
        let syntax = self.syntax(routine, inst);
        self.module.operands(syntax).get(index).map_or(syntax.opcode_span, |operand| operand.span)
    }

    /// The row that `inst` fits, whether its gates are met or not.
    pub fn row(&self, routine: &Routine, inst: &Inst) -> Option<&RowMatch> {
        match inst.fit {
            Fit::Row(row) | Fit::Gated(row) => self.candidate(routine, inst, row),
            Fit::Operand(..) | Fit::Unknown => None,
        }
    }

    /// Row number `row` of those that `inst`'s opcode fits.
    pub fn candidate(&self, routine: &Routine, inst: &Inst, row: u8) -> Option<&RowMatch> {
        match &self.opcodes[self.syntax(routine, inst).opcode.0 as usize] {
            isa::Opcode::Known { rows, .. } => rows.get(row as usize),
            _ => None,
        }
    }

    /// The form of `inst`, if it fits the table.
    pub fn form(&self, routine: &Routine, inst: &Inst) -> Option<Form> {
        self.row(routine, inst).map(RowMatch::form)
    }

    /// Matches the operands of `inst` against `row` once more.
    pub fn fit(&self, routine: &Routine, inst: &Inst, row: &RowMatch) -> Result<Needs, Mismatch> {
        let actual = resolve::actuals(self, routine, inst);
        isa::operand::fit(row, &actual, inst.operands as usize)
    }

    /// What `needs` asks for is met by the file (an unknown version or target meets all).
    pub fn meets(&self, needs: Needs) -> bool {
        self.header.meets(needs)
    }
}

impl Routine {
    /// The operands of `inst`.
    pub fn operands(&self, inst: &Inst) -> &[Value] {
        &self.values[inst.first as usize..inst.first as usize + inst.operands as usize]
    }

    /// The parts of a vector, pair, compound address or group.
    pub fn parts(&self, value: Value) -> &[Value] {
        let range: Range<usize> = match value {
            Value::Vector(first, count) | Value::Group(first, count) => {
                first as usize..first as usize + count as usize
            }
            Value::Compound(_, _, first, count) => first as usize..first as usize + count as usize,
            Value::Pair(first) => first as usize..first as usize + 2,
            _ => 0..0,
        };
        &self.values[range]
    }

    /// The number of the outside name that `id` stands for.
    pub fn outside(&self, id: RegisterId) -> Option<usize> {
        let found = self.outside.iter().find(|(register, _)| *register == id);
        found.map(|(_, number)| usize::from(*number))
    }

    /// The register `id`.
    pub fn register(&self, id: RegisterId) -> &Register {
        &self.registers[id.0 as usize]
    }
}

/// The operand called `arg` of an instruction that fits `row`.
pub fn operand_index(row: &RowMatch, arg: Arg) -> Option<usize> {
    row.row.operands.iter().position(|operand| operand.arg == arg)
}

impl Header {
    /// The targets that the file may run on: its own, or all when it names none that is known.
    pub fn targets(&self) -> TargetSet {
        match self.target {
            Some(target) => TargetSet(1 << target.0),
            None => TargetSet::every(),
        }
    }
}
