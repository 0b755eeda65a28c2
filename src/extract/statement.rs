//! One `asm` statement: its words, the ways in which the preprocessor may choose among them, and what each
//! way means.

use super::condition::number;
use super::lex::{Directive, Kind, Lexer, Token};
use super::literal;
use super::template::{Dialect, HOLE, Piece, Template};
use super::{Body, Guard, Host, Operand, Variant};
use crate::source::Span;

/// A word, or words of which the preprocessor chooses some.
pub enum Node {
    /// A word.
    Token(Token),
    /// The arms of an `#if`.
    Choice(Vec<Arm>),
}

/// One arm of an `#if` within a statement.
pub struct Arm {
    guards: Vec<Guard>,
    nodes: Vec<Node>,
}

/// A statement's words between its parentheses.
pub struct Collected<'a> {
    /// The words.
    pub nodes: Vec<Node>,
    /// The end of the statement.
    pub end: u32,
    /// Where to go on.
    pub resume: Lexer<'a>,
}

/// An `#if` that began within the statement and is open.
struct Open {
    conditions: Vec<u32>,
    is_else: bool,
    arms: Vec<Arm>,
    /// What was collected before it.
    before: Vec<Node>,
    depth: u32,
    /// The statement has ended in one of its arms.
    ended: bool,
}

impl Open {
    fn guards(&self) -> Vec<Guard> {
        let last = self.conditions.len() - 1;
        let guard = |(index, &condition)| Guard { condition, holds: index == last && !self.is_else };
        self.conditions.iter().enumerate().map(guard).collect()
    }
}

/// Collects the words behind the `(` of a statement. `None`: it has no end.
pub fn collect<'a>(
    mut lexer: Lexer<'a>,
    condition: &mut dyn FnMut(Directive, Span) -> u32,
) -> Option<Collected<'a>> {
    let mut nodes = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut depth = 1u32;
    // The words of the arm here no longer belong to the statement.
    let mut behind = false;
    // Where the arm that the statement began in ended before the statement did.
    let mut crossing: Option<Lexer<'a>> = None;
    loop {
        let before = lexer.clone();
        let token = lexer.read();
        match token.kind {
            Kind::End | Kind::DefineEnd => return None,
            Kind::Directive(directive) => match directive {
                Directive::If | Directive::Ifdef | Directive::Ifndef => open.push(Open {
                    conditions: vec![condition(directive, token.span)],
                    is_else: false,
                    arms: Vec::new(),
                    before: std::mem::take(&mut nodes),
                    depth,
                    ended: false,
                }),
                Directive::Elif | Directive::Else => match open.last_mut() {
                    Some(open) => {
                        open.arms.push(Arm { guards: open.guards(), nodes: std::mem::take(&mut nodes) });
                        if directive == Directive::Else {
                            open.is_else = true;
                        } else {
                            open.conditions.push(condition(directive, token.span));
                        }
                        depth = open.depth;
                        behind = false;
                    }
                    None => {
                        crossing.get_or_insert(before);
                        skip_arms(&mut lexer)?;
                    }
                },
                Directive::Endif => match open.pop() {
                    Some(mut closed) => {
                        closed.arms.push(Arm { guards: closed.guards(), nodes: std::mem::take(&mut nodes) });
                        if !closed.is_else {
                            closed.is_else = true;
                            closed.arms.push(Arm { guards: closed.guards(), nodes: Vec::new() });
                        }
                        nodes = closed.before;
                        nodes.push(Node::Choice(closed.arms));
                        behind = false;
                        if closed.ended {
                            let resume = crossing.unwrap_or(lexer);
                            return Some(Collected { nodes, end: token.span.start, resume });
                        }
                        depth = depth.max(1);
                    }
                    None => {
                        crossing.get_or_insert(before);
                    }
                },
                _ => {}
            },
            _ if behind => {}
            Kind::Punctuation(b'(') => {
                depth += 1;
                nodes.push(Node::Token(token));
            }
            Kind::Punctuation(b')') if depth == 1 => match open.last_mut() {
                None => {
                    let resume = crossing.unwrap_or(lexer);
                    return Some(Collected { nodes, end: token.span.end, resume });
                }
                Some(open) => {
                    open.ended = true;
                    behind = true;
                }
            },
            Kind::Punctuation(byte) => {
                depth -= u32::from(byte == b')');
                nodes.push(Node::Token(token));
            }
            _ => nodes.push(Node::Token(token)),
        }
    }
}

/// Passes the other arms of an `#if` that began before the statement, `#endif` included.
fn skip_arms(lexer: &mut Lexer) -> Option<()> {
    let mut depth = 1;
    loop {
        match lexer.read().kind {
            Kind::Directive(Directive::If | Directive::Ifdef | Directive::Ifndef) => depth += 1,
            Kind::Directive(Directive::Endif) => {
                depth -= 1;
                if depth == 0 {
                    return Some(());
                }
            }
            Kind::End => return None,
            _ => {}
        }
    }
}

/// So many ways through a statement are looked at.
const MOST_VARIANTS: usize = 16;

/// The words of one way through a statement.
#[derive(Clone, Default)]
struct Way {
    guards: Vec<Guard>,
    tokens: Vec<Token>,
}

impl Way {
    /// The two one after the other; `None` where their conditions contradict each other.
    fn and(&self, next: &Way) -> Option<Way> {
        let opposite = |a: &Guard| next.guards.contains(&Guard { holds: !a.holds, ..*a });
        if self.guards.iter().any(opposite) {
            return None;
        }
        let mut way = self.clone();
        way.guards.extend(next.guards.iter().filter(|guard| !self.guards.contains(guard)));
        way.tokens.extend(&next.tokens);
        Some(way)
    }
}

/// What the statement with these words may mean.
pub fn variants(text: &str, host: &Host, guards: &[Guard], nodes: &[Node]) -> Vec<Variant> {
    let reader = Reader { text, host };
    let outer = Way { guards: guards.to_vec(), tokens: Vec::new() };
    let ways = reader.ways(nodes).into_iter().filter_map(|way| outer.and(&way));
    ways.map(|way| reader.variant(way, guards.len())).collect()
}

struct Reader<'a> {
    text: &'a str,
    host: &'a Host,
}

impl Reader<'_> {
    fn ways(&self, nodes: &[Node]) -> Vec<Way> {
        let mut ways = vec![Way::default()];
        for node in nodes {
            let next = match node {
                Node::Token(token) => match self.definitions(*token) {
                    Some(next) => next,
                    None => {
                        ways.iter_mut().for_each(|way| way.tokens.push(*token));
                        continue;
                    }
                },
                Node::Choice(arms) => {
                    let arm = |arm: &Arm| {
                        let inner = self.ways(&arm.nodes);
                        let own = Way { guards: arm.guards.clone(), tokens: Vec::new() };
                        inner.into_iter().filter_map(move |way| own.and(&way))
                    };
                    arms.iter().flat_map(arm).collect()
                }
            };
            let pairs = ways.iter().flat_map(|way| next.iter().filter_map(|next| way.and(next)));
            let combined: Vec<Way> = pairs.take(MOST_VARIANTS).collect();
            // Conditions that exclude each other in every way: better a wrong one than none.
            if !combined.is_empty() {
                ways = combined;
            }
        }
        ways
    }

    /// The replacements of a macro that stands for literals.
    fn definitions(&self, token: Token) -> Option<Vec<Way>> {
        if token.kind != Kind::Name {
            return None;
        }
        let definitions = self.host.macros.get(&self.text[token.span.range()])?;
        let way = |definition: &super::Definition| match &definition.body {
            Body::Text(tokens) => Some(Way { guards: definition.guards.clone(), tokens: tokens.clone() }),
            _ => None,
        };
        definitions.iter().map(way).collect()
    }

    fn variant(&self, way: Way, outer: usize) -> Variant {
        let sections = sections(&way.tokens);
        let (mut operands, mut unknown) = (Vec::new(), None);
        for (section, is_output) in sections.iter().skip(1).take(2).zip([true, false]) {
            for part in split(section, b',').flat_map(without_comma) {
                match self.operand(part, is_output) {
                    Some(operand) => operands.push(operand),
                    None => {
                        unknown.get_or_insert(operands.len());
                    }
                }
            }
        }
        let named = |name: &str| operands.iter().position(|o: &Operand| o.name.as_deref() == Some(name));
        let pieces = self.pieces(sections.first().copied().unwrap_or_default());
        let mut template = Template::new(&pieces, Dialect::Percent, &named);
        // A string that only the compiler knows.
        let is_text = |operand: &Operand| operand.constraint.as_deref() == Some("C");
        (0..operands.len()).filter(|n| is_text(&operands[*n])).for_each(|n| template.hide(n));
        let memory = sections.get(3).is_some_and(|clobbers| self.clobbers_memory(clobbers));
        Variant {
            guards: way.guards.get(outer..).unwrap_or_default().to_vec(),
            template,
            operands_known: unknown.unwrap_or(usize::MAX),
            operands,
            has_operands: sections.len() > 1,
            memory,
            excerpt: false,
        }
    }

    /// Literals and what stands between them.
    fn pieces(&self, tokens: &[Token]) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for token in tokens {
            match (token.kind, pieces.last_mut()) {
                (Kind::Text, _) => {
                    pieces.extend(parts(literal::characters(self.text, token.span)));
                }
                (_, Some(Piece::Splice(span))) => *span = span.to(token.span),
                _ => pieces.push(Piece::Splice(token.span)),
            }
        }
        pieces
    }

    /// `[name] "constraint" (expression)`
    fn operand(&self, tokens: &[Token], is_output: bool) -> Option<Operand> {
        let span = tokens.first()?.span.to(tokens.last()?.span);
        let (name, rest) = match tokens {
            [open, name, close, rest @ ..] if open.is(b'[') && close.is(b']') => {
                (Some(self.text[name.span.range()].to_string()), rest)
            }
            rest => (None, rest),
        };
        let open = rest.iter().position(|token| token.is(b'('))?;
        let (constraint, value) = rest.split_at(open);
        if constraint.is_empty() || !value.last()?.is(b')') {
            return None;
        }
        let is_text = constraint.iter().all(|token| token.kind == Kind::Text);
        // `F(x)` may be a whole operand or several.
        if !is_text
            && !constraint.iter().any(|token| token.kind == Kind::Text)
            && !is_constraint(self, constraint)
        {
            return None;
        }
        let letters = |token: &Token| literal::characters(self.text, token.span);
        let letters = constraint.iter().flat_map(letters).map(|(letter, _)| letter);
        Some(Operand {
            span,
            name,
            constraint: is_text.then(|| letters.collect()),
            constraint_span: constraint[0].span.to(constraint[constraint.len() - 1].span),
            value: self.value(&value[1..value.len() - 1]),
            is_output,
        })
    }

    fn value(&self, tokens: &[Token]) -> Option<i64> {
        match tokens {
            [only] if only.kind == Kind::Number => number(&self.text[only.span.range()]),
            [minus, only] if minus.is(b'-') && only.kind == Kind::Number => {
                number(&self.text[only.span.range()])?.checked_neg()
            }
            _ => None,
        }
    }

    fn clobbers_memory(&self, tokens: &[Token]) -> bool {
        tokens.iter().any(|token| match token.kind {
            Kind::Text => self.text[token.span.range()].contains("memory"),
            // A macro may be anything.
            Kind::Name => true,
            _ => false,
        })
    }
}

/// The parts of a literal between what is not known of it.
fn parts(characters: Vec<(char, Span)>) -> Vec<Piece> {
    if !characters.iter().any(|(c, _)| *c == HOLE) {
        return vec![Piece::Literal(characters)];
    }
    let is_hole = |(c, _): &(char, Span)| *c == HOLE;
    let part = |part: &[(char, Span)]| match part {
        [(HOLE, span)] => Piece::Splice(*span),
        known => Piece::Literal(known.to_vec()),
    };
    characters.chunk_by(|a, b| !is_hole(a) && !is_hole(b)).map(part).collect()
}

/// `MACRO (x)` with a blank, or a name that tells: the constraint is a macro.
fn is_constraint(reader: &Reader, tokens: &[Token]) -> bool {
    let [only] = tokens else { return false };
    let name = reader.text[only.span.range()].to_ascii_uppercase();
    name.contains("CONSTRAINT") || name.contains("PTR")
}

/// The parts between the colons.
fn sections(tokens: &[Token]) -> Vec<&[Token]> {
    split_at(tokens, b':')
}

/// The parts between `byte`, none if there are no words at all.
fn split(tokens: &[Token], byte: u8) -> impl Iterator<Item = &[Token]> {
    split_at(tokens, byte).into_iter().filter(|part| !part.is_empty())
}

/// Compilers take operands without a comma between them: a constraint behind `)` begins the next one.
fn without_comma(tokens: &[Token]) -> Vec<&[Token]> {
    let begins = |pair: &[Token]| pair[0].is(b')') && (pair[1].kind == Kind::Text || pair[1].is(b'['));
    let starts = tokens.windows(2).enumerate().filter(|(_, pair)| begins(pair)).map(|(index, _)| index + 1);
    let mut parts = Vec::new();
    let mut start = 0;
    for next in starts.chain([tokens.len()]) {
        let depth = |part: &[Token], byte| part.iter().filter(|token| token.is(byte)).count();
        let part = &tokens[start..next];
        if depth(part, b'(') == depth(part, b')') {
            parts.push(part);
            start = next;
        }
    }
    parts
}

fn split_at(tokens: &[Token], byte: u8) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0i32);
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Punctuation(b'(' | b'[' | b'{') => depth += 1,
            Kind::Punctuation(b')' | b']' | b'}') => depth -= 1,
            Kind::Punctuation(found) if found == byte && depth == 0 => {
                parts.push(&tokens[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    parts
}
