//! Constant expressions (PTX ISA §4.5.3 to §4.5.6), evaluated while they are read.

use nom::combinator::opt;
use nom::sequence::{delimited, preceded};
use nom::{Err, Parser};

use super::ast::{Const, ConstValue};
use super::complain;
use super::number;
use super::rules::SYNTAX_ERROR;
use super::token::{GAVE_UP, Kind, PResult, Tokens, Unparsed, token};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// How deeply parentheses, unary operators, `?:` and initialisers may be nested.
pub(super) const MAX_NESTING: u32 = 64;

/// Whether a constant expression can begin here.
pub(super) fn begins(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Int
            | Kind::Float
            | Kind::F32
            | Kind::F64
            | Kind::BadNumber
            | Kind::WarpSize
            | Kind::Plus
            | Kind::Minus
            | Kind::Tilde
            | Kind::Bang
            | Kind::LParen
    )
}

/// A constant expression.
pub(super) fn expression(input: Tokens<'_>) -> PResult<'_, Const> {
    // Nearly all are one number.
    let first = input.peek();
    if is_number(first.kind()) && !continues(input.peek_at(1).kind()) {
        return number(input);
    }
    conditional(input, 0)
}

/// An integer, floating-point or other number, or `WARP_SZ`.
pub(super) fn number(input: Tokens<'_>) -> PResult<'_, Const> {
    let token = input.peek();
    let value = match token.kind() {
        kind @ (Kind::Int | Kind::Float | Kind::F32 | Kind::F64) => {
            number::value(kind, input.slice(token.span()))
        }
        Kind::WarpSize => signed(32),
        Kind::BadNumber => signed(0),
        _ => return Err(Err::Error(Unparsed)),
    };
    Ok((input.advance(), Const { span: token.span(), value }))
}

/// A number that may have a sign, for places that take no expression.
pub(super) fn signed_number(input: Tokens<'_>) -> PResult<'_, Const> {
    let (rest, sign) = opt(token(Kind::Minus)).parse(input)?;
    let (rest, constant) = number(rest)?;
    match sign {
        None => Ok((rest, constant)),
        Some(sign) => negated(rest, sign.span(), constant),
    }
}

fn negated<'a>(input: Tokens<'a>, sign: Span, constant: Const) -> PResult<'a, Const> {
    let span = sign.to(constant.span);
    let value = unary(input, Kind::Minus, span, constant.value)?;
    Ok((input, Const { span, value }))
}

fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Int | Kind::Float | Kind::F32 | Kind::F64 | Kind::WarpSize | Kind::BadNumber)
}

/// Whether the expression goes on with `kind`.
fn continues(kind: Kind) -> bool {
    kind == Kind::Question || precedence(kind).is_some()
}

/// How tightly a binary operator binds.
fn precedence(kind: Kind) -> Option<u32> {
    Some(match kind {
        Kind::PipePipe => 1,
        Kind::AmpAmp => 2,
        Kind::Pipe => 3,
        Kind::Caret => 4,
        Kind::Amp => 5,
        Kind::EqEq | Kind::Ne => 6,
        Kind::Lt | Kind::Le | Kind::Gt | Kind::Ge => 7,
        Kind::Shl | Kind::Shr => 8,
        Kind::Plus | Kind::Minus => 9,
        Kind::Star | Kind::Slash | Kind::Percent => 10,
        _ => return None,
    })
}

/// `c`, or `c ? a : b`
fn conditional(input: Tokens<'_>, depth: u32) -> PResult<'_, Const> {
    let (rest, condition) = binary_chain(input, 1, depth)?;
    if rest.kind() != Kind::Question {
        return Ok((rest, condition));
    }
    let (rest, yes) = conditional(rest.advance(), deeper(rest, depth)?)?;
    if rest.kind() != Kind::Colon {
        return Err(complain::unexpected(rest, "`:` and the other value of `?:`"));
    }
    let (rest, no) = conditional(rest.advance(), deeper(rest, depth)?)?;
    let chosen = if is_true(condition.value) { yes } else { no };
    Ok((rest, Const { span: condition.span.to(no.span), value: chosen.value }))
}

/// Operators that bind at least as tightly as `least`.
fn binary_chain(input: Tokens<'_>, least: u32, depth: u32) -> PResult<'_, Const> {
    let (mut rest, mut left) = operand(input, depth)?;
    while let Some(level) = precedence(rest.kind()).filter(|&level| level >= least) {
        let operator = rest.kind();
        let (behind, right) = binary_chain(rest.advance(), level + 1, depth)?;
        let span = left.span.to(right.span);
        let value = binary(rest, operator, span, left.value, right.value)?;
        left = Const { span, value };
        rest = behind;
    }
    Ok((rest, left))
}

/// A number, `(e)`, a cast, or a unary operator and its operand.
fn operand(input: Tokens<'_>, depth: u32) -> PResult<'_, Const> {
    let first = input.peek();
    match first.kind() {
        Kind::Plus | Kind::Minus | Kind::Tilde | Kind::Bang => {
            let (rest, inner) = operand(input.advance(), deeper(input, depth)?)?;
            let span = first.span().to(inner.span);
            let value = unary(input, first.kind(), span, inner.value)?;
            Ok((rest, Const { span, value }))
        }
        Kind::LParen if input.peek_at(1).kind() == Kind::Word => cast(input, depth),
        Kind::LParen => {
            let depth = deeper(input, depth)?;
            let (rest, inner) = conditional(input.advance(), depth)?;
            match rest.peek() {
                close if close.kind() == Kind::RParen => {
                    let span = first.span().to(close.span());
                    Ok((rest.advance(), Const { span, value: inner.value }))
                }
                _ => Err(complain::unclosed(rest, first.span(), ")")),
            }
        }
        Kind::Ident => Err(complain::name_in_expression(input)),
        _ => number(input).map_err(|_| complain::unexpected(input, "a number")),
    }
}

/// `(.s64) e`, `(.u64) e`
fn cast(input: Tokens<'_>, depth: u32) -> PResult<'_, Const> {
    let paren = input.peek().span();
    let (rest, ty) =
        delimited(token(Kind::LParen), token(Kind::Word), token(Kind::RParen)).parse(input).map_err(
            |_: Err<Unparsed>| complain::unexpected(input.advance().advance(), "`)` behind the cast's type"),
        )?;
    let unsigned = match input.slice(ty.span()) {
        ".s64" => false,
        ".u64" => true,
        other => {
            let message = format!("`({other})` is no cast of a constant expression");
            input.report(
                Diagnostic::new(&SYNTAX_ERROR, ty.span(), message)
                    .help("write `(.s64)` or `(.u64)`: all integer constants have 64 bits"),
            );
            false
        }
    };
    let (rest, inner) = operand(rest, deeper(input, depth)?)?;
    let bits = match inner.value {
        ConstValue::Int { bits, .. } => bits,
        ConstValue::F64(value) if unsigned => value as u64,
        ConstValue::F64(value) => value as i64 as u64,
        ConstValue::F32(_) => return Err(complain::exact_float(input, inner.span)),
    };
    let value = ConstValue::Int { bits, unsigned };
    Ok((rest, Const { span: paren.to(inner.span), value }))
}

fn deeper(input: Tokens<'_>, depth: u32) -> Result<u32, Err<Unparsed>> {
    if depth < MAX_NESTING {
        return Ok(depth + 1);
    }
    Err(complain::too_deep(input, "expression"))
}

fn is_true(value: ConstValue) -> bool {
    match value {
        ConstValue::Int { bits, .. } => bits != 0,
        ConstValue::F32(bits) => bits << 1 != 0,
        ConstValue::F64(value) => value != 0.0,
    }
}

fn signed(value: i64) -> ConstValue {
    ConstValue::Int { bits: value as u64, unsigned: false }
}

fn unary(
    input: Tokens<'_>,
    operator: Kind,
    span: Span,
    value: ConstValue,
) -> Result<ConstValue, Err<Unparsed>> {
    Ok(match (operator, value) {
        (_, ConstValue::F32(_)) => return Err(complain::exact_float(input, span)),
        (Kind::Plus, value) => value,
        (Kind::Minus, ConstValue::F64(value)) => ConstValue::F64(-value),
        (Kind::Minus, ConstValue::Int { bits, unsigned }) => {
            // `-9223372036854775808` is a signed number although its digits alone are not.
            let unsigned = unsigned && bits != 1 << 63;
            ConstValue::Int { bits: bits.wrapping_neg(), unsigned }
        }
        (Kind::Tilde, ConstValue::Int { bits, .. }) => ConstValue::Int { bits: !bits, unsigned: true },
        (Kind::Bang, ConstValue::Int { bits, .. }) => signed((bits == 0).into()),
        (_, ConstValue::F64(_)) => return Err(complain::float_operator(input, span)),
        (_, value) => value,
    })
}

fn binary(
    at: Tokens<'_>,
    operator: Kind,
    span: Span,
    left: ConstValue,
    right: ConstValue,
) -> Result<ConstValue, Err<Unparsed>> {
    match (left, right) {
        (ConstValue::Int { bits: a, unsigned: left }, ConstValue::Int { bits: b, unsigned: right }) => {
            integer(operator, (a, left), (b, right)).ok_or_else(|| {
                at.report(
                    Diagnostic::new(&SYNTAX_ERROR, span, format!("`{}` divides by zero", at.slice(span)))
                        .label("has no value"),
                );
                GAVE_UP
            })
        }
        (ConstValue::F32(_), _) | (_, ConstValue::F32(_)) => Err(complain::exact_float(at, span)),
        _ => double(operator, to_double(left), to_double(right))
            .ok_or_else(|| complain::float_operator(at, span)),
    }
}

/// None for a division by zero.
fn integer(operator: Kind, (a, left): (u64, bool), (b, right): (u64, bool)) -> Option<ConstValue> {
    let unsigned = left || right;
    let order = if unsigned { a.cmp(&b) } else { (a as i64).cmp(&(b as i64)) };
    let shift = b.min(64) as u32;
    let same = |bits| ConstValue::Int { bits, unsigned };
    let like_left = |bits| ConstValue::Int { bits, unsigned: left };
    let always_unsigned = |bits| ConstValue::Int { bits, unsigned: true };
    let truth = |value: bool| signed(value.into());
    Some(match operator {
        Kind::Plus => same(a.wrapping_add(b)),
        Kind::Minus => same(a.wrapping_sub(b)),
        Kind::Star => same(a.wrapping_mul(b)),
        Kind::Slash if unsigned => same(a.checked_div(b)?),
        Kind::Slash if b == 0 => return None,
        Kind::Slash => same((a as i64).wrapping_div(b as i64) as u64),
        Kind::Percent => signed(a.checked_rem(b)? as i64),
        Kind::Shl => like_left(a.checked_shl(shift).unwrap_or(0)),
        Kind::Shr if left => like_left(a.checked_shr(shift).unwrap_or(0)),
        Kind::Shr => like_left(((a as i64) >> shift.min(63)) as u64),
        Kind::Lt => truth(order.is_lt()),
        Kind::Le => truth(order.is_le()),
        Kind::Gt => truth(order.is_gt()),
        Kind::Ge => truth(order.is_ge()),
        Kind::EqEq => truth(a == b),
        Kind::Ne => truth(a != b),
        Kind::Amp => always_unsigned(a & b),
        Kind::Caret => always_unsigned(a ^ b),
        Kind::Pipe => always_unsigned(a | b),
        Kind::AmpAmp => truth(a != 0 && b != 0),
        _ => truth(a != 0 || b != 0),
    })
}

/// None for an operator that works on integers only.
fn double(operator: Kind, a: f64, b: f64) -> Option<ConstValue> {
    let truth = |value: bool| Some(signed(value.into()));
    match operator {
        Kind::Plus => Some(ConstValue::F64(a + b)),
        Kind::Minus => Some(ConstValue::F64(a - b)),
        Kind::Star => Some(ConstValue::F64(a * b)),
        Kind::Slash => Some(ConstValue::F64(a / b)),
        Kind::Lt => truth(a < b),
        Kind::Le => truth(a <= b),
        Kind::Gt => truth(a > b),
        Kind::Ge => truth(a >= b),
        Kind::EqEq => truth(a == b),
        Kind::Ne => truth(a != b),
        _ => None,
    }
}

fn to_double(value: ConstValue) -> f64 {
    match value {
        ConstValue::Int { bits, unsigned: true } => bits as f64,
        ConstValue::Int { bits, .. } => bits as i64 as f64,
        ConstValue::F32(bits) => f32::from_bits(bits).into(),
        ConstValue::F64(value) => value,
    }
}

/// `<N>` behind a name.
pub(super) fn count(input: Tokens<'_>) -> PResult<'_, Const> {
    delimited(token(Kind::Lt), number, token(Kind::Gt)).parse(input)
}

/// `+ e`, as the offset behind a name.
pub(super) fn offset(input: Tokens<'_>) -> PResult<'_, Const> {
    preceded(token(Kind::Plus), expression).parse(input)
}
