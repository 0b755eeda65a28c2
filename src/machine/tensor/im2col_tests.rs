//! Copies of pixels, against small examples whose results are known.

use super::model_tests::plain_map;
use super::{BoxFault, Direction, Element, Im2col, Mode, Swizzle, TensorMap, Unsupported};

/// Images of 4 × 4 pixels with 32 channels of 4 bytes.
fn images(number: u64, lower: i32, upper: i32) -> TensorMap {
    TensorMap {
        element: Element::F32,
        rank: 4,
        address: 0,
        dims: [32, 4, 4, number, 0],
        strides: [0, 128, 512, 2048, 0],
        element_strides: [1; 5],
        swizzle: Swizzle::B128,
        im2col: Some(Im2col { lower: [lower; 3], upper: [upper; 3], channels: 32, pixels: 16 }),
        ..plain_map()
    }
}

/// The number of each pixel that is loaded, counted from 1 through all images; 0 out of bounds.
fn pixels(map: &TensorMap, coords: [i32; 4], mode: Mode) -> Vec<u64> {
    let pieces: Vec<_> = map.tile(&coords, mode, Direction::Load).unwrap().collect();
    assert_eq!(map.transaction_bytes(mode).unwrap(), 16 * pieces.len() as u64);
    pieces.chunks(8).map(|row| row[0].global.map_or(0, |address| address / 128 + 1)).collect()
}

fn im2col(offsets: [u16; 3]) -> Mode {
    Mode::Im2col { offsets }
}

/// The results that the tutorial "TMA im2col mode" of Triton's gluon gives for its examples 1 to 5.
#[test]
fn the_examples_of_triton() {
    let all: Vec<u64> = (1..=16).collect();
    assert_eq!(pixels(&images(1, 0, 0), [0, 0, 0, 0], im2col([0; 3])), all);
    let padded = [0, 0, 0, 0, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11];
    assert_eq!(pixels(&images(1, -1, -1), [0, -1, -1, 0], im2col([0; 3])), padded);
    assert_eq!(pixels(&images(1, -1, -1), [0, -1, -1, 0], im2col([1, 1, 0])), all);
    let next_image: Vec<u64> = (8..=23).collect();
    assert_eq!(pixels(&images(2, 0, 0), [0, 3, 1, 0], im2col([0; 3])), next_image);
    let both = [7, 0, 9, 10, 11, 0, 0, 0, 0, 0, 17, 18, 19, 0, 21, 22];
    assert_eq!(pixels(&images(2, -1, -1), [0, 2, 1, 0], im2col([0; 3])), both);
}

#[test]
fn steps_skip_pixels_but_not_amounts() {
    let mut map = images(2, -1, 0);
    map.element_strides = [1, 2, 2, 1, 1];
    // W and H are -1, 1, 3 in turn; each image gives 9 pixels.
    let expected = [0, 0, 0, 0, 6, 8, 0, 14, 16, 0, 0, 0, 0, 22, 24, 0];
    assert_eq!(pixels(&map, [0, -1, -1, 0], im2col([0; 3])), expected);
}

#[test]
fn pixels_after_the_last_image_are_filled() {
    let expected = [14, 15, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(pixels(&images(1, 0, 0), [0, 1, 3, 0], im2col([0; 3])), expected);
}

#[test]
fn a_line_stays_in_its_row() {
    let map = images(4, 0, 0);
    let line = Mode::Im2colW { halo: 0, offset: 0 };
    let expected = [7, 8, 21, 22, 23, 24, 37, 38, 39, 40, 53, 54, 55, 56, 0, 0];
    assert_eq!(pixels(&map, [0, 2, 1, 0], line), expected);
    // One pixel to the left of the box, all shifted by one.
    let shifted = Mode::Im2colW { halo: 0, offset: 1 };
    assert_eq!(pixels(&map, [0, -1, 0, 0], shifted)[..6], [1, 2, 3, 4, 0, 18]);
    let long = Mode::Im2colW128 { halo: 0, offset: 0 };
    assert_eq!(pixels(&map, [0, 0, 0, 0], long).len(), 128);
}

#[test]
fn stores_write_what_is_in_bounds() {
    let map = images(1, 0, 0);
    let stored: Vec<_> = map.tile(&[0, 1, 3, 0], Mode::Im2colNoOffsets, Direction::Store).unwrap().collect();
    assert_eq!(stored.len(), 3 * 8);
    assert_eq!(stored[0].global, Some(13 * 128));
}

#[test]
fn misfits_are_reported() {
    let map = images(1, -1, -1);
    let fault = |map: &TensorMap, coords: [i32; 4], mode, direction| {
        map.tile(&coords, mode, direction).err().unwrap_or(BoxFault::OtherDirection)
    };
    let (load, store) = (Direction::Load, Direction::Store);
    let outside = BoxFault::OutsideBoundingBox { dimension: 1, coordinate: 3, lower: -1, upper: 2 };
    assert_eq!(fault(&map, [0, 3, 0, 0], im2col([0; 3]), load), outside);
    let offset = BoxFault::Offset { offset: 256, greatest: 255 };
    assert_eq!(fault(&map, [0, 0, 0, 0], im2col([0, 256, 0]), load), offset);
    assert_eq!(
        fault(&map, [0, 0, 0, 0], Mode::Im2colW { halo: 1, offset: 0 }, load),
        Unsupported::Halo.into()
    );
    let plain = TensorMap { swizzle: Swizzle::None, ..map };
    assert_eq!(fault(&plain, [0; 4], Mode::Im2colW { halo: 0, offset: 0 }, load), BoxFault::NoSwizzle);
    assert_eq!(fault(&map, [0; 4], Mode::Im2colNoOffsets, store), BoxFault::StoreOutside { dimension: 1 });
    assert_eq!(fault(&map, [0; 4], Mode::Tile, load), BoxFault::OtherKind { is_im2col: true });
    assert!(fault(&map, [0, -1, 0, 0], Mode::Im2colNoOffsets, store).is_illegal_instruction());
    assert!(fault(&map, [1, 0, 0, 0], im2col([0; 3]), load).is_illegal_instruction());
}
