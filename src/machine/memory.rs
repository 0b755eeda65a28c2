//! Bytes that know whether they were ever written.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use super::print::Mix;
use super::share::Print;

/// Memory of one space or variable. Which bytes were never written is known for each byte.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Default)]
pub struct Bytes {
    data: Vec<u8>,
    /// One bit a byte, set while not all of it was written; empty when all of them were.
    unwritten: Vec<u64>,
    /// Which bits nobody has set, for those bytes that hold others too: bit fields leave such bytes.
    partial: BTreeMap<usize, u8>,
}

impl Bytes {
    /// Memory that somebody has filled.
    pub fn written(data: Vec<u8>) -> Bytes {
        Bytes { data, ..Bytes::default() }
    }

    /// `size` bytes that nobody has written; they read as 0.
    pub fn unwritten(size: usize) -> Bytes {
        Bytes { data: vec![0; size], unwritten: vec![u64::MAX; size.div_ceil(64)], ..Bytes::default() }
    }

    /// Grows to at least `size` bytes; the new ones are unwritten.
    pub fn grow(&mut self, size: usize) {
        if size <= self.data.len() {
            return;
        }
        let old = self.data.len();
        self.data.resize(size, 0);
        self.unwritten.resize(size.div_ceil(64), 0);
        (old..size).for_each(|at| self.unwritten[at / 64] |= 1 << (at % 64));
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// All bytes.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The value of up to 8 bytes, little-endian, and the mask of its undefined bits. The range must lie
    /// within.
    #[inline]
    pub fn load(&self, at: usize, size: usize) -> (u64, u64) {
        let value = match size {
            4 => u32::from_le_bytes(array(&self.data[at..at + 4])).into(),
            8 => u64::from_le_bytes(array(&self.data[at..at + 8])),
            _ => {
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(&self.data[at..at + size]);
                u64::from_le_bytes(bytes)
            }
        };
        (value, if self.unwritten.is_empty() { 0 } else { self.undefined(at, size) })
    }

    fn undefined(&self, at: usize, size: usize) -> u64 {
        let word = self.unwritten[at / 64] >> (at % 64);
        let carried = 64 - at % 64;
        let next = if size > carried { self.unwritten[at / 64 + 1] << carried } else { 0 };
        let undefined = spread((word | next) & ((1 << size) - 1));
        if self.partial.is_empty() {
            return undefined;
        }
        let within = self.partial.range(at..at + size);
        within.fold(undefined, |all, (byte, bits)| all & !(u64::from(!bits) << (8 * (byte - at))))
    }

    /// Writes up to 8 bytes; the undefined bits among them count as unwritten.
    #[inline]
    pub fn store(&mut self, at: usize, size: usize, value: u64, undefined: u64) {
        match size {
            4 => self.data[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes()),
            8 => self.data[at..at + 8].copy_from_slice(&value.to_le_bytes()),
            _ => self.data[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]),
        }
        if undefined != 0 {
            if self.unwritten.is_empty() {
                self.unwritten = vec![0; self.data.len().div_ceil(64)];
            }
        } else if self.unwritten.is_empty() {
            return;
        }
        for byte in 0..size {
            let bit = 1 << ((at + byte) % 64);
            let word = &mut self.unwritten[(at + byte) / 64];
            let bits = (undefined >> (8 * byte)) as u8;
            if bits == 0 {
                *word &= !bit;
            } else {
                *word |= bit;
            }
            if bits != 0 && bits != u8::MAX {
                self.partial.insert(at + byte, bits);
            } else if !self.partial.is_empty() {
                self.partial.remove(&(at + byte));
            }
        }
    }

    /// Whether not all of byte `at` was written.
    pub fn is_unwritten(&self, at: usize) -> bool {
        self.unwritten.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Copies bytes, and what is known of them, into `to`.
    pub fn read(&self, at: usize, size: usize) -> Chunk {
        let mut chunk = Chunk { size: size as u8, ..Chunk::default() };
        chunk.data[..size].copy_from_slice(&self.data[at..at + size]);
        for byte in 0..size {
            chunk.unwritten |= u16::from(self.is_unwritten(at + byte)) << byte;
        }
        chunk
    }

    /// Writes a chunk.
    pub fn write(&mut self, at: usize, chunk: &Chunk) {
        for (index, part) in chunk.data[..chunk.size as usize].chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            let undefined = spread(u64::from(chunk.unwritten >> (8 * index)) & 0xff);
            self.store(at + 8 * index, part.len(), u64::from_le_bytes(bytes), undefined);
        }
    }
}

impl Print for Bytes {
    fn print(&self) -> u64 {
        let mut mix = Mix::default();
        mix.write(&self.data);
        // All written is the same as none unwritten.
        if self.unwritten.iter().any(|&word| word != 0) {
            self.unwritten.iter().for_each(|&word| mix.add(word));
            self.partial.hash(&mut mix);
        }
        mix.finish()
    }

    fn bytes(&self) -> usize {
        self.data.len() + 8 * self.unwritten.len() + 64 * self.partial.len()
    }
}

/// Up to 16 bytes on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Chunk {
    /// The bytes.
    pub data: [u8; 16],
    /// One bit a byte: never written.
    pub unwritten: u16,
    /// How many bytes count.
    pub size: u8,
}

impl Chunk {
    /// `size` bytes of zero.
    pub fn zeros(size: usize) -> Chunk {
        Chunk { size: size as u8, ..Chunk::default() }
    }

    /// The `size` bytes from `at` on as a number, with its undefined bits.
    pub fn element(&self, at: usize, size: usize) -> (u64, u64) {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.data[at..at + size]);
        let undefined = spread(u64::from(self.unwritten >> at) & ((1 << size) - 1));
        (u64::from_le_bytes(bytes), undefined)
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

/// Each of the low 8 bits becomes a byte of ones or zeros.
fn spread(bits: u64) -> u64 {
    (0..8).filter(|byte| bits >> byte & 1 == 1).fold(0, |mask, byte| mask | 0xff << (8 * byte))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn bytes_are_undefined_until_written() {
        let mut bytes = Bytes::unwritten(100);
        assert_eq!(bytes.load(60, 8), (0, u64::MAX));
        bytes.store(62, 4, 0x1122_3344, 0);
        assert_eq!(bytes.load(60, 8), (0x1122_3344_0000, 0xffff_0000_0000_ffff));
        bytes.store(62, 1, 7, 0x10);
        assert_eq!(bytes.load(62, 4), (0x1122_3307, 0x10));
        bytes.store(62, 1, 7, 0xff);
        assert_eq!(bytes.load(62, 4), (0x1122_3307, 0xff));
        let chunk = bytes.read(60, 16);
        let mut other = Bytes::written(vec![9; 32]);
        other.write(3, &chunk);
        assert_eq!(other.load(3, 8), bytes.load(60, 8));
        assert_eq!(other.load(0, 4), (0x0009_0909, 0xff00_0000));
    }

    #[test]
    fn what_grows_is_unwritten() {
        let mut bytes = Bytes::written(vec![1; 3]);
        bytes.grow(9);
        assert_eq!(bytes.load(0, 8), (0x0001_0101, 0xffff_ffff_ff00_0000));
    }
}
