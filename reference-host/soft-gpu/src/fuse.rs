//! Folds address arithmetic into what uses it.
//!
//! A compiler computes the address of an element by a widening product and a sum in front of each access. Where nothing else reads a
//! product it becomes part of the sum, and a sum that only an access reads becomes part of the access: its address is then the
//! sum of two registers.

use crate::code::{Access, Code, NONE, Op};
use crate::exec::lanes::{RegisterCount, Slots};
use crate::exec::ops::LaneOp;
use crate::exec::shape::Class;
use crate::lower::{reads, writes};

/// A product or sum that the next operations may take over.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Where its operation stands, behind the start of the function.
    at: usize,
    op: LaneOp,
    slots: Slots,
}

/// Most products and sums that are kept in mind, so that the pass stays linear.
const MOST_PENDING: usize = 16;

/// Folds the operations `kept`, behind `start`, of a function; those that became part of others leave the list.
pub(crate) fn addresses(
    code: &mut Code,
    start: usize,
    kept: &mut Vec<usize>,
    count: RegisterCount,
) {
    let once = read_and_written_once(code, start, kept, count);
    let once = |slot: u32| once.get(slot as usize).copied().unwrap_or(false);
    let mut pending: Vec<Pending> = Vec::new();
    let mut dropped = Vec::new();
    let mut guarded = 0u32;
    for &at in kept.iter() {
        let Some(&op) = code.ops.get(start.saturating_add(at)) else {
            continue;
        };
        match op {
            Op::Guard { skip, .. } => {
                guarded = skip;
                continue;
            }
            Op::Unguard
            | Op::Special { .. }
            | Op::Lane(_)
            | Op::Rare(_)
            | Op::Load(_)
            | Op::Store(_) => {}
            // Elsewhere lanes may part or meet.
            _ => pending.clear(),
        }
        let folded = fold(op, &pending);
        let new = folded.map_or(op, |(new, _)| new);
        if let Some((new, taken)) = folded {
            if let Some(place) = code.ops.get_mut(start.saturating_add(at)) {
                *place = new;
            }
            dropped.push(taken);
            pending.retain(|pending| pending.at != taken);
        }
        writes(code, &new, |register| {
            pending.retain(|pending| !pending.reads(register));
        });
        if guarded == 0
            && let Op::Lane(lane) = new
            && let LaneOp::AddI64(slots) | LaneOp::MulWideS32(slots) | LaneOp::MulWideU32(slots) =
                lane
            && once(slots.d)
        {
            if pending.len() == MOST_PENDING {
                pending.remove(0);
            }
            pending.push(Pending {
                at,
                op: lane,
                slots,
            });
        }
        guarded = guarded.saturating_sub(1);
    }
    dropped.sort_unstable();
    kept.retain(|at| dropped.binary_search(at).is_err());
}

impl Pending {
    fn reads(&self, (class, slot): (Class, u32)) -> bool {
        let of = match self.op {
            LaneOp::AddI64(_) => Class::R64,
            _ => Class::R32,
        };
        class == of && (slot == self.slots.a || slot == self.slots.b)
    }

    fn is_sum(&self) -> bool {
        matches!(self.op, LaneOp::AddI64(_))
    }
}

/// The operation with a pending one taken into it, and the place of that.
fn fold(op: Op, pending: &[Pending]) -> Option<(Op, usize)> {
    let of = |slot: u32, sum: bool| {
        pending
            .iter()
            .find(|pending| pending.slots.d == slot && pending.is_sum() == sum)
    };
    match op {
        Op::Lane(LaneOp::AddI64(slots)) => {
            let (product, other) = match (of(slots.a, false), of(slots.b, false)) {
                (_, Some(product)) if slots.a != slots.b => (product, slots.a),
                (Some(product), _) if slots.a != slots.b => (product, slots.b),
                _ => return None,
            };
            let slots = Slots {
                d: slots.d,
                c: other,
                ..product.slots
            };
            let sum = match product.op {
                LaneOp::MulWideU32(_) => LaneOp::MadWideU32(slots),
                _ => LaneOp::MadWideS32(slots),
            };
            Some((Op::Lane(sum), product.at))
        }
        Op::Load(access) => {
            let (access, at) = indexed(access, of(access.address.base, true)?)?;
            Some((Op::Load(access), at))
        }
        Op::Store(access) => {
            let (access, at) = indexed(access, of(access.address.base, true)?)?;
            Some((Op::Store(access), at))
        }
        _ => None,
    }
}

fn indexed(mut access: Access, sum: &Pending) -> Option<(Access, usize)> {
    if access.address.narrow || access.address.index != NONE {
        return None;
    }
    access.address.base = sum.slots.a;
    access.address.index = sum.slots.b;
    Some((access, sum.at))
}

/// For each 64-bit register, whether one operation alone reads it and one alone writes it.
fn read_and_written_once(
    code: &Code,
    start: usize,
    kept: &[usize],
    count: RegisterCount,
) -> Vec<bool> {
    let mut uses = vec![(0u8, 0u8); count.r64 as usize];
    for &at in kept {
        let Some(op) = code.ops.get(start.saturating_add(at)) else {
            continue;
        };
        reads(code, op, |(class, slot)| {
            if let (Class::R64, Some((reads, _))) = (class, uses.get_mut(slot as usize)) {
                *reads = reads.saturating_add(1);
            }
        });
        writes(code, op, |(class, slot)| {
            if let (Class::R64, Some((_, writes))) = (class, uses.get_mut(slot as usize)) {
                *writes = writes.saturating_add(1);
            }
        });
    }
    uses.into_iter().map(|uses| uses == (1, 1)).collect()
}
