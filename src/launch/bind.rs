//! Brings values and parameters together.

use std::io;

use rustc_hash::{FxHashMap, FxHashSet};

use super::kernel::{Kernel, Parameter};
use super::part::{Fault, Part, Place, Refusal, Result};
use super::rules::BAD_ARGUMENT;
use super::script::{Binding, Content, Expectation};
use super::tensor::TensorMapSpec;
use super::value::{Given, Values, name};
use super::{Argument, ArgumentKind, Expect};
use crate::types::Type;

/// All buffers of a launch together have at most so many bytes: 1 GiB.
pub const MOST_BYTES: u64 = 1 << 30;

/// Opens a file beside the PTX file.
pub(super) type Files<'f> = dyn FnMut(&str) -> io::Result<Vec<u8>> + 'f;

/// What is left to allocate, and the way to files.
pub(super) struct Binder<'f> {
    files: &'f mut Files<'f>,
    left: u64,
}

/// Finds, for each parameter, the binding that counts: that of a flag, else that of the file.
pub(super) fn pair<'b, 'a>(
    kernel: &Kernel<'a>,
    parameters: &[Parameter<'a>],
    flags: &'b [Binding<'a>],
    file: &'b [Binding<'a>],
    refusal: &mut Refusal,
) -> Pairs<'b, 'a> {
    let data = [file, flags].into_iter().flatten().filter_map(|binding| match &binding.content {
        Content::Map(spec) => Some(spec.data.as_str()),
        _ => None,
    });
    let names: FxHashSet<&str> = parameters.iter().map(|parameter| parameter.name).chain(data).collect();
    let mut bindings: FxHashMap<&str, &Binding> = FxHashMap::default();
    for list in [file, flags] {
        let own = by_name(kernel, parameters, &names, list, refusal);
        bindings.extend(own);
    }
    let mut pairs = Pairs::default();
    for parameter in parameters {
        let binding = bindings.remove(parameter.name);
        if binding.is_none() {
            refusal.push(missing(kernel, parameter));
        }
        pairs.parameters.push(binding);
    }
    pairs.data = bindings.into_values().collect();
    pairs.data.sort_unstable_by_key(|binding| binding.name.text);
    pairs
}

/// What is bound in a launch.
#[derive(Default)]
pub(super) struct Pairs<'b, 'a> {
    /// What is given for each parameter.
    pub parameters: Vec<Option<&'b Binding<'a>>>,
    /// Buffers that only tensor maps point to.
    pub data: Vec<&'b Binding<'a>>,
}

fn by_name<'b, 'a>(
    kernel: &Kernel,
    parameters: &[Parameter],
    names: &FxHashSet<&str>,
    list: &'b [Binding<'a>],
    refusal: &mut Refusal,
) -> FxHashMap<&'b str, &'b Binding<'a>> {
    let mut found: FxHashMap<&str, &Binding> = FxHashMap::default();
    for binding in list {
        let part = binding.name;
        if !names.contains(part.text) {
            refusal.push(no_parameter(kernel, parameters, part));
        } else if let Some(first) = found.insert(part.text, binding) {
            let fault = Fault::new(&BAD_ARGUMENT, part.place, format!("`{}` is given twice", part.text));
            refusal.push(fault.also(first.name.place, "the first time here").help("remove one of the two"));
        }
    }
    found
}

fn no_parameter(kernel: &Kernel, parameters: &[Parameter], part: Part) -> Fault {
    let message = format!("kernel `{}` has no parameter {}", kernel.name(), part.quoted());
    let names = parameters.iter().map(|parameter| parameter.name);
    Fault::new(&BAD_ARGUMENT, part.place, message).meant(part, names)
}

fn missing(kernel: &Kernel, parameter: &Parameter) -> Fault {
    let name = parameter.name;
    let message = format!("parameter `{name}` of kernel `{}` is given no value", kernel.name());
    let bits = kernel.program.header.address_size;
    let help = if parameter.holds_map() {
        format!("write `// mbar: tensormap {name} = f16[64,128] box=[64,16] data=BUFFER`")
    } else if parameter.holds_pointer(bits) {
        format!("write `// mbar: arg {name} = u32[64] fill 0` for a buffer, or `u{bits} 0` for a number")
    } else {
        format!("write `// mbar: arg {name} = {}`", example(parameter))
    };
    Fault::new(&BAD_ARGUMENT, parameter.place(), message).label("no argument").help(help)
}

/// A value of the parameter's size.
fn example(parameter: &Parameter) -> String {
    match parameter.variable.size {
        Some(size) if parameter.aggregate => format!("u8[{size}] fill 0"),
        _ => format!("{} 0", name(parameter.variable.ty)),
    }
}

impl<'f> Binder<'f> {
    pub fn new(files: &'f mut Files<'f>) -> Binder<'f> {
        Binder { files, left: MOST_BYTES }
    }

    /// The argument for `parameter`; a tensor map's data is looked up later.
    pub fn argument(
        &mut self,
        parameter: &Parameter,
        binding: &Binding,
        bits: u32,
    ) -> Result<Option<Argument>> {
        let kind = match &binding.content {
            Content::Broken => return Ok(None),
            Content::Map(spec) if parameter.holds_map() => {
                ArgumentKind::TensorMap { spec: Box::new(spec.clone()), data: 0 }
            }
            Content::Map(spec) => return Err(no_map(parameter, spec)),
            Content::Value(Given::Scalar { element, bits }) => scalar(parameter, *element, *bits, binding)?,
            Content::Value(Given::File(path)) => self.file(parameter, *path, bits)?,
            Content::Value(Given::Array { element, count, values }) => {
                let size = count.checked_mul(element.bytes().into());
                fits(parameter, *element, *count, size, bits, binding)?;
                let bytes = self.spread(*element, *count, values, binding.place)?;
                packed(parameter, *element, *count, bytes)
            }
        };
        Ok(Some(Argument { name: parameter.name.to_string(), place: binding.place, kind }))
    }

    /// A buffer that only tensor maps point to.
    pub fn data(&mut self, binding: &Binding) -> Result<Option<Argument>> {
        let kind = match &binding.content {
            Content::Broken => return Ok(None),
            Content::Value(Given::Array { element, count, values }) => {
                let bytes = self.spread(*element, *count, values, binding.place)?;
                ArgumentKind::Buffer { element: *element, count: *count, bytes }
            }
            Content::Value(Given::File(path)) => {
                let bytes = self.read(*path)?;
                ArgumentKind::Buffer { element: Type::U8, count: bytes.len() as u64, bytes }
            }
            Content::Map(_) | Content::Value(Given::Scalar { .. }) => {
                let name = binding.name.text;
                let message = format!("`{name}` is the data of a tensor map, which is a buffer");
                let fault = Fault::new(&BAD_ARGUMENT, binding.place, message);
                return Err(fault.help(format!("write `// mbar: arg {name} = u8[4096] fill 0`")));
            }
        };
        Ok(Some(Argument { name: binding.name.text.to_string(), place: binding.place, kind }))
    }

    fn spread(&mut self, element: Type, count: u64, values: &Values, place: Place) -> Result<Vec<u8>> {
        self.reserve(count.checked_mul(element.bytes().into()), place)?;
        Ok(values.bytes(element, count))
    }

    fn reserve(&mut self, size: Option<u64>, place: Place) -> Result<()> {
        match size.and_then(|size| self.left.checked_sub(size)) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let fault = Fault::new(&BAD_ARGUMENT, place, "the buffers of this launch are too large");
                Err(fault.note("all buffers of a launch together may have 1 GiB").help("use fewer elements"))
            }
        }
    }

    fn read(&mut self, path: Part) -> Result<Vec<u8>> {
        let bytes = (self.files)(path.text).map_err(|error| {
            Fault::new(&BAD_ARGUMENT, path.place, format!("{} cannot be read: {error}", path.quoted()))
                .help("the path is relative to the PTX file")
        })?;
        self.reserve(Some(bytes.len() as u64), path.place)?;
        Ok(bytes)
    }

    fn file(&mut self, parameter: &Parameter, path: Part, bits: u32) -> Result<ArgumentKind> {
        if !parameter.aggregate && !parameter.holds_pointer(bits) {
            return Err(no_pointer(parameter, path.place, bits));
        }
        let bytes = self.read(path)?;
        let count = bytes.len() as u64;
        if parameter.aggregate && parameter.variable.size != Some(count) {
            let message = format!(
                "{} has {count} bytes, parameter `{}` has another size",
                path.quoted(),
                parameter.name
            );
            return Err(Fault::new(&BAD_ARGUMENT, path.place, message)
                .also(parameter.place(), parameter.describe())
                .help("give a file of exactly its size"));
        }
        if count == 0 {
            let fault = Fault::new(&BAD_ARGUMENT, path.place, format!("{} is empty", path.quoted()));
            return Err(fault.help("a buffer has at least one byte"));
        }
        Ok(packed(parameter, Type::U8, count, bytes))
    }

    /// What `expectation` expects of `argument`, the one with that index.
    pub fn expect(&mut self, expectation: &Expectation, index: usize, argument: &Argument) -> Result<Expect> {
        let part = expectation.name;
        let fault = |message: String| Fault::new(&BAD_ARGUMENT, part.place, message);
        let size = match &argument.kind {
            ArgumentKind::Buffer { bytes, .. } => bytes.len() as u64,
            ArgumentKind::Scalar { .. } => {
                let message = format!("nothing can be expected of `{}`: it is passed by value", part.text);
                return Err(fault(message)
                    .note("a kernel cannot change it")
                    .help("expect something of a buffer"));
            }
            ArgumentKind::TensorMap { spec, .. } => {
                let message = format!("nothing can be expected of `{}`: it is a tensor map", part.text);
                return Err(
                    fault(message).help(format!("expect it of the buffer behind it, `{}`", spec.data))
                );
            }
        };
        let (element, bytes) = self.expected(expectation, size)?;
        Ok(Expect {
            argument: index,
            element,
            bytes,
            tolerance: expectation.tolerance,
            place: expectation.place,
        })
    }

    /// The bytes that are expected of a buffer of `size` bytes.
    fn expected(&mut self, expectation: &Expectation, size: u64) -> Result<(Type, Vec<u8>)> {
        let name = expectation.name.text;
        let other = |expected: String| {
            let message = format!("{expected} bytes are expected of `{name}`, which has {size}");
            Fault::new(&BAD_ARGUMENT, expectation.value, message).help(
                "an expectation speaks of the whole buffer: use the argument's type and number of elements",
            )
        };
        match &expectation.given {
            Given::File(path) => {
                let bytes = self.read(*path)?;
                if bytes.len() as u64 != size {
                    return Err(other(bytes.len().to_string()));
                }
                Ok((Type::U8, bytes))
            }
            Given::Array { element, count, values } => {
                let expected = count.checked_mul(element.bytes().into());
                if expected != Some(size) {
                    return Err(other(expected.map_or("too many".into(), |n| n.to_string())));
                }
                Ok((*element, self.spread(*element, *count, values, expectation.place)?))
            }
            Given::Scalar { .. } => Err(other("the wrong number of".into())),
        }
    }
}

/// The expectations, each with its argument. One that a flag made void is passed over with a note.
pub(super) fn expects(
    expectations: &[Expectation],
    arguments: &[Argument],
    binder: &mut Binder,
    notes: &mut Vec<String>,
    refusal: &mut Refusal,
) -> Vec<Expect> {
    let names: FxHashMap<&str, usize> =
        arguments.iter().enumerate().map(|(index, argument)| (argument.name.as_str(), index)).collect();
    let mut expects: Vec<Expect> = Vec::new();
    let mut seen: FxHashMap<usize, Place> = FxHashMap::default();
    for expectation in expectations {
        let part = expectation.name;
        let Some(&index) = names.get(part.text) else {
            refusal.push(not_expected(part, arguments));
            continue;
        };
        if let Some(first) = seen.insert(index, expectation.place) {
            let fault =
                Fault::new(&BAD_ARGUMENT, part.place, format!("a second expectation of `{}`", part.text));
            refusal.push(fault.also(first, "the first one").help("remove one of the two"));
        } else if resized(expectation, &arguments[index]) {
            let name = part.text;
            notes
                .push(format!("nothing is expected of `{name}`: a flag gives it another size than the file"));
        } else {
            expects.extend(refusal.take(binder.expect(expectation, index, &arguments[index])));
        }
    }
    expects
}

fn not_expected(part: Part, arguments: &[Argument]) -> Fault {
    let is_buffer = |argument: &&Argument| matches!(argument.kind, ArgumentKind::Buffer { .. });
    let names = arguments.iter().filter(is_buffer).map(|argument| argument.name.as_str());
    let message = format!("nothing can be expected of {}: it is no parameter of the kernel", part.quoted());
    Fault::new(&BAD_ARGUMENT, part.place, message).meant(part, names)
}

/// Whether a flag gave the buffer a size that the file could not know.
fn resized(expectation: &Expectation, argument: &Argument) -> bool {
    let Given::Array { element, count, .. } = &expectation.given else { return false };
    let expected = count.checked_mul(element.bytes().into());
    match &argument.kind {
        ArgumentKind::Buffer { bytes, .. } => {
            argument.place.in_flags() && expected != Some(bytes.len() as u64)
        }
        _ => false,
    }
}

/// Finds the buffers that tensor maps name.
pub(super) fn link(arguments: &mut [Argument], refusal: &mut Refusal) {
    let names: Vec<(String, usize)> = (arguments.iter().enumerate())
        .filter(|(_, argument)| matches!(argument.kind, ArgumentKind::Buffer { .. }))
        .map(|(index, argument)| (argument.name.clone(), index))
        .collect();
    let indices: FxHashMap<&str, usize> = names.iter().map(|(name, index)| (name.as_str(), *index)).collect();
    for argument in arguments {
        let ArgumentKind::TensorMap { spec, data } = &mut argument.kind else { continue };
        match indices.get(spec.data.as_str()) {
            Some(index) => *data = *index,
            None => {
                let part = Part::new(&spec.data, spec.data_place);
                let message = format!("the tensor map's data {} is no buffer of this launch", part.quoted());
                let fault = Fault::new(&BAD_ARGUMENT, spec.data_place, message);
                refusal.push(fault.meant(part, names.iter().map(|(name, _)| name.as_str())));
            }
        }
    }
}

/// Bytes for a parameter that holds them or points to them.
fn packed(parameter: &Parameter, element: Type, count: u64, bytes: Vec<u8>) -> ArgumentKind {
    match parameter.aggregate {
        true => ArgumentKind::Scalar { element, bytes },
        false => ArgumentKind::Buffer { element, count, bytes },
    }
}

fn scalar(parameter: &Parameter, element: Type, bits: u64, binding: &Binding) -> Result<ArgumentKind> {
    let size = u64::from(element.bytes());
    if parameter.variable.size == Some(size) {
        let bytes = bits.to_le_bytes()[..size as usize].to_vec();
        return Ok(ArgumentKind::Scalar { element, bytes });
    }
    let message =
        format!("a `{}` of {size} bytes does not fit parameter `{}`", name(element), parameter.name);
    Err(Fault::new(&BAD_ARGUMENT, binding.place, message)
        .also(parameter.place(), parameter.describe())
        .help(format!("write a value of the parameter's size, as in `{}`", example(parameter))))
}

/// Whether `count` elements can be given to `parameter`, by value or by address.
fn fits(
    parameter: &Parameter,
    element: Type,
    count: u64,
    size: Option<u64>,
    bits: u32,
    binding: &Binding,
) -> Result<()> {
    if parameter.holds_pointer(bits) || (parameter.aggregate && parameter.variable.size == size) {
        return Ok(());
    }
    if !parameter.aggregate {
        return Err(no_pointer(parameter, binding.place, bits));
    }
    let element = name(element);
    let message = format!("`{element}[{count}]` has another size than parameter `{}`", parameter.name);
    Err(Fault::new(&BAD_ARGUMENT, binding.place, message)
        .also(parameter.place(), parameter.describe())
        .note("an array among the parameters is passed by value, so that its size is fixed")
        .help(format!("write `{}` with the values that are meant", example(parameter))))
}

fn no_pointer(parameter: &Parameter, place: Place, bits: u32) -> Fault {
    Fault::new(
        &BAD_ARGUMENT,
        place,
        format!("parameter `{}` cannot hold the address of a buffer", parameter.name),
    )
    .also(parameter.place(), parameter.describe())
    .note(format!("addresses are {bits}-bit integers in this file"))
    .help(format!("write a single value, as in `{}`", example(parameter)))
}

fn no_map(parameter: &Parameter, spec: &TensorMapSpec) -> Fault {
    let (name, align) = (parameter.name, parameter.variable.align);
    Fault::new(&BAD_ARGUMENT, spec.place, format!("parameter `{name}` cannot hold a tensor map"))
        .also(parameter.place(), format!("{}, aligned to {align}", parameter.describe()))
        .note("a tensor map has 128 bytes and is aligned to 64")
        .help(format!("declare it as `.param .align 64 .b8 {name}[128]`"))
}
