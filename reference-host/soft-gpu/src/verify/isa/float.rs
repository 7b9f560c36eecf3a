//! Floating-point sums and products.
//!
//! `.ftz` and `.sat` are lowered to operations of their own around the arithmetic one.
//! Source: PTX ISA, "Floating Point Instructions".

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use super::super::modifiers::Modifiers;
use super::half;
use crate::code::{LaneOpOf, Op, RareOpOf};
use crate::exec::float::Rounding;
use crate::exec::lanes::Slots;
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
use crate::types::Type;

const FLOATS: &[Type] = &[
    Type::F32,
    Type::F64,
    Type::F16,
    Type::F16x2,
    Type::Bf16,
    Type::Bf16x2,
];

/// The modifiers that stand before the type of a float instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form {
    pub(super) rounding: Option<Rounding>,
    pub(super) flush: bool,
    pub(super) saturate: bool,
    pub(super) relu: bool,
    pub(super) oob: bool,
}

impl Form {
    /// `{.rnd}{.ftz}{.sat}{.oob}{.relu}`
    pub(super) fn take(modifiers: &mut Modifiers<'_>) -> Self {
        Self {
            rounding: modifiers.rounding(),
            flush: modifiers.take("ftz"),
            saturate: modifiers.take("sat"),
            relu: modifiers.take("relu"),
            oob: modifiers.take("oob"),
        }
    }

    /// For an integer type: no float modifier, and saturation only where `saturation` allows it.
    pub(super) fn none_but_saturation(
        self,
        modifiers: &Modifiers<'_>,
        saturation: bool,
    ) -> Checked<()> {
        modifiers.refuse(&["rn", "rz", "rm", "rp", "ftz", "relu", "oob"])?;
        if self.saturate && !saturation {
            modifiers.refuse(&["sat"])?;
        }
        Ok(())
    }
}

/// `.ftz` and its like stand on single precision only.
pub(super) fn only_f32(modifiers: &Modifiers<'_>, given: bool, ty: Type) -> Checked<()> {
    if given && ty != Type::F32 {
        modifiers.refuse(&["ftz", "sat", "NaN"])
    } else {
        Ok(())
    }
}

/// One source, flushed first where asked.
pub(super) fn flushed<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    at: usize,
    ty: Type,
    flush: bool,
) -> Checked<u32> {
    let source = match inst.operands.get(at) {
        Some(operand) => body.source(operand, ty)?,
        None => return inst.arity(at.saturating_add(1)).map(|()| 0),
    };
    if !flush {
        return Ok(source);
    }
    let slot = body.fresh(ty, inst.opcode.pos)?;
    body.lane(LaneOp::FlushF32, slot, source, 0, 0);
    Ok(slot)
}

/// What `.ftz` and `.sat` do to a result.
fn finish(body: &mut Body<'_>, ty: Type, d: u32, flush: bool, saturate: bool) {
    if flush {
        body.lane(LaneOp::FlushF32, d, d, 0, 0);
    }
    if saturate {
        body.lane(
            if ty == Type::F32 {
                LaneOp::SatF32
            } else {
                LaneOp::SatF64
            },
            d,
            d,
            0,
            0,
        );
    }
}

/// `d = op(a)`.
pub(super) fn unary<'a, O: Into<Op>>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    ty: Type,
    flush: bool,
    op: impl FnOnce(Slots) -> O,
) -> Checked<()> {
    inst.modifiers.end()?;
    inst.arity(2)?;
    let a = flushed(body, &inst, 1, ty, flush)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(op, d, a, 0, 0);
    finish(body, ty, d, flush, false);
    Ok(())
}

/// `d = op(a, b)`.
pub(super) fn binary<'a, O: Into<Op>>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    ty: Type,
    flush: bool,
    saturate: bool,
    op: impl FnOnce(Slots) -> O,
) -> Checked<()> {
    inst.modifiers.end()?;
    inst.arity(3)?;
    let a = flushed(body, &inst, 1, ty, flush)?;
    let b = flushed(body, &inst, 2, ty, flush)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(op, d, a, b, 0);
    finish(body, ty, d, flush, saturate);
    Ok(())
}

/// The operation of single precision for a rounding.
pub(super) fn rounded(rounding: Rounding, [nearest, zero, down, up]: [LaneOpOf; 4]) -> LaneOpOf {
    match rounding {
        Rounding::Nearest => nearest,
        Rounding::Zero => zero,
        Rounding::Down => down,
        Rounding::Up => up,
    }
}

/// The operation of double precision for a rounding other than to the nearest.
pub(super) fn directed(rounding: Rounding, [zero, down, up]: [RareOpOf; 3]) -> Option<RareOpOf> {
    match rounding {
        Rounding::Nearest => None,
        Rounding::Zero => Some(zero),
        Rounding::Down => Some(down),
        Rounding::Up => Some(up),
    }
}

/// No modifier that only 16-bit types have.
fn no_half_words(modifiers: &Modifiers<'_>) -> Checked<()> {
    modifiers.refuse(&["relu", "oob"])
}

pub(super) fn add_or_sub<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    form: Form,
    ty: Type,
    subtract: bool,
) -> Checked<()> {
    if half::is_half(ty) {
        let ops = if subtract { half::SUB } else { half::ADD };
        return half::binary(body, inst, form, ty, ops);
    }
    no_half_words(&inst.modifiers)?;
    only_f32(&inst.modifiers, form.flush || form.saturate, ty)?;
    let rounding = form.rounding.unwrap_or(Rounding::Nearest);
    if ty == Type::F64 {
        let ops: [RareOpOf; 3] = if subtract {
            [RareOp::SubRzF64, RareOp::SubRmF64, RareOp::SubRpF64]
        } else {
            [RareOp::AddRzF64, RareOp::AddRmF64, RareOp::AddRpF64]
        };
        if let Some(op) = directed(rounding, ops) {
            return binary(body, inst, ty, false, false, op);
        }
        let op = if subtract {
            LaneOp::SubF64
        } else {
            LaneOp::AddF64
        };
        return binary(body, inst, ty, false, false, op);
    }
    if !subtract || rounding == Rounding::Nearest {
        let nearest = if subtract {
            LaneOp::SubF32
        } else {
            LaneOp::AddF32
        };
        let op = rounded(
            rounding,
            [
                nearest,
                LaneOp::AddRzF32,
                LaneOp::AddRmF32,
                LaneOp::AddRpF32,
            ],
        );
        return binary(body, inst, ty, form.flush, form.saturate, op);
    }
    // A directed difference is the directed sum with the second operand negated.
    inst.modifiers.end()?;
    inst.arity(3)?;
    let a = flushed(body, &inst, 1, ty, form.flush)?;
    let b = flushed(body, &inst, 2, ty, form.flush)?;
    let negated = body.fresh(ty, inst.opcode.pos)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(LaneOp::NegF32, negated, b, 0, 0);
    body.lane(
        rounded(
            rounding,
            [
                LaneOp::AddF32,
                LaneOp::AddRzF32,
                LaneOp::AddRmF32,
                LaneOp::AddRpF32,
            ],
        ),
        d,
        a,
        negated,
        0,
    );
    finish(body, ty, d, form.flush, form.saturate);
    Ok(())
}

pub(super) fn mul<'a>(body: &mut Body<'a>, inst: Inst<'a>, form: Form, ty: Type) -> Checked<()> {
    let ty = inst.modifiers.check_type(ty, FLOATS)?;
    if half::is_half(ty) {
        return half::binary(body, inst, form, ty, half::MUL);
    }
    no_half_words(&inst.modifiers)?;
    only_f32(&inst.modifiers, form.flush || form.saturate, ty)?;
    let rounding = form.rounding.unwrap_or(Rounding::Nearest);
    if ty == Type::F64 {
        const DIRECTED: [RareOpOf; 3] = [RareOp::MulRzF64, RareOp::MulRmF64, RareOp::MulRpF64];
        return match directed(rounding, DIRECTED) {
            Some(op) => binary(body, inst, ty, false, false, op),
            None => binary(body, inst, ty, false, false, LaneOp::MulF64),
        };
    }
    let op = rounded(
        rounding,
        [
            LaneOp::MulF32,
            LaneOp::MulRzF32,
            LaneOp::MulRmF32,
            LaneOp::MulRpF32,
        ],
    );
    binary(body, inst, ty, form.flush, form.saturate, op)
}

pub(super) fn fma<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let form = Form::take(&mut inst.modifiers);
    let ty = inst.modifiers.type_of(FLOATS)?;
    let Some(rounding) = form.rounding else {
        return inst.modifiers.missing("one of .rn, .rz, .rm, .rp");
    };
    if half::is_half(ty) {
        return half::fma(body, inst, form, ty);
    }
    fused(body, inst, form, rounding, ty)
}

/// `mad` of floats is `fma` on every target since sm_20; once it did not have to say its rounding.
pub(super) fn mad<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let form = Form::take(&mut inst.modifiers);
    let ty = inst.modifiers.type_of(&[Type::F32, Type::F64])?;
    let rounding = match form.rounding {
        Some(rounding) => rounding,
        None if ty == Type::F32 && (body.target < 20 || body.ast.version < (3, 2)) => {
            Rounding::Nearest
        }
        None => return inst.modifiers.missing("one of .rn, .rz, .rm, .rp"),
    };
    fused(body, inst, form, rounding, ty)
}

fn fused<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    form: Form,
    rounding: Rounding,
    ty: Type,
) -> Checked<()> {
    const DIRECTED: [RareOpOf; 3] = [RareOp::FmaRzF64, RareOp::FmaRmF64, RareOp::FmaRpF64];
    no_half_words(&inst.modifiers)?;
    only_f32(&inst.modifiers, form.flush || form.saturate, ty)?;
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = flushed(body, &inst, 1, ty, form.flush)?;
    let b = flushed(body, &inst, 2, ty, form.flush)?;
    let c = flushed(body, &inst, 3, ty, form.flush)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    match (ty, directed(rounding, DIRECTED)) {
        (Type::F64, Some(op)) => body.lane(op, d, a, b, c),
        (Type::F64, None) => body.lane(LaneOp::FmaF64, d, a, b, c),
        _ => {
            let op = rounded(
                rounding,
                [
                    LaneOp::FmaF32,
                    LaneOp::FmaRzF32,
                    LaneOp::FmaRmF32,
                    LaneOp::FmaRpF32,
                ],
            );
            body.lane(op, d, a, b, c);
        }
    }
    finish(body, ty, d, form.flush, form.saturate);
    Ok(())
}
