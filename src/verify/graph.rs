//! The states of a search: how each was reached, and which of them lead to an end.

use rustc_hash::FxHashMap;

use super::transition::Transition;

/// The states that were found, by number.
#[derive(Debug, Default)]
pub(super) struct Graph {
    numbers: FxHashMap<u64, u32>,
    /// Where each was reached from first, and how.
    from: Vec<(u32, Transition)>,
    edges: Vec<(u32, u32)>,
    /// States from which one transition leads to the end of a run.
    last: Vec<u32>,
}

impl Graph {
    /// The number of a state.
    pub fn find(&self, print: u64) -> Option<u32> {
        self.numbers.get(&print).copied()
    }

    /// Adds a state; its number.
    pub fn add(&mut self, print: u64, from: u32, transition: Transition) -> u32 {
        let number = self.from.len() as u32;
        self.numbers.insert(print, number);
        self.from.push((from, transition));
        number
    }

    /// Notes that a transition leads from one state to another.
    pub fn link(&mut self, from: u32, to: u32) {
        if from != to {
            self.edges.push((from, to));
        }
    }

    /// Notes that a transition leads to the end of a run.
    pub fn ends(&mut self, from: u32) {
        if self.last.last() != Some(&from) {
            self.last.push(from);
        }
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        self.from.len()
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> u64 {
        (self.from.len() * 48 + self.edges.len() * 8 + self.last.len() * 4) as u64
    }

    /// The transitions that lead to a state from the start.
    pub fn path(&self, state: u32) -> Vec<Transition> {
        let mut path = Vec::new();
        let mut at = state;
        while at > 0 {
            let (from, transition) = self.from[at as usize];
            path.push(transition);
            at = from;
        }
        path.push(Transition::Start);
        path.reverse();
        path
    }

    /// The first state from which no end can be reached.
    pub fn stuck(&self) -> Option<u32> {
        if self.from.is_empty() {
            return None;
        }
        let mut starts = vec![0u32; self.from.len() + 2];
        self.edges.iter().for_each(|&(_, to)| starts[to as usize + 2] += 1);
        for index in 2..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut sources = vec![0u32; self.edges.len()];
        for &(from, to) in &self.edges {
            let next = &mut starts[to as usize + 1];
            sources[*next as usize] = from;
            *next += 1;
        }
        let mut ends = vec![false; self.from.len()];
        let mut open = self.last.clone();
        open.iter().for_each(|&state| ends[state as usize] = true);
        while let Some(state) = open.pop() {
            let range = starts[state as usize] as usize..starts[state as usize + 1] as usize;
            for &from in &sources[range] {
                if !ends[from as usize] {
                    ends[from as usize] = true;
                    open.push(from);
                }
            }
        }
        ends.iter().position(|&ends| !ends).map(|state| state as u32)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_loop_without_a_way_out_is_found() {
        let mut graph = Graph::default();
        (0..5).for_each(|print| {
            graph.add(print, 0, Transition::Start);
        });
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 3), (3, 2), (1, 4)] {
            graph.link(from, to);
        }
        graph.ends(4);
        assert_eq!(graph.stuck(), Some(2));
        graph.link(3, 4);
        assert_eq!(graph.stuck(), None);
    }
}
