//! A program as data: what `mbar asm --format json` prints and the listing is made from. Schema
//! `mbar.asm/1`; fields are only ever added.

use serde::Serialize;

use super::barrier::{self, Place};
use super::operand::{self, Operand};
use super::spell;
use crate::isa::describe;
use crate::isa::opcode::Opcode;
use crate::isa::{Needs, RowMatch, Version};
use crate::needs;
use crate::program::layout::{self, Region};
use crate::program::{Fit, Inst, Program, Routine, Variable};
use crate::syntax::ast::Item;

/// The document.
#[derive(Serialize, Debug)]
pub struct Document {
    /// `mbar.asm/1`
    pub schema: &'static str,
    /// The file's name.
    pub file: String,
    /// What the file says of itself.
    pub header: Header,
    /// What all instructions together need.
    pub needs: Gate,
    /// Variables in memory, parameters too, in order of declaration.
    pub variables: Vec<VariableEntry>,
    /// Functions with a body, in order.
    pub functions: Vec<Function>,
    /// The program, spelled out.
    pub text: String,
}

/// Version, target, address size.
#[derive(Serialize, Debug)]
pub struct Header {
    /// `8.0`
    pub version: Option<String>,
    /// `sm_90a`
    pub target: Option<&'static str>,
    /// 32 or 64.
    pub address_size: u32,
}

/// The lowest PTX version and the targets that something needs.
#[derive(Serialize, Debug, PartialEq, Eq)]
pub struct Gate {
    /// `8.0`; none: any.
    pub version: Option<String>,
    /// In words, as in `sm_90a or sm_100f`; none: any.
    pub targets: Option<String>,
}

/// A variable.
#[derive(Serialize, Debug)]
pub struct VariableEntry {
    /// Its name.
    pub name: String,
    /// `.shared`
    pub space: &'static str,
    /// `.b64`
    #[serde(rename = "type")]
    pub ty: &'static str,
    /// Bytes; none for `[]`.
    pub size: Option<u64>,
    /// Bytes.
    pub align: u32,
    /// Whether it is a parameter.
    pub parameter: bool,
    /// The function it belongs to; none for the module's.
    pub function: Option<String>,
    /// Where it is declared.
    pub line: u32,
}

/// A kernel or function.
#[derive(Serialize, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// `.entry`: a kernel.
    pub entry: bool,
    /// The line of its name.
    pub line: u32,
    /// Its shared memory.
    pub shared: Memory,
    /// Its local memory.
    pub local: Memory,
    /// Its barriers.
    pub barriers: Vec<Barrier>,
    /// Its instructions in order.
    pub instructions: Vec<Instruction>,
}

/// Variables with their places.
#[derive(Serialize, Debug)]
pub struct Memory {
    /// The first address.
    pub start: u64,
    /// Bytes of the variables and the gaps between them.
    pub size: u64,
    /// The largest alignment.
    pub align: u32,
    /// In order of address; dynamic shared memory (no size) last.
    pub variables: Vec<Placed>,
}

/// A variable's place.
#[derive(Serialize, Debug)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Bytes; none: dynamic.
    pub size: Option<u64>,
    /// Bytes.
    pub align: u32,
}

/// A barrier.
#[derive(Serialize, Debug)]
pub struct Barrier {
    /// `bar+8`; `remote bar+8`; `bar+?` somewhere in it; `[%rd3+8]` where nothing is known.
    pub name: String,
    /// The variable, where it is known.
    pub variable: Option<String>,
    /// Bytes from the start of the variable or register, where that is constant.
    pub offset: Option<i64>,
    /// Its address in shared memory, where that is known.
    pub address: Option<u64>,
    /// Whether it is another CTA's barrier at that place.
    pub remote: bool,
    /// What happens to it.
    pub uses: Vec<Use>,
}

/// A use of a barrier.
#[derive(Serialize, Debug)]
pub struct Use {
    /// `init`, `arrive`, `wait` …
    pub action: &'static str,
    /// The line.
    pub line: u32,
    /// The index of the instruction in its function.
    pub instruction: usize,
    /// Count, bytes or units, as written.
    pub amount: Option<String>,
    /// The same as a number, where it is constant.
    pub value: Option<i64>,
}

/// An instruction.
#[derive(Serialize, Debug)]
pub struct Instruction {
    /// Its first line.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
    /// `@%p0`, `@!%p0`
    pub guard: Option<String>,
    /// The fixed words; none when the table does not know it.
    pub op: Option<&'static str>,
    /// The form it is a spelling of, or none.
    pub form: Option<String>,
    /// The row that it fits, as the manual writes it.
    pub signature: Option<String>,
    /// The opcode, spelled out.
    pub opcode: String,
    /// Its modifiers in canonical order, meant ones included.
    pub modifiers: Vec<Modifier>,
    /// Its operands.
    pub operands: Vec<Operand>,
    /// What it needs; none when the table does not know it.
    pub needs: Option<Gate>,
}

/// A modifier in its place.
#[derive(Serialize, Debug)]
pub struct Modifier {
    /// The place's name.
    pub slot: &'static str,
    /// The modifier.
    pub modifier: &'static str,
    /// Whether the program spells it; else it is the default.
    pub written: bool,
}

impl Gate {
    fn new(needs: Needs) -> Gate {
        Gate {
            version: (needs.version != Version::NONE).then(|| needs.version.to_string()),
            targets: describe::targets(needs.targets),
        }
    }

    /// In words; `anything` when there is no condition.
    pub fn text(&self) -> String {
        let version = self.version.as_ref().map(|version| format!("PTX {version}"));
        let parts: Vec<String> = version.into_iter().chain(self.targets.clone()).collect();
        if parts.is_empty() { "any".into() } else { parts.join(", ") }
    }
}

/// Everything about `program`, with the text that [`super::assemble`] made of it.
pub fn document(program: &Program, text: String) -> Document {
    let header = &program.header;
    Document {
        schema: "mbar.asm/1",
        file: program.module.source.name().to_string(),
        header: Header {
            version: header.version.map(|version| version.to_string()),
            target: header.target.map(|target| target.name()),
            address_size: header.address_size,
        },
        needs: Gate::new(needs::of_all(program)),
        variables: program.variables.iter().map(|variable| variable_entry(program, variable)).collect(),
        functions: program.routines.iter().map(|routine| function(program, routine)).collect(),
        text,
    }
}

impl Document {
    /// The document as text, one line.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn variable_entry(program: &Program, variable: &Variable) -> VariableEntry {
    let owner = variable.function.map(|item| match &program.module.items[item as usize] {
        Item::Function(function) => program.module.name(function.name.symbol).to_string(),
        _ => String::new(),
    });
    VariableEntry {
        name: program.module.name(variable.symbol).to_string(),
        space: variable.space.text(),
        ty: variable.ty.text(),
        size: variable.size,
        align: variable.align,
        parameter: variable.parameter,
        function: owner,
        line: program.module.source.line(variable.span.start),
    }
}

fn function(program: &Program, routine: &Routine) -> Function {
    let syntax = program.function(routine);
    let shared = layout::shared(program, routine);
    let table = barrier::table(program, routine);
    let barriers = table.into_iter().map(|entry| barrier(program, routine, &shared, entry));
    Function {
        name: program.module.name(syntax.name.symbol).to_string(),
        entry: syntax.is_entry,
        line: program.module.source.line(syntax.name.span.start),
        barriers: barriers.collect(),
        local: memory(program, &layout::local(program, routine)),
        shared: memory(program, &shared),
        instructions: routine.instructions.iter().map(|inst| instruction(program, routine, inst)).collect(),
    }
}

fn memory(program: &Program, region: &Region) -> Memory {
    let placed = region.slots.iter().map(|slot| Placed {
        name: program.module.name(program.variables[slot.variable.0 as usize].symbol).to_string(),
        address: slot.address,
        size: slot.size,
        align: slot.align,
    });
    Memory { start: region.start, size: region.size, align: region.align, variables: placed.collect() }
}

fn barrier(program: &Program, routine: &Routine, shared: &Region, entry: barrier::Barrier) -> Barrier {
    let plus = |offset: Option<i64>| match offset {
        None => "+?".to_string(),
        Some(0) => String::new(),
        Some(offset) => format!("{offset:+}"),
    };
    let uses = entry.uses.into_iter().map(|usage| Use {
        action: usage.action.as_str(),
        line: usage.line,
        instruction: usage.instruction,
        amount: usage.amount,
        value: usage.value,
    });
    let uses = uses.collect();
    match entry.place {
        Place::Variable(id, offset) | Place::Remote(id, offset) => {
            let name = program.module.name(program.variables[id.0 as usize].symbol);
            let remote = matches!(entry.place, Place::Remote(..));
            let slot = shared.slots.iter().find(|slot| slot.variable == id && !remote);
            Barrier {
                name: format!("{}{name}{}", if remote { "remote " } else { "" }, plus(offset)),
                variable: Some(name.to_string()),
                offset,
                address: slot.and_then(|slot| slot.address.checked_add_signed(offset?)),
                remote,
                uses,
            }
        }
        Place::Register(id, offset) => {
            let name = program.module.name(routine.register(id).symbol);
            let name = format!("[{name}{}]", plus(Some(offset)));
            Barrier { name, variable: None, offset: Some(offset), address: None, remote: false, uses }
        }
        Place::Unknown => {
            let name = "[?]".to_string();
            Barrier { name, variable: None, offset: None, address: None, remote: false, uses }
        }
    }
}

fn instruction(program: &Program, routine: &Routine, inst: &Inst) -> Instruction {
    let syntax = program.syntax(routine, inst);
    let span = program.span(routine, inst);
    let source = &program.module.source;
    let full = spell::full_spelling(program, routine, inst);
    let written = program.module.opcode(syntax);
    let op = match &program.opcodes[syntax.opcode.0 as usize] {
        Opcode::Known { op, .. } if inst.fit != Fit::Unknown => Some(*op),
        _ => None,
    };
    let row = program.row(routine, inst);
    let guard = syntax.guard.map(|guard| {
        let not = if guard.negated { "!" } else { "" };
        format!("@{not}{}", program.module.name(guard.name.symbol))
    });
    Instruction {
        line: source.line(span.start),
        end_line: source.line(span.end.saturating_sub(1).max(span.start)),
        guard,
        op: op.map(|op| op.name),
        form: row.map(|row| format!("{:?}", row.form())),
        signature: op.zip(row).map(|(op, row)| describe::signature(op, row.row)),
        opcode: full.map_or_else(|| written.text.clone(), |full| full.text),
        modifiers: row.map(modifiers).unwrap_or_default(),
        operands: operand::operands(program, routine, inst),
        needs: needs::of(program, routine, inst).map(Gate::new),
    }
}

fn modifiers(row: &RowMatch) -> Vec<Modifier> {
    let one = |(index, slot): (usize, &crate::isa::table::Slot)| {
        let modifier = row.meaning(index)?;
        let written = row.modifier(index).is_some();
        Some(Modifier { slot: slot.name, modifier: modifier.text(), written })
    };
    row.row.slots.iter().enumerate().filter_map(one).collect()
}
