//! Graphs: structure, launches, changes.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod kernel;
mod own;

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

#[test]
fn the_header_sizes_are_kept() {
    assert_eq!(size_of::<CUDA_KERNEL_NODE_PARAMS_v1>(), 56);
    assert_eq!(size_of::<CUDA_KERNEL_NODE_PARAMS>(), 72);
    assert_eq!(size_of::<CUDA_MEMSET_NODE_PARAMS>(), 40);
    assert_eq!(size_of::<CUDA_HOST_NODE_PARAMS>(), 16);
    assert_eq!(size_of::<CUDA_GRAPH_INSTANTIATE_PARAMS>(), 32);
    assert_eq!(size_of::<CUgraphExecUpdateResultInfo>(), 24);
    assert_eq!(size_of::<CUgraphEdgeData>(), 8);
    assert_eq!(size_of::<CUgraphNodeParams>(), 256);
}

#[test]
fn work_is_done_in_the_order_of_the_edges() {
    fresh();
    let add = function(load(), "add");
    let (first, second, third) = (allocate(16), allocate(16), allocate(16));
    let of = made();
    // Made in an order other than that of the edges: the copy waits for the kernel, which waits for both fills.
    let last = copy(of, &[], third, first, 16);
    let mut middle = CUgraphNode::default();
    let count = 4u32;
    let mut arguments = [argument(&first), argument(&second), argument(&count)];
    let params = kernel_params(add, arguments.as_mut_ptr());
    answers!(graph_node::cuGraphAddKernelNode_v2(
        &mut middle,
        of,
        null(),
        0,
        &params
    ));
    let fills = [fill(of, &[], first, 5, 4), fill(of, &[], second, 7, 4)];
    let (from, to) = ([fills[0], fills[1], middle], [middle, middle, last]);
    answers!(graph::cuGraphAddDependencies(
        of,
        from.as_ptr(),
        to.as_ptr(),
        3
    ));
    let executable = ready(of);
    answers!(graph::cuGraphDestroy(of));
    for _ in 0..3 {
        launched(executable);
        assert_eq!(words(third, 4), [12; 4]);
    }
    answers!(graph_exec::cuGraphUpload(executable, CUstream(0)));
    answers!(graph_exec::cuGraphExecDestroy(executable));
    answers!(graph_exec::cuGraphExecDestroy(executable), INVALID_VALUE);
    answers!(
        graph_exec::cuGraphLaunch(executable, CUstream(0)),
        INVALID_VALUE
    );
}

#[test]
fn launches_wait_for_somebody() {
    fresh();
    let address = upload(&[0; 16]);
    let mut pinned = null_mut();
    answers!(host_memory::cuMemAllocHost_v2(&mut pinned, 16));
    // SAFETY: pinned memory of this size, zeros at first.
    let seen = || unsafe { pinned.cast::<u32>().read_volatile() };
    let of = made();
    let first = fill(of, &[], address, 3, 4);
    copy(of, &[first], pinned as u64, address, 16);
    let mut queue = CUstream::default();
    answers!(stream::cuStreamCreate(&mut queue, 1));
    answers!(graph_exec::cuGraphLaunch(ready(of), queue));
    assert_eq!(seen(), 0);
    answers!(stream::cuStreamQuery(queue), NOT_READY);
    answers!(stream::cuStreamQuery(queue));
    assert_eq!(seen(), 3);
}

#[test]
fn rings_are_refused() {
    fresh();
    let of = made();
    let (first, second) = (empty(of, &[]), empty(of, &[]));
    let third = empty(of, &[second]);
    answers!(
        graph::cuGraphAddDependencies(of, &first, &first, 1),
        INVALID_VALUE
    );
    answers!(graph::cuGraphAddDependencies(of, &first, &second, 1));
    answers!(
        graph::cuGraphAddDependencies(of, &first, &second, 1),
        INVALID_VALUE
    );
    ready(of);
    answers!(graph::cuGraphAddDependencies(of, &third, &first, 1));
    let mut executable = CUgraphExec::default();
    answers!(
        graph_exec::cuGraphInstantiateWithFlags(&mut executable, of, 0),
        INVALID_VALUE
    );
    let mut params = CUDA_GRAPH_INSTANTIATE_PARAMS::default();
    answers!(
        graph_exec::cuGraphInstantiateWithParams(&mut executable, of, &mut params),
        INVALID_VALUE
    );
    assert_eq!(params.result, 2);
    answers!(graph::cuGraphRemoveDependencies(of, &third, &first, 1));
    answers!(
        graph::cuGraphRemoveDependencies(of, &third, &first, 1),
        INVALID_VALUE
    );
    answers!(graph_exec::cuGraphInstantiateWithParams(
        &mut executable,
        of,
        &mut params
    ));
    assert_eq!(params.result, 0);
    let mut log = [0x55; 4];
    let mut wrong = CUgraphNode(7);
    answers!(graph_exec::cuGraphInstantiate_v2(
        &mut executable,
        of,
        &mut wrong,
        log.as_mut_ptr(),
        4
    ));
    assert_eq!((log, wrong.0), ([0, 0x55, 0x55, 0x55], 0));
}

#[test]
fn structure_is_told() {
    fresh();
    let of = made();
    let first = empty(of, &[]);
    let second = empty(of, &[first]);
    let third = empty(of, &[first, second]);
    let mut number = 0;
    answers!(graph::cuGraphGetNodes(of, null_mut(), &mut number));
    assert_eq!(number, 3);
    let mut nodes = [CUgraphNode(9); 5];
    number = 5;
    answers!(graph::cuGraphGetNodes(of, nodes.as_mut_ptr(), &mut number));
    assert_eq!(
        (nodes, number),
        ([first, second, third, CUgraphNode(0), CUgraphNode(0)], 3)
    );
    number = 1;
    answers!(graph::cuGraphGetNodes(of, nodes.as_mut_ptr(), &mut number));
    assert_eq!(number, 1);
    number = 5;
    answers!(graph::cuGraphGetRootNodes(
        of,
        nodes.as_mut_ptr(),
        &mut number
    ));
    assert_eq!((nodes[0], number), (first, 1));
    let (mut from, mut to) = ([CUgraphNode(0); 3], [CUgraphNode(0); 3]);
    let mut data = [CUgraphEdgeData { bytes: [1; 8] }; 3];
    number = 3;
    answers!(graph::cuGraphGetEdges_v2(
        of,
        from.as_mut_ptr(),
        to.as_mut_ptr(),
        data.as_mut_ptr(),
        &mut number
    ));
    assert_eq!(
        (from, to, number),
        ([first, first, second], [second, third, third], 3)
    );
    assert!(data.iter().all(|data| data.bytes == [0; 8]));
    number = 3;
    answers!(graph::cuGraphNodeGetDependencies(
        third,
        nodes.as_mut_ptr(),
        &mut number
    ));
    assert_eq!((&nodes[..2], number), ([first, second].as_slice(), 2));
    number = 3;
    answers!(graph::cuGraphNodeGetDependentNodes(
        first,
        nodes.as_mut_ptr(),
        &mut number
    ));
    assert_eq!((&nodes[..2], number), ([second, third].as_slice(), 2));
    let (mut kind, mut id, mut in_graph) = (9, 0, CUgraph(0));
    answers!(graph::cuGraphNodeGetType(second, &mut kind));
    answers!(graph::cuGraphNodeGetLocalId(second, &mut id));
    answers!(graph::cuGraphNodeGetContainingGraph(second, &mut in_graph));
    assert_eq!((kind, in_graph), (5, of));
    assert_ne!(id, 0);
    answers!(graph::cuGraphDestroyNode(second));
    answers!(graph::cuGraphDestroyNode(second), INVALID_VALUE);
    number = 3;
    answers!(graph::cuGraphNodeGetDependencies(
        third,
        nodes.as_mut_ptr(),
        &mut number
    ));
    assert_eq!((nodes[0], number), (first, 1));
    answers!(
        graph::cuGraphGetEdges(of, from.as_mut_ptr(), null_mut(), &mut number),
        INVALID_VALUE
    );
    answers!(
        graph::cuGraphGetNodes(of, null_mut(), null_mut()),
        INVALID_VALUE
    );
    answers!(graph::cuGraphDestroy(of));
    answers!(graph::cuGraphDestroy(of), INVALID_VALUE);
    answers!(graph::cuGraphNodeGetType(third, &mut kind), INVALID_VALUE);
}

#[test]
fn a_picture_can_be_drawn() {
    fresh();
    let of = made();
    let first = empty(of, &[]);
    empty(of, &[first]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.dot");
    let text = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    answers!(graph::cuGraphDebugDotPrint(of, text.as_ptr(), 0));
    let drawn = std::fs::read_to_string(path).unwrap();
    assert_eq!(drawn.matches("empty").count(), 2);
    assert_eq!(drawn.matches("->").count(), 1);
    answers!(graph::cuGraphDebugDotPrint(of, null(), 0), INVALID_VALUE);
    answers!(
        graph::cuGraphDebugDotPrint(of, c"/no/such/folder/x".as_ptr(), 0),
        304
    );
}

#[test]
fn kernels_are_looked_at_and_changed() {
    fresh();
    let add = function(load(), "add");
    let (to, from) = (allocate(16), allocate(16));
    let of = made();
    let fills = [fill(of, &[], to, 1, 4), fill(of, &[], from, 10, 4)];
    let mut count = 4u32;
    let mut arguments = [argument(&to), argument(&from), argument(&count)];
    let mut node = CUgraphNode::default();
    let mut params = kernel_params(add, arguments.as_mut_ptr());
    answers!(graph_node::cuGraphAddKernelNode(
        &mut node,
        of,
        fills.as_ptr(),
        2,
        &params.v1
    ));
    let executable = ready(of);
    launched(executable);
    assert_eq!(words(to, 4), [11; 4]);
    let mut told = kernel_params(CUfunction(0), null_mut());
    answers!(graph_node::cuGraphKernelNodeGetParams_v2(node, &mut told));
    assert_eq!((told.v1.func, told.v1.block), (add, [4, 1, 1]));
    // SAFETY: the node's arguments, of which the third is a word.
    let kept = unsafe { told.v1.kernel_params.add(2).read().cast::<u32>().read() };
    assert_eq!(kept, 4);
    // What was looked at can be given back, with a change.
    told.v1.block = [3, 1, 1];
    answers!(graph_node::cuGraphKernelNodeSetParams_v2(node, &told));
    launched(ready(of));
    assert_eq!(words(to, 4), [11, 11, 11, 1]);
    launched(executable);
    assert_eq!(
        words(to, 4),
        [11; 4],
        "an executable is not changed with its graph"
    );
    count = 2;
    arguments[2] = argument(&count);
    params = kernel_params(add, arguments.as_mut_ptr());
    answers!(graph_exec::cuGraphExecKernelNodeSetParams_v2(
        executable, node, &params
    ));
    launched(executable);
    assert_eq!(words(to, 4), [11, 11, 1, 1]);
    answers!(graph_exec::cuGraphNodeSetEnabled(executable, node, 0));
    launched(executable);
    assert_eq!(words(to, 4), [1; 4]);
    let mut is_enabled = 5;
    answers!(graph_exec::cuGraphNodeGetEnabled(
        executable,
        node,
        &mut is_enabled
    ));
    assert_eq!(is_enabled, 0);
    params.v1.block = [2048, 1, 1];
    answers!(
        graph_exec::cuGraphExecKernelNodeSetParams_v2(executable, node, &params),
        INVALID_VALUE
    );
    answers!(
        graph_node::cuGraphKernelNodeSetParams_v2(node, &params),
        INVALID_VALUE
    );
    answers!(
        graph_node::cuGraphAddKernelNode_v2(&mut node, of, null(), 0, &params),
        INVALID_VALUE
    );
    params.v1.block = [1; 3];
    params.v1.kernel_params = null_mut();
    answers!(
        graph_node::cuGraphKernelNodeSetParams_v2(node, &params),
        INVALID_VALUE
    );
    params.v1.func = CUfunction(77);
    answers!(
        graph_node::cuGraphKernelNodeSetParams_v2(node, &params),
        INVALID_HANDLE
    );
    params.v1.func = CUfunction(0);
    answers!(
        graph_node::cuGraphKernelNodeSetParams_v2(node, &params),
        INVALID_VALUE
    );
    answers!(
        graph_node::cuGraphMemsetNodeGetParams(node, &mut fill_params(0, 0, 0)),
        INVALID_VALUE
    );
}

#[test]
fn a_kernel_whose_module_is_gone_is_refused_at_the_launch() {
    fresh();
    let loaded = load();
    let nothing = function(loaded, "nothing");
    let of = made();
    let mut node = CUgraphNode::default();
    let params = kernel_params(nothing, null_mut());
    answers!(graph_node::cuGraphAddKernelNode_v2(
        &mut node,
        of,
        null(),
        0,
        &params
    ));
    let executable = ready(of);
    launched(executable);
    answers!(module::cuModuleUnload(loaded));
    answers!(
        graph_exec::cuGraphLaunch(executable, CUstream(0)),
        INVALID_HANDLE
    );
    answers!(context::cuCtxSynchronize(), 0);
}

#[test]
fn fills_and_copies_are_changed() {
    fresh();
    let (first, second) = (allocate(16), upload(&[0; 16]));
    let of = made();
    let filled = fill(of, &[], first, 1, 4);
    let copied = copy(of, &[filled], second, first, 16);
    let executable = ready(of);
    answers!(graph_exec::cuGraphExecMemsetNodeSetParams(
        executable,
        filled,
        &fill_params(first, 2, 4),
        CUcontext(0)
    ));
    answers!(graph_exec::cuGraphExecMemcpyNodeSetParams(
        executable,
        copied,
        &copy_params(second, first, 8),
        CUcontext(0)
    ));
    launched(executable);
    assert_eq!(words(second, 4), [2, 2, 0, 0]);
    answers!(graph_node::cuGraphMemsetNodeSetParams(
        filled,
        &fill_params(first, 9, 4)
    ));
    let mut told = fill_params(0, 0, 0);
    answers!(graph_node::cuGraphMemsetNodeGetParams(filled, &mut told));
    assert_eq!((told.dst, told.value), (first, 9));
    let mut told = CUDA_MEMCPY3D::default();
    answers!(graph_node::cuGraphMemcpyNodeGetParams(copied, &mut told));
    assert_eq!((told.dst_device, told.width_in_bytes), (second, 16));
    answers!(
        graph_exec::cuGraphExecMemsetNodeSetParams(
            executable,
            copied,
            &fill_params(first, 2, 4),
            CUcontext(0)
        ),
        INVALID_VALUE
    );
    let wrong = [
        fill_params(first, 2, 5),
        fill_params(0, 2, 4),
        fill_params(first, 2, 0),
        CUDA_MEMSET_NODE_PARAMS {
            element_size: 3,
            ..fill_params(first, 2, 1)
        },
    ];
    for params in &wrong {
        answers!(
            graph_node::cuGraphMemsetNodeSetParams(filled, params),
            INVALID_VALUE
        );
    }
    let params = copy_params(second, first, 17);
    answers!(
        graph_node::cuGraphMemcpyNodeSetParams(copied, &params),
        INVALID_VALUE
    );
    let mut node = CUgraphNode::default();
    let params = fill_params(first, 2, 4);
    answers!(
        graph_node::cuGraphAddMemsetNode(&mut node, of, null(), 0, &params, CUcontext(5)),
        INVALID_CONTEXT
    );
}

#[test]
fn an_executable_takes_over_a_graph_like_its_own() {
    fresh();
    let address = allocate(16);
    let graphs = [1, 2].map(|value| {
        let of = made();
        let first = empty(of, &[]);
        fill(of, &[first], address, value, 4);
        of
    });
    let executable = ready(graphs[0]);
    let mut info = CUgraphExecUpdateResultInfo::default();
    answers!(graph_exec::cuGraphExecUpdate_v2(
        executable, graphs[1], &mut info
    ));
    assert_eq!(info.result, 0);
    launched(executable);
    assert_eq!(words(address, 4), [2; 4]);
    let other = made();
    let first = empty(other, &[]);
    let second = empty(other, &[first]);
    answers!(
        graph_exec::cuGraphExecUpdate_v2(executable, other, &mut info),
        910
    );
    assert_eq!((info.result, info.error_node), (3, second));
    answers!(graph::cuGraphDestroyNode(second));
    let (mut node, mut result) = (CUgraphNode(1), 0);
    answers!(
        graph_exec::cuGraphExecUpdate(executable, other, &mut node, &mut result),
        910
    );
    assert_eq!((node, result), (CUgraphNode(0), 2));
    launched(executable);
    assert_eq!(words(address, 4), [2; 4]);
}

#[test]
fn graphs_are_in_nodes_and_cloned() {
    fresh();
    let address = allocate(16);
    let inner = made();
    let filled = fill(inner, &[], address, 1, 4);
    let outer = made();
    let mut child = CUgraphNode::default();
    answers!(others::cuGraphAddChildGraphNode(
        &mut child,
        outer,
        null(),
        0,
        inner
    ));
    let mut own = CUgraph::default();
    answers!(others::cuGraphChildGraphNodeGetGraph(child, &mut own));
    assert_ne!(own, inner);
    let mut inside = CUgraphNode::default();
    answers!(graph::cuGraphNodeFindInClone(&mut inside, filled, own));
    answers!(
        graph::cuGraphNodeFindInClone(&mut inside, filled, outer),
        INVALID_VALUE
    );
    answers!(graph::cuGraphDestroy(own), INVALID_VALUE);
    answers!(graph::cuGraphDestroy(inner));
    let executable = ready(outer);
    launched(executable);
    assert_eq!(words(address, 4), [1; 4]);
    answers!(graph_exec::cuGraphExecMemsetNodeSetParams(
        executable,
        inside,
        &fill_params(address, 4, 4),
        CUcontext(0)
    ));
    launched(executable);
    assert_eq!(words(address, 4), [4; 4]);
    let mut clone = CUgraph::default();
    answers!(graph::cuGraphClone(&mut clone, outer));
    answers!(graph::cuGraphDestroy(outer));
    answers!(graph::cuGraphNodeGetType(inside, &mut 0), INVALID_VALUE);
    launched(ready(clone));
    assert_eq!(words(address, 4), [1; 4]);
}

#[test]
fn graphs_in_graphs_have_an_end() {
    fresh();
    let of = made();
    let mut node = CUgraphNode::default();
    let added = (0..100).find_map(|_| {
        let code = call!(others::cuGraphAddChildGraphNode(
            &mut node,
            of,
            null(),
            0,
            of
        ));
        (code != 0).then_some(code)
    });
    assert!(matches!(added, Some(2 | 801)), "{added:?}");
    launched(ready(of));
    answers!(graph::cuGraphDestroy(of));
}

unsafe extern "C" fn tell(data: *mut c_void) {
    // SAFETY: tests give a sender that stays.
    let _ = unsafe { &*data.cast::<Sender<()>>() }.send(());
}

#[test]
fn functions_of_the_program_are_called() {
    fresh();
    let (sender, receiver): (Sender<()>, Receiver<()>) = channel();
    let params = CUDA_HOST_NODE_PARAMS {
        function: Some(tell),
        user_data: kept(sender),
    };
    let of = made();
    let mut node = CUgraphNode::default();
    answers!(graph_node::cuGraphAddHostNode(
        &mut node,
        of,
        null(),
        0,
        &params
    ));
    let without = CUDA_HOST_NODE_PARAMS {
        function: None,
        ..params
    };
    answers!(
        graph_node::cuGraphAddHostNode(&mut node, of, null(), 0, &without),
        INVALID_VALUE
    );
    let executable = ready(of);
    answers!(graph_exec::cuGraphLaunch(executable, CUstream(0)));
    assert_eq!(
        receiver.recv(),
        Ok(()),
        "it is called though nobody waits in the driver"
    );
    launched(executable);
    assert_eq!(receiver.try_recv(), Ok(()));
    let mut told = without;
    answers!(graph_node::cuGraphHostNodeGetParams(node, &mut told));
    assert_eq!(told.user_data, params.user_data);
}

#[test]
fn events_are_recorded_and_waited_for() {
    fresh();
    let mut noted = [CUevent(0); 2];
    for event in &mut noted {
        answers!(event::cuEventCreate(event, 0));
    }
    let of = made();
    let (mut first, mut second) = (CUgraphNode(0), CUgraphNode(0));
    answers!(others::cuGraphAddEventRecordNode(
        &mut first,
        of,
        null(),
        0,
        noted[0]
    ));
    answers!(others::cuGraphAddEventWaitNode(
        &mut second,
        of,
        &first,
        1,
        noted[0]
    ));
    answers!(
        others::cuGraphAddEventWaitNode(&mut second, of, &first, 1, CUevent(3)),
        INVALID_HANDLE
    );
    let executable = ready(of);
    answers!(graph_exec::cuGraphExecEventRecordNodeSetEvent(
        executable, first, noted[1]
    ));
    launched(executable);
    let mut milliseconds = 0.0;
    answers!(
        event::cuEventElapsedTime(&mut milliseconds, noted[0], noted[1]),
        INVALID_HANDLE
    );
    launched(ready(of));
    answers!(event::cuEventElapsedTime(
        &mut milliseconds,
        noted[1],
        noted[0]
    ));
    assert!(milliseconds >= 0.0);
    let mut told = CUevent(0);
    answers!(others::cuGraphEventRecordNodeGetEvent(first, &mut told));
    assert_eq!(told, noted[0]);
    answers!(
        others::cuGraphEventWaitNodeGetEvent(first, &mut told),
        INVALID_VALUE
    );
    answers!(event::cuEventDestroy_v2(noted[0]));
    answers!(
        graph_exec::cuGraphLaunch(executable, CUstream(0)),
        INVALID_HANDLE
    );
}

#[test]
fn nodes_of_any_kind_are_put_in_by_one_call() {
    fresh();
    let address = allocate(16);
    let of = made();
    let mut params = CUgraphNodeParams {
        kind: 2,
        reserved0: [0; 3],
        words: [0; 29],
        reserved2: 0,
    };
    let fill = fill_params(address, 6, 4);
    // SAFETY: the words have room for the parameters.
    unsafe {
        params
            .words
            .as_mut_ptr()
            .cast::<CUDA_MEMSET_NODE_PARAMS>()
            .write(fill)
    };
    let mut node = CUgraphNode::default();
    answers!(others::cuGraphAddNode_v2(
        &mut node,
        of,
        null(),
        null(),
        0,
        &mut params
    ));
    let mut second = CUgraphNode::default();
    let meant = CUgraphEdgeData { bytes: [1; 8] };
    let mut nothing = CUgraphNodeParams {
        kind: 5,
        words: [0; 29],
        ..params
    };
    answers!(
        others::cuGraphAddNode_v2(&mut second, of, &node, &meant, 1, &mut nothing),
        801
    );
    answers!(others::cuGraphAddNode(
        &mut second,
        of,
        &node,
        1,
        &mut nothing
    ));
    for (kind, code) in [(8, 801), (13, 801), (15, 1), (-1, 1), (99, 1)] {
        nothing.kind = kind;
        answers!(
            others::cuGraphAddNode(&mut second, of, &node, 1, &mut nothing),
            code
        );
    }
    params.reserved2 = 1;
    answers!(
        others::cuGraphAddNode(&mut second, of, &node, 1, &mut params),
        INVALID_VALUE
    );
    launched(ready(of));
    assert_eq!(words(address, 4), [6; 4]);
}

#[test]
fn work_of_another_context_is_done_there() {
    fresh();
    let here = allocate(16);
    let of = made();
    let first = fill(of, &[], here, 3, 4);
    fresh();
    let there = allocate(16);
    let second = copy(of, &[first], there, here, 16);
    fill(of, &[second], here, 4, 4);
    launched(ready(of));
    assert_eq!((words(there, 4), words(here, 4)), (vec![3; 4], vec![4; 4]));
}

#[test]
fn no_number_is_followed() {
    fresh();
    let of = made();
    let node = empty(of, &[]);
    let executable = ready(of);
    let mut made_graph = CUgraph(0);
    for bits in [
        0,
        1,
        3,
        0xDEAD_BEEF,
        usize::MAX,
        node.0 + 16_000_000,
        executable.0,
        node.0 | 1 << 32,
    ] {
        answers!(graph::cuGraphDestroy(CUgraph(bits)), INVALID_VALUE);
        answers!(
            graph::cuGraphClone(&mut made_graph, CUgraph(bits)),
            INVALID_VALUE
        );
        answers!(graph::cuGraphDestroyNode(CUgraphNode(bits)), INVALID_VALUE);
        answers!(
            graph::cuGraphAddDependencies(of, &node, &CUgraphNode(bits), 1),
            INVALID_VALUE
        );
        let mut second = CUgraphNode(bits);
        answers!(
            others::cuGraphAddEmptyNode(&mut second, of, &CUgraphNode(bits), 1),
            INVALID_VALUE
        );
        answers!(
            others::cuGraphAddEmptyNode(&mut second, CUgraph(bits), null(), 0),
            INVALID_VALUE
        );
        answers!(
            others::cuGraphAddEmptyNode(&mut second, of, null(), 1),
            INVALID_VALUE
        );
        answers!(
            others::cuGraphAddEmptyNode(&mut second, of, &node, usize::MAX),
            INVALID_VALUE
        );
    }
    for bits in [0, 7, usize::MAX, of.0, node.0] {
        answers!(
            graph_exec::cuGraphLaunch(CUgraphExec(bits), CUstream(0)),
            INVALID_VALUE
        );
        answers!(
            graph_exec::cuGraphExecDestroy(CUgraphExec(bits)),
            INVALID_VALUE
        );
        answers!(
            graph_exec::cuGraphNodeSetEnabled(CUgraphExec(bits), node, 1),
            INVALID_VALUE
        );
    }
    answers!(
        graph_exec::cuGraphLaunch(executable, CUstream(5)),
        INVALID_HANDLE
    );
    answers!(graph_exec::cuGraphLaunch(executable, CUstream(0)));
    let mut flagged = CUgraphExec(0);
    for (flags, code) in [(1, 0), (2, 1), (4, 801), (8, 0), (16, 1), (u64::MAX, 1)] {
        answers!(
            graph_exec::cuGraphInstantiateWithFlags(&mut flagged, of, flags),
            code
        );
    }
    answers!(graph::cuGraphCreate(&mut made_graph, 1), INVALID_VALUE);
    answers!(graph::cuGraphCreate(null_mut(), 0), INVALID_VALUE);
}

#[test]
fn nodes_that_are_gone_have_no_handles() {
    fresh();
    let address = allocate(16);
    let graph = made();
    let (gone, kept) = (
        fill(graph, &[], address, 1, 1),
        fill(graph, &[], address, 2, 1),
    );
    let (mut clone, mut inside) = (CUgraph::default(), CUgraphNode::default());
    answers!(graph::cuGraphClone(&mut clone, graph));
    let executable = ready(graph);
    answers!(graph::cuGraphDestroyNode(gone));
    for (node, code) in [(gone, INVALID_VALUE), (kept, 0)] {
        answers!(
            graph::cuGraphNodeFindInClone(&mut inside, node, clone),
            code
        );
        answers!(graph_exec::cuGraphNodeSetEnabled(executable, node, 1), code);
    }
    answers!(graph::cuGraphDestroy(graph));
    answers!(
        graph_exec::cuGraphNodeSetEnabled(executable, kept, 1),
        INVALID_VALUE
    );
    launched(executable);
    answers!(graph::cuGraphDestroy(clone));
}
