//! For those who decide themselves who goes on: the steps of a machine one by one, each with the answers that
//! make [`Machine::step`] do the same.

use super::choice::{Choose, Recorder};
use super::code::{Family, NONE};
use super::exec::local;
use super::sight::Sight;
use super::warp::{Group, State};
use super::{Machine, Reconverge};

/// A group of lanes: its warp, and its index among the warp's groups.
pub(crate) type Turn = (usize, usize);

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

    /// Whether a group stands before such an instruction, or where the schedule decides whether it waits.
    pub(crate) fn is_there(&self, (warp, group): Turn) -> bool {
        let warp = &self.warps[warp];
        if warp.join_here(group).is_some() {
            return self.options.reconverge == Reconverge::Random;
        }
        let state = &warp.groups[group];
        let inst = &self.code.insts[state.pc as usize];
        let (active, undefined) = local::guard(&warp.registers, inst.guard, state.frame(), state.mask);
        active != 0 && undefined == 0 && inst.op.sight(state.frame().back == NONE) == Sight::Order
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
        let is_unread = |copy: &super::copy::Copy| copy.parts.iter().position(|part| part.held.is_none());
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

    /// The first cluster of which a copy is under way, or a group in `turns`.
    pub(crate) fn first_cluster(&self, turns: &[Turn]) -> u32 {
        let groups = turns.iter().map(|&(warp, _)| self.cluster_of(warp));
        let copies = self.copies.list.iter().map(|copy| self.cluster_of(copy.site.warp as usize));
        groups.chain(copies).min().unwrap_or(0)
    }

    /// The cluster of a warp.
    pub(crate) fn cluster_of(&self, warp: usize) -> u32 {
        self.ctas[self.warps[warp].cta as usize].cluster
    }
}
