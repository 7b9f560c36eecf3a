//! State spaces as windows of the generic address space, and clusters, which are of one block here.
//!
//! Source: PTX ISA, `cvta`, `isspacep`, `mapa` and `getctarank`.

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use super::super::special::special;
use super::super::symbols::Symbol;
use super::access::cluster_space;
use super::moves::moved;
use crate::ast::{Operand, OperandKind};
use crate::code::{Op, Space};
use crate::exec::ops::LaneOp;
use crate::memory::{CONST_BASE, LOCAL_BASE, PARAM_BASE, SHARED_BASE};
use crate::types::Type;

pub(super) fn cvta<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    body.requires(inst.opcode.pos, "cvta", 20, (2, 0))?;
    let to_space = inst.modifiers.take("to");
    let (space, base) = take_window(body, &mut inst)?;
    let ty = inst.modifiers.type_of(&[Type::U64])?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    let from = inst.operand(1)?;
    if let OperandKind::Name(name) = from.kind
        && special(name.text, None).is_some()
    {
        return fail(
            name.pos,
            SemanticError::OperandForm {
                expected: "a register, a variable or an integer",
                found: "a special register, which only `mov` takes",
            },
        );
    }
    check_variable(body, from, space, to_space)?;
    let a = moved(body, from, ty)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    if space == Space::Global {
        body.lane(LaneOp::Mov64, d, a, 0, 0);
        return Ok(());
    }
    // A device function's parameters lie in its frame.
    let base = if space == Space::KernelParam && !body.entry {
        LOCAL_BASE
    } else {
        base
    };
    let base = body.constant64(base, inst.opcode.pos)?;
    let op = if to_space {
        LaneOp::SubI64
    } else {
        LaneOp::AddI64
    };
    body.lane(op, d, a, base, 0);
    Ok(())
}

/// A variable may stand where its own space is the one that is left; towards a space, ptxas minds variables by themselves alone.
fn check_variable<'a>(
    body: &mut Body<'a>,
    from: &Operand<'a>,
    space: Space,
    to_space: bool,
) -> Checked<()> {
    let (OperandKind::Name(name) | OperandKind::NameOffset(name, _)) = from.kind else {
        return Ok(());
    };
    let declared = match body.symbol(name)? {
        Symbol::Global { .. } => Space::Global,
        Symbol::Const { .. } => Space::Const,
        Symbol::Shared { .. } | Symbol::DynamicShared => Space::Shared,
        Symbol::FrameLocal { .. } => Space::Local,
        Symbol::KernelParam { .. } | Symbol::FrameParam { .. } => Space::KernelParam,
        _ => return Ok(()),
    };
    if to_space {
        if matches!(from.kind, OperandKind::NameOffset(..)) {
            return Ok(());
        }
        return fail(
            name.pos,
            SemanticError::OperandForm {
                expected: "a register",
                found: "a variable",
            },
        );
    }
    if declared != space {
        return fail(
            name.pos,
            SemanticError::SpaceMismatch {
                name: name.text.to_owned(),
                declared: declared.word(),
                needed: space.word(),
            },
        );
    }
    Ok(())
}

pub(super) fn isspacep<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let (space, _) = take_window(body, &mut inst)?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    body.no_floats(inst.operands.get(1..).unwrap_or_default())?;
    let address = match body.source_wider(inst.operand(1)?, Type::U32)? {
        (slot, Type::U64 | Type::S64 | Type::B64) => slot,
        (narrow, ty) if ty.bytes() == 4 => {
            let slot = body.fresh(Type::U64, inst.opcode.pos)?;
            body.lane(LaneOp::ZeroExtend, slot, narrow, 0, 0);
            slot
        }
        _ => body.source(inst.operand(1)?, Type::U64)?,
    };
    let d = match inst.operand(0)?.kind {
        OperandKind::Name(_) => body.dest(inst.operand(0)?, Type::Pred)?,
        ref other => {
            return fail(
                inst.operand(0)?.pos,
                SemanticError::OperandForm {
                    expected: "a predicate",
                    found: form(other),
                },
            );
        }
    };
    body.emit(Op::IsSpace { d, address, space });
    Ok(())
}

/// `mapa`: the only block of a cluster sees an address where it is.
pub(super) fn mapa<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    body.requires(inst.opcode.pos, "mapa", 90, (7, 8))?;
    let shared = inst.modifiers.take("shared::cluster");
    let ty = inst.modifiers.type_of(&[Type::U32, Type::U64])?;
    inst.modifiers.end()?;
    inst.arity(3)?;
    let a = if shared {
        moved(body, inst.operand(1)?, ty)?
    } else {
        body.source(inst.operand(1)?, ty)?
    };
    body.count(inst.operand(2)?)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    let op = if ty == Type::U64 {
        LaneOp::Mov64
    } else {
        LaneOp::Mov32
    };
    body.lane(op, d, a, a, 0);
    Ok(())
}

/// `getctarank`: a cluster's only block has rank 0.
pub(super) fn getctarank<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    body.requires(inst.opcode.pos, "getctarank", 90, (7, 8))?;
    let shared = inst.modifiers.take("shared::cluster");
    let ty = inst.modifiers.type_of(&[Type::U32, Type::U64])?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    if shared {
        moved(body, inst.operand(1)?, ty)?;
    } else {
        body.source(inst.operand(1)?, ty)?;
    }
    body.no_floats(inst.operands.get(..1).unwrap_or_default())?;
    let d = body.dest(inst.operand(0)?, Type::U32)?;
    let zero = body.constant32(0, inst.opcode.pos)?;
    body.lane(LaneOp::Mov32, d, zero, zero, 0);
    Ok(())
}

const WINDOWS: &[&str] = &[
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "const",
    "param",
    "param::entry",
];

/// The space that an instruction names, and where its window starts.
fn take_window<'a>(body: &Body<'a>, inst: &mut Inst<'a>) -> Checked<(Space, u64)> {
    let word = inst.modifiers.need_one(WINDOWS, "a state space")?;
    cluster_space(body, inst, Some(word))?;
    if word == "param" {
        body.requires(inst.opcode.pos, "space .param", 70, (7, 7))?;
    }
    Ok(match word {
        "shared" | "shared::cta" | "shared::cluster" => (Space::Shared, SHARED_BASE),
        "local" => (Space::Local, LOCAL_BASE),
        "const" => (Space::Const, CONST_BASE),
        "param" | "param::entry" => (Space::KernelParam, PARAM_BASE),
        _ => (Space::Global, 0),
    })
}
