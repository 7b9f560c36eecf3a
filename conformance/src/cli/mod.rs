//! Arguments, and which command they start.

mod explain;
mod list;
mod output;
mod progress;
mod random;
mod run;
mod runtime;

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use wasi_cuda_conformance::filter::FilterError;
use wasi_cuda_conformance::fixture::LoadError;
use wasi_cuda_conformance::random::RandomError;
use wasi_cuda_conformance::runner::RunError;
use wasi_cuda_conformance::runtime::EngineError;
use wasi_cuda_conformance::text::one_line;
use wasi_cuda_conformance::{Profile, Suite, SuiteError, UnknownProfile};

use runtime::RuntimeArguments;

/// Checks a host of wasi:cuda/host@0.2.0 against the ABI's requirements.
///
/// Every case is one call of a small WebAssembly guest; its id is the fixture's path, the step and its parameters.
/// Without a command, `run` is meant.
#[derive(Debug, Parser)]
#[command(name = "wasi-cuda-conformance", version, args_conflicts_with_subcommands = true, after_help = EXIT_STATUS)]
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
A reader of standard output that goes away early, as `head` does, changes neither messages nor status.

Examples:
  wasi-cuda-conformance                                      the whole suite on the software GPU
  wasi-cuda-conformance run --runtime reference:none         the reference host without a device
  wasi-cuda-conformance run --filter 'launch/*'              one folder of fixtures
  wasi-cuda-conformance run --format json --output r.json    a report for programs
  wasi-cuda-conformance run --runtime deviant:free-foreign   a host with one mistake, and what catches it
  wasi-cuda-conformance explain launch.grid.positive         what a requirement says, and its cases";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run cases and judge them.
    #[command(after_help = EXIT_STATUS)]
    Run(RunArguments),
    /// Run random sequences of calls, judge each by the model, and shrink what is found to a fixture.
    #[command(after_help = random::HELP)]
    Random(random::RandomArguments),
    /// List cases, requirements and what checks each, or deviants.
    List(ListArguments),
    /// Say what a requirement, a case or a deviant is about, with the guests' text.
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
    #[command(flatten)]
    runtime: RuntimeArguments,
    /// Only these cases: a case id, a folder or fixture, or a glob over ids (`*` also crosses `/`).
    #[arg(long, value_name = "GLOB")]
    filter: Option<String>,
    /// Worker threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,
    /// Seconds that one case may take.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Duration,
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
    /// List the requirements instead, with the number of cases on each profile and of deviants.
    #[arg(long, conflicts_with = "filter")]
    requirements: bool,
    /// List the deviants instead: hosts with one mistake, to be run with `run --runtime deviant:NAME`.
    #[arg(long, conflicts_with_all = ["filter", "requirements"])]
    deviants: bool,
    /// Only what is judged under this profile.
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
    /// A requirement, a fixture, a case or a deviant.
    id: String,
    #[command(flatten)]
    suite: SuiteArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Terminal,
    /// For programs.
    Json,
}

impl Arguments {
    /// The arguments of this process. `Err` is how the program ends without doing anything: it has shown its help or
    /// version, or said what is wrong with the arguments.
    pub(crate) fn of_process() -> Result<Arguments, Result<ExitCode, CliError>> {
        let given: Vec<OsString> = std::env::args_os().collect();
        let error = match Arguments::try_parse_from(&given) {
            Ok(arguments) => return Ok(arguments),
            Err(error) if !error.use_stderr() => {
                let text = error.render();
                let text = if output::wants_colour() {
                    text.ansi().to_string()
                } else {
                    text.to_string()
                };
                return Err(output::print(&text).map(|()| ExitCode::SUCCESS));
            }
            Err(error) => error,
        };
        // The message quotes the arguments: have it quote them without control characters.
        let shown = given
            .iter()
            .map(|argument| one_line(&argument.to_string_lossy()).into_owned());
        let error = Arguments::try_parse_from(shown).err().unwrap_or(error);
        // Nobody is left to be told that standard error cannot be written.
        let _ = error.print();
        Err(Ok(ExitCode::from(2)))
    }
}

/// Runs the command; the status is that of the program.
pub(crate) fn execute(arguments: Arguments) -> Result<ExitCode, CliError> {
    match arguments.command.unwrap_or(Command::Run(arguments.run)) {
        Command::Run(arguments) => run::execute(&arguments),
        Command::Random(arguments) => random::execute(&arguments),
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
    Random(#[from] RandomError),
    #[error(transparent)]
    Filter(#[from] FilterError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("profile `{wanted}` was asked for, and {runtime} is a `{actual}` host")]
    Profile {
        wanted: Profile,
        runtime: String,
        actual: Profile,
    },
    #[error(
        "no requirement, fixture, case or deviant is called `{0}`; `list`, `list --requirements` and `list --deviants` print the ids"
    )]
    UnknownId(String),
    #[error("cannot write {}: {error}", path.display())]
    Output { path: PathBuf, error: io::Error },
    #[error("cannot write to standard output: {0}")]
    Stdout(io::Error),
}

impl CliError {
    /// What is wrong, a line for each problem, safe to print on a terminal.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            CliError::Suite(error) => error.problems.iter().map(LoadError::to_string).collect(),
            other => vec![one_line(&other.to_string()).into_owned()],
        }
    }

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

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let hint = "write a whole number of threads, at least 1";
    match text.parse::<i128>() {
        Err(_) => Err(hint.to_owned()),
        Ok(number) if number < 1 => Err(format!("no work is done by {number} threads; {hint}")),
        Ok(number) => usize::try_from(number)
            .ok()
            .and_then(NonZeroUsize::new)
            .ok_or_else(|| "too large: no system has as many threads".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let hint = "write a number of seconds above 0, such as 10 or 0.5";
    match text.parse::<f64>() {
        Ok(number) if number > LONGEST.as_secs_f64() => {
            Err(format!("too large: at most {} seconds", LONGEST.as_secs()))
        }
        Ok(number) if number <= 0.0 => Err(format!("no case ends within that time; {hint}")),
        Ok(number) => match Duration::try_from_secs_f64(number) {
            Ok(limit) if !limit.is_zero() => Ok(limit),
            Ok(_) => Err(format!("no case ends within that time; {hint}")),
            Err(_) => Err(hint.to_owned()),
        },
        Err(_) => Err(hint.to_owned()),
    }
}

/// Thirty years: more is a slip of the keyboard, and times of day near the end of the clock's range do not add up.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);
