use crate::argv::Arg;
use crate::device::arguments::param_sizes;
use crate::device::{Absence, Buffer, Context, Device, DeviceError, Kernel, Shape, assemble};
use crate::sync::Arc;

/// The absence of a device: PTX is checked, nothing runs.
#[derive(Clone, Copy, Debug)]
pub struct NoDevice(pub Absence);

impl Default for NoDevice {
    fn default() -> Self {
        Self(Absence::NoDevice)
    }
}

impl Device for NoDevice {
    fn absence(&self) -> Option<Absence> {
        Some(self.0)
    }

    fn context(&self) -> Arc<dyn Context> {
        Arc::new(*self)
    }
}

impl Context for NoDevice {
    fn load(&self, ptx: &[u8], entry: &str) -> Result<Arc<dyn Kernel>, DeviceError> {
        match assemble(ptx, entry) {
            Ok((_, entry)) => Ok(Arc::new(CheckedKernel {
                param_sizes: param_sizes(entry.params()),
                absence: self.0,
            })),
            // Good PTX, but its parameters are not known: there is nothing to hand out an id for.
            Err(DeviceError::UnsupportedPtx(_)) => Err(DeviceError::NotAvailable(self.0)),
            Err(error) => Err(error),
        }
    }

    fn alloc(&self, _len_bytes: u64) -> Result<Arc<dyn Buffer>, DeviceError> {
        Err(DeviceError::NotAvailable(self.0))
    }

    fn sync(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// A kernel that was assembled and can be launched in form only.
#[derive(Debug)]
struct CheckedKernel {
    param_sizes: Box<[u32]>,
    absence: Absence,
}

impl Kernel for CheckedKernel {
    fn param_sizes(&self) -> &[u32] {
        &self.param_sizes
    }

    fn launch(&self, _shape: &Shape, _args: &[Arg], _memory: &mut [u8]) -> Result<(), DeviceError> {
        Err(DeviceError::NotAvailable(self.absence))
    }
}
