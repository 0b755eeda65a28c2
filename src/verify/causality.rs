//! Happens-before: the causality order of the memory model (PTX ISA §8.8), lane by lane.
//!
//! What somebody knows has layers: what happened before, and of that what a fence between ways to memory has
//! covered since. A fence covers only what its lane knew when it executed it.

use std::sync::Arc;

use smallvec::SmallVec;

use super::clock::{Mark, Shared, Time};
use super::order::{Knowledge, Order};
use super::shadow::Region;
use crate::machine::code::Pc;
use crate::machine::column::Mask;
use crate::machine::cta::Site;
use crate::machine::order::{Fence, ProxyFence, Scope};

/// Ways on which something comes before something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Layer {
    /// Without regard to proxies.
    Plain,
    /// With a fence to the asynchronous proxy, of shared memory.
    AsyncShared,
    /// The same of global memory.
    AsyncGlobal,
    /// With a release fence of tensor maps.
    MapRelease,
    /// With an acquire fence of tensor maps behind that.
    MapAcquire,
    /// Initialisations of barriers, with the fence that publishes them.
    Inits,
}

const LAYERS: usize = 6;

/// What a lane knows to have happened before.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub struct Known([Shared; LAYERS]);

impl Known {
    /// One layer of it.
    #[inline]
    pub fn layer(&self, layer: Layer) -> &Shared {
        &self.0[layer as usize]
    }

    /// What is before is covered now, in another layer.
    fn cover(&mut self, from: Layer, to: Layer, own: Option<(u32, Mask, Time)>) {
        let source = self.0[from as usize].clone();
        let target = &mut self.0[to as usize];
        target.join(&source);
        if let Some((warp, mask, time)) = own {
            target.add(warp, mask, time);
        }
    }

    /// Only the barriers that were published.
    fn only_inits(&self) -> Known {
        let mut known = Known::default();
        known.0[Layer::Inits as usize] = self.0[Layer::Inits as usize].clone();
        known
    }
}

impl Knowledge for Known {
    fn join(&mut self, other: &Known) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, theirs)| own.join(theirs));
    }

    fn add(&mut self, warp: u32, mask: Mask, time: Time) {
        self.0[Layer::Plain as usize].add(warp, mask, time);
    }

    fn clock(&self) -> &Shared {
        self.layer(Layer::Plain)
    }

    fn raise_mark(&mut self, mark: Mark, number: i64) {
        self.0[Layer::Plain as usize].raise_mark(mark, number);
    }
}

/// Which CTAs belong together.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// The CTA of each warp.
    pub cta_of: Vec<u32>,
    /// The cluster of each CTA.
    pub cluster_of: Vec<u32>,
    /// The address of the first byte of shared memory.
    pub shared_start: u64,
}

impl Topology {
    /// The CTA of a warp.
    pub fn cta(&self, warp: u32) -> u32 {
        self.cta_of.get(warp as usize).copied().unwrap_or(u32::MAX)
    }

    /// The cluster of a CTA.
    pub fn cluster(&self, cta: u32) -> u32 {
        self.cluster_of.get(cta as usize).copied().unwrap_or(u32::MAX)
    }

    /// Whether a scope of one CTA includes another.
    pub fn includes(&self, scope: Scope, from: u32, to: u32) -> bool {
        match scope {
            Scope::Cta => from == to,
            Scope::Cluster => self.cluster(from) == self.cluster(to),
            Scope::Gpu | Scope::Sys => true,
        }
    }
}

/// What was released at one place: by the CTA that did it, and with which scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Releases {
    list: Arc<Vec<(Scope, u32, Known)>>,
    /// Those whose scope includes everybody, together.
    wide: Known,
}

impl Releases {
    /// Adds a release.
    pub fn add(&mut self, scope: Scope, cta: u32, what: &Known) {
        if scope >= Scope::Gpu {
            self.wide.join(what);
        }
        let list = Arc::make_mut(&mut self.list);
        match list.iter_mut().find(|(s, c, _)| (*s, *c) == (scope, cta)) {
            Some((.., known)) => known.join(what),
            None => list.push((scope, cta, what.clone())),
        }
    }

    /// Adds all that others released.
    pub fn join(&mut self, other: &Releases) {
        other.list.iter().for_each(|(scope, cta, known)| self.add(*scope, *cta, known));
    }

    /// Those that a CTA sees with a scope, or those that it does not see.
    fn seen(&self, topology: &Topology, scope: Scope, cta: u32, are: bool) -> Releases {
        let sees = |(other, from, _): &(Scope, u32, Known)| {
            are == (topology.includes(*other, *from, cta) && topology.includes(scope, cta, *from))
        };
        if self.list.iter().all(sees) {
            return self.clone();
        }
        let mut some = Releases::default();
        let seen = self.list.iter().filter(|entry| sees(entry));
        seen.for_each(|(scope, cta, known)| some.add(*scope, *cta, known));
        some
    }

    /// Whether nothing was released.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What a CTA acquires with a scope. Both scopes must include the other side.
    pub fn acquired(&self, topology: &Topology, scope: Scope, cta: u32) -> Known {
        let all_wide = scope >= Scope::Gpu;
        let mut all = if all_wide { self.wide.clone() } else { Known::default() };
        for (other, from, known) in self.list.iter().filter(|(other, ..)| !(all_wide && *other >= Scope::Gpu))
        {
            if topology.includes(*other, *from, cta) && topology.includes(scope, cta, *from) {
                all.join(known);
            }
        }
        all
    }
}

/// A release fence of lanes: what they knew then.
#[derive(Clone, Debug, Hash)]
struct Released {
    lanes: Mask,
    scope: Scope,
    known: Known,
    time: Time,
}

/// A place in memory that others can see.
pub type At = (Region, u64);

/// What lanes have observed with a relaxed operation.
#[derive(Clone, Debug, Hash)]
struct Observed {
    lanes: Mask,
    pc: Pc,
    at: At,
    releases: Releases,
}

/// Lanes that look at a place and have done nothing else since: what they knew before.
#[derive(Clone, Debug, Hash)]
struct Looking {
    lanes: Mask,
    pc: Pc,
    at: At,
    before: Known,
}

/// The fences of a warp that still matter.
#[derive(Clone, Debug, Default, Hash)]
struct Fences {
    released: SmallVec<[Released; 1]>,
    observed: Vec<Observed>,
    looking: Vec<Looking>,
}

/// So many observations of a warp wait for a fence at most; more are taken together.
const MOST_OBSERVED: usize = 64;

/// The order.
#[derive(Clone, Debug, Default)]
pub struct Causality {
    /// What each lane knows.
    pub order: Order<Known>,
    fences: Vec<Fences>,
}

impl Causality {
    /// Adds what everybody knows to a hash.
    pub fn hash_into(&self, state: &mut impl std::hash::Hasher) {
        use std::hash::Hash;
        self.order.hash_into(state);
        self.fences.hash(state);
    }

    fn fences(&mut self, warp: u32) -> &mut Fences {
        let warp = warp as usize;
        if self.fences.len() <= warp {
            self.fences.resize_with(warp + 1, Fences::default);
        }
        &mut self.fences[warp]
    }

    /// Lanes execute a fence.
    pub fn fence(&mut self, by: Site, time: Time, fence: Fence, topology: &Topology) {
        if let Some(order) = fence.threads {
            if order.acquires {
                self.acquire_observed(by, order.scope, topology);
            }
            if order.releases {
                self.release_by_fence(by, time, order.scope);
            }
        }
        let warp = by.warp;
        self.order.change(warp, by.lanes, |lanes, known| {
            let own = Some((warp, lanes, time));
            match fence.proxy {
                Some(ProxyFence::Async { shared, global }) => {
                    if shared {
                        known.cover(Layer::Plain, Layer::AsyncShared, own);
                    }
                    if global {
                        known.cover(Layer::Plain, Layer::AsyncGlobal, own);
                    }
                }
                Some(ProxyFence::MapRelease) => known.cover(Layer::Plain, Layer::MapRelease, own),
                Some(ProxyFence::MapAcquire) => known.cover(Layer::MapRelease, Layer::MapAcquire, None),
                None => {}
            }
            if fence.inits {
                // Only what the lanes have initialised themselves.
                known.0[Layer::Inits as usize].add(warp, lanes, time);
            }
        });
    }

    fn release_by_fence(&mut self, by: Site, time: Time, scope: Scope) {
        let classes: SmallVec<[(Mask, Known); 2]> =
            self.order.of(by.warp, by.lanes).map(|(lanes, known)| (lanes, known.clone())).collect();
        let fences = self.fences(by.warp);
        for old in &mut fences.released {
            if old.scope <= scope {
                old.lanes &= !by.lanes;
            }
        }
        fences.released.retain(|old| old.lanes != 0);
        for (lanes, known) in classes {
            fences.released.push(Released { lanes, scope, known, time });
        }
    }

    fn acquire_observed(&mut self, by: Site, scope: Scope, topology: &Topology) {
        let cta = topology.cta(by.warp);
        for mut seen in std::mem::take(&mut self.fences(by.warp).observed) {
            let inside = seen.lanes & by.lanes;
            if inside != 0 {
                self.order.learn(by.warp, inside, &seen.releases.acquired(topology, scope, cta));
                // A fence with a wider scope may come.
                let releases = seen.releases.seen(topology, scope, cta, false);
                if !releases.is_empty() {
                    self.fences(by.warp).observed.push(Observed { lanes: inside, releases, ..seen });
                }
            }
            seen.lanes &= !inside;
            if seen.lanes != 0 {
                self.fences(by.warp).observed.push(seen);
            }
        }
    }

    /// Lanes do something: they look no more at what they looked at with another instruction.
    pub fn goes_on(&mut self, by: Site) {
        let Some(fences) = self.fences.get_mut(by.warp as usize) else { return };
        if fences.looking.is_empty() {
            return;
        }
        fences.looking.iter_mut().filter(|l| l.pc != by.pc).for_each(|looking| looking.lanes &= !by.lanes);
        fences.looking.retain(|looking| looking.lanes != 0);
    }

    /// Whether lanes of a warp look at something.
    pub fn is_looking(&self, warp: u32) -> bool {
        self.fences.get(warp as usize).is_some_and(|fences| !fences.looking.is_empty())
    }

    /// Lanes look at a place, maybe again: what they saw there the times before depends on the schedule and
    /// does not count.
    pub fn looks(&mut self, by: Site, at: At) {
        let mut new = by.lanes;
        for mut old in std::mem::take(&mut self.fences(by.warp).looking) {
            let inside = old.lanes & by.lanes;
            if inside != 0 && (old.pc, old.at) == (by.pc, at) {
                self.order.set(by.warp, inside, old.before.clone());
                let observed = &mut self.fences(by.warp).observed;
                let same = observed.iter_mut().filter(|seen| (seen.pc, seen.at) == (by.pc, at));
                same.for_each(|seen| seen.lanes &= !inside);
                observed.retain(|seen| seen.lanes != 0);
                new &= !inside;
            } else {
                old.lanes &= !inside;
            }
            if old.lanes != 0 {
                self.fences(by.warp).looking.push(old);
            }
        }
        let looking =
            |(lanes, known): (Mask, &Known)| Looking { lanes, pc: by.pc, at, before: known.clone() };
        let looking: SmallVec<[Looking; 1]> = self.order.of(by.warp, new).map(looking).collect();
        self.fences(by.warp).looking.extend(looking);
    }

    /// Whether a release fence of lanes counts for what they write.
    pub fn has_released(&self, by: Site) -> bool {
        let fences = self.fences.get(by.warp as usize);
        fences.is_some_and(|fences| fences.released.iter().any(|fence| fence.lanes & by.lanes != 0))
    }

    /// Lanes observe something: what was released there counts at once, or with their next fence.
    pub fn observe(
        &mut self,
        by: Site,
        at: At,
        releases: &Releases,
        acquires: bool,
        scope: Scope,
        topology: &Topology,
    ) {
        if releases.is_empty() {
            return;
        }
        if acquires {
            let known = releases.acquired(topology, scope, topology.cta(by.warp));
            return self.order.learn(by.warp, by.lanes, &known);
        }
        // The operation itself has to see the other side, whatever the scope of a fence behind it.
        let releases = releases.seen(topology, scope, topology.cta(by.warp), true);
        let observed = &mut self.fences(by.warp).observed;
        let many = observed.len() >= MOST_OBSERVED;
        let same =
            |seen: &&mut Observed| seen.lanes == by.lanes && (many || (seen.pc, seen.at) == (by.pc, at));
        match observed.iter_mut().find(same) {
            Some(seen) => seen.releases.join(&releases),
            None => observed.push(Observed { lanes: by.lanes, pc: by.pc, at, releases }),
        }
    }

    /// What lanes release at a place, each way with its scope.
    pub fn released(
        &self,
        by: Site,
        time: Time,
        releases: bool,
        scope: Scope,
    ) -> SmallVec<[(Scope, Known); 2]> {
        let mut all: SmallVec<[(Scope, Known); 2]> = SmallVec::new();
        if releases {
            all.push((scope, self.order.give(by.warp, by.lanes, time)));
        }
        let fences = self.fences.get(by.warp as usize).into_iter().flat_map(|fences| &fences.released);
        for fence in fences.filter(|fence| fence.lanes & by.lanes != 0) {
            let mut known = fence.known.clone();
            known.add(by.warp, fence.lanes & by.lanes, fence.time);
            // Both the fence and the operation have to include the other side.
            all.push((fence.scope.min(scope), known));
        }
        all
    }

    /// What lanes release at the barrier of their cluster.
    pub fn released_to_cluster(&self, by: Site, time: Time, releases: bool) -> Known {
        let mut all = self.order.together(by.warp, by.lanes).only_inits();
        for (scope, known) in self.released(by, time, releases, Scope::Cluster) {
            if scope >= Scope::Cluster {
                all.join(&known);
            }
        }
        all
    }
}
