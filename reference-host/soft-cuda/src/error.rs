//! Everything a call can answer but success.

/// Declares [`Error`] with numbers, names and words.
macro_rules! errors {
    ($($variant:ident $name:literal $number:literal $words:literal)*) => {
        /// A code of the driver API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[repr(u32)]
        #[non_exhaustive]
        pub enum Error {$(
            #[doc = concat!("`", $name, "`: ", $words, ".")]
            #[error($words)]
            $variant = $number,
        )*}

        impl Error {
            /// Every code, in ascending order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The driver API's name of the code, as a C string.
            #[must_use]
            pub const fn name(self) -> &'static std::ffi::CStr {
                match self {$(
                    Self::$variant => c_str(concat!($name, "\0")),
                )*}
            }

            /// What it means, as a C string.
            #[must_use]
            pub const fn words(self) -> &'static std::ffi::CStr {
                match self {$(
                    Self::$variant => c_str(concat!($words, "\0")),
                )*}
            }
        }
    };
}

impl Error {
    /// The number that a call returns.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The code with this number.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|error| error.number() == number)
    }
}

const fn c_str(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

errors! {
    InvalidValue "CUDA_ERROR_INVALID_VALUE" 1 "a value is outside what the function takes"
    OutOfMemory "CUDA_ERROR_OUT_OF_MEMORY" 2 "no memory is left"
    NotInitialized "CUDA_ERROR_NOT_INITIALIZED" 3 "cuInit has not been called"
    Deinitialized "CUDA_ERROR_DEINITIALIZED" 4 "the driver is shutting down"
    ProfilerDisabled "CUDA_ERROR_PROFILER_DISABLED" 5 "there is no profiler to steer"
    StubLibrary "CUDA_ERROR_STUB_LIBRARY" 34 "this libcuda is a stub"
    RequiresNewerDriver "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER" 36 "the call needs a newer driver"
    DeviceUnavailable "CUDA_ERROR_DEVICE_UNAVAILABLE" 46 "the device cannot be used now"
    NoDevice "CUDA_ERROR_NO_DEVICE" 100 "there is no CUDA device"
    InvalidDevice "CUDA_ERROR_INVALID_DEVICE" 101 "no device has this ordinal"
    InvalidImage "CUDA_ERROR_INVALID_IMAGE" 200 "the image is not one that can be loaded"
    InvalidContext "CUDA_ERROR_INVALID_CONTEXT" 201 "no context is current, or the handle is not one of a context"
    MapFailed "CUDA_ERROR_MAP_FAILED" 205 "memory could not be mapped"
    UnmapFailed "CUDA_ERROR_UNMAP_FAILED" 206 "memory could not be unmapped"
    NoBinaryForGpu "CUDA_ERROR_NO_BINARY_FOR_GPU" 209 "the image holds nothing for this device"
    NotMapped "CUDA_ERROR_NOT_MAPPED" 211 "the resource is not mapped"
    EccUncorrectable "CUDA_ERROR_ECC_UNCORRECTABLE" 214 "memory lost bits that could not be restored"
    UnsupportedLimit "CUDA_ERROR_UNSUPPORTED_LIMIT" 215 "the device does not have this limit"
    ContextInUse "CUDA_ERROR_CONTEXT_ALREADY_IN_USE" 216 "the context is in use by another thread"
    PeerAccessUnsupported "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED" 217 "these devices do not reach each other"
    InvalidPtx "CUDA_ERROR_INVALID_PTX" 218 "the PTX does not assemble"
    JitCompilerNotFound "CUDA_ERROR_JIT_COMPILER_NOT_FOUND" 221 "the PTX compiler's library is missing"
    UnsupportedPtxVersion "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" 222 "the PTX is of a later version than the driver knows"
    JitCompilationDisabled "CUDA_ERROR_JIT_COMPILATION_DISABLED" 223 "compiling PTX is switched off"
    InvalidSource "CUDA_ERROR_INVALID_SOURCE" 300 "the source is not valid"
    FileNotFound "CUDA_ERROR_FILE_NOT_FOUND" 301 "the file cannot be found"
    SymbolNotFound "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND" 302 "a shared object lacks a symbol"
    SharedObjectInitFailed "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED" 303 "a shared object did not start"
    OperatingSystem "CUDA_ERROR_OPERATING_SYSTEM" 304 "the operating system refused a request"
    InvalidHandle "CUDA_ERROR_INVALID_HANDLE" 400 "the handle names no live object of its kind"
    IllegalState "CUDA_ERROR_ILLEGAL_STATE" 401 "the object is not in a state for this"
    NotFound "CUDA_ERROR_NOT_FOUND" 500 "there is nothing of this name"
    NotReady "CUDA_ERROR_NOT_READY" 600 "work is still outstanding"
    IllegalAddress "CUDA_ERROR_ILLEGAL_ADDRESS" 700 "a kernel used an address where there is no memory"
    LaunchOutOfResources "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" 701 "the launch needs more than a multiprocessor has"
    LaunchTimeout "CUDA_ERROR_LAUNCH_TIMEOUT" 702 "a kernel ran too long and was stopped"
    PeerAccessAlreadyEnabled "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED" 704 "access between these contexts is on already"
    PeerAccessNotEnabled "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED" 705 "access between these contexts is not on"
    PrimaryContextActive "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE" 708 "the device's primary context is active already"
    ContextIsDestroyed "CUDA_ERROR_CONTEXT_IS_DESTROYED" 709 "the current context was destroyed"
    Assert "CUDA_ERROR_ASSERT" 710 "an assertion of a kernel failed"
    HostMemoryAlreadyRegistered "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED" 712 "the host memory is registered already"
    HostMemoryNotRegistered "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED" 713 "the host memory is not registered"
    HardwareStackError "CUDA_ERROR_HARDWARE_STACK_ERROR" 714 "a kernel overran its stack"
    IllegalInstruction "CUDA_ERROR_ILLEGAL_INSTRUCTION" 715 "a kernel came to an instruction that is none"
    MisalignedAddress "CUDA_ERROR_MISALIGNED_ADDRESS" 716 "a kernel used an address that is not aligned for its access"
    InvalidAddressSpace "CUDA_ERROR_INVALID_ADDRESS_SPACE" 717 "a kernel used an address in a space where the instruction cannot reach"
    InvalidPc "CUDA_ERROR_INVALID_PC" 718 "a kernel went to an address where there is no code"
    LaunchFailed "CUDA_ERROR_LAUNCH_FAILED" 719 "a kernel failed"
    CooperativeLaunchTooLarge "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" 720 "a cooperative grid has more blocks than can run at once"
    NotPermitted "CUDA_ERROR_NOT_PERMITTED" 800 "the call is not allowed here"
    NotSupported "CUDA_ERROR_NOT_SUPPORTED" 801 "this driver or device does not offer the operation"
    SystemNotReady "CUDA_ERROR_SYSTEM_NOT_READY" 802 "the system is not ready for CUDA"
    SystemDriverMismatch "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" 803 "the display driver and this library do not fit"
    StreamCaptureUnsupported "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" 900 "the operation is not allowed while a stream is captured"
    StreamCaptureInvalidated "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" 901 "the capture has failed"
    StreamCaptureUnmatched "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED" 903 "the capture was not begun in this stream"
    StreamCaptureImplicit "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT" 906 "the operation would depend on a captured stream"
    Timeout "CUDA_ERROR_TIMEOUT" 909 "a wait took too long"
    GraphExecUpdateFailure "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE" 910 "the graph has changed too much for an update"
    InvalidClusterSize "CUDA_ERROR_INVALID_CLUSTER_SIZE" 912 "no cluster has this size"
    FunctionNotLoaded "CUDA_ERROR_FUNCTION_NOT_LOADED" 913 "the function is not loaded"
    InvalidResourceType "CUDA_ERROR_INVALID_RESOURCE_TYPE" 914 "no resource has this type"
    Unknown "CUDA_ERROR_UNKNOWN" 999 "something failed that has no code of its own"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_lead_back() {
        assert!(Error::ALL.is_sorted_by_key(|error| error.number()));
        for error in Error::ALL {
            assert_eq!(Error::of(error.number()), Some(*error));
            assert!(error.name().to_bytes().starts_with(b"CUDA_ERROR_"));
            assert!(!error.words().is_empty());
        }
        assert_eq!(Error::of(0), None);
    }
}
