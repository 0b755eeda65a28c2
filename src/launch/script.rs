//! The directives of a file and the flags, read but not yet held against a kernel.

use super::Overrides;
use super::overrides::Flag;
use super::part::{Fault, Part, Place, Refusal, Result};
use super::rules::{BAD_ARGUMENT, BAD_LAUNCH, BAD_VALUE};
use super::tensor::{self, TensorMapSpec};
use super::value::{self, Given, integer};
use crate::program::Program;
use crate::program::comment::{Comment, DIRECTIVES};
use crate::types::TypeClass;

/// A value and where it was given.
pub(super) type Setting<T> = Option<(T, Place)>;

/// `launch …`, or the flags of the same names.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Start<'a> {
    pub kernel: Option<Part<'a>>,
    pub grid: Setting<[u32; 3]>,
    pub block: Setting<[u32; 3]>,
    pub cluster: Setting<[u32; 3]>,
    pub smem: Setting<u32>,
    pub resident: Setting<u32>,
    /// Some of it could not be read, which has been said.
    pub broken: bool,
}

/// What a parameter is given.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Value(Given<'a>),
    Map(TensorMapSpec),
    /// It could not be read, which has been said.
    Broken,
}

/// `arg` or `tensormap`.
#[derive(Debug)]
pub(super) struct Binding<'a> {
    pub name: Part<'a>,
    /// The directive's word up to its end, or the flag's value.
    pub place: Place,
    pub content: Content<'a>,
}

/// `expect` or `expect~`.
#[derive(Debug)]
pub(super) struct Expectation<'a> {
    pub name: Part<'a>,
    pub place: Place,
    /// The right-hand side.
    pub value: Place,
    pub given: Given<'a>,
    pub tolerance: Option<f64>,
}

/// One launch and what belongs to it.
#[derive(Default, Debug)]
pub(super) struct Block<'a> {
    /// The directive's place and settings; none when the file has no `launch`.
    pub start: Option<(Place, Start<'a>)>,
    pub bindings: Vec<Binding<'a>>,
    pub expectations: Vec<Expectation<'a>>,
}

/// The launches of the file, at least one block. With one launch all lines belong to it; with several, each
/// line belongs to the launch above.
pub(super) fn file<'a>(program: &'a Program, refusal: &mut Refusal) -> Vec<Block<'a>> {
    let comments: Vec<Comment> =
        program.module.comments.iter().filter_map(|&place| Comment::at(program, place)).collect();
    let launches = comments.iter().filter(|comment| comment.word == "launch").count();
    let mut blocks = vec![Block::default()];
    for comment in comments {
        let arguments = Part::new(comment.arguments, Place::File(comment.arguments_span));
        let place = Place::File(comment.span.to(comment.arguments_span));
        if comment.word == "launch" {
            let start = Some((place, start(arguments, refusal)));
            match blocks.last_mut() {
                Some(block) if block.start.is_none() => block.start = start,
                _ => blocks.push(Block { start, ..Block::default() }),
            }
            continue;
        }
        let is_loose = launches > 1 && blocks.last().is_some_and(|block| block.start.is_none());
        if is_loose && matches!(comment.word, "arg" | "tensormap" | "expect" | "expect~") {
            refusal.push(loose(comment, place));
        } else if let Some(block) = blocks.last_mut() {
            line(comment, arguments, place, block, refusal);
        }
    }
    blocks
}

fn loose(comment: Comment, place: Place) -> Fault {
    let message = format!("this `{}` stands above the first of several launches", comment.word);
    Fault::new(&BAD_LAUNCH, place, message)
        .note("in a file with several launches, a line belongs to the `launch` above it")
        .help("move it below its `launch` line")
}

fn line<'a>(
    comment: Comment,
    arguments: Part<'a>,
    place: Place,
    block: &mut Block<'a>,
    refusal: &mut Refusal,
) {
    match comment.word {
        "arg" | "tensormap" => {
            let is_map = comment.word == "tensormap";
            block.bindings.extend(binding(arguments, place, is_map, refusal));
        }
        "expect" | "expect~" => {
            let close = comment.word == "expect~";
            block.expectations.extend(refusal.take(expectation(arguments, place, close)));
        }
        word if !DIRECTIVES.contains(&word) => refusal.push(unknown(comment)),
        // `allow` and `flags` speak to other parts of the program.
        _ => {}
    }
}

fn unknown(comment: Comment) -> Fault {
    let word = Part::new(comment.word, Place::File(comment.span));
    Fault::new(&BAD_LAUNCH, word.place, format!("`mbar: {}` is not a directive", comment.word))
        .label("not known")
        .meant(word, DIRECTIVES.iter().copied())
}

/// The flags: their settings and arguments.
pub(super) fn flags<'a>(overrides: &'a Overrides, refusal: &mut Refusal) -> (Start<'a>, Vec<Binding<'a>>) {
    let mut start = Start::default();
    let mut bindings = Vec::new();
    for (flag, value) in overrides.iter() {
        if flag == Flag::Arg {
            let is_map = value.text.contains("data=");
            bindings.extend(binding(value, value.place, is_map, refusal));
        } else if refusal.take(start.set(flag.word(), value)).is_none() {
            start.broken = true;
        }
    }
    (start, bindings)
}

fn start<'a>(arguments: Part<'a>, refusal: &mut Refusal) -> Start<'a> {
    let mut start = Start::default();
    for field in arguments.fields() {
        let set = match field.split_once('=') {
            Some((key, value)) => start.directive_key(key, value),
            None => Err(Fault::new(&BAD_LAUNCH, field.place, format!("{} has no value", field.quoted()))
                .help("write KEY=VALUE without blanks, as in `grid=2 block=32,2,1`")),
        };
        start.broken |= refusal.take(set).is_none();
    }
    start
}

const KEYS: &[&str] = &["kernel", "grid", "block", "cluster", "smem", "resident"];

impl<'a> Start<'a> {
    fn directive_key(&mut self, key: Part<'a>, value: Part<'a>) -> Result<()> {
        if KEYS.contains(&key.text) {
            return self.set(key.text, value);
        }
        let fault = Fault::new(&BAD_LAUNCH, key.place, format!("`launch` has no key {}", key.quoted()));
        Err(fault.meant(key, KEYS.iter().copied()))
    }

    fn set(&mut self, key: &str, value: Part<'a>) -> Result<()> {
        let place = value.place;
        let again = match key {
            "kernel" => self.kernel.replace(value).is_some(),
            "grid" => self.grid.replace((extents(value)?, place)).is_some(),
            "block" => self.block.replace((extents(value)?, place)).is_some(),
            "cluster" => self.cluster.replace((extents(value)?, place)).is_some(),
            "smem" => self.smem.replace((bytes(value)?, place)).is_some(),
            _ => self.resident.replace((resident(value)?, place)).is_some(),
        };
        match again {
            true => Err(Fault::new(&BAD_LAUNCH, place, format!("`{key}` is given twice"))),
            false => Ok(()),
        }
    }

    /// These settings, and those of `other` where there are none.
    pub fn over(self, other: Start<'a>) -> Start<'a> {
        Start {
            kernel: self.kernel.or(other.kernel),
            grid: self.grid.or(other.grid),
            block: self.block.or(other.block),
            cluster: self.cluster.or(other.cluster),
            smem: self.smem.or(other.smem),
            resident: self.resident.or(other.resident),
            broken: self.broken || other.broken,
        }
    }
}

fn number(part: Part) -> Option<u32> {
    integer(part.text).and_then(|n| u32::try_from(n).ok())
}

/// `x`, `x,y` or `x,y,z`, each at least 1.
fn extents(part: Part) -> Result<[u32; 3]> {
    let mut extents = [1; 3];
    for (count, item) in part.split(',').enumerate() {
        let extent = number(item).filter(|n| *n > 0).ok_or_else(|| {
            let message = match item.text.is_empty() {
                true => "an extent is missing".to_string(),
                false => format!("{} is not an extent", item.quoted()),
            };
            Fault::new(&BAD_VALUE, item.place, message)
                .note("extents are whole numbers of at least 1")
                .help("write x or x,y,z without blanks, as in `64` or `32,2,1`")
        })?;
        let Some(slot) = extents.get_mut(count) else {
            let fault = Fault::new(
                &BAD_VALUE,
                part.place,
                format!("{} has more than three dimensions", part.quoted()),
            );
            return Err(fault.help("write x, x,y or x,y,z"));
        };
        *slot = extent;
    }
    Ok(extents)
}

fn bytes(part: Part) -> Result<u32> {
    number(part).ok_or_else(|| {
        Fault::new(&BAD_VALUE, part.place, format!("{} is not a number of bytes", part.quoted()))
            .help("write the bytes of dynamic shared memory as a plain number, as in `smem=1024`")
    })
}

fn resident(part: Part) -> Result<u32> {
    number(part).filter(|n| *n > 0).ok_or_else(|| {
        Fault::new(&BAD_VALUE, part.place, format!("{} is not a number of CTAs", part.quoted()))
            .help("write how many CTAs are resident at once, at least 1; without `resident` all are")
    })
}

/// Cuts `NAME = …`.
fn named<'a>(part: Part<'a>, usage: &str) -> Result<(Part<'a>, Part<'a>)> {
    let cut = part.split_once('=').filter(|(name, _)| !name.text.is_empty());
    let Some((name, value)) = cut else {
        let fault =
            Fault::new(&BAD_ARGUMENT, part.place, "this does not say what is given to which parameter");
        return Err(fault.help(format!("write {usage}")));
    };
    if name.text.contains(char::is_whitespace) {
        let message = format!("{} is not the name of a parameter", name.quoted());
        return Err(Fault::new(&BAD_ARGUMENT, name.place, message).help(format!("write {usage}")));
    }
    Ok((name, value))
}

fn binding<'a>(part: Part<'a>, place: Place, is_map: bool, refusal: &mut Refusal) -> Option<Binding<'a>> {
    let usage = match is_map {
        true => "`tensormap NAME = f16[64,128] box=[64,16] data=BUFFER`",
        false => "`NAME = u32[64] iota`, `NAME = u32 5` or `NAME = @file.bin`",
    };
    let (name, value) = refusal.take(named(part, usage))?;
    let content = match is_map {
        true => tensor::spec(value, place).map(Content::Map),
        false => value::given(value).map(Content::Value),
    };
    let content = refusal.take(content).unwrap_or(Content::Broken);
    Some(Binding { name, place, content })
}

fn expectation(part: Part, place: Place, close: bool) -> Result<Expectation> {
    let usage = match close {
        true => "`expect~ 1e-3 NAME = f32[64] iota`",
        false => "`NAME = u32[64] iota` or `NAME = @file.bin`",
    };
    let (tolerance, rest) = if close { tolerance(part)? } else { (None, part) };
    let (name, value) = named(rest, usage)?;
    let given = value::given(value)?;
    match given {
        Given::Scalar { element, .. } => {
            let element = value::name(element);
            let fault =
                Fault::new(&BAD_ARGUMENT, value.place, "an expectation is about a buffer, this is one value");
            return Err(
                fault.help(format!("write `{element}[1]` and then `fill V` for a buffer of one element"))
            );
        }
        Given::Array { element, .. } if close && element.class() != TypeClass::Float => {
            let message =
                format!("`{}` is no float type: there is nothing to tolerate", value::name(element));
            return Err(Fault::new(&BAD_ARGUMENT, value.place, message).help("write `expect` for equal bits"));
        }
        Given::File(_) if close => {
            let fault =
                Fault::new(&BAD_ARGUMENT, value.place, "a file is compared byte by byte, without tolerance");
            return Err(fault.help("write `expect` for equal bytes"));
        }
        _ => {}
    }
    Ok(Expectation { name, place, value: value.place, given, tolerance })
}

/// The number behind `expect~`, and what follows it.
fn tolerance(part: Part) -> Result<(Option<f64>, Part)> {
    let (word, rest) = part.word(|c| !c.is_whitespace());
    match word.text.parse::<f64>() {
        Ok(epsilon) if epsilon.is_finite() && epsilon >= 0.0 => Ok((Some(epsilon), rest)),
        _ => Err(Fault::new(&BAD_VALUE, word.place, format!("{} is not a tolerance", word.quoted()))
            .note("a value may differ by EPS, or by EPS times the expected one")
            .help("write a number of at least 0 first: `expect~ 1e-3 NAME = f32[64] iota`")),
    }
}
