//! `run`: the suite on a runtime, and the report.

use std::process::ExitCode;

use wasi_cuda_conformance::report::Style;
use wasi_cuda_conformance::runner::{self, Options};

use super::progress::{Progress, interrupt_flag, silence_caught_panics};
use super::{CliError, Format, RunArguments, output};

pub(super) fn execute(arguments: &RunArguments) -> Result<ExitCode, CliError> {
    if let Some(path) = &arguments.output {
        output::probe(path)?;
    }
    let suite = arguments.suite.load()?;
    let runtime = arguments.runtime.open()?;
    let mut options = Options {
        limit: arguments.timeout,
        filter: arguments.filter.clone(),
        interrupt: Some(interrupt_flag()),
        ..Options::default()
    };
    if let Some(jobs) = arguments.jobs {
        options.jobs = jobs;
    }
    silence_caught_panics();
    let mut bar = Progress::new("cases");
    let report = runner::run(&suite, runtime, &options, &mut |done, total| {
        bar.show(done as u64, total as u64)
    });
    bar.clear();
    let report = report?;
    let text = match arguments.format {
        Format::Json => report.to_json(),
        Format::Terminal => report.to_terminal(&suite.catalogue, style(arguments)),
    };
    output::write(arguments.output.as_deref(), &text)?;
    Ok(if report.is_conformant() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn style(arguments: &RunArguments) -> Style {
    let mut rerun = format!("cargo conformance run{}", arguments.runtime.options());
    for (option, path) in [
        ("--fixtures", &arguments.suite.fixtures),
        ("--catalogue", &arguments.suite.catalogue),
    ] {
        if let Some(path) = path {
            rerun.push_str(&format!(
                " {option} '{}'",
                path.display().to_string().replace('\'', r"'\''")
            ));
        }
    }
    Style {
        colour: arguments.output.is_none() && output::wants_colour(),
        rerun: Some(rerun),
    }
}
