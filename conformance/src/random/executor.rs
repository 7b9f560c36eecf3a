//! Runs sequences on a thread of their own, which can be given up when a host does not come back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::report::Found;
use super::session::{self, Failure, Fault, Sequence, Surroundings};
use super::shrink::{Tree, shrink};
use super::stats::Stats;
use super::trace::Trace;
use super::{Options, RandomError, driver};
use crate::model::{self, MemoryKind};
use crate::runner::WORKER_THREAD;
use crate::runtime::{Need, Runtime};

/// Runs sequences one after the other.
pub(super) struct Executor<'a> {
    runtime: Arc<dyn Runtime>,
    options: &'a Options,
    model: model::Options,
    drivers: [(MemoryKind, Arc<[u8]>); 3],
    worker: Option<Worker>,
    /// How long one call may take.
    limit: Duration,
    stats: Stats,
    counting: bool,
}

struct Worker {
    jobs: Sender<Job>,
    answers: Receiver<Answer>,
    watch: Arc<Watch>,
}

struct Job {
    sequence: Sequence,
    wasm: Arc<[u8]>,
    trace: Option<Arc<Mutex<Trace>>>,
}

struct Answer {
    failure: Result<Option<Failure>, String>,
    stats: Stats,
}

/// What a worker is in the middle of.
struct Watch {
    started: Instant,
    /// When the call under way began, in milliseconds after `started`, plus one; 0 between calls.
    since_ms: AtomicU64,
    /// Index of the operation under way.
    at: AtomicUsize,
    abandoned: AtomicBool,
}

impl<'a> Executor<'a> {
    pub(super) fn new(
        runtime: Arc<dyn Runtime>,
        options: &'a Options,
    ) -> Result<Executor<'a>, RandomError> {
        let driver = |kind| {
            driver::assemble(kind)
                .map(|wasm| (kind, Arc::from(wasm)))
                .map_err(RandomError::Internal)
        };
        let device_bytes = if runtime.info().offers.contains(&Need::DeviceMemory4Gib) {
            u64::MAX
        } else {
            1 << 30
        };
        Ok(Executor {
            runtime,
            options,
            model: model::Options {
                strict: options.strict,
                device_bytes,
            },
            drivers: [
                driver(MemoryKind::Ordinary)?,
                driver(MemoryKind::Absent)?,
                driver(MemoryKind::Shared)?,
            ],
            worker: None,
            limit: options.limit,
            stats: Stats::default(),
            counting: true,
        })
    }

    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    /// What is run from now on is not counted.
    pub(super) fn pause_stats(&mut self) {
        self.counting = false;
    }

    /// Runs a sequence on a fresh host.
    pub(super) fn execute(&mut self, sequence: &Sequence) -> Result<Option<Failure>, RandomError> {
        self.run(sequence, None)
    }

    /// Shrinks a failing sequence and makes a fixture of it.
    pub(super) fn found(
        &mut self,
        run: u64,
        sequence: &Sequence,
        trees: Vec<Tree>,
        failure: Failure,
    ) -> Result<Found, RandomError> {
        let first = failure.clone();
        if let Fault::Hang { .. } = failure.what {
            // Each try that hangs costs the limit. What is left at the end is judged by the whole limit again.
            self.set_limit(self.options.limit.min(HURRY));
        }
        let shrunk = shrink(self, trees, sequence.memory, failure)?;
        self.set_limit(self.options.limit);
        let trace = Arc::new(Mutex::new(Trace::default()));
        let again = self.run(&shrunk.sequence, Some(Arc::clone(&trace)))?;
        let failure = again.clone().unwrap_or(shrunk.failure);
        let fixture = trace
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fixture(
                &failure.what.to_string(),
                &failure.what.requirements(),
                self.runtime.info().profile,
                shrunk.sequence.memory,
            );
        Ok(Found {
            run,
            first: first.what.to_string(),
            what: failure.what.to_string(),
            requirements: failure.what.requirements(),
            recommendation: failure.what.is_recommendation(),
            operations: shrunk.sequence.operations,
            from_operations: sequence.operations.len(),
            tried: shrunk.tried,
            repeats: again.is_some(),
            fixture,
        })
    }

    fn set_limit(&mut self, limit: Duration) {
        if limit != self.limit {
            self.limit = limit;
            self.worker = None;
        }
    }

    fn run(
        &mut self,
        sequence: &Sequence,
        trace: Option<Arc<Mutex<Trace>>>,
    ) -> Result<Option<Failure>, RandomError> {
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::start(&self.runtime, self.model, self.limit)?,
        };
        let wasm = self
            .drivers
            .iter()
            .find(|(kind, _)| *kind == sequence.memory)
            .map(|(_, wasm)| Arc::clone(wasm))
            .ok_or_else(|| RandomError::Internal("no driver for this memory".to_owned()))?;
        let job = Job {
            sequence: sequence.clone(),
            wasm,
            trace,
        };
        let gone = || RandomError::Internal("a worker thread ended".to_owned());
        worker.jobs.send(job).map_err(|_| gone())?;
        // The runtime stops guests itself, at the limit; a host that does not come back is given up after that.
        let patience = self.limit + self.limit.clamp(GRACE.0, GRACE.1);
        loop {
            match worker.answers.recv_timeout(TICK) {
                Ok(answer) => {
                    self.worker = Some(worker);
                    if self.counting {
                        self.stats.add(&answer.stats);
                    }
                    return answer.failure.map_err(RandomError::Runtime);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                Err(RecvTimeoutError::Timeout) => {
                    if worker.watch.is_stuck(patience) {
                        worker.watch.abandoned.store(true, Ordering::Relaxed);
                        return Ok(Some(Failure {
                            at: worker.watch.at.load(Ordering::Relaxed),
                            what: Fault::Hang {
                                call: "a call".to_owned(),
                            },
                        }));
                    }
                }
            }
        }
    }
}

impl Worker {
    fn start(
        runtime: &Arc<dyn Runtime>,
        options: model::Options,
        limit: Duration,
    ) -> Result<Worker, RandomError> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let (outbox, answers) = mpsc::channel();
        let watch = Arc::new(Watch {
            started: Instant::now(),
            since_ms: AtomicU64::new(0),
            at: AtomicUsize::new(0),
            abandoned: AtomicBool::new(false),
        });
        let (runtime, watched) = (Arc::clone(runtime), Arc::clone(&watch));
        thread::Builder::new()
            .name(WORKER_THREAD.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                for job in inbox {
                    let mark = |busy: bool| {
                        let since = watched.now_ms();
                        watched
                            .since_ms
                            .store(if busy { since } else { 0 }, Ordering::Relaxed);
                    };
                    let around = Surroundings {
                        runtime: &*runtime,
                        wasm: &job.wasm,
                        options,
                        limit,
                        mark: &mark,
                        at: &watched.at,
                        trace: job.trace.as_deref(),
                    };
                    let mut stats = Stats::default();
                    // Calls into the runtime are guarded one by one; this is for mistakes of this program.
                    let failure = catch_unwind(AssertUnwindSafe(|| {
                        session::run(&job.sequence, &around, &mut stats)
                    }))
                    .unwrap_or_else(|_| Err("random testing itself failed".to_owned()));
                    mark(false);
                    let answer = Answer { failure, stats };
                    if watched.abandoned.load(Ordering::Relaxed) || outbox.send(answer).is_err() {
                        return;
                    }
                }
            })
            .map_err(RandomError::NoThread)?;
        Ok(Worker {
            jobs,
            answers,
            watch,
        })
    }
}

impl Watch {
    /// Never 0.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    /// Whether a call has been under way for longer.
    fn is_stuck(&self, patience: Duration) -> bool {
        let since = self.since_ms.load(Ordering::Relaxed);
        let patience = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        since > 0 && self.now_ms().saturating_sub(since) > patience
    }
}

/// The limit of a call while a sequence that hangs is shrunk.
const HURRY: Duration = Duration::from_millis(500);

/// How often a worker is looked at.
const TICK: Duration = Duration::from_millis(50);

/// How much longer than the limit a call may take before its thread is given up: as long again, within these bounds.
const GRACE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1500));

/// Room for a guest's stack and the host's on top.
const STACK_BYTES: usize = 8 << 20;
