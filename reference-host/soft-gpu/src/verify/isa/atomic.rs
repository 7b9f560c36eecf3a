//! `atom` and `red`.
//!
//! Ordering and scope are checked and then change nothing: memory here is sequentially consistent.
//! Source: PTX ISA, "Parallel Synchronization and Communication Instructions", `atom` and `red`.

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::access::{SCOPES, cluster_scope, cluster_space, elements, space_of};
use super::vectors::{are_bits, part_type};
use super::wide;
use crate::ast::{Operand, OperandKind};
use crate::code::{Atomic, AtomicOp, Element, NONE, Op, Space};
use crate::exec::formats::Half;
use crate::types::Type;

pub(super) fn atom<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    atomic(body, inst, true)
}

pub(super) fn red<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    if inst.modifiers.has(&["async"]).is_some() {
        return inst.modifiers.unsupported(".async");
    }
    inst.modifiers
        .refuse(&["exch", "cas", "acquire", "acq_rel"])?;
    atomic(body, inst, false)
}

fn atomic<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, returns: bool) -> Checked<()> {
    let pos = inst.opcode.pos;
    if inst
        .modifiers
        .take_one(&["relaxed", "acquire", "release", "acq_rel"])
        .is_some()
    {
        body.requires(pos, "a memory ordering", 70, (6, 0))?;
    }
    let scope = inst.modifiers.take_one(SCOPES);
    if scope.is_some() {
        body.requires(pos, "a scope", 60, (5, 0))?;
    }
    cluster_scope(body, &inst, scope)?;
    let space_word =
        inst.modifiers
            .take_one(&["global", "shared", "shared::cta", "shared::cluster"]);
    cluster_space(body, &inst, space_word)?;
    let space = space_of(space_word);
    let word = inst
        .modifiers
        .need_one(OPERATIONS, "an operation such as .add")?;
    let flushing = !inst.modifiers.take("noftz");
    let vector = inst.modifiers.take_one(&["v2", "v4", "v8"]);
    let hint = inst.modifiers.take("L2::cache_hint");
    if hint {
        body.requires(pos, ".L2::cache_hint", 80, (7, 4))?;
        if space == Space::Shared || word == "cas" {
            return inst.modifiers.clash("L2::cache_hint");
        }
    }
    let ty = inst.modifiers.any_type()?;
    inst.modifiers.end()?;
    let op = operation(body, &inst, word, ty, vector)?;
    let half = matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
    if !flushing && ty == Type::F32 {
        return inst.modifiers.unsupported(".noftz of single precision");
    }
    if half == flushing {
        return if half {
            inst.modifiers.missing(".noftz")
        } else {
            inst.modifiers.clash("noftz")
        };
    }
    if vector.is_some() && space == Space::Shared {
        return inst.modifiers.clash(space_word.unwrap_or_default());
    }
    if ty == Type::B128 && scope == Some("sys") {
        body.requires(pos, "scope .sys of 128 bits", 90, (8, 4))?;
    }

    let swaps = word == "cas";
    let first = usize::from(returns);
    let last = first.saturating_add(if swaps { 3 } else { 2 });
    inst.arity(last.saturating_add(usize::from(hint)))?;
    let target = inst.operand(first)?;
    let (space, address) = if returns {
        body.address_or_unified(target, space)?
    } else {
        body.address(target, space)?
    };
    if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
        return fail(
            target.pos,
            SemanticError::SpaceMismatch {
                name: inst.opcode.text.to_owned(),
                declared: space.word(),
                needed: "global or shared",
            },
        );
    }
    let count = vector_length(vector);
    let mut registers = Registers {
        results: Vec::new(),
        operands: Vec::new(),
        swaps: Vec::new(),
    };
    registers.operands = sources(
        body,
        &inst,
        inst.operand(first.saturating_add(1))?,
        ty,
        count,
    )?;
    if swaps {
        registers.swaps = sources(
            body,
            &inst,
            inst.operand(first.saturating_add(2))?,
            ty,
            count,
        )?;
    }
    if hint {
        body.no_floats(std::slice::from_ref(inst.operand(last)?))?;
        body.source(inst.operand(last)?, Type::B64)?;
    }
    if returns {
        registers.results = results(body, inst.operand(0)?, ty, count)?;
    }
    let element = match ty.bytes() {
        2 => Element::U16,
        4 => Element::B32,
        _ => Element::B64,
    };
    let count = registers.operands.len();
    let list = body.list(&registers.in_order());
    body.emit(Op::Atomic(Atomic {
        space,
        op,
        element,
        count: u8::try_from(count).unwrap_or(1),
        list,
        address,
    }));
    Ok(())
}

/// The registers of an atomic: of each kind as many as it has elements.
struct Registers {
    results: Vec<u32>,
    operands: Vec<u32>,
    swaps: Vec<u32>,
}

impl Registers {
    /// Results, operands, values to swap in; [`NONE`] for what is not there.
    fn in_order(&self) -> Vec<u32> {
        let count = self.operands.len();
        let padded = |list: &[u32]| {
            let mut list = list.to_vec();
            list.resize(count, NONE);
            list
        };
        let mut all = padded(&self.results);
        all.extend(&self.operands);
        all.extend(padded(&self.swaps));
        all
    }
}

const OPERATIONS: &[&str] = &[
    "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec",
];

fn vector_length(word: Option<&str>) -> usize {
    match word {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => 1,
    }
}

/// What an operation does with values of a type, if the ISA has it.
fn operation<'a>(
    body: &Body<'a>,
    inst: &Inst<'a>,
    word: &str,
    ty: Type,
    vector: Option<&str>,
) -> Checked<AtomicOp> {
    let op = match (word, ty) {
        ("add", Type::U32 | Type::S32 | Type::U64) => AtomicOp::Add,
        ("add", Type::F32) => AtomicOp::AddF32,
        ("add", Type::F64) => AtomicOp::AddF64,
        ("add", Type::F16 | Type::F16x2) => AtomicOp::AddHalf(Half::F16),
        ("add", Type::Bf16 | Type::Bf16x2) => AtomicOp::AddHalf(Half::Bf16),
        ("min", Type::F16 | Type::F16x2) if vector.is_some() => AtomicOp::MinHalf(Half::F16),
        ("min", Type::Bf16 | Type::Bf16x2) if vector.is_some() => AtomicOp::MinHalf(Half::Bf16),
        ("max", Type::F16 | Type::F16x2) if vector.is_some() => AtomicOp::MaxHalf(Half::F16),
        ("max", Type::Bf16 | Type::Bf16x2) if vector.is_some() => AtomicOp::MaxHalf(Half::Bf16),
        ("min", Type::S32 | Type::S64) => AtomicOp::MinSigned,
        ("min", Type::U32 | Type::U64) => AtomicOp::MinUnsigned,
        ("max", Type::S32 | Type::S64) => AtomicOp::MaxSigned,
        ("max", Type::U32 | Type::U64) => AtomicOp::MaxUnsigned,
        ("and", Type::B32 | Type::B64) => AtomicOp::And,
        ("or", Type::B32 | Type::B64) => AtomicOp::Or,
        ("xor", Type::B32 | Type::B64) => AtomicOp::Xor,
        ("exch", Type::B32 | Type::B64) => AtomicOp::Exchange,
        ("exch", Type::B128) => AtomicOp::ExchangeWide,
        ("cas", Type::B16 | Type::B32 | Type::B64) => AtomicOp::CompareAndSwap,
        ("cas", Type::B128) => AtomicOp::CompareAndSwapWide,
        ("inc", Type::U32) => AtomicOp::Increment,
        ("dec", Type::U32) => AtomicOp::Decrement,
        _ => {
            return fail(
                inst.opcode.pos,
                SemanticError::InvalidType {
                    opcode: format!("{}.{word}", inst.opcode.text),
                    ty: ty.word(),
                },
            );
        }
    };
    let (target, version) = match (word, ty) {
        ("add", Type::F64) => (60, (5, 0)),
        ("add", Type::F16x2) => (60, (6, 2)),
        ("add", Type::F16) | ("cas", Type::B16) => (70, (6, 3)),
        (_, Type::Bf16 | Type::Bf16x2) => (90, (7, 8)),
        (_, Type::B128) => (90, (8, 3)),
        _ => (0, (0, 0)),
    };
    let what = format!("{}.{word}.{}", inst.opcode.text, ty.word());
    body.requires(inst.opcode.pos, &what, target, version)?;
    if let Some(vector) = vector {
        let fits = match ty {
            Type::F32 => word == "add" && vector != "v8",
            Type::F16 | Type::Bf16 => true,
            Type::F16x2 | Type::Bf16x2 => vector != "v8",
            _ => false,
        };
        if !fits {
            return inst.modifiers.clash(vector);
        }
        body.requires(inst.opcode.pos, "a vector of atomics", 90, (8, 1))?;
    }
    Ok(op)
}

/// The registers of an operand that is read.
fn sources<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    operand: &'a Operand<'a>,
    ty: Type,
    count: usize,
) -> Checked<Vec<u32>> {
    if ty == Type::B128 {
        return Ok(wide::halves(wide::source(body, operand)?).to_vec());
    }
    let half = matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
    let mut registers = Vec::with_capacity(count);
    let parts = vector(body, inst, operand, count)?;
    let bits = are_bits(body, parts)?;
    for part in parts {
        if half && !matches!(part.kind, OperandKind::Name(_)) {
            return fail(
                part.pos,
                SemanticError::OperandForm {
                    expected: "a register",
                    found: super::super::operand::form(&part.kind),
                },
            );
        }
        registers.push(body.source(part, part_type(ty, bits, part))?);
    }
    Ok(registers)
}

/// The registers of an operand that is written.
fn results<'a>(
    body: &mut Body<'a>,
    operand: &'a Operand<'a>,
    ty: Type,
    count: usize,
) -> Checked<Vec<u32>> {
    if ty == Type::B128 {
        return Ok(wide::halves(body.dest_or_sink(operand, ty)?).to_vec());
    }
    let mut registers = Vec::with_capacity(count);
    let parts = elements(body, operand, count)?;
    let bits = are_bits(body, parts)?;
    for part in parts {
        registers.push(body.dest_or_sink(part, part_type(ty, bits, part))?);
    }
    Ok(registers)
}

/// The parts of a vector operand; a scalar is no vector of one.
fn vector<'a>(
    body: &Body<'a>,
    inst: &Inst<'a>,
    operand: &'a Operand<'a>,
    count: usize,
) -> Checked<&'a [Operand<'a>]> {
    if count == 1 && matches!(operand.kind, OperandKind::Vector(_)) {
        return inst.modifiers.missing("a vector modifier such as .v2");
    }
    elements(body, operand, count)
}
