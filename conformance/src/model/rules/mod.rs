//! The rules, import by import.

mod alloc;
mod free;
pub(super) mod last_error;
mod launch;
mod load_ptx;
mod memcpy;
mod sync;

use super::allowed::{Allowed, Deviation, Success, What};
use super::call::{Call, Import, handle, whole};
use super::codes::Code;
use super::instance::Instance;
use super::memory::Region;
use super::rule::{self, Rule};
use super::{Model, Options};
use crate::profile::Profile;

/// What a rule looks at.
struct View<'a> {
    model: &'a Model,
    instance: &'a Instance,
    profile: Profile,
    strict: bool,
}

pub(super) fn allowed(model: &Model, number: usize, call: &Call) -> Allowed {
    let strict = model.options.strict;
    if model.profile == Profile::Disabled {
        return Allowed::refusal(Code::NOT_AVAILABLE, rule::PROFILE_DISABLED, strict);
    }
    let Some(instance) = model.instance(number) else {
        return Allowed::success(Success::Id, rule::SYNC_IDLE, strict);
    };
    let view = View {
        model,
        instance,
        profile: model.profile,
        strict,
    };
    match *call {
        Call::LoadPtx {
            ptx_ptr,
            ptx_len,
            entry_ptr,
            entry_len,
        } => load_ptx::allowed(&view, (ptx_ptr, ptx_len), (entry_ptr, entry_len)),
        Call::Launch { .. } => launch::allowed(&view, call),
        Call::Sync => sync::allowed(&view),
        Call::LastErrorLen => last_error::allowed_len(&view),
        Call::LastErrorCopy { dst_ptr, dst_len } => {
            last_error::allowed_copy(&view, dst_ptr, dst_len)
        }
        Call::Alloc { size_lo, size_hi } => alloc::allowed(&view, whole(size_lo, size_hi)),
        Call::Free {
            handle_lo,
            handle_hi,
        } => free::allowed(&view, handle(handle_lo, handle_hi)),
        Call::MemcpyH2d {
            handle_lo,
            handle_hi,
            src_ptr,
            len,
        } => memcpy::allowed(
            &view,
            handle(handle_lo, handle_hi),
            src_ptr,
            len,
            rule::MEMCPY_H2D_REGION,
        ),
        Call::MemcpyD2h {
            dst_ptr,
            handle_lo,
            handle_hi,
            len,
        } => memcpy::allowed(
            &view,
            handle(handle_lo, handle_hi),
            dst_ptr,
            len,
            rule::MEMCPY_D2H_REGION,
        ),
    }
}

pub(super) fn apply(
    model: &mut Model,
    number: usize,
    call: &Call,
    result: i64,
) -> Result<(), Deviation> {
    let expected = allowed(model, number, call);
    if !expected.accepts(result) {
        let mut rules = expected.rules;
        let recorded = rule::LAST_ERROR_RECORDED;
        if call.import() == Import::LastErrorCopy
            && result == 0
            && rules.iter().any(|rule| rule.id == recorded.id)
        {
            // That there is a message at all is all that is broken.
            rules = rule::Rules::one(recorded);
        }
        return Err(Deviation::new(
            What::Answer {
                call: *call,
                expected,
                actual: result,
            },
            rules,
        ));
    }
    let (profile, options) = (model.profile, model.options);
    let Some(instance) = model.instance_mut(number) else {
        return Ok(());
    };
    if profile == Profile::Disabled {
        return Ok(());
    }
    instance.message.copied = None;
    if result < 0 {
        refused(instance, call, result, profile, options);
        return Ok(());
    }
    match *call {
        Call::LoadPtx {
            ptx_ptr,
            ptx_len,
            entry_ptr,
            entry_len,
        } => {
            let regions = (ptx_ptr, ptx_len, entry_ptr, entry_len);
            load_ptx::apply(instance, call, regions, result, options.strict)
        }
        Call::Launch { .. } => {
            launch::apply(instance, call);
            Ok(())
        }
        Call::Sync => {
            sync::apply(instance);
            Ok(())
        }
        Call::LastErrorLen => {
            last_error::apply_len(instance, result);
            Ok(())
        }
        Call::LastErrorCopy { dst_ptr, dst_len } => {
            last_error::apply_copy(instance, dst_ptr, dst_len, result);
            Ok(())
        }
        Call::Alloc { size_lo, size_hi } => {
            alloc::apply(instance, call, whole(size_lo, size_hi), result)
        }
        Call::Free {
            handle_lo,
            handle_hi,
        } => {
            free::apply(instance, handle(handle_lo, handle_hi));
            Ok(())
        }
        Call::MemcpyH2d {
            handle_lo,
            handle_hi,
            src_ptr,
            len,
        } => {
            memcpy::apply_h2d(instance, handle(handle_lo, handle_hi), src_ptr, len);
            Ok(())
        }
        Call::MemcpyD2h {
            dst_ptr,
            handle_lo,
            handle_hi,
            len,
        } => {
            memcpy::apply_d2h(instance, handle(handle_lo, handle_hi), dst_ptr, len);
            Ok(())
        }
    }
}

/// What a refusal does to the state: next to nothing.
fn refused(instance: &mut Instance, call: &Call, result: i64, profile: Profile, options: Options) {
    let code = Code::of_result(result);
    match call {
        Call::LastErrorLen => {}
        Call::LastErrorCopy { .. } => last_error::refused(instance, options.strict),
        Call::Sync => {
            sync::refused(instance);
            instance.failed(options.strict);
        }
        _ => {
            match *call {
                Call::Launch { .. } => launch::refused(instance, call, code),
                Call::Alloc { size_lo, size_hi } if profile == Profile::NoDevice => {
                    alloc::refused_without_device(instance, whole(size_lo, size_hi), code);
                }
                _ => {}
            }
            instance.failed(options.strict);
        }
    }
}

/// Adds what is wrong with a region that a call was given.
fn judge_region(allowed: &mut Allowed, region: Region, own: &'static Rule) -> bool {
    match region {
        Region::Inside => true,
        Region::Either => {
            allowed.may(Code::INVALID_POINTER);
            true
        }
        Region::Outside(rule) => {
            allowed.fault(Code::INVALID_POINTER, rule.unwrap_or(own));
            false
        }
    }
}

/// Adds the answer of a host without a device to a call that is otherwise good.
fn judge_device(view: &View<'_>, allowed: &mut Allowed, rule: &'static Rule) {
    if view.profile == Profile::NoDevice && allowed.can_succeed() {
        allowed.fault(Code::NOT_AVAILABLE, rule);
    }
}

/// An id or handle was given out: it must be a new one.
fn judge_id(
    call: &Call,
    id: i64,
    live: bool,
    given: bool,
    unique: &'static Rule,
    not_reused: &'static Rule,
) -> Result<(), Deviation> {
    if !live && !given {
        return Ok(());
    }
    let broken = if live { unique } else { not_reused };
    let what = What::IdAgain {
        call: *call,
        id,
        live,
    };
    Err(Deviation::new(what, rule::Rules::one(broken)))
}
