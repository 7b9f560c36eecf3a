//! Contexts that programs make, and the stack of current ones.

use std::ffi::c_uint;

use crate::api::device;
use crate::call::{api, put};
use crate::context::{self, Context};
use crate::error::Error;
use crate::queue::{Until, finish};
use crate::types::{CUcontext, CUdevice};

api! {
    /// Makes a context and makes it current.
    ready fn cuCtxCreate_v2(context: *mut CUcontext, flags: c_uint, device: CUdevice) {
        if context.is_null() {
            return Err(Error::InvalidValue);
        }
        device::check(device)?;
        let made = Context::create(flags)?;
        context::push(made.clone());
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(context, made.handle()) }
    }

    /// Waits for all work of the current context.
    ready fn cuCtxSynchronize() {
        finish(&Context::working()?, Until::Empty)
    }
}
