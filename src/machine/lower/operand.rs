//! Operands: registers to columns and predicates, variables to addresses, constants to bits.

use rustc_hash::FxHashMap;

use super::{Lowered, Lowerer, Unsupported, formals};
use crate::isa::operand::{resolve_space, resolve_type};
use crate::isa::table::{Access, AddressSpec, Mod, Operand, SPECIALS, Shape, SpaceSpec, TypeSpec};
use crate::isa::{Arg, RowMatch};
use crate::machine::code::{
    Address, Base, Clock, Dst, NONE, Op, Own, Pred, RoutineCode, Slot, Space as Window, Src,
};
use crate::machine::scalar::{Int, IntOp, ScalarOp};
use crate::program::{self, Program, Register, RegisterId, Routine, Value, VariableId, operand_index};
use crate::syntax::ast::{Component, ConstValue, Name};
use crate::syntax::names::Symbol;
use crate::types::{Space, Type};

/// A value and the type in which the instruction takes it.
pub(super) type Typed = (Value, Type);

/// The operands of an instruction, parts of pairs still together.
pub(super) struct Operands {
    pub written: Vec<Typed>,
    pub read: Vec<Typed>,
}

/// Where the registers and the local memory of a routine are.
pub(in crate::machine) struct Frame {
    /// The first column of each register, or its predicate.
    places: Vec<u32>,
    /// Columns of all registers.
    pub columns: u32,
    predicates: u32,
    /// Offsets in the frame's local memory: parameters and local variables.
    pub locals: FxHashMap<VariableId, u32>,
    local: u32,
    slots: Vec<Slot>,
    results: usize,
}

impl Frame {
    pub fn new(program: &Program, routine: &Routine, kernel: bool) -> Frame {
        let mut frame = Frame {
            places: Vec::new(),
            columns: 0,
            predicates: 0,
            locals: FxHashMap::default(),
            local: 0,
            slots: Vec::new(),
            results: 0,
        };
        for register in &routine.registers {
            if register.ty == Type::Pred {
                frame.places.push(frame.predicates);
                frame.predicates += 1;
            } else {
                frame.places.push(frame.columns);
                frame.columns += columns_of_register(register);
            }
        }
        // One for intermediate values, and the carry flag.
        frame.predicates += 2;
        for (index, variable) in program.variables.iter().enumerate() {
            let mine = variable.function == Some(routine.item);
            let local = match variable.space {
                Space::Local => true,
                // The parameters of a kernel lie elsewhere.
                Space::Param => !(kernel && variable.parameter),
                _ => false,
            };
            if mine && local {
                let size = variable.size.and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
                let address = frame.local.next_multiple_of(variable.align.clamp(1, 1 << 16));
                frame.locals.insert(VariableId(index as u32), address);
                frame.local = address.saturating_add(size);
            }
        }
        frame.local = frame.local.min(1 << 30).next_multiple_of(16);
        if !kernel {
            (frame.slots, frame.results) = formals(program, &frame, routine);
        }
        frame
    }

    /// What the machine has to know of it.
    pub fn code(self, routine: usize) -> RoutineCode {
        RoutineCode {
            routine: routine as u32,
            entry: 0,
            end: 0,
            columns: self.columns,
            predicates: self.predicates,
            local: self.local,
            formals: self.slots,
            results: self.results,
        }
    }

    /// How many predicates a frame has.
    pub fn predicates(&self) -> u32 {
        self.predicates
    }

    /// The register that a column belongs to, or that is a predicate; none: it is no register's.
    pub fn register_at(&self, routine: &Routine, place: u32, is_predicate: bool) -> Option<RegisterId> {
        let registers = routine.registers.iter().zip(&self.places).enumerate();
        let mut of_kind = registers.filter(|(_, (register, _))| (register.ty == Type::Pred) == is_predicate);
        let found = of_kind.find(|(_, (register, first))| {
            let width = if is_predicate { 1 } else { columns_of_register(register) };
            (**first..**first + width).contains(&place)
        });
        found.map(|(index, _)| RegisterId(index as u32))
    }

    /// The first column of a register, or its predicate.
    pub fn place(&self, register: RegisterId) -> u32 {
        self.places[register.0 as usize]
    }

    /// The index of a predicate register; whether it is one the program has made sure of.
    pub fn predicate(&self, register: RegisterId) -> Option<u32> {
        self.places.get(register.0 as usize).copied()
    }

    pub fn slot_of_register(&self, routine: &Routine, symbol: Symbol) -> Option<Slot> {
        let index = routine.registers.iter().position(|register| register.symbol == symbol)?;
        let register = &routine.registers[index];
        Some(match register.ty {
            Type::Pred => Slot::Predicate(self.places[index]),
            ty => Slot::Columns(self.places[index], columns_of(ty)),
        })
    }

    pub fn slot_of_variable(&self, program: &Program, item: u32, name: Name) -> Option<Slot> {
        let of = |variable: &program::Variable| variable.function == Some(item) && variable.span == name.span;
        let index = program.variables.iter().position(of)?;
        let offset = *self.locals.get(&VariableId(index as u32))?;
        let size = program.variables[index].size.and_then(|size| u32::try_from(size).ok())?;
        Some(Slot::Memory(offset, size))
    }
}

/// Columns that a register takes; vectors of registers lie element by element.
fn columns_of_register(register: &Register) -> u32 {
    u32::from(register.vector.max(1)) * columns_of(register.ty)
}

/// Columns that a register of that type takes.
pub(super) fn columns_of(ty: Type) -> u32 {
    if ty == Type::B128 { 2 } else { 1 }
}

impl<'a> Lowerer<'a, '_> {
    /// The operands of the instruction in hand, vectors as their elements.
    pub(super) fn split(&self, row: &'a RowMatch) -> Lowered<Operands> {
        let mut operands = Operands { written: Vec::new(), read: Vec::new() };
        let values = self.routine.operands(self.inst());
        for (spec, &value) in row.row.operands.iter().zip(values) {
            let list = match spec.access {
                Access::Read => &mut operands.read,
                Access::Write | Access::ReadWrite => &mut operands.written,
            };
            match &spec.shape {
                Shape::Vector(element, _) => {
                    let ty = resolve_type(row, element.ty);
                    list.extend(self.elements(value).into_iter().map(|value| (value, ty)));
                }
                _ => list.push((value, type_of(row, spec))),
            }
        }
        if operands.written.is_empty() { Err(Unsupported) } else { Ok(operands) }
    }

    /// The operand called `arg`, if the instruction has it.
    pub(super) fn operand(&self, row: &RowMatch, arg: Arg) -> Option<Typed> {
        let index = operand_index(row, arg)?;
        let value = *self.routine.operands(self.inst()).get(index)?;
        Some((value, type_of(row, &row.row.operands[index])))
    }

    /// The same as a source.
    pub(super) fn optional(&mut self, row: &RowMatch, arg: Arg) -> Lowered<Option<Src>> {
        self.operand(row, arg).map(|value| self.source(value)).transpose()
    }

    /// The same, where it must be there.
    pub(super) fn required(&mut self, row: &RowMatch, arg: Arg) -> Lowered<Src> {
        self.optional(row, arg)?.ok_or(Unsupported)
    }

    /// The elements of a vector: those listed, or those of a vector register; a single value is its own.
    pub(super) fn elements(&self, value: Value) -> Vec<Value> {
        match value {
            Value::Vector(..) | Value::Group(..) => self.routine.parts(value).to_vec(),
            Value::Register(register) => {
                const COMPONENTS: [Component; 4] = [Component::X, Component::Y, Component::Z, Component::W];
                match self.routine.register(register).vector {
                    0 | 1 => vec![value],
                    n => COMPONENTS[..usize::from(n.min(4))]
                        .iter()
                        .map(|&component| Value::Component(register, component))
                        .collect(),
                }
            }
            Value::Special(special, None) if SPECIALS[special as usize].vector > 1 => {
                [Component::X, Component::Y, Component::Z, Component::W]
                    .map(|component| Value::Special(special, Some(component)))
                    .to_vec()
            }
            _ => vec![value],
        }
    }

    /// Up to four sources; unused ones repeat the first.
    pub(super) fn sources(&mut self, values: &[Typed]) -> Lowered<[Src; 4]> {
        let first = self.source(*values.first().ok_or(Unsupported)?)?;
        let mut sources = [first; 4];
        for (slot, &value) in sources.iter_mut().zip(values).skip(1) {
            *slot = self.source(value)?;
        }
        if values.len() > 4 { Err(Unsupported) } else { Ok(sources) }
    }

    /// A value that is read.
    pub(super) fn source(&mut self, (value, ty): Typed) -> Lowered<Src> {
        match value {
            Value::Register(register) if self.routine.register(register).ty == Type::Pred => {
                Ok(Src::predicate(Pred::new(self.frame.place(register), false)))
            }
            Value::Register(register) => Ok(Src::register(self.frame.place(register))),
            Value::Not(register) => Ok(Src::predicate(Pred::new(self.frame.place(register), true))),
            Value::Component(register, component) => self.component(register, component, ty),
            Value::Special(special, component) => self.special(special, component),
            Value::Const(value) => {
                let bits = constant_bits(value, ty);
                Ok(self.constant(bits))
            }
            Value::Variable(variable, offset) => self.address_value(variable, offset, ty),
            Value::Function(item) => {
                let routine = super::control::definition(self.program(), item).ok_or(Unsupported)?;
                Ok(self.constant(crate::machine::space::function_address(routine as u32)))
            }
            _ => Err(Unsupported),
        }
    }

    /// An element of a vector register, or a part of a scalar one, extended by the sign of the operand's type.
    fn component(&mut self, register: RegisterId, component: Component, read: Type) -> Lowered<Src> {
        let place = self.frame.place(register);
        let ty = self.routine.register(register).ty;
        let (offset, bits) = match component {
            Component::X | Component::Y | Component::Z | Component::W => {
                return Ok(Src::register(place + element_index(component) * columns_of(ty)));
            }
            Component::B0 => (0, 8),
            Component::B1 => (8, 8),
            Component::B2 => (16, 8),
            Component::B3 => (24, 8),
            Component::H0 => (0, 16),
            Component::H1 => (16, 16),
            Component::Several => return Err(Unsupported),
        };
        let column = self.temporary();
        let sign_from = if read.is_signed() { bits } else { 0 };
        let d = Dst { column, sign_from, bits: 32 };
        let s = Src::register(place);
        self.emit(Op::Scalar { op: ScalarOp::Extract(offset, bits), d, s: [s; 4] });
        Ok(Src::register(column))
    }

    /// Some bits of a value, in a column of their own.
    pub(super) fn extract(&mut self, s: Src, offset: u8, bits: u8) -> Src {
        let column = self.temporary();
        let d = Dst { column, sign_from: 0, bits };
        self.emit(Op::Scalar { op: ScalarOp::Extract(offset, bits), d, s: [s; 4] });
        Src::register(column)
    }

    fn special(&mut self, special: u16, component: Option<Component>) -> Lowered<Src> {
        let dimension = component.map_or(0, element_index) as u8;
        let own = match own(SPECIALS[special as usize].name, dimension) {
            Meaning::Own(own) => own,
            Meaning::Clock(clock) => {
                let d = Dst { column: self.temporary(), sign_from: 0, bits: 64 };
                self.emit(Op::Clock { d, clock });
                return Ok(Src::register(d.column));
            }
            Meaning::Unknown => return Err(Unsupported),
        };
        Ok(self.own(own))
    }

    pub(super) fn own(&mut self, own: Own) -> Src {
        let code = &mut self.shared.code;
        let index = code.own.iter().position(|&other| other == own).unwrap_or_else(|| {
            code.own.push(own);
            code.own.len() - 1
        });
        Src::own(index as u32)
    }

    /// The address of a variable as a value.
    fn address_value(&mut self, variable: VariableId, offset: i64, ty: Type) -> Lowered<Src> {
        let address = self.variable(variable, offset)?;
        let number = self.constant(address.offset as u64 & mask(ty));
        match address.base {
            Base::Zero => Ok(number),
            Base::Source(base) => {
                let d = Dst { column: self.temporary(), sign_from: 0, bits: 64 };
                self.emit(Op::Scalar {
                    op: ScalarOp::Int(IntOp::Add, Int::U64),
                    d,
                    s: [base, number, base, base],
                });
                Ok(Src::register(d.column))
            }
            Base::Frame => {
                let d = Dst { column: self.temporary(), sign_from: 0, bits: 64 };
                let offset = u32::try_from(address.offset).map_err(|_| Unsupported)?;
                self.emit(Op::LocalAddress(d, offset));
                Ok(Src::register(d.column))
            }
        }
    }

    /// The address of a variable, plus bytes, in its own window.
    pub(super) fn variable(&mut self, id: VariableId, offset: i64) -> Lowered<Address> {
        let variable = &self.program().variables[id.0 as usize];
        let at = |base, space, address: u64| {
            Ok(Address { space, base, offset: offset.wrapping_add(address as i64) })
        };
        if let Some(&local) = self.frame.locals.get(&id) {
            return at(Base::Frame, Window::Local, local.into());
        }
        let address = self.shared.image.address(id).ok_or(Unsupported)?;
        match variable.space {
            Space::Shared => {
                let base = self.own(Own::SharedBase);
                at(Base::Source(base), Window::Shared, address)
            }
            Space::Global => at(Base::Zero, Window::Global, address),
            Space::Const => at(Base::Zero, Window::Const, address),
            Space::Param => at(Base::Zero, Window::Param, address),
            Space::Local | Space::Reg | Space::Sreg | Space::Tex => Err(Unsupported),
        }
    }

    /// The address operand called `arg`.
    pub(super) fn address(&mut self, row: &RowMatch, arg: Arg) -> Lowered<Address> {
        let index = operand_index(row, arg).ok_or(Unsupported)?;
        let value = *self.routine.operands(self.inst()).get(index).ok_or(Unsupported)?;
        let spec = match &row.row.operands[index].shape {
            Shape::Address(spec) | Shape::Compound(spec, _) => spec,
            _ => return Err(Unsupported),
        };
        self.address_of(value, window(row, spec))
    }

    pub(super) fn address_of(&mut self, value: Value, space: Window) -> Lowered<Address> {
        let (base, offset) = match value {
            Value::Address(base, offset) | Value::Compound(base, offset, ..) => (base, offset),
            _ => return Err(Unsupported),
        };
        match base {
            program::Base::Register(register) => {
                let base = Base::Source(Src::register(self.frame.place(register)));
                Ok(Address { space, base, offset })
            }
            program::Base::Variable(variable) => {
                let address = self.variable(variable, offset)?;
                // A variable's name in a generic address means its generic address.
                let space = if space == Window::Cluster { Window::Cluster } else { address.space };
                Ok(Address { space, ..address })
            }
            program::Base::Constant => Ok(Address { space, base: Base::Zero, offset }),
            program::Base::Unknown => Err(Unsupported),
        }
    }

    /// A predicate that is read.
    pub(super) fn pred(&mut self, value: Value) -> Lowered<Pred> {
        match value {
            Value::Register(register) => Ok(Pred::new(self.frame.place(register), false)),
            Value::Not(register) => Ok(Pred::new(self.frame.place(register), true)),
            Value::Const(value) => {
                Ok(if value.int().is_some_and(|n| n != 0) { Pred::TRUE } else { Pred::FALSE })
            }
            _ => Err(Unsupported),
        }
    }

    /// A predicate that is written; [`NONE`] for `_`.
    pub(super) fn predicate_dst(&self, value: Value) -> Lowered<u32> {
        match value {
            Value::Register(register) if self.routine.register(register).ty == Type::Pred => {
                Ok(self.frame.place(register))
            }
            Value::Sink => Ok(NONE),
            _ => Err(Unsupported),
        }
    }

    /// `p` or `p|q`
    pub(super) fn predicate_pair(&self, (value, _): Typed) -> Lowered<(u32, u32)> {
        match value {
            Value::Pair(_) => {
                let [p, q] = *self.routine.parts(value) else { return Err(Unsupported) };
                Ok((self.predicate_dst(p)?, self.predicate_dst(q)?))
            }
            _ => Ok((self.predicate_dst(value)?, NONE)),
        }
    }

    /// A register that gets a value of `bits` bits.
    pub(super) fn register_dst(&self, (value, _): Typed, bits: u32, signed: bool) -> Lowered<Dst> {
        let (register, element) = match value {
            Value::Register(register) => (register, 0),
            Value::Component(register, component) if !component.is_part() => {
                (register, element_index(component))
            }
            Value::Sink => return Ok(Dst::SINK),
            // `d|_`
            Value::Pair(_) => match *self.routine.parts(value) {
                [first, Value::Sink] => return self.register_dst((first, Type::B64), bits, signed),
                _ => return Err(Unsupported),
            },
            _ => return Err(Unsupported),
        };
        let register_type = self.routine.register(register).ty;
        if register_type == Type::Pred {
            return Err(Unsupported);
        }
        let width = register_type.bits().min(64);
        let column = self.frame.place(register) + element * columns_of(register_type);
        let sign_from = if signed && bits < width { bits as u8 } else { 0 };
        Ok(Dst { column, sign_from, bits: width as u8 })
    }

    /// The columns of a 128-bit value that is read.
    pub(super) fn halves(&mut self, value: Value) -> Lowered<[Src; 2]> {
        match value {
            Value::Register(register) if self.routine.register(register).ty == Type::B128 => {
                let place = self.frame.place(register);
                Ok([Src::register(place), Src::register(place + 1)])
            }
            Value::Const(value) => {
                let bits = constant_bits(value, Type::B64);
                let high = if value.int().is_some_and(|n| n < 0) { u64::MAX } else { 0 };
                Ok([self.constant(bits), self.constant(high)])
            }
            _ => Err(Unsupported),
        }
    }

    /// The columns of a 128-bit register that is written.
    pub(super) fn halves_dst(&self, value: Value) -> Lowered<[Dst; 2]> {
        match value {
            Value::Register(register) if self.routine.register(register).ty == Type::B128 => {
                let place = self.frame.place(register);
                let half = |column| Dst { column, sign_from: 0, bits: 64 };
                Ok([half(place), half(place + 1)])
            }
            Value::Sink => Ok([Dst::SINK; 2]),
            _ => Err(Unsupported),
        }
    }
}

fn element_index(component: Component) -> u32 {
    match component {
        Component::Y => 1,
        Component::Z => 2,
        Component::W => 3,
        _ => 0,
    }
}

/// The bits of a type.
fn mask(ty: Type) -> u64 {
    u64::MAX >> (64 - ty.bits().min(64))
}

/// The type in which an operand is taken.
fn type_of(row: &RowMatch, spec: &Operand) -> Type {
    match &spec.shape {
        Shape::Value(value) | Shape::Vector(value, _) => resolve_type(row, value.ty),
        Shape::Pair(first, ..) => type_of(row, first),
        // Video instructions take their operands by the types in their modifiers, all 32 bits wide.
        _ => resolve_type(row, TypeSpec::Fixed(Type::B32)),
    }
}

/// The window that an address operand names.
pub(super) fn window(row: &RowMatch, spec: &AddressSpec) -> Window {
    let modifier = match spec.space {
        SpaceSpec::Fixed(modifier) => Some(modifier),
        SpaceSpec::Slot(slot) => row.meaning(slot as usize),
        SpaceSpec::Generic | SpaceSpec::Any | SpaceSpec::Tensor => None,
    };
    match (modifier, resolve_space(row, spec.space)) {
        (Some(modifier), _) => window_of(modifier),
        (None, _) => Window::Generic,
    }
}

/// The window that a modifier names.
pub(super) fn window_of(modifier: Mod) -> Window {
    match modifier {
        Mod::SharedCluster => Window::Cluster,
        other => match other.space() {
            Some(Space::Shared) => Window::Shared,
            Some(Space::Global) => Window::Global,
            Some(Space::Const) => Window::Const,
            Some(Space::Local) => Window::Local,
            Some(Space::Param) => Window::Param,
            _ => Window::Generic,
        },
    }
}

/// The bits of a constant in a type.
pub fn constant_bits(value: ConstValue, ty: Type) -> u64 {
    let bits = match (value, ty) {
        (ConstValue::Int { bits, .. }, Type::F32) => (bits as i64 as f32).to_bits().into(),
        (ConstValue::Int { bits, .. }, Type::F64) => (bits as i64 as f64).to_bits(),
        (ConstValue::Int { bits, .. }, _) => bits,
        (ConstValue::F32(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (ConstValue::F32(bits), _) => bits.into(),
        (ConstValue::F64(value), Type::F32 | Type::B32) => (value as f32).to_bits().into(),
        (ConstValue::F64(value), _) => value.to_bits(),
    };
    bits & mask(ty)
}

/// What a special register is to the machine.
enum Meaning {
    Own(Own),
    Clock(Clock),
    Unknown,
}

/// The special register `name`; `dimension` is its component.
fn own(name: &str, dimension: u8) -> Meaning {
    Meaning::Own(match name {
        "%tid" => Own::Tid(dimension),
        "%ntid" => Own::Ntid(dimension),
        "%ctaid" => Own::Ctaid(dimension),
        "%nctaid" => Own::Nctaid(dimension),
        "%laneid" => Own::LaneId,
        "%warpid" => Own::WarpId,
        "%nwarpid" => Own::NwarpId,
        "%smid" => Own::SmId,
        "%nsmid" => Own::NsmId,
        "%gridid" | "%locality_domain_id" => Own::Zero,
        "%is_explicit_cluster" => Own::IsExplicitCluster,
        "%clusterid" => Own::ClusterId(dimension),
        "%nclusterid" => Own::NclusterId(dimension),
        "%cluster_ctaid" => Own::ClusterCtaid(dimension),
        "%cluster_nctaid" => Own::ClusterNctaid(dimension),
        "%cluster_ctarank" => Own::ClusterCtarank,
        "%cluster_nctarank" => Own::ClusterNctarank,
        "%lanemask_eq" => Own::LanemaskEq,
        "%lanemask_le" => Own::LanemaskLe,
        "%lanemask_lt" => Own::LanemaskLt,
        "%lanemask_ge" => Own::LanemaskGe,
        "%lanemask_gt" => Own::LanemaskGt,
        "%total_smem_size" => Own::TotalSmemSize,
        "%aggr_smem_size" => Own::AggregateSmemSize,
        "%dynamic_smem_size" => Own::DynamicSmemSize,
        "%reserved_smem_offset_begin" | "%reserved_smem_offset_0" | "%reserved_smem_offset_1" => {
            Own::ReservedSmemBegin
        }
        "%reserved_smem_offset_end" => Own::ReservedSmemEnd,
        "%reserved_smem_offset_cap" => Own::ReservedSmemCap,
        "%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo" => return Meaning::Clock(Clock::Whole),
        "%clock_hi" | "%globaltimer_hi" => return Meaning::Clock(Clock::High),
        // Performance counters, environment registers and the like depend on the driver.
        _ => return Meaning::Unknown,
    })
}
