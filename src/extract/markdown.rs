//! PTX in Markdown: blocks between fences whose first word is `ptx`.

use super::template::{Dialect, Piece, Template};
use super::{Asm, Host, Module, Variant, embedded};
use crate::source::Span;

/// Finds the PTX in a text of Markdown.
pub fn scan(text: &str) -> Host {
    let mut host = Host::default();
    let (mut open, mut at): (Option<Block>, u32) = (None, 0);
    for line in text.split_inclusive('\n') {
        let place = Span::new(at, at + line.len() as u32);
        at = place.end;
        open = match open {
            Some(block) if block.fence.is_closed_by(line) => {
                block.finish(&mut host);
                None
            }
            Some(mut block) => {
                block.line(line, place, &mut host);
                Some(block)
            }
            None => {
                comment(line, place, &mut host);
                Fence::new(line).map(|fence| Block { fence, span: place, characters: Vec::new() })
            }
        };
    }
    if let Some(block) = open {
        block.finish(&mut host);
    }
    host
}

/// `<!-- mbar: … -->`
fn comment(line: &str, place: Span, host: &mut Host) {
    let Some(start) = line.find("<!--").filter(|_| line.contains("mbar:")) else { return };
    let Some(end) = line[start..].find("-->") else { return };
    let start = place.start + start as u32;
    host.comments.push(Span::new(start, start + end as u32 + 3));
}

/// What begins a block.
struct Fence<'a> {
    /// Its `` ` `` or `~`.
    marks: &'a str,
    /// How many `>` stand before it.
    quotes: usize,
    is_ptx: bool,
}

impl<'a> Fence<'a> {
    fn new(line: &'a str) -> Option<Fence<'a>> {
        let (quotes, rest) = unquoted(line, usize::MAX);
        let rest = rest.trim_start();
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = rest.trim_start_matches(mark);
        let marks = &rest[..rest.len() - info.len()];
        let word = info.trim().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let is_fence = marks.len() >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then(|| Fence { marks, quotes, is_ptx: word.eq_ignore_ascii_case("ptx") })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let (quotes, rest) = unquoted(line, self.quotes);
        let rest = rest.trim();
        // A quotation ends what stands in it.
        let left = quotes < self.quotes;
        left || rest.starts_with(self.marks) && rest.chars().all(|c| self.marks.starts_with(c))
    }
}

/// The line without the `>` before it, at most `most`; and how many they are.
fn unquoted(line: &str, most: usize) -> (usize, &str) {
    let (mut count, mut rest) = (0, line);
    while let Some(inner) = rest.trim_start().strip_prefix('>').filter(|_| count < most) {
        (count, rest) = (count + 1, inner);
    }
    (count, rest)
}

/// A block that is being read.
struct Block<'a> {
    fence: Fence<'a>,
    span: Span,
    characters: Vec<(char, Span)>,
}

impl Block<'_> {
    fn line(&mut self, line: &str, place: Span, host: &mut Host) {
        self.span.end = place.end;
        if !self.fence.is_ptx {
            return;
        }
        let (_, rest) = unquoted(line, self.fence.quotes);
        let start = place.end - rest.len() as u32;
        self.characters.extend(rest.char_indices().map(|(at, c)| {
            let at = start + at as u32;
            (c, Span::new(at, at + c.len_utf8() as u32))
        }));
        if let Some(comment) = rest.find("//").filter(|at| rest[*at..].contains("mbar:")) {
            let end = start + rest.trim_end().len() as u32;
            host.comments.push(Span::new(start + comment as u32, end));
        }
    }

    fn finish(self, host: &mut Host) {
        if !self.fence.is_ptx {
            return;
        }
        let template = Template::new(&[Piece::Literal(self.characters)], Dialect::Plain, &|_| None);
        if embedded::is_module(&template.text) {
            let whole = !embedded::is_pattern(&template.text);
            host.modules.extend(whole.then_some(Module { span: self.span, template }));
        } else if !is_sketch(&template.text) {
            let variant = Variant { excerpt: true, ..Variant::ordered(template, Some(Vec::new())) };
            host.statements.push(Asm::ordered(self.span, None, vec![variant]));
        }
    }
}

/// Whether the text shows how something is written, or leaves something out, so that it is not meant to be
/// assembled as it stands; or is a function, which needs a module around it.
fn is_sketch(text: &str) -> bool {
    ["{.", "{::", "{,", "{!", "[,", "...", "…", ".entry", ".func", ".version", ".target", "<", "|"]
        .iter()
        .any(|sign| text.contains(sign))
}
