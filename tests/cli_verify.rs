//! `mbar verify` and `mbar run --races` on the command line: verdicts, exit codes, what is printed, recordings.

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::command::Folder;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    path.to_str().expect("UTF-8").to_string()
}

fn folder() -> Folder {
    Folder::new(std::thread::current().name().expect("a test"))
}

/// A missed phase: nothing goes wrong in turn.
fn missed_phase() -> String {
    let text = fs::read_to_string(support::data("cases/b32.ptx")).expect("a case");
    text.lines().map(|line| line.split("//~").next().unwrap_or("").trim_end().to_string() + "\n").collect()
}

/// Two threads draw tickets and write them out: what they get depends on who comes first.
const TICKETS: &str = "\
// mbar: launch block=64
// mbar: arg p_out = u32[64] fill 0
// mbar: arg p_next = u32[1] fill 0
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p_out, .param .u64 p_next)
{
.reg .b32 t, x; .reg .b64 o, n, u; .reg .pred p;
ld.param.u64 o, [p_out];
ld.param.u64 n, [p_next];
mov.u32 t, %tid.x;
and.b32 x, t, 31;
setp.ne.u32 p, x, 0;
@p bra END;
atom.global.add.u32 x, [n], 1;
mul.wide.u32 u, t, 4;
add.u64 o, o, u;
st.global.u32 [o], x;
END: ret;
}
";

/// A clock gets into the result.
const CLOCK: &str = "\
// mbar: launch block=1
// mbar: arg p_out = u32[1] fill 0
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p_out)
{
.reg .b32 x; .reg .b64 o;
ld.param.u64 o, [p_out];
mov.u32 x, %clock;
st.global.u32 [o], x;
ret;
}
";

#[test]
fn a_right_kernel_holds_with_its_grounds_and_reach() {
    let ring = example("ring.ptx");
    let folder = folder();
    let run = folder.mbar(&["verify", &ring]);
    run.exits(0).says("holds: one run speaks for every schedule");
    run.says("reach: this launch and input: 1 CTA of 160 threads, all resident").says("proxy-order-of-reads");
    folder.mbar(&["verify", &ring, "--deny", "warnings"]).exits(1);
    folder.mbar(&["verify", &ring, "--strict"]).exits(1).says("violated");
    folder.mbar(&["verify", &ring, "--ledger"]).exits(0).says("phase 0; arrivals 128 at line 94");
}

#[test]
fn a_failing_schedule_is_recorded_and_repeats() {
    let folder = folder().with("missed.ptx", missed_phase());
    folder.mbar(&["run", "missed.ptx"]).exits(0);
    folder
        .mbar(&["verify", "missed.ptx", "--record", "missed.txt"])
        .exits(1)
        .says("violated: a schedule that swaps two events goes wrong")
        .says("lapped-wait")
        .complains("`mbar run missed.ptx --replay missed.txt` repeats it");
    folder.mbar(&["run", "missed.ptx", "--replay", "missed.txt"]).exits(1).says("deadlock");
}

#[test]
fn a_race_is_found_in_one_run_too() {
    let early = example("ring_early.ptx");
    let folder = folder();
    folder.mbar(&["run", &early]).exits(0);
    folder.mbar(&["run", &early, "--races"]).exits(1).says("[race] Error").complains("violation");
    folder.mbar(&["run", &early, "--races", "--ub", "warn"]).exits(0).says("[race] Error");
    folder.mbar(&["verify", &early, "--record", "race.txt"]).exits(1).complains("--races` repeats it");
    folder.mbar(&["run", &early, "--replay", "race.txt", "--races"]).exits(1).says("[race] Error");
}

#[test]
fn the_document_has_what_it_promises() {
    let folder = folder().with("missed.ptx", missed_phase());
    let out = folder.mbar(&["verify", "missed.ptx", "--format", "json"]).exits(1).out.clone();
    let document: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(document["schema"], "mbar.verify/1");
    assert_eq!(document["verdict"], "violated");
    assert!(document["replay"].as_str().is_some_and(|text| text.starts_with("mbar-schedule ")));
    let kinds: Vec<&str> = document["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|finding| finding["kind"].as_str())
        .collect();
    assert!(kinds.contains(&"deadlock") && kinds.contains(&"phase"), "{kinds:?}");
    let page = &document["ledger"][0];
    assert_eq!(page["name"], "full");
    assert_eq!(page["phases"][0]["arrivals"][0]["count"], 1);
    let ring = example("ring.ptx");
    let out = folder.mbar(&["verify", &ring, "--format", "json"]).exits(0).out.clone();
    let document: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&document["verdict"], &document["replay"]), (&"holds".into(), &Value::Null));
    assert!(document["reach"].as_str().is_some_and(|reach| reach.contains("160 threads")));
}

#[test]
fn what_the_schedule_decides_is_explored() {
    let folder = folder().with("tickets.ptx", TICKETS).with("clock.ptx", CLOCK);
    folder
        .mbar(&["verify", "tickets.ptx"])
        .exits(0)
        .says("holds: all schedules explored")
        .says("2 different contents of global memory");
    let bounded = folder.mbar(&["verify", "tickets.ptx", "--max-states", "1"]);
    bounded
        .exits(3)
        .says("inconclusive")
        .says("the bound of 1 state was reached")
        .says("depends on what line");
    folder.mbar(&["verify", "clock.ptx"]).exits(3).says("line 10 takes a value that no schedule decides");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let folder = folder();
    let case = support::data("cases/b30.fixed.ptx");
    let case = case.to_str().expect("UTF-8");
    let one = folder.mbar(&["verify", case, "--jobs", "1", "--max-time", "600"]).exits(0).out.clone();
    let two = folder.mbar(&["verify", case, "--jobs", "2", "--max-time", "600"]).exits(0).out.clone();
    assert_eq!(one, two);
    assert!(one.contains("holds: all schedules explored"), "{one}");
}

#[test]
fn wrong_usage_is_told() {
    let folder = folder().with("broken.ptx", "nothing of sense").with(
        "bare.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n",
    );
    folder.mbar(&["verify", "missing.ptx"]).exits(2).complains("missing.ptx");
    folder.mbar(&["verify", "broken.ptx"]).exits(1).complains("the assembler would refuse this file");
    folder.mbar(&["verify", "bare.ptx"]).exits(2).complains("the launch cannot be made out");
    folder.mbar(&["verify", "bare.ptx", "--max-states", "many"]).exits(2);
    folder.mbar(&["verify"]).exits(2);
    folder.mbar(&["explain", "lapped-wait"]).exits(0).says("# lapped-wait");
    folder.mbar(&["explain", "S2b"]).exits(0).says("# lapped-wait");
}

/// Warnings can be allowed in the file, where they are deserved.
#[test]
fn a_warning_can_be_allowed() {
    let text = fs::read_to_string(example("ring.ptx")).expect("an example");
    let allowed = text.replacen(
        "// mbar: launch",
        "// mbar: allow-file(proxy-order-of-reads) as everybody does\n// mbar: launch",
        1,
    );
    let folder = folder().with("ring.ptx", &allowed);
    let run = folder.mbar(&["verify", "ring.ptx", "--deny", "warnings"]);
    run.exits(0);
    assert!(!run.out.contains("proxy-order-of-reads"), "{}", run.out);
}
