use std::path::Path;

use pretty_assertions::assert_eq;

use super::*;
use crate::diagnostic::Severity;

fn config(text: &str) -> Config {
    read(text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The problems of a text: the text at each place, and the message.
fn problems(text: &str) -> Vec<(&str, String)> {
    let problems = read(text).expect_err("something is wrong");
    problems.into_iter().map(|problem| (&text[problem.span.range()], problem.message)).collect()
}

fn severity(settings: &FileSettings, rule: &str) -> Option<Severity> {
    let rule = crate::check::rule(rule).expect("a rule");
    settings.levels.of(rule, Some(rule.severity))
}

fn names(settings: &FileSettings) -> Vec<&'static str> {
    settings.targets.iter().map(|target| target.name()).collect()
}

const WHOLE: &str = r#"
target = ["sm_90a", "sm_80"]
ptx = "8.0"
cuda = "12.4"
exclude = ["third_party/**", "old"]
[rules]
inverted-wait = "error"
use-after-inval = "allow"
[guards]
HOPPER = "sm_90"
ONLY_90A = "sm_90a"
BOTH = ["sm_90a", "sm_100f"]
[[paths]]
match = "src/sm100/**"
target = "sm_100a"
rules = { inverted-wait = "note" }
[[paths]]
match = ["src/**/old_*.cu"]
rules = { inverted-wait = "allow" }
"#;

#[test]
fn later_paths_win() {
    let config = config(WHOLE);
    let all = config.for_path(Path::new("a.ptx"));
    assert_eq!(names(&all), ["sm_80", "sm_90a"]);
    assert_eq!(all.version, Version::from_text("8.0"));
    assert_eq!(all.toolkit.map(|toolkit| toolkit.name), Some("12.4"));
    assert_eq!(severity(&all, "inverted-wait"), Some(Severity::Error));
    assert_eq!(severity(&all, "use-after-inval"), None);
    let new = config.for_path(Path::new("src/sm100/a.cu"));
    assert_eq!(names(&new), ["sm_100a"]);
    assert_eq!(severity(&new, "inverted-wait"), Some(Severity::Note));
    assert_eq!(severity(&new, "use-after-inval"), None);
    let old = config.for_path(Path::new("src/sm100/old_a.cu"));
    assert_eq!(names(&old), ["sm_100a"]);
    assert_eq!(severity(&old, "inverted-wait"), None);
}

#[test]
fn what_is_excluded() {
    let config = config(WHOLE);
    for (path, excluded) in [
        ("third_party/a.ptx", true),
        ("third_party/deep/a.ptx", true),
        ("old/a.ptx", true),
        ("src/old/a.ptx", false),
        ("src/a.ptx", false),
    ] {
        assert_eq!(config.excludes(Path::new(path)), excluded, "{path}");
    }
}

#[test]
fn guards_are_in_the_words_of_the_table() {
    let settings = config(WHOLE).for_path(Path::new("a.cu"));
    let said = settings.guards.iter().map(|(name, targets)| (name.as_str(), targets.describe()));
    let said: Vec<(&str, String)> = said.collect();
    let wanted = [("BOTH", "sm_90a or sm_100f"), ("HOPPER", "sm_90"), ("ONLY_90A", "sm_90a")];
    assert_eq!(said, wanted.map(|(name, targets)| (name, targets.to_string())));
}

#[test]
fn an_empty_file_says_nothing() {
    let settings = config("# nothing\n").for_path(Path::new("a.ptx"));
    assert!(settings.targets.is_empty() && settings.version.is_none() && settings.toolkit.is_none());
    assert_eq!(settings.levels, Levels::default());
}

/// Each with the text that it is about and a part of what is said.
#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, place, words) in [
        ("targets = \"sm_90\"", "targets", "did you mean `target`? (known here are target, ptx"),
        ("target = \"sm_9O\"", "\"sm_9O\"", "did you mean `sm_90`?"),
        ("target = [\"sm_90\", \"sm_1\"]", "\"sm_1\"", "no target `sm_1`"),
        ("target = []", "[]", "name a target"),
        ("ptx = 8.0", "8.0", "must be text, such as \"8.0\"; this is a number (put it into quotes)"),
        ("ptx = \"8.9\"", "\"8.9\"", "the newest is 9.5"),
        ("cuda = \"12.7\"", "\"12.7\"", "12.8"),
        ("exclude = 1", "1", "`exclude` must be text"),
        ("exclude = [\"a[\"]", "\"a[\"", "no pattern for paths"),
        ("exclude = \"/home\"", "\"/home\"", "relative to the folder"),
        ("rules = 1", "1", "must be a table of rules"),
        ("[rules]\ninverted-wiat = \"error\"", "inverted-wiat", "did you mean `inverted-wait`?"),
        ("[rules]\ninverted-wait = \"eror\"", "\"eror\"", "did you mean `error`?"),
        ("[rules]\ninverted-wait = true", "true", "this is a truth value"),
        ("[rules]\nearly-arrival = \"allow\"", "early-arrival", "is a rule of `mbar run` and `mbar verify`"),
        ("[guards]\nA-B = \"sm_90\"", "A-B", "no name of a preprocessor macro"),
        ("[guards]\nA = \"90\"", "\"90\"", "no target `90`"),
        ("[guards]\nA = 90", "90", "such as \"sm_90\" (it and newer ones)"),
        ("[paths]\nmatch = \"a\"", "[paths]\nmatch = \"a\"", "write `[[paths]]`"),
        ("[[paths]]\ntarget = \"sm_90\"", "[[paths]]", "needs `match`"),
        ("[[paths]]\nmatch = \"a\"\nexclude = \"b\"", "exclude", "`[[paths]]` has no `exclude`"),
        ("target = ", "", "this is not TOML"),
        ("x = = 1", "=", "this is not TOML"),
        ("ptx = \"8.0\"\nptx = \"8.0\"", "ptx", "duplicate key"),
    ] {
        let found = problems(text);
        let [(at, message)] = found.as_slice() else { panic!("{text}: {found:?}") };
        assert!(message.contains(words), "{text}: {message}");
        assert!(place.starts_with(at.trim_end()), "{text}: {at:?} is not {place:?}");
    }
}

#[test]
fn all_problems_are_told_in_their_order() {
    let found = problems("zzz = 1\ncuda = 1\n[rules]\nzzz = 1\n");
    let places: Vec<&str> = found.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, ["zzz", "1", "zzz", "1"]);
}
