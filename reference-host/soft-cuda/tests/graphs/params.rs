//! What nodes are to do: asked for, changed, taken over.

use super::*;

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
