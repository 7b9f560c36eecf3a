//! Random testing: sequences of operations on any runtime, each answer judged by the [model](crate::model).
//!
//! Operations are drawn with proptest and carried out through a driver guest, which passes every import through and can
//! look at its own memory. After each operation the guest's memory is compared with the model's, by digest; at the end
//! buffers and messages are looked at too. A failure is shrunk, operations first, and comes as a fixture that shows it.
//!
//! The same seed gives the same sequences. A trap, a hang or a crash of the host is a finding like any other.
//!
//! # Example
//!
//! ```no_run
//! use std::sync::Arc;
//! use wasi_cuda_conformance::random::{Options, run};
//! use wasi_cuda_conformance::runtime::reference::{Device, Reference};
//!
//! let runtime = Arc::new(Reference::new(Device::Soft)?);
//! let report = run(runtime, &Options { runs: 100, ..Options::default() }, &mut |_, _| {})?;
//! assert!(report.found.is_none(), "{}", report.to_terminal(None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod driver;
mod executor;
mod report;
mod session;
mod shrink;
mod stats;
mod strategy;
mod trace;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

pub use report::{Found, Report};
pub use session::{Failure, Fault, Sequence};
pub use stats::{Share, Stats};

use crate::model::MemoryKind;
use crate::model::operation::Operation;
use crate::runtime::{Need, Runtime, RuntimeInfo};
use executor::Executor;
use shrink::Tree;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sequences.
    pub runs: u64,
    /// Operations in each.
    pub operations: usize,
    /// What the sequences are made from.
    pub seed: u64,
    /// How long one call may take.
    pub limit: Duration,
    /// Judge recommendations too.
    pub strict: bool,
    /// The run stops soon after this becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            runs: 1000,
            operations: 60,
            seed: 0,
            limit: Duration::from_secs(10),
            strict: true,
            interrupt: None,
        }
    }
}

/// Runs sequences until one fails, and shrinks that one.
///
/// `progress` is called with the number of finished and of all sequences.
///
/// # Errors
///
/// The runtime could not do its work, the run was interrupted, or no thread could be started.
pub fn run(
    runtime: Arc<dyn Runtime>,
    options: &Options,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, RandomError> {
    let started = Instant::now();
    let info = runtime.info();
    let mut executor = Executor::new(Arc::clone(&runtime), options)?;
    let strategies = [
        strategy::opening(),
        strategy::operation(),
        strategy::crowd(),
    ];
    let mut found = None;
    let mut done = 0;
    while done < options.runs && found.is_none() {
        if options
            .interrupt
            .as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            return Err(RandomError::Interrupted {
                done,
                total: options.runs,
            });
        }
        let (memory, trees) = draw(&strategies, options, done, &info)?;
        let sequence = Sequence {
            memory,
            operations: trees.iter().map(|tree| tree.current()).collect(),
        };
        let failure = executor.execute(&sequence)?;
        done += 1;
        progress(done, options.runs);
        if let Some(failure) = failure {
            executor.pause_stats();
            found = Some(executor.found(done - 1, &sequence, trees, failure)?);
        }
    }
    Ok(Report {
        runtime: info,
        seed: options.seed,
        runs: done,
        operations: options.operations,
        stats: executor.stats().clone(),
        wall: started.elapsed(),
        found: found.map(Box::new),
    })
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RandomError {
    /// The runtime failed, which says nothing about the host.
    #[error("the runtime could not run a sequence: {0}")]
    Runtime(String),
    /// Someone asked to stop.
    #[error("interrupted after {done} of {total} sequences; nothing was found in them")]
    Interrupted {
        /// Sequences run.
        done: u64,
        /// Sequences asked for.
        total: u64,
    },
    /// The system refused a thread.
    #[error("no worker thread could be started: {0}")]
    NoThread(std::io::Error),
    /// A mistake of this program: its own guest, or what it draws from.
    #[error("random testing itself failed: {0}")]
    Internal(String),
}

/// Draws the sequence of this number: the same for the same seed.
fn draw(
    [opening, operation, crowd]: &[BoxedStrategy<Operation>; 3],
    options: &Options,
    number: u64,
    info: &RuntimeInfo,
) -> Result<(MemoryKind, Vec<Tree>), RandomError> {
    let mut seed = [0; 32];
    for (place, word) in seed
        .chunks_mut(8)
        .zip([options.seed, number, SALT, options.seed ^ SALT])
    {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let memory = match number % 16 {
        5 => MemoryKind::Absent,
        11 if info.offers.contains(&Need::SharedMemory) => MemoryKind::Shared,
        _ => MemoryKind::Ordinary,
    };
    let mut trees: Vec<Tree> = Vec::with_capacity(options.operations);
    let crowded = number % CROWDED == 30;
    for index in 0..options.operations {
        let strategy = if crowded && index < MOST_OF_CROWD {
            crowd
        } else if index < options.operations / OPENING {
            opening
        } else {
            operation
        };
        let tree = strategy
            .new_tree(&mut runner)
            .map_err(|reason| RandomError::Internal(reason.to_string()))?;
        trees.push(Box::new(tree));
    }
    Ok((memory, trees))
}

/// One operation in so many is for the start.
const OPENING: usize = 8;

/// One sequence in so many fills the host up.
const CROWDED: u64 = 256;

/// Such operations take long: no more than this in a sequence.
const MOST_OF_CROWD: usize = 12;

const SALT: u64 = 0x7761_7369_6375_6461;
