//! A context of a test's own, current on its thread.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test file takes what it needs"
)]

use soft_cuda::api::{context, copy, device, memory};
use soft_cuda::{CUcontext, CUdeviceptr, CUresult};

/// Makes a call, with the answer as its value.
macro_rules! call {
    ($call:expr) => {
        // SAFETY: pointers given by tests are null or good for what the function reads and writes; handles are never followed.
        unsafe { $call }
    };
}
pub(crate) use call;

/// Asserts that a call answers a code; without one, that it succeeds.
macro_rules! answers {
    ($call:expr) => {
        answers!($call, 0)
    };
    ($call:expr, $code:expr) => {
        assert_eq!(crate::own::call!($call), $code, "{}", stringify!($call))
    };
}
pub(crate) use answers;

pub(crate) const INVALID_VALUE: CUresult = 1;
pub(crate) const OUT_OF_MEMORY: CUresult = 2;
pub(crate) const INVALID_CONTEXT: CUresult = 201;
pub(crate) const INVALID_HANDLE: CUresult = 400;
pub(crate) const NOT_FOUND: CUresult = 500;
pub(crate) const NOT_READY: CUresult = 600;

/// Makes a context and makes it current.
pub(crate) fn fresh() -> CUcontext {
    answers!(device::cuInit(0));
    let mut own = CUcontext::default();
    answers!(context::cuCtxCreate_v2(&mut own, 0, 0));
    own
}

/// Makes device memory.
pub(crate) fn allocate(bytes: usize) -> CUdeviceptr {
    let mut address = 0;
    answers!(memory::cuMemAlloc_v2(&mut address, bytes));
    assert_ne!(address, 0);
    address
}

/// Makes device memory that holds `bytes`.
pub(crate) fn upload(bytes: &[u8]) -> CUdeviceptr {
    let address = allocate(bytes.len());
    answers!(copy::cuMemcpyHtoD_v2(
        address,
        bytes.as_ptr().cast(),
        bytes.len()
    ));
    address
}

/// What is in device memory.
pub(crate) fn download(address: CUdeviceptr, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    answers!(copy::cuMemcpyDtoH_v2(
        bytes.as_mut_ptr().cast(),
        address,
        len
    ));
    bytes
}

/// The address of a value that stays to the end of the process: a function called by a stream may still be at work with it when a test has ended.
pub(crate) fn kept<T>(value: T) -> *mut std::ffi::c_void {
    Box::into_raw(Box::new(value)).cast()
}
