//! Meetings: instructions that lanes of a warp execute together. Lanes are held until all that belong to the
//! meeting stand at it.

use smallvec::SmallVec;

use super::{Doing, Then};
use crate::machine::column::Mask;
use crate::machine::cta::Site;
use crate::machine::event::Event;
use crate::machine::rule;
use crate::machine::warp::{Meeting, State};
use crate::machine::{Machine, Reconverge};

/// A group that takes part in a meeting: its instruction and its lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// What it executes.
    pub doing: Doing,
}

impl Machine<'_> {
    /// A group comes to a meeting of the lanes `named`. When all of them that have not ended are there,
    /// the groups that take part; else the group waits.
    pub(super) fn meet(
        &mut self,
        doing: &Doing,
        meeting: Meeting,
        named: Mask,
    ) -> Option<SmallVec<[Member; 4]>> {
        let warp = &self.warps[doing.warp];
        let needed = named & warp.alive;
        let here = |group: &crate::machine::warp::Group| matches!(group.state, State::Meeting(other, _) if other == meeting);
        let others =
            warp.groups.iter().enumerate().filter(|(index, group)| *index != doing.group && here(group));
        let mut members: SmallVec<[Member; 4]> = SmallVec::from_slice(&[Member { doing: *doing }]);
        for (index, group) in others {
            let other = Doing {
                warp: doing.warp,
                group: index,
                pc: group.pc,
                lanes: group.mask,
                frame: *group.frame(),
            };
            members.push(Member { doing: other });
        }
        let there = members.iter().fold(0, |mask, member| mask | member.doing.lanes);
        if needed & !there == 0 {
            return Some(members);
        }
        let state = State::Meeting(meeting, needed);
        self.hold(doing, state);
        self.check_meetings(doing.warp);
        None
    }

    /// Lets the executing lanes of a group wait; the others go on.
    fn hold(&mut self, doing: &Doing, state: State) {
        let all = self.warps[doing.warp].groups[doing.group].mask;
        if doing.lanes == all {
            self.warps[doing.warp].groups[doing.group].state = state;
            return;
        }
        let join = self.join(doing.pc + 1);
        let parts = [(doing.lanes, doing.pc), (all & !doing.lanes, doing.pc + 1)];
        self.warps[doing.warp].split(doing.group, &parts, join);
        let held = self.warps[doing.warp].groups.iter_mut().find(|group| group.mask == doing.lanes);
        held.into_iter().for_each(|group| group.state = state);
    }

    /// After a meeting: its groups go on, as one where the strategy unites them.
    pub(super) fn pass(&mut self, doing: &Doing, members: &[Member]) -> Then {
        let warp = &mut self.warps[doing.warp];
        for member in members {
            let group = &mut warp.groups[member.doing.group];
            group.pc = member.doing.pc + 1;
            group.state = State::Ready;
        }
        if members.len() > 1 && self.options.reconverge == Reconverge::PostDominator {
            // Those at one place, in the same call.
            let first = members[0].doing;
            let frames = warp.groups[first.group].frames.clone();
            let same: SmallVec<[usize; 4]> = members
                .iter()
                .filter(|member| member.doing.pc == first.pc)
                .map(|member| member.doing.group)
                .filter(|&group| warp.groups[group].frames == frames)
                .collect();
            if same.len() > 1 {
                warp.unite(&same);
            }
        }
        self.ready.set(doing.warp, true);
        Then::Done
    }

    /// After lanes have ended: meetings that waited only for them go on. The first group executes its
    /// instruction again and finds all others there.
    pub(super) fn recheck_meetings(&mut self, warp: usize) {
        let alive = self.warps[warp].alive;
        let mut woken = false;
        let groups: SmallVec<[(State, Mask); 8]> =
            self.warps[warp].groups.iter().map(|group| (group.state, group.mask)).collect();
        for (index, &(state, _)) in groups.iter().enumerate() {
            let State::Meeting(meeting, needed) = state else { continue };
            let same = |other: &State| matches!(other, State::Meeting(other, _) if *other == meeting);
            let there = groups.iter().filter(|(s, _)| same(s)).fold(0, |mask, (_, lanes)| mask | lanes);
            let first = groups.iter().position(|(s, _)| same(s)) == Some(index);
            if first && needed & alive & !there == 0 {
                self.warps[warp].groups[index].state = State::Ready;
                woken = true;
            }
        }
        if woken {
            self.ready.set(warp, true);
        }
    }

    /// Complains about two meetings of one warp that wait for each other's lanes.
    pub(super) fn check_meetings(&mut self, warp: usize) {
        let waiting: SmallVec<[(usize, Meeting, Mask, Mask); 4]> = self.warps[warp]
            .groups
            .iter()
            .enumerate()
            .filter_map(|(index, group)| match group.state {
                State::Meeting(meeting, needed) => Some((index, meeting, needed, group.mask)),
                _ => None,
            })
            .collect();
        for (n, &(first, meeting, needed, mask)) in waiting.iter().enumerate() {
            let clash = waiting[n + 1..].iter().find(|(_, other, other_needed, other_mask)| {
                *other != meeting && needed & other_mask != 0 && other_needed & mask != 0
            });
            if let Some(&(second, ..)) = clash {
                return self.broken_meeting(warp, first, second);
            }
        }
    }

    fn broken_meeting(&mut self, warp: usize, first: usize, second: usize) {
        let site = |machine: &Self, group: usize| {
            let group = &machine.warps[warp].groups[group];
            Site { pc: group.pc, warp: warp as u32, lanes: group.mask }
        };
        let (first, second) = (site(self, first), site(self, second));
        let message = format!(
            "lanes of one warp stand at different instructions that they should execute together: {} at line {}, {} at line {}",
            self.threads(first),
            self.line(first.pc),
            self.threads(second),
            self.line(second.pc)
        );
        let stopped = self.stopped;
        self.wrong(first, &rule::BROKEN_MEETING, None, message, |machine, d| {
            machine.also(d, second, "reached")
        });
        if self.stopped == stopped {
            self.break_up(warp, &[first.lanes, second.lanes]);
        }
    }

    /// Lets groups go on as if all had come, which is the best that can be done.
    fn break_up(&mut self, warp: usize, masks: &[Mask]) {
        for &mask in masks {
            let found = self.warps[warp].groups.iter().position(|group| group.mask == mask);
            if let Some(index) = found {
                let group = &mut self.warps[warp].groups[index];
                group.state = State::Ready;
                group.alone = true;
            }
        }
        self.ready.set(warp, true);
    }

    /// Puts down that lanes have met.
    pub(super) fn note_meeting(&mut self, by: Site, orders: bool) {
        if self.options.events {
            self.events.push(Event::Met { by, orders });
        }
    }

    /// All lanes execute it together, and nothing else is to be seen.
    pub(super) fn together(&mut self, doing: &Doing) -> Then {
        match self.meet_aligned(doing) {
            Some(members) => {
                self.note_meeting(all(doing, &members), false);
                self.pass(doing, &members)
            }
            None => Then::Done,
        }
    }

    /// A meeting of the whole warp at one instruction.
    pub(super) fn meet_aligned(&mut self, doing: &Doing) -> Option<SmallVec<[Member; 4]>> {
        let alone = std::mem::take(&mut self.warps[doing.warp].groups[doing.group].alone);
        let named = if alone { doing.lanes } else { Mask::MAX };
        self.meet(doing, Meeting::Aligned(doing.pc), named)
    }
}

/// All lanes that take part in a meeting.
pub(super) fn all(doing: &Doing, members: &[Member]) -> Site {
    let lanes = members.iter().fold(0, |mask, member| mask | member.doing.lanes);
    Site { lanes, ..doing.site() }
}
