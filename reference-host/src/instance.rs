//! Everything that one guest owns.

use std::cell::OnceCell;
use std::fmt::Write;

use crate::abi::{AbiError, MAX_LAST_ERROR_BYTES};
use crate::error::Error;
use crate::host::Host;
use crate::registry::Owner;
use crate::sync::Arc;

/// State of one guest: its kernels, its device buffers, its last error, and whether it may use the interface.
///
/// Dropping it gives back everything the guest held, its share of the host's budgets included.
#[derive(Debug)]
pub struct Instance {
    pub(crate) host: Arc<Host>,
    pub(crate) kernels: Owner,
    pub(crate) buffers: Owner,
    granted: bool,
    last_error: Option<Error>,
    last_error_text: OnceCell<Box<str>>,
}

impl Instance {
    pub(crate) fn new(host: Arc<Host>, granted: bool) -> Self {
        let (kernels, buffers) = (host.kernels.owner(), host.buffers.owner());
        Self {
            host,
            kernels,
            buffers,
            granted,
            last_error: None,
            last_error_text: OnceCell::new(),
        }
    }

    /// The newest recorded error.
    #[must_use]
    pub fn last_error(&self) -> Option<&Error> {
        self.last_error.as_ref()
    }

    /// The newest recorded error in words, at most [`MAX_LAST_ERROR_BYTES`] long; empty when there is none.
    #[must_use]
    pub fn last_error_text(&self) -> &str {
        match &self.last_error {
            Some(error) => self.last_error_text.get_or_init(|| message(error)),
            None => "",
        }
    }

    /// The host that serves this instance.
    #[must_use]
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Runs one call: refuses it without the capability, and records why it failed.
    #[inline]
    pub(crate) fn answer<R>(
        &mut self,
        call: impl FnOnce(&mut Self) -> Result<R, Error>,
        failed: impl FnOnce(i32) -> R,
    ) -> R {
        if !self.granted {
            return failed(AbiError::NotAvailable.code());
        }
        match call(self) {
            Ok(value) => value,
            Err(error) => failed(self.record(error)),
        }
    }

    fn record(&mut self, error: Error) -> i32 {
        let code = error.code().code();
        self.last_error = Some(error);
        self.last_error_text.take();
        code
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.host.kernels.remove_owner(self.kernels);
        self.host.buffers.remove_owner(self.buffers);
    }
}

/// The words for `error`, cut to the cap.
fn message(error: &Error) -> Box<str> {
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
        assert!(write!(over, "{}{}", "x".repeat(MAX_LAST_ERROR_BYTES), "y").is_err());
        assert_eq!(
            (over.text.len(), over.overflowed),
            (MAX_LAST_ERROR_BYTES - 3, true)
        );
    }
}
