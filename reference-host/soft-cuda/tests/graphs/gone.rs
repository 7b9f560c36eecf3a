//! Handles of what is gone, and numbers that never were handles.

use super::*;

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
