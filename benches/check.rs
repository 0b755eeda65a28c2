//! Speed of `mbar check`: in the library, as a process, over many files, and next to ptxas.
//!
//! `cargo bench` measures; `cargo bench -- --test` runs each part once.

#[path = "inputs/mod.rs"]
mod inputs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput};
use mbar::check::{self, Settings, check};
use mbar::diagnostic::Severity;
use mbar::extract::Language;
use mbar::source::SourceFile;

const EMPTY_KERNEL: &str =
    ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n";

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4))
        .configure_from_args();
    in_the_library(&mut criterion);
    headers(&mut criterion);
    as_a_process(&mut criterion);
    many_files(&mut criterion);
    criterion.final_summary();
    let arguments: Vec<String> = std::env::args().collect();
    if !arguments.iter().any(|argument| ["--test", "--list"].contains(&argument.as_str())) {
        next_to_ptxas();
    }
}

/// Parsing, matching and all rules, on one core.
fn in_the_library(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check");
    for (name, text) in
        [("100k-lines", inputs::large_module(100_000)), ("mb10k", inputs::barrier_rounds(2_000))]
    {
        let checked = check(SourceFile::new(name, text.clone()), &Settings::default());
        assert_eq!(checked.count(Severity::Error), 0, "{name} is correct");
        drop(checked);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || SourceFile::new(name, text.clone()),
                |source| check(source, &Settings::default()),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// 100,000 lines of CUDA headers, one file after the other on one core. They hold far more `asm` statements a
/// line than real ones do.
fn headers(criterion: &mut Criterion) {
    let texts =
        [include_str!("../tests/data/inline/shapes.cu"), include_str!("../tests/data/inline/macros.cuh")];
    let mut lines = 0;
    let files = texts.iter().cycle().take_while(|text| {
        lines += text.lines().count();
        lines <= 100_000
    });
    let files: Vec<&str> = files.copied().collect();
    let check_all = |files: Vec<Arc<SourceFile>>| -> usize {
        let findings = |file| check::file(file, Language::Cxx, &Settings::default()).diagnostics.len();
        files.into_iter().map(findings).sum()
    };
    let sources = || files.iter().map(|text| SourceFile::new("header.cuh", *text)).collect::<Vec<_>>();
    assert_eq!(check_all(sources()), 0, "the headers are correct");
    let mut group = criterion.benchmark_group("check");
    group.throughput(Throughput::Bytes(files.iter().map(|text| text.len() as u64).sum()));
    group.bench_function("100k-lines-of-headers", |bencher| {
        bencher.iter_batched(sources, check_all, BatchSize::LargeInput);
    });
    group.finish();
}

/// From the start of the process to its end, on an empty file.
fn as_a_process(criterion: &mut Criterion) {
    let file = write("empty.ptx", "");
    criterion.bench_function("process/empty-file", |bencher| bencher.iter(|| run(&mut mbar(&[&file]))));
}

/// A folder's worth of files, on one thread and on all.
fn many_files(criterion: &mut Criterion) {
    let text = inputs::large_module(4_000);
    let files: Vec<PathBuf> = (0..64).map(|i| write(&format!("many{i}.ptx"), &text)).collect();
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let mut group = criterion.benchmark_group("64-files");
    group.throughput(Throughput::Bytes((text.len() * files.len()) as u64));
    group.bench_function("one-thread", |bencher| {
        bencher.iter(|| run(mbar(&paths).env("RAYON_NUM_THREADS", "1")));
    });
    group.bench_function("all-threads", |bencher| bencher.iter(|| run(&mut mbar(&paths))));
    group.finish();
}

/// User CPU time of whole processes, ours and ptxas's in turn, start-up subtracted on both sides.
fn next_to_ptxas() {
    let Some(ptxas) = find_ptxas() else {
        println!("ptxas: not found ($PTXAS, PATH, ~/.cache/ptxas/13.5/ptxas); comparison skipped");
        return;
    };
    let large = write("mb10k.ptx", &inputs::barrier_rounds(2_000));
    let small = write("small.ptx", EMPTY_KERNEL);
    let theirs = |file: &Path| {
        let mut command = Command::new(&ptxas);
        command.arg("-arch=compute_90a").arg(file).args(["-o", "/dev/null"]);
        command
    };
    let (mut ours, mut ours_small, mut others, mut others_small) = (vec![], vec![], vec![], vec![]);
    for _ in 0..7 {
        let pairs = [
            (&mut ours, mbar(&[&large])),
            (&mut others, theirs(&large)),
            (&mut ours_small, mbar(&[&small])),
            (&mut others_small, theirs(&small)),
        ];
        for (times, mut command) in pairs {
            let Some(time) = user_time(&mut command) else {
                println!("ptxas: CPU times of processes are not to be had here; comparison skipped");
                return;
            };
            times.push(time);
        }
    }
    let ours = (median(ours), median(ours_small));
    let others = (median(others), median(others_small));
    let (mine, other) = (ours.0 - ours.1, others.0 - others.1);
    println!(
        "ptxas: user CPU time on mb10k, less that on an empty kernel: mbar check {:.1} ms ({:.1} - {:.1}), \
         ptxas {:.1} ms ({:.1} - {:.1})",
        mine, ours.0, ours.1, other, others.0, others.1
    );
    println!("ptxas: ratio {:.1}", other / mine);
}

fn find_ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("PTXAS").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("ptxas"));
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cached = home.join(".cache/ptxas/13.5/ptxas");
    named.into_iter().chain(on_path).chain([cached]).find(|file| file.is_file())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// `mbar check FILES`, silent.
fn mbar(files: &[&Path]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mbar"));
    command.arg("check").args(files).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn run(command: &mut Command) {
    let status = command.status().expect("the command starts");
    assert!(status.code().is_some(), "{command:?} was killed");
}

/// The user CPU time of one run, in milliseconds.
#[cfg(unix)]
fn user_time(command: &mut Command) -> Option<f64> {
    let before = children()?;
    assert!(command.status().ok()?.success(), "{command:?} failed");
    Some(children()? - before)
}

#[cfg(unix)]
fn children() -> Option<f64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: getrusage fills the whole structure when it returns 0.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) != 0 {
            return None;
        }
        usage.assume_init()
    };
    Some(usage.ru_utime.tv_sec as f64 * 1e3 + usage.ru_utime.tv_usec as f64 / 1e3)
}

#[cfg(not(unix))]
fn user_time(_: &mut Command) -> Option<f64> {
    None
}

/// Writes a file into the build's own temporary folder.
fn write(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("a writable temporary folder");
    path
}
