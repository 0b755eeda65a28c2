//! The pixels that an im2col copy visits (PTX ISA §5.5.4, §5.5.5).
//!
//! The base of the filter walks through the bounding box, W first, then H and D, then on to the next image;
//! at an upper bound it goes back to the lower one. The offsets select the filter's tap: they shift base and
//! box alike.

use super::tile::{Mode, Walk};
use super::{BoxFault, Im2col, MAX_RANK, Swizzle, TensorMap, Unsupported};

/// The dimension that the modes of one line walk along, W.
const W: usize = 1;

impl TensorMap {
    /// The pixels that a copy in an im2col mode visits, in order.
    pub(super) fn pixels(&self, im2col: &Im2col, coords: &[i32], mode: Mode) -> Result<Walk, BoxFault> {
        let mut walk = Walk::at(coords, self.steps());
        walk.left = self.pixel_count(im2col, mode)?;
        let in_line = is_line(mode);
        for dimension in self.spatial_dimensions() {
            if in_line && dimension != W {
                continue; // Stays where it is.
            }
            let size = i64::try_from(self.dims[dimension]).unwrap_or(i64::MAX);
            let lower = i64::from(im2col.lower[dimension - 1]);
            let upper = (size - 1).saturating_add(i64::from(im2col.upper[dimension - 1]));
            let at = walk.at[dimension];
            // A line may start to the left of its box.
            if at > upper || (at < lower && !in_line) {
                let coordinate = coords.get(dimension).copied().unwrap_or(0);
                return Err(BoxFault::OutsideBoundingBox { dimension, coordinate, lower, upper });
            }
            (walk.lower[dimension], walk.upper[dimension]) = (lower, upper);
        }
        walk.upper[usize::from(self.rank) - 1] = i64::MAX;
        walk.shift(self.offsets(mode)?);
        Ok(walk)
    }

    /// How many pixels a copy moves.
    pub(super) fn pixel_count(&self, im2col: &Im2col, mode: Mode) -> Result<u32, BoxFault> {
        match mode {
            Mode::Im2colW { halo: 1.., .. } | Mode::Im2colW128 { halo: 1.., .. } => {
                Err(Unsupported::Halo.into())
            }
            Mode::Im2colW128 { .. } => Ok(128),
            _ => Ok(im2col.pixels),
        }
    }

    /// How far base and box are shifted, by dimension.
    fn offsets(&self, mode: Mode) -> Result<[i64; MAX_RANK], BoxFault> {
        let mut shift = [0; MAX_RANK];
        match mode {
            Mode::Im2col { offsets } => {
                let greatest = match self.rank {
                    3 => u16::MAX,
                    4 => 255,
                    _ => 31,
                };
                for dimension in self.spatial_dimensions() {
                    shift[dimension] = within(offsets[dimension - 1], greatest)?;
                }
            }
            Mode::Im2colW { offset, .. } | Mode::Im2colW128 { offset, .. } => shift[W] = within(offset, 31)?,
            _ => (),
        }
        Ok(shift)
    }

    /// Checks what the im2col modes ask of the map beyond the rules for every map.
    pub(super) fn check_line(&self, mode: Mode) -> Result<(), BoxFault> {
        if is_line(mode) && self.swizzle == Swizzle::None {
            return Err(BoxFault::NoSwizzle);
        }
        Ok(())
    }

    /// Checks that a store stays within the tensor where the manual asks for it.
    pub(super) fn check_store_corners(&self, im2col: &Im2col) -> Result<(), BoxFault> {
        let outside = |&dimension: &usize| im2col.lower[dimension - 1] < 0 || im2col.upper[dimension - 1] > 0;
        match self.spatial_dimensions().find(outside) {
            Some(dimension) => Err(BoxFault::StoreOutside { dimension }),
            None => Ok(()),
        }
    }
}

/// Whether the mode stays in one line of each image.
fn is_line(mode: Mode) -> bool {
    matches!(mode, Mode::Im2colW { .. } | Mode::Im2colW128 { .. } | Mode::Im2colNoOffsetsW)
}

fn within(offset: u16, greatest: u16) -> Result<i64, BoxFault> {
    if offset <= greatest { Ok(i64::from(offset)) } else { Err(BoxFault::Offset { offset, greatest }) }
}
