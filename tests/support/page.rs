//! The fenced `ptx` and `cuda` blocks of the rules' pages, as files.

use mbar::diagnostic::Rule;
use mbar::extract::Language;
use mbar::isa::target::Toolkit;

use super::{frame_block, header, without_comments};

/// A fenced block of a page.
pub struct Block<'a> {
    /// The rule of the page.
    pub rule: &'static Rule,
    /// Its first line in the page.
    pub line: usize,
    /// What stands in it.
    pub text: String,
    /// Its language.
    pub language: Language,
    ptx: &'a str,
    target: &'a str,
    /// The CUDA release that it is for.
    pub toolkit: Option<Toolkit>,
}

/// The blocks of a rule's page.
pub fn blocks(rule: &'static Rule) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    let mut lines = rule.page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let mut words = info.split_whitespace();
        let language = match words.next() {
            Some("ptx") => Language::Ptx,
            Some("cuda") => Language::Cxx,
            _ => continue,
        };
        let text = body.join("\n");
        let mut block =
            Block { rule, line: index + 2, text, language, ptx: "9.5", target: "sm_90a", toolkit: None };
        for word in words {
            match word.split_once('=') {
                Some(("ptx", version)) => block.ptx = version,
                Some(("target", target)) => block.target = target,
                Some(("cuda", release)) => block.toolkit = Toolkit::from_name(release),
                _ => panic!("{}: unknown word in the fence: {word}", rule.name),
            }
        }
        blocks.push(block);
    }
    blocks
}

impl Block<'_> {
    /// Lines of the block (from 1) with the severity that they want.
    pub fn tags(&self) -> Vec<(u32, &str)> {
        let lines = self.text.lines().enumerate();
        lines.filter_map(|(i, line)| Some((i as u32 + 1, line.split_once("//~")?.1.trim()))).collect()
    }

    /// A whole file around the block, and how many lines stand before it.
    pub fn file(&self) -> (String, u32) {
        if self.language == Language::Cxx {
            return (self.text.clone(), 0);
        }
        let code = without_comments(&self.text);
        let (before, text) = if code.trim_start().starts_with(".version") {
            (String::new(), self.text.clone())
        } else if code.contains(".entry") || code.contains(".func") {
            let header = header(self.ptx, self.target);
            (header.clone(), header + &self.text + "\n")
        } else {
            frame_block(&self.text, self.ptx, self.target)
        };
        (text, before.lines().count() as u32)
    }
}
