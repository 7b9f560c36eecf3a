//! Contexts that programs make, the stack of current ones, and their settings.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::Arc;

use crate::api::{device, function};
use crate::call::{Done, api, outside_callback, put, put_wanted, take};
use crate::context::{self, Context};
use crate::error::Error;
use crate::queue::{Until, finish};
use crate::stream::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::types::{CUcontext, CUdevice};

api! {
    /// Makes a context and makes it current.
    ready fn cuCtxCreate_v2(context: *mut CUcontext, flags: c_uint, device: CUdevice) {
        // SAFETY: null, or the program's place for a handle.
        unsafe { create(context, flags, device) }
    }

    /// Makes a context and makes it current; shares of the device cannot be asked for.
    ready fn cuCtxCreate_v3(
        context: *mut CUcontext,
        affinities: *const c_void,
        affinity_count: c_int,
        flags: c_uint,
        device: CUdevice,
    ) {
        if affinity_count < 0 || (affinities.is_null() && affinity_count != 0) {
            return Err(Error::InvalidValue);
        }
        if affinity_count > 0 {
            return Err(Error::NotSupported);
        }
        // SAFETY: null, or the program's place for a handle.
        unsafe { create(context, flags, device) }
    }

    /// Makes a context and makes it current; neither shares of the device nor a tie to graphics can be asked for.
    ready fn cuCtxCreate_v4(
        context: *mut CUcontext,
        params: *const CreateParams,
        flags: c_uint,
        device: CUdevice,
    ) {
        if !params.is_null() {
            // SAFETY: not null: the program's parameters; any bits are some.
            let params = unsafe { take(params) }?;
            if params.affinity_count < 0 || (params.affinities == 0 && params.affinity_count != 0) {
                return Err(Error::InvalidValue);
            }
            if params.affinity_count > 0 || params.graphics != 0 {
                return Err(Error::NotSupported);
            }
        }
        // SAFETY: null, or the program's place for a handle.
        unsafe { create(context, flags, device) }
    }

    /// Ends a context with everything it owns; if the calling thread has it current, it is popped.
    ready fn cuCtxDestroy_v2(context: CUcontext) {
        destroy(context)
    }

    /// As [`cuCtxDestroy_v2`].
    ready fn cuCtxDestroy(context: CUcontext) {
        destroy(context)
    }

    /// Counts one more use of the current context.
    ready fn cuCtxAttach(context: *mut CUcontext, flags: c_uint) {
        if context.is_null() || flags != 0 {
            return Err(Error::InvalidValue);
        }
        let current = Context::current()?;
        current.attach();
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(context, current.handle()) }
    }

    /// Counts one use of the current context less, and ends it with the last.
    ready fn cuCtxDetach(context: CUcontext) {
        let current = Context::current()?;
        if current.handle() != context {
            return Err(Error::InvalidContext);
        }
        if current.detach() { destroy(context) } else { Ok(()) }
    }

    /// Makes a context current, over the one that was.
    ready fn cuCtxPushCurrent_v2(context: CUcontext) {
        context::push(Context::of(context)?);
        Ok(())
    }

    /// As [`cuCtxPushCurrent_v2`].
    ready fn cuCtxPushCurrent(context: CUcontext) {
        context::push(Context::of(context)?);
        Ok(())
    }

    /// Takes the current context off, so that the one before it is current again.
    ready fn cuCtxPopCurrent_v2(context: *mut CUcontext) {
        // SAFETY: null, or the program's place for a handle.
        unsafe { pop(context) }
    }

    /// As [`cuCtxPopCurrent_v2`].
    ready fn cuCtxPopCurrent(context: *mut CUcontext) {
        // SAFETY: null, or the program's place for a handle.
        unsafe { pop(context) }
    }

    /// Makes a context current instead of the one that was; null takes that off.
    ready fn cuCtxSetCurrent(context: CUcontext) {
        if context.0 == 0 {
            context::pop();
            return Ok(());
        }
        let next = Context::of(context)?;
        context::pop();
        context::push(next);
        Ok(())
    }

    /// The current context, null where there is none.
    ready fn cuCtxGetCurrent(context: *mut CUcontext) {
        let top = context::top().map(|top| top.handle());
        // SAFETY: null, or the program's place for a handle.
        unsafe { put(context, top.unwrap_or_default()) }
    }

    /// The device of the current context.
    ready fn cuCtxGetDevice(device: *mut CUdevice) {
        if device.is_null() {
            return Err(Error::InvalidValue);
        }
        let current = Context::current()?;
        // SAFETY: not null: the program's place for a device.
        unsafe { put(device, current.device) }
    }

    /// The device of a context, or of the current one.
    ready fn cuCtxGetDevice_v2(device: *mut CUdevice, context: CUcontext) {
        if device.is_null() {
            return Err(Error::InvalidValue);
        }
        let named = named(context)?;
        // SAFETY: not null: the program's place for a device.
        unsafe { put(device, named.device) }
    }

    /// The flags of the current context.
    ready fn cuCtxGetFlags(flags: *mut c_uint) {
        if flags.is_null() {
            return Err(Error::InvalidValue);
        }
        let current = Context::current()?;
        // SAFETY: not null: the program's place for flags.
        unsafe { put(flags, current.flags()) }
    }

    /// Sets the flags of the current context.
    ready fn cuCtxSetFlags(flags: c_uint) {
        check_flags(flags)?;
        Context::current()?.set_flags(flags);
        Ok(())
    }

    /// A number that only this context has in this process.
    ready fn cuCtxGetId(context: CUcontext, id: *mut c_ulonglong) {
        if id.is_null() {
            return Err(Error::InvalidValue);
        }
        let named = named(context)?;
        // SAFETY: not null: the program's place for a number.
        unsafe { put(id, c_ulonglong::from(named.serial)) }
    }

    /// The version of the driver API that a context was made for.
    ready fn cuCtxGetApiVersion(context: CUcontext, version: *mut c_uint) {
        if version.is_null() {
            return Err(Error::InvalidValue);
        }
        named(context)?;
        // SAFETY: not null: the program's place for a number.
        unsafe { put(version, API_VERSION) }
    }

    /// The value of a limit of the current context.
    ready fn cuCtxGetLimit(value: *mut usize, limit: c_uint) {
        if value.is_null() {
            return Err(Error::InvalidValue);
        }
        let found = Context::working()?.open()?.settings.limit(limit)?;
        // SAFETY: not null: the program's place for a size.
        unsafe { put(value, usize::try_from(found).map_err(|_| Error::Unknown)?) }
    }

    /// Sets a limit of the current context.
    ready fn cuCtxSetLimit(limit: c_uint, value: usize) {
        Context::working()?.open()?.settings.set_limit(limit, value as u64)
    }

    /// The wish for the cache of the current context.
    ready fn cuCtxGetCacheConfig(config: *mut c_uint) {
        if config.is_null() {
            return Err(Error::InvalidValue);
        }
        let found = Context::working()?.open()?.settings.cache_config;
        // SAFETY: not null: the program's place for an enumeration.
        unsafe { put(config, found) }
    }

    /// A wish for the cache, which means nothing here.
    ready fn cuCtxSetCacheConfig(config: c_uint) {
        function::cache_config(config)?;
        Context::working()?.open()?.settings.cache_config = config;
        Ok(())
    }

    /// The width of shared memory's banks: 4 bytes.
    ready fn cuCtxGetSharedMemConfig(config: *mut c_uint) {
        if config.is_null() {
            return Err(Error::InvalidValue);
        }
        Context::working()?;
        // SAFETY: not null: the program's place for an enumeration.
        unsafe { put(config, FOUR_BYTE_BANKS) }
    }

    /// A wish for the width of shared memory's banks, which means nothing here.
    ready fn cuCtxSetSharedMemConfig(config: c_uint) {
        function::shared_config(config)?;
        Context::working().map(|_| ())
    }

    /// The least and the greatest priority that a stream can have.
    ready fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        Context::working()?;
        // SAFETY: null, or the program's place for an `int`.
        unsafe { put_wanted(least, LEAST_PRIORITY) };
        // SAFETY: null, or the program's place for an `int`.
        unsafe { put_wanted(greatest, GREATEST_PRIORITY) };
        Ok(())
    }

    /// Resets lines of a cache, of which there are none.
    ready fn cuCtxResetPersistingL2Cache() {
        Context::working().map(|_| ())
    }

    /// Waits for all work of the current context.
    ready fn cuCtxSynchronize() {
        finish(&Context::working()?, Until::Empty)
    }

    /// Waits for all work of a context, or of the current one.
    ready fn cuCtxSynchronize_v2(context: CUcontext) {
        finish(&named(context)?, Until::Empty)
    }

    /// Lets the current context's kernels reach memory of another device's, of which there is none.
    ready fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let current = Context::working()?;
        if Context::of(peer)?.serial == current.serial {
            return Err(Error::InvalidContext);
        }
        Err(Error::PeerAccessUnsupported)
    }

    /// Undoes what never was done.
    ready fn cuCtxDisablePeerAccess(peer: CUcontext) {
        Context::working()?;
        Context::of(peer)?;
        Err(Error::PeerAccessNotEnabled)
    }
}

/// `CUctxCreateParams`: what else a context may be made with.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CreateParams {
    /// Where the list of shares of the device is.
    pub affinities: usize,
    /// How long that is.
    pub affinity_count: c_int,
    /// Where the tie to graphics is.
    pub graphics: usize,
}

/// Refuses flags of a context that are none, or exclude each other.
pub(crate) fn check_flags(flags: c_uint) -> Done {
    if flags & !FLAGS_MASK == 0 && (flags & SCHEDULING_MASK).count_ones() <= 1 {
        Ok(())
    } else {
        Err(Error::InvalidValue)
    }
}

/// The context with this handle; the current one for null.
fn named(context: CUcontext) -> Result<Arc<Context>, Error> {
    if context.0 == 0 {
        Context::current()
    } else {
        Context::of(context)
    }
}

/// Makes a context and makes it current.
///
/// # Safety
///
/// `context` is null or good for a write.
unsafe fn create(context: *mut CUcontext, flags: c_uint, device: CUdevice) -> Done {
    if context.is_null() {
        return Err(Error::InvalidValue);
    }
    check_flags(flags)?;
    device::check(device)?;
    let made = Context::create(flags)?;
    context::push(Arc::clone(&made));
    // SAFETY: not null: the program's place for a handle.
    unsafe { put(context, made.handle()) }
}

/// Takes the current context off.
///
/// # Safety
///
/// `context` is null or good for a write.
unsafe fn pop(context: *mut CUcontext) -> Done {
    let popped = context::pop().ok_or(Error::InvalidContext)?;
    // SAFETY: null, or the program's place for a handle.
    unsafe { put_wanted(context, popped.handle()) };
    Ok(())
}

fn destroy(context: CUcontext) -> Done {
    let context = Context::of(context)?;
    outside_callback()?;
    if context.is_primary() {
        return Err(Error::InvalidContext);
    }
    // Work that failed has ended too.
    let _ = finish(&context, Until::Empty);
    context.destroy();
    if context::top().is_some_and(|top| top.serial == context.serial) {
        context::pop();
    }
    Ok(())
}

/// What contexts are made for, whichever function makes them.
const API_VERSION: c_uint = 3020;
/// `CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE`
const FOUR_BYTE_BANKS: c_uint = 1;
/// `CU_CTX_FLAGS_MASK`
const FLAGS_MASK: c_uint = 0xFF;
/// `CU_CTX_SCHED_MASK`
const SCHEDULING_MASK: c_uint = 7;
