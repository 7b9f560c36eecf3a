//! `wasi_cuda_free`

use super::View;
use crate::model::allowed::{Allowed, Success};
use crate::model::codes::Code;
use crate::model::instance::Instance;
use crate::model::rule::{self, Rule};
use crate::profile::Profile;

pub(super) fn allowed(view: &View<'_>, handle: i64) -> Allowed {
    let mut allowed = Allowed::success(Success::Zero, rule::FREE_HANDLE, view.strict);
    if view.instance.buffers.get(handle).is_none() {
        let rule = why_unknown(
            view,
            handle,
            rule::FREE_HANDLE,
            rule::FREE_TWICE,
            rule::FREE_FOREIGN,
        );
        allowed.fault(Code::INVALID_HANDLE, rule);
        if view.profile == Profile::NoDevice {
            // Hole 19, and there is no device either.
            allowed.may(Code::NOT_AVAILABLE);
        }
    }
    allowed
}

pub(super) fn apply(instance: &mut Instance, handle: i64) {
    if let Some(buffer) = instance.buffers.remove(handle) {
        instance.buffer_bytes = instance.buffer_bytes.saturating_sub(buffer.size_bytes);
    }
}

/// The requirement by which a handle that is no live one of this instance is refused.
pub(super) fn why_unknown(
    view: &View<'_>,
    handle: i64,
    made_up: &'static Rule,
    freed: &'static Rule,
    foreign: &'static Rule,
) -> &'static Rule {
    let low_half = |handle: i64| handle & 0xFFFF_FFFF;
    if view.instance.buffers.was_given(handle) {
        return freed;
    }
    let mut others = view.model.instances.iter().flatten();
    if others.any(|other| other.buffers.get(handle).is_some()) {
        return foreign;
    }
    let near = |id: i64| id != handle && low_half(id) == low_half(handle);
    if view.instance.buffers.nth(0).is_some_and(near) {
        return rule::HANDLE_IS_64_BIT;
    }
    made_up
}
