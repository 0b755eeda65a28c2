//! The instruction reference: the table as pages that people like to read.

use serde::Serialize;

use crate::isa::describe;
use crate::isa::table::{GateId, Op, Operand, Row, Shape, Slot};
use crate::isa::{Mod, OPS};

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// With colour.
    pub color: bool,
    /// Columns of a line.
    pub width: usize,
}

/// An instruction's page.
#[derive(Serialize, Debug)]
pub struct Page {
    /// The fixed words.
    pub name: &'static str,
    /// What it does, in one line.
    pub text: &'static str,
    /// The family that it belongs to.
    pub family: &'static str,
    /// Section of the PTX manual.
    pub section: &'static str,
    /// Whether the table describes it only in part.
    pub partial: bool,
    /// Its shapes, numbered from 1.
    pub forms: Vec<Shapes>,
    /// What its modifier slots may hold.
    pub slots: Vec<Entry>,
    /// What its operands may be.
    pub operands: Vec<Entry>,
}

/// One shape of an instruction.
#[derive(Serialize, Debug)]
pub struct Shapes {
    /// The form.
    pub form: String,
    /// As the manual would write it.
    pub syntax: String,
    /// What it needs.
    pub needs: String,
    /// Whether ptxas takes it though the manual does not have it.
    pub undocumented: bool,
}

/// What a slot or operand may be, in some of the shapes.
#[derive(Serialize, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The slot's or operand's name.
    pub name: &'static str,
    /// The numbers of the shapes that this is about.
    pub forms: Vec<usize>,
    /// What the slot as a whole needs; what an operand may be.
    pub text: String,
    /// The modifiers that a slot may hold, with what they need.
    pub alternatives: Vec<String>,
}

/// The instructions that match `pattern`, best first: the one of that very name; else those with it in
/// their name, their family or a modifier; else the one that it is a spelling of; else those whose
/// description has the words.
pub fn search(pattern: &str) -> Vec<&'static Op> {
    let pattern = pattern.trim();
    let lower = pattern.to_ascii_lowercase();
    let select =
        |wanted: &dyn Fn(&Op) -> bool| -> Vec<&'static Op> { OPS.iter().filter(|op| wanted(op)).collect() };
    let has_modifier = |op: &Op| {
        let mut slots = op.rows.iter().flat_map(|row| row.slots).flat_map(|slot| slot.alternatives);
        pattern.starts_with('.') && slots.any(|alternative| alternative.modifier.text() == pattern)
    };
    let mut exact = select(&|op| op.name == pattern);
    if !exact.is_empty() {
        // What its name leads belongs on the same page.
        let prefix = format!("{pattern}.");
        exact.extend(select(&|op| op.name.starts_with(&prefix)));
        return exact;
    }
    let spelled = spelled(&lower);
    let levels: [&dyn Fn(&Op) -> bool; 4] = [
        &|op| op.family == lower || op.name.to_ascii_lowercase().contains(&lower),
        &has_modifier,
        &|op| spelled.is_some_and(|spelled| spelled.name == op.name),
        &|op| lower.split_whitespace().all(|word| op.text.to_ascii_lowercase().contains(word)),
    ];
    levels.iter().map(|level| select(level)).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The instruction that `opcode` is a spelling of: the longest name that leads it, if all that follows
/// are modifiers.
fn spelled(opcode: &str) -> Option<&'static Op> {
    let rest = |op: &Op| opcode.strip_prefix(op.name).filter(|rest| rest.starts_with('.'));
    let op = OPS.iter().filter(|op| rest(op).is_some()).max_by_key(|op| op.name.len())?;
    let mut words = rest(op)?.split('.').skip(1);
    words.all(|word| Mod::from_text(&format!(".{word}")).is_some()).then_some(op)
}

impl Page {
    /// The page of `op`.
    pub fn new(op: &'static Op) -> Page {
        let mut slots = Vec::new();
        let mut operands = Vec::new();
        for (row, number) in op.rows.iter().zip(1..) {
            for slot in row.slots.iter().filter(|slot| says_something(slot)) {
                let (text, alternatives) = describe::slot(slot);
                add(&mut slots, slot.name, number, text, alternatives);
            }
            for operand in row.operands {
                operand_entries(row, operand, number, &mut operands);
            }
        }
        let forms = op.rows.iter().map(|row| Shapes {
            form: format!("{:?}", row.form),
            syntax: describe::signature(op, row),
            needs: describe::gate(row.gate),
            undocumented: row.undocumented,
        });
        Page {
            name: op.name,
            text: op.text,
            family: op.family,
            section: op.section,
            partial: op.open,
            forms: forms.collect(),
            slots,
            operands,
        }
    }
}

/// A literal modifier needs no entry, unless it has a gate or default of its own.
fn says_something(slot: &Slot) -> bool {
    let only = slot.alternatives.len() == 1 && slot.alternatives[0].gate == GateId::ALWAYS;
    !only || slot.gate != GateId::ALWAYS || slot.default.is_some()
}

fn operand_entries(row: &Row, operand: &Operand, number: usize, out: &mut Vec<Entry>) {
    match &operand.shape {
        Shape::Pair(first, second, _) => {
            operand_entries(row, first, number, out);
            operand_entries(row, second, number, out);
        }
        shape => {
            let text = describe::operand_kind(row, operand);
            if !text.is_empty() {
                add(out, operand.arg.text(), number, text, Vec::new());
            }
            if let Shape::Compound(_, parts) = shape {
                parts.iter().for_each(|part| operand_entries(row, part, number, out));
            }
        }
    }
}

fn add(out: &mut Vec<Entry>, name: &'static str, form: usize, text: String, alternatives: Vec<String>) {
    let same =
        |entry: &&mut Entry| entry.name == name && entry.text == text && entry.alternatives == alternatives;
    match out.iter_mut().find(same) {
        Some(entry) if entry.forms.last() == Some(&form) => {}
        Some(entry) => entry.forms.push(form),
        None => {
            // Entries of one name stand together.
            let behind = out.iter().rposition(|entry| entry.name == name).map_or(out.len(), |at| at + 1);
            out.insert(behind, Entry { name, forms: vec![form], text, alternatives });
        }
    }
}

/// The pages as one JSON document, `mbar.forms/1`.
pub fn json(pages: &[Page]) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        instructions: &'a [Page],
    }
    let document = Document { schema: "mbar.forms/1", instructions: pages };
    format!("{}\n", serde_json::to_string(&document).unwrap_or_default())
}

/// Names and what they do, by family.
pub fn index(pages: &[Page], style: Style) -> String {
    let mut families: Vec<&str> = pages.iter().map(|page| page.family).collect();
    families.sort_unstable();
    families.dedup();
    let width = pages.iter().map(|page| page.name.len()).max().unwrap_or(0).min(40);
    let mut out = String::new();
    for family in families {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("{}\n", style.heading(family)));
        for page in pages.iter().filter(|page| page.family == family) {
            let name = format!("  {:width$}  ", page.name);
            wrapped(&mut out, &name, words(page.text), width + 4, style);
        }
    }
    out.push_str("\n`mbar forms NAME` shows an instruction's forms.\n");
    out
}

/// The pages in full.
pub fn text(pages: &[Page], style: Style) -> String {
    let mut out = String::new();
    for page in pages {
        if !out.is_empty() {
            out.push('\n');
        }
        page_text(page, style, &mut out);
    }
    out
}

fn page_text(page: &Page, style: Style, out: &mut String) {
    let section = match page.section {
        "" => String::new(),
        section => format!("  (PTX ISA §{section}, {})", page.family),
    };
    out.push_str(&format!("{}{section}\n", style.heading(page.name)));
    wrapped(out, "  ", words(page.text), 2, style);
    if page.forms.is_empty() {
        out.push_str("  Known by name only: its modifiers and operands are neither described nor checked.\n");
        return;
    }
    if page.partial {
        out.push_str("  Described in part: what is not listed here is not checked.\n");
    }
    out.push('\n');
    let numbered = page.forms.len() > 1;
    for (form, number) in page.forms.iter().zip(1..) {
        form_text(form, numbered.then_some(number), style, out);
    }
    let names = page.slots.iter().chain(&page.operands).map(|entry| entry.name.len());
    let width = names.max().unwrap_or(0).min(28);
    for entries in [&page.slots, &page.operands] {
        if !entries.is_empty() {
            out.push('\n');
        }
        let mut last = "";
        for entry in entries {
            entry_text(entry, entry.name == last, page.forms.len(), width, style, out);
            last = entry.name;
        }
    }
}

fn form_text(form: &Shapes, number: Option<usize>, style: Style, out: &mut String) {
    let lead = number.map_or("  ".to_string(), |number| format!("  {number:>2}  "));
    let indent = lead.len() + 4;
    let mut needs = form.needs.clone();
    if form.undocumented {
        needs.push_str(if needs.is_empty() { "not in the manual" } else { "; not in the manual" });
    }
    let whole = format!("{lead}{}", form.syntax);
    let note = if needs.is_empty() { String::new() } else { style.faint(&needs) };
    if whole.chars().count() + needs.chars().count() + 3 <= style.width {
        let gap = " ".repeat(style.width - whole.chars().count() - needs.chars().count());
        out.push_str(format!("{whole}{gap}{note}").trim_end());
        out.push('\n');
        return;
    }
    let mut lines = String::new();
    wrapped(&mut lines, &lead, breaks(&form.syntax), indent, style);
    let last = lines.lines().last().map_or(0, |line| line.chars().count());
    let room = style.width.saturating_sub(needs.chars().count());
    if last + 3 > room {
        out.push_str(&format!("{lines}{}{note}", " ".repeat(room.max(indent))));
    } else {
        out.push_str(&format!("{}{}{note}", lines.trim_end(), " ".repeat(room - last)));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
}

/// Alternatives longer than this may be broken within their notes.
const LONG_ALTERNATIVE: usize = 60;

fn entry_text(entry: &Entry, again: bool, forms: usize, width: usize, style: Style, out: &mut String) {
    let name = if again { "" } else { entry.name };
    let lead = format!("  {name:width$}  ");
    let indent = width.max(name.len()) + 4;
    let mut text = entry.text.clone();
    let alternatives = match entry.alternatives.as_slice() {
        // A literal modifier: its name says it.
        [only] if only == entry.name => &[],
        all => all,
    };
    if !text.is_empty() && !alternatives.is_empty() {
        text.push(':');
    }
    let mut parts: Vec<String> = words(&text).map(str::to_string).collect();
    for (index, alternative) in alternatives.iter().enumerate() {
        let bar = if index > 0 { "| " } else { "" };
        let part = format!(" {bar}{alternative}");
        let notes = part.find('(').filter(|_| part.len() > LONG_ALTERNATIVE).unwrap_or(part.len());
        parts.extend(split_before(&part, |c, at| c == ' ' && at > notes).map(str::to_string));
    }
    if entry.forms.len() < forms {
        parts.extend(words(&format!(" [{}]", ranges(&entry.forms))).map(str::to_string));
    }
    wrapped(out, &lead, parts.iter().map(String::as_str), indent, style);
}

/// `1-3, 5`
fn ranges(numbers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let one = |(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    };
    parts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Parts one after the other; a new line, indented, where the next one would not fit. Blanks that a
/// part begins with are left out at the start of a line.
fn wrapped<'a>(
    out: &mut String,
    lead: &str,
    parts: impl Iterator<Item = &'a str>,
    indent: usize,
    style: Style,
) {
    let mut line = lead.to_string();
    let mut empty = true;
    for part in parts {
        if !empty && line.chars().count() + part.chars().count() > style.width {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(indent);
            empty = true;
        }
        line.push_str(if empty { part.trim_start() } else { part });
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The words of a text, each but the first with its blank.
fn words(text: &str) -> impl Iterator<Item = &str> {
    split_before(text, |c, _| c == ' ')
}

/// Where a signature may be broken: before operands, and between modifiers.
fn breaks(syntax: &str) -> impl Iterator<Item = &str> {
    let opcode = syntax.find(' ').unwrap_or(syntax.len());
    let mut depth = 0;
    split_before(syntax, move |c, at| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        let outermost = if c == '{' { depth == 1 } else { depth == 0 };
        if at < opcode { (c == '.' || c == '{') && outermost } else { c == ' ' }
    })
}

fn split_before(text: &str, mut here: impl FnMut(char, usize) -> bool) -> impl Iterator<Item = &str> {
    let cuts: Vec<usize> = text.char_indices().filter(|&(at, c)| here(c, at)).map(|(at, _)| at).collect();
    let starts = std::iter::once(0).chain(cuts.clone());
    let ends = cuts.into_iter().chain(std::iter::once(text.len()));
    starts.zip(ends).map(|(start, end)| &text[start..end]).filter(|part| !part.is_empty())
}

impl Style {
    fn heading(self, text: &str) -> String {
        if self.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
    }

    fn faint(self, text: &str) -> String {
        if self.color { format!("\x1b[2m{text}\x1b[0m") } else { text.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const PLAIN: Style = Style { color: false, width: 100 };

    #[test]
    fn the_exact_name_comes_first() {
        let names: Vec<&str> = search("mbarrier.arrive").iter().map(|op| op.name).collect();
        assert_eq!(names, ["mbarrier.arrive", "mbarrier.arrive.expect_tx"]);
    }

    #[test]
    fn modifiers_and_words_are_found() {
        let modifier = search(".multicast::cluster::all");
        assert_eq!(modifier.len(), 1);
        assert!(!search("pending arrivals").is_empty());
        assert!(search("no such thing at all").is_empty());
    }

    #[test]
    fn a_page_reads_well() {
        let page = Page::new(search("mbarrier.inval")[0]);
        let expected = "\
mbarrier.inval  (PTX ISA §9.7.15.16.13, mbarrier)
  Ends the life of a barrier, so that its memory can be used for something else.

  mbarrier.inval{.space}.b64 [bar]                                                    PTX 7.0, sm_80

  .space  .shared (means .shared::cta) | .shared::cta (PTX 7.8)

  bar     .space (generic without it) address of an mbarrier object
";
        assert_eq!(text(&[page], PLAIN), expected);
    }

    #[test]
    fn every_page_fits_its_width() {
        for op in OPS {
            let text = text(&[Page::new(op)], PLAIN);
            for line in text.lines() {
                assert!(line.chars().count() <= PLAIN.width, "{line}");
            }
        }
    }

    #[test]
    fn signatures_break_between_modifiers_and_before_operands() {
        let parts: Vec<&str> = breaks("a.b{.c.d}{.e}.f [x], y{, z}").collect();
        assert_eq!(parts, ["a", ".b", "{.c.d}", "{.e}", ".f", " [x],", " y{,", " z}"]);
    }
}
