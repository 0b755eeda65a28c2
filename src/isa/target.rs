//! Targets, PTX versions and toolkits by name.

use super::table::{TARGETS, TOOLKITS, TargetId, TargetSet, VERSIONS, Version};

impl TargetId {
    /// The target spelled `sm_90a`; ptxas also takes `compute_90a`, and letters of either case.
    pub fn from_name(name: &str) -> Option<TargetId> {
        let lower = name.to_ascii_lowercase();
        let number = lower.strip_prefix("compute_").or(lower.strip_prefix("sm_"))?;
        let found = TARGETS.iter().position(|t| t.name.strip_prefix("sm_") == Some(number))?;
        Some(TargetId(found as u8))
    }

    /// `sm_90a`
    pub fn name(self) -> &'static str {
        TARGETS[self.0 as usize].name
    }

    /// The first PTX version that knows the target.
    pub fn since(self) -> Version {
        TARGETS[self.0 as usize].since
    }

    /// 90 of `sm_90a`.
    pub fn number(self) -> u32 {
        number_and_letter(self.name()).0
    }

    /// `a` of `sm_90a`; empty for a plain target.
    pub fn letter(self) -> &'static str {
        number_and_letter(self.name()).1
    }

    /// Every target, oldest first.
    pub fn all() -> impl Iterator<Item = TargetId> {
        (0..TARGETS.len()).map(|i| TargetId(i as u8))
    }
}

impl Version {
    /// Parses `M.m`.
    pub fn from_text(text: &str) -> Option<Version> {
        let (major, minor) = text.split_once('.')?;
        Some(Version::new(major.parse().ok()?, minor.parse().ok()?))
    }

    /// Whether there is a PTX ISA of that number.
    pub fn exists(self) -> bool {
        VERSIONS.contains(&self)
    }

    /// The newest PTX version that this program knows.
    pub fn newest() -> Version {
        VERSIONS.iter().copied().max().unwrap_or(Version::NONE)
    }
}

/// A CUDA release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Toolkit {
    /// `12.4`
    pub name: &'static str,
    /// The highest PTX version that its ptxas takes.
    pub ptx: Version,
}

impl Toolkit {
    /// The release of that name.
    pub fn from_name(name: &str) -> Option<Toolkit> {
        Toolkit::all().find(|toolkit| toolkit.name == name)
    }

    /// All releases, oldest first.
    pub fn all() -> impl Iterator<Item = Toolkit> {
        TOOLKITS.iter().map(|&(name, ptx)| Toolkit { name, ptx })
    }

    /// The first release whose ptxas takes `version`.
    pub fn first_with(version: Version) -> Option<Toolkit> {
        Toolkit::all().find(|toolkit| toolkit.ptx >= version)
    }
}

/// 90 and `a` of `sm_90a` or `90a`; 0 where there is no number.
pub fn number_and_letter(name: &str) -> (u32, &str) {
    let number = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let letter = number.trim_start_matches(|c: char| c.is_ascii_digit());
    (number[..number.len() - letter.len()].parse().unwrap_or(0), letter)
}

impl FromIterator<TargetId> for TargetSet {
    fn from_iter<I: IntoIterator<Item = TargetId>>(targets: I) -> TargetSet {
        TargetSet(targets.into_iter().fold(0, |set, target| set | 1 << target.0))
    }
}

impl TargetSet {
    /// The targets that there are; [`TargetSet::ALL`] has room for others.
    pub fn every() -> TargetSet {
        TargetId::all().collect()
    }

    /// The targets of the set, oldest first.
    pub fn iter(self) -> impl Iterator<Item = TargetId> {
        TargetId::all().filter(move |target| self.contains(*target))
    }

    /// The set in words, the way the table writes gates: `sm_90`, `sm_90a or sm_100f`.
    pub fn describe(self) -> String {
        let mut rest = self;
        let mut words: Vec<&str> = Vec::new();
        for target in self.iter() {
            if !rest.contains(target) {
                continue;
            }
            let covered = TARGETS[target.0 as usize].covers;
            if covered.and(self) == covered {
                words.push(target.name());
                rest = TargetSet(rest.0 & !covered.0);
            } else {
                words.push(target.name());
                rest = TargetSet(rest.0 & !(1 << target.0));
            }
        }
        match words.as_slice() {
            [] => "no target".into(),
            [one] => (*one).into(),
            [init @ .., last] => format!("{} or {last}", init.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn set(names: &[&str]) -> TargetSet {
        let ids = names.iter().map(|name| TargetId::from_name(name).expect("such a target"));
        TargetSet(ids.fold(0, |set, id| set | 1 << id.0))
    }

    #[test]
    fn a_family_is_told_by_its_first_member() {
        assert_eq!(set(&["sm_101f", "sm_101a", "sm_110f", "sm_110a"]).describe(), "sm_101f");
        let first = ["sm_100f", "sm_100a", "sm_103f", "sm_103a", "sm_107f", "sm_107a"];
        assert_eq!(set(&first).describe(), "sm_100f");
        assert_eq!(set(&["sm_90a", "sm_100a"]).describe(), "sm_90a or sm_100a");
    }
}
