//! Exchanges between the lanes of a warp: shuffles, votes, matches, reductions, elections.

use smallvec::SmallVec;

use super::meeting::{Member, all};
use super::{Doing, Then, local};
use crate::machine::Machine;
use crate::machine::code::{NONE, Number};
use crate::machine::code::{Op, Update, UpdateOp, Warp, WarpOp};
use crate::machine::column::{Column, LANES, Mask, lanes};
use crate::machine::cta::Site;
use crate::machine::rule;
use crate::machine::scalar::op::{Flags, FloatOp, Lanes, Rounding};
use crate::machine::scalar::{self, Float, ScalarOp};
use crate::machine::warp::Meeting;

/// What the lanes of an exchange bring: each lane its own values, from its own instruction.
struct Brought {
    /// The operands.
    s: [Column; 3],
    /// Lanes in which each operand is undefined.
    undefined: [Mask; 3],
    /// The lanes that take part.
    lanes: Mask,
    /// The undefined bits of the first operand.
    bits: Column,
}

/// What they get.
#[derive(Default)]
struct Got {
    value: Option<Column>,
    bits: Column,
    predicate: Mask,
    undefined: Mask,
}

impl Machine<'_> {
    pub(super) fn exchange(&mut self, doing: &Doing, warp: &Warp) -> Then {
        let Some(mask) = warp.mask else {
            let member = Member { doing: *doing };
            let members = [member];
            self.perform(warp.op, &members);
            return if self.stopped.is_some() { Then::Done } else { Then::Next };
        };
        if !self.is_defined(doing, mask, "the member mask") {
            return Then::Done;
        }
        let masks = self.values(doing, mask);
        let first = doing.lanes.trailing_zeros() as usize % LANES;
        let named = masks[first] as Mask;
        let same =
            lanes(doing.lanes).filter(|&lane| masks[lane] as Mask == named).fold(0, |m, lane| m | 1 << lane);
        if same != doing.lanes {
            // Lanes with different masks meet apart.
            let all = self.warps[doing.warp].groups[doing.group].mask;
            let join = self.join(doing.pc + 1);
            self.warps[doing.warp].split(doing.group, &[(same, doing.pc), (all & !same, doing.pc)], join);
            return Then::Done;
        }
        if doing.lanes & !named != 0 {
            let site = Site { lanes: doing.lanes & !named, ..doing.site() };
            let message =
                format!("the member mask {named:#010x} does not name lanes that execute the instruction");
            self.wrong(site, &rule::MEMBER_MASK, None, message, |machine, d| {
                let lane = site.lanes.trailing_zeros();
                let name = machine.threads(Site { lanes: 1 << lane, ..site });
                d.note(format!("{name} is lane {lane} of its warp"))
            });
            if self.stopped.is_some() {
                return Then::Done;
            }
        }
        let alone = std::mem::take(&mut self.warps[doing.warp].groups[doing.group].alone);
        let named = if alone { doing.lanes } else { named | doing.lanes };
        let Some(members) = self.meet(doing, Meeting::Members(warp.op, named), named) else {
            return Then::Done;
        };
        self.note_meeting(all(doing, &members), warp.op == WarpOp::Meet);
        self.perform(warp.op, &members);
        if self.stopped.is_some() { Then::Done } else { self.pass(doing, &members) }
    }

    /// Performs the exchange of all members.
    fn perform(&mut self, op: WarpOp, members: &[Member]) {
        if op == WarpOp::Meet {
            return;
        }
        let mut brought = Brought { s: [[0; LANES]; 3], undefined: [0; 3], lanes: 0, bits: [0; LANES] };
        for member in members {
            self.bring(&mut brought, member);
        }
        let all: Mask = members.iter().fold(0, |mask, member| mask | member.doing.lanes);
        if let Some(undefined) = decisive(op, &brought).filter(|mask| mask & all != 0) {
            let doing = members[0].doing;
            if !self.all_defined(&doing, undefined & all, "what the lanes decide by") {
                return;
            }
        }
        let got = result(op, &brought);
        for member in members {
            self.take(member, &got);
        }
    }

    fn bring(&self, brought: &mut Brought, member: &Member) {
        let doing = &member.doing;
        let Op::Warp(warp) = &self.code.insts[doing.pc as usize].op else { return };
        let registers = &self.warps[doing.warp].registers;
        brought.lanes |= doing.lanes;
        for (index, &source) in warp.s.iter().enumerate() {
            let column = self.values(doing, source);
            lanes(doing.lanes).for_each(|lane| brought.s[index][lane] = column[lane]);
            let undefined = local::undefined_lanes(registers, &doing.frame, source);
            brought.undefined[index] |= undefined & doing.lanes;
            if index == 0 {
                for lane in lanes(undefined & doing.lanes) {
                    brought.bits[lane] = local::undefined_bits(registers, &doing.frame, source, lane);
                }
            }
        }
    }

    fn take(&mut self, member: &Member, got: &Got) {
        let doing = &member.doing;
        let Op::Warp(warp) = &self.code.insts[doing.pc as usize].op else { return };
        let (d, p) = (warp.d, warp.p);
        let registers = &mut self.warps[doing.warp].registers;
        if let Some(values) = &got.value {
            for lane in lanes(doing.lanes) {
                local::set_lane(registers, &doing.frame, lane, d, values[lane], got.bits[lane]);
            }
        }
        if p != NONE {
            registers.set_predicate(doing.frame.predicates + p, doing.lanes, got.predicate, got.undefined);
        }
    }
}

/// Lanes in which an operand is undefined that decides where values go.
fn decisive(op: WarpOp, brought: &Brought) -> Option<Mask> {
    match op {
        WarpOp::ShuffleUp | WarpOp::ShuffleDown | WarpOp::ShuffleButterfly | WarpOp::ShuffleIndex => {
            Some(brought.undefined[1] | brought.undefined[2])
        }
        _ => None,
    }
}

fn result(op: WarpOp, brought: &Brought) -> Got {
    match op {
        WarpOp::ShuffleUp | WarpOp::ShuffleDown | WarpOp::ShuffleButterfly | WarpOp::ShuffleIndex => {
            shuffle(op, brought)
        }
        WarpOp::VoteAll | WarpOp::VoteAny | WarpOp::VoteUniform | WarpOp::Ballot => vote(op, brought),
        WarpOp::MatchAny(bits) | WarpOp::MatchAll(bits) => matching(op, bits, brought),
        WarpOp::Reduce(op, signed) => reduce(op, signed, brought),
        WarpOp::ReduceFloat(largest, absolute, nan) => reduce_float(largest, absolute, nan, brought),
        WarpOp::Elect => {
            let leader = brought.lanes.trailing_zeros() % 32;
            Got { value: Some([leader.into(); LANES]), predicate: 1 << leader, ..Got::default() }
        }
        WarpOp::Meet => Got::default(),
    }
}

/// PTX ISA §9.7.10.6: which lane each one reads from, and whether that lies in its segment.
fn shuffle(op: WarpOp, brought: &Brought) -> Got {
    let mut got = Got::default();
    let mut values = [0; LANES];
    for lane in lanes(brought.lanes) {
        let (b, c) = (brought.s[1][lane] as u32 & 31, brought.s[2][lane] as u32);
        let (clamp, segment) = (c & 31, c >> 8 & 31);
        let own = lane as u32;
        let max = own & segment | clamp & !segment;
        let min = own & segment;
        let (source, inside) = match op {
            WarpOp::ShuffleUp => (own.wrapping_sub(b), own as i32 - b as i32 >= max as i32),
            WarpOp::ShuffleDown => (own + b, own + b <= max),
            WarpOp::ShuffleButterfly => (own ^ b, own ^ b <= max),
            _ => (min | b & !segment, (min | b & !segment) <= max),
        };
        let source = if inside { source & 31 } else { own } as usize;
        values[lane] = brought.s[0][source];
        // A lane that does not take part has nothing to give.
        got.bits[lane] = if brought.lanes >> source & 1 == 1 { brought.bits[source] } else { u64::MAX };
        got.predicate |= Mask::from(inside) << lane;
    }
    got.value = Some(values);
    got
}

fn vote(op: WarpOp, brought: &Brought) -> Got {
    let set =
        lanes(brought.lanes).filter(|&lane| brought.s[0][lane] & 1 == 1).fold(0, |m, lane| m | 1 << lane);
    let undefined = if brought.undefined[0] == 0 { 0 } else { Mask::MAX };
    let all = set == brought.lanes;
    let holds = match op {
        WarpOp::VoteAll => all,
        WarpOp::VoteAny => set != 0,
        _ => all || set == 0,
    };
    Got {
        value: Some([set.into(); LANES]),
        bits: [brought.undefined[0].into(); LANES],
        predicate: if holds { Mask::MAX } else { 0 },
        undefined,
    }
}

fn matching(op: WarpOp, bits: u8, brought: &Brought) -> Got {
    let mask = u64::MAX >> (64 - u32::from(bits));
    let value = |lane: usize| brought.s[0][lane] & mask;
    let any = if brought.undefined[0] == 0 { 0 } else { u64::MAX };
    let mut values = [0; LANES];
    let mut predicate = 0;
    if let WarpOp::MatchAny(_) = op {
        for lane in lanes(brought.lanes) {
            let same = lanes(brought.lanes).filter(|&other| value(other) == value(lane));
            values[lane] = same.fold(0u64, |mask, other| mask | 1 << other);
        }
    } else {
        let mut all = lanes(brought.lanes).map(value);
        let first = all.next();
        if all.all(|value| Some(value) == first) {
            values = [brought.lanes.into(); LANES];
            predicate = Mask::MAX;
        }
    }
    Got { value: Some(values), bits: [any; LANES], predicate, undefined: any as Mask }
}

fn reduce(op: UpdateOp, signed: bool, brought: &Brought) -> Got {
    let ty = if signed { Number::Signed } else { Number::Unsigned };
    let update = Update { op, ty, bytes: 4 };
    let values = lanes(brought.lanes).map(|lane| brought.s[0][lane] & 0xffff_ffff);
    let total = values.reduce(|a, b| super::update::combine(update, a, b)).unwrap_or(0);
    let any = if brought.undefined[0] == 0 { 0 } else { u64::MAX };
    Got { value: Some([total; LANES]), bits: [any; LANES], ..Got::default() }
}

fn reduce_float(largest: bool, absolute: bool, nan: bool, brought: &Brought) -> Got {
    let op = if largest { FloatOp::Max } else { FloatOp::Min };
    let flags = if nan { Flags::NAN } else { Flags::default() };
    let op = ScalarOp::Float(op, Float::F32, Lanes::One, Rounding::Nearest, flags);
    let sign = if absolute { 0x7fff_ffff } else { 0xffff_ffff };
    let values: SmallVec<[u64; LANES]> = lanes(brought.lanes).map(|lane| brought.s[0][lane] & sign).collect();
    // A value with itself, so that a single one is treated like several.
    let first = values.first().copied().unwrap_or(0);
    let total = values.iter().fold(first, |a, &b| scalar::eval(op, [a, b, 0, 0]));
    let any = if brought.undefined[0] == 0 { 0 } else { u64::MAX };
    Got { value: Some([total; LANES]), bits: [any; LANES], ..Got::default() }
}
