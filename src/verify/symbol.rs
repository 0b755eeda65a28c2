//! Values as expressions over what registers held at some moment, and what instructions make of them.
//!
//! Equal numbers mean equal values, as long as nothing is executed but what the walk has seen.

use rustc_hash::FxHashMap;

use super::uses::{self, Effect, Reg};
use crate::machine::code::{
    AccessKind, Address, Base, Code, Compare, Convert, ConvertKind, Dst, NONE, Op, Pc, Pred, Source, Space,
    Src,
};
use crate::machine::scalar::{self, BoolOp, Cmp, CompareOp, Int, IntOp, ScalarOp};

/// The truth table of "not a": bit 4a + 2b + c.
const NOT: u8 = 0b0000_1111;

/// A value: a number of a [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(u32);

/// How a value came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number; of a predicate: 0 or 1.
    Constant(u64),
    /// A column of the warp.
    Own(u32),
    /// What the register held at the start.
    Start(Reg),
    /// Unlike any other.
    Fresh(u32),
    /// What a poll found out: its round, and the number of the result.
    Found(u32, u32),
    /// A computation.
    Scalar(ScalarOp, [Value; 4]),
    /// What a comparison gives to its first or second predicate.
    Compare(CompareOp, Option<BoolOp>, bool, [Value; 3]),
    /// A truth table of predicates.
    Logic(u8, [Value; 3]),
    /// Whether a value is not 0.
    Test(Value),
    /// An address in another window.
    Convert(ConvertKind, [Value; 2]),
    /// An address in the frame.
    Frame(u32),
    /// An element of memory that nobody else writes; how often it may have changed.
    Load(Space, u8, u32, Value, i64, u32),
    /// A value as a narrower or wider register keeps it: sign and bits.
    Kept(u8, u8, Value),
    /// The second where the first is true, else the third.
    Chosen([Value; 3]),
}

/// All values of a walk.
#[derive(Debug, Default)]
pub struct Symbols {
    nodes: Vec<Node>,
    numbers: FxHashMap<Node, Value>,
    fresh: u32,
}

/// What the registers hold, as far as it is not what they held at the start; and who wrote it.
#[derive(Clone, Debug, Default)]
pub struct State {
    registers: FxHashMap<Reg, (Value, Pc)>,
    /// What is assumed of predicates.
    assumed: FxHashMap<Value, bool>,
    /// How often private memory may have changed.
    changes: u32,
}

impl State {
    /// Who wrote a register last.
    pub fn writer(&self, register: Reg) -> Option<Pc> {
        self.registers.get(&register).map(|&(_, pc)| pc).filter(|&pc| pc != NONE)
    }

    /// The registers that were written, or have become known.
    pub fn known(&self) -> impl Iterator<Item = Reg> {
        self.registers.keys().copied()
    }

    /// What a register holds becomes known without being written.
    pub fn learn(&mut self, register: Reg, value: Value) {
        let writer = self.writer(register).unwrap_or(NONE);
        self.registers.insert(register, (value, writer));
    }

    fn write(&mut self, register: Reg, value: Value, pc: Pc) {
        self.registers.insert(register, (value, pc));
    }

    /// Forgets who wrote what.
    pub fn forget_writers(&mut self) {
        self.registers.values_mut().for_each(|(_, pc)| *pc = NONE);
    }
}

impl Symbols {
    /// The value that came about like this.
    pub fn value(&mut self, node: Node) -> Value {
        if let Some(&found) = self.numbers.get(&node) {
            return found;
        }
        let value = Value(self.nodes.len() as u32);
        self.nodes.push(node);
        self.numbers.insert(node, value);
        value
    }

    /// How a value came about.
    pub fn node(&self, value: Value) -> Node {
        self.nodes[value.0 as usize]
    }

    /// A number.
    pub fn constant(&mut self, number: u64) -> Value {
        self.value(Node::Constant(number))
    }

    /// A value unlike any other.
    pub fn fresh(&mut self) -> Value {
        self.fresh += 1;
        self.value(Node::Fresh(self.fresh))
    }

    /// The number that a value is.
    pub fn number(&self, value: Value) -> Option<u64> {
        match self.node(value) {
            Node::Constant(number) => Some(number),
            _ => None,
        }
    }

    /// Assumes that a predicate holds, or that it does not.
    pub fn assume(&self, state: &mut State, predicate: Value, holds: bool) {
        match self.node(predicate) {
            Node::Logic(NOT, [contrary, ..]) => state.assumed.insert(contrary, !holds),
            _ => state.assumed.insert(predicate, holds),
        };
    }

    /// Whether a predicate holds, as far as that is known or assumed.
    pub fn truth(&self, state: &State, predicate: Value) -> Option<bool> {
        self.truth_within(state, predicate, 8)
    }

    fn truth_within(&self, state: &State, predicate: Value, depth: u32) -> Option<bool> {
        if let Some(&holds) = state.assumed.get(&predicate) {
            return Some(holds);
        }
        match self.node(predicate) {
            Node::Constant(number) => Some(number & 1 == 1),
            Node::Logic(table, s) if depth > 0 && !state.assumed.is_empty() => {
                looked_up(table, s.map(|value| self.truth_within(state, value, depth - 1)))
            }
            _ => None,
        }
    }

    /// How many values unlike any other there are.
    pub fn freshest(&self) -> u32 {
        self.fresh
    }

    /// What a register holds.
    pub fn held(&mut self, state: &State, register: Reg) -> Value {
        match state.registers.get(&register) {
            Some(&(value, _)) => value,
            None => self.value(Node::Start(register)),
        }
    }

    /// What a source gives.
    pub fn source(&mut self, code: &Code, state: &State, source: Src) -> Value {
        match source.source() {
            Source::Register(column) => self.held(state, Reg::Column(column)),
            Source::Constant(index) => self.constant(code.constants[index as usize][0]),
            Source::Own(index) => self.value(Node::Own(index)),
            Source::Predicate(index, negated) => self.predicate(state, Pred::new(index, negated)),
        }
    }

    fn predicate(&mut self, state: &State, predicate: Pred) -> Value {
        let Some(index) = predicate.index() else { return self.constant((!predicate.negated()).into()) };
        let value = self.held(state, Reg::Predicate(index));
        if predicate.negated() { self.logic(NOT, [value; 3]) } else { value }
    }

    /// Bit 4a + 2b + c of a table.
    fn logic(&mut self, table: u8, s: [Value; 3]) -> Value {
        let known = s.map(|value| self.number(value).map(|number| number & 1 == 1));
        if let Some(result) = looked_up(table, known) {
            return self.constant(result.into());
        }
        // A copy is the value itself.
        if table == 0b1111_0000 {
            return s[0];
        }
        match self.node(s[0]) {
            // The contrary of the contrary.
            Node::Logic(NOT, [value, ..]) if table == NOT => value,
            _ if table == NOT => self.value(Node::Logic(NOT, [s[0]; 3])),
            _ => self.value(Node::Logic(table, s)),
        }
    }

    fn scalar(&mut self, op: ScalarOp, s: [Value; 4]) -> Value {
        let count = op.sources().min(4);
        let mut s = s;
        // Unused operands must not tell values apart.
        let first = s[0];
        s[count..].fill(first);
        if let (ScalarOp::Selp(_), Some(chosen)) = (op, self.number(s[2])) {
            let taken = if chosen & 1 == 1 { s[0] } else { s[1] };
            return self.scalar(ScalarOp::Mov(op.result_bits() as u8), [taken; 4]);
        }
        if let ScalarOp::Mov(bits) = op
            && self.width(s[0]) <= u32::from(bits)
        {
            return s[0];
        }
        let numbers = s.map(|value| self.number(value));
        match numbers[..count].iter().all(Option::is_some) {
            true => self.constant(scalar::eval(op, numbers.map(|number| number.unwrap_or(0)))),
            false => self.value(Node::Scalar(op, s)),
        }
    }

    /// The value has so many bits at most.
    fn width(&self, value: Value) -> u32 {
        match self.node(value) {
            Node::Constant(number) => 64 - number.leading_zeros(),
            Node::Scalar(op, _) => op.result_bits(),
            Node::Kept(_, bits, _) => bits.into(),
            _ => 64,
        }
    }

    fn compare(&mut self, compare: &Compare, second: bool, s: [Value; 3]) -> Value {
        let numbers = s.map(|value| self.number(value));
        let needed = if compare.combine.is_some() { 3 } else { 2 };
        if numbers[..needed].iter().all(Option::is_some) {
            let [a, b, c] = numbers.map(|number| number.unwrap_or(0));
            let (p, q) = scalar::compared(compare.op, compare.combine, a, b, c & 1 == 1);
            return self.constant(if second { q } else { p }.into());
        }
        // One operand can be enough.
        match (compare.combine, numbers[2]) {
            (Some(BoolOp::And), Some(0)) => self.constant(0),
            (Some(BoolOp::Or), Some(1)) => self.constant(1),
            (None, _) => {
                let (op, negated) = plain(compare.op);
                let packed = matches!(op, CompareOp::Packed(..));
                let value = self.value(Node::Compare(op, None, packed && second, s));
                let negated = negated != (second && !packed);
                if negated { self.logic(NOT, [value; 3]) } else { value }
            }
            _ => self.value(Node::Compare(compare.op, compare.combine, second, s)),
        }
    }

    /// A value as a register keeps it.
    fn kept(&mut self, d: Dst, value: Value) -> Value {
        if d.sign_from == 0 && self.width(value) <= u32::from(d.bits) {
            return value;
        }
        match self.number(value) {
            Some(number) => {
                let keep = u64::MAX >> (64 - u32::from(d.bits.clamp(1, 64)));
                self.constant(d.extended(number) & keep)
            }
            None => self.value(Node::Kept(d.sign_from, d.bits, value)),
        }
    }

    /// Where an address points: a value, and what is added to it.
    pub fn place(&mut self, code: &Code, state: &State, address: &Address) -> (Value, i64) {
        let base = match address.base {
            Base::Zero => self.constant(0),
            Base::Source(source) => self.source(code, state, source),
            Base::Frame => self.value(Node::Frame(0)),
        };
        let mut place = (base, address.offset);
        let narrow = matches!(address.space, Space::Shared | Space::Cluster);
        // Sums with numbers; in windows of 32 bits addresses of 32 bits say it all.
        loop {
            place = match self.node(place.0) {
                Node::Scalar(ScalarOp::Int(IntOp::Add, ty), [a, b, ..]) if narrow || ty.bits() == 64 => {
                    match (self.number(a), self.number(b)) {
                        (_, Some(number)) => (a, place.1.wrapping_add(number as i64)),
                        (Some(number), _) => (b, place.1.wrapping_add(number as i64)),
                        (None, None) => break,
                    }
                }
                Node::Scalar(ScalarOp::Mov(32), [a, ..]) | Node::Kept(0, 32, a) if narrow => (a, place.1),
                _ => break,
            };
        }
        if let Some(number) = self.number(place.0) {
            place = (self.constant(0), place.1.wrapping_add(number as i64));
        }
        (place.0, if narrow { place.1 & 0xffff_ffff } else { place.1 })
    }

    /// Lets the instruction at `pc` happen to the registers, in a lane that executes it.
    pub fn execute(&mut self, code: &Code, state: &mut State, pc: Pc) {
        match &code.insts[pc as usize].op {
            Op::Scalar { op, d, s } => {
                let s = s.map(|s| self.source(code, state, s));
                let value = self.scalar(*op, s);
                self.set(state, pc, *d, value);
            }
            Op::Compare(compare) => {
                let [a, b] = compare.s.map(|s| self.source(code, state, s));
                let c = match compare.combine {
                    Some(_) => self.predicate(state, compare.c),
                    None => a,
                };
                let values = [false, true].map(|second| self.compare(compare, second, [a, b, c]));
                for (predicate, value) in [compare.p, compare.q].into_iter().zip(values) {
                    self.set_predicate(state, pc, predicate, value);
                }
            }
            Op::Logic { table, d, s } => {
                let s = s.map(|s| self.predicate(state, s));
                let value = self.logic(*table, s);
                self.set_predicate(state, pc, *d, value);
            }
            Op::Test { d, s } => {
                let value = self.source(code, state, *s);
                let value = match self.number(value) {
                    Some(number) => self.constant(u64::from(number != 0)),
                    None => self.value(Node::Test(value)),
                };
                self.set_predicate(state, pc, *d, value);
            }
            Op::LocalAddress(d, offset) => {
                let value = self.value(Node::Frame(*offset));
                self.set(state, pc, *d, value);
            }
            Op::Convert(convert) => self.convert(code, state, pc, convert),
            Op::Memory(access)
                if access.kind == AccessKind::Load && uses::is_private(access.address.space) =>
            {
                let (base, offset) = self.place(code, state, &access.address);
                let changes = if access.address.space == Space::Local { state.changes } else { 0 };
                for (index, &d) in access.to.iter().enumerate() {
                    let (space, bytes) = (access.address.space, access.bytes);
                    let node = Node::Load(space, bytes, index as u32, base, offset, changes);
                    let value = self.value(node);
                    self.set(state, pc, d, value);
                }
            }
            Op::Carry { .. }
            | Op::Clock { .. }
            | Op::ActiveMask(_)
            | Op::Branch { .. }
            | Op::Switch { .. }
            | Op::Call(_)
            | Op::Return { .. }
            | Op::Exit
            | Op::Trap
            | Op::Sleep(_)
            | Op::Stack(_)
            | Op::Nothing
            | Op::Fence(_)
            | Op::Memory(_)
            | Op::Warp(_)
            | Op::Matrix(_)
            | Op::Cta(_)
            | Op::Cluster(_)
            | Op::Barrier(_)
            | Op::Copy(_)
            | Op::Commit(_)
            | Op::Wait { .. }
            | Op::TensorMap(_)
            | Op::Cancel(_)
            | Op::Together
            | Op::Unsupported => self.scramble(code, state, pc),
        }
    }

    /// The results could be anything.
    fn scramble(&mut self, code: &Code, state: &mut State, pc: Pc) {
        let uses = uses::uses(code, pc);
        state.changes += u32::from(uses.effect == Effect::Visible);
        for register in uses.writes {
            let value = self.fresh();
            state.write(register, value, pc);
        }
    }

    /// Gives the results of a poll: in order of its writes, those that `known` knows.
    pub fn find(
        &mut self,
        code: &Code,
        state: &mut State,
        pc: Pc,
        known: impl Fn(usize, Reg) -> Option<Node>,
    ) {
        for (index, register) in uses::uses(code, pc).writes.into_iter().enumerate() {
            let value = match known(index, register) {
                Some(node) => self.value(node),
                None => self.fresh(),
            };
            state.write(register, value, pc);
        }
    }

    /// Lets the instruction happen where nobody knows whether its guard lets it.
    pub fn execute_perhaps(&mut self, code: &Code, state: &mut State, pc: Pc, guard: Value) {
        let before = state.clone();
        self.execute(code, state, pc);
        for register in uses::uses(code, pc).writes {
            let (new, old) = (self.held(state, register), self.held(&before, register));
            if new != old {
                let value = self.value(Node::Chosen([guard, new, old]));
                state.write(register, value, pc);
            }
        }
    }

    fn convert(&mut self, code: &Code, state: &mut State, pc: Pc, convert: &Convert) {
        let s = [convert.a, convert.b].map(|s| self.source(code, state, s));
        let value = self.value(Node::Convert(convert.kind, s));
        if convert.p == NONE {
            self.set(state, pc, convert.d, value);
        } else {
            self.set_predicate(state, pc, convert.p, value);
        }
    }

    fn set(&mut self, state: &mut State, pc: Pc, d: Dst, value: Value) {
        if d.column != NONE {
            let value = self.kept(d, value);
            state.write(Reg::Column(d.column), value, pc);
        }
    }

    fn set_predicate(&mut self, state: &mut State, pc: Pc, predicate: u32, value: Value) {
        if predicate != NONE {
            state.write(Reg::Predicate(predicate), value, pc);
        }
    }

    /// Whether `is_wanted` holds for something that the value is computed from, itself included.
    pub fn any(&self, value: Value, is_wanted: &mut dyn FnMut(Node) -> bool) -> bool {
        let mut left = vec![value];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(value) = left.pop() {
            let node = self.node(value);
            if is_wanted(node) {
                return true;
            }
            let parts: &[Value] = match &node {
                Node::Constant(_) | Node::Own(_) | Node::Start(_) | Node::Fresh(_) | Node::Found(..) => &[],
                Node::Frame(_) => &[],
                Node::Scalar(_, s) => s,
                Node::Compare(_, _, _, s) | Node::Logic(_, s) | Node::Chosen(s) => s,
                Node::Convert(_, s) => s,
                Node::Test(s) | Node::Load(_, _, _, s, ..) | Node::Kept(_, _, s) => std::slice::from_ref(s),
            };
            left.extend(parts.iter().copied().filter(|part| seen.insert(*part)));
        }
        false
    }
}

/// A comparison of integers as one of a few, and whether it says the contrary of that.
fn plain(op: CompareOp) -> (CompareOp, bool) {
    let CompareOp::Int(cmp, ty) = op else { return (op, false) };
    match cmp {
        Cmp::Eq | Cmp::Ne => (CompareOp::Int(Cmp::Eq, Int::unsigned(ty.bits())), cmp == Cmp::Ne),
        Cmp::Ge => (CompareOp::Int(Cmp::Lt, ty), true),
        Cmp::Gt => (CompareOp::Int(Cmp::Le, ty), true),
        _ => (op, false),
    }
}

/// What a table says of predicates, if it is the same whatever the unknown ones are. Bit 4a + 2b + c.
fn looked_up(table: u8, known: [Option<bool>; 3]) -> Option<bool> {
    let fits =
        |index: usize| (0..3).all(|n| known[n].is_none_or(|holds| holds == (index >> (2 - n) & 1 == 1)));
    let mut results = (0..8).filter(|&index| fits(index)).map(|index| table >> index & 1 == 1);
    let first = results.next()?;
    results.all(|result| result == first).then_some(first)
}
