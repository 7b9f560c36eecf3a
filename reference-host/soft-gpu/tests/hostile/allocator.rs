//! The system's allocator, with a count of the bytes in use.

#![allow(
    unsafe_code,
    reason = "an allocator that counts must implement an unsafe trait"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static IN_USE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// One measurement at a time.
static MEASURING: Mutex<()> = Mutex::new(());

/// The most bytes that were in use at once while `run` ran, beyond those in use before, and what it gave.
pub(crate) fn peak_during<T>(run: impl FnOnce() -> T) -> (usize, T) {
    let _alone = MEASURING
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let before = IN_USE_BYTES.load(Ordering::SeqCst);
    PEAK_BYTES.store(before, Ordering::SeqCst);
    let result = run();
    (
        PEAK_BYTES.load(Ordering::SeqCst).saturating_sub(before),
        result,
    )
}

fn grow(bytes: usize) {
    let now = IN_USE_BYTES.fetch_add(bytes, Ordering::SeqCst) + bytes;
    PEAK_BYTES.fetch_max(now, Ordering::SeqCst);
}

fn shrink(bytes: usize) {
    IN_USE_BYTES.fetch_sub(bytes, Ordering::SeqCst);
}

// SAFETY: every method hands its arguments to the system's allocator unchanged and returns what that returns.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // A large place grows where it is, by new pages: what is in use is the new size.
        if new_size > layout.size() {
            grow(new_size - layout.size());
        } else {
            shrink(layout.size() - new_size);
        }
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
