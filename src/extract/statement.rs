//! One `asm` statement: its words, the ways in which the preprocessor may choose among them, and what each
//! way means.

use std::cell::Cell;

use super::branch::Branch;
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
    branch: Branch,
    arms: Vec<Arm>,
    /// What was collected before it, and how deep in parentheses that was.
    before: Vec<Node>,
    depth: u32,
    /// Whether the words before it no longer belonged to the statement.
    behind: bool,
    /// The statement has ended in one of its arms.
    ended: bool,
}

/// Collects the words behind the `(` of a statement. `None`: it has no end, or is too deep.
pub fn collect<'a>(
    lexer: Lexer<'a>,
    condition: &mut dyn FnMut(Directive, Span) -> Guard,
) -> Option<Collected<'a>> {
    let collector =
        Collector { lexer, nodes: Vec::new(), open: Vec::new(), depth: 1, behind: false, crossing: None };
    collector.run(condition)
}

struct Collector<'a> {
    lexer: Lexer<'a>,
    nodes: Vec<Node>,
    open: Vec<Open>,
    depth: u32,
    /// The words of the arm here no longer belong to the statement.
    behind: bool,
    /// Where the arm that the statement began in ended before the statement did.
    crossing: Option<Lexer<'a>>,
}

impl<'a> Collector<'a> {
    fn run(mut self, condition: &mut dyn FnMut(Directive, Span) -> Guard) -> Option<Collected<'a>> {
        loop {
            let before = self.lexer.clone();
            let token = self.lexer.read();
            match token.kind {
                Kind::End | Kind::DefineEnd => return None,
                Kind::Directive(Directive::If | Directive::Ifdef | Directive::Ifndef)
                    if self.open.len() == Branch::DEEPEST =>
                {
                    return None;
                }
                Kind::Directive(Directive::Endif) if !self.open.is_empty() => {
                    if self.end_branch() {
                        return Some(self.finish(token.span.start));
                    }
                }
                Kind::Directive(directive) => self.directive(directive, token, before, condition)?,
                _ if self.behind => {}
                Kind::Punctuation(b')') if self.depth == 1 => match self.open.last_mut() {
                    None => return Some(self.finish(token.span.end)),
                    Some(open) => {
                        open.ended = true;
                        self.behind = true;
                    }
                },
                Kind::Punctuation(byte) => {
                    self.depth += u32::from(byte == b'(');
                    self.depth -= u32::from(byte == b')');
                    self.nodes.push(Node::Token(token));
                }
                _ => self.nodes.push(Node::Token(token)),
            }
        }
    }

    fn finish(self, end: u32) -> Collected<'a> {
        Collected { nodes: self.nodes, end, resume: self.crossing.unwrap_or(self.lexer) }
    }

    /// A directive, which stands at `before`; `None`: the text ends within it.
    fn directive(
        &mut self,
        directive: Directive,
        token: Token,
        before: Lexer<'a>,
        condition: &mut dyn FnMut(Directive, Span) -> Guard,
    ) -> Option<()> {
        match directive {
            Directive::If | Directive::Ifdef | Directive::Ifndef => self.open.push(Open {
                branch: Branch::new(condition(directive, token.span)),
                arms: Vec::new(),
                before: std::mem::take(&mut self.nodes),
                depth: self.depth,
                behind: self.behind,
                ended: false,
            }),
            Directive::Elif | Directive::Else => match self.open.last_mut() {
                Some(open) => {
                    let nodes = std::mem::take(&mut self.nodes);
                    open.arms.push(Arm { guards: open.branch.guards(), nodes });
                    let is_elif = directive == Directive::Elif;
                    open.branch.next(is_elif.then(|| condition(directive, token.span)));
                    (self.depth, self.behind) = (open.depth, open.behind);
                }
                None => {
                    self.crossing.get_or_insert(before);
                    skip_arms(&mut self.lexer)?;
                }
            },
            // That of an `#if` before the statement.
            Directive::Endif => {
                self.crossing.get_or_insert(before);
            }
            Directive::Define | Directive::Undef | Directive::Other => {}
        }
        Some(())
    }

    /// `#endif`: what its arms hold becomes one node. True: the statement has ended within them.
    fn end_branch(&mut self) -> bool {
        let Some(mut open) = self.open.pop() else { return false };
        open.arms.push(Arm { guards: open.branch.guards(), nodes: std::mem::take(&mut self.nodes) });
        if !open.branch.is_else() {
            open.branch.next(None);
            open.arms.push(Arm { guards: open.branch.guards(), nodes: Vec::new() });
        }
        self.nodes = open.before;
        self.nodes.push(Node::Choice(open.arms));
        self.behind = open.behind;
        self.depth = self.depth.max(1);
        if open.ended
            && let Some(outer) = self.open.last_mut()
        {
            // The rest of the arm around it is behind the statement, too.
            outer.ended = true;
            self.behind = true;
            return false;
        }
        open.ended
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
///
/// `parameters` are those of the macro around it, which hide other macros. False: there are more ways than are
/// looked at.
pub fn variants(
    text: &str,
    host: &Host,
    parameters: &[String],
    guards: &[Guard],
    nodes: &[Node],
) -> (Vec<Variant>, bool) {
    let reader = Reader { text, host, parameters, cut: Cell::new(false) };
    let outer = Way { guards: guards.to_vec(), tokens: Vec::new() };
    let ways = reader.ways(nodes).into_iter().filter_map(|way| outer.and(&way));
    let variants: Vec<Variant> = ways.map(|way| reader.variant(way, guards.len())).collect();
    let complete = !reader.cut.get() && !variants.is_empty();
    (variants, complete)
}

struct Reader<'a> {
    text: &'a str,
    host: &'a Host,
    parameters: &'a [String],
    /// There are more ways than are looked at.
    cut: Cell<bool>,
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
            let mut combined: Vec<Way> = pairs.take(MOST_VARIANTS + 1).collect();
            self.cut.set(self.cut.get() || combined.len() > MOST_VARIANTS);
            combined.truncate(MOST_VARIANTS);
            match (combined.is_empty(), node) {
                (false, _) => ways = combined,
                // A macro of which no definition is in force here is defined elsewhere.
                (true, Node::Token(token)) => ways.iter_mut().for_each(|way| way.tokens.push(*token)),
                (true, Node::Choice(_)) => self.cut.set(true),
            }
        }
        ways
    }

    /// The replacements of a macro that stands for literals.
    fn definitions(&self, token: Token) -> Option<Vec<Way>> {
        if token.kind != Kind::Name {
            return None;
        }
        let name = &self.text[token.span.range()];
        if self.parameters.iter().any(|parameter| parameter == name) {
            return None;
        }
        let definitions = self.host.macros.get(name)?;
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
                let (operand, whole) = self.operand(part, is_output);
                operands.extend(operand);
                if !whole {
                    unknown.get_or_insert(operands.len());
                }
            }
        }
        let named = |name: &str| {
            let found = operands.iter().position(|o: &Operand| o.name.as_deref() == Some(name));
            // It may be among those that cannot be read.
            found.or(unknown.map(|_| operands.len()))
        };
        let pieces = self.pieces(sections.first().copied().unwrap_or_default());
        let mut template = Template::new(&pieces, Dialect::Percent, &named);
        // A string that only the compiler knows.
        let is_text = |operand: &Operand| operand.constraint.as_deref() == Some("C");
        (0..operands.len()).filter(|n| is_text(&operands[*n])).for_each(|n| template.hide(n));
        // What cannot be read may hold the clobbers, too.
        let clobbers = sections.get(3).is_some_and(|clobbers| self.clobbers_memory(clobbers));
        let memory = clobbers || unknown.is_some();
        Variant {
            guards: way.guards.get(outer..).unwrap_or_default().to_vec(),
            template,
            operands_known: unknown.unwrap_or(usize::MAX),
            operands,
            memory,
            clobbers_registers: sections.get(3).is_some_and(|clobbers| self.clobbers_registers(clobbers)),
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

    /// `[name] "constraint" (expression)`; false: there is more that cannot be read, or nothing else.
    fn operand(&self, tokens: &[Token], is_output: bool) -> (Option<Operand>, bool) {
        let (name, rest) = match tokens {
            [open, name, close, rest @ ..] if open.is(b'[') && close.is(b']') => {
                (Some(self.text[name.span.range()].to_string()), rest)
            }
            rest => (None, rest),
        };
        // A macro before the constraint may be anything; one within it is a part of it.
        if rest.first().is_none_or(|first| first.kind != Kind::Text) {
            return (None, false);
        }
        let Some(open) = rest.iter().position(|token| token.is(b'(')) else { return (None, false) };
        let Some(close) = closing(&rest[open..]) else { return (None, false) };
        let (constraint, value) = (&rest[..open], &rest[open + 1..open + close]);
        let is_text = constraint.iter().all(|token| token.kind == Kind::Text);
        let letters = |token: &Token| literal::characters(self.text, token.span);
        let letters = constraint.iter().flat_map(letters).map(|(letter, _)| letter);
        let operand = Operand {
            span: tokens[0].span.to(rest[open + close].span),
            name,
            constraint: is_text.then(|| letters.collect()),
            constraint_span: constraint[0].span.to(constraint[constraint.len() - 1].span),
            value: self.value(value),
            is_output,
        };
        (Some(operand), open + close + 1 == rest.len())
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

    /// PTX has no registers that a statement could clobber.
    fn clobbers_registers(&self, tokens: &[Token]) -> bool {
        let texts = tokens.iter().filter(|token| token.kind == Kind::Text);
        let mut names = texts.map(|token| self.text[token.span.range()].trim_matches('"'));
        names.any(|name| !matches!(name, "memory" | "cc" | ""))
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

/// The index of the `)` that closes the `(` at the start.
fn closing(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0;
    tokens.iter().position(|token| {
        depth += i32::from(token.is(b'(')) - i32::from(token.is(b')'));
        depth == 0
    })
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
