//! Why a call is refused: one cause per rule, kept as a value and put into words only when a guest asks.

use thiserror::Error;

use crate::abi::{self, AbiError};
use crate::argv::ArgvError;
use crate::device::{Absence, DeviceError};
use crate::registry::OverLimit;

/// Why a call failed.
///
/// A guest sees [`Error::code`] at once, and the text through the `last_error` calls if it asks.
#[derive(Clone, Copy, Debug, Error)]
#[non_exhaustive]
pub enum Error<'a> {
    /// The host refused the call before any device saw it.
    #[error("{0}")]
    Refused(Refusal),
    /// The device refused or failed.
    #[error("{0}")]
    Device(&'a DeviceError),
}

impl Error<'_> {
    /// The code that the guest gets.
    #[must_use]
    pub const fn code(&self) -> AbiError {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Device(error) => error.code(),
        }
    }
}

/// Why the host refused a call.
///
/// It owns no memory: a refusal is recorded, and written over by the next, at the cost of a few stores.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The host has no device.
    #[error("{0}")]
    NotAvailable(Absence),
    /// The guest exports no memory that a host could read.
    #[error(
        "the module exports no unshared linear memory named `{}`",
        abi::MEMORY_EXPORT
    )]
    NoMemory,
    /// A region leaves the caller's memory.
    #[error(
        "{region}: offset {offset} with length {len} leaves the memory of {memory_bytes} bytes"
    )]
    OutOfBounds {
        /// What the region is for.
        region: &'static str,
        /// First byte.
        offset: u32,
        /// Length in bytes.
        len: u32,
        /// Size of the caller's memory.
        memory_bytes: u64,
    },
    /// A length is negative.
    #[error("{region}: length {len} is negative")]
    NegativeLength {
        /// What the region is for.
        region: &'static str,
        /// The length as passed.
        len: i32,
    },
    /// The PTX source is longer than one load may be.
    #[error("PTX of {len} bytes exceeds the cap of {}", abi::MAX_PTX_BYTES)]
    PtxTooLong {
        /// Length in bytes.
        len: u32,
    },
    /// The entry name is longer than this host takes.
    #[error(
        "entry name of {len} bytes exceeds the cap of {}",
        abi::MAX_ENTRY_NAME_BYTES
    )]
    EntryNameTooLong {
        /// Length in bytes.
        len: usize,
    },
    /// The entry name is not UTF-8.
    #[error("entry name is not UTF-8 after {valid_up_to} bytes")]
    EntryNameNotUtf8 {
        /// Length of the valid start.
        valid_up_to: usize,
    },
    /// A registry is full.
    #[error(transparent)]
    OverLimit(#[from] OverLimit),
    /// A grid dimension is not positive.
    #[error("grid {0:?}: each axis must be from 1 to {cap}", cap = abi::MAX_GRID_DIM)]
    Grid([i32; 3]),
    /// A block dimension is not positive or over its cap.
    #[error("block {0:?}: each axis must be from 1 to {cap}", cap = abi::MAX_BLOCK_DIM)]
    Block([i32; 3]),
    /// A block has too many threads.
    #[error("block {0:?}: the product exceeds {cap} threads", cap = abi::MAX_THREADS_PER_BLOCK)]
    Threads([i32; 3]),
    /// Dynamic shared memory is negative or over its cap.
    #[error("dynamic shared memory of {0} bytes: must be from 0 to {cap}", cap = abi::MAX_DYNAMIC_SHARED_BYTES)]
    SharedMemory(i32),
    /// No kernel of the caller has this id.
    #[error("kernel id {0} is not a kernel of this instance")]
    UnknownKernel(i64),
    /// The argument buffer is malformed, over its caps, or names memory that is not the caller's.
    #[error("kernel arguments: {0}")]
    Argv(#[from] ArgvError),
    /// The argument buffer has another number of records than the kernel has parameters.
    #[error("{passed} kernel arguments for a kernel with {declared} parameters")]
    ParamCount {
        /// Records passed.
        passed: usize,
        /// Parameters declared.
        declared: usize,
    },
    /// A record is wider or narrower than its parameter.
    #[error("kernel argument {index} has {passed_bytes} bytes, its parameter has {declared_bytes}")]
    ParamSize {
        /// Position, from 0.
        index: usize,
        /// Bytes of the record's value as the kernel would see it.
        passed_bytes: u32,
        /// Bytes of the parameter.
        declared_bytes: u32,
    },
    /// An allocation of nothing.
    #[error("alloc of 0 bytes: the size must be at least 1")]
    ZeroAlloc,
    /// An allocation over the cap of one buffer.
    #[error("alloc of {0} bytes exceeds the cap of {cap}", cap = abi::MAX_DEVICE_ALLOC_BYTES)]
    AllocTooLarge(u64),
    /// No buffer of the caller has this handle.
    #[error("device handle {0} is not a live buffer of this instance")]
    UnknownHandle(i64),
    /// A copy is longer than the buffer.
    #[error("copy of {len} bytes exceeds the buffer of {buffer_bytes} bytes")]
    CopyTooLong {
        /// Length of the copy.
        len: u32,
        /// Size of the buffer.
        buffer_bytes: u64,
    },
}

impl Refusal {
    /// The code that the guest gets.
    #[must_use]
    pub const fn code(&self) -> AbiError {
        match self {
            Self::NotAvailable(_) => AbiError::NotAvailable,
            Self::NoMemory | Self::OutOfBounds { .. } | Self::NegativeLength { .. } => {
                AbiError::InvalidPointer
            }
            Self::PtxTooLong { .. }
            | Self::EntryNameTooLong { .. }
            | Self::OverLimit(_)
            | Self::AllocTooLarge(_) => AbiError::QuotaExceeded,
            Self::Grid(_) | Self::Block(_) | Self::Threads(_) | Self::SharedMemory(_) => {
                AbiError::InvalidDimensions
            }
            Self::UnknownKernel(_) => AbiError::InvalidKernel,
            Self::Argv(error) => error.code(),
            Self::EntryNameNotUtf8 { .. }
            | Self::ParamCount { .. }
            | Self::ParamSize { .. }
            | Self::ZeroAlloc
            | Self::CopyTooLong { .. } => AbiError::InvalidArgs,
            Self::UnknownHandle(_) => AbiError::InvalidHandle,
        }
    }
}
