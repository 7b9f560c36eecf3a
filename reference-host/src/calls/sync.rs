use crate::instance::Instance;

/// Waits for the caller's outstanding work; returns 0, also when there is none or no device.
///
/// # Errors
///
/// -5 when a kernel that ran meanwhile failed.
#[inline]
pub fn sync(instance: &mut Instance) -> i32 {
    instance.answer(
        |instance| {
            instance.host.device.sync()?;
            Ok(0)
        },
        |code| code,
    )
}
