//! Nodes of graphs: put in, and what they do.

use std::ffi::c_uint;

use crate::api::graph::{check_plain, nodes};
use crate::api::graph_params::{
    self, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1,
    CUDA_MEMSET_NODE_PARAMS, CUgraphEdgeData, CUgraphNodeParams, inside,
};
use crate::api::rows::CUDA_MEMCPY3D;
use crate::call::{Done, api, put, take};
use crate::error::Error;
use crate::event::EventTarget;
use crate::graph::node::NodeWork;
use crate::graph::{graph_handle, graphs, node_handle, parse_graph, parse_node};
use crate::types::{CUcontext, CUevent, CUgraph, CUgraphNode, CUkernel};

/// Declares functions that put a node of one kind into a graph, and the one that looks at what it does, and the one that has it do something else.
macro_rules! parameters {
    ($(
        $name:literal $add:ident $get:ident $set:ident $variant:ident $params:ty
        = |$given:ident $(, $context:ident)?| $work:expr, |$kept:ident| $told:expr;
    )*) => {
        api! {$(
            #[doc = concat!("Puts a ", $name, " node into a graph.")]
            ready fn $add(
                node: *mut CUgraphNode,
                graph: CUgraph,
                dependencies: *const CUgraphNode,
                number: usize,
                params: *const $params
                $(, $context: CUcontext)?
            ) {
                // SAFETY: null, or the program's parameters.
                let $given = unsafe { take(params) }?;
                let work = $work?;
                // SAFETY: the program's list, as long as it says, and its place for a handle.
                unsafe { add(node, graph, dependencies, number, work) }
            }

            #[doc = concat!("What a ", $name, " node does.")]
            ready fn $get(node: CUgraphNode, params: *mut $params) {
                let graphs = graphs();
                let NodeWork::$variant($kept) = &graphs.node(parse_node(node)?)?.work else {
                    return Err(Error::InvalidValue);
                };
                // SAFETY: null, or the program's place for parameters.
                unsafe { put(params, $told) }
            }

            #[doc = concat!("Has a ", $name, " node do something else.")]
            ready fn $set(node: CUgraphNode, params: *const $params) {
                // SAFETY: null, or the program's parameters.
                let $given = unsafe { take(params) }?;
                $(let $context = context_of(node)?;)?
                set(node, $work?)
            }
        )*}
    };
}

parameters! {
    "kernel" cuGraphAddKernelNode_v2 cuGraphKernelNodeGetParams_v2 cuGraphKernelNodeSetParams_v2 Kernel CUDA_KERNEL_NODE_PARAMS
        = |given| unsafe {
            // SAFETY: the program's arguments, as the kernel takes them.
            graph_params::kernel(given)
        }, |kept| kept.to_params();
    "kernel" cuGraphAddKernelNode cuGraphKernelNodeGetParams cuGraphKernelNodeSetParams Kernel CUDA_KERNEL_NODE_PARAMS_v1
        = |given| unsafe {
            // SAFETY: the program's arguments, as the kernel takes them.
            graph_params::kernel(newer(given))
        }, |kept| kept.to_params().v1;
    "copy" cuGraphAddMemcpyNode cuGraphMemcpyNodeGetParams cuGraphMemcpyNodeSetParams Copy CUDA_MEMCPY3D
        = |given, context| unsafe {
            // SAFETY: the program's promise for each launch of the graph.
            graph_params::copy(given, context)
        }, |kept| kept.params;
    "fill" cuGraphAddMemsetNode cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams Fill CUDA_MEMSET_NODE_PARAMS
        = |given, context| graph_params::fill(given, context), |kept| kept.params;
    "host" cuGraphAddHostNode cuGraphHostNodeGetParams cuGraphHostNodeSetParams Host CUDA_HOST_NODE_PARAMS
        = |given| graph_params::host(given), |kept| kept.to_params();
}

/// Exports beside those of `EXPORTS`.
pub mod others {
    use super::*;

    api! {
        /// Puts a node that does nothing into a graph.
        ready fn cuGraphAddEmptyNode(
            node: *mut CUgraphNode,
            graph: CUgraph,
            dependencies: *const CUgraphNode,
            number: usize,
        ) {
            // SAFETY: the program's list, as long as it says, and its place for a handle.
            unsafe { add(node, graph, dependencies, number, NodeWork::Empty) }
        }

        /// Puts a node that carries out a clone of a graph into another.
        ready fn cuGraphAddChildGraphNode(
            node: *mut CUgraphNode,
            graph: CUgraph,
            dependencies: *const CUgraphNode,
            number: usize,
            child: CUgraph,
        ) {
            // SAFETY: the program's list, as long as it says, and its place for a handle.
            unsafe { add_child(node, graph, dependencies, number, child) }
        }

        /// The graph that a node carries out.
        ready fn cuGraphChildGraphNodeGetGraph(node: CUgraphNode, graph: *mut CUgraph) {
            let graphs = graphs();
            let NodeWork::Child(child) = graphs.node(parse_node(node)?)?.work else {
                return Err(Error::InvalidValue);
            };
            // SAFETY: null, or the program's place for a handle.
            unsafe { put(graph, graph_handle(child)) }
        }

        /// Puts a node that records an event into a graph.
        ready fn cuGraphAddEventRecordNode(
            node: *mut CUgraphNode,
            graph: CUgraph,
            dependencies: *const CUgraphNode,
            number: usize,
            event: CUevent,
        ) {
            EventTarget::of(event)?;
            // SAFETY: the program's list, as long as it says, and its place for a handle.
            unsafe { add(node, graph, dependencies, number, NodeWork::Record(event)) }
        }

        /// The event that a node records.
        ready fn cuGraphEventRecordNodeGetEvent(node: CUgraphNode, event: *mut CUevent) {
            let graphs = graphs();
            let NodeWork::Record(is) = graphs.node(parse_node(node)?)?.work else {
                return Err(Error::InvalidValue);
            };
            // SAFETY: null, or the program's place for a handle.
            unsafe { put(event, is) }
        }

        /// Has a node record another event.
        ready fn cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) {
            EventTarget::of(event)?;
            set(node, NodeWork::Record(event))
        }

        /// Puts a node that waits for an event into a graph.
        ready fn cuGraphAddEventWaitNode(
            node: *mut CUgraphNode,
            graph: CUgraph,
            dependencies: *const CUgraphNode,
            number: usize,
            event: CUevent,
        ) {
            EventTarget::of(event)?;
            // SAFETY: the program's list, as long as it says, and its place for a handle.
            unsafe { add(node, graph, dependencies, number, NodeWork::Wait(event)) }
        }

        /// The event that a node waits for.
        ready fn cuGraphEventWaitNodeGetEvent(node: CUgraphNode, event: *mut CUevent) {
            let graphs = graphs();
            let NodeWork::Wait(is) = graphs.node(parse_node(node)?)?.work else {
                return Err(Error::InvalidValue);
            };
            // SAFETY: null, or the program's place for a handle.
            unsafe { put(event, is) }
        }

        /// Has a node wait for another event.
        ready fn cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) {
            EventTarget::of(event)?;
            set(node, NodeWork::Wait(event))
        }

        /// Puts a node of any kind into a graph.
        ready fn cuGraphAddNode(
            node: *mut CUgraphNode,
            graph: CUgraph,
            dependencies: *const CUgraphNode,
            number: usize,
            params: *mut CUgraphNodeParams,
        ) {
            // SAFETY: the program's list, as long as it says, its place for a handle, and its parameters.
            unsafe { add_any(node, graph, dependencies, std::ptr::null(), number, params) }
        }

        /// Puts a node of any kind into a graph, by edges with a meaning.
        ready fn cuGraphAddNode_v2(
            node: *mut CUgraphNode,
            graph: CUgraph,
            dependencies: *const CUgraphNode,
            data: *const CUgraphEdgeData,
            number: usize,
            params: *mut CUgraphNodeParams,
        ) {
            // SAFETY: the program's lists, as long as it says, its place for a handle, and its parameters.
            unsafe { add_any(node, graph, dependencies, data, number, params) }
        }

        /// Has a node of any kind do something else.
        ready fn cuGraphNodeSetParams(node: CUgraphNode, params: *mut CUgraphNodeParams) {
            // SAFETY: null, or the program's parameters.
            let params = unsafe { take(params) }?;
            // SAFETY: the program's parameters, and its promise for each launch of the graph.
            set(node, unsafe { any(&params) }?)
        }
    }
}

/// Puts a node into a graph and gives its handle.
///
/// # Safety
///
/// `node` is null or good for a write; the list is null or as long as `number` says.
unsafe fn add(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    number: usize,
    work: NodeWork,
) -> Done {
    if node.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: this function's own terms.
    let dependencies = unsafe { nodes(dependencies, number) }?;
    let made = graphs().add(parse_graph(graph)?, &dependencies, work)?;
    // SAFETY: not null: the program's place for a handle.
    unsafe { put(node, node_handle(made)) }
}

/// # Safety
///
/// As for [`add`].
unsafe fn add_child(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    number: usize,
    child: CUgraph,
) -> Done {
    if node.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: this function's own terms.
    let dependencies = unsafe { nodes(dependencies, number) }?;
    let made = graphs().add_child(parse_graph(graph)?, &dependencies, parse_graph(child)?)?;
    // SAFETY: not null: the program's place for a handle.
    unsafe { put(node, node_handle(made)) }
}

/// # Safety
///
/// As for [`add`]; `params` is null or the program's parameters.
unsafe fn add_any(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    number: usize,
    params: *mut CUgraphNodeParams,
) -> Done {
    // SAFETY: this function's own terms.
    unsafe {
        check_plain(data, number)?;
        let params = take(params)?;
        if params.kind == KIND_CHILD {
            let child = inside::<CUgraph>(&params)?;
            add_child(node, graph, dependencies, number, child)
        } else {
            add(node, graph, dependencies, number, any(&params)?)
        }
    }
}

/// The work of a node of any kind but one with a graph.
///
/// # Errors
///
/// As for the kind; [`Error::NotSupported`] for kinds that are not there.
///
/// # Safety
///
/// As for the kind.
pub(crate) unsafe fn any(params: &CUgraphNodeParams) -> Result<NodeWork, Error> {
    // SAFETY: this function's own terms; the parameters are those of the kind.
    unsafe {
        match params.kind {
            0 => graph_params::kernel(inside(params)?),
            1 => {
                let copy: NamedCopy = inside(params)?;
                if copy.flags != 0 || copy.reserved != 0 {
                    return Err(Error::InvalidValue);
                }
                graph_params::copy(copy.params, copy.context)
            }
            2 => {
                let fill: NamedFill = inside(params)?;
                graph_params::fill(fill.params, fill.context)
            }
            3 => graph_params::host(inside(params)?),
            5 => Ok(NodeWork::Empty),
            6 => {
                let event = inside(params)?;
                EventTarget::of(event)?;
                Ok(NodeWork::Wait(event))
            }
            7 => {
                let event = inside(params)?;
                EventTarget::of(event)?;
                Ok(NodeWork::Record(event))
            }
            8..=14 | 16..=18 => Err(Error::NotSupported),
            _ => Err(Error::InvalidValue),
        }
    }
}

/// `CUDA_MEMCPY_NODE_PARAMS`: a copy with its context.
#[repr(C)]
#[derive(Clone, Copy)]
struct NamedCopy {
    flags: c_uint,
    reserved: c_uint,
    context: CUcontext,
    params: CUDA_MEMCPY3D,
}

/// `CUDA_MEMSET_NODE_PARAMS_v2`: a fill with its context.
#[repr(C)]
#[derive(Clone, Copy)]
struct NamedFill {
    params: CUDA_MEMSET_NODE_PARAMS,
    context: CUcontext,
}

/// Has a node do something else of the same kind.
fn set(node: CUgraphNode, work: NodeWork) -> Done {
    let mut graphs = graphs();
    let node = graphs.node_mut(parse_node(node)?)?;
    if node.work.kind() != work.kind() {
        return Err(Error::InvalidValue);
    }
    node.work = work;
    Ok(())
}

/// The context in which a node copies or fills.
pub(crate) fn context_of(node: CUgraphNode) -> Result<CUcontext, Error> {
    let serial = match &graphs().node(parse_node(node)?)?.work {
        NodeWork::Copy(copy) => copy.context,
        NodeWork::Fill(fill) => fill.context,
        _ => return Err(Error::InvalidValue),
    };
    let context = crate::context::Context::numbered(serial).ok_or(Error::ContextIsDestroyed)?;
    Ok(context.handle())
}

/// A kernel in the newer form.
pub(crate) fn newer(v1: CUDA_KERNEL_NODE_PARAMS_v1) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        v1,
        kern: CUkernel(0),
        ctx: CUcontext(0),
    }
}

const KIND_CHILD: std::ffi::c_int = 4;
