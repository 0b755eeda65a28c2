//! A walk over a text of C, C++ or CUDA that finds its `asm` statements and what stands around them.

use rustc_hash::FxHashMap;

use super::branch::Branch;
use super::condition::Expression;
use super::lex::{self, Directive, Kind, Lexer, Token};
use super::statement::{self, Node};
use super::{Asm, Body, Definition, Guard, Host};
use crate::source::Span;

/// Finds the `asm` statements of `text`.
pub fn scan(text: &str) -> Host {
    // Most files have none.
    if !text.contains("asm") {
        return Host::default();
    }
    let mut scanner = Scanner {
        lexer: Lexer::new(text),
        text,
        host: Host::default(),
        numbers: FxHashMap::default(),
        arms: Vec::new(),
        scopes: Vec::new(),
        parentheses: Vec::new(),
        candidate: Candidate::default(),
        macro_name: None,
        parameters: Vec::new(),
        found: Vec::new(),
        failures: 0,
    };
    scanner.run();
    let Scanner { mut host, found, .. } = scanner;
    host.comments = lex::comments(text);
    host.is_cuda = ["__device__", "__global__"].iter().any(|word| text.contains(word));
    // Macros may stand behind their uses, so all of them are known first.
    let statements = found.into_iter().map(|found| finish(text, &host, found)).collect();
    host.statements = statements;
    host
}

/// A statement whose words have been collected.
struct Found {
    span: Span,
    volatile: bool,
    function: Option<Span>,
    guards: Vec<Guard>,
    arguments: Vec<String>,
    /// The parameters of the macro that it stands in.
    parameters: Vec<String>,
    declarator: bool,
    nodes: Vec<Node>,
}

fn finish(text: &str, host: &Host, found: Found) -> Asm {
    let Found { span, volatile, function, guards, arguments, parameters, declarator, nodes } = found;
    let (variants, complete) = statement::variants(text, host, &parameters, &guards, &nodes);
    Asm { span, volatile, declarator, function, guards, arguments, variants, complete }
}

/// One `#if` that is open.
struct Arm {
    branch: Branch,
    /// Number of scopes, parentheses at the `#if`.
    scopes: usize,
    parentheses: usize,
}

/// What `{` opened.
#[derive(Clone, Copy)]
enum Scope {
    Function(Span),
    Other,
}

/// A `(` that is open: the argument before the present one, if it is a single name.
#[derive(Default)]
struct Parenthesis {
    /// The name that is the whole present argument so far.
    single: Option<Span>,
    /// The present argument holds more, or nothing yet.
    words: u32,
    /// The last argument that was a single name.
    argument: Option<Span>,
}

/// The name of the function that may be declared here.
#[derive(Default)]
struct Candidate {
    name: Option<Span>,
    /// A `:` that begins a list of initialisers has come, so that names that follow are none.
    closed: bool,
}

struct Scanner<'a> {
    lexer: Lexer<'a>,
    text: &'a str,
    host: Host,
    /// The numbers of the conditions that have come.
    numbers: FxHashMap<String, u32>,
    arms: Vec<Arm>,
    scopes: Vec<Scope>,
    parentheses: Vec<Parenthesis>,
    candidate: Candidate,
    /// The macro that is being defined, and its parameters.
    macro_name: Option<Span>,
    parameters: Vec<String>,
    found: Vec<Found>,
    /// Statements without an end.
    failures: u32,
}

/// After so many statements without an end a text is taken for something else: each is looked for to the end.
const MOST_FAILURES: u32 = 16;

/// Words that stand before `(` and are no functions.
const NO_FUNCTIONS: &[&str] = &[
    "if",
    "for",
    "while",
    "switch",
    "return",
    "sizeof",
    "alignas",
    "alignof",
    "decltype",
    "noexcept",
    "requires",
    "catch",
    "explicit",
    "constexpr",
    "static_assert",
    "defined",
    "do",
    "else",
    "operator",
    "__attribute__",
    "__launch_bounds__",
    "__align__",
    "__declspec",
    "__cluster_dims__",
    "__maxnreg__",
    "__block_size__",
];

/// Words behind `asm` that leave it an `asm` statement.
const QUALIFIERS: &[&str] = &["volatile", "__volatile__", "__volatile", "inline", "__inline__", "goto"];

impl<'a> Scanner<'a> {
    fn run(&mut self) {
        let mut last = None;
        loop {
            let token = self.lexer.read();
            match token.kind {
                Kind::End => return,
                Kind::Directive(directive) => {
                    self.directive(directive, token.span);
                    continue;
                }
                Kind::DefineEnd => {
                    self.macro_name = None;
                    continue;
                }
                Kind::Name if matches!(self.slice(token), "asm" | "__asm__" | "__asm") => {
                    self.asm(token, last)
                }
                Kind::Punctuation(byte) => self.punctuation(byte, last),
                _ => {}
            }
            self.count_argument(token);
            last = Some(token);
        }
    }

    fn slice(&self, token: Token) -> &'a str {
        &self.text[token.span.range()]
    }

    /// Keeps track of functions, scopes and arguments.
    fn punctuation(&mut self, byte: u8, last: Option<Token>) {
        let name = last.filter(|last| last.kind == Kind::Name).map(|last| last.span);
        match byte {
            b'(' => {
                let is_function = name.filter(|name| !NO_FUNCTIONS.contains(&&self.text[name.range()]));
                if self.parentheses.is_empty() && !self.candidate.closed && is_function.is_some() {
                    self.candidate.name = is_function;
                }
                self.parentheses.push(Parenthesis::default());
            }
            b')' => {
                self.parentheses.pop();
            }
            b':' if self.parentheses.is_empty() && self.candidate.name.is_some() => {
                self.candidate.closed = !last.is_some_and(|last| last.is(b':'));
            }
            b';' if self.parentheses.is_empty() => self.candidate = Candidate::default(),
            b'{' => {
                let inside = self.scopes.iter().any(|scope| matches!(scope, Scope::Function(_)));
                let name = self.candidate.name.filter(|_| !inside && self.parentheses.is_empty());
                self.scopes.push(name.map_or(Scope::Other, Scope::Function));
                self.candidate = Candidate::default();
            }
            b'}' => {
                self.scopes.pop();
                self.candidate = Candidate::default();
            }
            _ => {}
        }
    }

    fn count_argument(&mut self, token: Token) {
        let Some(open) = self.parentheses.last_mut() else { return };
        match token.kind {
            Kind::Punctuation(b',') => {
                if open.words == 1 {
                    open.argument = open.single;
                }
                *open = Parenthesis { argument: open.argument, ..Parenthesis::default() };
            }
            Kind::Punctuation(b'(')
                if open.words == 0 && open.single.is_none() && open.argument.is_none() => {}
            _ => {
                open.words += 1;
                open.single = (token.kind == Kind::Name && open.words == 1).then_some(token.span);
            }
        }
    }

    fn directive(&mut self, directive: Directive, span: Span) {
        match directive {
            Directive::If | Directive::Ifdef | Directive::Ifndef => {
                let condition = self.condition(directive, span);
                let (scopes, parentheses) = (self.scopes.len(), self.parentheses.len());
                self.arms.push(Arm { branch: Branch::new(condition), scopes, parentheses });
            }
            Directive::Elif => {
                let condition = self.condition(directive, span);
                if let Some(arm) = self.arms.last_mut() {
                    arm.branch.next(Some(condition));
                    self.back_to_arm();
                }
            }
            Directive::Else => {
                if let Some(arm) = self.arms.last_mut() {
                    arm.branch.next(None);
                    self.back_to_arm();
                }
            }
            Directive::Endif => {
                self.arms.pop();
            }
            Directive::Define => self.define(span),
            Directive::Undef => self.undefine(span),
            Directive::Other => {}
        }
    }

    /// Another arm begins where the first one did.
    fn back_to_arm(&mut self) {
        let Some(arm) = self.arms.last() else { return };
        self.scopes.truncate(arm.scopes);
        self.parentheses.truncate(arm.parentheses);
    }

    /// The condition of a directive. Negations are taken off, so that a condition and its opposite are one.
    fn condition(&mut self, directive: Directive, span: Span) -> Guard {
        let line = &self.text[span.range()];
        let word = line.trim_start_matches('#').trim_start();
        let length = word.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (word, rest) = word.split_at(length);
        let place = Span::new(span.end - rest.len() as u32, span.end);
        let expression = match (directive, word) {
            (Directive::Ifdef, _) | (_, "elifdef") => Expression::Defined(first_word(rest)),
            (Directive::Ifndef, _) | (_, "elifndef") => {
                Expression::Not(Box::new(Expression::Defined(first_word(rest))))
            }
            _ => Expression::read(self.text, place),
        };
        let (mut expression, mut holds) = (expression, true);
        while let Expression::Not(inner) = expression {
            (expression, holds) = (*inner, !holds);
        }
        // The same condition in other places is the same number.
        let key = match &expression {
            Expression::Unknown => rest.split_whitespace().collect::<Vec<_>>().join(" "),
            known => format!("{known:?}"),
        };
        let next = self.host.conditions.len() as u32;
        let condition = *self.numbers.entry(key).or_insert_with(|| {
            self.host.conditions.push(expression);
            next
        });
        Guard { condition, holds }
    }

    /// The conditions of all arms that are open.
    fn guards(&self) -> Vec<Guard> {
        let innermost = self.arms.len().saturating_sub(Branch::DEEPEST);
        self.arms[innermost..].iter().flat_map(|arm| arm.branch.guards()).collect()
    }

    fn define(&mut self, span: Span) {
        let head = &self.text[span.range()];
        let rest = head.trim_start_matches('#').trim_start().trim_start_matches("define");
        let name = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
        let start = span.end - name.len() as u32;
        let length = name.find('(').unwrap_or(name.len());
        self.macro_name = Some(Span::new(start, start + length as u32));
        let list = name[length..].trim_matches(['(', ')']).split(',');
        self.parameters = list.map(|word| word.trim().to_string()).collect();
        // Parameters may change the replacement.
        let body = if length < name.len() { Body::Other } else { self.replacement() };
        let definition = Definition { guards: self.guards(), body };
        self.host.macros.entry(name[..length].to_string()).or_default().push(definition);
    }

    /// The replacement of the macro whose head has just been read, without going on.
    fn replacement(&self) -> Body {
        let mut ahead = self.lexer.clone();
        let mut tokens = Vec::new();
        loop {
            let token = ahead.read();
            match token.kind {
                Kind::DefineEnd | Kind::End => break,
                _ if tokens.len() > 64 => return Body::Other,
                _ => tokens.push(token),
            }
        }
        if tokens.iter().all(|token| token.kind == Kind::Text) {
            return Body::Text(tokens);
        }
        let whole = tokens.first().zip(tokens.last()).map(|(first, last)| first.span.to(last.span));
        match whole.map(|whole| Expression::read(self.text, whole)) {
            None | Some(Expression::Unknown) => Body::Other,
            Some(expression) => Body::Value(expression),
        }
    }

    fn undefine(&mut self, span: Span) {
        let rest = self.text[span.range()].trim_start_matches('#').trim_start().trim_start_matches("undef");
        let definition = Definition { guards: self.guards(), body: Body::Undefined };
        self.host.macros.entry(first_word(rest)).or_default().push(definition);
    }

    /// Reads a statement behind its keyword; leaves the lexer where reading goes on.
    fn asm(&mut self, keyword: Token, before: Option<Token>) {
        // `int f(int) asm("name");` names a symbol.
        let declarator = before.is_some_and(|token| match token.kind {
            Kind::Name => !matches!(self.slice(token), "else" | "do" | "return"),
            kind => matches!(kind, Kind::Punctuation(b')' | b']')),
        });
        let mut ahead = self.lexer.clone();
        let (mut volatile, mut goto) = (false, false);
        loop {
            let token = ahead.read();
            match token.kind {
                Kind::Name if QUALIFIERS.contains(&self.slice(token)) => {
                    volatile |= self.slice(token).contains("volatile");
                    goto |= self.slice(token) == "goto";
                }
                Kind::Punctuation(b'(') if !goto => break,
                Kind::Punctuation(b'(') => {
                    self.host.unread += 1;
                    return;
                }
                _ => return,
            }
        }
        if self.failures > MOST_FAILURES {
            return;
        }
        let condition = &mut |directive, span| self.condition(directive, span);
        let Some(collected) = statement::collect(ahead, condition) else {
            self.failures += 1;
            self.host.unread += 1;
            return;
        };
        self.lexer = collected.resume;
        let innermost = self.scopes.iter().rev().find_map(|scope| match scope {
            Scope::Function(name) => Some(*name),
            Scope::Other => None,
        });
        let arguments = self.parentheses.iter().filter_map(|open| open.argument);
        let arguments = arguments.map(|name| self.text[name.range()].to_string()).collect();
        self.found.push(Found {
            span: Span::new(keyword.span.start, collected.end),
            volatile,
            function: self.macro_name.or(innermost),
            guards: self.guards(),
            arguments,
            parameters: self.macro_name.map_or_else(Vec::new, |_| self.parameters.clone()),
            declarator,
            nodes: collected.nodes,
        });
    }
}

fn first_word(text: &str) -> String {
    let rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
    rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}
