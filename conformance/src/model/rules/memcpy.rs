//! `wasi_cuda_memcpy_h2d` and `wasi_cuda_memcpy_d2h`

use super::free::why_unknown;
use super::{View, judge_region};
use crate::model::allowed::{Allowed, Success};
use crate::model::codes::Code;
use crate::model::instance::Instance;
use crate::model::memory::Region;
use crate::model::rule::{self, Rule};
use crate::profile::Profile;

pub(super) fn allowed(
    view: &View<'_>,
    handle: i64,
    guest_ptr: i32,
    len: i32,
    region_rule: &'static Rule,
) -> Allowed {
    let instance = view.instance;
    let promise = if len == 0 {
        rule::MEMCPY_EMPTY
    } else {
        rule::MEMCPY_ROUND_TRIP
    };
    let mut allowed = Allowed::success(Success::Zero, promise, view.strict);
    let bytes = len.cast_unsigned();
    let region = instance.memory.region(guest_ptr, bytes);
    if len == 0 {
        // A copy of no bytes is 0, and its handle and its region can be wrong: neither is said to come first.
        if region != Region::Inside {
            allowed.may(Code::INVALID_POINTER);
        }
        if instance.buffers.get(handle).is_none() {
            allowed.may(Code::INVALID_HANDLE);
            if view.profile == Profile::NoDevice {
                allowed.may(Code::NOT_AVAILABLE);
            }
        }
        return allowed;
    }
    judge_region(&mut allowed, region, region_rule);
    if len < 0 {
        allowed.may(Code::INVALID_POINTER);
    }
    match instance.buffers.get(handle) {
        None => {
            let rule = why_unknown(
                view,
                handle,
                rule::MEMCPY_HANDLE,
                rule::MEMCPY_HANDLE,
                rule::MEMCPY_FOREIGN,
            );
            allowed.fault(Code::INVALID_HANDLE, rule);
            if view.profile == Profile::NoDevice {
                // Erratum 22: the device is missing, whatever else is wrong.
                allowed.may(Code::NOT_AVAILABLE);
            }
        }
        Some(buffer) if u64::from(bytes) > buffer.size_bytes => {
            allowed.fault(Code::INVALID_ARGS, rule::MEMCPY_LENGTH);
        }
        Some(_) => {}
    }
    allowed
}

pub(super) fn apply_h2d(instance: &mut Instance, handle: i64, src_ptr: i32, len: i32) {
    let (at, len) = unsigned(src_ptr, len);
    let unsure = instance.in_flight(at, len) || instance.lost;
    if let Some(buffer) = instance.buffers.get_mut(handle) {
        if unsure {
            buffer.contents.forget(0, len);
        } else {
            buffer
                .contents
                .copy_from(0, &instance.memory.contents, at, len);
        }
    }
}

pub(super) fn apply_d2h(instance: &mut Instance, handle: i64, dst_ptr: i32, len: i32) {
    let (at, len) = unsigned(dst_ptr, len);
    instance.disturb(at, len);
    if let Some(buffer) = instance.buffers.get(handle) {
        instance
            .memory
            .contents
            .copy_from(at, &buffer.contents, 0, len);
    }
}

fn unsigned(at: i32, len: i32) -> (u64, u64) {
    (
        u64::from(at.cast_unsigned()),
        u64::from(len.cast_unsigned()),
    )
}
