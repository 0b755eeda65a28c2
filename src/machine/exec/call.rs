//! Calls and returns, the stack, functions of the system.

use smallvec::SmallVec;

use super::access::{Extent, MOST_LOCAL};
use super::{Doing, Place, Then, local};
use crate::diagnostic::Diagnostic;
use crate::machine::Machine;
use crate::machine::code::{Call, Callee, Dst, NONE, Op, Passed, Pc, Slot, Space, Src, Stack, System};
use crate::machine::column::{LANES, Mask, lanes};
use crate::machine::cta::Site;
use crate::machine::finding::{Fault, Finding, Outcome};
use crate::machine::printf;
use crate::machine::rule;
use crate::machine::space::function_at;
use crate::machine::warp::Frame;

/// Calls nest so deep at most.
const MOST_CALLS: usize = 1000;
/// The registers of all calls of a warp are so many columns at most.
const MOST_COLUMNS: u32 = 1 << 16;

impl Machine<'_> {
    pub(super) fn call(&mut self, doing: &Doing, call: &Call) -> Then {
        let all = self.warps[doing.warp].groups[doing.group].mask;
        if doing.lanes != all {
            return self.part(doing, doing.lanes, call.uniform);
        }
        let routine = match &call.callee {
            Callee::Routine(routine) => *routine,
            Callee::Indirect(source) => match self.target(doing, *source) {
                Ok(routine) => routine,
                Err(0) => return Then::Done,
                Err(mask) => return self.part_at(doing, mask, call.uniform),
            },
            Callee::System(system) => return self.system(doing, call, *system),
            Callee::Missing(name) => return self.has_no_body(doing, name),
        };
        self.enter(doing, call, routine)
    }

    /// Lanes `lanes` of the group execute the instruction apart from the others, which pass it.
    fn part(&mut self, doing: &Doing, lanes: Mask, uniform: bool) -> Then {
        let all = self.warps[doing.warp].groups[doing.group].mask;
        let join = self.join(doing.pc + 1);
        self.warps[doing.warp].split(doing.group, &[(lanes, doing.pc), (all & !lanes, doing.pc + 1)], join);
        self.promised(doing, uniform);
        Then::Done
    }

    /// The same, but the others execute it, too.
    fn part_at(&mut self, doing: &Doing, lanes: Mask, uniform: bool) -> Then {
        let all = self.warps[doing.warp].groups[doing.group].mask;
        let join = self.join(doing.pc + 1);
        self.warps[doing.warp].split(doing.group, &[(lanes, doing.pc), (all & !lanes, doing.pc)], join);
        self.promised(doing, uniform);
        Then::Done
    }

    fn promised(&mut self, doing: &Doing, uniform: bool) {
        if uniform {
            let message = "lanes part here, though `.uni` promises that they do not".to_string();
            self.wrong(doing.site(), &rule::DIVERGENT_UNIFORM, None, message, |_, d| d);
        }
    }

    /// The routine that all lanes call; else the lanes that call the first one's (0: an error was reported).
    fn target(&mut self, doing: &Doing, source: Src) -> Result<u32, Mask> {
        if !self.is_defined(doing, source, "the address of the function") {
            return Err(0);
        }
        let addresses = self.values(doing, source);
        let first = addresses[doing.lanes.trailing_zeros() as usize % LANES];
        let same =
            lanes(doing.lanes).filter(|&lane| addresses[lane] == first).fold(0, |m, lane| m | 1 << lane);
        if same != doing.lanes {
            return Err(same);
        }
        let wanted = function_at(first);
        let found = self.code.routines.iter().position(|routine| Some(routine.routine) == wanted);
        found.map(|index| index as u32).ok_or_else(|| {
            let message = format!("{first:#x} is not the address of a function");
            self.wrong(doing.site(), &rule::BRANCH_INDEX, Some(Fault::IllegalAddress), message, |_, d| d);
            self.stopped.get_or_insert(Outcome::Violation);
            0
        })
    }

    fn enter(&mut self, doing: &Doing, call: &Call, routine: u32) -> Then {
        let caller = &self.code.routines[doing.frame.routine as usize];
        let callee = self.code.routines[routine as usize].clone();
        let frame = Frame {
            routine,
            back: doing.pc + 1,
            columns: doing.frame.columns + caller.columns,
            predicates: doing.frame.predicates + caller.predicates,
            local: doing.frame.stack.next_multiple_of(16),
            stack: doing.frame.stack.next_multiple_of(16).saturating_add(callee.local),
        };
        let depth = self.warps[doing.warp].groups[doing.group].frames.len();
        if depth >= MOST_CALLS
            || frame.columns + callee.columns > MOST_COLUMNS
            || frame.stack as usize > MOST_LOCAL
        {
            let message = format!("calls nest {depth} deep, and need more memory than a thread has");
            self.wrong(doing.site(), &rule::STACK_OVERFLOW, Some(Fault::IllegalAddress), message, |_, d| d);
            self.stopped.get_or_insert(Outcome::Violation);
            return Then::Done;
        }
        let warp = &mut self.warps[doing.warp];
        warp.registers.enter(doing.lanes, frame.columns, callee.columns, frame.predicates, callee.predicates);
        let inputs = &callee.formals[callee.results.min(callee.formals.len())..];
        for (&passed, &slot) in call.arguments.iter().zip(inputs) {
            self.pass_in(doing, passed, &frame, slot);
        }
        if self.options.reconverge != super::super::Reconverge::Never {
            self.warps[doing.warp].expect_join(doing.group, doing.pc + 1);
        }
        let group = &mut self.warps[doing.warp].groups[doing.group];
        group.frames.push(frame);
        group.pc = callee.entry;
        Then::Done
    }

    fn pass_in(&mut self, doing: &Doing, passed: Passed, frame: &Frame, slot: Slot) {
        for lane in lanes(doing.lanes) {
            match (passed, slot) {
                (Passed::Memory(from, size), Slot::Memory(to, room)) => {
                    let bytes = size.min(room);
                    self.copy_local(doing.warp, lane, doing.frame.local + from, frame.local + to, bytes);
                }
                (Passed::Memory(from, size), Slot::Columns(column, _)) => {
                    let place = Place::Local((doing.frame.local + from) as usize);
                    let (value, undefined) = self.read(doing.warp, lane, place, size.clamp(1, 8) as usize);
                    self.set_column(doing.warp, frame, lane, column, value, undefined);
                }
                (Passed::Value(source), slot) => {
                    let value = self.values(doing, source)[lane];
                    let undefined = self.undefined_bits(doing, source, lane);
                    self.put(doing.warp, frame, lane, slot, value, undefined);
                }
                _ => {}
            }
        }
    }

    fn put(&mut self, warp: usize, frame: &Frame, lane: usize, slot: Slot, value: u64, undefined: u64) {
        match slot {
            Slot::Memory(to, size) => {
                let place = Place::Local((frame.local + to) as usize);
                self.write(warp, lane, place, size.clamp(1, 8) as usize, value, undefined);
            }
            Slot::Columns(column, _) => self.set_column(warp, frame, lane, column, value, undefined),
            Slot::Predicate(predicate) => {
                let set = if value & 1 == 1 { Mask::MAX } else { 0 };
                let unknown = if undefined & 1 == 1 { Mask::MAX } else { 0 };
                let registers = &mut self.warps[warp].registers;
                registers.set_predicate(frame.predicates + predicate, 1 << lane, set, unknown);
            }
        }
    }

    fn set_column(
        &mut self,
        warp: usize,
        frame: &Frame,
        lane: usize,
        column: u32,
        value: u64,
        undefined: u64,
    ) {
        self.warps[warp].registers.set_lane(frame.columns + column, lane, value, undefined);
    }

    fn copy_local(&mut self, warp: usize, lane: usize, from: u32, to: u32, size: u32) {
        for at in (0..size).step_by(8) {
            let part = (size - at).min(8) as usize;
            let (value, undefined) = self.read(warp, lane, Place::Local((from + at) as usize), part);
            self.write(warp, lane, Place::Local((to + at) as usize), part, value, undefined);
        }
    }

    pub(super) fn leave(&mut self, doing: &Doing, uniform: bool) -> Then {
        if self.warps[doing.warp].groups[doing.group].frames.len() == 1 {
            return self.end_lanes(doing);
        }
        let all = self.warps[doing.warp].groups[doing.group].mask;
        if doing.lanes != all {
            // Those that return meet the others behind the call.
            let parts = [(doing.lanes, doing.pc), (all & !doing.lanes, doing.pc + 1)];
            self.warps[doing.warp].split(doing.group, &parts, NONE);
            self.promised(doing, uniform);
            return Then::Done;
        }
        self.pass_out(doing);
        let warp = &mut self.warps[doing.warp];
        let group = &mut warp.groups[doing.group];
        group.frames.pop();
        group.pc = doing.frame.back;
        let depth = group.frames.len() as u32;
        let keep = group.joins.iter().take_while(|join| join.depth <= depth).count();
        warp.leave_joins(doing.group, keep);
        let ready = warp.is_ready();
        self.ready.set(doing.warp, ready);
        Then::Done
    }

    /// Gives the results to the caller.
    fn pass_out(&mut self, doing: &Doing) {
        let back: Pc = doing.frame.back;
        let frames = &self.warps[doing.warp].groups[doing.group].frames;
        let caller = frames[frames.len() - 2];
        let callee = &self.code.routines[doing.frame.routine as usize];
        let slots: SmallVec<[Slot; 2]> = callee.formals.iter().take(callee.results).copied().collect();
        let Some(inst) = back.checked_sub(1).map(|at| &self.code.insts[at as usize]) else { return };
        let Op::Call(call) = &inst.op else { return };
        let results: SmallVec<[Passed; 2]> = call.results.iter().copied().collect();
        for (slot, passed) in slots.into_iter().zip(results) {
            for lane in lanes(doing.lanes) {
                self.pass_result(doing, &caller, lane, slot, passed);
            }
        }
    }

    fn pass_result(&mut self, doing: &Doing, caller: &Frame, lane: usize, slot: Slot, passed: Passed) {
        let warp = doing.warp;
        if let (Slot::Memory(from, size), Passed::Memory(to, room)) = (slot, passed) {
            let bytes = size.min(room);
            return self.copy_local(warp, lane, doing.frame.local + from, caller.local + to, bytes);
        }
        let registers = &self.warps[warp].registers;
        let (value, undefined) = match slot {
            Slot::Memory(from, size) => {
                let place = Place::Local((doing.frame.local + from) as usize);
                self.read(warp, lane, place, size.clamp(1, 8) as usize)
            }
            Slot::Columns(column, _) => {
                let column = doing.frame.columns + column;
                (registers.column(column)[lane], registers.undefined_bits(column, lane))
            }
            Slot::Predicate(predicate) => {
                let predicate = doing.frame.predicates + predicate;
                let undefined = registers.undefined_predicate(predicate) >> lane & 1;
                (u64::from(registers.predicate(predicate) >> lane & 1), undefined.into())
            }
        };
        match passed {
            Passed::Memory(to, size) => {
                self.put(warp, caller, lane, Slot::Memory(to, size), value, undefined)
            }
            Passed::Predicate(p) => self.put(warp, caller, lane, Slot::Predicate(p), value, undefined),
            Passed::Register(d) => {
                local::set_lane(&mut self.warps[warp].registers, caller, lane, d, value, undefined);
            }
            Passed::Value(_) | Passed::Nothing => {}
        }
    }

    pub(super) fn stack(&mut self, doing: &Doing, stack: Stack) -> Then {
        match stack {
            Stack::Save(d) => self.set_register(doing, d, doing.frame.stack.into()),
            Stack::Restore(source) => {
                let value = self.values(doing, source)[doing.lanes.trailing_zeros() as usize % LANES];
                if let Some(frame) = self.warps[doing.warp].groups[doing.group].frames.last_mut() {
                    frame.stack = value.min(MOST_LOCAL as u64) as u32;
                }
            }
            Stack::Allocate(d, size, align) => {
                // All lanes get the most that one of them asks for, so that they share a stack pointer.
                let sizes = self.values(doing, size);
                let size = lanes(doing.lanes).map(|lane| sizes[lane]).max().unwrap_or(0);
                let start = doing.frame.stack.next_multiple_of(align);
                let end = u64::from(start).saturating_add(size);
                if end > MOST_LOCAL as u64 {
                    let message = format!("{size} bytes more than a thread's local memory can hold");
                    self.wrong(
                        doing.site(),
                        &rule::STACK_OVERFLOW,
                        Some(Fault::IllegalAddress),
                        message,
                        |_, d| d,
                    );
                    return Then::Done;
                }
                self.set_register(doing, d, start.into());
                if let Some(frame) = self.warps[doing.warp].groups[doing.group].frames.last_mut() {
                    frame.stack = end as u32;
                }
            }
        }
        Then::Next
    }

    fn set_register(&mut self, doing: &Doing, d: Dst, value: u64) {
        let registers = &mut self.warps[doing.warp].registers;
        local::set(registers, &doing.frame, doing.lanes, d, &[value; LANES]);
    }

    fn has_no_body(&mut self, doing: &Doing, name: &str) -> Then {
        let message = format!("`{name}` has no body in this file");
        let diagnostic = Diagnostic::new(&rule::UNSUPPORTED.rule, self.span(doing.pc), message)
            .label(format!("called by {}", self.threads(doing.site())))
            .help("link the files first, or give the function a body");
        self.findings.push(Finding { rule: &rule::UNSUPPORTED, diagnostic, count: 1 });
        self.stopped = Some(Outcome::Unsupported);
        Then::Done
    }

    /// A function that the CUDA runtime provides.
    fn system(&mut self, doing: &Doing, call: &Call, system: System) -> Then {
        for lane in lanes(doing.lanes) {
            let arguments: SmallVec<[u64; 5]> =
                call.arguments.iter().map(|&passed| self.passed(doing, lane, passed)).collect();
            let argument = |n: usize| arguments.get(n).copied().unwrap_or(0);
            match system {
                System::Vprintf => {
                    let format = self.string(doing.warp, lane, argument(0));
                    let text = printf::format(
                        &format,
                        &mut |offset, size| {
                            let place = self.generic(doing.warp, argument(1).wrapping_add(offset), size);
                            place.map_or(0, |place| self.read(doing.warp, lane, place, size).0)
                        },
                        &mut |address| self.string(doing.warp, lane, address),
                    );
                    self.print(&text);
                    if let Some(&result) = call.results.first() {
                        self.pass_constant(doing, lane, result, 0);
                    }
                }
                System::Allocate => {
                    let address = self.global.allocate(argument(0)).unwrap_or(0);
                    if let Some(&result) = call.results.first() {
                        self.pass_constant(doing, lane, result, address);
                    }
                }
                System::Free => {
                    let address = argument(0);
                    if address != 0 && !self.global.free(address) {
                        return self.not_allocated(doing, lane, address);
                    }
                }
                System::AssertFail => {
                    let [message, file, function] =
                        [0, 1, 3].map(|n| self.string(doing.warp, lane, argument(n)));
                    return self.assertion(doing, lane, &message, &file, argument(2) as u32, &function);
                }
            }
        }
        Then::Next
    }

    fn not_allocated(&mut self, doing: &Doing, lane: usize, address: u64) -> Then {
        let site = Site { lanes: 1 << lane, ..doing.site() };
        let message = format!("{address:#x} is freed, where no memory is allocated");
        self.wrong(site, &rule::OUT_OF_BOUNDS, Some(Fault::LaunchFailed), message, |machine, d| {
            machine.nearest(d, Space::Global, address)
        });
        if self.stopped.is_some() { Then::Done } else { Then::Next }
    }

    fn print(&mut self, text: &str) {
        if self.output.len() + text.len() <= MOST_OUTPUT {
            self.output.push_str(text);
        }
    }

    fn assertion(
        &mut self,
        doing: &Doing,
        lane: usize,
        message: &str,
        file: &str,
        line: u32,
        function: &str,
    ) -> Then {
        let site = Site { lanes: 1 << lane, ..doing.site() };
        let text = format!("assertion `{message}` failed: {file}:{line}, {function}");
        let diagnostic = Diagnostic::new(&rule::TRAP.rule, self.span(doing.pc), text)
            .label(format!("by {}", self.threads(site)));
        self.findings.push(Finding { rule: &rule::TRAP, diagnostic, count: 1 });
        self.stop_with(Fault::LaunchFailed);
        Then::Done
    }

    fn passed(&self, doing: &Doing, lane: usize, passed: Passed) -> u64 {
        match passed {
            Passed::Memory(offset, size) => {
                let place = Place::Local((doing.frame.local + offset) as usize);
                self.read(doing.warp, lane, place, size.clamp(1, 8) as usize).0
            }
            Passed::Value(source) => self.values(doing, source)[lane],
            Passed::Register(_) | Passed::Predicate(_) | Passed::Nothing => 0,
        }
    }

    fn pass_constant(&mut self, doing: &Doing, lane: usize, passed: Passed, value: u64) {
        match passed {
            Passed::Memory(to, size) => {
                self.put(doing.warp, &doing.frame, lane, Slot::Memory(to, size), value, 0);
            }
            Passed::Register(d) => {
                local::set_lane(&mut self.warps[doing.warp].registers, &doing.frame, lane, d, value, 0);
            }
            _ => {}
        }
    }

    /// The place of a generic address.
    fn generic(&self, warp: usize, address: u64, size: usize) -> Option<Place> {
        let generic = crate::machine::code::Address {
            space: Space::Generic,
            base: crate::machine::code::Base::Zero,
            offset: 0,
        };
        self.place(warp, &generic, Extent { base: address, size: size as u64, align: 1 }).ok()
    }

    /// A string that ends with 0.
    fn string(&self, warp: usize, lane: usize, address: u64) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < MOST_STRING
            && let Some(place) = self.generic(warp, address.wrapping_add(bytes.len() as u64), 1)
        {
            match self.read(warp, lane, place, 1).0 as u8 {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Strings of the program are read up to this length.
const MOST_STRING: usize = 1 << 16;
/// What a kernel prints is kept up to this length, like the buffer of the driver.
const MOST_OUTPUT: usize = 1 << 20;
