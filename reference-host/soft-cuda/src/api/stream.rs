//! Streams.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use crate::call::{api, put, put_wanted};
use crate::context::Context;
use crate::error::Error;
use crate::event::EventTarget;
use crate::queue::{self, HostFunction, StreamId, Until, UserData, finish, poll};
use crate::stream::{Target, create};
use crate::types::{CUcontext, CUdevice, CUevent, CUstream};

api! {
    /// Makes a stream.
    ready fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) {
        if stream.is_null() {
            return Err(Error::InvalidValue);
        }
        let made = create(&*Context::working()?, flags, 0)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(stream, made) }
    }

    /// Makes a stream with a priority, which is kept and means nothing here.
    ready fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) {
        if stream.is_null() {
            return Err(Error::InvalidValue);
        }
        let made = create(&*Context::working()?, flags, priority)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(stream, made) }
    }

    /// Ends a stream after its work.
    ready fn cuStreamDestroy_v2(stream: CUstream) {
        destroy(stream)
    }

    /// The same.
    ready fn cuStreamDestroy(stream: CUstream) {
        destroy(stream)
    }

    /// Whether all work of a stream is done.
    ready fn cuStreamQuery(stream: CUstream) {
        let target = Target::of(stream)?;
        poll(&target.context, |state| state.queue.is_busy(target.stream))
    }

    /// Waits for all work of a stream.
    ready fn cuStreamSynchronize(stream: CUstream) {
        let target = Target::of(stream)?;
        finish(&target.context, Until::Idle(target.stream))
    }

    /// Has later work of a stream wait for what an event has been recorded after.
    ready fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let event = EventTarget::of(event)?;
        let target = Target::of(stream)?;
        // Work of one context is carried out in the order of the calls anyhow.
        if event.context.serial == target.context.serial {
            return Ok(());
        }
        event.wait()
    }

    /// The priority that a stream has.
    ready fn cuStreamGetPriority(stream: CUstream, priority: *mut c_int) {
        let is = Target::of(stream)?.with(|stream| stream.priority)?;
        // SAFETY: null, or the program's place for an `int`.
        unsafe { put(priority, is) }
    }

    /// The flags that a stream was made with.
    ready fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) {
        let are = Target::of(stream)?.with(|stream| stream.flags)?;
        // SAFETY: null, or the program's place for flags.
        unsafe { put(flags, are) }
    }

    /// The number of a stream, unlike any other's of this process.
    ready fn cuStreamGetId(stream: CUstream, id: *mut c_ulonglong) {
        let target = Target::of(stream)?;
        let own = target.with(|stream| stream.id)?;
        let id_is = match target.stream {
            StreamId::Made(_) => own,
            // The default streams of each context are streams of their own.
            _ => own | u64::from(target.context.serial) << 32,
        };
        // SAFETY: null, or the program's place for a number.
        unsafe { put(id, id_is) }
    }

    /// The device of a stream.
    ready fn cuStreamGetDevice(stream: CUstream, device: *mut CUdevice) {
        let is = Target::of(stream)?.context.device;
        // SAFETY: null, or the program's place for a device.
        unsafe { put(device, is) }
    }

    /// The context of a stream.
    ready fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext) {
        let is = Target::of(stream)?.context.handle();
        // SAFETY: null, or the program's place for a handle.
        unsafe { put(context, is) }
    }

    /// The context of a stream, and its green one, of which there are none.
    ready fn cuStreamGetCtx_v2(stream: CUstream, context: *mut CUcontext, green: *mut usize) {
        let is = Target::of(stream)?.context.handle();
        // SAFETY: null, or the program's places for handles.
        unsafe {
            put_wanted(green, 0);
            put(context, is)
        }
    }

    /// Has a function of the program's called after the work of a stream, told how that went.
    ready fn cuStreamAddCallback(
        stream: CUstream,
        function: Option<unsafe extern "C" fn(CUstream, c_uint, *mut c_void)>,
        data: *mut c_void,
        flags: c_uint,
    ) {
        let function = function.filter(|_| flags == 0).ok_or(Error::InvalidValue)?;
        let target = Target::of(stream)?;
        let data = UserData(data);
        queue::call_later(&target.context, target.stream, HostFunction::Callback { function, stream, data })
    }

    /// Has a function of the program's called after the work of a stream, where that went well.
    ready fn cuLaunchHostFunc(
        stream: CUstream,
        function: Option<unsafe extern "C" fn(*mut c_void)>,
        data: *mut c_void,
    ) {
        let function = function.ok_or(Error::InvalidValue)?;
        let target = Target::of(stream)?;
        let data = UserData(data);
        queue::call_later(&target.context, target.stream, HostFunction::Plain { function, data })
    }

    /// The same; how the caller wants to wait means nothing here.
    ready fn cuLaunchHostFunc_v2(
        stream: CUstream,
        function: Option<unsafe extern "C" fn(*mut c_void)>,
        data: *mut c_void,
        mode: c_uint,
    ) {
        let function = function.filter(|_| mode <= 1).ok_or(Error::InvalidValue)?;
        let target = Target::of(stream)?;
        let data = UserData(data);
        queue::call_later(&target.context, target.stream, HostFunction::Plain { function, data })
    }
}

/// Ends a stream after its work; the default streams do not end.
fn destroy(stream: CUstream) -> crate::call::Done {
    let target = Target::even_lost(stream)?;
    let StreamId::Made(serial) = target.stream else {
        return Err(Error::InvalidHandle);
    };
    let done = finish(&target.context, Until::Idle(target.stream));
    let mut state = target.context.state();
    let gone = state.streams.remove(serial);
    let own = |(stream, _): &(StreamId, u32), _: &mut [u64; 8]| *stream != target.stream;
    state.stream_wishes.retain(own);
    drop(state);
    done.and(gone.map(|_| ()).ok_or(Error::InvalidHandle))
}
