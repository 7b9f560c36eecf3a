//! What programs give for the nodes of graphs.

use std::ffi::{c_int, c_longlong, c_uint, c_ulonglong, c_void};

use crate::api::launch;
use crate::api::rows::{self, CUDA_MEMCPY3D};
use crate::api::{fill, function};
use crate::call::take;
use crate::context::Context;
use crate::error::Error;
use crate::graph::node::{Arguments, CopyNode, FillNode, HostNode, KernelNode, NodeWork};
use crate::launch::{Launch, Shape};
use crate::memory::copy::Pattern;
use crate::queue::UserData;
use crate::types::{CUcontext, CUdeviceptr, CUfunction, CUkernel};

/// A kernel and its arguments, in the older form.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUDA_KERNEL_NODE_PARAMS_v1 {
    /// The kernel.
    pub func: CUfunction,
    /// Blocks on each axis.
    pub grid: [c_uint; 3],
    /// Threads of a block on each axis.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub shared_mem_bytes: c_uint,
    /// Pointers to the arguments.
    pub kernel_params: *mut *mut c_void,
    /// Arguments in another form.
    pub extra: *mut *mut c_void,
}

/// A kernel and its arguments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUDA_KERNEL_NODE_PARAMS {
    /// What the older form has too.
    pub v1: CUDA_KERNEL_NODE_PARAMS_v1,
    /// The kernel of a library, where `func` is none.
    pub kern: CUkernel,
    /// The context for that.
    pub ctx: CUcontext,
}

/// A fill of rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUDA_MEMSET_NODE_PARAMS {
    /// The first byte.
    pub dst: CUdeviceptr,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// The element.
    pub value: c_uint,
    /// Its size: 1, 2 or 4.
    pub element_size: c_uint,
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// A function of the program's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUDA_HOST_NODE_PARAMS {
    /// The function.
    pub function: Option<unsafe extern "C" fn(*mut c_void)>,
    /// What it is called with.
    pub user_data: *mut c_void,
}

/// How a graph is to be made ready, and how that went.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUDA_GRAPH_INSTANTIATE_PARAMS {
    /// Flags.
    pub flags: c_ulonglong,
    /// The stream in which it is uploaded, if it is.
    pub upload_stream: crate::types::CUstream,
    /// The node that was wrong.
    pub error_node: crate::types::CUgraphNode,
    /// 0, 1 for an error, 2 for a ring of nodes.
    pub result: c_uint,
}

/// How an update went.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUgraphExecUpdateResultInfo {
    /// 0, 2 where nodes or edges are others, 3 where a node is of another kind.
    pub result: c_uint,
    /// The node that is.
    pub error_node: crate::types::CUgraphNode,
    /// The node that an edge comes from which is another.
    pub error_from_node: crate::types::CUgraphNode,
}

/// What an edge means; zeros for a plain dependency, which alone is there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUgraphEdgeData {
    /// Ports, type, and zeros.
    pub bytes: [u8; 8],
}

/// A node of any kind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the driver API's name")]
pub struct CUgraphNodeParams {
    /// The kind, a `CUgraphNodeType`.
    pub kind: c_int,
    /// Zeros.
    pub reserved0: [c_int; 3],
    /// What the kind of node has.
    pub words: [c_longlong; 29],
    /// 0.
    pub reserved2: c_longlong,
}

/// What a program gave for a kernel, but its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelParams {
    pub(crate) func: CUfunction,
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_mem_bytes: c_uint,
    pub(crate) kern: CUkernel,
    pub(crate) ctx: CUcontext,
}

impl KernelNode {
    /// What the program gave, with the arguments as they are kept.
    pub(crate) fn to_params(&self) -> CUDA_KERNEL_NODE_PARAMS {
        let params = self.params;
        CUDA_KERNEL_NODE_PARAMS {
            v1: CUDA_KERNEL_NODE_PARAMS_v1 {
                func: params.func,
                grid: params.grid,
                block: params.block,
                shared_mem_bytes: params.shared_mem_bytes,
                kernel_params: self.arguments.pointers(),
                extra: std::ptr::null_mut(),
            },
            kern: params.kern,
            ctx: params.ctx,
        }
    }
}

impl HostNode {
    /// What the program gave.
    pub(crate) fn to_params(self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS {
            function: Some(self.function),
            user_data: self.data.0,
        }
    }
}

/// The work of a kernel node; the arguments are copied.
///
/// # Errors
///
/// As for a launch.
///
/// # Safety
///
/// The arguments are as for a launch.
pub(crate) unsafe fn kernel(params: CUDA_KERNEL_NODE_PARAMS) -> Result<NodeWork, Error> {
    let CUDA_KERNEL_NODE_PARAMS { v1, kern, ctx } = params;
    let (context, function) = if v1.func.0 != 0 {
        (function::find(v1.func)?.0, v1.func)
    } else if kern.0 == 0 {
        return Err(Error::InvalidValue);
    } else if ctx.0 != 0 {
        (Context::of(ctx)?, CUfunction(kern.0))
    } else {
        (Context::working()?, CUfunction(kern.0))
    };
    let kernel = function::kernel(&context, function)?;
    let shape = Shape {
        grid: v1.grid,
        block: v1.block,
        dynamic_shared_bytes: v1.shared_mem_bytes,
    };
    let entry = kernel.entry()?;
    // SAFETY: this function's own terms.
    let block = unsafe { launch::arguments(entry, v1.kernel_params, v1.extra) }?;
    let offsets = entry.params().iter();
    let offsets = offsets.map(|param| param.offset_bytes as usize);
    let arguments = Arguments::new(block.clone(), offsets);
    Ok(NodeWork::Kernel(Box::new(KernelNode {
        context: context.serial,
        launch: Launch::new(kernel, shape, block)?,
        params: KernelParams {
            func: v1.func,
            grid: v1.grid,
            block: v1.block,
            shared_mem_bytes: v1.shared_mem_bytes,
            kern,
            ctx,
        },
        arguments: arguments.into(),
    })))
}

/// The work of a copy node.
///
/// # Errors
///
/// As for a copy; [`Error::InvalidContext`] for the context.
///
/// # Safety
///
/// As for a copy, for each launch of the graph.
pub(crate) unsafe fn copy(params: CUDA_MEMCPY3D, context: CUcontext) -> Result<NodeWork, Error> {
    let context = named(context)?.serial;
    let params = rows::own(params)?;
    // SAFETY: this function's own terms; nothing is read here.
    unsafe { rows::prepare(&params, rows::Pitch::Limited) }?;
    Ok(NodeWork::Copy(Box::new(CopyNode { context, params })))
}

/// The work of a fill node.
///
/// # Errors
///
/// As for a fill; [`Error::InvalidContext`] for the context.
pub(crate) fn fill(params: CUDA_MEMSET_NODE_PARAMS, context: CUcontext) -> Result<NodeWork, Error> {
    let context = named(context)?.serial;
    let pattern = pattern(&params)?;
    if params.width == 0 || params.height == 0 {
        return Err(Error::InvalidValue);
    }
    let (width, height) = (params.width as u64, params.height as u64);
    fill::prepare(params.dst, params.pitch as u64, pattern, width, height)?;
    Ok(NodeWork::Fill(Box::new(FillNode { context, params })))
}

/// The element of a fill node.
///
/// # Errors
///
/// [`Error::InvalidValue`] for a size that no element has.
pub(crate) fn pattern(params: &CUDA_MEMSET_NODE_PARAMS) -> Result<Pattern, Error> {
    match params.element_size {
        1 => Ok(Pattern::byte(params.value as u8)),
        2 => Ok(Pattern::half(params.value as u16)),
        4 => Ok(Pattern::word(params.value)),
        _ => Err(Error::InvalidValue),
    }
}

/// The work of a host node.
///
/// # Errors
///
/// [`Error::InvalidValue`] where there is no function.
pub(crate) fn host(params: CUDA_HOST_NODE_PARAMS) -> Result<NodeWork, Error> {
    let function = params.function.ok_or(Error::InvalidValue)?;
    let data = UserData(params.user_data);
    Ok(NodeWork::Host(HostNode { function, data }))
}

/// The parameters in a node of any kind.
///
/// # Errors
///
/// [`Error::InvalidValue`] where something is not zero that must be.
///
/// # Safety
///
/// `T` is what the kind of node has: it fits, and has no bits that are not a value where the program gave it.
pub(crate) unsafe fn inside<T: Copy>(params: &CUgraphNodeParams) -> Result<T, Error> {
    if params.reserved0 != [0; 3] || params.reserved2 != 0 {
        return Err(Error::InvalidValue);
    }
    const { assert!(size_of::<T>() <= size_of::<[c_longlong; 29]>()) };
    // SAFETY: within the words, and this function's own terms.
    unsafe { take(params.words.as_ptr().cast::<T>()) }
}

/// The context that a program names, or the current one.
fn named(context: CUcontext) -> Result<std::sync::Arc<Context>, Error> {
    if context.0 == 0 {
        Context::working()
    } else {
        Context::of(context)
    }
}
