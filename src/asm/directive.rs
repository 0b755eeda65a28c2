//! What directives leave open: the address size, alignments, and numbers of threads.

use crate::isa::Version;
use crate::program::Program;
use crate::syntax::ast::{Directive, Function, Item, Module, StatementKind, Variable};
use crate::types::{Linkage, Space, Type};

/// The first version with `.address_size`.
const ADDRESS_SIZE_SINCE: Version = Version::new(2, 3);

/// The source of `program` with the directives' defaults written; `None` when none is missing.
pub fn explicit(program: &Program) -> Option<String> {
    let mut insertions = insertions(program);
    if insertions.is_empty() {
        return None;
    }
    insertions.sort_by_key(|(at, _)| *at);
    let text = program.module.source.text();
    let mut out = String::with_capacity(text.len() + 32 * insertions.len());
    let mut done = 0;
    for (at, insertion) in insertions {
        out.push_str(&text[done..at as usize]);
        out.push_str(&insertion);
        done = at as usize;
    }
    out.push_str(&text[done..]);
    Some(out)
}

type Insertion = (u32, String);

fn insertions(program: &Program) -> Vec<Insertion> {
    let module = &program.module;
    let mut out = Vec::new();
    let mut sized = false;
    let mut target_end = None;
    for item in &module.items {
        match item {
            Item::Target(target) => target_end = Some(target.span.end),
            Item::AddressSize(_) => sized = true,
            Item::Variable(variable) => out.extend(align(variable)),
            Item::Function(function) => in_function(module, function, &mut out),
            _ => {}
        }
    }
    let known = program.header.version.is_some_and(|version| version >= ADDRESS_SIZE_SINCE);
    if let Some(end) = target_end
        && known
        && !sized
    {
        out.push((end, format!("\n.address_size {}", program.header.address_size)));
    }
    out
}

fn in_function(module: &Module, function: &Function, out: &mut Vec<Insertion>) {
    out.extend(function.directives.iter().filter_map(|directive| extent(module, directive)));
    let statements = function.body.iter().flat_map(|body| &body.statements);
    for statement in statements {
        if let StatementKind::Variable(variable) = &statement.kind {
            out.extend(align(variable));
        }
    }
}

/// `.align N`, where the natural alignment of the type holds.
fn align(variable: &Variable) -> Option<Insertion> {
    let linked = !matches!(variable.linkage, None | Some((Linkage::Visible, _)));
    let dynamic = variable.space == Space::Shared;
    let in_memory = matches!(variable.space, Space::Shared | Space::Global | Space::Const | Space::Local);
    let opaque = matches!(variable.ty, Type::TexRef | Type::SamplerRef | Type::SurfRef);
    if variable.align.is_some() || !in_memory || opaque || (linked && !dynamic) {
        return None;
    }
    let natural = variable.ty.bytes() * u32::from(variable.vector.max(1));
    Some((variable.space_span.end, format!(" .align {}", natural.next_power_of_two())))
}

/// `.maxntid 128` is `.maxntid 128, 1, 1`.
fn extent(module: &Module, directive: &Directive) -> Option<Insertion> {
    let name = module.name(directive.name.symbol);
    let three = matches!(name, ".maxntid" | ".reqntid" | ".reqnctapercluster");
    let given = directive.arguments.len();
    (three && (1..3).contains(&given)).then(|| (directive.span.end, ", 1".repeat(3 - given)))
}
