//! What a run can find: one static value for each rule, with its number in the digest of the manual.

use crate::diagnostic;

/// What sort of fault a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Accesses that nothing orders.
    Race,
    /// The manual does not define what happens.
    UndefinedBehaviour,
    /// Nothing can go on.
    Deadlock,
    /// A barrier's phases or transactions do not add up.
    Phase,
    /// Something asynchronous outlives what it uses.
    Leak,
    /// Memory differs from what the file expects.
    Expectation,
    /// Slower than it need be.
    Performance,
}

impl Kind {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Race => "race",
            Kind::UndefinedBehaviour => "undefined-behaviour",
            Kind::Deadlock => "deadlock",
            Kind::Phase => "phase",
            Kind::Leak => "leak",
            Kind::Expectation => "expectation",
            Kind::Performance => "performance",
        }
    }
}

/// A rule that runs check.
#[derive(Debug)]
pub struct RunRule {
    /// What [`crate::diagnostic::Diagnostic`] needs to know of it.
    pub rule: diagnostic::Rule,
    /// Its number in the digest of the manual, or its name where it has none.
    pub number: &'static str,
    /// What sort of fault it is about.
    pub kind: Kind,
    /// What to do about it, in general.
    pub advice: &'static str,
}

/// Declares rules, and `RULES`, the list of them.
macro_rules! rules {
    ($($ident:ident $number:literal $name:literal $kind:ident $severity:ident $summary:literal $advice:literal)*) => {
        $(
            #[doc = $summary]
            pub static $ident: $crate::machine::rule::RunRule = $crate::machine::rule::RunRule {
                rule: $crate::diagnostic::Rule {
                    name: $name,
                    severity: $crate::diagnostic::Severity::$severity,
                    ptxas: $crate::diagnostic::Ptxas::Accepts,
                    summary: $summary,
                    page: concat!("# ", $name, "\n\n", $summary, "\n\n", $advice, "\n"),
                },
                number: $number,
                kind: $crate::machine::rule::Kind::$kind,
                advice: $advice,
            };
        )*

        /// All rules, in the order of their numbers.
        pub static RULES: &[&$crate::machine::rule::RunRule] = &[$(&$ident),*];
    };
}
pub(crate) use rules;

rules! {
    NOT_A_BARRIER "M1" "not-a-barrier" UndefinedBehaviour Error
        "An mbarrier operation on memory that holds no valid mbarrier object."
        "The 8 bytes have to be made a barrier by an init first, and must not have been invalidated since. Initialise the barrier in one thread, and let the CTA synchronise before others use it."
    REINITIALIZED "M2" "live-barrier-initialized" UndefinedBehaviour Error
        "An init of memory that already holds a valid mbarrier object."
        "End the first object with an inval, after its last use and a synchronisation, before the memory is made a barrier again. Phases of a barrier need no new init: it starts each phase by itself."
    PLAIN_ACCESS "M3" "barrier-accessed-as-data" UndefinedBehaviour Error
        "An ordinary access to the 8 bytes of a valid mbarrier object."
        "The object is opaque: only mbarrier operations may touch it until it is invalidated. Put data elsewhere, or invalidate the barrier first."
    MISALIGNED_BARRIER "M5" "misaligned-barrier" UndefinedBehaviour Error
        "An mbarrier object that is not aligned to 8 bytes."
        "Declare it `.b64`, or `.align 8`, and address it in steps of 8 bytes."
    FOREIGN_BARRIER "M6" "barrier-of-another-cta" UndefinedBehaviour Error
        "An operation that is only for barriers of the own CTA, on another address."
        "Initialisation, waits, inval and queries work on a barrier of the own CTA only. Wait on the own barrier, and let the peer arrive on it remotely."
    NO_SHARED_BARRIER "M7" "barrier-outside-shared-memory" UndefinedBehaviour Error
        "An mbarrier operation on an address outside of shared memory."
        "A barrier lies in shared memory of the cluster. A generic address has to point into that window."
    INIT_COUNT "M10" "initial-count-out-of-range" UndefinedBehaviour Error
        "An initial arrival count that the barrier cannot hold."
        "The count is the number of arrivals that each phase waits for: at least 1, and at most 2^20 - 1 (511 in layout v1)."
    ARRIVE_COUNT "M11" "arrive-count-out-of-range" UndefinedBehaviour Error
        "An arrival count of 0, or beyond what a barrier can hold."
        "A lane that arrives does so at least once. Guard the instruction where nothing has to be counted."
    OVER_ARRIVAL "M12" "over-arrival" UndefinedBehaviour Error
        "More arrivals in a phase than the barrier expects."
        "The pending count must not go below 0; the chip traps. All lanes that arrive together are one update with the sum of their counts, and it cannot reach into the next phase. Initialise the barrier with the number of arrivals of a phase, or let fewer threads arrive."
    COMPLETED "M14" "no-complete-completed" UndefinedBehaviour Error
        "An arrival with `.noComplete` that completed the phase."
        "The modifier promises that other arrivals are still to come in the phase."
    DROPPED_TO_ZERO "M15" "dropped-to-zero" UndefinedBehaviour Warning
        "A drop that leaves a barrier on which nobody is expected any more."
        "The expected arrival count has to stay at least 1. After this the barrier must not be used again: any arrival traps."
    TX_RANGE "M16" "tx-count-out-of-range" UndefinedBehaviour Error
        "A transaction count outside of plus or minus 2^20 - 1."
        "Spread larger amounts over several phases or barriers. A negative number in a register counts as a very large one."
    PENDING_RANGE "M18" "pending-count-out-of-range" UndefinedBehaviour Error
        "More pending arrivals than a barrier can hold."
        "An arrival that copies trigger first raises the pending count by one in each lane; the modifier `.noinc` makes it part of the initial count."
    TX_LEFT "M20" "transactions-left" Phase Error
        "A barrier whose transactions do not add up when its CTA ends."
        "Every announced byte has to arrive, and every byte that arrives has to be announced, in the same phase. Otherwise the phase never completes, or a later one completes at a wrong time."
    STALE_WAIT "M21" "stale-wait" UndefinedBehaviour Error
        "A wait for a phase that is neither the current one nor the one before."
        "A state stays valid until the end of the phase that follows it. Keep the state of the latest arrival."
    FOREIGN_TOKEN "M22" "foreign-state" UndefinedBehaviour Error
        "A wait with a state that no arrival on this barrier returned."
        "A state belongs to the barrier that returned it, and to its lifetime since the last init."
    PLAIN_TOKEN "M24" "state-without-count" UndefinedBehaviour Note
        "The pending count of a state that comes from no arrival with `.noComplete`."
        "Only the states of such arrivals are defined to hold a count."
    DEADLOCK "M28" "deadlock" Deadlock Error
        "Threads that wait for something that can no longer happen."
        "Usual causes: an arrival too few, bytes that nobody copies, a parity that is off by one, an arrival behind a wrong guard, warps at different barriers, a loop on memory that nobody writes."
    PARITY_VALUE "M43a" "parity-value" UndefinedBehaviour Error
        "A phase parity other than 0 and 1."
        "Pass the lowest bit of the phase number. The chip looks at that bit alone, but nothing promises it."
    REMOTE_STATE "M35" "remote-state" UndefinedBehaviour Error
        "An arrival on another CTA's barrier that asks for the state."
        "Only an arrival on a barrier of the own CTA returns one; write `_`."
    SOURCE_SIZE "C4" "source-size-out-of-range" UndefinedBehaviour Error
        "A copy of more source bytes than its size."
        "The source size says how many of the bytes come from the source; the rest become zero. It is at most the size of the copy."
    MISALIGNED_COPY "C5" "misaligned-copy" UndefinedBehaviour Error
        "A copy whose source or destination is not aligned to its size."
        "A copy of 4, 8 or 16 bytes needs both addresses aligned to so many bytes."
    COPIES_LEFT "C10" "copies-in-flight-at-exit" Leak Warning
        "A CTA that ends while copies into its shared memory may still be under way."
        "Its shared memory may belong to another CTA when they land. Wait for the copies before the last thread leaves."
    BULK_SIZE "B1" "bulk-size" UndefinedBehaviour Error
        "A bulk copy whose size is no multiple of 16."
        "Copy the rest in another way, or pad it. The chip cuts the size down to a multiple of 16: fewer bytes are copied, and fewer counted, than the program believes."
    BULK_ALIGNMENT "B2" "misaligned-bulk-copy" UndefinedBehaviour Error
        "A bulk copy whose source or destination is not aligned to 16 bytes."
        "Both addresses have to be multiples of 16; boxes of tensors lie at multiples of 128 bytes in shared memory."
    BARRIER_ELSEWHERE "B4" "barrier-in-another-cta" UndefinedBehaviour Error
        "A copy whose barrier does not lie in the CTA of its destination."
        "Data and barrier belong to one CTA: map both addresses to the same rank."
    COPY_TO_SELF "B5" "copy-to-own-cta" UndefinedBehaviour Error
        "A copy, or a reduction, between CTAs of a cluster whose destination is the own CTA."
        "Map the destination to another rank, or use ordinary loads, stores and atomics in the own CTA."
    EXITED_TARGET "B6" "exited-cta" UndefinedBehaviour Error
        "An access to shared memory of a CTA that has ended."
        "Keep the CTA alive until its peers are done with its memory: let the cluster synchronise before anyone leaves."
    IGNORED_BYTES "B9" "ignored-bytes" UndefinedBehaviour Error
        "More than 15 ignored bytes at an end of a copy."
        "Only parts of the first and the last 16 bytes can be out of bounds."
    READING_AT_EXIT "B12" "reading-at-exit" Leak Warning
        "A CTA that ends while copies may still read its shared memory."
        "Wait with `.read` until the copies have read their source before the last thread leaves."
    MULTICAST_RANK "B14" "no-such-cta" UndefinedBehaviour Error
        "A CTA that the cluster does not have."
        "Each bit of a multicast mask, and each rank, stands for a CTA of the cluster."
    CANCEL_AFTER_FAILURE "B16" "cancel-after-failure" UndefinedBehaviour Error
        "Another request to take over a cluster after one was seen to fail."
        "When an answer says that nothing is left to take over, stop asking."
    PLACE_OF_FAILURE "B16a" "place-of-failed-request" UndefinedBehaviour Error
        "The place of the CTA that a failed request took over."
        "Ask first whether the request has taken something over, and guard the instruction with the answer."
    TENSOR_MAP "B3" "tensor-map" UndefinedBehaviour Error
        "A tensor copy that its tensor map does not allow."
        "Compare the coordinates and the mode of the copy with the rank, the extents and the element type of the map."
    MISALIGNED "misaligned-access" "misaligned-access" UndefinedBehaviour Error
        "An access whose address is not a multiple of its size."
        "Addresses have to be aligned to the bytes that are accessed, vectors as a whole (PTX ISA 6.4.1)."
    OUT_OF_BOUNDS "out-of-bounds" "out-of-bounds" UndefinedBehaviour Error
        "An access outside of every argument and variable."
        "Check the index, the size that was passed, and the shape of the launch."
    READ_ONLY "read-only" "read-only-memory" UndefinedBehaviour Error
        "A write to memory that cannot be written."
        "Constants and parameters of a kernel are read-only: write to a variable, or to memory that an argument points to."
    UNDEFINED_VALUE "undefined-value" "undefined-value" UndefinedBehaviour Error
        "Something depends on a register or on bytes that nobody has written."
        "Undefined values may be moved around, but not decide anything or get out. Set the register, or write the memory, before."
    BROKEN_MEETING "broken-meeting" "broken-meeting" UndefinedBehaviour Error
        "Lanes of a warp that should execute an instruction together stand at different ones."
        "An `.aligned` instruction is for all lanes of the warp at once, one with a member mask for the lanes that it names. Move it out of the divergent code, or use the form without `.aligned`."
    MEMBER_MASK "member-mask" "member-mask" UndefinedBehaviour Error
        "A lane that executes an instruction whose member mask does not name it."
        "Every lane that executes the instruction has to be in the mask."
    DIVERGENT_UNIFORM "divergent-uniform" "divergent-uniform" UndefinedBehaviour Error
        "Lanes that part at a branch which promises that they do not."
        "Leave `.uni` away where lanes may decide differently."
    BRANCH_INDEX "branch-index" "branch-index" UndefinedBehaviour Error
        "An indexed branch or call with no such target."
        "The index has to be smaller than the number of targets; the address has to be that of a function."
    BARRIER_THREADS "barrier-threads" "barrier-threads" UndefinedBehaviour Error
        "A CTA barrier with a wrong number, or a wrong number of threads."
        "There are 16 barriers. The number of threads is a multiple of 32, and the same for all that take part."
    BARRIER_MIXED "barrier-mixed" "barrier-mixed" UndefinedBehaviour Error
        "Different operations on one CTA barrier at the same time."
        "A reduction must not meet a sync or an arrive at the barrier, and a warp that has arrived must not use it again before it is complete. Use another barrier number."
    CLUSTER_ORDER "cluster-barrier-order" "cluster-barrier-order" UndefinedBehaviour Error
        "A thread that arrives at the cluster barrier twice without waiting, or waits without having arrived."
        "Arrive and wait alternate in each thread."
    STACK_OVERFLOW "stack-overflow" "stack-overflow" UndefinedBehaviour Error
        "Calls or local variables that need more memory than a thread has."
        "Recursion has to end; a thread has 512 KiB of local memory."
    TRAP "trap" "trap" UndefinedBehaviour Error
        "The program stops itself."
        "It has executed a trap, or an assertion has failed."
    UNSUPPORTED "unsupported" "unsupported" UndefinedBehaviour Note
        "An instruction that cannot be executed here."
        "The run ends there, because nothing is known of what would follow. Instructions of the tensor cores of Hopper and Blackwell, textures, multimem and fabric accesses are among them."
    EXPECTATION "expectation" "expectation" Expectation Error
        "Memory after the run differs from what the file expects."
        "The first differences are shown."
    DIVERGED_UPDATE "diverged-update" "diverged-update" Performance Note
        "Lanes of a warp that could arrive or commit together do so one after the other."
        "Converged lanes make one update of the barrier, or one batch of copies, together; diverged ones make one each, and waits may wait for more copies than they need. Let the warp synchronise before."
}

/// The rule of that name or number.
pub fn find(name: &str) -> Option<&'static RunRule> {
    RULES.iter().copied().find(|rule| rule.rule.name == name || rule.number.eq_ignore_ascii_case(name))
}
