//! What was done with every byte: the accesses that later ones may race with.
//!
//! Bytes are kept in segments with the same history. An access is one entry for a whole run of bytes: it
//! says how its lanes lie on them, so that a converged warp that walks through a buffer costs one entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::clock::Time;
use crate::machine::Place;
use crate::machine::code::{Pc, UpdateOp};
use crate::machine::column::{LANES, Mask, lanes};
use crate::machine::event::Touch;
use crate::machine::order::Scope;

/// Who accesses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Who {
    /// Lanes of a warp, by themselves.
    Warp(u32),
    /// A copy.
    Copy(u32),
}

/// What it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Does {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Reads and writes at once.
    Updates(UpdateOp, bool),
    /// Makes a barrier.
    Inits,
    /// Ends a barrier.
    Invalidates,
    /// Uses a barrier.
    Uses,
    /// Reads a tensor map.
    ReadsMap,
}

impl Does {
    /// Whether it changes something.
    pub fn writes(self) -> bool {
        match self {
            Does::Reads | Does::ReadsMap => false,
            Does::Writes | Does::Updates(..) | Does::Inits | Does::Invalidates | Does::Uses => true,
        }
    }

    /// Whether it is an operation on a barrier object.
    pub fn is_of_barrier(self) -> bool {
        matches!(self, Does::Inits | Does::Invalidates | Does::Uses)
    }
}

/// How lanes lie on bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Lanes {
    /// Each of them has every byte.
    All(Mask),
    /// Every `size` bytes from `origin` on are one's, from lane `first` on.
    Row {
        /// Where they start.
        origin: u32,
        /// Bytes of a lane.
        size: u32,
        /// The first lane.
        first: u8,
    },
}

impl Lanes {
    /// The lanes of a byte.
    pub fn at(self, at: u64) -> Mask {
        match self {
            Lanes::All(mask) => mask,
            Lanes::Row { origin, size, first } => {
                1 << ((u64::from(first) + (at - u64::from(origin)) / u64::from(size)) as usize % LANES)
            }
        }
    }

    /// The lanes of the bytes from `start` to `end`.
    pub fn within(self, start: u64, end: u64) -> Mask {
        match self {
            Lanes::All(mask) => mask,
            Lanes::Row { origin, size, first } => {
                let lane = |at: u64| u64::from(first) + (at - u64::from(origin)) / u64::from(size);
                let (low, high) = (lane(start), lane(end - 1).min(LANES as u64 - 1));
                (((1u64 << (high - low.min(high) + 1)) - 1) << low) as Mask
            }
        }
    }

    /// Where the lanes change next behind a byte.
    pub fn next(self, at: u64) -> u64 {
        match self {
            Lanes::All(_) => u64::MAX,
            Lanes::Row { origin, size, .. } => {
                let (origin, size) = (u64::from(origin), u64::from(size));
                origin + ((at - origin) / size + 1) * size
            }
        }
    }
}

/// One access to a run of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Access {
    /// By whom.
    pub who: Who,
    /// The warp that did it, or that started the copy.
    pub warp: u32,
    /// When the warp did.
    pub time: Time,
    /// The instruction.
    pub pc: Pc,
    /// How its lanes lie on the bytes.
    pub lanes: Lanes,
    /// What it does.
    pub does: Does,
    /// Its scope, if it is strong.
    pub strong: Option<Scope>,
    /// Whether it goes the asynchronous way.
    pub is_async_proxy: bool,
    /// Bytes of an element of a strong access: others must overlap whole.
    pub element: u8,
}

/// Memory of one kind: a piece of global memory, or a CTA's shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Region {
    /// Global memory.
    Global(u32),
    /// Shared memory of a CTA.
    Shared(u32),
}

/// The region and offset of a place that others can see.
pub fn region(place: Place) -> Option<(Region, u64)> {
    match place {
        Place::Global(piece, offset) => Some((Region::Global(piece as u32), offset as u64)),
        Place::Shared(cta, offset) => Some((Region::Shared(cta), offset as u64)),
        Place::Local(_) | Place::Param(_) | Place::Const(_) => None,
    }
}

/// Bytes with the same history: one access at least.
#[derive(Clone, Debug)]
struct Segment {
    end: u32,
    /// Whether the first access is a plain write that all before it were ordered before.
    has_write: bool,
    /// Whether there are others that write.
    others_write: bool,
    first: Access,
    #[allow(clippy::box_collection, reason = "most have none, and segments are many")]
    more: Option<Box<Vec<Access>>>,
}

/// Bytes of one region, by where they start. Regions are smaller than 4 GiB.
type Segments = BTreeMap<u32, Box<Segment>>;

/// The history of memory.
#[derive(Clone, Debug, Default)]
pub struct Shadow {
    regions: BTreeMap<Region, Arc<Segments>>,
}

/// How two accesses stand to each other.
pub trait Judge {
    /// Whether `new` is ordered behind `old` on the bytes from `start` to `end`; else it is a conflict, which
    /// is noted where it matters.
    fn is_behind(&mut self, old: &Access, new: &Access, start: u64, end: u64) -> bool;
}

impl Shadow {
    /// Notes an access to the bytes from `start` to `end` of a region, and holds it against what was done with
    /// them before.
    pub fn access(&mut self, region: Region, start: u64, end: u64, new: &Access, judge: &mut dyn Judge) {
        if start >= end {
            return;
        }
        let segments = Arc::make_mut(self.regions.entry(region).or_default());
        let (start, end) = (start as u32, end as u32);
        split(segments, start);
        split(segments, end);
        let found: SmallVec<[u32; 8]> = segments.range(start..end).map(|(&at, _)| at).collect();
        let mut next = start;
        let mut all_alike = true;
        for &at in &found {
            if at > next {
                insert(segments, next, at, new);
            }
            let Some(segment) = segments.get_mut(&at) else { continue };
            next = segment.end;
            all_alike &= segment.update(at, new, judge);
        }
        if next < end {
            insert(segments, next, end, new);
        }
        if all_alike && found.len() > 1 && new.does.writes() {
            for at in segments.range(start..end).map(|(&at, _)| at).collect::<SmallVec<[u32; 8]>>() {
                segments.remove(&at);
            }
            insert(segments, start, end, new);
        }
    }

    /// Forgets a region.
    pub fn forget(&mut self, region: Region) {
        self.regions.remove(&region);
    }

    /// Those who wrote last to the bytes from `start` to `end`, and all that came since.
    pub fn writers(&self, region: Region, start: u64, end: u64) -> SmallVec<[Access; 4]> {
        let mut found: SmallVec<[Access; 4]> = SmallVec::new();
        let Some(segments) = self.regions.get(&region) else { return found };
        let (start, end) = (start as u32, end as u32);
        let first = segments.range(..=start).next_back().map_or(start, |(&at, _)| at);
        for segment in segments.range(first..end).map(|(_, segment)| segment) {
            if segment.end > start {
                found.extend(segment.accesses().filter(|access| access.does.writes()).copied());
            }
        }
        found
    }

    /// All accesses that are kept.
    pub fn all(&self) -> impl Iterator<Item = &Access> {
        let segments = self.regions.values().flat_map(|segments| segments.values());
        segments.flat_map(|segment| segment.accesses())
    }
}

fn insert(segments: &mut Segments, start: u32, end: u32, new: &Access) {
    let has_write = new.does.writes() && new.strong.is_none();
    let others_write = new.does.writes() && !has_write;
    segments.insert(start, Box::new(Segment { end, has_write, others_write, first: *new, more: None }));
}

/// Makes `at` the start of a segment, if it is inside of one.
fn split(segments: &mut Segments, at: u32) {
    let Some((&start, segment)) = segments.range_mut(..at).next_back() else { return };
    if segment.end <= at || start == at {
        return;
    }
    let rest = segment.clone();
    segment.end = at;
    segments.insert(at, rest);
}

/// Of so many reads it is seen whether a later one makes them superfluous.
const MOST_LOOKED_AT: usize = 8;

impl Segment {
    fn accesses(&self) -> impl Iterator<Item = &Access> {
        std::iter::once(&self.first).chain(self.more.iter().flat_map(|more| more.iter()))
    }

    /// Whether the same look was there before; then it only has to be held against what came since.
    fn looks_again(&mut self, start: u32, new: &Access, judge: &mut dyn Judge) -> bool {
        if new.does != Does::Reads || new.strong.is_none() {
            return false;
        }
        let (start, end) = (u64::from(start), u64::from(self.end));
        let Some(more) = &mut self.more else { return self.first == *new };
        let Some(at) = more.iter().rposition(|old| old == new) else { return false };
        for later in &more[at + 1..] {
            if later.does.writes() {
                judge.is_behind(later, new, start, end);
            }
        }
        more[at..].rotate_left(1);
        true
    }

    /// Adds an access. True: nothing else is left.
    fn update(&mut self, start: u32, new: &Access, judge: &mut dyn Judge) -> bool {
        if self.looks_again(start, new, judge) {
            return false;
        }
        let (start, end) = (u64::from(start), u64::from(self.end));
        let mut behind = |old: &Access| {
            // Each lane comes back to the same bytes: whoever is in no order with the first is in none with the
            // second.
            let conflict = old.does.writes() || new.does.writes();
            let comes_back = comes_back_as(old, new) && (!conflict || old.pc == new.pc);
            // The judge notes a conflict: it is asked wherever there can be one.
            let is_behind = (conflict || !comes_back) && judge.is_behind(old, new, start, end);
            is_behind || comes_back
        };
        let over_first = behind(&self.first);
        let only_reads = !self.others_write && !new.does.writes();
        let mut left = 0;
        if let Some(more) = &mut self.more {
            let skipped = if only_reads { more.len().saturating_sub(MOST_LOOKED_AT) } else { 0 };
            let mut index = 0;
            more.retain(|old| {
                index += 1;
                index <= skipped || !(behind(old) && covers(new, old))
            });
            left = more.len();
        }
        let first_goes =
            over_first && if self.has_write { new.does.writes() } else { covers(new, &self.first) };
        if new.does.writes() && new.strong.is_none() && first_goes && left == 0 {
            (self.first, self.has_write, self.others_write) = (*new, true, false);
            return true;
        }
        self.others_write |= new.does.writes();
        if first_goes && !self.has_write {
            self.first = *new;
        } else {
            self.more.get_or_insert_default().push(*new);
        }
        false
    }
}

/// Whether whoever conflicts with `old` conflicts with `new`, which is ordered behind it.
fn covers(new: &Access, old: &Access) -> bool {
    let same_way = new.is_async_proxy == old.is_async_proxy;
    // The narrower a scope, the more there is that is not strong towards it.
    let demands_as_much = new.strong.is_none() || new.strong <= old.strong && new.element == old.element;
    if new.does.writes() {
        new.strong.is_none() || same_way && old.strong.is_some() && demands_as_much
    } else {
        !old.does.writes() && same_way && new.does == old.does && demands_as_much
    }
}

/// A later access of the same lanes.
fn comes_back_as(old: &Access, new: &Access) -> bool {
    old.who == new.who && old.lanes == new.lanes
}

/// Runs of bytes of one region: where they start and end, and how lanes lie on them.
pub type Runs = SmallVec<[(Region, u64, u64, Lanes); 2]>;

/// The runs of bytes that one instruction writes. Lanes that write the same value to the same bytes do so
/// together.
pub fn written(touches: &[Touch]) -> Runs {
    let runs = runs(touches);
    let meet = |(i, a): (usize, &(Region, u64, u64, Lanes))| {
        runs[i + 1..].iter().any(|b| a.0 == b.0 && a.1 < b.2 && b.1 < a.2)
    };
    if !runs.iter().enumerate().any(meet) {
        return runs;
    }
    let mut spots: SmallVec<[(&Touch, Mask); 8]> = SmallVec::new();
    for touch in touches {
        let same = |spot: &&mut (&Touch, Mask)| {
            (spot.0.place, spot.0.size, spot.0.value) == (touch.place, touch.size, touch.value)
        };
        match spots.iter_mut().find(same) {
            Some(spot) => spot.1 |= 1 << touch.lane,
            None => spots.push((touch, 1 << touch.lane)),
        }
    }
    let run = |&(touch, mask): &(&Touch, Mask)| {
        let (place, start) = region(touch.place)?;
        Some((place, start, start + u64::from(touch.size), Lanes::All(mask)))
    };
    spots.iter().filter_map(run).collect()
}

/// The runs of bytes of one instruction. Lanes that write different values to the same bytes make different runs.
pub fn runs(touches: &[Touch]) -> Runs {
    let mut runs = Runs::new();
    let mut last: Option<&Touch> = None;
    for touch in touches {
        let Some((place, start)) = region(touch.place) else { continue };
        let end = start + u64::from(touch.size);
        if let (Some(before), Some((to, first, until, of))) = (last, runs.last_mut())
            && *to == place
        {
            let single = of.within(*first, *until).count_ones() == 1;
            match *of {
                Lanes::All(mask) if (*first, *until) == (start, end) && touch.value == before.value => {
                    *of = Lanes::All(mask | 1 << touch.lane);
                    last = Some(touch);
                    continue;
                }
                Lanes::Row { origin, size, first: lane } if *until == start && size == touch.size => {
                    let next = u64::from(lane) + (start - u64::from(origin)) / u64::from(size);
                    if next == u64::from(touch.lane) {
                        *until = end;
                        last = Some(touch);
                        continue;
                    }
                }
                Lanes::All(_) if single && *until == start && before.size == touch.size => {
                    if before.lane + 1 == touch.lane {
                        *of = Lanes::Row { origin: *first as u32, size: touch.size, first: before.lane };
                        *until = end;
                        last = Some(touch);
                        continue;
                    }
                    if before.lane == touch.lane {
                        *until = end;
                        last = Some(touch);
                        continue;
                    }
                }
                _ => {}
            }
        }
        runs.push((place, start, end, Lanes::All(1 << touch.lane)));
        last = Some(touch);
    }
    runs
}

/// The first of some lanes.
pub fn first_lane(mask: Mask) -> usize {
    lanes(mask).next().unwrap_or(0)
}
