//! The control flow of one function: blocks, reachability, dominance from the end, and which
//! instruction last wrote a register.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::meaning::Meaning;
use super::{Base, Fit, Inst, Program, RegisterId, Routine, Value};
use crate::isa::table::{Access, Shape};
use crate::isa::{Arg, Mod, RowMatch};
use crate::program::operand_index;

/// Index of an instruction in its routine.
pub type At = usize;

/// Index of a basic block.
pub type BlockId = usize;

/// Instructions that run one after the other.
#[derive(Debug, Clone)]
pub struct Block {
    /// First instruction.
    pub start: At,
    /// One past the last.
    pub end: At,
    /// Where control may go next.
    pub successors: SmallVec<[BlockId; 2]>,
    /// Where it may come from.
    pub predecessors: SmallVec<[BlockId; 2]>,
}

/// A function's control flow, with answers about its registers made on demand.
pub struct Flow<'a> {
    /// The program.
    pub program: &'a Program,
    /// The function's body.
    pub routine: &'a Routine,
    /// Meaning of each instruction; none for those the table does not know.
    pub meanings: Vec<Option<Meaning>>,
    /// The blocks in order; empty for a function without instructions.
    pub blocks: Vec<Block>,
    block_of: Vec<u32>,
    definitions: OnceCell<Vec<SmallVec<[Definition; 1]>>>,
    pub(super) memo: RefCell<FxHashMap<(At, RegisterId), super::value::Known>>,
    post_dominators: OnceCell<Vec<BlockId>>,
    controls: OnceCell<Vec<Controls>>,
    /// How many steps walks may still take: the questions of a rule cost linear time together.
    steps_left: Cell<usize>,
}

/// The branches that decide directly whether a block runs: the block that ends in the branch, and the
/// successor that leads here.
type Controls = SmallVec<[(u32, u32); 2]>;

/// An instruction that writes a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Which.
    pub at: At,
    /// It may leave the old value (guarded, or not understood).
    pub partial: bool,
}

impl<'a> Flow<'a> {
    /// The flow of `routine`.
    pub fn new(program: &'a Program, routine: &'a Routine) -> Flow<'a> {
        let meanings: Vec<Option<Meaning>> =
            routine.instructions.iter().map(|inst| program.form(routine, inst).map(Meaning::of)).collect();
        let (blocks, block_of) = blocks(program, routine, &meanings);
        Flow {
            program,
            routine,
            meanings,
            blocks,
            block_of,
            definitions: OnceCell::new(),
            memo: RefCell::default(),
            post_dominators: OnceCell::new(),
            controls: OnceCell::new(),
            steps_left: Cell::new(steps(routine)),
        }
    }

    /// Gives the next rule its own steps, so that no rule depends on those before it.
    pub fn renew_steps(&self) {
        self.steps_left.set(steps(self.routine));
    }

    /// Takes `steps`, or gives up.
    pub(super) fn spend(&self, steps: usize) -> Option<()> {
        self.steps_left.set(self.steps_left.get().checked_sub(steps)?);
        Some(())
    }

    /// Whether questions are still answered as well as they can be.
    pub(super) fn has_steps_left(&self) -> bool {
        self.steps_left.get() > 0
    }

    /// The instruction.
    pub fn inst(&self, at: At) -> &'a Inst {
        &self.routine.instructions[at]
    }

    /// The row of an instruction that the table knows.
    pub fn row(&self, at: At) -> Option<&'a RowMatch> {
        self.program.row(self.routine, self.inst(at))
    }

    /// The operand called `arg` of the instruction.
    pub fn operand(&self, at: At, arg: Arg) -> Option<Value> {
        let index = operand_index(self.row(at)?, arg)?;
        self.routine.operands(self.inst(at)).get(index).copied()
    }

    /// Whether `modifier` is written or meant.
    pub fn has(&self, at: At, modifier: Mod) -> bool {
        self.row(at).is_some_and(|row| row.has(modifier))
    }

    /// Whether the instruction has a guard, resolved or not.
    pub fn is_guarded(&self, at: At) -> bool {
        is_guarded(self.program, self.routine, self.inst(at))
    }

    /// Whether of two instructions either both run or neither: they stand in one block, under guards
    /// of the same value.
    pub fn run_together(&self, a: At, b: At) -> bool {
        let (first, second) = (a.min(b), a.max(b));
        let same_guard = match (self.inst(first).guard, self.inst(second).guard) {
            (Some((register, negated)), guard) => {
                guard == Some((register, negated)) && !self.is_written_between(register, first, second)
            }
            (None, _) => !self.is_guarded(first) && !self.is_guarded(second),
        };
        self.block_of(a) == self.block_of(b) && same_guard
    }

    fn is_written_between(&self, register: RegisterId, first: At, second: At) -> bool {
        let all = &self.definitions()[register.0 as usize];
        all.iter().any(|definition| (first..second).contains(&definition.at))
    }

    /// Whether no instruction writes the register: it is a parameter, or never has a value.
    pub(super) fn is_never_written(&self, register: RegisterId) -> bool {
        self.definitions()[register.0 as usize].is_empty()
    }

    /// The block of an instruction.
    pub fn block_of(&self, at: At) -> BlockId {
        self.block_of[at] as BlockId
    }

    /// The instructions of a meaning, in order.
    pub fn all(&self, wanted: impl Fn(Meaning) -> bool) -> impl Iterator<Item = At> {
        self.meanings
            .iter()
            .enumerate()
            .filter(move |(_, meaning)| meaning.is_some_and(&wanted))
            .map(|(at, _)| at)
    }

    /// Whether the instruction is unknown or calls a function: what it does cannot be seen here.
    pub fn is_opaque(&self, at: At) -> bool {
        matches!(self.meanings[at], None | Some(Meaning::Call))
    }

    /// For every instruction the union of `classify` over all that may run after it, on any path. One
    /// pass over the function, however many questions follow.
    pub fn after(&self, classify: impl Fn(At) -> u8) -> Vec<u8> {
        self.summarise(&classify, |block| &block.successors, |range| Box::new(range.rev()))
    }

    /// For every instruction the union of `classify` over all that may have run before it.
    pub fn before(&self, classify: impl Fn(At) -> u8) -> Vec<u8> {
        self.summarise(&classify, |block| &block.predecessors, |range| Box::new(range))
    }

    fn summarise(
        &self,
        classify: &dyn Fn(At) -> u8,
        next: fn(&Block) -> &[BlockId],
        order: fn(Range<At>) -> Box<dyn Iterator<Item = At>>,
    ) -> Vec<u8> {
        let own: Vec<u8> = (0..self.meanings.len()).map(classify).collect();
        let whole = |block: &Block| own[block.start..block.end].iter().fold(0, |all, one| all | one);
        let through: Vec<u8> = self.blocks.iter().map(whole).collect();
        // What lies beyond each block: spread it until nothing changes (at most 8 times a block).
        let mut beyond = vec![0u8; self.blocks.len()];
        let mut pending: Vec<BlockId> = (0..self.blocks.len()).collect();
        while let Some(block) = pending.pop() {
            let new = next(&self.blocks[block]).iter().fold(0, |all, &n| all | through[n] | beyond[n]);
            if new != beyond[block] {
                beyond[block] = new;
                // Those that look at this block are on its other side.
                let blocks = &self.blocks;
                let others = blocks[block].successors.iter().chain(&blocks[block].predecessors);
                pending.extend(others.copied().filter(|&other| next(&blocks[other]).contains(&block)));
            }
        }
        let mut result = vec![0u8; own.len()];
        for (block, beyond) in self.blocks.iter().zip(beyond) {
            let mut running = beyond;
            for at in order(block.start..block.end) {
                result[at] = running;
                running |= own[at];
            }
        }
        result
    }

    /// Walks forward from behind `from` along every path, visiting each instruction once. `visit`
    /// says whether to go on past it. False: the walk was cut short to keep the time linear.
    #[must_use]
    pub fn forward(&self, from: At, visit: impl FnMut(At) -> bool) -> bool {
        let block = self.block_of(from);
        let rest = from + 1..self.blocks[block].end;
        self.walk(block, rest, |block| &block.successors, |range| Box::new(range), visit)
    }

    /// The same backwards from before `from`.
    #[must_use]
    pub fn backward(&self, from: At, visit: impl FnMut(At) -> bool) -> bool {
        let block = self.block_of(from);
        let rest = self.blocks[block].start..from;
        self.walk(block, rest, |block| &block.predecessors, |range| Box::new(range.rev()), visit)
    }

    fn walk(
        &self,
        first: BlockId,
        rest: Range<At>,
        next: fn(&Block) -> &[BlockId],
        order: fn(Range<At>) -> Box<dyn Iterator<Item = At>>,
        mut visit: impl FnMut(At) -> bool,
    ) -> bool {
        let mut seen = vec![false; self.blocks.len()];
        let mut pending: Vec<(BlockId, Range<At>)> = vec![(first, rest)];
        while let Some((block, range)) = pending.pop() {
            if self.spend(range.len() + 1).is_none() {
                return false;
            }
            if !order(range).all(&mut visit) {
                continue;
            }
            for &other in next(&self.blocks[block]) {
                if !std::mem::replace(&mut seen[other], true) {
                    pending.push((other, self.blocks[other].start..self.blocks[other].end));
                }
            }
        }
        true
    }

    /// The instructions that may have written `register` last before `at`; `None` when it may not
    /// have been written at all.
    pub fn reaching(&self, at: At, register: RegisterId) -> Option<SmallVec<[Definition; 2]>> {
        let all = &self.definitions()[register.0 as usize];
        if all.is_empty() {
            return None;
        }
        // Most registers are written once.
        if let [only] = all.as_slice() {
            return (!only.partial || only.at < at).then(|| SmallVec::from_slice(all));
        }
        // Most others are written anew in the block that reads them.
        let start = self.blocks[self.block_of(at)].start;
        if let Some(last) = all[..all.partition_point(|d| d.at < at)].last()
            && last.at >= start
            && !last.partial
        {
            return Some(SmallVec::from_slice(&[*last]));
        }
        let mut found = SmallVec::new();
        let mut undefined = false;
        let mut seen = vec![false; self.blocks.len()];
        let mut pending: SmallVec<[(BlockId, At); 8]> = SmallVec::new();
        pending.push((self.block_of(at), at));
        while let Some((block, before)) = pending.pop() {
            self.spend(1)?;
            let start = self.blocks[block].start;
            let mut stopped = false;
            let low = all.partition_point(|d| d.at < start);
            let high = all.partition_point(|d| d.at < before);
            for definition in all[low..high].iter().rev() {
                if !found.contains(definition) {
                    found.push(*definition);
                }
                if !definition.partial {
                    stopped = true;
                    break;
                }
            }
            if stopped {
                continue;
            }
            let predecessors = &self.blocks[block].predecessors;
            undefined |= block == 0;
            for &before in predecessors {
                if !std::mem::replace(&mut seen[before], true) {
                    pending.push((before, self.blocks[before].end));
                }
            }
        }
        (!undefined && !found.is_empty()).then_some(found)
    }

    fn definitions(&self) -> &[SmallVec<[Definition; 1]>] {
        self.definitions.get_or_init(|| {
            let mut all = vec![SmallVec::new(); self.routine.registers.len()];
            for at in 0..self.routine.instructions.len() {
                self.written(at, &mut |register, partial| {
                    all[register.0 as usize].push(Definition { at, partial });
                });
            }
            all
        })
    }

    /// The registers that an instruction writes, and whether it may leave the old value.
    pub fn written(&self, at: At, emit: &mut dyn FnMut(RegisterId, bool)) {
        let inst = self.inst(at);
        let guarded = self.is_guarded(at);
        let values = self.routine.operands(inst);
        let Some(row) = self.row(at) else {
            // Anything may happen to the registers of an unknown instruction.
            for value in values {
                self.registers(*value, &mut |register| emit(register, true));
            }
            return;
        };
        for (spec, value) in row.row.operands.iter().zip(values) {
            match (&spec.shape, value) {
                (Shape::Pair(a, b, _), Value::Pair(_)) => {
                    for (spec, value) in [a, b].into_iter().zip(self.routine.parts(*value)) {
                        if spec.access != Access::Read {
                            self.registers(*value, &mut |register| emit(register, guarded));
                        }
                    }
                }
                (Shape::Address(_) | Shape::Compound(..), _) => {}
                (Shape::Any | Shape::Rest, _) => {
                    self.registers(*value, &mut |register| emit(register, true));
                }
                _ if spec.access != Access::Read => {
                    self.registers(*value, &mut |register| emit(register, guarded));
                }
                _ => {}
            }
        }
    }

    /// The registers that an instruction reads, its guard's first.
    pub fn read(&self, at: At, emit: &mut dyn FnMut(RegisterId)) {
        let inst = self.inst(at);
        inst.guard.iter().for_each(|(register, _)| emit(*register));
        let Some(row) = self.row(at) else { return };
        for (spec, value) in row.row.operands.iter().zip(self.routine.operands(inst)) {
            Flow::address_register(*value).iter().for_each(|register| emit(*register));
            match (&spec.shape, value) {
                (Shape::Compound(..), Value::Compound(..)) => {
                    self.routine.parts(*value).iter().for_each(|part| self.registers(*part, emit));
                }
                (Shape::Pair(a, b, _), Value::Pair(_)) => {
                    for (spec, value) in [a, b].into_iter().zip(self.routine.parts(*value)) {
                        if spec.access != Access::Write {
                            self.registers(*value, emit);
                        }
                    }
                }
                _ if spec.access != Access::Write => self.registers(*value, emit),
                _ => {}
            }
        }
    }

    /// The registers in an operand (of an address: none, it is only read).
    fn registers(&self, value: Value, emit: &mut dyn FnMut(RegisterId)) {
        match value {
            Value::Register(id) | Value::Component(id, _) | Value::Not(id) | Value::Negated(id) => emit(id),
            Value::Vector(..) | Value::Pair(_) | Value::Group(..) => {
                for part in self.routine.parts(value) {
                    self.registers(*part, emit);
                }
            }
            _ => {}
        }
    }

    /// The nearest common block that every path from a block to the end goes through; the number of
    /// blocks stands for the end.
    fn post_dominators(&self) -> &[BlockId] {
        self.post_dominators.get_or_init(|| post_dominators(&self.blocks))
    }

    /// The first instruction that every path from behind the branch `at` to the end passes; none when there is
    /// only the end.
    pub fn join(&self, at: At) -> Option<At> {
        let block = self.block_of(at);
        let next = self.post_dominators().get(block).copied()?;
        // A block that never ends is its own successor in the tree.
        (next != block).then(|| self.blocks.get(next).map(|block| block.start)).flatten()
    }

    /// The blocks that every path from `from` to the end of the function passes, itself included; but
    /// for threads that leave under a guard.
    pub fn inevitable_from(&self, from: BlockId) -> FxHashSet<BlockId> {
        let tree = self.post_dominators();
        let mut result = FxHashSet::default();
        let mut next = Some(from);
        while let Some(block) = next.filter(|&block| block < tree.len() && result.insert(block)) {
            next = tree.get(block).copied();
        }
        result
    }

    /// The nearest branch that decides whether `block` runs, directly or through other branches, and
    /// is `wanted`: the block that ends in the branch, and the successor from which `block` is on the
    /// way. `None` also when the search was cut short to keep the time linear.
    pub fn controlling(
        &self,
        block: BlockId,
        wanted: impl Fn(BlockId) -> bool,
    ) -> Option<(BlockId, BlockId)> {
        let controls = self.controls.get_or_init(|| self.find_controls());
        let mut seen: FxHashSet<BlockId> = FxHashSet::default();
        let mut pending = vec![block];
        while let Some(block) = pending.pop() {
            for &(branch, successor) in &controls[block] {
                self.spend(1)?;
                if wanted(branch as BlockId) {
                    return Some((branch as BlockId, successor as BlockId));
                }
                if seen.insert(branch as BlockId) {
                    pending.push(branch as BlockId);
                }
            }
        }
        None
    }

    /// For every block the branches that decide directly whether it runs: those that have it on every
    /// path from one successor, but not from the branch itself. Within the budget.
    fn find_controls(&self) -> Vec<Controls> {
        let tree = self.post_dominators();
        let mut controls = vec![Controls::new(); self.blocks.len()];
        for (branch, from) in self.blocks.iter().enumerate().filter(|(_, from)| from.successors.len() > 1) {
            for &successor in &from.successors {
                let mut block = successor;
                while block < tree.len() && (block != tree[branch] || tree[branch] == branch) {
                    if self.spend(1).is_none() {
                        return controls;
                    }
                    controls[block].push((branch as u32, successor as u32));
                    if tree[block] == block {
                        break;
                    }
                    block = tree[block];
                }
            }
        }
        controls
    }

    /// The register that an address operand starts with.
    pub fn address_register(value: Value) -> Option<RegisterId> {
        match value {
            Value::Address(Base::Register(id), _) | Value::Compound(Base::Register(id), ..) => Some(id),
            _ => None,
        }
    }
}

/// The steps that the questions of one rule may take.
fn steps(routine: &Routine) -> usize {
    100_000 + 32 * routine.instructions.len()
}

/// A guard that names nothing known is a guard all the same.
fn is_guarded(program: &Program, routine: &Routine, inst: &Inst) -> bool {
    inst.guard.is_some() || program.syntax(routine, inst).guard.is_some()
}

fn blocks(program: &Program, routine: &Routine, meanings: &[Option<Meaning>]) -> (Vec<Block>, Vec<u32>) {
    let count = routine.instructions.len();
    let mut leader = vec![false; count + 1];
    if count > 0 {
        leader[0] = true;
    }
    for label in routine.labels.iter().filter(|label| label.targets.is_none()) {
        leader[label.target as usize] = true;
    }
    let ends = |at: At| matches!(meanings[at], Some(Meaning::Branch | Meaning::BranchIndexed | Meaning::End));
    for at in (0..count).filter(|&at| ends(at)) {
        leader[at + 1] = true;
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut block_of = vec![0u32; count];
    for at in 0..count {
        if leader[at] {
            let empty =
                Block { start: at, end: at, successors: SmallVec::new(), predecessors: SmallVec::new() };
            blocks.push(empty);
        }
        let current = blocks.len() - 1;
        block_of[at] = current as u32;
        blocks[current].end = at + 1;
    }
    for block in 0..blocks.len() {
        let targets = successors(program, routine, meanings, blocks[block].end - 1);
        for target in targets {
            let target = block_of[target] as BlockId;
            if !blocks[block].successors.contains(&target) {
                blocks[block].successors.push(target);
                blocks[target].predecessors.push(block);
            }
        }
    }
    (blocks, block_of)
}

/// The instructions that may run after `at`, the last one of its block.
fn successors(program: &Program, routine: &Routine, meanings: &[Option<Meaning>], at: At) -> Vec<At> {
    let inst = &routine.instructions[at];
    let mut targets = Vec::new();
    let label = |value: &Value| match value {
        Value::Label(id) => Some(&routine.labels[id.0 as usize]),
        _ => None,
    };
    let operands = routine.operands(inst);
    let mut falls_through = is_guarded(program, routine, inst);
    match meanings[at] {
        Some(Meaning::Branch) => targets.extend(operands.iter().filter_map(label).map(|l| l.target as At)),
        Some(Meaning::BranchIndexed) => {
            let lists = operands.iter().filter_map(label).filter_map(|l| l.targets.as_ref());
            targets.extend(lists.flatten().filter_map(label).map(|l| l.target as At));
        }
        Some(Meaning::End) => {}
        _ => falls_through = true,
    }
    if falls_through {
        targets.push(at + 1);
    }
    targets.retain(|&target| target < routine.instructions.len());
    targets
}

/// Immediate post-dominators by iteration over the reversed graph; `blocks.len()` is the end.
fn post_dominators(blocks: &[Block]) -> Vec<BlockId> {
    let end = blocks.len();
    let mut order = Vec::with_capacity(end);
    let mut number = vec![usize::MAX; end + 1];
    // Depth-first from the end along predecessors; blocks that never end stay unnumbered.
    let mut stack: Vec<(BlockId, usize)> = Vec::new();
    let exits: Vec<BlockId> = (0..end).filter(|&b| blocks[b].successors.is_empty()).collect();
    let mut visited = vec![false; end];
    for exit in exits {
        if std::mem::replace(&mut visited[exit], true) {
            continue;
        }
        stack.push((exit, 0));
        while let Some((block, next)) = stack.pop() {
            match blocks[block].predecessors.get(next) {
                Some(&before) => {
                    stack.push((block, next + 1));
                    if !std::mem::replace(&mut visited[before], true) {
                        stack.push((before, 0));
                    }
                }
                None => {
                    number[block] = order.len();
                    order.push(block);
                }
            }
        }
    }
    number[end] = order.len();
    let mut tree = vec![usize::MAX; end + 1];
    tree[end] = end;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev() {
            let mut new = usize::MAX;
            let successors = &blocks[block].successors;
            let exit = successors.is_empty().then_some(end);
            for successor in successors.iter().copied().chain(exit) {
                if tree[successor] == usize::MAX {
                    continue;
                }
                new = if new == usize::MAX { successor } else { common(&tree, &number, new, successor) };
            }
            if new != usize::MAX && tree[block] != new {
                tree[block] = new;
                changed = true;
            }
        }
    }
    tree.truncate(end);
    // A block that never ends is its own root.
    for (block, parent) in tree.iter_mut().enumerate() {
        if *parent == usize::MAX {
            *parent = block;
        }
    }
    tree
}

fn common(tree: &[BlockId], number: &[usize], mut a: BlockId, mut b: BlockId) -> BlockId {
    while a != b {
        while number[a] < number[b] {
            a = tree[a];
        }
        while number[b] < number[a] {
            b = tree[b];
        }
    }
    a
}

/// Whether the instruction fits the table at all.
pub fn is_known(inst: &Inst) -> bool {
    matches!(inst.fit, Fit::Row(_) | Fit::Gated(_))
}
