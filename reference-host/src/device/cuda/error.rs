//! What a code of the driver means, by what the host was doing.

use super::context::EnterError;
use super::driver::{DriverError, code};
use crate::abi::AbiError;
use crate::device::DeviceError;

impl DriverError {
    /// The code that the guest gets when the driver fails anything but assembling: launch-failed, or internal where only a mistake of this host
    /// explains the answer.
    pub(in crate::device) const fn abi(self) -> AbiError {
        match self.code {
            code::INVALID_CONTEXT
            | code::INVALID_HANDLE
            | code::CONTEXT_IS_DESTROYED
            | code::NOT_INITIALIZED => AbiError::Internal,
            _ => AbiError::LaunchFailed,
        }
    }

    /// The code that the guest gets when the driver does not take its PTX.
    pub(in crate::device) const fn abi_of_load(self) -> AbiError {
        match self.code {
            code::INVALID_PTX
            | code::INVALID_IMAGE
            | code::INVALID_SOURCE
            | code::NO_BINARY_FOR_GPU
            | code::UNSUPPORTED_PTX_VERSION => AbiError::MalformedPtx,
            code::NOT_SUPPORTED | code::JIT_COMPILER_NOT_FOUND | code::JIT_COMPILATION_DISABLED => {
                AbiError::Internal
            }
            _ => self.abi(),
        }
    }

    /// Whether the context is as good as before. Any other failure of a launch, or of waiting for one, ends it.
    pub(super) const fn spares_context(self) -> bool {
        matches!(
            self.code,
            code::INVALID_VALUE | code::OUT_OF_MEMORY | code::LAUNCH_OUT_OF_RESOURCES
        )
    }
}

impl From<DriverError> for DeviceError {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

impl From<EnterError> for DeviceError {
    fn from(error: EnterError) -> Self {
        match error {
            EnterError::Lost(why) => Self::Lost(why),
            EnterError::Failed(error) => Self::Driver(error),
        }
    }
}
