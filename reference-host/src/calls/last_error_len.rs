use crate::calls::raw;
use crate::instance::Instance;

/// Length in bytes of the newest recorded error's message; 0 when there is none.
///
/// # Errors
///
/// None but -1 without the capability.
#[inline]
pub fn last_error_len(instance: &mut Instance) -> i32 {
    raw(instance, |_, last_error| {
        Ok(i32::try_from(last_error.text().len()).unwrap_or(i32::MAX))
    })
}
