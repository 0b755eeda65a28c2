//! `// mbar:` comments: what a file says to this program.

use super::Program;
use crate::source::Span;

/// The directives that a comment may hold.
pub const DIRECTIVES: &[&str] =
    &["launch", "arg", "tensormap", "expect", "expect~", "flags", "allow", "allow-file"];

/// A comment `// mbar: WORD ARGUMENTS`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comment<'a> {
    /// The directive's name, known or not.
    pub word: &'a str,
    /// Where that stands.
    pub span: Span,
    /// What follows it.
    pub arguments: &'a str,
    /// Where that stands.
    pub arguments_span: Span,
}

impl<'a> Comment<'a> {
    /// Reads the comment at `place`, whose text is `text`; `None` when it is not meant for this program.
    pub fn new(text: &'a str, place: Span) -> Option<Comment<'a>> {
        let text = text.strip_suffix("-->").filter(|text| text.starts_with("<!--")).unwrap_or(text);
        // `#` in Python, `<!--` in Markdown.
        let body = ["//", "#", "<!--"].iter().find_map(|mark| text.strip_prefix(mark))?;
        let body = body.trim_start().strip_prefix("mbar:")?.trim_start();
        let start = place.start + (text.len() - body.len()) as u32;
        let body = body.trim_end();
        let end = body.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(body.len());
        let (word, arguments) = body.split_at(end);
        let arguments = arguments.trim_start();
        let stop = start + body.len() as u32;
        Some(Comment {
            word,
            span: Span::new(start, start + end as u32),
            arguments,
            arguments_span: Span::new(stop - arguments.len() as u32, stop),
        })
    }

    /// The comment at `place` in the file of `program`.
    pub fn at(program: &'a Program, place: Span) -> Option<Comment<'a>> {
        Comment::new(program.module.source.slice(place), place)
    }

    /// The value of `name=VALUE` among the arguments.
    pub fn value(&self, name: &str) -> Option<&'a str> {
        self.arguments.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// `launch` with `block=1` or `block=1,1,1`: CTAs of one thread.
    pub fn launches_one_thread(&self) -> bool {
        self.word == "launch"
            && self.value("block").is_some_and(|block| block.split(',').all(|extent| extent == "1"))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn comment(text: &str) -> Option<Comment<'_>> {
        Comment::new(text, Span::new(100, 100 + text.len() as u32))
    }

    #[test]
    fn a_word_is_found_in_its_place() {
        let of = |text| comment(text).map(|c| (c.word, c.span, c.arguments));
        assert_eq!(of("// mbar: ar"), Some(("ar", Span::new(109, 111), "")));
        assert_eq!(of("//mbar:mbar  x y "), Some(("mbar", Span::new(107, 111), "x y")));
        assert_eq!(of("// mbar: allow(a) why"), Some(("allow", Span::new(109, 114), "(a) why")));
        assert_eq!(of("// mbar:"), Some(("", Span::new(108, 108), "")));
        assert_eq!(of("// mbar is a barrier"), None);
        assert_eq!(of("/* mbar: launch block=1 */"), None);
    }

    #[test]
    fn one_thread_may_be_spelled_in_three_dimensions() {
        let alone = |text| comment(text).is_some_and(|c| c.launches_one_thread());
        assert!(alone("// mbar: launch grid=2 block=1"));
        assert!(alone("// mbar: launch block=1,1,1 grid=2"));
        assert!(!alone("// mbar: launch block=1,32,1"));
        assert!(!alone("// mbar: launch block=128"));
        assert!(!alone("// mbar: arg block=1"));
    }
}
