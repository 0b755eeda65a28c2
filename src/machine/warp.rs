//! A warp: its registers, and its lanes in groups that execute together.
//!
//! Lanes part at branches. Where they meet again is a [`Join`]: groups wait there for the others, but
//! never for ever: a group is let go on alone when nothing else can.

use std::sync::Arc;

use smallvec::SmallVec;

use super::code::{NONE, Pc, WarpOp};
use super::column::{LANES, Mask, Registers};
use super::cta::Site;
use super::live::Live;
use super::memory::Bytes;

/// A warp.
#[derive(Clone, Debug, Default)]
pub struct Warp {
    /// The CTA that it belongs to: an index into the machine's.
    pub cta: u32,
    /// Its number in the CTA.
    pub number: u32,
    /// Lanes that exist and have not ended.
    pub alive: Mask,
    /// Its registers.
    pub registers: Registers,
    /// Local memory of each lane, as far as it was needed.
    pub locals: Vec<Bytes>,
    /// Lanes that execute together.
    pub groups: Vec<Group>,
    /// The group that ran last.
    pub last_group: u32,
    /// Groups of copies that each lane has closed, by family.
    pub commits: [[u32; LANES]; 2],
    /// The commit that was the last, by family.
    pub last_commit: [Option<Site>; 2],
    /// Lanes that have arrived at the cluster barrier and not yet waited: in the generation that is not
    /// complete, and in the one before.
    pub cluster_arrived: Mask,
    /// See [`Warp::cluster_arrived`].
    pub cluster_passed: Mask,
    /// Lanes that passed an instruction on barriers or copies because its guard was false.
    pub skipped: Vec<(Pc, Mask)>,
    /// Lanes that have seen a request to take over a cluster fail.
    pub cancel_failed: Mask,
    /// Where that was last.
    pub cancel_seen: Option<Site>,
    /// Whether lanes have gone on that would have met others.
    pub parted_by_schedule: bool,
    /// Which registers count when states are compared.
    pub live: Arc<Live>,
    /// Numbers for joins.
    next_join: u32,
}

/// Lanes at one place.
#[derive(Clone, Debug)]
pub struct Group {
    /// Which.
    pub mask: Mask,
    /// The next instruction.
    pub pc: Pc,
    /// The calls that led here, the routine in hand last.
    pub frames: SmallVec<[Frame; 2]>,
    /// Where lanes that parted meet again, the nearest last.
    pub joins: SmallVec<[Join; 2]>,
    /// Whether it can go on.
    pub state: State,
    /// Whether the wait that it stands at gives up.
    pub gave_up: bool,
    /// Whether the schedule was asked if it does.
    pub asked: bool,
    /// Whether it passes the meeting that it stands at without the others.
    pub alone: bool,
    /// What is known of its loops.
    pub watch: Watch,
}

/// A routine that is being executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Index into the code's routines.
    pub routine: u32,
    /// Where its caller goes on; [`NONE`] for the kernel.
    pub back: Pc,
    /// Its first column.
    pub columns: u32,
    /// Its first predicate.
    pub predicates: u32,
    /// Its first byte of local memory.
    pub local: u32,
    /// The stack pointer: the first byte that is free.
    pub stack: u32,
}

/// Where lanes that parted meet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// The instruction.
    pub pc: Pc,
    /// In a frame of this depth.
    pub depth: u32,
    /// Its number in the warp.
    pub id: u32,
    /// The lanes that meet.
    pub mask: Mask,
}

/// Whether a group can go on, and if not, what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It can.
    Ready,
    /// For other lanes of the warp at the same instruction: which lanes in all.
    Meeting(Meeting, Mask),
    /// For lanes that went another way.
    Joining(u32),
    /// At a barrier of the CTA.
    CtaBarrier(u32),
    /// At the barrier of the cluster.
    ClusterBarrier,
    /// For a phase of a barrier of the CTA.
    Phase {
        /// The barrier's address; [`NONE`] for one of several.
        address: u32,
    },
    /// For copies.
    Copies,
    /// For a time.
    Sleeping(u64),
    /// For a change of memory: its loop comes back to the same state.
    Spinning(u64),
}

/// What lanes meet for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meeting {
    /// One instruction, all lanes.
    Aligned(Pc),
    /// The same operation with the same member mask.
    Members(WarpOp, Mask),
    /// A barrier of the CTA without `.aligned`.
    Barrier(u32),
}

/// What is known of a group's loops, to tell waiting from working.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Backward branches since the last effect.
    pub loops: u32,
    /// A place in the loop, the state of the registers there, and the change of memory that was the last.
    pub mark: Option<(Pc, u64, u64)>,
    /// The same of where the group was let go on though nothing had changed.
    pub let_go: Option<(Pc, u64, u64)>,
    /// The change of memory that was the last when a wait of the group failed.
    pub polled: Option<u64>,
    /// The barrier of that wait, if the last wait failed, with the change of memory that was the last then.
    pub awaits: Option<(u32, u64)>,
    /// When the group came to a join.
    pub joined: u64,
}

impl Warp {
    /// A warp whose lanes `alive` are about to execute the routine of `frame`.
    pub fn new(cta: u32, number: u32, alive: Mask, frame: Frame, entry: Pc) -> Warp {
        let group = Group {
            mask: alive,
            pc: entry,
            frames: SmallVec::from_slice(&[frame]),
            joins: SmallVec::new(),
            state: State::Ready,
            gave_up: false,
            asked: false,
            alone: false,
            watch: Watch::default(),
        };
        Warp {
            cta,
            number,
            alive,
            registers: Registers::default(),
            locals: Vec::new(),
            groups: vec![group],
            last_group: 0,
            commits: [[0; LANES]; 2],
            last_commit: [None; 2],
            cluster_arrived: 0,
            cluster_passed: 0,
            skipped: Vec::new(),
            cancel_failed: 0,
            cancel_seen: None,
            parted_by_schedule: false,
            live: Arc::default(),
            next_join: 0,
        }
    }

    /// Whether any group can go on.
    pub fn is_ready(&self) -> bool {
        self.groups.iter().any(|group| group.state == State::Ready)
    }

    /// Splits group `index` into parts, each a set of lanes and where they go on. All parts meet again
    /// at `join`, if that is an instruction.
    pub fn split(&mut self, index: usize, parts: &[(Mask, Pc)], join: Pc) {
        let parent = self.groups.swap_remove(index);
        let mut joins = parent.joins.clone();
        let depth = parent.frames.len() as u32;
        let is_there = joins.last().is_some_and(|last| last.pc == join && last.depth == depth);
        if join != NONE && !is_there {
            joins.push(Join { pc: join, depth, id: self.next_join, mask: parent.mask });
            self.next_join += 1;
        }
        for &(mask, pc) in parts.iter().filter(|(mask, _)| *mask != 0) {
            self.groups.push(Group { mask, pc, joins: joins.clone(), ..parent.clone() });
        }
    }

    /// Makes all lanes of a group meet at `pc` of its present frame, even if they part before.
    pub fn expect_join(&mut self, index: usize, pc: Pc) {
        let group = &mut self.groups[index];
        let join = Join { pc, depth: group.frames.len() as u32, id: self.next_join, mask: group.mask };
        group.joins.push(join);
        self.next_join += 1;
    }

    /// The join that a group stands at, if it stands at one.
    #[inline]
    pub fn join_here(&self, index: usize) -> Option<Join> {
        let group = &self.groups[index];
        let last = group.joins.last()?;
        (last.pc == group.pc && last.depth == group.frames.len() as u32).then_some(*last)
    }

    /// Lets a group wait at a join. When all lanes have come, they are one group again: then true.
    pub fn wait_at_join(&mut self, index: usize, join: Join) -> bool {
        self.groups[index].state = State::Joining(join.id);
        self.complete_join(join.id)
    }

    /// Unites the groups at a join if all of its lanes are there.
    fn complete_join(&mut self, id: u32) -> bool {
        let at_join = |group: &Group| group.state == State::Joining(id);
        let there = self.groups.iter().filter(|g| at_join(g)).fold(0, |mask, group| mask | group.mask);
        let Some(first) = self.groups.iter().position(at_join) else { return false };
        let needed = self.groups[first].joins.last().map_or(0, |join| join.mask) & self.alive;
        if needed & !there != 0 {
            return false;
        }
        let group = &mut self.groups[first];
        group.joins.pop();
        group.state = State::Ready;
        group.mask = there;
        let mut seen = false;
        self.groups.retain(|group| {
            let keep = group.state != State::Joining(id);
            seen |= !keep;
            keep
        });
        true
    }

    /// Takes lanes out of the joins from number `keep` of a group's stack on: nobody waits for them there
    /// any more.
    pub fn leave_joins(&mut self, index: usize, keep: usize) {
        let left: SmallVec<[u32; 4]> = self.groups[index].joins[keep..].iter().map(|join| join.id).collect();
        let mask = self.groups[index].mask;
        self.groups[index].joins.truncate(keep);
        for &id in &left {
            for group in &mut self.groups {
                let join = group.joins.iter_mut().find(|join| join.id == id);
                join.into_iter().for_each(|join| join.mask &= !mask);
            }
            self.complete_join(id);
        }
    }

    /// After lanes have ended: completes the joins that waited only for them.
    pub fn complete_joins(&mut self) {
        let waiting: SmallVec<[u32; 4]> = self
            .groups
            .iter()
            .filter_map(|group| match group.state {
                State::Joining(id) => Some(id),
                _ => None,
            })
            .collect();
        for id in waiting {
            self.complete_join(id);
        }
    }

    /// Makes one group of several at the same place that have just executed the same instruction; returns
    /// where it is. Joins that not all of them have are left.
    pub fn unite(&mut self, indices: &[usize]) {
        let Some((&first, others)) = indices.split_first() else { return };
        let common = others.iter().fold(self.groups[first].joins.len(), |common, &other| {
            let pairs = self.groups[first].joins.iter().zip(&self.groups[other].joins);
            pairs.take_while(|(a, b)| a.id == b.id).count().min(common)
        });
        for &index in indices {
            self.leave_joins_quietly(index, common);
        }
        let mask = indices.iter().fold(0, |mask, &index| mask | self.groups[index].mask);
        self.groups[first].mask = mask;
        let mut sorted: SmallVec<[usize; 8]> = SmallVec::from_slice(others);
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        for index in sorted {
            self.groups.remove(index);
        }
        self.complete_joins();
    }

    /// Like [`Warp::leave_joins`], but completes nothing yet, so that indices stay.
    fn leave_joins_quietly(&mut self, index: usize, keep: usize) {
        let left: SmallVec<[u32; 4]> = self.groups[index].joins[keep..].iter().map(|join| join.id).collect();
        let mask = self.groups[index].mask;
        self.groups[index].joins.truncate(keep);
        for group in &mut self.groups {
            for join in group.joins.iter_mut().filter(|join| left.contains(&join.id)) {
                join.mask &= !mask;
            }
        }
    }

    /// Notes that lanes passed an instruction because its guard was false.
    pub fn skip(&mut self, pc: Pc, lanes: Mask) {
        match self.skipped.iter_mut().find(|(other, _)| *other == pc) {
            Some((_, mask)) => *mask |= lanes,
            None => self.skipped.push((pc, lanes)),
        }
    }

    /// The group that lane `lane` is in.
    pub fn group_of(&self, lane: usize) -> Option<&Group> {
        self.groups.iter().find(|group| group.mask >> lane & 1 == 1)
    }
}

impl Group {
    /// The routine in hand.
    #[inline]
    pub fn frame(&self) -> &Frame {
        &self.frames[self.frames.len() - 1]
    }

    /// Notes something that others can see: its loops do work.
    pub fn had_effect(&mut self) {
        self.watch.loops = 0;
        self.watch.mark = None;
        self.watch.let_go = None;
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn warp() -> Warp {
        let frame = Frame { routine: 0, back: NONE, columns: 0, predicates: 0, local: 0, stack: 0 };
        Warp::new(0, 0, 0xff, frame, 0)
    }

    fn masks(warp: &Warp) -> Vec<Mask> {
        let mut masks: Vec<Mask> = warp.groups.iter().map(|group| group.mask).collect();
        masks.sort_unstable();
        masks
    }

    /// Moves the group of a lane to an instruction, and lets it wait there if that is a join.
    fn go(warp: &mut Warp, lane: usize, pc: Pc) {
        let index = warp.groups.iter().position(|group| group.mask >> lane & 1 == 1).expect("a lane");
        warp.groups[index].pc = pc;
        if let Some(join) = warp.join_here(index) {
            warp.wait_at_join(index, join);
        }
    }

    #[test]
    fn lanes_that_part_meet_again() {
        let mut warp = warp();
        warp.split(0, &[(0x0f, 5), (0xf0, 1)], 9);
        go(&mut warp, 0, 9);
        assert_eq!(masks(&warp), [0x0f, 0xf0]);
        go(&mut warp, 7, 9);
        assert_eq!(masks(&warp), [0xff]);
        assert!(warp.groups[0].joins.is_empty() && warp.is_ready());
    }

    #[test]
    fn a_loop_that_sheds_lanes_needs_one_join() {
        let mut warp = warp();
        for lane in 0..7 {
            let index = warp.groups.iter().position(|group| group.mask >> 7 & 1 == 1).expect("lane 7");
            let mask = warp.groups[index].mask;
            warp.split(index, &[(1 << lane, 9), (mask & !(1 << lane), 1)], 9);
            go(&mut warp, lane, 9);
            assert_eq!(warp.group_of(7).map(|group| group.joins.len()), Some(1));
        }
        go(&mut warp, 7, 9);
        assert_eq!(masks(&warp), [0xff]);
    }

    #[test]
    fn nobody_waits_for_lanes_that_left_or_ended() {
        let mut warp = warp();
        warp.split(0, &[(0x0f, 5), (0x30, 1), (0xc0, 1)], 9);
        go(&mut warp, 0, 9);
        let index = warp.groups.iter().position(|group| group.mask == 0x30).expect("a group");
        warp.leave_joins(index, 0);
        assert_eq!(masks(&warp), [0x0f, 0x30, 0xc0]);
        warp.alive &= !0xc0;
        warp.groups.retain(|group| group.mask != 0xc0);
        warp.complete_joins();
        assert!(warp.groups.iter().all(|group| group.state == State::Ready));
    }
}
