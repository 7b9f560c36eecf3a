//! Parameters that functions take by address, as structures.

use std::ffi::c_uint;
use std::ptr::null;

use soft_cuda::api::graph_params::*;
use soft_cuda::api::launch::LaunchConfig;
use soft_cuda::api::managed::CUmemLocation;
use soft_cuda::api::rows::{CUDA_MEMCPY2D, CUDA_MEMCPY3D};
use soft_cuda::{CUcontext, CUfunction, CUstream};

use crate::body::arguments::*;
use crate::body::draw::Draw;
use crate::body::world::Kind;

pub(super) fn config(draw: &mut Draw) -> *const LaunchConfig {
    let value = LaunchConfig {
        grid: [Grid::draw(draw), Grid::draw(draw), 1],
        block: [Block::draw(draw), Block::draw(draw), 1],
        dynamic_shared_bytes: Shared::draw(draw),
        stream: CUstream(draw.handle(Kind::Stream, false)),
        attributes: null(),
        attribute_count: if draw.bad(20) { 1 } else { 0 },
    };
    stored(draw, value)
}

pub(super) fn kernel_node(draw: &mut Draw) -> CUDA_KERNEL_NODE_PARAMS_v1 {
    CUDA_KERNEL_NODE_PARAMS_v1 {
        func: CUfunction(draw.handle(Kind::Function, false)),
        grid: [Grid::draw(draw), Grid::draw(draw), 1],
        block: [Block::draw(draw), Block::draw(draw), 1],
        shared_mem_bytes: Shared::draw(draw),
        kernel_params: Params::draw(draw),
        extra: NoExtra::draw(draw),
    }
}

pub(super) fn fill_node(draw: &mut Draw) -> CUDA_MEMSET_NODE_PARAMS {
    let (dst, _) = draw.address();
    draw.freed_address = false;
    CUDA_MEMSET_NODE_PARAMS {
        dst,
        pitch: Pitch::draw(draw),
        value: draw.rng.u32(..),
        element_size: if draw.bad(6) { 3 } else { draw.one(&[1, 2, 4]) },
        width: draw.size() / 4,
        height: Height::draw(draw),
    }
}

/// Parameters of a node of any type: those of a fill are given, others are all zeros.
pub(super) fn any_node(draw: &mut Draw) -> *const CUgraphNodeParams {
    let kind = if draw.bad(3) {
        draw.rng.i32(-1..20)
    } else {
        draw.one(&[2, 2, 5])
    };
    let mut value = CUgraphNodeParams {
        kind,
        reserved0: [0; 3],
        words: [0; 29],
        reserved2: 0,
    };
    if kind == 2 {
        let fill = fill_node(draw);
        // SAFETY: the words have room for these parameters, and any bits are words.
        unsafe {
            value
                .words
                .as_mut_ptr()
                .cast::<CUDA_MEMSET_NODE_PARAMS>()
                .write_unaligned(fill)
        };
    }
    stored(draw, value)
}

pub(super) fn location(draw: &mut Draw) -> CUmemLocation {
    CUmemLocation {
        kind: if draw.bad(4) { draw.rng.i32(0..9) } else { 1 },
        id: if draw.bad(4) { draw.rng.i32(..) } else { 0 },
    }
}

pub(super) fn copy2(draw: &mut Draw) -> *const CUDA_MEMCPY2D {
    let (src, dst) = (end(draw, false), end(draw, true));
    let is_host = src.0 == 1 || dst.0 == 1;
    let pitch = |draw: &mut Draw| draw.one(&[0, 32, 64]);
    let value = CUDA_MEMCPY2D {
        src_x_in_bytes: small(draw, is_host, 8),
        src_y: small(draw, is_host, 1),
        src_memory_type: src.0,
        src_host: src.1,
        src_device: src.2,
        src_array: 0,
        src_pitch: pitch(draw),
        dst_x_in_bytes: small(draw, is_host, 8),
        dst_y: small(draw, is_host, 1),
        dst_memory_type: dst.0,
        dst_host: dst.1,
        dst_device: dst.2,
        dst_array: 0,
        dst_pitch: pitch(draw),
        width_in_bytes: small(draw, is_host, 24),
        height: small(draw, is_host, 3),
    };
    stored(draw, value)
}

pub(super) fn copy3(draw: &mut Draw, is_peer: bool) -> *const CUDA_MEMCPY3D {
    let (src, dst) = (end(draw, false), end(draw, true));
    let is_host = src.0 == 1 || dst.0 == 1;
    let pitch = |draw: &mut Draw| draw.one(&[0, 32, 64]);
    let context = |draw: &mut Draw| match is_peer {
        true => CUcontext(draw.handle(Kind::Context, false)),
        false => CUcontext(0),
    };
    let refused = draw.refused;
    let value = CUDA_MEMCPY3D {
        src_x_in_bytes: small(draw, is_host, 8),
        src_y: small(draw, is_host, 1),
        src_z: small(draw, is_host, 1),
        src_lod: 0,
        src_memory_type: src.0,
        src_host: src.1,
        src_device: src.2,
        src_array: 0,
        src_context: context(draw),
        src_pitch: pitch(draw),
        src_height: small(draw, is_host, 3),
        dst_x_in_bytes: small(draw, is_host, 8),
        dst_y: small(draw, is_host, 1),
        dst_z: small(draw, is_host, 1),
        dst_lod: 0,
        dst_memory_type: dst.0,
        dst_host: dst.1,
        dst_device: dst.2,
        dst_array: 0,
        dst_context: context(draw),
        dst_pitch: pitch(draw),
        dst_height: small(draw, is_host, 3),
        width_in_bytes: small(draw, is_host, 24),
        height: small(draw, is_host, 3),
        depth: small(draw, is_host, 2),
    };
    // A context beside memory of the host's is not looked at.
    draw.refused = refused;
    stored(draw, value)
}

/// One end of a copy of rows: memory type, host address, device address.
fn end(draw: &mut Draw, is_written: bool) -> (c_uint, usize, u64) {
    let kind = if draw.bad(8) {
        draw.one(&[0, 3, 9])
    } else {
        draw.one(&[1, 2, 2, 2])
    };
    let host = host(draw, is_written, false).expose_provenance();
    let (address, _) = draw.address();
    draw.freed_address = false;
    (kind, host, address)
}

/// A number in a copy of rows: where memory of the host's is among the ends it must stay small.
fn small(draw: &mut Draw, is_host: bool, most: usize) -> usize {
    if !is_host && draw.bad(12) {
        draw.one(&[1 << 20, 1 << 33, 1 << 62, usize::MAX])
    } else {
        draw.rng.usize(0..=most)
    }
}
