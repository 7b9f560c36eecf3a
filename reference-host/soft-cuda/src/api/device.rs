//! Initialisation, the driver's version, and the device's properties.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::call::{self, Done, api, put, put_wanted, text};
use crate::device::{
    self, COMPUTE_CAPABILITY, COUNT, DRIVER_VERSION, MAX_BLOCK, MAX_GRID, NAME, PCI_BUS_ID, UUID,
};
use crate::environment::settings;
use crate::error::Error;
use crate::types::CUdevice;

api! {
    /// Makes the driver ready; `flags` must be 0.
    early fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        if !settings().visible {
            return Err(Error::NoDevice);
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

    /// What the device is called, cut off where there is no room.
    ready fn cuDeviceGetName(name: *mut c_char, room: c_int, device: CUdevice) {
        check(device)?;
        // SAFETY: null, or the program's buffer, as large as it says.
        unsafe { put_text(name, room, NAME) }
    }

    /// The device's identity.
    ready fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: CUdevice) {
        check(device)?;
        // SAFETY: null, or the program's place for 16 bytes.
        unsafe { put(uuid, UUID) }
    }

    /// As [`cuDeviceGetUuid`]: the device has no parts.
    ready fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: CUdevice) {
        check(device)?;
        // SAFETY: null, or the program's place for 16 bytes.
        unsafe { put(uuid, UUID) }
    }

    /// An identity for graphics, which the device does not have.
    ready fn cuDeviceGetLuid(luid: *mut c_char, mask: *mut c_uint, device: CUdevice) {
        if luid.is_null() || mask.is_null() {
            return Err(Error::InvalidValue);
        }
        check(device)?;
        Err(Error::NotSupported)
    }

    /// Bytes of memory that the device has.
    ready fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) {
        check(device)?;
        let total = usize::try_from(settings().memory_bytes).map_err(|_| Error::Unknown)?;
        // SAFETY: null, or the program's place for a size.
        unsafe { put(bytes, total) }
    }

    /// The value of an attribute.
    ready fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice) {
        if value.is_null() {
            return Err(Error::InvalidValue);
        }
        let found = device::attribute(attribute)?;
        check(device)?;
        // SAFETY: not null: the program's place for an `int`.
        unsafe { put(value, found) }
    }

    /// The device's compute capability.
    ready fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: CUdevice) {
        if major.is_null() || minor.is_null() {
            return Err(Error::InvalidValue);
        }
        check(device)?;
        // SAFETY: not null: the program's place for an `int`.
        unsafe { put(major, COMPUTE_CAPABILITY.0) }?;
        // SAFETY: not null: the program's place for an `int`.
        unsafe { put(minor, COMPUTE_CAPABILITY.1) }
    }

    /// Some of the attributes at once.
    ready fn cuDeviceGetProperties(properties: *mut Properties, device: CUdevice) {
        if properties.is_null() {
            return Err(Error::InvalidValue);
        }
        check(device)?;
        let found = Properties::of_device()?;
        // SAFETY: not null: the program's place for properties.
        unsafe { put(properties, found) }
    }

    /// Where the device would sit, as text.
    ready fn cuDeviceGetPCIBusId(id: *mut c_char, room: c_int, device: CUdevice) {
        check(device)?;
        // SAFETY: null, or the program's buffer, as large as it says.
        unsafe { put_text(id, room, PCI_BUS_ID) }
    }

    /// The device that sits at a place.
    ready fn cuDeviceGetByPCIBusId(device: *mut CUdevice, id: *const c_char) {
        // SAFETY: null, or the program's string.
        let id = unsafe { text(id) }?;
        if device.is_null() {
            return Err(Error::InvalidValue);
        }
        if !is_here(id).ok_or(Error::InvalidValue)? {
            return Err(Error::InvalidDevice);
        }
        // SAFETY: not null: the program's place for a device.
        unsafe { put(device, 0) }
    }

    /// Whether one device reaches another's memory: there is no other.
    ready fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice) {
        if can.is_null() {
            return Err(Error::InvalidValue);
        }
        check(device)?;
        check(peer)?;
        // SAFETY: not null: the program's place for an `int`.
        unsafe { put(can, 0) }
    }

    /// What is between two devices: there are no two.
    ready fn cuDeviceGetP2PAttribute(
        value: *mut c_int,
        attribute: c_int,
        device: CUdevice,
        peer: CUdevice,
    ) {
        if value.is_null() || !(1..=5).contains(&attribute) {
            return Err(Error::InvalidValue);
        }
        check(device)?;
        check(peer)?;
        Err(Error::InvalidDevice)
    }

    /// Whether contexts can have a share of the device: they cannot.
    ready fn cuDeviceGetExecAffinitySupport(value: *mut c_int, kind: c_int, device: CUdevice) {
        if value.is_null() || kind != 0 {
            return Err(Error::InvalidValue);
        }
        check(device)?;
        // SAFETY: not null: the program's place for an `int`.
        unsafe { put(value, 0) }
    }

    /// How large a texture can be: there are none.
    ready fn cuDeviceGetTexture1DLinearMaxWidth(
        width: *mut usize,
        _format: c_uint,
        _channels: c_uint,
        device: CUdevice,
    ) {
        if width.is_null() {
            return Err(Error::InvalidValue);
        }
        check(device)?;
        Err(Error::NotSupported)
    }

    /// A table of functions that no document describes; programs go on without.
    early fn cuGetExportTable(table: *mut *const c_void, id: *const [u8; 16]) {
        if id.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: null, or the program's place for an address.
        unsafe { put_wanted(table, std::ptr::null()) };
        Err(Error::NotFound)
    }
}

/// `CUdevprop`: some of a device's attributes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Properties {
    /// Threads of a block.
    pub threads_per_block: c_int,
    /// Threads of a block along each axis.
    pub block: [c_int; 3],
    /// Blocks of a grid along each axis.
    pub grid: [c_int; 3],
    /// Shared memory of a block.
    pub shared_bytes: c_int,
    /// Memory for constants.
    pub constant_bytes: c_int,
    /// Threads of a warp.
    pub warp: c_int,
    /// The largest pitch of a copy.
    pub pitch_bytes: c_int,
    /// Registers of a block.
    pub registers: c_int,
    /// The clock's rate in kilohertz.
    pub clock_rate: c_int,
    /// The alignment of textures.
    pub texture_align: c_int,
}

impl Properties {
    fn of_device() -> Result<Self, Error> {
        let axes = |axes: [u32; 3]| axes.map(|axis| c_int::try_from(axis).unwrap_or(c_int::MAX));
        Ok(Self {
            threads_per_block: device::attribute(1)?,
            block: axes(MAX_BLOCK),
            grid: axes(MAX_GRID),
            shared_bytes: device::attribute(8)?,
            constant_bytes: device::attribute(9)?,
            warp: device::attribute(10)?,
            pitch_bytes: device::attribute(11)?,
            registers: device::attribute(12)?,
            clock_rate: device::attribute(13)?,
            texture_align: device::attribute(14)?,
        })
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

/// Writes text and its end, cut off where there is no room.
///
/// # Safety
///
/// `to` is null or has `room` bytes.
unsafe fn put_text(to: *mut c_char, room: c_int, text: &str) -> Done {
    let room = usize::try_from(room).map_err(|_| Error::InvalidValue)?;
    let most = room.checked_sub(1).ok_or(Error::InvalidValue)?;
    if to.is_null() {
        return Err(Error::InvalidValue);
    }
    let to: *mut u8 = to.cast();
    let length = text.len().min(most);
    // SAFETY: not null, with room for `length` bytes and one more.
    unsafe { to.copy_from_nonoverlapping(text.as_ptr(), length) };
    // SAFETY: the byte behind them is within the room.
    unsafe { to.add(length).write(0) };
    Ok(())
}

/// Whether a place on the bus, `[domain:]bus:device[.function]`, is the device's; `None` where that is no place.
fn is_here(id: &[u8]) -> Option<bool> {
    let id = std::str::from_utf8(id).ok()?;
    let (path, function) = id.split_once('.').unwrap_or((id, "0"));
    let mut numbers = path.rsplit(':');
    let (device, bus) = (numbers.next()?, numbers.next()?);
    let domain = numbers.next().unwrap_or("0");
    if numbers.next().is_some() {
        return None;
    }
    let mut here = true;
    for (number, place) in [(domain, 0xFFFF), (bus, 0), (device, 0), (function, 0)] {
        let digits = number.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(number, 16).ok().filter(|_| digits)?;
        here &= number == place;
    }
    Some(here)
}
