//! Where kernels run.
//!
//! A device trusts what it is given: sizes are within the ABI's caps, windows lie in the guest's memory, and the
//! arguments match the kernel's parameters in number and size.

mod arguments;
#[cfg(feature = "cuda")]
mod cuda;
mod none;
mod soft;

use std::fmt;

use soft_gpu::{Entry, LaunchError, Module, PtxError, PtxErrorCause};
use thiserror::Error;

use crate::abi::AbiError;
use crate::argv::Arg;
use crate::sync::Arc;

#[cfg(feature = "cuda")]
pub use cuda::{CudaDevice, DriverError, MAX_ABANDONED};
pub use none::NoDevice;
pub use soft::SoftDevice;

/// Something that assembles PTX, runs kernels and holds buffers.
pub trait Device: fmt::Debug + Send + Sync {
    /// Why there is no device, if there is none: calls are validated and then refused as not available.
    fn absence(&self) -> Option<Absence> {
        None
    }

    /// Whether a buffer takes no memory before its first write. [`Context::alloc`] may then be called for a buffer
    /// that is over a cap and thrown away at once.
    fn allocates_on_write(&self) -> bool {
        false
    }

    /// What a new instance has of the device. It costs nothing before its first use.
    fn context(&self) -> Arc<dyn Context>;
}

/// What one instance has of a device: whatever happens in it stays there.
pub trait Context: fmt::Debug + Send + Sync {
    /// Assembles `ptx` and finds the kernel `entry` in it.
    ///
    /// # Errors
    ///
    /// The PTX is refused, or holds no such entry.
    fn load(&self, ptx: &[u8], entry: &str) -> Result<Arc<dyn Kernel>, DeviceError>;

    /// Makes a buffer of `len_bytes` zero bytes.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    fn alloc(&self, len_bytes: u64) -> Result<Arc<dyn Buffer>, DeviceError>;

    /// Waits for all work; 0 outstanding launches is success.
    ///
    /// # Errors
    ///
    /// A kernel that ran meanwhile failed.
    fn sync(&self) -> Result<(), DeviceError>;
}

/// A loaded kernel.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// Size of each parameter in bytes, in order.
    fn param_sizes(&self) -> &[u32];

    /// Runs the kernel over `shape`; `memory` is the guest's whole memory, of which the kernel may touch the
    /// windows among `args` and nothing else.
    ///
    /// # Errors
    ///
    /// The device refuses the shape, or the kernel faults.
    fn launch(&self, shape: &Shape, args: &[Arg], memory: &mut [u8]) -> Result<(), DeviceError>;
}

/// A buffer in device memory.
pub trait Buffer: fmt::Debug + Send + Sync {
    /// Its size.
    fn len_bytes(&self) -> u64;

    /// Copies `from`, which is no longer than the buffer, to its start.
    ///
    /// # Errors
    ///
    /// The device failed the copy.
    fn write(&self, from: &[u8]) -> Result<(), DeviceError>;

    /// Fills `to`, which is no longer than the buffer, from its start.
    ///
    /// # Errors
    ///
    /// The device failed the copy.
    fn read(&self, to: &mut [u8]) -> Result<(), DeviceError>;
}

/// Assembles `ptx` as the software GPU does and finds `entry`.
fn assemble(ptx: &[u8], entry: &str) -> Result<(Module, Entry), DeviceError> {
    let module = Module::load(ptx).map_err(refused)?;
    let found = module
        .entry(entry)
        .cloned()
        .ok_or_else(|| DeviceError::NoSuchEntry(entry.into()))?;
    Ok((module, found))
}

/// What is good PTX, and only beyond the software GPU, is not the guest's mistake.
fn refused(error: PtxError) -> DeviceError {
    match error.cause {
        PtxErrorCause::Unsupported(_) => DeviceError::UnsupportedPtx(Box::new(error)),
        _ => DeviceError::MalformedPtx(Box::new(error)),
    }
}

/// The assembler's words, or the driver's code where it said nothing.
#[cfg(feature = "cuda")]
fn said(log: &str, error: &DriverError) -> String {
    if log.is_empty() {
        error.to_string()
    } else {
        log.to_owned()
    }
}

/// Why a host has no device.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Absence {
    /// It was made without one, or the machine has none.
    #[error("no CUDA device on this host")]
    NoDevice,
    /// There is no driver.
    #[error("no CUDA driver on this host: libcuda.so.1 cannot be loaded")]
    NoDriver,
    /// The driver lacks functions that this host needs.
    #[error("the CUDA driver is too old: it offers version {}.{}, this host needs {}.{}", .offered / 1000, .offered % 1000 / 10, .needed / 1000, .needed % 1000 / 10)]
    DriverTooOld {
        /// The driver's version: thousands for the major, tens for the minor one.
        offered: i32,
        /// The least that will do.
        needed: i32,
    },
    /// There are devices, but not this one.
    #[error("no CUDA device has ordinal {ordinal}: this host has {count}, from 0 on")]
    NoSuchOrdinal {
        /// The device asked for.
        ordinal: u32,
        /// How many there are.
        count: u32,
    },
    /// The driver does not start.
    #[error("the CUDA driver does not start: it answers code {0}")]
    DriverFailed(u32),
}

/// The shape of a launch, within the ABI's caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks on each axis.
    pub grid: [u32; 3],
    /// Threads of a block on each axis.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub dynamic_shared_bytes: u32,
}

/// Why a device refused or failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no device.
    #[error("{0}")]
    NotAvailable(Absence),
    /// A PTX assembler rejects the source.
    #[error("PTX {0}")]
    MalformedPtx(Box<PtxError>),
    /// The source is good PTX that this device does not implement.
    #[error("PTX {0}")]
    UnsupportedPtx(Box<PtxError>),
    /// The source has no kernel of that name.
    #[error("the PTX has no entry named `{}`", .0.escape_debug())]
    NoSuchEntry(Box<str>),
    /// The kernel did not run, or did not finish.
    #[error("{0}")]
    Launch(Box<LaunchError>),
    /// There is no room for a buffer.
    #[error("the device has no room for {0} bytes more")]
    OutOfMemory(u64),
    /// The driver's assembler does not take the PTX.
    #[cfg(feature = "cuda")]
    #[error("the driver does not take the PTX: {}", said(.log, .error))]
    NotAssembled {
        /// The driver's answer.
        error: DriverError,
        /// What the assembler said.
        log: Box<str>,
    },
    /// A function of the driver failed.
    #[cfg(feature = "cuda")]
    #[error("{0}")]
    Driver(DriverError),
    /// A kernel failed, and with it the instance's context, which is made anew.
    #[cfg(feature = "cuda")]
    #[error("the launch failed: {0}; what variables of its modules held is gone")]
    LostContext(DriverError),
    /// A kernel ran for too long.
    #[cfg(feature = "cuda")]
    #[error("the kernel ran for longer than {0:?} and was given up")]
    Watchdog(std::time::Duration),
    /// Too many kernels that were given up still run.
    #[cfg(feature = "cuda")]
    #[error("the device is occupied by {0} kernels that do not end")]
    Occupied(u32),
    /// A buffer went with the device's memory.
    #[cfg(feature = "cuda")]
    #[error("the handle is no longer valid: its memory was lost when {0}")]
    Lost(DriverError),
    /// The host broke a promise it made to itself.
    #[error("internal: {0}")]
    Internal(&'static str),
}

impl DeviceError {
    /// The code that the guest gets.
    #[must_use]
    pub const fn code(&self) -> AbiError {
        match self {
            Self::NotAvailable(_) => AbiError::NotAvailable,
            Self::MalformedPtx(_) => AbiError::MalformedPtx,
            Self::NoSuchEntry(_) => AbiError::InvalidArgs,
            Self::Launch(_) | Self::OutOfMemory(_) => AbiError::LaunchFailed,
            Self::UnsupportedPtx(_) | Self::Internal(_) => AbiError::Internal,
            #[cfg(feature = "cuda")]
            Self::NotAssembled { error, .. } => error.abi_of_load(),
            #[cfg(feature = "cuda")]
            Self::Driver(error) => error.abi(),
            #[cfg(feature = "cuda")]
            Self::LostContext(error) => error.abi(),
            #[cfg(feature = "cuda")]
            Self::Watchdog(_) | Self::Occupied(_) => AbiError::LaunchFailed,
            #[cfg(feature = "cuda")]
            Self::Lost(_) => AbiError::InvalidHandle,
        }
    }
}
