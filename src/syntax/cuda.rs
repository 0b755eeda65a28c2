//! Recognises CUDA C++, which is given to this program by mistake.

use super::token::{Kind, Token};
use crate::source::Span;

/// Where `text` shows that it is CUDA C++. PTX begins with `.version`: what has it anywhere is PTX, or
/// was meant to be.
pub(super) fn source(text: &str, tokens: &[Token]) -> Option<Span> {
    let of = |token: &Token| text.get(token.span().range()).unwrap_or("");
    let begins_like_ptx = tokens.first().is_some_and(|first| first.kind() == Kind::Word);
    if begins_like_ptx || tokens.iter().any(|token| token.kind() == Kind::Word && of(token) == ".version") {
        return None;
    }
    let word = tokens.iter().find(|token| token.kind() == Kind::Ident && QUALIFIERS.contains(&of(token)));
    include(text).or(word.map(|word| word.span()))
}

/// Words that only CUDA C++ has.
const QUALIFIERS: &[&str] = &["__global__", "__device__", "__host__", "__launch_bounds__"];

/// A line that begins with `#include`.
fn include(text: &str) -> Option<Span> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.strip_prefix('#').is_some_and(|rest| rest.trim_start().starts_with("include")) {
            let start = (at + line.len() - trimmed.len()) as u32;
            return Some(Span::new(start, start + trimmed.trim_end().len() as u32));
        }
        at += line.len();
    }
    None
}
