//! Loads, stores and atomics.
//!
//! Cache, ordering, scope and eviction modifiers are checked and then change nothing: memory here is sequentially consistent.
//! Source: PTX ISA, "Data Movement and Conversion Instructions" and "Parallel Synchronization and Communication Instructions".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use super::convert::settle;
use crate::ast::{Operand, OperandKind};
use crate::code::{Access, Address, Atomic, AtomicOp, Element, NONE, Op, Space};
use crate::exec::ops::LaneOp;
use crate::types::Type;

const LOADABLE: &[Type] = &[
    Type::B8,
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S8,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F32,
    Type::F64,
];

const ORDERINGS: &[&str] = &[
    "weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio",
];
const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];
const SPACES: &[&str] = &[
    "global",
    "shared",
    "shared::cta",
    "local",
    "const",
    "param",
    "param::entry",
    "param::func",
];
const LOAD_CACHES: &[&str] = &[
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "nc",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2::evict_last",
    "L2::evict_normal",
    "L2::evict_first",
];
const STORE_CACHES: &[&str] = &[
    "wb",
    "cg",
    "cs",
    "wt",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::evict_last",
    "L2::evict_normal",
    "L2::evict_first",
];

fn space_of(word: Option<&str>) -> Space {
    match word {
        Some("global") => Space::Global,
        Some("shared" | "shared::cta") => Space::Shared,
        Some("local") => Space::Local,
        Some("const") => Space::Const,
        Some("param" | "param::entry" | "param::func") => Space::KernelParam,
        _ => Space::Generic,
    }
}

/// The spaces whose accesses cannot have this ordering: no other thread stores to them, or, for `mmio`, no device.
fn unordered_spaces(ordering: &str) -> &'static [&'static str] {
    match ordering {
        "weak" => &[],
        // Allowed for .local from PTX ISA 9.1 on.
        "volatile" => &["const", "param", "param::entry", "param::func"],
        "mmio" => &[
            "const",
            "param",
            "param::entry",
            "param::func",
            "local",
            "shared",
            "shared::cta",
        ],
        _ => &["const", "param", "param::entry", "param::func", "local"],
    }
}

/// `{.ordering{.scope}}{.space}`
fn take_space<'a>(inst: &mut Inst<'a>) -> Checked<Space> {
    let ordering = inst.modifiers.take_one(ORDERINGS);
    let scoped = matches!(
        ordering,
        Some("relaxed" | "acquire" | "release" | "acq_rel" | "mmio")
    );
    if ordering == Some("mmio") {
        inst.modifiers.take_one(&["relaxed"]);
    }
    if scoped && inst.modifiers.take_one(SCOPES).is_none() {
        return inst.modifiers.missing("a scope such as .gpu");
    }
    if let Some(ordering) = ordering {
        inst.modifiers.refuse(unordered_spaces(ordering))?;
    }
    if inst.modifiers.has(&["shared::cluster"]).is_some() {
        return inst.modifiers.unsupported("space .shared::cluster");
    }
    Ok(space_of(inst.modifiers.take_one(SPACES)))
}

/// `{.vec}.type`: element count, element type.
fn take_elements<'a>(inst: &mut Inst<'a>) -> Checked<(usize, Type)> {
    let count = match inst.modifiers.take_one(&["v2", "v4", "v8"]) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => return wide_vector(inst),
        None => 1,
    };
    let ty = inst.modifiers.any_type()?;
    if matches!(ty, Type::B128) {
        return inst.modifiers.unsupported("type .b128");
    }
    let ty = inst.modifiers.check_type(ty, LOADABLE)?;
    if count == 4 && ty.bytes() == 8 {
        return wide_vector(inst);
    }
    Ok((count, ty))
}

/// 256-bit accesses belong to targets beyond this device's.
fn wide_vector<T>(inst: &Inst<'_>) -> Checked<T> {
    fail(
        inst.opcode.pos,
        SemanticError::Requires {
            opcode: format!("{} of 256 bits", inst.opcode.text),
            needed: ".target sm_100 or higher",
        },
    )
}

/// The registers of a scalar or vector operand.
fn elements<'a>(
    body: &Body<'a>,
    operand: &'a Operand<'a>,
    count: usize,
) -> Checked<&'a [Operand<'a>]> {
    let list = match operand.kind {
        OperandKind::Vector(list) => body.nested(list),
        _ => std::slice::from_ref(operand),
    };
    if list.len() == count {
        return Ok(list);
    }
    fail(
        operand.pos,
        SemanticError::VectorLength {
            expected: count,
            found: list.len(),
        },
    )
}

pub(super) fn ld<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let ordering = inst.modifiers.has(ORDERINGS);
    let space = take_space(&mut inst)?;
    let ordered = ordering.is_some_and(|word| word != "weak");
    if space != Space::Global || ordered {
        inst.modifiers.refuse(&["nc"])?;
    }
    if inst.opcode.text == "ldu" && !matches!(space, Space::Global | Space::Generic) {
        inst.modifiers.refuse(SPACES)?;
    }
    inst.modifiers.take_all(LOAD_CACHES);
    if inst.modifiers.has(&["L2::cache_hint"]).is_some() {
        return inst.modifiers.unsupported(".L2::cache_hint");
    }
    let (count, ty) = take_elements(&mut inst)?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    let Some(element) = Element::of(ty) else {
        return inst.modifiers.unsupported(format!("type .{}", ty.word()));
    };
    let targets = elements(body, inst.operand(0)?, count)?;
    let (space, address) = body.address(inst.operand(1)?, space)?;
    let mut registers = Vec::with_capacity(count);
    let mut settling = Vec::new();
    for target in targets {
        if count > 1 && matches!(target.kind, OperandKind::Sink) {
            registers.push(body.fresh(ty, target.pos)?);
            continue;
        }
        let (d, declared) = body.dest_wider(target, ty)?;
        if declared.bytes() == ty.bytes() && !(ty.is_signed() && ty.bytes() < 4)
            || (declared.bytes() == 4 && ty.bytes() < 4)
        {
            registers.push(d);
        } else {
            let value = body.fresh(ty, target.pos)?;
            registers.push(value);
            settling.push((value, d, declared));
        }
    }
    let list = body.list(&registers);
    body.emit(Op::Load(Access {
        space,
        element,
        count: count as u8,
        list,
        address,
    }));
    for (value, d, declared) in settling {
        settle(body, value, ty, d, declared);
    }
    Ok(())
}

pub(super) fn st<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let space = take_space(&mut inst)?;
    inst.modifiers.take_all(STORE_CACHES);
    if inst.modifiers.has(&["L2::cache_hint"]).is_some() {
        return inst.modifiers.unsupported(".L2::cache_hint");
    }
    let (count, ty) = take_elements(&mut inst)?;
    inst.modifiers.end()?;
    inst.arity(2)?;
    let Some(element) = Element::of(ty) else {
        return inst.modifiers.unsupported(format!("type .{}", ty.word()));
    };
    let sources = elements(body, inst.operand(1)?, count)?;
    let (space, address) = body.address(inst.operand(0)?, space)?;
    if matches!(space, Space::Const | Space::KernelParam) {
        return fail(inst.opcode.pos, SemanticError::ReadOnlySpace(space.word()));
    }
    let mut registers = Vec::with_capacity(count);
    for source in sources {
        let (slot, declared) = body.source_wider(source, ty)?;
        let slot = if declared.bytes() == 8 && ty.bytes() < 8 {
            let low = body.fresh(Type::B32, source.pos)?;
            body.lane(LaneOp::Low32, low, slot, 0, 0);
            low
        } else {
            slot
        };
        registers.push(slot);
    }
    let list = body.list(&registers);
    body.emit(Op::Store(Access {
        space,
        element,
        count: count as u8,
        list,
        address,
    }));
    Ok(())
}

pub(super) fn atom<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    atomic(body, inst, true)
}

pub(super) fn red<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    atomic(body, inst, false)
}

const INTEGER_WORDS: &[Type] = &[Type::U32, Type::S32, Type::U64, Type::S64];
const BIT_WORDS: &[Type] = &[Type::B32, Type::B64];

fn atomic<'a>(body: &mut Body<'a>, mut inst: Inst<'a>, returns: bool) -> Checked<()> {
    if inst
        .modifiers
        .take_one(&["relaxed", "acquire", "release", "acq_rel"])
        .is_some()
        && inst.modifiers.peek().is_none()
    {
        return inst.modifiers.missing("an operation");
    }
    inst.modifiers.take_one(SCOPES);
    if inst.modifiers.has(&["shared::cluster"]).is_some() {
        return inst.modifiers.unsupported("space .shared::cluster");
    }
    let space = space_of(
        inst.modifiers
            .take_one(&["global", "shared", "shared::cta"]),
    );
    const OPERATIONS: &[&str] = &[
        "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec",
    ];
    let word = inst
        .modifiers
        .need_one(OPERATIONS, "an operation such as .add")?;
    if !returns && matches!(word, "exch" | "cas") {
        return fail(
            inst.opcode.pos,
            SemanticError::UnexpectedModifier {
                opcode: inst.opcode.text.to_owned(),
                modifier: word.to_owned(),
            },
        );
    }
    if let Some(word) = inst
        .modifiers
        .has(&["noftz", "L2::cache_hint", "v2", "v4", "v8"])
    {
        return inst.modifiers.unsupported(format!(".{word}"));
    }
    if matches!(word, "cas" | "exch")
        && let Some(ty) = inst.modifiers.has(&["b16", "b128"])
    {
        return inst.modifiers.unsupported(format!("type .{ty}"));
    }
    let ty = match word {
        "add" => {
            let ty =
                inst.modifiers
                    .type_of(&[Type::U32, Type::S32, Type::U64, Type::F32, Type::F64])?;
            if ty == Type::F64 && body.target < 60 {
                return fail(
                    inst.opcode.pos,
                    SemanticError::Requires {
                        opcode: format!("{}.add.f64", inst.opcode.text),
                        needed: ".target sm_60 or higher",
                    },
                );
            }
            ty
        }
        "min" | "max" => inst.modifiers.type_of(INTEGER_WORDS)?,
        "inc" | "dec" => inst.modifiers.type_of(&[Type::U32])?,
        _ => inst.modifiers.type_of(BIT_WORDS)?,
    };
    let op = match (word, ty) {
        ("add", Type::F32) => AtomicOp::AddF32,
        ("add", Type::F64) => AtomicOp::AddF64,
        ("add", _) => AtomicOp::Add,
        ("min", ty) if ty.is_signed() => AtomicOp::MinSigned,
        ("min", _) => AtomicOp::MinUnsigned,
        ("max", ty) if ty.is_signed() => AtomicOp::MaxSigned,
        ("max", _) => AtomicOp::MaxUnsigned,
        ("and", _) => AtomicOp::And,
        ("or", _) => AtomicOp::Or,
        ("xor", _) => AtomicOp::Xor,
        ("exch", _) => AtomicOp::Exchange,
        ("cas", _) => AtomicOp::CompareAndSwap,
        ("inc", _) => AtomicOp::Increment,
        _ => AtomicOp::Decrement,
    };
    inst.modifiers.end()?;
    let swaps = op == AtomicOp::CompareAndSwap;
    let (first, second, third) = if returns { (1, 2, 3) } else { (0, 1, 2) };
    inst.arity(match (returns, swaps) {
        (true, true) => 4,
        (true, false) => 3,
        (false, _) => 2,
    })?;
    let (space, address) = body.address(inst.operand(first)?, space)?;
    if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
        return fail(
            inst.operand(first)?.pos,
            SemanticError::SpaceMismatch {
                name: inst.opcode.text.to_owned(),
                declared: space.word(),
                needed: "global or shared",
            },
        );
    }
    let b = body.source(inst.operand(second)?, ty)?;
    let c = if swaps {
        body.source(inst.operand(third)?, ty)?
    } else {
        NONE
    };
    let d = if returns {
        body.dest_or_sink(inst.operand(0)?, ty)?
    } else {
        NONE
    };
    let list = body.list(&[d, b, c]);
    body.emit(Op::Atomic(Atomic {
        space,
        op,
        wide: ty.bytes() == 8,
        list,
        address,
    }));
    Ok(())
}

/// `membar` and `fence`: nothing to do where memory is sequentially consistent.
pub(super) fn fence<'a>(_: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    if inst.opcode.text == "membar" {
        inst.modifiers
            .need_one(&["cta", "gl", "sys"], "one of .cta, .gl, .sys")?;
    } else {
        if inst.modifiers.has(&["proxy"]).is_some() {
            return inst.modifiers.unsupported(".proxy");
        }
        inst.modifiers
            .take_one(&["sc", "acq_rel", "acquire", "release"]);
        inst.modifiers.need_one(SCOPES, "a scope such as .gpu")?;
    }
    inst.modifiers.end()?;
    inst.arity(0)
}

pub(super) fn prefetch<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let space = space_of(inst.modifiers.take_one(&["global", "local"]));
    inst.modifiers.need_one(
        &["L1", "L2", "L2::evict_last", "L2::evict_normal"],
        "a cache level",
    )?;
    inst.modifiers.end()?;
    inst.arity(1)?;
    let operand = inst.operand(0)?;
    if !matches!(operand.kind, OperandKind::Address { .. }) {
        return fail(
            operand.pos,
            SemanticError::OperandForm {
                expected: "an address in brackets",
                found: form(&operand.kind),
            },
        );
    }
    // The address is checked for form only: a prefetch never faults.
    let _: (Space, Address) = body.address(operand, space)?;
    Ok(())
}
