//! Command line of the conformance suite.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    match cli::execute(arguments) {
        Ok(status) => status,
        Err(error) => {
            for line in error.to_string().lines() {
                eprintln!("error: {line}");
            }
            ExitCode::from(2)
        }
    }
}
