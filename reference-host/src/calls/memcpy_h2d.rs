use crate::calls::{buffer, copy_len};
use crate::error::Error;
use crate::guest::GuestMemory;
use crate::instance::Instance;

/// Copies guest memory to the start of a device buffer; returns 0. A refused copy writes nothing.
///
/// # Errors
///
/// -11 for a handle that is not the caller's, -9 for a length over the buffer's, -2 for a region outside memory;
/// without a device -2 or else -1.
pub fn memcpy_h2d(
    instance: &mut Instance,
    memory: Option<&mut [u8]>,
    handle_lo: i32,
    handle_hi: i32,
    src_ptr: i32,
    len: i32,
) -> i32 {
    instance.answer(
        |instance| {
            let memory = GuestMemory::new(memory);
            let buffer = match buffer(instance, handle_lo, handle_hi) {
                // Without a device the region is still validated first.
                Err(Error::NotAvailable) => {
                    memory.read("source", src_ptr, len)?;
                    return Err(Error::NotAvailable);
                }
                found => found?,
            };
            copy_len(&*buffer, len)?;
            buffer.write(memory.read("source", src_ptr, len)?)?;
            Ok(0)
        },
        |code| code,
    )
}
