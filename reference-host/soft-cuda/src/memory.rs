//! Memory that kernels reach: where it is, whose it is, and its bytes.
//!
//! Addresses are numbers of our own and never those of host memory, so that a program which follows one crashes as it would with a GPU. The
//! exception is memory that program and device share, which both know by the same address.

pub(crate) mod copy;
pub(crate) mod host;
pub(crate) mod shared;
pub(crate) mod space;

pub(crate) use shared::SharedMemory;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::call::Done;
use crate::context::Context;
use crate::error::Error;
use crate::memory::host::PagesOrigin;
use crate::memory::space::{Owner, Reservation};
use crate::pool::Share;
use crate::queue::{Task, Until, Work, finish};
use crate::stream::Target;

/// The device memory of a context.
#[derive(Debug, Default)]
pub(crate) struct DeviceMemory {
    allocations: BTreeMap<u64, Allocation>,
}

/// A piece of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    len_bytes: u64,
    bytes: Bytes,
    origin: Origin,
    /// A stream is going to free it.
    leaving: bool,
    _share: Option<Share>,
    reservation: Reservation,
}

/// Where device memory comes from, and so who may free it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The program asked for it.
    Plain,
    /// The program asked for it in a stream, from the pool with this number.
    Ordered(u32),
    /// It is a module's variable.
    Variable,
}

/// Makes memory in a context. Where there is not enough, work is waited for that may free some.
///
/// # Errors
///
/// [`Error::OutOfMemory`], and the error that the context failed with.
pub(crate) fn allocate(
    context: &Arc<Context>,
    len_bytes: u64,
    origin: Origin,
) -> Result<u64, Error> {
    let now = || {
        context
            .open()?
            .memory
            .allocate(context.serial, len_bytes, origin)
    };
    match now() {
        Err(Error::OutOfMemory) => {
            finish(context, Until::Empty)?;
            now()
        }
        made => made,
    }
}

/// Frees what begins at an address, after the work of its context.
///
/// # Errors
///
/// [`Error::InvalidValue`] where nothing begins there that a program may free this way, and the error that its context failed with.
pub(crate) fn free(address: u64) -> Done {
    let piece = space::find(address)
        .filter(|piece| piece.start == address)
        .ok_or(Error::InvalidValue)?;
    match piece.owner {
        Owner::Context(owner) => {
            let owner = Context::numbered(owner).ok_or(Error::InvalidValue)?;
            owner.open()?.memory.check_freeable(address)?;
            finish(&owner, Until::Empty)?;
            let freed = owner.open()?.memory.free(address);
            freed.map(|_| ()).ok_or(Error::InvalidValue)
        }
        Owner::Host(_) => shared::free(address, &[PagesOrigin::Managed]),
    }
}

/// Frees what begins at an address, in a stream.
///
/// # Errors
///
/// As for [`free`].
pub(crate) fn free_in_stream(target: &Target, address: u64) -> Done {
    let piece = space::find(address)
        .filter(|piece| piece.start == address)
        .ok_or(Error::InvalidValue)?;
    match piece.owner {
        Owner::Context(owner) if owner == target.context.serial => {
            let mut state = target.context.open()?;
            state.memory.leave(address)?;
            let stream = target.stream;
            let work = Work::Free(address);
            state.queue.push(Task { stream, work });
            Ok(())
        }
        // Another context's memory is freed when the stream has come as far.
        Owner::Context(_) => {
            finish(&target.context, Until::Empty)?;
            free(address)
        }
        Owner::Host(_) => Err(Error::InvalidValue),
    }
}

/// The bytes of an allocation.
#[derive(Debug)]
enum Bytes {
    /// Each byte is this one; nothing is held until that changes.
    Filled(u8),
    /// Held.
    Held(Box<[u8]>),
}

impl DeviceMemory {
    /// Makes memory for the context with this number and gives its address. Its bytes are [`FRESH`], or 0 where it is very large.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] where the device or the machine has not as much left.
    pub(crate) fn allocate(
        &mut self,
        context: u32,
        len_bytes: u64,
        origin: Origin,
    ) -> Result<u64, Error> {
        let share = match origin {
            Origin::Ordered(pool) => Some(Share::take(pool, len_bytes)?),
            Origin::Plain | Origin::Variable => None,
        };
        let reservation = Reservation::of_device(len_bytes, context)?;
        let bytes = if len_bytes >= LARGE_BYTES {
            Bytes::Held(zeros(len_bytes)?)
        } else {
            Bytes::Filled(FRESH)
        };
        let kept = Allocation {
            len_bytes,
            bytes,
            origin,
            leaving: false,
            _share: share,
            reservation,
        };
        Ok(self.keep(kept))
    }

    /// Makes memory for a module's variables at a place that is the module's own, with their values.
    ///
    /// # Errors
    ///
    /// As for [`Self::allocate`].
    pub(crate) fn place(&mut self, context: u32, start: u64, image: Vec<u8>) -> Result<(), Error> {
        if image.is_empty() {
            return Ok(());
        }
        let len_bytes = image.len() as u64;
        let reservation = Reservation::of_variables(start, len_bytes, context)?;
        let bytes = Bytes::Held(image.into_boxed_slice());
        self.keep(Allocation {
            len_bytes,
            bytes,
            origin: Origin::Variable,
            leaving: false,
            _share: None,
            reservation,
        });
        Ok(())
    }

    /// Copies the variables at `start`; nothing where there are none.
    ///
    /// # Errors
    ///
    /// There are not as many bytes.
    pub(crate) fn read_variables(&self, start: u64, into: &mut [u8]) -> Result<(), Error> {
        match self.allocations.get(&start) {
            Some(variables) => variables.read(0, into),
            None => Ok(()),
        }
    }

    /// Frees what begins at `start`.
    pub(crate) fn free(&mut self, start: u64) -> Option<Origin> {
        Some(self.allocations.remove(&start)?.origin)
    }

    /// Notes that a stream is going to free what begins at `start`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where nothing begins there that a program may free, or a stream is going to free it already.
    pub(crate) fn leave(&mut self, start: u64) -> Result<(), Error> {
        let allocation = self.freeable(start)?;
        allocation.leaving = true;
        Ok(())
    }

    /// Refuses what a program may not free.
    ///
    /// # Errors
    ///
    /// As for [`Self::leave`].
    pub(crate) fn check_freeable(&mut self, start: u64) -> Result<(), Error> {
        self.freeable(start).map(|_| ())
    }

    fn freeable(&mut self, start: u64) -> Result<&mut Allocation, Error> {
        self.allocations
            .get_mut(&start)
            .filter(|allocation| allocation.origin != Origin::Variable && !allocation.leaving)
            .ok_or(Error::InvalidValue)
    }

    /// The pool that the allocation which begins at `start` is from.
    pub(crate) fn pool_of(&self, start: u64) -> Option<u32> {
        match self.allocations.get(&start)?.origin {
            Origin::Ordered(pool) => Some(pool),
            Origin::Plain | Origin::Variable => None,
        }
    }

    /// Everything in it, for a kernel to work on.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] where the machine has no memory to hold it.
    pub(crate) fn map<'m>(&'m mut self, memory: &mut soft_gpu::Memory<'m>) -> Result<(), Error> {
        for (start, allocation) in &mut self.allocations {
            let bytes = allocation.held()?;
            memory.map(*start, bytes).map_err(|_| Error::OutOfMemory)?;
        }
        Ok(())
    }

    /// Allocations of an origin, and their bytes.
    pub(crate) fn count(&self, counts: impl Fn(Origin) -> bool) -> (usize, u64) {
        self.allocations
            .values()
            .filter(|allocation| counts(allocation.origin))
            .fold((0, 0), |(number, bytes), allocation| {
                (
                    number.saturating_add(1),
                    bytes.saturating_add(allocation.len_bytes),
                )
            })
    }

    /// Where the `len` bytes at `address` are.
    ///
    /// # Errors
    ///
    /// [`Error::IllegalAddress`] where they are not within one allocation: it was freed since the call that wanted them was checked.
    fn within(&mut self, address: u64, len: u64) -> Result<(&mut Allocation, u64), Error> {
        let (start, allocation) = self
            .allocations
            .range_mut(..=address)
            .next_back()
            .ok_or(Error::IllegalAddress)?;
        let at = address.saturating_sub(*start);
        match at.checked_add(len) {
            Some(end) if end <= allocation.len_bytes => Ok((allocation, at)),
            _ => Err(Error::IllegalAddress),
        }
    }

    fn keep(&mut self, allocation: Allocation) -> u64 {
        let start = allocation.reservation.start();
        self.allocations.insert(start, allocation);
        start
    }
}

impl Allocation {
    /// Copies the bytes from `at` on.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Error> {
        match &self.bytes {
            Bytes::Filled(byte) => into.fill(*byte),
            Bytes::Held(bytes) => into.copy_from_slice(part(bytes, at, into.len() as u64)?),
        }
        Ok(())
    }

    /// The `len` bytes from `at` on, all of which are going to be written.
    fn overwrite(&mut self, at: u64, len: u64) -> Result<&mut [u8], Error> {
        if len == self.len_bytes && matches!(self.bytes, Bytes::Filled(_)) {
            self.bytes = Bytes::Held(zeros(len)?);
        }
        part_mut(self.held()?, at, len)
    }

    /// Writes `pattern` over and over from `at` on.
    fn fill(&mut self, at: u64, len: u64, pattern: &[u8]) -> Result<(), Error> {
        let Some((first, others)) = pattern.split_first() else {
            return Ok(());
        };
        if others.iter().any(|byte| byte != first) {
            for element in self.overwrite(at, len)?.chunks_exact_mut(pattern.len()) {
                element.copy_from_slice(pattern);
            }
        } else if len == self.len_bytes {
            self.bytes = Bytes::Filled(*first);
        } else {
            part_mut(self.held()?, at, len)?.fill(*first);
        }
        Ok(())
    }

    fn held(&mut self) -> Result<&mut [u8], Error> {
        if let Bytes::Filled(byte) = self.bytes {
            let held = match byte {
                0 => zeros(self.len_bytes)?,
                _ => filled(byte, self.len_bytes)?,
            };
            self.bytes = Bytes::Held(held);
        }
        match &mut self.bytes {
            Bytes::Held(bytes) => Ok(bytes),
            Bytes::Filled(_) => Err(Error::Unknown),
        }
    }
}

fn part(bytes: &[u8], at: u64, len: u64) -> Result<&[u8], Error> {
    bytes.get(range(at, len)?).ok_or(Error::IllegalAddress)
}

fn part_mut(bytes: &mut [u8], at: u64, len: u64) -> Result<&mut [u8], Error> {
    bytes.get_mut(range(at, len)?).ok_or(Error::IllegalAddress)
}

fn range(at: u64, len: u64) -> Result<std::ops::Range<usize>, Error> {
    let start = usize::try_from(at).map_err(|_| Error::IllegalAddress)?;
    let end = at
        .checked_add(len)
        .and_then(|end| usize::try_from(end).ok());
    Ok(start..end.ok_or(Error::IllegalAddress)?)
}

/// Zeros that cost nothing until they are touched.
fn zeros(len_bytes: u64) -> Result<Box<[u8]>, Error> {
    let len = usize::try_from(len_bytes).map_err(|_| Error::OutOfMemory)?;
    bytemuck::allocation::try_zeroed_slice_box(len).map_err(|()| Error::OutOfMemory)
}

fn filled(byte: u8, len_bytes: u64) -> Result<Box<[u8]>, Error> {
    let len = usize::try_from(len_bytes).map_err(|_| Error::OutOfMemory)?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(len)
        .map_err(|_| Error::OutOfMemory)?;
    bytes.resize(len, byte);
    Ok(bytes.into_boxed_slice())
}

/// What each byte of fresh memory is, so that a program which takes it for zeros is found out.
pub(crate) const FRESH: u8 = 0xA5;
/// From this size on fresh memory is zeros, which cost nothing until they are touched.
const LARGE_BYTES: u64 = 64 << 20;
