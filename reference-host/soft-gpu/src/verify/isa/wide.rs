//! 128-bit values: each lives in two 64-bit registers in a row, the low half first.
//!
//! Source: PTX ISA, `mov` and "Packing and Unpacking of vector types".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, Unsupported, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use crate::ast::{Operand, OperandKind};
use crate::exec::ops::LaneOp;
use crate::types::Type;

/// The two registers of a 128-bit one.
pub(super) fn halves(slot: u32) -> [u32; 2] {
    [slot, slot.saturating_add(1)]
}

/// `mov.b128`: between registers, from parts and to parts.
pub(super) fn mov<'a>(body: &mut Body<'a>, inst: &Inst<'a>) -> Checked<()> {
    let (to, from) = (inst.operand(0)?, inst.operand(1)?);
    match (to.kind, from.kind) {
        (OperandKind::Vector(parts), _) => {
            let source = source(body, from)?;
            unpack(body, body.nested(parts), to, source)
        }
        (_, OperandKind::Vector(parts)) => {
            let parts = body.nested(parts);
            pack(body, to, from, parts)
        }
        _ => {
            let from = halves(source(body, from)?);
            let to = halves(body.dest(to, Type::B128)?);
            for (d, a) in to.into_iter().zip(from) {
                body.lane(LaneOp::Mov64, d, a, a, 0);
            }
            Ok(())
        }
    }
}

/// A 128-bit source, which must be a register.
pub(super) fn source<'a>(body: &mut Body<'a>, operand: &Operand<'a>) -> Checked<u32> {
    match operand.kind {
        OperandKind::Name(_) | OperandKind::NameOffset(..) => body.source(operand, Type::B128),
        // ptxas takes it; how it widens stands nowhere.
        OperandKind::Int(_) => fail(
            operand.pos,
            Unsupported::Declaration("an integer of 128 bits".to_owned()),
        ),
        ref other => fail(
            operand.pos,
            SemanticError::OperandForm {
                expected: "a register of type .b128",
                found: form(other),
            },
        ),
    }
}

fn unpack<'a>(
    body: &mut Body<'a>,
    parts: &'a [Operand<'a>],
    to: &Operand<'a>,
    source: u32,
) -> Checked<()> {
    let words = halves(source);
    match parts {
        [low, high] => {
            for (part, word) in [low, high].into_iter().zip(words) {
                let d = body.dest_or_sink(part, Type::B64)?;
                body.lane(LaneOp::Mov64, d, word, word, 0);
            }
            Ok(())
        }
        [_, _, _, _] => {
            for (pair, word) in parts.chunks(2).zip(words) {
                for (part, op) in pair.iter().zip([LaneOp::Low32, LaneOp::High32]) {
                    let d = body.dest_or_sink(part, Type::B32)?;
                    body.lane(op, d, word, 0, 0);
                }
            }
            Ok(())
        }
        _ => wrong_count(to, parts.len()),
    }
}

fn pack<'a>(
    body: &mut Body<'a>,
    to: &Operand<'a>,
    from: &Operand<'a>,
    parts: &'a [Operand<'a>],
) -> Checked<()> {
    let mut sources = Vec::with_capacity(4);
    let part = match parts.len() {
        2 => Type::B64,
        4 => Type::B32,
        count => return wrong_count(from, count),
    };
    for operand in parts {
        sources.push(body.source(operand, part)?);
    }
    let [low, high] = halves(body.dest(to, Type::B128)?);
    match *sources.as_slice() {
        [a, b] => {
            body.lane(LaneOp::Mov64, low, a, a, 0);
            body.lane(LaneOp::Mov64, high, b, b, 0);
        }
        [a, b, c, d] => {
            body.lane(LaneOp::Pack64, low, a, b, 0);
            body.lane(LaneOp::Pack64, high, c, d, 0);
        }
        _ => {}
    }
    Ok(())
}

fn wrong_count<T>(operand: &Operand<'_>, found: usize) -> Checked<T> {
    fail(
        operand.pos,
        SemanticError::VectorLength { expected: 2, found },
    )
}
