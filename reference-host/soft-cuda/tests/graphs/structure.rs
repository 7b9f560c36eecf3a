//! What a graph is made of: nodes, edges, graphs in graphs.

use super::*;

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
