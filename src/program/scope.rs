//! Which declaration a name means at a place.
//!
//! As in ptxas the declaration nearest before the use counts, and a group `name<N>` declares all of
//! its members.

use rustc_hash::FxHashMap;

use super::{RegisterId, VariableId};
use crate::source::Span;
use crate::syntax::ast::{Declarator, Variable as Declaration};
use crate::syntax::names::{Names, Symbol};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binding {
    /// A register.
    Register(RegisterId),
    /// A variable.
    Variable(VariableId),
    /// A function: its item.
    Function(u32),
}

/// `name<N>`, from which names are made when they are first used.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// The declaration.
    pub declaration: &'a Declaration,
    /// Its part with the base name.
    pub declarator: &'a Declarator,
    /// How many names.
    pub count: u32,
    depth: u32,
    serial: u32,
    /// The group of the same base name that this one hides.
    outer: Option<u32>,
}

/// What [`Scopes::find`] finds.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A declared name, or a member of a group that is made already.
    Bound(Binding),
    /// A member of that group (an index into [`Scopes::groups`]) that is not made yet.
    Member(Member),
}

/// A member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Index into [`Scopes::groups`].
    pub group: u32,
    /// The number that follows the base name.
    pub number: u32,
}

#[derive(Clone, Copy)]
struct Entry {
    binding: Binding,
    depth: u32,
    serial: u32,
    span: Span,
}

/// What is known of a name as a member of a group, while the groups in force stay the same.
#[derive(Clone, Copy, Default)]
struct Cached {
    epoch: u32,
    member: Option<Member>,
    made: Option<Binding>,
}

#[derive(Clone, Copy, Default)]
enum Split {
    #[default]
    Unknown,
    None,
    At(Symbol, u32),
}

enum Undo {
    Name(Symbol, Option<Entry>),
    Group(Symbol, Option<u32>),
}

/// The names in force, as a table over all symbols with a log of what to undo at the end of a scope.
#[derive(Default)]
pub struct Scopes<'a> {
    /// All groups of the module, in the order of the file.
    pub groups: Vec<Group<'a>>,
    table: Vec<Option<Entry>>,
    /// Base names of groups are a name space of their own: `v<4>` and `v` may stand side by side.
    bases: Vec<Option<u32>>,
    made: FxHashMap<Member, Binding>,
    cached: Vec<Cached>,
    /// Each name split behind its shortest prefix that is a name; whatever is declared, it stays so.
    splits: Vec<Split>,
    /// Another number whenever the groups in force change.
    epoch: u32,
    serial: u32,
    log: Vec<Undo>,
    marks: Vec<usize>,
}

impl<'a> Scopes<'a> {
    /// No names, for a module with `symbols` identifiers.
    pub fn new(symbols: usize) -> Self {
        Scopes {
            table: vec![None; symbols],
            bases: vec![None; symbols],
            cached: vec![Cached::default(); symbols],
            splits: vec![Split::default(); symbols],
            epoch: 1,
            ..Scopes::default()
        }
    }

    /// Opens a scope.
    pub fn open(&mut self) {
        self.marks.push(self.log.len());
    }

    /// Closes the innermost scope.
    pub fn close(&mut self) {
        let mark = self.marks.pop().unwrap_or(0);
        for undo in self.log.drain(mark..).rev() {
            match undo {
                Undo::Name(symbol, before) => self.table[symbol.index()] = before,
                Undo::Group(symbol, before) => {
                    self.bases[symbol.index()] = before;
                    self.epoch += 1;
                }
            }
        }
    }

    /// Nesting depth; 0 is the module.
    fn depth(&self) -> u32 {
        self.marks.len() as u32
    }

    /// Binds `symbol` in the innermost scope; where it is declared already if it is, in this scope.
    pub fn bind(&mut self, names: &Names, symbol: Symbol, binding: Binding, span: Span) -> Option<Span> {
        let depth = self.depth();
        let member = self.member(names, symbol).map(|member| self.groups[member.group as usize]);
        let group = member.filter(|group| group.depth == depth).map(|group| group.declarator.name.span);
        self.serial += 1;
        let entry = Entry { binding, depth, serial: self.serial, span };
        let before = self.table[symbol.index()].replace(entry);
        self.log.push(Undo::Name(symbol, before));
        before.filter(|entry| entry.depth == depth).map(|entry| entry.span).or(group)
    }

    /// Binds the base name of a group of `count` names, likewise.
    pub fn bind_group(
        &mut self,
        declaration: &'a Declaration,
        declarator: &'a Declarator,
        count: u32,
    ) -> Option<Span> {
        let (depth, symbol) = (self.depth(), declarator.name.symbol);
        self.serial += 1;
        self.epoch += 1;
        let outer = self.bases[symbol.index()].replace(self.groups.len() as u32);
        self.groups.push(Group { declaration, declarator, count, depth, serial: self.serial, outer });
        self.log.push(Undo::Group(symbol, outer));
        let outer = self.groups[outer? as usize];
        (outer.depth == depth).then_some(outer.declarator.name.span)
    }

    /// What `symbol` itself is bound to, groups aside.
    pub fn bound(&self, symbol: Symbol) -> Option<Binding> {
        self.table[symbol.index()].map(|entry| entry.binding)
    }

    /// What `symbol` means here.
    pub fn find(&mut self, names: &Names, symbol: Symbol) -> Option<Found> {
        let entry = self.table[symbol.index()];
        let Some(member) = self.member(names, symbol) else {
            return entry.map(|entry| Found::Bound(entry.binding));
        };
        match (entry, self.cached[symbol.index()].made) {
            (Some(entry), _) if entry.serial > self.groups[member.group as usize].serial => {
                Some(Found::Bound(entry.binding))
            }
            (_, Some(made)) => Some(Found::Bound(made)),
            (_, None) => Some(Found::Member(member)),
        }
    }

    /// Remembers what was made for a member that [`Scopes::find`] gave.
    pub fn make(&mut self, symbol: Symbol, member: Member, binding: Binding) {
        self.made.insert(member, binding);
        self.cached[symbol.index()].made = Some(binding);
    }

    /// The group that `symbol` would be a member of if the group were larger.
    pub fn too_small(&mut self, names: &Names, symbol: Symbol) -> Option<&Group<'a>> {
        let (group, _) = self.group_of(names, symbol)?;
        Some(&self.groups[group as usize])
    }

    /// The member of a group in force that `symbol` names.
    fn member(&mut self, names: &Names, symbol: Symbol) -> Option<Member> {
        let cached = self.cached[symbol.index()];
        if cached.epoch == self.epoch {
            return cached.member;
        }
        let member = self.search_member(names, symbol);
        let made = member.and_then(|member| self.made.get(&member).copied());
        self.cached[symbol.index()] = Cached { epoch: self.epoch, member, made };
        member
    }

    fn search_member(&mut self, names: &Names, symbol: Symbol) -> Option<Member> {
        let (mut group, number) = self.group_of(names, symbol)?;
        // An inner group that ends too early leaves the rest to an outer one.
        while number >= self.groups[group as usize].count {
            group = self.groups[group as usize].outer?;
        }
        Some(Member { group, number })
    }

    /// The group with the shortest base name that fits, however many members it has, and the number.
    fn group_of(&mut self, names: &Names, symbol: Symbol) -> Option<(u32, u32)> {
        if let Split::Unknown = self.splits[symbol.index()] {
            let first = splits(names, symbol).next();
            self.splits[symbol.index()] = first.map_or(Split::None, |(base, number)| Split::At(base, number));
        }
        let Split::At(base, number) = self.splits[symbol.index()] else { return None };
        if let Some(group) = self.bases[base.index()] {
            return Some((group, number));
        }
        splits(names, symbol).find_map(|(base, number)| Some((self.bases[base.index()]?, number)))
    }
}

/// The ways to split a name into another one and a number, from the shortest: `r1<4>` makes r10 … r13,
/// so that the digits may belong to the base as well.
fn splits(names: &Names, symbol: Symbol) -> impl Iterator<Item = (Symbol, u32)> {
    let text = names.text(symbol);
    let base = text.trim_end_matches(|c: char| c.is_ascii_digit());
    (base.len()..text.len()).filter_map(move |split| {
        let number = &text[split..];
        let is_number = number.len() == 1 || !number.starts_with('0');
        let base = names.get(&text[..split]).filter(|_| is_number)?;
        Some((base, number.parse().ok()?))
    })
}
