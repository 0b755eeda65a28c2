//! Where variables lie in shared and local memory.
//!
//! As the chip shows it: shared memory starts at 0x400 from sm_90 on (the system keeps the first
//! KiB), else at 0; variables follow in order of declaration at their alignment, dynamic shared
//! memory comes after all of them. A kernel gets its own variables, and of the module's those that
//! it or a function that it calls uses (so does ptxas).

use rustc_hash::FxHashSet;

use super::{Base, Program, Routine, Value, Variable, VariableId};
use crate::isa::TargetId;
use crate::types::Space;

/// The first byte of shared memory that a kernel can use, from sm_90 on.
const SHARED_START: u64 = 0x400;

/// A region of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The address of its first byte.
    pub start: u64,
    /// Its variables in order; dynamic shared memory last.
    pub slots: Vec<Slot>,
    /// Bytes from the start to the end of the last variable, gaps included, dynamic memory not.
    pub size: u64,
    /// The alignment of the whole.
    pub align: u32,
}

/// A variable's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Which.
    pub variable: VariableId,
    /// Its address.
    pub address: u64,
    /// Its size; `None` for dynamic shared memory, which the launch decides.
    pub size: Option<u64>,
    /// Its alignment.
    pub align: u32,
}

/// The shared memory of a kernel.
pub fn shared(program: &Program, routine: &Routine) -> Region {
    let start = shared_start(program.header.target);
    region(program, variables(program, routine, Space::Shared), start)
}

/// The local memory that a function declares.
pub fn local(program: &Program, routine: &Routine) -> Region {
    region(program, variables(program, routine, Space::Local), 0)
}

/// Where shared memory starts.
pub fn shared_start(target: Option<TargetId>) -> u64 {
    let first = TargetId::from_name("sm_90");
    match (target, first) {
        (Some(target), Some(first)) if target < first => 0,
        _ => SHARED_START,
    }
}

fn region(program: &Program, variables: Vec<VariableId>, start: u64) -> Region {
    let (dynamic, fixed): (Vec<_>, Vec<_>) =
        variables.into_iter().partition(|id| variable(program, *id).size.is_none());
    let mut region = Region { start, slots: Vec::new(), size: 0, align: 1 };
    let mut end = start;
    for id in fixed.into_iter().chain(dynamic) {
        let variable = variable(program, id);
        let address = end.next_multiple_of(variable.align.max(1).into());
        // All dynamic arrays start at one place.
        end = address.saturating_add(variable.size.unwrap_or(0));
        region.align = region.align.max(variable.align);
        region.slots.push(Slot { variable: id, address, size: variable.size, align: variable.align });
        if variable.size.is_some() {
            region.size = end - start;
        }
    }
    region
}

fn variable(program: &Program, id: VariableId) -> &Variable {
    &program.variables[id.0 as usize]
}

/// The variables of `space` that `routine` needs, in order of declaration.
fn variables(program: &Program, routine: &Routine, space: Space) -> Vec<VariableId> {
    let mut used = vec![false; program.variables.len()];
    let mut pending = vec![routine.item];
    let mut seen = FxHashSet::default();
    while let Some(item) = pending.pop() {
        if !seen.insert(item) {
            continue;
        }
        for value in body(program, item).iter().flat_map(|routine| &routine.values) {
            match value {
                Value::Variable(id, _)
                | Value::Element(id)
                | Value::Address(Base::Variable(id), _)
                | Value::Compound(Base::Variable(id), ..) => used[id.0 as usize] = true,
                Value::Function(item) => pending.push(*item),
                _ => {}
            }
        }
    }
    let wanted = |(index, variable): (usize, &Variable)| {
        let mine = match variable.function {
            Some(item) => item == routine.item || (seen.contains(&item) && space == Space::Shared),
            None => used[index],
        };
        (mine && variable.space == space && !variable.parameter).then_some(VariableId(index as u32))
    };
    program.variables.iter().enumerate().filter_map(wanted).collect()
}

/// The body of the function that is item number `item`; routines stand in the order of the items.
fn body(program: &Program, item: u32) -> Option<&Routine> {
    let index = program.routines.binary_search_by_key(&item, |routine| routine.item).ok()?;
    Some(&program.routines[index])
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::program::Options;
    use crate::source::SourceFile;
    use crate::syntax::parse;

    fn program(target: &str) -> Program {
        let text = format!(
            ".version 8.0\n.target {target}\n.address_size 64\n\
             .extern .shared .align 128 .b8 dyn[];\n.shared .b8 flag;\n.shared .b64 unused;\n.shared .b64 bar[2];\n\
             .entry k() {{ .shared .b32 own; .local .b8 pad; .local .b64 spill; .reg .b32 r;\n\
             mov.u32 r, dyn; st.shared.u8 [flag], r; mov.u32 r, bar; ret; }}\n"
        );
        Program::new(parse(SourceFile::new("t", text)).module, Options::default())
    }

    fn places(program: &Program, region: &Region) -> Vec<(String, u64, Option<u64>)> {
        let name = |slot: &Slot| program.module.name(variable(program, slot.variable).symbol).to_string();
        region.slots.iter().map(|slot| (name(slot), slot.address, slot.size)).collect()
    }

    #[test]
    fn variables_follow_in_order_and_dynamic_memory_comes_last() {
        let program = program("sm_90");
        let region = shared(&program, &program.routines[0]);
        let expected = [
            ("flag".into(), 0x400, Some(1)),
            ("bar".into(), 0x408, Some(16)),
            ("own".into(), 0x418, Some(4)),
            ("dyn".into(), 0x480, None),
        ];
        assert_eq!(places(&program, &region), expected);
        assert_eq!((region.size, region.align), (0x1c, 128));
    }

    #[test]
    fn a_kernel_gets_the_variables_of_all_that_it_calls() {
        let functions: String =
            (0..2000).map(|i| format!(".func f{i}() {{ .shared .b32 s{i}; {} ret; }}\n", calls(i))).collect();
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n{functions}.func lone() {{ .shared .b32 no; ret; }}\n\
             .entry k() {{ call f1999, (); ret; }}\n"
        );
        let program = Program::new(parse(SourceFile::new("t", text)).module, Options::default());
        let kernel = program.routines.last().expect("the kernel");
        assert_eq!(shared(&program, kernel).slots.len(), 2000);
    }

    /// The call in function `i` of a chain: of the one before, and in the first of none.
    fn calls(i: u32) -> String {
        i.checked_sub(1).map_or(String::new(), |before| format!("call f{before}, ();"))
    }

    #[test]
    fn before_sm_90_shared_memory_starts_at_0() {
        let program = program("sm_80");
        assert_eq!(shared(&program, &program.routines[0]).start, 0);
    }

    #[test]
    fn local_memory_starts_at_0() {
        let program = program("sm_90");
        let region = local(&program, &program.routines[0]);
        let expected = [("pad".into(), 0, Some(1)), ("spill".into(), 8, Some(8))];
        assert_eq!(places(&program, &region), expected);
    }
}
