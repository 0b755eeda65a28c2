//! Operands of instructions (PTX ISA §6).

use nom::combinator::opt;
use nom::{Err, Parser};

use super::ast::{Address, Component, CompoundAddress, Const, ConstValue, Name, Operand, OperandKind};
use super::complain;
use super::expr;
use super::rules::SYNTAX_ERROR;
use super::token::{GAVE_UP, Kind, PResult, Token, Tokens, Unparsed, token};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::source::Span;

/// One operand. `in_call` says that parentheses group arguments, as in `call (r), f, (a, b)`;
/// elsewhere they belong to constant expressions.
pub(super) fn operand(input: Tokens<'_>, in_call: bool) -> PResult<'_, Operand> {
    let (rest, first) = match input.kind() {
        Kind::LBracket => address(input)?,
        Kind::LBrace => vector(input)?,
        Kind::LParen if in_call => group(input)?,
        _ => simple(input)?,
    };
    if rest.kind() != Kind::Pipe {
        return Ok((rest, first));
    }
    let (rest, second) = simple(rest.advance())?;
    let span = first.span.to(second.span);
    Ok((rest, Operand { span, kind: OperandKind::Pair(Box::new([first, second])) }))
}

/// An operand without brackets or braces around it.
fn simple(input: Tokens<'_>) -> PResult<'_, Operand> {
    let first = input.peek();
    match first.kind() {
        Kind::Ident => named(input),
        Kind::Underscore => Ok((input.advance(), Operand { span: first.span(), kind: OperandKind::Sink })),
        Kind::Bang if input.peek_at(1).kind() == Kind::Ident => {
            let (rest, name) = name(input.advance())?;
            let span = first.span().to(name.span);
            Ok((rest, Operand { span, kind: OperandKind::Not(name) }))
        }
        Kind::LParen if input.peek_at(1).kind() == Kind::Ident => Err(parenthesised(input)),
        Kind::Minus if input.peek_at(1).kind() == Kind::Ident => {
            let (rest, inner) = named(input.advance())?;
            let span = first.span().to(inner.span);
            Ok((rest, Operand { span, kind: OperandKind::Negated(Box::new(inner)) }))
        }
        kind if expr::begins(kind) => {
            let (rest, constant) = expr::expression(input)?;
            // The lexer has spoken about a bad number: its value is not known.
            let kind = match kind {
                Kind::BadNumber => OperandKind::Error,
                _ => OperandKind::Const(constant.value),
            };
            Ok((rest, Operand { span: constant.span, kind }))
        }
        _ => Err(complain::unexpected(input, "an operand")),
    }
}

/// An identifier.
pub(super) fn name(input: Tokens<'_>) -> PResult<'_, Name> {
    let (rest, token) = token(Kind::Ident)(input)?;
    Ok((rest, to_name(token)))
}

/// The name that an interned token is.
pub(super) fn to_name(token: Token) -> Name {
    // Only the modifiers of an opcode are not interned, and they are never asked for.
    Name { symbol: token.symbol().unwrap_or(super::names::Symbol(0)), span: token.span() }
}

/// A name with what may follow it: `.x`, `+4`, `[2]`.
fn named(input: Tokens<'_>) -> PResult<'_, Operand> {
    let (rest, name) = name(input)?;
    let next = rest.peek();
    match next.kind() {
        Kind::Word => match component(rest.text()) {
            Some(component) => {
                let kind = OperandKind::Name { name, component: Some(component) };
                Ok((rest.advance(), Operand { span: name.span.to(next.span()), kind }))
            }
            None => Ok((rest, plain(name))),
        },
        Kind::Plus | Kind::Minus => {
            let (rest, offset) = offset(rest, name)?;
            let span = name.span.to(offset.span);
            Ok((rest, Operand { span, kind: OperandKind::NameOffset { name, offset } }))
        }
        Kind::LBracket => element(rest, name),
        _ => Ok((rest, plain(name))),
    }
}

fn plain(name: Name) -> Operand {
    Operand { span: name.span, kind: OperandKind::Name { name, component: None } }
}

/// What `.x` behind a name selects.
pub(super) fn component(text: &str) -> Option<Component> {
    Some(match text {
        ".x" | ".r" => Component::X,
        ".y" | ".g" => Component::Y,
        ".z" | ".b" => Component::Z,
        ".w" | ".a" => Component::W,
        ".b0" => Component::B0,
        ".b1" => Component::B1,
        ".b2" => Component::B2,
        ".b3" => Component::B3,
        ".h0" => Component::H0,
        ".h1" => Component::H1,
        _ => {
            // `.b3210`, `.h10`: several bytes or halves, in any order.
            let digits = text.strip_prefix(".b").or(text.strip_prefix(".h"))?;
            let several =
                (2..=4).contains(&digits.len()) && digits.bytes().all(|b| (b'0'..=b'7').contains(&b));
            return several.then_some(Component::Several);
        }
    })
}

/// `[a].unified`: a hint of the load about the object; past the `]` and the hint, and where that ends.
fn unified(close: Tokens<'_>) -> (Tokens<'_>, Span) {
    let after = close.advance();
    let hint = after.peek().span();
    if after.kind() == Kind::Word && close.slice(hint) == ".unified" {
        (after.advance(), hint)
    } else {
        (after, close.peek().span())
    }
}

/// `+4` behind `base`. `-4` is refused, but its meaning is clear.
pub(super) fn offset<'a>(input: Tokens<'a>, base: Name) -> PResult<'a, Const> {
    let sign = input.peek();
    let next = input.peek_at(1);
    if next.kind() == Kind::Ident {
        let (base, added) = (input.slice(base.span), input.slice(next.span()));
        let message = format!("`{added}` cannot be added to `{base}` inside an operand");
        input.report(
            Diagnostic::new(&SYNTAX_ERROR, next.span(), message)
                .label("expected a constant")
                .note("only a constant can be added to a register or variable")
                .help("add the two with `add` into a register first, and use that register"),
        );
        return Err(GAVE_UP);
    }
    let (rest, constant) = match sign.kind() {
        Kind::Minus => {
            let (rest, constant) = expr::expression(input)?;
            subtracted(input, base, sign, constant);
            (rest, constant)
        }
        _ => expr::offset(input)?,
    };
    if !matches!(constant.value, ConstValue::Int { .. }) {
        let message = format!("`{}` is no byte offset", input.slice(constant.span));
        input.report(Diagnostic::new(&SYNTAX_ERROR, constant.span, message).label("expected an integer"));
    }
    Ok((rest, constant))
}

#[cold]
fn subtracted(input: Tokens<'_>, base: Name, sign: Token, constant: Const) {
    let (base, text) = (input.slice(base.span), input.slice(constant.span));
    let message = format!("`{base}{text}`: an offset can only be added");
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, sign.span(), message)
            .label("`-` is not allowed here")
            .note("a negative offset is the addition of a negative constant")
            .fix(Applicability::Safe, format!("write `{base}+{text}`"), Span::empty(sign.start), "+"),
    );
}

/// `[2]` or `[%r1]` behind an array's name.
fn element(input: Tokens<'_>, array: Name) -> PResult<'_, Operand> {
    let open = input.peek().span();
    let (rest, index) = match input.advance() {
        inner if inner.kind() == Kind::Ident => {
            let (rest, name) = name(inner)?;
            (rest, plain(name))
        }
        inner if expr::begins(inner.kind()) => simple(inner)?,
        inner => return Err(complain::unexpected(inner, "an index")),
    };
    let (rest, close) = closing(rest, open, Kind::RBracket)?;
    let span = array.span.to(close.span());
    let kind = OperandKind::Element { name: array, index: Box::new(index) };
    Ok((rest, Operand { span, kind }))
}

fn closing(input: Tokens<'_>, open: Span, kind: Kind) -> PResult<'_, Token> {
    let text = match kind {
        Kind::RBracket => "]",
        Kind::RBrace => "}",
        _ => ")",
    };
    token(kind)(input).map_err(|_: Err<Unparsed>| complain::unclosed(input, open, text))
}

/// `{a, b}`
fn vector(input: Tokens<'_>) -> PResult<'_, Operand> {
    let (rest, (span, elements)) = list(input, input.peek().span(), Kind::RBrace, vector_element)?;
    Ok((rest, Operand { span, kind: OperandKind::Vector(elements.into()) }))
}

fn vector_element(input: Tokens<'_>) -> PResult<'_, Operand> {
    match input.kind() {
        Kind::LBrace => Err(complain::unexpected_with(input, "an element", |diagnostic| {
            diagnostic.note("a vector cannot hold another vector")
        })),
        _ => simple(input),
    }
}

/// `(a, b)` in a call.
fn group(input: Tokens<'_>) -> PResult<'_, Operand> {
    let (rest, (span, elements)) = list(input, input.peek().span(), Kind::RParen, simple)?;
    Ok((rest, Operand { span, kind: OperandKind::Group(elements.into()) }))
}

/// Elements behind the next token up to the `close` of `open`; an empty place is reported and kept as an error.
fn list<'a>(
    input: Tokens<'a>,
    open: Span,
    close: Kind,
    element: fn(Tokens<'a>) -> PResult<'a, Operand>,
) -> PResult<'a, (Span, Vec<Operand>)> {
    let mut elements = Vec::with_capacity(count_elements(input.advance()));
    let mut rest = input.advance();
    if rest.kind() == close && close == Kind::RParen {
        return Ok((rest.advance(), (open.to(rest.peek().span()), elements)));
    }
    loop {
        let (behind, read) = match rest.kind() {
            Kind::Comma => (rest, missing(rest, rest.peek().span())),
            kind if kind == close => (rest, missing(rest, rest.peek().span())),
            _ => element(rest)?,
        };
        elements.push(read);
        if behind.kind() == Kind::Comma {
            rest = behind.advance();
            continue;
        }
        let (rest, close) = closing(behind, open, close)?;
        elements.shrink_to_fit();
        return Ok((rest, (open.to(close.span()), elements)));
    }
}

/// How many elements stand before the closing bracket, so that a list is allocated once.
fn count_elements(input: Tokens<'_>) -> usize {
    let inner = input.tokens.iter().take(64);
    let inner = inner.take_while(|token| {
        !matches!(token.kind(), Kind::RBrace | Kind::RParen | Kind::RBracket | Kind::Semi)
    });
    1 + inner.filter(|token| token.kind() == Kind::Comma).count()
}

/// Reports that an operand is missing before `found`.
#[cold]
pub(super) fn missing(input: Tokens<'_>, found: Span) -> Operand {
    let message = format!("an operand is missing before `{}`", input.slice(found));
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, found, message)
            .label("expected an operand before this")
            .help("write the operand, or remove the superfluous `,`"),
    );
    Operand { span: Span::empty(found.start), kind: OperandKind::Error }
}

/// `[base+offset]` or, with more parts, `[map, {c0, c1}]`.
fn address(input: Tokens<'_>) -> PResult<'_, Operand> {
    let open = input.peek().span();
    let inner = input.advance();
    let (rest, first) = match inner.kind() {
        Kind::Ident => based(inner)?,
        Kind::LParen if inner.peek_at(1).kind() == Kind::Ident => return Err(parenthesised(inner)),
        kind if expr::begins(kind) => immediate(inner)?,
        Kind::RBracket => return Ok((inner.advance(), empty_address(inner, open))),
        _ => {
            return Err(complain::unexpected(inner, "a register, a variable or a number"));
        }
    };
    let first_span = Span::new(inner.peek().start, first_end(inner, rest));
    match rest.kind() {
        Kind::RBracket => {
            let (rest, end) = unified(rest);
            Ok((rest, Operand { span: open.to(end), kind: OperandKind::Address(first) }))
        }
        Kind::Comma => {
            if first.base.is_none() || first.offset_span.is_some() {
                offset_before_parts(rest, first_span);
            }
            let (rest, (tail, parts)) = list(rest, open, Kind::RBracket, part)?;
            let compound = CompoundAddress { address: first, address_span: first_span, parts: parts.into() };
            let kind = OperandKind::Compound(Box::new(compound));
            Ok((rest, Operand { span: open.to(tail), kind }))
        }
        _ => Err(not_an_address(rest, open, first)),
    }
}

/// The end of the last token between two inputs.
fn first_end(from: Tokens<'_>, to: Tokens<'_>) -> u32 {
    let count = from.tokens.len().saturating_sub(to.tokens.len());
    from.peek_at(count.saturating_sub(1)).end
}

/// A further part of a compound address.
fn part(input: Tokens<'_>) -> PResult<'_, Operand> {
    if input.kind() == Kind::LBrace { vector(input) } else { simple(input) }
}

fn based(input: Tokens<'_>) -> PResult<'_, Address> {
    let (rest, base) = name(input)?;
    if !matches!(rest.kind(), Kind::Plus | Kind::Minus) {
        return Ok((rest, Address { base: Some(base), offset: 0, offset_span: None }));
    }
    let (rest, constant) = offset(rest, base)?;
    let offset_span = Some(constant.span);
    Ok((rest, Address { base: Some(base), offset: bits(constant), offset_span }))
}

fn immediate(input: Tokens<'_>) -> PResult<'_, Address> {
    let number = input.peek();
    let name = input.peek_at(2);
    if input.peek_at(1).kind() == Kind::Plus
        && name.kind() == Kind::Ident
        && input.peek_at(3).kind() == Kind::RBracket
    {
        let right = format!("{}+{}", input.slice(name.span()), input.slice(number.span()));
        let span = number.span().to(name.span());
        let message = format!("`[{}]` has its parts in the wrong order", input.slice(span));
        input.report(
            Diagnostic::new(&SYNTAX_ERROR, span, message)
                .note("the register or variable comes first, then its offset")
                .fix(Applicability::Safe, format!("write `[{right}]`"), span, right),
        );
        return Err(GAVE_UP);
    }
    let (rest, constant) = expr::expression(input)?;
    if !matches!(constant.value, ConstValue::Int { .. }) {
        let message = format!("`{}` is no address", input.slice(constant.span));
        input.report(Diagnostic::new(&SYNTAX_ERROR, constant.span, message).label("expected an integer"));
    }
    let offset_span = Some(constant.span);
    Ok((rest, Address { base: None, offset: bits(constant), offset_span }))
}

fn bits(constant: Const) -> i64 {
    match constant.value {
        ConstValue::Int { bits, .. } => bits as i64,
        ConstValue::F32(_) | ConstValue::F64(_) => 0,
    }
}

/// The first part of a compound address is a name alone.
#[cold]
fn offset_before_parts(input: Tokens<'_>, first: Span) {
    let message = format!("`{}` cannot stand before `,` in an address", input.slice(first));
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, first, message)
            .label("expected a register or variable alone")
            .note("an address with coordinates takes no offset and no number")
            .help("compute the address in a register first, and use that register"),
    );
}

#[cold]
fn empty_address(input: Tokens<'_>, open: Span) -> Operand {
    let span = open.to(input.peek().span());
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, span, "`[]` holds no address")
            .help("write a register or variable between the brackets, `[%rd1]` or `[bar+8]`"),
    );
    Operand { span, kind: OperandKind::Error }
}

/// `(s)` where no parentheses may be.
#[cold]
fn parenthesised(input: Tokens<'_>) -> Err<Unparsed> {
    let open = input.peek().span();
    let inner = input.peek_at(1).span();
    let close = input.peek_at(2);
    let name = input.slice(inner);
    let message = format!("`{name}` cannot stand in parentheses");
    let diagnostic = Diagnostic::new(&SYNTAX_ERROR, open, message)
        .note("outside `call`, parentheses hold constant expressions only");
    input.report(if close.kind() == Kind::RParen {
        let span = open.to(close.span());
        diagnostic.fix(Applicability::Safe, format!("write `{name}`"), span, name)
    } else {
        diagnostic.help("remove the parentheses")
    });
    GAVE_UP
}

/// Something stands where `]` should close `open`.
#[cold]
fn not_an_address(input: Tokens<'_>, open: Span, address: Address) -> Err<Unparsed> {
    let base = address.base.map_or("", |name| input.slice(name.span));
    match input.kind() {
        Kind::Word => complain::unexpected_with(input, "`]`", |diagnostic| {
            diagnostic
                .note(format!("`{base}{}` is no address register", input.text()))
                .help("move it into a register with `mov` first, and use that register")
        }),
        Kind::LBracket => complain::unexpected_with(input, "`]`", |diagnostic| {
            diagnostic
                .note("an address has no index")
                .help(format!("write the offset in bytes, as in `[{base}+8]`"))
        }),
        Kind::Semi | Kind::Eof | Kind::LBrace | Kind::RBrace => complain::unclosed(input, open, "]"),
        Kind::Star | Kind::Slash | Kind::Percent | Kind::Shl | Kind::Shr => {
            complain::unexpected_with(input, "`]`", |diagnostic| {
                diagnostic.help(format!(
                    "compute the address in a register first; only a constant can be added to `{base}`"
                ))
            })
        }
        _ => complain::unexpected_with(input, "`]`", |diagnostic| diagnostic.also(open, "to close this `[`")),
    }
}

/// `@p` or `@!p`.
pub(super) fn guard(input: Tokens<'_>) -> PResult<'_, super::ast::Guard> {
    let (rest, (at, bang)) = (token(Kind::At), opt(token(Kind::Bang))).parse(input)?;
    let (rest, name) = name(rest).map_err(|_| match rest.kind() {
        Kind::Int => complain::unexpected_with(rest, "a predicate register", |diagnostic| {
            diagnostic
                .note("a constant cannot guard an instruction")
                .help("remove the guard to execute it always, or the instruction to never do so")
        }),
        Kind::Bang => complain::unexpected_with(rest, "a predicate register", |diagnostic| {
            diagnostic.help("one `!` negates a guard; two would be none")
        }),
        _ => complain::unexpected(rest, "a predicate register"),
    })?;
    let span = at.span().to(name.span);
    Ok((rest, super::ast::Guard { span, negated: bang.is_some(), name }))
}
