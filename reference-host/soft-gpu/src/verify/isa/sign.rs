//! `abs`, `neg`, `copysign` and `testp`.
//!
//! Source: PTX ISA, "Integer Arithmetic Instructions", "Floating Point Instructions" and "Half Precision Floating Point Instructions".

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use super::float::{self, Form};
use super::half;
use super::integer::unary;
use crate::code::{LaneOpOf, RareOpOf};
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
use crate::types::Type;

const SIGNED: &[Type] = &[
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F32,
    Type::F64,
    Type::F16,
    Type::F16x2,
    Type::Bf16,
    Type::Bf16x2,
];

pub(super) fn abs<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let flush = inst.modifiers.take("ftz");
    let ty = inst.modifiers.type_of(SIGNED)?;
    if half::is_half(ty) {
        let op = half::either(ty, RareOp::AbsF16, RareOp::AbsBf16);
        return half_unary(body, inst, ty, flush, op, (6, 5));
    }
    float::only_f32(&inst.modifiers, flush, ty)?;
    match ty {
        Type::S16 => unary(body, inst, ty, LaneOp::AbsS16),
        Type::S32 => unary(body, inst, ty, LaneOp::AbsS32),
        Type::S64 => unary(body, inst, ty, LaneOp::AbsS64),
        Type::F32 => float::unary(body, inst, ty, flush, LaneOp::AbsF32),
        _ => float::unary(body, inst, ty, false, LaneOp::AbsF64),
    }
}

pub(super) fn neg<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    const NEG: half::Ops = [
        RareOp::NegF16,
        RareOp::NegF16x2,
        RareOp::NegBf16,
        RareOp::NegBf16x2,
    ];
    let flush = inst.modifiers.take("ftz");
    let ty = inst.modifiers.type_of(SIGNED)?;
    if half::is_half(ty) {
        return half_unary(body, inst, ty, flush, half::pick(NEG, ty), (6, 0));
    }
    float::only_f32(&inst.modifiers, flush, ty)?;
    match ty {
        Type::S16 => unary(body, inst, ty, LaneOp::NegI16),
        Type::S32 => unary(body, inst, ty, LaneOp::NegI32),
        Type::S64 => unary(body, inst, ty, LaneOp::NegI64),
        Type::F32 => float::unary(body, inst, ty, flush, LaneOp::NegF32),
        _ => float::unary(body, inst, ty, false, LaneOp::NegF64),
    }
}

/// `d = op(a)` of 16-bit floats; `version` is what `.f16` needs.
fn half_unary<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    ty: Type,
    flush: bool,
    op: RareOpOf,
    version: (u32, u32),
) -> Checked<()> {
    if half::is_brain(ty) {
        inst.modifiers.refuse(&["ftz"])?;
        inst.requires(body, ty.word(), (7, 0), 80)?;
    } else {
        inst.requires(body, ty.word(), version, 53)?;
    }
    inst.modifiers.end()?;
    inst.arity(2)?;
    let a = half::flushed(body, &inst, 1, ty, flush)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(op, d, a, 0, 0);
    let form = Form {
        flush,
        ..Form::default()
    };
    half::finish(body, ty, d, form);
    Ok(())
}

pub(super) fn copysign<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(FLOATS)?;
    float::binary(
        body,
        inst,
        ty,
        false,
        false,
        if ty == Type::F32 {
            LaneOp::CopysignF32
        } else {
            LaneOp::CopysignF64
        },
    )
}

pub(super) fn testp<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    const TESTS: &[&str] = &[
        "finite",
        "infinite",
        "number",
        "notanumber",
        "normal",
        "subnormal",
    ];
    let Some(test) = inst.modifiers.take_one(TESTS) else {
        // ptxas takes it; what it then asks stands nowhere.
        return inst.modifiers.unsupported("no property to test for");
    };
    let ty = inst.modifiers.type_of(FLOATS)?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    let single = ty == Type::F32;
    let op: LaneOpOf = match test {
        "finite" => {
            if single {
                LaneOp::FiniteF32
            } else {
                LaneOp::FiniteF64
            }
        }
        "infinite" => {
            if single {
                LaneOp::InfiniteF32
            } else {
                LaneOp::InfiniteF64
            }
        }
        "number" => {
            if single {
                LaneOp::NumberF32
            } else {
                LaneOp::NumberF64
            }
        }
        "notanumber" => {
            if single {
                LaneOp::NotNumberF32
            } else {
                LaneOp::NotNumberF64
            }
        }
        "normal" => {
            if single {
                LaneOp::NormalF32
            } else {
                LaneOp::NormalF64
            }
        }
        _ => {
            if single {
                LaneOp::SubnormalF32
            } else {
                LaneOp::SubnormalF64
            }
        }
    };
    let a = body.source(inst.operand(1)?, ty)?;
    let d = body.dest(inst.operand(0)?, Type::Pred)?;
    body.lane(op, d, a, 0, 0);
    Ok(())
}

const FLOATS: &[Type] = &[Type::F32, Type::F64];
