//! Quotients, roots and the functions that are approximate.
//!
//! Approximate forms are computed to the nearest, which their error bounds include, but where the ISA gives other results.
//! Source: PTX ISA, "Floating Point Instructions" and "Half Precision Floating Point Instructions".

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use super::float::{binary, directed, only_f32, rounded, unary};
use super::half;
use crate::code::{LaneOpOf, RareOpOf};
use crate::exec::float::Rounding;
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
use crate::types::Type;

const FLOATS: &[Type] = &[Type::F32, Type::F64];

/// How exact a result is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    Approximate,
    /// `div.full`
    Full,
    Rounded(Rounding),
}

struct Form {
    precision: Precision,
    flush: bool,
    ty: Type,
}

/// `{.approx | .full | .rnd}{.ftz}`, and a type.
fn form<'a>(inst: &mut Inst<'a>, words: &[&str]) -> Checked<Form> {
    let precision = match inst.modifiers.take_one(words) {
        Some("full") => Some(Precision::Full),
        Some(_) => Some(Precision::Approximate),
        None => inst.modifiers.rounding().map(Precision::Rounded),
    };
    let flush = inst.modifiers.take("ftz");
    let ty = inst.modifiers.type_of(FLOATS)?;
    match precision {
        Some(precision) => Ok(Form {
            precision,
            flush,
            ty,
        }),
        None => inst.modifiers.missing("one of .approx, .rn, .rz, .rm, .rp"),
    }
}

pub(super) fn div<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    const DIRECTED: [RareOpOf; 3] = [RareOp::DivRzF64, RareOp::DivRmF64, RareOp::DivRpF64];
    let Form {
        precision,
        flush,
        ty,
    } = form(&mut inst, &["approx", "full"])?;
    only_f32(&inst.modifiers, flush, ty)?;
    let rounding = match precision {
        Precision::Rounded(rounding) => rounding,
        Precision::Full | Precision::Approximate if ty == Type::F64 => {
            return inst.modifiers.refuse(&["approx", "full"]);
        }
        Precision::Approximate => {
            return binary(body, inst, ty, flush, false, RareOp::DivApproxF32);
        }
        Precision::Full => Rounding::Nearest,
    };
    if ty == Type::F64 {
        return match directed(rounding, DIRECTED) {
            Some(op) => binary(body, inst, ty, false, false, op),
            None => binary(body, inst, ty, false, false, LaneOp::DivF64),
        };
    }
    let op = rounded(
        rounding,
        [
            LaneOp::DivF32,
            LaneOp::DivRzF32,
            LaneOp::DivRmF32,
            LaneOp::DivRpF32,
        ],
    );
    binary(body, inst, ty, flush, false, op)
}

pub(super) fn rcp<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    const DIRECTED: [RareOpOf; 3] = [RareOp::RcpRzF64, RareOp::RcpRmF64, RareOp::RcpRpF64];
    let Form {
        precision,
        flush,
        ty,
    } = form(&mut inst, &["approx"])?;
    let rounding = match precision {
        Precision::Rounded(rounding) => rounding,
        _ if ty == Type::F64 && !flush => return inst.modifiers.missing(".ftz"),
        _ if ty == Type::F64 => return unary(body, inst, ty, false, RareOp::RcpUpperF64),
        _ => Rounding::Nearest,
    };
    if ty == Type::F64 {
        // Assemblers take it; the ISA does not say what it does.
        if flush {
            return inst.modifiers.unsupported(".ftz of .f64");
        }
        return match directed(rounding, DIRECTED) {
            Some(op) => unary(body, inst, ty, false, op),
            None => unary(body, inst, ty, false, LaneOp::RcpF64),
        };
    }
    let op = rounded(
        rounding,
        [
            LaneOp::RcpF32,
            LaneOp::RcpRzF32,
            LaneOp::RcpRmF32,
            LaneOp::RcpRpF32,
        ],
    );
    unary(body, inst, ty, flush, op)
}

pub(super) fn sqrt<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    const DIRECTED: [RareOpOf; 3] = [RareOp::SqrtRzF64, RareOp::SqrtRmF64, RareOp::SqrtRpF64];
    let Form {
        precision,
        flush,
        ty,
    } = form(&mut inst, &["approx"])?;
    only_f32(&inst.modifiers, flush, ty)?;
    let rounding = match precision {
        Precision::Rounded(rounding) => rounding,
        _ if ty == Type::F64 => return inst.modifiers.refuse(&["approx"]),
        _ => Rounding::Nearest,
    };
    if ty == Type::F64 {
        return match directed(rounding, DIRECTED) {
            Some(op) => unary(body, inst, ty, false, op),
            None => unary(body, inst, ty, false, LaneOp::SqrtF64),
        };
    }
    let op = rounded(
        rounding,
        [
            LaneOp::SqrtF32,
            LaneOp::SqrtRzF32,
            LaneOp::SqrtRmF32,
            LaneOp::SqrtRpF32,
        ],
    );
    unary(body, inst, ty, flush, op)
}

pub(super) fn rsqrt<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let (flush, ty) = approximate(&mut inst, FLOATS)?;
    match (ty, flush) {
        (Type::F64, true) => unary(body, inst, ty, false, RareOp::RsqrtUpperF64),
        (Type::F64, false) => unary(body, inst, ty, false, LaneOp::RsqrtF64),
        _ => unary(body, inst, ty, flush, LaneOp::RsqrtF32),
    }
}

/// `.approx{.ftz}`, and a type.
fn approximate<'a>(inst: &mut Inst<'a>, types: &[Type]) -> Checked<(bool, Type)> {
    inst.modifiers.need_one(&["approx"], ".approx")?;
    let flush = inst.modifiers.take("ftz");
    Ok((flush, inst.modifiers.type_of(types)?))
}

/// `.approx{.ftz}.f32`
fn transcendental<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, op: LaneOpOf) -> Checked<()> {
    let (flush, ty) = approximate(&mut inst, &[Type::F32])?;
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

const WITH_HALVES: &[Type] = &[Type::F32, Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2];

pub(super) fn ex2<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    const EX2: half::Ops = [
        RareOp::Ex2F16,
        RareOp::Ex2F16x2,
        RareOp::Ex2Bf16,
        RareOp::Ex2Bf16x2,
    ];
    let (flush, ty) = approximate(&mut inst, WITH_HALVES)?;
    if ty == Type::F32 {
        return unary(body, inst, ty, flush, LaneOp::Ex2F32);
    }
    if half::is_brain(ty) {
        if !flush {
            return inst.modifiers.missing(".ftz");
        }
        inst.requires(body, ty.word(), (7, 8), 90)?;
    } else {
        inst.modifiers.refuse(&["ftz"])?;
        inst.requires(body, ty.word(), (7, 0), 75)?;
    }
    unary(body, inst, ty, false, half::pick(EX2, ty))
}

pub(super) fn tanh<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let (_, ty) = approximate(&mut inst, WITH_HALVES)?;
    inst.modifiers.refuse(&["ftz"])?;
    if half::is_brain(ty) {
        inst.requires(body, ty.word(), (7, 8), 90)?;
    } else {
        inst.requires(body, ty.word(), (7, 0), 75)?;
    }
    if ty == Type::F32 {
        return unary(body, inst, ty, false, LaneOp::TanhF32);
    }
    let op = half::either(ty, RareOp::TanhF16, RareOp::TanhBf16);
    unary(body, inst, ty, false, op)
}
