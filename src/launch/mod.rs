//! Launch information: how a kernel is started and what memory must hold afterwards.
//!
//! It stands in `// mbar:` comments of the PTX file and in flags, which override the file:
//!
//! ```text
//! // mbar: launch kernel=NAME grid=2 block=64 cluster=2 smem=1024
//! // mbar: arg p_in  = u32[64] iota*3+1
//! // mbar: arg p_n   = u32 63
//! // mbar: tensormap p_map = f16[64,128] strides=[128] box=[64,16] data=p_in
//! // mbar: expect p_out = u32[64] iota*2
//! // mbar: expect~ 1e-3 p_sum = f32[1] [0.5]
//! ```
//!
//! The `data` of a tensor map is a buffer: that of a parameter, or an `arg` of its own that no parameter
//! needs to have.
//!
//! `random SEED` draws from SplitMix64 started at SEED, one 64-bit output for each element: an integer takes
//! the low bits; a float is the upper p bits k as k/2^(p-1) - 1, where p is the precision of its type.
//!
//! [`read`] turns this into a [`Launch`] that holds every byte, or says what is wrong with it.

mod bind;
mod compare;
mod float;
mod kernel;
mod overrides;
mod part;
mod random;
mod render;
mod rules;
mod script;
mod shape;
mod tensor;
#[cfg(test)]
mod tests;
mod value;

use std::io;

use crate::program::Program;
use crate::types::Type;
use bind::Binder;
use kernel::{Kernel, Kernels};
use script::{Binding, Block, Start};

pub use bind::MOST_BYTES;
pub use compare::{Difference, Differences};
pub use overrides::{Flag, Overrides};
pub use part::{Place, Refusal};
pub use random::Random;
pub use render::{hex_words, render};
pub use rules::{BAD_ARGUMENT, BAD_LAUNCH, BAD_VALUE, RULES};
pub use tensor::{Im2col, Interleave, Outside, Swizzle, TensorElement, TensorMapSpec};

/// A launch, complete and within the limits of hardware and kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// Index of the kernel in [`Program::routines`].
    pub kernel: usize,
    /// CTAs along x, y, z; each at least 1, and a multiple of the cluster's.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z; at most 1024 together.
    pub block: [u32; 3],
    /// CTAs of a cluster along x, y, z; at most 16 together.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a CTA, in bytes.
    pub smem: u32,
    /// How many CTAs are resident at once; all when none.
    pub resident: Option<u32>,
    /// One for each parameter of the kernel, in order; behind them buffers that only tensor maps point to.
    pub arguments: Vec<Argument>,
    /// What memory must hold afterwards.
    pub expects: Vec<Expect>,
    /// The directive; none when neither file nor flags describe the launch.
    pub place: Option<Place>,
    /// What was chosen without being asked for, as sentences for the user.
    pub notes: Vec<String>,
}

/// What one parameter is given.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    /// The parameter's name.
    pub name: String,
    /// The directive or flag.
    pub place: Place,
    /// The value.
    pub kind: ArgumentKind,
}

/// The kinds of [`Argument`].
#[derive(Clone, PartialEq, Debug)]
pub enum ArgumentKind {
    /// Memory whose address is passed.
    Buffer {
        /// The type of the elements (`u8` for a file).
        element: Type,
        /// Their number, at least 1.
        count: u64,
        /// What they hold at the start, little-endian.
        bytes: Vec<u8>,
    },
    /// A value that is passed itself, also an array or vector.
    Scalar {
        /// The type of the value or of its elements.
        element: Type,
        /// The parameter's bytes, as many as it has, little-endian.
        bytes: Vec<u8>,
    },
    /// A tensor map that is passed itself.
    TensorMap {
        /// Its description; whether the values are allowed has not been checked.
        spec: Box<TensorMapSpec>,
        /// Index of the buffer argument that its data lies in.
        data: usize,
    },
}

/// What a buffer must hold after the kernel has run.
#[derive(Clone, PartialEq, Debug)]
pub struct Expect {
    /// Index of the buffer in [`Launch::arguments`].
    pub argument: usize,
    /// The type that the elements are compared in.
    pub element: Type,
    /// The expected bytes, as many as the buffer has.
    pub bytes: Vec<u8>,
    /// How far a float may be off, absolutely or relative to the expected one (NaN equals NaN then);
    /// none: the bits must be equal.
    pub tolerance: Option<f64>,
    /// The directive.
    pub place: Place,
}

/// Reads the launch of a kernel of `program`, as the file and `overrides` describe it. `files` gives the
/// bytes of an `@file`, whose path is relative to the folder of the PTX file; it should read no more than
/// [`MOST_BYTES`].
///
/// # Errors
/// All findings, those of the file and those of the flags apart.
pub fn read(
    program: &Program,
    overrides: &Overrides,
    files: &mut dyn FnMut(&str) -> io::Result<Vec<u8>>,
) -> Result<Launch, Refusal> {
    let mut refusal = Refusal::default();
    let blocks = script::file(program, &mut refusal);
    let (flags, flag_bindings) = script::flags(overrides, &mut refusal);
    let kernels = Kernels::new(program);
    let chosen = kernel::choose(&kernels, &blocks, &flags, &mut refusal);
    let Some((kernel, own)) = chosen else { return Err(refusal) };
    let nothing = Block::default();
    let block = own.and_then(|own| blocks.get(own)).unwrap_or(&nothing);
    let request = Request { kernel, block, flags, flag_bindings: &flag_bindings };
    let launch = request.launch(&mut Binder::new(files), &mut refusal);
    if refusal.is_empty() { Ok(launch) } else { Err(refusal) }
}

/// All that is said of one launch.
struct Request<'b, 'a> {
    kernel: Kernel<'a>,
    block: &'b Block<'a>,
    flags: Start<'a>,
    flag_bindings: &'b [Binding<'a>],
}

impl Request<'_, '_> {
    fn launch(&self, binder: &mut Binder, refusal: &mut Refusal) -> Launch {
        let mut notes = Vec::new();
        let directive = self.block.start.as_ref();
        let start = directive.map_or(self.flags, |(_, start)| self.flags.over(*start));
        let at = directive.map_or(self.kernel.place(), |(place, _)| *place);
        let mut quiet = Refusal::default();
        // What could not be read is missing here, and the rest would not be judged rightly.
        let findings = if start.broken { &mut quiet } else { &mut *refusal };
        let shape = shape::shape(&start, at, &self.kernel, &mut notes, findings);
        let arguments = self.arguments(binder, refusal);
        let expectations = &self.block.expectations;
        let expects = match &arguments {
            Some(arguments) => bind::expects(expectations, arguments, binder, &mut notes, refusal),
            None => Vec::new(),
        };
        Launch {
            kernel: self.kernel.index,
            grid: shape.grid,
            block: shape.block,
            cluster: shape.cluster,
            smem: shape.smem,
            resident: shape.resident,
            arguments: arguments.unwrap_or_default(),
            expects,
            place: directive.map(|(place, _)| *place),
            notes,
        }
    }

    /// The arguments; none when one of them is missing or wrong, which has been said.
    fn arguments(&self, binder: &mut Binder, refusal: &mut Refusal) -> Option<Vec<Argument>> {
        let parameters = self.kernel.parameters();
        let bits = self.kernel.program.header.address_size;
        let pairs = bind::pair(&self.kernel, &parameters, self.flag_bindings, &self.block.bindings, refusal);
        let mut arguments = Vec::new();
        for (parameter, binding) in parameters.iter().zip(pairs.parameters) {
            let argument = binding.map(|binding| binder.argument(parameter, binding, bits));
            arguments.extend(argument.and_then(|argument| refusal.take(argument)).flatten());
        }
        let expected = parameters.len() + pairs.data.len();
        for binding in pairs.data {
            let argument = binder.data(binding);
            arguments.extend(refusal.take(argument).flatten());
        }
        if arguments.len() != expected {
            return None;
        }
        bind::link(&mut arguments, refusal);
        Some(arguments)
    }
}
