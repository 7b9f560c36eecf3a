//! Copies of rows and of slices of rows.

use std::ffi::c_uint;

use crate::api::copy::site;
use crate::call::{Done, api, take};
use crate::context::Context;
use crate::error::Error;
use crate::memory::copy::{End, Place, Shape, Transfer, submit};
use crate::types::{CUcontext, CUdeviceptr, CUstream};

/// A copy of rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUDA_MEMCPY2D {
    /// First byte in a row of the source.
    pub src_x_in_bytes: usize,
    /// First row of the source.
    pub src_y: usize,
    /// 1 for the host, 2 for the device, 3 for an array, 4 for any address.
    pub src_memory_type: c_uint,
    /// The source on the host.
    pub src_host: usize,
    /// The source on the device, or anywhere.
    pub src_device: CUdeviceptr,
    /// The source array.
    pub src_array: usize,
    /// Bytes from a row of the source to the next.
    pub src_pitch: usize,
    /// First byte in a row of the destination.
    pub dst_x_in_bytes: usize,
    /// First row of the destination.
    pub dst_y: usize,
    /// As for the source.
    pub dst_memory_type: c_uint,
    /// The destination on the host.
    pub dst_host: usize,
    /// The destination on the device, or anywhere.
    pub dst_device: CUdeviceptr,
    /// The destination array.
    pub dst_array: usize,
    /// Bytes from a row of the destination to the next.
    pub dst_pitch: usize,
    /// Bytes of each row.
    pub width_in_bytes: usize,
    /// Rows.
    pub height: usize,
}

/// A copy of slices of rows; the version between contexts has the same shape, with a context where this has nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUDA_MEMCPY3D {
    /// First byte in a row of the source.
    pub src_x_in_bytes: usize,
    /// First row in a slice of the source.
    pub src_y: usize,
    /// First slice of the source.
    pub src_z: usize,
    /// 0.
    pub src_lod: usize,
    /// 1 for the host, 2 for the device, 3 for an array, 4 for any address.
    pub src_memory_type: c_uint,
    /// The source on the host.
    pub src_host: usize,
    /// The source on the device, or anywhere.
    pub src_device: CUdeviceptr,
    /// The source array.
    pub src_array: usize,
    /// 0, or the source's context.
    pub src_context: CUcontext,
    /// Bytes from a row of the source to the next.
    pub src_pitch: usize,
    /// Rows from a slice of the source to the next.
    pub src_height: usize,
    /// First byte in a row of the destination.
    pub dst_x_in_bytes: usize,
    /// First row in a slice of the destination.
    pub dst_y: usize,
    /// First slice of the destination.
    pub dst_z: usize,
    /// 0.
    pub dst_lod: usize,
    /// As for the source.
    pub dst_memory_type: c_uint,
    /// The destination on the host.
    pub dst_host: usize,
    /// The destination on the device, or anywhere.
    pub dst_device: CUdeviceptr,
    /// The destination array.
    pub dst_array: usize,
    /// 0, or the destination's context.
    pub dst_context: CUcontext,
    /// Bytes from a row of the destination to the next.
    pub dst_pitch: usize,
    /// Rows from a slice of the destination to the next.
    pub dst_height: usize,
    /// Bytes of each row.
    pub width_in_bytes: usize,
    /// Rows of each slice.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}

api! {
    /// Copies rows.
    ready fn cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D) {
        // SAFETY: null, or the program's description, of which every bit pattern is a value.
        carry_out(None, unsafe { take(copy) }?.slices(), Pitch::Limited)
    }

    /// Copies rows of any pitch.
    ready fn cuMemcpy2DUnaligned_v2(copy: *const CUDA_MEMCPY2D) {
        // SAFETY: as for `cuMemcpy2D_v2`.
        carry_out(None, unsafe { take(copy) }?.slices(), Pitch::Any)
    }

    /// Copies rows in a stream.
    ready fn cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream) {
        // SAFETY: as for `cuMemcpy2D_v2`.
        carry_out(Some(stream), unsafe { take(copy) }?.slices(), Pitch::Limited)
    }

    /// Copies slices of rows.
    ready fn cuMemcpy3D_v2(copy: *const CUDA_MEMCPY3D) {
        // SAFETY: as for `cuMemcpy2D_v2`.
        carry_out(None, own(unsafe { take(copy) }?)?, Pitch::Limited)
    }

    /// Copies slices of rows in a stream.
    ready fn cuMemcpy3DAsync_v2(copy: *const CUDA_MEMCPY3D, stream: CUstream) {
        // SAFETY: as for `cuMemcpy2D_v2`.
        carry_out(Some(stream), own(unsafe { take(copy) }?)?, Pitch::Limited)
    }

    /// Copies slices of rows between contexts.
    ready fn cuMemcpy3DPeer(copy: *const CUDA_MEMCPY3D) {
        // SAFETY: as for `cuMemcpy2D_v2`.
        carry_out(None, between(unsafe { take(copy) }?)?, Pitch::Limited)
    }

    /// Copies slices of rows between contexts in a stream.
    ready fn cuMemcpy3DPeerAsync(copy: *const CUDA_MEMCPY3D, stream: CUstream) {
        // SAFETY: as for `cuMemcpy2D_v2`.
        carry_out(Some(stream), between(unsafe { take(copy) }?)?, Pitch::Limited)
    }
}

impl CUDA_MEMCPY2D {
    fn slices(self) -> CUDA_MEMCPY3D {
        CUDA_MEMCPY3D {
            src_x_in_bytes: self.src_x_in_bytes,
            src_y: self.src_y,
            src_memory_type: self.src_memory_type,
            src_host: self.src_host,
            src_device: self.src_device,
            src_array: self.src_array,
            src_pitch: self.src_pitch,
            dst_x_in_bytes: self.dst_x_in_bytes,
            dst_y: self.dst_y,
            dst_memory_type: self.dst_memory_type,
            dst_host: self.dst_host,
            dst_device: self.dst_device,
            dst_array: self.dst_array,
            dst_pitch: self.dst_pitch,
            width_in_bytes: self.width_in_bytes,
            height: self.height,
            depth: 1,
            ..CUDA_MEMCPY3D::default()
        }
    }
}

/// Which distances of rows are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pitch {
    /// Up to the device's limit.
    Limited,
    /// All.
    Any,
}

/// Refuses a description that says something where nothing may be.
pub(crate) fn own(copy: CUDA_MEMCPY3D) -> Result<CUDA_MEMCPY3D, Error> {
    if copy.src_context.0 != 0 || copy.dst_context.0 != 0 {
        return Err(Error::InvalidValue);
    }
    Ok(copy)
}

fn between(copy: CUDA_MEMCPY3D) -> Result<CUDA_MEMCPY3D, Error> {
    for (kind, context) in [
        (copy.src_memory_type, copy.src_context),
        (copy.dst_memory_type, copy.dst_context),
    ] {
        if kind == DEVICE {
            Context::of(context)?;
        }
    }
    Ok(copy)
}

fn carry_out(stream: Option<CUstream>, copy: CUDA_MEMCPY3D, limit: Pitch) -> Done {
    let (context, stream) = site(stream)?;
    // SAFETY: memory of the program's is there for the time of the call.
    let transfer = unsafe { prepare(&copy, limit) }?;
    submit(&context, stream, transfer)
}

/// Finds the memory that a copy means. One of nothing needs none.
///
/// # Errors
///
/// [`Error::InvalidValue`], and [`Error::NotSupported`] for arrays.
///
/// # Safety
///
/// Memory of the program's that the copy names is there until the last use of the result.
pub(crate) unsafe fn prepare(copy: &CUDA_MEMCPY3D, limit: Pitch) -> Result<Transfer, Error> {
    if copy.src_lod != 0 || copy.dst_lod != 0 {
        return Err(Error::InvalidValue);
    }
    let shape = Shape {
        width_bytes: copy.width_in_bytes as u64,
        height: copy.height as u64,
        depth: copy.depth as u64,
    };
    let from = Side {
        kind: copy.src_memory_type,
        host: copy.src_host,
        device: copy.src_device,
        x: copy.src_x_in_bytes as u64,
        y: copy.src_y as u64,
        z: copy.src_z as u64,
        pitch: copy.src_pitch as u64,
        height: copy.src_height as u64,
    };
    let to = Side {
        kind: copy.dst_memory_type,
        host: copy.dst_host,
        device: copy.dst_device,
        x: copy.dst_x_in_bytes as u64,
        y: copy.dst_y as u64,
        z: copy.dst_z as u64,
        pitch: copy.dst_pitch as u64,
        height: copy.dst_height as u64,
    };
    // SAFETY: this function's own terms.
    let (to, from) = unsafe { (to.end(shape, limit)?, from.end(shape, limit)?) };
    Ok(Transfer { to, from, shape })
}

/// One side of a copy as a program describes it.
struct Side {
    kind: c_uint,
    host: usize,
    device: u64,
    x: u64,
    y: u64,
    z: u64,
    pitch: u64,
    height: u64,
}

impl Side {
    /// # Safety
    ///
    /// As for [`prepare`].
    unsafe fn end(&self, shape: Shape, limit: Pitch) -> Result<End, Error> {
        let start = match self.kind {
            HOST => self.host as u64,
            DEVICE | UNIFIED => self.device,
            ARRAY => return Err(Error::NotSupported),
            _ => return Err(Error::InvalidValue),
        };
        let row = self.x.checked_add(shape.width_bytes);
        let row = row.ok_or(Error::InvalidValue)?;
        let single_row = shape.height <= 1 && shape.depth <= 1 && self.y == 0 && self.z == 0;
        let too_long = limit == Pitch::Limited && self.pitch > MAX_PITCH;
        if too_long || (self.pitch < row && !(single_row && self.pitch == 0)) {
            return Err(Error::InvalidValue);
        }
        let single_slice = shape.depth <= 1 && self.z == 0;
        let rows = self.y.checked_add(shape.height);
        if !single_slice && self.height < rows.ok_or(Error::InvalidValue)? {
            return Err(Error::InvalidValue);
        }
        let slice_bytes = self.pitch.checked_mul(self.height);
        let slice_bytes = slice_bytes.ok_or(Error::InvalidValue)?;
        let first = || {
            let before = self.y.checked_mul(self.pitch)?.checked_add(self.x)?;
            let before = self.z.checked_mul(slice_bytes)?.checked_add(before)?;
            start.checked_add(before)
        };
        let first = first().ok_or(Error::InvalidValue)?;
        let len = shape.extent(self.pitch, slice_bytes)?;
        let place = if shape.is_empty() {
            Place::Nothing
        } else if start == 0 {
            return Err(Error::InvalidValue);
        } else {
            // SAFETY: this function's own terms.
            unsafe {
                match self.kind {
                    HOST => Place::of_host(first as usize, len)?,
                    DEVICE => Place::of_device(first, len)?,
                    _ => Place::of_any(first, len)?,
                }
            }
        };
        Ok(End {
            place,
            pitch_bytes: self.pitch,
            slice_bytes,
        })
    }
}

const HOST: c_uint = 1;
const DEVICE: c_uint = 2;
const ARRAY: c_uint = 3;
const UNIFIED: c_uint = 4;
/// The longest pitch that the device takes.
const MAX_PITCH: u64 = 0x7FFF_FFFF;
