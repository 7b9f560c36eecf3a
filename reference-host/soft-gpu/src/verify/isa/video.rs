//! SIMD video instructions, as far as compilers emit them: sums of absolute differences of bytes and halves.
//!
//! Source: PTX ISA, "Video Instructions".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use crate::ast::OperandKind;
use crate::code::LaneOpOf;
use crate::exec::ops::LaneOp;
use crate::types::Type;

const TYPES: &[Type] = &[Type::U32, Type::S32];

pub(super) fn vabsdiff2<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    differences(body, inst, LaneOp::AbsDiff2U32, LaneOp::AbsDiffAdd2U32)
}

pub(super) fn vabsdiff4<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    differences(body, inst, LaneOp::AbsDiff4U32, LaneOp::AbsDiffAdd4U32)
}

fn differences<'a>(
    body: &mut Body<'a>,
    mut inst: Inst<'a>,
    plain: LaneOpOf,
    added: LaneOpOf,
) -> Checked<()> {
    let types = [
        inst.modifiers.type_of(TYPES)?,
        inst.modifiers.type_of(TYPES)?,
        inst.modifiers.type_of(TYPES)?,
    ];
    let saturates = inst.modifiers.take("sat");
    let adds = !saturates && inst.modifiers.take("add");
    inst.modifiers.end()?;
    inst.arity(4)?;
    if saturates || types != [Type::U32; 3] {
        return inst.modifiers.unsupported("signed types or .sat");
    }
    for operand in inst.operands {
        match operand.kind {
            OperandKind::Name(_) => {}
            OperandKind::Member(..) => return inst.modifiers.unsupported("selected bytes"),
            ref other => {
                return fail(
                    operand.pos,
                    SemanticError::OperandForm {
                        expected: "a register",
                        found: form(other),
                    },
                );
            }
        }
    }
    let a = body.source(inst.operand(1)?, Type::U32)?;
    let b = body.source(inst.operand(2)?, Type::U32)?;
    let c = body.source(inst.operand(3)?, Type::U32)?;
    let d = body.dest(inst.operand(0)?, Type::U32)?;
    body.lane(if adds { added } else { plain }, d, a, b, c);
    Ok(())
}
