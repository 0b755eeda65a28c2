//! Global memory: the buffers of the launch and the variables of the module, apart from one another.

use super::memory::Bytes;
use super::share::Share;
use crate::program::VariableId;

/// What a piece of global memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The buffer of an argument.
    Argument(u32),
    /// A variable.
    Variable(VariableId),
    /// Memory that the kernel has allocated.
    Heap,
    /// The same after it was freed.
    Freed,
}

/// A piece of global memory.
#[derive(Clone, Debug)]
pub struct Piece {
    /// What it is.
    pub what: What,
    /// Its address.
    pub start: u64,
    /// What it holds.
    pub bytes: Share<Bytes>,
}

/// Global memory.
#[derive(Clone, Debug, Default)]
pub struct Global {
    /// By address; what the kernel allocates comes last.
    pieces: Vec<Piece>,
    /// Bytes of the heap that are allocated.
    heap: u64,
}

/// The kernel can allocate so many bytes, as the driver has it unless it is told otherwise.
const MOST_HEAP: u64 = 8 << 20;
/// All that it allocates in one run, freed or not, is no more than this.
const MOST_ALLOCATED: usize = 1 << 20;

/// The driver maps memory in pages of this size: an access beyond a buffer but within one does not fault.
const PAGE: u64 = 2 << 20;

impl Global {
    /// The pieces, which must not overlap.
    pub fn new(mut pieces: Vec<Piece>) -> Global {
        pieces.sort_by_key(|piece| piece.start);
        Global { pieces, heap: 0 }
    }

    /// The piece that `size` bytes at `address` lie in, and where.
    #[inline]
    pub fn find(&self, address: u64, size: u64) -> Option<(usize, usize)> {
        let index = self.pieces.partition_point(|piece| piece.start <= address).checked_sub(1)?;
        let piece = &self.pieces[index];
        let offset = address - piece.start;
        let inside = offset.checked_add(size)? <= piece.bytes.len() as u64;
        (inside && piece.what != What::Freed).then_some((index, offset as usize))
    }

    /// Allocates memory, aligned to 16 bytes and no better; its address, `None` when there is no more.
    pub fn allocate(&mut self, size: u64) -> Option<u64> {
        let heap = self.heap.checked_add(size).filter(|&heap| heap <= MOST_HEAP)?;
        if self.pieces.len() >= MOST_ALLOCATED {
            return None;
        }
        let end = self.pieces.last().map_or(0, |piece| piece.start + piece.bytes.len() as u64);
        let start = (end + 64).next_multiple_of(32) + 16;
        self.heap = heap;
        self.pieces.push(Piece { what: What::Heap, start, bytes: Bytes::unwritten(size as usize).into() });
        Some(start)
    }

    /// Frees what was allocated at an address; whether there was something. Copies under way may still
    /// write to it, and its address is not used again, so that accesses to it are noticed.
    pub fn free(&mut self, address: u64) -> bool {
        let found = self.pieces.binary_search_by_key(&address, |piece| piece.start);
        let Ok(index) = found else { return false };
        let piece = &mut self.pieces[index];
        let is_live = piece.what == What::Heap;
        if is_live {
            piece.what = What::Freed;
            self.heap -= piece.bytes.len() as u64;
        }
        is_live
    }

    /// Whether an address lies in a page that holds something.
    pub fn is_mapped(&self, address: u64) -> bool {
        self.pieces.iter().any(|piece| {
            let end = piece.start + piece.bytes.len() as u64;
            (piece.start / PAGE * PAGE..end.next_multiple_of(PAGE)).contains(&address)
        })
    }

    /// The piece nearest to an address, and the distance of the address from its start.
    pub fn nearest(&self, address: u64) -> Option<(&Piece, i64)> {
        let distance = |piece: &Piece| {
            let end = piece.start + piece.bytes.len() as u64;
            if address < piece.start { piece.start - address } else { address.saturating_sub(end) }
        };
        let piece = self.pieces.iter().min_by_key(|piece| distance(piece))?;
        (distance(piece) < PAGE).then(|| (piece, address.wrapping_sub(piece.start) as i64))
    }

    /// All pieces, by address.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Piece number `index`.
    #[inline]
    pub fn piece(&self, index: usize) -> &Piece {
        &self.pieces[index]
    }

    /// The same, to be changed.
    #[inline]
    pub fn piece_mut(&mut self, index: usize) -> &mut Piece {
        &mut self.pieces[index]
    }

    /// Makes clones cheap; how many bytes are shared from now on that were not.
    pub fn share(&mut self) -> usize {
        let pieces = self.pieces.iter_mut().map(|piece| piece.bytes.share()).sum::<usize>();
        pieces + self.pieces.len() * size_of::<Piece>()
    }

    /// The bytes of an argument's buffer.
    pub fn argument(&self, index: usize) -> Option<&Bytes> {
        let of = |piece: &&Piece| piece.what == What::Argument(index as u32);
        self.pieces.iter().find(of).map(|piece| &*piece.bytes)
    }
}
