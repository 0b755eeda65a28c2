//! Names for people: threads, places in memory, barriers.

use std::fmt::Write as _;

use super::Machine;
use super::code::Source;
use super::column::Mask;
use super::cta::Site;
use super::exec::Place;
use super::space::SHARED_WINDOW;
use crate::diagnostic::Diagnostic;
use crate::program::VariableId;
use crate::source::Span;

impl Machine<'_> {
    /// Where an instruction stands in the source.
    pub fn span(&self, pc: super::code::Pc) -> Span {
        let routine = &self.program.routines[self.code.routine_of(pc).routine as usize];
        let at = self.code.insts.get(pc as usize).map_or(0, |inst| inst.at as usize);
        match routine.instructions.get(at) {
            Some(inst) => self.program.span(routine, inst),
            None => Span::empty(0),
        }
    }

    /// The line of an instruction.
    pub fn line(&self, pc: super::code::Pc) -> u32 {
        self.program.module.source.line(self.span(pc).start)
    }

    /// "thread 0", "threads 0..31", with the CTA where there are several.
    pub fn threads(&self, site: Site) -> String {
        let warp = &self.warps[site.warp as usize];
        let threads = thread_list(&[(warp.number, site.lanes)]);
        format!("{threads}{}", self.of_cta(warp.cta))
    }

    /// " of CTA 1", or nothing where there is only one.
    pub fn of_cta(&self, cta: u32) -> String {
        if self.shape.ctas() == 1 { String::new() } else { format!(" of {}", self.cta_name(cta)) }
    }

    /// "CTA 1", with the place in the grid where that has more than one dimension.
    pub fn cta_name(&self, cta: u32) -> String {
        let [x, y, z] = self.ctas[cta as usize].place;
        match self.shape.grid {
            [_, 1, 1] => format!("CTA {x}"),
            [_, _, 1] => format!("CTA ({x},{y})"),
            _ => format!("CTA ({x},{y},{z})"),
        }
    }

    /// The name of a place in shared memory: "`full`", "`ring+8`".
    pub fn shared_name(&self, address: u32) -> String {
        let slots = self.code.shared.iter().flat_map(|region| &region.slots);
        let address = u64::from(address) % SHARED_WINDOW;
        // What lies far behind a variable has nothing to do with it.
        let near = |slot: &&crate::program::layout::Slot| {
            (slot.address..slot.address + slot.size.unwrap_or(SHARED_WINDOW) + 4096).contains(&address)
        };
        match slots.filter(near).max_by_key(|slot| slot.address) {
            Some(slot) => self.variable_name(slot.variable, address - slot.address),
            None => format!("shared address {address:#x}"),
        }
    }

    /// The name of a barrier, with its CTA where there are several.
    pub fn barrier_name(&self, cta: u32, address: u32) -> String {
        format!("{}{}", self.shared_name(address), self.of_cta(cta))
    }

    /// The name of a place that others can see.
    pub fn place_name(&self, place: Place) -> String {
        match place {
            Place::Shared(cta, offset) => {
                self.barrier_name(cta, (offset as u64 + self.shared_start()) as u32)
            }
            Place::Global(piece, offset) => {
                let name = self.piece_name(self.global.piece(piece).what);
                if offset == 0 { name } else { format!("{name} + {offset}") }
            }
            Place::Local(_) | Place::Param(_) | Place::Const(_) => "memory".to_string(),
        }
    }

    /// The register that an instruction reads, by its name: "`%r1` ", or nothing for intermediate values.
    pub fn register_name(&self, pc: super::code::Pc, source: Source) -> String {
        let (wanted, is_predicate) = match source {
            Source::Register(column) => (column, false),
            Source::Predicate(index, _) => (index, true),
            Source::Constant(_) | Source::Own(_) => return String::new(),
        };
        let (routine, frame) = self.frame_of(pc);
        match frame.register_at(routine, wanted, is_predicate) {
            Some(register) => format!("`{}` ", self.program.module.name(routine.register(register).symbol)),
            None => String::new(),
        }
    }

    /// The name of a variable, plus bytes.
    pub fn variable_name(&self, variable: VariableId, offset: u64) -> String {
        let name = self.program.module.name(self.program.variables[variable.0 as usize].symbol);
        if offset == 0 { format!("`{name}`") } else { format!("`{name}+{offset}`") }
    }

    /// Adds where something else happened, with the threads that did it; nothing where that is the place
    /// in hand.
    pub fn also(&self, diagnostic: Diagnostic, site: Site, what: &str) -> Diagnostic {
        let threads = self.threads(site);
        if self.span(site.pc) == diagnostic.span && diagnostic.label == format!("by {threads}") {
            return diagnostic;
        }
        diagnostic.also(self.span(site.pc), format!("{what} by {threads}"))
    }
}

/// "thread 5", "threads 0..31", "threads 0, 32..63": of several warps of a CTA.
pub fn thread_list(parts: &[(u32, Mask)]) -> String {
    let mut threads: Vec<u32> = parts
        .iter()
        .flat_map(|&(warp, lanes)| super::column::lanes(lanes).map(move |lane| 32 * warp + lane as u32))
        .collect();
    threads.sort_unstable();
    threads.dedup();
    let mut text = String::from(if threads.len() == 1 { "thread " } else { "threads " });
    for (index, run) in threads.chunk_by(|a, b| a + 1 == *b).enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        if index == 8 {
            text.push_str(", …");
            break;
        }
        let _ = match run {
            [one] => write!(text, "{separator}{one}"),
            [first, .., last] => write!(text, "{separator}{first}..{last}"),
            [] => Ok(()),
        };
    }
    text
}

/// "1 arrival", "2 arrivals"
pub fn count(n: u64, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::thread_list;

    #[test]
    fn threads_are_listed_as_ranges() {
        assert_eq!(thread_list(&[(0, 1)]), "thread 0");
        assert_eq!(thread_list(&[(0, u32::MAX), (1, u32::MAX)]), "threads 0..63");
        assert_eq!(thread_list(&[(1, 0b1011), (0, 1 << 31)]), "threads 31..33, 35");
        assert_eq!(thread_list(&[(0, 0x5555_5555)]), "threads 0, 2, 4, 6, 8, 10, 12, 14, …");
    }
}
