//! A progress line on standard error, for what takes long.

use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The line.
pub(super) struct Progress {
    what: &'static str,
    start: Instant,
    last: Instant,
    terminal: bool,
    shown: bool,
}

impl Progress {
    /// A line that is told texts, perhaps by several threads.
    pub(super) fn shared() -> SharedProgress {
        SharedProgress(Mutex::new(Progress::new("")))
    }

    /// A line that counts something.
    pub(super) fn new(what: &'static str) -> Progress {
        let start = Instant::now();
        Progress { what, start, last: start, terminal: io::stderr().is_terminal(), shown: false }
    }

    /// Shows a number, now and then, where somebody looks.
    pub(super) fn tell(&mut self, number: u64) {
        let what = self.what;
        self.show(format_args!("{number} {what}"));
    }

    fn show(&mut self, text: impl std::fmt::Display) {
        let soon = self.last.elapsed() < Duration::from_millis(500);
        if soon || self.start.elapsed() < Duration::from_secs(1) || !self.terminal {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        eprint!("\r\x1b[K{text} …");
    }
}

/// The same for several threads.
pub(super) struct SharedProgress(Mutex<Progress>);

impl SharedProgress {
    /// Shows a text, now and then, where somebody looks.
    pub(super) fn show(&self, text: impl std::fmt::Display) {
        if let Ok(mut progress) = self.0.try_lock() {
            progress.show(text);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}
