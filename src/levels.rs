//! How seriously each rule is taken, as a user wishes it: other severities than the rules' own, or silence.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, Rule, Severity};

/// What a user makes of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Its findings are not shown.
    Allow,
    /// All of its findings have this severity.
    At(Severity),
}

impl Level {
    /// The words for levels, strictest first.
    pub const NAMES: [&str; 4] = ["error", "warning", "note", "allow"];

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Level> {
        let severities = [Severity::Error, Severity::Warning, Severity::Note];
        match name {
            "allow" => Some(Level::Allow),
            _ => severities.into_iter().find(|severity| severity.as_str() == name).map(Level::At),
        }
    }
}

/// The levels of all rules. A rule that is not mentioned keeps the severities of its findings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Levels {
    /// If there is a selection, findings of other rules are not shown.
    selected: Option<BTreeSet<&'static str>>,
    levels: BTreeMap<&'static str, Level>,
}

impl Levels {
    /// Sets the level of a rule, in place of one that it had.
    pub fn set(&mut self, rule: &'static Rule, level: Level) {
        self.levels.insert(rule.name, level);
    }

    /// Adds a rule to the selection, which there is from now on.
    pub fn select(&mut self, rule: &'static Rule) {
        self.selected.get_or_insert_default().insert(rule.name);
    }

    /// These levels, and above them `over`, which wins where both speak of a rule. What `over` selects is
    /// wanted, so that it is no longer allowed here.
    #[must_use]
    pub fn under(&self, over: &Levels) -> Levels {
        let mut both = self.clone();
        if let Some(selected) = &over.selected {
            both.levels.retain(|rule, level| *level != Level::Allow || !selected.contains(rule));
            both.selected = Some(selected.clone());
        }
        both.levels.extend(&over.levels);
        both
    }

    /// The severity of a rule whose findings have the severity `own` by themselves (none: they are not
    /// shown unless asked for). None: its findings are not shown.
    pub fn of(&self, rule: &Rule, own: Option<Severity>) -> Option<Severity> {
        let selected = self.selected.as_ref().map(|selected| selected.contains(rule.name));
        match (selected, self.levels.get(rule.name)) {
            (Some(false), _) | (_, Some(Level::Allow)) => None,
            (_, Some(Level::At(severity))) => Some(*severity),
            (Some(true), None) => Some(own.unwrap_or(rule.severity)),
            (None, None) => own,
        }
    }

    /// Whether a rule that keeps silent by itself is asked for.
    pub fn ask_for(&self, rule: &Rule) -> bool {
        self.of(rule, None).is_some()
    }

    /// Drops the findings that are not wanted, and gives the others their severity.
    pub fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.retain_mut(|diagnostic| match self.of(diagnostic.rule, Some(diagnostic.severity)) {
            Some(severity) => {
                diagnostic.severity = severity;
                true
            }
            None => false,
        });
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::diagnostic::Ptxas;
    use crate::source::Span;

    static LOUD: Rule =
        Rule { name: "loud", severity: Severity::Error, ptxas: Ptxas::Rejects, summary: "", page: "" };
    static SOFT: Rule =
        Rule { name: "soft", severity: Severity::Note, ptxas: Ptxas::Accepts, summary: "", page: "" };

    fn shown(levels: &Levels) -> Vec<(&'static str, Severity)> {
        let mut found = vec![
            Diagnostic::new(&LOUD, Span::empty(0), ""),
            Diagnostic::new(&LOUD, Span::empty(1), "").severity(Severity::Warning),
            Diagnostic::new(&SOFT, Span::empty(2), ""),
        ];
        levels.apply(&mut found);
        found.into_iter().map(|d| (d.rule.name, d.severity)).collect()
    }

    #[test]
    fn without_a_word_findings_keep_their_severity() {
        let (error, warning, note) = (Severity::Error, Severity::Warning, Severity::Note);
        assert_eq!(shown(&Levels::default()), [("loud", error), ("loud", warning), ("soft", note)]);
    }

    #[test]
    fn a_level_is_for_all_findings_of_a_rule() {
        let mut levels = Levels::default();
        levels.set(&LOUD, Level::At(Severity::Note));
        levels.set(&SOFT, Level::Allow);
        assert_eq!(shown(&levels), [("loud", Severity::Note), ("loud", Severity::Note)]);
    }

    #[test]
    fn what_is_selected_is_shown_although_a_file_allows_it() {
        let (mut file, mut flags) = (Levels::default(), Levels::default());
        file.set(&SOFT, Level::Allow);
        file.set(&LOUD, Level::At(Severity::Warning));
        flags.select(&SOFT);
        assert_eq!(shown(&file.under(&flags)), [("soft", Severity::Note)]);
        flags.select(&LOUD);
        flags.set(&SOFT, Level::At(Severity::Error));
        let both = file.under(&flags);
        let (warning, error) = (Severity::Warning, Severity::Error);
        assert_eq!(shown(&both), [("loud", warning), ("loud", warning), ("soft", error)]);
    }

    #[test]
    fn a_silent_rule_speaks_when_it_is_asked_for() {
        let mut levels = Levels::default();
        assert!(!levels.ask_for(&SOFT));
        levels.set(&SOFT, Level::At(Severity::Note));
        assert!(levels.ask_for(&SOFT));
        levels.select(&LOUD);
        assert!(!levels.ask_for(&SOFT) && levels.ask_for(&LOUD));
    }
}
