//! The ledger: who arrived in each phase of each barrier, which bytes were announced and delivered, and who
//! waited for it.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::machine::code::Pc;
use crate::machine::cta::Site;
use crate::machine::event::{BarrierStep, Object};

/// So many phases of a barrier are kept.
pub const MOST_PHASES: u64 = 64;

/// A phase of a barrier.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Arrivals by instruction, the lanes' counts added up.
    pub arrivals: SmallVec<[(Pc, u64); 2]>,
    /// Bytes that were announced.
    pub announced: u64,
    /// Bytes that came.
    pub delivered: u64,
    /// Threads that were told that it is complete, by instruction.
    pub waited: SmallVec<[(Pc, u64); 2]>,
    /// Whether it completed.
    pub complete: bool,
}

/// A barrier object.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Its CTA.
    pub cta: u32,
    /// Its address.
    pub address: u32,
    /// Its phases, the first [`MOST_PHASES`] of them.
    pub rows: Vec<Row>,
    /// How many phases completed.
    pub completed: u64,
    /// Bytes that were announced and delivered in the phase in hand.
    now: (u64, u64),
    /// The most that were, in any phase.
    pub most: (u64, u64),
    /// The last instruction that announced or delivered some.
    pub last: Option<Site>,
}

/// All barriers, by lifetime.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// In the order in which they were made.
    pub pages: BTreeMap<u64, Page>,
}

impl Ledger {
    fn row(&mut self, object: Object, phase: i64) -> Option<&mut Row> {
        let page = self.pages.entry(object.lifetime).or_default();
        (page.cta, page.address) = (object.cta, object.address);
        let phase = u64::try_from(phase).ok().filter(|&phase| phase < MOST_PHASES)? as usize;
        if page.rows.len() <= phase {
            page.rows.resize_with(phase + 1, Row::default);
        }
        page.rows.get_mut(phase)
    }

    /// A use of a barrier.
    pub fn note(&mut self, object: Object, by: Site, what: BarrierStep) {
        let current = object.phase as i64;
        let lanes = u64::from(by.lanes.count_ones());
        match what {
            BarrierStep::Arrive { count, .. } => {
                self.row(object, current).into_iter().for_each(|row| add(&mut row.arrivals, by.pc, count));
            }
            BarrierStep::Expect { bytes, .. } => {
                self.count(object, Some(by), (bytes.into(), 0));
                self.row(object, current).into_iter().for_each(|row| row.announced += u64::from(bytes));
            }
            BarrierStep::Complete { bytes } => self.delivered(object, bytes),
            BarrierStep::Ask { phase, passed: true } => {
                self.row(object, phase).into_iter().for_each(|row| add(&mut row.waited, by.pc, lanes));
            }
            BarrierStep::Init => {
                self.row(object, 0);
            }
            BarrierStep::Inval
            | BarrierStep::Increment
            | BarrierStep::Track
            | BarrierStep::Ask { passed: false, .. }
            | BarrierStep::Query => {}
        }
    }

    fn count(&mut self, object: Object, by: Option<Site>, (announced, delivered): (u64, u64)) {
        let page = self.pages.entry(object.lifetime).or_default();
        page.last = by.or(page.last);
        page.now = (page.now.0 + announced, page.now.1 + delivered);
        page.most = (page.most.0.max(page.now.0), page.most.1.max(page.now.1));
    }

    /// Bytes came.
    pub fn delivered(&mut self, object: Object, bytes: u32) {
        self.count(object, None, (0, bytes.into()));
        let current = object.phase as i64;
        self.row(object, current).into_iter().for_each(|row| row.delivered += u64::from(bytes));
    }

    /// A phase is complete.
    pub fn complete(&mut self, object: Object) {
        if let Some(row) = self.row(object, object.phase as i64) {
            row.complete = true;
        }
        if let Some(page) = self.pages.get_mut(&object.lifetime) {
            page.completed += 1;
            page.now = (0, 0);
        }
    }
}

fn add(list: &mut SmallVec<[(Pc, u64); 2]>, pc: Pc, count: u64) {
    match list.iter_mut().find(|(other, _)| *other == pc) {
        Some((_, sum)) => *sum += count,
        None => list.push((pc, count)),
    }
}
