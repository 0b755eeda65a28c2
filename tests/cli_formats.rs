//! What `mbar check` prints for machines: one line a finding, SARIF, workflow commands; and baselines, which
//! hold for all formats.

mod support;

use std::collections::BTreeSet;
use std::fs;

use boon::{Compiler, Schemas};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use support::command::{Folder, Run};

/// An error, a warning, a place beside it, and fixes.
const BROKEN: &str = include_str!("../examples/ring_broken.ptx");
const CLEAN: &str = include_str!("../examples/ring.ptx");
/// An instruction that is known by name only: a note, if it is asked for.
const NOTED: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n\
.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nmov.u64 %rd1, 0;\ntxq.width.b32 %r1, [%rd1]; ret; }\n";
/// Two findings on lines that differ in their blanks only.
const TWICE: &str =
    ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n\tbra  NOWHERE;\n    bra NOWHERE;\n}\n";

/// The root of a repository.
fn repository(test: &str) -> Folder {
    Folder::new(test).with(".git/HEAD", "")
}

/// A name that each format has to escape somewhere.
const ODD: &str = "sub dir/50%, gr\u{fc}n.ptx";

#[test]
fn concise_is_one_line_a_finding() {
    let folder = Folder::new("concise").with(ODD, BROKEN).with("clean.ptx", CLEAN);
    let run = folder.mbar(&["check", "--format", "concise", ODD, "clean.ptx"]);
    run.exits(1).complains("2 files checked: 1 error, 2 warnings");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", run.out);
    assert_eq!(
        lines[2],
        format!(
            "{ODD}:47:49: error[operand-mismatch] `mbarrier.arrive` needs a destination before the address"
        )
    );
    assert!(lines[0].contains(":37:70: warning[transaction-bytes] "), "{}", lines[0]);
    let nothing = folder.mbar(&["check", "--format", "concise", "clean.ptx"]);
    assert_eq!(nothing.exits(0).out, "");
}

/// Lines with CR LF, and characters of several bytes before the place, shift no column.
#[test]
fn columns_are_the_same_whatever_ends_the_lines() {
    let text = BROKEN.replace("mbarrier.arrive.release", "/* \u{e4}\u{1f600} */ mbarrier.arrive.release");
    let folder = Folder::new("columns").with("lf.ptx", &text).with("crlf.ptx", text.replace('\n', "\r\n"));
    let lines = |format: &str, file: &str| {
        let run = folder.mbar(&["check", "--format", format, file]);
        run.exits(1).says("47");
        run.out.replace("crlf.ptx", "lf.ptx")
    };
    for format in ["concise", "github", "sarif"] {
        assert_eq!(lines(format, "lf.ptx"), lines(format, "crlf.ptx"), "{format}");
    }
    assert!(lines("concise", "lf.ptx").contains(":47:58: error"), "{}", lines("concise", "lf.ptx"));
}

/// A workflow command, taken apart as the runner does.
struct Annotation {
    kind: String,
    properties: Vec<(String, String)>,
    message: String,
}

impl Annotation {
    fn of(line: &str) -> Annotation {
        let (head, message) =
            line.strip_prefix("::").and_then(|line| line.split_once("::")).expect("a command");
        let (kind, properties) = head.split_once(' ').expect("properties");
        let data = |text: &str| text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%");
        let properties = properties.split(',').map(|property| {
            let (name, value) = property.split_once('=').expect("a value");
            let value = data(&value.replace("%3A", ":").replace("%2C", ","));
            (name.to_string(), value)
        });
        Annotation { kind: kind.to_string(), properties: properties.collect(), message: data(message) }
    }

    fn all(run: &Run) -> Vec<Annotation> {
        run.out.lines().map(Annotation::of).collect()
    }

    fn property(&self, name: &str) -> &str {
        let found = self.properties.iter().find(|(property, _)| property == name);
        &found.unwrap_or_else(|| panic!("no {name} in {:?}", self.properties)).1
    }
}

#[test]
fn github_gets_commands_with_places() {
    let folder = repository("github").with(ODD, BROKEN).with("noted.ptx", NOTED);
    let run = folder.mbar(&["check", "--format", "github", ODD]);
    let commands = Annotation::all(run.exits(1).complains("1 file checked: 1 error, 2 warnings"));
    let kinds: Vec<&str> = commands.iter().map(|command| command.kind.as_str()).collect();
    assert_eq!(kinds, ["warning", "warning", "error"]);
    let last = &commands[2];
    for (name, value) in [
        ("file", ODD),
        ("line", "47"),
        ("endLine", "47"),
        ("col", "49"),
        ("endColumn", "56"),
        ("title", "mbar operand-mismatch"),
    ] {
        assert_eq!(last.property(name), value);
    }
    assert!(last.message.starts_with("`mbarrier.arrive` needs a destination before the address\nNote: "));
    assert!(last.message.ends_with("\nHelp: write `_` when the state is not needed"), "{}", last.message);
    assert!(commands[0].message.contains("\nLine 38: copied here\n"), "{}", commands[0].message);
    let notes = Annotation::all(&folder.mbar(&["check", "-v", "--format", "github", "noted.ptx"]));
    assert!(notes.iter().any(|note| note.kind == "notice"), "a note must be a notice");
}

/// Whatever the current directory is, and however the file is named.
#[test]
fn paths_start_at_the_root_of_the_repository() {
    let folder = repository("paths").with("a/b/k.ptx", BROKEN);
    let absolute = folder.0.join("a/b/k.ptx");
    let places = [
        ("", "a/b/k.ptx"),
        ("", "./a/../a/b/k.ptx"),
        ("a", "b/k.ptx"),
        ("a/b", "k.ptx"),
        ("a/b", "../b/k.ptx"),
        ("a/b", absolute.to_str().expect("a UTF-8 path")),
        ("a", "."),
    ];
    for (from, path) in places {
        let run = |format| {
            let folder = folder.0.join(from);
            repository_run(&folder, &["check", "--format", format, path])
        };
        assert_eq!(Annotation::all(&run("github"))[0].property("file"), "a/b/k.ptx", "{path} from {from:?}");
        let sarif = run("sarif").json();
        let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
        assert_eq!(place, &json!({"uri": "a/b/k.ptx", "uriBaseId": "%SRCROOT%"}), "{path} from {from:?}");
    }
}

fn repository_run(current: &std::path::Path, arguments: &[&str]) -> Run {
    Folder(current.to_path_buf()).mbar(arguments)
}

/// In a workflow the repository is the one that it runs for: not a submodule, and not the folder above a
/// checkout that has a folder of its own.
#[test]
fn the_workspace_of_a_workflow_is_a_root() {
    let folder = Folder::new("workspace")
        .with("plain/k.ptx", BROKEN)
        .with("checkout/.git/HEAD", "")
        .with("checkout/module/.git", "gitdir: elsewhere")
        .with("checkout/module/k.ptx", BROKEN);
    for (path, workspace, seen) in [
        ("plain/k.ptx", ".", "plain/k.ptx"),
        ("checkout/module/k.ptx", ".", "module/k.ptx"),
        ("checkout/module/k.ptx", "checkout", "module/k.ptx"),
        ("checkout/module/k.ptx", "plain", "k.ptx"),
    ] {
        let run = folder.mbar_with(&["check", "--format", "github", path], |command| {
            command.env("GITHUB_WORKSPACE", folder.0.join(workspace));
        });
        assert_eq!(Annotation::all(&run)[0].property("file"), seen, "{path} in {workspace}");
    }
}

/// What a SARIF document must be, by the standard's own schema.
struct Sarif {
    schemas: Schemas,
    index: boon::SchemaIndex,
}

impl Sarif {
    fn new() -> Sarif {
        let text = include_str!("data/sarif/sarif-schema-2.1.0.json");
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        let schema: Value = serde_json::from_str(text).expect("JSON");
        compiler.add_resource("sarif.json", schema).expect("a resource");
        let mut schemas = Schemas::new();
        let index = compiler.compile("sarif.json", &mut schemas).expect("a schema");
        Sarif { schemas, index }
    }

    fn check(&self, document: &Value) -> Result<(), String> {
        self.schemas.validate(document, self.index).map_err(|error| error.to_string())
    }
}

/// All objects of a list in the results.
fn all<'a>(document: &'a Value, list: &str) -> Vec<&'a Value> {
    let results = document["runs"][0]["results"].as_array().expect("results");
    results.iter().filter_map(|result| result[list].as_array()).flatten().collect()
}

#[test]
fn sarif_is_what_the_standard_wants() {
    let sarif = Sarif::new();
    let folder = repository("sarif").with("clean.ptx", CLEAN).with("noted.ptx", NOTED).with(ODD, BROKEN);
    let cases = support::data("cases");
    let cases = cases.to_str().expect("a UTF-8 path");
    let document = folder.mbar(&["check", "-v", "--format", "sarif", cases, ".", "missing.ptx"]);
    let document = document.exits(2).complains("missing.ptx").json();
    assert_eq!(sarif.check(&document), Ok(()));
    // All that can occur must have occurred.
    let results = document["runs"][0]["results"].as_array().expect("results");
    let levels: BTreeSet<&str> = results.iter().filter_map(|result| result["level"].as_str()).collect();
    assert_eq!(levels, BTreeSet::from(["error", "note", "warning"]));
    let safe: BTreeSet<bool> =
        all(&document, "fixes").iter().filter_map(|fix| fix["properties"]["safe"].as_bool()).collect();
    assert_eq!(safe, BTreeSet::from([false, true]));
    assert!(!all(&document, "relatedLocations").is_empty());
    assert_eq!(document["runs"][0]["invocations"][0]["executionSuccessful"], false);
    let odd = all(&document, "locations")
        .into_iter()
        .filter_map(|location| location["physicalLocation"]["artifactLocation"]["uri"].as_str());
    assert!(odd.into_iter().any(|uri| uri == "sub%20dir/50%25%2C%20gr%C3%BCn.ptx"));

    let nothing = folder.mbar(&["check", "--format", "sarif", "clean.ptx"]);
    let nothing = nothing.exits(0).complains("1 file checked: no errors").json();
    assert_eq!(sarif.check(&nothing), Ok(()));
    assert_eq!(nothing["runs"][0]["results"], json!([]));
    assert_eq!(nothing["runs"][0]["invocations"][0]["executionSuccessful"], true);
    let input =
        folder.mbar_with_input(&["check", "--format", "sarif", "-"], BROKEN.as_bytes()).exits(1).json();
    assert_eq!(sarif.check(&input), Ok(()));
}

/// Else the test above would prove nothing.
#[test]
fn the_schema_refuses_what_is_no_sarif() {
    let sarif = Sarif::new();
    let folder = repository("no_sarif").with("k.ptx", BROKEN);
    let document = folder.mbar(&["check", "--format", "sarif", "k.ptx"]).json();
    assert_eq!(sarif.check(&document), Ok(()));
    let region = "/runs/0/results/0/locations/0/physicalLocation/region";
    for (place, broken) in [
        ("/version".to_string(), json!("2.0.0")),
        ("/runs".to_string(), json!({})),
        ("/runs/0/tool/driver".to_string(), json!({"version": "1"})),
        ("/runs/0/results/0/level".to_string(), json!("fatal")),
        ("/runs/0/results/0/message".to_string(), json!("text")),
        ("/runs/0/results/0/fixes".to_string(), json!([{"title": "x"}])),
        (format!("{region}/startLine"), json!(0)),
        (region.to_string(), json!({"line": 1})),
        ("/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri".to_string(), json!("a b")),
    ] {
        let mut document = document.clone();
        match document.pointer_mut(&place) {
            Some(value) => *value = broken.clone(),
            None => document["runs"][0]["results"][0]["fixes"] = broken.clone(),
        }
        assert!(sarif.check(&document).is_err(), "{place} may be {broken}");
    }
}

/// The same places as in the JSON, and references that lead somewhere.
#[test]
fn sarif_says_what_json_says() {
    let folder = repository("sarif_json").with("k.ptx", BROKEN);
    let sarif = folder.mbar(&["check", "--format", "sarif", "k.ptx"]).json();
    let json = folder.mbar(&["check", "--format", "json", "k.ptx"]).json();
    let run = &sarif["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let (results, findings) = (run["results"].as_array().expect("a list"), &json["diagnostics"]);
    assert_eq!(results.len(), 3);
    for (index, result) in results.iter().enumerate() {
        let finding = &findings[index];
        assert_eq!(result["ruleId"], finding["rule"]);
        let rule = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
        assert_eq!(result["locations"][0]["physicalLocation"]["region"], region(finding));
        assert_eq!(result["locations"][0]["message"]["text"], finding["label"]);
        let text = result["message"]["text"].as_str().expect("a text");
        assert!(text.starts_with(finding["message"].as_str().expect("a text")), "{text}");
        for (at, other) in finding["related"].as_array().expect("a list").iter().enumerate() {
            let id = result["relatedLocations"][at]["id"].as_u64().expect("a number");
            let link =
                format!("[Line {}]({id}): {}", other["line"], other["message"].as_str().expect("a text"));
            assert!(text.contains(&link), "{link} in {text}");
        }
        for (at, fix) in finding["fixes"].as_array().expect("a list").iter().enumerate() {
            let change = &result["fixes"][at]["artifactChanges"][0]["replacements"][0];
            assert_eq!(change["deletedRegion"], region(&fix["edits"][0]));
            assert_eq!(change["insertedContent"]["text"], fix["edits"][0]["replacement"]);
        }
    }
}

fn region(place: &Value) -> Value {
    json!({
        "startLine": place["line"],
        "startColumn": place["column"],
        "endLine": place["end_line"],
        "endColumn": place["end_column"],
    })
}

#[test]
fn a_rule_in_sarif_has_its_page() {
    let folder = repository("sarif_rules").with("k.ptx", BROKEN);
    let sarif = folder.mbar(&["check", "--format", "sarif", "k.ptx"]).json();
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules").clone();
    let names: Vec<&str> = rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
    assert_eq!(names, ["inverted-wait", "operand-mismatch", "transaction-bytes"]);
    for described in &rules {
        let rule = mbar::check::rule(described["id"].as_str().expect("a name")).expect("a rule");
        assert_eq!(described["shortDescription"]["text"], rule.summary);
        assert_eq!(described["help"]["markdown"], rule.page);
        assert_eq!(described["defaultConfiguration"]["level"], rule.severity.as_str());
    }
}

/// A finding is the same one although lines moved: its fingerprint stays.
#[test]
fn fingerprints_survive_moved_lines() {
    let folder =
        repository("fingerprints").with("k.ptx", TWICE).with("moved.ptx", format!("// new\n{TWICE}"));
    let prints = |file: &str| {
        let sarif = folder.mbar(&["check", "--format", "sarif", file]).json();
        let results = sarif["runs"][0]["results"].as_array().expect("results").clone();
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect::<Vec<_>>()
    };
    let (first, moved) = (prints("k.ptx"), prints("moved.ptx"));
    assert_eq!(first, moved);
    assert_eq!(first.len(), 2);
    assert_ne!(first[0], first[1], "equal findings are counted");
}

const WRITE: [&str; 4] = ["check", "--baseline", "b.json", "--write-baseline"];

fn check<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["check", "--baseline", "b.json"], more].concat()
}

#[test]
fn a_baseline_leaves_out_what_it_knows_in_every_format() {
    let folder = repository("baseline").with("sub/k.ptx", BROKEN).with("noted.ptx", NOTED);
    let run = folder.mbar(&[&WRITE[..], &["-v", "."]].concat());
    run.exits(0).complains("b.json: 4 findings of 2 files written");
    assert_eq!(run.out, "");
    for format in ["human", "concise", "github"] {
        let run = folder.mbar(&check(&["-v", "--deny", "warnings", "--format", format, "."]));
        run.exits(0).complains("2 files checked: no errors, no warnings; 4 known findings left out");
        assert!(!run.out.contains("operand-mismatch"), "{format}: {}", run.out);
        assert!(!run.err.contains("gone"), "{}", run.err);
    }
    let json = folder.mbar(&check(&["-v", "--format", "json", "."])).exits(0).json();
    assert_eq!(json["diagnostics"], json!([]));
    assert_eq!(json["summary"], json!({"files": 2, "errors": 0, "warnings": 0, "notes": 0}));
    assert_eq!(json["baseline"], json!({"left_out": 4, "gone": 0}));
    let sarif = folder.mbar(&check(&["-v", "--format", "sarif", "."])).exits(0).json();
    assert_eq!(sarif["runs"][0]["results"], json!([]));
    let without = folder.mbar(&["check", "--format", "json", "."]).exits(1).json();
    assert_eq!(without["baseline"], Value::Null);
}

#[test]
fn a_baseline_knows_moved_lines_and_not_new_findings() {
    let folder = repository("moved").with("k.ptx", TWICE);
    folder.mbar(&[&WRITE[..], &["k.ptx"]].concat()).exits(0);
    let moved = TWICE.replace("\n", "\r\n").replace(".entry", "// one line more\r\n.entry");
    let folder = folder.with("k.ptx", &moved);
    folder.mbar(&check(&["k.ptx"])).exits(0).complains("2 known findings left out");
    // A third one, equal to the others, is new.
    let folder = folder.with("k.ptx", moved.replace("}\r\n", "bra NOWHERE;\r\n}\r\n"));
    let run = folder.mbar(&check(&["--format", "concise", "k.ptx"]));
    run.exits(1).complains("1 error, no warnings; 2 known findings left out");
    assert!(run.out.starts_with("k.ptx:8:5: error[unknown-label]"), "{}", run.out);
    // So are those of a new file with the same text.
    let folder = folder.with("other.ptx", TWICE).with("k.ptx", TWICE);
    folder.mbar(&check(&["."])).exits(1).complains("2 errors, no warnings; 2 known findings left out");
}

#[test]
fn a_baseline_that_knows_too_much_is_told() {
    let folder = repository("gone").with("k.ptx", TWICE).with("other.ptx", TWICE).with("third.ptx", TWICE);
    folder.mbar(&[&WRITE[..], &["."]].concat()).exits(0).complains("6 findings of 3 files written");
    let folder = folder.with("k.ptx", TWICE.replace("\tbra  NOWHERE;\n", ""));
    // Of files that are not looked at nothing is known to be gone.
    let run = folder.mbar(&check(&["k.ptx"]));
    run.exits(0).complains("1 finding of the baseline is gone: write it again with --write-baseline");
    folder.mbar(&check(&["k.ptx", "./k.ptx"])).exits(0).complains("1 finding of the baseline is gone");
    // A file that is no more has no findings.
    fs::remove_file(folder.0.join("other.ptx")).expect("removed");
    let run = folder.mbar(&check(&["k.ptx"]));
    run.exits(0).complains("3 findings of the baseline are gone");
    let json = folder.mbar(&check(&["--format", "json", "."])).exits(0).json();
    assert_eq!(json["baseline"], json!({"left_out": 3, "gone": 3}));
}

/// Paths in it are seen from where it is.
#[test]
fn a_baseline_holds_from_every_folder() {
    let folder =
        repository("folders").with("a/b/k.ptx", BROKEN).with("ci/readme", "").with("a/odd, b.ptx", BROKEN);
    folder
        .mbar(&["check", "--baseline", "ci/b.json", "--write-baseline", "a"])
        .exits(0)
        .complains("6 findings of 2 files");
    let text = fs::read_to_string(folder.0.join("ci/b.json")).expect("a baseline");
    assert!(text.contains("\"../a/b/k.ptx\"") && text.contains("\"../a/odd, b.ptx\""), "{text}");
    for (from, baseline, path) in
        [("", "ci/b.json", "."), ("a/b", "../../ci/b.json", "k.ptx"), ("ci", "b.json", "../a")]
    {
        let run = repository_run(&folder.0.join(from), &["check", "--baseline", baseline, path]);
        run.exits(0).complains("left out");
    }
    // Written twice it is the same, from wherever.
    repository_run(&folder.0.join("a"), &["check", "--baseline", "../ci/b.json", "--write-baseline", "."])
        .exits(0);
    assert_eq!(fs::read_to_string(folder.0.join("ci/b.json")).expect("a baseline"), text);
}

#[test]
fn a_baseline_that_cannot_be_used_is_refused() {
    let folder = repository("refused")
        .with("k.ptx", TWICE)
        .with("foreign.json", "{\"schema\":\"mbar.check/1\"}")
        .with("newer.json", "{\"schema\":\"mbar.baseline/9\"}")
        .with("merge.json", "<<<<<<< HEAD\n{\"schema\":\"mbar.baseline/1\",")
        .with("folder/readme", "")
        .with("binary.json", b"\xff\xfe\x00");
    for (file, words) in [
        ("missing.json", "no such baseline; --write-baseline writes it"),
        ("nowhere/b.json", "folder does not exist"),
        ("foreign.json", "is no baseline"),
        ("newer.json", "mbar.baseline/9"),
        ("merge.json", "--write-baseline writes a new one"),
        ("binary.json", "not text"),
        ("k.ptx", "is no baseline"),
        ("folder", "is a folder"),
    ] {
        let run = folder.mbar(&["check", "--baseline", file, "k.ptx"]);
        run.exits(2).complains(file).complains(words);
        assert_eq!(run.out, "", "{file}");
    }
    // What is something else is not overwritten; what a merge has damaged is.
    for (file, words) in
        [("foreign.json", "something else"), ("k.ptx", "something else"), ("binary.json", "not text")]
    {
        let before = fs::read(folder.0.join(file)).expect("a file");
        let run = folder.mbar(&["check", "--baseline", file, "--write-baseline", "k.ptx"]);
        run.exits(2).complains(words);
        assert_eq!(fs::read(folder.0.join(file)).expect("a file"), before);
    }
    folder.mbar(&["check", "--baseline", "merge.json", "--write-baseline", "k.ptx"]).exits(0);
    folder.mbar(&["check", "--baseline", "merge.json", "k.ptx"]).exits(0);
    // Not all files could be read: what is in them would be lost.
    let run = folder.mbar(&["check", "--baseline", "new.json", "--write-baseline", "k.ptx", "missing.ptx"]);
    run.exits(2).complains("missing.ptx").complains("not written");
    assert!(!folder.0.join("new.json").exists());
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let folder = repository("together").with("k.ptx", TWICE);
    folder.mbar(&["check", "--write-baseline", "k.ptx"]).exits(2).complains("--baseline <FILE>");
    let both = [&WRITE[..], &["--format", "json", "k.ptx"]].concat();
    folder.mbar(&both).exits(2).complains("--format");
    folder
        .mbar(&["check", "--format", "xml", "k.ptx"])
        .exits(2)
        .complains("human, concise, json, sarif, github");
    assert!(!folder.0.join("b.json").exists());
}

#[test]
fn standard_input_has_a_baseline_too() {
    let folder = repository("stdin_baseline");
    let write = [&WRITE[..], &["-"]].concat();
    folder.mbar_with_input(&write, TWICE.as_bytes()).exits(0).complains("2 findings of 1 file written");
    folder.mbar_with_input(&check(&["-"]), TWICE.as_bytes()).exits(0).complains("2 known findings left out");
}
