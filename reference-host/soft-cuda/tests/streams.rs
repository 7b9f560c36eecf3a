//! Streams, events, and functions of the program's that streams call.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod own;

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, Sender, channel};

use own::*;
use soft_cuda::api::{context, copy, device, event, fill, memory, stream, stream_attribute};
use soft_cuda::{CUevent, CUstream};

fn made(flags: u32) -> CUstream {
    let mut made = CUstream::default();
    answers!(stream::cuStreamCreate(&mut made, flags));
    made
}

fn noted(flags: u32) -> CUevent {
    let mut made = CUevent::default();
    answers!(event::cuEventCreate(&mut made, flags));
    made
}

#[test]
fn a_query_says_that_there_was_work_once() {
    fresh();
    let (busy, idle) = (made(0), made(1));
    let address = allocate(16);
    answers!(stream::cuStreamQuery(busy));
    answers!(fill::cuMemsetD8Async(address, 1, 16, busy));
    answers!(stream::cuStreamQuery(idle));
    answers!(stream::cuStreamQuery(busy), NOT_READY);
    answers!(stream::cuStreamQuery(busy));
    answers!(fill::cuMemsetD8Async(address, 1, 16, busy));
    answers!(stream::cuStreamSynchronize(busy));
    answers!(stream::cuStreamQuery(busy));
    answers!(stream::cuStreamDestroy_v2(busy));
    answers!(stream::cuStreamDestroy_v2(busy), INVALID_HANDLE);
    answers!(stream::cuStreamQuery(busy), INVALID_HANDLE);
}

#[test]
fn streams_are_made_as_asked() {
    let own = fresh();
    let mut made = CUstream::default();
    answers!(stream::cuStreamCreate(&mut made, 2), INVALID_VALUE);
    answers!(
        stream::cuStreamCreate(std::ptr::null_mut(), 0),
        INVALID_VALUE
    );
    answers!(stream::cuStreamCreateWithPriority(&mut made, 1, -100));
    let (mut flags, mut priority, mut id, mut other_id) = (0, 0, 0, 0);
    answers!(stream::cuStreamGetFlags(made, &mut flags));
    answers!(stream::cuStreamGetPriority(made, &mut priority));
    assert_eq!((flags, priority), (1, -5));
    let (mut of, mut ordinal) = (soft_cuda::CUcontext::default(), 7);
    answers!(stream::cuStreamGetCtx(made, &mut of));
    answers!(stream::cuStreamGetDevice(made, &mut ordinal));
    assert_eq!((of, ordinal), (own, 0));
    answers!(stream::cuStreamGetId(made, &mut id));
    for default in [0, 1, 2] {
        answers!(stream::cuStreamGetId(CUstream(default), &mut other_id));
        assert_ne!(id, other_id);
        answers!(
            stream::cuStreamDestroy_v2(CUstream(default)),
            INVALID_HANDLE
        );
        answers!(stream::cuStreamQuery(CUstream(default)));
    }
    answers!(
        stream::cuStreamGetFlags(made, std::ptr::null_mut()),
        INVALID_VALUE
    );
}

#[test]
fn no_number_is_followed() {
    fresh();
    let (event, own_stream) = (noted(0), made(0));
    for bits in [
        3,
        8,
        0xDEAD_BEEF,
        usize::MAX,
        event.0,
        own_stream.0 + 16,
        own_stream.0 | 1,
    ] {
        answers!(stream::cuStreamQuery(CUstream(bits)), INVALID_HANDLE);
        answers!(stream::cuStreamSynchronize(CUstream(bits)), INVALID_HANDLE);
        answers!(stream::cuStreamDestroy_v2(CUstream(bits)), INVALID_HANDLE);
        answers!(event::cuEventRecord(event, CUstream(bits)), INVALID_HANDLE);
    }
    for bits in [0, 1, 2, 0xDEAD_BEEF, usize::MAX, own_stream.0, event.0 + 16] {
        answers!(event::cuEventQuery(CUevent(bits)), INVALID_HANDLE);
        answers!(event::cuEventSynchronize(CUevent(bits)), INVALID_HANDLE);
        answers!(event::cuEventDestroy_v2(CUevent(bits)), INVALID_HANDLE);
        answers!(
            event::cuEventRecord(CUevent(bits), own_stream),
            INVALID_HANDLE
        );
        answers!(
            stream::cuStreamWaitEvent(own_stream, CUevent(bits), 0),
            INVALID_HANDLE
        );
    }
}

#[test]
fn events_note_what_was_called_for_before() {
    fresh();
    let (queue, address) = (made(0), allocate(16));
    let (start, end, untimed) = (noted(0), noted(0), noted(2));
    let mut milliseconds = -1.0;
    answers!(event::cuEventQuery(start));
    answers!(event::cuEventSynchronize(start));
    answers!(
        event::cuEventElapsedTime(&mut milliseconds, start, end),
        INVALID_HANDLE
    );
    answers!(event::cuEventRecord(start, queue));
    answers!(fill::cuMemsetD8Async(address, 1, 16, queue));
    answers!(event::cuEventRecord(end, queue));
    answers!(
        event::cuEventElapsedTime(&mut milliseconds, start, end),
        NOT_READY
    );
    answers!(event::cuEventQuery(end), NOT_READY);
    answers!(event::cuEventQuery(end));
    answers!(event::cuEventElapsedTime(&mut milliseconds, start, end));
    assert!(milliseconds >= 0.0);
    answers!(event::cuEventElapsedTime(&mut milliseconds, end, start));
    assert!(milliseconds <= 0.0);
    answers!(event::cuEventRecord(untimed, queue));
    answers!(event::cuEventSynchronize(untimed));
    answers!(
        event::cuEventElapsedTime(&mut milliseconds, start, untimed),
        INVALID_HANDLE
    );
    answers!(
        event::cuEventElapsedTime(std::ptr::null_mut(), start, end),
        INVALID_VALUE
    );
    answers!(
        event::cuEventRecordWithFlags(start, queue, 1),
        INVALID_VALUE
    );
    answers!(event::cuEventRecordWithFlags(start, queue, 0));
    answers!(event::cuEventDestroy_v2(start));
    answers!(event::cuEventQuery(start), INVALID_HANDLE);
    answers!(context::cuCtxSynchronize());
}

#[test]
fn event_flags_are_checked() {
    fresh();
    let mut made = CUevent::default();
    for (flags, code) in [
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 0),
        (4, 1),
        (6, 801),
        (8, 1),
        (u32::MAX, 1),
    ] {
        answers!(event::cuEventCreate(&mut made, flags), code);
    }
    answers!(event::cuEventCreate(std::ptr::null_mut(), 0), INVALID_VALUE);
}

#[test]
fn an_event_belongs_to_its_context() {
    fresh();
    let (first_event, first_stream) = (noted(0), made(0));
    let address = allocate(1);
    answers!(fill::cuMemsetD8Async(address, 9, 1, first_stream));
    answers!(event::cuEventRecord(first_event, first_stream));
    fresh();
    let second_stream = made(0);
    answers!(
        event::cuEventRecord(first_event, second_stream),
        INVALID_HANDLE
    );
    answers!(
        event::cuEventRecord(first_event, CUstream(0)),
        INVALID_HANDLE
    );
    answers!(stream::cuStreamWaitEvent(second_stream, first_event, 0));
    answers!(stream::cuStreamSynchronize(second_stream));
    answers!(event::cuEventQuery(first_event));
    assert_eq!(download(address, 1), [9]);
}

unsafe extern "C" fn tell(data: *mut c_void) {
    // SAFETY: tests give a sender that stays.
    let sender = unsafe { &*data.cast::<Sender<u32>>() };
    // What a function of the program's calls is refused.
    // SAFETY: null pointers are refused.
    let refused = unsafe { memory::cuMemAlloc_v2(std::ptr::null_mut(), 1) };
    let _ = sender.send(refused);
}

unsafe extern "C" fn tell_result(_stream: CUstream, result: u32, data: *mut c_void) {
    // SAFETY: tests give a sender that stays.
    let sender = unsafe { &*data.cast::<Sender<u32>>() };
    let _ = sender.send(result);
}

#[test]
fn functions_are_called_though_nobody_waits_here() {
    fresh();
    let (sender, receiver): (Sender<u32>, Receiver<u32>) = channel();
    let data = kept(sender);
    let queue = made(0);
    answers!(stream::cuLaunchHostFunc(queue, None, data), INVALID_VALUE);
    answers!(stream::cuLaunchHostFunc(queue, Some(tell), data));
    assert_eq!(receiver.recv(), Ok(800), "calls are not permitted there");
    answers!(stream::cuStreamAddCallback(
        queue,
        Some(tell_result),
        data,
        0
    ));
    assert_eq!(receiver.recv(), Ok(0));
    answers!(
        stream::cuStreamAddCallback(queue, Some(tell_result), data, 1),
        INVALID_VALUE
    );
    answers!(stream::cuStreamSynchronize(queue));
    assert!(receiver.try_recv().is_err());
}

unsafe extern "C" fn wait(data: *mut c_void) {
    // SAFETY: tests give a receiver that stays.
    let receiver = unsafe { &*data.cast::<Receiver<()>>() };
    let _ = receiver.recv();
}

#[test]
fn queries_do_not_wait_for_functions_that_wait_for_the_program() {
    fresh();
    let (sender, receiver): (Sender<()>, Receiver<()>) = channel();
    let queue = made(0);
    let data = kept(receiver);
    answers!(stream::cuLaunchHostFunc(queue, Some(wait), data));
    let address = allocate(4);
    answers!(fill::cuMemsetD8Async(address, 4, 4, queue));
    answers!(stream::cuStreamQuery(queue), NOT_READY);
    answers!(stream::cuStreamQuery(queue), NOT_READY);
    sender.send(()).unwrap();
    answers!(stream::cuStreamSynchronize(queue));
    answers!(stream::cuStreamQuery(queue));
    assert_eq!(download(address, 4), [4; 4]);
}

#[test]
fn asynchronous_copies_of_plain_host_memory_have_happened_at_the_return() {
    fresh();
    let queue = made(0);
    let address = allocate(4);
    let mut bytes = [1u8, 2, 3, 4];
    answers!(copy::cuMemcpyHtoDAsync_v2(
        address,
        bytes.as_ptr().cast(),
        4,
        queue
    ));
    bytes = [0; 4];
    answers!(copy::cuMemcpyDtoHAsync_v2(
        bytes.as_mut_ptr().cast(),
        address,
        4,
        queue
    ));
    assert_eq!(bytes, [1, 2, 3, 4]);
}

#[test]
fn threads_share_a_context() {
    let own = fresh();
    let _ = own;
    let queue = made(0);
    let address = allocate(1 << 16);
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            scope.spawn(move || {
                answers!(device::cuInit(0));
                for _ in 0..100 {
                    let part = address + u64::from(thread) * (1 << 14);
                    answers!(fill::cuMemsetD8Async(part, thread, 1 << 14, queue));
                    answers!(stream::cuStreamSynchronize(queue));
                }
            });
        }
    });
    let bytes = download(address, 1 << 16);
    for (at, byte) in bytes.iter().enumerate() {
        assert_eq!(usize::from(*byte), at >> 14);
    }
}

#[test]
fn wishes_are_kept() {
    fresh();
    let (first, second) = (made(0), made(0));
    let mut value = [9; 8];
    answers!(stream_attribute::cuStreamGetAttribute(first, 3, &mut value));
    assert_eq!(value, [1, 0, 0, 0, 0, 0, 0, 0]);
    let (policy, priority) = ([4, 0, 0, 0, 0, 0, 0, 0], [0xFFFF_FFFE, 0, 0, 0, 0, 0, 0, 0]);
    answers!(stream_attribute::cuStreamSetAttribute(first, 3, &policy));
    answers!(stream_attribute::cuStreamSetAttribute(first, 8, &priority));
    answers!(stream_attribute::cuStreamCopyAttributes(second, first));
    answers!(stream_attribute::cuStreamGetAttribute(
        second, 3, &mut value
    ));
    assert_eq!(value, policy);
    let mut told = 0;
    answers!(stream::cuStreamGetPriority(second, &mut told));
    assert_eq!(told, -2);
    for unknown in [0, 2, 4, 11, u32::MAX] {
        answers!(
            stream_attribute::cuStreamGetAttribute(first, unknown, &mut value),
            INVALID_VALUE
        );
        answers!(
            stream_attribute::cuStreamSetAttribute(first, unknown, &value),
            INVALID_VALUE
        );
    }
    answers!(
        stream_attribute::cuStreamSetAttribute(first, 8, &[1; 8]),
        INVALID_VALUE
    );
    answers!(
        stream_attribute::cuStreamSetAttribute(first, 3, std::ptr::null()),
        INVALID_VALUE
    );
    fresh();
    answers!(
        stream_attribute::cuStreamCopyAttributes(made(0), first),
        INVALID_VALUE
    );
}

#[test]
fn no_stream_is_captured() {
    fresh();
    let queue = made(0);
    let (mut status, mut mode) = (7, 2);
    answers!(stream_attribute::cuStreamIsCapturing(queue, &mut status));
    assert_eq!(status, 0);
    answers!(
        stream_attribute::cuStreamIsCapturing(CUstream(77), &mut status),
        INVALID_HANDLE
    );
    answers!(stream_attribute::cuThreadExchangeStreamCaptureMode(
        &mut mode
    ));
    assert_eq!(mode, 0);
    answers!(stream_attribute::cuThreadExchangeStreamCaptureMode(
        &mut mode
    ));
    assert_eq!(mode, 2);
    mode = 3;
    answers!(
        stream_attribute::cuThreadExchangeStreamCaptureMode(&mut mode),
        INVALID_VALUE
    );
}

#[test]
fn who_never_waits_is_made_to() {
    fresh();
    let (queue, address) = (made(0), upload(&[0; 4]));
    let early = noted(0);
    answers!(event::cuEventRecord(early, queue));
    for value in 0..3000 {
        answers!(fill::cuMemsetD32Async(address, value, 1, queue));
    }
    answers!(event::cuEventQuery(early));
    answers!(stream::cuStreamQuery(queue), NOT_READY);
    assert_eq!(download(address, 4), 2999u32.to_le_bytes());
}
