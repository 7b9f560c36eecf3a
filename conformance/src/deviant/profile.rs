//! Mistakes of hosts without a device, and about guests without the capability.

use wasi_cuda_host::abi::AbiError::{
    Internal, InvalidArgs, InvalidDimensions, InvalidHandle, InvalidPointer, NotAvailable,
    QuotaExceeded,
};
use wasi_cuda_host::abi::Import::{
    self, Alloc, Free, LastErrorCopy, LastErrorLen, Launch, LoadPtx, MemcpyD2h, MemcpyH2d, Sync,
};
use wasi_cuda_host::abi::MAX_DEVICE_ALLOCS_PER_INSTANCE;

use super::call::Exported;
use super::{Deviant, Flaw, Linking, code};
use crate::profile::Profile;

pub(super) const DEVIANTS: &[Deviant] = &[
    no_device(
        "no-device-alloc-first",
        &["profile.no-device.validation"],
        "answers not-available before it looks at a size",
        &[Alloc],
        |_| code(NotAvailable),
    ),
    no_device(
        "no-device-launch-first",
        &["profile.no-device.validation"],
        "answers not-available before it looks at a launch",
        &[Launch],
        |_| code(NotAvailable),
    ),
    no_device(
        "no-device-load-first",
        &["profile.no-device.validation"],
        "answers not-available before it looks at a load's regions",
        &[LoadPtx],
        |_| code(NotAvailable),
    ),
    no_device(
        "no-device-load-refused",
        &["profile.no-device.load-answer"],
        "answers internal to good PTX without a device",
        &[LoadPtx],
        |c| match c.pass() {
            id if id >= 0 => code(Internal),
            refused => refused,
        },
    ),
    no_device(
        "no-device-launch-silent",
        &["profile.no-device.launch"],
        "answers 0 to a launch without a device",
        &[Launch],
        |c| c.instead(NotAvailable, 0),
    ),
    no_device(
        "no-device-launch-code",
        &["profile.no-device.launch"],
        "answers internal to a launch without a device",
        &[Launch],
        |c| c.recode(NotAvailable, Internal),
    ),
    no_device(
        "no-device-sync-refused",
        &["profile.no-device.sync"],
        "fails syncs once something was refused for want of a device",
        &[Launch, Alloc, Sync],
        |c| {
            let answer = c.pass();
            let refused = c.notes().flag;
            c.notes().flag |= answer == code(NotAvailable);
            match c.import {
                Sync if refused => code(NotAvailable),
                _ => answer,
            }
        },
    ),
    no_device(
        "no-device-free-silent",
        &["profile.no-device.handles"],
        "answers 0 to a free without a device",
        &[Free],
        |c| c.instead(NotAvailable, 0),
    ),
    no_device(
        "no-device-h2d-silent",
        &["profile.no-device.handles"],
        "answers 0 to a copy to a device that is not there",
        &[MemcpyH2d],
        |c| c.instead(NotAvailable, 0),
    ),
    no_device(
        "no-device-d2h-silent",
        &["profile.no-device.handles"],
        "answers 0 to a copy from a device that is not there",
        &[MemcpyD2h],
        |c| c.instead(NotAvailable, 0),
    ),
    no_device(
        "no-device-alloc-reserves",
        &["profile.no-device.reserves-nothing"],
        "takes quota for buffers that it does not grant",
        &[Alloc],
        |c| {
            c.notes().number += 1;
            let over = c.notes().number.cast_unsigned() > MAX_DEVICE_ALLOCS_PER_INSTANCE;
            match over {
                true => c.recode(NotAvailable, QuotaExceeded),
                false => c.pass(),
            }
        },
    ),
    Deviant::with(
        "disabled-does-not-link",
        &["profile.disabled.links"],
        "does not define the calls of a guest that may not use them",
        Flaw::Linking(Linking::Without(Launch)),
    )
    .on(Profile::Disabled),
    Deviant::new(
        "disabled-memory-missed",
        &["profile.disabled.memory"],
        "looks for the memory before the capability",
        &[LoadPtx, Launch, MemcpyH2d, MemcpyD2h, LastErrorCopy],
        |c| {
            let wrong = c.exported == Exported::Nothing;
            c.refuse_if(wrong, InvalidPointer)
        },
    )
    .on(Profile::Disabled),
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
    Deviant::new(
        "disabled-message-written",
        &["profile.disabled.writes-nothing", "profile.disabled"],
        "writes a message without the capability",
        &[LastErrorCopy],
        |c| {
            c.store(0, b"no capability");
            c.pass()
        },
    )
    .on(Profile::Disabled),
    Deviant::new(
        "disabled-records",
        &["profile.disabled.records-nothing", "profile.disabled"],
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
    )
    .on(Profile::Disabled),
];

const fn no_device(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    imports: &'static [Import],
    act: super::Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, imports, act).on(Profile::NoDevice)
}

const fn disabled(
    name: &'static str,
    wrong: &'static str,
    imports: &'static [Import],
    act: super::Act,
) -> Deviant {
    Deviant::new(name, &["profile.disabled"], wrong, imports, act).on(Profile::Disabled)
}
