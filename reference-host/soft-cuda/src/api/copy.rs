//! Copies.

use std::ffi::c_void;
use std::sync::Arc;

use crate::call::{Done, api};
use crate::context::Context;
use crate::error::Error;
use crate::memory::copy::{End, Place, Shape, Transfer, submit};
use crate::queue::StreamId;
use crate::stream::Target;
use crate::types::{CUcontext, CUdeviceptr, CUstream};

api! {
    /// Copies between any two addresses.
    ready fn cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        // SAFETY: addresses of the device, or memory of the program's for the time of the call.
        linear(None, bytes, |len| Ok((unsafe { Place::of_any(to, len) }?, unsafe { Place::of_any(from, len) }?)))
    }

    /// Copies between any two addresses in a stream.
    ready fn cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        // SAFETY: as for `cuMemcpy`.
        linear(Some(stream), bytes, |len| Ok((unsafe { Place::of_any(to, len) }?, unsafe { Place::of_any(from, len) }?)))
    }

    /// Copies to the device.
    ready fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        // SAFETY: memory of the program's for the time of the call.
        linear(None, bytes, |len| Ok((Place::of_device(to, len)?, unsafe { Place::of_host(from.expose_provenance(), len) }?)))
    }

    /// Copies to the device in a stream; from memory that is not pinned, at once.
    ready fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {
        // SAFETY: memory of the program's for the time of the call.
        linear(Some(stream), bytes, |len| Ok((Place::of_device(to, len)?, unsafe { Place::of_host(from.expose_provenance(), len) }?)))
    }

    /// Copies from the device.
    ready fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        // SAFETY: memory of the program's for the time of the call.
        linear(None, bytes, |len| Ok((unsafe { Place::of_host(to.expose_provenance(), len) }?, Place::of_device(from, len)?)))
    }

    /// Copies from the device in a stream; to memory that is not pinned, at once.
    ready fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        // SAFETY: memory of the program's for the time of the call.
        linear(Some(stream), bytes, |len| Ok((unsafe { Place::of_host(to.expose_provenance(), len) }?, Place::of_device(from, len)?)))
    }

    /// Copies on the device; the ranges may overlap.
    ready fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        linear(None, bytes, |len| Ok((Place::of_device(to, len)?, Place::of_device(from, len)?)))
    }

    /// Copies on the device in a stream; the ranges may overlap.
    ready fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        linear(Some(stream), bytes, |len| Ok((Place::of_device(to, len)?, Place::of_device(from, len)?)))
    }

    /// Copies between contexts.
    ready fn cuMemcpyPeer(
        to: CUdeviceptr,
        to_context: CUcontext,
        from: CUdeviceptr,
        from_context: CUcontext,
        bytes: usize,
    ) {
        Context::of(to_context)?;
        Context::of(from_context)?;
        linear(None, bytes, |len| Ok((Place::of_device(to, len)?, Place::of_device(from, len)?)))
    }

    /// Copies between contexts in a stream.
    ready fn cuMemcpyPeerAsync(
        to: CUdeviceptr,
        to_context: CUcontext,
        from: CUdeviceptr,
        from_context: CUcontext,
        bytes: usize,
        stream: CUstream,
    ) {
        Context::of(to_context)?;
        Context::of(from_context)?;
        linear(Some(stream), bytes, |len| Ok((Place::of_device(to, len)?, Place::of_device(from, len)?)))
    }
}

/// Copies `bytes` bytes between the places that `places` gives for that length.
fn linear(
    stream: Option<CUstream>,
    bytes: usize,
    places: impl FnOnce(u64) -> Result<(Place, Place), Error>,
) -> Done {
    let (context, stream) = site(stream)?;
    if bytes == 0 {
        return Ok(());
    }
    let (to, from) = places(bytes as u64)?;
    let end = |place| End {
        place,
        pitch_bytes: 0,
        slice_bytes: 0,
    };
    let transfer = Transfer {
        to: end(to),
        from: end(from),
        shape: Shape::linear(bytes as u64),
    };
    submit(&context, stream, transfer)
}

/// Where work goes: the stream's context and the stream, or the current context and none.
pub(crate) fn site(stream: Option<CUstream>) -> Result<(Arc<Context>, Option<StreamId>), Error> {
    match stream {
        Some(stream) => {
            let target = Target::of(stream)?;
            Ok((target.context, Some(target.stream)))
        }
        None => Ok((Context::working()?, None)),
    }
}
