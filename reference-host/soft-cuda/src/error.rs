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
    ProfilerNotInitialized "CUDA_ERROR_PROFILER_NOT_INITIALIZED" 6 "the profiler has not been initialised"
    ProfilerAlreadyStarted "CUDA_ERROR_PROFILER_ALREADY_STARTED" 7 "the profiler runs already"
    ProfilerAlreadyStopped "CUDA_ERROR_PROFILER_ALREADY_STOPPED" 8 "the profiler does not run"
    StubLibrary "CUDA_ERROR_STUB_LIBRARY" 34 "this libcuda is a stub"
    RequiresNewerDriver "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER" 36 "the call needs a newer driver"
    DeviceUnavailable "CUDA_ERROR_DEVICE_UNAVAILABLE" 46 "the device cannot be used now"
    MulticastResourceFull "CUDA_ERROR_MULTICAST_RESOURCE_FULL" 47 "no room is left for multicast"
    NoDevice "CUDA_ERROR_NO_DEVICE" 100 "there is no CUDA device"
    InvalidDevice "CUDA_ERROR_INVALID_DEVICE" 101 "no device has this ordinal"
    DeviceNotLicensed "CUDA_ERROR_DEVICE_NOT_LICENSED" 102 "the device has no licence for this"
    InvalidImage "CUDA_ERROR_INVALID_IMAGE" 200 "the image is not one that can be loaded"
    InvalidContext "CUDA_ERROR_INVALID_CONTEXT" 201 "no context is current, or the handle is not one of a context"
    ContextAlreadyCurrent "CUDA_ERROR_CONTEXT_ALREADY_CURRENT" 202 "the context is current already"
    MapFailed "CUDA_ERROR_MAP_FAILED" 205 "memory could not be mapped"
    UnmapFailed "CUDA_ERROR_UNMAP_FAILED" 206 "memory could not be unmapped"
    ArrayIsMapped "CUDA_ERROR_ARRAY_IS_MAPPED" 207 "the array is mapped"
    AlreadyMapped "CUDA_ERROR_ALREADY_MAPPED" 208 "the resource is mapped already"
    NoBinaryForGpu "CUDA_ERROR_NO_BINARY_FOR_GPU" 209 "the image holds nothing for this device"
    AlreadyAcquired "CUDA_ERROR_ALREADY_ACQUIRED" 210 "the resource has been acquired already"
    NotMapped "CUDA_ERROR_NOT_MAPPED" 211 "the resource is not mapped"
    NotMappedAsArray "CUDA_ERROR_NOT_MAPPED_AS_ARRAY" 212 "the resource is not mapped as an array"
    NotMappedAsPointer "CUDA_ERROR_NOT_MAPPED_AS_POINTER" 213 "the resource is not mapped as linear memory"
    EccUncorrectable "CUDA_ERROR_ECC_UNCORRECTABLE" 214 "memory lost bits that could not be restored"
    UnsupportedLimit "CUDA_ERROR_UNSUPPORTED_LIMIT" 215 "the device does not have this limit"
    ContextInUse "CUDA_ERROR_CONTEXT_ALREADY_IN_USE" 216 "the context is in use by another thread"
    PeerAccessUnsupported "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED" 217 "these devices do not reach each other"
    InvalidPtx "CUDA_ERROR_INVALID_PTX" 218 "the PTX does not assemble"
    InvalidGraphicsContext "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT" 219 "the context is not one of graphics"
    NvlinkUncorrectable "CUDA_ERROR_NVLINK_UNCORRECTABLE" 220 "a link between devices lost bits that could not be restored"
    JitCompilerNotFound "CUDA_ERROR_JIT_COMPILER_NOT_FOUND" 221 "the PTX compiler's library is missing"
    UnsupportedPtxVersion "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" 222 "the PTX is of a later version than the driver knows"
    JitCompilationDisabled "CUDA_ERROR_JIT_COMPILATION_DISABLED" 223 "compiling PTX is switched off"
    UnsupportedExecAffinity "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY" 224 "the device cannot be shared out like this"
    UnsupportedDevsideSync "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC" 225 "code that waits for other kernels from within one is not supported"
    Contained "CUDA_ERROR_CONTAINED" 226 "an error of the device was contained"
    InsufficientLoaderVersion "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION" 227 "the loader is older than the image needs"
    InvalidSource "CUDA_ERROR_INVALID_SOURCE" 300 "the source is not valid"
    FileNotFound "CUDA_ERROR_FILE_NOT_FOUND" 301 "the file cannot be found"
    SymbolNotFound "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND" 302 "a shared object lacks a symbol"
    SharedObjectInitFailed "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED" 303 "a shared object did not start"
    OperatingSystem "CUDA_ERROR_OPERATING_SYSTEM" 304 "the operating system refused a request"
    InvalidHandle "CUDA_ERROR_INVALID_HANDLE" 400 "the handle names no live object of its kind"
    IllegalState "CUDA_ERROR_ILLEGAL_STATE" 401 "the object is not in a state for this"
    LossyQuery "CUDA_ERROR_LOSSY_QUERY" 402 "the answer would not tell everything"
    NotFound "CUDA_ERROR_NOT_FOUND" 500 "there is nothing of this name"
    NotReady "CUDA_ERROR_NOT_READY" 600 "work is still outstanding"
    IllegalAddress "CUDA_ERROR_ILLEGAL_ADDRESS" 700 "a kernel used an address where there is no memory"
    LaunchOutOfResources "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" 701 "the launch needs more than a multiprocessor has"
    LaunchTimeout "CUDA_ERROR_LAUNCH_TIMEOUT" 702 "a kernel ran too long and was stopped"
    LaunchIncompatibleTexturing "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING" 703 "the kernel uses textures in another mode"
    PeerAccessAlreadyEnabled "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED" 704 "access between these contexts is on already"
    PeerAccessNotEnabled "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED" 705 "access between these contexts is not on"
    PrimaryContextActive "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE" 708 "the device's primary context is active already"
    ContextIsDestroyed "CUDA_ERROR_CONTEXT_IS_DESTROYED" 709 "the current context was destroyed"
    Assert "CUDA_ERROR_ASSERT" 710 "an assertion of a kernel failed"
    TooManyPeers "CUDA_ERROR_TOO_MANY_PEERS" 711 "no more devices can reach each other"
    HostMemoryAlreadyRegistered "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED" 712 "the host memory is registered already"
    HostMemoryNotRegistered "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED" 713 "the host memory is not registered"
    HardwareStackError "CUDA_ERROR_HARDWARE_STACK_ERROR" 714 "a kernel overran its stack"
    IllegalInstruction "CUDA_ERROR_ILLEGAL_INSTRUCTION" 715 "a kernel came to an instruction that is none"
    MisalignedAddress "CUDA_ERROR_MISALIGNED_ADDRESS" 716 "a kernel used an address that is not aligned for its access"
    InvalidAddressSpace "CUDA_ERROR_INVALID_ADDRESS_SPACE" 717 "a kernel used an address in a space where the instruction cannot reach"
    InvalidPc "CUDA_ERROR_INVALID_PC" 718 "a kernel went to an address where there is no code"
    LaunchFailed "CUDA_ERROR_LAUNCH_FAILED" 719 "a kernel failed"
    CooperativeLaunchTooLarge "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" 720 "a cooperative grid has more blocks than can run at once"
    TensorMemoryLeak "CUDA_ERROR_TENSOR_MEMORY_LEAK" 721 "a kernel ended without giving tensor memory back"
    NotPermitted "CUDA_ERROR_NOT_PERMITTED" 800 "the call is not allowed here"
    NotSupported "CUDA_ERROR_NOT_SUPPORTED" 801 "this driver or device does not offer the operation"
    SystemNotReady "CUDA_ERROR_SYSTEM_NOT_READY" 802 "the system is not ready for CUDA"
    SystemDriverMismatch "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" 803 "the display driver and this library do not fit"
    CompatNotSupportedOnDevice "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE" 804 "the device does not run with a driver of another version"
    MpsConnectionFailed "CUDA_ERROR_MPS_CONNECTION_FAILED" 805 "the service that shares the device cannot be reached"
    MpsRpcFailure "CUDA_ERROR_MPS_RPC_FAILURE" 806 "the service that shares the device does not answer"
    MpsServerNotReady "CUDA_ERROR_MPS_SERVER_NOT_READY" 807 "the service that shares the device is not ready"
    MpsMaxClientsReached "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED" 808 "the service that shares the device has too many clients"
    MpsMaxConnectionsReached "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED" 809 "the service that shares the device has too many connections"
    MpsClientTerminated "CUDA_ERROR_MPS_CLIENT_TERMINATED" 810 "the service that shares the device ended this client"
    CdpNotSupported "CUDA_ERROR_CDP_NOT_SUPPORTED" 811 "kernels cannot launch kernels here"
    CdpVersionMismatch "CUDA_ERROR_CDP_VERSION_MISMATCH" 812 "the program and the driver disagree on how kernels launch kernels"
    StreamCaptureUnsupported "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" 900 "the operation is not allowed while a stream is captured"
    StreamCaptureInvalidated "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" 901 "the capture has failed"
    StreamCaptureMerge "CUDA_ERROR_STREAM_CAPTURE_MERGE" 902 "the capture would take in another one"
    StreamCaptureUnmatched "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED" 903 "the capture was not begun in this stream"
    StreamCaptureUnjoined "CUDA_ERROR_STREAM_CAPTURE_UNJOINED" 904 "the capture ended before all its streams were joined"
    StreamCaptureIsolation "CUDA_ERROR_STREAM_CAPTURE_ISOLATION" 905 "the capture would depend on work outside it"
    StreamCaptureImplicit "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT" 906 "the operation would depend on a captured stream"
    CapturedEvent "CUDA_ERROR_CAPTURED_EVENT" 907 "the event was recorded in a capture"
    StreamCaptureWrongThread "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD" 908 "another thread began the capture"
    Timeout "CUDA_ERROR_TIMEOUT" 909 "a wait took too long"
    GraphExecUpdateFailure "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE" 910 "the graph has changed too much for an update"
    ExternalDevice "CUDA_ERROR_EXTERNAL_DEVICE" 911 "a device outside this program failed"
    InvalidClusterSize "CUDA_ERROR_INVALID_CLUSTER_SIZE" 912 "no cluster has this size"
    FunctionNotLoaded "CUDA_ERROR_FUNCTION_NOT_LOADED" 913 "the function is not loaded"
    InvalidResourceType "CUDA_ERROR_INVALID_RESOURCE_TYPE" 914 "no resource has this type"
    InvalidResourceConfiguration "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION" 915 "the resources cannot be combined like this"
    KeyRotation "CUDA_ERROR_KEY_ROTATION" 916 "the keys of confidential computing are being changed"
    StreamDetached "CUDA_ERROR_STREAM_DETACHED" 917 "the stream has been detached"
    GraphRecaptureFailure "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE" 918 "the graph cannot be captured anew"
    FabricNotReady "CUDA_ERROR_FABRIC_NOT_READY" 919 "the fabric between devices is not ready"
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
