//! The rules of races and schedules.

use crate::machine::rule::{RunRule, rules};

rules! {
    RACE "race" "race" Race Error
        "Two accesses to the same bytes, one of them a write, that nothing orders."
        "Which of them comes first differs from run to run. Order them: a barrier of the CTA or cluster between them, an arrival behind the first with a wait before the second, or a release that the other side acquires; for a copy, a wait for its end."
    BARRIER_RACE "M8" "barrier-not-published" Race Error
        "A barrier object that some threads may use before it is made, or after it is ended."
        "Make the barrier in one thread and let the CTA synchronise before others use it. For other CTAs of the cluster that takes the cluster barrier: with release and acquire, or relaxed behind the fence that publishes initialised barriers. End it only when all are done with it."
    MISSING_FENCE "B8" "proxy-race" Race Error
        "Accesses through the generic and the asynchronous proxy without a fence between the proxies on the way."
        "Ordinary stores and bulk copies take different ways to memory. The threads that store execute the fence between the generic and the asynchronous proxy behind their stores, then all synchronise, then the copy is started. A fence covers only what is ordered before it."
    MISSING_MAP_FENCE "B15" "missing-tensormap-fence" Race Error
        "A tensor map that was changed in memory and is used without the fences of its proxy between."
        "Behind the change comes the release fence of the tensor map's proxy, and before the use the acquire fence with the map's address."
    READ_BEFORE_OVERWRITE "B8w" "proxy-order-of-reads" Race Warning
        "A bulk copy writes over bytes that ordinary loads have read, without a fence between the proxies."
        "The loads are ordered before the copy, but through different proxies; the manual asks for a proxy fence behind the loads, before the arrival that frees the buffer. Most shipped code leaves it out; `--strict` makes it an error."
    OUTLIVED "B6w" "memory-outlived" Race Error
        "An access to shared memory of another CTA that nothing orders before that CTA ends."
        "When the last thread of a CTA has left, its shared memory is gone. Let the cluster synchronise behind the last remote access, before any thread leaves."
    DIFFERENT_RESULTS "different-results" "different-results" Race Warning
        "Schedules that end with different contents of memory."
        "Something decides by who comes first: an atomic's old value, a poll, a sum of floats."
    EARLY_ARRIVAL "S1" "early-arrival" Phase Warning
        "An arrival that could land in an earlier phase."
        "Whoever arrives in a phase has to know that the phase before is complete: let it wait for that phase first."
    EARLY_WAIT "S2a" "early-wait" Phase Warning
        "A wait that could be asked before the phase that precedes its own is complete."
        "The parity of a phase is also that of the one two before it: the wait would pass at once. A thread that waits for a phase has to know that the one before is complete."
    LAPPED_WAIT "S2b" "lapped-wait" Phase Warning
        "A wait that could be asked when the phase behind its own is complete already."
        "The parity of its phase then looks incomplete again, and the wait waits for ever. Some arrival of the next phase has to come behind the wait: let every waiter arrive on the barrier that frees the next round, not one thread for others that may not have looked yet."
    EARLY_EXPECT "S3a" "early-expect" Phase Warning
        "Transactions that could be announced in an earlier phase."
        "Whoever announces bytes has to know that the phase before is complete."
    LATE_EXPECT "S3a'" "late-expect" Phase Warning
        "A phase that could complete before its transactions are announced."
        "Announce the bytes together with an arrival of the phase, or before one in the same thread."
    EARLY_BYTES "S3b" "early-bytes" Phase Warning
        "Bytes of a copy that could be booked on an earlier phase."
        "Whoever starts a copy has to know that the phase before the one that counts its bytes is complete."
    LATE_INCREMENT "S3c" "late-increment" Phase Warning
        "A phase that could complete before the arrival that copies trigger is counted in."
        "The thread itself, or one that comes behind it, has to arrive in the same phase afterwards; or use the form that is part of the barrier's count."
    LAST_PROMISE "S3d" "last-promise" Phase Warning
        "An arrival that promises not to complete the phase, and could be the last one of it."
        "Another arrival of the phase has to come behind it."
    MIXED_GENERATIONS "S4" "mixed-generations" Phase Warning
        "An arrival at a barrier of the CTA or cluster that could take part in an earlier round."
        "A warp that did not take part in the round before has to know that it is complete. Use another barrier number."
    SEPARATE "lanes-may-separate" "lanes-may-separate" Phase Warning
        "A condition that holds only as long as lanes of a warp stay together."
        "An elected lane acts for its warp, and nothing makes it wait for the others: put a warp barrier before, or let every lane act. PTX does not promise that lanes stay together; `--strict` makes this an error."
    RELAXED_ORDER "order-rests-on-relaxed" "order-rests-on-relaxed" Phase Warning
        "An order that rests on operations without memory order."
        "Relaxed operations do not order memory: what was written before them need not be visible behind them. Let them release and acquire, or put fences around them."
    FOREIGN_DECISION "S5" "depends-on-schedule" Phase Note
        "Something is decided by a value that depends on the schedule."
        "An atomic's old value, a clock, a poll, or a flag that is written at any time steers the control flow, an address, a count, or a result: one run cannot speak for all."
    WIDE_PHASE "S3r" "wide-phase" Phase Warning
        "More bytes in one phase than a barrier can count, if they come in another order."
        "The transaction count has 20 bits and a sign: spread the bytes over several phases or barriers."
    FEW_PHASES "few-phases" "few-phases" Phase Note
        "A wait in a loop on a barrier that completed fewer than two phases of each parity."
        "Faults of phases show only from the second lap of a ring on: verify with more iterations."
}

/// The rule of that name or number.
pub fn find(name: &str) -> Option<&'static RunRule> {
    RULES.iter().copied().find(|rule| rule.rule.name == name || rule.number.eq_ignore_ascii_case(name))
}
