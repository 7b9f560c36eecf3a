//! Mistakes about instances and their ends, and about guests without the capability.

use wasi_cuda_host::abi::AbiError::{
    InvalidArgs, InvalidDimensions, InvalidHandle, InvalidPointer, QuotaExceeded,
};
use wasi_cuda_host::abi::Import::{
    self, Alloc, Free, LastErrorCopy, LastErrorLen, Launch, LoadPtx, MemcpyD2h, MemcpyH2d, Sync,
};
use wasi_cuda_host::abi::{
    MAX_DEVICE_ALLOCS_PER_HOST, MAX_DEVICE_ALLOCS_PER_INSTANCE, MAX_DEVICE_BYTES_PER_HOST,
    MAX_KERNELS_PER_INSTANCE,
};

use super::world::Guest;
use super::{Deviant, code};
use crate::profile::Profile;

pub(super) const DEVIANTS: &[Deviant] = &[
    Deviant::new(
        "quota-of-buffers-shared",
        &["instance.own-quota"],
        "lets all instances share the buffers of one",
        &[Alloc],
        |c| {
            let held = c.world.guests.iter().filter(|guest| is_live(guest));
            let all: usize = held.map(|guest| guest.buffers.len()).sum();
            c.refuse_if(all as u64 >= MAX_DEVICE_ALLOCS_PER_INSTANCE, QuotaExceeded)
        },
    ),
    Deviant::new(
        "quota-of-kernels-shared",
        &["instance.own-quota"],
        "lets all instances share the kernels of one",
        &[LoadPtx],
        |c| {
            let held = c.world.guests.iter().filter(|guest| is_live(guest));
            let all: usize = held.map(|guest| guest.kernels.len()).sum();
            c.refuse_if(all as u64 >= MAX_KERNELS_PER_INSTANCE, QuotaExceeded)
        },
    ),
    Deviant::new(
        "ended-keeps-buffers",
        &["instance.end-returns-quota"],
        "goes on counting the buffers of instances that have ended",
        &[Alloc],
        |c| {
            let all: usize = c.world.guests.iter().map(|guest| guest.buffers.len()).sum();
            c.refuse_if(all as u64 >= MAX_DEVICE_ALLOCS_PER_HOST, QuotaExceeded)
        },
    ),
    Deviant::new(
        "ended-keeps-bytes",
        &["instance.end-returns-quota"],
        "goes on counting the bytes of instances that have ended",
        &[Alloc],
        |c| {
            let all: u64 = c.world.guests.iter().map(Guest::buffer_bytes).sum();
            let asked = c.size();
            c.refuse_if(
                all.saturating_add(asked) > MAX_DEVICE_BYTES_PER_HOST,
                QuotaExceeded,
            )
        },
    ),
    Deviant::new(
        "ended-keeps-kernels",
        &["instance.end-returns-quota"],
        "goes on counting the kernels of instances that have ended",
        &[LoadPtx],
        |c| {
            let all: usize = c.world.guests.iter().map(|guest| guest.kernels.len()).sum();
            c.refuse_if(all as u64 >= 4 * MAX_KERNELS_PER_INSTANCE, QuotaExceeded)
        },
    ),
    Deviant::new(
        "process-budget-of-buffers-ignored",
        &["instance.process-budget"],
        "has no cap on the buffers of all instances together",
        &[Alloc],
        |c| {
            let held = c.world.guests.iter().filter(|guest| is_live(guest));
            let all: usize = held.map(|guest| guest.buffers.len()).sum();
            match all as u64 >= MAX_DEVICE_ALLOCS_PER_HOST {
                true => c.pass_spare(),
                false => c.pass(),
            }
        },
    ),
    Deviant::new(
        "process-budget-of-bytes-ignored",
        &["instance.process-budget"],
        "has no cap on the bytes of all instances together",
        &[Alloc],
        |c| {
            let held = c.world.guests.iter().filter(|guest| is_live(guest));
            let all: u64 = held.map(Guest::buffer_bytes).sum();
            match all + c.size() > MAX_DEVICE_BYTES_PER_HOST {
                true => c.pass_spare(),
                false => c.pass(),
            }
        },
    ),
    disabled(
        "disabled-sync",
        "answers 0 to a sync without the capability",
        &[Sync],
        |_| 0,
    ),
    disabled(
        "disabled-message-length",
        "answers 0 to how long the message is without the capability",
        &[LastErrorLen],
        |_| 0,
    ),
    disabled(
        "disabled-message-copy",
        "answers 0 to a copy of the message without the capability",
        &[LastErrorCopy],
        |_| 0,
    ),
    disabled(
        "disabled-alloc-validates",
        "looks at a buffer's size before the capability",
        &[Alloc],
        |c| {
            let wrong = c.size() == 0;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    disabled(
        "disabled-alloc-granted",
        "grants a buffer without the capability",
        &[Alloc],
        |_| 1,
    ),
    disabled(
        "disabled-free-validates",
        "looks at a handle before the capability",
        &[Free],
        |_| code(InvalidHandle),
    ),
    disabled(
        "disabled-load-validates",
        "looks at the PTX's region before the capability",
        &[LoadPtx],
        |c| {
            let wrong = c.outside("ptx_ptr", "ptx_len");
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    disabled(
        "disabled-load-granted",
        "loads kernels without the capability",
        &[LoadPtx],
        |_| 1,
    ),
    disabled(
        "disabled-launch-validates",
        "looks at a grid before the capability",
        &[Launch],
        |c| {
            let wrong = c.arg("grid_x") <= 0;
            c.refuse_if(wrong, InvalidDimensions)
        },
    ),
    disabled(
        "disabled-launch-arguments-validated",
        "looks at the arguments' region before the capability",
        &[Launch],
        |c| {
            let wrong = c.outside("args_ptr", "args_len");
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    disabled(
        "disabled-h2d-validates",
        "looks at a source before the capability",
        &[MemcpyH2d],
        |c| {
            let wrong = c.outside("src_ptr", "len");
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    disabled(
        "disabled-d2h-validates",
        "looks at a destination before the capability",
        &[MemcpyD2h],
        |c| {
            let wrong = c.outside("dst_ptr", "len");
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    disabled(
        "disabled-message-written",
        "writes a message without the capability",
        &[LastErrorCopy],
        |c| {
            c.store(0, b"no capability");
            c.pass()
        },
    ),
    disabled(
        "disabled-records",
        "records that there is no capability",
        Import::ALL,
        |c| {
            let answer = c.pass();
            let recorded = std::mem::replace(&mut c.notes().flag, true);
            match c.import {
                LastErrorLen if recorded => 13,
                _ => answer,
            }
        },
    ),
];

const fn disabled(
    name: &'static str,
    wrong: &'static str,
    imports: &'static [Import],
    act: super::Act,
) -> Deviant {
    Deviant::new(name, &["profile.disabled"], wrong, imports, act).on(Profile::Disabled)
}

fn is_live(guest: &Guest) -> bool {
    guest.instance.is_some()
}
