//! Mistakes of `sync`.

use wasi_cuda_host::abi::AbiError::{InvalidKernel, LaunchFailed, NotAvailable};
use wasi_cuda_host::abi::Import::{self, Launch, Sync};

use super::call::{Call, differences};
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
    Deviant::new(
        "sync-into-old-memory",
        &["memory.grow-before-sync"],
        "writes what kernels did to the place where the memory was before it grew",
        BOTH,
        |c| {
            let grown = c.notes().number.cast_unsigned() != c.memory_len();
            if c.import == Launch {
                let before = c.memory_with_room(0);
                c.notes().number = before.len() as i64;
                let answer = c.pass();
                let lost = c.changes_since(&before).into_iter();
                c.notes().changes.extend(lost.map(|(at, old, _)| (at, old)));
                return answer;
            }
            let lost = std::mem::take(&mut c.notes().changes);
            for (at, old) in lost.into_iter().rev().filter(|_| grown) {
                c.store(at as u64, &[old]);
            }
            c.pass()
        },
    ),
    Deviant::new(
        "fault-reported-again",
        &["sync.after-fault"],
        "reports a fault at the launch and once more at the next sync",
        BOTH,
        |c| {
            if c.import == Sync && std::mem::take(&mut c.notes().flag) {
                return code(LaunchFailed);
            }
            let answer = c.pass();
            if c.import == Launch {
                c.notes().flag = answer == code(LaunchFailed);
            }
            answer
        },
    ),
    Deviant::new(
        "fault-reported-for-ever",
        &["sync.after-fault"],
        "fails every sync after a fault",
        BOTH,
        |c| {
            if c.import == Sync && c.notes().flag {
                return code(LaunchFailed);
            }
            let answer = c.pass();
            c.notes().flag |= answer == code(LaunchFailed);
            answer
        },
    ),
];

const BOTH: &[Import] = &[Launch, Sync];

/// Launches on a copy of the memory and keeps what the kernel changed.
fn later(c: &mut Call<'_>) -> i64 {
    let before = c.memory_with_room(0);
    let mut after = before.clone();
    let answer = c.pass_on(&mut after);
    let changes = differences(&before, &after).into_iter();
    c.notes().changes = changes.map(|(at, _, new)| (at, new)).collect();
    answer
}

/// Makes the changes that were kept.
fn settle(c: &mut Call<'_>) {
    for (at, byte) in std::mem::take(&mut c.notes().changes) {
        c.store(at as u64, &[byte]);
    }
}
