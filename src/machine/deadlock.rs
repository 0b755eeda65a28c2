//! The report of a deadlock: who waits for what, what is missing, who could still provide it, and where those
//! are stuck.

use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Machine;
use super::code::{BarrierOp, Op, Pc, Space};
use super::column::Mask;
use super::cta::Object;
use super::finding::{Finding, Outcome};
use super::rule;
use super::warp::{Meeting, State};
use super::words::{count, thread_list};
use crate::diagnostic::Diagnostic;
use crate::isa::table::Shape;
use crate::program::flow::Flow;
use crate::program::value::Known;

/// Threads that are stuck at one instruction for one reason.
struct Stuck {
    pc: Pc,
    cta: u32,
    reason: Reason,
    /// Warps (by number in the CTA) and lanes.
    threads: Vec<(u32, Mask)>,
}

/// An instruction that arrives on barriers or brings bytes.
struct Source {
    pc: Pc,
    /// The addresses that it may mean; none: not known.
    places: Vec<u32>,
    /// Whether it may mean another CTA's barrier.
    is_remote: bool,
}

/// The control flow of routines, by their number in the program.
type Flows<'p> = FxHashMap<u32, Flow<'p>>;

/// A report names so many groups of threads at most.
const MOST_GROUPS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Reason {
    /// For a phase of the barrier at that address.
    Phase(u32),
    /// At a barrier of the CTA.
    Cta(u32),
    /// At the barrier of the cluster.
    Cluster,
    /// For other lanes of the warp.
    Lanes(Mask),
    /// For copies.
    Copies,
    /// Goes round without any change.
    Loop,
}

impl Machine<'_> {
    /// Reports that nothing can go on, and stops.
    pub(super) fn deadlock(&mut self) {
        let stuck = self.stuck();
        let flows = self.flows();
        let sources = self.sources(&flows);
        let sees_all = self.sees_all(&stuck, &sources);
        let providers = self.providers(&stuck, &sources, &flows);
        let shown = self.shown(&stuck, &providers);
        let Some((&first, others)) = shown.split_first() else {
            self.stopped = Some(Outcome::Deadlock);
            return;
        };
        let message = self.waits(&stuck[first]);
        let mut diagnostic = Diagnostic::new(&rule::DEADLOCK.rule, self.span(stuck[first].pc), message)
            .label(self.is_stuck_here(&stuck[first]));
        for other in others.iter().map(|&index| &stuck[index]) {
            diagnostic = diagnostic.also(self.span(other.pc), self.waits(other));
        }
        for &index in &shown {
            for note in self.missing(&stuck[index], &stuck, &providers[index], &sources, sees_all) {
                if !diagnostic.notes.contains(&note) {
                    diagnostic = diagnostic.note(note);
                }
            }
        }
        if stuck.len() > shown.len() {
            let more = count((stuck.len() - shown.len()) as u64, "more group");
            diagnostic = diagnostic.note(format!("{more} of threads wait in the same way"));
        }
        // Where bytes are wrong, waiting for one another is but a consequence.
        if self.suspicion(&stuck[first], &providers[first]) > 0
            && let Some(cycle) = self.cycle(&stuck, &providers)
        {
            diagnostic = diagnostic.note(cycle);
        }
        diagnostic = diagnostic.help(rule::DEADLOCK.advice);
        self.findings.push(Finding { rule: &rule::DEADLOCK, diagnostic, count: 1 });
        self.stopped = Some(Outcome::Deadlock);
    }

    /// The groups that the report shows, the most telling first: some of those that wait, those that could
    /// release them, and one of each kind.
    fn shown(&self, stuck: &[Stuck], providers: &[Vec<(usize, Pc)>]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..stuck.len()).collect();
        order.sort_by_key(|&index| self.suspicion(&stuck[index], &providers[index]));
        let mut shown: Vec<usize> = order.iter().copied().take(MOST_GROUPS).collect();
        let releasing =
            shown.clone().into_iter().flat_map(|index| providers[index].iter().map(|(other, _)| *other));
        let mut kinds: FxHashSet<(std::mem::Discriminant<Reason>, Pc)> = FxHashSet::default();
        let of_a_kind = order
            .into_iter()
            .filter(|&index| kinds.insert((std::mem::discriminant(&stuck[index].reason), stuck[index].pc)));
        for index in releasing.chain(of_a_kind) {
            if !shown.contains(&index) && shown.len() < 2 * MOST_GROUPS {
                shown.push(index);
            }
        }
        shown
    }

    /// How likely a group shows the cause rather than a consequence; the lowest is the likeliest.
    fn suspicion(&self, group: &Stuck, providers: &[(usize, Pc)]) -> u8 {
        let Reason::Phase(address) = group.reason else { return 3 };
        let Some(object) = self.ctas[group.cta as usize].objects.get(&address) else { return 3 };
        let tx = object.barrier.tx_count();
        // Bytes that were not announced, or that nobody will bring.
        if tx < 0 || tx > 0 && object.barrier.pending() == 0 {
            return 0;
        }
        if providers.is_empty() { 1 } else { 2 }
    }

    fn is_stuck_here(&self, group: &Stuck) -> String {
        let name = self.group_name(group);
        format!("{name} {} stuck here", is(&name))
    }

    /// All that is stuck, grouped; waits for phases first.
    fn stuck(&self) -> Vec<Stuck> {
        let mut stuck: Vec<Stuck> = Vec::new();
        let mut known: FxHashMap<(Pc, u32, Reason), usize> = FxHashMap::default();
        for warp in &self.warps {
            for group in &warp.groups {
                let reason = match group.state {
                    State::Phase { address } => Reason::Phase(address),
                    State::CtaBarrier(id) => Reason::Cta(id),
                    State::Meeting(Meeting::Barrier(id), _) => Reason::Cta(id),
                    State::ClusterBarrier => Reason::Cluster,
                    State::Meeting(_, needed) => Reason::Lanes(needed & !group.mask),
                    State::Copies => Reason::Copies,
                    State::Ready | State::Joining(_) | State::Sleeping(_) | State::Spinning(_) => {
                        let since = group.watch.awaits.filter(|(_, epoch)| *epoch == self.epoch);
                        since.map_or(Reason::Loop, |(address, _)| Reason::Phase(address))
                    }
                };
                let key = (group.pc, warp.cta, reason);
                let index = *known.entry(key).or_insert_with(|| {
                    stuck.push(Stuck { pc: group.pc, cta: warp.cta, reason, threads: Vec::new() });
                    stuck.len() - 1
                });
                stuck[index].threads.push((warp.number, group.mask));
            }
        }
        stuck.sort_by_key(|s| (!matches!(s.reason, Reason::Phase(_)), s.cta, s.pc));
        stuck
    }

    /// The addresses of barriers that an instruction may mean; none: the program does not say before it runs.
    fn places(&self, pc: Pc, flows: &Flows) -> Vec<u32> {
        let index = self.code.routine_of(pc).routine;
        let (routine, flow) = (&self.program.routines[index as usize], &flows[&index]);
        flow.renew_steps();
        let at = self.code.insts[pc as usize].at as usize;
        let Some(row) = flow.row(at) else { return Vec::new() };
        let is_barrier = |o: &crate::isa::table::Operand| matches!(&o.shape, Shape::Address(a) if a.mbar);
        let Some(index) = row.row.operands.iter().position(is_barrier) else { return Vec::new() };
        let Some(&value) = routine.operands(flow.inst(at)).get(index) else { return Vec::new() };
        let slots = self.code.shared.iter().flat_map(|region| &region.slots);
        let mut slots = slots.map(|slot| (slot.variable, slot.address, slot.size.unwrap_or(0)));
        match flow.address(at, value) {
            Known::Place(place) => slots
                .find(|(variable, ..)| *variable == place.variable)
                .map(|(_, address, _)| address.wrapping_add_signed(place.offset) as u32)
                .into_iter()
                .collect(),
            Known::Within { variable, .. } => slots
                .find(|(v, ..)| *v == variable)
                .map(|(_, address, size)| (address..address + size).step_by(8).map(|a| a as u32).collect())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn group_name(&self, stuck: &Stuck) -> String {
        format!("{}{}", thread_list(&stuck.threads), self.of_cta(stuck.cta))
    }

    /// "threads 0..63 wait on `full` phase 0 (pending arrivals 1, tx-count 0)"
    fn waits(&self, stuck: &Stuck) -> String {
        let who = self.group_name(stuck);
        let s = if who.starts_with("thread ") { "s" } else { "" };
        match stuck.reason {
            Reason::Phase(address) => match self.ctas[stuck.cta as usize].objects.get(&address) {
                Some(object) => format!(
                    "{who} wait{s} on {} phase {} (pending arrivals {}, tx-count {})",
                    self.shared_name(address),
                    // A wait for another phase than the current one would not wait.
                    object.barrier.phase(),
                    object.barrier.pending(),
                    object.barrier.tx_count()
                ),
                None => format!("{who} wait{s} on a barrier"),
            },
            Reason::Cta(id) => {
                let named = &self.ctas[stuck.cta as usize].named[id as usize % 16];
                let arrived = named.arrived.count_ones();
                let needed = named.threads.map_or(self.ctas[stuck.cta as usize].live_warps, |n| n / 32);
                format!("{who} wait{s} at barrier {id} of the CTA ({arrived} of {needed} warps have arrived)")
            }
            Reason::Cluster => {
                let missing = self.missing_in_cluster(stuck.cta);
                format!("{who} wait{s} at the cluster barrier ({missing} have not arrived)")
            }
            Reason::Lanes(missing) => {
                let lanes: Vec<(u32, Mask)> = vec![(0, missing)];
                let list = thread_list(&lanes).replace("threads", "lanes").replace("thread", "lane");
                format!("{who} wait{s} for {list} of the warp to execute the same instruction")
            }
            Reason::Copies => format!("{who} wait{s} for copies"),
            Reason::Loop => {
                let loops = if s.is_empty() { "go" } else { "goes" };
                format!(
                    "{who} {loops} round in a loop that changes nothing: what it reads is not written any more"
                )
            }
        }
    }

    fn missing_in_cluster(&self, cta: u32) -> String {
        let ctas = self.clusters[self.ctas[cta as usize].cluster as usize].ctas.clone();
        let mut texts = Vec::new();
        for cta in ctas {
            let warps = self.ctas[cta as usize].warps.clone();
            let missing: Vec<(u32, Mask)> = warps
                .map(|warp| &self.warps[warp as usize])
                .map(|warp| (warp.number, warp.alive & !warp.cluster_arrived & !warp.cluster_passed))
                .filter(|(_, mask)| *mask != 0)
                .collect();
            if !missing.is_empty() {
                texts.push(format!("{}{}", thread_list(&missing), self.of_cta(cta)));
            }
        }
        texts.join(", ")
    }

    /// The control flow of each routine.
    fn flows(&self) -> Flows<'_> {
        let routines = self.code.routines.iter().map(|code| code.routine);
        let flow = |index: u32| Flow::new(self.program, &self.program.routines[index as usize]);
        routines.map(|index| (index, flow(index))).collect()
    }

    /// The instructions that arrive on barriers or bring bytes, in their order.
    fn sources(&self, flows: &Flows) -> Vec<Source> {
        let all = (0..self.code.insts.len() as Pc).filter(|&pc| provides(&self.code.insts[pc as usize].op));
        let is_remote = |pc: Pc| match &self.code.insts[pc as usize].op {
            Op::Barrier(barrier) => barrier.address.space == Space::Cluster,
            Op::Copy(copy) => copy.barrier.is_some_and(|barrier| barrier.space == Space::Cluster),
            _ => false,
        };
        all.map(|pc| Source { pc, places: self.places(pc, flows), is_remote: is_remote(pc) }).collect()
    }

    /// For each group the groups that could still provide what it waits for: index and instruction.
    fn providers(&self, stuck: &[Stuck], sources: &[Source], flows: &Flows) -> Vec<Vec<(usize, Pc)>> {
        let cluster = |group: &Stuck| self.ctas[group.cta as usize].cluster;
        let mut members: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (index, group) in stuck.iter().enumerate() {
            members.entry(cluster(group)).or_default().push(index);
        }
        let mut known: FxHashMap<(Pc, Pc), bool> = FxHashMap::default();
        let mut all = Vec::new();
        for group in stuck {
            let mut found = Vec::new();
            if let Reason::Phase(address) = group.reason {
                for source in sources.iter().filter(|source| source.places.contains(&address)) {
                    for &index in &members[&cluster(group)] {
                        let near = (stuck[index].cta == group.cta) != source.is_remote;
                        let key = (stuck[index].pc, source.pc);
                        if near && *known.entry(key).or_insert_with(|| self.can_reach(key.0, key.1, flows)) {
                            found.push((index, source.pc));
                        }
                    }
                }
            }
            all.push(found);
        }
        all
    }

    /// Whether all is known of who may still arrive where: every address, within one routine.
    fn sees_all(&self, stuck: &[Stuck], sources: &[Source]) -> bool {
        let kernel = self.code.routines[self.code.kernel].routine;
        let here = |pc: Pc| self.code.routine_of(pc).routine == kernel;
        sources.iter().all(|source| here(source.pc) && !source.places.is_empty() && !source.is_remote)
            && stuck.iter().all(|group| here(group.pc))
    }

    /// Whether an instruction may run after another, within one routine.
    fn can_reach(&self, from: Pc, to: Pc, flows: &Flows) -> bool {
        let (routine, other) = (self.code.routine_of(from), self.code.routine_of(to));
        if routine.routine != other.routine {
            return false;
        }
        let flow = &flows[&routine.routine];
        flow.renew_steps();
        let [from, to] = [from, to].map(|pc| self.code.insts[pc as usize].at as usize);
        let mut found = false;
        let complete = flow.forward(from, |at| {
            found |= at == to;
            !found
        });
        found || !complete
    }

    /// What a group lacks, and who could give it.
    fn missing(
        &self,
        group: &Stuck,
        stuck: &[Stuck],
        providers: &[(usize, Pc)],
        sources: &[Source],
        sees_all: bool,
    ) -> Vec<String> {
        let Reason::Phase(address) = group.reason else { return Vec::new() };
        let Some(object) = self.ctas[group.cta as usize].objects.get(&address) else { return Vec::new() };
        let name = self.barrier_name(group.cta, address);
        let (pending, tx) = (object.barrier.pending(), object.barrier.tx_count());
        let mut notes = Vec::new();
        let mut lacks = Vec::new();
        if pending > 0 {
            let expected = object.barrier.expected();
            lacks.push(if pending < expected {
                format!("{pending} of {}", count(expected.into(), "arrival"))
            } else {
                count(pending.into(), "arrival")
            });
        }
        if tx > 0 {
            lacks.push(format!("{tx} bytes that were announced"));
        }
        if !lacks.is_empty() {
            let so_far = self.arrived_so_far(object);
            let phase = object.barrier.phase();
            notes.push(format!("phase {phase} of {name} lacks {}{so_far}", lacks.join(" and ")));
        }
        if tx < 0 {
            notes.push(format!("{} bytes came to {name} that nobody has announced in this phase", -tx));
        }
        let hopeless = tx < 0;
        for &(index, pc) in providers.iter().take(if hopeless { 0 } else { 6 }) {
            let other = &stuck[index];
            let name = self.group_name(other);
            let (line, at) = (self.line(pc), self.line(other.pc));
            notes.push(if std::ptr::eq(other, group) {
                format!("{name} could provide it at line {line}, but only behind this wait (line {at})")
            } else {
                format!("{name} could provide it at line {line}, but {} stuck at line {at}", is(&name))
            });
        }
        if providers.is_empty() && sees_all {
            notes.push(format!("no thread can get to an instruction any more that arrives on {name}"));
        }
        notes.extend(self.skipped(group.cta, address, pending, sources));
        notes
    }

    /// Instructions that would have provided something, and were passed with a false guard.
    fn skipped(&self, cta: u32, address: u32, missing: u32, sources: &[Source]) -> Vec<String> {
        let mut found: Vec<(Pc, Vec<(u32, Mask)>)> = Vec::new();
        let ctas = self.clusters[self.ctas[cta as usize].cluster as usize].ctas.clone();
        for warp in self.warps.iter().filter(|warp| ctas.contains(&warp.cta)) {
            for &(pc, mask) in &warp.skipped {
                match found.iter_mut().find(|(other, _)| *other == pc) {
                    Some((_, threads)) => threads.push((warp.number, mask)),
                    None => found.push((pc, vec![(warp.number, mask)])),
                }
            }
        }
        found
            .into_iter()
            .filter(|(pc, _)| {
                let source = sources.binary_search_by_key(pc, |source| source.pc);
                source.is_ok_and(|index| sources[index].places.contains(&address))
            })
            .filter_map(|(pc, threads)| {
                let executed = match self.was_executed(cta, address, pc) {
                    // As a rule it is for one thread; then the others have nothing to do with it.
                    true if lanes_of(&threads) > missing => return None,
                    true => "",
                    false => ", and nobody has executed it",
                };
                let (line, who, guard) = (self.line(pc), thread_list(&threads), self.guard_text(pc));
                Some(format!("line {line} would provide it, but {who} passed it because its guard{guard} was false{executed}"))
            })
            .collect()
    }

    /// "; so far: line 12 by threads 0, 32"
    fn arrived_so_far(&self, object: &Object) -> String {
        let mut by_line: Vec<(Pc, Vec<(u32, Mask)>)> = Vec::new();
        for site in &object.arrivals {
            let number = self.warps[site.warp as usize].number;
            match by_line.iter_mut().find(|(pc, _)| *pc == site.pc) {
                Some((_, threads)) => threads.push((number, site.lanes)),
                None => by_line.push((site.pc, vec![(number, site.lanes)])),
            }
        }
        let texts: Vec<String> = by_line
            .iter()
            .map(|(pc, threads)| format!("{} at line {}", thread_list(threads), self.line(*pc)))
            .collect();
        if texts.is_empty() {
            String::new()
        } else {
            format!("; so far there are those of {}", texts.join(", "))
        }
    }

    /// " `@p`"
    fn guard_text(&self, pc: Pc) -> String {
        let text = self.program.module.text(self.span(pc));
        let guard = text.split_whitespace().next().filter(|word| word.starts_with('@'));
        guard.map_or(String::new(), |guard| format!(" `{guard}`"))
    }

    fn was_executed(&self, cta: u32, address: u32, pc: Pc) -> bool {
        let object = self.ctas[cta as usize].objects.get(&address);
        object.is_some_and(|object| object.used.contains(&pc))
    }

    /// Groups that wait for one another in a circle.
    fn cycle(&self, stuck: &[Stuck], providers: &[Vec<(usize, Pc)>]) -> Option<String> {
        let next =
            |index: usize| providers[index].iter().map(|(other, _)| *other).filter(move |&o| o != index);
        for start in 0..stuck.len() {
            let mut path = vec![start];
            let mut seen = vec![false; stuck.len()];
            while let Some(&last) = path.last() {
                if next(last).any(|other| other == start) && path.len() > 1 {
                    let mut text = String::from("a cycle: ");
                    let mut before = String::new();
                    for (n, &index) in path.iter().chain([&start]).enumerate() {
                        let name = self.group_name(&stuck[index]);
                        let _ = match n {
                            0 => write!(text, "{name}"),
                            1 => write!(text, " {} for {name}", wait(&before)),
                            _ => write!(text, ", which {} for {name}", wait(&before)),
                        };
                        before = name;
                    }
                    return Some(text);
                }
                match next(last).find(|&other| !seen[other] && other != start) {
                    Some(other) => {
                        seen[other] = true;
                        path.push(other);
                    }
                    None => {
                        path.pop();
                    }
                }
            }
        }
        None
    }
}

/// How many threads these are.
fn lanes_of(threads: &[(u32, Mask)]) -> u32 {
    threads.iter().map(|(_, mask)| mask.count_ones()).sum()
}

/// Whether an instruction arrives on a barrier, or lets bytes be counted.
fn provides(op: &Op) -> bool {
    match op {
        Op::Barrier(barrier) => {
            matches!(barrier.op, BarrierOp::Arrive { .. } | BarrierOp::CompleteTx | BarrierOp::Track { .. })
        }
        Op::Copy(copy) => copy.barrier.is_some(),
        _ => false,
    }
}

fn is(name: &str) -> &'static str {
    if name.starts_with("thread ") { "is" } else { "are" }
}

fn wait(name: &str) -> &'static str {
    if name.starts_with("thread ") { "waits" } else { "wait" }
}
