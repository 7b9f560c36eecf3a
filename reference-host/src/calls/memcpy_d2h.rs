use crate::calls::{copy_len, join, raw, unknown_handle};
use crate::guest::GuestMemory;
use crate::instance::{Instance, OrRecord};
use crate::registry::Id;

/// Copies the start of a device buffer into guest memory; returns 0. A refused copy writes nothing.
///
/// # Errors
///
/// -11 for a handle that is not the caller's, -9 for a length over the buffer's, -2 for a region outside memory;
/// without a device -2 or else -1.
pub fn memcpy_d2h(
    instance: &mut Instance,
    memory: Option<&mut [u8]>,
    dst_ptr: i32,
    handle_lo: i32,
    handle_hi: i32,
    len: i32,
) -> i32 {
    raw(instance, |held, last_error| {
        let mut memory = GuestMemory::new(memory);
        let number = join(handle_lo, handle_hi).cast_signed();
        let Some(buffer) = held.buffer(Id::new(number)) else {
            if held.host.absence.is_some() {
                // No handle can be right here; the region is validated all the same.
                memory
                    .read("destination", dst_ptr, len)
                    .or_record(last_error)?;
            }
            return Err(unknown_handle(held, last_error, number));
        };
        copy_len(buffer, len).or_record(last_error)?;
        let destination = memory
            .write("destination", dst_ptr, len)
            .or_record(last_error)?;
        buffer.read(destination).or_record(last_error)?;
        Ok(0)
    })
}
