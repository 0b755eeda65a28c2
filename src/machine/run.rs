//! The scheduler: who runs next, and what happens when nobody can.

use smallvec::SmallVec;

use super::Machine;
use super::choice::{Choose, Question};
use super::code::{NONE, Op, Pc, Source, Space};
use super::column::Mask;
use super::copy::Copies;
use super::cta::Site;
use super::drive::Stand;
use super::event::Event;
use super::exec::local::{self, Context, Stop, Wrong};
use super::finding::Outcome;
use super::rule;
use super::warp::{Group, State};
use super::{Reconverge, words};

/// The warps that can go on, a bit each.
#[derive(Clone, Debug, Default)]
pub(super) struct Ready {
    words: Vec<u64>,
    /// How many there are in each block of words.
    blocks: Vec<u32>,
    pub count: u32,
}

/// Words of a block.
const BLOCK: usize = 64;

impl Ready {
    /// Notes whether a warp can go on.
    pub fn set(&mut self, warp: usize, ready: bool) {
        let (at, bit) = (warp / 64, 1 << (warp % 64));
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
            self.blocks.resize(at / BLOCK + 1, 0);
        }
        if (self.words[at] & bit != 0) == ready {
            return;
        }
        self.words[at] ^= bit;
        let block = &mut self.blocks[at / BLOCK];
        if ready {
            *block += 1;
            self.count += 1;
        } else {
            *block -= 1;
            self.count -= 1;
        }
    }

    /// Whether a warp is among them.
    pub fn has(&self, warp: usize) -> bool {
        self.words.get(warp / 64).is_some_and(|word| word >> (warp % 64) & 1 == 1)
    }

    /// How many are below `warp`.
    pub fn rank(&self, warp: usize) -> u32 {
        let at = warp / 64;
        let blocks: u32 = self.blocks.iter().take(at / BLOCK).sum();
        let words = self.words.iter().take(at).skip(at / BLOCK * BLOCK);
        let part = self.words.get(at).map_or(0, |word| (word & ((1 << (warp % 64)) - 1)).count_ones());
        blocks + words.map(|word| word.count_ones()).sum::<u32>() + part
    }

    /// Number `n` of them.
    fn nth(&self, mut n: u32) -> Option<usize> {
        let mut first = 0;
        for &count in &self.blocks {
            if n < count {
                break;
            }
            n -= count;
            first += BLOCK;
        }
        for (index, &word) in self.words.iter().enumerate().skip(first) {
            let ones = word.count_ones();
            if n < ones {
                let mut word = word;
                (0..n).for_each(|_| word &= word - 1);
                return Some(64 * index + word.trailing_zeros() as usize);
            }
            n -= ones;
        }
        None
    }
}

/// What is known of standing still.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stall {
    /// The change of memory that was the last.
    epoch: u64,
    /// How often nobody could go on since then.
    rounds: u64,
    /// When somebody is to be looked after next who waits at a join.
    next_look: u64,
    /// When the last part of a copy landed, or the first copy under way started.
    pub landed: u64,
    /// Waits that have failed since then.
    pub failed: u32,
    /// Copies below this number should land.
    overdue: u32,
    /// Waits that have failed since the last change of memory.
    pub vain: u32,
    /// Time that passed because everybody slept.
    pub jumped: u64,
    /// The warp that ran last.
    last: usize,
    /// Groups that come back to the same state.
    spinning: u32,
    /// The change of memory that they were last woken for.
    woken: u64,
    /// When the next one wakes; 0: nobody sleeps.
    wake: u64,
}

/// A group executes so many instructions at most that nobody else can see before others run.
const QUANTUM: u64 = 4096;
/// So many waits fail without any change of memory before that counts as a deadlock, if everybody waits.
/// Registers may change all the while: counting one's tries is no progress.
const MOST_VAIN: u32 = 200_000;
/// So many instructions long a group waits for its other lanes: they may wait for it in turn.
const PATIENCE: u64 = 20_000;
/// So many instructions, or failed waits, long no copy lands that could: others may be counting their tries.
const LATEST: u64 = 10_000;
const MOST_FAILED: u32 = 64;
/// Loops are looked at from this many iterations on.
const LOOPS: u32 = 16;

impl Machine<'_> {
    /// Runs to the end. `progress` is called now and then.
    pub fn run(&mut self, choose: &mut dyn Choose, progress: &mut dyn FnMut(&Self)) -> Outcome {
        self.run_watched(choose, &mut |_| {}, progress)
    }

    /// Runs to the end; `watch` is called after every step.
    pub fn run_watched(
        &mut self,
        choose: &mut dyn Choose,
        watch: &mut dyn FnMut(&mut Self),
        progress: &mut dyn FnMut(&Self),
    ) -> Outcome {
        let mut next = PROGRESS;
        loop {
            if let Some(outcome) = self.stopped {
                self.finish();
                return outcome;
            }
            self.step(choose);
            watch(self);
            if self.time >= next {
                next = self.time + PROGRESS;
                progress(self);
            }
        }
    }

    /// One step: a copy that lands, or a group that executes instructions up to the next that others can see.
    pub fn step(&mut self, choose: &mut dyn Choose) {
        self.land_by_choice(choose);
        if self.stopped.is_some() {
            return;
        }
        self.notice_changes();
        if self.stall.vain > MOST_VAIN {
            self.stall.vain = 0;
            if self.copies.is_empty() && self.everybody_polls() {
                return self.deadlock();
            }
        }
        if self.ready.count == 0 {
            return self.idle(choose);
        }
        let Some(warp) = self.choose_warp(choose) else { return };
        let Some(group) = self.choose_group(warp, choose) else {
            self.ready.set(warp, false);
            return;
        };
        self.go(warp, group, false, choose);
    }

    /// A group has its turn. With `pause` it stops before an instruction whose place among what others do
    /// matters; then true.
    #[inline]
    pub(super) fn go(&mut self, warp: usize, group: usize, pause: bool, choose: &mut dyn Choose) -> bool {
        self.stall.last = warp;
        let paused = self.turn(warp, group, pause, choose);
        if let Some(warp_state) = self.warps.get(warp) {
            let ready = warp_state.is_ready();
            self.ready.set(warp, ready);
        }
        self.statistics.steps = self.time - self.stall.jumped;
        if self.statistics.steps >= self.options.max_steps {
            self.stopped.get_or_insert(Outcome::Limit);
        }
        paused
    }

    fn land_by_choice(&mut self, choose: &mut dyn Choose) {
        while !self.copies.is_empty() && self.stopped.is_none() && self.land_one(choose) {}
    }

    /// Asks which copy lands, if any; whether one did.
    pub(crate) fn land_one(&mut self, choose: &mut dyn Choose) -> bool {
        let options = self.copies.list.len() as u32 + 1;
        let late = self.is_landing_late();
        let answer = choose.decide(self, Question::Copy { or_none: true, late }, options);
        let Some(copy) = answer.checked_sub(1) else { return false };
        self.land_part(copy as usize, choose);
        true
    }

    /// Whether the first copy has been under way for long. Then the older half of them should land.
    fn is_landing_late(&mut self) -> bool {
        let Some(first) = self.copies.list.front().map(|copy| copy.id) else { return false };
        if self.time - self.stall.landed > LATEST || self.stall.failed > MOST_FAILED {
            let middle = self.copies.list.len() / 2;
            self.stall.overdue = self.copies.list.get(middle).map_or(0, |copy| copy.id + 1);
        }
        first < self.stall.overdue
    }

    fn land_part(&mut self, copy: usize, choose: &mut dyn Choose) {
        let parts = self.copies.list.get(copy).map_or(0, |copy| copy.parts.len()) as u32;
        let part = if parts > 1 { choose.decide(self, Question::Part, parts) } else { 0 };
        self.land(copy, part as usize);
        (self.stall.landed, self.stall.failed) = (self.time, 0);
    }

    /// Wakes those whose time has come, or whose memory has changed.
    pub(crate) fn notice_changes(&mut self) {
        if self.stall.epoch != self.epoch {
            self.stall.epoch = self.epoch;
            self.stall.rounds = 0;
            self.stall.vain = 0;
        }
        if self.stall.wake != 0 && self.time >= self.stall.wake {
            self.wake_sleepers();
        }
        if self.stall.spinning > 0 {
            self.wake_spinners();
        }
        if self.time >= self.stall.next_look {
            self.stall.next_look = self.time + PATIENCE / 4;
            self.release_joins(self.time.saturating_sub(PATIENCE), false);
        }
    }

    fn wake_sleepers(&mut self) {
        let now = self.time;
        let mut next = 0;
        for (index, warp) in self.warps.iter_mut().enumerate() {
            for group in &mut warp.groups {
                match group.state {
                    State::Sleeping(until) if until <= now => {
                        group.state = State::Ready;
                        self.ready.set(index, true);
                    }
                    State::Sleeping(until) => next = if next == 0 { until } else { until.min(next) },
                    _ => {}
                }
            }
        }
        self.stall.wake = next;
    }

    /// Lets groups go on that come back to the same state, if memory has changed since.
    fn wake_spinners(&mut self) {
        let epoch = self.epoch;
        if std::mem::replace(&mut self.stall.woken, epoch) == epoch {
            return;
        }
        for (index, warp) in self.warps.iter_mut().enumerate() {
            for group in &mut warp.groups {
                if matches!(group.state, State::Spinning(since) if since != epoch) {
                    group.state = State::Ready;
                    // It is probably still waiting: look soon again.
                    group.watch.loops = LOOPS - 1;
                    group.watch.mark = None;
                    self.stall.spinning -= 1;
                    self.ready.set(index, true);
                }
            }
        }
    }

    /// Lets groups go on that have waited for other lanes since before `since`, or the first of them.
    fn release_joins(&mut self, since: u64, only_first: bool) -> bool {
        let mut released = false;
        for index in 0..self.warps.len() {
            let joining =
                |group: &Group| matches!(group.state, State::Joining(_)) && group.watch.joined < since;
            while let Some(group) = self.warps[index].groups.iter().position(joining) {
                let state = &mut self.warps[index].groups[group];
                state.state = State::Ready;
                let keep = state.joins.len().saturating_sub(1);
                self.warps[index].leave_joins(group, keep);
                self.warps[index].parted_by_schedule = true;
                self.ready.set(index, true);
                released = true;
                if only_first {
                    return true;
                }
            }
        }
        released
    }

    /// The warps that can go on, in the order in which the schedule counts them.
    pub fn ready_warps(&self) -> impl Iterator<Item = usize> {
        (0..self.warps.len()).filter(|&warp| self.ready.has(warp))
    }

    /// The warp that ran last.
    pub fn last_warp(&self) -> usize {
        self.stall.last
    }

    fn choose_warp(&mut self, choose: &mut dyn Choose) -> Option<usize> {
        let count = self.ready.count;
        if count == 1 {
            return self.ready.nth(0);
        }
        let next = self.ready.rank(self.stall.last + 1) % count;
        let answer = choose.decide(self, Question::Warp { next }, count);
        self.ready.nth(answer.min(count - 1))
    }

    fn choose_group(&mut self, warp: usize, choose: &mut dyn Choose) -> Option<usize> {
        let state = &self.warps[warp];
        let ready: SmallVec<[usize; 8]> = state
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.state == State::Ready)
            .map(|(index, _)| index)
            .collect();
        let found = match ready.as_slice() {
            [] => return None,
            [only] => *only,
            several => {
                let last = state.last_group as usize;
                let next = several.iter().position(|&index| index > last).unwrap_or(0) as u32;
                let answer = choose.decide(self, Question::Group { next }, several.len() as u32);
                several[(answer as usize).min(several.len() - 1)]
            }
        };
        self.warps[warp].last_group = found as u32;
        Some(found)
    }

    /// A group executes instructions. True: it has paused, see [`Machine::go`].
    #[inline]
    fn turn(&mut self, warp: usize, group: usize, pause: bool, choose: &mut dyn Choose) -> bool {
        let end = self.time + QUANTUM;
        let mut excused = NONE;
        while self.stopped.is_none() && self.time < end {
            let context = Context {
                code: &self.code,
                windows: self.image.windows,
                joins: self.options.reconverge != Reconverge::Never,
                rank: self.ctas[self.warps[warp].cta as usize].rank,
                excused,
            };
            let budget = end - self.time;
            let work = &mut self.statistics.lane_instructions;
            match local::run(&context, &mut self.warps[warp], group, &mut self.time, work, budget) {
                Stop::Enough => {}
                Stop::Back => {
                    self.watch_loop(warp, group);
                    if self.warps[warp].groups[group].state != State::Ready {
                        return false;
                    }
                }
                Stop::Join if pause && self.options.reconverge == Reconverge::Random => return true,
                Stop::Join => {
                    self.reach_join(warp, group, choose);
                    return false;
                }
                Stop::Parted => {
                    self.statistics.divergences += 1;
                    return false;
                }
                Stop::Wrong(pc, wrong) => {
                    if !self.local_fault(warp, pc, wrong) {
                        return false;
                    }
                    excused = pc;
                }
                Stop::Outside(_) if pause && self.stand((warp, group)) != Stand::Unseen => return true,
                Stop::Outside(lanes) => {
                    if !self.visible(warp, group, lanes, choose) {
                        return false;
                    }
                }
            }
        }
        false
    }

    /// An instruction that needs the machine. True: nobody else could see it, and the group can go on.
    fn visible(&mut self, warp: usize, group: usize, lanes: Mask, choose: &mut dyn Choose) -> bool {
        let pc = self.warps[warp].groups[group].pc;
        let private = is_private(&self.code.insts[pc as usize].op);
        self.execute(warp, group, lanes);
        self.time += 1;
        self.statistics.lane_instructions += u64::from(lanes.count_ones());
        if self.options.events {
            self.events.push(Event::Step { warp: warp as u32, pc, lanes });
        }
        if self.stopped.is_some() {
            return false;
        }
        self.note_state(warp, choose);
        let same = self.warps[warp].groups.get(group).is_some_and(|g| g.mask & lanes == lanes);
        private && same && self.warps[warp].groups[group].state == State::Ready
    }

    /// Asks whether waits that have just begun give up; notes who sleeps.
    fn note_state(&mut self, warp: usize, choose: &mut dyn Choose) {
        for index in 0..self.warps[warp].groups.len() {
            let group = &self.warps[warp].groups[index];
            let question = match group.state {
                State::Phase { .. } if !group.asked => Some(Question::GiveUp),
                State::Sleeping(_) if !group.asked => Some(Question::Wake),
                _ => None,
            };
            let goes_on = question.is_some_and(|question| choose.decide(self, question, 2) == 1);
            let group = &mut self.warps[warp].groups[index];
            group.asked |= question.is_some();
            match group.state {
                State::Phase { .. } if goes_on => {
                    group.gave_up = true;
                    group.state = State::Ready;
                }
                State::Sleeping(_) if goes_on => group.state = State::Ready,
                State::Sleeping(until) => {
                    self.stall.wake = if self.stall.wake == 0 { until } else { self.stall.wake.min(until) };
                }
                State::Ready => group.asked = false,
                _ => {}
            }
        }
    }

    fn reach_join(&mut self, warp: usize, group: usize, choose: &mut dyn Choose) {
        let Some(join) = self.warps[warp].join_here(group) else { return };
        let random = self.options.reconverge == Reconverge::Random;
        let goes_on = random && choose.decide(self, Question::GoOn, 2) == 1;
        if goes_on {
            let keep = self.warps[warp].groups[group].joins.len() - 1;
            self.warps[warp].leave_joins(group, keep);
        } else {
            self.warps[warp].groups[group].watch.joined = self.time;
            self.warps[warp].wait_at_join(group, join);
        }
    }

    /// Reports what is wrong with a local instruction. True: the run goes on.
    fn local_fault(&mut self, warp: usize, pc: Pc, wrong: Wrong) -> bool {
        let site = |lanes: Mask| Site { pc, warp: warp as u32, lanes };
        match wrong {
            Wrong::Undefined(what, lanes) => {
                let inst = &self.code.insts[pc as usize];
                let source = match inst.op {
                    Op::Switch { index, .. } => index.source(),
                    _ => Source::Predicate(inst.guard.0 >> 1, false),
                };
                let name = self.register_name(pc, source);
                let message = format!("{what} {name}is a value that nobody has set");
                let site = site(lanes);
                self.wrong(site, &rule::UNDEFINED_VALUE, None, message, |machine, d| machine.origin(d, site));
                self.stopped.is_none()
            }
            Wrong::Parted(lanes) => {
                self.statistics.divergences += 1;
                let message = "lanes part here, though `.uni` promises that they do not".to_string();
                self.wrong(site(lanes), &rule::DIVERGENT_UNIFORM, None, message, |machine, d| {
                    d.note(format!("only {} take the branch", machine.threads(site(lanes))))
                });
                false
            }
            Wrong::Index(lanes, targets) => {
                let message = format!("the index is beyond the {}", words::count(targets.into(), "target"));
                self.wrong(site(lanes), &rule::BRANCH_INDEX, None, message, |_, d| d);
                false
            }
        }
    }

    /// A branch back: looks now and then whether the loop changes anything.
    fn watch_loop(&mut self, warp: usize, group: usize) {
        let epoch = self.epoch;
        let state = &mut self.warps[warp].groups[group];
        state.watch.loops = state.watch.loops.saturating_add(1);
        let (loops, pc) = (state.watch.loops, state.pc);
        let due = loops >= LOOPS && loops.is_power_of_two();
        let marked = state.watch.mark.filter(|(mark, ..)| *mark == pc);
        if marked.is_none() && !due {
            return;
        }
        let mask = state.mask;
        let print = self.warps[warp].registers.fingerprint(mask);
        let state = &mut self.warps[warp].groups[group];
        if marked == Some((pc, print, epoch)) {
            state.state = State::Spinning(epoch);
            state.watch.polled = Some(epoch);
            self.stall.spinning += 1;
        }
        state.watch.mark = due.then_some((pc, print, epoch));
    }

    /// Nobody can go on by itself.
    fn idle(&mut self, choose: &mut dyn Choose) {
        if !self.copies.is_empty() {
            let copies = self.copies.list.len() as u32;
            let copy = if copies > 1 {
                choose.decide(self, Question::Copy { or_none: false, late: false }, copies)
            } else {
                0
            };
            return self.land_part(copy as usize, choose);
        }
        if self.ctas.iter().all(|cta| cta.live_warps == 0) {
            self.stopped = Some(Outcome::Completed);
            return;
        }
        self.stall.rounds += 1;
        let patient = self.stall.rounds < 8;
        let went_on = (patient && self.sleep_on())
            || self.release_joins(u64::MAX, true)
            || self.sleep_on()
            || self.give_up();
        if !went_on {
            self.deadlock();
        }
    }

    /// Lets time pass until the next one wakes. False: nobody sleeps, or only such as come back to the same
    /// state.
    fn sleep_on(&mut self) -> bool {
        let groups = self.warps.iter().enumerate();
        let all = groups.flat_map(|(index, warp)| warp.groups.iter().map(move |group| (index, group)));
        let changed = all.filter_map(|(warp, group)| match group.state {
            State::Sleeping(until) if !self.comes_back(warp, group) => Some(until),
            _ => None,
        });
        let Some(wake) = changed.min() else { return false };
        for warp in 0..self.warps.len() {
            for group in 0..self.warps[warp].groups.len() {
                if matches!(self.warps[warp].groups[group].state, State::Sleeping(until) if until <= wake) {
                    self.mark(warp, group);
                }
            }
        }
        self.stall.jumped += wake.saturating_sub(self.time);
        self.time = self.time.max(wake);
        self.wake_sleepers();
        true
    }

    /// Lets a wait give up. False: all that wait come back to the same state.
    fn give_up(&mut self) -> bool {
        let mut any = false;
        for warp in 0..self.warps.len() {
            for group in 0..self.warps[warp].groups.len() {
                let waits = matches!(self.warps[warp].groups[group].state, State::Phase { .. });
                if waits && !self.comes_back(warp, &self.warps[warp].groups[group]) {
                    self.mark(warp, group);
                    let state = &mut self.warps[warp].groups[group];
                    state.gave_up = true;
                    state.state = State::Ready;
                    self.ready.set(warp, true);
                    any = true;
                }
            }
        }
        any
    }

    /// Whether a group that was let go on at its mark is there again in the same state, and nothing has
    /// changed since.
    fn comes_back(&self, warp: usize, group: &Group) -> bool {
        group.watch.let_go == Some(self.mark_of(warp, group))
    }

    /// What tells whether a group comes back to the same state: behind a sleep it is about to execute the
    /// instruction at which it may wait next.
    fn mark_of(&self, warp: usize, group: &Group) -> (Pc, u64, u64) {
        let print = self.warps[warp].registers.fingerprint(group.mask);
        let sleeps = matches!(group.state, State::Sleeping(_));
        (group.pc, print ^ u64::from(sleeps), self.epoch)
    }

    /// Remembers the state of a group that is about to go on.
    fn mark(&mut self, warp: usize, group: usize) {
        let mark = self.mark_of(warp, &self.warps[warp].groups[group]);
        self.warps[warp].groups[group].watch.let_go = Some(mark);
    }

    /// Whether every group waits for something, or has asked for it in vain since the last change.
    fn everybody_polls(&self) -> bool {
        self.warps.iter().flat_map(|warp| &warp.groups).all(|group| match group.state {
            State::Ready | State::Sleeping(_) | State::Joining(_) => group.watch.polled == Some(self.epoch),
            _ => true,
        })
    }

    /// After the end: what is still under way does not matter; keeps the history of barriers.
    fn finish(&mut self) {
        self.copies = Copies::default();
        for cta in 0..self.ctas.len() as u32 {
            if self.ctas[cta as usize].live_warps > 0 {
                self.keep_history(cta);
            }
        }
        self.history.sort_unstable_by_key(|used| (used.cta, used.address));
    }
}

/// The progress is told after so many instructions.
const PROGRESS: u64 = 1 << 20;

/// Whether nobody but the warp can see what an instruction does.
fn is_private(op: &Op) -> bool {
    match op {
        Op::Memory(access) => matches!(access.address.space, Space::Param | Space::Local | Space::Const),
        Op::Call(_) | Op::Return { .. } | Op::Stack(_) | Op::Cancel(_) => true,
        _ => false,
    }
}
