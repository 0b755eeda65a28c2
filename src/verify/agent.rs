//! Copies as agents of their own: until somebody has seen them complete they are ordered with nothing.
//!
//! Their ends become known in two ways: lanes wait for their groups, which makes the copy like an access of
//! the lane at that time, or a barrier counts their bytes in a phase, which those know who have waited for it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::clock::{Clock, Mark, Time};
use crate::machine::code::{Family, Pc};
use crate::machine::column::{LANES, Mask, lanes};
use crate::machine::cta::Site;

/// Lanes that have waited, and when.
type Waits = SmallVec<[(Mask, Time); 1]>;

/// What of a copy is known to lanes that do not know its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Nothing.
    Open,
    /// It is in no group.
    Uncommitted,
    /// A wait for all groups but the newest left it out: the instruction, and how many it leaves out.
    LeftOut(Pc, u32),
    /// Only that its sources have been read.
    OnlyRead,
    /// Its own lane has waited for it, but others ask.
    Waited,
    /// An arrival waits for it.
    Tracked,
    /// A phase of a barrier counts it.
    Counted(i64),
}

/// A copy.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Who started it.
    pub by: Site,
    /// When.
    pub time: Time,
    /// The barrier that counts its bytes: CTA and address.
    pub barrier: Option<(u32, u32)>,
    /// Phases that count it, for these lanes' parts.
    phases: SmallVec<[(Mask, u64, i64); 1]>,
    /// What groups have to do with it.
    grouped: Option<Box<Grouped>>,
}

/// A copy that groups track.
#[derive(Clone, Debug)]
struct Grouped {
    family: Family,
    /// The group of each lane's part.
    groups: [u32; LANES],
    /// Lanes that know that its sources have been read.
    read: Waits,
    /// Lanes that know that its destination has been written.
    written: Waits,
    /// The last wait for groups that left it out.
    left_out: Option<(Pc, u32)>,
    /// Lanes whose parts an arrival waits for.
    tracked: Mask,
}

impl Grouped {
    fn waits(&self, writes: bool) -> &Waits {
        if writes { &self.written } else { &self.read }
    }
}

impl Agent {
    /// What is known of a lane's part by now.
    pub fn stage(&self, writes: bool, lane: usize) -> Stage {
        let has = |waits: &Waits| waits.iter().any(|(mask, _)| mask >> lane & 1 == 1);
        let phase = self.phases.iter().find(|(mask, ..)| mask >> lane & 1 == 1).map(|&(.., phase)| phase);
        let counted = phase.map_or(Stage::Open, Stage::Counted);
        let Some(grouped) = &self.grouped else { return counted };
        match (phase, grouped.left_out) {
            _ if has(grouped.waits(writes)) => Stage::Waited,
            _ if has(&grouped.read) => Stage::OnlyRead,
            (Some(_), _) => counted,
            _ if grouped.tracked >> lane & 1 == 1 => Stage::Tracked,
            _ if grouped.groups[lane] == u32::MAX => Stage::Uncommitted,
            (None, Some((pc, but))) => Stage::LeftOut(pc, but),
            (None, None) => Stage::Open,
        }
    }

    /// Whether those who know `clock` know that the reads, or the writes, of a lane's part have ended. `own` are
    /// the lanes of the copy's warp that ask: each knows what it has waited for itself.
    pub fn is_known(&self, writes: bool, clock: &Clock, lane: usize, own: Mask) -> bool {
        let bit = 1 << lane;
        let is_alone = own & !bit == 0 && own != 0;
        let waits = self.grouped.iter().flat_map(|grouped| grouped.waits(writes));
        let mut waits = waits.filter(|(mask, _)| mask & bit != 0);
        waits.any(|&(_, time)| is_alone || clock.knows(self.by.warp, bit, time) != 0)
            || self.phases.iter().any(|&(mask, barrier, phase)| {
                mask & bit != 0 && clock.mark(Mark::Phase(barrier)).is_some_and(|known| known >= phase)
            })
    }

    /// A phase that counts it.
    pub fn phase(&self) -> Option<i64> {
        self.phases.first().map(|&(_, _, phase)| phase)
    }

    /// Which groups it belongs to.
    pub fn family(&self) -> Option<Family> {
        self.grouped.as_ref().map(|grouped| grouped.family)
    }
}

/// The groups of a warp's copies of one family.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// How many each lane has closed.
    closed: Vec<u32>,
    /// Copies that some lane has not waited for.
    open: Vec<u32>,
    /// Copies that no phase counts for some lane.
    uncounted: Vec<u32>,
}

impl Groups {
    fn closed(&mut self) -> &mut Vec<u32> {
        if self.closed.is_empty() {
            self.closed = vec![0; LANES];
        }
        &mut self.closed
    }
}

/// All copies that matter.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    all: FxHashMap<u32, Agent>,
    groups: FxHashMap<(u32, Family), Groups>,
    /// More than so many are looked through for those that matter no more.
    limit: usize,
}

impl Agents {
    /// Adds a copy.
    pub fn start(&mut self, copy: u32, by: Site, time: Time, family: Option<Family>, to: Option<(u32, u32)>) {
        let grouped = family.map(|family| {
            let (groups, waits) = ([u32::MAX; LANES], Waits::new());
            let (read, written) = (waits.clone(), waits);
            Box::new(Grouped { family, groups, read, written, left_out: None, tracked: 0 })
        });
        self.all.insert(copy, Agent { by, time, barrier: to, phases: SmallVec::new(), grouped });
        if let Some(family) = family {
            let groups = self.groups.entry((by.warp, family)).or_default();
            groups.open.push(copy);
            groups.uncounted.push(copy);
        }
    }

    /// A copy.
    pub fn get(&self, copy: u32) -> Option<&Agent> {
        self.all.get(&copy)
    }

    /// A phase of a barrier counts a copy.
    pub fn delivered(&mut self, copy: u32, barrier: u64, phase: i64) {
        if let Some(agent) = self.all.get_mut(&copy) {
            agent.phases.push((Mask::MAX, barrier, phase));
        }
    }

    /// An arrival waits for the small copies of lanes.
    pub fn track(&mut self, by: Site) {
        let Some(groups) = self.groups.get(&(by.warp, Family::Small)) else { return };
        for id in &groups.uncounted {
            if let Some(Agent { by: own, grouped: Some(grouped), .. }) = self.all.get_mut(id) {
                grouped.tracked |= by.lanes & own.lanes;
            }
        }
    }

    /// A phase of a barrier counts the small copies of lanes up to a number.
    pub fn triggered(&mut self, by: Site, last: u32, barrier: u64, phase: i64) {
        let Some(groups) = self.groups.get_mut(&(by.warp, Family::Small)) else { return };
        let all = &mut self.all;
        groups.uncounted.retain(|&id| {
            if id > last {
                return true;
            }
            let Some(agent) = all.get_mut(&id) else { return false };
            let mask = agent.by.lanes & by.lanes;
            if mask != 0 {
                agent.phases.push((mask, barrier, phase));
            }
            let counted = agent.phases.iter().fold(0, |all, (mask, ..)| all | mask);
            agent.by.lanes & !counted != 0
        });
    }

    /// Lanes close a group.
    pub fn commit(&mut self, by: Site, family: Family) {
        let groups = self.groups.entry((by.warp, family)).or_default();
        let mut numbers = [0; LANES];
        for lane in lanes(by.lanes) {
            let closed = &mut groups.closed()[lane];
            numbers[lane] = *closed;
            *closed += 1;
        }
        for id in &groups.open {
            let Some(Agent { by: own, grouped: Some(grouped), .. }) = self.all.get_mut(id) else { continue };
            for lane in lanes(by.lanes & own.lanes) {
                if grouped.groups[lane] == u32::MAX {
                    grouped.groups[lane] = numbers[lane];
                }
            }
        }
    }

    /// Lanes have waited for their groups, all but the newest `but` of each; with none, for all copies.
    pub fn waited(&mut self, by: Site, time: Time, family: Family, but: Option<u32>, read: bool) {
        let Some(groups) = self.groups.get_mut(&(by.warp, family)) else { return };
        let closed = groups.closed().clone();
        let all = &mut self.all;
        groups.open.retain(|id| {
            let Some(Agent { by: own, grouped: Some(grouped), .. }) = all.get_mut(id) else { return false };
            let covered = |lane: usize| match but {
                None => true,
                Some(but) => {
                    let group = grouped.groups[lane];
                    group != u32::MAX && group < closed[lane].saturating_sub(but)
                }
            };
            let mask = lanes(by.lanes & own.lanes).filter(|&lane| covered(lane));
            let mask = mask.fold(0, |mask, lane| mask | 1 << lane);
            if let Some(but) = but.filter(|_| by.lanes & own.lanes & !mask != 0) {
                grouped.left_out = Some((by.pc, but));
            }
            note(&mut grouped.read, mask, time);
            if !read {
                note(&mut grouped.written, mask, time);
            }
            let done = grouped.written.iter().fold(0, |all, (mask, _)| all | mask);
            own.lanes & !done != 0
        });
    }

    /// Whether it is time to forget copies.
    pub fn are_many(&self) -> bool {
        self.all.len() > self.limit.max(1 << 12)
    }

    /// Forgets those that nobody names any more.
    pub fn keep(&mut self, is_named: impl Fn(u32) -> bool) {
        let groups = &mut self.groups;
        self.all.retain(|&id, agent| {
            let open = agent.family().and_then(|family| groups.get(&(agent.by.warp, family)));
            is_named(id) || open.is_some_and(|groups| groups.open.contains(&id))
        });
        let all = &self.all;
        groups.values_mut().for_each(|groups| groups.uncounted.retain(|id| all.contains_key(id)));
        self.limit = 2 * self.all.len();
    }
}

/// Lanes have waited; the first time counts.
fn note(waited: &mut Waits, mut mask: Mask, time: Time) {
    mask &= !waited.iter().fold(0, |all, (mask, _)| all | mask);
    if mask != 0 {
        waited.push((mask, time));
    }
}
