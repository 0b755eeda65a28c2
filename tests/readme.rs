//! README.md tells the truth: its console blocks are run and their output compared, its list of rules
//! is complete.
//!
//! In a block ```` ```console ````, `$ mbar …` or `$ cargo run --release -- …` is a command; what follows
//! up to the next one is its standard output, then its standard error (without what cargo says). A
//! line `…` stands for any number of lines. `$ echo $?` shows the exit code of the command before.

use std::path::Path;
use std::process::Command;

use pretty_assertions::assert_eq;

/// A command of a console block, and what the block shows below it.
struct Shown<'a> {
    command: &'a str,
    output: Vec<&'a str>,
}

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    std::fs::read_to_string(path).expect("README.md can be read")
}

fn commands(readme: &str) -> Vec<Shown<'_>> {
    let mut found: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match (line, line.strip_prefix("$ ")) {
            ("```console", _) => inside = true,
            ("```", _) => inside = false,
            (_, Some(command)) if inside => found.push(Shown { command, output: Vec::new() }),
            _ if inside => {
                found.last_mut().expect("a block begins with a command").output.push(line.trim_end())
            }
            _ => {}
        }
    }
    found
}

/// Runs `mbar` with the words of `arguments`, in the root of the crate.
fn run(arguments: &str) -> (String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_mbar"))
        .args(arguments.split_whitespace())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("COLUMNS", "100")
        .output()
        .expect("mbar runs");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8")).concat();
    (text, output.status.code().expect("mbar ends by itself"))
}

/// Whether `shown` is `given`, with `…` for any number of lines.
fn matches(shown: &[&str], given: &[&str]) -> bool {
    match shown.split_first() {
        None => given.is_empty(),
        Some((&"…", rest)) => (0..=given.len()).any(|skip| matches(rest, &given[skip..])),
        Some((line, rest)) => given.first() == Some(line) && matches(rest, &given[1..]),
    }
}

#[test]
fn what_the_readme_shows_is_what_the_program_prints() {
    let readme = readme();
    let commands = commands(&readme);
    assert!(commands.len() > 5, "only {} commands", commands.len());
    let mut last_code = 0;
    for Shown { command, output } in commands {
        if command == "echo $?" {
            assert_eq!(output.join("\n"), last_code.to_string(), "the exit code shown");
            continue;
        }
        let arguments = command.strip_prefix("mbar ").or(command.strip_prefix("cargo run --release -- "));
        let arguments = arguments.unwrap_or_else(|| panic!("`{command}` is no command of ours"));
        let (text, code) = run(arguments);
        last_code = code;
        let text = text.replace("\r\n", "\n");
        let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
        let shown = output.join("\n");
        let shown: Vec<&str> = shown.trim_end().lines().collect();
        if !matches(&shown, &lines) {
            assert_eq!(shown.join("\n"), lines.join("\n"), "README.md on `{command}`");
        }
    }
}

/// The section on rules names each of them, once.
#[test]
fn every_rule_is_in_the_readme() {
    let readme = readme();
    let start = readme.find("\n## What it checks").expect("the section on rules");
    let section = &readme[start + 1..];
    let section = &section[..section.find("\n## ").unwrap_or(section.len())];
    let table = section.lines().filter(|line| line.starts_with('|'));
    let mut named: Vec<&str> = table.flat_map(|line| line.split('`').skip(1).step_by(2)).collect();
    named.sort_unstable();
    let rules: Vec<&str> = mbar::check::rules().iter().map(|rule| rule.name).collect();
    assert_eq!(named, rules);
}
