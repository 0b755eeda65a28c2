//! The text of an `asm` statement as the assembler sees it, with a map back to the host's text.

use crate::source::Span;

/// How a template names its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// `%0`, `%[name]`, `%%`, `%=`: C and CUDA.
    Percent,
    /// `$0`, `${0:mode}`, `$$`, `${:uid}`: LLVM, MLIR, Triton.
    Dollar,
    /// `{0}`, `{name}`, `{{`: Rust, and formatted strings.
    Brace,
    /// None: what is written is what the assembler reads.
    Plain,
}

impl Dialect {
    /// Operand number `index`.
    pub fn operand(self, index: usize) -> String {
        match self {
            Dialect::Percent | Dialect::Plain => format!("%{index}"),
            Dialect::Dollar => format!("${index}"),
            Dialect::Brace => format!("{{{index}}}"),
        }
    }

    /// What begins an operand, and is doubled where the text itself is to have it.
    pub fn mark(self) -> Option<char> {
        match self {
            Dialect::Percent => Some('%'),
            Dialect::Dollar => Some('$'),
            Dialect::Brace => Some('{'),
            Dialect::Plain => None,
        }
    }

    /// What gives each copy of the text a number of its own.
    pub fn unique(self) -> Option<&'static str> {
        match self {
            Dialect::Percent => Some("%="),
            Dialect::Dollar => Some("${:uid}"),
            Dialect::Brace | Dialect::Plain => None,
        }
    }
}

/// A character that stands for text that is not known, where code is itself the text of a string.
pub const HOLE: char = '\u{f8ff}';

/// A template as it was written: literals, and what stands between them.
#[derive(Clone, PartialEq, Debug)]
pub enum Piece {
    /// A literal: its characters after escapes are read, each with the host's bytes that it stands for.
    Literal(Vec<(char, Span)>),
    /// Something that only the compiler can tell, such as a macro.
    Splice(Span),
}

/// A place of the text at which something stands that is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hole {
    /// Where in the text; for an operand the text of its reference stands there.
    pub span: Span,
    /// Where in the host.
    pub host: Span,
    /// The operand that is pasted into a word; none: something else.
    pub operand: Option<usize>,
}

/// A reference to an operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// Where in the text.
    pub span: Span,
    /// Which operand.
    pub operand: usize,
    /// As the host spells it, such as `%[bar]` or `$0`.
    pub spelled: String,
}

/// A template, decoded. Operand number N reads `%N` in its text, whatever the dialect.
#[derive(Clone, PartialEq, Debug)]
pub struct Template {
    /// How it names its operands.
    pub dialect: Dialect,
    /// What the assembler reads.
    pub text: String,
    /// Where two literals meet.
    pub joints: Vec<u32>,
    /// What is not known of the text.
    pub holes: Vec<Hole>,
    /// The operands it names.
    pub references: Vec<Reference>,
    /// Where the compiler puts a number of its own, as for `%=`.
    pub unique: Vec<u32>,
    /// Where a `%` stands that is written `%%`.
    pub doubled: Vec<u32>,
    segments: Vec<Segment>,
}

/// Bytes of the text and the bytes of the host that they come from.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Segment {
    start: u32,
    length: u32,
    host: Span,
}

impl Segment {
    /// Whether each byte stands for one of the host.
    fn is_exact(self) -> bool {
        self.length == self.host.end - self.host.start
    }
}

impl Template {
    /// Decodes a template. `name` gives the number of a named operand.
    pub fn new(pieces: &[Piece], dialect: Dialect, name: &dyn Fn(&str) -> Option<usize>) -> Template {
        let mut template = Template::empty(dialect);
        let mut after_literal = false;
        for piece in pieces {
            match piece {
                Piece::Literal(characters) => {
                    if after_literal {
                        template.joints.push(template.end());
                    }
                    Reader { characters, at: 0, dialect, name, template: &mut template }.read();
                    after_literal = true;
                }
                Piece::Splice(host) => {
                    let span = Span::empty(template.end());
                    template.holes.push(Hole { span, host: *host, operand: None });
                    after_literal = false;
                }
            }
        }
        template.find_pasted();
        template
    }

    /// Takes references to `operand` for text that is not known, wherever they stand.
    pub fn hide(&mut self, operand: usize) {
        let is_new = |reference: &&Reference| {
            reference.operand == operand && !self.holes.iter().any(|hole| hole.span == reference.span)
        };
        let hole = |r: &Reference| Hole { span: r.span, host: self.to_host(r.span), operand: None };
        let holes: Vec<Hole> = self.references.iter().filter(is_new).map(hole).collect();
        self.holes.extend(holes);
        self.holes.sort_by_key(|hole| hole.span.start);
    }

    fn empty(dialect: Dialect) -> Template {
        Template {
            dialect,
            text: String::new(),
            joints: Vec::new(),
            holes: Vec::new(),
            references: Vec::new(),
            doubled: Vec::new(),
            unique: Vec::new(),
            segments: Vec::new(),
        }
    }

    /// The same text where its host is itself the text of `outer`.
    pub fn through(&self, outer: &Template) -> Template {
        let mut result = Template { segments: Vec::new(), text: String::new(), ..self.clone() };
        for segment in &self.segments {
            let text = &self.text[segment.start as usize..(segment.start + segment.length) as usize];
            if !segment.is_exact() {
                result.push(text, outer.to_host(segment.host));
                continue;
            }
            for (at, c) in text.char_indices() {
                let start = segment.host.start + at as u32;
                let host = outer.to_host(Span::new(start, start + c.len_utf8() as u32));
                result.push(&text[at..at + c.len_utf8()], host);
            }
        }
        result.holes.iter_mut().for_each(|hole| hole.host = outer.to_host(hole.host));
        result
    }

    fn end(&self) -> u32 {
        self.text.len() as u32
    }

    /// Appends `text`, which stands for `host`.
    fn push(&mut self, text: &str, host: Span) {
        let start = self.end();
        self.text.push_str(text);
        let segment = Segment { start, length: text.len() as u32, host };
        match self.segments.last_mut() {
            Some(last) if last.is_exact() && segment.is_exact() && last.host.end == host.start => {
                last.length += segment.length;
                last.host.end = host.end;
            }
            _ => self.segments.push(segment),
        }
    }

    /// Operands that stand within a word, so that they make a modifier or a label: `.x::%1`.
    fn find_pasted(&mut self) {
        let bytes = self.text.as_bytes();
        let in_word =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let pasted = self.references.iter().filter(|reference| {
            let before = (reference.span.start as usize).checked_sub(1).and_then(|at| bytes.get(at));
            let joined = in_word(before) || matches!(before, Some(b'.' | b':' | b'$'));
            let after = bytes.get(reference.span.end as usize);
            joined || in_word(after) || after == Some(&b'.')
        });
        let host = |span: Span| self.to_host(span);
        let holes: Vec<Hole> =
            pasted.map(|r| Hole { span: r.span, host: host(r.span), operand: Some(r.operand) }).collect();
        self.holes.extend(holes);
        self.holes.sort_by_key(|hole| hole.span.start);
    }

    fn segment_at(&self, at: u32) -> Option<Segment> {
        let index = self.segments.partition_point(|segment| segment.start <= at).checked_sub(1)?;
        Some(self.segments[index])
    }

    /// Where the byte `at` comes from.
    fn byte_to_host(&self, at: u32) -> Span {
        match self.segment_at(at) {
            Some(segment) if segment.is_exact() => {
                let start = segment.host.start + (at - segment.start).min(segment.length);
                Span::new(start, (start + 1).min(segment.host.end.max(start)))
            }
            Some(segment) => segment.host,
            None => Span::default(),
        }
    }

    /// Where `span` of the text stands in the host.
    pub fn to_host(&self, span: Span) -> Span {
        let end = self.end();
        if span.start >= span.end {
            // Behind what stands before it: something is missing there.
            return match span.start.min(end).checked_sub(1) {
                Some(before) => Span::empty(self.byte_to_host(before).end),
                None => Span::empty(self.byte_to_host(0).start),
            };
        }
        let first = self.byte_to_host(span.start.min(end.saturating_sub(1)));
        let last = self.byte_to_host((span.end - 1).min(end.saturating_sub(1)));
        // Of text that is made of several literals the part in the first one.
        if last.end >= first.start { first.to(last) } else { first }
    }

    /// Where `span` stands in the host if both have the same bytes, so that it can be replaced there.
    pub fn to_host_exactly(&self, span: Span) -> Option<Span> {
        let at = if span.start == span.end { span.start.saturating_sub(1) } else { span.start };
        let segment = self.segment_at(at).filter(|segment| segment.is_exact())?;
        let inside = span.end <= segment.start + segment.length;
        inside.then(|| {
            let shift = |at: u32| segment.host.start + (at - segment.start);
            Span::new(shift(span.start.max(segment.start)), shift(span.end))
        })
    }

    /// Whether a number of the compiler's own stands in `span`.
    pub fn is_unique(&self, span: Span) -> bool {
        self.unique.iter().any(|at| (span.start..span.end).contains(at))
    }

    /// Puts blanks in place of the bytes of `span`, so that all places stay as they are.
    pub fn blank(&mut self, span: Span) {
        let span = Span::new(span.start.min(self.end()), span.end.min(self.end()));
        let length = (span.end - span.start) as usize;
        if self.text.is_char_boundary(span.start as usize) && self.text.is_char_boundary(span.end as usize) {
            self.text.replace_range(span.range(), &" ".repeat(length));
        }
    }

    /// The template with the bytes of `span` replaced by `with`, however long that is.
    pub fn replaced(&self, span: Span, with: &str) -> Template {
        let mut result = self.clone();
        let host = self.to_host(span);
        result.text.replace_range(span.range(), with);
        let grown = with.len() as i64 - i64::from(span.end - span.start);
        let moved =
            |at: u32| if at >= span.end { (i64::from(at) + grown) as u32 } else { at.min(span.start) };
        let moved_span = |at: Span| Span::new(moved(at.start), moved(at.end));
        result.segments = Vec::with_capacity(self.segments.len() + 2);
        for &segment in &self.segments {
            result.segments.extend(segment.without(span, &moved));
        }
        let new = Segment { start: span.start, length: with.len() as u32, host };
        let at = result.segments.partition_point(|segment| segment.start < span.start);
        result.segments.insert(at, new);
        result.joints.iter_mut().for_each(|at| *at = moved(*at));
        result.unique.iter_mut().for_each(|at| *at = moved(*at));
        result.doubled.iter_mut().for_each(|at| *at = moved(*at));
        result.references.retain(|reference| reference.span != span);
        result.references.iter_mut().for_each(|reference| reference.span = moved_span(reference.span));
        // What is unknown between two bytes stays when something is inserted there.
        result.holes.retain(|hole| hole.span != span || span.start == span.end);
        result.holes.iter_mut().for_each(|hole| hole.span = moved_span(hole.span));
        result
    }
}

impl Segment {
    /// What is left of it when `cut` is taken out, with the rest moved.
    fn without(self, cut: Span, moved: &dyn Fn(u32) -> u32) -> impl Iterator<Item = Segment> {
        let (start, end) = (self.start, self.start + self.length);
        let exact = self.is_exact();
        let part = |from: u32, to: u32, at: u32| {
            let length = to.checked_sub(from).filter(|length| *length > 0)?;
            let shifted = self.host.start + (from - start);
            let host = if exact { Span::new(shifted, shifted + length) } else { self.host };
            Some(Segment { start: at, length, host })
        };
        let before = part(start, end.min(cut.start), start);
        let from = start.max(cut.end);
        let after = part(from, end.max(from), moved(from));
        before.into_iter().chain(after)
    }
}

/// No statement has so many operands.
const MOST_OPERANDS: usize = 10_000;

/// Reads one literal.
struct Reader<'a> {
    characters: &'a [(char, Span)],
    at: usize,
    dialect: Dialect,
    name: &'a dyn Fn(&str) -> Option<usize>,
    template: &'a mut Template,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).map(|(character, _)| *character)
    }

    /// The host's bytes of `count` characters from here.
    fn host(&self, count: usize) -> Span {
        let last = self.characters[(self.at + count).min(self.characters.len()) - 1].1;
        self.characters[self.at].1.to(last)
    }

    fn read(&mut self) {
        while let Some(&(character, host)) = self.characters.get(self.at) {
            let taken = match (self.dialect, character) {
                (Dialect::Percent, '%') => self.percent(),
                (Dialect::Dollar, '$') => self.dollar(),
                (Dialect::Dollar, '{') => self.placeholder(),
                (Dialect::Brace, '{' | '}') => self.brace(character),
                _ => 0,
            };
            if taken == 0 {
                let mut buffer = [0; 4];
                self.template.push(character.encode_utf8(&mut buffer), host);
                self.at += 1;
            }
            self.at += taken;
        }
    }

    /// Digits from `ahead` on: the number and how many there are.
    fn digits(&self, ahead: usize) -> Option<(usize, usize)> {
        let count = (ahead..).take_while(|&n| self.peek(n).is_some_and(|c| c.is_ascii_digit())).count();
        let text: String = (ahead..ahead + count).filter_map(|n| self.peek(n)).collect();
        let number = text.parse().ok().filter(|number| *number < MOST_OPERANDS)?;
        Some((number, count))
    }

    /// The text from `ahead` up to `end`, which is `count` characters long.
    fn until(&self, ahead: usize, end: char) -> Option<(String, usize)> {
        let count = (ahead..self.characters.len()).take_while(|&n| self.peek(n).is_some_and(|c| c != end));
        let count = count.count();
        (self.peek(ahead + count) == Some(end))
            .then(|| ((ahead..ahead + count).filter_map(|n| self.peek(n)).collect(), count))
    }

    fn plain(&mut self, text: &str, taken: usize) -> usize {
        let host = self.host(taken);
        self.template.push(text, host);
        taken
    }

    fn unique(&mut self, taken: usize) -> usize {
        let at = self.template.end();
        self.template.unique.push(at);
        self.plain("0", taken)
    }

    fn operand(&mut self, operand: usize, taken: usize) -> usize {
        let start = self.template.end();
        let spelled: String = (0..taken).filter_map(|n| self.peek(n)).collect();
        self.plain(&format!("%{operand}"), taken);
        let span = Span::new(start, self.template.end());
        self.template.references.push(Reference { span, operand, spelled });
        taken
    }

    fn splice(&mut self, taken: usize) -> usize {
        let span = Span::empty(self.template.end());
        let host = self.host(taken);
        self.template.holes.push(Hole { span, host, operand: None });
        taken
    }

    fn percent(&mut self) -> usize {
        match self.peek(1) {
            Some('%') => {
                let at = self.template.end();
                self.template.doubled.push(at);
                self.plain("%", 2)
            }
            Some('=') => self.unique(2),
            Some('[') => {
                let Some((name, count)) = self.until(2, ']') else { return 0 };
                let found = (self.name)(&name);
                found.map_or(0, |operand| self.operand(operand, count + 3))
            }
            Some(digit) if digit.is_ascii_digit() => {
                let found = self.digits(1);
                found.map_or(0, |(operand, count)| self.operand(operand, count + 1))
            }
            _ => 0,
        }
    }

    fn dollar(&mut self) -> usize {
        match self.peek(1) {
            Some('$') => self.plain("$", 2),
            Some('{') => {
                let Some((inner, count)) = self.until(2, '}') else { return 0 };
                let number = inner.split(':').next().unwrap_or_default();
                match number.parse() {
                    Ok(operand) => self.operand(operand, count + 3),
                    Err(_) if number.is_empty() => self.unique(count + 3),
                    Err(_) => self.splice(count + 3),
                }
            }
            Some(digit) if digit.is_ascii_digit() => {
                let found = self.digits(1);
                found.map_or(0, |(operand, count)| self.operand(operand, count + 1))
            }
            _ => 0,
        }
    }

    /// `{$r0}`, as operations that give their operands by role have it.
    fn placeholder(&mut self) -> usize {
        let inner = (self.peek(1) == Some('$')).then(|| self.until(1, '}')).flatten();
        let Some((inner, count)) = inner else { return 0 };
        let found = (self.name)(&inner);
        found.map_or(0, |operand| self.operand(operand, count + 2))
    }

    fn brace(&mut self, character: char) -> usize {
        if self.peek(1) == Some(character) {
            return self.plain(if character == '{' { "{" } else { "}" }, 2);
        }
        let inner = (character == '{').then(|| self.until(1, '}')).flatten();
        let Some((inner, count)) = inner else { return 0 };
        let name = inner.split(':').next().unwrap_or_default();
        match name.parse().ok().or_else(|| (self.name)(name)) {
            Some(operand) => self.operand(operand, count + 2),
            None => self.splice(count + 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// A literal at byte 100 of the host, each character one byte.
    fn literal(text: &str) -> Piece {
        Piece::Literal(text.chars().zip(100..).map(|(c, at)| (c, Span::new(at, at + 1))).collect())
    }

    fn decode(text: &str, dialect: Dialect) -> Template {
        Template::new(&[literal(text)], dialect, &|name| (name == "bar").then_some(7))
    }

    #[test]
    fn each_dialect_has_its_escapes() {
        let of = |text, dialect| decode(text, dialect).text;
        assert_eq!(of("mov %0, %%r; L%=: %x %", Dialect::Percent), "mov %0, %r; L0: %x %");
        assert_eq!(of("[%[bar]] %[who]", Dialect::Percent), "[%7] %[who]");
        assert_eq!(of("$0 $$x ${1} ${2:h} L${:uid}", Dialect::Dollar), "%0 $x %1 %2 L0");
        assert_eq!(of("{{ mov {0}, {bar:e}; }} {x}", Dialect::Brace), "{ mov %0, %7; } ");
    }

    #[test]
    fn places_lead_back_to_the_host() {
        let template = decode("ab %% %10 cd", Dialect::Percent);
        assert_eq!(template.text, "ab % %10 cd");
        assert_eq!(template.to_host(Span::new(0, 2)), Span::new(100, 102));
        assert_eq!(template.to_host(Span::new(3, 4)), Span::new(103, 105));
        assert_eq!(template.to_host(Span::new(5, 8)), Span::new(106, 109));
        assert_eq!(template.to_host(Span::empty(2)), Span::empty(102));
        assert_eq!(template.to_host_exactly(Span::new(3, 4)), None);
        assert_eq!(template.to_host_exactly(Span::new(9, 11)), Some(Span::new(110, 112)));
        assert_eq!(template.to_host(Span::new(9, 99)), Span::new(110, 112));
    }

    #[test]
    fn replaced_text_keeps_the_places_of_the_rest() {
        let template = decode("ab::%1 cd %2", Dialect::Percent).replaced(Span::new(4, 6), "longer");
        assert_eq!(template.text, "ab::longer cd %2");
        assert_eq!(template.to_host(Span::new(4, 10)), Span::new(104, 106));
        assert_eq!(template.to_host(Span::new(11, 13)), Span::new(107, 109));
        assert_eq!(template.to_host(Span::new(0, 2)), Span::new(100, 102));
        assert_eq!(template.references.len(), 1);
        assert_eq!(template.references[0].span, Span::new(14, 16));
    }

    #[test]
    fn operands_within_words_are_holes() {
        let holes = |text| decode(text, Dialect::Percent).holes.len();
        assert_eq!(holes("x.y::%1 [%0], %2;"), 1);
        assert_eq!(holes("x.%1.z %0;"), 1);
        assert_eq!(holes("x [%0+4], {%1,%2};@%3 y;"), 0);
        assert_eq!(holes("x.L2::%1B %0;"), 1);
    }
}
