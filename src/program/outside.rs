//! Names that a text uses and something around it declares: the operands of an `asm` statement.

use crate::source::Span;
use crate::syntax::ast::ConstValue;
use crate::types::Type;

/// What a name that comes from outside stands for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Meaning {
    /// A register.
    Register(Type),
    /// A constant; `None`: of a value that is not known here.
    Constant(Option<ConstValue>),
    /// Something of which nothing is known: it fits everywhere.
    Anything,
}

/// A name and what it stands for.
#[derive(Clone, PartialEq, Debug)]
pub struct Outside {
    /// As the text spells it.
    pub name: String,
    /// What it stands for.
    pub meaning: Meaning,
    /// What messages show as its declaration: a place behind the end of the text, which the caller knows
    /// how to read.
    pub span: Span,
}

/// All that a text takes from around it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Surroundings<'a> {
    /// The names that are known.
    pub names: &'a [Outside],
    /// There may be others: a name that is declared nowhere is no fault.
    pub more: bool,
}
