//! What a run shows of the instructions of a program.

use mbar::machine::Machine;
use mbar::machine::Place;
use mbar::machine::code::Pc;
use mbar::machine::event::{BarrierStep, BarrierUse, Event, Object, Touch, Touching};
use mbar::program::flow::At;
use rustc_hash::{FxHashMap, FxHashSet};

/// An instruction: its routine, and its index there.
pub type Key = (u32, At);

/// What lanes did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// An access without order.
    Weak,
    /// A strong access.
    Strong,
    /// The start of a copy.
    Start,
    /// A barrier was made.
    Init,
    /// A barrier was ended.
    Inval,
    /// A barrier was used.
    Barrier,
    /// They came to a barrier of the CTA.
    Meeting,
    /// They came to the barrier of the cluster, with release.
    Cluster,
    /// Anything else.
    Other,
}

/// Something that lanes of a warp did.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// The number of the event.
    pub number: usize,
    /// By which instruction.
    pub key: Key,
    /// What.
    pub deed: Deed,
}

/// What a run shows.
#[derive(Default)]
pub struct Facts {
    /// Instructions that did something that others could see.
    pub acts: FxHashSet<Key>,
    /// Among those, the ones with bytes that somebody else accesses before them, one of both writing.
    pub behind_others: FxHashSet<Key>,
    /// The same: accesses behind them.
    pub before_others: FxHashSet<Key>,
    /// What each warp did, in order.
    pub history: FxHashMap<u32, Vec<Done>>,
    /// Phases of barriers that somebody has seen complete.
    pub seen: FxHashSet<(u64, i64)>,
    /// The phases that the arrivals of an instruction belong to.
    pub arrivals: FxHashMap<Key, FxHashSet<(u64, i64)>>,
    /// The phases that an instruction asked for, and the answers.
    pub answers: FxHashMap<Key, FxHashSet<(i64, bool)>>,
    /// The barriers that an instruction made.
    pub made: FxHashMap<Key, FxHashSet<u64>>,
    /// Barriers that were used.
    pub used: FxHashSet<u64>,
}

impl Facts {
    /// What the events of a run of `machine` show.
    pub fn new(machine: &Machine, events: &[Event]) -> Facts {
        let key = |pc: Pc| (machine.code.routine_of(pc).routine, machine.code.insts[pc as usize].at as At);
        let mut facts = Facts::default();
        let mut bytes = Bytes::default();
        for (number, event) in events.iter().enumerate() {
            let (by, deed) = match event {
                Event::Access(accessed) => {
                    let (by, kind) = (accessed.by, accessed.kind);
                    let lane = |touch: &Touch| u64::from(by.warp) << 8 | u64::from(touch.lane);
                    let (reads, writes) = (kind != Touching::Write, kind != Touching::Read);
                    bytes.touch(&accessed.touches, &lane, number, key(by.pc), reads, writes);
                    (by, if accessed.order.is_some() { Deed::Strong } else { Deed::Weak })
                }
                Event::Start(started) => {
                    let copy = |_: &Touch| 1 << 63 | u64::from(started.copy);
                    let key = key(started.by.pc);
                    bytes.touch(&started.reads, &copy, number, key, true, false);
                    bytes.touch(&started.writes, &copy, number, key, false, true);
                    (started.by, Deed::Start)
                }
                Event::Barrier(used) => (used.by, facts.barrier(key(used.by.pc), used)),
                Event::Triggered { by, object, .. } => {
                    let phases = facts.arrivals.entry(key(by.pc)).or_default();
                    phases.insert((object.lifetime, object.phase as i64));
                    continue;
                }
                Event::CtaArrived { by, .. } => (*by, Deed::Meeting),
                Event::ClusterArrived { by, releases: true } => (*by, Deed::Cluster),
                Event::ClusterArrived { by, .. }
                | Event::Commit { by, .. }
                | Event::Waited { by, .. }
                | Event::Met { by, .. }
                | Event::ClusterWaited { by, .. }
                | Event::Fence { by, .. }
                | Event::Exited { by } => (*by, Deed::Other),
                Event::Step { .. }
                | Event::Landing { .. }
                | Event::Phase { .. }
                | Event::Delivered { .. }
                | Event::CtaReleased { .. }
                | Event::ClusterReleased { .. }
                | Event::CtaEnded { .. } => continue,
            };
            facts.acts.insert(key(by.pc));
            let done = Done { number, key: key(by.pc), deed };
            facts.history.entry(by.warp).or_default().push(done);
        }
        bytes.conflicts(|first, second| {
            facts.before_others.insert(first);
            facts.behind_others.insert(second);
        });
        facts
    }

    fn barrier(&mut self, key: Key, used: &BarrierUse) -> Deed {
        let Object { lifetime, phase, .. } = used.object;
        match used.what {
            BarrierStep::Init => {
                self.made.entry(key).or_default().insert(lifetime);
                return Deed::Init;
            }
            BarrierStep::Inval => return Deed::Inval,
            BarrierStep::Ask { phase, passed } => {
                self.answers.entry(key).or_default().insert((phase, passed));
                if passed {
                    self.seen.insert((lifetime, phase));
                }
            }
            BarrierStep::Arrive { .. } | BarrierStep::Expect { .. } | BarrierStep::Complete { .. } => {
                self.arrivals.entry(key).or_default().insert((lifetime, phase as i64));
            }
            BarrierStep::Increment | BarrierStep::Track | BarrierStep::Query => {}
        }
        self.used.insert(lifetime);
        Deed::Barrier
    }

    /// Whether an access touches bytes that somebody else accesses, too, one of both writing.
    pub fn is_shared(&self, key: Key) -> bool {
        self.before_others.contains(&key) || self.behind_others.contains(&key)
    }

    /// Whether something that was done concerns others.
    pub fn concerns_others(&self, done: &Done) -> bool {
        match done.deed {
            Deed::Weak | Deed::Strong => self.is_shared(done.key),
            Deed::Start | Deed::Init | Deed::Inval | Deed::Barrier | Deed::Cluster => true,
            Deed::Meeting | Deed::Other => false,
        }
    }

    /// What concerns others, and barriers of the CTA.
    pub fn matters(&self, done: &Done) -> bool {
        done.deed == Deed::Meeting || self.concerns_others(done)
    }
}

/// What one thread or copy does to a byte by one instruction.
struct Use {
    who: u64,
    key: Key,
    first: usize,
    last: usize,
    writes: bool,
}

/// Who uses which bytes.
#[derive(Default)]
struct Bytes(FxHashMap<(bool, u32, usize), Vec<Use>>);

impl Bytes {
    fn touch(
        &mut self,
        touches: &[Touch],
        who: &dyn Fn(&Touch) -> u64,
        number: usize,
        key: Key,
        reads: bool,
        writes: bool,
    ) {
        for touch in touches {
            let (shared, region, start) = match touch.place {
                Place::Global(piece, at) => (false, piece as u32, at),
                Place::Shared(cta, at) => (true, cta, at),
                Place::Local(_) | Place::Param(_) | Place::Const(_) => continue,
            };
            let who = who(touch);
            for at in start..start + touch.size as usize {
                let uses = self.0.entry((shared, region, at)).or_default();
                for writes in [reads.then_some(false), writes.then_some(true)].into_iter().flatten() {
                    match uses.iter_mut().find(|u| (u.who, u.key, u.writes) == (who, key, writes)) {
                        Some(before) => before.last = number,
                        None => uses.push(Use { who, key, first: number, last: number, writes }),
                    }
                }
            }
        }
    }

    /// Gives all pairs of different users of a byte, one of both writing: the first once before the second.
    fn conflicts(&self, mut emit: impl FnMut(Key, Key)) {
        for uses in self.0.values() {
            for one in uses {
                let conflicting = |other: &&Use| other.who != one.who && (other.writes || one.writes);
                for other in uses.iter().filter(conflicting).filter(|other| one.first < other.last) {
                    emit(one.key, other.key);
                }
            }
        }
    }
}
