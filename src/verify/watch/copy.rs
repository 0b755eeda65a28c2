//! Copies: their starts, their ends, and arrivals that wait for them.

use super::{Issue, Track, Watch, commutes};
use crate::machine::cta::Site;
use crate::machine::event::{BarrierStep, Object, Started};
use crate::machine::order::Scope;
use crate::verify::clock::Mark;
use crate::verify::phase::{Asking, Condition, Happened};
use crate::verify::shadow::{self, Access, Does, Lanes, Who};

impl Watch {
    pub(super) fn track(&mut self, event: Happened) {
        let given = self.enabling.give(event);
        self.agents.track(event.by);
        self.tracks.push(Track { what: event, left: event.by.lanes, given });
    }

    pub(super) fn triggered(&mut self, by: Site, last: u32, object: Object) {
        self.agents.triggered(by, last, object.lifetime, object.phase as i64);
        self.ledger.note(
            object,
            by,
            BarrierStep::Arrive { count: by.lanes.count_ones().into(), no_complete: false },
        );
        let found = self.tracks.iter_mut().find(|track| {
            let other = track.what.by;
            (other.warp, other.pc) == (by.warp, by.pc) && track.left & by.lanes == by.lanes
        });
        let Some(track) = found else { return };
        track.left &= !by.lanes;
        let event = Happened { by, time: track.what.time };
        let given = track.given.clone();
        self.tracks.retain(|track| track.left != 0);
        self.last_part.insert(object.lifetime, event);
        let asking = Asking { what: event, orders: Err(&given) };
        let causal = |_: Mark, _: i64| true;
        self.phases.comes_behind(Condition::EarlyArrival, object, object.phase as i64 - 1, asking, &causal);
        self.phases.arrive(object, asking, Some(by.pc));
        self.phases.bytes(object, &given);
    }

    pub(super) fn start(&mut self, started: &Started) {
        let by = started.by;
        let time = self.tick(by);
        let event = Happened { by, time };
        let barrier = started.signal.map(|(signal, _)| (signal.cta, signal.address));
        self.agents.start(started.copy, by, time, started.family, barrier);
        let who = Who::Copy(started.copy);
        let writes = match started.update {
            Some(update) => Does::Updates(update.op, commutes(update)),
            None => Does::Writes,
        };
        let strong = match (started.update, started.order) {
            (_, Some(order)) => Some(order.scope),
            (Some(_), None) => Some(Scope::Gpu),
            (None, None) => None,
        };
        let of_all = Access {
            who,
            warp: by.warp,
            time,
            pc: by.pc,
            lanes: Lanes::All(by.lanes),
            does: Does::Reads,
            strong: None,
            is_async_proxy: started.is_async_proxy,
            element: started.update.map_or(0, |update| update.bytes),
        };
        let mut parts = started.writes.clone();
        // Copies of lanes to the same bytes are copies of their own.
        parts.iter_mut().for_each(|touch| touch.value = touch.lane.into());
        for (touches, does, strong) in [(&started.reads, Does::Reads, None), (&parts, writes, strong)] {
            for (region, start, end, lanes) in shadow::runs(touches) {
                if does == Does::Reads {
                    self.note_flows(region, start, end, by.pc);
                }
                self.touch(region, start, end, &Access { lanes, does, strong, ..of_all });
                self.note_remote(region, event, Some(started.copy));
            }
        }
        if let Some((region, start)) = started.map.and_then(shadow::region) {
            let reads_map = Access { does: Does::ReadsMap, is_async_proxy: true, element: 0, ..of_all };
            self.touch(region, start, start + 128, &reads_map);
        }
        if let Some((_, object)) = started.signal {
            self.touch_barrier(who, event, object, Does::Uses);
            let given = self.enabling.give(event);
            self.issues.insert(started.copy, Issue { what: event, given });
        }
        if let Some(order) = started.order.filter(|order| order.releases) {
            for touch in &started.writes {
                if let Some((region, at)) = shadow::region(touch.place) {
                    self.release_flag(by, (region, at), touch.size.into(), order, false, time);
                }
            }
        }
    }

    pub(super) fn delivered(&mut self, copy: u32, object: Object, bytes: u32) {
        self.agents.delivered(copy, object.lifetime, object.phase as i64);
        self.ledger.delivered(object, bytes);
        let Some(issue) = self.issues.remove(&copy) else { return };
        self.last_part.insert(object.lifetime, issue.what);
        let asking = Asking { what: issue.what, orders: Err(&issue.given) };
        let causal = |_: Mark, _: i64| true;
        self.phases.comes_behind(Condition::EarlyBytes, object, object.phase as i64 - 1, asking, &causal);
        self.phases.bytes(object, &issue.given);
    }
}
