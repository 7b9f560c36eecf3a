use crate::calls::{join, raw, unknown_handle};
use crate::instance::Instance;
use crate::registry::Id;

/// Frees a device buffer; returns 0.
///
/// # Errors
///
/// -11 for a handle that is unknown, freed, or another instance's; -1 without a device.
pub fn free(instance: &mut Instance, handle_lo: i32, handle_hi: i32) -> i32 {
    raw(instance, |held, last_error| {
        let number = join(handle_lo, handle_hi).cast_signed();
        match held.free(Id::new(number)) {
            Some(()) => Ok(0),
            None => Err(unknown_handle(held, last_error, number)),
        }
    })
}
