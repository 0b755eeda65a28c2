//! What flags say of a launch, over what the file says.

use std::ops::Range;
use std::sync::Arc;

use super::part::{Part, Place};
use crate::source::{SourceFile, Span};

/// A flag of the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flag {
    /// `--kernel NAME`
    Kernel,
    /// `--grid x[,y,z]`
    Grid,
    /// `--block x[,y,z]`
    Block,
    /// `--cluster x[,y,z]`
    Cluster,
    /// `--smem BYTES`
    Smem,
    /// `--resident N`
    Resident,
    /// `--arg NAME=VALUE`, repeatable.
    Arg,
}

impl Flag {
    /// The flag's word without the dashes, which is also its key in a `launch` directive.
    pub fn word(self) -> &'static str {
        match self {
            Flag::Kernel => "kernel",
            Flag::Grid => "grid",
            Flag::Block => "block",
            Flag::Cluster => "cluster",
            Flag::Smem => "smem",
            Flag::Resident => "resident",
            Flag::Arg => "arg",
        }
    }
}

/// The flags, in the order in which they were given. Their values are read by [`super::read`], so that
/// messages can point into them.
#[derive(Clone, Default, Debug)]
pub struct Overrides {
    text: String,
    flags: Vec<(Flag, Range<usize>)>,
}

impl Overrides {
    /// Adds a flag with its value as the user typed it.
    pub fn push(&mut self, flag: Flag, value: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str("--");
        self.text.push_str(flag.word());
        self.text.push(' ');
        let start = self.text.len();
        self.text.push_str(value);
        self.flags.push((flag, start..self.text.len()));
    }

    /// The flags as a text of their own, called `command line`: findings about flags point into it.
    pub fn source(&self) -> Arc<SourceFile> {
        SourceFile::new("command line", self.text.as_str())
    }

    /// Each flag with its value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Flag, Part<'_>)> {
        self.flags.iter().map(|(flag, range)| {
            let span = Span::new(range.start as u32, range.end as u32);
            (*flag, Part::new(&self.text[range.clone()], Place::Flags(span)).trim())
        })
    }
}
