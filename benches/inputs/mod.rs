//! Generated PTX for the benches and the memory test. The same text on every machine.
#![allow(dead_code, reason = "each user takes a part of it")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A module of at least `lines` lines: the compiled kernels of `tests/data` for sm_90, over and over,
/// each copy under a name of its own.
pub fn large_module(lines: usize) -> String {
    let kernels = kernels();
    let mut text = String::from(".version 9.5\n.target sm_90a\n.address_size 64\n");
    for name in ["buffer", "shared", "global_smem"] {
        let _ = writeln!(text, ".extern .shared .align 16 .b8 {name}[];");
    }
    let mut written = text.lines().count();
    for (index, (name, kernel)) in kernels.iter().cycle().enumerate() {
        if written >= lines {
            break;
        }
        let renamed = kernel.replacen(&format!(" {name}("), &format!(" {name}_{index}("), 1);
        written += renamed.lines().count() + 1;
        text.push('\n');
        text.push_str(&renamed);
    }
    text
}

/// Names and texts of the kernels, sorted by file.
fn kernels() -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> = ["guide", "real"].iter().flat_map(|folder| files_in(folder)).collect();
    files.sort();
    let mut kernels = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a readable kernel");
        // The one that calls a function declared outside of the kernel.
        if text.contains("__assertfail") {
            continue;
        }
        let start = text.find(".visible .entry ").expect("a kernel");
        let end = start + end_of_block(&text[start..]);
        let name = text[start..].split([' ', '(']).nth(2).expect("the kernel's name");
        kernels.push((name.to_string(), format!("{}\n", &text[start..end])));
    }
    kernels
}

/// The first byte behind the block that begins in `text`.
fn end_of_block(text: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    panic!("the block never ends");
}

fn files_in(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder);
    let entries = fs::read_dir(folder).expect("tests/data");
    let files = entries.map(|entry| entry.expect("a readable folder").path());
    files.filter(|file| ["sm_90.ptx", "sm90.ptx"].iter().any(|end| ends_with(file, end))).collect()
}

fn ends_with(file: &Path, end: &str) -> bool {
    file.to_str().is_some_and(|name| name.ends_with(end))
}

/// One kernel with `rounds` times the life of a barrier: five mbarrier instructions, two copies, an
/// arrival by cp.async and two fences in each.
pub fn barrier_rounds(rounds: usize) -> String {
    let mut text = String::from(
        "\
.version 8.6
.target sm_90a
.address_size 64

.visible .entry mb10k(.param .u64 p_in)
{
    .reg .pred p, q;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .shared .align 8 .b64 bars[64];
    .shared .align 128 .b8 buf[8192];
    ld.param.u64 %rd1, [p_in];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 q, %r1, 0;
    @q bra DONE;
",
    );
    for i in 0..rounds {
        let barrier = format!("[bars+{}]", 8 * (i % 64));
        let to = 128 * (i % 64);
        let and_on = to + 64;
        let _ = write!(
            text,
            "    mbarrier.init.shared::cta.b64 {barrier}, 3;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, {barrier}, 64;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buf+{to}], [%rd2], 64, {barrier};
    cp.async.cg.shared.global [buf+{and_on}], [%rd2], 16;
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 {barrier};
    mbarrier.arrive.release.cta.shared::cta.b64 _, {barrier};
W{i}:
    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, {barrier}, 0;
    @!p bra W{i};
    mbarrier.inval.shared::cta.b64 {barrier};
    fence.proxy.async.shared::cta;
"
        );
    }
    text.push_str("DONE:\n    ret;\n}\n");
    text
}
