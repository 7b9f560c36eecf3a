//! The watchdog's budget, dealt out in slices so that warps which spin give way to those they wait for.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a launch may execute, in the units of [`super::cost`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget<'p> {
    pub(crate) total: u64,
    /// What several threads share and draw from; of one alone, all is in `reserve`.
    pool: Option<&'p AtomicU64>,
    /// What this thread has got so far.
    dealt: u64,
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

/// Units that a thread draws from a shared pool at a time: so much of it may stay unused with others when one finds it empty.
const DRAW: u64 = 1 << 20;

impl<'p> Budget<'p> {
    pub(crate) fn new(total: u64) -> Self {
        Self {
            total,
            pool: None,
            dealt: total,
            slice_left: 0,
            slice_at_start: 0,
            reserve: total,
        }
    }

    /// The budget of one of several threads that share `pool`, which holds `total` in the beginning.
    pub(crate) fn sharing(total: u64, pool: &'p AtomicU64) -> Self {
        Self {
            pool: Some(pool),
            dealt: 0,
            reserve: 0,
            ..Self::new(total)
        }
    }

    /// Draws from the pool so that at least `needed` is left, if it has that much.
    fn draw(&mut self, needed: u64) {
        let Some(pool) = self.pool else { return };
        let missing = needed.saturating_sub(self.left());
        if missing == 0 {
            return;
        }
        let take = |available: u64| available.min(missing.max(DRAW));
        let available = pool
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |available| {
                Some(available - take(available))
            })
            .unwrap_or_default();
        self.reserve += take(available);
        self.dealt += take(available);
    }

    /// Gives what is left back to the pool.
    pub(crate) fn give_back(&mut self) {
        if let Some(pool) = self.pool {
            pool.fetch_add(self.left(), Ordering::Relaxed);
            self.dealt -= self.left();
            self.reserve = 0;
            self.slice_left = 0;
        }
    }

    /// Deals a warp its slice.
    pub(crate) fn begin_slice(&mut self) {
        self.draw(SLICE);
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
        self.dealt - self.left()
    }

    /// Decides about a basic block of `cost` units that the slice does not cover.
    #[cold]
    pub(crate) fn out_of_slice(&mut self, cost: u64) -> OutOfSlice {
        self.draw(cost);
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
    #[inline]
    pub(crate) fn charge(&mut self, cost: u64) -> bool {
        if let Some(rest) = self.slice_left.checked_sub(cost) {
            self.slice_left = rest;
            return true;
        }
        self.draw(cost);
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
    use super::{AtomicU64, Budget, DRAW, Ordering, OutOfSlice, SLICE};

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

    #[test]
    fn threads_share_one_pool() {
        let pool = AtomicU64::new(3 * DRAW);
        let (mut one, mut other) = (
            Budget::sharing(3 * DRAW, &pool),
            Budget::sharing(3 * DRAW, &pool),
        );
        assert!(one.charge(5));
        assert_eq!((one.used(), pool.load(Ordering::Relaxed)), (5, 2 * DRAW));
        assert!(other.charge(2 * DRAW));
        assert!(!other.charge(1));
        assert!(one.charge(DRAW - 5));
        assert!(!one.charge(1));
        let (total, pool) = (DRAW, AtomicU64::new(DRAW));
        let mut one = Budget::sharing(total, &pool);
        assert!(one.charge(7));
        one.give_back();
        assert_eq!(pool.load(Ordering::Relaxed), DRAW - 7);
        assert_eq!(one.used(), 7);
    }
}
