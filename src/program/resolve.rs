//! Names to declarations, operands to values, instructions to rows.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::label::Labels;
use super::outside::{Meaning, Surroundings};
use super::scope::{Binding, Found, Member, Scopes};
use super::variable::{Variable, constant};
use super::{
    Base, Fit, Header, Inst, Label, LabelId, Options, Problem, ProblemKind, Program, Register, RegisterId,
    Routine, Value, VariableId,
};
use crate::isa::operand::{self, Actual};
use crate::isa::table::{SPECIALS, Shape, Special};
use crate::isa::{self, Opcode};
use crate::source::Span;
use crate::syntax::ast::{
    Address, Body, ConstValue, Declarator, Function, Initializer, Instruction, Item, Module, Name, Operand,
    OperandKind, StatementKind, Targets, Variable as Declaration,
};
use crate::syntax::names::Symbol;
use crate::types::{Space, Type};

/// So many values one instruction may have, those inside of vectors and addresses included.
const MOST_VALUES: usize = 4096;

/// Resolves a whole module.
pub fn program(
    module: Module,
    header: impl Fn(&Module, Options) -> Header,
    options: Options,
    surroundings: Surroundings,
) -> Program {
    let header = header(&module, options);
    let opcodes: Vec<Opcode> = module
        .opcodes
        .iter()
        .map(|opcode| isa::lookup(&opcode.words().collect::<SmallVec<[&str; 16]>>()))
        .collect();
    let mut resolver = Resolver {
        label_first: opcodes.iter().map(takes_label).collect(),
        scopes: Scopes::new(module.names.len()),
        opcodes: &opcodes,
        header: &header,
        module: &module,
        variables: Vec::new(),
        problems: Vec::new(),
        defined: FxHashMap::default(),
        surroundings,
    };
    let routines = resolver.module();
    let (variables, problems) = (resolver.variables, resolver.problems);
    Program { header, variables, opcodes, routines, problems, module }
}

/// Whether names in operands of this opcode are looked up as labels first.
fn takes_label(opcode: &Opcode) -> bool {
    let Opcode::Known { rows, .. } = opcode else { return false };
    rows.iter().any(|row| row.row.operands.iter().any(|o| matches!(o.shape, Shape::Label)))
}

struct Resolver<'a> {
    module: &'a Module,
    header: &'a Header,
    opcodes: &'a [Opcode],
    label_first: Vec<bool>,
    scopes: Scopes<'a>,
    variables: Vec<Variable>,
    problems: Vec<Problem>,
    /// Functions with a body.
    defined: FxHashMap<Symbol, Span>,
    surroundings: Surroundings<'a>,
}

/// What is being resolved: one body.
struct Current<'a> {
    function: &'a Function,
    item: u32,
    routine: Routine,
    labels: Labels,
    /// The scopes that are open, by their numbers; scope 0 is the body.
    scopes: Vec<u32>,
    /// Where names are declared in this body; made when a name is first missed.
    declared: Option<Declared>,
}

/// The declarations of a body: the scope of each, and where it stands.
type Declared = FxHashMap<Symbol, SmallVec<[(u32, Span); 1]>>;

impl<'a> Resolver<'a> {
    fn problem(&mut self, name: Name, kind: ProblemKind) {
        self.problems.push(Problem { span: name.span, symbol: name.symbol, kind });
    }

    fn module(&mut self) -> Vec<Routine> {
        let module = self.module;
        let mut routines = Vec::new();
        for (item, index) in module.items.iter().zip(0..) {
            match item {
                Item::Variable(declaration) => self.declare(declaration, None, None, false),
                Item::Function(function) => {
                    self.function_name(function, index);
                    routines.extend(self.function(function, index));
                }
                _ => {}
            }
        }
        routines
    }

    fn function_name(&mut self, function: &Function, item: u32) {
        let name = function.name;
        if function.body.is_some()
            && let Some(first) = self.defined.insert(name.symbol, name.span)
        {
            self.problem(name, ProblemKind::DuplicateFunction(first));
        }
        if matches!(self.scopes.bound(name.symbol), Some(Binding::Function(_))) {
            return;
        }
        let binding = Binding::Function(item);
        if let Some(first) = self.scopes.bind(&self.module.names, name.symbol, binding, name.span) {
            self.problem(name, ProblemKind::Duplicate(first));
        }
    }

    fn function(&mut self, function: &'a Function, item: u32) -> Option<Routine> {
        self.scopes.open();
        let empty = Routine {
            item,
            registers: Vec::new(),
            labels: Vec::new(),
            instructions: Vec::new(),
            values: Vec::new(),
            outside: Vec::new(),
        };
        let labels = Labels::default();
        let mut current = Current { function, item, routine: empty, labels, scopes: vec![0], declared: None };
        for parameter in function.returns.iter().chain(&function.parameters) {
            self.declare(parameter, Some(&mut current), Some(item), true);
        }
        let routine = function.body.as_ref().map(|body| {
            self.find_labels(&mut current, body);
            self.body(&mut current, body);
            current.routine.values.shrink_to_fit();
            current.routine.instructions.shrink_to_fit();
            current.routine.registers.shrink_to_fit();
            current.routine.labels.shrink_to_fit();
            current.routine
        });
        self.scopes.close();
        routine
    }

    /// Collects the labels of a body before its instructions are resolved: branches go forward, too.
    fn find_labels(&mut self, current: &mut Current, body: &Body) {
        let mut scopes = vec![0u32];
        let mut opened = 0;
        let mut next_instruction = 0;
        let mut all = Vec::new();
        let mut first = FxHashMap::default();
        for statement in &body.statements {
            let (name, targets) = match &statement.kind {
                StatementKind::Label(name) => (*name, None),
                StatementKind::Prototype(prototype) => (prototype.name, Some(Vec::new())),
                StatementKind::Targets(targets) => (targets.name, Some(Vec::new())),
                StatementKind::Open { .. } => {
                    opened += 1;
                    scopes.push(opened);
                    continue;
                }
                StatementKind::Close { .. } => {
                    scopes.pop();
                    continue;
                }
                StatementKind::Instruction(_) => {
                    next_instruction += 1;
                    continue;
                }
                _ => continue,
            };
            let scope = scopes.last().copied().unwrap_or(0);
            let (symbol, span) = (name.symbol, name.span);
            if let Some(first) = first.insert((scope, symbol), span) {
                self.problem(name, ProblemKind::DuplicateLabel(first));
            }
            all.push((scope, symbol, LabelId(current.routine.labels.len() as u32)));
            current.routine.labels.push(Label { symbol, span, target: next_instruction, targets });
        }
        current.labels = Labels::new(all);
    }

    fn body(&mut self, current: &mut Current<'a>, body: &'a Body) {
        let mut opened = 0;
        current.labels.open(0);
        for (statement, index) in body.statements.iter().zip(0..) {
            match &statement.kind {
                StatementKind::Open { .. } => {
                    opened += 1;
                    current.scopes.push(opened);
                    current.labels.open(opened);
                    self.scopes.open();
                }
                StatementKind::Close { .. } => {
                    if current.scopes.len() > 1
                        && let Some(scope) = current.scopes.pop()
                    {
                        current.labels.close(scope);
                        self.scopes.close();
                    }
                }
                StatementKind::Variable(declaration) => {
                    let item = current.item;
                    self.declare(declaration, Some(current), Some(item), false);
                }
                StatementKind::Instruction(instruction) => {
                    self.instruction(current, instruction, index);
                }
                StatementKind::Targets(targets) => self.targets(current, targets),
                _ => {}
            }
        }
        // Blocks that the file does not close.
        for _ in 1..current.scopes.len() {
            self.scopes.close();
        }
    }

    fn targets(&mut self, current: &mut Current, targets: &Targets) {
        let mut listed = Vec::new();
        for (name, count) in &targets.targets {
            let value = self.target(current, *name);
            if value == Value::Unknown && count.is_none() {
                if targets.is_call {
                    self.problem(*name, ProblemKind::UnknownName);
                } else {
                    self.missing_label(current, *name);
                }
            }
            listed.push(value);
        }
        if let Some(label) = current.labels.find(targets.name.symbol) {
            current.routine.labels[label.0 as usize].targets = Some(listed);
        }
    }

    /// A name in `.branchtargets` or `.calltargets`.
    fn target(&mut self, current: &mut Current, name: Name) -> Value {
        if let Some(label) = current.labels.find(name.symbol) {
            return Value::Label(label);
        }
        match self.scopes.bound(name.symbol) {
            Some(Binding::Function(item)) => Value::Function(item),
            _ => Value::Unknown,
        }
    }

    /// Enters the names of a declaration into the innermost scope.
    fn declare(
        &mut self,
        declaration: &'a Declaration,
        mut current: Option<&mut Current>,
        function: Option<u32>,
        parameter: bool,
    ) {
        for declarator in &declaration.declarators {
            let name = declarator.name;
            if self.module.name(name.symbol) == "_" {
                continue;
            }
            // There are no registers at module level; another rule says so.
            if declaration.space == Space::Reg && current.is_none() {
                continue;
            }
            let first = if let Some(count) = declarator.count {
                self.scopes.bind_group(declaration, declarator, constant(count).unwrap_or(0))
            } else {
                self.declare_name(declaration, declarator, current.as_deref_mut(), function, parameter)
            };
            if let Some(first) = first {
                self.problem(name, ProblemKind::Duplicate(first));
            }
            self.check_initializer(declaration, declarator);
        }
    }

    /// Declares a single name; where it is declared already, if that is a fault.
    fn declare_name(
        &mut self,
        declaration: &'a Declaration,
        declarator: &'a Declarator,
        current: Option<&mut Current>,
        function: Option<u32>,
        parameter: bool,
    ) -> Option<Span> {
        let name = declarator.name;
        let mut completes = false;
        let binding = match current {
            Some(current) if declaration.space == Space::Reg => {
                Binding::Register(add_register(&mut current.routine, register(name, declaration)))
            }
            _ => {
                let variable = Variable::new(declaration, declarator, function, parameter);
                if let Some(Binding::Variable(before)) = self.scopes.bound(name.symbol) {
                    let external = variable.external || self.variables[before.0 as usize].external;
                    completes = external && declaration.linkage.is_some();
                }
                self.variables.push(variable);
                Binding::Variable(VariableId(self.variables.len() as u32 - 1))
            }
        };
        let first = self.scopes.bind(&self.module.names, name.symbol, binding, name.span);
        first.filter(|_| !completes)
    }

    fn check_initializer(&mut self, declaration: &Declaration, declarator: &Declarator) {
        let Some(initializer) = &declarator.initializer else { return };
        if !matches!(declaration.space, Space::Global | Space::Const) {
            self.problem(declarator.name, ProblemKind::InitializerSpace);
            return;
        }
        let mut pending = vec![initializer];
        while let Some(initializer) = pending.pop() {
            match initializer {
                Initializer::List(_, parts) => pending.extend(parts),
                Initializer::Address { symbol, .. } => match self.scopes.bound(symbol.symbol) {
                    Some(Binding::Variable(id)) => {
                        let space = self.variables[id.0 as usize].space;
                        if !matches!(space, Space::Global | Space::Const) {
                            self.problem(*symbol, ProblemKind::InitializerAddress);
                        }
                    }
                    Some(_) => {}
                    None => self.problem(*symbol, ProblemKind::UnknownName),
                },
                Initializer::Const(_) => {}
            }
        }
    }

    fn instruction(&mut self, current: &mut Current<'a>, instruction: &Instruction, statement: u32) {
        let guard = instruction.guard.and_then(|guard| match self.name(current, guard.name, false) {
            Value::Register(id) => {
                let ty = current.routine.register(id).ty;
                if ty != Type::Pred {
                    self.problem(guard.name, ProblemKind::GuardType(ty));
                }
                Some((id, guard.negated))
            }
            Value::Unknown => None,
            _ => {
                self.problem(guard.name, ProblemKind::GuardNotRegister);
                None
            }
        });
        let operands = self.module.operands(instruction);
        let label_first = self.label_first[instruction.opcode.0 as usize];
        let first = current.routine.values.len();
        current.routine.values.resize(first + operands.len(), Value::Unknown);
        for (index, operand) in operands.iter().enumerate() {
            let value = self.operand(current, operand, label_first);
            current.routine.values[first + index] = value;
        }
        if current.routine.values.len() - first > MOST_VALUES {
            self.problem(
                Name { symbol: Symbol(0), span: instruction.opcode_span },
                ProblemKind::TooManyOperands,
            );
            current.routine.values.truncate(first);
        }
        // What could not be read is judged no further.
        let readable = !operands.iter().any(unreadable);
        let operands = current.routine.values.len().min(first + operands.len()) - first;
        let mut inst =
            Inst { statement, operands: operands as u16, fit: Fit::Unknown, first: first as u32, guard };
        if readable && let Opcode::Known { rows, .. } = &self.opcodes[instruction.opcode.0 as usize] {
            let values = &current.routine.values[first..];
            inst.fit = self.fit(rows, &current.routine, values, operands, first as u32);
        }
        current.routine.instructions.push(inst);
    }

    fn fit(
        &self,
        rows: &[isa::RowMatch],
        routine: &Routine,
        values: &[Value],
        count: usize,
        first: u32,
    ) -> Fit {
        let to_actual = |value: &Value| actual(*value, routine, &self.variables, first);
        let actuals: SmallVec<[Actual; 12]> = values.iter().map(to_actual).collect();
        let mut best: Option<Fit> = None;
        let mut furthest: Option<((usize, bool, usize), u8)> = None;
        for (row, number) in rows.iter().zip(0u8..) {
            match operand::fit(row, &actuals, count) {
                Ok(needs) if self.header.meets(needs) => {
                    if !row.row.undocumented {
                        return Fit::Row(number);
                    }
                    if !matches!(best, Some(Fit::Row(_))) {
                        best = Some(Fit::Row(number));
                    }
                }
                Ok(_) => {
                    best.get_or_insert(Fit::Gated(number));
                }
                Err(mismatch) => {
                    // Of two rows, the one that takes as many operands was meant.
                    let right_count = mismatch.reason != operand::Reason::Count;
                    let part = mismatch.part.map_or(0, |part| part + 1);
                    let score = (mismatch.index, right_count, part);
                    if furthest.is_none_or(|(best, _)| best < score) {
                        furthest = Some((score, number));
                    }
                }
            }
        }
        let miss = furthest.map(|((index, ..), number)| Fit::Operand(number, index as u8));
        best.or(miss).unwrap_or(Fit::Unknown)
    }

    fn operand(&mut self, current: &mut Current<'a>, operand: &Operand, label_first: bool) -> Value {
        match &operand.kind {
            OperandKind::Name { name, component: None } => self.name(current, *name, label_first),
            OperandKind::Name { name, component: Some(component) } => {
                match self.name(current, *name, false) {
                    Value::Register(id) => {
                        let register = current.routine.register(id);
                        if register.vector == 1 && !component.is_part() {
                            let ty = register.ty;
                            self.problem(*name, ProblemKind::NotAVector(ty));
                            return Value::Unknown;
                        }
                        Value::Component(id, *component)
                    }
                    Value::Special(index, _) => Value::Special(index, Some(*component)),
                    Value::Unknown => Value::Unknown,
                    _ => {
                        self.problem(*name, ProblemKind::NoComponents);
                        Value::Unknown
                    }
                }
            }
            OperandKind::Not(name) => match self.name(current, *name, false) {
                Value::Register(id) => Value::Not(id),
                _ => Value::Unknown,
            },
            OperandKind::Negated(inner) => match self.operand(current, inner, false) {
                Value::Register(id) | Value::Component(id, _) => Value::Negated(id),
                _ => Value::Unknown,
            },
            OperandKind::Sink => Value::Sink,
            OperandKind::Const(value) => Value::Const(*value),
            OperandKind::NameOffset { name, offset } => match self.name(current, *name, false) {
                Value::Variable(id, _) => Value::Variable(id, offset.value.int().unwrap_or(0) as i64),
                _ => Value::Unknown,
            },
            OperandKind::Element { name, index } => {
                let _ = self.operand(current, index, false);
                match self.name(current, *name, false) {
                    Value::Variable(id, _) => Value::Element(id),
                    _ => Value::Unknown,
                }
            }
            OperandKind::Vector(parts) => {
                let first = self.parts(current, parts);
                Value::Vector(first, parts.len() as u16)
            }
            OperandKind::Pair(parts) => Value::Pair(self.parts(current, &parts[..])),
            OperandKind::Group(parts) => {
                let first = self.parts(current, parts);
                Value::Group(first, parts.len() as u16)
            }
            OperandKind::Address(address) => Value::Address(self.base(current, address), address.offset),
            OperandKind::Compound(compound) => {
                let base = self.base(current, &compound.address);
                let first = self.parts(current, &compound.parts);
                Value::Compound(base, compound.address.offset, first, compound.parts.len() as u16)
            }
            OperandKind::Error => Value::Unknown,
        }
    }

    /// Resolves parts of an operand to consecutive values; the index of the first.
    fn parts(&mut self, current: &mut Current<'a>, parts: &[Operand]) -> u32 {
        let first = current.routine.values.len();
        current.routine.values.resize(first + parts.len(), Value::Unknown);
        for (index, part) in parts.iter().enumerate() {
            let value = self.operand(current, part, false);
            current.routine.values[first + index] = value;
        }
        first as u32
    }

    fn base(&mut self, current: &mut Current<'a>, address: &Address) -> Base {
        let Some(name) = address.base else { return Base::Constant };
        match self.name(current, name, false) {
            Value::Register(id) => Base::Register(id),
            Value::Variable(id, _) => Base::Variable(id),
            Value::Unknown | Value::Const(_) | Value::UnknownConst => Base::Unknown,
            _ => {
                self.problem(name, ProblemKind::NotAnAddress);
                Base::Unknown
            }
        }
    }

    /// What a name in an operand means.
    fn name(&mut self, current: &mut Current<'a>, name: Name, label_first: bool) -> Value {
        let label = current.labels.find(name.symbol).map(Value::Label);
        if label_first && let Some(label) = label {
            return label;
        }
        if let Some(value) = self.declared(current, name).or(label) {
            return value;
        }
        if let Some((index, _)) = Special::from_name(self.module.name(name.symbol)) {
            return Value::Special(index, None);
        }
        if let Some(value) = self.outside(current, name) {
            return value;
        }
        self.missing(current, name, label_first);
        Value::Unknown
    }

    /// What the surroundings of the text say of `name`. Registers are made at first use.
    fn outside(&mut self, current: &mut Current, name: Name) -> Option<Value> {
        let Surroundings { names, more } = self.surroundings;
        let text = self.module.name(name.symbol);
        let Some(number) = names.iter().position(|outside| outside.name == text) else {
            return more.then_some(Value::Unknown);
        };
        let outside = &names[number];
        Some(match outside.meaning {
            Meaning::Anything => Value::Unknown,
            Meaning::Constant(Some(value)) => Value::Const(value),
            Meaning::Constant(None) => Value::UnknownConst,
            Meaning::Register(ty) => {
                let made = current.routine.outside.iter().find(|(_, other)| usize::from(*other) == number);
                if let Some((id, _)) = made {
                    return Some(Value::Register(*id));
                }
                let register = Register { symbol: name.symbol, ty, vector: 1, span: outside.span };
                let id = add_register(&mut current.routine, register);
                current.routine.outside.push((id, number as u16));
                Value::Register(id)
            }
        })
    }

    /// What the declarations in force say of `name`; members of groups are made at first use.
    fn declared(&mut self, current: &mut Current, name: Name) -> Option<Value> {
        let binding = match self.scopes.find(&self.module.names, name.symbol)? {
            Found::Bound(binding) => binding,
            Found::Member(member) => self.make(current, name, member),
        };
        Some(match binding {
            Binding::Register(id) => Value::Register(id),
            Binding::Variable(id) => Value::Variable(id, 0),
            Binding::Function(item) => Value::Function(item),
        })
    }

    fn make(&mut self, current: &mut Current, name: Name, member: Member) -> Binding {
        let group = self.scopes.groups[member.group as usize];
        let base = group.declarator.name;
        let binding = if group.declaration.space == Space::Reg {
            let register = register(Name { symbol: name.symbol, ..base }, group.declaration);
            Binding::Register(add_register(&mut current.routine, register))
        } else {
            let variable = Variable::new(group.declaration, group.declarator, Some(current.item), false);
            self.variables.push(Variable { symbol: name.symbol, ..variable });
            Binding::Variable(VariableId(self.variables.len() as u32 - 1))
        };
        self.scopes.make(name.symbol, member, binding);
        binding
    }

    fn missing(&mut self, current: &mut Current<'a>, name: Name, as_label: bool) {
        if as_label {
            return self.missing_label(current, name);
        }
        let function = current.function;
        let declared = current.declared.get_or_insert_with(|| declared_names(function));
        let places = declared.get(&name.symbol).map(SmallVec::as_slice).unwrap_or_default();
        // Of many places the first ones tell enough.
        let mut places = places.iter().take(16);
        let later = places.clone().find(|(scope, span)| {
            span.start > name.span.start && current.scopes.binary_search(scope).is_ok()
        });
        let kind = if let Some((_, span)) = later {
            ProblemKind::DeclaredLater(*span)
        } else if let Some(group) = self.scopes.too_small(&self.module.names, name.symbol) {
            ProblemKind::OutsideGroup(group.declarator.name.span, group.count)
        } else if let Some((_, span)) = places.next() {
            ProblemKind::DeclaredInside(*span)
        } else {
            ProblemKind::UnknownName
        };
        self.problem(name, kind);
    }

    fn missing_label(&mut self, current: &Current, name: Name) {
        let elsewhere = current.labels.anywhere(name.symbol);
        let span = elsewhere.map(|label| current.routine.labels[label.0 as usize].span);
        self.problem(name, ProblemKind::UnknownLabel(span));
    }
}

fn register(name: Name, declaration: &Declaration) -> Register {
    let vector = declaration.vector.max(1);
    Register { symbol: name.symbol, ty: declaration.ty, vector, span: name.span }
}

/// Whether an operand or a part of it was no PTX.
fn unreadable(operand: &Operand) -> bool {
    match &operand.kind {
        OperandKind::Error => true,
        OperandKind::Vector(parts) | OperandKind::Group(parts) => parts.iter().any(unreadable),
        OperandKind::Pair(parts) => parts.iter().any(unreadable),
        OperandKind::Compound(compound) => compound.parts.iter().any(unreadable),
        _ => false,
    }
}

fn add_register(routine: &mut Routine, register: Register) -> RegisterId {
    routine.registers.push(register);
    RegisterId(routine.registers.len() as u32 - 1)
}

fn declared_names(function: &Function) -> Declared {
    let mut declared = Declared::default();
    let mut scopes = vec![0u32];
    let mut opened = 0;
    for statement in function.body.iter().flat_map(|body| &body.statements) {
        match &statement.kind {
            StatementKind::Open { .. } => {
                opened += 1;
                scopes.push(opened);
            }
            StatementKind::Close { .. } => {
                scopes.pop();
            }
            StatementKind::Variable(declaration) => {
                let scope = scopes.last().copied().unwrap_or(0);
                for declarator in &declaration.declarators {
                    declared.entry(declarator.name.symbol).or_default().push((scope, declarator.name.span));
                }
            }
            _ => {}
        }
    }
    declared
}

/// The operands of `inst` as the table judges them.
pub fn actuals(program: &Program, routine: &Routine, inst: &Inst) -> SmallVec<[Actual; 12]> {
    let first = inst.first as usize;
    let index = routine.instructions.partition_point(|i| i.first <= inst.first);
    let end = routine.instructions.get(index).map_or(routine.values.len(), |i| i.first as usize);
    let values = &routine.values[first..end];
    values.iter().map(|value| actual(*value, routine, &program.variables, inst.first)).collect()
}

fn actual(value: Value, routine: &Routine, variables: &[Variable], first: u32) -> Actual {
    let space = |id: VariableId| variables[id.0 as usize].space;
    let base = |base: Base| match base {
        Base::Register(id) => operand::Base::Register(routine.register(id).ty),
        Base::Variable(id) => operand::Base::Variable(space(id)),
        Base::Constant => operand::Base::Constant,
        Base::Unknown => operand::Base::Unknown,
    };
    let part = |index: u32| (index - first) as u16;
    match value {
        Value::Register(id) => {
            let register = routine.register(id);
            Actual::Register { ty: register.ty, vector: register.vector }
        }
        Value::Component(id, _) => Actual::Register { ty: routine.register(id).ty, vector: 1 },
        Value::Not(id) => Actual::Not(routine.register(id).ty),
        Value::Special(index, component) => {
            let special = &SPECIALS[index as usize];
            let vector = if component.is_some() { 1 } else { special.vector };
            Actual::Special { ty: special.ty, vector }
        }
        Value::Negated(_) => Actual::Negated,
        Value::Const(ConstValue::Int { .. }) => Actual::Int,
        Value::Const(ConstValue::F32(_)) => Actual::Float(32),
        Value::Const(ConstValue::F64(_)) => Actual::Float(64),
        Value::UnknownConst => Actual::Constant,
        // `.reg` parameters of functions and register groups are registers; the rest is memory.
        Value::Variable(id, 0) => Actual::Variable(space(id)),
        Value::Variable(id, _) => Actual::VariableOffset(space(id)),
        Value::Element(id) => Actual::Element(space(id)),
        Value::Label(_) => Actual::Label,
        Value::Function(_) => Actual::Function,
        Value::Sink => Actual::Sink,
        Value::Vector(index, count) => Actual::Vector(part(index), count),
        Value::Pair(index) => Actual::Pair(part(index), part(index) + 1),
        Value::Address(b, _) => Actual::Address(base(b)),
        Value::Compound(b, _, index, count) => Actual::Compound(base(b), part(index), count),
        Value::Group(..) => Actual::Group,
        Value::Unknown => Actual::Unknown,
    }
}
