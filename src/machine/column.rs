//! Registers as columns: one value for each of the 32 lanes of a warp.

use rustc_hash::FxHashMap;

use super::print::Mix;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// A set of lanes, one bit each.
pub type Mask = u32;

/// One register of all lanes. Values narrower than 64 bits stand in the low bits, zeros above.
pub type Column = [u64; LANES];

/// The lanes of a mask, ascending.
pub fn lanes(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lane
        })
    })
}

/// The registers of a warp: columns of values, and predicates as masks. Which bits were never written is
/// known for each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    columns: Vec<Column>,
    /// Lanes of each column that hold an undefined bit.
    undefined: Vec<Mask>,
    /// The undefined bits of such lanes; without an entry, all bits.
    bits: FxHashMap<u32, Box<Column>>,
    predicates: Vec<Mask>,
    undefined_predicates: Vec<Mask>,
}

impl Registers {
    /// Makes room for a frame: `count` columns from `first` on and predicates likewise. In the
    /// lanes of `mask` they are undefined.
    pub fn enter(&mut self, mask: Mask, first: u32, count: u32, first_predicate: u32, predicates: u32) {
        let (end, end_predicate) = ((first + count) as usize, (first_predicate + predicates) as usize);
        if self.columns.len() < end {
            self.columns.resize(end, [0; LANES]);
            self.undefined.resize(end, Mask::MAX);
        }
        if self.predicates.len() < end_predicate {
            self.predicates.resize(end_predicate, 0);
            self.undefined_predicates.resize(end_predicate, Mask::MAX);
        }
        for column in first..first + count {
            self.undefine(column, mask);
        }
        for predicate in &mut self.undefined_predicates[first_predicate as usize..end_predicate] {
            *predicate |= mask;
        }
    }

    fn undefine(&mut self, column: u32, mask: Mask) {
        self.undefined[column as usize] |= mask;
        if let Some(bits) = self.bits.get_mut(&column) {
            lanes(mask).for_each(|lane| bits[lane] = u64::MAX);
        }
    }

    /// A column.
    #[inline]
    pub fn column(&self, column: u32) -> &Column {
        &self.columns[column as usize]
    }

    /// The lanes of a column that hold an undefined bit.
    #[inline]
    pub fn undefined(&self, column: u32) -> Mask {
        self.undefined[column as usize]
    }

    /// The undefined bits of one lane of a column.
    pub fn undefined_bits(&self, column: u32, lane: usize) -> u64 {
        if self.undefined[column as usize] >> lane & 1 == 0 {
            return 0;
        }
        self.bits.get(&column).map_or(u64::MAX, |bits| bits[lane])
    }

    /// Sets the lanes of `mask` to defined values.
    #[inline]
    pub fn set(&mut self, column: u32, mask: Mask, values: &Column) {
        let target = &mut self.columns[column as usize];
        if mask == Mask::MAX {
            *target = *values;
        } else {
            lanes(mask).for_each(|lane| target[lane] = values[lane]);
        }
        self.undefined[column as usize] &= !mask;
    }

    /// Sets one lane, some bits of which may be undefined.
    pub fn set_lane(&mut self, column: u32, lane: usize, value: u64, undefined: u64) {
        self.columns[column as usize][lane] = value;
        let bit = 1 << lane;
        if undefined == 0 {
            self.undefined[column as usize] &= !bit;
            return;
        }
        // Lanes without an entry of their own are undefined in all bits.
        let bits = self.bits.entry(column).or_insert_with(|| Box::new([u64::MAX; LANES]));
        bits[lane] = undefined;
        self.undefined[column as usize] |= bit;
    }

    /// A predicate.
    #[inline]
    pub fn predicate(&self, predicate: u32) -> Mask {
        self.predicates[predicate as usize]
    }

    /// The lanes in which a predicate is undefined.
    #[inline]
    pub fn undefined_predicate(&self, predicate: u32) -> Mask {
        self.undefined_predicates[predicate as usize]
    }

    /// Sets the lanes of `mask` of a predicate.
    #[inline]
    pub fn set_predicate(&mut self, predicate: u32, mask: Mask, values: Mask, undefined: Mask) {
        let target = &mut self.predicates[predicate as usize];
        *target = *target & !mask | values & mask;
        let target = &mut self.undefined_predicates[predicate as usize];
        *target = *target & !mask | undefined & mask;
    }

    /// Adds what the lanes of `mask` hold in a column, undefined bits included.
    pub fn hash_column(&self, mix: &mut Mix, mask: Mask, column: u32) {
        let Some(values) = self.columns.get(column as usize) else { return };
        let undefined = self.undefined[column as usize] & mask;
        if undefined == mask && !self.bits.contains_key(&column) {
            return mix.add(u64::MAX);
        }
        match mask {
            Mask::MAX => values.iter().for_each(|&value| mix.add(value)),
            _ => lanes(mask).for_each(|lane| mix.add(values[lane])),
        }
        mix.add(undefined.into());
        lanes(undefined).for_each(|lane| mix.add(self.undefined_bits(column, lane)));
    }

    /// The same of a predicate.
    pub fn hash_predicate(&self, mix: &mut Mix, mask: Mask, predicate: u32) {
        let at = predicate as usize;
        if let (Some(values), Some(undefined)) = (self.predicates.get(at), self.undefined_predicates.get(at))
        {
            mix.add(u64::from(values & !undefined & mask) << 32 | u64::from(undefined & mask));
        }
    }

    /// How many columns and predicates there are.
    pub fn len(&self) -> (u32, u32) {
        (self.columns.len() as u32, self.predicates.len() as u32)
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        let column = size_of::<Column>() + size_of::<Mask>();
        column * (self.columns.len() + self.bits.len()) + 2 * size_of::<Mask>() * self.predicates.len()
    }

    /// A number that is the same for the same contents in the lanes of `mask`. Each word changes all bits
    /// behind it: lanes that count together must not cancel out.
    pub fn fingerprint(&self, mask: Mask) -> u64 {
        let mut print: u64 = 0;
        let mut add = |word: u64| {
            print = (print ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            print ^= print >> 29;
        };
        for column in &self.columns {
            lanes(mask).for_each(|lane| add(column[lane]));
        }
        self.predicates.iter().for_each(|predicate| add((predicate & mask).into()));
        print
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn undefined_bits_are_kept_for_each_lane() {
        let mut registers = Registers::default();
        registers.enter(Mask::MAX, 0, 2, 0, 1);
        assert_eq!(registers.undefined_bits(1, 7), u64::MAX);
        registers.set(1, 0xff, &[5; LANES]);
        assert_eq!((registers.undefined(1), registers.undefined_bits(1, 7)), (!0xff, 0));
        registers.set_lane(1, 3, 6, 0xf0);
        assert_eq!((registers.undefined_bits(1, 3), registers.undefined_bits(1, 20)), (0xf0, u64::MAX));
        registers.set(1, Mask::MAX, &[0; LANES]);
        registers.enter(1 << 3, 1, 1, 0, 0);
        assert_eq!((registers.undefined_bits(1, 3), registers.undefined_bits(1, 4)), (u64::MAX, 0));
    }
}
