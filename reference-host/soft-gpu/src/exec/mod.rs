//! Execution: a grid is its blocks in order, a block its warps in turn, a warp its fragments, a fragment its micro-ops.

mod access;
mod approximate;
mod async_copy;
mod atomic;
pub(crate) mod bits;
mod block;
mod budget;
mod build;
mod calls;
pub(crate) mod cost;
mod exact;
mod exchange;
pub(crate) mod float;
pub(crate) mod form;
pub(crate) mod formats;
mod half;
pub(crate) mod lanes;
mod linear;
mod load;
mod local;
mod mbarrier;
pub(crate) mod ops;
mod packed;
#[cfg(test)]
mod patterns_agree;
mod printf;
pub(crate) mod rare;
mod report;
mod run;
mod runtime;
pub(crate) mod shape;
mod special;
mod store;
pub(crate) mod tensor;
mod threads;
pub(crate) mod together;
mod warp;
mod watch;

pub(crate) use block::{Grid, run_grid};
pub(crate) use budget::Budget;
pub(crate) use threads::{can_share, run_on_threads};
pub(crate) use watch::Watch;

use crate::fault::FaultKind;

/// A fault and the lane that hit it, before block, thread and line are known.
#[derive(Clone, Debug)]
pub(crate) struct LaneFault {
    pub(crate) kind: FaultKind,
    pub(crate) lane: u32,
}

/// The lanes of a mask, lowest first.
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
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
    use super::lanes_of;

    #[test]
    fn lanes_come_lowest_first() {
        assert_eq!(lanes_of(0b1010_0001).collect::<Vec<_>>(), [0, 5, 7]);
        assert_eq!(lanes_of(u32::MAX).count(), 32);
    }
}
