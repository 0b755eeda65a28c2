//! Matrix instructions: all lanes of the warp together.

use super::access::Extent;
use super::meeting::Member;
use super::{Doing, Then, local};
use crate::machine::Machine;
use crate::machine::code::{Address, Dst, Matrix, Src};
use crate::machine::column::{Column, LANES, lanes};
use crate::machine::event::Touching;
use crate::machine::matrix::{self, MatrixMove, Mma};

/// Bytes of a row of a matrix.
const ROW: usize = 16;

impl Machine<'_> {
    pub(super) fn matrix(&mut self, doing: &Doing, matrix: &Matrix) -> Then {
        let Some(members) = self.meet_aligned(doing) else { return Then::Done };
        // All stand at one instruction: as one group.
        let whole = whole(doing, &members);
        self.note_meeting(whole.site(), false);
        match matrix {
            Matrix::Load(op, address, to) => self.load_matrix(&whole, *op, address, to),
            Matrix::Store(op, address, from) => self.store_matrix(&whole, *op, address, from),
            Matrix::Transpose(d, s) => {
                let (values, bits) = self.gather(&whole, *s);
                let result = (matrix::movmatrix(&values), matrix::movmatrix(&bits));
                self.set_all(&whole, *d, &result.0, &result.1);
            }
            Matrix::Multiply(op, d, a, b, c) => self.multiply(&whole, *op, d, [a, b, c]),
        }
        if self.stopped.is_some() { Then::Done } else { self.pass(doing, &members) }
    }

    /// The values of a source and their undefined bits.
    fn gather(&self, doing: &Doing, source: Src) -> (Column, Column) {
        let undefined = local::undefined_lanes(&self.warps[doing.warp].registers, &doing.frame, source);
        let mut bits = [0; LANES];
        for lane in lanes(undefined) {
            bits[lane] = self.undefined_bits(doing, source, lane);
        }
        (self.values(doing, source), bits)
    }

    fn set_all(&mut self, doing: &Doing, d: Dst, values: &Column, undefined: &Column) {
        let registers = &mut self.warps[doing.warp].registers;
        for lane in lanes(doing.lanes) {
            local::set_lane(registers, &doing.frame, lane, d, values[lane], undefined[lane]);
        }
    }

    /// The addresses of lanes that name no row do not count.
    fn load_matrix(&mut self, doing: &Doing, op: MatrixMove, address: &Address, to: &[Dst]) {
        let bases = self.bases(doing, address);
        let rows = op.rows();
        let naming = Doing { lanes: doing.lanes & row_lanes(rows), ..*doing };
        if !self.address_is_defined(&naming, address) {
            return;
        }
        let mut data = vec![[0u8; ROW]; rows];
        let mut unwritten = vec![[0u8; ROW]; rows];
        for lane in lanes(naming.lanes) {
            let place = self.checked(doing, address, lane, Extent::natural(bases[lane], ROW as u64), false);
            let Some(place) = place else { continue };
            for half in [0, 8] {
                let (value, undefined) = self.read(doing.warp, lane, place.moved(half), 8);
                data[lane][half..half + 8].copy_from_slice(&value.to_le_bytes());
                unwritten[lane][half..half + 8].copy_from_slice(&undefined.to_le_bytes());
            }
        }
        if self.stopped.is_some() {
            return;
        }
        self.note_access(doing, Touching::Read, None);
        let (values, bits) = (matrix::gather(op, &data), matrix::gather(op, &unwritten));
        for ((&d, values), bits) in to.iter().zip(&values).zip(&bits) {
            self.set_all(doing, d, values, bits);
        }
    }

    fn store_matrix(&mut self, doing: &Doing, op: MatrixMove, address: &Address, from: &[Src]) {
        let bases = self.bases(doing, address);
        let rows = op.rows();
        let naming = Doing { lanes: doing.lanes & row_lanes(rows), ..*doing };
        if !self.address_is_defined(&naming, address) {
            return;
        }
        let sources: Vec<(Column, Column)> = from.iter().map(|&source| self.gather(doing, source)).collect();
        let (values, bits): (Vec<Column>, Vec<Column>) = sources.into_iter().unzip();
        let (data, unwritten) = (matrix::scatter(op, &values), matrix::scatter(op, &bits));
        for lane in lanes(naming.lanes) {
            let place = self.checked(doing, address, lane, Extent::natural(bases[lane], ROW as u64), true);
            let Some(place) = place else { continue };
            for half in [0, 8] {
                let word = |row: &[u8; ROW]| {
                    let mut bytes = [0; 8];
                    bytes.copy_from_slice(&row[half..half + 8]);
                    u64::from_le_bytes(bytes)
                };
                let (value, undefined) = (word(&data[lane]), word(&unwritten[lane]));
                self.write(doing.warp, lane, place.moved(half), 8, value, undefined);
            }
        }
        self.note_access(doing, Touching::Write, None);
        self.memory_changed(doing);
    }

    fn multiply(&mut self, doing: &Doing, op: Mma, to: &[Dst], from: [&Vec<Src>; 3]) {
        let from = from.map(|sources| {
            let pairs: Vec<(Column, Column)> = sources.iter().map(|&s| self.gather(doing, s)).collect();
            pairs.into_iter().unzip::<Column, Column, Vec<Column>, Vec<Column>>()
        });
        let [a, b, c] = &from;
        let mut values = vec![[0; LANES]; to.len()];
        let mut bits = values.clone();
        matrix::mma(op, &a.0, &b.0, &c.0, &mut values);
        let any = from.iter().flat_map(|(_, bits)| bits).any(|column| column != &[0; LANES]);
        if any {
            matrix::shadow_mma(op, &a.1, &b.1, &c.1, &mut bits);
        }
        for ((&d, values), bits) in to.iter().zip(&values).zip(&bits) {
            self.set_all(doing, d, values, bits);
        }
    }
}

fn row_lanes(rows: usize) -> u32 {
    u32::MAX >> (32 - rows.clamp(1, 32))
}

/// The members of a meeting at one instruction as if they were one group.
fn whole(doing: &Doing, members: &[Member]) -> Doing {
    let lanes = members.iter().fold(0, |mask, member| mask | member.doing.lanes);
    Doing { lanes, ..*doing }
}
