use crate::abi::MAX_DEVICE_ALLOC_BYTES;
use crate::calls::{join, raw};
use crate::error::Error;
use crate::instance::{Instance, OrRecord};

/// Allocates a device buffer of zero bytes; returns its handle.
///
/// # Errors
///
/// -9 for a size of 0, -6 over a cap, -5 when the device has no room, -1 without a device. A refused call uses no
/// quota.
pub fn alloc(instance: &mut Instance, size_lo: i32, size_hi: i32) -> i64 {
    raw(instance, |held, last_error| {
        let len_bytes = join(size_lo, size_hi);
        if len_bytes == 0 {
            return Err(last_error.record(Error::ZeroAlloc));
        }
        if len_bytes > MAX_DEVICE_ALLOC_BYTES {
            return Err(last_error.record(Error::AllocTooLarge(len_bytes)));
        }
        let host = &held.host;
        let quota = host
            .buffers
            .reserve(held.buffers, len_bytes)
            .or_record(last_error)?;
        let buffer = host.device.alloc(len_bytes).or_record(last_error)?;
        Ok(quota.commit(buffer).number())
    })
}
