//! Descriptions of tensor maps: `f16[64,128] strides=[128] box=[64,16] data=p_in`. What the values must obey
//! is not known here.

use super::part::{Fault, Part, Place, Result};
use super::rules::{BAD_ARGUMENT, BAD_VALUE};
use super::value::integer;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$vdoc])* #[doc = concat!("`", $text, "`")] $variant),* }

        impl $name {
            const WORDS: &'static [(&'static str, $name)] = &[$(($text, $name::$variant)),*];

            /// The word of the directive.
            pub const fn text(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            fn read(part: Part, what: &str) -> Result<$name> {
                let found = $name::WORDS.iter().find(|(word, _)| *word == part.text);
                found.map(|(_, value)| *value).ok_or_else(|| {
                    Fault::new(&BAD_VALUE, part.place, format!("{} is not {what}", part.quoted()))
                        .meant(part, $name::WORDS.iter().map(|(word, _)| *word))
                })
            }
        }
    };
}

words! {
    /// The type of a tensor's elements.
    TensorElement {
        U8 = "u8", U16 = "u16", U32 = "u32", S32 = "s32", U64 = "u64", S64 = "s64", F16 = "f16",
        F32 = "f32", F64 = "f64", Bf16 = "bf16", F32Ftz = "f32_ftz", Tf32 = "tf32", Tf32Ftz = "tf32_ftz",
    }
}

words! {
    /// How 16-byte pieces are permuted in shared memory.
    Swizzle {
        None = "none", B32 = "32B", B64 = "64B", B128 = "128B", B96 = "96B",
        B128Atom32 = "128B_atom_32B", B128Atom32Flip8 = "128B_atom_32B_flip_8B", B128Atom64 = "128B_atom_64B",
    }
}

words! {
    /// How channels are grouped in global memory.
    Interleave { None = "none", B16 = "16B", B32 = "32B" }
}

words! {
    /// What elements outside of the tensor read as.
    Outside { Zero = "zero", Nan = "nan" }
}

impl TensorElement {
    /// Size in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            TensorElement::U8 => 1,
            TensorElement::U16 | TensorElement::F16 | TensorElement::Bf16 => 2,
            TensorElement::U64 | TensorElement::S64 | TensorElement::F64 => 8,
            _ => 4,
        }
    }
}

/// The bounding box of an im2col map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Im2col {
    /// Lower corner, one for each dimension but the innermost and the outermost.
    pub lower: [i32; 3],
    /// Upper corner, likewise.
    pub upper: [i32; 3],
    /// Channels of a pixel.
    pub channels: u32,
    /// Pixels of a column.
    pub pixels: u32,
}

/// A tensor map as it is described. Dimensions go from the innermost to the outermost; entries from `rank`
/// on are 0.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorMapSpec {
    /// The element type.
    pub element: TensorElement,
    /// Number of dimensions, 1 to 5.
    pub rank: u32,
    /// Elements along each dimension.
    pub dims: [u64; 5],
    /// Bytes from one element to the next along each dimension; the first is unused and 0.
    pub strides: [u64; 5],
    /// Elements of the box along each dimension; all 0 for an im2col map.
    pub box_dims: [u32; 5],
    /// Steps between the elements that are copied.
    pub element_strides: [u32; 5],
    /// The swizzle.
    pub swizzle: Swizzle,
    /// The interleaved layout.
    pub interleave: Interleave,
    /// Elements outside read as NaN instead of zero.
    pub oob_nan: bool,
    /// The bounding box when this is an im2col map; none when it is a tiled one.
    pub im2col: Option<Im2col>,
    /// The parameter whose buffer holds the tensor.
    pub data: String,
    /// Where that name stands.
    pub data_place: Place,
    /// The whole directive.
    pub place: Place,
    keys: Vec<(&'static str, Place)>,
}

const KEYS: &[&str] = &[
    "strides",
    "box",
    "element_strides",
    "swizzle",
    "interleave",
    "oob",
    "data",
    "lower",
    "upper",
    "channels",
    "pixels",
];

impl TensorMapSpec {
    /// Where `key` (`dims`, `strides`, `box` …) is given; the whole directive when it is left out.
    pub fn place_of(&self, key: &str) -> Place {
        let found = self.keys.iter().find(|(name, _)| *name == key);
        found.map_or(self.place, |(_, place)| *place)
    }
}

/// The fields of a description, each at most once.
struct Fields<'a>(Vec<(&'static str, Part<'a>)>);

impl<'a> Fields<'a> {
    fn read(part: Part<'a>) -> Result<Fields<'a>> {
        let mut fields = Fields(Vec::new());
        for field in part.fields() {
            let Some((key, value)) = field.split_once('=') else {
                let fault =
                    Fault::new(&BAD_ARGUMENT, field.place, format!("{} has no value", field.quoted()));
                return Err(fault.help("write KEY=VALUE without blanks around the `=`, as in `box=[64,16]`"));
            };
            let Some(known) = KEYS.iter().find(|known| **known == key.text) else {
                let message = format!("a tensor map has no key {}", key.quoted());
                return Err(Fault::new(&BAD_ARGUMENT, key.place, message).meant(key, KEYS.iter().copied()));
            };
            if fields.get(known).is_some() {
                return Err(Fault::new(&BAD_ARGUMENT, key.place, format!("`{known}` is given twice")));
            }
            fields.0.push((known, value));
        }
        Ok(fields)
    }

    fn get(&self, key: &str) -> Option<Part<'a>> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn need(&self, key: &str, end: Place, why: &str) -> Result<Part<'a>> {
        self.get(key)
            .ok_or_else(|| Fault::new(&BAD_ARGUMENT, end, format!("the tensor map has no `{key}`")).help(why))
    }

    /// The word at `key`, or `default` when it is left out.
    fn word<T>(&self, key: &str, default: T, read: impl Fn(Part) -> Result<T>) -> Result<T> {
        self.get(key).map_or(Ok(default), read)
    }

    /// A list of `count` numbers at `key`.
    fn list<T: TryFrom<i128>>(&self, key: &str, count: usize) -> Result<Option<Vec<T>>> {
        let Some(part) = self.get(key) else { return Ok(None) };
        let numbers = numbers(part)?;
        if numbers.len() != count {
            let message = format!("`{key}` has {} numbers, this map needs {count}", numbers.len());
            return Err(Fault::new(&BAD_ARGUMENT, part.place, message).note(reason(key)));
        }
        Ok(Some(numbers))
    }
}

fn reason(key: &str) -> &'static str {
    match key {
        "strides" => "one for each dimension but the innermost, whose elements lie side by side",
        "lower" | "upper" => "one for each dimension but the innermost (channels) and the outermost (images)",
        _ => "one for each dimension, innermost first",
    }
}

/// Reads `T[DIMS] KEY=VALUE …`; `place` is the whole directive.
pub(super) fn spec(part: Part, place: Place) -> Result<TensorMapSpec> {
    let Some((front, rest)) = part.split_once(']') else {
        let fault =
            Fault::new(&BAD_ARGUMENT, part.place, "a tensor map starts with its type and its extents");
        return Err(fault.help("write `f16[64,128] box=[64,16] data=BUFFER`, innermost dimension first"));
    };
    let (word, extents) = front.word(|c| c != '[');
    let element = TensorElement::read(word.trim(), "a type of tensors")?;
    let extents = extents.strip_prefix("[").unwrap_or(extents);
    let dims: Vec<u64> = list_items(extents)?;
    let rank = dims.len();
    if !(1..=5).contains(&rank) {
        let message = format!("a tensor of {rank} dimensions");
        return Err(
            Fault::new(&BAD_ARGUMENT, extents.place, message).note("a tensor map has 1 to 5 dimensions")
        );
    }
    let fields = Fields::read(rest)?;
    let end = part.end();
    let strides = strides(&fields, element, &dims, extents.place)?;
    let im2col = im2col(&fields, rank, end)?;
    let box_dims = match im2col {
        Some(_) => None,
        None => {
            fields.need(
                "box",
                end,
                "write how many elements one copy moves along each dimension: `box=[64,16]`",
            )?;
            fields.list("box", rank)?
        }
    };
    let element_strides = fields.list("element_strides", rank)?.unwrap_or(vec![1; rank]);
    let data = fields.need("data", end, "name the parameter whose buffer holds the tensor: `data=BUFFER`")?;
    let mut keys: Vec<(&'static str, Place)> =
        fields.0.iter().map(|(key, value)| (*key, value.place)).collect();
    keys.push(("dims", extents.place));
    Ok(TensorMapSpec {
        element,
        rank: rank as u32,
        dims: filled(&dims),
        strides: filled(&strides),
        box_dims: filled(&box_dims.unwrap_or_default()),
        element_strides: filled(&element_strides),
        swizzle: fields.word("swizzle", Swizzle::None, |p| Swizzle::read(p, "a swizzle"))?,
        interleave: fields
            .word("interleave", Interleave::None, |p| Interleave::read(p, "an interleaved layout"))?,
        oob_nan: fields.word("oob", Outside::Zero, |p| Outside::read(p, "a fill"))? == Outside::Nan,
        im2col,
        data: data.text.to_string(),
        data_place: data.place,
        place,
        keys,
    })
}

/// The strides as given, or those of a tensor without gaps; the first is 0.
fn strides(fields: &Fields, element: TensorElement, dims: &[u64], place: Place) -> Result<Vec<u64>> {
    if let Some(mut given) = fields.list::<u64>("strides", dims.len() - 1)? {
        given.insert(0, 0);
        return Ok(given);
    }
    let mut strides = vec![0];
    let mut size = element.bytes();
    for dim in &dims[..dims.len() - 1] {
        size = size.checked_mul(*dim).ok_or_else(|| {
            Fault::new(&BAD_VALUE, place, "a tensor of these extents is larger than any memory")
        })?;
        strides.push(size);
    }
    Ok(strides)
}

fn im2col(fields: &Fields, rank: usize, end: Place) -> Result<Option<Im2col>> {
    let given = ["lower", "upper", "channels", "pixels"].into_iter().find_map(|key| fields.get(key));
    let Some(given) = given else { return Ok(None) };
    if let Some(tile) = fields.get("box") {
        let fault = Fault::new(
            &BAD_ARGUMENT,
            tile.place,
            "`box` describes a tiled map, the other keys an im2col one",
        );
        return Err(fault.also(given.place, "for im2col").help("leave one of the two out"));
    }
    if rank < 3 {
        let fault = Fault::new(&BAD_ARGUMENT, given.place, format!("an im2col map of {rank} dimensions"));
        return Err(fault.note("im2col needs 3 to 5: channels, one to three of space, images"));
    }
    let why = "an im2col map needs `lower=[…] upper=[…] channels=N pixels=N`";
    let corner = |key| -> Result<[i32; 3]> {
        fields.need(key, end, why)?;
        Ok(filled(&fields.list::<i32>(key, rank - 2)?.unwrap_or_default()))
    };
    let number = |key| number::<u32>(fields.need(key, end, why)?);
    Ok(Some(Im2col {
        lower: corner("lower")?,
        upper: corner("upper")?,
        channels: number("channels")?,
        pixels: number("pixels")?,
    }))
}

fn filled<T: Copy + Default, const N: usize>(values: &[T]) -> [T; N] {
    let mut all = [T::default(); N];
    for (slot, value) in all.iter_mut().zip(values) {
        *slot = *value;
    }
    all
}

/// Reads `[1,2,3]`.
fn numbers<T: TryFrom<i128>>(part: Part) -> Result<Vec<T>> {
    let Some(inner) = part.inside('[', ']') else {
        let fault =
            Fault::new(&BAD_VALUE, part.place, format!("{} is not a list in brackets", part.quoted()));
        return Err(fault.help("write it as in `[64,16]`"));
    };
    list_items(inner)
}

/// Reads `1,2,3`; nothing is an empty list.
fn list_items<T: TryFrom<i128>>(part: Part) -> Result<Vec<T>> {
    match part.text.is_empty() {
        true => Ok(Vec::new()),
        false => part.split(',').map(number).collect(),
    }
}

fn number<T: TryFrom<i128>>(part: Part) -> Result<T> {
    let number = integer(part.text);
    number.and_then(|n| T::try_from(n).ok()).ok_or_else(|| {
        let what = match number {
            Some(_) => "is out of range",
            None => "is not an integer",
        };
        let text = if part.text.is_empty() { "nothing".into() } else { part.quoted() };
        Fault::new(&BAD_VALUE, part.place, format!("{text} {what}"))
    })
}
