//! Barriers of the CTA and of the cluster, and the end of threads.

use smallvec::SmallVec;

use super::meeting::{Member, all};
use super::{Doing, Then, local};
use crate::machine::Machine;
use crate::machine::code::{ClusterBarrier, CtaBarrier, CtaBarrierKind, Op};
use crate::machine::column::{LANES, Mask, lanes};
use crate::machine::cta::{NamedBarrier, Site, Used};
use crate::machine::event::Event;
use crate::machine::rule;
use crate::machine::warp::{Meeting, State};

impl Machine<'_> {
    pub(super) fn cta_barrier(&mut self, doing: &Doing, barrier: &CtaBarrier) -> Then {
        if !self.is_defined(doing, barrier.id, "the number of the barrier") {
            return Then::Done;
        }
        if let Some(threads) = barrier.threads
            && !self.is_defined(doing, threads, "the number of threads")
        {
            return Then::Done;
        }
        let ids = self.values(doing, barrier.id);
        let first = doing.lanes.trailing_zeros() as usize % LANES;
        let id = ids[first] as u32;
        let same = lanes(doing.lanes).filter(|&lane| ids[lane] as u32 == id).fold(0, |m, lane| m | 1 << lane);
        if same != doing.lanes {
            let all = self.warps[doing.warp].groups[doing.group].mask;
            let join = self.join(doing.pc + 1);
            self.warps[doing.warp].split(doing.group, &[(same, doing.pc), (all & !same, doing.pc)], join);
            return Then::Done;
        }
        let members = if barrier.aligned {
            self.meet_aligned(doing)
        } else {
            let alone = std::mem::take(&mut self.warps[doing.warp].groups[doing.group].alone);
            let named = if alone { doing.lanes } else { Mask::MAX };
            self.meet(doing, Meeting::Barrier(id), named)
        };
        let Some(members) = members else { return Then::Done };
        let threads = barrier.threads.map(|threads| self.values(doing, threads)[first] as u32);
        self.arrive_at_cta_barrier(doing, barrier, id, threads, &members)
    }

    /// A whole warp arrives.
    fn arrive_at_cta_barrier(
        &mut self,
        doing: &Doing,
        barrier: &CtaBarrier,
        id: u32,
        threads: Option<u32>,
        members: &[Member],
    ) -> Then {
        let site = doing.site();
        if !self.check_cta_barrier(site, barrier, id, threads) {
            return if self.stopped.is_some() { Then::Done } else { self.pass(doing, members) };
        }
        let cta = self.warps[doing.warp].cta as usize;
        let number = self.warps[doing.warp].number;
        let mut votes: SmallVec<[(Mask, Mask); 4]> = SmallVec::new();
        for member in members {
            let Op::Cta(own) = &self.code.insts[member.doing.pc as usize].op else { continue };
            let registers = &self.warps[doing.warp].registers;
            let (set, undefined) = local::predicate(registers, &member.doing.frame, own.predicate);
            votes.push((set & member.doing.lanes, member.doing.lanes));
            if barrier.kind != CtaBarrierKind::Sync
                && barrier.kind != CtaBarrierKind::Arrive
                && !self.all_defined(&member.doing, undefined & member.doing.lanes, "the predicate")
            {
                return Then::Done;
            }
        }
        let named = &mut self.ctas[cta].named[id as usize];
        named.kind = Some(barrier.kind);
        named.threads = threads;
        named.arrived |= 1 << number;
        named.first.get_or_insert(site);
        for (set, lanes) in votes {
            named.count += set.count_ones();
            named.voters += lanes.count_ones();
        }
        self.epoch += 1;
        if self.options.events {
            let waits = barrier.kind != CtaBarrierKind::Arrive;
            self.events.push(Event::CtaArrived { by: all(doing, members), id, waits });
        }
        if barrier.kind == CtaBarrierKind::Arrive {
            let then = self.pass(doing, members);
            self.complete_cta_barrier(cta, id);
            return then;
        }
        for member in members {
            self.warps[doing.warp].groups[member.doing.group].state = State::CtaBarrier(id);
        }
        self.complete_cta_barrier(cta, id);
        Then::Done
    }

    /// Whether a barrier can be used like this.
    fn check_cta_barrier(&mut self, site: Site, barrier: &CtaBarrier, id: u32, threads: Option<u32>) -> bool {
        let cta = self.warps[site.warp as usize].cta as usize;
        let number = self.warps[site.warp as usize].number;
        if id >= 16 {
            let message = format!("there is no barrier {id}: they have the numbers 0 to 15");
            self.wrong(site, &rule::BARRIER_THREADS, None, message, |_, d| d);
            return false;
        }
        let most = self.shape.warps() * 32;
        if let Some(threads) = threads.filter(|&n| n % 32 != 0 || n == 0 || n > most) {
            let message = format!(
                "barrier {id} is for {threads} threads: it must be a multiple of 32, and at most {most} here"
            );
            self.wrong(site, &rule::BARRIER_THREADS, None, message, |_, d| d);
        }
        let NamedBarrier { kind, threads: before, arrived, first, .. } =
            self.ctas[cta].named[id as usize].clone();
        let Some(first) = first else { return self.stopped.is_none() };
        // No number means all threads of the CTA, which may as well be spelled out.
        if before.unwrap_or(most) != threads.unwrap_or(most) {
            let words = |n: Option<u32>| n.map_or("all threads".to_string(), |n| format!("{n} threads"));
            let message =
                format!("barrier {id} is for {} here, but for {} elsewhere", words(threads), words(before));
            self.wrong(site, &rule::BARRIER_THREADS, None, message, |machine, d| {
                machine.also(d, first, "reached")
            });
        }
        let reduces = |kind| !matches!(kind, CtaBarrierKind::Sync | CtaBarrierKind::Arrive);
        if kind.is_some_and(|kind| kind != barrier.kind && (reduces(kind) || reduces(barrier.kind))) {
            let message = format!("a reduction at barrier {id} meets another operation at it");
            self.wrong(site, &rule::BARRIER_MIXED, None, message, |machine, d| {
                machine.also(d, first, "reached")
            });
        }
        if arrived >> number & 1 == 1 {
            let message = format!("this warp has arrived at barrier {id} already, which is not complete yet");
            self.wrong(site, &rule::BARRIER_MIXED, None, message, |machine, d| {
                machine.also(d, first, "reached")
            });
            return false;
        }
        self.stopped.is_none()
    }

    /// Releases those that wait at a barrier, if all have come.
    fn complete_cta_barrier(&mut self, cta: usize, id: u32) {
        let named = &self.ctas[cta].named[id as usize];
        let warps = self.ctas[cta].warps.clone();
        let complete = match named.threads {
            Some(threads) => named.arrived.count_ones() * 32 >= threads,
            None => warps
                .clone()
                .filter(|&warp| self.warps[warp as usize].alive != 0)
                .all(|warp| named.arrived >> (warp - warps.start) & 1 == 1),
        };
        if !complete || named.arrived == 0 {
            return;
        }
        let done = std::mem::take(&mut self.ctas[cta].named[id as usize]);
        self.epoch += 1;
        if self.options.events {
            let counts = done.threads.is_some();
            self.events.push(Event::CtaReleased { cta: cta as u32, id, counts });
        }
        for warp in warps {
            self.release(warp as usize, id, &done);
        }
    }

    fn release(&mut self, warp: usize, id: u32, done: &NamedBarrier) {
        let waiting: SmallVec<[usize; 4]> = self.warps[warp]
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.state == State::CtaBarrier(id))
            .map(|(index, _)| index)
            .collect();
        let mut members: SmallVec<[Member; 4]> = SmallVec::new();
        for index in waiting {
            let group = &self.warps[warp].groups[index];
            let doing = Doing { warp, group: index, pc: group.pc, lanes: group.mask, frame: *group.frame() };
            if let Op::Cta(barrier) = &self.code.insts[doing.pc as usize].op {
                let (d, p, kind) = (barrier.d, barrier.p, barrier.kind);
                let registers = &mut self.warps[warp].registers;
                local::set(registers, &doing.frame, doing.lanes, d, &[done.count.into(); LANES]);
                let holds = match kind {
                    CtaBarrierKind::And => done.count == done.voters,
                    _ => done.count > 0,
                };
                self.set_predicate(&doing, p, if holds { Mask::MAX } else { 0 }, 0);
            }
            members.push(Member { doing });
        }
        if let Some(first) = members.first().copied() {
            self.pass(&first.doing, &members);
        }
    }

    pub(super) fn cluster_barrier(&mut self, doing: &Doing, barrier: ClusterBarrier) -> Then {
        let members: SmallVec<[Member; 4]> = if barrier.aligned {
            let Some(members) = self.meet_aligned(doing) else { return Then::Done };
            members
        } else {
            SmallVec::from_slice(&[Member { doing: *doing }])
        };
        let all = all(doing, &members).lanes;
        if barrier.waits {
            return self.wait_for_cluster(doing, barrier, all, &members);
        }
        let warp = &self.warps[doing.warp];
        let twice = (warp.cluster_arrived | warp.cluster_passed) & all;
        if twice != 0 {
            let site = Site { lanes: twice, ..doing.site() };
            let message = "a thread arrives at the cluster barrier again without having waited".to_string();
            self.wrong(site, &rule::CLUSTER_ORDER, None, message, |_, d| d);
            if self.stopped.is_some() {
                return Then::Done;
            }
        }
        self.warps[doing.warp].cluster_passed &= !all;
        self.warps[doing.warp].cluster_arrived |= all;
        self.epoch += 1;
        if self.options.events {
            let by = Site { lanes: all, ..doing.site() };
            self.events.push(Event::ClusterArrived { by, releases: barrier.orders });
        }
        let then = if barrier.aligned { self.pass(doing, &members) } else { Then::Next };
        let cluster = self.ctas[self.warps[doing.warp].cta as usize].cluster;
        self.complete_cluster_barrier(cluster as usize);
        then
    }

    fn wait_for_cluster(
        &mut self,
        doing: &Doing,
        barrier: ClusterBarrier,
        all: Mask,
        members: &[Member],
    ) -> Then {
        let warp = &self.warps[doing.warp];
        let never = all & !warp.cluster_arrived & !warp.cluster_passed;
        if never != 0 {
            let site = Site { lanes: never, ..doing.site() };
            let message = "a thread waits at the cluster barrier without having arrived".to_string();
            self.wrong(site, &rule::CLUSTER_ORDER, None, message, |_, d| d);
            if self.stopped.is_some() {
                return Then::Done;
            }
        }
        if self.warps[doing.warp].cluster_arrived & all == 0 {
            self.warps[doing.warp].cluster_passed &= !all;
            if self.options.events {
                let by = Site { lanes: all, ..doing.site() };
                self.events.push(Event::ClusterWaited { by, acquires: barrier.orders });
            }
            return if barrier.aligned { self.pass(doing, members) } else { Then::Next };
        }
        if !barrier.aligned {
            return Then::Wait(State::ClusterBarrier);
        }
        for member in members {
            self.warps[doing.warp].groups[member.doing.group].state = State::ClusterBarrier;
        }
        Then::Done
    }

    /// Releases the cluster barrier, if every thread that has not ended has arrived.
    fn complete_cluster_barrier(&mut self, cluster: usize) {
        let ctas = self.clusters[cluster].ctas.clone();
        let warps = self.ctas[ctas.start as usize].warps.start..self.ctas[ctas.end as usize - 1].warps.end;
        let all = |warp: u32| {
            let warp = &self.warps[warp as usize];
            warp.alive & !warp.cluster_arrived == 0
        };
        let any = |warp: u32| self.warps[warp as usize].cluster_arrived != 0;
        if !warps.clone().all(all) || !warps.clone().any(any) {
            return;
        }
        self.epoch += 1;
        if self.options.events {
            self.events.push(Event::ClusterReleased { cluster: cluster as u32 });
        }
        for warp in warps {
            let state = &mut self.warps[warp as usize];
            state.cluster_passed |= state.cluster_arrived;
            state.cluster_arrived = 0;
            let mut woken = false;
            for group in state.groups.iter_mut().filter(|group| group.state == State::ClusterBarrier) {
                group.state = State::Ready;
                woken = true;
            }
            if woken {
                self.ready.set(warp as usize, true);
            }
        }
    }

    /// Lanes end.
    pub(super) fn end_lanes(&mut self, doing: &Doing) -> Then {
        let site = doing.site();
        if self.options.events {
            self.events.push(Event::Exited { by: site });
        }
        let warp = &mut self.warps[doing.warp];
        warp.alive &= !doing.lanes;
        let group = &mut warp.groups[doing.group];
        group.mask &= !doing.lanes;
        group.pc = doing.pc + 1;
        if group.mask == 0 {
            warp.groups.swap_remove(doing.group);
        }
        warp.complete_joins();
        let (cta, ended) = (warp.cta, warp.alive == 0);
        self.epoch += 1;
        self.recheck_meetings(doing.warp);
        if ended {
            self.end_warp(doing.warp, cta, site);
        }
        if self.stopped.is_none() {
            self.complete_cluster_barrier(self.ctas[cta as usize].cluster as usize);
        }
        let ready = self.warps[doing.warp].is_ready();
        self.ready.set(doing.warp, ready);
        Then::Done
    }

    fn end_warp(&mut self, warp: usize, cta: u32, site: Site) {
        let entry = &mut self.ctas[cta as usize];
        entry.live_warps -= 1;
        entry.last_exit = Some(site);
        if entry.live_warps == 0 {
            self.end_cta(cta, site);
        } else {
            for id in 0..16 {
                if self.ctas[cta as usize].named[id as usize].threads.is_none() {
                    self.complete_cta_barrier(cta as usize, id);
                }
            }
        }
        // Nobody can ask for its registers any more.
        self.warps[warp].registers = Default::default();
        self.warps[warp].locals = Vec::new();
    }

    /// A CTA ends: what is under way to it is reported, its barriers are looked at, its memory goes.
    fn end_cta(&mut self, cta: u32, site: Site) {
        // It lives until the copies that use its memory have landed.
        self.ctas[cta as usize].live_warps = 1;
        self.drain_copies(cta, site);
        self.ctas[cta as usize].live_warps = 0;
        self.resident -= 1;
        if self.stopped.is_some() {
            return;
        }
        self.check_transactions(cta);
        if self.stopped.is_some() {
            return;
        }
        self.keep_history(cta);
        if self.options.events {
            self.events.push(Event::CtaEnded { cta });
        }
        let entry = &mut self.ctas[cta as usize];
        entry.shared = Default::default();
        entry.objects = Default::default();
        entry.occupied = Vec::new();
        entry.named = Vec::new();
        self.start_ctas();
    }

    /// Transactions that were announced and did not come, or the reverse.
    fn check_transactions(&mut self, cta: u32) {
        let mut left: Vec<(u32, i64)> = self.ctas[cta as usize]
            .objects
            .iter()
            .filter(|(_, object)| object.valid && object.barrier.tx_count() != 0)
            .map(|(&address, object)| (address, object.barrier.tx_count()))
            .collect();
        left.sort_unstable();
        for (address, tx) in left {
            let object = &self.ctas[cta as usize].objects[&address];
            let (phase, init) = (object.barrier.phase(), object.init);
            let sites = object.transactions.clone();
            let name = self.barrier_name(cta, address);
            let message = match tx > 0 {
                true => format!("{name} still waits for {tx} bytes in phase {phase} when its CTA ends"),
                false => {
                    format!("{name} got {} bytes more than were announced, in phase {phase} or before", -tx)
                }
            };
            let at = sites.last().copied().unwrap_or(init);
            self.wrong(at, &rule::TX_LEFT, None, message, |machine, mut d| {
                for &other in sites.iter().filter(|other| other.pc != at.pc).take(6) {
                    d = machine.also(d, other, "bytes announced or delivered");
                }
                machine.also(d, init, "made a barrier")
            });
        }
    }

    /// Keeps what the table of barriers shows.
    pub(in crate::machine) fn keep_history(&mut self, cta: u32) {
        let objects = self.ctas[cta as usize].objects.iter();
        // Lifetime 0: somebody took the memory for a barrier.
        let made: Vec<_> = objects
            .filter(|(_, object)| object.lifetime > 0)
            .map(|(&address, object)| (address, object.init, object.counts))
            .collect();
        for (address, init, counts) in made {
            if self.history.len() < MOST_HISTORY {
                let name = self.barrier_name(cta, address);
                self.history.push(Used { cta, address, init, name, counts });
            }
        }
    }
}

/// The table of barriers has so many lines at most.
const MOST_HISTORY: usize = 4096;
