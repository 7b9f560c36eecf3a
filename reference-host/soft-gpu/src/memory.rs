//! The device address space of one launch: which addresses exist and the bytes behind them.
//!
//! Generic addresses are 64 bits wide. Fixed windows serve shared, local, constant and parameter memory; everything else is
//! global: the module's own variables, and the regions that the caller maps. An access must lie within one region as a whole.

use thiserror::Error;

use crate::code::Space;
use crate::exec::together::{Sharing, Together};
use crate::fault::Object;
use crate::heap::Heap;
use crate::output::Output;

/// Where shared memory appears in the generic address space.
pub(crate) const SHARED_BASE: u64 = 0x7B00_0000_0000;
/// Where local memory appears.
pub(crate) const LOCAL_BASE: u64 = 0x7A00_0000_0000;
/// Where constant memory appears.
pub(crate) const CONST_BASE: u64 = 0x7900_0000_0000;
/// Where the kernel's parameters appear.
pub(crate) const PARAM_BASE: u64 = 0x7800_0000_0000;
/// Where a module's `.global` variables begin.
pub(crate) const GLOBALS_BASE: u64 = 0x7E00_0000_0000;
/// Where the device heap begins, right behind the window of the variables.
pub(crate) const HEAP_BASE: u64 = GLOBALS_BASE + WINDOW_BYTES;
/// Where addresses of functions begin: no memory is there.
pub(crate) const FUNCTION_BASE: u64 = 0x7D00_0000_0000;
/// Distance between addresses of functions.
pub(crate) const FUNCTION_STRIDE: u64 = 16;
/// The address that stands for a function.
pub(crate) fn function_address(function: u32) -> u64 {
    FUNCTION_BASE.saturating_add(u64::from(function).saturating_mul(FUNCTION_STRIDE))
}

/// No region may be mapped below this.
pub(crate) const FIRST_PAGE_BYTES: u64 = 0x1000;

/// Where the reserved addresses that begin at [`PARAM_BASE`] end.
const RESERVED_END: u64 = 0x7F00_0000_0000;

/// Size of each fixed window.
pub(crate) const WINDOW_BYTES: u64 = 1 << 32;

/// The regions of global memory that a launch may touch, beside the variables that [`Globals`](crate::Globals) holds.
///
/// # Examples
///
/// ```
/// let mut bytes = [0u8; 64];
/// let mut memory = soft_gpu::Memory::new();
/// memory.map(0x1000, &mut bytes)?;
/// assert!(memory.map(0x103F, &mut [0u8; 1]).is_err());
/// # Ok::<(), soft_gpu::MapError>(())
/// ```
#[derive(Debug, Default)]
pub struct Memory<'a> {
    /// Sorted by address, disjoint.
    regions: Vec<Region<'a>>,
    /// First address and size of what was freed.
    freed: Vec<(u64, u64)>,
}

#[derive(Debug)]
struct Region<'a> {
    start: u64,
    bytes: &'a mut [u8],
}

/// Why a region cannot be mapped.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapError {
    /// It overlaps a region mapped before.
    #[error("region at {start:#x} of {bytes} bytes overlaps one mapped before")]
    Overlap {
        /// First address.
        start: u64,
        /// Size.
        bytes: u64,
    },
    /// It reaches into the addresses from 0x7800_0000_0000 up to 0x7EFF_FFFF_FFFF, into the first page, or past the end.
    #[error("region at {start:#x} of {bytes} bytes reaches into reserved addresses")]
    Reserved {
        /// First address.
        start: u64,
        /// Size.
        bytes: u64,
    },
}

impl<'a> Memory<'a> {
    /// An address space with nothing mapped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps `bytes` at device address `start`. An empty region maps nothing.
    ///
    /// # Errors
    ///
    /// [`MapError`] where the region overlaps another or reaches into reserved addresses; nothing is mapped then.
    pub fn map(&mut self, start: u64, bytes: &'a mut [u8]) -> Result<(), MapError> {
        let size = bytes.len() as u64;
        let reserved = MapError::Reserved { start, bytes: size };
        if !is_mappable(start, size) {
            return Err(reserved);
        }
        let end = start.saturating_add(size);
        if bytes.is_empty() {
            return Ok(());
        }
        let at = self.regions.partition_point(|region| region.start < start);
        let before = at.checked_sub(1).and_then(|at| self.regions.get(at));
        let after = self.regions.get(at);
        if before.is_some_and(|region| region.end() > start)
            || after.is_some_and(|region| region.start < end)
        {
            return Err(MapError::Overlap { start, bytes: size });
        }
        self.regions.insert(at, Region { start, bytes });
        Ok(())
    }

    /// Remembers that there was memory of `bytes` bytes at `start` which is gone, so that an access there is reported as one after
    /// the memory's end rather than as any bad access. Nothing is unmapped by it, and what is mapped goes first.
    pub fn note_freed(&mut self, start: u64, bytes: u64) {
        self.freed.push((start, bytes));
    }

    /// The same memory to name freed regions by, with nothing mapped.
    pub(crate) fn freed_only<'f>(&self) -> Memory<'f> {
        Memory {
            regions: Vec::new(),
            freed: self.freed.clone(),
        }
    }

    /// All of global memory, for several threads to work on.
    pub(crate) fn together<'t>(&'t mut self, globals: &'t mut [u8]) -> Together<'t> {
        let mut together = Together::default();
        let mut globals = Some(globals);
        for region in &mut self.regions {
            if region.start > GLOBALS_BASE
                && let Some(globals) = globals.take()
            {
                together.push(GLOBALS_BASE, globals);
            }
            together.push(region.start, region.bytes);
        }
        if let Some(globals) = globals.take() {
            together.push(GLOBALS_BASE, globals);
        }
        together
    }

    /// The region that holds `address`: its first address and its bytes.
    #[inline(always)]
    fn region(&mut self, address: u64) -> Option<(u64, &mut [u8])> {
        // A few regions, as most launches have, are passed through sooner than halved.
        let after = if self.regions.len() <= 8 {
            let before = |region: &Region<'_>| region.start <= address;
            self.regions.iter().rposition(before)?.saturating_add(1)
        } else {
            self.regions
                .partition_point(|region| region.start <= address)
        };
        let region = self.regions.get_mut(after.checked_sub(1)?)?;
        (address.wrapping_sub(region.start) < region.bytes.len() as u64)
            .then_some((region.start, &mut *region.bytes))
    }
}

/// Whether `bytes` bytes at `start` lie outside all reserved addresses.
pub(crate) fn is_mappable(start: u64, bytes: u64) -> bool {
    let low = |end| start >= FIRST_PAGE_BYTES && end <= PARAM_BASE;
    start
        .checked_add(bytes)
        .is_some_and(|end| low(end) || start >= RESERVED_END)
}

impl Region<'_> {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }
}

/// The memory that all threads of a block reach, by state space.
pub(crate) struct Spaces<'l, 'm> {
    pub(crate) memory: &'l mut Memory<'m>,
    pub(crate) globals: &'l mut [u8],
    pub(crate) constants: &'l mut [u8],
    pub(crate) params: &'l mut [u8],
    pub(crate) shared: &'l mut [u8],
    pub(crate) heap: &'l mut Heap,
    pub(crate) output: &'l mut Output,
    /// Global memory of a launch on several threads; then `globals`, `heap` and `output` are empty, and `memory` only knows what was freed.
    pub(crate) together: Option<Sharing<'l, 'm>>,
}

/// Why an access fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessError {
    OutOfBounds,
    ReadOnly,
    /// The space is not one that the instruction reaches.
    WrongSpace,
}

/// A place in one of the spaces: which, and the offset or global address in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) space: Space,
    pub(crate) address: u64,
}

/// Resolves a generic address to its window.
#[inline]
pub(crate) fn resolve(address: u64) -> Place {
    let window = |space, base: u64| Place {
        space,
        address: address.wrapping_sub(base),
    };
    match address {
        PARAM_BASE..GLOBALS_BASE => {
            if address.wrapping_sub(SHARED_BASE) < WINDOW_BYTES {
                window(Space::Shared, SHARED_BASE)
            } else if address.wrapping_sub(LOCAL_BASE) < WINDOW_BYTES {
                window(Space::Local, LOCAL_BASE)
            } else if address.wrapping_sub(CONST_BASE) < WINDOW_BYTES {
                window(Space::Const, CONST_BASE)
            } else if address.wrapping_sub(PARAM_BASE) < WINDOW_BYTES {
                window(Space::KernelParam, PARAM_BASE)
            } else {
                Place {
                    space: Space::Global,
                    address,
                }
            }
        }
        _ => Place {
            space: Space::Global,
            address,
        },
    }
}

impl Spaces<'_, '_> {
    /// The `bytes` bytes at a place outside local memory.
    #[inline]
    pub(crate) fn bytes(
        &mut self,
        place: Place,
        bytes: u64,
        write: bool,
    ) -> Result<&mut [u8], AccessError> {
        if write && matches!(place.space, Space::Const | Space::KernelParam) {
            return Err(AccessError::ReadOnly);
        }
        let (base, region) = self.region(place.space, place.address, write).ok_or(
            if place.space == Space::Local {
                AccessError::WrongSpace
            } else {
                AccessError::OutOfBounds
            },
        )?;
        slice(region, place.address.wrapping_sub(base), bytes)
    }

    /// Calls `offer` with the kind, start and size of everything in global memory but the module's variables.
    pub(crate) fn global_objects(&self, mut offer: impl FnMut(Object, u64, u64)) {
        if let Some(sharing) = &self.together {
            sharing.together.objects(|start, bytes| {
                if start != GLOBALS_BASE {
                    offer(Object::Region, start, bytes);
                }
            });
        }
        for region in &self.memory.regions {
            offer(Object::Region, region.start, region.bytes.len() as u64);
        }
        for &(start, bytes) in self.memory.freed.iter().rev() {
            offer(Object::FreedRegion, start, bytes);
        }
        self.heap.objects(offer);
    }

    /// The contiguous memory around an address of a space, for reading: what to subtract from an address to get an offset, and the bytes.
    ///
    /// Memory that threads share has none once it is written to.
    #[inline(always)]
    pub(crate) fn readable(&mut self, space: Space, address: u64) -> Option<(u64, &[u8])> {
        if self.together.is_some() {
            let place = match space {
                Space::Generic => resolve(address),
                space => Place { space, address },
            };
            if place.space == Space::Global {
                return self.together.as_mut()?.plain(address);
            }
        }
        let (base, bytes) = self.region(space, address, false)?;
        Some((base, bytes))
    }

    /// The contiguous memory around an address of a space: what to subtract from an address to get an offset, and the bytes.
    ///
    /// Local memory, which belongs to a thread, has none; neither has read-only memory where the access writes.
    #[inline(always)]
    pub(crate) fn region(
        &mut self,
        space: Space,
        address: u64,
        write: bool,
    ) -> Option<(u64, &mut [u8])> {
        if space == Space::Generic {
            let place = resolve(address);
            let (base, region) = self.resolved_region(place.space, place.address, write)?;
            return Some((
                base.wrapping_add(address.wrapping_sub(place.address)),
                region,
            ));
        }
        self.resolved_region(space, address, write)
    }

    #[inline(always)]
    fn resolved_region(
        &mut self,
        space: Space,
        address: u64,
        write: bool,
    ) -> Option<(u64, &mut [u8])> {
        match space {
            Space::Global if self.together.is_some() => {
                self.together.as_mut().filter(|_| write)?.plain_mut(address)
            }
            Space::Global if address.wrapping_sub(GLOBALS_BASE) < 2 * WINDOW_BYTES => {
                if address < HEAP_BASE {
                    Some((GLOBALS_BASE, self.globals))
                } else {
                    self.heap.block(address)
                }
            }
            Space::Global => self.memory.region(address),
            Space::Shared => Some((0, self.shared)),
            Space::Const if !write => Some((0, self.constants)),
            Space::KernelParam if !write => Some((0, self.params)),
            _ => None,
        }
    }
}

#[inline]
fn slice(bank: &mut [u8], offset: u64, bytes: u64) -> Result<&mut [u8], AccessError> {
    let start = usize::try_from(offset).map_err(|_| AccessError::OutOfBounds)?;
    let end = start
        .checked_add(bytes as usize)
        .ok_or(AccessError::OutOfBounds)?;
    bank.get_mut(start..end).ok_or(AccessError::OutOfBounds)
}
