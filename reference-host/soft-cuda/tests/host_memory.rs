//! Memory that program and device share, and what is known of addresses.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod own;

use std::ffi::c_void;
use std::ptr::null_mut;

use own::*;
use soft_cuda::api::managed::CUmemLocation;
use soft_cuda::api::{context, copy, fill, host_memory, managed, memory, pointer, stream};
use soft_cuda::{CUdeviceptr, CUstream};

const ALREADY_REGISTERED: u32 = 712;
const NOT_REGISTERED: u32 = 713;

fn pinned(bytes: usize) -> *mut c_void {
    let mut address = null_mut();
    answers!(host_memory::cuMemAllocHost_v2(&mut address, bytes));
    address
}

fn slice<'a>(address: *mut c_void, len: usize) -> &'a mut [u8] {
    // SAFETY: tests pass live memory of this size that nothing else uses meanwhile.
    unsafe { std::slice::from_raw_parts_mut(address.cast(), len) }
}

fn attribute<T: Default>(attribute: u32, address: u64) -> T {
    let mut value = T::default();
    answers!(pointer::cuPointerGetAttribute(
        (&raw mut value).cast(),
        attribute,
        address
    ));
    value
}

#[test]
fn freeing_follows_the_rules_of_each_function() {
    fresh();
    answers!(host_memory::cuMemFreeHost(null_mut()));
    answers!(host_memory::cuMemHostUnregister(null_mut()), INVALID_VALUE);
    let mut address = null_mut();
    answers!(
        host_memory::cuMemAllocHost_v2(&mut address, 0),
        INVALID_VALUE
    );
    answers!(host_memory::cuMemAllocHost_v2(null_mut(), 8), INVALID_VALUE);
    answers!(
        host_memory::cuMemHostAlloc(&mut address, 8, 8),
        INVALID_VALUE
    );
    answers!(
        host_memory::cuMemAllocHost_v2(&mut address, usize::MAX),
        OUT_OF_MEMORY
    );
    answers!(
        host_memory::cuMemAllocHost_v2(&mut address, 1 << 46),
        OUT_OF_MEMORY
    );
    let made = pinned(100);
    slice(made, 100).fill(1);
    answers!(memory::cuMemFree_v2(made as u64), INVALID_VALUE);
    answers!(
        host_memory::cuMemFreeHost(made.wrapping_byte_add(1)),
        INVALID_VALUE
    );
    answers!(host_memory::cuMemHostUnregister(made), NOT_REGISTERED);
    answers!(host_memory::cuMemFreeHost(made));
    answers!(host_memory::cuMemFreeHost(made), INVALID_VALUE);
    let device = allocate(8);
    answers!(
        host_memory::cuMemFreeHost(device as *mut c_void),
        INVALID_VALUE
    );
}

#[test]
fn copies_of_pinned_memory_wait_for_their_turn() {
    fresh();
    let mut queue = CUstream::default();
    answers!(stream::cuStreamCreate(&mut queue, 1));
    let (first, second, address) = (pinned(64), pinned(64), allocate(64));
    slice(first, 64).fill(1);
    slice(second, 64).fill(9);
    answers!(copy::cuMemcpyHtoDAsync_v2(address, first, 64, queue));
    answers!(copy::cuMemcpyDtoHAsync_v2(second, address, 64, queue));
    assert_eq!(
        slice(second, 64),
        [9; 64],
        "who does not wait sees old data"
    );
    slice(first, 64).fill(2);
    answers!(stream::cuStreamSynchronize(queue));
    assert_eq!(
        slice(second, 64),
        [2; 64],
        "the copy reads when it is carried out"
    );
    answers!(host_memory::cuMemFreeHost(first));
    answers!(
        copy::cuMemcpyHtoDAsync_v2(address, first, 64, queue),
        INVALID_VALUE
    );
    answers!(
        copy::cuMemcpyHtoD_v2(address, second.wrapping_byte_add(1), 64),
        INVALID_VALUE
    );
}

#[test]
fn freeing_waits_for_the_work_that_uses_it() {
    fresh();
    let (made, address) = (pinned(64), allocate(64));
    slice(made, 64).fill(5);
    answers!(copy::cuMemcpyHtoDAsync_v2(address, made, 64, CUstream(2)));
    answers!(host_memory::cuMemFreeHost(made));
    assert_eq!(download(address, 64), [5; 64]);
}

#[test]
fn the_device_knows_shared_memory_by_its_address() {
    fresh();
    let made = pinned(64);
    let mut address = 0;
    answers!(host_memory::cuMemHostGetDevicePointer_v2(
        &mut address,
        made.wrapping_byte_add(3),
        0
    ));
    assert_eq!(address, made as u64 + 3);
    answers!(
        host_memory::cuMemHostGetDevicePointer_v2(&mut address, made, 1),
        INVALID_VALUE
    );
    answers!(
        host_memory::cuMemHostGetDevicePointer_v2(null_mut(), made, 0),
        INVALID_VALUE
    );
    let mut local = 0u64;
    let local_at = (&raw mut local).cast();
    answers!(
        host_memory::cuMemHostGetDevicePointer_v2(&mut address, local_at, 0),
        INVALID_VALUE
    );
    answers!(fill::cuMemsetD16_v2(made as u64, 0x0102, 32));
    assert_eq!(slice(made, 64), [2, 1].repeat(32));
    let mut flags = 0;
    let mut other = null_mut();
    answers!(host_memory::cuMemHostAlloc(&mut other, 16, 3));
    answers!(host_memory::cuMemHostGetFlags(&mut flags, other));
    assert_eq!(flags, 3);
    answers!(copy::cuMemcpyDtoD_v2(other as u64, made as u64, 16));
    assert_eq!(slice(other, 16), [2, 1].repeat(8));
}

#[test]
fn registered_memory_is_the_programs() {
    fresh();
    let mut own_bytes = vec![3u8; 10_000];
    let at: *mut c_void = own_bytes.as_mut_ptr().cast();
    answers!(
        host_memory::cuMemHostRegister_v2(at, 10_000, 16),
        INVALID_VALUE
    );
    answers!(host_memory::cuMemHostRegister_v2(at, 0, 0), INVALID_VALUE);
    answers!(
        host_memory::cuMemHostRegister_v2(null_mut(), 8, 0),
        INVALID_VALUE
    );
    answers!(
        host_memory::cuMemHostRegister_v2(at, usize::MAX, 0),
        INVALID_VALUE
    );
    answers!(
        host_memory::cuMemHostRegister_v2(at, 1 << 44, 0),
        INVALID_VALUE
    );
    answers!(
        host_memory::cuMemHostRegister_v2(16 as *mut c_void, 8, 0),
        INVALID_VALUE
    );
    let device = allocate(16);
    answers!(
        host_memory::cuMemHostRegister_v2(device as *mut c_void, 8, 0),
        INVALID_VALUE
    );
    answers!(host_memory::cuMemHostUnregister(at), NOT_REGISTERED);
    answers!(host_memory::cuMemHostRegister_v2(at, 10_000, 2));
    answers!(
        host_memory::cuMemHostRegister_v2(at.wrapping_byte_add(9_999), 2, 0),
        ALREADY_REGISTERED
    );
    answers!(
        host_memory::cuMemHostRegister_v2(at, 1, 0),
        ALREADY_REGISTERED
    );
    let mut address = 0;
    answers!(host_memory::cuMemHostGetDevicePointer_v2(
        &mut address,
        at,
        0
    ));
    answers!(fill::cuMemsetD8_v2(address + 1, 4, 9_998));
    assert_eq!(
        (
            own_bytes[0],
            own_bytes[1],
            own_bytes[9_998],
            own_bytes[9_999]
        ),
        (3, 4, 4, 3)
    );
    answers!(
        host_memory::cuMemHostUnregister(at.wrapping_byte_add(1)),
        INVALID_VALUE
    );
    answers!(host_memory::cuMemHostUnregister(at));
    answers!(host_memory::cuMemHostUnregister(at), NOT_REGISTERED);
    answers!(fill::cuMemsetD8_v2(address, 4, 1), INVALID_VALUE);
}

#[test]
fn a_copy_may_begin_in_registered_memory_and_end_outside() {
    fresh();
    let mut own_bytes = vec![3u8; 100];
    let at: *mut c_void = own_bytes.as_mut_ptr().cast();
    answers!(host_memory::cuMemHostRegister_v2(at, 50, 0));
    let device = allocate(100);
    answers!(copy::cuMemcpyHtoD_v2(device, at, 100));
    assert_eq!(download(device, 100), [3; 100]);
    answers!(host_memory::cuMemHostUnregister(at));
}

#[test]
fn managed_memory_is_at_one_address() {
    fresh();
    let mut address = 0;
    answers!(
        managed::cuMemAllocManaged(&mut address, 0, 1),
        INVALID_VALUE
    );
    answers!(
        managed::cuMemAllocManaged(&mut address, 64, 0),
        INVALID_VALUE
    );
    answers!(
        managed::cuMemAllocManaged(&mut address, 64, 3),
        INVALID_VALUE
    );
    answers!(managed::cuMemAllocManaged(&mut address, 64, 1));
    let bytes = slice(address as *mut c_void, 64);
    bytes.fill(6);
    let copied = allocate(64);
    answers!(copy::cuMemcpyDtoD_v2(copied, address, 64));
    assert_eq!(download(copied, 64), [6; 64]);
    assert_eq!(attribute::<u32>(8, address + 1), 1);
    answers!(
        host_memory::cuMemFreeHost(address as *mut c_void),
        INVALID_VALUE
    );
    answers!(memory::cuMemFree_v2(address + 1), INVALID_VALUE);
    answers!(memory::cuMemFree_v2(address));
    answers!(memory::cuMemFree_v2(address), INVALID_VALUE);
}

#[test]
fn advice_is_kept() {
    fresh();
    let mut address = 0;
    answers!(managed::cuMemAllocManaged(&mut address, 64, 1));
    let read = |attribute, len: usize| {
        let mut values = [77i32; 3];
        let at = values.as_mut_ptr().cast();
        answers!(managed::cuMemRangeGetAttribute(
            at, len, attribute, address, 64
        ));
        values
    };
    assert_eq!(read(1, 4)[0], 0);
    assert_eq!((read(2, 4)[0], read(4, 4)[0]), (-2, -2));
    answers!(managed::cuMemAdvise(address, 64, 1, 0));
    answers!(managed::cuMemAdvise(address, 64, 3, -1));
    answers!(managed::cuMemAdvise_v2(
        address,
        64,
        5,
        CUmemLocation { kind: 1, id: 0 }
    ));
    answers!(managed::cuMemPrefetchAsync(address, 64, 0, CUstream(0)));
    assert_eq!((read(1, 4)[0], read(2, 4)[0], read(4, 4)[0]), (1, -1, 0));
    assert_eq!((read(5, 4)[0], read(7, 4)[0], read(8, 4)[0]), (2, 1, 0));
    assert_eq!(read(3, 8), [0, -2, 77]);
    let mut values = [0i32; 2];
    let mut places: [*mut c_void; 2] = [(&raw mut values[0]).cast(), (&raw mut values[1]).cast()];
    answers!(managed::cuMemRangeGetAttributes(
        places.as_mut_ptr(),
        [4, 4].as_ptr(),
        [1, 2].as_ptr(),
        2,
        address,
        64
    ));
    assert_eq!(values, [1, -1]);
    answers!(managed::cuMemAdvise(address, 64, 7, 0), INVALID_VALUE);
    answers!(managed::cuMemAdvise(address, 65, 1, 0), INVALID_VALUE);
    answers!(managed::cuMemAdvise(address, 64, 3, 5), 101);
    answers!(
        managed::cuMemPrefetchAsync(address, 64, 5, CUstream(0)),
        101
    );
    answers!(
        managed::cuMemPrefetchAsync(allocate(8), 8, 0, CUstream(0)),
        INVALID_VALUE
    );
    answers!(stream::cuStreamQuery(CUstream(0)));
}

#[test]
fn addresses_tell_what_they_are() {
    let own = fresh();
    let device = allocate(100);
    let host = pinned(100) as u64;
    assert_eq!(attribute::<u64>(1, device + 5), own.0 as u64);
    assert_eq!(
        (attribute::<u32>(2, device), attribute::<u32>(2, host)),
        (2, 1)
    );
    assert_eq!(
        (
            attribute::<u64>(3, device + 5),
            attribute::<u64>(4, host + 5)
        ),
        (device + 5, host + 5)
    );
    assert_eq!(
        (
            attribute::<u64>(11, device + 5),
            attribute::<u64>(12, device + 5)
        ),
        (device, 100)
    );
    assert_eq!(attribute::<i32>(9, device), 0);
    let (first, second) = (attribute::<u64>(7, device), attribute::<u64>(7, host));
    assert_ne!(first, second);
    let mut value = 0u64;
    let at = (&raw mut value).cast();
    let local = at as u64;
    answers!(pointer::cuPointerGetAttribute(at, 4, device), INVALID_VALUE);
    answers!(pointer::cuPointerGetAttribute(at, 2, local), INVALID_VALUE);
    answers!(
        pointer::cuPointerGetAttribute(at, 2, device + 100),
        INVALID_VALUE
    );
    answers!(pointer::cuPointerGetAttribute(at, 2, 0), INVALID_VALUE);
    for unknown in [0, 23, u32::MAX] {
        answers!(
            pointer::cuPointerGetAttribute(at, unknown, device),
            INVALID_VALUE
        );
    }
    answers!(
        pointer::cuPointerGetAttribute(null_mut(), 2, device),
        INVALID_VALUE
    );
    let (mut kind, mut of) = (7u32, 7u64);
    let mut places: [*mut c_void; 2] = [(&raw mut kind).cast(), (&raw mut of).cast()];
    answers!(pointer::cuPointerGetAttributes(
        2,
        [2, 1].as_ptr(),
        places.as_mut_ptr(),
        device
    ));
    assert_eq!((kind, of), (2, own.0 as u64));
    answers!(pointer::cuPointerGetAttributes(
        2,
        [2, 1].as_ptr(),
        places.as_mut_ptr(),
        local
    ));
    assert_eq!((kind, of), (0, 0), "of an unknown address all is 0");
    answers!(pointer::cuPointerSetAttribute(
        (&raw const kind).cast(),
        6,
        device
    ));
    answers!(
        pointer::cuPointerSetAttribute((&raw const kind).cast(), 7, device),
        INVALID_VALUE
    );
    answers!(
        pointer::cuPointerSetAttribute((&raw const kind).cast(), 6, local),
        INVALID_VALUE
    );
}

#[test]
fn shared_memory_is_every_contexts() {
    fresh();
    let made = pinned(16);
    slice(made, 16).fill(8);
    fresh();
    let device = allocate(16);
    answers!(copy::cuMemcpyAsync(
        device,
        made as CUdeviceptr,
        16,
        CUstream(0)
    ));
    answers!(context::cuCtxSynchronize());
    assert_eq!(download(device, 16), [8; 16]);
}

#[test]
fn shared_memory_ends_with_its_context() {
    let lasting = fresh();
    let kept = pinned(64);
    let ending = fresh();
    let (mut managed, mut own) = (0, vec![0u8; 64]);
    let lost = pinned(64);
    answers!(managed::cuMemAllocManaged(&mut managed, 64, 1));
    answers!(host_memory::cuMemHostRegister_v2(
        own.as_mut_ptr().cast(),
        own.len(),
        0
    ));
    answers!(context::cuCtxDestroy_v2(ending));
    answers!(context::cuCtxSetCurrent(lasting));
    answers!(host_memory::cuMemFreeHost(lost), INVALID_VALUE);
    answers!(memory::cuMemFree_v2(managed), INVALID_VALUE);
    answers!(
        host_memory::cuMemHostUnregister(own.as_mut_ptr().cast()),
        NOT_REGISTERED
    );
    answers!(host_memory::cuMemFreeHost(kept));
    answers!(context::cuCtxDestroy_v2(lasting));
    own[0] = 1;
}

/// No process has as much memory: such a copy is refused before a byte is read, wherever it begins.
#[test]
fn copies_that_no_memory_is_as_large_for_are_refused() {
    fresh();
    let mut own = [7u8; 64];
    let (low, here) = (8, own.as_mut_ptr().expose_provenance() as u64);
    for bytes in [
        usize::MAX,
        usize::MAX - 8,
        usize::MAX - 4096,
        isize::MAX as usize,
    ] {
        for (to, from) in [
            (here, low),
            (low, here),
            (low, low),
            (here, here),
            (0, 0),
            (u64::MAX, u64::MAX),
        ] {
            answers!(copy::cuMemcpy(to, from, bytes), INVALID_VALUE);
            answers!(
                copy::cuMemcpyAsync(to, from, bytes, CUstream(0)),
                INVALID_VALUE
            );
        }
        answers!(
            host_memory::cuMemHostRegister_v2(own.as_mut_ptr().cast(), bytes, 0),
            INVALID_VALUE
        );
    }
    // Control.
    answers!(copy::cuMemcpy(here, here + 32, 32));
    assert_eq!(own, [7; 64]);
}
