//! Speed of `mbar run`: instructions of lanes in a converged loop, a ring of barriers and copies, and how the
//! cost grows with the work.
//!
//! `cargo bench --bench run` measures; `cargo bench --bench run -- --test` runs each part once.

use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput};
use mbar::check::{Settings, check};
use mbar::launch::{self, Launch, Overrides};
use mbar::machine::choice::{Landing, Schedule, Strategy};
use mbar::machine::finding::Outcome;
use mbar::machine::{Machine, Options, Statistics};
use mbar::program::Program;
use mbar::source::SourceFile;

/// A producer, four consumer warps and four buffers; 1024 rounds of 128 bytes.
const RING: &str = include_str!("inputs/ring4_1024.ptx");

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4))
        .configure_from_args();
    measure(&mut criterion, "integer-loop", &integer_loop(200_000));
    measure(&mut criterion, "ring-1024", RING);
    criterion.final_summary();
    let arguments: Vec<String> = std::env::args().collect();
    if !arguments.iter().any(|argument| ["--test", "--list"].contains(&argument.as_str())) {
        growth();
    }
}

/// A warp that does nothing but integer arithmetic, in `rounds` iterations of 9 instructions.
fn integer_loop(rounds: u32) -> String {
    format!(
        "// mbar: launch block=32\n// mbar: arg p_out = u32[32] fill 0\n\
         .version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p_out)\n{{\n\
         .reg .pred p; .reg .b32 i, x, y, t; .reg .b64 o, u;\n\
         ld.param.u64 o, [p_out];\nmov.u32 t, %tid.x;\nmul.wide.u32 u, t, 4;\nadd.u64 o, o, u;\n\
         mov.u32 i, 0;\nmov.u32 x, t;\nmov.u32 y, 1;\n\
         L: add.u32 x, x, y;\nxor.b32 y, y, x;\nmad.lo.u32 x, x, 5, i;\nshl.b32 y, y, 1;\n\
         and.b32 y, y, 0xffff;\nsub.u32 x, x, y;\nadd.u32 i, i, 1;\nsetp.lt.u32 p, i, {rounds};\n@p bra L;\n\
         st.global.u32 [o], x;\nret;\n}}\n"
    )
}

/// The ring with other than 1024 rounds.
fn ring(rounds: u32) -> String {
    RING.replace("131072", &(128 * rounds).to_string()).replace("%r10, 1024", &format!("%r10, {rounds}"))
}

fn read(text: &str) -> (Program, Launch) {
    let checked = check(SourceFile::new("bench.ptx", text), &Settings::default());
    let mut no_files = |_: &str| Err(std::io::Error::other("no files"));
    let launch = launch::read(&checked.program, &Overrides::default(), &mut no_files);
    (checked.program, launch.expect("a launch"))
}

/// Runs as `mbar run` does by default: with all checks of undefined behaviour.
fn run(program: &Program, launch: &Launch) -> Statistics {
    let Ok(mut machine) = Machine::new(program, launch, Options::default()) else { panic!("no machine") };
    let mut strategy = Strategy::new(Schedule::default(), Landing::default(), 0);
    assert_eq!(machine.run(&mut strategy, &mut |_| {}), Outcome::Completed);
    machine.statistics
}

fn measure(criterion: &mut Criterion, name: &str, text: &str) {
    let (program, launch) = read(text);
    let statistics = run(&program, &launch);
    let mut group = criterion.benchmark_group("run");
    group.throughput(Throughput::Elements(statistics.lane_instructions));
    group.bench_function(name, |bencher| {
        bencher.iter_batched(|| (), |()| run(&program, &launch), BatchSize::PerIteration);
    });
    group.finish();
}

/// The best of some runs, in seconds.
fn best(text: &str) -> f64 {
    let (program, launch) = read(text);
    let time = |_| {
        let start = Instant::now();
        run(&program, &launch);
        start.elapsed().as_secs_f64()
    };
    (0..7).map(time).fold(f64::INFINITY, f64::min)
}

/// Four times the work takes four times as long.
fn growth() {
    for (name, small, large) in
        [("integer loop", integer_loop(100_000), integer_loop(400_000)), ("ring", ring(1024), ring(4096))]
    {
        println!("four times the work, {name}: {:.2} times the time", best(&large) / best(&small));
    }
}
