//! Running the built program.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder of its own for a test, with files in it.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty one.
    pub fn new(test: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    /// Adds a file.
    pub fn with(self, name: &str, content: impl AsRef<[u8]>) -> Folder {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, content).expect("a file");
        self
    }

    /// Runs `mbar` in the folder.
    pub fn mbar(&self, arguments: &[&str]) -> Run {
        self.mbar_with(arguments, |_| {})
    }

    /// The same, with a change to the command before it runs.
    pub fn mbar_with(&self, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mbar"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        // Where these tests run says nothing about the folders that they make.
        command.env_remove("GITHUB_WORKSPACE");
        change(&mut command);
        Run::of(command.output().expect("mbar starts"), arguments)
    }

    /// The same, with standard input.
    pub fn mbar_with_input(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mbar"));
        command.args(arguments).current_dir(&self.0).env_remove("GITHUB_WORKSPACE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("mbar starts");
        child.stdin.take().expect("a pipe").write_all(input).expect("mbar reads");
        Run::of(child.wait_with_output().expect("mbar ends"), arguments)
    }
}

/// What a run gave.
pub struct Run {
    arguments: String,
    /// The exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Run {
    /// What a finished process gave.
    pub fn of(output: Output, arguments: &[&str]) -> Run {
        Run {
            arguments: arguments.join(" "),
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            err: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
        }
    }

    /// Wants an exit code.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Run {
        assert_eq!(self.code, Some(code), "mbar {}\n{}{}", self.arguments, self.out, self.err);
        self
    }

    /// Wants a text on standard output.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Run {
        assert!(self.out.contains(text), "mbar {}: no {text:?} on stdout:\n{}", self.arguments, self.out);
        self
    }

    /// Wants a text on standard error.
    #[track_caller]
    pub fn complains(&self, text: &str) -> &Run {
        assert!(self.err.contains(text), "mbar {}: no {text:?} on stderr:\n{}", self.arguments, self.err);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("mbar {}: {e}:\n{}", self.arguments, self.out))
    }
}
