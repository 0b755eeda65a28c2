//! Random small programs: the races that `verify` finds are those that a plain, slow reading of the memory
//! model finds in the same events, thread by thread and byte by byte.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mbar::diagnostic::Severity;
use mbar::machine::choice::{Landing, Schedule, Strategy};
use mbar::machine::code::Family;
use mbar::machine::column::lanes;
use mbar::machine::cta::Site;
use mbar::machine::event::{Accessed, BarrierStep, BarrierUse, Event, Started, Touch, Touching};
use mbar::machine::order::{Fence, Order, ProxyFence, Scope};
use mbar::machine::{Options, Place};
use mbar::verify;
use support::execute::Prepared;
use support::judge::settings;
use support::{Failures, Random, lines_of};

/// Up to when each thread is known; behind the threads, whether the end of a copy is.
type Clock = Vec<u32>;

/// So many parts of copies are counted by barriers at most.
const MOST_COUNTED: usize = 1024;

type Spot = (Option<u32>, usize);

/// An access of one thread, or of its part of a copy.
struct Past {
    thread: usize,
    copy: Option<u32>,
    is_async_proxy: bool,
    updates: bool,
    time: u32,
    pc: u32,
    event: usize,
    start: usize,
    size: usize,
    writes: bool,
    strong: Option<Scope>,
    value: u64,
}

/// What a write releases: scope, CTA, what is known.
type Release = (Scope, usize, Clock);

/// Copies of one family that a thread started.
#[derive(Clone, Default)]
struct Groups {
    closed: Vec<Vec<u32>>,
    open: Vec<u32>,
}

/// A thread.
#[derive(Clone, Default)]
struct Thread {
    clock: Clock,
    groups: [Groups; 2],
    fences: Vec<(Scope, Clock)>,
    observed: Vec<Release>,
}

/// Happens-before by the book.
struct Naive {
    per_cta: usize,
    per_cluster: usize,
    threads: Vec<Thread>,
    past: BTreeMap<Option<u32>, Vec<Past>>,
    flags: BTreeMap<(Spot, usize), Vec<Release>>,
    own: BTreeMap<(Spot, usize), Clock>,
    own_scope: BTreeMap<(Spot, usize), Scope>,
    meetings: BTreeMap<(usize, u32), (Clock, Vec<usize>)>,
    clusters: BTreeMap<usize, (Clock, Clock)>,
    /// What arrivals at an mbarrier object released, and what of that a complete phase shows.
    objects: BTreeMap<(u32, u32), (Vec<Release>, Vec<Release>)>,
    /// When a thread had waited for its part of a copy: for its reads, for its writes.
    read: BTreeMap<(u32, usize), u32>,
    written: BTreeMap<(u32, usize), u32>,
    /// The place in clocks of a thread's part of a copy that a barrier counts.
    counted: BTreeMap<(u32, usize), usize>,
    /// Fences between proxies: by whom, when, what was known, shared or global memory.
    proxies: Vec<(usize, u32, Clock, bool, bool)>,
    races: BTreeSet<(u32, u32)>,
    events: usize,
}

/// Where a touch is: the CTA of shared memory, none for global memory.
fn spot(touch: &Touch) -> Option<Spot> {
    match touch.place {
        Place::Global(_, offset) => Some((None, offset)),
        Place::Shared(cta, offset) => Some((Some(cta), offset)),
        _ => None,
    }
}

fn index(family: Family) -> usize {
    usize::from(matches!(family, Family::Bulk))
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(own, theirs)| *own = (*own).max(*theirs));
}

impl Naive {
    fn new(ctas: usize, per_cta: usize, per_cluster: usize) -> Naive {
        let threads = ctas * per_cta;
        let thread = Thread { clock: vec![0; threads + MOST_COUNTED], ..Thread::default() };
        Naive {
            per_cta,
            per_cluster,
            threads: vec![thread; threads],
            past: BTreeMap::new(),
            flags: BTreeMap::new(),
            own: BTreeMap::new(),
            own_scope: BTreeMap::new(),
            meetings: BTreeMap::new(),
            clusters: BTreeMap::new(),
            objects: BTreeMap::new(),
            read: BTreeMap::new(),
            written: BTreeMap::new(),
            counted: BTreeMap::new(),
            proxies: Vec::new(),
            races: BTreeSet::new(),
            events: 0,
        }
    }

    fn of(&self, by: Site) -> Vec<usize> {
        lanes(by.lanes).map(|lane| by.warp as usize * 32 + lane).collect()
    }

    fn includes(&self, scope: Scope, a: usize, b: usize) -> bool {
        let (a, b) = (a / self.per_cta, b / self.per_cta);
        match scope {
            Scope::Cta => a == b,
            Scope::Cluster => a / self.per_cluster == b / self.per_cluster,
            Scope::Gpu | Scope::Sys => true,
        }
    }

    fn tick(&mut self, thread: usize) -> u32 {
        self.threads[thread].clock[thread] += 1;
        self.threads[thread].clock[thread]
    }

    fn see(&mut self, event: &Event) {
        self.events += 1;
        match event {
            Event::Access(accessed) => self.access(accessed),
            Event::Met { by, orders: true } => {
                let all = self.of(*by);
                let mut met = vec![0; self.threads.len() + MOST_COUNTED];
                for &thread in &all {
                    self.tick(thread);
                    join(&mut met, &self.threads[thread].clock);
                }
                all.iter().for_each(|&thread| self.threads[thread].clock.clone_from(&met));
            }
            Event::CtaArrived { by, id, waits } => {
                let all = self.of(*by);
                let empty = vec![0; self.threads.len() + MOST_COUNTED];
                for &thread in &all {
                    self.tick(thread);
                    let clock = self.threads[thread].clock.clone();
                    let meeting = self.meetings.entry((thread / self.per_cta, *id));
                    let (known, waiting) = meeting.or_insert_with(|| (empty.clone(), Vec::new()));
                    join(known, &clock);
                    waiting.extend(waits.then_some(thread));
                }
            }
            Event::CtaReleased { cta, id, .. } => {
                let (known, waiting) = self.meetings.remove(&(*cta as usize, *id)).expect("somebody came");
                waiting.iter().for_each(|&thread| join(&mut self.threads[thread].clock, &known));
            }
            Event::ClusterArrived { by, releases } => {
                for thread in self.of(*by) {
                    self.tick(thread);
                    let all = self.released(thread, *releases, Scope::Cluster);
                    let empty = vec![0; self.threads.len() + MOST_COUNTED];
                    let cluster = self.clusters.entry(thread / self.per_cta / self.per_cluster);
                    let (known, _) = cluster.or_insert_with(|| (empty.clone(), empty));
                    let wide = all.iter().filter(|(scope, ..)| *scope >= Scope::Cluster);
                    wide.for_each(|(.., clock)| join(known, clock));
                }
            }
            Event::ClusterReleased { cluster } => {
                if let Some((known, done)) = self.clusters.get_mut(&(*cluster as usize)) {
                    done.clone_from(known);
                    known.fill(0);
                }
            }
            Event::ClusterWaited { by, acquires: true } => {
                for thread in self.of(*by) {
                    if let Some((_, done)) = self.clusters.get(&(thread / self.per_cta / self.per_cluster)) {
                        join(&mut self.threads[thread].clock, done);
                    }
                }
            }
            Event::Barrier(used) => self.object(used),
            Event::Phase { cta, address, .. } => {
                let (released, shown) = self.objects.entry((*cta, *address)).or_default();
                shown.clone_from(released);
            }
            Event::Fence { by, fence } => self.fence(*by, *fence),
            Event::Start(started) => self.start(started),
            Event::Delivered { copy, object, .. } => {
                let parts: BTreeSet<usize> = self
                    .past
                    .values()
                    .flatten()
                    .filter(|p| p.copy == Some(*copy))
                    .map(|p| p.thread)
                    .collect();
                parts.iter().for_each(|&thread| self.count((*copy, thread), (object.cta, object.address)));
            }
            Event::Triggered { by, last, object } => {
                for thread in self.of(*by) {
                    let Groups { closed, open } = &self.threads[thread].groups[index(Family::Small)];
                    let all: Vec<u32> = closed.iter().flatten().chain(open).copied().collect();
                    for copy in all.into_iter().filter(|copy| copy <= last) {
                        self.count((copy, thread), (object.cta, object.address));
                    }
                }
            }
            Event::Commit { by, family } => {
                for thread in self.of(*by) {
                    let groups = &mut self.threads[thread].groups[index(*family)];
                    let open = std::mem::take(&mut groups.open);
                    groups.closed.push(open);
                }
            }
            Event::Waited { by, family, but, read } => {
                for thread in self.of(*by) {
                    let time = self.tick(thread);
                    let Groups { closed, open } = &self.threads[thread].groups[index(*family)];
                    let done = closed.len().saturating_sub(but.unwrap_or(0) as usize);
                    let open = open.iter().filter(|_| but.is_none());
                    for &copy in closed[..done].iter().flatten().chain(open) {
                        self.read.entry((copy, thread)).or_insert(time);
                        if !read {
                            self.written.entry((copy, thread)).or_insert(time);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// A phase of a barrier counts a thread's part of a copy.
    fn count(&mut self, part: (u32, usize), object: (u32, u32)) {
        let next = self.threads.len() + self.counted.len();
        let at = *self.counted.entry(part).or_insert(next);
        let mut clock = vec![0; self.threads.len() + MOST_COUNTED];
        clock[at] = 1;
        let first = object.0 as usize * self.per_cta;
        self.objects.entry(object).or_default().0.push((Scope::Cluster, first, clock));
    }

    /// What a thread releases with an operation of a scope.
    fn released(&self, thread: usize, releases: bool, scope: Scope) -> Vec<Release> {
        let Thread { clock, fences, .. } = &self.threads[thread];
        let fences = fences.iter().map(|(of, clock)| ((*of).min(scope), thread, clock.clone()));
        fences.chain(releases.then(|| (scope, thread, clock.clone()))).collect()
    }

    /// What a thread sees of what others released, with an operation of a scope.
    fn sees(&mut self, thread: usize, releases: &[Release], order: Order) {
        for (other, from, clock) in releases {
            if self.includes(*other, *from, thread) && self.includes(order.scope, thread, *from) {
                match order.acquires {
                    true => join(&mut self.threads[thread].clock, clock),
                    false => self.threads[thread].observed.push((*other, *from, clock.clone())),
                }
            }
        }
    }

    fn object(&mut self, used: &BarrierUse) {
        let at = (used.object.cta, used.object.address);
        for thread in self.of(used.by) {
            self.tick(thread);
            match used.what {
                BarrierStep::Arrive { .. } => {
                    let all = self.released(thread, used.order.releases, used.order.scope);
                    self.objects.entry(at).or_default().0.extend(all);
                }
                BarrierStep::Ask { phase: 0.., passed: true } => {
                    let shown = self.objects.get(&at).map(|(_, shown)| shown.clone()).unwrap_or_default();
                    self.sees(thread, &shown, used.order);
                }
                _ => {}
            }
        }
    }

    fn start(&mut self, started: &Started) {
        let both = [(&started.reads, false), (&started.writes, true)];
        for (touches, writes) in both {
            for touch in touches {
                let thread = started.by.warp as usize * 32 + usize::from(touch.lane);
                let Some((region, start)) = spot(touch) else { continue };
                self.note(
                    region,
                    Past {
                        thread,
                        copy: Some(started.copy),
                        is_async_proxy: started.is_async_proxy,
                        updates: started.update.is_some() && writes,
                        time: 0,
                        pc: started.by.pc,
                        event: self.events,
                        start,
                        size: touch.size as usize,
                        writes,
                        strong: (started.update.is_some() && writes).then_some(Scope::Gpu),
                        value: 0,
                    },
                );
            }
        }
        if let Some(family) = started.family {
            for thread in self.of(started.by) {
                self.threads[thread].groups[index(family)].open.push(started.copy);
            }
        }
    }

    fn note(&mut self, region: Option<u32>, new: Past) {
        for old in self.past.get(&region).into_iter().flatten() {
            if (old.writes || new.writes) && self.is_race(old, &new, region.is_some()) {
                self.races.insert((old.pc.min(new.pc), old.pc.max(new.pc)));
            }
        }
        self.past.entry(region).or_default().push(new);
    }

    fn fence(&mut self, by: Site, fence: Fence) {
        if let Some(ProxyFence::Async { shared, global }) = fence.proxy {
            for thread in self.of(by) {
                let time = self.tick(thread);
                let clock = self.threads[thread].clock.clone();
                self.proxies.push((thread, time, clock, shared, global));
            }
        }
        let Some(Order { acquires, releases, scope }) = fence.threads else { return };
        for thread in self.of(by) {
            if acquires {
                for (other, from, clock) in self.threads[thread].observed.clone() {
                    if self.includes(other, from, thread) && self.includes(scope, thread, from) {
                        join(&mut self.threads[thread].clock, &clock);
                    }
                }
            }
            self.tick(thread);
            if releases {
                let clock = self.threads[thread].clock.clone();
                self.threads[thread].fences.push((scope, clock));
            }
        }
    }

    fn access(&mut self, accessed: &Accessed) {
        let (updates, reads) = match accessed.kind {
            Touching::Read => (false, true),
            Touching::Write => (false, false),
            Touching::Update { .. } => (true, true),
        };
        let writes = accessed.kind != Touching::Read;
        for touch in &accessed.touches {
            let thread = accessed.by.warp as usize * 32 + usize::from(touch.lane);
            let Some((region, start)) = spot(touch) else { continue };
            let new = Past {
                thread,
                copy: None,
                is_async_proxy: false,
                updates,
                time: self.tick(thread),
                pc: accessed.by.pc,
                event: self.events,
                start,
                size: touch.size as usize,
                writes,
                strong: accessed.order.map(|order| order.scope),
                value: touch.value,
            };
            self.note(region, new);
            if let Some(order) = accessed.order {
                self.synchronize(
                    thread,
                    ((region, start), touch.size as usize),
                    order,
                    reads,
                    writes,
                    updates,
                );
            } else if writes {
                self.flags.retain(|((of, at), _), _| (*of, *at) != (region, start));
            }
        }
    }

    /// Whether one knows that something of a thread is over, and of a fence between the proxies behind it.
    fn knows(&self, clock: &Clock, old: &Past) -> bool {
        match old.copy {
            None => clock[old.thread] >= old.time,
            Some(copy) => {
                let ends = if old.writes { &self.written } else { &self.read };
                let part = (copy, old.thread);
                ends.get(&part).is_some_and(|&time| clock[old.thread] >= time)
                    || self.counted.get(&part).is_some_and(|&at| clock[at] > 0)
            }
        }
    }

    fn is_race(&self, old: &Past, new: &Past, is_shared: bool) -> bool {
        let apart = old.start + old.size <= new.start || new.start + new.size <= old.start;
        if apart || self.is_one_copy(old, new) || old.updates && new.updates && self.is_near(old, new) {
            return false;
        }
        let clock = &self.threads[new.thread].clock;
        if self.knows(clock, old) {
            let needs_fence = new.is_async_proxy && !old.is_async_proxy && old.writes;
            let covers = |&(thread, time, ref known, shared, global): &(usize, u32, Clock, bool, bool)| {
                clock[thread] >= time && self.knows(known, old) && if is_shared { shared } else { global }
            };
            return needs_fence && !self.proxies.iter().any(covers);
        }
        if old.is_async_proxy != new.is_async_proxy {
            return true;
        }
        if old.event == new.event && old.copy.is_none() && (new.updates || old.value == new.value) {
            return false;
        }
        let whole = (old.start, old.size) == (new.start, new.size);
        let strong = |access: &Past, other: &Past| {
            access.strong.is_some_and(|scope| self.includes(scope, access.thread, other.thread))
        };
        !(whole && strong(old, new) && strong(new, old))
    }

    /// Whether both are of one thread's part of one copy.
    fn is_one_copy(&self, old: &Past, new: &Past) -> bool {
        old.copy.is_some() && (old.copy, old.thread) == (new.copy, new.thread)
    }

    /// Whether each has a scope that includes the other.
    fn is_near(&self, old: &Past, new: &Past) -> bool {
        let sees =
            |a: &Past, b: &Past| a.strong.is_some_and(|scope| self.includes(scope, a.thread, b.thread));
        sees(old, new) && sees(new, old)
    }

    fn synchronize(
        &mut self,
        thread: usize,
        flag: (Spot, usize),
        order: Order,
        reads: bool,
        writes: bool,
        updates: bool,
    ) {
        let before = self.flags.get(&flag).cloned().unwrap_or_default();
        if reads {
            self.sees(thread, &before, order);
        }
        if !writes {
            return;
        }
        let mut all = if updates { before } else { Vec::new() };
        all.extend(self.released(thread, false, order.scope));
        let own = (flag.0, thread);
        if order.releases {
            self.own.insert(own, self.threads[thread].clock.clone());
            self.own_scope.insert(own, order.scope);
        }
        if let (Some(clock), Some(scope)) = (self.own.get(&own), self.own_scope.get(&own)) {
            all.push((*scope, thread, clock.clone()));
        }
        self.flags.insert(flag, all);
    }
}

/// A program of random accesses and synchronisation, with its launch.
fn program(random: &mut Random, ctas: usize, per_cta: usize, cluster: usize, kind: u64) -> String {
    let mut text = format!("// mbar: launch grid={ctas} block={per_cta} cluster={cluster}\n");
    text.push_str("// mbar: arg p = u32[256] fill 0\n.version 8.6\n.target sm_90\n.address_size 64\n");
    text.push_str(
        ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<8>;\n.reg .b32 %r<24>;\n.reg .b64 %d<16>;\n",
    );
    text.push_str(
        ".shared .align 16 .b32 s[128];\n.shared .align 8 .b64 bar;\nld.param.u64 %d0, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, s;\n",
    );
    text.push_str("mov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p0, %r0, 16;\nsetp.eq.u32 %p1, %r0, 3;\nsetp.ge.u32 %p2, %r0, 32;\n");
    text.push_str("and.b32 %r3, %r0, 1;\nsetp.eq.u32 %p3, %r3, 0;\nsetp.eq.u32 %p4, %r2, 0;\nsetp.eq.and.u32 %p5, %r0, 5, %p4;\n");
    // Offsets: own word, a neighbour's, the other half's, a row of four, one word.
    let offsets =
        ["mul.lo.u32 %r4, %r0, 4", "xor.b32 %r5, %r4, 4", "xor.b32 %r6, %r4, 128", "and.b32 %r7, %r4, 12"];
    offsets.iter().for_each(|line| writeln!(text, "{line};").expect("a string"));
    text.push_str("mov.u32 %r8, 8;\n");
    for (index, offset) in (4..9).enumerate() {
        let (to, wide) = (10 + index, 1 + index);
        writeln!(text, "add.u32 %r{to}, %r1, %r{offset};\ncvt.u64.u32 %d{wide}, %r{offset};\nadd.u64 %d{wide}, %d0, %d{wide};")
            .expect("a string");
    }
    text.push_str("mov.u32 %r20, 1;\n");
    let mut arrived = false;
    if kind == 2 {
        text.push_str("setp.eq.u32 %p6, %r0, 0;\n@%p6 mbarrier.init.shared.b64 [bar], 64;\nmov.u32 %r22, %cluster_ctarank;\n");
        text.push_str(
            "xor.b32 %r22, %r22, 1;\nmov.u32 %r23, bar;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n",
        );
        if cluster == 2 {
            text.push_str(
                "mapa.shared::cluster.u32 %r23, %r23, %r22;\nmapa.shared::cluster.u32 %r22, %r1, %r22;\n",
            );
        }
    }
    let guards = ["", "", "@%p0 ", "@!%p0 ", "@%p1 ", "@%p2 ", "@!%p2 ", "@%p3 ", "@%p4 ", "@!%p4 ", "@%p5 "];
    let scopes = ["cta", "cluster", "gpu", "sys"];
    if kind > 2 {
        let counts = if kind == 3 { 1 } else { per_cta };
        writeln!(
            text,
            "setp.eq.u32 %p6, %r0, 0;\n@%p6 mbarrier.init.shared.b64 [bar], {counts};\nbar.sync 0;"
        )
        .expect("a string");
    }
    let lines = 4 + random.below(10);
    let (issue, wait) = (random.below(lines), random.below(lines));
    for number in 0..lines {
        if kind > 2 && number == issue.min(wait) {
            text.push_str(match kind {
                3 => "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d0], 64, [bar];\n",
                _ => "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n",
            });
        }
        if kind > 2 && number == issue.max(wait) {
            let order = random.pick(&["", "", ".acquire.cluster", ".relaxed.cta"]);
            let skip = random.pick(&["@%p3 bra SKIP;\n", "", "@%p1 bra SKIP;\n"]);
            writeln!(text, "{skip}WAIT:\nmbarrier.try_wait.parity{order}.shared.b64 %p7, [bar], 0;\n@!%p7 bra WAIT;\nSKIP:").expect("a string");
        }
        let guard = random.pick(&guards).to_string();
        let at = random.below(5);
        let (space, address) = match random.below(2) {
            0 => ("shared", format!("%r{}", 10 + at)),
            _ => ("global", format!("%d{}", 1 + at)),
        };
        let flag = match random.below(2) {
            0 => ("shared", format!("s+{}", 256 + 4 * random.below(2))),
            _ => ("global", format!("%d0+{}", 512 + 4 * random.below(2))),
        };
        let scope = random.pick(&scopes).to_string();
        let value = random.pick(&["%r0", "%r20"]).to_string();
        let one = random.pick(&["@%p1 ", "@%p5 "]).to_string();
        let choice = match kind {
            0 => random.below(16),
            1 => random.below(28),
            3 => [random.below(16), 22 + random.below(6)][random.below(2)],
            4 => [random.below(9), 16 + random.below(6)][random.below(2)],
            _ => [random.below(16), 28 + random.below(6)][random.below(2)],
        };
        let line = match choice {
            0..=2 => format!("{guard}st.{space}.u32 [{address}], {value}"),
            3..=5 => format!("{guard}ld.{space}.u32 %r21, [{address}]"),
            6 => "bar.warp.sync -1".to_string(),
            7 => "bar.sync 0".to_string(),
            8 => {
                let kind = random.pick(&["acq_rel", "sc", "acquire", "release"]);
                format!("{guard}fence.{kind}.{scope}")
            }
            9 | 10 => {
                let kind = random.pick(&["release", "relaxed"]);
                format!("{guard}st.{kind}.{scope}.{}.u32 [{}], 1", flag.0, flag.1)
            }
            11 | 12 => {
                let kind = random.pick(&["acquire", "relaxed"]);
                format!("{guard}ld.{kind}.{scope}.{}.u32 %r21, [{}]", flag.0, flag.1)
            }
            13 => {
                let kind = random.pick(&["acq_rel", "relaxed", "release", "acquire"]);
                format!("{guard}atom.{kind}.{scope}.{}.add.u32 %r21, [{}], 1", flag.0, flag.1)
            }
            14 => "shfl.sync.bfly.b32 %r21, %r0, 1, 31, -1".to_string(),
            28 | 29 => {
                let whole = random.pick(&["", "@%p2 ", "@!%p2 "]);
                let order = random.pick(&["", ".release.cluster", ".relaxed.cta", ".relaxed.cluster"]);
                match cluster == 2 && random.below(2) == 0 {
                    true => {
                        let order = random.pick(&[".release.cluster", ".relaxed.cluster", ".release.cta"]);
                        format!("{whole}mbarrier.arrive{order}.shared::cluster.b64 _, [%r23]")
                    }
                    false => format!("{whole}mbarrier.arrive{order}.shared::cta.b64 _, [bar]"),
                }
            }
            30 | 31 => {
                let order = random.pick(&["", ".acquire.cluster", ".relaxed.cta", ".relaxed.cluster"]);
                format!(
                    "{guard}mbarrier.test_wait.parity{order}.shared::cta.b64 %p7, [bar], {}",
                    random.below(2)
                )
            }
            32 if arrived => {
                arrived = false;
                "barrier.cluster.wait".to_string()
            }
            32 => {
                arrived = true;
                format!("barrier.cluster.arrive{}", random.pick(&["", ".relaxed"]))
            }
            _ if cluster == 2 && kind == 2 => match random.below(2) {
                0 => format!("{guard}st.shared::cluster.u32 [%r22+{}], {value}", 4 * random.below(4)),
                _ => format!("{guard}ld.shared::cluster.u32 %r21, [%r22+{}]", 4 * random.below(4)),
            },
            16..=18 => {
                let (to, from) = (10 + random.below(5), 1 + random.below(5));
                format!("{guard}cp.async.ca.shared.global [%r{to}], [%d{from}], 4")
            }
            19 => format!("{guard}cp.async.commit_group"),
            20 => format!("{guard}cp.async.wait_group {}", random.below(3)),
            21 => format!("{guard}cp.async.wait_all"),
            22 | 23 => format!(
                "{one}cp.async.bulk.global.shared::cta.bulk_group [%d0+{}], [s], 64",
                64 * random.below(2)
            ),
            24 => format!("{one}cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [s], 32"),
            25 => format!("{one}cp.async.bulk.commit_group"),
            26 => format!("{one}cp.async.bulk.wait_group{} {}", random.pick(&["", ".read"]), random.below(2)),
            27 => format!("{guard}fence.proxy.async{}", random.pick(&["", ".global", ".shared::cta"])),
            _ => format!(
                "{guard}st.{space}.v2.u32 [{}], {{{value}, {value}}}",
                if space == "shared" { "%r14" } else { "%d5" }
            ),
        };
        writeln!(text, "{line};").expect("a string");
    }
    if arrived {
        text.push_str("barrier.cluster.wait;\n");
    }
    if kind == 2 {
        text.push_str("barrier.cluster.arrive;\nbarrier.cluster.wait;\n");
    }
    text.push_str("ret;\n}\n");
    text
}

#[test]
fn races_are_those_of_a_plain_reading() {
    let count = std::env::var("MBAR_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500);
    let (mut failures, mut racy) = (Failures::default(), 0);
    for seed in 0..count {
        let mut random = Random::new(seed);
        let (ctas, per_cta, cluster) = [(1, 32, 1), (1, 64, 1), (2, 32, 1), (2, 64, 2)][random.below(4)];
        let text = program(&mut random, ctas, per_cta, cluster, seed % 5);
        let prepared = Prepared::text("random.ptx", &text);
        let options = Options { events: true, ..Options::default() };
        let ran = prepared.run(options, &mut Strategy::new(Schedule::RoundRobin, Landing::Lazy, 0));
        let mut naive = Naive::new(ctas, per_cta, cluster);
        ran.events.iter().for_each(|event| naive.see(event));
        let settings = settings(0);
        let Ok(done) = verify::verify(&prepared.program, &prepared.launch, &settings, &|_| {}) else {
            panic!("no machine")
        };
        let source = &prepared.program.module.source;
        let line = |pc: u32| done.base.machine.line(pc);
        let expected: BTreeSet<Vec<u32>> = naive.races.iter().map(|&(a, b)| vec![line(a), line(b)]).collect();
        let first = done.base.findings(false);
        let races = first
            .iter()
            .filter(|f| f.rule.kind.as_str() == "race" && f.diagnostic.severity == Severity::Error);
        let found: BTreeSet<Vec<u32>> = races
            .map(|finding| {
                let mut lines = lines_of(source, &finding.diagnostic);
                lines.sort_unstable();
                lines
            })
            .collect();
        racy += u64::from(!expected.is_empty());
        if !found.is_subset(&expected) || found.is_empty() != expected.is_empty() {
            failures.push(format!("seed {seed}: found {found:?}, expected {expected:?}\n{text}"));
        }
    }
    assert!(racy > count / 10 && racy < count - count / 10, "{racy} of {count} programs race");
    failures.report("One of the two readings is wrong.");
}
