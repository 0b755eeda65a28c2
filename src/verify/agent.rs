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

/// How the end of something becomes known.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// Lanes of the copy's warp that have waited for it, and when.
    waited: SmallVec<[(Mask, Time); 1]>,
    /// Phases that count it, for these lanes' parts.
    phases: SmallVec<[(Mask, u64, i64); 1]>,
}

impl Ends {
    /// Whether those who know `clock` know that the part of a lane has ended. `own` are the lanes of the
    /// copy's warp that ask: each knows what it has waited for itself.
    fn known(&self, clock: &Clock, warp: u32, lane: usize, own: Mask) -> bool {
        let bit = 1 << lane;
        let waited = self.waited.iter().filter(|(mask, _)| mask & bit != 0);
        waited.clone().any(|&(_, time)| own & !bit == 0 && own != 0 || clock.knows(warp, bit, time) != 0)
            || self.phases.iter().any(|&(mask, barrier, phase)| {
                mask & bit != 0 && clock.mark(Mark::Phase(barrier)).is_some_and(|known| known >= phase)
            })
    }
}

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
    /// Which groups it belongs to.
    pub family: Option<Family>,
    /// The barrier that counts its bytes: CTA and address.
    pub barrier: Option<(u32, u32)>,
    /// That its sources have been read.
    pub read: Ends,
    /// That its destination has been written.
    pub written: Ends,
    /// The group of each lane's part.
    groups: Option<Box<[u32; LANES]>>,
    /// The last wait for groups that left it out.
    left_out: Option<(Pc, u32)>,
    /// Lanes whose parts an arrival waits for.
    tracked: Mask,
}

impl Agent {
    /// What is known of a lane's part by now.
    pub fn stage(&self, writes: bool, lane: usize) -> Stage {
        let has = |waited: &[(Mask, Time)]| waited.iter().any(|(mask, _)| mask >> lane & 1 == 1);
        let ends = if writes { &self.written } else { &self.read };
        let phase = ends.phases.iter().find(|(mask, ..)| mask >> lane & 1 == 1);
        let is_uncommitted = self.groups.as_ref().is_some_and(|groups| groups[lane] == u32::MAX);
        match (phase, self.left_out) {
            _ if has(&ends.waited) => Stage::Waited,
            _ if has(&self.read.waited) => Stage::OnlyRead,
            (Some(&(.., phase)), _) => Stage::Counted(phase),
            _ if self.tracked >> lane & 1 == 1 => Stage::Tracked,
            _ if is_uncommitted => Stage::Uncommitted,
            (None, Some((pc, but))) => Stage::LeftOut(pc, but),
            (None, None) => Stage::Open,
        }
    }

    /// Whether its reads, or its writes, are known to have ended.
    pub fn is_known(&self, writes: bool, clock: &Clock, lane: usize, own: Mask) -> bool {
        let ends = if writes { &self.written } else { &self.read };
        ends.known(clock, self.by.warp, lane, own)
    }

    /// A phase that counts it.
    pub fn phase(&self) -> Option<i64> {
        self.written.phases.first().map(|&(_, _, phase)| phase)
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
        let groups = family.map(|_| Box::new([u32::MAX; LANES]));
        let (read, written) = (Ends::default(), Ends::default());
        let (left_out, tracked) = (None, 0);
        self.all
            .insert(copy, Agent { by, time, family, barrier: to, read, written, groups, left_out, tracked });
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
            agent.read.phases.push((Mask::MAX, barrier, phase));
            agent.written.phases.push((Mask::MAX, barrier, phase));
        }
    }

    /// An arrival waits for the small copies of lanes.
    pub fn track(&mut self, by: Site) {
        let Some(groups) = self.groups.get(&(by.warp, Family::Small)) else { return };
        for id in &groups.uncounted {
            if let Some(agent) = self.all.get_mut(id) {
                agent.tracked |= by.lanes & agent.by.lanes;
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
                agent.read.phases.push((mask, barrier, phase));
                agent.written.phases.push((mask, barrier, phase));
            }
            let counted = agent.written.phases.iter().fold(0, |all, (mask, ..)| all | mask);
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
            let Some(agent) = self.all.get_mut(id) else { continue };
            let Some(of) = &mut agent.groups else { continue };
            for lane in lanes(by.lanes & agent.by.lanes) {
                if of[lane] == u32::MAX {
                    of[lane] = numbers[lane];
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
            let Some(agent) = all.get_mut(id) else { return false };
            let Some(of) = &agent.groups else { return false };
            let covered = |lane: usize| match but {
                None => true,
                Some(but) => of[lane] != u32::MAX && of[lane] < closed[lane].saturating_sub(but),
            };
            let mask = lanes(by.lanes & agent.by.lanes).filter(|&lane| covered(lane));
            let mask = mask.fold(0, |mask, lane| mask | 1 << lane);
            if let Some(but) = but.filter(|_| by.lanes & agent.by.lanes & !mask != 0) {
                agent.left_out = Some((by.pc, but));
            }
            note(&mut agent.read.waited, mask, time);
            if !read {
                note(&mut agent.written.waited, mask, time);
            }
            let done = agent.written.waited.iter().fold(0, |all, (mask, _)| all | mask);
            agent.by.lanes & !done != 0
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
            let open = agent.family.and_then(|family| groups.get(&(agent.by.warp, family)));
            is_named(id) || open.is_some_and(|groups| groups.open.contains(&id))
        });
        let all = &self.all;
        groups.values_mut().for_each(|groups| groups.uncounted.retain(|id| all.contains_key(id)));
        self.limit = 2 * self.all.len();
    }
}

/// Lanes have waited; the first time counts.
fn note(waited: &mut SmallVec<[(Mask, Time); 1]>, mut mask: Mask, time: Time) {
    mask &= !waited.iter().fold(0, |all, (mask, _)| all | mask);
    if mask != 0 {
        waited.push((mask, time));
    }
}
