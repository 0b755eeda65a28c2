//! Which element of a matrix lies where in the registers of a warp (the figures of PTX ISA §9.7.16.5).
//!
//! An element has a *problem* (the instruction on quad pairs multiplies four matrices, all others one), a
//! *line* and a position in it: rows of A, columns of B, so that both run along the summation, and rows of
//! C and D.

use super::{Column, LANES};

/// Columns of B, C and D in every shape.
pub(super) const N: usize = 8;

/// Rows, summands and distribution of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// Rows of A, C and D: 8 or 16.
    pub m: usize,
    /// Columns of A and rows of B: 4 to 256.
    pub k: usize,
    /// Four products on quad pairs in place of one on the warp: the orders of A and B.
    pub quads: Option<(Order, Order)>,
}

/// Which index of an operand on a quad pair runs through a lane's registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The column.
    Row,
    /// The row.
    Col,
}

/// Which matrix of a product a fragment holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// Summand or result.
    Accumulator,
}

/// A matrix spread over the registers of a warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub shape: Shape,
    pub role: Role,
    /// Bits of an element, its container included.
    pub bits: usize,
}

/// Where an element stands in its matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    problem: usize,
    line: usize,
    position: usize,
}

impl Shape {
    /// Number of products of one instruction.
    pub fn problems(self) -> usize {
        if self.quads.is_some() { 4 } else { 1 }
    }
}

impl Fragment {
    /// Elements in a register; there are no registers of 64 bits but for elements of 64.
    fn per_register(self) -> usize {
        (32 / self.bits).max(1)
    }

    fn lines(self) -> usize {
        match self.role {
            Role::A | Role::Accumulator => self.shape.m,
            Role::B => N,
        }
    }

    fn line_length(self) -> usize {
        match self.role {
            Role::A | Role::B => self.shape.k,
            Role::Accumulator => N,
        }
    }

    fn elements(self) -> usize {
        self.shape.problems() * self.lines() * self.line_length()
    }

    /// Number of registers of a lane.
    pub fn registers(self) -> usize {
        self.elements() / (LANES * self.per_register())
    }

    fn index(self, place: Place) -> usize {
        (place.problem * self.lines() + place.line) * self.line_length() + place.position
    }

    /// The element in slot `slot` (from the low bits up) of register `register` of lane `lane`.
    fn place(self, lane: usize, register: usize, slot: usize) -> Place {
        match self.shape.quads {
            Some(orders) => self.place_in_quads(orders, lane, register * self.per_register() + slot),
            None => self.place_in_warp(lane, register, slot),
        }
    }

    /// Four lanes share a row of A, C and D and a column of B; consecutive elements of it fill a register,
    /// then the next lane. Every second register of A and every second pair of C is 8 rows below.
    fn place_in_warp(self, lane: usize, register: usize, slot: usize) -> Place {
        let (group, member) = (lane / 4, lane % 4);
        let per_register = self.per_register();
        let halves = self.shape.m / 8;
        let (line, position) = match self.role {
            Role::A => {
                let chunk = register / halves * 4 + member;
                (group + 8 * (register % halves), chunk * per_register + slot)
            }
            Role::B => (group, (register * 4 + member) * per_register + slot),
            Role::Accumulator => {
                let element = register * per_register + slot;
                (group + 8 * (element / 2), 2 * member + element % 2)
            }
        };
        Place { problem: 0, line, position }
    }

    /// Lanes 4i..4i+4 and 16+4i..16+4i+4 work on product i; the upper ones hold the lower rows of A and C
    /// and the right columns of B.
    fn place_in_quads(self, (a, b): (Order, Order), lane: usize, element: usize) -> Place {
        let member = lane % 4;
        let upper = if lane < LANES / 2 { 0 } else { 4 };
        let (line, position) = match self.role {
            Role::A if a == Order::Row => (member + upper, element),
            Role::A => (element + upper, member),
            Role::B if b == Order::Row => (element + upper, member),
            Role::B => (member + upper, element),
            Role::Accumulator if self.bits == 16 => (member + upper, element),
            Role::Accumulator => {
                let row = (lane & 1) + (element & 2) + upper;
                (row, (element & 4) + (lane & 2) + (element & 1))
            }
        };
        Place { problem: lane % 16 / 4, line, position }
    }

    /// The low bits that an element fills.
    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The matrix in `columns`, each element through `read`. Missing registers read as zeros.
    pub fn read<T: Copy>(self, columns: &[Column], read: impl Fn(u64) -> T) -> Matrix<T> {
        let mut elements = vec![read(0); self.elements()];
        for (register, column) in columns.iter().enumerate().take(self.registers()) {
            for (lane, value) in column.iter().enumerate() {
                for slot in 0..self.per_register() {
                    let bits = value >> (slot * self.bits) & self.mask();
                    elements[self.index(self.place(lane, register, slot))] = read(bits);
                }
            }
        }
        Matrix { elements, lines: self.lines(), line_length: self.line_length() }
    }

    /// Fills `columns` with the elements that `element` gives for problem, row and column. Registers that
    /// are missing are not written, further ones left alone.
    pub fn write(self, columns: &mut [Column], mut element: impl FnMut(usize, usize, usize) -> u64) {
        for (register, column) in columns.iter_mut().enumerate().take(self.registers()) {
            for (lane, value) in column.iter_mut().enumerate() {
                *value = 0;
                for slot in 0..self.per_register() {
                    let Place { problem, line, position } = self.place(lane, register, slot);
                    let bits = element(problem, line, position) & self.mask();
                    *value |= bits << (slot * self.bits);
                }
            }
        }
    }
}

/// The matrices of one operand, problem by problem and line by line.
#[derive(Debug)]
pub(super) struct Matrix<T> {
    elements: Vec<T>,
    lines: usize,
    line_length: usize,
}

impl<T> Matrix<T> {
    /// A line of the matrix of a problem.
    pub fn line(&self, problem: usize, line: usize) -> &[T] {
        let start = (problem * self.lines + line) * self.line_length;
        &self.elements[start..start + self.line_length]
    }
}
