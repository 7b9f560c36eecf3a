//! Logic, shifts and byte permutation.
//!
//! Source: PTX ISA, "Logic and Shift Instructions" and "Data Movement: prmt".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::integer::{binary, ternary, unary};
use crate::ast::{OperandKind, Wide};
use crate::code::{LaneOpOf, Op};
use crate::exec::lanes::Slots;
use crate::exec::ops::LaneOp;
use crate::types::Type;

const BITS: &[Type] = &[Type::Pred, Type::B16, Type::B32, Type::B64];

fn bitwise<'a>(
    body: &mut Body<'a>,
    mut inst: Inst<'a>,
    [pred, narrow, wide]: [LaneOpOf; 3],
) -> Checked<()> {
    let ty = inst.modifiers.type_of(BITS)?;
    let op = match ty {
        Type::Pred => pred,
        Type::B64 => wide,
        _ => narrow,
    };
    binary(body, inst, ty, op)
}

pub(super) fn and<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    bitwise(body, inst, [LaneOp::AndPred, LaneOp::And32, LaneOp::And64])
}

pub(super) fn or<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    bitwise(body, inst, [LaneOp::OrPred, LaneOp::Or32, LaneOp::Or64])
}

pub(super) fn xor<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    bitwise(body, inst, [LaneOp::XorPred, LaneOp::Xor32, LaneOp::Xor64])
}

pub(super) fn not<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(BITS)?;
    let op: LaneOpOf = match ty {
        Type::Pred => LaneOp::NotPred,
        Type::B16 => LaneOp::Not16,
        Type::B32 => LaneOp::Not32,
        _ => LaneOp::Not64,
    };
    unary(body, inst, ty, op)
}

pub(super) fn cnot<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(&[Type::B16, Type::B32, Type::B64])?;
    unary(
        body,
        inst,
        ty,
        if ty == Type::B64 {
            LaneOp::Cnot64
        } else {
            LaneOp::Cnot32
        },
    )
}

pub(super) fn lop3<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    // With a predicate result, it says whether any bit is set, combined with a sixth operand.
    let combine: Option<LaneOpOf> = match inst.modifiers.take_one(&["and", "or"]) {
        Some("and") => Some(LaneOp::AndPred),
        Some(_) => Some(LaneOp::OrPred),
        None => None,
    };
    let ty = inst.modifiers.type_of(&[Type::B32])?;
    inst.modifiers.end()?;
    inst.requires(body, "", (4, 3), 0)?;
    if combine.is_some() {
        inst.requires(body, "of two results", (8, 2), 70)?;
    }
    inst.arity(if combine.is_some() { 6 } else { 5 })?;
    let table = inst.operand(4)?;
    let bits = match table.kind {
        // Of a larger number, the lowest eight bits are the table.
        OperandKind::Int(Wide(value)) => value as u32 & 0xFF,
        _ => {
            return fail(
                table.pos,
                SemanticError::OperandForm {
                    expected: "an integer",
                    found: super::super::operand::form(&table.kind),
                },
            );
        }
    };
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let c = body.source(inst.operand(3)?, ty)?;
    let e = body.constant32(bits, table.pos)?;
    let Some(combine) = combine else {
        let d = body.dest(inst.operand(0)?, ty)?;
        body.emit(Op::Lane(LaneOp::Lop3(Slots { d, a, b, c, e })));
        return Ok(());
    };
    let OperandKind::Pair(word, predicate) = inst.operand(0)?.kind else {
        return fail(
            inst.operand(0)?.pos,
            SemanticError::OperandForm {
                expected: "a pair of destinations",
                found: super::super::operand::form(&inst.operand(0)?.kind),
            },
        );
    };
    let pos = inst.opcode.pos;
    let third = super::compare::combined(body, &inst, 5)?;
    let part = |at: u32| body.ast.operands.get(at as usize);
    let (Some(word), Some(predicate)) = (part(word), part(predicate)) else {
        return inst.arity(0);
    };
    let d = body.dest_or_sink(word, ty)?;
    let p = body.dest(predicate, Type::Pred)?;
    let any = body.fresh(Type::Pred, pos)?;
    let zero = body.constant32(0, pos)?;
    body.emit(Op::Lane(LaneOp::Lop3(Slots { d, a, b, c, e })));
    body.lane(LaneOp::NeI32, any, d, zero, 0);
    body.lane(combine, p, any, third, 0);
    Ok(())
}

/// `d = a shifted by b`, where b is always 32 bits wide.
fn shift<'a>(body: &mut Body<'a>, inst: Inst<'a>, ty: Type, op: LaneOpOf) -> Checked<()> {
    inst.modifiers.end()?;
    inst.arity(3)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let count = body.count(inst.operand(2)?)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(op, d, a, count, 0);
    Ok(())
}

pub(super) fn shl<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(&[Type::B16, Type::B32, Type::B64])?;
    let op: LaneOpOf = match ty {
        Type::B16 => LaneOp::Shl16,
        Type::B32 => LaneOp::Shl32,
        _ => LaneOp::Shl64,
    };
    shift(body, inst, ty, op)
}

pub(super) fn shr<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    const TYPES: &[Type] = &[
        Type::B16,
        Type::B32,
        Type::B64,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::S16,
        Type::S32,
        Type::S64,
    ];
    let ty = inst.modifiers.type_of(TYPES)?;
    let op: LaneOpOf = match ty {
        Type::S16 => LaneOp::ShrS16,
        Type::S32 => LaneOp::ShrS32,
        Type::S64 => LaneOp::ShrS64,
        Type::B64 | Type::U64 => LaneOp::ShrU64,
        _ => LaneOp::ShrU32,
    };
    shift(body, inst, ty, op)
}

pub(super) fn shf<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    body.requires(inst.opcode.pos, "shf", 32, (3, 1))?;
    let left = inst.modifiers.need_one(&["l", "r"], "one of .l, .r")? == "l";
    let wrap = inst
        .modifiers
        .need_one(&["clamp", "wrap"], "one of .clamp, .wrap")?
        == "wrap";
    let ty = inst.modifiers.type_of(&[Type::B32])?;
    let op: LaneOpOf = match (left, wrap) {
        (true, true) => LaneOp::FunnelLeftWrap,
        (true, false) => LaneOp::FunnelLeftClamp,
        (false, true) => LaneOp::FunnelRightWrap,
        (false, false) => LaneOp::FunnelRightClamp,
    };
    body.no_floats(inst.operands.get(3..).unwrap_or_default())?;
    ternary(body, inst, ty, ty, op)
}

pub(super) fn prmt<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(&[Type::B32])?;
    let selector_of: Option<LaneOpOf> = match inst
        .modifiers
        .take_one(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])
    {
        None => None,
        Some("f4e") => Some(LaneOp::PermuteF4e),
        Some("b4e") => Some(LaneOp::PermuteB4e),
        Some("rc8") => Some(LaneOp::PermuteRc8),
        Some("ecl") => Some(LaneOp::PermuteEcl),
        Some("ecr") => Some(LaneOp::PermuteEcr),
        Some(_) => Some(LaneOp::PermuteRc16),
    };
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let mut selector = body.source(inst.operand(3)?, ty)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    if let Some(op) = selector_of {
        let generic = body.fresh(ty, inst.opcode.pos)?;
        body.lane(op, generic, selector, selector, 0);
        selector = generic;
    }
    body.lane(LaneOp::Permute, d, a, b, selector);
    Ok(())
}
