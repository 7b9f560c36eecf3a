//! Functions: what a kernel is, and how it wishes to be run.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::Arc;

use crate::call::{api, put, put_wanted};
use crate::context::Context;
use crate::error::Error;
use crate::handle::{Handle, Kind};
use crate::library;
use crate::module::{self, Kernel};
use crate::types::{CUfunction, CUmodule};

api! {
    /// The value of a function's attribute.
    ready fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction) {
        if value.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(function)?;
        let kernel = context.open()?.modules.kernel(serial)?;
        let found = kernel.attributes.value(&kernel.code, kernel.entry()?, attribute)?;
        // SAFETY: not null: the program's place for an `int`.
        unsafe { put(value, found) }
    }

    /// Changes a function's attribute.
    ready fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int) {
        let (context, serial) = find(function)?;
        let mut state = context.open()?;
        let kernel = state.modules.kernel(serial)?;
        let function = state.modules.function_mut(serial)?;
        function.attributes.set(kernel.entry()?, attribute, value)
    }

    /// A wish for the cache, which is checked and means nothing here.
    ready fn cuFuncSetCacheConfig(function: CUfunction, config: c_uint) {
        let (context, serial) = find(function)?;
        context.open()?.modules.function(serial)?;
        cache_config(config)
    }

    /// A wish for the width of shared memory's banks, which is checked and means nothing here.
    ready fn cuFuncSetSharedMemConfig(function: CUfunction, config: c_uint) {
        let (context, serial) = find(function)?;
        context.open()?.modules.function(serial)?;
        shared_config(config)
    }

    /// The module that a function is of.
    ready fn cuFuncGetModule(module: *mut CUmodule, function: CUfunction) {
        if module.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(function)?;
        let number = context.open()?.modules.function(serial)?.module;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(module, module::handle(&context, number)) }
    }

    /// A function's name; it can be read as long as the module is loaded.
    ready fn cuFuncGetName(name: *mut *const c_char, function: CUfunction) {
        if name.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(function)?;
        let text = context.open()?.modules.function(serial)?.name.as_ptr();
        // SAFETY: not null: the program's place for an address.
        unsafe { put(name, text) }
    }

    /// Where a function's parameter is in the parameter block, and how large.
    ready fn cuFuncGetParamInfo(
        function: CUfunction,
        index: usize,
        offset: *mut usize,
        size: *mut usize,
    ) {
        if offset.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(function)?;
        let kernel = context.open()?.modules.kernel(serial)?;
        let param = kernel.entry()?.params().get(index).ok_or(Error::InvalidValue)?;
        // SAFETY: null, or the program's place for a size.
        unsafe { put_wanted(size, param.size_bytes as usize) };
        // SAFETY: not null: the program's place for an offset.
        unsafe { put(offset, param.offset_bytes as usize) }
    }

    /// How many parameters a function has.
    ready fn cuFuncGetParamCount(function: CUfunction, count: *mut usize) {
        if count.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(function)?;
        let kernel = context.open()?.modules.kernel(serial)?;
        // SAFETY: not null: the program's place for a number.
        unsafe { put(count, kernel.entry()?.params().len()) }
    }

    /// Whether a function is loaded: all are, as long as their modules.
    ready fn cuFuncIsLoaded(state: *mut c_int, function: CUfunction) {
        if state.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(function)?;
        context.open()?.modules.function(serial)?;
        // SAFETY: not null: the program's place for the answer.
        unsafe { put(state, LOADED) }
    }

    /// Loads a function, as it is already.
    ready fn cuFuncLoad(function: CUfunction) {
        let (context, serial) = find(function)?;
        context.open()?.modules.function(serial)?;
        Ok(())
    }
}

/// The context of a function and the function's number; for a library's kernel, its function in the current context.
///
/// # Errors
///
/// It is no function, or one of a context that is gone.
pub(crate) fn find(function: CUfunction) -> Result<(Arc<Context>, u32), Error> {
    if let Some(kernel) = Handle::parse_unowned(function.0, Kind::Kernel) {
        let context = Context::working()?;
        let serial = library::function(&context, kernel.serial)?;
        return Ok((context, serial));
    }
    let handle = Handle::parse(function.0, Kind::Function).ok_or(Error::InvalidHandle)?;
    let context = Context::numbered(handle.context).ok_or(Error::InvalidHandle)?;
    Ok((context, handle.serial))
}

/// The kernel of a context that a function, or a library's kernel, stands for.
///
/// # Errors
///
/// There is no such function, or it is one of another context.
pub(crate) fn kernel(context: &Arc<Context>, function: CUfunction) -> Result<Kernel, Error> {
    let serial = if let Some(kernel) = Handle::parse_unowned(function.0, Kind::Kernel) {
        library::function(context, kernel.serial)?
    } else {
        let handle = Handle::parse(function.0, Kind::Function).ok_or(Error::InvalidHandle)?;
        if handle.context != context.serial {
            return Err(Error::InvalidHandle);
        }
        handle.serial
    };
    context.open()?.modules.kernel(serial)
}

/// Checks a `CUfunc_cache`.
pub(crate) fn cache_config(config: c_uint) -> Result<(), Error> {
    if config <= 3 {
        Ok(())
    } else {
        Err(Error::InvalidValue)
    }
}

/// Checks a `CUsharedconfig`.
pub(crate) fn shared_config(config: c_uint) -> Result<(), Error> {
    if config <= 2 {
        Ok(())
    } else {
        Err(Error::InvalidValue)
    }
}

/// `CU_FUNCTION_LOADING_STATE_LOADED`
const LOADED: c_int = 1;
