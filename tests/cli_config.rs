//! `mbar.toml` and the flags that say how seriously rules are taken.

mod support;

use support::command::Folder;

/// A warning of `inverted-wait`, an error of `unknown-name`.
const FAULTY: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n\
.reg .pred p; .shared .b64 bar; .reg .b32 a;\nmov.u32 a, b;\n\
L: mbarrier.try_wait.parity.shared.b64 p, [bar], 0;\n@p bra L;\nret; }\n";

fn faulty(test: &str) -> Folder {
    Folder::new(test).with(".git/keep", "").with("a.ptx", FAULTY).with("sub/deep/b.ptx", FAULTY)
}

#[test]
fn the_nearest_configuration_counts() {
    let folder = faulty("config_nearest")
        .with("mbar.toml", "[rules]\ninverted-wait = \"error\"\nuninitialised-barrier = \"allow\"\n")
        .with("sub/mbar.toml", "[rules]\nunknown-name = \"note\"\n");
    folder
        .mbar(&["check", "a.ptx"])
        .exits(1)
        .says("[inverted-wait] Error")
        .complains("2 errors, no warnings");
    folder
        .mbar(&["check", "sub"])
        .exits(0)
        .says("[inverted-wait] Warning")
        .complains("no errors, 2 warnings, 1 note");
    folder.mbar(&["check", "--no-config", "."]).exits(1).complains("2 errors, 4 warnings");
    folder.mbar(&["check", "--config", "mbar.toml", "sub"]).exits(1).complains("2 errors, no warnings");
    folder.mbar(&["check", "--config", "sub/mbar.toml", "a.ptx"]).exits(0);
    folder.mbar(&["check", "--config", "mbar.toml", "--no-config", "a.ptx"]).exits(2);
}

#[test]
fn paths_have_their_own_settings_and_may_be_left_out() {
    let config = "exclude = [\"sub/deep/**\"]\n[rules]\nunknown-name = \"allow\"\n\
        [[paths]]\nmatch = [\"a.*\"]\nrules = { inverted-wait = \"error\" }\n";
    let folder = faulty("config_paths").with("mbar.toml", config).with("sub/c.ptx", FAULTY);
    folder.mbar(&["check", "a.ptx"]).exits(1).complains("1 error, 1 warning");
    folder.mbar(&["check", "sub"]).exits(0).complains("1 file checked: no errors, 2 warnings");
    // What is named is checked.
    folder.mbar(&["check", "sub/deep/b.ptx"]).exits(0).complains("1 file checked");
    folder.mbar_with_input(&["check", "-"], FAULTY.as_bytes()).exits(0).complains("no errors, 2 warnings");
}

#[test]
fn a_release_may_be_asked_for() {
    let folder = faulty("config_cuda").with("mbar.toml", "cuda = \"11.8\"\n");
    folder.mbar(&["check", "a.ptx"]).exits(1).says("[toolkit-too-old]");
    let flag = folder.mbar(&["check", "--cuda", "12.4", "a.ptx"]);
    assert!(!flag.out.contains("toolkit-too-old"), "{}", flag.out);
}

#[test]
fn a_broken_configuration_is_told_once() {
    let folder = faulty("config_broken")
        .with("sub/mbar.toml", "targt = \"sm_90\"\n[rules]\ninverted-wiat = \"eror\"\nm8 = \"allow\"\n");
    let run = folder.mbar(&["check", "a.ptx", "sub", "sub/deep/b.ptx"]);
    run.exits(2)
        .complains("mbar: sub/mbar.toml:1:1: the configuration has no `targt`; did you mean `target`?");
    run.complains("sub/mbar.toml:3:1: there is no rule `inverted-wiat`; did you mean `inverted-wait`?");
    run.complains("sub/mbar.toml:3:17: there is no level `eror`; did you mean `error`?");
    run.complains("sub/mbar.toml:4:1: `m8` is a rule of `mbar run` and `mbar verify`");
    run.complains("1 file checked: 1 error");
    assert_eq!(run.err.matches("targt").count(), 1, "{}", run.err);
    assert!(!run.err.contains(env!("CARGO_TARGET_TMPDIR")), "no absolute path: {}", run.err);
    folder.mbar(&["check", "--config", "sub/mbar.toml", "a.ptx"]).exits(2).complains("targt");
    folder
        .mbar(&["check", "--config", "nowhere.toml", "a.ptx"])
        .exits(2)
        .complains("nowhere.toml: no such file");
    let folder = faulty("config_syntax").with("mbar.toml", "x = = 1\n");
    folder.mbar(&["check", "sub"]).exits(2).complains("mbar: mbar.toml:1:5: ");
}

#[test]
fn flags_win_over_files_and_comments_over_flags() {
    let config = "[rules]\ninverted-wait = \"allow\"\nunknown-name = \"warning\"\n";
    let folder = faulty("config_flags").with("mbar.toml", config);
    let codes = |flags: &[&str], code: i32, summary: &str| {
        folder.mbar(&[&["check", "a.ptx"], flags].concat()).exits(code).complains(summary);
    };
    codes(&[], 0, "no errors, 2 warnings");
    codes(&["--deny", "warnings"], 1, "no errors, 2 warnings");
    codes(&["--deny", "inverted-wait"], 1, "1 error, 2 warnings");
    codes(&["--deny", "inverted-wait,unknown-name"], 1, "2 errors, 1 warning");
    codes(&["--deny=warnings,unknown-name"], 1, "1 error, 1 warning");
    codes(&["--warn", "inverted-wait"], 0, "no errors, 3 warnings");
    codes(&["--ignore", "unknown-name", "--ignore", "uninitialised-barrier"], 0, "no errors, no warnings");
    codes(&["--select", "inverted-wait"], 0, "no errors, 1 warning");
    codes(&["--select", "inverted-wait", "--deny", "inverted-wait"], 1, "1 error, no warnings");
    let allowed = FAULTY.replace("@p bra L", "// mbar: allow(inverted-wait)\n@p bra L");
    let allowed = allowed.replace("L: mb", "// mbar: allow(inverted-wait)\nL: mb");
    let folder = Folder::new("config_comments").with("a.ptx", allowed);
    folder.mbar(&["check", "--deny", "inverted-wait", "--ignore", "unknown-name", "a.ptx"]).exits(0);
}

#[test]
fn wrong_flags_are_explained() {
    let folder = faulty("config_usage");
    for flag in ["--select", "--ignore", "--deny", "--warn"] {
        let run = folder.mbar(&["check", flag, "inverted-wiat", "a.ptx"]);
        run.exits(2).complains("there is no rule `inverted-wiat`; did you mean `inverted-wait`?");
    }
    let run = folder.mbar(&["check", "--ignore", "inverted-wait", "--deny", "inverted-wait", "a.ptx"]);
    run.exits(2).complains("--deny and --ignore both name `inverted-wait`");
    folder.mbar(&["check", "--warn", "early-arrival", "a.ptx"]).exits(2).complains("`mbar run`");
}

#[test]
fn rules_are_listed_with_their_level_here() {
    let folder = Folder::new("config_list").with("mbar.toml", "[rules]\ninverted-wait = \"error\"\n");
    let list = folder.mbar(&["check", "--list-rules", "--ignore", "unknown-name"]);
    list.exits(0);
    let line = |rule: &str| {
        let line = list.out.lines().find(|line| line.split_whitespace().next() == Some(rule));
        line.unwrap_or_else(|| panic!("no {rule} in {}", list.out))
    };
    for rule in mbar::check::rules() {
        assert!(line(rule.name).ends_with(rule.summary));
    }
    for (rule, words) in [
        ("inverted-wait", "error    ptxas accepts"),
        ("unknown-name", "allow    ptxas rejects"),
        ("unusual-order", "allow    ptxas accepts"),
        ("foreign-state", "warning  ptxas accepts"),
    ] {
        assert!(line(rule).contains(words), "{}", line(rule));
    }
}

/// Rules that keep silent by themselves speak when they are asked for.
#[test]
fn silent_rules_are_asked_for() {
    let text = FAULTY.replace("mov.u32 a, b;", "fence.cta.acq_rel; tex.1d.v4.f32.s32 {a,a,a,a}, [a, {a}];");
    let folder = Folder::new("config_silent").with("a.ptx", text);
    let run = folder.mbar(&["check", "a.ptx"]);
    assert!(!run.out.contains("unusual-order") && !run.out.contains("not-checked"), "{}", run.out);
    folder.mbar(&["check", "--warn", "unusual-order", "a.ptx"]).exits(0).says("[unusual-order] Warning");
    folder.mbar(&["check", "--select", "not-checked", "a.ptx"]).exits(0).says("[not-checked]");
    let folder = folder.with("mbar.toml", "rules = { unusual-order = \"note\" }\n");
    folder.mbar(&["check", "a.ptx"]).exits(0).says("fence.acq_rel.cta");
}
