//! From a launch to a machine: memory filled, the first CTAs started.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use super::code::{NONE, Own};
use super::column::{Column, LANES, Mask};
use super::cta::{Cluster, Cta, NamedBarrier};
use super::finding::Finding;
use super::global::{Global, Piece, What};
use super::image::Image;
use super::memory::Bytes;
use super::space::SHARED_WINDOW;
use super::tensor::{self, TensorMap};
use super::warp::{Frame, Warp};
use super::{Machine, Options, Shape, Statistics, Undefined, lower, rule, run};
use crate::diagnostic::Diagnostic;
use crate::launch::{ArgumentKind, Expect, Launch, Place, TensorMapSpec};
use crate::program::Program;
use crate::program::layout::Region;

/// Why a launch cannot be run.
#[derive(Clone, Debug, PartialEq)]
pub enum LaunchError {
    /// A tensor map that the driver would refuse: where it is described, and which of its rules it breaks.
    TensorMap(Box<(Place, tensor::Key, tensor::Rule)>),
    /// Variables or parameters of the module are too large.
    TooLarge,
    /// The grid has more CTAs than a run may start.
    Grid {
        /// Its CTAs.
        ctas: u64,
        /// So many may be started.
        most: u64,
    },
    /// The kernel's shared variables and the dynamic shared memory are more than a CTA has.
    SharedMemory {
        /// Their bytes.
        bytes: u64,
        /// What a CTA has.
        most: u32,
    },
}

/// A buffer of the launch.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    /// The name of its parameter.
    pub name: String,
}

/// Buffers lie so far apart at least.
const GAP: u64 = 256;

/// CTAs that are resident at once take at most so many bytes, about.
const MOST_RESIDENT_BYTES: u64 = 1 << 30;

impl<'p> Machine<'p> {
    /// A machine about to execute `launch`.
    ///
    /// # Errors
    /// When a tensor map breaks a rule of the driver, or the module's variables are too large.
    pub fn new(program: &'p Program, launch: &Launch, options: Options) -> Result<Machine<'p>, LaunchError> {
        let image = Image::new(program, launch.kernel).ok_or(LaunchError::TooLarge)?;
        let code = lower::lower(program, launch.kernel, &image);
        let mut pieces: Vec<Piece> = image
            .globals
            .iter()
            .map(|global| Piece {
                what: What::Variable(global.variable),
                start: global.address,
                bytes: global.bytes.clone().into(),
            })
            .collect();
        let addresses = place_buffers(launch, &image, &mut pieces);
        let parameters = parameters(launch, &image, &addresses)?;
        let mut machine = Machine {
            program,
            shape: shape(launch, &image),
            code: Arc::new(code),
            image: Arc::new(image),
            options,
            ctas: Vec::new(),
            clusters: Vec::new(),
            warps: Vec::new(),
            global: Global::new(pieces),
            parameters,
            copies: super::copy::Copies::default(),
            statistics: Statistics::default(),
            findings: Vec::new(),
            output: String::new(),
            events: Vec::new(),
            touched: Vec::new(),
            history: Vec::new(),
            time: 0,
            epoch: 0,
            stopped: None,
            fault: None,
            trapping: false,
            known: Default::default(),
            ready: run::Ready::default(),
            stall: run::Stall::default(),
            next_cluster: 0,
            resident: 0,
            buffers: launch.arguments.iter().map(|a| Buffer { name: a.name.clone() }).collect(),
            live: Default::default(),
        };
        let (ctas, most) = (machine.shape.ctas(), MOST_CTAS as u64);
        if ctas > most {
            return Err(LaunchError::Grid { ctas, most });
        }
        let (bytes, most) = (machine.shape.shared, launch.most_shared(program));
        if bytes > u64::from(most) {
            return Err(LaunchError::SharedMemory { bytes, most });
        }
        machine.shape.resident = machine.shape.resident.min(machine.most_resident());
        machine.start_ctas();
        Ok(machine)
    }

    /// Compares the buffers with what the launch expects of them, after the run. Differences are findings.
    pub fn compare(&mut self, launch: &Launch) {
        for expect in &launch.expects {
            let name = launch.arguments.get(expect.argument).map_or("", |argument| &argument.name);
            let undefined = self.undefined_elements(expect);
            if let Some(first) = undefined.first().filter(|_| self.options.undefined != Undefined::Ignore) {
                let message = format!("`{name}` [{first}] is a value that nobody has set");
                let diagnostic = Diagnostic::new(&rule::UNDEFINED_VALUE.rule, expect.place.span(), message);
                let count = undefined.len() as u64;
                self.findings.push(Finding { rule: &rule::UNDEFINED_VALUE, diagnostic, count });
            }
            let found = expect.differences(self.argument(expect.argument).unwrap_or_default());
            if found.is_empty() {
                continue;
            }
            let message =
                format!("`{name}` is not as expected: {} of {} elements differ", found.count, found.total);
            let mut diagnostic = Diagnostic::new(&rule::EXPECTATION.rule, expect.place.span(), message);
            for difference in &found.first {
                let text = format!(
                    "[{}] is {}, expected {}",
                    difference.index, difference.actual, difference.expected
                );
                diagnostic = diagnostic.note(text);
            }
            self.findings.push(Finding { rule: &rule::EXPECTATION, diagnostic, count: found.count });
        }
    }

    /// The elements of an expected buffer that hold bits which nobody has set.
    fn undefined_elements(&self, expect: &Expect) -> Vec<usize> {
        let Some(bytes) = self.global.argument(expect.argument) else { return Vec::new() };
        let size = expect.element.bytes() as usize;
        let elements = 0..bytes.len().min(expect.bytes.len()) / size;
        elements
            .filter(|element| (element * size..(element + 1) * size).any(|at| bytes.is_unwritten(at)))
            .collect()
    }

    /// How many CTAs there is room for.
    fn most_resident(&self) -> u64 {
        let columns = self.code.routines.iter().map(|r| u64::from(r.columns)).sum::<u64>() + 64;
        let warp = columns * mem::size_of::<Column>() as u64 + 4096;
        let bytes = u64::from(self.shape.warps()) * warp + self.shape.shared + 4096;
        (MOST_RESIDENT_BYTES / bytes).max(u64::from(self.shape.cluster_size()))
    }

    /// The addresses of shared memory that the system lends to groups of several warps: from the start
    /// where it keeps the first KiB, else behind the kernel's own.
    pub(super) fn lent(&self) -> Range<u64> {
        let start = match self.shared_start() {
            0 => self.shape.shared.next_multiple_of(SHARED_UNIT),
            _ => 0,
        };
        start..start + LENT
    }

    /// Where the bytes of [`Self::lent`] are among those of the CTA: behind the others.
    pub(super) fn lent_offset(&self) -> usize {
        self.shape.shared.next_multiple_of(8) as usize
    }

    /// Shared memory of a CTA as it starts: unwritten, but what the system lends holds zeros.
    fn shared_memory(&self) -> Bytes {
        let lent = self.lent_offset();
        let mut bytes = Bytes::unwritten(lent + LENT as usize);
        for at in (lent..bytes.len()).step_by(8) {
            bytes.store(at, 8, 0, 0);
        }
        bytes
    }

    /// Starts clusters while they fit.
    pub(super) fn start_ctas(&mut self) {
        let size = u64::from(self.shape.cluster_size());
        while self.next_cluster * size < self.shape.ctas()
            && self.resident + size <= self.shape.resident.max(size)
        {
            self.start_cluster(self.next_cluster);
            self.next_cluster += 1;
            self.resident += size;
        }
    }

    /// The place in the grid of the first CTA of cluster number `index`.
    pub(super) fn cluster_place(&self, index: u64) -> [u32; 3] {
        let Shape { grid, cluster, .. } = self.shape;
        let [nx, ny] = [0, 1].map(|d| u64::from(grid[d] / cluster[d]).max(1));
        let place = [index % nx, index / nx % ny, index / nx / ny];
        [0, 1, 2].map(|d| place[d] as u32 * cluster[d])
    }

    /// Takes the next cluster that has not started; its first CTA's place.
    pub(super) fn take_cluster(&mut self) -> Option<[u32; 3]> {
        let size = u64::from(self.shape.cluster_size());
        if self.next_cluster * size >= self.shape.ctas() {
            return None;
        }
        self.next_cluster += 1;
        Some(self.cluster_place(self.next_cluster - 1))
    }

    fn start_cluster(&mut self, index: u64) {
        let first = self.cluster_place(index);
        let start = self.ctas.len() as u32;
        let [cx, cy, _] = self.shape.cluster;
        for rank in 0..self.shape.cluster_size() {
            let within = [rank % cx, rank / cx % cy, rank / cx / cy];
            self.start_cta([0, 1, 2].map(|d| first[d] + within[d]), within, rank);
        }
        self.clusters.push(Cluster { ctas: start..self.ctas.len() as u32 });
    }

    fn start_cta(&mut self, place: [u32; 3], within: [u32; 3], rank: u32) {
        let cta = self.ctas.len() as u32;
        let first = self.warps.len() as u32;
        let count = self.shape.warps();
        let entry = Cta {
            place,
            cluster: self.clusters.len() as u32,
            rank,
            shared: self.shared_memory().into(),
            lifetimes: 0,
            objects: Default::default(),
            occupied: Vec::new(),
            named: vec![NamedBarrier::default(); 16],
            warps: first..first + count,
            live_warps: count,
            last_exit: None,
        };
        self.ctas.push(entry.into());
        for number in 0..count {
            let threads = (self.shape.threads() - 32 * number).min(32);
            let alive = if threads == 32 { Mask::MAX } else { (1 << threads) - 1 };
            self.start_warp(cta, number, alive, within);
        }
    }

    fn start_warp(&mut self, cta: u32, number: u32, alive: Mask, within: [u32; 3]) {
        let routine = &self.code.routines[self.code.kernel];
        let own = self.code.own.len() as u32;
        let frame = Frame {
            routine: self.code.kernel as u32,
            back: NONE,
            columns: own,
            predicates: 0,
            local: 0,
            stack: routine.local,
        };
        let mut warp = Warp::new(cta, number, alive, frame, routine.entry);
        warp.live = Arc::clone(&self.live);
        warp.registers.enter(Mask::MAX, 0, own + routine.columns, 0, routine.predicates);
        for (column, &what) in self.code.own.iter().enumerate() {
            warp.registers.set(column as u32, Mask::MAX, &self.own_column(what, cta, number, within));
        }
        self.warps.push(warp.into());
        self.ready.set(self.warps.len() - 1, true);
    }

    /// What a column at the bottom of a warp's registers holds.
    fn own_column(&self, what: Own, cta: u32, number: u32, within: [u32; 3]) -> Column {
        let Shape { grid, block, cluster, dynamic, clustered, .. } = self.shape;
        let place = self.ctas[cta as usize].place;
        let rank = self.ctas[cta as usize].rank;
        let pick = |extents: [u32; 3], d: u8| extents.get(usize::from(d)).copied().unwrap_or(0);
        let divided = |a: [u32; 3], b: [u32; 3]| [0, 1, 2].map(|d| a[d] / b[d].max(1));
        let thread = |lane: usize| 32 * number + lane as u32;
        let lane_mask = |f: fn(u64) -> u64| std::array::from_fn(|lane| f(lane as u64) & 0xffff_ffff);
        let bytes = self.shape.shared;
        let value = match what {
            Own::Tid(d) => {
                return std::array::from_fn(|lane| {
                    let (t, [bx, by, _]) = (thread(lane), block);
                    let place = [t % bx, t / bx % by, t / bx / by];
                    pick(place, d).into()
                });
            }
            Own::LaneId => return std::array::from_fn(|lane| lane as u64),
            Own::LanemaskEq => return lane_mask(|lane| 1 << lane),
            Own::LanemaskLe => return lane_mask(|lane| (2 << lane) - 1),
            Own::LanemaskLt => return lane_mask(|lane| (1 << lane) - 1),
            Own::LanemaskGe => return lane_mask(|lane| !((1 << lane) - 1)),
            Own::LanemaskGt => return lane_mask(|lane| !((2 << lane) - 1)),
            Own::Zero => 0,
            Own::Ntid(d) => pick(block, d),
            Own::Ctaid(d) => pick(place, d),
            Own::Nctaid(d) => pick(grid, d),
            Own::WarpId => number,
            Own::NwarpId => self.shape.warps(),
            Own::SmId => cta % MULTIPROCESSORS,
            Own::NsmId => MULTIPROCESSORS,
            Own::ClusterId(d) => pick(divided(place, cluster), d),
            Own::NclusterId(d) => pick(divided(grid, cluster), d),
            Own::ClusterCtaid(d) => pick(within, d),
            Own::ClusterNctaid(d) => pick(cluster, d),
            Own::ClusterCtarank => rank,
            Own::ClusterNctarank => self.shape.cluster_size(),
            Own::IsExplicitCluster => u32::from(clustered),
            Own::TotalSmemSize => bytes.next_multiple_of(SHARED_UNIT) as u32,
            Own::AggregateSmemSize => bytes as u32 + KEPT,
            Own::DynamicSmemSize => dynamic,
            Own::SharedBase => rank * SHARED_WINDOW as u32,
            Own::ReservedSmemBegin => self.lent().start as u32,
            Own::ReservedSmemEnd => self.lent().end as u32,
            Own::ReservedSmemCap => self.lent().start as u32 + KEPT,
        };
        [value.into(); LANES]
    }
}

/// Shared memory is allocated in units of so many bytes.
const SHARED_UNIT: u64 = 128;
/// The system keeps so many bytes of shared memory for each CTA.
const KEPT: u32 = 1024;
/// It lends so many of them, as an H200 says.
const LENT: u64 = 288;

/// An H200 has so many.
const MULTIPROCESSORS: u32 = 132;

/// A run may start so many CTAs.
const MOST_CTAS: usize = 1 << 18;

/// Bytes of a CTA's shared memory, from the first address that a kernel can use on.
fn shared_bytes(region: &Region, dynamic: u32) -> u64 {
    let start = match region.slots.iter().find(|slot| slot.size.is_none()) {
        Some(slot) => slot.address,
        // Without a variable for it, dynamic memory follows the others.
        None => region.start + region.size,
    };
    (start + u64::from(dynamic)).saturating_sub(region.start).min(SHARED_WINDOW)
}

fn shape(launch: &Launch, image: &Image) -> Shape {
    let resident = launch.resident.map_or(u64::MAX, u64::from);
    Shape {
        grid: launch.grid,
        block: launch.block,
        cluster: launch.cluster,
        dynamic: launch.smem,
        shared: shared_bytes(&image.shared, launch.smem),
        resident,
        clustered: launch.cluster != [1; 3],
    }
}

/// Gives each buffer its place: aligned to 256 bytes and no better, apart from the others.
fn place_buffers(launch: &Launch, image: &Image, pieces: &mut Vec<Piece>) -> Vec<u64> {
    let mut next = image.windows.global;
    let mut addresses = Vec::new();
    for (index, argument) in launch.arguments.iter().enumerate() {
        let ArgumentKind::Buffer { bytes, .. } = &argument.kind else {
            addresses.push(0);
            continue;
        };
        let start = (next + GAP).next_multiple_of(2 * GAP) + GAP;
        next = start + bytes.len() as u64;
        addresses.push(start);
        let bytes = Bytes::written(bytes.clone()).into();
        pieces.push(Piece { what: What::Argument(index as u32), start, bytes });
    }
    addresses
}

/// The bytes of the kernel's parameters.
fn parameters(launch: &Launch, image: &Image, addresses: &[u64]) -> Result<Vec<u8>, LaunchError> {
    let mut memory = vec![0; image.parameter_bytes as usize];
    for (index, (argument, &(_, offset, size))) in launch.arguments.iter().zip(&image.parameters).enumerate()
    {
        let value = match &argument.kind {
            ArgumentKind::Buffer { .. } => addresses[index].to_le_bytes().to_vec(),
            ArgumentKind::Scalar { bytes, .. } => bytes.clone(),
            ArgumentKind::TensorMap { spec, data } => {
                let map = tensor_map(spec, addresses.get(*data).copied().unwrap_or(0));
                map.validate().map_err(|rule| {
                    let place = spec.place_of(rule.key().name());
                    LaunchError::TensorMap(Box::new((place, rule.key(), rule)))
                })?;
                map.encode().to_vec()
            }
        };
        let size = (size as usize).min(value.len());
        memory[offset as usize..offset as usize + size].copy_from_slice(&value[..size]);
    }
    Ok(memory)
}

fn tensor_map(spec: &TensorMapSpec, address: u64) -> TensorMap {
    let (swizzle, atomicity) = swizzle(spec.swizzle);
    TensorMap {
        element: tensor::Element::from_name(spec.element.text()).unwrap_or(tensor::Element::U8),
        rank: spec.rank as u8,
        address,
        dims: spec.dims,
        strides: spec.strides,
        box_dims: spec.box_dims,
        element_strides: spec.element_strides,
        interleave: tensor::Interleave::from_name(spec.interleave.text()).unwrap_or(tensor::Interleave::None),
        swizzle,
        atomicity,
        fill: if spec.oob_nan { tensor::Fill::Nan } else { tensor::Fill::Zero },
        im2col: spec.im2col.map(|im2col| tensor::Im2col {
            lower: im2col.lower,
            upper: im2col.upper,
            channels: im2col.channels,
            pixels: im2col.pixels,
        }),
    }
}

/// The swizzle of a description, and what it keeps together.
fn swizzle(word: crate::launch::Swizzle) -> (tensor::Swizzle, tensor::Atomicity) {
    use crate::launch::Swizzle as Word;
    use tensor::{Atomicity, Swizzle};
    match word {
        Word::None => (Swizzle::None, Atomicity::B16),
        Word::B32 => (Swizzle::B32, Atomicity::B16),
        Word::B64 => (Swizzle::B64, Atomicity::B16),
        Word::B96 => (Swizzle::B96, Atomicity::B16),
        Word::B128 => (Swizzle::B128, Atomicity::B16),
        Word::B128Atom32 => (Swizzle::B128, Atomicity::B32),
        Word::B128Atom32Flip8 => (Swizzle::B128, Atomicity::B32Flip8),
        Word::B128Atom64 => (Swizzle::B128, Atomicity::B64),
    }
}
