//! The parsers' complaints: reported here, in the user's words, so that the grammar stays readable.

use nom::Err;

use super::lexer::shorten;
use super::rules::{SYNTAX_ERROR, UNBALANCED_BRACES};
use super::token::{GAVE_UP, Kind, Tokens, Unparsed};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::source::Span;

/// The next token in words.
fn found(input: Tokens<'_>) -> String {
    match input.kind() {
        Kind::Eof => "the end of the file".to_string(),
        _ => format!("`{}`", shorten(input.text())),
    }
}

/// Something else stands where `expected` should.
#[cold]
pub(super) fn unexpected(input: Tokens<'_>, expected: &str) -> Err<Unparsed> {
    unexpected_with(input, expected, |diagnostic| diagnostic)
}

/// The same, with more to say.
#[cold]
pub(super) fn unexpected_with(
    input: Tokens<'_>,
    expected: &str,
    more: impl FnOnce(Diagnostic) -> Diagnostic,
) -> Err<Unparsed> {
    // What is no token has been reported by the lexer.
    if !matches!(input.kind(), Kind::Bad | Kind::BadNumber) {
        let message = format!("expected {expected}, found {}", found(input));
        let diagnostic = match input.kind() {
            Kind::Dot => dot(input),
            Kind::Percent if doubled_percent(input) => percent(input),
            _ => Diagnostic::new(&SYNTAX_ERROR, input.peek().span(), message)
                .label(format!("expected {expected}")),
        };
        input.report(more(diagnostic));
    }
    GAVE_UP
}

fn dot(input: Tokens<'_>) -> Diagnostic {
    let dot = input.peek();
    let next = input.peek_at(1);
    let diagnostic =
        Diagnostic::new(&SYNTAX_ERROR, dot.span(), "a word must follow `.` at once").label("no word follows");
    match next.kind() {
        Kind::Ident | Kind::Int if next.start > dot.end => {
            let word = input.slice(next.span());
            let gap = Span::new(dot.end, next.start);
            diagnostic.fix(Applicability::Safe, format!("write `.{word}`"), gap, "")
        }
        _ => diagnostic.help("remove the `.` or write the modifier that it begins"),
    }
}

/// `%%r0`
fn doubled_percent(input: Tokens<'_>) -> bool {
    let next = input.peek_at(1);
    next.kind() == Kind::Ident && input.peek().end == next.start && input.slice(next.span()).starts_with('%')
}

fn percent(input: Tokens<'_>) -> Diagnostic {
    let sign = input.peek().span();
    let name = input.slice(input.peek_at(1).span());
    Diagnostic::new(&SYNTAX_ERROR, sign, format!("`%{name}` is spelt as in inline assembly"))
        .label("one `%` too many")
        .note("only inline assembly in C++ doubles the `%`")
        .fix(Applicability::Safe, format!("write `{name}`"), sign, "")
}

/// C's words that begin a statement.
pub(super) fn begins_c(word: &str) -> bool {
    matches!(word, "if" | "else" | "for" | "while" | "do" | "switch")
}

/// `if (…) {`
#[cold]
pub(super) fn control_flow_of_c(input: Tokens<'_>) {
    let word = input.text();
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, input.peek().span(), format!("`{word}` is C, not PTX"))
            .label("not PTX")
            .help("compare with `setp`, then guard instructions or a `bra` with the predicate: `@%p bra LABEL;`"),
    );
}

/// A label at `name` without its `:`.
#[cold]
pub(super) fn label_without_colon(input: Tokens<'_>, name: Span) {
    let text = shorten(input.slice(name));
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, name, "a label needs `:`".to_string()).label("read as a label").fix(
            Applicability::Safe,
            format!("write `{text}:`"),
            Span::empty(name.end),
            ":",
        ),
    );
}

/// `.shared:cta`, at the colon.
#[cold]
pub(super) fn single_colon(input: Tokens<'_>, word: Span) {
    let colon = input.peek().span();
    let (first, second) = (input.slice(word), input.slice(input.peek_at(1).span()));
    input.report(
        Diagnostic::new(
            &SYNTAX_ERROR,
            word.to(input.peek_at(1).span()),
            format!("`{first}:{second}` has one `:`"),
        )
        .label("joined by one `:`")
        .fix(Applicability::Safe, format!("write `{first}::{second}`"), colon, "::"),
    );
}

/// The whole file is source text of another language.
pub(super) fn cuda_source(span: Span) -> Diagnostic {
    Diagnostic::new(&SYNTAX_ERROR, span, "this file is CUDA C++, not PTX").label("not PTX").help(
        "`mbar check FILE.cu` reads its `asm` statements; of the whole program compile PTX first: \
             `nvcc -ptx FILE.cu`",
    )
}

/// An opening bracket's partner is missing at `input`.
#[cold]
pub(super) fn unclosed(input: Tokens<'_>, open: Span, close: &str) -> Err<Unparsed> {
    if !matches!(input.kind(), Kind::Bad | Kind::BadNumber) {
        let text = input.slice(open);
        let message = format!("expected `{close}`, found {}", found(input));
        input.report(
            Diagnostic::new(&UNBALANCED_BRACES, input.peek().span(), message)
                .label(format!("expected `{close}`"))
                .also(open, format!("to close this `{text}`"))
                .help(format!("write the missing `{close}`")),
        );
    }
    GAVE_UP
}

/// A register or symbol in a constant expression.
#[cold]
pub(super) fn name_in_expression(input: Tokens<'_>) -> Err<Unparsed> {
    let name = input.text();
    let message = format!("`{}` cannot stand in a constant expression", shorten(name));
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, input.peek().span(), message)
            .note("only numbers, `WARP_SZ` and operators can: its value is computed while assembling")
            .help("compute the value in a register first and use that register"),
    );
    GAVE_UP
}

#[cold]
pub(super) fn too_deep(input: Tokens<'_>, what: &str) -> Err<Unparsed> {
    let message = format!("this {what} is nested more than {} deep", super::expr::MAX_NESTING);
    input.report(Diagnostic::new(&SYNTAX_ERROR, input.peek().span(), message).help("write it flatter"));
    GAVE_UP
}

/// `0f…` in an expression.
#[cold]
pub(super) fn exact_float(input: Tokens<'_>, span: Span) -> Err<Unparsed> {
    let message = format!("`{}` computes with a `0f` constant", shorten(input.slice(span)));
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, span, message)
            .note("constant expressions compute with integers and doubles only")
            .help("write the result itself as `0f` and 8 hexadecimal digits, or use doubles"),
    );
    GAVE_UP
}

/// An integer operator on a double.
#[cold]
pub(super) fn float_operator(input: Tokens<'_>, span: Span) -> Err<Unparsed> {
    let message =
        format!("`{}` uses an integer operator on a floating-point constant", shorten(input.slice(span)));
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, span, message).help("doubles know `+ - * /`, comparisons and `?:`"),
    );
    GAVE_UP
}

/// Reports that `span` should be deleted.
#[cold]
pub(super) fn superfluous(input: Tokens<'_>, span: Span, message: String, title: &str) {
    input.report(Diagnostic::new(&SYNTAX_ERROR, span, message).label("not allowed here").fix(
        Applicability::Safe,
        title,
        span,
        "",
    ));
}
