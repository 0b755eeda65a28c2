//! The listing: memory layout, barrier table and instructions of each function, as aligned text.

use super::document::{Barrier, Document, Function, Instruction, Memory, Use};

/// The listing of `document`. Line numbers are those of the file that was read.
pub fn listing(document: &Document) -> String {
    let header = &document.header;
    let known = |text: Option<&str>| text.unwrap_or("?").to_string();
    let mut instructions = document.functions.iter().flat_map(|function| &function.instructions);
    let complete = instructions.all(|instruction| instruction.needs.is_some());
    let mut out = format!(
        "listing of {}\n  PTX {}, {}, {}-bit addresses; needs {}{}\n",
        document.file,
        known(header.version.as_deref()),
        known(header.target),
        header.address_size,
        if complete { "" } else { "at least " },
        document.needs.text(),
    );
    for function in &document.functions {
        out.push('\n');
        describe(function, &mut out);
    }
    out
}

fn describe(function: &Function, out: &mut String) {
    let kind = if function.entry { "kernel" } else { "function" };
    out.push_str(&format!("{kind} {} (line {})\n", function.name, function.line));
    memory("shared", &function.shared, out);
    memory("local", &function.local, out);
    barriers(&function.barriers, out);
    instructions(&function.instructions, out);
}

fn memory(what: &str, memory: &Memory, out: &mut String) {
    if memory.variables.is_empty() {
        out.push_str(&format!("\n  {what} memory: none\n"));
        return;
    }
    let (size, align) = (memory.size, memory.align);
    out.push_str(&format!("\n  {what} memory: {size} bytes, aligned to {align}\n"));
    let mut rows = vec![["address", "offset", "size", "align", "name"].map(String::from)];
    rows.extend(memory.variables.iter().map(|variable| {
        [
            format!("{:#x}", variable.address),
            (variable.address - memory.start).to_string(),
            variable.size.map_or("dynamic".into(), |size| size.to_string()),
            variable.align.to_string(),
            variable.name.clone(),
        ]
    }));
    table(&rows, [true, true, true, true, false], out);
}

fn barriers(barriers: &[Barrier], out: &mut String) {
    if barriers.is_empty() {
        return;
    }
    out.push_str("\n  barriers\n");
    let mut rows = vec![["barrier", "address", "line", "use", "amount"].map(String::from)];
    for barrier in barriers {
        for (index, usage) in barrier.uses.iter().enumerate() {
            let first = |text: String| if index == 0 { text } else { String::new() };
            rows.push([
                first(barrier.name.clone()),
                first(barrier.address.map_or(String::new(), |address| format!("{address:#x}"))),
                usage.line.to_string(),
                usage.action.to_string(),
                amount(usage),
            ]);
        }
    }
    table(&rows, [false, true, true, false, false], out);
}

/// `2`, or `%r1 = 2` for a register whose value is known.
fn amount(usage: &Use) -> String {
    match (&usage.amount, usage.value) {
        (Some(text), Some(value)) if text.parse() != Ok(value) => format!("{text} = {value}"),
        (text, _) => text.clone().unwrap_or_default(),
    }
}

fn instructions(instructions: &[Instruction], out: &mut String) {
    if instructions.is_empty() {
        return;
    }
    out.push_str("\n  instructions\n");
    let mut rows = vec![["line", "needs", "form"].map(String::from)];
    rows.extend(instructions.iter().map(|instruction| {
        let form = instruction.signature.clone();
        [
            instruction.line.to_string(),
            instruction.needs.as_ref().map_or("?".into(), |needs| needs.text()),
            form.unwrap_or_else(|| format!("{} (not in the table)", instruction.opcode)),
        ]
    }));
    table(&rows, [true, false, false], out);
}

/// Rows with aligned columns, two blanks between them; `right` says which are flush right.
fn table<const N: usize>(rows: &[[String; N]], right: [bool; N], out: &mut String) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in rows {
        let mut line = String::from("  ");
        for column in 0..N {
            let pad = " ".repeat(widths[column] - row[column].chars().count());
            let (before, behind) = if right[column] { (pad.as_str(), "") } else { ("", pad.as_str()) };
            line.push_str(&format!("  {before}{}{behind}", row[column]));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
