//! Declarations and the directives of functions: what can lie where, and what goes with what.

use crate::diagnostic::{Diagnostic, Ptxas, Rule, Severity};
use crate::isa::Needs;
use crate::isa::opcode::{is_slip, nearest};
use crate::isa::table::{DIRECTIVES, Version};
use crate::program::Program;
use crate::program::variable::constant;
use crate::source::Span;
use crate::syntax::ast::{
    Const, Declarator, Directive, DirectiveArgument, Function, Initializer, Item, StatementKind, Variable,
};
use crate::types::{Linkage, Space, Type, TypeClass};

use super::names::BAD_INITIALIZER;
use super::{gate, words};

/// The rules of this file.
pub const RULES: &[&Rule] = &[&BAD_DECLARATION, &BAD_DIRECTIVE];

static BAD_DECLARATION: Rule = Rule {
    name: "bad-declaration",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a variable, register or parameter that cannot be declared like this",
    page: include_str!("bad-declaration.md"),
};

static BAD_DIRECTIVE: Rule = Rule {
    name: "bad-directive",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a function's directive that is unknown, misplaced or contradicts another",
    page: include_str!("bad-directive.md"),
};

/// Where a declaration stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Module,
    Body,
    EntryParameter,
    Parameter { last: bool },
}

/// Runs the rules.
pub fn check(program: &Program, out: &mut Vec<Diagnostic>) {
    for item in &program.module.items {
        match item {
            Item::Variable(variable) => declaration(program, variable, Place::Module, out),
            Item::Function(function) => self::function(program, function, out),
            _ => {}
        }
    }
}

fn function(program: &Program, function: &Function, out: &mut Vec<Diagnostic>) {
    let count = function.parameters.len();
    for (index, parameter) in function.parameters.iter().enumerate() {
        let place = match function.is_entry {
            true => Place::EntryParameter,
            false => Place::Parameter { last: index + 1 == count },
        };
        declaration(program, parameter, place, out);
    }
    if let [_, second, ..] = function.returns.as_slice()
        && function.returns.iter().any(|r| r.space == Space::Param)
    {
        let message = "several return parameters must lie in `.reg`";
        out.push(
            Diagnostic::new(&BAD_DECLARATION, second.span, message)
                .label("a second return parameter in `.param`")
                .help("return one `.param` array, or declare all of them `.reg`"),
        );
    }
    directives(program, function, out);
    for statement in function.body.iter().flat_map(|body| &body.statements) {
        match &statement.kind {
            StatementKind::Variable(variable) => declaration(program, variable, Place::Body, out),
            StatementKind::Prototype(prototype) => {
                for directive in &prototype.directives {
                    single_directive(program, false, directive, out);
                }
            }
            _ => {}
        }
    }
}

fn declaration(program: &Program, variable: &Variable, place: Place, out: &mut Vec<Diagnostic>) {
    let mut report = |span: Span, message: String, label: &str, help: &str| {
        let mut diagnostic = Diagnostic::new(&BAD_DECLARATION, span, message).label(label);
        if !help.is_empty() {
            diagnostic = diagnostic.help(help);
        }
        out.push(diagnostic);
    };
    if let Some((message, help)) = misplaced(variable, place) {
        report(variable.space_span, message, "not possible here", help);
        return;
    }
    if let Some(align) = variable.align
        && !constant(align).is_some_and(u32::is_power_of_two)
    {
        let text = program.module.text(align.span);
        let message = format!("`.align {text}`: an alignment is a power of two");
        report(align.span, message, "not a power of two", "write 1, 2, 4, 8, 16, …");
    }
    if variable.ty == Type::Pred && variable.space != Space::Reg {
        let message = format!("a predicate cannot lie in `{}`", variable.space);
        report(
            variable.type_span,
            message,
            "only in `.reg`",
            "store it as an integer (`selp.u32 r, 1, 0, p;`)",
        );
    }
    if matches!(variable.ty, Type::Bf16 | Type::Bf16x2) {
        let carrier = if variable.ty == Type::Bf16 { ".b16" } else { ".b32" };
        let message = format!("nothing can be declared `{}`", variable.ty);
        report(
            variable.type_span,
            message,
            "only instructions have this type",
            &format!("declare it `{carrier}`"),
        );
    }
    let bits = variable.ty.bits() * u32::from(variable.vector.max(1));
    if variable.vector > 1 && bits > 128 {
        let message = format!("a vector of {} `{}` has {bits} bits", variable.vector, variable.ty);
        report(variable.type_span, message, "at most 128 bits", "use a smaller vector, or an array");
    }
    if variable.ty == Type::B128 && variable.space == Space::Reg {
        const B128_REGISTERS: Version = Version::new(8, 3);
        if let Some(version) = program.header.version.filter(|version| *version < B128_REGISTERS) {
            let message = format!("`.b128` registers need PTX {B128_REGISTERS} (this file: {version})");
            report(variable.type_span, message, "not available here", "");
        }
    }
    for declarator in &variable.declarators {
        self::declarator(program, variable, declarator, place, out);
    }
}

/// A state space that cannot be declared at this place.
fn misplaced(variable: &Variable, place: Place) -> Option<(String, &'static str)> {
    let space = variable.space;
    let opaque = variable.ty.class() == TypeClass::Opaque;
    match (space, place) {
        (Space::Reg | Space::Local, Place::Module) => Some((
            format!("`{space}` variables belong into a function"),
            "declare it inside the function that uses it",
        )),
        (Space::Param, Place::Module) => {
            Some(("parameters belong to a function".into(), "declare it in the function's header"))
        }
        (Space::Tex, _) => Some(("`.tex` was dropped with PTX 1.5".into(), "declare a `.global .texref`")),
        (Space::Reg, Place::EntryParameter) => {
            Some(("a kernel's parameters lie in `.param`".into(), "write `.param`"))
        }
        (Space::Reg, _) if opaque => Some((
            format!("`{}` variables are declared at module level or as kernel parameters", variable.ty),
            "declare it `.global`, or pass it as a parameter",
        )),
        _ if space != Space::Global && variable.linkage.is_some_and(|(l, _)| l == Linkage::Common) => {
            Some(("`.common` variables lie in `.global`".into(), "write `.global`, or leave `.common` out"))
        }
        _ => None,
    }
}

fn declarator(
    program: &Program,
    variable: &Variable,
    declarator: &Declarator,
    place: Place,
    out: &mut Vec<Diagnostic>,
) {
    let name = program.module.name(declarator.name.symbol);
    let span = declarator.name.span;
    if variable.space == Space::Reg && !declarator.dimensions.is_empty() {
        let message = format!("`{name}` is an array, but registers cannot be indexed");
        out.push(
            Diagnostic::new(&BAD_DECLARATION, span, message)
                .help(format!("declare single registers with `{name}<N>`, or use `.local` memory")),
        );
        return;
    }
    if let Some(dimension) = declarator.dimensions.iter().flatten().find(|d| constant(**d).is_none()) {
        let text = program.module.text(dimension.span);
        out.push(
            Diagnostic::new(&BAD_DECLARATION, dimension.span, format!("`{text}` is no size for `{name}`"))
                .label("a whole number of elements is wanted"),
        );
        return;
    }
    let external = variable.linkage.is_some_and(|(linkage, _)| linkage == Linkage::Extern);
    let unsized_at = declarator.dimensions.iter().position(|d| d.is_none_or(|d| constant(d) == Some(0)));
    if let Some(index) = unsized_at {
        let zero = declarator.dimensions[index].is_some();
        let allowed = match place {
            Place::Parameter { last } => last,
            Place::EntryParameter => false,
            Place::Module | Place::Body => external || declarator.initializer.is_some(),
        };
        if zero || !allowed {
            let message = format!("the size of `{name}` is not known");
            out.push(
                Diagnostic::new(&BAD_DECLARATION, span, message)
                    .label(if zero { "an array of no elements" } else { "`[]` without a size" })
                    .note("only `.extern` arrays, initialised ones and a function's last parameter may leave the size out")
                    .help(match variable.space {
                        Space::Shared => "for dynamic shared memory write `.extern .shared` at module level",
                        _ => "give the number of elements",
                    }),
            );
        }
    }
    if let Some(initializer) = &declarator.initializer {
        self::initializer(variable, declarator, initializer, name, out);
    }
}

fn initializer(
    variable: &Variable,
    declarator: &Declarator,
    initializer: &Initializer,
    name: &str,
    out: &mut Vec<Diagnostic>,
) {
    let dimensions: Vec<Option<u32>> =
        declarator.dimensions.iter().map(|dimension| dimension.and_then(constant)).collect();
    // A vector takes a list of its elements, too.
    let mut levels: Vec<Option<u32>> = dimensions;
    if variable.vector > 1 {
        levels.push(Some(variable.vector.into()));
    }
    let mut pending = vec![(initializer, 0usize)];
    while let Some((initializer, level)) = pending.pop() {
        let expects_list = level < levels.len();
        match initializer {
            Initializer::List(span, parts) => {
                if !expects_list {
                    let message = format!("`{name}` is a single value, not a list");
                    out.push(
                        Diagnostic::new(&BAD_INITIALIZER, *span, message)
                            .help("write the value without braces"),
                    );
                    return;
                }
                if let Some(size) = levels[level].filter(|&size| parts.len() > size as usize) {
                    let message =
                        format!("`{name}` has {size} elements here, the initialiser {}", parts.len());
                    out.push(
                        Diagnostic::new(&BAD_INITIALIZER, *span, message)
                            .label("too many")
                            .also(declarator.name.span, "declared here"),
                    );
                    return;
                }
                pending.extend(parts.iter().rev().map(|part| (part, level + 1)));
            }
            Initializer::Const(value) if level == 0 && !levels.is_empty() => {
                let message = format!("`{name}` is an array: its initialiser is a list in braces");
                out.push(Diagnostic::new(&BAD_INITIALIZER, value.span, message).help("write `{ … }`"));
                return;
            }
            Initializer::Const(value) => scalar(variable.ty, *value, name, out),
            Initializer::Address { .. } => {}
        }
    }
}

/// Integers initialise integers, floating-point numbers initialise floating-point variables.
fn scalar(ty: Type, value: Const, name: &str, out: &mut Vec<Diagnostic>) {
    let is_int = value.value.int().is_some();
    let message = match ty.class() {
        TypeClass::Float if is_int => format!("`{name}` is `{ty}`, its initialiser an integer"),
        TypeClass::Integer if !is_int => {
            format!("`{name}` is `{ty}`, its initialiser a floating-point number")
        }
        _ => return,
    };
    let help = if is_int { "write it with a decimal point, e.g. `1.0`" } else { "write an integer" };
    out.push(Diagnostic::new(&BAD_INITIALIZER, value.span, message).help(help));
}

fn directives(program: &Program, function: &Function, out: &mut Vec<Diagnostic>) {
    let name = |directive: &Directive| program.module.name(directive.name.symbol);
    let find = |wanted: &str| function.directives.iter().find(|directive| name(directive) == wanted);
    for directive in &function.directives {
        single_directive(program, function.is_entry, directive, out);
    }
    for (first, second) in [(".maxntid", ".reqntid"), (".maxclusterrank", ".reqnctapercluster")] {
        if let (Some(a), Some(b)) = (find(first), find(second)) {
            let message = format!("`{first}` and `{second}` contradict each other");
            out.push(
                Diagnostic::new(&BAD_DIRECTIVE, a.span.max(b.span), message)
                    .also(a.span.min(b.span), "the other one")
                    .help("keep one of them"),
            );
        }
    }
    if let Some(directive) = find(".blocksareclusters")
        && (find(".reqntid").is_none() || find(".reqnctapercluster").is_none())
    {
        let message = "`.blocksareclusters` needs `.reqntid` and `.reqnctapercluster`";
        out.push(Diagnostic::new(&BAD_DIRECTIVE, directive.span, message).help("add the missing one"));
    }
}

fn single_directive(program: &Program, is_entry: bool, directive: &Directive, out: &mut Vec<Diagnostic>) {
    let word = program.module.name(directive.name.symbol);
    let span = directive.name.span;
    let Some(spec) = DIRECTIVES.iter().find(|spec| spec.name == word) else {
        // Debug locations may stand anywhere.
        if word.starts_with(".loc") {
            return;
        }
        let mut diagnostic =
            Diagnostic::new(&BAD_DIRECTIVE, span, format!("`{word}` is no directive of a function"));
        if let Some(near) = nearest(word, DIRECTIVES.iter().map(|spec| spec.name)) {
            let usable = DIRECTIVES.iter().any(|spec| {
                let fits = if is_entry { spec.entry } else { spec.func };
                spec.name == near && fits && program.meets(Needs::NONE.and(spec.gate))
            });
            let certain = usable && is_slip(word, near, DIRECTIVES.iter().map(|spec| spec.name));
            let title = format!("did you mean `{near}`?");
            diagnostic = diagnostic.fix(words::safe_if(certain), title, span, near);
        }
        out.push(diagnostic);
        return;
    };
    let fits = if is_entry { spec.entry } else { spec.func };
    if !fits {
        let (has, not) = if is_entry { ("a `.func`", "an `.entry`") } else { ("an `.entry`", "a `.func`") };
        let message = format!("`{word}` belongs to {has}, not to {not}");
        out.push(Diagnostic::new(&BAD_DIRECTIVE, span, message).help(format!("remove `{word}`")));
        return;
    }
    let needs = Needs::NONE.and(spec.gate);
    if !program.meets(needs) {
        out.push(gate::beyond_word(program, word, span, needs));
    }
    let zero = directive.arguments.iter().find_map(|argument| match argument {
        DirectiveArgument::Const(value) if value.value.int() == Some(0) => Some(value.span),
        _ => None,
    });
    if let Some(zero) = zero.filter(|_| matches!(word, ".maxntid" | ".reqntid")) {
        let message = format!("`{word}` counts threads: each number is at least 1");
        out.push(Diagnostic::new(&BAD_DIRECTIVE, zero, message).label("must not be 0"));
    }
}
