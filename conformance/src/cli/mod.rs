//! Arguments, and which command they start.

mod explain;
mod list;
mod output;
mod run;

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use wasi_cuda_conformance::filter::FilterError;
use wasi_cuda_conformance::runner::RunError;
use wasi_cuda_conformance::runtime::reference::ReferenceError;
use wasi_cuda_conformance::{Profile, Suite, SuiteError, UnknownProfile};

/// Checks a host of wasi:cuda/host@0.2.0 against the ABI's requirements.
///
/// Every case is one call of a small WebAssembly guest; its id is the fixture's path, the step and its parameters.
/// Without a command, `run` is meant.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, after_help = EXIT_STATUS)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArguments,
}

const EXIT_STATUS: &str = "\
Exit status:
  0  conformant: every `must` case passed, and nothing crashed or hung
     (failed `should` and `may` cases are shown and do not change the status)
  1  not conformant
  2  the suite could not do its job: bad arguments, a malformed fixture, an unwritable output, Ctrl-C

Examples:
  wasi-cuda-conformance                                      the whole suite on the software GPU
  wasi-cuda-conformance run --runtime reference:none         the reference host without a device
  wasi-cuda-conformance run --filter 'launch/*'              one folder of fixtures
  wasi-cuda-conformance run --format json --output r.json    a report for programs
  wasi-cuda-conformance explain launch.grid.positive         what a requirement says, and its cases";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run cases and judge them.
    #[command(after_help = EXIT_STATUS)]
    Run(RunArguments),
    /// List cases, or requirements and how many cases check each.
    List(ListArguments),
    /// Say what a requirement or a case is about, with the guest's text.
    Explain(ExplainArguments),
}

#[derive(Debug, Args)]
struct SuiteArguments {
    /// Use the fixtures of this folder instead of those in the program.
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
    /// Use this requirement catalogue instead of the one in the program.
    #[arg(long, value_name = "FILE", requires = "fixtures")]
    catalogue: Option<PathBuf>,
}

impl SuiteArguments {
    fn load(&self) -> Result<Suite, SuiteError> {
        match &self.fixtures {
            Some(folder) => Suite::from_folder(folder, self.catalogue.as_deref()),
            None => Suite::embedded(),
        }
    }
}

#[derive(Debug, Args)]
struct RunArguments {
    /// The runtime under test.
    #[arg(
        long,
        value_enum,
        default_value = "reference:soft",
        value_name = "RUNTIME"
    )]
    runtime: RuntimeChoice,
    /// Only these cases: a case id, a folder or fixture, or a glob over ids (`*` also crosses `/`).
    #[arg(long, value_name = "GLOB")]
    filter: Option<String>,
    /// Insist on this host profile: device, no-device or disabled.
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    profile: Option<Profile>,
    /// Worker threads [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Seconds that one case may take.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: std::time::Duration,
    /// Form of the report.
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// Write the report to this file, whole or not at all.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    suite: SuiteArguments,
}

#[derive(Debug, Args)]
struct ListArguments {
    /// List the requirements instead, with the number of cases on each profile.
    #[arg(long, conflicts_with = "filter")]
    requirements: bool,
    /// Only cases that are judged under this profile.
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    profile: Option<Profile>,
    /// Only these cases, as in `run`.
    #[arg(long, value_name = "GLOB")]
    filter: Option<String>,
    #[command(flatten)]
    suite: SuiteArguments,
}

#[derive(Debug, Args)]
struct ExplainArguments {
    /// A requirement or a case.
    id: String,
    #[command(flatten)]
    suite: SuiteArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RuntimeChoice {
    /// The reference host with the software GPU (profile device).
    #[value(name = "reference:soft")]
    Soft,
    /// The reference host without a device (profile no-device).
    #[value(name = "reference:none")]
    None,
    /// The reference host without the capability (profile disabled).
    #[value(name = "reference:disabled")]
    Disabled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Terminal,
    /// For programs.
    Json,
}

/// Runs the command; the status is that of the program.
pub(crate) fn execute(arguments: Arguments) -> Result<ExitCode, CliError> {
    match arguments.command.unwrap_or(Command::Run(arguments.run)) {
        Command::Run(arguments) => run::execute(&arguments),
        Command::List(arguments) => list::execute(&arguments),
        Command::Explain(arguments) => explain::execute(&arguments),
    }
}

/// Why a command could not do its job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CliError {
    #[error(transparent)]
    Suite(#[from] SuiteError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Filter(#[from] FilterError),
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error("profile `{wanted}` was asked for, and {runtime} is a `{actual}` host")]
    Profile {
        wanted: Profile,
        runtime: String,
        actual: Profile,
    },
    #[error(
        "no requirement and no case is called `{0}`; `list` and `list --requirements` print the ids"
    )]
    UnknownId(String),
    #[error("cannot write {}: {error}", path.display())]
    Output { path: PathBuf, error: io::Error },
    #[error("cannot write to standard output: {0}")]
    Stdout(io::Error),
}

impl CliError {
    fn output(path: &Path, error: io::Error) -> CliError {
        CliError::Output {
            path: path.to_owned(),
            error,
        }
    }
}

fn profile(word: &str) -> Result<Profile, UnknownProfile> {
    word.parse()
}

fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "write a number of seconds, such as 10 or 0.5".to_owned())?;
    match std::time::Duration::try_from_secs_f64(number) {
        Ok(limit) if !limit.is_zero() => Ok(limit),
        _ => Err("write a number of seconds above 0".to_owned()),
    }
}
