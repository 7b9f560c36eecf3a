//! Modules: loading code into the current context, and what is in it.

use std::ffi::{CString, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use crate::call::{Done, api, put, put_wanted, take, text};
use crate::context::Context;
use crate::error::Error;
use crate::handle::{Handle, Kind};
use crate::image::{HEADER_BYTES, Image, Refusal};
use crate::jit::{Log, Options};
use crate::module::{self, Prepared, function_handle};
use crate::queue::{Until, finish};
use crate::types::{CUdeviceptr, CUfunction, CUmodule};

api! {
    /// Loads a module from a file.
    ready fn cuModuleLoad(module: *mut CUmodule, path: *const c_char) {
        if module.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: null, or the program's path, a string.
        let path = unsafe { text(path) }?;
        let context = Context::working()?;
        let image = image_of_file(path).map_err(|refusal| refusal.error)?;
        let prepared = Prepared::of(&image).map_err(|refusal| refusal.error)?;
        let loaded = module::load(&context, prepared, None)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(module, loaded) }
    }

    /// Loads a module from PTX text or an image of the linker.
    ready fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) {
        // SAFETY: the program's place for a handle, and its image.
        unsafe { load(module, image, &mut Jit::default()) }
    }

    /// Loads a module from PTX text or an image of the linker, with options for the compiler.
    ready fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    ) {
        // SAFETY: the program's options, as many as it says.
        let mut jit = unsafe { Jit::read(count, options, values) }?;
        // SAFETY: the program's place for a handle, and its image.
        unsafe { load(module, image, &mut jit) }
    }

    /// Loads a module from a fat binary; machine code is refused, and text taken.
    ready fn cuModuleLoadFatBinary(module: *mut CUmodule, image: *const c_void) {
        // SAFETY: the program's place for a handle, and its image.
        unsafe { load(module, image, &mut Jit::default()) }
    }

    /// Unloads a module when the work before is done.
    ready fn cuModuleUnload(module: CUmodule) {
        let (context, serial) = find(module)?;
        context.open()?.modules.module(serial)?.unloadable()?;
        finish(&context, Until::Empty)?;
        module::unload(&mut *context.open()?, serial)
    }

    /// Whether functions are loaded when they are first asked for: they are there at once.
    ready fn cuModuleGetLoadingMode(mode: *mut c_int) {
        // SAFETY: null, or the program's place for the mode.
        unsafe { put(mode, EAGER_LOADING) }
    }

    /// The function of this name.
    ready fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) {
        // SAFETY: null, or the program's string.
        let name = unsafe { text(name) }?;
        if function.is_null() || name.is_empty() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(module)?;
        let number = context.open()?.modules.find(serial, name)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(function, function_handle(&context, number)) }
    }

    /// How many functions a module has.
    ready fn cuModuleGetFunctionCount(count: *mut c_uint, module: CUmodule) {
        if count.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(module)?;
        let found = context.open()?.modules.module(serial)?.kernel_count();
        let found = c_uint::try_from(found).map_err(|_| Error::Unknown)?;
        // SAFETY: not null: the program's place for a number.
        unsafe { put(count, found) }
    }

    /// A module's functions, as many as there is room for.
    ready fn cuModuleEnumerateFunctions(functions: *mut CUfunction, room: c_uint, module: CUmodule) {
        if functions.is_null() || room == 0 {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(module)?;
        let numbers = context.open()?.modules.all(serial, room as usize)?;
        for (index, number) in numbers.into_iter().enumerate() {
            // SAFETY: not null, and there is room for more than `index` handles.
            unsafe { functions.add(index).write_unaligned(function_handle(&context, number)) };
        }
        Ok(())
    }

    /// Where a module's variable is, and how large.
    ready fn cuModuleGetGlobal_v2(
        start: *mut CUdeviceptr,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char,
    ) {
        // SAFETY: null, or the program's string.
        let name = unsafe { text(name) }?;
        if start.is_null() && bytes.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, serial) = find(module)?;
        let (address, size) = context.open()?.modules.variable(serial, name)?;
        // SAFETY: null, or the program's place for an address.
        unsafe { put_wanted(start, address) };
        // SAFETY: null, or the program's place for a size.
        unsafe { put_wanted(bytes, usize::try_from(size).map_err(|_| Error::Unknown)?) };
        Ok(())
    }
}

/// The context of a module and the module's number; whether it is loaded still is not looked at.
///
/// # Errors
///
/// It is no module, or one of a context that is gone or has failed.
pub(crate) fn find(module: CUmodule) -> Result<(std::sync::Arc<Context>, u32), Error> {
    let handle = Handle::parse(module.0, Kind::Module).ok_or(Error::InvalidHandle)?;
    let context = Context::numbered(handle.context).ok_or(Error::InvalidHandle)?;
    context.open()?.modules.module(handle.serial)?;
    Ok((context, handle.serial))
}

/// The image in a file.
///
/// # Errors
///
/// The file cannot be read, or is none that can be loaded.
pub(crate) fn image_of_file(path: &[u8]) -> Result<Image<'static>, Refusal> {
    let mut bytes = std::fs::read(OsStr::from_bytes(path)).map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::OutOfMemory => Error::OutOfMemory,
            _ => Error::FileNotFound,
        };
        Refusal::plain(code, &format!("the file cannot be read: {error}"))
    })?;
    if Image::is_linked(&bytes) {
        return Image::of_linked(&bytes).map(Image::into_owned);
    }
    // Text in memory ends at its first zero, and so it does here.
    if let Some(end) = bytes.iter().position(|byte| *byte == 0)
        && bytes.first() != Some(&0x7F)
    {
        bytes.truncate(end);
    }
    Image::of_text(&bytes).map(Image::into_owned)
}

/// The image at `image`.
///
/// # Errors
///
/// It is null, or none that can be loaded.
///
/// # Safety
///
/// `image` is null, or points to a string with an end or to an image that says its own length, which stays as it is while the
/// result is used.
pub(crate) unsafe fn image_at<'i>(image: *const c_void) -> Result<Image<'i>, Refusal> {
    // SAFETY: null, or a string or image: at least one byte either way.
    let first = unsafe { take(image.cast::<u8>()) };
    let first = first.map_err(|error| Refusal::plain(error, "there is no image"))?;
    let mut header = [0; HEADER_BYTES];
    let mut known = 0;
    let mut next = first;
    // Byte by byte, since what only begins like an image may end at any zero.
    while let Some(byte) = header.get_mut(known) {
        *byte = next;
        known = known.saturating_add(1);
        if known == HEADER_BYTES || (next == 0 && !Image::is_linked(&header)) {
            break;
        }
        // SAFETY: no end of a string has been seen up to here, or else the magic of an image, whose header is longer.
        next = unsafe { image.cast::<u8>().add(known).read() };
    }
    if let Some(bytes) = Image::linked_bytes(&header) {
        // SAFETY: the linker's own image, whose header, with its sum, says that it has so many bytes.
        return Image::of_linked(unsafe { std::slice::from_raw_parts(image.cast(), bytes) });
    }
    if matches!(first, b'\t'..=b'~') {
        // SAFETY: no image of the linker and text at its start: a string with an end, by this function's own terms.
        return Image::of_text(unsafe { std::ffi::CStr::from_ptr(image.cast()) }.to_bytes());
    }
    // Machine code and the like is told by its start; how long it is does not matter.
    Image::of_text(header.get(..known).unwrap_or_default()).map(Image::into_owned)
}

/// Loads what is at `image` and reports as `jit` asks.
///
/// # Safety
///
/// `module` is null or good for a write; `image` is as [`image_at`] wants it.
unsafe fn load(module: *mut CUmodule, image: *const c_void, jit: &mut Jit) -> Done {
    if module.is_null() || image.is_null() {
        return Err(Error::InvalidValue);
    }
    let context = Context::working()?;
    let begin = Instant::now();
    let prepared = jit.options.target().and_then(|()| {
        // SAFETY: this function's own terms.
        let image = unsafe { image_at(image) }?;
        Prepared::of(&image)
    });
    // SAFETY: the options are those that `jit` was read from, by the same call.
    unsafe { jit.report(begin, prepared.as_ref().err()) };
    let loaded = module::load(&context, prepared.map_err(|refusal| refusal.error)?, None)?;
    // SAFETY: not null: the program's place for a handle.
    unsafe { put(module, loaded) }
}

/// The options of a call, and where answers to them go.
#[derive(Debug, Default)]
pub(crate) struct Jit {
    pub(crate) options: Options,
    /// Where the options' values are.
    values: usize,
}

impl Jit {
    /// Reads a call's options.
    ///
    /// # Errors
    ///
    /// Those of [`Options::parse`], and null pointers where there are options.
    ///
    /// # Safety
    ///
    /// `options` and `values` are null or have `count` entries.
    pub(crate) unsafe fn read(
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) -> Result<Self, Error> {
        if count == 0 {
            return Ok(Self::default());
        }
        if options.is_null() || values.is_null() {
            return Err(Error::InvalidValue);
        }
        let mut read = Vec::new();
        for index in 0..count as usize {
            // SAFETY: not null, and `index` is below the number of entries.
            let number = unsafe { options.add(index).read_unaligned() };
            // SAFETY: the same for the values.
            let value = unsafe { values.add(index).read_unaligned() };
            read.push((number, value.addr()));
            if read.len() > MOST_OPTIONS {
                return Err(Error::InvalidValue);
            }
        }
        Ok(Self {
            options: Options::parse(&read)?,
            values: values.expose_provenance(),
        })
    }

    /// Fills the logs and the time.
    ///
    /// # Safety
    ///
    /// The values are still where they were read, and the buffers that they name are as large as they say.
    pub(crate) unsafe fn report(&self, begin: Instant, refusal: Option<&Refusal>) {
        let values: *mut *mut c_void = std::ptr::with_exposed_provenance_mut(self.values);
        if let Some(index) = self.options.wall_time {
            let milliseconds = begin.elapsed().as_secs_f32() * 1000.0;
            // SAFETY: the word of the option, which the program passed and wants a float in.
            unsafe {
                values
                    .add(index)
                    .cast::<f32>()
                    .write_unaligned(milliseconds)
            };
        }
        let message = refusal.map_or("", |refusal| &refusal.log);
        for (log, message) in [(self.options.info, ""), (self.options.error, message)] {
            // SAFETY: this function's own terms.
            let written = unsafe { fill(log, message) };
            if let Some(index) = log.size_option {
                let word = std::ptr::without_provenance_mut(written);
                // SAFETY: the word of the option, which the program passed and wants the size in.
                unsafe { values.add(index).write_unaligned(word) };
            }
        }
    }
}

/// Writes a message as far as it fits, with its end; how many bytes it has there.
///
/// # Safety
///
/// The log's buffer is null or has as many bytes as it says.
unsafe fn fill(log: Log, message: &str) -> usize {
    if log.address == 0 || log.size_bytes == 0 {
        return 0;
    }
    let text = CString::new(log.fitting(message)).unwrap_or_default();
    let bytes = text.as_bytes_with_nul();
    let buffer: *mut u8 = std::ptr::with_exposed_provenance_mut(log.address);
    // SAFETY: the buffer has `size_bytes` bytes, and the message with its end no more.
    unsafe { buffer.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    text.as_bytes().len()
}

/// `CU_MODULE_EAGER_LOADING`
const EAGER_LOADING: c_int = 1;
/// More options than this no call has; some may come twice.
const MOST_OPTIONS: usize = 256;
