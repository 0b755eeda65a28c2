//! From the grammar files to Rust text. The format is described in grammar/README.md.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

type Result<T> = std::result::Result<T, String>;

/// Read before the others, which refer to their words.
const FIRST: [&str; 2] = ["targets.isa", "common.isa"];

/// Compiles the files (name, text) to the text of `table.rs`; errors read `file:line: what`.
pub fn compile(files: &[(String, String)]) -> Result<String> {
    let mut grammar = Grammar::default();
    for first in FIRST {
        for (name, text) in files.iter().filter(|(name, _)| name == first) {
            read_file(&mut grammar, name, text)?;
        }
    }
    for (name, text) in files {
        if !FIRST.contains(&name.as_str()) {
            read_file(&mut grammar, name, text)?;
        }
    }
    validate(&grammar)?;
    emit(&mut grammar)
}

#[derive(Default)]
struct Grammar {
    targets: Vec<(String, (u8, u8))>,
    families: Vec<Vec<u32>>,
    toolkits: Vec<(String, (u8, u8))>,
    versions: Vec<(u8, u8)>,
    classes: HashMap<String, u8>,
    class_count: u8,
    repeatable: Vec<String>,
    carriers: HashMap<String, String>,
    opaque: BTreeSet<String>,
    directives: Vec<(String, bool, bool, usize)>,
    specials: BTreeMap<String, (&'static str, u8, usize)>,
    ops: Vec<Op>,
    mods: BTreeSet<String>,
    args: BTreeSet<String>,
    forms: Vec<String>,
    gates: Vec<Gate>,
}

/// No condition.
const ALWAYS: Gate = Gate { version: (0, 0), mask: u64::MAX, manual: 0, advise: 0 };

#[derive(Clone, PartialEq)]
struct Gate {
    version: (u8, u8),
    mask: u64,
    manual: usize,
    advise: usize,
}

struct Op {
    name: String,
    section: String,
    text: String,
    family: String,
    open: bool,
    wide: bool,
    hints: Vec<(String, String)>,
    rows: Vec<Row>,
}

struct Row {
    form: String,
    slots: Vec<Slot>,
    operands: Vec<Operand>,
    counts: Vec<usize>,
    gate: usize,
    undocumented: bool,
}

#[derive(Clone)]
struct SlotDef {
    alternatives: Vec<Alternative>,
    default: Option<usize>,
}

#[derive(Clone)]
struct Alternative {
    text: String,
    gate: usize,
    canonical: Option<String>,
}

#[derive(Clone)]
struct Slot {
    name: String,
    def: SlotDef,
    optional: bool,
    group: usize,
    gate: usize,
    leading: bool,
}

struct Operand {
    arg: String,
    access: &'static str,
    shape: String,
    gate: usize,
    range: String,
    should: String,
}

fn read_file(grammar: &mut Grammar, file: &str, text: &str) -> Result<()> {
    let family = file.trim_end_matches(".isa").to_string();
    let mut file_slots = Slots::default();
    let mut op_slots = Slots::default();
    let mut defines: Vec<(String, String)> = Vec::new();
    let mut variant = String::new();
    for (number, raw) in text.lines().enumerate() {
        let line = expand(strip_comment(raw), &defines);
        if line.trim().is_empty() {
            continue;
        }
        let at = |message: String| format!("{file}:{}: {message}", number + 1);
        let indented = line.starts_with([' ', '\t']);
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if !indented {
            match word {
                "define" => {
                    let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                    defines.push((format!("${name}"), value.trim().to_string()));
                }
                "op" => {
                    let op = op_header(rest, &family).map_err(at)?;
                    if grammar.ops.iter().any(|other| other.name == op.name) {
                        return Err(at(format!("a second op {}", op.name)));
                    }
                    grammar.ops.push(op);
                    std::mem::take(&mut op_slots).all_used(file)?;
                    variant = String::new();
                }
                _ if is_slot_line(line) => {
                    let (name, def) = slot_line(grammar, line).map_err(at)?;
                    file_slots.define(name, def, number + 1, file)?;
                }
                _ => header_line(grammar, word, rest).map_err(at)?,
            }
            continue;
        }
        if grammar.ops.is_empty() {
            return Err(at("an indented line before the first op".into()));
        }
        if line == "open" {
            grammar.ops.last_mut().expect("checked").open = true;
        } else if line == "wide" {
            grammar.ops.last_mut().expect("checked").wide = true;
        } else if word == "hint" {
            let (about, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let hint = (about.trim_start_matches('-').to_string(), text.trim().to_string());
            grammar.ops.last_mut().expect("checked").hints.push(hint);
        } else if let Some(name) = line.strip_prefix(':') {
            variant = name.to_string();
        } else if is_slot_line(line) {
            let (name, def) = slot_line(grammar, line).map_err(at)?;
            op_slots.define(name, def, number + 1, file)?;
        } else {
            let slots = |name: &str| op_slots.get(name).or_else(|| file_slots.get(name));
            let op_name = grammar.ops.last().expect("checked").name.clone();
            let row = row_line(grammar, line, &op_name, &variant, &slots).map_err(at)?;
            let rows = &mut grammar.ops.last_mut().expect("checked").rows;
            rows.push(row);
            // A match names its row by a byte.
            at_most("rows", rows.len(), 255).map_err(at)?;
        }
    }
    op_slots.all_used(file)?;
    file_slots.all_used(file)
}

/// Slot definitions by name, each with its line and whether a row uses it.
#[derive(Default)]
struct Slots {
    known: BTreeMap<String, (SlotDef, usize, Cell<bool>)>,
}

impl Slots {
    fn get(&self, name: &str) -> Option<SlotDef> {
        let (def, _, used) = self.known.get(name)?;
        used.set(true);
        Some(def.clone())
    }

    /// A later definition replaces an earlier one, which must have been of use.
    fn define(&mut self, name: String, def: SlotDef, line: usize, file: &str) -> Result<()> {
        match self.known.insert(name.clone(), (def, line, Cell::new(false))) {
            Some((_, line, used)) if !used.get() => Err(unused(file, line, &name)),
            _ => Ok(()),
        }
    }

    fn all_used(&self, file: &str) -> Result<()> {
        match self.known.iter().find(|(_, (_, _, used))| !used.get()) {
            Some((name, (_, line, _))) => Err(unused(file, *line, name)),
            None => Ok(()),
        }
    }
}

fn unused(file: &str, line: usize, slot: &str) -> String {
    format!("{file}:{line}: no row uses the slot `{slot}`")
}

/// The numbers of the table are bytes and words: `count` of `what` must not outgrow them.
fn at_most(what: &str, count: usize, most: usize) -> Result<()> {
    if count > most { Err(format!("more than {most} {what}")) } else { Ok(()) }
}

/// What can only be seen when all files are read.
fn validate(grammar: &Grammar) -> Result<()> {
    at_most("gates", grammar.gates.len(), u16::MAX.into())
}

/// `#` starts a comment at the start of a line or after a blank (`a:u32#` is an operand).
fn strip_comment(line: &str) -> &str {
    let bytes = line.as_bytes();
    for (i, &b) in bytes.iter().enumerate() {
        let blank_before = i == 0 || bytes[i - 1].is_ascii_whitespace();
        let blank_after = bytes.get(i + 1).is_none_or(|b| b.is_ascii_whitespace());
        if b == b'#' && blank_before && (i == 0 || blank_after) {
            return &line[..i];
        }
    }
    line
}

/// Replaces `$name`; later definitions may use earlier ones.
fn expand(line: &str, defines: &[(String, String)]) -> String {
    let mut text = line.to_string();
    // Longest names first, so that `$ab` is not read as `$a` and `b`.
    let mut sorted: Vec<_> = defines.iter().collect();
    sorted.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, value) in sorted {
        text = text.replace(name.as_str(), value);
    }
    text
}

/// `.name = …` or `.name(gate) = …`; a row has more before its first `=`, and no blank after it.
fn is_slot_line(line: &str) -> bool {
    let Some((head, tail)) = line.split_once('=') else { return false };
    let name = head.trim_end().split('(').next().unwrap_or(head);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tail.starts_with(' ') && name.strip_prefix('.').is_some_and(|n| !n.is_empty() && n.chars().all(is_word))
}

fn op_header(rest: &str, family: &str) -> Result<Op> {
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let rest = rest.trim();
    let (section, text) = match rest.strip_prefix('§') {
        Some(rest) => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        None => ("", rest),
    };
    if text.trim().is_empty() {
        return Err(format!("op {name} has no text"));
    }
    Ok(Op {
        name: name.into(),
        section: section.into(),
        text: text.trim().into(),
        family: family.into(),
        open: false,
        wide: false,
        hints: Vec::new(),
        rows: Vec::new(),
    })
}

fn version(text: &str) -> Result<(u8, u8)> {
    let (major, minor) = text.split_once('.').ok_or(format!("`{text}` is not a version"))?;
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => Ok((major, minor)),
        _ => Err(format!("`{text}` is not a version")),
    }
}

fn header_line(grammar: &mut Grammar, word: &str, rest: &str) -> Result<()> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    match (word, words.as_slice()) {
        ("target", [name, since]) => {
            grammar.targets.push((name.to_string(), version(since)?));
            // A set of targets is a `u64`.
            at_most("targets", grammar.targets.len(), 64)?;
        }
        ("toolkit", [name, highest]) => {
            grammar.toolkits.push((name.to_string(), version(highest)?));
        }
        ("family", numbers) => {
            let numbers: std::result::Result<_, _> = numbers.iter().map(|n| n.parse()).collect();
            grammar.families.push(numbers.map_err(|_| "a family lists numbers".to_string())?);
        }
        ("ptx", versions) => {
            for text in versions {
                grammar.versions.push(version(text)?);
            }
        }
        ("ordered", words) => {
            grammar.class_count = grammar.class_count.checked_add(1).ok_or("more than 255 classes")?;
            for word in words {
                grammar.classes.insert(word.to_string(), grammar.class_count);
                grammar.mods.insert(word.to_string());
            }
        }
        ("repeatable", words) => grammar.repeatable.extend(words.iter().map(|w| w.to_string())),
        ("carrier", [modifier, ty]) => {
            grammar.carriers.insert(modifier.to_string(), ty.to_string());
            grammar.mods.insert(modifier.to_string());
        }
        ("special", [name, ty, more @ ..]) => {
            let at = more.iter().position(|w| *w == "@").ok_or("a special register needs `@ GATE`")?;
            let vector = match &more[..at] {
                [] => 1,
                [x] => x.strip_prefix('x').and_then(|n| n.parse().ok()).ok_or("expected xN")?,
                _ => return Err("expected `special NAME TYPE [xN] @ GATE`".into()),
            };
            let gate = gate(grammar, &more[at + 1..].join(" "))?;
            let ty = type_variant(ty)?;
            for name in numbered(name)? {
                grammar.specials.insert(name, (ty, vector, gate));
            }
        }
        ("directive", [name, place, "@", more @ ..]) => {
            let gate = gate(grammar, &more.join(" "))?;
            let (entry, func) = match *place {
                "entry" => (true, false),
                "func" => (false, true),
                "both" => (true, true),
                _ => return Err("expected entry, func or both".into()),
            };
            grammar.directives.push((name.to_string(), entry, func, gate));
        }
        ("opaque", words) => grammar.opaque.extend(words.iter().map(|w| w.to_string())),
        _ => return Err(format!("`{word}` is not understood here")),
    }
    Ok(())
}

/// `%pm0..7_64` → `%pm0_64` … `%pm7_64`
fn numbered(name: &str) -> Result<Vec<String>> {
    let Some((head, tail)) = name.split_once("..") else { return Ok(vec![name.to_string()]) };
    let base = head.trim_end_matches(|c: char| c.is_ascii_digit());
    let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    match (head[base.len()..].parse::<u32>(), tail[..end].parse::<u32>()) {
        (Ok(low), Ok(high)) => Ok((low..=high).map(|n| format!("{base}{n}{}", &tail[end..])).collect()),
        _ => Err(format!("`{name}` is not a range of names")),
    }
}

/// Splits `text` at `separator` outside of any brackets.
fn split_outside(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0i32;
    let mut start = 0;
    let mut parts = Vec::new();
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ if c == separator && depth == 0 => {
                parts.push(&text[start..i]);
                start = i + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Splits `text` at the first `separator` outside of any brackets.
fn split_outside_once<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0i32;
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ if depth == 0 && text[i..].starts_with(separator) => {
                return Some((&text[..i], &text[i + separator.len()..]));
            }
            _ => {}
        }
    }
    None
}

/// `word(gate)` → word, gate.
fn with_gate<'a>(grammar: &mut Grammar, text: &'a str) -> Result<(&'a str, usize)> {
    let text = text.trim();
    match text.strip_suffix(')').and_then(|t| t.split_once('(')) {
        Some((word, inner)) => Ok((word.trim(), gate(grammar, inner)?)),
        None => Ok((text, 0)),
    }
}

fn slot_line(grammar: &mut Grammar, line: &str) -> Result<(String, SlotDef)> {
    let (head, tail) = line.split_once('=').ok_or("a slot needs `=`")?;
    let (name, gate) = with_gate(grammar, head)?;
    let mut def = SlotDef { alternatives: Vec::new(), default: None };
    for (i, part) in split_outside(tail, '|').into_iter().enumerate() {
        let (spelled, canonical) = match part.split_once('~') {
            Some((a, b)) => (a, Some(b.trim().to_string())),
            None => (part, None),
        };
        let (text, own) = with_gate(grammar, spelled)?;
        let gate = merge(grammar, gate, own);
        let text = match text.strip_prefix('*') {
            Some(text) => {
                def.default = Some(i);
                text
            }
            None => text,
        };
        if !text.starts_with('.') || text.len() < 2 || text.contains(char::is_whitespace) {
            return Err(format!("`{text}` is not a modifier"));
        }
        grammar.mods.insert(text.to_string());
        def.alternatives.push(Alternative { text: text.into(), gate, canonical });
    }
    grammar.mods.extend(def.alternatives.iter().filter_map(|a| a.canonical.clone()));
    // A filled slot is stored as the number of the alternative plus one, in a byte.
    at_most("alternatives", def.alternatives.len(), 254)?;
    Ok((name.to_string(), def))
}

/// The mask of the targets that `name` stands for in a gate.
fn target_mask(grammar: &Grammar, name: &str) -> Result<u64> {
    let split = |name: &str| -> Option<(u32, char)> {
        let digits = name.strip_prefix("sm_")?;
        let number = digits.trim_end_matches(['a', 'f']);
        let suffix = digits[number.len()..].chars().next().unwrap_or(' ');
        Some((number.parse().ok()?, suffix))
    };
    let (number, suffix) = split(name).ok_or(format!("`{name}` is not a target"))?;
    if !grammar.targets.iter().any(|(known, _)| known == name) {
        return Err(format!("`{name}` is not a known target"));
    }
    let family = grammar.families.iter().find(|f| f.contains(&number));
    let mut mask = 0;
    for (bit, (other, _)) in grammar.targets.iter().enumerate() {
        let (n, s) = split(other).ok_or(format!("`{other}` is not a target"))?;
        let member = match suffix {
            ' ' => n >= number,
            'a' => other == name,
            _ => n >= number && s != ' ' && family.is_some_and(|f| f.contains(&n)),
        };
        mask |= u64::from(member) << bit;
    }
    Ok(mask)
}

fn gate(grammar: &mut Grammar, text: &str) -> Result<usize> {
    if grammar.gates.is_empty() {
        grammar.gates.push(ALWAYS);
    }
    let mut result = ALWAYS;
    for (i, part) in text.split(';').enumerate() {
        let part = part.trim();
        if let Some(rest) = part.strip_prefix("manual ") {
            result.manual = gate(grammar, rest)?;
        } else if let Some(rest) = part.strip_prefix("advise ") {
            result.advise = gate(grammar, rest)?;
        } else if i == 0 {
            for word in part.split_whitespace() {
                if word.starts_with("sm_") {
                    result.mask = 0;
                    for name in word.split('/') {
                        result.mask |= target_mask(grammar, name)?;
                    }
                } else {
                    result.version = version(word)?;
                }
            }
        } else {
            return Err(format!("`{part}` is not understood in a gate"));
        }
    }
    Ok(intern(grammar, result))
}

/// Both gates in one.
fn merge(grammar: &mut Grammar, a: usize, b: usize) -> usize {
    if a == 0 || b == 0 {
        return a + b;
    }
    let (first, second) = (grammar.gates[a].clone(), grammar.gates[b].clone());
    let manual = merge(grammar, first.manual, second.manual);
    let advise = merge(grammar, first.advise, second.advise);
    let version = first.version.max(second.version);
    intern(grammar, Gate { version, mask: first.mask & second.mask, manual, advise })
}

fn intern(grammar: &mut Grammar, gate: Gate) -> usize {
    if let Some(known) = grammar.gates.iter().position(|g| *g == gate) {
        return known;
    }
    grammar.gates.push(gate);
    grammar.gates.len() - 1
}

fn row_line(
    grammar: &mut Grammar,
    line: &str,
    op: &str,
    variant: &str,
    lookup: &dyn Fn(&str) -> Option<SlotDef>,
) -> Result<Row> {
    let (body, tail) = line.rsplit_once(" @ ").ok_or("a row ends in ` @ GATE`")?;
    let (tail, undocumented) = match tail.trim().strip_suffix("undocumented") {
        Some(rest) => (rest.trim().trim_end_matches(';').trim(), true),
        None => (tail.trim(), false),
    };
    let row_gate = gate(grammar, tail)?;
    let end = modifiers_end(body);
    let (mods, operands) = (body[..end].trim(), body[end..].trim());
    let slots = if mods == "-" { Vec::new() } else { modifiers(grammar, mods, lookup)? };
    let operands_text = if operands == "-" { "" } else { operands };
    let mut parser = OperandParser { grammar, slots: &slots };
    let (operands, counts) = parser.list(operands_text)?;
    for (name, text) in slots.iter().flat_map(|s| s.def.alternatives.iter().map(move |a| (&s.name, &a.text)))
    {
        if name.is_empty() {
            return Err(format!("slot of {text} has no name"));
        }
    }
    let form = camel(&format!("{op}.{variant}"));
    if !grammar.forms.contains(&form) {
        grammar.forms.push(form.clone());
    }
    at_most("slots", slots.len(), 255)?;
    at_most("operands", operands.len(), 255)?;
    Ok(Row { form, slots, operands, counts, gate: row_gate, undocumented })
}

/// The modifiers end at the first blank outside of parentheses (a gate holds blanks).
fn modifiers_end(text: &str) -> usize {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if c.is_whitespace() && depth == 0 => return i,
            _ => {}
        }
    }
    text.len()
}

fn modifiers(
    grammar: &mut Grammar,
    text: &str,
    lookup: &dyn Fn(&str) -> Option<SlotDef>,
) -> Result<Vec<Slot>> {
    let mut slots = Vec::new();
    let mut group = 0;
    let (mut rest, mut leading) = match text.strip_prefix('^') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    while !rest.is_empty() {
        let (inner, optional) = match rest.strip_prefix('{') {
            Some(after) => {
                let end = after.find('}').ok_or("`{` without `}`")?;
                rest = &after[end + 1..];
                (&after[..end], true)
            }
            None => {
                let end = rest.find('{').unwrap_or(rest.len());
                let (inner, after) = rest.split_at(end);
                rest = after;
                (inner, false)
            }
        };
        let words = split_words(inner)?;
        let in_group = if optional && words.len() > 1 {
            group += 1;
            group
        } else {
            0
        };
        for word in words {
            let (name, slot_gate) = with_gate(grammar, word)?;
            let def = lookup(name).unwrap_or_else(|| SlotDef {
                alternatives: vec![Alternative { text: name.into(), gate: 0, canonical: None }],
                default: None,
            });
            for alternative in &def.alternatives {
                grammar.mods.insert(alternative.text.clone());
            }
            let gate = slot_gate;
            slots.push(Slot { name: name.into(), def, optional, group: in_group, gate, leading });
            leading = false;
        }
    }
    Ok(slots)
}

/// `.a.b(8.0 sm_90).c` → `.a`, `.b(8.0 sm_90)`, `.c`
fn split_words(text: &str) -> Result<Vec<&str>> {
    let mut words = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '.' if depth == 0 && i > start => {
                words.push(&text[start..i]);
                start = i;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    if words.iter().any(|w| !w.starts_with('.') || w.len() < 2) {
        return Err(format!("`{text}` is not a sequence of modifiers"));
    }
    Ok(words)
}

struct OperandParser<'a> {
    grammar: &'a mut Grammar,
    slots: &'a [Slot],
}

impl OperandParser<'_> {
    /// A list with optional tails: the operands, and the counts that are allowed.
    fn list(&mut self, text: &str) -> Result<(Vec<Operand>, Vec<usize>)> {
        let mut operands = Vec::new();
        let mut counts = Vec::new();
        let mut rest = text.trim();
        let mut closing = 0;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('{').filter(|r| r.trim_start().starts_with(',')) {
                counts.push(operands.len());
                closing += 1;
                rest = after.trim_start();
            } else if let Some(after) = rest.strip_prefix('}').filter(|_| closing > 0) {
                closing -= 1;
                rest = after.trim_start();
            } else {
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
                // The leading optional `{a, }b` is not supported: write two rows.
                let end = operand_end(rest);
                operands.push(self.operand(rest[..end].trim())?);
                rest = rest[end..].trim_start();
            }
        }
        counts.push(operands.len());
        counts.dedup();
        if operands.last().is_some_and(|o| o.shape == "Shape::Rest") {
            counts = (operands.len() - 1..16).collect();
        }
        Ok((operands, counts))
    }

    fn operand(&mut self, text: &str) -> Result<Operand> {
        let (text, should) = match split_outside_once(text, " should ") {
            Some((head, range)) => (head.trim(), self.range(range)?),
            None => (text, "None".into()),
        };
        let (text, range) = match split_outside_once(text, " in ") {
            Some((head, range)) => (head.trim(), self.range(range)?),
            None => (text, "None".into()),
        };
        let (text, gate) = if text.ends_with(')') && !text.contains('[') && !text.ends_with("?)") {
            let open = text.rfind('(').ok_or("`)` without `(`")?;
            if text[..open].ends_with(['?', '_']) {
                (text, 0)
            } else {
                (&text[..open], gate(self.grammar, &text[open + 1..text.len() - 1])?)
            }
        } else {
            (text, 0)
        };
        let mut operand = self.shape(text)?;
        (operand.gate, operand.range, operand.should) = (gate, range, should);
        Ok(operand)
    }

    fn shape(&mut self, text: &str) -> Result<Operand> {
        let (access, body) = match text.as_bytes().first() {
            Some(b'=') => ("Write", &text[1..]),
            Some(b'+') => ("ReadWrite", &text[1..]),
            Some(_) => ("Read", text),
            None => return Err("an empty operand".into()),
        };
        let plain = |arg: &str, shape: String| Operand {
            arg: arg.to_string(),
            access,
            shape,
            gate: 0,
            range: "None".into(),
            should: "None".into(),
        };
        if body == "..." {
            self.grammar.args.insert("rest".into());
            return Ok(plain("rest", "Shape::Rest".into()));
        }
        if let Some(tail) = body.strip_prefix('_') {
            self.grammar.args.insert("sink".into());
            let gate = match tail.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
                Some(inner) => gate(self.grammar, inner)?,
                None if tail.is_empty() => 0,
                None => return Err(format!("`{body}` is not understood")),
            };
            return Ok(plain("sink", format!("Shape::Sink(GateId({gate}))")));
        }
        if let Some(inner) = body.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            return self.address(inner, access);
        }
        if let Some(inner) = body.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            return self.vector(inner, access);
        }
        let halves = split_outside(text, '|');
        if halves.len() == 2 {
            return self.pair(halves[0], halves[1], false);
        }
        if let Some((first, second)) = text.strip_suffix('}').and_then(|t| t.split_once("{|")) {
            return self.pair(first, second, true);
        }
        let (negatable, body) = match body.strip_prefix('!') {
            Some(body) => (true, body),
            None => (false, body),
        };
        let (name, ty) = body.split_once(':').ok_or(format!("operand `{text}` needs `name:TYPE`"))?;
        self.grammar.args.insert(name.to_string());
        match ty {
            "label" => return Ok(plain(name, "Shape::Label".into())),
            "function" => return Ok(plain(name, "Shape::Function".into())),
            "any" => return Ok(plain(name, "Shape::Any".into())),
            _ => {}
        }
        let value = self.value(ty, negatable, access != "Read")?;
        Ok(plain(name, format!("Shape::Value({value})")))
    }

    /// `name:TYPE x N`
    fn vector(&mut self, inner: &str, access: &'static str) -> Result<Operand> {
        let (element, length) = inner.rsplit_once(" x ").ok_or("a vector needs ` x N`")?;
        let element = self.shape(element.trim())?;
        let access = if element.access == "Read" { access } else { element.access };
        let value = element.shape.strip_prefix("Shape::Value(").and_then(|s| s.strip_suffix(')'));
        let value = value.ok_or("a vector holds values")?;
        let shape = format!("Shape::Vector({value}, {})", self.length(length.trim())?);
        Ok(Operand { access, shape, ..element })
    }

    fn pair(&mut self, first: &str, second: &str, optional: bool) -> Result<Operand> {
        let a = self.shape(first.trim())?;
        let b = self.shape(second.trim())?;
        let shape = format!("Shape::Pair(&{}, &{}, {optional})", emit_operand(&a), emit_operand(&b));
        let (arg, access) = (a.arg.clone(), a.access);
        Ok(Operand { arg, access, shape, gate: 0, range: "None".into(), should: "None".into() })
    }

    fn value(&mut self, text: &str, negatable: bool, written: bool) -> Result<String> {
        let mut text = text.trim();
        let (mut constants, mut sink) = (if written { "Never" } else { "Allowed" }, "None".to_string());
        let (mut special, mut symbol) = (false, "SymbolSpec::No".to_string());
        let mut braces = false;
        loop {
            if let Some((head, space)) = text.rsplit_once("&.") {
                let variant = space_variant(&format!(".{space}"));
                symbol =
                    format!("SymbolSpec::In({})", variant.trim_start_matches("Some(").trim_end_matches(')'));
                text = head;
                continue;
            }
            if let Some((head, tail)) = text.rsplit_once("?(") {
                let inner = tail.strip_suffix(')').ok_or("`?(` without `)`")?;
                sink = format!("Some(GateId({}))", gate(self.grammar, inner)?);
                text = head;
                continue;
            }
            match text.as_bytes().last() {
                Some(b'!') => constants = "Never",
                Some(b'#') => constants = "Only",
                Some(b'?') => sink = "Some(GateId(0))".into(),
                Some(b'%') => special = true,
                Some(b'~') => braces = true,
                Some(b'&') => symbol = "SymbolSpec::Any".into(),
                _ => break,
            }
            text = &text[..text.len() - 1];
        }
        let (text, wider) = match text.strip_suffix('+') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let ty = self.type_spec(text)?;
        Ok(format!(
            "Value {{ ty: {ty}, wider: {wider}, constants: Constants::{constants}, sink: {sink}, \
             special: {special}, symbol: {symbol}, negatable: {negatable}, braces: {braces} }}"
        ))
    }

    /// `u32`, `.type` or `.type*2`
    fn type_spec(&self, text: &str) -> Result<String> {
        Ok(match text.strip_suffix("*2") {
            Some(slot) => format!("TypeSpec::Double({})", self.slot(slot)?),
            None if text.starts_with('.') => format!("TypeSpec::Slot({})", self.slot(text)?),
            None => {
                let carried = self.grammar.carriers.get(&format!(".{text}"));
                let ty = type_variant(carried.map_or(text, |carrier| &carrier[1..]))?;
                format!("TypeSpec::Fixed(Type::{ty})")
            }
        })
    }

    fn slot(&self, name: &str) -> Result<usize> {
        let found = self.slots.iter().position(|s| s.name == name);
        found.ok_or(format!("the row has no slot `{name}`"))
    }

    fn length(&self, text: &str) -> Result<String> {
        if let Ok(n) = text.parse::<u8>() {
            return Ok(format!("Length::Fixed({n})"));
        }
        let operator = text.find(['-', '*', '/']);
        let (slot, number) = operator.map_or((text, "-0"), |at| text.split_at(at));
        let number: (char, u8) = match (number.chars().next(), number[1..].trim().parse()) {
            (Some(operator), Ok(n)) => (operator, n),
            _ => return Err(format!("`{text}` is not a length")),
        };
        let slot = self.slot(slot.trim())?;
        Ok(match number {
            ('*', n) => format!("Length::Times({slot}, {n})"),
            ('/', n) if n > 0 => format!("Length::Over({slot}, {n})"),
            (_, less) => format!("Length::Slot({slot}, {less})"),
        })
    }

    fn address(&mut self, inner: &str, access: &'static str) -> Result<Operand> {
        let parts = split_outside(inner, ',');
        let (name, attributes) = parts[0].split_once(':').unwrap_or((parts[0], ""));
        self.grammar.args.insert(name.trim().to_string());
        let (mut space, mut mbar, mut narrow) = ("SpaceSpec::Generic".to_string(), false, false);
        let mut should = "None";
        let (mut align, mut bytes) = ("Extent::None".to_string(), "Extent::None".to_string());
        for word in attributes.split_whitespace() {
            if word == "mbar" {
                mbar = true;
                (align, bytes) = ("Extent::Fixed(8)".into(), "Extent::Fixed(8)".into());
            } else if word == "tensormap" || word == "generic" {
                // Generic; the word is for readers.
            } else if word == "narrow" {
                narrow = true;
            } else if word == "any" {
                space = "SpaceSpec::Any".into();
            } else if word == "tmem" {
                space = "SpaceSpec::Tensor".into();
            } else if let Some(text) = word.strip_prefix("should=") {
                should = space_variant(text);
            } else if let Some(text) = word.strip_prefix("align=") {
                align = self.extent(text)?;
            } else if let Some(text) = word.strip_prefix("bytes=") {
                bytes = self.extent(text)?;
            } else if let Ok(slot) = self.slot(word) {
                space = format!("SpaceSpec::Slot({slot})");
            } else if word.starts_with('.') {
                self.grammar.mods.insert(word.to_string());
                space = format!("SpaceSpec::Fixed(Mod::{})", mod_variant(word));
            } else {
                return Err(format!("`{word}` is no attribute of an address"));
            }
        }
        let spec = format!(
            "AddressSpec {{ space: {space}, should: {should}, mbar: {mbar}, narrow: {narrow}, align: {align}, \
             bytes: {bytes} }}"
        );
        let shape = if parts.len() == 1 {
            format!("Shape::Address({spec})")
        } else {
            let mut rest = String::new();
            for part in &parts[1..] {
                let operand = self.operand(part.trim())?;
                write!(rest, "{}, ", emit_operand(&operand)).expect("writes to a string");
            }
            format!("Shape::Compound({spec}, &[{rest}])")
        };
        let arg = name.trim().to_string();
        Ok(Operand { arg, access, shape, gate: 0, range: "None".into(), should: "None".into() })
    }

    fn extent(&mut self, text: &str) -> Result<String> {
        if let Ok(n) = text.parse::<u32>() {
            return Ok(format!("Extent::Fixed({n})"));
        }
        if let Some((ty, vector)) = text.split_once('*') {
            return Ok(format!("Extent::Vector({}, {})", self.slot(ty)?, self.slot(vector)?));
        }
        if text.starts_with('.') {
            return Ok(format!("Extent::Type({})", self.slot(text)?));
        }
        self.grammar.args.insert(text.to_string());
        Ok(format!("Extent::Arg(Arg::{})", camel(text)))
    }

    fn range(&mut self, text: &str) -> Result<String> {
        let text = text.trim();
        if text == "nonzero" {
            return Ok("Some(ValueRange::NonZero)".into());
        }
        let number =
            |t: &str| -> Result<i64> { t.trim().parse().map_err(|_| format!("`{t}` is not a number")) };
        if let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            let values: Result<Vec<String>> =
                inner.split(',').map(|v| number(v).map(|n| n.to_string())).collect();
            return Ok(format!("Some(ValueRange::OneOf(&[{}]))", values?.join(", ")));
        }
        let (bounds, step) = text.split_once(" by ").unwrap_or((text, "1"));
        let (low, high) = bounds.split_once("..").ok_or(format!("`{text}` is not a range"))?;
        let (low, high) = (low.trim(), high.trim());
        let low = if low.is_empty() { i64::MIN } else { number(low)? };
        if high.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.grammar.args.insert(high.to_string());
            return Ok(format!("Some(ValueRange::UpTo({low}, Arg::{}))", camel(high)));
        }
        let high = if high.is_empty() { i64::MAX } else { number(high)? };
        let step: u32 = step.trim().parse().map_err(|_| format!("`{step}` is not a step"))?;
        Ok(format!("Some(ValueRange::Span {{ low: {low}, high: {high}, step: {step} }})"))
    }
}

/// An operand ends at a comma or at an optional tail outside of brackets.
fn operand_end(text: &str) -> usize {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '{' if depth == 0 && text[i + 1..].trim_start().starts_with(',') => return i,
            '(' | '[' | '{' => depth += 1,
            '}' if depth == 0 => return i,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => return i,
            _ => {}
        }
    }
    text.len()
}

fn type_variant(text: &str) -> Result<&'static str> {
    const TYPES: &[(&str, &str)] = &[
        ("b8", "B8"),
        ("b16", "B16"),
        ("b32", "B32"),
        ("b64", "B64"),
        ("b128", "B128"),
        ("u8", "U8"),
        ("u16", "U16"),
        ("u32", "U32"),
        ("u64", "U64"),
        ("s8", "S8"),
        ("s16", "S16"),
        ("s32", "S32"),
        ("s64", "S64"),
        ("f16", "F16"),
        ("f16x2", "F16x2"),
        ("bf16", "Bf16"),
        ("bf16x2", "Bf16x2"),
        ("f32", "F32"),
        ("f64", "F64"),
        ("pred", "Pred"),
        ("texref", "TexRef"),
        ("samplerref", "SamplerRef"),
        ("surfref", "SurfRef"),
    ];
    let found = TYPES.iter().find(|(name, _)| *name == text);
    found.map(|(_, variant)| *variant).ok_or(format!("`{text}` is not a type"))
}

/// The state space that a modifier spells, window qualifiers dropped.
fn space_variant(text: &str) -> &'static str {
    match text.split("::").next().unwrap_or(text) {
        ".const" => "Some(Space::Const)",
        ".global" => "Some(Space::Global)",
        ".local" => "Some(Space::Local)",
        ".param" => "Some(Space::Param)",
        ".shared" => "Some(Space::Shared)",
        _ => "None",
    }
}

/// `mbarrier.arrive.expect_tx` → `MbarrierArriveExpectTx`
fn camel(text: &str) -> String {
    let mut out = String::new();
    for part in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|p| !p.is_empty()) {
        let (first, rest) = part.split_at(1);
        out.push_str(&first.to_ascii_uppercase());
        out.push_str(rest);
    }
    out
}

fn mod_variant(text: &str) -> String {
    let name = camel(text);
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("N{name}") } else { name }
}

fn emit_operand(operand: &Operand) -> String {
    format!(
        "Operand {{ arg: Arg::{}, access: Access::{}, shape: {}, gate: GateId({}), range: {}, should: {} }}",
        camel(&operand.arg),
        operand.access,
        operand.shape,
        operand.gate,
        operand.range,
        operand.should
    )
}

fn emit_version((major, minor): (u8, u8)) -> String {
    format!("Version::new({major}, {minor})")
}

fn emit(grammar: &mut Grammar) -> Result<String> {
    let _ = gate(grammar, "");
    let mut out = String::new();
    macro_rules! put { ($($arg:tt)*) => { writeln!(out, $($arg)*).expect("writes to a string") } }

    put!("/// The targets, oldest first.\npub static TARGETS: &[Target] = &[");
    for (name, since) in &grammar.targets {
        let covers = target_mask(grammar, name)?;
        put!("Target {{ name: {name:?}, since: {}, covers: TargetSet({covers}) }},", emit_version(*since));
    }
    put!("];\n/// CUDA releases and the highest PTX version that their ptxas takes.");
    put!("pub static TOOLKITS: &[(&str, Version)] = &[");
    for (name, highest) in &grammar.toolkits {
        put!("({name:?}, {}),", emit_version(*highest));
    }
    put!("];\n/// Every PTX version that there is.\npub static VERSIONS: &[Version] = &[");
    for version in &grammar.versions {
        put!("{},", emit_version(*version));
    }
    put!("];\n/// First words of instructions that the table does not describe.");
    put!("pub static OPAQUE: &[&str] = &{:?};", Vec::from_iter(&grammar.opaque));
    put!(
        "/// Directives between a function's header and its body.\npub static DIRECTIVES: &[Directive] = &["
    );
    for (name, entry, func, gate) in &grammar.directives {
        put!("Directive {{ name: {name:?}, entry: {entry}, func: {func}, gate: GateId({gate}) }},");
    }
    put!("];");
    put!("/// Special registers, sorted by name.\npub static SPECIALS: &[Special] = &[");
    for (name, (ty, vector, gate)) in &grammar.specials {
        put!("Special {{ name: {name:?}, ty: Type::{ty}, vector: {vector}, gate: GateId({gate}) }},");
    }
    put!("];\n/// Indices into [`SPECIALS`].\n#[allow(missing_docs)]\npub mod special {{");
    for (index, name) in grammar.specials.keys().enumerate() {
        put!("pub const {}: u16 = {index};", name.trim_start_matches('%').to_ascii_uppercase());
    }
    put!("}}");
    put!("/// Modifiers that ptxas takes twice.\npub static REPEATABLE: &[Mod] = &[");
    for text in &grammar.repeatable {
        grammar.mods.insert(text.clone());
        put!("Mod::{},", mod_variant(text));
    }
    put!("];\n/// All gates; entry 0 is always open.\npub static GATES: &[Gate] = &[");
    for g in &grammar.gates {
        put!(
            "Gate {{ version: {}, targets: TargetSet({}), manual: GateId({}), advise: GateId({}) }},",
            emit_version(g.version),
            g.mask,
            g.manual,
            g.advise
        );
    }
    put!("];");
    emit_words(&mut out, grammar)?;

    put!("/// A form: rows of one meaning.");
    put!("#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]\n#[repr(u16)]");
    put!("#[allow(missing_docs)]\npub enum Form {{");
    for form in &grammar.forms {
        put!("{form},");
    }
    put!("}}\n/// Every instruction, sorted by name.\npub static OPS: &[Op] = &[");
    let mut shared = Shared::default();
    grammar.ops.sort_by(|a, b| a.name.cmp(&b.name));
    for op in &grammar.ops {
        put!(
            "Op {{ name: {:?}, section: {:?}, text: {:?}, open: {}, wide: {}, family: {:?}, \
             hints: &{:?}, rows: &[",
            op.name,
            op.section,
            op.text,
            op.open,
            op.wide,
            op.family,
            op.hints
        );
        for row in &op.rows {
            emit_row(&mut out, &mut shared, row);
        }
        put!("] }},");
    }
    put!("];");
    out.push_str(&shared.text);
    Ok(out)
}

fn emit_words(out: &mut String, grammar: &Grammar) -> Result<()> {
    macro_rules! put { ($($arg:tt)*) => { writeln!(out, $($arg)*).expect("writes to a string") } }
    let mut mods: BTreeMap<String, &String> = BTreeMap::new();
    for text in &grammar.mods {
        if let Some(other) = mods.insert(mod_variant(text), text) {
            return Err(format!("modifiers `{other}` and `{text}` get the same name"));
        }
    }
    put!("/// A modifier of an instruction.");
    put!("#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]\n#[repr(u16)]");
    put!("#[allow(missing_docs)]\npub enum Mod {{");
    for name in mods.keys() {
        put!("{name},");
    }
    put!("}}\n/// Spelling, ordered class, register type that carries it, state space that it spells.");
    put!("static MODS: &[(&str, u8, Option<Type>, Option<Space>)] = &[");
    for text in mods.values() {
        let class = grammar.classes.get(*text).copied().unwrap_or(0);
        let carrier = grammar.carriers.get(*text).map_or(text.as_str(), String::as_str);
        let carrier = match type_variant(carrier.trim_start_matches('.')) {
            Ok(variant) => format!("Some(Type::{variant})"),
            Err(_) => "None".into(),
        };
        put!("({text:?}, {class}, {carrier}, {}),", space_variant(text));
    }
    let mut sorted: Vec<_> = mods.iter().collect();
    sorted.sort_by_key(|(_, text)| *text);
    put!("];\n/// Sorted by spelling.\nstatic MODS_SORTED: &[Mod] = &[");
    for (name, _) in sorted {
        put!("Mod::{name},");
    }
    put!("];\n/// The name of an operand.");
    put!("#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]\n#[repr(u16)]");
    put!("#[allow(missing_docs)]\npub enum Arg {{");
    for arg in &grammar.args {
        put!("{},", camel(arg));
    }
    put!("}}\nstatic ARGS: &[&str] = &{:?};", Vec::from_iter(&grammar.args));
    Ok(())
}

/// Lists that many rows share, each written once: a table without repetition compiles in seconds.
#[derive(Default)]
struct Shared {
    names: HashMap<String, String>,
    text: String,
}

impl Shared {
    /// The name of the static list of `items`, made if it is new.
    fn list(&mut self, kind: &str, ty: &str, items: &[String]) -> String {
        if items.is_empty() {
            return "&[]".into();
        }
        let value = items.join(", ");
        if let Some(name) = self.names.get(&value) {
            return name.clone();
        }
        let count = self.names.len();
        writeln!(self.text, "static {kind}_{count}: [{ty}; {}] = [{value}];", items.len())
            .expect("writes to a string");
        let name = format!("&{kind}_{count}");
        self.names.insert(value, name.clone());
        name
    }
}

fn emit_row(out: &mut String, shared: &mut Shared, row: &Row) {
    let slots: Vec<String> = row.slots.iter().map(|slot| emit_slot(shared, slot)).collect();
    let operands: Vec<String> = row.operands.iter().map(emit_operand).collect();
    writeln!(
        out,
        "Row {{ form: Form::{}, slots: {}, operands: {}, counts: &{:?}, gate: GateId({}), \
         undocumented: {} }},",
        row.form,
        shared.list("SLOTS", "Slot", &slots),
        shared.list("OPERANDS", "Operand", &operands),
        row.counts,
        row.gate,
        row.undocumented
    )
    .expect("writes to a string");
}

fn emit_slot(shared: &mut Shared, slot: &Slot) -> String {
    let alternatives: Vec<String> = slot.def.alternatives.iter().map(emit_alternative).collect();
    format!(
        "Slot {{ name: {:?}, optional: {}, leading: {}, group: {}, gate: GateId({}), default: {:?}, alternatives: {} }}",
        slot.name,
        slot.optional,
        slot.leading,
        slot.group,
        slot.gate,
        slot.def.default.filter(|_| slot.optional),
        shared.list("ALTERNATIVES", "Alternative", &alternatives)
    )
}

fn emit_alternative(alternative: &Alternative) -> String {
    let canonical = match &alternative.canonical {
        Some(text) => format!("Some(Mod::{})", mod_variant(text)),
        None => "None".into(),
    };
    format!(
        "Alternative {{ modifier: Mod::{}, gate: GateId({}), canonical: {canonical} }}",
        mod_variant(&alternative.text),
        alternative.gate
    )
}
