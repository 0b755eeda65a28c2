//! `.version`, `.target` and `.address_size`: present, in order, known, and fitting each other and
//! the toolkit.

use super::{Settings, gate, text};
use crate::diagnostic::{Applicability, Diagnostic, Ptxas, Rule, Severity};
use crate::isa::opcode::nearest;
use crate::isa::table::{TARGETS, VERSIONS};
use crate::isa::target::Toolkit;
use crate::isa::{TargetId, Version};
use crate::needs;
use crate::program::Program;
use crate::source::Span;
use crate::syntax::ast::{Item, TargetDirective, VersionDirective};

/// The rules of this file.
pub const RULES: &[&Rule] = &[
    &HEADER_ORDER,
    &UNKNOWN_VERSION,
    &UNKNOWN_TARGET,
    &TARGET_BEYOND_VERSION,
    &TOOLKIT_TOO_OLD,
    &ADDRESS_SIZE,
];

static HEADER_ORDER: Rule = Rule {
    name: "header-order",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "`.version`, `.target` and `.address_size` missing, repeated or out of order",
    page: include_str!("header-order.md"),
};

static UNKNOWN_VERSION: Rule = Rule {
    name: "unknown-version",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a `.version` that is no PTX ISA version",
    page: include_str!("unknown-version.md"),
};

static UNKNOWN_TARGET: Rule = Rule {
    name: "unknown-target",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a `.target` that does not exist",
    page: include_str!("unknown-target.md"),
};

static TARGET_BEYOND_VERSION: Rule = Rule {
    name: "target-beyond-version",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "a `.target` that the file's PTX version does not know yet",
    page: include_str!("target-beyond-version.md"),
};

static TOOLKIT_TOO_OLD: Rule = Rule {
    name: "toolkit-too-old",
    severity: Severity::Error,
    ptxas: Ptxas::Accepts,
    summary: "a `.version` that the toolkit named with `--cuda` does not take",
    page: include_str!("toolkit-too-old.md"),
};

static ADDRESS_SIZE: Rule = Rule {
    name: "address-size",
    severity: Severity::Error,
    ptxas: Ptxas::Rejects,
    summary: "an `.address_size` other than 32 or 64",
    page: include_str!("address-size.md"),
};

/// Runs the rules.
pub fn check(program: &Program, settings: &Settings, out: &mut Vec<Diagnostic>) {
    order(program, out);
    for item in &program.module.items {
        match item {
            Item::Version(directive) => version(program, settings, directive, out),
            Item::Target(directive) => target(program, settings, directive, out),
            Item::AddressSize(directive) => {
                let size = directive.size.value.int();
                if !matches!(size, Some(32 | 64)) {
                    let found = program.module.text(directive.size.span);
                    let message = format!("`.address_size {found}`: addresses have 32 or 64 bits");
                    out.push(
                        Diagnostic::new(&ADDRESS_SIZE, directive.size.span, message)
                            .label("neither 32 nor 64")
                            .help("write `.address_size 64`"),
                    );
                }
            }
            _ => {}
        }
    }
}

/// Which directives of the header have come.
#[derive(Default)]
struct Seen {
    version: bool,
    target: bool,
    address_size: bool,
}

impl Seen {
    /// The directive that must stand before `item` and does not.
    fn missing_before(&self, item: &Item) -> Option<&'static str> {
        match item {
            Item::Version(_) | Item::Error(_) => None,
            _ if !self.version => Some(".version"),
            Item::Target(_) => None,
            _ if !self.target => Some(".target"),
            _ => None,
        }
    }

    /// Takes note of `item`; complains of a second `.version` or `.address_size`.
    fn note(&mut self, item: &Item, out: &mut Vec<Diagnostic>) {
        match item {
            Item::Version(directive) if self.version => repeated(directive.span, ".version", out),
            Item::Version(_) => self.version = true,
            Item::Target(_) => self.target = true,
            Item::AddressSize(directive) if self.address_size => {
                repeated(directive.span, ".address_size", out);
            }
            Item::AddressSize(_) => self.address_size = true,
            _ => {}
        }
    }
}

/// The order `.version`, `.target`, `.address_size`, each once (several `.target` are taken).
fn order(program: &Program, out: &mut Vec<Diagnostic>) {
    let module = &program.module;
    if module.items.is_empty() {
        let message = "the file holds no PTX: it must begin with `.version`";
        let help = format!("write `.version {}` first", Version::newest());
        out.push(Diagnostic::new(&HEADER_ORDER, Span::empty(0), message).label("nothing here").help(help));
        return;
    }
    let mut seen = Seen::default();
    for item in &module.items {
        // What could not be read may have been the version.
        if matches!(item, Item::Error(_)) && !seen.version {
            return;
        }
        if let Some(what) = seen.missing_before(item) {
            out.push(missing(program, item, what));
            return;
        }
        seen.note(item, out);
    }
    if seen.version && !seen.target {
        let end = module.source.text().trim_end().len() as u32;
        out.push(
            Diagnostic::new(&HEADER_ORDER, Span::empty(end), "the file has no `.target`")
                .label("the file ends here")
                .help(TARGET_HELP),
        );
    }
}

const TARGET_HELP: &str = "write `.target sm_90` (or another target) after `.version`";

/// `what` should stand before `item`.
fn missing(program: &Program, item: &Item, what: &str) -> Diagnostic {
    let comes_later = || program.module.items.iter().any(|item| matches!(item, Item::Version(_)));
    let (message, help) = match what {
        ".target" => ("`.target` must follow `.version`", TARGET_HELP.to_string()),
        _ if comes_later() => (
            "a PTX file begins with `.version`",
            "move the `.version` line to the start of the file".to_string(),
        ),
        _ => ("a PTX file begins with `.version`", format!("write `.version {}` first", Version::newest())),
    };
    let start = item_span(item).start;
    Diagnostic::new(&HEADER_ORDER, Span::new(start, start.saturating_add(1)), message)
        .label(format!("`{what}` is missing before this"))
        .help(help)
}

fn repeated(span: Span, what: &str, out: &mut Vec<Diagnostic>) {
    out.push(
        Diagnostic::new(&HEADER_ORDER, span, format!("a second `{what}`")).label("the first one counts").fix(
            Applicability::Safe,
            format!("remove the second `{what}`"),
            span,
            "",
        ),
    );
}

fn item_span(item: &Item) -> Span {
    match item {
        Item::Version(directive) => directive.span,
        Item::Target(directive) => directive.span,
        Item::AddressSize(directive) => directive.span,
        Item::Variable(variable) => variable.span,
        Item::Function(function) => function.span,
        Item::Directive(directive) => directive.span,
        Item::Section(section) => section.span,
        Item::Error(span) => *span,
    }
}

fn version(program: &Program, settings: &Settings, directive: &VersionDirective, out: &mut Vec<Diagnostic>) {
    // Without a number a syntax error says so.
    let Some((major, minor)) = directive.version else { return };
    let given = || Some(Version::new(major.try_into().ok()?, minor.try_into().ok()?));
    match given().filter(|version| version.exists()) {
        None => out.push(unknown_version(program, directive.number)),
        Some(given) => {
            let effective = settings.options.version.unwrap_or(given);
            let toolkit = settings.toolkit.filter(|toolkit| toolkit.ptx < effective);
            out.extend(toolkit.map(|toolkit| toolkit_too_old(program, directive.number, effective, toolkit)));
        }
    }
}

fn unknown_version(program: &Program, span: Span) -> Diagnostic {
    let spelled = program.module.text(span);
    let diagnostic = Diagnostic::new(&UNKNOWN_VERSION, span, format!("there is no PTX version {spelled}"))
        .label("not a PTX version")
        .note(format!("the newest one is {}", Version::newest()));
    match (Toolkit::from_name(spelled), version_below(spelled)) {
        (Some(Toolkit { name, ptx }), _) => {
            diagnostic.help(format!("CUDA {name} takes PTX up to {ptx}: write `.version {ptx}` or older"))
        }
        (None, Some(below)) => {
            diagnostic.help(format!("the nearest one below is {below}: write `.version {below}`"))
        }
        (None, None) => diagnostic,
    }
}

fn toolkit_too_old(program: &Program, span: Span, version: Version, toolkit: Toolkit) -> Diagnostic {
    let needed = Toolkit::first_with(version).map_or("a later one", |t| t.name);
    let message = format!(
        "`.version {version}` needs CUDA {needed} or newer; CUDA {} takes PTX up to {}",
        toolkit.name, toolkit.ptx
    );
    let needs = needs::of_all(program);
    let diagnostic = Diagnostic::new(&TOOLKIT_TOO_OLD, span, message)
        .label(format!("needs CUDA {needed}"))
        .note(gate::describe_requirements(needs));
    let least = needs.version.max(program.header.target.map_or(Version::NONE, TargetId::since));
    if least > toolkit.ptx {
        return diagnostic;
    }
    diagnostic.fix(Applicability::Safe, format!("write `.version {least}`"), span, least.to_string())
}

/// The newest version that is older than `spelled`.
fn version_below(spelled: &str) -> Option<Version> {
    let given = Version::from_text(spelled)?;
    VERSIONS.iter().copied().filter(|version| *version < given).max()
}

/// The target that was probably meant by an unknown name, or an option of `.target`.
fn target_meant(spelled: &str) -> Option<&'static str> {
    let number = |name: &str| name.strip_prefix("sm_")?.trim_end_matches(['a', 'f']).parse::<u32>().ok();
    match number(spelled) {
        Some(given) => {
            let plain = TARGETS.iter().filter(|target| target.name.ends_with(|c: char| c.is_ascii_digit()));
            plain
                .filter(|target| number(target.name) <= Some(given))
                .max_by_key(|target| number(target.name))
                .map(|t| t.name)
        }
        None => nearest(spelled, TARGETS.iter().map(|t| t.name).chain(OPTIONS.iter().copied())),
    }
}

/// Words of `.target` that are no targets.
const OPTIONS: &[&str] = &["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];

fn target(program: &Program, settings: &Settings, directive: &TargetDirective, out: &mut Vec<Diagnostic>) {
    for word in &directive.words {
        let spelled = program.module.name(word.symbol);
        let Some(target) = TargetId::from_name(spelled) else {
            if OPTIONS.contains(&spelled) {
                option(program, word.span, spelled, out);
                continue;
            }
            let mut diagnostic =
                Diagnostic::new(&UNKNOWN_TARGET, word.span, format!("there is no target `{spelled}`"))
                    .label("not a target");
            if let Some(near) = target_meant(spelled) {
                let title = format!("write `{near}`");
                diagnostic = diagnostic.fix(Applicability::Unsafe, title, word.span, near);
            }
            out.push(diagnostic);
            continue;
        };
        let target = settings.options.target.unwrap_or(target);
        let Some(version) = program.header.version.filter(|v| v.exists() && *v < target.since()) else {
            continue;
        };
        let message =
            format!("target `{}` needs PTX {} (this file: {version})", target.name(), target.since());
        let mut diagnostic = Diagnostic::new(&TARGET_BEYOND_VERSION, word.span, message)
            .label(format!("not known to PTX {version}"));
        // Worth knowing where an older target would do.
        let needs = needs::of_all(program);
        if needs.version <= version {
            diagnostic = diagnostic.note(gate::describe_requirements(needs));
        }
        if let Some(span) = program.header.version_span {
            diagnostic = diagnostic.also(span, "the version");
            let title = format!("write `.version {}`", target.since());
            diagnostic = diagnostic.fix(Applicability::Safe, title, span, target.since().to_string());
        }
        out.push(diagnostic);
    }
}

/// Options that are refused on every target that is still supported, or without what they need.
fn option(program: &Program, span: Span, word: &str, out: &mut Vec<Diagnostic>) {
    let has_debug_data = program.module.items.iter().any(|item| matches!(item, Item::Section(_)));
    let needs = match word {
        "map_f64_to_f32"
            if program.header.target.is_some_and(|t| t >= TargetId::from_name("sm_13").unwrap_or(t)) =>
        {
            "`map_f64_to_f32` is only for targets below sm_13"
        }
        "debug" if !has_debug_data => "`.target debug` needs debug information: a `.section .debug_…`",
        _ => return,
    };
    let others = text::one_of(&["texmode_unified", "texmode_independent"]);
    out.push(
        Diagnostic::new(&UNKNOWN_TARGET, span, needs)
            .label("not possible here")
            .help(format!("leave it out (of the options, {others} may stay)")),
    );
}
