//! Variables: where they lie, how large they are, how they are aligned.

use crate::source::Span;
use crate::syntax::ast::{Const, Declarator, Variable as Declaration};
use crate::syntax::names::Symbol;
use crate::types::{Linkage, Space, Type};

/// A variable in memory, or a parameter.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub symbol: Symbol,
    /// Where the name stands in the declaration.
    pub span: Span,
    /// The state space.
    pub space: Space,
    /// The element type.
    pub ty: Type,
    /// Alignment in bytes: as declared, else the natural one of its type.
    pub align: u32,
    /// Whether the alignment is spelled out.
    pub declared_align: bool,
    /// Size in bytes; `None` for `[]` (dynamic shared memory, the last parameter).
    pub size: Option<u64>,
    /// `.extern`
    pub external: bool,
    /// The item of the function that it belongs to; none at module level.
    pub function: Option<u32>,
    /// A parameter of its function.
    pub parameter: bool,
    /// It has an initialiser.
    pub initialized: bool,
}

impl Variable {
    /// The variable that `declarator` of `declaration` declares.
    pub fn new(
        declaration: &Declaration,
        declarator: &Declarator,
        function: Option<u32>,
        parameter: bool,
    ) -> Variable {
        let element = declaration.ty.bytes() * u32::from(declaration.vector.max(1));
        let align = declaration.align.and_then(constant).filter(|n| n.is_power_of_two());
        let dimensions = declarator.dimensions.iter();
        let count = dimensions
            .map(|d| d.and_then(constant))
            .try_fold(1u64, |product, dimension| product.checked_mul(u64::from(dimension?)));
        Variable {
            symbol: declarator.name.symbol,
            span: declarator.name.span,
            space: declaration.space,
            ty: declaration.ty,
            align: align.unwrap_or(element.next_power_of_two()),
            declared_align: align.is_some(),
            size: count.and_then(|count| count.checked_mul(element.into())),
            external: declaration.linkage.is_some_and(|(linkage, _)| linkage == Linkage::Extern),
            function,
            parameter,
            initialized: declarator.initializer.is_some(),
        }
    }
}

/// A constant as a `u32`, if it is one.
pub fn constant(value: Const) -> Option<u32> {
    value.value.int().and_then(|n| n.try_into().ok())
}
