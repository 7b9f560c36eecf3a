//! Copies and fills: which memory they mean, and how they are carried out.

use std::sync::Arc;

use crate::call::Done;
use crate::context::Context;
use crate::error::Error;
use crate::memory::DeviceMemory;
use crate::memory::host::{self, HostRange, Pages};
use crate::memory::space::{self, Owner, Piece};
use crate::queue::{StreamId, Task, Until, Work, finish};

/// Rows to be copied.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) to: End,
    pub(crate) from: End,
    pub(crate) shape: Shape,
}

/// One end of a copy: where its first byte is.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) place: Place,
    /// From a row to the next.
    pub(crate) pitch_bytes: u64,
    /// From a slice of rows to the next.
    pub(crate) slice_bytes: u64,
}

/// How much is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) width_bytes: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

impl Shape {
    /// So many bytes in a row.
    pub(crate) fn linear(bytes: u64) -> Self {
        Self {
            width_bytes: bytes,
            height: 1,
            depth: 1,
        }
    }

    /// Whether there is nothing to copy.
    pub(crate) fn is_empty(self) -> bool {
        self.width_bytes == 0 || self.height == 0 || self.depth == 0
    }

    /// From the first byte to behind the last one.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where rows are longer than their pitch, or no memory can be as large.
    pub(crate) fn extent(self, pitch_bytes: u64, slice_bytes: u64) -> Result<u64, Error> {
        if self.is_empty() {
            return Ok(0);
        }
        if self.height > 1 && pitch_bytes < self.width_bytes {
            return Err(Error::InvalidValue);
        }
        let rows = self.height.saturating_sub(1).checked_mul(pitch_bytes);
        let slices = self.depth.saturating_sub(1).checked_mul(slice_bytes);
        rows.zip(slices)
            .and_then(|(rows, slices)| rows.checked_add(slices)?.checked_add(self.width_bytes))
            .ok_or(Error::InvalidValue)
    }
}

/// Memory that was found to be there.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Device memory of a context.
    Device {
        /// The context's number.
        context: u32,
        address: u64,
    },
    /// Memory that program and device share.
    Shared {
        range: HostRange,
        /// Keeps it.
        pages: Arc<Pages>,
    },
    /// Memory of the program's, promised by it until the call returns.
    Program(HostRange),
    /// None, of which nothing is copied.
    Nothing,
}

impl Place {
    /// The `len` bytes that the device knows by this address.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where they are not within one piece of memory.
    pub(crate) fn of_device(address: u64, len: u64) -> Result<Self, Error> {
        let piece = space::find(address).ok_or(Error::InvalidValue)?;
        Self::in_piece(piece, address, len)
    }

    /// The `len` bytes that the program knows by this address.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where that is null, one of the device's, or no memory is there.
    ///
    /// # Safety
    ///
    /// Null, an address given out by this library, or memory of the program's that stays until the last use of the result.
    pub(crate) unsafe fn of_host(address: usize, len: u64) -> Result<Self, Error> {
        if let Some(piece) = space::find_host(address as u64) {
            let offset = (address as u64).saturating_sub(piece.host_start());
            let device_address = piece.start.saturating_add(offset);
            // Memory may be registered in part only: then this is a copy of the program's memory.
            if let Ok(place) = Self::in_piece(piece, device_address, len) {
                return Ok(place);
            }
        }
        let len = usize::try_from(len).map_err(|_| Error::InvalidValue)?;
        let end = address.checked_add(len).ok_or(Error::InvalidValue)?;
        // A mistake in a program is told here rather than by a crash, as far as can be seen.
        if space::is_ours(address as u64) || !host::is_mapped(address, end) {
            return Err(Error::InvalidValue);
        }
        // SAFETY: memory, and not of ours: so the program's, by this function's own terms.
        Ok(Self::Program(unsafe { HostRange::promised(address, len) }))
    }

    /// The `len` bytes at an address that may be the device's or the program's.
    ///
    /// # Errors
    ///
    /// As for [`Self::of_host`].
    ///
    /// # Safety
    ///
    /// As for [`Self::of_host`].
    pub(crate) unsafe fn of_any(address: u64, len: u64) -> Result<Self, Error> {
        if let Some(piece) = space::find(address) {
            return Self::in_piece(piece, address, len);
        }
        let address = usize::try_from(address).map_err(|_| Error::InvalidValue)?;
        // SAFETY: this function's own terms.
        unsafe { Self::of_host(address, len) }
    }

    fn in_piece(piece: Piece, address: u64, len: u64) -> Result<Self, Error> {
        let at = address.saturating_sub(piece.start);
        let end = at.checked_add(len).ok_or(Error::InvalidValue)?;
        if end > piece.len_bytes {
            return Err(Error::InvalidValue);
        }
        Ok(match piece.owner {
            Owner::Context(context) => Self::Device { context, address },
            Owner::Host(pages) => {
                let host = pages.address().saturating_add(at);
                let too_large = |_| Error::InvalidValue;
                let (host, len) = (
                    usize::try_from(host).map_err(too_large)?,
                    usize::try_from(len).map_err(too_large)?,
                );
                // SAFETY: within pages that are kept beside it.
                let range = unsafe { HostRange::promised(host, len) };
                Self::Shared { range, pages }
            }
        })
    }

    /// Whether it is part of memory that program and device share.
    pub(crate) fn is_in(&self, whole: &Arc<Pages>) -> bool {
        matches!(self, Self::Shared { pages, .. } if Arc::ptr_eq(pages, whole))
    }

    /// Whether a stream may use it after the call.
    fn stays(&self) -> bool {
        !matches!(self, Self::Program(_))
    }

    /// The context that it belongs to, if to one.
    fn context(&self) -> Option<u32> {
        match self {
            Self::Device { context, .. } => Some(*context),
            Self::Shared { .. } | Self::Program(_) | Self::Nothing => None,
        }
    }
}

/// Carries a copy out in a stream of `context`, or now if there is no stream or the program's memory is not to be kept.
///
/// # Errors
///
/// The error that the context failed with, or that of what belongs to another context.
pub(crate) fn submit(context: &Arc<Context>, stream: Option<StreamId>, transfer: Transfer) -> Done {
    if transfer.shape.is_empty() {
        return context.open().map(|_| ());
    }
    let others: Vec<_> = [&transfer.to, &transfer.from]
        .into_iter()
        .filter_map(|end| end.place.context())
        .filter(|owner| *owner != context.serial)
        .collect();
    if let Some(stream) = stream
        && transfer.to.place.stays()
        && transfer.from.place.stays()
        && others.is_empty()
    {
        let work = Work::Copy(Box::new(transfer));
        context.open()?.queue.push(Task { stream, work });
        return Ok(());
    }
    finish(context, Until::Empty)?;
    if others.is_empty() {
        return transfer.run(&mut context.open()?.memory);
    }
    for owner in others {
        let owner = Context::numbered(owner).ok_or(Error::InvalidValue)?;
        finish(&owner, Until::Empty)?;
    }
    transfer.run_across()
}

impl Transfer {
    /// Copies, where all device memory is the given one.
    ///
    /// # Errors
    ///
    /// [`Error::IllegalAddress`] where memory was freed since the call.
    pub(crate) fn run(&self, memory: &mut DeviceMemory) -> Done {
        self.rows(|to_at, from_at, len| {
            memory.copy((&self.to.place, to_at), (&self.from.place, from_at), len)
        })
    }

    /// Copies between contexts, whose states are never held together.
    fn run_across(&self) -> Done {
        let mut buffer = Vec::new();
        self.rows(|to_at, from_at, len| {
            let mut done: u64 = 0;
            while done < len {
                let bytes = len.saturating_sub(done).min(STAGE_BYTES);
                buffer.resize(bytes as usize, 0);
                self.from
                    .place
                    .read(from_at.saturating_add(done), &mut buffer)?;
                self.to.place.write(to_at.saturating_add(done), &buffer)?;
                done = done.saturating_add(bytes);
            }
            Ok(())
        })
    }

    /// Calls `copy` with the places, from the first byte on, and the length of each row.
    fn rows(&self, mut copy: impl FnMut(u64, u64, u64) -> Done) -> Done {
        let Shape {
            width_bytes,
            height,
            depth,
        } = self.shape;
        let dense = |end: &End| end.pitch_bytes == width_bytes;
        let (width, height) = if height > 1 && dense(&self.to) && dense(&self.from) {
            (width_bytes.saturating_mul(height), 1)
        } else {
            (width_bytes, height)
        };
        for slice in 0..depth {
            for row in 0..height {
                let at = |end: &End| {
                    let slice = slice.saturating_mul(end.slice_bytes);
                    slice.saturating_add(row.saturating_mul(end.pitch_bytes))
                };
                copy(at(&self.to), at(&self.from), width)?;
            }
        }
        Ok(())
    }
}

impl Place {
    /// Copies the bytes from `at` on, whosesoever they are.
    fn read(&self, at: u64, into: &mut [u8]) -> Done {
        match self {
            Self::Device { context, address } => {
                let context = Context::numbered(*context).ok_or(Error::InvalidValue)?;
                let mut state = context.open()?;
                let address = address.saturating_add(at);
                let (allocation, at) = state.memory.within(address, into.len() as u64)?;
                allocation.read(at, into)
            }
            Self::Shared { range, .. } | Self::Program(range) => range.read(at, into),
            Self::Nothing => Ok(()),
        }
    }

    /// Writes the bytes from `at` on, whosesoever they are.
    fn write(&self, at: u64, bytes: &[u8]) -> Done {
        match self {
            Self::Device { context, address } => {
                let context = Context::numbered(*context).ok_or(Error::InvalidValue)?;
                let mut state = context.open()?;
                state.memory.write(address.saturating_add(at), bytes)
            }
            Self::Shared { range, .. } | Self::Program(range) => range.write(at, bytes),
            Self::Nothing => Ok(()),
        }
    }
}

impl DeviceMemory {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Done {
        let (allocation, at) = self.within(address, bytes.len() as u64)?;
        allocation
            .overwrite(at, bytes.len() as u64)?
            .copy_from_slice(bytes);
        Ok(())
    }

    /// Copies a row between two places, of which those in device memory are in this one. Ranges may overlap.
    fn copy(
        &mut self,
        (to, to_at): (&Place, u64),
        (from, from_at): (&Place, u64),
        len: u64,
    ) -> Done {
        match (to, from) {
            (Place::Device { address: to, .. }, Place::Device { address: from, .. }) => {
                self.copy_inside(to.saturating_add(to_at), from.saturating_add(from_at), len)
            }
            (
                Place::Device { address, .. },
                Place::Shared { range, .. } | Place::Program(range),
            ) => {
                let (allocation, at) = self.within(address.saturating_add(to_at), len)?;
                range.read(from_at, allocation.overwrite(at, len)?)
            }
            (
                Place::Shared { range, .. } | Place::Program(range),
                Place::Device { address, .. },
            ) => {
                let (allocation, at) = self.within(address.saturating_add(from_at), len)?;
                match &allocation.bytes {
                    super::Bytes::Held(bytes) => range.write(to_at, super::part(bytes, at, len)?),
                    super::Bytes::Filled(byte) => range.fill(to_at, len, &[*byte]),
                }
            }
            (
                Place::Shared { range: to, .. } | Place::Program(to),
                Place::Shared { range: from, .. } | Place::Program(from),
            ) => from.copy_to(from_at, *to, to_at, len),
            (Place::Nothing, _) | (_, Place::Nothing) => Ok(()),
        }
    }

    fn copy_inside(&mut self, to: u64, from: u64, len: u64) -> Done {
        let (source, from_at) = self.within(from, len)?;
        let source_start = from.saturating_sub(from_at);
        if let super::Bytes::Filled(byte) = source.bytes {
            let (target, at) = self.within(to, len)?;
            return target.fill(at, len, &[byte]);
        }
        // The source's bytes are taken out meanwhile, since two pieces of a map cannot be held at once.
        let bytes = std::mem::replace(&mut source.bytes, super::Bytes::Filled(0));
        let super::Bytes::Held(mut held) = bytes else {
            return Err(Error::Unknown);
        };
        let copied = if to.wrapping_sub(source_start) < held.len() as u64 {
            let to_at = to.wrapping_sub(source_start);
            super::range(to_at, len)
                .and_then(|to| Ok((to, super::range(from_at, len)?)))
                .and_then(|(to, from)| {
                    if to.end > held.len() || from.end > held.len() {
                        return Err(Error::IllegalAddress);
                    }
                    held.copy_within(from, to.start);
                    Ok(())
                })
        } else {
            super::part(&held, from_at, len).and_then(|bytes| self.write(to, bytes))
        };
        if let Some(source) = self.allocations.get_mut(&source_start) {
            source.bytes = super::Bytes::Held(held);
        }
        copied
    }
}

/// Elements to be written.
#[derive(Debug)]
pub(crate) struct Fill {
    pub(crate) to: End,
    pub(crate) shape: Shape,
    /// An element's bytes.
    pub(crate) pattern: Pattern,
}

/// The bytes of an element, of which there are 1, 2 or 4.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    bytes: [u8; 4],
    len: u8,
}

impl Pattern {
    /// An element of one byte.
    pub(crate) fn byte(value: u8) -> Self {
        Self::new(&[value])
    }

    /// An element of two bytes.
    pub(crate) fn half(value: u16) -> Self {
        Self::new(&value.to_le_bytes())
    }

    /// An element of four bytes.
    pub(crate) fn word(value: u32) -> Self {
        Self::new(&value.to_le_bytes())
    }

    fn new(value: &[u8]) -> Self {
        let mut bytes = [0; 4];
        for (byte, value) in bytes.iter_mut().zip(value) {
            *byte = *value;
        }
        Self {
            bytes,
            len: value.len() as u8,
        }
    }

    /// How many bytes an element has.
    pub(crate) fn len_bytes(self) -> u64 {
        u64::from(self.len)
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Fills in a stream of `context`, or now if there is no stream.
///
/// # Errors
///
/// As for [`submit`].
pub(crate) fn submit_fill(context: &Arc<Context>, stream: Option<StreamId>, fill: Fill) -> Done {
    if fill.shape.is_empty() {
        return context.open().map(|_| ());
    }
    let owner = match fill.to.place.context() {
        Some(owner) if owner != context.serial => {
            finish(context, Until::Empty)?;
            Context::numbered(owner).ok_or(Error::InvalidValue)?
        }
        _ => Arc::clone(context),
    };
    if let Some(stream) = stream
        && owner.serial == context.serial
    {
        let work = Work::Fill(Box::new(fill));
        owner.open()?.queue.push(Task { stream, work });
        return Ok(());
    }
    finish(&owner, Until::Empty)?;
    fill.run(&mut owner.open()?.memory)
}

impl Fill {
    /// Fills, where all device memory is the given one.
    ///
    /// # Errors
    ///
    /// [`Error::IllegalAddress`] where memory was freed since the call.
    pub(crate) fn run(&self, memory: &mut DeviceMemory) -> Done {
        let Shape {
            width_bytes,
            height,
            ..
        } = self.shape;
        let (width, height) = if height > 1 && self.to.pitch_bytes == width_bytes {
            (width_bytes.saturating_mul(height), 1)
        } else {
            (width_bytes, height)
        };
        for row in 0..height {
            let at = row.saturating_mul(self.to.pitch_bytes);
            match &self.to.place {
                Place::Device { address, .. } => {
                    let (allocation, at) = memory.within(address.saturating_add(at), width)?;
                    allocation.fill(at, width, self.pattern.bytes())?;
                }
                Place::Shared { range, .. } | Place::Program(range) => {
                    range.fill(at, width, self.pattern.bytes())?;
                }
                Place::Nothing => {}
            }
        }
        Ok(())
    }
}

/// Bytes that are copied at a time between contexts.
const STAGE_BYTES: u64 = 1 << 20;
