//! A context that a kernel's fault has ended, as streams, events, memory and graphs see it.

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
use std::ptr::null_mut;
use std::sync::mpsc::{Receiver, Sender, channel};

use kernel::{argument, function, launch, load};
use own::*;
use soft_cuda::api::{context, copy, event, fill, graph, graph_exec, host_memory, memory, stream};
use soft_cuda::*;

const ILLEGAL_ADDRESS: CUresult = 700;

unsafe extern "C" fn tell(_stream: CUstream, result: CUresult, data: *mut c_void) {
    // SAFETY: the test gives a sender that stays.
    let _ = unsafe { &*data.cast::<Sender<CUresult>>() }.send(result);
}

unsafe extern "C" fn tell_success(data: *mut c_void) {
    // SAFETY: the test gives a sender that stays.
    let _ = unsafe { &*data.cast::<Sender<CUresult>>() }.send(0);
}

/// Puts a kernel into the default stream that stores where there is no memory.
fn fault() {
    let store = function(load(), "store");
    let (at, value) = (0x1234_5000u64, 1u32);
    assert_eq!(
        launch(store, [1; 3], [1; 3], &[argument(&at), argument(&value)]),
        0
    );
}

#[test]
fn every_call_tells_of_it_until_the_context_ends() {
    let own = fresh();
    let (mut queue, mut noted) = (CUstream(0), CUevent(0));
    answers!(stream::cuStreamCreate(&mut queue, 0));
    answers!(event::cuEventCreate(&mut noted, 0));
    let address = upload(&[1; 16]);
    let mut of = CUgraph(0);
    let mut executable = CUgraphExec(0);
    answers!(graph::cuGraphCreate(&mut of, 0));
    answers!(graph_exec::cuGraphInstantiateWithFlags(
        &mut executable,
        of,
        0
    ));
    let mut pinned = null_mut();
    answers!(host_memory::cuMemAllocHost_v2(&mut pinned, 16));
    fault();
    answers!(event::cuEventRecord(noted, queue));
    // Nobody has waited: the fault has not happened.
    answers!(fill::cuMemsetD8Async(address, 2, 16, queue));
    answers!(stream::cuStreamSynchronize(queue), ILLEGAL_ADDRESS);
    let mut out = 0u64;
    let mut bytes = [0u8; 16];
    let host = bytes.as_mut_ptr().cast();
    for _ in 0..2 {
        answers!(memory::cuMemAlloc_v2(&mut out, 16), ILLEGAL_ADDRESS);
        answers!(memory::cuMemFree_v2(address), ILLEGAL_ADDRESS);
        answers!(copy::cuMemcpyHtoD_v2(address, host, 16), ILLEGAL_ADDRESS);
        answers!(copy::cuMemcpyDtoH_v2(host, address, 16), ILLEGAL_ADDRESS);
        answers!(
            copy::cuMemcpyDtoHAsync_v2(pinned, address, 16, queue),
            ILLEGAL_ADDRESS
        );
        answers!(fill::cuMemsetD8_v2(address, 2, 16), ILLEGAL_ADDRESS);
        answers!(stream::cuStreamQuery(queue), ILLEGAL_ADDRESS);
        answers!(
            stream::cuStreamCreate((&raw mut out).cast(), 0),
            ILLEGAL_ADDRESS
        );
        answers!(event::cuEventQuery(noted), ILLEGAL_ADDRESS);
        answers!(event::cuEventSynchronize(noted), ILLEGAL_ADDRESS);
        answers!(event::cuEventRecord(noted, queue), ILLEGAL_ADDRESS);
        answers!(
            graph_exec::cuGraphLaunch(executable, queue),
            ILLEGAL_ADDRESS
        );
        answers!(context::cuCtxSynchronize(), ILLEGAL_ADDRESS);
    }
    assert_eq!(out, 0);
    // Another context goes on, and cannot reach the lost one's memory.
    fresh();
    let there = upload(&[7; 16]);
    assert_eq!(download(there, 16), [7; 16]);
    answers!(copy::cuMemcpyDtoD_v2(there, address, 16), ILLEGAL_ADDRESS);
    answers!(context::cuCtxSynchronize());
    answers!(context::cuCtxDestroy_v2(own));
    answers!(copy::cuMemcpyDtoD_v2(there, address, 16), INVALID_VALUE);
    answers!(stream::cuStreamQuery(queue), INVALID_HANDLE);
    answers!(event::cuEventQuery(noted), INVALID_HANDLE);
}

#[test]
fn callbacks_are_told_and_plain_functions_are_not_called() {
    fresh();
    let (sender, receiver): (Sender<CUresult>, Receiver<CUresult>) = channel();
    let data = kept(sender);
    fault();
    answers!(stream::cuLaunchHostFunc(
        CUstream(0),
        Some(tell_success),
        data
    ));
    // The thread of the first function may have found the fault by now.
    let added = call!(stream::cuStreamAddCallback(
        CUstream(0),
        Some(tell),
        data,
        0
    ));
    assert!([0, ILLEGAL_ADDRESS].contains(&added));
    answers!(context::cuCtxSynchronize(), ILLEGAL_ADDRESS);
    if added == 0 {
        assert_eq!(receiver.recv(), Ok(ILLEGAL_ADDRESS));
    }
    assert!(receiver.try_recv().is_err());
}

#[test]
fn a_callback_behind_a_fault_is_called_once_with_the_error() {
    fresh();
    let (sender, receiver): (Sender<CUresult>, Receiver<CUresult>) = channel();
    fault();
    let data = kept(sender);
    answers!(stream::cuStreamAddCallback(
        CUstream(0),
        Some(tell),
        data,
        0
    ));
    assert_eq!(receiver.recv(), Ok(ILLEGAL_ADDRESS));
    answers!(context::cuCtxSynchronize(), ILLEGAL_ADDRESS);
    assert!(receiver.try_recv().is_err());
}

#[test]
fn work_before_a_fault_is_done_and_work_behind_it_is_not() {
    fresh();
    let mut pinned = null_mut();
    answers!(host_memory::cuMemAllocHost_v2(&mut pinned, 8));
    let address = upload(&[1; 4]);
    answers!(copy::cuMemcpyDtoHAsync_v2(pinned, address, 4, CUstream(0)));
    fault();
    answers!(copy::cuMemcpyDtoHAsync_v2(
        pinned.wrapping_byte_add(4),
        address,
        4,
        CUstream(0)
    ));
    answers!(context::cuCtxSynchronize(), ILLEGAL_ADDRESS);
    // SAFETY: pinned memory of this size.
    let seen = unsafe { pinned.cast::<[u8; 8]>().read() };
    assert_eq!(seen, [1, 1, 1, 1, 0, 0, 0, 0]);
}

#[test]
fn freed_memory_is_not_there_for_kernels() {
    fresh();
    let store = function(load(), "store");
    let (address, value) = (allocate(4), 1u32);
    let arguments = [argument(&address), argument(&value)];
    assert_eq!(launch(store, [1; 3], [1; 3], &arguments), 0);
    answers!(memory::cuMemFree_v2(address));
    assert_ne!(
        allocate(4),
        address,
        "addresses are not given out again soon"
    );
    assert_eq!(launch(store, [1; 3], [1; 3], &arguments), 0);
    answers!(context::cuCtxSynchronize(), ILLEGAL_ADDRESS);
}
