//! Which registers of the kernel somebody may still read: what the others hold decides nothing.

use super::code::{
    Address, Base, Call, Callee, Code, Guard, Inst, Matrix, NONE, Op, Passed, Pc, Pred, Source, Src, Stack,
    TensorMapOp, What,
};
use super::code::{Copy, Dst};

/// The live registers before each instruction of the kernel.
#[derive(Clone, Debug, Default)]
pub struct Live {
    first: Pc,
    columns: u32,
    /// Words of one set: columns, then predicates.
    words: usize,
    sets: Vec<u64>,
}

impl Live {
    /// Those of a kernel.
    pub fn new(code: &Code) -> Live {
        let kernel = &code.routines[code.kernel];
        let words = (kernel.columns + kernel.predicates).div_ceil(64) as usize;
        let count = (kernel.end - kernel.entry) as usize;
        let mut live =
            Live { first: kernel.entry, columns: kernel.columns, words, sets: vec![0; words * count] };
        let carry = kernel.predicates.wrapping_sub(1);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for pc in (kernel.entry..kernel.end).rev() {
                changed |= live.update(code, pc, carry);
            }
        }
        live
    }

    /// The live columns and predicates of the kernel's frame before an instruction; none: not known.
    pub fn before(&self, pc: Pc) -> Option<(impl Iterator<Item = u32>, impl Iterator<Item = u32>)> {
        let at = (pc.checked_sub(self.first)?) as usize * self.words;
        let set = self.sets.get(at..at + self.words).filter(|set| !set.is_empty())?;
        let all = move || {
            let bits = set.iter().zip(0u32..);
            bits.flat_map(|(&word, at)| {
                (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit)
            })
        };
        let count = self.columns;
        Some((
            all().take_while(move |&bit| bit < count),
            all().skip_while(move |&bit| bit < count).map(move |bit| bit - count),
        ))
    }

    /// Works out the set of one instruction; whether it has grown.
    fn update(&mut self, code: &Code, pc: Pc, carry: u32) -> bool {
        let inst = &code.insts[pc as usize];
        let mut set = vec![0u64; self.words];
        each_next(code, inst, pc, &mut |next| {
            let at = next.wrapping_sub(self.first) as usize * self.words;
            if let Some(other) = self.sets.get(at..at + self.words) {
                set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
            }
        });
        if inst.guard == Guard::ALWAYS {
            self.kill(&mut set, &inst.op);
        } else {
            mark(&mut set, self.columns + (inst.guard.0 >> 1), true);
        }
        let columns = self.columns;
        each_read(&inst.op, carry, &mut |source| match source.source() {
            Source::Register(column) => mark(&mut set, column, true),
            Source::Predicate(index, _) if Pred(index << 1).index().is_some() => {
                mark(&mut set, columns + index, true);
            }
            Source::Predicate(..) | Source::Constant(_) | Source::Own(_) => {}
        });
        let at = (pc - self.first) as usize * self.words;
        let old = &mut self.sets[at..at + self.words];
        let changed = old != set;
        old.copy_from_slice(&set);
        changed
    }

    /// Takes out what an instruction surely overwrites.
    fn kill(&self, set: &mut [u64], op: &Op) {
        let mut column = |d: &Dst| {
            if d.column != NONE {
                mark(set, d.column, false);
            }
        };
        match op {
            Op::Scalar { d, .. } | Op::Clock { d, .. } | Op::ActiveMask(d) | Op::LocalAddress(d, _) => {
                column(d)
            }
            Op::Convert(convert) => column(&convert.d),
            Op::Memory(access) => access.to.iter().for_each(column),
            Op::Warp(warp) => column(&warp.d),
            _ => {}
        }
        let mut predicate = |p: u32| {
            if p != NONE {
                mark(set, self.columns + p, false);
            }
        };
        match op {
            Op::Compare(compare) => [compare.p, compare.q].into_iter().for_each(predicate),
            Op::Logic { d, .. } | Op::Test { d, .. } => predicate(*d),
            Op::Convert(convert) => predicate(convert.p),
            Op::Warp(warp) => predicate(warp.p),
            Op::Barrier(barrier) => predicate(barrier.p[0]),
            _ => {}
        }
    }
}

fn mark(set: &mut [u64], bit: u32, is_live: bool) {
    if let Some(word) = set.get_mut(bit as usize / 64) {
        let bit = 1 << (bit % 64);
        *word = if is_live { *word | bit } else { *word & !bit };
    }
}

/// The instructions that may follow one.
fn each_next(code: &Code, inst: &Inst, pc: Pc, next: &mut dyn FnMut(Pc)) {
    let falls = match &inst.op {
        Op::Branch { target, .. } => {
            next(*target);
            inst.guard != Guard::ALWAYS
        }
        Op::Switch { table, .. } => {
            code.tables[*table as usize].iter().for_each(|&target| next(target));
            true
        }
        _ => true,
    };
    if falls {
        next(pc + 1);
    }
}

/// All that an instruction reads.
fn each_read(op: &Op, carry: u32, read: &mut dyn FnMut(Src)) {
    match op {
        Op::Scalar { s, .. } => s.iter().for_each(|&s| read(s)),
        Op::Compare(compare) => {
            compare.s.iter().for_each(|&s| read(s));
            read(Src::predicate(compare.c));
        }
        Op::Carry { s, .. } => {
            s.iter().for_each(|&s| read(s));
            read(Src::predicate(Pred::new(carry, false)));
        }
        Op::Logic { s, .. } => s.iter().for_each(|&s| read(Src::predicate(s))),
        Op::Test { s, .. } | Op::Sleep(s) => read(*s),
        Op::Convert(convert) => [convert.a, convert.b].into_iter().for_each(read),
        Op::Switch { index, .. } => read(*index),
        Op::Call(call) => each_passed(call, read),
        Op::Stack(Stack::Restore(s) | Stack::Allocate(_, s, _)) => read(*s),
        Op::Memory(access) => {
            at(&access.address, read);
            access.from.iter().chain(&access.swap).for_each(|&s| read(s));
        }
        Op::Warp(warp) => warp.s.iter().copied().chain(warp.mask).for_each(read),
        Op::Matrix(matrix) => match &**matrix {
            Matrix::Load(_, address, _) => at(address, read),
            Matrix::Store(_, address, from) => {
                at(address, read);
                from.iter().for_each(|&s| read(s));
            }
            Matrix::Transpose(_, s) => read(*s),
            Matrix::Multiply(_, _, a, b, c) => a.iter().chain(b).chain(c).for_each(|&s| read(s)),
        },
        Op::Cta(barrier) => {
            read(barrier.id);
            barrier.threads.into_iter().for_each(&mut *read);
            read(Src::predicate(barrier.predicate));
        }
        Op::Barrier(barrier) => {
            at(&barrier.address, read);
            barrier.value.into_iter().chain(barrier.mask).for_each(read);
        }
        Op::Copy(copy) => each_of_copy(copy, read),
        Op::TensorMap(map) => match &**map {
            TensorMapOp::Replace(address, _, _, s) => {
                at(address, read);
                read(*s);
            }
            TensorMapOp::Copy(to, from) => [to, from].into_iter().for_each(|address| at(address, read)),
        },
        Op::Cancel(query) => query.response.into_iter().for_each(read),
        Op::Clock { .. }
        | Op::ActiveMask(_)
        | Op::LocalAddress(..)
        | Op::Branch { .. }
        | Op::Return { .. }
        | Op::Exit
        | Op::Trap
        | Op::Stack(Stack::Save(_))
        | Op::Nothing
        | Op::Fence(_)
        | Op::Cluster(_)
        | Op::Commit(_)
        | Op::Wait { .. }
        | Op::Together
        | Op::Unsupported => {}
    }
}

fn at(address: &Address, read: &mut dyn FnMut(Src)) {
    if let Base::Source(source) = address.base {
        read(source);
    }
}

fn each_passed(call: &Call, read: &mut dyn FnMut(Src)) {
    if let Callee::Indirect(source) = call.callee {
        read(source);
    }
    for passed in call.arguments.iter().chain(&call.results) {
        match *passed {
            Passed::Value(source) => read(source),
            Passed::Predicate(index) => read(Src::predicate(Pred::new(index, false))),
            Passed::Register(_) | Passed::Memory(..) | Passed::Nothing => {}
        }
    }
}

fn each_of_copy(copy: &Copy, read: &mut dyn FnMut(Src)) {
    [Some(&copy.to), Some(&copy.from), copy.barrier.as_ref()].into_iter().flatten().for_each(|a| at(a, read));
    copy.size.into_iter().chain(copy.mask).for_each(&mut *read);
    match &copy.what {
        What::Bytes { source_size, ignore } => {
            source_size.iter().for_each(|&s| read(s));
            read(Src::predicate(*ignore));
        }
        What::Within(left, right) => [*left, *right].into_iter().for_each(read),
        What::Masked(mask) => read(*mask),
        What::Values(values, _) => values.iter().for_each(|&s| read(s)),
        What::Tensor { map, coords, offsets, .. } => {
            at(map, read);
            coords.iter().chain(offsets).for_each(|&s| read(s));
        }
        What::Cancel(_) => {}
    }
}
