//! Comparison and selection.
//!
//! Source: PTX ISA, "Comparison and Selection Instructions".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::float::{flushed, only_f32};
use super::half;
use crate::ast::OperandKind;
use crate::code::{LaneOpOf, NONE};
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
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

const HALVES_TOO: &[Type] = &[
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
    Type::F16,
    Type::F16x2,
    Type::Bf16,
    Type::Bf16x2,
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

/// Emits the comparison of operands 1 and 2 into predicate `result`; of pairs, that of the upper or the lower halves.
fn compare<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    test: &Test,
    ty: Type,
    upper: bool,
    result: u32,
) -> Checked<()> {
    // 16-bit floats are compared as single precision, which holds them exactly.
    let compared = if half::is_half(ty) { Type::F32 } else { ty };
    let Some(comparison) = comparison(test.word, compared) else {
        let opcode = format!("{}.{}", inst.opcode.text, test.word);
        return fail(
            inst.opcode.pos,
            SemanticError::InvalidType {
                opcode,
                ty: ty.word(),
            },
        );
    };
    let mut operands = [0; 2];
    for (at, operand) in operands.iter_mut().enumerate() {
        *operand = compared_source(body, inst, at.saturating_add(1), ty, test.flush, upper)?;
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

/// Operand `at` as it is compared.
fn compared_source<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    at: usize,
    ty: Type,
    flush: bool,
    upper: bool,
) -> Checked<u32> {
    let pos = inst.opcode.pos;
    if !half::is_half(ty) {
        return flushed(body, inst, at, ty, flush);
    }
    let source = half::flushed(body, inst, at, ty, flush)?;
    let source = match ty {
        Type::F16x2 | Type::Bf16x2 => half::part(body, source, upper, pos)?,
        _ => source,
    };
    let value = body.fresh(Type::F32, pos)?;
    let op = half::either(ty, RareOp::F16ToF32, RareOp::Bf16ToF32);
    body.lane(op, value, source, 0, 0);
    Ok(value)
}

/// `.ftz` stands on single and half precision only.
fn check_flush<'a>(inst: &Inst<'a>, test: &Test, ty: Type) -> Checked<()> {
    match ty {
        Type::F16 | Type::F16x2 => Ok(()),
        _ => only_f32(&inst.modifiers, test.flush, ty),
    }
}

/// The predicate operand `at`, negated where asked.
pub(super) fn combined<'a>(body: &mut Body<'a>, inst: &Inst<'a>, at: usize) -> Checked<u32> {
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
    let ty = inst.modifiers.type_of(HALVES_TOO)?;
    inst.modifiers.end()?;
    check_flush(&inst, &test, ty)?;
    match ty {
        Type::F16 | Type::F16x2 => inst.requires(body, ty.word(), (4, 2), 53)?,
        Type::Bf16 | Type::Bf16x2 => inst.requires(body, ty.word(), (7, 8), 90)?,
        _ => {}
    }
    inst.arity(if test.combine.is_some() { 4 } else { 3 })?;
    let (first, second) = match inst.operand(0)?.kind {
        OperandKind::Pair(first, second) => (
            body.ast.operands.get(first as usize),
            body.ast.operands.get(second as usize),
        ),
        _ => (Some(inst.operand(0)?), None),
    };
    let pos = inst.opcode.pos;
    if second.is_none() && matches!(ty, Type::F16x2 | Type::Bf16x2) {
        // Assemblers take it; the ISA does not say which half it tests.
        return inst.modifiers.unsupported("one result of two comparisons");
    }
    if second.is_some() && matches!(ty, Type::F16 | Type::Bf16) {
        return fail(
            inst.operand(0)?.pos,
            SemanticError::OperandForm {
                expected: "one predicate",
                found: "a pair of destinations",
            },
        );
    }
    if let (Some(first), None, None) = (first, second, test.combine) {
        let d = body.dest_or_sink(first, Type::Pred)?;
        return compare(body, &inst, &test, ty, false, d);
    }
    let pairs = matches!(ty, Type::F16x2 | Type::Bf16x2);
    // Both results are computed before either is written: the combining predicate may be a destination too.
    let result = body.fresh(Type::Pred, pos)?;
    compare(body, &inst, &test, ty, false, result)?;
    let of_second = if pairs {
        let upper = body.fresh(Type::Pred, pos)?;
        compare(body, &inst, &test, ty, true, upper)?;
        upper
    } else {
        result
    };
    let third = match test.combine {
        Some(_) => combined(body, &inst, 3)?,
        None => NONE,
    };
    let mut outputs = Vec::with_capacity(2);
    // The second result is the first one's opposite, or that of the upper halves.
    for (operand, result, negate) in [(first, result, false), (second, of_second, !pairs)] {
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
    const RESULTS: &[Type] = &[
        Type::U32,
        Type::S32,
        Type::F32,
        Type::U16,
        Type::S16,
        Type::F16,
        Type::F16x2,
        Type::Bf16,
        Type::Bf16x2,
    ];
    let test = take_test(&mut inst)?;
    let result_type = inst.modifiers.type_of(RESULTS)?;
    let ty = inst.modifiers.type_of(HALVES_TOO)?;
    inst.modifiers.end()?;
    check_flush(&inst, &test, ty)?;
    check_set(body, &inst, &test, result_type, ty)?;
    inst.arity(if test.combine.is_some() { 4 } else { 3 })?;
    let pairs = matches!(ty, Type::F16x2 | Type::Bf16x2);
    let pos = inst.opcode.pos;
    let mut value = None;
    for upper in [false, true] {
        if upper && !pairs {
            break;
        }
        let result = body.fresh(Type::Pred, pos)?;
        compare(body, &inst, &test, ty, upper, result)?;
        if let Some(op) = test.combine {
            let third = combined(body, &inst, 3)?;
            body.lane(op, result, result, third, 0);
        }
        let mask = true_bits(result_type, pairs, upper);
        let mask = body.constant32(mask, pos)?;
        let word = body.fresh(Type::B32, pos)?;
        body.lane(LaneOp::OnesOfPred, word, result, 0, 0);
        body.lane(LaneOp::And32, word, word, mask, 0);
        if let Some(lower) = value {
            body.lane(LaneOp::Or32, word, word, lower, 0);
        }
        value = Some(word);
    }
    let d = body.dest(inst.operand(0)?, result_type)?;
    body.lane(LaneOp::Mov32, d, value.unwrap_or(d), 0, 0);
    Ok(())
}

/// Which results `set` has for which sources, and from where on.
fn check_set<'a>(
    body: &Body<'a>,
    inst: &Inst<'a>,
    test: &Test,
    result: Type,
    ty: Type,
) -> Checked<()> {
    const INTEGERS: &[Type] = &[Type::U16, Type::S16, Type::U32, Type::S32];
    const WORDS: &[Type] = &[Type::U32, Type::S32];
    const OTHERS: &[Type] = &[Type::U32, Type::S32, Type::F32, Type::F16, Type::Bf16];
    let integer = INTEGERS.contains(&result);
    let types: &[Type] = match ty {
        Type::F16 | Type::Bf16 if integer => INTEGERS,
        Type::F16 if test.flush => &[Type::F16],
        Type::F16 => &[Type::F16, Type::Bf16],
        Type::Bf16 => &[Type::Bf16],
        Type::F16x2 | Type::Bf16x2 if integer => WORDS,
        Type::F16x2 => &[Type::F16x2],
        Type::Bf16x2 => &[Type::Bf16x2],
        _ => OTHERS,
    };
    inst.modifiers.check_type(result, types)?;
    if half::is_brain(ty) || half::is_brain(result) {
        inst.requires(body, "bf16", (7, 8), 90)
    } else if half::is_half(ty) && integer {
        inst.requires(body, ty.word(), (6, 5), 53)
    } else if half::is_half(ty) || half::is_half(result) {
        inst.requires(body, "f16", (4, 2), 53)
    } else {
        Ok(())
    }
}

/// What `set` writes where the test holds: to the whole result, or to one half of it.
fn true_bits(result: Type, pairs: bool, upper: bool) -> u32 {
    let bits = match result {
        Type::F32 => 1.0f32.to_bits(),
        Type::F16 | Type::F16x2 => 0x3C00,
        Type::Bf16 | Type::Bf16x2 => 0x3F80,
        Type::U16 | Type::S16 => 0xFFFF,
        _ if pairs => 0xFFFF,
        _ => u32::MAX,
    };
    if upper { bits << 16 } else { bits }
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
    only_f32(&inst.modifiers, flush, sign_type)?;
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
