//! What runs `mbar` in other people's repositories is true: the GitHub action, the pre-commit hook, and the files
//! that README.md shows for them.

mod support;

use std::path::Path;
#[cfg(unix)]
use std::process::Command;

use mbar::extract::Language;
use pretty_assertions::assert_eq;
use saphyr::{LoadableYamlNode, Yaml};
use support::command::Folder;
#[cfg(unix)]
use support::command::Run;
use support::read;

fn file(name: &str) -> String {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
}

/// The only document of a YAML text.
fn yaml(text: &str) -> Yaml<'_> {
    let mut documents = Yaml::load_from_str(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    assert_eq!(documents.len(), 1, "one document");
    documents.remove(0)
}

/// The text at `key`.
#[track_caller]
fn text<'a>(node: &'a Yaml<'_>, key: &str) -> &'a str {
    let found = node.as_mapping_get(key).and_then(Yaml::as_str);
    found.unwrap_or_else(|| panic!("no text `{key}` in {node:?}"))
}

/// The keys of a mapping.
fn keys<'a>(node: &'a Yaml<'_>) -> Vec<&'a str> {
    let mapping = node.as_mapping().expect("a mapping");
    mapping.keys().filter_map(Yaml::as_str).collect()
}

/// What `mbar check --help` says.
fn help() -> String {
    Folder::new("ci_help").mbar(&["check", "--help"]).exits(0).out.clone()
}

/// Fails unless every option that `text` uses exists.
#[track_caller]
fn options_exist(text: &str) {
    let help = help();
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let options: Vec<&str> =
        words.filter(|word| word.starts_with("--") && word.len() > 2 && !word.starts_with("---")).collect();
    assert!(!options.is_empty(), "no option in {text}");
    for option in options {
        let known = help.lines().any(|line| {
            let line = line.trim_start();
            line.split([' ', ',']).any(|word| word == option) && line.starts_with('-')
        });
        assert!(known, "`mbar check` has no option {option}");
    }
}

/// The commands of a script that run `mbar`, or say with which options.
fn about_mbar(script: &str) -> String {
    let lines = script.lines().filter(|line| line.contains("options") || line.contains("mbar check"));
    lines.filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n")
}

/// The script of the action's last step.
fn check_script() -> String {
    let action = file("action.yml");
    let action = yaml(&action);
    let steps = action["runs"]["steps"].as_vec().expect("steps");
    text(steps.last().expect("a step"), "run").to_string()
}

#[test]
fn the_action_uses_options_that_exist() {
    let action = file("action.yml");
    let action = yaml(&action);
    assert_eq!(text(&action["runs"], "using"), "composite");
    let script = check_script();
    options_exist(&about_mbar(&script));
    // The formats that its input offers, and the one that it takes itself.
    let format = text(&action["inputs"]["format"], "description");
    let offered = format.split_once(": ").expect("a list").1;
    let help = help();
    let names = offered.split([',', ' ', '(', ')']).filter(|word| !word.is_empty() && *word != "annotations");
    for name in names.chain(["sarif", text(&action["inputs"]["format"], "default")]) {
        assert!(help.contains(&format!("- {name}:")), "`mbar check` has no format {name}");
    }
}

/// Every input reaches the script, and none is used that is not declared.
#[test]
fn the_inputs_of_the_action_are_used() {
    let action = file("action.yml");
    let parsed = yaml(&action);
    let inputs = keys(&parsed["inputs"]);
    for input in &inputs {
        assert!(action.contains(&format!("${{{{ inputs.{input} }}}}")), "{input} is not used");
        text(&parsed["inputs"][*input], "description");
        text(&parsed["inputs"][*input], "default");
    }
    for used in action.split("${{ inputs.").skip(1) {
        let name = used.split(' ').next().unwrap_or_default();
        assert!(inputs.contains(&name), "{name} is no input");
    }
    let steps = parsed["runs"]["steps"].as_vec().expect("steps");
    let step = steps.last().expect("a step");
    let script = text(step, "run");
    assert!(!script.contains("${{"), "inputs come by the environment, else they could be commands");
    for variable in keys(&step["env"]) {
        assert!(script.contains(&format!("\"${variable}\"")), "{variable} is not used");
    }
    for step in steps {
        let is_shell = step.as_mapping_get("run").is_some();
        assert_eq!(
            is_shell,
            step.as_mapping_get("shell").is_some(),
            "a composite step names its shell: {step:?}"
        );
    }
}

/// A repository with what the action needs around it.
#[cfg(unix)]
fn action_folder(test: &str) -> Folder {
    let folder = Folder::new(test)
        .with(".git/HEAD", "")
        .with("bad dir/bad, 1.ptx", include_str!("../examples/ring_broken.ptx"))
        .with("doubtful.ptx", doubtful())
        .with("clean.ptx", include_str!("../examples/ring.ptx"))
        .with("tools/mbar/bin/x", "");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mbar"), folder.0.join("tools/mbar/bin/mbar"))
        .expect("a link");
    folder
}

/// A file with warnings only.
#[cfg(unix)]
fn doubtful() -> String {
    let text = include_str!("../examples/ring_broken.ptx");
    text.replace(
        "mbarrier.arrive.release.cta.shared::cta.b64 [empty]",
        "mbarrier.arrive.release.cta.shared::cta.b64 _, [empty]",
    )
}

/// Runs the script of the action's last step as a runner would, with these inputs beside the defaults.
#[cfg(unix)]
fn act(folder: &Folder, inputs: &[(&str, &str)]) -> Run {
    let action = file("action.yml");
    let action = yaml(&action);
    let steps = action["runs"]["steps"].as_vec().expect("steps");
    let step = steps.last().expect("a step");
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", text(step, "run")]);
    command.current_dir(&folder.0).env("RUNNER_TEMP", folder.0.join("tools")).env_remove("GITHUB_WORKSPACE");
    for variable in keys(&step["env"]) {
        let input = text(&step["env"], variable).trim_start_matches("${{ inputs.").trim_end_matches(" }}");
        let given = inputs.iter().find(|(name, _)| *name == input).map(|(_, value)| *value);
        command.env(variable, given.unwrap_or_else(|| text(&action["inputs"][input], "default")));
    }
    Run::of(command.output().expect("bash starts"), &["(action)"])
}

#[cfg(unix)]
#[test]
fn the_action_checks_what_its_inputs_say() {
    let folder = action_folder("action");
    let all = act(&folder, &[]);
    all.exits(1)
        .says("::error file=bad dir/bad%2C 1.ptx,line=47,")
        .complains("3 files checked: 1 error, 4 warnings");
    act(&folder, &[("paths", "clean.ptx\n")]).exits(0);
    act(&folder, &[("paths", "clean.ptx\nbad dir/bad, 1.ptx\n")]).exits(1).complains("2 files checked");
    act(&folder, &[("paths", "doubtful.ptx")]).exits(0).says("::warning ");
    act(&folder, &[("paths", "doubtful.ptx"), ("fail-on", "warnings")]).exits(1);
    act(&folder, &[("paths", "clean.ptx"), ("fail-on", "everything")]).exits(2).says("::error::");
    act(&folder, &[("paths", "clean.ptx"), ("target", "sm_80")]).exits(1).says("beyond-target");
    act(&folder, &[("paths", "clean.ptx"), ("ptx", "7.0")]).exits(1);
    act(&folder, &[("paths", "clean.ptx"), ("cuda", "11.8")]).exits(1).says("toolkit-too-old");
    act(&folder, &[("paths", "missing.ptx"), ("format", "concise")]).exits(2).complains("missing.ptx");
}

#[cfg(unix)]
#[test]
fn the_action_fails_on_new_findings_only_and_writes_sarif() {
    let folder = action_folder("action_baseline");
    folder.mbar(&["check", "--baseline", "b.json", "--write-baseline", "."]).exits(0);
    act(&folder, &[("baseline", "b.json")]).exits(0).complains("5 known findings left out");
    let folder = folder.with("new.ptx", include_str!("../examples/ring_broken.ptx"));
    let run = act(&folder, &[("baseline", "b.json"), ("sarif", "mbar.sarif")]);
    run.exits(1).says("::error file=new.ptx,");
    let sarif: serde_json::Value = serde_json::from_str(&read(&folder.0.join("mbar.sarif"))).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(3));
}

/// The extensions in the pattern of the hook.
fn hook_extensions(hook: &Yaml<'_>) -> Vec<String> {
    let pattern = text(hook, "files");
    let inner =
        pattern.strip_prefix(r"\.(").and_then(|rest| rest.strip_suffix(")$")).expect("a list of endings");
    inner.split('|').map(str::to_string).collect()
}

#[test]
fn the_hook_runs_what_exists_on_what_can_be_checked() {
    let hooks = file(".pre-commit-hooks.yaml");
    let hooks = yaml(&hooks);
    let hook = &hooks.as_vec().expect("a list")[0];
    for (key, value) in [("id", "mbar"), ("entry", "mbar check"), ("language", "rust")] {
        assert_eq!(text(hook, key), value);
    }
    let endings: Vec<&str> = Language::endings().collect();
    assert_eq!(hook_extensions(hook), endings);
    // What is checked in a folder must be checked before a commit, too.
    let mut folder = Folder::new("extensions");
    for extension in endings.iter().chain(&["txt", "c", "sh"]) {
        folder = folder.with(&format!("{extension}/k.{extension}"), "");
    }
    let run = folder.mbar(&["check", "--format", "json", "."]);
    let document: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(document["summary"]["files"], endings.len());
}

/// The YAML blocks of README.md.
fn shown() -> Vec<String> {
    let readme = file("README.md");
    let blocks = readme.split("\n```yaml\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap_or_default().to_string()).collect()
}

/// All steps of all jobs of the workflows among `blocks`.
fn steps<'a, 'b>(workflow: &'a Yaml<'b>) -> Vec<&'a Yaml<'b>> {
    let Some(jobs) = workflow.as_mapping_get("jobs").and_then(Yaml::as_mapping) else { return Vec::new() };
    jobs.values().filter_map(|job| job["steps"].as_vec()).flatten().collect()
}

#[test]
fn the_workflow_in_the_readme_gives_inputs_that_exist() {
    let action = file("action.yml");
    let action = yaml(&action);
    let inputs = keys(&action["inputs"]);
    let mut uses = 0;
    for block in shown() {
        let workflow = yaml(&block);
        for step in steps(&workflow) {
            let ours = step
                .as_mapping_get("uses")
                .and_then(Yaml::as_str)
                .is_some_and(|uses| uses.contains("/mbar@"));
            if ours {
                uses += 1;
                keys(&step["with"])
                    .iter()
                    .for_each(|input| assert!(inputs.contains(input), "{input} is no input"));
            }
        }
    }
    assert!(uses > 0, "README.md shows a workflow with the action");
}

#[test]
fn the_hook_in_the_readme_exists_and_gives_options_that_exist() {
    let hooks = file(".pre-commit-hooks.yaml");
    let hooks = yaml(&hooks);
    let blocks = shown();
    let block = blocks.iter().find(|block| block.contains("repos:")).expect("README.md shows the hook");
    let config = yaml(block);
    let hook = &config["repos"].as_vec().expect("a list")[0]["hooks"].as_vec().expect("a list")[0];
    assert_eq!(text(hook, "id"), text(&hooks.as_vec().expect("a list")[0], "id"));
    let arguments = hook["args"].as_vec().expect("a list").iter().filter_map(Yaml::as_str);
    options_exist(&arguments.collect::<Vec<_>>().join(" "));
}
