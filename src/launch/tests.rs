use std::io;
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;

use super::*;
use crate::program::Options;
use crate::source::SourceFile;

fn program(text: &str) -> Program {
    Program::new(crate::syntax::parse(SourceFile::new("test.ptx", text)).module, Options::default())
}

/// A file with `lines` as directives and kernel `k` with `parameters`.
fn file(lines: &str, parameters: &str) -> String {
    let directives: String = lines.lines().map(|line| format!("// mbar: {line}\n")).collect();
    kernel(&directives, "sm_90a", parameters, "")
}

fn kernel(before: &str, target: &str, parameters: &str, declared: &str) -> String {
    format!(
        ".version 9.0\n.target {target}\n.address_size 64\n{before}.visible .entry k({parameters}) {declared}\n{{ ret; }}\n"
    )
}

fn overrides(flags: &[(Flag, &str)]) -> Overrides {
    let mut overrides = Overrides::default();
    flags.iter().for_each(|(flag, value)| overrides.push(*flag, value));
    overrides
}

fn bytes_of(path: &str) -> io::Result<Vec<u8>> {
    match path {
        "in.bin" => Ok((0..64).collect()),
        "empty.bin" => Ok(Vec::new()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "not found")),
    }
}

fn launch_of(text: &str, flags: &[(Flag, &str)]) -> Result<Launch, Refusal> {
    read(&program(text), &overrides(flags), &mut bytes_of)
}

#[track_caller]
fn launch(lines: &str, parameters: &str) -> Launch {
    let text = file(lines, parameters);
    launch_of(&text, &[]).unwrap_or_else(|refusal| panic!("{lines}\n{}", all(&refusal, &text).join("\n")))
}

/// "`text under the span` message" of each finding.
fn all(refusal: &Refusal, text: &str) -> Vec<String> {
    let told = |d: &crate::diagnostic::Diagnostic| format!("{} {}", &text[d.span.range()], d.message);
    refusal.file.iter().map(told).collect()
}

#[track_caller]
fn refused(lines: &str, parameters: &str, expected: &[&str]) {
    let text = file(lines, parameters);
    match launch_of(&text, &[]) {
        Ok(_) => panic!("accepted: {lines}"),
        Err(refusal) => assert_eq!(all(&refusal, &text), expected, "{lines}"),
    }
}

const BUFFER: &str = ".param .u64 p";
const TWO: &str = ".param .u64 p, .param .u32 n";
const MAP: &str = ".param .u64 p, .param .align 64 .b8 m[128]";

#[track_caller]
fn buffer(value: &str) -> Vec<u8> {
    match &launch(&format!("arg p = {value}"), BUFFER).arguments[0].kind {
        ArgumentKind::Buffer { bytes, .. } => bytes.clone(),
        other => panic!("{other:?}"),
    }
}

fn bits<const N: usize>(bytes: &[u8]) -> Vec<[u8; N]> {
    bytes.chunks_exact(N).map(|chunk| chunk.try_into().expect("N bytes")).collect()
}

fn u32s(value: &str) -> Vec<u32> {
    bits(&buffer(value)).into_iter().map(u32::from_le_bytes).collect()
}

fn u16s(value: &str) -> Vec<u16> {
    bits(&buffer(value)).into_iter().map(u16::from_le_bytes).collect()
}

fn f32s(value: &str) -> Vec<f32> {
    bits(&buffer(value)).into_iter().map(f32::from_le_bytes).collect()
}

#[test]
fn integers_are_spread_out() {
    assert_eq!(u32s("u32[4] iota"), [0, 1, 2, 3]);
    assert_eq!(u32s("u32[3] iota*3+1"), [1, 4, 7]);
    assert_eq!(u32s("u32[3] iota * -8 + 7"), [7, u32::MAX, u32::MAX - 8]);
    assert_eq!(u32s("s32[2] iota*-8-1"), [u32::MAX, u32::MAX - 8]);
    assert_eq!(u32s("u32[2] iota+5"), [5, 6]);
    assert_eq!(u32s("u32[2] iota-1"), [u32::MAX, 0]);
    assert_eq!(u32s("b32[2] [-1, 0xffffffff]"), [u32::MAX; 2]);
    assert_eq!(u32s("s32[3] [-2147483648, 2147483647, 0xffffffff]"), [1 << 31, i32::MAX as u32, u32::MAX]);
    assert_eq!(buffer("u8[4] iota*100"), [0, 100, 200, 44]);
    assert_eq!(buffer("s8[2] [-128, 127]"), [128, 127]);
    assert_eq!(buffer("u64[2] fill 0xffffffffffffffff"), [255; 16]);
    assert_eq!(buffer("u64[1] iota+18446744073709551615"), [255; 8]);
    assert_eq!(buffer("@in.bin"), (0..64).collect::<Vec<u8>>());
}

#[test]
fn floats_are_spread_out() {
    assert_eq!(f32s("f32[3] iota*0.5"), [0.0, 0.5, 1.0]);
    assert_eq!(f32s("f32[3] iota*1e-1-1"), [-1.0, -0.9, -0.8]);
    assert_eq!(f32s("f32[3] iota*-0.25+2.5"), [2.5, 2.25, 2.0]);
    assert_eq!(f32s("f32[4] [1, -0.1, inf, 0f3F800000]"), [1.0, -0.1, f32::INFINITY, 1.0]);
    assert_eq!(u32s("f32[3] [nan, 0x7fc00001, -0]"), [0x7fff_ffff, 0x7fc0_0001, 1 << 31]);
    assert_eq!(u16s("f16[4] [1, 65504, 0x3c01, -inf]"), [0x3c00, 0x7bff, 0x3c01, 0xfc00]);
    assert_eq!(u16s("bf16[2] [1, 0.1]"), [0x3f80, 0x3dcd]);
    assert_eq!(buffer("f64[1] [0d3FF0000000000000]"), 1.0f64.to_le_bytes());
    assert_eq!(u16s("f16[3] iota+2048"), [0x6800, 0x6800, 0x6801]);
}

#[test]
fn random_values_stay_the_same() {
    assert_eq!(u32s("u32[3] random 1"), u32s("u32[3] random 0x1"));
    let first = 0x910a_2dec_8902_5cc1u64;
    assert_eq!(buffer("u64[1] random 1"), first.to_le_bytes());
    assert_eq!(u32s("u32[1] random 1"), [first as u32]);
    let floats = f32s("f32[1000] random 7");
    assert!(floats.iter().all(|f| (-1.0..1.0).contains(f)));
    let halves = u16s("f16[1000] random 7");
    let halves = halves.iter().map(|h| float::from_bits(u64::from(*h), Type::F16));
    assert!(halves.clone().all(|f| (-1.0..1.0).contains(&f)) && halves.clone().any(|f| f < -0.9));
}

#[test]
fn scalars_and_arrays_are_passed_by_value() {
    let parameters = ".param .u32 a, .param .f32 b, .param .u64 c, .param .align 8 .b8 d[24], .param .u8 e";
    let lines =
        "arg a = s32 -1\narg b = f32 0.5\narg c = u64 0x100\narg d = u32[6] [1,2,3,4,5,6]\narg e = u8 255";
    let launch = launch(lines, parameters);
    let bytes: Vec<Vec<u8>> = launch
        .arguments
        .iter()
        .map(|argument| match &argument.kind {
            ArgumentKind::Scalar { bytes, .. } => bytes.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bytes[0], [255; 4]);
    assert_eq!(bytes[1], 0.5f32.to_le_bytes());
    assert_eq!(bytes[2], 256u64.to_le_bytes());
    assert_eq!(bytes[3].len(), 24);
    assert_eq!(bytes[3][20], 6);
    assert_eq!(bytes[4], [255]);
}

#[test]
fn a_shape_is_read_and_completed() {
    let full = launch("launch grid=4,2 block=32,2,2 cluster=2 smem=0x400 resident=3", "");
    assert_eq!((full.grid, full.block, full.cluster), ([4, 2, 1], [32, 2, 2], [2, 1, 1]));
    assert_eq!((full.smem, full.resident, full.notes.len()), (1024, Some(3), 0));
    let bare = launch("", "");
    assert_eq!((bare.grid, bare.block, bare.cluster, bare.smem), ([1; 3], [32, 1, 1], [1; 3], 0));
    assert_eq!(
        bare.notes,
        [
            "no block is given: running CTAs of 32 threads (`block=32`)",
            "no grid is given: running one CTA (`grid=1`)"
        ]
    );
    let declared = |declared| launch_of(&kernel("", "sm_90", "", declared), &[]).expect("a launch");
    assert_eq!(declared(".reqntid 16, 4").block, [16, 4, 1]);
    assert_eq!(declared(".maxntid 8").block, [8, 1, 1]);
    let clustered = declared(".explicitcluster .reqnctapercluster 2, 2");
    assert_eq!((clustered.cluster, clustered.grid), ([2, 2, 1], [2, 2, 1]));
}

#[test]
fn flags_override_the_file() {
    let lines = "launch grid=2 block=64\narg p = u32[64] iota\narg n = u32 1\nexpect p = u32[64] iota";
    let text = file(lines, TWO);
    let flags = [(Flag::Block, "128"), (Flag::Arg, "n=u32 5"), (Flag::Smem, "64"), (Flag::Resident, "1")];
    let launch = launch_of(&text, &flags).expect("a launch");
    assert_eq!((launch.grid[0], launch.block[0], launch.smem, launch.resident), (2, 128, 64, Some(1)));
    assert_eq!(launch.expects.len(), 1);
    assert!(launch.arguments[1].place.in_flags());
    let launch = launch_of(&text, &[(Flag::Arg, "p = u32[128] fill 0")]).expect("a launch");
    assert_eq!(launch.expects, []);
    assert_eq!(launch.notes, ["nothing is expected of `p`: a flag gives it another size than the file"]);
}

#[test]
fn findings_about_flags_point_into_them() {
    let text = file("launch grid=2 block=64", BUFFER);
    let flags =
        [(Flag::Grid, "3"), (Flag::Cluster, "2"), (Flag::Arg, "p=u32[4] itoa"), (Flag::Arg, "q=u8 1")];
    let refusal = launch_of(&text, &flags).expect_err("refused");
    assert_eq!(refusal.file, []);
    let source = overrides(&flags).source();
    assert_eq!(source.text(), "--grid 3 --cluster 2 --arg p=u32[4] itoa --arg q=u8 1");
    let told: Vec<String> =
        refusal.flags.iter().map(|d| format!("{}: {}", source.slice(d.span), d.message)).collect();
    assert_eq!(
        told,
        [
            "itoa: `itoa` is no way to fill a buffer",
            "3: a grid of 3 CTAs along x cannot be cut into clusters of 2",
            "q: kernel `k` has no parameter `q`",
        ]
    );
}

const THREE: &str = ".version 9.0\n.target sm_90\n.address_size 64\n\
    // mbar: launch kernel=a block=64\n// mbar: arg a_p = u32[4] iota\n\
    // mbar: launch kernel=b block=128\n// mbar: arg b_p = u32[8] iota\n// mbar: expect b_p = u32[8] iota\n\
    .visible .entry a(.param .u64 a_p) { ret; }\n.visible .entry b(.param .u64 b_p) { ret; }\n\
    .func f() { ret; }\n.visible .entry c() { ret; }\n";

#[test]
fn each_launch_has_its_own_lines() {
    let of = |name| launch_of(THREE, &[(Flag::Kernel, name)]).expect("a launch");
    assert_eq!((of("a").kernel, of("a").block[0], of("a").expects.len()), (0, 64, 0));
    assert_eq!((of("b").kernel, of("b").block[0], of("b").expects.len()), (1, 128, 1));
    assert_eq!((of("c").kernel, of("c").block[0]), (3, 32));
}

#[test]
fn a_file_with_several_kernels_asks_which() {
    let refusal = launch_of(THREE, &[]).expect_err("refused");
    assert_eq!(all(&refusal, THREE), ["a which kernel is to be run?"]);
    assert_eq!(refusal.file[0].notes, ["the file has the kernels `a`, `b`"]);
    let one =
        THREE.replace("launch kernel=a block=64", "allow(x)").replace("arg a_p = u32[4] iota", "allow(x)");
    assert_eq!(launch_of(&one, &[]).expect("a launch").kernel, 1);
    let unnamed = one.replace("kernel=b ", "");
    let refusal = launch_of(&unnamed, &[]).expect_err("refused");
    assert_eq!(all(&refusal, &unnamed), ["launch block=128 this launch does not say which kernel it starts"]);
    let refusal = launch_of(THREE, &[(Flag::Kernel, "d")]).expect_err("refused");
    assert_eq!(refusal.flags[0].message, "the file defines no kernel `d`");
    let twice = THREE.replace("kernel=b", "kernel=a");
    let refusal = launch_of(&twice, &[(Flag::Kernel, "c")]).expect_err("refused");
    assert_eq!(all(&refusal, &twice), ["launch kernel=a block=128 a second launch of `a`"]);
    let loose = THREE.replace("// mbar: launch kernel=a", "// mbar: arg x = u8 1\n// mbar: launch kernel=a");
    let refusal = launch_of(&loose, &[(Flag::Kernel, "a")]).expect_err("refused");
    assert_eq!(all(&refusal, &loose), ["arg x = u8 1 this `arg` stands above the first of several launches"]);
}

#[test]
fn a_file_without_kernels_is_refused() {
    let refusal = launch_of(".version 9.0\n.target sm_90\n.func f() { ret; }\n", &[]).expect_err("refused");
    assert_eq!(refusal.file[0].message, "the file defines no kernel, so there is nothing to run");
}

#[test]
fn wrong_directives_are_pointed_at() {
    refused("launch gird=2", "", &["gird `launch` has no key `gird`"]);
    refused("launch grid", "", &["grid `grid` has no value"]);
    refused("launch grid=2 grid=3", "", &["3 `grid` is given twice"]);
    refused("launch grid=0", "", &["0 `0` is not an extent"]);
    refused("launch grid=1,,2", "", &[" an extent is missing"]);
    refused("launch grid=1,2,3,4", "", &["1,2,3,4 `1,2,3,4` has more than three dimensions"]);
    refused("launch smem=1K", "", &["1K `1K` is not a number of bytes"]);
    refused("launch resident=0", "", &["0 `0` is not a number of CTAs"]);
    refused("launch kernel=kk", "", &["kk the file defines no kernel `kk`"]);
    refused("lauch grid=1", "", &["lauch `mbar: lauch` is not a directive"]);
    refused("arg p", "", &["p this does not say what is given to which parameter"]);
    refused("arg p q = u8 1", "", &["p q `p q` is not the name of a parameter"]);
}

#[test]
fn limits_of_the_hardware_hold() {
    refused("launch block=2048", "", &["2048 the block is too large along x: 2048"]);
    refused("launch block=1,1,65", "", &["1,1,65 the block is too large along z: 65"]);
    refused("launch block=64,32", "", &["64,32 a block of 2048 threads"]);
    refused("launch grid=2147483648", "", &["2147483648 the grid is too large along x: 2147483648"]);
    refused("launch grid=1,65536", "", &["1,65536 the grid is too large along y: 65536"]);
    refused("launch grid=3 cluster=2", "", &["3 a grid of 3 CTAs along x cannot be cut into clusters of 2"]);
    refused("launch grid=32 cluster=32", "", &["32 a cluster of 32 CTAs"]);
    refused("launch smem=232449", "", &["232449 232449 bytes of dynamic shared memory on `sm_90a`"]);
    assert_eq!(launch("launch smem=232448 grid=16 cluster=16", "").smem, 232_448);
    for (target, most) in [("sm_80", 163), ("sm_86", 99), ("sm_120a", 99), ("sm_100", 227), ("sm_52", 48)] {
        let of = |bytes| launch_of(&kernel(&format!("// mbar: launch smem={bytes}\n"), target, "", ""), &[]);
        assert!(of(most * 1024).is_ok() && of(most * 1024 + 1).is_err(), "{target}");
    }
    let old = kernel("// mbar: launch grid=2 cluster=2\n", "sm_80", "", "");
    let refusal = launch_of(&old, &[]).expect_err("refused");
    assert_eq!(all(&refusal, &old), ["2 a cluster of 2 CTAs on `sm_80`"]);
}

#[test]
fn what_the_kernel_declares_holds() {
    let cases = [
        (".reqntid 64", "block=32", "32 the block is 32, the kernel requires 64"),
        (".maxntid 64", "block=32,4", "32,4 a block of 128 threads, the kernel is compiled for at most 64"),
        (".reqnctapercluster 2", "grid=4 cluster=4", "4 the cluster is 4, the kernel requires 2"),
        (".reqnctapercluster 2", "grid=3", "3 a grid of 3 CTAs along x cannot be cut into clusters of 2"),
        (".maxclusterrank 2", "grid=4 cluster=4", "4 a cluster of 4 CTAs, the kernel allows at most 2"),
        (".explicitcluster", "grid=4", "launch grid=4 the kernel wants a cluster, the launch gives none"),
    ];
    for (declared, shape, expected) in cases {
        let text = kernel(&format!("// mbar: launch {shape}\n"), "sm_90", "", declared);
        let refusal = launch_of(&text, &[]).expect_err(expected);
        assert_eq!(all(&refusal, &text), [expected]);
    }
}

#[test]
fn arguments_must_fit() {
    refused(
        "",
        TWO,
        &[
            "p parameter `p` of kernel `k` is given no value",
            "n parameter `n` of kernel `k` is given no value",
        ],
    );
    refused("arg p = u8[1] iota\narg q = u8 1", BUFFER, &["q kernel `k` has no parameter `q`"]);
    refused("arg p = u8[1] iota\narg p = u8[2] iota", BUFFER, &["p `p` is given twice"]);
    refused("arg p = u32 1", BUFFER, &["arg p = u32 1 a `u32` of 4 bytes does not fit parameter `p`"]);
    refused(
        "arg n = u32[4] iota",
        ".param .u32 n",
        &["arg n = u32[4] iota parameter `n` cannot hold the address of a buffer"],
    );
    refused(
        "arg n = @in.bin",
        ".param .f64 n",
        &["in.bin parameter `n` cannot hold the address of a buffer"],
    );
    refused(
        "arg d = u32[4] iota",
        ".param .b8 d[24]",
        &["arg d = u32[4] iota `u32[4]` has another size than parameter `d`"],
    );
    refused(
        "arg d = @in.bin",
        ".param .b8 d[24]",
        &["in.bin `in.bin` has 64 bytes, parameter `d` has another size"],
    );
    refused("arg p = @no.bin", BUFFER, &["no.bin `no.bin` cannot be read: not found"]);
    refused("arg p = @empty.bin", BUFFER, &["empty.bin `empty.bin` is empty"]);
    refused("arg p = @../in.bin", BUFFER, &["../in.bin `../in.bin` does not lie beside the PTX file"]);
    refused("arg p = @/etc/passwd", BUFFER, &["/etc/passwd `/etc/passwd` does not lie beside the PTX file"]);
    refused(
        "arg p = u8[1073741825] fill 0",
        BUFFER,
        &["arg p = u8[1073741825] fill 0 the buffers of this launch are too large"],
    );
    refused(
        "arg p = u64[0xffffffffffffffff] iota",
        BUFFER,
        &["arg p = u64[0xffffffffffffffff] iota the buffers of this launch are too large"],
    );
}

#[test]
fn values_must_be_readable_and_in_range() {
    let told = [
        ("u32", " `u32` is followed by no value"),
        ("", " no value is given"),
        ("[1,2]", "[1,2] `[1,2]` does not start with a type"),
        ("float 5", "float `float` is not a type of arguments"),
        ("i32 5", "i32 `i32` is not a type of arguments"),
        ("pred[1] fill 1", "pred `pred` is not a type of arguments"),
        ("u32[4", "[4 the `[` has no `]`"),
        ("u32[0] iota", "0 `0` is not a number of elements"),
        ("u32[4]", " nothing says what the elements hold"),
        ("u32[4] 5", "5 `5` is no way to fill a buffer"),
        ("u32[4] itoa", "itoa `itoa` is no way to fill a buffer"),
        ("u32[4] @in.bin", "@in.bin a file stands without a type"),
        ("u32[3] [1,2]", "[1,2] the list has 2 values, the type says 3"),
        ("u32[3] [1,,2]", " a value of type `u32` is missing"),
        ("u32[3] [1,2,3", "[1,2,3 the list of values does not end with `]`"),
        ("u8[1] [256]", "256 `256` does not fit `u8`"),
        ("u8[1] [-1]", "-1 `-1` does not fit `u8`"),
        ("s8[1] fill 128", "128 `128` does not fit `s8`"),
        ("u32[1] fill 1.5", "1.5 `1.5` is not an integer"),
        ("u32[1] fill", " a value of type `u32` is missing"),
        ("u32[4] iota*0.5", "0.5 `0.5` is not a decimal integer"),
        ("u32[4] iota 3", "3 `3` does not belong behind `iota`"),
        ("f32[4] iota*x", "x `x` is not a decimal number"),
        ("u32[4] random", " `random` has no seed"),
        ("f16[1] fill 70000", "70000 `70000` is too large for `f16`"),
        ("f32[1] fill 0x3f", "0x3f `0x3f` are not the bits of one `f32`"),
        ("f64[1] fill 0f3f800000", "0f3f800000 `0f3f800000` are not the bits of one `f64`"),
        ("f32[1] fill one", "one `one` is not a number"),
        ("f16[4,4] iota", "4,4 `4,4` is not a number of elements"),
        ("@", " no file is named behind `@`"),
    ];
    for (value, expected) in told {
        refused(&format!("arg p = {value}"), BUFFER, &[expected]);
    }
}

#[test]
fn advice_names_what_was_meant() {
    let help = |value: &str| {
        let refusal = launch_of(&file(&format!("arg p = {value}"), BUFFER), &[]).expect_err("refused");
        refusal.file[0].helps.join(" ")
    };
    assert_eq!(help("i32[4] iota"), "did you mean `s32`?");
    assert_eq!(help(".u32[4] iota"), "did you mean `u32`?");
    assert_eq!(help("double[4] iota"), "did you mean `f64`?");
    assert_eq!(help("u32[4] itoa"), "did you mean `iota`?");
}

#[test]
fn expectations_must_fit() {
    let lines = |line: &str| format!("arg p = u32[4] iota\narg n = u32 1\n{line}");
    let told = [
        ("expect q = u32[4] iota", "q nothing can be expected of `q`: it is no parameter of the kernel"),
        ("expect n = u32[1] iota", "n nothing can be expected of `n`: it is passed by value"),
        ("expect p = u32[5] iota", "u32[5] iota 20 bytes are expected of `p`, which has 16"),
        ("expect p = u32 5", "u32 5 an expectation is about a buffer, this is one value"),
        ("expect p = @in.bin", "@in.bin 64 bytes are expected of `p`, which has 16"),
        ("expect~ p = f32[4] iota", "p `p` is not a tolerance"),
        ("expect~ -1 p = f32[4] iota", "-1 `-1` is not a tolerance"),
        ("expect~ 1 p = u32[4] iota", "u32[4] iota `u32` is no float type: there is nothing to tolerate"),
        ("expect p = u32[4] iota\nexpect p = u32[4] iota", "p a second expectation of `p`"),
    ];
    for (line, expected) in told {
        refused(&lines(line), TWO, &[expected]);
    }
    let launch = launch(&lines("expect~ 1e-3 p = f32[4] iota"), TWO);
    assert_eq!((launch.expects[0].tolerance, launch.expects[0].argument), (Some(1e-3), 0));
}

fn map(description: &str) -> TensorMapSpec {
    let lines = format!("arg p = f16[8192] iota\ntensormap m = {description} data=p");
    match &launch(&lines, MAP).arguments[1].kind {
        ArgumentKind::TensorMap { spec, data: 0 } => (**spec).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tensor_maps_are_described() {
    let spec = map(
        "f16[64,128] strides=[128] box=[64, 16] swizzle=128B interleave=none oob=nan element_strides=[1,1]",
    );
    assert_eq!((spec.element, spec.rank, spec.dims), (TensorElement::F16, 2, [64, 128, 0, 0, 0]));
    assert_eq!((spec.strides, spec.box_dims), ([0, 128, 0, 0, 0], [64, 16, 0, 0, 0]));
    assert_eq!((spec.swizzle, spec.interleave, spec.oob_nan), (Swizzle::B128, Interleave::None, true));
    assert_eq!((spec.element_strides, spec.data.as_str()), ([1, 1, 0, 0, 0], "p"));
    assert_ne!(spec.place_of("box"), spec.place);
    assert_eq!(spec.place_of("lower"), spec.place);
    let packed = map("f32[8,4,2] box=[8,4,2] swizzle=128B_atom_32B_flip_8B");
    assert_eq!((packed.strides, packed.swizzle), ([0, 32, 128, 0, 0], Swizzle::B128Atom32Flip8));
    assert_eq!(map("u8[64] box=[64]").rank, 1);
    let im2col = map("f16[8,4,4,2] lower=[-1,-1] upper=[0,0] channels=8 pixels=16");
    let expected = Im2col { lower: [-1, -1, 0], upper: [0; 3], channels: 8, pixels: 16 };
    assert_eq!((im2col.im2col, im2col.box_dims), (Some(expected), [0; 5]));
}

#[test]
fn a_flag_may_describe_a_tensor_map() {
    let text = file("arg p = f16[64] iota", MAP);
    let launch = launch_of(&text, &[(Flag::Arg, "m=f16[64] box=[64] data=p")]).expect("a launch");
    assert!(matches!(launch.arguments[1].kind, ArgumentKind::TensorMap { data: 0, .. }));
}

#[test]
fn wrong_tensor_maps_are_pointed_at() {
    let told = [
        ("f16", "f16 a tensor map starts with its type and its extents"),
        ("f17[64] box=[8] data=p", "f17 `f17` is not a type of tensors"),
        ("f16[] box=[] data=p", " a tensor of 0 dimensions"),
        ("f16[1,1,1,1,1,1] data=p", "1,1,1,1,1,1 a tensor of 6 dimensions"),
        ("f16[64] data=p", " the tensor map has no `box`"),
        ("f16[64] box=[8]", " the tensor map has no `data`"),
        ("f16[64] box=[8] data=q", "q the tensor map's data `q` is no buffer of this launch"),
        ("f16[64] box=[8] data=m", "m the tensor map's data `m` is no buffer of this launch"),
        ("f16[64] box=8 data=p", "8 `8` is not a list in brackets"),
        ("f16[64] box=[8,8] data=p", "[8,8] `box` has 2 numbers, this map needs 1"),
        ("f16[64,8] strides=[2,128] box=[8,8] data=p", "[2,128] `strides` has 2 numbers, this map needs 1"),
        ("f16[64] bx=[8] data=p", "bx a tensor map has no key `bx`"),
        ("f16[64] box=[8] box=[8] data=p", "box `box` is given twice"),
        ("f16[64] box=[-8] data=p", "-8 `-8` is out of range"),
        ("f16[64] box=[x] data=p", "x `x` is not an integer"),
        ("f16[64] box=[8] swizzle=127B data=p", "127B `127B` is not a swizzle"),
        ("f16[64] box=[8] oob=one data=p", "one `one` is not a fill"),
        ("f16[64] lower=[] data=p", "[] an im2col map of 1 dimensions"),
        (
            "f16[8,8,8] lower=[0] box=[8,8,8] data=p",
            "[8,8,8] `box` describes a tiled map, the other keys an im2col one",
        ),
        ("f16[8,8,8] lower=[0] data=p", " the tensor map has no `upper`"),
        (
            "f16[0xffffffffffffffff,2,2] box=[8,8,8] data=p",
            "0xffffffffffffffff,2,2 a tensor of these extents is larger than any memory",
        ),
    ];
    for (value, expected) in told {
        refused(&format!("arg p = f16[64] iota\ntensormap m = {value}"), MAP, &[expected]);
    }
    let lines = "arg p = f16[64] iota\ntensormap m = f16[64] box=[8] data=p";
    let message = "tensormap m = f16[64] box=[8] data=p parameter `m` cannot hold a tensor map";
    refused(lines, ".param .u64 p, .param .align 32 .b8 m[128]", &[message]);
    refused(lines, ".param .u64 p, .param .u64 m", &[message]);
    let expected = "m nothing can be expected of `m`: it is a tensor map";
    refused(&format!("{lines}\nexpect m = u8[128] iota"), MAP, &[expected]);
}

fn expect(value: &str, tolerance: Option<f64>) -> Expect {
    let text = file(&format!("arg p = {value}\nexpect p = {value}"), BUFFER);
    let mut launch = launch_of(&text, &[]).expect("a launch");
    Expect { tolerance, ..launch.expects.remove(0) }
}

#[test]
fn differences_are_counted_and_the_first_are_told() {
    let equal = expect("u32[8] iota", None);
    assert!(equal.differences(&equal.bytes).is_empty());
    let differences = equal.differences(&expect("s32[8] fill 1", None).bytes);
    assert_eq!((differences.count, differences.total, differences.first.len()), (7, 8, 5));
    let first = &differences.first[0];
    assert_eq!(
        (first.index, first.expected.as_str(), first.actual.as_str()),
        (0, "0 (0x00000000)", "1 (0x00000001)")
    );
    assert_eq!(equal.differences(&[]).first[0].actual, "nothing");
    let half = expect("f16[1] [0.1]", None).differences(&[0, 0x80]);
    assert_eq!(
        (half.first[0].expected.as_str(), half.first[0].actual.as_str()),
        ("0.1 (0x2e66)", "-0.0 (0x8000)")
    );
}

#[test]
fn tolerance_is_absolute_or_relative() {
    let agree = |expected: &str, actual: &str, tolerance| {
        let of = |value| expect(&format!("f32[1] [{value}]"), tolerance);
        of(expected).differences(&of(actual).bytes).is_empty()
    };
    assert!(agree("1", "1.0005", Some(1e-3)) && !agree("1", "1.002", Some(1e-3)));
    assert!(agree("1000", "1000.5", Some(1e-3)) && !agree("1000", "1002", Some(1e-3)));
    assert!(agree("nan", "0x7fc00000", Some(0.0)) && !agree("nan", "0x7fc00000", None));
    assert!(agree("inf", "inf", Some(0.1)) && !agree("inf", "1", Some(0.1)) && !agree("1", "nan", Some(9.0)));
    assert!(agree("0", "-0", Some(0.0)) && !agree("0", "-0", None));
}

#[test]
fn memory_is_shown_in_rows() {
    let shown = render(Type::U32, &buffer("u32[10] iota*10"));
    assert_eq!(shown, "[0]   0  10  20  30  40  50  60  70\n[8]  80  90\n");
    let zeros = render(Type::S32, &[0; 32 * 4]);
    assert_eq!(zeros, "[0]  0  0  0  0  0  0  0  0\n  * 3 more rows like this\n");
    assert_eq!(render(Type::S8, &[255, 1]), "[0]  -1   1\n");
    assert_eq!(render(Type::U8, &[]), "");
    let many = render(Type::U64, &buffer("u64[20000] iota"));
    assert_eq!(many.lines().count(), 4097);
    assert!(many.ends_with("  … 3616 more elements\n"), "{}", &many[many.len() - 100..]);
    assert!(hex_words(Type::U16, &[1, 2, 3, 4, 5]).eq(["0x0201", "0x0403"]));
    assert!(hex_words(Type::F32, &1.0f32.to_le_bytes()).eq(["0x3f800000"]));
}

fn ptx_files() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn the_data_of_a_tensor_map_needs_no_parameter() {
    let text = "// mbar: launch\n// mbar: tensormap p_map = f16[64,64] box=[64,8] data=tensor\n\
                // mbar: arg tensor = f16[4096] iota\n.version 8.0\n.target sm_90\n.address_size 64\n\
                .entry k(.param .align 64 .b8 p_map[128]) { ret; }\n";
    let launch = read(&program(text), &Overrides::default(), &mut |_| Ok(Vec::new())).expect("a launch");
    let names: Vec<&str> = launch.arguments.iter().map(|argument| argument.name.as_str()).collect();
    assert_eq!(names, ["p_map", "tensor"]);
    assert!(matches!(launch.arguments[0].kind, ArgumentKind::TensorMap { data: 1, .. }));
    // What no tensor map points to is a mistake, and so is data that is no buffer.
    for (from, to) in [("data=tensor", "data=p_map"), ("arg tensor = f16[4096] iota", "arg tensor = u64 7")] {
        let wrong = text.replace(from, to);
        assert!(read(&program(&wrong), &Overrides::default(), &mut |_| Ok(Vec::new())).is_err(), "{to}");
    }
}

#[test]
fn every_launch_of_the_test_data_is_read() {
    let mut launches = 0;
    for path in ptx_files() {
        let text = std::fs::read_to_string(&path).expect("a file");
        if !text.contains("// mbar: launch") {
            continue;
        }
        let starts = text.lines().filter_map(|line| line.strip_prefix("// mbar: launch")).collect::<Vec<_>>();
        let mut expects = 0;
        for start in &starts {
            launches += 1;
            let mut overrides = Overrides::default();
            let kernel = start.split_whitespace().find_map(|word| word.strip_prefix("kernel="));
            if let Some(kernel) = kernel.filter(|_| starts.len() > 1) {
                overrides.push(Flag::Kernel, kernel);
            }
            let launch = read(&program(&text), &overrides, &mut |_| Ok(vec![0; 64]));
            let launch = launch.unwrap_or_else(|refusal| panic!("{}: {refusal:?}", path.display()));
            // A grid of one CTA may be left out.
            let mut notes = launch.notes.iter().filter(|note| !note.starts_with("no grid"));
            assert_eq!(notes.next(), None, "{}", path.display());
            expects += launch.expects.len();
        }
        let lines = text.lines().filter(|line| line.starts_with("// mbar: expect")).count();
        assert_eq!(expects, lines, "{}", path.display());
    }
    assert!(launches >= 604, "{launches}");
}

/// In a page, each line of a `text` block is refused by the page's rule; each `ptx` block is accepted.
#[test]
fn the_pages_are_right() {
    for rule in RULES {
        let blocks: Vec<&str> = rule.page.split("```").skip(1).step_by(2).collect();
        for block in &blocks {
            let (kind, body) = block.split_once('\n').expect("a fence");
            if kind == "ptx" {
                let text = format!(".version 9.0\n.target sm_90\n.address_size 64\n{body}");
                assert_eq!(launch_of(&text, &[]).err(), None, "{}", rule.name);
                continue;
            }
            for line in body.lines() {
                let others = "// mbar: arg q_in = u32[4] iota\n";
                let parameters = ".param .u64 p_in, .param .u32 p_n, .param .u64 q_in";
                let text = kernel(&format!("{line}\n{others}"), "sm_90", parameters, "");
                let refusal = launch_of(&text, &[]).expect_err(line);
                assert!(refusal.file.iter().any(|d| d.rule == *rule), "{line}: {refusal:?}");
            }
        }
        assert_eq!(blocks.len(), 2, "{}", rule.name);
    }
}

mod any_text {
    use proptest::prelude::*;

    use super::*;

    const LINES: &[&str] = &[
        "launch kernel=k grid=2,1 block=64 cluster=2 smem=1024 resident=2",
        "arg p = u32[64] iota*-3+1",
        "arg p = f16[4] [1,nan,0x3c00,-1e-3]",
        "arg n = u32 63",
        "arg p = @in.bin",
        "tensormap m = f16[64,128] strides=[128] box=[64,16] swizzle=128B data=p",
        "tensormap m = f16[8,8,8,2] lower=[-1,-1] upper=[0,0] channels=8 pixels=16 data=p",
        "expect p = u32[64] random 3",
        "expect~ 1e-3 p = f32[64] fill 0.5",
    ];

    proptest! {
        /// Directives with a piece replaced by anything are read or refused, and every span is in the file.
        #[test]
        fn nothing_panics(
            picks in prop::collection::vec(0..LINES.len(), 1..6),
            at in 0usize..80,
            length in 0usize..6,
            piece in "[\\[\\]=,0-9a-z@~ *+-]{0,4}|\\PC{0,4}",
        ) {
            let mut lines: Vec<String> = picks.iter().map(|pick| LINES[*pick].to_string()).collect();
            let last = lines.last_mut().expect("a line");
            let start = at.min(last.len());
            let end = (start + length).min(last.len());
            last.replace_range(start..end, &piece.replace('\n', " "));
            let parameters = ".param .u64 p, .param .u32 n, .param .align 64 .b8 m[128]";
            let text = file(&lines.join("\n"), parameters);
            if let Err(refusal) = launch_of(&text, &[(Flag::Arg, &lines[0])]) {
                prop_assert!(!refusal.is_empty());
                for diagnostic in &refusal.file {
                    prop_assert!(text.get(diagnostic.span.range()).is_some());
                }
            }
        }
    }
}
