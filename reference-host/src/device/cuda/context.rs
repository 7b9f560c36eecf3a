//! A context that this host made, and what becomes of it when the driver fails.

use std::ptr;
use std::sync::OnceLock;
use std::thread;

use cust::sys::{CUcontext, CUdevice};

use super::driver::{self, DriverError};
use crate::sync::{RwLock, RwLockReadGuard};

/// A context of a device, until the driver fails in it.
#[derive(Debug)]
pub(super) struct OwnContext {
    /// `None` once it is lost. Held for reading during every call in the context, so that it never ends under one.
    raw: RwLock<Option<Raw>>,
    lost: OnceLock<DriverError>,
}

/// The driver's handle; it may be used on any thread.
#[derive(Clone, Copy, Debug)]
struct Raw(CUcontext);

// SAFETY: the driver allows a context to be made current on any thread, and on several.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl OwnContext {
    /// Makes a context; none is current on the calling thread that was not before.
    pub(super) fn create(device: CUdevice) -> Result<Self, DriverError> {
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is the place for a handle.
        unsafe { driver::ctx_create(&mut raw, 0, device) }?;
        let context = Self {
            raw: RwLock::new(Some(Raw(raw))),
            lost: OnceLock::new(),
        };
        // Creation makes the context current.
        pop(raw);
        Ok(context)
    }

    /// Makes the context current on the calling thread, as long as the result lives.
    ///
    /// # Errors
    ///
    /// It is lost, or the driver fails now.
    pub(super) fn enter(&self) -> Result<Entered<'_>, EnterError> {
        let raw = self.raw.read();
        let Some(Raw(context)) = *raw else {
            return Err(EnterError::Lost(self.lost()));
        };
        // SAFETY: the context is live, and stays so while `raw` is held.
        unsafe { driver::ctx_push(context) }.map_err(EnterError::Failed)?;
        Ok(Entered { context, _raw: raw })
    }

    /// Gives back what lies in the context; with a lost one it is gone already.
    pub(super) fn release(&self, mut give_back: impl FnMut() -> Result<(), DriverError>) {
        driver::release(|| match self.enter() {
            Ok(_entered) => give_back(),
            Err(EnterError::Lost(_)) => Ok(()),
            Err(EnterError::Failed(error)) => Err(error),
        });
    }

    /// Whether the context was given up.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Gives the context up for `why`, and everything in it.
    pub(super) fn lose(&self, why: DriverError) {
        // The first reason is the true one: what comes after it follows from it.
        let _ = self.lost.set(why);
        if let Some(Raw(context)) = self.raw.write().take() {
            destroy(context, Some(self.lost()));
        }
    }

    /// Gives the context up if it fails from now on: one that a sticky error has hit does not even synchronise.
    pub(super) fn lose_if_broken(&self, error: DriverError) {
        if error.spares_context() {
            return;
        }
        let broken = match self.enter() {
            // SAFETY: a context is current.
            Ok(_entered) => unsafe { driver::ctx_synchronize() }.is_err(),
            Err(_) => true,
        };
        if broken {
            self.lose(error);
        }
    }

    /// The same for a context in which a kernel does not end: a thread of its own waits for that.
    pub(super) fn abandon(&self, why: DriverError, ended: impl FnOnce() + Send + 'static) {
        let _ = self.lost.set(why);
        let Some(raw) = self.raw.write().take() else {
            ended();
            return;
        };
        let end = move || {
            let Raw(context) = { raw };
            destroy(context, Some(why));
            ended();
        };
        // Without a thread the context stays as it is, and takes its place among those that were abandoned for good.
        let _ = thread::Builder::new()
            .name("abandoned kernel".to_owned())
            .spawn(end);
    }

    fn lost(&self) -> DriverError {
        self.lost.get().copied().unwrap_or(UNKNOWN)
    }
}

impl Drop for OwnContext {
    fn drop(&mut self) {
        if let Some(Raw(context)) = self.raw.write().take() {
            destroy(context, None);
        }
    }
}

/// A context is current on this thread.
pub(super) struct Entered<'c> {
    context: CUcontext,
    _raw: RwLockReadGuard<'c, Option<Raw>>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        pop(self.context);
    }
}

/// Takes `context` off the calling thread's stack, whose top it is. Where that fails it is tried once more if the context is still there: below it is what the
/// embedder put there.
fn pop(context: CUcontext) {
    let mut taken = ptr::null_mut();
    // SAFETY: `taken` is the place for a handle.
    let mut take = || unsafe { driver::ctx_pop(&mut taken) };
    if take().is_err() {
        let mut current = ptr::null_mut();
        // SAFETY: `current` is the place for a handle.
        let asked = unsafe { driver::ctx_current(&mut current) };
        if asked.is_ok() && current == context {
            // Nobody can be told of a second failure.
            let _ = take();
        }
    }
}

/// Ends a context that nobody is in and nobody can enter any more, and everything in it.
///
/// A failure is tried once more, unless it is the one that the context is given up for: a driver may answer that one when it has done its work, and the
/// handle would then be used after its end.
fn destroy(context: CUcontext, why: Option<DriverError>) {
    driver::release(|| {
        // SAFETY: the handle has not been destroyed: this is the first try, or the first did nothing.
        match unsafe { driver::ctx_destroy(context) } {
            Err(error) if why.is_some_and(|why| why.code == error.code) => Ok(()),
            done => done,
        }
    });
}

/// Why a context cannot be entered.
#[derive(Clone, Copy, Debug)]
pub(super) enum EnterError {
    /// It was given up before, for this.
    Lost(DriverError),
    /// The driver fails.
    Failed(DriverError),
}

/// Stands in for a reason that nobody noted.
const UNKNOWN: DriverError = DriverError::unnamed("cuCtxDestroy_v2", 999);
