//! Barriers and exchanges between the lanes of a warp.
//!
//! Source: PTX ISA, "Parallel Synchronization and Communication Instructions" and "Warp-level instructions".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use crate::ast::{Operand, OperandKind, Wide};
use crate::code::{NONE, Op, Reduction, Redux, Shuffle, Vote};
use crate::types::Type;

pub(super) fn bar<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    if inst.opcode.text == "bar" && inst.modifiers.take("warp") {
        return bar_warp(body, inst);
    }
    if inst.opcode.text == "barrier" && inst.modifiers.has(&["cluster"]).is_some() {
        return inst.modifiers.unsupported(".cluster");
    }
    if inst.modifiers.take("cta") {
        body.requires(inst.opcode.pos, "a barrier with .cta", 0, (7, 8))?;
    }
    if inst.modifiers.take("red") {
        body.requires(inst.opcode.pos, "bar.red", 20, (2, 0))?;
        return reducing_barrier(body, inst);
    }
    let arrive_only = inst
        .modifiers
        .need_one(&["sync", "arrive"], "one of .sync, .arrive")?
        == "arrive";
    if arrive_only {
        body.requires(inst.opcode.pos, "bar.arrive", 20, (2, 0))?;
    }
    if inst.opcode.text == "barrier" {
        inst.modifiers.take("aligned");
    }
    inst.modifiers.end()?;
    inst.arity_between(if arrive_only { 2 } else { 1 }, 2)?;
    let id = barrier_number(body, inst.operand(0)?)?;
    let count = barrier_count(body, inst.operands.get(1), arrive_only)?;
    body.begin_block();
    body.emit(Op::Barrier {
        id,
        count,
        arrive_only,
    });
    Ok(())
}

/// `bar.red`: a barrier that also tells how many of its threads have a predicate.
fn reducing_barrier<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let word = inst
        .modifiers
        .need_one(&["and", "or", "popc"], "one of .and, .or, .popc")?;
    if inst.opcode.text == "barrier" {
        inst.modifiers.take("aligned");
    }
    let (reduction, ty) = match word {
        "and" => (Reduction::And, Type::Pred),
        "or" => (Reduction::Or, Type::Pred),
        _ => (Reduction::Count, Type::U32),
    };
    inst.modifiers.type_of(&[ty])?;
    inst.modifiers.end()?;
    inst.arity_between(3, 4)?;
    let id = barrier_number(body, inst.operand(1)?)?;
    let (count, last) = if inst.operands.len() == 4 {
        (inst.operands.get(2), 3)
    } else {
        (None, 2)
    };
    let count = barrier_count(body, count, false)?;
    let (source, negated) = body.predicate(inst.operand(last)?)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.begin_block();
    body.emit(Op::BarrierVote {
        id,
        source,
        negated,
    });
    body.emit(Op::Barrier {
        id,
        count,
        arrive_only: false,
    });
    body.emit(Op::BarrierResult { id, d, reduction });
    Ok(())
}

/// A barrier's number, in a register.
fn barrier_number<'a>(body: &mut Body<'a>, operand: &Operand<'a>) -> Checked<u32> {
    if let OperandKind::Int(Wide(value)) = operand.kind
        && !(0..16).contains(&(value as u32))
    {
        return fail(
            operand.pos,
            SemanticError::OutOfRange {
                what: "barrier number",
                value: value.to_string(),
            },
        );
    }
    body.count(operand)
}

/// A barrier's thread count, in a register, or [`NONE`].
fn barrier_count<'a>(
    body: &mut Body<'a>,
    operand: Option<&Operand<'a>>,
    arrive_only: bool,
) -> Checked<u32> {
    match operand {
        Some(&Operand {
            kind: OperandKind::Int(value),
            pos,
        }) if value.get() % 32 != 0 || (value.get() == 0 && arrive_only) => fail(
            pos,
            SemanticError::OutOfRange {
                what: "thread count (a multiple of 32)",
                value: value.get().to_string(),
            },
        ),
        Some(operand) => body.count(operand),
        None => Ok(NONE),
    }
}

fn bar_warp<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.need_one(&["sync"], ".sync")?;
    inst.modifiers.end()?;
    inst.arity(1)?;
    let members = body.count(inst.operand(0)?)?;
    body.begin_block();
    body.emit(Op::WarpBarrier { members });
    Ok(())
}

/// `.sync`.
fn need_sync<'a>(inst: &mut Inst<'a>) -> Checked<()> {
    if inst.modifiers.take("sync") {
        return Ok(());
    }
    fail(
        inst.opcode.pos,
        SemanticError::MissingModifier {
            opcode: inst.opcode.text.to_owned(),
            what: ".sync",
        },
    )
}

/// Whether an exchange names its members. Without `.sync` it is of an older kind, among the lanes that are there, which
/// older targets have in every version, and newer ones in older versions.
fn names_members<'a>(
    body: &Body<'a>,
    inst: &mut Inst<'a>,
    (version, target): ((u32, u32), u32),
) -> Checked<bool> {
    if inst.modifiers.take("sync") {
        inst.requires(body, "sync", (6, 0), 30)?;
        return Ok(true);
    }
    if body.target >= 70 && body.ast.version >= (6, 4) {
        need_sync(inst)?;
    }
    inst.requires(body, "", version, target)?;
    Ok(false)
}

/// The members of an exchange: its last operand, or the lanes that are there.
fn members<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    operand: Option<&Operand<'a>>,
) -> Checked<u32> {
    match operand {
        Some(operand) => body.count(operand),
        None => body.fresh(Type::B32, inst.opcode.pos),
    }
}

/// Begins the block of an exchange, in which the lanes that are there become its members where it names none.
fn begin_exchange(body: &mut Body<'_>, named: bool, members: u32) {
    body.begin_block();
    if !named {
        body.emit(Op::ActiveMask { d: members });
    }
}

/// `d` or `d|p`.
fn one_or_pair<'a>(
    body: &Body<'a>,
    operand: &'a Operand<'a>,
) -> (&'a Operand<'a>, Option<&'a Operand<'a>>) {
    match operand.kind {
        OperandKind::Pair(first, second) => (
            body.ast.operands.get(first as usize).unwrap_or(operand),
            body.ast.operands.get(second as usize),
        ),
        _ => (operand, None),
    }
}

pub(super) fn shfl<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let named = names_members(body, &mut inst, ((3, 0), 30))?;
    let mode = match inst.modifiers.need_one(
        &["up", "down", "bfly", "idx"],
        "one of .up, .down, .bfly, .idx",
    )? {
        "up" => Shuffle::Up,
        "down" => Shuffle::Down,
        "bfly" => Shuffle::Butterfly,
        _ => Shuffle::Index,
    };
    inst.modifiers.type_of(&[Type::B32])?;
    inst.modifiers.end()?;
    inst.arity(if named { 5 } else { 4 })?;
    let (first, second) = one_or_pair(body, inst.operand(0)?);
    let a = body.source(inst.operand(1)?, Type::B32)?;
    let b = body.source(inst.operand(2)?, Type::B32)?;
    let c = body.source(inst.operand(3)?, Type::B32)?;
    let members = members(body, &inst, inst.operands.get(4))?;
    let d = body.dest(first, Type::B32)?;
    let p = match second {
        Some(operand) => body.dest_or_sink(operand, Type::Pred)?,
        None => NONE,
    };
    let list = body.list(&[d, p, a, b, c, members]);
    begin_exchange(body, named, members);
    body.emit(Op::Shuffle { mode, list });
    Ok(())
}

pub(super) fn vote<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let since = match inst.modifiers.has(&["ballot"]) {
        Some(_) => ((2, 0), 20),
        None => ((1, 2), 12),
    };
    let named = names_members(body, &mut inst, since)?;
    let (mode, ty) = match inst.modifiers.need_one(
        &["all", "any", "uni", "ballot"],
        "one of .all, .any, .uni, .ballot",
    )? {
        "all" => (Vote::All, Type::Pred),
        "any" => (Vote::Any, Type::Pred),
        "uni" => (Vote::Uniform, Type::Pred),
        _ => (Vote::Ballot, Type::B32),
    };
    inst.modifiers.type_of(&[ty])?;
    inst.modifiers.end()?;
    inst.arity(if named { 3 } else { 2 })?;
    let (source, negated) = body.predicate(inst.operand(1)?)?;
    let members = members(body, &inst, inst.operands.get(2))?;
    let d = body.dest(inst.operand(0)?, ty)?;
    begin_exchange(body, named, members);
    body.emit(Op::Vote {
        mode,
        d,
        source,
        negated,
        members,
    });
    Ok(())
}

pub(super) fn matching<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.requires(body, "", (6, 0), 70)?;
    let all = inst
        .modifiers
        .need_one(&["any", "all"], "one of .any, .all")?
        == "all";
    need_sync(&mut inst)?;
    let ty = inst.modifiers.type_of(&[Type::B32, Type::B64])?;
    inst.modifiers.end()?;
    inst.arity(3)?;
    let (first, second) = one_or_pair(body, inst.operand(0)?);
    let a = body.source(inst.operand(1)?, ty)?;
    let members = body.count(inst.operand(2)?)?;
    body.no_floats(std::slice::from_ref(first))?;
    let d = body.dest(first, Type::U32)?;
    let p = match second {
        Some(operand) if all => body.dest(operand, Type::Pred)?,
        Some(operand) => {
            return fail(
                operand.pos,
                SemanticError::OperandForm {
                    expected: "one destination",
                    found: "a pair of destinations",
                },
            );
        }
        None => NONE,
    };
    let list = body.list(&[d, p, a, members]);
    body.begin_block();
    body.emit(Op::Match {
        all,
        wide: ty == Type::B64,
        list,
    });
    Ok(())
}

pub(super) fn redux<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    need_sync(&mut inst)?;
    let word = inst.modifiers.need_one(
        &["add", "min", "max", "and", "or", "xor"],
        "an operation such as .add",
    )?;
    if inst.modifiers.has(&["abs", "NaN", "f32"]).is_some() {
        return inst.requires(body, "of .f32", (8, 6), 100);
    }
    let ty = match word {
        "add" | "min" | "max" => inst.modifiers.type_of(&[Type::U32, Type::S32])?,
        _ => inst.modifiers.type_of(&[Type::B32])?,
    };
    inst.requires(body, "", (7, 0), 80)?;
    inst.modifiers.end()?;
    inst.arity(3)?;
    let op = match (word, ty) {
        ("add", _) => Redux::Add,
        ("min", Type::S32) => Redux::MinSigned,
        ("min", _) => Redux::MinUnsigned,
        ("max", Type::S32) => Redux::MaxSigned,
        ("max", _) => Redux::MaxUnsigned,
        ("and", _) => Redux::And,
        ("or", _) => Redux::Or,
        _ => Redux::Xor,
    };
    body.no_floats(inst.operands)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let members = body.count(inst.operand(2)?)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.begin_block();
    body.emit(Op::Redux { op, d, a, members });
    Ok(())
}

pub(super) fn elect<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    need_sync(&mut inst)?;
    inst.modifiers.end()?;
    body.requires(inst.opcode.pos, "elect", 90, (8, 0))?;
    inst.arity(2)?;
    let first = inst.operand(0)?;
    let (d, Some(p)) = one_or_pair(body, first) else {
        return fail(
            first.pos,
            SemanticError::OperandForm {
                expected: "a pair of destinations",
                found: "one destination",
            },
        );
    };
    let members = body.count(inst.operand(1)?)?;
    body.no_floats(std::slice::from_ref(d))?;
    let d = match d.kind {
        OperandKind::Sink => NONE,
        _ => body.dest(d, Type::B32)?,
    };
    let p = body.dest(p, Type::Pred)?;
    body.begin_block();
    body.emit(Op::Elect { d, p, members });
    Ok(())
}

pub(super) fn activemask<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.requires(body, "", (6, 2), 30)?;
    let ty = inst.modifiers.type_of(&[Type::B32])?;
    inst.modifiers.end()?;
    inst.arity(1)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.emit(Op::ActiveMask { d });
    Ok(())
}
