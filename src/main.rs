//! The `mbar` binary.

fn main() -> std::process::ExitCode {
    mbar::cli::main()
}
