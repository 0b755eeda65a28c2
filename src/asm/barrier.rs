//! The barrier table of a kernel: each mbarrier object, and which instructions use it for what.

use crate::isa::table::{Operand, Shape};
use crate::isa::{Arg, RowMatch};
use crate::program::flow::{At, Flow};
use crate::program::meaning::Meaning;
use crate::program::value::Known;
use crate::program::{Base, Program, RegisterId, Routine, Value, VariableId, operand_index};

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

    /// What an instruction of that meaning does with its barrier operand, if it has one.
    const fn of(meaning: Meaning) -> Option<Action> {
        Some(match meaning {
            Meaning::BarrierInit => Action::Init,
            Meaning::BarrierInval => Action::Inval,
            Meaning::ExpectTx => Action::Expect,
            Meaning::CompleteTx => Action::Complete,
            Meaning::Arrive | Meaning::ArriveNoComplete => Action::Arrive,
            Meaning::ArriveExpectTx => Action::ArriveExpect,
            Meaning::WaitState | Meaning::WaitParity => Action::Wait,
            Meaning::BarrierQuery => Action::Query,
            Meaning::CpAsyncArrive | Meaning::CpAsyncArriveNoInc | Meaning::Track => Action::Track,
            Meaning::BulkLoad | Meaning::BulkStore | Meaning::AsyncStore | Meaning::AsyncOther => {
                Action::Copy
            }
            Meaning::CpAsync
            | Meaning::CpAsyncCommit
            | Meaning::CpAsyncWaitGroup
            | Meaning::CpAsyncWaitAll
            | Meaning::BulkCommit
            | Meaning::BulkWait
            | Meaning::Fence
            | Meaning::FenceMbarrierInit
            | Meaning::FenceProxyAsync
            | Meaning::FenceProxy
            | Meaning::CtaBarrier
            | Meaning::CtaBarrierArrive
            | Meaning::AlignedBarrier
            | Meaning::AlignedBarrierArrive
            | Meaning::WarpBarrier
            | Meaning::ClusterArrive
            | Meaning::ClusterWait
            | Meaning::Mapa
            | Meaning::RankOf
            | Meaning::Elect
            | Meaning::Load
            | Meaning::Store
            | Meaning::Atomic
            | Meaning::Move
            | Meaning::ConvertAddress
            | Meaning::ConvertInt
            | Meaning::Add
            | Meaning::Sub
            | Meaning::Mul
            | Meaning::Mad
            | Meaning::Shl
            | Meaning::Shr
            | Meaning::And
            | Meaning::Or
            | Meaning::Xor
            | Meaning::Not
            | Meaning::AndPred
            | Meaning::OrPred
            | Meaning::Compare
            | Meaning::Select
            | Meaning::Compute
            | Meaning::Branch
            | Meaning::BranchIndexed
            | Meaning::Call
            | Meaning::End
            | Meaning::Other => return None,
        })
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

impl Place {
    const fn is_constant(self) -> bool {
        matches!(self, Place::Variable(_, Some(_)) | Place::Remote(_, Some(_)))
    }
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
    let flow = Flow::new(program, routine);
    let mut barriers: Vec<Barrier> = Vec::new();
    for (at, inst) in routine.instructions.iter().enumerate() {
        let Some(action) = flow.meanings[at].and_then(Action::of) else { continue };
        let Some(place) = flow.row(at).and_then(|row| place(&flow, at, row)) else { continue };
        flow.renew_steps();
        let start = program.span(routine, inst).start;
        let counted = counted(&flow, at);
        let usage = Use {
            action,
            instruction: at,
            line: program.module.source.line(start),
            amount: counted.map(|arg| written(&flow, at, arg)),
            value: counted.and_then(|arg| flow.number(at, arg)),
        };
        match barriers.iter_mut().find(|barrier| barrier.place == place) {
            Some(barrier) => barrier.uses.push(usage),
            None => barriers.push(Barrier { place, uses: vec![usage] }),
        }
    }
    barriers.sort_by_key(|barrier| (!barrier.place.is_constant(), barrier.place));
    barriers
}

/// Where the barrier operand of the instruction points, if it has one.
fn place(flow: &Flow, at: At, row: &RowMatch) -> Option<Place> {
    let is_barrier = |operand: &Operand| matches!(&operand.shape, Shape::Address(spec) if spec.mbar);
    let index = row.row.operands.iter().position(is_barrier)?;
    let value = *flow.routine.operands(flow.inst(at)).get(index)?;
    Some(match (flow.address(at, value), value) {
        (Known::Place(place), _) if place.remote => Place::Remote(place.variable, Some(place.offset)),
        (Known::Place(place), _) => Place::Variable(place.variable, Some(place.offset)),
        (Known::Within { variable, remote: true }, _) => Place::Remote(variable, None),
        (Known::Within { variable, remote: false }, _) => Place::Variable(variable, None),
        (_, Value::Address(Base::Register(register), offset)) => Place::Register(register, offset),
        _ => Place::Unknown,
    })
}

/// The operand that says what an instruction counts.
fn counted(flow: &Flow, at: At) -> Option<Arg> {
    [Arg::Count, Arg::TxCount, Arg::Size].into_iter().find(|&arg| flow.operand(at, arg).is_some())
}

/// The operand called `arg` as written.
fn written(flow: &Flow, at: At, arg: Arg) -> String {
    let (program, inst) = (flow.program, flow.inst(at));
    let index = flow.row(at).and_then(|row| operand_index(row, arg)).unwrap_or(0);
    program.module.text(program.operand_span(flow.routine, inst, index)).trim().to_string()
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
    fn every_barrier_operand_has_an_action() {
        let has_barrier =
            |row: &Row| row.operands.iter().any(|o| matches!(&o.shape, Shape::Address(spec) if spec.mbar));
        for op in OPS {
            for row in op.rows.iter().filter(|row| has_barrier(row)) {
                let asynchronous = op.words().any(|word| word == ".async");
                let action = Action::of(Meaning::of(row.form));
                assert!(action.is_some(), "{}", op.name);
                let moves = matches!(action, Some(Action::Copy | Action::Track));
                assert_eq!(asynchronous || action == Some(Action::Track), moves, "{}", op.name);
            }
        }
    }

    #[test]
    fn addresses_are_followed_through_registers() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.shared .b64 bar[4];\n.entry k() {\n\
            .reg .b32 r<8>; .reg .pred p;\n\
            mov.u32 r0, bar;\n\
            add.s32 r1, r0, 8;\n\
            mbarrier.init.shared.b64 [r1+8], 2;\n\
            mapa.shared::cluster.u32 r2, r1, 1;\n\
            mbarrier.arrive.expect_tx.shared::cluster.b64 _, [r2], 64;\n\
            mov.u32 r3, %clock;\n\
            mbarrier.arrive.shared.b64 _, [r3];\n\
            add.s32 r4, r0, r3;\n\
            mbarrier.arrive.shared.b64 _, [r4];\n\
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
            (Place::Variable(bar, None), "arrive", 15, None),
            (Place::Register(register("r3"), 0), "arrive", 13, None),
        ];
        assert_eq!(seen, expected);
    }
}
