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

/// Decodes an argument buffer; windows are checked against a guest memory of `memory_bytes`.
///
/// The rules apply in this order: the cap on bytes; then record by record, the cap on records, the tag, the
/// value's length, the window's bounds.
///
/// # Errors
///
/// The first rule that is broken.
pub fn decode(bytes: &[u8], memory_bytes: u64) -> Result<Args, ArgvError> {
    if bytes.len() > MAX_KERNEL_ARGS_BYTES as usize {
        return Err(ArgvError::TooLong { len: bytes.len() });
    }
    let mut args = Args::new();
    let mut rest = bytes;
    while let [tag, after_tag @ ..] = rest {
        let index = args.len();
        if index == MAX_KERNEL_ARGS {
            return Err(ArgvError::TooMany);
        }
        let cut_off = |value_bytes| ArgvError::CutOff {
            index,
            tag: *tag,
            value_bytes,
            present: after_tag.len(),
        };
        let word = || after_tag.split_first_chunk::<4>().ok_or_else(|| cut_off(4));
        let double = || after_tag.split_first_chunk::<8>().ok_or_else(|| cut_off(8));
        let arg;
        (arg, rest) = match tag {
            0x01 => word().map(|(value, rest)| (Arg::I32(i32::from_le_bytes(*value)), rest))?,
            0x02 => double().map(|(value, rest)| (Arg::I64(i64::from_le_bytes(*value)), rest))?,
            0x03 => word().map(|(value, rest)| (Arg::F32(u32::from_le_bytes(*value)), rest))?,
            0x04 => double().map(|(value, rest)| (Arg::F64(u64::from_le_bytes(*value)), rest))?,
            0x05 => word().map(|(value, rest)| (Arg::U32(u32::from_le_bytes(*value)), rest))?,
            0x06 => double().map(|(value, rest)| (Arg::U64(u64::from_le_bytes(*value)), rest))?,
            0x07 => {
                let ([o0, o1, o2, o3, l0, l1, l2, l3], rest) = double()?;
                let window = Window {
                    offset: u32::from_le_bytes([*o0, *o1, *o2, *o3]),
                    len: u32::from_le_bytes([*l0, *l1, *l2, *l3]),
                };
                if !window.fits(memory_bytes) {
                    return Err(ArgvError::Window {
                        index,
                        window,
                        memory_bytes,
                    });
                }
                (Arg::Ptr(window), rest)
            }
            _ => return Err(ArgvError::UnknownTag { index, tag: *tag }),
        };
        args.push(arg);
    }
    Ok(args)
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
