//! How a predicate differs between the lanes of a warp.

use super::flow::{At, Flow};
use super::meaning::Meaning;
use super::value::{DEPTH, binary, wrapped};
use super::{RegisterId, Value};
use crate::isa::table::special;
use crate::isa::{Arg, Mod};
use crate::syntax::ast::{Component, DirectiveArgument};
use crate::types::Type;

/// How a value differs between the lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variation {
    /// The same in all lanes.
    Uniform,
    /// Different in some.
    Varies,
    /// Not known.
    Unknown,
}

impl Variation {
    /// Of the conjunction or disjunction of two predicates.
    fn joined(self, other: Variation) -> Variation {
        match (self, other) {
            (Variation::Varies, _) | (_, Variation::Varies) => Variation::Varies,
            (Variation::Uniform, Variation::Uniform) => Variation::Uniform,
            _ => Variation::Unknown,
        }
    }
}

/// Threads of a warp.
const WARP: usize = 32;

/// Threads that a CTA has at most.
const MOST_THREADS: usize = 1024;

/// The threads of a CTA, as far as the function says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// Along x.
    pub width: usize,
    /// At most, all dimensions together.
    pub count: usize,
}

impl Flow<'_> {
    /// The threads of a CTA by `.reqntid` or `.maxntid` (PTX ISA §11.4); else as many as there can
    /// be, in one dimension.
    pub fn threads(&self) -> Threads {
        let module = &self.program.module;
        let mut threads = Threads { width: MOST_THREADS, count: MOST_THREADS };
        for directive in &self.program.function(self.routine).directives {
            let exact = match module.name(directive.name.symbol) {
                ".reqntid" => true,
                ".maxntid" => false,
                _ => continue,
            };
            let extents = directive.arguments.iter().map(|argument| match argument {
                DirectiveArgument::Const(c) => c.value.int().and_then(|n| usize::try_from(n).ok()),
                _ => None,
            });
            let Some(extents) = extents.collect::<Option<Vec<usize>>>() else { continue };
            let count = extents.iter().fold(1, |all: usize, n| all.saturating_mul(*n));
            if (1..threads.count).contains(&count) {
                threads = Threads { width: if exact { extents[0] } else { count }, count };
            }
        }
        threads
    }

    /// How the predicate `register` differs between the lanes of a warp just before `at`.
    pub fn variation(&self, at: At, register: RegisterId) -> Variation {
        self.predicate_variation(at, register, DEPTH)
    }

    fn predicate_variation(&self, at: At, register: RegisterId, depth: u32) -> Variation {
        let Some(definitions) = self.reaching(at, register) else { return Variation::Unknown };
        let [only] = definitions.as_slice() else { return Variation::Unknown };
        if depth == 0 || self.spend(1).is_none() {
            return Variation::Unknown;
        }
        let inside = |arg| match self.operand(only.at, arg) {
            Some(Value::Register(id) | Value::Not(id)) => self.predicate_variation(only.at, id, depth - 1),
            Some(Value::Const(_)) => Variation::Uniform,
            _ => Variation::Unknown,
        };
        match self.meanings[only.at] {
            Some(Meaning::Elect) => Variation::Varies,
            Some(Meaning::Compare) => {
                let compared = self.comparison(only.at, depth - 1);
                match self.operand(only.at, Arg::C) {
                    Some(_) => compared.joined(inside(Arg::C)),
                    None => compared,
                }
            }
            Some(Meaning::AndPred | Meaning::OrPred) => inside(Arg::A).joined(inside(Arg::B)),
            Some(Meaning::Not | Meaning::Move) => inside(Arg::A),
            _ => Variation::Unknown,
        }
    }

    /// How `a < b` and the like differ, where one of the two is constant.
    fn comparison(&self, at: At, depth: u32) -> Variation {
        let Some(ty) = self.operand_type(at, Arg::A) else { return Variation::Unknown };
        let number = |arg| self.number_within(at, arg, depth);
        let holds = |a, b| self.holds(at, wrapped(a, ty), wrapped(b, ty));
        let (arg, constant) = match (number(Arg::A), number(Arg::B)) {
            (Some(_), Some(_)) => return Variation::Uniform,
            (None, Some(b)) => (Arg::A, b),
            (Some(a), None) => (Arg::B, a),
            (None, None) => return Variation::Unknown,
        };
        if let Some(lanes) = self.lanes(at, arg, depth) {
            let outcome = |&lane: &i64| match arg {
                Arg::A => holds(lane, constant),
                _ => holds(constant, lane),
            };
            return match parts_warps(&lanes, outcome) {
                true => Variation::Varies,
                false => Variation::Uniform,
            };
        }
        // `(%tid.x | %tid.y) == 0`: where the other part is 0, the lanes differ.
        let equality = self.has(at, Mod::Eq) || self.has(at, Mod::Ne);
        let joined = self.joined_lanes(at, arg, depth).filter(|_| equality && constant == 0);
        match joined.is_some_and(|lanes| parts_warps(&lanes, |&lane| lane == 0)) {
            true => Variation::Varies,
            false => Variation::Unknown,
        }
    }

    /// The comparison that the instruction makes.
    fn holds(&self, at: At, a: i128, b: i128) -> bool {
        let any = |modifiers: [Mod; 2]| modifiers.iter().any(|&modifier| self.has(at, modifier));
        if self.has(at, Mod::Eq) {
            a == b
        } else if self.has(at, Mod::Ne) {
            a != b
        } else if any([Mod::Lt, Mod::Lo]) {
            a < b
        } else if any([Mod::Le, Mod::Ls]) {
            a <= b
        } else if any([Mod::Gt, Mod::Hi]) {
            a > b
        } else {
            a >= b
        }
    }

    /// The value of the operand called `arg` in each thread of a CTA, if it is computed from the
    /// thread's number along x, or from that of its lane, and from constants.
    fn lanes(&self, at: At, arg: Arg, depth: u32) -> Option<Vec<i64>> {
        self.spend(WARP / 2)?;
        let ty = self.operand_type(at, arg)?;
        let lanes = match self.operand(at, arg)? {
            Value::Special(special::TID, component) if component.is_none_or(|c| c == Component::X) => {
                let threads = self.threads();
                (0..threads.count).map(|thread| (thread % threads.width) as i64).collect()
            }
            Value::Special(special::LANEID, _) => {
                (0..self.threads().count).map(|thread| (thread % WARP) as i64).collect()
            }
            Value::Register(id) => {
                let definitions = self.reaching(at, id)?;
                let [only] = definitions.as_slice() else { return None };
                self.lane_results(only.at, depth.checked_sub(1)?)?
            }
            _ => return None,
        };
        Some(all_in_type(lanes, ty))
    }

    /// What the instruction writes in each thread.
    fn lane_results(&self, at: At, depth: u32) -> Option<Vec<i64>> {
        let ty = self.result_type(at).filter(|_| self.keeps_low_bits(at))?;
        let meaning = self.meanings[at]?;
        if matches!(meaning, Meaning::Move | Meaning::ConvertInt) {
            return Some(all_in_type(self.lanes(at, Arg::A, depth)?, ty));
        }
        let number = |arg| self.number_within(at, arg, depth);
        let results: Option<Vec<i64>> = match (number(Arg::A), number(Arg::B)) {
            (None, Some(b)) => {
                self.lanes(at, Arg::A, depth)?.into_iter().map(|a| binary(meaning, ty, a, b)).collect()
            }
            (Some(a), None) => {
                self.lanes(at, Arg::B, depth)?.into_iter().map(|b| binary(meaning, ty, a, b)).collect()
            }
            _ => None,
        };
        Some(all_in_type(results?, ty))
    }

    /// The lanes of a value that is joined by `or` with something else.
    fn joined_lanes(&self, at: At, arg: Arg, depth: u32) -> Option<Vec<i64>> {
        let Some(Value::Register(id)) = self.operand(at, arg) else { return None };
        let definitions = self.reaching(at, id)?;
        let [only] = definitions.as_slice() else { return None };
        let depth = depth.checked_sub(1)?;
        match self.meanings[only.at]? {
            Meaning::Move | Meaning::ConvertInt => self.joined_lanes(only.at, Arg::A, depth),
            Meaning::Or => {
                let part = |arg| self.lanes(only.at, arg, depth);
                let deeper = |arg| self.joined_lanes(only.at, arg, depth);
                part(Arg::A).or_else(|| part(Arg::B)).or_else(|| deeper(Arg::A)).or_else(|| deeper(Arg::B))
            }
            _ => None,
        }
    }
}

fn all_in_type(lanes: Vec<i64>, ty: Type) -> Vec<i64> {
    lanes.into_iter().map(|lane| wrapped(lane, ty) as i64).collect()
}

/// Whether the lanes of some warp have different outcomes.
fn parts_warps(lanes: &[i64], outcome: impl Fn(&i64) -> bool) -> bool {
    lanes.chunks(WARP).any(|warp| warp.iter().any(|lane| outcome(lane) != outcome(&warp[0])))
}
