//! Pools that streams take memory from.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod own;

use std::ptr::{null, null_mut};

use own::*;
use soft_cuda::api::managed::CUmemLocation;
use soft_cuda::api::pool::{self, CUmemAccessDesc, CUmemPoolProps};
use soft_cuda::api::{context, memory, pointer};
use soft_cuda::{CUmemoryPool, CUstream};

const DEVICE: CUmemLocation = CUmemLocation { kind: 1, id: 0 };

fn props(max_size: usize) -> CUmemPoolProps {
    CUmemPoolProps {
        alloc_type: 1,
        handle_types: 0,
        location: DEVICE,
        security_attributes: 0,
        max_size,
        usage: 0,
        gpu_direct_rdma_capable: 0,
        reserved: [0; 53],
    }
}

fn made(max_size: usize) -> CUmemoryPool {
    let mut pool = CUmemoryPool::default();
    answers!(pool::cuMemPoolCreate(&mut pool, &props(max_size)));
    pool
}

fn long(pool: CUmemoryPool, attribute: u32) -> u64 {
    let mut value = 0u64;
    answers!(pool::cuMemPoolGetAttribute(
        pool,
        attribute,
        (&raw mut value).cast()
    ));
    value
}

#[test]
fn the_header_sizes_are_kept() {
    assert_eq!(size_of::<CUmemPoolProps>(), 88);
    assert_eq!(size_of::<CUmemAccessDesc>(), 12);
}

#[test]
fn a_pool_counts_its_memory() {
    fresh();
    let pool = made(1000);
    let (mut first, mut second) = (0, 0);
    answers!(pool::cuMemAllocFromPoolAsync(
        &mut first,
        600,
        pool,
        CUstream(0)
    ));
    answers!(
        pool::cuMemAllocFromPoolAsync(&mut second, 600, pool, CUstream(0)),
        OUT_OF_MEMORY
    );
    assert_eq!((long(pool, 7), long(pool, 8)), (600, 600));
    let mut handle = 0usize;
    answers!(pointer::cuPointerGetAttribute(
        (&raw mut handle).cast(),
        17,
        first
    ));
    assert_eq!(handle, pool.0);
    answers!(memory::cuMemFreeAsync(first, CUstream(0)));
    answers!(context::cuCtxSynchronize());
    assert_eq!((long(pool, 7), long(pool, 8)), (0, 600));
    let (zero, one) = (0u64, 1u64);
    answers!(
        pool::cuMemPoolSetAttribute(pool, 8, (&raw const one).cast()),
        INVALID_VALUE
    );
    answers!(pool::cuMemPoolSetAttribute(
        pool,
        8,
        (&raw const zero).cast()
    ));
    assert_eq!(long(pool, 8), 0);
    answers!(pool::cuMemPoolTrimTo(pool, 0));
    answers!(pool::cuMemAllocFromPoolAsync(
        &mut second,
        600,
        pool,
        CUstream(0)
    ));
    answers!(pool::cuMemPoolDestroy(pool));
    answers!(pool::cuMemPoolDestroy(pool), INVALID_VALUE);
    answers!(
        pool::cuMemAllocFromPoolAsync(&mut first, 6, pool, CUstream(0)),
        INVALID_VALUE
    );
    assert_eq!(
        download(second, 600).len(),
        600,
        "memory stays when its pool goes"
    );
    answers!(memory::cuMemFree_v2(second));
}

#[test]
fn memory_that_a_stream_is_going_to_free_can_be_had_again() {
    fresh();
    let pool = made(1000);
    for _ in 0..10 {
        let mut address = 0;
        answers!(pool::cuMemAllocFromPoolAsync(
            &mut address,
            600,
            pool,
            CUstream(2)
        ));
        answers!(memory::cuMemFreeAsync(address, CUstream(2)));
    }
    answers!(context::cuCtxSynchronize());
    assert_eq!(long(pool, 8), 600);
}

#[test]
fn wishes_are_checked_and_kept() {
    fresh();
    let pool = made(0);
    let threshold = 12u64;
    answers!(pool::cuMemPoolSetAttribute(
        pool,
        4,
        (&raw const threshold).cast()
    ));
    assert_eq!(long(pool, 4), 12);
    let (off, mut reuse) = (0i32, 7i32);
    answers!(pool::cuMemPoolSetAttribute(
        pool,
        2,
        (&raw const off).cast()
    ));
    for (attribute, value) in [(1, 1), (2, 0), (3, 1), (9, 1), (12, 1)] {
        answers!(pool::cuMemPoolGetAttribute(
            pool,
            attribute,
            (&raw mut reuse).cast()
        ));
        assert_eq!(reuse, value, "attribute {attribute}");
    }
    for unknown in [0, 16, u32::MAX] {
        answers!(
            pool::cuMemPoolGetAttribute(pool, unknown, (&raw mut reuse).cast()),
            INVALID_VALUE
        );
        answers!(
            pool::cuMemPoolSetAttribute(pool, unknown, (&raw const off).cast()),
            INVALID_VALUE
        );
    }
    answers!(
        pool::cuMemPoolGetAttribute(pool, 4, null_mut()),
        INVALID_VALUE
    );
    answers!(pool::cuMemPoolSetAttribute(pool, 4, null()), INVALID_VALUE);
    let mut flags = 0;
    answers!(pool::cuMemPoolGetAccess(&mut flags, pool, &DEVICE));
    assert_eq!(flags, 3);
    let access = |id, flags| CUmemAccessDesc {
        location: CUmemLocation { kind: 1, id },
        flags,
    };
    answers!(pool::cuMemPoolSetAccess(pool, &access(0, 3), 1));
    answers!(
        pool::cuMemPoolSetAccess(pool, &access(0, 0), 1),
        INVALID_VALUE
    );
    answers!(pool::cuMemPoolSetAccess(pool, &access(1, 3), 1), 101);
    answers!(pool::cuMemPoolDestroy(pool));
}

#[test]
fn properties_are_checked() {
    fresh();
    let mut pool = CUmemoryPool::default();
    let mut wrong = |change: fn(&mut CUmemPoolProps), code| {
        let mut props = props(0);
        change(&mut props);
        answers!(pool::cuMemPoolCreate(&mut pool, &props), code);
    };
    wrong(|props| props.alloc_type = 0, INVALID_VALUE);
    wrong(|props| props.alloc_type = 2, 801);
    wrong(|props| props.handle_types = 1, 801);
    wrong(|props| props.location.id = 1, 101);
    wrong(|props| props.location.kind = 2, 801);
    wrong(|props| props.location.kind = -1, INVALID_VALUE);
    wrong(|props| props.reserved[52] = 1, INVALID_VALUE);
    answers!(pool::cuMemPoolCreate(null_mut(), &props(0)), INVALID_VALUE);
    answers!(pool::cuMemPoolCreate(&mut pool, null()), INVALID_VALUE);
    for bits in [0, 1, usize::MAX, fresh().0] {
        answers!(pool::cuMemPoolDestroy(CUmemoryPool(bits)), INVALID_VALUE);
        answers!(pool::cuMemPoolTrimTo(CUmemoryPool(bits), 0), INVALID_VALUE);
        answers!(
            pool::cuDeviceSetMemPool(0, CUmemoryPool(bits)),
            INVALID_VALUE
        );
    }
}

#[test]
fn the_device_has_a_current_pool() {
    fresh();
    let (mut default, mut current) = (CUmemoryPool::default(), CUmemoryPool::default());
    answers!(pool::cuDeviceGetDefaultMemPool(&mut default, 0));
    answers!(pool::cuDeviceGetDefaultMemPool(&mut default, 1), 101);
    answers!(pool::cuMemPoolDestroy(default), INVALID_VALUE);
    let pool = made(0);
    answers!(pool::cuDeviceSetMemPool(0, pool));
    answers!(pool::cuDeviceGetMemPool(&mut current, 0));
    assert_eq!(current, pool);
    let mut address = 0;
    answers!(memory::cuMemAllocAsync(&mut address, 50, CUstream(0)));
    assert_eq!(long(pool, 7), 50);
    answers!(pool::cuMemPoolDestroy(pool));
    answers!(pool::cuMemGetMemPool(&mut current, &DEVICE, 1));
    assert_eq!(current, default, "a destroyed pool is nobody's current one");
    answers!(pool::cuMemSetMemPool(&DEVICE, 1, default));
    answers!(pool::cuMemGetDefaultMemPool(&mut current, &DEVICE, 1));
    assert_eq!(current, default);
}
