//! `mbar run` on the command line: what it prints, its exit codes, its flags, and what it says about bad
//! input.

mod support;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::command::Folder;

const ADD: &str = "\
// mbar: launch block=4
// mbar: arg p_out = u32[4] iota*10
// mbar: arg p_n = u32 5
// mbar: expect p_out = u32[4] [5,15,25,35]
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p_out, .param .u32 p_n)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [p_out];
ld.param.u32 %r1, [p_n];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd2, %r2, 4;
add.u64 %rd1, %rd1, %rd2;
ld.global.u32 %r3, [%rd1];
add.u32 %r3, %r3, %r1;
st.global.u32 [%rd1], %r3;
ret;
}
";

/// Waits for an arrival that nobody makes.
const STUCK: &str = "\
// mbar: launch block=1
.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
.reg .pred p; .shared .b64 bar;
mbarrier.init.shared::cta.b64 [bar], 2;
mbarrier.arrive.shared::cta.b64 _, [bar];
W: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;
@!p bra W;
ret;
}
";

const SPIN: &str = "\
// mbar: launch
.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
.reg .b32 i; .reg .pred p;
mov.u32 i, 0;
L: add.u32 i, i, 1;
setp.ne.u32 p, i, 0;
@p bra L;
ret;
}
";

fn add() -> Folder {
    Folder::new(std::thread::current().name().expect("a test")).with("add.ptx", ADD)
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    path.to_str().expect("UTF-8").to_string()
}

#[test]
fn a_run_says_how_it_ended() {
    let folder = add();
    folder
        .mbar(&["run", "add.ptx"])
        .exits(0)
        .complains("completed: 1 CTA of 4 threads")
        .complains("as expected");
    folder.mbar(&["run", "add.ptx", "--dump", "p_out"]).exits(0).says("p_out = u32[4]").says("25");
    folder.mbar_with_input(&["run", "-"], ADD.as_bytes()).exits(0).complains("as expected");
}

#[test]
fn flags_override_the_file() {
    let folder = add();
    let run = folder.mbar(&["run", "add.ptx", "--arg", "p_n=u32 7"]);
    run.exits(1).says("expectation").says("[0] is 7 (0x00000007), expected 5");
    let run = folder.mbar(&["run", "add.ptx", "--arg", "p_n=u32 7", "--block", "2", "--format", "json"]);
    let json = run.exits(1).json();
    assert_eq!(json["memory"]["p_out"], json!(["0x00000007", "0x00000011", "0x00000014", "0x0000001e"]));
}

#[test]
fn buffers_are_written_to_files() {
    let folder = add();
    folder.mbar(&["run", "add.ptx", "--out", "p_out=out.bin"]).exits(0);
    let bytes = fs::read(folder.0.join("out.bin")).expect("the file");
    assert_eq!(bytes, [5, 0, 0, 0, 15, 0, 0, 0, 25, 0, 0, 0, 35, 0, 0, 0]);
    folder.mbar(&["run", "add.ptx", "--out", "p_aut=out.bin"]).exits(2).complains("did you mean `p_out`?");
    folder.mbar(&["run", "add.ptx", "--out", "p_out"]).exits(2).complains("write ARG=FILE");
    folder.mbar(&["run", "add.ptx", "--out", "p_out=no/such/folder"]).exits(2).complains("no/such/folder");
    folder.mbar(&["run", "add.ptx", "--dump", "p_n"]).exits(2).complains("no argument with a buffer");
}

#[test]
fn json_has_the_documented_shape() {
    let folder = add().with("stuck.ptx", STUCK);
    let json = folder.mbar(&["run", "--format", "json", "add.ptx"]).exits(0).json();
    assert_eq!(json["schema"], "mbar.run/1");
    assert_eq!(json["outcome"], "completed");
    assert_eq!(json["fault"], Value::Null);
    assert_eq!(json["findings"], json!([]));
    assert_eq!(json["memory"]["p_out"][3], "0x00000023");
    assert!(json["statistics"].is_object());
    let json = folder.mbar(&["run", "--format", "json", "stuck.ptx"]).exits(1).json();
    assert_eq!(json["outcome"], "deadlock");
    let finding = &json["findings"][0];
    for field in ["kind", "severity", "rule", "message", "file"] {
        assert!(finding[field].is_string(), "{field} in {finding}");
    }
    for field in ["line", "column"] {
        assert!(finding[field].is_u64(), "{field} in {finding}");
    }
    assert!(finding["related"].is_array());
    assert_eq!(finding["kind"], "deadlock");
    assert_eq!(finding["file"], "stuck.ptx");
}

#[test]
fn exit_codes_tell_how_it_ended() {
    let trap = "// mbar: launch\n.version 8.0\n.target sm_90\n.address_size 64\n.entry k() { trap; }\n";
    let unknown = "// mbar: launch\n.version 8.0\n.target sm_90a\n.address_size 64\n.entry k() {\n\
                   wgmma.fence.sync.aligned;\nret; }\n";
    let folder = add()
        .with("stuck.ptx", STUCK)
        .with("spin.ptx", SPIN)
        .with("trap.ptx", trap)
        .with("wgmma.ptx", unknown);
    folder.mbar(&["run", "stuck.ptx"]).exits(1).says("lacks").complains("deadlock");
    folder.mbar(&["run", "trap.ptx"]).exits(1).says("executed a trap").complains("trap");
    folder
        .mbar(&["run", "--max-steps", "1000", "spin.ptx"])
        .exits(3)
        .complains("limit")
        .complains("--max-steps");
    folder.mbar(&["run", "wgmma.ptx"]).exits(3).says("cannot be executed here").complains("unsupported");
    let json = folder.mbar(&["run", "trap.ptx", "--format", "json"]).exits(1).json();
    assert_eq!(json["fault"], "launch-failed");
}

#[test]
fn undefined_behaviour_stops_warns_or_is_ignored() {
    // Reads a register that nothing sets.
    let text = ADD.replace("ld.global.u32 %r3, [%rd1];\n", "").replace("// mbar: expect", "// expect");
    let folder = Folder::new("undefined").with("unset.ptx", text);
    folder.mbar(&["run", "unset.ptx"]).exits(1).says("undefined-value").says("%r3");
    folder.mbar(&["run", "--ub=warn", "unset.ptx"]).exits(0).says("undefined-value").complains("completed");
    let run = folder.mbar(&["run", "--ub=ignore", "unset.ptx"]);
    run.exits(0).complains("completed");
    assert!(!run.out.contains("undefined-value"), "{}", run.out);
}

#[test]
fn a_seed_gives_the_same_run_and_a_recording_replays_it() {
    let folder = Folder::new("replay");
    let ring = example("ring.ptx");
    let random = ["--schedule", "random", "--async", "random", "--reconverge", "random", "--seed", "7"];
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", "--format", "json", ring.as_str()];
        arguments.extend(more);
        folder.mbar(&arguments)
    };
    let first = run(&[&random[..], &["--record", "ring.sched"]].concat());
    first.exits(0);
    assert_eq!(first.out, run(&random).out);
    assert_eq!(first.out, run(&["--replay", "ring.sched"]).out);
    let text = fs::read_to_string(folder.0.join("ring.sched")).expect("a recording");
    assert!(text.starts_with("mbar-schedule 1\n"), "{text}");
    let other = example("ring_stuck.ptx");
    folder.mbar(&["run", &other, "--replay", "ring.sched"]).exits(1).complains("another program or launch");
    fs::write(folder.0.join("bad.sched"), "mbar-schedule 99\n").expect("a file");
    folder.mbar(&["run", &ring, "--replay", "bad.sched"]).exits(2).complains("bad.sched");
    folder.mbar(&["run", &ring, "--replay", "missing.sched"]).exits(2).complains("missing.sched");
    folder.mbar(&["run", &ring, "--replay", "ring.sched", "--record", "x"]).exits(2);
}

#[test]
fn several_kernels_need_a_choice() {
    let body = "() { ret; }\n";
    let text = format!(
        "// mbar: launch kernel=one block=32\n// mbar: launch kernel=two block=64\n.version 8.0\n\
         .target sm_90\n.address_size 64\n.visible .entry one{body}.visible .entry two{body}"
    );
    let folder = Folder::new("several").with("two.ptx", text);
    folder.mbar(&["run", "two.ptx"]).exits(2).says("one").says("two").says("--kernel");
    folder.mbar(&["run", "two.ptx", "--kernel", "two"]).exits(0).complains("64 threads");
    folder.mbar(&["run", "two.ptx", "--kernel", "three"]).exits(2).says("three");
}

#[test]
fn what_cannot_run_is_explained() {
    let folder = add()
        .with("empty.ptx", "")
        .with("faulty.ptx", ADD.replace("add.u32", "adds.u32"))
        .with("binary.ptx", [0xff, 0xfe, 0x00, 0x41])
        .with("no_launch.ptx", ADD.replace("// mbar:", "//"))
        .with("no_kernel.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n")
        .with("missing_arg.ptx", ADD.replace("// mbar: arg p_n = u32 5\n", ""))
        .with("bad_arg.ptx", ADD.replace("u32 5", "u64 5"));
    folder.mbar(&["run", "empty.ptx"]).exits(1).says(".version");
    folder.mbar(&["run", "faulty.ptx"]).exits(1).says("unknown-instruction").complains("cannot run");
    assert!(folder.mbar(&["run", "binary.ptx"]).code != Some(0));
    folder.mbar(&["run", "no_launch.ptx"]).exits(2).says("p_out");
    folder.mbar(&["run", "no_kernel.ptx"]).exits(2).says("kernel");
    folder.mbar(&["run", "missing_arg.ptx"]).exits(2).says("p_n");
    folder.mbar(&["run", "bad_arg.ptx"]).exits(2).says("p_n");
    folder.mbar(&["run", "."]).exits(2);
    folder.mbar(&["run", "missing.ptx"]).exits(2).complains("missing.ptx");
    folder.mbar(&["run"]).exits(2).complains("Usage");
    folder.mbar(&["run", "add.ptx", "--ub=maybe"]).exits(2).complains("maybe");
    folder.mbar(&["run", "add.ptx", "--block", "2000"]).exits(2).says("1024");
    folder.mbar(&["run", "add.ptx", "--grid", "0"]).exits(2).says("grid");
    folder.mbar(&["run", "add.ptx", "--arg", "p_m=5"]).exits(2).says("p_m");
}

#[test]
fn denied_warnings_count() {
    // The copy may still read shared memory when the CTA ends.
    let text = "\
// mbar: launch
// mbar: arg p_out = u32[4] fill 0
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p_out)
{
.reg .b64 out; .shared .align 16 .b32 data[4];
ld.param.u64 out, [p_out];
cvta.to.global.u64 out, out;
st.shared.v4.u32 [data], {1, 2, 3, 4};
fence.proxy.async.shared::cta;
cp.async.bulk.global.shared::cta.bulk_group [out], [data], 16;
cp.async.bulk.commit_group;
ret;
}
";
    let folder = Folder::new("deny_run").with("early.ptx", text);
    folder.mbar(&["run", "early.ptx"]).exits(0).says("reading-at-exit");
    folder.mbar(&["run", "--deny", "warnings", "early.ptx"]).exits(1);
    let copy = "cp.async.bulk.global.shared::cta.bulk_group";
    for rule in ["reading-at-exit", "B12"] {
        let allowed = text.replace(copy, &format!("// mbar: allow({rule}) nobody reuses the memory\n{copy}"));
        let folder = Folder::new(&format!("allow_{rule}")).with("early.ptx", allowed);
        let run = folder.mbar(&["run", "--deny", "warnings", "early.ptx"]);
        assert!(!run.exits(0).out.contains("reading-at-exit"), "{}", run.out);
        folder.mbar(&["check", "early.ptx"]).exits(0);
    }
}

#[test]
fn the_ring_prints_its_barriers_and_its_broken_twin_names_the_missing_arrivals() {
    let folder = Folder::new("ring");
    let run = folder.mbar(&["run", &example("ring.ptx")]);
    run.exits(0).complains("1 buffer as expected");
    let row = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    assert!(
        run.out.lines().any(|line| row(line) == ["empty", "46", "4", "512", "16", "0", "0"]),
        "{}",
        run.out
    );
    assert!(
        run.out.lines().any(|line| row(line) == ["full", "44", "4", "4", "4", "2048", "2048"]),
        "{}",
        run.out
    );
    let stuck = folder.mbar(&["run", &example("ring_stuck.ptx")]);
    stuck
        .exits(1)
        .says("phase 0 of `empty` lacks 124 of 128 arrivals")
        .says("threads 32, 64, 96, 128 at line 89")
        .says("threads 33..63, 65..95, 97..127, 129..159 passed it because its guard `@p` was false")
        .says("a cycle: thread 0 waits for threads 32..159, which wait for thread 0");
}

#[test]
fn mistakes_in_flags_are_found_before_the_run() {
    let folder = Folder::new("early").with("spin.ptx", SPIN).with("add.ptx", ADD);
    // This run would take long.
    folder.mbar(&["run", "spin.ptx", "--dump", "p"]).exits(2).complains("`p`");
    folder.mbar(&["run", "spin.ptx", "--out", "p="]).exits(2).complains("write ARG=FILE");
    folder.mbar(&["run", "spin.ptx", "--grid", "65535,65535,65535"]).exits(2).says("make the grid smaller");
    let json = folder.mbar(&["run", "--format", "json", "spin.ptx", "--grid", "300000"]).exits(2).json();
    assert_eq!(json["diagnostics"][0]["rule"], "bad-launch");
    // The report is not lost with the recording.
    folder
        .mbar(&["run", "add.ptx", "--record", "no/such/folder", "--dump", "p_out"])
        .exits(2)
        .says("p_out = u32[4]");
}
