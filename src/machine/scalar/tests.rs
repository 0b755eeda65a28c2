//! The recorded results of an H200, and properties.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::op::{Flags, Rounding};
use super::*;
use crate::isa::{Form, RowMatch};
use crate::program::{Inst, Options, Program, RegisterId, Routine, Value};
use crate::source::SourceFile;
use crate::syntax::ast::ConstValue;
use crate::types::Type;

/// One thread that runs straight-line code over recorded inputs.
struct Thread<'a> {
    program: &'a Program,
    routine: &'a Routine,
    registers: HashMap<RegisterId, u64>,
    input: &'a [u64],
    thread: usize,
    carry: bool,
    output: Vec<u64>,
}

impl Thread<'_> {
    fn read(&self, value: Value, ty: Option<Type>) -> u64 {
        match value {
            Value::Register(id) => self.registers.get(&id).copied().unwrap_or(0),
            Value::Not(id) => self.registers.get(&id).copied().unwrap_or(0) ^ 1,
            Value::Special(..) => self.thread as u64,
            Value::Const(ConstValue::Int { bits, .. }) => bits,
            Value::Const(ConstValue::F32(bits)) => bits.into(),
            Value::Const(ConstValue::F64(x)) if ty == Some(Type::F32) => (x as f32).to_bits().into(),
            Value::Const(ConstValue::F64(x)) => x.to_bits(),
            other => panic!("{other:?}"),
        }
    }

    fn write(&mut self, value: Value, x: u64, op: Option<ScalarOp>) {
        if let Value::Register(id) = value {
            let wide = self.routine.register(id).ty.bits();
            let extended = match op {
                Some(op) if op.signed_result() && op.result_bits() < wide => {
                    let up = 64 - op.result_bits();
                    ((x << up) as i64 >> up) as u64
                }
                _ => x,
            };
            self.registers.insert(id, extended & low(wide));
        }
    }

    fn step(&mut self, inst: &Inst) {
        let found = self.program.row(self.routine, inst).expect("known");
        let operands = self.routine.operands(inst);
        let sources: Vec<u64> = operands[1.min(operands.len())..]
            .iter()
            .flat_map(|value| match value {
                Value::Vector(..) => self.routine.parts(*value),
                _ => std::slice::from_ref(value),
            })
            .filter(|value| !matches!(value, Value::Address(..)))
            .map(|value| self.read(*value, None))
            .collect();
        match found.form() {
            Form::Ld | Form::St => return self.memory(operands, found.form() == Form::Ld),
            Form::CvtaTo => return self.write(operands[0], sources[0], None),
            Form::Ret => return,
            _ => {}
        }
        let mut s = [0; 4];
        for (slot, source) in s.iter_mut().zip(&sources) {
            // Garbage above the width must not matter.
            *slot = *source;
        }
        match decode(found).unwrap_or_else(|| panic!("{:?} is not decoded", found.form())) {
            Decoded::Value(op) => {
                if sources.len() <= 4 && op.sources() > sources.len() {
                    panic!("{op:?} wants {} sources, not {}", op.sources(), sources.len());
                }
                match operands[0] {
                    Value::Vector(..) => {
                        let ScalarOp::Extract(_, bits) = op else { panic!("{op:?}") };
                        for (n, part) in self.routine.parts(operands[0]).iter().enumerate() {
                            self.write(*part, eval(ScalarOp::Extract(n as u8 * bits, bits), s), None);
                        }
                    }
                    value => self.write(value, eval(op, s), Some(op)),
                }
            }
            Decoded::Compare(op, bool) => {
                let (p, q) = compared(op, bool, s[0], s[1], s[2] & 1 == 1);
                match self.routine.parts(operands[0]) {
                    [first, second] => {
                        self.write(*first, p.into(), None);
                        self.write(*second, q.into(), None);
                    }
                    _ => self.write(operands[0], p.into(), None),
                }
            }
            Decoded::Carry(op) => {
                let (result, flag) = carry(op, [s[0], s[1], s[2]], self.carry);
                self.carry = if op.carry_out { flag } else { self.carry };
                self.write(operands[0], result, None);
            }
            Decoded::Lop3(_) => panic!("not in these programs"),
        }
    }

    fn memory(&mut self, operands: &[Value], load: bool) {
        if load {
            let Value::Address(_, offset) = operands[1] else { panic!() };
            let x = self.input.get(offset as usize / 8 + self.thread).copied().unwrap_or(0);
            self.write(operands[0], x, None);
        } else {
            self.output.push(self.read(operands[1], None));
        }
    }
}

fn run(program: &Program, input: &[u64], thread: usize) -> Vec<u64> {
    let routine = &program.routines[0];
    let registers = HashMap::new();
    let mut state = Thread { program, routine, registers, input, thread, carry: false, output: Vec::new() };
    for inst in &routine.instructions {
        state.step(inst);
    }
    state.output
}

/// Compares with the results recorded in `folder`: how many words were compared, and what is wrong.
fn compare_with(folder: &Path) -> (usize, Vec<String>) {
    let expected = std::fs::read_to_string(folder.join("expected.jsonl")).unwrap();
    let (mut compared, mut wrong) = (0, Vec::new());
    for line in expected.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = record["name"].as_str().unwrap();
        let kind = name.split('_').nth(1).unwrap();
        let bytes = std::fs::read(folder.join(format!("in_{kind}.bin"))).unwrap();
        let input: Vec<u64> =
            bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        let text = std::fs::read_to_string(folder.join(format!("{name}.ptx"))).unwrap();
        let parsed = crate::syntax::parse(SourceFile::new(format!("{name}.ptx"), text));
        let program = Program::new(parsed.module, Options::default());
        let threads = input.len() / 3;
        for thread in 0..threads {
            for (n, x) in run(&program, &input, thread).into_iter().enumerate() {
                let want = record["pout"][n * threads + thread].as_str().unwrap();
                let want = u64::from_str_radix(want, 16).unwrap();
                compared += 1;
                if want != x {
                    let [a, b, c] = [0, 1, 2].map(|at| input[at * threads + thread]);
                    wrong.push(format!("{} {a:x} {b:x} {c:x}: {x:x}, not {want:x}", record["slots"][n]));
                }
            }
        }
    }
    (compared, wrong)
}

#[test]
fn results_are_those_of_an_h200() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hw/scalar");
    let folder = std::env::var_os("MBAR_SCALAR_VECTORS").map_or(recorded, PathBuf::from);
    let (compared, wrong) = compare_with(&folder);
    assert!(wrong.is_empty(), "{} of {compared} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 41_000, "{compared}");
}

/// Every operation of the table with every combination of its modifiers that a cap allows.
fn operations() -> Vec<ScalarOp> {
    let mut found: Vec<ScalarOp> = Vec::new();
    for row in crate::isa::OPS.iter().flat_map(|op| op.rows) {
        let limits: Vec<usize> = row.slots.iter().map(|slot| slot.alternatives.len()).collect();
        for choice in 0..limits.iter().product::<usize>().min(400) {
            let mut rest = choice;
            let chosen = limits.iter().map(|limit| {
                let index = rest % limit;
                rest /= limit;
                index as u8 + 1
            });
            let row = RowMatch { row, chosen: chosen.collect(), needs: crate::isa::Needs::NONE };
            if let Some(Decoded::Value(op)) = decode(&row)
                && !found.contains(&op)
            {
                found.push(op);
            }
        }
    }
    found
}

/// A small generator, so that a test needs no state.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let x = (*seed ^ *seed >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^ x >> 29
}

/// Numbers of every magnitude, among them small ones and special ones.
fn value(seed: &mut u64) -> u64 {
    let x = next(seed);
    match next(seed) % 6 {
        0 => x % 70,
        1 => x & 0x8000_8000_8000_8000,
        2 => 0x7f80_0000_7f80_7c00 ^ x & 0x8000_0000_8000_8003,
        3 => 0x0080_0000_0080_0400 ^ x & 0x8000_0000_8000_8003,
        _ => x,
    }
}

#[test]
fn only_shadowed_bits_depend_on_undefined_ones() {
    let operations = operations();
    assert!(operations.len() > 800, "{}", operations.len());
    let mut seed = 1;
    for op in operations {
        for _ in 0..60 {
            let s = [0; 4].map(|_| value(&mut seed));
            let sparse = next(&mut seed) & next(&mut seed) & next(&mut seed);
            let undefined =
                [0; 4].map(|_| if next(&mut seed).is_multiple_of(3) { sparse & next(&mut seed) } else { 0 });
            let shadow = shadow(op, s, undefined);
            let result = eval(op, s);
            assert_eq!(result & !low(op.result_bits()), 0, "{op:?} {s:x?}");
            for _ in 0..8 {
                let mut other = s;
                for (x, undefined) in other.iter_mut().zip(undefined) {
                    *x ^= undefined & next(&mut seed);
                }
                let changed = result ^ eval(op, other);
                assert_eq!(changed & !shadow, 0, "{op:?} {s:x?} {undefined:x?}");
            }
        }
    }
}

#[test]
fn soft_and_native_arithmetic_agree() {
    use op::{FloatOp, Rounding};
    let mut seed = 2;
    let ops =
        [FloatOp::Add, FloatOp::Sub, FloatOp::Mul, FloatOp::Fma, FloatOp::Div, FloatOp::Rcp, FloatOp::Sqrt];
    for _ in 0..40_000 {
        let s = [0; 3].map(|_| value(&mut seed));
        for op in ops {
            for ty in [Float::F32, Float::F64] {
                let s = s.map(|x| x & low(ty.bits()));
                let native = float::eval(op, ty, op::Lanes::One, Rounding::Nearest, op::Flags::default(), s);
                let soft = float::soft(op, ty, Rounding::Nearest, false, s);
                assert_eq!(native, soft, "{op:?} {ty:?} {s:x?}");
            }
        }
    }
}

#[test]
fn halves_are_computed_as_in_binary64() {
    use op::{Flags, FloatOp, Lanes, Rounding};
    let mut seed = 3;
    let to_f64 = |x| convert::float(Float::F64, Float::F16, Rounding::Nearest, Flags::default(), x);
    for _ in 0..100_000 {
        let [a, b] = [0; 2].map(|_| next(&mut seed) & 0xffff);
        for op in [FloatOp::Add, FloatOp::Sub, FloatOp::Mul] {
            let half =
                float::eval(op, Float::F16, Lanes::One, Rounding::Nearest, Flags::default(), [a, b, 0]);
            let wide = [to_f64(a), to_f64(b), 0];
            let wide = float::eval(op, Float::F64, Lanes::One, Rounding::Nearest, Flags::default(), wide);
            let back = convert::float(Float::F16, Float::F64, Rounding::Nearest, Flags::default(), wide);
            let nan = |x: u64| x & 0x7fff > 0x7c00;
            assert!(half == back || nan(half) && nan(back), "{op:?} {a:x} {b:x}");
        }
    }
}

#[test]
fn integers_survive_a_wide_enough_float() {
    use op::{Flags, Rounding};
    let mut seed = 4;
    for _ in 0..10_000 {
        let x = next(&mut seed);
        for (int, float) in
            [(Int::S32, Float::F64), (Int::U32, Float::F64), (Int::S16, Float::F32), (Int::U8, Float::F16)]
        {
            let there = convert::int_to_float(float, int, Rounding::Zero, Flags::default(), x);
            let back = convert::float_to_int(int, float, Rounding::Up, Flags::default(), there);
            assert_eq!(back, x & int.mask(), "{int:?} {float:?}");
        }
    }
}

/// 1.5 and -2 with the scales 2 and 1/2.
#[test]
fn a_scale_multiplies_what_is_widened() {
    let sources = [0xc03c, 0x7e80, 0, 0];
    let flags = Flags::default();
    let widened = convert::repack(Float::Bf16, Float::E4m3, Rounding::Nearest, flags, true, sources);
    assert_eq!(widened, 0xbf80_4040);
}

#[test]
fn operations_are_small() {
    assert!(size_of::<ScalarOp>() <= 8, "{}", size_of::<ScalarOp>());
    assert!(size_of::<CompareOp>() <= 8 && size_of::<CarryOp>() <= 8);
}
