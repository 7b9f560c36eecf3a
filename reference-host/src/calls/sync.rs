use crate::calls::raw;
use crate::instance::{Instance, OrRecord};

/// Waits for the caller's outstanding work; returns 0, also when there is none or no device.
///
/// # Errors
///
/// -5 when a kernel that ran meanwhile failed.
#[inline]
pub fn sync(instance: &mut Instance) -> i32 {
    raw(instance, |held, last_error| {
        if held.outstanding {
            held.outstanding = false;
            held.context.sync().or_record(last_error)?;
        }
        Ok(0)
    })
}
