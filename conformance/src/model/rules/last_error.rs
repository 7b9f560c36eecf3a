//! `wasi_cuda_last_error_len` and `wasi_cuda_last_error_copy`

use super::View;
use crate::model::allowed::{Allowed, Deviation, Success, What};
use crate::model::codes::Code;
use crate::model::instance::{Instance, LONGEST_MESSAGE_BYTES};
use crate::model::memory::Region;
use crate::model::rule::{self, Rule, Rules};

pub(super) fn allowed_len(view: &View<'_>) -> Allowed {
    let message = &view.instance.message;
    let (low, high) = (message.low, message.high);
    let mut allowed = Allowed::success(
        Success::Bytes { low, high },
        promise(view.instance),
        view.strict,
    );
    if low < high && high == LONGEST_MESSAGE_BYTES {
        allowed.rules.add(rule::LAST_ERROR_LENGTH_CAP);
    }
    allowed
}

pub(super) fn allowed_copy(view: &View<'_>, dst_ptr: i32, dst_len: i32) -> Allowed {
    let instance = view.instance;
    let message = &instance.message;
    let room = dst_len.cast_unsigned();
    let (low, high) = (message.low.min(room), message.high.min(room));
    let promise = if message.high > room {
        rule::LAST_ERROR_TRUNCATE
    } else if message.high == 0 {
        rule::LAST_ERROR_NONE
    } else {
        rule::LAST_ERROR_COPY
    };
    let mut allowed = Allowed::success(Success::Bytes { low, high }, promise, view.strict);
    if message.low == 1 && message.high > 1 {
        // Nobody has seen this message yet: that there is one is a requirement of its own.
        allowed.rules.add(rule::LAST_ERROR_RECORDED);
    }
    match instance.memory.region(dst_ptr, room) {
        Region::Inside => {
            if dst_len < 0 {
                allowed.may(Code::INVALID_POINTER);
            }
        }
        Region::Either => allowed.may(Code::INVALID_POINTER),
        Region::Outside(absent) => {
            // Hole 15: what the message needs of the destination may be inside.
            let at = u64::from(dst_ptr.cast_unsigned());
            let inside = match absent {
                Some(_) => 0,
                None => instance.memory.size_bytes.saturating_sub(at),
            };
            let most = u32::try_from(inside).unwrap_or(u32::MAX).min(high);
            if low == 0 || low <= most {
                allowed.success = Success::Bytes { low, high: most };
            } else {
                allowed.must_fail(rule::LAST_ERROR_REGION);
            }
            allowed.may(Code::INVALID_POINTER);
        }
    }
    allowed
}

pub(super) fn apply_len(instance: &mut Instance, result: i64) {
    let len = u32::try_from(result).unwrap_or(u32::MAX);
    (instance.message.low, instance.message.high) = (len, len);
}

pub(super) fn apply_copy(instance: &mut Instance, dst_ptr: i32, dst_len: i32, result: i64) {
    let count = u32::try_from(result).unwrap_or(u32::MAX);
    let at = dst_ptr.cast_unsigned();
    instance.disturb(u64::from(at), u64::from(count));
    let message = &mut instance.message;
    if count < dst_len.cast_unsigned() {
        (message.low, message.high) = (count, count);
    } else {
        message.low = message.low.max(count);
    }
    match message.seen.get(..count as usize) {
        Some(bytes) => instance.memory.contents.write(u64::from(at), bytes),
        None => {
            message.copied = Some((at, count));
            instance
                .memory
                .contents
                .forget(u64::from(at), u64::from(count));
        }
    }
}

/// Whether a refused copy is recorded is open (erratum 15): the message may have changed.
pub(super) fn refused(instance: &mut Instance, strict: bool) {
    let perhaps_none = instance.message.low == 0;
    instance.failed(strict);
    if perhaps_none {
        instance.message.low = 0;
    }
}

/// Looks at a message that was copied to `at`.
pub(in crate::model) fn learn(
    instance: &mut Instance,
    at: u32,
    bytes: &[u8],
) -> Result<(), Deviation> {
    let message = &mut instance.message;
    message.copied = None;
    let differs = message.seen.iter().zip(bytes).position(|(a, b)| a != b);
    if let Some(index) = differs {
        let what = What::MessageChanged {
            index,
            at: place(at, index),
            expected: message.seen[index],
            actual: bytes[index],
        };
        return Err(Deviation::new(what, Rules::one(rule::LAST_ERROR_STAYS)));
    }
    if bytes.len() > message.seen.len() {
        message.seen.clear();
        message.seen.extend_from_slice(bytes);
    }
    let whole = message.low == message.high && message.high as usize == bytes.len();
    let bad = match std::str::from_utf8(bytes) {
        // A copy that is cut may end within a character.
        Err(error) if whole || error.error_len().is_some() => Some(error.valid_up_to()),
        _ => bytes.iter().position(|byte| *byte == 0),
    };
    match bad {
        None => Ok(()),
        Some(index) => {
            let what = What::MessageNotText {
                index,
                at: place(at, index),
                actual: bytes[index],
            };
            Err(Deviation::new(what, Rules::one(rule::LAST_ERROR_UTF8)))
        }
    }
}

fn promise(instance: &Instance) -> &'static Rule {
    let message = &instance.message;
    if message.high == 0 {
        rule::LAST_ERROR_NONE
    } else if message.low == message.high {
        rule::LAST_ERROR_STAYS
    } else {
        rule::LAST_ERROR_RECORDED
    }
}

fn place(at: u32, index: usize) -> u32 {
    at.saturating_add(u32::try_from(index).unwrap_or(u32::MAX))
}
