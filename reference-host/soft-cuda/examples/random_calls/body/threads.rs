//! Threads that run sequences, what they come to, and somebody who notices when one of them hangs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use soft_cuda::CUcontext;
use soft_cuda::api::{context, device, memory, primary};

use crate::body::arguments::CALLED;
use crate::body::sequence::{Caller, Violation};
use crate::body::table::CALLS;
use crate::body::world::World;

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) threads: u64,
    /// The number of the first sequence.
    pub(crate) seed: u64,
    /// Sequences of each thread, at most.
    pub(crate) sequences: u64,
    /// When to stop, even if sequences are left.
    pub(crate) until: Option<Instant>,
}

/// What it came to.
pub(crate) struct Tally {
    pub(crate) sequences: u64,
    pub(crate) seconds: f64,
    /// For each function: calls, and those that succeeded.
    pub(crate) counts: Vec<[u64; 2]>,
    /// How often the driver called functions of ours.
    pub(crate) called: u64,
}

/// Runs sequences in all threads, then checks that nothing is left of them.
///
/// # Errors
///
/// The first thing that the driver did and may not do, with the calls before it.
pub(crate) fn run(plan: Plan) -> Result<Tally, Violation> {
    // SAFETY: no pointers.
    let code = unsafe { device::cuInit(0) };
    if code != 0 {
        return Err(Violation(format!("cuInit: {code}")));
    }
    let world = World::default();
    let started = Instant::now();
    let progress: Vec<_> = (0..plan.threads).map(|_| AtomicU64::new(0)).collect();
    let (send, receive) = channel();
    let mut tally = Tally {
        sequences: 0,
        seconds: 0.0,
        counts: vec![[0; 2]; CALLS.len()],
        called: 0,
    };
    std::thread::scope(|scope| {
        for (thread, at) in (0..).zip(&progress) {
            let (send, world) = (send.clone(), &world);
            scope.spawn(move || {
                let mut caller = Caller::new(world, at);
                let done = sequences(&mut caller, plan, thread);
                let _ = send.send((done, caller.counts));
            });
        }
        drop(send);
        let mut before = vec![u64::MAX; progress.len()];
        loop {
            match receive.recv_timeout(PATIENCE) {
                Ok((done, counts)) => {
                    tally.sequences += done?;
                    for (sum, count) in tally.counts.iter_mut().zip(counts) {
                        sum[0] += count[0];
                        sum[1] += count[1];
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    let now: Vec<_> = progress
                        .iter()
                        .map(|at| at.load(Ordering::Relaxed))
                        .collect();
                    if now == before {
                        // The threads cannot be ended, so the process is.
                        hung();
                    }
                    before = now;
                }
            }
        }
    })?;
    tally.seconds = started.elapsed().as_secs_f64();
    tally.called = CALLED.load(Ordering::Relaxed);
    nothing_left()?;
    Ok(tally)
}

fn sequences(caller: &mut Caller, plan: Plan, thread: u64) -> Result<u64, Violation> {
    for index in 0..plan.sequences {
        if plan.until.is_some_and(|until| Instant::now() >= until) {
            return Ok(index);
        }
        caller.run(plan.seed + index * plan.threads + thread)?;
    }
    Ok(plan.sequences)
}

/// With all contexts gone, all memory is there again.
fn nothing_left() -> Result<(), Violation> {
    let (mut made, mut free, mut total) = (CUcontext(0), 0, 0);
    // SAFETY: all places are good.
    let code = unsafe {
        while primary::cuDevicePrimaryCtxRelease_v2(0) == 0 {}
        match context::cuCtxCreate_v2(&mut made, 0, 0) {
            0 => memory::cuMemGetInfo_v2(&mut free, &mut total).max(context::cuCtxDestroy_v2(made)),
            code => code,
        }
    };
    if code != 0 || free != total {
        let left = total - free;
        return Err(Violation(format!(
            "{left} bytes of device memory are left, code {code}"
        )));
    }
    Ok(())
}

#[allow(clippy::print_stderr, reason = "nobody else can tell any more")]
fn hung() {
    eprintln!("no thread has made a call for a minute");
    std::process::abort();
}

/// A call takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(60);
