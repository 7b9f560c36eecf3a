//! Atomics.

use super::access::{View, addresses, decode, out_of_bounds, place, put, value_of};
use super::float::{flush32, op32, op64};
use super::formats::Half;
use super::lanes::{LANES, Lanes64};
use super::one_warp::OneWarp;
use super::{LaneFault, bits_of};
use crate::code::{Atomic, AtomicOp, Element, NONE, Space};

/// Most elements of a vector of atomics.
const MAX_COUNT: usize = 8;

impl View<'_, '_, '_> {
    /// `atom` and `red`: lanes in order, each seeing what the one before wrote.
    pub(crate) fn atomic(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        atomic: Atomic,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        match (atomic.op, list) {
            (AtomicOp::ExchangeWide | AtomicOp::CompareAndSwapWide, &[d0, d1, a0, a1, b0, b1]) => {
                self.atomic_pair(registers, atomic, [[d0, d1], [a0, a1], [b0, b1]], active)
            }
            (_, &[d, b, c]) => self.atomic_scalar(registers, atomic, [d, b, c], active),
            _ => self.atomic_vector(registers, atomic, list, active),
        }
    }

    fn atomic_scalar(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        atomic: Atomic,
        [d, b, c]: [u32; 3],
        active: u32,
    ) -> Result<(), LaneFault> {
        let addresses = addresses(registers, atomic.address);
        let element = atomic.element;
        let size = element.bytes();
        let mut old = [0u64; LANES];
        for lane in bits_of(active) {
            let operand = value_of(registers, b, element, lane);
            let swap = if c == NONE {
                0
            } else {
                value_of(registers, c, element, lane)
            };
            let global = is_global(atomic.space, addresses[lane]);
            let after = |before: u64| update(atomic.op, element, before, operand, swap, global);
            if let Some(together) = self.together(atomic.space, addresses[lane], true) {
                self.aligned(atomic.space, addresses[lane], size, true, lane as u32)?;
                let missing =
                    || out_of_bounds(atomic.space, addresses[lane], size, true, lane as u32);
                old[lane] = together
                    .update(addresses[lane], size, after)
                    .ok_or_else(missing)?;
                continue;
            }
            let bytes = self.checked(atomic.space, addresses[lane], size, true, lane as u32)?;
            let before = decode(element, bytes);
            old[lane] = before;
            bytes.copy_from_slice(&after(before).to_le_bytes()[..size as usize]);
        }
        if d != NONE {
            put(registers, d, element, active, &old);
        }
        Ok(())
    }

    /// Several elements in a row, each of which is updated for itself; there is no `cas` of them.
    fn atomic_vector(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        atomic: Atomic,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        let addresses = addresses(registers, atomic.address);
        let element = atomic.element;
        let size = element.bytes() as usize;
        let count = usize::from(atomic.count).min(MAX_COUNT);
        let (results, rest) = list.split_at(count.min(list.len()));
        let mut old: [Lanes64; MAX_COUNT] = [[0; LANES]; MAX_COUNT];
        for lane in bits_of(active) {
            let global = is_global(atomic.space, addresses[lane]);
            let bytes = self.checked(
                atomic.space,
                addresses[lane],
                (size * count) as u32,
                true,
                lane as u32,
            )?;
            for ((chunk, &b), old) in bytes.chunks_exact_mut(size).zip(rest).zip(&mut old) {
                let before = decode(element, chunk);
                let operand = value_of(registers, b, element, lane);
                old[lane] = before;
                let after = update(atomic.op, element, before, operand, 0, global);
                chunk.copy_from_slice(&after.to_le_bytes()[..size]);
            }
        }
        for (&d, old) in results.iter().zip(&old) {
            if d != NONE {
                put(registers, d, element, active, old);
            }
        }
        Ok(())
    }

    /// `exch` and `cas` of 128 bits: results, operands and values to swap in are pairs of 64-bit registers.
    fn atomic_pair(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        atomic: Atomic,
        [results, operands, swaps]: [[u32; 2]; 3],
        active: u32,
    ) -> Result<(), LaneFault> {
        let addresses = addresses(registers, atomic.address);
        let whole = |registers: &mut OneWarp<'_, '_>, [low, high]: [u32; 2], lane: usize| {
            u128::from(registers.lanes64(low)[lane])
                | u128::from(registers.lanes64(high)[lane]) << 64
        };
        let mut old: [Lanes64; 2] = [[0; LANES]; 2];
        for lane in bits_of(active) {
            let operand = whole(registers, operands, lane);
            let bytes = self.checked(atomic.space, addresses[lane], 16, true, lane as u32)?;
            let Some(cell) = bytes.first_chunk_mut::<16>() else {
                continue;
            };
            let before = u128::from_le_bytes(*cell);
            old[0][lane] = before as u64;
            old[1][lane] = (before >> 64) as u64;
            let after = match atomic.op {
                AtomicOp::CompareAndSwapWide if before != operand => before,
                AtomicOp::CompareAndSwapWide => whole(registers, swaps, lane),
                _ => operand,
            };
            *cell = after.to_le_bytes();
        }
        for (d, old) in results.into_iter().zip(&old) {
            if d != NONE {
                registers.put64(d, active, old);
            }
        }
        Ok(())
    }
}

fn is_global(space: Space, address: u64) -> bool {
    place(space, address).space == Space::Global
}

/// The new value of a cell.
fn update(op: AtomicOp, element: Element, old: u64, b: u64, c: u64, global: bool) -> u64 {
    match (op, element) {
        // On global memory, and there alone, subnormal single-precision addends and sums count as zero.
        (AtomicOp::AddF32, _) if global => {
            let sum = op32(flush32(old as u32), flush32(b as u32), |x, y| x + y);
            u64::from(flush32(sum))
        }
        (AtomicOp::AddHalf(half), _) => halves(half, old, b, Half::sum),
        (AtomicOp::MinHalf(half), _) => halves(half, old, b, Half::least),
        (AtomicOp::MaxHalf(half), _) => halves(half, old, b, Half::greatest),
        (_, Element::B64) => update64(op, old, b, c),
        _ => u64::from(update32(op, old as u32, b as u32, c as u32)),
    }
}

/// One half, or two that are packed: an upper half of 0 stays 0 under all operations here.
fn halves(half: Half, old: u64, b: u64, f: fn(Half, u32, u32) -> u32) -> u64 {
    let (old, b) = (old as u32, b as u32);
    let low = f(half, old & 0xFFFF, b & 0xFFFF);
    let high = f(half, old >> 16, b >> 16);
    u64::from(low | high << 16)
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
        AtomicOp::CompareAndSwap if old == b => c,
        AtomicOp::CompareAndSwap => old,
        AtomicOp::Increment if old >= b => 0,
        AtomicOp::Increment => old.wrapping_add(1),
        AtomicOp::Decrement if old == 0 || old > b => b,
        AtomicOp::Decrement => old.wrapping_sub(1),
        // Those of halves and of 128 bits have been dealt with.
        AtomicOp::Exchange
        | AtomicOp::ExchangeWide
        | AtomicOp::CompareAndSwapWide
        | AtomicOp::AddHalf(_)
        | AtomicOp::MinHalf(_)
        | AtomicOp::MaxHalf(_) => b,
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
        AtomicOp::CompareAndSwap if old == b => c,
        AtomicOp::CompareAndSwap => old,
        // The ISA has no 64-bit `inc` and `dec`.
        AtomicOp::Exchange
        | AtomicOp::Increment
        | AtomicOp::Decrement
        | AtomicOp::ExchangeWide
        | AtomicOp::CompareAndSwapWide
        | AtomicOp::AddHalf(_)
        | AtomicOp::MinHalf(_)
        | AtomicOp::MaxHalf(_) => b,
    }
}
