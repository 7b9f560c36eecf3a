//! Modules of a context: their code, their variables, and handles of their kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use crate::attribute::Attributes;
use crate::context::{Context, State};
use crate::error::Error;
use crate::handle::{Handle, Kind, Table};
use crate::image::{Image, Refusal};
use crate::memory::space::VARIABLES;
use crate::types::{CUfunction, CUmodule};

/// The modules of a context and the functions that programs have asked for.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    modules: Table<Module>,
    functions: Table<Function>,
}

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) parts: Vec<Part>,
    /// The functions that have handles, by part and place in it.
    functions: BTreeMap<(usize, usize), u32>,
    /// The library that it was loaded for and goes with.
    library: Option<u32>,
}

impl Module {
    /// Refuses to unload what belongs to a library.
    pub(crate) fn unloadable(&self) -> Result<(), Error> {
        match self.library {
            Some(_) => Err(Error::NotPermitted),
            None => Ok(()),
        }
    }

    pub(crate) fn kernel_count(&self) -> usize {
        let parts = self.parts.iter();
        parts.map(|part| part.code.entries().count()).sum()
    }
}

/// One source of a module.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) code: Arc<soft_gpu::Module>,
    /// Constants as kernels see them, the heap, and what was printed.
    pub(crate) globals: soft_gpu::Globals,
    place: Place,
}

/// A kernel that has a handle.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: u32,
    part: usize,
    entry: usize,
    /// What was set for it.
    pub(crate) attributes: Attributes,
    /// What was set for the library's kernel that it is of.
    of_kernel: Attributes,
    /// The kernel's name, for programs to read while the module is loaded.
    pub(crate) name: std::ffi::CString,
}

/// A kernel, found.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) module: u32,
    pub(crate) part: usize,
    pub(crate) code: Arc<soft_gpu::Module>,
    entry: usize,
    /// What was set for it and its kernel.
    pub(crate) attributes: Attributes,
}

impl Kernel {
    pub(crate) fn entry(&self) -> Result<&soft_gpu::Entry, Error> {
        self.code.entries().nth(self.entry).ok_or(Error::Unknown)
    }
}

/// What to load and where: everything that takes long, done before the context is touched.
#[derive(Debug)]
pub(crate) struct Prepared {
    parts: Vec<(soft_gpu::Module, Place)>,
}

impl Prepared {
    /// Compiles the sources of an image.
    ///
    /// # Errors
    ///
    /// The first source that is refused, or a name that two of them define.
    pub(crate) fn of(image: &Image<'_>) -> Result<Self, Refusal> {
        let mut parts = Vec::new();
        for source in &image.sources {
            let place = Place::take()
                .ok_or_else(|| Refusal::plain(Error::OutOfMemory, "too many modules are loaded"))?;
            let code = soft_gpu::Module::load_at(source, place.variables())
                .map_err(|error| Refusal::of(&error))?;
            parts.push((code, place));
        }
        let prepared = Self { parts };
        prepared.unique()?;
        Ok(prepared)
    }

    fn unique(&self) -> Result<(), Refusal> {
        if self.parts.len() < 2 {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        for (code, _) in &self.parts {
            for entry in code.entries() {
                if !seen.insert(entry.name()) {
                    let message = format!("Multiple definition of '{}'", entry.name());
                    return Err(Refusal::plain(Error::InvalidPtx, &message));
                }
            }
        }
        Ok(())
    }

    /// The code alone, to ask about kernels.
    pub(crate) fn into_code(self) -> Vec<Arc<soft_gpu::Module>> {
        let parts = self.parts.into_iter();
        parts.map(|(code, _)| Arc::new(code)).collect()
    }
}

/// Puts a module into a context.
///
/// # Errors
///
/// There is no memory for its variables.
pub(crate) fn load(
    context: &Context,
    prepared: Prepared,
    library: Option<u32>,
) -> Result<CUmodule, Error> {
    let mut state = context.open()?;
    let state = &mut *state;
    let mut parts = Vec::new();
    for (code, place) in prepared.parts {
        let globals = code.globals();
        let images = [
            (place.variables(), code.global_image()),
            (place.constants(), globals.constants().to_vec()),
        ];
        parts.push(Part {
            code: Arc::new(code),
            globals,
            place,
        });
        for (start, image) in images {
            if let Err(error) = state.memory.place(context.serial, start, image) {
                withdraw(state, &parts);
                return Err(error);
            }
        }
    }
    let module = Module {
        parts,
        functions: BTreeMap::new(),
        library,
    };
    let serial = state.modules.modules.insert(module);
    let serial = serial.ok_or(Error::OutOfMemory)?;
    Ok(handle(context, serial))
}

/// Takes a module out of a context, and its functions with it.
///
/// # Errors
///
/// There is no such module.
pub(crate) fn unload(state: &mut State, serial: u32) -> Result<(), Error> {
    let module = state.modules.modules.remove(serial);
    let module = module.ok_or(Error::InvalidHandle)?;
    for function in module.functions.values() {
        state.modules.functions.remove(*function);
    }
    withdraw(state, &module.parts);
    Ok(())
}

fn withdraw(state: &mut State, parts: &[Part]) {
    for part in parts {
        state.memory.free(part.place.variables());
        state.memory.free(part.place.constants());
    }
}

/// The handle of a context's module.
pub(crate) fn handle(context: &Context, serial: u32) -> CUmodule {
    let handle = Handle {
        context: context.serial,
        serial,
    };
    CUmodule(handle.bits(Kind::Module))
}

/// The handle of a context's function.
pub(crate) fn function_handle(context: &Context, serial: u32) -> CUfunction {
    let handle = Handle {
        context: context.serial,
        serial,
    };
    CUfunction(handle.bits(Kind::Function))
}

impl Modules {
    pub(crate) fn module(&self, serial: u32) -> Result<&Module, Error> {
        self.modules.entry(serial).ok_or(Error::InvalidHandle)
    }

    pub(crate) fn module_mut(&mut self, serial: u32) -> Result<&mut Module, Error> {
        self.modules.entry_mut(serial).ok_or(Error::InvalidHandle)
    }

    pub(crate) fn function(&self, serial: u32) -> Result<&Function, Error> {
        self.functions.entry(serial).ok_or(Error::InvalidHandle)
    }

    pub(crate) fn function_mut(&mut self, serial: u32) -> Result<&mut Function, Error> {
        self.functions.entry_mut(serial).ok_or(Error::InvalidHandle)
    }

    /// How many modules programs have loaded themselves.
    pub(crate) fn loaded(&self) -> usize {
        let modules = self.modules.iter();
        modules
            .filter(|(_, module)| module.library.is_none())
            .count()
    }

    /// The kernel that a function's number stands for.
    pub(crate) fn kernel(&self, serial: u32) -> Result<Kernel, Error> {
        let function = self.function(serial)?;
        let module = self.module(function.module)?;
        let part = module.parts.get(function.part).ok_or(Error::Unknown)?;
        Ok(Kernel {
            module: function.module,
            part: function.part,
            code: Arc::clone(&part.code),
            entry: function.entry,
            attributes: function.attributes.over(function.of_kernel),
        })
    }

    /// The number of a module's kernel of this name, the same each time.
    pub(crate) fn find(&mut self, module: u32, name: &[u8]) -> Result<u32, Error> {
        let parts = &self.module(module)?.parts;
        let found = parts.iter().enumerate().find_map(|(part, this)| {
            let mut entries = this.code.entries();
            let entry = entries.position(|entry| entry.name().as_bytes() == name)?;
            Some((part, entry))
        });
        let (part, entry) = found.ok_or(Error::NotFound)?;
        self.numbered(module, part, entry)
    }

    /// Sets what holds for the library's kernel that a function is of.
    pub(crate) fn set_of_kernel(&mut self, function: u32, attributes: Attributes) {
        if let Some(function) = self.functions.entry_mut(function) {
            function.of_kernel = attributes;
        }
    }

    /// The numbers of a module's kernels, in the order of the sources, `most` of them at most.
    pub(crate) fn all(&mut self, module: u32, most: usize) -> Result<Vec<u32>, Error> {
        let parts = self.module(module)?.parts.iter().enumerate();
        let places: Vec<(usize, usize)> = parts
            .flat_map(|(part, this)| (0..this.code.entries().count()).map(move |at| (part, at)))
            .take(most)
            .collect();
        places
            .into_iter()
            .map(|(part, entry)| self.numbered(module, part, entry))
            .collect()
    }

    fn numbered(&mut self, serial: u32, part: usize, entry: usize) -> Result<u32, Error> {
        let module = self.modules.entry_mut(serial).ok_or(Error::InvalidHandle)?;
        if let Some(known) = module.functions.get(&(part, entry)) {
            return Ok(*known);
        }
        let code = &module.parts.get(part).ok_or(Error::Unknown)?.code;
        let kernel = code.entries().nth(entry).ok_or(Error::Unknown)?;
        let function = Function {
            module: serial,
            part,
            entry,
            attributes: Attributes::default(),
            of_kernel: Attributes::default(),
            name: std::ffi::CString::new(kernel.name()).map_err(|_| Error::Unknown)?,
        };
        let number = self.functions.insert(function).ok_or(Error::OutOfMemory)?;
        module.functions.insert((part, entry), number);
        Ok(number)
    }

    /// Where a module's variable is, and its bytes.
    pub(crate) fn variable(&self, module: u32, name: &[u8]) -> Result<(u64, u64), Error> {
        let parts = self.module(module)?.parts.iter();
        parts
            .flat_map(|part| part.code.variables().map(move |variable| (part, variable)))
            .find(|(_, variable)| variable.name.as_bytes() == name)
            .map(|(part, variable)| {
                let start = variable.address.unwrap_or_else(|| {
                    let offset = u64::from(variable.offset_bytes);
                    part.place.constants().saturating_add(offset)
                });
                (start, u64::from(variable.size_bytes))
            })
            .ok_or(Error::NotFound)
    }
}

impl Part {
    /// Where a program's copies of constants go.
    pub(crate) fn constants_start(&self) -> u64 {
        self.place.constants()
    }
}

/// A stretch of addresses that no other module has; given back when dropped.
#[derive(Debug)]
struct Place(u64);

impl Place {
    fn take() -> Option<Self> {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, taken) = &mut *places;
        for _ in 0..PLACE_COUNT {
            let this = *next;
            *next = this.wrapping_add(1) % PLACE_COUNT;
            if taken.insert(this) {
                return Some(Self(this));
            }
        }
        None
    }

    fn variables(&self) -> u64 {
        VARIABLES
            .start
            .saturating_add(self.0.saturating_mul(PLACE_BYTES))
    }

    fn constants(&self) -> u64 {
        self.variables().saturating_add(PLACE_BYTES / 2)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        places.1.remove(&self.0);
    }
}

/// The place to try next, and those taken.
static PLACES: Mutex<(u64, BTreeSet<u64>)> = Mutex::new((0, BTreeSet::new()));

/// Variables take 16 MiB at most and constants 64 KiB; each start in one half.
const PLACE_BYTES: u64 = 64 << 20;
const PLACE_COUNT: u64 = (VARIABLES.end - VARIABLES.start) / PLACE_BYTES;
