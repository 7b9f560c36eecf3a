//! Errors: their names and what they mean.

use std::ffi::{CStr, c_char};

use crate::call::{Done, api, put};
use crate::error::Error;
use crate::types::CUresult;

api! {
    /// The name of a code.
    early fn cuGetErrorName(code: CUresult, name: *mut *const c_char) {
        // SAFETY: null, or the program's place for an address.
        unsafe { tell(code, name, c"CUDA_SUCCESS", Error::name) }
    }

    /// What a code means.
    early fn cuGetErrorString(code: CUresult, words: *mut *const c_char) {
        // SAFETY: null, or the program's place for an address.
        unsafe { tell(code, words, c"no error", Error::words) }
    }
}

/// Writes where a text about `code` is; null and an error for what is no code.
///
/// # Safety
///
/// `to` is null or good for a write.
unsafe fn tell(
    code: CUresult,
    to: *mut *const c_char,
    success: &'static CStr,
    text: impl Fn(Error) -> &'static CStr,
) -> Done {
    let found = match code {
        0 => Some(success),
        code => Error::of(code).map(text),
    };
    // SAFETY: null, or the program's place for an address.
    unsafe { put(to, found.map_or(std::ptr::null(), CStr::as_ptr)) }?;
    found.map(|_| ()).ok_or(Error::InvalidValue)
}
