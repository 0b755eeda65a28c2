//! The shape of the instruction table. The values are made from `grammar/*.isa` at build time.

use crate::types::{Space, Type};

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// A set of targets, one bit for each entry of [`TARGETS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetSet(pub u64);

impl TargetSet {
    /// Every target.
    pub const ALL: TargetSet = TargetSet(u64::MAX);

    /// Whether `target` is in the set.
    pub fn contains(self, target: TargetId) -> bool {
        self.0 >> target.0 & 1 == 1
    }

    /// The targets in both.
    pub fn and(self, other: TargetSet) -> TargetSet {
        TargetSet(self.0 & other.0)
    }
}

/// Index into [`TARGETS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct TargetId(pub u8);

/// One `sm_NN` with its suffix.
#[derive(Debug)]
pub struct Target {
    /// For example `sm_90a`.
    pub name: &'static str,
    /// The first PTX version that knows it.
    pub since: Version,
    /// The targets that can do what this one can: for a plain target all of its number or above, for an
    /// `f` target those of its family from its number on, for an `a` target itself.
    pub covers: TargetSet,
}

/// A PTX ISA version. Versions compare as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Before the dot.
    pub major: u8,
    /// After the dot.
    pub minor: u8,
}

impl Version {
    /// `major.minor`
    pub const fn new(major: u8, minor: u8) -> Self {
        Version { major, minor }
    }

    /// Below every version.
    pub const NONE: Version = Version::new(0, 0);
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What something needs: a PTX version and a target.
#[derive(Debug)]
pub struct Gate {
    /// Lowest PTX version ([`Version::NONE`]: any).
    pub version: Version,
    /// Allowed targets.
    pub targets: TargetSet,
    /// What the manual demands beyond this (`GateId(0)`: nothing).
    pub manual: GateId,
    /// Where ptxas advises to use it (`GateId(0)`: anywhere).
    pub advise: GateId,
}

/// Index into [`GATES`]; 0 is "always".
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct GateId(pub u16);

impl GateId {
    /// No condition.
    pub const ALWAYS: GateId = GateId(0);

    /// The gate.
    pub fn gate(self) -> &'static Gate {
        &GATES[self.0 as usize]
    }

    /// Whether it asks for nothing.
    pub fn is_always(self) -> bool {
        self == GateId::ALWAYS
    }
}

/// A directive between a function's header and its body (PTX ISA §11.4).
#[derive(Debug)]
pub struct Directive {
    /// Its word with the dot.
    pub name: &'static str,
    /// May a kernel have it?
    pub entry: bool,
    /// May a device function have it?
    pub func: bool,
    /// What it needs.
    pub gate: GateId,
}

/// A special register (PTX ISA §10).
#[derive(Debug)]
pub struct Special {
    /// Its name with the percent sign.
    pub name: &'static str,
    /// The (element) type.
    pub ty: Type,
    /// Number of elements; 4 for `%tid`, whose `.w` exists.
    pub vector: u8,
    /// What it needs.
    pub gate: GateId,
}

impl Special {
    /// The special register called `name`: its index and itself.
    pub fn from_name(name: &str) -> Option<(u16, &'static Special)> {
        let found = SPECIALS.binary_search_by(|special| special.name.cmp(name)).ok()?;
        Some((found as u16, &SPECIALS[found]))
    }
}

/// An instruction: fixed opcode words, and the rows that describe what may follow.
#[derive(Debug)]
pub struct Op {
    /// The fixed words, joined: `mbarrier.arrive.expect_tx`.
    pub name: &'static str,
    /// Section of the PTX manual (release 9.4), e.g. `9.7.15.16.16`; may be empty.
    pub section: &'static str,
    /// One line for people.
    pub text: &'static str,
    /// Not described completely: what no row matches is unknown, not wrong.
    pub open: bool,
    /// ptxas makes no code for it with a generic or global address in a register that is too narrow.
    pub wide: bool,
    /// What to say to someone who used a modifier that the instruction does not have (`.word`), or
    /// whose target or version does not suffice (`""`): the modifier and the advice.
    pub hints: &'static [(&'static str, &'static str)],
    /// Its rows.
    pub rows: &'static [Row],
    /// The grammar file that holds it, without ending.
    pub family: &'static str,
}

impl Op {
    /// The advice about `about`: a modifier, or `""` for the gate.
    pub fn hint(&self, about: &str) -> Option<&'static str> {
        self.hints.iter().find(|(word, _)| *word == about).map(|(_, text)| *text)
    }

    /// The fixed words; those after the first with their dot.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        let name = self.name;
        let mut start = 0;
        std::iter::from_fn(move || {
            (start < name.len()).then(|| {
                let end = name[start + 1..].find('.').map_or(name.len(), |at| start + 1 + at);
                let word = &name[start..end];
                start = end;
                word
            })
        })
    }
}

/// One legal shape of an instruction.
#[derive(Debug)]
pub struct Row {
    /// The form it is a spelling of.
    pub form: Form,
    /// Modifier slots in canonical order.
    pub slots: &'static [Slot],
    /// Operands in order.
    pub operands: &'static [Operand],
    /// The operand counts that are allowed, ascending.
    pub counts: &'static [u8],
    /// What the row needs.
    pub gate: GateId,
    /// ptxas takes it, the manual has no such form.
    pub undocumented: bool,
}

/// A place for one modifier.
#[derive(Debug)]
pub struct Slot {
    /// The slot's name; the modifier itself (`.b64`) where the row spells it out.
    pub name: &'static str,
    /// What may stand there.
    pub alternatives: &'static [Alternative],
    /// May it be left out?
    pub optional: bool,
    /// Must its modifier stand before all others?
    pub leading: bool,
    /// Slots of one non-zero group come together or not at all.
    pub group: u8,
    /// What the slot needs when it is filled.
    pub gate: GateId,
    /// The alternative that is meant when the slot is left out.
    pub default: Option<u8>,
}

/// One modifier that a slot can hold.
#[derive(Debug)]
pub struct Alternative {
    /// The modifier.
    pub modifier: Mod,
    /// What it needs.
    pub gate: GateId,
    /// The preferred spelling, where this is not it.
    pub canonical: Option<Mod>,
}

impl Mod {
    /// Every modifier, sorted by spelling.
    pub fn all() -> impl Iterator<Item = Mod> {
        MODS_SORTED.iter().copied()
    }

    /// The spelling, with its dot.
    pub fn text(self) -> &'static str {
        MODS[self as usize].0
    }

    /// The modifier spelled `text`.
    pub fn from_text(text: &str) -> Option<Mod> {
        MODS_SORTED.binary_search_by(|m| m.text().cmp(text)).ok().map(|i| MODS_SORTED[i])
    }

    /// The ordered class it belongs to; 0: none.
    pub fn class(self) -> u8 {
        MODS[self as usize].1
    }

    /// The type of register that carries a value of this instruction type.
    pub fn carrier(self) -> Option<Type> {
        MODS[self as usize].2
    }

    /// The state space that the modifier spells, window qualifiers dropped.
    pub fn space(self) -> Option<Space> {
        MODS[self as usize].3
    }

    /// The number in the modifier: 2 for `.v2` and `.2d`, the columns of the result for `.m64n8k16`.
    pub fn number(self) -> Option<u32> {
        let text = self.text();
        let columns = text.strip_prefix(".m").and_then(|shape| shape.split_once('n'));
        let text = columns.map_or(text, |(_, columns)| columns);
        let text = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    }
}

impl Arg {
    /// The operand's name in the table.
    pub fn text(self) -> &'static str {
        ARGS[self as usize]
    }
}

/// Whether an operand is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Both.
    ReadWrite,
}

/// An operand of a row.
#[derive(Debug)]
pub struct Operand {
    /// Its name.
    pub arg: Arg,
    /// How it is used (an address: the memory behind it).
    pub access: Access,
    /// What may stand there.
    pub shape: Shape,
    /// What its presence needs.
    pub gate: GateId,
    /// Values that ptxas takes for a constant.
    pub range: Option<ValueRange>,
    /// Values that the manual allows.
    pub should: Option<ValueRange>,
}

/// What may stand in an operand's place.
#[derive(Debug)]
pub enum Shape {
    /// One register or constant.
    Value(Value),
    /// The sink, and nothing else; with what that needs.
    Sink(GateId),
    /// `{a, b}`
    Vector(Value, Length),
    /// `a|b`; the second half may be missing where the flag says so.
    Pair(&'static Operand, &'static Operand, bool),
    /// `[a]`
    Address(AddressSpec),
    /// `[a, …]`
    Compound(AddressSpec, &'static [Operand]),
    /// A label.
    Label,
    /// A function.
    Function,
    /// Anything.
    Any,
    /// Any further operands.
    Rest,
}

/// What values an operand takes.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The type.
    pub ty: TypeSpec,
    /// May the register be wider (ld, st, cvt)?
    pub wider: bool,
    /// Constants.
    pub constants: Constants,
    /// May it be `_`, and what does that need?
    pub sink: Option<GateId>,
    /// May it be a special register?
    pub special: bool,
    /// May it be the address of a variable?
    pub symbol: SymbolSpec,
    /// May it be `!p`?
    pub negatable: bool,
    /// May it stand in braces of its own, `{r}`?
    pub braces: bool,
}

/// Whether the address of a variable is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolSpec {
    /// No.
    No,
    /// Of any variable.
    Any,
    /// Of a variable in this space.
    In(Space),
}

/// Whether constants are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constants {
    /// Registers and constants.
    Allowed,
    /// Registers only.
    Never,
    /// Constants only.
    Only,
}

/// An operand's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeSpec {
    /// This one.
    Fixed(Type),
    /// The type in that slot of the row.
    Slot(u8),
    /// Twice as wide as the type in that slot.
    Double(u8),
}

/// The length of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// This many.
    Fixed(u8),
    /// The number in a slot's modifier, less some.
    Slot(u8, u8),
    /// That number so many times.
    Times(u8, u8),
    /// That number divided.
    Over(u8, u8),
}

/// A set of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueRange {
    /// `low..=high` in steps.
    Span {
        /// Lowest.
        low: i64,
        /// Highest.
        high: i64,
        /// A multiple of this.
        step: u32,
    },
    /// One of these.
    OneOf(&'static [i64]),
    /// Anything but 0.
    NonZero,
    /// `low..=` the constant in that operand.
    UpTo(i64, Arg),
}

/// An address operand.
#[derive(Clone, Copy, Debug)]
pub struct AddressSpec {
    /// The state space.
    pub space: SpaceSpec,
    /// The state space that the manual asks of a generic address.
    pub should: Option<Space>,
    /// Whether it is an mbarrier object.
    pub mbar: bool,
    /// ptxas makes code with a narrow register here, though the instruction is `wide`.
    pub narrow: bool,
    /// Required alignment in bytes.
    pub align: Extent,
    /// Bytes accessed.
    pub bytes: Extent,
}

/// The state space of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpaceSpec {
    /// Generic.
    Generic,
    /// Generic, and ptxas takes variables of every space.
    Any,
    /// Tensor memory: a 32-bit address of its own (PTX ISA §9.7.18.1), in a register.
    Tensor,
    /// This one.
    Fixed(Mod),
    /// The one in that slot of the row; generic when it is left out.
    Slot(u8),
}

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Not known.
    None,
    /// This many.
    Fixed(u32),
    /// The constant in that operand.
    Arg(Arg),
    /// The size of the type in that slot.
    Type(u8),
    /// The size of the type in the first slot times the number in the second.
    Vector(u8, u8),
}
