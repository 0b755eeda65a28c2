//! What happens in a run, for those who watch it.
//!
//! Events are put down in the order in which things happen, and only when somebody asks for them
//! ([`super::Options::events`]).

use super::code::{Family, Pc, Update};
use super::column::Mask;
use super::copy::{From, Part, Signal};
use super::cta::Site;
use super::exec::Place;
use super::order::{Fence, Order};

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// Lanes accessed memory that others can see.
    Access(Box<Accessed>),
    /// Lanes used a barrier object.
    Barrier(Box<BarrierUse>),
    /// Lanes started a copy.
    Start(Box<Started>),
    /// All of a copy has landed, and a barrier has counted its bytes.
    Delivered {
        /// The number of the copy.
        copy: u32,
        /// The barrier.
        object: Object,
        /// How many bytes.
        bytes: u32,
    },
    /// Copies were complete for which an arrival waited; it happened.
    Triggered {
        /// Who asked for it: the lanes whose copies are complete.
        by: Site,
        /// Copies up to this number were waited for.
        last: u32,
        /// The barrier.
        object: Object,
    },
    /// Lanes closed groups of copies.
    Commit {
        /// The lanes.
        by: Site,
        /// Of which kind.
        family: Family,
    },
    /// Lanes waited for groups of copies, which are complete.
    Waited {
        /// The lanes.
        by: Site,
        /// Of which kind.
        family: Family,
        /// All but so many of the newest groups; none: every copy.
        but: Option<u32>,
        /// Only until they have read their sources.
        read: bool,
    },
    /// Lanes of a warp executed something together that demands it.
    Met {
        /// All of them.
        by: Site,
        /// Whether it orders memory.
        orders: bool,
    },
    /// A warp came to a barrier of its CTA.
    CtaArrived {
        /// Its lanes.
        by: Site,
        /// The barrier.
        id: u32,
        /// Whether it waits there.
        waits: bool,
    },
    /// A barrier of a CTA released those that wait at it.
    CtaReleased {
        /// The CTA.
        cta: u32,
        /// The barrier.
        id: u32,
        /// Whether it counts threads, and does not wait for all that have not ended.
        counts: bool,
    },
    /// Lanes arrived at the barrier of the cluster.
    ClusterArrived {
        /// The lanes.
        by: Site,
        /// Whether that orders memory.
        releases: bool,
    },
    /// The barrier of a cluster completed.
    ClusterReleased {
        /// The cluster.
        cluster: u32,
    },
    /// Lanes passed their wait at the barrier of the cluster.
    ClusterWaited {
        /// The lanes.
        by: Site,
        /// Whether that orders memory.
        acquires: bool,
    },
    /// Lanes executed a fence.
    Fence {
        /// The lanes.
        by: Site,
        /// Which.
        fence: Fence,
    },
    /// Lanes ended.
    Exited {
        /// The lanes.
        by: Site,
    },
    /// All threads of a CTA have ended.
    CtaEnded {
        /// The CTA.
        cta: u32,
    },
}

/// A barrier object in one of its phases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// The CTA.
    pub cta: u32,
    /// Its address.
    pub address: u32,
    /// Tells its lifetime from others; 0: nobody has made it.
    pub lifetime: u64,
    /// The phase that it was in.
    pub phase: u64,
}

/// Bytes that a lane touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The lane.
    pub lane: u8,
    /// Where they start.
    pub place: Place,
    /// How many.
    pub size: u32,
    /// What was written, where that is known.
    pub value: u64,
}

/// What was done with bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touching {
    /// They were read.
    Read,
    /// They were written.
    Write,
    /// They were read and written at once.
    Update {
        /// How.
        update: Update,
        /// Whether the old value was kept.
        returns: bool,
    },
}

/// An access to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accessed {
    /// By whom.
    pub by: Site,
    /// What was done.
    pub kind: Touching,
    /// Its order, if it was strong.
    pub order: Option<Order>,
    /// The bytes.
    pub touches: Vec<Touch>,
}

/// A use of a barrier object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierUse {
    /// By whom.
    pub by: Site,
    /// Which barrier, in the phase before it.
    pub object: Object,
    /// What was done.
    pub what: BarrierStep,
    /// Its order.
    pub order: Order,
}

/// What is done with a barrier object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierStep {
    /// It was made.
    Init,
    /// It was ended.
    Inval,
    /// Transactions were announced.
    Expect {
        /// How many.
        bytes: u32,
        /// The instruction then arrives.
        arrives: bool,
    },
    /// Transactions were taken off.
    Complete {
        /// How many.
        bytes: u32,
    },
    /// An arrival.
    Arrive {
        /// The sum over the lanes.
        count: u64,
        /// It promised not to complete the phase.
        no_complete: bool,
    },
    /// The arrival that copies trigger later was counted in.
    Increment,
    /// An arrival is to happen when copies are complete.
    Track,
    /// A phase was asked for.
    Ask {
        /// Which; -1 is the one that an init completes.
        phase: i64,
        /// Whether it is complete.
        passed: bool,
    },
    /// Something else was asked.
    Query,
}

/// A copy that was started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Started {
    /// Its number.
    pub copy: u32,
    /// By whom.
    pub by: Site,
    /// What it reads.
    pub reads: Vec<Touch>,
    /// What it writes.
    pub writes: Vec<Touch>,
    /// The tensor map that it reads.
    pub map: Option<Place>,
    /// The barrier that counts its bytes, in the phase it was in.
    pub signal: Option<(Signal, Object)>,
    /// Which groups it belongs to, if groups track it.
    pub family: Option<Family>,
    /// Whether it goes the asynchronous way to memory.
    pub is_async_proxy: bool,
    /// How it combines what it writes with what is there.
    pub update: Option<Update>,
    /// The order of what it writes, if it is strong.
    pub order: Option<Order>,
}

impl Started {
    /// What the parts of a copy read and write, adjacent bytes together.
    pub fn touches(parts: &[Part]) -> (Vec<Touch>, Vec<Touch>) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for part in parts {
            if let From::Memory(place) = part.from {
                add(&mut reads, part.lane, place, part.len.into());
            }
            if part.mask == u16::MAX {
                add(&mut writes, part.lane, part.to, part.size.into());
                continue;
            }
            for byte in (0..usize::from(part.size)).filter(|byte| part.mask >> byte & 1 == 1) {
                add(&mut writes, part.lane, part.to.moved(byte), 1);
            }
        }
        (reads, writes)
    }
}

fn add(touches: &mut Vec<Touch>, lane: u8, place: Place, size: u32) {
    if let Some(last) = touches.last_mut()
        && last.lane == lane
        && last.place.moved(last.size as usize) == place
    {
        last.size += size;
    } else if size > 0 {
        touches.push(Touch { lane, place, size, value: 0 });
    }
}
