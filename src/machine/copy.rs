//! The copy engine: asynchronous copies under way, and what happens when their parts land.
//!
//! A copy is a set of parts of at most 16 bytes, which land in any order and at any time. Copies that groups
//! track have two steps for each part, because their sources can be reused earlier: it is read, then
//! written.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::code::{Family, NONE, Update};
use super::column::{LANES, Mask, lanes};
use super::cta::Site;
use super::exec::Place;
use super::memory::Chunk;
use super::tensor::Element;

/// Copies under way.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// In the order in which they started.
    pub list: VecDeque<Copy>,
    /// Arrivals that wait for copies.
    pub tracks: Vec<Track>,
    next: u32,
    /// Parts of all of them.
    parts: usize,
    /// The numbers of those that each warp has under way, in their order.
    by_warp: FxHashMap<u32, VecDeque<u32>>,
    /// The numbers of those of each warp and family that have lanes in no group.
    uncommitted: FxHashMap<(u32, Family), Vec<u32>>,
}

/// A copy.
#[derive(Clone, Debug)]
pub struct Copy {
    /// Its number: later copies have larger ones.
    pub id: u32,
    /// Who started it.
    pub site: Site,
    /// What has not landed.
    pub parts: Vec<Part>,
    /// What happens when all of it has.
    pub signal: Option<Signal>,
    /// Which groups it belongs to, if groups track it.
    pub family: Option<Family>,
    /// The group of each lane's part; [`NONE`] while it is in none.
    pub groups: Box<[u32; LANES]>,
    /// How elements are combined with what is there.
    pub update: Option<Update>,
    /// The type of tensor elements, which may change on the way.
    pub element: Option<Element>,
    /// The tensor map that tells where its bytes are.
    pub map: Option<Place>,
}

/// Up to 16 bytes of a copy.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Part {
    /// The lane that it belongs to.
    pub lane: u8,
    /// How many bytes are written.
    pub size: u8,
    /// The first of them that comes from the source, and how many do.
    pub at: u8,
    /// See [`Part::at`].
    pub len: u8,
    /// Whether the others are undefined rather than zeros.
    pub rest_undefined: bool,
    /// The bytes that are written at all, one bit each.
    pub mask: u16,
    /// Where they come from.
    pub from: From,
    /// Where they go.
    pub to: Place,
    /// What was read, between the two steps.
    pub held: Option<Chunk>,
}

/// Where bytes come from.
#[derive(Clone, Copy, Debug, Hash)]
pub enum From {
    /// From memory.
    Memory(Place),
    /// They are here.
    Data(Chunk),
}

/// Bytes that a barrier counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signal {
    /// The CTA of the barrier.
    pub cta: u32,
    /// Its address.
    pub address: u32,
    /// How many bytes.
    pub bytes: u32,
}

/// Arrivals that small copies trigger.
#[derive(Clone, Copy, Debug)]
pub struct Track {
    /// Who asked for it; its lanes are those whose copies are not complete.
    pub site: Site,
    /// Copies up to this number count.
    pub last: u32,
    /// How many parts of them are under way, for each lane.
    pub open: [u32; LANES],
    /// The CTA of the barrier.
    pub cta: u32,
    /// Its address.
    pub address: u32,
}

impl Part {
    /// A whole part.
    pub fn new(lane: usize, size: u8, from: From, to: Place) -> Part {
        Part {
            lane: lane as u8,
            size,
            at: 0,
            len: size,
            rest_undefined: false,
            mask: u16::MAX,
            from,
            to,
            held: None,
        }
    }
}

impl Copies {
    /// Adds a copy; its number is set here, and returned.
    pub fn start(&mut self, copy: Copy) -> u32 {
        let id = self.next;
        self.next += 1;
        self.parts += copy.parts.len();
        self.by_warp.entry(copy.site.warp).or_default().push_back(id);
        if let Some(family) = copy.family {
            self.uncommitted.entry((copy.site.warp, family)).or_default().push(id);
        }
        self.list.push_back(Copy { id, ..copy });
        id
    }

    /// How many parts are under way.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Takes out a part that has landed. Returns the copy when it was the last one.
    pub fn landed(&mut self, index: usize, part: usize) -> Option<Copy> {
        let copy = &mut self.list[index];
        let landed = copy.parts.swap_remove(part);
        self.parts -= 1;
        let lane = usize::from(landed.lane);
        for track in self.tracks.iter_mut().filter(|track| track.counts(copy)) {
            track.open[lane] -= 1;
        }
        if copy.parts.is_empty() { self.take(index) } else { None }
    }

    /// Takes out a copy of which all has landed.
    pub fn take(&mut self, index: usize) -> Option<Copy> {
        let copy = self.list.remove(index)?;
        if let Some(own) = self.by_warp.get_mut(&copy.site.warp)
            && let Ok(at) = own.binary_search(&copy.id)
        {
            own.remove(at);
        }
        Some(copy)
    }

    /// Notes that lanes of a warp want to arrive when the small copies that they have started are complete.
    pub fn track(&mut self, site: Site, cta: u32, address: u32) {
        let mut track = Track { site, last: self.next.wrapping_sub(1), cta, address, open: [0; LANES] };
        let mut open = [0; LANES];
        let counted = self.of_warp(site.warp).filter(|copy| track.counts(copy));
        counted.flat_map(|copy| &copy.parts).for_each(|part| open[usize::from(part.lane)] += 1);
        track.open = open;
        self.tracks.push(track);
    }

    /// The copies that a warp has under way.
    fn of_warp(&self, warp: u32) -> impl Iterator<Item = &Copy> {
        let own = self.by_warp.get(&warp).into_iter().flatten();
        own.filter_map(|id| self.list.get(self.position(*id)?))
    }

    /// Where a copy is: their numbers rise along the list.
    fn position(&self, id: u32) -> Option<usize> {
        self.list.binary_search_by_key(&id, |copy| copy.id).ok()
    }

    /// Puts the open copies of lanes into groups of these numbers.
    pub fn commit(&mut self, warp: u32, family: Family, mask: Mask, numbers: &[u32; LANES]) {
        let Some(mut open) = self.uncommitted.remove(&(warp, family)) else { return };
        open.retain(|&id| {
            let Some(index) = self.position(id) else { return false };
            let copy = &mut self.list[index];
            for lane in lanes(mask & copy.site.lanes).filter(|&lane| numbers[lane] != NONE) {
                if copy.groups[lane] == NONE {
                    copy.groups[lane] = numbers[lane];
                }
            }
            lanes(copy.site.lanes).any(|lane| copy.groups[lane] == NONE)
        });
        if !open.is_empty() {
            self.uncommitted.insert((warp, family), open);
        }
    }

    /// Whether a lane still waits for copies of a family: those in groups with numbers below `below`, or, with
    /// none, all of them. With `read` it is enough that their sources have been read.
    pub fn is_waiting(&self, warp: u32, family: Family, lane: usize, below: Option<u64>, read: bool) -> bool {
        let is_own = |copy: &&Copy| copy.family == Some(family) && copy.site.lanes >> lane & 1 == 1;
        let own = self.of_warp(warp).filter(is_own);
        own.filter(|copy| match below {
            Some(below) => copy.groups[lane] != NONE && u64::from(copy.groups[lane]) < below,
            None => true,
        })
        .any(|copy| {
            copy.parts.iter().any(|part| part.lane as usize == lane && !(read && part.held.is_some()))
        })
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Track {
    /// Whether it waits for a copy.
    pub fn counts(&self, copy: &Copy) -> bool {
        copy.family == Some(Family::Small) && copy.site.warp == self.site.warp && copy.id <= self.last
    }

    /// The lanes whose copies are complete.
    pub fn complete_lanes(&self) -> Mask {
        lanes(self.site.lanes).filter(|&lane| self.open[lane] == 0).fold(0, |mask, lane| mask | 1 << lane)
    }
}
