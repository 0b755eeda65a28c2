//! Memory order: what modifiers say of it.

use crate::isa::{Form, Mod, RowMatch};
use crate::machine::order::{Fence, Order, ProxyFence, Scope};

/// The scope that is written.
fn scope(row: &RowMatch) -> Option<Scope> {
    row.meanings().find_map(|modifier| match modifier {
        Mod::Cta => Some(Scope::Cta),
        Mod::Cluster => Some(Scope::Cluster),
        Mod::Gpu | Mod::Gl => Some(Scope::Gpu),
        Mod::Sys => Some(Scope::Sys),
        _ => None,
    })
}

fn semantics(row: &RowMatch) -> (bool, bool) {
    let acquires = row.has(Mod::Acquire) || row.has(Mod::AcqRel) || row.has(Mod::Sc);
    let releases = row.has(Mod::Release) || row.has(Mod::AcqRel) || row.has(Mod::Sc);
    (acquires, releases)
}

/// The order of a load or store: none where it is weak.
pub(super) fn of_access(row: &RowMatch) -> Option<Order> {
    if row.has(Mod::Volatile) {
        return Some(Order::relaxed(Scope::Sys));
    }
    let (acquires, releases) = semantics(row);
    let is_strong = acquires || releases || row.has(Mod::Relaxed);
    is_strong.then(|| Order { acquires, releases, scope: scope(row).unwrap_or(Scope::Sys) })
}

/// The order of an atomic or a reduction, which are always strong.
pub(super) fn of_update(row: &RowMatch) -> Order {
    let (acquires, releases) = semantics(row);
    Order { acquires, releases, scope: scope(row).unwrap_or(Scope::Gpu) }
}

/// The order of an operation on an mbarrier.
pub(super) fn of_barrier(row: &RowMatch) -> Order {
    let (acquires, releases) = semantics(row);
    Order { acquires, releases, scope: scope(row).unwrap_or(Scope::Cta) }
}

/// Whether an arrival or wait at the cluster barrier orders memory.
pub(super) fn of_cluster_barrier(row: &RowMatch) -> bool {
    !row.has(Mod::Relaxed)
}

/// What a fence orders.
pub(super) fn of_fence(row: &RowMatch) -> Fence {
    let (acquires, releases) = semantics(row);
    let scope = scope(row);
    let both = acquires == releases;
    let threads = |scope| Some(Order { acquires: acquires || both, releases: releases || both, scope });
    let shared = [Mod::Shared, Mod::SharedCta, Mod::SharedCluster].into_iter().any(|m| row.has(m));
    let global = row.has(Mod::Global);
    let spaces = ProxyFence::Async { shared: shared || !global, global: global || !shared };
    let only_shared = ProxyFence::Async { shared: true, global: false };
    let fence = |threads, proxy| Fence { threads, proxy, inits: false };
    match row.form() {
        Form::Fence | Form::Membar => fence(threads(scope.unwrap_or(Scope::Sys)), None),
        Form::FenceSharedAcquire | Form::FenceSharedRelease => fence(threads(Scope::Cluster), None),
        Form::FenceMbarrierInit => Fence { inits: true, ..Fence::default() },
        Form::FenceProxyAsync => fence(None, Some(spaces)),
        Form::MembarProxy if row.has(Mod::Async) => fence(None, Some(spaces)),
        Form::FenceProxyTensormapRelease => {
            fence(threads(scope.unwrap_or(Scope::Sys)), Some(ProxyFence::MapRelease))
        }
        Form::FenceProxyTensormapAcquire => {
            fence(threads(scope.unwrap_or(Scope::Sys)), Some(ProxyFence::MapAcquire))
        }
        Form::FenceProxyAsyncAcquire | Form::FenceProxyAsyncRelease => {
            fence(threads(Scope::Cluster), Some(only_shared))
        }
        Form::FenceProxyAsyncReleaseRead => fence(None, Some(only_shared)),
        Form::FenceProxyAcqRel => fence(threads(scope.unwrap_or(Scope::Sys)), Some(spaces)),
        // Aliases and the fabric are not told apart from the generic way.
        _ => Fence::default(),
    }
}
