//! Mistakes of `free`, and of handles as all calls read them.

use wasi_cuda_host::abi::AbiError::{InvalidArgs, InvalidHandle, InvalidKernel, LaunchFailed};
use wasi_cuda_host::abi::Import::{self, Free, MemcpyD2h, MemcpyH2d};

use super::call::Call;
use super::{Act, Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    free(
        "free-unknown-silent",
        &["free.handle"],
        "answers 0 to a handle that nobody has",
        |c| match class_of(c) {
            Class::Unknown => 0,
            _ => c.pass(),
        },
    ),
    free(
        "free-zero-silent",
        &["free.handle"],
        "answers 0 when the handle 0 is freed",
        |c| match c.id() {
            0 => 0,
            _ => c.pass(),
        },
    ),
    free(
        "free-code",
        &["free.handle"],
        "answers invalid-kernel to an unknown handle",
        |c| c.recode(InvalidHandle, InvalidKernel),
    ),
    free(
        "free-negative-code",
        &["free.handle"],
        "answers invalid-args to a negative handle",
        |c| {
            let wrong = c.id() < 0;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    free(
        "free-live-refused",
        &["free.handle"],
        "frees a buffer and answers launch-failed",
        |c| match c.pass() {
            0 => code(LaunchFailed),
            refused => refused,
        },
    ),
    free(
        "free-frees-all",
        &["free.handle", "free.others-stay"],
        "frees every buffer of an instance with the first",
        |c| {
            let answer = c.pass();
            if answer == 0 {
                let rest: Vec<i64> = c.guest().buffers.keys().copied().collect();
                for handle in rest {
                    c.set_id(handle).pass();
                }
            }
            answer
        },
    ),
    free(
        "free-twice-silent",
        &["free.twice"],
        "answers 0 when a buffer is freed again",
        |c| match class_of(c) {
            Class::Freed => 0,
            _ => c.pass(),
        },
    ),
    free(
        "free-does-nothing",
        &["free.twice"],
        "answers 0 and keeps the buffer",
        |c| match class_of(c) {
            Class::Own => 0,
            _ => c.pass(),
        },
    ),
    free(
        "free-second-time-code",
        &["free.twice"],
        "answers invalid-args when a buffer is freed again",
        |c| match class_of(c) {
            Class::Freed => code(InvalidArgs),
            _ => c.pass(),
        },
    ),
    free(
        "free-foreign",
        &["free.foreign"],
        "frees buffers of other instances",
        |c| match class_of(c) {
            Class::Foreign(owner) => c.pass_as(owner),
            _ => c.pass(),
        },
    ),
    free(
        "free-foreign-silent",
        &["free.foreign"],
        "answers 0 to another instance's handle and does nothing",
        |c| match class_of(c) {
            Class::Foreign(_) => 0,
            _ => c.pass(),
        },
    ),
    free(
        "free-low-half",
        &["handle.is-64-bit"],
        "looks at the low half of a handle when it frees",
        |c| masked(c, 0xFFFF_FFFF),
    ),
    free(
        "free-without-sign",
        &["handle.is-64-bit"],
        "ignores the sign of a handle when it frees",
        |c| masked(c, i64::MAX),
    ),
    free(
        "free-halves-in-any-order",
        &["handle.is-64-bit"],
        "takes the halves of a handle in either order",
        |c| {
            let swapped = c.id().rotate_left(32);
            if c.guest().buffers.contains_key(&swapped) {
                c.set_id(swapped);
            }
            c.pass()
        },
    ),
    copy(
        "h2d-low-half",
        "looks at the low half of a handle when it copies to a buffer",
        MemcpyH2d,
        |c| masked(c, 0xFFFF_FFFF),
    ),
    copy(
        "d2h-low-half",
        "looks at the low half of a handle when it copies from a buffer",
        MemcpyD2h,
        |c| masked(c, 0xFFFF_FFFF),
    ),
    copy(
        "h2d-handle-48-bits",
        "looks at 48 bits of a handle when it copies to a buffer",
        MemcpyH2d,
        |c| masked(c, (1 << 48) - 1),
    ),
    copy(
        "d2h-handle-48-bits",
        "looks at 48 bits of a handle when it copies from a buffer",
        MemcpyD2h,
        |c| masked(c, (1 << 48) - 1),
    ),
];

const fn free(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[Free], act)
}

const fn copy(name: &'static str, wrong: &'static str, import: Import, act: Act) -> Deviant {
    let imports: &[Import] = match import {
        MemcpyH2d => &[MemcpyH2d],
        _ => &[MemcpyD2h],
    };
    Deviant::new(name, &["handle.is-64-bit"], wrong, imports, act)
}

/// Whose a handle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Own,
    Freed,
    /// A live buffer of this other guest.
    Foreign(usize),
    Unknown,
}

pub(super) fn class_of(c: &mut Call<'_>) -> Class {
    let handle = c.id();
    let guest = c.guest();
    if guest.buffers.contains_key(&handle) {
        return Class::Own;
    }
    if guest.freed.iter().any(|(freed, _)| *freed == handle) {
        return Class::Freed;
    }
    let holds = |other: &usize| {
        let guest = c.world.guests.get(*other);
        guest.is_some_and(|guest| guest.buffers.contains_key(&handle))
    };
    match c.others().into_iter().find(holds) {
        Some(owner) => Class::Foreign(owner),
        None => Class::Unknown,
    }
}

/// Finds the buffer by some of its handle's bits.
fn masked(c: &mut Call<'_>, mask: i64) -> i64 {
    let handle = c.id();
    let buffers = &c.guest().buffers;
    let alike = buffers
        .keys()
        .copied()
        .find(|buffer| buffer & mask == handle & mask);
    if let Some(buffer) = alike {
        c.set_id(buffer);
    }
    c.pass()
}
