//! What the file's target and PTX version do not have.

use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::table::{GateId, SPECIALS, Shape};
use crate::isa::{self, Needs, RowMatch, TargetSet, Version};
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
    let isa::Opcode::Known { rows, .. } = opcode else { return false };
    rows.iter().any(|row| {
        row.row.undocumented || row.gates().any(|(_, g)| !g.gate().manual.is_always() || !g.gate().advise.is_always())
    })
}

/// What all instructions of the program need together.
pub fn requirements(program: &Program) -> Needs {
    let mut all = Needs::NONE;
    for routine in &program.routines {
        for inst in &routine.instructions {
            let Some(row) = program.row(routine, inst) else { continue };
            // Most rows need no look at the operands.
            let needs = match row.row.operands.iter().any(|o| !o.gate.is_always() || sink_gate(&o.shape)) {
                true => program.fit(routine, inst, row).unwrap_or(row.needs),
                false => row.needs,
            };
            all.version = all.version.max(needs.version);
            all.targets = all.targets.and(needs.targets);
        }
    }
    all
}

fn sink_gate(shape: &Shape) -> bool {
    match shape {
        Shape::Sink(gate) => !gate.is_always(),
        Shape::Value(value) => value.sink.is_some_and(|gate| !gate.is_always()),
        _ => false,
    }
}

/// "the instructions used need only PTX 8.0 and sm_90"
pub fn describe_requirements(needs: Needs) -> String {
    match (needs.version, needs.targets) {
        (Version::NONE, TargetSet::ALL) => "the instructions used run on every target".into(),
        (version, TargetSet::ALL) => format!("the instructions used need only PTX {version}"),
        (version, targets) => {
            format!("the instructions used need only PTX {version}, {}", targets.describe())
        }
    }
}

/// One thing in an instruction that the file does not have.
struct Lack {
    what: String,
    span: Span,
    gate: GateId,
}

fn beyond(program: &Program, routine: &Routine, inst: &Inst, row: u8) -> Option<Diagnostic> {
    let found = program.candidate(routine, inst, row)?;
    let needs = program.fit(routine, inst, found).ok()?;
    let mut lacks = lacks(program, routine, inst, found);
    lacks.retain(|lack| !program.meets(Needs::NONE.and(lack.gate)));
    let header = &program.header;
    let version_lacks = header.version.is_some_and(|version| version < needs.version);
    let target_lacks = header.target.is_some_and(|target| !needs.targets.contains(target));
    // The whole instruction is too new: say that; else the part that is.
    let syntax = program.syntax(routine, inst);
    let name = op_name(program, routine, inst);
    let first = lacks.first()?;
    let (what, span) = if first.what.is_empty() {
        (format!("`{name}`"), syntax.opcode_span)
    } else {
        (format!("{} of `{name}`", first.what), first.span)
    };
    let mut demands = Vec::new();
    if target_lacks && let Some(target) = header.target {
        let targets = lacks.iter().fold(TargetSet::ALL, |set, lack| set.and(lack.gate.gate().targets));
        demands.push(format!("{} (this file: {})", targets.describe(), target.name()));
    }
    if version_lacks && let Some(version) = header.version {
        demands.push(format!("PTX {} (this file: {version})", needs.version));
    }
    let message = format!("{what} needs {}", demands.join(" and "));
    let mut diagnostic = Diagnostic::new(&BEYOND_TARGET, span, message).label("not available here");
    if target_lacks && let Some(place) = header.target_span {
        diagnostic = diagnostic.also(place, "the target");
    }
    if version_lacks && let Some(place) = header.version_span {
        diagnostic = diagnostic.also(place, "the PTX version");
    }
    let hint = OpHint { program, routine, inst }.gate();
    Some(match hint {
        Some(hint) => diagnostic.help(hint),
        None => diagnostic.help(advice(needs, target_lacks, version_lacks)),
    })
}

fn advice(needs: Needs, target: bool, version: bool) -> String {
    match (target, version) {
        (true, true) => format!("write `.version {}` or newer and a fitting `.target`", needs.version),
        (true, false) => "write a fitting `.target`, or use another instruction".into(),
        _ => format!("write `.version {}` or newer", needs.version),
    }
}

struct OpHint<'a> {
    program: &'a Program,
    routine: &'a Routine,
    inst: &'a Inst,
}

impl OpHint<'_> {
    fn gate(&self) -> Option<&'static str> {
        let syntax = self.program.syntax(self.routine, self.inst);
        match &self.program.opcodes[syntax.opcode.0 as usize] {
            isa::Opcode::Known { op, .. } => op.hint(""),
            _ => None,
        }
    }
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
    let text = program.module.text(syntax.opcode_span);
    let mut lacks: Vec<Lack> = found
        .gates()
        .map(|(modifier, gate)| match modifier {
            None => Lack { what: String::new(), span: syntax.opcode_span, gate },
            Some(modifier) => {
                let at = text.find(modifier.text()).unwrap_or(0) as u32;
                let start = syntax.opcode_span.start + at;
                let span = Span::new(start, start + modifier.text().len() as u32);
                Lack { what: format!("`{}`", modifier.text()), span, gate }
            }
        })
        .collect();
    let operands = program.module.operands(syntax);
    for (index, (spec, value)) in found.row.operands.iter().zip(routine.operands(inst)).enumerate() {
        let span = operands[index].span;
        let name = spec.arg.text();
        lacks.push(Lack { what: format!("the operand `{name}`"), span, gate: spec.gate });
        let sink = match (&spec.shape, value) {
            (Shape::Sink(gate), Value::Sink) => Some(*gate),
            (Shape::Value(value), Value::Sink) => value.sink,
            _ => None,
        };
        lacks.extend(sink.map(|gate| Lack { what: "the sink `_` as result".into(), span, gate }));
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
                .note("what it does is nowhere promised, and another release may refuse it"),
        );
    }
    for lack in lacks(program, routine, inst, found) {
        let gate = lack.gate.gate();
        let what = if lack.what.is_empty() { format!("`{name}`") } else { lack.what };
        let fails = |id: GateId| !id.is_always() && !program.meets(Needs::NONE.and(id));
        if fails(gate.manual) {
            let wanted = describe_gate(gate.manual);
            let message = format!("the manual gives {what} only to {wanted}");
            out.push(
                Diagnostic::new(&BEYOND_DOCUMENTED_TARGET, lack.span, message)
                    .label("taken by ptxas all the same"),
            );
        }
        if fails(gate.advise)
            && let Some(target) = program.header.target
        {
            let wanted = gate.advise.gate().targets.describe();
            let message = format!("{what} should be used on {wanted}, not on {}", target.name());
            out.push(
                Diagnostic::new(&SLOW_ON_TARGET, lack.span, message)
                    .note("elsewhere it works, but may be much slower (ptxas says so, too)")
                    .help(format!("build for {wanted}")),
            );
        }
    }
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
        let Value::Special(special, _) = value else { continue };
        let special = &SPECIALS[*special as usize];
        let needs = Needs::NONE.and(special.gate);
        if program.meets(needs) {
            continue;
        }
        let header = &program.header;
        let mut demands = Vec::new();
        if let Some(target) = header.target.filter(|target| !needs.targets.contains(*target)) {
            demands.push(format!("{} (this file: {})", needs.targets.describe(), target.name()));
        }
        if let Some(version) = header.version.filter(|version| *version < needs.version) {
            demands.push(format!("PTX {} (this file: {version})", needs.version));
        }
        let message = format!("`{}` needs {}", special.name, demands.join(" and "));
        let span = program.operand_span(routine, inst, index);
        out.push(Diagnostic::new(&BEYOND_TARGET, span, message).label("not available here"));
    }
}
