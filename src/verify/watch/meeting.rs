//! Barriers of CTA and cluster, and the end of threads and of their memory.

use super::{Meeting, Outlived, Remote, Watch};
use crate::machine::column::lanes;
use crate::machine::cta::Site;
use crate::verify::causality::{Known, Layer};
use crate::verify::clock::{Mark, Shared};
use crate::verify::order::{Knowledge, Order};
use crate::verify::phase::{Condition, Doubt, Given, Happened};
use crate::verify::shadow::Region;

impl Meeting {
    /// The generation is complete: what those who came, and those who had ended, give.
    fn complete(&mut self, exits: &(Given, Known)) -> (Given, Known) {
        let (mut given, mut known) = (std::mem::take(&mut self.given), std::mem::take(&mut self.known));
        given.join(&exits.0);
        known.join(&exits.1);
        self.generation += 1;
        self.before = self.first.take();
        (given, known)
    }
}

impl Watch {
    /// Lanes come to a named barrier, or to that of the cluster.
    pub(super) fn come(&mut self, by: Site, mark: Mark, releases: bool, waits: bool) {
        let time = self.tick(by);
        let event = Happened { by, time };
        let known = match mark {
            Mark::Cluster(_) => self.causality.released_to_cluster(by, time, releases),
            _ => self.causality.order.give(by.warp, by.lanes, time),
        };
        let given = self.enabling.give(event);
        let meeting = self.meetings.entry(mark).or_default();
        meeting.given.join(&given);
        meeting.known.join(&known);
        meeting.first.get_or_insert(event);
        if waits {
            meeting.waiting.push(event);
        }
        let (generation, before) = (meeting.generation, meeting.before);
        if generation == 0 {
            return;
        }
        let knows = |order: &Order<Shared>| {
            let enough = |known: &Shared| known.mark(mark).is_some_and(|n| n >= generation - 1);
            order.all_know(by.warp, by.lanes, enough)
        };
        if !knows(&self.enabling.groups)
            && let Some(first) = before
        {
            let doubt = Doubt {
                condition: Condition::MixedGenerations,
                only_lanes: false,
                only_relaxed: false,
                first,
                second: event,
                object: None,
            };
            self.phases.doubt(doubt);
        }
    }

    fn exits_of(&self, ctas: impl Iterator<Item = u32>) -> (Given, Known) {
        let mut all = (Given::default(), Known::default());
        for (given, known) in ctas.filter_map(|cta| self.exits.get(&cta)) {
            all.0.join(given);
            all.1.join(known);
        }
        all
    }

    pub(super) fn release_cta(&mut self, cta: u32, id: u32, counts: bool) {
        // One that counts threads does not wait for those that have ended.
        let exits = self.exits_of(std::iter::once(cta).filter(|_| !counts));
        let mark = Mark::Named(cta, id);
        let meeting = self.meetings.entry(mark).or_default();
        let generation = meeting.generation;
        let waiting = std::mem::take(&mut meeting.waiting);
        let (given, known) = meeting.complete(&exits);
        for event in waiting {
            self.causality.order.learn(event.by.warp, event.by.lanes, &known);
            self.enabling.learn(event.by, &given);
            self.enabling.learn_mark(event.by, mark, generation);
        }
    }

    pub(super) fn release_cluster(&mut self, cluster: u32) {
        let members = 0..self.topology.cluster_of.len() as u32;
        let ctas = members.filter(|&cta| self.topology.cluster(cta) == cluster);
        let exits = self.exits_of(ctas);
        let meeting = self.meetings.entry(Mark::Cluster(cluster)).or_default();
        meeting.done = meeting.complete(&exits);
    }

    pub(super) fn cluster_waited(&mut self, by: Site, acquires: bool) {
        self.tick(by);
        let cluster = self.topology.cluster(self.topology.cta(by.warp));
        let mark = Mark::Cluster(cluster);
        let Some(meeting) = self.meetings.get(&mark) else { return };
        let ((given, known), generation) = (meeting.done.clone(), meeting.generation - 1);
        if acquires {
            self.causality.order.learn(by.warp, by.lanes, &known);
        }
        self.enabling.learn(by, &given);
        self.enabling.learn_mark(by, mark, generation);
    }

    pub(super) fn note_remote(&mut self, region: Region, what: Happened, copy: Option<u32>) {
        let Region::Shared(cta) = region else { return };
        if cta == self.topology.cta(what.by.warp) {
            return;
        }
        let list = self.remote.entry(cta).or_default();
        let same = |other: &&mut Remote| {
            let by = other.what.by;
            (by.pc, by.warp, by.lanes, other.copy) == (what.by.pc, what.by.warp, what.by.lanes, copy)
        };
        match list.iter_mut().find(same) {
            Some(other) => other.what = what,
            None => list.push(Remote { what, copy }),
        }
    }

    pub(super) fn exited(&mut self, by: Site) {
        let time = self.tick(by);
        let event = Happened { by, time };
        let cta = self.topology.cta(by.warp);
        let known = self.causality.order.give(by.warp, by.lanes, time);
        let given = self.enabling.give(event);
        let exits = self.exits.entry(cta).or_default();
        exits.0.join(&given);
        exits.1.join(&known);
        self.last_exit.insert(cta, by);
    }

    pub(super) fn cta_ended(&mut self, cta: u32) {
        let remote = self.remote.remove(&cta).unwrap_or_default();
        let (given, known) = self.exits.get(&cta).cloned().unwrap_or_default();
        let (clock, groups) = (known.layer(Layer::Plain), &given.groups);
        for Remote { what, copy } in remote {
            let Happened { by, time } = what;
            let is_over = match copy.and_then(|id| self.agents.get(id)) {
                Some(agent) => lanes(by.lanes).all(|lane| agent.is_known(true, clock, lane, 0)),
                None => {
                    clock.knows(by.warp, by.lanes, time) == by.lanes
                        || groups.knows(by.warp, by.lanes, time) != 0
                }
            };
            let Some(&exit) = self.last_exit.get(&cta) else { continue };
            let same = |other: &Outlived| (other.access.pc, other.exit.pc) == (by.pc, exit.pc);
            if !is_over && !self.outlived.iter().any(same) {
                self.outlived.push(Outlived { access: by, is_copy: copy.is_some(), cta, exit });
            }
        }
        self.shadow.forget(Region::Shared(cta));
    }
}
