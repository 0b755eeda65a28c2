//! For which targets a statement is compiled, as far as the conditions around it tell.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use crate::extract::condition::{Expression, Macros};
use crate::extract::{Body, Guard, Host};
use crate::isa::target::number_and_letter;
use crate::isa::{TargetId, TargetSet};

/// Macros that say something about the target, by what they stand for.
pub type Guards = [(String, TargetSet)];

/// For which targets the parts of one text are compiled.
pub struct Targets<'a> {
    each: Vec<ForTarget<'a>>,
}

impl<'a> Targets<'a> {
    /// Whether the text is surely compiled for `target`, as far as conditions tell: none is open but those against
    /// a second reading of the file.
    pub fn is_certain(&self, target: TargetId, guards: &[Guard]) -> bool {
        let Some(macros) = self.each.iter().find(|macros| macros.target == target) else { return false };
        guards.iter().all(|guard| {
            let condition = &macros.host.conditions[guard.condition as usize];
            match condition.holds(macros) {
                Some(holds) => holds == guard.holds,
                None => macros.guards_file(*guard).is_some() || macros.is_neutral(condition, *guard),
            }
        })
    }

    /// For a text.
    pub fn new(host: &'a Host, named: &'a Guards) -> Targets<'a> {
        let one = |target| ForTarget {
            target,
            host,
            named,
            defined: RefCell::default(),
            depth: Cell::new(0),
            follows: Cell::new(true),
        };
        Targets { each: TargetId::all().map(one).collect() }
    }

    /// The targets for which all of `guards`, and the macros that take the statement as an argument, may
    /// hold. A switch of the text itself that excludes them all may be turned by hand: then it does not count.
    pub fn possible(&self, guards: &[Guard], arguments: &[String]) -> TargetSet {
        let found = self.possible_as_it_stands(guards, arguments);
        if found != TargetSet(0) {
            return found;
        }
        self.each.iter().for_each(|macros| macros.follows.set(false));
        let found = self.possible_as_it_stands(guards, arguments);
        self.each.iter().for_each(|macros| macros.follows.set(true));
        found
    }

    fn possible_as_it_stands(&self, guards: &[Guard], arguments: &[String]) -> TargetSet {
        let compiled = |macros: &&ForTarget| {
            guards.iter().all(|guard| macros.may_hold(*guard))
                && arguments.iter().all(|name| macros.argument(name) != Some(false))
        };
        self.each.iter().filter(compiled).map(|macros| macros.target).collect()
    }
}

/// The targets with the lowest number of the set, with every suffix that it has.
pub fn lowest(possible: TargetSet) -> TargetSet {
    let least = possible.iter().map(TargetId::number).min();
    possible.iter().filter(|target| Some(target.number()) == least).collect()
}

/// Macros that are never defined where PTX is made: those of other GPUs.
const ELSEWHERE: &[&str] = &[
    "__HIP__",
    "__HIPCC__",
    "__HIP_PLATFORM_AMD__",
    "__HIP_PLATFORM_HCC__",
    "__HIP_DEVICE_COMPILE__",
    "__HCC__",
    "__AMDGCN__",
    "USE_ROCM",
    "__MUSA__",
    "__MUSACC__",
    "__METAL_VERSION__",
    "__OPENCL_VERSION__",
    "SYCL_LANGUAGE_VERSION",
    "__SYCL_DEVICE_ONLY__",
];

/// Macros that tell of compilers and builds, and of no target.
const NEUTRAL: &[&str] =
    &["__CUDACC_RTC__", "__clang__", "__GNUC__", "_MSC_VER", "_WIN32", "__linux__", "NDEBUG", "DEBUG"];

/// The preprocessor's view while device code for one target is compiled.
struct ForTarget<'a> {
    target: TargetId,
    host: &'a Host,
    named: &'a Guards,
    /// Whether macros of the text are defined, once that has been asked.
    defined: RefCell<FxHashMap<String, Option<bool>>>,
    /// Definitions that are being followed.
    depth: Cell<u32>,
    /// Whether definitions of the text are followed at all.
    follows: Cell<bool>,
}

/// So many definitions are followed from one to the next.
const DEEPEST: u32 = 32;

impl ForTarget<'_> {
    fn may_hold(&self, guard: Guard) -> bool {
        let condition = &self.host.conditions[guard.condition as usize];
        condition.holds(self) != Some(!guard.holds)
    }

    /// Whether an open condition says nothing against the target: it asks for the compiler, or for a macro that
    /// the configuration names for it.
    fn is_neutral(&self, condition: &Expression, guard: Guard) -> bool {
        match condition {
            Expression::Defined(name) | Expression::Name(name) => {
                let named = self.named.iter().find(|(other, _)| other == name);
                NEUTRAL.contains(&name.as_str())
                    || (guard.holds && named.is_some_and(|(_, targets)| targets.contains(self.target)))
            }
            _ => false,
        }
    }

    /// The macro M of `#ifndef M` around a `#define M`: the text is read where it is not yet defined.
    fn guards_file(&self, guard: Guard) -> Option<&str> {
        let condition = &self.host.conditions[guard.condition as usize];
        let (Expression::Defined(name), false) = (condition, guard.holds) else { return None };
        let mut definitions = self.host.macros.get(name)?.iter();
        definitions.any(|definition| definition.guards.contains(&guard)).then_some(name.as_str())
    }

    fn number(&self) -> i64 {
        self.target.number().into()
    }

    fn suffix(&self) -> &'static str {
        self.target.letter()
    }

    /// Whether this is the target that `SM90_ALL` names.
    fn has_feature(&self, feature: &str) -> Option<bool> {
        let number: i64 = feature.strip_prefix("SM")?.strip_suffix("_ALL")?.parse().ok()?;
        Some(self.suffix() == "a" && self.number() == number)
    }

    /// The macros of the compiler: `Some(None)` is one that is not defined.
    fn built_in(&self, name: &str) -> Option<Option<i64>> {
        let arch = self.number() * 10;
        Some(match name {
            "__CUDA_ARCH__" => Some(arch),
            "__CUDA_ARCH_SPECIFIC__" => (self.suffix() == "a").then_some(arch),
            "__CUDA_ARCH_FAMILY_SPECIFIC__" => (!self.suffix().is_empty()).then_some(arch),
            // Pointers have 64 bits wherever CUDA still runs.
            "__CUDACC__" | "__NVCC__" | "__cplusplus" | "__LP64__" | "_LP64" => Some(1),
            _ => {
                if let Some(feature) = name.strip_prefix("__CUDA_ARCH_FEAT_") {
                    return self.has_feature(feature).map(|has| has.then_some(1));
                }
                return ELSEWHERE.contains(&name).then_some(None);
            }
        })
    }

    /// What the configuration says of a macro: it is defined for these targets only. Whether it is, others decide.
    fn named(&self, name: &str) -> Option<bool> {
        let (_, targets) = self.named.iter().find(|(other, _)| other == name)?;
        (!targets.contains(self.target)).then_some(false)
    }

    /// Whether a definition of the text is in force: where all are under conditions that do not hold, the
    /// macro is taken to be undefined.
    fn defined_here(&self, name: &str) -> Option<bool> {
        let definitions = self.host.macros.get(name).filter(|_| self.follows.get())?;
        if let Some(known) = self.defined.borrow().get(name) {
            return *known;
        }
        // A definition under the condition that there is none guards against a second reading of the file.
        let guards_file = |guard: &Guard| self.guards_file(*guard) == Some(name);
        if definitions.iter().flat_map(|definition| &definition.guards).any(guards_file) {
            return None;
        }
        // Whoever asks meanwhile learns nothing.
        self.defined.borrow_mut().insert(name.to_string(), None);
        let mut states = definitions.iter().map(|definition| match definition.body {
            Body::Undefined => None,
            _ => self.all_hold(&definition.guards),
        });
        let found = self.within(|| {
            let first = states.next().flatten();
            states.all(|other| other == first).then_some(first).flatten()
        });
        self.defined.borrow_mut().insert(name.to_string(), found);
        found
    }

    /// Follows definitions, but not too deep.
    fn within<T>(&self, follow: impl FnOnce() -> Option<T>) -> Option<T> {
        if !self.follows.get() || self.depth.get() > DEEPEST {
            return None;
        }
        self.depth.set(self.depth.get() + 1);
        let found = follow();
        self.depth.set(self.depth.get() - 1);
        found
    }

    /// Whether all of the conditions hold.
    fn all_hold(&self, guards: &[Guard]) -> Option<bool> {
        let condition = |guard: &Guard| &self.host.conditions[guard.condition as usize];
        let each = guards.iter().map(|guard| match condition(guard).holds(self) {
            Some(holds) => Some(holds == guard.holds),
            None => self.guards_file(*guard).map(|_| true),
        });
        let mut all = Some(true);
        for one in each {
            all = match (all, one) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        all
    }

    /// The name before the argument that holds the statement, as in CCCL's macros that choose by target.
    fn argument(&self, name: &str) -> Option<bool> {
        if let Some(known) = self.named(name) {
            return Some(known);
        }
        if name == "NV_IS_HOST" {
            return Some(false);
        }
        let (base, rest) = name.split_once("_SM_")?;
        let (number, suffix) = number_and_letter(rest);
        let number = i64::from(number);
        match base {
            "NV_PROVIDES" => Some(self.number() >= number),
            "NV_IS_EXACTLY" => Some(self.number() == number),
            "NV_HAS_FEATURE" => match suffix {
                "a" => Some(self.number() == number && self.suffix() == "a"),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Macros for ForTarget<'_> {
    fn is_defined(&self, name: &str) -> Option<bool> {
        if let Some(known) = self.built_in(name) {
            return Some(known.is_some());
        }
        self.named(name).or_else(|| self.defined_here(name))
    }

    fn value(&self, name: &str) -> Option<i64> {
        if let Some(known) = self.built_in(name) {
            // A name that is not defined counts 0.
            return Some(known.unwrap_or(0));
        }
        if let Some(known) = self.named(name) {
            return Some(known.into());
        }
        self.within(|| {
            let definitions = self.host.macros.get(name)?;
            let mut found = Some(0);
            for definition in definitions {
                match (self.all_hold(&definition.guards)?, &definition.body) {
                    (false, _) => {}
                    (true, Body::Value(value)) => found = value.value(self),
                    (true, _) => return None,
                }
            }
            found
        })
    }

    fn call(&self, name: &str, argument: &str) -> Option<i64> {
        match name {
            "__CUDA_ARCH_HAS_FEATURE__" => self.has_feature(argument).map(i64::from),
            _ => None,
        }
    }
}
