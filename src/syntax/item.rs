//! Module-level items (PTX ISA §4.3, §11).

use nom::Parser as _;
use nom::branch::alt;
use nom::multi::separated_list1;
use nom::sequence::pair;

use super::ast::{AddressSize, Directive, Function, Item, Name, Section, TargetDirective, VersionDirective};
use super::complain;
use super::declaration;
use super::directive;
use super::expr;
use super::operand;
use super::parser::Parser;
use super::rules::{SYNTAX_ERROR, UNBALANCED_BRACES};
use super::token::{Kind, PResult, Tokens, token};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::source::Span;
use crate::types::Linkage;

impl Parser<'_> {
    /// The whole file.
    pub fn module(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            let item = match self.kind() {
                Kind::Eof => return items,
                Kind::Word => self.item(),
                Kind::Semi => Item::Error(self.stray_semicolons()),
                Kind::RBrace => Item::Error(self.stray_braces()),
                _ => Item::Error(self.outside(items.last())),
            };
            items.push(item);
        }
    }

    /// An item that begins with a word.
    fn item(&mut self) -> Item {
        let start = self.peek().start;
        let text = self.text();
        let item = match text {
            ".version" => self.run(version).map(Item::Version),
            ".target" => self.run(target).map(Item::Target),
            ".address_size" => self.run(address_size).map(Item::AddressSize),
            ".section" | ".nv_intermediate_source_section" => self.section().map(Item::Section),
            ".entry" | ".func" => return self.function_item(None),
            _ if self.is_function() => return self.function_item(self.linkage()),
            _ if declaration::begins(text) => self.run(declaration::variable).map(|mut variable| {
                self.semicolon(start);
                variable.span = self.since(start);
                Item::Variable(Box::new(variable))
            }),
            ".file" | ".pragma" | ".alias" => {
                self.run(directive::directive).map(|directive| self.directive_item(directive, text))
            }
            _ => {
                self.report(misplaced(self.input()));
                return Item::Error(self.skip_item());
            }
        };
        item.unwrap_or_else(|| {
            let span = self.skip_item();
            Item::Error(Span::new(start, span.end))
        })
    }

    fn directive_item(&mut self, mut directive: Directive, text: &str) -> Item {
        let start = directive.span.start;
        if directive::takes_semicolon(text) {
            self.semicolon(start);
        }
        directive.span = self.since(start);
        Item::Directive(Box::new(directive))
    }

    fn is_function(&self) -> bool {
        Linkage::from_text(self.text()).is_some()
            && (1..3)
                .find(|&ahead| Linkage::from_text(self.text_at(ahead)).is_none())
                .is_some_and(|ahead| matches!(self.text_at(ahead), ".entry" | ".func"))
    }

    fn linkage(&self) -> Option<(Linkage, Span)> {
        Linkage::from_text(self.text()).map(|linkage| (linkage, self.peek().span()))
    }

    /// Skips a broken item: through its `;`, or up to the line where the next one begins.
    fn skip_item(&mut self) -> Span {
        let start = self.bump().start;
        let mut braces = 0u32;
        loop {
            match self.kind() {
                Kind::Eof => break,
                Kind::Word if self.on_new_line(0) && self.item_begins() => break,
                Kind::LBrace => braces += 1,
                Kind::RBrace if braces == 0 => break,
                Kind::RBrace => braces -= 1,
                Kind::Semi if braces == 0 => {
                    self.bump();
                    break;
                }
                _ => {}
            }
            self.bump();
        }
        self.since(start)
    }

    /// Whether the word here can only begin an item.
    fn item_begins(&self) -> bool {
        matches!(
            self.text(),
            ".version"
                | ".target"
                | ".address_size"
                | ".entry"
                | ".func"
                | ".visible"
                | ".extern"
                | ".weak"
                | ".common"
                | ".global"
                | ".const"
                | ".section"
                | ".file"
                | ".alias"
        )
    }

    #[cold]
    fn stray_braces(&mut self) -> Span {
        let start = self.peek().start;
        let first = self.peek().span();
        while self.kind() == Kind::RBrace {
            self.bump();
        }
        self.report(
            Diagnostic::new(&UNBALANCED_BRACES, first, "this `}` closes nothing")
                .label("no `{` is open here")
                .fix(Applicability::Unsafe, "remove it", self.since(start), ""),
        );
        self.since(start)
    }

    /// Text at module level that is no item: reported once, skipped up to the next item.
    #[cold]
    fn outside(&mut self, before: Option<&Item>) -> Span {
        let first = self.peek();
        if first.kind() == Kind::At && self.kind_at(1) == Kind::At {
            self.report(
                Diagnostic::new(&SYNTAX_ERROR, first.span(), "`@@` directives ended with PTX 1.x")
                    .help("write debug data in `.section`s"),
            );
        } else if !matches!(first.kind(), Kind::Bad | Kind::BadNumber) {
            let text = super::lexer::shorten(self.context.slice(first.span()));
            let message = format!("`{text}` stands outside of every function");
            let mut report = Diagnostic::new(&SYNTAX_ERROR, first.span(), message)
                .label("expected a directive, a declaration or a function");
            if let Some(Item::Function(function)) = before
                && let Some(body) = &function.body
            {
                report = report.also(body.close, "the function before ended here");
            }
            self.report(report);
        }
        let mut braces = 0u32;
        self.bump();
        loop {
            match self.kind() {
                Kind::Eof => break,
                Kind::Word if self.on_new_line(0) && self.item_begins() => break,
                Kind::LBrace => braces += 1,
                Kind::RBrace => braces = braces.saturating_sub(1),
                _ => {}
            }
            self.bump();
        }
        self.since(first.start)
    }

    fn function_item(&mut self, linkage: Option<(Linkage, Span)>) -> Item {
        let start = self.peek().start;
        if linkage.is_some() {
            self.bump();
        }
        while Linkage::from_text(self.text()).is_some() {
            self.linkage_again();
        }
        let is_entry = self.bump_is_entry();
        let mut function = Function {
            span: Span::default(),
            linkage,
            is_entry,
            name: Name { symbol: self.names.intern(""), span: Span::empty(self.end()) },
            returns: Vec::new(),
            parameters: Vec::new(),
            directives: Vec::new(),
            body: None,
        };
        if self.header(&mut function).is_none() {
            self.skip_header();
        }
        function.body = self.body_or_semicolon();
        function.span = self.since(start);
        Item::Function(Box::new(function))
    }

    fn bump_is_entry(&mut self) -> bool {
        let is_entry = self.text() == ".entry";
        self.bump();
        is_entry
    }

    /// A linkage word that should not be here.
    #[cold]
    fn linkage_again(&mut self) {
        let span = self.bump().span();
        let text = self.context.slice(span);
        self.report(
            Diagnostic::new(&SYNTAX_ERROR, span, format!("`{text}` cannot stand here"))
                .note("a function has one linkage word, and it comes first")
                .fix(Applicability::Unsafe, format!("remove `{text}`"), span, ""),
        );
    }

    /// From behind `.entry` or `.func` to the last directive. None: broken, and reported.
    fn header(&mut self, function: &mut Function) -> Option<()> {
        while self.kind() == Kind::Word {
            if Linkage::from_text(self.text()).is_some() {
                self.linkage_again();
            } else {
                self.header_directive(function)?;
            }
        }
        if self.kind() == Kind::LParen && !function.is_entry {
            function.returns = self.run(declaration::parameters)?;
        }
        if self.kind() != Kind::Ident {
            complain::unexpected(self.input(), "the function's name");
            return None;
        }
        function.name = operand::to_name(self.bump());
        if self.kind() == Kind::LParen {
            function.parameters = self.run(declaration::parameters)?;
        }
        loop {
            match self.kind() {
                Kind::Word if self.header_ended() => return Some(()),
                Kind::Word => self.header_directive(function)?,
                Kind::Semi if self.kind_at(1) == Kind::LBrace || self.directive_follows() => {
                    let span = self.peek().span();
                    let message = "a `;` stands in the function's header".to_string();
                    complain::superfluous(self.input(), span, message, "remove it");
                    self.bump();
                }
                _ => return Some(()),
            }
        }
    }

    /// Whether a directive that only headers have stands behind the `;` here.
    fn directive_follows(&self) -> bool {
        matches!(
            self.text_at(1),
            ".maxnreg"
                | ".maxntid"
                | ".reqntid"
                | ".minnctapersm"
                | ".maxnctapersm"
                | ".reqnctapercluster"
                | ".explicitcluster"
                | ".maxclusterrank"
                | ".blocksareclusters"
                | ".minperctamemory"
        )
    }

    /// Whether the word here belongs to no header, so that a `{` or `;` is missing.
    fn header_ended(&self) -> bool {
        self.item_begins() || self.body_begins() || declaration::begins(self.text())
    }

    /// Whether the word here belongs into a body, so that its `{` is missing.
    fn body_begins(&self) -> bool {
        matches!(self.text(), ".reg" | ".local" | ".shared" | ".loc")
    }

    fn header_directive(&mut self, function: &mut Function) -> Option<()> {
        let start = self.peek().start;
        let text = self.text();
        if text == ".attribute" {
            let word = self.peek();
            self.run(declaration::attribute)?;
            let name = declaration::word_name(word)?;
            let arguments = Vec::new();
            function.directives.push(Directive { span: self.since(start), name, arguments });
            return Some(());
        }
        let mut directive = self.run(directive::directive)?;
        if directive::takes_semicolon(text) {
            self.semicolon(start);
            directive.span = self.since(start);
        }
        function.directives.push(directive);
        Some(())
    }

    /// Skips a broken header up to its body or end.
    fn skip_header(&mut self) {
        while !matches!(self.kind(), Kind::Eof | Kind::LBrace | Kind::RBrace | Kind::Semi)
            && !(self.kind() == Kind::Word
                && self.on_new_line(0)
                && (self.item_begins() || self.body_begins()))
        {
            self.bump();
        }
    }

    fn body_or_semicolon(&mut self) -> Option<super::ast::Body> {
        match self.kind() {
            Kind::LBrace => {
                let open = self.bump().span();
                Some(self.body(open))
            }
            Kind::Semi => {
                self.bump();
                None
            }
            Kind::Word if self.body_begins() => Some(self.body_without_brace()),
            Kind::Ident | Kind::At => Some(self.body_without_brace()),
            Kind::Word | Kind::Eof => {
                let end = Span::empty(self.end());
                self.report(
                    Diagnostic::new(&SYNTAX_ERROR, end, "this function has neither a body nor a `;`")
                        .label("expected `{` or `;`")
                        .help("write the body in `{ }`, or end the declaration with `;`"),
                );
                None
            }
            _ => {
                complain::unexpected(self.input(), "`{` and the function's body, or `;`");
                self.bump();
                None
            }
        }
    }

    #[cold]
    fn body_without_brace(&mut self) -> super::ast::Body {
        let end = Span::empty(self.end());
        let message = format!("expected `{{` before `{}`", self.text());
        self.report(
            Diagnostic::new(&UNBALANCED_BRACES, self.peek().span(), message)
                .label("the function's body begins here")
                .fix(Applicability::Safe, "insert `{`", end, " {"),
        );
        self.body(end)
    }

    /// `.section name { … }`
    fn section(&mut self) -> Option<Section> {
        let word = self.bump();
        let named = matches!(self.kind(), Kind::Word | Kind::Ident);
        let is_plain = self.context.slice(word.span()) == ".section";
        let name = match if named { self.bump() } else { word } {
            token if named || !is_plain => declaration::word_name(token)?,
            _ => {
                complain::unexpected_with(self.input(), "the section's name", |diagnostic| {
                    diagnostic.help("write the name without quotes, as in `.section .debug_str`")
                });
                return None;
            }
        };
        while !is_plain && !matches!(self.kind(), Kind::LBrace | Kind::Eof | Kind::Semi) {
            self.bump();
        }
        if self.kind() != Kind::LBrace {
            complain::unexpected(self.input(), "`{` and the section's lines");
            return None;
        }
        let open = self.bump().span();
        while self.kind() != Kind::RBrace {
            if self.kind() == Kind::Eof {
                complain::unclosed(self.input(), open, "}");
                break;
            }
            if is_plain {
                self.section_line();
            } else {
                self.bump();
            }
        }
        let body = Span::new(open.end, self.peek().start);
        if self.kind() == Kind::RBrace {
            self.bump();
        }
        Some(Section { span: self.since(word.start), name, body })
    }

    /// `label:` or `.b32 item, item`; after an error, everything up to the section's `}`.
    fn section_line(&mut self) {
        let good = match self.kind() {
            Kind::Ident if self.kind_at(1) == Kind::Colon => {
                self.bump();
                self.bump();
                true
            }
            Kind::Word if matches!(self.text(), ".b8" | ".b16" | ".b32" | ".b64") => {
                self.bump();
                self.run(section_items).is_some()
            }
            _ => {
                complain::unexpected(self.input(), "`.b8`, `.b16`, `.b32`, `.b64`, a label or `}`");
                false
            }
        };
        while !good && !matches!(self.kind(), Kind::RBrace | Kind::Eof) {
            self.bump();
        }
    }
}

/// The values of a section's line: numbers, `label+4`, `label1-label2`, names of sections.
fn section_items(input: Tokens<'_>) -> PResult<'_, ()> {
    let mut rest = input;
    loop {
        rest = match rest.kind() {
            Kind::Ident | Kind::Word => {
                let behind = rest.advance();
                match (behind.kind(), behind.peek_at(1).kind()) {
                    (Kind::Plus | Kind::Minus, Kind::Int | Kind::Ident | Kind::Word) => {
                        behind.advance().advance()
                    }
                    _ => behind,
                }
            }
            _ => match expr::signed_number(rest) {
                Ok((behind, _)) => behind,
                Err(_) => return Err(complain::unexpected(rest, "a number or a label")),
            },
        };
        if rest.kind() != Kind::Comma {
            return Ok((rest, ()));
        }
        rest = rest.advance();
    }
}

/// A directive that the module level does not know.
#[cold]
fn misplaced(input: Tokens<'_>) -> Diagnostic {
    let text = input.text();
    let report =
        Diagnostic::new(&SYNTAX_ERROR, input.peek().span(), format!("`{text}` cannot stand at module level"));
    match text {
        ".loc" | ".loc_intermediate" => report.help("write it inside a function's body"),
        _ if directive::belongs_to_header(text) => {
            report.help("write it between a function's header and its `{`")
        }
        _ => report.label("expected a directive, a declaration or a function"),
    }
}

/// `.version M.m`
fn version(input: Tokens<'_>) -> PResult<'_, VersionDirective> {
    let (rest, word) = token(Kind::Word)(input)?;
    let number = rest.peek();
    let text = rest.text();
    if !matches!(number.kind(), Kind::Float | Kind::Int | Kind::BadNumber) {
        return Err(complain::unexpected(rest, "a version such as `8.0`"));
    }
    let version = match number.kind() {
        Kind::Float => {
            text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        }
        _ => None,
    };
    if version.is_none() && number.kind() != Kind::BadNumber {
        let message = format!("`{text}` is no version");
        let report = Diagnostic::new(&SYNTAX_ERROR, number.span(), message)
            .note("a version has a major and a minor number with a `.` between them");
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        rest.report(if plain {
            let right = format!("{text}.0");
            report.fix(Applicability::Unsafe, format!("write `{right}`"), number.span(), right)
        } else {
            report.help("write for example `8.0`")
        });
    }
    let span = word.span().to(number.span());
    Ok((rest.advance(), VersionDirective { span, number: number.span(), version }))
}

/// `.target sm_90a, debug`
fn target(input: Tokens<'_>) -> PResult<'_, TargetDirective> {
    let (rest, word) = token(Kind::Word)(input)?;
    let (rest, words) = separated_list1(token(Kind::Comma), operand::name)
        .parse(rest)
        .map_err(|_: nom::Err<_>| complain::unexpected(rest, "a target such as `sm_90a`"))?;
    if rest.kind() == Kind::Comma {
        return Err(complain::unexpected(rest.advance(), "a target or an option behind the `,`"));
    }
    let span = words.last().map_or(word.span(), |last| word.span().to(last.span));
    Ok((rest, TargetDirective { span, words }))
}

/// `.address_size 64`
fn address_size(input: Tokens<'_>) -> PResult<'_, AddressSize> {
    let size = alt((expr::number, |rest| Err(complain::unexpected(rest, "`32` or `64`"))));
    let (rest, (word, size)) = pair(token(Kind::Word), size).parse(input)?;
    Ok((rest, AddressSize { span: word.span().to(size.span), size }))
}
