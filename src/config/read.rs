//! From text to a configuration. All that is wrong is told, each with its place.

use std::borrow::Cow;
use std::ops::Range;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Config, Part, Problem, words};
use crate::isa::table::{TARGETS, TargetSet};
use crate::source::Span;

type Value<'a> = Spanned<DeValue<'a>>;
type Key<'a> = Spanned<Cow<'a, str>>;

/// What may stand in a file, and in a `[[paths]]` of it.
const KEYS: &[&str] = &["target", "ptx", "cuda", "exclude", "rules", "guards", "paths"];
const KEYS_OF_PATHS: &[&str] = &["match", "target", "ptx", "cuda", "rules"];

/// Reads a configuration, or tells what is wrong with it in the order of the text. Of faults of syntax only
/// the first is told: others may come from it.
pub fn read(text: &str) -> Result<Config, Vec<Problem>> {
    let mut reader = Reader { problems: Vec::new() };
    let config = match DeTable::parse(text) {
        Ok(table) => reader.config(table.get_ref()),
        Err(error) => {
            let message = format!("this is not TOML: {}", error.message());
            reader.problem(error.span().unwrap_or_default(), message);
            Config::default()
        }
    };
    if reader.problems.is_empty() {
        return Ok(config);
    }
    reader.problems.sort_by_key(|problem| problem.span);
    Err(reader.problems)
}

struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn problem(&mut self, range: Range<usize>, message: String) {
        let span = Span::new(range.start as u32, range.end as u32);
        self.problems.push(Problem { span, message });
    }

    fn config(&mut self, table: &DeTable) -> Config {
        let mut config = Config::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "exclude" => config.exclude = self.globs("exclude", value),
                "guards" => config.guards = self.guards(value).into(),
                "paths" => config.paths = self.paths(value),
                _ => self.setting(key, value, KEYS, "the configuration", &mut config.all),
            }
        }
        config
    }

    /// A setting of all files or of some; `known` are the keys that may stand there.
    fn setting(&mut self, key: &Key, value: &Value, known: &[&str], place: &str, part: &mut Part) {
        let name = key.get_ref().as_ref();
        match name {
            "target" => part.targets = self.targets(value),
            "ptx" => part.version = self.word(name, "\"8.0\"", value, words::version),
            "cuda" => part.toolkit = self.word(name, "\"12.4\"", value, words::toolkit),
            "rules" => self.rules(value, part),
            _ => {
                let hint = words::did_you_mean(name, known.iter().copied());
                let message = format!("{place} has no `{name}`{hint} (known here are {})", known.join(", "));
                self.problem(key.span(), message);
            }
        }
    }

    /// A list of targets, or one.
    fn targets(&mut self, value: &Value) -> Option<Vec<crate::isa::TargetId>> {
        const EXAMPLE: &str = "\"sm_90a\"";
        let DeValue::Array(list) = value.get_ref() else {
            return self.word("target", EXAMPLE, value, words::target).map(|target| vec![target]);
        };
        if list.is_empty() {
            self.problem(value.span(), "`target` is an empty list: name a target, or leave it out".into());
        }
        let targets = list.iter().map(|value| self.word("target", EXAMPLE, value, words::target));
        let mut targets: Vec<_> = targets.collect::<Vec<_>>().into_iter().flatten().collect();
        targets.sort();
        targets.dedup();
        Some(targets)
    }

    /// `name = "WORD"`
    fn word<T>(
        &mut self,
        name: &str,
        example: &str,
        value: &Value,
        meaning: fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(name, example, value)?;
        meaning(text).map_err(|message| self.problem(value.span(), message)).ok()
    }

    fn text<'a>(&mut self, name: &str, example: &str, value: &'a Value) -> Option<&'a str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            let given = kind(value.get_ref());
            self.problem(value.span(), format!("`{name}` must be text, such as {example}; this is {given}"));
        }
        text
    }

    fn table<'a, 'i>(&mut self, what: &str, value: &'a Value<'i>) -> Option<&'a DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            let given = kind(value.get_ref());
            self.problem(value.span(), format!("{what}; this is {given}"));
        }
        table
    }

    /// `RULE = "LEVEL"`
    fn rules(&mut self, value: &Value, part: &mut Part) {
        let what = "`rules` must be a table of rules, such as `inverted-wait = \"error\"`";
        for (key, value) in self.table(what, value).into_iter().flatten() {
            let rule = words::rule(key.get_ref());
            let level = self.word(key.get_ref(), "\"error\"", value, words::level);
            match (rule, level) {
                (Ok(rule), Some(level)) => part.levels.set(rule, level),
                (Ok(_), None) => {}
                (Err(message), _) => self.problem(key.span(), message),
            }
        }
    }

    /// `MACRO = "TARGET"`, or a list of targets
    fn guards(&mut self, value: &Value) -> Vec<(String, TargetSet)> {
        let what = "`guards` must be a table of macros, such as `MY_SM90_CODE = \"sm_90a\"`";
        let mut guards = Vec::new();
        for (key, value) in self.table(what, value).into_iter().flatten() {
            if !is_macro(key.get_ref()) {
                let message = format!("`{}` is no name of a preprocessor macro", key.get_ref());
                self.problem(key.span(), message);
            }
            if let Some(targets) = self.guarantee(key.get_ref(), value) {
                guards.push((key.get_ref().to_string(), targets));
            }
        }
        guards
    }

    /// The targets that each named one stands for: `sm_90` for itself and all newer ones, `sm_100f` for its
    /// family, `sm_90a` for itself.
    fn guarantee(&mut self, name: &str, value: &Value) -> Option<TargetSet> {
        const EXAMPLE: &str = "\"sm_90\" (it and newer ones) or \"sm_90a\" (only it)";
        let one = std::slice::from_ref(value);
        let list: Vec<&Value> = match value.get_ref() {
            DeValue::Array(list) if !list.is_empty() => list.iter().collect(),
            _ => one.iter().collect(),
        };
        let mut all = TargetSet(0);
        for value in list {
            let target = self.word(name, EXAMPLE, value, words::target)?;
            all.0 |= TARGETS[target.0 as usize].covers.0;
        }
        Some(all)
    }

    fn paths(&mut self, value: &Value) -> Vec<(GlobSet, Part)> {
        let DeValue::Array(list) = value.get_ref() else {
            let message = "`paths` must be a list of tables: write `[[paths]]`".to_string();
            self.problem(value.span(), message);
            return Vec::new();
        };
        list.iter().map(|value| self.some_paths(value)).collect()
    }

    fn some_paths(&mut self, value: &Value) -> (GlobSet, Part) {
        let what = "`paths` must be a list of tables: write `[[paths]]`";
        let (mut globs, mut part) = (None, Part::default());
        let Some(table) = self.table(what, value) else { return (GlobSet::empty(), part) };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "match" => globs = Some(self.globs("match", value)),
                _ => self.setting(key, value, KEYS_OF_PATHS, "`[[paths]]`", &mut part),
            }
        }
        if globs.is_none() {
            let message = "`[[paths]]` needs `match`, such as `match = [\"src/sm90/**\"]`".to_string();
            self.problem(value.span(), message);
        }
        (globs.unwrap_or_default(), part)
    }

    /// A list of globs, or one.
    fn globs(&mut self, name: &str, value: &Value) -> GlobSet {
        let one = std::slice::from_ref(value);
        let list: Vec<&Value> = match value.get_ref() {
            DeValue::Array(list) => list.iter().collect(),
            _ => one.iter().collect(),
        };
        let mut set = GlobSetBuilder::new();
        for value in list {
            let Some(text) = self.text(name, "\"third_party/**\"", value) else { continue };
            match globs(text) {
                Ok(globs) => globs.into_iter().for_each(|glob| {
                    set.add(glob);
                }),
                Err(message) => self.problem(value.span(), message),
            }
        }
        set.build().unwrap_or_default()
    }
}

/// The globs that a pattern stands for: a folder's name is for all that it holds, too.
fn globs(text: &str) -> Result<Vec<Glob>, String> {
    if text.starts_with('/') {
        return Err(format!("`{text}`: write it relative to the folder of this file, without `/` in front"));
    }
    let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
    let glob = |text: &str| {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        glob.map_err(|error| format!("`{text}` is no pattern for paths: {}", error.kind()))
    };
    Ok(vec![glob(text)?, glob(&format!("{text}/**"))?])
}

fn is_macro(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(word) && name.starts_with(|c: char| !c.is_ascii_digit())
}

/// What a value is, in words.
fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number (put it into quotes)",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
