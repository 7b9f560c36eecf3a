//! A module's `.global` and `.const` variables: their places, their initial bytes, and what launches make of them.

use crate::heap::Heap;
use crate::memory::GLOBALS_BASE;
use crate::module::Module;
use crate::output::Output;

/// What outlasts a launch: the current values of a module's variables, the device heap, and what was printed.
///
/// Launches of one module that should see each other's changes share one of these. The `.global` variables of a module that was
/// loaded by [`Module::load_at`] are not here but in memory of the caller.
#[derive(Clone, Debug)]
pub struct Globals {
    variables: Vec<Placed>,
    base: u64,
    pub(crate) global: Vec<u8>,
    pub(crate) constant: Vec<u8>,
    pub(crate) heap: Heap,
    pub(crate) output: Output,
}

impl Globals {
    /// The bytes of variable `name`, if they are here.
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

    /// The bytes of variable `name`, if they are here, to be set before a launch.
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

    /// All constant memory: [`Module::constant_bytes`] bytes, in which a variable starts at its [`Variable::offset_bytes`].
    #[must_use]
    pub fn constants(&self) -> &[u8] {
        &self.constant
    }

    /// All constant memory, to be set before a launch.
    #[must_use]
    pub fn constants_mut(&mut self) -> &mut [u8] {
        &mut self.constant
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
        self.base.checked_add(placed.offset.into())
    }
}

/// A `.global` or `.const` variable of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable<'m> {
    /// Its name; that of a variable declared in a function stands behind the function's and a dot.
    pub name: &'m str,
    /// Which memory it is in.
    pub space: VariableSpace,
    /// Where it starts in the image of its space: [`Module::global_image`] or [`Globals::constants`].
    pub offset_bytes: u32,
    /// Its size.
    pub size_bytes: u32,
    /// Its device address; constants have none that means the same to kernels of other modules.
    pub address: Option<u64>,
}

/// The memory that a variable of a module is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSpace {
    /// `.global`
    Global,
    /// `.const`
    Constant,
}

impl Module {
    /// The module's variables with their initial values.
    #[must_use]
    pub fn globals(&self) -> Globals {
        let own = self.globals_base == GLOBALS_BASE;
        Globals {
            variables: self.variables.clone(),
            base: self.globals_base,
            global: if own {
                self.global_image.bytes()
            } else {
                Vec::new()
            },
            constant: self.const_image.bytes(),
            heap: Heap::default(),
            output: Output::default(),
        }
    }

    /// The `.global` or `.const` variable `name`.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Variable<'_>> {
        self.variables().find(|variable| variable.name == name)
    }

    /// All `.global` and `.const` variables, in source order.
    pub fn variables(&self) -> impl Iterator<Item = Variable<'_>> {
        self.variables.iter().map(|placed| Variable {
            name: &placed.name,
            space: if placed.constant {
                VariableSpace::Constant
            } else {
                VariableSpace::Global
            },
            offset_bytes: placed.offset,
            size_bytes: placed.bytes,
            address: (!placed.constant).then(|| placed.address(self.globals_base)),
        })
    }

    /// The device address of the first byte of [`Module::global_image`].
    #[must_use]
    pub fn globals_base(&self) -> u64 {
        self.globals_base
    }

    /// The initial bytes of all `.global` variables; empty where there are none.
    #[must_use]
    pub fn global_image(&self) -> Vec<u8> {
        self.global_image.bytes()
    }

    /// Bytes of all `.const` variables together, with the gaps between them.
    #[must_use]
    pub fn constant_bytes(&self) -> usize {
        self.const_image.size_bytes()
    }
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
    /// Its first address, where it is a `.global` variable and those begin at `base`.
    pub(crate) fn address(&self, base: u64) -> u64 {
        base.saturating_add(u64::from(self.offset))
    }

    /// Its bytes within its image.
    fn range(&self) -> std::ops::Range<usize> {
        self.offset as usize..self.offset.saturating_add(self.bytes) as usize
    }
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
