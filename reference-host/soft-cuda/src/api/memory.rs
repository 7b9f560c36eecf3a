//! Device memory: made, freed, and asked about.

use std::ffi::c_uint;

use crate::call::{api, put};
use crate::context::Context;
use crate::environment::settings;
use crate::error::Error;
use crate::memory::{self, Origin, space};
use crate::stream::Target;
use crate::types::{CUdeviceptr, CUstream};

api! {
    /// How much device memory is free, and how much there is.
    ready fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        if free.is_null() && total.is_null() {
            return Err(Error::InvalidValue);
        }
        Context::working()?;
        let total_bytes = settings().memory_bytes;
        let free_bytes = total_bytes.saturating_sub(space::used_bytes());
        // SAFETY: null, or the program's places for sizes.
        unsafe {
            crate::call::put_wanted(free, free_bytes as usize);
            crate::call::put_wanted(total, total_bytes as usize);
        }
        Ok(())
    }

    /// Makes device memory; its bytes are no value that a program may count on.
    ready fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) {
        if address.is_null() || bytes == 0 {
            return Err(Error::InvalidValue);
        }
        let context = Context::working()?;
        let made = memory::allocate(&context, bytes as u64, Origin::Plain)?;
        // SAFETY: not null: the program's place for an address.
        unsafe { put(address, made) }
    }

    /// Makes device memory for rows, and says how far apart they should be.
    ready fn cuMemAllocPitch_v2(
        address: *mut CUdeviceptr,
        pitch: *mut usize,
        width: usize,
        height: usize,
        element: c_uint,
    ) {
        if address.is_null() || pitch.is_null() || width == 0 || height == 0 || !matches!(element, 4 | 8 | 16) {
            return Err(Error::InvalidValue);
        }
        let context = Context::working()?;
        let row = width.checked_next_multiple_of(PITCH).ok_or(Error::OutOfMemory)?;
        let bytes = row.checked_mul(height).ok_or(Error::OutOfMemory)?;
        let made = memory::allocate(&context, bytes as u64, Origin::Plain)?;
        // SAFETY: not null: the program's places for an address and a size.
        unsafe {
            put(pitch, row)?;
            put(address, made)
        }
    }

    /// Frees device memory after the work of its context.
    ready fn cuMemFree_v2(address: CUdeviceptr) {
        Context::working()?;
        if address == 0 {
            return Ok(());
        }
        memory::free(address)
    }

    /// The first address and the size of the memory that an address is in.
    ready fn cuMemGetAddressRange_v2(start: *mut CUdeviceptr, bytes: *mut usize, address: CUdeviceptr) {
        if start.is_null() && bytes.is_null() {
            return Err(Error::InvalidValue);
        }
        Context::working()?;
        let piece = space::find(address).ok_or(Error::NotFound)?;
        // SAFETY: null, or the program's places for an address and a size.
        unsafe {
            crate::call::put_wanted(start, piece.start);
            crate::call::put_wanted(bytes, piece.len_bytes as usize);
        }
        Ok(())
    }

    /// Makes device memory in a stream, from the device's current pool.
    ready fn cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream) {
        if address.is_null() || bytes == 0 {
            return Err(Error::InvalidValue);
        }
        let context = Target::of(stream)?.context;
        let made = loop {
            let pool = crate::pool::current();
            match memory::allocate(&context, bytes as u64, Origin::Ordered(pool)) {
                // Another thread has destroyed the pool, and the device has its own again.
                Err(Error::InvalidValue) if crate::pool::current() != pool => {}
                done => break done?,
            }
        };
        // SAFETY: not null: the program's place for an address.
        unsafe { put(address, made) }
    }

    /// Frees device memory in a stream.
    ready fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) {
        let target = Target::of(stream)?;
        memory::free_in_stream(&target, address)
    }
}

/// Rows of pitched memory begin at multiples of this.
const PITCH: usize = 512;
