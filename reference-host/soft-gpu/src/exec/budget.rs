//! The watchdog's budget, dealt out in slices so that warps which spin give way to those they wait for.

/// What a launch may execute, in the units of [`super::cost`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) total: u64,
    /// What the running warp may still execute before it gives way.
    pub(crate) slice_left: u64,
    /// The running warp has executed nothing of its slice.
    slice_at_start: u64,
    /// What is left beside the slice.
    reserve: u64,
}

/// What a warp does whose slice does not cover its next basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutOfSlice {
    /// The block alone is longer than a slice: it has been paid for.
    GoOn,
    /// Other warps have their turn.
    GiveWay,
    /// The launch has used up its budget.
    Exhausted,
}

/// Units that a warp uses before others have their turn.
const SLICE: u64 = 1 << 18;

impl Budget {
    pub(crate) fn new(total: u64) -> Self {
        Self {
            total,
            slice_left: 0,
            slice_at_start: 0,
            reserve: total,
        }
    }

    /// Deals a warp its slice.
    pub(crate) fn begin_slice(&mut self) {
        let left = self.left();
        self.slice_left = left.min(SLICE);
        self.slice_at_start = self.slice_left;
        self.reserve = left - self.slice_left;
    }

    /// What a read of a clock gives. Reading takes a unit, so that time passes between two reads of one block too.
    pub(crate) fn clock(&mut self) -> u64 {
        self.charge_roughly(1);
        self.used()
    }

    /// Units used so far.
    pub(crate) fn used(&self) -> u64 {
        self.total - self.left()
    }

    /// Decides about a basic block of `cost` units that the slice does not cover.
    #[cold]
    pub(crate) fn out_of_slice(&mut self, cost: u64) -> OutOfSlice {
        let Some(left) = self.left().checked_sub(cost) else {
            return OutOfSlice::Exhausted;
        };
        if self.slice_left < self.slice_at_start {
            return OutOfSlice::GiveWay;
        }
        self.slice_left = 0;
        self.reserve = left;
        OutOfSlice::GoOn
    }

    /// Charges work outside basic blocks; `false` when the budget does not cover it.
    #[must_use]
    pub(crate) fn charge(&mut self, cost: u64) -> bool {
        if let Some(rest) = self.slice_left.checked_sub(cost) {
            self.slice_left = rest;
            return true;
        }
        let Some(left) = self.left().checked_sub(cost) else {
            return false;
        };
        // The slice is used up: the next basic block gives way.
        self.slice_left = 0;
        self.reserve = left;
        true
    }

    /// Charges a little that need not be exact.
    #[inline]
    pub(crate) fn charge_roughly(&mut self, cost: u64) {
        self.slice_left = self.slice_left.saturating_sub(cost);
    }

    fn left(&self) -> u64 {
        self.reserve + self.slice_left
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, OutOfSlice, SLICE};

    #[test]
    fn a_block_longer_than_a_slice_runs_once_and_then_gives_way() {
        let mut budget = Budget::new(3 * SLICE);
        budget.begin_slice();
        assert_eq!(budget.out_of_slice(2 * SLICE), OutOfSlice::GoOn);
        assert_eq!(budget.used(), 2 * SLICE);
        assert_eq!(budget.out_of_slice(1), OutOfSlice::GiveWay);
        budget.begin_slice();
        assert_eq!(budget.slice_left, SLICE);
        assert_eq!(budget.out_of_slice(2 * SLICE), OutOfSlice::Exhausted);
    }
}
