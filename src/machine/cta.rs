//! A CTA: its shared memory, the barriers in it, and its named barriers.

use std::ops::Range;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::barrier::Barrier;
use super::code::{CtaBarrierKind, Pc};
use super::column::{LANES, Mask};
use super::memory::Bytes;
use super::share::Share;

/// A place in the program and the lanes that were there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Site {
    /// The instruction.
    pub pc: super::code::Pc,
    /// The warp: an index into the machine's.
    pub warp: u32,
    /// Its lanes.
    pub lanes: Mask,
}

/// A CTA.
#[derive(Clone, Debug, Default)]
pub struct Cta {
    /// Its place in the grid.
    pub place: [u32; 3],
    /// Its cluster: an index into the machine's.
    pub cluster: u32,
    /// Its rank in the cluster.
    pub rank: u32,
    /// Its shared memory, from the first address that a kernel can use on.
    pub shared: Share<Bytes>,
    /// Barriers that were made in it.
    pub lifetimes: u32,
    /// mbarrier objects that are or were in it, by address.
    pub objects: FxHashMap<u32, Object>,
    /// One bit for every 8 bytes of shared memory: a valid object is there.
    pub occupied: Vec<u64>,
    /// The 16 barriers of the CTA.
    pub named: Vec<NamedBarrier>,
    /// Its warps: indices into the machine's.
    pub warps: Range<u32>,
    /// How many of them have not ended.
    pub live_warps: u32,
    /// The last lanes that left.
    pub last_exit: Option<Site>,
}

/// An mbarrier object and its history.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its state.
    pub barrier: Barrier,
    /// Whether it is valid.
    pub valid: bool,
    /// Tells this lifetime from others.
    pub lifetime: u32,
    /// Who made it.
    pub init: Site,
    /// Who ended it.
    pub inval: Option<Site>,
    /// Who arrived in this phase, at each instruction.
    pub arrivals: SmallVec<[Site; 4]>,
    /// Who changed the transaction count last, at each instruction.
    pub transactions: SmallVec<[Site; 4]>,
    /// Instructions that ever arrived on it, or changed its transaction count.
    pub used: SmallVec<[Pc; 8]>,
    /// What happened to it.
    pub counts: Counts,
}

/// A barrier of a CTA that has ended, or of the end of the run.
#[derive(Clone, Debug)]
pub struct Used {
    /// The CTA.
    pub cta: u32,
    /// Its address.
    pub address: u32,
    /// Who made it.
    pub init: Site,
    /// How it is called.
    pub name: String,
    /// What happened to it.
    pub counts: Counts,
}

/// What happened to a barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Phases that completed.
    pub phases: u64,
    /// Arrivals, summed over lanes and counts.
    pub arrivals: u64,
    /// Updates: one for each group of lanes that arrived together.
    pub updates: u64,
    /// Bytes, or other units, that were announced.
    pub expected: u64,
    /// Those that came.
    pub completed: u64,
}

/// One of the 16 barriers of a CTA.
#[derive(Clone, Debug, Default)]
pub struct NamedBarrier {
    /// The operation that is under way.
    pub kind: Option<CtaBarrierKind>,
    /// The number of threads that it is for; none: all.
    pub threads: Option<u32>,
    /// Warps that have arrived, by their number in the CTA.
    pub arrived: u64,
    /// The first who arrived.
    pub first: Option<Site>,
    /// Predicates so far: how many are true, whether all are, whether any is.
    pub count: u32,
    /// Threads that gave a predicate.
    pub voters: u32,
}

impl Cta {
    /// Whether a valid object overlaps `size` bytes at offset `at` of the memory; the offset of the first.
    #[inline]
    pub fn object_at(&self, at: usize, size: usize) -> Option<usize> {
        if size == 0 {
            return None;
        }
        let (first, last) = (at / 8, (at + size - 1) / 8);
        (first..=last)
            .find(|slot| self.occupied.get(slot / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1))
            .map(|slot| slot * 8)
    }

    /// A number for the life of a barrier in this CTA, which is number `cta`; it does not depend on what others
    /// do. Never 0.
    pub fn next_lifetime(&mut self, cta: u32) -> u32 {
        self.lifetimes += 1;
        (cta << 12).wrapping_add(self.lifetimes)
    }

    /// Marks the 8 bytes at offset `at` as occupied or free.
    pub fn occupy(&mut self, at: usize, is_occupied: bool) {
        let slot = at / 8;
        if self.occupied.len() <= slot / 64 {
            self.occupied.resize(slot / 64 + 1, 0);
        }
        let bit = 1 << (slot % 64);
        if is_occupied {
            self.occupied[slot / 64] |= bit;
        } else {
            self.occupied[slot / 64] &= !bit;
        }
    }
}

impl Object {
    /// A valid object, just made.
    pub fn new(barrier: Barrier, lifetime: u32, init: Site) -> Object {
        Object {
            barrier,
            valid: true,
            lifetime,
            init,
            inval: None,
            arrivals: SmallVec::new(),
            transactions: SmallVec::new(),
            used: SmallVec::new(),
            counts: Counts::default(),
        }
    }

    /// Notes that lanes arrived.
    pub fn note_arrival(&mut self, site: Site, count: u64) {
        let has_room = self.arrivals.len() < MOST_SITES;
        match self.arrivals.iter_mut().find(|other| (other.pc, other.warp) == (site.pc, site.warp)) {
            Some(other) => other.lanes |= site.lanes,
            None if has_room => self.arrivals.push(site),
            None => {}
        }
        self.note_use(site.pc);
        self.counts.arrivals += count;
        self.counts.updates += 1;
    }

    /// Notes that lanes changed the transaction count.
    pub fn note_transaction(&mut self, site: Site) {
        let has_room = self.transactions.len() < MOST_SITES;
        match self.transactions.iter_mut().find(|other| other.pc == site.pc) {
            Some(other) => *other = site,
            None if has_room => self.transactions.push(site),
            None => {}
        }
        self.note_use(site.pc);
    }

    fn note_use(&mut self, pc: Pc) {
        if !self.used.contains(&pc) && self.used.len() < MOST_SITES {
            self.used.push(pc);
        }
    }
}

/// So many sites of each kind are kept at most.
const MOST_SITES: usize = 64;

/// A cluster of CTAs.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its CTAs: indices into the machine's.
    pub ctas: Range<u32>,
}

const _: () = assert!(LANES == 32);
