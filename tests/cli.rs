//! The command line: exit codes, what stands on which stream, what it says about bad input.

mod support;

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use support::command::{Folder, Run};

const CLEAN: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n";
const FAULTY: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.shared .b64 bar;\n\
mbarrier.ini.shared.b64 [bar], 1;\nret; }\n";
/// The manual allows at most 2^20-1 arrivals; ptxas does not check it.
const DOUBTFUL: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b64 %rd<2>;\n.shared .b8 bytes[16];\n\
mbarrier.init.shared.b64 [bytes], 1;\nret; }\n";

#[test]
fn exit_codes_tell_clean_from_faulty_from_unusable() {
    let folder = Folder::new("exit_codes").with("clean.ptx", CLEAN).with("faulty.ptx", FAULTY);
    folder.mbar(&["check", "clean.ptx"]).exits(0);
    folder.mbar(&["check", "faulty.ptx"]).exits(1).says("unknown-instruction");
    folder.mbar(&["check", "clean.ptx", "faulty.ptx"]).exits(1);
    folder.mbar(&["check", "faulty.ptx", "missing.ptx"]).exits(2).says("unknown-instruction");
    folder.mbar(&["check", "."]).exits(1).says("faulty.ptx");
}

#[test]
fn denied_warnings_count_as_errors() {
    let folder = Folder::new("deny").with("doubtful.ptx", DOUBTFUL);
    let json = folder.mbar(&["check", "--format", "json", "doubtful.ptx"]).exits(0).json();
    assert!(json["summary"]["warnings"].as_u64() > Some(0), "the example must have a warning: {json}");
    folder.mbar(&["check", "--deny", "warnings", "doubtful.ptx"]).exits(1);
    folder.mbar(&["check", "--deny", "notes", "doubtful.ptx"]).exits(2);
}

/// The ending of a file tells its language, `--lang` overrides it, and standard input has none.
#[test]
fn languages_are_told_by_endings_or_by_name() {
    let python = "asm('mbarrier.inval.b6 [$0];', 'l')\n";
    let markdown = "```ptx\nmbarrier.inval.b6 [bar];\n```\n";
    let folder = Folder::new("languages")
        .with("a.py", python)
        .with("a.txt", python)
        .with("a.md", markdown)
        .with("a.rs", "fn f() { asm!(\"mbarrier.inval.b6 [{}];\", in(reg64) p); }\n")
        .with("a.mlir", "llvm.inline_asm \"mbarrier.inval.b6 [$0];\", \"l\" %p\n");
    for name in ["a.py", "a.md", "a.rs", "a.mlir"] {
        folder.mbar(&["check", name]).exits(1).says("unknown-modifier").says(name);
    }
    folder.mbar(&["check", "."]).exits(1).complains("4 files checked: 4 errors");
    folder.mbar(&["check", "--lang", "python", "a.txt"]).exits(1).says("unknown-modifier");
    folder.mbar(&["check", "--lang", "rust", "a.py"]).exits(0);
    folder
        .mbar_with_input(&["check", "--lang", "python", "-"], python.as_bytes())
        .exits(1)
        .says("unknown-modifier");
    folder
        .mbar_with_input(&["check", "--lang", "markdown", "-"], markdown.as_bytes())
        .exits(1)
        .says("<stdin>");
    folder.mbar(&["check", "--lang", "cobol", "a.py"]).exits(2);
}

/// A file that cannot be used is named on stderr with what to do; the others are checked all the same.
#[test]
fn unusable_files_are_named_and_the_others_are_checked() {
    let folder = Folder::new("unusable")
        .with("faulty.ptx", FAULTY)
        .with("utf16.ptx", b"\xff\xfe/\0/\0")
        .with("binary.ptx", b"\x50\xed\x55\xba\x01\x00\x10\x00\x00\x00\x00\x00")
        .with("kernel.cubin", b"\x7fELF\x02\x01\x01\x33\x07\x00\x00\x00")
        .with("empty/readme.txt", "no PTX here");
    for (name, words) in [
        ("missing.ptx", "no such file"),
        ("empty", "no file that may hold ptx"),
        ("utf16.ptx", "utf-16"),
        ("binary.ptx", "binary"),
        ("kernel.cubin", "cuobjdump"),
    ] {
        let run = folder.mbar(&["check", name, "faulty.ptx"]);
        run.exits(2).complains(name).says("unknown-instruction");
        assert!(run.err.to_lowercase().contains(words), "{name}: no {words:?} in {}", run.err);
        assert!(!run.err.contains("panicked"), "{}", run.err);
    }
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("permission").with("secret.ptx", CLEAN);
    let path = folder.0.join("secret.ptx");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("chmod");
    // Root reads everything; then there is nothing to see.
    if fs::read(&path).is_err() {
        folder.mbar(&["check", "secret.ptx"]).exits(2).complains("secret.ptx").complains("ermission");
    }
}

#[test]
fn standard_input_is_a_file() {
    let folder = Folder::new("stdin").with("clean.ptx", CLEAN);
    folder.mbar_with_input(&["check", "-"], CLEAN.as_bytes()).exits(0);
    folder.mbar_with_input(&["check", "-"], FAULTY.as_bytes()).exits(1).says("<stdin>");
    folder.mbar_with_input(&["check", "clean.ptx", "-"], FAULTY.as_bytes()).exits(1).says("<stdin>");
    folder.mbar_with_input(&["check", "-"], b"\xff\xfe").exits(2).complains("<stdin>");
}

#[test]
fn findings_go_to_stdout_and_the_summary_to_stderr() {
    let folder = Folder::new("streams").with("faulty.ptx", FAULTY);
    let run = folder.mbar(&["check", "faulty.ptx"]);
    run.exits(1).says("faulty.ptx:6:1").says("mbarrier.init").complains("1 file checked: 1 error");
    assert!(!run.out.contains('\u{1b}'), "no colour where nobody looks");
    assert!(run.out.lines().all(|line| line == line.trim_end()), "no blanks at the end of lines");
    let run = folder.mbar(&["--color", "always", "check", "faulty.ptx"]);
    assert!(run.out.contains('\u{1b}'), "colour on demand");
    folder.mbar(&["check", "--color=never", "faulty.ptx"]).exits(1);
}

/// The schema `mbar.check/1`: fields are only ever added.
#[test]
fn json_has_the_documented_fields() {
    let folder = Folder::new("json").with("sub/faulty.ptx", FAULTY).with("clean.ptx", CLEAN);
    let json = folder.mbar(&["check", "--format", "json", "sub/faulty.ptx", "clean.ptx"]).exits(1).json();
    assert_eq!(json["schema"], "mbar.check/1");
    assert_eq!(json["summary"], serde_json::json!({"files": 2, "errors": 1, "warnings": 0, "notes": 0}));
    let findings = json["diagnostics"].as_array().expect("a list");
    assert_eq!(findings.len(), 1);
    let finding = &findings[0];
    for (field, expected) in [
        ("rule", "unknown-instruction"),
        ("severity", "error"),
        ("ptxas", "rejects"),
        ("file", "sub/faulty.ptx"),
    ] {
        assert_eq!(finding[field], expected, "{field} of {finding}");
    }
    for (field, expected) in [("line", 6), ("column", 1), ("end_line", 6)] {
        assert_eq!(finding[field], expected, "{field} of {finding}");
    }
    assert!(finding["end_column"].as_u64() > Some(1), "{finding}");
    assert!(finding["message"].as_str().is_some_and(|message| message.contains("mbarrier.ini")), "{finding}");
    for list in ["notes", "helps", "fixes"] {
        assert!(finding[list].is_array(), "{list} of {finding}");
    }
    let nothing = folder.mbar(&["check", "--format", "json", "clean.ptx"]).exits(0).json();
    assert_eq!(nothing["diagnostics"], serde_json::json!([]));
}

/// A fix in the JSON, applied, gives a clean file.
#[test]
fn json_tells_how_to_mend_it() {
    let folder = Folder::new("fix").with("old.ptx", CLEAN.replace("8.0", "7.0"));
    let json = folder.mbar(&["check", "--format", "json", "old.ptx"]).exits(1).json();
    let fix = &json["diagnostics"][0]["fixes"][0];
    assert!(fix["title"].is_string(), "{json}");
    let edit = &fix["edits"][0];
    let number = |field: &str| edit[field].as_u64().unwrap_or_else(|| panic!("{field} in {edit}")) as usize;
    let text = CLEAN.replace("8.0", "7.0");
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let line = &mut lines[number("line") - 1];
    line.replace_range(
        number("column") - 1..number("end_column") - 1,
        edit["replacement"].as_str().expect("a text"),
    );
    let folder = Folder::new("fixed").with("new.ptx", lines.join("\n"));
    folder.mbar(&["check", "new.ptx"]).exits(0);
}

#[test]
fn json_is_whole_even_when_a_file_is_missing() {
    let folder = Folder::new("json_missing").with("clean.ptx", CLEAN);
    let run = folder.mbar(&["check", "--format", "json", "missing.ptx", "clean.ptx"]);
    assert_eq!(run.exits(2).complains("missing.ptx").json()["summary"]["files"], 1);
}

#[test]
fn target_version_and_release_can_be_asked_for() {
    let folder = Folder::new("asked").with("clean.ptx", CLEAN);
    folder.mbar(&["check", "--target", "sm_80", "--ptx", "7.0", "clean.ptx"]).exits(0);
    folder.mbar(&["check", "--cuda", "11.8", "clean.ptx"]).exits(1).says("toolkit-too-old");
    folder.mbar(&["check", "--cuda", "12.0", "clean.ptx"]).exits(0);
}

#[test]
fn wrong_usage_is_explained() {
    let folder = Folder::new("usage").with("clean.ptx", CLEAN);
    folder.mbar(&[]).exits(2);
    folder.mbar(&["check"]).exits(2).complains("PATH");
    folder.mbar(&["chek", "clean.ptx"]).exits(2).complains("check");
    folder.mbar(&["check", "--fromat", "json", "clean.ptx"]).exits(2).complains("--format");
    folder.mbar(&["check", "--format", "xml", "clean.ptx"]).exits(2).complains("json");
    folder.mbar(&["check", "--target", "sm_9O", "clean.ptx"]).exits(2).complains("did you mean `sm_90`?");
    folder.mbar(&["check", "--ptx", "8.9", "clean.ptx"]).exits(2).complains("9.5");
    folder.mbar(&["check", "--cuda", "12.7", "clean.ptx"]).exits(2).complains("12.8");
}

#[test]
fn help_tells_the_exit_codes() {
    let folder = Folder::new("help");
    folder.mbar(&["--help"]).exits(0).says("check").says("explain").says("forms");
    folder.mbar(&["check", "--help"]).exits(0).says("Exit codes: 0").says("--deny").says("--format");
    folder.mbar(&["--version"]).exits(0).says(env!("CARGO_PKG_VERSION"));
}

#[test]
fn forms_shows_instructions() {
    let folder = Folder::new("forms");
    folder.mbar(&["forms"]).exits(0).says("mbarrier.init").says("cp.async.bulk");
    folder.mbar(&["forms", "mbarrier.init"]).exits(0).says("sm_80").says(".layout");
    folder
        .mbar(&["forms", "tensor"])
        .exits(0)
        .says("cp.async.bulk.tensor")
        .says("cp.async.bulk.prefetch.tensor");
    folder.mbar(&["forms", "mbarrier.innit"]).exits(2).complains("mbarrier.init");
    folder.mbar(&["forms", "qqqqqqqqqq"]).exits(2).complains("qqqqqqqqqq");
}

#[test]
fn explain_shows_rules() {
    let folder = Folder::new("explain");
    let list = folder.mbar(&["explain"]);
    for rule in mbar::check::rules() {
        list.exits(0).says(rule.name).says(rule.summary);
        folder.mbar(&["explain", rule.name]).exits(0).says(rule.page.trim()).says("ptxas");
    }
    folder.mbar(&["explain", "unknown-modifer"]).exits(2).complains("unknown-modifier");
    folder.mbar(&["explain", "qqqqqqqqqq"]).exits(2).complains("qqqqqqqqqq");
}

#[test]
fn two_runs_print_the_same() {
    let folder = Folder::new("same");
    for format in ["human", "concise", "json", "sarif", "github"] {
        let cases = support::data("cases");
        let cases = cases.to_str().expect("a UTF-8 path");
        let (first, second) = (
            folder.mbar(&["check", "-v", "--format", format, cases]),
            folder.mbar(&["check", "-v", "--format", format, cases]),
        );
        assert!(first.out == second.out && first.err == second.err, "{format}: two runs differ");
        assert!(first.out.len() > 1000, "{format}: something is printed");
    }
}

/// Bytes that are no UTF-8 count as one character each.
#[test]
fn latin1_is_read_in_comments_and_refused_elsewhere() {
    let folder = Folder::new("latin1")
        .with("comment.ptx", [b"// gr\xf6\xdfe\n", CLEAN.as_bytes()].concat())
        .with("behind.ptx", [b"/* \xfc */ bad\n", CLEAN.as_bytes()].concat())
        .with("name.ptx", CLEAN.replace("ret;", "\u{fffd};").replace('\u{fffd}', "\u{e4}"));
    folder.mbar(&["check", "comment.ptx"]).exits(0);
    folder.mbar(&["check", "behind.ptx"]).exits(1).says("behind.ptx:1:9");
    folder.mbar(&["check", "name.ptx"]).exits(1).says("is not ASCII");
}

/// Every finding underlines something.
#[test]
fn every_frame_has_a_mark() {
    let body = |text: &str| CLEAN.replace("ret;", text);
    let texts = [
        format!("\u{feff}{CLEAN}"),
        format!("{CLEAN}/* never closed"),
        body("mov . u32 a;"),
        body("mov.u32 \u{e4}, 1;"),
        body("mov.u32 (s), 1;"),
        body(".pragma \"open;"),
        body("#include"),
        body("@@x"),
        body(".maxntid 1;"),
    ];
    let folder = Folder::new("marks");
    for (index, text) in texts.iter().enumerate() {
        let name = format!("{index}.ptx");
        fs::write(folder.0.join(&name), text).expect("a file");
        let run = folder.mbar(&["check", &name]);
        assert!(run.out.contains("╭─[") && run.out.contains("╰──"), "no mark: {}", run.out);
    }
}

#[test]
fn what_is_not_checked_is_counted() {
    let folder = Folder::new("unchecked")
        .with("opaque.ptx", CLEAN.replace("ret;", ".reg .b32 a; tex.1d.v4.f32.s32 {a,a,a,a}, [a, {a}]; ret;"))
        .with("clean.ptx", CLEAN);
    let run = folder.mbar(&["check", "opaque.ptx"]);
    run.exits(0).complains("1 instruction not checked (--verbose shows it)");
    folder.mbar(&["check", "--verbose", "opaque.ptx"]).exits(0).says("not-checked");
    folder.mbar(&["asm", "--listing", "opaque.ptx"]).exits(0).says("needs at least ");
    assert!(!folder.mbar(&["check", "clean.ptx"]).err.contains("not checked"));
    assert!(!folder.mbar(&["asm", "--listing", "clean.ptx"]).out.contains("at least"));
}

#[test]
fn many_findings_are_cut_for_people_only() {
    let many = FAULTY
        .replace("mbarrier.ini.shared.b64 [bar], 1;", &"mbarrier.ini.shared.b64 [bar], 1;\n".repeat(1000));
    let folder = Folder::new("many").with("many.ptx", many);
    let run = folder.mbar(&["check", "many.ptx"]);
    run.exits(1).says("many.ptx: 800 more").complains("1000 errors");
    assert_eq!(run.out.matches("[unknown-instruction]").count(), 200);
    let json = folder.mbar(&["check", "--format", "json", "many.ptx"]).json();
    assert_eq!(json["diagnostics"].as_array().map(Vec::len), Some(1000));
}

/// Characters of one colour share one escape sequence.
#[test]
fn colours_are_not_repeated() {
    let folder = Folder::new("colours").with("faulty.ptx", FAULTY);
    let plain = folder.mbar(&["check", "faulty.ptx"]).out;
    let colored = folder.mbar(&["--color", "always", "check", "faulty.ptx"]).out;
    assert!(colored.len() < 3 * plain.len(), "{colored:?}");
    let stripped: String =
        colored.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
    assert!(stripped.contains("╭─[ faulty.ptx:6:1 ]"), "{colored:?}");
}

/// An opcode as it stands in a program is found by the instruction's name.
#[test]
fn forms_finds_whole_opcodes() {
    let folder = Folder::new("opcodes");
    for (opcode, name) in [
        ("elect.sync", "elect"),
        ("setmaxnreg.dec.sync", "setmaxnreg"),
        ("wgmma.wait_group.sync", "wgmma.wait_group"),
        ("cp.async.cg", "cp.async"),
        ("fence.proxy.async", "fence.proxy"),
        ("mov.u32", "mov"),
        ("cp.async.bulk.tensor.2d", "cp.async.bulk.tensor"),
        ("mbarrier.try_wait.parity.shared::cta.b64", "mbarrier.try_wait"),
        ("bar.sync", "bar"),
    ] {
        let run = folder.mbar(&["forms", opcode]);
        let title = run.exits(0).out.split("  ").next().unwrap_or("");
        assert!(title.starts_with(name), "{opcode}: {title}");
    }
    let all = mbar::isa::OPS.iter().map(|op| folder.mbar(&["forms", op.name]).out).collect::<String>();
    assert!(!all.contains("-9223372036854775808"), "no bound that is none");
    assert!(all.contains("a multiple of 32"));
    assert!(all.contains("Known by name only"));
}

#[test]
fn explain_takes_a_part_of_a_name() {
    let folder = Folder::new("explain_part");
    folder.mbar(&["explain", "divergent-b"]).exits(0).says("# divergent-barrier");
    folder.mbar(&["explain", "missing-p"]).exits(0).says("# missing-proxy-fence");
    folder.mbar(&["explain", "unknown"]).exits(2).complains("`unknown-label`").complains("`unknown-name`");
    folder.mbar(&["explain", "remote-cta-scope"]).exits(0).says("Usual severity: warning").says("a note");
}

/// Output that cannot be written is told and no success; complaints that cannot be written change nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_no_success() {
    let folder = Folder::new("full").with("clean.ptx", CLEAN).with("faulty.ptx", FAULTY);
    let full = || fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let mbar = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mbar"));
        command.args(arguments).current_dir(&folder.0).stdin(Stdio::null());
        command
    };
    for arguments in [
        &["asm", "clean.ptx"][..],
        &["asm", "--format", "json", "clean.ptx"],
        &["check", "faulty.ptx"],
        &["check", "--format", "json", "clean.ptx"],
        &["forms"],
        &["explain"],
        &["--help"],
    ] {
        let run = Run::of(mbar(arguments).stdout(full()).output().expect("mbar starts"), arguments);
        run.exits(2).complains("mbar: standard output: ");
    }
    for (arguments, code) in [
        (&["check", "clean.ptx"][..], 0),
        (&["check", "faulty.ptx"], 1),
        (&["check", "missing.ptx"], 2),
        (&["asm", "faulty.ptx"], 1),
        (&["explain", "qqqqqqqqqq"], 2),
        (&["forms", "qqqqqqqqqq"], 2),
        (&["check"], 2),
    ] {
        let output = mbar(arguments).stderr(full()).output().expect("mbar starts");
        Run::of(output, arguments).exits(code);
    }
}

/// A reader that goes away ends the output in silence.
#[test]
fn a_broken_pipe_is_silent() {
    let many: String = FAULTY
        .replace("mbarrier.ini.shared.b64 [bar], 1;", &"mbarrier.ini.shared.b64 [bar], 1;\n".repeat(5000));
    let folder = Folder::new("pipe").with("many.ptx", many);
    for arguments in [
        &["check", "many.ptx"][..],
        &["check", "--format", "json", "many.ptx"],
        &["forms", "e"],
        &["explain"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mbar"));
        command.args(arguments).current_dir(&folder.0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("mbar starts");
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
        let status = child.wait().expect("mbar ends");
        assert!(!err.contains("panicked") && !err.contains("pipe"), "mbar {}: {err}", arguments.join(" "));
        assert!(status.code().is_some_and(|code| code <= 2), "mbar {}: {status}", arguments.join(" "));
    }
}
