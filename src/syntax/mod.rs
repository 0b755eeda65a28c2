//! The text of a module and its tree, in both directions.
//!
//! [`parse`] never fails: what it cannot read it reports, marks in the tree and steps over, so that
//! one run shows every error of a file. [`print`](print::print) lays a tree out cleanly.
//!
//! The lexer makes tokens of the bytes; [nom] parsers over the slice of tokens read what stands
//! in a statement; hand-written loops read the lists of statements and items, because only they
//! know how to go on after an error. nom's types stay in here.

pub mod ast;
mod complain;
mod cuda;
mod declaration;
mod directive;
mod expr;
mod item;
mod lexer;
pub mod names;
mod number;
mod operand;
mod parser;
pub mod print;
mod rules;
mod statement;
mod token;

#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::source::{SourceFile, Span};
use ast::{Item, Module, Opcode};
use names::{Names, Symbol};
use parser::Parser;

pub use rules::{BAD_LITERAL, RULES, SYNTAX_ERROR, UNBALANCED_BRACES};

/// A file's tree, and what is wrong with its text.
#[derive(Debug)]
pub struct Parsed {
    /// The tree, with error nodes where text could not be read.
    pub module: Module,
    /// What was wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// A file that is one error from end to end.
fn not_ptx(source: Arc<SourceFile>, diagnostic: Diagnostic) -> Parsed {
    let (names, operands) = (Names::default(), Vec::new());
    let (opcodes, comments) = (Vec::new(), Vec::new());
    let items = vec![Item::Error(Span::new(0, source.text().len() as u32))];
    let module = Module { source, names, opcodes, operands, items, comments };
    Parsed { module, diagnostics: vec![diagnostic] }
}

/// Reads a file.
pub fn parse(source: Arc<SourceFile>) -> Parsed {
    let lexed = lexer::lex(source.text());
    if let Some(span) = cuda::source(source.text(), &lexed.tokens) {
        return not_ptx(source, complain::cuda_source(span));
    }
    read(source, lexed, |parser| parser.module())
}

/// Reads the inside of a function: statements without the braces around them, as they stand in an `asm`
/// statement. The module has one function without a name. A `}` without its `{`, and a `{` without its
/// `}`, are no errors: the scope may have its other end in another such text.
pub fn parse_statements(source: Arc<SourceFile>) -> Parsed {
    let lexed = lexer::lex(source.text());
    read(source, lexed, |parser| vec![parser.statements_alone()])
}

fn read(
    source: Arc<SourceFile>,
    lexed: lexer::Lexed,
    items: impl FnOnce(&mut Parser<'_>) -> Vec<Item>,
) -> Parsed {
    let context = token::Context::new(source.text(), lexed.diagnostics);
    let mut parser = Parser {
        context: &context,
        tokens: &lexed.tokens,
        at: 0,
        names: lexed.names,
        opcodes: Names::default(),
        operands: Vec::with_capacity(lexed.tokens.len() / 3),
        labels: OnceCell::new(),
    };
    let items = items(&mut parser);
    let Parser { names, opcodes, mut operands, .. } = parser;
    let diagnostics = context.into_diagnostics();
    // The tokens have done their work; what is kept is cut to size without them beside it.
    drop(lexed.tokens);
    operands.shrink_to_fit();
    let opcodes = (0..opcodes.len() as u32)
        .map(|index| Opcode { text: opcodes.text(Symbol(index)).to_string() })
        .collect();
    let comments = lexed.comments;
    Parsed { module: Module { source, names, opcodes, operands, items, comments }, diagnostics }
}
