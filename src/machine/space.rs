//! Where things lie: the windows of the generic address space, and which window an address is in.

use super::code::Space;

/// Bytes of the window of one CTA's shared memory; the cluster's window holds one for each rank.
pub const SHARED_WINDOW: u64 = 1 << 24;
/// The ranks that the cluster's window has room for.
pub const MOST_RANKS: u64 = 32;
/// Bytes of the window of a thread's local memory.
pub const LOCAL_WINDOW: u64 = 1 << 24;
/// Bytes of the windows of parameters and constants.
pub const SMALL_WINDOW: u64 = 1 << 20;

/// Where the windows start in the generic address space. Global memory has no window: its
/// addresses are generic ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Shared memory of the cluster.
    pub shared: u64,
    /// Local memory of the thread.
    pub local: u64,
    /// Parameters of the kernel.
    pub param: u64,
    /// Constant memory.
    pub constant: u64,
    /// Arguments in global memory start here.
    pub global: u64,
    /// The module's variables in global memory start here.
    pub variables: u64,
}

impl Windows {
    /// The windows for addresses of 64 or 32 bits. With 64, none of them fits into 32: whoever
    /// cuts an address off notices it.
    pub fn new(address_bits: u32) -> Windows {
        if address_bits > 32 {
            Windows {
                shared: 0x7f00_0000_0000,
                local: 0x7f10_0000_0000,
                param: 0x7f20_0000_0000,
                constant: 0x7f30_0000_0000,
                global: 0x7000_0000_0000,
                variables: 0x7100_0000_0000,
            }
        } else {
            Windows {
                shared: 0xa000_0000,
                local: 0xc000_0000,
                param: 0xd000_0000,
                constant: 0xe000_0000,
                global: 0x1000_0000,
                variables: 0x8000_0000,
            }
        }
    }

    /// Where the window of a space starts: 0 for those without one.
    pub fn start(&self, space: Space) -> u64 {
        match space {
            Space::Shared | Space::Cluster => self.shared,
            Space::Local => self.local,
            Space::Param => self.param,
            Space::Const => self.constant,
            Space::Global | Space::Generic => 0,
        }
    }

    /// Bytes of a space's window.
    pub fn size(space: Space) -> u64 {
        match space {
            Space::Shared | Space::Cluster => SHARED_WINDOW * MOST_RANKS,
            Space::Local => LOCAL_WINDOW,
            Space::Param | Space::Const => SMALL_WINDOW,
            Space::Global | Space::Generic => 0,
        }
    }

    /// The window that a generic address lies in, and the address within it.
    #[inline]
    pub fn locate(&self, address: u64) -> (Space, u64) {
        for space in [Space::Cluster, Space::Local, Space::Param, Space::Const] {
            let offset = address.wrapping_sub(self.start(space));
            if offset < Windows::size(space) {
                return (space, offset);
            }
        }
        (Space::Global, address)
    }
}

/// Code lies here; functions are 16 bytes apart.
const CODE: u64 = 0x1_0000;

/// The address of a routine of the code.
pub fn function_address(routine: u32) -> u64 {
    CODE + 16 * u64::from(routine)
}

/// The routine of the code that lies at an address.
pub fn function_at(address: u64) -> Option<u32> {
    let offset = address.checked_sub(CODE)?;
    (offset % 16 == 0).then_some(offset / 16).and_then(|index| u32::try_from(index).ok())
}
