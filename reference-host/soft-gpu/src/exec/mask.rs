//! Sets of lanes of a squad: a bit a lane, a word a warp.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

use super::lanes::{FULL, LANES};

/// Most warps of a squad.
pub(crate) const WARPS: usize = 8;

/// Lanes of the warps of a squad. Lane `i` of warp `w` is lane `32 w + i` of the squad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mask([u32; WARPS]);

impl Mask {
    pub(crate) const NONE: Self = Self([0; WARPS]);

    /// The lanes that `of` gives for each warp.
    #[inline(always)]
    pub(crate) fn by_warp(of: impl FnMut(usize) -> u32) -> Self {
        Self(std::array::from_fn(of))
    }

    /// The same lanes of each of `warps`, a bit a warp.
    #[inline(always)]
    pub(crate) fn of_warps(warps: u32, lanes: u32) -> Self {
        Self::by_warp(|warp| if warps >> warp & 1 == 1 { lanes } else { 0 })
    }

    /// Lanes of one warp.
    #[inline(always)]
    pub(crate) fn of_warp(warp: usize, lanes: u32) -> Self {
        Self::by_warp(|at| if at == warp { lanes } else { 0 })
    }

    /// The first `count` lanes.
    pub(crate) fn first_lanes(count: u32) -> Self {
        Self::by_warp(|warp| match count.saturating_sub((warp * LANES) as u32) {
            rest @ 0..LANES_U32 => (1 << rest) - 1,
            _ => FULL,
        })
    }

    /// The lanes of one warp.
    #[inline(always)]
    pub(crate) fn warp(&self, warp: usize) -> u32 {
        self.0[warp % WARPS]
    }

    /// The lanes of one warp, to be changed.
    #[inline(always)]
    pub(crate) fn warp_mut(&mut self, warp: usize) -> &mut u32 {
        &mut self.0[warp % WARPS]
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, lanes| all | lanes) == 0
    }

    /// The warps that have a lane here, a bit each.
    #[inline(always)]
    pub(crate) fn touched(&self) -> u32 {
        let mut warps = 0;
        for (warp, lanes) in self.0.iter().enumerate() {
            warps |= u32::from(*lanes != 0) << warp;
        }
        warps
    }

    /// The warps all of whose lanes are here, a bit each.
    #[inline(always)]
    pub(crate) fn whole(&self) -> u32 {
        let mut warps = 0;
        for (warp, lanes) in self.0.iter().enumerate() {
            warps |= u32::from(*lanes == FULL) << warp;
        }
        warps
    }

    /// The first lane's number in the squad; 0 if there is none.
    pub(crate) fn first(&self) -> usize {
        self.lanes().next().unwrap_or(0)
    }

    pub(crate) fn count(&self) -> u32 {
        self.0.iter().map(|lanes| lanes.count_ones()).sum()
    }

    /// The lanes' numbers in the squad, lowest first.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = usize> {
        self.0
            .into_iter()
            .enumerate()
            .flat_map(|(warp, lanes)| super::bits_of(lanes).map(move |lane| warp * LANES + lane))
    }
}

const LANES_U32: u32 = LANES as u32;

impl BitAnd for Mask {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self::by_warp(|warp| self.0[warp] & other.0[warp])
    }
}

impl BitOr for Mask {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self::by_warp(|warp| self.0[warp] | other.0[warp])
    }
}

impl BitOrAssign for Mask {
    #[inline(always)]
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl Not for Mask {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self::by_warp(|warp| !self.0[warp])
    }
}

#[cfg(test)]
mod tests {
    use super::{FULL, Mask};

    #[test]
    fn lanes_are_counted_over_the_warps() {
        let mask = Mask::of_warp(1, 0b101) | Mask::of_warp(7, 1 << 31);
        assert_eq!(mask.lanes().collect::<Vec<_>>(), [32, 34, 255]);
        assert_eq!((mask.first(), mask.count(), mask.touched()), (32, 3, 0x82));
        assert!((mask & !mask).is_empty());
    }

    #[test]
    fn first_lanes_fill_warps_in_order() {
        for count in 0..=256 {
            let mask = Mask::first_lanes(count);
            assert_eq!(mask.count(), count);
            assert_eq!(mask.whole().count_ones(), count / 32);
            assert!(mask.lanes().eq(0..count as usize));
        }
        assert_eq!(Mask::first_lanes(40).warp(0), FULL);
    }
}
