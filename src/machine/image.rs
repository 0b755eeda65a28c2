//! A kernel's memory before it starts: where variables and parameters lie, and what they hold.

use rustc_hash::FxHashMap;

use super::memory::Bytes;
use super::space::{Windows, function_address};
use crate::program::layout::{self, Region};
use crate::program::{Program, VariableId};
use crate::syntax::ast::{Const, Declarator, Initializer, Item, Variable as Declaration};
use crate::types::{Space, Type};

/// Variables larger than this in all are refused.
const MOST_BYTES: u64 = 1 << 30;

/// A variable in global memory.
#[derive(Clone, Debug)]
pub struct Global {
    /// Which.
    pub variable: VariableId,
    /// Its address.
    pub address: u64,
    /// What it holds.
    pub bytes: Bytes,
}

/// Memory of a kernel and of its module.
#[derive(Clone, Debug)]
pub struct Image {
    /// Where the windows start.
    pub windows: Windows,
    /// The kernel's shared memory.
    pub shared: Region,
    /// The parameters of the kernel in order: which, offset, bytes.
    pub parameters: Vec<(VariableId, u32, u32)>,
    /// Bytes of all parameters.
    pub parameter_bytes: u32,
    /// Variables in global memory, by address.
    pub globals: Vec<Global>,
    /// Constant memory from its start on.
    pub constants: Vec<u8>,
    addresses: FxHashMap<VariableId, u64>,
}

impl Image {
    /// The memory of routine number `kernel`; `None` when the variables are too large to be laid out.
    pub fn new(program: &Program, kernel: usize) -> Option<Image> {
        let routine = &program.routines[kernel];
        let shared = layout::shared(program, routine);
        let mut image = Image {
            windows: Windows::new(program.header.address_size),
            shared: Region { start: shared.start, slots: Vec::new(), size: 0, align: 1 },
            parameters: Vec::new(),
            parameter_bytes: 0,
            globals: Vec::new(),
            constants: Vec::new(),
            addresses: shared.slots.iter().map(|slot| (slot.variable, slot.address)).collect(),
        };
        image.shared = shared;
        image.place_parameters(program, routine.item)?;
        image.place_variables(program)?;
        image.initialize(program);
        Some(image)
    }

    /// Where a variable lies in its own window: in CTA 0 of the cluster for shared memory. `None` for
    /// registers, local variables, and what the kernel does not have.
    pub fn address(&self, variable: VariableId) -> Option<u64> {
        self.addresses.get(&variable).copied()
    }

    /// The parameter of the kernel in which byte `offset` of parameter memory lies.
    pub fn parameter_at(&self, offset: u32) -> Option<VariableId> {
        let found = self.parameters.iter().find(|(_, start, size)| (*start..start + size).contains(&offset));
        found.map(|(variable, ..)| *variable)
    }

    fn place_parameters(&mut self, program: &Program, item: u32) -> Option<()> {
        let mut end = 0u64;
        for (index, variable) in program.variables.iter().enumerate() {
            if variable.function != Some(item) || !variable.parameter {
                continue;
            }
            let size = variable.size?;
            let address = end.next_multiple_of(variable.align.max(1).into());
            end = address.checked_add(size).filter(|&end| end <= super::space::SMALL_WINDOW)?;
            let id = VariableId(index as u32);
            self.addresses.insert(id, address);
            self.parameters.push((id, address as u32, size as u32));
        }
        self.parameter_bytes = end as u32;
        Some(())
    }

    fn place_variables(&mut self, program: &Program) -> Option<()> {
        let mut next = self.windows.variables;
        let mut constants = 0u64;
        for (index, variable) in program.variables.iter().enumerate() {
            let id = VariableId(index as u32);
            let align = u64::from(variable.align.max(1));
            match variable.space {
                Space::Global => {
                    let size = variable.size.unwrap_or(0);
                    // Aligned as declared and no better, so that wrong assumptions show; apart.
                    let address = (next + 64).next_multiple_of(2 * align) + align;
                    next = address.checked_add(size)?;
                    if next - self.windows.variables > MOST_BYTES {
                        return None;
                    }
                    self.addresses.insert(id, address);
                    let bytes = Bytes::written(vec![0; size as usize]);
                    self.globals.push(Global { variable: id, address, bytes });
                }
                Space::Const => {
                    let address = constants.next_multiple_of(align);
                    constants = address.checked_add(variable.size.unwrap_or(0))?;
                    if constants > super::space::SMALL_WINDOW {
                        return None;
                    }
                    self.addresses.insert(id, address);
                }
                _ => {}
            }
        }
        self.constants = vec![0; constants as usize];
        Some(())
    }

    /// Fills in what the module says of its variables.
    fn initialize(&mut self, program: &Program) {
        let declarations = program.module.items.iter().filter_map(|item| match item {
            Item::Variable(declaration) => Some(&**declaration),
            _ => None,
        });
        let own = program.module.functions().filter_map(|function| function.body.as_ref());
        let inside = own.flat_map(|body| &body.statements).filter_map(|statement| match &statement.kind {
            crate::syntax::ast::StatementKind::Variable(declaration) => Some(&**declaration),
            _ => None,
        });
        for declaration in declarations.chain(inside) {
            for declarator in declaration.declarators.iter().filter(|d| d.initializer.is_some()) {
                self.initialize_one(program, declaration, declarator);
            }
        }
    }

    fn initialize_one(&mut self, program: &Program, declaration: &Declaration, declarator: &Declarator) {
        let of = |variable: &crate::program::Variable| variable.span == declarator.name.span;
        let Some(index) = program.variables.iter().position(of) else { return };
        let id = VariableId(index as u32);
        let Some(size) = program.variables[index].size else { return };
        let mut bytes = vec![0; size as usize];
        if let Some(initializer) = &declarator.initializer {
            let dimensions: Vec<u64> = declarator.dimensions.iter().map(|d| extent(*d)).collect();
            self.fill(program, declaration, initializer, &dimensions, &mut bytes);
        }
        match program.variables[index].space {
            Space::Const => {
                let start = self.addresses[&id] as usize;
                self.constants[start..start + bytes.len()].copy_from_slice(&bytes);
            }
            _ => {
                if let Some(global) = self.globals.iter_mut().find(|global| global.variable == id) {
                    global.bytes = Bytes::written(bytes);
                }
            }
        }
    }

    /// Fills `bytes`, an array of these dimensions, from an initialiser; nested lists fill rows.
    fn fill(
        &self,
        program: &Program,
        declaration: &Declaration,
        initializer: &Initializer,
        dimensions: &[u64],
        bytes: &mut [u8],
    ) {
        match initializer {
            Initializer::List(_, parts) => {
                let element = declaration.ty.bytes() as usize;
                let inner = dimensions.get(1..).unwrap_or(&[]);
                let step = match dimensions.is_empty() {
                    true => element,
                    false => {
                        let vector = usize::from(declaration.vector.max(1));
                        inner.iter().product::<u64>().max(1) as usize * element * vector
                    }
                };
                for (part, chunk) in parts.iter().zip(bytes.chunks_mut(step.max(1))) {
                    self.fill(program, declaration, part, inner, chunk);
                }
            }
            Initializer::Const(value) => put(bytes, number(*value, declaration.ty), declaration.ty.bytes()),
            Initializer::Address { symbol, generic, offset, mask, .. } => {
                let Some(address) = self.named(program, symbol.symbol, *generic) else { return };
                let address = address.wrapping_add(*offset as u64);
                // A mask picks one byte of the address.
                let address = mask.map_or(address, |mask| {
                    if mask == 0 { 0 } else { (address & mask) >> mask.trailing_zeros() }
                });
                put(bytes, address, declaration.ty.bytes());
            }
        }
    }

    fn named(&self, program: &Program, symbol: crate::syntax::names::Symbol, generic: bool) -> Option<u64> {
        let of =
            |variable: &crate::program::Variable| variable.symbol == symbol && variable.function.is_none();
        if let Some(index) = program.variables.iter().position(of) {
            let address = self.address(VariableId(index as u32))?;
            let constant = program.variables[index].space == Space::Const;
            return Some(if constant && generic { address + self.windows.constant } else { address });
        }
        let name = |item: u32| match &program.module.items[item as usize] {
            Item::Function(function) => Some(function.name.symbol),
            _ => None,
        };
        let index = program.routines.iter().position(|routine| name(routine.item) == Some(symbol))?;
        Some(function_address(index as u32))
    }
}

/// The extent of a dimension, 0 when it is not given.
fn extent(dimension: Option<Const>) -> u64 {
    dimension.and_then(|c| c.value.int()).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

fn number(value: Const, ty: Type) -> u64 {
    super::lower::constant_bits(value.value, ty)
}

/// Writes the low bytes of a number at the start of `bytes`.
fn put(bytes: &mut [u8], value: u64, size: u32) {
    let size = (size as usize).min(bytes.len()).min(8);
    bytes[..size].copy_from_slice(&value.to_le_bytes()[..size]);
}
