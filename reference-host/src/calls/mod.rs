//! The nine calls, engine-neutral: one file per import, named as the import.
//!
//! Each takes the calling guest's [`Instance`], its memory where the call needs one (`None` when the guest
//! exports none), and the raw arguments, and returns the raw result. None panics, whatever the guest passes.

mod alloc;
mod free;
mod last_error_copy;
mod last_error_len;
mod launch;
mod load_ptx;
mod memcpy_d2h;
mod memcpy_h2d;
mod sync;
#[cfg(test)]
mod tests;

pub use alloc::alloc;
pub use free::free;
pub use last_error_copy::last_error_copy;
pub use last_error_len::last_error_len;
pub use launch::{LaunchArgs, launch};
pub use load_ptx::load_ptx;
pub use memcpy_d2h::memcpy_d2h;
pub use memcpy_h2d::memcpy_h2d;
pub use sync::sync;

use crate::abi::{AbiError, Import, Value};
use crate::device::Buffer;
use crate::error::Refusal;
use crate::instance::{Held, Instance, LastError};

/// Makes a call by its table entry, for engines and tools that bind imports dynamically.
///
/// `None` when the arguments are not of the table's number and types.
#[must_use]
pub fn call(
    import: Import,
    instance: &mut Instance,
    memory: Option<&mut [u8]>,
    args: &[Value],
) -> Option<Value> {
    use Value::{I32, I64};
    Some(match (import, args) {
        (Import::LoadPtx, [I32(ptx_ptr), I32(ptx_len), I32(entry_ptr), I32(entry_len)]) => I64(
            load_ptx(instance, memory, *ptx_ptr, *ptx_len, *entry_ptr, *entry_len),
        ),
        (
            Import::Launch,
            [
                I64(kernel_id),
                I32(grid_x),
                I32(grid_y),
                I32(grid_z),
                I32(block_x),
                I32(block_y),
                I32(block_z),
                I32(shared_mem),
                I32(args_ptr),
                I32(args_len),
            ],
        ) => I32(launch(
            instance,
            memory,
            LaunchArgs {
                kernel_id: *kernel_id,
                grid: [*grid_x, *grid_y, *grid_z],
                block: [*block_x, *block_y, *block_z],
                shared_mem: *shared_mem,
                args_ptr: *args_ptr,
                args_len: *args_len,
            },
        )),
        (Import::Sync, []) => I32(sync(instance)),
        (Import::LastErrorLen, []) => I32(last_error_len(instance)),
        (Import::LastErrorCopy, [I32(dst_ptr), I32(dst_len)]) => {
            I32(last_error_copy(instance, memory, *dst_ptr, *dst_len))
        }
        (Import::Alloc, [I32(size_lo), I32(size_hi)]) => I64(alloc(instance, *size_lo, *size_hi)),
        (Import::Free, [I32(handle_lo), I32(handle_hi)]) => {
            I32(free(instance, *handle_lo, *handle_hi))
        }
        (Import::MemcpyH2d, [I32(handle_lo), I32(handle_hi), I32(src_ptr), I32(len)]) => I32(
            memcpy_h2d(instance, memory, *handle_lo, *handle_hi, *src_ptr, *len),
        ),
        (Import::MemcpyD2h, [I32(dst_ptr), I32(handle_lo), I32(handle_hi), I32(len)]) => I32(
            memcpy_d2h(instance, memory, *dst_ptr, *handle_lo, *handle_hi, *len),
        ),
        _ => return None,
    })
}

/// Makes a call for a guest that may use the interface, and turns a refusal into its code.
#[inline(always)]
fn raw<R: From<i32>>(
    instance: &mut Instance,
    call: impl FnOnce(&mut Held, &mut LastError) -> Result<R, AbiError>,
) -> R {
    let result = instance
        .enter()
        .and_then(|(held, last_error)| call(held, last_error));
    result.unwrap_or_else(|error| R::from(error.code()))
}

/// A 64-bit value that travels as two halves.
fn join(lo: i32, hi: i32) -> u64 {
    u64::from(lo.cast_unsigned()) | u64::from(hi.cast_unsigned()) << 32
}

/// Without a device no handle can exist, and "not available" says more than "unknown".
fn unknown_handle(held: &Held, last_error: &mut LastError, number: i64) -> AbiError {
    match held.host.absence {
        None => not_a_handle(last_error, number),
        Some(absence) => last_error.record(Refusal::NotAvailable(absence)),
    }
}

// In a function of its own, so that the handle reaches the record in a register.
#[cold]
#[inline(never)]
fn not_a_handle(last_error: &mut LastError, number: i64) -> AbiError {
    last_error.record_with(|| Refusal::UnknownHandle(number));
    AbiError::InvalidHandle
}

/// A copy length, refused when it is negative or over the buffer.
fn copy_len(buffer: &dyn Buffer, len: i32) -> Result<(), Refusal> {
    let len = len.cast_unsigned();
    let buffer_bytes = buffer.len_bytes();
    if u64::from(len) > buffer_bytes {
        Err(Refusal::CopyTooLong { len, buffer_bytes })
    } else {
        Ok(())
    }
}
