//! Verifying a program as `mbar verify` does, without the command line.

use mbar::diagnostic::Severity;
use mbar::machine::Options;
use mbar::verify::explore::Bounds;
use mbar::verify::{self, Settings, Verdict, Verification};

use super::execute::{Found, Prepared, found};

/// What the verifier says.
pub struct Judged {
    pub verdict: Verdict,
    pub grounds: Vec<String>,
    pub findings: Vec<Found>,
    pub replay: Option<Vec<u32>>,
    pub states: u64,
}

impl Judged {
    /// `violated: first schedule …; 12 error race: …`
    pub fn in_words(&self) -> String {
        let found = self.findings.iter().map(|found| {
            let lines: Vec<u32> = std::iter::once(found.line).chain(found.related.iter().copied()).collect();
            format!("{lines:?} {} {}: {}", found.severity.as_str(), found.name, found.message)
        });
        let head = format!("{}: {}", self.verdict.as_str(), self.grounds.join("; "));
        std::iter::once(head).chain(found).collect::<Vec<_>>().join("\n    ")
    }

    /// Whether there is a finding of severity error.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|found| found.severity == Severity::Error)
    }
}

/// Settings with a search of so many states at most; time plays no part, so that tests always do the same.
pub fn settings(states: u64) -> Settings {
    Settings {
        options: Options::default(),
        strict: false,
        explore: false,
        jobs: 1,
        bounds: Bounds { states, time: None, ..Bounds::default() },
    }
}

/// Verifies a program.
pub fn judge(prepared: &Prepared, settings: &Settings) -> Judged {
    let Ok(verification) = verify::verify(&prepared.program, &prepared.launch, settings, &|_| {}) else {
        panic!("{}: no launch", prepared.program.module.source.name());
    };
    let source = &prepared.program.module.source;
    let Verification { verdict, grounds, findings, replay, states, .. } = verification;
    let findings = findings.iter().map(|finding| found(source, finding)).collect();
    Judged { verdict, grounds, findings, replay, states }
}
