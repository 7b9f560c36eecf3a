//! A launch on several threads of the host: blocks are dealt to them in order.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use super::block::{Grid, Means, index_after, run_blocks};
use super::budget::Budget;
use super::together::{Sharing, Together};
use crate::code::{AtomicOp, Code, Op};
use crate::fault::Fault;
use crate::heap::Heap;
use crate::launch::LaunchConfig;
use crate::memory::{Memory, Spaces};
use crate::module::{Entry, Module};
use crate::output::Output;

/// Whether all that a module executes can do with memory that threads share.
///
/// What prints or allocates cannot, since its order would show.
pub(crate) fn can_share(code: &Code) -> bool {
    code.ops.iter().all(|op| match op {
        // Vectors and 128 bits are not one word.
        Op::Atomic(atomic) => {
            atomic.count == 1
                && !matches!(
                    atomic.op,
                    AtomicOp::ExchangeWide | AtomicOp::CompareAndSwapWide
                )
        }
        op => matches!(
            op,
            Op::Lane(_)
                | Op::Rare(_)
                | Op::Block { .. }
                | Op::Guard { .. }
                | Op::Unguard
                | Op::Branch { .. }
                | Op::BranchIf { .. }
                | Op::BranchIndex { .. }
                | Op::Call { .. }
                | Op::CallIndirect { .. }
                | Op::Return
                | Op::Exit
                | Op::Trap
                | Op::Fence
                | Op::Special { .. }
                | Op::Special64 { .. }
                | Op::DynamicShared { .. }
                | Op::FrameAddress { .. }
                | Op::Load(_)
                | Op::Store(_)
                | Op::IsSpace { .. }
                | Op::Barrier { .. }
                | Op::WarpBarrier { .. }
                | Op::Shuffle { .. }
                | Op::Vote { .. }
                | Op::Match { .. }
                | Op::Redux { .. }
                | Op::ActiveMask { .. }
                | Op::BarrierVote { .. }
                | Op::BarrierResult { .. }
                | Op::Elect { .. }
        ),
    })
}

/// Runs the blocks of a grid on `threads` threads, this one among them.
///
/// Of several faults the one of the first block counts: blocks before it that had not begun still run.
pub(crate) fn run_on_threads(
    module: &Module,
    entry: &Entry,
    config: &LaunchConfig,
    (together, freed): (&Together<'_>, &Memory<'_>),
    constants: &[u8],
    params: &[u8],
    shared_bytes: usize,
) -> Result<(), Box<Fault>> {
    let [x, y, z] = config.grid.map(u64::from);
    let blocks = x * y * z;
    let threads = u64::from(config.threads).min(blocks).min(MOST_THREADS);
    let pool = AtomicU64::new(config.instruction_budget);
    let dealer = Dealer {
        next: AtomicU64::new(0),
        end: AtomicU64::new(blocks),
        share: (blocks / (threads * 32)).clamp(1, 64),
    };
    let work = || -> Option<(u64, Box<Fault>)> {
        let mut shared = vec![0; shared_bytes + LINE];
        let start = shared.as_ptr().align_offset(LINE).min(LINE);
        let mut params = params.to_vec();
        let mut constants = constants.to_vec();
        let spaces = Spaces {
            memory: &mut freed.freed_only(),
            globals: &mut [],
            constants: &mut constants,
            params: &mut params,
            shared: &mut shared[start..][..shared_bytes],
            heap: &mut Heap::default(),
            output: &mut Output::default(),
            together: Some(Sharing::new(together)),
        };
        let grid = Grid {
            module,
            code: &module.code,
            entry,
            config,
            budget: Budget::sharing(config.instruction_budget, &pool),
            means: Means::ALL,
        };
        let mut at = 0;
        let mut rest = 0..0;
        let mut index = [0; 3];
        let next = || {
            if rest.is_empty() {
                rest = dealer.deal();
                let first = rest.start;
                index = [first % x, first / x % y, first / x / y].map(|index| index as u32);
            } else {
                index = index_after(index, config.grid);
            }
            // Blocks behind one that has faulted need not run.
            at = rest
                .next()
                .filter(|at| *at < dealer.end.load(Ordering::Relaxed))?;
            Some(index)
        };
        let fault = run_blocks(grid, spaces, None, next).err()?;
        dealer.end.fetch_min(at, Ordering::Relaxed);
        Some((at, fault))
    };
    let faults = Mutex::new(Vec::new());
    let note = |fault| {
        if let Ok(mut faults) = faults.lock() {
            faults.extend(fault);
        }
    };
    match take_pool(threads as usize - 1) {
        Some(pool) => {
            pool.in_place_scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(|_| note(work()));
                }
                note(work());
            });
            put_pool_back(pool);
        }
        None => note(work()),
    }
    let faults = faults.into_inner().unwrap_or_default();
    match faults.into_iter().min_by_key(|(at, _)| *at) {
        Some((_, fault)) => Err(fault),
        None => Ok(()),
    }
}

/// Threads that no launch uses, by how many they are.
///
/// They stay: starting one takes longer than many a kernel, and so do the first touches of the memory that it then needs.
static IDLE: Mutex<BTreeMap<usize, Vec<ThreadPool>>> = Mutex::new(BTreeMap::new());

/// As many threads for one launch alone; none where the system gives none.
fn take_pool(threads: usize) -> Option<ThreadPool> {
    if threads == 0 {
        return None;
    }
    let idle = IDLE.lock().ok()?.get_mut(&threads).and_then(Vec::pop);
    idle.or_else(|| {
        let name = |at| format!("soft-gpu {at}");
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        builder.thread_name(name).build().ok()
    })
}

fn put_pool_back(pool: ThreadPool) {
    if let Ok(mut idle) = IDLE.lock() {
        let pools = idle.entry(pool.current_num_threads()).or_default();
        pools.push(pool);
    }
}

/// Deals blocks out.
struct Dealer {
    next: AtomicU64,
    /// Blocks from here on need not run.
    end: AtomicU64,
    /// Blocks that a thread gets at a time.
    share: u64,
}

impl Dealer {
    fn deal(&self) -> std::ops::Range<u64> {
        let first = self.next.fetch_add(self.share, Ordering::Relaxed);
        let end = self.end.load(Ordering::Relaxed);
        first..first.saturating_add(self.share).min(end)
    }
}

/// Most threads of a launch.
const MOST_THREADS: u64 = 256;

/// Bytes of a cache line.
const LINE: usize = 64;
