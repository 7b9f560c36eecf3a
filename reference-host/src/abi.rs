//! The ABI as data: the import table, the error codes and the caps. Everything else derives from this file.
//!
//! Source: `wit/wasi-cuda.wit` for the names, `wit/ERRATA.md` for what the published interface leaves open.

/// The import module; its version is the WIT package's version.
pub const MODULE: &str = "wasi:cuda/host@0.2.0";

/// The name under which a guest exports the linear memory that every offset refers to.
pub const MEMORY_EXPORT: &str = "memory";

/// A deprecated import: the name stays reserved, no host defines it, so a module that asks for it does not link.
pub const RESERVED_IMPORT: &str = "wasi_cuda_last_error_ptr";

/// A core wasm value type that the ABI uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
}

/// A raw argument or result of an ABI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// 32-bit integer.
    I32(i32),
    /// 64-bit integer.
    I64(i64),
}

impl Value {
    /// The type of this value.
    #[must_use]
    pub const fn value_type(self) -> ValueType {
        match self {
            Self::I32(_) => ValueType::I32,
            Self::I64(_) => ValueType::I64,
        }
    }

    /// The value, sign-extended: an error code compares equal whichever width carried it.
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        match self {
            Self::I32(value) => value as i64,
            Self::I64(value) => value,
        }
    }
}

/// Declares the imports: the enum, the array of them all, and each one's signature.
macro_rules! imports {
    ($($(#[$doc:meta])* $variant:ident $name:literal ($($param:ident: $ty:ident),*) -> $result:ident;)*) => {
        /// One function of the import module.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Import { $($(#[$doc])* $variant,)* }

        impl Import {
            /// Every import, in the order of the ABI.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name under which a guest imports it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Parameter names and types, in order.
            #[must_use]
            pub const fn params(self) -> &'static [(&'static str, ValueType)] {
                match self { $(Self::$variant => &[$((stringify!($param), ValueType::$ty)),*],)* }
            }

            /// The type of the one result.
            #[must_use]
            pub const fn result(self) -> ValueType {
                match self { $(Self::$variant => ValueType::$result,)* }
            }
        }
    };
}

imports! {
    /// Assembles PTX and finds an entry in it; the result is a kernel id.
    LoadPtx "wasi_cuda_load_ptx" (ptx_ptr: I32, ptx_len: I32, entry_ptr: I32, entry_len: I32) -> I64;
    /// Runs a kernel.
    Launch "wasi_cuda_launch" (
        kernel_id: I64, grid_x: I32, grid_y: I32, grid_z: I32, block_x: I32, block_y: I32, block_z: I32,
        shared_mem: I32, args_ptr: I32, args_len: I32
    ) -> I32;
    /// Waits for the caller's outstanding work.
    Sync "wasi_cuda_sync" () -> I32;
    /// Length of the recorded error message.
    LastErrorLen "wasi_cuda_last_error_len" () -> I32;
    /// Copies the recorded error message out.
    LastErrorCopy "wasi_cuda_last_error_copy" (dst_ptr: I32, dst_len: I32) -> I32;
    /// Allocates a zeroed device buffer; the result is a device handle.
    Alloc "wasi_cuda_alloc" (size_lo: I32, size_hi: I32) -> I64;
    /// Frees a device buffer.
    Free "wasi_cuda_free" (handle_lo: I32, handle_hi: I32) -> I32;
    /// Copies guest memory into a device buffer.
    MemcpyH2d "wasi_cuda_memcpy_h2d" (handle_lo: I32, handle_hi: I32, src_ptr: I32, len: I32) -> I32;
    /// Copies a device buffer into guest memory.
    MemcpyD2h "wasi_cuda_memcpy_d2h" (dst_ptr: I32, handle_lo: I32, handle_hi: I32, len: I32) -> I32;
}

/// Declares the error codes: the enum, the array of them all, and each one's name.
macro_rules! errors {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// Why a call failed, as the guest sees it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum AbiError { $($(#[$doc])* $variant = $code,)* }

        impl AbiError {
            /// Every error, from code -1 downwards.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name of the WIT case, words joined by `-`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

errors! {
    /// No CUDA on this host, or the capability was not granted.
    NotAvailable = -1, "not-available";
    /// A pointer and length leave the caller's memory, or no memory is exported.
    InvalidPointer = -2, "invalid-pointer";
    /// The kernel id is unknown or another instance's.
    InvalidKernel = -3, "invalid-kernel";
    /// Bytes that a PTX assembler rejects.
    MalformedPtx = -4, "malformed-ptx";
    /// The driver failed the launch, the wait, the allocation or the copy.
    LaunchFailed = -5, "launch-failed";
    /// A cap is exceeded.
    QuotaExceeded = -6, "quota-exceeded";
    /// The host failed for reasons of its own.
    Internal = -7, "internal";
    /// A grid or block dimension is not positive or over its cap.
    InvalidDimensions = -8, "invalid-dimensions";
    /// A structurally invalid argument.
    InvalidArgs = -9, "invalid-args";
    /// Kernel arguments are well formed but over their caps.
    KernelArgsUnsupported = -10, "kernel-args-unsupported";
    /// The device handle is unknown, freed, or another instance's.
    InvalidHandle = -11, "invalid-handle";
}

impl AbiError {
    /// The negative code that a call returns.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The error with this code.
    #[must_use]
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|error| i64::from(error.code()) == code)
    }

    /// The error with this WIT name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|error| error.name() == name)
    }

    /// The name used in logs, words joined by `_`.
    #[must_use]
    pub fn log_name(self) -> String {
        self.name().replace('-', "_")
    }
}

impl Import {
    /// The import with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|import| import.name() == name)
    }
}

/// Longest PTX source of one load, in bytes.
pub const MAX_PTX_BYTES: u64 = 8 << 20;
/// Live kernels of one instance.
pub const MAX_KERNELS_PER_INSTANCE: u64 = 256;
/// PTX bytes behind the live kernels of one instance.
pub const MAX_TOTAL_PTX_BYTES: u64 = 64 * MAX_PTX_BYTES;
/// Largest block dimension on each axis.
pub const MAX_BLOCK_DIM: u32 = 1024;
/// Largest product of the three block dimensions.
pub const MAX_THREADS_PER_BLOCK: u64 = 1024;
/// Largest grid dimension on each axis; an `i32` above it reads as negative.
pub const MAX_GRID_DIM: u32 = i32::MAX as u32;
/// Records in one argument buffer.
pub const MAX_KERNEL_ARGS: usize = 128;
/// Bytes of one argument buffer.
pub const MAX_KERNEL_ARGS_BYTES: u32 = 4096;
/// Largest device buffer, in bytes.
pub const MAX_DEVICE_ALLOC_BYTES: u64 = 256 << 20;
/// Live device buffers of one instance.
pub const MAX_DEVICE_ALLOCS_PER_INSTANCE: u64 = 4096;
/// Bytes in live device buffers of one instance.
pub const MAX_TOTAL_DEVICE_BYTES: u64 = 16 * MAX_DEVICE_ALLOC_BYTES;

/// Longest entry name, in bytes. An implementation cap, not the ABI's.
pub const MAX_ENTRY_NAME_BYTES: u32 = 256;
/// Longest error message, in bytes, its ellipsis included. An implementation cap, not the ABI's.
pub const MAX_LAST_ERROR_BYTES: usize = 512;
/// Most dynamic shared memory of one launch, in bytes. An implementation cap, not the ABI's.
pub const MAX_DYNAMIC_SHARED_BYTES: u32 = 228 << 10;
/// Live device buffers of a whole host. An implementation cap, not the ABI's.
pub const MAX_DEVICE_ALLOCS_PER_HOST: u64 = 4 * MAX_DEVICE_ALLOCS_PER_INSTANCE;
/// Bytes in live device buffers of a whole host. An implementation cap, not the ABI's.
pub const MAX_DEVICE_BYTES_PER_HOST: u64 = 4 * MAX_TOTAL_DEVICE_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_down_from_minus_one_and_map_both_ways() {
        assert_eq!(AbiError::ALL.len(), 11);
        for (expected, error) in (1..).zip(AbiError::ALL) {
            assert_eq!(error.code(), -expected);
            assert_eq!(AbiError::from_code(i64::from(-expected)), Some(*error));
            assert_eq!(AbiError::from_name(error.name()), Some(*error));
        }
        assert_eq!(AbiError::from_code(0), None);
        assert_eq!(AbiError::from_code(-12), None);
        assert_eq!(
            AbiError::KernelArgsUnsupported.log_name(),
            "kernel_args_unsupported"
        );
    }

    #[test]
    fn the_table_has_nine_imports_and_not_the_reserved_one() {
        assert_eq!(Import::ALL.len(), 9);
        assert!(
            Import::ALL
                .iter()
                .all(|import| Import::from_name(import.name()) == Some(*import))
        );
        assert_eq!(Import::from_name(RESERVED_IMPORT), None);
        assert_eq!(Import::Launch.params().len(), 10);
    }
}
