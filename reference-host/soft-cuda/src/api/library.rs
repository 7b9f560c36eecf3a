//! Libraries and their kernels, which belong to no context.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::time::Instant;

use crate::api::device;
use crate::api::function::cache_config;
use crate::api::module::{Jit, image_at, image_of_file};
use crate::call::{Done, api, put, put_wanted, text};
use crate::context::Context;
use crate::error::Error;
use crate::image::{Image, Refusal};
use crate::library;
use crate::module::{self, function_handle};
use crate::types::{CUdevice, CUdeviceptr, CUfunction, CUkernel, CUlibrary, CUmodule};

api! {
    /// Loads a library from PTX text or an image of the linker.
    ready fn cuLibraryLoadData(
        library: *mut CUlibrary,
        code: *const c_void,
        options: *mut c_uint,
        values: *mut *mut c_void,
        count: c_uint,
        library_options: *mut c_uint,
        _library_values: *mut *mut c_void,
        library_count: c_uint,
    ) {
        // SAFETY: the program's options, as many as it says.
        let jit = unsafe { Jit::read(count, options, values) }?;
        // SAFETY: the same for the library's.
        unsafe { check_options(library_options, library_count, PRESERVED) }?;
        if library.is_null() || code.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the program's image, and its place for a handle, not null.
        unsafe { load(library, &jit, || image_at(code)) }
    }

    /// Loads a library from a file.
    ready fn cuLibraryLoadFromFile(
        library: *mut CUlibrary,
        path: *const c_char,
        options: *mut c_uint,
        values: *mut *mut c_void,
        count: c_uint,
        library_options: *mut c_uint,
        _library_values: *mut *mut c_void,
        library_count: c_uint,
    ) {
        // SAFETY: null, or the program's path, a string.
        let path = unsafe { text(path) }?;
        // SAFETY: the program's options, as many as it says.
        let jit = unsafe { Jit::read(count, options, values) }?;
        // SAFETY: the same for the library's.
        unsafe { check_options(library_options, library_count, HOST_TABLE) }?;
        if library.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the program's place for a handle, not null.
        unsafe { load(library, &jit, || image_of_file(path)) }
    }

    /// Unloads a library from all contexts.
    ready fn cuLibraryUnload(library: CUlibrary) {
        crate::call::outside_callback()?;
        library::unload(library)
    }

    /// The kernel of this name.
    ready fn cuLibraryGetKernel(kernel: *mut CUkernel, library: CUlibrary, name: *const c_char) {
        // SAFETY: null, or the program's string.
        let name = unsafe { text(name) }?;
        if kernel.is_null() || name.is_empty() {
            return Err(Error::InvalidValue);
        }
        let found = library::kernel(library, name)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(kernel, found) }
    }

    /// How many kernels a library has.
    ready fn cuLibraryGetKernelCount(count: *mut c_uint, library: CUlibrary) {
        if count.is_null() {
            return Err(Error::InvalidValue);
        }
        let found = c_uint::try_from(library::kernel_count(library)?).map_err(|_| Error::Unknown)?;
        // SAFETY: not null: the program's place for a number.
        unsafe { put(count, found) }
    }

    /// A library's kernels, as many as there is room for.
    ready fn cuLibraryEnumerateKernels(kernels: *mut CUkernel, room: c_uint, library: CUlibrary) {
        if kernels.is_null() || room == 0 {
            return Err(Error::InvalidValue);
        }
        for (index, kernel) in library::kernels(library, room as usize)?.into_iter().enumerate() {
            // SAFETY: not null, and there is room for more than `index` handles.
            unsafe { kernels.add(index).write_unaligned(kernel) };
        }
        Ok(())
    }

    /// The module that a library is in the current context.
    ready fn cuLibraryGetModule(module: *mut CUmodule, library: CUlibrary) {
        if module.is_null() {
            return Err(Error::InvalidValue);
        }
        let context = Context::working()?;
        let serial = library::module(&context, library)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(module, module::handle(&context, serial)) }
    }

    /// Where a library's variable is in the current context, and how large.
    ready fn cuLibraryGetGlobal(
        start: *mut CUdeviceptr,
        bytes: *mut usize,
        library: CUlibrary,
        name: *const c_char,
    ) {
        // SAFETY: null, or the program's string.
        let name = unsafe { text(name) }?;
        if start.is_null() && bytes.is_null() {
            return Err(Error::InvalidValue);
        }
        let context = Context::working()?;
        let module = library::module(&context, library)?;
        let (address, size) = context.open()?.modules.variable(module, name)?;
        // SAFETY: null, or the program's place for an address.
        unsafe { put_wanted(start, address) };
        // SAFETY: null, or the program's place for a size.
        unsafe { put_wanted(bytes, usize::try_from(size).map_err(|_| Error::Unknown)?) };
        Ok(())
    }

    /// A managed variable of a library: libraries have none here.
    ready fn cuLibraryGetManaged(
        start: *mut CUdeviceptr,
        bytes: *mut usize,
        library: CUlibrary,
        name: *const c_char,
    ) {
        // SAFETY: null, or the program's string.
        unsafe { text(name) }?;
        if start.is_null() && bytes.is_null() {
            return Err(Error::InvalidValue);
        }
        library::kernel_count(library)?;
        Err(Error::NotFound)
    }

    /// A function that host and device share: there are none.
    ready fn cuLibraryGetUnifiedFunction(
        function: *mut *mut c_void,
        library: CUlibrary,
        name: *const c_char,
    ) {
        // SAFETY: null, or the program's string.
        unsafe { text(name) }?;
        if function.is_null() {
            return Err(Error::InvalidValue);
        }
        library::kernel_count(library)?;
        Err(Error::NotFound)
    }

    /// The function that a kernel is in the current context.
    ready fn cuKernelGetFunction(function: *mut CUfunction, kernel: CUkernel) {
        if function.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = crate::api::function::find(handle_of(kernel)?)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(function, function_handle(&context, serial)) }
    }

    /// The library that a kernel is of.
    ready fn cuKernelGetLibrary(library: *mut CUlibrary, kernel: CUkernel) {
        if library.is_null() {
            return Err(Error::InvalidValue);
        }
        let view = library::view(kernel)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(library, view.library) }
    }

    /// A kernel's name; it can be read as long as the library is loaded.
    ready fn cuKernelGetName(name: *mut *const c_char, kernel: CUkernel) {
        if name.is_null() {
            return Err(Error::InvalidValue);
        }
        let view = library::view(kernel)?;
        // SAFETY: not null: the program's place for an address.
        unsafe { put(name, view.name) }
    }

    /// The value of a kernel's attribute.
    ready fn cuKernelGetAttribute(
        value: *mut c_int,
        attribute: c_int,
        kernel: CUkernel,
        device: CUdevice,
    ) {
        if value.is_null() {
            return Err(Error::InvalidValue);
        }
        device::check(device)?;
        let view = library::view(kernel)?;
        let found = view.attributes.value(&view.code, view.entry()?, attribute)?;
        // SAFETY: not null: the program's place for an `int`.
        unsafe { put(value, found) }
    }

    /// Sets a kernel's attribute in all contexts.
    ready fn cuKernelSetAttribute(
        attribute: c_int,
        value: c_int,
        kernel: CUkernel,
        device: CUdevice,
    ) {
        device::check(device)?;
        library::set_attribute(kernel, attribute, value)
    }

    /// A wish for the cache, which is checked and means nothing here.
    ready fn cuKernelSetCacheConfig(kernel: CUkernel, config: c_uint, device: CUdevice) {
        device::check(device)?;
        library::view(kernel)?;
        cache_config(config)
    }

    /// Where a kernel's parameter is in the parameter block, and how large.
    ready fn cuKernelGetParamInfo(
        kernel: CUkernel,
        index: usize,
        offset: *mut usize,
        size: *mut usize,
    ) {
        if offset.is_null() {
            return Err(Error::InvalidValue);
        }
        let view = library::view(kernel)?;
        let param = view.entry()?.params().get(index).ok_or(Error::InvalidValue)?;
        // SAFETY: null, or the program's place for a size.
        unsafe { put_wanted(size, param.size_bytes as usize) };
        // SAFETY: not null: the program's place for an offset.
        unsafe { put(offset, param.offset_bytes as usize) }
    }

    /// How many parameters a kernel has.
    ready fn cuKernelGetParamCount(kernel: CUkernel, count: *mut usize) {
        if count.is_null() {
            return Err(Error::InvalidValue);
        }
        let view = library::view(kernel)?;
        // SAFETY: not null: the program's place for a number.
        unsafe { put(count, view.entry()?.params().len()) }
    }
}

/// A kernel as a function, if there is such a kernel.
fn handle_of(kernel: CUkernel) -> Result<CUfunction, Error> {
    library::view(kernel)?;
    Ok(CUfunction(kernel.0))
}

/// Loads a library and reports as `jit` asks.
///
/// # Safety
///
/// `library` is good for a write, and `jit` was read by the same call.
unsafe fn load<'i>(
    library: *mut CUlibrary,
    jit: &Jit,
    image: impl FnOnce() -> Result<Image<'i>, Refusal>,
) -> Done {
    let begin = Instant::now();
    let loaded = jit.options.target().and_then(|()| library::load(image()?));
    // SAFETY: this function's own terms.
    unsafe { jit.report(begin, loaded.as_ref().err()) };
    let loaded = loaded.map_err(|refusal| refusal.error)?;
    // SAFETY: this function's own terms.
    unsafe { put(library, loaded) }
}

/// Refuses options of libraries that are none, or greater than `most`.
///
/// # Safety
///
/// `options` is null or has `count` entries.
unsafe fn check_options(options: *const c_uint, count: c_uint, most: c_uint) -> Done {
    for index in 0..count as usize {
        if options.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, and `index` is below the number of entries.
        match unsafe { options.add(index).read_unaligned() } {
            HOST_TABLE => return Err(Error::NotSupported),
            option if option > most => return Err(Error::InvalidValue),
            _ => {}
        }
    }
    Ok(())
}

/// `CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE`
const HOST_TABLE: c_uint = 0;
/// `CU_LIBRARY_BINARY_IS_PRESERVED`, which cannot be said of a file.
const PRESERVED: c_uint = 1;
