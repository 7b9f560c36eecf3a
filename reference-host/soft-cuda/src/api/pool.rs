//! Pools that streams take memory from.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use crate::api::device;
use crate::api::managed::CUmemLocation;
use crate::call::{api, put, take};
use crate::error::Error;
use crate::memory::{self, Origin};
use crate::pool;
use crate::stream::Target;
use crate::types::{CUdevice, CUdeviceptr, CUmemoryPool, CUstream};

/// What a pool is to be like.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUmemPoolProps {
    /// 1 for device memory.
    pub alloc_type: c_int,
    /// How memory can be shared with other processes; 0.
    pub handle_types: c_int,
    /// Where memory is to be.
    pub location: CUmemLocation,
    /// 0.
    pub security_attributes: usize,
    /// The most bytes; 0 for no limit.
    pub max_size: usize,
    /// How memory is going to be used; 0.
    pub usage: u16,
    /// Whether other devices are going to reach the memory.
    pub gpu_direct_rdma_capable: u8,
    /// Zeros.
    pub reserved: [u8; 53],
}

/// Who may reach memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUmemAccessDesc {
    /// Who.
    pub location: CUmemLocation,
    /// 0 for not at all, 1 for reading, 3 for reading and writing.
    pub flags: c_uint,
}

api! {
    /// Makes a pool of device memory.
    ready fn cuMemPoolCreate(made: *mut CUmemoryPool, props: *const CUmemPoolProps) {
        if made.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: null, or the program's properties, of which every bit pattern is a value.
        let props = unsafe { take(props) }?;
        check(props.location)?;
        match props.alloc_type {
            PINNED => {}
            MANAGED => return Err(Error::NotSupported),
            _ => return Err(Error::InvalidValue),
        }
        if props.security_attributes != 0 || props.reserved.iter().any(|byte| *byte != 0) {
            return Err(Error::InvalidValue);
        }
        if props.handle_types != 0 || props.usage != 0 {
            return Err(Error::NotSupported);
        }
        let pool = pool::create(props.max_size as u64)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(made, pool) }
    }

    /// Ends a pool; memory from it stays until it is freed.
    ready fn cuMemPoolDestroy(pool: CUmemoryPool) {
        pool::destroy(pool)
    }

    /// Gives memory that is kept for reuse back to the system; there is none.
    ready fn cuMemPoolTrimTo(pool: CUmemoryPool, _least_bytes: usize) {
        pool::parse(pool).map(|_| ())
    }

    /// Sets a property of a pool.
    ready fn cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: c_uint, value: *const c_void) {
        let serial = pool::parse(pool)?;
        // SAFETY: null, or the program's value of the attribute's type.
        let (word, long) = unsafe {
            match attribute {
                REUSE_FIRST..=REUSE_LAST => (take(value.cast::<c_int>())?, 0),
                RELEASE_THRESHOLD | RESERVED_HIGH | USED_HIGH => (0, take(value.cast::<c_ulonglong>())?),
                _ => return Err(Error::InvalidValue),
            }
        };
        pool::with(serial, |pool| {
            match attribute {
                RELEASE_THRESHOLD => pool.release_threshold_bytes = long,
                RESERVED_HIGH | USED_HIGH if long == 0 => pool.used_high_bytes = pool.used_bytes,
                RESERVED_HIGH | USED_HIGH => return Err(Error::InvalidValue),
                reuse => {
                    let at = reuse.saturating_sub(REUSE_FIRST) as usize;
                    *pool.reuse.get_mut(at).ok_or(Error::InvalidValue)? = word != 0;
                }
            }
            Ok(())
        })?
    }

    /// A property of a pool.
    ready fn cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: c_uint, value: *mut c_void) {
        let pool = pool::with(pool::parse(pool)?, |pool| pool.clone())?;
        let (word, long) = (value.cast::<c_int>(), value.cast::<c_ulonglong>());
        // SAFETY: null, or the program's place for a value of the attribute's type.
        unsafe {
            match attribute {
                REUSE_FIRST..=REUSE_LAST => {
                    let at = attribute.saturating_sub(REUSE_FIRST) as usize;
                    let reuse = pool.reuse.get(at).ok_or(Error::InvalidValue)?;
                    put(word, c_int::from(*reuse))
                }
                RELEASE_THRESHOLD => put(long, pool.release_threshold_bytes),
                RESERVED | USED => put(long, pool.used_bytes),
                RESERVED_HIGH | USED_HIGH => put(long, pool.used_high_bytes),
                ALLOCATION_TYPE => put(word, PINNED),
                EXPORT_HANDLE_TYPES | LOCATION_ID | HW_DECOMPRESS => put(word, 0),
                LOCATION_TYPE => put(word, DEVICE),
                MAX_SIZE => put(long, pool.max_bytes),
                LOCALITY_DOMAIN => put(word, -1),
                _ => Err(Error::InvalidValue),
            }
        }
    }

    /// Says which devices reach a pool's memory; its own always does.
    ready fn cuMemPoolSetAccess(pool: CUmemoryPool, descriptions: *const CUmemAccessDesc, number: usize) {
        pool::parse(pool)?;
        for at in 0..number {
            // SAFETY: the program's list has as many entries.
            let description = unsafe { take(descriptions.wrapping_add(at)) }?;
            check(description.location)?;
            if description.flags != READ_WRITE {
                return Err(Error::InvalidValue);
            }
        }
        Ok(())
    }

    /// How a device reaches a pool's memory.
    ready fn cuMemPoolGetAccess(flags: *mut c_uint, pool: CUmemoryPool, location: *const CUmemLocation) {
        pool::parse(pool)?;
        // SAFETY: null, or the program's location, of which every bit pattern is a value.
        check(unsafe { take(location) }?)?;
        // SAFETY: null, or the program's place for flags.
        unsafe { put(flags, READ_WRITE) }
    }

    /// Makes device memory in a stream, from a pool.
    ready fn cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream) {
        if address.is_null() || bytes == 0 {
            return Err(Error::InvalidValue);
        }
        let origin = Origin::Ordered(pool::parse(pool)?);
        let context = Target::of(stream)?.context;
        let made = memory::allocate(&context, bytes as u64, origin)?;
        // SAFETY: not null: the program's place for an address.
        unsafe { put(address, made) }
    }

    /// The pool that a device has of itself.
    ready fn cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice) {
        device::check(device)?;
        // SAFETY: null, or the program's place for a handle.
        unsafe { put(pool, pool::handle(pool::DEFAULT)) }
    }

    /// The pool that a device takes memory from.
    ready fn cuDeviceGetMemPool(pool: *mut CUmemoryPool, device: CUdevice) {
        device::check(device)?;
        // SAFETY: null, or the program's place for a handle.
        unsafe { put(pool, pool::handle(pool::current())) }
    }

    /// Has a device take memory from another pool.
    ready fn cuDeviceSetMemPool(device: CUdevice, pool: CUmemoryPool) {
        device::check(device)?;
        pool::set_current(pool)
    }

    /// The pool that a place has of itself.
    ready fn cuMemGetDefaultMemPool(pool: *mut CUmemoryPool, location: *const CUmemLocation, kind: c_int) {
        // SAFETY: null, or the program's location, of which every bit pattern is a value.
        check_kind(unsafe { take(location) }?, kind)?;
        // SAFETY: null, or the program's place for a handle.
        unsafe { put(pool, pool::handle(pool::DEFAULT)) }
    }

    /// The pool that a place takes memory from.
    ready fn cuMemGetMemPool(pool: *mut CUmemoryPool, location: *const CUmemLocation, kind: c_int) {
        // SAFETY: null, or the program's location, of which every bit pattern is a value.
        check_kind(unsafe { take(location) }?, kind)?;
        // SAFETY: null, or the program's place for a handle.
        unsafe { put(pool, pool::handle(pool::current())) }
    }

    /// Has a place take memory from another pool.
    ready fn cuMemSetMemPool(location: *const CUmemLocation, kind: c_int, pool: CUmemoryPool) {
        // SAFETY: null, or the program's location, of which every bit pattern is a value.
        check_kind(unsafe { take(location) }?, kind)?;
        pool::set_current(pool)
    }
}

/// Refuses locations other than the device, of which alone there are pools.
fn check(location: CUmemLocation) -> Result<(), Error> {
    match location.kind {
        DEVICE => device::check(location.id),
        HOST..=HOST_NUMA_CURRENT => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

fn check_kind(location: CUmemLocation, kind: c_int) -> Result<(), Error> {
    check(location)?;
    match kind {
        PINNED => Ok(()),
        MANAGED => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

const DEVICE: c_int = 1;
const HOST: c_int = 2;
const HOST_NUMA_CURRENT: c_int = 4;
const PINNED: c_int = 1;
const MANAGED: c_int = 2;
const READ_WRITE: c_uint = 3;
const REUSE_FIRST: c_uint = 1;
const REUSE_LAST: c_uint = 3;
const RELEASE_THRESHOLD: c_uint = 4;
const RESERVED: c_uint = 5;
const RESERVED_HIGH: c_uint = 6;
const USED: c_uint = 7;
const USED_HIGH: c_uint = 8;
const ALLOCATION_TYPE: c_uint = 9;
const EXPORT_HANDLE_TYPES: c_uint = 10;
const LOCATION_ID: c_uint = 11;
const LOCATION_TYPE: c_uint = 12;
const MAX_SIZE: c_uint = 13;
const HW_DECOMPRESS: c_uint = 14;
const LOCALITY_DOMAIN: c_uint = 15;
