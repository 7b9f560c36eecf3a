//! What a launch does, and in which order.

use super::*;

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

unsafe extern "C" fn tell(data: *mut c_void) {
    // SAFETY: tests give a sender that stays.
    let _ = unsafe { &*data.cast::<Sender<()>>() }.send(());
}
