//! Tensor copies, and instructions that change tensor maps.

use super::access::Extent;
use super::{Doing, Place, Then};
use crate::machine::Machine;
use crate::machine::code::{self, Address, Family, Number, Src, TensorMapOp, Update, UpdateOp};
use crate::machine::column::{Column, lanes};
use crate::machine::copy::{From, Part};
use crate::machine::cta::Site;
use crate::machine::event::{Event, Touching};
use crate::machine::finding::{Fault, Outcome};
use crate::machine::memory::Chunk;
use crate::machine::order::{Fence, ProxyFence};
use crate::machine::rule;
use crate::machine::tensor::{BoxFault, Direction, Element, MAP_BYTES, Mode, ReplaceError, TensorMap};

/// The extent of a tensor map.
fn map_at(base: u64) -> Extent {
    Extent { base, size: MAP_BYTES as u64, align: 64 }
}

impl Machine<'_> {
    pub(super) fn start_tensor(
        &mut self,
        doing: &Doing,
        copy: &code::Copy,
        map: &Address,
        coords: &[Src],
        offsets: &[Src],
        mode: code::TensorMode,
    ) {
        if !self.address_is_defined(doing, map) {
            return;
        }
        for &coordinate in coords.iter().chain(offsets) {
            if !self.is_defined(doing, coordinate, "the coordinate") {
                return;
            }
        }
        let coords: Vec<Column> = coords.iter().map(|&c| self.values(doing, c)).collect();
        let offsets: Vec<Column> = offsets.iter().map(|&o| self.values(doing, o)).collect();
        let (maps, shared) = (self.bases(doing, map), self.bases(doing, &copy.to));
        for lane in lanes(doing.lanes) {
            let Some(tensor) = self.map_at(doing, lane, map, maps[lane]) else { return };
            let coords: Vec<i32> = coords.iter().map(|column| column[lane] as i32).collect();
            let offset = |n: usize| offsets.get(n).map_or(0, |column| column[lane] as u16);
            let mode = match mode {
                code::TensorMode::Tile => Mode::Tile,
                code::TensorMode::Gather4 => Mode::Gather4,
                code::TensorMode::Scatter4 => Mode::Scatter4,
                code::TensorMode::Im2col => Mode::Im2col { offsets: [offset(0), offset(1), offset(2)] },
                code::TensorMode::Im2colW => Mode::Im2colW { halo: offset(0), offset: offset(1) },
                code::TensorMode::Im2colW128 => Mode::Im2colW128 { halo: offset(0), offset: offset(1) },
                code::TensorMode::Im2colNoOffsets => Mode::Im2colNoOffsets,
                code::TensorMode::Im2colNoOffsetsW => Mode::Im2colNoOffsetsW,
            };
            self.start_box(doing, copy, lane, &tensor, &coords, mode, shared[lane]);
            if self.stopped.is_some() {
                return;
            }
        }
    }

    /// The tensor map at a generic address.
    fn map_at(&mut self, doing: &Doing, lane: usize, address: &Address, base: u64) -> Option<TensorMap> {
        let site = Site { lanes: 1 << lane, ..doing.site() };
        let place = match self.place(doing.warp, address, map_at(base)) {
            Ok(place) => place,
            Err(reach) => {
                let rules = [&rule::MISALIGNED, &rule::OUT_OF_BOUNDS];
                self.out_of_reach(doing, lane, reach, MAP_BYTES as u64, rules);
                return None;
            }
        };
        let map = TensorMap::decode(&self.map_bytes(place));
        if map.is_none() {
            let message = "these 128 bytes are no tensor map".to_string();
            self.wrong(site, &rule::TENSOR_MAP, Some(Fault::IllegalInstruction), message, |_, d| {
                d.help("describe it in the launch (`// mbar: tensormap NAME = …`), and pass its address")
            });
        }
        map
    }

    /// Where the tensor map of a copy is.
    fn map_place(&self, doing: &Doing, copy: &code::Copy, lane: usize) -> Option<Place> {
        let code::What::Tensor { map, .. } = &copy.what else { return None };
        self.place(doing.warp, map, map_at(self.bases(doing, map)[lane])).ok()
    }

    fn map_bytes(&self, place: Place) -> [u8; MAP_BYTES] {
        let mut bytes = [0; MAP_BYTES];
        for (index, chunk) in bytes.chunks_mut(16).enumerate() {
            chunk.copy_from_slice(&self.read_chunk(place.moved(16 * index), 16).data);
        }
        bytes
    }

    #[allow(clippy::too_many_arguments, reason = "an instruction and a box")]
    fn start_box(
        &mut self,
        doing: &Doing,
        copy: &code::Copy,
        lane: usize,
        map: &TensorMap,
        coords: &[i32],
        mode: Mode,
        shared: u64,
    ) {
        let direction = match (&copy.barrier, &copy.update) {
            (Some(_), _) => Direction::Load,
            (None, None) => Direction::Store,
            (None, Some(_)) => Direction::Reduce,
        };
        let sizes = || Ok((map.transaction_bytes(mode)?, map.shared_bytes(mode)?));
        let boxed = map.tile(coords, mode, direction).and_then(|tile| sizes().map(|sizes| (tile, sizes)));
        let (tile, (bytes, extent)) = match boxed {
            Ok(boxed) => boxed,
            Err(fault) => return self.box_fault(doing, lane, fault),
        };
        let rules = [&rule::BULK_ALIGNMENT, &rule::OUT_OF_BOUNDS];
        let place = match self.place(doing.warp, &copy.to, Extent { base: shared, size: extent, align: 128 })
        {
            Ok(place @ Place::Shared(..)) => place,
            Ok(_) => return,
            Err(reach) => return self.out_of_reach(doing, lane, reach, extent, rules),
        };
        let Some(update) = self.tensor_update(copy.update, map.element) else {
            return self.box_fault(doing, lane, BoxFault::OtherDirection);
        };
        let targets = self.targets(doing, copy, lane, place, bytes as u32);
        if self.stopped.is_some() {
            return;
        }
        let pieces: Vec<_> = tile.collect();
        let map_place = self.map_place(doing, copy, lane);
        for (place, signal) in targets {
            let family = if signal.is_none() { Some(Family::Bulk) } else { None };
            let mut started = self.new_copy(doing, 1 << lane, family);
            (started.signal, started.update, started.map) = (signal, update, map_place);
            started.element = (direction == Direction::Load).then_some(map.element);
            for piece in &pieces {
                let Some(part) = self.box_part(doing, lane, map, place, piece, direction) else { return };
                started.parts.push(part);
            }
            self.add_copy(started);
        }
    }

    fn box_part(
        &mut self,
        doing: &Doing,
        lane: usize,
        map: &TensorMap,
        place: Place,
        piece: &crate::machine::tensor::Piece,
        direction: Direction,
    ) -> Option<Part> {
        let Place::Shared(cta, offset) = place else { return None };
        let start = self.shared_start() as u32;
        let at = map.swizzled(start + offset as u32, piece.shared) - start;
        let shared = Place::Shared(cta, at as usize);
        let size = piece.bytes as u8;
        let global = match piece.global {
            None => {
                let mut chunk = Chunk::zeros(piece.bytes as usize);
                map.fill.write(&mut chunk.data[..piece.bytes as usize]);
                return Some(Part::new(lane, size, From::Data(chunk), shared));
            }
            Some(address) => match self.global.find(address, piece.bytes.into()) {
                Some((piece, offset)) => Place::Global(piece, offset),
                None => {
                    let reach = super::access::Reach::Outside(code::Space::Global, address);
                    let rules = [&rule::BULK_ALIGNMENT, &rule::OUT_OF_BOUNDS];
                    self.out_of_reach(doing, lane, reach, piece.bytes.into(), rules);
                    return None;
                }
            },
        };
        Some(match direction {
            Direction::Load => Part::new(lane, size, From::Memory(global), shared),
            Direction::Store | Direction::Reduce => Part::new(lane, size, From::Memory(shared), global),
        })
    }

    /// A reduction of elements of the map's type; `None` when there is no such reduction.
    fn tensor_update(&self, update: Option<Update>, element: Element) -> Option<Option<Update>> {
        let Some(update) = update else { return Some(None) };
        let ty = match element {
            Element::U8 | Element::U16 => return None,
            Element::U32 | Element::U64 => Number::Unsigned,
            Element::S32 | Element::S64 => Number::Signed,
            Element::F16 => Number::F16,
            Element::Bf16 => Number::Bf16,
            Element::F32 | Element::F32Ftz => Number::F32,
            _ => return None,
        };
        // Bitwise operations take the elements as bits.
        let bits = matches!(update.op, UpdateOp::And | UpdateOp::Or | UpdateOp::Xor);
        let ty = if bits { Number::Unsigned } else { ty };
        Some(Some(Update { op: update.op, ty, bytes: (element.bits() / 8) as u8 }))
    }

    fn box_fault(&mut self, doing: &Doing, lane: usize, fault: BoxFault) {
        let site = Site { lanes: 1 << lane, ..doing.site() };
        if let BoxFault::Unsupported(_) = fault {
            let message = fault.to_string();
            self.found(site, &rule::UNSUPPORTED, message, |_, d| d);
            self.stopped = Some(Outcome::Unsupported);
            return;
        }
        let stops = fault.is_illegal_instruction().then_some(Fault::IllegalInstruction);
        self.wrong(site, &rule::TENSOR_MAP, stops, fault.to_string(), |_, d| d);
    }

    pub(super) fn tensor_map(&mut self, doing: &Doing, op: &TensorMapOp) -> Then {
        match op {
            TensorMapOp::Replace(address, field, dimension, value) => {
                let all_defined = self.address_is_defined(doing, address)
                    && self.is_defined(doing, *value, "the new value");
                if !all_defined {
                    return Then::Done;
                }
                let (bases, values) = (self.bases(doing, address), self.values(doing, *value));
                for lane in lanes(doing.lanes) {
                    let place = self.checked(doing, address, lane, map_at(bases[lane]), true);
                    let Some(place) = place else { continue };
                    let mut bytes = self.map_bytes(place);
                    match TensorMap::replace(&mut bytes, *field, *dimension, values[lane]) {
                        Ok(()) => self.write_map(doing, lane, place, &bytes),
                        Err(error) => self.replace_error(doing, lane, error),
                    }
                }
                self.note_access(doing, Touching::Write, None);
            }
            TensorMapOp::Copy(to, from) => {
                let Some(members) =
                    self.meet(doing, super::super::warp::Meeting::Aligned(doing.pc), u32::MAX)
                else {
                    return Then::Done;
                };
                self.copy_map(doing, to, from);
                if self.stopped.is_some() {
                    return Then::Done;
                }
                return self.pass(doing, &members);
            }
        }
        self.memory_changed(doing);
        if self.stopped.is_some() { Then::Done } else { Then::Next }
    }

    /// One copy for the whole warp.
    fn copy_map(&mut self, doing: &Doing, to: &Address, from: &Address) {
        let lane = doing.lanes.trailing_zeros() as usize % 32;
        let (to_base, from_base) = (self.bases(doing, to)[lane], self.bases(doing, from)[lane]);
        let from = self.checked(doing, from, lane, map_at(from_base), false);
        self.note_access(doing, Touching::Read, None);
        let to = self.checked(doing, to, lane, map_at(to_base), true);
        self.note_access(doing, Touching::Write, None);
        let (Some(to), Some(from)) = (to, from) else { return };
        let bytes = self.map_bytes(from);
        self.write_map(doing, lane, to, &bytes);
        self.memory_changed(doing);
        if self.options.events {
            let fence = Fence { proxy: Some(ProxyFence::MapRelease), ..Fence::default() };
            self.events.push(Event::Fence { by: doing.site(), fence });
        }
    }

    fn write_map(&mut self, doing: &Doing, lane: usize, place: Place, bytes: &[u8; MAP_BYTES]) {
        for (index, part) in bytes.chunks(8).enumerate() {
            let mut value = [0; 8];
            value.copy_from_slice(part);
            self.write(doing.warp, lane, place.moved(8 * index), 8, u64::from_le_bytes(value), 0);
        }
    }

    fn replace_error(&mut self, doing: &Doing, lane: usize, error: ReplaceError) {
        let site = Site { lanes: 1 << lane, ..doing.site() };
        self.wrong(site, &rule::TENSOR_MAP, None, error.to_string(), |_, d| d);
    }
}
