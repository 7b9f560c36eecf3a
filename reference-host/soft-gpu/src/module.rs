//! A loaded module and its kernels.

use thiserror::Error;

use crate::code::Code;
use crate::error::{PtxError, PtxErrorCause, SyntaxError, Unsupported};
use crate::globals::{Image, Placed};
use crate::limits::{MAX_GLOBAL_BYTES, MAX_THREADS};
use crate::memory::{GLOBALS_BASE, is_mappable};
use crate::verify::LaunchBounds;
use crate::{parser, verify};

const FUNCTION_IN_BODY: &str = "a declaration of a function, or an alias, inside a body";
const INDEXED_OPERAND: &str = "an element `name[index]` of an array as an operand";
const TEXTURE_ADDRESS: &str = "the address of a texture, surface or tensor, `[name, {…}]`";

/// Verified and lowered PTX, ready to launch. Immutable and shareable between threads.
///
/// # Examples
///
/// ```
/// let ptx = b".version 7.0 .target sm_75 .address_size 64 .visible .entry nothing() { ret; }";
/// let module = soft_gpu::Module::load(ptx)?;
/// assert!(module.entry("nothing").is_some());
/// # Ok::<(), soft_gpu::PtxError>(())
/// ```
#[derive(Debug)]
pub struct Module {
    /// The source, for reports of faults.
    pub(crate) source: Box<[u8]>,
    pub(crate) version: (u8, u8),
    pub(crate) target: u32,
    pub(crate) code: Code,
    pub(crate) entries: Vec<Entry>,
    pub(crate) variables: Vec<Placed>,
    pub(crate) shared: Vec<PlacedShared>,
    /// Where its `.global` variables begin.
    pub(crate) globals_base: u64,
    pub(crate) global_image: Image,
    pub(crate) const_image: Image,
    /// Where dynamic shared memory may start: at a multiple of this.
    pub(crate) dynamic_shared_align: u32,
    /// While a kernel is being built: where its next shared variable goes.
    pub(crate) kernel_shared_cursor: u64,
}

/// A `.shared` variable and its place.
#[derive(Clone, Debug)]
pub(crate) struct PlacedShared {
    pub(crate) name: Box<str>,
    /// Number of the kernel that alone has it, or [`NONE`](crate::code::NONE).
    pub(crate) kernel: u32,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

impl Module {
    /// Parses, verifies and lowers a PTX source.
    ///
    /// # Errors
    ///
    /// The first thing wrong with it, with its place: [`PtxErrorCause::Unsupported`](crate::PtxErrorCause::Unsupported) where the
    /// PTX is good but beyond this software GPU, another cause where an assembler refuses it too.
    pub fn load(source: &[u8]) -> Result<Self, PtxError> {
        Self::with_globals(source, GLOBALS_BASE)
    }

    /// As [`Module::load`], with `.global` variables in memory of the caller's: a copy of [`Module::global_image`] from `globals_base` on, which
    /// the caller maps at each launch.
    ///
    /// So kernels of several modules can reach one another's variables, and whoever else knows the addresses. An alignment that a variable asks for holds
    /// for its address, so that a base of a coarser or finer alignment may change the offsets of variables.
    ///
    /// # Errors
    ///
    /// [`LoadAtError::Base`] where the 16 MiB from `globals_base` on, as much as variables may take, reach into addresses that
    /// [`Memory::map`](crate::Memory::map) refuses; else those of [`Module::load`].
    ///
    /// # Examples
    ///
    /// ```
    /// use soft_gpu::{LaunchConfig, Memory, Module, launch};
    ///
    /// let ptx = br#"
    ///     .version 7.0
    ///     .target sm_75
    ///     .address_size 64
    ///     .visible .global .u32 counter = 41;
    ///     .visible .entry count() {
    ///         .reg .b32 %r;
    ///         atom.global.add.u32 %r, [counter], 1;
    ///     }
    /// "#;
    /// let module = Module::load_at(ptx, 0x2_0000_0000)?;
    /// let mut variables = module.global_image();
    /// let mut memory = Memory::new();
    /// memory.map(module.globals_base(), &mut variables)?;
    /// let entry = module.entry("count").ok_or("no such kernel")?;
    /// launch(&module, entry, &LaunchConfig::default(), &[], &mut module.globals(), &mut memory)?;
    /// assert_eq!(variables, 42u32.to_le_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_at(source: &[u8], globals_base: u64) -> Result<Self, LoadAtError> {
        if !is_mappable(globals_base, MAX_GLOBAL_BYTES) {
            return Err(LoadAtError::Base(globals_base));
        }
        Ok(Self::with_globals(source, globals_base)?)
    }

    fn with_globals(source: &[u8], globals_base: u64) -> Result<Self, PtxError> {
        let parsed = parser::parse(source).map_err(|error| match error.cause {
            // Good PTX of what this device does not have.
            PtxErrorCause::Syntax(SyntaxError::TextureAddress) => PtxError {
                cause: Unsupported::Declaration(TEXTURE_ADDRESS.to_owned()).into(),
                ..error
            },
            PtxErrorCause::Syntax(SyntaxError::IndexedOperand) => PtxError {
                cause: Unsupported::Declaration(INDEXED_OPERAND.to_owned()).into(),
                ..error
            },
            PtxErrorCause::Syntax(SyntaxError::FunctionInBody) => PtxError {
                cause: Unsupported::Declaration(FUNCTION_IN_BODY.to_owned()).into(),
                ..error
            },
            _ => error,
        })?;
        verify::verify(source, &parsed, globals_base)
    }

    /// The kernel `name`.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// All kernels, in source order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The source's `.version`, for example `(8, 0)`.
    #[must_use]
    pub fn ptx_version(&self) -> (u8, u8) {
        self.version
    }

    /// The number of the source's `.target`: 90 for `sm_90`.
    #[must_use]
    pub fn target(&self) -> u32 {
        self.target
    }

    pub(crate) fn empty(globals_base: u64) -> Self {
        Self {
            source: Box::default(),
            version: (0, 0),
            target: 0,
            code: Code::default(),
            entries: Vec::new(),
            variables: Vec::new(),
            shared: Vec::new(),
            globals_base,
            global_image: Image::default(),
            const_image: Image::default(),
            dynamic_shared_align: 16,
            kernel_shared_cursor: 0,
        }
    }
}

/// Why a module cannot be loaded with its variables at a place of the caller's.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadAtError {
    /// The source is refused.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// No memory can be mapped there.
    #[error(
        "variables cannot begin at {0:#x}: the {MAX_GLOBAL_BYTES} bytes from there on reach into reserved addresses"
    )]
    Base(u64),
}

/// One kernel of a module.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(crate) name: String,
    pub(crate) function: u32,
    pub(crate) params: Vec<Param>,
    pub(crate) param_bytes: u32,
    pub(crate) static_shared_bytes: u32,
    pub(crate) local_bytes: u32,
    pub(crate) bounds: LaunchBounds,
}

impl Entry {
    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel's parameters, in order.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Bytes of the parameter buffer that a launch takes.
    #[must_use]
    pub fn param_bytes(&self) -> u32 {
        self.param_bytes
    }

    /// Bytes of shared memory that a block has before any dynamic ones.
    #[must_use]
    pub fn static_shared_bytes(&self) -> u32 {
        self.static_shared_bytes
    }

    /// Bytes of local memory that a thread has for the kernel itself; functions that it calls take more.
    #[must_use]
    pub fn local_bytes(&self) -> u32 {
        self.local_bytes
    }

    /// Most threads of a block: those of `.reqntid` or `.maxntid`, and 1024 without.
    #[must_use]
    pub fn max_threads_per_block(&self) -> u32 {
        let bounds = self.bounds.required_block.or(self.bounds.max_block);
        let threads = bounds.map(|block| block.into_iter().fold(1, u32::saturating_mul));
        threads.unwrap_or(MAX_THREADS).min(MAX_THREADS)
    }

    /// The one block that `.reqntid` allows.
    #[must_use]
    pub fn required_block(&self) -> Option<[u32; 3]> {
        self.bounds.required_block
    }
}

/// One kernel parameter and its place in the parameter buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX.
    pub name: String,
    /// Where it starts in the parameter buffer.
    pub offset_bytes: u32,
    /// Its size.
    pub size_bytes: u32,
    /// Its alignment.
    pub align_bytes: u32,
}
