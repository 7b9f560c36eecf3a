//! What long commands share: a progress bar, Ctrl-C, silence about panics that are results.

use std::io::{self, IsTerminal};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wasi_cuda_conformance::runner;

/// A flag that Ctrl-C raises; without it the run goes on and a second Ctrl-C is the system's business.
pub(super) fn interrupt_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    // A handler that cannot be set leaves the system's own, which also ends the run.
    let _ = ctrlc::set_handler(move || raised.store(true, Ordering::Relaxed));
    flag
}

/// A panic of the host under test is a result, not a message about this program.
pub(super) fn silence_caught_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !runner::on_worker_thread() {
            default(info);
        }
    }));
}

/// A progress bar on a terminal, for runs that take long enough to wonder.
pub(super) struct Progress {
    /// What is counted, in the plural.
    unit: &'static str,
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(unit: &'static str) -> Progress {
        Progress {
            unit,
            started: Instant::now(),
            wanted: io::stderr().is_terminal(),
            bar: None,
        }
    }

    pub(super) fn show(&mut self, done: u64, total: u64) {
        if self.wanted && self.bar.is_none() && self.started.elapsed() > PATIENCE {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let template = format!("{{wide_bar}} {{pos}} of {{len}} {}", self.unit);
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(done);
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

const PATIENCE: Duration = Duration::from_millis(500);
