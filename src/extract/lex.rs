//! The words of C, C++ and CUDA text, as far as they matter for finding strings and their surroundings.

use crate::source::Span;

/// What a word is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An identifier or keyword.
    Name,
    /// A number.
    Number,
    /// A string literal, prefix and quotes included.
    Text,
    /// A character literal.
    Character,
    /// Any other character.
    Punctuation(u8),
    /// A line of the preprocessor, all of it; of `#define` only the name and the parameters.
    Directive(Directive),
    /// The end of a `#define`.
    DefineEnd,
    /// The end of the text.
    End,
}

/// The directives of the preprocessor that matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Directive {
    /// `#if`
    If,
    /// `#ifdef`
    Ifdef,
    /// `#ifndef`
    Ifndef,
    /// `#elif` (`#elifdef` and `#elifndef`, too)
    Elif,
    /// `#else`
    Else,
    /// `#endif`
    Endif,
    /// `#define`
    Define,
    /// `#undef`
    Undef,
    /// Any other.
    Other,
}

/// A word and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What.
    pub kind: Kind,
    /// Where.
    pub span: Span,
}

impl Token {
    /// Whether it is the character `byte`.
    pub fn is(self, byte: u8) -> bool {
        self.kind == Kind::Punctuation(byte)
    }
}

/// Reads words one after the other. Cloning it remembers a place.
#[derive(Clone)]
pub struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Nothing but blanks stands before this place on its line.
    line_start: bool,
    in_define: bool,
}

/// The line comments of a text that speak to this program.
pub fn comments(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    // Hardly any text has one.
    if text.contains("mbar:") {
        let mut lexer = Lexer::new(text);
        while lexer.read_noting(&mut |comment| found.push(comment)).kind != Kind::End {}
        found.retain(|span| text[span.range()].contains("mbar:"));
    }
    found
}

impl<'a> Lexer<'a> {
    /// For a whole text.
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer::within(text, Span::new(0, text.len() as u32))
    }

    /// For a part of a text.
    pub fn within(text: &'a str, span: Span) -> Lexer<'a> {
        let (text, at) = (&text[..span.end as usize], span.start as usize);
        Lexer { text, bytes: text.as_bytes(), at, line_start: true, in_define: false }
    }

    /// The text under a span.
    pub fn slice(&self, span: Span) -> &'a str {
        &self.text[span.range()]
    }

    /// Whether the words that follow belong to a `#define`.
    pub fn in_define(&self) -> bool {
        self.in_define
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn token(&self, kind: Kind, start: usize) -> Token {
        Token { kind, span: Span::new(start as u32, self.at as u32) }
    }

    /// The next word.
    pub fn read(&mut self) -> Token {
        self.read_noting(&mut |_| {})
    }

    /// The next word; tells the line comments before it.
    fn read_noting(&mut self, comment: &mut dyn FnMut(Span)) -> Token {
        loop {
            let start = self.at;
            let Some(&byte) = self.bytes.get(start) else {
                let kind = if self.in_define { Kind::DefineEnd } else { Kind::End };
                self.in_define = false;
                return self.token(kind, start);
            };
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.line_start = true;
                    if std::mem::take(&mut self.in_define) {
                        return self.token(Kind::DefineEnd, start);
                    }
                }
                _ if byte.is_ascii_whitespace() => self.at += 1,
                b'\\' if self.continuation() > 0 => self.at += self.continuation(),
                b'/' if self.peek(1) == b'/' => comment(self.line_comment()),
                b'/' if self.peek(1) == b'*' => self.block_comment(),
                b'#' if self.line_start && !self.in_define => return self.directive(comment),
                _ => {
                    self.line_start = false;
                    return self.word(byte);
                }
            }
        }
    }

    /// The length of a `\` at the end of a line together with that end; 0 where there is none.
    fn continuation(&self) -> usize {
        match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'\\', b'\n', _) => 2,
            (b'\\', b'\r', b'\n') => 3,
            _ => 0,
        }
    }

    fn line_comment(&mut self) -> Span {
        let start = self.at;
        self.skip_line();
        Span::new(start as u32, self.at as u32)
    }

    /// Goes to the end of the line; a `\` there joins the next one.
    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            self.at += self.continuation().max(1);
        }
    }

    fn block_comment(&mut self) {
        let rest = &self.bytes[self.at + 2..];
        let end = rest.windows(2).position(|pair| pair == b"*/");
        self.at = end.map_or(self.bytes.len(), |end| self.at + end + 4);
    }

    fn word(&mut self, byte: u8) -> Token {
        let start = self.at;
        match byte {
            b'"' => self.string(start),
            b'\'' => {
                self.quoted(b'\'');
                self.token(Kind::Character, start)
            }
            b'0'..=b'9' => {
                self.number();
                self.token(Kind::Number, start)
            }
            _ if starts_name(byte) => {
                self.name();
                match &self.bytes[start..self.at] {
                    b"R" | b"LR" | b"uR" | b"UR" | b"u8R" if self.peek(0) == b'"' => self.raw_string(start),
                    b"L" | b"u" | b"U" | b"u8" if self.peek(0) == b'"' => self.string(start),
                    _ => self.token(Kind::Name, start),
                }
            }
            _ => {
                self.at += 1;
                self.token(Kind::Punctuation(byte), start)
            }
        }
    }

    fn name(&mut self) {
        while continues_name(self.peek(0)) {
            self.at += 1;
        }
    }

    fn number(&mut self) {
        loop {
            match self.peek(0) {
                b'e' | b'E' | b'p' | b'P' if matches!(self.peek(1), b'+' | b'-') => self.at += 2,
                b'\'' if self.peek(1).is_ascii_alphanumeric() => self.at += 2,
                b'.' => self.at += 1,
                byte if continues_name(byte) => self.at += 1,
                _ => return,
            }
        }
    }

    fn string(&mut self, start: usize) -> Token {
        self.quoted(b'"');
        self.token(Kind::Text, start)
    }

    /// Passes a literal; one without its end stops at the end of the line.
    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'\\' => self.at += self.continuation().max(2),
                b'\n' => return,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return;
                    }
                }
            }
        }
        self.at = self.bytes.len();
    }

    /// `R"delimiter(…)delimiter"`
    fn raw_string(&mut self, start: usize) -> Token {
        let open = self.at + 1;
        let length = self.bytes[open..].iter().take(17).position(|&byte| byte == b'(');
        let Some(length) = length else { return self.string(start) };
        let delimiter = &self.bytes[open..open + length];
        let body = open + length + 1;
        let closes = |at: &usize| {
            let rest = &self.bytes[*at..];
            rest[0] == b')' && rest[1..].starts_with(delimiter) && rest.get(1 + length) == Some(&b'"')
        };
        let end = (body..self.bytes.len()).find(closes);
        self.at = end.map_or(self.bytes.len(), |end| end + length + 2);
        self.line_start = false;
        self.token(Kind::Text, start)
    }

    fn directive(&mut self, comment: &mut dyn FnMut(Span)) -> Token {
        let start = self.at;
        self.at += 1;
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        let word = self.at;
        self.name();
        let directive = match &self.bytes[word..self.at] {
            b"if" => Directive::If,
            b"ifdef" => Directive::Ifdef,
            b"ifndef" => Directive::Ifndef,
            b"elif" | b"elifdef" | b"elifndef" => Directive::Elif,
            b"else" => Directive::Else,
            b"endif" => Directive::Endif,
            b"define" => Directive::Define,
            b"undef" => Directive::Undef,
            _ => Directive::Other,
        };
        match directive {
            Directive::Define => {
                self.define_head();
                self.in_define = true;
            }
            _ => self.directive_end(comment),
        }
        self.token(Kind::Directive(directive), start)
    }

    /// Goes to the end of a directive; a comment that begins on its line belongs to it.
    fn directive_end(&mut self, comment: &mut dyn FnMut(Span)) {
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => self.block_comment(),
                (b'/', b'/') => comment(self.line_comment()),
                _ => self.at += self.continuation().max(1),
            }
        }
    }

    /// ` NAME` or ` NAME(a, b)`
    fn define_head(&mut self) {
        while matches!(self.peek(0), b' ' | b'\t') || self.continuation() > 0 {
            self.at += self.continuation().max(1);
        }
        self.name();
        if self.peek(0) == b'(' {
            while self.at < self.bytes.len() && !matches!(self.peek(0), b')' | b'\n') {
                self.at += self.continuation().max(1);
            }
            self.at += usize::from(self.peek(0) == b')');
        }
        self.at = self.at.min(self.bytes.len());
    }
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn continues_name(byte: u8) -> bool {
    starts_name(byte) || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut lexer = Lexer::new(text);
        let mut words = Vec::new();
        loop {
            let token = lexer.read();
            match token.kind {
                Kind::End => return words,
                Kind::DefineEnd => words.push("<end>"),
                _ => words.push(lexer.slice(token.span)),
            }
        }
    }

    #[test]
    fn strings_are_whole() {
        assert_eq!(words(r#"f("a\"b" 'c' L"d")"#), ["f", "(", r#""a\"b""#, "'c'", "L\"d\"", ")"]);
        assert_eq!(words("R\"(a)b\" + 1)\" x"), ["R\"(a)b\" + 1)\"", "x"]);
        assert_eq!(words("R\"x(a)\"b)x\" y"), ["R\"x(a)\"b)x\"", "y"]);
        assert_eq!(words("1'000 0x1.8p-3 a"), ["1'000", "0x1.8p-3", "a"]);
        assert_eq!(words("\"no end\nx"), ["\"no end", "x"]);
        assert_eq!(words("\"no end \\"), ["\"no end \\"]);
    }

    #[test]
    fn comments_are_no_words() {
        assert_eq!(words("a // b \"\n c /* d \" */ e"), ["a", "c", "e"]);
        assert_eq!(words("a // b \\\n still\nc"), ["a", "c"]);
        assert_eq!(words("a /* no end"), ["a"]);
    }

    #[test]
    fn directives_are_words_and_definitions_have_an_end() {
        assert_eq!(words("#if A \\\n && B // why\nx\n#endif"), ["#if A \\\n && B // why", "x", "#endif"]);
        let define = "#define F(a, b) g(a) \\\n  h\nx";
        assert_eq!(words(define), ["#define F(a, b)", "g", "(", "a", ")", "h", "<end>", "x"]);
        assert_eq!(words("#define EMPTY\nx"), ["#define EMPTY", "<end>", "x"]);
        assert_eq!(words("a # b"), ["a", "#", "b"]);
    }
}
