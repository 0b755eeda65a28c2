//! Asynchronous copies: started by an instruction, landing later part by part.

use super::access::{Extent, Reach};
use super::barrier::BARRIER_RULES;
use super::update::combine;
use super::{Doing, Place, Then, local};
use crate::machine::Machine;
use crate::machine::code::{self, Address, Dst, Family, NONE, Op, Space, Src, What};
use crate::machine::column::{Column, LANES, Mask, lanes};
use crate::machine::copy::{Copy, From, Part, Signal};
use crate::machine::cta::Site;
use crate::machine::event::{Event, Started};
use crate::machine::finding::Fault;
use crate::machine::memory::Chunk;
use crate::machine::rule::{self, RunRule};
use crate::machine::warp::State;

/// A copy has parts of so many bytes.
pub(super) const PART: usize = 16;

/// So many parts are under way at most; what is beyond lands early, which is always allowed.
const MOST_PARTS: usize = 1 << 20;

const BULK_RULES: [&RunRule; 2] = [&rule::BULK_ALIGNMENT, &rule::OUT_OF_BOUNDS];
const SMALL_RULES: [&RunRule; 2] = [&rule::MISALIGNED_COPY, &rule::OUT_OF_BOUNDS];

impl Machine<'_> {
    pub(super) fn start_copy(&mut self, doing: &Doing, copy: &code::Copy) -> Then {
        let addresses = [Some(copy.to), Some(copy.from), copy.barrier];
        if !addresses.iter().flatten().all(|address| self.address_is_defined(doing, address)) {
            return Then::Done;
        }
        let operands = [(copy.size, "the size"), (copy.mask, "the CTA mask")];
        for (source, what) in operands {
            if let Some(source) = source
                && !self.is_defined(doing, source, what)
            {
                return Then::Done;
            }
        }
        match &copy.what {
            What::Bytes { source_size, ignore } if copy.family == Family::Small => {
                self.start_small(doing, copy, *source_size, *ignore);
            }
            What::Tensor { map, coords, offsets, mode } => {
                self.start_tensor(doing, copy, map, coords, offsets, *mode);
            }
            What::Values(values, bytes) => self.start_store(doing, copy, values, *bytes),
            What::Cancel(all) => self.start_cancel(doing, copy, *all),
            What::Bytes { .. } | What::Within(..) | What::Masked(_) => self.start_bulk(doing, copy),
        }
        if self.stopped.is_some() {
            return Then::Done;
        }
        self.warps[doing.warp].groups[doing.group].had_effect();
        Then::Next
    }

    /// Adds a copy, and lets old ones land when there are too many.
    pub(super) fn add_copy(&mut self, copy: Copy) {
        self.keep_off_barriers(&copy);
        if self.stopped.is_some() {
            return;
        }
        self.statistics.copies += 1;
        self.statistics.copied_bytes += copy.parts.iter().map(|part| u64::from(part.size)).sum::<u64>();
        while self.copies.parts() > MOST_PARTS && self.stopped.is_none() {
            self.land(0, 0);
        }
        if self.copies.is_empty() {
            (self.stall.landed, self.stall.failed) = (self.time, 0);
        }
        let is_empty = copy.parts.is_empty();
        let started = self.options.events.then(|| self.started(&copy));
        let id = self.copies.start(copy);
        self.events.extend(started.map(|started| Event::Start(Box::new(Started { copy: id, ..started }))));
        if is_empty && let Some(done) = self.copies.take(self.copies.list.len() - 1) {
            self.signal(&done);
        }
    }

    /// The event of a copy that is about to start.
    fn started(&self, copy: &Copy) -> Started {
        let (reads, writes) = Started::touches(&copy.parts);
        let (is_async_proxy, order) = match &self.code.insts[copy.site.pc as usize].op {
            Op::Copy(op) => {
                let generic = op.family == Family::Small || matches!(op.what, What::Values(..));
                (!generic, op.order)
            }
            _ => (true, None),
        };
        Started {
            copy: 0,
            by: copy.site,
            reads,
            writes,
            map: copy.map,
            signal: copy.signal.map(|signal| (signal, self.object_now(signal.cta, signal.address))),
            family: copy.family,
            is_async_proxy,
            update: copy.update,
            order,
        }
    }

    pub(super) fn new_copy(&self, doing: &Doing, lanes: Mask, family: Option<Family>) -> Copy {
        Copy {
            id: 0,
            site: Site { lanes, ..doing.site() },
            parts: Vec::new(),
            signal: None,
            family,
            groups: Box::new([NONE; LANES]),
            update: None,
            element: None,
            map: None,
        }
    }

    /// Copies of 4, 8 or 16 bytes, one for each lane.
    fn start_small(
        &mut self,
        doing: &Doing,
        copy: &code::Copy,
        source_size: Option<Src>,
        ignore: code::Pred,
    ) {
        if let Some(size) = source_size
            && !self.is_defined(doing, size, "the source size")
        {
            return;
        }
        let (ignored, undefined) = local::predicate(&self.warps[doing.warp].registers, &doing.frame, ignore);
        if !self.all_defined(doing, undefined & doing.lanes, "the predicate that ignores the source") {
            return;
        }
        let sizes = source_size.map(|size| self.values(doing, size));
        let (to, from) = (self.bases(doing, &copy.to), self.bases(doing, &copy.from));
        let size = copy.align;
        let mut started = self.new_copy(doing, doing.lanes, Some(Family::Small));
        for lane in lanes(doing.lanes) {
            let ignored = ignored >> lane & 1 == 1;
            let source = if ignored { 0 } else { sizes.map_or(size.into(), |sizes| sizes[lane] as u32) };
            let source = self.source_size(doing, lane, source, size);
            let place =
                self.copy_place(doing, lane, &copy.to, Extent::natural(to[lane], size.into()), SMALL_RULES);
            let extent = Extent { base: from[lane], size: source.into(), align: size.into() };
            // Nothing is asked of a source of no bytes.
            let from = match source {
                0 => None,
                _ => self.copy_place(doing, lane, &copy.from, extent, SMALL_RULES),
            };
            if self.stopped.is_some() {
                return;
            }
            let Some(place) = place else { continue };
            let from = from.map_or(From::Data(Chunk::zeros(size.into())), From::Memory);
            started.parts.push(Part { len: source, ..Part::new(lane, size, from, place) });
        }
        self.add_copy(started);
    }

    /// How many bytes come from the source.
    fn source_size(&mut self, doing: &Doing, lane: usize, source: u32, size: u8) -> u8 {
        if source <= size.into() {
            return source as u8;
        }
        let site = Site { lanes: 1 << lane, ..doing.site() };
        let message = format!("{source} source bytes for a copy of {size}");
        // The chip wants whole copies then.
        let fault = (!source.is_multiple_of(size.into())).then_some(Fault::MisalignedAddress);
        self.wrong(site, &rule::SOURCE_SIZE, fault, message, |_, d| {
            d.help("pass at most the size of the copy")
        });
        size
    }

    /// Where a copy reads or writes. `None`: nowhere, which has been reported.
    fn copy_place(
        &mut self,
        doing: &Doing,
        lane: usize,
        address: &Address,
        extent: Extent,
        rules: [&'static RunRule; 2],
    ) -> Option<Place> {
        match self.place(doing.warp, address, extent) {
            Ok(place) => Some(place),
            Err(reach) => {
                self.copy_reach(doing, lane, reach, extent.size, rules);
                None
            }
        }
    }

    /// Complains about parts of a copy that read or write a barrier.
    fn keep_off_barriers(&mut self, copy: &Copy) {
        let on = |machine: &Self, place: Place, size: u8| match place {
            Place::Shared(cta, offset) => {
                machine.ctas[cta as usize].object_at(offset, size.into()).map(|object| (cta, object))
            }
            _ => None,
        };
        let touched = copy.parts.iter().find_map(|part| {
            let written = on(self, part.to, part.size).map(|object| (object, "this copy writes over"));
            let read = || match part.from {
                From::Memory(place) => on(self, place, part.len).map(|object| (object, "this copy reads")),
                From::Data(_) => None,
            };
            written.or_else(read).map(|found| (found, part.lane))
        });
        let Some((((cta, object), does), lane)) = touched else { return };
        self.takes_for_data(Site { lanes: 1 << lane, ..copy.site }, cta, object, does);
    }

    fn copy_reach(
        &mut self,
        doing: &Doing,
        lane: usize,
        reach: Reach,
        size: u64,
        rules: [&'static RunRule; 2],
    ) {
        match reach {
            Reach::Foreign(cta) => {
                let site = Site { lanes: 1 << lane, ..doing.site() };
                let message = format!("the address lies in {}, not in the own CTA", self.cta_name(cta));
                self.wrong(site, &rule::BARRIER_ELSEWHERE, None, message, |_, d| {
                    d.help("spell the destination `.shared::cluster` to copy into another CTA")
                });
            }
            reach => self.out_of_reach(doing, lane, reach, size, rules),
        }
    }

    /// Bulk copies and reductions between two addresses.
    fn start_bulk(&mut self, doing: &Doing, copy: &code::Copy) {
        let sizes = copy.size.map_or([0; LANES], |size| self.values(doing, size));
        let (to, from) = (self.bases(doing, &copy.to), self.bases(doing, &copy.from));
        for lane in lanes(doing.lanes) {
            let size = self.bulk_size(doing, lane, sizes[lane] as u32, copy.barrier.is_some());
            if self.stopped.is_some() {
                return;
            }
            if size > 0 {
                self.start_bulk_lane(doing, copy, lane, size, to[lane], from[lane]);
            }
        }
    }

    /// The size that the chip copies: a multiple of 16.
    fn bulk_size(&mut self, doing: &Doing, lane: usize, size: u32, counted: bool) -> u32 {
        let site = Site { lanes: 1 << lane, ..doing.site() };
        if !size.is_multiple_of(PART as u32) {
            let message = format!("the size is {size}, which is not a multiple of 16");
            self.wrong(site, &rule::BULK_SIZE, None, message, |_, d| {
                let less = size / 16 * 16;
                d.help(format!(
                    "copy {less} or {} bytes; the rest takes ordinary loads and stores",
                    less + 16
                ))
            });
        } else if counted && size > crate::machine::barrier::MAX_TX {
            let message = format!(
                "the size is {size}: a barrier counts at most {} bytes",
                crate::machine::barrier::MAX_TX
            );
            self.wrong(site, &rule::TX_RANGE, None, message, |_, d| d);
        }
        size / PART as u32 * PART as u32
    }

    fn start_bulk_lane(
        &mut self,
        doing: &Doing,
        copy: &code::Copy,
        lane: usize,
        size: u32,
        to: u64,
        from: u64,
    ) {
        let size64 = u64::from(size);
        let ends = self.ignored(doing, copy, lane);
        let source = Address { offset: copy.from.offset.wrapping_add(i64::from(ends[0])), ..copy.from };
        // Alignment is judged without the ignored bytes.
        let aligned = from.wrapping_add(copy.from.offset as u64).is_multiple_of(16);
        let read = size64.saturating_sub(u64::from(ends[0] + ends[1]));
        let align = if ends == [0; 2] { 16 } else { 1 };
        let place =
            self.copy_place(doing, lane, &copy.to, Extent { base: to, size: size64, align: 16 }, BULK_RULES);
        let origin = if read == 0 {
            // Nothing is asked of a source of no bytes.
            place
        } else if aligned || align == 16 {
            self.copy_place(doing, lane, &source, Extent { base: from, size: read, align }, BULK_RULES)
        } else {
            self.copy_reach(doing, lane, Reach::Misaligned(Space::Global, from, 16), size64, BULK_RULES);
            None
        };
        if self.stopped.is_some() {
            return;
        }
        let (Some(place), Some(origin)) = (place, origin) else { return };
        if let (Place::Shared(there, _), Place::Shared(here, _)) = (place, origin)
            && there == here
            && read > 0
        {
            let site = Site { lanes: 1 << lane, ..doing.site() };
            let message =
                format!("{} is the destination, and the source lies in it, too", self.cta_name(here));
            self.wrong(site, &rule::COPY_TO_SELF, None, message, |_, d| d);
        }
        let mask = match copy.what {
            What::Masked(mask) => self.values(doing, mask)[lane] as u16,
            _ => u16::MAX,
        };
        for (place, signal) in self.targets(doing, copy, lane, place, size) {
            let family = if signal.is_none() { Some(Family::Bulk) } else { None };
            let mut started = self.new_copy(doing, 1 << lane, family);
            started.signal = signal;
            started.update = copy.update;
            started.parts = bulk_parts(lane, size as usize, place, origin, ends, mask);
            self.add_copy(started);
        }
    }

    /// Bytes at both ends that do not come from the source.
    fn ignored(&mut self, doing: &Doing, copy: &code::Copy, lane: usize) -> [u32; 2] {
        let What::Within(left, right) = copy.what else { return [0; 2] };
        [left, right].map(|source| {
            let bytes = self.values(doing, source)[lane] as u32;
            if bytes > 15 {
                let site = Site { lanes: 1 << lane, ..doing.site() };
                let message = format!("{bytes} bytes at an end are ignored; it can be 0 to 15");
                self.wrong(site, &rule::IGNORED_BYTES, None, message, |_, d| d);
            }
            bytes & 15
        })
    }

    /// The destinations of a copy, each with the barrier that counts its bytes: several for a multicast.
    pub(super) fn targets(
        &mut self,
        doing: &Doing,
        copy: &code::Copy,
        lane: usize,
        place: Place,
        bytes: u32,
    ) -> Vec<(Place, Option<Signal>)> {
        let Some(address) = &copy.barrier else { return vec![(place, None)] };
        let base = self.bases(doing, address)[lane];
        let Some((cta, at)) = self.copy_barrier(doing, lane, address, base) else { return Vec::new() };
        let Place::Shared(own, offset) = place else { return Vec::new() };
        let site = Site { lanes: 1 << lane, ..doing.site() };
        if cta != own && copy.mask.is_none() {
            let start = self.shared_start() as u32;
            let message = format!(
                "the destination is {}, but its barrier {}",
                self.barrier_name(own, offset as u32 + start),
                self.barrier_name(cta, at)
            );
            self.wrong(site, &rule::BARRIER_ELSEWHERE, None, message, |_, d| {
                d.help("map the addresses of data and barrier to the same rank")
            });
        }
        let mut targets = Vec::new();
        for (data, barrier) in self.ranks(doing, copy, lane, own, cta) {
            self.make_sure(site, barrier, at);
            if self.stopped.is_some() {
                return Vec::new();
            }
            let signal = Signal { cta: barrier, address: at, bytes };
            targets.push((Place::Shared(data, offset), Some(signal)));
        }
        targets
    }

    /// The CTAs that get the data, and those whose barriers count it.
    fn ranks(
        &mut self,
        doing: &Doing,
        copy: &code::Copy,
        lane: usize,
        data: u32,
        barrier: u32,
    ) -> Vec<(u32, u32)> {
        let Some(mask) = copy.mask else { return vec![(data, barrier)] };
        let mask = self.values(doing, mask)[lane] as u32;
        let ctas = self.clusters[self.ctas[data as usize].cluster as usize].ctas.clone();
        let mut found = Vec::new();
        for rank in (0..32).filter(|rank| mask >> rank & 1 == 1) {
            let cta = ctas.start + rank;
            if !ctas.contains(&cta) {
                self.out_of_reach(doing, lane, Reach::NoCta(rank.into()), 0, BULK_RULES);
            } else if self.ctas[cta as usize].live_warps == 0 {
                self.out_of_reach(doing, lane, Reach::Exited(cta), 0, BULK_RULES);
            } else {
                found.push((cta, cta));
            }
        }
        found
    }

    /// The CTA and address of the barrier of a copy.
    fn copy_barrier(
        &mut self,
        doing: &Doing,
        lane: usize,
        address: &Address,
        base: u64,
    ) -> Option<(u32, u32)> {
        match self.place(doing.warp, address, Extent::natural(base, 8)) {
            Err(Reach::Foreign(cta)) => {
                self.copy_reach(doing, lane, Reach::Foreign(cta), 8, BARRIER_RULES);
                None
            }
            _ => self.barrier_at(doing, lane, address, base, true),
        }
    }

    /// Values of registers that are stored or combined in the background.
    fn start_store(&mut self, doing: &Doing, copy: &code::Copy, values: &[Src], bytes: u8) {
        let columns: Vec<Column> = values.iter().map(|&value| self.values(doing, value)).collect();
        let bases = self.bases(doing, &copy.to);
        let total = u64::from(bytes) * values.len() as u64;
        for lane in lanes(doing.lanes) {
            let mut chunk = Chunk::zeros(total as usize);
            for (index, (column, &value)) in columns.iter().zip(values).enumerate() {
                let at = index * usize::from(bytes);
                chunk.data[at..at + usize::from(bytes)]
                    .copy_from_slice(&column[lane].to_le_bytes()[..usize::from(bytes)]);
                let undefined = self.undefined_bits(doing, value, lane);
                for byte in 0..usize::from(bytes) {
                    chunk.unwritten |= u16::from(undefined >> (8 * byte) & 0xff != 0) << (at + byte);
                }
            }
            let rules = [&rule::MISALIGNED, &rule::OUT_OF_BOUNDS];
            let place = self.copy_place(
                doing,
                lane,
                &copy.to,
                Extent { base: bases[lane], size: total, align: copy.align.into() },
                rules,
            );
            let Some(place) = place.filter(|_| self.stopped.is_none()) else { continue };
            if copy.update.is_some() {
                self.leaves_own_cta(doing, lane, place);
            }
            for (place, signal) in self.targets(doing, copy, lane, place, total as u32) {
                let mut started = self.new_copy(doing, 1 << lane, None);
                (started.signal, started.update) = (signal, copy.update);
                started.parts.push(Part::new(lane, total as u8, From::Data(chunk), place));
                self.add_copy(started);
            }
            if self.stopped.is_some() {
                return;
            }
        }
    }

    /// Complains about a reduction for other CTAs on memory of the own one.
    fn leaves_own_cta(&mut self, doing: &Doing, lane: usize, place: Place) {
        let own = self.warps[doing.warp].cta;
        if let Place::Shared(cta, offset) = place
            && cta == own
        {
            let name = self.barrier_name(cta, offset as u32 + self.shared_start() as u32);
            let site = Site { lanes: 1 << lane, ..doing.site() };
            let message = format!("the destination is {name}, of the CTA that executes this");
            self.wrong(site, &rule::COPY_TO_SELF, None, message, |_, d| d);
        }
    }

    /// A request to take over a cluster that has not started.
    fn start_cancel(&mut self, doing: &Doing, copy: &code::Copy, all: bool) {
        let bases = self.bases(doing, &copy.to);
        for lane in lanes(doing.lanes) {
            let site = Site { lanes: 1 << lane, ..doing.site() };
            if self.warps[doing.warp].cancel_failed >> lane & 1 == 1 {
                let message = "an earlier request was seen to fail: nothing is left to take over".to_string();
                let seen = self.warps[doing.warp].cancel_seen;
                self.wrong(site, &rule::CANCEL_AFTER_FAILURE, None, message, |machine, d| match seen {
                    Some(seen) => machine.also(d, seen, "the failure was seen"),
                    None => d,
                });
            }
            let place = self.copy_place(doing, lane, &copy.to, Extent::natural(bases[lane], 16), BULK_RULES);
            let Some(place) = place.filter(|_| self.stopped.is_none()) else { continue };
            let chunk = answer(self.take_cluster());
            let mut targets = self.targets(doing, copy, lane, place, 16);
            if all && let Some(&(Place::Shared(own, offset), Some(signal))) = targets.first() {
                let ctas = self.clusters[self.ctas[own as usize].cluster as usize].ctas.clone();
                if let Some(gone) = ctas.clone().find(|&cta| self.ctas[cta as usize].live_warps == 0) {
                    self.out_of_reach(doing, lane, Reach::Exited(gone), 16, BULK_RULES);
                    return;
                }
                let to = |cta| (Place::Shared(cta, offset), Some(Signal { cta, ..signal }));
                targets = ctas.map(to).collect();
            }
            for (place, signal) in targets {
                let mut started = self.new_copy(doing, 1 << lane, None);
                started.signal = signal;
                started.parts.push(Part::new(lane, 16, From::Data(chunk), place));
                self.add_copy(started);
            }
        }
    }

    pub(super) fn cancel_query(&mut self, doing: &Doing, query: &code::CancelQuery) -> Then {
        let [low, high] = query.response.map(|half| self.values(doing, half));
        for half in query.response {
            if !self.is_defined(doing, half, "the answer") {
                return Then::Done;
            }
        }
        let taken = (0..LANES).fold(0, |mask, lane| mask | Mask::from(high[lane] >> 32 == TAKEN) << lane);
        self.set_predicate(doing, query.p, taken, 0);
        if query.p != NONE {
            let failed = !taken & doing.lanes;
            let warp = &mut self.warps[doing.warp];
            warp.cancel_failed |= failed;
            if failed != 0 {
                warp.cancel_seen = Some(Site { lanes: failed, ..doing.site() });
            }
        }
        let asks_for_place = query.d.iter().any(|&d| d != Dst::SINK);
        if asks_for_place && doing.lanes & !taken != 0 {
            let site = Site { lanes: doing.lanes & !taken, ..doing.site() };
            let message = "the request has failed: its answer names no CTA".to_string();
            self.wrong(site, &rule::PLACE_OF_FAILURE, None, message, |_, d| d);
            if self.stopped.is_some() {
                return Then::Done;
            }
        }
        let columns = [low, low.map(|v| v >> 32), high, [0; LANES]];
        for (&d, column) in query.d.iter().zip(columns) {
            let column = column.map(|value| value & 0xffff_ffff);
            local::set(&mut self.warps[doing.warp].registers, &doing.frame, doing.lanes, d, &column);
        }
        Then::Next
    }

    /// Closes a group of copies.
    pub(super) fn commit(&mut self, doing: &Doing, family: Family) -> Then {
        self.note_diverged_commit(doing, family);
        let warp = &mut self.warps[doing.warp];
        let commits = warp.commits[family as usize];
        self.copies.commit(doing.warp as u32, family, doing.lanes, &commits);
        if self.options.events {
            self.events.push(Event::Commit { by: doing.site(), family });
        }
        for lane in lanes(doing.lanes) {
            warp.commits[family as usize][lane] += 1;
        }
        warp.last_commit[family as usize] = Some(doing.site());
        self.statistics.batches += 1;
        warp.groups[doing.group].had_effect();
        Then::Next
    }

    /// Notes lanes of a warp that commit one after the other: each makes a batch.
    fn note_diverged_commit(&mut self, doing: &Doing, family: Family) {
        let site = doing.site();
        let before = self.warps[doing.warp].last_commit[family as usize];
        let Some(before) = before.filter(|b| b.pc == site.pc && b.lanes & site.lanes == 0) else { return };
        if self.may_advise_to_converge(doing) && family == Family::Small {
            let message = "lanes of one warp commit their copies one after the other".to_string();
            self.found(site, &rule::DIVERGED_UPDATE, message, |machine, d| {
                let others = machine.threads(before);
                d.note(format!("{others} committed here before: converged, they would have made one batch, and later waits would not wait for too many"))
            });
        }
    }

    pub(super) fn wait_for_copies(
        &mut self,
        doing: &Doing,
        family: Family,
        but: Option<u32>,
        read: bool,
    ) -> Then {
        let commits = self.warps[doing.warp].commits[family as usize];
        let waits = lanes(doing.lanes).any(|lane| {
            let below = but.map(|but| u64::from(commits[lane]).saturating_sub(but.into()));
            self.copies.is_waiting(doing.warp as u32, family, lane, below, read)
        });
        if waits {
            return Then::Wait(State::Copies);
        }
        if self.options.events {
            self.events.push(Event::Waited { by: doing.site(), family, but, read });
        }
        Then::Next
    }

    /// A part of a copy lands: it is read, or written.
    pub(crate) fn land(&mut self, copy: usize, part: usize) {
        let Some(entry) = self.copies.list.get(copy) else { return };
        let Some(&taken) = entry.parts.get(part) else { return };
        let (site, two_steps) = (entry.site, entry.family == Some(Family::Bulk));
        if self.options.events {
            self.events.push(Event::Landing { copy: entry.id, part: part as u32 });
        }
        self.epoch += 1;
        let chunk = taken.held.unwrap_or_else(|| self.read_part(&taken));
        if two_steps && taken.held.is_none() {
            self.copies.list[copy].parts[part].held = Some(chunk);
        } else {
            self.write_part(copy, &taken, chunk);
            if let Some(done) = self.copies.landed(copy, part) {
                self.signal(&done);
            }
        }
        self.wake_copy_waits(site.warp as usize);
        if self.stopped.is_none() {
            self.trigger(site.warp as usize);
        }
    }

    /// All of a copy has landed: a barrier may count its bytes.
    fn signal(&mut self, done: &Copy) {
        if let Some(signal) = done.signal {
            if self.ctas[signal.cta as usize].live_warps == 0 {
                return;
            }
            if self.options.events {
                let object = self.object_now(signal.cta, signal.address);
                self.events.push(Event::Delivered { copy: done.id, object, bytes: signal.bytes });
            }
            self.complete(done.site, signal.cta, signal.address, signal.bytes);
        }
    }

    pub(super) fn wake_copy_waits(&mut self, warp: usize) {
        let mut woken = false;
        for group in self.warps[warp].groups.iter_mut().filter(|group| group.state == State::Copies) {
            group.state = State::Ready;
            woken = true;
        }
        if woken {
            self.ready.set(warp, true);
        }
    }

    fn read_part(&self, part: &Part) -> Chunk {
        let mut chunk = Chunk::zeros(part.size.into());
        if part.rest_undefined {
            chunk.unwritten = u16::MAX >> (16 - part.size.min(16));
        }
        let (at, len) = (usize::from(part.at), usize::from(part.len));
        let read = match part.from {
            From::Data(data) => data,
            From::Memory(place) if len > 0 => self.read_chunk(place, len),
            From::Memory(_) => Chunk::default(),
        };
        chunk.data[at..at + len].copy_from_slice(&read.data[..len]);
        let bits = if len == 0 { 0 } else { u16::MAX >> (16 - len) };
        chunk.unwritten = chunk.unwritten & !(bits << at) | (read.unwritten & bits) << at;
        chunk
    }

    pub(super) fn read_chunk(&self, place: Place, size: usize) -> Chunk {
        match place {
            Place::Global(piece, offset) => self.global.piece(piece).bytes.read(offset, size),
            Place::Shared(cta, offset) => {
                let shared = &self.ctas[cta as usize].shared;
                // Memory of a CTA that has ended is gone.
                if offset + size <= shared.len() { shared.read(offset, size) } else { Chunk::zeros(size) }
            }
            Place::Local(_) | Place::Param(_) | Place::Const(_) => {
                let mut chunk = Chunk::zeros(size);
                for at in (0..size).step_by(8) {
                    let part = (size - at).min(8);
                    let (value, _) = self.read(0, 0, place.moved(at), part);
                    chunk.data[at..at + part].copy_from_slice(&value.to_le_bytes()[..part]);
                }
                chunk
            }
        }
    }

    fn write_part(&mut self, copy: usize, part: &Part, mut chunk: Chunk) {
        let (update, element) = (self.copies.list[copy].update, self.copies.list[copy].element);
        if let Some(element) = element
            && matches!(part.from, From::Memory(_))
        {
            element.convert_loaded(&mut chunk.data[..part.size.into()]);
        }
        if let Place::Shared(cta, _) = part.to
            && self.ctas[cta as usize].shared.is_empty()
        {
            return;
        }
        if let Some(update) = update {
            let size = usize::from(update.bytes);
            for at in (0..usize::from(part.size)).step_by(size.max(1)) {
                let (operand, unknown) = chunk.element(at, size);
                let place = part.to.moved(at);
                let (old, undefined) = self.read(0, 0, place, size);
                let undefined = if undefined | unknown == 0 { 0 } else { u64::MAX >> (64 - 8 * size) };
                self.write(0, 0, place, size, combine(update, old, operand), undefined);
            }
            return;
        }
        if part.mask != u16::MAX {
            for byte in (0..usize::from(part.size)).filter(|byte| part.mask >> byte & 1 == 1) {
                let (value, undefined) = chunk.element(byte, 1);
                self.write(0, 0, part.to.moved(byte), 1, value, undefined);
            }
            return;
        }
        if let Some((bytes, offset)) = self.bytes_mut(0, 0, part.to, part.size.into()) {
            bytes.write(offset, &chunk);
        }
    }

    /// Before the memory of a CTA goes: copies that still use it are reported, and land.
    pub(super) fn drain_copies(&mut self, cta: u32, site: Site) {
        let uses = |place: Place| matches!(place, Place::Shared(other, _) if other == cta);
        loop {
            let found = self.copies.list.iter().enumerate().find_map(|(index, copy)| {
                let writes = copy.parts.iter().position(|part| uses(part.to));
                let reads = copy.parts.iter().position(|part| {
                    part.held.is_none() && matches!(part.from, From::Memory(place) if uses(place))
                });
                writes.map(|part| (index, part, true)).or(reads.map(|part| (index, part, false)))
            });
            let Some((copy, part, writes)) = found else { return };
            let by = self.copies.list[copy].site;
            self.report_leak(site, by, cta, writes);
            self.land(copy, part);
            if self.stopped.is_some() {
                return;
            }
        }
    }

    fn report_leak(&mut self, exit: Site, copy: Site, cta: u32, writes: bool) {
        let name = self.cta_name(cta);
        let (rule, message) = if writes {
            (&rule::COPIES_LEFT, format!("{name} ends while this copy may still write to its shared memory"))
        } else {
            (&rule::READING_AT_EXIT, format!("{name} ends while this copy may still read its shared memory"))
        };
        self.found(copy, rule, message, |machine, d| machine.also(d, exit, "left here"));
    }
}

/// The parts of a bulk copy; `ends` bytes at its ends do not come from the source.
fn bulk_parts(lane: usize, size: usize, to: Place, from: Place, ends: [u32; 2], mask: u16) -> Vec<Part> {
    let [left, right] = ends.map(|bytes| bytes as usize);
    (0..size)
        .step_by(PART)
        .map(|at| {
            let first = left.saturating_sub(at).min(PART);
            let last = PART - (at + PART).saturating_sub(size - right).min(PART);
            // The source place is that of the first byte that is not ignored.
            let from = from.moved((at + first).saturating_sub(left));
            let part = Part::new(lane, PART as u8, From::Memory(from), to.moved(at));
            Part { at: first as u8, len: (last - first.min(last)) as u8, rest_undefined: true, mask, ..part }
        })
        .collect()
}

/// Marks the answer of a request that took a cluster.
const TAKEN: u64 = 1;

/// The answer to a request: the place of the cluster's first CTA, and whether there is one.
fn answer(place: Option<[u32; 3]>) -> Chunk {
    let mut chunk = Chunk::zeros(16);
    if let Some(place) = place {
        for (index, coordinate) in place.into_iter().chain([TAKEN as u32]).enumerate() {
            chunk.data[4 * index..4 * index + 4].copy_from_slice(&coordinate.to_le_bytes());
        }
    }
    chunk
}
