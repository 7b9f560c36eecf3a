//! Initialisation, the driver's version, and the device's properties.

use std::ffi::{c_int, c_uint};

use crate::call::{self, api, put};
use crate::device::{COUNT, DRIVER_VERSION};
use crate::error::Error;
use crate::types::CUdevice;

api! {
    /// Makes the driver ready; `flags` must be 0.
    early fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        call::initialise();
        Ok(())
    }

    /// The newest version of the driver API that is there.
    early fn cuDriverGetVersion(version: *mut c_int) {
        // SAFETY: null, or the program's place for an `int`.
        unsafe { put(version, DRIVER_VERSION) }
    }

    /// How many devices there are.
    ready fn cuDeviceGetCount(count: *mut c_int) {
        // SAFETY: null, or the program's place for an `int`.
        unsafe { put(count, COUNT) }
    }

    /// The device with this ordinal.
    ready fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) {
        check(ordinal)?;
        // SAFETY: null, or the program's place for a device.
        unsafe { put(device, ordinal) }
    }
}

/// Refuses what is not a device.
pub(crate) fn check(device: CUdevice) -> Result<(), Error> {
    if (0..COUNT).contains(&device) {
        Ok(())
    } else {
        Err(Error::InvalidDevice)
    }
}
