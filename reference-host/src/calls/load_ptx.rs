use std::str;

use crate::abi::{MAX_ENTRY_NAME_BYTES, MAX_PTX_BYTES};
use crate::calls::raw;
use crate::error::Refusal;
use crate::guest::GuestMemory;
use crate::instance::{Instance, OrRecord};

/// Assembles the PTX of a guest and finds a kernel in it; returns the kernel id.
///
/// The rules apply in this order: the cap on PTX bytes, the two regions, the cap on the entry name, its UTF-8,
/// the caps on kernels, then assembling. A refused load uses no quota.
///
/// # Errors
///
/// -6 over a cap, -2 for a region outside memory or a negative length, -9 for a name that is not UTF-8 or names
/// no kernel of the PTX, -4 for PTX that an assembler rejects, -7 for PTX that the device does not implement,
/// -1 without a device that could load.
pub fn load_ptx(
    instance: &mut Instance,
    memory: Option<&mut [u8]>,
    ptx_ptr: i32,
    ptx_len: i32,
    entry_ptr: i32,
    entry_len: i32,
) -> i64 {
    raw(instance, |held, last_error| {
        if let Ok(len) = u32::try_from(ptx_len)
            && u64::from(len) > MAX_PTX_BYTES
        {
            return Err(last_error.record(Refusal::PtxTooLong { len }));
        }
        let memory = GuestMemory::new(memory);
        let ptx = memory.read("PTX", ptx_ptr, ptx_len).or_record(last_error)?;
        let entry = memory
            .read("entry name", entry_ptr, entry_len)
            .or_record(last_error)?;
        let entry = entry_name(entry).or_record(last_error)?;
        let host = &held.host;
        let quota = host
            .kernels
            .reserve(held.kernels, ptx.len() as u64)
            .or_record(last_error)?;
        let kernel = held.context.load(ptx, entry).or_record(last_error)?;
        Ok(quota.commit(kernel).number())
    })
}

fn entry_name(bytes: &[u8]) -> Result<&str, Refusal> {
    if bytes.len() > MAX_ENTRY_NAME_BYTES as usize {
        return Err(Refusal::EntryNameTooLong { len: bytes.len() });
    }
    str::from_utf8(bytes).map_err(|error| Refusal::EntryNameNotUtf8 {
        valid_up_to: error.valid_up_to(),
    })
}
