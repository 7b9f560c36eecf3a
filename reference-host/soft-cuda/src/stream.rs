//! Streams: which context they belong to, and what a program asked of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::Context;
use crate::error::Error;
use crate::handle::{Handle, Kind};
use crate::queue::{StreamId, Until, finish};
use crate::types::CUstream;

/// A stream that a program made.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// Unlike any other stream's in this process.
    pub(crate) id: u64,
}

/// A stream with its context.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) context: Arc<Context>,
    pub(crate) stream: StreamId,
}

impl Target {
    /// The stream with this handle; the default streams are those of the current context. Where very much work is outstanding, it is waited for,
    /// as a driver does.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`], for a default stream [`Error::InvalidContext`] and [`Error::ContextIsDestroyed`], and the error that the
    /// stream's context failed with.
    pub(crate) fn of(handle: CUstream) -> Result<Self, Error> {
        let target = Self::even_lost(handle)?;
        let state = target.context.open()?;
        let full = state.queue.len() >= MOST_OUTSTANDING && !state.queue.calls_program();
        let until = Until::Task(state.queue.last());
        drop(state);
        if full {
            finish(&target.context, until)?;
        }
        Ok(target)
    }

    /// As [`Self::of`], whether or not the context has failed.
    pub(crate) fn even_lost(handle: CUstream) -> Result<Self, Error> {
        let default = match handle.0 {
            0 | 1 => Some(StreamId::Legacy),
            2 => Some(StreamId::PerThread),
            _ => None,
        };
        if let Some(stream) = default {
            let context = Context::current()?;
            return Ok(Self { context, stream });
        }
        let handle = Handle::parse(handle.0, Kind::Stream).ok_or(Error::InvalidHandle)?;
        let context = Context::numbered(handle.context).ok_or(Error::InvalidHandle)?;
        if context.state().streams.entry(handle.serial).is_none() {
            return Err(Error::InvalidHandle);
        }
        let stream = StreamId::Made(handle.serial);
        Ok(Self { context, stream })
    }

    /// Gives it another priority; the default streams keep theirs.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] where it is gone.
    pub(crate) fn set_priority(&self, priority: i32) -> Result<(), Error> {
        if let StreamId::Made(serial) = self.stream {
            let mut state = self.context.state();
            let stream = state.streams.entry_mut(serial);
            stream.ok_or(Error::InvalidHandle)?.priority = priority;
        }
        Ok(())
    }

    /// What the program asked of it; a default stream is as one without wishes.
    pub(crate) fn with<R>(&self, read: impl FnOnce(&Stream) -> R) -> Result<R, Error> {
        let default = |id| Stream {
            flags: 0,
            priority: 0,
            id,
        };
        match self.stream {
            StreamId::Legacy => Ok(read(&default(1))),
            StreamId::PerThread => Ok(read(&default(2))),
            StreamId::Made(serial) => {
                let state = self.context.state();
                state
                    .streams
                    .entry(serial)
                    .map(read)
                    .ok_or(Error::InvalidHandle)
            }
        }
    }
}

/// Makes a stream in a context.
///
/// # Errors
///
/// [`Error::InvalidValue`] for unknown flags; the error that the context failed with.
pub(crate) fn create(context: &Context, flags: u32, priority: i32) -> Result<CUstream, Error> {
    static LAST: AtomicU64 = AtomicU64::new(2);
    if flags & !NON_BLOCKING != 0 {
        return Err(Error::InvalidValue);
    }
    let stream = Stream {
        flags,
        // A priority beyond the limits is taken for the limit.
        priority: priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY),
        id: LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1),
    };
    let serial = context.open()?.streams.insert(stream);
    let handle = Handle {
        context: context.serial,
        serial: serial.ok_or(Error::OutOfMemory)?,
    };
    Ok(CUstream(handle.bits(Kind::Stream)))
}

/// The priority of work that can wait.
pub(crate) const LEAST_PRIORITY: i32 = 0;
/// The priority of work that cannot.
pub(crate) const GREATEST_PRIORITY: i32 = -5;
/// Work outstanding beyond which calls wait.
const MOST_OUTSTANDING: usize = 1024;
/// The flag of a stream that does not synchronise with the legacy default stream.
const NON_BLOCKING: u32 = 1;
