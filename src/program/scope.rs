//! Which declaration a name means at a place.

use super::{RegisterId, VariableId};
use crate::source::Span;
use crate::syntax::names::{Names, Symbol};
use crate::types::{Space, Type};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binding {
    /// A register.
    Register(RegisterId),
    /// A variable.
    Variable(VariableId),
    /// The base name of `name<N>`: an index into the groups.
    Group(u32),
    /// A function: its item.
    Function(u32),
}

/// `name<N>`, from which names are made when they are first used.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The state space (mostly registers).
    pub space: Space,
    /// The element type.
    pub ty: Type,
    /// Elements of each.
    pub vector: u8,
    /// How many names.
    pub count: u32,
    /// The scope's depth.
    pub depth: u32,
    /// Where it is declared.
    pub span: Span,
}

#[derive(Clone, Copy)]
struct Entry {
    binding: Binding,
    depth: u32,
    span: Span,
}

/// The names in force, as a table over all symbols with a log of what to undo at the end of a scope.
#[derive(Default)]
pub struct Scopes {
    table: Vec<Option<Entry>>,
    /// Base names of groups are a name space of their own: `v<4>` and `v` may stand side by side.
    groups: Vec<Option<Entry>>,
    log: Vec<(Symbol, bool, Option<Entry>)>,
    marks: Vec<usize>,
}

impl Scopes {
    /// No names, for a module with `symbols` identifiers.
    pub fn new(symbols: usize) -> Self {
        Scopes { table: vec![None; symbols], groups: vec![None; symbols], ..Scopes::default() }
    }

    /// Opens a scope.
    pub fn open(&mut self) {
        self.marks.push(self.log.len());
    }

    /// Closes the innermost scope.
    pub fn close(&mut self) {
        let mark = self.marks.pop().unwrap_or(0);
        for (symbol, is_group, before) in self.log.drain(mark..).rev() {
            let table = if is_group { &mut self.groups } else { &mut self.table };
            table[symbol.index()] = before;
        }
    }

    /// Nesting depth; 0 is the module.
    pub fn depth(&self) -> u32 {
        self.marks.len() as u32
    }

    /// Binds `symbol` in the innermost scope; the earlier declaration if there is one in this scope.
    pub fn bind(&mut self, symbol: Symbol, binding: Binding, span: Span) -> Option<Span> {
        let depth = self.depth();
        let is_group = matches!(binding, Binding::Group(_));
        let table = if is_group { &mut self.groups } else { &mut self.table };
        let before = table[symbol.index()].replace(Entry { binding, depth, span });
        self.log.push((symbol, is_group, before));
        before.filter(|entry| entry.depth == depth).map(|entry| entry.span)
    }

    /// Takes away what `symbol` is bound to, for the rest of the innermost scope.
    pub fn hide(&mut self, symbol: Symbol) {
        let before = self.table[symbol.index()].take();
        self.log.push((symbol, false, before));
    }

    /// The group whose base name `symbol` is.
    fn group(&self, symbol: Symbol) -> Option<u32> {
        match self.groups[symbol.index()]?.binding {
            Binding::Group(group) => Some(group),
            _ => None,
        }
    }

    /// What `symbol` is bound to.
    pub fn get(&self, symbol: Symbol) -> Option<Binding> {
        self.table[symbol.index()].map(|entry| entry.binding)
    }

    /// The group that `symbol` is a member of: its index, and the member's number.
    pub fn group_of(&self, names: &Names, symbol: Symbol) -> Option<(u32, u32)> {
        let text = names.text(symbol);
        let base = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &text[base.len()..];
        if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        // `r1<4>` makes r10 … r13: the digits may belong to the base as well.
        for split in base.len()..text.len() {
            let Some(group) = names.get(&text[..split]).and_then(|s| self.group(s)) else {
                continue;
            };
            let number = &text[split..];
            if number.len() == 1 || !number.starts_with('0') {
                return number.parse().ok().map(|number| (group, number));
            }
        }
        None
    }
}
