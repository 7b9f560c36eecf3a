//! What speaks of caches and of the order of memory: checked, and then little to do, since memory here is sequentially consistent and has
//! no caches.
//!
//! Source: PTX ISA, `membar`, `fence`, `prefetch`, `prefetchu`, `applypriority`, `discard`, `createpolicy` and `griddepcontrol`.

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use super::access::{SCOPES, cluster_scope, space_of};
use crate::ast::{Operand, OperandKind, Wide};
use crate::code::{Op, Space};
use crate::exec::ops::LaneOp;
use crate::types::Type;

/// `membar`.
pub(super) fn membar<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    if inst.modifiers.take("proxy") {
        return proxy(body, inst);
    }
    inst.modifiers
        .need_one(&["cta", "gl", "sys"], "one of .cta, .gl, .sys")?;
    inst.modifiers.end()?;
    inst.arity(0)?;
    body.emit(Op::Fence);
    Ok(())
}

/// `fence`.
pub(super) fn fence<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let pos = inst.opcode.pos;
    if inst.modifiers.take("proxy") {
        return proxy(body, inst);
    }
    body.requires(pos, "fence", 70, (6, 0))?;
    let initialised = inst.modifiers.take("mbarrier_init");
    let restriction = inst.modifiers.take_one(RESTRICTIONS);
    let order = inst
        .modifiers
        .take_one(&["sc", "acq_rel", "acquire", "release"]);
    let scope = inst.modifiers.need_one(SCOPES, "a scope such as .gpu")?;
    cluster_scope(body, &inst, Some(scope))?;
    if initialised {
        body.requires(pos, "fence.mbarrier_init", 90, (8, 0))?;
        if order != Some("release") || scope != "cluster" || restriction.is_some() {
            return inst.modifiers.clash("mbarrier_init");
        }
    } else if let Some(order) = order
        && matches!(order, "acquire" | "release")
    {
        body.requires(pos, "a fence of one direction", 90, (8, 6))?;
        restricted(&inst, restriction, order, scope)?;
    } else if let Some(word) = restriction {
        return inst.modifiers.clash(word);
    }
    inst.modifiers.end()?;
    inst.arity(0)?;
    body.emit(Op::Fence);
    Ok(())
}

const RESTRICTIONS: &[&str] = &[
    "sync_restrict::shared::cluster",
    "sync_restrict::shared::cta",
];

/// A fence restricted to shared memory orders reads of a cluster's and writes of the block's own.
fn restricted(inst: &Inst<'_>, restriction: Option<&str>, order: &str, scope: &str) -> Checked<()> {
    let Some(word) = restriction else {
        return Ok(());
    };
    let fits = (order == "acquire") == (word == "sync_restrict::shared::cluster");
    if fits && scope == "cluster" {
        return Ok(());
    }
    inst.modifiers.clash(word)
}

/// `fence.proxy`: there is one way to memory, so that proxies always agree.
fn proxy<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let pos = inst.opcode.pos;
    let kind = inst.modifiers.need_one(
        &["alias", "async", "async::generic", "tensormap::generic"],
        "a kind of proxy such as .alias",
    )?;
    match kind {
        "alias" => {
            let least = if inst.opcode.text == "membar" { 60 } else { 70 };
            body.requires(pos, "a proxy fence", least, (7, 5))?;
        }
        "async" => {
            body.requires(pos, "a fence of the async proxy", 90, (8, 0))?;
            inst.modifiers
                .take_one(&["global", "shared::cta", "shared::cluster"]);
        }
        "async::generic" => {
            body.requires(pos, "a fence of the async proxy", 90, (8, 6))?;
            let order = inst
                .modifiers
                .need_one(&["acquire", "release"], "one of .acquire, .release")?;
            let restriction = inst
                .modifiers
                .need_one(RESTRICTIONS, "a restriction to shared memory")?;
            let scope = inst.modifiers.need_one(&["cluster"], "scope .cluster")?;
            restricted(&inst, Some(restriction), order, scope)?;
        }
        _ => {
            body.requires(pos, "a fence of the tensormap proxy", 90, (8, 3))?;
            let order = inst
                .modifiers
                .need_one(&["acquire", "release"], "one of .acquire, .release")?;
            inst.modifiers.need_one(SCOPES, "a scope such as .gpu")?;
            if order == "acquire" {
                inst.modifiers.end()?;
                inst.arity(2)?;
                address(body, inst.operand(0)?, Space::Generic)?;
                return line_size(inst.operand(1)?);
            }
        }
    }
    inst.modifiers.end()?;
    inst.arity(0)
}

/// `prefetch` and `prefetchu`.
pub(super) fn prefetch<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    if inst.opcode.text == "prefetchu" {
        inst.modifiers.need_one(&["L1"], ".L1")?;
        inst.modifiers.end()?;
        inst.arity(1)?;
        return address(body, inst.operand(0)?, Space::Generic);
    }
    if inst.modifiers.take("tensormap") {
        return inst.modifiers.unsupported(".tensormap");
    }
    let word = inst.modifiers.take_one(&["global", "local"]);
    let level = inst.modifiers.need_one(
        &["L1", "L2", "L2::evict_last", "L2::evict_normal"],
        "a cache level",
    )?;
    if level.starts_with("L2::") {
        body.requires(inst.opcode.pos, "an eviction priority", 80, (7, 4))?;
        if word != Some("global") {
            return inst.modifiers.clash(level);
        }
    }
    inst.modifiers.end()?;
    inst.arity(1)?;
    address(body, inst.operand(0)?, space_of(word))
}

/// `applypriority`.
pub(super) fn applypriority<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers
        .need_one(&["L2::evict_normal"], ".L2::evict_normal")
        .and_then(|_| of_a_line(body, inst))
}

/// `discard`: what a line of memory holds afterwards is undefined, so it may keep what it holds.
pub(super) fn discard<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers
        .need_one(&["L2"], ".L2")
        .and_then(|_| of_a_line(body, inst))
}

fn of_a_line<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    body.requires(inst.opcode.pos, inst.opcode.text, 80, (7, 4))?;
    let space = space_of(inst.modifiers.take_one(&["global"]));
    inst.modifiers.end()?;
    inst.arity(2)?;
    address(body, inst.operand(0)?, space)?;
    line_size(inst.operand(1)?)
}

/// `createpolicy`: a policy is a number that nothing here looks at.
pub(super) fn createpolicy<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let pos = inst.opcode.pos;
    body.requires(pos, "createpolicy", 80, (7, 4))?;
    let kind = inst.modifiers.need_one(
        &["fractional", "range", "cvt"],
        "one of .fractional, .range, .cvt",
    )?;
    match kind {
        "cvt" => {
            inst.modifiers.need_one(&["L2"], ".L2")?;
        }
        _ => {
            let space = inst.modifiers.take_one(&["global"]);
            if kind == "fractional" && space.is_some() {
                return inst.modifiers.clash("global");
            }
            inst.modifiers
                .need_one(PRIMARY, "a priority such as .L2::evict_last")?;
            inst.modifiers
                .take_one(&["L2::evict_first", "L2::evict_unchanged"]);
        }
    }
    inst.modifiers.type_of(&[Type::B64])?;
    inst.modifiers.end()?;
    match kind {
        "cvt" => {
            inst.arity(2)?;
            body.no_floats(inst.operands)?;
            body.source(inst.operand(1)?, Type::B64)?;
        }
        "fractional" => {
            inst.arity_between(1, 2)?;
            if let Some(fraction) = inst.operands.get(1) {
                body.source(fraction, Type::F32)?;
            }
        }
        _ => {
            inst.arity(4)?;
            address(body, inst.operand(1)?, Space::Global)?;
            body.count(inst.operand(2)?)?;
            body.count(inst.operand(3)?)?;
        }
    }
    body.no_floats(inst.operands.get(..1).unwrap_or_default())?;
    let d = body.dest(inst.operand(0)?, Type::B64)?;
    let none = body.constant64(0, pos)?;
    body.lane(LaneOp::Mov64, d, none, none, 0);
    Ok(())
}

const PRIMARY: &[&str] = &[
    "L2::evict_last",
    "L2::evict_normal",
    "L2::evict_first",
    "L2::evict_unchanged",
];

/// `griddepcontrol`: grids run one after the other, so that what a grid depends on has always ended.
pub(super) fn griddepcontrol<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    body.requires(inst.opcode.pos, "griddepcontrol", 90, (7, 8))?;
    inst.modifiers.need_one(
        &["launch_dependents", "wait"],
        "one of .launch_dependents, .wait",
    )?;
    inst.modifiers.end()?;
    inst.arity(0)
}

/// An address that is checked for form only.
fn address<'a>(body: &mut Body<'a>, operand: &Operand<'a>, space: Space) -> Checked<()> {
    body.address(operand, space).map(drop)
}

/// The size of a cache line, the only one that may be given.
fn line_size(operand: &Operand<'_>) -> Checked<()> {
    match operand.kind {
        OperandKind::Int(Wide(128)) => Ok(()),
        OperandKind::Int(Wide(value)) => fail(
            operand.pos,
            SemanticError::OutOfRange {
                what: "size (128)",
                value: value.to_string(),
            },
        ),
        ref other => fail(
            operand.pos,
            SemanticError::OperandForm {
                expected: "128",
                found: form(other),
            },
        ),
    }
}
