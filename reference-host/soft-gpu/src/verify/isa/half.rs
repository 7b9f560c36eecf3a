//! Arithmetic of `.f16`, `.bf16` and pairs of them.
//!
//! `.ftz`, `.sat` and `.relu` are lowered to operations of their own around the arithmetic one.
//! Source: PTX ISA, "Half Precision Floating Point Instructions".

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use super::float::Form;
use crate::ast::Pos;
use crate::code::RareOpOf;
use crate::exec::float::Rounding;
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
use crate::types::Type;

/// The types of this group.
pub(super) const HALVES: &[Type] = &[Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2];

/// One operation for each of [`HALVES`].
pub(super) type Ops = [RareOpOf; 4];

pub(super) const ADD: Ops = [
    RareOp::AddF16,
    RareOp::AddF16x2,
    RareOp::AddBf16,
    RareOp::AddBf16x2,
];
pub(super) const SUB: Ops = [
    RareOp::SubF16,
    RareOp::SubF16x2,
    RareOp::SubBf16,
    RareOp::SubBf16x2,
];
pub(super) const MUL: Ops = [
    RareOp::MulF16,
    RareOp::MulF16x2,
    RareOp::MulBf16,
    RareOp::MulBf16x2,
];
const FMA: Ops = [
    RareOp::FmaF16,
    RareOp::FmaF16x2,
    RareOp::FmaBf16,
    RareOp::FmaBf16x2,
];

pub(super) fn is_half(ty: Type) -> bool {
    HALVES.contains(&ty)
}

/// Whether a type is `.bf16` or a pair of it.
pub(super) fn is_brain(ty: Type) -> bool {
    matches!(ty, Type::Bf16 | Type::Bf16x2)
}

/// The operation for a type.
pub(super) fn pick(ops: Ops, ty: Type) -> RareOpOf {
    let [f16, f16x2, bf16, bf16x2] = ops;
    match ty {
        Type::F16x2 => f16x2,
        Type::Bf16 => bf16,
        Type::Bf16x2 => bf16x2,
        _ => f16,
    }
}

/// The operation for `.f16` or `.bf16` that serves single values and pairs.
pub(super) fn either(ty: Type, f16: RareOpOf, bf16: RareOpOf) -> RareOpOf {
    if is_brain(ty) { bf16 } else { f16 }
}

/// `add`, `sub` and `mul`.
pub(super) fn binary<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    form: Form,
    ty: Type,
    ops: Ops,
) -> Checked<()> {
    inst.modifiers.refuse(&["rz", "rm", "rp", "relu", "oob"])?;
    if is_brain(ty) {
        inst.modifiers.refuse(&["ftz", "sat"])?;
        inst.requires(body, ty.word(), (7, 8), 90)?;
    } else {
        inst.requires(body, ty.word(), (4, 2), 53)?;
    }
    inst.modifiers.end()?;
    inst.arity(3)?;
    let a = flushed(body, &inst, 1, ty, form.flush)?;
    let b = flushed(body, &inst, 2, ty, form.flush)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(pick(ops, ty), d, a, b, 0);
    finish(body, ty, d, form);
    Ok(())
}

pub(super) fn fma<'a>(body: &mut Body<'a>, inst: Inst<'a>, form: Form, ty: Type) -> Checked<()> {
    if is_brain(ty) {
        inst.modifiers.refuse(&["ftz", "sat"])?;
        inst.requires(body, ty.word(), (7, 0), 80)?;
        // Assemblers take the other roundings, which the ISA does not describe.
        if form.rounding != Some(Rounding::Nearest) {
            return inst
                .modifiers
                .unsupported(format!("directed rounding of .{}", ty.word()));
        }
    } else {
        inst.modifiers.refuse(&["rz", "rm", "rp"])?;
        inst.requires(body, ty.word(), (4, 2), 53)?;
    }
    if form.relu {
        inst.modifiers.refuse(&["sat"])?;
        inst.requires(body, "relu", (7, 0), 80)?;
    }
    if form.oob {
        inst.modifiers.refuse(&["ftz", "sat"])?;
        inst.requires(body, "oob", (8, 1), 90)?;
        return inst.modifiers.unsupported(".oob");
    }
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = flushed(body, &inst, 1, ty, form.flush)?;
    let b = flushed(body, &inst, 2, ty, form.flush)?;
    let c = flushed(body, &inst, 3, ty, form.flush)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(pick(FMA, ty), d, a, b, c);
    finish(body, ty, d, form);
    Ok(())
}

/// The upper or the lower half of a word.
pub(super) fn part<'a>(body: &mut Body<'a>, word: u32, upper: bool, pos: Pos) -> Checked<u32> {
    let slot = body.fresh(Type::B32, pos)?;
    if upper {
        body.lane(RareOp::High16, slot, word, 0, 0);
    } else {
        body.lane(LaneOp::Low16, slot, word, 0, 0);
    }
    Ok(slot)
}

/// One source, flushed first where asked.
pub(super) fn flushed<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    at: usize,
    ty: Type,
    flush: bool,
) -> Checked<u32> {
    let source = body.source(inst.operand(at)?, ty)?;
    if !flush {
        return Ok(source);
    }
    let slot = body.fresh(ty, inst.opcode.pos)?;
    body.lane(
        either(ty, RareOp::FlushF16, RareOp::FlushBf16),
        slot,
        source,
        0,
        0,
    );
    Ok(slot)
}

/// What the modifiers do to a result.
pub(super) fn finish(body: &mut Body<'_>, ty: Type, d: u32, form: Form) {
    if form.flush {
        body.lane(either(ty, RareOp::FlushF16, RareOp::FlushBf16), d, d, 0, 0);
    }
    if form.saturate {
        body.lane(RareOp::SatF16, d, d, 0, 0);
    }
    if form.relu {
        body.lane(either(ty, RareOp::ReluF16, RareOp::ReluBf16), d, d, 0, 0);
    }
}
