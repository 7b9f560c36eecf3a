//! Command line of the conformance suite.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    let status = match cli::Arguments::of_process() {
        Ok(arguments) => cli::execute(arguments),
        Err(ended) => ended,
    };
    match status {
        Ok(status) => status,
        Err(error) => {
            for line in error.lines() {
                eprintln!("error: {line}");
            }
            ExitCode::from(2)
        }
    }
}
