//! One text that must be right for several targets.

use crate::diagnostic::Diagnostic;
use crate::isa::TargetId;

/// Checks once for each target (once without one, if there are none). What is found for all stands there
/// once; what is found for some says for which. Findings of one rule at one place are the same, even if
/// each is worded for its target.
pub fn for_each_target(
    targets: &[TargetId],
    mut check: impl FnMut(Option<TargetId>) -> Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let [_, _, ..] = targets else { return check(targets.first().copied()) };
    let mut all: Vec<(Diagnostic, Vec<TargetId>)> = Vec::new();
    for &target in targets {
        for finding in check(Some(target)) {
            let is_same = |(other, seen): &&mut (Diagnostic, Vec<TargetId>)| {
                other.rule == finding.rule && other.span == finding.span && seen.last() != Some(&target)
            };
            match all.iter_mut().find(is_same) {
                Some((_, seen)) => seen.push(target),
                None => all.push((finding, vec![target])),
            }
        }
    }
    all.sort_by_key(|(finding, _)| (finding.span.start, finding.span.end, finding.rule.name));
    let with_note = |(finding, seen): (Diagnostic, Vec<TargetId>)| match targets.len() - seen.len() {
        0 => finding,
        _ => finding.note(which(targets, &seen)),
    };
    all.into_iter().map(with_note).collect()
}

/// "found for sm_80, not for sm_90 and sm_90a"
fn which(targets: &[TargetId], seen: &[TargetId]) -> String {
    let names = |wanted: bool| {
        let those = targets.iter().filter(|target| seen.contains(target) == wanted);
        let names: Vec<&str> = those.map(|target| target.name()).collect();
        match names.as_slice() {
            [init @ .., last] if !init.is_empty() => format!("{} and {last}", init.join(", ")),
            names => names.concat(),
        }
    };
    format!("found for {}, not for {}", names(true), names(false))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use crate::check::{Settings, check, for_each_target};
    use crate::isa::TargetId;
    use crate::program::Options;
    use crate::source::SourceFile;

    const TEXT: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.shared .b64 bar;\n\
        mbarrier.ini.b64 [bar], 1;\nmbarrier.inval.shared::cta.b64 [bar];\nfence.proxy.async;\nret; }\n";

    fn notes(targets: &[&str]) -> Vec<(&'static str, Vec<String>)> {
        let targets: Vec<TargetId> =
            targets.iter().map(|name| TargetId::from_name(name).expect("a target")).collect();
        let found = for_each_target(&targets, |target| {
            let options = Options { target, version: None };
            check(SourceFile::new("t", TEXT), &Settings { options, ..Settings::default() }).diagnostics
        });
        let said = |notes: Vec<String>| notes.into_iter().filter(|note| note.starts_with("found")).collect();
        found.into_iter().map(|d| (d.rule.name, said(d.notes))).collect()
    }

    #[test]
    fn what_all_have_is_said_once() {
        let both = notes(&["sm_90", "sm_90a"]);
        assert_eq!(both, [("unknown-instruction", vec![])]);
        assert_eq!(both, notes(&["sm_90"]));
        assert_eq!(both, notes(&[]));
    }

    #[test]
    fn what_some_have_names_them() {
        let note = || vec!["found for sm_70 and sm_80, not for sm_90a".to_string()];
        let only_70 = || vec!["found for sm_70, not for sm_80 and sm_90a".to_string()];
        let wanted =
            [("unknown-instruction", vec![]), ("beyond-target", only_70()), ("beyond-target", note())];
        assert_eq!(notes(&["sm_70", "sm_80", "sm_90a"]), wanted);
    }
}
