//! The table in words: how the manual would write a row, and what its parts may be.

use super::opcode::Needs;
use super::table::{
    Access, AddressSpec, Constants, Extent, GateId, Length, Op, Operand, Row, Shape, Slot, SpaceSpec,
    SymbolSpec, TargetSet, TypeSpec, Value, ValueRange, Version,
};

/// A row the way the manual writes it: `mbarrier.arrive{.sem.scope}{.space}.b64 state, [bar]`.
pub fn signature(op: &Op, row: &Row) -> String {
    let operands = operands(row);
    let space = if operands.is_empty() { "" } else { " " };
    format!("{}{}{space}{operands}", op.name, modifiers(row))
}

/// The modifiers of a row, optional ones in braces: `{.sem.scope}{.space}.b64`.
pub fn modifiers(row: &Row) -> String {
    let mut out = String::new();
    let mut slots = row.slots.iter().peekable();
    while let Some(slot) = slots.next() {
        if !slot.optional {
            out.push_str(slot_text(slot));
            continue;
        }
        out.push('{');
        out.push_str(slot_text(slot));
        while let Some(next) = slots.next_if(|next| slot.group != 0 && next.group == slot.group) {
            out.push_str(slot_text(next));
        }
        out.push('}');
    }
    out
}

/// A slot's name, or its modifier when there is only one.
fn slot_text(slot: &'static Slot) -> &'static str {
    match slot.alternatives {
        [only] => only.modifier.text(),
        _ => slot.name,
    }
}

/// The operands of a row, optional ones in braces: `d, [a]{, policy}`.
pub fn operands(row: &Row) -> String {
    let least = row.counts.first().copied().unwrap_or(0);
    let mut out = String::new();
    let mut open = 0;
    for (operand, index) in row.operands.iter().zip(0u8..) {
        let optional = index >= least && row.counts.contains(&index);
        if optional {
            out.push('{');
            open += 1;
        }
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(&operand_text(operand));
    }
    out.push_str(&"}".repeat(open));
    out
}

/// An operand as the manual writes it.
pub fn operand_text(operand: &Operand) -> String {
    let name = operand.arg.text();
    match &operand.shape {
        Shape::Value(value) if value.negatable => format!("{{!}}{name}"),
        Shape::Value(_) | Shape::Label | Shape::Function | Shape::Any => name.to_string(),
        Shape::Sink(_) => "_".to_string(),
        Shape::Vector(_, Length::Fixed(count)) if *count <= 4 => {
            let elements: Vec<String> = (0..*count).map(|n| format!("{name}{n}")).collect();
            format!("{{{}}}", elements.join(", "))
        }
        Shape::Vector(..) => format!("{{{name}…}}"),
        Shape::Pair(first, second, true) => {
            format!("{}{{|{}}}", operand_text(first), operand_text(second))
        }
        Shape::Pair(first, second, false) => format!("{}|{}", operand_text(first), operand_text(second)),
        Shape::Address(_) => format!("[{name}]"),
        Shape::Compound(_, parts) => {
            let parts: Vec<String> = parts.iter().map(operand_text).collect();
            format!("[{name}, {}]", parts.join(", "))
        }
        Shape::Rest => "…".to_string(),
    }
}

/// What a gate asks for: `PTX 8.0, sm_90`; empty for nothing.
pub fn gate(id: GateId) -> String {
    let gate = id.gate();
    let mut text = needs(Needs::NONE.and(id));
    for (what, also) in [("the manual: ", gate.manual), ("better on ", gate.advise)] {
        if also != GateId::ALWAYS {
            let also = needs(Needs::NONE.and(also));
            let comma = if text.is_empty() { "" } else { "; " };
            text.push_str(&format!("{comma}{what}{also}"));
        }
    }
    text
}

/// What `needs` asks for: `PTX 8.0, sm_90`; empty for nothing.
pub fn needs(needs: Needs) -> String {
    let mut parts = Vec::new();
    if needs.version != Version::NONE {
        parts.push(format!("PTX {}", needs.version));
    }
    if let Some(targets) = targets(needs.targets) {
        parts.push(targets);
    }
    parts.join(", ")
}

/// The targets of a set in words; `None` for all.
pub fn targets(set: TargetSet) -> Option<String> {
    let all = TargetSet::every();
    (set.and(all) != all).then(|| set.and(all).describe())
}

/// What a slot needs as a whole, and its alternatives: `.release (default)`, `.relaxed (PTX 8.6)`.
pub fn slot(slot: &Slot) -> (String, Vec<String>) {
    let mut gates = slot.alternatives.iter().map(|alternative| alternative.gate);
    let first = gates.next().unwrap_or(GateId::ALWAYS);
    // A gate that all alternatives share is told once.
    let shared =
        slot.gate == GateId::ALWAYS && slot.alternatives.len() > 1 && gates.all(|gate| gate == first);
    let whole = if shared { first } else { slot.gate };
    let one = |(index, alternative): (usize, &super::table::Alternative)| {
        let mut notes = Vec::new();
        if slot.default == Some(index as u8) {
            notes.push("default".to_string());
        }
        if let Some(canonical) = alternative.canonical {
            notes.push(format!("means {}", canonical.text()));
        }
        notes.extend(Some(gate(alternative.gate)).filter(|text| !text.is_empty() && !shared));
        let text = alternative.modifier.text();
        if notes.is_empty() { text.to_string() } else { format!("{text} ({})", notes.join("; ")) }
    };
    (gate(whole), slot.alternatives.iter().enumerate().map(one).collect())
}

/// What may stand in an operand's place, and which values: `u32: register or constant, 1 to 511`.
/// Empty for what the signature says already.
pub fn operand_kind(row: &Row, operand: &Operand) -> String {
    let mut text = match &operand.shape {
        Shape::Value(value) => value_kind(row, value, operand.access),
        Shape::Vector(value, length) => {
            format!("{} {}", vector_length(row, *length), value_kind(row, value, operand.access))
        }
        Shape::Address(spec) | Shape::Compound(spec, _) => address_kind(row, spec, operand.access),
        Shape::Label => "a label".to_string(),
        Shape::Function => "a function".to_string(),
        Shape::Any | Shape::Rest | Shape::Sink(_) | Shape::Pair(..) => String::new(),
    };
    if let Some(values) = operand.range {
        text.push_str(&format!(", {}", range(values)));
    }
    if let Some(values) = operand.should {
        text.push_str(&format!(" (the manual: {})", range(values)));
    }
    let gate = gate(operand.gate);
    if !gate.is_empty() {
        text.push_str(&format!(" ({gate})"));
    }
    text
}

fn vector_length(row: &Row, length: Length) -> String {
    match length {
        Length::Fixed(count) => format!("{count} times"),
        Length::Slot(slot, 0) => format!("as many as {} says:", row.slots[slot as usize].name),
        Length::Slot(slot, less) => format!("{less} less than {} says:", row.slots[slot as usize].name),
        Length::Times(slot, n) => format!("{n} times as many as {} says:", row.slots[slot as usize].name),
        Length::Over(slot, n) => format!("1/{n} as many as {} says:", row.slots[slot as usize].name),
    }
}

fn value_kind(row: &Row, value: &Value, access: Access) -> String {
    let ty = match value.ty {
        TypeSpec::Fixed(ty) => ty.text().to_string(),
        TypeSpec::Slot(slot) => type_of(row, slot),
        TypeSpec::Double(slot) => format!("twice as wide as {}", type_of(row, slot)),
    };
    let mut what = match (access, value.constants) {
        (Access::Write, _) => "register, written".to_string(),
        (Access::ReadWrite, _) => "register, read and written".to_string(),
        (Access::Read, Constants::Allowed) => "register or constant".to_string(),
        (Access::Read, Constants::Never) => "register".to_string(),
        (Access::Read, Constants::Only) => "constant".to_string(),
    };
    if value.wider {
        what.push_str(", may be wider");
    }
    if value.special {
        what.push_str(", may be a special register");
    }
    if value.braces {
        what.push_str(", may stand in braces");
    }
    match value.symbol {
        SymbolSpec::No => {}
        SymbolSpec::Any => what.push_str(", may be the address of a variable"),
        SymbolSpec::In(space) => what.push_str(&format!(", may be the address of a `{space}` variable")),
    }
    if let Some(id) = value.sink {
        let gate = gate(id);
        let note = if gate.is_empty() { String::new() } else { format!(" ({gate})") };
        what.push_str(&format!(", or _{note}"));
    }
    format!("{ty} {what}")
}

fn type_of(row: &Row, slot: u8) -> String {
    slot_text(&row.slots[slot as usize]).to_string()
}

fn address_kind(row: &Row, spec: &AddressSpec, access: Access) -> String {
    let space = match spec.space {
        SpaceSpec::Generic => "generic".to_string(),
        SpaceSpec::Any => "any".to_string(),
        SpaceSpec::Tensor => "tensor memory".to_string(),
        SpaceSpec::Fixed(modifier) => modifier.text().to_string(),
        SpaceSpec::Slot(slot) => {
            let slot = &row.slots[slot as usize];
            let open = slot.optional && slot.default.is_none();
            let or = if open { " (generic without it)" } else { "" };
            format!("{}{or}", slot_text(slot))
        }
    };
    if spec.mbar {
        return format!("{space} address of an mbarrier object");
    }
    let what = match access {
        Access::Read => "read",
        Access::Write => "written",
        Access::ReadWrite => "read and written",
    };
    let align = extent(row, spec.align).map_or(String::new(), |n| format!(", aligned to {n}"));
    format!("{space} address, {what}{align}")
}

fn extent(row: &Row, extent: Extent) -> Option<String> {
    match extent {
        Extent::None => None,
        Extent::Fixed(1) => None,
        Extent::Fixed(n) => Some(format!("{n} bytes")),
        Extent::Arg(arg) => Some(arg.text().to_string()),
        Extent::Type(slot) => Some(format!("the size of {}", type_of(row, slot))),
        Extent::Vector(slot, vector) => {
            let vector = row.slots[vector as usize].name;
            Some(format!("the size of {} times {vector}", type_of(row, slot)))
        }
    }
}

/// A set of numbers in words.
pub fn range(range: ValueRange) -> String {
    match range {
        ValueRange::Span { low, high, step } => {
            let bounds = match (low, high) {
                (i64::MIN, i64::MAX) if step > 1 => return format!("a multiple of {step}"),
                (i64::MIN, i64::MAX) => return "any number".to_string(),
                (i64::MIN, _) => format!("at most {high}"),
                (_, i64::MAX) => format!("{low} or more"),
                _ if low == high => format!("{low}"),
                _ => format!("{low} to {high}"),
            };
            if step > 1 { format!("{bounds} in steps of {step}") } else { bounds }
        }
        ValueRange::OneOf(values) => {
            let words: Vec<String> = values.iter().map(i64::to_string).collect();
            match words.as_slice() {
                [init @ .., last] if !init.is_empty() => format!("{} or {last}", init.join(", ")),
                _ => words.join(""),
            }
        }
        ValueRange::NonZero => "not 0".to_string(),
        ValueRange::UpTo(low, arg) => format!("{low} to {}", arg.text()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::isa::OPS;

    fn op(name: &str) -> &'static Op {
        OPS.iter().find(|op| op.name == name).expect("such an instruction")
    }

    #[test]
    fn a_signature_reads_like_the_manual() {
        let first = |name: &str| signature(op(name), &op(name).rows[0]);
        assert_eq!(first("mbarrier.init"), "mbarrier.init{.layout::v0}{.space}.b64 [bar], count");
        assert_eq!(first("mbarrier.arrive"), "mbarrier.arrive{.sem.scope}{.space}.b64 state, [bar]");
        let wait =
            "mbarrier.try_wait{.sem.scope}{.phase_type::primary}{.space}.b64 done{|_}, [bar], state{, hint}";
        assert_eq!(first("mbarrier.try_wait"), wait);
    }

    #[test]
    fn an_operand_is_told_with_its_values() {
        let row = &op("mbarrier.init").rows[0];
        let kinds: Vec<String> = row.operands.iter().map(|o| operand_kind(row, o)).collect();
        let bar = ".space (generic without it) address of an mbarrier object";
        assert_eq!(kinds, [bar, ".u32 register or constant, 1 to 1048575"]);
    }
}
