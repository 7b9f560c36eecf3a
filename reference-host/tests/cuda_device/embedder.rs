//! A program with driver calls of its own around the host: it finds its contexts as it left them.

use cust::context::ContextHandle;
use cust::context::legacy::{Context, ContextFlags, ContextStack, CurrentContext};
use cust::device::Device;
use wasi_cuda_host::device::CudaDevice;

use crate::guest::{Guest, answer, host, module, window};

fn current() -> usize {
    let context = CurrentContext::get_current().expect("a current context, or none");
    context.get_inner() as usize
}

/// Every call, with its failures, looked at after each.
fn work(mut look: impl FnMut(&str)) {
    let host = host();
    look("open");
    let mut guest = Guest::new(&host);
    look("instance");
    let kernel = guest.kernel(&answer(), "k");
    look("load");
    let trap = guest.kernel(&module("", "trap;"), "k");
    assert_eq!(guest.load(b"no PTX", b"k"), -4);
    look("a refused load");
    let buffer = guest.buffer(b"kept");
    look("alloc and copy");
    for round in 0..2 {
        assert_eq!(guest.launch(kernel, 1, &[window(0, 4)]), 0, "{round}");
        look("launch");
        assert_eq!(guest.launch(trap, 1, &[]), -5, "{round}");
        look("a launch that faults");
    }
    assert_eq!(guest.launch_as(trap, [1, 70_000, 1], [1; 3], 0, &[]), -5);
    look("a launch that is refused");
    assert_eq!(guest.sync(), 0);
    look("sync");
    assert_eq!(guest.read(buffer, 4), Ok(b"kept".to_vec()));
    look("copy back");
    assert_eq!(guest.alloc(256 << 20 | 1), -6);
    look("a refused alloc");
    assert_eq!(guest.free(buffer), 0);
    look("free");
    guest.buffer(b"left");
    drop(guest);
    look("the instance's end");
    drop(host);
    look("the host's end");
}

#[test]
fn an_own_context_stays_current() {
    CudaDevice::open(0).unwrap_or_else(|absence| panic!("{absence}"));
    let device = Device::get_device(0).expect("a device");
    let below = Context::create_and_push(ContextFlags::SCHED_AUTO, device).expect("a context");
    let own = Context::create_and_push(ContextFlags::SCHED_AUTO, device).expect("a context");
    let raw = own.get_inner() as usize;
    assert_ne!(raw, below.get_inner() as usize);
    work(|after| assert_eq!(current(), raw, "after {after}"));
    // And what was below it still is.
    assert_eq!(
        ContextStack::pop().expect("the own one").get_inner() as usize,
        raw
    );
    assert_eq!(current(), below.get_inner() as usize);
    ContextStack::pop().expect("the one below");
    assert_eq!(current(), 0);
}

#[test]
fn where_none_was_current_none_is() {
    CudaDevice::open(0).unwrap_or_else(|absence| panic!("{absence}"));
    assert_eq!(current(), 0);
    work(|after| assert_eq!(current(), 0, "after {after}"));
}

/// The device's primary context is the embedder's alone.
#[test]
fn a_primary_context_stays_current() {
    CudaDevice::open(0).unwrap_or_else(|absence| panic!("{absence}"));
    let device = Device::get_device(0).expect("a device");
    let own = cust::context::Context::new(device).expect("a context");
    let raw = own.as_raw() as usize;
    assert_eq!(current(), raw);
    work(|after| assert_eq!(current(), raw, "after {after}"));
}
