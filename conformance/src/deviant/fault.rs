//! Mistakes about kernels that fault or never end.

use soft_gpu::{FaultKind, LaunchError};
use wasi_cuda_host::abi::AbiError::{Internal, InvalidArgs, LaunchFailed};
use wasi_cuda_host::abi::Import::{LastErrorLen, Launch, Sync};
use wasi_cuda_host::device::DeviceError;

use super::call::Call;
use super::no_trap::hang_if;
use super::{Act, Deviant, code};
use crate::judge::Verdict;

pub(super) const DEVIANTS: &[Deviant] = &[
    launch(
        "fault-unreported",
        &["launch.fault.reported"],
        "answers 0 when a kernel faults",
        |c| forgiving(c, |kind| !is_watchdog(kind)),
    ),
    launch(
        "fault-code",
        &["launch.fault.reported"],
        "answers internal when a kernel faults",
        |c| c.recode(LaunchFailed, Internal),
    ),
    launch(
        "fault-trap-ignored",
        &["launch.fault.reported"],
        "takes `trap` for the end of a kernel",
        |c| forgiving(c, |kind| matches!(kind, FaultKind::Trap)),
    ),
    launch(
        "fault-null-store-ignored",
        &["launch.fault.reported"],
        "drops stores to address 0",
        |c| {
            forgiving(c, |kind| {
                matches!(
                    kind,
                    FaultKind::Null {
                        address: 0,
                        write: true,
                        ..
                    }
                )
            })
        },
    ),
    launch(
        "fault-null-load-ignored",
        &["launch.fault.reported"],
        "reads zeros from address 0",
        |c| {
            forgiving(c, |kind| {
                matches!(
                    kind,
                    FaultKind::Null {
                        address: 0,
                        write: false,
                        ..
                    }
                )
            })
        },
    ),
    launch(
        "fault-wild-store-ignored",
        &["launch.fault.reported"],
        "drops stores to addresses that are nowhere",
        |c| {
            forgiving(c, |kind| {
                matches!(
                    kind,
                    FaultKind::OutOfBounds {
                        address: 1..,
                        write: true,
                        ..
                    }
                )
            })
        },
    ),
    launch(
        "fault-misaligned-ignored",
        &["launch.fault.reported"],
        "allows misaligned accesses",
        |c| forgiving(c, |kind| matches!(kind, FaultKind::Misaligned { .. })),
    ),
    launch(
        "watchdog-absent",
        &["launch.fault.watchdog"],
        "lets a kernel run for ever",
        |c| {
            let answer = c.pass();
            let endless = answer == code(LaunchFailed)
                && kind_of_fault(c).is_some_and(|kind| is_watchdog(&kind));
            if endless { hang_if(true, c) } else { answer }
        },
    )
    .showing_as(Verdict::Timeout),
    launch(
        "watchdog-silent",
        &["launch.fault.watchdog"],
        "stops a kernel that never ends and answers 0",
        |c| forgiving(c, is_watchdog),
    ),
    launch(
        "watchdog-code",
        &["launch.fault.watchdog"],
        "answers invalid-args when it stops a kernel that never ends",
        |c| match c.pass() {
            answer
                if answer == code(LaunchFailed)
                    && kind_of_fault(c).is_some_and(|kind| is_watchdog(&kind)) =>
            {
                code(InvalidArgs)
            }
            answer => answer,
        },
    ),
    launch(
        "watchdog-deadlock-silent",
        &["launch.fault.watchdog"],
        "ends a kernel whose barrier can never complete and answers 0",
        |c| {
            forgiving(c, |kind| {
                matches!(
                    kind,
                    FaultKind::Deadlock { .. } | FaultKind::BadBarrier { .. }
                )
            })
        },
    ),
    launch(
        "fault-sticky",
        &["launch.fault.contained"],
        "launches nothing any more after a fault",
        |c| sticky(c, |_| true),
    ),
    launch(
        "fault-trap-sticky",
        &["launch.fault.contained"],
        "launches nothing any more after a `trap`",
        |c| sticky(c, |kind| matches!(kind, FaultKind::Trap)),
    ),
    launch(
        "fault-wrong-results-after",
        &["launch.fault.contained"],
        "drops what kernels write after a fault",
        |c| {
            if c.notes().flag {
                let mut memory = c.memory_with_room(0);
                return c.pass_on(&mut memory);
            }
            let answer = c.pass();
            c.notes().flag = answer == code(LaunchFailed);
            answer
        },
    ),
    launch(
        "watchdog-sticky",
        &["launch.fault.contained"],
        "launches nothing any more after it stopped a kernel",
        |c| sticky(c, is_watchdog),
    ),
    launch(
        "fault-sticky-everywhere",
        &["launch.fault.other-instances"],
        "launches nothing any more for anyone after a fault",
        |c| {
            let other = c.world.notes.number;
            let me = c.me as i64 + 1;
            if other != 0 && other != me {
                return code(LaunchFailed);
            }
            let answer = c.pass();
            if answer == code(LaunchFailed) {
                c.world.notes.number = me;
            }
            answer
        },
    ),
    Deviant::new(
        "fault-reported-to-others",
        &["launch.fault.other-instances"],
        "reports a fault at the next sync of any instance",
        &[Launch, Sync],
        |c| {
            let faulted = c.world.notes.number;
            let me = c.me as i64 + 1;
            if c.import == Sync && faulted != 0 && faulted != me {
                return code(LaunchFailed);
            }
            let answer = c.pass();
            if c.import == Launch && answer == code(LaunchFailed) {
                c.world.notes.number = me;
            }
            answer
        },
    ),
    Deviant::new(
        "fault-message-for-all",
        &["launch.fault.other-instances"],
        "shows the message of a fault to every instance",
        &[Launch, LastErrorLen],
        |c| {
            let answer = c.pass();
            match c.import {
                Launch if answer == code(LaunchFailed) => c.world.notes.flag = true,
                LastErrorLen if answer == 0 && c.world.notes.flag => return 16,
                _ => {}
            }
            answer
        },
    ),
];

const fn launch(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[Launch], act)
}

/// What the calling guest's newest kernel did wrong.
fn kind_of_fault(c: &mut Call<'_>) -> Option<FaultKind> {
    match c.device_error()? {
        DeviceError::Launch(error) => match &**error {
            LaunchError::Fault(fault) => Some(fault.kind.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn is_watchdog(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::BudgetExhausted(_))
}

/// Answers 0 to faults of some kind.
fn forgiving(c: &mut Call<'_>, forgiven: fn(&FaultKind) -> bool) -> i64 {
    match c.pass() {
        answer
            if answer == code(LaunchFailed)
                && kind_of_fault(c).is_some_and(|kind| forgiven(&kind)) =>
        {
            0
        }
        answer => answer,
    }
}

/// Fails every launch after a fault of some kind.
fn sticky(c: &mut Call<'_>, sticks: fn(&FaultKind) -> bool) -> i64 {
    if c.notes().flag {
        return code(LaunchFailed);
    }
    let answer = c.pass();
    if answer == code(LaunchFailed) {
        let sticks = kind_of_fault(c).is_some_and(|kind| sticks(&kind));
        c.notes().flag = sticks;
    }
    answer
}
