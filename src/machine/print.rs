//! Fingerprints: what decides the future of a machine as one number, so that states can be told apart.
//!
//! Left out is what only tells of the past (counts, findings, sites for reports, clocks), and what guards
//! against endless runs. Numbers that depend on the order of events but mean the same (joins, copies,
//! groups of copies) are counted anew.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use super::code::NONE;
use super::column::lanes;
use super::copy::{Copies, Copy, Track};
use super::cta::{Cta, NamedBarrier, Object};
use super::global::Global;
use super::live::Live;
use super::share::{Print, Share};
use super::warp::{Group, State, Warp};
use super::{Machine, Undefined};

/// Mixes words; their order matters.
#[derive(Clone, Copy, Debug)]
pub struct Mix(u64);

impl Default for Mix {
    fn default() -> Mix {
        Mix(0x243f_6a88_85a3_08d3)
    }
}

impl Mix {
    /// Adds a word.
    #[inline]
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }
}

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.add(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.add(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    fn finish(&self) -> u64 {
        let mut word = self.0;
        word = (word ^ word >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        word ^ word >> 32
    }
}

/// The fingerprint of anything that can be hashed.
pub fn of(value: &impl Hash) -> u64 {
    let mut mix = Mix::default();
    value.hash(&mut mix);
    mix.finish()
}

impl Machine<'_> {
    /// A number that is the same for machines with the same future.
    pub fn fingerprint(&self) -> u64 {
        let mut mix = Mix::default();
        self.warps.iter().for_each(|warp| mix.add(warp.print()));
        self.ctas.iter().for_each(|cta| mix.add(cta.print()));
        mix.add(self.global.print());
        mix.add(self.copies_print());
        (self.trapping, self.stopped, self.next_cluster, self.resident).hash(&mut mix);
        mix.finish()
    }

    /// Copies under way: a sum over those of different warps, since their order among each other means
    /// nothing.
    fn copies_print(&self) -> u64 {
        let one = |copy: &Copy| {
            let mut mix = Mix::default();
            copy.hash_content(&mut mix);
            if let Some(family) = copy.family {
                let commits = &self.warps[copy.site.warp as usize].commits[family as usize];
                lanes(copy.site.lanes).for_each(|lane| mix.add(age(copy.groups[lane], commits[lane])));
            }
            let own = self.copies.tracks.iter().filter(|track| track.site.warp == copy.site.warp);
            own.for_each(|track| mix.add(track.counts(copy).into()));
            mix.finish()
        };
        let copies = self.copies.list.iter().map(one).fold(0, u64::wrapping_add);
        copies.wrapping_add(self.copies.tracks_print())
    }

    /// From now on, what nobody can read any more does not count for the fingerprint. Not where a run goes on
    /// after something undefined: what is overwritten is then not certain.
    pub(crate) fn compare_live(&mut self) {
        if self.options.undefined != Undefined::Stop {
            return;
        }
        self.live = Arc::new(Live::new(&self.code));
        for warp in &mut self.warps {
            warp.live = Arc::clone(&self.live);
        }
    }

    /// The contents of global memory.
    pub fn memory_fingerprint(&self) -> u64 {
        self.global.print()
    }

    /// Makes clones cheap; about how many bytes this machine has for itself.
    pub(crate) fn share(&mut self) -> usize {
        let warps: usize = self.warps.iter_mut().map(Share::share).sum();
        let ctas: usize = self.ctas.iter_mut().map(Share::share).sum();
        let copies = self.copies.parts() * size_of::<super::copy::Part>();
        size_of::<Self>()
            + warps
            + ctas
            + copies
            + self.global.share()
            + 16 * (self.warps.len() + self.ctas.len())
    }
}

/// How many groups have been closed since, or that it is in none.
fn age(group: u32, commits: u32) -> u64 {
    if group == NONE { u64::MAX } else { commits.wrapping_sub(group).into() }
}

impl Copy {
    fn hash_content(&self, mix: &mut Mix) {
        (self.site, &self.parts, self.signal, self.family, self.update, self.element).hash(mix);
    }
}

impl Copies {
    /// Those of a warp in their order.
    fn tracks_print(&self) -> u64 {
        let place = |(index, track): (usize, &Track)| {
            let before = self.tracks[..index].iter().filter(|other| other.site.warp == track.site.warp);
            of(&(before.count(), track.site, track.open, track.cta, track.address))
        };
        self.tracks.iter().enumerate().map(place).fold(0, u64::wrapping_add)
    }
}

impl Global {
    fn print(&self) -> u64 {
        let mut mix = Mix::default();
        for piece in self.pieces() {
            mix.add(piece.bytes.print());
            mix.add((piece.what == super::global::What::Freed).into());
        }
        mix.finish()
    }
}

impl Print for Cta {
    fn print(&self) -> u64 {
        let object = |(address, object): (&u32, &Object)| {
            of(&(address, &object.barrier, object.valid, object.lifetime))
        };
        let named = |barrier: &NamedBarrier| {
            of(&(barrier.kind, barrier.threads, barrier.arrived, barrier.count, barrier.voters))
        };
        let mut mix = Mix::default();
        mix.add(self.shared.print());
        mix.add(self.objects.iter().map(object).fold(0, u64::wrapping_add));
        self.named
            .iter()
            .filter(|barrier| barrier.kind.is_some())
            .for_each(|barrier| mix.add(named(barrier)));
        let busy = self.named.iter().enumerate().filter(|(_, barrier)| barrier.kind.is_some());
        mix.add(busy.fold(0, |mask, (id, _)| mask | 1 << id));
        mix.add(self.live_warps.into());
        mix.finish()
    }

    fn bytes(&self) -> usize {
        let named = self.named.len() * size_of::<NamedBarrier>();
        size_of::<Cta>() + self.objects.len() * size_of::<Object>() + named
    }

    fn share_parts(&mut self) -> usize {
        self.shared.share()
    }
}

impl Print for Warp {
    fn print(&self) -> u64 {
        let mut mix = Mix::default();
        (self.alive, self.cluster_arrived, self.cluster_passed, self.cancel_failed).hash(&mut mix);
        let mut groups: SmallVec<[&Group; 8]> = self.groups.iter().collect();
        groups.sort_unstable_by_key(|group| group.mask.trailing_zeros());
        let mut joins: SmallVec<[u32; 8]> = SmallVec::new();
        for group in groups {
            group.hash_into(&mut mix, &mut joins);
            self.hash_registers(&mut mix, group);
        }
        for lane in lanes(self.alive).filter(|&lane| lane < self.locals.len()) {
            mix.add(lane as u64);
            mix.add(self.locals[lane].print());
        }
        mix.finish()
    }

    fn bytes(&self) -> usize {
        size_of::<Warp>() + self.registers.bytes() + self.locals.iter().map(Print::bytes).sum::<usize>()
    }
}

impl Warp {
    /// The registers of a group; in the kernel only those that may still be read.
    fn hash_registers(&self, mix: &mut Mix, group: &Group) {
        let (registers, frame) = (&self.registers, group.frame());
        let live = self.live.before(group.pc).filter(|_| group.frames.len() == 1);
        if let Some((columns, predicates)) = live {
            columns.for_each(|column| registers.hash_column(mix, group.mask, frame.columns + column));
            predicates.for_each(|p| registers.hash_predicate(mix, group.mask, frame.predicates + p));
        } else {
            let (columns, predicates) = registers.len();
            (0..columns).for_each(|column| registers.hash_column(mix, group.mask, column));
            (0..predicates).for_each(|predicate| registers.hash_predicate(mix, group.mask, predicate));
        }
    }
}

impl Group {
    /// `joins` holds the numbers of joins met so far: their places in it are their new numbers.
    fn hash_into(&self, mix: &mut Mix, joins: &mut SmallVec<[u32; 8]>) {
        let mut number = |id: u32| {
            let found = joins.iter().position(|&other| other == id);
            found.unwrap_or_else(|| {
                joins.push(id);
                joins.len() - 1
            })
        };
        (self.mask, self.pc, self.frames.as_slice(), self.gave_up, self.asked, self.alone).hash(mix);
        for join in &self.joins {
            (join.pc, join.depth, number(join.id), join.mask).hash(mix);
        }
        match self.state {
            // One that comes back to the same state could as well go on doing so.
            State::Ready | State::Spinning(_) => mix.add(0),
            State::Meeting(meeting, needed) => (1u8, meeting, needed).hash(mix),
            State::Joining(id) => (2u8, number(id)).hash(mix),
            State::CtaBarrier(id) => (3u8, id).hash(mix),
            State::ClusterBarrier => mix.add(4),
            State::Phase { address } => (5u8, address).hash(mix),
            State::Copies => mix.add(6),
            State::Sleeping(_) => mix.add(7),
        }
    }
}
