//! `cp.async`: copies from global to shared memory that are done when a thread waits for them.
//!
//! A copy is checked where it is asked for and carried out no sooner than it must be: a kernel that reads shared memory without having waited
//! sees what was there before. Each lane counts the groups that it has committed; a copy belongs to the group that its
//! lane commits next.
//! Source: PTX ISA, "Non-bulk copy".

use std::collections::VecDeque;

use super::access::{View, addresses, place};
use super::lanes::{LANES, Lanes32, Lanes64};
use super::one_warp::OneWarp;
use super::{LaneFault, bits_of};
use crate::code::{AsyncCopy, NONE, Space};
use crate::memory::Place;

/// Copies of a warp that have been asked for and not been carried out.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    waiting: VecDeque<Waiting>,
    /// Groups that each lane has committed.
    committed: Lanes32,
}

/// What one instruction asked for in its lanes.
#[derive(Debug)]
struct Waiting {
    lanes: u32,
    /// The group of each lane's copy.
    groups: Lanes32,
    /// Offsets in shared memory.
    to: Lanes64,
    from: [Place; LANES],
    /// Bytes copied of each lane's; the rest is zero.
    copied: Lanes32,
    bytes: u32,
}

/// Instructions that a warp may leave unfinished; the oldest is carried out when there is one more.
const MOST_WAITING: usize = 256;

impl Copies {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.committed = [0; LANES];
    }

    /// Instructions that a wait has to look at.
    pub(crate) fn outstanding(&self) -> usize {
        self.waiting.len()
    }

    /// `cp.async.commit_group`
    pub(crate) fn commit(&mut self, active: u32) {
        for lane in bits_of(active) {
            self.committed[lane] = self.committed[lane].wrapping_add(1);
        }
    }
}

impl View<'_, '_, '_> {
    /// `cp.async`
    pub(crate) fn copy_async(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        copy: &AsyncCopy,
        copies: &mut Copies,
        active: u32,
    ) -> Result<(), LaneFault> {
        let to = addresses(registers, copy.to);
        let from = addresses(registers, copy.from);
        let sizes = match copy.size {
            NONE => [copy.bytes; LANES],
            slot => registers.lanes32(slot),
        };
        let ignored = match copy.ignore {
            NONE => 0,
            slot if copy.negated => !registers.pred_bits(slot),
            slot => registers.pred_bits(slot),
        };
        let mut waiting = Waiting {
            lanes: active,
            groups: copies.committed,
            to,
            from: from.map(|address| place(Space::Global, address)),
            copied: [0; LANES],
            bytes: copy.bytes,
        };
        for lane in bits_of(active) {
            let copied = if ignored >> lane & 1 == 1 {
                0
            } else {
                sizes[lane].min(copy.bytes)
            };
            self.checked(Space::Shared, to[lane], copy.bytes, true, lane as u32)?;
            self.aligned(Space::Global, from[lane], copy.bytes, false, lane as u32)?;
            if copied > 0 {
                // In whole if it is aligned; what is copied must be there.
                self.readable(from[lane], copied, lane as u32)?;
            }
            waiting.copied[lane] = copied;
        }
        if copies.waiting.len() >= MOST_WAITING
            && let Some(mut oldest) = copies.waiting.pop_front()
        {
            let lanes = oldest.lanes;
            self.carry_out(&mut oldest, lanes);
        }
        copies.waiting.push_back(waiting);
        Ok(())
    }

    /// `cp.async.wait_group`: all but the latest `allowed` groups of the active lanes are carried out; with no number, everything is.
    pub(crate) fn wait_async(&mut self, copies: &mut Copies, allowed: Option<u32>, active: u32) {
        let Copies { waiting, committed } = copies;
        for copy in waiting.iter_mut() {
            let due = bits_of(copy.lanes & active)
                .filter(|&lane| {
                    let newer = committed[lane].wrapping_sub(copy.groups[lane]);
                    allowed.is_none_or(|allowed| newer > allowed)
                })
                .fold(0, |lanes, lane| lanes | 1 << lane);
            self.carry_out(copy, due);
        }
        waiting.retain(|copy| copy.lanes != 0);
    }

    fn carry_out(&mut self, copy: &mut Waiting, lanes: u32) {
        copy.lanes &= !lanes;
        for lane in bits_of(lanes) {
            let mut data = [0u8; 16];
            let count = copy.copied[lane] as usize;
            // Both places were there when the copy was asked for; memory that has been freed since gives zeros.
            if let Ok(bytes) = self.spaces.bytes(copy.from[lane], count as u64, false) {
                data[..count].copy_from_slice(bytes);
            }
            let target = Place {
                space: Space::Shared,
                address: copy.to[lane],
            };
            if let Ok(bytes) = self.spaces.bytes(target, u64::from(copy.bytes), true) {
                bytes.copy_from_slice(&data[..copy.bytes as usize]);
            }
        }
    }

    /// Checks that global memory has `bytes` bytes at an address.
    fn readable(&mut self, address: u64, bytes: u32, lane: u32) -> Result<(), LaneFault> {
        self.spaces
            .bytes(place(Space::Global, address), u64::from(bytes), false)
            .map(drop)
            .map_err(|_| super::access::out_of_bounds(Space::Global, address, bytes, false, lane))
    }
}
