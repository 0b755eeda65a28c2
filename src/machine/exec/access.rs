//! Loads, stores and atomics: from an address to a place, and what is done there.

use super::{Doing, Then, local};
use crate::diagnostic::Diagnostic;
use crate::machine::Machine;
use crate::machine::code::{Access, AccessKind, Address, Base, NONE, Space, Src};
use crate::machine::column::{Column, LANES, Mask, lanes};
use crate::machine::cta::Site;
use crate::machine::event::{Accessed, Event, Touch, Touching};
use crate::machine::finding::Fault;
use crate::machine::memory::Bytes;
use crate::machine::order::Order;
use crate::machine::rule::{self, RunRule};
use crate::machine::space::SHARED_WINDOW;
use crate::machine::words::count;

/// Where an address points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Place {
    /// Into a piece of global memory, at an offset.
    Global(usize, usize),
    /// Into the shared memory of a CTA, at an offset from its first byte.
    Shared(u32, usize),
    /// Into the lane's own memory.
    Local(usize),
    /// Into the kernel's parameters.
    Param(usize),
    /// Into constant memory.
    Const(usize),
}

impl Place {
    /// The place some bytes further.
    pub fn moved(self, bytes: usize) -> Place {
        match self {
            Place::Global(piece, offset) => Place::Global(piece, offset + bytes),
            Place::Shared(cta, offset) => Place::Shared(cta, offset + bytes),
            Place::Local(offset) => Place::Local(offset + bytes),
            Place::Param(offset) => Place::Param(offset + bytes),
            Place::Const(offset) => Place::Const(offset + bytes),
        }
    }
}

/// Why an address points nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// An address of the space is not a multiple of that.
    Misaligned(Space, u64, u64),
    /// Nothing is there.
    Outside(Space, u64),
    /// The CTA of that rank is not in the cluster.
    NoCta(u64),
    /// It lies in the shared memory of another CTA, which the instruction cannot reach.
    Foreign(u32),
    /// The CTA there has ended.
    Exited(u32),
}

/// A thread's local memory has so many bytes at most.
pub(super) const MOST_LOCAL: usize = 512 << 10;

impl Machine<'_> {
    /// The base of an address for each lane.
    pub(in crate::machine) fn bases(&self, doing: &Doing, address: &Address) -> Column {
        match address.base {
            Base::Source(source) => self.values(doing, source),
            Base::Frame => [doing.frame.local.into(); LANES],
            Base::Zero => [0; LANES],
        }
    }

    /// Whether the addresses of all lanes are defined; complains otherwise.
    pub(super) fn address_is_defined(&mut self, doing: &Doing, address: &Address) -> bool {
        match address.base {
            Base::Source(source) => self.is_defined(doing, source, "the address"),
            Base::Frame | Base::Zero => true,
        }
    }

    /// Where `size` bytes at `base` plus the address's offset are, as warp `warp` sees it.
    #[inline]
    pub(in crate::machine) fn place(
        &self,
        warp: usize,
        address: &Address,
        Extent { base, size, align }: Extent,
    ) -> Result<Place, Reach> {
        let mut at = base.wrapping_add(address.offset as u64);
        if address.space != Space::Generic && address.space != Space::Global && base <= u64::from(u32::MAX) {
            // Windows have addresses of 32 bits.
            at &= u64::from(u32::MAX);
        }
        let (space, offset) = match address.space {
            Space::Generic => self.image.windows.locate(at),
            space => (space, at),
        };
        if at & (align - 1) != 0 {
            return Err(Reach::Misaligned(space, offset, align));
        }
        let outside = Err(Reach::Outside(space, at));
        match space {
            Space::Global | Space::Generic => {
                self.global.find(at, size).map_or(outside, |(piece, offset)| Ok(Place::Global(piece, offset)))
            }
            Space::Shared | Space::Cluster => self.shared_place(warp, space, offset, size),
            Space::Local => {
                let end = offset.saturating_add(size);
                if end > MOST_LOCAL as u64 { outside } else { Ok(Place::Local(offset as usize)) }
            }
            Space::Param => {
                let inside = offset.saturating_add(size) <= self.parameters.len() as u64;
                if inside { Ok(Place::Param(offset as usize)) } else { outside }
            }
            Space::Const => {
                let inside = offset.saturating_add(size) <= self.image.constants.len() as u64;
                if inside { Ok(Place::Const(offset as usize)) } else { outside }
            }
        }
    }

    /// Where an address of the cluster's window is.
    pub(super) fn shared_place(
        &self,
        warp: usize,
        space: Space,
        address: u64,
        size: u64,
    ) -> Result<Place, Reach> {
        let own = self.warps[warp].cta;
        let (rank, offset) = (address / SHARED_WINDOW, address % SHARED_WINDOW);
        let cta = if rank == u64::from(self.ctas[own as usize].rank) {
            own
        } else {
            let cluster = &self.clusters[self.ctas[own as usize].cluster as usize];
            let cta = u64::from(cluster.ctas.start) + rank;
            if cta >= cluster.ctas.end.into() {
                return Err(if address < SHARED_WINDOW * 32 {
                    Reach::NoCta(rank)
                } else {
                    Reach::Outside(space, address)
                });
            }
            if space == Space::Shared {
                return Err(Reach::Foreign(cta as u32));
            }
            cta as u32
        };
        if self.ctas[cta as usize].live_warps == 0 {
            return Err(Reach::Exited(cta));
        }
        let start = self.shared_start();
        let inside = offset >= start && (offset - start).saturating_add(size) <= self.shape.shared;
        if inside {
            return Ok(Place::Shared(cta, (offset - start) as usize));
        }
        let lent = self.lent();
        if offset >= lent.start && offset.saturating_add(size) <= lent.end {
            return Ok(Place::Shared(cta, (offset - lent.start) as usize + self.lent_offset()));
        }
        Err(Reach::Outside(Space::Shared, address))
    }

    /// The first address of shared memory that a kernel can use.
    pub fn shared_start(&self) -> u64 {
        self.code.shared.as_ref().map_or(0, |region| region.start)
    }

    /// Reports an address that points nowhere.
    pub(super) fn out_of_reach(
        &mut self,
        doing: &Doing,
        lane: usize,
        reach: Reach,
        size: u64,
        rules: [&'static RunRule; 2],
    ) {
        let site = Site { lanes: 1 << lane, ..doing.site() };
        let [misaligned, outside] = rules;
        match reach {
            Reach::Misaligned(space, address, align) => {
                let message = format!("the address {address:#x} is not a multiple of {align}");
                self.wrong(site, misaligned, Some(Fault::MisalignedAddress), message, |machine, d| {
                    machine.nearest(d, space, address)
                });
            }
            Reach::Outside(space, address) => self.outside(site, space, address, size, outside),
            Reach::NoCta(rank) => {
                let message = format!("the cluster has no CTA of rank {rank}");
                let size = self.shape.cluster_size();
                self.wrong(site, &rule::MULTICAST_RANK, Some(Fault::LaunchFailed), message, |_, d| {
                    d.note(format!("the cluster has {}, counted from rank 0", count(size.into(), "CTA")))
                });
            }
            Reach::Foreign(cta) => {
                let message = format!(
                    "this instruction reaches shared memory of its own CTA only, not of {}",
                    self.cta_name(cta)
                );
                let rule = if std::ptr::eq(outside, &rule::OUT_OF_BOUNDS) {
                    outside
                } else {
                    &rule::FOREIGN_BARRIER
                };
                self.wrong(site, rule, Some(Fault::IllegalInstruction), message, |_, d| {
                    d.help("spell `.shared::cluster`, where the instruction has it, to reach the other CTAs of the cluster")
                });
            }
            Reach::Exited(cta) => {
                let message = format!("{} has ended: its shared memory is gone", self.cta_name(cta));
                self.wrong(site, &rule::EXITED_TARGET, None, message, |machine, d| {
                    let exit = machine.ctas[cta as usize].last_exit;
                    let d = match exit {
                        Some(exit) => machine.also(d, exit, "left here"),
                        None => d,
                    };
                    d.help("let the cluster synchronise after the last remote access, before any of its CTAs ends")
                });
            }
        }
    }

    fn outside(&mut self, site: Site, space: Space, address: u64, size: u64, rule: &'static RunRule) {
        let what = match space {
            Space::Global | Space::Generic => "every argument and variable",
            Space::Shared | Space::Cluster => "the shared memory of the CTA",
            Space::Local => "the thread's local memory",
            Space::Param => "the parameters",
            Space::Const => "constant memory",
        };
        let message = format!("{size} bytes at {address:#x} lie outside of {what}");
        // Beyond a buffer the chip often finds other memory; far away it finds nothing.
        let mapped = match space {
            Space::Global | Space::Generic => self.global.is_mapped(address),
            Space::Param | Space::Const => true,
            Space::Shared | Space::Cluster | Space::Local => false,
        };
        let fault = (!mapped).then_some(Fault::IllegalAddress);
        self.wrong(site, rule, fault, message, |machine, d| machine.nearest(d, space, address));
    }

    /// Says what lies near an address.
    pub(super) fn nearest(&self, diagnostic: Diagnostic, space: Space, address: u64) -> Diagnostic {
        match space {
            Space::Global | Space::Generic => match self.global.nearest(address) {
                Some((piece, offset)) => {
                    let name = self.piece_name(piece.what);
                    let bytes = count(piece.bytes.len() as u64, "byte");
                    diagnostic.note(format!("{name} has {bytes}; this is byte {offset} of it"))
                }
                None => diagnostic.note("nothing is near that address".to_string()),
            },
            Space::Shared | Space::Cluster => {
                let start = self.shared_start();
                let end = start + self.shape.shared;
                let near = self.shared_name(address as u32);
                diagnostic
                    .note(format!("this is {near}; the CTA has shared memory from {start:#x} to {end:#x}"))
            }
            Space::Local | Space::Param | Space::Const => diagnostic,
        }
    }

    pub(in crate::machine) fn piece_name(&self, what: crate::machine::global::What) -> String {
        match what {
            crate::machine::global::What::Argument(index) => {
                let name = self.buffers.get(index as usize).map_or("", |buffer| &buffer.name);
                format!("argument `{name}`")
            }
            crate::machine::global::What::Variable(variable) => self.variable_name(variable, 0),
            crate::machine::global::What::Heap => "memory that the kernel has allocated".to_string(),
            crate::machine::global::What::Freed => "memory that the kernel has freed".to_string(),
        }
    }

    /// The memory of a place, and the offset in it. Local memory grows as it is needed.
    pub(super) fn bytes_mut(
        &mut self,
        warp: usize,
        lane: usize,
        place: Place,
        size: usize,
    ) -> Option<(&mut Bytes, usize)> {
        match place {
            Place::Global(piece, offset) => Some((&mut self.global.piece_mut(piece).bytes, offset)),
            Place::Shared(cta, offset) => Some((&mut self.ctas[cta as usize].shared, offset)),
            Place::Local(offset) => {
                let locals = &mut self.warps[warp].locals;
                if locals.is_empty() {
                    locals.resize(LANES, Bytes::default());
                }
                locals[lane].grow(offset + size);
                Some((&mut locals[lane], offset))
            }
            Place::Param(_) | Place::Const(_) => None,
        }
    }

    /// Up to 8 bytes at a place, and the mask of their undefined bits.
    pub(super) fn read(&self, warp: usize, lane: usize, place: Place, size: usize) -> (u64, u64) {
        let plain = |bytes: &[u8], offset: usize| {
            let mut value = [0; 8];
            value[..size].copy_from_slice(&bytes[offset..offset + size]);
            (u64::from_le_bytes(value), 0)
        };
        match place {
            Place::Global(piece, offset) => self.global.piece(piece).bytes.load(offset, size),
            Place::Shared(cta, offset) => self.ctas[cta as usize].shared.load(offset, size),
            Place::Local(offset) => match self.warps[warp].locals.get(lane) {
                Some(bytes) if offset + size <= bytes.len() => bytes.load(offset, size),
                // What was never touched was never written.
                _ => (0, u64::MAX >> (64 - 8 * size)),
            },
            Place::Param(offset) => plain(&self.parameters, offset),
            Place::Const(offset) => plain(&self.image.constants, offset),
        }
    }

    /// Writes up to 8 bytes at a place that can be written.
    pub(super) fn write(
        &mut self,
        warp: usize,
        lane: usize,
        place: Place,
        size: usize,
        value: u64,
        undefined: u64,
    ) {
        if let Some((bytes, offset)) = self.bytes_mut(warp, lane, place, size) {
            bytes.store(offset, size, value, undefined);
        }
    }

    pub(super) fn access(&mut self, doing: &Doing, access: &Access) -> Then {
        if !self.address_is_defined(doing, &access.address) {
            return Then::Done;
        }
        match access.kind {
            AccessKind::Load => self.load(doing, access),
            AccessKind::Store => self.store(doing, access),
            AccessKind::Update(update) => self.update(doing, access, update),
            AccessKind::Fill => self.fill(doing, access),
        }
        let kind = match access.kind {
            AccessKind::Load => Touching::Read,
            AccessKind::Store | AccessKind::Fill => Touching::Write,
            AccessKind::Update(update) => {
                let returns = access.to.iter().any(|to| to.column != NONE);
                Touching::Update { update, returns }
            }
        };
        self.note_access(doing, kind, access.order);
        if self.stopped.is_some() { Then::Done } else { Then::Next }
    }

    /// The place of a lane's access, after all checks. `None`: there is none, which has been reported.
    pub(super) fn checked(
        &mut self,
        doing: &Doing,
        address: &Address,
        lane: usize,
        extent: Extent,
        writes: bool,
    ) -> Option<Place> {
        let size = extent.size;
        let place = match self.place(doing.warp, address, extent) {
            Ok(place) => place,
            Err(reach) => {
                self.out_of_reach(doing, lane, reach, size, [&rule::MISALIGNED, &rule::OUT_OF_BOUNDS]);
                return None;
            }
        };
        match place {
            Place::Shared(cta, offset) => {
                if let Some(object) = self.ctas[cta as usize].object_at(offset, size as usize) {
                    let site = Site { lanes: 1 << lane, ..doing.site() };
                    let does =
                        if writes { "an ordinary access writes to" } else { "an ordinary access reads" };
                    self.takes_for_data(site, cta, object, does);
                }
            }
            Place::Param(_) | Place::Const(_) if writes => {
                let site = Site { lanes: 1 << lane, ..doing.site() };
                let message = match place {
                    Place::Const(_) => "constant memory cannot be written",
                    _ => "the parameters of a kernel cannot be written",
                };
                let message = message.to_string();
                self.wrong(site, &rule::READ_ONLY, Some(Fault::IllegalAddress), message, |_, d| d);
                return None;
            }
            _ => {}
        }
        if self.options.events && matches!(place, Place::Shared(..) | Place::Global(..)) {
            self.touched.push(Touch { lane: lane as u8, place, size: size as u32, value: 0 });
        }
        self.stopped.is_none().then_some(place)
    }

    /// Puts down the access whose bytes [`Self::checked`] has found.
    pub(super) fn note_access(&mut self, doing: &Doing, kind: Touching, order: Option<Order>) {
        if self.touched.is_empty() {
            return;
        }
        let touches = std::mem::take(&mut self.touched);
        self.events.push(Event::Access(Box::new(Accessed { by: doing.site(), kind, order, touches })));
    }

    /// Puts down what lanes did whose comparison failed: they have only read.
    pub(super) fn note_in_vain(&mut self, doing: &Doing, order: Option<Order>, in_vain: Mask) {
        let (read, rest) = self.touched.iter().partition(|touch| in_vain >> touch.lane & 1 == 1);
        self.touched = read;
        self.note_access(&Doing { lanes: in_vain, ..*doing }, Touching::Read, order);
        self.touched = rest;
    }

    /// Complains about somebody who takes the barrier at an offset of a CTA's shared memory for data.
    pub(super) fn takes_for_data(&mut self, site: Site, cta: u32, offset: usize, does: &str) {
        let address = offset as u32 + self.shared_start() as u32;
        let message = format!("{does} the barrier {}", self.barrier_name(cta, address));
        self.wrong(site, &rule::PLAIN_ACCESS, None, message, |machine, d| {
            match machine.ctas[cta as usize].objects.get(&address) {
                Some(object) => machine.also(d, object.init, "made a barrier"),
                None => d,
            }
        });
    }

    fn load(&mut self, doing: &Doing, access: &Access) {
        let bases = self.bases(doing, &access.address);
        let size = usize::from(access.bytes);
        let total = (size * access.to.len()) as u64;
        for lane in lanes(doing.lanes) {
            let place =
                self.checked(doing, &access.address, lane, Extent::natural(bases[lane], total), false);
            if self.stopped.is_some() {
                return;
            }
            for (index, &to) in access.to.iter().enumerate() {
                // What lies outside reads as 0.
                let (value, undefined) = match place {
                    Some(place) => self.read(doing.warp, lane, place.moved(index * size), size),
                    None => (0, 0),
                };
                let registers = &mut self.warps[doing.warp].registers;
                local::set_lane(registers, &doing.frame, lane, to, value, undefined);
            }
        }
    }

    fn store(&mut self, doing: &Doing, access: &Access) {
        let bases = self.bases(doing, &access.address);
        let size = usize::from(access.bytes);
        let total = (size * access.from.len()) as u64;
        let columns: smallvec::SmallVec<[Column; 4]> =
            access.from.iter().map(|&source| self.values(doing, source)).collect();
        let mut unset: Mask = 0;
        for lane in lanes(doing.lanes) {
            let place = self.checked(doing, &access.address, lane, Extent::natural(bases[lane], total), true);
            if self.stopped.is_some() {
                return;
            }
            let Some(place) = place else { continue };
            let mut defined = false;
            for (index, (&source, column)) in access.from.iter().zip(&columns).enumerate() {
                let undefined = self.undefined_bits(doing, source, lane) & (u64::MAX >> (64 - 8 * size));
                defined |= undefined != u64::MAX >> (64 - 8 * size);
                self.write(doing.warp, lane, place.moved(index * size), size, column[lane], undefined);
            }
            if let Some(touch) = self.touched.last_mut() {
                let mask = u64::MAX >> (64 - 8 * size);
                touch.value =
                    columns.iter().fold(0, |all: u64, column| all.rotate_left(21) ^ column[lane] & mask);
            }
            if !defined && matches!(place, Place::Global(..)) {
                unset |= 1 << lane;
            }
        }
        self.memory_changed(doing);
        if unset != 0 {
            let name = match access.from.as_slice() {
                [only] => self.register_name(doing.pc, only.source()),
                _ => String::new(),
            };
            self.all_defined(doing, unset, &format!("what {name}brings to global memory"));
        }
    }

    pub(super) fn undefined_bits(&self, doing: &Doing, source: Src, lane: usize) -> u64 {
        let registers = &self.warps[doing.warp].registers;
        if local::undefined_lanes(registers, &doing.frame, source) >> lane & 1 == 0 {
            return 0;
        }
        local::undefined_bits(registers, &doing.frame, source, lane)
    }

    /// Notes that others may see something new.
    pub(super) fn memory_changed(&mut self, doing: &Doing) {
        self.epoch += 1;
        self.warps[doing.warp].groups[doing.group].had_effect();
    }

    fn fill(&mut self, doing: &Doing, access: &Access) {
        if !self.is_defined(doing, access.from[0], "the size") {
            return;
        }
        let bases = self.bases(doing, &access.address);
        let sizes = self.values(doing, access.from[0]);
        for lane in lanes(doing.lanes) {
            let size = sizes[lane];
            let site = Site { lanes: 1 << lane, ..doing.site() };
            if !size.is_multiple_of(8) || size > 16_777_216 {
                let message =
                    format!("{size} bytes are filled: the size is a multiple of 8, at most 16777216");
                self.wrong(site, &rule::BULK_SIZE, None, message, |_, d| d);
            }
            let size = size / 8 * 8;
            let place = self.checked(
                doing,
                &access.address,
                lane,
                Extent { base: bases[lane], size, align: 8 },
                true,
            );
            let Some(place) = place.filter(|_| self.stopped.is_none()) else { continue };
            for at in (0..size as usize).step_by(8) {
                self.write(doing.warp, lane, place.moved(at), 8, 0, 0);
            }
        }
        self.memory_changed(doing);
    }
}

/// What an access touches: `size` bytes from `base` and its address's offset on, a multiple of `align`.
#[derive(Clone, Copy)]
pub(in crate::machine) struct Extent {
    pub(in crate::machine) base: u64,
    pub(in crate::machine) size: u64,
    pub(in crate::machine) align: u64,
}

impl Extent {
    /// Bytes that are aligned to their number.
    pub(super) fn natural(base: u64, size: u64) -> Extent {
        Extent { base, size, align: size }
    }
}

const _: () = assert!(NONE == u32::MAX);
