//! Stores.

use super::access::{SquadView, View, address_form, addresses, out_of_bounds, place, value_of};
use super::build::Build;
use super::form::{Form, HALF};
use super::lanes::{FULL, LANES, Lanes64, Registers};
use super::one_warp::OneWarp;
use super::together::Together;
use super::{LaneFault, bits_of};
use crate::code::{Access, Code, Element, Space};

impl SquadView<'_, '_, '_> {
    /// `st`.
    #[inline(always)]
    pub(crate) fn store<B: Build>(
        &mut self,
        build: B,
        registers: &mut Registers<'_>,
        access: &Access,
        code: &Code,
    ) -> Result<(), LaneFault> {
        if access.element == Element::B32
            && access.count == 1
            && registers.full
            && build.wide(
                #[inline(always)]
                || self.store_words(registers, access, code),
            )
        {
            return Ok(());
        }
        let list = access.registers(code);
        build.wide(
            #[inline(always)]
            || {
                self.each_warp(
                    registers,
                    #[inline(always)]
                    |_, view, registers, active| {
                        if view.store_pattern(registers, access, list, active) {
                            return Ok(());
                        }
                        view.store_otherwise(registers, *access, list, active)
                    },
                )
            },
        )
    }
}

impl View<'_, '_, '_> {
    /// Stores consecutive elements of all 32 lanes without a fault; whether it was that.
    #[inline(always)]
    fn store_pattern(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        access: &Access,
        list: &[u32],
        active: u32,
    ) -> bool {
        if active != FULL || access.space == Space::Frame {
            return false;
        }
        let Some(form) = address_form(registers, access.address) else {
            return false;
        };
        // A power of two, which a division would not know.
        let total = u64::from(access.element.bytes()) * list.len() as u64;
        if form.step != total || (form.low | form.high) & (total - 1) != 0 {
            return false;
        }
        let Some((base, region)) = self.spaces.region(access.space, form.low, true) else {
            return self
                .together(access.space, form.low, true)
                .is_some_and(|together| {
                    store_together(registers, access.element, list, &form, together)
                });
        };
        let half = HALF as u64 * total;
        if form.high == form.low.wrapping_add(half) {
            let Some(bytes) = part(region, form.low.wrapping_sub(base), 2 * half) else {
                return false;
            };
            match (access.element, list) {
                (Element::B32, &[source]) => words32::<LANES>(bytes, registers.view32(source)),
                (Element::B64, &[source]) => words64::<LANES>(bytes, registers.view64(source)),
                _ => columns(registers, access.element, list, 0, bytes),
            }
            return true;
        }
        let mut there = |first: u64| part(&mut *region, first.wrapping_sub(base), half).is_some();
        if !there(form.low) || !there(form.high) {
            return false;
        }
        // Lanes write in order, should the halves overlap.
        for (number, first) in [form.low, form.high].into_iter().enumerate() {
            let Some(bytes) = part(region, first.wrapping_sub(base), half) else {
                return false;
            };
            match (access.element, list) {
                (Element::B32, &[source]) => {
                    let lanes = registers.view32(source).as_chunks::<HALF>().0;
                    words32::<HALF>(bytes, &lanes[number]);
                }
                (Element::B64, &[source]) => {
                    let lanes = registers.view64(source).as_chunks::<HALF>().0;
                    words64::<HALF>(bytes, &lanes[number]);
                }
                _ => columns(registers, access.element, list, number * HALF, bytes),
            }
        }
        true
    }

    /// Stores that follow no pattern, lie in local memory, or fault.
    #[inline(always)]
    fn store_otherwise(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        access: Access,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        if access.space == Space::Frame {
            return self.store_frame(registers, access, list, active);
        }
        let addresses = addresses(registers, access.address);
        self.store_lanes(registers, access, list, active, &addresses)
    }

    #[inline(always)]
    fn store_lanes(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        access: Access,
        list: &[u32],
        active: u32,
        addresses: &Lanes64,
    ) -> Result<(), LaneFault> {
        let size = access.element.bytes() as usize;
        let total = access.element.bytes() * list.len() as u32;
        let mut lanes = active;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            let address = addresses[lane];
            if let Some(together) = self.together(access.space, address, true) {
                self.aligned(access.space, address, total, true, lane as u32)?;
                let missing = || out_of_bounds(access.space, address, total, true, lane as u32);
                if !together.contains(address, u64::from(total)) {
                    return Err(missing());
                }
                for (at, &source) in (0u64..).zip(list) {
                    let value = value_of(registers, source, access.element, lane);
                    together
                        .store(address.wrapping_add(at * size as u64), size as u32, value)
                        .ok_or_else(missing)?;
                }
                lanes &= lanes - 1;
                continue;
            }
            if place(access.space, address).space == Space::Local {
                self.store_local(registers, access, list, lane, address)?;
                lanes &= lanes - 1;
                continue;
            }
            // Names the fault where this lane's access is bad; otherwise its region serves the lanes that follow.
            let bytes = self.checked(access.space, address, total, true, lane as u32)?;
            if let (&[source], 4) = (list, size) {
                let Some((base, region)) = self.spaces.region(access.space, address, true) else {
                    break;
                };
                lanes = scatter(region, base, addresses, lanes, registers.view32(source));
                continue;
            }
            for (&source, chunk) in list.iter().zip(bytes.chunks_exact_mut(size)) {
                let value = value_of(registers, source, access.element, lane);
                chunk.copy_from_slice(&value.to_le_bytes()[..size]);
            }
            lanes &= lanes - 1;
        }
        Ok(())
    }

    /// One lane's store to local memory.
    fn store_local(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        access: Access,
        list: &[u32],
        lane: usize,
        address: u64,
    ) -> Result<(), LaneFault> {
        let size = access.element.bytes();
        let total = size * list.len() as u32;
        self.aligned(access.space, address, total, true, lane as u32)?;
        let start = place(access.space, address).address;
        for (at, &source) in (0u64..).zip(list) {
            let value = value_of(registers, source, access.element, lane);
            let written =
                self.local
                    .write(lane, start.wrapping_add(at * u64::from(size)), size, value);
            written
                .ok_or_else(|| out_of_bounds(access.space, address, total, true, lane as u32))?;
        }
        Ok(())
    }

    /// A store at a fixed offset of the frame.
    fn store_frame(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        access: Access,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        let mut address = self
            .frame
            .wrapping_add(access.address.offset.cast_unsigned());
        let size = access.element.bytes();
        let first = active.trailing_zeros();
        self.aligned(
            Space::Local,
            u64::from(address),
            size * list.len() as u32,
            true,
            first,
        )?;
        for &source in list {
            let missing = || out_of_bounds(Space::Local, u64::from(address), size, true, first);
            if access.element == Element::B32 && active == FULL {
                *self.local.row_mut(address).ok_or_else(missing)? = registers.lanes32(source);
            } else {
                for lane in bits_of(active) {
                    let value = value_of(registers, source, access.element, lane);
                    self.local
                        .write(lane, u64::from(address), size, value)
                        .ok_or_else(missing)?;
                }
            }
            address = address.wrapping_add(size);
        }
        Ok(())
    }
}

/// Stores words of the lanes of `lanes`, lowest first, as long as they lie in `region`; returns the lanes that are left.
#[inline]
fn scatter(
    region: &mut [u8],
    base: u64,
    addresses: &Lanes64,
    mut lanes: u32,
    values: &[u32; LANES],
) -> u32 {
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        let offset = addresses[lane].wrapping_sub(base) as usize;
        let bytes = region
            .get_mut(offset..)
            .and_then(|rest| rest.first_chunk_mut::<4>());
        let Some(bytes) = bytes.filter(|_| addresses[lane].is_multiple_of(4)) else {
            break;
        };
        *bytes = values[lane].to_le_bytes();
        lanes &= lanes - 1;
    }
    lanes
}

/// A store of single elements of all lanes along a pattern to memory that threads share; whether it was one.
#[inline(always)]
fn store_together(
    registers: &mut OneWarp<'_, '_>,
    element: Element,
    list: &[u32],
    form: &Form<u64>,
    together: &Together<'_>,
) -> bool {
    let &[source] = list else { return false };
    if form.high == form.low.wrapping_add(HALF as u64 * form.step) {
        // All lanes in a row, which are there as a whole or not at all.
        return match element {
            Element::B32 => together.store32s(form.low, registers.view32(source)),
            Element::B64 => together.store64s(form.low, registers.view64(source)),
            _ => false,
        };
    }
    // Both halves must be there before one is written.
    let half = HALF as u64 * u64::from(element.bytes());
    if ![form.low, form.high]
        .iter()
        .all(|start| together.contains(*start, half))
    {
        return false;
    }
    match element {
        Element::B32 => {
            let lanes = registers.view32(source).as_chunks::<HALF>().0;
            together.store32s(form.low, &lanes[0]) && together.store32s(form.high, &lanes[1])
        }
        Element::B64 => {
            let lanes = registers.view64(source).as_chunks::<HALF>().0;
            together.store64s(form.low, &lanes[0]) && together.store64s(form.high, &lanes[1])
        }
        _ => false,
    }
}

/// `bytes` bytes at an offset of a region.
#[inline(always)]
pub(super) fn part(region: &mut [u8], offset: u64, bytes: u64) -> Option<&mut [u8]> {
    let start = usize::try_from(offset).ok()?;
    region.get_mut(start..start.checked_add(bytes as usize)?)
}

#[inline(always)]
pub(super) fn words32<const N: usize>(bytes: &mut [u8], lanes: &[u32; N]) {
    if let Some(words) = bytes.as_chunks_mut::<4>().0.first_chunk_mut::<N>() {
        for lane in 0..N {
            words[lane] = lanes[lane].to_le_bytes();
        }
    }
}

#[inline(always)]
fn words64<const N: usize>(bytes: &mut [u8], lanes: &[u64; N]) {
    if let Some(words) = bytes.as_chunks_mut::<8>().0.first_chunk_mut::<N>() {
        for lane in 0..N {
            words[lane] = lanes[lane].to_le_bytes();
        }
    }
}

/// Lanes from `first` on fill consecutive records with an element of each register of `list`.
#[inline(always)]
fn columns(
    registers: &mut OneWarp<'_, '_>,
    element: Element,
    list: &[u32],
    first: usize,
    bytes: &mut [u8],
) {
    match (element, list) {
        (Element::B32, list) => {
            for (at, &source) in list.iter().enumerate() {
                let lanes = registers.view32(source).iter().skip(first);
                let column = bytes.as_chunks_mut::<4>().0.iter_mut().skip(at);
                for (chunk, value) in column.step_by(list.len()).zip(lanes) {
                    *chunk = value.to_le_bytes();
                }
            }
        }
        (Element::B64, list) => {
            for (at, &source) in list.iter().enumerate() {
                let lanes = registers.view64(source).iter().skip(first);
                let column = bytes.as_chunks_mut::<8>().0.iter_mut().skip(at);
                for (chunk, value) in column.step_by(list.len()).zip(lanes) {
                    *chunk = value.to_le_bytes();
                }
            }
        }
        (Element::U16 | Element::S16, list) => {
            for (at, &source) in list.iter().enumerate() {
                let lanes = registers.view32(source).iter().skip(first);
                let column = bytes.as_chunks_mut::<2>().0.iter_mut().skip(at);
                for (chunk, value) in column.step_by(list.len()).zip(lanes) {
                    *chunk = (*value as u16).to_le_bytes();
                }
            }
        }
        (Element::U8 | Element::S8, list) => {
            for (at, &source) in list.iter().enumerate() {
                let lanes = registers.view32(source).iter().skip(first);
                let column = bytes.iter_mut().skip(at);
                for (byte, value) in column.step_by(list.len()).zip(lanes) {
                    *byte = *value as u8;
                }
            }
        }
    }
}
