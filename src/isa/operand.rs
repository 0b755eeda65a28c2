//! From an instruction's operands to the row that they fit, or to the operand that does not fit.

use super::opcode::{Needs, RowMatch};
use super::table::{
    Access, AddressSpec, Constants, Extent, Length, Mod, Operand, Shape, SpaceSpec, SymbolSpec, TypeSpec,
    Value, ValueRange,
};
use crate::types::{Space, Type, TypeClass};

/// An operand as the program has it, reduced to what the table can judge. Parts of vectors, pairs and
/// compound addresses stand in the same list, behind the operands themselves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Actual {
    /// A register; `vector` is its number of elements (1: scalar).
    Register {
        /// The (element) type.
        ty: Type,
        /// Number of elements.
        vector: u8,
    },
    /// A special register.
    Special {
        /// The (element) type.
        ty: Type,
        /// Number of elements.
        vector: u8,
    },
    /// An integer constant.
    Int,
    /// A constant of which nothing else is known.
    Constant,
    /// A floating-point constant, and its width in bits.
    Float(u32),
    /// A variable's name: its address.
    Variable(Space),
    /// `sym+4`: an address that ptxas takes wherever a constant can stand.
    VariableOffset(Space),
    /// An element of an array: `s[2]`.
    Element(Space),
    /// A label.
    Label,
    /// A function.
    Function,
    /// `_`
    Sink,
    /// `!p`, with the type of the register.
    Not(Type),
    /// `-r`
    Negated,
    /// `{…}`: first part and number of parts.
    Vector(u16, u16),
    /// `a|b`: the parts.
    Pair(u16, u16),
    /// `[…]`
    Address(Base),
    /// `[base, …]`: the base, first part and number of parts.
    Compound(Base, u16, u16),
    /// `(…)` of a call.
    Group,
    /// Something that another diagnostic speaks about: fits everywhere.
    Unknown,
}

/// What an address starts with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Base {
    /// A register of this type.
    Register(Type),
    /// A variable.
    Variable(Space),
    /// Nothing: `[16]`.
    Constant,
    /// Something that another diagnostic speaks about.
    Unknown,
}

/// Why an operand does not fit a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mismatch {
    /// Which operand, from 0; the number of operands when there are too few.
    pub index: usize,
    /// Which part of it, for vectors, pairs and compound addresses.
    pub part: Option<usize>,
    /// Which element of that part, for vectors in compound addresses.
    pub element: Option<usize>,
    /// What is wrong.
    pub reason: Reason,
}

/// What is wrong with an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reason {
    /// The row takes another number of operands.
    Count,
    /// A register or constant of this type is expected.
    Type(Type),
    /// An operand of quite another shape is expected.
    Shape,
    /// A constant where only a register will do.
    NeedsRegister,
    /// A register where only a constant will do.
    NeedsConstant,
    /// `_` where a result is needed.
    NoSink,
    /// A register where only `_` will do.
    OnlySink,
    /// A special register where none is taken.
    Special,
    /// `!` where it is not taken.
    Negation,
    /// The second half of `a|b` is missing.
    NoSecond,
    /// A vector of another length is expected.
    Length(u32),
    /// The address register has an impossible type.
    AddressType,
    /// The variable lies in another state space; this one is expected (`None`: any memory).
    Space(Option<Space>),
    /// `[16]` outside of local memory.
    ConstantAddress,
}

/// Matches `actual[..count]` against the row: what the present operands need, or the first misfit.
pub fn fit(found: &RowMatch, actual: &[Actual], count: usize) -> Result<Needs, Mismatch> {
    let row = found.row;
    let mut fit = Fit { found, actual, needs: found.needs };
    for (index, (spec, given)) in row.operands.iter().zip(&actual[..count]).enumerate() {
        if matches!(spec.shape, Shape::Rest) {
            return Ok(fit.needs);
        }
        fit.operand(spec, *given).map_err(|Misfit { part, element, reason }| Mismatch {
            index,
            part,
            element,
            reason,
        })?;
    }
    if !row.counts.iter().any(|&allowed| usize::from(allowed) == count) {
        let index = count.min(row.operands.len());
        return Err(Mismatch { index, part: None, element: None, reason: Reason::Count });
    }
    Ok(fit.needs)
}

/// A mismatch within one operand.
struct Misfit {
    part: Option<usize>,
    element: Option<usize>,
    reason: Reason,
}

impl Misfit {
    fn whole(reason: Reason) -> Misfit {
        Misfit { part: None, element: None, reason }
    }

    /// The same, seen from an operand whose part number `part` it is.
    fn within(self, part: usize) -> Misfit {
        Misfit { part: Some(part), element: self.part, reason: self.reason }
    }
}

struct Fit<'a> {
    found: &'a RowMatch,
    actual: &'a [Actual],
    needs: Needs,
}

impl Fit<'_> {
    fn operand(&mut self, spec: &Operand, given: Actual) -> Result<(), Misfit> {
        self.needs = self.needs.and(spec.gate);
        let whole = Misfit::whole;
        if given == Actual::Unknown {
            return Ok(());
        }
        // `d|_` is the same as `d` for ptxas, whatever the instruction.
        if let (Shape::Value(_), Actual::Pair(first, second)) = (&spec.shape, given)
            && spec.access == Access::Write
            && self.actual[second as usize] == Actual::Sink
        {
            return self.operand(spec, self.actual[first as usize]);
        }
        match (&spec.shape, given) {
            (Shape::Any | Shape::Rest, _) => Ok(()),
            (Shape::Value(value), Actual::Vector(first, 1)) if value.braces => {
                let given = self.actual[usize::from(first)];
                if matches!(given, Actual::Int | Actual::Float(_) | Actual::Constant) {
                    return Err(Misfit::whole(Reason::NeedsRegister).within(0));
                }
                self.element(value, spec.access, given).map_err(|reason| Misfit::whole(reason).within(0))
            }
            (Shape::Value(value), _) => self.value(value, spec.access, given).map_err(whole),
            (Shape::Sink(gate), Actual::Sink) => {
                self.needs = self.needs.and(*gate);
                Ok(())
            }
            (Shape::Sink(_), Actual::Register { .. }) => Err(whole(Reason::OnlySink)),
            (Shape::Vector(value, length), Actual::Vector(first, count)) => {
                self.vector(value, *length, spec.access, first, count)
            }
            // A vector register stands for its elements.
            (
                Shape::Vector(value, length),
                Actual::Register { ty, vector } | Actual::Special { ty, vector },
            ) if vector > 1 => {
                if self.length(*length) != u32::from(vector) {
                    return Err(whole(Reason::Length(self.length(*length))));
                }
                self.element(value, spec.access, Actual::Register { ty, vector: 1 }).map_err(whole)
            }
            (Shape::Vector(_, length), _) => Err(whole(Reason::Length(self.length(*length)))),
            (Shape::Pair(a, b, _), Actual::Pair(first, second)) => {
                self.operand(a, self.actual[first as usize]).map_err(|misfit| misfit.within(0))?;
                self.operand(b, self.actual[second as usize]).map_err(|misfit| misfit.within(1))
            }
            (Shape::Pair(a, _, true), _) => self.operand(a, given),
            (Shape::Pair(_, _, false), _) => Err(whole(Reason::NoSecond)),
            (Shape::Address(spec), Actual::Address(base)) => self.address(spec, base).map_err(whole),
            (Shape::Address(spec), Actual::Element(space)) if !spec.mbar => {
                self.address(spec, Base::Variable(space)).map_err(whole)
            }
            (Shape::Compound(spec, parts), Actual::Compound(base, first, count)) => {
                self.address(spec, base).map_err(whole)?;
                if parts.len() != count as usize {
                    return Err(whole(Reason::Shape));
                }
                for (n, part) in parts.iter().enumerate() {
                    let given = self.actual[first as usize + n];
                    self.operand(part, given).map_err(|misfit| misfit.within(n + 1))?;
                }
                Ok(())
            }
            (Shape::Label, Actual::Label) | (Shape::Function, Actual::Function) => Ok(()),
            _ => Err(whole(Reason::Shape)),
        }
    }

    fn vector(
        &mut self,
        value: &Value,
        length: Length,
        access: Access,
        first: u16,
        count: u16,
    ) -> Result<(), Misfit> {
        let expected = self.length(length);
        if expected != u32::from(count) {
            return Err(Misfit::whole(Reason::Length(expected)));
        }
        for n in 0..count {
            let given = self.actual[usize::from(first) + usize::from(n)];
            self.element(value, access, given).map_err(|reason| Misfit::whole(reason).within(n as usize))?;
        }
        Ok(())
    }

    /// Like a value; but ptxas takes an integer register for a floating-point element of its size.
    fn element(&mut self, value: &Value, access: Access, given: Actual) -> Result<(), Reason> {
        let ty = self.ty(value.ty);
        match given {
            Actual::Register { ty: register, vector: 1 }
                if ty.class() == TypeClass::Float
                    && register.class() == TypeClass::Integer
                    && register.bits() == ty.bits() =>
            {
                Ok(())
            }
            _ => self.value(value, access, given),
        }
    }

    fn value(&mut self, value: &Value, access: Access, given: Actual) -> Result<(), Reason> {
        let ty = self.ty(value.ty);
        let takes_constant = access == Access::Read && value.constants != Constants::Never;
        match given {
            Actual::Unknown => Ok(()),
            Actual::Sink => {
                self.needs = self.needs.and(value.sink.ok_or(Reason::NoSink)?);
                Ok(())
            }
            Actual::Register { .. } | Actual::Special { .. } => register(value, ty, given),
            Actual::Not(register) if value.negatable => {
                register_fits(ty, register, false).then_some(()).ok_or(Reason::Type(ty))
            }
            Actual::Not(_) => Err(Reason::Negation),
            Actual::Int | Actual::Float(_) | Actual::Constant if !takes_constant => {
                Err(Reason::NeedsRegister)
            }
            Actual::Int | Actual::Float(_) | Actual::Constant => number(ty, given),
            Actual::Function if takes_constant => Ok(()),
            Actual::Function | Actual::Label if value.symbol == SymbolSpec::Any => Ok(()),
            Actual::VariableOffset(_) if takes_constant && value.symbol == SymbolSpec::No => match ty.class()
            {
                TypeClass::Integer | TypeClass::Bits if ty.bits() >= 32 => Ok(()),
                _ => Err(Reason::Type(ty)),
            },
            Actual::Variable(space) | Actual::VariableOffset(space) | Actual::Element(space) => {
                match value.symbol {
                    SymbolSpec::Any => Ok(()),
                    SymbolSpec::In(wanted) if space == wanted => Ok(()),
                    SymbolSpec::In(wanted) => Err(Reason::Space(Some(wanted))),
                    SymbolSpec::No => Err(Reason::Type(ty)),
                }
            }
            _ => Err(Reason::Type(ty)),
        }
    }

    fn address(&self, spec: &AddressSpec, base: Base) -> Result<(), Reason> {
        let space = self.space(spec.space);
        match base {
            Base::Unknown => Ok(()),
            _ if spec.space == SpaceSpec::Tensor => match base {
                Base::Register(Type::B32 | Type::U32 | Type::S32) => Ok(()),
                _ => Err(Reason::AddressType),
            },
            Base::Constant if space == Some(Space::Local) => Ok(()),
            Base::Constant => Err(Reason::ConstantAddress),
            Base::Register(ty) => match ty.class() {
                TypeClass::Integer | TypeClass::Bits if (16..=64).contains(&ty.bits()) => Ok(()),
                _ => Err(Reason::AddressType),
            },
            Base::Variable(actual) => match space {
                Some(space) if space == actual => Ok(()),
                Some(space) => Err(Reason::Space(Some(space))),
                // A barrier is in shared memory whatever the instruction spells.
                None if spec.space == SpaceSpec::Any => Ok(()),
                None if spec.mbar && actual != Space::Shared => Err(Reason::Space(Some(Space::Shared))),
                // Variables of these spaces have no generic address before `cvta`.
                None if matches!(actual, Space::Const | Space::Param) => Err(Reason::Space(None)),
                None => Ok(()),
            },
        }
    }

    fn ty(&self, spec: TypeSpec) -> Type {
        resolve_type(self.found, spec)
    }

    fn length(&self, length: Length) -> u32 {
        resolve_length(self.found, length)
    }

    fn space(&self, spec: SpaceSpec) -> Option<Space> {
        resolve_space(self.found, spec)
    }
}

/// Whether the register `given`, maybe a special one, may stand for a value of type `ty`.
fn register(value: &Value, ty: Type, given: Actual) -> Result<(), Reason> {
    match given {
        _ if value.constants == Constants::Only => Err(Reason::NeedsConstant),
        Actual::Special { .. } if !value.special => Err(Reason::Special),
        // Before PTX 2.0 `%tid` and its like had 16 bits; code of that time still assembles.
        Actual::Special { ty: Type::U32, vector: 1 } if ty.bits() == 16 => Ok(()),
        Actual::Register { ty: given, vector: 1 } | Actual::Special { ty: given, vector: 1 }
            if register_fits(ty, given, value.wider) =>
        {
            Ok(())
        }
        // ptxas takes a packed register for an integer where the opcode names the type.
        Actual::Register { ty: Type::F16x2, vector: 1 }
            if !matches!(value.ty, TypeSpec::Fixed(_))
                && ty.class() == TypeClass::Integer
                && register_fits(ty, Type::B32, value.wider) =>
        {
            Ok(())
        }
        _ => Err(Reason::Type(ty)),
    }
}

/// Whether the constant `given` may stand for a value of type `ty`.
fn number(ty: Type, given: Actual) -> Result<(), Reason> {
    let fits = match (given, ty.class()) {
        (Actual::Constant, class) => class != TypeClass::Opaque,
        (Actual::Float(_), TypeClass::Float) => true,
        (Actual::Float(bits), TypeClass::Bits) => ty.bits() == bits,
        (Actual::Float(_), _) => false,
        (_, class) => !matches!(class, TypeClass::Float | TypeClass::Opaque),
    };
    if fits { Ok(()) } else { Err(Reason::Type(ty)) }
}

/// The type that `spec` stands for in an instruction (a slot that is left out counts as `.b32`).
pub fn resolve_type(found: &RowMatch, spec: TypeSpec) -> Type {
    let slot_type = |slot: u8| found.meaning(slot as usize).and_then(|m| m.carrier()).unwrap_or(Type::B32);
    match spec {
        TypeSpec::Fixed(ty) => ty,
        TypeSpec::Slot(slot) => slot_type(slot),
        TypeSpec::Double(slot) => match slot_type(slot) {
            Type::U16 => Type::U32,
            Type::S16 => Type::S32,
            Type::B16 => Type::B32,
            Type::U32 => Type::U64,
            Type::S32 => Type::S64,
            Type::F32 => Type::F64,
            Type::B64 => Type::B128,
            other => match other.bits() {
                8 => Type::B16,
                32 => Type::B64,
                _ => Type::B128,
            },
        },
    }
}

/// The length that `length` stands for (a slot that is left out counts 1).
pub fn resolve_length(found: &RowMatch, length: Length) -> u32 {
    let number = |slot: u8| found.meaning(slot as usize).and_then(|m| m.number()).unwrap_or(1);
    match length {
        Length::Fixed(n) => n.into(),
        Length::Slot(slot, less) => number(slot).saturating_sub(less.into()),
        Length::Times(slot, n) => number(slot) * u32::from(n),
        Length::Over(slot, n) => number(slot) / u32::from(n),
    }
}

/// The state space that `spec` stands for; `None`: generic.
pub fn resolve_space(found: &RowMatch, spec: SpaceSpec) -> Option<Space> {
    match spec {
        SpaceSpec::Generic | SpaceSpec::Any | SpaceSpec::Tensor => None,
        SpaceSpec::Fixed(modifier) => modifier.space(),
        SpaceSpec::Slot(slot) => found.meaning(slot as usize).and_then(Mod::space),
    }
}

/// The number of bytes that `extent` stands for, given the constants of the operands.
pub fn resolve_extent(
    found: &RowMatch,
    extent: Extent,
    constant: impl Fn(super::table::Arg) -> Option<u32>,
) -> Option<u32> {
    let slot_bytes = |slot: u8| found.meaning(slot as usize).and_then(|m| m.carrier()).map(|ty| ty.bytes());
    match extent {
        Extent::None => None,
        Extent::Fixed(n) => Some(n),
        Extent::Arg(arg) => constant(arg),
        Extent::Type(slot) => slot_bytes(slot),
        Extent::Vector(slot, vector) => {
            Some(slot_bytes(slot)? * resolve_length(found, Length::Slot(vector, 0)))
        }
    }
}

/// Whether a register of type `register` may stand where an instruction of type `ty` wants one
/// (PTX ISA §9.2, §9.4.1).
pub fn register_fits(ty: Type, register: Type, wider: bool) -> bool {
    let (want, have) = (ty.class(), register.class());
    if want == TypeClass::Predicate || have == TypeClass::Predicate {
        return want == have;
    }
    let size = if wider { register.bits() >= ty.bits() } else { register.bits() == ty.bits() };
    let same_size = register.bits() == ty.bits();
    size && match (want, have) {
        (TypeClass::Opaque, _) | (_, TypeClass::Opaque) => ty == register || want == TypeClass::Bits,
        (TypeClass::Bits, TypeClass::Float) => same_size || wider,
        (TypeClass::Bits, _) | (_, TypeClass::Bits) => true,
        (TypeClass::Integer, TypeClass::Integer) => true,
        (TypeClass::Float, TypeClass::Float) => ty == register,
        _ => false,
    }
}

impl ValueRange {
    /// Whether the constant `value` is in the range; `constant` gives the constants of other operands
    /// (an unknown one excludes nothing).
    pub fn contains(self, value: i128, constant: impl Fn(super::table::Arg) -> Option<i128>) -> bool {
        match self {
            ValueRange::Span { low, high, step } => {
                (i128::from(low)..=i128::from(high)).contains(&value)
                    && value.rem_euclid(step.max(1).into()) == 0
            }
            ValueRange::NonZero => value != 0,
            ValueRange::OneOf(values) => values.iter().any(|&v| i128::from(v) == value),
            ValueRange::UpTo(low, arg) => {
                value >= low.into() && constant(arg).is_none_or(|high| value <= high)
            }
        }
    }
}
