//! Strong accesses: what they release to those who look at the same place.

use rustc_hash::FxHashMap;

use super::{Flag, MOST_OWN, Watch};
use crate::machine::code::Pc;
use crate::machine::column::Mask;
use crate::machine::cta::Site;
use crate::machine::event::{Accessed, Touching};
use crate::machine::order::Order;
use crate::verify::causality::{Known, Releases};
use crate::verify::clock::Time;
use crate::verify::order::Knowledge;
use crate::verify::phase::Happened;
use crate::verify::race::MOST_LOOKS;
use crate::verify::shadow::{Lanes, Region, Who};

impl Watch {
    /// A strong access synchronises with others at the same place. Updates of lanes come one after the other.
    pub(super) fn synchronize(
        &mut self,
        accessed: &Accessed,
        order: Order,
        runs: &[(Region, u64, u64, Lanes)],
        time: Time,
    ) {
        let updates = matches!(accessed.kind, Touching::Update { .. });
        // Who does not get the old value has observed nothing.
        let reads = matches!(accessed.kind, Touching::Read | Touching::Update { returns: true, .. });
        let writes = accessed.kind != Touching::Read;
        for &(region, start, end, of) in runs {
            let mut at = start;
            while at < end {
                let next = of.next(at).min(end);
                let all = of.at(at);
                let orders = order.acquires || order.releases || self.causality.has_released(accessed.by);
                let one_by_one = updates && orders;
                let mut left = all;
                while left != 0 {
                    let lanes = if one_by_one { left & left.wrapping_neg() } else { left };
                    left &= !lanes;
                    let by = Site { lanes, ..accessed.by };
                    if reads {
                        self.acquire_flag(by, (region, at), next - at, order);
                    }
                    if writes {
                        // Of lanes that store the same, one comes last, and others see what it releases.
                        let last = 1 << (Mask::BITS - 1 - lanes.leading_zeros());
                        let by = if updates { by } else { Site { lanes: last, ..by } };
                        self.release_flag(by, (region, at), next - at, order, updates, time);
                    }
                }
                at = next;
            }
        }
    }

    /// Whether each flag that an instruction looks at is written once, of all writes that are in no order with
    /// one round of looking: then the value that ends the round is always the same.
    pub fn is_written_once(&self, pc: Pc) -> bool {
        if self.races.looks.len() >= MOST_LOOKS {
            return false;
        }
        let mut writers: FxHashMap<(u32, usize, Region, u64), (Who, Time)> = FxHashMap::default();
        self.races.looks.iter().filter(|look| look.pc == pc).all(|look| {
            let rounds = self.looks.get(&(look.warp, pc));
            let round = rounds.map_or(0, |(starts, _)| starts.partition_point(|start| *start <= look.time));
            let key = (look.warp, round, look.region, look.start);
            *writers.entry(key).or_insert(look.writer) == look.writer
        })
    }

    pub(super) fn acquire_flag(&mut self, by: Site, place: (Region, u64), size: u64, order: Order) {
        let flag = self.flags.get(&place).filter(|flag| flag.size == size && !flag.releases.is_empty());
        if flag.is_some() || self.causality.is_looking(by.warp) {
            self.causality.looks(by, place);
        }
        let spins = self.spins.get(&by.pc).copied().unwrap_or(false);
        if let Some(Flag { releases, .. }) = flag {
            let news = releases.acquired(&self.topology, order.scope, self.topology.cta(by.warp));
            let knows = |known: &Known| known.clock().covers(news.clock());
            if !spins && !self.causality.order.all_know(by.warp, by.lanes, knows) {
                self.lucky.insert(by.pc);
            }
            self.causality.observe(by, place, releases, order.acquires, order.scope, &self.topology);
        }
        // Who looks only once may as well have come too early to see it.
        if (spins || order.acquires)
            && let Some(given) = self.given_at.get(&place)
        {
            self.enabling.learn(by, given);
        }
    }

    pub(super) fn release_flag(
        &mut self,
        by: Site,
        place: (Region, u64),
        size: u64,
        order: Order,
        updates: bool,
        time: Time,
    ) {
        let released = self.causality.released(by, time, order.releases, order.scope);
        let cta = self.topology.cta(by.warp);
        let flag = self.flags.entry(place).or_default();
        if flag.size != size {
            *flag = Flag { size, ..Flag::default() };
        } else if !updates {
            // Updates continue what was released before, others do not.
            flag.releases = Releases::default();
        }
        let is_own = |of: &(u32, Mask, Releases)| of.0 == by.warp && of.1 & by.lanes == by.lanes;
        if order.releases {
            let mut own = Releases::default();
            released.iter().for_each(|(scope, known)| own.add(*scope, cta, known));
            flag.own.retain(|of| !is_own(of));
            if flag.own.len() == MOST_OWN {
                flag.own.remove(0);
            }
            flag.own.push((by.warp, by.lanes, own));
        } else if let Some((.., own)) = flag.own.iter().find(|of| is_own(of)) {
            flag.releases.join(own);
        }
        released.iter().for_each(|(scope, known)| flag.releases.add(*scope, cta, known));
        let mut given = self.enabling.give(Happened { by, time });
        if updates && let Some(before) = self.given_at.get(&place) {
            given.join(before);
        }
        self.given_at.insert(place, given);
    }
}
