//! Atomics.

use super::access::{View, addresses, decode, place, put, value_of};
use super::float::{flush32, op32, op64};
use super::lanes::{LANES, Registers};
use super::{LaneFault, lanes_of};
use crate::code::{Atomic, AtomicOp, Element, NONE, Space};

impl View<'_, '_, '_> {
    /// `atom` and `red`: lanes in order, each seeing what the one before wrote.
    pub(crate) fn atomic(
        &mut self,
        registers: &mut Registers<'_>,
        atomic: Atomic,
        [d, b, c]: [u32; 3],
        active: u32,
    ) -> Result<(), LaneFault> {
        let addresses = addresses(registers, atomic.address);
        let size = if atomic.wide { 8 } else { 4 };
        let mut old = [0u64; LANES];
        let element = if atomic.wide {
            Element::B64
        } else {
            Element::B32
        };
        for lane in lanes_of(active) {
            let operand = value_of(registers, b, element, lane);
            let swap = if c == NONE {
                0
            } else {
                value_of(registers, c, element, lane)
            };
            let bytes = self.checked(atomic.space, addresses[lane], size, true, lane as u32)?;
            let before = decode(element, bytes);
            // On global memory, and there alone, subnormal single-precision addends and sums count as zero.
            let flush = atomic.op == AtomicOp::AddF32
                && place(atomic.space, addresses[lane]).space == Space::Global;
            old[lane] = before;
            let after = if flush {
                let sum = op32(flush32(before as u32), flush32(operand as u32), |x, y| {
                    x + y
                });
                u64::from(flush32(sum))
            } else if atomic.wide {
                update64(atomic.op, before, operand, swap)
            } else {
                u64::from(update32(
                    atomic.op,
                    before as u32,
                    operand as u32,
                    swap as u32,
                ))
            };
            bytes.copy_from_slice(&after.to_le_bytes()[..size as usize]);
        }
        if d != NONE {
            put(registers, d, element, active, &old);
        }
        Ok(())
    }
}

fn update32(op: AtomicOp, old: u32, b: u32, c: u32) -> u32 {
    match op {
        AtomicOp::Add => old.wrapping_add(b),
        AtomicOp::AddF32 | AtomicOp::AddF64 => op32(old, b, |x, y| x + y),
        AtomicOp::MinSigned => old.cast_signed().min(b.cast_signed()).cast_unsigned(),
        AtomicOp::MaxSigned => old.cast_signed().max(b.cast_signed()).cast_unsigned(),
        AtomicOp::MinUnsigned => old.min(b),
        AtomicOp::MaxUnsigned => old.max(b),
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Exchange => b,
        AtomicOp::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicOp::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}

fn update64(op: AtomicOp, old: u64, b: u64, c: u64) -> u64 {
    match op {
        AtomicOp::Add => old.wrapping_add(b),
        AtomicOp::AddF32 | AtomicOp::AddF64 => op64(old, b, |x, y| x + y),
        AtomicOp::MinSigned => old.cast_signed().min(b.cast_signed()).cast_unsigned(),
        AtomicOp::MaxSigned => old.cast_signed().max(b.cast_signed()).cast_unsigned(),
        AtomicOp::MinUnsigned => old.min(b),
        AtomicOp::MaxUnsigned => old.max(b),
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Exchange => b,
        AtomicOp::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicOp::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}
