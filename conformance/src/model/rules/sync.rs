//! `wasi_cuda_sync`

use super::View;
use crate::model::allowed::{Allowed, Success};
use crate::model::codes::Code;
use crate::model::instance::Instance;
use crate::model::kernel::Faults;
use crate::model::rule;

pub(super) fn allowed(view: &View<'_>) -> Allowed {
    match view.instance.fault {
        Faults::Never => Allowed::success(Success::Zero, rule::SYNC_IDLE, view.strict),
        Faults::Perhaps => {
            let mut allowed = Allowed::success(Success::Zero, rule::SYNC_EFFECTS, view.strict);
            allowed.may(Code::LAUNCH_FAILED);
            allowed
        }
        Faults::Surely => Allowed::refusal(
            Code::LAUNCH_FAILED,
            rule::LAUNCH_FAULT_REPORTED,
            view.strict,
        ),
    }
}

/// What was in flight is in memory.
pub(super) fn apply(instance: &mut Instance) {
    let mut pending = std::mem::take(&mut instance.pending);
    for launch in pending.drain(..) {
        if launch.disturbed {
            instance
                .memory
                .contents
                .forget(launch.wrote.0, launch.wrote.1);
        }
    }
    instance.pending = pending;
    instance.fault = Faults::Never;
}

/// What was in flight may be in memory or not.
pub(super) fn refused(instance: &mut Instance) {
    for launch in &mut instance.pending {
        launch.disturbed = true;
    }
    apply(instance);
}
