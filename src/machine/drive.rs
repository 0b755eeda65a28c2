//! For those who decide themselves who goes on: the steps of a machine one by one, each with the answers that
//! make [`Machine::step`] do the same.

use std::ops::Range;

use smallvec::SmallVec;

use super::choice::{Choose, Recorder};
use super::code::{Address, CtaBarrier, Family, NONE, Number, Op, Space, UpdateOp};
use super::column::lanes;
use super::copy::Copy;
use super::exec::{Doing, Extent, Place, Reach, local};
use super::sight::Sight;
use super::warp::{Group, State};
use super::{Machine, Reconverge};

/// A group of lanes: its warp, and its index among the warp's groups.
pub(crate) type Turn = (usize, usize);

/// Where a group stands that can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stand {
    /// Before something whose place among what others do does not matter.
    Unseen,
    /// Before a wait that would block.
    Blocked,
    /// Before something whose place matters.
    Order,
}

/// The memory that a copy writes, a little more perhaps.
#[derive(Clone, Debug)]
struct Hull {
    /// Space, and which of its kind.
    memory: Option<(u8, usize)>,
    bytes: Range<usize>,
}

fn hull(copy: &Copy) -> Hull {
    let mut hull = Hull { memory: None, bytes: 0..usize::MAX };
    for (index, part) in copy.parts.iter().enumerate() {
        let (memory, at) = match part.to {
            Place::Global(piece, at) => ((0, piece), at),
            Place::Shared(cta, at) => ((1, cta as usize), at),
            Place::Local(_) | Place::Param(_) | Place::Const(_) => return hull,
        };
        let end = at + usize::from(part.size);
        if index == 0 {
            hull = Hull { memory: Some(memory), bytes: at..end };
        } else if hull.memory != Some(memory) {
            return Hull { memory: None, bytes: 0..usize::MAX };
        }
        hull.bytes = hull.bytes.start.min(at)..hull.bytes.end.max(end);
    }
    hull
}

impl Hull {
    fn is_apart_from(&self, other: &Hull) -> bool {
        match (self.memory, other.memory) {
            (Some(one), Some(two)) if one == two => {
                self.bytes.end <= other.bytes.start || other.bytes.end <= self.bytes.start
            }
            (Some(_), Some(_)) => true,
            _ => false,
        }
    }
}

impl Machine<'_> {
    /// The groups that can go on.
    pub(crate) fn turns(&self) -> Vec<Turn> {
        let warps = self.warps.iter().enumerate();
        let groups = warps.flat_map(|(index, warp)| {
            let ready = warp.groups.iter().enumerate().filter(|(_, group)| group.state == State::Ready);
            ready.map(move |(group, _)| (index, group))
        });
        groups.collect()
    }

    /// A group has its turn, as in a step in which no copy lands.
    pub(crate) fn take_turn<C: Choose>(&mut self, turn: Turn, recorder: &mut Recorder<C>) {
        self.name_turn(turn, &mut recorder.answers);
        self.go(turn.0, turn.1, false, recorder);
    }

    /// Like [`Machine::take_turn`], but stops before an instruction whose place among what others do matters.
    /// Then it was no step: only what nobody else can see has been done, and the answer is true.
    pub(crate) fn approach<C: Choose>(&mut self, turn: Turn, recorder: &mut Recorder<C>) -> bool {
        let before = recorder.answers.len();
        self.name_turn(turn, &mut recorder.answers);
        let paused = self.go(turn.0, turn.1, true, recorder);
        if paused {
            recorder.answers.truncate(before);
        }
        paused
    }

    /// Where a group stands.
    pub(crate) fn stand(&self, (warp, group): Turn) -> Stand {
        let state = &self.warps[warp].groups[group];
        if self.warps[warp].join_here(group).is_some() {
            return if self.options.reconverge == Reconverge::Random { Stand::Order } else { Stand::Unseen };
        }
        let inst = &self.code.insts[state.pc as usize];
        let frame = *state.frame();
        let (lanes, undefined) = local::guard(&self.warps[warp].registers, inst.guard, &frame, state.mask);
        if lanes == 0 || undefined != 0 {
            return Stand::Unseen;
        }
        let doing = Doing { warp, group, pc: state.pc, lanes, frame };
        match inst.op.sight(frame.back == NONE) {
            Sight::Nothing => return Stand::Unseen,
            Sight::Data if self.stays_at_home(&doing, &inst.op) => return Stand::Unseen,
            Sight::Data => return Stand::Order,
            Sight::Order => {}
        }
        match &inst.op {
            Op::Cta(barrier) if self.waits_for_all(&doing, barrier) => Stand::Unseen,
            // Nobody gets past it without the others, in whatever order they come.
            Op::Cluster(_) => Stand::Unseen,
            Op::Exit | Op::Return { .. } if self.leaves_quietly(&doing) => Stand::Unseen,
            Op::Barrier(barrier) if self.would_block(&doing, barrier) => Stand::Blocked,
            _ => Stand::Order,
        }
    }

    /// Whether an access reaches no shared memory of other CTAs, which could end before.
    fn stays_at_home(&self, doing: &Doing, op: &Op) -> bool {
        if self.shape.cluster_size() == 1 {
            return true;
        }
        let addresses: SmallVec<[&Address; 3]> = match op {
            Op::Memory(access) => SmallVec::from_slice(&[&access.address]),
            Op::Copy(copy) if copy.mask.is_some() => return false,
            Op::Copy(copy) => [&copy.to, &copy.from].into_iter().chain(&copy.barrier).collect(),
            _ => return true,
        };
        let own = self.warps[doing.warp].cta;
        addresses.iter().filter(|address| matches!(address.space, Space::Cluster | Space::Generic)).all(
            |address| {
                let bases = self.bases(doing, address);
                lanes(doing.lanes).all(|lane| {
                    let place =
                        self.place(doing.warp, address, Extent { base: bases[lane], size: 1, align: 1 });
                    !matches!(place, Ok(Place::Shared(cta, _)) | Err(Reach::Exited(cta)) if cta != own)
                })
            },
        )
    }

    /// Whether a barrier of the CTA is for all threads, and nobody gets past it without the others: then the
    /// order in which they come says nothing.
    fn waits_for_all(&self, doing: &Doing, barrier: &CtaBarrier) -> bool {
        let all = u64::from(32 * self.shape.warps());
        let threads = barrier.threads.map(|threads| self.values(doing, threads));
        let is_for_all = |lane: usize| threads.is_none_or(|threads| threads[lane] == all);
        !self.code.splits_barriers && lanes(doing.lanes).all(is_for_all)
    }

    /// Whether nobody notices that lanes end: their CTA goes on without them, or nobody else can reach it.
    fn leaves_quietly(&self, doing: &Doing) -> bool {
        let warp = &self.warps[doing.warp];
        let is_left = |copy: &Copy| self.warps[copy.site.warp as usize].cta == warp.cta;
        let goes_on = self.ctas[warp.cta as usize].live_warps > 1 || warp.alive != doing.lanes;
        let all_started = self.next_cluster * u64::from(self.shape.cluster_size()) >= self.shape.ctas();
        goes_on || self.shape.cluster_size() == 1 && all_started && !self.copies.list.iter().any(is_left)
    }

    /// Whether it says nothing when a copy lands: only its own warp waits for it, and it does not write what
    /// another one does.
    pub(crate) fn lands_unseen(&self, copy: &Copy) -> bool {
        let own = hull(copy);
        copy.family.is_some()
            && copy.signal.is_none()
            && copy.update.is_none()
            && !self.copies.tracks.iter().any(|track| track.counts(copy))
            && self.copies.list.iter().all(|other| other.id == copy.id || hull(other).is_apart_from(&own))
    }

    /// The first copy that lands early: others count for the same barrier, and its phase needs the bytes of all
    /// of them, so that only the last landing can be noticed.
    pub(crate) fn next_early(&self) -> Option<usize> {
        self.copies.list.iter().position(|copy| self.lands_early(copy))
    }

    fn lands_early(&self, copy: &Copy) -> bool {
        let Some(signal) = copy.signal.filter(|_| !self.code.completes_by_hand) else { return false };
        let to_same =
            |other: &&Copy| other.signal.is_some_and(|s| (s.cta, s.address) == (signal.cta, signal.address));
        let others = self.copies.list.iter().filter(to_same).filter_map(|other| other.signal);
        let (count, bytes) = others.fold((0, 0), |(n, sum), s| (n + 1, sum + i64::from(s.bytes)));
        let object = self.ctas[signal.cta as usize].objects.get(&signal.address);
        let awaited = object.filter(|object| object.valid).map_or(0, |object| object.barrier.tx_count());
        let own = hull(copy);
        let mixes = |other: &Copy| {
            other.id != copy.id
                && !(copy.update.is_some() && copy.update == other.update)
                && !hull(other).is_apart_from(&own)
        };
        let commutes = copy.update.is_none_or(|update| {
            matches!(update.ty, Number::Unsigned | Number::Signed)
                && matches!(
                    update.op,
                    UpdateOp::Add
                        | UpdateOp::Min
                        | UpdateOp::Max
                        | UpdateOp::And
                        | UpdateOp::Or
                        | UpdateOp::Xor
                )
        });
        count > 1 && awaited >= bytes && commutes && !self.copies.list.iter().any(mixes)
    }

    /// The next of the copies that land unseen, of a warp that waits for its copies, or of any. One that
    /// reads its source first has done so before any is written.
    pub(crate) fn next_unseen(&self, any: bool) -> Option<usize> {
        let waits = |warp: u32| self.warps[warp as usize].groups.iter().any(|g| g.state == State::Copies);
        let copies = self.copies.list.iter().enumerate();
        let due = copies.filter(|(_, copy)| (any || waits(copy.site.warp)) && self.lands_unseen(copy));
        due.min_by_key(|(index, copy)| (copy.parts.iter().all(|part| part.held.is_some()), *index))
            .map(|(index, _)| index)
    }

    /// The answers that give a group its turn.
    fn name_turn(&mut self, (warp, group): Turn, answers: &mut Vec<u32>) {
        if !self.copies.is_empty() {
            answers.push(0);
        }
        self.notice_changes();
        if self.ready.count > 1 {
            answers.push(self.ready.rank(warp));
        }
        let ready = |group: &&Group| group.state == State::Ready;
        let groups = &self.warps[warp].groups;
        if groups.iter().filter(ready).count() > 1 {
            answers.push(groups[..group].iter().filter(ready).count() as u32);
        }
    }

    /// A copy lands with all its parts: if its source is read first, that, and at the next call the rest.
    pub(crate) fn land_whole<C: Choose>(&mut self, index: usize, recorder: &mut Recorder<C>) {
        let Some(copy) = self.copies.list.get(index) else { return };
        let id = copy.id;
        let is_unread = |copy: &Copy| copy.parts.iter().position(|part| part.held.is_none());
        let reads = copy.family == Some(Family::Bulk) && is_unread(copy).is_some();
        while let Some(copy) = self.copies.list.get(index).filter(|copy| copy.id == id) {
            let part = if reads { is_unread(copy) } else { Some(0) };
            let Some(part) = part.filter(|_| self.stopped.is_none()) else { return };
            recorder.answers.push(index as u32 + 1);
            if copy.parts.len() > 1 {
                recorder.answers.push(part as u32);
            }
            self.land(index, part);
            (self.stall.landed, self.stall.failed) = (self.time, 0);
        }
    }

    /// How often memory or barriers have changed.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The cluster of a warp.
    pub(crate) fn cluster_of(&self, warp: usize) -> u32 {
        self.ctas[self.warps[warp].cta as usize].cluster
    }
}
