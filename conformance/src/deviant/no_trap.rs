//! Hosts that trap, panic or hang on arguments they did not expect.

use std::thread;

use wasi_cuda_host::abi::Import::{
    self, Alloc, Free, LastErrorCopy, Launch, LoadPtx, MemcpyD2h, MemcpyH2d,
};

use super::Deviant;
use super::call::Call;
use crate::judge::Verdict;

pub(super) const DEVIANTS: &[Deviant] = &[
    trap(
        "trap-load-negative-length",
        "traps on PTX of a negative length",
        &[LoadPtx],
        |c| {
            let wrong = c.arg("ptx_len") < 0;
            c.trap_if(wrong)
        },
    ),
    trap(
        "trap-load-outside",
        "traps on an entry name outside the memory",
        &[LoadPtx],
        |c| {
            let wrong = c.outside("entry_ptr", "entry_len");
            c.trap_if(wrong)
        },
    ),
    trap(
        "trap-launch-negative-axis",
        "traps on a negative grid axis",
        &[Launch],
        |c| {
            let wrong = c.arg("grid_x") < 0;
            c.trap_if(wrong)
        },
    ),
    trap(
        "trap-launch-unknown-kernel",
        "traps on the kernel id -1",
        &[Launch],
        |c| {
            let wrong = c.id() == -1;
            c.trap_if(wrong)
        },
    ),
    trap(
        "trap-alloc-huge",
        "traps when a buffer's size has all bits set",
        &[Alloc],
        |c| {
            let wrong = c.size() == u64::MAX;
            c.trap_if(wrong)
        },
    ),
    trap(
        "trap-free-unknown",
        "traps when the handle 0 is freed",
        &[Free],
        |c| {
            let wrong = c.id() == 0;
            c.trap_if(wrong)
        },
    ),
    trap(
        "trap-h2d-outside",
        "traps on a source outside the memory",
        &[MemcpyH2d],
        |c| {
            let wrong = c.outside("src_ptr", "len");
            c.trap_if(wrong)
        },
    ),
    trap(
        "trap-d2h-outside",
        "traps on a destination outside the memory",
        &[MemcpyD2h],
        |c| {
            let wrong = c.outside("dst_ptr", "len");
            c.trap_if(wrong)
        },
    ),
    trap(
        "trap-message-outside",
        "traps on a place for the message outside the memory",
        &[LastErrorCopy],
        |c| {
            let wrong = c.outside("dst_ptr", "dst_len");
            c.trap_if(wrong)
        },
    ),
    Deviant::new(
        "panic-launch-overflow",
        NO_TRAP,
        "panics when the threads of a block overflow 32 bits",
        &[Launch],
        |c| {
            let [x, y, z] = c.axes("block").map(|axis| u32::try_from(axis).unwrap_or(0));
            assert!(
                x.checked_mul(y).and_then(|xy| xy.checked_mul(z)).is_some(),
                "attempt to multiply with overflow"
            );
            c.pass()
        },
    )
    .showing_as(Verdict::Crash),
    Deviant::new(
        "panic-copy-handle",
        NO_TRAP,
        "panics on a handle with the sign bit set",
        &[MemcpyH2d],
        |c| {
            assert!(c.id() >= 0, "the handle is negative");
            c.pass()
        },
    )
    .showing_as(Verdict::Crash),
    Deviant::new(
        "hang-free-negative",
        NO_TRAP,
        "never comes back from freeing a handle with all bits set",
        &[Free],
        |c| hang_if(c.id() == -1, c),
    )
    .showing_as(Verdict::Timeout),
    Deviant::new(
        "hang-load-empty",
        NO_TRAP,
        "never comes back from a load of nothing",
        &[LoadPtx],
        |c| hang_if(c.arg("ptx_len") == 0, c),
    )
    .showing_as(Verdict::Timeout),
];

const NO_TRAP: &[&str] = &["call.no-trap"];

const fn trap(
    name: &'static str,
    wrong: &'static str,
    imports: &'static [Import],
    act: super::Act,
) -> Deviant {
    Deviant::new(name, NO_TRAP, wrong, imports, act)
}

/// Stays in the host for ever, without using a processor for it.
pub(super) fn hang_if(wrong: bool, c: &mut Call<'_>) -> i64 {
    if wrong {
        loop {
            thread::park();
        }
    }
    c.pass()
}
