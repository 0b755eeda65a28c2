//! What a launch must know of the kernels of a file.

use rustc_hash::FxHashMap;

use super::part::{Fault, Part, Place, Refusal, Result};
use super::rules::BAD_LAUNCH;
use super::script::{Block, Start};
use crate::program::Program;
use crate::program::variable::constant;
use crate::program::{Routine, Variable};
use crate::source::Span;
use crate::syntax::ast::{DirectiveArgument, Function};
use crate::types::Type;

/// A kernel with a body.
#[derive(Clone, Copy)]
pub(super) struct Kernel<'a> {
    pub program: &'a Program,
    /// Index into [`Program::routines`].
    pub index: usize,
    pub function: &'a Function,
    item: u32,
}

/// The kernels of a file, in order.
pub(super) struct Kernels<'a> {
    list: Vec<Kernel<'a>>,
    /// Index by name.
    names: FxHashMap<&'a str, usize>,
}

impl<'a> Kernels<'a> {
    /// The kernels of `program` that have a body.
    pub fn new(program: &'a Program) -> Kernels<'a> {
        let routines = program.routines.iter().enumerate();
        let list: Vec<Kernel> =
            routines.filter_map(|(index, routine)| Kernel::new(program, index, routine)).collect();
        let names = list.iter().enumerate().rev().map(|(index, kernel)| (kernel.name(), index)).collect();
        Kernels { list, names }
    }

    fn named(&self, name: Part) -> Result<Kernel<'a>> {
        self.names.get(name.text).map(|index| self.list[*index]).ok_or_else(|| {
            let message = match self.list.is_empty() {
                true => "the file defines no kernel".to_string(),
                false => format!("the file defines no kernel {}", name.quoted()),
            };
            let names = self.list.iter().map(Kernel::name);
            Fault::new(&BAD_LAUNCH, name.place, message).meant(name, names)
        })
    }
}

/// A parameter of a kernel.
#[derive(Clone, Copy)]
pub(super) struct Parameter<'a> {
    pub name: &'a str,
    pub variable: &'a Variable,
    /// An array or vector: passed by value, whatever its size.
    pub aggregate: bool,
}

impl<'a> Kernel<'a> {
    fn new(program: &'a Program, index: usize, routine: &'a Routine) -> Option<Kernel<'a>> {
        let function = program.function(routine);
        function.is_entry.then_some(Kernel { program, index, function, item: routine.item })
    }

    pub fn name(&self) -> &'a str {
        self.program.module.name(self.function.name.symbol)
    }

    /// Where its name stands.
    pub fn place(&self) -> Place {
        Place::File(self.function.name.span)
    }

    /// The parameters in order.
    pub fn parameters(&self) -> Vec<Parameter<'a>> {
        let own = |v: &&Variable| v.function == Some(self.item) && v.parameter;
        let mut variables = self.program.variables.iter().filter(own);
        let mut parameters = Vec::new();
        for declaration in &self.function.parameters {
            for declarator in &declaration.declarators {
                let found = variables.find(|v| v.span == declarator.name.span);
                parameters.extend(found.map(|variable| Parameter {
                    name: self.program.module.name(variable.symbol),
                    variable,
                    aggregate: !declarator.dimensions.is_empty() || declaration.vector > 1,
                }));
            }
        }
        parameters
    }

    /// The numbers of the directive `word` of the kernel, missing ones 1, and where it stands.
    pub fn extents(&self, word: &str) -> Option<([u32; 3], Span)> {
        let named = |name| self.program.module.name(name) == word;
        let directive = self.function.directives.iter().find(|d| named(d.name.symbol))?;
        let mut extents = [1; 3];
        for (slot, argument) in extents.iter_mut().zip(&directive.arguments) {
            if let DirectiveArgument::Const(number) = argument {
                *slot = constant(*number)?;
            }
        }
        Some((extents, directive.span))
    }
}

impl Parameter<'_> {
    pub fn place(&self) -> Place {
        Place::File(self.variable.span)
    }

    /// Whether it can hold a pointer of `address_bits` bits.
    pub fn holds_pointer(&self, address_bits: u32) -> bool {
        let pointer =
            matches!(self.variable.ty, Type::U64 | Type::B64 | Type::S64 | Type::U32 | Type::B32 | Type::S32);
        pointer && !self.aggregate && self.variable.ty.bits() == address_bits
    }

    /// Whether it can hold a tensor map: 128 bytes, 64-byte aligned.
    pub fn holds_map(&self) -> bool {
        self.variable.size == Some(128) && self.variable.align >= 64
    }

    /// "`.u32` of 4 bytes"
    pub fn describe(&self) -> String {
        let size = match self.variable.size {
            Some(1) => "1 byte".to_string(),
            Some(size) => format!("{size} bytes"),
            None => "unknown size".to_string(),
        };
        let array = if self.aggregate { "an array of " } else { "a " };
        format!("{array}`{}`, {size}", self.variable.ty)
    }
}

/// The kernel to run, and the index of the block of directives that is about it.
pub(super) fn choose<'a>(
    kernels: &Kernels<'a>,
    blocks: &[Block],
    flags: &Start,
    refusal: &mut Refusal,
) -> Option<(Kernel<'a>, Option<usize>)> {
    let owners: Vec<Option<Kernel>> = blocks.iter().map(|block| owner(block, kernels, refusal)).collect();
    duplicates(blocks, &owners, refusal);
    let chosen = match flags.kernel {
        Some(name) => refusal.take(kernels.named(name))?,
        None => {
            let started: Vec<Kernel> = blocks
                .iter()
                .zip(&owners)
                .filter(|(b, _)| b.start.is_some())
                .filter_map(|(_, k)| *k)
                .collect();
            match (kernels.list.as_slice(), started.as_slice()) {
                ([only], _) | (_, [only]) => *only,
                // The launch names none, which has been said.
                (_, []) if blocks.iter().any(|block| block.start.is_some()) => return None,
                (all, started) => {
                    refusal.push(undecided(all, started));
                    return None;
                }
            }
        }
    };
    let lone = |block: &Block| block.start.is_none();
    let own = owners.iter().position(|owner| owner.is_some_and(|owner| owner.index == chosen.index));
    // Without any launch, the lines are about whichever kernel is run.
    Some((chosen, own.or(blocks.iter().position(lone))))
}

fn owner<'a>(block: &Block, kernels: &Kernels<'a>, refusal: &mut Refusal) -> Option<Kernel<'a>> {
    let (place, start) = block.start.as_ref()?;
    match (start.kernel, kernels.list.as_slice()) {
        (Some(name), _) => refusal.take(kernels.named(name)),
        (None, [only]) => Some(*only),
        (None, []) => None,
        (None, several) => {
            let fault = Fault::new(&BAD_LAUNCH, *place, "this launch does not say which kernel it starts");
            refusal.push(
                fault
                    .note(format!("the file has the kernels {}", list(several)))
                    .help(format!("write `launch kernel={} …`", several[0].name())),
            );
            None
        }
    }
}

fn duplicates(blocks: &[Block], owners: &[Option<Kernel>], refusal: &mut Refusal) {
    let mut seen: FxHashMap<usize, Place> = FxHashMap::default();
    for (block, owner) in blocks.iter().zip(owners) {
        let (Some((place, _)), Some(owner)) = (&block.start, owner) else { continue };
        if let Some(first) = seen.insert(owner.index, *place) {
            refusal.push(
                Fault::new(&BAD_LAUNCH, *place, format!("a second launch of `{}`", owner.name()))
                    .also(first, "the first one")
                    .note("a file describes one launch of a kernel")
                    .help("remove one of the two; flags such as `--grid` override the file for other runs"),
            );
        }
    }
}

fn undecided(kernels: &[Kernel], started: &[Kernel]) -> Fault {
    let Some(first) = kernels.first() else {
        let place = Place::File(Span::empty(0));
        return Fault::new(&BAD_LAUNCH, place, "the file defines no kernel, so there is nothing to run")
            .help("a kernel starts with `.visible .entry NAME(…)` and has a body");
    };
    let choice = if started.is_empty() { kernels } else { started };
    Fault::new(&BAD_LAUNCH, choice.first().unwrap_or(first).place(), "which kernel is to be run?")
        .note(format!("the file has the kernels {}", list(choice)))
        .help(format!(
            "say `--kernel {}`, or describe one launch in the file",
            choice.first().unwrap_or(first).name()
        ))
}

fn list(kernels: &[Kernel]) -> String {
    const MOST: usize = 12;
    let mut names: Vec<String> = kernels.iter().take(MOST).map(|k| format!("`{}`", k.name())).collect();
    match kernels.len().saturating_sub(MOST) {
        0 => {}
        more => names.push(format!("and {more} more")),
    }
    names.join(", ")
}
