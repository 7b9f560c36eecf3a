//! Graphs made ready, launched, and changed.

use std::ffi::{c_char, c_uint, c_ulonglong};

use crate::api::graph_node::{any, newer};
use crate::api::graph_params::{
    self, CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS,
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_MEMSET_NODE_PARAMS, CUgraphExecUpdateResultInfo,
    CUgraphNodeParams,
};
use crate::api::rows::CUDA_MEMCPY3D;
use crate::call::{Done, api, put, put_wanted, take};
use crate::error::Error;
use crate::event::EventTarget;
use crate::graph::executable::{Difference, Executable, Step};
use crate::graph::node::NodeWork;
use crate::graph::{
    executable_handle, graphs, node_handle, parse_executable, parse_graph, parse_node,
};
use crate::stream::Target;
use crate::types::{CUcontext, CUevent, CUgraph, CUgraphExec, CUgraphNode, CUstream};

api! {
    /// Makes a graph ready to be launched.
    ready fn cuGraphInstantiateWithFlags(executable: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) {
        if executable.is_null() {
            return Err(Error::InvalidValue);
        }
        let made = instantiate(graph, flags & !FLAG_UPLOAD)?;
        if flags & FLAG_UPLOAD != 0 {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(executable, keep(made)?) }
    }

    /// Makes a graph ready to be launched, and says how that went.
    ready fn cuGraphInstantiateWithParams(
        executable: *mut CUgraphExec,
        graph: CUgraph,
        params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
    ) {
        if executable.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: null, or the program's parameters, of which every bit pattern is a value.
        let mut told = unsafe { take(params) }?;
        if told.flags & FLAG_UPLOAD != 0 {
            Target::of(told.upload_stream)?;
        }
        let parsed = parse_graph(graph).and_then(|serial| graphs().graph(serial).map(|_| ()));
        let made = instantiate(graph, told.flags);
        told.error_node = CUgraphNode(0);
        told.result = match (&made, parsed) {
            (Ok(_), _) => RESULT_SUCCESS,
            // The graph is there and its flags are known: then its structure is wrong.
            (Err(Error::InvalidValue), Ok(())) if told.flags & !KNOWN_FLAGS == 0 => RESULT_STRUCTURE,
            _ => RESULT_ERROR,
        };
        // SAFETY: not null: the program's parameters.
        unsafe { put(params, told)? };
        let made = keep(made?)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(executable, made) }
    }

    /// Makes a graph ready to be launched; a text about what is wrong is left empty.
    ready fn cuGraphInstantiate(
        executable: *mut CUgraphExec,
        graph: CUgraph,
        error_node: *mut CUgraphNode,
        log: *mut c_char,
        log_bytes: usize,
    ) {
        // SAFETY: the program's places.
        unsafe { instantiate_telling(executable, graph, error_node, log, log_bytes) }
    }

    /// The same.
    ready fn cuGraphInstantiate_v2(
        executable: *mut CUgraphExec,
        graph: CUgraph,
        error_node: *mut CUgraphNode,
        log: *mut c_char,
        log_bytes: usize,
    ) {
        // SAFETY: the program's places.
        unsafe { instantiate_telling(executable, graph, error_node, log, log_bytes) }
    }

    /// The flags with which an executable was made.
    ready fn cuGraphExecGetFlags(executable: CUgraphExec, flags: *mut c_ulonglong) {
        let are = find(executable)?.flags;
        // SAFETY: null, or the program's place for flags.
        unsafe { put(flags, are) }
    }

    /// Ends an executable; work that it has put into queues is carried out.
    ready fn cuGraphExecDestroy(executable: CUgraphExec) {
        let gone = graphs().executables.remove(parse_executable(executable)?);
        gone.map(|_| ()).ok_or(Error::InvalidValue)
    }

    /// Puts the work of a graph into a stream.
    ready fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) {
        let executable = find(executable)?;
        executable.launch(&Target::of(stream)?)
    }

    /// Brings an executable to the device, where it is anyhow.
    ready fn cuGraphUpload(executable: CUgraphExec, stream: CUstream) {
        find(executable)?;
        Target::of(stream).map(|_| ())
    }

    /// Has an executable do what a graph does that is like the one that it was made of.
    ready fn cuGraphExecUpdate_v2(
        executable: CUgraphExec,
        graph: CUgraph,
        info: *mut CUgraphExecUpdateResultInfo,
    ) {
        if info.is_null() {
            return Err(Error::InvalidValue);
        }
        let told = update(executable, graph)?;
        // SAFETY: not null: the program's place.
        unsafe { put(info, told)? };
        if told.result == RESULT_SUCCESS { Ok(()) } else { Err(Error::GraphExecUpdateFailure) }
    }

    /// The same, told in another form.
    ready fn cuGraphExecUpdate(
        executable: CUgraphExec,
        graph: CUgraph,
        error_node: *mut CUgraphNode,
        result: *mut c_uint,
    ) {
        if result.is_null() {
            return Err(Error::InvalidValue);
        }
        let told = update(executable, graph)?;
        // SAFETY: null, or the program's places.
        unsafe {
            put_wanted(error_node, told.error_node);
            put(result, told.result)?;
        }
        if told.result == RESULT_SUCCESS { Ok(()) } else { Err(Error::GraphExecUpdateFailure) }
    }

    /// Has a kernel node's part of an executable launch something else.
    ready fn cuGraphExecKernelNodeSetParams_v2(
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_KERNEL_NODE_PARAMS,
    ) {
        // SAFETY: null, or the program's parameters, with arguments as the kernel takes them.
        let work = unsafe { graph_params::kernel(take(params)?) }?;
        set(executable, node, work)
    }

    /// The same, in the older form.
    ready fn cuGraphExecKernelNodeSetParams(
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_KERNEL_NODE_PARAMS_v1,
    ) {
        // SAFETY: null, or the program's parameters, with arguments as the kernel takes them.
        let work = unsafe { graph_params::kernel(newer(take(params)?)) }?;
        set(executable, node, work)
    }

    /// Has a copy node's part of an executable copy something else.
    ready fn cuGraphExecMemcpyNodeSetParams(
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_MEMCPY3D,
        context: CUcontext,
    ) {
        // SAFETY: null, or the program's parameters, and its promise for each launch of the graph.
        let work = unsafe { graph_params::copy(take(params)?, context) }?;
        set(executable, node, work)
    }

    /// Has a fill node's part of an executable fill something else.
    ready fn cuGraphExecMemsetNodeSetParams(
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_MEMSET_NODE_PARAMS,
        context: CUcontext,
    ) {
        // SAFETY: null, or the program's parameters.
        let work = graph_params::fill(unsafe { take(params) }?, context)?;
        set(executable, node, work)
    }

    /// Has a host node's part of an executable call something else.
    ready fn cuGraphExecHostNodeSetParams(
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_HOST_NODE_PARAMS,
    ) {
        // SAFETY: null, or the program's parameters.
        let work = graph_params::host(unsafe { take(params) }?)?;
        set(executable, node, work)
    }

    /// Has an event record node's part of an executable record something else.
    ready fn cuGraphExecEventRecordNodeSetEvent(executable: CUgraphExec, node: CUgraphNode, event: CUevent) {
        EventTarget::of(event)?;
        set(executable, node, NodeWork::Record(event))
    }

    /// Has an event wait node's part of an executable wait for something else.
    ready fn cuGraphExecEventWaitNodeSetEvent(executable: CUgraphExec, node: CUgraphNode, event: CUevent) {
        EventTarget::of(event)?;
        set(executable, node, NodeWork::Wait(event))
    }

    /// Has a node's part of an executable carry out a graph like its own.
    ready fn cuGraphExecChildGraphNodeSetParams(executable: CUgraphExec, node: CUgraphNode, child: CUgraph) {
        let steps = graphs().steps(parse_graph(child)?)?;
        with_step(executable, node, |step| {
            if !matches!(step.work, NodeWork::Child(_)) {
                return Err(Error::InvalidValue);
            }
            let mut inside = Executable {
                steps: std::mem::take(&mut step.inside),
                flags: 0,
            };
            let updated = inside.update(&steps);
            step.inside = inside.steps;
            updated.map_err(|_| Error::InvalidValue)
        })
    }

    /// Has a node's part of an executable do something else of its kind.
    ready fn cuGraphExecNodeSetParams(executable: CUgraphExec, node: CUgraphNode, params: *mut CUgraphNodeParams) {
        // SAFETY: null, or the program's parameters, and its promise for each launch of the graph.
        let work = unsafe { any(&take(params)?) }?;
        set(executable, node, work)
    }

    /// Has a node's part of an executable do nothing, or its work again.
    ready fn cuGraphNodeSetEnabled(executable: CUgraphExec, node: CUgraphNode, is_enabled: c_uint) {
        with_step(executable, node, |step| {
            check_switch(step)?;
            step.is_enabled = is_enabled != 0;
            Ok(())
        })
    }

    /// Whether a node's part of an executable does its work.
    ready fn cuGraphNodeGetEnabled(executable: CUgraphExec, node: CUgraphNode, is_enabled: *mut c_uint) {
        let mut is = false;
        with_step(executable, node, |step| {
            check_switch(step)?;
            is = step.is_enabled;
            Ok(())
        })?;
        // SAFETY: null, or the program's place for a number.
        unsafe { put(is_enabled, c_uint::from(is)) }
    }
}

/// Only kernels, copies and fills can be switched off.
fn check_switch(step: &Step) -> Done {
    match step.work {
        NodeWork::Kernel(_) | NodeWork::Copy(_) | NodeWork::Fill(_) => Ok(()),
        _ => Err(Error::InvalidValue),
    }
}

fn instantiate(graph: CUgraph, flags: u64) -> Result<Executable, Error> {
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Error::InvalidValue);
    }
    if flags & FLAG_DEVICE_LAUNCH != 0 {
        return Err(Error::NotSupported);
    }
    let steps = graphs().steps(parse_graph(graph)?)?;
    Ok(Executable { steps, flags })
}

/// # Safety
///
/// The pointers are null or good for writes, `log` of as many bytes as said.
unsafe fn instantiate_telling(
    executable: *mut CUgraphExec,
    graph: CUgraph,
    error_node: *mut CUgraphNode,
    log: *mut c_char,
    log_bytes: usize,
) -> Done {
    if executable.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: this function's own terms.
    unsafe {
        put_wanted(error_node, CUgraphNode(0));
        if log_bytes > 0 {
            put_wanted(log, 0);
        }
        put(executable, keep(instantiate(graph, 0)?)?)
    }
}

fn keep(executable: Executable) -> Result<CUgraphExec, Error> {
    let serial = graphs().executables.insert(executable);
    Ok(executable_handle(serial.ok_or(Error::OutOfMemory)?))
}

fn find(executable: CUgraphExec) -> Result<Executable, Error> {
    let graphs = graphs();
    let found = graphs.executables.entry(parse_executable(executable)?);
    found.cloned().ok_or(Error::InvalidValue)
}

fn update(executable: CUgraphExec, graph: CUgraph) -> Result<CUgraphExecUpdateResultInfo, Error> {
    let mut graphs = graphs();
    let steps = graphs.steps(parse_graph(graph)?)?;
    let found = graphs
        .executables
        .entry_mut(parse_executable(executable)?)
        .ok_or(Error::InvalidValue)?;
    let mut told = CUgraphExecUpdateResultInfo::default();
    match found.update(&steps) {
        Ok(()) => {}
        Err(Difference::Topology) => told.result = UPDATE_TOPOLOGY,
        Err(Difference::Kind(node)) => {
            told.result = UPDATE_KIND;
            told.error_node = node_handle(node);
        }
    }
    Ok(told)
}

fn with_step(
    executable: CUgraphExec,
    node: CUgraphNode,
    change: impl FnOnce(&mut Step) -> Done,
) -> Done {
    let mut graphs = graphs();
    let node = parse_node(node)?;
    // The handle of a node that is gone names nothing, though the executable goes on doing its work.
    graphs.node(node)?;
    let found = graphs.executables.entry_mut(parse_executable(executable)?);
    let step = found.and_then(|found| found.step_mut(node));
    change(step.ok_or(Error::InvalidValue)?)
}

fn set(executable: CUgraphExec, node: CUgraphNode, work: NodeWork) -> Done {
    with_step(executable, node, |step| {
        if step.work.kind() != work.kind() {
            return Err(Error::InvalidValue);
        }
        step.work = work;
        Ok(())
    })
}

const FLAG_UPLOAD: u64 = 2;
const FLAG_DEVICE_LAUNCH: u64 = 4;
/// Freeing before a launch, uploading, launches by the device, priorities.
const KNOWN_FLAGS: u64 = 15;
const RESULT_SUCCESS: c_uint = 0;
const RESULT_ERROR: c_uint = 1;
const RESULT_STRUCTURE: c_uint = 2;
const UPDATE_TOPOLOGY: c_uint = 2;
const UPDATE_KIND: c_uint = 3;
