//! Declarations of variables, registers and parameters (PTX ISA §5.4, §7.1).

use nom::combinator::opt;
use nom::multi::many0;
use nom::sequence::preceded;
use nom::{Err, Parser};

use super::ast::{Const, Declarator, Initializer, Name, PointerAttribute, Variable};
use super::complain;
use super::expr::{self, MAX_NESTING};
use super::operand::{name, offset, to_name};
use super::rules::SYNTAX_ERROR;
use super::token::{Kind, PResult, Token, Tokens, Unparsed, token};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::source::Span;
use crate::types::{Linkage, Space, Type};

/// Whether a declaration can begin with `word`.
pub(super) fn begins(word: &str) -> bool {
    matches!(word, ".align" | ".attribute" | ".ptr" | ".v2" | ".v4" | ".v8")
        || Linkage::from_text(word).is_some()
        || Space::from_text(word).is_some()
        || Type::from_text(word).is_some()
        || windowed_space(word).is_some()
}

/// The state space of `.shared::cta`, which only instructions write like that.
fn windowed_space(word: &str) -> Option<Space> {
    word.split_once("::").and_then(|(space, _)| Space::from_text(space))
}

/// A declaration up to its `;`, which is left to the caller.
pub(super) fn variable(input: Tokens<'_>) -> PResult<'_, Variable> {
    let (mut rest, mut variable) = words(input)?;
    loop {
        let (behind, declarator) = declarator(rest)?;
        variable.declarators.push(declarator);
        if behind.kind() != Kind::Comma {
            variable.declarators.shrink_to_fit();
            return Ok((behind, variable));
        }
        rest = behind.advance();
        if rest.kind() == Kind::Semi {
            complain::superfluous(
                rest,
                behind.peek().span(),
                "a `,` stands behind the last name".to_string(),
                "remove the `,`",
            );
            return Ok((rest, variable));
        }
    }
}

/// `( )` with parameters.
pub(super) fn parameters(input: Tokens<'_>) -> PResult<'_, Vec<Variable>> {
    let (mut rest, open) = token(Kind::LParen)(input)?;
    let mut parameters = Vec::new();
    while rest.kind() != Kind::RParen {
        let (behind, parameter) = parameter(rest)?;
        parameters.push(parameter);
        rest = match behind.kind() {
            Kind::Comma if behind.peek_at(1).kind() == Kind::RParen => {
                complain::superfluous(
                    behind,
                    behind.peek().span(),
                    "a `,` stands behind the last parameter".to_string(),
                    "remove the `,`",
                );
                behind.advance()
            }
            Kind::Comma => behind.advance(),
            Kind::RParen => behind,
            Kind::Word => missing_comma(behind, parameters.last()),
            _ => return Err(complain::unclosed(behind, open.span(), ")")),
        };
    }
    Ok((rest.advance(), parameters))
}

#[cold]
fn missing_comma<'a>(input: Tokens<'a>, before: Option<&Variable>) -> Tokens<'a> {
    let span = before.map_or(input.peek().span(), |variable| variable.span);
    let message = format!("expected `,` between two parameters, found `{}`", input.text());
    input.report(Diagnostic::new(&SYNTAX_ERROR, input.peek().span(), message).fix(
        Applicability::Safe,
        "insert `,`",
        Span::empty(span.end),
        ",",
    ));
    input
}

fn parameter(input: Tokens<'_>) -> PResult<'_, Variable> {
    let (rest, mut variable) = words(input)?;
    let (rest, declarator) = declarator(rest)?;
    variable.span.end = declarator_end(input, rest);
    variable.declarators = vec![declarator];
    Ok((rest, variable))
}

fn declarator_end(from: Tokens<'_>, to: Tokens<'_>) -> u32 {
    from.peek_at((from.tokens.len() - to.tokens.len()).saturating_sub(1)).end
}

/// The words before the declared names.
#[derive(Default)]
struct Words {
    linkage: Option<(Linkage, Span)>,
    space: Option<(Space, Span)>,
    align: Option<Const>,
    pointer: Option<PointerAttribute>,
    attributes: Vec<Span>,
    vector: Option<u8>,
    ty: Option<(Type, Span)>,
}

fn words(input: Tokens<'_>) -> PResult<'_, Variable> {
    let mut words = Words::default();
    let mut rest = input;
    while rest.kind() == Kind::Word {
        rest = word(rest, &mut words)?;
    }
    let span = input.peek().span();
    let Some((space, space_span)) = words.space else {
        return Err(complain::unexpected(rest, "a state space such as `.reg` or `.shared`"));
    };
    let Some((ty, type_span)) = words.ty else {
        return Err(complain::unexpected(rest, "a type such as `.b32`"));
    };
    let variable = Variable {
        span,
        linkage: words.linkage,
        space,
        space_span,
        align: words.align,
        pointer: words.pointer,
        attributes: words.attributes,
        vector: words.vector.unwrap_or(1),
        ty,
        type_span,
        declarators: Vec::with_capacity(1),
    };
    Ok((rest, variable))
}

/// Reads one word of a declaration with what belongs to it.
fn word<'a>(input: Tokens<'a>, words: &mut Words) -> Result<Tokens<'a>, Err<Unparsed>> {
    let token = input.peek();
    let span = token.span();
    let text = input.slice(span);
    let rest = input.advance();
    if let Some(ty) = Type::from_text(text) {
        match words.ty {
            None => words.ty = Some((ty, span)),
            Some(_) => second(input, span, "type"),
        }
    } else if let Some(space) = Space::from_text(text) {
        match words.space {
            None => {
                if let Some((_, ty)) = words.ty {
                    late_space(input, span, ty);
                }
                words.space = Some((space, span));
            }
            Some(_) => second(input, span, "state space"),
        }
    } else if let Some(linkage) = Linkage::from_text(text) {
        match words.linkage {
            Some(_) => second(input, span, "linkage word"),
            None if words.space.is_some() || words.ty.is_some() => late_linkage(input, span),
            None => words.linkage = Some((linkage, span)),
        }
    } else {
        match text {
            ".align" => return align(input, words),
            ".ptr" => return pointer(rest, words),
            ".attribute" => {
                let (rest, clause) = attribute(input)?;
                words.attributes.push(clause);
                return Ok(rest);
            }
            ".v2" => words.vector = Some(2),
            ".v4" => words.vector = Some(4),
            ".v8" => words.vector = Some(8),
            _ if windowed_space(text).is_some() => {
                words.space = windowed_space(text).map(|space| (space, span));
                windowed(input, span, words.space.map_or(Space::Shared, |(space, _)| space));
            }
            // The names it declares are known all the same.
            _ if words.ty.is_none() => {
                let message = format!("`{text}` is no word of a declaration");
                input.report(
                    Diagnostic::new(&SYNTAX_ERROR, span, message).label("expected a type such as `.b32`"),
                );
                words.ty = Some((Type::B32, span));
            }
            _ => return Err(complain::unexpected(input, "a name")),
        }
    }
    Ok(rest)
}

#[cold]
fn windowed(input: Tokens<'_>, span: Span, space: Space) {
    let message = format!("`{}` is no word of a declaration", input.slice(span));
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, span, message)
            .note("only instructions name the window of a state space")
            .fix(Applicability::Safe, format!("write `{space}`"), span, space.text()),
    );
}

#[cold]
fn second(input: Tokens<'_>, span: Span, what: &str) {
    let text = input.slice(span);
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, span, format!("`{text}` is a second {what}"))
            .note(format!("a declaration has one {what}"))
            .fix(Applicability::Unsafe, format!("remove `{text}`"), span, ""),
    );
}

#[cold]
fn late_space(input: Tokens<'_>, span: Span, ty: Span) {
    let (text, ty) = (input.slice(span), input.slice(ty));
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, span, format!("`{text}` must stand before `{ty}`"))
            .help(format!("write `{text} {ty}`")),
    );
}

#[cold]
fn late_linkage(input: Tokens<'_>, span: Span) {
    let text = input.slice(span);
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, span, format!("`{text}` must come first"))
            .help(format!("write `{text}` before the state space")),
    );
}

/// `.align N`
fn align<'a>(input: Tokens<'a>, words: &mut Words) -> Result<Tokens<'a>, Err<Unparsed>> {
    let keyword = input.peek().span();
    let (rest, value) = expr::number(input.advance())
        .map_err(|_| complain::unexpected(input.advance(), "an alignment in bytes"))?;
    match &mut words.pointer {
        Some(pointer) if pointer.align.is_none() => {
            pointer.align = Some(value);
            return Ok(rest);
        }
        _ => {}
    }
    if let Some((_, ty)) = words.ty {
        let span = keyword.to(value.span);
        let (align, ty_text) = (input.slice(span), input.slice(ty));
        input.report(
            Diagnostic::new(&SYNTAX_ERROR, span, format!("`{align}` stands behind the type"))
                .note("the alignment comes before the type")
                .fix(
                    Applicability::Safe,
                    format!("write `{align} {ty_text}`"),
                    ty.to(span),
                    format!("{align} {ty_text}"),
                ),
        );
    }
    words.align = Some(value);
    Ok(rest)
}

/// `.global .align 16` behind `.ptr`; its alignment comes with the next word.
fn pointer<'a>(rest: Tokens<'a>, words: &mut Words) -> Result<Tokens<'a>, Err<Unparsed>> {
    let space = match rest.kind() {
        Kind::Word => Space::from_text(rest.text()),
        _ => None,
    };
    words.pointer = Some(PointerAttribute { space, align: None });
    Ok(if space.is_some() { rest.advance() } else { rest })
}

/// `.attribute(…)`: its text.
pub(super) fn attribute(input: Tokens<'_>) -> PResult<'_, Span> {
    let start = input.peek();
    let open = input.advance();
    if open.kind() != Kind::LParen {
        return Err(complain::unexpected(open, "`(` and an attribute such as `.managed`"));
    }
    let mut rest = open.advance();
    let mut depth = 1;
    loop {
        match rest.kind() {
            Kind::LParen => depth += 1,
            Kind::RParen => depth -= 1,
            Kind::Word | Kind::Int | Kind::Comma | Kind::Ident | Kind::BadNumber => {}
            _ => return Err(complain::unclosed(rest, open.peek().span(), ")")),
        }
        let span = start.span().to(rest.peek().span());
        rest = rest.advance();
        if depth == 0 {
            return Ok((rest, span));
        }
    }
}

/// A name with its count, dimensions and initialiser.
fn declarator(input: Tokens<'_>) -> PResult<'_, Declarator> {
    let first = input.peek();
    let name = match first.kind() {
        Kind::Ident | Kind::Underscore | Kind::WarpSize => to_name(first),
        Kind::Word => return Err(complain::unexpected(input, "a name")),
        _ => return Err(complain::unexpected(input, "a name to declare")),
    };
    let rest = input.advance();
    let (rest, count) = match rest.kind() {
        Kind::Lt => {
            let (rest, count) =
                expr::count(rest).map_err(|_| complain::unexpected(rest.advance(), "a count and `>`"))?;
            (rest, Some(count))
        }
        _ => (rest, None),
    };
    let (rest, dimensions) = match rest.kind() {
        Kind::LBracket => many0(dimension).parse(rest)?,
        _ => (rest, Vec::new()),
    };
    let (rest, initializer) = match rest.kind() {
        Kind::Eq => {
            let (rest, initializer) = initializer(rest.advance(), 0)?;
            (rest, Some(initializer))
        }
        Kind::Word if rest.peek().start == first.end => return Err(dotted_name(rest)),
        _ => (rest, None),
    };
    Ok((rest, Declarator { name, count, dimensions, initializer }))
}

#[cold]
fn dotted_name(input: Tokens<'_>) -> Err<Unparsed> {
    complain::unexpected_with(input, "`,` or `;`", |diagnostic| {
        diagnostic.note("a name consists of letters, digits, `_` and `$`; it has no `.`")
    })
}

/// `[4]` or `[]`
fn dimension(input: Tokens<'_>) -> PResult<'_, Option<Const>> {
    let (inner, open) = token(Kind::LBracket)(input)?;
    if inner.kind() == Kind::RBracket {
        return Ok((inner.advance(), None));
    }
    if !expr::begins(inner.kind()) {
        return Err(complain::unexpected(inner, "a number of elements"));
    }
    let (rest, size) = expr::expression(inner)?;
    if rest.kind() != Kind::RBracket {
        return Err(complain::unclosed(rest, open.span(), "]"));
    }
    if inner.tokens.len() - rest.tokens.len() != 1 {
        computed_size(inner, size);
    }
    Ok((rest.advance(), Some(size)))
}

#[cold]
fn computed_size(input: Tokens<'_>, size: Const) {
    let text = input.slice(size.span);
    let diagnostic = Diagnostic::new(&SYNTAX_ERROR, size.span, format!("`{text}` is no single number"))
        .note("the assembler takes one number or `WARP_SZ` as the size of an array, no expression");
    input.report(match size.value.int() {
        Some(value) if value > 0 => {
            diagnostic.fix(Applicability::Safe, format!("write `{value}`"), size.span, value.to_string())
        }
        _ => diagnostic.help("write the number of elements, 1 or more"),
    });
}

/// What stands behind `=`.
fn initializer(input: Tokens<'_>, depth: u32) -> PResult<'_, Initializer> {
    match input.kind() {
        Kind::LBrace if depth >= MAX_NESTING => Err(complain::too_deep(input, "initialiser")),
        Kind::LBrace => initializer_list(input, depth),
        Kind::Ident => symbol_address(input),
        Kind::Int if input.peek_at(1).kind() == Kind::LParen => masked(input),
        kind if expr::begins(kind) => expr::expression.map(Initializer::Const).parse(input),
        _ => Err(complain::unexpected(input, "an initial value")),
    }
}

fn initializer_list(input: Tokens<'_>, depth: u32) -> PResult<'_, Initializer> {
    let open = input.peek().span();
    let mut values = Vec::new();
    let mut rest = input.advance();
    loop {
        if rest.kind() == Kind::RBrace {
            let span = open.to(rest.peek().span());
            return Ok((rest.advance(), Initializer::List(span, values)));
        }
        let (behind, value) = initializer(rest, depth + 1)?;
        values.push(value);
        rest = match (behind.kind(), behind.peek_at(1).kind()) {
            (Kind::Comma, Kind::RBrace) => {
                complain::superfluous(
                    behind,
                    behind.peek().span(),
                    "a `,` stands behind the last value".to_string(),
                    "remove the `,`",
                );
                behind.advance()
            }
            (Kind::Comma, _) => behind.advance(),
            (Kind::RBrace, _) => behind,
            _ => return Err(complain::unclosed(behind, open, "}")),
        };
    }
}

/// `sym`, `sym+4`, `generic(sym)`, `generic(sym)+4`
fn symbol_address(input: Tokens<'_>) -> PResult<'_, Initializer> {
    let start = input.peek();
    let is_generic = input.text() == "generic" && input.peek_at(1).kind() == Kind::LParen;
    let (rest, symbol) = if is_generic { generic(input)? } else { name(input)? };
    let (rest, added) = match rest.kind() {
        Kind::Plus | Kind::Minus => opt(|input| offset(input, symbol)).parse(rest)?,
        _ => (rest, None),
    };
    let offset = added.and_then(|constant| constant.value.int()).unwrap_or(0) as i64;
    let span = Span::new(start.start, declarator_end(input, rest));
    Ok((rest, Initializer::Address { span, symbol, generic: is_generic, offset, mask: None }))
}

fn generic(input: Tokens<'_>) -> PResult<'_, Name> {
    let open = input.advance();
    let inner = open.advance();
    let (rest, symbol) = name(inner).map_err(|_| complain::unexpected(inner, "a variable's name"))?;
    match rest.kind() {
        Kind::RParen => Ok((rest.advance(), symbol)),
        _ => Err(complain::unclosed(rest, open.peek().span(), ")")),
    }
}

/// `0xFF00(sym)`: a byte of an address, or of a constant.
fn masked(input: Tokens<'_>) -> PResult<'_, Initializer> {
    let start = input.peek();
    let (open, mask) = expr::number(input)?;
    let (rest, inner) = preceded(token(Kind::LParen), |rest| initializer(rest, MAX_NESTING)).parse(open)?;
    if rest.kind() != Kind::RParen {
        return Err(complain::unclosed(rest, open.peek().span(), ")"));
    }
    let span = start.span().to(rest.peek().span());
    let bits = mask.value.int().unwrap_or(0) as u64;
    let value = match inner {
        Initializer::Address { symbol, generic, offset, .. } => {
            Initializer::Address { span, symbol, generic, offset, mask: Some(bits) }
        }
        other => other,
    };
    Ok((rest.advance(), value))
}

/// Reports that a declaration in a body has a linkage word.
#[cold]
pub(super) fn linkage_in_body(input: Tokens<'_>, linkage: (Linkage, Span)) {
    let (word, span) = linkage;
    input.report(
        Diagnostic::new(&SYNTAX_ERROR, span, format!("`{word}` cannot stand in a function's body"))
            .note("only declarations of the module have a linkage")
            .help("declare it outside of the function"),
    );
}

/// The token as a name, for directives.
pub(super) fn word_name(token: Token) -> Option<Name> {
    token.symbol().map(|symbol| Name { symbol, span: token.span() })
}
