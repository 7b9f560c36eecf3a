//! Conversions whose source or result is a pair, and `.tf32`.

use super::super::super::body::Body;
use super::super::super::error::Checked;
use super::super::super::instruction::Inst;
use super::super::half;
use super::super::integer::PAIR;
use super::{Form, floats, rules};
use crate::code::RareOpOf;
use crate::exec::float::Rounding;
use crate::exec::rare::RareOp;
use crate::types::Type;

/// What operands of two 8-bit floats are declared as: 16 untyped bits.
const BYTES: Type = Type::Bf16;

/// `cvt{.rn | .rz | .rna}{.relu}{.satfinite}.tf32.f32`
pub(super) fn tf32<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, form: Form) -> Checked<()> {
    inst.modifiers.take("tf32");
    let from = inst.modifiers.type_of(&[Type::F32])?;
    inst.modifiers.refuse(&["ftz", "sat", "rm", "rp"])?;
    inst.modifiers.refuse(INTEGRAL)?;
    let op: RareOpOf = match (form.away, form.rounding) {
        (true, None) => RareOp::F32ToTf32Away,
        (false, Some(Rounding::Zero)) => RareOp::F32ToTf32Rz,
        (false, Some(_)) => RareOp::F32ToTf32,
        (true, Some(_)) => return inst.modifiers.refuse(&["rna"]),
        (false, None) => return inst.modifiers.missing("one of .rna, .rn, .rz"),
    };
    if form.away {
        inst.modifiers.refuse(&["relu"])?;
        inst.requires(body, "tf32", (7, 0), 80)?;
        if form.finite {
            inst.requires(body, "satfinite", (8, 1), 80)?;
        }
    } else {
        inst.requires(body, "tf32", (7, 8), 90)?;
        if form.finite {
            inst.requires(body, "satfinite", (8, 6), 100)?;
        }
    }
    inst.modifiers.end()?;
    inst.arity(2)?;
    let a = body.source(inst.operand(1)?, from)?;
    let d = body.dest(inst.operand(0)?, PAIR)?;
    body.lane(op, d, a, 0, 0);
    if form.finite {
        body.lane(RareOp::FiniteTf32, d, d, 0, 0);
    }
    if form.relu {
        body.lane(RareOp::ReluF32, d, d, 0, 0);
    }
    Ok(())
}

/// Roundings to an integral value, which nothing here has.
const INTEGRAL: &[&str] = &["rni", "rzi", "rmi", "rpi"];

/// Pairs of floats of 16 or 8 bits.
pub(super) fn pair<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, form: Form) -> Checked<()> {
    let word = inst.modifiers.type_word().unwrap_or_default();
    inst.modifiers.take(word);
    if matches!(word, "e4m3x2" | "e5m2x2") {
        return to_bytes(body, inst, form, word == "e4m3x2");
    }
    let to = if word == "f16x2" {
        Type::F16x2
    } else {
        Type::Bf16x2
    };
    if to == Type::F16x2
        && let Some(from @ ("e4m3x2" | "e5m2x2")) = inst.modifiers.type_word()
    {
        inst.modifiers.take(from);
        return of_bytes(body, inst, form, from == "e4m3x2");
    }
    let from = inst.modifiers.type_of(&[Type::F32])?;
    inst.modifiers.end()?;
    inst.modifiers.refuse(&["ftz", "sat", "rna", "rm", "rp"])?;
    inst.modifiers.refuse(INTEGRAL)?;
    let Some(rounding) = form.rounding else {
        return inst.modifiers.missing("one of .rn, .rz");
    };
    inst.requires(body, word, (7, 0), 80)?;
    if form.relu || form.finite {
        rules::clamps(body, &inst, form, true)?;
    }
    inst.arity(3)?;
    let pos = inst.opcode.pos;
    let [high, low] = converted(body, &inst, from, floats::half_of_single(to, rounding))?;
    let (d, d_type) = match to {
        Type::F16x2 => body.dest_wider(inst.operand(0)?, to)?,
        _ => (body.dest(inst.operand(0)?, to)?, to),
    };
    let value = body.fresh(Type::B32, pos)?;
    body.lane(RareOp::Join16, value, high, low, 0);
    super::finish(body, value, to, form);
    super::settle(body, value, to, d, d_type);
    Ok(())
}

/// Both sources of single precision, converted.
fn converted<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    from: Type,
    op: RareOpOf,
) -> Checked<[u32; 2]> {
    let mut values = [0; 2];
    for (at, value) in values.iter_mut().enumerate() {
        let source = body.source(inst.operand(at.saturating_add(1))?, from)?;
        *value = body.fresh(Type::B32, inst.opcode.pos)?;
        body.lane(op, *value, source, 0, 0);
    }
    Ok(values)
}

/// `cvt.rn.satfinite{.relu}` to two 8-bit floats, from two singles or a pair of `.f16`.
fn to_bytes<'a>(
    body: &mut Body<'a>,
    mut inst: Inst<'a>,
    form: Form,
    more_mantissa: bool,
) -> Checked<()> {
    let from = inst.modifiers.type_of(&[Type::F32, Type::F16x2])?;
    inst.modifiers.end()?;
    inst.modifiers
        .refuse(&["ftz", "sat", "rna", "rz", "rm", "rp"])?;
    inst.modifiers.refuse(INTEGRAL)?;
    if form.rounding.is_none() {
        return inst.modifiers.missing(".rn");
    }
    if !form.finite {
        return inst.modifiers.missing(".satfinite");
    }
    bytes_are_there(body, &inst)?;
    let pos = inst.opcode.pos;
    let mut halves = [0; 2];
    if from == Type::F32 {
        inst.arity(3)?;
        for (at, slot) in halves.iter_mut().enumerate() {
            *slot = body.source(inst.operand(at.saturating_add(1))?, from)?;
        }
    } else {
        inst.arity(2)?;
        let source = body.source(inst.operand(1)?, from)?;
        for (slot, upper) in halves.iter_mut().zip([true, false]) {
            *slot = half::part(body, source, upper, pos)?;
            *slot = floats::widened(body, *slot, Type::F16, pos)?;
        }
    }
    let op: RareOpOf = if more_mantissa {
        RareOp::F32ToE4m3
    } else {
        RareOp::F32ToE5m2
    };
    let mut bytes = [0; 2];
    for (byte, source) in bytes.iter_mut().zip(halves) {
        *byte = body.fresh(Type::B32, pos)?;
        if form.relu {
            body.lane(RareOp::ReluF32, *byte, source, 0, 0);
            body.lane(op, *byte, *byte, 0, 0);
        } else {
            body.lane(op, *byte, source, 0, 0);
        }
    }
    let d = body.dest(inst.operand(0)?, BYTES)?;
    let [high, low] = bytes;
    body.lane(RareOp::Join8, d, high, low, 0);
    Ok(())
}

/// sm_90 had them before sm_89.
fn bytes_are_there<'a>(body: &Body<'a>, inst: &Inst<'a>) -> Checked<()> {
    let version = if body.target < 90 { (8, 1) } else { (7, 8) };
    inst.requires(body, "of 8-bit floats", version, 89)
}

/// `cvt.rn{.relu}.f16x2` of two 8-bit floats.
fn of_bytes<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    form: Form,
    more_mantissa: bool,
) -> Checked<()> {
    inst.modifiers.end()?;
    inst.modifiers
        .refuse(&["ftz", "sat", "satfinite", "rna", "rz", "rm", "rp"])?;
    inst.modifiers.refuse(INTEGRAL)?;
    if form.rounding.is_none() {
        return inst.modifiers.missing(".rn");
    }
    bytes_are_there(body, &inst)?;
    inst.arity(2)?;
    let a = body.source(inst.operand(1)?, BYTES)?;
    let d = body.dest(inst.operand(0)?, Type::F16x2)?;
    let op: RareOpOf = if more_mantissa {
        RareOp::E4m3ToF16
    } else {
        RareOp::E5m2ToF16
    };
    body.lane(op, d, a, 0, 0);
    if form.relu {
        body.lane(RareOp::ReluF16, d, d, 0, 0);
    }
    Ok(())
}

/// `cvt.pack.sat`: two integers clamped and packed, above them the lower bits of a third where there is room.
pub(super) fn integers<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    const WORDS: &[&str] = &["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"];
    inst.modifiers.need_one(&["sat"], ".sat")?;
    let word = inst.modifiers.need_one(WORDS, "a type of 2 to 16 bits")?;
    let from = inst.modifiers.type_of(&[Type::S32])?;
    let (clamp, pack): (RareOpOf, RareOpOf) = match word {
        "u16" => (RareOp::ClampU16, RareOp::Join16),
        "s16" => (RareOp::ClampS16, RareOp::Join16),
        "u8" => (RareOp::ClampU8, RareOp::Pack16),
        "s8" => (RareOp::ClampS8, RareOp::Pack16),
        "u4" => (RareOp::ClampU4, RareOp::Pack8),
        "s4" => (RareOp::ClampS4, RareOp::Pack8),
        "u2" => (RareOp::ClampU2, RareOp::Pack4),
        _ => (RareOp::ClampS2, RareOp::Pack4),
    };
    let alone = word.ends_with("16");
    if !alone {
        inst.modifiers.type_of(&[Type::B32])?;
    }
    let target = if alone || word.ends_with('8') { 72 } else { 75 };
    inst.requires(body, "pack", (6, 5), target)?;
    inst.modifiers.end()?;
    inst.arity(if alone { 3 } else { 4 })?;
    let [a, b] = converted(body, &inst, from, clamp)?;
    let c = if alone {
        a
    } else {
        body.source(inst.operand(3)?, Type::B32)?
    };
    let d = body.dest(inst.operand(0)?, Type::U32)?;
    body.lane(pack, d, a, b, c);
    Ok(())
}
