//! Types and values as directives write them: `u32[64] iota*3+1`, `f32 0.5`.

use super::float;
use super::part::{Fault, Part, Place, Result};
use super::random::Random;
use super::rules::BAD_VALUE;
use crate::types::{Type, TypeClass};

/// The element types of arguments, without their dot.
pub(super) const ELEMENTS: &[&str] = &[
    "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64", "b8", "b16", "b32",
    "b64",
];

/// What other languages call them.
const ALIASES: &[(&str, &str)] = &[
    ("i8", "s8"),
    ("i16", "s16"),
    ("i32", "s32"),
    ("i64", "s64"),
    ("int", "s32"),
    ("half", "f16"),
    ("float", "f32"),
    ("double", "f64"),
];

const WAYS: &[&str] = &["iota", "fill", "random"];

/// The values of an array, not yet spread out. Bits stand in the low end of their word.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Values {
    /// Element `i` is `i * .0 + .1`, wrapped to the type.
    Steps(u64, u64),
    /// The same in floating point, computed in double precision and rounded to the type.
    Ramp(f64, f64),
    /// All elements have these bits.
    Fill(u64),
    /// Each element's bits.
    List(Vec<u64>),
    /// Pseudorandom values of that seed.
    Random(u64),
}

/// What a value without a tensor map may be.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Given<'a> {
    /// `@file.bin`: the path.
    File(Part<'a>),
    /// `T[N] …`
    Array { element: Type, count: u64, values: Values },
    /// `T V`: the bits.
    Scalar { element: Type, bits: u64 },
}

/// Reads `@file.bin`, `T[N] VALUES` or `T V`.
pub(super) fn given(part: Part) -> Result<Given> {
    if let Some(path) = part.strip_prefix("@") {
        return file(path).map(Given::File);
    }
    let (word, rest) = part.word(|c| c.is_alphanumeric() || c == '.' || c == '_');
    let element = element(word, part)?;
    if rest.text.starts_with('[') {
        return array(element, rest);
    }
    if rest.text.is_empty() {
        let word = word.text;
        let fault = bad(part.end(), format!("`{word}` is followed by no value"));
        let help = format!("write `{word} 5` for a number, `{word}[64] fill 0` for a buffer of 64 elements");
        return Err(fault.help(help));
    }
    Ok(Given::Scalar { element, bits: literal(rest, element)? })
}

/// The path behind `@`. A file may only name what lies beside it or below; flags may name anything.
fn file(path: Part) -> Result<Part> {
    use std::path::{Component, Path};
    if path.text.is_empty() {
        return Err(bad(path.place, "no file is named behind `@`").help("write `@input.bin`"));
    }
    let mut components = Path::new(path.text).components();
    let below = components.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if below || path.place.in_flags() {
        return Ok(path);
    }
    Err(bad(path.place, format!("{} does not lie beside the PTX file", path.quoted()))
        .note("a PTX file may only read files of its own folder or below")
        .help("copy the file there, or name it with the flag `--arg NAME=@FILE`"))
}

fn bad(place: Place, message: impl Into<String>) -> Fault {
    Fault::new(&BAD_VALUE, place, message)
}

/// The element type `word`; `whole` is what it starts.
fn element(word: Part, whole: Part) -> Result<Type> {
    if let Some(known) = ELEMENTS.iter().find(|name| **name == word.text) {
        return Type::from_text(&format!(".{known}")).ok_or_else(|| unknown_element(word));
    }
    if word.text.is_empty() {
        let message = match whole.text.is_empty() {
            true => "no value is given".to_string(),
            false => format!("{} does not start with a type", whole.quoted()),
        };
        let fault = bad(whole.place, message);
        return Err(fault.help("write the type first: `u32 5`, `u32[64] iota` or `f32[16] fill 0.5`"));
    }
    Err(unknown_element(word))
}

fn unknown_element(word: Part) -> Fault {
    let fault = bad(word.place, format!("{} is not a type of arguments", word.quoted()));
    let bare = Part { text: word.text.trim_start_matches('.'), ..word };
    match ALIASES.iter().find(|(alias, _)| *alias == bare.text) {
        Some((_, element)) => fault.help(format!("did you mean `{element}`?")),
        None => fault.meant(bare, ELEMENTS.iter().copied()),
    }
}

/// Reads `[N] VALUES`.
fn array(element: Type, part: Part) -> Result<Given> {
    let Some((front, values)) = part.split_once(']') else {
        return Err(bad(part.place, "the `[` has no `]`"));
    };
    let number = front.strip_prefix("[").unwrap_or(front);
    let count = integer(number.text).and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
    let Some(count) = count else {
        let fault = bad(number.place, format!("{} is not a number of elements", number.quoted()));
        return Err(fault.help(match number.text.contains(',') {
            true => "write their number for a buffer; a tensor of several dimensions is a `tensormap` line",
            false => "write how many elements there are, at least 1: `u32[64]`",
        }));
    };
    let values = spread(element, count, values)?;
    Ok(Given::Array { element, count, values })
}

/// Reads what the `count` elements hold.
fn spread(element: Type, count: u64, part: Part) -> Result<Values> {
    if part.text.starts_with('[') {
        return list(element, count, part);
    }
    if part.text.starts_with('@') {
        let fault = bad(part.place, "a file stands without a type");
        return Err(fault.note("its bytes are taken as they are").help(format!("write `= {}`", part.text)));
    }
    let (word, rest) = part.word(char::is_alphabetic);
    match word.text {
        "iota" => iota(element, rest),
        "fill" => Ok(Values::Fill(literal(rest, element)?)),
        "random" => seed(rest),
        _ if part.text.is_empty() => {
            let fault = bad(part.place, "nothing says what the elements hold");
            Err(fault.help("write `fill 0`, `iota`, `[1,2,3]` or `random 1` behind the type"))
        }
        _ => {
            let word = if word.text.is_empty() { part } else { word };
            let fault = bad(word.place, format!("{} is no way to fill a buffer", word.quoted()));
            let fault = fault.note("a buffer holds `iota`, `iota*K+C`, `fill V`, `[a,b,c]` or `random SEED`");
            Err(fault.near(word, WAYS.iter().copied()))
        }
    }
}

fn list(element: Type, count: u64, part: Part) -> Result<Values> {
    let Some(inner) = part.inside('[', ']') else {
        return Err(bad(part.place, "the list of values does not end with `]`"));
    };
    let mut values = Vec::new();
    if !inner.text.is_empty() {
        for item in inner.split(',') {
            values.push(literal(item, element)?);
        }
    }
    if values.len() as u64 != count {
        let fault = bad(part.place, format!("the list has {} values, the type says {count}", values.len()));
        let name = name(element);
        return Err(
            fault.help(format!("write `{name}[{}]`, or `fill V` for {count} equal values", values.len()))
        );
    }
    Ok(Values::List(values))
}

/// Reads `[*K][+C]`.
fn iota(element: Type, part: Part) -> Result<Values> {
    let (factor, offset) = match part.strip_prefix("*") {
        Some(rest) => split_term(rest),
        None => (Part { text: "1", ..part }, part),
    };
    let offset = match offset.text {
        "" => Part { text: "0", ..offset },
        text if text.starts_with('+') => offset.strip_prefix("+").unwrap_or(offset),
        text if text.starts_with('-') => offset,
        _ => {
            let fault = bad(offset.place, format!("{} does not belong behind `iota`", offset.quoted()));
            return Err(fault.help("write `iota`, `iota*K`, `iota+C` or `iota*K+C` with decimal numbers"));
        }
    };
    if element.class() == TypeClass::Float {
        return Ok(Values::Ramp(decimal(factor)?, decimal(offset)?));
    }
    Ok(Values::Steps(whole(factor, element)?, whole(offset, element)?))
}

/// Cuts before the sign that follows the factor; signs at its start and in an exponent belong to it.
fn split_term(part: Part) -> (Part, Part) {
    let bytes = part.text.as_bytes();
    let sign = |&at: &usize| matches!(bytes[at], b'+' | b'-') && !matches!(bytes[at - 1], b'e' | b'E');
    let end = (1..bytes.len()).find(sign).unwrap_or(bytes.len());
    let (factor, offset) = part.split_at(end);
    (factor.trim(), offset.trim())
}

fn whole(part: Part, element: Type) -> Result<u64> {
    let digits = part.text.strip_prefix('-').unwrap_or(part.text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number = plain.then(|| part.text.parse::<i128>().ok()).flatten();
    // The sequence wraps, so the low bits are enough.
    number.map(|n| n as u64).ok_or_else(|| {
        let fault = bad(part.place, format!("{} is not a decimal integer", part.quoted()));
        fault.note(format!("elements of type `{}` go on in whole steps", name(element)))
    })
}

fn decimal(part: Part) -> Result<f64> {
    let number = part.text.parse::<f64>().ok().filter(|n| n.is_finite());
    number.ok_or_else(|| {
        let fault = bad(part.place, format!("{} is not a decimal number", part.quoted()));
        fault.help("write a number such as 3, -8 or 0.5")
    })
}

fn seed(part: Part) -> Result<Values> {
    let seed = integer(part.text).and_then(|n| u64::try_from(n).ok());
    seed.map(Values::Random).ok_or_else(|| {
        let message = match part.text.is_empty() {
            true => "`random` has no seed".to_string(),
            false => format!("{} is not a seed", part.quoted()),
        };
        bad(part.place, message)
            .help("write a number from 0 to 2^64-1, as in `random 1`; it means the same values for ever")
    })
}

/// A decimal or hexadecimal (`0x…`) integer, perhaps negative.
pub(super) fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => i128::from_str_radix(hex, 16).ok()?,
        None if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// The bits of one value of type `element`.
pub(super) fn literal(part: Part, element: Type) -> Result<u64> {
    if part.text.is_empty() {
        return Err(bad(part.place, format!("a value of type `{}` is missing", name(element))));
    }
    match element.class() {
        TypeClass::Float => float_literal(part, element),
        _ => integer_literal(part, element),
    }
}

fn integer_literal(part: Part, element: Type) -> Result<u64> {
    let Some(number) = integer(part.text) else {
        let fault = bad(part.place, format!("{} is not an integer", part.quoted()));
        return Err(fault.note(format!("values of type `{}` are decimal or `0x` integers", name(element))));
    };
    let (least, most) = range(element);
    // Hexadecimal digits of a signed type are its bits.
    let most_written = if part.text.starts_with("0x") { (1 << element.bits()) - 1 } else { most };
    if number < least || number > most_written {
        let fault = bad(part.place, format!("{} does not fit `{}`", part.quoted(), name(element)));
        return Err(fault.note(format!("its values go from {least} to {most}")));
    }
    Ok(number as u64 & mask(element))
}

/// The least and the greatest number of an integer type; a bit type takes signed and unsigned ones.
fn range(element: Type) -> (i128, i128) {
    let (half, all) = (1i128 << (element.bits() - 1), 1i128 << element.bits());
    match element {
        _ if element.is_signed() => (-half, half - 1),
        _ if element.class() == TypeClass::Bits => (-half, all - 1),
        _ => (0, all - 1),
    }
}

fn mask(element: Type) -> u64 {
    u64::MAX >> (64 - element.bits().min(64))
}

fn float_literal(part: Part, element: Type) -> Result<u64> {
    let lower = part.text.to_ascii_lowercase();
    let digits = [("0x", None), ("0f", Some(Type::F32)), ("0d", Some(Type::F64))];
    for (prefix, only) in digits {
        if let Some(hex) = lower.strip_prefix(prefix) {
            return pattern(part, hex, element, only);
        }
    }
    let value = match element {
        // One rounding, not two.
        Type::F32 => lower.parse::<f32>().ok().map(f64::from),
        _ => lower.parse::<f64>().ok(),
    };
    let Some(value) = value else {
        let fault = bad(part.place, format!("{} is not a number", part.quoted()));
        return Err(
            fault.help("write a decimal such as 0.5 or 1e-3, `nan`, `inf`, or bits such as `0x3f800000`")
        );
    };
    let bits = float::to_bits(value, element);
    let infinite = float::from_bits(bits, element).is_infinite();
    if infinite && !lower.contains("inf") {
        let fault = bad(part.place, format!("{} is too large for `{}`", part.quoted(), name(element)));
        return Err(fault.help("write `inf` where infinity is meant"));
    }
    Ok(bits)
}

/// Bits in hexadecimal, all digits of them.
fn pattern(part: Part, hex: &str, element: Type, only: Option<Type>) -> Result<u64> {
    let digits = element.bits() as usize / 4;
    let fits = only.is_none_or(|only| only == element) && hex.len() == digits;
    let bits = fits.then(|| u64::from_str_radix(hex, 16).ok()).flatten();
    bits.filter(|_| hex.bytes().all(|b| b.is_ascii_hexdigit())).ok_or_else(|| {
        let name = name(element);
        bad(part.place, format!("{} are not the bits of one `{name}`", part.quoted()))
            .help(format!("write `0x` and {digits} hexadecimal digits, or a decimal number"))
    })
}

/// The type's name without its dot.
pub(super) fn name(element: Type) -> &'static str {
    element.text().trim_start_matches('.')
}

impl Values {
    /// The bytes of `count` elements, little-endian. The caller has bounded their number.
    pub fn bytes(&self, element: Type, count: u64) -> Vec<u8> {
        let size = element.bytes() as usize;
        match *self {
            Values::Fill(0) => vec![0; count as usize * size],
            Values::Fill(bits) => bits.to_le_bytes()[..size].repeat(count as usize),
            Values::Steps(factor, offset) => {
                packed(size, count, (0..count).map(|i| i.wrapping_mul(factor).wrapping_add(offset)))
            }
            Values::Ramp(factor, offset) => {
                let value = |i| i as f64 * factor + offset;
                packed(size, count, (0..count).map(|i| float::to_bits(value(i), element)))
            }
            Values::List(ref values) => packed(size, count, values.iter().copied()),
            Values::Random(seed) => {
                let mut random = Random::new(seed);
                packed(size, count, (0..count).map(|_| random_bits(&mut random, element)))
            }
        }
    }
}

/// The low `size` bytes of each of the `count` words, little-endian.
fn packed(size: usize, count: u64, words: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count as usize * size);
    words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()[..size]));
    bytes
}

fn random_bits(random: &mut Random, element: Type) -> u64 {
    match element.class() {
        TypeClass::Float => float::to_bits(random.unit(float::precision(element)), element),
        _ => random.bits(),
    }
}
