use crate::abi::MAX_DEVICE_ALLOC_BYTES;
use crate::calls::{join, raw};
use crate::error::Refusal;
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
            return Err(last_error.record(Refusal::ZeroAlloc));
        }
        if len_bytes > MAX_DEVICE_ALLOC_BYTES {
            return Err(last_error.record(Refusal::AllocTooLarge(len_bytes)));
        }
        let host = &held.host;
        let id = if host.allocates_on_write {
            // Such a buffer costs nothing to make, so that quota and entry can be one step.
            let buffer = held.context.alloc(len_bytes).or_record(last_error)?;
            host.buffers
                .register(held.buffers, len_bytes, buffer)
                .or_record(last_error)?
        } else {
            let quota = host
                .buffers
                .reserve(held.buffers, len_bytes)
                .or_record(last_error)?;
            quota.commit(held.context.alloc(len_bytes).or_record(last_error)?)
        };
        Ok(id.number())
    })
}
