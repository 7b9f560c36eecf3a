use crate::calls::{buffer, copy_len};
use crate::error::Error;
use crate::guest::GuestMemory;
use crate::instance::Instance;

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
    instance.answer(
        |instance| {
            let mut memory = GuestMemory::new(memory);
            let buffer = match buffer(instance, handle_lo, handle_hi) {
                // Without a device the region is still validated first.
                Err(Error::NotAvailable) => {
                    memory.read("destination", dst_ptr, len)?;
                    return Err(Error::NotAvailable);
                }
                found => found?,
            };
            copy_len(&*buffer, len)?;
            buffer.read(memory.write("destination", dst_ptr, len)?)?;
            Ok(0)
        },
        |code| code,
    )
}
