//! Matrices between shared memory and the lanes of a warp, and transposition within the warp.
//!
//! A load takes 16 bytes from each row address and spreads them over the lanes; a store collects them.
//! Both only permute bytes (the unpacking loads widen elements first, with zeros), so the same functions
//! move masks of undefined bits.

use smallvec::SmallVec;

use super::{Column, LANES};
use crate::isa::{Mod, RowMatch};

/// Bytes of a row of a matrix in memory.
pub const ROW_BYTES: usize = 16;

/// A row of a matrix in memory.
pub type Row = [u8; ROW_BYTES];

/// What a matrix load or store moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatrixMove {
    /// Number of matrices: 1, 2 or 4.
    pub matrices: u8,
    /// How rows and lanes correspond.
    pub layout: Layout,
    /// How many bits of memory make an element of 8 bits; 8 and 16 move unchanged.
    pub packing: Packing,
}

/// Which bytes of a matrix a lane holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// 8 rows; a lane holds 4 consecutive bytes of a row (8x8 elements of 16 bits, 8x16 of 8 bits).
    Rows,
    /// 8 rows of 8 elements of 16 bits; a lane holds two elements of a column.
    Columns,
    /// 16 rows of 16 bytes; a lane holds 4 bytes of a column in each of two registers.
    ByteColumns,
    /// The transpose of 16x8 bytes, in memory 8 rows of 16; a lane holds two bytes of two columns.
    ByteColumnPairs,
}

/// How elements are packed in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// As they are in registers.
    Plain,
    /// 16 elements of 6 bits, then 4 bytes of padding.
    SixBits,
    /// 16 elements of 4 bits, then 8 bytes of padding.
    FourBits,
}

impl MatrixMove {
    /// Number of row addresses, at most 32. Lane `i` gives the address of row `i` (matrix by matrix, row
    /// by row); the addresses of lanes from this number on are ignored.
    pub fn rows(self) -> usize {
        usize::from(self.matrices) * self.layout.rows()
    }

    /// Number of 32-bit registers that a lane gets or gives: 1, 2 or 4.
    pub fn registers(self) -> usize {
        usize::from(self.matrices) * self.layout.registers()
    }
}

impl Layout {
    /// Rows of one matrix in memory.
    fn rows(self) -> usize {
        match self {
            Layout::Rows | Layout::Columns | Layout::ByteColumnPairs => 8,
            Layout::ByteColumns => 16,
        }
    }

    /// Registers of one matrix.
    fn registers(self) -> usize {
        self.rows() / 8
    }

    /// Row (counted through all matrices) and byte in it that byte `byte` of register `register` of lane
    /// `lane` stands for (figures of §9.7.16.5.15 and .16).
    fn place(self, register: usize, lane: usize, byte: usize) -> (usize, usize) {
        let (group, member) = (lane / 4, lane % 4);
        match self {
            Layout::Rows => (8 * register + group, 4 * member + byte),
            Layout::Columns => (8 * register + 2 * member + byte / 2, 2 * group + byte % 2),
            Layout::ByteColumns => (16 * (register / 2) + 4 * member + byte, group + 8 * (register % 2)),
            Layout::ByteColumnPairs => (8 * register + 2 * member + byte % 2, group + 8 * (byte / 2)),
        }
    }
}

/// What a matrix load or store moves; none if `found` is neither.
pub fn decode_move(found: &RowMatch) -> Option<MatrixMove> {
    let matrices = if found.has(Mod::X1) {
        1
    } else if found.has(Mod::X2) {
        2
    } else if found.has(Mod::X4) {
        4
    } else {
        return None;
    };
    let layout = match found.has(Mod::Trans) {
        false if found.has(Mod::M8n8) || found.has(Mod::M8n16) => Layout::Rows,
        true if found.has(Mod::M8n8) => Layout::Columns,
        true if found.has(Mod::M16n16) => Layout::ByteColumns,
        true if found.has(Mod::M16n8) => Layout::ByteColumnPairs,
        _ => return None,
    };
    let packing = if found.has(Mod::B6x16P32) {
        Packing::SixBits
    } else if found.has(Mod::B4x16P64) {
        Packing::FourBits
    } else {
        Packing::Plain
    };
    let op = MatrixMove { matrices, layout, packing };
    // The 16-row shape has no four matrices: there are only 32 lanes to give addresses.
    (op.rows() <= LANES).then_some(op)
}

/// The registers that a load gives, from the [`MatrixMove::rows`] rows that it reads. Missing rows read as
/// zeros.
///
/// Given the undefined bits of the rows, the result is the undefined bits of the registers.
pub fn gather(op: MatrixMove, rows: &[Row]) -> SmallVec<[Column; 4]> {
    let rows: SmallVec<[Row; LANES]> = rows.iter().map(|row| unpack(op.packing, *row)).collect();
    let mut columns: SmallVec<[Column; 4]> = SmallVec::from_elem([0; LANES], op.registers());
    for (register, column) in columns.iter_mut().enumerate() {
        for (lane, value) in column.iter_mut().enumerate() {
            for byte in 0..4 {
                let (row, at) = op.layout.place(register, lane, byte);
                let bits = rows.get(row).map_or(0, |row| row[at]);
                *value |= u64::from(bits) << (8 * byte);
            }
        }
    }
    columns
}

/// The [`MatrixMove::rows`] rows that a store writes, from its registers. Missing registers read as
/// zeros. Packing is not undone: no store packs.
///
/// Given the undefined bits of the registers, the result is the undefined bits of the rows.
pub fn scatter(op: MatrixMove, columns: &[Column]) -> SmallVec<[Row; LANES]> {
    let mut rows: SmallVec<[Row; LANES]> = SmallVec::from_elem([0; ROW_BYTES], op.rows());
    for (register, column) in columns.iter().enumerate().take(op.registers()) {
        for (lane, value) in column.iter().enumerate() {
            for byte in 0..4 {
                let (row, at) = op.layout.place(register, lane, byte);
                if let Some(row) = rows.get_mut(row) {
                    row[at] = (value >> (8 * byte)) as u8;
                }
            }
        }
    }
    rows
}

/// The transpose of the 8x8 matrix of 16-bit elements whose rows lie in `a`, each in four consecutive
/// lanes. Moves masks of undefined bits, too.
pub fn movmatrix(a: &Column) -> Column {
    let stored = MatrixMove { matrices: 1, layout: Layout::Rows, packing: Packing::Plain };
    let loaded = MatrixMove { layout: Layout::Columns, ..stored };
    gather(loaded, &scatter(stored, std::slice::from_ref(a)))[0]
}

/// A row with each of its packed elements in the low bits of a byte, zeros above.
fn unpack(packing: Packing, row: Row) -> Row {
    let width = match packing {
        Packing::Plain => return row,
        Packing::SixBits => 6,
        Packing::FourBits => 4,
    };
    let packed = u128::from_le_bytes(row);
    std::array::from_fn(|i| (packed >> (width * i)) as u8 & ((1 << width) - 1))
}
