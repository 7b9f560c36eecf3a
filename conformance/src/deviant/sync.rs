//! Mistakes of `sync`.

use wasi_cuda_host::abi::AbiError::{InvalidKernel, LaunchFailed, NotAvailable};
use wasi_cuda_host::abi::Import::{self, Launch, Sync};

use super::call::Call;
use super::{Deviant, code};
use crate::profile::Profile;

pub(super) const DEVIANTS: &[Deviant] = &[
    Deviant::new(
        "sync-idle-refused",
        &["sync.idle"],
        "refuses a sync with nothing outstanding",
        BOTH,
        |c| {
            let launches = c.import == Launch;
            let outstanding = std::mem::replace(&mut c.notes().flag, launches);
            match launches || outstanding {
                true => c.pass(),
                false => code(InvalidKernel),
            }
        },
    ),
    Deviant::new(
        "sync-once",
        &["sync.idle"],
        "fails the second of two syncs",
        &[Sync],
        |c| {
            c.notes().number += 1;
            let again = c.notes().number > 1;
            c.refuse_if(again, LaunchFailed)
        },
    ),
    Deviant::new(
        "sync-unavailable",
        &["sync.idle"],
        "answers not-available to a sync without a device",
        &[Sync],
        |_| code(NotAvailable),
    )
    .on(Profile::NoDevice),
    Deviant::new(
        "sync-does-not-wait",
        &["sync.effects"],
        "answers before what kernels wrote is in guest memory",
        BOTH,
        |c| match c.import {
            Launch => {
                settle(c);
                later(c)
            }
            _ => c.pass(),
        },
    ),
    Deviant::new(
        "sync-last-launch-only",
        &["sync.effects"],
        "shows the effects of the last launch only",
        BOTH,
        |c| match c.import {
            Launch => later(c),
            _ => {
                settle(c);
                c.pass()
            }
        },
    ),
    Deviant::new(
        "sync-forgets",
        &["sync.effects"],
        "loses what kernels wrote when nobody syncs after each of them",
        BOTH,
        |c| {
            let launches = c.import == Launch;
            let outstanding = std::mem::replace(&mut c.notes().flag, launches);
            match launches && outstanding {
                true => 0,
                false => c.pass(),
            }
        },
    ),
];

const BOTH: &[Import] = &[Launch, Sync];

/// Launches on a copy of the memory and keeps what the kernel changed.
fn later(c: &mut Call<'_>) -> i64 {
    let before = c.memory_with_room(0);
    let mut after = before.clone();
    let answer = c.pass_on(&mut after);
    c.notes().changes = before
        .iter()
        .zip(&after)
        .enumerate()
        .filter(|(_, (old, new))| old != new)
        .map(|(at, (_, new))| (at, *new))
        .collect();
    answer
}

/// Makes the changes that were kept.
fn settle(c: &mut Call<'_>) {
    for (at, byte) in std::mem::take(&mut c.notes().changes) {
        c.store(at as u64, &[byte]);
    }
}
