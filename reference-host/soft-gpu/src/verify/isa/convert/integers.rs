//! Conversions between integer types.

use super::super::super::body::Body;
use super::super::super::error::Checked;
use crate::ast::Pos;
use crate::code::LaneOpOf;
use crate::exec::ops::LaneOp;
use crate::types::Type;

/// Whether an integer type holds every value of another.
pub(super) fn is_superset(to: Type, from: Type) -> bool {
    match (to.is_signed(), from.is_signed()) {
        (false, true) => false,
        (true, false) => to.bytes() > from.bytes(),
        _ => to.bytes() >= from.bytes(),
    }
}

/// Between integer types.
pub(super) fn between<'a>(
    body: &mut Body<'a>,
    source: u32,
    from: Type,
    to: Type,
    saturate: bool,
    pos: Pos,
) -> Checked<u32> {
    let wide_from = from.bytes() == 8;
    let wide_to = to.bytes() == 8;
    let source = if saturate {
        saturated(body, source, from, to, pos)?
    } else {
        source
    };
    // Saturation to 16 bits or less has already narrowed a 64-bit source.
    let wide_from = wide_from && !(saturate && to.bytes() <= 2);
    let value = body.fresh(if wide_to { Type::B64 } else { Type::B32 }, pos)?;
    let op: LaneOpOf = match (wide_from, wide_to) {
        (false, false) => LaneOp::Mov32,
        (true, true) => LaneOp::Mov64,
        (true, false) => LaneOp::Low32,
        (false, true) if from.is_signed() => LaneOp::SignExtend,
        (false, true) => LaneOp::ZeroExtend,
    };
    body.lane(op, value, source, 0, 0);
    Ok(value)
}

/// The source clamped to the range of `to`.
fn saturated<'a>(body: &mut Body<'a>, source: u32, from: Type, to: Type, pos: Pos) -> Checked<u32> {
    let signed = from.is_signed();
    let op: LaneOpOf = match (from.bytes() == 8, signed, to) {
        (false, true, Type::S8) => LaneOp::SatS32ToS8,
        (false, true, Type::S16) => LaneOp::SatS32ToS16,
        (false, true, Type::U8) => LaneOp::SatS32ToU8,
        (false, true, Type::U16) => LaneOp::SatS32ToU16,
        (false, true, Type::U32) => LaneOp::SatS32ToU32,
        // A negative value clamps to 0 before it is widened.
        (false, true, Type::U64) => LaneOp::SatS32ToU32,
        (false, false, Type::S8) => LaneOp::SatU32ToS8,
        (false, false, Type::S16) => LaneOp::SatU32ToS16,
        (false, false, Type::S32) => LaneOp::SatU32ToS32,
        (false, false, Type::U8) => LaneOp::SatU32ToU8,
        (false, false, Type::U16) => LaneOp::SatU32ToU16,
        (true, true, Type::S8) => LaneOp::SatS64ToS8,
        (true, true, Type::S16) => LaneOp::SatS64ToS16,
        (true, true, Type::U8) => LaneOp::SatS64ToU8,
        (true, true, Type::U16) => LaneOp::SatS64ToU16,
        (true, true, Type::S32) => LaneOp::SatS64ToS32,
        (true, true, Type::U32) => LaneOp::SatS64ToU32,
        (true, true, Type::U64) => LaneOp::SatS64ToU64,
        (true, false, Type::S8) => LaneOp::SatU64ToS8,
        (true, false, Type::S16) => LaneOp::SatU64ToS16,
        (true, false, Type::U8) => LaneOp::SatU64ToU8,
        (true, false, Type::U16) => LaneOp::SatU64ToU16,
        (true, false, Type::S32) => LaneOp::SatU64ToS32,
        (true, false, Type::U32) => LaneOp::SatU64ToU32,
        (true, false, Type::S64) => LaneOp::SatU64ToS64,
        _ => return Ok(source),
    };
    let stays_wide = from.bytes() == 8 && to.bytes() > 2;
    let value = body.fresh(if stays_wide { Type::B64 } else { Type::B32 }, pos)?;
    body.lane(op, value, source, 0, 0);
    Ok(value)
}
