//! The barrier table of a kernel: each mbarrier object, and which instructions use it for what.

use crate::isa::table::{Access, Shape};
use crate::isa::{Arg, Form, RowMatch};
use crate::program::meaning::Meaning;
use crate::program::{Base, Inst, Program, RegisterId, Routine, Value, VariableId, operand_index};

/// What an instruction does with a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Action {
    /// Makes it.
    Init,
    /// Ends it.
    Inval,
    /// Awaits transactions.
    Expect,
    /// Takes transactions off.
    Complete,
    /// Arrives.
    Arrive,
    /// Awaits transactions and arrives.
    ArriveExpect,
    /// Arrives when earlier copies of the thread are complete.
    Track,
    /// Signals it when its bytes are written.
    Copy,
    /// Waits or tests.
    Wait,
    /// Reads what it is.
    Query,
}

impl Action {
    /// The word for people and programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Init => "init",
            Action::Inval => "inval",
            Action::Expect => "expect-tx",
            Action::Complete => "complete-tx",
            Action::Arrive => "arrive",
            Action::ArriveExpect => "arrive-expect-tx",
            Action::Track => "track",
            Action::Copy => "copy",
            Action::Wait => "wait",
            Action::Query => "query",
        }
    }

    /// What `form` does with its barrier operand.
    fn of(form: Form) -> Action {
        use Form as F;
        match form {
            F::MbarrierInit => Action::Init,
            F::MbarrierInval => Action::Inval,
            F::MbarrierExpectTx => Action::Expect,
            F::MbarrierCompleteTx => Action::Complete,
            F::MbarrierArrive
            | F::MbarrierArriveDrop
            | F::MbarrierArriveNoComplete
            | F::MbarrierArriveDropNoComplete => Action::Arrive,
            F::MbarrierArriveExpectTx | F::MbarrierArriveDropExpectTx => Action::ArriveExpect,
            F::MbarrierTestWait
            | F::MbarrierTestWaitParity
            | F::MbarrierTryWait
            | F::MbarrierTryWaitParity => Action::Wait,
            F::MbarrierCheckLayout => Action::Query,
            F::CpAsyncMbarrierArrive | F::CpAsyncMbarrierArriveNoInc | F::Tcgen05Commit => Action::Track,
            // Every other instruction with a barrier operand copies; a test looks at them all.
            _ => Action::Copy,
        }
    }
}

/// Where a barrier lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Place {
    /// In a variable, so many bytes from its start (none: not constant).
    Variable(VariableId, Option<i64>),
    /// The same in another CTA of the cluster.
    Remote(VariableId, Option<i64>),
    /// At an address that is not constant.
    Register(RegisterId, i64),
    /// Not known at all.
    Unknown,
}

/// One use of a barrier.
#[derive(Debug, PartialEq, Eq)]
pub struct Use {
    /// What for.
    pub action: Action,
    /// Index of the instruction in its routine.
    pub instruction: usize,
    /// The line it stands on.
    pub line: u32,
    /// The count, bytes or units that it names, as written.
    pub amount: Option<String>,
    /// The same as a number, where it is constant.
    pub value: Option<i64>,
}

/// A barrier and its uses.
#[derive(Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Where it lies.
    pub place: Place,
    /// In the order of the text.
    pub uses: Vec<Use>,
}

/// The barriers of `routine`, those at constant addresses first.
pub fn table(program: &Program, routine: &Routine) -> Vec<Barrier> {
    let addresses = Addresses::new(program, routine);
    let mut barriers: Vec<Barrier> = Vec::new();
    for (index, inst) in routine.instructions.iter().enumerate() {
        let Some(row) = program.row(routine, inst) else { continue };
        for (number, operand) in row.row.operands.iter().enumerate() {
            let is_barrier = matches!(&operand.shape, Shape::Address(spec) if spec.mbar);
            let Some(value) = routine.operands(inst).get(number).filter(|_| is_barrier) else { continue };
            let place = addresses.place(*value);
            let start = program.span(routine, inst).start;
            let usage = Use {
                action: Action::of(row.form()),
                instruction: index,
                line: program.module.source.line(start),
                amount: amount(program, routine, inst, row),
                value: addresses.amount(inst, row),
            };
            match barriers.iter_mut().find(|barrier| barrier.place == place) {
                Some(barrier) => barrier.uses.push(usage),
                None => barriers.push(Barrier { place, uses: vec![usage] }),
            }
        }
    }
    barriers.sort_by_key(|barrier| barrier.place);
    barriers
}

/// Which operand says what an instruction counts.
fn amount_index(routine: &Routine, inst: &Inst, row: &RowMatch) -> Option<usize> {
    let wanted = [Arg::Count, Arg::TxCount, Arg::Size];
    let index = wanted.iter().find_map(|arg| operand_index(row, *arg))?;
    (index < routine.operands(inst).len()).then_some(index)
}

/// What an instruction says it counts, as written.
fn amount(program: &Program, routine: &Routine, inst: &Inst, row: &RowMatch) -> Option<String> {
    let index = amount_index(routine, inst, row)?;
    Some(program.module.text(program.operand_span(routine, inst, index)).trim().to_string())
}

/// The addresses in registers that are written once, by moves and sums of constants.
struct Addresses<'a> {
    program: &'a Program,
    routine: &'a Routine,
    /// The only instruction that writes each register.
    writer: Vec<Writer>,
}

#[derive(Clone, Copy, PartialEq)]
enum Writer {
    None,
    Once(u32),
    More,
}

/// How far chains of registers are followed.
const DEPTH: u32 = 32;

/// A value that is known at least in part: an address in a variable or a mere number, the offset
/// if it is constant, and whether it is another CTA's.
#[derive(Clone, Copy)]
struct Constant {
    variable: Option<VariableId>,
    offset: Option<i64>,
    remote: bool,
}

impl Constant {
    /// Nothing is known.
    const NONE: Constant = Constant { variable: None, offset: None, remote: false };
}

impl<'a> Addresses<'a> {
    fn new(program: &'a Program, routine: &'a Routine) -> Self {
        let mut writer = vec![Writer::None; routine.registers.len()];
        for (index, inst) in routine.instructions.iter().enumerate() {
            for id in written(program, routine, inst) {
                let known = &mut writer[id.0 as usize];
                let once = *known == Writer::None && inst.guard.is_none();
                *known = if once { Writer::Once(index as u32) } else { Writer::More };
            }
        }
        Addresses { program, routine, writer }
    }

    /// The place that an address operand names.
    fn place(&self, value: Value) -> Place {
        let Value::Address(base, offset) = value else { return Place::Unknown };
        match base {
            Base::Variable(id) => Place::Variable(id, Some(offset)),
            Base::Register(register) => {
                let found = self.constant(Value::Register(register), DEPTH);
                let at = found.offset.map(|start| start.wrapping_add(offset));
                match found.variable {
                    Some(id) if found.remote => Place::Remote(id, at),
                    Some(id) => Place::Variable(id, at),
                    None => Place::Register(register, offset),
                }
            }
            Base::Constant | Base::Unknown => Place::Unknown,
        }
    }

    /// The number that `inst` counts.
    fn amount(&self, inst: &Inst, row: &RowMatch) -> Option<i64> {
        let index = amount_index(self.routine, inst, row)?;
        let found = self.constant(self.routine.operands(inst)[index], DEPTH);
        found.offset.filter(|_| found.variable.is_none())
    }

    fn constant(&self, value: Value, depth: u32) -> Constant {
        match value {
            Value::Const(value) => {
                let offset = value.int().map(|value| value as i64);
                Constant { offset, ..Constant::NONE }
            }
            Value::Variable(id, offset) => {
                Constant { variable: Some(id), offset: Some(offset), remote: false }
            }
            Value::Register(id) => match self.writer[id.0 as usize] {
                Writer::Once(index) if depth > 0 => {
                    self.result(&self.routine.instructions[index as usize], depth - 1)
                }
                _ => Constant::NONE,
            },
            _ => Constant::NONE,
        }
    }

    /// What `inst` writes, as far as it moves and adds.
    fn result(&self, inst: &Inst, depth: u32) -> Constant {
        let operands = self.routine.operands(inst);
        let source =
            |index: usize| operands.get(index).map_or(Constant::NONE, |value| self.constant(*value, depth));
        let Some(form) = self.program.form(self.routine, inst) else { return Constant::NONE };
        match Meaning::of(form) {
            Meaning::Move | Meaning::ConvertAddress | Meaning::ConvertInt => source(1),
            Meaning::Mapa => Constant { remote: true, ..source(1) },
            Meaning::Add => sum(source(1), source(2)),
            Meaning::Sub => {
                let (a, b) = (source(1), source(2));
                let offset = a.offset.zip(b.offset).map(|(a, b)| a.wrapping_sub(b));
                if b.variable.is_none() { Constant { offset, ..a } } else { Constant::NONE }
            }
            _ => Constant::NONE,
        }
    }
}

/// An address plus a number.
fn sum(a: Constant, b: Constant) -> Constant {
    let offset = a.offset.zip(b.offset).map(|(a, b)| a.wrapping_add(b));
    match (a.variable, b.variable) {
        (Some(_), Some(_)) => Constant::NONE,
        (one, other) => Constant { variable: one.or(other), offset, remote: a.remote || b.remote },
    }
}

/// The registers that `inst` writes; for an instruction that the table does not know, all it names.
fn written(program: &Program, routine: &Routine, inst: &Inst) -> Vec<RegisterId> {
    let row = program.row(routine, inst);
    let mut out = Vec::new();
    for (index, value) in routine.operands(inst).iter().enumerate() {
        let reads = match row.map(|row| row.row.operands.get(index)) {
            None | Some(None) => false,
            Some(Some(operand)) => match &operand.shape {
                // What stands in brackets is read, whatever happens to the memory.
                Shape::Address(_) | Shape::Compound(..) => true,
                Shape::Pair(..) => false,
                _ => operand.access == Access::Read,
            },
        };
        if !reads {
            let parts = routine.parts(*value).iter().chain(std::iter::once(value));
            out.extend(parts.filter_map(|value| match value {
                Value::Register(id) | Value::Component(id, _) => Some(*id),
                _ => None,
            }));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::isa::OPS;
    use crate::isa::table::Row;
    use crate::program::Options;
    use crate::source::SourceFile;
    use crate::syntax::parse;

    #[test]
    fn what_the_wildcard_takes_for_copies_are_copies() {
        let has_barrier =
            |row: &Row| row.operands.iter().any(|o| matches!(&o.shape, Shape::Address(spec) if spec.mbar));
        for op in OPS {
            for row in op.rows.iter().filter(|row| has_barrier(row)) {
                let asynchronous = op.words().any(|word| word == ".async");
                let copies = Action::of(row.form) == Action::Copy;
                let tracks = Action::of(row.form) == Action::Track;
                assert_eq!(asynchronous, copies || (tracks && asynchronous), "{}", op.name);
            }
        }
    }

    #[test]
    fn addresses_are_followed_through_registers_that_are_set_once() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.shared .b64 bar[4];\n.entry k() {\n\
            .reg .b32 r<8>; .reg .pred p;\n\
            mov.u32 r0, bar;\n\
            add.s32 r1, r0, 8;\n\
            mbarrier.init.shared.b64 [r1+8], 2;\n\
            mapa.shared::cluster.u32 r2, r1, 1;\n\
            mbarrier.arrive.expect_tx.shared::cluster.b64 _, [r2], 64;\n\
            @p mov.u32 r3, bar;\n\
            mbarrier.arrive.shared.b64 _, [r3];\n\
            ret; }\n";
        let program = Program::new(parse(SourceFile::new("t", text)).module, Options::default());
        let table = table(&program, &program.routines[0]);
        let seen: Vec<_> = table
            .iter()
            .map(|b| (b.place, b.uses[0].action.as_str(), b.uses[0].line, b.uses[0].amount.as_deref()))
            .collect();
        let bar = VariableId(0);
        let register = |name: &str| {
            let of = |r: &crate::program::Register| program.module.name(r.symbol) == name;
            RegisterId(program.routines[0].registers.iter().position(of).unwrap_or(99) as u32)
        };
        let expected = [
            (Place::Variable(bar, Some(16)), "init", 9, Some("2")),
            (Place::Remote(bar, Some(8)), "arrive-expect-tx", 11, Some("64")),
            (Place::Register(register("r3"), 0), "arrive", 13, None),
        ];
        assert_eq!(seen, expected);
    }
}
