//! Arguments, and how a command's outcome becomes an exit status.

mod check_ptx;
mod run;
mod wasm;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use thiserror::Error;

/// Parses the arguments, runs the command, prints what stopped it.
pub(crate) fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Run(arguments) => run::run(arguments).map(|()| ExitCode::SUCCESS),
        Command::CheckPtx(arguments) => check_ptx::check_ptx(&arguments),
    };
    outcome.unwrap_or_else(|failure| {
        // With stderr gone there is nowhere left to say so; the status still does.
        let _ = writeln!(io::stderr(), "{failure}");
        ExitCode::from(FAILED)
    })
}

/// The command could not do its job.
const FAILED: u8 = 2;

#[derive(Debug, Parser)]
#[command(
    name = "wasi-cuda-host",
    version,
    about = "The reference host of wasi:cuda/host@0.2.0"
)]
#[command(
    after_help = "Exit status: 0 done, 1 a PTX file was refused, 2 the command could not do its job."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a WebAssembly guest and print what its function returns
    Run(run::Arguments),
    /// Check PTX files as a load would: prints the entries, or the first error and its place
    CheckPtx(check_ptx::Arguments),
}

/// Why a command stopped: always a file, and a place in it where there is one.
#[derive(Debug, Error)]
#[error("{}: {problem}", on_one_line(&file.to_string_lossy()))]
struct Failure {
    file: PathBuf,
    problem: String,
}

impl Failure {
    /// `problem` on one line, whatever its text holds.
    fn new(file: &Path, problem: impl std::fmt::Display) -> Self {
        let problem = problem.to_string();
        let lines: Vec<_> = problem
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        Self {
            file: file.to_owned(),
            problem: on_one_line(&lines.join("; ")),
        }
    }
}

/// A text from outside, its control characters escaped: it can then neither break a line nor steer a terminal.
fn on_one_line(text: &str) -> String {
    text.chars().fold(String::new(), |mut line, character| {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
        line
    })
}

/// Reads a whole file.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure::new(file, format_args!("cannot read: {error}")))
}

/// Writes one line to standard output.
fn print(line: impl std::fmt::Display) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .map_err(|error| {
            Failure::new(
                Path::new("standard output"),
                format_args!("cannot write: {error}"),
            )
        })
}
