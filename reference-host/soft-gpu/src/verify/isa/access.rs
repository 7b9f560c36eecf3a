//! Loads and stores.
//!
//! Cache, ordering, scope and eviction modifiers are checked and then change nothing: memory here is sequentially consistent.
//! A cluster is one block, so that `.shared::cluster` is the block's own shared memory.
//! Source: PTX ISA, "Data Movement and Conversion Instructions", `ld`, `ldu` and `st`.

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::special::special;
use super::super::symbols::Symbol;
use super::convert::settle;
use super::vectors::{are_bits_in_memory, part_type};
use super::wide;
use crate::ast::{Operand, OperandKind};
use crate::code::{Access, Element, Op, Space};
use crate::exec::ops::LaneOp;
use crate::types::Type;

pub(super) fn ld<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let qualifiers = Qualifiers::take(body, &mut inst, Direction::Load)?;
    if qualifiers.read_only && qualifiers.space_word != Some("global") {
        return inst.modifiers.clash("nc");
    }
    if inst.opcode.text == "ldu" && !matches!(qualifiers.space, Space::Global | Space::Generic) {
        inst.modifiers.refuse(SPACES)?;
    }
    let (count, ty) = take_elements(&mut inst)?;
    qualifiers.check_type(body, &inst, ty)?;
    inst.modifiers.end()?;
    qualifiers.operands(body, &inst)?;
    let targets = elements(body, inst.operand(0)?, count)?;
    let (space, address) = body.address_or_unified(inst.operand(1)?, qualifiers.space)?;
    let other = match qualifiers.space_word {
        Some("param::func") => Some(Space::KernelParam),
        Some("param::entry") => Some(Space::Frame),
        _ => None,
    };
    if body.entry && other == Some(space) {
        // In a kernel, its own parameters are told from those of the calls that it makes.
        return inst
            .modifiers
            .clash(qualifiers.space_word.unwrap_or_default());
    }
    if ty == Type::B128 {
        let target = inst.operand(0)?;
        let d = body.dest(target, ty)?;
        let list = body.list(&wide::halves(d));
        body.emit(Op::Load(Access {
            space,
            element: Element::B64,
            count: 2,
            list,
            address,
        }));
        return Ok(());
    }
    let Some(element) = Element::of(ty) else {
        return inst.modifiers.unsupported(format!("type .{}", ty.word()));
    };
    let mut registers = Vec::with_capacity(count);
    let mut settling = Vec::new();
    if count > 1 && targets.iter().all(|target| is_sink(target)) {
        return fail(
            inst.operand(0)?.pos,
            SemanticError::OperandForm {
                expected: "a destination register",
                found: "a vector of `_`",
            },
        );
    }
    let bits = are_bits_in_memory(body, targets, ty)?;
    for target in targets {
        if count > 1 && is_sink(target) {
            registers.push(body.fresh(ty, target.pos)?);
            continue;
        }
        whole(body, &inst, target)?;
        let (d, declared) = body.dest_wider(target, part_type(ty, bits, target))?;
        let declared = if bits { declared.as_bits() } else { declared };
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
    if inst.modifiers.has(&["async"]).is_some() {
        return inst.modifiers.unsupported(".async");
    }
    let qualifiers = Qualifiers::take(body, &mut inst, Direction::Store)?;
    let (count, ty) = take_elements(&mut inst)?;
    qualifiers.check_type(body, &inst, ty)?;
    inst.modifiers.end()?;
    qualifiers.operands(body, &inst)?;
    let sources = elements(body, inst.operand(1)?, count)?;
    let (space, address) = body.address(inst.operand(0)?, qualifiers.space)?;
    if matches!(space, Space::Const | Space::KernelParam) {
        return fail(inst.opcode.pos, SemanticError::ReadOnlySpace(space.word()));
    }
    if ty == Type::B128 {
        let source = wide::source(body, inst.operand(1)?)?;
        let list = body.list(&wide::halves(source));
        body.emit(Op::Store(Access {
            space,
            element: Element::B64,
            count: 2,
            list,
            address,
        }));
        return Ok(());
    }
    let Some(element) = Element::of(ty) else {
        return inst.modifiers.unsupported(format!("type .{}", ty.word()));
    };
    let mut registers = Vec::with_capacity(count);
    let bits = are_bits_in_memory(body, sources, ty)?;
    for source in sources {
        whole(body, &inst, source)?;
        let (slot, declared) = body.source_wider(source, part_type(ty, bits, source))?;
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

/// Whether an instruction reads or writes memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Load,
    Store,
}

/// What stands between the opcode and the type.
#[derive(Clone, Copy, Debug)]
struct Qualifiers<'a> {
    space: Space,
    space_word: Option<&'a str>,
    /// `.nc`
    read_only: bool,
    scope: Option<&'a str>,
    /// `.L2::cache_hint`, with which a policy follows the other operands.
    hint: bool,
}

impl<'a> Qualifiers<'a> {
    fn take(body: &Body<'a>, inst: &mut Inst<'a>, direction: Direction) -> Checked<Self> {
        let pos = inst.opcode.pos;
        let load = direction == Direction::Load;
        let weaker = inst.opcode.text == "ldu";
        let mapped = !weaker && inst.modifiers.take("mmio");
        let ordering = match (weaker, load) {
            (true, _) => None,
            (_, true) => inst
                .modifiers
                .take_one(&["weak", "volatile", "relaxed", "acquire"]),
            (_, false) => inst
                .modifiers
                .take_one(&["weak", "volatile", "relaxed", "release"]),
        };
        let strong = matches!(ordering, Some("relaxed" | "acquire" | "release"));
        let scope = if strong {
            body.requires(pos, "a memory ordering", 70, (6, 0))?;
            let scope = inst.modifiers.need_one(SCOPES, "a scope such as .gpu")?;
            cluster_scope(body, inst, Some(scope))?;
            Some(scope)
        } else {
            None
        };
        if mapped {
            body.requires(pos, ".mmio", 70, (8, 2))?;
            if !strong || scope != Some("sys") {
                return inst.modifiers.clash("mmio");
            }
        }
        let space_word = inst.modifiers.take_one(SPACES);
        cluster_space(body, inst, space_word)?;
        let space = space_of(space_word);
        let kind = if mapped { Some("mmio") } else { ordering };
        if let Some(kind) = kind {
            inst.modifiers.refuse(unordered_spaces(kind))?;
        }
        if !load && space_word == Some("param::entry") {
            return inst.modifiers.clash("param::entry");
        }
        let read_only = load && !weaker && inst.modifiers.take("nc");
        if read_only {
            body.requires(pos, ".nc", 32, (3, 1))?;
        }
        if read_only && ordering.is_some() {
            return inst.modifiers.clash("nc");
        }
        let caches: &[&str] = match (weaker, load, read_only) {
            (true, ..) => &[],
            (_, true, false) => &["ca", "cg", "cs", "lu", "cv"],
            (_, true, true) => &["ca", "cg", "cs"],
            (_, false, _) => &["wb", "cg", "cs", "wt"],
        };
        let cache = inst.modifiers.take_one(caches);
        if let Some(cache) = cache
            && ordering.is_some_and(|ordering| ordering != "weak")
        {
            return inst.modifiers.clash(cache);
        }
        let far = matches!(space, Space::Global | Space::Generic);
        let hints_allowed = !weaker;
        let eviction = if hints_allowed {
            inst.modifiers.take_one(EVICTIONS)
        } else {
            None
        };
        if let Some(word) = eviction {
            body.requires(pos, "an eviction priority", 70, (7, 4))?;
            if cache.is_some() || !far || mapped || ordering == Some("volatile") {
                return inst.modifiers.clash(word);
            }
        }
        if load
            && hints_allowed
            && let Some(word) = inst
                .modifiers
                .take_one(&["L2::64B", "L2::128B", "L2::256B"])
        {
            let least = if word == "L2::256B" { 80 } else { 75 };
            body.requires(pos, "a prefetch size", least, (7, 4))?;
            if !far || mapped {
                return inst.modifiers.clash(word);
            }
        }
        if hints_allowed
            && inst
                .modifiers
                .take_one(&["L2::evict_last", "L2::evict_normal", "L2::evict_first"])
                .is_some()
        {
            return wide_vector(inst);
        }
        let hint = hints_allowed && inst.modifiers.take("L2::cache_hint");
        if hint {
            body.requires(pos, ".L2::cache_hint", 80, (7, 4))?;
            if !far || ordering == Some("volatile") {
                return inst.modifiers.clash("L2::cache_hint");
            }
        }
        Ok(Self {
            space,
            space_word,
            read_only,
            scope,
            hint,
        })
    }

    /// Accesses of 128 bits in the order of the whole system are newer than others.
    fn check_type(&self, body: &Body<'a>, inst: &Inst<'a>, ty: Type) -> Checked<()> {
        if ty == Type::B128 && self.scope == Some("sys") {
            return body.requires(inst.opcode.pos, "scope .sys of 128 bits", 70, (8, 4));
        }
        Ok(())
    }

    /// Checks the number of operands, and the cache policy where there is one.
    fn operands(&self, body: &mut Body<'a>, inst: &Inst<'a>) -> Checked<()> {
        if !self.hint {
            return inst.arity(2);
        }
        inst.arity(3)?;
        body.no_floats(inst.operands.get(2..).unwrap_or_default())?;
        body.source(inst.operand(2)?, Type::B64).map(drop)
    }
}

/// The scopes of memory orderings.
pub(super) const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];

const SPACES: &[&str] = &[
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "const",
    "param",
    "param::entry",
    "param::func",
];

const EVICTIONS: &[&str] = &[
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
];

const LOADABLE: &[Type] = &[
    Type::B8,
    Type::B16,
    Type::B32,
    Type::B64,
    Type::B128,
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

/// The space that a word names; without one, the generic space.
pub(super) fn space_of(word: Option<&str>) -> Space {
    match word {
        Some("global") => Space::Global,
        Some("shared" | "shared::cta" | "shared::cluster") => Space::Shared,
        Some("local") => Space::Local,
        Some("const") => Space::Const,
        Some("param" | "param::entry" | "param::func") => Space::KernelParam,
        _ => Space::Generic,
    }
}

/// Checks that the target has the sub-spaces of shared memory, where one is named.
pub(super) fn cluster_space<'a>(
    body: &Body<'a>,
    inst: &Inst<'a>,
    word: Option<&str>,
) -> Checked<()> {
    match word {
        Some("shared::cluster") => body.requires(inst.opcode.pos, ".shared::cluster", 90, (7, 8)),
        Some("shared::cta") => body.requires(inst.opcode.pos, ".shared::cta", 0, (7, 8)),
        Some("param::entry" | "param::func") => {
            body.requires(inst.opcode.pos, "a sub-space of .param", 0, (8, 3))
        }
        _ => Ok(()),
    }
}

/// Checks that the target has clusters, where their scope is named.
pub(super) fn cluster_scope<'a>(
    body: &Body<'a>,
    inst: &Inst<'a>,
    scope: Option<&str>,
) -> Checked<()> {
    if scope == Some("cluster") {
        return body.requires(inst.opcode.pos, "scope .cluster", 90, (7, 8));
    }
    Ok(())
}

/// The spaces whose accesses cannot have this ordering: no other thread stores to them, or, for `mmio`, no device.
fn unordered_spaces(ordering: &str) -> &'static [&'static str] {
    match ordering {
        "weak" => &[],
        "volatile" => &["const", "param", "param::entry", "param::func"],
        "mmio" => &[
            "const",
            "param",
            "param::entry",
            "param::func",
            "local",
            "shared",
            "shared::cta",
            "shared::cluster",
        ],
        _ => &["const", "param", "param::entry", "param::func", "local"],
    }
}

/// `{.vec}.type`: element count, element type.
fn take_elements<'a>(inst: &mut Inst<'a>) -> Checked<(usize, Type)> {
    let count = match inst.modifiers.take_one(&["v2", "v4", "v8"]) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => 1,
    };
    let ty = inst.modifiers.any_type()?;
    if !LOADABLE.contains(&ty) || (count > 1 && ty == Type::B128) {
        return fail(
            inst.opcode.pos,
            SemanticError::InvalidType {
                opcode: inst.opcode.text.to_owned(),
                ty: ty.word(),
            },
        );
    }
    if count == 8 || (count == 4 && ty.bytes() == 8) {
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

fn is_sink(operand: &Operand<'_>) -> bool {
    matches!(operand.kind, OperandKind::Sink)
}

/// A 128-bit register may hold fewer bits; that is not implemented.
pub(super) fn whole<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    operand: &Operand<'a>,
) -> Checked<()> {
    if let OperandKind::Name(name) = operand.kind
        && special(name.text, None).is_none()
        && let Symbol::Register { ty: Type::B128, .. } = body.symbol(name)?
    {
        return inst
            .modifiers
            .unsupported("a register wider than its type of 128 bits");
    }
    Ok(())
}

/// The registers of a scalar or vector operand.
pub(super) fn elements<'a>(
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
