//! Local memory of a warp: rows of 32 words, one word a lane, so that the same offset in all lanes is one row.
//!
//! Frames of device functions, with their parameters, live here too.

use super::bits_of;
use super::lanes::{FULL, LANES, Lanes32};
use crate::code::Passing;

/// Local memory of the lanes of one warp.
#[derive(Debug, Default)]
pub(crate) struct Local {
    rows: Vec<Lanes32>,
}

impl Local {
    /// Makes at least `bytes` bytes a lane exist.
    pub(crate) fn reserve(&mut self, bytes: u32) {
        let rows = bytes.div_ceil(4) as usize;
        if rows > self.rows.len() {
            self.rows.resize(rows, [0; LANES]);
        }
    }

    /// Bytes that each lane has.
    pub(crate) fn bytes(&self) -> u64 {
        4 * self.rows.len() as u64
    }

    /// Makes `bytes` zero bytes a lane exist, and no more.
    pub(crate) fn reset(&mut self, bytes: u32) {
        self.rows.clear();
        self.reserve(bytes);
    }

    /// Zeroes `bytes` bytes from `start` on, in the lanes of `mask`.
    pub(crate) fn zero(&mut self, start: u32, bytes: u32, mask: u32) {
        let first = (start / 4) as usize;
        let end = (start + bytes).div_ceil(4) as usize;
        for row in self.rows.get_mut(first..end).unwrap_or_default() {
            if mask == FULL {
                *row = [0; LANES];
            } else {
                bits_of(mask).for_each(|lane| row[lane] = 0);
            }
        }
    }

    /// The `bytes` (1, 2, 4 or 8) bytes of one lane at an aligned `address`, zero-extended; `None` out of bounds.
    pub(crate) fn read(&self, lane: usize, address: u64, bytes: u32) -> Option<u64> {
        let row = usize::try_from(address / 4).ok()?;
        let low = u64::from(self.rows.get(row)?[lane]);
        Some(match bytes {
            1 => low >> (8 * (address % 4)) & 0xFF,
            2 => low >> (8 * (address % 4)) & 0xFFFF,
            4 => low,
            _ => low | u64::from(self.rows.get(row.checked_add(1)?)?[lane]) << 32,
        })
    }

    /// Writes the low `bytes` bytes of `value` to one lane at an aligned `address`; `None` out of bounds.
    pub(crate) fn write(
        &mut self,
        lane: usize,
        address: u64,
        bytes: u32,
        value: u64,
    ) -> Option<()> {
        let row = usize::try_from(address / 4).ok()?;
        if bytes == 8 {
            let high = self.rows.get_mut(row.checked_add(1)?)?;
            high[lane] = (value >> 32) as u32;
        }
        let word = &mut self.rows.get_mut(row)?[lane];
        let shift = 8 * (address % 4);
        let mask: u64 = match bytes {
            1 => 0xFF << shift,
            2 => 0xFFFF << shift,
            _ => 0xFFFF_FFFF,
        };
        *word = ((u64::from(*word) & !mask) | ((value << shift) & mask)) as u32;
        Some(())
    }

    /// The row of an aligned word that exists.
    pub(crate) fn row(&self, address: u32) -> Option<&Lanes32> {
        self.rows.get((address / 4) as usize)
    }

    /// The row of an aligned word that exists.
    pub(crate) fn row_mut(&mut self, address: u32) -> Option<&mut Lanes32> {
        self.rows.get_mut((address / 4) as usize)
    }

    /// Copies parameters or results between frames; both places are multiples of 4.
    pub(crate) fn pass(&mut self, from: u32, to: u32, bytes: u32, mask: u32) {
        for at in 0..bytes.div_ceil(4) {
            let Some(source) = self.row(from + 4 * at).copied() else {
                return;
            };
            let Some(target) = self.row_mut(to + 4 * at) else {
                return;
            };
            if mask == FULL {
                *target = source;
            } else {
                bits_of(mask).for_each(|lane| target[lane] = source[lane]);
            }
        }
    }

    /// Passes each of `list` from a caller's frame at `caller` to a callee's at `callee`, or back.
    pub(crate) fn pass_all(
        &mut self,
        list: &[Passing],
        caller: u32,
        callee: u32,
        mask: u32,
        back: bool,
    ) {
        for passing in list {
            let (outer, inner) = (
                caller + passing.caller_offset,
                callee + passing.callee_offset,
            );
            let (from, to) = if back { (inner, outer) } else { (outer, inner) };
            self.pass(from, to, passing.bytes, mask);
        }
    }
}
