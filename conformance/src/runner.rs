//! Runs fixtures on worker threads, under a time limit, and collects results in a fixed order.

mod execute;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::filter::{self, FilterError};
use crate::fixture::{Case, Fixture};
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
    /// Only cases that check one of these requirements; all when empty.
    pub requirements: Vec<String>,
    /// The run stops soon after this becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            limit: Duration::from_secs(10),
            filter: None,
            requirements: Vec::new(),
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
    let mut results = Results::new(&jobs, info.profile);
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
    let started = Instant::now();
    while results.unfinished > 0 {
        let raised = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        if options.interrupt.as_ref().is_some_and(raised) {
            shared.next.store(shared.jobs.len(), Ordering::Relaxed);
            return Err(RunError::Interrupted {
                done: results.done,
                total: results.total,
            });
        }
        // Everything a stuck worker had to say was said long before it counts as stuck: empty the inbox first.
        for event in inbox.recv_timeout(TICK).into_iter().chain(inbox.try_iter()) {
            if workers
                .get(event.worker)
                .is_some_and(|worker| !worker.abandoned)
            {
                results.take(event);
            }
        }
        progress(results.done, results.total);
        let mut replacements = 0;
        for worker in workers.iter_mut().filter(|worker| !worker.abandoned) {
            if let Some(stuck) = worker.abandon_if_stuck(options.limit) {
                replacements += 1;
                results.give_up(&shared.jobs, &stuck);
            }
        }
        for _ in 0..replacements {
            workers.push(Worker::start(workers.len(), &shared, &events)?);
        }
    }
    results.complete(&shared.jobs);
    progress(results.total, results.total);
    Ok(Report {
        suite: suite.info.clone(),
        runtime: info,
        cases: results.slots.into_iter().flatten().flatten().collect(),
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

/// What a worker and the runner tell each other.
#[derive(Default)]
struct Watch {
    busy: Option<Busy>,
    /// The runner has given up on the worker, which must take no further job in case it ever comes back.
    abandoned: bool,
}

struct Worker {
    watch: Arc<Mutex<Watch>>,
    abandoned: bool,
}

impl Worker {
    fn start(id: usize, shared: &Arc<Shared>, events: &Sender<Event>) -> Result<Worker, RunError> {
        let watch = Arc::new(Mutex::new(Watch::default()));
        let (shared, events, watched) = (Arc::clone(shared), events.clone(), Arc::clone(&watch));
        thread::Builder::new()
            .name(WORKER_THREAD.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                while !lock(&watched).abandoned {
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
                        let since = Instant::now();
                        lock(&watched).busy = case.map(|case| Busy { job, case, since });
                    };
                    let report = |case, result| say(What::Case(case, Box::new(result)));
                    // Calls into the runtime are guarded one by one; this is for what is wrong in the suite itself.
                    let _ = catch_unwind(AssertUnwindSafe(|| {
                        let (runtime, info) = (&*shared.runtime, &shared.info);
                        execute::fixture(
                            fixture,
                            selected,
                            runtime,
                            info,
                            shared.limit,
                            &mark,
                            &report,
                        );
                    }));
                    mark(None);
                    say(What::JobDone);
                }
            })
            .map_err(RunError::NoThread)?;
        Ok(Worker {
            watch,
            abandoned: false,
        })
    }

    /// Gives up on the worker when it hangs in a call for so long that nothing will stop that any more.
    fn abandon_if_stuck(&mut self, limit: Duration) -> Option<Busy> {
        let patience = limit.saturating_add(limit.clamp(GRACE.0, GRACE.1));
        let mut watch = lock(&self.watch);
        let stuck = watch.busy.filter(|busy| busy.since.elapsed() > patience)?;
        watch.abandoned = true;
        self.abandoned = true;
        Some(stuck)
    }
}

fn lock(watch: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The results so far: a slot for every case of every job.
struct Results {
    slots: Vec<Vec<Option<CaseResult>>>,
    profile: Profile,
    /// Chosen cases.
    total: usize,
    /// Chosen cases with a result.
    done: usize,
    /// Jobs that workers are still to finish.
    unfinished: usize,
}

impl Results {
    fn new(jobs: &[Job], profile: Profile) -> Results {
        Results {
            slots: jobs
                .iter()
                .map(|job| vec![None; job.fixture.cases().count()])
                .collect(),
            profile,
            total: jobs.iter().map(|job| job.selected.len()).sum(),
            done: 0,
            unfinished: jobs.len(),
        }
    }

    fn take(&mut self, event: Event) {
        match event.what {
            What::Case(case, result) => {
                let slot = self
                    .slots
                    .get_mut(event.job)
                    .and_then(|slots| slots.get_mut(case));
                if let Some(slot) = slot {
                    self.done += usize::from(!result.extra && slot.is_none());
                    *slot = Some(*result);
                }
            }
            What::JobDone => self.unfinished -= 1,
        }
    }

    /// Fills in what an abandoned worker left: a timeout for the case it hangs in, errors for the rest.
    fn give_up(&mut self, jobs: &[Job], stuck: &Busy) {
        self.unfinished -= 1;
        let Some(job) = jobs.get(stuck.job) else {
            return;
        };
        let Some(case) = job.fixture.cases().nth(stuck.case) else {
            return;
        };
        let mut result = CaseResult::new(case, self.profile);
        result.verdict = Verdict::Timeout;
        "the host did not come back".clone_into(&mut result.actual);
        result.duration = stuck.since.elapsed();
        result.extra = !job.selected.contains(&stuck.case);
        self.take(Event {
            worker: 0,
            job: stuck.job,
            what: What::Case(stuck.case, Box::new(result)),
        });
        self.fill(
            stuck.job,
            job,
            &format!("not run: the host did not come back from `{}`", case.id),
        );
    }

    /// Whatever has no result by now has none because of a mistake in the suite.
    fn complete(&mut self, jobs: &[Job]) {
        for (index, job) in jobs.iter().enumerate() {
            self.fill(index, job, "not run: the suite itself failed");
        }
    }

    fn fill(&mut self, index: usize, job: &Job, message: &str) {
        let Some(slots) = self.slots.get_mut(index) else {
            return;
        };
        for (case_index, (case, slot)) in job.fixture.cases().zip(slots).enumerate() {
            if slot.is_none() && job.selected.contains(&case_index) {
                let mut result = CaseResult::new(case, self.profile);
                result.message = Some(message.to_owned());
                *slot = Some(result);
                self.done += 1;
            }
        }
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
    let checks = |case: &Case| {
        let wanted = &options.requirements;
        wanted.is_empty() || case.requirements.iter().any(|id| wanted.contains(id))
    };
    let jobs: Vec<Job> = on_profile()
        .map(|fixture| {
            let selected = fixture.cases().enumerate().filter(|(_, case)| {
                case.expectation.under(info.profile).is_some()
                    && checks(case)
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

pub(crate) const WORKER_THREAD: &str = "conformance-worker";

/// Room for a guest's stack and the host's on top.
const STACK_BYTES: usize = 8 << 20;

/// How often the runner looks at its workers.
const TICK: Duration = Duration::from_millis(20);

/// How much longer than a case's limit a call into the runtime may take before its thread is given up: as long again,
/// within these bounds. The runtime stops guests itself, at the limit, and a busy machine needs a moment for that.
const GRACE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1500));
