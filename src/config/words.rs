//! The words of configurations and flags: targets, versions, releases, levels, rules. Each is turned into
//! what it names, or into a message that says what there is.

use crate::check;
use crate::diagnostic::Rule;
use crate::isa::opcode::nearest;
use crate::isa::target::Toolkit;
use crate::isa::{TargetId, Version};
use crate::levels::Level;
use crate::{launch, machine, verify};

/// The target of that name.
pub fn target(text: &str) -> Result<TargetId, String> {
    TargetId::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = TargetId::all().map(TargetId::name).collect();
        let (first, last) = (names[0], names[names.len() - 1]);
        let hint = did_you_mean(text, names.iter().copied());
        format!("there is no target `{text}`{hint} (targets are {first} to {last})")
    })
}

/// The PTX version of that number.
pub fn version(text: &str) -> Result<Version, String> {
    let version = Version::from_text(text).filter(|version| version.exists());
    version.ok_or_else(|| format!("there is no PTX version `{text}` (the newest is {})", Version::newest()))
}

/// The CUDA release of that number.
pub fn toolkit(text: &str) -> Result<Toolkit, String> {
    Toolkit::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Toolkit::all().map(|toolkit| toolkit.name).collect();
        format!("there is no CUDA release `{text}` (known are {})", names.join(", "))
    })
}

/// The level of that name.
pub fn level(text: &str) -> Result<Level, String> {
    Level::from_name(text).ok_or_else(|| {
        let hint = did_you_mean(text, Level::NAMES.into_iter());
        format!("there is no level `{text}`{hint} (levels are {})", Level::NAMES.join(", "))
    })
}

/// The rule of that name. Only rules of `mbar check` have levels.
pub fn rule(text: &str) -> Result<&'static Rule, String> {
    check::rule(text).ok_or_else(|| {
        if is_of_a_run(text) {
            return format!(
                "`{text}` is a rule of `mbar run` and `mbar verify`; only rules of `mbar check` have levels \
                 (`mbar check --list-rules` lists them)"
            );
        }
        let hint = did_you_mean(text, check::rules().iter().map(|rule| rule.name));
        format!("there is no rule `{text}`{hint} (`mbar check --list-rules` lists them)")
    })
}

fn is_of_a_run(name: &str) -> bool {
    machine::rule::find(name).is_some()
        || verify::rule::find(name).is_some()
        || launch::RULES.iter().any(|rule| rule.name == name)
}

/// "; did you mean `x`?", if one of `known` is near.
pub(super) fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}
