//! Conditions of the preprocessor, evaluated as far as they can be known.

use super::lex::{Kind, Lexer, Token};
use crate::source::Span;

/// A condition, as a tree.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A number.
    Number(i64),
    /// A macro's value.
    Name(String),
    /// `defined(NAME)`
    Defined(String),
    /// `NAME(arguments)` of a single word.
    Call(String, String),
    /// `!a`
    Not(Box<Expression>),
    /// `a op b`
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// Anything else.
    Unknown,
}

/// The operators that are understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "named as in C")]
pub enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// What is known of macros. `None` is always: not known.
pub trait Macros {
    /// Whether `name` is defined.
    fn is_defined(&self, name: &str) -> Option<bool>;
    /// The number that `name` stands for.
    fn value(&self, name: &str) -> Option<i64>;
    /// The number that `name(argument)` stands for.
    fn call(&self, name: &str, argument: &str) -> Option<i64>;
}

impl Expression {
    /// Reads the condition in `span`, behind the directive's name.
    pub fn read(text: &str, span: Span) -> Expression {
        let mut lexer = Lexer::within(text, span);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.read();
            if token.kind == Kind::End {
                break;
            }
            tokens.push(token);
        }
        let mut reader = Reader { lexer: &lexer, tokens: &tokens, at: 0, depth: 0, operators: 0 };
        let whole = reader.binary(0);
        if reader.at == tokens.len() { whole } else { Expression::Unknown }
    }

    /// The truth of the condition.
    pub fn holds(&self, macros: &dyn Macros) -> Option<bool> {
        Some(self.value(macros)? != 0)
    }

    /// Its value.
    pub fn value(&self, macros: &dyn Macros) -> Option<i64> {
        match self {
            Expression::Number(number) => Some(*number),
            Expression::Name(name) => macros.value(name),
            Expression::Defined(name) => macros.is_defined(name).map(i64::from),
            Expression::Call(name, argument) => macros.call(name, argument),
            Expression::Not(inner) => Some(i64::from(inner.value(macros)? == 0)),
            Expression::Binary(operator, a, b) => binary(*operator, a.value(macros), b.value(macros)),
            Expression::Unknown => None,
        }
    }
}

/// One side may decide alone.
fn binary(operator: Operator, a: Option<i64>, b: Option<i64>) -> Option<i64> {
    let known = |value: Option<i64>, truth: bool| value.is_some_and(|value| (value != 0) == truth);
    let both = |apply: fn(i64, i64) -> bool| Some(i64::from(apply(a?, b?)));
    match operator {
        Operator::Or if known(a, true) || known(b, true) => Some(1),
        Operator::And if known(a, false) || known(b, false) => Some(0),
        Operator::Or => both(|a, b| a != 0 || b != 0),
        Operator::And => both(|a, b| a != 0 && b != 0),
        Operator::Equal => both(|a, b| a == b),
        Operator::NotEqual => both(|a, b| a != b),
        Operator::Less => both(|a, b| a < b),
        Operator::LessEqual => both(|a, b| a <= b),
        Operator::Greater => both(|a, b| a > b),
        Operator::GreaterEqual => both(|a, b| a >= b),
        Operator::Add => a?.checked_add(b?),
        Operator::Subtract => a?.checked_sub(b?),
        Operator::Multiply => a?.checked_mul(b?),
        Operator::Divide => a?.checked_div(b?),
    }
}

/// Nesting that is still understood.
const DEEPEST: u32 = 64;

/// So many operators of one condition are: each makes the tree deeper.
const MOST_OPERATORS: u32 = 256;

struct Reader<'a> {
    lexer: &'a Lexer<'a>,
    tokens: &'a [Token],
    at: usize,
    depth: u32,
    operators: u32,
}

impl Reader<'_> {
    fn text(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |token| self.lexer.slice(token.span))
    }

    fn kind(&self) -> Kind {
        self.tokens.get(self.at).map_or(Kind::End, |token| token.kind)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.text(0) == text;
        self.at += usize::from(found);
        found
    }

    /// An operator here, with its precedence and how many words it has.
    fn operator(&self) -> Option<(Operator, u32, usize)> {
        let pair = (self.text(0), self.text(1));
        Some(match pair {
            ("|", "|") => (Operator::Or, 1, 2),
            ("&", "&") => (Operator::And, 2, 2),
            ("=", "=") => (Operator::Equal, 3, 2),
            ("!", "=") => (Operator::NotEqual, 3, 2),
            ("<", "=") => (Operator::LessEqual, 4, 2),
            (">", "=") => (Operator::GreaterEqual, 4, 2),
            ("<", next) if next != "<" => (Operator::Less, 4, 1),
            (">", next) if next != ">" => (Operator::Greater, 4, 1),
            ("+", _) => (Operator::Add, 5, 1),
            ("-", _) => (Operator::Subtract, 5, 1),
            ("*", _) => (Operator::Multiply, 6, 1),
            ("/", _) => (Operator::Divide, 6, 1),
            _ => return None,
        })
    }

    /// Operands joined by operators that bind tighter than `least`.
    fn binary(&mut self, least: u32) -> Expression {
        let mut left = self.unary();
        while let Some((operator, precedence, words)) = self.operator() {
            if precedence <= least || self.operators > MOST_OPERATORS {
                break;
            }
            self.operators += 1;
            self.at += words;
            let right = self.binary(precedence);
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        left
    }

    fn unary(&mut self) -> Expression {
        self.depth += 1;
        let result = if self.depth > DEEPEST { Expression::Unknown } else { self.unary_within() };
        self.depth -= 1;
        result
    }

    fn unary_within(&mut self) -> Expression {
        if self.take("!") {
            return Expression::Not(Box::new(self.unary()));
        }
        if self.take("(") {
            let inner = self.binary(0);
            return if self.take(")") { inner } else { Expression::Unknown };
        }
        match self.kind() {
            Kind::Number => {
                let number = number(self.text(0));
                self.at += 1;
                number.map_or(Expression::Unknown, Expression::Number)
            }
            Kind::Name => self.name(),
            _ => Expression::Unknown,
        }
    }

    fn name(&mut self) -> Expression {
        let name = self.text(0).to_string();
        self.at += 1;
        if name == "defined" {
            let parenthesised = self.take("(");
            let name = self.text(0).to_string();
            self.at += 1;
            let complete = !parenthesised || self.take(")");
            return if complete { Expression::Defined(name) } else { Expression::Unknown };
        }
        if !self.take("(") {
            return Expression::Name(name);
        }
        let argument = self.text(0).to_string();
        let mut depth = 1;
        while depth > 0 && self.at < self.tokens.len() {
            depth += i32::from(self.text(0) == "(") - i32::from(self.text(0) == ")");
            self.at += 1;
        }
        Expression::Call(name, argument)
    }
}

/// A number of C: decimal, octal or hexadecimal, with its suffix.
pub fn number(text: &str) -> Option<i64> {
    let text = text.replace('\'', "");
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    i64::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// `ARCH` is 900, `OLD` is not defined, of others nothing is known.
    struct Few;

    impl Macros for Few {
        fn is_defined(&self, name: &str) -> Option<bool> {
            match name {
                "ARCH" => Some(true),
                "OLD" => Some(false),
                _ => None,
            }
        }

        fn value(&self, name: &str) -> Option<i64> {
            (name == "ARCH").then_some(900)
        }

        fn call(&self, name: &str, argument: &str) -> Option<i64> {
            (name == "has").then_some(i64::from(argument == "this"))
        }
    }

    #[test]
    fn conditions_hold_or_do_not_or_are_open() {
        let of = |text: &str| Expression::read(text, Span::new(0, text.len() as u32)).holds(&Few);
        for (text, expected) in [
            ("ARCH >= 900", Some(true)),
            ("defined(ARCH) && (ARCH < 800)", Some(false)),
            ("defined ARCH && ARCH == 9*100", Some(true)),
            ("!defined(OLD)", Some(true)),
            ("defined(OLD) || ARCH >= 0x384", Some(true)),
            ("OTHER && ARCH < 900", Some(false)),
            ("OTHER || ARCH >= 900", Some(true)),
            ("OTHER && ARCH >= 900", None),
            ("!(OTHER)", None),
            ("has(this) && !has(that)", Some(true)),
            ("ARCH >= 800 && ARCH < 900 || 0", Some(false)),
            ("0", Some(false)),
            ("1'000u > 999", Some(true)),
            ("ARCH ? 1 : 0", None),
            ("(ARCH", None),
            ("", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        assert_eq!(of(&"(".repeat(100_000)), None);
        assert_eq!(of(&"!".repeat(100_000)), None);
        assert_eq!(of(&"1||".repeat(100_000)), None);
    }
}
