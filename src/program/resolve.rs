//! Names to declarations, operands to values, instructions to rows.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::scope::{Binding, Group, Scopes};
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
    OperandKind, StatementKind, Variable as Declaration,
};
use crate::syntax::names::Symbol;
use crate::types::{Space, Type};

/// Resolves a whole module.
pub fn program(module: Module, options: Options) -> Program {
    let header = Header::new(&module, options);
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
        groups: Vec::new(),
        members: FxHashMap::default(),
        variables: Vec::new(),
        problems: Vec::new(),
        defined: FxHashMap::default(),
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
    scopes: Scopes,
    groups: Vec<Group>,
    /// The members of groups that are made so far.
    members: FxHashMap<(u32, u32), Binding>,
    variables: Vec<Variable>,
    problems: Vec<Problem>,
    /// Functions with a body.
    defined: FxHashMap<Symbol, Span>,
}

/// What is being resolved: one body.
struct Current<'a> {
    function: &'a Function,
    item: u32,
    routine: Routine,
    labels: Labels,
    /// The scope of the statement at hand, as an index into `Labels::parents`.
    scope: u32,
    /// Where names are declared in this body; made when a name is first missed.
    declared: Option<FxHashMap<Symbol, Span>>,
}

/// The labels of a body with the scopes they stand in.
#[derive(Default)]
struct Labels {
    /// The enclosing scope of each scope; scope 0 is the body.
    parents: Vec<u32>,
    by_name: FxHashMap<Symbol, SmallVec<[(u32, LabelId); 1]>>,
}

impl Labels {
    /// The label `symbol` as seen from `scope`: its own or an enclosing one.
    fn find(&self, symbol: Symbol, mut scope: u32) -> Option<LabelId> {
        let candidates = self.by_name.get(&symbol)?;
        loop {
            if let Some((_, label)) = candidates.iter().find(|(s, _)| *s == scope) {
                return Some(*label);
            }
            if scope == 0 {
                return None;
            }
            scope = self.parents[scope as usize];
        }
    }
}

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
        match self.scopes.get(name.symbol) {
            Some(Binding::Function(_)) => {}
            _ => {
                if let Some(first) = self.scopes.bind(name.symbol, Binding::Function(item), name.span) {
                    self.problem(name, ProblemKind::Duplicate(first));
                }
            }
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
        };
        let labels = Labels { parents: vec![0], ..Labels::default() };
        let mut current = Current { function, item, routine: empty, labels, scope: 0, declared: None };
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
        let mut next_instruction = 0;
        for statement in &body.statements {
            let scope = scopes.last().copied().unwrap_or(0);
            let (name, targets) = match &statement.kind {
                StatementKind::Label(name) => (*name, None),
                StatementKind::Prototype(prototype) => (prototype.name, Some(Vec::new())),
                StatementKind::Targets(targets) => (targets.name, Some(Vec::new())),
                StatementKind::Open { .. } => {
                    current.labels.parents.push(scope);
                    scopes.push(current.labels.parents.len() as u32 - 1);
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
            let label = LabelId(current.routine.labels.len() as u32);
            let known = current.labels.by_name.entry(name.symbol).or_default();
            if let Some((_, first)) = known.iter().find(|(s, _)| *s == scope) {
                let first = current.routine.labels[first.0 as usize].span;
                self.problem(name, ProblemKind::DuplicateLabel(first));
            }
            known.push((scope, label));
            let (symbol, span) = (name.symbol, name.span);
            current.routine.labels.push(Label { symbol, span, target: next_instruction, targets });
        }
    }

    fn body(&mut self, current: &mut Current<'a>, body: &'a Body) {
        let mut scopes = vec![0u32];
        let mut opened = 0;
        for (statement, index) in body.statements.iter().zip(0..) {
            match &statement.kind {
                StatementKind::Open { .. } => {
                    opened += 1;
                    scopes.push(opened);
                    current.scope = opened;
                    self.scopes.open();
                }
                StatementKind::Close { .. } => {
                    if scopes.len() > 1 {
                        scopes.pop();
                        self.scopes.close();
                    }
                    current.scope = scopes.last().copied().unwrap_or(0);
                }
                StatementKind::Variable(declaration) => {
                    let item = current.item;
                    self.declare(declaration, Some(current), Some(item), false);
                }
                StatementKind::Instruction(instruction) => {
                    self.instruction(current, instruction, index);
                }
                StatementKind::Targets(targets) => {
                    let listed: Vec<Value> =
                        targets.targets.iter().map(|(name, _)| self.target(current, *name)).collect();
                    if let Some(label) = current.labels.find(targets.name.symbol, current.scope) {
                        current.routine.labels[label.0 as usize].targets = Some(listed);
                    }
                }
                _ => {}
            }
        }
        // Blocks that the file does not close.
        for _ in 1..scopes.len() {
            self.scopes.close();
        }
    }

    /// A name in `.branchtargets` or `.calltargets`.
    fn target(&mut self, current: &mut Current, name: Name) -> Value {
        if let Some(label) = current.labels.find(name.symbol, current.scope) {
            return Value::Label(label);
        }
        match self.scopes.get(name.symbol) {
            Some(Binding::Function(item)) => Value::Function(item),
            _ => Value::Unknown,
        }
    }

    /// Enters the names of a declaration into the innermost scope.
    fn declare(
        &mut self,
        declaration: &Declaration,
        current: Option<&mut Current>,
        function: Option<u32>,
        parameter: bool,
    ) {
        let mut current = current;
        for declarator in &declaration.declarators {
            let name = declarator.name;
            if self.module.name(name.symbol) == "_" {
                continue;
            }
            let binding = if let Some(count) = declarator.count {
                let vector = declaration.vector.max(1);
                let (space, ty, span) = (declaration.space, declaration.ty, name.span);
                let count = constant(count).unwrap_or(0);
                let depth = self.scopes.depth();
                self.groups.push(Group { space, ty, vector, count, depth, span });
                Binding::Group(self.groups.len() as u32 - 1)
            } else if declaration.space == Space::Reg {
                let Some(current) = current.as_deref_mut() else { continue };
                let vector = declaration.vector.max(1);
                Binding::Register(add_register(
                    &mut current.routine,
                    Register { symbol: name.symbol, ty: declaration.ty, vector, span: name.span },
                ))
            } else {
                self.variables.push(Variable::new(declaration, declarator, function, parameter));
                Binding::Variable(VariableId(self.variables.len() as u32 - 1))
            };
            self.check_initializer(declaration, declarator);
            if let Some((group, number)) = self.scopes.group_of(&self.module.names, name.symbol)
                && declarator.count.is_none()
            {
                let group = self.groups[group as usize];
                if number < group.count && group.depth == self.scopes.depth() {
                    self.problem(name, ProblemKind::Duplicate(group.span));
                }
            }
            let redeclares_extern = declaration.linkage.is_some()
                && matches!(
                    (binding, self.scopes.get(name.symbol)),
                    (Binding::Variable(_), Some(Binding::Variable(_)))
                );
            if let Some(first) = self.scopes.bind(name.symbol, binding, name.span)
                && !redeclares_extern
            {
                self.problem(name, ProblemKind::Duplicate(first));
            }
            if let Binding::Group(group) = binding {
                self.shadow_members(group, name);
            }
        }
    }

    /// A group in an inner scope hides members of an outer group that are bound already.
    fn shadow_members(&mut self, group: u32, base: Name) {
        if self.scopes.depth() <= 1 {
            return;
        }
        let count = self.groups[group as usize].count;
        let text = self.module.name(base.symbol);
        for number in 0..count.min(self.module.names.len() as u32) {
            if let Some(symbol) = self.module.names.get(&format!("{text}{number}"))
                && self.scopes.get(symbol).is_some()
            {
                // The first use makes the member.
                self.scopes.hide(symbol);
            }
        }
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
                Initializer::Address { symbol, .. } => match self.scopes.get(symbol.symbol) {
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
        let mut inst = Inst {
            statement,
            operands: operands.len() as u16,
            fit: Fit::Unknown,
            first: first as u32,
            guard,
        };
        // What could not be read is judged no further.
        let readable = !operands.iter().any(unreadable);
        if readable && let Opcode::Known { rows, .. } = &self.opcodes[instruction.opcode.0 as usize] {
            let values = &current.routine.values[first..];
            inst.fit = self.fit(rows, &current.routine, values, operands.len(), first as u32);
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
        let mut furthest: Option<(usize, usize, u8)> = None;
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
                    let score = (mismatch.index, mismatch.part.map_or(0, |part| part + 1), number);
                    if furthest.is_none_or(|f| (f.0, f.1) < (score.0, score.1)) {
                        furthest = Some(score);
                    }
                }
            }
        }
        let miss = furthest.map(|(index, _, number)| Fit::Operand(number, index as u8));
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
            Value::Unknown => Base::Unknown,
            _ => {
                self.problem(name, ProblemKind::NotAnAddress);
                Base::Unknown
            }
        }
    }

    /// What a name in an operand means.
    fn name(&mut self, current: &mut Current<'a>, name: Name, label_first: bool) -> Value {
        let label = |current: &Current| current.labels.find(name.symbol, current.scope);
        if label_first && let Some(label) = label(current) {
            return Value::Label(label);
        }
        if let Some(value) = self.declared(current, name) {
            return value;
        }
        if let Some(label) = label(current) {
            return Value::Label(label);
        }
        if let Some((index, _)) = Special::from_name(self.module.name(name.symbol)) {
            return Value::Special(index, None);
        }
        self.missing(current, name, label_first);
        Value::Unknown
    }

    /// What the declarations in force say of `name`; members of groups are made at first use.
    fn declared(&mut self, current: &mut Current, name: Name) -> Option<Value> {
        match self.scopes.get(name.symbol) {
            Some(Binding::Register(id)) => return Some(Value::Register(id)),
            Some(Binding::Variable(id)) => return Some(Value::Variable(id, 0)),
            Some(Binding::Function(item)) => return Some(Value::Function(item)),
            Some(Binding::Group(_)) | None => {}
        }
        let (group_index, number) = self.scopes.group_of(&self.module.names, name.symbol)?;
        let group = self.groups[group_index as usize];
        if number >= group.count {
            return None;
        }
        let known = self.members.get(&(group_index, number)).copied();
        let binding = if let Some(known) = known {
            known
        } else if group.space == Space::Reg {
            let (symbol, ty, vector, span) = (name.symbol, group.ty, group.vector, group.span);
            let id = add_register(&mut current.routine, Register { symbol, ty, vector, span });
            Binding::Register(id)
        } else {
            self.variables.push(member(name.symbol, &group, current.item));
            Binding::Variable(VariableId(self.variables.len() as u32 - 1))
        };
        // The scope table only caches: after the innermost scope the member is found here again.
        self.members.insert((group_index, number), binding);
        self.scopes.bind(name.symbol, binding, group.span);
        Some(match binding {
            Binding::Register(id) => Value::Register(id),
            Binding::Variable(id) => Value::Variable(id, 0),
            Binding::Group(_) | Binding::Function(_) => Value::Unknown,
        })
    }

    fn missing(&mut self, current: &mut Current<'a>, name: Name, as_label: bool) {
        if as_label {
            let elsewhere = current.labels.by_name.get(&name.symbol).and_then(|found| found.first());
            let span = elsewhere.map(|(_, label)| current.routine.labels[label.0 as usize].span);
            self.problem(name, ProblemKind::UnknownLabel(span));
            return;
        }
        let function = current.function;
        let declared = current.declared.get_or_insert_with(|| declared_names(function));
        let later = declared.get(&name.symbol).filter(|span| span.start > name.span.end).copied();
        let kind = match (later, self.scopes.group_of(&self.module.names, name.symbol)) {
            (Some(span), _) => ProblemKind::DeclaredLater(span),
            (None, Some((group, _))) => {
                let group = self.groups[group as usize];
                ProblemKind::OutsideGroup(group.span, group.count)
            }
            (None, None) => ProblemKind::UnknownName,
        };
        self.problem(name, kind);
    }
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

fn member(symbol: Symbol, group: &Group, item: u32) -> Variable {
    let size = group.ty.bytes() * u32::from(group.vector);
    Variable {
        symbol,
        span: group.span,
        space: group.space,
        ty: group.ty,
        align: size.next_power_of_two(),
        declared_align: false,
        size: Some(size.into()),
        external: false,
        function: Some(item),
        parameter: false,
        initialized: false,
    }
}

fn declared_names(function: &Function) -> FxHashMap<Symbol, Span> {
    let statements = function.body.iter().flat_map(|body| &body.statements);
    statements
        .filter_map(|statement| match &statement.kind {
            StatementKind::Variable(declaration) => Some(&declaration.declarators),
            _ => None,
        })
        .flatten()
        .map(|declarator| (declarator.name.symbol, declarator.name.span))
        .collect()
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
