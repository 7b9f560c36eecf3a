//! Execution: a grid is its blocks in order, a block its squads of warps in turn, a squad its fragments, a fragment its micro-ops.

mod access;
mod approximate;
mod async_copy;
mod atomic;
mod barrier;
pub(crate) mod bits;
mod block;
mod budget;
mod build;
mod calls;
pub(crate) mod cost;
mod exact;
mod exchange;
mod file;
pub(crate) mod float;
pub(crate) mod form;
pub(crate) mod formats;
mod half;
mod known;
pub(crate) mod lanes;
mod linear;
mod load;
mod local;
mod mask;
mod mbarrier;
#[cfg(test)]
mod means_agree;
mod one_warp;
pub(crate) mod ops;
mod packed;
mod printf;
pub(crate) mod rare;
mod report;
mod rows;
mod run;
mod runtime;
pub(crate) mod shape;
mod special;
mod squad;
mod store;
pub(crate) mod tensor;
mod threads;
pub(crate) mod together;
mod turns;
mod watch;

pub(crate) use block::{Grid, Means, run_grid};
pub(crate) use budget::Budget;
pub(crate) use threads::{can_share, run_on_threads};
pub(crate) use watch::Watch;

use crate::fault::FaultKind;

/// A fault and the lane that hit it, by its number in the warp and later in the squad, before block, thread and line are known.
#[derive(Clone, Debug)]
pub(crate) struct LaneFault {
    pub(crate) kind: FaultKind,
    pub(crate) lane: u32,
}

impl LaneFault {
    /// The lane's number in the squad, when it was that in a warp.
    pub(crate) fn in_warp(mut self, warp: usize) -> Self {
        self.lane += (warp * lanes::LANES) as u32;
        self
    }
}

/// The set bits of a mask of lanes or warps, lowest first.
pub(crate) fn bits_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

#[cfg(test)]
mod tests {
    use super::bits_of;

    #[test]
    fn bits_come_lowest_first() {
        assert_eq!(bits_of(0b1010_0001).collect::<Vec<_>>(), [0, 5, 7]);
        assert_eq!(bits_of(u32::MAX).count(), 32);
    }
}
