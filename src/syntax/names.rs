//! Identifiers as numbers.

use rustc_hash::FxHasher;
use std::hash::Hasher;

/// An identifier of one [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Symbol(pub u32);

impl Symbol {
    /// For indexing tables by symbol.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Every distinct identifier of a file, each under one small number.
#[derive(Debug, Default, Clone)]
pub struct Names {
    text: String,
    /// `text[ends[i - 1]..ends[i]]` is symbol `i`.
    ends: Vec<u32>,
    /// Open addressing; 0 is empty, else symbol + 1.
    table: Vec<u32>,
}

impl Names {
    /// The number of identifiers.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The spelling of `symbol`.
    pub fn text(&self, symbol: Symbol) -> &str {
        let index = symbol.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start as usize..self.ends[index] as usize]
    }

    /// The symbol of `text`, if it occurs.
    pub fn get(&self, text: &str) -> Option<Symbol> {
        if self.table.is_empty() {
            return None;
        }
        let slot = self.slot(text);
        self.table[slot].checked_sub(1).map(Symbol)
    }

    /// The symbol of `text`, made if it is new.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if self.ends.len() * 2 >= self.table.len() {
            self.grow();
        }
        let slot = self.slot(text);
        if self.table[slot] == 0 {
            self.text.push_str(text);
            self.ends.push(self.text.len() as u32);
            self.table[slot] = self.ends.len() as u32;
        }
        Symbol(self.table[slot] - 1)
    }

    /// Where `text` is in the table, or where it would go.
    fn slot(&self, text: &str) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = hash(text) as usize & mask;
        while let Some(symbol) = self.table[slot].checked_sub(1) {
            if self.text(Symbol(symbol)) == text {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(64);
        self.table = vec![0; size];
        for index in 0..self.ends.len() {
            let symbol = Symbol(index as u32);
            let mut slot = hash(self.text(symbol)) as usize & (size - 1);
            while self.table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.table[slot] = index as u32 + 1;
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}
