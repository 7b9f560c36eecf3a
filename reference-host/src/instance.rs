//! Everything that one guest owns.

use std::cell::OnceCell;
use std::fmt::Write;

use crate::abi::{AbiError, MAX_LAST_ERROR_BYTES};
use crate::argv::ArgvError;
use crate::device::{Buffer, Context, DeviceError, Kernel};
use crate::error::{Error, Refusal};
use crate::host::Host;
use crate::registry::{Id, OverLimit, Owner, Usage};
use crate::sync::Arc;

/// State of one guest: its kernels, its device buffers, its last error, and whether it may use the interface.
///
/// Dropping it gives back everything the guest held, its share of the host's budgets included.
#[derive(Debug)]
pub struct Instance {
    held: Held,
    granted: bool,
    last_error: LastError,
}

impl Instance {
    pub(crate) fn new(host: Arc<Host>, granted: bool) -> Self {
        let (kernels, buffers) = (host.kernels.owner(), host.buffers.owner());
        let held = Held {
            context: host.device.context(),
            host,
            kernels,
            buffers,
            outstanding: false,
            recent_kernel: None,
            recent_buffer: None,
        };
        Self {
            held,
            granted,
            last_error: LastError::default(),
        }
    }

    /// The newest recorded error.
    #[must_use]
    pub fn last_error(&self) -> Option<Error<'_>> {
        self.last_error.error()
    }

    /// The newest recorded error in words, at most [`MAX_LAST_ERROR_BYTES`] long; empty when there is none.
    #[must_use]
    pub fn last_error_text(&self) -> &str {
        self.last_error.text()
    }

    /// The host that serves this instance.
    #[must_use]
    pub fn host(&self) -> &Arc<Host> {
        &self.held.host
    }

    /// Live kernels and the PTX bytes behind them.
    #[must_use]
    pub fn kernel_usage(&self) -> Usage {
        self.held.host.kernels.usage_of(self.held.kernels)
    }

    /// Live device buffers and their bytes.
    #[must_use]
    pub fn buffer_usage(&self) -> Usage {
        self.held.host.buffers.usage_of(self.held.buffers)
    }

    /// What the guest holds and where its errors go; -1 without the capability.
    #[inline]
    pub(crate) fn enter(&mut self) -> Result<(&mut Held, &mut LastError), AbiError> {
        if self.granted {
            Ok((&mut self.held, &mut self.last_error))
        } else {
            Err(AbiError::NotAvailable)
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.held.host.kernels.remove_owner(self.held.kernels);
        self.held.host.buffers.remove_owner(self.held.buffers);
    }
}

/// What a guest holds in its host.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) host: Arc<Host>,
    pub(crate) context: Arc<dyn Context>,
    pub(crate) kernels: Owner,
    pub(crate) buffers: Owner,
    /// Whether anything was launched that no `sync` has waited for.
    pub(crate) outstanding: bool,
    // The last kernel and buffer used: a guest that stays with them takes no lock and counts no reference.
    recent_kernel: Option<(Id<dyn Kernel>, Arc<dyn Kernel>)>,
    recent_buffer: Option<(Id<dyn Buffer>, Arc<dyn Buffer>)>,
}

impl Held {
    /// The kernel with this id.
    #[inline]
    pub(crate) fn kernel(&mut self, id: Id<dyn Kernel>) -> Option<&dyn Kernel> {
        if self
            .recent_kernel
            .as_ref()
            .is_none_or(|(recent, _)| *recent != id)
        {
            self.recent_kernel = Some((id, self.host.kernels.lookup(self.kernels, id)?));
        }
        self.recent_kernel.as_ref().map(|(_, kernel)| &**kernel)
    }

    /// The buffer with this handle.
    #[inline]
    pub(crate) fn buffer(&mut self, handle: Id<dyn Buffer>) -> Option<&dyn Buffer> {
        if self
            .recent_buffer
            .as_ref()
            .is_none_or(|(recent, _)| *recent != handle)
        {
            self.recent_buffer = Some((handle, self.host.buffers.lookup(self.buffers, handle)?));
        }
        self.recent_buffer.as_ref().map(|(_, buffer)| &**buffer)
    }

    /// Ends the buffer with this handle.
    #[inline]
    pub(crate) fn free(&mut self, handle: Id<dyn Buffer>) -> Option<()> {
        if self
            .recent_buffer
            .as_ref()
            .is_some_and(|(recent, _)| *recent == handle)
        {
            self.recent_buffer = None;
        }
        self.host.buffers.remove(self.buffers, handle).map(drop)
    }
}

/// The newest error as a value, and its words once somebody asked for them.
#[derive(Debug, Default)]
pub(crate) struct LastError {
    /// Of no meaning while there is a device error.
    refusal: Option<Refusal>,
    /// Apart from the refusals, which own no memory: one of those is recorded without finding out what to drop.
    device: Option<Box<DeviceError>>,
    text: OnceCell<Box<str>>,
}

impl LastError {
    /// Keeps what went wrong; returns the code for the guest.
    #[inline(always)]
    pub(crate) fn record(&mut self, error: impl Recordable) -> AbiError {
        error.record_in(self)
    }

    /// The same for a refusal that is put together where it stays: copying its fields right after they were written
    /// would cost more than all the rest of a refusal.
    #[inline(always)]
    pub(crate) fn record_with(&mut self, refusal: impl FnOnce() -> Refusal) {
        if self.text.get().is_some() || self.device.is_some() {
            self.clear();
        }
        self.refusal = Some(refusal());
    }

    #[cold]
    #[inline(never)]
    fn clear(&mut self) {
        self.device = None;
        self.text = OnceCell::new();
    }

    fn error(&self) -> Option<Error<'_>> {
        match &self.device {
            Some(error) => Some(Error::Device(error)),
            None => self.refusal.map(Error::Refused),
        }
    }

    #[inline]
    pub(crate) fn text(&self) -> &str {
        match self.text.get() {
            Some(text) => text,
            None => self.put_into_words(),
        }
    }

    #[cold]
    #[inline(never)]
    fn put_into_words(&self) -> &str {
        match self.error() {
            Some(error) => self.text.get_or_init(|| message(error)),
            None => "",
        }
    }
}

/// What can be kept as the last error.
pub(crate) trait Recordable {
    /// Keeps this; returns the code for the guest.
    fn record_in(self, last_error: &mut LastError) -> AbiError;
}

impl Recordable for Refusal {
    #[inline(always)]
    fn record_in(self, last_error: &mut LastError) -> AbiError {
        last_error.record_with(|| self);
        self.code()
    }
}

impl Recordable for OverLimit {
    #[cold]
    fn record_in(self, last_error: &mut LastError) -> AbiError {
        Refusal::from(self).record_in(last_error)
    }
}

impl Recordable for ArgvError {
    #[cold]
    fn record_in(self, last_error: &mut LastError) -> AbiError {
        Refusal::from(self).record_in(last_error)
    }
}

impl Recordable for DeviceError {
    #[cold]
    fn record_in(self, last_error: &mut LastError) -> AbiError {
        let code = self.code();
        last_error.clear();
        last_error.device = Some(Box::new(self));
        code
    }
}

/// Keeps the error of a result, and leaves its code.
pub(crate) trait OrRecord<T> {
    fn or_record(self, last_error: &mut LastError) -> Result<T, AbiError>;
}

impl<T, E: Recordable> OrRecord<T> for Result<T, E> {
    #[inline(always)]
    fn or_record(self, last_error: &mut LastError) -> Result<T, AbiError> {
        self.map_err(|error| last_error.record(error))
    }
}

/// The words for `error`, cut to the cap.
fn message(error: Error<'_>) -> Box<str> {
    let mut text = Capped::default();
    // `Capped` stops the formatting once it is full; what it holds by then is the message.
    let _ = write!(text, "{error}");
    if text.overflowed {
        text.text.push('…');
    }
    text.text.into_boxed_str()
}

/// Takes text up to the cap and refuses the rest, so that a long message costs no more than a short one.
#[derive(Default)]
struct Capped {
    text: String,
    overflowed: bool,
}

impl Write for Capped {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        if self.text.len().saturating_add(part.len()) <= MAX_LAST_ERROR_BYTES {
            self.text.push_str(part);
            return Ok(());
        }
        self.overflowed = true;
        // The room that is left, less the ellipsis; earlier parts may already reach into the ellipsis's place.
        let room = MAX_LAST_ERROR_BYTES.saturating_sub('…'.len_utf8());
        let keep = part.floor_char_boundary(room.saturating_sub(self.text.len()));
        self.text.push_str(part.get(..keep).unwrap_or_default());
        self.text.truncate(self.text.floor_char_boundary(room));
        Err(std::fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way from one kind of record to another: what is asked for is always the newest, in words too.
    #[test]
    fn the_newest_error_is_the_one_that_is_told() {
        type Record = fn(&mut LastError) -> AbiError;
        let kinds: [(Record, &str); 4] = [
            (
                |last| last.record(Refusal::ZeroAlloc),
                "alloc of 0 bytes: the size must be at least 1",
            ),
            (
                |last| last.record(Refusal::UnknownKernel(7)),
                "kernel id 7 is not a kernel of this instance",
            ),
            (
                |last| last.record(DeviceError::OutOfMemory(9)),
                "the device has no room for 9 bytes more",
            ),
            (
                |last| last.record(DeviceError::NoSuchEntry("k".into())),
                "the PTX has no entry named `k`",
            ),
        ];
        for asks in [false, true] {
            for (first, first_text) in kinds {
                for (second, second_text) in kinds {
                    let mut last = LastError::default();
                    let code = first(&mut last);
                    if asks {
                        assert_eq!(last.text(), first_text);
                    }
                    assert_eq!(last.error().map(|error| error.code()), Some(code));
                    let code = second(&mut last);
                    assert_eq!(last.error().map(|error| error.code()), Some(code));
                    assert_eq!((last.text(), last.text()), (second_text, second_text));
                }
            }
        }
        assert_eq!(LastError::default().text(), "");
    }

    /// A name is any UTF-8; a guest that takes messages for C strings must not see the end of one inside it.
    #[test]
    fn a_message_shows_the_control_characters_of_a_name_escaped() {
        let mut last = LastError::default();
        last.record(DeviceError::NoSuchEntry("a\0b\u{1b}ä".into()));
        assert_eq!(last.text(), "the PTX has no entry named `a\\0b\\u{1b}ä`");
    }

    #[test]
    fn a_long_message_is_cut_on_a_character_boundary_and_marked() {
        for lead in 0..8 {
            let mut text = Capped::default();
            let long = format!("{}{}", "x".repeat(lead), "ä€🙂".repeat(200));
            assert!(write!(text, "{long}").is_err());
            assert!(text.text.len() <= MAX_LAST_ERROR_BYTES - 3);
            assert!(text.text.len() > MAX_LAST_ERROR_BYTES - 8);
            assert!(long.starts_with(&text.text));
        }
    }

    #[test]
    fn a_message_of_exactly_the_cap_is_whole_and_one_byte_more_is_cut() {
        let mut exact = Capped::default();
        assert!(write!(exact, "{}", "x".repeat(MAX_LAST_ERROR_BYTES)).is_ok());
        assert_eq!(
            (exact.text.len(), exact.overflowed),
            (MAX_LAST_ERROR_BYTES, false)
        );

        // In two parts: the first alone already reaches where the ellipsis must go.
        let mut over = Capped::default();
        assert!(write!(over, "{}y", "x".repeat(MAX_LAST_ERROR_BYTES)).is_err());
        assert_eq!(
            (over.text.len(), over.overflowed),
            (MAX_LAST_ERROR_BYTES - 3, true)
        );
    }
}
