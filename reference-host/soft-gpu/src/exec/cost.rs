//! What the watchdog charges for a micro-op: about its time, in units of a plain operation of a warp (some 10 ns).
//!
//! A budget then bounds the time of a launch whatever it executes. Work that depends on a function's size, such as clearing the
//! registers that a call gets, is charged where it is done.

use crate::code::{Function, Op};
use crate::exec::lanes::FULL;
use crate::exec::mask::{Mask, WARPS};
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;

/// Units of a whole micro-op in all lanes.
pub(crate) fn of(op: &Op) -> u32 {
    match op {
        Op::Lane(lane) => of_lane(*lane),
        Op::Rare(rare) => of_rare(*rare),
        Op::Load(_) | Op::Store(_) => 8,
        Op::Atomic(_) => 16,
        Op::Matrix { .. } => 300,
        Op::AsyncCopy { .. } | Op::AsyncWait { .. } | Op::Mbarrier(_) => 40,
        Op::Match { .. } => 60,
        Op::Shuffle { .. } | Op::Call { .. } | Op::CallIndirect { .. } | Op::BranchIndex { .. } => {
            10
        }
        Op::Redux { .. } | Op::Barrier { .. } | Op::WarpBarrier { .. } | Op::IsSpace { .. } => 6,
        _ => 1,
    }
}

fn of_rare(op: RareOp) -> u32 {
    use RareOp as R;
    match op {
        R::TanhF16(_) | R::TanhBf16(_) => 200,
        R::AddRzF64(_)
        | R::AddRmF64(_)
        | R::AddRpF64(_)
        | R::SubRzF64(_)
        | R::SubRmF64(_)
        | R::SubRpF64(_)
        | R::MulRzF64(_)
        | R::MulRmF64(_)
        | R::MulRpF64(_) => 70,
        R::FmaRzF64(_)
        | R::FmaRmF64(_)
        | R::FmaRpF64(_)
        | R::DivRzF64(_)
        | R::DivRmF64(_)
        | R::DivRpF64(_)
        | R::RcpRzF64(_)
        | R::RcpRmF64(_)
        | R::RcpRpF64(_) => 120,
        R::FmaBf16(_) | R::FmaBf16x2(_) | R::AddBf16x2(_) | R::SubBf16x2(_) => 60,
        _ => 20,
    }
}

fn of_lane(op: LaneOp) -> u32 {
    use LaneOp as L;
    match op {
        L::SinF32(_) | L::CosF32(_) | L::Lg2F32(_) | L::Ex2F32(_) | L::TanhF32(_) => 60,
        L::DivU64(_) | L::DivS64(_) | L::RemU64(_) | L::RemS64(_) => 30,
        L::DivU32(_)
        | L::DivS32(_)
        | L::RemU32(_)
        | L::RemS32(_)
        | L::DivU16(_)
        | L::DivS16(_)
        | L::RemU16(_)
        | L::RemS16(_) => 15,
        L::FmaF32(_) | L::FmaRzF32(_) | L::FmaRmF32(_) | L::FmaRpF32(_) | L::FmaF64(_) => 12,
        L::DivF32(_) | L::DivRzF32(_) | L::DivRmF32(_) | L::DivRpF32(_) | L::DivF64(_) => 15,
        L::RcpRzF32(_)
        | L::RcpRmF32(_)
        | L::RcpRpF32(_)
        | L::SqrtRzF32(_)
        | L::SqrtRmF32(_)
        | L::SqrtRpF32(_) => 20,
        L::SqrtF32(_)
        | L::SqrtF64(_)
        | L::RsqrtF32(_)
        | L::RsqrtF64(_)
        | L::RcpF32(_)
        | L::RcpF64(_) => 10,
        L::Lop3(_)
        | L::BfeU32(_)
        | L::BfeS32(_)
        | L::BfeU64(_)
        | L::BfeS64(_)
        | L::Bfi32(_)
        | L::Bfi64(_)
        | L::Permute(_) => 6,
        L::MulHiU64(_) | L::MulHiS64(_) | L::MadHiU64(_) | L::MadHiS64(_) => 8,
        _ => 1,
    }
}

/// Units of starting a warp of a kernel that has run in this launch before.
pub(crate) fn of_warp(function: &Function) -> u64 {
    12 + function.cleared.len() as u64 + u64::from(function.frame_bytes / 4)
}

/// Units of starting a block.
pub(crate) fn of_block(shared_bytes: usize) -> u64 {
    12 + (shared_bytes / 256) as u64
}

/// Units of entering a device function in the lanes of `mask`: its registers and its frame are cleared.
pub(crate) fn of_entering(function: &Function, mask: &Mask) -> u64 {
    let registers = u64::from(function.registers.r32) + 2 * u64::from(function.registers.r64);
    let rows = registers + u64::from(function.frame_bytes / 4);
    // Rows are cleared whole, or lane by lane.
    let of_warp = |lanes: u32| match lanes {
        0 => 0,
        FULL => rows,
        some => rows * u64::from(some.count_ones().max(4)) / 4,
    };
    (0..WARPS).map(|warp| of_warp(mask.warp(warp))).sum()
}
