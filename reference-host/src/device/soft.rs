use crate::device::{Buffer, Device, DeviceError, Kernel};
use crate::sync::{Arc, Mutex};

/// The software GPU: kernels run on the CPU, within the launch call.
#[derive(Debug, Default)]
pub struct SoftDevice;

impl SoftDevice {
    /// A device.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Device for SoftDevice {
    fn load(&self, _ptx: &[u8], _entry: &str) -> Result<Arc<dyn Kernel>, DeviceError> {
        Err(DeviceError::NotAvailable)
    }

    fn alloc(&self, len_bytes: u64) -> Result<Arc<dyn Buffer>, DeviceError> {
        let len = usize::try_from(len_bytes).map_err(|_| DeviceError::OutOfMemory(len_bytes))?;
        // Asking first turns a refusal into an error; asking for zeroes then takes pages that are not yet touched.
        Vec::<u8>::new()
            .try_reserve_exact(len)
            .map_err(|_| DeviceError::OutOfMemory(len_bytes))?;
        Ok(Arc::new(HostBuffer {
            len_bytes,
            bytes: Mutex::new(vec![0; len].into_boxed_slice()),
        }))
    }

    fn sync(&self) -> Result<(), DeviceError> {
        // Launches return when their kernel has ended.
        Ok(())
    }
}

/// A buffer in the host's memory.
#[derive(Debug)]
struct HostBuffer {
    len_bytes: u64,
    bytes: Mutex<Box<[u8]>>,
}

impl Buffer for HostBuffer {
    fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn write(&self, from: &[u8]) -> Result<(), DeviceError> {
        let mut bytes = self.bytes.lock();
        bytes
            .get_mut(..from.len())
            .ok_or(COPY_TOO_LONG)?
            .copy_from_slice(from);
        Ok(())
    }

    fn read(&self, to: &mut [u8]) -> Result<(), DeviceError> {
        let bytes = self.bytes.lock();
        to.copy_from_slice(bytes.get(..to.len()).ok_or(COPY_TOO_LONG)?);
        Ok(())
    }
}

const COPY_TOO_LONG: DeviceError =
    DeviceError::Internal("a copy longer than its buffer reached the device");
