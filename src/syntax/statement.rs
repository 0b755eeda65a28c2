//! The statements of a body (PTX ISA §4.3), in a loop that goes on after every error.

use super::ast::{
    Body, Function, Guard, Instruction, Item, Name, OpcodeId, OperandKind, Prototype, Statement,
    StatementKind, Targets,
};
use super::ast::{Const, Operand};
use super::complain;
use super::declaration;
use super::directive;
use super::expr;
use super::operand;
use super::parser::Parser;
use super::rules::{SYNTAX_ERROR, UNBALANCED_BRACES};
use super::token::{Kind, PResult, Token, Tokens};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::source::Span;

/// Stands for the `{` of a `}` that has none in its text.
const NO_PARTNER: u32 = u32::MAX;

/// The statements read so far, and which blocks are open.
struct Statements {
    list: Vec<Statement>,
    /// Indices of `{`.
    open: Vec<u32>,
}

impl Statements {
    fn push(&mut self, span: Span, kind: StatementKind) {
        self.list.push(Statement { span, kind });
    }
}

impl<'a> Parser<'a> {
    /// A body behind its `{`, which is `open`.
    pub fn body(&mut self, open: Span) -> Body {
        self.body_in(Some(open))
    }

    /// Statements up to the end of the text, as a function without a name.
    pub fn statements_alone(&mut self) -> Item {
        let name = Name { symbol: self.names.intern(""), span: Span::empty(0) };
        let body = self.body_in(None);
        Item::Function(Box::new(Function {
            span: self.since(0),
            linkage: None,
            is_entry: false,
            name,
            returns: Vec::new(),
            parameters: Vec::new(),
            directives: Vec::new(),
            body: Some(body),
        }))
    }

    /// A body: behind its `{`, or without braces.
    fn body_in(&mut self, open: Option<Span>) -> Body {
        let mut statements = Statements { list: Vec::new(), open: Vec::new() };
        let close = loop {
            match self.kind() {
                Kind::Ident if self.kind_at(1) == Kind::Colon => self.label(&mut statements),
                Kind::Ident if self.c_begins() => self.skip_c(&mut statements),
                Kind::Ident if self.is_bare_label() => self.bare_label(&mut statements),
                Kind::Ident => self.instruction(&mut statements, None),
                Kind::Word if open.is_some() && self.module_goes_on() => {
                    break self.missing_close(open.unwrap_or_default(), &statements);
                }
                Kind::Word => self.declaration_or_directive(&mut statements),
                Kind::At => self.guarded(&mut statements),
                Kind::LBrace => self.open(&mut statements),
                Kind::RBrace => {
                    let close = self.bump().span();
                    let opened = match (statements.open.pop(), open) {
                        (Some(opened), _) => opened,
                        (None, Some(_)) => break close,
                        (None, None) => NO_PARTNER,
                    };
                    let index = statements.list.len() as u32;
                    if let Some(opened) = statements.list.get_mut(opened as usize) {
                        opened.kind = StatementKind::Open { close: index };
                    }
                    statements.push(close, StatementKind::Close { open: opened });
                }
                Kind::Semi => {
                    let span = self.stray_semicolons();
                    statements.push(span, StatementKind::Error);
                }
                Kind::Eof => match open {
                    Some(open) => break self.missing_close(open, &statements),
                    None => break Span::empty(self.end()),
                },
                _ => {
                    complain::unexpected(self.input(), "an instruction, a declaration or `}`");
                    self.broken(&mut statements);
                }
            }
        };
        let end = statements.list.len() as u32;
        for &index in &statements.open {
            statements.list[index as usize].kind = StatementKind::Open { close: end };
        }
        statements.list.shrink_to_fit();
        Body { open: open.unwrap_or_default(), close, statements: statements.list }
    }

    fn open(&mut self, statements: &mut Statements) {
        let span = self.bump().span();
        statements.open.push(statements.list.len() as u32);
        statements.push(span, StatementKind::Open { close: 0 });
    }

    /// Skips a statement of which a diagnostic has been reported.
    fn broken(&mut self, statements: &mut Statements) {
        let start = self.peek().start;
        let before = self.at;
        self.recover();
        if self.at == before {
            self.bump();
        }
        statements.push(self.since(start), StatementKind::Error);
    }

    /// Whether the word here belongs to the module, so that this body must have ended.
    fn module_goes_on(&self) -> bool {
        let is_function = |text| matches!(text, ".entry" | ".func");
        match self.text() {
            ".entry" | ".func" | ".version" | ".target" | ".address_size" | ".section" | ".alias" => true,
            ".visible" | ".weak" | ".extern" | ".common" => is_function(self.text_at(1)),
            _ => false,
        }
    }

    #[cold]
    fn missing_close(&self, open: Span, statements: &Statements) -> Span {
        let place = self.peek();
        if place.kind() == Kind::Eof && self.context.reported_behind(self.end()) {
            // A comment without an end has swallowed the rest.
            return Span::empty(self.end());
        }
        let innermost = statements.open.last().map(|&at| statements.list[at as usize].span);
        let count = statements.open.len() + 1;
        let what = if place.kind() == Kind::Eof {
            "the end of the file".to_string()
        } else {
            format!("`{}`", self.context.slice(place.span()))
        };
        let message = match count {
            1 => format!("expected `}}`, found {what}"),
            _ => format!("expected {count} `}}`, found {what}"),
        };
        let report = Diagnostic::new(&UNBALANCED_BRACES, place.span(), message)
            .label("the function's body is still open here")
            .also(innermost.unwrap_or(open), "this `{` is not closed");
        self.report(report.fix(
            Applicability::Unsafe,
            if count == 1 { "insert `}`".to_string() } else { format!("insert {count} `}}`") },
            Span::empty(self.end()),
            format!("\n{}", "}".repeat(count.min(64))),
        ));
        Span::empty(self.end())
    }

    fn label(&mut self, statements: &mut Statements) {
        let name = operand::to_name(self.bump());
        self.bump();
        let start = name.span.start;
        if self.kind() == Kind::Word {
            match self.text() {
                ".callprototype" => {
                    let kind = self.run(|input| prototype(input, name));
                    return self.finish(
                        statements,
                        start,
                        kind.map(|p| StatementKind::Prototype(Box::new(p))),
                    );
                }
                ".calltargets" | ".branchtargets" => {
                    let kind = self.run(|input| targets(input, name));
                    return self.finish(statements, start, kind.map(|t| StatementKind::Targets(Box::new(t))));
                }
                _ => {}
            }
        }
        statements.push(self.since(start), StatementKind::Label(name));
    }

    /// Whether `if (` or the like begins here.
    fn c_begins(&self) -> bool {
        matches!(self.kind_at(1), Kind::LParen | Kind::LBrace) && complain::begins_c(self.text())
    }

    /// Skips `if (…)`; what it controls is read as usual.
    #[cold]
    fn skip_c(&mut self, statements: &mut Statements) {
        complain::control_flow_of_c(self.input());
        let start = self.bump().start;
        let mut depth = 0u32;
        loop {
            match self.kind() {
                Kind::LParen => depth += 1,
                Kind::RParen if depth > 0 => depth -= 1,
                Kind::Eof | Kind::LBrace | Kind::RBrace => break,
                _ if depth == 0 => break,
                _ => {}
            }
            self.bump();
        }
        statements.push(self.since(start), StatementKind::Error);
    }

    /// Whether the name here is a label without its `:`: no instruction looks like it, something else
    /// begins behind it, and it is branched to.
    fn is_bare_label(&self) -> bool {
        let next = self.kind_at(1);
        let begins = matches!(next, Kind::Ident | Kind::At | Kind::RBrace | Kind::LBrace);
        begins && (self.on_new_line(1) || label_like(self.text())) && self.is_used_nearby()
    }

    /// Whether the name here stands as the operand of an instruction nearby.
    fn is_used_nearby(&self) -> bool {
        let symbol = self.peek().symbol();
        let window = self.at.saturating_sub(NEARBY)..(self.at + NEARBY).min(self.tokens.len());
        window.filter(|&at| at != self.at && self.tokens[at].symbol() == symbol).any(|at| {
            let before = |back: usize| at.checked_sub(back).map_or(Kind::Eof, |at| self.tokens[at].kind());
            let guard = matches!(before(2), Kind::At | Kind::Bang);
            let ends = self.tokens.get(at + 1).is_some_and(|next| next.kind() == Kind::Semi);
            ends && matches!(before(1), Kind::Ident | Kind::Word) && !guard
        })
    }

    #[cold]
    fn bare_label(&mut self, statements: &mut Statements) {
        let name = operand::to_name(self.peek());
        complain::label_without_colon(self.input(), name.span);
        self.bump();
        statements.push(name.span, StatementKind::Label(name));
    }

    /// Takes the `;` and adds the statement, or skips the broken one.
    fn finish(&mut self, statements: &mut Statements, start: u32, kind: Option<StatementKind>) {
        let Some(kind) = kind else {
            let before = self.at;
            self.recover();
            if self.at == before {
                self.bump();
            }
            return statements.push(self.since(start), StatementKind::Error);
        };
        self.semicolon(start);
        statements.push(self.since(start), kind);
    }

    fn declaration_or_directive(&mut self, statements: &mut Statements) {
        let start = self.peek().start;
        let text = self.text();
        // Compiled code has a `.loc` in every other line.
        if text != ".loc" && declaration::begins(text) {
            let input = self.input();
            let variable = self.run(declaration::variable);
            if let Some(linkage) = variable.as_ref().and_then(|variable| variable.linkage) {
                declaration::linkage_in_body(input, linkage);
            }
            let kind = variable.map(|variable| StatementKind::Variable(Box::new(variable)));
            self.finish(statements, start, kind);
            if let Some(Statement { span, kind: StatementKind::Variable(variable) }) =
                statements.list.last_mut()
            {
                variable.span = *span;
            }
            return;
        }
        if !matches!(text, ".pragma" | ".loc" | ".loc_intermediate" | ".file") {
            self.report(unknown_directive(self.input()));
            return self.broken(statements);
        }
        let kind = self.run(directive::directive).map(|d| StatementKind::Directive(Box::new(d)));
        if kind.is_none() || directive::takes_semicolon(text) {
            return self.finish(statements, start, kind);
        }
        if let Some(kind) = kind {
            statements.push(self.since(start), kind);
        }
    }

    fn guarded(&mut self, statements: &mut Statements) {
        let start = self.peek().start;
        let Some(guard) = self.run(operand::guard) else {
            return self.broken(statements);
        };
        match self.kind() {
            Kind::Ident => self.instruction(statements, Some(guard)),
            Kind::LBrace => {
                self.report(guarded_block(self.input(), guard));
                statements.push(self.since(start), StatementKind::Error);
            }
            Kind::Word if declaration::begins(self.text()) => {
                let message = format!("a guard cannot stand before `{}`", self.text());
                self.report(
                    Diagnostic::new(&SYNTAX_ERROR, guard.span, message)
                        .note("only instructions can be guarded: a declaration is no action")
                        .fix(Applicability::Safe, "remove the guard", guard.span, ""),
                );
                statements.push(self.since(start), StatementKind::Error);
            }
            Kind::At => {
                complain::unexpected_with(self.input(), "an instruction", |diagnostic| {
                    diagnostic
                        .note("an instruction has one guard")
                        .help("combine the two with `and.pred` into one predicate")
                });
                self.broken(statements);
            }
            _ => {
                complain::unexpected(self.input(), "an instruction behind the guard");
                self.broken(statements);
            }
        }
    }

    /// An instruction from its opcode on.
    fn instruction(&mut self, statements: &mut Statements, guard: Option<Guard>) {
        let first = self.bump();
        let start = guard.map_or(first.start, |guard| guard.span.start);
        let first_operand = self.operands.len() as u32;
        let (opcode, opcode_span) = self.opcode(first);
        let in_call = self.context.text.as_bytes()[first.start as usize] == b'c'
            && self.context.slice(first.span()) == "call";
        match self.kind() {
            Kind::Semi => {
                self.bump();
            }
            // A target may stand on a line of its own.
            _ if self.statement_begins() && !(self.kind_at(1) == Kind::Semi && self.names_a_label()) => {
                self.missing_semicolon(start);
            }
            _ => self.operand_list(start, in_call, first),
        }
        let operands = first_operand..self.operands.len() as u32;
        let kind = StatementKind::Instruction(Instruction { guard, opcode, opcode_span, operands });
        statements.push(self.since(start), kind);
    }

    /// The modifiers behind `first`, and all of it as one opcode.
    fn opcode(&mut self, first: Token) -> (OpcodeId, Span) {
        let begin = self.at;
        let mut end = first.end;
        let mut blanks = false;
        let mut colons = false;
        while self.kind() == Kind::Word || !colons && self.is_single_colon(end) {
            if self.kind() == Kind::Colon {
                complain::single_colon(self.input(), self.tokens[self.at - 1].span());
                // The instruction is kept without what stands behind the colon, and not judged.
                let colon = self.bump().span();
                self.operands.push(Operand { span: colon, kind: OperandKind::Error });
                colons = true;
            } else if self.peek().start != end {
                let text = self.text();
                if matches!(text, ".reg" | ".loc" | ".pragma") && self.on_new_line(0) {
                    break;
                }
                blanks = true;
            }
            end = self.bump().end;
        }
        let span = Span::new(first.start, end);
        let symbol = if blanks || colons {
            let words = self.tokens[begin..self.at].iter().filter(|token| token.kind() == Kind::Word);
            let words = std::iter::once(&first).chain(words);
            let text: String = words.map(|word| self.context.slice(word.span())).collect();
            self.opcodes.intern(&text)
        } else {
            self.opcodes.intern(self.context.slice(span))
        };
        (OpcodeId(symbol.0), span)
    }

    /// Whether `.shared:cta` goes on here with its colon.
    fn is_single_colon(&self, end: u32) -> bool {
        let glued = |ahead: usize, end: u32| self.tokens.get(self.at + ahead).is_some_and(|t| t.start == end);
        self.kind() == Kind::Colon
            && self.kind_at(1) == Kind::Ident
            && self.at > 0
            && self.tokens[self.at - 1].kind() == Kind::Word
            && glued(0, end)
            && glued(1, end + 1)
    }

    /// Operands up to and with the `;`. What cannot be read becomes an error operand.
    fn operand_list(&mut self, start: u32, in_call: bool, first: Token) {
        loop {
            if self.kind() == Kind::Comma {
                let found = self.peek().span();
                self.operands.push(operand::missing(self.input(), found));
            } else {
                match self.run(|input| operand::operand(input, in_call)) {
                    Some(operand) => self.operands.push(operand),
                    None => return self.broken_operand(),
                }
            }
            match self.kind() {
                Kind::Comma => {
                    self.bump();
                    if self.kind() == Kind::Semi || self.statement_surely_ended() {
                        return self.trailing_comma();
                    }
                }
                Kind::Semi => {
                    self.bump();
                    return;
                }
                _ if self.statement_begins() => return self.missing_semicolon(start),
                _ => {
                    self.no_comma(first);
                    return self.broken_operand();
                }
            }
        }
    }

    /// Whether the next line cannot be an operand.
    fn statement_surely_ended(&self) -> bool {
        match self.kind() {
            Kind::RBrace | Kind::Eof => true,
            Kind::At | Kind::Word => self.on_new_line(0),
            Kind::Ident => {
                self.on_new_line(0)
                    && (self.kind_at(1) == Kind::Colon
                        || self.kind_at(1) == Kind::Word && operand::component(self.text_at(1)).is_none())
            }
            _ => false,
        }
    }

    #[cold]
    fn broken_operand(&mut self) {
        let start = self.peek().start;
        self.recover();
        self.operands.push(Operand { span: self.since(start), kind: OperandKind::Error });
    }

    #[cold]
    fn trailing_comma(&mut self) {
        let comma = self.tokens[self.at - 1].span();
        let has_semicolon = self.kind() == Kind::Semi;
        self.report(
            Diagnostic::new(&SYNTAX_ERROR, comma, "an operand is missing behind this `,`")
                .label("expected an operand behind this")
                .fix(
                    Applicability::Unsafe,
                    if has_semicolon { "remove the `,`" } else { "end the statement with `;` instead" },
                    comma,
                    if has_semicolon { "" } else { ";" },
                ),
        );
        self.operands.push(Operand { span: Span::empty(comma.end), kind: OperandKind::Error });
        if has_semicolon {
            self.bump();
        }
    }

    /// Something stands behind an operand that is neither `,` nor `;`.
    #[cold]
    fn no_comma(&self, first: Token) {
        let opcode = self.context.slice(first.span());
        let input = self.input();
        let before = self.end();
        complain::unexpected_with(input, "`,` or `;`", |diagnostic| match self.kind() {
            Kind::Word if opcode.starts_with('%') => {
                diagnostic.note(format!("`{opcode}` is a name and no instruction")).fix(
                    Applicability::Safe,
                    format!("write `@{opcode}` to guard the instruction"),
                    Span::empty(first.start),
                    "@",
                )
            }
            Kind::Ident if remainder(self.text()) => {
                diagnostic.note(format!("`{}` without a blank reads as a name", self.text())).fix(
                    Applicability::Safe,
                    format!("write `% {}`", &self.text()[1..]),
                    Span::new(input.peek().start, input.peek().start + 1),
                    " % ",
                )
            }
            Kind::Word => diagnostic.note(format!(
                "`{}` is no component of a register; there are `.x .y .z .w` and `.r .g .b .a`",
                self.text()
            )),
            Kind::LBracket
            | Kind::LBrace
            | Kind::Ident
            | Kind::Int
            | Kind::Float
            | Kind::F32
            | Kind::F64
            | Kind::WarpSize
            | Kind::Underscore => diagnostic.fix(
                Applicability::Unsafe,
                "insert `,` between the operands",
                Span::empty(before),
                ",",
            ),
            Kind::Colon if self.on_new_line(1) => {
                diagnostic.fix(Applicability::Unsafe, "write `;`", input.peek().span(), ";")
            }
            Kind::Colon => {
                diagnostic.help("`::` joins the parts of one modifier, as in `.shared::cta`, without blanks")
            }
            _ => diagnostic,
        });
    }
}

/// So many tokens around a name are looked through for a branch to it.
const NEARBY: usize = 200;

/// Whether a name has what no instruction has.
fn label_like(name: &str) -> bool {
    name.starts_with('_') || name.bytes().any(|byte| byte == b'$' || byte.is_ascii_uppercase())
}

/// Whether a name such as `%3` was meant as the operator `%` and a number.
fn remainder(name: &str) -> bool {
    name.strip_prefix('%').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}

#[cold]
fn unknown_directive(input: Tokens<'_>) -> Diagnostic {
    let text = input.text();
    let span = input.peek().span();
    if directive::belongs_to_header(text) {
        return Diagnostic::new(&SYNTAX_ERROR, span, format!("`{text}` cannot stand in a body"))
            .help("write it between the function's header and its `{`");
    }
    if let ".callprototype" | ".calltargets" | ".branchtargets" = text {
        return Diagnostic::new(&SYNTAX_ERROR, span, format!("`{text}` has no label"))
            .help(format!("write a name before it, as in `name: {text} …;`"));
    }
    Diagnostic::new(&SYNTAX_ERROR, span, format!("`{text}` is no directive of a body"))
        .label("expected an instruction or a declaration")
}

#[cold]
fn guarded_block(input: Tokens<'_>, guard: Guard) -> Diagnostic {
    let text = input.slice(guard.span);
    let inverse = match text.replace(['!', ' ', '@'], "") {
        name if guard.negated => format!("@{name}"),
        name => format!("@!{name}"),
    };
    Diagnostic::new(&SYNTAX_ERROR, guard.span, format!("the guard `{text}` cannot stand before a block"))
        .also(input.peek().span(), "the block")
        .note("the assembler takes a guard before a single instruction only, although the manual allows a block")
        .help(format!("guard each instruction of the block, or branch around it: `{inverse} bra AFTER;`"))
}

/// `.callprototype (rets) _ (params) …`, from its word on.
fn prototype(input: Tokens<'_>, label: Name) -> PResult<'_, Prototype> {
    let rest = input.advance();
    let (rest, returns) = optional_parameters(rest)?;
    if !matches!(rest.kind(), Kind::Underscore | Kind::Ident) {
        return Err(complain::unexpected(rest, "`_` in the place of the function's name"));
    }
    let (mut rest, parameters) = optional_parameters(rest.advance())?;
    let mut directives = Vec::new();
    while rest.kind() == Kind::Word {
        let (behind, directive) = directive::directive(rest)?;
        directives.push(directive);
        rest = behind;
    }
    Ok((rest, Prototype { name: label, returns, parameters, directives }))
}

fn optional_parameters(input: Tokens<'_>) -> PResult<'_, Vec<super::ast::Variable>> {
    match input.kind() {
        Kind::LParen => declaration::parameters(input),
        _ => Ok((input, Vec::new())),
    }
}

/// `.branchtargets L1, L2` or `.calltargets f, g`, from its word on.
fn targets(input: Tokens<'_>, label: Name) -> PResult<'_, Targets> {
    let is_call = input.text() == ".calltargets";
    let mut list = Vec::new();
    let mut rest = input;
    loop {
        let (behind, one) = target(rest.advance())?;
        list.push(one);
        rest = behind;
        if rest.kind() != Kind::Comma {
            return Ok((rest, Targets { name: label, is_call, targets: list }));
        }
    }
}

fn target(input: Tokens<'_>) -> PResult<'_, (Name, Option<Const>)> {
    let (rest, name) =
        operand::name(input).map_err(|_| complain::unexpected(input, "a label's or function's name"))?;
    if rest.kind() != Kind::Lt {
        return Ok((rest, (name, None)));
    }
    let (rest, count) =
        expr::count(rest).map_err(|_| complain::unexpected(rest.advance(), "a count and `>`"))?;
    Ok((rest, (name, Some(count))))
}
