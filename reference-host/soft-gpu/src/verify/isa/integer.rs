//! Integer arithmetic, and the opcodes that integers share with floats.
//!
//! Source: PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic Instructions".

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use super::{approximate, float};
use crate::code::{LaneOpOf, Op};
use crate::exec::lanes::Slots;
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
use crate::types::Type;

const INTEGERS: &[Type] = &[
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S16,
    Type::S32,
    Type::S64,
];
/// What can be added, compared and multiplied.
pub(super) const ARITHMETIC: &[Type] = &[
    Type::U16,
    Type::U32,
    Type::U64,
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
/// What operands of pairs of integers are declared as: 32 untyped bits.
pub(super) const PAIR: Type = Type::Bf16x2;

const CARRYING: &[Type] = &[Type::U32, Type::S32, Type::U64, Type::S64];

/// `d = op(a)` with all operands of one type.
pub(super) fn unary<'a, O: Into<Op>>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    ty: Type,
    op: impl FnOnce(Slots) -> O,
) -> Checked<()> {
    inst.modifiers.end()?;
    inst.arity(2)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(op, d, a, 0, 0);
    Ok(())
}

/// `d = op(a, b)` with all operands of one type.
pub(super) fn binary<'a, O: Into<Op>>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    ty: Type,
    op: impl FnOnce(Slots) -> O,
) -> Checked<()> {
    inst.modifiers.end()?;
    inst.arity(3)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(op, d, a, b, 0);
    Ok(())
}

/// `d = op(a, b, c)`, destination and addend of type `wide`, factors of type `ty`.
pub(super) fn ternary<'a, O: Into<Op>>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    ty: Type,
    wide: Type,
    op: impl FnOnce(Slots) -> O,
) -> Checked<()> {
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let c = body.source(inst.operand(3)?, wide)?;
    let d = body.dest(inst.operand(0)?, wide)?;
    body.lane(op, d, a, b, c);
    Ok(())
}

pub(super) fn add<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    add_or_sub(body, inst, false)
}

pub(super) fn sub<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    add_or_sub(body, inst, true)
}

fn add_or_sub<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, subtract: bool) -> Checked<()> {
    if inst.modifiers.take("cc") {
        return carry_chain(body, inst, subtract, false, true);
    }
    let form = float::Form::take(&mut inst.modifiers);
    if !subtract && inst.modifiers.take_one(&["u16x2", "s16x2"]).is_some() {
        form.none_but_saturation(&inst.modifiers, false)?;
        inst.requires(body, "of pairs", (8, 0), 90)?;
        return binary(body, inst, PAIR, RareOp::AddPairs);
    }
    let ty = inst.modifiers.type_of(ARITHMETIC)?;
    if ty.is_float() {
        return float::add_or_sub(body, inst, form, ty, subtract);
    }
    form.none_but_saturation(&inst.modifiers, ty == Type::S32)?;
    let pick = |plus: LaneOpOf, minus: LaneOpOf| if subtract { minus } else { plus };
    let op = match ty.bytes() {
        _ if form.saturate => pick(LaneOp::AddSatS32, LaneOp::SubSatS32),
        2 => pick(LaneOp::AddI16, LaneOp::SubI16),
        4 => pick(LaneOp::AddI32, LaneOp::SubI32),
        _ => pick(LaneOp::AddI64, LaneOp::SubI64),
    };
    binary(body, inst, ty, op)
}

pub(super) fn addc<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let out = inst.modifiers.take("cc");
    carry_chain(body, inst, false, true, out)
}

pub(super) fn subc<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let out = inst.modifiers.take("cc");
    carry_chain(body, inst, true, true, out)
}

/// Addition or subtraction with the implicit carry flag as input, output or both.
fn carry_chain<'a>(
    body: &mut Body<'a>,
    mut inst: Inst<'a>,
    subtract: bool,
    carry_in: bool,
    carry_out: bool,
) -> Checked<()> {
    let ty = inst.modifiers.type_of(CARRYING)?;
    inst.modifiers.end()?;
    inst.arity(3)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    emit_carry(body, inst, ty, subtract, carry_in, carry_out, [d, a, b])
}

fn emit_carry<'a>(
    body: &mut Body<'a>,
    inst: Inst<'a>,
    ty: Type,
    subtract: bool,
    carry_in: bool,
    carry_out: bool,
    [d, a, b]: [u32; 3],
) -> Checked<()> {
    let pos = inst.opcode.pos;
    let flag = body.carry(pos)?;
    let input = if carry_in {
        flag
    } else {
        let clear = body.fresh(Type::Pred, pos)?;
        body.lane(LaneOp::XorPred, clear, clear, clear, 0);
        clear
    };
    let output = if carry_out {
        flag
    } else {
        body.fresh(Type::Pred, pos)?
    };
    let slots = Slots {
        d,
        a,
        b,
        c: input,
        e: output,
    };
    body.emit(Op::Lane(match (ty.bytes(), subtract) {
        (4, false) => LaneOp::AddCarry32(slots),
        (4, true) => LaneOp::SubBorrow32(slots),
        (_, false) => LaneOp::AddCarry64(slots),
        (_, true) => LaneOp::SubBorrow64(slots),
    }));
    Ok(())
}

pub(super) fn mul<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let Some(half) = inst.modifiers.take_one(&["lo", "hi", "wide"]) else {
        let form = float::Form::take(&mut inst.modifiers);
        let ty = inst.modifiers.any_type()?;
        if ty.is_integer() {
            form.none_but_saturation(&inst.modifiers, false)?;
            return inst.modifiers.missing("one of .lo, .hi, .wide");
        }
        return float::mul(body, inst, form, ty);
    };
    let ty = inst.modifiers.type_of(INTEGERS)?;
    if half == "wide" {
        return mul_wide(body, inst, ty);
    }
    let op = mul_op(half, ty);
    binary(body, inst, ty, op)
}

fn mul_op(half: &str, ty: Type) -> LaneOpOf {
    match (half, ty) {
        ("lo", _) => match ty.bytes() {
            2 => LaneOp::MulLoI16,
            4 => LaneOp::MulLoI32,
            _ => LaneOp::MulLoI64,
        },
        (_, Type::U16) => LaneOp::MulHiU16,
        (_, Type::S16) => LaneOp::MulHiS16,
        (_, Type::U32) => LaneOp::MulHiU32,
        (_, Type::S32) => LaneOp::MulHiS32,
        (_, Type::U64) => LaneOp::MulHiU64,
        _ => LaneOp::MulHiS64,
    }
}

/// The type twice as wide.
fn widened<'a>(inst: &Inst<'a>, ty: Type) -> Checked<Type> {
    match ty {
        Type::U16 => Ok(Type::U32),
        Type::S16 => Ok(Type::S32),
        Type::U32 => Ok(Type::U64),
        Type::S32 => Ok(Type::S64),
        _ => inst.modifiers.check_type(ty, &[]),
    }
}

fn mul_wide<'a>(body: &mut Body<'a>, inst: Inst<'a>, ty: Type) -> Checked<()> {
    let wide = widened(&inst, ty)?;
    inst.modifiers.end()?;
    inst.arity(3)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let d = body.dest(inst.operand(0)?, wide)?;
    let op: LaneOpOf = match ty {
        Type::U16 => LaneOp::MulWideU16,
        Type::S16 => LaneOp::MulWideS16,
        Type::U32 => LaneOp::MulWideU32,
        _ => LaneOp::MulWideS32,
    };
    body.lane(op, d, a, b, 0);
    Ok(())
}

pub(super) fn mad<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let Some(half) = inst.modifiers.take_one(&["lo", "hi", "wide"]) else {
        return float::mad(body, inst);
    };
    if half != "wide" && inst.modifiers.take("cc") {
        return mad_carry(body, inst, half, false, true);
    }
    let saturate = half == "hi" && inst.modifiers.take("sat");
    let ty = inst
        .modifiers
        .type_of(if saturate { &[Type::S32] } else { INTEGERS })?;
    let wide = if half == "wide" {
        widened(&inst, ty)?
    } else {
        ty
    };
    let op: LaneOpOf = match (half, ty) {
        _ if saturate => LaneOp::MadHiSatS32,
        ("lo", _) => match ty.bytes() {
            2 => LaneOp::MadLoI16,
            4 => LaneOp::MadLoI32,
            _ => LaneOp::MadLoI64,
        },
        ("hi", Type::U16) => LaneOp::MadHiU16,
        ("hi", Type::S16) => LaneOp::MadHiS16,
        ("hi", Type::U32) => LaneOp::MadHiU32,
        ("hi", Type::S32) => LaneOp::MadHiS32,
        ("hi", Type::U64) => LaneOp::MadHiU64,
        ("hi", _) => LaneOp::MadHiS64,
        (_, Type::U16) => LaneOp::MadWideU16,
        (_, Type::S16) => LaneOp::MadWideS16,
        (_, Type::U32) => LaneOp::MadWideU32,
        _ => LaneOp::MadWideS32,
    };
    ternary(body, inst, ty, wide, op)
}

pub(super) fn madc<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let half = inst.modifiers.need_one(&["lo", "hi"], "one of .lo, .hi")?;
    let out = inst.modifiers.take("cc");
    mad_carry(body, inst, half, true, out)
}

/// Multiply-add in the carry chain: the product's half is taken first, then added.
fn mad_carry<'a>(
    body: &mut Body<'a>,
    mut inst: Inst<'a>,
    half: &str,
    carry_in: bool,
    carry_out: bool,
) -> Checked<()> {
    let ty = inst.modifiers.type_of(CARRYING)?;
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let c = body.source(inst.operand(3)?, ty)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    let product = body.fresh(ty, inst.opcode.pos)?;
    body.lane(mul_op(half, ty), product, a, b, 0);
    emit_carry(body, inst, ty, false, carry_in, carry_out, [d, product, c])
}

pub(super) fn mul24<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let half = inst.modifiers.need_one(&["lo", "hi"], "one of .lo, .hi")?;
    let ty = inst.modifiers.type_of(&[Type::U32, Type::S32])?;
    binary(body, inst, ty, mul24_op(half, ty))
}

fn mul24_op(half: &str, ty: Type) -> LaneOpOf {
    match (half, ty) {
        ("lo", Type::U32) => LaneOp::Mul24LoU32,
        ("lo", _) => LaneOp::Mul24LoS32,
        (_, Type::U32) => LaneOp::Mul24HiU32,
        _ => LaneOp::Mul24HiS32,
    }
}

pub(super) fn mad24<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let half = inst.modifiers.need_one(&["lo", "hi"], "one of .lo, .hi")?;
    let saturate = half == "hi" && inst.modifiers.take("sat");
    let ty = inst.modifiers.type_of(if saturate {
        &[Type::S32]
    } else {
        &[Type::U32, Type::S32]
    })?;
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let c = body.source(inst.operand(3)?, ty)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    let product = body.fresh(ty, inst.opcode.pos)?;
    body.lane(mul24_op(half, ty), product, a, b, 0);
    body.lane(
        if saturate {
            LaneOp::AddSatS32
        } else {
            LaneOp::AddI32
        },
        d,
        product,
        c,
        0,
    );
    Ok(())
}

pub(super) fn sad<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(INTEGERS)?;
    let op: LaneOpOf = match ty {
        Type::U32 => LaneOp::SadU32,
        Type::S32 => LaneOp::SadS32,
        Type::U64 => LaneOp::SadU64,
        Type::S64 => LaneOp::SadS64,
        Type::U16 => LaneOp::SadU16,
        _ => LaneOp::SadS16,
    };
    ternary(body, inst, ty, ty, op)
}

pub(super) fn div<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    if !inst.modifiers.next_type().is_some_and(Type::is_integer) {
        return approximate::div(body, inst);
    }
    let ty = inst.modifiers.type_of(INTEGERS)?;
    let op: LaneOpOf = match ty {
        Type::U16 => LaneOp::DivU16,
        Type::S16 => LaneOp::DivS16,
        Type::U32 => LaneOp::DivU32,
        Type::S32 => LaneOp::DivS32,
        Type::U64 => LaneOp::DivU64,
        _ => LaneOp::DivS64,
    };
    binary(body, inst, ty, op)
}

pub(super) fn rem<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(INTEGERS)?;
    let op: LaneOpOf = match ty {
        Type::U16 => LaneOp::RemU16,
        Type::S16 => LaneOp::RemS16,
        Type::U32 => LaneOp::RemU32,
        Type::S32 => LaneOp::RemS32,
        Type::U64 => LaneOp::RemU64,
        _ => LaneOp::RemS64,
    };
    binary(body, inst, ty, op)
}

/// A 32-bit result from a source of either width.
fn counting<'a>(
    body: &mut Body<'a>,
    mut inst: Inst<'a>,
    types: &[Type],
    pick: impl Fn(Type) -> LaneOpOf,
) -> Checked<()> {
    let ty = inst.modifiers.type_of(types)?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    let a = body.source(inst.operand(1)?, ty)?;
    body.no_floats(inst.operands.get(..1).unwrap_or_default())?;
    let d = body.dest(inst.operand(0)?, Type::U32)?;
    body.lane(pick(ty), d, a, 0, 0);
    Ok(())
}

pub(super) fn popc<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    counting(body, inst, &[Type::B32, Type::B64], |ty| {
        if ty == Type::B32 {
            LaneOp::Popc32
        } else {
            LaneOp::Popc64
        }
    })
}

pub(super) fn clz<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    counting(body, inst, &[Type::B32, Type::B64], |ty| {
        if ty == Type::B32 {
            LaneOp::Clz32
        } else {
            LaneOp::Clz64
        }
    })
}

pub(super) fn bfind<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let shift = inst.modifiers.take("shiftamt");
    counting(
        body,
        inst,
        &[Type::U32, Type::U64, Type::S32, Type::S64],
        move |ty| match (ty, shift) {
            (Type::U32, false) => LaneOp::BfindU32,
            (Type::S32, false) => LaneOp::BfindS32,
            (Type::U64, false) => LaneOp::BfindU64,
            (_, false) => LaneOp::BfindS64,
            (Type::U32, true) => LaneOp::BfindShiftU32,
            (Type::S32, true) => LaneOp::BfindShiftS32,
            (Type::U64, true) => LaneOp::BfindShiftU64,
            (_, true) => LaneOp::BfindShiftS64,
        },
    )
}

pub(super) fn brev<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(&[Type::B32, Type::B64])?;
    unary(
        body,
        inst,
        ty,
        if ty == Type::B32 {
            LaneOp::Brev32
        } else {
            LaneOp::Brev64
        },
    )
}

pub(super) fn bfe<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst
        .modifiers
        .type_of(&[Type::U32, Type::U64, Type::S32, Type::S64])?;
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let position = body.count(inst.operand(2)?)?;
    let length = body.count(inst.operand(3)?)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    let op: LaneOpOf = match ty {
        Type::U32 => LaneOp::BfeU32,
        Type::S32 => LaneOp::BfeS32,
        Type::U64 => LaneOp::BfeU64,
        _ => LaneOp::BfeS64,
    };
    body.lane(op, d, a, position, length);
    Ok(())
}

pub(super) fn bfi<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(&[Type::B32, Type::B64])?;
    inst.modifiers.end()?;
    inst.arity(5)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let position = body.count(inst.operand(3)?)?;
    let length = body.count(inst.operand(4)?)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    let slots = Slots {
        d,
        a,
        b,
        c: position,
        e: length,
    };
    body.emit(Op::Lane(if ty == Type::B32 {
        LaneOp::Bfi32(slots)
    } else {
        LaneOp::Bfi64(slots)
    }));
    Ok(())
}

/// Sum and addend of a dot product are of integers, while its factors may be given as pairs of halves.
pub(super) fn counts_alone<'a>(body: &mut Body<'a>, inst: &Inst<'a>) -> Checked<()> {
    body.no_floats(inst.operands.get(..1).unwrap_or_default())?;
    body.no_floats(inst.operands.get(3..).unwrap_or_default())
}

pub(super) fn dp4a<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    counts_alone(body, &inst)?;
    let a_type = inst.modifiers.type_of(&[Type::U32, Type::S32])?;
    let b_type = inst.modifiers.type_of(&[Type::U32, Type::S32])?;
    inst.requires(body, "", (5, 0), 61)?;
    let op: LaneOpOf = match (a_type, b_type) {
        (Type::U32, Type::U32) => LaneOp::Dot4UU,
        (Type::U32, _) => LaneOp::Dot4US,
        (_, Type::U32) => LaneOp::Dot4SU,
        _ => LaneOp::Dot4SS,
    };
    ternary(body, inst, Type::U32, Type::U32, op)
}
