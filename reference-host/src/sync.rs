//! The only source of locks and atomics, so that a model checker's types can stand in for them.

use std::sync::PoisonError;
pub(crate) use std::sync::{Arc, MutexGuard, atomic::AtomicI64, atomic::Ordering};
#[cfg(feature = "cuda")]
pub(crate) use std::sync::{RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU32};

/// A mutex without poisoning: what it guards is consistent before every point that could unwind.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }
}

impl<T: ?Sized> Mutex<T> {
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same for a lock that several may hold to read.
#[cfg(feature = "cuda")]
#[derive(Debug, Default)]
pub(crate) struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

#[cfg(feature = "cuda")]
impl<T> RwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }
}

#[cfg(feature = "cuda")]
impl<T: ?Sized> RwLock<T> {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
