//! Uses of barrier objects, and what their phases teach.

use super::Watch;
use crate::machine::event::{BarrierStep, BarrierUse, Object};
use crate::machine::order::{Order, Scope};
use crate::verify::causality::Known;
use crate::verify::clock::Mark;
use crate::verify::order::Knowledge;
use crate::verify::phase::{Asking, Condition, Happened};
use crate::verify::shadow::{Access, Does, Lanes, Region, Who};

impl Watch {
    /// An operation on a barrier as an access to its 8 bytes.
    pub(super) fn touch_barrier(&mut self, who: Who, by: Happened, object: Object, does: Does) {
        let strong = matches!(does, Does::Uses).then_some(Scope::Sys);
        let access = Access {
            who,
            warp: by.by.warp,
            time: by.time,
            pc: by.by.pc,
            lanes: Lanes::All(by.by.lanes),
            does,
            strong,
            is_async_proxy: false,
            element: 8,
        };
        let (region, start) = (Region::Shared(object.cta), u64::from(object.address));
        let start = start.saturating_sub(self.topology.shared_start);
        self.touch(region, start, start + 8, &access);
        self.note_remote(region, by, None);
    }

    pub(super) fn barrier(&mut self, used: &BarrierUse) {
        let BarrierUse { by, object, what, order } = *used;
        let looks = matches!(what, BarrierStep::Ask { passed: false, .. } | BarrierStep::Query);
        let time = if looks { self.next_time(by) } else { self.tick(by) };
        let event = Happened { by, time };
        let does = match what {
            BarrierStep::Init => Does::Inits,
            BarrierStep::Inval => Does::Invalidates,
            _ => Does::Uses,
        };
        self.touch_barrier(Who::Warp(by.warp), event, object, does);
        self.ledger.note(object, by, what);
        match what {
            BarrierStep::Init => self.phases.init(object, event),
            BarrierStep::Inval | BarrierStep::Query => {}
            BarrierStep::Arrive { no_complete, .. } => self.arrive(event, object, no_complete, order),
            BarrierStep::Expect { arrives, .. } => self.expect(event, object, arrives),
            BarrierStep::Complete { .. } => self.complete_tx(event, object),
            BarrierStep::Increment => {
                self.comes_behind(Condition::EarlyArrival, object, object.phase as i64 - 1, event);
                self.phases.increment(object, event);
                self.track(event);
            }
            BarrierStep::Track => self.track(event),
            BarrierStep::Ask { phase, passed } => self.ask(event, object, phase, passed, order),
        }
    }

    /// Whether lanes know that a phase is complete; else that is noted.
    pub(super) fn comes_behind(&mut self, condition: Condition, object: Object, phase: i64, event: Happened) {
        let asking = Asking { what: event, orders: Ok(&self.enabling) };
        let (order, relaxed) = (&self.causality.order, self.relaxed);
        let causal = |mark: Mark, number: i64| {
            // Copies, too, carry what barriers count, but no memory order: that is as it should be.
            if !relaxed {
                return true;
            }
            let mut classes = order.of(event.by.warp, event.by.lanes);
            classes.any(|(_, known)| known.clock().mark(mark).is_some_and(|known| known >= number))
        };
        self.phases.comes_behind(condition, object, phase, asking, &causal);
    }

    pub(super) fn arrive(&mut self, event: Happened, object: Object, no_complete: bool, order: Order) {
        let cta = self.topology.cta(event.by.warp);
        self.relaxed |= !order.releases;
        let released = self.causality.released(event.by, event.time, order.releases, order.scope);
        let barrier = self.phases.barriers.get_mut(&object.lifetime);
        if let Some(barrier) = barrier {
            released.iter().for_each(|(scope, known)| barrier.releases.add(*scope, cta, known));
        }
        self.last_part.insert(object.lifetime, event);
        self.comes_behind(Condition::EarlyArrival, object, object.phase as i64 - 1, event);
        let asking = Asking { what: event, orders: Ok(&self.enabling) };
        self.phases.arrive(object, asking, None);
        if no_complete {
            self.phases.promise(object, event);
        }
        let given = self.enabling.give(event);
        self.phases.part(object, event, &given);
    }

    pub(super) fn expect(&mut self, event: Happened, object: Object, arrives: bool) {
        if !arrives {
            self.comes_behind(Condition::EarlyExpect, object, object.phase as i64 - 1, event);
            self.phases.expect(object, event);
        }
        // An announcement decides a poll as an arrival does.
        let given = self.enabling.give(event);
        self.phases.part(object, event, &given);
    }

    pub(super) fn complete_tx(&mut self, event: Happened, object: Object) {
        self.last_part.insert(object.lifetime, event);
        self.comes_behind(Condition::EarlyBytes, object, object.phase as i64 - 1, event);
        let given = self.enabling.give(event);
        self.phases.part(object, event, &given);
    }

    pub(super) fn ask(&mut self, event: Happened, object: Object, phase: i64, passed: bool, order: Order) {
        // Both answers are for those who do not know that the phase before is over.
        self.comes_behind(Condition::EarlyWait, object, phase - 1, event);
        if !passed {
            self.phases.poll(object, event);
            return;
        }
        self.relaxed |= !order.acquires;
        let Some(barrier) = self.phases.barriers.get(&object.lifetime) else { return };
        if phase < 0 {
            self.phases.wait(object, event);
            return;
        }
        let at = (Region::Shared(object.cta), u64::from(object.address));
        self.causality.observe(event.by, at, &barrier.released, order.acquires, order.scope, &self.topology);
        let mark = Mark::Phase(object.lifetime);
        let first = self.enabling.groups.of(event.by.warp, event.by.lanes).next();
        if first.is_none_or(|(_, known)| known.mark(mark).is_none_or(|known| known < phase)) {
            self.phases.unforced.insert(event.by.pc);
        }
        let given = self.phases.wait(object, event);
        self.enabling.learn(event.by, &given);
        self.enabling.learn_mark(event.by, mark, phase);
    }

    pub(super) fn phase(&mut self, cta: u32, address: u32, phase: u64) {
        let Some(&lifetime) = self.phases.at.get(&(cta, address)) else { return };
        let object = Object { cta, address, lifetime, phase };
        let mut known = Known::default();
        known.raise_mark(Mark::Phase(lifetime), phase as i64);
        if let Some(barrier) = self.phases.barriers.get_mut(&lifetime) {
            // Copies release what they wrote with the scope of the cluster.
            barrier.releases.add(Scope::Cluster, cta, &known);
            barrier.released = barrier.releases.clone();
        }
        self.ledger.complete(object);
        let by = self.last_part.remove(&lifetime);
        self.phases.complete(object, by);
    }
}
