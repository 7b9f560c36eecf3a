//! `mbarrier`: barriers that are objects in shared memory.
//!
//! Source: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". The object is opaque there; here it is
//! 20 bits of pending arrivals, 20 bits of those expected in each phase, 22 bits of bytes that are still to come, and the
//! phase's parity. The state that an arrival returns is the object as it was before.

use super::access::{View, addresses, place, refused};
use super::lanes::{LANES, Lanes64};
use super::one_warp::OneWarp;
use super::{LaneFault, bits_of};
use crate::code::{Mbarrier, MbarrierKind, NONE, Space};
use crate::memory::AccessError;

/// Bits of a count of arrivals.
const COUNT_BITS: u32 = 20;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
/// Bits of the count of bytes.
const BYTES_MASK: u64 = (1 << 22) - 1;

/// The object, taken apart.
#[derive(Clone, Copy, Debug)]
struct Object {
    pending: u64,
    expected: u64,
    bytes: u64,
    phase: u64,
}

impl Object {
    fn of(bits: u64) -> Self {
        Self {
            pending: bits & COUNT_MASK,
            expected: bits >> COUNT_BITS & COUNT_MASK,
            bytes: bits >> (2 * COUNT_BITS) & BYTES_MASK,
            phase: bits >> 63,
        }
    }

    fn bits(self) -> u64 {
        (self.pending & COUNT_MASK)
            | (self.expected & COUNT_MASK) << COUNT_BITS
            | (self.bytes & BYTES_MASK) << (2 * COUNT_BITS)
            | self.phase << 63
    }

    fn arrive(&mut self, count: u64) {
        self.pending = self.pending.saturating_sub(count);
        self.complete();
    }

    /// A phase ends when nobody and nothing is awaited any more.
    fn complete(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.pending = self.expected;
            self.phase ^= 1;
        }
    }
}

impl View<'_, '_, '_> {
    /// Executes an operation of the active lanes, one after the other; the lanes whose wait is over, or all.
    pub(crate) fn mbarrier(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        op: Mbarrier,
        active: u32,
    ) -> Result<u32, LaneFault> {
        let addresses = addresses(registers, op.address);
        let operands: Lanes64 = match (op.operand, op.kind) {
            (NONE, _) => [1; LANES],
            (slot, MbarrierKind::TestState) => registers.lanes64(slot),
            (slot, _) => registers.lanes32(slot).map(u64::from),
        };
        let mut states = [0u64; LANES];
        let mut over = 0u32;
        for lane in bits_of(active) {
            let address = addresses[lane];
            if place(op.space, address).space != Space::Shared {
                let why = AccessError::WrongSpace;
                return Err(refused(why, op.space, address, 8, true, lane as u32));
            }
            let cell = self.checked(op.space, address, 8, true, lane as u32)?;
            let Some(cell) = cell.first_chunk_mut::<8>() else {
                continue;
            };
            let before = u64::from_le_bytes(*cell);
            states[lane] = before;
            let operand = operands[lane];
            let mut object = Object::of(before);
            match op.kind {
                MbarrierKind::Init => {
                    object = Object {
                        pending: operand,
                        expected: operand,
                        bytes: 0,
                        phase: 0,
                    };
                }
                MbarrierKind::Invalidate => object = Object::of(0),
                MbarrierKind::Arrive => object.arrive(operand),
                MbarrierKind::Drop => {
                    object.expected = object.expected.saturating_sub(operand);
                    object.arrive(operand);
                }
                MbarrierKind::ArriveExpecting => {
                    object.bytes = object.bytes.wrapping_add(operand);
                    object.arrive(1);
                }
                MbarrierKind::DropExpecting => {
                    object.bytes = object.bytes.wrapping_add(operand);
                    object.expected = object.expected.saturating_sub(1);
                    object.arrive(1);
                }
                MbarrierKind::Expect => object.bytes = object.bytes.wrapping_add(operand),
                MbarrierKind::Complete => {
                    object.bytes = object.bytes.wrapping_sub(operand) & BYTES_MASK;
                    object.complete();
                }
                MbarrierKind::TestState => {
                    over |= u32::from(object.phase != operand >> 63) << lane;
                }
                MbarrierKind::TestParity => {
                    over |= u32::from(object.phase != operand & 1) << lane;
                }
            }
            *cell = object.bits().to_le_bytes();
        }
        match op.kind {
            MbarrierKind::TestState | MbarrierKind::TestParity => {
                registers.put_pred(op.d, active, over);
                return Ok(over);
            }
            _ if op.d != NONE => registers.put64(op.d, active, &states),
            _ => {}
        }
        Ok(active)
    }
}
