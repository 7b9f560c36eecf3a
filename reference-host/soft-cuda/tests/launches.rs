//! Kernel launches: shapes, arguments, shared memory, faults.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod kernel;
mod own;

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use kernel::{argument, function, launch, launch_with, load};
use own::{INVALID_HANDLE, INVALID_VALUE, allocate, answers, call, download, fresh, upload};
use soft_cuda::api::launch::{LaunchAttribute, LaunchConfig, cuLaunchKernel, cuLaunchKernelEx};
use soft_cuda::api::{context, function as func, module};
use soft_cuda::{CUcontext, CUfunction, CUresult, CUstream};

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
        .collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn synchronise() -> CUresult {
    call!(context::cuCtxSynchronize())
}

#[test]
fn a_kernel_adds_vectors() {
    fresh();
    let add = function(load(), "add");
    let numbers: Vec<u32> = (0..1000).collect();
    let (to, from) = (upload(&bytes(&numbers)), upload(&bytes(&numbers)));
    let count = 990u32;
    let arguments = [argument(&to), argument(&from), argument(&count)];
    assert_eq!(launch(add, [4, 1, 1], [256, 1, 1], &arguments), 0);
    let sums = words(&download(to, 4000));
    for (index, sum) in (0u32..).zip(sums) {
        let expected = if index < 990 { 2 * index } else { index };
        assert_eq!(sum, expected);
    }
}

#[test]
fn arguments_are_copied_at_the_call() {
    fresh();
    let store = function(load(), "store");
    let place = allocate(4);
    let (mut at, mut value) = (place, 7u32);
    assert_eq!(
        launch(store, [1; 3], [1; 3], &[argument(&at), argument(&value)]),
        0
    );
    (at, value) = (0, 8);
    assert_eq!(words(&download(place, 4)), [7], "not {at} and {value}");
}

#[test]
fn bad_shapes_are_refused_at_the_call_and_do_no_harm() {
    fresh();
    let module = load();
    let nothing = function(module, "nothing");
    for (grid, block) in [
        ([0, 1, 1], [1, 1, 1]),
        ([1, 0, 1], [1, 1, 1]),
        ([1, 1, 0], [1, 1, 1]),
        ([1, 1, 1], [0, 1, 1]),
        ([1, 1, 1], [1, 0, 1]),
        ([1, 1, 1], [1, 1, 0]),
        ([1, 1, 1], [2048, 1, 1]),
        ([1, 1, 1], [1025, 1, 1]),
        ([1, 1, 1], [1, 1025, 1]),
        ([1, 1, 1], [1, 1, 65]),
        ([1, 1, 1], [32, 32, 2]),
        ([1, 1, 1], [u32::MAX, u32::MAX, u32::MAX]),
        ([0x8000_0000, 1, 1], [1, 1, 1]),
        ([1, 65_536, 1], [1, 1, 1]),
        ([1, 1, 65_536], [1, 1, 1]),
    ] {
        assert_eq!(launch(nothing, grid, block, &[]), INVALID_VALUE);
        assert_eq!(synchronise(), 0);
        assert_eq!(launch(nothing, [1; 3], [1; 3], &[]), 0);
        assert_eq!(synchronise(), 0);
    }
    for block in [[1024, 1, 1], [1, 1024, 1], [1, 1, 64], [32, 32, 1]] {
        assert_eq!(launch(nothing, [2, 2, 2], block, &[]), 0);
    }
    assert_eq!(synchronise(), 0);
    let (few, exactly) = (function(module, "few"), function(module, "exactly"));
    assert_eq!(launch(few, [1; 3], [65, 1, 1], &[]), INVALID_VALUE);
    assert_eq!(launch(few, [1; 3], [64, 1, 1], &[]), 0);
    assert_eq!(launch(exactly, [1; 3], [32, 1, 1], &[]), INVALID_VALUE);
    assert_eq!(launch(exactly, [1; 3], [8, 4, 1], &[]), 0);
    assert_eq!(synchronise(), 0);
}

#[test]
fn a_missing_argument_is_refused() {
    fresh();
    let store = function(load(), "store");
    let (at, value) = (allocate(4), 1u32);
    let (at, value) = (argument(&at), argument(&value));
    for arguments in [[null_mut(), value], [at, null_mut()]] {
        assert_eq!(launch(store, [1; 3], [1; 3], &arguments), INVALID_VALUE);
    }
    answers!(
        cuLaunchKernel(
            store,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            CUstream::default(),
            null_mut(),
            null_mut()
        ),
        INVALID_VALUE
    );
    assert_eq!(launch(store, [1; 3], [1; 3], &[at, value]), 0);
    assert_eq!(synchronise(), 0);
}

#[test]
fn parameters_lie_where_the_kernel_has_them() {
    fresh();
    let mixed = function(load(), "mixed");
    let to = allocate(16);
    let (a, b, c) = (0xAAu8, 0xBBBBu16, [1u32, 2, 3]);
    let arguments = [argument(&a), argument(&to), argument(&b), argument(&c)];
    assert_eq!(launch(mixed, [1; 3], [1; 3], &arguments), 0);
    assert_eq!(words(&download(to, 16)), [0xAA, 0xBBBB, 1, 3]);
    for (index, expected) in [(0, 1), (8, 8), (16, 2), (24, 12)].iter().enumerate() {
        let (mut offset, mut size) = (0, 0);
        answers!(func::cuFuncGetParamInfo(
            mixed,
            index,
            &mut offset,
            &mut size
        ));
        assert_eq!((offset, size), *expected);
        answers!(func::cuFuncGetParamInfo(
            mixed,
            index,
            &mut offset,
            null_mut()
        ));
    }
    let mut offset = 0;
    answers!(
        func::cuFuncGetParamInfo(mixed, 4, &mut offset, null_mut()),
        INVALID_VALUE
    );
}

/// The answer to a launch whose parameters come from `extra`.
fn launch_extra(function: CUfunction, extra: &[*mut c_void]) -> CUresult {
    let mut extra = extra.to_vec();
    call!(cuLaunchKernel(
        function,
        1,
        1,
        1,
        1,
        1,
        1,
        0,
        CUstream::default(),
        null_mut(),
        extra.as_mut_ptr()
    ))
}

#[test]
fn a_buffer_of_parameters_serves_as_well() {
    fresh();
    let store = function(load(), "store");
    let to = allocate(4);
    let mut block = [0u8; 16];
    block[..8].copy_from_slice(&to.to_le_bytes());
    block[8..12].copy_from_slice(&9u32.to_le_bytes());
    let (end, pointer, size) = (
        null_mut(),
        without_provenance_mut(1),
        without_provenance_mut(2),
    );
    let buffer = argument(&block);
    for (bytes, answer) in [
        (12usize, 0),
        (16, 0),
        (11, INVALID_VALUE),
        (0, INVALID_VALUE),
        (17, INVALID_VALUE),
        (usize::MAX, INVALID_VALUE),
    ] {
        let bytes = argument(&bytes);
        for extra in [
            [pointer, buffer, size, bytes, end],
            [size, bytes, pointer, buffer, end],
        ] {
            assert_eq!(launch_extra(store, &extra), answer);
        }
    }
    assert_eq!(words(&download(to, 4)), [9]);
    let bytes = argument(&12usize);
    for bad in [
        vec![end],
        vec![pointer, buffer, end],
        vec![size, bytes, end],
        vec![pointer, null_mut(), size, bytes, end],
        vec![pointer, buffer, size, null_mut(), end],
        vec![without_provenance_mut(3), buffer, size, bytes, end],
        vec![pointer; 200],
    ] {
        assert_eq!(launch_extra(store, &bad), INVALID_VALUE);
    }
    assert_eq!(launch_extra(function(load(), "nothing"), &[end]), 0);
    let mut both = [pointer, buffer, size, bytes, end];
    let mut arguments = [argument(&to), argument(&1u32)];
    answers!(
        cuLaunchKernel(
            store,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            CUstream::default(),
            arguments.as_mut_ptr(),
            both.as_mut_ptr()
        ),
        INVALID_VALUE
    );
}

#[test]
fn more_shared_memory_is_to_be_had_on_request() {
    fresh();
    let shared = function(load(), "shared");
    let to = allocate(4);
    let arguments = [argument(&to)];
    let fits = |bytes| launch_with(shared, [1; 3], [1; 3], bytes, &arguments);
    assert_eq!(fits(47 << 10), 0);
    assert_eq!(words(&download(to, 4)), [47 << 10]);
    assert_eq!(fits((47 << 10) + 1), INVALID_VALUE);
    assert_eq!(fits(u32::MAX), INVALID_VALUE);
    for (bytes, answer) in [
        ((226 << 10) + 1, INVALID_VALUE),
        (-1, INVALID_VALUE),
        (i32::MAX, INVALID_VALUE),
        (226 << 10, 0),
    ] {
        answers!(func::cuFuncSetAttribute(shared, 8, bytes), answer);
    }
    assert_eq!(fits(226 << 10), 0);
    assert_eq!(words(&download(to, 4)), [226 << 10]);
    assert_eq!(fits((226 << 10) + 1), INVALID_VALUE);
}

#[test]
fn shared_memory_that_does_not_fit_behind_the_kernels_own_is_refused_at_the_call() {
    fresh();
    let odd = function(load(), "odd");
    answers!(func::cuFuncSetAttribute(odd, 8, (227 << 10) - 1028));
    for (bytes, answer) in [
        ((227 << 10) - 1028, INVALID_VALUE),
        ((227 << 10) - 1039, INVALID_VALUE),
        ((227 << 10) - 1040, 0),
        (0, 0),
    ] {
        assert_eq!(launch_with(odd, [1; 3], [1; 3], bytes, &[]), answer);
        assert_eq!(synchronise(), 0);
    }
}

#[test]
fn variables_and_constants_are_memory_like_any_other() {
    fresh();
    let loaded = load();
    let find = |name: &std::ffi::CStr| {
        let (mut start, mut size) = (0, 0);
        answers!(module::cuModuleGetGlobal_v2(
            &mut start,
            &mut size,
            loaded,
            name.as_ptr()
        ));
        (start, size)
    };
    let (counter, size) = find(c"counter");
    assert_eq!(size, 4);
    assert_eq!(words(&download(counter, 4)), [40]);
    assert_eq!(
        launch(function(loaded, "count"), [2, 1, 1], [32, 1, 1], &[]),
        0
    );
    assert_eq!(words(&download(counter, 4)), [104]);
    let (scale, size) = find(c"scale");
    assert_eq!((words(&download(scale, 8)), size), (vec![3, 5], 8));
    answers!(soft_cuda::api::copy::cuMemcpyHtoD_v2(
        scale + 4,
        argument(&6u32),
        4
    ));
    let to = allocate(8);
    assert_eq!(
        launch(function(loaded, "scaled"), [1; 3], [1; 3], &[argument(&to)]),
        0
    );
    assert_eq!(words(&download(to, 8)), [3, 6]);
    // Another module's kernel reaches the variable by its address.
    let other = function(load(), "store");
    let arguments = [argument(&counter), argument(&1u32)];
    assert_eq!(launch(other, [1; 3], [1; 3], &arguments), 0);
    assert_eq!(words(&download(counter, 4)), [1]);
    // It cannot be freed, and is gone with its module.
    answers!(soft_cuda::api::memory::cuMemFree_v2(counter), INVALID_VALUE);
    answers!(module::cuModuleUnload(loaded));
    let mut word = 0u32;
    answers!(
        soft_cuda::api::copy::cuMemcpyDtoH_v2((&raw mut word).cast(), counter, 4),
        INVALID_VALUE
    );
}

#[test]
fn a_fault_ends_its_context_and_no_other() {
    let healthy = fresh();
    let nothing = function(load(), "nothing");
    let outside = 0x1100u64;
    for (name, arguments, code) in [
        ("store", vec![argument(&0u64), argument(&1u32)], 700),
        ("store", vec![argument(&outside), argument(&1u32)], 700),
        ("store", vec![argument(&3u64), argument(&1u32)], 716),
        ("cast_off", vec![], 717),
        ("indirect", vec![argument(&outside)], 718),
        ("trap", vec![], 719),
        ("spin", vec![], 702),
    ] {
        let doomed = fresh();
        let module = load();
        let place = allocate(16);
        let good = function(module, "nothing");
        assert_eq!(
            launch(function(module, name), [1; 3], [1; 3], &arguments),
            0
        );
        assert_eq!(synchronise(), code, "{name}");
        let mut word = 0u32;
        for answer in [
            synchronise(),
            launch(good, [1; 3], [1; 3], &[]),
            launch(good, [0; 3], [1; 3], &[]),
            call!(soft_cuda::api::memory::cuMemFree_v2(place)),
            call!(soft_cuda::api::copy::cuMemcpyDtoH_v2(
                (&raw mut word).cast(),
                place,
                4
            )),
            call!(module::cuModuleUnload(module)),
            kernel::try_load(kernel::KERNELS).expect_err("a lost context"),
        ] {
            assert_eq!(answer, code, "{name}");
        }
        answers!(context::cuCtxSetCurrent(healthy));
        assert_eq!(launch(nothing, [1; 3], [1; 3], &[]), 0);
        assert_eq!(synchronise(), 0);
        answers!(context::cuCtxDestroy_v2(doomed));
    }
}

#[test]
fn each_end_of_a_kernel_has_its_code() {
    for (name, code) in [("assert", 710), ("deep", 714), ("alone", 702)] {
        let doomed = fresh();
        let module = kernel::try_load(kernel::FAULTS).expect("a good source");
        assert_eq!(launch(function(module, name), [1; 3], [1; 3], &[]), 0);
        assert_eq!(synchronise(), code, "{name}");
        answers!(context::cuCtxDestroy_v2(doomed));
    }
}

#[test]
fn kernels_allocate_as_much_as_the_limit_allows() {
    fresh();
    let module = kernel::try_load(kernel::FAULTS).expect("a good source");
    let taken = function(module, "taken");
    let to = allocate(8);
    let fits = |bytes: u64| {
        let arguments = [argument(&to), argument(&bytes)];
        assert_eq!(launch(taken, [1; 3], [1; 3], &arguments), 0);
        download(to, 8) != [0; 8]
    };
    assert!(fits(1 << 20));
    answers!(context::cuCtxSetLimit(2, 64 << 10));
    assert!(!fits(1 << 20));
    answers!(context::cuCtxSetLimit(2, 16 << 20));
    assert!(fits(8 << 20));
}

#[test]
fn functions_of_another_context_or_of_nothing_are_refused() {
    let first = fresh();
    let module = load();
    let nothing = function(module, "nothing");
    let mut second = CUcontext::default();
    answers!(context::cuCtxCreate_v2(&mut second, 0, 0));
    assert_eq!(launch(nothing, [1; 3], [1; 3], &[]), INVALID_HANDLE);
    answers!(context::cuCtxSetCurrent(first));
    assert_eq!(launch(nothing, [1; 3], [1; 3], &[]), 0);
    for bad in [0, 1, nothing.0 + 16, nothing.0 ^ 1, module.0, usize::MAX] {
        let answer = launch(CUfunction(bad), [1; 3], [1; 3], &[]);
        assert_eq!(answer, INVALID_HANDLE, "{bad:#x}");
    }
    answers!(module::cuModuleUnload(module));
    assert_eq!(launch(nothing, [1; 3], [1; 3], &[]), INVALID_HANDLE);
}

#[test]
fn attributes_of_launches_are_taken_or_refused() {
    fresh();
    let nothing = function(load(), "nothing");
    let launch_ex = |grid: u32, id: u32, value: [u64; 8]| {
        let attribute = LaunchAttribute {
            id,
            padding: 0,
            value,
        };
        let config = LaunchConfig {
            grid: [grid, 1, 1],
            block: [1; 3],
            dynamic_shared_bytes: 0,
            stream: CUstream::default(),
            attributes: &attribute,
            attribute_count: 1,
        };
        call!(cuLaunchKernelEx(&config, nothing, null_mut(), null_mut()))
    };
    let one = |value: u64| [value, 0, 0, 0, 0, 0, 0, 0];
    for harmless in [0, 1, 5, 6, 8, 9, 10, 14, 16, 17, 18] {
        assert_eq!(launch_ex(2, harmless, one(0)), 0, "{harmless}");
    }
    for unknown in [3, 15, 19, u32::MAX] {
        assert_eq!(launch_ex(2, unknown, one(0)), INVALID_VALUE, "{unknown}");
    }
    assert_eq!(launch_ex(1, 2, one(1)), 0);
    assert_eq!(launch_ex(2, 2, one(0)), 0);
    assert_eq!(launch_ex(2, 2, one(1)), 720);
    let cluster = |x: u64, y: u64, z: u64| [x | y << 32, z, 0, 0, 0, 0, 0, 0];
    for id in [4, 11] {
        assert_eq!(launch_ex(2, id, cluster(1, 1, 1)), 0);
        assert_eq!(launch_ex(2, id, cluster(2, 1, 1)), 912);
        assert_eq!(launch_ex(2, id, cluster(1, 0, 1)), INVALID_VALUE);
    }
    answers!(
        cuLaunchKernelEx(std::ptr::null(), nothing, null_mut(), null_mut()),
        INVALID_VALUE
    );
    assert_eq!(synchronise(), 0);
}
