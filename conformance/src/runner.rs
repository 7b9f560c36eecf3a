//! Runs fixtures on worker threads, under a time limit, and collects results in a fixed order.

mod execute;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::filter::{self, FilterError};
use crate::fixture::Fixture;
use crate::judge::Verdict;
use crate::profile::Profile;
use crate::report::{CaseResult, Report};
use crate::runtime::{Runtime, RuntimeInfo};
use crate::suite::Suite;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads.
    pub jobs: NonZeroUsize,
    /// How long one case may take.
    pub limit: Duration,
    /// Which cases to run, see [`filter::select`]; all when `None`.
    pub filter: Option<String>,
    /// The run stops soon after this becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            limit: Duration::from_secs(10),
            filter: None,
            interrupt: None,
        }
    }
}

/// Runs the suite's cases for the runtime's profile and judges them.
///
/// `progress` is called with the number of finished and of all cases, now and then.
/// A worker whose host does not come back is abandoned with its thread; the cases it left are judged without it.
///
/// # Errors
///
/// The filter chooses nothing, the run was interrupted, or no thread could be started.
pub fn run(
    suite: &Suite,
    runtime: Arc<dyn Runtime>,
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Report, RunError> {
    let info = runtime.info();
    let jobs = plan(suite, &info, options)?;
    let total = jobs.iter().map(|job| job.selected.len()).sum();
    let mut results: Vec<Vec<Option<CaseResult>>> = jobs
        .iter()
        .map(|job| vec![None; job.fixture.cases().count()])
        .collect();
    let (events, inbox) = mpsc::channel();
    let shared = Arc::new(Shared {
        runtime,
        info: info.clone(),
        jobs,
        next: AtomicUsize::new(0),
        limit: options.limit,
    });
    let mut workers = Vec::new();
    for _ in 0..options.jobs.get().min(shared.jobs.len()).max(1) {
        workers.push(Worker::start(workers.len(), &shared, &events)?);
    }
    let mut unfinished = shared.jobs.len();
    let mut done = 0;
    let started = Instant::now();
    while unfinished > 0 {
        if options
            .interrupt
            .as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            shared.next.store(shared.jobs.len(), Ordering::Relaxed);
            return Err(RunError::Interrupted { done, total });
        }
        match inbox.recv_timeout(TICK) {
            Ok(event)
                if workers
                    .get(event.worker)
                    .is_none_or(|worker| worker.abandoned) => {}
            Ok(Event {
                job,
                what: What::Case(case, result),
                ..
            }) => {
                let new = !result.extra;
                if let Some(slot) = results.get_mut(job).and_then(|slots| slots.get_mut(case)) {
                    done += usize::from(new && slot.is_none());
                    *slot = Some(*result);
                }
            }
            Ok(Event {
                what: What::JobDone,
                ..
            }) => unfinished -= 1,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        progress(done, total);
        let mut replacements = 0;
        for worker in workers.iter_mut().filter(|worker| !worker.abandoned) {
            let Some(stuck) = worker.stuck(options.limit) else {
                continue;
            };
            worker.abandoned = true;
            replacements += 1;
            unfinished -= 1;
            if let (Some(job), Some(slots)) =
                (shared.jobs.get(stuck.job), results.get_mut(stuck.job))
            {
                done += give_up(job, &stuck, info.profile, slots);
            }
        }
        for _ in 0..replacements {
            workers.push(Worker::start(workers.len(), &shared, &events)?);
        }
    }
    progress(total, total);
    let cases = results.into_iter().flatten().flatten().collect();
    Ok(Report {
        suite: suite.info.clone(),
        runtime: info,
        cases,
        wall: started.elapsed(),
    })
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The filter is malformed or matches nothing.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// There is no case for this profile.
    #[error("the suite has no case for profile `{0}`")]
    NoCases(Profile),
    /// Someone asked to stop.
    #[error("interrupted after {done} of {total} cases; nothing was written")]
    Interrupted {
        /// Cases judged.
        done: usize,
        /// Cases chosen.
        total: usize,
    },
    /// The system refused a thread.
    #[error("no worker thread could be started: {0}")]
    NoThread(std::io::Error),
}

/// One fixture and the cases of it that are to be reported.
struct Job {
    fixture: Arc<Fixture>,
    /// Indices among the fixture's cases, ascending and not empty.
    selected: Vec<usize>,
}

struct Shared {
    runtime: Arc<dyn Runtime>,
    info: RuntimeInfo,
    jobs: Vec<Job>,
    next: AtomicUsize,
    limit: Duration,
}

struct Event {
    worker: usize,
    job: usize,
    what: What,
}

enum What {
    Case(usize, Box<CaseResult>),
    JobDone,
}

/// What a worker is in the middle of: a call into the runtime on behalf of a case.
#[derive(Clone, Copy)]
struct Busy {
    job: usize,
    case: usize,
    since: Instant,
}

struct Worker {
    busy: Arc<Mutex<Option<Busy>>>,
    abandoned: bool,
}

impl Worker {
    fn start(id: usize, shared: &Arc<Shared>, events: &Sender<Event>) -> Result<Worker, RunError> {
        let busy = Arc::new(Mutex::new(None));
        let (shared, events, watch) = (Arc::clone(shared), events.clone(), Arc::clone(&busy));
        thread::Builder::new()
            .name(WORKER_THREAD.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                loop {
                    let job = shared.next.fetch_add(1, Ordering::Relaxed);
                    let Some(Job { fixture, selected }) = shared.jobs.get(job) else {
                        return;
                    };
                    // The receiver is gone once a run was interrupted; what is left to say then interests nobody.
                    let say = |what| {
                        drop(events.send(Event {
                            worker: id,
                            job,
                            what,
                        }))
                    };
                    let mark = |case: Option<usize>| {
                        let entry = case.map(|case| Busy {
                            job,
                            case,
                            since: Instant::now(),
                        });
                        *watch.lock().unwrap_or_else(PoisonError::into_inner) = entry;
                    };
                    let report = |case, result| say(What::Case(case, Box::new(result)));
                    execute::fixture(
                        fixture,
                        selected,
                        &*shared.runtime,
                        &shared.info,
                        shared.limit,
                        &mark,
                        &report,
                    );
                    say(What::JobDone);
                }
            })
            .map_err(RunError::NoThread)?;
        Ok(Worker {
            busy,
            abandoned: false,
        })
    }

    /// What the worker hangs in, when that has taken so long that nothing will stop it any more.
    fn stuck(&self, limit: Duration) -> Option<Busy> {
        let busy = (*self.busy.lock().unwrap_or_else(PoisonError::into_inner))?;
        (busy.since.elapsed() > limit.saturating_add(limit.clamp(GRACE.0, GRACE.1))).then_some(busy)
    }
}

/// Whether the current thread is one of the runner's; a panic hook can use it to stay silent about caught panics.
pub fn on_worker_thread() -> bool {
    thread::current().name() == Some(WORKER_THREAD)
}

fn plan(suite: &Suite, info: &RuntimeInfo, options: &Options) -> Result<Vec<Job>, RunError> {
    let on_profile = || {
        suite
            .fixtures
            .iter()
            .filter(|fixture| fixture.profiles.contains(&info.profile))
    };
    let ids: Vec<&str> = on_profile()
        .flat_map(|fixture| fixture.judged(info.profile))
        .map(|case| case.id.as_str())
        .collect();
    let chosen = options
        .filter
        .as_ref()
        .map(|text| filter::select(text, &ids))
        .transpose()?;
    let jobs: Vec<Job> = on_profile()
        .map(|fixture| {
            let selected = fixture.cases().enumerate().filter(|(_, case)| {
                case.expectation.under(info.profile).is_some()
                    && chosen
                        .as_ref()
                        .is_none_or(|ids| ids.contains(case.id.as_str()))
            });
            Job {
                selected: selected.map(|(index, _)| index).collect(),
                fixture: Arc::clone(fixture),
            }
        })
        .filter(|job| !job.selected.is_empty())
        .collect();
    if jobs.is_empty() {
        Err(RunError::NoCases(info.profile))
    } else {
        Ok(jobs)
    }
}

/// Fills in what an abandoned worker left: a timeout for the case it hangs in, errors for the rest. Returns how many.
fn give_up(job: &Job, stuck: &Busy, profile: Profile, slots: &mut [Option<CaseResult>]) -> usize {
    let mut filled = 0;
    let hanging = job
        .fixture
        .cases()
        .nth(stuck.case)
        .map(|case| case.id.clone())
        .unwrap_or_default();
    for (index, (case, slot)) in job.fixture.cases().zip(slots).enumerate() {
        let selected = job.selected.contains(&index);
        if slot.is_some() || !(selected || index == stuck.case) {
            continue;
        }
        let mut result = CaseResult::new(case, profile);
        if index == stuck.case {
            result.verdict = Verdict::Timeout;
            "the host did not come back".clone_into(&mut result.actual);
            result.duration = stuck.since.elapsed();
        } else {
            result.verdict = Verdict::Error;
            result.message = Some(format!(
                "not run: the host did not come back from `{hanging}`"
            ));
        }
        result.extra = !selected;
        filled += usize::from(selected);
        *slot = Some(result);
    }
    filled
}

const WORKER_THREAD: &str = "conformance-worker";

/// Room for a guest's stack and the host's on top.
const STACK_BYTES: usize = 8 << 20;

/// How often the runner looks at its workers.
const TICK: Duration = Duration::from_millis(20);

/// How much longer than a case's limit a call into the runtime may take before its thread is given up: as long again,
/// within these bounds. The runtime stops guests itself, at the limit, and a busy machine needs a moment for that.
const GRACE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1500));
