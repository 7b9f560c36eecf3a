//! `cvt`: every pair of scalar types of 8 to 64 bits, with rounding and saturation.
//!
//! A conversion is lowered in up to three steps: bring the source to 32 or 64 bits by its own signedness, convert, and
//! bring the result to the destination register's width.
//! Source: PTX ISA, "Data Movement and Conversion Instructions: cvt".

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use crate::ast::Pos;
use crate::code::LaneOpOf;
use crate::exec::float::Rounding;
use crate::exec::ops::LaneOp;
use crate::types::Type;

const CONVERTIBLE: &[Type] = &[
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S8,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F32,
    Type::F64,
];

pub(super) fn cvt<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    if inst.modifiers.has(&["pack"]).is_some() {
        return inst.modifiers.unsupported(".pack");
    }
    let integral = inst.modifiers.integral_rounding();
    let rounding = if integral.is_none() {
        inst.modifiers.rounding()
    } else {
        None
    };
    if let Some(word) = inst
        .modifiers
        .has(&["rna", "rs", "relu", "satfinite", "scaled"])
    {
        return inst.modifiers.unsupported(format!(".{word}"));
    }
    let flush = inst.modifiers.take("ftz");
    let saturate = inst.modifiers.take("sat");
    let to = inst.modifiers.type_of(CONVERTIBLE)?;
    let from = inst.modifiers.type_of(CONVERTIBLE)?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    super::float::only_f32(&inst.modifiers, flush && to != Type::F32, from)?;
    check_rounding(&inst, to, from, integral, rounding)?;
    if saturate && !to.is_float() && !from.is_float() && is_superset(to, from) {
        return inst.modifiers.refuse(&["sat"]);
    }
    let pos = inst.opcode.pos;
    let (source, declared) = body.source_wider(inst.operand(1)?, from)?;
    let (d, d_type) = body.dest_wider(inst.operand(0)?, to)?;
    let mut source = canonical(body, source, declared, from, pos)?;
    if flush && from == Type::F32 {
        let flushed = body.fresh(from, pos)?;
        body.lane(LaneOp::FlushF32, flushed, source, 0, 0);
        source = flushed;
    }
    let value = match (to.is_float(), from.is_float()) {
        (false, false) => between_integers(body, source, from, to, saturate, pos)?,
        (false, true) => float_to_integer(
            body,
            source,
            from,
            to,
            integral.unwrap_or(Rounding::Zero),
            pos,
        )?,
        (true, false) => integer_to_float(
            body,
            source,
            from,
            to,
            rounding.unwrap_or(Rounding::Nearest),
            pos,
        )?,
        (true, true) => between_floats(body, source, from, to, integral, rounding, pos)?,
    };
    if to == Type::F32 && flush {
        body.lane(LaneOp::FlushF32, value, value, 0, 0);
    }
    if to.is_float() && saturate {
        body.lane(
            if to == Type::F32 {
                LaneOp::SatF32
            } else {
                LaneOp::SatF64
            },
            value,
            value,
            0,
            0,
        );
    }
    settle(body, value, to, d, d_type);
    Ok(())
}

/// Whether an integer type holds every value of another.
fn is_superset(to: Type, from: Type) -> bool {
    match (to.is_signed(), from.is_signed()) {
        (false, true) => false,
        (true, false) => to.bytes() > from.bytes(),
        _ => to.bytes() >= from.bytes(),
    }
}

/// Which conversions need a rounding modifier, and which take none.
fn check_rounding<'a>(
    inst: &Inst<'a>,
    to: Type,
    from: Type,
    integral: Option<Rounding>,
    rounding: Option<Rounding>,
) -> Checked<()> {
    let needs_integral = from.is_float() && !to.is_float();
    let needs_rounding =
        (to.is_float() && !from.is_float()) || (to == Type::F32 && from == Type::F64);
    let takes_integral = needs_integral || (to.is_float() && to == from);
    if needs_integral && integral.is_none() {
        return inst.modifiers.missing("one of .rni, .rzi, .rmi, .rpi");
    }
    if needs_rounding && rounding.is_none() {
        return inst.modifiers.missing("one of .rn, .rz, .rm, .rp");
    }
    if (integral.is_some() && !takes_integral) || (rounding.is_some() && !needs_rounding) {
        return super::super::error::fail(
            inst.opcode.pos,
            super::super::error::SemanticError::UnexpectedModifier {
                opcode: inst.opcode.text.to_owned(),
                modifier: "rounding".to_owned(),
            },
        );
    }
    Ok(())
}

/// The source as 32 or 64 bits, extended by its own signedness from its own width.
fn canonical<'a>(
    body: &mut Body<'a>,
    source: u32,
    declared: Type,
    from: Type,
    pos: Pos,
) -> Checked<u32> {
    if from.bytes() == 8 || from.is_float() {
        return Ok(source);
    }
    let narrow = if declared.bytes() == 8 {
        let low = body.fresh(Type::B32, pos)?;
        body.lane(LaneOp::Low32, low, source, 0, 0);
        low
    } else {
        source
    };
    let op: LaneOpOf = match from {
        Type::U8 => LaneOp::Low8,
        Type::S8 => LaneOp::Sign8,
        Type::U16 => LaneOp::Low16,
        Type::S16 => LaneOp::Sign16,
        _ => return Ok(narrow),
    };
    let extended = body.fresh(Type::B32, pos)?;
    body.lane(op, extended, narrow, 0, 0);
    Ok(extended)
}

fn between_integers<'a>(
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

/// Float to integer: round to an integral value, then cast with saturation.
fn float_to_integer<'a>(
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

fn integer_to_float<'a>(
    body: &mut Body<'a>,
    source: u32,
    from: Type,
    to: Type,
    rounding: Rounding,
    pos: Pos,
) -> Checked<u32> {
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

fn between_floats<'a>(
    body: &mut Body<'a>,
    source: u32,
    from: Type,
    to: Type,
    integral: Option<Rounding>,
    rounding: Option<Rounding>,
    pos: Pos,
) -> Checked<u32> {
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

/// Brings a value of type `to` into its register, which may be wider: by sign for signed types, by zeros for others.
pub(super) fn settle(body: &mut Body<'_>, value: u32, to: Type, d: u32, d_type: Type) {
    let signed = to.is_signed();
    if d_type.bytes() == 8 {
        match (to.bytes(), signed) {
            (8, _) => body.lane(LaneOp::Mov64, d, value, 0, 0),
            (bytes, signed) => {
                trim(body, value, value, bytes, signed);
                body.lane(
                    if signed {
                        LaneOp::SignExtend
                    } else {
                        LaneOp::ZeroExtend
                    },
                    d,
                    value,
                    0,
                    0,
                );
            }
        }
        return;
    }
    trim(body, d, value, to.bytes(), signed);
    match d_type.bytes() {
        1 if signed => body.lane(LaneOp::Low8, d, d, 0, 0),
        2 if signed => body.lane(LaneOp::Low16, d, d, 0, 0),
        _ => {}
    }
}

/// `d = value`, extended from its low `bytes`.
fn trim(body: &mut Body<'_>, d: u32, value: u32, bytes: u32, signed: bool) {
    let op: LaneOpOf = match (bytes, signed) {
        (1, false) => LaneOp::Low8,
        (1, true) => LaneOp::Sign8,
        (2, false) => LaneOp::Low16,
        (2, true) => LaneOp::Sign16,
        _ => LaneOp::Mov32,
    };
    body.lane(op, d, value, 0, 0);
}
