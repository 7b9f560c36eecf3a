//! What all instances of one process share: a device and the budgets.

use crate::abi;
use crate::device::{Absence, Buffer, Device, Kernel, NoDevice, SoftDevice};
use crate::instance::Instance;
use crate::registry::{Limits, Registry, Usage};
use crate::sync::Arc;

/// A device and the process-wide budgets; it outlives the instances it serves.
#[derive(Debug)]
pub struct Host {
    pub(crate) device: Box<dyn Device>,
    pub(crate) absence: Option<Absence>,
    pub(crate) allocates_on_write: bool,
    pub(crate) kernels: Registry<dyn Kernel>,
    pub(crate) buffers: Registry<dyn Buffer>,
}

impl Host {
    /// A host with `device`.
    #[must_use]
    pub fn new(device: impl Device + 'static) -> Arc<Self> {
        let kernels = Limits {
            count: abi::MAX_KERNELS_PER_INSTANCE,
            bytes: abi::MAX_TOTAL_PTX_BYTES,
        };
        let buffers = Limits {
            count: abi::MAX_DEVICE_ALLOCS_PER_INSTANCE,
            bytes: abi::MAX_TOTAL_DEVICE_BYTES,
        };
        let budget = Limits {
            count: abi::MAX_DEVICE_ALLOCS_PER_HOST,
            bytes: abi::MAX_DEVICE_BYTES_PER_HOST,
        };
        Arc::new(Self {
            absence: device.absence(),
            allocates_on_write: device.allocates_on_write(),
            device: Box::new(device),
            kernels: Registry::new(kernels, Limits::NONE),
            buffers: Registry::new(buffers, budget),
        })
    }

    /// A host whose kernels run on the CPU: the `device` profile.
    #[must_use]
    pub fn soft() -> Arc<Self> {
        Self::new(SoftDevice::new())
    }

    /// A host without a device: the `no-device` profile.
    #[must_use]
    pub fn none() -> Arc<Self> {
        Self::new(NoDevice::default())
    }

    /// State for a new guest that may use the interface.
    #[must_use]
    pub fn instance(self: &Arc<Self>) -> Instance {
        Instance::new(Arc::clone(self), true)
    }

    /// State for a new guest that may not: the `disabled` profile, in which every call returns -1.
    #[must_use]
    pub fn instance_without_capability(self: &Arc<Self>) -> Instance {
        Instance::new(Arc::clone(self), false)
    }

    /// Live kernels of all instances and the PTX bytes behind them.
    #[must_use]
    pub fn kernel_usage(&self) -> Usage {
        self.kernels.usage()
    }

    /// Live device buffers of all instances and their bytes.
    #[must_use]
    pub fn buffer_usage(&self) -> Usage {
        self.buffers.usage()
    }
}
