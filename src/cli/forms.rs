//! `mbar forms`

use std::io;

use clap::Args;

use super::{Color, Format, complain, exit, print};
use crate::asm::reference::{self, Page, Style};
use crate::isa::OPS;
use crate::isa::opcode::nearest;

/// The arguments of `mbar forms`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// An instruction (`mbarrier.arrive`), part of a name (`tensor`), a modifier (`.multicast::cluster`),
    /// a family (`fence`) or a word of a description; without one, all instructions are listed
    pattern: Option<String>,
    /// Text for people, or one JSON document (schema mbar.forms/1)
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments, color: Color) -> io::Result<u8> {
    let pattern = arguments.pattern.as_deref().unwrap_or("");
    let found = reference::search(pattern);
    if found.is_empty() {
        let near = nearest(pattern, OPS.iter().map(|op| op.name));
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        complain(&format!(
            "mbar: nothing in the reference matches `{pattern}`{hint} (`mbar forms` lists all)"
        ));
        return Ok(exit::USAGE);
    }
    let pages: Vec<Page> = found.iter().map(|op| Page::new(op)).collect();
    let text = match arguments.format {
        Format::Json => reference::json(&pages),
        Format::Human if arguments.pattern.is_none() || pages.len() > MANY => {
            reference::index(&pages, style(color))
        }
        Format::Human => reference::text(&pages, style(color)),
    };
    print(&text)?;
    Ok(exit::CLEAN)
}

/// With more matches than this only their names are shown.
const MANY: usize = 12;

fn style(color: Color) -> Style {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Style { color: color.enabled(), width: columns.unwrap_or(100usize).clamp(60, 160) }
}
