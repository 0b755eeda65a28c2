//! Phase stability: the conditions under which the phases of a run are those of every schedule.
//!
//! Judged by the enabling order: what cannot happen before what. It is kept twice, for groups of lanes that
//! execute together and for lanes alone, to tell what holds only because lanes of a warp stay together.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::causality::Releases;
use super::clock::{Clock, Mark, Shared, Time};
use super::order::Order;
use crate::machine::code::Pc;
use crate::machine::column::Mask;
use crate::machine::cta::Site;
use crate::machine::event::Object;

/// A condition of stability.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Condition {
    /// An arrival could land in an earlier phase (S1).
    EarlyArrival,
    /// A wait could be asked before the phase that precedes its own is over (S2a).
    EarlyWait,
    /// A wait could be asked when the phase behind its own is over already (S2b).
    LappedWait,
    /// Transactions could be announced in an earlier phase (S3a).
    EarlyExpect,
    /// A phase could complete before its transactions are announced (S3a).
    LateExpect,
    /// Bytes could be booked on an earlier phase (S3b).
    EarlyBytes,
    /// A phase could complete before the arrival of copies is counted in (S3c).
    LateIncrement,
    /// An arrival that promises not to complete the phase could be the last (S3d).
    LastPromise,
    /// Two generations of a barrier of the CTA or the cluster could mix (S4).
    MixedGenerations,
}

/// An event of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Happened {
    /// The lanes and the instruction.
    pub by: Site,
    /// When.
    pub time: Time,
}

/// Two events that another schedule could swap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Doubt {
    /// Which condition fails.
    pub condition: Condition,
    /// Whether it holds as long as lanes stay together.
    pub only_lanes: bool,
    /// Whether it holds, but not by causality: it rests on operations without memory order.
    pub only_relaxed: bool,
    /// What came first in the run, and might be late.
    pub first: Happened,
    /// What came second, and might be early.
    pub second: Happened,
    /// The barrier; none for those of CTA and cluster.
    pub object: Option<Object>,
}

impl Doubt {
    /// Whether another is about the same condition of the same instructions.
    pub fn is_about_the_same(&self, other: &Doubt) -> bool {
        let what = |doubt: &Doubt| (doubt.condition, doubt.first.by.pc, doubt.second.by.pc);
        what(self) == what(other)
    }
}

/// Something that an event of the phase has to be ordered behind.
#[derive(Clone, Debug, Hash)]
struct Pending {
    what: Happened,
    /// Lanes that no event is ordered behind yet.
    lanes: Mask,
    /// Whether none is, lanes of one group taken together.
    group: bool,
}

impl Pending {
    fn new(what: Happened) -> Pending {
        Pending { what, lanes: what.by.lanes, group: true }
    }
}

/// Both enabling orders.
#[derive(Clone, Debug, Default)]
pub struct Enabling {
    /// Each lane for itself.
    pub lanes: Order<Shared>,
    /// Groups of lanes.
    pub groups: Order<Shared>,
}

impl Enabling {
    /// Lanes execute something together: what one of them knows, the group knows.
    pub fn step(&mut self, by: Site, time: Time) {
        if self.groups.of(by.warp, by.lanes).nth(1).is_some() {
            let known = self.groups.give(by.warp, by.lanes, time - 1);
            self.groups.set(by.warp, by.lanes, known);
        }
    }

    /// Lanes of a warp meet.
    pub fn meet(&mut self, by: Site, time: Time) {
        self.lanes.meet(by.warp, by.lanes, time);
        self.groups.meet(by.warp, by.lanes, time);
    }

    /// What lanes give to those who learn from them.
    pub fn give(&self, happened: Happened) -> Given {
        let Happened { by, time } = happened;
        Given {
            lanes: self.lanes.give(by.warp, by.lanes, time),
            groups: self.groups.give(by.warp, by.lanes, time),
        }
    }

    /// Lanes learn.
    pub fn learn(&mut self, by: Site, what: &Given) {
        self.lanes.learn(by.warp, by.lanes, &what.lanes);
        self.groups.learn(by.warp, by.lanes, &what.groups);
    }

    /// Lanes learn that something is complete.
    pub fn learn_mark(&mut self, by: Site, mark: Mark, number: i64) {
        self.lanes.change(by.warp, by.lanes, |_, known| known.raise_mark(mark, number));
        self.groups.change(by.warp, by.lanes, |_, known| known.raise_mark(mark, number));
    }
}

/// What is known in both orders.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Given {
    /// Lane by lane.
    pub lanes: Shared,
    /// Group by group.
    pub groups: Shared,
}

impl Given {
    /// Learns what another knows.
    pub fn join(&mut self, other: &Given) {
        self.lanes.join(&other.lanes);
        self.groups.join(&other.groups);
    }
}

/// Whoever does something: what it knows in each order.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Who, and when.
    pub what: Happened,
    /// Lane by lane; none: an event that lanes have caused before.
    pub orders: Result<&'a Enabling, &'a Given>,
}

impl Asking<'_> {
    /// Whether every lane, and whether the group, knows a number of a mark.
    fn knows_mark(&self, mark: Mark, number: i64) -> (bool, bool) {
        let enough = |known: &Clock| known.mark(mark).is_some_and(|known| known >= number);
        match self.orders {
            Ok(enabling) => {
                let by = self.what.by;
                let all = |order: &Order<Shared>| order.all_know(by.warp, by.lanes, |known| enough(known));
                (all(&enabling.lanes), all(&enabling.groups))
            }
            Err(given) => (enough(&given.lanes), enough(&given.groups)),
        }
    }

    /// The lanes of an event that every asking lane knows, and whether the group knows the event.
    fn all_know(&self, event: Happened) -> (Mask, bool) {
        self.knows_event(event, event.by.lanes, |common, known, _| common & known)
    }

    /// The lanes of an event that some asking lane knows, and whether the group knows the event.
    fn some_know(&self, event: Happened) -> (Mask, bool) {
        self.knows_event(event, 0, |common, known, own| common | known | own)
    }

    fn knows_event(
        &self,
        event: Happened,
        start: Mask,
        combine: impl Fn(Mask, Mask, Mask) -> Mask,
    ) -> (Mask, bool) {
        let Happened { by, time } = event;
        let asking = self.what.by;
        let own = asking.warp == by.warp && self.what.time >= time;
        let enabling = match self.orders {
            Ok(enabling) => enabling,
            Err(given) => {
                let lanes = given.lanes.knows(by.warp, by.lanes, time);
                return (lanes, given.groups.knows(by.warp, by.lanes, time) != 0);
            }
        };
        let mut common = start;
        for (lanes, known) in enabling.lanes.of(asking.warp, asking.lanes) {
            let known = known.knows(by.warp, by.lanes, time);
            // A lane comes after itself, which says something of all of them only where there is one.
            let own = if own { lanes & by.lanes } else { 0 };
            let known = if lanes.is_power_of_two() { known | own } else { known };
            common = combine(common, known, own);
        }
        let mut classes = enabling.groups.of(asking.warp, asking.lanes);
        let group = own && asking.lanes & by.lanes != 0
            || classes.any(|(_, known)| known.knows(by.warp, by.lanes, time) != 0);
        (common, group)
    }
}

/// What a phase of a barrier consists of.
#[derive(Clone, Debug, Default)]
struct Parts {
    /// Arrivals and announcements.
    events: SmallVec<[Happened; 4]>,
    /// Whether copies took part, which only a wait makes known.
    copies: bool,
}

impl Parts {
    fn add(&mut self, event: Happened) {
        // The last event of the same lanes stands for those before it.
        let same = |other: &&mut Happened| (other.by.warp, other.by.lanes) == (event.by.warp, event.by.lanes);
        match self.events.iter_mut().find(same) {
            Some(other) => *other = event,
            None => self.events.push(event),
        }
    }
}

/// A barrier object, as far as its phases go.
#[derive(Clone, Debug)]
pub struct Barrier {
    /// Who made it.
    pub init: Happened,
    /// What was given in its phases so far.
    given: Given,
    /// The same by causality.
    pub releases: Releases,
    /// What the completed phases gave.
    done: Given,
    /// The same by causality.
    pub released: Releases,
    last: Parts,
    now: Parts,
    /// Waits for the phase before the current one.
    waits: Vec<Pending>,
    /// Announcements that are no arrivals.
    expects: Vec<Pending>,
    /// Arrivals of copies that were counted in.
    increments: Vec<Pending>,
    /// Arrivals that promise not to complete the phase.
    promises: Vec<Pending>,
    /// Polls that were told that the current phase is not complete.
    polls: Vec<Pending>,
}

impl Barrier {
    fn new(init: Happened) -> Barrier {
        Barrier {
            init,
            given: Given::default(),
            releases: Releases::default(),
            done: Given::default(),
            released: Releases::default(),
            last: Parts::default(),
            now: Parts::default(),
            waits: Vec::new(),
            expects: Vec::new(),
            increments: Vec::new(),
            promises: Vec::new(),
            polls: Vec::new(),
        }
    }
}

/// Phases of all barriers.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    /// By lifetime.
    pub barriers: FxHashMap<u64, Barrier>,
    /// Which object is at a place: CTA and address.
    pub at: FxHashMap<(u32, u32), u64>,
    /// What failed, once for each condition and pair of instructions.
    pub doubts: Vec<Doubt>,
    known: FxHashSet<(Condition, bool, bool, Pc, Pc)>,
    /// Polls whose answer another schedule could change.
    pub unforced: FxHashSet<Pc>,
}

impl Phases {
    /// A barrier is made.
    pub fn init(&mut self, object: Object, by: Happened) {
        self.at.insert((object.cta, object.address), object.lifetime);
        self.barriers.insert(object.lifetime, Barrier::new(by));
    }

    /// Notes a doubt.
    pub fn doubt(&mut self, doubt: Doubt) {
        let key =
            (doubt.condition, doubt.only_lanes, doubt.only_relaxed, doubt.first.by.pc, doubt.second.by.pc);
        if self.known.insert(key) {
            self.doubts.push(doubt);
        }
    }

    /// Whether whoever acts knows that a phase is complete; else notes the doubt. `causal`: what each lane
    /// knows by causality.
    pub fn comes_behind(
        &mut self,
        condition: Condition,
        object: Object,
        phase: i64,
        asking: Asking,
        causal: &dyn Fn(Mark, i64) -> bool,
    ) -> bool {
        if phase < 0 {
            return true;
        }
        let mark = Mark::Phase(object.lifetime);
        let (mut lanes, mut group) = asking.knows_mark(mark, phase);
        let mut first = None;
        let by_mark = lanes;
        if !(lanes && group)
            && let Some(barrier) = self.barriers.get(&object.lifetime)
        {
            let known = barrier.parts_known(asking, phase, object.phase);
            (lanes, group) = (lanes || known.0, group || known.1);
            first = known.2;
        }
        let second = asking.what;
        let Some(barrier) = self.barriers.get(&object.lifetime) else { return group };
        let first = first.unwrap_or(barrier.init);
        let doubt = |only_lanes, only_relaxed| Doubt {
            condition,
            only_lanes,
            only_relaxed,
            first,
            second,
            object: Some(object),
        };
        if !group {
            self.doubt(doubt(false, false));
        } else if !lanes {
            self.doubt(doubt(true, false));
        } else if by_mark && !causal(mark, phase) {
            self.doubt(doubt(false, true));
        }
        group
    }

    /// An arrival in a phase: what must come before some arrival does now.
    pub fn arrive(&mut self, object: Object, asking: Asking, counted_in: Option<Pc>) {
        let Some(barrier) = self.barriers.get_mut(&object.lifetime) else { return };
        let satisfy = |pending: &mut Vec<Pending>, skip: Option<Pc>| {
            for one in pending.iter_mut() {
                if skip == Some(one.what.by.pc) {
                    continue;
                }
                let (lanes, group) = asking.some_know(one.what);
                one.lanes &= !lanes;
                one.group &= !group;
            }
        };
        satisfy(&mut barrier.waits, None);
        satisfy(&mut barrier.expects, None);
        satisfy(&mut barrier.increments, counted_in);
        satisfy(&mut barrier.promises, None);
        satisfy(&mut barrier.polls, None);
    }

    /// Something is part of the current phase, and gives what it knows.
    pub fn part(&mut self, object: Object, what: Happened, given: &Given) {
        if let Some(barrier) = self.barriers.get_mut(&object.lifetime) {
            barrier.now.add(what);
            barrier.given.join(given);
        }
    }

    /// Bytes of a copy are part of the current phase.
    pub fn bytes(&mut self, object: Object, given: &Given) {
        if let Some(barrier) = self.barriers.get_mut(&object.lifetime) {
            barrier.now.copies = true;
            barrier.given.join(given);
        }
    }

    /// An announcement that is no arrival.
    pub fn expect(&mut self, object: Object, what: Happened) {
        self.pending(object, |barrier| barrier.expects.push(Pending::new(what)));
    }

    /// The arrival of copies is counted in.
    pub fn increment(&mut self, object: Object, what: Happened) {
        self.pending(object, |barrier| barrier.increments.push(Pending::new(what)));
    }

    /// An arrival that promises not to be the last.
    pub fn promise(&mut self, object: Object, what: Happened) {
        self.pending(object, |barrier| barrier.promises.push(Pending::new(what)));
    }

    /// A poll that was told that the phase is not complete.
    pub fn poll(&mut self, object: Object, what: Happened) {
        self.pending(object, |barrier| {
            barrier.polls.retain(|other| other.what.by != what.by);
            barrier.polls.push(Pending::new(what));
        });
    }

    fn pending(&mut self, object: Object, add: impl FnOnce(&mut Barrier)) {
        if let Some(barrier) = self.barriers.get_mut(&object.lifetime) {
            add(barrier);
        }
    }

    /// A wait that passed; what it teaches.
    pub fn wait(&mut self, object: Object, what: Happened) -> Given {
        let Some(barrier) = self.barriers.get_mut(&object.lifetime) else { return Given::default() };
        // The last wait of the same lanes stands for those before it.
        barrier.waits.retain(|other| other.what.by != what.by);
        barrier.waits.push(Pending::new(what));
        barrier.done.clone()
    }

    /// A phase is complete; `by` is who completed it, as far as that is known.
    pub fn complete(&mut self, object: Object, by: Option<Happened>) {
        let Some(barrier) = self.barriers.get_mut(&object.lifetime) else { return };
        let all = [
            (Condition::LappedWait, std::mem::take(&mut barrier.waits)),
            (Condition::LateExpect, std::mem::take(&mut barrier.expects)),
            (Condition::LateIncrement, std::mem::take(&mut barrier.increments)),
            (Condition::LastPromise, std::mem::take(&mut barrier.promises)),
        ];
        let polls = std::mem::take(&mut barrier.polls);
        let last = barrier.now.events.last().copied();
        barrier.last = std::mem::take(&mut barrier.now);
        barrier.done = barrier.given.clone();
        let Some(second) = by.or(last) else { return };
        for (condition, pending) in all {
            for one in pending.iter().filter(|one| one.group || one.lanes != 0) {
                let only_lanes = !one.group;
                let doubt = Doubt {
                    condition,
                    only_lanes,
                    only_relaxed: false,
                    first: one.what,
                    second,
                    object: Some(object),
                };
                self.doubt(doubt);
            }
        }
        let open = polls.iter().filter(|poll| poll.group).map(|poll| poll.what.by.pc);
        self.unforced.extend(open);
    }

    /// At the end of the run: polls that were never decided.
    pub fn end(&mut self) {
        let open = self.barriers.values().flat_map(|barrier| &barrier.polls);
        self.unforced.extend(open.map(|poll| poll.what.by.pc));
    }

    /// Adds what barriers release to a hash.
    pub fn hash_into(&self, state: &mut impl std::hash::Hasher) {
        use std::hash::Hash;
        let mut all: Vec<(&u64, &Barrier)> = self.barriers.iter().collect();
        all.sort_unstable_by_key(|(lifetime, _)| **lifetime);
        for (lifetime, barrier) in all {
            (lifetime, &barrier.releases, &barrier.released).hash(state);
        }
    }
}

impl Barrier {
    /// Whether all parts of a phase are known, to every lane and to the group; and one that is not.
    fn parts_known(&self, asking: Asking, phase: i64, current: u64) -> (bool, bool, Option<Happened>) {
        // Only the parts of the last phase are kept.
        if phase + 1 != current as i64 {
            return (false, false, self.last.events.first().copied());
        }
        let (mut lanes, mut group) = (!self.last.copies, !self.last.copies);
        let mut first = None;
        for event in &self.last.events {
            let (known, by_group) = asking.all_know(*event);
            lanes &= known == event.by.lanes;
            group &= by_group;
            if !by_group || first.is_none() && known != event.by.lanes {
                first = Some(*event);
            }
        }
        (lanes, group, first.or(self.last.events.first().copied()))
    }
}
