//! `mov` in all its forms.
//!
//! Source: PTX ISA, "Data Movement and Conversion Instructions".

use super::super::body::Body;
use super::super::error::{Checked, Failure, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use super::super::special::{is_vector, special};
use super::super::symbols::Symbol;
use super::vectors::are_bits;
use super::wide;
use crate::ast::{Operand, OperandKind};
use crate::code::Op;
use crate::exec::ops::LaneOp;
use crate::types::{Kind, Type};

const MOVABLE: &[Type] = &[
    Type::Pred,
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F32,
    Type::F64,
    Type::B128,
];

pub(super) fn mov<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let vector = inst.modifiers.take_one(&["v2", "v4"]);
    let ty = inst.modifiers.any_type()?;
    let ty = inst.modifiers.check_type(ty, MOVABLE)?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    let (to, from) = (inst.operand(0)?, inst.operand(1)?);
    if let Some(word) = vector {
        return mov_vector(body, &inst, word, ty);
    }
    if ty == Type::B128 {
        return wide::mov(body, &inst);
    }
    let (to, from) = match (sole(body, to, ty), sole(body, from, ty)) {
        (Some(_), Some(_)) | (None, None) => (to, from),
        (Some(one), None) if matches!(from.kind, OperandKind::Vector(_)) => {
            return Err(vectors_of_two_lengths(one));
        }
        (None, Some(other)) if matches!(to.kind, OperandKind::Vector(_)) => {
            return Err(vectors_of_two_lengths(other));
        }
        (one, other) => (one.unwrap_or(to), other.unwrap_or(from)),
    };
    if let OperandKind::Vector(parts) = to.kind {
        let parts = body.nested(parts);
        return unpack(body, &inst, ty, parts, from);
    }
    if let OperandKind::Vector(parts) = from.kind {
        let parts = body.nested(parts);
        return pack(body, &inst, ty, to, parts);
    }
    if let Some(register) = body.special_of(from, ty) {
        let d = body.dest(to, ty)?;
        body.emit(Op::Special { d, register });
        return Ok(());
    }
    let a = moved(body, from, ty)?;
    let d = body.dest(to, ty)?;
    let op = match ty.bytes() {
        0 => LaneOp::MovPred,
        8 => LaneOp::Mov64,
        _ => LaneOp::Mov32,
    };
    body.lane(op, d, a, a, 0);
    Ok(())
}

/// `mov.v4 {…}, %tid` and its like: all components of a special register at once.
fn mov_vector<'a>(body: &mut Body<'a>, inst: &Inst<'a>, word: &str, ty: Type) -> Checked<()> {
    let (to, from) = (inst.operand(0)?, inst.operand(1)?);
    let OperandKind::Name(name) = from.kind else {
        return inst.modifiers.unsupported(format!(".{word}"));
    };
    if word != "v4" || !is_vector(name.text) {
        return inst.modifiers.unsupported(format!(".{word}"));
    }
    let (OperandKind::Vector(parts), Type::U32 | Type::B32 | Type::S32 | Type::U16 | Type::B16) =
        (to.kind, ty)
    else {
        return inst
            .modifiers
            .check_type(ty, &[Type::U32, Type::U16])
            .map(drop)
            .and_then(|()| {
                fail(
                    to.pos,
                    SemanticError::OperandForm {
                        expected: "a vector",
                        found: form(&to.kind),
                    },
                )
            });
    };
    let parts = body.nested(parts);
    if parts.len() != 4 {
        return fail(
            to.pos,
            SemanticError::VectorLength {
                expected: 4,
                found: parts.len(),
            },
        );
    }
    let mut targets = [0; 4];
    for (target, part) in targets.iter_mut().zip(parts) {
        *target = body.dest_or_sink(part, ty)?;
    }
    body.special_vector(name, &targets, ty)
}

/// The element of a vector of one, which the assembler takes for the element itself where the type is of bits.
fn sole<'a>(body: &Body<'a>, operand: &Operand<'a>, ty: Type) -> Option<&'a Operand<'a>> {
    match operand.kind {
        OperandKind::Vector(parts) if ty.kind() == Kind::Bits => match body.nested(parts) {
            [one] if !matches!(one.kind, OperandKind::Sink) => Some(one),
            _ => None,
        },
        _ => None,
    }
}

/// What a plain `mov` moves: a value, or the address of a variable or function.
pub(super) fn moved<'a>(body: &mut Body<'a>, from: &Operand<'a>, ty: Type) -> Checked<u32> {
    let (name, offset) = match from.kind {
        OperandKind::Name(name) => (name, 0),
        OperandKind::NameOffset(name, offset) => (name, offset),
        _ => return body.movable(from, ty),
    };
    if special(name.text, None).is_some() {
        return body.movable(from, ty);
    }
    match body.symbol(name)? {
        Symbol::Register { .. } => body.source(from, ty),
        symbol => body.address_of(name, symbol, offset, ty),
    }
}

/// One vector against another of one register.
fn vectors_of_two_lengths(sole: &Operand<'_>) -> Failure {
    Failure {
        pos: sole.pos,
        cause: SemanticError::OperandForm {
            expected: "a register against a vector",
            found: "a vector of one register",
        }
        .into(),
    }
}

/// The type of one of `count` equal parts of `ty`.
fn part_type<'a>(inst: &Inst<'a>, ty: Type, count: usize) -> Checked<Type> {
    let part = match (ty.kind(), ty.bytes(), count) {
        (Kind::Bits, 8, 2) => Some(Type::B32),
        (Kind::Bits, 8, 4) | (Kind::Bits, 4, 2) => Some(Type::B16),
        (Kind::Bits, 4, 4) | (Kind::Bits, 2, 2) => Some(Type::B8),
        _ => None,
    };
    match part {
        Some(part) => Ok(part),
        None if ty.kind() == Kind::Bits => fail(
            inst.opcode.pos,
            SemanticError::VectorLength {
                expected: 2,
                found: count,
            },
        ),
        None => inst
            .modifiers
            .check_type(ty, &[Type::B16, Type::B32, Type::B64]),
    }
}

/// How many parts fill one 32-bit word of a value of type `ty`.
fn per_word(ty: Type, part: Type) -> usize {
    ty.bytes()
        .min(4)
        .checked_div(part.bytes())
        .unwrap_or(1)
        .max(1) as usize
}

/// An assembler takes a predicate as a part of a vector; the software GPU does not.
fn no_predicates<'a>(body: &mut Body<'a>, inst: &Inst<'a>, parts: &[Operand<'a>]) -> Checked<()> {
    for part in parts {
        if let OperandKind::Name(name) = part.kind
            && special(name.text, None).is_none()
            && let Symbol::Register { ty: Type::Pred, .. } = body.symbol(name)?
        {
            return inst.modifiers.unsupported("a predicate in a vector");
        }
    }
    Ok(())
}

/// `mov.b64 d, {a, b}`: the first part goes to the low bits.
fn pack<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    ty: Type,
    to: &Operand<'a>,
    parts: &[Operand<'a>],
) -> Checked<()> {
    let pos = inst.opcode.pos;
    no_predicates(body, inst, parts)?;
    are_bits(body, parts)?;
    let part = part_type(inst, ty, parts.len())?;
    let mut sources = Vec::with_capacity(parts.len());
    for operand in parts {
        sources.push(body.source(operand, part)?);
    }
    // Sixteen-bit and byte parts are first joined to 32-bit words.
    let words = if part == Type::B32 {
        sources
    } else {
        let in_word = per_word(Type::B32, part).min(sources.len());
        let mut words = Vec::new();
        for chunk in sources.chunks(in_word) {
            let word = body.fresh(Type::B32, pos)?;
            body.lane(
                LaneOp::Mov32,
                word,
                chunk.first().copied().unwrap_or(word),
                0,
                0,
            );
            for (at, &source) in chunk.iter().enumerate().skip(1) {
                let shift = body.constant32(
                    part.bits().saturating_mul(u32::try_from(at).unwrap_or(0)),
                    pos,
                )?;
                let shifted = body.fresh(Type::B32, pos)?;
                body.lane(LaneOp::Shl32, shifted, source, shift, 0);
                body.lane(LaneOp::Or32, word, word, shifted, 0);
            }
            words.push(word);
        }
        words
    };
    let d = body.dest(to, ty)?;
    match *words.as_slice() {
        [low, high] => body.lane(LaneOp::Pack64, d, low, high, 0),
        [word] => body.lane(LaneOp::Mov32, d, word, 0, 0),
        _ => {}
    }
    Ok(())
}

/// `mov.b64 {a, b}, d`.
fn unpack<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    ty: Type,
    parts: &[Operand<'a>],
    from: &Operand<'a>,
) -> Checked<()> {
    let pos = inst.opcode.pos;
    no_predicates(body, inst, parts)?;
    are_bits(body, parts)?;
    let part = part_type(inst, ty, parts.len())?;
    let source = body.source(from, ty)?;
    let words = if ty.bytes() == 8 {
        let low = body.fresh(Type::B32, pos)?;
        let high = body.fresh(Type::B32, pos)?;
        body.lane(LaneOp::Low32, low, source, 0, 0);
        body.lane(LaneOp::High32, high, source, 0, 0);
        vec![low, high]
    } else {
        let word = body.fresh(Type::B32, pos)?;
        body.lane(LaneOp::Mov32, word, source, 0, 0);
        vec![word]
    };
    let in_word = per_word(ty, part);
    for (at, operand) in parts.iter().enumerate() {
        let d = body.dest_or_sink(operand, part)?;
        let Some(&word) = words.get(at.checked_div(in_word).unwrap_or(0)) else {
            continue;
        };
        let shift = part
            .bits()
            .saturating_mul(u32::try_from(at.checked_rem(in_word).unwrap_or(0)).unwrap_or(0));
        let count = body.constant32(shift, pos)?;
        body.lane(LaneOp::ShrU32, d, word, count, 0);
        match part {
            Type::B16 => body.lane(LaneOp::Low16, d, d, 0, 0),
            Type::B8 => body.lane(LaneOp::Low8, d, d, 0, 0),
            _ => {}
        }
    }
    Ok(())
}
