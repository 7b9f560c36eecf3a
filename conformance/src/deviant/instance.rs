//! Mistakes about instances and their ends, and about codes that no call has.

use wasi_cuda_host::abi::AbiError::{
    InvalidArgs, InvalidDimensions, InvalidHandle, InvalidKernel, InvalidPointer, LaunchFailed,
    QuotaExceeded,
};
use wasi_cuda_host::abi::Import::{
    Alloc, Free, LastErrorCopy, LastErrorLen, Launch, LoadPtx, MemcpyD2h, MemcpyH2d, Sync,
};
use wasi_cuda_host::abi::{
    MAX_DEVICE_ALLOCS_PER_HOST, MAX_DEVICE_ALLOCS_PER_INSTANCE, MAX_DEVICE_BYTES_PER_HOST,
    MAX_KERNELS_PER_INSTANCE,
};

use super::call::Call;
use super::world::Guest;
use super::{Deviant, code};

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
            let all: u64 = c.world.guests.iter().map(|guest| guest.buffer_bytes).sum();
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
            let all: u64 = held.map(|guest| guest.buffer_bytes).sum();
            match all + c.size() > MAX_DEVICE_BYTES_PER_HOST {
                true => c.pass_spare(),
                false => c.pass(),
            }
        },
    ),
    Deviant::new(
        "instance-inherits-buffers",
        &["instance.fresh"],
        "gives a new instance the handles of those that have ended",
        &[Free, MemcpyD2h],
        |c| {
            let handle = c.id();
            {
                let known = ended(c).any(|guest| guest.buffers.contains_key(&handle));
                if known { 0 } else { c.pass() }
            }
        },
    ),
    Deviant::new(
        "instance-inherits-kernels",
        &["instance.fresh"],
        "gives a new instance the kernels of those that have ended",
        &[Launch],
        |c| {
            let id = c.id();
            {
                let known =
                    ended(c).any(|guest| guest.kernels.iter().any(|(kernel, _)| *kernel == id));
                if known { 0 } else { c.pass() }
            }
        },
    ),
    Deviant::new(
        "end-frees-others",
        &["instance.end-leaves-others"],
        "frees all buffers when an instance ends",
        &[MemcpyD2h, MemcpyH2d],
        |c| {
            let wrong = ended(c).next().is_some();
            c.refuse_if(wrong, InvalidHandle)
        },
    ),
    Deviant::new(
        "end-unloads-others",
        &["instance.end-leaves-others"],
        "unloads all kernels when an instance ends",
        &[Launch],
        |c| {
            let wrong = ended(c).next().is_some();
            c.refuse_if(wrong, InvalidKernel)
        },
    ),
    Deviant::new(
        "end-forgets-messages",
        &["instance.end-leaves-others"],
        "forgets all messages when an instance ends",
        &[LastErrorLen, LastErrorCopy],
        |c| {
            let known = ended(c).next().is_some();
            if known { 0 } else { c.pass() }
        },
    ),
    Deviant::new(
        "ended-work-spoils-launches",
        &["instance.end-with-work"],
        "launches nothing any more when an instance ended before its sync",
        &[Launch, Sync],
        |c| {
            let spoilt = ended(c).any(|guest| guest.notes.flag);
            let launches = c.import == Launch;
            c.notes().flag = launches;
            c.refuse_if(spoilt && launches, LaunchFailed)
        },
    ),
    Deviant::new(
        "ended-fault-reported",
        &["instance.end-with-work"],
        "reports the faults of instances that have ended to others",
        &[Launch, Sync],
        |c| {
            if c.import == Sync {
                let faulted = ended(c).any(|guest| guest.notes.flag);
                return c.refuse_if(faulted, LaunchFailed);
            }
            let answer = c.pass();
            c.notes().flag = answer == code(LaunchFailed);
            answer
        },
    ),
    Deviant::new(
        "codes-invented-by-alloc",
        &["call.codes"],
        "answers a code of its own to an allocation of no bytes",
        &[Alloc],
        |c| c.instead(InvalidArgs, -12),
    ),
    Deviant::new(
        "codes-of-the-driver",
        &["call.codes"],
        "answers codes of the driver to dimensions that are wrong",
        &[Launch],
        |c| c.instead(InvalidDimensions, -701),
    ),
    Deviant::new(
        "codes-of-the-system",
        &["call.codes"],
        "answers codes of the system to handles that are unknown",
        &[Free, MemcpyD2h, MemcpyH2d],
        |c| c.instead(InvalidHandle, -22),
    ),
    Deviant::new(
        "codes-of-other-bits",
        &["call.codes"],
        "answers -2^31 to a region outside the memory",
        &[LoadPtx],
        |c| c.instead(InvalidPointer, i64::from(i32::MIN)),
    ),
];

fn is_live(guest: &Guest) -> bool {
    guest.instance.is_some()
}

fn ended<'a>(c: &'a Call<'_>) -> impl Iterator<Item = &'a Guest> {
    c.world.guests.iter().filter(|guest| !is_live(guest))
}
