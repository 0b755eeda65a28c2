//! A transition of the search: a few steps of a machine, of which only the first has a place among what
//! others do.

use crate::machine::Machine;
use crate::machine::choice::{Choose, Question, Recorder};
use crate::machine::drive::{Stand, Turn};

use super::explore::Observer;

/// What a machine can do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transition {
    /// Everybody comes to the first instruction whose place matters.
    Start,
    /// A group has its turn.
    Turn {
        /// Its warp.
        warp: u32,
        /// Its index.
        group: u32,
        /// Whether its wait gives up, or it goes on without other lanes.
        other: bool,
    },
    /// A copy lands: its index in the list.
    Landing(u32),
    /// So many steps as the default strategy has them.
    Default(u32),
    /// All wait: shows whether that is for ever.
    Idle,
}

/// Answers questions within a transition.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Whether a wait gives up, or a group goes on alone.
    other: bool,
    /// Whether that was asked.
    pub asked: bool,
}

impl Choose for Answers {
    fn choose(&mut self, question: Question, _: u32) -> u32 {
        match question {
            Question::Warp { next } | Question::Group { next } => next,
            Question::Copy { late, .. } => late.into(),
            Question::Part => 0,
            // How long a sleep lasts says nothing.
            Question::Wake => 1,
            Question::GiveUp | Question::GoOn => {
                self.asked = true;
                self.other.into()
            }
        }
    }
}

/// A machine that is driven, with who watches it.
pub(super) struct Driven<'a, 'p, O> {
    /// The machine.
    pub machine: &'a mut Machine<'p>,
    /// Who watches it.
    pub observer: &'a mut O,
    /// What was answered.
    pub recorder: Recorder<Answers>,
}

/// So many steps that others cannot see are made at once.
const MOST_UNSEEN: u32 = 4096;
/// When everybody waits, it takes fewer steps than this to find that out.
const MOST_IDLE: u32 = 100_000;

impl<'a, 'p, O: Observer> Driven<'a, 'p, O> {
    pub fn new(machine: &'a mut Machine<'p>, observer: &'a mut O) -> Driven<'a, 'p, O> {
        Driven { machine, observer, recorder: Recorder::new(Answers::default()) }
    }

    /// Makes a transition.
    pub fn make(&mut self, transition: Transition) {
        match transition {
            Transition::Start => {}
            Transition::Turn { warp, group, other } => {
                self.recorder.inner_mut().other = other;
                self.machine.take_turn((warp as usize, group as usize), &mut self.recorder);
                self.observer.observe(self.machine);
                self.recorder.inner_mut().other = false;
                if other {
                    self.give_up(warp as usize);
                }
            }
            Transition::Landing(copy) => {
                self.machine.land_whole(copy as usize, &mut self.recorder);
                self.observer.observe(self.machine);
            }
            Transition::Idle => self.idle(),
            Transition::Default(steps) => (0..steps).for_each(|_| self.step()),
        }
        self.settle();
    }

    /// A step of the default strategy.
    pub fn step(&mut self) {
        if self.is_over() {
            return;
        }
        self.machine.step(&mut self.recorder);
        self.observer.observe(self.machine);
    }

    pub fn is_over(&self) -> bool {
        self.machine.outcome().is_some() || self.observer.has_failed()
    }

    /// A wait that gives up is told so at once: later is the same as if it had been asked later.
    fn give_up(&mut self, warp: usize) {
        let found = self
            .machine
            .turns()
            .into_iter()
            .find(|&(other, group)| other == warp && self.machine.warps[warp].groups[group].gave_up);
        if let Some(turn) = found.filter(|_| !self.is_over()) {
            self.machine.take_turn(turn, &mut self.recorder);
            self.observer.observe(self.machine);
        }
    }

    /// Lets everybody go on to the next instruction whose place matters.
    fn settle(&mut self) {
        let mut left = MOST_UNSEEN;
        while left > 0 && !self.is_over() {
            left -= 1;
            self.machine.notice_changes();
            let turns = self.machine.turns();
            if turns.is_empty() && self.machine.copies.is_empty() {
                self.idle();
            } else if !self.go_on(&turns) && !self.land_unseen() {
                return;
            }
        }
    }

    /// Lets the first that can do something unseen do it. False: none can.
    fn go_on(&mut self, turns: &[Turn]) -> bool {
        let mut any = false;
        for &turn in
            turns.iter().filter(|&&turn| self.machine.stand(turn) == Stand::Unseen).collect::<Vec<_>>()
        {
            any = true;
            let paused = self.machine.approach(turn, &mut self.recorder);
            self.observer.observe(self.machine);
            if !paused {
                // The other groups may have other numbers now.
                break;
            }
        }
        any
    }

    /// Lets a copy land whose place does not matter: for one who waits, or because nothing else is left.
    fn land_unseen(&mut self) -> bool {
        let waited = || self.machine.next_unseen(false);
        let found = self.machine.next_early().or_else(waited).or_else(|| {
            let others = Self::possible(self.machine, false);
            let only_idle = others.iter().all(Transition::is_for_want_of_others);
            self.machine.next_unseen(true).filter(|_| only_idle)
        });
        let Some(copy) = found else { return false };
        self.machine.land_whole(copy, &mut self.recorder);
        self.observer.observe(self.machine);
        true
    }

    /// Nobody can go on: the machine tells what that means.
    fn idle(&mut self) {
        let epoch = self.machine.epoch();
        for _ in 0..MOST_IDLE {
            self.step();
            if self.is_over() || self.machine.epoch() != epoch {
                return;
            }
        }
    }

    /// What can happen now. With `apart`, clusters have their turns one after the other.
    pub fn possible(machine: &Machine, apart: bool) -> Vec<Transition> {
        let groups = machine.turns().into_iter().map(|turn @ (warp, group)| {
            let other = machine.stand(turn) == Stand::Blocked;
            (machine.cluster_of(warp), Transition::Turn { warp: warp as u32, group: group as u32, other })
        });
        let copies = machine.copies.list.iter().enumerate().filter(|(_, copy)| !machine.lands_unseen(copy));
        let copies = copies.map(|(index, copy)| {
            (machine.cluster_of(copy.site.warp as usize), Transition::Landing(index as u32))
        });
        let mut all: Vec<(u32, Transition)> = groups.chain(copies).collect();
        let busy = all.iter().filter(|(_, transition)| !transition.is_for_want_of_others());
        match busy.map(|(cluster, _)| *cluster).min() {
            Some(first) if apart => all.retain(|(cluster, _)| *cluster == first),
            Some(_) => {}
            None => all.push((0, Transition::Idle)),
        }
        all.into_iter().map(|(_, transition)| transition).collect()
    }
}

impl Transition {
    /// Whether it only tells what those do who wait for others.
    fn is_for_want_of_others(&self) -> bool {
        matches!(self, Transition::Turn { other: true, .. } | Transition::Idle)
    }
}
