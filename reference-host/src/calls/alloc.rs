use crate::abi::MAX_DEVICE_ALLOC_BYTES;
use crate::calls::join;
use crate::error::Error;
use crate::instance::Instance;

/// Allocates a device buffer of zero bytes; returns its handle.
///
/// # Errors
///
/// -9 for a size of 0, -6 over a cap, -5 when the device has no room, -1 without a device. A refused call uses no
/// quota.
pub fn alloc(instance: &mut Instance, size_lo: i32, size_hi: i32) -> i64 {
    instance.answer(
        |instance| {
            let len_bytes = join(size_lo, size_hi);
            if len_bytes == 0 {
                return Err(Error::ZeroAlloc);
            }
            if len_bytes > MAX_DEVICE_ALLOC_BYTES {
                return Err(Error::AllocTooLarge(len_bytes));
            }
            let host = &instance.host;
            let quota = host.buffers.reserve(instance.buffers, len_bytes)?;
            let buffer = host.device.alloc(len_bytes)?;
            Ok(quota.commit(buffer).number())
        },
        i64::from,
    )
}
