//! `cp.async` and its groups.
//!
//! Source: PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use super::mbarrier;
use crate::ast::{OperandKind, Wide};
use crate::code::{AsyncCopy, NONE, Op, Space};
use crate::types::Type;

pub(super) fn cp<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    if inst.modifiers.has(&["bulk", "reduce"]).is_some() {
        return inst.modifiers.unsupported("a bulk copy");
    }
    if !inst.modifiers.take("async") {
        return fail(
            inst.opcode.pos,
            SemanticError::UnknownInstruction(inst.opcode.text.to_owned()),
        );
    }
    match inst
        .modifiers
        .take_one(&["commit_group", "wait_group", "wait_all", "mbarrier"])
    {
        Some("commit_group") => {
            first(body, &inst)?;
            inst.arity(0)?;
            body.emit(Op::AsyncCommit);
            Ok(())
        }
        Some("wait_group") => {
            first(body, &inst)?;
            inst.arity(1)?;
            let operand = inst.operand(0)?;
            let OperandKind::Int(Wide(count)) = operand.kind else {
                return fail(
                    operand.pos,
                    SemanticError::OperandForm {
                        expected: "an integer",
                        found: form(&operand.kind),
                    },
                );
            };
            body.emit(Op::AsyncWait {
                groups: count as u32,
            });
            Ok(())
        }
        Some("wait_all") => {
            first(body, &inst)?;
            inst.arity(0)?;
            body.emit(Op::AsyncWait { groups: NONE });
            Ok(())
        }
        Some(_) => mbarrier::arrive_of_copies(body, inst),
        None => copy(body, inst),
    }
}

/// Checks that nothing more is said and that the target has asynchronous copies.
fn first<'a>(body: &Body<'a>, inst: &Inst<'a>) -> Checked<()> {
    inst.modifiers.end()?;
    body.requires(inst.opcode.pos, "cp.async", 80, (7, 0))
}

fn copy<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let pos = inst.opcode.pos;
    let cache = inst.modifiers.need_one(&["ca", "cg"], "one of .ca, .cg")?;
    if inst.modifiers.named(&["shared", "shared::cta", "global"]) == Some("global") {
        return inst.modifiers.clash("global");
    }
    inst.modifiers
        .need_one(&["shared", "shared::cta"], "space .shared")?;
    inst.modifiers.need_one(&["global"], "space .global")?;
    let hint = inst.modifiers.take("L2::cache_hint");
    let ahead = inst
        .modifiers
        .take_one(&["L2::64B", "L2::128B", "L2::256B"]);
    first(body, &inst)?;
    if hint || ahead.is_some() {
        body.requires(pos, "a cache hint", 80, (7, 4))?;
    }
    let most = if hint { 5usize } else { 4 };
    inst.arity_between(most.saturating_sub(1), most)?;
    let bytes = match inst.operand(2)?.kind {
        OperandKind::Int(Wide(16)) => 16,
        OperandKind::Int(Wide(4)) if cache == "ca" => 4,
        OperandKind::Int(Wide(8)) if cache == "ca" => 8,
        OperandKind::Int(Wide(value)) => {
            return fail(
                inst.operand(2)?.pos,
                SemanticError::OutOfRange {
                    what: "size of a copy (4, 8 or 16, and 16 with .cg)",
                    value: value.to_string(),
                },
            );
        }
        ref other => {
            return fail(
                inst.operand(2)?.pos,
                SemanticError::OperandForm {
                    expected: "an integer",
                    found: form(other),
                },
            );
        }
    };
    let mut copied = AsyncCopy {
        to: body.address(inst.operand(0)?, Space::Shared)?.1,
        from: body.address(inst.operand(1)?, Space::Global)?.1,
        bytes,
        size: NONE,
        ignore: NONE,
        negated: false,
    };
    if inst.operands.len() == most {
        let operand = inst.operand(3)?;
        match operand.kind {
            OperandKind::Int(value) if !(0..=i128::from(bytes)).contains(&value.get()) => {
                return fail(
                    operand.pos,
                    SemanticError::OutOfRange {
                        what: "bytes to copy",
                        value: value.get().to_string(),
                    },
                );
            }
            OperandKind::Int(_) => copied.size = body.count(operand)?,
            OperandKind::Not(_) => {
                body.requires(pos, "a copy that may be ignored", 80, (7, 5))?;
                (copied.ignore, copied.negated) = body.predicate(operand)?;
            }
            OperandKind::Name(name) if body.register(name)?.1 == Type::Pred => {
                body.requires(pos, "a copy that may be ignored", 80, (7, 5))?;
                (copied.ignore, copied.negated) = body.predicate(operand)?;
            }
            _ => copied.size = body.count(operand)?,
        }
    }
    if hint {
        let policy = inst.operand(
            most.saturating_sub(1)
                .min(inst.operands.len().saturating_sub(1)),
        )?;
        body.no_floats(std::slice::from_ref(policy))?;
        body.source(policy, Type::B64)?;
    }
    let index = u32::try_from(body.code.copies.len()).unwrap_or(NONE);
    body.code.copies.push(copied);
    body.emit(Op::AsyncCopy { index });
    Ok(())
}
