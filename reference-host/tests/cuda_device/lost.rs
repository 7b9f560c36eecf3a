//! The context of the buffers goes: their handles say so, and new ones work.

use wasi_cuda_host::device::DeviceError;

use crate::child;
use crate::guest::{Guest, answer, host, module, window};

#[test]
fn buffers_that_went_with_their_context_are_refused() {
    // A copy hits a sticky error, which shows at the next wait too.
    let environment = [(
        "SOFT_CUDA_FAIL",
        "cuMemcpyDtoH_v2:1=700,cuCtxSynchronize:1=700",
    )];
    child::run(
        "lost::buffers_that_went_with_their_context_are_refused",
        &environment,
        || {
            let host = host();
            let mut guest = Guest::new(&host);
            let mut other = Guest::new(&host);
            let kernel = guest.kernel(&answer(), "k");
            let ours = guest.buffer(b"ours");
            let theirs = other.buffer(b"theirs");
            assert_eq!(guest.read(ours, 4), Err(-5));
            assert!(matches!(guest.error(), Some(DeviceError::Driver(error)) if error.code == 700));
            for (guest, handle) in [(&mut guest, ours), (&mut other, theirs)] {
                for _ in 0..2 {
                    assert_eq!(guest.read(handle, 4), Err(-11));
                    assert_eq!(guest.read(handle, 0), Err(-11), "also of nothing");
                    assert_eq!(guest.write(handle, b"gone"), -11);
                    match guest.error() {
                        Some(DeviceError::Lost(why)) => {
                            assert_eq!((why.call, why.code), ("cuMemcpyDtoH_v2", 700));
                            assert!(guest.words().contains(why.call), "{}", guest.words());
                        }
                        other => panic!("{other:?}"),
                    }
                }
                // Its share of the quota is the guest's until it is given back.
                assert_eq!(guest.instance.buffer_usage().count, 1);
                assert_eq!(guest.free(handle), 0);
                assert_eq!(guest.free(handle), -11);
                assert_eq!(guest.instance.buffer_usage().count, 0);
                let fresh = guest.buffer(b"anew");
                assert_ne!(fresh, handle);
                assert_eq!(guest.read(fresh, 4), Ok(b"anew".to_vec()));
            }
            // Kernels are elsewhere.
            assert_eq!(guest.launch(kernel, 1, &[window(0, 4)]), 0);
            assert_eq!(guest.word(0), 42);
        },
    );
}

/// An error that is not sticky costs the call, and no handle.
#[test]
fn buffers_outlive_an_error_that_does_not_last() {
    let environment = [("SOFT_CUDA_FAIL", "cuMemcpyDtoH_v2:1=999,cuMemAlloc_v2:2=2")];
    child::run(
        "lost::buffers_outlive_an_error_that_does_not_last",
        &environment,
        || {
            let mut guest = Guest::new(&host());
            let buffer = guest.buffer(b"kept");
            assert_eq!(guest.read(buffer, 4), Err(-5));
            assert_eq!(guest.read(buffer, 4), Ok(b"kept".to_vec()));
            assert_eq!(guest.alloc(8), -5);
            assert!(matches!(guest.error(), Some(DeviceError::OutOfMemory(8))));
            assert_eq!(guest.instance.buffer_usage().count, 1);
            guest.buffer(b"more");
            assert_eq!(guest.read(buffer, 4), Ok(b"kept".to_vec()));
        },
    );
}

/// Memory runs out by the device's size, and comes back with what is freed.
#[test]
fn device_memory_runs_out_and_comes_back() {
    let environment = [("SOFT_CUDA_MEMORY", "8388608")];
    child::run(
        "lost::device_memory_runs_out_and_comes_back",
        &environment,
        || {
            let host = host();
            let mut guest = Guest::new(&host);
            for _ in 0..3 {
                let first = guest.alloc(5 << 20);
                assert!(first > 0, "{}", guest.words());
                assert_eq!(guest.alloc(5 << 20), -5);
                assert!(matches!(
                    guest.error(),
                    Some(DeviceError::OutOfMemory(5_242_880))
                ));
                assert_eq!(guest.instance.buffer_usage().bytes, 5 << 20);
                assert_eq!(guest.free(first), 0);
            }
            // What one instance leaves is the next one's.
            assert!(guest.alloc(5 << 20) > 0);
            drop(guest);
            assert!(Guest::new(&host).alloc(5 << 20) > 0);
        },
    );
}

/// A driver may answer with the failure that the context is given up for although it has ended the context: the handle must not be used again. Any
/// other answer means that nothing was done.
#[test]
fn a_failed_context_is_ended_once_unless_that_did_nothing() {
    for (code, tries) in [("719", 1), ("999", 2)] {
        let fault = format!("cuCtxDestroy_v2:1={code}");
        let done = child::run(
            "lost::a_failed_context_is_ended_once_unless_that_did_nothing",
            &[("SOFT_CUDA_FAIL", &fault)],
            || {
                let mut guest = Guest::new(&host());
                let stop = guest.kernel(&module("", "trap;"), "k");
                assert_eq!(guest.launch(stop, 1, &[]), -5);
            },
        );
        // The process ends before anything else is given back.
        assert_eq!(done.calls("cuCtxDestroy_v2"), tries, "{code}");
    }
}
