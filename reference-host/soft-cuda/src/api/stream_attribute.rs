//! What a program wishes of a stream beside its flags, and that no stream is being captured.

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_ulonglong};

use crate::api::graph_params::CUgraphEdgeData;
use crate::call::{Done, api, put, put_wanted, take};
use crate::error::Error;
use crate::stream::{GREATEST_PRIORITY, LEAST_PRIORITY, Target};
use crate::types::{CUgraph, CUgraphNode, CUstream};

/// `CUstreamAttrValue`: a value of an attribute, of a type that depends on it.
pub type AttributeValue = [u64; 8];

api! {
    /// A wish of a stream.
    ready fn cuStreamGetAttribute(stream: CUstream, attribute: c_uint, value: *mut AttributeValue) {
        let target = Target::of(stream)?;
        let is = wish(&target, attribute)?;
        // SAFETY: null, or the program's place for a value.
        unsafe { put(value, is) }
    }

    /// Sets a wish of a stream; it is kept, and means nothing here but for the priority that is told.
    ready fn cuStreamSetAttribute(stream: CUstream, attribute: c_uint, value: *const AttributeValue) {
        // SAFETY: null, or the program's value; any bits are one.
        let value = unsafe { take(value) }?;
        let target = Target::of(stream)?;
        set_wish(&target, attribute, value)
    }

    /// Has a stream wish what another wishes, of the same context.
    ready fn cuStreamCopyAttributes(to: CUstream, from: CUstream) {
        let (to, from) = (Target::of(to)?, Target::of(from)?);
        if to.context.serial != from.context.serial {
            return Err(Error::InvalidValue);
        }
        for attribute in ATTRIBUTES {
            set_wish(&to, *attribute, wish(&from, *attribute)?)?;
        }
        Ok(())
    }

    /// Whether a stream is being captured: never.
    ready fn cuStreamIsCapturing(stream: CUstream, status: *mut c_uint) {
        Target::of(stream)?;
        // SAFETY: null, or the program's place for a status.
        unsafe { put(status, NOT_CAPTURED) }
    }

    /// What a stream is captured into: nothing.
    ready fn cuStreamGetCaptureInfo_v2(
        stream: CUstream,
        status: *mut c_uint,
        _id: *mut c_ulonglong,
        _graph: *mut CUgraph,
        _dependencies: *mut *const CUgraphNode,
        _number: *mut usize,
    ) {
        Target::of(stream)?;
        // SAFETY: null, or the program's place for a status.
        unsafe { put(status, NOT_CAPTURED) }
    }

    /// What a stream is captured into: nothing.
    ready fn cuStreamGetCaptureInfo_v3(
        stream: CUstream,
        status: *mut c_uint,
        _id: *mut c_ulonglong,
        _graph: *mut CUgraph,
        _dependencies: *mut *const CUgraphNode,
        _data: *mut *const CUgraphEdgeData,
        _number: *mut usize,
    ) {
        Target::of(stream)?;
        // SAFETY: null, or the program's place for a status.
        unsafe { put(status, NOT_CAPTURED) }
    }

    /// Changes what the calling thread may do while it captures, and gives what it was; kept for who restores it.
    ready fn cuThreadExchangeStreamCaptureMode(mode: *mut c_uint) {
        // SAFETY: null, or the program's mode.
        let new = unsafe { take(mode) }?;
        if new > LAST_MODE {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null: the program's mode.
        unsafe { put_wanted(mode, MODE.replace(new)) };
        Ok(())
    }
}

fn wish(target: &Target, attribute: c_uint) -> Result<AttributeValue, Error> {
    if !ATTRIBUTES.contains(&attribute) {
        return Err(Error::InvalidValue);
    }
    if attribute == PRIORITY {
        let priority = target.with(|stream| stream.priority)?;
        return Ok(word(priority));
    }
    let state = target.context.open()?;
    let kept = state.stream_wishes.get(&(target.stream, attribute));
    Ok(kept.copied().unwrap_or(match attribute {
        SYNCHRONIZATION_POLICY => word(1),
        // The remote domain is the second.
        MEM_SYNC_DOMAIN_MAP => [0x100, 0, 0, 0, 0, 0, 0, 0],
        _ => [0; 8],
    }))
}

fn set_wish(target: &Target, attribute: c_uint, value: AttributeValue) -> Done {
    if !ATTRIBUTES.contains(&attribute) {
        return Err(Error::InvalidValue);
    }
    if attribute == PRIORITY {
        let [first, ..] = value;
        let priority = (first & 0xFFFF_FFFF) as u32 as c_int;
        if !(GREATEST_PRIORITY..=LEAST_PRIORITY).contains(&priority) {
            return Err(Error::InvalidValue);
        }
        return target.set_priority(priority);
    }
    let mut state = target.context.open()?;
    state
        .stream_wishes
        .insert((target.stream, attribute), value);
    Ok(())
}

fn word(value: c_int) -> AttributeValue {
    [u64::from(value.cast_unsigned()), 0, 0, 0, 0, 0, 0, 0]
}

thread_local! {
    static MODE: Cell<c_uint> = const { Cell::new(0) };
}

const NOT_CAPTURED: c_uint = 0;
const LAST_MODE: c_uint = 2;
const SYNCHRONIZATION_POLICY: c_uint = 3;
const PRIORITY: c_uint = 8;
const MEM_SYNC_DOMAIN_MAP: c_uint = 9;
/// Those that streams have: a window of kept lines, how to wait, the priority, and the domains of memory.
const ATTRIBUTES: &[c_uint] = &[1, SYNCHRONIZATION_POLICY, PRIORITY, MEM_SYNC_DOMAIN_MAP, 10];
