//! Libraries: code that belongs to no context, and is loaded into each when it is first needed there.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::attribute::Attributes;
use crate::context::Context;
use crate::error::Error;
use crate::handle::{Handle, Kind, Table};
use crate::image::{Image, Refusal};
use crate::module::{self, Prepared};
use crate::queue::{Until, finish};
use crate::types::{CUkernel, CUlibrary};

/// Loads a library: its code is compiled, so that what is wrong with it is told now.
///
/// # Errors
///
/// The image is refused.
pub(crate) fn load(image: Image<'_>) -> Result<CUlibrary, Refusal> {
    let code = Prepared::of(&image)?.into_code();
    let library = Library {
        image: Arc::new(image.into_owned()),
        code,
        kernels: BTreeMap::new(),
        modules: BTreeMap::new(),
    };
    let serial = lock().libraries.insert(library);
    let serial = serial.ok_or_else(|| Refusal::plain(Error::OutOfMemory, "too many libraries"))?;
    Ok(CUlibrary(number(serial, Kind::Library)))
}

/// Unloads a library from all contexts when their work is done.
///
/// # Errors
///
/// There is no such library.
pub(crate) fn unload(library: CUlibrary) -> Result<(), Error> {
    let serial = serial(library)?;
    let modules = {
        let mut libraries = lock();
        let library = libraries.libraries.remove(serial);
        let library = library.ok_or(Error::InvalidHandle)?;
        for kernel in library.kernels.values() {
            libraries.kernels.remove(*kernel);
        }
        library.modules
    };
    for (context, module) in modules {
        let Some(context) = Context::numbered(context) else {
            continue;
        };
        // A context that has failed takes the module with it.
        let _ = finish(&context, Until::Empty);
        let _ = module::unload(&mut context.state(), module);
    }
    Ok(())
}

/// The kernel of this name.
///
/// # Errors
///
/// There is no such library, or no such kernel in it.
pub(crate) fn kernel(library: CUlibrary, name: &[u8]) -> Result<CUkernel, Error> {
    let serial = serial(library)?;
    let mut libraries = lock();
    let code = &libraries.library(serial)?.code;
    let place = entries(code).position(|entry| entry.name().as_bytes() == name);
    libraries.numbered(serial, place.ok_or(Error::NotFound)?)
}

/// How many kernels a library has.
///
/// # Errors
///
/// There is no such library.
pub(crate) fn kernel_count(library: CUlibrary) -> Result<usize, Error> {
    let serial = serial(library)?;
    Ok(entries(&lock().library(serial)?.code).count())
}

/// A library's kernels, `most` of them at most.
///
/// # Errors
///
/// There is no such library.
pub(crate) fn kernels(library: CUlibrary, most: usize) -> Result<Vec<CUkernel>, Error> {
    let serial = serial(library)?;
    let mut libraries = lock();
    let count = entries(&libraries.library(serial)?.code).count();
    (0..count.min(most))
        .map(|place| libraries.numbered(serial, place))
        .collect()
}

/// The number of the module that a library is in a context.
///
/// # Errors
///
/// There is no such library, the context has failed, or has no memory for its variables.
pub(crate) fn module(context: &Context, library: CUlibrary) -> Result<u32, Error> {
    module_of(context, serial(library)?)
}

fn module_of(context: &Context, library: u32) -> Result<u32, Error> {
    let image = {
        let libraries = lock();
        let library = libraries.library(library)?;
        if let Some(module) = library.modules.get(&context.serial) {
            return Ok(*module);
        }
        Arc::clone(&library.image)
    };
    let prepared = Prepared::of(&image).map_err(|refusal| refusal.error)?;
    let loaded = module::load(context, prepared, Some(library))?;
    let loaded = Handle::parse(loaded.0, Kind::Module).ok_or(Error::Unknown)?;
    let kept = {
        let mut libraries = lock();
        let entry = libraries.libraries.entry_mut(library);
        entry.map(|library| {
            *library
                .modules
                .entry(context.serial)
                .or_insert(loaded.serial)
        })
    };
    if kept != Some(loaded.serial) {
        // Another thread was faster, or has unloaded the library.
        module::unload(&mut context.state(), loaded.serial)?;
    }
    kept.ok_or(Error::InvalidHandle)
}

/// The number of the function that a library's kernel is in a context.
///
/// # Errors
///
/// There is no such kernel, and those of [`module`].
pub(crate) fn function(context: &Context, kernel: u32) -> Result<u32, Error> {
    let (library, name, attributes) = {
        let libraries = lock();
        let kernel = libraries.kernel(kernel)?;
        (kernel.library, kernel.name.clone(), kernel.attributes)
    };
    let module = module_of(context, library)?;
    let mut state = context.open()?;
    let function = state.modules.find(module, name.as_bytes())?;
    state.modules.set_of_kernel(function, attributes);
    Ok(function)
}

/// A library's kernel as it can be asked about without a context.
#[derive(Clone, Debug)]
pub(crate) struct KernelView {
    pub(crate) code: Arc<soft_gpu::Module>,
    pub(crate) attributes: Attributes,
    pub(crate) library: CUlibrary,
    /// Where the program can read the name while the library is loaded.
    pub(crate) name: *const std::ffi::c_char,
    entry: usize,
}

impl KernelView {
    pub(crate) fn entry(&self) -> Result<&soft_gpu::Entry, Error> {
        self.code.entries().nth(self.entry).ok_or(Error::Unknown)
    }
}

/// The kernel with this handle.
///
/// # Errors
///
/// There is no such kernel.
pub(crate) fn view(kernel: CUkernel) -> Result<KernelView, Error> {
    let handle = Handle::parse_unowned(kernel.0, Kind::Kernel).ok_or(Error::InvalidHandle)?;
    let libraries = lock();
    let kernel = libraries.kernel(handle.serial)?;
    let mut place = kernel.place;
    for code in &libraries.library(kernel.library)?.code {
        let count = code.entries().count();
        if let Some(later) = place.checked_sub(count) {
            place = later;
            continue;
        }
        return Ok(KernelView {
            code: Arc::clone(code),
            attributes: kernel.attributes,
            library: CUlibrary(number(kernel.library, Kind::Library)),
            name: kernel.name.as_ptr(),
            entry: place,
        });
    }
    Err(Error::Unknown)
}

/// Sets an attribute of a kernel, for all contexts.
///
/// # Errors
///
/// There is no such kernel, and those of [`Attributes::set`].
pub(crate) fn set_attribute(kernel: CUkernel, attribute: i32, value: i32) -> Result<(), Error> {
    let view = view(kernel)?;
    let handle = Handle::parse_unowned(kernel.0, Kind::Kernel).ok_or(Error::InvalidHandle)?;
    let (attributes, modules, name) = {
        let mut libraries = lock();
        let entry = libraries.kernels.entry_mut(handle.serial);
        let kernel = entry.ok_or(Error::InvalidHandle)?;
        kernel.attributes.set(view.entry()?, attribute, value)?;
        let (attributes, library, name) = (kernel.attributes, kernel.library, kernel.name.clone());
        let modules = libraries.library(library)?.modules.clone();
        (attributes, modules, name)
    };
    for (context, module) in modules {
        if let Some(context) = Context::numbered(context) {
            let mut state = context.state();
            if let Ok(function) = state.modules.find(module, name.as_bytes()) {
                state.modules.set_of_kernel(function, attributes);
            }
        }
    }
    Ok(())
}

/// How many libraries are loaded.
pub(crate) fn count() -> usize {
    lock().libraries.len()
}

/// A loaded library.
#[derive(Debug)]
struct Library {
    image: Arc<Image<'static>>,
    /// Compiled once more than for the contexts, to ask about kernels.
    code: Vec<Arc<soft_gpu::Module>>,
    /// The kernels that have handles, by place.
    kernels: BTreeMap<usize, u32>,
    /// The module that it is in each context, both by number.
    modules: BTreeMap<u32, u32>,
}

/// A kernel that has a handle.
#[derive(Debug)]
struct LibraryKernel {
    library: u32,
    /// Which one of the library's it is.
    place: usize,
    name: CString,
    attributes: Attributes,
}

#[derive(Debug)]
struct Libraries {
    libraries: Table<Library>,
    kernels: Table<LibraryKernel>,
}

impl Libraries {
    fn library(&self, serial: u32) -> Result<&Library, Error> {
        self.libraries.entry(serial).ok_or(Error::InvalidHandle)
    }

    fn kernel(&self, serial: u32) -> Result<&LibraryKernel, Error> {
        self.kernels.entry(serial).ok_or(Error::InvalidHandle)
    }

    fn numbered(&mut self, serial: u32, place: usize) -> Result<CUkernel, Error> {
        let library = self.libraries.entry_mut(serial);
        let library = library.ok_or(Error::InvalidHandle)?;
        if let Some(known) = library.kernels.get(&place) {
            return Ok(CUkernel(number(*known, Kind::Kernel)));
        }
        let entry = entries(&library.code).nth(place).ok_or(Error::Unknown)?;
        let kernel = LibraryKernel {
            library: serial,
            place,
            name: CString::new(entry.name()).map_err(|_| Error::Unknown)?,
            attributes: Attributes::default(),
        };
        let kernel = self.kernels.insert(kernel).ok_or(Error::OutOfMemory)?;
        library.kernels.insert(place, kernel);
        Ok(CUkernel(number(kernel, Kind::Kernel)))
    }
}

fn entries(code: &[Arc<soft_gpu::Module>]) -> impl Iterator<Item = &soft_gpu::Entry> {
    code.iter().flat_map(|code| code.entries())
}

fn serial(library: CUlibrary) -> Result<u32, Error> {
    let handle = Handle::parse_unowned(library.0, Kind::Library).ok_or(Error::InvalidHandle)?;
    if lock().libraries.entry(handle.serial).is_none() {
        return Err(Error::InvalidHandle);
    }
    Ok(handle.serial)
}

fn number(serial: u32, kind: Kind) -> usize {
    Handle { context: 0, serial }.bits(kind)
}

fn lock() -> MutexGuard<'static, Libraries> {
    LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

static LIBRARIES: Mutex<Libraries> = Mutex::new(Libraries {
    libraries: Table::new(),
    kernels: Table::new(),
});
