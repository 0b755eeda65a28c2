//! Executing instructions, one file a family.

mod access;
mod barrier;
mod call;
mod copy;
mod exchange;
pub mod local;
mod matrix;
mod meeting;
mod sync;
mod tensor;
mod update;

pub(in crate::machine) use access::Extent;
pub use access::{Place, Reach};

use super::Machine;
use super::code::{Op, Pc};
use super::column::Mask;
use super::cta::Site;
use super::event::Event;
use super::finding::{Fault, Finding, Outcome};
use super::order::Fence;
use super::rule::{self, RunRule};
use super::warp::{Frame, State};
use super::{Undefined, code};
use crate::diagnostic::{Diagnostic, Severity};

/// An instruction in hand: who executes it.
#[derive(Clone, Copy, Debug)]
pub struct Doing {
    /// The warp.
    pub warp: usize,
    /// Its group.
    pub group: usize,
    /// The instruction.
    pub pc: Pc,
    /// The lanes that execute it.
    pub lanes: Mask,
    /// The routine in hand.
    pub frame: Frame,
}

/// What becomes of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It goes on with the next instruction.
    Next,
    /// It waits, and executes the instruction again afterwards.
    Wait(State),
    /// It has been taken care of.
    Done,
}

impl Doing {
    /// The place, for reports.
    pub fn site(&self) -> Site {
        Site { pc: self.pc, warp: self.warp as u32, lanes: self.lanes }
    }
}

impl Machine<'_> {
    /// Executes the instruction that a group stands at, which others can see.
    pub(super) fn execute(&mut self, warp: usize, group: usize, lanes: Mask) {
        let pc = self.warps[warp].groups[group].pc;
        let frame = *self.warps[warp].groups[group].frame();
        let doing = Doing { warp, group, pc, lanes, frame };
        let then = self.operation(&doing);
        if self.stopped.is_some() {
            return;
        }
        match then {
            Then::Next => {
                let group = &mut self.warps[warp].groups[group];
                group.pc = pc + 1;
                group.state = State::Ready;
            }
            Then::Wait(state) => {
                let all = self.warps[warp].groups[group].mask;
                if lanes == all {
                    self.warps[warp].groups[group].state = state;
                } else {
                    // Lanes that do not execute it must not wait with the others.
                    let join = self.join(pc + 1);
                    let parts = [(lanes, pc), (all & !lanes, pc + 1)];
                    self.warps[warp].split(group, &parts, join);
                    if let Some(part) = self.warps[warp].groups.iter_mut().find(|g| g.mask == lanes) {
                        part.state = state;
                    }
                }
            }
            Then::Done => {}
        }
    }

    /// The instruction as a join, where the strategy has joins.
    pub(super) fn join(&self, pc: Pc) -> Pc {
        if self.options.reconverge == super::Reconverge::Never { code::NONE } else { pc }
    }

    fn operation(&mut self, doing: &Doing) -> Then {
        // The code does not change; the borrow checker cannot see it through the machine.
        let op = self.code.insts[doing.pc as usize].op.clone();
        if self.trapping && !matches!(op, Op::Exit | Op::Return { .. }) {
            self.stop_with(Fault::LaunchFailed);
            return Then::Done;
        }
        match op {
            Op::Memory(access) => self.access(doing, &access),
            Op::Warp(warp) => self.exchange(doing, &warp),
            Op::Matrix(matrix) => self.matrix(doing, &matrix),
            Op::Cta(barrier) => self.cta_barrier(doing, &barrier),
            Op::Cluster(barrier) => self.cluster_barrier(doing, barrier),
            Op::Barrier(barrier) => self.barrier(doing, &barrier),
            Op::Copy(copy) => self.start_copy(doing, &copy),
            Op::Commit(family) => self.commit(doing, family),
            Op::Wait { family, but, read } => self.wait_for_copies(doing, family, but, read),
            Op::TensorMap(op) => self.tensor_map(doing, &op),
            Op::Cancel(query) => self.cancel_query(doing, &query),
            Op::Call(call) => self.call(doing, &call),
            Op::Return { uniform } => self.leave(doing, uniform),
            Op::Exit => self.end_lanes(doing),
            Op::Trap => self.trap(doing),
            Op::Sleep(time) => self.sleep(doing, time),
            Op::Stack(stack) => self.stack(doing, stack),
            Op::Together => self.together(doing),
            Op::Fence(fence) => self.fence(doing, fence),
            Op::Unsupported => self.unsupported(doing),
            Op::Scalar { .. }
            | Op::Compare(_)
            | Op::Carry { .. }
            | Op::Logic { .. }
            | Op::Test { .. }
            | Op::Clock { .. }
            | Op::ActiveMask(_)
            | Op::LocalAddress(..)
            | Op::Convert(_)
            | Op::Branch { .. }
            | Op::Switch { .. }
            | Op::Nothing => Then::Next,
        }
    }

    /// There is one order of all accesses here: only those who watch care.
    fn fence(&mut self, doing: &Doing, fence: Fence) -> Then {
        if self.options.events {
            self.events.push(Event::Fence { by: doing.site(), fence });
        }
        Then::Next
    }

    fn unsupported(&mut self, doing: &Doing) -> Then {
        let span = self.span(doing.pc);
        let text = self.program.module.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let message = format!("this instruction cannot be executed here: {text}");
        let diagnostic = Diagnostic::new(&rule::UNSUPPORTED.rule, span, message)
            .label(format!("reached by {}", self.threads(doing.site())))
            .note("nothing is skipped in silence: what the kernel does from here on is not known");
        self.findings.push(Finding { rule: &rule::UNSUPPORTED, diagnostic, count: 1 });
        self.stopped = Some(Outcome::Unsupported);
        Then::Done
    }

    fn trap(&mut self, doing: &Doing) -> Then {
        let message = format!("{} executed a trap", self.threads(doing.site()));
        let diagnostic = Diagnostic::new(&rule::TRAP.rule, self.span(doing.pc), message);
        self.findings.push(Finding { rule: &rule::TRAP, diagnostic, count: 1 });
        self.stop_with(Fault::LaunchFailed);
        Then::Done
    }

    pub(super) fn stop_with(&mut self, fault: Fault) {
        self.fault = Some(fault);
        self.stopped = Some(Outcome::Trap);
    }

    /// Something that the manual does not define: reports it, and stops as the options say. `fault` is
    /// what the chip stops with, if it does. `more` adds to the message.
    pub(super) fn wrong(
        &mut self,
        site: Site,
        rule: &'static RunRule,
        fault: Option<Fault>,
        message: String,
        more: impl FnOnce(&Self, Diagnostic) -> Diagnostic,
    ) {
        if self.stopped.is_some() {
            return;
        }
        if self.options.undefined != Undefined::Ignore || fault.is_some() {
            self.found(site, rule, message, more);
        }
        let severity = rule.rule.severity;
        if self.options.undefined == Undefined::Stop && severity == Severity::Error {
            self.fault = fault.or(self.trapping.then_some(Fault::LaunchFailed));
            self.stopped = Some(Outcome::Violation);
        } else if let Some(fault) = fault {
            self.stop_with(fault);
        }
    }

    /// Notes a finding, once for each rule and instruction.
    pub(super) fn found(
        &mut self,
        site: Site,
        rule: &'static RunRule,
        message: String,
        more: impl FnOnce(&Self, Diagnostic) -> Diagnostic,
    ) {
        if let Some(&index) = self.known.get(&(rule.number, site.pc)) {
            self.findings[index].count += 1;
            return;
        }
        let diagnostic = Diagnostic::new(&rule.rule, self.span(site.pc), message);
        let diagnostic = diagnostic.label(format!("by {}", self.threads(site)));
        let mut diagnostic = more(self, diagnostic);
        if diagnostic.helps.is_empty() {
            diagnostic = diagnostic.help(rule.advice);
        }
        self.known.insert((rule.number, site.pc), self.findings.len());
        self.findings.push(Finding { rule, diagnostic, count: 1 });
    }

    /// Complains when a value that something depends on is undefined in one of the lanes. False: the run
    /// stops there.
    pub(super) fn is_defined(&mut self, doing: &Doing, source: code::Src, what: &str) -> bool {
        let undefined = local::undefined_lanes(&self.warps[doing.warp].registers, &doing.frame, source);
        if undefined & doing.lanes == 0 {
            return true;
        }
        let name = self.register_name(doing.pc, source.source());
        self.all_defined(doing, undefined & doing.lanes, format!("{what} {name}").trim_end())
    }

    pub(super) fn all_defined(&mut self, doing: &Doing, undefined: Mask, what: &str) -> bool {
        if undefined == 0 {
            return true;
        }
        let site = Site { lanes: undefined, ..doing.site() };
        let message = format!("{what} is a value that nobody has set");
        self.wrong(site, &rule::UNDEFINED_VALUE, None, message, |machine, d| machine.origin(d, site));
        self.stopped.is_none()
    }

    /// The values of a source.
    pub(in crate::machine) fn values(&self, doing: &Doing, source: code::Src) -> super::column::Column {
        local::fetch(&self.code, &self.warps[doing.warp].registers, &doing.frame, source)
    }

    fn sleep(&mut self, doing: &Doing, time: code::Src) -> Then {
        let values = self.values(doing, time);
        let longest = super::column::lanes(doing.lanes).map(|lane| values[lane] as u32).max().unwrap_or(0);
        // The instruction is done; the group goes on later.
        let group = &mut self.warps[doing.warp].groups[doing.group];
        group.pc = doing.pc + 1;
        group.state = State::Sleeping(self.time + u64::from(longest));
        Then::Done
    }
}
