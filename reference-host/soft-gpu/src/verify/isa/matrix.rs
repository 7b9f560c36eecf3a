//! `ldmatrix`, `stmatrix` and `movmatrix`.
//!
//! Source: PTX ISA, "Warp-level matrix load instruction" and the sections that follow it.

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, Unsupported, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use super::access::{cluster_space, space_of};
use super::mma::{emit_matrix, need_whole_warp, targets};
use crate::ast::{Operand, OperandKind};
use crate::code::Space;
use crate::exec::tensor::{Kind, Matrix};
use crate::types::Type;

pub(super) fn ldmatrix<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let (count, transposed, space) = qualifiers(body, &mut inst, (6, 5), 75)?;
    inst.arity(2)?;
    let place = Some(body.address(inst.operand(1)?, space)?);
    let d = targets(body, inst.operand(0)?, Type::B32, count)?;
    let kind = Kind::LoadRows { transposed };
    emit_matrix(body, &inst, of(kind, d, Vec::new(), place))
}

pub(super) fn stmatrix<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let (count, transposed, space) = qualifiers(body, &mut inst, (7, 8), 90)?;
    inst.arity(2)?;
    let place = Some(body.address(inst.operand(0)?, space)?);
    let OperandKind::Vector(parts) = inst.operand(1)?.kind else {
        return wrong(inst.operand(1)?, "a vector");
    };
    let parts = body.nested(parts);
    if parts.len() != count {
        return fail(
            inst.operand(1)?.pos,
            SemanticError::VectorLength {
                expected: count,
                found: parts.len(),
            },
        );
    }
    let mut a = Vec::with_capacity(count);
    for part in parts {
        a.push(register(body, part)?);
    }
    let kind = Kind::StoreRows { transposed };
    emit_matrix(body, &inst, of(kind, Vec::new(), a, place))
}

pub(super) fn movmatrix<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    need_whole_warp(&mut inst)?;
    inst.modifiers.need_one(&["m8n8"], "shape .m8n8")?;
    inst.modifiers.need_one(&["trans"], ".trans")?;
    inst.modifiers.need_one(&["b16"], "type .b16")?;
    inst.modifiers.end()?;
    inst.requires(body, "", (7, 8), 75)?;
    inst.arity(2)?;
    let a = register(body, inst.operand(1)?)?;
    let d = body.dest(inst.operand(0)?, Type::B32)?;
    emit_matrix(body, &inst, of(Kind::Transpose, vec![d], vec![a], None))
}

fn of(
    kind: Kind,
    d: Vec<u32>,
    a: Vec<u32>,
    place: Option<(Space, crate::code::Address)>,
) -> Matrix {
    Matrix {
        kind,
        wide: false,
        d,
        a,
        b: Vec::new(),
        c: Vec::new(),
        place,
        stride: None,
    }
}

/// Number of matrices, whether they are transposed, and their space.
fn qualifiers<'a>(
    body: &Body<'a>,
    inst: &mut Inst<'a>,
    version: (u32, u32),
    target: u32,
) -> Checked<(usize, bool, Space)> {
    need_whole_warp(inst)?;
    let shape = inst
        .modifiers
        .need_one(&["m8n8", "m8n16", "m16n16", "m16n8"], "shape .m8n8")?;
    if shape != "m8n8" {
        return inst
            .requires(body, "of that shape", (8, 6), 100)
            .and_then(|()| inst.modifiers.unsupported(format!("shape .{shape}")));
    }
    let number = inst
        .modifiers
        .need_one(&["x1", "x2", "x4"], "one of .x1, .x2, .x4")?;
    let count = match number {
        "x1" => 1,
        "x2" => 2,
        _ => 4,
    };
    let transposed = inst.modifiers.take("trans");
    let word = inst.modifiers.take_one(&["shared", "shared::cta"]);
    cluster_space(body, inst, word)?;
    inst.modifiers.need_one(&["b16"], "type .b16")?;
    inst.modifiers.end()?;
    inst.requires(body, "", version, target)?;
    Ok((count, transposed, space_of(word)))
}

/// A 32-bit register.
fn register<'a>(body: &mut Body<'a>, operand: &Operand<'a>) -> Checked<u32> {
    match operand.kind {
        OperandKind::Name(_) => body.source(operand, Type::B32),
        OperandKind::NameOffset(..) => fail(
            operand.pos,
            Unsupported::Declaration("a register plus a number as a row of a matrix".to_owned()),
        ),
        _ => wrong(operand, "a register"),
    }
}

fn wrong<T>(operand: &Operand<'_>, expected: &'static str) -> Checked<T> {
    fail(
        operand.pos,
        SemanticError::OperandForm {
            expected,
            found: form(&operand.kind),
        },
    )
}
