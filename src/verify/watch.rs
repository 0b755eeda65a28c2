//! Watches a run: turns its events into happens-before, the enabling order, the history of memory and the
//! phases of barriers.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::agent::Agents;
use super::causality::{Causality, Known, Layer, Releases, Topology};
use super::clock::{Mark, Time};
use super::explore::Observer;
use super::ledger::Ledger;
use super::order::Knowledge;
use super::phase::{Asking, Condition, Doubt, Enabling, Given, Happened, Phases};
use super::poll::{Poll, Polls};
use super::race::{Judgement, MOST_LOOKS, Race, Races};
use super::shadow::{self, Access, Does, Lanes, Region, Shadow, Who};
use crate::machine::Machine;
use crate::machine::code::{Number, Pc, Update, UpdateOp};
use crate::machine::column::{Mask, lanes};
use crate::machine::cta::Site;
use crate::machine::event::{Accessed, BarrierStep, BarrierUse, Event, Object, Started, Touching};
use crate::machine::order::{Order, Scope};

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

    /// A strong access synchronises with others at the same place. Updates of lanes come one after the other.
    fn synchronize(
        &mut self,
        accessed: &Accessed,
        order: Order,
        runs: &[(Region, u64, u64, Lanes)],
        time: Time,
    ) {
        let updates = matches!(accessed.kind, Touching::Update { .. });
        // Who does not get the old value has observed nothing.
        let reads = matches!(accessed.kind, Touching::Read | Touching::Update { returns: true, .. });
        let writes = accessed.kind != Touching::Read;
        for &(region, start, end, of) in runs {
            let mut at = start;
            while at < end {
                let next = of.next(at).min(end);
                let all = of.at(at);
                let orders = order.acquires || order.releases || self.causality.has_released(accessed.by);
                let one_by_one = updates && orders;
                let mut left = all;
                while left != 0 {
                    let lanes = if one_by_one { left & left.wrapping_neg() } else { left };
                    left &= !lanes;
                    let by = Site { lanes, ..accessed.by };
                    if reads {
                        self.acquire_flag(by, (region, at), next - at, order);
                    }
                    if writes {
                        // Of lanes that store the same, one comes last, and others see what it releases.
                        let last = 1 << (Mask::BITS - 1 - lanes.leading_zeros());
                        let by = if updates { by } else { Site { lanes: last, ..by } };
                        self.release_flag(by, (region, at), next - at, order, updates, time);
                    }
                }
                at = next;
            }
        }
    }

    /// Whether each flag that an instruction looks at is written once, of all writes that are in no order with
    /// one round of looking: then the value that ends the round is always the same.
    pub fn is_written_once(&self, pc: Pc) -> bool {
        if self.races.looks.len() >= MOST_LOOKS {
            return false;
        }
        let mut writers: FxHashMap<(u32, usize, Region, u64), (Who, Time)> = FxHashMap::default();
        self.races.looks.iter().filter(|look| look.pc == pc).all(|look| {
            let rounds = self.looks.get(&(look.warp, pc));
            let round = rounds.map_or(0, |(starts, _)| starts.partition_point(|start| *start <= look.time));
            let key = (look.warp, round, look.region, look.start);
            *writers.entry(key).or_insert(look.writer) == look.writer
        })
    }

    fn acquire_flag(&mut self, by: Site, place: (Region, u64), size: u64, order: Order) {
        let flag = self.flags.get(&place).filter(|flag| flag.size == size && !flag.releases.is_empty());
        if flag.is_some() || self.causality.is_looking(by.warp) {
            self.causality.looks(by, place);
        }
        let spins = self.spins.get(&by.pc).copied().unwrap_or(false);
        if let Some(Flag { releases, .. }) = flag {
            let news = releases.acquired(&self.topology, order.scope, self.topology.cta(by.warp));
            let knows = |(_, known): &(Mask, &Known)| known.clock().covers(news.clock());
            let known = self.causality.order.of(by.warp, by.lanes).filter(|class| knows(class)).count();
            if !spins && known < self.causality.order.of(by.warp, by.lanes).count().max(1) {
                self.lucky.insert(by.pc);
            }
            self.causality.observe(by, place, releases, order.acquires, order.scope, &self.topology);
        }
        // Who looks only once may as well have come too early to see it.
        if (spins || order.acquires)
            && let Some(given) = self.given_at.get(&place)
        {
            self.enabling.learn(by, given);
        }
    }

    fn release_flag(
        &mut self,
        by: Site,
        place: (Region, u64),
        size: u64,
        order: Order,
        updates: bool,
        time: Time,
    ) {
        let released = self.causality.released(by, time, order.releases, order.scope);
        let cta = self.topology.cta(by.warp);
        let flag = self.flags.entry(place).or_default();
        if !updates || flag.size != size {
            // Updates continue what was released before, others do not.
            flag.releases = Releases::default();
        }
        if flag.size != size {
            *flag = Flag { size, ..Flag::default() };
        }
        let is_own = |of: &(u32, Mask, Releases)| of.0 == by.warp && of.1 & by.lanes == by.lanes;
        if order.releases {
            let mut own = Releases::default();
            released.iter().for_each(|(scope, known)| own.add(*scope, cta, known));
            flag.own.retain(|of| !is_own(of));
            if flag.own.len() == MOST_OWN {
                flag.own.remove(0);
            }
            flag.own.push((by.warp, by.lanes, own));
        } else if let Some((.., own)) = flag.own.iter().find(|of| is_own(of)) {
            flag.releases.join(own);
        }
        released.iter().for_each(|(scope, known)| flag.releases.add(*scope, cta, known));
        let mut given = self.enabling.give(Happened { by, time });
        if updates && let Some(before) = self.given_at.get(&place) {
            given.join(before);
        }
        self.given_at.insert(place, given);
    }

    /// An operation on a barrier as an access to its 8 bytes.
    fn touch_barrier(&mut self, who: Who, by: Happened, object: Object, does: Does) {
        let strong = matches!(does, Does::Uses).then_some(Scope::Sys);
        let access = Access {
            who,
            warp: by.by.warp,
            time: by.time,
            pc: by.by.pc,
            lanes: Lanes::All(by.by.lanes),
            does,
            strong,
            is_async_proxy: false,
            element: 8,
        };
        let (region, start) = (Region::Shared(object.cta), u64::from(object.address));
        let start = start.saturating_sub(self.topology.shared_start);
        self.touch(region, start, start + 8, &access);
        self.note_remote(region, by, None);
    }

    fn barrier(&mut self, used: &BarrierUse) {
        let BarrierUse { by, object, what, order } = *used;
        let looks = matches!(what, BarrierStep::Ask { passed: false, .. } | BarrierStep::Query);
        let time = if looks { self.next_time(by) } else { self.tick(by) };
        let event = Happened { by, time };
        let does = match what {
            BarrierStep::Init => Does::Inits,
            BarrierStep::Inval => Does::Invalidates,
            _ => Does::Uses,
        };
        self.touch_barrier(Who::Warp(by.warp), event, object, does);
        self.ledger.note(object, by, what);
        match what {
            BarrierStep::Init => self.phases.init(object, event),
            BarrierStep::Inval | BarrierStep::Query => {}
            BarrierStep::Arrive { no_complete, .. } => self.arrive(event, object, no_complete, order),
            BarrierStep::Expect { arrives, .. } => self.expect(event, object, arrives),
            BarrierStep::Complete { .. } => self.complete_tx(event, object),
            BarrierStep::Increment => {
                self.comes_behind(Condition::EarlyArrival, object, object.phase as i64 - 1, event);
                self.phases.increment(object, event);
                self.track(event);
            }
            BarrierStep::Track => self.track(event),
            BarrierStep::Ask { phase, passed } => self.ask(event, object, phase, passed, order),
        }
    }

    /// Whether lanes know that a phase is complete; else that is noted.
    fn comes_behind(&mut self, condition: Condition, object: Object, phase: i64, event: Happened) {
        let asking = Asking { what: event, orders: Ok(&self.enabling) };
        let (order, relaxed) = (&self.causality.order, self.relaxed);
        let causal = |mark: Mark, number: i64| {
            // Copies, too, carry what barriers count, but no memory order: that is as it should be.
            if !relaxed {
                return true;
            }
            let mut classes = order.of(event.by.warp, event.by.lanes);
            classes.any(|(_, known)| known.clock().mark(mark).is_some_and(|known| known >= number))
        };
        self.phases.comes_behind(condition, object, phase, asking, &causal);
    }

    fn arrive(&mut self, event: Happened, object: Object, no_complete: bool, order: Order) {
        let cta = self.topology.cta(event.by.warp);
        self.relaxed |= !order.releases;
        let released = self.causality.released(event.by, event.time, order.releases, order.scope);
        let barrier = self.phases.barriers.get_mut(&object.lifetime);
        if let Some(barrier) = barrier {
            released.iter().for_each(|(scope, known)| barrier.releases.add(*scope, cta, known));
        }
        self.last_part.insert(object.lifetime, event);
        self.comes_behind(Condition::EarlyArrival, object, object.phase as i64 - 1, event);
        let asking = Asking { what: event, orders: Ok(&self.enabling) };
        self.phases.arrive(object, asking, None);
        if no_complete {
            self.phases.promise(object, event);
        }
        let given = self.enabling.give(event);
        self.phases.part(object, event, &given);
    }

    fn expect(&mut self, event: Happened, object: Object, arrives: bool) {
        if !arrives {
            self.comes_behind(Condition::EarlyExpect, object, object.phase as i64 - 1, event);
            self.phases.expect(object, event);
        }
        // An announcement decides a poll as an arrival does.
        let given = self.enabling.give(event);
        self.phases.part(object, event, &given);
    }

    fn complete_tx(&mut self, event: Happened, object: Object) {
        self.last_part.insert(object.lifetime, event);
        self.comes_behind(Condition::EarlyBytes, object, object.phase as i64 - 1, event);
        let given = self.enabling.give(event);
        self.phases.part(object, event, &given);
    }

    fn track(&mut self, event: Happened) {
        let given = self.enabling.give(event);
        self.agents.track(event.by);
        self.tracks.push(Track { what: event, left: event.by.lanes, given });
    }

    fn triggered(&mut self, by: Site, last: u32, object: Object) {
        self.agents.triggered(by, last, object.lifetime, object.phase as i64);
        self.ledger.note(
            object,
            by,
            BarrierStep::Arrive { count: by.lanes.count_ones().into(), no_complete: false },
        );
        let found = self.tracks.iter_mut().find(|track| {
            let other = track.what.by;
            (other.warp, other.pc) == (by.warp, by.pc) && track.left & by.lanes == by.lanes
        });
        let Some(track) = found else { return };
        track.left &= !by.lanes;
        let event = Happened { by, time: track.what.time };
        let given = track.given.clone();
        self.tracks.retain(|track| track.left != 0);
        self.last_part.insert(object.lifetime, event);
        let asking = Asking { what: event, orders: Err(&given) };
        let causal = |_: Mark, _: i64| true;
        self.phases.comes_behind(Condition::EarlyArrival, object, object.phase as i64 - 1, asking, &causal);
        self.phases.arrive(object, asking, Some(by.pc));
        self.phases.bytes(object, &given);
    }

    fn ask(&mut self, event: Happened, object: Object, phase: i64, passed: bool, order: Order) {
        // Both answers are for those who do not know that the phase before is over.
        self.comes_behind(Condition::EarlyWait, object, phase - 1, event);
        if !passed {
            self.phases.poll(object, event);
            return;
        }
        self.relaxed |= !order.acquires;
        let Some(barrier) = self.phases.barriers.get(&object.lifetime) else { return };
        if phase < 0 {
            self.phases.wait(object, event);
            return;
        }
        let at = (Region::Shared(object.cta), u64::from(object.address));
        self.causality.observe(event.by, at, &barrier.released, order.acquires, order.scope, &self.topology);
        let mark = Mark::Phase(object.lifetime);
        let first = self.enabling.groups.of(event.by.warp, event.by.lanes).next();
        if first.is_none_or(|(_, known)| known.mark(mark).is_none_or(|known| known < phase)) {
            self.phases.unforced.insert(event.by.pc);
        }
        let given = self.phases.wait(object, event);
        self.enabling.learn(event.by, &given);
        self.enabling.learn_mark(event.by, mark, phase);
    }

    fn phase(&mut self, cta: u32, address: u32, phase: u64) {
        let Some(&lifetime) = self.phases.at.get(&(cta, address)) else { return };
        let object = Object { cta, address, lifetime, phase };
        let mut known = Known::default();
        known.raise_mark(Mark::Phase(lifetime), phase as i64);
        if let Some(barrier) = self.phases.barriers.get_mut(&lifetime) {
            // Copies release what they wrote with the scope of the cluster.
            barrier.releases.add(Scope::Cluster, cta, &known);
            barrier.released = barrier.releases.clone();
        }
        self.ledger.complete(object);
        let by = self.last_part.remove(&lifetime);
        self.phases.complete(object, by);
    }

    fn start(&mut self, started: &Started) {
        let by = started.by;
        let time = self.tick(by);
        let event = Happened { by, time };
        let barrier = started.signal.map(|(signal, _)| (signal.cta, signal.address));
        self.agents.start(started.copy, by, time, started.family, barrier);
        let who = Who::Copy(started.copy);
        let writes = match started.update {
            Some(update) => Does::Updates(update.op, commutes(update)),
            None => Does::Writes,
        };
        let strong = match (started.update, started.order) {
            (_, Some(order)) => Some(order.scope),
            (Some(_), None) => Some(Scope::Gpu),
            (None, None) => None,
        };
        let element = started.update.map_or(0, |update| update.bytes);
        let mut parts = started.writes.clone();
        // Copies of lanes to the same bytes are copies of their own.
        parts.iter_mut().for_each(|touch| touch.value = touch.lane.into());
        for (touches, does, strong) in [(&started.reads, Does::Reads, None), (&parts, writes, strong)] {
            for (region, start, end, lanes) in shadow::runs(touches) {
                let is_async_proxy = started.is_async_proxy;
                let access = Access {
                    who,
                    warp: by.warp,
                    time,
                    pc: by.pc,
                    lanes,
                    does,
                    strong,
                    is_async_proxy,
                    element,
                };
                if does == Does::Reads {
                    self.note_flows(region, start, end, by.pc);
                }
                self.touch(region, start, end, &access);
                self.note_remote(region, event, Some(started.copy));
            }
        }
        if let Some((region, start)) = started.map.and_then(shadow::region) {
            let lanes = Lanes::All(by.lanes);
            let does = Does::ReadsMap;
            let access = Access {
                who,
                warp: by.warp,
                time,
                pc: by.pc,
                lanes,
                does,
                strong: None,
                is_async_proxy: true,
                element: 0,
            };
            self.touch(region, start, start + 128, &access);
        }
        if let Some((_, object)) = started.signal {
            self.touch_barrier(who, event, object, Does::Uses);
            let given = self.enabling.give(event);
            self.issues.insert(started.copy, Issue { what: event, given });
        }
        if let Some(order) = started.order.filter(|order| order.releases) {
            for touch in &started.writes {
                if let Some((region, at)) = shadow::region(touch.place) {
                    self.release_flag(by, (region, at), touch.size.into(), order, false, time);
                }
            }
        }
    }

    fn delivered(&mut self, copy: u32, object: Object, bytes: u32) {
        self.agents.delivered(copy, object.lifetime, object.phase as i64);
        self.ledger.delivered(object, bytes);
        let Some(issue) = self.issues.remove(&copy) else { return };
        self.last_part.insert(object.lifetime, issue.what);
        let asking = Asking { what: issue.what, orders: Err(&issue.given) };
        let causal = |_: Mark, _: i64| true;
        self.phases.comes_behind(Condition::EarlyBytes, object, object.phase as i64 - 1, asking, &causal);
        self.phases.bytes(object, &issue.given);
    }

    /// Lanes come to a named barrier, or to that of the cluster.
    fn come(&mut self, by: Site, mark: Mark, releases: bool, waits: bool) {
        let time = self.tick(by);
        let event = Happened { by, time };
        let known = match mark {
            Mark::Cluster(_) => self.causality.released_to_cluster(by, time, releases),
            _ => self.causality.order.give(by.warp, by.lanes, time),
        };
        let given = self.enabling.give(event);
        let meeting = self.meetings.entry(mark).or_default();
        meeting.given.join(&given);
        meeting.known.join(&known);
        meeting.first.get_or_insert(event);
        if waits {
            meeting.waiting.push(event);
        }
        let (generation, before) = (meeting.generation, meeting.before);
        if generation == 0 {
            return;
        }
        let knows = |order: &super::order::Order<super::clock::Shared>| {
            let mut classes = order.of(by.warp, by.lanes);
            let enough = |known: &super::clock::Shared| known.mark(mark).is_some_and(|n| n >= generation - 1);
            classes.next().is_some_and(|(_, known)| enough(known)) && classes.all(|(_, known)| enough(known))
        };
        if !knows(&self.enabling.groups)
            && let Some(first) = before
        {
            let doubt = Doubt {
                condition: Condition::MixedGenerations,
                only_lanes: false,
                only_relaxed: false,
                first,
                second: event,
                object: None,
            };
            self.phases.doubt(doubt);
        }
    }

    fn exits_of(&self, ctas: impl Iterator<Item = u32>) -> (Given, Known) {
        let mut all = (Given::default(), Known::default());
        for (given, known) in ctas.filter_map(|cta| self.exits.get(&cta)) {
            all.0.join(given);
            all.1.join(known);
        }
        all
    }

    fn release_cta(&mut self, cta: u32, id: u32, counts: bool) {
        // One that counts threads does not wait for those that have ended.
        let (exited, exited_known) = self.exits_of(std::iter::once(cta).filter(|_| !counts));
        let mark = Mark::Named(cta, id);
        let meeting = self.meetings.entry(mark).or_default();
        let mut given = std::mem::take(&mut meeting.given);
        let mut known = std::mem::take(&mut meeting.known);
        let waiting = std::mem::take(&mut meeting.waiting);
        let generation = meeting.generation;
        meeting.generation += 1;
        meeting.before = meeting.first.take();
        given.join(&exited);
        known.join(&exited_known);
        for event in waiting {
            self.causality.order.learn(event.by.warp, event.by.lanes, &known);
            self.enabling.learn(event.by, &given);
            self.enabling.learn_mark(event.by, mark, generation);
        }
    }

    fn release_cluster(&mut self, cluster: u32) {
        let members = 0..self.topology.cluster_of.len() as u32;
        let ctas = members.filter(|&cta| self.topology.cluster(cta) == cluster);
        let (exited, exited_known) = self.exits_of(ctas);
        let meeting = self.meetings.entry(Mark::Cluster(cluster)).or_default();
        let mut given = std::mem::take(&mut meeting.given);
        let mut known = std::mem::take(&mut meeting.known);
        given.join(&exited);
        known.join(&exited_known);
        meeting.done = (given, known);
        meeting.generation += 1;
        meeting.before = meeting.first.take();
    }

    fn cluster_waited(&mut self, by: Site, acquires: bool) {
        self.tick(by);
        let cluster = self.topology.cluster(self.topology.cta(by.warp));
        let mark = Mark::Cluster(cluster);
        let Some(meeting) = self.meetings.get(&mark) else { return };
        let ((given, known), generation) = (meeting.done.clone(), meeting.generation - 1);
        if acquires {
            self.causality.order.learn(by.warp, by.lanes, &known);
        }
        self.enabling.learn(by, &given);
        self.enabling.learn_mark(by, mark, generation);
    }

    fn note_remote(&mut self, region: Region, what: Happened, copy: Option<u32>) {
        let Region::Shared(cta) = region else { return };
        if cta == self.topology.cta(what.by.warp) {
            return;
        }
        let list = self.remote.entry(cta).or_default();
        let same = |other: &&mut Remote| {
            let by = other.what.by;
            (by.pc, by.warp, by.lanes, other.copy) == (what.by.pc, what.by.warp, what.by.lanes, copy)
        };
        match list.iter_mut().find(same) {
            Some(other) => other.what = what,
            None => list.push(Remote { what, copy }),
        }
    }

    fn exited(&mut self, by: Site) {
        let time = self.tick(by);
        let event = Happened { by, time };
        let cta = self.topology.cta(by.warp);
        let known = self.causality.order.give(by.warp, by.lanes, time);
        let given = self.enabling.give(event);
        let exits = self.exits.entry(cta).or_default();
        exits.0.join(&given);
        exits.1.join(&known);
        self.last_exit.insert(cta, by);
    }

    fn cta_ended(&mut self, cta: u32) {
        let remote = self.remote.remove(&cta).unwrap_or_default();
        let (given, known) = self.exits.get(&cta).cloned().unwrap_or_default();
        let (clock, groups) = (known.layer(Layer::Plain), &given.groups);
        for Remote { what, copy } in remote {
            let Happened { by, time } = what;
            let is_over = match copy.and_then(|id| self.agents.get(id)) {
                Some(agent) => lanes(by.lanes).all(|lane| agent.is_known(true, clock, lane, 0)),
                None => {
                    clock.knows(by.warp, by.lanes, time) == by.lanes
                        || groups.knows(by.warp, by.lanes, time) != 0
                }
            };
            let Some(&exit) = self.last_exit.get(&cta) else { continue };
            let same = |other: &Outlived| (other.access.pc, other.exit.pc) == (by.pc, exit.pc);
            if !is_over && !self.outlived.iter().any(same) {
                self.outlived.push(Outlived { access: by, is_copy: copy.is_some(), cta, exit });
            }
        }
        self.shadow.forget(Region::Shared(cta));
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
