//! Speed and memory of `mbar verify`: a ring of barriers and copies, how the cost grows with the work, and what
//! looking for races costs.
//!
//! `cargo bench --bench verify` measures; `cargo bench --bench verify -- --test` runs each part once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use criterion::Criterion;
use mbar::check::{Settings, check};
use mbar::launch::{self, Launch, Overrides};
use mbar::machine::choice::{Landing, Schedule, Strategy};
use mbar::machine::finding::Outcome;
use mbar::machine::{Machine, Options};
use mbar::program::Program;
use mbar::source::SourceFile;
use mbar::verify::explore::Bounds;
use mbar::verify::watch::Watch;
use mbar::verify::{self, Verdict};

/// Counts the bytes that are allocated, and the most that ever were.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go to the system's allocator as they are.
#[allow(unsafe_code, reason = "an allocator that counts")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A producer, four consumer warps and four buffers; 1024 rounds of 128 bytes.
const RING: &str = include_str!("inputs/ring4_1024.ptx");

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let (program, launch) = read(RING);
    criterion.bench_function("verify/ring-1024", |bencher| bencher.iter(|| judge(&program, &launch)));
    criterion.bench_function("races/ring-1024", |bencher| bencher.iter(|| races(&program, &launch)));
    criterion.final_summary();
    let arguments: Vec<String> = std::env::args().collect();
    if !arguments.iter().any(|argument| ["--test", "--list"].contains(&argument.as_str())) {
        compare();
    }
}

/// The ring with other than 1024 rounds.
fn ring(rounds: u32) -> String {
    RING.replace("131072", &(128 * rounds).to_string()).replace("%r10, 1024", &format!("%r10, {rounds}"))
}

/// The same, with all rounds over the same words of global memory.
fn in_place(rounds: u32) -> String {
    ring(rounds)
        .replace("%rd3, %rd3, 128", "%rd3, %rd3, 0")
        .replace("%rd6, %rd6, 512", "%rd6, %rd6, 0")
        .replace(&(128 * rounds).to_string(), "512")
}

fn read(text: &str) -> (Program, Launch) {
    let checked = check(SourceFile::new("bench.ptx", text), &Settings::default());
    let mut no_files = |_: &str| Err(std::io::Error::other("no files"));
    let launch = launch::read(&checked.program, &Overrides::default(), &mut no_files);
    (checked.program, launch.expect("a launch"))
}

fn strategy() -> Strategy {
    Strategy::new(Schedule::default(), Landing::default(), 0)
}

fn run(program: &Program, launch: &Launch) {
    let Ok(mut machine) = Machine::new(program, launch, Options::default()) else { panic!("no machine") };
    assert_eq!(machine.run(&mut strategy(), &mut |_| {}), Outcome::Completed);
}

fn races(program: &Program, launch: &Launch) {
    let options = Options { events: true, ..Options::default() };
    let Ok(mut machine) = Machine::new(program, launch, options) else { panic!("no machine") };
    let mut watch = Watch::new();
    let outcome = machine.run_watched(&mut strategy(), &mut |machine| watch.observe(machine), &mut |_| {});
    assert_eq!(outcome, Outcome::Completed);
}

fn judge(program: &Program, launch: &Launch) {
    let settings = verify::Settings {
        options: Options::default(),
        strict: false,
        explore: false,
        jobs: 1,
        bounds: Bounds::default(),
    };
    let Ok(verification) = verify::verify(program, launch, &settings, &|_| {}) else { panic!("no launch") };
    assert_eq!(verification.verdict, Verdict::Holds);
}

/// The best of some runs, in seconds.
fn best(work: impl Fn()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..7).map(time).fold(f64::INFINITY, f64::min)
}

/// The most memory that was allocated at once, in bytes, of reading and verifying a text.
fn memory(text: &str) -> usize {
    MOST.store(NOW.load(Ordering::Relaxed), Ordering::Relaxed);
    let before = NOW.load(Ordering::Relaxed);
    let (program, launch) = read(text);
    judge(&program, &launch);
    MOST.load(Ordering::Relaxed) - before
}

fn compare() {
    let (small, large) = (ring(1024), ring(10_240));
    let ((program, launch), (large_program, large_launch)) = (read(&small), read(&large));
    let plain = best(|| run(&program, &launch));
    let time = best(|| judge(&program, &launch));
    println!("the ring: verified in {:.0} ms, {:.1} times a plain run", 1000.0 * time, time / plain);
    println!("looking for races: {:.1} times a plain run", best(|| races(&program, &launch)) / plain);
    let longer = best(|| judge(&large_program, &large_launch));
    println!("ten times the rounds: {:.1} times the time", longer / time);
    let (least, most) = (memory(&small), memory(&large));
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    println!("memory: {:.1} MB, with ten times the rounds {:.1} MB", megabytes(least), megabytes(most));
    let (least, most) = (memory(&in_place(1024)), memory(&in_place(10_240)));
    println!(
        "over the same words: {:.2} MB, with ten times the rounds {:.2} MB",
        megabytes(least),
        megabytes(most)
    );
}
