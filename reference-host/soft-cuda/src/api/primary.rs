//! The primary context of the device.

use std::ffi::{c_int, c_uint};

use crate::api::context::check_flags;
use crate::api::device;
use crate::call::{api, outside_callback, put};
use crate::context::Context;
use crate::error::Error;
use crate::primary;
use crate::queue::{Until, finish};
use crate::types::{CUcontext, CUdevice};

api! {
    /// Retains the primary context; it is not made current.
    ready fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) {
        if context.is_null() {
            return Err(Error::InvalidValue);
        }
        device::check(device)?;
        let retained = primary::retain()?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(context, retained.handle()) }
    }

    /// Releases the primary context and ends it if nobody retains it any more.
    ready fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) {
        device::check(device)?;
        outside_callback()?;
        if let Some(last) = primary::release()? {
            end(&last);
        }
        Ok(())
    }

    /// As [`cuDevicePrimaryCtxRelease_v2`].
    ready fn cuDevicePrimaryCtxRelease(device: CUdevice) {
        device::check(device)?;
        outside_callback()?;
        if let Some(last) = primary::release()? {
            end(&last);
        }
        Ok(())
    }

    /// Ends the primary context, which stays retained: whoever retains it next gets a new one.
    ready fn cuDevicePrimaryCtxReset_v2(device: CUdevice) {
        device::check(device)?;
        outside_callback()?;
        if let Some(context) = primary::reset() {
            end(&context);
        }
        Ok(())
    }

    /// As [`cuDevicePrimaryCtxReset_v2`].
    ready fn cuDevicePrimaryCtxReset(device: CUdevice) {
        device::check(device)?;
        outside_callback()?;
        if let Some(context) = primary::reset() {
            end(&context);
        }
        Ok(())
    }

    /// Sets the flags of the primary context.
    ready fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) {
        device::check(device)?;
        check_flags(flags)?;
        primary::set_flags(flags);
        Ok(())
    }

    /// As [`cuDevicePrimaryCtxSetFlags_v2`].
    ready fn cuDevicePrimaryCtxSetFlags(device: CUdevice, flags: c_uint) {
        device::check(device)?;
        check_flags(flags)?;
        primary::set_flags(flags);
        Ok(())
    }

    /// The flags of the primary context, and whether it is active.
    ready fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut c_uint, active: *mut c_int) {
        if flags.is_null() || active.is_null() {
            return Err(Error::InvalidValue);
        }
        device::check(device)?;
        let (set, is_active) = primary::state();
        // SAFETY: not null: the program's place for flags.
        unsafe { put(flags, set) }?;
        // SAFETY: not null: the program's place for an `int`.
        unsafe { put(active, c_int::from(is_active)) }
    }
}

/// Ends a context when its work is done, or has failed.
fn end(context: &std::sync::Arc<Context>) {
    // How the work ended no longer matters to anybody.
    let _ = finish(context, Until::Empty);
    context.destroy();
}
