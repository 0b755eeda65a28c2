//! Why a mutant may survive: the closed list. Each reason is judged by the run of the original.

use mbar::program::flow::At;
use mbar::program::meaning::Meaning;

use crate::facts::{Deed, Done, Facts, Key};
use crate::mutant::{Change, Mutant};

/// Why a mutant may survive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// It is found, but as a warning: what shipped code often does against the manual.
    Warned,
    /// A barrier of a warp whose lanes need not meet there, even when each goes its own way.
    WarpBarrier,
    /// A fence behind the making of barriers for one CTA: the barrier of the CTA publishes them.
    InitFence,
    /// A fence in front of a releasing barrier of the cluster.
    FenceBeforeRelease,
    /// A fence before which nobody accessed memory that others access.
    FenceOfNothing,
    /// A fence between proxies on the other side of a barrier, in the threads that start copies.
    FenceBehindBarrier,
    /// Nothing follows that others can see, but the end of barriers.
    NothingFollows,
    /// Two barriers of the CTA in a row.
    DoubledBarrier,
    /// An arrival in phases that nobody waits for: the last lap.
    NobodyWaits,
    /// A wait that only ever passes what an init completes: the first lap.
    FirstLap,
    /// A barrier that the launch does not use.
    UnusedBarrier,
    /// A thread announces bytes behind its copy instead of before it, or the other way round.
    AnnouncedLater,
    /// An access passes a barrier that orders nothing for it: nobody else has its bytes on that side.
    NothingToOrder,
    /// Two arrivals of a thread at different barriers, one behind the other.
    TwoArrivals,
    /// One thread alone, without copies.
    OneThread,
}

impl Reason {
    /// The reason for which a mutant may survive, if there is one.
    pub fn of(mutant: &Mutant, is_warned: bool) -> Option<Reason> {
        let judged = Judged::new(mutant);
        Reason::ALL.into_iter().find(|reason| match reason {
            Reason::Warned => is_warned,
            other => judged.is(*other),
        })
    }

    const ALL: [Reason; 15] = [
        Reason::Warned,
        Reason::WarpBarrier,
        Reason::InitFence,
        Reason::FenceBeforeRelease,
        Reason::FenceOfNothing,
        Reason::FenceBehindBarrier,
        Reason::NothingFollows,
        Reason::DoubledBarrier,
        Reason::NobodyWaits,
        Reason::FirstLap,
        Reason::UnusedBarrier,
        Reason::AnnouncedLater,
        Reason::NothingToOrder,
        Reason::TwoArrivals,
        Reason::OneThread,
    ];
}

/// A mutant in hand: its one or two instructions, and what they mean.
struct Judged<'m> {
    mutant: &'m Mutant<'m>,
    facts: &'m Facts,
    first: (Meaning, Key),
    /// The second one of an exchange.
    second: Option<(Meaning, Key)>,
    /// Whether the first one is for all lanes that come there.
    is_unguarded: bool,
}

fn is_fence(meaning: Meaning) -> bool {
    let publishes = publishes(meaning);
    publishes || matches!(meaning, Meaning::Fence | Meaning::FenceProxy)
}

fn publishes(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::FenceMbarrierInit | Meaning::FenceProxyAsync)
}

fn is_meeting(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::CtaBarrier | Meaning::AlignedBarrier)
}

fn is_wait(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::WaitParity | Meaning::WaitState)
}

impl<'m> Judged<'m> {
    fn new(mutant: &'m Mutant<'m>) -> Judged<'m> {
        let flow = mutant.flow();
        let known = |at: At| (flow.meanings[at].unwrap_or(Meaning::Other), (mutant.routine as u32, at));
        let (first, second) = match mutant.change {
            Change::Without(at) => (at, None),
            Change::Later(first, second) | Change::Earlier(first, second) => (first, Some(second)),
        };
        Judged {
            mutant,
            facts: &mutant.original.facts,
            first: known(first),
            second: second.map(known),
            is_unguarded: !flow.is_guarded(first),
        }
    }

    /// The instruction that was taken out, if it is of this kind.
    fn without(&self, wanted: impl Fn(Meaning) -> bool) -> Option<Key> {
        let (meaning, key) = self.first;
        (self.second.is_none() && wanted(meaning)).then_some(key)
    }

    /// The instruction of this kind, taken out or exchanged.
    fn either(&self, wanted: impl Fn(Meaning) -> bool) -> Option<Key> {
        let all = [Some(self.first), self.second].into_iter().flatten();
        all.filter(|(meaning, _)| wanted(*meaning)).map(|(_, key)| key).next()
    }

    /// What was exchanged, if the first is of one and the second of the other kind.
    fn exchanged(
        &self,
        one: impl Fn(Meaning) -> bool,
        other: impl Fn(Meaning) -> bool,
    ) -> Option<(Key, Key)> {
        let (second, key) = self.second?;
        (one(self.first.0) && other(second)).then_some((self.first.1, key))
    }

    fn is(&self, reason: Reason) -> bool {
        use Meaning as M;
        let facts = self.facts;
        let launch = &self.mutant.original.prepared.launch;
        match reason {
            Reason::Warned => false,
            Reason::WarpBarrier => self.without(|m| m == M::WarpBarrier).is_some(),
            Reason::InitFence => {
                let only_inits = |fence| self.before(fence).all(|done| done.deed == Deed::Init);
                launch.cluster.iter().product::<u32>() == 1 && self.either(publishes).is_some_and(only_inits)
            }
            Reason::FenceBeforeRelease => {
                self.either(publishes).is_some_and(|fence| self.is_before_release(fence))
            }
            Reason::FenceOfNothing => {
                let is_access = |done: &Done| matches!(done.deed, Deed::Weak | Deed::Start);
                self.without(is_fence).is_some_and(|fence| !self.all_before(fence).any(is_access))
            }
            Reason::FenceBehindBarrier => {
                let is_barrier = |m: M| is_meeting(m) || m == M::WarpBarrier;
                self.is_unguarded && self.exchanged(|m| m == M::FenceProxyAsync, is_barrier).is_some()
            }
            Reason::NothingFollows => self.does_nothing_follow(),
            Reason::DoubledBarrier => self.without(is_meeting).is_some_and(|key| self.is_doubled(key)),
            Reason::NobodyWaits => {
                let arrives = |m: M| matches!(m, M::Arrive | M::CpAsyncArrive | M::CpAsyncArriveNoInc);
                let phases = self.without(arrives).and_then(|key| facts.arrivals.get(&key));
                phases.is_some_and(|phases| phases.is_disjoint(&facts.seen))
            }
            Reason::FirstLap => {
                let answers = self.without(is_wait).and_then(|key| facts.answers.get(&key));
                answers.is_some_and(|answers| answers.iter().all(|answer| *answer == (-1, true)))
            }
            Reason::UnusedBarrier => {
                let made = self.without(|m| m == M::BarrierInit).and_then(|key| facts.made.get(&key));
                made.is_some_and(|made| made.is_disjoint(&facts.used))
            }
            Reason::AnnouncedLater => {
                let announces = |m: M| matches!(m, M::ArriveExpectTx | M::ExpectTx);
                let copies = |m: M| matches!(m, M::BulkLoad | M::AsyncStore | M::AsyncOther);
                self.exchanged(announces, copies).or(self.exchanged(copies, announces)).is_some()
            }
            Reason::NothingToOrder => {
                let accesses =
                    |m: M| matches!(m, M::Load | M::Store | M::CpAsync | M::BulkLoad | M::BulkStore);
                let meets = |m: M| is_meeting(m) || matches!(m, M::WarpBarrier | M::ClusterArrive);
                let earlier = self.exchanged(meets, accesses).map(|(_, access)| access);
                let later = self.exchanged(accesses, meets).map(|(access, _)| access);
                earlier.is_some_and(|access| !facts.behind_others.contains(&access))
                    || later.is_some_and(|access| !facts.before_others.contains(&access))
            }
            Reason::TwoArrivals => {
                let arrives = |m: M| m == M::Arrive;
                let phases = |key: Key| facts.arrivals.get(&key).into_iter().flatten();
                self.exchanged(arrives, arrives).is_some_and(|(one, other)| {
                    !phases(one).any(|(barrier, _)| phases(other).any(|(its, _)| barrier == its))
                })
            }
            Reason::OneThread => {
                let mut all = facts.history.values().flatten();
                let is_alone = launch.grid.iter().chain(&launch.block).all(|&n| n == 1);
                is_alone && !all.any(|done| done.deed == Deed::Start)
            }
        }
    }

    /// A fence, or a wait for all, behind which nothing concerns others any more but the end of barriers (and, for a
    /// fence, strong accesses).
    fn does_nothing_follow(&self) -> bool {
        let kind = |m: Meaning| is_fence(m) || is_meeting(m) || m == Meaning::ClusterWait;
        let Some(key) = self.either(kind) else { return false };
        let is_fence = self.either(is_fence).is_some();
        let last = self.second.map_or(key, |(_, key)| key);
        let mut behind = self.facts.history.values().flat_map(|deeds| {
            let start = deeds.iter().position(|done| done.key == last).map_or(deeds.len(), |at| at + 1);
            &deeds[start..]
        });
        !behind.any(|done| {
            let harmless = done.deed == Deed::Inval || done.deed == Deed::Strong && is_fence;
            done.key != last && !harmless && self.facts.concerns_others(done)
        })
    }

    /// What concerns others that warps did before the last time that they came here.
    fn before(&self, key: Key) -> impl Iterator<Item = &'m Done> {
        let facts = self.facts;
        facts.history.values().flat_map(move |deeds| {
            let end = deeds.iter().rposition(|done| done.key == key).unwrap_or(0);
            deeds[..end].iter().filter(|done| facts.concerns_others(done))
        })
    }

    /// What concerns others that anybody did before the last time that anybody came here.
    fn all_before(&self, key: Key) -> impl Iterator<Item = &'m Done> {
        let facts = self.facts;
        let all = facts.history.values().flatten();
        let end = all.clone().filter(|done| done.key == key).map(|done| done.number).max().unwrap_or(0);
        all.filter(move |done| done.number < end && facts.concerns_others(done))
    }

    /// Whether the next barrier of CTA or cluster that warps come to from here is one of the cluster, with release.
    fn is_before_release(&self, key: Key) -> bool {
        self.facts.history.values().all(|deeds| {
            let times = (0..deeds.len()).filter(|&time| deeds[time].key == key);
            times.map(|time| time + 1).all(|from| {
                let mut rest = deeds[from..].iter();
                let next =
                    rest.find(|done| matches!(done.deed, Deed::Meeting | Deed::Cluster | Deed::Strong));
                next.is_some_and(|done| done.deed == Deed::Cluster)
            })
        })
    }

    /// Whether between it and another barrier of the CTA, always the one before or always the one behind, no thread
    /// does anything that concerns others.
    fn is_doubled(&self, key: Key) -> bool {
        let matters = |done: &&Done| self.facts.matters(done);
        let is_met = |next: Option<&Done>| next.is_none_or(|done| done.deed == Deed::Meeting);
        [true, false].into_iter().any(|behind| {
            self.facts.history.values().all(|deeds| {
                (0..deeds.len()).filter(|&time| deeds[time].key == key).all(|time| {
                    let (before, after) = (&deeds[..time], &deeds[time + 1..]);
                    is_met(if behind {
                        after.iter().find(matters)
                    } else {
                        before.iter().rev().find(matters)
                    })
                })
            })
        })
    }
}
