//! Loads, stores and transposition against the figures of PTX ISA §9.7.16.5.15 to .17.

use super::super::transfer::{ROW_BYTES, Row};
use super::super::{Column, LANES, Layout, MatrixMove, Packing, decode_move, gather, movmatrix, scatter};
use super::{Random, spellings, text, vector_lengths};

fn rows(random: &mut Random, count: usize) -> Vec<Row> {
    (0..count).map(|_| std::array::from_fn(|_| random.next() as u8)).collect()
}

fn columns(random: &mut Random, count: usize) -> Vec<Column> {
    (0..count).map(|_| std::array::from_fn(|_| random.next() & 0xffff_ffff)).collect()
}

fn moves() -> Vec<(String, MatrixMove)> {
    let all = ["ldmatrix", "stmatrix"].into_iter().flat_map(spellings);
    all.map(|found| {
        let op = decode_move(&found).unwrap_or_else(|| panic!("{}", text(&found)));
        assert_eq!(vec![op.registers()], vector_lengths(&found), "{}", text(&found));
        (text(&found), op)
    })
    .collect()
}

#[test]
fn every_spelling_decodes_with_the_registers_of_its_row() {
    let moves = moves();
    assert!(moves.len() > 50, "only {} spellings", moves.len());
    for (spelling, op) in moves {
        let matrix_rows = if spelling.contains(".m16n16") { 16 } else { 8 };
        assert_eq!(op.rows(), matrix_rows * usize::from(op.matrices), "{spelling}");
        assert_eq!(op.layout == Layout::Rows, !spelling.contains(".trans"), "{spelling}");
        assert_eq!(op.packing != Packing::Plain, spelling.contains(".b8x16"), "{spelling}");
    }
    for found in spellings("movmatrix").into_iter().chain(spellings("mma")) {
        assert_eq!(decode_move(&found), None, "{}", text(&found));
    }
}

#[test]
fn a_load_of_halves_gives_each_lane_two_of_a_row_or_column() {
    let mut random = Random(1);
    let half =
        |row: &Row, column: usize| u64::from(u16::from_le_bytes([row[2 * column], row[2 * column + 1]]));
    for (_, op) in moves().into_iter().filter(|(spelling, _)| spelling.contains(".m8n8")) {
        let rows = rows(&mut random, op.rows());
        for (matrix, column) in gather(op, &rows).iter().enumerate() {
            let matrix = &rows[8 * matrix..8 * matrix + 8];
            for (lane, &value) in column.iter().enumerate() {
                let (line, first) = (lane / 4, lane % 4 * 2);
                let [low, high] = match op.layout {
                    Layout::Rows => [half(&matrix[line], first), half(&matrix[line], first + 1)],
                    _ => [half(&matrix[first], line), half(&matrix[first + 1], line)],
                };
                assert_eq!(value, low | high << 16, "lane {lane} of {op:?}");
            }
        }
    }
}

#[test]
fn a_load_of_byte_columns_gives_each_lane_four_of_two_columns() {
    let op = MatrixMove { matrices: 2, layout: Layout::ByteColumns, packing: Packing::Plain };
    let rows = rows(&mut Random(2), 32);
    for (register, registers) in gather(op, &rows).iter().enumerate() {
        for (lane, &value) in registers.iter().enumerate() {
            let (matrix, column) = (register / 2, lane / 4 + 8 * (register % 2));
            let bytes: [u8; 4] = std::array::from_fn(|i| rows[16 * matrix + 4 * (lane % 4) + i][column]);
            assert_eq!(value, u64::from(u32::from_le_bytes(bytes)), "lane {lane}");
        }
    }
}

/// A store of 16x8 bytes takes what the accumulators of 16 rows and 8 columns become as bytes.
#[test]
fn a_store_of_byte_column_pairs_transposes_an_accumulator() {
    let op = MatrixMove { matrices: 1, layout: Layout::ByteColumnPairs, packing: Packing::Plain };
    let columns = columns(&mut Random(3), 1);
    let rows = scatter(op, &columns);
    for (lane, &value) in columns[0].iter().enumerate() {
        for (i, byte) in (value as u32).to_le_bytes().into_iter().enumerate() {
            let (row, column) = super::manual::c(lane, i);
            assert_eq!(rows[column][row], byte, "element {i} of lane {lane}");
        }
    }
}

#[test]
fn what_is_stored_loads_again() {
    let mut random = Random(4);
    for (spelling, op) in moves().into_iter().filter(|(_, op)| op.packing == Packing::Plain) {
        let rows = rows(&mut random, op.rows());
        assert_eq!(scatter(op, &gather(op, &rows)).as_slice(), rows, "{spelling}");
        let columns = columns(&mut random, op.registers());
        assert_eq!(gather(op, &scatter(op, &columns)).as_slice(), columns, "{spelling}");
    }
}

#[test]
fn a_transposing_load_is_a_load_and_a_transposition() {
    let plain = MatrixMove { matrices: 4, layout: Layout::Rows, packing: Packing::Plain };
    let transposing = MatrixMove { layout: Layout::Columns, ..plain };
    let rows = rows(&mut Random(5), 32);
    let transposed: Vec<Column> = gather(plain, &rows).iter().map(movmatrix).collect();
    assert_eq!(gather(transposing, &rows).as_slice(), transposed);
}

#[test]
fn transposing_twice_changes_nothing() {
    let column = columns(&mut Random(6), 1)[0];
    assert_ne!(movmatrix(&column), column);
    assert_eq!(movmatrix(&movmatrix(&column)), column);
    // Element (2, 5) in the upper half of lane 2·4 + 5/2 goes to (5, 2): the lower half of lane 5·4 + 1.
    let mut one = [0; LANES];
    one[10] = 0xabcd_0000;
    let mut other = [0; LANES];
    other[21] = 0xabcd;
    assert_eq!(movmatrix(&one), other);
}

#[test]
fn packed_elements_become_bytes() {
    let mut row = [0xff; ROW_BYTES];
    // Elements 0, 1, 2, … of 6 bits: 12 bytes; those of 4 bits: 8 bytes. Padding is not looked at.
    let pack = |width: u32| (0..16).fold(0_u128, |packed, i| packed | i << (width as usize * i as usize));
    for (packing, width) in [(Packing::SixBits, 6), (Packing::FourBits, 4)] {
        let bytes = 2 * width as usize;
        row[..bytes].copy_from_slice(&pack(width).to_le_bytes()[..bytes]);
        let plain: Row = std::array::from_fn(|i| i as u8);
        for (matrices, layout) in [(4, Layout::Rows), (2, Layout::ByteColumns)] {
            let packed = MatrixMove { matrices, layout, packing };
            let unpacked = MatrixMove { packing: Packing::Plain, ..packed };
            assert_eq!(gather(packed, &[row; 32]), gather(unpacked, &[plain; 32]), "{packed:?}");
        }
    }
}

#[test]
fn missing_rows_and_registers_read_as_zeros() {
    for (_, op) in moves() {
        assert!(gather(op, &[]).iter().flatten().all(|&value| value == 0));
        assert_eq!(gather(op, &[]).len(), op.registers());
        assert!(scatter(op, &[]).iter().flatten().all(|&byte| byte == 0));
        assert_eq!(scatter(op, &[]).len(), op.rows());
    }
}
