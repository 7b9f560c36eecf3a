//! One call of one import, in the raw numbers that cross the border.

use std::fmt;

/// An import and its arguments.
///
/// Numbers are as the guest passes them: lengths, pointers and halves may be meant unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the fields are the ABI's parameters, by name")]
pub enum Call {
    /// `wasi_cuda_load_ptx`
    LoadPtx {
        ptx_ptr: i32,
        ptx_len: i32,
        entry_ptr: i32,
        entry_len: i32,
    },
    /// `wasi_cuda_launch`
    Launch {
        kernel_id: i64,
        grid: [i32; 3],
        block: [i32; 3],
        shared_mem: i32,
        args_ptr: i32,
        args_len: i32,
    },
    /// `wasi_cuda_sync`
    Sync,
    /// `wasi_cuda_last_error_len`
    LastErrorLen,
    /// `wasi_cuda_last_error_copy`
    LastErrorCopy { dst_ptr: i32, dst_len: i32 },
    /// `wasi_cuda_alloc`
    Alloc { size_lo: i32, size_hi: i32 },
    /// `wasi_cuda_free`
    Free { handle_lo: i32, handle_hi: i32 },
    /// `wasi_cuda_memcpy_h2d`
    MemcpyH2d {
        handle_lo: i32,
        handle_hi: i32,
        src_ptr: i32,
        len: i32,
    },
    /// `wasi_cuda_memcpy_d2h`
    MemcpyD2h {
        dst_ptr: i32,
        handle_lo: i32,
        handle_hi: i32,
        len: i32,
    },
}

impl Call {
    /// An allocation of so many bytes.
    pub fn alloc(bytes: u64) -> Call {
        let [size_lo, size_hi] = halves(bytes);
        Call::Alloc { size_lo, size_hi }
    }

    /// The release of a buffer.
    pub fn free(handle: i64) -> Call {
        let [handle_lo, handle_hi] = halves(handle.cast_unsigned());
        Call::Free {
            handle_lo,
            handle_hi,
        }
    }

    /// A copy to a buffer.
    pub fn memcpy_h2d(handle: i64, src_ptr: i32, len: i32) -> Call {
        let [handle_lo, handle_hi] = halves(handle.cast_unsigned());
        Call::MemcpyH2d {
            handle_lo,
            handle_hi,
            src_ptr,
            len,
        }
    }

    /// A copy from a buffer.
    pub fn memcpy_d2h(dst_ptr: i32, handle: i64, len: i32) -> Call {
        let [handle_lo, handle_hi] = halves(handle.cast_unsigned());
        Call::MemcpyD2h {
            dst_ptr,
            handle_lo,
            handle_hi,
            len,
        }
    }

    /// The import.
    pub fn import(&self) -> Import {
        match self {
            Call::LoadPtx { .. } => Import::LoadPtx,
            Call::Launch { .. } => Import::Launch,
            Call::Sync => Import::Sync,
            Call::LastErrorLen => Import::LastErrorLen,
            Call::LastErrorCopy { .. } => Import::LastErrorCopy,
            Call::Alloc { .. } => Import::Alloc,
            Call::Free { .. } => Import::Free,
            Call::MemcpyH2d { .. } => Import::MemcpyH2d,
            Call::MemcpyD2h { .. } => Import::MemcpyD2h,
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.import().name();
        match *self {
            Call::LoadPtx {
                ptx_ptr,
                ptx_len,
                entry_ptr,
                entry_len,
            } => write!(f, "{name}({ptx_ptr}, {ptx_len}, {entry_ptr}, {entry_len})"),
            Call::Launch {
                kernel_id,
                grid,
                block,
                shared_mem,
                args_ptr,
                args_len,
            } => write!(
                f,
                "{name}({kernel_id}, grid {grid:?}, block {block:?}, {shared_mem}, {args_ptr}, {args_len})"
            ),
            Call::Sync | Call::LastErrorLen => write!(f, "{name}()"),
            Call::LastErrorCopy { dst_ptr, dst_len } => write!(f, "{name}({dst_ptr}, {dst_len})"),
            Call::Alloc { size_lo, size_hi } => {
                write!(f, "{name}({} bytes)", whole(size_lo, size_hi))
            }
            Call::Free {
                handle_lo,
                handle_hi,
            } => write!(f, "{name}({})", handle(handle_lo, handle_hi)),
            Call::MemcpyH2d {
                handle_lo,
                handle_hi,
                src_ptr,
                len,
            } => write!(
                f,
                "{name}({}, {src_ptr}, {len})",
                handle(handle_lo, handle_hi)
            ),
            Call::MemcpyD2h {
                dst_ptr,
                handle_lo,
                handle_hi,
                len,
            } => write!(
                f,
                "{name}({dst_ptr}, {}, {len})",
                handle(handle_lo, handle_hi)
            ),
        }
    }
}

/// One of the nine functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are the ABI's functions, by name")]
pub enum Import {
    LoadPtx,
    Launch,
    Sync,
    LastErrorLen,
    LastErrorCopy,
    Alloc,
    Free,
    MemcpyH2d,
    MemcpyD2h,
}

impl Import {
    /// All nine.
    pub const ALL: [Import; 9] = [
        Import::LoadPtx,
        Import::Launch,
        Import::Sync,
        Import::LastErrorLen,
        Import::LastErrorCopy,
        Import::Alloc,
        Import::Free,
        Import::MemcpyH2d,
        Import::MemcpyD2h,
    ];

    /// Its name without the prefix `wasi_cuda_`.
    pub fn name(self) -> &'static str {
        match self {
            Import::LoadPtx => "load_ptx",
            Import::Launch => "launch",
            Import::Sync => "sync",
            Import::LastErrorLen => "last_error_len",
            Import::LastErrorCopy => "last_error_copy",
            Import::Alloc => "alloc",
            Import::Free => "free",
            Import::MemcpyH2d => "memcpy_h2d",
            Import::MemcpyD2h => "memcpy_d2h",
        }
    }
}

/// The unsigned number of two halves.
pub(super) fn whole(lo: i32, hi: i32) -> u64 {
    u64::from(hi.cast_unsigned()) << 32 | u64::from(lo.cast_unsigned())
}

/// The handle of two halves.
pub(super) fn handle(lo: i32, hi: i32) -> i64 {
    whole(lo, hi).cast_signed()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the halves of a 64-bit number"
)]
fn halves(number: u64) -> [i32; 2] {
    [
        (number as u32).cast_signed(),
        ((number >> 32) as u32).cast_signed(),
    ]
}
