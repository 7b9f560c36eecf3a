//! Pools: what memory made in streams is counted against.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::handle::{Handle, Kind, Table};
use crate::types::CUmemoryPool;

/// A pool.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    /// What the program asked of the reuse of memory, which is kept and means nothing here, since no memory is kept for reuse.
    pub(crate) reuse: [bool; 3],
    pub(crate) release_threshold_bytes: u64,
    pub(crate) used_bytes: u64,
    pub(crate) used_high_bytes: u64,
    /// 0 where there is no limit.
    pub(crate) max_bytes: u64,
}

impl Pool {
    fn new(max_bytes: u64) -> Self {
        Self {
            reuse: [true; 3],
            release_threshold_bytes: 0,
            used_bytes: 0,
            used_high_bytes: 0,
            max_bytes,
        }
    }
}

/// A part of a pool, given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    pool: u32,
    len_bytes: u64,
}

impl Share {
    /// Takes `len_bytes` of a pool.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where it was destroyed, [`Error::OutOfMemory`] where it has not as much left.
    pub(crate) fn take(pool: u32, len_bytes: u64) -> Result<Self, Error> {
        with(pool, |pool| {
            let used_bytes = pool.used_bytes.saturating_add(len_bytes);
            if pool.max_bytes != 0 && used_bytes > pool.max_bytes {
                return Err(Error::OutOfMemory);
            }
            pool.used_bytes = used_bytes;
            pool.used_high_bytes = pool.used_high_bytes.max(used_bytes);
            Ok(())
        })??;
        Ok(Self { pool, len_bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // Nobody counts for a pool that was destroyed.
        let _ = with(self.pool, |pool| {
            pool.used_bytes = pool.used_bytes.saturating_sub(self.len_bytes);
        });
    }
}

/// Makes a pool.
///
/// # Errors
///
/// [`Error::OutOfMemory`] where there are too many.
pub(crate) fn create(max_bytes: u64) -> Result<CUmemoryPool, Error> {
    let serial = pools().table.insert(Pool::new(max_bytes));
    Ok(handle(serial.ok_or(Error::OutOfMemory)?))
}

/// Ends a pool; memory from it stays.
///
/// # Errors
///
/// [`Error::InvalidValue`] where it is none, or the device's default one.
pub(crate) fn destroy(pool: CUmemoryPool) -> Result<(), Error> {
    let serial = parse(pool)?;
    let mut pools = pools();
    if serial == DEFAULT {
        return Err(Error::InvalidValue);
    }
    pools.table.remove(serial).ok_or(Error::InvalidValue)?;
    if pools.current == serial {
        pools.current = DEFAULT;
    }
    Ok(())
}

/// The number of a pool that is there.
///
/// # Errors
///
/// [`Error::InvalidValue`].
pub(crate) fn parse(pool: CUmemoryPool) -> Result<u32, Error> {
    let handle = Handle::parse(pool.0, Kind::Pool).ok_or(Error::InvalidValue)?;
    let there = pools().table.entry(handle.serial).is_some();
    (there && handle.context == 0)
        .then_some(handle.serial)
        .ok_or(Error::InvalidValue)
}

/// Does something with a pool.
///
/// # Errors
///
/// [`Error::InvalidValue`] where there is none of this number.
pub(crate) fn with<R>(serial: u32, work: impl FnOnce(&mut Pool) -> R) -> Result<R, Error> {
    let mut pools = pools();
    let pool = pools.table.entry_mut(serial).ok_or(Error::InvalidValue)?;
    Ok(work(pool))
}

/// The number of the pool that the device takes memory from.
pub(crate) fn current() -> u32 {
    pools().current
}

/// Has the device take memory from another pool.
///
/// # Errors
///
/// [`Error::InvalidValue`] where it is none, or none any more.
pub(crate) fn set_current(pool: CUmemoryPool) -> Result<(), Error> {
    let serial = parse(pool)?;
    let mut pools = pools();
    // Looked for again: another thread may have destroyed it since.
    if pools.table.entry(serial).is_none() {
        return Err(Error::InvalidValue);
    }
    pools.current = serial;
    Ok(())
}

/// How many pools programs have made and not destroyed.
pub(crate) fn count() -> usize {
    pools().table.len().saturating_sub(1)
}

/// The handle of the pool with this number.
pub(crate) fn handle(serial: u32) -> CUmemoryPool {
    let handle = Handle { context: 0, serial };
    CUmemoryPool(handle.bits(Kind::Pool))
}

/// The number of the device's own pool.
pub(crate) const DEFAULT: u32 = 1;

struct Pools {
    table: Table<Pool>,
    current: u32,
}

fn pools() -> MutexGuard<'static, Pools> {
    let mut pools = POOLS
        .get_or_init(|| {
            Mutex::new(Pools {
                table: Table::default(),
                current: DEFAULT,
            })
        })
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if pools.table.len() == 0 {
        pools.table.insert(Pool::new(0));
    }
    pools
}

static POOLS: std::sync::OnceLock<Mutex<Pools>> = std::sync::OnceLock::new();
