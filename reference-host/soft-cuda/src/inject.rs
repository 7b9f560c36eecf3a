//! Faults, delays and a trace on request of the environment.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use crate::call::Done;
use crate::environment::{Function, Output, Settings, settings};
use crate::error::Error;

/// Lets the environment's wishes come true before a call: a delay, or its failure.
///
/// # Errors
///
/// The one asked for; for `cuInit`, [`Error::InvalidValue`] where the wishes are not understood.
pub(crate) fn before(name: &'static str) -> Done {
    let settings = settings();
    if !settings.mistakes.is_empty() {
        tell_mistakes(settings);
        if name == "cuInit" {
            return Err(Error::InvalidValue);
        }
    }
    for (function, delay) in &settings.delays {
        if function.matches(name) {
            std::thread::sleep(*delay);
        }
    }
    if settings.failures.is_empty() {
        return Ok(());
    }
    let (of_all, of_function) = COUNTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .count(name);
    let wish = settings.failures.iter().find(|failure| {
        let number = match failure.function {
            Function::Any => of_all,
            Function::Named(_) => of_function,
        };
        failure.function.matches(name) && failure.number.is_none_or(|wanted| wanted == number)
    });
    wish.map_or(Ok(()), |failure| Err(failure.error))
}

/// Traces a call, if the environment wishes that.
pub(crate) fn after(name: &'static str, done: Done) {
    static TRACE: OnceLock<Report> = OnceLock::new();
    if let Some(output) = &settings().trace {
        let result = match done {
            Ok(()) => c"CUDA_SUCCESS",
            Err(error) => error.name(),
        };
        let trace = TRACE.get_or_init(|| Report::open(output));
        trace.line(&format!("{name} {}", result.to_string_lossy()));
    }
}

/// Where lines are written. What cannot be written is lost: there is nobody to tell.
pub(crate) enum Report {
    StandardError,
    File(Option<File>),
}

impl Report {
    /// Begins a report; what was in its file before is gone.
    pub(crate) fn open(output: &Output) -> Self {
        match output {
            Output::StandardError => Self::StandardError,
            Output::File(path) => Self::File(File::create(path).ok()),
        }
    }

    /// Writes a line, whole even where several threads write.
    pub(crate) fn line(&self, line: &str) {
        let line = format!("{line}\n");
        let _ = match self {
            Self::StandardError => std::io::stderr().write_all(line.as_bytes()),
            Self::File(Some(file)) => (&*file).write_all(line.as_bytes()),
            Self::File(None) => Ok(()),
        };
    }
}

/// How often functions were called.
struct Counts {
    all: u64,
    by_name: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// Counts a call and gives its number among all calls and among those of its function.
    fn count(&mut self, name: &'static str) -> (u64, u64) {
        self.all = self.all.saturating_add(1);
        let own = self.by_name.entry(name).or_default();
        *own = own.saturating_add(1);
        (self.all, *own)
    }
}

static COUNTS: Mutex<Counts> = Mutex::new(Counts {
    all: 0,
    by_name: BTreeMap::new(),
});

fn tell_mistakes(settings: &Settings) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        for mistake in &settings.mistakes {
            Report::StandardError.line(&format!("soft-cuda: {mistake}"));
        }
    });
}
