//! Instructions that only one warp can see: computations on registers, and branches.

use smallvec::SmallVec;

use crate::machine::code::{
    Clock, Code, Compare, Convert, ConvertKind, Dst, Guard, Inst, NONE, Op, Pc, Pred, Source, Space, Src,
};
use crate::machine::column::{Column, LANES, Mask, Registers, lanes};
use crate::machine::scalar::{self, CarryOp, CompareOp, Int, IntOp, LogicOp, ScalarOp};
use crate::machine::space::{MOST_RANKS, SHARED_WINDOW, Windows};
use crate::machine::warp::{Frame, Warp};

/// Why a run of local instructions ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The next instruction needs the machine; these lanes execute it.
    Outside(Mask),
    /// A join.
    Join,
    /// A branch back: time to see whether the loop does anything.
    Back,
    /// Lanes have parted; the group is no longer what it was.
    Parted,
    /// Enough for now.
    Enough,
    /// Something is wrong; the group stands behind it.
    Wrong(Pc, Wrong),
}

/// What can be wrong with a local instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// A guard or a branch depends on an undefined value, in these lanes.
    Undefined(&'static str, Mask),
    /// Lanes parted that promised not to.
    Parted(Mask),
    /// An index beyond the table, in these lanes; the number of entries.
    Index(Mask, u32),
}

/// What local instructions need to know of the machine.
pub struct Context<'a> {
    /// The code.
    pub code: &'a Code,
    /// The windows of the address space.
    pub windows: Windows,
    /// Whether lanes that part have a place to meet again.
    pub joins: bool,
    /// The rank of the CTA in its cluster.
    pub rank: u32,
    /// An instruction whose undefined operands have been reported.
    pub excused: Pc,
}

/// Executes local instructions of a group, at most `budget` of them. Adds those executed to `steps`, and the
/// lanes that took part to `work`.
pub fn run(
    context: &Context,
    warp: &mut Warp,
    group: usize,
    time: &mut u64,
    work: &mut u64,
    budget: u64,
) -> Stop {
    let limit = *time + budget;
    loop {
        if warp.join_here(group).is_some() {
            return Stop::Join;
        }
        if *time >= limit {
            return Stop::Enough;
        }
        let pc = warp.groups[group].pc;
        let inst = &context.code.insts[pc as usize];
        let frame = *warp.groups[group].frame();
        let mask = warp.groups[group].mask;
        let (active, undefined) = guard(&warp.registers, inst.guard, &frame, mask);
        if undefined != 0 && pc != context.excused {
            return Stop::Wrong(pc, Wrong::Undefined("the guard", undefined));
        }
        if let Some(stop) = control(context, warp, group, inst, active, time) {
            *work += u64::from(active.count_ones());
            return stop;
        }
        if warp.groups[group].pc != pc {
            // A branch that was taken together.
            *work += u64::from(active.count_ones());
            continue;
        }
        if active != mask && matches!(inst.op, Op::Barrier(_) | Op::Copy(_)) {
            warp.skip(pc, mask & !active);
        }
        if active != 0 && !compute(context, warp, inst, &frame, active, *time) {
            return Stop::Outside(active);
        }
        *work += u64::from(active.count_ones());
        *time += 1;
        warp.groups[group].pc = pc + 1;
    }
}

/// The lanes that a guard lets through, and those in which it is undefined.
#[inline]
pub fn guard(registers: &Registers, guard: Guard, frame: &Frame, mask: Mask) -> (Mask, Mask) {
    if guard == Guard::ALWAYS {
        return (mask, 0);
    }
    let index = frame.predicates + (guard.0 >> 1);
    let value = registers.predicate(index) ^ if guard.0 & 1 == 1 { Mask::MAX } else { 0 };
    (value & mask, registers.undefined_predicate(index) & mask)
}

/// Branches. `None`: no branch, or one that all lanes took alike.
#[inline]
fn control(
    context: &Context,
    warp: &mut Warp,
    group: usize,
    inst: &Inst,
    active: Mask,
    time: &mut u64,
) -> Option<Stop> {
    match inst.op {
        Op::Branch { target, join, uniform } => {
            *time += 1;
            let mask = warp.groups[group].mask;
            let pc = warp.groups[group].pc;
            if active == 0 {
                warp.groups[group].pc = pc + 1;
                return None;
            }
            if active == mask {
                warp.groups[group].pc = target;
                return (target <= pc).then_some(Stop::Back);
            }
            let join = if context.joins { join } else { NONE };
            warp.split(group, &[(active, target), (mask & !active, pc + 1)], join);
            Some(if uniform { Stop::Wrong(pc, Wrong::Parted(active)) } else { Stop::Parted })
        }
        Op::Switch { index, table, join, uniform } => {
            *time += 1;
            Some(switch(
                context,
                warp,
                group,
                index,
                table,
                if context.joins { join } else { NONE },
                uniform,
                active,
            ))
        }
        _ => None,
    }
}

#[allow(clippy::too_many_arguments, reason = "the parts of one instruction")]
fn switch(
    context: &Context,
    warp: &mut Warp,
    group: usize,
    index: Src,
    table: u32,
    join: Pc,
    uniform: bool,
    active: Mask,
) -> Stop {
    let pc = warp.groups[group].pc;
    let frame = *warp.groups[group].frame();
    let targets = &context.code.tables[table as usize];
    let undefined = undefined_lanes(&warp.registers, &frame, index) & active;
    if undefined != 0 && pc != context.excused {
        return Stop::Wrong(pc, Wrong::Undefined("the index of the branch", undefined));
    }
    let values = fetch(context.code, &warp.registers, &frame, index);
    let mut parts: SmallVec<[(Mask, Pc); 4]> = SmallVec::new();
    let mut beyond = 0;
    let mut add = |mask: Mask, pc: Pc| match parts.iter_mut().find(|(_, target)| *target == pc) {
        Some((lanes, _)) => *lanes |= mask,
        None => parts.push((mask, pc)),
    };
    for lane in lanes(active) {
        match targets.get(values[lane] as u32 as usize) {
            Some(&target) => add(1 << lane, target),
            None => {
                beyond |= 1 << lane;
                add(1 << lane, pc + 1);
            }
        }
    }
    let rest = warp.groups[group].mask & !active;
    if rest != 0 {
        add(rest, pc + 1);
    }
    if let [(_, target)] = parts[..] {
        warp.groups[group].pc = target;
        let back = if target <= pc { Stop::Back } else { Stop::Enough };
        return if beyond == 0 { back } else { Stop::Wrong(pc, Wrong::Index(beyond, targets.len() as u32)) };
    }
    warp.split(group, &parts, join);
    match (beyond, uniform) {
        (0, false) => Stop::Parted,
        (0, true) => Stop::Wrong(pc, Wrong::Parted(active)),
        _ => Stop::Wrong(pc, Wrong::Index(beyond, targets.len() as u32)),
    }
}

/// Computations. False: the instruction is none.
fn compute(context: &Context, warp: &mut Warp, inst: &Inst, frame: &Frame, mask: Mask, time: u64) -> bool {
    let code = context.code;
    let registers = &mut warp.registers;
    match &inst.op {
        Op::Scalar { op, d, s } => scalar_op(code, registers, frame, mask, *op, *d, s),
        Op::Compare(compare) => comparison(code, registers, frame, mask, compare),
        Op::Carry { op, d, s } => carry(code, registers, frame, mask, *op, *d, s),
        Op::Logic { table, d, s } => logic(registers, frame, mask, *table, *d, s),
        Op::Test { d, s } => {
            let values = fetch(code, registers, frame, *s);
            let undefined = undefined_lanes(registers, frame, *s);
            let set = (0..LANES).fold(0, |set, lane| set | Mask::from(values[lane] != 0) << lane);
            if *d != NONE {
                registers.set_predicate(frame.predicates + d, mask, set, undefined);
            }
        }
        Op::Clock { d, clock } => {
            let value = if *clock == Clock::High { time >> 32 } else { time };
            set(registers, frame, mask, *d, &[value; LANES]);
        }
        Op::ActiveMask(d) => set(registers, frame, mask, *d, &[mask.into(); LANES]),
        Op::LocalAddress(d, offset) => {
            set(registers, frame, mask, *d, &[u64::from(frame.local + offset); LANES]);
        }
        Op::Convert(convert) => conversion(context, registers, frame, mask, convert),
        Op::Nothing => {}
        _ => return false,
    }
    true
}

/// The values of a source.
#[inline]
pub fn fetch(code: &Code, registers: &Registers, frame: &Frame, s: Src) -> Column {
    match s.source() {
        Source::Register(column) => *registers.column(frame.columns + column),
        Source::Constant(index) => code.constants[index as usize],
        Source::Own(column) => *registers.column(column),
        Source::Predicate(index, negated) => {
            let value = registers.predicate(frame.predicates + index) ^ if negated { Mask::MAX } else { 0 };
            std::array::from_fn(|lane| u64::from(value >> lane & 1))
        }
    }
}

/// The lanes in which a source has an undefined bit.
#[inline]
pub fn undefined_lanes(registers: &Registers, frame: &Frame, s: Src) -> Mask {
    match s.source() {
        Source::Register(column) => registers.undefined(frame.columns + column),
        Source::Constant(_) | Source::Own(_) => 0,
        Source::Predicate(index, _) => registers.undefined_predicate(frame.predicates + index),
    }
}

/// The undefined bits of a source in one lane.
pub fn undefined_bits(registers: &Registers, frame: &Frame, s: Src, lane: usize) -> u64 {
    match s.source() {
        Source::Register(column) => registers.undefined_bits(frame.columns + column, lane),
        Source::Constant(_) | Source::Own(_) => 0,
        Source::Predicate(index, _) => {
            u64::from(registers.undefined_predicate(frame.predicates + index) >> lane & 1)
        }
    }
}

/// The lanes in which a predicate operand is true, and those in which it is undefined.
#[inline]
pub fn predicate(registers: &Registers, frame: &Frame, pred: Pred) -> (Mask, Mask) {
    let flip = if pred.negated() { Mask::MAX } else { 0 };
    match pred.index() {
        Some(index) => {
            let index = frame.predicates + index;
            (registers.predicate(index) ^ flip, registers.undefined_predicate(index))
        }
        None => (!flip, 0),
    }
}

/// Writes a register.
#[inline]
pub fn set(registers: &mut Registers, frame: &Frame, mask: Mask, d: Dst, values: &Column) {
    if d.column == NONE {
        return;
    }
    let column = frame.columns + d.column;
    let keep = u64::MAX >> (64 - u32::from(d.bits));
    if d.sign_from == 0 && d.bits >= 64 {
        registers.set(column, mask, values);
    } else if d.sign_from == 0 {
        registers.set(column, mask, &values.map(|value| value & keep));
    } else {
        registers.set(column, mask, &values.map(|value| d.extended(value)));
    }
}

/// Writes one lane of a register, some bits of which may be undefined.
pub fn set_lane(
    registers: &mut Registers,
    frame: &Frame,
    lane: usize,
    d: Dst,
    value: u64,
    mut undefined: u64,
) {
    if d.column == NONE {
        return;
    }
    // Bits that copy an undefined sign are undefined, too.
    if d.sign_from != 0 && undefined >> (d.sign_from - 1) & 1 == 1 {
        undefined |= u64::MAX << (d.sign_from - 1);
    }
    let keep = u64::MAX >> (64 - u32::from(d.bits));
    registers.set_lane(frame.columns + d.column, lane, d.extended(value) & keep, undefined & keep);
}

#[inline]
fn scalar_op(
    code: &Code,
    registers: &mut Registers,
    frame: &Frame,
    mask: Mask,
    op: ScalarOp,
    d: Dst,
    s: &[Src; 4],
) {
    let count = op.sources();
    let undefined = s[..count].iter().fold(0, |all, &s| all | undefined_lanes(registers, frame, s)) & mask;
    if undefined != 0 {
        return scalar_with_undefined(code, registers, frame, mask, op, d, s);
    }
    let a = fetch(code, registers, frame, s[0]);
    if count == 1 {
        let values = match op {
            ScalarOp::Mov(64) => a,
            ScalarOp::Mov(32) => a.map(|a| a & 0xffff_ffff),
            _ => a.map(|a| scalar::eval(op, [a, 0, 0, 0])),
        };
        return set(registers, frame, mask, d, &values);
    }
    let b = fetch(code, registers, frame, s[1]);
    let values = match op {
        ScalarOp::Int(IntOp::Add, Int::U32 | Int::S32) => zip(&a, &b, |a, b| (a + b) & 0xffff_ffff),
        ScalarOp::Int(IntOp::Add, Int::U64 | Int::S64) => zip(&a, &b, u64::wrapping_add),
        ScalarOp::Int(IntOp::Sub, Int::U32 | Int::S32) => zip(&a, &b, |a, b| a.wrapping_sub(b) & 0xffff_ffff),
        ScalarOp::Int(IntOp::MulLo, Int::U32 | Int::S32) => {
            zip(&a, &b, |a, b| a.wrapping_mul(b) & 0xffff_ffff)
        }
        ScalarOp::Logic(LogicOp::And, 32 | 64) => zip(&a, &b, |a, b| a & b),
        ScalarOp::Logic(LogicOp::Or, 32 | 64) => zip(&a, &b, |a, b| a | b),
        ScalarOp::Logic(LogicOp::Xor, 32 | 64) => zip(&a, &b, |a, b| a ^ b),
        _ if count == 2 => zip(&a, &b, |a, b| scalar::eval(op, [a, b, 0, 0])),
        _ => {
            let c = fetch(code, registers, frame, s[2]);
            let e = if count > 3 { fetch(code, registers, frame, s[3]) } else { [0; LANES] };
            std::array::from_fn(|lane| scalar::eval(op, [a[lane], b[lane], c[lane], e[lane]]))
        }
    };
    set(registers, frame, mask, d, &values);
}

#[inline]
fn zip(a: &Column, b: &Column, f: impl Fn(u64, u64) -> u64) -> Column {
    std::array::from_fn(|lane| f(a[lane], b[lane]))
}

#[cold]
fn scalar_with_undefined(
    code: &Code,
    registers: &mut Registers,
    frame: &Frame,
    mask: Mask,
    op: ScalarOp,
    d: Dst,
    s: &[Src; 4],
) {
    let columns = s.map(|s| fetch(code, registers, frame, s));
    for lane in lanes(mask) {
        let values = columns.map(|column| column[lane]);
        let undefined = s.map(|s| undefined_bits(registers, frame, s, lane));
        let bits = u64::MAX >> (64 - op.result_bits().clamp(1, 64));
        let shadow = scalar::shadow(op, values, undefined) & bits;
        set_lane(registers, frame, lane, d, scalar::eval(op, values), shadow);
    }
}

#[inline]
fn comparison(code: &Code, registers: &mut Registers, frame: &Frame, mask: Mask, compare: &Compare) {
    let a = fetch(code, registers, frame, compare.s[0]);
    let b = fetch(code, registers, frame, compare.s[1]);
    let (c, undefined_c) = predicate(registers, frame, compare.c);
    let mut p = 0;
    let mut q = 0;
    for lane in 0..LANES {
        let held = c >> lane & 1 == 1;
        let (first, second) = scalar::compared(compare.op, compare.combine, a[lane], b[lane], held);
        p |= Mask::from(first) << lane;
        q |= Mask::from(second) << lane;
    }
    let mut undefined = undefined_lanes(registers, frame, compare.s[0])
        | undefined_lanes(registers, frame, compare.s[1])
        | undefined_c;
    if undefined & mask != 0 {
        undefined = compare_undefined(registers, frame, compare, undefined & mask) | undefined_c;
    }
    for (predicate, values) in [(compare.p, p), (compare.q, q)] {
        if predicate != NONE {
            registers.set_predicate(frame.predicates + predicate, mask, values, undefined);
        }
    }
}

/// The lanes in which a comparison really looks at undefined bits.
#[cold]
fn compare_undefined(registers: &Registers, frame: &Frame, compare: &Compare, mask: Mask) -> Mask {
    let bits = match compare.op {
        CompareOp::Int(_, ty) => ty.bits(),
        CompareOp::Float(_, ty, _) => ty.bits(),
        CompareOp::Packed(..) => 32,
    };
    let bits = u64::MAX >> (64 - bits);
    lanes(mask).fold(0, |all, lane| {
        let undefined = compare.s.map(|s| undefined_bits(registers, frame, s, lane));
        all | Mask::from((undefined[0] | undefined[1]) & bits != 0) << lane
    })
}

fn carry(
    code: &Code,
    registers: &mut Registers,
    frame: &Frame,
    mask: Mask,
    op: CarryOp,
    d: Dst,
    s: &[Src; 3],
) {
    let flag = frame.predicates + code.routines[frame.routine as usize].predicates - 1;
    let columns = s.map(|s| fetch(code, registers, frame, s));
    let carried = registers.predicate(flag);
    let mut undefined = s.iter().fold(0, |all, &s| all | undefined_lanes(registers, frame, s));
    if op.carry_in {
        undefined |= registers.undefined_predicate(flag);
    }
    let mut out = 0;
    for lane in lanes(mask) {
        let values = columns.map(|column| column[lane]);
        let (value, carry) = scalar::carry(op, values, carried >> lane & 1 == 1);
        out |= Mask::from(carry) << lane;
        let undefined = if undefined >> lane & 1 == 1 { u64::MAX } else { 0 };
        set_lane(registers, frame, lane, d, value, undefined);
    }
    if op.carry_out {
        registers.set_predicate(flag, mask, out, undefined);
    }
}

fn logic(registers: &mut Registers, frame: &Frame, mask: Mask, table: u8, d: u32, s: &[Pred; 3]) {
    if d == NONE {
        return;
    }
    let values = s.map(|s| predicate(registers, frame, s));
    let mut result = 0;
    let mut undefined = 0;
    for lane in 0..LANES {
        let bit = |mask: Mask| usize::from(mask >> lane & 1 == 1);
        let index = values.iter().fold(0, |index, (value, _)| 2 * index + bit(*value));
        result |= Mask::from(table >> index & 1) << lane;
        let unknown = values.iter().fold(0, |index, (_, undefined)| 2 * index + bit(*undefined));
        if unknown != 0 {
            // Undefined only if the undefined operands matter.
            let value = table >> index & 1;
            let differs =
                (0..8).filter(|i| i & !unknown == index & !unknown).any(|i| table >> i & 1 != value);
            undefined |= Mask::from(differs) << lane;
        }
    }
    registers.set_predicate(frame.predicates + d, mask, result, undefined);
}

fn conversion(context: &Context, registers: &mut Registers, frame: &Frame, mask: Mask, convert: &Convert) {
    let a = fetch(context.code, registers, frame, convert.a);
    let b = fetch(context.code, registers, frame, convert.b);
    let undefined =
        undefined_lanes(registers, frame, convert.a) | undefined_lanes(registers, frame, convert.b);
    let windows = &context.windows;
    let values: Column = std::array::from_fn(|lane| match convert.kind {
        ConvertKind::ToGeneric(space) => a[lane].wrapping_add(windows.start(space)),
        ConvertKind::FromGeneric(space) => a[lane].wrapping_sub(windows.start(space)),
        ConvertKind::Is(space) => u64::from(lies_in(context, space, a[lane])),
        ConvertKind::Map(generic) => {
            let start = if generic { windows.shared } else { 0 };
            let offset = a[lane].wrapping_sub(start) % SHARED_WINDOW;
            start + offset + u64::from(b[lane] as u32) % MOST_RANKS * SHARED_WINDOW
        }
        ConvertKind::Rank(generic) => {
            let start = if generic { windows.shared } else { 0 };
            a[lane].wrapping_sub(start) / SHARED_WINDOW % MOST_RANKS
        }
    });
    if convert.p != NONE {
        let set = (0..LANES).fold(0, |set, lane| set | (values[lane] as Mask & 1) << lane);
        registers.set_predicate(frame.predicates + convert.p, mask, set, undefined);
    } else if undefined & mask == 0 {
        set(registers, frame, mask, convert.d, &values);
    } else {
        for lane in lanes(mask) {
            let undefined = if undefined >> lane & 1 == 1 { u64::MAX } else { 0 };
            set_lane(registers, frame, lane, convert.d, values[lane], undefined);
        }
    }
}

/// Whether a generic address lies in a window.
fn lies_in(context: &Context, space: Space, address: u64) -> bool {
    let (found, offset) = context.windows.locate(address);
    match space {
        Space::Shared => found == Space::Cluster && offset / SHARED_WINDOW == u64::from(context.rank),
        space => found == space,
    }
}
