//! The primary context, which everybody in the process shares.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context::Context;
use crate::error::Error;

/// The primary context as it is now.
#[derive(Debug)]
struct Primary {
    context: Option<Arc<Context>>,
    /// How often it was retained and not released.
    retained: u64,
    flags: u32,
}

/// Retains it and makes it where there is none.
///
/// # Errors
///
/// No context can be made.
pub(crate) fn retain() -> Result<Arc<Context>, Error> {
    let mut primary = lock();
    let context = match &primary.context {
        Some(context) => Arc::clone(context),
        None => Context::create_primary(primary.flags)?,
    };
    primary.context = Some(Arc::clone(&context));
    primary.retained = primary.retained.saturating_add(1);
    Ok(context)
}

/// Releases it; gives it back if that was the last time, for the caller to end.
///
/// # Errors
///
/// It is not retained.
pub(crate) fn release() -> Result<Option<Arc<Context>>, Error> {
    let mut primary = lock();
    primary.retained = primary
        .retained
        .checked_sub(1)
        .ok_or(Error::InvalidContext)?;
    if primary.retained > 0 {
        return Ok(None);
    }
    Ok(primary.context.take())
}

/// Takes it out, for the caller to end; it stays retained as often as it was.
pub(crate) fn reset() -> Option<Arc<Context>> {
    lock().context.take()
}

/// Its flags, and whether it is there.
pub(crate) fn state() -> (u32, bool) {
    let primary = lock();
    let flags = primary.context.as_ref();
    let flags = flags.map_or(primary.flags, |context| context.flags());
    (flags, primary.context.is_some())
}

/// Sets its flags, now or for when it is made.
pub(crate) fn set_flags(flags: u32) {
    let mut primary = lock();
    primary.flags = flags;
    if let Some(context) = &primary.context {
        context.set_flags(flags);
    }
}

fn lock() -> MutexGuard<'static, Primary> {
    PRIMARY.lock().unwrap_or_else(PoisonError::into_inner)
}

static PRIMARY: Mutex<Primary> = Mutex::new(Primary {
    context: None,
    retained: 0,
    flags: 0,
});
