//! A loaded module and the variables it brings.

use crate::code::Code;
use crate::error::{PtxError, PtxErrorCause, SyntaxError, Unsupported};
use crate::heap::Heap;
use crate::memory::GLOBALS_BASE;
use crate::output::Output;
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
    pub(crate) code: Code,
    pub(crate) entries: Vec<Entry>,
    pub(crate) variables: Vec<Placed>,
    pub(crate) shared: Vec<PlacedShared>,
    pub(crate) global_image: Image,
    pub(crate) const_image: Image,
    /// Where dynamic shared memory may start: at a multiple of this.
    pub(crate) dynamic_shared_align: u32,
    /// While a kernel is being built: where its next shared variable goes.
    pub(crate) kernel_shared_cursor: u64,
}

/// A `.global` or `.const` variable and its place in its image.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) name: Box<str>,
    pub(crate) constant: bool,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

impl Placed {
    /// Its bytes within its image.
    fn range(&self) -> std::ops::Range<usize> {
        self.offset as usize..self.offset.saturating_add(self.bytes) as usize
    }
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

/// The initial bytes of all variables of a space: zero but for what initialisers say, so that large empty arrays take no memory here.
#[derive(Debug, Default)]
pub(crate) struct Image {
    size_bytes: usize,
    /// Where each initialised variable starts, and its first bytes.
    pieces: Vec<(usize, Vec<u8>)>,
}

impl Image {
    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Makes the image reach to `end`.
    pub(crate) fn reach(&mut self, end: usize) {
        self.size_bytes = self.size_bytes.max(end);
    }

    /// Sets bytes at `offset` of the variable that starts at `start`, the last one placed.
    pub(crate) fn write(&mut self, start: usize, offset: usize, bytes: &[u8]) {
        if self.pieces.last().is_none_or(|(piece, _)| *piece != start) {
            crate::pool::push(&mut self.pieces, (start, Vec::new()));
        }
        let Some((_, piece)) = self.pieces.last_mut() else {
            return;
        };
        let end = offset.saturating_add(bytes.len());
        if piece.len() < end {
            piece.resize(end, 0);
        }
        if let Some(place) = piece.get_mut(offset..end) {
            place.copy_from_slice(bytes);
        }
    }

    /// The whole image; pages that stay zero cost nothing until they are touched.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size_bytes];
        for (start, piece) in &self.pieces {
            if let Some(place) = bytes.get_mut(*start..start.saturating_add(piece.len())) {
                place.copy_from_slice(piece);
            }
        }
        bytes
    }
}

impl Module {
    /// Parses, verifies and lowers a PTX source.
    ///
    /// # Errors
    ///
    /// The first thing wrong with it, with its place: [`PtxErrorCause::Unsupported`](crate::PtxErrorCause::Unsupported) where the
    /// PTX is good but beyond this software GPU, another cause where an assembler refuses it too.
    pub fn load(source: &[u8]) -> Result<Self, PtxError> {
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
        verify::verify(source, &parsed)
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

    /// The module's variables with their initial values.
    #[must_use]
    pub fn globals(&self) -> Globals {
        Globals {
            variables: self.variables.clone(),
            global: self.global_image.bytes(),
            constant: self.const_image.bytes(),
            heap: Heap::default(),
            output: Output::default(),
        }
    }

    pub(crate) fn empty() -> Self {
        Self {
            source: Box::default(),
            code: Code::default(),
            entries: Vec::new(),
            variables: Vec::new(),
            shared: Vec::new(),
            global_image: Image::default(),
            const_image: Image::default(),
            dynamic_shared_align: 16,
            kernel_shared_cursor: 0,
        }
    }
}

/// One kernel of a module.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(crate) name: String,
    pub(crate) function: u32,
    pub(crate) params: Vec<Param>,
    pub(crate) param_bytes: u32,
    pub(crate) static_shared_bytes: u32,
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

/// What outlasts a launch: the current values of a module's `.global` and `.const` variables, the device heap, and what was printed.
///
/// Launches of one module that should see each other's changes share one of these.
#[derive(Clone, Debug)]
pub struct Globals {
    variables: Vec<Placed>,
    pub(crate) global: Vec<u8>,
    pub(crate) constant: Vec<u8>,
    pub(crate) heap: Heap,
    pub(crate) output: Output,
}

impl Globals {
    /// The bytes of variable `name`.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&[u8]> {
        let placed = self.variables.iter().find(|placed| *placed.name == *name)?;
        let image = if placed.constant {
            &self.constant
        } else {
            &self.global
        };
        image.get(placed.range())
    }

    /// The bytes of variable `name`, to be set before a launch.
    #[must_use]
    pub fn variable_mut(&mut self, name: &str) -> Option<&mut [u8]> {
        let placed = self.variables.iter().find(|placed| *placed.name == *name)?;
        let image = if placed.constant {
            &mut self.constant
        } else {
            &mut self.global
        };
        image.get_mut(placed.range())
    }

    /// What kernels have printed with `printf` and nobody has taken yet, as bytes in the order of execution; 1 MiB at most.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    /// Takes what kernels have printed.
    #[must_use]
    pub fn take_output(&mut self) -> Vec<u8> {
        self.output.take()
    }

    /// The device address of `.global` variable `name`.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<u64> {
        let placed = self
            .variables
            .iter()
            .find(|placed| *placed.name == *name && !placed.constant)?;
        GLOBALS_BASE.checked_add(placed.offset.into())
    }
}
