//! `.version`, `.target` and `.address_size` of a file.

use super::Options;
use crate::isa::{Needs, TargetId, Version};
use crate::source::Span;
use crate::syntax::ast::{Item, Module};

/// What a file says of itself, and where.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// The PTX version that counts: the override, else the file's; none when it is missing or
    /// not of the form `M.m`.
    pub version: Option<Version>,
    /// Where the file's version number stands.
    pub version_span: Option<Span>,
    /// The target that counts: the override, else the first `sm_NN` of the file that is known.
    pub target: Option<TargetId>,
    /// Where the target's name stands.
    pub target_span: Option<Span>,
    /// `.address_size` in bits; 32 when it is not given (PTX ISA §11.1.3).
    pub address_size: u32,
    /// The text is no file but statements within another one, which has no such lines.
    pub is_statement: bool,
}

impl Header {
    /// Reads the header of `module`.
    pub fn new(module: &Module, options: Options) -> Header {
        let mut header = Header { address_size: 32, ..Header::default() };
        for item in &module.items {
            match item {
                Item::Version(directive) if header.version_span.is_none() => {
                    header.version_span = Some(directive.number);
                    header.version = directive.version.and_then(|(major, minor)| {
                        Some(Version::new(major.try_into().ok()?, minor.try_into().ok()?))
                    });
                }
                Item::Target(directive) => {
                    for word in &directive.words {
                        let target = TargetId::from_name(module.name(word.symbol));
                        // Of several targets the last one counts, as ptxas takes it.
                        if target.is_some() {
                            header.target = target;
                            header.target_span = Some(word.span);
                        }
                    }
                }
                Item::AddressSize(directive) => {
                    if let Some(size) = directive.size.value.int() {
                        header.address_size = size.try_into().unwrap_or(0);
                    }
                }
                _ => {}
            }
        }
        header.version = options.version.or(header.version);
        header.target = options.target.or(header.target);
        header
    }

    /// What messages call the place that version and target are for.
    pub fn here(&self) -> &'static str {
        if self.is_statement { "here" } else { "this file" }
    }

    /// Whether version and target suffice for `needs` (what is unknown suffices).
    pub fn meets(&self, needs: Needs) -> bool {
        self.version.is_none_or(|version| version >= needs.version)
            && self.target.is_none_or(|target| needs.targets.contains(target))
    }
}
