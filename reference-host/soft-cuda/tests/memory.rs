//! Device memory: making, freeing, copying, filling.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod own;

use std::ptr::{null, null_mut};

use own::*;
use soft_cuda::api::{copy, fill, memory, stream};
use soft_cuda::{CUdeviceptr, CUstream};

#[test]
fn sizes_and_places_are_checked() {
    fresh();
    let mut address = 0;
    answers!(memory::cuMemAlloc_v2(null_mut(), 16), INVALID_VALUE);
    answers!(memory::cuMemAlloc_v2(&mut address, 0), INVALID_VALUE);
    for bytes in [usize::MAX, usize::MAX / 2, 1 << 60, 81 << 30] {
        answers!(memory::cuMemAlloc_v2(&mut address, bytes), OUT_OF_MEMORY);
    }
    assert_eq!(address, 0, "a refused call writes nothing");
    answers!(memory::cuMemAlloc_v2(&mut address, 16));
    assert_eq!(address % 512, 0);
    answers!(memory::cuMemFree_v2(address));
}

#[test]
fn freeing_nothing_is_no_mistake_and_freeing_twice_is() {
    fresh();
    answers!(memory::cuMemFree_v2(0));
    let address = allocate(16);
    answers!(copy::cuMemcpyHtoD_v2(address, null(), 0));
    answers!(copy::cuMemcpyHtoD_v2(address, null(), 16), INVALID_VALUE);
    answers!(
        copy::cuMemcpyDtoH_v2(null_mut(), address, 16),
        INVALID_VALUE
    );
    answers!(memory::cuMemFree_v2(address + 1), INVALID_VALUE);
    answers!(memory::cuMemFree_v2(address));
    answers!(memory::cuMemFree_v2(address), INVALID_VALUE);
}

#[test]
fn copies_go_there_and_back() {
    fresh();
    let image: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let first = upload(&image);
    let second = allocate(image.len());
    answers!(copy::cuMemcpyDtoD_v2(second, first, image.len()));
    assert_eq!(download(second, image.len()), image);
    answers!(copy::cuMemcpy(first, second + 5, 100));
    assert_eq!(download(first, 100), image[5..105]);
}

#[test]
fn fresh_memory_is_not_zero() {
    fresh();
    let address = allocate(64);
    assert!(download(address, 64).iter().all(|byte| *byte != 0));
    answers!(fill::cuMemsetD8_v2(address, 0, 64));
    assert_eq!(download(address, 64), [0; 64]);
}

#[test]
fn ranges_lie_within_one_allocation() {
    fresh();
    let (first, second) = (allocate(1000), allocate(1000));
    let mut bytes = [0; 2000];
    let at = bytes.as_mut_ptr();
    for (address, len) in [
        (first, 1001),
        (first + 1, 1000),
        (first + 1000, 1),
        (first - 1, 1),
        (first, usize::MAX),
        (u64::MAX, 2),
        (0, 1),
        (4096, 1),
        (bytes.as_ptr() as CUdeviceptr, 8),
    ] {
        answers!(
            copy::cuMemcpyHtoD_v2(address, at.cast(), len),
            INVALID_VALUE
        );
        answers!(
            copy::cuMemcpyDtoH_v2(at.cast(), address, len),
            INVALID_VALUE
        );
        answers!(copy::cuMemcpyDtoD_v2(second, address, len), INVALID_VALUE);
        answers!(copy::cuMemcpyDtoD_v2(address, second, len), INVALID_VALUE);
        answers!(fill::cuMemsetD8_v2(address, 1, len), INVALID_VALUE);
    }
    answers!(copy::cuMemcpyHtoD_v2(first + 1, at.cast(), 999));
    answers!(copy::cuMemcpyHtoD_v2(first, at.cast(), 1000));
}

#[test]
fn host_pointers_that_are_the_devices_are_never_followed() {
    fresh();
    let (live, dead) = (allocate(64), allocate(64));
    answers!(memory::cuMemFree_v2(dead));
    for address in [
        live,
        dead,
        live + 100,
        0x1FFF_FFFF_FFFF,
        0x2000_0000_0000,
        0x3FFF_FFFF_F000,
    ] {
        let host = std::ptr::without_provenance_mut(address as usize);
        answers!(copy::cuMemcpyHtoD_v2(live, host, 64), INVALID_VALUE);
        answers!(copy::cuMemcpyDtoH_v2(host, live, 64), INVALID_VALUE);
    }
    answers!(copy::cuMemcpy(live, dead, 64), INVALID_VALUE);
    // Where there is no memory at all, nobody looks either.
    for address in [1, 64, 4096, 0x5000_0000_0000, 1 << 63, usize::MAX - 63] {
        let host = std::ptr::without_provenance_mut(address);
        answers!(copy::cuMemcpyHtoD_v2(live, host, 64), INVALID_VALUE);
        answers!(copy::cuMemcpyDtoH_v2(host, live, 64), INVALID_VALUE);
        answers!(copy::cuMemcpy(live, address as u64, 64), INVALID_VALUE);
    }
    let bytes = [7u8; 64];
    answers!(copy::cuMemcpy(live, bytes.as_ptr() as CUdeviceptr, 64));
    assert_eq!(download(live, 64), bytes);
}

#[test]
fn overlapping_copies_move() {
    fresh();
    let image: Vec<u8> = (0..=255).collect();
    for (to, from) in [(0, 10), (10, 0), (3, 4), (4, 3), (7, 7)] {
        let address = upload(&image);
        let mut expected = image.clone();
        expected.copy_within(from..from + 200, to);
        answers!(copy::cuMemcpyDtoD_v2(
            address + to as u64,
            address + from as u64,
            200
        ));
        assert_eq!(download(address, 256), expected);
    }
}

#[test]
fn fills_take_elements_of_each_size() {
    fresh();
    let address = allocate(64);
    answers!(fill::cuMemsetD8_v2(address, 0x11, 64));
    answers!(fill::cuMemsetD16_v2(address + 2, 0x2233, 2));
    answers!(fill::cuMemsetD32_v2(address + 8, 0x4455_6677, 2));
    let bytes = download(address, 20);
    assert_eq!(
        bytes,
        [
            0x11, 0x11, 0x33, 0x22, 0x33, 0x22, 0x11, 0x11, 0x77, 0x66, 0x55, 0x44, 0x77, 0x66,
            0x55, 0x44, 0x11, 0x11, 0x11, 0x11
        ]
    );
    answers!(fill::cuMemsetD16_v2(address + 1, 0, 1), INVALID_VALUE);
    answers!(fill::cuMemsetD32_v2(address + 2, 0, 1), INVALID_VALUE);
    answers!(fill::cuMemsetD32_v2(address, 0, 17), INVALID_VALUE);
    answers!(
        fill::cuMemsetD32_v2(address, 0, usize::MAX / 2),
        INVALID_VALUE
    );
    answers!(fill::cuMemsetD32_v2(0, 0, 0));
}

#[test]
fn fills_of_rows_leave_what_is_between() {
    fresh();
    let address = allocate(64);
    answers!(fill::cuMemsetD8_v2(address, 0, 64));
    answers!(fill::cuMemsetD2D8_v2(address, 16, 9, 3, 4));
    let bytes = download(address, 64);
    for (at, byte) in bytes.iter().enumerate() {
        assert_eq!(*byte == 9, at % 16 < 3, "at {at}");
    }
    answers!(fill::cuMemsetD2D8_v2(address, 16, 9, 3, 5), INVALID_VALUE);
    answers!(fill::cuMemsetD2D8_v2(address, 2, 9, 3, 4), INVALID_VALUE);
    answers!(
        fill::cuMemsetD2D32_v2(address, usize::MAX & !3, 9, 3, 4),
        INVALID_VALUE
    );
}

#[test]
fn contexts_share_addresses_and_copies_cross_them() {
    let first = fresh();
    let image = [1, 2, 3, 4];
    let here = upload(&image);
    let second = fresh();
    let there = allocate(4);
    assert_ne!(here, there);
    answers!(copy::cuMemcpyDtoD_v2(there, here, 4));
    assert_eq!(download(there, 4), image);
    answers!(fill::cuMemsetD8_v2(here, 5, 4));
    answers!(copy::cuMemcpyPeer(there, second, here, first, 4));
    assert_eq!(download(there, 4), [5; 4]);
    answers!(
        copy::cuMemcpyPeer(there, soft_cuda::CUcontext(12), here, first, 4),
        INVALID_CONTEXT
    );
    answers!(memory::cuMemFree_v2(here));
    answers!(copy::cuMemcpyDtoD_v2(there, here, 4), INVALID_VALUE);
}

#[test]
fn ordered_memory_is_freed_in_its_turn() {
    fresh();
    let mut queue = CUstream::default();
    answers!(stream::cuStreamCreate(&mut queue, 1));
    let mut address = 0;
    answers!(
        memory::cuMemAllocAsync(&mut address, 0, queue),
        INVALID_VALUE
    );
    answers!(memory::cuMemAllocAsync(&mut address, 32, queue));
    let copied = allocate(32);
    answers!(fill::cuMemsetD8Async(address, 3, 32, queue));
    answers!(copy::cuMemcpyDtoDAsync_v2(copied, address, 32, queue));
    answers!(memory::cuMemFreeAsync(address, queue));
    answers!(memory::cuMemFreeAsync(address, queue), INVALID_VALUE);
    answers!(memory::cuMemFree_v2(address), INVALID_VALUE);
    assert_eq!(download(copied, 32), [3; 32]);
    answers!(fill::cuMemsetD8Async(address, 3, 32, queue), INVALID_VALUE);
}

#[test]
fn the_whole_range_is_told_of_an_address() {
    fresh();
    let address = allocate(100);
    let (mut start, mut bytes) = (0, 0);
    answers!(memory::cuMemGetAddressRange_v2(
        &mut start,
        &mut bytes,
        address + 99
    ));
    assert_eq!((start, bytes), (address, 100));
    answers!(memory::cuMemGetAddressRange_v2(
        null_mut(),
        &mut bytes,
        address
    ));
    answers!(
        memory::cuMemGetAddressRange_v2(&mut start, &mut bytes, address + 100),
        NOT_FOUND
    );
    answers!(
        memory::cuMemGetAddressRange_v2(null_mut(), null_mut(), address),
        INVALID_VALUE
    );
}

#[test]
fn pitched_memory_has_room_for_each_row() {
    fresh();
    let (mut address, mut pitch) = (0, 0);
    answers!(memory::cuMemAllocPitch_v2(
        &mut address,
        &mut pitch,
        100,
        3,
        4
    ));
    assert!(pitch >= 100 && pitch % 512 == 0);
    answers!(fill::cuMemsetD2D8_v2(address, pitch, 1, pitch, 3));
    for (width, height, element) in [(0, 1, 4), (1, 0, 4), (1, 1, 5), (1, 1, 0)] {
        answers!(
            memory::cuMemAllocPitch_v2(&mut address, &mut pitch, width, height, element),
            INVALID_VALUE
        );
    }
    answers!(
        memory::cuMemAllocPitch_v2(&mut address, &mut pitch, usize::MAX, 2, 4),
        OUT_OF_MEMORY
    );
}
