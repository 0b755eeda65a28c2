//! Programs against what an NVIDIA H200 made of them (`tests/data/hw`).
//!
//! With `--ub=warn` a run ends as on the chip and every compared word is equal; where the default mode
//! stops instead, `hw_rules.tsv` says which rule does, exact in both directions.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use mbar::diagnostic::Severity;
use mbar::machine::choice::{Landing, Schedule, Strategy};
use mbar::machine::finding::{Fault, Outcome};
use mbar::machine::{Options, Undefined};
use serde::Deserialize;
use support::execute::{Prepared, Ran};
use support::{Failures, data, read, rows};

/// A row of `expected.jsonl`.
#[derive(Deserialize)]
struct Expected {
    name: String,
    status: String,
    /// Words in hexadecimal; none: the word is not compared.
    #[serde(default)]
    pout: Vec<Option<String>>,
}

/// Words that the chip itself does not give twice.
const NOT_COMPARED: &[(&str, &str)] = &[
    ("state/cpa_warp_noinc_div1", "stores a register that nothing sets"),
    ("warp/warp_06", "stores %warpid, which is volatile"),
];

fn fault_of(status: &str) -> Option<Fault> {
    match status {
        "OK" => None,
        "CUDA_ERROR_LAUNCH_FAILED" => Some(Fault::LaunchFailed),
        "CUDA_ERROR_MISALIGNED_ADDRESS" => Some(Fault::MisalignedAddress),
        "CUDA_ERROR_ILLEGAL_ADDRESS" => Some(Fault::IllegalAddress),
        "CUDA_ERROR_ILLEGAL_INSTRUCTION" => Some(Fault::IllegalInstruction),
        other => panic!("unknown status {other}"),
    }
}

fn warn(prepared: &Prepared) -> Ran {
    let options = Options { undefined: Undefined::Warn, ..Options::default() };
    prepared.run(options, &mut Strategy::new(Schedule::default(), Landing::default(), 0))
}

fn expected(folder: &str) -> Vec<Expected> {
    let text = read(&data(&format!("hw/{folder}/expected.jsonl")));
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

/// What differs from the chip, in words.
fn difference(expected: &Expected, ran: &Ran) -> Option<String> {
    if ran.fault != fault_of(&expected.status) {
        return Some(format!("{} on the chip; here {:?}, {}", expected.status, ran.fault, ran.in_words()));
    }
    if ran.fault.is_some() {
        return None;
    }
    if ran.outcome != Outcome::Completed {
        return Some(ran.in_words());
    }
    let nothing = Vec::new();
    let words = ran.memory.get("pout").unwrap_or(&nothing);
    let size = words.len() / expected.pout.len().max(1);
    expected.pout.iter().enumerate().find_map(|(index, word)| {
        let wanted = u64::from_str_radix(word.as_deref()?.trim_start_matches("0x"), 16).expect("a word");
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&words[index * size..][..size]);
        let here = u64::from_le_bytes(bytes);
        (here != wanted).then(|| format!("word {index} is {wanted:#x} on the chip; here {here:#x}"))
    })
}

/// Runs all programs of a folder with `--ub=warn` and by default.
fn compare(folder: &str, programs: usize) {
    let all = expected(folder);
    assert_eq!(all.len(), programs);
    let rules = rules();
    let mut failures = Failures::default();
    for expected in &all {
        let name = format!("{folder}/{}", expected.name);
        let prepared = Prepared::read(&data(&format!("hw/{name}.ptx")));
        let found = difference(expected, &warn(&prepared));
        let excepted = NOT_COMPARED.iter().any(|(excepted, _)| *excepted == name);
        if found.is_some() != excepted {
            failures.push(format!("{name}: {}", found.unwrap_or_else(|| "no exception any more".into())));
        }
        let ran = prepared.run_default();
        let ours = first_error(&ran);
        let listed = rules.get(&name);
        if ours.as_ref() != listed {
            failures.push(format!(
                "{name}: default mode gives {ours:?}, the list {listed:?}: {}",
                ran.in_words()
            ));
        }
    }
    failures.report("The chip is right.");
}

/// The rule that stops a run, and its line; else that of the first warning.
fn first_error(ran: &Ran) -> Option<(String, u32)> {
    let of = |severity| ran.findings.iter().find(|found| found.severity == severity);
    let found = of(Severity::Error).or_else(|| of(Severity::Warning));
    let found = found.map(|found| (found.number.to_string(), found.line));
    found.or_else(|| (ran.outcome != Outcome::Completed).then(|| (ran.outcome.as_str().to_string(), 0)))
}

/// `hw_rules.tsv`: program, rule, line.
fn rules() -> BTreeMap<String, (String, u32)> {
    let rows = rows("hw_rules.tsv").into_iter();
    rows.map(|row| (row[0].clone(), (row[1].clone(), row[2].parse().expect("a line")))).collect()
}

#[test]
fn barrier_state() {
    compare("state", 49);
}

#[test]
fn probes() {
    compare("probe", 120);
}

#[test]
fn random_sequences_and_pipelines() {
    compare("random", 230);
}

/// What the first four folders left open: limits of counts, initial counts out of range, lanes that arrive
/// without completing, sizes of sources, missing CTAs.
#[test]
fn edges() {
    compare("edge", 133);
}

#[test]
fn scalar_instructions() {
    compare("scalar", 18);
}

#[test]
fn warp_instructions() {
    compare("warp", 7);
}

/// A row of `tma/jobs.jsonl`.
#[derive(Deserialize)]
struct Job {
    id: u32,
    op: String,
    r#type: String,
    dims: Vec<u64>,
    strides: Vec<u64>,
    #[serde(rename = "box")]
    box_dims: Vec<u32>,
    element_strides: Vec<u32>,
    swizzle: String,
    oob_fill: String,
    coords: Vec<i32>,
    expect_tx: u64,
    complete: Option<u64>,
    smem: Option<String>,
    changed: Option<BTreeMap<usize, String>>,
    fault: Option<String>,
}

impl Job {
    fn is_load(&self) -> bool {
        self.op == "load"
    }

    /// The program with the launch of this job.
    fn text(&self, program: &str) -> String {
        let kernel = format!("{}{}", if self.is_load() { "ld" } else { "st" }, self.dims.len());
        let mut coords = self.coords.clone();
        coords.resize(5, 0);
        format!(
            "// mbar: launch kernel={kernel} grid=1 block=1\n\
             // mbar: arg pout = u64[1026] fill 0\n\
             // mbar: tensormap tm = {}{:?} strides={:?} box={:?} swizzle={} oob={} element_strides={:?} data=pdata\n\
             // mbar: arg co = s32[5] {coords:?}\n\
             // mbar: arg pexp = u32 {}\n\
             // mbar: arg pdata = @tensor.bin\n\
             {}",
            self.r#type,
            self.dims,
            self.strides,
            self.box_dims,
            self.swizzle,
            self.oob_fill,
            self.element_strides,
            self.expect_tx,
            program,
        )
    }

    /// The tensor's memory: bytes unlike their neighbours; floats are finite.
    fn tensor(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..65536_u32).map(|i| (i * 7 + 3 + (i >> 8)) as u8).collect();
        let size = match self.r#type.as_str() {
            "f16" | "bf16" => 2,
            "f32" | "tf32" => 4,
            "f64" => 8,
            _ => return bytes,
        };
        bytes.iter_mut().skip(size - 1).step_by(size).for_each(|byte| *byte &= 0xbf);
        bytes
    }

    fn difference(&self, ran: &Ran) -> Option<String> {
        if let Some(fault) = &self.fault {
            let same = ran.fault == fault_of(fault);
            return (!same).then(|| format!("{fault} on the chip; here {}", ran.in_words()));
        }
        if ran.outcome != Outcome::Completed {
            return Some(ran.in_words());
        }
        let out = &ran.memory["pout"];
        if let Some(complete) = self.complete
            && u64::from(out[0]) != complete
        {
            return Some(format!("complete is {complete} on the chip; here {}", out[0]));
        }
        if let Some(smem) = &self.smem {
            let mut wanted = bytes_of(smem);
            wanted.resize(8192, 0xcd);
            let differs = (0..8192).find(|&at| out[8 + at] != wanted[at]);
            return differs.map(|at| format!("byte {at} is {:#x}; here {:#x}", wanted[at], out[8 + at]));
        }
        let mut wanted = self.tensor();
        for (&at, hex) in self.changed.iter().flatten() {
            let bytes = bytes_of(hex);
            wanted[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let here = &ran.memory["pdata"];
        (0..wanted.len())
            .find(|&at| wanted[at] != here[at])
            .map(|at| format!("byte {at} of the tensor is {:#x}; here {:#x}", wanted[at], here[at]))
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).expect("hex")).collect()
}

fn tensor_copies(file: &str, jobs: usize) {
    let program = read(&data("hw/tma/tma.ptx"));
    let text = read(&data(&format!("hw/tma/{file}")));
    assert_eq!(text.lines().count(), jobs);
    let mut failures = Failures::default();
    for line in text.lines() {
        let job: Job = serde_json::from_str(line).expect("a job");
        let tensor = job.tensor();
        let prepared =
            Prepared::with_files("tma.ptx", &job.text(&program), &mut |_: &str| Ok(tensor.clone()));
        if let Some(difference) = job.difference(&warn(&prepared)) {
            failures.push(format!("{file} {}: {difference}", job.id));
        }
    }
    failures.report("The chip is right.");
}

#[test]
fn tensor_copies_of_every_kind() {
    tensor_copies("jobs.jsonl", 189);
}

#[test]
fn tensor_copies_with_rows_shorter_than_the_swizzle() {
    tensor_copies("more.jsonl", 42);
}

#[test]
fn every_listed_program_exists() {
    for name in rules().keys() {
        assert!(Path::new(&data(&format!("hw/{name}.ptx"))).exists(), "{name}");
    }
}
