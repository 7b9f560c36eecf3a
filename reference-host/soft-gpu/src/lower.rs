//! A pass over a kernel's lowered code: what is the same for a whole launch is computed once a launch.
//!
//! A kernel begins by loading its parameters, converting their address space and reading the block's size: values that no lane, warp or
//! block changes. Such operations move to the kernel's prologue, whose results every warp starts with, as it starts with constants.
//! The pass also finds which registers may be read before they are written, so that only those need clearing between warps.

use hashbrown::HashMap;

use crate::code::{
    Access, Code, Element, Function, MbarrierKind, NONE, Op, Reduction, Space, Special,
};
use crate::exec::lanes::{RegisterCount, Slots};
use crate::exec::shape::{Class, Shape};
use crate::fuse;

/// A register of one file.
pub(crate) type Register = (Class, u32);

/// A set of a function's registers that can be emptied at once.
#[derive(Clone, Debug)]
struct Set {
    /// For each register of each file, the generation in which it was last put in.
    stamps: [Vec<u32>; 3],
    generation: u32,
}

impl Set {
    fn new(count: RegisterCount) -> Self {
        Self {
            stamps: [count.r32, count.r64, count.pred].map(|count| vec![0; count as usize]),
            generation: 1,
        }
    }

    /// Puts a register in; whether it was not there yet.
    fn insert(&mut self, (class, slot): Register) -> bool {
        match self.stamps[class as usize].get_mut(slot as usize) {
            Some(stamp) => std::mem::replace(stamp, self.generation) != self.generation,
            None => false,
        }
    }

    fn contains(&self, (class, slot): Register) -> bool {
        self.stamps[class as usize].get(slot as usize) == Some(&self.generation)
    }

    fn clear(&mut self) {
        self.generation += 1;
    }
}

/// Moves launch-invariant operations of the kernel that was lowered last, whose code starts at `function.start`, to its prologue.
pub(crate) fn hoist(code: &mut Code, function: &mut Function, param_bytes: u32) {
    let start = function.start as usize;
    let ops = code.ops.get(start..).unwrap_or_default();
    let mut once = Set::new(function.registers);
    let mut more = once.clone();
    let mut invariant = once.clone();
    for op in ops {
        writes(code, op, |register| {
            if !once.insert(register) {
                more.insert(register);
            }
        });
    }
    for &(slot, _) in &function.constants32 {
        invariant.insert((Class::R32, slot));
    }
    for &(slot, _) in &function.constants64 {
        invariant.insert((Class::R64, slot));
    }
    let constants: HashMap<u32, u64> = function.constants64.iter().copied().collect();
    let mut kept = Vec::with_capacity(ops.len());
    let mut prologue = Vec::new();
    let mut guarded = 0u32;
    for (at, op) in ops.iter().enumerate() {
        if let Op::Guard { skip, .. } = op {
            guarded = skip.saturating_add(1);
        }
        let free = guarded == 0 && is_invariant(code, op, &invariant, &constants, param_bytes);
        guarded = guarded.saturating_sub(1);
        let mut single = free;
        writes(code, op, |register| single &= !more.contains(register));
        if free && single {
            writes(code, op, |register| {
                invariant.insert(register);
            });
            prologue.push((*op, code.places.get(start + at).copied().unwrap_or(0)));
        } else {
            kept.push(at);
        }
    }
    fuse::addresses(code, start, &mut kept, function.registers);
    compact(code, start, &kept);
    function.cleared = read_before_written(code, start, function.registers, invariant);
    function.prologue = u32::try_from(code.ops.len()).unwrap_or(NONE);
    for (op, place) in prologue.into_iter().chain([(Op::Exit, 0)]) {
        code.ops.push(op);
        code.places.push(place);
    }
}

/// Whether an operation gives the same result in all lanes of a launch and cannot fault.
fn is_invariant(
    code: &Code,
    op: &Op,
    invariant: &Set,
    constants: &HashMap<u32, u64>,
    param_bytes: u32,
) -> bool {
    match op {
        Op::Lane(_) | Op::Rare(_) => {
            let mut all = true;
            reads(code, op, |register| all &= invariant.contains(register));
            all
        }
        Op::Special { register, .. } => matches!(
            register,
            Special::BlockSize(_)
                | Special::GridSize(_)
                | Special::WarpCount
                | Special::DynamicSharedBytes
                | Special::TotalSharedBytes
                | Special::Zero
                | Special::One
        ),
        Op::DynamicShared { .. } => true,
        Op::Load(access) => parameter_offset(access, constants)
            .is_some_and(|offset| in_bounds(access, offset, param_bytes)),
        _ => false,
    }
}

/// The offset in the parameter buffer that an access always goes to.
fn parameter_offset(access: &Access, constants: &HashMap<u32, u64>) -> Option<u64> {
    if access.space != Space::KernelParam || access.address.narrow || access.address.index != NONE {
        return None;
    }
    let base = constants.get(&access.address.base)?;
    base.checked_add_signed(i64::from(access.address.offset))
}

fn in_bounds(access: &Access, offset: u64, param_bytes: u32) -> bool {
    let bytes = u64::from(access.element.bytes()) * u64::from(access.count);
    offset.is_multiple_of(bytes.max(1))
        && offset
            .checked_add(bytes)
            .is_some_and(|end| end <= u64::from(param_bytes))
}

/// Keeps the operations `kept` of those from `start` on, and moves every jump with them.
fn compact(code: &mut Code, start: usize, kept: &[usize]) {
    let total = code.ops.len() - start;
    if kept.len() == total {
        return;
    }
    let mut moved = vec![NONE; total];
    for (new, &old) in kept.iter().enumerate() {
        if let Some(place) = moved.get_mut(old) {
            *place = u32::try_from(start + new).unwrap_or(NONE);
        }
        code.ops[start + new] = code.ops[start + old];
        code.places[start + new] = code.places[start + old];
    }
    code.ops.truncate(start + kept.len());
    code.places.truncate(start + kept.len());
    // Jumps lead to the starts of blocks, which are always kept.
    let follow = |target: &mut u32| {
        if let Some(place) = (*target as usize)
            .checked_sub(start)
            .and_then(|old| moved.get(old))
        {
            *target = *place;
        }
    };
    let mut tables = Vec::new();
    for op in code.ops.iter_mut().skip(start) {
        match op {
            Op::Branch { target } | Op::BranchIf { target, .. } => follow(target),
            Op::BranchIndex { table, .. } => tables.push(*table),
            _ => {}
        }
    }
    tables.sort_unstable();
    tables.dedup();
    for table in tables {
        code.tables
            .get_mut(table as usize)
            .into_iter()
            .flatten()
            .for_each(follow);
    }
}

/// Registers that some path may read before any write: all but those first written in the block that every path starts with, or read
/// only behind a write in the same block.
fn read_before_written(
    code: &Code,
    start: usize,
    count: RegisterCount,
    mut always: Set,
) -> Vec<Register> {
    let mut here = Set::new(count);
    let mut found = here.clone();
    let mut list = Vec::new();
    let mut in_first = true;
    let mut guarded = 0u32;
    for (at, op) in code.ops.iter().skip(start).enumerate() {
        match op {
            Op::Block { .. } if at > 0 => {
                in_first = false;
                here.clear();
            }
            Op::Guard { skip, .. } => guarded = skip.saturating_add(1),
            _ => {}
        }
        let mut may_be_unset = |register, always: &Set, here: &Set| {
            if !always.contains(register) && !here.contains(register) && found.insert(register) {
                list.push(register);
            }
        };
        reads(code, op, |register| may_be_unset(register, &always, &here));
        writes(code, op, |register| {
            if guarded > 0 {
                // Lanes that sit out keep what the register held before.
                may_be_unset(register, &always, &here);
            } else if in_first {
                always.insert(register);
            } else {
                here.insert(register);
            }
        });
        guarded = guarded.saturating_sub(1);
    }
    list
}

fn width_class(wide: bool) -> Class {
    if wide { Class::R64 } else { Class::R32 }
}

fn element_class(element: Element) -> Class {
    if element == Element::B64 {
        Class::R64
    } else {
        Class::R32
    }
}

/// The operands of a lane operation.
fn lane_operands(op: &Op) -> Option<(Shape, Slots)> {
    match op {
        Op::Lane(lane) => Some(lane.operands()),
        Op::Rare(rare) => Some(rare.operands()),
        _ => None,
    }
}

/// Calls `f` for every register that an operation writes.
pub(crate) fn writes(code: &Code, op: &Op, mut f: impl FnMut(Register)) {
    let mut optional = |class, slot| {
        if slot != NONE {
            f((class, slot));
        }
    };
    match *op {
        Op::Lane(_) | Op::Rare(_) => {
            let Some((shape, slots)) = lane_operands(op) else {
                return;
            };
            optional(shape.d, slots.d);
            if let (true, Some(class)) = (shape.writes_e, shape.e) {
                optional(class, slots.e);
            }
        }
        Op::Load(access) => {
            for &slot in access.registers(code) {
                optional(element_class(access.element), slot);
            }
        }
        Op::Atomic(atomic) => {
            let list = atomic.registers(code);
            for &slot in list.iter().take(usize::from(atomic.count)) {
                optional(element_class(atomic.element), slot);
            }
        }
        Op::Matrix { index, .. } => {
            if let Some(matrix) = code.matrices.get(index as usize) {
                for &slot in &matrix.d {
                    optional(width_class(matrix.wide), slot);
                }
            }
        }
        Op::BarrierResult { d, reduction, .. } => optional(
            if reduction == Reduction::Count {
                Class::R32
            } else {
                Class::Pred
            },
            d,
        ),
        Op::Elect { d, p, .. } => {
            optional(Class::R32, d);
            optional(Class::Pred, p);
        }
        Op::Mbarrier(op) => optional(
            if op.kind.is_test() {
                Class::Pred
            } else {
                Class::R64
            },
            op.d,
        ),
        Op::Special { d, .. }
        | Op::DynamicShared { d }
        | Op::ActiveMask { d }
        | Op::Redux { d, .. } => optional(Class::R32, d),
        Op::Special64 { d, .. } | Op::FrameAddress { d, .. } => optional(Class::R64, d),
        Op::IsSpace { d, .. } => optional(Class::Pred, d),
        Op::Shuffle { list, .. } | Op::Match { list, .. } => {
            let [d, p] = code.list(list);
            optional(Class::R32, d);
            optional(Class::Pred, p);
        }
        Op::Vote { mode, d, .. } => optional(
            if mode == crate::code::Vote::Ballot {
                Class::R32
            } else {
                Class::Pred
            },
            d,
        ),
        Op::Block { .. }
        | Op::Guard { .. }
        | Op::Unguard
        | Op::Branch { .. }
        | Op::BranchIf { .. }
        | Op::BranchIndex { .. }
        | Op::Call { .. }
        | Op::CallIndirect { .. }
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Fence
        | Op::Runtime(_)
        | Op::Watched { .. }
        | Op::Store(_)
        | Op::AsyncCopy { .. }
        | Op::AsyncCommit
        | Op::AsyncWait { .. }
        | Op::BarrierVote { .. }
        | Op::Barrier { .. }
        | Op::WarpBarrier { .. } => {}
    }
}

/// Calls `f` for every register that an operation reads.
pub(crate) fn reads(code: &Code, op: &Op, mut f: impl FnMut(Register)) {
    let mut optional = |class, slot| {
        if slot != NONE {
            f((class, slot));
        }
    };
    let address = |address: crate::code::Address| {
        (
            if address.narrow {
                Class::R32
            } else {
                Class::R64
            },
            address.base,
        )
    };
    match *op {
        Op::Lane(_) | Op::Rare(_) => {
            let Some((shape, slots)) = lane_operands(op) else {
                return;
            };
            let sources = [
                (shape.a, slots.a),
                (shape.b, slots.b),
                (shape.c, slots.c),
                (shape.e, slots.e),
            ];
            let count = if shape.writes_e { 3 } else { 4 };
            for (class, slot) in sources.into_iter().take(count) {
                if let Some(class) = class {
                    optional(class, slot);
                }
            }
        }
        Op::Load(access) => {
            let (class, slot) = address(access.address);
            optional(class, slot);
            optional(Class::R64, access.address.index);
        }
        Op::Store(access) => {
            let (class, slot) = address(access.address);
            optional(class, slot);
            optional(Class::R64, access.address.index);
            for &slot in access.registers(code) {
                optional(element_class(access.element), slot);
            }
        }
        Op::Atomic(atomic) => {
            let (class, slot) = address(atomic.address);
            optional(class, slot);
            let list = atomic.registers(code);
            for &slot in list.iter().skip(usize::from(atomic.count)) {
                optional(element_class(atomic.element), slot);
            }
        }
        Op::Matrix { index, members } => {
            optional(Class::R32, members);
            if let Some(matrix) = code.matrices.get(index as usize) {
                for &slot in matrix.a.iter().chain(&matrix.b).chain(&matrix.c) {
                    optional(width_class(matrix.wide), slot);
                }
                if let Some((_, place)) = matrix.place {
                    let (class, slot) = address(place);
                    optional(class, slot);
                }
                if let Some(slot) = matrix.stride {
                    optional(Class::R32, slot);
                }
            }
        }
        Op::Guard { pred, .. } | Op::BranchIf { pred, .. } => optional(Class::Pred, pred),
        Op::BranchIndex { index, .. } => optional(Class::R32, index),
        Op::CallIndirect { address, .. } | Op::IsSpace { address, .. } => {
            optional(Class::R64, address)
        }
        Op::Barrier { id, count, .. } => {
            optional(Class::R32, id);
            optional(Class::R32, count);
        }
        Op::BarrierVote { id, source, .. } => {
            optional(Class::R32, id);
            optional(Class::Pred, source);
        }
        Op::BarrierResult { id, .. } => optional(Class::R32, id),
        Op::AsyncCopy { index } => {
            if let Some(copy) = code.copies.get(index as usize) {
                for place in [copy.to, copy.from] {
                    let (class, slot) = address(place);
                    optional(class, slot);
                }
                optional(Class::R32, copy.size);
                optional(Class::Pred, copy.ignore);
            }
        }
        Op::Mbarrier(op) => {
            let (class, slot) = address(op.address);
            optional(class, slot);
            let class = if op.kind == MbarrierKind::TestState {
                Class::R64
            } else {
                Class::R32
            };
            optional(class, op.operand);
        }
        Op::Elect { members, .. } | Op::WarpBarrier { members } => {
            optional(Class::R32, members);
        }
        Op::Shuffle { list, .. } => {
            let [_, _, a, b, c, members] = code.list(list);
            [a, b, c, members]
                .into_iter()
                .for_each(|slot| optional(Class::R32, slot));
        }
        Op::Match { wide, list, .. } => {
            let [_, _, a, members] = code.list(list);
            optional(if wide { Class::R64 } else { Class::R32 }, a);
            optional(Class::R32, members);
        }
        Op::Vote {
            source, members, ..
        } => {
            optional(Class::Pred, source);
            optional(Class::R32, members);
        }
        Op::Redux { a, members, .. } => {
            optional(Class::R32, a);
            optional(Class::R32, members);
        }
        Op::Block { .. }
        | Op::Unguard
        | Op::Branch { .. }
        | Op::Call { .. }
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Fence
        | Op::Runtime(_)
        | Op::Watched { .. }
        | Op::Special { .. }
        | Op::Special64 { .. }
        | Op::DynamicShared { .. }
        | Op::FrameAddress { .. }
        | Op::AsyncCommit
        | Op::AsyncWait { .. }
        | Op::ActiveMask { .. } => {}
    }
}
