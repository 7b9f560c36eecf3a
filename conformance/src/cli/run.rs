//! `run`: the suite on a runtime, and the report.

use std::io::{self, IsTerminal};
use std::panic;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wasi_cuda_conformance::report::Style;
use wasi_cuda_conformance::runner::{self, Options};

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
    let mut bar = Progress::new();
    let report = runner::run(&suite, runtime, &options, &mut |done, total| {
        bar.show(done, total)
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

/// A flag that Ctrl-C raises; without it the run goes on and a second Ctrl-C is the system's business.
fn interrupt_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    // A handler that cannot be set leaves the system's own, which also ends the run.
    let _ = ctrlc::set_handler(move || raised.store(true, Ordering::Relaxed));
    flag
}

/// A panic of the host under test is a result, not a message about this program.
fn silence_caught_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !runner::on_worker_thread() {
            default(info);
        }
    }));
}

/// A progress bar on a terminal, for runs that take long enough to wonder.
struct Progress {
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn new() -> Progress {
        Progress {
            started: Instant::now(),
            wanted: io::stderr().is_terminal(),
            bar: None,
        }
    }

    fn show(&mut self, done: usize, total: usize) {
        if self.wanted && self.bar.is_none() && self.started.elapsed() > PATIENCE {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos} of {len} cases") {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

const PATIENCE: Duration = Duration::from_millis(500);
