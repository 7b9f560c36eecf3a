//! `random`: sequences of calls that the model judges.

use std::process::ExitCode;

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use wasi_cuda_conformance::random::{self, Options};

use super::progress::{Progress, interrupt_flag, silence_caught_panics};
use super::runtime::RuntimeArguments;
use super::{CliError, Format, output, seconds};

/// Arguments of `random`.
#[derive(Debug, Args)]
pub(super) struct RandomArguments {
    #[command(flatten)]
    runtime: RuntimeArguments,
    /// Sequences to run.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// Operations in each sequence.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = operations, allow_negative_numbers = true)]
    ops: usize,
    /// What the sequences are made from: the same seed, the same sequences [default: the time].
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Seconds that one call may take.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Duration,
    /// Do not judge recommendations (`should`): what breaks nothing else is no finding then.
    #[arg(long)]
    lenient: bool,
    /// Form of the report.
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// Write the fixture that shows what was found to this file, whole or not at all.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) const HELP: &str = "\
Operations are drawn by chance, carried out on up to three instances of one guest, and judged by the model:
after each call the result, the ids, the quotas and every byte of guest memory are what the ABI allows, or it
is a finding. So are a trap, a hang and a crash. What is found is cut down to a few calls and printed as a
fixture: save it under a folder and `run --fixtures FOLDER` shows the same failure again. With --output it goes to
the file instead.

Exit status:
  0  nothing found
  1  something found, also if it breaks a recommendation only (which `run` reports and does not count as a
     failure); --lenient does not judge these
  2  the job could not be done: bad arguments, a runtime that does not work, Ctrl-C

Examples:
  wasi-cuda-conformance random                                  1000 sequences on the software GPU
  wasi-cuda-conformance random --runtime reference:none --runs 20000
  wasi-cuda-conformance random --seed 7 --output found/case.wat the sequences of seed 7, the fixture in a file";

pub(super) fn execute(arguments: &RandomArguments) -> Result<ExitCode, CliError> {
    if let Some(path) = &arguments.output {
        output::probe(path)?;
    }
    let runtime = arguments.runtime.open()?;
    let options = Options {
        runs: arguments.runs,
        operations: arguments.ops,
        seed: arguments.seed.unwrap_or_else(seed_of_the_moment),
        limit: arguments.timeout,
        strict: !arguments.lenient,
        interrupt: Some(interrupt_flag()),
    };
    silence_caught_panics();
    let mut bar = Progress::new("sequences");
    let report = random::run(runtime, &options, &mut |done, total| bar.show(done, total));
    bar.clear();
    let report = report?;
    if let (Some(path), Some(found)) = (&arguments.output, &report.found) {
        output::write(Some(path), &found.fixture)?;
    }
    output::print(&match arguments.format {
        Format::Json => report.to_json(),
        Format::Terminal => report.to_terminal(arguments.output.as_deref()),
    })?;
    Ok(if report.found.is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// A seed that is another one each time; it is printed, and gives the same sequences again.
fn seed_of_the_moment() -> u64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    time.map_or(0, |time| u64::from(time.subsec_nanos()) ^ time.as_secs())
}

fn operations(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(number @ 1..=100_000) => Ok(number),
        _ => Err("write a whole number of operations from 1 to 100000".to_owned()),
    }
}
