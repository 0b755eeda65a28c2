//! `mbar asm`: what it writes, and that it changes nothing but the spelling.

mod support;

use std::path::Path;
use std::sync::Arc;

use mbar::asm::{assemble, document::document, listing::listing};
use mbar::check::{Settings, check};
use mbar::diagnostic::Diagnostic;
use mbar::isa::{TargetId, Version};
use mbar::program::Options;
use mbar::source::SourceFile;
use mbar::syntax;
use pretty_assertions::assert_eq;

fn source(text: &str) -> Arc<SourceFile> {
    SourceFile::new("test.ptx", text)
}

fn asm(text: &str) -> String {
    let checked = check(source(text), &Settings::default());
    assemble(&checked.program, Options::default())
}

/// One kernel around `body`, for version and target of `header`.
fn module(header: &str, body: &str) -> String {
    let (version, target) = header.split_once(' ').expect("version and target");
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n\
         .shared .align 8 .b64 bar;\n.shared .align 8 .b64 bars[8];\n.shared .align 128 .b8 smem[4096];\n\
         .shared .align 4 .b32 sw;\n.global .align 128 .b8 gmem[4096];\n.global .align 8 .b64 gbar;\n\
         .const .align 8 .b64 cbar;\n.visible .entry k(.param .b64 prm)\n{{\n\
         .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .f64 %fd<8>;\n\
         .reg .u32 %u<4>; .reg .s32 %s<4>; .reg .u64 %ud<4>; .reg .s64 %sd<4>; .reg .u16 %hu<4>;\n\
         .local .align 8 .b64 lbar;\n{body}\nret;\n}}\n"
    )
}

/// The instructions of `body`, assembled.
#[track_caller]
fn expect(header: &str, body: &str, expected: &str) {
    let out = asm(&module(header, body));
    let start = out.find("lbar;\n").expect("the last declaration") + "lbar;\n".len();
    let end = out.rfind("    ret;").expect("the end");
    let lines: Vec<&str> = out[start..end].lines().map(str::trim).collect();
    assert_eq!(lines.join("\n"), expected);
}

/// What `check` says, in order: the statement (how many end before the finding), rule and severity.
fn verdict(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let checked = check(source(text), &Settings::default());
    let statement = |d: &Diagnostic| {
        let before = support::without_comments(&text[..d.span.start as usize]);
        before.matches(';').count()
    };
    let mut said: Vec<_> =
        checked.diagnostics.iter().map(|d| (statement(d), d.rule.name, d.severity.as_str())).collect();
    said.sort_unstable();
    said
}

#[test]
fn defaults_are_written_as_far_as_version_and_target_go() {
    let arrive = "mbarrier.arrive.shared.b64 %rd0, [bar];";
    expect("7.0 sm_80", arrive, arrive);
    expect("7.8 sm_80", arrive, "mbarrier.arrive.shared::cta.b64 %rd0, [bar];");
    expect("8.0 sm_80", arrive, "mbarrier.arrive.release.cta.shared::cta.b64 %rd0, [bar];");
    let init = "mbarrier.init.b64 [bar], 1;";
    expect("9.2 sm_90", init, init);
    expect("9.3 sm_80", init, init);
    expect("9.3 sm_90", init, "mbarrier.init.layout::v0.b64 [bar], 1;");
}

#[test]
fn modifiers_come_in_canonical_order() {
    expect("8.0 sm_90", "ld.u32.global.relaxed.gpu %r0, [%rd0];", "ld.relaxed.gpu.global.u32 %r0, [%rd0];");
    expect("8.0 sm_90", "fence.cta.acq_rel;", "fence.acq_rel.cta;");
    expect("8.0 sm_90", "barrier.cta.sync.aligned 0 , 64;", "barrier.cta.sync.aligned 0, 64;");
}

#[test]
fn an_optional_second_destination_becomes_a_sink() {
    expect("8.0 sm_90", "setp.ne.s32 %p0, %r0, 0;", "setp.ne.s32 %p0|_, %r0, 0;");
    expect("8.0 sm_90", "setp.ne.s32 %p0|%p1, %r0, 0;", "setp.ne.s32 %p0|%p1, %r0, 0;");
    expect(
        "8.0 sm_90",
        "L: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0;\n@!%p0 bra L;",
        "L:\nmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p0|_, [bar], 0;\n@!%p0 bra L;",
    );
}

#[test]
fn what_the_table_does_not_know_stays() {
    let texture = "wmma.load.a.sync.aligned.m16n16k16.row.f16 {%r0, %r1}, [%rd0];";
    expect("8.0 sm_90", texture, texture);
}

#[test]
fn comments_stay() {
    expect(
        "8.0 sm_90",
        "// before\nfence.cta /* inside */ .acq_rel; // behind",
        "// before\nfence.acq_rel.cta; /* inside */ // behind",
    );
}

#[test]
fn directives_are_completed() {
    let text = ".version 7.0\n.target sm_80\n.shared .b64 bar;\n.extern .shared .b8 dyn[];\n\
                .global .v4 .f32 g;\n.extern .global .b32 elsewhere;\n\
                .entry k(.param .u32 p) .maxntid 128\n{\n.reg .b32 r;\n.local .b16 l;\nret;\n}\n";
    let expected = "\
.version 7.0
.target sm_80
.address_size 32
.shared .align 8 .b64 bar;
.extern .shared .align 1 .b8 dyn[];
.global .align 16 .v4 .f32 g;
.extern .global .b32 elsewhere;
.entry k(
    .param .u32 p
)
.maxntid 128, 1, 1
{
    .reg .b32 r;
    .local .align 2 .b16 l;
    ret;
}
";
    assert_eq!(asm(text), expected);
}

#[test]
fn assembling_twice_changes_nothing_and_keeps_the_verdict() {
    let seen = support::files("", "ptx").iter().filter(|path| unchanged_by_a_second_run(path)).count();
    assert!(seen > 500, "{seen} files");
}

/// Whether the file has a complete tree: only then the output is promised to mean the same.
fn unchanged_by_a_second_run(path: &Path) -> bool {
    let text = support::read(path);
    if !syntax::parse(source(&text)).diagnostics.is_empty() {
        return false;
    }
    let once = asm(&text);
    assert_eq!(asm(&once), once, "{}", path.display());
    assert_eq!(verdict(&once), verdict(&text), "{}", path.display());
    true
}

/// The forms that ptxas accepts, each at the lowest version and target that it accepts them for.
#[test]
fn each_accepted_form_keeps_its_verdict_at_its_lowest_version_and_target() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/oracle/forms.tsv");
    let table = std::fs::read_to_string(path).expect("the forms");
    let mut seen = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (form, header) = (fields[1], lowest(&fields));
        let text = module(&header, form);
        let once = asm(&text);
        assert_eq!(asm(&once), once, "{header} {form}");
        assert_eq!(verdict(&once), verdict(&text), "{header} {form}\n{once}");
        seen += 1;
    }
    assert!(seen > 2000);
}

/// `8.0 sm_90`: the lowest target of a row of forms.tsv and the lowest version there.
fn lowest(fields: &[&str]) -> String {
    let name = fields[3].split([',', ' ']).next().unwrap_or("").trim_end_matches('+');
    let target = TargetId::from_name(name).expect("a target");
    let later = fields[4].split([',', ' ']).find_map(|part| part.strip_prefix(&format!("{name}:")));
    let versions = [Some(fields[2]), later].into_iter().flatten().filter_map(Version::from_text);
    let version = versions.chain([target.since()]).max().expect("a version");
    format!("{version} {name}")
}

const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.shared .align 16 .b8 buf[256];
.shared .align 8 .b64 full;
.visible .entry k(.param .u64 p)
{
    .reg .b32 r<4>;
    .reg .b64 rd<4>;
    .reg .pred q;
    mov.u32 r0, full;
    mov.u32 r1, 1;
    mbarrier.init.shared::cta.b64 [r0], r1;
    bar.sync 0;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 256;
    ld.param.u64 rd0, [p];
    cvta.to.global.u64 rd1, rd0;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buf], [rd1], 256, [r0];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 q, [full], 0;
    @!q bra wait;
    ret;
}
";

fn kernel() -> mbar::program::Program {
    check(source(KERNEL), &Settings::default()).program
}

#[test]
fn the_listing_shows_layout_barriers_and_needs() {
    let expected = "\
listing of test.ptx
  PTX 8.0, sm_90, 64-bit addresses; needs PTX 8.0, sm_90

kernel k (line 6)

  shared memory: 264 bytes, aligned to 16
    address  offset  size  align  name
      0x400       0   256     16  buf
      0x500     256     8      8  full

  local memory: none

  barriers
    barrier  address  line  use               amount
    full       0x500    13  init              r1 = 1
                        15  arrive-expect-tx  256
                        18  copy              256
                        20  wait

  instructions
";
    let text = listing(&document(&kernel(), String::new()));
    let end = text.find("    line").expect("the instructions");
    assert_eq!(&text[..end], expected);
    let row = "      13  PTX 7.8, sm_80  mbarrier.init{.layout::v0}{.space}.b64 [bar], count\n";
    assert!(text.contains(row), "{text}");
}

#[test]
fn the_document_holds_modifiers_and_operands() {
    let text = document(&kernel(), String::new()).to_text();
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["schema"], "mbar.asm/1");
    let init = &value["functions"][0]["instructions"][2];
    assert_eq!(init["form"], "MbarrierInit");
    assert_eq!(init["line"], 13);
    let modifiers: Vec<(String, bool)> = init["modifiers"]
        .as_array()
        .expect("modifiers")
        .iter()
        .map(|m| (m["modifier"].as_str().unwrap_or("").to_string(), m["written"] == true))
        .collect();
    let expected = [(".layout::v0", false), (".shared::cta", true), (".b64", true)];
    assert_eq!(modifiers, expected.map(|(text, written)| (text.to_string(), written)));
    let bar = &init["operands"][0];
    assert_eq!((&bar["name"], &bar["kind"], &bar["base"]), (&"bar".into(), &"address".into(), &"r0".into()));
    assert_eq!(value["functions"][0]["barriers"][0]["uses"][0]["value"], 1);
}
