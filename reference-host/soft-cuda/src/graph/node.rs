//! What nodes of graphs do.

use std::ffi::c_void;
use std::sync::Arc;

use crate::api::graph_params::{CUDA_MEMSET_NODE_PARAMS, KernelParams};
use crate::api::rows::CUDA_MEMCPY3D;
use crate::launch::Launch;
use crate::queue::UserData;
use crate::types::CUevent;

/// What a node does.
#[derive(Clone, Debug)]
pub(crate) enum NodeWork {
    /// Launch a kernel.
    Kernel(Box<KernelNode>),
    /// Copy memory.
    Copy(Box<CopyNode>),
    /// Fill memory.
    Fill(Box<FillNode>),
    /// Call a function of the program's.
    Host(HostNode),
    /// Carry out the graph with this number, which the node owns.
    Child(u32),
    /// Nothing.
    Empty,
    /// Wait for an event.
    Wait(CUevent),
    /// Record an event.
    Record(CUevent),
}

impl NodeWork {
    /// The number of the kind of node, as `CUgraphNodeType` has it.
    pub(crate) fn kind(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Host(_) => 3,
            Self::Child(_) => 4,
            Self::Empty => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
        }
    }

    /// What the kind of node is called.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Kernel(_) => "kernel",
            Self::Copy(_) => "memcpy",
            Self::Fill(_) => "memset",
            Self::Host(_) => "host",
            Self::Child(_) => "graph",
            Self::Empty => "empty",
            Self::Wait(_) => "event wait",
            Self::Record(_) => "event record",
        }
    }
}

/// A launch, and what the program gave for it.
#[derive(Clone, Debug)]
pub(crate) struct KernelNode {
    /// The context of the kernel.
    pub(crate) context: u32,
    pub(crate) launch: Launch,
    pub(crate) params: KernelParams,
    /// Kept for the program to look at.
    pub(crate) arguments: Arc<Arguments>,
}

/// Arguments of a kernel as a program wants to see them: bytes, and an array of pointers into them.
#[derive(Debug)]
pub(crate) struct Arguments {
    _bytes: Box<[u8]>,
    pointers: Box<[usize]>,
}

impl Arguments {
    /// The arguments of a parameter block, which begin at `offsets`.
    pub(crate) fn new(block: Vec<u8>, offsets: impl Iterator<Item = usize>) -> Self {
        let mut bytes = block.into_boxed_slice();
        let start = bytes.as_mut_ptr().expose_provenance();
        let pointers = offsets.map(|offset| start.saturating_add(offset)).collect();
        Self {
            _bytes: bytes,
            pointers,
        }
    }

    /// The array, good for reads as long as this is there.
    pub(crate) fn pointers(&self) -> *mut *mut c_void {
        self.pointers.as_ptr().cast_mut().cast()
    }
}

/// A copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyNode {
    /// The context that it is carried out in.
    pub(crate) context: u32,
    pub(crate) params: CUDA_MEMCPY3D,
}

/// A fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FillNode {
    /// The context that it is carried out in.
    pub(crate) context: u32,
    pub(crate) params: CUDA_MEMSET_NODE_PARAMS,
}

/// A call of a function of the program's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostNode {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) data: UserData,
}
