//! Integer instructions on fields of bits and of bytes that compilers use rarely.
//!
//! Source: PTX ISA, "Integer Arithmetic Instructions".

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use super::integer::{binary, counts_alone, ternary};
use crate::code::RareOpOf;
use crate::exec::rare::RareOp;
use crate::types::Type;

pub(super) fn fns<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(&[Type::B32])?;
    inst.requires(body, "", (6, 0), 0)?;
    ternary(body, inst, ty, ty, RareOp::FindNthSet)
}

pub(super) fn szext<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let clamp = clamps(&mut inst)?;
    let ty = inst.modifiers.type_of(&[Type::U32, Type::S32])?;
    inst.requires(body, "", (7, 6), 70)?;
    let op: RareOpOf = match (ty.is_signed(), clamp) {
        (false, true) => RareOp::ExtendUClamp,
        (false, false) => RareOp::ExtendUWrap,
        (true, true) => RareOp::ExtendSClamp,
        (true, false) => RareOp::ExtendSWrap,
    };
    binary(body, inst, ty, op)
}

pub(super) fn bmsk<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    body.no_floats(inst.operands)?;
    let clamp = clamps(&mut inst)?;
    let ty = inst.modifiers.type_of(&[Type::B32])?;
    inst.requires(body, "", (7, 6), 70)?;
    let op: RareOpOf = if clamp {
        RareOp::MaskClamp
    } else {
        RareOp::MaskWrap
    };
    binary(body, inst, ty, op)
}

fn clamps(inst: &mut Inst<'_>) -> Checked<bool> {
    let word = inst
        .modifiers
        .need_one(&["clamp", "wrap"], "one of .clamp, .wrap")?;
    Ok(word == "clamp")
}

pub(super) fn dp2a<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    counts_alone(body, &inst)?;
    let half = inst.modifiers.need_one(&["lo", "hi"], "one of .lo, .hi")?;
    let a_type = inst.modifiers.type_of(&[Type::U32, Type::S32])?;
    let b_type = inst.modifiers.type_of(&[Type::U32, Type::S32])?;
    inst.requires(body, "", (5, 0), 61)?;
    let op: RareOpOf = match (half == "hi", a_type.is_signed(), b_type.is_signed()) {
        (false, false, false) => RareOp::Dot2LoUU,
        (false, false, true) => RareOp::Dot2LoUS,
        (false, true, false) => RareOp::Dot2LoSU,
        (false, true, true) => RareOp::Dot2LoSS,
        (true, false, false) => RareOp::Dot2HiUU,
        (true, false, true) => RareOp::Dot2HiUS,
        (true, true, false) => RareOp::Dot2HiSU,
        (true, true, true) => RareOp::Dot2HiSS,
    };
    ternary(body, inst, Type::U32, Type::U32, op)
}
