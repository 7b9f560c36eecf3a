//! Managed memory, and what a program says of its use.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Arc, PoisonError};

use crate::api::device;
use crate::call::{Done, api, put, take};
use crate::context::Context;
use crate::error::Error;
use crate::memory::host::{Location, Pages, PagesOrigin};
use crate::memory::shared;
use crate::memory::space::{self, Owner};
use crate::stream::Target;
use crate::types::{CUdevice, CUdeviceptr, CUstream};

/// A place for memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUmemLocation {
    /// Its kind: 1 for a device, 2 to 4 for the host.
    pub kind: c_int,
    /// The number of a device, or of a part of the host.
    pub id: c_int,
}

api! {
    /// Makes memory that program and device reach by one address.
    ready fn cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint) {
        if address.is_null() || bytes == 0 || !matches!(flags, ATTACH_GLOBAL | ATTACH_HOST) {
            return Err(Error::InvalidValue);
        }
        let context = Context::working()?;
        let made = shared::make(&context, bytes as u64, PagesOrigin::Managed, flags)?;
        // SAFETY: not null: the program's place for an address.
        unsafe { put(address, made) }
    }

    /// Says where managed memory is going to be used.
    ready fn cuMemPrefetchAsync(address: CUdeviceptr, bytes: usize, device: CUdevice, stream: CUstream) {
        prefetch(address, bytes, of_device(device)?, stream)
    }

    /// Says where managed memory is going to be used.
    ready fn cuMemPrefetchAsync_v2(
        address: CUdeviceptr,
        bytes: usize,
        location: CUmemLocation,
        flags: c_uint,
        stream: CUstream,
    ) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        prefetch(address, bytes, check(location)?, stream)
    }

    /// Says how managed memory is going to be used.
    ready fn cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: c_uint, device: CUdevice) {
        advise(address, bytes, advice, || of_device(device))
    }

    /// Says how managed memory is going to be used.
    ready fn cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: c_uint, location: CUmemLocation) {
        advise(address, bytes, advice, || check(location))
    }

    /// What was said of managed memory.
    ready fn cuMemRangeGetAttribute(
        data: *mut c_void,
        data_bytes: usize,
        attribute: c_uint,
        address: CUdeviceptr,
        bytes: usize,
    ) {
        Context::working()?;
        let pages = managed(address, bytes)?;
        // SAFETY: null, or the program's place of this size.
        unsafe { attribute_to(data, data_bytes, attribute, &pages) }
    }

    /// Several things that were said of managed memory.
    ready fn cuMemRangeGetAttributes(
        data: *mut *mut c_void,
        data_bytes: *const usize,
        attributes: *const c_uint,
        number: usize,
        address: CUdeviceptr,
        bytes: usize,
    ) {
        Context::working()?;
        if number == 0 || data.is_null() || data_bytes.is_null() || attributes.is_null() {
            return Err(Error::InvalidValue);
        }
        let pages = managed(address, bytes)?;
        for at in 0..number {
            // SAFETY: the program's lists have as many entries, and each place is null or of its size.
            unsafe {
                let place = take(data.wrapping_add(at))?;
                let place_bytes = take(data_bytes.wrapping_add(at))?;
                attribute_to(place, place_bytes, take(attributes.wrapping_add(at))?, &pages)?;
            }
        }
        Ok(())
    }

    /// Says which stream uses managed memory, which means nothing here.
    ready fn cuStreamAttachMemAsync(stream: CUstream, address: CUdeviceptr, bytes: usize, flags: c_uint) {
        if !matches!(flags, ATTACH_GLOBAL | ATTACH_HOST | ATTACH_SINGLE) {
            return Err(Error::InvalidValue);
        }
        Target::of(stream)?;
        let pages = managed(address, bytes.max(1))?;
        if pages.address() != address || (bytes != 0 && bytes as u64 != pages.len_bytes()) {
            return Err(Error::InvalidValue);
        }
        Ok(())
    }
}

fn prefetch(address: CUdeviceptr, bytes: usize, location: Location, stream: CUstream) -> Done {
    Target::of(stream)?;
    let pages = managed(address, bytes)?;
    let mut advice = pages.advice.lock().unwrap_or_else(PoisonError::into_inner);
    advice.prefetched = Some(location);
    Ok(())
}

fn advise(
    address: CUdeviceptr,
    bytes: usize,
    advice: c_uint,
    location: impl FnOnce() -> Result<Location, Error>,
) -> Done {
    Context::working()?;
    let pages = managed(address, bytes)?;
    let mut kept = pages.advice.lock().unwrap_or_else(PoisonError::into_inner);
    match advice {
        1 => kept.read_mostly = true,
        2 => kept.read_mostly = false,
        3 => kept.preferred = Some(location()?),
        4 => kept.preferred = None,
        5 => {
            kept.accessed_by.insert(accessor(location()?));
        }
        6 => {
            kept.accessed_by.remove(&accessor(location()?));
        }
        _ => return Err(Error::InvalidValue),
    }
    Ok(())
}

/// Writes what was said of managed memory.
///
/// # Safety
///
/// `data` is null or good for a write of `data_bytes` bytes.
unsafe fn attribute_to(
    data: *mut c_void,
    data_bytes: usize,
    attribute: c_uint,
    pages: &Pages,
) -> Done {
    let advice = pages.advice.lock().unwrap_or_else(PoisonError::into_inner);
    let number = |location: Option<Location>| location.map_or(NOWHERE, accessor);
    let kind = |location: Option<Location>| location.map_or(0, |location| location.kind);
    let id = |location: Option<Location>| location.map_or(0, |location| location.id);
    let value = match attribute {
        1 => i32::from(advice.read_mostly),
        2 => number(advice.preferred),
        4 => number(advice.prefetched),
        5 => kind(advice.preferred),
        6 => id(advice.preferred),
        7 => kind(advice.prefetched),
        8 => id(advice.prefetched),
        3 => {
            if data.is_null() || data_bytes == 0 || !data_bytes.is_multiple_of(4) {
                return Err(Error::InvalidValue);
            }
            let places = data.cast::<c_int>();
            let accessors = advice.accessed_by.iter().copied();
            let values = accessors.chain(std::iter::repeat(NOWHERE));
            for (at, value) in (0..data_bytes / 4).zip(values) {
                // SAFETY: within `data_bytes` bytes, by this function's own terms.
                unsafe { put(places.wrapping_add(at), value)? };
            }
            return Ok(());
        }
        _ => return Err(Error::InvalidValue),
    };
    if data_bytes != 4 {
        return Err(Error::InvalidValue);
    }
    // SAFETY: null, or good for 4 bytes, by this function's own terms.
    unsafe { put(data.cast::<c_int>(), value) }
}

/// The managed memory that a range lies in.
fn managed(address: CUdeviceptr, bytes: usize) -> Result<Arc<Pages>, Error> {
    let piece = space::find(address).ok_or(Error::InvalidValue)?;
    let at = address.saturating_sub(piece.start);
    let end = at.checked_add(bytes as u64).ok_or(Error::InvalidValue)?;
    match piece.owner {
        Owner::Host(pages)
            if pages.origin() == PagesOrigin::Managed && end <= piece.len_bytes && bytes != 0 =>
        {
            Ok(pages)
        }
        _ => Err(Error::InvalidValue),
    }
}

fn of_device(device: CUdevice) -> Result<Location, Error> {
    if device == CPU {
        return Ok(Location { kind: HOST, id: 0 });
    }
    device::check(device)?;
    let kind = DEVICE;
    Ok(Location { kind, id: device })
}

fn check(location: CUmemLocation) -> Result<Location, Error> {
    let CUmemLocation { kind, id } = location;
    match kind {
        DEVICE => of_device(id).and_then(|location| match location.kind {
            DEVICE => Ok(location),
            _ => Err(Error::InvalidDevice),
        }),
        HOST | HOST_NUMA_CURRENT => Ok(Location { kind, id: 0 }),
        HOST_NUMA if id == 0 => Ok(Location { kind, id }),
        _ => Err(Error::InvalidValue),
    }
}

/// The number by which the older attributes name a location.
fn accessor(location: Location) -> i32 {
    match location.kind {
        DEVICE => location.id,
        _ => CPU,
    }
}

const ATTACH_GLOBAL: c_uint = 1;
const ATTACH_HOST: c_uint = 2;
const ATTACH_SINGLE: c_uint = 4;
const CPU: c_int = -1;
const NOWHERE: c_int = -2;
const DEVICE: c_int = 1;
const HOST: c_int = 2;
const HOST_NUMA: c_int = 3;
const HOST_NUMA_CURRENT: c_int = 4;
