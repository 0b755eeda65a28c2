//! Kernels as nvcc compiles them (`tests/data/kernels`): each computes what the launch comments say, by
//! default and with everything left to chance.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};

use support::{Failures, files, read, short_name};

/// By default, and with everything left to chance.
const WAYS: [&str; 5] = [
    "",
    "--reconverge never",
    "--schedule random --async random --reconverge random --seed 1",
    "--schedule random --async random --reconverge random --seed 2",
    "--schedule random --async random --reconverge random --seed 3",
];

/// The kernels that a file has launches for.
fn kernels(text: &str) -> Vec<&str> {
    let launches = text.lines().filter_map(|line| line.strip_prefix("// mbar: launch kernel="));
    launches.filter_map(|rest| rest.split_whitespace().next()).collect()
}

/// What is wrong with a run, if anything is.
fn run(path: &Path, kernel: &str, way: &str) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mbar"));
    command.args(["run", "--deny", "warnings", "--kernel", kernel]).args(way.split_whitespace());
    let output = command.arg(path).stdin(Stdio::null()).output().expect("mbar starts");
    let out = String::from_utf8_lossy(&output.stdout);
    if output.status.code() != Some(0) {
        return Err(format!("{}\n{out}{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let printed = path.with_extension("out");
    if printed.exists() && out != read(&printed) {
        return Err(format!("it prints:\n{out}"));
    }
    Ok(())
}

#[test]
fn compiled_kernels_compute_what_is_expected() {
    let mut failures = Failures::new(Vec::new());
    let mut count = 0;
    for path in files("kernels", "ptx") {
        let text = read(&path);
        for kernel in kernels(&text) {
            for way in WAYS {
                count += 1;
                if let Err(fault) = run(&path, kernel, way) {
                    failures.push(format!("{} {kernel} {way}: {fault}", short_name(&path)));
                }
            }
        }
    }
    assert!(count > 200, "only {count} runs");
    failures.report("See the launch comments of the file.");
}
