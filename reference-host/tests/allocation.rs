//! A refused call allocates next to nothing, whatever length the guest gave; a host without memory fails the call.

#![allow(
    unsafe_code,
    reason = "an allocator that counts must implement an unsafe trait"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use wasi_cuda_host::calls::{self, LaunchArgs};
use wasi_cuda_host::{Host, Instance};

/// The system's allocator, with a sum of all bytes asked for, which refuses one large request on demand.
struct Counting;

static ASKED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// How many large requests are still granted before one is refused.
static GRANTED: AtomicUsize = AtomicUsize::new(usize::MAX);

const LARGE_BYTES: usize = 1 << 20;

/// Counts a request, and tells whether it is the one to refuse.
fn refused(size: usize) -> bool {
    ASKED_BYTES.fetch_add(size, Ordering::SeqCst);
    size >= LARGE_BYTES && GRANTED.fetch_sub(1, Ordering::SeqCst) == 0
}

// SAFETY: every method hands its arguments to the system's allocator unchanged and returns what that returns, or
// returns null and leaves everything as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refused(layout.size()) {
            return null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refused(layout.size()) {
            return null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if refused(new_size) {
            return null_mut();
        }
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const HUGE: i32 = i32::MAX;

/// A call on a guest's state and memory; the handle is that of a buffer of four bytes.
type Call = fn(&mut Instance, &mut [u8], handle: i64) -> i64;

/// What is called, with what result, and the bytes it may ask for: none where nothing but a check happens.
const TABLE: &[(&str, i64, usize, Call)] = &[
    (
        "memcpy_d2h, length -1",
        -9,
        0,
        |instance, memory, handle| {
            calls::memcpy_d2h(
                instance,
                Some(memory),
                0,
                handle as i32,
                (handle >> 32) as i32,
                -1,
            )
            .into()
        },
    ),
    (
        "memcpy_h2d, huge length",
        -9,
        0,
        |instance, memory, handle| {
            calls::memcpy_h2d(
                instance,
                Some(memory),
                handle as i32,
                (handle >> 32) as i32,
                0,
                HUGE,
            )
            .into()
        },
    ),
    (
        "memcpy_h2d, unknown handle",
        -11,
        0,
        |instance, memory, _| calls::memcpy_h2d(instance, Some(memory), 1, 0, 0, HUGE).into(),
    ),
    ("load_ptx, huge PTX", -6, 0, |instance, memory, _| {
        calls::load_ptx(instance, Some(memory), 0, HUGE, 0, 1)
    }),
    (
        "load_ptx, PTX at the cap but outside",
        -2,
        0,
        |instance, memory, _| calls::load_ptx(instance, Some(memory), 0, 8 << 20, 0, 1),
    ),
    ("load_ptx, huge entry name", -2, 0, |instance, memory, _| {
        calls::load_ptx(instance, Some(memory), 0, 4, 0, HUGE)
    }),
    ("launch, huge arguments", -2, 0, |instance, memory, _| {
        launch(instance, memory, 0, HUGE)
    }),
    ("launch, bad dimensions", -8, 0, |instance, memory, _| {
        let args = LaunchArgs {
            grid: [0; 3],
            ..launch_args(0, 0)
        };
        calls::launch(instance, Some(memory), args).into()
    }),
    ("alloc of nothing", -9, 0, |instance, _, _| {
        calls::alloc(instance, 0, 0)
    }),
    ("alloc over the cap", -6, 0, |instance, _, _| {
        calls::alloc(instance, -1, HUGE)
    }),
    ("free, unknown handle", -11, 0, |instance, _, _| {
        calls::free(instance, 1, 0).into()
    }),
    // Its text is formatted once, here for the first time.
    ("last_error_len", 0, 4096, |instance, _, _| {
        i64::from(calls::last_error_len(instance)).min(0)
    }),
    (
        "last_error_copy, huge destination",
        -2,
        0,
        |instance, memory, _| calls::last_error_copy(instance, Some(memory), 0, HUGE).into(),
    ),
];

const fn launch_args(args_ptr: i32, args_len: i32) -> LaunchArgs {
    LaunchArgs {
        kernel_id: 1,
        grid: [1; 3],
        block: [1; 3],
        shared_mem: 0,
        args_ptr,
        args_len,
    }
}

fn launch(instance: &mut Instance, memory: &mut [u8], args_ptr: i32, args_len: i32) -> i64 {
    calls::launch(instance, Some(memory), launch_args(args_ptr, args_len)).into()
}

// The only test of this file: another one running beside it would add to the sum.
#[test]
fn the_host_asks_for_memory_only_where_it_must_and_takes_no_for_an_answer() {
    refusals_allocate_nothing();
    a_buffer_that_the_host_has_no_memory_for_fails_the_copy();
}

fn refusals_allocate_nothing() {
    let mut instance = Host::soft().instance();
    let mut memory = vec![0; 65_536];
    let handle = calls::alloc(&mut instance, 4, 0);
    assert!(handle > 0);
    for (what, expected, most_bytes, call) in TABLE {
        let before = ASKED_BYTES.load(Ordering::SeqCst);
        let result = call(&mut instance, &mut memory, handle);
        let asked = ASKED_BYTES.load(Ordering::SeqCst) - before;
        assert_eq!(result, *expected, "{what}");
        assert!(
            asked <= *most_bytes,
            "{what} asked the allocator for {asked} bytes"
        );
    }

    // The control: the sum does see an allocation, here the megabyte behind the first write to a buffer.
    let before = ASKED_BYTES.load(Ordering::SeqCst);
    let handle = calls::alloc(&mut instance, 1 << 20, 0);
    assert_eq!(
        calls::memcpy_h2d(
            &mut instance,
            Some(&mut memory),
            handle as i32,
            (handle >> 32) as i32,
            0,
            4
        ),
        0
    );
    assert!(ASKED_BYTES.load(Ordering::SeqCst) - before >= 1 << 20);
}

/// Refuses each of the large requests behind a first write in turn, until the write gets all that it asks for.
fn a_buffer_that_the_host_has_no_memory_for_fails_the_copy() {
    let mut instance = Host::soft().instance();
    let mut memory = vec![7; 65_536];
    let handle = calls::alloc(&mut instance, 1 << 20, 0);
    let (lo, hi) = (handle as i32, (handle >> 32) as i32);
    let mut refusals = 0;
    loop {
        GRANTED.store(refusals, Ordering::SeqCst);
        let result = calls::memcpy_h2d(&mut instance, Some(&mut memory), lo, hi, 0, 4);
        GRANTED.store(usize::MAX, Ordering::SeqCst);
        if result == 0 {
            break;
        }
        assert_eq!(result, -5);
        assert!(calls::last_error_len(&mut instance) > 0);
        // The buffer is as it was.
        memory.fill(7);
        assert_eq!(
            calls::memcpy_d2h(&mut instance, Some(&mut memory), 0, lo, hi, 4),
            0
        );
        assert_eq!(&memory[..5], [0, 0, 0, 0, 7]);
        memory.fill(7);
        refusals += 1;
    }
    assert!(refusals > 0, "the write asked for no memory");
    assert_eq!(
        calls::memcpy_d2h(&mut instance, Some(&mut memory), 4096, lo, hi, 8),
        0
    );
    assert_eq!(&memory[4096..4104], [7, 7, 7, 7, 0, 0, 0, 0]);
}
