//! The compiler of the instruction table: it says what is wrong with a grammar file, and where.

#[path = "../grammar/compile.rs"]
mod compile;
mod support;

use support::Failures;

const TARGETS: &str = "target sm_80 7.0\ntarget sm_90 7.8\ntarget sm_90a 8.0\nptx 8.0\n";

/// Compiles one file next to a few targets.
fn compile(text: &str) -> Result<String, String> {
    let file = |name: &str, text: &str| (name.to_string(), text.to_string());
    compile::compile(&[file("targets.isa", TARGETS), file("x.isa", text)])
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

#[test]
fn a_fault_is_told_with_its_line() {
    let op = "op add §1 Adds things.\n";
    let cases = [
        (format!("{op}    .x  =d:b32 @ 7.0\n{op}"), "x.isa:3: a second op add"),
        (format!(".s = .a | .b\n{op}    .x  =d:b32 @ 7.0\n"), "x.isa:1: no row uses the slot `.s`"),
        (format!("{op}    .s = .a\n    .x  =d:b32 @ 7.0\n"), "x.isa:2: no row uses the slot `.s`"),
        (
            format!("{op}    .s = .a\n    .s = .b\n    .s  =d:b32 @ 7.0\n"),
            "x.isa:2: no row uses the slot `.s`",
        ),
        (format!("{op}    .x  =d:b32 @ sm_91\n"), "x.isa:2: `sm_91` is not a known target"),
        (format!("{op}    .x  =d:b33 @ 7.0\n"), "x.isa:2: `b33` is not a type"),
        (format!("{op}    .x  =d:b32\n"), "x.isa:2: a row ends in ` @ GATE`"),
        (
            format!("{op}{}", many(256, |n| format!("    .x{n}  =d:b32 @ 7.0\n"))),
            "x.isa:257: more than 255 rows",
        ),
        (
            format!("{op}    .s = .a{}\n    .s  - @ 7.0\n", many(254, |n| format!(" | .a{n}"))),
            "x.isa:2: more than 254 alternatives",
        ),
        (format!("{op}    {}  - @ 7.0\n", many(256, |n| format!(".a{n}"))), "x.isa:2: more than 255 slots"),
        (
            format!("{op}    .x  =d:b32{} @ 7.0\n", many(255, |n| format!(", a{n}:b32"))),
            "x.isa:2: more than 255 operands",
        ),
        (many(62, |n| format!("target sm_{n} 1.0\n")), "x.isa:62: more than 64 targets"),
    ];
    let mut failures = Failures::default();
    for (text, expected) in cases {
        let found = compile(&text).err();
        if found.as_deref() != Some(expected) {
            failures.push(format!("expected {expected:?}, found {found:?}"));
        }
    }
    failures.report("The compiler of the grammar must name the fault.");
}

/// A gate of a slot and one of its alternative count both, in all of their parts.
#[test]
fn merged_gates_keep_what_both_demand() {
    let text =
        "op add §1 Adds things.\n    .s(7.0; manual 7.8) = .a(sm_80; manual sm_90) | .b\n    .s  - @ 7.0\n";
    let table = compile(text).expect("compiles");
    let merged =
        "Gate { version: Version::new(7, 8), targets: TargetSet(6), manual: GateId(0), advise: GateId(0) }";
    assert!(table.contains(merged), "{table}");
}

/// Every preferred spelling becomes a modifier, not just the first one of a slot.
#[test]
fn all_preferred_spellings_are_modifiers() {
    let text = "op add §1 Adds things.\n    .s = .a ~ .aa | .b ~ .bb\n    .s  - @ 7.0\n";
    let table = compile(text).expect("compiles");
    for word in ["(\".aa\"", "(\".bb\""] {
        assert!(table.contains(word), "{word}: {table}");
    }
}
