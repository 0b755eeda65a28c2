//! What instructions say about the order of memory accesses (PTX ISA §8).

/// The threads that an operation can synchronise with, from the nearest on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Scope {
    /// Those of the CTA.
    Cta,
    /// Those of the cluster.
    Cluster,
    /// Those of the device.
    Gpu,
    /// All.
    Sys,
}

impl Scope {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Cta => ".cta",
            Scope::Cluster => ".cluster",
            Scope::Gpu => ".gpu",
            Scope::Sys => ".sys",
        }
    }
}

/// The order of a strong operation; weak ones have none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Order {
    /// What comes behind it is ordered after what it observes.
    pub acquires: bool,
    /// What came before it is ordered before who observes it.
    pub releases: bool,
    /// With whom.
    pub scope: Scope,
}

impl Order {
    /// Strong, but without order.
    pub const fn relaxed(scope: Scope) -> Order {
        Order { acquires: false, releases: false, scope }
    }
}

/// A fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Fence {
    /// What it orders between threads.
    pub threads: Option<Order>,
    /// What it orders between ways to memory.
    pub proxy: Option<ProxyFence>,
    /// Whether it publishes the barriers that the thread has initialised, and nothing else.
    pub inits: bool,
}

/// What a fence between proxies orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ProxyFence {
    /// Generic and asynchronous accesses to these spaces.
    Async {
        /// To shared memory.
        shared: bool,
        /// To global memory.
        global: bool,
    },
    /// Changes of tensor maps before, with their use elsewhere.
    MapRelease,
    /// Uses of tensor maps behind, with their changes elsewhere.
    MapAcquire,
}
