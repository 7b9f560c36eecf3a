//! Host memory that the device reaches.

use std::ffi::{c_uint, c_void};

use crate::call::{Done, api, put};
use crate::context::Context;
use crate::error::Error;
use crate::memory::host::PagesOrigin;
use crate::memory::shared;
use crate::memory::space::{self, Owner, Piece};
use crate::types::CUdeviceptr;

api! {
    /// Makes pinned memory, at one address for program and device.
    ready fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize) {
        make(address, bytes, 0)
    }

    /// Makes pinned memory; what `flags` wish for is the case anyhow.
    ready fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) {
        if flags & !(PORTABLE | DEVICE_MAP | WRITE_COMBINED) != 0 {
            return Err(Error::InvalidValue);
        }
        make(address, bytes, flags)
    }

    /// Frees pinned memory after all work; null is no mistake.
    ready fn cuMemFreeHost(address: *mut c_void) {
        Context::working()?;
        if address.is_null() {
            return Ok(());
        }
        shared::free(address.expose_provenance() as u64, &[PagesOrigin::Pinned])
    }

    /// Makes memory of the program's known to the device.
    ready fn cuMemHostRegister_v2(address: *mut c_void, bytes: usize, flags: c_uint) {
        if flags & !(PORTABLE | DEVICE_MAP | IO_MEMORY | READ_ONLY) != 0 {
            return Err(Error::InvalidValue);
        }
        let context = Context::working()?;
        if flags & (IO_MEMORY | READ_ONLY) != 0 {
            return Err(Error::NotSupported);
        }
        shared::register(&context, address.expose_provenance(), bytes, flags)
    }

    /// Ends that, after all work.
    ready fn cuMemHostUnregister(address: *mut c_void) {
        if address.is_null() {
            return Err(Error::InvalidValue);
        }
        Context::working()?;
        let address = address.expose_provenance() as u64;
        let registered = space::find_host(address).is_some_and(|piece| match piece.owner {
            Owner::Host(pages) => pages.origin() == PagesOrigin::Registered,
            Owner::Context(_) => false,
        });
        if !registered {
            return Err(Error::HostMemoryNotRegistered);
        }
        shared::free(address, &[PagesOrigin::Registered])
    }

    /// The address by which the device knows host memory.
    ready fn cuMemHostGetDevicePointer_v2(device: *mut CUdeviceptr, host: *mut c_void, flags: c_uint) {
        if device.is_null() || flags != 0 {
            return Err(Error::InvalidValue);
        }
        Context::working()?;
        let piece = piece(host)?;
        let at = (host.addr() as u64).saturating_sub(piece.host_start());
        // SAFETY: not null: the program's place for an address.
        unsafe { put(device, piece.start.saturating_add(at)) }
    }

    /// The flags with which host memory was made.
    ready fn cuMemHostGetFlags(flags: *mut c_uint, host: *mut c_void) {
        if flags.is_null() {
            return Err(Error::InvalidValue);
        }
        Context::working()?;
        let Owner::Host(pages) = piece(host)?.owner else {
            return Err(Error::InvalidValue);
        };
        // SAFETY: not null: the program's place for flags.
        unsafe { put(flags, pages.flags) }
    }
}

fn make(address: *mut *mut c_void, bytes: usize, flags: u32) -> Done {
    if address.is_null() || bytes == 0 {
        return Err(Error::InvalidValue);
    }
    let context = Context::working()?;
    let made = shared::make(&context, bytes as u64, PagesOrigin::Pinned, flags)?;
    let made = std::ptr::with_exposed_provenance_mut(made as usize);
    // SAFETY: not null: the program's place for a pointer.
    unsafe { put(address, made) }
}

/// The host memory that an address is in.
fn piece(host: *mut c_void) -> Result<Piece, Error> {
    space::find_host(host.addr() as u64).ok_or(Error::InvalidValue)
}

const PORTABLE: c_uint = 1;
const DEVICE_MAP: c_uint = 2;
const WRITE_COMBINED: c_uint = 4;
const IO_MEMORY: c_uint = 4;
const READ_ONLY: c_uint = 8;
