//! Which instruction forms `mbar run` can execute: all that ptxas takes, but for those with the words
//! listed here.

mod support;

use std::io;

use mbar::check::{Settings, check};
use mbar::launch::{self, Overrides};
use mbar::machine::code::Op;
use mbar::machine::{Machine, Options};
use mbar::source::SourceFile;
use support::{Failures, frame, rows};

/// Whether a form becomes code that can be executed.
fn is_supported(form: &str, version: &str) -> Option<bool> {
    let (_, text) = frame(form, version, "sm_90a");
    let text = format!("// mbar: launch block=32\n// mbar: arg prm = u64 0\n{text}");
    let settings = Settings::default();
    let checked = check(SourceFile::new("form.ptx", text), &settings);
    let nothing = &mut |_: &str| Err(io::Error::other("no files"));
    let launch = launch::read(&checked.program, &Overrides::default(), nothing).ok()?;
    let machine = Machine::new(&checked.program, &launch, Options::default()).ok()?;
    Some(!machine.code.insts.iter().any(|inst| matches!(inst.op, Op::Unsupported)))
}

/// A form cannot be executed exactly if it has one of these.
const UNSUPPORTED: &[&str] = &[
    "multimem.",
    "fabric.try_",
    "fabric.submit",
    "fabric.wait",
    "tcgen05.",
    "wgmma.",
    "mma.sp",
    ".block_scale",
    "discard.",
    ".mbarrier::report::validity",
    ".override::",
    ".cta_group::2",
    ".alloc_class_large",
];

#[test]
fn every_other_form_can_be_executed() {
    let mut failures = Failures::default();
    for row in rows("oracle/forms.tsv") {
        let form = &row[1];
        // A prefetch has no effect that could be left out.
        let listed = UNSUPPORTED.iter().any(|word| form.contains(word)) && !form.contains(".prefetch.");
        match is_supported(form, "9.3") {
            Some(supported) if supported != listed => {}
            Some(_) => failures.push(format!("{} listed: {form}", if listed { "wrongly" } else { "not" })),
            None => failures.push(format!("cannot be launched: {form}")),
        }
    }
    failures.report(
        "What `run` cannot execute stands in the list above and in README.md, and nothing else does.",
    );
}
