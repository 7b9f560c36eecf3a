//! Memory filled with one value.

use std::ffi::{c_uchar, c_uint, c_ushort};

use crate::api::copy::site;
use crate::call::{Done, api};
use crate::error::Error;
use crate::memory::copy::{End, Fill, Pattern, Place, Shape, submit_fill};
use crate::types::{CUdeviceptr, CUstream};

api! {
    /// Fills with a byte.
    ready fn cuMemsetD8_v2(to: CUdeviceptr, value: c_uchar, number: usize) {
        fill(None, to, 0, Pattern::byte(value), number, 1)
    }

    /// Fills with two bytes.
    ready fn cuMemsetD16_v2(to: CUdeviceptr, value: c_ushort, number: usize) {
        fill(None, to, 0, Pattern::half(value), number, 1)
    }

    /// Fills with four bytes.
    ready fn cuMemsetD32_v2(to: CUdeviceptr, value: c_uint, number: usize) {
        fill(None, to, 0, Pattern::word(value), number, 1)
    }

    /// Fills with a byte in a stream.
    ready fn cuMemsetD8Async(to: CUdeviceptr, value: c_uchar, number: usize, stream: CUstream) {
        fill(Some(stream), to, 0, Pattern::byte(value), number, 1)
    }

    /// Fills with two bytes in a stream.
    ready fn cuMemsetD16Async(to: CUdeviceptr, value: c_ushort, number: usize, stream: CUstream) {
        fill(Some(stream), to, 0, Pattern::half(value), number, 1)
    }

    /// Fills with four bytes in a stream.
    ready fn cuMemsetD32Async(to: CUdeviceptr, value: c_uint, number: usize, stream: CUstream) {
        fill(Some(stream), to, 0, Pattern::word(value), number, 1)
    }

    /// Fills rows with a byte.
    ready fn cuMemsetD2D8_v2(to: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, height: usize) {
        fill(None, to, pitch, Pattern::byte(value), width, height)
    }

    /// Fills rows with two bytes.
    ready fn cuMemsetD2D16_v2(to: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, height: usize) {
        fill(None, to, pitch, Pattern::half(value), width, height)
    }

    /// Fills rows with four bytes.
    ready fn cuMemsetD2D32_v2(to: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize) {
        fill(None, to, pitch, Pattern::word(value), width, height)
    }

    /// Fills rows with a byte in a stream.
    ready fn cuMemsetD2D8Async(
        to: CUdeviceptr,
        pitch: usize,
        value: c_uchar,
        width: usize,
        height: usize,
        stream: CUstream,
    ) {
        fill(Some(stream), to, pitch, Pattern::byte(value), width, height)
    }

    /// Fills rows with two bytes in a stream.
    ready fn cuMemsetD2D16Async(
        to: CUdeviceptr,
        pitch: usize,
        value: c_ushort,
        width: usize,
        height: usize,
        stream: CUstream,
    ) {
        fill(Some(stream), to, pitch, Pattern::half(value), width, height)
    }

    /// Fills rows with four bytes in a stream.
    ready fn cuMemsetD2D32Async(
        to: CUdeviceptr,
        pitch: usize,
        value: c_uint,
        width: usize,
        height: usize,
        stream: CUstream,
    ) {
        fill(Some(stream), to, pitch, Pattern::word(value), width, height)
    }
}

/// Fills `height` rows of `width` elements.
fn fill(
    stream: Option<CUstream>,
    to: CUdeviceptr,
    pitch: usize,
    pattern: Pattern,
    width: usize,
    height: usize,
) -> Done {
    let (context, stream) = site(stream)?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let fill = prepare(to, pitch as u64, pattern, width as u64, height as u64)?;
    submit_fill(&context, stream, fill)
}

/// Checks where `height` rows of `width` elements are, neither of which is 0.
pub(crate) fn prepare(
    to: CUdeviceptr,
    pitch_bytes: u64,
    pattern: Pattern,
    width: u64,
    height: u64,
) -> Result<Fill, Error> {
    let element = pattern.len_bytes();
    let aligned = |number: u64| number.is_multiple_of(element);
    if !aligned(to) || (height > 1 && !aligned(pitch_bytes)) {
        return Err(Error::InvalidValue);
    }
    let shape = Shape {
        width_bytes: width.checked_mul(element).ok_or(Error::InvalidValue)?,
        height,
        depth: 1,
    };
    let place = Place::of_device(to, shape.extent(pitch_bytes, 0)?)?;
    let to = End {
        place,
        pitch_bytes,
        slice_bytes: 0,
    };
    Ok(Fill { to, shape, pattern })
}
