//! Operations on mbarriers: which object is meant, what its state machine makes of it, whom that wakes.

use smallvec::SmallVec;

use super::access::{Extent, Reach};
use super::{Doing, Place, Then, local};
use crate::diagnostic::Diagnostic;
use crate::machine::barrier::{self, Effect, Layout, PhaseType, Token, Violation};
use crate::machine::code::{self, BarrierOp, Dst, NONE, Space};
use crate::machine::column::{Column, LANES, Mask, lanes};
use crate::machine::copy::Track;
use crate::machine::cta::{Object, Site};
use crate::machine::event::{self, BarrierStep, BarrierUse, Event};
use crate::machine::finding::Fault;
use crate::machine::order::Order;
use crate::machine::rule::{self, RunRule};
use crate::machine::warp::State;
use crate::machine::words::count;
use crate::machine::{Machine, Reconverge};

/// A barrier and the lanes that use it.
pub(super) type Used = (u32, u32, Mask);

impl Machine<'_> {
    pub(super) fn barrier(&mut self, doing: &Doing, barrier: &code::Barrier) -> Then {
        if let BarrierOp::PendingCount = barrier.op {
            self.pending_count(doing, barrier);
            return if self.stopped.is_some() { Then::Done } else { Then::Next };
        }
        if !self.address_is_defined(doing, &barrier.address) {
            return Then::Done;
        }
        let used = self.used_barriers(doing, barrier);
        if self.stopped.is_some() {
            return Then::Done;
        }
        if let BarrierOp::Wait { parity, blocks, phase_type } = barrier.op {
            return self.wait(doing, barrier, &used, parity, blocks, phase_type);
        }
        for &(cta, address, lanes) in &used {
            let part = Doing { lanes, ..*doing };
            self.change(&part, barrier, cta, address);
            if self.stopped.is_some() {
                return Then::Done;
            }
        }
        Then::Next
    }

    /// The barriers that the lanes use, each with its lanes.
    fn used_barriers(&mut self, doing: &Doing, barrier: &code::Barrier) -> SmallVec<[Used; 2]> {
        let bases = self.bases(doing, &barrier.address);
        let masks = barrier.mask.map(|mask| self.values(doing, mask));
        let remote_allowed =
            matches!(barrier.op, BarrierOp::ExpectTx | BarrierOp::CompleteTx | BarrierOp::Arrive { .. });
        let mut used: SmallVec<[Used; 2]> = SmallVec::new();
        for lane in lanes(doing.lanes) {
            let Some((cta, address)) =
                self.barrier_at(doing, lane, &barrier.address, bases[lane], remote_allowed)
            else {
                if self.stopped.is_some() {
                    return used;
                }
                continue;
            };
            let mut add = |cta: u32| match used.iter_mut().find(|(c, a, _)| (*c, *a) == (cta, address)) {
                Some((.., mask)) => *mask |= 1 << lane,
                None => used.push((cta, address, 1 << lane)),
            };
            match &masks {
                None => add(cta),
                Some(masks) => {
                    let ctas = self.clusters[self.ctas[cta as usize].cluster as usize].ctas.clone();
                    let named = (0..32).filter(|rank| masks[lane] >> rank & 1 == 1);
                    let (there, missing): (Vec<u32>, Vec<u32>) =
                        named.map(|rank| ctas.start + rank).partition(|cta| ctas.contains(cta));
                    there.into_iter().for_each(&mut add);
                    if let Some(missing) = missing.first() {
                        let rank = u64::from(missing - ctas.start);
                        self.out_of_reach(doing, lane, Reach::NoCta(rank), 8, BARRIER_RULES);
                    }
                }
            }
        }
        used
    }

    /// The CTA and address of a barrier operand.
    pub(super) fn barrier_at(
        &mut self,
        doing: &Doing,
        lane: usize,
        address: &code::Address,
        base: u64,
        remote_allowed: bool,
    ) -> Option<(u32, u32)> {
        let site = Site { lanes: 1 << lane, ..doing.site() };
        match self.place(doing.warp, address, Extent::natural(base, 8)) {
            Ok(Place::Shared(cta, offset)) => {
                let own = self.warps[doing.warp].cta;
                if cta != own && !remote_allowed {
                    let at = offset as u32 + self.shared_start() as u32;
                    let message = format!(
                        "{} cannot be used like this from {}: this operation is for barriers of the own CTA",
                        self.barrier_name(cta, at),
                        self.cta_name(own)
                    );
                    self.wrong(
                        site,
                        &rule::FOREIGN_BARRIER,
                        Some(Fault::IllegalInstruction),
                        message,
                        |_, d| d,
                    );
                    return None;
                }
                Some((cta, offset as u32 + self.shared_start() as u32))
            }
            Ok(_)
            | Err(Reach::Outside(
                Space::Global | Space::Generic | Space::Local | Space::Const | Space::Param,
                _,
            )) => {
                let at = base.wrapping_add(address.offset as u64);
                let message = format!("the address {at:#x} of the barrier lies outside of shared memory");
                let rule = &rule::NO_SHARED_BARRIER;
                self.wrong(site, rule, Some(Fault::IllegalInstruction), message, |machine, d| {
                    machine.nearest(d, Space::Global, at)
                });
                None
            }
            Err(reach) => {
                self.out_of_reach(doing, lane, reach, 8, BARRIER_RULES);
                None
            }
        }
    }

    /// Makes sure that a valid object is there; otherwise complains, and makes do with what the memory holds.
    pub(super) fn make_sure(&mut self, site: Site, cta: u32, address: u32) {
        let object = self.ctas[cta as usize].objects.get(&address);
        if object.is_some_and(|object| object.valid) {
            return;
        }
        let inval = object.and_then(|object| object.inval);
        let name = self.barrier_name(cta, address);
        let message = match inval {
            Some(_) => format!("{name} is no barrier any more"),
            None => format!("{name} is no barrier: it has not been initialised"),
        };
        self.wrong(site, &rule::NOT_A_BARRIER, None, message, |machine, d| match inval {
            Some(inval) => machine.also(d, inval, "invalidated"),
            None => d.help(
                "initialise it in one thread, and synchronise the CTA (or cluster) before others use it",
            ),
        });
        let object = Object { valid: false, ..Object::new(barrier::Barrier::default(), 0, site) };
        self.ctas[cta as usize].objects.entry(address).or_insert(object);
    }

    /// A barrier as it is now, for those who watch.
    pub(super) fn object_now(&self, cta: u32, address: u32) -> event::Object {
        let object = self.ctas[cta as usize].objects.get(&address);
        let (lifetime, phase) = object.map_or((0, 0), |o| (o.lifetime, o.barrier.phase()));
        // A CTA counts its own.
        let lifetime = if lifetime == 0 { 0 } else { u64::from(cta) << 32 | u64::from(lifetime) };
        event::Object { cta, address, lifetime, phase }
    }

    /// Puts down a use of a barrier.
    fn note_use(&mut self, by: Site, (cta, address): (u32, u32), what: BarrierStep, order: Order) {
        if self.options.events {
            let object = self.object_now(cta, address);
            self.events.push(Event::Barrier(Box::new(BarrierUse { by, object, what, order })));
        }
    }

    fn object(&mut self, cta: u32, address: u32) -> Option<&mut Object> {
        self.ctas[cta as usize].objects.get_mut(&address)
    }

    /// Everything but waits.
    fn change(&mut self, doing: &Doing, barrier: &code::Barrier, cta: u32, address: u32) {
        if let Some(value) = barrier.value
            && !self.is_defined(doing, value, "the count")
        {
            return;
        }
        if let BarrierOp::Init(layout) = barrier.op {
            return self.init(doing, barrier, layout, cta, address);
        }
        self.make_sure(doing.site(), cta, address);
        if self.stopped.is_some() {
            return;
        }
        match barrier.op {
            BarrierOp::Inval => {
                for lane in lanes(doing.lanes) {
                    let part = Doing { lanes: 1 << lane, ..*doing };
                    self.make_sure(part.site(), cta, address);
                    self.note_use(part.site(), (cta, address), BarrierStep::Inval, barrier.order);
                    self.invalidate(&part, cta, address);
                }
            }
            BarrierOp::ExpectTx => self.transactions(doing, barrier, cta, address, true),
            BarrierOp::CompleteTx => self.transactions(doing, barrier, cta, address, false),
            BarrierOp::Arrive { drop, no_complete, expect_tx } => {
                self.arrive(doing, barrier, cta, address, drop, no_complete, expect_tx);
            }
            BarrierOp::CheckLayout(layout) => {
                self.note_use(doing.site(), (cta, address), BarrierStep::Query, barrier.order);
                let same = self.object(cta, address).is_some_and(|o| o.barrier.layout() == layout);
                let set = if same { Mask::MAX } else { 0 };
                self.set_predicate(doing, barrier.p[0], set, 0);
            }
            BarrierOp::Track { increments } => {
                let what = if increments { BarrierStep::Increment } else { BarrierStep::Track };
                self.note_use(doing.site(), (cta, address), what, barrier.order);
                self.track(doing, cta, address, increments);
            }
            BarrierOp::Init(_) | BarrierOp::Wait { .. } | BarrierOp::PendingCount => {}
        }
        self.memory_changed(doing);
    }

    pub(super) fn set_predicate(&mut self, doing: &Doing, predicate: u32, set: Mask, undefined: Mask) {
        if predicate != NONE {
            let registers = &mut self.warps[doing.warp].registers;
            registers.set_predicate(doing.frame.predicates + predicate, doing.lanes, set, undefined);
        }
    }

    fn init(&mut self, doing: &Doing, barrier: &code::Barrier, layout: Layout, cta: u32, address: u32) {
        let counts = barrier.value.map_or([0; LANES], |value| self.values(doing, value));
        for lane in lanes(doing.lanes) {
            let site = Site { lanes: 1 << lane, ..doing.site() };
            let before = self.object(cta, address).filter(|object| object.valid).map(|object| object.init);
            if let Some(before) = before {
                let name = self.barrier_name(cta, address);
                let message = format!("{name} is a valid barrier already");
                self.wrong(site, &rule::REINITIALIZED, None, message, |machine, d| {
                    let d = machine.also(d, before, "made a barrier");
                    d.help(if before.pc == site.pc {
                        "let one thread initialise it, as in `setp.ne.u32 p, tid, 0; @p bra INITIALISED;`"
                    } else {
                        "end it with an inval first; a barrier starts each phase by itself"
                    })
                });
                if self.stopped.is_some() {
                    return;
                }
            }
            let (unit, effect) = barrier::Barrier::new(layout, counts[lane] as u32);
            let lifetime = self.ctas[cta as usize].next_lifetime(cta);
            let old = self.object(cta, address).map(|object| object.counts);
            let object = Object { counts: old.unwrap_or_default(), ..Object::new(unit, lifetime, site) };
            let offset = (u64::from(address) - self.shared_start()) as usize;
            let owner = &mut self.ctas[cta as usize];
            owner.objects.insert(address, object);
            owner.occupy(offset, true);
            owner.shared.store(offset, 8, 0, 0);
            self.note_use(site, (cta, address), BarrierStep::Init, barrier.order);
            self.judge(site, cta, address, effect);
        }
        self.memory_changed(doing);
    }

    fn invalidate(&mut self, doing: &Doing, cta: u32, address: u32) {
        let site = doing.site();
        let offset = (u64::from(address) - self.shared_start()) as usize;
        if let Some(object) = self.object(cta, address) {
            object.valid = false;
            object.inval = Some(site);
        }
        let owner = &mut self.ctas[cta as usize];
        owner.occupy(offset, false);
        // What is left in the memory is not defined.
        owner.shared.store(offset, 8, 0, u64::MAX);
    }

    fn transactions(&mut self, doing: &Doing, barrier: &code::Barrier, cta: u32, address: u32, expect: bool) {
        let counts = barrier.value.map_or([0; LANES], |value| self.values(doing, value));
        for lane in lanes(doing.lanes) {
            let site = Site { lanes: 1 << lane, ..doing.site() };
            let count = counts[lane] as u32;
            let what = match expect {
                true => BarrierStep::Expect { bytes: count, arrives: false },
                false => BarrierStep::Complete { bytes: count },
            };
            self.note_use(site, (cta, address), what, barrier.order);
            if expect {
                self.expect(site, cta, address, count);
            } else {
                self.complete(site, cta, address, count);
            }
        }
    }

    fn expect(&mut self, site: Site, cta: u32, address: u32, count: u32) {
        let Some(object) = self.object(cta, address) else { return };
        object.note_transaction(site);
        object.counts.expected += u64::from(count);
        let effect = object.barrier.expect_tx(count);
        self.judge(site, cta, address, effect);
    }

    /// Takes transactions off a barrier.
    pub(super) fn complete(&mut self, site: Site, cta: u32, address: u32, count: u32) {
        let Some(object) = self.object(cta, address) else { return };
        object.note_transaction(site);
        object.counts.completed += u64::from(count);
        let effect = object.barrier.complete_tx(count);
        self.judge(site, cta, address, effect);
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one instruction")]
    fn arrive(
        &mut self,
        doing: &Doing,
        barrier: &code::Barrier,
        cta: u32,
        address: u32,
        drop: bool,
        no_complete: bool,
        expect_tx: bool,
    ) {
        // Arrivals that promise not to complete the phase are not united: each lane gets its own state.
        if no_complete && doing.lanes.count_ones() > 1 {
            for lane in lanes(doing.lanes) {
                let alone = Doing { lanes: 1 << lane, ..*doing };
                self.arrive(&alone, barrier, cta, address, drop, no_complete, expect_tx);
                if self.stopped.is_some() {
                    return;
                }
            }
            return;
        }
        let site = doing.site();
        let values = barrier.value.map_or([1; LANES], |value| self.values(doing, value));
        let own = self.warps[doing.warp].cta == cta;
        if !own && barrier.state != Dst::SINK {
            let name = self.barrier_name(cta, address);
            let message = format!("an arrival on {name}, a barrier of another CTA, returns no state");
            self.wrong(site, &rule::REMOTE_STATE, None, message, |_, d| d);
        }
        if expect_tx {
            for lane in lanes(doing.lanes) {
                let (by, bytes) = (Site { lanes: 1 << lane, ..site }, values[lane] as u32);
                let what = BarrierStep::Expect { bytes, arrives: true };
                self.note_use(by, (cta, address), what, Order::relaxed(barrier.order.scope));
                self.expect(by, cta, address, bytes);
            }
        }
        let lane_count = |lane: usize| if expect_tx { 1 } else { values[lane] & 0xffff_ffff };
        let total: u64 = lanes(doing.lanes).map(lane_count).sum();
        self.check_counts(doing, cta, address, &lane_count);
        if self.stopped.is_some() {
            return;
        }
        if !no_complete {
            self.note_divergence(doing, cta, address);
        }
        let what = BarrierStep::Arrive { count: total, no_complete };
        self.note_use(site, (cta, address), what, barrier.order);
        let Some(object) = self.object(cta, address) else { return };
        let token =
            Token::new(object.barrier.pending(), object.barrier.phase(), object.lifetime, no_complete);
        object.note_arrival(site, total);
        let mut effect = if drop { object.barrier.arrive_drop(total) } else { object.barrier.arrive(total) };
        if no_complete && effect.completed.is_some() && effect.violation.is_none() {
            effect.violation = Some(Violation::Completed);
        }
        self.statistics.barrier_updates += 1;
        let registers = &mut self.warps[doing.warp].registers;
        local::set(registers, &doing.frame, doing.lanes, barrier.state, &[token.0; LANES]);
        self.judge(site, cta, address, effect);
    }

    /// The count of each lane must be in range.
    fn check_counts(&mut self, doing: &Doing, cta: u32, address: u32, count: &dyn Fn(usize) -> u64) {
        let Some(object) = self.object(cta, address) else { return };
        let max = object.barrier.layout().max_count();
        let traps = lanes(doing.lanes).map(count).sum::<u64>() > u64::from(object.barrier.pending());
        let wrong = lanes(doing.lanes).find(|&lane| count(lane) == 0 || count(lane) > u64::from(max));
        if let Some(lane) = wrong {
            let violation = Violation::ArriveCount { count: count(lane) as u32, max };
            let site = Site { lanes: 1 << lane, ..doing.site() };
            self.violation(site, cta, address, violation, traps);
        }
    }

    /// Whether it is the program that keeps lanes of the warp apart: not where the schedule does.
    pub(super) fn may_advise_to_converge(&self, doing: &Doing) -> bool {
        let warp = &self.warps[doing.warp];
        let program = self.options.reconverge == Reconverge::PostDominator && !warp.parted_by_schedule;
        program && warp.groups.len() > 1
    }

    /// Notes lanes of a warp that arrive one after the other in one phase at one instruction.
    fn note_divergence(&mut self, doing: &Doing, cta: u32, address: u32) {
        let site = doing.site();
        if !self.may_advise_to_converge(doing) {
            return;
        }
        let Some(object) = self.object(cta, address) else { return };
        let before = object.arrivals.iter().find(|other| other.pc == site.pc && other.warp == site.warp);
        let Some(before) = before.copied().filter(|before| before.lanes & site.lanes == 0) else { return };
        let name = self.barrier_name(cta, address);
        let message = format!("lanes of one warp arrive on {name} one after the other");
        self.found(site, &rule::DIVERGED_UPDATE, message, |machine, d| {
            let others = machine.threads(before);
            d.note(format!("{others} arrived here before: converged, they would have made one update"))
        });
    }

    fn track(&mut self, doing: &Doing, cta: u32, address: u32, increments: bool) {
        let site = doing.site();
        if increments && let Some(object) = self.object(cta, address) {
            let effect = object.barrier.increment(doing.lanes.count_ones().into());
            self.judge(site, cta, address, effect);
        }
        self.copies.track(site, cta, address);
        self.trigger(doing.warp);
    }

    /// Lets the arrivals of a warp happen whose copies are complete.
    pub(super) fn trigger(&mut self, warp: usize) {
        let mut index = 0;
        while let Some(track) = self.copies.tracks.get(index).copied() {
            let done = if track.site.warp as usize == warp { track.complete_lanes() } else { 0 };
            if done == 0 {
                index += 1;
                continue;
            }
            let rest = track.site.lanes & !done;
            if rest == 0 {
                self.copies.tracks.remove(index);
            } else {
                self.copies.tracks[index].site.lanes = rest;
                index += 1;
            }
            self.triggered(Track { site: Site { lanes: done, ..track.site }, ..track });
            if self.stopped.is_some() {
                return;
            }
        }
    }

    fn triggered(&mut self, track: Track) {
        let count = u64::from(track.site.lanes.count_ones());
        self.statistics.barrier_updates += 1;
        if self.options.events {
            let object = self.object_now(track.cta, track.address);
            self.events.push(Event::Triggered { by: track.site, last: track.last, object });
        }
        let Some(object) = self.object(track.cta, track.address) else { return };
        object.note_arrival(track.site, count);
        let effect = object.barrier.arrive(count);
        self.epoch += 1;
        self.judge(track.site, track.cta, track.address, effect);
    }

    /// What an operation on a barrier brought about.
    fn judge(&mut self, site: Site, cta: u32, address: u32, effect: Effect) {
        if let Some(phase) = effect.completed {
            self.phase_completed(cta, address, phase);
        }
        if let Some(violation) = effect.violation {
            self.violation(site, cta, address, violation, violation.traps());
        }
    }

    fn phase_completed(&mut self, cta: u32, address: u32, phase: u64) {
        if let Some(object) = self.object(cta, address) {
            object.counts.phases += 1;
            object.arrivals.clear();
        }
        self.epoch += 1;
        if self.options.events {
            self.events.push(Event::Phase { cta, address, phase });
        }
        for warp in self.ctas[cta as usize].warps.clone() {
            let mut woken = false;
            for group in &mut self.warps[warp as usize].groups {
                if matches!(group.state, State::Phase { address: other, .. } if other == address || other == NONE)
                {
                    group.state = State::Ready;
                    woken = true;
                }
            }
            if woken {
                self.ready.set(warp as usize, true);
            }
        }
    }

    fn violation(&mut self, site: Site, cta: u32, address: u32, violation: Violation, traps: bool) {
        let name = self.barrier_name(cta, address);
        let (rule, message) = violation_words(violation, &name, site.lanes);
        // The unit traps on its own: threads that end at once get away.
        self.trapping |= traps;
        self.wrong(site, rule, None, message, |machine, d| {
            let object = machine.ctas[cta as usize].objects.get(&address);
            let Some(object) = object else { return d };
            let d = machine.also(d, object.init, "made a barrier");
            match violation {
                Violation::OverArrival { .. } => machine.earlier_arrivals(d, object, site),
                _ => d,
            }
        });
    }

    /// Adds the last arrivals of others.
    fn earlier_arrivals(&self, mut diagnostic: Diagnostic, object: &Object, site: Site) -> Diagnostic {
        for other in object.arrivals.iter().filter(|other| other.pc != site.pc).take(3) {
            diagnostic = self.also(diagnostic, *other, "an arrival");
        }
        let initial = object.barrier.expected();
        diagnostic.help(format!("each phase of this barrier takes {}", count(initial.into(), "arrival")))
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one instruction")]
    fn wait(
        &mut self,
        doing: &Doing,
        barrier: &code::Barrier,
        used: &[Used],
        parity: bool,
        blocks: bool,
        phase_type: PhaseType,
    ) -> Then {
        let Some(value) = barrier.value else { return Then::Next };
        if !self.is_defined(doing, value, if parity { "the phase parity" } else { "the state" }) {
            return Then::Done;
        }
        let values = self.values(doing, value);
        let mut complete: Mask = 0;
        for &(cta, address, lanes) in used {
            let part = Doing { lanes, ..*doing };
            self.make_sure(part.site(), cta, address);
            if self.stopped.is_some() {
                return Then::Done;
            }
            complete |= if parity {
                self.complete_by_parity(&part, &values, cta, address, phase_type)
            } else {
                self.complete_by_state(&part, &values, cta, address, phase_type)
            };
            if self.stopped.is_some() {
                return Then::Done;
            }
        }
        let gives_up = std::mem::take(&mut self.warps[doing.warp].groups[doing.group].gave_up);
        if complete == 0 && blocks && !gives_up {
            let address = match used {
                [(_, address, _)] => *address,
                _ => NONE,
            };
            return Then::Wait(State::Phase { address });
        }
        if self.options.events {
            let tokens = (!parity).then_some(&values);
            used.iter()
                .for_each(|used| self.note_answer(doing.site(), *used, tokens, complete, barrier.order));
        }
        self.answer(doing, barrier, used, complete);
        Then::Next
    }

    /// Puts down what lanes asked and were told: about the phase of their state, or else the current one or
    /// the one before, which is complete.
    fn note_answer(
        &mut self,
        by: Site,
        (cta, address, lanes): Used,
        tokens: Option<&Column>,
        complete: Mask,
        order: Order,
    ) {
        let current = self.object_now(cta, address).phase as i64;
        let mut asked: SmallVec<[(i64, bool, Mask); 2]> = SmallVec::new();
        for lane in crate::machine::column::lanes(lanes) {
            let passed = complete >> lane & 1 == 1;
            let age = tokens.and_then(|tokens| Token(tokens[lane]).age(current as u64));
            let phase = current - age.map_or(i64::from(passed), |age| age as i64);
            match asked.iter_mut().find(|(other, told, _)| (*other, *told) == (phase, passed)) {
                Some((.., mask)) => *mask |= 1 << lane,
                None => asked.push((phase, passed, 1 << lane)),
            }
        }
        for (phase, passed, lanes) in asked {
            let what = BarrierStep::Ask { phase, passed };
            self.note_use(Site { lanes, ..by }, (cta, address), what, order);
        }
    }

    /// Whether an operation is a wait that would block all lanes of its group now.
    pub(in crate::machine) fn would_block(&self, doing: &Doing, barrier: &code::Barrier) -> bool {
        let BarrierOp::Wait { parity, blocks: true, phase_type } = barrier.op else { return false };
        let Some(value) = barrier.value else { return false };
        let undefined =
            |source| local::undefined_lanes(&self.warps[doing.warp].registers, &doing.frame, source);
        let base = match barrier.address.base {
            code::Base::Source(source) => undefined(source),
            code::Base::Zero | code::Base::Frame => 0,
        };
        let group = &self.warps[doing.warp].groups[doing.group];
        if (base | undefined(value)) & doing.lanes != 0 || group.mask != doing.lanes || group.gave_up {
            return false;
        }
        let (bases, values) = (self.bases(doing, &barrier.address), self.values(doing, value));
        lanes(doing.lanes).all(|lane| {
            let Ok(Place::Shared(cta, offset)) =
                self.place(doing.warp, &barrier.address, Extent::natural(bases[lane], 8))
            else {
                return false;
            };
            let address = offset as u32 + self.shared_start() as u32;
            let object = self.ctas[cta as usize].objects.get(&address);
            let Some(object) = object.filter(|object| object.valid && cta == self.warps[doing.warp].cta)
            else {
                return false;
            };
            let token = Token(values[lane]);
            let age = token.age(object.barrier.phase());
            let (asked, proper) = match parity {
                true => (values[lane] as u32, values[lane] as u32 <= 1),
                false => (token.parity(), token.is_of(object.lifetime) && age.is_some_and(|age| age <= 1)),
            };
            proper && !object.barrier.is_complete(asked, phase_type)
        })
    }

    fn answer(&mut self, doing: &Doing, barrier: &code::Barrier, used: &[Used], complete: Mask) {
        let (failed, epoch) = (complete & doing.lanes != doing.lanes, self.epoch);
        let watch = &mut self.warps[doing.warp].groups[doing.group].watch;
        watch.awaits = used.first().filter(|_| failed).map(|(_, address, _)| (*address, epoch));
        if failed {
            watch.polled = Some(epoch);
            self.stall.failed += 1;
            self.stall.vain += 1;
        }
        self.set_predicate(doing, barrier.p[0], complete, 0);
        // A report counts only together with a yes.
        let mut reported: Mask = 0;
        let mut values = [0; LANES];
        for &(cta, address, mask) in used {
            let report = self.object(cta, address).map(|o| o.barrier.last_report()).unwrap_or_default();
            if report.predicate {
                reported |= mask;
            }
            lanes(mask).for_each(|lane| values[lane] = report.value.into());
        }
        self.set_predicate(doing, barrier.p[1], reported, !complete);
        for lane in lanes(doing.lanes) {
            let undefined = if complete >> lane & 1 == 1 { 0 } else { u64::MAX };
            let registers = &mut self.warps[doing.warp].registers;
            local::set_lane(registers, &doing.frame, lane, barrier.report, values[lane], undefined);
        }
    }

    fn complete_by_parity(
        &mut self,
        doing: &Doing,
        values: &Column,
        cta: u32,
        address: u32,
        phase_type: PhaseType,
    ) -> Mask {
        for lane in lanes(doing.lanes).filter(|&lane| values[lane] as u32 > 1) {
            let site = Site { lanes: 1 << lane, ..doing.site() };
            let name = self.barrier_name(cta, address);
            let message = format!("the phase parity for {name} is {}; it is 0 or 1", values[lane] as u32);
            self.wrong(site, &rule::PARITY_VALUE, None, message, |_, d| {
                d.help("keep the lowest bit of the phase number: and it with 1, or flip it with xor 1")
            });
        }
        let Some(object) = self.object(cta, address) else { return 0 };
        let complete = |lane: usize| object.barrier.is_complete(values[lane] as u32, phase_type);
        lanes(doing.lanes).fold(0, |mask, lane| mask | Mask::from(complete(lane)) << lane)
    }

    fn complete_by_state(
        &mut self,
        doing: &Doing,
        values: &Column,
        cta: u32,
        address: u32,
        phase_type: PhaseType,
    ) -> Mask {
        let mut complete = 0;
        for lane in lanes(doing.lanes) {
            let token = Token(values[lane]);
            let site = Site { lanes: 1 << lane, ..doing.site() };
            let Some(object) = self.object(cta, address) else { return 0 };
            let age = token.age(object.barrier.phase());
            let own = token.is_of(object.lifetime);
            let done = object.barrier.is_complete(token.parity(), phase_type);
            complete |= Mask::from(done) << lane;
            let init = object.init;
            if !own {
                let name = self.barrier_name(cta, address);
                let message = format!("no arrival on {name} returned this state");
                let owner = self.owner_of(token, cta);
                self.wrong(site, &rule::FOREIGN_TOKEN, None, message, |machine, d| {
                    let d = machine.also(d, init, "this barrier was made");
                    match owner {
                        Some(owner) => d.note(format!("it is the state of an arrival on {owner}")),
                        None => d,
                    }
                });
            } else if age.is_none_or(|age| age > 1) {
                let name = self.barrier_name(cta, address);
                let age = age.map_or("many".to_string(), |age| age.to_string());
                let message = format!("the state is {age} phases old: {name} has moved on");
                self.wrong(site, &rule::STALE_WAIT, None, message, |_, d| {
                    d.help("keep the state of the arrival in the phase that is waited for")
                });
            }
            if self.stopped.is_some() {
                return complete;
            }
        }
        complete
    }

    /// The barrier of a CTA on which an arrival returned the state, if it still lives.
    fn owner_of(&self, token: Token, cta: u32) -> Option<String> {
        let objects = &self.ctas[cta as usize].objects;
        let (&address, _) = objects.iter().find(|(_, object)| token.is_of(object.lifetime))?;
        Some(self.barrier_name(cta, address))
    }

    fn pending_count(&mut self, doing: &Doing, barrier: &code::Barrier) {
        let Some(value) = barrier.value else { return };
        if !self.is_defined(doing, value, "the state") {
            return;
        }
        let values = self.values(doing, value);
        let plain = lanes(doing.lanes).find(|&lane| !Token(values[lane]).is_no_complete());
        if let Some(lane) = plain {
            let site = Site { lanes: 1 << lane, ..doing.site() };
            let name = self.register_name(doing.pc, value.source());
            let message = format!("the state {name}comes from no arrival with `.noComplete`");
            self.wrong(site, &rule::PLAIN_TOKEN, None, message, |_, d| d);
        }
        let counts = values.map(|value| u64::from(Token(value).pending()));
        let registers = &mut self.warps[doing.warp].registers;
        local::set(registers, &doing.frame, doing.lanes, barrier.state, &counts);
    }
}

/// What a barrier's address is judged by.
pub(super) const BARRIER_RULES: [&RunRule; 2] = [&rule::MISALIGNED_BARRIER, &rule::NO_SHARED_BARRIER];

fn violation_words(violation: Violation, name: &str, lanes: Mask) -> (&'static RunRule, String) {
    match violation {
        Violation::InitCount { count, max } => {
            (&rule::INIT_COUNT, format!("{name} is initialised with {count}; the count is 1 to {max}"))
        }
        Violation::ArriveCount { count, max } => {
            (&rule::ARRIVE_COUNT, format!("an arrival on {name} with count {count}; it is 1 to {max}"))
        }
        Violation::OverArrival { count: n, pending } => {
            let update = match lanes.count_ones() {
                1 => format!("an arrival with count {n}"),
                lanes => format!("one update of {lanes} lanes with count {n}"),
            };
            (&rule::OVER_ARRIVAL, format!("over-arrival on {name}: {update} on a pending count of {pending}"))
        }
        Violation::OverDrop { count: n, pending } => {
            (&rule::OVER_ARRIVAL, format!("a drop of {n} arrivals on {name}, of which {pending} are pending"))
        }
        Violation::Completed => (
            &rule::COMPLETED,
            format!("this arrival completes the phase of {name}, though it promises not to"),
        ),
        Violation::DroppedToZero => (
            &rule::DROPPED_TO_ZERO,
            format!("nobody is expected on {name} any more: another arrival would trap"),
        ),
        Violation::TxOperand { count } => {
            let text = format!("a transaction count of {count} on {name}; it is at most {}", barrier::MAX_TX);
            (&rule::TX_RANGE, text)
        }
        Violation::TxRange { count } => {
            let text =
                format!("the transaction count of {name} becomes {count}, out of its range of 20 bits");
            (&rule::TX_RANGE, text)
        }
        Violation::PendingRange { count, max } => {
            (&rule::PENDING_RANGE, format!("{count} pending arrivals on {name}; at most {max} can be"))
        }
    }
}
