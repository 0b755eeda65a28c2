//! The warp-level machine: executes a kernel as the hardware does where that is defined, and explains where
//! it is not.
//!
//! A [`Machine`] owns the whole state of a launch. Each step executes the instructions of one group of
//! lanes up to and including the first that others can see; every decision between steps goes through one
//! door ([`choice`]).

pub mod barrier;
pub mod choice;
pub mod code;
pub mod column;
pub mod copy;
pub mod cta;
mod deadlock;
pub(crate) mod drive;
pub mod event;
mod exec;
pub mod finding;
pub mod global;
pub mod image;
mod launch;
mod live;
mod lower;
pub mod matrix;
pub mod memory;
pub mod order;
pub mod print;
mod printf;
pub mod rule;
mod run;
pub mod scalar;
pub mod share;
pub mod sight;
pub mod space;
pub mod tensor;
mod undefined;
pub mod warp;
pub mod words;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::program::Program;
use code::{Code, Pc};
use copy::Copies;
use cta::{Cluster, Cta};
use event::Event;
use finding::{Fault, Finding, Outcome};
use global::Global;
use image::Image;
use share::Share;
use warp::Warp;

pub use exec::Place;
pub use launch::LaunchError;

/// The code of routine number `kernel` of a program, without a launch; `None` when the module's variables are
/// too large.
pub fn code_of(program: &Program, kernel: usize) -> Option<Code> {
    let image = Image::new(program, kernel)?;
    Some(lower::lower(program, kernel, &image))
}

/// What happens where the manual defines nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Undefined {
    /// The run stops there.
    #[default]
    Stop,
    /// It is reported, and the run goes on as an H200 does.
    Warn,
    /// The run goes on in silence.
    Ignore,
}

/// Where lanes that parted come together again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reconverge {
    /// At the nearest instruction that all paths lead to.
    #[default]
    PostDominator,
    /// Nowhere, but for instructions that demand it.
    Never,
    /// There or not, as the schedule chooses.
    Random,
}

impl Reconverge {
    /// The word of the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reconverge::PostDominator => "postdominator",
            Reconverge::Never => "never",
            Reconverge::Random => "random",
        }
    }
}

/// How a kernel is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What to do where nothing is defined.
    pub undefined: Undefined,
    /// Where lanes come together.
    pub reconverge: Reconverge,
    /// The run ends after so many instructions of warps.
    pub max_steps: u64,
    /// Whether events are kept.
    pub events: bool,
}

/// So many instructions of warps are enough for nearly every kernel that ends.
pub const DEFAULT_MAX_STEPS: u64 = 200_000_000;

impl Default for Options {
    fn default() -> Options {
        Options {
            undefined: Undefined::default(),
            reconverge: Reconverge::default(),
            max_steps: DEFAULT_MAX_STEPS,
            events: false,
        }
    }
}

/// Counts of what happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Instructions of warps.
    pub steps: u64,
    /// Instructions of lanes.
    pub lane_instructions: u64,
    /// Branches at which lanes parted.
    pub divergences: u64,
    /// Updates of mbarriers: arrivals of groups of lanes.
    pub barrier_updates: u64,
    /// Batches of copies that groups of lanes closed.
    pub batches: u64,
    /// Asynchronous copies.
    pub copies: u64,
    /// Bytes that they moved.
    pub copied_bytes: u64,
}

/// A launch of a kernel, being executed.
#[derive(Clone)]
pub struct Machine<'p> {
    /// The program.
    pub program: &'p Program,
    /// What is executed.
    pub code: Arc<Code>,
    /// Where things lie.
    pub image: Arc<Image>,
    /// How it is run.
    pub options: Options,
    /// The grid, the CTA and the cluster, in CTAs, threads, CTAs.
    pub shape: Shape,
    /// CTAs that have started, in that order.
    pub ctas: Vec<Share<Cta>>,
    /// Their clusters.
    pub clusters: Vec<Cluster>,
    /// Their warps.
    pub warps: Vec<Share<Warp>>,
    /// Global memory.
    pub global: Global,
    /// Parameters of the kernel.
    pub parameters: Vec<u8>,
    /// Copies under way.
    pub copies: Copies,
    /// Counts.
    pub statistics: Statistics,
    /// What was found, in order.
    pub findings: Vec<Finding>,
    /// What the kernel printed since somebody took it.
    pub output: String,
    /// Events since somebody took them.
    pub events: Vec<Event>,
    /// What the barriers of CTAs that have ended were used for, by place and variable.
    pub history: Vec<cta::Used>,
    /// Instructions of warps and idle times: the clock, in nanoseconds.
    time: u64,
    /// Bytes that the instruction in hand has touched so far, while somebody watches.
    touched: Vec<event::Touch>,
    /// Changes of memory or barriers so far.
    epoch: u64,
    /// Why the run ended.
    stopped: Option<Outcome>,
    /// What the chip would report.
    fault: Option<Fault>,
    /// A barrier has trapped, and the next instruction will notice.
    trapping: bool,
    /// Findings by rule and instruction.
    known: FxHashMap<(&'static str, Pc), usize>,
    ready: run::Ready,
    stall: run::Stall,
    /// The next cluster to start.
    next_cluster: u64,
    /// CTAs that have started and not ended.
    resident: u64,
    buffers: Arc<[launch::Buffer]>,
    /// Which registers count when states are compared: empty, all.
    live: Arc<live::Live>,
}

/// The extents of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic: u32,
    /// Bytes of a CTA's shared memory, from the first address that a kernel can use on.
    pub shared: u64,
    /// So many CTAs are resident at most.
    pub resident: u64,
    /// Whether the launch has clusters.
    pub clustered: bool,
}

impl Shape {
    /// Threads of a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a CTA.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    /// CTAs of the grid.
    pub fn ctas(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// CTAs of a cluster.
    pub fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }
}

impl Machine<'_> {
    /// What the run came to; `None` while it goes on.
    pub fn outcome(&self) -> Option<Outcome> {
        self.stopped
    }

    /// Which limit ended the run.
    pub fn limit(&self) -> Option<String> {
        match self.stopped {
            Some(Outcome::Limit) => Some(format!(
                "`--max-steps` allows {}: raise it, or look for a loop without an end at {}",
                words::count(self.options.max_steps, "warp instruction"),
                self.whereabouts()
            )),
            _ => None,
        }
    }

    /// Where threads are: "line 7" or "lines 7, 12".
    fn whereabouts(&self) -> String {
        let groups = self.warps.iter().flat_map(|warp| &warp.groups);
        let lines: std::collections::BTreeSet<u32> = groups.map(|group| self.line(group.pc)).collect();
        let shown: Vec<String> = lines.iter().take(6).map(u32::to_string).collect();
        format!("line{} {}", if shown.len() == 1 { "" } else { "s" }, shown.join(", "))
    }

    /// What the chip would report as an error.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// The clock, in nanoseconds: an instruction of a warp takes one.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The bytes of an argument's buffer as they are now.
    pub fn argument(&self, index: usize) -> Option<&[u8]> {
        self.global.argument(index).map(memory::Bytes::data)
    }
}
