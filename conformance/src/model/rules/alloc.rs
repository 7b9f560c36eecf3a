//! `wasi_cuda_alloc`

use super::{View, judge_device, judge_id};
use crate::model::allowed::{Allowed, Deviation, Success};
use crate::model::call::Call;
use crate::model::codes::Code;
use crate::model::contents::Contents;
use crate::model::instance::{Buffer, Instance};
use crate::model::rule;
use crate::profile::Profile;

pub(super) fn allowed(view: &View<'_>, size_bytes: u64) -> Allowed {
    let instance = view.instance;
    let mut allowed = Allowed::success(Success::Id, rule::ALLOC_HANDLE, view.strict);
    if size_bytes == 0 {
        allowed.fault(Code::INVALID_ARGS, rule::ALLOC_ZERO);
    }
    if size_bytes > MAX_ALLOC_BYTES {
        allowed.fault(Code::QUOTA_EXCEEDED, rule::ALLOC_SIZE_CAP);
        if size_bytes > u64::from(u32::MAX) {
            allowed.fault(Code::QUOTA_EXCEEDED, rule::ALLOC_SIZE_IS_64_BIT);
        }
    }
    if instance.buffers.len() >= MAX_BUFFERS {
        allowed.fault(Code::QUOTA_EXCEEDED, rule::ALLOC_COUNT_CAP);
    }
    if instance.buffer_bytes.saturating_add(size_bytes) > MAX_TOTAL_BYTES {
        allowed.fault(Code::QUOTA_EXCEEDED, rule::ALLOC_BYTE_CAP);
    }
    let (mut count, mut bytes) = (1, size_bytes);
    for other in view.model.instances.iter().flatten() {
        count += other.buffers.len();
        bytes = bytes.saturating_add(other.buffer_bytes);
    }
    if count > PROCESS_FACTOR * MAX_BUFFERS || bytes > PROCESS_FACTOR as u64 * MAX_TOTAL_BYTES {
        allowed.fault(Code::QUOTA_EXCEEDED, rule::INSTANCE_PROCESS_BUDGET);
    }
    if bytes > view.model.options.device_bytes && view.profile == Profile::Device {
        allowed.may(Code::LAUNCH_FAILED);
    }
    judge_device(view, &mut allowed, rule::PROFILE_NO_DEVICE_ALLOC);
    // Hole 19: a host may count what it did not grant.
    let (count, bytes) = instance.ungranted;
    if count >= MAX_BUFFERS as u64 || bytes.saturating_add(size_bytes) > MAX_TOTAL_BYTES {
        allowed.may(Code::QUOTA_EXCEEDED);
    }
    allowed
}

pub(super) fn apply(
    instance: &mut Instance,
    call: &Call,
    size_bytes: u64,
    handle: i64,
) -> Result<(), Deviation> {
    judge_id(
        call,
        handle,
        instance.buffers.get(handle).is_some(),
        instance.buffers.was_given(handle),
        rule::ALLOC_HANDLE_UNIQUE,
        rule::ALLOC_HANDLE_NOT_REUSED,
    )?;
    instance.buffer_bytes += size_bytes;
    let contents = Contents::default();
    instance.buffers.insert(
        handle,
        Buffer {
            size_bytes,
            contents,
        },
    );
    Ok(())
}

pub(super) fn refused_without_device(instance: &mut Instance, size_bytes: u64, code: Option<Code>) {
    if code == Some(Code::NOT_AVAILABLE) {
        instance.ungranted.0 += 1;
        instance.ungranted.1 = instance.ungranted.1.saturating_add(size_bytes);
    }
}

/// Largest buffer.
const MAX_ALLOC_BYTES: u64 = 256 << 20;

/// Live buffers of an instance.
const MAX_BUFFERS: usize = 4096;

/// Bytes in live buffers of an instance.
const MAX_TOTAL_BYTES: u64 = 16 * MAX_ALLOC_BYTES;

/// How much more than one instance all together may hold.
const PROCESS_FACTOR: usize = 4;
