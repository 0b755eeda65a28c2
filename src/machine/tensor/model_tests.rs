//! Tiled copies against a model that looks at one element after the other.

use proptest::prelude::*;

use super::{
    Atomicity, BoxFault, Direction, Element, Fill, Interleave, Mode, Piece, Swizzle, TensorMap, Unsupported,
};

/// A small matrix that breaks no rule.
pub(super) fn plain_map() -> TensorMap {
    TensorMap {
        element: Element::U32,
        rank: 2,
        address: 0x1_0000,
        dims: [32, 16, 0, 0, 0],
        strides: [0, 128, 0, 0, 0],
        box_dims: [16, 8, 0, 0, 0],
        element_strides: [1, 1, 0, 0, 0],
        interleave: Interleave::None,
        swizzle: Swizzle::None,
        atomicity: Atomicity::B16,
        fill: Fill::Zero,
        im2col: None,
    }
}

/// The address of each byte of a box, in the order of shared memory; none out of bounds.
pub(super) fn bytes(pieces: impl Iterator<Item = Piece>) -> Vec<Option<u64>> {
    let mut bytes = Vec::new();
    for piece in pieces {
        assert!((1..=16).contains(&piece.bytes), "{piece:?}");
        assert_eq!(piece.shared / 16, (piece.shared + piece.bytes - 1) / 16, "{piece:?}");
        bytes.resize(bytes.len().max((piece.shared + piece.bytes) as usize), None);
        for byte in 0..piece.bytes {
            let place = &mut bytes[(piece.shared + byte) as usize];
            assert_eq!(*place, None, "twice: {piece:?}");
            *place = piece.global.map(|address| address + u64::from(byte));
        }
    }
    bytes
}

/// The same by the definition, element by element.
fn model(map: &TensorMap, coords: &[i32]) -> Vec<Option<u64>> {
    let rank = usize::from(map.rank);
    let size = u64::from(map.element.bits() / 8);
    let step = |dimension: usize| if dimension == 0 { 1 } else { map.element_strides[dimension] };
    let counts: Vec<u32> = (0..rank).map(|d| map.box_dims[d].div_ceil(step(d))).collect();
    let mut out = Vec::new();
    for number in 0..counts.iter().product::<u32>() {
        let mut rest = number;
        let mut address = Some(map.address);
        for dimension in 0..rank {
            let index = i64::from(coords[dimension]) + i64::from(rest % counts[dimension] * step(dimension));
            rest /= counts[dimension];
            let stride = if dimension == 0 { size } else { map.strides[dimension] };
            let inside = (0..map.dims[dimension] as i64).contains(&index);
            address = address.filter(|_| inside).map(|address| address + index as u64 * stride);
        }
        out.extend((0..size).map(|byte| address.map(|address| address + byte)));
    }
    out
}

fn copies() -> impl Strategy<Value = (TensorMap, Vec<i32>)> {
    let elements = prop::sample::select(vec![Element::U8, Element::F16, Element::U32, Element::F64]);
    let dimension = (1..12_u64, 1..6_u32, 1..4_u32, -4..9_i32, 0..3_u64);
    (elements, prop::collection::vec(dimension, 1..=5), 1..3_u32).prop_map(|(element, parts, chunks)| {
        let per_chunk = 128 / element.bits();
        let mut map = TensorMap { element, rank: parts.len() as u8, ..plain_map() };
        let mut coords = Vec::new();
        let mut stride = 0;
        for (dimension, (size, extent, step, at, padding)) in parts.into_iter().enumerate() {
            map.strides[dimension] = stride;
            (map.dims[dimension], map.box_dims[dimension]) = (size, extent);
            map.element_strides[dimension] = step;
            coords.push(at);
            if dimension == 0 {
                map.box_dims[0] = chunks * per_chunk;
                map.dims[0] = size * 3;
                coords[0] = at / 2 * per_chunk as i32;
                stride = (map.dims[0] * u64::from(element.bits() / 8)).next_multiple_of(16);
            } else {
                stride *= size + padding;
            }
        }
        (map, coords)
    })
}

proptest! {
    #[test]
    fn a_tile_is_what_its_elements_are((map, coords) in copies()) {
        prop_assert_eq!(map.validate(), Ok(()));
        let expected = model(&map, &coords);
        let load = bytes(map.tile(&coords, Mode::Tile, Direction::Load).unwrap());
        prop_assert_eq!(map.transaction_bytes(Mode::Tile).unwrap(), load.len() as u64);
        prop_assert_eq!(&load, &expected);
        for direction in [Direction::Store, Direction::Reduce] {
            match map.tile(&coords, Mode::Tile, direction) {
                Err(fault) => {
                    prop_assert!(fault.is_illegal_instruction());
                    prop_assert!(coords.iter().any(|&at| at < 0));
                }
                Ok(tile) => {
                    let pieces: Vec<Piece> = tile.collect();
                    prop_assert!(pieces.iter().all(|piece| piece.global.is_some()));
                    let mut stored = bytes(pieces.into_iter());
                    stored.resize(expected.len(), None);
                    prop_assert_eq!(&stored, &expected);
                }
            }
        }
    }

    #[test]
    fn nothing_panics(
        map in any_map(), coords in prop::collection::vec(any::<i32>(), 0..7), mode in 0..8_usize,
    ) {
        let mode = modes()[mode];
        for direction in [Direction::Load, Direction::Store] {
            if let Ok(tile) = map.tile(&coords, mode, direction) {
                prop_assert!(tile.take(100_000).count() < 100_000);
            }
        }
        let _ = (map.transaction_bytes(mode), map.validate().map_err(|rule| rule.to_string()));
    }
}

fn modes() -> [Mode; 8] {
    [
        Mode::Tile,
        Mode::Gather4,
        Mode::Scatter4,
        Mode::Im2col { offsets: [1, 2, 3] },
        Mode::Im2colW { halo: 0, offset: 3 },
        Mode::Im2colW128 { halo: 0, offset: 3 },
        Mode::Im2colNoOffsets,
        Mode::Im2colNoOffsetsW,
    ]
}

/// Maps with extreme numbers.
fn any_map() -> impl Strategy<Value = TensorMap> {
    let wide = || prop_oneof![0..20_u64, Just(1 << 32), Just(16), any::<u64>()];
    let small = || prop_oneof![0..9_u32, Just(16), Just(256), any::<u32>()];
    let corner = || prop_oneof![-3..3_i32, any::<i32>()];
    let im2col = (prop::array::uniform3(corner()), prop::array::uniform3(corner()), small(), small())
        .prop_map(|(lower, upper, channels, pixels)| super::Im2col { lower, upper, channels, pixels });
    let numbers = (
        0..7_u8,
        prop_oneof![Just(0_u64), Just(u64::MAX - 15), any::<u64>()],
        prop::array::uniform5(wide()),
        prop::array::uniform5(prop_oneof![Just(16_u64), Just((1 << 40) - 16), any::<u64>()]),
        prop::array::uniform5(small()),
        prop::array::uniform5(prop_oneof![0..9_u32, any::<u32>()]),
    );
    let kinds = (
        prop::sample::select(Element::ALL.to_vec()),
        prop::sample::select(Interleave::ALL.to_vec()),
        prop::sample::select(Swizzle::ALL.to_vec()),
        prop::sample::select(Atomicity::ALL.to_vec()),
    );
    (kinds, numbers, prop::option::of(im2col)).prop_map(|(kinds, numbers, im2col)| {
        let (element, interleave, swizzle, atomicity) = kinds;
        let (rank, address, dims, strides, box_dims, element_strides) = numbers;
        TensorMap {
            element,
            rank,
            address,
            dims,
            strides,
            box_dims,
            element_strides,
            interleave,
            swizzle,
            atomicity,
            fill: Fill::Zero,
            im2col,
        }
    })
}

#[test]
fn rows_are_gathered_and_scattered() {
    let map = TensorMap { box_dims: [4, 1, 0, 0, 0], ..plain_map() };
    let load: Vec<Piece> = map.tile(&[4, 3, -1, 16, 3], Mode::Gather4, Direction::Load).unwrap().collect();
    let row3 = Some(map.address + 3 * 128 + 16);
    let expected = [row3, None, None, row3];
    for (number, (piece, global)) in load.into_iter().zip(expected).enumerate() {
        assert_eq!(piece, Piece { shared: 16 * number as u32, global, bytes: 16 });
    }
    assert_eq!(map.transaction_bytes(Mode::Gather4), Ok(64));
    let store: Vec<Piece> = map.tile(&[4, 3, 99, 16, 0], Mode::Scatter4, Direction::Store).unwrap().collect();
    assert_eq!(store.len(), 2);
    assert_eq!(store[1], Piece { shared: 48, global: Some(map.address + 16), bytes: 16 });
}

#[test]
fn misfits_are_reported() {
    let map = plain_map();
    let fault = |map: &TensorMap, coords: &[i32], mode, direction| {
        map.tile(coords, mode, direction).err().unwrap_or(BoxFault::OtherDirection)
    };
    let load = Direction::Load;
    assert_eq!(fault(&map, &[0], Mode::Tile, load), BoxFault::Coordinates { found: 1, expected: 2 });
    assert_eq!(fault(&map, &[0; 5], Mode::Gather4, load), BoxFault::NotARow);
    assert_eq!(fault(&map, &[0; 5], Mode::Gather4, Direction::Store), BoxFault::OtherDirection);
    let offsets = [0; 3];
    assert_eq!(
        fault(&map, &[0, 0], Mode::Im2col { offsets }, load),
        BoxFault::OtherKind { is_im2col: false }
    );
    let large = TensorMap { box_dims: [256; 5], element_strides: [1; 5], ..map };
    assert_eq!(fault(&large, &[0, 0], Mode::Tile, load), BoxFault::TooLarge { bytes: 256 * 256 * 4 });
    let narrow = TensorMap { swizzle: Swizzle::B128, atomicity: Atomicity::B64, ..map };
    assert_eq!(fault(&narrow, &[0, 0], Mode::Tile, load), Unsupported::NarrowRows.into());
    let invalid = TensorMap { rank: 0, ..map };
    assert!(matches!(fault(&invalid, &[], Mode::Tile, load), BoxFault::Map(_)));
}

#[test]
fn packed_values_are_counted_in_bits() {
    let mut map = TensorMap { element: Element::B4x16, ..plain_map() };
    (map.dims[0], map.box_dims[0]) = (72, 64);
    assert_eq!(map.transaction_bytes(Mode::Tile), Ok(32 * 8));
    let pieces: Vec<Piece> = map.tile(&[32, 0], Mode::Tile, Direction::Load).unwrap().take(3).collect();
    assert_eq!(pieces[0], Piece { shared: 0, global: Some(map.address + 16), bytes: 16 });
    assert_eq!(pieces[1], Piece { shared: 16, global: Some(map.address + 32), bytes: 4 });
    assert_eq!(pieces[2], Piece { shared: 20, global: None, bytes: 12 });
    assert!(map.tile(&[16, 0], Mode::Tile, Direction::Load).is_err());
}
