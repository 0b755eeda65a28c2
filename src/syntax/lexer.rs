//! Text to tokens: one pass over the bytes, with every lexical error reported on the way.

use super::names::Names;
use super::number;
use super::rules::{BAD_LITERAL, SYNTAX_ERROR};
use super::token::{Kind, MAX_DIAGNOSTICS, Token};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::source::Span;

/// What the lexer makes of a file.
pub(super) struct Lexed {
    /// Ends in [`Kind::Eof`].
    pub tokens: Vec<Token>,
    pub names: Names,
    /// Comments and preprocessor line markers.
    pub comments: Vec<Span>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Splits `text` into tokens (PTX ISA §4.2 to §4.5).
pub(super) fn lex(text: &str) -> Lexed {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
        opcode_goes_on: false,
        out: Lexed {
            tokens: Vec::with_capacity(text.len() / 32 + 8),
            names: Names::default(),
            comments: Vec::new(),
            diagnostics: Vec::new(),
        },
    };
    lexer.run();
    lexer.out
}

/// What a byte can begin or be part of.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    /// Nothing of PTX.
    None,
    Blank,
    Newline,
    Letter,
    Digit,
    /// `_` and `$`.
    Sigil,
    /// `%`
    Percent,
    Dot,
    Punctuation,
    Slash,
    Quote,
    Hash,
}

const fn class_of(byte: u8) -> Class {
    match byte {
        b' ' | b'\t' | b'\r' => Class::Blank,
        b'\n' => Class::Newline,
        b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
        b'0'..=b'9' => Class::Digit,
        b'_' | b'$' => Class::Sigil,
        b'%' => Class::Percent,
        b'.' => Class::Dot,
        b'/' => Class::Slash,
        b'"' => Class::Quote,
        b'#' => Class::Hash,
        b'{' | b'}' | b'[' | b']' | b'(' | b')' | b',' | b';' | b':' | b'@' | b'?' | b'!' | b'+' | b'-'
        | b'*' | b'&' | b'|' | b'^' | b'~' | b'<' | b'>' | b'=' => Class::Punctuation,
        _ => Class::None,
    }
}

static CLASSES: [Class; 256] = {
    let mut table = [Class::None; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = class_of(byte as u8);
        byte += 1;
    }
    table
};

/// Whether `byte` can continue an identifier.
pub(super) fn continues_name(byte: u8) -> bool {
    matches!(CLASSES[byte as usize], Class::Letter | Class::Digit | Class::Sigil)
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// The last token is an identifier or belongs to its `.words`, so that `.1d` here is a modifier
    /// and no number.
    opcode_goes_on: bool,
    out: Lexed,
}

impl Lexer<'_> {
    fn run(&mut self) {
        // Program strings of the driver API end in a NUL.
        while let [rest @ .., 0] = self.bytes {
            self.bytes = rest;
        }
        if self.bytes.starts_with("\u{feff}".as_bytes()) {
            self.byte_order_mark();
        }
        while let Some(&byte) = self.bytes.get(self.at) {
            match CLASSES[byte as usize] {
                Class::Blank | Class::Newline => self.at += 1,
                Class::Letter => self.identifier(),
                Class::Dot => self.word(),
                Class::Punctuation => self.punctuation(byte),
                Class::Digit => self.number(),
                Class::Sigil | Class::Percent => self.sigil(byte),
                Class::Slash => self.slash(),
                Class::Quote => self.string(),
                Class::Hash => self.hash(),
                Class::None => self.stray(byte),
            }
        }
        self.push(Kind::Eof, self.bytes.len(), self.bytes.len());
    }

    #[inline]
    fn add(&mut self, token: Token) {
        if self.out.tokens.len() == self.out.tokens.capacity() {
            self.make_room();
        }
        self.out.tokens.push(token);
    }

    /// Makes room for as many tokens as the text so far says will follow: to double the room would waste
    /// memory in a large file.
    #[cold]
    fn make_room(&mut self) {
        let tokens = &mut self.out.tokens;
        let rest = self.bytes.len().saturating_sub(self.at) as u64;
        let expected = (tokens.len() as u64 * rest / self.at.max(1) as u64) as usize;
        tokens.reserve_exact((expected + expected / 16).max(tokens.len() / 8) + 64);
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        self.opcode_goes_on = false;
        self.at = end;
        self.add(Token::new(kind, start, end));
    }

    /// The end of the letters, digits, `_` and `$` from `at` on.
    fn name_end(&self, at: usize) -> usize {
        let rest = &self.bytes[at..];
        at + rest.iter().position(|&b| !continues_name(b)).unwrap_or(rest.len())
    }

    fn identifier(&mut self) {
        let start = self.at;
        let end = self.name_end(start + 1);
        let text = &self.text[start..end];
        let symbol = self.out.names.intern(text);
        let kind = if text == "WARP_SZ" { Kind::WarpSize } else { Kind::Ident };
        self.add(Token::named(kind, start, end, symbol));
        self.at = end;
        self.opcode_goes_on = true;
    }

    fn sigil(&mut self, byte: u8) {
        if continues_name(self.peek(1)) {
            return self.identifier();
        }
        match byte {
            b'%' => self.push(Kind::Percent, self.at, self.at + 1),
            b'_' => {
                let symbol = self.out.names.intern("_");
                self.add(Token::named(Kind::Underscore, self.at, self.at + 1, symbol));
                self.opcode_goes_on = false;
                self.at += 1;
            }
            _ => {
                let span = self.span(1);
                self.report(
                    Diagnostic::new(&SYNTAX_ERROR, span, "a lone `$` is no identifier")
                        .help("write at least one letter, digit, `_` or `$` after it"),
                );
                self.push(Kind::Bad, self.at, self.at + 1);
            }
        }
    }

    /// `.word(::word)*`, or a number such as `.5`.
    fn word(&mut self) {
        let start = self.at;
        let first = self.peek(1);
        if first.is_ascii_digit() && !self.opcode_goes_on {
            let digits = number::scan(&self.bytes[start..]);
            if !continues_name(self.bytes.get(start + digits.length).copied().unwrap_or(0)) {
                return self.push(Kind::Float, start, start + digits.length);
            }
        }
        if !continues_name(first) {
            return self.push(Kind::Dot, start, start + 1);
        }
        let mut end = self.name_end(start + 2);
        while self.bytes[end..].starts_with(b"::")
            && self.bytes.get(end + 2).is_some_and(|&b| continues_name(b))
        {
            end = self.name_end(end + 3);
        }
        // The modifiers of an opcode are interned with it as a whole, by the parser.
        let glued =
            self.opcode_goes_on && self.out.tokens.last().is_some_and(|last| last.end as usize == start);
        if glued {
            self.add(Token::new(Kind::Word, start, end));
        } else {
            let symbol = self.out.names.intern(&self.text[start..end]);
            self.add(Token::named(Kind::Word, start, end, symbol));
        }
        self.at = end;
    }

    fn punctuation(&mut self, byte: u8) {
        let next = self.peek(1);
        let (kind, length) = match (byte, next) {
            (b',', _) => (Kind::Comma, 1),
            (b';', _) => (Kind::Semi, 1),
            (b'[', _) => (Kind::LBracket, 1),
            (b']', _) => (Kind::RBracket, 1),
            (b'{', _) => (Kind::LBrace, 1),
            (b'}', _) => (Kind::RBrace, 1),
            (b'(', _) => (Kind::LParen, 1),
            (b')', _) => (Kind::RParen, 1),
            (b':', _) => (Kind::Colon, 1),
            (b'@', _) => (Kind::At, 1),
            (b'?', _) => (Kind::Question, 1),
            (b'!', b'=') => (Kind::Ne, 2),
            (b'!', _) => (Kind::Bang, 1),
            (b'+', _) => (Kind::Plus, 1),
            (b'-', _) => (Kind::Minus, 1),
            (b'*', _) => (Kind::Star, 1),
            (b'&', b'&') => (Kind::AmpAmp, 2),
            (b'&', _) => (Kind::Amp, 1),
            (b'|', b'|') => (Kind::PipePipe, 2),
            (b'|', _) => (Kind::Pipe, 1),
            (b'^', _) => (Kind::Caret, 1),
            (b'~', _) => (Kind::Tilde, 1),
            (b'<', b'<') => (Kind::Shl, 2),
            (b'<', b'=') => (Kind::Le, 2),
            (b'<', _) => (Kind::Lt, 1),
            (b'>', b'>') => (Kind::Shr, 2),
            (b'>', b'=') => (Kind::Ge, 2),
            (b'>', _) => (Kind::Gt, 1),
            (b'=', b'=') => (Kind::EqEq, 2),
            _ => (Kind::Eq, 1),
        };
        self.push(kind, self.at, self.at + length);
    }

    fn slash(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = match rest.get(1) {
            Some(b'/') => line_length(rest),
            Some(b'*') => match find(&rest[2..], b"*/") {
                Some(inner) => inner + 4,
                None => {
                    let span = self.span(2);
                    self.report(
                        Diagnostic::new(&SYNTAX_ERROR, span, "this comment never ends")
                            .label("opened here")
                            .help("close it with `*/`"),
                    );
                    rest.len()
                }
            },
            _ => return self.push(Kind::Slash, self.at, self.at + 1),
        };
        self.comment(length);
    }

    fn comment(&mut self, length: usize) {
        let span = self.span(length);
        self.out.comments.push(span);
        self.at += length;
        self.opcode_goes_on = false;
    }

    /// A string: everything up to the next quote, on one line, without escapes.
    fn string(&mut self) {
        let start = self.at;
        let mut end = start + 1;
        loop {
            match self.bytes.get(end) {
                Some(b'"') => return self.push(Kind::String, start, end + 1),
                Some(b'\\') if self.bytes.get(end + 1) == Some(&b'"') => {
                    let span = Span::new(end as u32, end as u32 + 2);
                    self.report(
                        Diagnostic::new(&BAD_LITERAL, span, "a string in PTX has no escapes")
                            .note("the `\\` is an ordinary character and the `\"` ends the string")
                            .help("write the string without `\"` inside"),
                    );
                    end += 2;
                }
                Some(b'\n' | b'\r') | None => break,
                Some(_) => end += 1,
            }
        }
        // The statement's `;` is no part of it.
        let line = self.bytes[start..end].trim_ascii_end();
        end = start + line.strip_suffix(b";").unwrap_or(line).len();
        let span = Span::new(start as u32, end as u32);
        self.report(
            Diagnostic::new(&BAD_LITERAL, span, "this string has no closing `\"`")
                .label("opened here")
                .help("close it with `\"` on the same line"),
        );
        self.push(Kind::String, start, end);
    }

    /// `# 1 "file"` and `#line 1 "file"` are kept aside; anything else with `#` is refused.
    fn hash(&mut self) {
        let line_start = self.bytes[..self.at]
            .iter()
            .rev()
            .take_while(|&&b| b != b'\n')
            .all(|&b| CLASSES[b as usize] == Class::Blank);
        let rest = &self.bytes[self.at..];
        let length = line_length(rest);
        let body = self.text[self.at + 1..self.at + length].trim_start_matches([' ', '\t']);
        let word = body.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        let is_marker = word == "line" || word.starts_with(|c: char| c.is_ascii_digit());
        if line_start && is_marker {
            return self.comment(length);
        }
        let span = self.span(1);
        let is_preprocessor = matches!(
            word,
            "define"
                | "include"
                | "if"
                | "ifdef"
                | "ifndef"
                | "elif"
                | "else"
                | "endif"
                | "undef"
                | "pragma"
                | "error"
        );
        let report = if line_start && is_preprocessor {
            Diagnostic::new(&SYNTAX_ERROR, span, format!("`#{word}` is not PTX"))
                .note("the assembler runs no preprocessor; it knows only the line markers `# 1 \"file\"` and `#line 1 \"file\"`")
                .help("run `cpp -P` over the file first, or write the text out")
        } else {
            Diagnostic::new(&SYNTAX_ERROR, span, "`#` does not start a comment").fix(
                Applicability::Safe,
                "write `//`",
                span,
                "//",
            )
        };
        self.report(report);
        self.at += length;
    }

    fn number(&mut self) {
        let rest = &self.bytes[self.at..];
        let number = number::scan(rest);
        let next = rest.get(number.length).copied().unwrap_or(0);
        let good =
            !continues_name(next) && (number.kind != Kind::Int || !number::bad_octal(&rest[..number.length]));
        if good {
            return self.push(number.kind, self.at, self.at + number.length);
        }
        let end = self.name_end(self.at + number.length);
        let text = &self.text[self.at..end];
        let span = self.span(text.len());
        self.report(number::complain(text, span));
        self.push(Kind::BadNumber, self.at, end);
    }

    fn span(&self, length: usize) -> Span {
        Span::new(self.at as u32, (self.at + length) as u32)
    }

    #[cold]
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.out.diagnostics.len() < MAX_DIAGNOSTICS {
            self.out.diagnostics.push(diagnostic);
        }
    }

    fn byte_order_mark(&mut self) {
        let span = self.span(3);
        self.report(
            Diagnostic::new(&SYNTAX_ERROR, span, "the file starts with a byte order mark")
                .label("it stands before the first character")
                .note("PTX is plain ASCII outside comments")
                .fix(Applicability::Safe, "remove the mark (U+FEFF)", span, ""),
        );
        self.at = 3;
    }

    /// A run of characters that are nothing in PTX.
    #[cold]
    fn stray(&mut self, byte: u8) {
        if byte == b'\'' {
            return self.character();
        }
        let rest = &self.text[self.at..self.bytes.len()];
        let is_stray = |c: char| !c.is_ascii() || CLASSES[c as usize] == Class::None;
        let length = match rest.find(|c| !is_stray(c)).unwrap_or(rest.len()).max(1) {
            _ if escape(rest) => 2,
            length => length,
        };
        let run = &rest[..length];
        let span = self.span(length);
        let report = match byte {
            0x0b | 0x0c => Diagnostic::new(
                &SYNTAX_ERROR,
                span,
                if byte == 0x0b {
                    "a vertical tab is no blank in PTX"
                } else {
                    "a form feed is no blank in PTX"
                },
            )
            .fix(Applicability::Safe, "write a space", span, " "),
            0 => Diagnostic::new(&SYNTAX_ERROR, span, "a NUL byte stands inside the file")
                .note("the assembler stops reading here")
                .fix(Applicability::Unsafe, "remove it", span, ""),
            b'\\' if escape(rest) => {
                Diagnostic::new(&SYNTAX_ERROR, span, format!("`{run}` is no blank in PTX"))
                    .label("not a blank")
                    .note("only strings of C and C++ write the end of a line or a tab like this")
                    .fix(Applicability::Safe, "write a space", span, " ")
            }
            b'\\' => Diagnostic::new(&SYNTAX_ERROR, span, "`\\` is nothing in PTX")
                .note("there are no continuation lines: a statement goes on until its `;`")
                .help("remove it"),
            _ if !byte.is_ascii() => {
                Diagnostic::new(&SYNTAX_ERROR, span, format!("`{}` is not ASCII", shorten(run)))
                    .label("not ASCII")
                    .note("outside comments PTX is plain ASCII")
            }
            _ => Diagnostic::new(
                &SYNTAX_ERROR,
                span,
                format!("`{}` is nothing in PTX", shorten(run).escape_debug()),
            ),
        };
        self.report(report);
        if matches!(byte, 0x0b | 0x0c | b'\\') {
            // Only a wrong blank: what stands around it is still readable.
            self.at += length;
        } else {
            self.push(Kind::Bad, self.at, self.at + length);
        }
    }

    /// `'a'`
    fn character(&mut self) {
        let rest = &self.bytes[self.at..];
        if let [b'\'', c @ 0x20..=0x7e, b'\'', ..] = rest {
            let span = self.span(3);
            self.report(Diagnostic::new(&BAD_LITERAL, span, "PTX has no character literals").fix(
                Applicability::Safe,
                format!("write the number `{c}`"),
                span,
                c.to_string(),
            ));
            return self.push(Kind::BadNumber, self.at, self.at + 3);
        }
        let span = self.span(1);
        self.report(
            Diagnostic::new(&BAD_LITERAL, span, "`'` is nothing in PTX")
                .help("write characters as numbers, strings in `\"…\"`"),
        );
        self.push(Kind::Bad, self.at, self.at + 1);
    }
}

/// Whether `rest` begins with `\n`, `\t` or `\r`, spelt out.
fn escape(rest: &str) -> bool {
    matches!(rest.as_bytes(), [b'\\', b'n' | b't' | b'r', ..])
}

/// At most 40 characters of `text`, for a message.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// How many bytes stand before the line's end (without a carriage return there).
fn line_length(rest: &[u8]) -> usize {
    let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    if length > 0 && rest[length - 1] == b'\r' { length - 1 } else { length }
}

fn find(haystack: &[u8], needle: &[u8; 2]) -> Option<usize> {
    haystack.windows(2).position(|pair| pair == needle)
}
