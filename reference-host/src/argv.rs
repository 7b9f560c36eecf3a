//! Kernel arguments: the wire format and its typed form.
//!
//! A buffer holds `(tag, value)` records, little-endian, without padding, in parameter order.

use smallvec::SmallVec;
use thiserror::Error;

use crate::abi::{AbiError, MAX_KERNEL_ARGS, MAX_KERNEL_ARGS_BYTES};

/// One kernel argument. Floats are kept as bits, so that NaN payloads pass through unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arg {
    /// Tag 0x01.
    I32(i32),
    /// Tag 0x02.
    I64(i64),
    /// Tag 0x03, the bits of an `f32`.
    F32(u32),
    /// Tag 0x04, the bits of an `f64`.
    F64(u64),
    /// Tag 0x05.
    U32(u32),
    /// Tag 0x06.
    U64(u64),
    /// Tag 0x07.
    Ptr(Window),
}

/// A window of guest memory that a kernel may read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// First byte.
    pub offset: u32,
    /// Length in bytes.
    pub len: u32,
}

/// The arguments of one launch; 16 of them need no heap.
pub type Args = SmallVec<[Arg; 16]>;

impl Arg {
    /// Size in bytes of the kernel parameter that takes this argument; a window arrives as an 8-byte address.
    #[must_use]
    pub const fn param_bytes(self) -> u32 {
        match self {
            Self::I32(_) | Self::F32(_) | Self::U32(_) => 4,
            Self::I64(_) | Self::F64(_) | Self::U64(_) | Self::Ptr(_) => 8,
        }
    }
}

/// Checks an argument buffer; windows must lie in a guest memory of `memory_bytes`.
///
/// The rules apply in this order: the cap on bytes; then record by record, the cap on records, the tag, the
/// value's length, the window's bounds.
///
/// # Errors
///
/// The first rule that is broken.
#[inline]
pub fn parse(bytes: &[u8], memory_bytes: u64) -> Result<Records<'_>, ArgvError> {
    if bytes.len() > MAX_KERNEL_ARGS_BYTES as usize {
        return Err(ArgvError::TooLong { len: bytes.len() });
    }
    let mut rest = bytes;
    let mut count = 0usize;
    while let Some(tag) = rest.first() {
        if count == MAX_KERNEL_ARGS {
            return Err(ArgvError::TooMany);
        }
        let Some((arg, tail)) = first_record(rest) else {
            return Err(broken_record(*tag, count, rest));
        };
        if let Arg::Ptr(window) = arg
            && !window.fits(memory_bytes)
        {
            return Err(ArgvError::Window {
                index: count,
                window,
                memory_bytes,
            });
        }
        // Never past the cap: checked above.
        count = count.saturating_add(1);
        rest = tail;
    }
    Ok(Records { rest: bytes, count })
}

/// The arguments of a buffer that [`parse`] found good, decoded one by one.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
    count: usize,
}

impl Iterator for Records<'_> {
    type Item = Arg;

    #[inline]
    fn next(&mut self) -> Option<Arg> {
        let (arg, rest) = first_record(self.rest)?;
        self.rest = rest;
        self.count = self.count.saturating_sub(1);
        Some(arg)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Records<'_> {}

/// The first record and what follows it; `None` for an unknown tag or a value that is cut off.
#[inline]
fn first_record(bytes: &[u8]) -> Option<(Arg, &[u8])> {
    let (tag, value) = bytes.split_first()?;
    Some(match tag {
        0x01 => value
            .split_first_chunk()
            .map(|(value, rest)| (Arg::I32(i32::from_le_bytes(*value)), rest))?,
        0x02 => value
            .split_first_chunk()
            .map(|(value, rest)| (Arg::I64(i64::from_le_bytes(*value)), rest))?,
        0x03 => value
            .split_first_chunk()
            .map(|(value, rest)| (Arg::F32(u32::from_le_bytes(*value)), rest))?,
        0x04 => value
            .split_first_chunk()
            .map(|(value, rest)| (Arg::F64(u64::from_le_bytes(*value)), rest))?,
        0x05 => value
            .split_first_chunk()
            .map(|(value, rest)| (Arg::U32(u32::from_le_bytes(*value)), rest))?,
        0x06 => value
            .split_first_chunk()
            .map(|(value, rest)| (Arg::U64(u64::from_le_bytes(*value)), rest))?,
        0x07 => {
            let (offset, after) = value.split_first_chunk()?;
            let (len, rest) = after.split_first_chunk()?;
            let (offset, len) = (u32::from_le_bytes(*offset), u32::from_le_bytes(*len));
            (Arg::Ptr(Window { offset, len }), rest)
        }
        _ => return None,
    })
}

/// What is wrong with a record that does not decode.
#[cold]
fn broken_record(tag: u8, index: usize, record: &[u8]) -> ArgvError {
    let value_bytes = match tag {
        0x01 | 0x03 | 0x05 => 4,
        0x02 | 0x04 | 0x06 | 0x07 => 8,
        _ => return ArgvError::UnknownTag { index, tag },
    };
    ArgvError::CutOff {
        index,
        tag,
        value_bytes,
        present: record.len().saturating_sub(1),
    }
}

/// Appends the wire form of `arg` to `out`.
pub fn encode(arg: Arg, out: &mut Vec<u8>) {
    match arg {
        Arg::I32(value) => put(out, 0x01, &value.to_le_bytes()),
        Arg::I64(value) => put(out, 0x02, &value.to_le_bytes()),
        Arg::F32(bits) => put(out, 0x03, &bits.to_le_bytes()),
        Arg::F64(bits) => put(out, 0x04, &bits.to_le_bytes()),
        Arg::U32(value) => put(out, 0x05, &value.to_le_bytes()),
        Arg::U64(value) => put(out, 0x06, &value.to_le_bytes()),
        Arg::Ptr(window) => {
            put(out, 0x07, &window.offset.to_le_bytes());
            out.extend_from_slice(&window.len.to_le_bytes());
        }
    }
}

fn put(out: &mut Vec<u8>, tag: u8, value: &[u8]) {
    out.push(tag);
    out.extend_from_slice(value);
}

impl Window {
    /// Whether the window lies in a memory of `memory_bytes` and below 4 GiB. An empty window may start at the end.
    #[must_use]
    pub fn fits(self, memory_bytes: u64) -> bool {
        let end = u64::from(self.offset).saturating_add(u64::from(self.len));
        end <= memory_bytes && end <= u64::from(u32::MAX).saturating_add(1)
    }
}

/// Why an argument buffer is refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgvError {
    /// The buffer is longer than the cap; no record was read.
    #[error("{len} bytes exceed the cap of {MAX_KERNEL_ARGS_BYTES}")]
    TooLong {
        /// Length in bytes.
        len: usize,
    },
    /// There is a record after the last one that the cap allows.
    #[error("more than {MAX_KERNEL_ARGS} records")]
    TooMany,
    /// No type has this tag.
    #[error("record {index} has unknown tag {tag:#04x}: tags are 0x01 to 0x07")]
    UnknownTag {
        /// Position of the record, from 0.
        index: usize,
        /// The tag.
        tag: u8,
    },
    /// The buffer ends within a value.
    #[error(
        "record {index} (tag {tag:#04x}) needs {value_bytes} value bytes, the buffer holds {present}"
    )]
    CutOff {
        /// Position of the record, from 0.
        index: usize,
        /// The tag.
        tag: u8,
        /// Bytes that the tag's type takes.
        value_bytes: usize,
        /// Bytes that are left.
        present: usize,
    },
    /// A window leaves the caller's memory or passes 4 GiB.
    #[error(
        "record {index}: window at offset {} with length {} leaves the memory of {memory_bytes} bytes",
        window.offset,
        window.len
    )]
    Window {
        /// Position of the record, from 0.
        index: usize,
        /// The window.
        window: Window,
        /// Size of the caller's memory.
        memory_bytes: u64,
    },
}

impl ArgvError {
    /// The code that the guest gets.
    #[must_use]
    pub const fn code(&self) -> AbiError {
        match self {
            Self::TooLong { .. } | Self::TooMany => AbiError::KernelArgsUnsupported,
            Self::UnknownTag { .. } | Self::CutOff { .. } => AbiError::InvalidArgs,
            Self::Window { .. } => AbiError::InvalidPointer,
        }
    }
}

#[cfg(test)]
mod tests;
