//! Watches a run: turns its events into happens-before, the enabling order, the history of memory and the
//! phases of barriers.

mod barrier;
mod copy;
mod flag;
mod meeting;

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::agent::Agents;
use super::causality::{Causality, Known, Releases, Topology};
use super::clock::{Mark, Time};
use super::explore::Observer;
use super::ledger::Ledger;
use super::phase::{Enabling, Given, Happened, Phases};
use super::poll::{Poll, Polls};
use super::race::{Judgement, Race, Races};
use super::shadow::{self, Access, Does, Region, Shadow, Who};
use crate::machine::Machine;
use crate::machine::code::{Number, Pc, Update, UpdateOp};
use crate::machine::column::Mask;
use crate::machine::cta::Site;
use crate::machine::event::{Accessed, Event, Touching};

/// A named barrier of a CTA, or the barrier of a cluster, in its current generation.
#[derive(Clone, Debug, Default)]
struct Meeting {
    generation: i64,
    given: Given,
    known: Known,
    /// Those that wait, with the instruction.
    waiting: Vec<Happened>,
    /// The first that arrived in the generation before, for reports.
    before: Option<Happened>,
    first: Option<Happened>,
    /// What the last complete generation gave.
    done: (Given, Known),
}

/// A place that is written with strong operations.
#[derive(Clone, Debug, Default, Hash)]
struct Flag {
    size: u64,
    /// What those release that its value comes from.
    releases: Releases,
    /// What lanes of warps released there before: strong writes of theirs that come later release it, too.
    own: Vec<(u32, Mask, Releases)>,
}

/// So many are kept.
const MOST_OWN: usize = 8;

/// A copy that has not been delivered: what its start knew.
#[derive(Clone, Debug)]
struct Issue {
    what: Happened,
    given: Given,
}

/// An arrival that waits for copies.
#[derive(Clone, Debug)]
struct Track {
    what: Happened,
    left: Mask,
    given: Given,
}

/// An access to shared memory of another CTA.
#[derive(Clone, Copy, Debug)]
struct Remote {
    what: Happened,
    copy: Option<u32>,
}

/// An access to memory of a CTA that nothing orders before the end of the CTA.
#[derive(Clone, Copy, Debug)]
pub struct Outlived {
    /// The access.
    pub access: Site,
    /// Whether a copy makes it.
    pub is_copy: bool,
    /// The CTA.
    pub cta: u32,
    /// Lanes that end it.
    pub exit: Site,
}

/// What is known of a run so far.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Which CTAs belong together.
    pub topology: Topology,
    times: Vec<Time>,
    causality: Causality,
    enabling: Enabling,
    /// Copies.
    pub agents: Agents,
    shadow: Shadow,
    /// Races.
    pub races: Races,
    /// Phases.
    pub phases: Phases,
    /// Who did what in the phases of barriers.
    pub ledger: Ledger,
    /// What was released at flags: by place and size.
    flags: FxHashMap<(Region, u64), Flag>,
    /// The same for what cannot happen before what.
    given_at: FxHashMap<(Region, u64), Given>,
    meetings: FxHashMap<Mark, Meeting>,
    issues: FxHashMap<u32, Issue>,
    tracks: Vec<Track>,
    remote: FxHashMap<u32, Vec<Remote>>,
    exits: FxHashMap<u32, (Given, Known)>,
    last_exit: FxHashMap<u32, Site>,
    /// Accesses that may outlive the memory.
    pub outlived: Vec<Outlived>,
    /// Stores whose values loads have read: store, load.
    pub flows: rustc_hash::FxHashSet<(Pc, Pc)>,
    /// When lanes of a warp began to look at flags with an instruction, and looked last.
    looks: FxHashMap<(u32, Pc), (Vec<Time>, Time)>,
    /// Loads that spin until they see what they wait for.
    spins: FxHashMap<Pc, bool>,
    /// Strong reads that learnt something, though they look only once: in another schedule they may come too
    /// early.
    pub lucky: rustc_hash::FxHashSet<Pc>,
    /// Whether operations on barriers without memory order were seen.
    relaxed: bool,
    /// What completed the current phase of a barrier.
    last_part: FxHashMap<u64, Happened>,
}

impl Watch {
    /// Watches a run from its start.
    pub fn new() -> Watch {
        Watch::default()
    }

    /// Takes the events that a machine has put down.
    pub fn observe(&mut self, machine: &mut Machine) {
        let mut events = std::mem::take(&mut machine.events);
        if self.topology.cta_of.len() != machine.warps.len() {
            self.topology.cta_of = machine.warps.iter().map(|warp| warp.cta).collect();
            self.topology.cluster_of = machine.ctas.iter().map(|cta| cta.cluster).collect();
            self.topology.shared_start = machine.shared_start();
        }
        for event in events.drain(..) {
            if let Event::Access(accessed) = &event
                && accessed.order.is_some()
                && accessed.kind == Touching::Read
            {
                let pc = accessed.by.pc;
                let spins = || matches!(Polls::new(&machine.code).at(pc), Poll::Spins { .. });
                self.spins.entry(pc).or_insert_with(spins);
            }
            self.event(event);
        }
        machine.events = events;
        if self.agents.are_many() {
            let named: rustc_hash::FxHashSet<u32> = self.shadow.all().filter_map(copy_of).collect();
            let issues = &self.issues;
            self.agents.keep(|id| named.contains(&id) || issues.contains_key(&id));
        }
    }

    /// How many events each warp has had.
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// The run has ended.
    pub fn end(&mut self) {
        self.phases.end();
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Step { .. } | Event::Landing { .. } => {}
            Event::Access(accessed) => self.accessed(&accessed),
            Event::Barrier(used) => self.barrier(&used),
            Event::Phase { cta, address, phase } => self.phase(cta, address, phase),
            Event::Start(started) => self.start(&started),
            Event::Delivered { copy, object, bytes } => self.delivered(copy, object, bytes),
            Event::Triggered { by, last, object } => self.triggered(by, last, object),
            Event::Commit { by, family } => self.agents.commit(by, family),
            Event::Waited { by, family, but, read } => {
                let time = self.tick(by);
                self.agents.waited(by, time, family, but, read);
            }
            Event::Met { by, orders } => {
                let time = self.tick(by);
                if orders {
                    self.causality.order.meet(by.warp, by.lanes, time);
                }
                self.enabling.meet(by, time);
            }
            Event::CtaArrived { by, id, waits } => {
                let mark = Mark::Named(self.topology.cta(by.warp), id);
                self.come(by, mark, true, waits);
            }
            Event::CtaReleased { cta, id, counts } => self.release_cta(cta, id, counts),
            Event::ClusterArrived { by, releases } => {
                let mark = Mark::Cluster(self.topology.cluster(self.topology.cta(by.warp)));
                self.come(by, mark, releases, false);
            }
            Event::ClusterReleased { cluster } => self.release_cluster(cluster),
            Event::ClusterWaited { by, acquires } => self.cluster_waited(by, acquires),
            Event::Fence { by, fence } => {
                let time = self.tick(by);
                self.causality.fence(by, time, fence, &self.topology);
            }
            Event::Exited { by } => self.exited(by),
            Event::CtaEnded { cta } => self.cta_ended(cta),
        }
    }

    /// A new event of a warp.
    fn tick(&mut self, by: Site) -> Time {
        let time = self.next_time(by);
        self.times[by.warp as usize] = time;
        time
    }

    /// The time of the next event of a warp. Looks that may be repeated have it, too: they change nothing, and
    /// whoever spins comes back to the same state.
    fn next_time(&mut self, by: Site) -> Time {
        let warp = by.warp as usize;
        if self.times.len() <= warp {
            self.times.resize(warp + 1, 0);
        }
        let time = self.times[warp] + 1;
        self.causality.goes_on(by);
        self.enabling.step(by, time);
        time
    }

    fn touch(&mut self, region: Region, start: u64, end: u64, access: &Access) {
        let mut judge = Judgement {
            causality: &self.causality,
            enabling: &self.enabling,
            agents: &self.agents,
            topology: &self.topology,
            region,
            races: &mut self.races,
        };
        self.shadow.access(region, start, end, access, &mut judge);
    }

    fn accessed(&mut self, accessed: &Accessed) {
        let by = accessed.by;
        let looks = accessed.order.is_some() && accessed.kind == Touching::Read;
        let time = if looks { self.next_time(by) } else { self.tick(by) };
        let does = match accessed.kind {
            Touching::Read => Does::Reads,
            Touching::Write => Does::Writes,
            Touching::Update { update, .. } => Does::Updates(update.op, commutes(update)),
        };
        let runs = match does {
            Does::Writes => shadow::written(&accessed.touches),
            _ => shadow::runs(&accessed.touches),
        };
        let element = accessed.touches.first().map_or(0, |touch| touch.size.min(255) as u8);
        for &(region, start, end, lanes) in &runs {
            let access = Access {
                who: Who::Warp(by.warp),
                warp: by.warp,
                time,
                pc: by.pc,
                lanes,
                does,
                strong: accessed.order.map(|order| order.scope),
                is_async_proxy: false,
                element,
            };
            if does != Does::Writes {
                self.note_flows(region, start, end, by.pc);
            }
            self.touch(region, start, end, &access);
            self.note_remote(region, Happened { by, time }, None);
        }
        if accessed.order.is_some() && does == Does::Reads {
            let (starts, last) = self.looks.entry((by.warp, by.pc)).or_default();
            if starts.is_empty() || *last != time {
                starts.push(time);
            }
            *last = time;
        }
        if let Some(order) = accessed.order {
            self.synchronize(accessed, order, &runs, time);
        } else if does == Does::Writes && !self.flags.is_empty() {
            runs.iter().for_each(|&(region, start, ..)| drop(self.flags.remove(&(region, start))));
        }
    }

    fn note_flows(&mut self, region: Region, start: u64, end: u64, pc: Pc) {
        for writer in self.shadow.writers(region, start, end) {
            self.flows.insert((writer.pc, pc));
        }
    }
}

impl Observer for Watch {
    fn observe(&mut self, machine: &mut Machine) {
        Watch::observe(self, machine);
    }

    /// Of what causality knows: that decides which races are still to come.
    fn fingerprint(&self) -> u64 {
        let mut state = FxHasher::default();
        self.times.hash(&mut state);
        self.causality.hash_into(&mut state);
        self.phases.hash_into(&mut state);
        let mut rest: u64 = 0;
        let mut add = |part: &dyn Fn(&mut FxHasher)| {
            let mut state = FxHasher::default();
            part(&mut state);
            rest = rest.wrapping_add(state.finish());
        };
        for flag in &self.flags {
            add(&|state| flag.hash(state));
        }
        for (mark, meeting) in &self.meetings {
            add(&|state| (mark, &meeting.known, &meeting.done.1).hash(state));
        }
        rest.hash(&mut state);
        state.finish()
    }

    fn has_failed(&self) -> bool {
        let is_error = |race: &Race| !race.is_read_before_overwrite();
        self.races.found.iter().any(is_error) || !self.outlived.is_empty()
    }
}

fn copy_of(access: &Access) -> Option<u32> {
    match access.who {
        Who::Copy(id) => Some(id),
        Who::Warp(_) => None,
    }
}

/// Whether the order of such updates does not matter.
fn commutes(update: Update) -> bool {
    let exact = matches!(update.ty, Number::Unsigned | Number::Signed);
    exact
        && matches!(
            update.op,
            UpdateOp::Add | UpdateOp::Min | UpdateOp::Max | UpdateOp::And | UpdateOp::Or | UpdateOp::Xor
        )
}
