//! Comparison and selection.
//!
//! Source: PTX ISA, "Comparison and Selection Instructions".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use crate::ast::OperandKind;
use crate::code::{LaneOpOf, NONE};
use crate::exec::ops::LaneOp;
use crate::types::{Kind, Type};

const COMPARABLE: &[Type] = &[
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
];

const COMPARISONS: &[&str] = &[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
];

/// A comparison as one operation, perhaps with operands swapped, perhaps negated.
struct Comparison {
    op: LaneOpOf,
    swap: bool,
    negate: bool,
}

/// The operation behind `.word` on `ty`; `None` where the type has no such comparison.
fn comparison(word: &str, ty: Type) -> Option<Comparison> {
    if ty.is_float() {
        return float_comparison(word, ty);
    }
    let wide = ty.bytes() == 8;
    let equal: LaneOpOf = if wide { LaneOp::EqI64 } else { LaneOp::EqI32 };
    let differ: LaneOpOf = if wide { LaneOp::NeI64 } else { LaneOp::NeI32 };
    let unsigned = ty.kind() == Kind::Unsigned;
    let (less, less_equal): (LaneOpOf, LaneOpOf) = match (ty.bytes(), ty.is_signed()) {
        (8, true) => (LaneOp::LtS64, LaneOp::LeS64),
        (8, false) => (LaneOp::LtU64, LaneOp::LeU64),
        (2, true) => (LaneOp::LtS16, LaneOp::LeS16),
        (_, true) => (LaneOp::LtS32, LaneOp::LeS32),
        (_, false) => (LaneOp::LtU32, LaneOp::LeU32),
    };
    let plain = |op| {
        Some(Comparison {
            op,
            swap: false,
            negate: false,
        })
    };
    let swapped = |op| {
        Some(Comparison {
            op,
            swap: true,
            negate: false,
        })
    };
    match word {
        "eq" => plain(equal),
        "ne" => plain(differ),
        _ if ty.kind() == Kind::Bits => None,
        "lt" => plain(less),
        "le" => plain(less_equal),
        "gt" => swapped(less),
        "ge" => swapped(less_equal),
        "lo" if unsigned => plain(less),
        "ls" if unsigned => plain(less_equal),
        "hi" if unsigned => swapped(less),
        "hs" if unsigned => swapped(less_equal),
        _ => None,
    }
}

/// Ordered comparisons are false on NaN; the unordered ones are negations of the opposite ordered ones.
fn float_comparison(word: &str, ty: Type) -> Option<Comparison> {
    let single = ty == Type::F32;
    let pick = |narrow: LaneOpOf, wide: LaneOpOf| if single { narrow } else { wide };
    let equal = pick(LaneOp::EqF32, LaneOp::EqF64);
    let differ = pick(LaneOp::NeF32, LaneOp::NeF64);
    let less = pick(LaneOp::LtF32, LaneOp::LtF64);
    let less_equal = pick(LaneOp::LeF32, LaneOp::LeF64);
    let unordered = pick(LaneOp::NanF32, LaneOp::NanF64);
    let (op, swap, negate) = match word {
        "eq" => (equal, false, false),
        "ne" => (differ, false, false),
        "lt" => (less, false, false),
        "le" => (less_equal, false, false),
        "gt" => (less, true, false),
        "ge" => (less_equal, true, false),
        "equ" => (differ, false, true),
        "neu" => (equal, false, true),
        "ltu" => (less_equal, true, true),
        "leu" => (less, true, true),
        "gtu" => (less_equal, false, true),
        "geu" => (less, false, true),
        "num" => (unordered, false, true),
        "nan" => (unordered, false, false),
        _ => return None,
    };
    Some(Comparison { op, swap, negate })
}

/// The parts that `setp` and `set` share.
struct Test {
    word: &'static str,
    combine: Option<LaneOpOf>,
    flush: bool,
}

fn take_test<'a>(inst: &mut Inst<'a>) -> Checked<Test> {
    let word = inst
        .modifiers
        .need_one(COMPARISONS, "a comparison such as .lt")?;
    let word = COMPARISONS
        .iter()
        .copied()
        .find(|known| *known == word)
        .unwrap_or("eq");
    let combine: Option<LaneOpOf> = match inst.modifiers.take_one(&["and", "or", "xor"]) {
        Some("and") => Some(LaneOp::AndPred),
        Some("or") => Some(LaneOp::OrPred),
        Some(_) => Some(LaneOp::XorPred),
        None => None,
    };
    let flush = inst.modifiers.take("ftz");
    Ok(Test {
        word,
        combine,
        flush,
    })
}

/// Emits the comparison of operands 1 and 2 into predicate `result`.
fn compare<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    test: &Test,
    ty: Type,
    result: u32,
) -> Checked<()> {
    super::float::only_f32(&inst.modifiers, test.flush, ty)?;
    let Some(comparison) = comparison(test.word, ty) else {
        let opcode = format!("{}.{}", inst.opcode.text, test.word);
        return fail(
            inst.opcode.pos,
            SemanticError::InvalidType {
                opcode,
                ty: ty.word(),
            },
        );
    };
    let mut operands = [
        body.source(inst.operand(1)?, ty)?,
        body.source(inst.operand(2)?, ty)?,
    ];
    if test.flush {
        for operand in &mut operands {
            let flushed = body.fresh(ty, inst.opcode.pos)?;
            body.lane(LaneOp::FlushF32, flushed, *operand, 0, 0);
            *operand = flushed;
        }
    }
    if comparison.swap {
        operands.swap(0, 1);
    }
    body.lane(comparison.op, result, operands[0], operands[1], 0);
    if comparison.negate {
        body.lane(LaneOp::NotPred, result, result, result, 0);
    }
    Ok(())
}

/// The predicate operand `at`, negated where asked.
fn combined<'a>(body: &mut Body<'a>, inst: &Inst<'a>, at: usize) -> Checked<u32> {
    let (slot, negated) = body.predicate(inst.operand(at)?)?;
    if !negated {
        return Ok(slot);
    }
    let inverse = body.fresh(Type::Pred, inst.opcode.pos)?;
    body.lane(LaneOp::NotPred, inverse, slot, slot, 0);
    Ok(inverse)
}

pub(super) fn setp<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let test = take_test(&mut inst)?;
    let ty = inst.modifiers.type_of(COMPARABLE)?;
    inst.modifiers.end()?;
    inst.arity(if test.combine.is_some() { 4 } else { 3 })?;
    let (first, second) = match inst.operand(0)?.kind {
        OperandKind::Pair(first, second) => (
            body.ast.operands.get(first as usize),
            body.ast.operands.get(second as usize),
        ),
        _ => (Some(inst.operand(0)?), None),
    };
    let pos = inst.opcode.pos;
    if let (Some(first), None, None) = (first, second, test.combine) {
        let d = body.dest_or_sink(first, Type::Pred)?;
        return compare(body, &inst, &test, ty, d);
    }
    // Both results are computed before either is written: the combining predicate may be a destination too.
    let result = body.fresh(Type::Pred, pos)?;
    compare(body, &inst, &test, ty, result)?;
    let third = match test.combine {
        Some(_) => combined(body, &inst, 3)?,
        None => NONE,
    };
    let mut outputs = Vec::with_capacity(2);
    for (operand, negate) in [(first, false), (second, true)] {
        let Some(operand) = operand else { continue };
        let d = body.dest_or_sink(operand, Type::Pred)?;
        let value = body.fresh(Type::Pred, pos)?;
        body.lane(
            if negate {
                LaneOp::NotPred
            } else {
                LaneOp::MovPred
            },
            value,
            result,
            result,
            0,
        );
        if let Some(op) = test.combine {
            body.lane(op, value, value, third, 0);
        }
        outputs.push((d, value));
    }
    for (d, value) in outputs {
        body.lane(LaneOp::MovPred, d, value, value, 0);
    }
    Ok(())
}

pub(super) fn set<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let test = take_test(&mut inst)?;
    let result_type = inst.modifiers.type_of(&[Type::U32, Type::S32, Type::F32])?;
    let ty = inst.modifiers.type_of(COMPARABLE)?;
    inst.modifiers.end()?;
    inst.arity(if test.combine.is_some() { 4 } else { 3 })?;
    let result = body.fresh(Type::Pred, inst.opcode.pos)?;
    compare(body, &inst, &test, ty, result)?;
    if let Some(op) = test.combine {
        let third = combined(body, &inst, 3)?;
        body.lane(op, result, result, third, 0);
    }
    let d = body.dest(inst.operand(0)?, result_type)?;
    body.lane(
        if result_type == Type::F32 {
            LaneOp::FloatOfPred
        } else {
            LaneOp::OnesOfPred
        },
        d,
        result,
        0,
        0,
    );
    Ok(())
}

pub(super) fn selp<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ty = inst.modifiers.type_of(COMPARABLE)?;
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let c = combined(body, &inst, 3)?;
    let d = body.dest(inst.operand(0)?, ty)?;
    body.lane(
        if ty.bytes() == 8 {
            LaneOp::Select64
        } else {
            LaneOp::Select32
        },
        d,
        a,
        b,
        c,
    );
    Ok(())
}

pub(super) fn slct<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let flush = inst.modifiers.take("ftz");
    let ty = inst.modifiers.type_of(COMPARABLE)?;
    let sign_type = inst.modifiers.type_of(&[Type::S32, Type::F32])?;
    super::float::only_f32(&inst.modifiers, flush, sign_type)?;
    inst.modifiers.end()?;
    inst.arity(4)?;
    let a = body.source(inst.operand(1)?, ty)?;
    let b = body.source(inst.operand(2)?, ty)?;
    let mut c = body.source(inst.operand(3)?, sign_type)?;
    if flush {
        let flushed = body.fresh(sign_type, inst.opcode.pos)?;
        body.lane(LaneOp::FlushF32, flushed, c, 0, 0);
        c = flushed;
    }
    let d = body.dest(inst.operand(0)?, ty)?;
    let op: LaneOpOf = match (ty.bytes() == 8, sign_type == Type::S32) {
        (false, true) => LaneOp::SlctS32,
        (false, false) => LaneOp::SlctF32,
        (true, true) => LaneOp::SlctS64,
        (true, false) => LaneOp::SlctF64,
    };
    body.lane(op, d, a, b, c);
    Ok(())
}
