//! `cvt`: every pair of scalar types of 8 to 64 bits, with rounding and saturation.
//!
//! A conversion is lowered in up to three steps: bring the source to 32 or 64 bits by its own signedness, convert, and
//! bring the result to the destination register's width. 16-bit floats go through single precision, which holds them exactly.
//! Source: PTX ISA, "Data Movement and Conversion Instructions: cvt".

mod floats;
mod integers;
mod packs;
mod rules;

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use super::super::modifiers::Modifiers;
use super::access::whole;
use super::half;
use crate::ast::Pos;
use crate::code::LaneOpOf;
use crate::exec::float::Rounding;
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
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
    Type::F16,
    Type::Bf16,
];

/// The modifiers but the types.
#[derive(Clone, Copy, Debug)]
struct Form {
    integral: Option<Rounding>,
    rounding: Option<Rounding>,
    /// `.rna`
    away: bool,
    flush: bool,
    saturate: bool,
    relu: bool,
    finite: bool,
}

impl Form {
    fn take(modifiers: &mut Modifiers<'_>) -> Self {
        Self {
            integral: modifiers.integral_rounding(),
            rounding: modifiers.rounding(),
            away: modifiers.take("rna"),
            flush: modifiers.take("ftz"),
            saturate: modifiers.take("sat"),
            relu: modifiers.take("relu"),
            finite: modifiers.take("satfinite"),
        }
    }
}

pub(super) fn cvt<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    if inst.modifiers.take("pack") {
        return packs::integers(body, inst);
    }
    if let Some(word) = inst.modifiers.has(&["rs", "scaled"]) {
        return inst.modifiers.unsupported(format!(".{word}"));
    }
    let form = Form::take(&mut inst.modifiers);
    match inst.modifiers.type_word() {
        Some("tf32") => return packs::tf32(body, inst, form),
        Some("f16x2" | "bf16x2" | "e4m3x2" | "e5m2x2") => return packs::pair(body, inst, form),
        _ => {}
    }
    let to = inst.modifiers.type_of(CONVERTIBLE)?;
    let from = inst.modifiers.type_of(CONVERTIBLE)?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    rules::check(body, &inst, form, to, from)?;
    let pos = inst.opcode.pos;
    // With `.bf16`, no register is wider than its type.
    let exact = to == Type::Bf16 || from == Type::Bf16;
    if !exact {
        whole(body, &inst, inst.operand(0)?)?;
        whole(body, &inst, inst.operand(1)?)?;
    }
    let special = if to.is_integer() && from.is_integer() {
        body.special_whole(inst.operand(1)?)?
    } else {
        None
    };
    let (source, declared) = match (special, from) {
        (Some((slot, ty)), _) if ty.bytes() >= from.bytes() => (slot, ty),
        _ if exact => (body.source(inst.operand(1)?, from)?, from),
        _ => body.source_wider(inst.operand(1)?, from)?,
    };
    let (d, d_type) = if exact {
        (body.dest(inst.operand(0)?, to)?, to)
    } else {
        body.dest_wider(inst.operand(0)?, to)?
    };
    let mut source = canonical(body, source, declared, from, pos)?;
    if form.flush && from == Type::F32 {
        let flushed = body.fresh(from, pos)?;
        body.lane(LaneOp::FlushF32, flushed, source, 0, 0);
        source = flushed;
    }
    let widened = half::is_half(from);
    let from = if widened {
        source = floats::widened(body, source, from, pos)?;
        Type::F32
    } else {
        from
    };
    let value = match (to.is_float(), from.is_float()) {
        _ if widened && to == Type::F32 && form.integral.is_none() => source,
        (false, false) => integers::between(body, source, from, to, form.saturate, pos)?,
        (false, true) => floats::to_integer(
            body,
            source,
            from,
            to,
            form.integral.unwrap_or(Rounding::Zero),
            pos,
        )?,
        (true, false) => floats::of_integer(
            body,
            source,
            from,
            to,
            form.rounding.unwrap_or(Rounding::Nearest),
            pos,
        )?,
        (true, true) => floats::between(body, source, from, to, form.integral, form.rounding, pos)?,
    };
    finish(body, value, to, form);
    settle(body, value, to, d, d_type);
    Ok(())
}

/// What the modifiers do to a float result.
fn finish(body: &mut Body<'_>, value: u32, to: Type, form: Form) {
    if to == Type::F32 && form.flush {
        body.lane(LaneOp::FlushF32, value, value, 0, 0);
    }
    if form.saturate {
        match to {
            Type::F32 => body.lane(LaneOp::SatF32, value, value, 0, 0),
            Type::F64 => body.lane(LaneOp::SatF64, value, value, 0, 0),
            Type::F16 => body.lane(RareOp::SatF16, value, value, 0, 0),
            _ => {}
        }
    }
    if form.finite {
        let op = half::either(to, RareOp::FiniteF16, RareOp::FiniteBf16);
        body.lane(op, value, value, 0, 0);
    }
    if form.relu {
        let op = half::either(to, RareOp::ReluF16, RareOp::ReluBf16);
        body.lane(op, value, value, 0, 0);
    }
}

/// The source as 32 or 64 bits, extended by its own signedness from its own width.
fn canonical<'a>(
    body: &mut Body<'a>,
    source: u32,
    declared: Type,
    from: Type,
    pos: Pos,
) -> Checked<u32> {
    if from.bytes() == 8 {
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
        Type::F16 if declared.bytes() > 2 => LaneOp::Low16,
        _ => return Ok(narrow),
    };
    let extended = body.fresh(Type::B32, pos)?;
    body.lane(op, extended, narrow, 0, 0);
    Ok(extended)
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
