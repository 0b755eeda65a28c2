//! Memory for people and for programs.

use super::float;
use crate::types::{Type, TypeClass};

/// So many rows are shown, runs of equal ones counting as one.
const MOST_ROWS: usize = 4096;

/// The number that up to eight little-endian bytes are.
pub(super) fn bits_of(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// One value as its type reads it: decimal for integers, the shortest decimal for floats, hexadecimal for
/// bit types.
pub(super) fn text(bits: u64, element: Type) -> String {
    match element.class() {
        TypeClass::Float => float::text(bits, element),
        TypeClass::Integer if element.is_signed() => {
            let unused = 64 - element.bits().min(64);
            (((bits << unused) as i64) >> unused).to_string()
        }
        TypeClass::Integer => bits.to_string(),
        _ => format!("0x{bits:0digits$x}", digits = element.bytes() as usize * 2),
    }
}

/// Each element in hexadecimal of its width: `0x0000002a`. Bytes behind the last whole element are left out.
pub fn hex_words(element: Type, bytes: &[u8]) -> impl Iterator<Item = String> + '_ {
    let digits = element.bytes() as usize * 2;
    let words = bytes.chunks_exact(element.bytes() as usize);
    words.map(move |word| format!("0x{:0digits$x}", bits_of(word)))
}

/// A line of the dump.
enum Line {
    /// The index of its first element, and the elements.
    Row(usize, Vec<String>),
    /// So many more rows that are equal to the one before.
    Same(usize),
}

/// The elements of a buffer in rows, each with the index of its first element; of equal rows the first is
/// shown and the others are counted. At most 4096 lines, the last one saying how many elements follow.
pub fn render(element: Type, bytes: &[u8]) -> String {
    let size = element.bytes() as usize;
    let per_row = (32 / size).clamp(4, 16);
    let (lines, shown) = lines(element, bytes, per_row);
    let rows =
        || lines.iter().filter_map(|line| if let Line::Row(at, row) = line { Some((at, row)) } else { None });
    let width = rows().flat_map(|(_, row)| row).map(String::len).max().unwrap_or(0);
    let index_width = rows().map(|(at, _)| at.to_string().len()).max().unwrap_or(1);
    let mut out = String::new();
    for line in &lines {
        match line {
            Line::Row(at, row) => {
                let values: Vec<String> = row.iter().map(|value| format!("{value:>width$}")).collect();
                out.push_str(&format!("[{at:>index_width$}]  {}\n", values.join("  ")));
            }
            Line::Same(1) => out.push_str("  * 1 more row like this\n"),
            Line::Same(count) => out.push_str(&format!("  * {count} more rows like this\n")),
        }
    }
    match (bytes.len() / size).saturating_sub(shown) {
        0 => {}
        more => out.push_str(&format!("  … {more} more elements\n")),
    }
    out
}

/// The lines, and how many elements they stand for.
fn lines(element: Type, bytes: &[u8], per_row: usize) -> (Vec<Line>, usize) {
    let size = element.bytes() as usize;
    let mut lines: Vec<Line> = Vec::new();
    let mut before: Option<&[u8]> = None;
    let mut shown = 0;
    for (index, row) in bytes.chunks(per_row * size).enumerate() {
        if before == Some(row) {
            match lines.last_mut() {
                Some(Line::Same(count)) => *count += 1,
                _ => lines.push(Line::Same(1)),
            }
        } else if lines.len() >= MOST_ROWS {
            break;
        } else {
            let values = row.chunks_exact(size).map(|value| text(bits_of(value), element)).collect();
            lines.push(Line::Row(index * per_row, values));
            before = Some(row);
        }
        shown += row.len() / size;
    }
    (lines, shown)
}
