//! Applies the safe fixes of findings to a text, and takes back those that do not help.
//!
//! Every step is checked: a fix stays only if its finding is gone afterwards and no error has come that was
//! not there before. How a text is checked is the caller's business, so that this works for any kind of file.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diagnostic::{Applicability, Diagnostic, Edit, Severity};
use crate::source::{SourceFile, Span};

/// A text after its fixes.
#[derive(Debug)]
pub struct Fixed {
    /// The text; the one that was given, if nothing was fixed.
    pub source: Arc<SourceFile>,
    /// How many findings are gone by their fixes.
    pub count: usize,
}

/// A file is checked so many times at most.
const CHECKS: usize = 200;

/// Applies the safe fixes of the findings that `is_wanted`, until nothing changes. `check` gives all
/// findings of a text, wanted or not.
pub fn fix(
    source: Arc<SourceFile>,
    check: &dyn Fn(Arc<SourceFile>) -> Vec<Diagnostic>,
    is_wanted: &dyn Fn(&Diagnostic) -> bool,
) -> Fixed {
    let findings = check(source.clone());
    let mut work = Work { source, findings, refused: Vec::new(), count: 0, checks: CHECKS };
    loop {
        let candidates = work.candidates(is_wanted);
        if candidates.is_empty() {
            break;
        }
        work.apply(candidates, check);
    }
    Fixed { source: work.source, count: work.count }
}

/// The edits of one fix, and the findings that have it.
#[derive(Clone, Debug)]
struct Candidate {
    edits: Vec<Edit>,
    findings: Vec<Place>,
}

/// What a finding is known by from one text to the next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Place {
    rule: &'static str,
    at: u32,
}

impl Place {
    fn of(finding: &Diagnostic) -> Place {
        Place { rule: finding.rule.name, at: finding.span.start }
    }
}

struct Work {
    source: Arc<SourceFile>,
    findings: Vec<Diagnostic>,
    /// Findings whose fix did not help.
    refused: Vec<Place>,
    count: usize,
    /// How often the text may still be checked.
    checks: usize,
}

impl Work {
    /// Fixes that do not touch one another, in the order of the text. Of two that do, the first is taken; the
    /// other has its turn in the next round, if its finding is still there.
    fn candidates(&self, is_wanted: &dyn Fn(&Diagnostic) -> bool) -> Vec<Candidate> {
        let mut chosen: Vec<Candidate> = Vec::new();
        if self.checks == 0 {
            return chosen;
        }
        let open = self.findings.iter().filter(|finding| is_wanted(finding));
        for finding in open.filter(|finding| !self.refused.contains(&Place::of(finding))) {
            let Some(edits) = safe_edits(finding, &self.source) else { continue };
            let touching = |candidate: &&mut Candidate| {
                candidate.edits.iter().any(|old| edits.iter().any(|new| touch(old.span, new.span)))
            };
            match chosen.iter_mut().rev().find(touching) {
                Some(same) if same.edits == edits => same.findings.push(Place::of(finding)),
                Some(_) => {}
                None => chosen.push(Candidate { edits, findings: vec![Place::of(finding)] }),
            }
        }
        chosen
    }

    /// Applies all candidates at once; if that is no gain, each half by itself, down to a single one.
    fn apply(&mut self, candidates: Vec<Candidate>, check: &dyn Fn(Arc<SourceFile>) -> Vec<Diagnostic>) {
        let mut batches = vec![candidates];
        while let Some(mut batch) = batches.pop() {
            if self.checks == 0 {
                return;
            }
            self.checks -= 1;
            let change = Change::new(batch.iter().flat_map(|candidate| candidate.edits.iter().cloned()));
            let source = SourceFile::new(self.source.name(), change.apply(self.source.text()));
            let findings = check(source.clone());
            if self.is_gain(&batch, &change, &findings) {
                self.count += batch.iter().map(|candidate| candidate.findings.len()).sum::<usize>();
                (self.source, self.findings) = (source, findings);
                self.refused.iter_mut().for_each(|place| place.at = change.moved(place.at));
                batches.iter_mut().flatten().for_each(|candidate| candidate.move_with(&change));
            } else if batch.len() == 1 {
                self.refused.extend(batch.into_iter().flat_map(|candidate| candidate.findings));
            } else {
                let second = batch.split_off(batch.len() / 2);
                batches.push(second);
                batches.push(batch);
            }
        }
    }

    /// Whether the findings of the batch are gone, and no error is new.
    fn is_gain(&self, batch: &[Candidate], change: &Change, after: &[Diagnostic]) -> bool {
        let is_error = |finding: &&Diagnostic| finding.severity == Severity::Error;
        let errors_before = Census::moved(self.findings.iter().filter(is_error).map(Place::of), change);
        let errors = Census::new(after.iter().filter(is_error).map(Place::of));
        if errors.0.iter().any(|(place, count)| errors_before.count(*place) < *count) {
            return false;
        }
        // Where text is removed, another finding may come to stand at the place.
        let before = Census::moved(self.findings.iter().map(Place::of), change);
        let meant = batch.iter().flat_map(|candidate| candidate.findings.iter().copied());
        let meant = Census::moved(meant, change);
        let after = Census::new(after.iter().map(Place::of));
        meant.0.iter().all(|(place, count)| after.count(*place) + count <= before.count(*place))
    }
}

/// The edits of the first safe fix of a finding, in order, if they make sense.
fn safe_edits(finding: &Diagnostic, source: &SourceFile) -> Option<Vec<Edit>> {
    let fix = finding.fixes.iter().find(|fix| fix.applicability == Applicability::Safe)?;
    let mut edits = fix.edits.clone();
    edits.sort_by_key(|edit| edit.span);
    let apart = edits.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start);
    let whole = edits.iter().all(|edit| source.clamp(edit.span) == edit.span);
    (apart && whole && !edits.is_empty()).then_some(edits)
}

/// Whether two spans overlap or meet: of edits that meet it is not certain what comes first.
fn touch(a: Span, b: Span) -> bool {
    a.start <= b.end && b.start <= a.end
}

impl Candidate {
    fn move_with(&mut self, change: &Change) {
        for edit in &mut self.edits {
            edit.span = Span::new(change.moved(edit.span.start), change.moved(edit.span.end));
        }
        self.findings.iter_mut().for_each(|place| place.at = change.moved(place.at));
    }
}

/// Edits that are made together.
struct Change {
    /// In order and apart.
    edits: Vec<Edit>,
    /// By how much the text has grown behind each of them.
    growth: Vec<i64>,
}

impl Change {
    fn new(edits: impl Iterator<Item = Edit>) -> Change {
        let mut edits: Vec<Edit> = edits.collect();
        edits.sort_by_key(|edit| edit.span);
        let mut total = 0;
        let grow = |edit: &Edit| {
            total += edit.replacement.len() as i64 - i64::from(edit.span.end - edit.span.start);
            total
        };
        let growth = edits.iter().map(grow).collect();
        Change { edits, growth }
    }

    fn apply(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 64);
        let mut at = 0;
        for edit in &self.edits {
            out.push_str(&text[at..edit.span.start as usize]);
            out.push_str(&edit.replacement);
            at = edit.span.end as usize;
        }
        out.push_str(&text[at..]);
        out
    }

    /// Where byte `at` of the old text is in the new one: behind the edits before it. Within a replaced text it
    /// is the start of the replacement, and what is inserted right there comes behind it.
    fn moved(&self, at: u32) -> u32 {
        let before = self.edits.partition_point(|edit| edit.span.end <= at && edit.span.start < at);
        let within = self.edits.get(before).filter(|edit| edit.span.start < at);
        self.shifted(within.map_or(at, |edit| edit.span.start), before)
    }

    fn shifted(&self, at: u32, edits_before: usize) -> u32 {
        let growth = edits_before.checked_sub(1).map_or(0, |last| self.growth[last]);
        (i64::from(at) + growth).max(0) as u32
    }

    /// The same; and, if something is inserted right there, the place behind that.
    fn both(&self, at: u32) -> [u32; 2] {
        let behind = self.edits.partition_point(|edit| edit.span.end <= at);
        let moved = self.moved(at);
        let inserted = behind > 0 && self.edits[behind - 1].span == Span::empty(at);
        [moved, if inserted { self.shifted(at, behind) } else { moved }]
    }
}

/// How many findings of a rule stand at each place.
struct Census(FxHashMap<Place, usize>);

impl Census {
    fn new(places: impl Iterator<Item = Place>) -> Census {
        let mut census = Census(FxHashMap::default());
        places.for_each(|place| census.add(place));
        census
    }

    /// Places before a change, where they are behind it.
    fn moved(places: impl Iterator<Item = Place>, change: &Change) -> Census {
        let both = |place: Place| {
            let [first, second] = change.both(place.at);
            let second = (second != first).then_some(Place { at: second, ..place });
            [Some(Place { at: first, ..place }), second].into_iter().flatten()
        };
        Census::new(places.flat_map(both))
    }

    fn add(&mut self, place: Place) {
        *self.0.entry(place).or_default() += 1;
    }

    fn count(&self, place: Place) -> usize {
        self.0.get(&place).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
