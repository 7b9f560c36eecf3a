//! What is known of an address.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use crate::call::{Done, api, put, take};
use crate::context::Context;
use crate::error::Error;
use crate::memory::host::PagesOrigin;
use crate::memory::space::{self, Owner, Piece};
use crate::pool;
use crate::types::{CUcontext, CUdeviceptr};

api! {
    /// One property of an address of device, pinned, managed or registered memory.
    ready fn cuPointerGetAttribute(data: *mut c_void, attribute: c_uint, address: CUdeviceptr) {
        if data.is_null() || !(1..=LAST).contains(&attribute) {
            return Err(Error::InvalidValue);
        }
        let found = find(address).ok_or(Error::InvalidValue)?;
        let value = value(attribute, address, &found)?;
        // SAFETY: not null: the program's place for a value of this attribute.
        unsafe { value.write(data) }
    }

    /// Several properties of an address; those of an unknown one are zeros.
    ready fn cuPointerGetAttributes(
        number: c_uint,
        attributes: *const c_uint,
        data: *mut *mut c_void,
        address: CUdeviceptr,
    ) {
        if number == 0 || attributes.is_null() || data.is_null() {
            return Err(Error::InvalidValue);
        }
        let found = find(address);
        for at in 0..number as usize {
            // SAFETY: the program's lists have as many entries.
            let (attribute, place) = unsafe {
                (take(attributes.wrapping_add(at))?, take(data.wrapping_add(at))?)
            };
            if place.is_null() || !(1..=LAST).contains(&attribute) {
                return Err(Error::InvalidValue);
            }
            let value = match &found {
                Some(found) => value(attribute, address, found),
                None => Err(Error::InvalidValue),
            };
            // SAFETY: not null: the program's place for a value of this attribute.
            unsafe { value.unwrap_or(nothing(attribute)).write(place)? };
        }
        Ok(())
    }

    /// Sets the one property that can be set, which is the case anyhow: that synchronous copies are.
    ready fn cuPointerSetAttribute(data: *const c_void, attribute: c_uint, address: CUdeviceptr) {
        if data.is_null() || attribute != SYNC_MEMOPS {
            return Err(Error::InvalidValue);
        }
        find(address).map(|_| ()).ok_or(Error::InvalidValue)
    }
}

/// A value of an attribute, by its size.
#[derive(Clone, Copy)]
enum Value {
    Long(c_ulonglong),
    Word(c_int),
}

impl Value {
    /// Writes it.
    ///
    /// # Safety
    ///
    /// `data` is good for a write of a value of its attribute.
    unsafe fn write(self, data: *mut c_void) -> Done {
        // SAFETY: this function's own terms.
        unsafe {
            match self {
                Self::Long(value) => put(data.cast(), value),
                Self::Word(value) => put(data.cast(), value),
            }
        }
    }
}

/// The memory that an address of device or program is in.
fn find(address: u64) -> Option<Piece> {
    space::find(address).or_else(|| space::find_host(address))
}

fn value(attribute: c_uint, address: u64, piece: &Piece) -> Result<Value, Error> {
    let (context, pages) = match &piece.owner {
        Owner::Context(context) => (*context, None),
        Owner::Host(pages) => (pages.context, Some(pages)),
    };
    let at = if space::find(address).is_some() {
        address.saturating_sub(piece.start)
    } else {
        address.saturating_sub(piece.host_start())
    };
    let managed = pages.is_some_and(|pages| pages.origin() == PagesOrigin::Managed);
    Ok(match attribute {
        CONTEXT => {
            let handle = Context::numbered(context).map_or(CUcontext(0), |made| made.handle());
            Value::Long(handle.0 as u64)
        }
        MEMORY_TYPE => Value::Word(match pages {
            None => MEMORY_DEVICE,
            Some(_) if managed => MEMORY_DEVICE,
            Some(_) => MEMORY_HOST,
        }),
        DEVICE_POINTER => Value::Long(piece.start.saturating_add(at)),
        HOST_POINTER => match pages {
            Some(pages) => Value::Long(pages.address().saturating_add(at)),
            None => return Err(Error::InvalidValue),
        },
        P2P_TOKENS => return Err(Error::NotSupported),
        SYNC_MEMOPS | MAPPED => Value::Word(1),
        BUFFER_ID | MEMORY_BLOCK_ID => Value::Long(piece.serial),
        IS_MANAGED => Value::Word(i32::from(managed)),
        DEVICE_ORDINAL => Value::Word(0),
        RANGE_START => Value::Long(piece.start),
        RANGE_SIZE | MAPPING_SIZE => Value::Long(piece.len_bytes),
        MAPPING_BASE => Value::Long(piece.start),
        ACCESS_FLAGS => Value::Word(READ_WRITE),
        MEMPOOL_HANDLE => {
            let owner = Context::numbered(context).filter(|_| pages.is_none());
            let number = owner.and_then(|owner| owner.state().memory.pool_of(piece.start));
            Value::Long(number.map_or(0, |number| pool::handle(number).0 as u64))
        }
        LOCALITY_DOMAIN => Value::Word(-1),
        ALLOWED_HANDLE_TYPES => Value::Long(0),
        // No memory can be shared with other processes or devices, nor decompressed into.
        _ => Value::Word(0),
    })
}

/// What stands for an attribute of an address that is not known.
fn nothing(attribute: c_uint) -> Value {
    match attribute {
        CONTEXT | DEVICE_POINTER | HOST_POINTER | P2P_TOKENS | BUFFER_ID | RANGE_START
        | RANGE_SIZE | ALLOWED_HANDLE_TYPES | MEMPOOL_HANDLE | MAPPING_SIZE | MAPPING_BASE
        | MEMORY_BLOCK_ID => Value::Long(0),
        DEVICE_ORDINAL => Value::Word(NO_DEVICE),
        _ => Value::Word(0),
    }
}

const CONTEXT: c_uint = 1;
const MEMORY_TYPE: c_uint = 2;
const DEVICE_POINTER: c_uint = 3;
const HOST_POINTER: c_uint = 4;
const P2P_TOKENS: c_uint = 5;
const SYNC_MEMOPS: c_uint = 6;
const BUFFER_ID: c_uint = 7;
const IS_MANAGED: c_uint = 8;
const DEVICE_ORDINAL: c_uint = 9;
const RANGE_START: c_uint = 11;
const RANGE_SIZE: c_uint = 12;
const MAPPED: c_uint = 13;
const ALLOWED_HANDLE_TYPES: c_uint = 14;
const ACCESS_FLAGS: c_uint = 16;
const MEMPOOL_HANDLE: c_uint = 17;
const MAPPING_SIZE: c_uint = 18;
const MAPPING_BASE: c_uint = 19;
const MEMORY_BLOCK_ID: c_uint = 20;
const LOCALITY_DOMAIN: c_uint = 22;
const LAST: c_uint = 22;
const MEMORY_HOST: c_int = 1;
const MEMORY_DEVICE: c_int = 2;
const READ_WRITE: c_int = 3;
const NO_DEVICE: c_int = -2;
