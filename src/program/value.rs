//! What is known of a register's value at a place without running the program.

use super::flow::{At, Flow};
use super::meaning::Meaning;
use super::{Base, RegisterId, Value, VariableId};
use crate::isa::table::special;
use crate::isa::{Arg, Mod};
use crate::types::Space;

/// A value, as far as it is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Known {
    /// Nothing.
    No,
    /// This number.
    Number(i64),
    /// An address within a variable.
    Place(Place),
    /// The address of something in another CTA's shared memory, not known of what.
    Remote,
}

/// An address within a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Place {
    /// The variable.
    pub variable: VariableId,
    /// Bytes from its start.
    pub offset: i64,
    /// Mapped to another CTA of the cluster.
    pub remote: bool,
}

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

/// A thread-dependent value of a simple form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lane {
    /// `%tid.x`: multiples of 32 separate warps.
    Thread,
    /// `%laneid` or `%tid.x & mask`: within a warp only.
    Within,
    /// Something made of such a value.
    Mixed,
}

/// How far chains of instructions are followed.
const DEPTH: u32 = 24;

impl Flow<'_> {
    /// The value of an operand of the instruction at `at`.
    pub fn known(&self, at: At, value: Value) -> Known {
        self.known_within(at, value, DEPTH)
    }

    /// The place that an address operand names.
    pub fn place(&self, at: At, value: Value) -> Option<Place> {
        match self.address(at, value) {
            Known::Place(place) => Some(place),
            _ => None,
        }
    }

    /// What is known of an address operand, its offset included.
    pub fn address(&self, at: At, value: Value) -> Known {
        let (base, offset) = match value {
            Value::Address(base, offset) | Value::Compound(base, offset, ..) => (base, offset),
            _ => return Known::No,
        };
        match base {
            Base::Variable(variable) => Known::Place(Place { variable, offset, remote: false }),
            Base::Register(id) => match self.register(at, id, DEPTH) {
                Known::Place(place) => Known::Place(Place { offset: place.offset + offset, ..place }),
                other => other,
            },
            Base::Constant | Base::Unknown => Known::No,
        }
    }

    fn known_within(&self, at: At, value: Value, depth: u32) -> Known {
        match value {
            Value::Register(id) => self.register(at, id, depth),
            Value::Const(value) => {
                value.int().and_then(|n| i64::try_from(n).ok()).map_or(Known::No, Known::Number)
            }
            Value::Variable(variable, offset) => {
                let memory = self.program.variables[variable.0 as usize].space;
                match memory {
                    Space::Reg | Space::Sreg => Known::No,
                    _ => Known::Place(Place { variable, offset, remote: false }),
                }
            }
            _ => Known::No,
        }
    }

    /// The value of `register` just before `at`.
    pub(crate) fn register(&self, at: At, register: RegisterId, depth: u32) -> Known {
        if depth == 0 {
            return Known::No;
        }
        let Some(definitions) = self.reaching(at, register) else { return Known::No };
        let mut result: Option<Known> = None;
        for definition in definitions {
            let value = self.written_value(definition.at, register, depth - 1);
            if value == Known::No || result.is_some_and(|known| known != value) {
                return Known::No;
            }
            result = Some(value);
        }
        result.unwrap_or(Known::No)
    }

    /// The value that the instruction at `at` writes to `register`.
    fn written_value(&self, at: At, register: RegisterId, depth: u32) -> Known {
        if let Some(known) = self.memo.borrow().get(&(at, register)) {
            return *known;
        }
        // Against cycles: a value that depends on itself is not known.
        self.memo.borrow_mut().insert((at, register), Known::No);
        let value = self.compute(at, depth);
        self.memo.borrow_mut().insert((at, register), value);
        value
    }

    fn compute(&self, at: At, depth: u32) -> Known {
        let Some(meaning) = self.meanings[at] else { return Known::No };
        let operand = |arg| self.operand(at, arg).map_or(Known::No, |v| self.known_within(at, v, depth));
        match meaning {
            Meaning::Move | Meaning::ConvertAddress | Meaning::ConvertInt => operand(Arg::A),
            Meaning::Add => sum(operand(Arg::A), operand(Arg::B)),
            Meaning::Sub => match (operand(Arg::A), operand(Arg::B)) {
                (a, Known::Number(b)) => sum(a, Known::Number(b.wrapping_neg())),
                _ => Known::No,
            },
            Meaning::Mad => {
                let product = numbers(operand(Arg::A), operand(Arg::B), i64::wrapping_mul);
                sum(product, operand(Arg::C))
            }
            Meaning::Mul => numbers(operand(Arg::A), operand(Arg::B), i64::wrapping_mul),
            Meaning::Shl => numbers(operand(Arg::A), operand(Arg::B), |a, b| {
                a.checked_shl(b.clamp(0, 64) as u32).unwrap_or(0)
            }),
            Meaning::And => numbers(operand(Arg::A), operand(Arg::B), |a, b| a & b),
            Meaning::Or => numbers(operand(Arg::A), operand(Arg::B), |a, b| a | b),
            Meaning::Xor => numbers(operand(Arg::A), operand(Arg::B), |a, b| a ^ b),
            Meaning::Mapa => self.mapped(at, operand(Arg::A)),
            _ => Known::No,
        }
    }

    /// The result of `mapa`: the CTA's own rank gives the same place.
    fn mapped(&self, at: At, source: Known) -> Known {
        let own_rank = self.operand(at, Arg::B).is_some_and(|rank| self.is_own_rank(at, rank));
        match source {
            Known::Place(place) => Known::Place(Place { remote: !own_rank, ..place }),
            _ if own_rank => Known::No,
            _ => Known::Remote,
        }
    }

    fn is_own_rank(&self, at: At, rank: Value) -> bool {
        self.comes_from_special(at, rank, special::CLUSTER_CTARANK, DEPTH)
    }

    /// Whether `value` is a plain copy of the special register of that index.
    fn comes_from_special(&self, at: At, value: Value, wanted: u16, depth: u32) -> bool {
        match value {
            Value::Special(index, _) => index == wanted,
            Value::Register(id) if depth > 0 => match self.reaching(at, id).as_deref() {
                Some([only]) if self.meanings[only.at] == Some(Meaning::Move) => self
                    .operand(only.at, Arg::A)
                    .is_some_and(|source| self.comes_from_special(only.at, source, wanted, depth - 1)),
                _ => false,
            },
            _ => false,
        }
    }

    /// How the predicate `register` differs between the lanes of a warp just before `at`.
    pub fn variation(&self, at: At, register: RegisterId) -> Variation {
        self.predicate_variation(at, register, DEPTH)
    }

    fn predicate_variation(&self, at: At, register: RegisterId, depth: u32) -> Variation {
        let Some(definitions) = self.reaching(at, register) else { return Variation::Unknown };
        let [only] = definitions.as_slice() else { return Variation::Unknown };
        if depth == 0 {
            return Variation::Unknown;
        }
        let inside = |value: Option<Value>| match value {
            Some(Value::Register(id) | Value::Not(id)) => self.predicate_variation(only.at, id, depth - 1),
            Some(Value::Const(_)) => Variation::Uniform,
            _ => Variation::Unknown,
        };
        match self.meanings[only.at] {
            Some(Meaning::Elect) => Variation::Varies,
            Some(Meaning::Compare) => self.comparison(only.at, depth - 1),
            Some(Meaning::AndPred | Meaning::OrPred) => {
                match (inside(self.operand(only.at, Arg::A)), inside(self.operand(only.at, Arg::B))) {
                    (Variation::Varies, _) | (_, Variation::Varies) => Variation::Varies,
                    (Variation::Uniform, Variation::Uniform) => Variation::Uniform,
                    _ => Variation::Unknown,
                }
            }
            Some(Meaning::Not | Meaning::Move) => inside(self.operand(only.at, Arg::A)),
            _ => Variation::Unknown,
        }
    }

    fn comparison(&self, at: At, depth: u32) -> Variation {
        let (Some(a), Some(b)) = (self.operand(at, Arg::A), self.operand(at, Arg::B)) else {
            return Variation::Unknown;
        };
        let number = match (self.known_within(at, a, depth), self.known_within(at, b, depth)) {
            (Known::Number(_), Known::Number(_)) => return Variation::Uniform,
            (_, Known::Number(n)) | (Known::Number(n), _) => n,
            _ => return Variation::Unknown,
        };
        let equality = self.has(at, Mod::Eq) || self.has(at, Mod::Ne);
        match self.lane(at, a, depth).or(self.lane(at, b, depth)) {
            Some(Lane::Thread) if !equality && bound_of_warps(self, at, number) => Variation::Uniform,
            Some(Lane::Thread | Lane::Within) => Variation::Varies,
            Some(Lane::Mixed) if equality => Variation::Varies,
            _ => Variation::Unknown,
        }
    }

    /// Whether `value` is, or is made of, the number of the thread or lane.
    fn lane(&self, at: At, value: Value, depth: u32) -> Option<Lane> {
        match value {
            Value::Special(index, component) => {
                let first = component.is_none_or(|c| c == crate::syntax::ast::Component::X);
                match index {
                    special::TID if first => Some(Lane::Thread),
                    special::LANEID => Some(Lane::Within),
                    _ => None,
                }
            }
            Value::Register(id) if depth > 0 => {
                let definitions = self.reaching(at, id)?;
                let [only] = definitions.as_slice() else { return None };
                let part = |arg| self.operand(only.at, arg).and_then(|v| self.lane(only.at, v, depth - 1));
                match self.meanings[only.at]? {
                    Meaning::Move | Meaning::ConvertInt => part(Arg::A),
                    Meaning::And => part(Arg::A).or(part(Arg::B)).and(self.masks_lanes(only.at, depth)),
                    Meaning::Or => part(Arg::A).or(part(Arg::B)).map(|_| Lane::Mixed),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// `x & mask` with a mask that keeps bits of the lane number.
    fn masks_lanes(&self, at: At, depth: u32) -> Option<Lane> {
        let constant = |arg| match self.operand(at, arg).map(|v| self.known_within(at, v, depth)) {
            Some(Known::Number(n)) => Some(n),
            _ => None,
        };
        let mask = constant(Arg::A).or(constant(Arg::B))?;
        (mask & 31 != 0).then_some(Lane::Within)
    }
}

/// `tid < 64`, `tid >= 64`: whole warps on either side.
fn bound_of_warps(flow: &Flow, at: At, number: i64) -> bool {
    let strict = [Mod::Lt, Mod::Ge, Mod::Lo, Mod::Hs].iter().any(|&m| flow.has(at, m));
    let bound = if strict { number } else { number + 1 };
    bound % 32 == 0
}

fn sum(a: Known, b: Known) -> Known {
    match (a, b) {
        (Known::Number(a), Known::Number(b)) => Known::Number(a.wrapping_add(b)),
        (Known::Place(place), Known::Number(n)) | (Known::Number(n), Known::Place(place)) => {
            Known::Place(Place { offset: place.offset.wrapping_add(n), ..place })
        }
        (Known::Remote, _) | (_, Known::Remote) => Known::Remote,
        _ => Known::No,
    }
}

fn numbers(a: Known, b: Known, operation: impl Fn(i64, i64) -> i64) -> Known {
    match (a, b) {
        (Known::Number(a), Known::Number(b)) => Known::Number(operation(a, b)),
        _ => Known::No,
    }
}
