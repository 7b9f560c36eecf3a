//! Graphs: structure, launches, changes.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod gone;
#[path = "../kernel/mod.rs"]
mod kernel;
#[path = "../own/mod.rs"]
mod own;
mod params;
mod running;
mod structure;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::mpsc::{Receiver, Sender, channel};

use kernel::{argument, function, load};
use own::*;
use soft_cuda::api::graph_node::others;
use soft_cuda::api::graph_params::*;
use soft_cuda::api::rows::CUDA_MEMCPY3D;
use soft_cuda::api::{context, event, graph, graph_exec, graph_node, host_memory, module, stream};
use soft_cuda::*;

fn made() -> CUgraph {
    let mut made = CUgraph::default();
    answers!(graph::cuGraphCreate(&mut made, 0));
    made
}

fn empty(of: CUgraph, after: &[CUgraphNode]) -> CUgraphNode {
    let mut node = CUgraphNode::default();
    answers!(others::cuGraphAddEmptyNode(
        &mut node,
        of,
        after.as_ptr(),
        after.len()
    ));
    node
}

fn fill_params(dst: u64, value: u32, width: usize) -> CUDA_MEMSET_NODE_PARAMS {
    CUDA_MEMSET_NODE_PARAMS {
        dst,
        pitch: 0,
        value,
        element_size: 4,
        width,
        height: 1,
    }
}

fn fill(of: CUgraph, after: &[CUgraphNode], dst: u64, value: u32, width: usize) -> CUgraphNode {
    let mut node = CUgraphNode::default();
    let params = fill_params(dst, value, width);
    answers!(graph_node::cuGraphAddMemsetNode(
        &mut node,
        of,
        after.as_ptr(),
        after.len(),
        &params,
        CUcontext(0)
    ));
    node
}

fn copy_params(to: u64, from: u64, bytes: usize) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        src_memory_type: 2,
        src_device: from,
        dst_memory_type: 2,
        dst_device: to,
        width_in_bytes: bytes,
        height: 1,
        depth: 1,
        ..CUDA_MEMCPY3D::default()
    }
}

fn copy(of: CUgraph, after: &[CUgraphNode], to: u64, from: u64, bytes: usize) -> CUgraphNode {
    let mut node = CUgraphNode::default();
    let params = copy_params(to, from, bytes);
    answers!(graph_node::cuGraphAddMemcpyNode(
        &mut node,
        of,
        after.as_ptr(),
        after.len(),
        &params,
        CUcontext(0)
    ));
    node
}

fn kernel_params(func: CUfunction, arguments: *mut *mut c_void) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        v1: CUDA_KERNEL_NODE_PARAMS_v1 {
            func,
            grid: [1; 3],
            block: [4, 1, 1],
            shared_mem_bytes: 0,
            kernel_params: arguments,
            extra: null_mut(),
        },
        kern: CUkernel(0),
        ctx: CUcontext(0),
    }
}

fn ready(of: CUgraph) -> CUgraphExec {
    let mut executable = CUgraphExec::default();
    answers!(graph_exec::cuGraphInstantiateWithFlags(
        &mut executable,
        of,
        0
    ));
    executable
}

fn launched(executable: CUgraphExec) {
    answers!(graph_exec::cuGraphLaunch(executable, CUstream(0)));
    answers!(context::cuCtxSynchronize());
}

fn words(address: u64, number: usize) -> Vec<u32> {
    let bytes = download(address, number * 4);
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}
