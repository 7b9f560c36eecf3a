//! Contexts: the stack, destruction, the primary one, settings.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod kernel;
mod own;

use std::ptr::{null, null_mut};
use std::sync::Mutex;

use kernel::{function, launch, load};
use own::{INVALID_CONTEXT, INVALID_VALUE, answers, call, fresh};
use soft_cuda::api::context::{self, CreateParams};
use soft_cuda::api::{device, primary};
use soft_cuda::{CUcontext, CUresult};

const IS_DESTROYED: CUresult = 709;

/// The primary context is everybody's.
static PRIMARY: Mutex<()> = Mutex::new(());

fn current() -> CUcontext {
    let mut current = CUcontext(1);
    answers!(context::cuCtxGetCurrent(&mut current));
    current
}

/// Runs on a thread of its own, which has no context.
fn elsewhere(run: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(run).join().expect("no panic"));
}

#[test]
fn the_stack_has_the_current_context_on_top() {
    elsewhere(|| {
        answers!(device::cuInit(0));
        let mut popped = CUcontext::default();
        assert_eq!(current(), CUcontext::default());
        answers!(context::cuCtxPopCurrent_v2(&mut popped), INVALID_CONTEXT);
        answers!(context::cuCtxSynchronize(), INVALID_CONTEXT);
        let (first, second) = (fresh(), fresh());
        assert_ne!(first, second);
        assert_eq!(current(), second);
        answers!(context::cuCtxPopCurrent_v2(&mut popped));
        assert_eq!((popped, current()), (second, first));
        answers!(context::cuCtxPushCurrent_v2(second));
        answers!(context::cuCtxPushCurrent_v2(second));
        answers!(context::cuCtxSetCurrent(first));
        assert_eq!(current(), first);
        answers!(context::cuCtxPopCurrent_v2(null_mut()));
        assert_eq!(current(), second);
        answers!(context::cuCtxSetCurrent(CUcontext::default()));
        assert_eq!(current(), first);
        answers!(context::cuCtxSetCurrent(CUcontext::default()));
        answers!(context::cuCtxSetCurrent(CUcontext::default()));
        assert_eq!(current(), CUcontext::default());
        for bad in [1, first.0 + 16_000_000, first.0 | 1 << 32, usize::MAX] {
            answers!(
                context::cuCtxPushCurrent_v2(CUcontext(bad)),
                INVALID_CONTEXT
            );
            answers!(context::cuCtxSetCurrent(CUcontext(bad)), INVALID_CONTEXT);
            answers!(context::cuCtxDestroy_v2(CUcontext(bad)), INVALID_CONTEXT);
        }
        answers!(
            context::cuCtxPushCurrent_v2(CUcontext::default()),
            INVALID_CONTEXT
        );
        answers!(context::cuCtxGetCurrent(null_mut()), INVALID_VALUE);
        assert_eq!(current(), CUcontext::default());
    });
}

#[test]
fn a_destroyed_context_is_popped_here_and_dead_elsewhere() {
    let below = fresh();
    let doomed = fresh();
    answers!(context::cuCtxPushCurrent_v2(below));
    answers!(context::cuCtxPushCurrent_v2(doomed));
    let (send, receive) = std::sync::mpsc::channel();
    let (answer, heard) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        answers!(context::cuCtxSetCurrent(doomed));
        answers!(context::cuCtxSynchronize());
        answer.send(()).expect("a listener");
        receive.recv().expect("a word");
        answers!(context::cuCtxSynchronize(), IS_DESTROYED);
        let mut limit = 0;
        answers!(context::cuCtxGetLimit(&mut limit, 0), IS_DESTROYED);
        assert_eq!(current(), doomed);
        answers!(context::cuCtxPopCurrent_v2(null_mut()));
        answers!(context::cuCtxSynchronize(), INVALID_CONTEXT);
    });
    heard.recv().expect("a word");
    answers!(context::cuCtxDestroy_v2(doomed));
    assert_eq!(current(), below);
    answers!(context::cuCtxDestroy_v2(doomed), INVALID_CONTEXT);
    send.send(()).expect("a listener");
    other.join().expect("no panic");
    // Further down the stack it still is.
    answers!(context::cuCtxPopCurrent_v2(null_mut()));
    answers!(context::cuCtxSynchronize(), IS_DESTROYED);
    answers!(context::cuCtxPopCurrent_v2(null_mut()));
    answers!(context::cuCtxSynchronize());
}

#[test]
fn contexts_are_made_by_every_version() {
    let mut made = CUcontext::default();
    answers!(device::cuInit(0));
    answers!(context::cuCtxCreate_v2(null_mut(), 0, 0), INVALID_VALUE);
    answers!(context::cuCtxCreate_v2(&mut made, 0, 1), 101);
    answers!(context::cuCtxCreate_v2(&mut made, 0, -1), 101);
    for (flags, answer) in [
        (0, 0),
        (1, 0),
        (2, 0),
        (4, 0),
        (0x98, 0),
        (3, INVALID_VALUE),
        (7, INVALID_VALUE),
        (0x100, INVALID_VALUE),
    ] {
        answers!(context::cuCtxCreate_v2(&mut made, flags, 0), answer);
        if answer == 0 {
            let mut found = u32::MAX;
            answers!(context::cuCtxGetFlags(&mut found));
            assert_eq!(found, flags);
            answers!(context::cuCtxDestroy_v2(made));
        }
    }
    answers!(context::cuCtxCreate_v3(&mut made, null(), 0, 0, 0));
    let word = 0u64;
    answers!(
        context::cuCtxCreate_v3(&mut made, (&raw const word).cast(), 1, 0, 0),
        801
    );
    answers!(
        context::cuCtxCreate_v3(&mut made, null(), 1, 0, 0),
        INVALID_VALUE
    );
    answers!(context::cuCtxCreate_v4(&mut made, null(), 0, 0));
    let params = |affinities, affinity_count, graphics| CreateParams {
        affinities,
        affinity_count,
        graphics,
    };
    for (params, answer) in [
        (params(0, 0, 0), 0),
        (params(16, 1, 0), 801),
        (params(0, 0, 16), 801),
        (params(0, 1, 0), INVALID_VALUE),
        (params(16, -1, 0), INVALID_VALUE),
    ] {
        answers!(context::cuCtxCreate_v4(&mut made, &params, 0, 0), answer);
    }
}

#[test]
fn contexts_tell_who_they_are() {
    let (one, two) = (fresh(), fresh());
    let id = |context| {
        let mut id = 0;
        answers!(context::cuCtxGetId(context, &mut id));
        id
    };
    assert_ne!(id(one), id(two));
    assert_eq!(id(CUcontext::default()), id(two));
    let mut version = 0;
    answers!(context::cuCtxGetApiVersion(one, &mut version));
    assert_eq!(version, 3020);
    let mut ordinal = -1;
    answers!(context::cuCtxGetDevice(&mut ordinal));
    assert_eq!(ordinal, 0);
    answers!(context::cuCtxGetDevice_v2(&mut ordinal, one));
    answers!(context::cuCtxSynchronize_v2(one));
    answers!(context::cuCtxGetDevice(null_mut()), INVALID_VALUE);
    answers!(context::cuCtxEnablePeerAccess(one, 0), 217);
    answers!(context::cuCtxEnablePeerAccess(one, 1), INVALID_VALUE);
    answers!(context::cuCtxEnablePeerAccess(two, 0), INVALID_CONTEXT);
    answers!(context::cuCtxDisablePeerAccess(one), 705);
}

#[test]
fn limits_and_wishes_are_kept() {
    fresh();
    let limit = |limit| {
        let mut value = usize::MAX;
        match call!(context::cuCtxGetLimit(&mut value, limit)) {
            0 => Ok(value),
            answer => Err(answer),
        }
    };
    for (number, value) in [(0, 2048), (1, 1 << 21), (2, 1 << 24), (4, 4096), (5, 128)] {
        assert_ne!(limit(number), Ok(value));
        answers!(context::cuCtxSetLimit(number, value));
        assert_eq!(limit(number), Ok(value));
        answers!(context::cuCtxSetLimit(number, usize::MAX));
        assert!(limit(number).is_ok_and(|most| most >= value), "{number}");
    }
    assert_eq!(limit(3), Err(215));
    answers!(context::cuCtxSetLimit(3, 2), 215);
    for bad in [11, 1000, u32::MAX] {
        assert_eq!(limit(bad), Err(INVALID_VALUE));
        answers!(context::cuCtxSetLimit(bad, 0), INVALID_VALUE);
    }
    let mut config = 9;
    answers!(context::cuCtxSetCacheConfig(4), INVALID_VALUE);
    answers!(context::cuCtxSetCacheConfig(3));
    answers!(context::cuCtxGetCacheConfig(&mut config));
    assert_eq!(config, 3);
    let (mut least, mut greatest) = (9, 9);
    answers!(context::cuCtxGetStreamPriorityRange(
        &mut least,
        &mut greatest
    ));
    assert_eq!((least, greatest), (0, -5));
    answers!(context::cuCtxResetPersistingL2Cache());
}

#[test]
fn uses_counted_by_name_end_a_context_with_the_last() {
    let own = fresh();
    let mut attached = CUcontext::default();
    answers!(context::cuCtxAttach(&mut attached, 1), INVALID_VALUE);
    answers!(context::cuCtxAttach(&mut attached, 0));
    assert_eq!(attached, own);
    answers!(context::cuCtxDetach(own));
    answers!(context::cuCtxSynchronize());
    answers!(context::cuCtxDetach(own));
    answers!(context::cuCtxDestroy_v2(own), INVALID_CONTEXT);
}

/// The flags of the primary context, and whether it is active.
fn state() -> (u32, i32) {
    let (mut flags, mut active) = (u32::MAX, -1);
    answers!(primary::cuDevicePrimaryCtxGetState(
        0,
        &mut flags,
        &mut active
    ));
    (flags, active)
}

fn retain() -> CUcontext {
    let mut retained = CUcontext::default();
    answers!(primary::cuDevicePrimaryCtxRetain(&mut retained, 0));
    retained
}

#[test]
fn the_primary_context_lives_as_long_as_somebody_retains_it() {
    let _alone = PRIMARY.lock().expect("no panic before");
    let before = fresh();
    answers!(primary::cuDevicePrimaryCtxRelease_v2(0), INVALID_CONTEXT);
    assert_eq!(state().1, 0);
    let first = retain();
    assert_eq!(current(), before, "retaining does not push");
    assert_eq!(retain(), first);
    answers!(primary::cuDevicePrimaryCtxRelease_v2(0));
    assert_eq!(state().1, 1);
    answers!(primary::cuDevicePrimaryCtxRelease_v2(0));
    assert_eq!(state().1, 0);
    answers!(primary::cuDevicePrimaryCtxRelease_v2(0), INVALID_CONTEXT);
    answers!(context::cuCtxSetCurrent(first), INVALID_CONTEXT);
    for device in [-1, 1] {
        let mut none = CUcontext::default();
        answers!(primary::cuDevicePrimaryCtxRetain(&mut none, device), 101);
        answers!(primary::cuDevicePrimaryCtxRelease_v2(device), 101);
        answers!(primary::cuDevicePrimaryCtxReset_v2(device), 101);
    }
    answers!(
        primary::cuDevicePrimaryCtxRetain(null_mut(), 0),
        INVALID_VALUE
    );
}

#[test]
fn a_reset_ends_the_primary_context_and_not_its_being_retained() {
    let _alone = PRIMARY.lock().expect("no panic before");
    fresh();
    let first = retain();
    answers!(context::cuCtxPushCurrent_v2(first));
    let nothing = function(load(), "nothing");
    answers!(primary::cuDevicePrimaryCtxReset_v2(0));
    assert_eq!(state().1, 0);
    answers!(context::cuCtxSynchronize(), IS_DESTROYED);
    assert_ne!(launch(nothing, [1; 3], [1; 3], &[]), 0);
    answers!(context::cuCtxPopCurrent_v2(null_mut()));
    answers!(primary::cuDevicePrimaryCtxReset_v2(0));
    // Who retains it again has a new one that works.
    let second = retain();
    assert_eq!(state().1, 1);
    answers!(context::cuCtxPushCurrent_v2(second));
    let nothing = function(load(), "nothing");
    assert_eq!(launch(nothing, [1; 3], [1; 3], &[]), 0);
    answers!(context::cuCtxSynchronize());
    answers!(context::cuCtxDestroy_v2(second), INVALID_CONTEXT);
    answers!(primary::cuDevicePrimaryCtxRelease_v2(0));
    answers!(context::cuCtxSynchronize());
    answers!(primary::cuDevicePrimaryCtxRelease_v2(0));
    answers!(context::cuCtxSynchronize(), IS_DESTROYED);
    assert_eq!(current(), second, "releasing does not pop");
}

#[test]
fn a_primary_context_that_failed_is_made_anew_by_a_reset() {
    let _alone = PRIMARY.lock().expect("no panic before");
    fresh();
    answers!(context::cuCtxPushCurrent_v2(retain()));
    assert_eq!(launch(function(load(), "trap"), [1; 3], [1; 3], &[]), 0);
    answers!(context::cuCtxSynchronize(), 719);
    answers!(context::cuCtxPushCurrent_v2(retain()));
    answers!(context::cuCtxSynchronize(), 719);
    answers!(primary::cuDevicePrimaryCtxReset_v2(0));
    answers!(context::cuCtxPushCurrent_v2(retain()));
    answers!(context::cuCtxSynchronize());
    for _ in 0..3 {
        answers!(primary::cuDevicePrimaryCtxRelease_v2(0));
    }
}

#[test]
fn flags_of_the_primary_context_outlive_it() {
    let _alone = PRIMARY.lock().expect("no panic before");
    fresh();
    answers!(primary::cuDevicePrimaryCtxSetFlags_v2(0, 3), INVALID_VALUE);
    answers!(primary::cuDevicePrimaryCtxSetFlags_v2(0, 4));
    assert_eq!(state(), (4, 0));
    retain();
    assert_eq!(state(), (4, 1));
    answers!(primary::cuDevicePrimaryCtxSetFlags_v2(0, 1));
    assert_eq!(state(), (1, 1));
    answers!(primary::cuDevicePrimaryCtxRelease_v2(0));
    answers!(primary::cuDevicePrimaryCtxSetFlags_v2(0, 0));
}
