//! Conversions from and to floating point.

use super::super::super::body::Body;
use super::super::super::error::Checked;
use super::super::half;
use crate::ast::Pos;
use crate::code::{LaneOpOf, RareOpOf};
use crate::exec::float::Rounding;
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
use crate::types::Type;

/// Float to integer: round to an integral value, then cast with saturation.
pub(super) fn to_integer<'a>(
    body: &mut Body<'a>,
    source: u32,
    from: Type,
    to: Type,
    rounding: Rounding,
    pos: Pos,
) -> Checked<u32> {
    let rounded = body.fresh(from, pos)?;
    body.lane(integral_op(from, rounding), rounded, source, 0, 0);
    let value = body.fresh(
        if to.bytes() == 8 {
            Type::B64
        } else {
            Type::B32
        },
        pos,
    )?;
    let op: LaneOpOf = match (from, to) {
        (Type::F32, Type::S8) => LaneOp::F32ToS8,
        (Type::F32, Type::U8) => LaneOp::F32ToU8,
        (Type::F32, Type::S16) => LaneOp::F32ToS16,
        (Type::F32, Type::U16) => LaneOp::F32ToU16,
        (Type::F32, Type::S32) => LaneOp::F32ToS32,
        (Type::F32, Type::U32) => LaneOp::F32ToU32,
        (Type::F32, Type::S64) => LaneOp::F32ToS64,
        (Type::F32, _) => LaneOp::F32ToU64,
        (_, Type::S8) => LaneOp::F64ToS8,
        (_, Type::U8) => LaneOp::F64ToU8,
        (_, Type::S16) => LaneOp::F64ToS16,
        (_, Type::U16) => LaneOp::F64ToU16,
        (_, Type::S32) => LaneOp::F64ToS32,
        (_, Type::U32) => LaneOp::F64ToU32,
        (_, Type::S64) => LaneOp::F64ToS64,
        _ => LaneOp::F64ToU64,
    };
    body.lane(op, value, rounded, 0, 0);
    Ok(value)
}

fn integral_op(ty: Type, rounding: Rounding) -> LaneOpOf {
    match (ty, rounding) {
        (Type::F32, Rounding::Nearest) => LaneOp::RoundNearestF32,
        (Type::F32, Rounding::Zero) => LaneOp::RoundZeroF32,
        (Type::F32, Rounding::Down) => LaneOp::RoundDownF32,
        (Type::F32, Rounding::Up) => LaneOp::RoundUpF32,
        (_, Rounding::Nearest) => LaneOp::RoundNearestF64,
        (_, Rounding::Zero) => LaneOp::RoundZeroF64,
        (_, Rounding::Down) => LaneOp::RoundDownF64,
        (_, Rounding::Up) => LaneOp::RoundUpF64,
    }
}

/// Integer to float, rounded once.
pub(super) fn of_integer<'a>(
    body: &mut Body<'a>,
    source: u32,
    from: Type,
    to: Type,
    rounding: Rounding,
    pos: Pos,
) -> Checked<u32> {
    if half::is_half(to) {
        return half_of_integer(body, source, from, to, rounding, pos);
    }
    let value = body.fresh(to, pos)?;
    let signed = from.is_signed();
    let op: LaneOpOf = match (from.bytes() == 8, to, signed, rounding) {
        (false, Type::F32, true, Rounding::Nearest) => LaneOp::S32ToF32,
        (false, Type::F32, true, Rounding::Zero) => LaneOp::S32ToF32Rz,
        (false, Type::F32, true, Rounding::Down) => LaneOp::S32ToF32Rm,
        (false, Type::F32, true, Rounding::Up) => LaneOp::S32ToF32Rp,
        (false, Type::F32, false, Rounding::Nearest) => LaneOp::U32ToF32,
        (false, Type::F32, false, Rounding::Zero) => LaneOp::U32ToF32Rz,
        (false, Type::F32, false, Rounding::Down) => LaneOp::U32ToF32Rm,
        (false, Type::F32, false, Rounding::Up) => LaneOp::U32ToF32Rp,
        // Every 32-bit integer is a double exactly, whatever the rounding.
        (false, _, true, _) => LaneOp::S32ToF64,
        (false, _, false, _) => LaneOp::U32ToF64,
        (true, Type::F32, true, Rounding::Nearest) => LaneOp::S64ToF32,
        (true, Type::F32, true, Rounding::Zero) => LaneOp::S64ToF32Rz,
        (true, Type::F32, true, Rounding::Down) => LaneOp::S64ToF32Rm,
        (true, Type::F32, true, Rounding::Up) => LaneOp::S64ToF32Rp,
        (true, Type::F32, false, Rounding::Nearest) => LaneOp::U64ToF32,
        (true, Type::F32, false, Rounding::Zero) => LaneOp::U64ToF32Rz,
        (true, Type::F32, false, Rounding::Down) => LaneOp::U64ToF32Rm,
        (true, Type::F32, false, Rounding::Up) => LaneOp::U64ToF32Rp,
        (true, _, true, Rounding::Nearest) => LaneOp::S64ToF64,
        (true, _, true, Rounding::Zero) => LaneOp::S64ToF64Rz,
        (true, _, true, Rounding::Down) => LaneOp::S64ToF64Rm,
        (true, _, true, Rounding::Up) => LaneOp::S64ToF64Rp,
        (true, _, false, Rounding::Nearest) => LaneOp::U64ToF64,
        (true, _, false, Rounding::Zero) => LaneOp::U64ToF64Rz,
        (true, _, false, Rounding::Down) => LaneOp::U64ToF64Rm,
        (true, _, false, Rounding::Up) => LaneOp::U64ToF64Rp,
    };
    body.lane(op, value, source, 0, 0);
    Ok(value)
}

/// Between `.f32`, `.f64` and, as a result, the 16-bit types.
pub(super) fn between<'a>(
    body: &mut Body<'a>,
    source: u32,
    from: Type,
    to: Type,
    integral: Option<Rounding>,
    rounding: Option<Rounding>,
    pos: Pos,
) -> Checked<u32> {
    if half::is_half(to) {
        return half_of_float(body, source, from, to, integral, rounding, pos);
    }
    let value = body.fresh(to, pos)?;
    let op: LaneOpOf = match (from, to) {
        (Type::F32, Type::F64) => LaneOp::F32ToF64,
        (Type::F64, Type::F32) => match rounding.unwrap_or(Rounding::Nearest) {
            Rounding::Nearest => LaneOp::F64ToF32,
            Rounding::Zero => LaneOp::F64ToF32Rz,
            Rounding::Down => LaneOp::F64ToF32Rm,
            Rounding::Up => LaneOp::F64ToF32Rp,
        },
        _ => match integral {
            Some(integral) => integral_op(from, integral),
            None if from == Type::F32 => LaneOp::CanonF32,
            None => LaneOp::CanonF64,
        },
    };
    body.lane(op, value, source, 0, 0);
    Ok(value)
}

/// A 16-bit float as single precision.
pub(super) fn widened<'a>(body: &mut Body<'a>, source: u32, from: Type, pos: Pos) -> Checked<u32> {
    let value = body.fresh(Type::F32, pos)?;
    let op = half::either(from, RareOp::F16ToF32, RareOp::Bf16ToF32);
    body.lane(op, value, source, 0, 0);
    Ok(value)
}

/// An integer goes through a double that rounds as the integer itself does.
fn half_of_integer<'a>(
    body: &mut Body<'a>,
    source: u32,
    from: Type,
    to: Type,
    rounding: Rounding,
    pos: Pos,
) -> Checked<u32> {
    let double = body.fresh(Type::F64, pos)?;
    match (from.bytes() == 8, from.is_signed()) {
        (false, true) => body.lane(LaneOp::S32ToF64, double, source, 0, 0),
        (false, false) => body.lane(LaneOp::U32ToF64, double, source, 0, 0),
        (true, true) => body.lane(RareOp::S64ToOddF64, double, source, 0, 0),
        (true, false) => body.lane(RareOp::U64ToOddF64, double, source, 0, 0),
    }
    let value = body.fresh(to, pos)?;
    body.lane(half_of_double(to, rounding), value, double, 0, 0);
    Ok(value)
}

fn half_of_float<'a>(
    body: &mut Body<'a>,
    source: u32,
    from: Type,
    to: Type,
    integral: Option<Rounding>,
    rounding: Option<Rounding>,
    pos: Pos,
) -> Checked<u32> {
    let value = body.fresh(to, pos)?;
    let rounding = rounding.unwrap_or(Rounding::Nearest);
    if from == Type::F64 {
        body.lane(half_of_double(to, rounding), value, source, 0, 0);
        return Ok(value);
    }
    let source = match integral {
        Some(integral) => {
            let rounded = body.fresh(from, pos)?;
            body.lane(integral_op(from, integral), rounded, source, 0, 0);
            rounded
        }
        None => source,
    };
    body.lane(half_of_single(to, rounding), value, source, 0, 0);
    Ok(value)
}

/// Single precision to a 16-bit type.
pub(super) fn half_of_single(to: Type, rounding: Rounding) -> RareOpOf {
    match rounding {
        Rounding::Nearest => half::either(to, RareOp::F32ToF16, RareOp::F32ToBf16),
        Rounding::Zero => half::either(to, RareOp::F32ToF16Rz, RareOp::F32ToBf16Rz),
        Rounding::Down => half::either(to, RareOp::F32ToF16Rm, RareOp::F32ToBf16Rm),
        Rounding::Up => half::either(to, RareOp::F32ToF16Rp, RareOp::F32ToBf16Rp),
    }
}

fn half_of_double(to: Type, rounding: Rounding) -> RareOpOf {
    match rounding {
        Rounding::Nearest => half::either(to, RareOp::F64ToF16, RareOp::F64ToBf16),
        Rounding::Zero => half::either(to, RareOp::F64ToF16Rz, RareOp::F64ToBf16Rz),
        Rounding::Down => half::either(to, RareOp::F64ToF16Rm, RareOp::F64ToBf16Rm),
        Rounding::Up => half::either(to, RareOp::F64ToF16Rp, RareOp::F64ToBf16Rp),
    }
}
