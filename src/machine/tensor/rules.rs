//! Which tensor maps the CUDA driver takes (`cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col`).
//!
//! Only what the driver refuses is refused here; strides that let elements overlap, for one, are allowed.

use super::{Atomicity, Element, Fill, Im2col, Interleave, Key, Rule, Swizzle, TensorMap};

/// The alignment of rows that the copy engine reads and writes, in bytes.
pub(super) const ROW_ALIGN: u64 = 16;
/// The innermost extent of a box of padded elements.
pub(super) const PADDED_BOX: u32 = 128;

impl TensorMap {
    /// Checks the map against the rules of the CUDA driver.
    ///
    /// # Errors
    /// The first rule that the map breaks.
    pub fn validate(&self) -> Result<(), Rule> {
        self.check_rank()?;
        self.check_tensor()?;
        match &self.im2col {
            None => self.check_box()?,
            Some(im2col) => self.check_im2col(im2col)?,
        }
        for dimension in self.dimensions() {
            if dimension > 0 || self.interleave != Interleave::None {
                let step = i64::from(self.element_strides[dimension]);
                range(Key::ElementStrides, Some(dimension), step, 1, 8)?;
            }
        }
        self.check_layout()?;
        if self.fill == Fill::Nan && !self.element.is_float() {
            return Err(Rule::Fill { element: self.element });
        }
        Ok(())
    }

    fn check_rank(&self) -> Result<(), Rule> {
        let least = if self.im2col.is_some() || self.interleave != Interleave::None { 3 } else { 1 };
        if (least..=5).contains(&self.rank) { Ok(()) } else { Err(Rule::Rank { rank: self.rank, least }) }
    }

    /// The address, sizes and strides.
    fn check_tensor(&self) -> Result<(), Rule> {
        let is_wide = self.interleave == Interleave::B32 || self.element.is_padded();
        let align = if is_wide { 2 * ROW_ALIGN } else { ROW_ALIGN };
        multiple(Key::Data, None, self.address, align)?;
        for dimension in self.dimensions() {
            let size = i64::try_from(self.dims[dimension]).unwrap_or(i64::MAX);
            range(Key::Dims, Some(dimension), size, 1, 1 << 32)?;
        }
        let packed = match self.element {
            Element::B4x16 => 2,
            Element::B4x16P64 | Element::B6x16P32 => u64::from(PADDED_BOX),
            _ => 1,
        };
        multiple(Key::Dims, Some(0), self.dims[0], packed)?;
        for dimension in self.dimensions().skip(1) {
            let stride = self.strides[dimension];
            multiple(Key::Strides, Some(dimension), stride, align)?;
            let stride = i64::try_from(stride).unwrap_or(i64::MAX);
            range(Key::Strides, Some(dimension), stride, 0, (1 << 40) - 1)?;
        }
        Ok(())
    }

    fn check_box(&self) -> Result<(), Rule> {
        for dimension in self.dimensions() {
            range(Key::Box, Some(dimension), i64::from(self.box_dims[dimension]), 1, 256)?;
        }
        let size = self.box_dims[0];
        if self.element.is_padded() && size != PADDED_BOX {
            return Err(Rule::PaddedBox { key: Key::Box, size, element: self.element });
        }
        // In bits: four of them need not be bytes.
        let is_whole = bits(size, self.element).is_multiple_of(8 * ROW_ALIGN);
        if self.interleave == Interleave::None && !is_whole {
            return Err(Rule::BoxBytes { size, element: self.element });
        }
        Ok(())
    }

    fn check_im2col(&self, im2col: &Im2col) -> Result<(), Rule> {
        let bound = match self.rank {
            3 => 1 << 15,
            4 => 1 << 7,
            _ => 1 << 4,
        };
        for dimension in self.spatial_dimensions() {
            let (lower, upper) =
                (i64::from(im2col.lower[dimension - 1]), i64::from(im2col.upper[dimension - 1]));
            range(Key::Lower, Some(dimension), lower, -bound, bound - 1)?;
            range(Key::Upper, Some(dimension), upper, -bound, bound - 1)?;
            let size = i64::try_from(self.dims[dimension]).unwrap_or(i64::MAX);
            let pixels = size.saturating_add(upper - lower);
            if pixels <= 0 {
                return Err(Rule::EmptyBoundingBox { dimension, pixels });
            }
        }
        range(Key::Channels, None, i64::from(im2col.channels), 1, 256)?;
        range(Key::Pixels, None, i64::from(im2col.pixels), 1, 1024)?;
        if self.element.is_padded() && im2col.channels != PADDED_BOX {
            return Err(Rule::PaddedBox { key: Key::Channels, size: im2col.channels, element: self.element });
        }
        Ok(())
    }

    /// Interleave and swizzle.
    fn check_layout(&self) -> Result<(), Rule> {
        let (interleave, swizzle) = (self.interleave, self.swizzle);
        if interleave == Interleave::B32 && swizzle != Swizzle::B32 {
            return Err(Rule::InterleaveNeedsSwizzle { swizzle });
        }
        if interleave != Interleave::None && (self.element == Element::B6x16P32 || swizzle == Swizzle::B96) {
            return Err(Rule::Interleave { interleave });
        }
        let suits = match self.element {
            Element::B4x16P64 => matches!(swizzle, Swizzle::None | Swizzle::B128),
            Element::B6x16P32 => matches!(swizzle, Swizzle::None | Swizzle::B64 | Swizzle::B128),
            _ => true,
        };
        if !suits {
            return Err(Rule::SwizzleOfElement { swizzle, element: self.element });
        }
        if self.atomicity != Atomicity::B16 && swizzle != Swizzle::B128 {
            return Err(Rule::Atomicity { atomicity: self.atomicity, swizzle });
        }
        let bytes = self.row_bytes();
        match swizzle.span() {
            Some(span) if interleave == Interleave::None && !self.element.is_padded() && bytes > span => {
                Err(Rule::SwizzleSpan { bytes, swizzle })
            }
            _ => Ok(()),
        }
    }

    /// The dimensions W, H and D of an im2col map, all but the channels and the batch.
    pub(super) fn spatial_dimensions(&self) -> std::ops::Range<usize> {
        1..self.dimensions().end.saturating_sub(1)
    }
}

fn range(key: Key, dimension: Option<usize>, value: i64, least: i64, greatest: i64) -> Result<(), Rule> {
    if (least..=greatest).contains(&value) {
        return Ok(());
    }
    Err(Rule::Range { key, dimension, value, least, greatest })
}

fn multiple(key: Key, dimension: Option<usize>, value: u64, of: u64) -> Result<(), Rule> {
    if value.is_multiple_of(of) { Ok(()) } else { Err(Rule::Multiple { key, dimension, value, of }) }
}

/// The size of so many elements in global memory, in bits.
pub(super) fn bits(elements: u32, element: Element) -> u64 {
    u64::from(elements) * u64::from(element.bits())
}

#[cfg(test)]
mod tests {
    use super::super::model_tests::plain_map;
    use super::*;

    /// The message for a map that differs from a good one by `change`.
    fn message(change: impl FnOnce(&mut TensorMap)) -> String {
        let mut map = plain_map();
        change(&mut map);
        map.validate().map_or_else(|rule| rule.to_string(), |()| String::new())
    }

    #[test]
    fn each_rule_of_tiled_maps() {
        let float = Element::F32;
        assert_eq!(message(|_| ()), "");
        for (message, start) in [
            (message(|map| map.rank = 0), "`dims` has 0 entries: a tensor map has 1 to 5 dimensions; give 1"),
            (message(|map| map.rank = 6), "`dims` has 6 entries"),
            (message(|map| map.interleave = Interleave::B16), "`dims` has 2 entries: interleaved"),
            (
                message(|map| map.address += 8),
                "`data` is 65544: the copy engine reads aligned rows; start the tensor at a multiple of 16 bytes",
            ),
            (message(|map| map.dims[1] = 0), "`dims[1]` is 0: a dimension has at least one element"),
            (message(|map| map.dims[0] = (1 << 32) + 1), "`dims[0]` is 4294967297"),
            (
                message(|map| map.strides[1] = 8),
                "`strides[0]` is 8: each row has to start as aligned as the first one; write a multiple of 16, such as 16, for `strides[0]`",
            ),
            (message(|map| map.strides[1] = 1 << 40), "`strides[0]` is 1099511627776"),
            (message(|map| map.box_dims[1] = 257), "`box[1]` is 257: a box has 1 to 256"),
            (message(|map| map.box_dims[0] = 0), "`box[0]` is 0"),
            (
                message(|map| map.box_dims[0] = 3),
                "`box[0]` is 3 elements of type u32, 96 bits: the rows of a box have whole chunks of 16 bytes; make `box[0]` a multiple of 4, such as 4",
            ),
            (message(|map| map.element_strides[1] = 9), "`element_strides[1]` is 9"),
            (message(|map| map.swizzle = Swizzle::B32), "`swizzle=32B` with a box whose rows have 64 bytes"),
            (message(|map| map.atomicity = Atomicity::B64), "`swizzle_atomicity=64B` with `swizzle=none`"),
            (message(|map| map.fill = Fill::Nan), "`oob=nan` with elements of type u32: only floating-point"),
            (message(|map| (map.element, map.fill) = (float, Fill::Nan)), ""),
            (message(|map| map.element_strides[0] = 0), ""),
            (message(|map| map.dims[0] = 1 << 32), ""),
            (message(|map| map.strides[1] = 0), ""),
            (message(|map| map.strides[1] = 16), ""),
            (message(|map| map.swizzle = Swizzle::B64), ""),
            (message(|map| (map.swizzle, map.atomicity) = (Swizzle::B128, Atomicity::B32)), ""),
        ] {
            assert!(
                message.starts_with(start) && message.is_empty() == start.is_empty(),
                "{message} / {start}"
            );
        }
    }

    #[test]
    fn packed_and_interleaved_maps_are_stricter() {
        let packed = |map: &mut TensorMap| {
            (map.element, map.dims[0], map.box_dims[0]) = (Element::B6x16P32, 256, 128);
        };
        let interleaved = |map: &mut TensorMap| {
            (map.rank, map.dims[2], map.box_dims[2], map.strides[2]) = (3, 4, 2, 4096);
            map.element_strides = [1; 5];
            (map.interleave, map.swizzle) = (Interleave::B32, Swizzle::B32);
        };
        assert_eq!(message(packed), "");
        assert_eq!(message(interleaved), "");
        let with = |base: &dyn Fn(&mut TensorMap), change: &dyn Fn(&mut TensorMap)| {
            message(|map| {
                base(map);
                change(map);
            })
        };
        assert!(with(&packed, &|map| map.dims[0] = 192).starts_with("`dims[0]` is 192: elements of this"));
        assert!(with(&packed, &|map| map.box_dims[0] = 64).contains("write 128 for `box[0]`"));
        assert!(with(&packed, &|map| map.address = 16).contains("multiple of 32"));
        assert!(with(&packed, &|map| map.swizzle = Swizzle::B32).contains("`swizzle=32B` with elements"));
        assert!(with(&interleaved, &|map| map.swizzle = Swizzle::None).contains("write `swizzle=32B`"));
        assert!(with(&interleaved, &|map| map.strides[2] = 48).contains("`strides[1]` is 48"));
        assert!(with(&interleaved, &|map| map.element_strides[0] = 0).contains("`element_strides[0]` is 0"));
    }

    #[test]
    fn each_rule_of_im2col_maps() {
        let im2col = Im2col { lower: [-1, -1, 0], upper: [-1, -1, 0], channels: 16, pixels: 64 };
        let check = |change: &dyn Fn(&mut TensorMap, &mut Im2col)| {
            message(|map| {
                let mut im2col = im2col;
                (map.rank, map.dims, map.strides) = (4, [16, 9, 14, 4, 0], [0, 64, 576, 8064, 0]);
                map.element_strides = [1; 5];
                change(map, &mut im2col);
                map.im2col = Some(im2col);
            })
        };
        assert_eq!(check(&|_, _| ()), "");
        assert!(check(&|map, _| map.rank = 2).contains("3 to 5 dimensions"));
        assert!(check(&|_, im2col| im2col.lower[1] = -129).contains("write -128 to 127 for `lower[1]`"));
        assert!(check(&|_, im2col| im2col.upper[0] = 128).contains("`upper[0]` is 128"));
        assert!(check(&|_, im2col| im2col.upper[0] = -10).contains("0 pixels in dimension 1"));
        assert!(check(&|_, im2col| im2col.channels = 257).contains("`channels` is 257"));
        assert!(check(&|_, im2col| im2col.pixels = 0).contains("write 1 to 1024 for `pixels`"));
        assert!(check(&|map, _| map.element_strides[3] = 0).contains("`element_strides[3]` is 0"));
    }
}
