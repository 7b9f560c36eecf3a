//! Events.

use std::ffi::{c_float, c_uint};

use crate::call::{Done, api, put};
use crate::context::Context;
use crate::error::Error;
use crate::event::{EventTarget, create};
use crate::queue::poll;
use crate::stream::Target;
use crate::types::{CUevent, CUstream};

api! {
    /// Makes an event.
    ready fn cuEventCreate(event: *mut CUevent, flags: c_uint) {
        if event.is_null() {
            return Err(Error::InvalidValue);
        }
        let made = create(&*Context::working()?, flags)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(event, made) }
    }

    /// Has an event note when the work of a stream is done that was called for before.
    ready fn cuEventRecord(event: CUevent, stream: CUstream) {
        record(event, stream, 0)
    }

    /// The same; there are no flags outside of capture.
    ready fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: c_uint) {
        record(event, stream, flags)
    }

    /// Whether what an event was recorded after is done.
    ready fn cuEventQuery(event: CUevent) {
        let target = EventTarget::of(event)?;
        poll(&target.context, |state| target.is_outstanding(state))
    }

    /// Waits for what an event was recorded after.
    ready fn cuEventSynchronize(event: CUevent) {
        EventTarget::of(event)?.wait()
    }

    /// Ends an event; work goes on.
    ready fn cuEventDestroy_v2(event: CUevent) {
        destroy(event)
    }

    /// The same.
    ready fn cuEventDestroy(event: CUevent) {
        destroy(event)
    }

    /// Milliseconds from one event to another.
    ready fn cuEventElapsedTime(milliseconds: *mut c_float, start: CUevent, end: CUevent) {
        elapsed(milliseconds, start, end)
    }

    /// The same.
    ready fn cuEventElapsedTime_v2(milliseconds: *mut c_float, start: CUevent, end: CUevent) {
        elapsed(milliseconds, start, end)
    }
}

fn record(event: CUevent, stream: CUstream, flags: c_uint) -> Done {
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    let event = EventTarget::of(event)?;
    let target = Target::of(stream)?;
    if event.context.serial != target.context.serial {
        return Err(Error::InvalidHandle);
    }
    event.record(target.stream)
}

fn destroy(event: CUevent) -> Done {
    let target = EventTarget::of(event)?;
    let gone = target.context.state().events.remove(target.serial);
    gone.map(|_| ()).ok_or(Error::InvalidHandle)
}

fn elapsed(milliseconds: *mut c_float, start: CUevent, end: CUevent) -> Done {
    let (start, end) = (EventTarget::of(start)?, EventTarget::of(end)?);
    if milliseconds.is_null() {
        return Err(Error::InvalidValue);
    }
    if start.context.serial != end.context.serial {
        return Err(Error::InvalidHandle);
    }
    let (from, to) = match (start.time(), end.time()) {
        (Ok(from), Ok(to)) => (from, to),
        // That one of them never can answer goes before that one does not yet.
        (Err(Error::NotReady), Err(error)) | (Err(error), _) | (_, Err(error)) => {
            return Err(error);
        }
    };
    let seconds = match to.checked_duration_since(from) {
        Some(after) => after.as_secs_f64(),
        None => -from.duration_since(to).as_secs_f64(),
    };
    // SAFETY: not null: the program's place for a `float`.
    unsafe { put(milliseconds, (seconds * 1e3) as c_float) }
}
