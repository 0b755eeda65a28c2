//! The shape of a launch: defaults, the limits of the hardware, and what the kernel declares of itself.

use super::kernel::Kernel;
use super::part::{Fault, Place, Refusal};
use super::rules::BAD_LAUNCH;
use super::script::{Setting, Start};
use crate::isa::TargetId;
use crate::program::Program;
use crate::source::Span;

const MOST_THREADS: u64 = 1024;
const MOST_CTAS_OF_A_CLUSTER: u64 = 16;
const MOST_BLOCK: [u32; 3] = [1024, 1024, 64];
const MOST_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Threads of a CTA when nothing says how many: one warp.
const USUAL_BLOCK: u32 = 32;

/// Extents of a launch, all at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub smem: u32,
    pub resident: Option<u32>,
}

/// The shape that `start` asks for; `at` is the launch as a whole. What was chosen without being asked for
/// is told in `notes`.
pub(super) fn shape(
    start: &Start,
    at: Place,
    kernel: &Kernel,
    notes: &mut Vec<String>,
    refusal: &mut Refusal,
) -> Shape {
    let cluster = start.cluster.map(|(cluster, _)| cluster).or(declared_cluster(kernel)).unwrap_or([1; 3]);
    let block = start.block.map(|(block, _)| block).unwrap_or_else(|| usual_block(kernel, notes));
    let grid = start.grid.map(|(grid, _)| grid).unwrap_or_else(|| {
        let one = if count(cluster) == 1 { "one CTA" } else { "one cluster" };
        notes.push(format!("no grid is given: running {one} (`grid={}`)", spelled(cluster)));
        cluster
    });
    let smem = start.smem.map_or(0, |(smem, _)| smem);
    let shape = Shape { grid, block, cluster, smem, resident: start.resident.map(|(n, _)| n) };
    let mut checks = Checks { shape, start, at, kernel, refusal };
    checks.block();
    checks.grid();
    checks.cluster();
    checks.smem();
    shape
}

fn declared_cluster(kernel: &Kernel) -> Option<[u32; 3]> {
    kernel.extents(".reqnctapercluster").map(|(cluster, _)| cluster.map(|n| n.max(1)))
}

fn usual_block(kernel: &Kernel, notes: &mut Vec<String>) -> [u32; 3] {
    if let Some((block, _)) = kernel.extents(".reqntid") {
        return block.map(|n| n.max(1));
    }
    let most = kernel.extents(".maxntid").map_or(MOST_THREADS, |(most, _)| count(most));
    let threads = most.clamp(1, USUAL_BLOCK.into()) as u32;
    notes.push(format!("no block is given: running CTAs of {threads} threads (`block={threads}`)"));
    [threads, 1, 1]
}

/// The product of the extents.
fn count(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |all: u64, n| all.saturating_mul((*n).into()))
}

/// `64`, `32,2` or `32,2,2`
fn spelled(extents: [u32; 3]) -> String {
    match extents {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x},{y}"),
        [x, y, z] => format!("{x},{y},{z}"),
    }
}

struct Checks<'a, 'b> {
    shape: Shape,
    start: &'a Start<'b>,
    at: Place,
    kernel: &'a Kernel<'b>,
    refusal: &'a mut Refusal,
}

impl Checks<'_, '_> {
    fn fault(&self, setting: Setting<[u32; 3]>, message: String) -> Fault {
        Fault::new(&BAD_LAUNCH, setting.map_or(self.at, |(_, place)| place), message)
    }

    fn block(&mut self) {
        let block = self.shape.block;
        let given = self.start.block;
        if let Some(fault) = self.beyond("block", block, MOST_BLOCK, given) {
            self.refusal.push(fault);
        } else if count(block) > MOST_THREADS {
            let message = format!("a block of {} threads", count(block));
            self.refusal.push(self.fault(given, message).note("a CTA has at most 1024 threads"));
        } else {
            self.declared_block();
        }
    }

    /// The first dimension that is larger than any hardware allows.
    fn beyond(&self, what: &str, is: [u32; 3], most: [u32; 3], given: Setting<[u32; 3]>) -> Option<Fault> {
        let axis = (0..3).find(|&axis| is[axis] > most[axis])?;
        let name = ["x", "y", "z"][axis];
        let message = format!("the {what} is too large along {name}: {}", is[axis]);
        Some(self.fault(given, message).note(format!("the hardware allows at most {} there", most[axis])))
    }

    fn declared_block(&mut self) {
        let block = self.shape.block;
        if let Some((required, span)) = self.kernel.extents(".reqntid")
            && block != required
        {
            let message =
                format!("the block is {}, the kernel requires {}", spelled(block), spelled(required));
            self.declared(self.start.block, message, span, format!("write `block={}`", spelled(required)));
        }
        if let Some((most, span)) = self.kernel.extents(".maxntid")
            && count(block) > count(most)
        {
            let (is, most) = (count(block), count(most));
            let message = format!("a block of {is} threads, the kernel is compiled for at most {most}");
            self.declared(self.start.block, message, span, format!("write `block={most}` or less"));
        }
    }

    /// A contradiction to a directive of the kernel at `span`.
    fn declared(&mut self, setting: Setting<[u32; 3]>, message: String, span: Span, help: String) {
        let fault = self.fault(setting, message).also(Place::File(span), "declared here");
        self.refusal.push(fault.note("such a launch fails").help(help));
    }

    fn grid(&mut self) {
        let (grid, cluster) = (self.shape.grid, self.shape.cluster);
        if let Some(fault) = self.beyond("grid", grid, MOST_GRID, self.start.grid) {
            self.refusal.push(fault);
        } else if let Some(axis) = (0..3).find(|&axis| !grid[axis].is_multiple_of(cluster[axis].max(1))) {
            let name = ["x", "y", "z"][axis];
            let message = format!(
                "a grid of {} CTAs along {name} cannot be cut into clusters of {}",
                grid[axis], cluster[axis]
            );
            let fault = self.fault(self.start.grid, message).note("every cluster of a grid is complete");
            let next = u64::from(grid[axis]).next_multiple_of(cluster[axis].max(1).into());
            self.refusal
                .push(fault.help(format!("make the grid {next} along {name}, or the cluster smaller")));
        }
    }

    fn cluster(&mut self) {
        let (cluster, given) = (self.shape.cluster, self.start.cluster);
        let ctas = count(cluster);
        if ctas > MOST_CTAS_OF_A_CLUSTER {
            let message = format!("a cluster of {ctas} CTAs");
            self.refusal.push(self.fault(given, message).note("a cluster has at most 16 CTAs"));
            return;
        }
        if let Some((number, name)) = self.target().filter(|(number, _)| *number < 90 && ctas > 1) {
            let message = format!("a cluster of {ctas} CTAs on `{name}`");
            let fault =
                self.fault(given, message).note(format!("sm_{number} has no clusters; sm_90 and later have"));
            self.refusal.push(fault.help("leave `cluster` out, or compile for sm_90"));
        }
        self.declared_clusters(ctas);
    }

    fn declared_clusters(&mut self, ctas: u64) {
        let (cluster, given) = (self.shape.cluster, self.start.cluster);
        let required = declared_cluster(self.kernel);
        if let (Some(required), Some((_, span))) = (required, self.kernel.extents(".reqnctapercluster"))
            && required != cluster
        {
            let (is, wants) = (spelled(cluster), spelled(required));
            let message = format!("the cluster is {is}, the kernel requires {wants}");
            self.declared(given, message, span, format!("write `cluster={wants}` or leave it out"));
        }
        if let Some(([most, ..], span)) = self.kernel.extents(".maxclusterrank")
            && ctas > most.into()
        {
            let message = format!("a cluster of {ctas} CTAs, the kernel allows at most {most}");
            self.declared(given, message, span, format!("make the cluster {most} CTAs or smaller"));
        }
        if let Some((_, span)) = self.kernel.extents(".explicitcluster")
            && required.is_none()
            && given.is_none()
        {
            let message = "the kernel wants a cluster, the launch gives none".to_string();
            self.declared(given, message, span, "add `cluster=1` or the size that is meant".into());
        }
    }

    fn smem(&mut self) {
        let Some((bytes, place)) = self.start.smem else { return };
        let target = self.target();
        let most = most_shared(target.map(|(number, _)| number));
        if bytes <= most {
            return;
        }
        let on = target.map_or(String::new(), |(_, name)| format!(" on `{name}`"));
        let message = format!("{bytes} bytes of dynamic shared memory{on}");
        let note = format!("a CTA has at most {most} bytes ({} KiB) of shared memory", most / 1024);
        self.refusal.push(Fault::new(&BAD_LAUNCH, place, message).note(note).help("ask for less"));
    }

    fn target(&self) -> Option<(u32, &'static str)> {
        target(self.kernel.program)
    }
}

/// The number of a program's target and its name.
fn target(program: &Program) -> Option<(u32, &'static str)> {
    let name = program.header.target.map(TargetId::name)?;
    let digits = name.trim_start_matches("sm_").trim_end_matches(|c: char| !c.is_ascii_digit());
    Some((digits.parse().ok()?, name))
}

impl super::Launch {
    /// The most shared memory, in bytes, that a CTA of this launch can have, static and dynamic.
    pub fn most_shared(&self, program: &Program) -> u32 {
        most_shared(target(program).map(|(number, _)| number))
    }
}

/// The most shared memory of a CTA, in bytes, on target number `number` (CUDA C++ programming guide,
/// technical specifications by compute capability).
fn most_shared(number: Option<u32>) -> u32 {
    let kib = match number {
        Some(120 | 121 | 86 | 88 | 89) => 99,
        Some(80 | 87) => 163,
        Some(75) => 64,
        Some(70 | 72) => 96,
        Some(number) if number < 80 => 48,
        _ => 227,
    };
    kib * 1024
}
