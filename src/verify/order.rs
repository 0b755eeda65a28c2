//! Who knows what: the lanes of each warp in classes that know the same.
//!
//! A class does not hold what its own lanes did: a lane comes after itself anyway.

use smallvec::SmallVec;

use super::clock::{Mark, Shared, Time};
use crate::machine::column::{LANES, Mask};

/// What a class of lanes knows.
pub trait Knowledge: Clone + Default + PartialEq {
    /// Learns what another knows.
    fn join(&mut self, other: &Self);
    /// Learns what lanes of a warp did up to a time.
    fn add(&mut self, warp: u32, mask: Mask, time: Time);
    /// What is known without regard to ways to memory.
    fn clock(&self) -> &Shared;
    /// Raises a mark.
    fn raise_mark(&mut self, mark: Mark, number: i64);
}

impl Knowledge for Shared {
    fn join(&mut self, other: &Shared) {
        Shared::join(self, other);
    }

    fn add(&mut self, warp: u32, mask: Mask, time: Time) {
        Shared::add(self, warp, mask, time);
    }

    fn clock(&self) -> &Shared {
        self
    }

    fn raise_mark(&mut self, mark: Mark, number: i64) {
        Shared::raise_mark(self, mark, number);
    }
}

/// An order of events: what each lane knows to have come before.
#[derive(Clone, Debug, Default)]
pub struct Order<K> {
    warps: Vec<SmallVec<[(Mask, K); 1]>>,
    /// What lanes know that never learnt anything.
    nothing: K,
}

impl<K: Knowledge> Order<K> {
    fn classes(&mut self, warp: u32) -> &mut SmallVec<[(Mask, K); 1]> {
        let warp = warp as usize;
        if self.warps.len() <= warp {
            self.warps.resize_with(warp + 1, SmallVec::new);
        }
        if self.warps[warp].is_empty() {
            self.warps[warp].push((Mask::MAX, K::default()));
        }
        &mut self.warps[warp]
    }

    /// Adds what everybody knows to a hash.
    pub fn hash_into(&self, state: &mut impl std::hash::Hasher)
    where
        K: std::hash::Hash,
    {
        use std::hash::Hash;
        for classes in &self.warps {
            let mut classes: SmallVec<[&(Mask, K); 4]> = classes.iter().collect();
            classes.sort_unstable_by_key(|(lanes, _)| *lanes);
            classes.hash(state);
        }
    }

    /// What lanes of a warp know, class by class: each lane is in one.
    pub fn of(&self, warp: u32, mask: Mask) -> impl Iterator<Item = (Mask, &K)> {
        let classes = self.warps.get(warp as usize).map_or(&[][..], |classes| classes);
        let unlearnt = (classes.is_empty() && mask != 0).then_some((mask, &self.nothing));
        let inside = classes.iter().filter(move |(lanes, _)| lanes & mask != 0);
        inside.map(move |(lanes, known)| (lanes & mask, known)).chain(unlearnt)
    }

    /// Whether all of some lanes know enough.
    pub fn all_know(&self, warp: u32, mask: Mask, enough: impl Fn(&K) -> bool) -> bool {
        self.of(warp, mask).all(|(_, known)| enough(known))
    }

    /// All that lanes of a warp know together.
    pub fn together(&self, warp: u32, mask: Mask) -> K {
        let mut classes = self.of(warp, mask);
        let mut all = classes.next().map(|(_, known)| known.clone()).unwrap_or_default();
        classes.for_each(|(_, known)| all.join(known));
        all
    }

    /// Changes what lanes know.
    pub fn change(&mut self, warp: u32, mask: Mask, change: impl Fn(Mask, &mut K)) {
        let classes = self.classes(warp);
        for index in 0..classes.len() {
            let (lanes, _) = classes[index];
            let inside = lanes & mask;
            if inside == 0 {
                continue;
            }
            if inside == lanes {
                let (lanes, known) = &mut classes[index];
                change(*lanes, known);
                continue;
            }
            let mut known = classes[index].1.clone();
            change(inside, &mut known);
            if known != classes[index].1 {
                classes[index].0 &= !inside;
                classes.push((inside, known));
            }
        }
        unite(classes);
    }

    /// Lanes learn something.
    pub fn learn(&mut self, warp: u32, mask: Mask, what: &K) {
        self.change(warp, mask, |_, known| known.join(what));
    }

    /// What lanes give to those who learn from them: what they know and did.
    pub fn give(&self, warp: u32, mask: Mask, time: Time) -> K {
        let mut given = self.together(warp, mask);
        given.add(warp, mask, time);
        given
    }

    /// Lanes of a warp meet: all know what each of them knows and did.
    pub fn meet(&mut self, warp: u32, mask: Mask, time: Time) {
        if mask.count_ones() < 2 {
            return;
        }
        let known = self.give(warp, mask, time);
        self.set(warp, mask, known);
    }

    /// Lanes know this and nothing else.
    pub fn set(&mut self, warp: u32, mask: Mask, what: K) {
        let classes = self.classes(warp);
        if let [(lanes, known)] = classes.as_mut_slice()
            && *lanes & !mask == 0
        {
            *known = what;
            return;
        }
        classes.iter_mut().for_each(|(lanes, _)| *lanes &= !mask);
        classes.retain(|(lanes, _)| *lanes != 0);
        classes.push((mask, what));
        unite(classes);
    }
}

/// Makes one class of those that know the same.
fn unite<K: PartialEq>(classes: &mut SmallVec<[(Mask, K); 1]>) {
    let mut index = 0;
    while index < classes.len() {
        let mut other = index + 1;
        while other < classes.len() {
            if classes[other].1 == classes[index].1 {
                classes[index].0 |= classes[other].0;
                classes.swap_remove(other);
            } else {
                other += 1;
            }
        }
        index += 1;
    }
    debug_assert!(classes.len() <= LANES);
}
