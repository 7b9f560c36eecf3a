use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};

use crate::{device, enter, module};

pub(crate) fn stream() -> Stream {
    Stream::new(StreamFlags::DEFAULT, None).expect("a stream")
}

#[test]
fn launches() {
    let _context = enter();
    let module = module();
    let stream = stream();
    let left = DeviceBuffer::from_slice(&(0..1000u32).collect::<Vec<_>>()).expect("a buffer");
    let right = DeviceBuffer::from_slice(&[5u32; 1000]).expect("a buffer");
    let out = DeviceBuffer::<u32>::zeroed(1000).expect("a buffer");
    let [a, b, c] = [&out, &left, &right].map(|buffer| buffer.as_device_ptr());
    // SAFETY: the parameters are the kernel's: three addresses and a number of words, and as many words lie there.
    unsafe { launch!(module.add<<<4, 256, 0, stream>>>(a, b, c, 999u32)) }.expect("a launch");
    stream.synchronize().expect("the end");
    let sums = out.as_host_vec().expect("a copy");
    assert!(
        sums[..999]
            .iter()
            .zip(5..)
            .all(|(sum, right)| *sum == right)
    );
    assert_eq!(sums[999], 0);
    for (grid, block, shared) in [(0, 1, 0), (1, 0, 0), (1, 1025, 0), (1, 1, 1 << 20)] {
        // SAFETY: as above; the shape is one that the driver refuses.
        let refused =
            unsafe { launch!(module.add<<<grid, block, shared, stream>>>(a, b, c, 1u32)) };
        assert_eq!(
            refused,
            Err(CudaError::InvalidValue),
            "{grid} {block} {shared}"
        );
        assert_eq!(stream.synchronize(), Ok(()));
    }
    // SAFETY: the kernel has no parameters.
    let missing = unsafe { launch!(module.absent<<<1, 1, 0, stream>>>()) };
    assert_eq!(missing, Err(CudaError::NotFound));
}

#[test]
fn priorities_and_flags() {
    let _context = enter();
    // `cust` never asks for this one.
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    assert_eq!(stream.get_flags(), Ok(StreamFlags::DEFAULT));
    for (wished, given) in [(None, 0), (Some(-3), -3), (Some(-100), -5), (Some(7), 0)] {
        let stream = Stream::new(StreamFlags::DEFAULT, wished).expect("a stream");
        assert_eq!(stream.get_priority(), Ok(given), "{wished:?}");
        assert_eq!(stream.get_flags(), Ok(StreamFlags::DEFAULT));
        assert!(!stream.as_inner().is_null());
        assert!(Stream::drop(stream).is_ok());
    }
}

#[test]
fn functions_of_the_program_run_in_order() {
    let _context = enter();
    let module = module();
    let stream = stream();
    let seen = Arc::new(AtomicU32::new(0));
    for round in 0..10 {
        // SAFETY: the kernel has no parameters.
        unsafe { launch!(module.count<<<1, 1, 0, stream>>>()) }.expect("a launch");
        let seen = Arc::clone(&seen);
        stream
            .add_callback(Box::new(move || {
                let _ = seen.compare_exchange(round, round + 1, Ordering::SeqCst, Ordering::SeqCst);
            }))
            .expect("a function");
    }
    stream.synchronize().expect("the end");
    assert_eq!(seen.load(Ordering::SeqCst), 10);
    let counter = module.get_global::<u32>(c"counter").expect("a variable");
    let mut value = 0;
    counter.copy_to(&mut value).expect("a copy");
    assert_eq!(value, 13);
}

#[test]
fn events() {
    let _context = enter();
    let module = module();
    let [first, second] = [stream(), stream()];
    let start = Event::new(EventFlags::DEFAULT).expect("an event");
    let end = Event::new(EventFlags::BLOCKING_SYNC).expect("an event");
    assert_eq!(start.query(), Ok(EventStatus::Ready), "never recorded");
    assert_eq!(
        end.elapsed_time_f32(&start),
        Err(CudaError::InvalidHandle),
        "never recorded"
    );
    start.record(&first).expect("a record");
    // SAFETY: the kernel has no parameters.
    unsafe { launch!(module.count<<<1, 1, 0, first>>>()) }.expect("a launch");
    end.record(&first).expect("a record");
    end.synchronize().expect("the end");
    assert_eq!(end.query(), Ok(EventStatus::Ready));
    let millis = end.elapsed_time_f32(&start).expect("a time");
    assert!(millis >= 0.0 && millis.is_finite());
    assert!(end.elapsed(&start).is_ok());
    let untimed = Event::new(EventFlags::DISABLE_TIMING).expect("an event");
    untimed.record(&first).expect("a record");
    untimed.synchronize().expect("the end");
    assert_eq!(
        untimed.elapsed_time_f32(&start),
        Err(CudaError::InvalidHandle)
    );
    second
        .wait_event(untimed, StreamWaitEventFlags::DEFAULT)
        .expect("a wait");
    second.synchronize().expect("the end");
    assert_eq!(
        Event::new(EventFlags::INTERPROCESS).err(),
        Some(CudaError::InvalidValue),
        "without the flag against timing"
    );
    assert!(Event::drop(start).is_ok());
}

/// What a fault leaves of a context: errors for all that works with it, until it is destroyed.
#[test]
fn a_fault_stays_with_its_context() {
    use cust::context::legacy::{Context, ContextFlags};
    let own = Context::create_and_push(ContextFlags::SCHED_AUTO, device()).expect("a context");
    let module = module();
    let stream = stream();
    // SAFETY: the kernel has no parameters.
    unsafe { launch!(module.trap<<<1, 1, 0, stream>>>()) }.expect("a launch");
    let lost = CudaError::LaunchFailed;
    assert_eq!(stream.synchronize(), Err(lost));
    assert_eq!(stream.synchronize(), Err(lost), "again");
    assert_eq!(DeviceBuffer::<u32>::zeroed(1).err(), Some(lost));
    // SAFETY: the kernel has no parameters.
    let next = unsafe { launch!(module.count<<<1, 1, 0, stream>>>()) };
    assert_eq!(next, Err(lost));
    drop((stream, module));
    drop(own);
    let _other = enter();
    assert_eq!(crate::streams::stream().synchronize(), Ok(()));
}
