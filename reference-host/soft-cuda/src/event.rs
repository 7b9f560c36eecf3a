//! Events: what they are to note, and what they have noted.

use std::sync::Arc;
use std::time::Instant;

use crate::context::{Context, State};
use crate::error::Error;
use crate::handle::{Handle, Kind};
use crate::queue::{StreamId, Task, Until, Work, finish};
use crate::types::CUevent;

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    flags: u32,
    /// Records that have not been carried out.
    outstanding: u32,
    /// The number of the last one in the queue.
    last: u64,
    /// When the last one was carried out.
    at: Option<Instant>,
}

/// An event with its context.
#[derive(Clone, Debug)]
pub(crate) struct EventTarget {
    pub(crate) context: Arc<Context>,
    pub(crate) serial: u32,
}

impl EventTarget {
    /// The event with this handle, whether or not its context has failed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`].
    pub(crate) fn of(handle: CUevent) -> Result<Self, Error> {
        let handle = Handle::parse(handle.0, Kind::Event).ok_or(Error::InvalidHandle)?;
        let context = Context::numbered(handle.context).ok_or(Error::InvalidHandle)?;
        if context.state().events.entry(handle.serial).is_none() {
            return Err(Error::InvalidHandle);
        }
        let serial = handle.serial;
        Ok(Self { context, serial })
    }

    /// Has the event note when all work before this call in a stream of its context is done.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`], and the error that the context failed with.
    pub(crate) fn record(&self, stream: StreamId) -> Result<(), Error> {
        let mut state = self.context.open()?;
        let State { queue, events, .. } = &mut *state;
        let event = events.entry_mut(self.serial).ok_or(Error::InvalidHandle)?;
        let work = Work::Record(self.serial);
        queue.push(Task { stream, work });
        event.outstanding = event.outstanding.saturating_add(1);
        event.last = queue.last();
        Ok(())
    }

    /// Waits for the last record.
    ///
    /// # Errors
    ///
    /// The error that the context failed with.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        let until = {
            let state = self.context.open()?;
            let event = state.events.entry(self.serial);
            event.map_or(0, |event| event.last)
        };
        finish(&self.context, Until::Task(until))
    }

    /// Whether a state has a record of the event outstanding.
    pub(crate) fn is_outstanding(&self, state: &State) -> bool {
        let event = state.events.entry(self.serial);
        event.is_some_and(|event| event.outstanding > 0)
    }

    /// When the last record was carried out.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] where there was none or the event is not one that notes the time, [`Error::NotReady`] where the last one is
    /// outstanding.
    pub(crate) fn time(&self) -> Result<Instant, Error> {
        let state = self.context.open()?;
        let event = state.events.entry(self.serial);
        let event = event
            .filter(|event| event.flags & DISABLE_TIMING == 0)
            .ok_or(Error::InvalidHandle)?;
        if event.outstanding > 0 {
            return Err(Error::NotReady);
        }
        event.at.ok_or(Error::InvalidHandle)
    }
}

/// Makes an event in a context.
///
/// # Errors
///
/// [`Error::InvalidValue`] for unknown flags or those that do not go together; the error that the context failed with.
pub(crate) fn create(context: &Context, flags: u32) -> Result<CUevent, Error> {
    let interprocess = flags & INTERPROCESS != 0;
    if flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS) != 0
        || (interprocess && flags & DISABLE_TIMING == 0)
    {
        return Err(Error::InvalidValue);
    }
    if interprocess {
        return Err(Error::NotSupported);
    }
    let event = Event {
        flags,
        outstanding: 0,
        last: 0,
        at: None,
    };
    let serial = context.open()?.events.insert(event);
    let handle = Handle {
        context: context.serial,
        serial: serial.ok_or(Error::OutOfMemory)?,
    };
    Ok(CUevent(handle.bits(Kind::Event)))
}

/// Notes that a record of the event with this number is carried out; nothing if it was destroyed.
pub(crate) fn happened(state: &mut State, serial: u32) {
    if let Some(event) = state.events.entry_mut(serial) {
        event.outstanding = event.outstanding.saturating_sub(1);
        event.at = Some(Instant::now());
    }
}

const BLOCKING_SYNC: u32 = 1;
const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;
