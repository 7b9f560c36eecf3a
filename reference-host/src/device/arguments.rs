//! What every device makes of a launch's arguments: the parameter buffer, and the windows of guest memory.

use std::ops::Range;

use smallvec::SmallVec;
use soft_gpu::Param;

use crate::argv::{Arg, Window};
use crate::device::DeviceError;

/// Parameter sizes in order.
pub(super) fn param_sizes(params: &[Param]) -> Box<[u32]> {
    params.iter().map(|param| param.size_bytes).collect()
}

/// The parameter buffer: each argument's bytes at its parameter's offset; a window is passed as its `address`.
///
/// # Errors
///
/// An argument does not fit its parameter, which the caller should have found out.
pub(super) fn param_buffer(
    params: &[Param],
    args: &[Arg],
    address: impl Fn(Window) -> u64,
) -> Result<ParamBuffer, DeviceError> {
    let end = params.last().map_or(0, |param| {
        param.offset_bytes.saturating_add(param.size_bytes)
    });
    let mut buffer = SmallVec::from_elem(0, usize::try_from(end).map_err(|_| DO_NOT_FIT)?);
    for (arg, param) in args.iter().zip(params) {
        put(&mut buffer, *arg, param, &address).ok_or(DO_NOT_FIT)?;
    }
    Ok(buffer)
}

/// Parameters as a device takes them.
pub(super) type ParamBuffer = SmallVec<[u8; 128]>;

const DO_NOT_FIT: DeviceError = DeviceError::Internal("arguments do not fit the parameters");

fn put(
    buffer: &mut ParamBuffer,
    arg: Arg,
    param: &Param,
    address: impl Fn(Window) -> u64,
) -> Option<()> {
    let at = buffer.get_mut(usize::try_from(param.offset_bytes).ok()?..)?;
    match arg {
        Arg::I32(value) => *at.first_chunk_mut()? = value.to_le_bytes(),
        Arg::U32(bits) | Arg::F32(bits) => *at.first_chunk_mut()? = bits.to_le_bytes(),
        Arg::I64(value) => *at.first_chunk_mut()? = value.to_le_bytes(),
        Arg::U64(bits) | Arg::F64(bits) => *at.first_chunk_mut()? = bits.to_le_bytes(),
        Arg::Ptr(window) => *at.first_chunk_mut()? = address(window).to_le_bytes(),
    }
    Some(())
}

/// Ranges of guest memory.
pub(super) type Windows = SmallVec<[Range<u64>; 16]>;

/// The bytes that the windows among `args` cover, as ranges in ascending order that do not overlap.
pub(super) fn merged(args: &[Arg]) -> Windows {
    let mut windows: Windows = args
        .iter()
        .filter_map(|arg| match arg {
            Arg::Ptr(window) if window.len > 0 => {
                let start = u64::from(window.offset);
                Some(start..start.saturating_add(u64::from(window.len)))
            }
            _ => None,
        })
        .collect();
    windows.sort_unstable_by_key(|window| window.start);
    windows.dedup_by(|next, kept| {
        let overlaps = next.start < kept.end;
        if overlaps {
            kept.end = kept.end.max(next.end);
        }
        overlaps
    });
    windows
}
