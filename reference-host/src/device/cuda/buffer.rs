//! Guests' buffers, in a context where no kernel runs.

use std::ffi::c_void;

use cust::sys::{CUdevice, CUdeviceptr};

use super::context::OwnContext;
use super::driver::{self, DriverError, code};
use crate::device::{Buffer, DeviceError};
use crate::sync::{Arc, Mutex};

/// Where the buffers of all instances lie: a context that is made for the first of them.
#[derive(Debug)]
pub(super) struct BufferMemory {
    device: CUdevice,
    context: Mutex<Option<Arc<OwnContext>>>,
}

impl BufferMemory {
    pub(super) fn new(device: CUdevice) -> Self {
        Self {
            device,
            context: Mutex::new(None),
        }
    }

    /// A buffer of zeros.
    pub(super) fn alloc(&self, len_bytes: u64) -> Result<Arc<dyn Buffer>, DeviceError> {
        let bytes = usize::try_from(len_bytes).map_err(|_| DeviceError::OutOfMemory(len_bytes))?;
        let context = self.context(len_bytes)?;
        let mut address = 0;
        let entered = context.enter()?;
        // SAFETY: `address` is the place for an address.
        let made = unsafe { driver::mem_alloc(&mut address, bytes) };
        drop(entered);
        made.map_err(|error| self.failed(&context, error, len_bytes))?;
        // Owned from here on: an error below frees it.
        let buffer = CudaBuffer {
            context: Arc::clone(&context),
            address,
            len_bytes,
        };
        let entered = context.enter()?;
        // SAFETY: all of the new allocation, and nothing else.
        let cleared = unsafe { driver::memset(address, 0, bytes) };
        drop(entered);
        cleared.map_err(|error| self.failed(&context, error, len_bytes))?;
        Ok(Arc::new(buffer))
    }

    /// The live context; a new one if the last was lost.
    fn context(&self, len_bytes: u64) -> Result<Arc<OwnContext>, DeviceError> {
        let mut context = self.context.lock();
        if let Some(live) = context.as_ref().filter(|context| !context.is_lost()) {
            return Ok(Arc::clone(live));
        }
        let made = OwnContext::create(self.device).map_err(|error| out_of(error, len_bytes))?;
        Ok(Arc::clone(context.insert(Arc::new(made))))
    }

    fn failed(&self, context: &OwnContext, error: DriverError, len_bytes: u64) -> DeviceError {
        context.lose_if_broken(error);
        out_of(error, len_bytes)
    }
}

/// A lack of memory by its own name.
fn out_of(error: DriverError, len_bytes: u64) -> DeviceError {
    match error.code {
        code::OUT_OF_MEMORY => DeviceError::OutOfMemory(len_bytes),
        _ => error.into(),
    }
}

/// A buffer in device memory.
#[derive(Debug)]
struct CudaBuffer {
    context: Arc<OwnContext>,
    address: CUdeviceptr,
    len_bytes: u64,
}

impl CudaBuffer {
    /// Carries out a copy of `bytes` bytes that starts at the buffer's start.
    fn copy(
        &self,
        bytes: usize,
        copy: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<(), DeviceError> {
        if bytes as u64 > self.len_bytes {
            return Err(DeviceError::Internal(
                "a copy longer than its buffer reached the device",
            ));
        }
        let entered = self.context.enter()?;
        // Also without bytes: a lost buffer must not look well.
        let copied = if bytes == 0 { Ok(()) } else { copy() };
        drop(entered);
        copied.map_err(|error| {
            self.context.lose_if_broken(error);
            error.into()
        })
    }
}

impl Buffer for CudaBuffer {
    fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn write(&self, from: &[u8]) -> Result<(), DeviceError> {
        self.copy(from.len(), || {
            let source = from.as_ptr().cast::<c_void>();
            // SAFETY: `copy` has compared the length with the allocation's.
            unsafe { driver::copy_to_device(self.address, source, from.len()) }
        })
    }

    fn read(&self, to: &mut [u8]) -> Result<(), DeviceError> {
        self.copy(to.len(), || {
            let target = to.as_mut_ptr().cast::<c_void>();
            // SAFETY: `copy` has compared the length with the allocation's, and the target is borrowed for writing.
            unsafe { driver::copy_from_device(target, self.address, to.len()) }
        })
    }
}

impl Drop for CudaBuffer {
    fn drop(&mut self) {
        // SAFETY: the allocation is this buffer's, which nobody can use any more.
        self.context
            .release(|| unsafe { driver::mem_free(self.address) });
    }
}
