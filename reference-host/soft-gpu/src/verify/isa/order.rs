//! `min` and `max` of every type.
//!
//! Source: PTX ISA, "Integer Arithmetic Instructions", "Floating Point Instructions" and "Half Precision Floating Point Instructions".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::modifiers::Modifiers;
use super::half::{either, is_brain};
use super::integer::{ARITHMETIC, PAIR, binary};
use crate::code::{LaneOpOf, RareOpOf};
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
use crate::types::Type;

pub(super) fn min<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    min_or_max(body, inst, true)
}

pub(super) fn max<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    min_or_max(body, inst, false)
}

/// The modifiers of these instructions.
#[derive(Clone, Copy, Debug)]
struct Form {
    flush: bool,
    nan: bool,
    xor_sign: bool,
    abs: bool,
    relu: bool,
}

impl Form {
    fn take(modifiers: &mut Modifiers<'_>) -> Self {
        Self {
            flush: modifiers.take("ftz"),
            nan: modifiers.take("NaN"),
            xor_sign: modifiers.take("xorsign"),
            abs: modifiers.take("abs"),
            relu: modifiers.take("relu"),
        }
    }
}

fn min_or_max<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, least: bool) -> Checked<()> {
    let form = Form::take(&mut inst.modifiers);
    if let Some(word) = inst.modifiers.take_one(&["u16x2", "s16x2"]) {
        return pairs(body, inst, form, word == "s16x2", least);
    }
    let ty = inst.modifiers.type_of(ARITHMETIC)?;
    if !ty.is_float() {
        return integers(body, inst, form, ty, least);
    }
    inst.modifiers.refuse(&["relu"])?;
    match ty {
        Type::F64 => {
            inst.modifiers.refuse(&["ftz", "NaN", "xorsign", "abs"])?;
            let op: LaneOpOf = if least {
                LaneOp::MinF64
            } else {
                LaneOp::MaxF64
            };
            return binary(body, inst, ty, op);
        }
        Type::F32 if form.nan => inst.requires(body, "NaN", (7, 0), 80)?,
        Type::F32 => {}
        _ => {
            if is_brain(ty) {
                inst.modifiers.refuse(&["ftz"])?;
            }
            inst.requires(body, ty.word(), (7, 0), 80)?;
        }
    }
    if form.xor_sign != form.abs {
        inst.modifiers.refuse(&["xorsign", "abs"])?;
    }
    if form.xor_sign {
        inst.requires(body, "xorsign.abs", (7, 2), 86)?;
    }
    inst.modifiers.end()?;
    if inst.operands.len() == 4 && ty == Type::F32 {
        return fail(
            inst.opcode.pos,
            SemanticError::Requires {
                opcode: format!("{} of three operands", inst.opcode.text),
                needed: ".target sm_100 or higher",
            },
        );
    }
    inst.arity(3)?;
    floats(body, &inst, form, ty, least)
}

/// Floats of 16 and 32 bits.
fn floats<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    form: Form,
    ty: Type,
    least: bool,
) -> Checked<()> {
    let pos = inst.opcode.pos;
    let mut sources = [
        body.source(inst.operand(1)?, ty)?,
        body.source(inst.operand(2)?, ty)?,
    ];
    if form.flush {
        for source in &mut sources {
            let flushed = body.fresh(ty, pos)?;
            if ty == Type::F32 {
                body.lane(LaneOp::FlushF32, flushed, *source, 0, 0);
            } else {
                body.lane(RareOp::FlushF16, flushed, *source, 0, 0);
            }
            *source = flushed;
        }
    }
    let [a, b] = sources;
    if form.abs {
        for source in &mut sources {
            let magnitude = body.fresh(ty, pos)?;
            let op: RareOpOf = either(ty, RareOp::AbsF16, RareOp::AbsBf16);
            if ty == Type::F32 {
                body.lane(LaneOp::AbsF32, magnitude, *source, 0, 0);
            } else {
                body.lane(op, magnitude, *source, 0, 0);
            }
            *source = magnitude;
        }
    }
    let result = if form.abs {
        body.fresh(ty, pos)?
    } else {
        body.dest(inst.operand(0)?, ty)?
    };
    let [x, y] = sources;
    if ty == Type::F32 {
        let op: LaneOpOf = match (least, form.nan) {
            (true, false) => LaneOp::MinF32,
            (true, true) => LaneOp::MinNanF32,
            (false, false) => LaneOp::MaxF32,
            (false, true) => LaneOp::MaxNanF32,
        };
        body.lane(op, result, x, y, 0);
    } else {
        let op = match (least, form.nan) {
            (true, false) => either(ty, RareOp::MinF16, RareOp::MinBf16),
            (true, true) => either(ty, RareOp::MinNanF16, RareOp::MinNanBf16),
            (false, false) => either(ty, RareOp::MaxF16, RareOp::MaxBf16),
            (false, true) => either(ty, RareOp::MaxNanF16, RareOp::MaxNanBf16),
        };
        body.lane(op, result, x, y, 0);
    }
    if form.abs {
        let d = body.dest(inst.operand(0)?, ty)?;
        let op: RareOpOf = match ty {
            Type::F32 => RareOp::XorSignF32,
            _ => either(ty, RareOp::XorSignF16, RareOp::XorSignBf16),
        };
        body.lane(op, d, result, a, b);
    }
    Ok(())
}

fn integers<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    form: Form,
    ty: Type,
    least: bool,
) -> Checked<()> {
    inst.modifiers.refuse(&["ftz", "NaN", "xorsign", "abs"])?;
    if form.relu {
        if ty != Type::S32 {
            return inst.modifiers.refuse(&["relu"]);
        }
        inst.requires(body, "relu", (8, 0), 90)?;
    }
    let pick = |smaller: LaneOpOf, greater: LaneOpOf| if least { smaller } else { greater };
    let op = match ty {
        Type::S16 => pick(LaneOp::MinS16, LaneOp::MaxS16),
        Type::S32 => pick(LaneOp::MinS32, LaneOp::MaxS32),
        Type::U64 => pick(LaneOp::MinU64, LaneOp::MaxU64),
        Type::S64 => pick(LaneOp::MinS64, LaneOp::MaxS64),
        _ => pick(LaneOp::MinU32, LaneOp::MaxU32),
    };
    binary(body, inst, ty, op)?;
    if form.relu {
        let d = body.dest(inst.operand(0)?, ty)?;
        let zero = body.constant32(0, inst.opcode.pos)?;
        body.lane(LaneOp::MaxS32, d, d, zero, 0);
    }
    Ok(())
}

/// Pairs of 16-bit integers.
fn pairs<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    form: Form,
    signed: bool,
    least: bool,
) -> Checked<()> {
    inst.modifiers.refuse(&["ftz", "NaN", "xorsign", "abs"])?;
    if !signed {
        inst.modifiers.refuse(&["relu"])?;
    }
    inst.requires(body, "of pairs", (8, 0), 90)?;
    let op: RareOpOf = match (signed, least) {
        (true, true) => RareOp::MinS16x2,
        (true, false) => RareOp::MaxS16x2,
        (false, true) => RareOp::MinU16x2,
        (false, false) => RareOp::MaxU16x2,
    };
    binary(body, inst, PAIR, op)?;
    if form.relu {
        let d = body.dest(inst.operand(0)?, PAIR)?;
        body.lane(RareOp::ReluS16x2, d, d, 0, 0);
    }
    Ok(())
}
