use crate::calls::raw;
use crate::guest::GuestMemory;
use crate::instance::Instance;

/// Copies the newest recorded error's message out, as much as fits; returns the number of bytes written.
///
/// The whole destination must lie in memory, also when the message is shorter. A refusal is not recorded as an
/// error: it would replace the message that the guest is asking for.
///
/// # Errors
///
/// -2 for a destination outside memory or a negative length.
pub fn last_error_copy(
    instance: &mut Instance,
    memory: Option<&mut [u8]>,
    dst_ptr: i32,
    dst_len: i32,
) -> i32 {
    raw(instance, |_, last_error| {
        let mut memory = GuestMemory::new(memory);
        let destination = memory
            .write("error message", dst_ptr, dst_len)
            .map_err(|error| error.code())?;
        let text = last_error.text().as_bytes();
        let written = text.len().min(destination.len());
        if let (Some(to), Some(from)) = (destination.get_mut(..written), text.get(..written)) {
            to.copy_from_slice(from);
        }
        Ok(i32::try_from(written).unwrap_or(i32::MAX))
    })
}
