//! What happens in a run, for those who watch it.

use super::code::Pc;
use super::column::Mask;

/// One thing that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Event {
    /// A group of lanes executed instructions up to and including this one.
    Step {
        /// The warp.
        warp: u32,
        /// The last instruction.
        pc: Pc,
        /// The lanes.
        lanes: Mask,
    },
    /// A part of a copy landed.
    Landing {
        /// The number of the copy.
        copy: u32,
        /// The number of the part.
        part: u32,
    },
    /// A barrier completed a phase.
    Phase {
        /// The CTA.
        cta: u32,
        /// The barrier's address.
        address: u32,
        /// The phase.
        phase: u64,
    },
}
