//! The profiler: there is none to steer, which programs that mark what they want measured need not know.

use std::ffi::{c_char, c_uint};

use crate::call::api;
use crate::context::Context;
use crate::error::Error;

api! {
    /// Sets a profiler up: that has not been possible for long.
    ready fn cuProfilerInitialize(_config: *const c_char, _output: *const c_char, _mode: c_uint) {
        Err(Error::NotSupported)
    }

    /// Begins a part to be measured.
    ready fn cuProfilerStart() {
        Context::working().map(|_| ())
    }

    /// Ends a part to be measured.
    ready fn cuProfilerStop() {
        Context::working().map(|_| ())
    }
}
