//! The one door for everything that a schedule decides.
//!
//! Which warp runs, when a copy lands, whether a wait gives up, whether lanes reconverge: each such
//! question has a number of answers, and a [`Choose`] picks one. So a recorded list of answers
//! replays a run exactly.

use std::fmt::Write as _;

use super::Machine;
use crate::launch::Random;

/// A question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Which of the warps that can go on runs next; the answer `next` goes round.
    Warp {
        /// The first one behind the warp that ran last.
        next: u32,
    },
    /// Which of the groups of lanes of a warp runs next.
    Group {
        /// The first one behind the group that ran last.
        next: u32,
    },
    /// Which copy goes on; where it may also be none, that is answer 0 and copies follow.
    Copy {
        /// Whether none is an answer.
        or_none: bool,
        /// Whether the first copies have been under way for so long that a schedule that lands them late
        /// should let them: programs count their tries.
        late: bool,
    },
    /// Which part of a copy lands.
    Part,
    /// Whether a wait gives up while others can run (answer 1).
    GiveUp,
    /// Whether a sleep is over at once (answer 1).
    Wake,
    /// Whether a group goes on alone where it could wait for the others (answer 1).
    GoOn,
}

/// Answers questions.
pub trait Choose {
    /// Picks one of `options` answers (at least 2), counted from 0.
    fn choose(&mut self, question: Question, options: u32) -> u32;

    /// The same with a look at the machine that asks.
    fn decide(&mut self, machine: &Machine, question: Question, options: u32) -> u32 {
        let _ = machine;
        self.choose(question, options)
    }
}

/// In which order warps run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Schedule {
    /// In turn.
    #[default]
    RoundRobin,
    /// At random.
    Random,
}

/// When copies land.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Landing {
    /// At once.
    Eager,
    /// As late as possible.
    #[default]
    Lazy,
    /// At random, in any order.
    Random,
}

/// Answers by a strategy.
#[derive(Clone, Debug)]
pub struct Strategy {
    schedule: Schedule,
    landing: Landing,
    random: Random,
}

impl Strategy {
    /// A strategy; `seed` is for its random parts.
    pub fn new(schedule: Schedule, landing: Landing, seed: u64) -> Strategy {
        Strategy { schedule, landing, random: Random::new(seed) }
    }
}

impl Choose for Strategy {
    fn choose(&mut self, question: Question, options: u32) -> u32 {
        match (question, self.schedule, self.landing) {
            (Question::Warp { next } | Question::Group { next }, Schedule::RoundRobin, _) => next,
            (Question::Warp { .. } | Question::Group { .. }, Schedule::Random, _) => {
                self.random.below(options)
            }
            (Question::Copy { late, .. }, _, Landing::Lazy) => u32::from(late),
            (Question::Copy { or_none, .. }, _, Landing::Eager) => u32::from(or_none),
            // Copies land in about a quarter of the steps in which they could.
            (Question::Copy { or_none: true, late }, _, Landing::Random) => {
                if self.random.below(4) == 0 {
                    1 + self.random.below(options - 1)
                } else {
                    u32::from(late)
                }
            }
            (Question::Part, _, Landing::Eager | Landing::Lazy) => 0,
            (Question::Copy { or_none: false, .. } | Question::Part, _, Landing::Random) => {
                self.random.below(options)
            }
            (Question::GiveUp, Schedule::RoundRobin, _) => 0,
            (Question::GiveUp, Schedule::Random, _) => u32::from(self.random.below(16) == 0),
            (Question::Wake, ..) => 0,
            (Question::GoOn, ..) => self.random.below(2),
        }
    }
}

/// The version of the format of recordings, and of what the questions mean.
const VERSION: &str = "mbar-schedule 1";

/// The answers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Tells whether a recording fits a program and launch.
    pub program: u64,
    /// Whether lanes reconverge, as the word of the flag: part of what the answers mean.
    pub reconverge: String,
    /// The answers in order.
    pub answers: Vec<u32>,
}

impl Recording {
    /// As text: runs of equal answers are written once with their number.
    pub fn to_text(&self) -> String {
        let mut text = format!("{VERSION}\nprogram {:016x}\nreconverge {}\n", self.program, self.reconverge);
        let mut width = 0;
        for run in self.answers.chunk_by(|a, b| a == b) {
            let mut word = run[0].to_string();
            if run.len() > 1 {
                let _ = write!(word, "*{}", run.len());
            }
            let separator = if width == 0 { "" } else { " " };
            width += word.len() + separator.len();
            let _ = write!(text, "{separator}{word}");
            if width > 90 {
                text.push('\n');
                width = 0;
            }
        }
        if width > 0 {
            text.push('\n');
        }
        text
    }

    /// Reads the text back; else what is wrong with it.
    pub fn from_text(text: &str) -> Result<Recording, String> {
        let mut lines = text.lines();
        if lines.next().map(str::trim) != Some(VERSION) {
            return Err(format!("is no recording of this version (its first line should be `{VERSION}`)"));
        }
        let mut field = |name: &str| {
            let line = lines.next().unwrap_or_default();
            line.strip_prefix(name)
                .map(|rest| rest.trim().to_string())
                .ok_or(format!("lacks the line `{name} …`"))
        };
        let program =
            u64::from_str_radix(&field("program")?, 16).map_err(|_| "names no program".to_string())?;
        let reconverge = field("reconverge")?;
        let mut answers = Vec::new();
        for word in lines.flat_map(str::split_whitespace) {
            let (answer, times) = word.split_once('*').unwrap_or((word, "1"));
            let (Ok(answer), Ok(times)) = (answer.parse(), times.parse::<usize>()) else {
                return Err(format!("holds `{word}`, which is no answer"));
            };
            if times > MOST_ANSWERS - answers.len() {
                return Err("is too long".to_string());
            }
            answers.resize(answers.len() + times, answer);
        }
        Ok(Recording { program, reconverge, answers })
    }
}

/// A recording has at most so many answers.
const MOST_ANSWERS: usize = 1 << 26;

/// Answers as another one does, and writes down what.
#[derive(Debug)]
pub struct Recorder<C> {
    /// Who answers.
    pub inner: C,
    /// The answers so far.
    pub answers: Vec<u32>,
    /// Whether there were more than a recording can hold.
    pub is_full: bool,
}

impl<C> Recorder<C> {
    /// A recorder of what `inner` answers.
    pub fn new(inner: C) -> Recorder<C> {
        Recorder { inner, answers: Vec::new(), is_full: false }
    }

    /// Who answers.
    pub fn inner(&self) -> &C {
        &self.inner
    }

    /// The same, to be changed.
    pub fn inner_mut(&mut self) -> &mut C {
        &mut self.inner
    }
}

impl<C: Choose> Choose for Recorder<C> {
    fn choose(&mut self, question: Question, options: u32) -> u32 {
        let answer = self.inner.choose(question, options);
        self.keep(answer)
    }

    fn decide(&mut self, machine: &Machine, question: Question, options: u32) -> u32 {
        let answer = self.inner.decide(machine, question, options);
        self.keep(answer)
    }
}

impl<C> Recorder<C> {
    fn keep(&mut self, answer: u32) -> u32 {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push(answer);
        } else {
            self.is_full = true;
        }
        answer
    }
}

/// Answers as recorded; behind the end of the recording like the default strategy.
#[derive(Debug)]
pub struct Replay {
    answers: std::vec::IntoIter<u32>,
    rest: Strategy,
}

impl Replay {
    /// The replay of a recording.
    pub fn new(recording: Recording) -> Replay {
        let rest = Strategy::new(Schedule::RoundRobin, Landing::Lazy, 0);
        Replay { answers: recording.answers.into_iter(), rest }
    }
}

impl Choose for Replay {
    fn choose(&mut self, question: Question, options: u32) -> u32 {
        match self.answers.next() {
            // A recording of another program may have had more options.
            Some(answer) => answer.min(options - 1),
            None => self.rest.choose(question, options),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn recordings_survive_their_text(answers in prop::collection::vec(0u32..4, 0..300), program: u64) {
            let recording = Recording { program, reconverge: "never".into(), answers };
            prop_assert_eq!(Recording::from_text(&recording.to_text()), Ok(recording));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "(mbar-schedule 1\nprogram 0\nreconverge x\n)?[0-9* \n]{0,40}") {
            let _ = Recording::from_text(&text);
        }
    }
}
