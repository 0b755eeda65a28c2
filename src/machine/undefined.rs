//! Where a value that nobody has set came from.

use super::Machine;
use super::code::{AccessKind, Op, Pc};
use super::copy::Part;
use super::cta::Site;
use super::exec::Place;
use super::lower::Frame;
use crate::diagnostic::Diagnostic;
use crate::program::flow::Flow;
use crate::program::{RegisterId, Routine};
use crate::types::Type;

/// So many instructions are named for each kind of origin.
const MOST_NAMED: usize = 3;

/// The search for the instructions that an undefined value comes from.
struct Search<'m, 'p> {
    machine: &'m Machine<'p>,
    routine: &'p Routine,
    flow: Flow<'p>,
    places: Frame,
    site: Site,
    seen: Vec<(RegisterId, usize)>,
    /// Instructions with what is said of them.
    found: Vec<(usize, String)>,
    notes: Vec<String>,
    loads: usize,
}

impl Machine<'_> {
    /// Says where an undefined value of the instruction at `site` came from.
    pub(super) fn origin(&self, mut diagnostic: Diagnostic, site: Site) -> Diagnostic {
        let Some(inst) = self.code.insts.get(site.pc as usize) else { return diagnostic };
        let (routine, places) = self.frame_of(site.pc);
        let mut search = Search {
            machine: self,
            routine,
            flow: Flow::new(self.program, routine),
            places,
            site,
            seen: Vec::new(),
            found: Vec::new(),
            notes: Vec::new(),
            loads: 0,
        };
        search.inputs(inst.at as usize);
        for (at, what) in search.found.iter().take(MOST_NAMED) {
            diagnostic = diagnostic.also(self.program.span(routine, &routine.instructions[*at]), what);
        }
        for note in search.notes.into_iter().take(MOST_NAMED) {
            diagnostic = diagnostic.note(note);
        }
        if search.loads > 0 { self.late_copies(diagnostic, site) } else { diagnostic }
    }

    /// The routine of an instruction, and where its registers are.
    pub(super) fn frame_of(&self, pc: Pc) -> (&Routine, Frame) {
        let index = self.code.routine_of(pc).routine;
        let routine = &self.program.routines[index as usize];
        let is_kernel = index == self.code.routines[self.code.kernel].routine;
        (routine, Frame::new(self.program, routine, is_kernel))
    }

    /// Adds the copies into the CTA's shared memory that may not have landed.
    fn late_copies(&self, mut diagnostic: Diagnostic, site: Site) -> Diagnostic {
        let cta = self.warps[site.warp as usize].cta;
        let into_cta = |part: &Part| matches!(part.to, Place::Shared(to, _) if to == cta);
        let late = self.copies.list.iter().filter(|copy| copy.parts.iter().any(into_cta));
        let mut named: Vec<Pc> = Vec::new();
        for copy in late {
            if !named.contains(&copy.site.pc) && named.len() < MOST_NAMED {
                named.push(copy.site.pc);
                diagnostic =
                    diagnostic.also(self.span(copy.site.pc), "a copy from here may not have landed yet");
            }
        }
        if named.is_empty() {
            return diagnostic;
        }
        diagnostic.help("wait for the copy before its bytes are read")
    }
}

impl Search<'_, '_> {
    /// Looks for what makes the registers undefined that instruction `at` reads. True: there are such.
    fn inputs(&mut self, at: usize) -> bool {
        let mut registers: Vec<RegisterId> = Vec::new();
        self.flow.read(at, &mut |register| registers.push(register));
        registers.retain(|register| self.is_undefined(*register));
        for register in &registers {
            if !self.seen.contains(&(*register, at)) && self.seen.len() < 64 {
                self.seen.push((*register, at));
                self.register(at, *register);
            }
        }
        !registers.is_empty()
    }

    /// Looks for what makes a register undefined that instruction `at` reads.
    fn register(&mut self, at: usize, register: RegisterId) {
        let name = self.machine.program.module.name(self.routine.register(register).symbol);
        let Some(definitions) = self.flow.reaching(at, register) else {
            self.note(format!("on some path to this instruction nothing sets `{name}`"));
            return;
        };
        for definition in definitions {
            if self.loads_memory(definition.at) {
                self.loads += 1;
                self.add(
                    definition.at,
                    format!("`{name}` is loaded here, perhaps from bytes that nobody has written"),
                );
            } else if !self.inputs(definition.at) {
                self.add(definition.at, format!("`{name}` is set here, but not in these threads"));
            }
        }
    }

    fn add(&mut self, at: usize, what: String) {
        if !self.found.iter().any(|(other, _)| *other == at) {
            self.found.push((at, what));
        }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn loads_memory(&self, at: usize) -> bool {
        let routine = self.machine.code.routine_of(self.site.pc);
        let code = &self.machine.code.insts[routine.entry as usize..routine.end as usize];
        let mut here = code.iter().filter(|inst| inst.at as usize == at);
        here.any(|inst| matches!(&inst.op, Op::Memory(access) if matches!(access.kind, AccessKind::Load)))
    }

    /// Whether the register is undefined now in one of the lanes.
    fn is_undefined(&self, register: RegisterId) -> bool {
        let warp = &self.machine.warps[self.site.warp as usize];
        let group = warp.groups.iter().find(|group| group.mask & self.site.lanes != 0);
        let Some(frame) = group.map(|group| group.frame()) else { return false };
        let place = self.places.place(register);
        let undefined = match self.routine.register(register).ty {
            Type::Pred => warp.registers.undefined_predicate(frame.predicates + place),
            _ => warp.registers.undefined(frame.columns + place),
        };
        undefined & self.site.lanes != 0
    }
}
