//! Races: overlapping accesses, one of them a write, that causality does not order and that are not morally
//! strong (PTX ISA §8.10). Accesses through different proxies also need a fence between these on the way.

use rustc_hash::{FxHashMap, FxHashSet};

use super::agent::{Agents, Stage};
use super::causality::{Causality, Known, Layer, Topology};
use super::clock::{Clock, Time};
use super::phase::Enabling;
use super::shadow::{Access, Does, Judge, Lanes, Region, Who, first_lane};
use crate::machine::code::Pc;
use crate::machine::column::Mask;

/// What is missing between two accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Missing {
    /// Nothing: they are ordered.
    Nothing,
    /// A fence between proxies.
    Fence,
    /// The end of the copy that came first is not known to those that came second.
    End,
    /// Any order.
    Order,
    /// Both are strong, but a scope leaves the other side out.
    Scope,
    /// Both are strong, but of different size.
    Size,
    /// Both are strong, but go different ways.
    Proxy,
}

/// What there is between two accesses that are in no order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// Nothing.
    Nothing,
    /// Operations that say what comes first, but order no memory.
    Relaxed,
    /// Order for other lanes of the warp that did the first.
    OtherFirst,
    /// Order for other lanes of the warp that did the second.
    OtherSecond,
}

/// Two accesses that race.
#[derive(Clone, Debug)]
pub struct Race {
    /// The one that came first in the run.
    pub old: Access,
    /// The one that came second.
    pub new: Access,
    /// Lanes of the first, of the warp in hand.
    pub old_lanes: Mask,
    /// Lanes of the second.
    pub new_lanes: Mask,
    /// Where.
    pub region: Region,
    /// The first byte.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// What is missing.
    pub missing: Missing,
    /// What there is.
    pub between: Between,
    /// What is known of the end of the first, if that is a copy.
    pub stage: Stage,
    /// How often the two instructions raced.
    pub count: u64,
}

impl Race {
    /// Whether an asynchronous copy writes over what others have read before, and only a fence is missing.
    pub fn is_read_before_overwrite(&self) -> bool {
        let reads = matches!(self.old.does, Does::Reads) && !self.old.is_async_proxy;
        self.missing == Missing::Fence && reads && self.new.is_async_proxy
    }
}

/// A strong read, and a write that is in no order with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Look {
    /// The reading instruction.
    pub pc: Pc,
    /// Its warp.
    pub warp: u32,
    /// When.
    pub time: Time,
    /// Where.
    pub region: Region,
    /// The first byte.
    pub start: u64,
    /// Who wrote.
    pub writer: (Who, Time),
}

/// So many looks are kept; then nothing is said of flags.
pub const MOST_LOOKS: usize = 1 << 16;

/// Which races are told apart: the two instructions, and whether only a fence is missing.
type Key = (Pc, Pc, bool);

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Races {
    /// In the order in which they were found.
    pub found: Vec<Race>,
    known: FxHashMap<Key, usize>,
    /// Strong accesses that conflict and are in no order: the instructions, the first one first, and whether
    /// memory is the same afterwards in either order.
    pub unordered: FxHashSet<(Pc, Pc, bool)>,
    /// Strong accesses that conflict and are in order only because lanes of a warp stay together.
    pub separable: FxHashSet<(Pc, Pc)>,
    /// Strong accesses that relaxed operations order, but not causality.
    pub relaxed: FxHashSet<(Pc, Pc)>,
    /// Reads and writes among them, one by one.
    pub looks: FxHashSet<Look>,
}

impl Races {
    fn note(&mut self, race: Race) {
        let (a, b) = (race.old.pc.min(race.new.pc), race.old.pc.max(race.new.pc));
        match self.known.get(&(a, b, race.missing == Missing::Fence)) {
            Some(&index) => {
                let before = &mut self.found[index];
                before.count += 1;
                let of = |race: &Race| (race.old.who, race.old.time, race.new.who, race.new.time);
                if of(before) == of(&race) && before.region == race.region {
                    before.start = before.start.min(race.start);
                    before.end = before.end.max(race.end);
                    before.old_lanes |= race.old_lanes;
                    before.new_lanes |= race.new_lanes;
                }
            }
            None => {
                self.known.insert((a, b, race.missing == Missing::Fence), self.found.len());
                self.found.push(race);
            }
        }
    }
}

/// Where two accesses are not ordered.
struct Conflict {
    missing: Missing,
    start: u64,
    end: u64,
    old_lanes: Mask,
    new_lanes: Mask,
}

/// An access, and those of its lanes that are asked about.
#[derive(Clone, Copy)]
struct Side<'a> {
    access: &'a Access,
    lanes: Mask,
}

/// Judges an access by what its lanes know.
pub struct Judgement<'a> {
    /// Happens-before.
    pub causality: &'a Causality,
    /// What cannot happen before what.
    pub enabling: &'a Enabling,
    /// Copies.
    pub agents: &'a Agents,
    /// Which CTAs belong together.
    pub topology: &'a Topology,
    /// Where the access is.
    pub region: Region,
    /// What was found.
    pub races: &'a mut Races,
}

impl Judge for Judgement<'_> {
    fn is_behind(&mut self, old: &Access, new: &Access, start: u64, end: u64) -> bool {
        let is_one_copy = old.who == new.who && matches!(old.who, Who::Copy(_));
        if is_one_copy && old.lanes.within(start, end) == new.lanes.within(start, end) {
            return true;
        }
        let conflict = old.does.writes() || new.does.writes();
        let Some(Conflict { missing, start: from, end: to, old_lanes, new_lanes }) =
            self.unordered(old, new, start, end)
        else {
            return true;
        };
        if !conflict {
            return false;
        }
        let same_instruction = (old.who, old.time) == (new.who, new.time);
        if old.strong.is_some() && new.strong.is_some() && (missing != Missing::Fence || updates(old, new)) {
            if self.is_morally_strong(old, new) {
                self.note_unordered(old, new, start, end);
                return false;
            }
            if same_instruction {
                return false;
            }
        }
        let scopes = old.strong.is_some() && new.strong.is_some() && missing == Missing::Order;
        let missing = if scopes { self.why_not_strong(old, new) } else { missing };
        let (between, stage) = (self.between(old, new, old_lanes, new_lanes), self.stage(old, old_lanes));
        let (old, new) = (*old, *new);
        let (region, start, end) = (self.region, from, to);
        let race =
            Race { old, new, old_lanes, new_lanes, region, start, end, missing, between, stage, count: 1 };
        self.races.note(race);
        false
    }
}

impl Judgement<'_> {
    /// The layer in which the first must be known to whoever does the second.
    fn layer(&self, old: &Access, new: &Access) -> Layer {
        match (new.does, self.region) {
            (Does::ReadsMap, _) if !old.is_async_proxy => Layer::MapAcquire,
            (Does::ReadsMap, _) => Layer::Plain,
            (_, Region::Shared(_)) if new.is_async_proxy && !old.is_async_proxy => Layer::AsyncShared,
            (_, Region::Global(_)) if new.is_async_proxy && !old.is_async_proxy => Layer::AsyncGlobal,
            _ => Layer::Plain,
        }
    }

    /// Why two strong accesses are not strong towards each other.
    fn why_not_strong(&self, old: &Access, new: &Access) -> Missing {
        let (from, to) = (self.topology.cta(old.warp), self.topology.cta(new.warp));
        let sees =
            |access: &Access, from, to| access.strong.is_some_and(|s| self.topology.includes(s, from, to));
        match sees(old, from, to) && sees(new, to, from) {
            false => Missing::Scope,
            true if old.element != new.element => Missing::Size,
            true => Missing::Proxy,
        }
    }

    /// What there is between two accesses that causality does not order.
    fn between(&self, old: &Access, new: &Access, old_lanes: Mask, new_lanes: Mask) -> Between {
        let Judgement { causality, enabling, agents, .. } = self;
        let is_before = |known: &Clock, own: Mask| match old.who {
            Who::Warp(warp) => known.knows(warp, old_lanes, old.time) == old_lanes,
            Who::Copy(id) => agents.get(id).is_none_or(|agent| {
                let mut lanes = crate::machine::column::lanes(old_lanes);
                lanes.all(|lane| agent.is_known(old.does.writes(), known, lane, own))
            }),
        };
        if enabling.lanes.all_know(new.warp, new_lanes, |known| is_before(known, 0)) {
            return Between::Relaxed;
        }
        let plain = |(_, known): (Mask, &Known)| known.layer(Layer::Plain).clone();
        let mut others = causality.order.of(new.warp, Mask::MAX & !new_lanes).map(plain);
        let Who::Warp(warp) = old.who else { return Between::Nothing };
        if warp == new.warp {
            return Between::Nothing;
        }
        if others.any(|known| is_before(&known, 0)) {
            return Between::OtherSecond;
        }
        let mut own = causality.order.of(new.warp, new_lanes).map(plain);
        match own.any(|known| known.knows(warp, Mask::MAX, old.time) != 0) {
            true => Between::OtherFirst,
            false => Between::Nothing,
        }
    }

    fn stage(&self, old: &Access, old_lanes: Mask) -> Stage {
        let agent = match old.who {
            Who::Copy(id) => self.agents.get(id),
            Who::Warp(_) => None,
        };
        agent.map_or(Stage::Open, |agent| agent.stage(old.does.writes(), first_lane(old_lanes)))
    }

    /// The bytes, from the first to the last, at which the two are not ordered, with the lanes there and what is
    /// missing.
    fn unordered(&self, old: &Access, new: &Access, start: u64, end: u64) -> Option<Conflict> {
        let layer = self.layer(old, new);
        let (old_lanes, new_lanes) = (old.lanes.within(start, end), new.lanes.within(start, end));
        let before = Side { access: old, lanes: old_lanes };
        let mut worst = Missing::Nothing;
        for (lanes, known) in self.causality.order.of(new.warp, new_lanes) {
            worst = worst.max(self.missing(before, Side { access: new, lanes }, known, layer));
        }
        if worst == Missing::Nothing || self.ends_behind(old, old_lanes, new, new_lanes) {
            return None;
        }
        // Not all of them: byte by byte, a lane comes after itself.
        let mut at = start;
        let mut found: Option<Conflict> = None;
        while at < end {
            let next = old.lanes.next(at).min(new.lanes.next(at)).min(end);
            let old_here = old.lanes.at(at);
            let before = Side { access: old, lanes: old_here };
            let mut here = new.lanes.at(at);
            while here != 0 {
                let lane = here & here.wrapping_neg();
                here &= !lane;
                let behind = Side { access: new, lanes: lane };
                let classes = self.causality.order.of(new.warp, lane);
                let missing = classes.map(|(_, known)| self.missing(before, behind, known, layer)).max();
                let Some(missing) = missing.filter(|missing| *missing != Missing::Nothing) else { continue };
                match &mut found {
                    Some(conflict) if conflict.missing >= missing => {
                        conflict.old_lanes |= old_here;
                        conflict.new_lanes |= lane;
                        conflict.end = next;
                    }
                    _ => {
                        let (start, end) = (at, next);
                        found = Some(Conflict { missing, start, end, old_lanes: old_here, new_lanes: lane });
                    }
                }
            }
            at = next;
        }
        found
    }

    /// Whether a barrier is ended behind a use of it. That reads nothing and writes nothing that others see:
    /// it is enough that it cannot happen before.
    fn ends_behind(&self, old: &Access, old_lanes: Mask, new: &Access, new_lanes: Mask) -> bool {
        let ends = new.does == Does::Invalidates && old.does == Does::Uses;
        let Who::Warp(warp) = old.who else { return false };
        ends && self.enabling.lanes.of(new.warp, new_lanes).any(|(lanes, known)| {
            let own = if warp == new.warp && lanes == new_lanes { lanes } else { 0 };
            (known.knows(warp, old_lanes, old.time) | own) & old_lanes == old_lanes
        })
    }

    /// What is missing between lanes of the first and lanes of the second that know the same.
    fn missing(&self, before: Side, behind: Side, known: &Known, layer: Layer) -> Missing {
        let (Side { access: old, lanes: old_lanes }, Side { access: new, lanes: new_lanes }) =
            (before, behind);
        match old.who {
            Who::Copy(id) => self.end_missing(id, before, behind, known, layer),
            Who::Warp(warp) => {
                let mut plain = known.layer(Layer::Plain).knows(warp, old_lanes, old.time);
                // A lane comes after itself, which says something where one lane asks.
                let alike = old.lanes == new.lanes && old_lanes == new_lanes;
                if warp == new.warp && new_lanes.is_power_of_two() {
                    plain |= old_lanes & new_lanes;
                } else if warp == new.warp && alike && matches!(new.lanes, Lanes::Row { .. }) {
                    // Each lane comes back to its own bytes.
                    plain |= old_lanes;
                }
                if old.does == Does::Inits {
                    plain |= known.layer(Layer::Inits).knows(warp, old_lanes, old.time);
                }
                if plain != old_lanes {
                    return Missing::Order;
                }
                let fenced = layer == Layer::Plain || {
                    known.layer(layer).knows(warp, old_lanes, old.time) == old_lanes
                };
                if fenced { Missing::Nothing } else { Missing::Fence }
            }
        }
    }

    /// The same, where the first is a copy.
    fn end_missing(&self, id: u32, before: Side, behind: Side, known: &Known, layer: Layer) -> Missing {
        // Those that are forgotten were known to all.
        let Some(agent) = self.agents.get(id) else { return Missing::Nothing };
        let own = if agent.by.warp == behind.access.warp { behind.lanes } else { 0 };
        let writes = before.access.does.writes();
        let ends_in = |clock: &Clock, own: Mask| {
            crate::machine::column::lanes(before.lanes).all(|lane| agent.is_known(writes, clock, lane, own))
        };
        if !ends_in(known.layer(Layer::Plain), own) {
            return Missing::End;
        }
        if layer == Layer::Plain {
            return Missing::Nothing;
        }
        if ends_in(known.layer(layer), 0) { Missing::Nothing } else { Missing::Fence }
    }

    /// Whether both are strong and each one's scope includes the other.
    fn is_morally_strong(&self, old: &Access, new: &Access) -> bool {
        let (Some(a), Some(b)) = (old.strong, new.strong) else { return false };
        let (from, to) = (self.topology.cta(old.warp), self.topology.cta(new.warp));
        let whole = old.element == new.element || old.does.is_of_barrier();
        let proxies =
            old.is_async_proxy == new.is_async_proxy || old.does.is_of_barrier() || updates(old, new);
        whole && proxies && self.topology.includes(a, from, to) && self.topology.includes(b, to, from)
    }

    /// Strong accesses in no order: what they read may differ from schedule to schedule.
    fn note_unordered(&mut self, old: &Access, new: &Access, start: u64, end: u64) {
        if old.does.is_of_barrier() || new.does.is_of_barrier() {
            return;
        }
        if let Who::Warp(warp) = old.who {
            // Relaxed operations may order them after all, though not by causality; so may the lanes of a group.
            let (first, second) = (old.lanes.within(start, end), new.lanes.within(start, end));
            if self.lanes_know(old, first, new, second) {
                // Updates of one place are in order whatever they say of others.
                let plain = |access: &Access| matches!(access.does, Does::Reads | Does::Writes);
                if plain(old) && plain(new) {
                    self.races.relaxed.insert((old.pc, new.pc));
                }
                return;
            }
            let together = warp == new.warp && old.time < new.time && first & second != 0;
            let mut classes = self.enabling.groups.of(new.warp, second);
            if together || classes.any(|(_, known)| known.knows(warp, first, old.time) != 0) {
                self.races.separable.insert((old.pc, new.pc));
                return;
            }
        }
        let same_result = match (old.does, new.does) {
            (Does::Updates(a, exact), Does::Updates(b, _)) => exact && a == b,
            (Does::Reads, _) | (_, Does::Reads) => true,
            _ => false,
        };
        self.races.unordered.insert((old.pc, new.pc, same_result));
        for (reader, writer) in [(old, new), (new, old)] {
            if reader.does == Does::Reads && self.races.looks.len() < MOST_LOOKS {
                self.races.looks.insert(Look {
                    pc: reader.pc,
                    warp: reader.warp,
                    time: reader.time,
                    region: self.region,
                    start,
                    writer: (writer.who, writer.time),
                });
            }
        }
    }

    /// Whether each lane of the second knows of all lanes of the first, which are of one warp.
    fn lanes_know(&self, old: &Access, first: Mask, new: &Access, second: Mask) -> bool {
        let all = self.enabling.lanes.of(new.warp, second).all(|(lanes, known)| {
            // A lane comes after itself.
            let own = if old.warp == new.warp && lanes.is_power_of_two() { lanes } else { 0 };
            (known.knows(old.warp, first, old.time) | own) & first == first
        });
        let alone = old.warp == new.warp && first == second && first.is_power_of_two();
        all || alone && old.time < new.time
    }
}

/// Whether both are updates, which memory makes one after the other whatever way they come.
fn updates(old: &Access, new: &Access) -> bool {
    matches!((old.does, new.does), (Does::Updates(..), Does::Updates(..)))
}
