//! Branches, calls, returns; which routines a kernel needs.

use rustc_hash::FxHashSet;

use super::{Lowered, Lowerer, Unsupported};
use crate::isa::{Arg, Mod, RowMatch};
use crate::machine::code::{Call, Callee, NONE, Op, Passed, Pc, System};
use crate::program::flow::At;
use crate::program::{Program, Value};
use crate::syntax::ast::{ConstValue, Initializer, Item};
use crate::syntax::names::Symbol;
use crate::types::Type;

/// The routines that a kernel may get to, itself first: all that it or one of them names, and those whose
/// addresses lie in variables of the module.
pub(super) fn reachable(program: &Program, kernel: usize) -> Vec<usize> {
    let mut order = vec![kernel];
    let mut seen = FxHashSet::from_iter([kernel]);
    for symbol in stored_symbols(program) {
        if let Some(found) = named(program, symbol)
            && seen.insert(found)
        {
            order.push(found);
        }
    }
    let mut next = 0;
    while let Some(&routine) = order.get(next) {
        next += 1;
        let routine = &program.routines[routine];
        let listed = routine.labels.iter().filter_map(|label| label.targets.as_ref()).flatten();
        for value in routine.values.iter().chain(listed) {
            let Value::Function(item) = *value else { continue };
            // The name may stand at a declaration; its definition is elsewhere.
            if let Some(found) = definition(program, item)
                && seen.insert(found)
            {
                order.push(found);
            }
        }
    }
    order
}

/// The routine that defines the function of that item.
pub(super) fn definition(program: &Program, item: u32) -> Option<usize> {
    named(program, function_name(program, item)?)
}

/// The routine of that name.
fn named(program: &Program, symbol: Symbol) -> Option<usize> {
    program.routines.iter().position(|routine| function_name(program, routine.item) == Some(symbol))
}

fn function_name(program: &Program, item: u32) -> Option<Symbol> {
    match &program.module.items[item as usize] {
        Item::Function(function) => Some(function.name.symbol),
        _ => None,
    }
}

/// The names whose addresses initialise variables of the module.
fn stored_symbols(program: &Program) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for item in &program.module.items {
        let Item::Variable(declaration) = item else { continue };
        for declarator in &declaration.declarators {
            let mut left: Vec<&Initializer> = declarator.initializer.iter().collect();
            while let Some(initializer) = left.pop() {
                match initializer {
                    Initializer::List(_, parts) => left.extend(parts),
                    Initializer::Address { symbol, .. } => symbols.push(symbol.symbol),
                    Initializer::Const(_) => {}
                }
            }
        }
    }
    symbols
}

impl<'a> Lowerer<'a, '_> {
    /// Turns instruction numbers of the routine into places in the code; `entry` is its first.
    pub(super) fn link(&mut self, entry: Pc) {
        let place =
            |at: u32| if at == NONE { NONE } else { self.starts[(at as usize).min(self.starts.len() - 1)] };
        let code = &mut self.shared.code;
        for inst in &mut code.insts[entry as usize..] {
            match &mut inst.op {
                Op::Branch { target, join, .. } => {
                    *target = place(*target);
                    *join = place(*join);
                }
                Op::Switch { table, join, .. } => {
                    *join = place(*join);
                    for target in &mut code.tables[*table as usize] {
                        *target = place(*target);
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn branch(&mut self, row: &'a RowMatch) -> Lowered {
        let Some((Value::Label(label), _)) = self.operand(row, Arg::Target) else { return Err(Unsupported) };
        let target = self.routine.labels[label.0 as usize].target;
        let join = self.join();
        self.simple(Op::Branch { target, join, uniform: row.has(Mod::Uni) })
    }

    pub(super) fn switch(&mut self, row: &'a RowMatch) -> Lowered {
        let index = self.required(row, Arg::Index)?;
        let Some((Value::Label(list), _)) = self.operand(row, Arg::Targets) else { return Err(Unsupported) };
        let labels = &self.routine.labels;
        let targets = labels[list.0 as usize].targets.as_ref().ok_or(Unsupported)?;
        let target = |value: &Value| match value {
            Value::Label(label) => Ok(labels[label.0 as usize].target),
            _ => Err(Unsupported),
        };
        let targets: Vec<Pc> = targets.iter().map(target).collect::<Lowered<_>>()?;
        let table = self.shared.code.tables.len() as u32;
        self.shared.code.tables.push(targets);
        let join = self.join();
        self.simple(Op::Switch { index, table, join, uniform: row.has(Mod::Uni) })
    }

    /// Where lanes that part at this instruction meet again.
    fn join(&self) -> u32 {
        self.flow.join(self.at).map_or(NONE, |at: At| at as u32)
    }

    pub(super) fn leave(&mut self, row: &'a RowMatch) -> Lowered {
        self.simple(Op::Return { uniform: row.has(Mod::Uni) })
    }

    /// `call (results), f, (arguments), targets;` with most of it optional.
    pub(super) fn call(&mut self, row: &'a RowMatch) -> Lowered {
        let mut values = self.routine.operands(self.inst()).iter().copied().peekable();
        let results = match values.peek() {
            Some(&group @ Value::Group(..)) => {
                values.next();
                self.routine.parts(group).to_vec()
            }
            _ => Vec::new(),
        };
        let callee = self.callee(values.next().ok_or(Unsupported)?)?;
        let arguments = match values.next() {
            Some(group @ Value::Group(..)) => self.routine.parts(group).to_vec(),
            _ => Vec::new(),
        };
        let arguments = arguments.into_iter().map(|value| self.argument(value)).collect::<Lowered<_>>()?;
        let results = results.into_iter().map(|value| self.result(value)).collect::<Lowered<_>>()?;
        self.simple(Op::Call(Box::new(Call { callee, arguments, results, uniform: row.has(Mod::Uni) })))
    }

    fn callee(&mut self, value: Value) -> Lowered<Callee> {
        let Value::Function(item) = value else {
            return Ok(Callee::Indirect(self.source((value, Type::U64))?));
        };
        let program = self.program();
        if let Some(routine) = definition(program, item) {
            let item = program.routines[routine].item;
            return Ok(Callee::Routine(*self.shared.items.get(&item).ok_or(Unsupported)?));
        }
        let crate::syntax::ast::Item::Function(function) = &program.module.items[item as usize] else {
            return Err(Unsupported);
        };
        Ok(match program.module.name(function.name.symbol) {
            "vprintf" => Callee::System(System::Vprintf),
            "__assertfail" => Callee::System(System::AssertFail),
            "malloc" => Callee::System(System::Allocate),
            "free" => Callee::System(System::Free),
            name => Callee::Missing(name.to_string()),
        })
    }

    fn argument(&mut self, value: Value) -> Lowered<Passed> {
        match value {
            Value::Variable(variable, 0) if self.frame.locals.contains_key(&variable) => {
                self.parameter(variable)
            }
            Value::Const(ConstValue::F64(value)) => Ok(Passed::Value(self.constant(value.to_bits()))),
            Value::Sink => Ok(Passed::Nothing),
            _ => Ok(Passed::Value(self.source((value, Type::B64))?)),
        }
    }

    fn result(&mut self, value: Value) -> Lowered<Passed> {
        match value {
            Value::Variable(variable, 0) => self.parameter(variable),
            Value::Sink => Ok(Passed::Nothing),
            Value::Register(register) if self.routine.register(register).ty == Type::Pred => {
                Ok(Passed::Predicate(self.predicate_dst(value)?))
            }
            _ => Ok(Passed::Register(self.register_dst((value, Type::B64), 64, false)?)),
        }
    }

    fn parameter(&self, variable: crate::program::VariableId) -> Lowered<Passed> {
        let offset = *self.frame.locals.get(&variable).ok_or(Unsupported)?;
        let size = self.shared.program.variables[variable.0 as usize].size;
        let size = size.and_then(|size| u32::try_from(size).ok()).ok_or(Unsupported)?;
        Ok(Passed::Memory(offset, size))
    }
}
