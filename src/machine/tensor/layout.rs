//! Interleave, swizzle and fill: how a box lies in memory, and what stands where it leaves the tensor.

use super::TensorMap;

/// How channels (dimension 0) are grouped in global memory; in the order of the numbers in PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interleave {
    /// Not at all.
    None,
    /// Slices of 16 bytes (NC/8DHWC8).
    B16,
    /// Slices of 32 bytes (NC/16HWC16).
    B32,
}

/// How chunks of a box are exchanged in shared memory; in the order of the numbers in PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swizzle {
    /// Not at all.
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
    /// Within 32 bytes, for rows of 96 bytes.
    B96,
}

/// The chunk that a swizzle keeps together; in the order of the numbers in PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomicity {
    /// 16 bytes.
    B16,
    /// 32 bytes.
    B32,
    /// 32 bytes, with the halves of each 16 bytes exchanged in alternate lines.
    B32Flip8,
    /// 64 bytes.
    B64,
}

/// What a load puts where the box leaves the tensor; in the order of the numbers in PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Zeros.
    Zero,
    /// A special NaN.
    Nan,
}

impl Interleave {
    /// All kinds; the position of each is its number in PTX.
    pub const ALL: [Interleave; 3] = [Interleave::None, Interleave::B16, Interleave::B32];

    /// The name that a launch directive has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Interleave::None => "none",
            Interleave::B16 => "16B",
            Interleave::B32 => "32B",
        }
    }

    /// The kind of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Interleave> {
        Interleave::ALL.into_iter().find(|interleave| interleave.name() == name)
    }
}

impl Swizzle {
    /// All kinds; the position of each is its number in PTX.
    pub const ALL: [Swizzle; 5] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128, Swizzle::B96];

    /// The name that a launch directive has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Swizzle::None => "none",
            Swizzle::B32 => "32B",
            Swizzle::B64 => "64B",
            Swizzle::B128 => "128B",
            Swizzle::B96 => "96B",
        }
    }

    /// The kind of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Swizzle> {
        Swizzle::ALL.into_iter().find(|swizzle| swizzle.name() == name)
    }

    /// The longest row of a box that can be swizzled so, in bytes.
    #[must_use]
    pub fn span(self) -> Option<u64> {
        match self {
            Swizzle::None => None,
            Swizzle::B32 => Some(32),
            Swizzle::B64 => Some(64),
            Swizzle::B96 => Some(96),
            Swizzle::B128 => Some(128),
        }
    }
}

impl Atomicity {
    /// All kinds; the position of each is its number in PTX.
    pub const ALL: [Atomicity; 4] = [Atomicity::B16, Atomicity::B32, Atomicity::B32Flip8, Atomicity::B64];

    /// The name in PTX.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Atomicity::B16 => "16B",
            Atomicity::B32 => "32B",
            Atomicity::B32Flip8 => "32B+8B-flip",
            Atomicity::B64 => "64B",
        }
    }
}

impl Fill {
    /// All kinds; the position of each is its number in PTX.
    pub const ALL: [Fill; 2] = [Fill::Zero, Fill::Nan];

    /// The name that a launch directive has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fill::Zero => "zero",
            Fill::Nan => "nan",
        }
    }

    /// The kind of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Fill> {
        Fill::ALL.into_iter().find(|fill| fill.name() == name)
    }

    /// Fills whole elements of any type with what a load puts out of bounds.
    pub fn write(self, bytes: &mut [u8]) {
        // Measured: for every type of float the chip writes the same pattern of two bytes.
        let pair: [u8; 2] = match self {
            Fill::Zero => [0, 0],
            Fill::Nan => 0x7ff7_u16.to_le_bytes(),
        };
        for (byte, value) in bytes.iter_mut().zip(pair.into_iter().cycle()) {
            *byte = value;
        }
    }
}

impl TensorMap {
    /// Where the byte at `offset` of a box lies in shared memory, as an address of the same window as
    /// `destination`, the address where the box starts.
    ///
    /// The pattern depends on the address, not on the offset: the number of the 128-byte line says which
    /// chunks of that line are exchanged. Chunks of 16 bytes stay whole.
    #[must_use]
    pub fn swizzled(&self, destination: u32, offset: u32) -> u32 {
        /// The exponent of the length of a line.
        const LINE: u32 = 7;
        let address = destination.wrapping_add(offset);
        // The bits of the line's number that count, and the exponent of what stays together.
        let (mask, atom) = match (self.swizzle, self.atomicity) {
            (Swizzle::None, _) => return address,
            (Swizzle::B32 | Swizzle::B96, _) => (1, 4),
            (Swizzle::B64, _) => (3, 4),
            (Swizzle::B128, Atomicity::B16) => (7, 4),
            // A box with exchanged halves is not supported, see `TensorMap::tile`.
            (Swizzle::B128, Atomicity::B32 | Atomicity::B32Flip8) => (3, 5),
            (Swizzle::B128, Atomicity::B64) => (1, 6),
        };
        address ^ (address >> LINE & mask) << atom
    }
}

#[cfg(test)]
mod tests {
    use super::super::model_tests::plain_map;
    use super::*;

    /// The tables of PTX ISA §5.5.7: the chunks of each line, first line first, until the pattern repeats.
    fn table(swizzle: Swizzle, atomicity: Atomicity) -> Vec<Vec<u32>> {
        let map = TensorMap { swizzle, atomicity, ..plain_map() };
        let lines = (0..8).map(|line| {
            let mut chunks = vec![0; 8];
            for chunk in 0..8 {
                let at = map.swizzled(0x400, line * 128 + chunk * 16) - 0x400;
                assert_eq!(at / 128, line);
                chunks[at as usize % 128 / 16] = chunk;
            }
            chunks
        });
        lines.collect()
    }

    #[test]
    fn patterns_are_those_of_the_manual() {
        assert_eq!(table(Swizzle::None, Atomicity::B16)[1], [0, 1, 2, 3, 4, 5, 6, 7]);
        for swizzle in [Swizzle::B32, Swizzle::B96] {
            let lines = table(swizzle, Atomicity::B16);
            assert_eq!(lines[0], [0, 1, 2, 3, 4, 5, 6, 7]);
            assert_eq!(lines[1], [1, 0, 3, 2, 5, 4, 7, 6]);
            assert_eq!(lines[2], lines[0]);
        }
        let lines = table(Swizzle::B64, Atomicity::B16);
        assert_eq!(lines[2], [2, 3, 0, 1, 6, 7, 4, 5]);
        assert_eq!(lines[3], [3, 2, 1, 0, 7, 6, 5, 4]);
        assert_eq!(lines[4], lines[0]);
        let lines = table(Swizzle::B128, Atomicity::B16);
        assert_eq!(lines[5], [5, 4, 7, 6, 1, 0, 3, 2]);
        assert_eq!(lines[7], [7, 6, 5, 4, 3, 2, 1, 0]);
        let lines = table(Swizzle::B128, Atomicity::B32);
        assert_eq!(lines[1], [2, 3, 0, 1, 6, 7, 4, 5]);
        assert_eq!(lines[2], [4, 5, 6, 7, 0, 1, 2, 3]);
        assert_eq!(lines[3], [6, 7, 4, 5, 2, 3, 0, 1]);
        assert_eq!(lines[4], lines[0]);
        let lines = table(Swizzle::B128, Atomicity::B64);
        assert_eq!(lines[1], [4, 5, 6, 7, 0, 1, 2, 3]);
        assert_eq!(lines[2], lines[0]);
    }

    #[test]
    fn the_pattern_belongs_to_the_address() {
        let map = TensorMap { swizzle: Swizzle::B128, ..plain_map() };
        assert_eq!(map.swizzled(0x480, 0), 0x490);
        assert_eq!(map.swizzled(0x480, 0x15), 0x485);
    }

    #[test]
    fn nan_is_the_measured_pattern() {
        let mut bytes = [1; 6];
        Fill::Nan.write(&mut bytes);
        assert_eq!(bytes, [0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f]);
        Fill::Zero.write(&mut bytes);
        assert_eq!(bytes, [0; 6]);
    }

    #[test]
    fn numbers_are_positions() {
        assert!(Interleave::ALL.into_iter().enumerate().all(|(number, it)| it as usize == number));
        assert!(Swizzle::ALL.into_iter().enumerate().all(|(number, it)| it as usize == number));
        assert!(Atomicity::ALL.into_iter().enumerate().all(|(number, it)| it as usize == number));
        assert!(Fill::ALL.into_iter().enumerate().all(|(number, it)| it as usize == number));
        assert!(Swizzle::ALL.into_iter().all(|it| Swizzle::from_name(it.name()) == Some(it)));
        assert!(Interleave::ALL.into_iter().all(|it| Interleave::from_name(it.name()) == Some(it)));
        assert!(Fill::ALL.into_iter().all(|it| Fill::from_name(it.name()) == Some(it)));
    }
}
