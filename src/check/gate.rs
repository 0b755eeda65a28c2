//! What the file's target and PTX version do not have.

use super::words;
use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::table::{GateId, Operand, SPECIALS, Shape};
use crate::isa::target::Toolkit;
use crate::isa::{self, Needs, RowMatch, TargetId, TargetSet, Version};
use crate::program::{Fit, Inst, Program, Routine, Value};
use crate::source::Span;

/// The rules of this file.
pub const RULES: &[&Rule] = &[&BEYOND_TARGET, &BEYOND_DOCUMENTED_TARGET, &SLOW_ON_TARGET, &UNDOCUMENTED_FORM];

static BEYOND_TARGET: Rule = Rule {
    name: "beyond-target",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "something that the file's target or PTX version does not have",
    page: include_str!("beyond-target.md"),
};

static BEYOND_DOCUMENTED_TARGET: Rule = Rule {
    name: "beyond-documented-target",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "something that ptxas takes here though the manual limits it to other targets",
    page: include_str!("beyond-documented-target.md"),
};

static SLOW_ON_TARGET: Rule = Rule {
    name: "slow-on-target",
    severity: Severity::Warning,
    ptxas: Ptxas::Rejects,
    summary: "something that is meant for another target and may be slow on this one",
    page: include_str!("slow-on-target.md"),
};

static UNDOCUMENTED_FORM: Rule = Rule {
    name: "undocumented-form",
    severity: Severity::Warning,
    ptxas: Ptxas::Accepts,
    summary: "a form that ptxas takes but the manual does not have",
    page: include_str!("undocumented-form.md"),
};

/// Runs the rules.
pub fn check(program: &Program, out: &mut Vec<Diagnostic>) {
    let remarkable: Vec<bool> = program.opcodes.iter().map(has_remarks).collect();
    for routine in &program.routines {
        for inst in &routine.instructions {
            match inst.fit {
                Fit::Gated(row) => out.extend(beyond(program, routine, inst, row)),
                Fit::Row(row) => {
                    let opcode = program.syntax(routine, inst).opcode.0 as usize;
                    if remarkable[opcode]
                        && let Some(found) = program.candidate(routine, inst, row)
                    {
                        remarks(program, routine, inst, found, out);
                    }
                }
                Fit::Operand(..) | Fit::Unknown => {}
            }
            special_registers(program, routine, inst, out);
        }
    }
}

fn has_remarks(opcode: &isa::Opcode) -> bool {
    let isa::Opcode::Known { rows, .. } = opcode else {
        return false;
    };
    rows.iter().any(|row| {
        row.row.undocumented
            || row.gates().any(|(_, g)| !g.gate().manual.is_always() || !g.gate().advise.is_always())
    })
}

/// "the instructions used need only PTX 8.0 and sm_90"
pub fn describe_requirements(needs: Needs) -> String {
    match needs {
        Needs::NONE => "the instructions used run on every target".into(),
        needs => format!("the instructions used need only {}", needs_in_words(needs)),
    }
}

/// "PTX 8.0 and sm_90"; "every target" for nothing.
pub fn needs_in_words(needs: Needs) -> String {
    match (needs.version, needs.targets) {
        (Version::NONE, TargetSet::ALL) => "every target".into(),
        (Version::NONE, targets) => targets.describe(),
        (version, TargetSet::ALL) => format!("PTX {version}"),
        (version, targets) => format!("PTX {version} and {}", targets.describe()),
    }
}

/// One thing in an instruction that the file does not have.
struct Lack {
    what: String,
    /// What a hint of the table would call it: `""` for the whole instruction.
    about: &'static str,
    span: Span,
    gate: GateId,
}

fn beyond(program: &Program, routine: &Routine, inst: &Inst, row: u8) -> Option<Diagnostic> {
    let found = program.candidate(routine, inst, row)?;
    let mut lacks = lacks(program, routine, inst, found);
    lacks.retain(|lack| !program.meets(Needs::NONE.and(lack.gate)));
    let needs = lacks.iter().fold(Needs::NONE, |needs, lack| needs.and(lack.gate));
    // The whole instruction is too new: say that; else the part that is.
    let first = lacks.first()?;
    let name = op_name(program, routine, inst);
    let operand = first.about.is_empty().then(|| newer_operand(program, routine, inst, found)).flatten();
    let (what, about, span) = match (first.about, operand) {
        ("", Some((arg, span))) => (format!("the operand `{arg}` of `{name}`"), arg, span),
        ("", None) => (format!("`{name}`"), "", first.span),
        (about, _) => (format!("{} of `{name}`", first.what), about, first.span),
    };
    let demand = Demand::new(program, needs);
    let message = format!("{what} needs {}", demand.text(program));
    let diagnostic = Diagnostic::new(&BEYOND_TARGET, span, message).label("not available here");
    let diagnostic = demand.advise(program, diagnostic);
    let syntax = program.syntax(routine, inst);
    let hint = match &program.opcodes[syntax.opcode.0 as usize] {
        isa::Opcode::Known { op, .. } => op.hint(about),
        _ => None,
    };
    Some(match hint {
        Some(hint) => diagnostic.help(hint),
        None => diagnostic,
    })
}

/// The first operand of the row that a form with the same modifiers, which the file has, does without.
fn newer_operand(
    program: &Program,
    routine: &Routine,
    inst: &Inst,
    found: &RowMatch,
) -> Option<(&'static str, Span)> {
    let syntax = program.syntax(routine, inst);
    let isa::Opcode::Known { rows, .. } = &program.opcodes[syntax.opcode.0 as usize] else {
        return None;
    };
    let had = rows.iter().find(|row| !row.row.undocumented && program.meets(row.needs))?;
    let extra = |operand: &Operand| had.row.operands.iter().all(|other| other.arg != operand.arg);
    let index = found.row.operands.iter().position(extra)?;
    let span = program.module.operands(syntax).get(index)?.span;
    Some((found.row.operands[index].arg.text(), span))
}

/// What of some needs the file does not meet.
struct Demand {
    needs: Needs,
    target: bool,
    version: bool,
}

impl Demand {
    fn new(program: &Program, needs: Needs) -> Demand {
        let header = &program.header;
        Demand {
            needs,
            target: header.target.is_some_and(|target| !needs.targets.contains(target)),
            version: header.version.is_some_and(|version| version < needs.version),
        }
    }

    /// "sm_90 (this file: sm_80) and PTX 7.8 (this file: 7.0)"
    fn text(&self, program: &Program) -> String {
        let header = &program.header;
        let target = header.target.filter(|_| self.target);
        let here = header.here();
        let target = target.map(|t| format!("{} ({here}: {})", self.needs.targets.describe(), t.name()));
        let version = header.version.filter(|_| self.version);
        let version = version.map(|version| format!("PTX {} ({here}: {version})", self.needs.version));
        target.into_iter().chain(version).collect::<Vec<_>>().join(" and ")
    }

    /// Adds where the file says otherwise, and what it would have to say.
    fn advise(&self, program: &Program, mut diagnostic: Diagnostic) -> Diagnostic {
        let header = &program.header;
        let target =
            header.target.filter(|_| self.target).and_then(|given| nearest_target(self.needs, given));
        let version = self.needs.version.max(target.map_or(Version::NONE, TargetId::since));
        let version = header.version.is_some_and(|given| given < version).then_some(version);
        if let Some(place) = header.target_span.filter(|_| self.target) {
            diagnostic = diagnostic.also(place, "the target");
        }
        if let Some(place) = header.version_span.filter(|_| self.version) {
            diagnostic = diagnostic.also(place, "the PTX version");
        }
        if header.is_statement {
            return match (target, version.and_then(Toolkit::first_with)) {
                (Some(target), _) => diagnostic.help(format!(
                    "compile it for {} only: put it behind `#if {}`",
                    target.name(),
                    condition(target)
                )),
                (None, Some(toolkit)) => {
                    diagnostic.help(format!("compile it with CUDA {} or newer", toolkit.name))
                }
                (None, None) => diagnostic,
            };
        }
        match (version, target) {
            (Some(version), None) => diagnostic.help(format!("write `.version {version}` or newer")),
            (None, Some(target)) => {
                diagnostic.help(format!("write `.target {}` if the program is for such a GPU", target.name()))
            }
            (Some(version), Some(target)) => diagnostic.help(format!(
                "write `.version {version}` or newer and `.target {}` if the program is for such a GPU",
                target.name()
            )),
            (None, None) => diagnostic,
        }
    }
}

/// The condition of the preprocessor that holds for `target` and those that can do the same.
fn condition(target: TargetId) -> String {
    let number = target.number();
    match target.letter() {
        "a" => format!("defined(__CUDA_ARCH_FEAT_SM{number}_ALL)"),
        "f" => format!("__CUDA_ARCH_FAMILY_SPECIFIC__ == {number}0"),
        _ => format!("__CUDA_ARCH__ >= {number}0"),
    }
}

/// The target that has what is needed and is nearest to the file's: of the same number, else the oldest.
fn nearest_target(needs: Needs, given: TargetId) -> Option<TargetId> {
    let same = |target: &TargetId| target.number() == given.number();
    needs.targets.iter().find(same).or_else(|| needs.targets.iter().next())
}

fn op_name(program: &Program, routine: &Routine, inst: &Inst) -> String {
    let syntax = program.syntax(routine, inst);
    match &program.opcodes[syntax.opcode.0 as usize] {
        isa::Opcode::Known { op, .. } => op.name.to_string(),
        _ => program.module.opcode(syntax).text.clone(),
    }
}

/// Every gated part of the instruction, the row itself first.
fn lacks(program: &Program, routine: &Routine, inst: &Inst, found: &RowMatch) -> Vec<Lack> {
    let syntax = program.syntax(routine, inst);
    let mut lacks: Vec<Lack> = found
        .gates()
        .map(|(modifier, gate)| match modifier {
            None => Lack { what: String::new(), about: "", span: syntax.opcode_span, gate },
            Some(modifier) => {
                let place = words::place(program, syntax, modifier.text());
                let span = place.unwrap_or(syntax.opcode_span);
                Lack { what: format!("`{}`", modifier.text()), about: modifier.text(), span, gate }
            }
        })
        .collect();
    let operands = program.module.operands(syntax);
    for (index, (spec, value)) in found.row.operands.iter().zip(routine.operands(inst)).enumerate() {
        let span = operands[index].span;
        let name = spec.arg.text();
        lacks.push(Lack { what: format!("the operand `{name}`"), about: name, span, gate: spec.gate });
        let sink = match (&spec.shape, value) {
            (Shape::Sink(gate), Value::Sink) => Some(*gate),
            (Shape::Value(value), Value::Sink) => value.sink,
            _ => None,
        };
        lacks.extend(sink.map(|gate| Lack {
            what: "the destination `_`".into(),
            about: "_ gate",
            span,
            gate,
        }));
    }
    lacks
}

/// What ptxas takes and the manual does not, and what it advises against.
fn remarks(program: &Program, routine: &Routine, inst: &Inst, found: &RowMatch, out: &mut Vec<Diagnostic>) {
    let syntax = program.syntax(routine, inst);
    let name = op_name(program, routine, inst);
    if found.row.undocumented {
        let message = format!("ptxas takes this form of `{name}`, but the manual does not have it");
        out.push(
            Diagnostic::new(&UNDOCUMENTED_FORM, syntax.opcode_span, message)
                .label("not in the manual")
                .note("what it does is nowhere promised, and another release may refuse it")
                .help(format!("`mbar forms {name}` lists the documented forms")),
        );
    }
    for lack in lacks(program, routine, inst, found) {
        let gate = lack.gate.gate();
        let what = if lack.what.is_empty() { format!("`{name}`") } else { lack.what };
        let fails = |id: GateId| !id.is_always() && !program.meets(Needs::NONE.and(id));
        if fails(gate.manual) {
            let wanted = describe_gate(gate.manual);
            let message = format!("{what} is documented only for {wanted}");
            out.push(
                Diagnostic::new(&BEYOND_DOCUMENTED_TARGET, lack.span, message)
                    .label("ptxas does not check this")
                    .note("another release of ptxas may refuse it"),
            );
        }
        if fails(gate.advise)
            && let Some(target) = program.header.target
        {
            let wanted = gate.advise.gate().targets.describe();
            let message = format!("{what} should be used on {wanted}, not on {}", target.name());
            out.push(
                Diagnostic::new(&SLOW_ON_TARGET, lack.span, message)
                    .label("may be slow on this target")
                    .note("elsewhere it works, but may be much slower; ptxas gives an advisory, too")
                    .help(build_for(gate.advise, target)),
            );
        }
    }
}

fn build_for(gate: GateId, given: TargetId) -> String {
    let best = nearest_target(Needs::NONE.and(gate), given).unwrap_or(given);
    format!("write `.target {}` if the program is for such a GPU", best.name())
}

fn describe_gate(id: GateId) -> String {
    let gate = id.gate();
    match (gate.version, gate.targets) {
        (Version::NONE, targets) => targets.describe(),
        (version, TargetSet::ALL) => format!("PTX {version} and newer"),
        (version, targets) => format!("PTX {version} and newer on {}", targets.describe()),
    }
}

fn special_registers(program: &Program, routine: &Routine, inst: &Inst, out: &mut Vec<Diagnostic>) {
    for (index, value) in routine.operands(inst).iter().enumerate() {
        let Value::Special(special, _) = value else {
            continue;
        };
        let special = &SPECIALS[*special as usize];
        let needs = Needs::NONE.and(special.gate);
        if !program.meets(needs) {
            let span = program.operand_span(routine, inst, index);
            out.push(beyond_word(program, special.name, span, needs));
        }
    }
}

/// A special register or directive that the file does not have.
pub(super) fn beyond_word(program: &Program, word: &str, span: Span, needs: Needs) -> Diagnostic {
    let demand = Demand::new(program, needs);
    let message = format!("`{word}` needs {}", demand.text(program));
    demand.advise(program, Diagnostic::new(&BEYOND_TARGET, span, message).label("not available here"))
}
