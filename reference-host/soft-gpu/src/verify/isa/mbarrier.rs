//! `mbarrier` objects.
//!
//! Orderings and scopes are checked and then change nothing: memory here is sequentially consistent.
//! Source: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use super::super::symbols::Symbol;
use super::access::{cluster_space, space_of};
use crate::ast::{Operand, OperandKind};
use crate::code::{Mbarrier, MbarrierKind, NONE, Op, Space};
use crate::exec::ops::LaneOp;
use crate::types::Type;

pub(super) fn mbarrier<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    body.requires(inst.opcode.pos, "mbarrier", 80, (7, 0))?;
    body.no_floats(inst.operands)?;
    match inst
        .modifiers
        .need_one(OPERATIONS, "an operation such as .init")?
    {
        "init" => init(body, inst),
        "inval" => invalidate(body, inst),
        "arrive" => arrive(body, inst, false),
        "arrive_drop" => arrive(body, inst, true),
        "expect_tx" => transaction(body, inst, MbarrierKind::Expect),
        "complete_tx" => transaction(body, inst, MbarrierKind::Complete),
        "test_wait" => wait(body, inst, false),
        "try_wait" => wait(body, inst, true),
        _ => pending_count(body, inst),
    }
}

const OPERATIONS: &[&str] = &[
    "init",
    "inval",
    "arrive",
    "arrive_drop",
    "expect_tx",
    "complete_tx",
    "test_wait",
    "try_wait",
    "pending_count",
];

/// `cp.async.mbarrier.arrive`: the lane's copies are carried out, and then it arrives.
pub(super) fn arrive_of_copies<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    body.requires(inst.opcode.pos, "cp.async", 80, (7, 0))?;
    inst.modifiers.need_one(&["arrive"], ".arrive")?;
    let counted = inst.modifiers.take("noinc");
    let space = take_space(body, &mut inst, &["shared", "shared::cta"])?;
    end(&mut inst)?;
    inst.arity(1)?;
    let target = inst.operand(0)?;
    let (space, address) = if space == Space::Generic && is_narrow(body, target)? {
        // Here alone may 32 bits be a generic address; the upper ones are zero.
        (space, body.address(target, Space::Shared)?.1)
    } else {
        body.address(target, space)?
    };
    body.emit(Op::AsyncWait { groups: NONE });
    // An arrival that is not counted beforehand adds itself to those awaited: then nothing changes.
    let operand = if counted {
        NONE
    } else {
        body.constant32(0, inst.opcode.pos)?
    };
    body.emit(Op::Mbarrier(Mbarrier {
        kind: MbarrierKind::Arrive,
        patient: false,
        space,
        d: NONE,
        operand,
        address,
    }));
    Ok(())
}

/// Whether an address is in a register of 32 bits.
fn is_narrow<'a>(body: &mut Body<'a>, operand: &Operand<'a>) -> Checked<bool> {
    let OperandKind::Address {
        base: Some(name), ..
    } = operand.kind
    else {
        return Ok(false);
    };
    Ok(matches!(body.symbol(name)?, Symbol::Register { ty, .. } if ty.bytes() == 4))
}

fn init<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let space = take_space(body, &mut inst, &["shared", "shared::cta"])?;
    end(&mut inst)?;
    inst.arity(2)?;
    let (space, address) = body.address(inst.operand(0)?, space)?;
    Body::within(inst.operand(1)?, "count of an mbarrier", 1..=0xF_FFFF)?;
    let operand = body.count(inst.operand(1)?)?;
    emit(body, MbarrierKind::Init, space, NONE, operand, address);
    Ok(())
}

fn invalidate<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let space = take_space(body, &mut inst, &["shared", "shared::cta"])?;
    end(&mut inst)?;
    inst.arity(1)?;
    let (space, address) = body.address(inst.operand(0)?, space)?;
    emit(body, MbarrierKind::Invalidate, space, NONE, NONE, address);
    Ok(())
}

fn arrive<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, drops: bool) -> Checked<()> {
    let pos = inst.opcode.pos;
    let expects = inst.modifiers.take("expect_tx");
    let incomplete = inst.modifiers.take("noComplete");
    take_ordering(body, &mut inst, &["release", "relaxed"])?;
    let spaces: &[&str] = if incomplete {
        &["shared", "shared::cta"]
    } else {
        &["shared", "shared::cta", "shared::cluster"]
    };
    let elsewhere = inst.modifiers.has(&["shared::cluster"]).is_some();
    let space = take_space(body, &mut inst, spaces)?;
    end(&mut inst)?;
    if elsewhere {
        body.requires(pos, "mbarrier of .shared::cluster", 90, (8, 0))?;
    }
    if incomplete {
        inst.modifiers.refuse(&["relaxed", "cluster"])?;
    }
    if expects {
        body.requires(pos, "mbarrier.expect_tx", 90, (8, 0))?;
        if incomplete {
            return inst.modifiers.clash("noComplete");
        }
    }
    let needs_count = expects || incomplete;
    inst.arity_between(if needs_count { 3 } else { 2 }, 3)?;
    if inst.operands.len() == 3 && !incomplete {
        body.requires(pos, "a count of arrivals", 90, (7, 8))?;
    }
    let (space, address) = body.address(inst.operand(1)?, space)?;
    let operand = match inst.operands.get(2) {
        Some(operand) if !expects => {
            Body::within(operand, "count of arrivals", 1..=i128::MAX)?;
            body.count(operand)?
        }
        Some(operand) => body.count(operand)?,
        None => NONE,
    };
    let d = match inst.operand(0)?.kind {
        OperandKind::Sink => {
            body.requires(pos, "an arrival without a state", 80, (7, 1))?;
            NONE
        }
        ref other if elsewhere => {
            return fail(
                inst.operand(0)?.pos,
                SemanticError::OperandForm {
                    expected: "`_`, since another block's barrier gives no state",
                    found: form(other),
                },
            );
        }
        _ => body.dest(inst.operand(0)?, Type::B64)?,
    };
    let kind = match (drops, expects) {
        (false, false) => MbarrierKind::Arrive,
        (false, true) => MbarrierKind::ArriveExpecting,
        (true, false) => MbarrierKind::Drop,
        (true, true) => MbarrierKind::DropExpecting,
    };
    emit(body, kind, space, d, operand, address);
    Ok(())
}

/// `.expect_tx` and `.complete_tx`
fn transaction<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, kind: MbarrierKind) -> Checked<()> {
    body.requires(inst.opcode.pos, "a count of bytes", 90, (8, 0))?;
    take_ordering(body, &mut inst, &["relaxed"])?;
    let spaces = &["shared", "shared::cta", "shared::cluster"];
    let space = take_space(body, &mut inst, spaces)?;
    end(&mut inst)?;
    inst.arity(2)?;
    let (space, address) = body.address(inst.operand(0)?, space)?;
    let operand = body.count(inst.operand(1)?)?;
    emit(body, kind, space, NONE, operand, address);
    Ok(())
}

fn wait<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, patient: bool) -> Checked<()> {
    let pos = inst.opcode.pos;
    let parity = inst.modifiers.take("parity");
    take_ordering(body, &mut inst, &["acquire", "relaxed"])?;
    let space = take_space(body, &mut inst, &["shared", "shared::cta"])?;
    end(&mut inst)?;
    if patient {
        body.requires(pos, "mbarrier.try_wait", 90, (7, 8))?;
        inst.arity_between(3, 4)?;
    } else {
        if parity {
            body.requires(pos, "mbarrier.test_wait.parity", 80, (7, 1))?;
        }
        inst.arity(3)?;
    }
    let (space, address) = body.address(inst.operand(1)?, space)?;
    let (kind, ty) = if parity {
        (MbarrierKind::TestParity, Type::U32)
    } else {
        (MbarrierKind::TestState, Type::B64)
    };
    if parity {
        Body::within(inst.operand(2)?, "parity of a phase", 0..=1)?;
    }
    let operand = body.source(inst.operand(2)?, ty)?;
    if let Some(hint) = inst.operands.get(3) {
        body.count(hint)?;
    }
    let d = body.dest(inst.operand(0)?, Type::Pred)?;
    body.emit(Op::Mbarrier(Mbarrier {
        kind,
        patient,
        space,
        d,
        operand,
        address,
    }));
    Ok(())
}

/// The arrivals that a state still awaited: its lowest 20 bits.
fn pending_count<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    end(&mut inst)?;
    inst.arity(2)?;
    let pos = inst.opcode.pos;
    let state = body.source(inst.operand(1)?, Type::B64)?;
    let d = body.dest(inst.operand(0)?, Type::U32)?;
    let mask = body.constant32(0xF_FFFF, pos)?;
    body.lane(LaneOp::Low32, d, state, 0, 0);
    body.lane(LaneOp::And32, d, d, mask, 0);
    Ok(())
}

/// Type `.b64`, and nothing more.
fn end(inst: &mut Inst<'_>) -> Checked<()> {
    inst.modifiers.need_one(&["b64"], "type .b64")?;
    inst.modifiers.end()
}

fn take_space<'a>(body: &Body<'a>, inst: &mut Inst<'a>, words: &[&str]) -> Checked<Space> {
    let word = inst.modifiers.take_one(words);
    cluster_space(body, inst, word)?;
    Ok(space_of(word))
}

/// `{.sem}{.scope}`: both or neither.
fn take_ordering<'a>(body: &Body<'a>, inst: &mut Inst<'a>, orders: &[&str]) -> Checked<()> {
    let order = inst.modifiers.take_one(orders);
    let scope = inst.modifiers.take_one(&["cta", "cluster"]);
    match (order, scope) {
        (None, None) => Ok(()),
        (None, Some(word)) => inst.modifiers.clash(word),
        (Some(_), None) => inst.modifiers.missing("a scope, one of .cta, .cluster"),
        (Some(order), Some(scope)) => {
            let pos = inst.opcode.pos;
            if scope == "cluster" {
                body.requires(pos, "scope .cluster", 90, (8, 0))?;
            }
            if order == "relaxed" && orders.len() > 1 {
                return body.requires(pos, "mbarrier with .relaxed", 90, (8, 6));
            }
            body.requires(pos, "mbarrier with an ordering", 80, (8, 0))
        }
    }
}

fn emit(
    body: &mut Body<'_>,
    kind: MbarrierKind,
    space: Space,
    d: u32,
    operand: u32,
    address: crate::code::Address,
) {
    body.emit(Op::Mbarrier(Mbarrier {
        kind,
        patient: false,
        space,
        d,
        operand,
        address,
    }));
}
