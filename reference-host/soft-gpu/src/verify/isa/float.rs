//! Floating-point arithmetic.
//!
//! `.ftz` and `.sat` are lowered to operations of their own around the arithmetic one.
//! Source: PTX ISA, "Floating Point Instructions".

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use super::super::modifiers::Modifiers;
use crate::code::LaneOpOf;
use crate::exec::float::Rounding;
use crate::exec::ops::LaneOp;
use crate::types::Type;

const FLOATS: &[Type] = &[Type::F32, Type::F64];

/// The modifiers that stand before the type of a float instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) rounding: Option<Rounding>,
    pub(super) flush: bool,
    pub(super) saturate: bool,
}

impl Form {
    /// `{.rnd}{.ftz}{.sat}`
    pub(super) fn take(modifiers: &mut Modifiers<'_>) -> Self {
        let rounding = modifiers.rounding();
        let flush = modifiers.take("ftz");
        let saturate = modifiers.take("sat");
        Self {
            rounding,
            flush,
            saturate,
        }
    }

    /// For an integer type: no float modifier, and saturation only where `saturation` allows it.
    pub(super) fn none_but_saturation(
        self,
        modifiers: &Modifiers<'_>,
        saturation: bool,
    ) -> Checked<()> {
        modifiers.refuse(&["rn", "rz", "rm", "rp", "ftz"])?;
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
fn flushed<'a>(
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
pub(super) fn unary<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    ty: Type,
    flush: bool,
    op: LaneOpOf,
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
pub(super) fn binary<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    ty: Type,
    flush: bool,
    saturate: bool,
    op: LaneOpOf,
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

fn rounded(rounding: Rounding, [nearest, zero, down, up]: [LaneOpOf; 4]) -> LaneOpOf {
    match rounding {
        Rounding::Nearest => nearest,
        Rounding::Zero => zero,
        Rounding::Down => down,
        Rounding::Up => up,
    }
}

/// Directed rounding of double precision is not implemented.
fn nearest_only(modifiers: &Modifiers<'_>, rounding: Rounding) -> Checked<()> {
    if rounding == Rounding::Nearest {
        Ok(())
    } else {
        modifiers.unsupported("directed rounding of .f64")
    }
}

pub(super) fn add_or_sub<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    form: Form,
    ty: Type,
    subtract: bool,
) -> Checked<()> {
    only_f32(&inst.modifiers, form.flush || form.saturate, ty)?;
    let rounding = form.rounding.unwrap_or(Rounding::Nearest);
    if ty == Type::F64 {
        nearest_only(&inst.modifiers, rounding)?;
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
    only_f32(&inst.modifiers, form.flush || form.saturate, ty)?;
    let rounding = form.rounding.unwrap_or(Rounding::Nearest);
    if ty == Type::F64 {
        nearest_only(&inst.modifiers, rounding)?;
        return binary(body, inst, ty, false, false, LaneOp::MulF64);
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
    only_f32(&inst.modifiers, form.flush || form.saturate, ty)?;
    let op = if ty == Type::F64 {
        nearest_only(&inst.modifiers, rounding)?;
        LaneOp::FmaF64
    } else {
        rounded(
            rounding,
            [
                LaneOp::FmaF32,
                LaneOp::FmaRzF32,
                LaneOp::FmaRmF32,
                LaneOp::FmaRpF32,
            ],
        )
    };
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = flushed(body, &inst, 1, ty, form.flush)?;
    let b = flushed(body, &inst, 2, ty, form.flush)?;
    let c = flushed(body, &inst, 3, ty, form.flush)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(op, d, a, b, c);
    finish(body, ty, d, form.flush, form.saturate);
    Ok(())
}

/// `mad` of floats is `fma` on every target since sm_20.
pub(super) fn mad<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    fma(body, inst)
}

/// `{.approx | .full | .rnd}{.ftz}` before a type; approximate forms are computed to the nearest, which their error bounds include.
fn approximate<'a>(inst: &mut Inst<'a>, words: &[&str]) -> Checked<(Rounding, bool, bool, Type)> {
    let approx = inst.modifiers.take_one(words).is_some();
    let rounding = if approx {
        Some(Rounding::Nearest)
    } else {
        inst.modifiers.rounding()
    };
    let flush = inst.modifiers.take("ftz");
    let ty = inst.modifiers.type_of(FLOATS)?;
    let Some(rounding) = rounding else {
        return inst.modifiers.missing("one of .approx, .rn, .rz, .rm, .rp");
    };
    if ty == Type::F64 && approx && inst.opcode.text == "rcp" {
        if !flush {
            return inst.modifiers.missing(".ftz");
        }
        return inst.modifiers.unsupported(".approx of .f64");
    }
    only_f32(&inst.modifiers, flush, ty)?;
    if ty == Type::F64 {
        if approx {
            return inst.modifiers.unsupported(".approx of .f64");
        }
        nearest_only(&inst.modifiers, rounding)?;
    }
    Ok((rounding, flush, approx, ty))
}

pub(super) fn div<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let (rounding, flush, _, ty) = approximate(&mut inst, &["approx", "full"])?;
    let op = match ty {
        Type::F64 => LaneOp::DivF64,
        _ => rounded(
            rounding,
            [
                LaneOp::DivF32,
                LaneOp::DivRzF32,
                LaneOp::DivRmF32,
                LaneOp::DivRpF32,
            ],
        ),
    };
    binary(body, inst, ty, flush, false, op)
}

pub(super) fn rcp<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let (rounding, flush, _, ty) = approximate(&mut inst, &["approx"])?;
    let op = match ty {
        Type::F64 => LaneOp::RcpF64,
        _ => rounded(
            rounding,
            [
                LaneOp::RcpF32,
                LaneOp::RcpRzF32,
                LaneOp::RcpRmF32,
                LaneOp::RcpRpF32,
            ],
        ),
    };
    unary(body, inst, ty, flush, op)
}

pub(super) fn sqrt<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let (rounding, flush, _, ty) = approximate(&mut inst, &["approx"])?;
    let op = match ty {
        Type::F64 => LaneOp::SqrtF64,
        _ => rounded(
            rounding,
            [
                LaneOp::SqrtF32,
                LaneOp::SqrtRzF32,
                LaneOp::SqrtRmF32,
                LaneOp::SqrtRpF32,
            ],
        ),
    };
    unary(body, inst, ty, flush, op)
}

pub(super) fn rsqrt<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.need_one(&["approx"], ".approx")?;
    let flush = inst.modifiers.take("ftz");
    let ty = inst.modifiers.type_of(FLOATS)?;
    if ty == Type::F64 && flush {
        return inst.modifiers.unsupported(".ftz of .f64");
    }
    unary(
        body,
        inst,
        ty,
        flush,
        if ty == Type::F64 {
            LaneOp::RsqrtF64
        } else {
            LaneOp::RsqrtF32
        },
    )
}

/// `.approx{.ftz}.f32`
fn transcendental<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, op: LaneOpOf) -> Checked<()> {
    inst.modifiers.need_one(&["approx"], ".approx")?;
    let flush = inst.modifiers.take("ftz");
    let ty = inst.modifiers.type_of(&[Type::F32])?;
    unary(body, inst, ty, flush, op)
}

pub(super) fn sin<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    transcendental(body, inst, LaneOp::SinF32)
}

pub(super) fn cos<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    transcendental(body, inst, LaneOp::CosF32)
}

pub(super) fn lg2<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    transcendental(body, inst, LaneOp::Lg2F32)
}

pub(super) fn ex2<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    transcendental(body, inst, LaneOp::Ex2F32)
}

pub(super) fn tanh<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    transcendental(body, inst, LaneOp::TanhF32)
}

pub(super) fn copysign<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(FLOATS)?;
    binary(
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
    let test = inst.modifiers.need_one(TESTS, "a test such as .finite")?;
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
