//! Programs with one instruction taken out, or with two exchanged.

use std::path::{Path, PathBuf};

use mbar::check::Settings as CheckSettings;
use mbar::diagnostic::Severity;
use mbar::launch::{ArgumentKind, Expect};
use mbar::machine::choice::{Landing, Schedule, Strategy};
use mbar::machine::finding::Finding;
use mbar::machine::{Machine, Options};
use mbar::program::flow::{At, Flow};
use mbar::program::meaning::Meaning;
use mbar::program::{RegisterId, Value};
use mbar::types::Type;
use mbar::verify::explore::Bounds;
use mbar::verify::{self, Settings, Verdict};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::Facts;
use crate::support;
use crate::support::execute::Prepared;

/// What is changed: instructions of a routine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// One is taken out.
    Without(At),
    /// Two change places: the first one goes behind the second.
    Later(At, At),
    /// Two change places: the second one goes before the first.
    Earlier(At, At),
}

/// A right program, and what its run shows.
pub struct Original {
    pub name: String,
    pub family: &'static str,
    pub folder: PathBuf,
    pub text: String,
    pub prepared: Prepared,
    pub facts: Facts,
    /// What memory holds in the end.
    pub result: Vec<Expect>,
    /// Errors of the check.
    pub errors: usize,
    pub verdict: Verdict,
    /// How often each rule of the verifier warns.
    pub warnings: FxHashMap<&'static str, usize>,
    pub steps: u64,
}

/// A program made from a right one.
pub struct Mutant<'o> {
    pub original: &'o Original,
    pub routine: usize,
    pub change: Change,
}

/// Whether it makes threads or copies wait for one another, or tells that they need not.
fn synchronises(meaning: Meaning) -> bool {
    matches!(
        meaning,
        Meaning::BarrierInit
            | Meaning::ExpectTx
            | Meaning::CompleteTx
            | Meaning::Arrive
            | Meaning::ArriveNoComplete
            | Meaning::ArriveExpectTx
            | Meaning::WaitState
            | Meaning::WaitParity
            | Meaning::CpAsyncCommit
            | Meaning::CpAsyncWaitGroup
            | Meaning::CpAsyncWaitAll
            | Meaning::CpAsyncArrive
            | Meaning::CpAsyncArriveNoInc
            | Meaning::BulkCommit
            | Meaning::BulkWait
            | Meaning::Track
            | Meaning::CtaBarrier
            | Meaning::CtaBarrierArrive
            | Meaning::AlignedBarrier
            | Meaning::AlignedBarrierArrive
            | Meaning::WarpBarrier
            | Meaning::ClusterArrive
            | Meaning::ClusterWait
            | Meaning::Fence
            | Meaning::FenceMbarrierInit
            | Meaning::FenceProxyAsync
            | Meaning::FenceProxy
    )
}

fn jumps(meaning: Option<Meaning>) -> bool {
    matches!(meaning, None | Some(Meaning::Branch | Meaning::BranchIndexed | Meaning::End | Meaning::Call))
}

fn is_access(meaning: Option<Meaning>) -> bool {
    matches!(meaning, Some(Meaning::Load | Meaning::Store | Meaning::Atomic))
}

/// The registers that an instruction reads, and those that it writes. The time that a wait may take is a hint.
fn registers(flow: &Flow, at: At) -> (Vec<RegisterId>, Vec<RegisterId>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    flow.read(at, &mut |register| reads.push(register));
    flow.written(at, &mut |register, _| writes.push(register));
    if let Some(Meaning::WaitState | Meaning::WaitParity) = flow.meanings[at]
        && let Some(Value::Register(hint)) = flow.routine.operands(flow.inst(at)).get(3)
        && let Some(last) = reads.iter().rposition(|register| register == hint)
    {
        reads.remove(last);
    }
    (reads, writes)
}

/// Whether neither needs what the other computes.
fn are_independent(flow: &Flow, a: At, b: At) -> bool {
    let ((reads_a, writes_a), (reads_b, writes_b)) = (registers(flow, a), registers(flow, b));
    let apart = |these: &[RegisterId], those: &[RegisterId]| !these.iter().any(|it| those.contains(it));
    apart(&writes_a, &reads_b) && apart(&writes_a, &writes_b) && apart(&reads_a, &writes_b)
}

/// How a program that needs so many steps is verified.
pub fn settings(steps: u64) -> Settings {
    let options = Options { max_steps: 3 * steps + 3_000, ..Options::default() };
    let bounds = Bounds { states: 300, bytes: 256 << 20, ..Bounds::default() };
    Settings { options, strict: false, explore: false, jobs: 1, bounds }
}

/// How often each rule warns.
pub fn warnings(findings: &[Finding]) -> FxHashMap<&'static str, usize> {
    let mut counts = FxHashMap::default();
    for finding in findings.iter().filter(|finding| finding.diagnostic.severity == Severity::Warning) {
        *counts.entry(finding.rule.number).or_default() += 1;
    }
    counts
}

impl Original {
    /// Runs and verifies a program.
    pub fn new(name: String, family: &'static str, folder: &Path, text: String) -> Original {
        let checked = support::check_text(&name, &text, &CheckSettings::default());
        let errors = support::errors(&checked).len();
        let prepared = Prepared::with_files(&name, &text, &mut |file| std::fs::read(folder.join(file)));
        let options = Options { events: true, ..Options::default() };
        let machine = Machine::new(&prepared.program, &prepared.launch, options);
        let mut machine = machine.unwrap_or_else(|_| panic!("{name}: no machine"));
        machine.run(&mut Strategy::new(Schedule::RoundRobin, Landing::Lazy, 0), &mut |_| {});
        let events = std::mem::take(&mut machine.events);
        let facts = Facts::new(&machine, &events);
        let arguments = prepared.launch.arguments.iter().enumerate();
        let buffers = arguments.filter(|(_, argument)| matches!(argument.kind, ArgumentKind::Buffer { .. }));
        let result = buffers.map(|(index, argument)| Expect {
            argument: index,
            element: Type::U8,
            bytes: machine.argument(index).unwrap_or_default().to_vec(),
            tolerance: None,
            place: argument.place,
        });
        let result = result.collect();
        let steps = machine.statistics.steps;
        drop(machine);
        let verification = verify::verify(&prepared.program, &prepared.launch, &settings(steps), &|_| {});
        let (verdict, warnings) = match verification {
            Ok(verification) => (verification.verdict, warnings(&verification.findings)),
            Err(_) => panic!("{name}: cannot be launched"),
        };
        let folder = folder.to_path_buf();
        Original { name, family, folder, text, prepared, facts, result, errors, verdict, warnings, steps }
    }

    /// Without each instruction that synchronises.
    pub fn deletions(&self) -> Vec<Mutant<'_>> {
        let mut mutants = Vec::new();
        self.for_each_routine(|routine, flow| {
            let all = (0..flow.meanings.len()).filter(|&at| self.is_sync(flow, routine, at));
            mutants.extend(all.map(|at| Mutant { original: self, routine, change: Change::Without(at) }));
        });
        mutants
    }

    /// With each instruction that synchronises in the place of its neighbours, and these in its own. What only
    /// computes beside it is no neighbour: an exchange with that changes nothing. `superfluous` ones could stand
    /// anywhere.
    pub fn exchanges(&self, superfluous: &FxHashSet<(usize, At)>) -> Vec<Mutant<'_>> {
        let mut mutants = Vec::new();
        self.for_each_routine(|routine, flow| {
            for first in (0..flow.meanings.len()).filter(|&at| !jumps(flow.meanings[at])) {
                let end = flow.blocks[flow.block_of(first)].end;
                for second in (first + 1..end).take_while(|&at| !jumps(flow.meanings[at])) {
                    let pair = [first, second];
                    let is_one = pair.iter().any(|&at| self.is_sync(flow, routine, at));
                    let is_idle = pair.iter().any(|&at| superfluous.contains(&(routine, at)));
                    if is_one && !is_idle && !self.means_the_same(flow, routine, first, second) {
                        let change = self.exchange(flow, first, second);
                        mutants.extend(change.map(|change| Mutant { original: self, routine, change }));
                    }
                    // Behind what only computes comes another neighbour.
                    let passes =
                        self.is_neutral(flow, routine, second) || superfluous.contains(&(routine, second));
                    if !passes || self.is_neutral(flow, routine, first) {
                        break;
                    }
                }
            }
        });
        mutants
    }

    fn for_each_routine(&self, mut f: impl FnMut(usize, &Flow)) {
        let program = &self.prepared.program;
        for (index, routine) in program.routines.iter().enumerate() {
            f(index, &Flow::new(program, routine));
        }
    }

    /// Whether the instruction synchronises, and is executed.
    fn is_sync(&self, flow: &Flow, routine: usize, at: At) -> bool {
        flow.meanings[at].is_some_and(synchronises) && self.facts.acts.contains(&(routine as u32, at))
    }

    /// Whether it only computes, or touches memory that is one thread's own.
    fn is_neutral(&self, flow: &Flow, routine: usize, at: At) -> bool {
        let key = (routine as u32, at);
        let computes = matches!(flow.meanings[at], Some(Meaning::Elect | Meaning::Compute));
        let is_own = is_access(flow.meanings[at]) && !self.facts.is_shared(key);
        computes || is_own || !self.facts.acts.contains(&key)
    }

    /// Whether exchanging two instructions changes nothing that anybody could see.
    fn means_the_same(&self, flow: &Flow, routine: usize, a: At, b: At) -> bool {
        if self.text_of(flow, a) == self.text_of(flow, b) {
            return true;
        }
        if !are_independent(flow, a, b) {
            return false;
        }
        if self.is_neutral(flow, routine, a) || self.is_neutral(flow, routine, b) {
            return true;
        }
        // A barrier is made next to another, or to an access that orders nothing.
        let orders = |at: At| {
            let text = self.text_of(flow, at);
            [".acquire", ".release", ".acq_rel"].iter().any(|order| text.contains(order))
        };
        let makes = |at: At| flow.meanings[at] == Some(Meaning::BarrierInit);
        let is_plain = |at: At| makes(at) || is_access(flow.meanings[at]) && !orders(at);
        (makes(a) || makes(b)) && is_plain(a) && is_plain(b)
    }

    /// How two instructions change places: one of them passes what is between them. None when neither can: it
    /// needs what is computed there, or a name that is not declared there.
    fn exchange(&self, flow: &Flow, first: At, second: At) -> Option<Change> {
        let end = flow.program.span(flow.routine, flow.inst(first)).end;
        let start = flow.program.span(flow.routine, flow.inst(second)).start;
        let between = support::without_comments(&self.text[end as usize..start as usize]);
        let (mut depth, mut lowest) = (0, 0);
        for c in between.chars() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            lowest = lowest.min(depth);
        }
        let passes = |at: At| (first + 1..second).all(|other| are_independent(flow, at, other));
        if lowest == 0 && passes(first) {
            Some(Change::Later(first, second))
        } else if lowest == depth && passes(second) {
            Some(Change::Earlier(first, second))
        } else {
            None
        }
    }

    fn text_of(&self, flow: &Flow, at: At) -> &str {
        let span = flow.program.span(flow.routine, flow.inst(at));
        &self.text[span.start as usize..span.end as usize]
    }
}

impl<'o> Mutant<'o> {
    /// The flow of the changed routine, as it was.
    pub fn flow(&self) -> Flow<'o> {
        let program = &self.original.prepared.program;
        Flow::new(program, &program.routines[self.routine])
    }

    /// The instruction that is taken out, if it does nothing but order others.
    pub fn only_orders(&self) -> Option<(usize, At)> {
        use Meaning as M;
        let Change::Without(at) = self.change else { return None };
        let orders = matches!(
            self.flow().meanings[at]?,
            M::Fence
                | M::FenceMbarrierInit
                | M::FenceProxyAsync
                | M::FenceProxy
                | M::WarpBarrier
                | M::CtaBarrier
                | M::AlignedBarrier
        );
        orders.then_some((self.routine, at))
    }

    /// Its text; lines keep their numbers where one is taken out.
    pub fn text(&self) -> String {
        let flow = self.flow();
        let (text, program) = (&self.original.text, &self.original.prepared.program);
        let span = |at: At| {
            let span = program.span(flow.routine, flow.inst(at));
            (span.start as usize, span.end as usize)
        };
        match self.change {
            Change::Without(at) => {
                let (start, end) = span(at);
                let instead = match flow.meanings[at] {
                    // The wait as a whole: as if it had passed.
                    Some(Meaning::WaitState | Meaning::WaitParity) => {
                        let syntax = program.syntax(flow.routine, flow.inst(at));
                        let guard = &text[start..syntax.opcode_span.start as usize];
                        let operand = program.operand_span(flow.routine, flow.inst(at), 0);
                        let predicate = &text[operand.start as usize..operand.end as usize];
                        format!("{guard}setp.eq.u32 {predicate}, 0, 0;")
                    }
                    _ => String::new(),
                };
                let lines = text[start..end].matches('\n').count();
                format!("{}{instead}{}{}", &text[..start], "\n".repeat(lines), &text[end..])
            }
            Change::Later(first, second) => {
                let ((start, end), (_, to)) = (span(first), span(second));
                format!("{}{} {}{}", &text[..start], &text[end..to], &text[start..end], &text[to..])
            }
            Change::Earlier(first, second) => {
                let ((start, _), (from, to)) = (span(first), span(second));
                format!("{}{} {}{}", &text[..start], &text[from..to], &text[start..from], &text[to..])
            }
        }
    }

    /// `guide/01.ptx:12 without mbarrier.arrive…;`
    pub fn in_words(&self) -> String {
        let flow = self.flow();
        let (name, program) = (&self.original.name, &self.original.prepared.program);
        let text = |at: At| self.original.text_of(&flow, at).split_whitespace().collect::<Vec<_>>().join(" ");
        let line = |at: At| program.module.source.line(program.span(flow.routine, flow.inst(at)).start);
        match self.change {
            Change::Without(at) => format!("{name}:{} without {}", line(at), text(at)),
            Change::Later(first, second) | Change::Earlier(first, second) => {
                format!(
                    "{name}:{} {} exchanged with line {}: {}",
                    line(first),
                    text(first),
                    line(second),
                    text(second)
                )
            }
        }
    }
}
