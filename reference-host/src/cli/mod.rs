//! Arguments, and how a command's outcome becomes an exit status.

mod check_ptx;
mod output;
mod run;
mod wasm;

use std::fmt::Display;
use std::io;
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
        output::tell(format_args!("error: {failure}"));
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

/// Why a command stopped.
#[derive(Debug, Error)]
enum Failure {
    /// Something is wrong with a file, or with what it holds; `file` may have a place in it at its end.
    #[error("{}: {problem}", file.display())]
    File { file: PathBuf, problem: String },
    /// The device that was asked for cannot be had.
    #[cfg(feature = "cuda")]
    #[error("{0}; `--device soft` runs kernels on any machine")]
    Device(wasi_cuda_host::device::Absence),
    /// What the command found out has nowhere to go.
    #[error("cannot write to standard output: {0}")]
    Stdout(io::Error),
}

impl Failure {
    /// `problem` with `file`, short enough to be read.
    fn new(file: &Path, problem: impl Display) -> Self {
        Self::File {
            file: file.to_owned(),
            problem: output::readable(&problem.to_string()),
        }
    }

    /// As [`Failure::new`], for what others put into words: they may use several lines.
    fn in_lines(file: &Path, problem: impl Display) -> Self {
        let problem = problem.to_string();
        let lines: Vec<_> = problem
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        Self::new(file, lines.join("; "))
    }
}

/// Reads a whole file.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure::new(file, format_args!("cannot read: {error}")))
}
