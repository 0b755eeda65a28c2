//! Tokens, and the slice of them that the nom parsers take as their input.

use std::cell::RefCell;
use std::iter::{Copied, Enumerate};
use std::slice::Iter;

use nom::Needed;
use nom::error::{ErrorKind, ParseError};

use super::names::Symbol;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    /// End of the file.
    Eof,
    /// An identifier.
    Ident,
    /// `_`
    Underscore,
    /// `WARP_SZ`
    WarpSize,
    /// `.word(::word)*`
    Word,
    /// An integer literal.
    Int,
    /// A decimal double, `1.5`.
    Float,
    /// `0f3F800000`
    F32,
    /// `0d3FF0000000000000`
    F64,
    /// A misspelt number; the lexer has reported it.
    BadNumber,
    /// A string, quotes included.
    String,
    /// Something that is no token; the lexer has reported it.
    Bad,
    LBrace,
    RBrace,
    LBracket,
    RBracket,
    LParen,
    RParen,
    Comma,
    Semi,
    Colon,
    At,
    Question,
    /// A dot with nothing behind it.
    Dot,
    Bang,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Amp,
    AmpAmp,
    Pipe,
    PipePipe,
    Caret,
    Tilde,
    Lt,
    Le,
    Shl,
    Gt,
    Ge,
    Shr,
    Eq,
    EqEq,
    Ne,
}

/// A token in 12 bytes.
#[derive(Clone, Copy)]
pub(super) struct Token {
    pub start: u32,
    pub end: u32,
    symbol: u32,
}

/// The kind takes the low bits of [`Token::symbol`], the symbol the rest: 2^26 distinct identifiers.
const KIND_BITS: u32 = 6;
/// Not interned.
const NO_SYMBOL: u32 = u32::MAX >> KIND_BITS;

const KINDS: [Kind; 46] = [
    Kind::Eof,
    Kind::Ident,
    Kind::Underscore,
    Kind::WarpSize,
    Kind::Word,
    Kind::Int,
    Kind::Float,
    Kind::F32,
    Kind::F64,
    Kind::BadNumber,
    Kind::String,
    Kind::Bad,
    Kind::LBrace,
    Kind::RBrace,
    Kind::LBracket,
    Kind::RBracket,
    Kind::LParen,
    Kind::RParen,
    Kind::Comma,
    Kind::Semi,
    Kind::Colon,
    Kind::At,
    Kind::Question,
    Kind::Dot,
    Kind::Bang,
    Kind::Plus,
    Kind::Minus,
    Kind::Star,
    Kind::Slash,
    Kind::Percent,
    Kind::Amp,
    Kind::AmpAmp,
    Kind::Pipe,
    Kind::PipePipe,
    Kind::Caret,
    Kind::Tilde,
    Kind::Lt,
    Kind::Le,
    Kind::Shl,
    Kind::Gt,
    Kind::Ge,
    Kind::Shr,
    Kind::Eq,
    Kind::EqEq,
    Kind::Ne,
    Kind::Eof,
];

impl Token {
    pub fn new(kind: Kind, start: usize, end: usize) -> Self {
        let symbol = NO_SYMBOL << KIND_BITS | kind as u32;
        Token { start: start as u32, end: end as u32, symbol }
    }

    /// A token whose text is interned.
    pub fn named(kind: Kind, start: usize, end: usize, symbol: Symbol) -> Self {
        let symbol = symbol.0 << KIND_BITS | kind as u32;
        Token { start: start as u32, end: end as u32, symbol }
    }

    pub fn kind(self) -> Kind {
        KINDS[((self.symbol & ((1 << KIND_BITS) - 1)) as usize).min(KINDS.len() - 1)]
    }

    pub fn symbol(self) -> Option<Symbol> {
        let symbol = self.symbol >> KIND_BITS;
        (symbol != NO_SYMBOL).then_some(Symbol(symbol))
    }

    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// More diagnostics than this help nobody, and would cost more memory than the file.
pub(super) const MAX_DIAGNOSTICS: usize = 10_000;

/// What all parsers of one file share.
pub(super) struct Context<'a> {
    pub text: &'a str,
    diagnostics: RefCell<Vec<Diagnostic>>,
}

impl<'a> Context<'a> {
    pub fn new(text: &'a str, diagnostics: Vec<Diagnostic>) -> Self {
        Context { text, diagnostics: RefCell::new(diagnostics) }
    }

    pub fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or("")
    }

    #[cold]
    pub fn report(&self, diagnostic: Diagnostic) {
        let mut diagnostics = self.diagnostics.borrow_mut();
        if diagnostics.len() < MAX_DIAGNOSTICS {
            diagnostics.push(diagnostic);
        }
    }

    /// Whether something behind `end` has been reported.
    pub fn reported_behind(&self, end: u32) -> bool {
        self.diagnostics.borrow().iter().any(|diagnostic| {
            let span = diagnostic.span;
            span.start >= end && span.end > span.start
        })
    }

    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics.into_inner();
        diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
        diagnostics
    }
}

/// The rest of the tokens; the parsers' input.
#[derive(Clone, Copy)]
pub(super) struct Tokens<'a> {
    /// Never without the [`Kind::Eof`] at its end, unless nom cut it.
    pub tokens: &'a [Token],
    pub context: &'a Context<'a>,
}

impl<'a> Tokens<'a> {
    /// The token `ahead` tokens from here.
    pub fn peek_at(self, ahead: usize) -> Token {
        match self.tokens.get(ahead) {
            Some(&token) => token,
            None => Token::new(Kind::Eof, self.context.text.len(), self.context.text.len()),
        }
    }

    pub fn peek(self) -> Token {
        self.peek_at(0)
    }

    pub fn kind(self) -> Kind {
        self.peek().kind()
    }

    /// The input behind the next token. The end of the file is never passed.
    pub fn advance(self) -> Self {
        match self.tokens {
            [first, rest @ ..] if first.kind() != Kind::Eof => Tokens { tokens: rest, ..self },
            _ => self,
        }
    }

    pub fn slice(self, span: Span) -> &'a str {
        self.context.slice(span)
    }

    /// The text of the next token.
    pub fn text(self) -> &'a str {
        self.slice(self.peek().span())
    }

    pub fn report(self, diagnostic: Diagnostic) {
        self.context.report(diagnostic);
    }
}

/// An error of the parsers. As `nom::Err::Error` it means "not this, nothing was reported", as
/// `nom::Err::Failure` "a diagnostic was reported".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unparsed;

impl ParseError<Tokens<'_>> for Unparsed {
    fn from_error_kind(_: Tokens<'_>, _: ErrorKind) -> Self {
        Unparsed
    }

    fn append(_: Tokens<'_>, _: ErrorKind, other: Self) -> Self {
        other
    }
}

pub(super) type PResult<'a, T> = nom::IResult<Tokens<'a>, T, Unparsed>;

/// "A diagnostic was reported, give up this statement."
pub(super) const GAVE_UP: nom::Err<Unparsed> = nom::Err::Failure(Unparsed);

/// The parser of one token of kind `kind`.
pub(super) fn token<'a>(kind: Kind) -> impl Fn(Tokens<'a>) -> PResult<'a, Token> {
    move |input| match input.peek() {
        token if token.kind() == kind => Ok((input.advance(), token)),
        _ => Err(nom::Err::Error(Unparsed)),
    }
}

impl<'a> nom::Input for Tokens<'a> {
    type Item = Token;
    type Iter = Copied<Iter<'a, Token>>;
    type IterIndices = Enumerate<Self::Iter>;

    fn input_len(&self) -> usize {
        self.tokens.len()
    }

    fn take(&self, index: usize) -> Self {
        Tokens { tokens: &self.tokens[..index], ..*self }
    }

    fn take_from(&self, index: usize) -> Self {
        Tokens { tokens: &self.tokens[index..], ..*self }
    }

    fn take_split(&self, index: usize) -> (Self, Self) {
        (self.take_from(index), self.take(index))
    }

    fn position<P: Fn(Token) -> bool>(&self, predicate: P) -> Option<usize> {
        self.tokens.iter().position(|&token| predicate(token))
    }

    fn iter_elements(&self) -> Self::Iter {
        self.tokens.iter().copied()
    }

    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, Needed> {
        match count.checked_sub(self.tokens.len()) {
            None | Some(0) => Ok(count),
            Some(missing) => Err(Needed::new(missing)),
        }
    }
}
