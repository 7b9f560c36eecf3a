//! Kernels on memory that program and device share.
//!
//! Freeing such memory waits for kernels of all contexts, so that no test here counts on work being outstanding.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod kernel;
mod own;

use std::ptr::null_mut;

use kernel::{argument, function, launch, load};
use own::*;
use soft_cuda::CUresult;
use soft_cuda::api::{context, copy, host_memory, pointer};

const ILLEGAL_ADDRESS: CUresult = 700;

#[test]
fn kernels_reach_pinned_managed_and_registered_memory() {
    fresh();
    let store = function(load(), "store");
    let mut pinned = null_mut();
    answers!(host_memory::cuMemAllocHost_v2(&mut pinned, 4));
    let mut own_bytes = vec![0u32; 4].into_boxed_slice();
    let registered = own_bytes.as_mut_ptr();
    answers!(host_memory::cuMemHostRegister_v2(registered.cast(), 16, 0));
    let mut at = 0;
    answers!(host_memory::cuMemHostGetDevicePointer_v2(
        &mut at,
        registered.cast(),
        0
    ));
    for (address, value) in [(pinned as u64, 5u32), (at + 4, 6)] {
        assert_eq!(
            launch(
                store,
                [1; 3],
                [1; 3],
                &[argument(&address), argument(&value)]
            ),
            0
        );
    }
    answers!(context::cuCtxSynchronize());
    // SAFETY: pinned memory of this size.
    assert_eq!(unsafe { pinned.cast::<u32>().read() }, 5);
    answers!(host_memory::cuMemHostUnregister(registered.cast()));
    assert_eq!(own_bytes[..], [0, 6, 0, 0]);
    // What is no longer registered is no longer reached.
    let value = 7u32;
    assert_eq!(
        launch(store, [1; 3], [1; 3], &[argument(&at), argument(&value)]),
        0
    );
    answers!(context::cuCtxSynchronize(), ILLEGAL_ADDRESS);
    assert_eq!(own_bytes[0], 0);
}

#[test]
fn registered_memory_at_addresses_of_kernels_has_another_for_the_device() {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    fresh();
    let store = function(load(), "store");
    let hint = std::ptr::without_provenance_mut(0x7A00_0000_0000);
    let (access, flags) = (
        ProtFlags::READ | ProtFlags::WRITE,
        MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE,
    );
    // SAFETY: new memory, where there is none.
    let host = unsafe { mmap_anonymous(hint, 4096, access, flags) }.unwrap();
    answers!(host_memory::cuMemHostRegister_v2(host, 4096, 0));
    let (mut at, mut back) = (0u64, 0u64);
    answers!(host_memory::cuMemHostGetDevicePointer_v2(
        &mut at,
        host.wrapping_byte_add(8),
        0
    ));
    assert_ne!(at, host as u64 + 8);
    for (attribute, address) in [(4, at), (4, host as u64 + 8)] {
        answers!(pointer::cuPointerGetAttribute(
            (&raw mut back).cast(),
            attribute,
            address
        ));
        assert_eq!(back, host as u64 + 8);
    }
    let value = 77u32;
    assert_eq!(
        launch(store, [1; 3], [1; 3], &[argument(&at), argument(&value)]),
        0
    );
    answers!(context::cuCtxSynchronize());
    // SAFETY: the memory made above.
    assert_eq!(unsafe { host.cast::<u32>().add(2).read() }, 77);
    let copied = allocate(4);
    answers!(copy::cuMemcpyHtoD_v2(copied, host.wrapping_byte_add(8), 4));
    assert_eq!(download(copied, 4), 77u32.to_le_bytes());
    answers!(copy::cuMemcpyDtoD_v2(copied, at, 4));
    answers!(host_memory::cuMemHostUnregister(host));
    answers!(copy::cuMemcpyDtoD_v2(copied, at, 4), INVALID_VALUE);
    // What was never registered is not reached, though memory is there.
    answers!(copy::cuMemcpyDtoD_v2(copied, host as u64, 4), INVALID_VALUE);
}

#[test]
fn pinned_memory_stays_in_a_context_that_failed_and_ends_with_it() {
    let own = fresh();
    let mut pinned = null_mut();
    answers!(host_memory::cuMemAllocHost_v2(&mut pinned, 4));
    let store = function(load(), "store");
    let (at, value) = (0x1234_5000u64, 1u32);
    assert_eq!(
        launch(store, [1; 3], [1; 3], &[argument(&at), argument(&value)]),
        0
    );
    answers!(context::cuCtxSynchronize(), ILLEGAL_ADDRESS);
    answers!(host_memory::cuMemFreeHost(pinned), ILLEGAL_ADDRESS);
    answers!(context::cuCtxDestroy_v2(own));
    fresh();
    answers!(host_memory::cuMemFreeHost(pinned), INVALID_VALUE);
}
