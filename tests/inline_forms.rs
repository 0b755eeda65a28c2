//! Every form of the table, wrapped in an `asm` statement: with constraints that fit there is no finding,
//! and with the width of one constraint wrong exactly that one.

mod support;

use mbar::check::{self, Settings};
use mbar::diagnostic::Diagnostic;
use mbar::extract::Language;
use mbar::isa::operand::{resolve_length, resolve_space, resolve_type};
use mbar::isa::table::{
    Access, AddressSpec, Arg, Constants, Op, Operand, Row, Shape, SpaceSpec, Value, ValueRange,
};
use mbar::isa::{OPS, Opcode, RowMatch, lookup};
use mbar::program::meaning::Meaning;
use mbar::source::SourceFile;
use mbar::types::{Space, Type, TypeClass};
use support::{Failures, in_words};

/// An operand of the statement.
#[derive(Clone)]
struct Bound {
    access: Access,
    letter: char,
    /// Letters that do not fit.
    wrong: &'static [char],
}

/// A statement in the making: the text of the instruction, and its operands `%[o0]`, `%[o1]` …
#[derive(Default)]
struct Statement {
    declarations: String,
    bound: Vec<Bound>,
    /// The opcode has one row only.
    alone: bool,
}

/// The letter of a register of so many bits.
fn letter(ty: Type) -> Option<char> {
    let float = ty.class() == TypeClass::Float;
    Some(match ty.bits() {
        16 => 'h',
        32 if float && ty == Type::F32 => 'f',
        32 => 'r',
        64 if float => 'd',
        64 => 'l',
        128 => 'q',
        _ => return None,
    })
}

impl Statement {
    fn bind(&mut self, access: Access, letter: char, wrong: &'static [char]) -> String {
        self.bound.push(Bound { access, letter, wrong });
        format!("%[o{}]", self.bound.len() - 1)
    }

    fn local(&mut self, ty: Type) -> String {
        let name = format!("t{}", self.declarations.matches(".reg").count());
        self.declarations.push_str(&format!(".reg {ty} {name}; "));
        name
    }

    fn value(&mut self, found: &RowMatch, value: &Value, spec: &Operand) -> String {
        let ty = resolve_type(found, value.ty);
        if value.constants == Constants::Only {
            // Such as `0.5`: nothing that an operand could give.
            if ty.class() == TypeClass::Float {
                return "0.5".to_string();
            }
            return match spec.range {
                Some(ValueRange::OneOf(values)) => values[0].to_string(),
                _ => self.bind(Access::Read, 'n', &['r', 'l', 'h']),
            };
        }
        let Some(letter) = letter(ty) else { return self.local(ty) };
        // A wider register than the type is taken by some; and some have a row for each of two widths.
        let wrong: &[char] = match (value.wider || !self.alone, ty.bits()) {
            (false, 32) => &['l', 'h', 'q'],
            (false, 64) => &['r', 'h', 'q'],
            (false, 16) => &['r', 'l'],
            (_, 128) => &['r', 'l', 'h'],
            (true, 32 | 64) => &['h'],
            _ => &[],
        };
        self.bind(spec.access, letter, wrong)
    }

    fn address(&mut self, found: &RowMatch, address: &AddressSpec, arg: Arg) -> String {
        let wide = matches!(resolve_space(found, address.space), None | Some(Space::Global));
        let tensor = address.space == SpaceSpec::Tensor;
        let letter = if wide && !tensor || arg == Arg::Map { 'l' } else { 'r' };
        self.bind(Access::Read, letter, &['h', 'f'])
    }

    /// The operand's text; `None` where none can be made for a statement.
    fn operand(&mut self, found: &RowMatch, spec: &Operand) -> Option<String> {
        Some(match &spec.shape {
            Shape::Value(value) => self.value(found, value, spec),
            Shape::Sink(_) => "_".into(),
            Shape::Vector(value, length) => {
                let count = resolve_length(found, *length);
                let parts: Vec<String> = (0..count).map(|_| self.value(found, value, spec)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            Shape::Pair(first, second, _) => {
                format!("{}|{}", self.operand(found, first)?, self.operand(found, second)?)
            }
            Shape::Address(address) => format!("[{}]", self.address(found, address, spec.arg)),
            Shape::Compound(address, parts) => {
                let base = self.address(found, address, spec.arg);
                let parts: Option<Vec<String>> = parts.iter().map(|part| self.operand(found, part)).collect();
                format!("[{base}, {}]", parts?.join(", "))
            }
            Shape::Label => "L".into(),
            Shape::Function | Shape::Any | Shape::Rest => return None,
        })
    }

    /// The statement as C++, with operand `wrong` bound wrongly.
    fn text(&self, instruction: &str, wrong: Option<(usize, char)>) -> String {
        let (mut outputs, mut inputs) = (Vec::new(), Vec::new());
        for (index, bound) in self.bound.iter().enumerate() {
            let wrong = wrong.filter(|(other, _)| *other == index);
            let letter = wrong.map_or(bound.letter, |(_, letter)| letter);
            let (list, sign) = match bound.access {
                Access::Read => (&mut inputs, ""),
                Access::Write => (&mut outputs, "="),
                Access::ReadWrite => (&mut outputs, "+"),
            };
            list.push(format!("[o{index}] \"{sign}{letter}\"(x{index})"));
        }
        format!(
            "void f() {{ asm volatile(\"{{ {}L: {instruction}; }}\" : {} : {} : \"memory\"); }}\n",
            self.declarations,
            outputs.join(", "),
            inputs.join(", ")
        )
    }
}

/// The spellings of a row: with as few modifiers as it takes, and with all of them.
fn spellings(op: &'static Op, row: &'static Row) -> Vec<Vec<&'static str>> {
    let words = |all: bool| {
        let slots = row.slots.iter().filter(|slot| all || !slot.optional);
        let modifiers = slots.map(|slot| slot.alternatives[0].modifier.text());
        op.words().chain(modifiers).collect::<Vec<&str>>()
    };
    let mut spellings = vec![words(false), words(true)];
    spellings.dedup();
    spellings
}

fn findings(text: &str) -> Vec<Diagnostic> {
    check::file(SourceFile::new("form.cu", text), Language::Cxx, &Settings::default()).diagnostics
}

#[test]
fn each_form_has_its_constraints() {
    let mut failures = Failures::default();
    let (mut forms, mut widths, mut rows) = (0, 0, 0);
    for op in OPS {
        for row in op.rows.iter().filter(|row| !row.undocumented) {
            rows += 1;
            let mut made = false;
            for words in spellings(op, row) {
                let Opcode::Known { rows, .. } = lookup(&words) else { continue };
                let Some(found) = rows.iter().find(|found| std::ptr::eq(found.row, row)) else { continue };
                // An address of 32 bits as a value is generic, and too narrow, unless its window is spelled.
                let by_value = Meaning::of(row.form).takes_address_as_value();
                if by_value && words.len() < op.words().count() + row.slots.len() {
                    continue;
                }
                let mut statement = Statement { alone: rows.len() == 1, ..Statement::default() };
                let count = usize::from(*row.counts.last().expect("a count")).min(row.operands.len());
                let operands: Option<Vec<String>> =
                    row.operands[..count].iter().map(|spec| statement.operand(found, spec)).collect();
                let Some(operands) = operands else { continue };
                made = true;
                let instruction = format!("{} {}", words.concat(), operands.join(", "));
                let text = statement.text(&instruction, None);
                let file = SourceFile::new("form.cu", text.as_str());
                forms += 1;
                for finding in findings(&text) {
                    failures.push(format!("{instruction}: {}", in_words(&file, &finding)));
                }
                let bound = statement.bound.iter().enumerate();
                for wrong in bound.flat_map(|(n, bound)| bound.wrong.iter().map(move |letter| (n, *letter))) {
                    let text = statement.text(&instruction, Some(wrong));
                    let found = findings(&text);
                    widths += 1;
                    let right = |finding: &Diagnostic| {
                        matches!(finding.rule.name, "constraint-mismatch" | "narrow-address")
                    };
                    if !matches!(found.as_slice(), [only] if right(only)) {
                        let file = SourceFile::new("form.cu", text.as_str());
                        let found = support::all_in_words(&file, &found);
                        failures.push(format!("o{} wrong in {text}: {found}", wrong.0));
                    }
                }
            }
            let callable = row
                .operands
                .iter()
                .any(|operand| matches!(operand.shape, Shape::Function | Shape::Any | Shape::Rest));
            if !made && !callable {
                failures.push(format!("{}: a row without a spelling", op.name));
            }
        }
    }
    assert!(forms > rows && widths > 2 * rows, "{forms} forms, {widths} wrong widths, {rows} rows");
    failures.report("A form and its constraints do not fit, or a wrong one is not found.");
}
