//! The mbarrier object as a state machine (PTX ISA §9.7.15.16). Pure: it knows neither memory nor threads.
//!
//! Every operation either succeeds, perhaps completing the current phase, or is a [`Violation`] of
//! the manual. After a violation the object is as an H200 leaves it, and the violation says whether the
//! chip traps.

use std::fmt;

/// Counts have this many bits in layout v0 (PTX ISA table 43).
const COUNT_BITS: u32 = 20;
/// The largest arrival count of layout v0.
pub const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;
/// The largest arrival count of layout v1.
pub const MAX_COUNT_V1: u32 = 511;
/// The largest absolute transaction count.
pub const MAX_TX: u32 = (1 << 20) - 1;

/// The layout of a barrier object, chosen by its init.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Layout {
    /// Counts up to 2^20 − 1.
    #[default]
    V0,
    /// Counts up to 511, and a payload report for each phase.
    V1,
}

impl Layout {
    /// The largest arrival count.
    pub const fn max_count(self) -> u32 {
        match self {
            Layout::V0 => MAX_COUNT,
            Layout::V1 => MAX_COUNT_V1,
        }
    }
}

/// What the manual does not define.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Violation {
    /// An initial arrival count of 0, or above the layout's largest (M10).
    InitCount {
        /// The count.
        count: u32,
        /// The largest that is allowed.
        max: u32,
    },
    /// An arrival count of 0, or above the layout's largest (M11).
    ArriveCount {
        /// The count of one lane.
        count: u32,
        /// The largest that is allowed.
        max: u32,
    },
    /// More arrivals than are pending (M12).
    OverArrival {
        /// The sum of the counts.
        count: u64,
        /// The pending count before.
        pending: u32,
    },
    /// A drop of more arrivals than are pending, or expected (M12).
    OverDrop {
        /// The sum of the counts.
        count: u64,
        /// The pending count before.
        pending: u32,
    },
    /// An arrival that promised not to complete the phase completed it (M14).
    Completed,
    /// A drop left no expected arrivals (M15).
    DroppedToZero,
    /// A transaction count operand of 2^20 or more (M16, M17).
    TxOperand {
        /// The operand.
        count: u32,
    },
    /// The transaction count left ±(2^20 − 1) (M16).
    TxRange {
        /// What it would be.
        count: i64,
    },
    /// An increment of the pending count beyond the layout's largest (M18).
    PendingRange {
        /// What it would be.
        count: u64,
        /// The largest that is allowed.
        max: u32,
    },
}

impl Violation {
    /// Whether an H200 ends the kernel there (`CUDA_ERROR_LAUNCH_FAILED`).
    pub const fn traps(self) -> bool {
        match self {
            Violation::OverArrival { .. } | Violation::OverDrop { .. } | Violation::TxOperand { .. } => true,
            // One more than the manual allows is tolerated above, none below.
            Violation::TxRange { count } => count < 0 || count > 1 << COUNT_BITS,
            Violation::InitCount { .. }
            | Violation::ArriveCount { .. }
            | Violation::Completed
            | Violation::DroppedToZero
            | Violation::PendingRange { .. } => false,
        }
    }
}

/// What an operation did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use]
pub struct Effect {
    /// The phase that it completed.
    pub completed: Option<u64>,
    /// What was wrong with it.
    pub violation: Option<Violation>,
}

impl Effect {
    fn wrong(violation: Violation) -> Effect {
        Effect { completed: None, violation: Some(violation) }
    }
}

/// Which of the two phase numbers of a v1 barrier is meant; they are the same in v0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PhaseType {
    /// Advances with every completion.
    #[default]
    Primary,
    /// Advances only with completions that carry no report.
    Conditional,
}

/// What copies reported about their data in a phase (layout v1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Report {
    /// Whether any did.
    pub predicate: bool,
    /// The values, or-ed together.
    pub value: u8,
}

/// The phase token that an arrival returns: an opaque value for programs.
///
/// Its low 20 bits hold the pending count before the arrival, negated, as on the chip: what
/// `pending_count` makes of a register that was never written is then the same, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token(pub u64);

const PHASE_BITS: u32 = 18;
const LIFETIME_BITS: u32 = 24;

impl Token {
    /// The token of an arrival.
    pub fn new(pending: u32, phase: u64, lifetime: u32, no_complete: bool) -> Token {
        let negated = u64::from((1 << COUNT_BITS) - (pending & MAX_COUNT)) & u64::from(MAX_COUNT);
        let phase = phase & ((1 << PHASE_BITS) - 1);
        let lifetime = u64::from(lifetime) & ((1 << LIFETIME_BITS) - 1);
        let flags = u64::from(no_complete) << 62 | 1 << 63;
        Token(negated | phase << COUNT_BITS | lifetime << (COUNT_BITS + PHASE_BITS) | flags)
    }

    /// Whether an arrival may have made it.
    pub fn is_token(self) -> bool {
        self.0 >> 63 == 1
    }

    /// Whether an arrival that promised not to complete the phase made it.
    pub fn is_no_complete(self) -> bool {
        self.0 >> 62 == 3
    }

    /// The pending count before the arrival.
    pub fn pending(self) -> u32 {
        (1 << COUNT_BITS) - (self.0 as u32 & MAX_COUNT)
    }

    /// The parity of its phase: all that the chip looks at.
    pub fn parity(self) -> u32 {
        (self.0 >> COUNT_BITS) as u32 & 1
    }

    /// The number of its phase, modulo a power of two.
    fn phase(self) -> u64 {
        self.0 >> COUNT_BITS & ((1 << PHASE_BITS) - 1)
    }

    /// How many phases before `current` it was made; `None`: not within the last few thousand.
    pub fn age(self, current: u64) -> Option<u64> {
        let age = current.wrapping_sub(self.phase()) & ((1 << PHASE_BITS) - 1);
        (age < 1 << (PHASE_BITS - 1)).then_some(age)
    }

    /// Whether it was made by a barrier of that lifetime.
    pub fn is_of(self, lifetime: u32) -> bool {
        let own = self.0 >> (COUNT_BITS + PHASE_BITS) & ((1 << LIFETIME_BITS) - 1);
        self.is_token() && own == u64::from(lifetime) & ((1 << LIFETIME_BITS) - 1)
    }
}

/// An mbarrier object.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Default)]
pub struct Barrier {
    layout: Layout,
    /// Arrivals that each later phase starts with.
    expected: u32,
    /// Arrivals that the current phase still waits for.
    pending: u32,
    /// Transactions that the current phase still waits for; negative: they came before they were announced.
    tx: i64,
    primary: u64,
    conditional: u64,
    /// Whether no phase completes, because of an initial count beyond the manual's.
    stuck: bool,
    /// Of the current phase and of the one before, by the parity of the primary phase.
    reports: [Report; 2],
}

impl Barrier {
    /// A new barrier. A count out of range is kept as the chip keeps it: 20 bits of count; of the bits 20 to
    /// 30 the first, or with a count of 0 any, gives the parity of the first phase, and they keep a phase
    /// from ever completing.
    pub fn new(layout: Layout, count: u32) -> (Barrier, Effect) {
        let max = layout.max_count();
        let kept = count & MAX_COUNT;
        let beyond = (count >> COUNT_BITS) & 0x7ff;
        let primary = u64::from((beyond & 1 == 1) != (kept == 0 && beyond != 0));
        let stuck = beyond != 0 && kept != 0;
        let barrier = Barrier {
            layout,
            expected: kept,
            pending: kept,
            primary,
            conditional: primary,
            stuck,
            ..Barrier::default()
        };
        let wrong = count == 0 || count > max;
        let violation = wrong.then_some(Violation::InitCount { count, max });
        (barrier, Effect { completed: None, violation })
    }

    /// Its layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The number of the current (incomplete) phase; 0 after init.
    pub fn phase(&self) -> u64 {
        self.primary
    }

    /// Arrivals that the current phase still waits for.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Arrivals that each later phase will wait for.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Transactions that the current phase still waits for.
    pub fn tx_count(&self) -> i64 {
        self.tx
    }

    /// Adds to the transactions that the current phase waits for. Raising a negative count to 0 when
    /// nothing is pending completes the phase, as on the chip; the manual is silent on it.
    pub fn expect_tx(&mut self, count: u32) -> Effect {
        let effect = self.change_tx(count, 1);
        if count == 0 { effect } else { self.then_complete(effect) }
    }

    /// Takes off transactions; may complete the phase.
    pub fn complete_tx(&mut self, count: u32) -> Effect {
        let effect = self.change_tx(count, -1);
        self.then_complete(effect)
    }

    fn change_tx(&mut self, count: u32, sign: i64) -> Effect {
        if count > MAX_TX {
            return Effect::wrong(Violation::TxOperand { count });
        }
        self.tx += sign * i64::from(count);
        if self.tx.unsigned_abs() > u64::from(MAX_TX) {
            return Effect::wrong(Violation::TxRange { count: self.tx });
        }
        Effect::default()
    }

    /// Takes off `count` pending arrivals, the sum over the lanes of one update.
    pub fn arrive(&mut self, count: u64) -> Effect {
        if count > u64::from(self.pending) {
            return Effect::wrong(Violation::OverArrival { count, pending: self.pending });
        }
        self.pending -= count as u32;
        self.then_complete(Effect::default())
    }

    /// Lowers what later phases expect, and arrives as often. Dropping more than is pending leaves a
    /// barrier that is of no use, as on the chip.
    pub fn arrive_drop(&mut self, count: u64) -> Effect {
        if count > u64::from(self.pending.min(self.expected)) {
            let effect = Effect::wrong(Violation::OverDrop { count, pending: self.pending });
            self.pending = self.pending.wrapping_sub(count as u32) & MAX_COUNT;
            self.expected = self.expected.wrapping_sub(count as u32) & MAX_COUNT;
            return effect;
        }
        self.expected = self.expected.wrapping_sub(count as u32) & MAX_COUNT;
        let dropped_to_zero = self.expected == 0 && count > 0;
        let mut effect = self.arrive(count);
        if dropped_to_zero && effect.violation.is_none() {
            effect.violation = Some(Violation::DroppedToZero);
        }
        effect
    }

    /// The increment of an arrival that a copy will trigger later.
    pub fn increment(&mut self, count: u64) -> Effect {
        let sum = u64::from(self.pending) + count;
        let max = self.layout.max_count();
        self.pending = sum as u32 & MAX_COUNT;
        if sum > u64::from(max) {
            return Effect::wrong(Violation::PendingRange { count: sum, max });
        }
        Effect::default()
    }

    /// Notes a report of a copy for the current phase (layout v1).
    pub fn report(&mut self, value: u8) {
        let report = &mut self.reports[(self.primary & 1) as usize];
        report.predicate = true;
        report.value |= value;
    }

    /// The report of the phase before the current one.
    pub fn last_report(&self) -> Report {
        self.reports[((self.primary & 1) ^ 1) as usize]
    }

    /// Whether the phase of this parity, the current one or the one before, is complete.
    pub fn is_complete(&self, parity: u32, phase_type: PhaseType) -> bool {
        let phase = match phase_type {
            PhaseType::Primary => self.primary,
            PhaseType::Conditional => self.conditional,
        };
        phase & 1 != u64::from(parity & 1)
    }

    fn then_complete(&mut self, effect: Effect) -> Effect {
        if effect.violation.is_some() || self.stuck || self.pending != 0 || self.tx != 0 {
            return effect;
        }
        let completed = self.primary;
        let report = self.reports[(completed & 1) as usize];
        self.primary += 1;
        if !report.predicate {
            self.conditional += 1;
        }
        self.reports[(self.primary & 1) as usize] = Report::default();
        self.pending = self.expected;
        Effect { completed: Some(completed), violation: None }
    }
}

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "phase {}, pending arrivals {}, tx-count {}", self.primary, self.pending, self.tx)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Arrive(u32),
        Drop(u32),
        Expect(u32),
        Complete(u32),
        Increment(u32),
    }

    fn apply(barrier: &mut Barrier, op: Op) -> Effect {
        match op {
            Op::Arrive(count) => barrier.arrive(count.into()),
            Op::Drop(count) => barrier.arrive_drop(count.into()),
            Op::Expect(count) => barrier.expect_tx(count),
            Op::Complete(count) => barrier.complete_tx(count),
            Op::Increment(count) => barrier.increment(count.into()),
        }
    }

    /// The words of the manual, and nothing kept but what was done since the phase began.
    #[derive(Default)]
    struct Naive {
        /// Of this phase, and of the next ones.
        expected: [i64; 2],
        phase: u64,
        done: Vec<Op>,
    }

    impl Naive {
        fn pending(&self) -> i64 {
            let taken = |op: &Op| match *op {
                Op::Arrive(count) | Op::Drop(count) => i64::from(count),
                Op::Increment(count) => -i64::from(count),
                Op::Expect(_) | Op::Complete(_) => 0,
            };
            self.expected[0] - self.done.iter().map(taken).sum::<i64>()
        }

        fn tx(&self) -> i64 {
            self.done
                .iter()
                .map(|op| match *op {
                    Op::Expect(count) => i64::from(count),
                    Op::Complete(count) => -i64::from(count),
                    _ => 0,
                })
                .sum()
        }

        /// Whether the manual defines the operation.
        fn allows(&self, op: Op) -> bool {
            let tx = self.tx();
            match op {
                Op::Arrive(count) => i64::from(count) <= self.pending(),
                Op::Drop(count) => i64::from(count) <= self.pending().min(self.expected[1]),
                Op::Expect(count) => tx + i64::from(count) <= i64::from(MAX_TX),
                Op::Complete(count) => tx - i64::from(count) >= -i64::from(MAX_TX),
                Op::Increment(count) => self.pending() + i64::from(count) <= i64::from(MAX_COUNT),
            }
        }

        fn apply(&mut self, op: Op) -> Option<u64> {
            if let Op::Drop(count) = op {
                self.expected[1] -= i64::from(count);
            }
            self.done.push(op);
            let complete = !matches!(op, Op::Increment(_)) && self.pending() == 0 && self.tx() == 0;
            complete.then(|| {
                self.done.clear();
                self.expected[0] = self.expected[1];
                self.phase += 1;
                self.phase - 1
            })
        }
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            4 => (1u32..4).prop_map(Op::Arrive),
            1 => (1u32..3).prop_map(Op::Drop),
            2 => (1u32..5).prop_map(|n| Op::Expect(n * 16)),
            2 => (1u32..5).prop_map(|n| Op::Complete(n * 16)),
            1 => (1u32..3).prop_map(Op::Increment),
            1 => (MAX_TX - 64..=MAX_TX).prop_map(Op::Expect),
            1 => (MAX_TX - 64..=MAX_TX).prop_map(Op::Complete),
        ];
        prop::collection::vec(op, 1..120)
    }

    proptest! {
        #[test]
        fn it_does_what_the_manual_says(count in 1u32..9, ops in ops()) {
            let (mut barrier, _) = Barrier::new(Layout::V0, count);
            let mut naive = Naive { expected: [count.into(); 2], ..Naive::default() };
            for op in ops {
                let allowed = naive.allows(op);
                let before = barrier.clone();
                let effect = apply(&mut barrier, op);
                let undefined = effect.violation.filter(|v| *v != Violation::DroppedToZero);
                prop_assert_eq!(undefined.is_none(), allowed, "{:?} on {}", op, before);
                if !allowed {
                    barrier = before;
                    continue;
                }
                prop_assert_eq!(effect.completed, naive.apply(op));
                prop_assert_eq!(barrier.phase(), naive.phase);
                prop_assert_eq!(i64::from(barrier.pending()), naive.pending());
                prop_assert_eq!(barrier.tx_count(), naive.tx());
            }
        }

        /// Of operations that do not complete a phase the order does not matter.
        #[test]
        fn operations_within_a_phase_commute(ops in ops(), seed: u64) {
            let ops: Vec<Op> = ops.into_iter().filter(|op| !matches!(op, Op::Increment(_))).take(12).collect();
            let (start, _) = Barrier::new(Layout::V0, 100);
            let run = |ops: &[Op]| {
                let mut barrier = start.clone();
                let fine = ops.iter().all(|op| apply(&mut barrier, *op).violation.is_none());
                (fine, barrier)
            };
            let mut shuffled = ops.clone();
            let mut random = crate::launch::Random::new(seed);
            for at in (1..shuffled.len()).rev() {
                shuffled.swap(at, random.below(at as u32 + 1) as usize);
            }
            let (one, other) = (run(&ops), run(&shuffled));
            prop_assume!(one.0 && other.0);
            prop_assert_eq!(one.1, other.1);
        }

        /// One update of many lanes is as good as theirs one after the other.
        #[test]
        fn an_update_of_a_warp_is_the_sum_of_its_lanes(count in 32u32..1000, lanes in 1u64..32) {
            let (mut together, _) = Barrier::new(Layout::V0, count);
            let mut apart = together.clone();
            let _ = together.arrive(lanes);
            for _ in 0..lanes {
                let _ = apart.arrive(1);
            }
            prop_assert_eq!(together, apart);
        }

        #[test]
        fn tokens_keep_what_they_say(
            pending in 1u32..=MAX_COUNT, phase: u64, later in 0u64..1000, lifetime: u32, no_complete: bool,
        ) {
            let phase = phase >> 1;
            let token = Token::new(pending, phase, lifetime, no_complete);
            prop_assert!(token.is_token() && token.is_of(lifetime));
            prop_assert!(!token.is_of(lifetime.wrapping_add(1)));
            prop_assert_eq!(token.is_no_complete(), no_complete);
            prop_assert_eq!(token.pending(), pending);
            prop_assert_eq!(u64::from(token.parity()), phase & 1);
            prop_assert_eq!(token.age(phase + later), Some(later));
        }
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_its_last_byte() {
        let (mut barrier, effect) = Barrier::new(Layout::V0, 2);
        assert_eq!(effect, Effect::default());
        assert_eq!(barrier.expect_tx(64), Effect::default());
        assert_eq!(barrier.arrive(2), Effect::default());
        assert!(!barrier.is_complete(0, PhaseType::Primary));
        assert_eq!(barrier.complete_tx(64).completed, Some(0));
        assert!(barrier.is_complete(0, PhaseType::Primary));
        assert!(!barrier.is_complete(1, PhaseType::Primary));
        assert_eq!(barrier.pending(), 2);
    }

    #[test]
    fn reports_hold_the_conditional_phase_back() {
        let (mut barrier, _) = Barrier::new(Layout::V1, 1);
        barrier.report(5);
        barrier.report(2);
        assert_eq!(barrier.arrive(1).completed, Some(0));
        assert_eq!(barrier.last_report(), Report { predicate: true, value: 7 });
        assert!(barrier.is_complete(0, PhaseType::Primary));
        assert!(!barrier.is_complete(0, PhaseType::Conditional));
        assert_eq!(barrier.arrive(1).completed, Some(1));
        assert_eq!(barrier.last_report(), Report::default());
        assert!(barrier.is_complete(0, PhaseType::Conditional));
    }

    #[test]
    fn counts_beyond_the_layout_are_violations() {
        for (layout, max) in [(Layout::V0, MAX_COUNT), (Layout::V1, MAX_COUNT_V1)] {
            assert_eq!(Barrier::new(layout, max).1.violation, None);
            for count in [0, max + 1] {
                assert_eq!(
                    Barrier::new(layout, count).1.violation,
                    Some(Violation::InitCount { count, max })
                );
            }
        }
    }
}
