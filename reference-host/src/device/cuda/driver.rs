//! The driver's functions that this host calls, and what their codes mean.
//!
//! `cust` declares that a function returns one of the codes which its enumeration lists. A driver younger than `cust` answers others, and a Rust
//! enumeration must never hold those. The functions are therefore declared here once more, with a number as their result; their handles and
//! options are `cust`'s.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;

use cust::sys::{CUcontext, CUdevice, CUdeviceptr, CUfunction, CUmodule, CUstream};

use super::forward;
use crate::device::Absence;

/// Declares driver functions, each wrapped in one that gives a [`Result`].
macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident = $symbol:ident($($arg:ident: $ty:ty),* $(,)?);)*) => {
        mod symbols {
            use super::*;

            unsafe extern "C" {$(
                pub(super) fn $symbol($($arg: $ty),*) -> c_uint;
            )*}
        }

        $(
            $(#[$doc])*
            #[allow(clippy::too_many_arguments, reason = "the driver API's signature")]
            pub(super) unsafe fn $name($($arg: $ty),*) -> Result<(), DriverError> {
                // SAFETY: the caller's promise, which is that of the driver's function.
                check(stringify!($symbol), unsafe { symbols::$symbol($($arg),*) })
            }
        )*
    };
}

functions! {
    fn init = cuInit(flags: c_uint);
    fn driver_version = cuDriverGetVersion(version: *mut c_int);
    fn device_count = cuDeviceGetCount(count: *mut c_int);
    fn device = cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn ctx_create = cuCtxCreate_v2(context: *mut CUcontext, flags: c_uint, device: CUdevice);
    fn ctx_destroy = cuCtxDestroy_v2(context: CUcontext);
    fn ctx_push = cuCtxPushCurrent_v2(context: CUcontext);
    fn ctx_pop = cuCtxPopCurrent_v2(context: *mut CUcontext);
    fn ctx_current = cuCtxGetCurrent(context: *mut CUcontext);
    fn ctx_synchronize = cuCtxSynchronize();
    fn stream_create = cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    fn stream_query = cuStreamQuery(stream: CUstream);
    fn module_load = cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut c_uint, values: *mut *mut c_void);
    fn module_function = cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn module_unload = cuModuleUnload(module: CUmodule);
    fn function_set_attribute = cuFuncSetAttribute(function: CUfunction, attribute: c_uint, value: c_int);
    fn launch = cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void,
    );
    fn mem_alloc = cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    fn mem_free = cuMemFree_v2(address: CUdeviceptr);
    fn memset = cuMemsetD8_v2(to: CUdeviceptr, byte: u8, count: usize);
    fn copy_to_device = cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
    fn copy_from_device = cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
    fn device_name = cuDeviceGetName(name: *mut c_char, room: c_int, device: CUdevice);
    fn device_memory = cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
}

unsafe extern "C" {
    fn cuGetErrorName(code: c_uint, name: *mut *const c_char) -> c_uint;
}

/// Gives something back, and tries once more where that fails: nobody can be told, and what is not given back is gone.
///
/// A driver may also answer an earlier, asynchronous failure, having done its work. None is outstanding in a context where all work is waited for; and in one that has
/// failed nothing is made any more, so that a second try meets nothing of anybody else's.
pub(super) fn release(mut give_back: impl FnMut() -> Result<(), DriverError>) {
    if give_back().is_err() {
        // What fails twice stays with the driver until its context ends.
        let _ = give_back();
    }
}

/// Loads and starts the driver.
///
/// # Errors
///
/// Why there is none to be used.
pub(super) fn start() -> Result<(), Absence> {
    if !forward::load() {
        return Err(Absence::NoDriver);
    }
    let failed = |error: DriverError| match error.code {
        code::NO_DEVICE => Absence::NoDevice,
        code => Absence::DriverFailed(code),
    };
    let mut offered = 0;
    // SAFETY: `offered` is the place for an `int`.
    unsafe { driver_version(&mut offered) }.map_err(failed)?;
    if offered < NEEDED_VERSION {
        return Err(Absence::DriverTooOld {
            offered,
            needed: NEEDED_VERSION,
        });
    }
    // SAFETY: any flags may be passed.
    unsafe { init(0) }.map_err(failed)
}

/// The first driver of the line that still gets mended; it has every function called here.
const NEEDED_VERSION: c_int = 11_000;

/// A driver function failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverError {
    /// The function's symbol.
    pub call: &'static str,
    /// What it answered.
    pub code: u32,
    name: &'static str,
}

impl DriverError {
    /// An error without the driver's name for it.
    pub(super) const fn unnamed(call: &'static str, code: u32) -> Self {
        Self {
            call,
            code,
            name: "a code without a name",
        }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answers {} ({})", self.call, self.name, self.code)
    }
}

impl std::error::Error for DriverError {}

fn check(call: &'static str, code: u32) -> Result<(), DriverError> {
    match code {
        0 => Ok(()),
        code => Err(DriverError {
            call,
            code,
            name: name(code),
        }),
    }
}

/// The driver's name for one of its codes.
fn name(code: u32) -> &'static str {
    let mut name = std::ptr::null();
    // SAFETY: `name` is the place for a pointer.
    let found = unsafe { cuGetErrorName(code, &mut name) };
    if found != 0 || name.is_null() {
        return "a code without a name";
    }
    // SAFETY: the driver's names are constants of a library that is never unloaded.
    unsafe { CStr::from_ptr(name) }
        .to_str()
        .unwrap_or("a code with an unreadable name")
}

/// The driver's codes that this host tells apart.
pub(super) mod code {
    pub(in super::super) const INVALID_VALUE: u32 = 1;
    pub(in super::super) const OUT_OF_MEMORY: u32 = 2;
    pub(in super::super) const NOT_INITIALIZED: u32 = 3;
    pub(in super::super) const NO_DEVICE: u32 = 100;
    pub(in super::super) const INVALID_IMAGE: u32 = 200;
    pub(in super::super) const INVALID_CONTEXT: u32 = 201;
    pub(in super::super) const NO_BINARY_FOR_GPU: u32 = 209;
    pub(in super::super) const INVALID_PTX: u32 = 218;
    pub(in super::super) const JIT_COMPILER_NOT_FOUND: u32 = 221;
    pub(in super::super) const UNSUPPORTED_PTX_VERSION: u32 = 222;
    pub(in super::super) const JIT_COMPILATION_DISABLED: u32 = 223;
    pub(in super::super) const INVALID_SOURCE: u32 = 300;
    pub(in super::super) const INVALID_HANDLE: u32 = 400;
    pub(in super::super) const NOT_FOUND: u32 = 500;
    pub(in super::super) const NOT_READY: u32 = 600;
    pub(in super::super) const LAUNCH_OUT_OF_RESOURCES: u32 = 701;
    pub(in super::super) const CONTEXT_IS_DESTROYED: u32 = 709;
    pub(in super::super) const NOT_SUPPORTED: u32 = 801;
}
