//! What is said of races and of conditions that fail.

use rustc_hash::FxHashSet;

use super::agent::Stage;
use super::depend::{Kind, Why};
use super::laps;
use super::phase::{Condition, Doubt};
use super::race::{Between, Missing, Race};
use super::rule;
use super::shadow::{Access, Does, Region, Who};
use super::values::{Cause, Decides, Decision};
use super::watch::{Outlived, Watch};
use crate::diagnostic::{Diagnostic, Severity};
use crate::isa::OPS;
use crate::machine::barrier::MAX_TX;
use crate::machine::code::{Family, Pc};
use crate::machine::cta::Site;
use crate::machine::finding::Finding;
use crate::machine::order::Scope;
use crate::machine::rule::RunRule;
use crate::machine::words::count;
use crate::machine::{Machine, Place};
use crate::program::meaning::Meaning;

/// The words for what a run of a machine showed.
pub struct Explain<'a, 'p> {
    /// The machine at the end of the run.
    pub machine: &'a Machine<'p>,
    /// What was seen.
    pub watch: &'a Watch,
    /// Whether what shipped code often does is an error.
    pub strict: bool,
}

fn finding(rule: &'static RunRule, diagnostic: Diagnostic, count: u64) -> Finding {
    let diagnostic = if diagnostic.helps.is_empty() { diagnostic.help(rule.advice) } else { diagnostic };
    Finding { rule, diagnostic, count }
}

impl Explain<'_, '_> {
    /// All races, and accesses that may outlive the memory.
    pub fn races(&self) -> Vec<Finding> {
        let races = self.watch.races.found.iter().map(|race| self.race(race));
        let outlived = self.watch.outlived.iter().map(|outlived| self.outlived(outlived));
        let races = races.chain(outlived);
        let sorted = |pairs: &FxHashSet<(Pc, Pc)>| {
            let mut pairs: Vec<(Pc, Pc)> = pairs.iter().copied().collect();
            pairs.sort_unstable();
            pairs
        };
        let separable = sorted(&self.watch.races.separable);
        let separable = separable.into_iter().map(|(first, second)| self.separable(first, second));
        let relaxed = sorted(&self.watch.races.relaxed);
        races.chain(separable).chain(relaxed.into_iter().map(|(a, b)| self.relaxed(a, b))).collect()
    }

    /// Two strong accesses that only relaxed operations order.
    fn relaxed(&self, first: Pc, second: Pc) -> Finding {
        let (late, early) = (self.machine.line(first), self.machine.line(second));
        let message = format!(
            "the access at line {early} is behind that at line {late} only by operations without memory order"
        );
        let diagnostic = Diagnostic::new(&rule::RELAXED_ORDER.rule, self.machine.span(second), message)
            .also(self.machine.span(first), "this one need not be visible by then");
        finding(&rule::RELAXED_ORDER, diagnostic, 1)
    }

    /// Two strong accesses that are in order only as long as lanes stay together.
    fn separable(&self, first: Pc, second: Pc) -> Finding {
        let (early, late) = (self.machine.line(second), self.machine.line(first));
        let message = format!(
            "the access at line {early} is behind that at line {late} only if lanes of a warp stay together"
        );
        let mut diagnostic = Diagnostic::new(&rule::SEPARATE.rule, self.machine.span(second), message)
            .also(self.machine.span(first), "another lane's may come later");
        if self.strict {
            diagnostic = diagnostic.severity(Severity::Error);
        }
        finding(&rule::SEPARATE, diagnostic, 1)
    }

    /// A race, with both sides and what is missing between them.
    pub fn race(&self, race: &Race) -> Finding {
        let rule = rule_of(race);
        let place = self.place(race.region, race.start, race.end);
        let (old, new) = (race.old.pc, race.new.pc);
        let message = if race.old.does.is_of_barrier() || race.new.does.is_of_barrier() {
            let (new, old) = (self.noun(&race.new), self.noun(&race.old));
            match race.old.does.is_of_barrier() && race.new.does.is_of_barrier() {
                true => format!(
                    "race on the barrier {}: {new} and {old} are in no order",
                    self.place(race.region, race.start, race.start + 1)
                ),
                false => format!("race on the barrier at {place}: {new} and {old} are in no order"),
            }
        } else if race.missing == Missing::Fence {
            format!(
                "race between proxies on {place}: no proxy fence covers {} before {}",
                self.noun(&race.old),
                self.noun(&race.new)
            )
        } else {
            format!("race on {place}: {} and {} are in no order", self.noun(&race.new), self.noun(&race.old))
        };
        let new_site = Site { pc: new, warp: race.new.warp, lanes: race.new_lanes };
        let old_site = Site { pc: old, warp: race.old.warp, lanes: race.old_lanes };
        let mut diagnostic = Diagnostic::new(&rule.rule, self.machine.span(new), message)
            .label(self.side(&race.new, new_site))
            .also(self.machine.span(old), self.side(&race.old, old_site));
        for note in self.reasons(race, old_site, new_site) {
            diagnostic = diagnostic.note(note);
        }
        if self.strict {
            diagnostic = diagnostic.severity(Severity::Error);
        }
        finding(rule, diagnostic, race.count)
    }

    fn place(&self, region: Region, start: u64, end: u64) -> String {
        let place = match region {
            Region::Global(piece) => Place::Global(piece as usize, start as usize),
            Region::Shared(cta) => Place::Shared(cta, start as usize),
        };
        let name = self.machine.place_name(place);
        match end - start {
            1 => name,
            bytes => format!("{} at {name}", count(bytes, "byte")),
        }
    }

    /// "the read at line 7"
    fn noun(&self, access: &Access) -> String {
        let line = self.machine.line(access.pc);
        let what = match (access.who, access.does) {
            (Who::Copy(_), Does::Reads) => "the copy's read",
            (Who::Copy(_), Does::ReadsMap) => "the copy's use of the tensor map",
            (Who::Copy(_), Does::Updates(..)) => "the copy's reduction",
            (Who::Copy(_), Does::Uses) => "the copy's signal",
            (Who::Copy(_), _) => "the copy's write",
            (Who::Warp(_), Does::Reads | Does::ReadsMap) => "the read",
            (Who::Warp(_), Does::Writes) => "the write",
            (Who::Warp(_), Does::Updates(..)) => "the atomic update",
            (Who::Warp(_), Does::Inits) => "its initialisation",
            (Who::Warp(_), Does::Invalidates) => "its end",
            (Who::Warp(_), Does::Uses) => "its use",
        };
        format!("{what} at line {line}")
    }

    /// "read by thread 0, through the generic proxy"
    fn side(&self, access: &Access, site: Site) -> String {
        let threads = self.machine.threads(site);
        let proxy = if access.is_async_proxy { ", through the async proxy" } else { "" };
        match (access.who, access.does) {
            (Who::Copy(_), Does::Reads) => format!("read by a copy of {threads}{proxy}"),
            (Who::Copy(_), Does::ReadsMap) => {
                format!("used by a copy of {threads}, through the tensormap proxy")
            }
            (Who::Copy(_), Does::Updates(..)) => format!("updated by a copy of {threads}{proxy}"),
            (Who::Copy(_), Does::Uses) => format!("signalled by a copy of {threads}"),
            (Who::Copy(_), _) => format!("written by a copy of {threads}{proxy}"),
            (Who::Warp(_), Does::Reads | Does::ReadsMap) => format!("read by {threads}"),
            (Who::Warp(_), Does::Writes) => format!("written by {threads}"),
            (Who::Warp(_), Does::Updates(..)) => format!("updated by {threads}"),
            (Who::Warp(_), Does::Inits) => format!("made a barrier by {threads}"),
            (Who::Warp(_), Does::Invalidates) => format!("invalidated by {threads}"),
            (Who::Warp(_), Does::Uses) => format!("used by {threads}"),
        }
    }

    /// What is missing, in a sentence or two.
    fn reasons(&self, race: &Race, old: Site, new: Site) -> Vec<String> {
        let (first, second) = (self.machine.line(old.pc), self.machine.line(new.pc));
        match race.missing {
            Missing::Fence if race.new.does == Does::ReadsMap => vec![format!(
                "between line {first} and line {second} the release fence and then the acquire fence of the tensormap proxy are missing"
            )],
            Missing::Fence => vec![format!(
                "needs `{}` {} in the threads of that access, before the barrier or arrival that line {second} waits for",
                proxy_fence(),
                match race.old.who {
                    Who::Warp(_) => format!("after line {first}"),
                    Who::Copy(_) => format!("behind the wait for the copy of line {first}"),
                }
            )],
            Missing::End if race.old.who == race.new.who => {
                vec!["copies of lanes of one instruction write the same bytes, in no order".to_string()]
            }
            Missing::End => self.end_reasons(race, old, new),
            Missing::Scope => vec![self.scope_reason(race, old, new)],
            Missing::Size => vec![
                "both are strong, but of different size: accesses that overlap only in part do not order each other".to_string(),
            ],
            Missing::Proxy => vec![
                "both are strong, but go through different proxies: such accesses do not order each other".to_string(),
            ],
            Missing::Order if (race.old.who, race.old.time) == (race.new.who, race.new.time) => {
                vec!["lanes of one instruction access the same bytes with different values".to_string()]
            }
            Missing::Order | Missing::Nothing => {
                let start = self.start_reason(race, first);
                start.into_iter().chain([self.order_reason(race, old, new)]).collect()
            }
        }
    }

    fn end_reasons(&self, race: &Race, old: Site, new: Site) -> Vec<String> {
        let Who::Copy(id) = race.old.who else { return Vec::new() };
        let Some(agent) = self.watch.agents.get(id) else { return Vec::new() };
        let (issuer, threads) = (self.machine.threads(old), self.machine.threads(new));
        let second = self.machine.line(new.pc);
        let is_relaxed = race.between == Between::Relaxed;
        let phase = |phase: Option<i64>| phase.map_or(String::new(), |phase| format!(" phase {phase}"));
        if let Some((cta, address)) = agent.barrier {
            let name = self.machine.barrier_name(cta, address);
            let phase = phase(agent.phase());
            return vec![match is_relaxed {
                true => format!(
                    "the wait for {name}{phase}, which counts the copy's bytes, is relaxed: it shows nothing of what was written before; let it acquire"
                ),
                false => format!(
                    "no wait for {name}{phase}, which counts the copy's bytes, lies before line {second} for {threads}"
                ),
            }];
        }
        let groups = match agent.family() {
            Some(Family::Bulk) => "bulk groups",
            Some(Family::Small) | None => "groups",
        };
        let are_others = old.warp != new.warp || race.old_lanes & race.new_lanes == 0;
        vec![match race.stage {
            Stage::Open | Stage::Uncommitted | Stage::LeftOut(..) if are_others => format!(
                "the copy ends only with a wait of {issuer} for its group{}: missing are that wait and, behind it, a synchronisation with {threads}",
                match agent.family() {
                    Some(Family::Small) => ", or with the arrival at a barrier that it triggers",
                    Some(Family::Bulk) | None => "",
                }
            ),
            Stage::Waited if old.warp == new.warp => format!(
                "each thread has waited for its own copies only: a synchronisation of {threads} behind these waits is missing"
            ),
            Stage::Waited => format!(
                "the copy's end is known to {issuer} only, by its wait: a synchronisation behind that wait with {threads} is missing"
            ),
            Stage::OnlyRead => "the wait with `.read` says only that the source has been read: what the copy writes needs a wait without it".to_string(),
            Stage::Counted(number) if is_relaxed => format!(
                "the wait for{}, which counts the copy, is relaxed: it shows nothing of what was written before; let it acquire",
                phase(Some(number))
            ),
            Stage::Counted(_) | Stage::Tracked => format!(
                "no wait for the barrier at which the copy arrives lies before line {second} for {threads}"
            ),
            Stage::Uncommitted => format!(
                "the copy is in no group yet, so that no wait for {groups} covers it: close a group behind it, and wait for that"
            ),
            Stage::LeftOut(pc, but) => format!(
                "the wait at line {} leaves out the newest {}, and the copy's is among them",
                self.machine.line(pc),
                match but { 1 => "group".to_string(), _ => format!("{but} groups") }
            ),
            Stage::Open => format!(
                "no wait for {groups} covers the copy before line {second}; barriers of threads and fences do not end it"
            ),
        }]
    }

    fn scope_reason(&self, race: &Race, old: Site, new: Site) -> String {
        let scope = |access: &Access| access.strong.map_or("", |scope| scope.as_str());
        format!(
            "both are strong, but the scopes `{}` at line {} and `{}` at line {} do not both include the other side ({} and {})",
            scope(&race.old),
            self.machine.line(old.pc),
            scope(&race.new),
            self.machine.line(new.pc),
            self.machine.threads(old),
            self.machine.threads(new)
        )
    }

    fn order_reason(&self, race: &Race, old: Site, new: Site) -> String {
        let (first, second) = (self.machine.line(old.pc), self.machine.line(new.pc));
        let cta = |site: Site| self.machine.warps[site.warp as usize].cta;
        let cluster = |site: Site| self.machine.ctas[cta(site) as usize].cluster;
        let mixed = match (race.old.strong, race.new.strong) {
            (Some(_), None) | (None, Some(_))
                if !race.old.does.is_of_barrier() && !race.new.does.is_of_barrier() =>
            {
                "; two strong accesses would not race, but one of these is weak"
            }
            _ => "",
        };
        let scope = if cta(old) == cta(new) {
            Scope::Cta
        } else if cluster(old) == cluster(new) {
            Scope::Cluster
        } else {
            Scope::Gpu
        };
        match race.between {
            Between::Relaxed if old.warp == new.warp => {
                return format!(
                    "line {first} comes before line {second}, but what lies between exchanges registers and orders no memory: put a warp barrier there{mixed}"
                );
            }
            Between::Relaxed if race.old.does == Does::Inits => {
                return format!(
                    "line {first} comes before line {second}, but nothing publishes the barrier: that takes the fence for initialised barriers behind line {first}, in the thread that makes it, or a cluster barrier that releases"
                );
            }
            Between::Relaxed => {
                return format!(
                    "line {first} comes before line {second}, but only by operations that order no memory: relaxed ones, or ones whose scope leaves the other side out; what lies between has to release behind line {first} and acquire before line {second}, both with `{}` or wider{mixed}",
                    scope.as_str()
                );
            }
            Between::OtherFirst => {
                return format!(
                    "another lane of that warp synchronises behind line {first}, but {} need not have come so far: put a warp barrier before that{mixed}",
                    self.machine.threads(old)
                );
            }
            Between::OtherSecond => {
                return format!(
                    "another lane of that warp has synchronised before line {second}, but {} did not wait for it: put a warp barrier behind that{mixed}",
                    self.machine.threads(new)
                );
            }
            Between::Nothing => {}
        }
        let how = if old.warp == new.warp {
            "no warp barrier, and no other synchronisation of the lanes,"
        } else if cta(old) == cta(new) {
            "no barrier of the CTA, and no arrival that the other side waits for,"
        } else if cluster(old) == cluster(new) {
            "no barrier of the cluster, and no arrival with cluster scope that the other side waits for,"
        } else {
            "no release that the other side acquires, both with a scope of the device,"
        };
        format!("{how} lies between line {first} and line {second}{mixed}")
    }

    /// How others come behind a copy that starts later than they access its destination.
    fn start_reason(&self, race: &Race, first: u32) -> Option<String> {
        let (Who::Copy(id), Who::Warp(_), true) = (race.new.who, race.old.who, race.new.does.writes()) else {
            return None;
        };
        let (cta, address) = self.watch.agents.get(id)?.barrier?;
        let name = self.machine.barrier_name(cta, address);
        Some(format!(
            "if line {first} is to find what the copy writes, a wait for {name} is missing before it"
        ))
    }

    /// An access that may outlive the memory.
    pub fn outlived(&self, outlived: &Outlived) -> Finding {
        let Outlived { access, is_copy, cta, exit } = *outlived;
        let name = self.machine.cta_name(cta);
        let what = if is_copy { "this copy" } else { "this access" };
        let message = format!("nothing orders {what} to shared memory of {name} before that CTA ends");
        let diagnostic = Diagnostic::new(&rule::OUTLIVED.rule, self.machine.span(access.pc), message)
            .label(format!("by {}", self.machine.threads(access)))
            .also(self.machine.span(exit.pc), format!("left here by {}", self.machine.threads(exit)));
        finding(&rule::OUTLIVED, diagnostic, 1)
    }

    /// Phases whose transaction count another order of announcements and bytes could take out of its range.
    pub fn ranges(&self) -> Vec<Finding> {
        let pages = self.watch.ledger.pages.values();
        let wide = pages.filter(|page| page.most.0.max(page.most.1) > u64::from(MAX_TX));
        wide.filter_map(|page| {
            let (announced, delivered) = page.most;
            let name = self.machine.barrier_name(page.cta, page.address);
            let message = format!(
                "{name}: {announced} bytes are announced and {delivered} delivered in one phase; a barrier counts at \
                 most {MAX_TX} either way, in whatever order they come"
            );
            let site = page.last?;
            let diagnostic = Diagnostic::new(&rule::WIDE_PHASE.rule, self.machine.span(site.pc), message)
                .label(format!("by {}", self.machine.threads(site)));
            Some(finding(&rule::WIDE_PHASE, diagnostic, 1))
        })
        .collect()
    }

    /// Waits in loops on barriers that completed few phases.
    pub fn few_laps(&self) -> Vec<Finding> {
        let few = laps::few(self.machine, self.watch).into_iter();
        few.map(|(pc, (cta, address), completed)| {
            let name = self.machine.barrier_name(cta, address);
            let phases = count(completed, "phase");
            let message = format!("{name} completed only {phases}: less than twice around both parities");
            finding(
                &rule::FEW_PHASES,
                Diagnostic::new(&rule::FEW_PHASES.rule, self.machine.span(pc), message),
                1,
            )
        })
        .collect()
    }

    /// Something that is decided by a value that depends on the schedule.
    pub fn decision(&self, decision: &Decision) -> Finding {
        let (source, sink) = (decision.source, decision.sink);
        let value = match decision.cause {
            Cause::Unordered => {
                "the value that it reads, or the old one that it gets, has writes in no order with it"
            }
            Cause::Poll => {
                "the answer of this poll depends on the schedule, and the program does more than ask again"
            }
            Cause::Tries => "how often the wait asks depends on the schedule",
            Cause::Writes => "these strong writes are in no order",
            Cause::Itself(why) => match why {
                Why::Atomic => "an atomic's old value depends on the schedule",
                Why::Clock => "a clock says something else each time",
                Why::Lanes => "which lanes execute together is not promised",
                Why::Place => "where a warp runs is not promised",
                Why::Pending => "the pending count depends on the schedule",
                Why::Cancel => "who gets the next cluster depends on the schedule",
                Why::Allocation => "addresses of allocated memory are not promised",
            },
        };
        let decides = match decision.kind {
            Decides::Sink(Kind::Branch) => "decides where this goes on",
            Decides::Sink(Kind::Guard) => "decides whether this is executed",
            Decides::Sink(Kind::Address) => "decides which memory this means",
            Decides::Sink(Kind::Count | Kind::Size) => "decides a count or size here",
            Decides::Sink(Kind::Parity) => "decides which phase this waits for",
            Decides::Sink(Kind::Output) => "gets into the results here",
            Decides::Memory => "decides what memory holds in the end",
            Decides::Order => "what comes behind it is ordered only if it sees the other side's write",
        };
        let diagnostic = Diagnostic::new(&rule::FOREIGN_DECISION.rule, self.machine.span(source), value)
            .also(self.machine.span(sink), decides);
        finding(&rule::FOREIGN_DECISION, diagnostic, 1)
    }

    /// Schedules that end differently.
    pub fn differing(&self, finals: usize) -> Finding {
        let program = self.machine.program;
        let routine = self.machine.code.routines[self.machine.code.kernel].routine as usize;
        let span = program.function(&program.routines[routine]).name.span;
        let message =
            format!("{finals} different contents of global memory at the end, depending on the schedule");
        finding(&rule::DIFFERENT_RESULTS, Diagnostic::new(&rule::DIFFERENT_RESULTS.rule, span, message), 1)
    }

    /// A condition that fails.
    pub fn doubt(&self, doubt: &Doubt) -> Finding {
        let rule = match doubt.condition {
            _ if doubt.only_lanes => &rule::SEPARATE,
            _ if doubt.only_relaxed => &rule::RELAXED_ORDER,
            Condition::EarlyArrival => &rule::EARLY_ARRIVAL,
            Condition::EarlyWait => &rule::EARLY_WAIT,
            Condition::LappedWait => &rule::LAPPED_WAIT,
            Condition::EarlyExpect => &rule::EARLY_EXPECT,
            Condition::LateExpect => &rule::LATE_EXPECT,
            Condition::EarlyBytes => &rule::EARLY_BYTES,
            Condition::LateIncrement => &rule::LATE_INCREMENT,
            Condition::LastPromise => &rule::LAST_PROMISE,
            Condition::MixedGenerations => &rule::MIXED_GENERATIONS,
        };
        let (first, second) = (doubt.first.by, doubt.second.by);
        let (early, late) = (self.machine.line(second.pc), self.machine.line(first.pc));
        let name = doubt.object.map_or(String::new(), |o| self.machine.barrier_name(o.cta, o.address));
        let message = match doubt.condition {
            Condition::EarlyArrival => format!(
                "{name}: the arrival at line {early} could land before the phase is over that line {late} belongs to"
            ),
            Condition::EarlyWait => format!(
                "{name}: the wait at line {early} could be asked before the phase is over that line {late} belongs to"
            ),
            Condition::LappedWait => format!(
                "{name}: the next phase could complete (line {early}) before the wait at line {late} has looked"
            ),
            Condition::EarlyExpect | Condition::EarlyBytes => format!(
                "{name}: the bytes of line {early} could count for the phase that line {late} belongs to"
            ),
            Condition::LateExpect => format!(
                "{name}: the phase could complete (line {early}) before the bytes of line {late} are announced"
            ),
            Condition::LateIncrement => format!(
                "{name}: the phase could complete (line {early}) before line {late} counts its arrival in"
            ),
            Condition::LastPromise => {
                format!("{name}: the arrival at line {late} could be the last of its phase")
            }
            Condition::MixedGenerations => format!(
                "the arrival at line {early} could take part in the round that line {late} belongs to"
            ),
        };
        let (at, other) = match doubt.condition {
            Condition::EarlyArrival
            | Condition::EarlyWait
            | Condition::EarlyExpect
            | Condition::EarlyBytes
            | Condition::MixedGenerations => (second, first),
            Condition::LappedWait
            | Condition::LateExpect
            | Condition::LateIncrement
            | Condition::LastPromise => (first, second),
        };
        let mut diagnostic = Diagnostic::new(&rule.rule, self.machine.span(at.pc), message)
            .label(format!("by {}", self.machine.threads(at)));
        if other.pc != at.pc {
            diagnostic =
                diagnostic.also(self.machine.span(other.pc), format!("by {}", self.machine.threads(other)));
        }
        if self.strict && doubt.only_lanes {
            diagnostic = diagnostic.severity(Severity::Error);
        }
        finding(rule, diagnostic, 1)
    }
}

fn rule_of(race: &Race) -> &'static RunRule {
    if race.is_read_before_overwrite() {
        &rule::READ_BEFORE_OVERWRITE
    } else if race.missing == Missing::Fence && race.new.does == Does::ReadsMap {
        &rule::MISSING_MAP_FENCE
    } else if race.missing == Missing::Fence {
        &rule::MISSING_FENCE
    } else if race.old.does.is_of_barrier() && race.new.does.is_of_barrier() {
        &rule::BARRIER_RACE
    } else {
        &rule::RACE
    }
}

/// How the fence between the generic and the asynchronous proxy is spelled.
fn proxy_fence() -> String {
    let has = |op: &&crate::isa::table::Op| {
        op.rows.iter().any(|row| Meaning::of(row.form) == Meaning::FenceProxyAsync)
    };
    let name = OPS.iter().find(has).map_or("the proxy fence", |op| op.name);
    format!("{name}{}", crate::isa::Mod::Async.text())
}
