//! What somebody knows to have happened: a vector clock, sparse in warps.
//!
//! The entry of a warp says for its lanes up to which of its events they are known. Most warps need one time
//! for all lanes. Besides, a clock holds *marks*: of each barrier the highest phase that is known to be
//! complete, of named barriers and clusters the highest generation.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::machine::column::Mask;

/// An event of a warp: its events are counted from 1.
pub type Time = u32;

/// What a mark is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mark {
    /// Phases of an mbarrier object, by its lifetime.
    Phase(u64),
    /// Generations of a named barrier of a CTA.
    Named(u32, u32),
    /// Generations of the barrier of a cluster.
    Cluster(u32),
}

/// Times of the lanes of one warp: disjoint sets of lanes, each with its time, the later ones first.
type Times = SmallVec<[(Mask, Time); 1]>;

/// What somebody knows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    /// By warp.
    warps: Vec<(u32, Times)>,
    marks: Vec<(Mark, i64)>,
}

impl Clock {
    /// The lanes of `mask` whose events up to `time` are known.
    #[inline]
    pub fn knows(&self, warp: u32, mask: Mask, time: Time) -> Mask {
        match self.warps.binary_search_by_key(&warp, |(warp, _)| *warp) {
            Ok(at) => {
                let times = self.warps[at].1.iter();
                times.take_while(|(_, known)| *known >= time).fold(0, |all, (lanes, _)| all | lanes) & mask
            }
            Err(_) => 0,
        }
    }

    /// The highest number of a mark.
    #[inline]
    pub fn mark(&self, mark: Mark) -> Option<i64> {
        let at = self.marks.binary_search_by_key(&mark, |(mark, _)| *mark).ok()?;
        Some(self.marks[at].1)
    }

    /// Adds the events of lanes of a warp.
    pub fn add(&mut self, warp: u32, mask: Mask, time: Time) {
        match self.warps.binary_search_by_key(&warp, |(warp, _)| *warp) {
            Ok(at) => raise(&mut self.warps[at].1, mask, time),
            Err(at) => self.warps.insert(at, (warp, SmallVec::from_slice(&[(mask, time)]))),
        }
    }

    /// Raises a mark.
    pub fn raise_mark(&mut self, mark: Mark, number: i64) {
        match self.marks.binary_search_by_key(&mark, |(mark, _)| *mark) {
            Ok(at) => self.marks[at].1 = self.marks[at].1.max(number),
            Err(at) => self.marks.insert(at, (mark, number)),
        }
    }

    /// Whether all that `other` knows is known.
    pub fn covers(&self, other: &Clock) -> bool {
        let mut own = self.warps.iter();
        let warps = other.warps.iter().all(|(warp, times)| {
            own.by_ref()
                .find(|(own, _)| own >= warp)
                .is_some_and(|(own, known)| own == warp && covers(known, times))
        });
        let mut marks = self.marks.iter();
        warps
            && other.marks.iter().all(|(mark, number)| {
                marks
                    .by_ref()
                    .find(|(own, _)| own >= mark)
                    .is_some_and(|(own, known)| own == mark && known >= number)
            })
    }

    fn merge(&self, other: &Clock) -> Clock {
        let warps = merged(&self.warps, &other.warps, |a, b| {
            let mut times = a.clone();
            b.iter().for_each(|&(mask, time)| raise(&mut times, mask, time));
            times
        });
        Clock { warps, marks: merged(&self.marks, &other.marks, |a, b| *a.max(b)) }
    }
}

/// Whether lanes are known at least up to these times.
fn covers(known: &Times, times: &Times) -> bool {
    known.as_slice() == times.as_slice()
        || times.iter().all(|&(mask, time)| {
            let enough = known.iter().take_while(|(_, known)| *known >= time);
            mask & !enough.fold(0, |all, (lanes, _)| all | lanes) == 0
        })
}

/// Raises the times of lanes.
fn raise(times: &mut Times, mut mask: Mask, time: Time) {
    if let [(lanes, known)] = times.as_mut_slice()
        && *lanes == mask
    {
        *known = time.max(*known);
        return;
    }
    for (lanes, known) in times.iter_mut() {
        if *known >= time {
            mask &= !*lanes;
        } else {
            *lanes &= !mask;
        }
    }
    times.retain(|(lanes, _)| *lanes != 0);
    if mask == 0 {
        return;
    }
    match times.iter_mut().find(|(_, known)| *known == time) {
        Some((lanes, _)) => *lanes |= mask,
        None => {
            let at = times.partition_point(|(_, known)| *known > time);
            times.insert(at, (mask, time));
        }
    }
}

/// Two sorted lists as one; what both have is combined.
fn merged<K: Ord + Copy, V: Clone>(a: &[(K, V)], b: &[(K, V)], combine: impl Fn(&V, &V) -> V) -> Vec<(K, V)> {
    let mut all = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a, b);
    while let (Some(first), Some(second)) = (a.first(), b.first()) {
        match first.0.cmp(&second.0) {
            std::cmp::Ordering::Less => {
                all.push(first.clone());
                a = &a[1..];
            }
            std::cmp::Ordering::Greater => {
                all.push(second.clone());
                b = &b[1..];
            }
            std::cmp::Ordering::Equal => {
                all.push((first.0, combine(&first.1, &second.1)));
                (a, b) = (&a[1..], &b[1..]);
            }
        }
    }
    all.extend_from_slice(a);
    all.extend_from_slice(b);
    all
}

/// A clock that many share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared(Option<Arc<Clock>>);

static NOTHING: Clock = Clock { warps: Vec::new(), marks: Vec::new() };

impl std::ops::Deref for Shared {
    type Target = Clock;

    fn deref(&self) -> &Clock {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl Shared {
    /// Learns what another knows.
    pub fn join(&mut self, other: &Shared) {
        let Some(theirs) = &other.0 else { return };
        match &self.0 {
            None => self.0 = Some(theirs.clone()),
            Some(own) if Arc::ptr_eq(own, theirs) || own.covers(theirs) => {}
            Some(own) if theirs.covers(own) => self.0 = Some(theirs.clone()),
            Some(own) => self.0 = Some(Arc::new(own.merge(theirs))),
        }
    }

    /// Learns the events of lanes of a warp.
    pub fn add(&mut self, warp: u32, mask: Mask, time: Time) {
        if self.knows(warp, mask, time) != mask {
            Arc::make_mut(self.0.get_or_insert_default()).add(warp, mask, time);
        }
    }

    /// Raises a mark.
    pub fn raise_mark(&mut self, mark: Mark, number: i64) {
        if self.mark(mark).is_none_or(|known| known < number) {
            Arc::make_mut(self.0.get_or_insert_default()).raise_mark(mark, number);
        }
    }
}

impl Hash for Clock {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.warps.hash(state);
        self.marks.hash(state);
    }
}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Clock::hash(self, state);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clock() -> impl Strategy<Value = Clock> {
        let events = prop::collection::vec((0u32..4, 1u32..16, 1u32..6), 0..8);
        let marks = prop::collection::vec((0u64..3, -1i64..4), 0..3);
        (events, marks).prop_map(|(events, marks)| {
            let mut clock = Clock::default();
            events.into_iter().for_each(|(warp, mask, time)| clock.add(warp, mask, time));
            marks.into_iter().for_each(|(id, number)| clock.raise_mark(Mark::Phase(id), number));
            clock
        })
    }

    /// What a clock knows, lane by lane.
    fn known(clock: &Clock) -> Vec<Time> {
        let lanes = (0..4).flat_map(|warp| (0..4).map(move |lane| (warp, 1 << lane)));
        lanes
            .map(|(warp, mask)| {
                (0..8).rev().find(|&t| t == 0 || clock.knows(warp, mask, t) != 0).unwrap_or(0)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn a_merged_clock_knows_the_later_of_both(a in clock(), b in clock()) {
            let merged = a.merge(&b);
            let later: Vec<Time> = known(&a).into_iter().zip(known(&b)).map(|(a, b)| a.max(b)).collect();
            prop_assert_eq!(known(&merged), later);
            prop_assert_eq!(&merged, &b.merge(&a));
            prop_assert!(merged.covers(&a) && merged.covers(&b));
        }

        #[test]
        fn covering_is_knowing_no_less(a in clock(), b in clock()) {
            let lanes = known(&a).into_iter().zip(known(&b)).all(|(a, b)| a >= b);
            let marks = (0..3).all(|id| a.mark(Mark::Phase(id)) >= b.mark(Mark::Phase(id)));
            prop_assert_eq!(a.covers(&b), lanes && marks);
        }
    }
}
