//! Which label a name means at a place.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::LabelId;
use crate::syntax::names::Symbol;

/// The labels of a body. A label is seen from its own scope and the scopes inside of it, also before
/// the place where it stands.
#[derive(Default)]
pub struct Labels {
    /// By scope: scopes are numbered as they open, the body is 0.
    all: Vec<(u32, Symbol, LabelId)>,
    by_name: FxHashMap<Symbol, ByName>,
}

struct ByName {
    first: LabelId,
    /// From the outermost to the innermost.
    visible: SmallVec<[LabelId; 2]>,
}

impl Labels {
    /// The labels `all`, each with the number of its scope; none is visible yet.
    pub fn new(mut all: Vec<(u32, Symbol, LabelId)>) -> Labels {
        let mut by_name = FxHashMap::default();
        for (_, symbol, label) in &all {
            by_name.entry(*symbol).or_insert(ByName { first: *label, visible: SmallVec::new() });
        }
        all.sort_by_key(|(scope, ..)| *scope);
        Labels { all, by_name }
    }

    fn of_scope(&self, scope: u32) -> std::ops::Range<usize> {
        self.all.partition_point(|(s, ..)| *s < scope)..self.all.partition_point(|(s, ..)| *s <= scope)
    }

    /// Enters a scope.
    pub fn open(&mut self, scope: u32) {
        // Of two in one scope the first counts.
        for index in self.of_scope(scope).rev() {
            let (_, symbol, label) = self.all[index];
            if let Some(name) = self.by_name.get_mut(&symbol) {
                name.visible.push(label);
            }
        }
    }

    /// Leaves a scope.
    pub fn close(&mut self, scope: u32) {
        for index in self.of_scope(scope) {
            let (_, symbol, _) = self.all[index];
            if let Some(name) = self.by_name.get_mut(&symbol) {
                name.visible.pop();
            }
        }
    }

    /// The label `symbol` as it is seen here.
    pub fn find(&self, symbol: Symbol) -> Option<LabelId> {
        self.by_name.get(&symbol)?.visible.last().copied()
    }

    /// The first label of that name, in reach or not.
    pub fn anywhere(&self, symbol: Symbol) -> Option<LabelId> {
        self.by_name.get(&symbol).map(|name| name.first)
    }
}
