//! `cust` keeps its graphs to itself, and re-exports the driver's functions that they are made of.

use std::ptr;

use cust::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUgraphNodeType, cuGraphAddKernelNode, cuGraphCreate, cuGraphDestroy,
    cuGraphGetEdges, cuGraphGetNodes, cuGraphKernelNodeGetParams, cuGraphNodeGetType,
    cudaError_enum,
};

use crate::{enter, module};

const OK: cudaError_enum = cudaError_enum::CUDA_SUCCESS;

#[test]
fn kernel_nodes_and_their_edges() {
    let _context = enter();
    let module = module();
    let function = module.get_function("count").expect("a function");
    let params = CUDA_KERNEL_NODE_PARAMS {
        func: function.to_raw(),
        gridDimX: 3,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 2,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 16,
        kernelParams: ptr::null_mut(),
        extra: ptr::null_mut(),
    };
    let mut graph = ptr::null_mut();
    let mut nodes = [ptr::null_mut(); 3];
    // SAFETY: every pointer is to a place of the type, every list is as long as said, and the kernel has no parameters.
    unsafe {
        assert_eq!(cuGraphCreate(&mut graph, 0), OK);
        for index in 0..nodes.len() {
            let [before, node] = [nodes, nodes];
            let mut made = node[index];
            // Each comes after all that are there.
            let added = cuGraphAddKernelNode(&mut made, graph, before.as_ptr(), index, &params);
            assert_eq!(added, OK);
            nodes[index] = made;
        }
        let mut count = 0;
        assert_eq!(cuGraphGetNodes(graph, ptr::null_mut(), &mut count), OK);
        assert_eq!(count, 3);
        let mut seen = [ptr::null_mut(); 3];
        assert_eq!(cuGraphGetNodes(graph, seen.as_mut_ptr(), &mut count), OK);
        assert!(nodes.iter().all(|node| seen.contains(node)));
        let mut count = 0;
        assert_eq!(
            cuGraphGetEdges(graph, ptr::null_mut(), ptr::null_mut(), &mut count),
            OK
        );
        assert_eq!(count, 3);
        let [mut from, mut to] = [[ptr::null_mut(); 3]; 2];
        assert_eq!(
            cuGraphGetEdges(graph, from.as_mut_ptr(), to.as_mut_ptr(), &mut count),
            OK
        );
        for edge in [(0, 1), (0, 2), (1, 2)] {
            let edge = (nodes[edge.0], nodes[edge.1]);
            assert!(from.into_iter().zip(to).any(|other| other == edge));
        }
        for node in nodes {
            let mut kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
            assert_eq!(cuGraphNodeGetType(node, &mut kind), OK);
            assert_eq!(kind, CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL);
            let mut read = CUDA_KERNEL_NODE_PARAMS {
                func: ptr::null_mut(),
                gridDimX: 0,
                blockDimX: 0,
                sharedMemBytes: 0,
                ..params
            };
            assert_eq!(cuGraphKernelNodeGetParams(node, &mut read), OK);
            assert_eq!(read.func, function.to_raw());
            assert_eq!(
                (read.gridDimX, read.blockDimX, read.sharedMemBytes),
                (3, 2, 16)
            );
        }
        assert_eq!(cuGraphDestroy(graph), OK);
        assert_ne!(cuGraphDestroy(graph), OK);
    }
}
