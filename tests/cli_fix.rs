//! `mbar check --fix`: what is written, what is kept as it is, what is said.

mod support;

use std::fs;

use pretty_assertions::assert_eq;
use support::command::Folder;

const HEAD: &str =
    ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.shared .b64 bar;\n.reg .pred %p;\n";
/// Three faults with safe fixes, and one that is a matter for people.
const FAULTS: &str = "@%p mbarrier.ini.shared.b64 [bar], 1\nmbarrier.arrive.shared.b64 [bar];\n\
mbarrier.try_wait.shared.parity.b64 %p, [bar], 0;\nmov.u32 %r1, 1;\nret; }\n";
const FIXED: &str = "@%p mbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.shared.b64 _, [bar];\n\
mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;\nmov.u32 %r1, 1;\nret; }\n";

fn text(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.0.join(name)).expect("a text")
}

#[test]
fn files_are_fixed_and_the_rest_is_reported() {
    let folder = Folder::new("fix_files")
        .with("a.ptx", format!("{HEAD}{FAULTS}"))
        .with("b.ptx", format!("{HEAD}{FAULTS}"))
        .with("clean.ptx", format!("{HEAD}ret; }}\n"));
    let run = folder.mbar(&["check", "--fix", "."]);
    run.exits(1)
        .says("[unknown-name]")
        .complains("3 files checked: 2 errors, no warnings; fixed 8 findings in 2 files");
    assert_eq!(text(&folder, "a.ptx"), format!("{HEAD}{FIXED}"));
    assert_eq!(text(&folder, "b.ptx"), format!("{HEAD}{FIXED}"));
    folder.mbar(&["check", "--fix", "."]).exits(1).complains("; fixed nothing");
    assert_eq!(text(&folder, "a.ptx"), format!("{HEAD}{FIXED}"));
}

#[test]
fn a_diff_writes_nothing() {
    let folder = Folder::new("fix_diff").with("sub/a.ptx", format!("{HEAD}{FAULTS}")).with("clean.ptx", HEAD);
    let run = folder.mbar(&["check", "--fix", "--diff", "sub/a.ptx"]);
    run.exits(1)
        .says("--- sub/a.ptx\n+++ sub/a.ptx\n@@ -4,8 +4,8 @@\n")
        .complains("would fix 4 findings in 1 file");
    run.says("-mbarrier.arrive.shared.b64 [bar];\n").says("+mbarrier.arrive.shared.b64 _, [bar];\n");
    assert!(!run.out.contains("unknown-name"), "only a diff: {}", run.out);
    assert_eq!(text(&folder, "sub/a.ptx"), format!("{HEAD}{FAULTS}"));
    let input = format!("{HEAD}{FAULTS}");
    let run = folder.mbar_with_input(&["check", "--fix", "--diff", "-"], input.as_bytes());
    run.exits(1).says("--- <stdin>\n");
    let fixed = format!("{HEAD}{FIXED}");
    let run = folder.mbar_with_input(&["check", "--fix", "--diff", "-"], fixed.as_bytes());
    run.exits(0).complains("would fix nothing");
    assert_eq!(run.out, "");
}

#[test]
fn wrong_usage_is_explained() {
    let folder = Folder::new("fix_usage").with("a.ptx", HEAD);
    folder.mbar(&["check", "--diff", "a.ptx"]).exits(2).complains("--fix");
    folder.mbar(&["check", "--fix", "-"]).exits(2).complains("add --diff");
    folder
        .mbar(&["check", "--fix", "--diff", "--format", "json", "a.ptx"])
        .exits(2)
        .complains("leave out --format");
}

/// Line endings, tabs, a missing last newline and characters of any kind stay.
#[test]
fn bytes_outside_of_the_fixes_stay() {
    let strange = |faults: &str| {
        format!("// \u{e4}\u{fffd} \u{1f600}\t \n{HEAD}{faults}\t// end").replace('\n', "\r\n")
    };
    let folder = Folder::new("fix_bytes").with("a.ptx", strange(FAULTS));
    folder.mbar(&["check", "--fix", "a.ptx"]).exits(1).complains("fixed 4 findings in 1 file");
    assert_eq!(text(&folder, "a.ptx"), strange(FIXED));
}

#[test]
fn what_is_no_utf_8_is_not_rewritten() {
    let latin1 = [b"// gr\xf6\xdfe\n", HEAD.as_bytes(), FAULTS.as_bytes()].concat();
    let folder = Folder::new("fix_latin1").with("a.ptx", &latin1).with("b.ptx", format!("{HEAD}{FAULTS}"));
    let run = folder.mbar(&["check", "--fix", "."]);
    run.exits(2).complains("a.ptx: has bytes that are no UTF-8").complains("fixed 4 findings in 1 file");
    run.says("[unknown-instruction]");
    assert_eq!(fs::read(folder.0.join("a.ptx")).expect("a file"), latin1);
    assert_eq!(text(&folder, "b.ptx"), format!("{HEAD}{FIXED}"));
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("fix_permissions").with("a.ptx", format!("{HEAD}{FAULTS}"));
    let path = folder.0.join("a.ptx");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("chmod");
    symlink("a.ptx", folder.0.join("link.ptx")).expect("a link");
    folder.mbar(&["check", "--fix", "link.ptx", "a.ptx"]).exits(1);
    assert_eq!(text(&folder, "a.ptx"), format!("{HEAD}{FIXED}"));
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o750);
    assert!(fs::symlink_metadata(folder.0.join("link.ptx")).expect("a link").is_symlink());
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("fix_readonly").with("a.ptx", format!("{HEAD}{FAULTS}"));
    let path = folder.0.join("a.ptx");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("chmod");
    // Root writes everything; then there is nothing to see.
    if fs::File::options().write(true).open(&path).is_err() {
        folder.mbar(&["check", "--fix", "a.ptx"]).exits(2).complains("a.ptx: cannot be written");
    }
}

/// Only findings that are shown are fixed.
#[test]
fn what_is_not_reported_is_not_fixed() {
    let folder = Folder::new("fix_levels").with("a.ptx", format!("{HEAD}{FAULTS}"));
    folder
        .mbar(&["check", "--fix", "--select", "operand-mismatch", "a.ptx"])
        .exits(0)
        .complains("fixed 1 finding");
    let only = FAULTS.replace(".arrive.shared.b64 [", ".arrive.shared.b64 _, [");
    assert_eq!(text(&folder, "a.ptx"), format!("{HEAD}{only}"));
    let allowed = only.replace("@%p", "// mbar: allow(unknown-instruction)\n@%p");
    let folder = folder.with("a.ptx", format!("{HEAD}{allowed}"));
    folder
        .mbar(&["check", "--fix", "--ignore", "unknown-modifier,syntax-error", "a.ptx"])
        .complains("fixed nothing");
}
