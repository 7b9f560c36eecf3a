//! What every call goes through, and the means to write answers.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::inject;
use crate::types::CUresult;

/// What a call does: nothing to say, or why not.
pub(crate) type Done = Result<(), Error>;

/// Declares exported functions, and [`EXPORTS`] of the file: their names and addresses.
///
/// `ready` functions need `cuInit`, `early` ones do not. The body is a block of type [`Done`].
macro_rules! api {
    ($(
        $(#[$meta:meta])*
        $mode:ident fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block
    )*) => {
        $(
            $(#[$meta])*
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the driver API's name")]
            #[allow(clippy::too_many_arguments, reason = "the driver API's signature")]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::CUresult {
                $crate::call::$mode(stringify!($name), || $body)
            }
        )*

        /// What this file exports.
        pub(crate) const EXPORTS: &[$crate::api::Export] = &[$(
            $crate::api::Export { name: stringify!($name), address: $name as *const () },
        )*];
    };
}
pub(crate) use api;

/// Declares functions that answer that they are not supported, and [`EXPORTS`] of the file.
macro_rules! absent {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` is not supported.")]
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the driver API's name")]
            pub extern "C" fn $name() -> $crate::CUresult {
                $crate::call::early(stringify!($name), || Err($crate::Error::NotSupported))
            }
        )*

        /// What this file exports.
        pub(crate) const EXPORTS: &[$crate::api::Export] = &[$(
            $crate::api::Export { name: stringify!($name), address: $name as *const () },
        )*];
    };
}
pub(crate) use absent;

/// Carries out a call that needs `cuInit`.
pub(crate) fn ready(name: &'static str, body: impl FnOnce() -> Done) -> CUresult {
    early(name, || {
        outside_callback()?;
        if INITIALISED.load(Ordering::Acquire) {
            body()
        } else {
            Err(Error::NotInitialized)
        }
    })
}

/// Carries out a call that does not.
pub(crate) fn early(name: &'static str, body: impl FnOnce() -> Done) -> CUresult {
    // A panic here would be a mistake of this library; the program is told so rather than ended.
    let done = catch_unwind(AssertUnwindSafe(|| {
        inject::before(name)?;
        body()
    }))
    .unwrap_or(Err(Error::Unknown));
    inject::after(name, done);
    match done {
        Ok(()) => 0,
        Err(error) => error.number(),
    }
}

/// Notes that `cuInit` was called.
pub(crate) fn initialise() {
    INITIALISED.store(true, Ordering::Release);
}

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Writes an answer where the program wants it.
///
/// # Errors
///
/// The pointer is null.
///
/// # Safety
///
/// `to` is null or good for a write of `T`; it need not be aligned.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Done {
    if to.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: not null, and so good for a write, by this function's own terms.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes an answer if the program wants it.
///
/// # Safety
///
/// As for [`put`].
pub(crate) unsafe fn put_wanted<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null, and so good for a write, by this function's own terms.
        unsafe { to.write_unaligned(value) };
    }
}

/// Reads what the program passed by address.
///
/// # Errors
///
/// The pointer is null.
///
/// # Safety
///
/// `from` is null or good for a read of `T`, whose every bit pattern is a value; it need not be aligned.
pub(crate) unsafe fn take<T: Copy>(from: *const T) -> Result<T, Error> {
    if from.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: not null, and so good for a read, by this function's own terms.
    Ok(unsafe { from.read_unaligned() })
}

/// The program's string at `text`.
///
/// # Errors
///
/// The pointer is null.
///
/// # Safety
///
/// `text` is null or points to bytes that end with a zero and stay as they are while the result is used.
pub(crate) unsafe fn text<'a>(text: *const std::ffi::c_char) -> Result<&'a [u8], Error> {
    if text.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: not null, and so a string with an end, by this function's own terms.
    Ok(unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes())
}

/// Runs a function of the program's on behalf of a stream; calls that it makes meanwhile on this thread are refused.
pub(crate) fn in_callback<R>(call: impl FnOnce() -> R) -> R {
    IN_CALLBACK.set(true);
    let result = call();
    IN_CALLBACK.set(false);
    result
}

/// Refuses a call from a function that a stream runs: it could wait for itself.
pub(crate) fn outside_callback() -> Done {
    if IN_CALLBACK.get() {
        Err(Error::NotPermitted)
    } else {
        Ok(())
    }
}

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}
