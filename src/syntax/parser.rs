//! The driver: where in the tokens we are, how to run a nom parser there, and how to go on after an
//! error.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use super::ast::Operand;
use super::complain;
use super::declaration;
use super::names::{Names, Symbol};
use super::operand::component;
use super::rules::SYNTAX_ERROR;
use super::token::{Context, Kind, PResult, Token, Tokens};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::source::Span;

/// The state of a parse.
pub(super) struct Parser<'a> {
    pub context: &'a Context<'a>,
    pub tokens: &'a [Token],
    /// Index of the next token.
    pub at: usize,
    pub names: Names,
    /// Spellings of opcodes; a symbol here is an [`super::ast::OpcodeId`].
    pub opcodes: Names,
    pub operands: Vec<Operand>,
    /// The names before a `:`, once asked for.
    pub labels: OnceCell<FxHashSet<Symbol>>,
}

impl<'a> Parser<'a> {
    pub fn input(&self) -> Tokens<'a> {
        Tokens { tokens: &self.tokens[self.at..], context: self.context }
    }

    pub fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    pub fn kind(&self) -> Kind {
        self.peek().kind()
    }

    pub fn kind_at(&self, ahead: usize) -> Kind {
        self.tokens.get(self.at + ahead).map_or(Kind::Eof, |token| token.kind())
    }

    pub fn text(&self) -> &'a str {
        self.context.slice(self.peek().span())
    }

    pub fn text_at(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| self.context.slice(token.span()))
    }

    /// Takes the next token; the end of the file stays.
    pub fn bump(&mut self) -> Token {
        let token = self.peek();
        if token.kind() != Kind::Eof {
            self.at += 1;
        }
        token
    }

    /// The end of the last token taken.
    pub fn end(&self) -> u32 {
        self.at.checked_sub(1).map_or(0, |last| self.tokens[last].end)
    }

    /// From `start` to the last token taken.
    pub fn since(&self, start: u32) -> Span {
        Span::new(start, self.end().max(start))
    }

    /// Runs a nom parser here. None: it failed, and a diagnostic says why.
    #[inline]
    pub fn run<T>(&mut self, parser: impl FnOnce(Tokens<'a>) -> PResult<'a, T>) -> Option<T> {
        let input = self.input();
        match parser(input) {
            Ok((rest, value)) => {
                self.at = self.tokens.len() - rest.tokens.len();
                Some(value)
            }
            Err(nom::Err::Failure(_)) => None,
            Err(_) => {
                complain::unexpected(input, "another word");
                None
            }
        }
    }

    pub fn report(&self, diagnostic: Diagnostic) {
        self.context.report(diagnostic);
    }

    /// Whether the token `ahead` of here is the first of its line.
    pub fn on_new_line(&self, ahead: usize) -> bool {
        let at = self.at + ahead;
        let Some(token) = self.tokens.get(at) else {
            return false;
        };
        let Some(before) = at.checked_sub(1).map(|before| self.tokens[before]) else {
            return true;
        };
        self.context.slice(Span::new(before.end, token.start)).contains('\n')
    }

    /// Whether the next word is a label's name.
    pub fn names_a_label(&self) -> bool {
        let is_label = |pair: &[Token]| pair[1].kind() == Kind::Colon;
        let find =
            || self.tokens.windows(2).filter(|pair| is_label(pair)).filter_map(|pair| pair[0].symbol());
        self.peek()
            .symbol()
            .is_some_and(|symbol| self.labels.get_or_init(|| find().collect()).contains(&symbol))
    }

    /// Whether a statement begins here, seen from within one that has no `;` yet.
    pub fn statement_begins(&self) -> bool {
        if matches!(self.kind(), Kind::RBrace | Kind::Eof) {
            return true;
        }
        self.on_new_line(0)
            && match self.kind() {
                Kind::At => true,
                // `{a, b}` and `{a}` are vectors: operands on a line of their own.
                Kind::LBrace => !matches!(self.kind_at(2), Kind::Comma | Kind::RBrace),
                Kind::Word => component(self.text()).is_none(),
                Kind::Ident => {
                    !self.text().starts_with('%')
                        && !matches!(
                            self.kind_at(1),
                            Kind::Comma | Kind::RBracket | Kind::RParen | Kind::Pipe | Kind::Plus
                        )
                }
                _ => false,
            }
    }

    /// The same, but only for what can hardly be anything else.
    fn statement_surely_begins(&self) -> bool {
        self.on_new_line(0)
            && match self.kind() {
                Kind::At => true,
                Kind::Word => {
                    declaration::begins(self.text())
                        || matches!(self.text(), ".loc" | ".pragma" | ".entry" | ".func" | ".section")
                }
                Kind::Ident if self.text().starts_with('%') => false,
                Kind::Ident => match self.kind_at(1) {
                    Kind::Colon => true,
                    Kind::Word => component(self.text_at(1)).is_none(),
                    Kind::Semi => matches!(self.text(), "ret" | "exit" | "trap"),
                    _ => false,
                },
                _ => false,
            }
    }

    /// Skips what is left of a broken statement: through its `;`, or up to the end of the block or
    /// the line where another statement begins. Vectors and their commas are passed.
    pub fn recover(&mut self) {
        let mut braces = 0u32;
        let first = self.at;
        loop {
            match self.kind() {
                Kind::Eof => return,
                Kind::Semi => {
                    self.bump();
                    return;
                }
                Kind::RBrace if braces == 0 => return,
                Kind::RBrace => braces -= 1,
                Kind::LBrace if self.on_new_line(0) && self.at > first => return,
                Kind::LBrace => braces += 1,
                _ if self.at > first && self.statement_surely_begins() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Takes the `;` of the statement that began at `start`, or says that it is missing.
    pub fn semicolon(&mut self, start: u32) {
        match self.kind() {
            Kind::Semi => {
                self.bump();
            }
            _ if self.statement_begins() => self.missing_semicolon(start),
            _ => {
                complain::unexpected(self.input(), "`;`");
                self.recover();
            }
        }
    }

    /// Reports that the statement from `start` to the last token has no `;`.
    #[cold]
    pub fn missing_semicolon(&self, start: u32) {
        let end = self.end();
        let text = quote(self.context.slice(Span::new(start, end)));
        self.report(
            Diagnostic::new(&SYNTAX_ERROR, Span::empty(end), format!("expected `;` after `{text}`"))
                .label("`;` is missing here")
                .fix(Applicability::Safe, "insert `;`", Span::empty(end), ";"),
        );
    }

    /// Takes a run of `;` that end nothing.
    #[cold]
    pub fn stray_semicolons(&mut self) -> Span {
        let start = self.peek().start;
        while self.kind() == Kind::Semi {
            self.bump();
        }
        let span = self.since(start);
        let before = self.context.text[..start as usize].trim_end().bytes().last();
        let message = match before {
            Some(b'}') => "a `;` stands behind `}`",
            Some(b';') => "a second `;` stands here",
            _ => "a `;` ends nothing here",
        };
        complain::superfluous(self.input(), span, message.to_string(), "remove it");
        span
    }
}

/// A statement's text for a message: on one line, and not too long.
fn quote(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(61));
        if let Some((end, _)) = line.char_indices().nth(60) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}
