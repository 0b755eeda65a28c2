//! Trees to text: one statement a line, indented by scope, comments kept.
//!
//! The tree says where lines break and how deep they stand; the words of a line are the tokens of the
//! source under it, so nothing can be lost or respelt. Two laws hold for every module without
//! syntax errors: the tokens of the result are those of the source, and printing the result again
//! gives the same text.

use super::ast::{Function, Instruction, Item, Module, Section, Statement, StatementKind};
use super::lexer;
use super::token::{Kind, Token};
use crate::source::Span;

/// Lays `module` out.
pub fn print(module: &Module) -> String {
    print_with(module, &mut |_, _, _| None)
}

/// Lays `module` out, with another text for the instructions for which `rewrite` gives one: opcode and
/// operands, without guard and `;`.
pub fn print_with(
    module: &Module,
    rewrite: &mut dyn FnMut(&Function, &Statement, &Instruction) -> Option<String>,
) -> String {
    let text = module.source.text();
    let tokens = lexer::lex(text).tokens;
    let out = String::with_capacity(text.len());
    let mut printer = Printer { text, tokens, at: 0, comments: &module.comments, done: 0, out };
    for item in &module.items {
        printer.item(item, rewrite);
    }
    let end = text.len() as u32;
    if printer.kind() != Kind::Eof {
        printer.verbatim(Span::new(printer.tokens[printer.at].start, end), 0);
    }
    printer.comments_before(end + 1, 0);
    printer.out
}

/// The texts of all tokens of `text`, comments left out.
pub fn token_texts(text: &str) -> Vec<&str> {
    let tokens = lexer::lex(text).tokens;
    tokens.iter().filter_map(|token| text.get(token.span().range())).collect()
}

/// Part of a statement on one line, its tokens spaced as [`print()`] spaces them, comments left out.
pub fn one_line(text: &str) -> String {
    let mut spacing = Spacing::default();
    let mut out = String::with_capacity(text.len());
    for token in lexer::lex(text).tokens {
        let spelling = text.get(token.span().range()).unwrap_or("");
        if token.kind() != Kind::Eof {
            if spacing.before(token.kind(), spelling) {
                out.push(' ');
            }
            out.push_str(spelling);
        }
    }
    out
}

const INDENT: &str = "    ";

struct Printer<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// Those that are not printed yet.
    comments: &'a [Span],
    /// The end of what was printed last, in the source.
    done: u32,
    out: String,
}

/// How one line is to be printed.
#[derive(Default)]
struct Line {
    indent: usize,
    /// The indentation of comments before the line, where it differs.
    comment_indent: Option<usize>,
    /// Where the opcode ends: a blank must follow.
    opcode_end: u32,
    /// Text instead of the tokens from this place on.
    replacement: Option<(u32, String)>,
}

fn at_indent(indent: usize) -> Line {
    Line { indent, ..Line::default() }
}

impl Printer<'_> {
    fn kind(&self) -> Kind {
        self.tokens[self.at].kind()
    }

    fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    fn item(
        &mut self,
        item: &Item,
        rewrite: &mut dyn FnMut(&Function, &Statement, &Instruction) -> Option<String>,
    ) {
        match item {
            Item::Version(version) => self.line(version.span.end, at_indent(0)),
            Item::Target(target) => self.line(target.span.end, at_indent(0)),
            Item::AddressSize(size) => self.line(size.span.end, at_indent(0)),
            Item::Variable(variable) => self.line(variable.span.end, at_indent(0)),
            Item::Directive(directive) => self.line(directive.span.end, at_indent(0)),
            Item::Function(function) => self.function(function, rewrite),
            Item::Section(section) => self.section(section),
            Item::Error(span) => self.verbatim(*span, 0),
        }
    }

    /// `.section name`, `{`, its lines, `}`
    fn section(&mut self, section: &Section) {
        self.line(section.body.start.saturating_sub(1), at_indent(0));
        self.line(section.body.start, at_indent(0));
        while self.tokens[self.at].start < section.body.end {
            let end = self.section_line_end(section.body.end);
            self.line(end, at_indent(0));
        }
        self.line(section.span.end, at_indent(0));
    }

    /// Where the section's line that begins here ends: before the next `.b8` … or label.
    fn section_line_end(&self, limit: u32) -> u32 {
        let mut at = self.at + 1;
        while self.tokens[at].kind() != Kind::Eof && self.tokens[at].start < limit {
            let token = self.tokens[at];
            let after_label = self.tokens[at - 1].kind() == Kind::Colon;
            let begins = match token.kind() {
                Kind::Word => matches!(self.slice(token.span()), ".b8" | ".b16" | ".b32" | ".b64"),
                Kind::Ident => self.tokens[at + 1].kind() == Kind::Colon,
                _ => false,
            };
            if begins || after_label {
                return token.start;
            }
            at += 1;
        }
        limit
    }

    fn function(
        &mut self,
        function: &Function,
        rewrite: &mut dyn FnMut(&Function, &Statement, &Instruction) -> Option<String>,
    ) {
        let open = function.body.as_ref().map_or(function.span.end, |body| body.open.start);
        let header_end = function.directives.first().map_or(open, |first| first.span.start.min(open));
        let name = function.name.span.start;
        let mut directives = &function.directives[..];
        if header_end < name {
            // `.func .attribute(…) name`: that directive stays where it is.
            directives = &directives[1..];
        }
        let header_end = directives.first().map_or(open, |first| first.span.start.min(open));
        if let [first, rest @ ..] = &function.parameters[..] {
            self.line(first.span.start, at_indent(0));
            for next in rest {
                self.line(next.span.start, at_indent(1));
            }
            let last = rest.last().unwrap_or(first);
            self.line(last.span.end, at_indent(1));
        }
        self.line(header_end, at_indent(0));
        for (index, directive) in directives.iter().enumerate() {
            let next = directives.get(index + 1).map_or(open, |next| next.span.start);
            self.line(directive.span.end.max(next), at_indent(0));
        }
        let Some(body) = &function.body else { return };
        self.line(body.open.end, at_indent(0));
        let mut indent = 1;
        for statement in &body.statements {
            self.statement(function, statement, &mut indent, rewrite);
        }
        self.line(body.close.end, Line { comment_indent: Some(1), ..at_indent(0) });
    }

    fn statement(
        &mut self,
        function: &Function,
        statement: &Statement,
        indent: &mut usize,
        rewrite: &mut dyn FnMut(&Function, &Statement, &Instruction) -> Option<String>,
    ) {
        let mut line = at_indent(*indent);
        match &statement.kind {
            StatementKind::Label(_) => {
                line.indent -= 1;
                line.comment_indent = Some(*indent);
            }
            StatementKind::Instruction(instruction) => {
                line.opcode_end = instruction.opcode_span.end;
                line.replacement = rewrite(function, statement, instruction)
                    .map(|text| (instruction.opcode_span.start, text));
            }
            StatementKind::Open { .. } => *indent += 1,
            StatementKind::Close { .. } => {
                line.comment_indent = Some(*indent);
                *indent = (*indent - 1).max(1);
                line.indent = *indent;
            }
            StatementKind::Error => return self.verbatim(statement.span, *indent),
            StatementKind::Variable(_)
            | StatementKind::Directive(_)
            | StatementKind::Prototype(_)
            | StatementKind::Targets(_) => {}
        }
        self.line(statement.span.end, line);
    }

    /// Prints what begins before `end` as one line, with the comments that belong to it.
    fn line(&mut self, end: u32, line: Line) {
        let first = self.tokens[self.at];
        if first.kind() == Kind::Eof || first.start >= end {
            return;
        }
        self.comments_before(first.start, line.comment_indent.unwrap_or(line.indent));
        self.blank_line(first.start);
        self.indent(line.indent);
        self.words(end, &line);
        self.comments_behind();
        self.out.push('\n');
    }

    /// The tokens that begin before `end`.
    fn words(&mut self, end: u32, line: &Line) {
        let mut spacing = Spacing::default();
        let replaced_from = line.replacement.as_ref().map_or(u32::MAX, |(from, _)| *from);
        while self.kind() != Kind::Eof && self.tokens[self.at].start < end {
            let token = self.tokens[self.at];
            if token.start < replaced_from {
                let text = self.text;
                let spelling = text.get(token.span().range()).unwrap_or("");
                if spacing.before(token.kind(), spelling) {
                    self.out.push(' ');
                }
                self.out.push_str(spelling);
                spacing.at_opcode_end = token.end == line.opcode_end;
            } else if token.start == replaced_from
                && let Some((_, text)) = &line.replacement
            {
                if spacing.last.is_some() {
                    self.out.push(' ');
                }
                self.out.push_str(text);
            }
            self.done = token.end;
            self.at += 1;
        }
        let last = self.at.checked_sub(1).map(|last| self.tokens[last].kind());
        if line.replacement.is_some() && last == Some(Kind::Semi) {
            self.out.push(';');
        }
    }

    /// The comments inside the line just printed and those on its line in the source: first
    /// `/* */`, then `//`, so that none swallows another's text or the code.
    fn comments_behind(&mut self) {
        let inside = self.comments.iter().take_while(|comment| comment.start < self.done).count();
        let mut count = inside;
        let mut end = self.done;
        let next = self.tokens[self.at].start;
        while let Some(comment) = self.comments.get(count)
            && (comment.start < next || self.kind() == Kind::Eof)
            && !self.slice(Span::new(end, comment.start)).contains('\n')
        {
            end = comment.end;
            count += 1;
        }
        let (taken, rest) = self.comments.split_at(count);
        self.comments = rest;
        self.done = end;
        for opening in ["/*", "//", "#"] {
            for &comment in taken {
                let text = self.text.get(comment.range()).unwrap_or("");
                if text.starts_with(opening) {
                    self.out.push(if opening == "#" { '\n' } else { ' ' });
                    self.out.push_str(text.trim_end());
                }
            }
        }
    }

    /// The comments before `end`, each on a line of its own.
    fn comments_before(&mut self, end: u32, indent: usize) {
        while let Some((&comment, rest)) = self.comments.split_first()
            && comment.start < end
        {
            self.comments = rest;
            self.blank_line(comment.start);
            let text = self.text.get(comment.range()).unwrap_or("").trim_end();
            if !text.starts_with('#') {
                self.indent(indent);
            }
            self.out.push_str(text);
            self.out.push('\n');
            self.done = comment.end;
        }
    }

    /// Keeps one empty line where the source had some before `next`.
    fn blank_line(&mut self, next: u32) {
        let gap = self.slice(Span::new(self.done.min(next), next));
        if !self.out.is_empty() && gap.bytes().filter(|&byte| byte == b'\n').count() > 1 {
            self.out.push('\n');
        }
    }

    fn indent(&mut self, indent: usize) {
        // Deeper than this, indentation helps nobody and would cost quadratic space.
        for _ in 0..indent.min(32) {
            self.out.push_str(INDENT);
        }
    }

    /// Text that could not be read.
    fn verbatim(&mut self, span: Span, indent: usize) {
        self.comments_before(span.start, indent);
        self.blank_line(span.start);
        let text = self.slice(span).trim().to_string();
        if !text.is_empty() {
            self.indent(indent);
            self.out.push_str(&text);
        }
        while self.kind() != Kind::Eof && self.tokens[self.at].start < span.end {
            self.at += 1;
        }
        let inside = self.comments.iter().take_while(|comment| comment.start < span.end).count();
        self.comments = &self.comments[inside..];
        self.done = self.done.max(span.end);
        self.comments_behind();
        if !text.is_empty() {
            self.out.push('\n');
        }
    }
}

/// Where blanks stand between the tokens of a line.
#[derive(Default)]
struct Spacing {
    last: Option<Kind>,
    /// The last token is the end of an opcode.
    at_opcode_end: bool,
    /// The last token is a name or belongs to the `.words` behind one.
    in_chain: bool,
    /// The last token is `.attribute`.
    at_attribute: bool,
    /// `?` whose `:` is to come.
    questions: u32,
}

impl Spacing {
    /// Whether a blank stands before the next token.
    fn before(&mut self, next: Kind, text: &str) -> bool {
        let ends_question = next == Kind::Colon && self.questions > 0;
        let space = match self.last {
            None => false,
            _ if self.at_opcode_end => next != Kind::Semi,
            _ if ends_question => true,
            Some(last) => self.between(last, next),
        };
        match next {
            Kind::Question => self.questions += 1,
            Kind::Colon => self.questions = self.questions.saturating_sub(1),
            _ => {}
        }
        if ends_question {
            // A blank on both sides, as around `=`.
            self.last = Some(Kind::Eq);
        } else {
            self.last = Some(next);
        }
        self.in_chain = next == Kind::Ident || next == Kind::Word && self.in_chain && !space;
        self.at_attribute = text == ".attribute";
        space
    }

    fn between(&self, last: Kind, next: Kind) -> bool {
        match (last, next) {
            (_, Kind::Comma | Kind::Semi | Kind::RParen | Kind::RBracket | Kind::RBrace) => false,
            (Kind::Comma | Kind::Eq | Kind::Question | Kind::Percent, _) => true,
            (_, Kind::Eq | Kind::Question | Kind::Percent) => true,
            (Kind::LParen | Kind::LBracket | Kind::LBrace | Kind::At, _) => false,
            (_, Kind::Colon) => false,
            (Kind::Ident | Kind::RBracket, Kind::LBracket) => false,
            (Kind::Ident | Kind::Int, Kind::LParen) => false,
            (Kind::Word, Kind::LParen) => !self.at_attribute,
            (_, Kind::Word) if self.in_chain => false,
            (Kind::Word, Kind::Minus) => true,
            (Kind::Gt, Kind::Word) => true,
            _ => !(is_operator(last) || is_operator(next)),
        }
    }
}

/// Operators that stand without blanks.
fn is_operator(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Bang
            | Kind::Plus
            | Kind::Minus
            | Kind::Star
            | Kind::Slash
            | Kind::Amp
            | Kind::AmpAmp
            | Kind::Pipe
            | Kind::PipePipe
            | Kind::Caret
            | Kind::Tilde
            | Kind::Lt
            | Kind::Le
            | Kind::Shl
            | Kind::Gt
            | Kind::Ge
            | Kind::Shr
            | Kind::EqEq
            | Kind::Ne
            | Kind::Dot
    )
}
