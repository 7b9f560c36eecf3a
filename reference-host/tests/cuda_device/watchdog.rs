//! Kernels that a driver never finishes.

use std::time::Duration;

use wasi_cuda_host::Host;
use wasi_cuda_host::device::{CudaDevice, DeviceError, MAX_ABANDONED};

use crate::child;
use crate::guest::{Guest, answer, window};

/// A stream that never has nothing outstanding is a kernel without an end.
const NEVER_READY: (&str, &str) = ("SOFT_CUDA_FAIL", "cuStreamQuery:*=600");
const LIMIT: Duration = Duration::from_millis(5);

fn host() -> std::sync::Arc<Host> {
    let device = CudaDevice::open(0).unwrap_or_else(|absence| panic!("{absence}"));
    Host::new(device.watchdog(LIMIT))
}

#[test]
fn what_does_not_end_is_given_up_until_there_are_too_many() {
    // A context with a kernel that runs does not end either: its thread waits for longer than this process lives.
    let environment = [
        NEVER_READY,
        ("SOFT_CUDA_DELAY", "cuCtxDestroy_v2=3600000000"),
    ];
    child::run(
        "watchdog::what_does_not_end_is_given_up_until_there_are_too_many",
        &environment,
        || {
            let host = host();
            let mut guest = Guest::new(&host);
            let kernel = guest.kernel(&answer(), "k");
            let buffer = guest.buffer(b"kept");
            for _ in 0..MAX_ABANDONED {
                guest.put(0, &[5]);
                assert_eq!(guest.launch(kernel, 1, &[window(0, 4)]), -5);
                assert!(
                    matches!(guest.error(), Some(DeviceError::Watchdog(LIMIT))),
                    "{}",
                    guest.words()
                );
                assert!(!guest.words().is_empty());
                assert_eq!(guest.word(0), 5, "memory is as it was");
                assert_eq!(guest.read(buffer, 4), Ok(b"kept".to_vec()));
            }
            let mut other = Guest::new(&host);
            for guest in [&mut guest, &mut other] {
                // A load needs a context of its own as well.
                assert_eq!(guest.load(answer().as_bytes(), b"k"), -5);
                assert!(matches!(
                    guest.error(),
                    Some(DeviceError::Occupied(MAX_ABANDONED))
                ));
            }
            assert_eq!(guest.launch(kernel, 1, &[window(0, 4)]), -5);
            assert!(matches!(
                guest.error(),
                Some(DeviceError::Occupied(MAX_ABANDONED))
            ));
            // Buffers are elsewhere.
            let more = other.buffer(b"more");
            assert_eq!(other.read(more, 4), Ok(b"more".to_vec()));
            assert_eq!(guest.read(buffer, 4), Ok(b"kept".to_vec()));
            assert_eq!(guest.free(buffer), 0);
            drop((guest, other));
            assert_eq!(host.buffer_usage().count, 0);
        },
    );
}

/// A kernel that ends after it was given up makes room for another.
#[test]
fn what_ends_late_makes_room() {
    child::run(
        "watchdog::what_ends_late_makes_room",
        &[NEVER_READY],
        || {
            let host = host();
            let mut guest = Guest::new(&host);
            let kernel = guest.kernel(&answer(), "k");
            let mut given_up = 0;
            // Threads that wait for ends have their own pace; each launch that they hold up is tried again.
            for _ in 0..10_000 {
                assert_eq!(guest.launch(kernel, 1, &[window(0, 4)]), -5);
                match guest.error() {
                    Some(DeviceError::Watchdog(_)) => given_up += 1,
                    Some(DeviceError::Occupied(_)) => std::thread::yield_now(),
                    other => panic!("{other:?}"),
                }
                if given_up > 3 * MAX_ABANDONED {
                    return;
                }
            }
            panic!("only {given_up} launches were tried");
        },
    );
}

/// Launches that are given up leave the instance able to go on.
#[test]
fn after_what_was_given_up_the_next_works() {
    // More answers than are asked for within the limit; once they are used up, streams are ready again.
    const ANSWERS: usize = 4000;
    let faults: Vec<String> = (1..=ANSWERS)
        .map(|call| format!("cuStreamQuery:{call}=600"))
        .collect();
    child::run(
        "watchdog::after_what_was_given_up_the_next_works",
        &[("SOFT_CUDA_FAIL", &faults.join(","))],
        || {
            let host = host();
            let mut guest = Guest::new(&host);
            let kernel = guest.kernel(&answer(), "k");
            let buffer = guest.buffer(b"kept");
            let mut given_up = 0;
            // One that is given up takes one of the answers at least.
            for _ in 0..2 * ANSWERS {
                guest.put(0, &[5]);
                let code = guest.launch(kernel, 1, &[window(0, 4)]);
                if code == 0 {
                    break;
                }
                assert_eq!((code, guest.word(0)), (-5, 5));
                match guest.error() {
                    Some(DeviceError::Watchdog(_)) => given_up += 1,
                    Some(DeviceError::Occupied(_)) => std::thread::yield_now(),
                    other => panic!("{other:?}"),
                }
            }
            assert!(given_up > 0, "the watchdog never bit");
            assert_eq!(guest.word(0), 42);
            assert_eq!(guest.read(buffer, 4), Ok(b"kept".to_vec()));
        },
    );
}
