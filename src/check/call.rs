//! Calls against the function or prototype that they name.

use super::text::count;
use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::program::meaning::Meaning;
use crate::program::{Inst, Program, Routine, Value, Variable};
use crate::source::Span;
use crate::syntax::ast::{Item, Operand, OperandKind, StatementKind, Variable as Declaration};
use crate::types::{Space, Type};

/// The rules of this file.
pub const RULES: &[&Rule] = &[&CALL_MISMATCH];

static CALL_MISMATCH: Rule = Rule {
    name: "call-mismatch",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a call that does not fit the function or its prototype",
    page: include_str!("call-mismatch.md"),
};

/// Runs the rule.
pub fn check(program: &Program, out: &mut Vec<Diagnostic>) {
    for routine in &program.routines {
        for inst in &routine.instructions {
            if program.form(routine, inst).map(Meaning::of) == Some(Meaning::Call) {
                Call { program, routine, inst }.check(out);
            }
        }
    }
}

struct Call<'a> {
    program: &'a Program,
    routine: &'a Routine,
    inst: &'a Inst,
}

/// What a call must fit.
struct Signature<'a> {
    returns: &'a [Declaration],
    parameters: &'a [Declaration],
    /// The name of the function or prototype.
    name: Span,
}

impl<'a> Call<'a> {
    fn check(&self, out: &mut Vec<Diagnostic>) {
        let values = self.routine.operands(self.inst);
        let is_list = |value: &Value| matches!(value, Value::Group(..));
        let Some(callee) = values.iter().position(|value| !is_list(value)) else { return };
        let arguments = (values.len() > callee + 1 && is_list(&values[callee + 1])).then_some(callee + 1);
        let after = arguments.unwrap_or(callee) + 1;
        let signature = match (values[callee], values.get(after)) {
            (Value::Function(item), _) => self.function(item),
            (Value::Register(_), Some(Value::Label(label))) => {
                self.listed(self.routine.labels[label.0 as usize].span, label.0)
            }
            (Value::Register(_), None) => return out.push(self.without_prototype(callee)),
            _ => None,
        };
        if let Some(signature) = signature {
            self.list(&signature, signature.returns, callee.checked_sub(1), "result", out);
            self.list(&signature, signature.parameters, arguments, "argument", out);
        }
    }

    fn function(&self, item: u32) -> Option<Signature<'a>> {
        let Item::Function(function) = &self.program.module.items[item as usize] else { return None };
        let name = function.name.span;
        Some(Signature { returns: &function.returns, parameters: &function.parameters, name })
    }

    /// The signature that the label at `place` stands for: a prototype, or a list of functions.
    fn listed(&self, place: Span, label: u32) -> Option<Signature<'a>> {
        if let Some([Value::Function(item), ..]) = self.routine.labels[label as usize].targets.as_deref() {
            return self.function(*item);
        }
        let body = self.program.function(self.routine).body.as_ref()?;
        body.statements.iter().find_map(|statement| match &statement.kind {
            StatementKind::Prototype(prototype) if prototype.name.span == place => Some(Signature {
                returns: &prototype.returns,
                parameters: &prototype.parameters,
                name: place,
            }),
            _ => None,
        })
    }

    /// Compares the list in the operand at `index` with what is declared.
    fn list(
        &self,
        signature: &Signature,
        declared: &[Declaration],
        index: Option<usize>,
        word: &str,
        out: &mut Vec<Diagnostic>,
    ) {
        let syntax = self.program.syntax(self.routine, self.inst);
        let list = index.map(|index| (&self.program.module.operands(syntax)[index], index));
        let (given, values): (&[Operand], &[Value]) = match list {
            Some((operand, index)) => match &operand.kind {
                OperandKind::Group(parts) => {
                    (parts, self.routine.parts(self.routine.operands(self.inst)[index]))
                }
                _ => return,
            },
            None => (&[], &[]),
        };
        if given.len() != declared.len() {
            let span = list.map_or(syntax.opcode_span, |(operand, _)| operand.span);
            let name = self.program.module.source.slice(signature.name);
            let message = format!(
                "`{name}` has {}; the call gives {}",
                count(declared.len(), word),
                count(given.len(), word)
            );
            return out.push(
                Diagnostic::new(&CALL_MISMATCH, span, message)
                    .label(format!("{} here", count(given.len(), word)))
                    .also(signature.name, "declared here")
                    .help(format!("write one {word} in `( )` for each that is declared")),
            );
        }
        for ((declared, given), value) in declared.iter().zip(given).zip(values) {
            out.extend(self.size(signature, declared, given, *value, word));
        }
    }

    /// An argument has the size of its parameter.
    fn size(
        &self,
        signature: &Signature,
        declared: &Declaration,
        given: &Operand,
        value: Value,
        word: &str,
    ) -> Option<Diagnostic> {
        let declarator = declared.declarators.first()?;
        let wanted =
            Variable::new(declared, declarator, None, true).size.filter(|_| declared.ty != Type::Pred)?;
        let size = match value {
            Value::Register(id) => {
                let register = self.routine.register(id);
                if register.ty == Type::Pred {
                    return None;
                }
                u64::from(register.ty.bytes() * u32::from(register.vector))
            }
            Value::Variable(id, 0) => {
                let variable = &self.program.variables[id.0 as usize];
                variable.size.filter(|_| variable.space == Space::Param)?
            }
            _ => return None,
        };
        let bytes = |n: u64| count(n as usize, "byte");
        (size != wanted).then(|| {
            let text = self.program.module.source.slice(given.span);
            let message = format!("{word} `{text}` has {}; {} are declared", bytes(size), bytes(wanted));
            Diagnostic::new(&CALL_MISMATCH, given.span, message)
                .label(bytes(size))
                .also(signature.name, "declared here")
                .help("pass a register or `.param` variable of the declared type; convert with `cvt` first")
        })
    }

    fn without_prototype(&self, callee: usize) -> Diagnostic {
        let span = self.program.operand_span(self.routine, self.inst, callee);
        let name = self.program.module.source.slice(span);
        Diagnostic::new(&CALL_MISMATCH, span, format!("a call through `{name}` needs a prototype"))
            .label("nothing says what it takes and returns")
            .help("add the label of a `.callprototype` or `.calltargets` as the last operand")
    }
}
