//! The linker: sources in, an image out that the loaders take.

use std::ffi::{OsStr, c_char, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Instant;

use crate::api::module::Jit;
use crate::call::{Done, api, put, put_wanted, text};
use crate::context::Context;
use crate::error::Error;
use crate::handle::{Handle, Kind};
use crate::image::{Image, Refusal};
use crate::link::Linker;
use crate::types::CUlinkState;

api! {
    /// Begins to link in the current context.
    ready fn cuLinkCreate_v2(
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
        state: *mut CUlinkState,
    ) {
        // SAFETY: the program's options, as many as it says.
        unsafe { create(count, options, values, state) }
    }

    /// As [`cuLinkCreate_v2`].
    ready fn cuLinkCreate(
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
        state: *mut CUlinkState,
    ) {
        // SAFETY: the program's options, as many as it says.
        unsafe { create(count, options, values, state) }
    }

    /// Takes in a source that lies in memory.
    ready fn cuLinkAddData_v2(
        state: CUlinkState,
        kind: c_uint,
        data: *mut c_void,
        bytes: usize,
        _name: *const c_char,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    ) {
        // SAFETY: the program's data and options, as much as it says.
        unsafe { add_data(state, kind, data, bytes, count, options, values) }
    }

    /// As [`cuLinkAddData_v2`].
    ready fn cuLinkAddData(
        state: CUlinkState,
        kind: c_uint,
        data: *mut c_void,
        bytes: usize,
        _name: *const c_char,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    ) {
        // SAFETY: the program's data and options, as much as it says.
        unsafe { add_data(state, kind, data, bytes, count, options, values) }
    }

    /// Takes in a source that lies in a file.
    ready fn cuLinkAddFile_v2(
        state: CUlinkState,
        kind: c_uint,
        path: *const c_char,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    ) {
        // SAFETY: the program's path and options, as many as it says.
        unsafe { add_file(state, kind, path, count, options, values) }
    }

    /// As [`cuLinkAddFile_v2`].
    ready fn cuLinkAddFile(
        state: CUlinkState,
        kind: c_uint,
        path: *const c_char,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    ) {
        // SAFETY: the program's path and options, as many as it says.
        unsafe { add_file(state, kind, path, count, options, values) }
    }

    /// Makes the image; it can be read until the linker is destroyed.
    ready fn cuLinkComplete(state: CUlinkState, image: *mut *mut c_void, bytes: *mut usize) {
        if image.is_null() {
            return Err(Error::InvalidValue);
        }
        let (start, length) = work(state, |link| {
            if link.bytes.is_empty() {
                link.bytes = link.linker.complete()?.to_bytes();
            }
            Ok((link.bytes.as_mut_ptr(), link.bytes.len()))
        })?;
        // SAFETY: not null: the program's place for an address.
        unsafe { put(image, start.cast()) }?;
        // SAFETY: null, or the program's place for a size.
        unsafe { put_wanted(bytes, length) };
        Ok(())
    }

    /// Gives up a linker and its image.
    ready fn cuLinkDestroy(state: CUlinkState) {
        let (context, serial) = find(state)?;
        let link = context.state().links.remove(serial);
        link.map(|_| ()).ok_or(Error::InvalidHandle)
    }
}

/// A linker with what the program gave for its lifetime.
#[derive(Debug)]
pub(crate) struct Link {
    linker: Linker,
    jit: Jit,
    /// All messages so far.
    log: String,
    /// The image as the program sees it; empty until it is made.
    bytes: Vec<u8>,
}

/// Begins to link.
///
/// # Safety
///
/// `options` and `values` are null or have `count` entries, which stay as long as the linker; `state` is null or good for a write.
unsafe fn create(
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
    state: *mut CUlinkState,
) -> Done {
    // SAFETY: this function's own terms.
    let jit = unsafe { Jit::read(count, options, values) }?;
    if state.is_null() {
        return Err(Error::InvalidValue);
    }
    let context = Context::working()?;
    let link = Link {
        linker: Linker::default(),
        jit,
        log: String::new(),
        bytes: Vec::new(),
    };
    let serial = context.open()?.links.insert(link);
    let handle = Handle {
        context: context.serial,
        serial: serial.ok_or(Error::OutOfMemory)?,
    };
    // SAFETY: not null: the program's place for a handle.
    unsafe { put(state, CUlinkState(handle.bits(Kind::Link))) }
}

/// Takes in what lies at `data`.
///
/// # Safety
///
/// `data` is null or has `bytes` bytes; the options are as for [`create`].
unsafe fn add_data(
    state: CUlinkState,
    kind: c_uint,
    data: *mut c_void,
    bytes: usize,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> Done {
    // SAFETY: this function's own terms.
    unsafe { Jit::read(count, options, values) }?;
    if data.is_null() || bytes == 0 || isize::try_from(bytes).is_err() {
        return Err(Error::InvalidValue);
    }
    check_kind(kind)?;
    find(state)?;
    // SAFETY: not null, and as long as the program says, which is no more than memory can be.
    let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) };
    work(state, |link| link.linker.add(image(kind, data)?))
}

/// Takes in what lies in a file.
///
/// # Safety
///
/// `path` is null or a string; the options are as for [`create`].
unsafe fn add_file(
    state: CUlinkState,
    kind: c_uint,
    path: *const c_char,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> Done {
    // SAFETY: this function's own terms.
    unsafe { Jit::read(count, options, values) }?;
    // SAFETY: null, or the program's path, a string.
    let path = unsafe { text(path) }?;
    check_kind(kind)?;
    find(state)?;
    let data = std::fs::read(OsStr::from_bytes(path)).map_err(|_| Error::FileNotFound)?;
    work(state, |link| link.linker.add(image(kind, &data)?))
}

/// Does something with a linker, notes what goes wrong, and shows the program its log.
fn work<R>(
    state: CUlinkState,
    work: impl FnOnce(&mut Link) -> Result<R, Refusal>,
) -> Result<R, Error> {
    let (context, serial) = find(state)?;
    let mut state = context.open()?;
    let link = state.links.entry_mut(serial).ok_or(Error::InvalidHandle)?;
    let begin = Instant::now();
    let done = link.jit.options.target().and_then(|()| work(link));
    if let Err(refusal) = &done {
        if !link.log.is_empty() {
            link.log.push('\n');
        }
        link.log.push_str(&refusal.log);
    }
    let told = Refusal {
        error: Error::Unknown,
        log: link.log.clone(),
    };
    // SAFETY: the options and buffers stay as long as the linker, which is the program's promise.
    unsafe { link.jit.report(begin, Some(&told)) };
    done.map_err(|refusal| refusal.error)
}

/// The context of a linker, and its number.
fn find(state: CUlinkState) -> Result<(Arc<Context>, u32), Error> {
    let handle = Handle::parse(state.0, Kind::Link).ok_or(Error::InvalidHandle)?;
    let context = Context::numbered(handle.context).ok_or(Error::InvalidHandle)?;
    if context.state().links.entry(handle.serial).is_none() {
        return Err(Error::InvalidHandle);
    }
    Ok((context, handle.serial))
}

fn check_kind(kind: c_uint) -> Done {
    match kind {
        CUBIN..=LIBRARY => Ok(()),
        NVVM => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

/// The image in data of a kind.
fn image(kind: c_uint, data: &[u8]) -> Result<Image<'_>, Refusal> {
    if kind == PTX {
        let end = data.iter().position(|byte| *byte == 0);
        let text = data.get(..end.unwrap_or(data.len())).unwrap_or(data);
        return Image::of_text(text);
    }
    if Image::is_linked(data) {
        return Image::of_linked(data);
    }
    Err(Refusal::plain(
        Error::InvalidImage,
        "machine code cannot be linked here: this device takes PTX",
    ))
}

/// `CU_JIT_INPUT_CUBIN`
const CUBIN: c_uint = 0;
/// `CU_JIT_INPUT_PTX`
const PTX: c_uint = 1;
/// `CU_JIT_INPUT_LIBRARY`
const LIBRARY: c_uint = 4;
/// `CU_JIT_INPUT_NVVM`
const NVVM: c_uint = 5;
