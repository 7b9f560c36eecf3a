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
use crate::event;
use crate::launch::{self, Launch};
use crate::memory::copy::{Fill, Transfer};
use crate::memory::host::Pages;
use crate::types::CUstream;

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
    /// Copy memory.
    Copy(Box<Transfer>),
    /// Fill memory.
    Fill(Box<Fill>),
    /// Free what begins at this address.
    Free(u64),
    /// Note the time for the event with this number.
    Record(u32),
    /// Call a function of the program's, without the context's state being held.
    Host(HostFunction),
}

/// A function that a stream calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HostFunction {
    /// One that is called where all went well.
    Plain {
        function: unsafe extern "C" fn(*mut c_void),
        data: UserData,
    },
    /// One that is called in any case, and told how it went.
    Callback {
        function: unsafe extern "C" fn(CUstream, u32, *mut c_void),
        stream: CUstream,
        data: UserData,
    },
}

impl HostFunction {
    fn call(self, result: Done) {
        call::in_callback(|| match self {
            Self::Plain { function, data } => {
                if result.is_ok() {
                    // SAFETY: the program gave this function to be called with this value.
                    unsafe { function(data.0) }
                }
            }
            Self::Callback {
                function,
                stream,
                data,
            } => {
                let result = result.map_or_else(Error::number, |()| 0);
                // SAFETY: the program gave this function to be called with this value.
                unsafe { function(stream, result, data.0) }
            }
        });
    }
}

/// What a program wants to be passed to its own function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserData(pub(crate) *mut c_void);

// SAFETY: it is passed on and never followed here; that it may be used by a thread of the driver is the program's promise.
unsafe impl Send for UserData {}

/// The work of a context that has not been carried out.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    tasks: VecDeque<(u64, Task)>,
    /// The number of the last task that came in.
    last: u64,
    /// The stream whose function of the program's runs now.
    running: Option<StreamId>,
    /// Functions that are to be called although the context has failed.
    refused: Vec<HostFunction>,
}

impl Queue {
    /// Puts a task at the end.
    pub(crate) fn push(&mut self, task: Task) {
        self.last = self.last.saturating_add(1);
        self.tasks.push_back((self.last, task));
    }

    /// The number of the last task that came in.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Whether a stream has work outstanding.
    pub(crate) fn is_busy(&self, stream: StreamId) -> bool {
        self.running == Some(stream) || self.tasks.iter().any(|(_, task)| task.stream == stream)
    }

    /// Whether there is any work outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_none() && self.tasks.is_empty()
    }

    /// Whether outstanding work uses memory that program and device share, or may, as kernels may all of it.
    pub(crate) fn reaches(&self, pages: &Arc<Pages>) -> bool {
        self.tasks.iter().any(|(_, task)| match &task.work {
            Work::Launch(_) => true,
            Work::Copy(copy) => copy.to.place.is_in(pages) || copy.from.place.is_in(pages),
            Work::Fill(fill) => fill.to.place.is_in(pages),
            Work::Free(_) | Work::Record(_) | Work::Host(_) => false,
        })
    }

    /// How much work is outstanding.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether a function of the program's is to be called or runs, for which a caller may not be able to wait.
    pub(crate) fn calls_program(&self) -> bool {
        let calls = |(_, task): &(u64, Task)| matches!(task.work, Work::Host(_));
        self.running.is_some() || self.tasks.iter().any(calls)
    }
}

/// How far work is to be carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// To the end of the queue.
    Empty,
    /// Until a stream has none outstanding.
    Idle(StreamId),
    /// Until the task with this number has been carried out.
    Task(u64),
}

impl Until {
    fn reached(self, queue: &Queue) -> bool {
        match self {
            Self::Empty => queue.is_empty(),
            Self::Idle(stream) => !queue.is_busy(stream),
            Self::Task(number) => queue.tasks.front().is_none_or(|(next, _)| *next > number),
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
    let done = advance(context, until);
    if done.is_err() {
        let refused = std::mem::take(&mut context.state().queue.refused);
        for function in refused {
            function.call(done);
        }
    }
    done
}

/// Has a function of the program's called by a stream.
///
/// It is called soon, by a thread of its own, even if nobody waits: the program may wait for it in ways that cannot be seen here.
///
/// # Errors
///
/// The error that the context failed with, or [`Error::OutOfMemory`] where the system gives no thread.
pub(crate) fn call_later(context: &Arc<Context>, stream: StreamId, function: HostFunction) -> Done {
    let work = Work::Host(function);
    context.open()?.queue.push(Task { stream, work });
    carry_out_soon(context)
}

/// Has all work that is in the queue now carried out by a thread of its own.
///
/// # Errors
///
/// [`Error::OutOfMemory`] where the system gives none.
pub(crate) fn carry_out_soon(context: &Arc<Context>) -> Done {
    let until = Until::Task(context.state().queue.last());
    let context = Arc::clone(context);
    std::thread::Builder::new()
        .name("soft-cuda".into())
        .spawn(move || finish(&context, until))
        .map(|_| ())
        .map_err(|_| Error::OutOfMemory)
}

/// Answers whether work is outstanding, and carries it out if so: who asks again is answered that there is none.
///
/// # Errors
///
/// [`Error::NotReady`] where there was work; else the error that the context failed with.
pub(crate) fn poll(context: &Arc<Context>, busy: impl FnOnce(&State) -> bool) -> Done {
    let state = context.open()?;
    if !busy(&state) {
        return Ok(());
    }
    let until = Until::Task(state.queue.last());
    // Functions of the program's are called by a thread of their own, and may wait for whoever asks here.
    let waits = !state.queue.calls_program();
    drop(state);
    if waits {
        // What goes wrong is told by the next call.
        let _ = finish(context, until);
    }
    Err(Error::NotReady)
}

fn advance(context: &Context, until: Until) -> Done {
    loop {
        let mut state = context.open()?;
        if until.reached(&state.queue) {
            return Ok(());
        }
        let Some((_, task)) = state.queue.tasks.pop_front() else {
            return Ok(());
        };
        match task.work {
            Work::Host(function) => {
                state.queue.running = Some(task.stream);
                drop(state);
                function.call(Ok(()));
                context.state().queue.running = None;
            }
            work => carry_out(&mut state, work)?,
        }
    }
}

/// Does a piece of work; where it fails the context is lost, and what is left in its queue with it.
fn carry_out(state: &mut State, work: Work) -> Done {
    let done = match work {
        Work::Launch(launch) => launch::run(state, &launch),
        Work::Copy(transfer) => transfer.run(&mut state.memory),
        Work::Fill(fill) => fill.run(&mut state.memory),
        Work::Free(start) => {
            state.memory.free(start);
            Ok(())
        }
        Work::Record(event) => {
            event::happened(state, event);
            Ok(())
        }
        Work::Host(function) => {
            function.call(Ok(()));
            Ok(())
        }
    };
    done.inspect_err(|error| lose(state, *error))
}

/// Ends a context by an error.
pub(crate) fn lose(state: &mut State, error: Error) {
    state.lost = Some(error);
    let queue = &mut state.queue;
    for (_, task) in queue.tasks.drain(..) {
        if let Work::Host(function @ HostFunction::Callback { .. }) = task.work {
            queue.refused.push(function);
        }
    }
}
