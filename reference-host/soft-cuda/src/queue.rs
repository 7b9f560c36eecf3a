//! The work of a context: one queue, in the order of the calls.
//!
//! Any order that streams allow is right, and the order of the calls always is one of them, since a call can only wait for what was called
//! before it. Nothing is carried out until somebody waits, so that a program which forgets to wait sees old data, every time.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, PoisonError};

use crate::call::{self, Done};
use crate::context::{Context, State};
use crate::error::Error;
use crate::launch::{self, Launch};

/// A stream of a context, as the queue tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StreamId {
    /// The default stream, with which all blocking ones synchronise.
    Legacy,
    /// The default stream of a thread.
    PerThread,
    /// One that a program made: its number in the context's table.
    Made(u32),
}

/// One piece of work.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) stream: StreamId,
    pub(crate) work: Work,
}

/// What there is to do.
#[derive(Debug)]
pub(crate) enum Work {
    /// Run a kernel.
    Launch(Box<Launch>),
    /// Call a function of the program's, without the context's state being held.
    Host(HostFunction),
}

/// A function that a stream calls.
#[derive(Debug)]
pub(crate) struct HostFunction {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) data: UserData,
}

/// What a program wants to be passed to its own function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserData(pub(crate) *mut c_void);

// SAFETY: it is passed on and never followed here; that it may be used by a thread of the driver is the program's promise.
unsafe impl Send for UserData {}

/// The work of a context that has not been carried out.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    tasks: VecDeque<Task>,
}

impl Queue {
    /// Puts a task at the end.
    pub(crate) fn push(&mut self, task: Task) {
        self.tasks.push_back(task);
    }

    /// Whether a stream has work outstanding.
    pub(crate) fn is_busy(&self, stream: StreamId) -> bool {
        self.tasks.iter().any(|task| task.stream == stream)
    }

    /// Whether there is any work outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

/// How far work is to be carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// To the end of the queue.
    Empty,
    /// Until a stream has none outstanding.
    Idle(StreamId),
}

impl Until {
    fn reached(self, queue: &Queue) -> bool {
        match self {
            Self::Empty => queue.is_empty(),
            Self::Idle(stream) => !queue.is_busy(stream),
        }
    }
}

/// Carries out work of `context` until that far.
///
/// # Errors
///
/// The error that the context failed with, now or before.
pub(crate) fn finish(context: &Arc<Context>, until: Until) -> Done {
    call::outside_callback()?;
    let _engine = context
        .engine
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    loop {
        let mut state = context.open()?;
        if until.reached(&state.queue) {
            return Ok(());
        }
        let Some(task) = state.queue.tasks.pop_front() else {
            return Ok(());
        };
        match task.work {
            Work::Host(host) => {
                drop(state);
                // SAFETY: the program gave this function to be called with this value.
                call::in_callback(|| unsafe { (host.function)(host.data.0) });
            }
            Work::Launch(launch) => settle(&mut state, |state| launch::run(state, &launch))?,
        }
    }
}

/// Does a piece of work; where it fails the context is lost, and what is left in its queue with it.
fn settle(state: &mut State, work: impl FnOnce(&mut State) -> Done) -> Done {
    work(state).inspect_err(|error| lose(state, *error))
}

/// Ends a context by an error.
pub(crate) fn lose(state: &mut State, error: Error) {
    state.lost = Some(error);
    state.queue.tasks.clear();
}
