//! NVIDIA hardware, driven through `cust`.
//!
//! Guests' buffers and guests' kernels never share a context. Buffers lie in a context in which no kernel runs ([`buffer`]). Each instance gets a
//! context of its own for kernels when it first loads one ([`kernels`]), and a fault ends that context only: it is destroyed, and made anew at the
//! next launch, with the modules of the kernels that are launched. So a guest's handles and the bytes behind them outlive the guest's faults, other
//! instances notice nothing, and no kernel has an address space with another guest's bytes in it.
//!
//! The documentation of the driver API promises less: after such an error, it says, the process should be ended. That contexts of one process fail each
//! for itself is how drivers behave; should one take the context of the buffers along, their handles are refused with the reason.

#![allow(
    unsafe_code,
    reason = "the driver API is C: every call of it is unsafe, and each block says why it is sound"
)]

mod buffer;
mod context;
mod driver;
mod error;
mod forward;
mod kernels;
mod windows;

use std::ffi::CStr;
use std::time::Duration;

use cust::sys::CUdevice;

use self::buffer::BufferMemory;
use self::kernels::KernelContext;
use crate::device::{Absence, Context, Device};
use crate::sync::{Arc, AtomicU32, Ordering};

pub use driver::DriverError;

/// An NVIDIA GPU.
///
/// A kernel runs within the launch call, and what it wrote to its windows is in the guest's memory when that returns.
#[derive(Clone, Debug)]
pub struct CudaDevice {
    gpu: Arc<Gpu>,
    watchdog: Duration,
}

/// What all instances share of a GPU.
#[derive(Debug)]
struct Gpu {
    device: CUdevice,
    buffers: BufferMemory,
    /// Contexts in which a kernel does not end.
    abandoned: AtomicU32,
}

impl CudaDevice {
    /// The device with this ordinal, of those that the driver shows (`CUDA_VISIBLE_DEVICES` chooses which).
    ///
    /// # Errors
    ///
    /// Why there is none: no driver, one that is too old, no device, or fewer than that.
    pub fn open(ordinal: u32) -> Result<Self, Absence> {
        driver::start()?;
        let failed = |error: DriverError| Absence::DriverFailed(error.code);
        let mut count = 0;
        // SAFETY: `count` is the place for an `int`.
        unsafe { driver::device_count(&mut count) }.map_err(failed)?;
        let count = u32::try_from(count).unwrap_or(0);
        let known = i32::try_from(ordinal).ok().filter(|_| ordinal < count);
        let Some(known) = known else {
            return Err(match count {
                0 => Absence::NoDevice,
                count => Absence::NoSuchOrdinal { ordinal, count },
            });
        };
        let mut device = 0;
        // SAFETY: `device` is the place for a device.
        unsafe { driver::device(&mut device, known) }.map_err(failed)?;
        Ok(Self {
            gpu: Arc::new(Gpu {
                device,
                buffers: BufferMemory::new(device),
                abandoned: AtomicU32::new(0),
            }),
            watchdog: DEFAULT_WATCHDOG,
        })
    }

    /// The same device with another watchdog: a launch whose kernel runs longer than this fails.
    ///
    /// The driver cannot stop a kernel. Its context is given up, which the GPU takes turns with others; after [`MAX_ABANDONED`] of those, kernels are
    /// refused until one of them has ended.
    #[must_use]
    pub fn watchdog(self, watchdog: Duration) -> Self {
        Self { watchdog, ..self }
    }

    /// The device's name and memory in bytes, for people.
    ///
    /// # Errors
    ///
    /// The driver fails.
    pub fn describe(&self) -> Result<(String, u64), DriverError> {
        let mut name = [0; 256];
        let mut bytes = 0usize;
        // SAFETY: the name has the room that is said, and `bytes` is the place for a size.
        unsafe {
            driver::device_name(name.as_mut_ptr().cast(), 256, self.gpu.device)?;
            driver::device_memory(&mut bytes, self.gpu.device)?;
        }
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        Ok((name, bytes as u64))
    }
}

impl Device for CudaDevice {
    fn context(&self) -> Arc<dyn Context> {
        Arc::new(KernelContext::new(self.clone()))
    }
}

impl Gpu {
    /// Whether there is room for kernels beside those that do not end.
    fn has_room(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed) < MAX_ABANDONED
    }
}

/// Long enough for kernels that do real work.
const DEFAULT_WATCHDOG: Duration = Duration::from_secs(10);

/// How many contexts with a kernel that does not end a device may have.
pub const MAX_ABANDONED: u32 = 8;

impl crate::Host {
    /// A host with the CUDA device of this ordinal; without one it has the `no-device` profile, and calls say why.
    #[must_use]
    pub fn cuda(ordinal: u32) -> Arc<Self> {
        match CudaDevice::open(ordinal) {
            Ok(device) => Self::new(device),
            Err(absence) => Self::new(crate::device::NoDevice(absence)),
        }
    }
}
