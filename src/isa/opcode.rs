//! From an opcode's words to the rows that it fits, or to the reason why it fits none.

use smallvec::SmallVec;

use super::table::{Form, GateId, Mod, OPAQUE, OPS, Op, REPEATABLE, Row, Slot, TargetSet, Version};

/// What an opcode's spelling means.
#[derive(Debug)]
pub enum Opcode {
    /// An instruction of the table, with the rows whose modifiers fit.
    Known {
        /// The instruction.
        op: &'static Op,
        /// The rows that fit, at least one.
        rows: SmallVec<[RowMatch; 2]>,
    },
    /// An instruction of the table whose modifiers fit no row.
    Misfit {
        /// The instruction.
        op: &'static Op,
        /// The row that comes nearest, and what is wrong with it.
        miss: RowMiss,
    },
    /// An instruction that exists but is not described here, or not completely.
    Opaque,
    /// No instruction of PTX starts like this.
    Unknown,
}

/// A row and how an opcode's modifiers fill it.
#[derive(Debug, Clone)]
pub struct RowMatch {
    /// The row.
    pub row: &'static Row,
    /// For each slot: 0 when it is left out, else the index of the alternative plus one.
    pub chosen: SmallVec<[u8; 16]>,
    /// What row, slots and alternatives need together.
    pub needs: Needs,
}

impl RowMatch {
    /// The modifier in slot `slot`, as written.
    pub fn modifier(&self, slot: usize) -> Option<Mod> {
        let index = self.chosen[slot].checked_sub(1)?;
        Some(self.row.slots[slot].alternatives[index as usize].modifier)
    }

    /// The modifier in slot `slot`: as written, or what is meant when it is left out.
    pub fn meaning(&self, slot: usize) -> Option<Mod> {
        let slots = &self.row.slots[slot];
        let written = self.chosen[slot].checked_sub(1);
        let index = written.or(slots.default)?;
        Some(slots.alternatives[index as usize].modifier)
    }

    /// The modifiers that are written or meant, in canonical order.
    pub fn meanings(&self) -> impl Iterator<Item = Mod> {
        (0..self.chosen.len()).filter_map(|slot| self.meaning(slot))
    }

    /// Whether `modifier` is written or meant.
    pub fn has(&self, modifier: Mod) -> bool {
        self.meanings().any(|m| m == modifier)
    }

    /// The form of the row.
    pub fn form(&self) -> Form {
        self.row.form
    }

    /// Every gate of the row as it is filled, with the modifier that brings it (none: the row itself).
    pub fn gates(&self) -> impl Iterator<Item = (Option<Mod>, GateId)> {
        let own = std::iter::once((None, self.row.gate));
        own.chain(self.row.slots.iter().zip(&self.chosen).flat_map(|(slot, &chosen)| {
            let alternative = chosen.checked_sub(1).map(|i| &slot.alternatives[i as usize]);
            alternative.into_iter().flat_map(move |alternative| {
                [(Some(alternative.modifier), slot.gate), (Some(alternative.modifier), alternative.gate)]
            })
        }))
        .filter(|(_, gate)| *gate != GateId::ALWAYS)
    }
}

/// The least PTX version and the targets that several gates together leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Lowest version.
    pub version: Version,
    /// Targets that pass all gates.
    pub targets: TargetSet,
}

impl Needs {
    /// Nothing.
    pub const NONE: Needs = Needs { version: Version::NONE, targets: TargetSet::ALL };

    /// What meets both.
    #[must_use]
    pub fn with(self, other: Needs) -> Needs {
        Needs { version: self.version.max(other.version), targets: self.targets.and(other.targets) }
    }

    /// These needs and those of `gate`.
    #[must_use]
    pub fn and(self, gate: GateId) -> Needs {
        let gate = gate.gate();
        Needs { version: self.version.max(gate.version), targets: self.targets.and(gate.targets) }
    }
}

/// The nearest row of an opcode that fits none.
#[derive(Debug)]
pub struct RowMiss {
    /// The row.
    pub row: &'static Row,
    /// What is wrong, in the order of the opcode's words, missing things last.
    pub problems: Vec<Misplaced>,
}

/// One thing that keeps an opcode from fitting a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misplaced {
    /// Word number `.0` (counted from the first word of the opcode) has no place in the row.
    NotAllowed(usize),
    /// Word number `.0` stands there a second time, or next to another choice for the same place.
    Second(usize),
    /// A modifier for this slot is missing.
    Missing(usize),
    /// Slot `.0` must come together with slot `.1`, which is filled.
    Alone(usize, usize),
}

impl Form {
    /// A short legal spelling of the form for messages, e.g. with the state space of the own CTA: the
    /// fixed words, and the first alternative of every slot that must be filled.
    pub fn spelling(self) -> String {
        let found = OPS.iter().find_map(|op| Some((op, op.rows.iter().find(|row| row.form == self)?)));
        let Some((op, row)) = found else { return String::new() };
        let required = row.slots.iter().filter(|slot| !slot.optional);
        let modifiers: String = required.map(|slot| slot.alternatives[0].modifier.text()).collect();
        format!("{}{modifiers}", op.name)
    }

    /// The fixed words of the instruction that has the form.
    pub fn op_name(self) -> &'static str {
        OPS.iter().find(|op| op.rows.iter().any(|row| row.form == self)).map_or("", |op| op.name)
    }
}

/// Looks `words` up: the first word, and the modifiers with their dots.
pub fn lookup(words: &[&str]) -> Opcode {
    let first = words[0];
    let start = OPS.partition_point(|op| op.name < first);
    let same_first = OPS[start..].iter().take_while(|op| op.words().next() == Some(first));
    let best = same_first.filter(|op| leads(op, words)).max_by_key(|op| op.name.len());
    let Some(op) = best else {
        return if OPAQUE.contains(&first) { Opcode::Opaque } else { Opcode::Unknown };
    };
    let skip = op.words().count();
    let modifiers: SmallVec<[Option<Mod>; 16]> =
        words[skip..].iter().map(|word| Mod::from_text(word)).collect();
    let mut rows = SmallVec::new();
    let mut nearest: Option<RowMiss> = None;
    for row in op.rows {
        match fit(row, &modifiers, skip) {
            Ok(found) => rows.push(found),
            Err(problems) => {
                if nearest.as_ref().is_none_or(|miss| distance(&problems) < distance(&miss.problems)) {
                    nearest = Some(RowMiss { row, problems });
                }
            }
        }
    }
    match nearest {
        _ if !rows.is_empty() => Opcode::Known { op, rows },
        _ if op.open => Opcode::Opaque,
        Some(miss) => Opcode::Misfit { op, miss },
        None => Opcode::Opaque,
    }
}

fn leads(op: &Op, words: &[&str]) -> bool {
    let mut given = words.iter();
    op.words().all(|word| given.next() == Some(&word))
}

/// Words without a place count most, then missing ones.
fn distance(problems: &[Misplaced]) -> usize {
    problems
        .iter()
        .map(|problem| match problem {
            Misplaced::NotAllowed(_) => 3,
            Misplaced::Second(_) | Misplaced::Missing(_) | Misplaced::Alone(..) => 2,
        })
        .sum()
}

/// Fills the slots of `row`; `skip` is the number of opcode words before the modifiers.
fn fit(row: &'static Row, modifiers: &[Option<Mod>], skip: usize) -> Result<RowMatch, Vec<Misplaced>> {
    let mut chosen: SmallVec<[u8; 16]> = SmallVec::from_elem(0, row.slots.len());
    let mut problems = Vec::new();
    for (index, modifier) in modifiers.iter().enumerate() {
        let place = match modifier {
            Some(modifier) => place(row, &chosen, *modifier),
            None => Place::None,
        };
        match place {
            Place::Slot(slot, alternative) => chosen[slot] = alternative as u8 + 1,
            Place::Again => {}
            Place::Taken => problems.push(Misplaced::Second(index + skip)),
            Place::None => problems.push(Misplaced::NotAllowed(index + skip)),
        }
    }
    for (index, slot) in row.slots.iter().enumerate().filter(|(i, _)| chosen[*i] == 0) {
        if !slot.optional {
            problems.push(Misplaced::Missing(index));
        } else if slot.group != 0 {
            let partner = |(i, s): (usize, &Slot)| (s.group == slot.group && chosen[i] != 0).then_some(i);
            if let Some(partner) = row.slots.iter().enumerate().find_map(partner) {
                problems.push(Misplaced::Alone(index, partner));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut found = RowMatch { row, chosen, needs: Needs::NONE };
    found.needs = found.gates().fold(Needs::NONE, |needs, (_, gate)| needs.and(gate));
    Ok(found)
}

enum Place {
    Slot(usize, usize),
    /// A harmless repetition.
    Again,
    Taken,
    None,
}

/// Where the next modifier of an opcode goes. Within an ordered class (types, state spaces) it must go
/// behind those that are already placed, and no required place of the class may be skipped.
fn place(row: &Row, chosen: &[u8], modifier: Mod) -> Place {
    let class = modifier.class();
    let mut taken = false;
    let last_of_class = (class != 0)
        .then(|| row.slots.iter().enumerate().rposition(|(i, s)| chosen[i] != 0 && of_class(s, class)))
        .flatten();
    for (index, slot) in row.slots.iter().enumerate() {
        let alternative = slot.alternatives.iter().position(|a| a.modifier == modifier);
        let Some(alternative) = alternative else {
            let skipped = class != 0 && chosen[index] == 0 && !slot.optional && of_class(slot, class);
            if skipped && last_of_class.is_none_or(|last| index > last) {
                break;
            }
            continue;
        };
        if chosen[index] != 0 {
            if REPEATABLE.contains(&modifier) {
                return Place::Again;
            }
            taken = true;
        } else if slot.leading && chosen.iter().any(|&filled| filled != 0) {
            return Place::None;
        } else if last_of_class.is_none_or(|last| index > last) {
            return Place::Slot(index, alternative);
        }
    }
    if taken { Place::Taken } else { Place::None }
}

fn of_class(slot: &Slot, class: u8) -> bool {
    slot.alternatives.iter().any(|a| a.modifier.class() == class)
}

/// Opcode names that are like `words`, best first, at most three: of the same first word where there
/// is such an instruction. Compares with every instruction of the table.
pub fn suggest_op(words: &[&str]) -> Vec<&'static str> {
    let first_known = OPS.iter().any(|op| op.words().next() == Some(words[0]));
    let mut scored: Vec<(usize, &'static str)> = Vec::new();
    for op in OPS.iter().filter(|op| !first_known || op.words().next() == Some(words[0])) {
        let count = op.words().count().min(words.len());
        let given: String = words[..count].concat();
        let distance = edit_distance(&given, op.name);
        if distance <= 1 + op.name.len() / 5 {
            scored.push((distance, op.name));
        }
    }
    if !first_known {
        let opaque = OPAQUE.iter().map(|&name| (edit_distance(words[0], name), name));
        scored.extend(opaque.filter(|(distance, name)| *distance <= name.len() / 4));
    }
    // Of equally near names the longest says most.
    scored.sort_by_key(|(distance, name)| (*distance, std::cmp::Reverse(name.len()), *name));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The candidate nearest to `word`, when it is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().max(word.len()) / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Whether `near` is what `word` was meant to be: by one slip of the finger, two in long words, while all
/// others of `candidates` are farther away.
pub fn is_slip<'a>(word: &str, near: &str, mut candidates: impl Iterator<Item = &'a str>) -> bool {
    let distance = edit_distance(word, near);
    let few = if near.len() >= 8 { 2 } else { 1 };
    distance <= few && candidates.all(|other| other == near || edit_distance(word, other) > distance)
}

/// Damerau–Levenshtein distance (adjacent swaps count one), case differences counting half a step less.
pub fn edit_distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return usize::from(a != b);
    }
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > 12 || a.len() > 80 {
        return usize::MAX / 2;
    }
    // Three rows of the table of distances, used in turn.
    let mut before = vec![0; b.len() + 1];
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    let mut row = before.clone();
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (previous[j - 1] + same).min(previous[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row[j] = best;
        }
        std::mem::swap(&mut before, &mut previous);
        std::mem::swap(&mut previous, &mut row);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_slip_has_one_meaning() {
        let names = ["add", "and", "abs", "mbarrier.init", "mbarrier.inval"];
        let slip = |word, near| is_slip(word, near, names.into_iter());
        assert!(slip("addd", "add") && slip("mbarier.int", "mbarrier.init"));
        assert!(!slip("ad", "add"), "and is as near");
        assert!(!slip("ads", "add"), "abs is as near");
        assert!(!slip("mbar.init", "mbarrier.init"), "too far");
    }

    #[test]
    fn a_swap_and_a_letter_more_are_one_step() {
        assert_eq!(edit_distance("mbarrier.ival", "mbarrier.inval"), 1);
        assert_eq!(edit_distance("abdc", "abcd"), 1);
        assert_eq!(edit_distance(".nocomplete", ".noComplete"), 1);
        assert_eq!(edit_distance("abc", "abc"), 0);
    }
}
