//! The bytes that one tensor copy moves: which of global memory go with which of shared memory.
//!
//! A box is a sequence of rows along dimension 0, dense in shared memory, each of whole 16-byte chunks. The
//! rows of all modes come from a [`Walk`] through the other dimensions, or from a list.

use super::{Atomicity, BoxFault, CHUNK, Interleave, MAX_RANK, Swizzle, TensorMap, Unsupported};

/// The most that shared memory holds, in bytes.
const SHARED_BYTES: u64 = 228 * 1024;

/// How a tensor copy takes its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A box.
    Tile,
    /// Four rows of a matrix, loaded; the coordinates are the column and the four rows.
    Gather4,
    /// Four rows of a matrix, stored; the coordinates are the column and the four rows.
    Scatter4,
    /// Pixels of a bounding box, loaded.
    Im2col {
        /// What is added to the coordinates of dimensions 1, 2, 3 (W, H, D), in pixels.
        offsets: [u16; 3],
    },
    /// Pixels along W, loaded.
    Im2colW {
        /// Halo pixels at the end.
        halo: u16,
        /// What is added to the coordinate of W, in pixels.
        offset: u16,
    },
    /// 128 pixels along W, loaded.
    Im2colW128 {
        /// Halo pixels after every 32 pixels.
        halo: u16,
        /// What is added to the coordinate of W, in pixels.
        offset: u16,
    },
    /// Pixels of a bounding box, stored.
    Im2colNoOffsets,
    /// Pixels along W, stored.
    Im2colNoOffsetsW,
}

/// Where a tensor copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From global to shared memory, or into the L2 cache. What lies out of bounds is filled.
    Load,
    /// From shared to global memory. What lies out of bounds is not written.
    Store,
    /// As a store, combined with what stands in global memory.
    Reduce,
}

/// Bytes that lie together in global memory and in one 16-byte chunk of shared memory; whole elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they lie in the box, in bytes from its start, before the swizzle
    /// (see [`TensorMap::swizzled`]).
    pub shared: u32,
    /// Their address in global memory; none for bytes out of bounds, which a load fills
    /// (see [`super::Fill::write`]).
    pub global: Option<u64>,
    /// How many they are, 1 to 16.
    pub bytes: u32,
}

impl TensorMap {
    /// The pieces that a copy moves, in the order of shared memory. Those of a load cover the whole box;
    /// those of a store or a reduction leave out what is out of bounds.
    ///
    /// `coords` are those of the instruction, innermost first, in elements. Loaded elements of some types
    /// change on the way, see [`super::Element::convert_loaded`].
    ///
    /// # Errors
    /// If the copy is not allowed or its layout is not known.
    pub fn tile(&self, coords: &[i32], mode: Mode, direction: Direction) -> Result<Tile, BoxFault> {
        self.validate()?;
        self.check_mode(coords, mode, direction)?;
        let rows = self.rows(mode)?;
        self.check_layout_known(rows)?;
        self.check_start(coords, mode, direction)?;
        let bytes = self.pitch().saturating_mul(rows);
        if bytes > SHARED_BYTES {
            return Err(BoxFault::TooLarge { bytes });
        }
        let start = coords.first().copied().unwrap_or(0);
        Ok(Tile {
            map: *self,
            rows: self.walk(coords, mode)?,
            start: i64::from(start) * i64::from(self.element.bits()) / 8,
            row_bytes: u32::try_from(self.row_bytes()).unwrap_or(u32::MAX),
            gap: u32::try_from(self.pitch() - self.row_bytes()).unwrap_or(0),
            fills: direction == Direction::Load,
            row: None,
            column: 0,
            shared: 0,
            rest: None,
        })
    }

    /// The bytes by which a load in `mode` completes its transaction: the size of the box in shared
    /// memory, with all that is out of bounds.
    ///
    /// # Errors
    /// If the map is of another kind than the mode, or the layout is not known.
    pub fn transaction_bytes(&self, mode: Mode) -> Result<u64, BoxFault> {
        self.validate()?;
        let rows = self.rows(mode)?;
        self.check_layout_known(rows)?;
        Ok(self.row_bytes().saturating_mul(rows))
    }

    /// Whether the copy fits the map: kind, direction and number of coordinates.
    fn check_mode(&self, coords: &[i32], mode: Mode, direction: Direction) -> Result<(), BoxFault> {
        let goes_out = match mode {
            Mode::Tile => direction != Direction::Load,
            Mode::Scatter4 | Mode::Im2colNoOffsets | Mode::Im2colNoOffsetsW => true,
            Mode::Gather4 | Mode::Im2col { .. } | Mode::Im2colW { .. } | Mode::Im2colW128 { .. } => false,
        };
        if goes_out != (direction != Direction::Load) {
            return Err(BoxFault::OtherDirection);
        }
        let by_rows = matches!(mode, Mode::Gather4 | Mode::Scatter4);
        if by_rows && (self.rank != 2 || self.box_dims[1] != 1) {
            return Err(BoxFault::NotARow);
        }
        let expected = if by_rows { 5 } else { usize::from(self.rank) };
        if coords.len() != expected {
            return Err(BoxFault::Coordinates { found: coords.len(), expected });
        }
        self.check_line(mode)
    }

    /// Whether a copy of so many rows has a layout that is known.
    fn check_layout_known(&self, rows: u64) -> Result<(), Unsupported> {
        let bytes = self.row_bytes();
        if self.interleave != Interleave::None {
            return Err(Unsupported::Interleave);
        }
        if self.element.is_padded() {
            return Err(Unsupported::PaddedElements);
        }
        if self.swizzle != Swizzle::None && self.atomicity == Atomicity::B32Flip8 {
            return Err(Unsupported::FlippedHalves);
        }
        if !bytes.is_multiple_of(u64::from(CHUNK)) {
            return Err(Unsupported::PartialChunk);
        }
        // Measured for boxes with a swizzle of 32, 64 and 128 bytes (16-byte chunks).
        let measured = self.im2col.is_none()
            && self.atomicity == Atomicity::B16
            && matches!(self.swizzle, Swizzle::B32 | Swizzle::B64 | Swizzle::B128);
        match self.swizzle.span() {
            Some(span) if rows > 1 && bytes < span && !measured => Err(Unsupported::NarrowRows),
            _ => Ok(()),
        }
    }

    /// The distance of rows in shared memory, in bytes: rows that are shorter than the swizzle are padded to it.
    fn pitch(&self) -> u64 {
        self.row_bytes().max(self.swizzle.span().unwrap_or(0))
    }

    /// The bytes of shared memory from the start of a box to its end.
    ///
    /// # Errors
    /// As [`TensorMap::transaction_bytes`].
    pub fn shared_bytes(&self, mode: Mode) -> Result<u64, BoxFault> {
        let bytes = self.transaction_bytes(mode)?;
        let rows = self.rows(mode)?;
        Ok(bytes.max(self.pitch().saturating_mul(rows.saturating_sub(1)).saturating_add(self.row_bytes())))
    }

    /// Whether the copy may start where it does.
    fn check_start(&self, coords: &[i32], mode: Mode, direction: Direction) -> Result<(), BoxFault> {
        let bits = self.element.bits();
        let first = coords.first().copied().unwrap_or(0);
        if (i64::from(first) * i64::from(bits)) % i64::from(8 * CHUNK) != 0 {
            return Err(BoxFault::MisalignedStart { coordinate: first, bits });
        }
        if direction == Direction::Load {
            return Ok(());
        }
        if let Some(index) = coords.iter().position(|&coordinate| coordinate < 0) {
            // All but the first coordinate of a scatter are rows.
            let dimension = if mode == Mode::Scatter4 { index.min(1) } else { index };
            return Err(BoxFault::NegativeStart { dimension, coordinate: coords[index] });
        }
        match &self.im2col {
            Some(im2col) => self.check_store_corners(im2col),
            None => Ok(()),
        }
    }

    /// How many rows a copy has in shared memory.
    fn rows(&self, mode: Mode) -> Result<u64, BoxFault> {
        match (mode, &self.im2col) {
            (Mode::Tile, None) => {
                let counts = self.dimensions().skip(1).map(|dimension| u64::from(self.count(dimension)));
                Ok(counts.fold(1, u64::saturating_mul))
            }
            (Mode::Gather4 | Mode::Scatter4, None) => Ok(4),
            (Mode::Tile | Mode::Gather4 | Mode::Scatter4, Some(_)) => {
                Err(BoxFault::OtherKind { is_im2col: true })
            }
            (_, Some(im2col)) => Ok(u64::from(self.pixel_count(im2col, mode)?)),
            (_, None) => Err(BoxFault::OtherKind { is_im2col: false }),
        }
    }

    /// How many elements of a dimension but the innermost the box has in shared memory.
    fn count(&self, dimension: usize) -> u32 {
        self.box_dims[dimension].div_ceil(self.element_strides[dimension].max(1))
    }

    /// The step along each dimension, in elements.
    pub(super) fn steps(&self) -> [i64; MAX_RANK] {
        self.element_strides.map(i64::from)
    }

    fn walk(&self, coords: &[i32], mode: Mode) -> Result<Rows, BoxFault> {
        match (&self.im2col, mode, coords) {
            (_, Mode::Gather4 | Mode::Scatter4, &[_, row0, row1, row2, row3]) => {
                Ok(Rows::Listed([row0, row1, row2, row3].map(i64::from).into_iter()))
            }
            (None, ..) => Ok(Rows::Walk(self.grid(coords))),
            (Some(im2col), ..) => Ok(Rows::Walk(self.pixels(im2col, coords, mode)?)),
        }
    }

    /// The rows of a box.
    fn grid(&self, coords: &[i32]) -> Walk {
        let mut walk = Walk::at(coords, self.steps());
        walk.left = 1;
        for dimension in self.dimensions().skip(1) {
            let count = self.count(dimension);
            walk.left = walk.left.saturating_mul(count);
            let last = i64::from(count.saturating_sub(1)) * walk.step[dimension];
            walk.upper[dimension] = walk.lower[dimension] + last;
        }
        walk
    }

    /// The address where a row starts, if it lies in the tensor.
    fn row_address(&self, at: [i64; MAX_RANK]) -> Option<u64> {
        self.dimensions().skip(1).try_fold(self.address, |address, dimension| {
            let index = u64::try_from(at[dimension]).ok().filter(|&index| index < self.dims[dimension])?;
            Some(address.wrapping_add(index.wrapping_mul(self.strides[dimension])))
        })
    }
}

/// A walk through the dimensions but the innermost: by steps from the lower bound to the upper one, then
/// back to the lower one and on in the next dimension.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) at: [i64; MAX_RANK],
    pub(super) step: [i64; MAX_RANK],
    pub(super) lower: [i64; MAX_RANK],
    pub(super) upper: [i64; MAX_RANK],
    /// How many places are still to come.
    pub(super) left: u32,
}

impl Walk {
    /// A walk that starts at `coords` and stays there.
    pub(super) fn at(coords: &[i32], step: [i64; MAX_RANK]) -> Walk {
        let at = std::array::from_fn(|dimension| coords.get(dimension).copied().map_or(0, i64::from));
        Walk { at, step, lower: at, upper: at, left: 0 }
    }

    /// Moves the start and all bounds.
    pub(super) fn shift(&mut self, by: [i64; MAX_RANK]) {
        for bounds in [&mut self.at, &mut self.lower, &mut self.upper] {
            bounds.iter_mut().zip(by).for_each(|(bound, by)| *bound = bound.saturating_add(by));
        }
    }
}

impl Iterator for Walk {
    type Item = [i64; MAX_RANK];

    fn next(&mut self) -> Option<[i64; MAX_RANK]> {
        self.left = self.left.checked_sub(1)?;
        let place = self.at;
        for dimension in 1..MAX_RANK {
            self.at[dimension] = self.at[dimension].saturating_add(self.step[dimension]);
            if self.at[dimension] <= self.upper[dimension] {
                break;
            }
            self.at[dimension] = self.lower[dimension];
        }
        Some(place)
    }
}

/// The places of the rows of a copy.
#[derive(Clone, Debug)]
enum Rows {
    Walk(Walk),
    Listed(std::array::IntoIter<i64, 4>),
}

impl Iterator for Rows {
    type Item = [i64; MAX_RANK];

    fn next(&mut self) -> Option<[i64; MAX_RANK]> {
        match self {
            Rows::Walk(walk) => walk.next(),
            Rows::Listed(rows) => rows.next().map(|row| [0, row, 0, 0, 0]),
        }
    }
}

/// The pieces of one copy, see [`TensorMap::tile`].
#[derive(Clone, Debug)]
pub struct Tile {
    map: TensorMap,
    rows: Rows,
    /// Where rows start within those of the tensor, in bytes.
    start: i64,
    /// The length of a row, in bytes.
    row_bytes: u32,
    /// What is left free behind each row in shared memory, in bytes.
    gap: u32,
    /// Whether pieces out of bounds are wanted.
    fills: bool,
    /// The address of the row that is being cut, of byte 0 of the tensor's row; none out of bounds.
    row: Option<u64>,
    /// How much of that row is done, in bytes.
    column: u32,
    /// Where the next chunk of the box goes, in bytes from its start.
    shared: u32,
    /// The second piece of a chunk that the end of the tensor divides.
    rest: Option<Piece>,
}

impl Tile {
    /// The next chunk: its first piece; a second one is left in `rest`.
    fn chunk(&mut self) -> Option<Piece> {
        if self.column == 0 {
            self.row = self.map.row_address(self.rows.next()?);
        }
        let shared = self.shared;
        let at = self.start + i64::from(self.column);
        self.shared += CHUNK;
        self.column += CHUNK;
        if self.column >= self.row_bytes {
            self.column = 0;
            self.shared = self.shared.saturating_add(self.gap);
        }
        let inside = self.row.map_or(0, |_| self.inside(at));
        let global = self.row.map(|row| row.wrapping_add_signed(at)).filter(|_| inside > 0);
        if inside == 0 || inside == CHUNK {
            return Some(Piece { shared, global, bytes: CHUNK });
        }
        self.rest = Some(Piece { shared: shared + inside, global: None, bytes: CHUNK - inside });
        Some(Piece { shared, global, bytes: inside })
    }

    /// How many bytes of a chunk lie in the tensor's row, if it starts at byte `at` of it.
    fn inside(&self, at: i64) -> u32 {
        let bits = i64::try_from(self.map.dims[0])
            .unwrap_or(i64::MAX)
            .saturating_mul(self.map.element.bits().into());
        let bytes = (bits / 8).saturating_sub(at);
        // Chunks are aligned as the tensor is, so none lies across its start.
        if at < 0 { 0 } else { bytes.clamp(0, i64::from(CHUNK)) as u32 }
    }
}

impl Iterator for Tile {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            let piece = match self.rest.take() {
                Some(rest) => rest,
                None => self.chunk()?,
            };
            if self.fills || piece.global.is_some() {
                return Some(piece);
            }
        }
    }
}
